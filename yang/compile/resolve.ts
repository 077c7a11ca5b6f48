// Statements become schema nodes: groupings are copied in where they are used, refined and augmented there, choices are
// flattened (each child remembers its choice and case).
import { argument, child, definition, type ModuleSet, type Scope, text } from './modules.ts';
import { type Statement, YangError } from './reader.ts';
import type { ContainerNode, LeafNode, RpcNode, SchemaNode } from './schema.ts';
import { isParent } from './schema.ts';
import { resolveType } from './types.ts';

const NODE_KEYWORDS = new Set(['container', 'list', 'leaf', 'leaf-list', 'anydata', 'anyxml', 'choice', 'uses']);
const MAX_DEPTH = 48;
/** RFC 7950 §6.2 */
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/;

export class Resolver {
  readonly modules: ModuleSet;

  constructor(modules: ModuleSet) {
    this.modules = modules;
  }

  /** Data nodes among `statements`. `config` is inherited downwards. */
  nodes(statements: readonly Statement[], scope: Scope): SchemaNode[] {
    if (scope.around.length > MAX_DEPTH) throw new YangError(scope.around.at(-1)!, `nested deeper than ${MAX_DEPTH} levels`);
    const out: SchemaNode[] = [];
    const names = new Set<string>();
    for (const statement of statements) {
      if (!NODE_KEYWORDS.has(statement.keyword)) continue;
      for (const node of this.#expand(statement, scope)) {
        if (names.has(node.name)) throw new YangError(statement, `node "${node.name}" is defined twice here`);
        names.add(node.name);
        out.push(node);
      }
    }
    return out;
  }

  rpc(statement: Statement, scope: Scope): RpcNode {
    const inner = { ...scope, around: [...scope.around, statement] };
    const part = (name: 'input' | 'output'): ContainerNode => {
      const body = child(statement, name);
      if (body === undefined) return { kind: 'container', name, children: [] };
      return { kind: 'container', name, ...this.#common(body, inner), children: this.nodes(body.children, within(inner, body)) };
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

  #expand(statement: Statement, scope: Scope): readonly SchemaNode[] {
    switch (statement.keyword) {
      case 'uses':
        return this.#uses(statement, scope);
      case 'choice':
        return this.#choice(statement, scope);
      default:
        return [this.#node(statement, scope)];
    }
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
        return { kind: 'container', name, ...common, ...presence, children: this.nodes(statement.children, inner) };
      }
      case 'list': {
        const keys = (text(statement, 'key') ?? '').split(/\s+/).filter((key) => key !== '');
        const unique = statement.children.filter((s) => s.keyword === 'unique').map(argument);
        const children = this.nodes(statement.children, inner);
        const missing = keys.find((key) => !children.some((node) => node.name === key && node.kind === 'leaf'));
        if (missing !== undefined) throw new YangError(statement, `key "${missing}" is not a leaf of the list`);
        return {
          kind: 'list',
          name,
          ...common,
          keys,
          ...ordered,
          ...this.#elements(statement),
          ...(unique.length > 0 ? { unique } : {}),
          children,
        };
      }
      case 'leaf': {
        const { type, default: fallback } = this.#type(statement, scope);
        const value = text(statement, 'default') ?? (mandatory.mandatory === true ? undefined : fallback);
        return { kind: 'leaf', name, ...common, type, ...(value === undefined ? {} : { default: value }), ...mandatory };
      }
      case 'leaf-list': {
        const defaults = statement.children.filter((s) => s.keyword === 'default').map(argument);
        const { type } = this.#type(statement, scope);
        return {
          kind: 'leaf-list',
          name,
          ...common,
          type,
          ...ordered,
          ...this.#elements(statement),
          ...(defaults.length > 0 ? { defaults } : {}),
        };
      }
      default:
        return { kind: 'anydata', name, ...common, ...mandatory };
    }
  }

  #type(statement: Statement, scope: Scope): ReturnType<typeof resolveType> {
    const type = child(statement, 'type');
    if (type === undefined) throw new YangError(statement, 'needs a type');
    const units = text(statement, 'units');
    const resolved = resolveType(type, within(scope, statement), this.modules);
    return units === undefined ? resolved : { ...resolved, type: { ...resolved.type, units } };
  }

