/**
 * Reading a filter's definition: JSON of the configuration's tree, whose values the schema has judged already. A list is an array of pairs,
 * key and body, since its order counts.
 */

type Tree = Readonly<Record<string, unknown>>;

/** A container; empty when it is absent. */
export function treeAt(value: unknown, name: string): Tree {
  const child = isTree(value) ? value[name] : undefined;
  return isTree(child) ? child : {};
}

/** The entries of a list in their order. */
export function entriesOf(value: unknown, name: string): readonly (readonly [key: string, entry: Tree])[] {
  const list = isTree(value) ? value[name] : undefined;
  if (!Array.isArray(list)) return [];
  return (list as readonly unknown[]).flatMap((pair): (readonly [string, Tree])[] => {
    if (!Array.isArray(pair)) return [];
    const [key, body] = pair as readonly unknown[];
    return [[String(key), isTree(body) ? body : {}]];
  });
}

/** A number, or undefined. */
export function numberAt(value: unknown, name: string): number | undefined {
  const leaf = isTree(value) ? value[name] : undefined;
  return typeof leaf === 'number' ? leaf : undefined;
}

/** A text; '' when it is absent. */
export function textAt(value: unknown, name: string): string {
  const leaf = isTree(value) ? value[name] : undefined;
  return typeof leaf === 'string' ? leaf : '';
}

/** A list of texts; empty when it is absent. */
export function textsAt(value: unknown, name: string): readonly string[] {
  const list = isTree(value) ? value[name] : undefined;
  return Array.isArray(list) ? list.map(String) : [];
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
