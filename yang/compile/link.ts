// From committed rows back to the schema tree.
import type { ContainerNode, SchemaNode } from './schema.ts';

type Row = Omit<ContainerNode, 'children'> & { readonly children?: readonly number[] };

/** Rows as `emitConfig` wrote them (a test keeps both in step); equal nodes are one object. */
export function linkSchema(rows: readonly unknown[]): ContainerNode {
  const nodes: SchemaNode[] = [];
  for (const row of rows as readonly Row[]) {
    const node = row.children === undefined ? row : { ...row, children: row.children.map((index) => nodes[index]!) };
    nodes.push(node as SchemaNode);
  }
  return nodes.at(-1) as ContainerNode;
}
