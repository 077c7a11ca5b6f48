// Which of several statements of one name is meant: by keys, by state (active or not), by number. Small blocks are walked; past a
// few statements a block gets a map, so that a line costs the same in a list of ten thousand.
import { idOf } from '../text/statement-index.ts';
import type { ConfigStatement } from '../text/syntax-tree.ts';

const SCAN = 12;
const NONE: readonly ConfigStatement[] = [];

export class Siblings {
  readonly #maps = new WeakMap<ConfigStatement[], Map<string, ConfigStatement[]>>();

  /** All of that id and state, in their order. */
  all(siblings: ConfigStatement[], id: string, inactive: boolean): readonly ConfigStatement[] {
    if (siblings.length <= SCAN) return siblings.filter((one) => one.inactive === inactive && idOf(one) === id);
    let map = this.#maps.get(siblings);
    if (map === undefined) {
      map = new Map();
      for (const one of siblings) put(map, one);
      this.#maps.set(siblings, map);
    }
    return map.get(keyOf(id, inactive)) ?? NONE;
  }

  add(siblings: ConfigStatement[], statement: ConfigStatement): void {
    siblings.push(statement);
    const map = this.#maps.get(siblings);
    if (map !== undefined) put(map, statement);
  }

  replace(siblings: ConfigStatement[], before: ConfigStatement, after: ConfigStatement): void {
    siblings[siblings.indexOf(before)] = after;
    const list = this.#maps.get(siblings)?.get(keyOf(idOf(before), before.inactive));
    if (list === undefined) return;
    if (idOf(before) === idOf(after) && before.inactive === after.inactive) list[list.indexOf(before)] = after;
    else this.#maps.delete(siblings);
  }

  remove(siblings: ConfigStatement[], statement: ConfigStatement): void {
    const at = siblings.indexOf(statement);
    if (at >= 0) siblings.splice(at, 1);
    this.#maps.delete(siblings);
  }

  /** The order was changed from outside. */
  forget(siblings: ConfigStatement[]): void {
    this.#maps.delete(siblings);
  }
}

function keyOf(id: string, inactive: boolean): string {
  return inactive ? `${id}\0inactive` : id;
}

function put(map: Map<string, ConfigStatement[]>, statement: ConfigStatement): void {
  const key = keyOf(idOf(statement), statement.inactive);
  const list = map.get(key);
  if (list === undefined) map.set(key, [statement]);
  else list.push(statement);
}
