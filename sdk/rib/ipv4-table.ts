// IPv4 prefixes ⇄ row numbers. A slot of the hash table holds a row and six bits of the hash, the key is in the columns by row: a new prefix
// reads one line of a table that is small, and one that is there reads its row, which is read next anyway.

/** Rows reserved at once: virtual until touched, so a small table pays nothing for it. */
export const ROW_RESERVE = 1 << 22;
/** In a slot: the row plus one; above it bits of the hash. */
const ROW_BITS = 26;
const ROW_MASK = (1 << ROW_BITS) - 1;
export const ROW_LIMIT = ROW_MASK - 1;

export interface TableOptions {
  readonly reserve?: number;
  /** Rows never exceeded: `insert` answers -1. */
  readonly limit?: number;
  /** Mixed into the hash, so that a peer cannot aim at one chain. */
  readonly seed?: number;
}

const FIRST_SLOTS = 1 << 18;
const WIDE_SLOTS = 1 << 21;
/** Words of a page of memory, or less. */
const PAGE = 1024;
/** In `lengths`: the row is free, and `addresses` holds the row freed before it, plus one. */
const FREE = 0xff;

/** Columns are replaced when the table grows past its reserve: read the field again after every `insert`. */
export class Ipv4Table {
  addresses: Uint32Array;
  lengths: Uint8Array;
  /** Rows in use are below this. */
  used = 0;
  /** Prefixes held. */
  size = 0;
  #capacity: number;
  #free = 0;
  #slots: Int32Array<ArrayBuffer>;
  #mask: number;
  /** The slots to grow into, reserved with the rest: the collector runs when memory of this size comes, and would run among the routes. */
  #wide: Int32Array<ArrayBuffer> | undefined;
  /** What `warm` looked at: written, so that the compiler cannot leave the looking out. */
  warmed = 0;
  readonly #limit: number;
  readonly #seed: number;

