/**
 * Writes an answer to a link: pulls the source, holds up to 256 records back and folds them into one document when the
 * walk ends there, else streams. Waits for the link between chunks, so a slow reader holds the producer back.
 */
import {
  type AnswerEnd,
  type AnswerHead,
  type AnswerRecord,
  type AnswerSource,
  checkRow,
  DOC_HEAD,
  foldRecords,
  parseRecord,
} from './answer.ts';
import { checkHead, endLine, headLine, lineBytes, overWide, recordLine, text } from './answer-lines.ts';
import { writeRows } from './packed-rows.ts';
import { MAX_LINE_BYTES } from './frame.ts';
import { errorPayload, RpcError } from './errors.ts';

/** Records held back before the head is written. */
export const HELD_RECORDS = 256;
/** Characters of records held back: past it the answer streams even below HELD_RECORDS. */
const HELD_CHARACTERS = 32 * 1024 * 1024;
/** Bytes before a record's payload at most: id, word, count. */
const MAX_PREFIX = 64;

/** Where lines go. `lines` may hold several, each with its LF. */
export interface LineSink {
  write(lines: string): void;
  /** Resolves when the link can take more; rejects when it is closed. */
  ready(): Promise<void>;
  /** Room for bytes that the link owns and lends: there are few, who asks waits until the peer has taken one. Rejects when it is closed. */
  readonly block?: (() => Promise<Buffer>) | undefined;
  /** Sends what stands in a lent block: whole lines. */
  readonly send?: ((block: Buffer, length: number) => void) | undefined;
}

/** Writes the whole answer for `id`. Never rejects for the source's sake; rejects when the link is gone, the source cancelled. */
export async function writeAnswer(id: string, source: AnswerSource, sink: LineSink): Promise<void> {
  const writer = new AnswerWriter(id, source, sink);
  try {
    await writer.run();
  } catch (error) {
    source.cancel();
    if (writer.linkFailed) throw error;
    sink.write(`#${id} error ${errorPayload(error)}\n`);
  }
}

class AnswerWriter {
  linkFailed = false;
  readonly #id: string;
  readonly #source: AnswerSource;
  readonly #sink: LineSink;
  readonly #head: AnswerHead;
  readonly #held: AnswerRecord[] = [];
  #heldCharacters = 0;
  #streaming = false;
  #ordinal = 0;
  /** Produced records that were replaced by a `bad` line. */
  #replaced = 0;

  constructor(id: string, source: AnswerSource, sink: LineSink) {
    this.#id = id;
    this.#source = source;
    this.#sink = sink;
    this.#head = source.head;
  }

  async run(): Promise<void> {
    checkHead(this.#head);
    if (this.#source.immediate === true && this.#head.itemType !== 'doc') this.#open();
    const { block, send } = this.#sink;
    const packed = block !== undefined && send !== undefined && this.#head.itemType === 'map';
    for (;;) {
      const chunk = await (packed && this.#streaming
        ? (this.#source.nextPacked?.() ?? this.#source.next())
        : this.#source.next());
      if (chunk.kind === 'end') {
        this.#finish(chunk);
        return;
      }
      if (chunk.kind === 'packed') {
        this.#ordinal += chunk.count;
        if (block !== undefined && send !== undefined) await this.#linked(writeRows(this.#id, chunk, { block, send }));
        continue;
      }
      this.#take(chunk.records);
      if (this.#streaming) await this.#linked(this.#sink.ready());
    }
  }

  /** What can only fail because the link is gone. */
  async #linked(wait: Promise<void>): Promise<void> {
    try {
      await wait;
    } catch (error) {
      this.linkFailed = true;
      throw error;
    }
  }

  #open(): void {
    this.#streaming = true;
    this.#sink.write(headLine(this.#id, this.#head));
  }

  #take(records: readonly AnswerRecord[]): void {
    if (this.#streaming) {
      this.#stream(records);
      return;
    }
    for (const record of records) {
      const fitting = this.#head.itemType === 'doc' ? record : this.#fitting(record);
      this.#held.push(fitting);
      this.#heldCharacters += fitting.json.length;
    }
    if (this.#head.itemType === 'doc') {
      if (this.#held.length > 1 || records.some((record) => record.rejected))
        throw new RpcError('error', 'a document answer has one record');
      return;
    }
    if (this.#held.length <= HELD_RECORDS && this.#heldCharacters <= HELD_CHARACTERS) return;
    this.#open();
    this.#write(this.#held.splice(0));
  }

  #stream(records: readonly AnswerRecord[]): void {
    this.#write(records.map((record) => this.#fitting(record)));
  }

  #write(records: readonly AnswerRecord[]): void {
    let lines = '';
    for (const { rejected, json } of records) {
      if (json === '') throw new RpcError('error', 'empty answer record');
      if (this.#head.itemType === 'tab' && !rejected && this.#source.checked !== true) checkRow(this.#head.columns, json);
      lines += `#${this.#id} ${rejected ? 'bad' : 'row'} ${text(json)}\n`;
    }
    this.#sink.write(lines);
  }

  /** The record, or what stands for it where its own line would be too long: it counts as rejected, the walk goes on. */
  #fitting(record: AnswerRecord): AnswerRecord {
    this.#ordinal++;
    // Three bytes a character at most: most records need no counting.
    if (record.json.length * 3 + MAX_PREFIX < MAX_LINE_BYTES) return record;
    const bytes = lineBytes(this.#id, Buffer.byteLength(record.json));
    if (bytes <= MAX_LINE_BYTES) return record;
    if (!record.rejected) this.#replaced++;
    return { rejected: true, json: overWide(this.#ordinal, bytes) };
  }

  #finish(end: AnswerEnd): void {
    if (this.#streaming) {
      this.#end(end);
      return;
    }
    for (const record of this.#held) {
      if (record.json === '') throw new RpcError('error', 'empty answer record');
      if (this.#source.checked !== true && this.#head.itemType !== 'doc') parseRecord(record.json);
    }
    if (this.#head.itemType === 'doc') {
      this.#document(this.#held[0]?.json, end);
      return;
    }
    const rows = this.#held.filter((record) => !record.rejected).map((record) => record.json);
    const rejected = this.#held.filter((record) => record.rejected).map((record) => record.json);
    const failed = this.#held.length === 0 && end.message !== '';
    const document = failed ? undefined : foldRecords(this.#head, rows, rejected);
    this.#document(document, end);
  }

  #document(document: string | undefined, end: AnswerEnd): void {
    const row = document === undefined ? '' : recordLine(this.#id, 'row', document);
    if (row === undefined) {
      const size = lineBytes(this.#id, Buffer.byteLength(document ?? ''));
      const head: AnswerHead = { itemType: 'map', envelope: this.#head.envelope, columns: [] };
      const bad = recordLine(this.#id, 'bad', overWide(1, size)) ?? '';
      this.#sink.write(
        headLine(this.#id, head) + bad + endLine(this.#id, { kind: 'end', produced: 0, rejected: 1, message: '' }),
      );
      return;
    }
    this.#sink.write(headLine(this.#id, DOC_HEAD) + row + endLine(this.#id, this.#counted(end)));
  }

  #end(end: AnswerEnd): void {
    this.#sink.write(endLine(this.#id, this.#counted(end)));
  }

  /** What was replaced was not produced. */
  #counted(end: AnswerEnd): AnswerEnd {
    if (this.#replaced === 0) return end;
    return { ...end, produced: Math.max(0, end.produced - this.#replaced), rejected: end.rejected + this.#replaced };
  }
}
