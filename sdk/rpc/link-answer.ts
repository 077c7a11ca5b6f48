/** The reading half of an answer that comes over a link: lines in, a bounded queue of records, chunks out. */
import type { AnswerChunk, AnswerEnd, AnswerHead, AnswerRecord, AnswerSource, RowSink } from './answer.ts';
import { type AnswerLine, parseAnswerTail } from './answer-lines.ts';
import { RpcError } from './errors.ts';
import type { AnswerWord } from './frame.ts';

/** What a record costs besides its text: a million short ones are more objects than characters. */
const RECORD_OVERHEAD = 64;

export interface LinkAnswerOwner {
  /** Bytes of records that may wait for the consumer. */
  readonly limitBytes: number;
  /** The queue is past its limit (true) or was emptied (false); `true` back = the link will hold its peer, go on queueing. */
  full(answer: LinkAnswer, full: boolean): boolean;
  /** The rows of this answer may be handed to `bytes` as they stand in a chunk. */
  direct(answer: LinkAnswer): void;
  /** The answer is over. `early` = before its last line came: more may follow and mean nothing. */
  forget(answer: LinkAnswer, early: boolean): void;
}

export class LinkAnswer implements AnswerSource {
  readonly id: string;
  /** Resolves to this when the head was read; rejects when the whole answer was an `error` or a `nay`. */
  readonly opened: Promise<AnswerSource>;
  readonly #owner: LinkAnswerOwner;
  readonly #rows: RowSink | undefined;
  #direct = false;
  #head: AnswerHead | undefined;
  #resolve: (source: AnswerSource) => void = () => undefined;
  #reject: (error: RpcError) => void = () => undefined;
  #queue: AnswerRecord[] = [];
  #bytes = 0;
  #full = false;
  #produced = 0;
  #rejected = 0;
  #over: AnswerEnd | RpcError | undefined;
  #wake: (() => void) | undefined;

  constructor(id: string, owner: LinkAnswerOwner, rows?: RowSink) {
    this.id = id;
    this.#rows = rows;
    this.#owner = owner;
    this.opened = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.opened.catch(() => undefined);
  }

  get head(): AnswerHead {
    if (this.#head === undefined) throw new RpcError('error', 'the answer has no head yet');
    return this.#head;
  }

  /** A row as bytes, where the consumer takes them so. */
  bytes(chunk: Buffer, from: number, to: number): void {
    this.#produced++;
    this.#rows?.row(chunk, from, to, false);
  }

  /** Takes one line. `false` = it was unreadable and ended the answer; the link counts it. */
  line(word: AnswerWord, tail: Buffer): boolean {
    const line = parseAnswerTail(word, tail);
    if (line === undefined || (line.kind === 'top') !== (this.#head === undefined && line.kind !== 'nay')) {
      this.fail(new RpcError('unreadable', `unreadable answer line: ${word}`), true);
      return false;
    }
    this.#take(line);
    return true;
  }

  /** The answer is over, for this reason: what is queued is given out first. */
  fail(error: RpcError, early = false): void {
    this.#finish(error, early);
  }

  /** The link died: an open answer ends as truncated. */
  truncate(cause: RpcError): void {
    const end = {
      kind: 'end',
      produced: this.#produced,
      rejected: this.#rejected,
      message: cause.message,
      truncated: true,
    } as const;
    this.#finish(this.#head === undefined ? cause : end, false);
  }

  /** The link was held for this answer as long as it can be. One that is here whole waits for its consumer without the link. */
  overdue(): void {
    if (!this.#full) return;
    if (this.#over === undefined) this.#abandon();
    else this.#release();
  }

  async next(): Promise<AnswerChunk> {
    while (this.#queue.length === 0) {
      if (this.#over instanceof RpcError) throw this.#over;
      if (this.#over !== undefined) return this.#over;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const records = this.#queue;
    this.#queue = [];
    this.#bytes = 0;
    this.#release();
    return { kind: 'records', records };
  }

  cancel(): void {
    this.#drop();
    this.#finish(new RpcError('aborted', 'answer cancelled by the reader'), true);
  }

  #take(line: AnswerLine): void {
    switch (line.kind) {
      case 'top':
        this.#head = line.head;
        this.#direct = this.#rows?.accepts(line.head) === true;
        if (this.#direct) this.#owner.direct(this);
        this.#resolve(this);
        return;
      case 'nay': {
        const code = line.code === '' ? 'unknown-command' : line.code;
        this.#finish(new RpcError(code, line.message === '' ? '(no message)' : line.message), false);
        return;
      }
      case 'end':
        this.#finish(line, false);
        return;
      case 'row':
      case 'bad':
        this.#record({ rejected: line.kind === 'bad', json: line.json });
    }
  }

  #record(record: AnswerRecord): void {
    if (record.rejected) this.#rejected++;
    else this.#produced++;
    if (this.#direct) {
      // A line that was cut by the end of a chunk, or one that was rejected.
      const bytes = Buffer.from(record.json);
      this.#rows?.row(bytes, 0, bytes.length, record.rejected);
      return;
    }
    this.#queue.push(record);
    this.#bytes += record.json.length + RECORD_OVERHEAD;
    if (this.#bytes > this.#owner.limitBytes && !this.#full) {
      this.#full = this.#owner.full(this, true);
      if (!this.#full) {
        this.#abandon();
        return;
      }
    }
    this.#wakeUp();
  }

  #abandon(): void {
    this.#drop();
    this.#finish(new RpcError('queue-full', 'answer queue full: consumer fell behind, answer abandoned'), true);
  }

  #drop(): void {
    this.#queue = [];
    this.#bytes = 0;
    this.#release();
  }

  #release(): void {
    if (!this.#full) return;
    this.#full = false;
    this.#owner.full(this, false);
  }

  #finish(over: AnswerEnd | RpcError, early: boolean): void {
    if (this.#over !== undefined) return;
    this.#over = over;
    if (over instanceof RpcError) this.#reject(over);
    this.#owner.forget(this, early);
    this.#wakeUp();
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
