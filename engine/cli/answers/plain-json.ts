/**
 * Looks through JSON as bytes, for rows that are printed as they came: whether the text is one value, of nothing but printable ASCII on one
 * line. What it turns down may still be good JSON; somebody else then looks closer.
 */

const [QUOTE, BACKSLASH, SPACE, COMMA, COLON] = [0x22, 0x5c, 0x20, 0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];
const [MINUS, PLUS, POINT, ZERO, NINE] = [0x2d, 0x2b, 0x2e, 0x30, 0x39];
/** Lists and objects within each other. */
const MAXIMUM_DEPTH = 64;
const WORDS: readonly Uint8Array[] = ['true', 'false', 'null'].map((word) => Buffer.from(word));

export function isPlainJson(bytes: Uint8Array, from: number, to: number): boolean {
  const end = value(bytes, from, to, 0);
  return end >= 0 && blanks(bytes, end, to) === to;
}

/** Every reader answers where it stopped, or -1. */
function value(bytes: Uint8Array, from: number, to: number, depth: number): number {
  const at = blanks(bytes, from, to);
  if (at >= to || depth > MAXIMUM_DEPTH) return -1;
  const byte = bytes[at]!;
  if (byte === QUOTE) return text(bytes, at + 1, to);
  if (byte === OPEN_OBJECT) return members(bytes, at + 1, to, depth);
  if (byte === OPEN_LIST) return items(bytes, at + 1, to, depth);
  return byte === MINUS || (byte >= ZERO && byte <= NINE) ? number(bytes, at, to) : word(bytes, at, to);
}

/** After its opening quote. */
function text(bytes: Uint8Array, from: number, to: number): number {
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at + 1;
    if (byte < SPACE || byte > 0x7e) return -1;
    if (byte !== BACKSLASH) continue;
    at++;
    const escaped = bytes[at];
    if (escaped === 0x75) {
      for (const end = at + 4; at < end; ) if (!isHex(bytes[++at])) return -1;
    } else if (escaped === undefined || !ESCAPED.includes(escaped)) return -1;
  }
  return -1;
}

/** `"\/bfnrt` */
const ESCAPED: readonly number[] = [QUOTE, BACKSLASH, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74];

function isHex(byte: number | undefined): boolean {
  return (
    byte !== undefined && ((byte >= ZERO && byte <= NINE) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66))
  );
}

function members(bytes: Uint8Array, from: number, to: number, depth: number): number {
  let at = blanks(bytes, from, to);
  if (bytes[at] === CLOSE_OBJECT) return at + 1;
  for (;;) {
    at = blanks(bytes, at, to);
    if (bytes[at] !== QUOTE) return -1;
    at = text(bytes, at + 1, to);
    if (at < 0) return -1;
    at = blanks(bytes, at, to);
    if (bytes[at] !== COLON) return -1;
    at = value(bytes, at + 1, to, depth + 1);
    if (at < 0) return -1;
    at = blanks(bytes, at, to);
    if (bytes[at] === CLOSE_OBJECT) return at + 1;
    if (bytes[at] !== COMMA) return -1;
    at++;
  }
}

function items(bytes: Uint8Array, from: number, to: number, depth: number): number {
  let at = blanks(bytes, from, to);
  if (bytes[at] === CLOSE_LIST) return at + 1;
  for (;;) {
    at = value(bytes, at, to, depth + 1);
    if (at < 0) return -1;
    at = blanks(bytes, at, to);
    if (bytes[at] === CLOSE_LIST) return at + 1;
    if (bytes[at] !== COMMA) return -1;
    at++;
  }
}

/** RFC 8259 §6. */
function number(bytes: Uint8Array, from: number, to: number): number {
  let at = bytes[from] === MINUS ? from + 1 : from;
  const whole = digits(bytes, at, to);
  if (whole === at || (bytes[at] === ZERO && whole > at + 1)) return -1;
  at = whole;
  if (at < to && bytes[at] === POINT) {
    const end = digits(bytes, at + 1, to);
    if (end === at + 1) return -1;
    at = end;
  }
  if (at < to && (bytes[at] === 0x65 || bytes[at] === 0x45)) {
    at++;
    if (at < to && (bytes[at] === MINUS || bytes[at] === PLUS)) at++;
    const end = digits(bytes, at, to);
    if (end === at) return -1;
    at = end;
  }
  return at;
}

function digits(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
  return at;
}

function word(bytes: Uint8Array, from: number, to: number): number {
  for (const known of WORDS) {
    let i = 0;
    while (i < known.length && from + i < to && bytes[from + i] === known[i]) i++;
    if (i === known.length) return from + i;
  }
  return -1;
}

function blanks(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at] === SPACE) at++;
  return at;
}
