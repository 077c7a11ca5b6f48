// The schema of a set of modules, as one tree. It never changes: `augment` answers a new tree that shares what did not move.
import { conditions } from './conditions.ts';
import { withTargets } from './leafrefs.ts';
import { argument, child, type Features, type Module, ModuleSet } from './modules.ts';
import { type Statement, YangError } from './reader.ts';
import { deviated } from './refine.ts';
import { Resolver } from './resolve.ts';
import { childOf, type ContainerNode, extension, isParent, type RpcNode, type SchemaNode, type TypeSpec } from './schema.ts';
import { type Body, changeAt, type Name, type Target, withBody } from './targets.ts';
import { resolveType } from './types.ts';

export interface CompileOptions {
  /** Which features are there, by `module:feature`; all when absent. */
  readonly features?: Features | undefined;
  /** Nodes, types and values that may be made (`MAXIMUM_WORK`). */
  readonly maximum?: number | undefined;
  /** Modules may define nodes of the same name at one place: read to be looked at, not to configure with, where names have no prefix. */
  readonly namespaces?: boolean | undefined;
}

interface Augment {
  readonly statement: Statement;
  readonly module: Module;
}

export class SchemaTree {
  /** A nameless container whose children are the top-level nodes of all modules. */
  readonly root: ContainerNode;
  readonly rpcs: readonly RpcNode[];
  readonly #modules: () => ModuleSet;

  private constructor(root: ContainerNode, rpcs: readonly RpcNode[], modules: () => ModuleSet) {
    this.root = root;
    this.rpcs = rpcs;
    this.#modules = modules;
  }

  /** Compiles modules, given as file name → text. Throws `YangError`. */
  static compile(sources: Readonly<Record<string, string>>, options: CompileOptions = {}): SchemaTree {
    const modules = new ModuleSet(options);
    const entries = Object.entries(sources).sort(([, a], [, b]) => Number(isModule(a)) - Number(isModule(b)));
    for (const [file, source] of entries) modules.add(source, file.replace(/\.yang$/, ''));
    const empty = new SchemaTree({ kind: 'container', name: '', children: [] }, [], () => modules);
    return empty.#with(modules, modules.all(), { namespaces: options.namespaces === true });
  }

  /** A tree that was compiled before; `sources` are read only when a module is added to it. */
  static of(root: ContainerNode, sources: () => Readonly<Record<string, string>>): SchemaTree {
    let modules: ModuleSet | undefined;
    return new SchemaTree(root, [], () => {
      if (modules === undefined) {
        modules = new ModuleSet();
        for (const [name, source] of Object.entries(sources())) modules.add(source, name);
      }
      return modules;
    });
  }

  /**
   * The tree with one more module worked in: its top-level nodes, its augments, and what it deviates of modules that joined before it.
   * An augment of a list that says where else its fields stand (`ze:twin`, `ze:template`) reaches these places too, unless the module
   * augments them itself. Throws `YangError`; this tree stays.
   */
  augment(moduleText: string, file = 'schema'): SchemaTree {
    const modules = this.#modules().fork();
    const module = modules.add(moduleText, file);
    return module === undefined ? this : this.#with(modules, [module], { joining: true });
  }

  #with(modules: ModuleSet, added: readonly Module[], how: How): SchemaTree {
    const work = new Assembly(this.root, this.rpcs, modules, how);
    for (const module of added) work.own(module);
    work.applyAugments();
    for (const module of added) work.deviate(module);
    return new SchemaTree(work.linked(), work.rpcs, () => modules);
  }
}

/** Of one compilation: each copies the children of its target. */
const MAXIMUM_AUGMENTS = 1024;

interface How {
  /** The module is a plugin's. */
  readonly joining?: boolean;
  readonly namespaces?: boolean;
}

/** One compilation under way. */
class Assembly {
  #root: ContainerNode;
  readonly rpcs: RpcNode[];
  readonly #modules: ModuleSet;
  readonly #resolver: Resolver;
  readonly #joining: boolean;
  readonly #namespaces: boolean;
  readonly #augments: Augment[] = [];

  constructor(root: ContainerNode, rpcs: readonly RpcNode[], modules: ModuleSet, { joining = false, namespaces = false }: How) {
    this.#root = root;
    this.rpcs = [...rpcs];
    this.#modules = modules;
    this.#resolver = new Resolver(modules);
    this.#joining = joining;
    this.#namespaces = namespaces;
  }

