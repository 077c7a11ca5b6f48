// Any NLRI ⇄ row numbers: the key is a run of bytes, whatever the family puts there. Also for prefixes with a path identifier in front
// (RFC 7911) and for keys that a plugin composes itself.
import { ByteArena } from './byte-arena.ts';
import type { TableOptions } from './ipv4-table.ts';
import { ROW_LIMIT } from './ipv4-table.ts';

const FIRST_SLOTS = 1 << 10;
const WIDE_SLOTS = 1 << 21;
/** In `lengths`: the row is free, and `#at` holds the row freed before it, plus one. Keys are at most KEY_MAXIMUM bytes. */
const FREE = 0xffff;
const KEY_MAXIMUM = 0xfffe;

/** Columns and bytes are replaced when the table grows: read the fields again after every `insert`. */
export class NlriTable {
  readonly arena: ByteArena;
  lengths: Uint16Array;
  /** Rows in use are below this. */
  used = 0;
  /** Keys held. */
  size = 0;
  #at: Uint32Array;
  #capacity: number;
  #free = 0;
  #slots = new Uint32Array(2 * FIRST_SLOTS);
  #mask = FIRST_SLOTS - 1;
  readonly #limit: number;
  readonly #seed: number;

  /** `reserve` is in rows, small unless told: tables of this kind may be many (one per peer). */
  constructor(options: TableOptions = {}) {
    this.#limit = Math.min(options.limit ?? ROW_LIMIT, ROW_LIMIT);
    this.#capacity = Math.min(options.reserve ?? 1 << 10, this.#limit);
    this.#seed = (options.seed ?? 0x2545f491) | 0;
    this.arena = new ByteArena({ reserve: 16 * this.#capacity });
    this.#at = new Uint32Array(this.#capacity);
    this.lengths = new Uint16Array(this.#capacity);
  }

  /** Rows that fit before the columns grow; a caller's own columns follow it. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Where the key of a row begins in `arena.bytes`; `lengths[row]` bytes. */
  at(row: number): number {
    return this.#at[row]!;
  }

  /** Row of the key, -1 when it is not there. */
  find(bytes: Uint8Array, at: number, length: number): number {
    const hash = this.#hash(bytes, at, length);
    const slots = this.#slots;
    const mask = this.#mask;
    let slot = hash & mask;
    for (;;) {
      const entry = slots[2 * slot + 1]!;
      if (entry === 0) return -1;
      if (slots[2 * slot] === hash && this.#is(entry - 1, bytes, at, length)) return entry - 1;
      slot = (slot + 1) & mask;
    }
  }

  /** Row of the key, made when it is not there; -1 when the table is full or the key longer than KEY_MAXIMUM. */
  insert(bytes: Uint8Array, at: number, length: number): number {
    const hash = this.#hash(bytes, at, length);
    const slots = this.#slots;
    const mask = this.#mask;
    let slot = hash & mask;
    for (;;) {
      const entry = slots[2 * slot + 1]!;
      if (entry === 0) break;
      if (slots[2 * slot] === hash && this.#is(entry - 1, bytes, at, length)) return entry - 1;
      slot = (slot + 1) & mask;
    }
    if (length > KEY_MAXIMUM || (this.#free === 0 && this.used >= this.#capacity && !this.#grow())) return -1;
    const block = this.arena.take(length);
    if (block < 0) return -1;
    let row = this.#free - 1;
    if (row >= 0) this.#free = this.#at[row]!;
    else row = this.used++;
    const mine = this.arena.bytes;
    for (let i = 0; i < length; i++) mine[block + i] = bytes[at + i]!;
    this.#at[row] = block;
    this.lengths[row] = length;
    slots[2 * slot] = hash;
    slots[2 * slot + 1] = row + 1;
    if (++this.size * 8 > (mask + 1) * 5) this.#rebuild();
    return row;
  }

  /** Frees a row in use; the next `insert` of a new key takes it. */
  remove(row: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let hole = this.#hash(this.arena.bytes, this.#at[row]!, this.lengths[row]!) & mask;
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
    this.arena.give(this.#at[row]!, this.lengths[row]!);
    this.#at[row] = this.#free;
    this.lengths[row] = FREE;
    this.#free = row + 1;
    this.size--;
  }

  /** False for a row that was removed and not given out again. */
  has(row: number): boolean {
    return row < this.used && this.lengths[row] !== FREE;
  }

  /** Writes the key at `at`; returns the octets written. */
  write(row: number, out: Uint8Array, at: number): number {
    const length = this.lengths[row]!;
    const from = this.#at[row]!;
    const mine = this.arena.bytes;
    for (let i = 0; i < length; i++) out[at + i] = mine[from + i]!;
    return length;
  }

  #is(row: number, bytes: Uint8Array, at: number, length: number): boolean {
    if (this.lengths[row] !== length) return false;
    const mine = this.arena.bytes;
    const from = this.#at[row]!;
    for (let i = 0; i < length; i++) if (mine[from + i] !== bytes[at + i]) return false;
    return true;
  }

  #hash(bytes: Uint8Array, at: number, length: number): number {
    let hash = this.#seed ^ length;
    for (let i = 0; i < length; i++) {
      hash = Math.imul(hash ^ bytes[at + i]!, 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash, 0x85ebca6b);
    return (hash ^ (hash >>> 13)) >>> 0;
  }

  #rebuild(): void {
    const length = (this.#mask + 1) * (this.#mask + 1 < WIDE_SLOTS ? 4 : 2);
    const old = this.#slots;
    const slots = new Uint32Array(2 * length);
    const mask = length - 1;
    for (let i = 0; i < old.length; i += 2) {
      if (old[i + 1] === 0) continue;
      let slot = old[i]! & mask;
      while (slots[2 * slot + 1] !== 0) slot = (slot + 1) & mask;
      slots[2 * slot] = old[i]!;
      slots[2 * slot + 1] = old[i + 1]!;
    }
    this.#slots = slots;
    this.#mask = mask;
  }

  #grow(): boolean {
    const capacity = Math.min(2 * this.#capacity, this.#limit);
    if (capacity === this.#capacity) return false;
    const at = new Uint32Array(capacity);
    const lengths = new Uint16Array(capacity);
    at.set(this.#at);
    lengths.set(this.lengths);
    this.#at = at;
    this.lengths = lengths;
    this.#capacity = capacity;
    return true;
  }
}
