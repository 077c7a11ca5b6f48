/**
 * Record answers: a head, records, and an end from which the verdict is derived.
 *
 * In the engine an answer is pulled: an `AnswerSource` gives its next chunk when it is asked and stops when it is
 * cancelled, so nothing piles up. `AnswerReader` is what a consumer holds, whether the source is a producer in the same
 * process or lines from a link. Records travel as JSON texts; they are parsed only by who wants values.
 */
import { messageOf, RpcError } from './errors.ts';
import { parseJson, stringifyJson } from './json.ts';

/** doc: one document is the whole answer. map: an object a record. tab: an array a record, read against the columns. */
export type ItemType = 'doc' | 'map' | 'tab';

export interface AnswerHead {
  readonly itemType: ItemType;
  /** Key the rows go under when they are folded into a document; '' = none. */
  readonly envelope: string;
  /** Only for `tab`. */
  readonly columns: readonly string[];
}

export const DOC_HEAD: AnswerHead = { itemType: 'doc', envelope: '', columns: [] };

export interface AnswerRecord {
  /** A record the command rejected (`bad`); the walk goes on. */
  readonly rejected: boolean;
  /** One JSON value. */
  readonly json: string;
}

/** Counts are of the walk, not of lines: a folded answer can be one record and `produced` 97. */
export interface AnswerEnd {
  readonly kind: 'end';
  readonly produced: number;
  readonly rejected: number;
  /** '' = the command stated none. */
  readonly message: string;
  /** The answer broke off: no end was read. `message` is the cause. */
  readonly truncated?: boolean | undefined;
}

export type AnswerChunk = { readonly kind: 'records'; readonly records: readonly AnswerRecord[] } | AnswerEnd;

/** Bytes of a packed row at most; longer ones go as records. */
export const PACKED_ROW_BYTES = 32 * 1024;

/** Rows as bytes of UTF-8, none of them rejected: row `i` begins where the one before ended and stops at `ends[i]`. */
export interface PackedRows {
  readonly kind: 'packed';
  /** Valid until the source is asked again. */
  readonly bytes: Uint8Array;
  readonly ends: Uint32Array;
  readonly count: number;
}

/** The pull side of an answer. One `next` at a time. */
export interface AnswerSource {
  readonly head: AnswerHead;
  /** Write the head at once instead of holding 256 records back (`monitor`). */
  readonly immediate?: boolean | undefined;
  /** The records were checked against the columns when they were made. */
  readonly checked?: boolean | undefined;
  /** Rejects when a record is unusable; the answer is then an `error`, not an end. After the end it is not called again. */
  next(): Promise<AnswerChunk>;
  /** In place of `next`, from a source that has its rows as bytes, for who can use them so. */
  readonly nextPacked?: (() => Promise<AnswerChunk | PackedRows>) | undefined;
  /** The consumer is gone. Idempotent; a `next` under way settles soon. */
  cancel(): void;
}

/** Takes the rows of an answer as they are read from a link, as bytes that are lent for the time of the call. */
export interface RowSink {
  /** Asked once, before the first row. A refused answer goes the usual way. */
  accepts(head: AnswerHead): boolean;
  row(bytes: Buffer, from: number, to: number, rejected: boolean): void;
}

export type Outcome = 'done' | 'partial' | 'error' | 'aborted' | 'truncated';

export interface Verdict {
  readonly outcome: Outcome;
  readonly produced: number;
  readonly rejected: number;
  readonly message: string;
}

export function verdictOf(end: AnswerEnd): Verdict {
  return { outcome: outcomeOf(end), produced: end.produced, rejected: end.rejected, message: end.message };
}

function outcomeOf(end: AnswerEnd): Outcome {
  if (end.truncated === true) return 'truncated';
  if (end.message !== '') return end.produced > 0 || end.rejected > 0 ? 'aborted' : 'error';
  if (end.rejected === 0) return 'done';
  return end.produced > 0 ? 'partial' : 'error';
}

/** An answer as one value. `data` is the document the rows fold into, absent when there was none. */
export interface Collapsed {
  readonly status: 'done' | 'error';
  readonly data?: unknown;
  readonly error?: string;
}

/** What `collapse` holds at most, in characters of JSON. */
export const COLLAPSE_LIMIT = 256 * 1024 * 1024;

/**
 * Folds records into the document a collapsed answer carries. `tab` rows become objects with their keys in column order. Each
 * text must be one JSON value: see `parseRecord`.
 */
export function foldRecords(head: AnswerHead, rows: readonly string[], rejected: readonly string[]): string {
  const items = head.itemType === 'tab' ? rows.map((row) => zipRow(head.columns, row)) : rows;
  const list = `[${items.join(',')}]`;
  if (rejected.length === 0) return head.envelope === '' ? list : `{${JSON.stringify(head.envelope)}:${list}}`;
  return `{${JSON.stringify(head.envelope === '' ? 'data' : head.envelope)}:${list},"errors":[${rejected.join(',')}]}`;
}

/** Throws (`unreadable`) when a record is not exactly one JSON value, which could forge others once it is folded in. */
export function parseRecord(json: string): unknown {
  try {
    return parseJson(json);
  } catch (error) {
    throw new RpcError('unreadable', `an answer record is not JSON: ${messageOf(error)}`);
  }
}

