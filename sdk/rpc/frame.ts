/**
 * Lines: from a stream of chunks to whole lines, and from a line to what it says.
 *
 * Two framings share one stream. A request, `ok` or `error` ends at the first LF. An answer line (`top row bad end nay`)
 * is measured: its counted texts are skipped by arithmetic and the very next byte must be the LF, so that a payload may
 * hold any byte. The splitter steps through the head of a line byte by byte (at most some forty bytes) and jumps over the
 * rest, so any split of the stream into chunks gives the same lines. A line of many chunks is joined once.
 */

/** LF excluded. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Joined lines up to this size may lie where another one lay before (and from a sixteenth of it on they do). */
const SPARE_BYTES = 512 * 1024;

const LF = 0x0a;
const SPACE = 0x20;
const HASH = 0x23;
const COLON = 0x3a;
const MAX_DIGITS = 20;
const MAX_U64 = '18446744073709551615';

/** The stream can be read no further: the connection ends. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

export const ANSWER_WORDS = ['top', 'row', 'bad', 'end', 'nay'] as const;
export type AnswerWord = (typeof ANSWER_WORDS)[number];

/** Fields of an answer line in order: i item type, n number, t text. */
const FIELDS: ReadonlyMap<string, string> = new Map([
  ['top', 'itt'],
  ['row', 't'],
  ['bad', 't'],
  ['end', 'nnt'],
  ['nay', 'tt'],
] satisfies [AnswerWord, string][]);

const STEP = { hash: 0, firstDigit: 1, digits: 2, word: 3, item: 4, number: 5, width: 6, text: 7, plain: 8 } as const;
type Step = (typeof STEP)[keyof typeof STEP];

/** Lines that begin with `prefix` (`#ID row `) and stand whole in a chunk are not given out as lines: `take` gets where the payload is. */
export interface DirectRows {
  readonly prefix: Uint8Array;
  take(chunk: Buffer, from: number, to: number): void;
}

/** Takes the line from `from` to `to`, which is an LF; false: it wants to see it as a line. */
export type InPlace = (chunk: Buffer, from: number, to: number) => boolean;

export class LineSplitter {
  rows: DirectRows | undefined;
  readonly #onLine: (line: Buffer) => void;
  readonly #inPlace: InPlace | undefined;
  /** Chunks of the line under way, before the present one. */
  #parts: Buffer[] = [];
  /** Bytes in `#parts`. */
  #held = 0;
  #step: Step = STEP.hash;
  #digits = 0;
  #word = '';
  #fields = '';
  /** Index of the field under way in `#fields`. */
  #field = 0;
  #width = 0;
  /** Bytes of the present text that are still to come. */
  #left = 0;
  #stopped = false;
  /** Where the last line of many chunks was joined, and what is free for the next one. */
  #joined: Buffer | undefined;
  #spare: Buffer | undefined;
  readonly #lent: boolean;

  /**
   * `onLine` gets each line without its LF. The bytes are the splitter's own chunk: valid as long as the caller keeps them; with `lent`
   * chunks (a read buffer that is used again) for the time of the call. `inPlace` is asked first for lines that stand whole in a chunk.
   */
  constructor(onLine: (line: Buffer) => void, lent = false, inPlace?: InPlace) {
    this.#onLine = onLine;
    this.#inPlace = inPlace;
    this.#lent = lent;
  }

