/**
 * What one delivery holds: events of one process in order, in the form its transport takes. A bytes batch is the whole params
 * text of one `deliver-batch` line (`{"events":["…","…"]}`), so that a link writes it as it is.
 */
import type { Constant } from '../codec/byte-writer.ts';
import { EVENT_SCHEMA_VERSION } from '../codec/event-format.ts';
import type { StructuredRows } from './structured.ts';

/**
 * A batch is closed when it holds this many bytes or events; a single larger event has a batch of its own. A line of this size fills
 * six records of TLS, and its text is still an ordinary string to the receiver: above 128 KiB V8 gives each one pages of its own.
 */
export const BATCH_BYTES = 95 * 1024;
export const BATCH_EVENTS = 512;
/** Strings for a handler in this process need no line. */
const TEXT_BATCH_BYTES = 256 * 1024;

export type Batch = BytesBatch | TextBatch | StructuredRows;

const HEAD = Buffer.from('{"events":[', 'latin1');
const TAIL = Buffer.from(']}', 'latin1');
const META = `,"meta":{"schema-version":${EVENT_SCHEMA_VERSION},"seq":`;
const META_SNAPSHOT = META.replace('"seq"', '"snapshot":true,"seq"');
const ESCAPED_META = Buffer.from(META.replaceAll('"', '\\"'), 'latin1');
const ESCAPED_META_SNAPSHOT = Buffer.from(META_SNAPSHOT.replaceAll('"', '\\"'), 'latin1');
/** Room for the separators, the meta member and its number. */
const SLACK = 128;
const QUOTE = 0x22;
const BRACE = 0x7d;
const COMMA = 0x2c;

/** How the shared text of an event becomes one process's event. */
export const VERBATIM = 0;
/** JSON without its last brace: `meta` with the process's own number closes it. */
export const NUMBERED = 1;
/** The same, and `meta` says that the event tells of what is, not of what happened. */
export const SNAPSHOT = 2;

/** Buffers of one size that batches borrow; a few are kept, the rest is left to the collector. */
export class BufferPool {
  readonly #free: Buffer[] = [];
  readonly #kept: number;

  constructor(kept = 16) {
    this.#kept = kept;
  }

  take(least: number): Buffer {
    if (least <= BATCH_BYTES + SLACK) return this.#free.pop() ?? Buffer.allocUnsafeSlow(BATCH_BYTES + SLACK);
    return Buffer.allocUnsafeSlow(least);
  }

  give(buffer: Buffer): void {
    if (buffer.length === BATCH_BYTES + SLACK && this.#free.length < this.#kept) this.#free.push(buffer);
  }

  get free(): number {
    return this.#free.length;
  }
}

export class BytesBatch {
  readonly form = 'bytes';
  count = 0;
  #buffer: Buffer;
  #length: number;

  constructor(pool: BufferPool, least: number) {
    this.#buffer = pool.take(HEAD.length + least + SLACK);
    this.#buffer.set(HEAD, 0);
    this.#length = HEAD.length;
  }

  get size(): number {
    return this.#length;
  }

  hasRoom(length: number): boolean {
    return this.count < BATCH_EVENTS && this.#length + length + SLACK <= this.#buffer.length;
  }

  /** Appends bytes that are escaped already; `head` is an envelope's beginning. There is room. */
  append(source: Buffer, from: number, to: number, shape: number, seq: number, head: Constant | undefined): void {
    const out = this.#buffer;
    let at = this.#length;
    if (this.count++ > 0) out[at++] = COMMA;
    out[at++] = QUOTE;
    if (head !== undefined) {
      out.set(head.escaped, at);
      at += head.escaped.length;
    }
    if (to - from > 64) {
      out.set(source.subarray(from, to), at);
      at += to - from;
    } else for (let i = from; i < to; i++) out[at++] = source[i]!;
    if (shape !== VERBATIM) {
      const meta = shape === NUMBERED ? ESCAPED_META : ESCAPED_META_SNAPSHOT;
      if (head !== undefined) out[at++] = BRACE;
      for (let i = 0; i < meta.length; i++) out[at++] = meta[i]!;
      at = writeDecimal(out, at, seq);
      out[at++] = BRACE;
      out[at++] = BRACE;
    }
    out[at++] = QUOTE;
    this.#length = at;
  }

  /** The params of the line. Valid until `release`. */
  params(): Buffer {
    this.#buffer.set(TAIL, this.#length);
    return this.#buffer.subarray(0, this.#length + TAIL.length);
  }

  release(pool: BufferPool): void {
    pool.give(this.#buffer);
  }
}

function writeDecimal(out: Buffer, at: number, value: number): number {
  let digits = 1;
  for (let limit = 10; limit <= value; limit *= 10) digits++;
  let rest = value;
  for (let i = at + digits - 1; i >= at; i--) {
    const next = Math.floor(rest / 10);
    out[i] = 0x30 + rest - next * 10;
    rest = next;
  }
  return at + digits;
}

/** Events as strings, for handlers in this process. */
export class TextBatch {
  readonly form = 'texts';
  size = 0;
  readonly texts: string[] = [];

  get count(): number {
    return this.texts.length;
  }

  hasRoom(length: number): boolean {
    return this.texts.length < BATCH_EVENTS && this.size + length <= TEXT_BATCH_BYTES;
  }

  append(text: string): void {
    this.texts.push(text);
    this.size += text.length;
  }
}

/** One process's event as a string: `shared` lacks its last brace unless `shape` is VERBATIM. */
export function composeText(shared: string, shape: number, seq: number, head: Constant | undefined): string {
  if (shape === VERBATIM) return shared;
  const meta = `${shape === SNAPSHOT ? META_SNAPSHOT : META}${seq}}}`;
  return head === undefined ? shared + meta : `${Buffer.from(head.plain).toString('utf8')}${shared}}${meta}`;
}

/** The gap event: `dropped` numbers from `first` to `last` of this process's stream never arrive. */
export function gapText(dropped: number, first: number, last: number, text: boolean): string {
  if (text) return `gap dropped ${dropped} first ${first} last ${last}\n`;
  return `{"type":"gap","gap":{"dropped":${dropped},"first":${first},"last":${last}}}`;
}