  /** What stands at the top of a module; its augments are kept for later. */
  own(module: Module): void {
    this.#modules.checkImports(module);
    const seen = new Set<string>();
    for (const part of module.parts) {
      const scope = { module: part.module, around: [] };
      const body = this.#resolver.body(part.statements, scope);
      const twice = body.nodes.find((node) => seen.size === seen.add(node.name).size);
      if (twice !== undefined) throw new YangError(part.module.at, `node "${twice.name}" is defined twice here`);
      const mark = this.#joining ? { joined: module.name } : this.#namespaces ? { module: module.name } : undefined;
      const nodes = mark === undefined ? body.nodes : body.nodes.map((node): SchemaNode => ({ ...node, ...mark }));
      const root = withBody(this.#root, { ...body, nodes }, this.#namespaces);
      if (typeof root === 'string') throw new YangError(module.at, `node "${root}" exists already`);
      this.#root = root;
      for (const statement of part.statements) {
        if (statement.keyword === 'rpc' && this.#modules.enabled(statement, scope))
          this.rpcs.push(this.#resolver.rpc(statement, scope));
        if (statement.keyword === 'augment' && this.#modules.enabled(statement, scope)) {
          this.#augments.push({ statement, module: part.module });
        }
      }
    }
  }

  /** An augment may aim at what another one adds: round by round, until nothing is left, or nothing moves. */
  applyAugments(): void {
    const extra = this.#augments[MAXIMUM_AUGMENTS];
    if (this.#joining && extra !== undefined) throw new YangError(extra.statement, `more than ${MAXIMUM_AUGMENTS} augments`);
    let left: readonly Augment[] = this.#augments;
    while (left.length > 0) {
      const later = left.filter((one) => !this.#augment(one));
      if (later.length === left.length) throw new YangError(left[0]!.statement, 'the target does not exist');
      left = later;
    }
    if (this.#joining) for (const one of this.#augments) this.#spread(one);
  }

  /** RFC 7950 §7.17. False when the target is not there (yet). */
  #augment({ statement, module }: Augment): boolean {
    const target = argument(statement);
    if (!target.startsWith('/')) throw new YangError(statement, 'the target must start with "/"');
    const path = this.#path(target, statement, module);
    if (this.#intoOperation(path, statement, module)) return true;
    const root = changeAt(this.#root, path, (found) => this.#grown(found, statement, module), this.#charge(statement));
    if (root === undefined) return false;
    this.#root = root;
    return true;
  }

  #charge(statement: Statement): (nodes: number) => void {
    return (nodes) => this.#modules.toil(statement, nodes);
  }

  #path(target: string, statement: Statement, module: Module): readonly Name[] {
    return target
      .slice(1)
      .split('/')
      .map((part) => {
        const found = this.#modules.prefixed(part.trim(), statement, module);
        return { name: found.name, module: found.module.name };
      });
  }

  #grown(found: Target, statement: Statement, module: Module): SchemaNode {
    const parent = found.kind === 'node' ? found.node : found.parent;
    if (!isParent(parent)) throw new YangError(statement, `"${parent.name}" cannot hold nodes`);
    const body = this.#body(statement, module, found.kind === 'node' ? [] : found.path);
    const grown = withBody(parent, body, this.#namespaces);
    if (typeof grown === 'string') throw new YangError(statement, `node "${grown}" exists already`);
    return grown;
  }

  #body(statement: Statement, module: Module, path: readonly string[]): Body {
    const { nodes, choices } = this.#resolver.augmentation(statement, { module, around: [] }, path);
    const own = nodes.map(
      (node): SchemaNode => ({ ...node, module: module.name, ...(this.#joining ? { joined: module.name } : {}) }),
    );
    return { nodes: own, choices };
  }

  /** Augments of an rpc's input or output; those of notifications and actions add to what is left out and are read for their faults. */
  #intoOperation(path: readonly Name[], statement: Statement, module: Module): boolean {
    const first = this.#modules.prefixed(argument(statement).slice(1).split('/')[0] ?? '', statement, module);
    const top = first.module.statements.find(
      (one) => (one.keyword === 'rpc' || one.keyword === 'notification') && one.argument === first.name,
    );
    if (top === undefined) return this.#intoAction(path, statement, module);
    const index = this.rpcs.findIndex((rpc) => rpc.module === first.module.name && rpc.name === first.name);
    const rpc = this.rpcs[index];
    const side = path[1]?.name;
    if (rpc === undefined || (side !== 'input' && side !== 'output')) {
      this.#body(statement, module, []);
      return true;
    }
    const rest = path.slice(2);
    const change = (found: Target): SchemaNode => this.#grown(found, statement, module);
    const grown =
      rest.length === 0
        ? (change({ kind: 'node', node: rpc[side] }) as ContainerNode)
        : changeAt(rpc[side], rest, change, this.#charge(statement));
    if (grown === undefined) return false;
    this.rpcs[index] = { ...rpc, [side]: grown };
    return true;
  }

  /** Does some step of the path name an action or notification of a module at hand? */
  #intoAction(path: readonly Name[], statement: Statement, module: Module): boolean {
    const same = (found: Target): SchemaNode => (found.kind === 'node' ? found.node : found.parent);
    if (changeAt(this.#root, path, same, this.#charge(statement)) !== undefined) return false;
    const names = argument(statement).slice(1).split('/');
    const hit = names.some((name) => {
      const found = this.#modules.prefixed(name.trim(), statement, module);
      return this.#modules.operations(found.module).has(found.name);
    });
    if (hit) this.#body(statement, module, []);
    return hit;
  }

  /** What an augment of a list adds stands wherever else the list's fields do. */
  #spread({ statement, module }: Augment): void {
    const path = this.#path(argument(statement), statement, module);
    let node: SchemaNode = this.#root;
    for (const [index, { name }] of path.entries()) {
      const next: SchemaNode | undefined = isParent(node) ? childOf(node, name) : undefined;
      if (next === undefined) return;
      node = next;
      for (const kind of ['twin', 'template'] as const) {
        const places = extension(node, kind);
        if (typeof places !== 'string') continue;
        for (const place of places.split(/\s+/)) {
          const to = [
            ...place
              .slice(1)
              .split('/')
              .map((step) => ({ name: step })),
            ...path.slice(index + 1),
          ];
          const copy = (found: Target): SchemaNode => this.#copied(found, statement, module, kind === 'template');
          const root = changeAt(this.#root, to, copy, this.#charge(statement));
          if (root !== undefined) this.#root = root;
        }
      }
    }
  }

  #copied(found: Target, statement: Statement, module: Module, template: boolean): SchemaNode {
    const parent = found.kind === 'node' ? found.node : found.parent;
    if (!isParent(parent)) return parent;
    const body = this.#body(statement, module, found.kind === 'node' ? [] : found.path);
    const fresh = body.nodes.filter((node) => childOf(parent, node.name) === undefined);
    const nodes = template ? fresh.map((node): SchemaNode => ({ ...node, template: true })) : fresh;
    const grown = withBody(parent, { ...body, nodes });
    return typeof grown === 'string' ? parent : grown;
  }

  /** RFC 7950 §7.20.3, behind all augments. A module that joins may deviate what joined, never what this release ships. */
  deviate(module: Module): void {
    for (const part of module.parts) {
      for (const statement of part.statements) {
        if (statement.keyword !== 'deviation') continue;
        const target = argument(statement);
        if (!target.startsWith('/')) throw new YangError(statement, 'the target must start with "/"');
        const path = this.#path(target, statement, part.module);
        if (this.#joining && !this.#joined(path)) throw new YangError(statement, 'only what plugins have added can be deviated');
        const change = (found: Target): SchemaNode | undefined => this.#deviated(found, statement, part.module);
        const root = changeAt(this.#root, path, change, this.#charge(statement));
        if (root !== undefined) this.#root = root;
        else if (!this.#intoOperation(path, statement, part.module)) throw new YangError(statement, 'the target does not exist');
      }
    }
  }

  #joined(path: readonly Name[]): boolean {
    let node: SchemaNode | undefined = this.#root;
    for (const { name } of path) {
      node = node !== undefined && isParent(node) ? childOf(node, name) : undefined;
      if (node?.joined !== undefined) return true;
    }
    return false;
  }

  #deviated(found: Target, statement: Statement, module: Module): SchemaNode | undefined {
    const scope = { module, around: [] };
    let node: SchemaNode = found.kind === 'node' ? found.node : found.parent;
    for (const s of statement.children) {
      if (s.keyword !== 'deviate') continue;
      if (argument(s) === 'not-supported') {
        if (found.kind === 'node') return undefined;
        const children = found.parent.children.filter((one) => !found.path.every((name, at) => one.choice?.[at] === name));
        const choices = (found.parent.choices ?? []).filter((one) => !found.path.every((name, at) => one.path[at] === name));
        node = { ...found.parent, children, choices };
        continue;
      }
      if (found.kind !== 'node') throw new YangError(s, 'of a choice or case only deviate not-supported is taken');
      const type = child(s, 'type');
      const resolved = type === undefined ? undefined : resolveType(type, { module, around: [statement, s] }, this.#modules).type;
      node = deviated(node, s, { must: conditions(s, 'must', scope, this.#modules), type: resolved });
    }
    return node;
  }

  /** The tree with the targets of leafrefs. Throws when one of this compilation names nothing. */
  linked(): ContainerNode {
    return withTargets(this.#root, (type: TypeSpec, why) => {
      const at = type.base === 'leafref' ? this.#modules.pathStatement(type.steps) : undefined;
      if (at !== undefined) throw new YangError(at, why);
    });
  }
}

function isModule(source: string): boolean {
  return !/^\s*submodule\b/m.test(source);
}