  /** Bytes of the line that is not whole yet. */
  get pendingBytes(): number {
    return this.#held;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** The line given out last is read no more: where it was joined may hold the next one. */
  release(): void {
    if (this.#joined !== undefined && this.#joined.length <= SPARE_BYTES) this.#spare = this.#joined;
    this.#joined = undefined;
  }

  /** Gives out no further line, not even those of the chunk being pushed. */
  stop(): void {
    this.#stopped = true;
    this.#parts = [];
    this.#held = 0;
  }

  /** Throws FrameError when the stream cannot be followed any more. */
  push(chunk: Uint8Array): void {
    if (this.#stopped || chunk.length === 0) return;
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    let at = 0;
    while (at < bytes.length) {
      if (at === start && this.#held === 0 && this.#step === STEP.hash) {
        if (this.rows !== undefined) {
          at = start = this.#direct(bytes, at, this.rows);
          if (this.stopped) return;
          if (at === bytes.length) return;
        }
        at = this.#plainHead(bytes, at);
      }
      at = this.#advance(bytes, at, start);
      if (at < 0) {
        const end = -at - 1;
        this.#emit(bytes, start, end);
        if (this.stopped) return;
        start = at = end + 1;
      }
    }
    if (start < bytes.length) {
      const rest = start === 0 ? bytes : bytes.subarray(start);
      this.#parts.push(this.#lent ? Buffer.from(rest) : rest);
      this.#held += bytes.length - start;
      if (this.#held > MAX_LINE_BYTES) throw tooLong();
    }
  }

  /** The stream ended. A last line without LF is delivered, unless it is an answer line cut short. */
  end(): void {
    if (this.#stopped || this.#held === 0) return;
    if (this.#step >= STEP.item && this.#step !== STEP.plain) throw new FrameError('an answer line was cut short');
    this.#emit(Buffer.alloc(0), 0, 0);
  }

  /** Hands rows on as long as they are whole; answers where the first other line begins. */
  #direct(bytes: Buffer, start: number, rows: DirectRows): number {
    const { prefix } = rows;
    for (let line = start; ; ) {
      let at = line;
      for (let i = 0; i < prefix.length; i++, at++) if (bytes[at] !== prefix[i]) return line;
      let width = 0;
      const digits = at;
      for (let byte = bytes[at]; byte !== undefined && byte >= 0x30 && byte <= 0x39 && at - digits < 9; byte = bytes[++at]) {
        width = width * 10 + byte - 0x30;
      }
      const end = at + 1 + width;
      if (at === digits || bytes[at] !== COLON || bytes[end] !== LF || end - line > MAX_LINE_BYTES) return line;
      rows.take(bytes, at + 1, end);
      if (this.#stopped || this.rows !== rows) return end + 1;
      line = end + 1;
    }
  }

  /** Where a line that begins here and is surely no answer line goes on behind its head; `start` when that cannot be told. */
  #plainHead(bytes: Buffer, start: number): number {
    if (bytes[start] !== HASH) return start;
    const last = Math.min(start + MAX_DIGITS + 1, bytes.length - 5);
    let at = start + 1;
    while (at < last && bytes[at]! >= 0x30 && bytes[at]! <= 0x39) at++;
    if (at === start + 1 || at > bytes.length - 5 || bytes[at] !== SPACE || bytes[at + 4] === SPACE) return start;
    if (bytes[at + 1] === LF || bytes[at + 2] === LF || bytes[at + 3] === LF || bytes[at + 4] === LF) return start;
    this.#step = STEP.plain;
    return at + 5;
  }

  /** Moves on from `at`; answers the next position, or `-(lf + 1)` when a line ends at `lf`. `start` is where the line began here. */
  #advance(bytes: Buffer, at: number, start: number): number {
    const size = this.#held - start;
    if (this.#step === STEP.plain) {
      const lf = bytes.indexOf(LF, at);
      if (lf < 0) return bytes.length;
      if (size + lf > MAX_LINE_BYTES) throw tooLong();
      return -(lf + 1);
    }
    if (this.#step === STEP.text && this.#left > 0) {
      const take = Math.min(this.#left, bytes.length - at);
      this.#left -= take;
      return at + take;
    }
    const byte = bytes[at]!;
    if (this.#step === STEP.text) return this.#afterText(bytes, at, start, byte);
    if (byte === LF) return -(at + 1);
    this.#head(byte, size + at + 1);
    return at + 1;
  }

  /** One byte of the head of a line; `size` counts it. */
  #head(byte: number, size: number): void {
    const digit = byte >= 0x30 && byte <= 0x39;
    switch (this.#step) {
      case STEP.hash:
        this.#step = byte === HASH ? STEP.firstDigit : STEP.plain;
        this.#digits = 0;
        return;
      case STEP.firstDigit:
      case STEP.digits:
        if (digit && this.#digits < MAX_DIGITS) {
          this.#digits++;
          this.#step = STEP.digits;
        } else {
          this.#step = byte === SPACE && this.#step === STEP.digits ? STEP.word : STEP.plain;
          this.#word = '';
        }
        return;
      case STEP.word:
        this.#word += String.fromCharCode(byte);
        if (this.#word.length < 4) return;
        this.#fields = byte === SPACE ? (FIELDS.get(this.#word.slice(0, 3)) ?? '') : '';
        this.#field = -1;
        if (this.#fields === '') this.#step = STEP.plain;
        else this.#nextField();
        return;
      case STEP.item:
        this.#word += String.fromCharCode(byte);
        if (this.#word.length < 4) return;
        if (this.#word === 'doc ' || this.#word === 'map ' || this.#word === 'tab ') this.#nextField();
        else this.#step = STEP.plain;
        return;
      case STEP.number:
        if (digit && this.#digits < MAX_DIGITS) this.#digits++;
        else if (byte === SPACE && this.#digits > 0) this.#nextField();
        else this.#step = STEP.plain;
        return;
      case STEP.width:
        if (digit && this.#digits < MAX_DIGITS) {
          this.#digits++;
          this.#width = this.#width * 10 + byte - 0x30;
        } else if (byte === COLON && this.#digits > 0) {
          if (size + this.#width > MAX_LINE_BYTES)
            throw new FrameError(`a text of ${this.#width} bytes exceeds maximum line size ${MAX_LINE_BYTES}`);
          this.#left = this.#width;
          this.#step = STEP.text;
        } else this.#step = STEP.plain;
        return;
      default:
        this.#step = STEP.plain;
    }
  }

  #nextField(): void {
    this.#field++;
    this.#digits = 0;
    this.#width = 0;
    this.#word = '';
    const kind = this.#fields[this.#field];
    this.#step = kind === 'i' ? STEP.item : kind === 'n' ? STEP.number : STEP.width;
  }

  /** The byte that follows a counted text. */
  #afterText(bytes: Buffer, at: number, start: number, byte: number): number {
    const last = this.#field === this.#fields.length - 1;
    if (last && byte === LF) return -(at + 1);
    if (!last && byte === SPACE) {
      this.#nextField();
      return at + 1;
    }
    // Where the texts so far hold a LF, the end of the line cannot be told any more; nor after the last field.
    if (last || bytes.subarray(start, at + 1).includes(LF) || this.#parts.some((part) => part.includes(LF))) {
      throw new FrameError(
        `a text is terminated by 0x${byte.toString(16).padStart(2, '0')}, want exactly one ${last ? 'newline' : 'space'}`,
      );
    }
    this.#step = STEP.plain;
    return at + 1;
  }

  #emit(bytes: Buffer, start: number, end: number): void {
    if (this.#inPlace !== undefined && this.#held === 0 && end - start <= MAX_LINE_BYTES) {
      this.#joined = undefined;
      this.#step = STEP.hash;
      if (this.#inPlace(bytes, start, end)) return;
    }
    let line = bytes.subarray(start, end);
    if (this.#held > 0) {
      this.#parts.push(line);
      line = this.#join(this.#held + line.length);
      this.#parts = [];
      this.#held = 0;
    } else this.#joined = undefined;
    this.#step = STEP.hash;
    if (line.length > MAX_LINE_BYTES) throw tooLong();
    this.#onLine(line);
  }

  #join(length: number): Buffer {
    if (length < SPARE_BYTES >> 4) {
      this.#joined = undefined;
      return Buffer.concat(this.#parts, length);
    }
    let whole = this.#spare;
    this.#spare = undefined;
    if (whole === undefined || whole.length < length) whole = Buffer.allocUnsafeSlow(Math.max(length, SPARE_BYTES >> 2));
    this.#joined = whole;
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole.subarray(0, length);
  }
}

function tooLong(): FrameError {
  return new FrameError(`message exceeds maximum size ${MAX_LINE_BYTES}`);
}

/** What a line says. `id` is the text as it came: an answer echoes it byte for byte. */
export type Line =
  | { readonly kind: 'request'; readonly id: string; readonly method: string; readonly payload: Buffer }
  | { readonly kind: 'ok' | 'error'; readonly id: string; readonly payload: Buffer }
  /** `tail` begins after the word and its space. */
  | { readonly kind: 'answer'; readonly id: string; readonly word: AnswerWord; readonly tail: Buffer }
  | { readonly kind: 'malformed'; readonly reason: string };

export function parseLine(line: Buffer): Line {
  if (line.length === 0) return { kind: 'malformed', reason: 'empty' };
  if (line[0] !== HASH) return { kind: 'malformed', reason: 'no # at the start' };
  let at = 1;
  while (at < line.length && line[at]! >= 0x30 && line[at]! <= 0x39 && at <= MAX_DIGITS + 1) at++;
  if (at === 1) return { kind: 'malformed', reason: 'no id' };
  if (at > MAX_DIGITS + 1) return { kind: 'malformed', reason: 'id too long' };
  if (at === line.length) return { kind: 'malformed', reason: 'no space after the id' };
  if (line[at] !== SPACE) return { kind: 'malformed', reason: 'id is not a number' };
  const id = line.toString('latin1', 1, at);
  if (id.length === MAX_DIGITS && id > MAX_U64) return { kind: 'malformed', reason: 'id exceeds 64 bits' };
  const start = at + 1;
  if (line[start + 3] === SPACE) {
    const word = line.toString('latin1', start, start + 3);
    if (FIELDS.has(word)) return { kind: 'answer', id, word: word as AnswerWord, tail: line.subarray(start + 4) };
  }
  const space = line.indexOf(SPACE, start);
  const verb = line.toString('utf8', start, space < 0 ? line.length : space);
  const payload = space < 0 ? line.subarray(line.length) : line.subarray(space + 1);
  if (verb === 'ok' || verb === 'error') return { kind: verb, id, payload };
  return { kind: 'request', id, method: verb, payload };
}
