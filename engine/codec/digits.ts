/**
 * Digits, addresses and prefixes straight into event bytes. The caller has ensured room; each function returns the offset after what
 * it wrote. Faster than the general writers of `sdk/wire` because an octet needs no division.
 */

const DOT = 0x2e;
const COLON = 0x3a;
const SLASH = 0x2f;
const ZERO = 0x30;

/** 0..255 in decimal. */
export function writeOctet(out: Uint8Array, at: number, value: number): number {
  let to = at;
  let rest = value;
  if (rest > 99) {
    const hundreds = rest > 199 ? 2 : 1;
    out[to++] = ZERO + hundreds;
    rest -= hundreds * 100;
    const tens = (rest * 103) >> 10;
    out[to++] = ZERO + tens;
    out[to++] = ZERO + rest - tens * 10;
    return to;
  }
  if (rest > 9) {
    const tens = (rest * 103) >> 10;
    out[to++] = ZERO + tens;
    rest -= tens * 10;
  }
  out[to++] = ZERO + rest;
  return to;
}

/** A u32 in decimal, 10 bytes at most. */
export function writeU32Text(out: Uint8Array, at: number, value: number): number {
  if (value < 256) return writeOctet(out, at, value);
  let digits = 3;
  for (let limit = 1000; limit <= value; limit *= 10) digits++;
  let to = at + digits;
  let rest = value >>> 0;
  while (rest > 9) {
    const next = (rest / 10) >>> 0;
    out[--to] = ZERO + rest - next * 10;
    rest = next;
  }
  out[--to] = ZERO + rest;
  return at + digits;
}

/** A dotted quad from 4 bytes. */
export function writeIpv4(out: Uint8Array, at: number, from: Uint8Array, fromAt: number): number {
  let to = writeOctet(out, at, from[fromAt]!);
  out[to++] = DOT;
  to = writeOctet(out, to, from[fromAt + 1]!);
  out[to++] = DOT;
  to = writeOctet(out, to, from[fromAt + 2]!);
  out[to++] = DOT;
  return writeOctet(out, to, from[fromAt + 3]!);
}

/** `a.b.c.d/len` of a prefix on the wire: bits past the length read as zero. 18 bytes at most. */
export function writeIpv4Prefix(out: Uint8Array, at: number, from: Uint8Array, fromAt: number, lengthBits: number): number {
  const b0 = lengthBits > 0 ? from[fromAt]! : 0;
  const b1 = lengthBits > 8 ? from[fromAt + 1]! : 0;
  const b2 = lengthBits > 16 ? from[fromAt + 2]! : 0;
  const b3 = lengthBits > 24 ? from[fromAt + 3]! : 0;
  const cut = lengthBits & 7;
  const mask = cut === 0 ? 0xff : (0xff00 >> cut) & 0xff;
  const last = (lengthBits - 1) >> 3;
  let to = writeOctet(out, at, last === 0 ? b0 & mask : b0);
  out[to++] = DOT;
  to = writeOctet(out, to, last === 1 ? b1 & mask : b1);
  out[to++] = DOT;
  to = writeOctet(out, to, last === 2 ? b2 & mask : b2);
  out[to++] = DOT;
  to = writeOctet(out, to, last === 3 ? b3 & mask : b3);
  out[to++] = SLASH;
  return writeOctet(out, to, lengthBits);
}

/** Filled anew by every call that reads it. */
const words = new Uint16Array(8);

/** An IPv6 address as RFC 5952 wants it, an IPv4-mapped one with a dotted quad. 39 bytes at most. */
export function writeIpv6(out: Uint8Array, at: number, from: Uint8Array, fromAt: number): number {
  for (let i = 0; i < 8; i++) words[i] = (from[fromAt + 2 * i]! << 8) | from[fromAt + 2 * i + 1]!;
  return writeWords(out, at);
}

/** `address/len` of an IPv6 prefix on the wire. 43 bytes at most. */
export function writeIpv6Prefix(out: Uint8Array, at: number, from: Uint8Array, fromAt: number, lengthBits: number): number {
  const size = (lengthBits + 7) >> 3;
  for (let i = 0; i < 8; i++) {
    const high = 2 * i < size ? from[fromAt + 2 * i]! : 0;
    const low = 2 * i + 1 < size ? from[fromAt + 2 * i + 1]! : 0;
    words[i] = (high << 8) | low;
  }
  const cut = lengthBits & 15;
  if (cut !== 0) words[lengthBits >> 4]! &= 0xffff << (16 - cut);
  const to = writeWords(out, at);
  out[to] = SLASH;
  return writeOctet(out, to + 1, lengthBits);
}

function writeWords(out: Uint8Array, at: number): number {
  let best = -1;
  let bestRun = 1;
  let run = 0;
  for (let i = 0; i < 8; i++) {
    run = words[i] === 0 ? run + 1 : 0;
    if (run > bestRun) {
      bestRun = run;
      best = i - run + 1;
    }
  }
  let to = at;
  if (best === 0 && bestRun === 5 && words[5] === 0xffff) {
    for (const char of MAPPED) out[to++] = char;
    to = writeOctet(out, to, words[6]! >> 8);
    out[to++] = DOT;
    to = writeOctet(out, to, words[6]! & 0xff);
    out[to++] = DOT;
    to = writeOctet(out, to, words[7]! >> 8);
    out[to++] = DOT;
    return writeOctet(out, to, words[7]! & 0xff);
  }
  for (let i = 0; i < 8; i++) {
    if (i === best) {
      out[to++] = COLON;
      out[to++] = COLON;
      i += bestRun - 1;
    } else {
      if (i > 0 && out[to - 1] !== COLON) out[to++] = COLON;
      to = writeHexWord(out, to, words[i]!);
    }
  }
  return to;
}

const MAPPED = Buffer.from('::ffff:', 'latin1');

function writeHexWord(out: Uint8Array, at: number, value: number): number {
  let to = at;
  if (value > 0xfff) out[to++] = hexDigit(value >> 12);
  if (value > 0xff) out[to++] = hexDigit((value >> 8) & 15);
  if (value > 0xf) out[to++] = hexDigit((value >> 4) & 15);
  out[to++] = hexDigit(value & 15);
  return to;
}

function hexDigit(value: number): number {
  return value < 10 ? ZERO + value : 87 + value;
}
