// What a change of a node costs, as the schema says it (`zx:change`): inherited downwards, with what holds where nothing is said.
import { extension, isParent, type SchemaNode } from '../../../yang/compile/schema.ts';

/** Nothing; the peer's routes are sent or asked for again; the session; a new start of the daemon. */
export type ChangeClass = 'live' | 'refresh' | 'reset' | 'restart';

const CLASSES: readonly ChangeClass[] = ['live', 'refresh', 'reset', 'restart'];

/** Below a top-level root of the configuration. */
export function rootClass(root: string): ChangeClass {
  return root === 'bgp' ? 'reset' : 'live';
}

/** `above`: the class of the parent. What is not built is read by nobody; what a plugin brought is the plugin's. */
export function classOf(node: SchemaNode, above: ChangeClass): ChangeClass {
  const own = extension(node, 'zest-extensions:change');
  const stated = CLASSES.find((one) => one === own);
  if (stated !== undefined) return stated;
  return node.joined !== undefined || extension(node, 'not-built') === 'warn' ? 'live' : above;
}

export function dearest(classes: Iterable<ChangeClass>): ChangeClass {
  let at = 0;
  for (const one of classes) at = Math.max(at, CLASSES.indexOf(one));
  return CLASSES[at] ?? 'live';
}

export interface ClassedLeaf {
  /** `bgp/peer/timer/receive-hold-time`: without the keys of lists. */
  readonly path: string;
  readonly node: SchemaNode;
  readonly change: ChangeClass;
  /** False where the feature is not built: nobody reads it. */
  readonly built: boolean;
}

/** Every leaf and leaf-list of a schema below `root`, but for the keys of lists; what is freeform stands for itself. */
export function classedLeaves(root: SchemaNode): readonly ClassedLeaf[] {
  const leaves: ClassedLeaf[] = [];
  const walk = (node: SchemaNode, path: string, above: ChangeClass, under: boolean): void => {
    const change = classOf(node, above);
    const built = under && extension(node, 'not-built') === undefined;
    if (!isParent(node)) leaves.push({ path, node, change, built });
    else {
      if (node.children.length === 0) leaves.push({ path, node, change, built });
      for (const child of node.children)
        if (node.kind !== 'list' || !node.keys.includes(child.name)) walk(child, `${path}/${child.name}`, change, built);
    }
  };
  walk(root, root.name, rootClass(root.name), true);
  return leaves;
}
