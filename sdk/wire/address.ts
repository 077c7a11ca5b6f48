// Addresses and prefixes between text and bytes, fast enough for a path per route: no BigInt, no regular expression, no object.
// Texts for people who type them (config, CLI) may come through here as well.

/** Reads a dotted quad as u32; -1 when it is not exactly one (no signs, no spaces, no leading zeros, RFC 6943 §3.1.1). */
export function parseIpv4(text: string, from = 0, to: number = text.length): number {
  let value = 0;
  let part = -1;
  let dots = 0;
  for (let i = from; i < to; i++) {
    const char = text.charCodeAt(i);
    if (char >= 48 && char <= 57) {
      if (part === 0) return -1;
      part = part < 0 ? char - 48 : part * 10 + char - 48;
      if (part > 255) return -1;
    } else if (char === 46) {
      if (part < 0 || ++dots > 3) return -1;
      value = value * 256 + part;
      part = -1;
    } else {
      return -1;
    }
  }
  return dots === 3 && part >= 0 ? value * 256 + part : -1;
}

/** Dotted quad of a u32. */
export function formatIpv4(address: number): string {
  return `${address >>> 24}.${(address >>> 16) & 0xff}.${(address >>> 8) & 0xff}.${address & 0xff}`;
}

/**
 * Reads an IPv6 address (RFC 4291 §2.2, all three forms; no zone) into 16 bytes at `out[at]`; false when it is not one, then `out` may
 * have been written.
 */
export function parseIpv6(text: string, out: Uint8Array, at: number, from = 0, to: number = text.length): boolean {
  let i = from;
  let word = 0;
  let gap = -1;
  if (to - from < 2) return false;
  if (text.charCodeAt(i) === COLON) {
    if (text.charCodeAt(i + 1) !== COLON) return false;
    gap = 0;
    i += 2;
  }
  while (i < to) {
    if (word === 8) return false;
    const start = i;
    let value = 0;
    let digit: number;
    while (i < to && (digit = hexDigit(text.charCodeAt(i))) >= 0) {
      value = (value << 4) | digit;
      if (++i - start > 4) return false;
    }
    if (i < to && text.charCodeAt(i) === DOT) {
      if (word > 6) return false;
      const quad = parseIpv4(text, start, to);
      if (quad < 0) return false;
      putWord(out, at, word++, quad >>> 16);
      putWord(out, at, word++, quad & 0xffff);
      break;
    }
    if (i === start) return false;
    putWord(out, at, word++, value);
    if (i === to) break;
    if (text.charCodeAt(i) !== COLON || ++i === to) return false;
    if (text.charCodeAt(i) === COLON) {
      if (gap >= 0) return false;
      gap = word;
      i++;
    }
  }
  if (gap < 0) return word === 8;
  if (word === 8) return false;
  const moved = 2 * (word - gap);
  out.copyWithin(at + 16 - moved, at + 2 * gap, at + 2 * word);
  out.fill(0, at + 2 * gap, at + 16 - moved);
  return true;
}

/** Text of the 16 bytes at `at` as RFC 5952 wants it; an IPv4-mapped address ends in a dotted quad (§5). */
export function formatIpv6(bytes: Uint8Array, at: number): string {
  let best = -1;
  let bestRun = 1;
  let run = 0;
  for (let i = 0; i < 8; i++) {
    run = word(bytes, at, i) === 0 ? run + 1 : 0;
    if (run > bestRun) {
      bestRun = run;
      best = i - run + 1;
    }
  }
  if (best === 0 && bestRun === 5 && word(bytes, at, 5) === 0xffff) {
    return `::ffff:${bytes[at + 12]!}.${bytes[at + 13]!}.${bytes[at + 14]!}.${bytes[at + 15]!}`;
  }
  let text = '';
  for (let i = 0; i < 8; i++) {
    if (i === best) {
      text += '::';
      i += bestRun - 1;
    } else {
      if (text.length !== 0 && text.charCodeAt(text.length - 1) !== COLON) text += ':';
      text += word(bytes, at, i).toString(16);
    }
  }
  return text;
}

