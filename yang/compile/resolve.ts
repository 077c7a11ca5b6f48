// Statements become schema nodes: groupings are copied in where they are used, refined and augmented there, choices are
// flattened (each child remembers its choices and cases). What a feature that is not there guards is left out.
import { conditions } from './conditions.ts';
import { IDENTIFIER } from './grammar.ts';
import {
  argument,
  child,
  definition,
  elements,
  type ModuleSet,
  oneLine,
  type Scope,
  text,
  unprefixed,
  weightOf,
} from './modules.ts';
import { type Statement, YangError } from './reader.ts';
import { refined } from './refine.ts';
import type { Choice, ContainerNode, Extensions, ListNode, RpcNode, SchemaNode } from './schema.ts';
import { type Body, changeAt, choiceOf, holder, insideCase, withBody } from './targets.ts';
import { resolveType } from './types.ts';

const NODE_KEYWORDS = new Set(['container', 'list', 'leaf', 'leaf-list', 'anydata', 'anyxml', 'choice', 'uses']);
const OPERATIONS = new Set(['action', 'notification']);
const MAX_DEPTH = 48;

export class Resolver {
  readonly modules: ModuleSet;

  constructor(modules: ModuleSet) {
    this.modules = modules;
  }

  /** Data nodes and choices among `statements`. */
  body(statements: readonly Statement[], scope: Scope): Body {
    if (scope.around.length > MAX_DEPTH) throw new YangError(scope.around.at(-1)!, `nested deeper than ${MAX_DEPTH} levels`);
    const nodes: SchemaNode[] = [];
    const choices: Choice[] = [];
    const names = new Set<string>();
    for (const statement of statements) {
      if (OPERATIONS.has(statement.keyword)) this.operation(statement, scope);
      if (!NODE_KEYWORDS.has(statement.keyword)) continue;
      const body = this.#expand(statement, scope);
      for (const node of body.nodes) {
        if (names.has(node.name)) throw new YangError(statement, `node "${node.name}" is defined twice here`);
        names.add(node.name);
        nodes.push(node);
      }
      for (const choice of body.choices) choices.push(choice);
    }
    return { nodes, choices };
  }

