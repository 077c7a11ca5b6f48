// Where a name or list entry stands among its siblings: duplicates and repeated blocks are found without a walk. Most blocks hold
// a handful of statements; only those past a few get a map of their own.
import type { ConfigStatement } from './syntax-tree.ts';

const SCAN = 12;

export class StatementIndex {
  readonly #places = new WeakMap<ConfigStatement[], Map<string, number>>();

  /** The last sibling called `id` (see `idOf`) that is switched off, or on, as asked. */
  find(siblings: ConfigStatement[], id: string, inactive: boolean): ConfigStatement | undefined {
    const at = this.#at(siblings, id, inactive);
    return at < 0 ? undefined : siblings[at];
  }

  /** Adds a statement; a leaf takes the place of the one before it. */
  add(siblings: ConfigStatement[], statement: ConfigStatement): void {
    const id = idOf(statement);
    const before = statement.kind === 'leaf' ? this.#at(siblings, id, statement.inactive) : -1;
    if (before >= 0) siblings[before] = statement;
    else {
      siblings.push(statement);
      this.#places.get(siblings)?.set(keyOf(id, statement.inactive), siblings.length - 1);
    }
  }

  #at(siblings: ConfigStatement[], id: string, inactive: boolean): number {
    if (siblings.length <= SCAN) return siblings.findLastIndex((one) => one.inactive === inactive && idOf(one) === id);
    let places = this.#places.get(siblings);
    if (places === undefined) {
      places = new Map(siblings.map((one, at) => [keyOf(idOf(one), one.inactive), at]));
      this.#places.set(siblings, places);
    }
    return places.get(keyOf(id, inactive)) ?? -1;
  }
}

/** What makes a statement the same as another: its name, for an entry its keys too. */
export function idOf(statement: { readonly name: string; readonly keys?: readonly string[] }): string {
  return statement.keys === undefined ? statement.name : `${statement.name}\0${statement.keys.join('\0')}`;
}

function keyOf(id: string, inactive: boolean): string {
  return inactive ? `${id}\0inactive` : id;
}
