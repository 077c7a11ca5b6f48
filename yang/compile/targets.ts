// RFC 7950 §6.5: a schema node identifier, walked in a tree whose choices are flat. What is found is changed, and everything above it
// copied; the rest is shared.
import type { Choice, ContainerNode, ParentNode, SchemaNode } from './schema.ts';

/** What may be changed at the end of the walk. */
export type Target =
  | { readonly kind: 'node'; readonly node: SchemaNode }
  /** A choice or case among the children of `parent`; `path` as in `Choice`, with the case's name at its end for a case. */
  | { readonly kind: 'choice' | 'case'; readonly parent: ParentNode; readonly path: readonly string[] };

/** Answers the changed node (for a choice or case: the changed parent); `undefined` takes a node away. */
export type Change = (target: Target) => SchemaNode | undefined;

/** A step: a local name, and the module it belongs to where that is known. */
export interface Name {
  readonly name: string;
  readonly module?: string;
}

/**
 * The parent with the node at `path` changed; `undefined` when there is none. `charge` is told how many nodes are looked at and copied, level
 * by level.
 */
export function changeAt<P extends ParentNode>(
  parent: P,
  path: readonly Name[],
  change: Change,
  charge: (nodes: number) => void,
): P | undefined {
  return walk(parent, path, 0, [], change, charge) as P | undefined;
}

function walk(
  parent: ParentNode,
  path: readonly Name[],
  at: number,
  inside: readonly string[],
  change: Change,
  charge: (nodes: number) => void,
): SchemaNode | undefined {
  const { name, module } = path[at]!;
  charge(parent.children.length + (parent.choices?.length ?? 0));
  const last = at === path.length - 1;
  if (inside.length % 2 === 1) {
    // In a choice: the name is that of a case.
    const own = [...inside, name];
    if (!hasCase(parent, own)) return undefined;
    return last ? change({ kind: 'case', parent, path: own }) : walk(parent, path, at + 1, own, change, charge);
  }
  const index = parent.children.findIndex((node) => isNamed(node, name, module) && begins(node.choice ?? [], inside));
  const node = parent.children[index];
  if (node !== undefined && (inside.length > 0 || node.choice === undefined)) {
    if (last) {
      const changed = change({ kind: 'node', node });
      const children = changed === undefined ? parent.children.toSpliced(index, 1) : parent.children.with(index, changed);
      return { ...parent, children };
    }
    if (node.kind !== 'container' && node.kind !== 'list') return undefined;
    const inner = walk(node, path, at + 1, [], change, charge);
    return inner === undefined ? undefined : { ...parent, children: parent.children.with(index, inner) };
  }
  const own = [...inside, name];
  if (choiceOf(parent, own) === undefined) return undefined;
  return last ? change({ kind: 'choice', parent, path: own }) : walk(parent, path, at + 1, own, change, charge);
}

/** Only nodes of augments, and in `namespaces` those at the top, say whose they are. */
function isNamed(node: SchemaNode, name: string, module: string | undefined): boolean {
  return node.name === name && (module === undefined || node.module === undefined || node.module === module);
}

export function choiceOf(parent: ParentNode, path: readonly string[]): Choice | undefined {
  return parent.choices?.find((choice) => choice.path.length === path.length && begins(choice.path, path));
}

function hasCase(parent: ParentNode, path: readonly string[]): boolean {
  return choiceOf(parent, path.slice(0, -1))?.cases.includes(path.at(-1)!) === true;
}

export function begins(path: readonly string[], with_: readonly string[]): boolean {
  return with_.every((name, index) => path[index] === name);
}

/** Nodes and choices that stand together. */
export interface Body {
  readonly nodes: readonly SchemaNode[];
  readonly choices: readonly Choice[];
}

/** The body as it looks inside a case; an empty path is no case. */
export function insideCase(body: Body, path: readonly string[]): Body {
  if (path.length === 0) return body;
  return {
    nodes: body.nodes.map((node): SchemaNode => ({ ...node, choice: [...path, ...(node.choice ?? [])] })),
    choices: body.choices.map((choice) => ({ ...choice, path: [...path, ...choice.path] })),
  };
}

/** The parent with a body added; a name when a node is there already (with `namespaces`: of the same module). */
export function withBody<P extends ParentNode>(parent: P, body: Body, namespaces = false): P | string {
  const nameOf = (node: SchemaNode): string => (namespaces ? `${node.module ?? ''}:${node.name}` : node.name);
  const names = new Set(parent.children.map(nameOf));
  const twice = body.nodes.find((node) => names.has(nameOf(node)));
  if (twice !== undefined) return twice.name;
  const choices = joinChoices([...(parent.choices ?? []), ...body.choices]);
  return { ...parent, children: [...parent.children, ...body.nodes], ...(choices.length === 0 ? {} : { choices }) };
}

/** A choice that is stated in parts (by augments) is one. */
function joinChoices(choices: readonly Choice[]): readonly Choice[] {
  const out = new Map<string, Choice>();
  for (const choice of choices) {
    const key = choice.path.join('\u0000');
    const before = out.get(key);
    out.set(key, before === undefined ? choice : { ...before, cases: [...new Set([...before.cases, ...choice.cases])] });
  }
  return [...out.values()];
}

/** A container of a body; nameless when it stands for the children alone. */
export function holder(body: Body, more: Omit<ContainerNode, 'kind' | 'children'> = { name: '' }): ContainerNode {
  const choices = body.choices.length === 0 ? {} : { choices: body.choices };
  return { kind: 'container', ...more, ...choices, children: body.nodes };
}