/** Throws when the row is not an array of as many elements as there are columns. */
export function zipRow(columns: readonly string[], json: string): string {
  const row = checkRow(columns, json);
  return `{${columns.map((name, i) => `${JSON.stringify(name)}:${stringifyJson(row[i]) ?? 'null'}`).join(',')}}`;
}

export function checkRow(columns: readonly string[], json: string): readonly unknown[] {
  const row = parseRecord(json);
  if (!Array.isArray(row) || row.length !== columns.length) {
    throw new RpcError('error', `answer row has ${Array.isArray(row) ? row.length : 'no'} elements, want ${columns.length}`);
  }
  return row;
}

/**
 * The consumer's end of an answer. Iterate it for rows as values (a folded document is unfolded again), or take `chunks`
 * for JSON texts, or `collapse` for one value; one of them, once. Leaving the loop early cancels the producer.
 */
export class AnswerReader implements AsyncIterable<unknown> {
  /** Rejects with RpcError when the answer was an `error` line or a `nay` (code `unknown-command`). */
  readonly head: Promise<AnswerHead>;
  /** Settles when the end was read or the reader was cancelled (`aborted`). Rejects as `head` does. */
  readonly verdict: Promise<Verdict>;
  readonly #source: Promise<AnswerSource>;
  #settle: (verdict: Verdict) => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;
  #seen = 0;
  #cancelled = false;

  constructor(source: AnswerSource | Promise<AnswerSource>) {
    this.#source = Promise.resolve(source);
    this.head = this.#source.then((s) => s.head);
    this.verdict = new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#fail = reject;
    });
    // Either may be ignored by the consumer; who awaits them still sees the error.
    this.verdict.catch(() => undefined);
    this.head.catch(this.#fail);
  }

  /** The source below, for a relay that hands the answer on. The relay reads it to its end; this reader is then spent. */
  source(): Promise<AnswerSource> {
    return this.#source;
  }

  /** Records as they came. */
  async *chunks(): AsyncGenerator<readonly AnswerRecord[], AnswerEnd> {
    const source = await this.#source;
    let ended = false;
    try {
      for (;;) {
        const chunk = await source.next();
        if (chunk.kind === 'end') {
          ended = true;
          this.#settle(verdictOf(chunk));
          return chunk;
        }
        this.#seen += chunk.records.length;
        yield chunk.records;
      }
    } catch (error) {
      ended = true;
      this.#fail(error);
      throw error;
    } finally {
      if (!ended) this.cancel();
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<unknown, void> {
    return this.rows();
  }

  /** Produced rows as values, `tab` rows as objects. A document counts as its rows where it holds some, else as one row. */
  async *rows(): AsyncGenerator<unknown, void> {
    const head = await this.head;
    for await (const records of this.chunks()) {
      for (const record of records) {
        if (record.rejected) continue;
        if (head.itemType === 'doc') yield* unfold(parseRecord(record.json));
        else if (head.itemType === 'tab') yield rowObject(head.columns, record.json);
        else yield parseRecord(record.json);
      }
    }
  }

  /** The whole answer as one value. Rejects with RpcError as `head` does, or past COLLAPSE_LIMIT. */
  async collapse(): Promise<Collapsed> {
    const head = await this.head;
    const rows: unknown[] = [];
    const rejected: unknown[] = [];
    let size = 0;
    for await (const records of this.chunks()) {
      for (const record of records) {
        size += record.json.length;
        if (record.rejected) rejected.push(parseRecord(record.json));
        else rows.push(head.itemType === 'tab' ? rowObject(head.columns, record.json) : parseRecord(record.json));
      }
      if (size > COLLAPSE_LIMIT) throw new RpcError('too-large', `answer exceeds ${COLLAPSE_LIMIT} characters`);
    }
    const verdict = await this.verdict;
    const data = collapsedData(head, rows, rejected);
    if (verdict.outcome === 'done' || verdict.outcome === 'partial') return { status: 'done', ...data };
    return { status: 'error', ...data, error: verdict.message === '' ? 'every record was rejected' : verdict.message };
  }

  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#settle({ outcome: 'aborted', produced: this.#seen, rejected: 0, message: 'cancelled by the reader' });
    this.#source.then((source) => source.cancel()).catch(() => undefined);
  }
}

/** The same document as `foldRecords`, from values. */
function collapsedData(head: AnswerHead, rows: readonly unknown[], rejected: readonly unknown[]): { readonly data?: unknown } {
  if (head.itemType === 'doc') {
    if (rows.length > 1 || rejected.length > 0)
      throw new RpcError('unreadable', 'a document answer holds more than its document');
    return rows.length === 0 ? {} : { data: rows[0] };
  }
  if (rejected.length > 0) return { data: { [head.envelope === '' ? 'data' : head.envelope]: rows, errors: rejected } };
  return { data: head.envelope === '' ? rows : { [head.envelope]: rows } };
}

function rowObject(columns: readonly string[], json: string): unknown {
  const row = checkRow(columns, json);
  return Object.fromEntries(columns.map((name, i) => [name, row[i]]));
}

/** Rows of a folded document: a bare array, or the one array (beside `errors`) of an object. */
function unfold(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as unknown[];
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value as Readonly<Record<string, unknown>>).filter(([key]) => key !== 'errors');
    const only: unknown = members.length === 1 ? members[0]?.[1] : undefined;
    if (Array.isArray(only)) return only as unknown[];
  }
  return [value];
}
