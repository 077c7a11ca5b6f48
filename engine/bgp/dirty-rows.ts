/**
 * A set of row numbers that gives them back in the order they came: one bit a row says whether it is in, a ring holds the order.
 * Columns are reserved, not grown (untouched memory costs nothing); past the reserve they double.
 */

/** Rows reserved at once: what a full table and its growth need. */
export const RESERVED_ROWS = 1 << 22;

export class DirtyRows {
  #bits: Uint8Array;
  #ring: Int32Array;
  #head = 0;
  #count = 0;
  /** Times the reserve was too small. */
  growths = 0;

  constructor(rows: number = RESERVED_ROWS) {
    this.#bits = new Uint8Array(rows >>> 3);
    this.#ring = new Int32Array(rows);
  }

  get size(): number {
    return this.#count;
  }

  has(row: number): boolean {
    return (this.#bits[row >>> 3]! & (1 << (row & 7))) !== 0;
  }

  /** True when the row was not in the set. */
  add(row: number): boolean {
    if (row >>> 3 >= this.#bits.length) this.#grow(row);
    const bit = 1 << (row & 7);
    const byte = this.#bits[row >>> 3]!;
    if ((byte & bit) !== 0) return false;
    this.#bits[row >>> 3] = byte | bit;
    let at = this.#head + this.#count;
    if (at >= this.#ring.length) at -= this.#ring.length;
    this.#ring[at] = row;
    this.#count++;
    return true;
  }

  /** The row that came first, taken out; -1 when empty. */
  take(): number {
    if (this.#count === 0) return -1;
    const row = this.#ring[this.#head]!;
    this.#bits[row >>> 3]! &= ~(1 << (row & 7));
    // An emptied ring starts over at its front, where memory is touched already.
    if (--this.#count === 0) this.#head = 0;
    else if (++this.#head === this.#ring.length) this.#head = 0;
    return row;
  }

  clear(): void {
    while (this.take() >= 0);
  }

  #grow(row: number): void {
    this.growths++;
    let rows = 2 * this.#ring.length;
    while (row >= rows) rows *= 2;
    const bits = new Uint8Array(rows >>> 3);
    bits.set(this.#bits);
    const ring = new Int32Array(rows);
    for (let i = 0; i < this.#count; i++) ring[i] = this.#ring[(this.#head + i) % this.#ring.length]!;
    this.#bits = bits;
    this.#ring = ring;
    this.#head = 0;
  }
}
