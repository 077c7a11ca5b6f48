// RFC 7950 §9.9: once the tree is whole, every leafref learns the type of what its path names.
import type { ContainerNode, ParentNode, SchemaNode, TypeSpec } from './schema.ts';
import type { Expression } from './xpath.ts';

const MAXIMUM_CHAIN = 32;
const MAXIMUM_TRAILS = 256;
/** Leafrefs within a path (`deref`), one in the other. */
const MAXIMUM_DEREF = 16;
/** Paths followed in one tree: a union of leafrefs to a union of leafrefs doubles with every level. */
const MAXIMUM_PATHS = 100_000;

/** Called for a leafref whose path names nothing. */
export type Unresolved = (type: TypeSpec, why: string) => void;

/** The tree with the targets of its leafrefs; the very same tree when there is nothing to add. */
export function withTargets(root: ContainerNode, unresolved: Unresolved): ContainerNode {
  const stack: SchemaNode[] = [];
  const work = { left: MAXIMUM_PATHS };
  const visit = (node: SchemaNode, template: boolean): SchemaNode => {
    switch (node.kind) {
      case 'leaf':
      case 'leaf-list': {
        if (!holdsLeafref(node.type)) return node;
        const type = resolved(node.type, [...stack, node], template ? () => undefined : unresolved, work);
        return type === node.type ? node : { ...node, type };
      }
      case 'anydata':
        return node;
      case 'container':
      case 'list': {
        if (!needsTargets(node)) return node;
        stack.push(node);
        const children = node.children.map((child) => visit(child, template || child.template === true));
        stack.pop();
        return children.some((child, index) => child !== node.children[index]) ? { ...node, children } : node;
      }
    }
  };
  return visit(root, false) as ContainerNode;
}

const needing = new WeakMap<SchemaNode, boolean>();

function needsTargets(node: SchemaNode): boolean {
  let found = needing.get(node);
  if (found === undefined) {
    found =
      node.kind === 'container' || node.kind === 'list'
        ? node.children.some(needsTargets)
        : node.kind !== 'anydata' && holdsLeafref(node.type);
    needing.set(node, found);
  }
  return found;
}

/** Is there a leafref without a target in the type? */
function holdsLeafref(type: TypeSpec): boolean {
  if (type.base === 'union') return type.members.some(holdsLeafref);
  return type.base === 'leafref' && type.target === undefined;
}

/** Paths that may still be followed. */
interface Work {
  left: number;
}

function resolved(type: TypeSpec, at: readonly SchemaNode[], unresolved: Unresolved, work: Work, chain = 0): TypeSpec {
  if (type.base === 'union')
    return { ...type, members: type.members.map((member) => resolved(member, at, unresolved, work, chain)) };
  if (type.base !== 'leafref' || type.target !== undefined) return type;
  const found = chain > MAXIMUM_CHAIN ? undefined : follow(type.steps, at, work);
  const node = found?.at(-1);
  if (found === undefined || node === undefined || (node.kind !== 'leaf' && node.kind !== 'leaf-list')) {
    unresolved(type, why(chain, work));
    return type;
  }
  return { ...type, target: resolved(node.type, found, unresolved, work, chain + 1) };
}

function why(chain: number, { left }: Work): string {
  if (left < 0) return `more than ${MAXIMUM_PATHS} leafrefs lead to each other`;
  return chain > MAXIMUM_CHAIN ? 'leafrefs refer to each other in a circle' : 'names no leaf of the schema';
}

/** The schema nodes from the root to what a path names; `at` ends with the node it starts from. */
function follow(path: Expression, at: readonly SchemaNode[], work: Work, depth = 0): readonly SchemaNode[] | undefined {
  if (path.kind !== 'path' || --work.left < 0 || depth > MAXIMUM_DEREF) return undefined;
  let trail: SchemaNode[];
  if (path.from === 'here') trail = [...at];
  else if (path.from === 'root') trail = [at[0]!];
  else {
    const of = path.from;
    const inner =
      of.kind === 'call' && of.name === 'deref' && of.arguments[0] !== undefined
        ? follow(of.arguments[0], at, work, depth + 1)
        : undefined;
    const leaf = inner?.at(-1);
    if (inner === undefined || leaf?.kind !== 'leaf' || leaf.type.base !== 'leafref') return undefined;
    const target = follow(leaf.type.steps, inner, work, depth + 1);
    if (target === undefined) return undefined;
    trail = [...target];
  }
  // Where modules share a name, each is tried.
  let trails: SchemaNode[][] = [trail];
  for (const step of path.steps) {
    if (step.axis === 'parent') trails = trails.filter((one) => one.length > 1).map((one) => one.slice(0, -1));
    else if (step.axis === 'child') {
      trails = trails.flatMap((one) => {
        const parent = one.at(-1)!;
        return isParentNode(parent)
          ? parent.children.filter((child) => child.name === step.test).map((child) => [...one, child])
          : [];
      });
    } else if (step.axis !== 'self') return undefined;
    if (trails.length > MAXIMUM_TRAILS) return undefined;
  }
  return trails[0];
}

function isParentNode(node: SchemaNode): node is ParentNode {
  return node.kind === 'container' || node.kind === 'list';
}
