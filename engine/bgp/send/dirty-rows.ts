/**
 * A set of row numbers that gives them back in the order they came: one bit a row says whether it is in, a ring holds the order.
 * The bits are reserved for a full table (untouched memory costs nothing) and double past that; so does the ring when it is full.
 */

/** Rows reserved at once: what a full table and its growth need. */
export const RESERVED_ROWS = 1 << 22;
/** Rows a set holds before its ring doubles: few sets ever hold more, and those that do belong to a receiver that is slow anyway. */
export const RING_ROWS = 1 << 16;

export class DirtyRows {
  #bits: Uint8Array;
  #ring: Int32Array;
  #head = 0;
  #count = 0;
  /** Times the reserve was too small. */
  growths = 0;

  /** `ring`: rows it may hold before the ring doubles. */
  constructor(ring: number = RING_ROWS) {
    this.#bits = new Uint8Array(RESERVED_ROWS >>> 3);
    this.#ring = new Int32Array(ring);
  }

  get size(): number {
    return this.#count;
  }

  has(row: number): boolean {
    return (this.#bits[row >>> 3]! & (1 << (row & 7))) !== 0;
  }

  /** True when the row was not in the set. */
  add(row: number): boolean {
    if (row >>> 3 >= this.#bits.length) this.#growBits(row);
    const bit = 1 << (row & 7);
    const byte = this.#bits[row >>> 3]!;
    if ((byte & bit) !== 0) return false;
    this.#bits[row >>> 3] = byte | bit;
    if (this.#count === this.#ring.length) this.#growRing();
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

  #growBits(row: number): void {
    this.growths++;
    let size = 2 * this.#bits.length;
    while (row >>> 3 >= size) size *= 2;
    const bits = new Uint8Array(size);
    bits.set(this.#bits);
    this.#bits = bits;
  }

  #growRing(): void {
    this.growths++;
    const ring = new Int32Array(2 * this.#ring.length);
    for (let i = 0; i < this.#count; i++) ring[i] = this.#ring[(this.#head + i) % this.#ring.length]!;
    this.#ring = ring;
    this.#head = 0;
  }
}
