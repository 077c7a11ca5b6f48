// An AS path taken apart into columns, to be merged, edited and written at another width: the slow side of the egress rewrite, used only
// where the two sides differ in AS number width or an AS is replaced.
import { AS_TRANS } from '../context.ts';
import { AS_CONFED_SEQUENCE, AS_SEQUENCE, AS_SET } from './code.ts';

/** Room for the longest paths one message can carry, in two octets, and a full prepend. */
const MAX_ASNS = 33_280;
const MAX_SEGMENTS = 17_000;

/** Made once; `clear` and the loaders refill it. Loaders stop where the bytes do not make sense, they never read past them. */
export class PathScratch {
  readonly #asns: Uint32Array;
  readonly #types: Uint8Array;
  readonly #counts: Uint8Array;
  #asnCount: number;
  #segmentCount: number;

  constructor() {
    this.#asns = new Uint32Array(MAX_ASNS);
    this.#types = new Uint8Array(MAX_SEGMENTS);
    this.#counts = new Uint8Array(MAX_SEGMENTS);
    this.#asnCount = 0;
    this.#segmentCount = 0;
  }

  clear(): void {
    this.#asnCount = 0;
    this.#segmentCount = 0;
  }

  /**
   * Appends segments of `length` bytes at `at`, AS numbers `width` (2 or 4) octets wide: the leading part that counts `limit` AS numbers by
   * RFC 4271 §9.1.2.2 (a set counts one), with the confederation segments before and between (RFC 6793 §4.2.3). `confed` false skips
   * confederation segments.
   */
  load(view: DataView, at: number, length: number, width: number, limit: number, confed: boolean): void {
    const end = at + length;
    let left = limit;
    let i = at;
    while (i + 2 <= end) {
      const type = view.getUint8(i);
      const count = view.getUint8(i + 1);
      const next = i + 2 + count * width;
      if (next > end || count === 0) return;
      const isConfed = type >= AS_CONFED_SEQUENCE;
      let taken = count;
      if (isConfed) {
        if (!confed) taken = 0;
      } else {
        if (left === 0) return;
        if (type === AS_SEQUENCE && taken > left) taken = left;
        left -= type === AS_SET ? 1 : taken;
      }
      if (taken > 0) {
        this.#beginSegment(type, taken);
        for (let k = 0, j = i + 2; k < taken; k++, j += width) {
          this.#asns[this.#asnCount++] = width === 4 ? view.getUint32(j) : view.getUint16(j);
        }
      }
      if (taken < count && !isConfed) return;
      i = next;
    }
  }

  /** Extends the last segment when both are sequences and there is room, so that merged paths come out as one. */
  #beginSegment(type: number, count: number): void {
    const last = this.#segmentCount - 1;
    if (type === AS_SEQUENCE && last >= 0 && this.#types[last] === AS_SEQUENCE && this.#counts[last]! + count <= 255) {
      this.#counts[last]! += count;
      return;
    }
    this.#types[this.#segmentCount] = type;
    this.#counts[this.#segmentCount++] = count;
  }

  /** Puts AS numbers in front, the first of `asns` leftmost: call before any `load`. At most 255. */
  prepend(asns: readonly number[]): void {
    if (asns.length === 0) return;
    this.#beginSegment(AS_SEQUENCE, asns.length);
    for (const asn of asns) this.#asns[this.#asnCount++] = asn;
  }

  /** Replaces an AS number wherever it stands, from the `from`-th number on. */
  replace(from: number, asn: number, by: number): void {
    for (let i = from; i < this.#asnCount; i++) if (this.#asns[i] === asn) this.#asns[i] = by;
  }

  /** True when an AS number does not fit two octets: AS4_PATH is due. */
  needsFour(): boolean {
    for (let i = 0; i < this.#asnCount; i++) if (this.#asns[i]! > 0xffff) return true;
    return false;
  }

  /** Length of the value when written at this width; `confed` false leaves confederation segments out. */
  size(width: number, confed: boolean): number {
    let size = 0;
    for (let s = 0; s < this.#segmentCount; s++) {
      if (confed || this.#types[s]! < AS_CONFED_SEQUENCE) size += 2 + width * this.#counts[s]!;
    }
    return size;
  }

  /** Writes the value; returns the offset after it. The caller has made sure that `size` bytes fit. */
  write(out: Uint8Array, at: number, width: number, confed: boolean): number {
    let i = at;
    let n = 0;
    for (let s = 0; s < this.#segmentCount; s++) {
      const count = this.#counts[s]!;
      if (!confed && this.#types[s]! >= AS_CONFED_SEQUENCE) {
        n += count;
        continue;
      }
      out[i] = this.#types[s]!;
      out[i + 1] = count;
      i += 2;
      for (let k = 0; k < count; k++) {
        const asn = this.#asns[n++]!;
        if (width === 4) {
          out[i++] = asn >>> 24;
          out[i++] = (asn >>> 16) & 0xff;
          out[i++] = (asn >>> 8) & 0xff;
          out[i++] = asn & 0xff;
        } else {
          const short = asn > 0xffff ? AS_TRANS : asn;
          out[i++] = short >>> 8;
          out[i++] = short & 0xff;
        }
      }
    }
    return i;
  }
}

/** Number of AS numbers as route selection counts them: a set is one, confederation segments none (RFC 4271 §9.1.2.2, RFC 5065 §5.3). */
export function pathLength(view: DataView, at: number, length: number, width: number): number {
  const end = at + length;
  let total = 0;
  let i = at;
  while (i + 2 <= end) {
    const type = view.getUint8(i);
    const count = view.getUint8(i + 1);
    if (type === AS_SEQUENCE) total += count;
    else if (type === AS_SET) total += 1;
    i += 2 + count * width;
  }
  return total;
}
