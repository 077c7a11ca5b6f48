// Prefixes as they travel: a length in bits, then as many bytes as hold them (RFC 4271 §4.3), after a path identifier where ADD-PATH is
// on (RFC 7911 §3). Read in place, written in place.

/** Walks prefixes in a byte range. Made once per reader and moved; `*At` are offsets into `view`. */
export class PrefixCursor {
  view: DataView;
  /** Where the next entry begins; `at < end` after `next()` returned false: the range is malformed from there. */
  at: number;
  end: number;
  /** 32 or 128. */
  maxBits: number;
  addPath: boolean;
  /** Where the current prefix's address bytes begin. */
  prefixAt: number;
  /** Number of address bytes present: 0..16. */
  prefixLength: number;
  lengthBits: number;
  /** 0 without ADD-PATH. */
  pathId: number;

  constructor() {
    this.view = EMPTY;
    this.at = 0;
    this.end = 0;
    this.maxBits = 32;
    this.addPath = false;
    this.prefixAt = 0;
    this.prefixLength = 0;
    this.lengthBits = 0;
    this.pathId = 0;
  }

  /** Moves over another range of `length` bytes. */
  over(view: DataView, at: number, length: number, maxBits: number, addPath: boolean): this {
    this.view = view;
    this.at = at;
    this.end = at + length;
    this.maxBits = maxBits;
    this.addPath = addPath;
    return this;
  }

  /** False at the end, or where the range is malformed: then `at < end`. */
  next(): boolean {
    let at = this.at;
    if (this.addPath) {
      if (at + 5 > this.end) return false;
      this.pathId = this.view.getUint32(at);
      at += 4;
    } else if (at >= this.end) {
      return false;
    } else {
      this.pathId = 0;
    }
    const lengthBits = this.view.getUint8(at);
    const size = (lengthBits + 7) >>> 3;
    at += 1;
    if (lengthBits > this.maxBits || at + size > this.end) return false;
    this.lengthBits = lengthBits;
    this.prefixAt = at;
    this.prefixLength = size;
    this.at = at + size;
    return true;
  }

  /** The IPv4 prefix as u32, bits past its length cleared (RFC 4271 §4.3: their value is irrelevant). */
  ipv4(): number {
    return readIpv4Prefix(this.view, this.prefixAt, this.lengthBits);
  }

  /** Word `index` (0..3) of the IPv6 prefix as u32, bits past its length cleared. */
  ipv6Word(index: number): number {
    const bits = this.lengthBits - 32 * index;
    return bits <= 0 ? 0 : readIpv4Prefix(this.view, this.prefixAt + 4 * index, bits > 32 ? 32 : bits);
  }
}

/** The first `lengthBits` (0..32) bits at `at` as u32, the rest zero. Reads no byte past the prefix. */
export function readIpv4Prefix(view: DataView, at: number, lengthBits: number): number {
  if (lengthBits > 24) return (view.getUint32(at) & (-1 << (32 - lengthBits))) >>> 0;
  if (lengthBits > 16) return (((view.getUint16(at) << 16) | (view.getUint8(at + 2) << 8)) & (-1 << (32 - lengthBits))) >>> 0;
  if (lengthBits > 8) return ((view.getUint16(at) << 16) & (-1 << (32 - lengthBits))) >>> 0;
  if (lengthBits > 0) return ((view.getUint8(at) << 24) & (-1 << (32 - lengthBits))) >>> 0;
  return 0;
}

/** Number of prefixes in the range, or -1 when it is syntactically incorrect (RFC 7606 §5.3). */
export function countPrefixes(view: DataView, at: number, length: number, maxBits: number, addPath: boolean): number {
  const end = at + length;
  const head = addPath ? 4 : 0;
  let count = 0;
  let i = at;
  while (i < end) {
    i += head;
    if (i >= end) return -1;
    const bits = view.getUint8(i);
    if (bits > maxBits) return -1;
    i += 1 + ((bits + 7) >>> 3);
    count++;
  }
  return i === end ? count : -1;
}

/** Bytes a prefix takes on the wire. */
export function prefixSize(lengthBits: number, addPath: boolean): number {
  return (addPath ? 5 : 1) + ((lengthBits + 7) >>> 3);
}

/** Writes an IPv4 prefix from u32; returns the offset after it. The caller has made sure that 9 bytes fit. */
export function writeIpv4Prefix(
  out: Uint8Array,
  at: number,
  address: number,
  lengthBits: number,
  addPath: boolean,
  pathId: number,
): number {
  let i = at;
  if (addPath) i = writeU32(out, i, pathId);
  out[i++] = lengthBits;
  if (lengthBits > 0) out[i++] = address >>> 24;
  if (lengthBits > 8) out[i++] = (address >>> 16) & 0xff;
  if (lengthBits > 16) out[i++] = (address >>> 8) & 0xff;
  if (lengthBits > 24) out[i++] = address & 0xff;
  return i;
}

/** Writes a prefix from its address bytes at `from[fromAt]`; returns the offset after it. The caller has made sure that 21 bytes fit. */
export function writePrefix(
  out: Uint8Array,
  at: number,
  from: Uint8Array,
  fromAt: number,
  lengthBits: number,
  addPath: boolean,
  pathId: number,
): number {
  let i = at;
  if (addPath) i = writeU32(out, i, pathId);
  out[i++] = lengthBits;
  const size = (lengthBits + 7) >>> 3;
  for (let k = 0; k < size; k++) out[i + k] = from[fromAt + k]!;
  const spare = 8 * size - lengthBits;
  if (spare > 0) out[i + size - 1]! &= -1 << spare;
  return i + size;
}

/** Writes four bytes, big-endian; returns the offset after them. */
export function writeU32(out: Uint8Array, at: number, value: number): number {
  out[at] = value >>> 24;
  out[at + 1] = (value >>> 16) & 0xff;
  out[at + 2] = (value >>> 8) & 0xff;
  out[at + 3] = value & 0xff;
  return at + 4;
}

const EMPTY = new DataView(new ArrayBuffer(0));
