// IPv4 prefixes ⇄ row numbers. The key lives in the hash slot itself (address, and row << 6 | length + 1), so a lookup reads one line of
// memory; the columns by row serve the way back and the rebuilding of the slots.

/** Rows reserved at once: virtual until touched, so a small table pays nothing for it. */
export const ROW_RESERVE = 1 << 22;
/** The row number shares a 32-bit word with the length. */
export const ROW_LIMIT = (1 << 26) - 1;

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
  #slots = new Uint32Array(2 * FIRST_SLOTS);
  #mask = FIRST_SLOTS - 1;
  /** The slots to grow into, reserved with the rest: the collector runs when memory of this size comes, and would run among the routes. */
  #wide: Uint32Array<ArrayBuffer> | undefined;
  /** What `warm` looked at: written, so that the compiler cannot leave the looking out. */
  warmed = 0;
  readonly #limit: number;
  readonly #seed: number;

  constructor(options: TableOptions = {}) {
    this.#limit = Math.min(options.limit ?? ROW_LIMIT, ROW_LIMIT);
    this.#capacity = Math.min(options.reserve ?? ROW_RESERVE, this.#limit);
    this.#seed = options.seed ?? 0x2545f491;
    this.addresses = new Uint32Array(this.#capacity);
    this.lengths = new Uint8Array(this.#capacity);
    if (this.#capacity >= WIDE_SLOTS) this.#wide = new Uint32Array(2 * WIDE_SLOTS);
  }

  /** Row of the prefix, -1 when it is not there. `address` is u32, bits past the length zero. */
  find(address: number, lengthBits: number): number {
    const slots = this.#slots;
    const mask = this.#mask;
    const tag = lengthBits + 1;
    let slot = this.#hash(address, lengthBits) & mask;
    for (;;) {
      const meta = slots[2 * slot + 1]!;
      if (meta === 0) return -1;
      if (slots[2 * slot] === address && (meta & 63) === tag) return meta >>> 6;
      slot = (slot + 1) & mask;
    }
  }

  /** Row of the prefix, made when it is not there; -1 when the table is full. */
  insert(address: number, lengthBits: number): number {
    const slots = this.#slots;
    const mask = this.#mask;
    const tag = lengthBits + 1;
    let slot = this.#hash(address, lengthBits) & mask;
    for (;;) {
      const meta = slots[2 * slot + 1]!;
      if (meta === 0) break;
      if (slots[2 * slot] === address && (meta & 63) === tag) return meta >>> 6;
      slot = (slot + 1) & mask;
    }
    let row = this.#free - 1;
    if (row >= 0) this.#free = this.addresses[row]!;
    else if (this.used < this.#capacity || this.#grow()) row = this.used++;
    else return -1;
    this.addresses[row] = address;
    this.lengths[row] = lengthBits;
    slots[2 * slot] = address;
    slots[2 * slot + 1] = (row << 6) | tag;
    if (++this.size * 8 > (mask + 1) * 5) this.#rebuild();
    return row;
  }

  /** Looks at the slots of `count` prefixes, so that what is done with them next finds these in the cache. */
  warm(addresses: Uint32Array, lengths: Uint8Array, count: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let seen = 0;
    for (let i = 0; i < count; i++) seen |= slots[2 * (this.#hash(addresses[i]!, lengths[i]!) & mask) + 1]!;
    this.warmed = seen;
  }

  /** Frees a row in use; the next `insert` of a new prefix takes it. */
  remove(row: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let hole = this.#hash(this.addresses[row]!, this.lengths[row]!) & mask;
    while (slots[2 * hole + 1]! >>> 6 !== row) hole = (hole + 1) & mask;
    for (let slot = (hole + 1) & mask; ; slot = (slot + 1) & mask) {
      const meta = slots[2 * slot + 1]!;
      if (meta === 0) break;
      const home = this.#hash(slots[2 * slot]!, (meta & 63) - 1) & mask;
      if (((slot - home) & mask) >= ((slot - hole) & mask)) {
        slots[2 * hole] = slots[2 * slot]!;
        slots[2 * hole + 1] = meta;
        hole = slot;
      }
    }
    slots[2 * hole + 1] = 0;
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
    const slots = this.#wide ?? new Uint32Array(2 * length);
    this.#wide = undefined;
    // Each page written once, in order: a page that is read first is mapped twice.
    for (let i = 0; i < slots.length; i += PAGE) slots[i] = 0;
    const mask = length - 1;
    for (let row = 0; row < this.used; row++) {
      const lengthBits = this.lengths[row]!;
      if (lengthBits === FREE) continue;
      const address = this.addresses[row]!;
      let slot = this.#hash(address, lengthBits) & mask;
      while (slots[2 * slot + 1] !== 0) slot = (slot + 1) & mask;
      slots[2 * slot] = address;
      slots[2 * slot + 1] = (row << 6) | (lengthBits + 1);
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
