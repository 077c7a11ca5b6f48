/**
 * A growable byte buffer for event text. One instance writes either the plain form or the form that stands inside a JSON
 * string (`deliver-batch` lines hold every event as a JSON string): quotes then cost a backslash, everything else that an
 * event holds without free text (digits, addresses, hex, family names) is the same in both.
 *
 * Callers in loops say `ensure(bound)` once and write into `bytes` at `length` themselves; the methods ensure for themselves.
 */

/** A fixed piece of event text in both forms, made once at import of the file that uses it. */
export interface Constant {
  readonly plain: Uint8Array;
  readonly escaped: Uint8Array;
}

/** `text` is JSON or ASCII without control characters. */
export function constant(text: string): Constant {
  return { plain: Buffer.from(text, 'utf8'), escaped: Buffer.from(JSON.stringify(text).slice(1, -1), 'utf8') };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ZERO = 0x30;
const HEX = Buffer.from('0123456789abcdef', 'latin1');

export class ByteWriter {
  bytes: Buffer;
  length = 0;
  /** Writes the form that stands inside a JSON string. */
  escaped = false;

  constructor(capacity = 65_536) {
    this.bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** Makes room for `more` bytes beyond `length`. `bytes` may be another buffer afterwards. */
  ensure(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    let capacity = this.bytes.length * 2;
    while (capacity < needed) capacity *= 2;
    const next = Buffer.allocUnsafeSlow(capacity);
    this.bytes.copy(next, 0, 0, this.length);
    this.bytes = next;
  }

  constant(text: Constant): void {
    this.raw(this.escaped ? text.escaped : text.plain);
  }

  /** Bytes as they are. */
  raw(chunk: Uint8Array): void {
    const length = chunk.length;
    this.ensure(length);
    if (length > 48) {
      this.bytes.set(chunk, this.length);
      this.length += length;
      return;
    }
    const out = this.bytes;
    let at = this.length;
    for (let i = 0; i < length; i++) out[at++] = chunk[i]!;
    this.length = at;
  }

  byte(value: number): void {
    this.ensure(1);
    this.bytes[this.length++] = value;
  }

  /** A double quote, with its backslash in the escaped form. */
  quote(): void {
    this.ensure(2);
    if (this.escaped) this.bytes[this.length++] = BACKSLASH;
    this.bytes[this.length++] = QUOTE;
  }

  /** A whole number below 2^53. */
  decimal(value: number): void {
    this.ensure(17);
    const out = this.bytes;
    if (value < 10) {
      out[this.length++] = ZERO + value;
      return;
    }
    if (value > 0xffff_ffff) {
      this.length += out.write(String(value), this.length, 'latin1');
      return;
    }
    let digits = 2;
    for (let limit = 100; limit <= value; limit *= 10) digits++;
    let at = this.length + digits;
    this.length = at;
    let rest = value >>> 0;
    while (rest > 9) {
      const next = (rest / 10) >>> 0;
      out[--at] = ZERO + rest - next * 10;
      rest = next;
    }
    out[--at] = ZERO + rest;
  }

  /** `length` bytes of `source` from `at`, as lower-case hex. */
  hex(source: Uint8Array, at: number, length: number): void {
    this.ensure(length * 2);
    const out = this.bytes;
    let to = this.length;
    for (let i = at, end = at + length; i < end; i++) {
      const value = source[i]!;
      out[to++] = HEX[value >> 4]!;
      out[to++] = HEX[value & 15]!;
    }
    this.length = to;
  }

  /** Text that needs no escape: ASCII without quotes, backslashes and control characters. */
  safe(text: string): void {
    this.ensure(text.length);
    this.length += this.bytes.write(text, this.length, 'latin1');
  }

  /** Any text as a JSON string with its quotes; whatever the text holds stays inside it. */
  string(text: string): void {
    this.utf8(this.escaped ? escapeJson(`"${escapeJson(text)}"`) : `"${escapeJson(text)}"`);
  }

  /** Text that is already in the form this writer writes. */
  utf8(text: string): void {
    this.ensure(text.length * 3);
    this.length += this.bytes.write(text, this.length, 'utf8');
  }

  /** Any JSON value, as `JSON.stringify` writes it, escaped when this writer is. */
  json(value: unknown): void {
    const text = neutral(JSON.stringify(value));
    this.utf8(this.escaped ? JSON.stringify(text).slice(1, -1) : text);
  }

  /** The members of an object behind a comma, `,"a":1,"b":"x"`; nothing when it has none. For what is written seldom. */
  members(value: Readonly<Record<string, unknown>>): void {
    const text = neutral(JSON.stringify(value).slice(1, -1));
    if (text === '') return;
    this.byte(0x2c);
    this.utf8(this.escaped ? JSON.stringify(text).slice(1, -1) : text);
  }

  /** `bytes` from `from` to `length`, as text. */
  text(from: number, to: number): string {
    return this.bytes.toString('utf8', from, to);
  }
}

// Beyond what JSON demands: DEL, the C1 controls (terminals obey them) and the line separators of U+2028/2029.
const NEEDS_ESCAPE = /[\u0000-\u001f"\\\u007f-\u009f\u2028\u2029\ud800-\udfff]/;
const NEUTRAL = /[\u007f-\u009f\u2028\u2029]/g;

/** The inside of a JSON string for any text: no control character, quote or lone surrogate is left bare. */
export function escapeJson(text: string): string {
  if (!NEEDS_ESCAPE.test(text)) return text;
  return neutral(JSON.stringify(text).slice(1, -1));
}

/** JSON text with DEL, C1 controls and line separators written as escapes: the same value, safe to print. */
export function neutral(json: string): string {
  return json.replace(NEUTRAL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
