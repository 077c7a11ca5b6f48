// UTF-8 from and for strangers: shutdown texts and capability names come from the peer and end in logs, events and terminals.

/** `valid` is false when a byte sequence was not shortest-form UTF-8; each such byte then reads as U+FFFD. */
export interface DecodedText {
  readonly text: string;
  readonly valid: boolean;
}

/** Decodes UTF-8 (RFC 3629: shortest form, no surrogates, at most U+10FFFF) and never throws. */
export function decodeUtf8(bytes: Uint8Array, at = 0, length: number = bytes.length - at): DecodedText {
  const end = at + length;
  let text = '';
  let valid = true;
  let i = at;
  while (i < end) {
    const point = codePoint(bytes, i, end);
    if (point < 0) {
      text += '\ufffd';
      valid = false;
      i += 1;
    } else {
      text += String.fromCodePoint(point);
      i += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    }
  }
  return { text, valid };
}

/** The code point that starts at `i`, or -1 when the bytes there are not well-formed. */
function codePoint(bytes: Uint8Array, i: number, end: number): number {
  const lead = bytes[i]!;
  if (lead < 0x80) return lead;
  const more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  if (lead < 0xc2 || lead > 0xf4 || i + more >= end) return -1;
  let point = lead & (0x3f >>> more);
  for (let k = 1; k <= more; k++) {
    const byte = bytes[i + k]!;
    if ((byte & 0xc0) !== 0x80) return -1;
    point = (point << 6) | (byte & 0x3f);
  }
  if (more === 2 && (point < 0x800 || (point >= 0xd800 && point <= 0xdfff))) return -1;
  if (more === 3 && (point < 0x10000 || point > 0x10ffff)) return -1;
  return point;
}

/** UTF-8 of a text; a lone surrogate is written as U+FFFD. At most `limit` bytes, cut between code points. */
export function encodeUtf8(text: string, limit: number = Number.MAX_SAFE_INTEGER): Uint8Array {
  const out: number[] = [];
  for (const char of text) {
    let point = char.codePointAt(0) ?? 0xfffd;
    if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
    const size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (out.length + size > limit) break;
    if (size === 1) out.push(point);
    else if (size === 2) out.push(0xc0 | (point >>> 6), 0x80 | (point & 63));
    else if (size === 3) out.push(0xe0 | (point >>> 12), 0x80 | ((point >>> 6) & 63), 0x80 | (point & 63));
    else out.push(0xf0 | (point >>> 18), 0x80 | ((point >>> 12) & 63), 0x80 | ((point >>> 6) & 63), 0x80 | (point & 63));
  }
  return Uint8Array.from(out);
}

/**
 * The text as it may be shown on a terminal or a log line: control characters (C0, DEL, C1), line and paragraph separators and
 * bidirectional overrides become `\u{hex}`, a backslash is doubled. JSON writers escape by themselves and need this no less.
 */
export function printable(text: string): string {
  let out = '';
  for (const char of text) {
    const point = char.codePointAt(0) ?? 0;
    if (char === '\\') out += '\\\\';
    else if (isUnprintable(point)) out += `\\u{${point.toString(16)}}`;
    else out += char;
  }
  return out;
}

function isUnprintable(point: number): boolean {
  if (point < 0x20 || (point >= 0x7f && point <= 0x9f)) return true;
  if (point === 0x2028 || point === 0x2029 || point === 0xfeff) return true;
  return (point >= 0x200b && point <= 0x200f) || (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}