/** The address of `length` bytes at `at` as text: 4 or 16 bytes, else undefined. */
export function formatAddress(bytes: Uint8Array, at: number, length: number): string | undefined {
  if (length === 4) return `${bytes[at]!}.${bytes[at + 1]!}.${bytes[at + 2]!}.${bytes[at + 3]!}`;
  return length === 16 ? formatIpv6(bytes, at) : undefined;
}

/** Reads an IPv4 or IPv6 address into `out` (16 bytes of room); returns its length, 4 or 16, or 0 when it is neither. */
export function parseAddress(text: string, out: Uint8Array, at: number, from = 0, to: number = text.length): 0 | 4 | 16 {
  for (let i = from; i < to; i++) {
    const char = text.charCodeAt(i);
    if (char === COLON) return parseIpv6(text, out, at, from, to) ? 16 : 0;
    if (char === DOT) break;
  }
  const quad = parseIpv4(text, from, to);
  if (quad < 0) return 0;
  out[at] = quad >>> 24;
  out[at + 1] = (quad >>> 16) & 0xff;
  out[at + 2] = (quad >>> 8) & 0xff;
  out[at + 3] = quad & 0xff;
  return 4;
}

/** An address's bytes, or undefined. Allocates: for tools and configuration. */
export function addressBytes(text: string): Uint8Array | undefined {
  const out = new Uint8Array(16);
  const length = parseAddress(text, out, 0);
  return length === 0 ? undefined : out.subarray(0, length);
}

/** `a.b.c.d/len` of a u32. */
export function formatIpv4Prefix(address: number, lengthBits: number): string {
  return `${formatIpv4(address)}/${lengthBits}`;
}

/** `address/len` of a prefix on the wire: `lengthBits` bits at `at`, of an address of `addressLength` (4 or 16) bytes. */
export function formatPrefix(bytes: Uint8Array, at: number, lengthBits: number, addressLength: number): string {
  const size = (lengthBits + 7) >>> 3;
  const spare = 8 * size - lengthBits;
  if (addressLength === 4) {
    let value = 0;
    for (let i = 0; i < 4; i++) value = value * 256 + (i < size ? bytes[at + i]! : 0);
    if (spare > 0) value -= value % 2 ** (32 - lengthBits);
    return formatIpv4Prefix(value, lengthBits);
  }
  for (let i = 0; i < 16; i++) padded[i] = i < size ? bytes[at + i]! : 0;
  if (spare > 0) padded[size - 1]! &= -1 << spare;
  return `${formatIpv6(padded, 0)}/${lengthBits}`;
}

/** Length of the address of the last prefix `parsePrefix` read, and its bits. Kept in the caller's object so that nothing is made. */
export interface PrefixTarget {
  /** 16 bytes of room. */
  readonly bytes: Uint8Array;
  /** 4 or 16. */
  addressLength: number;
  lengthBits: number;
}

export function prefixTarget(): PrefixTarget {
  return { bytes: new Uint8Array(16), addressLength: 0, lengthBits: 0 };
}

/**
 * Reads `address/len` into `target`, bits past the length cleared; false when it is not one. A bare address is read as a host prefix.
 */
export function parsePrefix(text: string, target: PrefixTarget, from = 0, to: number = text.length): boolean {
  let slash = from;
  while (slash < to && text.charCodeAt(slash) !== SLASH) slash++;
  const length = parseAddress(text, target.bytes, 0, from, slash);
  if (length === 0) return false;
  const maxBits = 8 * length;
  let bits = maxBits;
  if (slash < to) {
    bits = parseDecimal(text, slash + 1, to, maxBits);
    if (bits < 0) return false;
  }
  const size = (bits + 7) >>> 3;
  target.bytes.fill(0, size, 16);
  if ((bits & 7) !== 0) target.bytes[size - 1]! &= -1 << (8 * size - bits);
  target.addressLength = length;
  target.lengthBits = bits;
  return true;
}

/**
 * Reads `a.b.c.d/len` of ASCII at `from` and writes it as NLRI, bits past the length cleared; returns the offset after it, -1 when it is
 * written in any other way, if only as a bare address. 5 bytes of room.
 */
