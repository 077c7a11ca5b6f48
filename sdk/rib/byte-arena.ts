// Blocks of bytes in one growing buffer, for keys and attribute blocks that are interned. A block given back is the next of its size to be
// taken: its page is already touched, and first touch is the dearest part of memory here.

/** Blocks are multiples of this many bytes. */
const GRAIN = 4;

export interface ArenaOptions {
  /** Bytes reserved at once; virtual until touched. */
  readonly reserve?: number;
  /** Bytes never exceeded; at most 2^32. */
  readonly limit?: number;
}

/** `bytes` and `view` are replaced when the arena grows: read the fields again after every `take`. */
export class ByteArena {
  bytes: Uint8Array;
  view: DataView;
  /** Bytes in blocks that are taken, rounded up. */
  held = 0;
  readonly #limit: number;
  #used = GRAIN;
  /** By size in grains: offset of the block last given back, 0 = none. A free block's first word is the next one's offset. */
  #free = new Uint32Array(64);

  constructor(options: ArenaOptions = {}) {
    this.#limit = options.limit ?? 1 << 30;
    this.bytes = new Uint8Array(Math.min(options.reserve ?? 1 << 26, this.#limit));
    this.view = new DataView(this.bytes.buffer);
  }

  /** Offset of a block of `length` bytes never 0; -1 when the arena is at its limit. */
  take(length: number): number {
    const grains = length === 0 ? 1 : (length + GRAIN - 1) >>> 2;
    const at = grains < this.#free.length ? this.#free[grains]! : 0;
    if (at !== 0) {
      this.#free[grains] = this.view.getUint32(at);
      this.held += grains * GRAIN;
      return at;
    }
    const end = this.#used + grains * GRAIN;
    if (end > this.bytes.length && !this.#grow(end)) return this.#split(grains);
    this.held += grains * GRAIN;
    const fresh = this.#used;
    this.#used = end;
    return fresh;
  }

  /** `length` as it was taken. */
  give(at: number, length: number): void {
    const grains = length === 0 ? 1 : (length + GRAIN - 1) >>> 2;
    if (grains >= this.#free.length) this.#widen(grains);
    this.view.setUint32(at, this.#free[grains]!);
    this.#free[grains] = at;
    this.held -= grains * GRAIN;
  }

  #widen(grains: number): void {
    const free = new Uint32Array(2 ** Math.ceil(Math.log2(grains + 1)));
    free.set(this.#free);
    this.#free = free;
  }

  #grow(end: number): boolean {
    const size = Math.min(Math.max(2 * this.bytes.length, end), this.#limit);
    if (end > size) return false;
    const bytes = new Uint8Array(size);
    bytes.set(this.bytes.subarray(0, this.#used));
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
    return true;
  }

  /** At the limit a larger free block is cut; the rest of it becomes a smaller free block. */
  #split(grains: number): number {
    for (let larger = grains + 1; larger < this.#free.length; larger++) {
      const at = this.#free[larger]!;
      if (at === 0) continue;
      this.#free[larger] = this.view.getUint32(at);
      const rest = at + grains * GRAIN;
      this.view.setUint32(rest, this.#free[larger - grains]!);
      this.#free[larger - grains] = rest;
      this.held += grains * GRAIN;
      return at;
    }
    return -1;
  }
}
