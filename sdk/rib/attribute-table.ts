// Attribute blocks, each kept once (interned) and named by a counted handle: equal handles mean equal bytes. A block is read when it is
// new, and what best path asks of it becomes columns of the handle; every later route with the same block costs a hash and a compare.
import { ByteArena } from './byte-arena.ts';

export interface AttributeTableOptions {
  /** Handles reserved at once; virtual until touched. */
  readonly reserve?: number;
  /** Handles never exceeded. */
  readonly limit?: number;
  /** Bytes of blocks reserved at once; virtual until touched. */
  readonly byteReserve?: number;
  /** Bytes of blocks never exceeded. */
  readonly byteLimit?: number;
  /** Mixed into the hash, so that a peer cannot aim at one chain. */
  readonly seed?: number;
}

const FIRST_SLOTS = 1 << 15;
const WIDE_SLOTS = 1 << 19;
/** In a slot: the handle; above it bits of the hash, so that blocks that merely meet in a chain are not looked at. */
const HANDLE_BITS = 24;
const HANDLE_MASK = (1 << HANDLE_BITS) - 1;
const LOCAL_PREFERENCE_DEFAULT = 100;

/**
 * A block is the path attributes as in an UPDATE with 4-octet AS numbers and without MP_REACH_NLRI and MP_UNREACH_NLRI, then the next hop
 * of families that carry it in MP_REACH_NLRI (0 bytes for those that use NEXT_HOP). Handle 0 is none.
 *
 * Columns are indexed by handle and replaced when the table grows: read the field again after every `intern`.
 * Limit: `limit` handles and `byteLimit` bytes; beyond, `intern` answers 0 and `refused` counts.
 */
export class AttributeTable {
  readonly arena: ByteArena;
  /** How many hold the handle; 0 = free. */
  counts: Uint32Array;
  localPreferences: Uint32Array;
  /** AS numbers that count: a set as one, confederation segments as none (RFC 4271 §9.1.2.2 a, RFC 5065 §5.3). */
  pathLengths: Uint16Array;
  origins: Uint8Array;
  /** 0 when absent. */
  meds: Uint32Array;
  /** First AS of the path when that is a sequence, else 0: the route began with us or was aggregated here (RFC 4271 §9.1.2.2 c). */
  neighbours: Uint32Array;
  /** ORIGINATOR_ID, 0 when absent (RFC 4456 §8). */
  originators: Uint32Array;
  /** Entries of CLUSTER_LIST. */
  clusters: Uint8Array;
  /** Handles held. */
  size = 0;
  /** Blocks not taken since the start because a limit was reached. */
  refused = 0;
  #at: Uint32Array;
  #lengths: Uint16Array;
  #hops: Uint8Array;
  #hashes: Int32Array;
  #slots = new Int32Array(FIRST_SLOTS);
  #mask = FIRST_SLOTS - 1;
  #used = 1;
  /** The handle given back last; `#at` of a free handle is the one before. */
  #free = 0;
  #capacity: number;
  readonly #limit: number;
  readonly #seed: number;

