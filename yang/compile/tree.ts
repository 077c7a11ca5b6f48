// The schema of a set of modules, as one tree. It never changes: `augment` answers a new tree that shares what did not move.
import { argument, ModuleSet, type Module } from './modules.ts';
import { type Statement, YangError } from './reader.ts';
import { Resolver } from './resolve.ts';
import { type ContainerNode, isParent, type RpcNode, type SchemaNode } from './schema.ts';

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
  static compile(sources: Readonly<Record<string, string>>): SchemaTree {
    const modules = new ModuleSet();
    const entries = Object.entries(sources).sort(([, a], [, b]) => Number(isModule(a)) - Number(isModule(b)));
    for (const [file, source] of entries) modules.add(source, file.replace(/\.yang$/, ''));
    const empty = new SchemaTree({ kind: 'container', name: '', children: [] }, [], () => modules);
    return empty.#with(modules, modules.all());
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

  /** The tree with one more module worked in: its top-level nodes and its augments. Throws `YangError`; this tree stays. */
  augment(moduleText: string, file = 'schema'): SchemaTree {
    const modules = this.#modules().fork();
    const module = modules.add(moduleText, file);
    return module === undefined ? this : this.#with(modules, [module], true);
  }

  #with(modules: ModuleSet, added: readonly Module[], joining = false): SchemaTree {
    const resolver = new Resolver(modules);
    let root = this.root;
    const rpcs = [...this.rpcs];
    const augments: { statement: Statement; module: Module }[] = [];
    for (const module of added) {
      for (const name of module.imports.values()) {
        if (modules.get(name) === undefined) throw new YangError(module.at, `module "${name}" is not loaded`);
      }
      const scope = { module, around: [] };
      const deviation = module.statements.find((statement) => statement.keyword === 'deviation');
      if (deviation !== undefined) throw new YangError(deviation, 'deviations are not taken');
      const nodes = resolver.nodes(module.statements, scope);
      root = append(root, joining ? nodes.map((node): SchemaNode => ({ ...node, joined: module.name })) : nodes, module.at);
      for (const statement of module.statements) {
        if (statement.keyword === 'rpc') rpcs.push(resolver.rpc(statement, scope));
        if (statement.keyword === 'augment') augments.push({ statement, module });
      }
    }
    const extra = augments[MAXIMUM_AUGMENTS];
    if (extra !== undefined) throw new YangError(extra.statement, `more than ${MAXIMUM_AUGMENTS} augments`);
    // An augment may aim at what another one adds: go round until nothing is left, or nothing moves.
    let left = augments;
    while (left.length > 0) {
      const later: typeof augments = [];
      for (const one of left) {
        const next = applyAugment(root, one.statement, one.module, resolver, joining);
        if (next === undefined) later.push(one);
        else root = next;
      }
      if (later.length === left.length) throw new YangError(left[0]!.statement, 'the target does not exist');
      left = later;
    }
    return new SchemaTree(root, rpcs, () => modules);
  }
}

/** Of one compilation: each copies the children of its target. */
const MAXIMUM_AUGMENTS = 1024;

function isModule(source: string): boolean {
  return !/^\s*submodule\b/m.test(source);
}

function append(parent: ContainerNode, nodes: readonly SchemaNode[], at: Statement): ContainerNode {
  const twice = nodes.find((node) => parent.children.some((other) => other.name === node.name));
  if (twice !== undefined) throw new YangError(at, `node "${twice.name}" exists already`);
  return nodes.length === 0 ? parent : { ...parent, children: [...parent.children, ...nodes] };
}

/** RFC 7950 §7.17. `undefined` when the target is not there (yet). */
function applyAugment(
  root: ContainerNode,
  statement: Statement,
  module: Module,
  resolver: Resolver,
  joining: boolean,
): ContainerNode | undefined {
  const target = argument(statement);
  if (!target.startsWith('/')) throw new YangError(statement, 'the target must start with "/"');
  const path = target
    .slice(1)
    .split('/')
    .map((part) => resolver.modules.prefixed(part, statement, module).name);
  const nodes = resolver.nodes(statement.children, { module, around: [statement] });
  const walk = (parent: SchemaNode, depth: number): SchemaNode | undefined => {
    if (!isParent(parent)) throw new YangError(statement, `"${parent.name}" cannot hold nodes`);
    const name = path[depth];
    if (name === undefined) {
      const extra = nodes.map(
        (node): SchemaNode => ({
          ...node,
          module: module.name,
          ...(joining ? { joined: module.name } : {}),
        }),
      );
      const twice = extra.find((node) => parent.children.some((other) => other.name === node.name));
      if (twice !== undefined) throw new YangError(statement, `node "${twice.name}" exists already`);
      return { ...parent, children: [...parent.children, ...extra] };
    }
    const index = parent.children.findIndex((node) => node.name === name);
    if (index < 0) {
      // Choices are flattened: their names, and those of their cases, are steps on the spot.
      return parent.children.some((node) => node.choice?.includes(name) === true) ? walk(parent, depth + 1) : undefined;
    }
    const changed = walk(parent.children[index]!, depth + 1);
    return changed === undefined ? undefined : { ...parent, children: parent.children.with(index, changed) };
  };
  const changed = walk(root, 0);
  return changed === undefined ? undefined : (changed as ContainerNode);
}