  #elements(statement: Statement): { min?: number; max?: number } {
    const count = (keyword: 'min-elements' | 'max-elements'): number | undefined => {
      const word = text(statement, keyword);
      if (word === undefined || (word === 'unbounded' && keyword === 'max-elements')) return undefined;
      if (!/^\d{1,9}$/.test(word)) throw new YangError(child(statement, keyword)!, 'needs a number');
      return Number(word);
    };
    const [min, max] = [count('min-elements'), count('max-elements')];
    return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
  }

  #common(statement: Statement, scope: Scope): Omit<ContainerNode, 'kind' | 'name' | 'children' | 'presence'> {
    const description = text(statement, 'description');
    const extensions = this.#extensions(statement, scope);
    const status = text(statement, 'status');
    const nodes = statement.children.filter((s) => NODE_KEYWORDS.has(s.keyword));
    const only = nodes.length === 1 && nodes[0]!.keyword === 'uses' && nodes[0]!.children.length === 0 ? nodes[0] : undefined;
    return {
      ...(description === undefined ? {} : { description: oneLine(description) }),
      ...(text(statement, 'config') === 'false' ? { config: false } : {}),
      ...(status === 'deprecated' || status === 'obsolete' ? { status } : {}),
      ...(extensions === undefined ? {} : { extensions }),
      ...(only === undefined ? {} : { grouping: argument(only).replace(/^.*:/, '') }),
    };
  }

  /** Prefixed statements are extensions; each must be declared by the module its prefix names (RFC 7950 §7.19). */
  #extensions(statement: Statement, scope: Scope): Record<string, string | true> | undefined {
    let out: Record<string, string | true> | undefined;
    for (const s of statement.children) {
      if (!s.keyword.includes(':')) continue;
      const { module, name } = this.modules.prefixed(s.keyword, s, scope.module);
      if (definition(module.statements, 'extension', name) === undefined) {
        throw new YangError(s, `extension "${name}" is not declared by ${module.name}`);
      }
      out ??= {};
      const before = out[name];
      out[name] = typeof before === 'string' && s.argument !== undefined ? `${before}\n${s.argument}` : (s.argument ?? true);
    }
    return out;
  }

  #choice(statement: Statement, scope: Scope): SchemaNode[] {
    const name = argument(statement);
    const inner = within(scope, statement);
    return statement.children
      .filter((s) => s.keyword === 'case' || NODE_KEYWORDS.has(s.keyword))
      .flatMap((s) => {
        const nodes = s.keyword === 'case' ? this.nodes(s.children, within(inner, s)) : this.#expand(s, inner);
        return nodes.map((node): SchemaNode => ({ ...node, choice: node.choice ?? [name, argument(s)] }));
      });
  }

  #uses(statement: Statement, scope: Scope): SchemaNode[] {
    const found = this.modules.find('grouping', argument(statement), statement, scope);
    if (scope.around.includes(found.statement)) throw new YangError(statement, 'the grouping uses itself');
    const inner = { module: found.scope.module, around: [...found.scope.around, found.statement] };
    // What stands around the `uses` stays visible to the check above, so that a circle of groupings is seen.
    const guarded = { ...inner, around: [...scope.around.filter((s) => s.keyword === 'grouping'), ...inner.around] };
    let nodes = this.nodes(found.statement.children, guarded);
    for (const s of statement.children) {
      if (s.keyword === 'refine') nodes = this.#at(nodes, argument(s), s, (node) => this.#refine(node, s, scope));
      if (s.keyword === 'augment') {
        const extra = this.nodes(s.children, within(scope, s));
        nodes = this.#at(nodes, argument(s), s, (node) => {
          if (!isParent(node)) throw new YangError(s, 'only a container or list can be augmented');
          return { ...node, children: [...node.children, ...extra] };
        });
      }
    }
    return nodes;
  }

  #at(nodes: readonly SchemaNode[], path: string, at: Statement, change: (node: SchemaNode) => SchemaNode): SchemaNode[] {
    const [head = '', ...rest] = path.split('/').map((part) => part.replace(/^.*:/, ''));
    if (!nodes.some((node) => node.name === head)) throw new YangError(at, `there is no node "${head}"`);
    return nodes.map((node) => {
      if (node.name !== head) return node;
      if (rest.length === 0) return change(node);
      if (!isParent(node)) throw new YangError(at, `"${head}" has no children`);
      return { ...node, children: this.#at(node.children, rest.join('/'), at, change) };
    });
  }

  #refine(node: SchemaNode, s: Statement, scope: Scope): SchemaNode {
    const description = text(s, 'description');
    const extensions = this.#extensions(s, scope);
    const common = {
      ...(description === undefined ? {} : { description: oneLine(description) }),
      ...(extensions === undefined ? {} : { extensions: { ...node.extensions, ...extensions } }),
    };
    const fallback = text(s, 'default');
    const mandatory = text(s, 'mandatory');
    if (node.kind === 'leaf') {
      const must = mandatory === undefined ? node.mandatory === true : mandatory === 'true';
      const rest = Object.fromEntries(Object.entries(node).filter(([key]) => key !== 'mandatory')) as unknown as LeafNode;
      return {
        ...rest,
        ...common,
        ...(fallback === undefined ? {} : { default: fallback }),
        ...(must ? { mandatory: true } : {}),
      };
    }
    if (node.kind === 'container' && child(s, 'presence') !== undefined) return { ...node, ...common, presence: true };
    if (node.kind === 'list' || node.kind === 'leaf-list') return { ...node, ...common, ...this.#elements(s) };
    return { ...node, ...common };
  }
}

function within(scope: Scope, statement: Statement): Scope {
  return { module: scope.module, around: [...scope.around, statement] };
}

function oneLine(description: string): string {
  return description.replaceAll(/\s+/g, ' ').trim();
}