  constructor(options: AttributeTableOptions = {}) {
    this.#limit = Math.min(options.limit ?? HANDLE_MASK, HANDLE_MASK) + 1;
    this.#capacity = Math.min((options.reserve ?? 1 << 20) + 1, this.#limit);
    this.#seed = (options.seed ?? 0x2545f491) | 0;
    this.arena = new ByteArena({ reserve: options.byteReserve ?? 1 << 26, limit: options.byteLimit ?? 1 << 30 });
    this.counts = new Uint32Array(this.#capacity);
    this.localPreferences = new Uint32Array(this.#capacity);
    this.pathLengths = new Uint16Array(this.#capacity);
    this.origins = new Uint8Array(this.#capacity);
    this.meds = new Uint32Array(this.#capacity);
    this.neighbours = new Uint32Array(this.#capacity);
    this.originators = new Uint32Array(this.#capacity);
    this.clusters = new Uint8Array(this.#capacity);
    this.#at = new Uint32Array(this.#capacity);
    this.#lengths = new Uint16Array(this.#capacity);
    this.#hops = new Uint8Array(this.#capacity);
    this.#hashes = new Int32Array(this.#capacity);
  }

  /** The blocks' bytes; replaced when they grow. */
  get bytes(): Uint8Array {
    return this.arena.bytes;
  }

  get view(): DataView {
    return this.arena.view;
  }

  /** Where the attributes of a handle begin in `bytes`. */
  at(handle: number): number {
    return this.#at[handle]!;
  }

  /** Bytes of attributes, the next hop not counted. */
  length(handle: number): number {
    return this.#lengths[handle]!;
  }

  hopAt(handle: number): number {
    return this.#at[handle]! + this.#lengths[handle]!;
  }

  /** 0 when the next hop is in the block's NEXT_HOP. */
  hopLength(handle: number): number {
    return this.#hops[handle]!;
  }

  /**
   * The handle of `length` bytes at `at` of `view` and `hopLength` (0..255) bytes at `hopAt` of `hopView`, counted once more for the caller;
   * 0 when a limit is reached. The attributes have been checked by the codec.
   */
  intern(view: DataView, at: number, length: number, hopView: DataView, hopAt: number, hopLength: number): number {
    const hash = this.#hash(view, at, length, hopView, hopAt, hopLength);
    const slots = this.#slots;
    const mask = this.#mask;
    let slot = hash & mask;
    for (;;) {
      const entry = slots[slot]!;
      if (entry === 0) return this.#add(hash, slot, view, at, length, hopView, hopAt, hopLength);
      if ((entry ^ hash) >>> HANDLE_BITS === 0) {
        const handle = entry & HANDLE_MASK;
        if (this.#hashes[handle] === hash && this.#same(handle, view, at, length, hopView, hopAt, hopLength)) {
          this.counts[handle]!++;
          return handle;
        }
      }
      slot = (slot + 1) & mask;
    }
  }

  hold(handle: number): void {
    this.counts[handle]!++;
  }

  /** The last release gives the block back; its handle may then name another block. */
  release(handle: number): void {
    if (--this.counts[handle]! === 0) this.#remove(handle);
  }

  #hash(view: DataView, at: number, length: number, hopView: DataView, hopAt: number, hopLength: number): number {
    let hash = run(this.#seed ^ Math.imul(length, 0x9e3779b1), view, at, length);
    if (hopLength !== 0) hash = run(hash, hopView, hopAt, hopLength);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    return hash ^ (hash >>> 13);
  }

  #same(
    handle: number,
    view: DataView,
    at: number,
    length: number,
    hopView: DataView,
    hopAt: number,
    hopLength: number,
  ): boolean {
    if (this.#lengths[handle] !== length || this.#hops[handle] !== hopLength) return false;
    const mine = this.arena.view;
    const begin = this.#at[handle]!;
    return equal(mine, begin, view, at, length) && (hopLength === 0 || equal(mine, begin + length, hopView, hopAt, hopLength));
  }

  /** `slot` is where the chain of the hash ends. */
  #add(
    hash: number,
    slot: number,
    view: DataView,
    at: number,
    length: number,
    hopView: DataView,
    hopAt: number,
    hopLength: number,
  ): number {
    if (this.#free === 0 && this.#used >= this.#capacity && !this.#grow()) {
      this.refused++;
      return 0;
    }
    const block = this.arena.take(length + hopLength);
    if (block < 0) {
      this.refused++;
      return 0;
    }
    let handle = this.#free;
    if (handle === 0) handle = this.#used++;
    else this.#free = this.#at[handle]!;
    copy(view, at, length, this.arena.view, block);
    if (hopLength !== 0) copy(hopView, hopAt, hopLength, this.arena.view, block + length);
    this.#at[handle] = block;
    this.#lengths[handle] = length;
    this.#hops[handle] = hopLength;
    this.#hashes[handle] = hash;
    this.counts[handle] = 1;
    this.#summarise(handle, block, block + length);
    if (++this.size * 8 > this.#slots.length * 5) this.#rebuild();
    else this.#slots[slot] = (hash & ~HANDLE_MASK) | handle;
    return handle;
  }

  #place(handle: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    const hash = this.#hashes[handle]!;
    let slot = hash & mask;
    while (slots[slot] !== 0) slot = (slot + 1) & mask;
    slots[slot] = (hash & ~HANDLE_MASK) | handle;
  }

  #remove(handle: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let hole = this.#hashes[handle]! & mask;
    while ((slots[hole]! & HANDLE_MASK) !== handle) hole = (hole + 1) & mask;
    // Entries after the hole that may stand in it move back, so that no chain is cut and no tombstone stays.
    for (let slot = (hole + 1) & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot]!;
      if (entry === 0) break;
      if (((slot - (this.#hashes[entry & HANDLE_MASK]! & mask)) & mask) >= ((slot - hole) & mask)) {
        slots[hole] = entry;
        hole = slot;
      }
    }
    slots[hole] = 0;
    this.arena.give(this.#at[handle]!, this.#lengths[handle]! + this.#hops[handle]!);
    this.#at[handle] = this.#free;
    this.#free = handle;
    this.size--;
  }

  /** Slots are written all over and so cannot be reserved: few large steps, then doubling. */
  #rebuild(): void {
    const length = this.#slots.length * (this.#slots.length < WIDE_SLOTS ? 16 : 2);
    this.#slots = new Int32Array(length);
    this.#mask = length - 1;
    for (let handle = 1; handle < this.#used; handle++) if (this.counts[handle] !== 0) this.#place(handle);
  }

  #grow(): boolean {
    const capacity = Math.min(2 * this.#capacity, this.#limit);
    if (capacity === this.#capacity) return false;
    this.#capacity = capacity;
    this.counts = wider(this.counts, new Uint32Array(capacity));
    this.localPreferences = wider(this.localPreferences, new Uint32Array(capacity));
    this.pathLengths = wider(this.pathLengths, new Uint16Array(capacity));
    this.origins = wider(this.origins, new Uint8Array(capacity));
    this.meds = wider(this.meds, new Uint32Array(capacity));
    this.neighbours = wider(this.neighbours, new Uint32Array(capacity));
    this.originators = wider(this.originators, new Uint32Array(capacity));
    this.clusters = wider(this.clusters, new Uint8Array(capacity));
    this.#at = wider(this.#at, new Uint32Array(capacity));
    this.#lengths = wider(this.#lengths, new Uint16Array(capacity));
    this.#hops = wider(this.#hops, new Uint8Array(capacity));
    this.#hashes = wider(this.#hashes, new Int32Array(capacity));
    return true;
  }

  /** Fills the columns of a new handle. Stops at the first attribute that does not fit: the codec let no such block through. */
  #summarise(handle: number, at: number, end: number): void {
    const view = this.arena.view;
    let preference = LOCAL_PREFERENCE_DEFAULT;
    let origin = 2;
    let med = 0;
    let originator = 0;
    let clusters = 0;
    this.pathLengths[handle] = 0;
    this.neighbours[handle] = 0;
    for (let i = at; i + 3 <= end; ) {
      const extended = (view.getUint8(i) & 0x10) !== 0;
      if (extended && i + 4 > end) break;
      const code = view.getUint8(i + 1);
      const length = extended ? view.getUint16(i + 2) : view.getUint8(i + 2);
      const value = i + (extended ? 4 : 3);
      if (value + length > end) break;
      if (code === 1 && length === 1) origin = view.getUint8(value);
      else if (code === 2) this.#summarisePath(handle, value, value + length);
      else if (code === 4 && length === 4) med = view.getUint32(value);
      else if (code === 5 && length === 4) preference = view.getUint32(value);
      else if (code === 9 && length === 4) originator = view.getUint32(value);
      else if (code === 10) clusters = Math.min(length >>> 2, 255);
      i = value + length;
    }
    this.localPreferences[handle] = preference;
    this.origins[handle] = origin;
    this.meds[handle] = med;
    this.originators[handle] = originator;
    this.clusters[handle] = clusters;
  }

  #summarisePath(handle: number, at: number, end: number): void {
    const view = this.arena.view;
    let length = 0;
    let first = true;
    for (let i = at; i + 2 <= end; ) {
      const type = view.getUint8(i);
      const count = view.getUint8(i + 1);
      if (type <= 2 && first) {
        first = false;
        if (type === 2 && count !== 0 && i + 6 <= end) this.neighbours[handle] = view.getUint32(i + 2);
      }
      if (type === 1) length++;
      else if (type === 2) length += count;
      i += 2 + 4 * count;
    }
    this.pathLengths[handle] = length;
  }
}

function run(hash: number, view: DataView, at: number, length: number): number {
  const end = at + length;
  let i = at;
  for (; i + 4 <= end; i += 4) {
    hash = Math.imul(hash ^ view.getInt32(i), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  for (; i < end; i++) {
    hash = Math.imul(hash ^ view.getUint8(i), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash;
}

function equal(a: DataView, aAt: number, b: DataView, bAt: number, length: number): boolean {
  let i = 0;
  for (; i + 4 <= length; i += 4) if (a.getInt32(aAt + i) !== b.getInt32(bAt + i)) return false;
  for (; i < length; i++) if (a.getUint8(aAt + i) !== b.getUint8(bAt + i)) return false;
  return true;
}

function copy(from: DataView, at: number, length: number, to: DataView, toAt: number): void {
  let i = 0;
  for (; i + 4 <= length; i += 4) to.setInt32(toAt + i, from.getInt32(at + i));
  for (; i < length; i++) to.setUint8(toAt + i, from.getUint8(at + i));
}

function wider<T extends Uint8Array | Uint16Array | Uint32Array | Int32Array>(old: T, fresh: T): T {
  fresh.set(old);
  return fresh;
}