export function parseIpv4Nlri(text: Uint8Array, from: number, to: number, out: Uint8Array, at: number): number {
  let address = 0;
  let part = -1;
  let dots = 0;
  let i = from;
  for (; i < to; i++) {
    const char = text[i]!;
    if (char >= 48 && char <= 57) {
      if (part === 0) return -1;
      part = part < 0 ? char - 48 : part * 10 + char - 48;
      if (part > 255) return -1;
    } else if (char === DOT && part >= 0) {
      address = (address << 8) | part;
      part = -1;
      dots++;
    } else break;
  }
  if (dots !== 3 || part < 0 || i === to || text[i] !== SLASH) return -1;
  const bits = lengthOf(text, i + 1, to);
  if (bits < 0) return -1;
  const masked = bits === 0 ? 0 : ((address << 8) | part) & (-1 << (32 - bits));
  const size = (bits + 7) >>> 3;
  out[at] = bits;
  for (let k = 0; k < size; k++) out[at + 1 + k] = masked >>> (24 - 8 * k);
  return at + 1 + size;
}

/** Decimal digits without leading zero, at most 32; -1 otherwise. */
function lengthOf(text: Uint8Array, from: number, to: number): number {
  const size = to - from;
  if (size < 1 || size > 2) return -1;
  const first = text[from]! - 48;
  if (first < 0 || first > 9) return -1;
  if (size === 1) return first;
  const second = text[from + 1]! - 48;
  const bits = 10 * first + second;
  return first === 0 || second < 0 || second > 9 || bits > 32 ? -1 : bits;
}

/** Decimal digits without sign or leading zero, at most `maximum`; -1 otherwise. */
export function parseDecimal(text: string, from: number, to: number, maximum: number): number {
  if (from >= to || to - from > 10 || (text.charCodeAt(from) === 48 && to - from > 1)) return -1;
  let value = 0;
  for (let i = from; i < to; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value <= maximum ? value : -1;
}

/** Writes a dotted quad as ASCII; returns the offset after it. 15 bytes of room. */
export function writeIpv4Text(out: Uint8Array, at: number, address: number): number {
  let i = writeDecimal(out, at, address >>> 24);
  out[i++] = DOT;
  i = writeDecimal(out, i, (address >>> 16) & 0xff);
  out[i++] = DOT;
  i = writeDecimal(out, i, (address >>> 8) & 0xff);
  out[i++] = DOT;
  return writeDecimal(out, i, address & 0xff);
}

/** Writes an unsigned integer below 2^53 as ASCII decimal; returns the offset after it. */
export function writeDecimal(out: Uint8Array, at: number, value: number): number {
  let size = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) size++;
  let rest = value;
  for (let i = at + size - 1; i >= at; i--) {
    const next = Math.floor(rest / 10);
    out[i] = 48 + (rest - next * 10);
    rest = next;
  }
  return at + size;
}

/** Writes `address/len` of a prefix on the wire as ASCII; returns the offset after it. 43 bytes of room. */
export function writePrefixText(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  from: number,
  lengthBits: number,
  addressLength: number,
): number {
  let i = at;
  if (addressLength === 4) {
    const size = (lengthBits + 7) >>> 3;
    const spare = 8 * size - lengthBits;
    for (let k = 0; k < 4; k++) {
      let byte = k < size ? bytes[from + k]! : 0;
      if (k === size - 1 && spare > 0) byte &= -1 << spare;
      if (k > 0) out[i++] = DOT;
      i = writeDecimal(out, i, byte);
    }
    out[i++] = SLASH;
    return writeDecimal(out, i, lengthBits);
  }
  const text = formatPrefix(bytes, from, lengthBits, addressLength);
  for (let k = 0; k < text.length; k++) out[i++] = text.charCodeAt(k);
  return i;
}

const COLON = 58;
const DOT = 46;
const SLASH = 47;
/** A constant-size scratch, filled anew by every call that reads it. */
const padded = new Uint8Array(16);

function hexDigit(char: number): number {
  if (char >= 48 && char <= 57) return char - 48;
  const letter = char | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

function word(bytes: Uint8Array, at: number, index: number): number {
  return (bytes[at + 2 * index]! << 8) | bytes[at + 2 * index + 1]!;
}

function putWord(out: Uint8Array, at: number, index: number, value: number): void {
  out[at + 2 * index] = value >>> 8;
  out[at + 2 * index + 1] = value & 0xff;
}