  rpc(statement: Statement, scope: Scope): RpcNode {
    const inner = { ...scope, around: [...scope.around, statement] };
    const part = (name: 'input' | 'output'): ContainerNode => {
      const body = child(statement, name);
      if (body === undefined) return { kind: 'container', name, children: [] };
      const inside = this.body(body.children, within(inner, body));
      return holder(inside, { name, ...this.#common(body, inner) });
    };
    const description = text(statement, 'description');
    const extensions = this.#extensions(statement, scope);
    return {
      module: scope.module.name,
      name: argument(statement),
      ...(description === undefined ? {} : { description: oneLine(description) }),
      ...(extensions === undefined ? {} : { extensions }),
      input: part('input'),
      output: part('output'),
    };
  }

  /** An action or notification: read for its faults, and left out, since neither can be configured. */
  operation(statement: Statement, scope: Scope): void {
    this.modules.spend(statement);
    if (statement.keyword === 'action') this.rpc(statement, scope);
    else this.body(statement.children, within(scope, statement));
  }

  /** What an augment adds, its own conditions included. In a choice (`cases`) each child that is no case is one. */
  augmentation(statement: Statement, scope: Scope, path: readonly string[]): Body {
    this.modules.toil(statement, weightOf(statement));
    const inner = within(scope, statement);
    const body =
      path.length % 2 === 1 ? this.#cases(statement, inner, path) : insideCase(this.body(statement.children, inner), path);
    return this.#guarded(body, statement, scope);
  }

  #expand(statement: Statement, scope: Scope): Body {
    if (!this.modules.enabled(statement, scope)) return NOTHING;
    switch (statement.keyword) {
      case 'uses':
        return this.#guarded(this.#uses(statement, scope), statement, scope);
      case 'choice':
        return this.#guarded(this.#choice(statement, scope), statement, scope);
      default:
        return { nodes: [this.#node(statement, scope)], choices: [] };
    }
  }

  /** The `when` of a uses, choice, case or augment holds for each node of it. */
  #guarded(body: Body, statement: Statement, scope: Scope): Body {
    const when = conditions(statement, 'when', scope, this.modules, true);
    const state = text(statement, 'config') === 'false';
    if (when.length === 0 && !state) return body;
    const nodes = body.nodes.map(
      (node): SchemaNode => ({
        ...node,
        ...(state ? { config: false } : {}),
        ...(when.length === 0 ? {} : { when: [...(node.when ?? []), ...when] }),
      }),
    );
    return { ...body, nodes };
  }

  #node(statement: Statement, scope: Scope): SchemaNode {
    const name = argument(statement);
    this.modules.spend(statement);
    if (!IDENTIFIER.test(name)) throw new YangError(statement, 'the name is no identifier');
    const common = this.#common(statement, scope);
    const inner = within(scope, statement);
    const mandatory = text(statement, 'mandatory') === 'true' ? ({ mandatory: true } as const) : {};
    const ordered = text(statement, 'ordered-by') === 'user' ? ({ orderedByUser: true } as const) : {};
    switch (statement.keyword) {
      case 'container': {
        const presence = child(statement, 'presence') === undefined ? {} : ({ presence: true } as const);
        return holder(this.body(statement.children, inner), { name, ...common, ...presence });
      }
      case 'list':
        return this.#list(statement, this.body(statement.children, inner), common, { ...ordered, ...elements(statement) });
      case 'leaf': {
        const { type, default: fallback } = this.#type(statement, scope);
        const own = text(statement, 'default');
        if (own !== undefined && mandatory.mandatory === true) throw new YangError(statement, 'a mandatory leaf has no default');
        const value = own ?? (mandatory.mandatory === true ? undefined : fallback);
        return { kind: 'leaf', name, ...common, type, ...(value === undefined ? {} : { default: value }), ...mandatory };
      }
      case 'leaf-list': {
        const { type, default: fallback } = this.#type(statement, scope);
        const counts = elements(statement);
        const own = statement.children.filter((s) => s.keyword === 'default').map(argument);
        const defaults = own.length > 0 || fallback === undefined || (counts.min ?? 0) > 0 ? own : [fallback];
        return { kind: 'leaf-list', name, ...common, type, ...ordered, ...counts, ...(defaults.length > 0 ? { defaults } : {}) };
      }
      default:
        return { kind: 'anydata', name, ...common, ...mandatory };
    }
  }

  #list(statement: Statement, body: Body, common: object, counts: object): ListNode {
    const keys = words(text(statement, 'key'));
    const unique = statement.children
      .filter((s) => s.keyword === 'unique')
      .map((s) => words(argument(s)).map(unprefixed).join(' '));
    const missing = keys.map(unprefixed).find((key) => !body.nodes.some((node) => node.name === key && node.kind === 'leaf'));
    if (missing !== undefined) throw new YangError(statement, `key "${missing}" is not a leaf of the list`);
    if (new Set(keys).size !== keys.length) throw new YangError(statement, 'a key stands twice');
    for (const path of unique.flatMap(words)) {
      if (!leafBelow(body.nodes, path.split('/'))) throw new YangError(statement, `unique: "${path}" is not a leaf of the list`);
    }
    const { children, choices } = holder(body);
    return {
      kind: 'list',
      name: argument(statement),
      ...common,
      keys: keys.map(unprefixed),
      ...counts,
      ...(unique.length > 0 ? { unique } : {}),
      ...(choices === undefined ? {} : { choices }),
      children,
    };
  }

