// IPv6 prefixes ⇄ row numbers: four words and a length in columns by row; a slot holds the hash and the row, so that a chain is walked
// without touching the columns.
import type { TableOptions } from './ipv4-table.ts';
import { ROW_LIMIT, ROW_RESERVE } from './ipv4-table.ts';

const FIRST_SLOTS = 1 << 13;
const WIDE_SLOTS = 1 << 21;
/** In `lengths`: the row is free, and its first word holds the row freed before it, plus one. */
const FREE = 0xff;

/** Columns are replaced when the table grows past its reserve: read the field again after every `insert`. */
export class Ipv6Table {
  /** Four per row. */
  words: Uint32Array;
  lengths: Uint8Array;
  /** Rows in use are below this. */
  used = 0;
  /** Prefixes held. */
  size = 0;
  #capacity: number;
  #free = 0;
  #slots = new Uint32Array(2 * FIRST_SLOTS);
  #mask = FIRST_SLOTS - 1;
  readonly #limit: number;
  readonly #seed: number;

  constructor(options: TableOptions = {}) {
    this.#limit = Math.min(options.limit ?? ROW_LIMIT, ROW_LIMIT);
    this.#capacity = Math.min(options.reserve ?? ROW_RESERVE, this.#limit);
    this.#seed = (options.seed ?? 0x2545f491) | 0;
    this.words = new Uint32Array(4 * this.#capacity);
    this.lengths = new Uint8Array(this.#capacity);
  }

  /** Row of the prefix, -1 when it is not there. Words are u32, bits past the length zero. */
  find(w0: number, w1: number, w2: number, w3: number, lengthBits: number): number {
    const hash = this.#hash(w0, w1, w2, w3, lengthBits);
    const slots = this.#slots;
    const mask = this.#mask;
    let slot = hash & mask;
    for (;;) {
      const entry = slots[2 * slot + 1]!;
      if (entry === 0) return -1;
      if (slots[2 * slot] === hash && this.#is(entry - 1, w0, w1, w2, w3, lengthBits)) return entry - 1;
      slot = (slot + 1) & mask;
    }
  }

  /** Row of the prefix, made when it is not there; -1 when the table is full. */
  insert(w0: number, w1: number, w2: number, w3: number, lengthBits: number): number {
    const hash = this.#hash(w0, w1, w2, w3, lengthBits);
    const slots = this.#slots;
    const mask = this.#mask;
    let slot = hash & mask;
    for (;;) {
      const entry = slots[2 * slot + 1]!;
      if (entry === 0) break;
      if (slots[2 * slot] === hash && this.#is(entry - 1, w0, w1, w2, w3, lengthBits)) return entry - 1;
      slot = (slot + 1) & mask;
    }
    let row = this.#free - 1;
    if (row >= 0) this.#free = this.words[4 * row]!;
    else if (this.used < this.#capacity || this.#grow()) row = this.used++;
    else return -1;
    const at = 4 * row;
    this.words[at] = w0;
    this.words[at + 1] = w1;
    this.words[at + 2] = w2;
    this.words[at + 3] = w3;
    this.lengths[row] = lengthBits;
    slots[2 * slot] = hash;
    slots[2 * slot + 1] = row + 1;
    if (++this.size * 8 > (mask + 1) * 5) this.#rebuild();
    return row;
  }

  /** Frees a row in use; the next `insert` of a new prefix takes it. */
  remove(row: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let hole = this.#hashOf(row) & mask;
    while (slots[2 * hole + 1] !== row + 1) hole = (hole + 1) & mask;
    for (let slot = (hole + 1) & mask; slots[2 * slot + 1] !== 0; slot = (slot + 1) & mask) {
      const home = slots[2 * slot]! & mask;
      if (((slot - home) & mask) >= ((slot - hole) & mask)) {
        slots[2 * hole] = slots[2 * slot]!;
        slots[2 * hole + 1] = slots[2 * slot + 1]!;
        hole = slot;
      }
    }
    slots[2 * hole + 1] = 0;
    this.words[4 * row] = this.#free;
    this.lengths[row] = FREE;
    this.#free = row + 1;
    this.size--;
  }

  /** False for a row that was removed and not given out again. */
  has(row: number): boolean {
    return row < this.used && this.lengths[row] !== FREE;
  }

  /** Writes the length octet and the prefix octets at `at`; returns the octets written. */
  write(row: number, out: Uint8Array, at: number): number {
    const lengthBits = this.lengths[row]!;
    const size = (lengthBits + 7) >>> 3;
    out[at] = lengthBits;
    for (let i = 0; i < size; i++) out[at + 1 + i] = this.words[4 * row + (i >>> 2)]! >>> (24 - 8 * (i & 3));
    return 1 + size;
  }

  #is(row: number, w0: number, w1: number, w2: number, w3: number, lengthBits: number): boolean {
    const words = this.words;
    const at = 4 * row;
    return (
      words[at] === w0 && words[at + 1] === w1 && words[at + 2] === w2 && words[at + 3] === w3 && this.lengths[row] === lengthBits
    );
  }

  #hash(w0: number, w1: number, w2: number, w3: number, lengthBits: number): number {
    let hash = Math.imul(w0 ^ this.#seed, 0x9e3779b1);
    hash = Math.imul(hash ^ (hash >>> 15) ^ w1, 0x9e3779b1);
    hash = Math.imul(hash ^ (hash >>> 15) ^ w2, 0x9e3779b1);
    hash = Math.imul(hash ^ (hash >>> 15) ^ w3, 0x9e3779b1);
    hash = Math.imul((hash ^ (hash >>> 15)) + lengthBits, 0x85ebca6b);
    return (hash ^ (hash >>> 13)) >>> 0;
  }

  #hashOf(row: number): number {
    const at = 4 * row;
    return this.#hash(this.words[at]!, this.words[at + 1]!, this.words[at + 2]!, this.words[at + 3]!, this.lengths[row]!);
  }

  #rebuild(): void {
    const length = (this.#mask + 1) * (this.#mask + 1 < WIDE_SLOTS ? 4 : 2);
    const slots = new Uint32Array(2 * length);
    const mask = length - 1;
    for (let row = 0; row < this.used; row++) {
      if (this.lengths[row] === FREE) continue;
      const hash = this.#hashOf(row);
      let slot = hash & mask;
      while (slots[2 * slot + 1] !== 0) slot = (slot + 1) & mask;
      slots[2 * slot] = hash;
      slots[2 * slot + 1] = row + 1;
    }
    this.#slots = slots;
    this.#mask = mask;
  }

  #grow(): boolean {
    const capacity = Math.min(2 * this.#capacity, this.#limit);
    if (capacity === this.#capacity) return false;
    const words = new Uint32Array(4 * capacity);
    const lengths = new Uint8Array(capacity);
    words.set(this.words);
    lengths.set(this.lengths);
    this.words = words;
    this.lengths = lengths;
    this.#capacity = capacity;
    return true;
  }
}
