// Where a name or list entry stands among its siblings: duplicates and repeated blocks are found in one step.
import type { ConfigStatement } from './syntax-tree.ts';

export class StatementIndex {
  readonly #places = new WeakMap<ConfigStatement[], Map<string, number>>();

  /** The sibling called `id` (a name, or a name and its keys) that is switched off, or on, as asked. */
  find(siblings: ConfigStatement[], id: string, inactive: boolean): ConfigStatement | undefined {
    const at = this.#places.get(siblings)?.get(keyOf(id, inactive));
    return at === undefined ? undefined : siblings[at];
  }

  /** Adds a statement; a leaf takes the place of the one before it. */
  add(siblings: ConfigStatement[], statement: ConfigStatement, id: string): void {
    let places = this.#places.get(siblings);
    if (places === undefined) {
      places = new Map();
      this.#places.set(siblings, places);
    }
    const key = keyOf(id, statement.inactive);
    const before = statement.kind === 'leaf' ? places.get(key) : undefined;
    if (before !== undefined) siblings[before] = statement;
    else places.set(key, siblings.push(statement) - 1);
  }
}

function keyOf(id: string, inactive: boolean): string {
  return inactive ? `${id}\0inactive` : id;
}