  #type(statement: Statement, scope: Scope): ReturnType<typeof resolveType> {
    const type = child(statement, 'type');
    if (type === undefined) throw new YangError(statement, 'needs a type');
    const units = text(statement, 'units');
    const resolved = resolveType(type, within(scope, statement), this.modules);
    return units === undefined ? resolved : { ...resolved, type: { ...resolved.type, units } };
  }

  #common(statement: Statement, scope: Scope): Omit<ContainerNode, 'kind' | 'name' | 'children' | 'presence' | 'choices'> {
    const description = text(statement, 'description');
    const extensions = this.#extensions(statement, scope);
    const status = text(statement, 'status');
    const must = conditions(statement, 'must', scope, this.modules);
    const when = conditions(statement, 'when', scope, this.modules);
    const nodes = statement.children.filter((s) => NODE_KEYWORDS.has(s.keyword));
    const only = nodes.length === 1 && nodes[0]!.keyword === 'uses' && nodes[0]!.children.length === 0 ? nodes[0] : undefined;
    return {
      ...(description === undefined ? {} : { description: oneLine(description) }),
      ...(text(statement, 'config') === 'false' ? { config: false } : {}),
      ...(status === 'deprecated' || status === 'obsolete' ? { status } : {}),
      ...(must.length === 0 ? {} : { must }),
      ...(when.length === 0 ? {} : { when }),
      ...(extensions === undefined ? {} : { extensions }),
      ...(only === undefined ? {} : { grouping: argument(only).replace(/^.*:/, '') }),
    };
  }

  /**
   * Prefixed statements are extensions; each must be declared by the module its prefix names (RFC 7950 §7.19). Ours go by their names,
   * those of other modules by `module:name`: they are kept and mean nothing here.
   */
  #extensions(statement: Statement, scope: Scope): Record<string, string | true> | undefined {
    let out: Record<string, string | true> | undefined;
    for (const s of statement.children) {
      if (!s.keyword.includes(':')) continue;
      const { module, name } = this.modules.prefixed(s.keyword, s, scope.module);
      if (definition(module.statements, 'extension', name) === undefined) {
        throw new YangError(s, `extension "${name}" is not declared by ${module.name}`);
      }
      out ??= {};
      const key = module.name === 'ze-extensions' ? name : `${module.name}:${name}`;
      const before = out[key];
      out[key] = typeof before === 'string' && s.argument !== undefined ? `${before}\n${s.argument}` : (s.argument ?? true);
    }
    return out;
  }

  extensions(statement: Statement, scope: Scope): Extensions | undefined {
    return this.#extensions(statement, scope);
  }

  #choice(statement: Statement, scope: Scope): Body {
    const name = argument(statement);
    this.modules.spend(statement);
    if (!IDENTIFIER.test(name)) throw new YangError(statement, 'the name is no identifier');
    const body = this.#cases(statement, within(scope, statement), [name]);
    const own = body.choices[0]!;
    const fallback = text(statement, 'default');
    const mandatory = text(statement, 'mandatory') === 'true';
    if (fallback !== undefined && mandatory) throw new YangError(statement, 'a mandatory choice has no default');
    if (fallback !== undefined && !own.cases.includes(fallback)) throw new YangError(statement, `there is no case "${fallback}"`);
    const choice = {
      ...own,
      ...(mandatory ? ({ mandatory: true } as const) : {}),
      ...(fallback === undefined ? {} : { default: fallback }),
    };
    return { nodes: body.nodes, choices: [choice, ...body.choices.slice(1)] };
  }

  /** The cases below a choice, or below an augment of one; the first choice of the answer is the choice itself. */
  #cases(statement: Statement, inner: Scope, path: readonly string[]): Body {
    const nodes: SchemaNode[] = [];
    const names = new Set<string>();
    const choices: Choice[] = [];
    const cases = new Set<string>();
    for (const s of statement.children) {
      if (s.keyword !== 'case' && !NODE_KEYWORDS.has(s.keyword)) continue;
      const name = argument(s);
      if (s.keyword === 'uses') throw new YangError(s, 'a uses in a choice must stand in a case');
      if (cases.has(name)) throw new YangError(s, `case "${name}" is defined twice here`);
      if (!this.modules.enabled(s, inner)) continue;
      const plain =
        s.keyword === 'case' ? this.#guarded(this.body(s.children, within(inner, s)), s, inner) : this.#expand(s, inner);
      const body = insideCase(plain, [...path, name]);
      const twice = body.nodes.find((node) => names.size === names.add(node.name).size);
      if (twice !== undefined) throw new YangError(s, `node "${twice.name}" is defined twice here`);
      cases.add(name);
      for (const node of body.nodes) nodes.push(node);
      for (const choice of body.choices) choices.push(choice);
    }
    return { nodes, choices: [{ path, cases: [...cases] }, ...choices] };
  }

  #uses(statement: Statement, scope: Scope): Body {
    const found = this.modules.find('grouping', argument(statement), statement, scope);
    if (scope.around.includes(found.statement)) throw new YangError(statement, 'the grouping uses itself');
    this.modules.toil(statement, weightOf(found.statement));
    const inner = { module: found.scope.module, around: [...found.scope.around, found.statement] };
    // What stands around the `uses` stays visible to the check above, so that a circle of groupings is seen.
    const guarded = { ...inner, around: [...scope.around.filter((s) => s.keyword === 'grouping'), ...inner.around] };
    let all = holder(this.body(found.statement.children, guarded));
    for (const s of statement.children) {
      if (s.keyword === 'refine') all = this.#refine(all, s, scope);
      if (s.keyword === 'augment') all = this.#augment(all, s, scope);
    }
    return { nodes: all.children, choices: all.choices ?? [] };
  }

  #refine(all: ContainerNode, s: Statement, scope: Scope): ContainerNode {
    const path = argument(s)
      .split('/')
      .map((name) => ({ name: unprefixed(name.trim()) }));
    const extensions = this.#extensions(s, scope);
    const more = { extensions, must: conditions(s, 'must', scope, this.modules) };
    const changed = changeAt(
      all,
      path,
      (target) => {
        if (target.kind === 'node') return this.modules.enabled(s, scope) ? refined(target.node, s, more) : undefined;
        if (target.kind === 'case') return target.parent;
        const choice = choiceOf(target.parent, target.path)!;
        const fallback = text(s, 'default');
        const mandatory = text(s, 'mandatory');
        if (fallback !== undefined && !choice.cases.includes(fallback)) throw new YangError(s, `there is no case "${fallback}"`);
        const { mandatory: before, ...rest } = choice;
        const must = mandatory === undefined ? before === true : mandatory === 'true';
        const next: Choice = {
          ...rest,
          ...(must ? { mandatory: true } : {}),
          ...(fallback === undefined ? {} : { default: fallback }),
        };
        return { ...target.parent, choices: target.parent.choices!.map((one) => (one === choice ? next : one)) };
      },
      (nodes) => this.modules.toil(s, nodes),
    );
    if (changed === undefined) throw new YangError(s, `there is no node "${path.map(({ name }) => name).join('/')}"`);
    return changed;
  }

  #augment(all: ContainerNode, s: Statement, scope: Scope): ContainerNode {
    if (!this.modules.enabled(s, scope)) return all;
    const path = argument(s)
      .split('/')
      .map((name) => ({ name: unprefixed(name.trim()) }));
    const changed = changeAt(
      all,
      path,
      (target) => {
        const parent = target.kind === 'node' ? target.node : target.parent;
        if (parent.kind !== 'container' && parent.kind !== 'list')
          throw new YangError(s, 'only a container, list, choice or case can be augmented');
        const next = withBody(parent, this.augmentation(s, scope, target.kind === 'node' ? [] : target.path));
        if (typeof next === 'string') throw new YangError(s, `node "${next}" exists already`);
        return next;
      },
      (nodes) => this.modules.toil(s, nodes),
    );
    if (changed === undefined) throw new YangError(s, `there is no node "${path.map(({ name }) => name).join('/')}"`);
    return changed;
  }
}

const NOTHING: Body = { nodes: [], choices: [] };

/** Does a descendant path lead to a leaf? */
function leafBelow(nodes: readonly SchemaNode[], path: readonly string[]): boolean {
  const [name, ...rest] = path;
  const node = nodes.find((one) => one.name === name);
  if (node === undefined) return false;
  if (rest.length === 0) return node.kind === 'leaf';
  if (node.kind === 'container' || node.kind === 'list') return leafBelow(node.children, rest);
  return false;
}

function words(list: string | undefined): string[] {
  return (list ?? '').split(/\s+/).filter((word) => word !== '');
}

function within(scope: Scope, statement: Statement): Scope {
  return { module: scope.module, around: [...scope.around, statement] };
}
