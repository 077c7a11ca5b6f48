/**
 * Whoever waits, by the number of a call's id. Ids are given one after another and most calls are answered soon, in about that order, so
 * the place of an id in a ring is its last bits. Who still waits when its place comes round again moves to a map, or the ring grows. It
 * stays as large as it was, 1 MiB at most.
 */

const SMALLEST = 64;
/** Places past which the ring grows no more: what calls a link serves at a time (`runningLimit`) fit. */
const LARGEST = 64 * 1024;

export class CallRing<T> {
  /** By place: the id, and who waits under it. */
  #ids = new Float64Array(SMALLEST);
  #values: (T | undefined)[] = places(SMALLEST);
  #inRing = 0;
  readonly #slow = new Map<number, T>();

  get size(): number {
    return this.#inRing + this.#slow.size;
  }

  /** An id that is not in use. */
  add(id: number, value: T): void {
    let at = id & (this.#ids.length - 1);
    while (this.#values[at] !== undefined) {
      if (2 * this.#inRing < this.#ids.length || this.#ids.length >= LARGEST) {
        this.#slow.set(this.#ids[at]!, this.#values[at]!);
        this.#inRing--;
        break;
      }
      this.#grow();
      at = id & (this.#ids.length - 1);
    }
    this.#ids[at] = id;
    this.#values[at] = value;
    this.#inRing++;
  }

  /** Whoever waits under this id; it does so no longer. */
  take(id: number): T | undefined {
    const at = id & (this.#ids.length - 1);
    const value = this.#values[at];
    if (value !== undefined && this.#ids[at] === id) {
      this.#values[at] = undefined;
      this.#inRing--;
      return value;
    }
    if (this.#slow.size === 0) return undefined;
    const late = this.#slow.get(id);
    this.#slow.delete(id);
    return late;
  }

  /** Everybody, in the order of their ids; nobody waits any more. */
  clear(): T[] {
    const all = [...this.#slow];
    for (const [at, value] of this.#values.entries()) if (value !== undefined) all.push([this.#ids[at]!, value]);
    this.#slow.clear();
    this.#values.fill(undefined);
    this.#inRing = 0;
    return all.sort(([a], [b]) => a - b).map(([, value]) => value);
  }

  /** Twice the places: two ids that differed in their last bits still do. */
  #grow(): void {
    const ids = this.#ids;
    const values = this.#values;
    this.#ids = new Float64Array(2 * ids.length);
    this.#values = places(2 * ids.length);
    for (let from = 0; from < ids.length; from++) {
      const at = ids[from]! & (this.#ids.length - 1);
      if (values[from] === undefined) continue;
      this.#ids[at] = ids[from]!;
      this.#values[at] = values[from];
    }
  }
}

function places<T>(count: number): (T | undefined)[] {
  return new Array<T | undefined>(count).fill(undefined);
}