  constructor(options: TableOptions = {}) {
    this.#limit = Math.min(options.limit ?? ROW_LIMIT, ROW_LIMIT);
    this.#capacity = Math.min(options.reserve ?? ROW_RESERVE, this.#limit);
    this.#seed = (options.seed ?? 0x2545f491) | 0;
    this.addresses = new Uint32Array(this.#capacity);
    this.lengths = new Uint8Array(this.#capacity);
    // Where few rows are meant, few slots: they are resident as soon as rows are spread over them.
    const slots = Math.min(FIRST_SLOTS, 2 ** Math.ceil(Math.log2(16 + this.#capacity / 16)));
    this.#slots = new Int32Array(slots);
    this.#mask = slots - 1;
    if (this.#capacity >= WIDE_SLOTS) this.#wide = new Int32Array(WIDE_SLOTS);
  }

  /** Row of the prefix, -1 when it is not there. `address` is u32, bits past the length zero. */
  find(address: number, lengthBits: number): number {
    const slots = this.#slots;
    const mask = this.#mask;
    const hash = this.#hash(address, lengthBits);
    let slot = hash & mask;
    for (;;) {
      const entry = slots[slot]!;
      if (entry === 0) return -1;
      if ((entry ^ hash) >>> ROW_BITS === 0) {
        const row = (entry & ROW_MASK) - 1;
        if (this.addresses[row] === address && this.lengths[row] === lengthBits) return row;
      }
      slot = (slot + 1) & mask;
    }
  }

  /** Row of the prefix, made when it is not there; -1 when the table is full. */
  insert(address: number, lengthBits: number): number {
    const slots = this.#slots;
    const mask = this.#mask;
    const hash = this.#hash(address, lengthBits);
    let slot = hash & mask;
    for (;;) {
      const entry = slots[slot]!;
      if (entry === 0) break;
      if ((entry ^ hash) >>> ROW_BITS === 0) {
        const known = (entry & ROW_MASK) - 1;
        if (this.addresses[known] === address && this.lengths[known] === lengthBits) return known;
      }
      slot = (slot + 1) & mask;
    }
    let row = this.#free - 1;
    if (row >= 0) this.#free = this.addresses[row]!;
    else if (this.used < this.#capacity || this.#grow()) row = this.used++;
    else return -1;
    this.addresses[row] = address;
    this.lengths[row] = lengthBits;
    slots[slot] = (hash & ~ROW_MASK) | (row + 1);
    if (++this.size * 8 > (mask + 1) * 5) this.#rebuild();
    return row;
  }

  /** Looks at the slots of `count` prefixes, and at their rows, so that what is done with them next finds these in the cache. */
  warm(addresses: Uint32Array, lengths: Uint8Array, count: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let seen = 0;
    for (let i = 0; i < count; i++) {
      const hash = this.#hash(addresses[i]!, lengths[i]!);
      const entry = slots[hash & mask]!;
      // Asked in this order the branch is foreseen, and the next slot is not kept waiting for this one.
      if ((entry ^ hash) >>> ROW_BITS === 0 && entry !== 0) seen |= this.addresses[(entry & ROW_MASK) - 1]!;
    }
    this.warmed = seen;
  }

  /** Frees a row in use; the next `insert` of a new prefix takes it. */
  remove(row: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let hole = this.#hash(this.addresses[row]!, this.lengths[row]!) & mask;
    while ((slots[hole]! & ROW_MASK) !== row + 1) hole = (hole + 1) & mask;
    for (let slot = (hole + 1) & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot]!;
      if (entry === 0) break;
      const other = (entry & ROW_MASK) - 1;
      const home = this.#hash(this.addresses[other]!, this.lengths[other]!) & mask;
      if (((slot - home) & mask) >= ((slot - hole) & mask)) {
        slots[hole] = entry;
        hole = slot;
      }
    }
    slots[hole] = 0;
    this.addresses[row] = this.#free;
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
    const address = this.addresses[row]!;
    const lengthBits = this.lengths[row]!;
    out[at] = lengthBits;
    if (lengthBits === 0) return 1;
    out[at + 1] = address >>> 24;
    if (lengthBits <= 8) return 2;
    out[at + 2] = address >>> 16;
    if (lengthBits <= 16) return 3;
    out[at + 3] = address >>> 8;
    if (lengthBits <= 24) return 4;
    out[at + 4] = address;
    return 5;
  }

  /** A hash that put neighbours into one line of memory was slower: the chains it makes are longer than what it saves. */
  #hash(address: number, lengthBits: number): number {
    let hash = Math.imul(address ^ this.#seed, 0x9e3779b1);
    hash = Math.imul((hash ^ (hash >>> 15)) + lengthBits, 0x85ebca6b);
    return hash ^ (hash >>> 13);
  }

  /**
   * Slots are written all over, so that many are resident whole: one large step when the first are full, then doubling. Rows are walked in
   * the order they came.
   */
  #rebuild(): void {
    const length = (this.#mask + 1) * (this.#mask + 1 < WIDE_SLOTS ? 8 : 2);
    const slots = this.#wide ?? new Int32Array(length);
    this.#wide = undefined;
    // Each page written once, in order: a page that is read first is mapped twice.
    for (let i = 0; i < slots.length; i += PAGE) slots[i] = 0;
    const mask = length - 1;
    for (let row = 0; row < this.used; row++) {
      const lengthBits = this.lengths[row]!;
      if (lengthBits === FREE) continue;
      const hash = this.#hash(this.addresses[row]!, lengthBits);
      let slot = hash & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = (hash & ~ROW_MASK) | (row + 1);
    }
    this.#slots = slots;
    this.#mask = mask;
  }

  #grow(): boolean {
    const capacity = Math.min(2 * this.#capacity, this.#limit);
    if (capacity === this.#capacity) return false;
    const addresses = new Uint32Array(capacity);
    const lengths = new Uint8Array(capacity);
    addresses.set(this.addresses);
    lengths.set(this.lengths);
    this.addresses = addresses;
    this.lengths = lengths;
    this.#capacity = capacity;
    return true;
  }
}
