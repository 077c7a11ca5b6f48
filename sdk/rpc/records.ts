/** Producers of answers: from what a handler returns to an `AnswerSource` that is pulled and can be cancelled. */
import { type AnswerChunk, type AnswerEnd, type AnswerHead, type AnswerRecord, type AnswerSource, DOC_HEAD } from './answer.ts';
import { checkHead } from './answer-lines.ts';
import { messageOf, RpcError } from './errors.ts';
import { stringifyJson } from './json.ts';

/** Records a chunk holds at most. */
const CHUNK_RECORDS = 256;
/** Characters after which a chunk is closed. */
const CHUNK_CHARACTERS = 128 * 1024;

/** A value the command rejected; yield it between the rows. */
export class Rejected {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

export function rejected(value: unknown): Rejected {
  return new Rejected(value);
}

export interface RecordsOptions {
  /** Key the rows go under when the answer is folded into a document. Not `errors`. */
  readonly envelope?: string | undefined;
  /** Rows are arrays of these columns (`tab`); without it each row is a value of its own (`map`). */
  readonly columns?: readonly string[] | undefined;
  /** Send the head at once and each row as it comes, however few they are. */
  readonly immediate?: boolean | undefined;
  /** Called once when the consumer goes away before the end. */
  readonly onCancel?: (() => void) | undefined;
}

/** Rows from an iterable; yield `rejected(value)` for one that did not work out. A throw ends the answer with its message. */
export function records(rows: Iterable<unknown> | AsyncIterable<unknown>, options: RecordsOptions = {}): AnswerSource {
  const columns = options.columns ?? [];
  const head: AnswerHead = { itemType: columns.length > 0 ? 'tab' : 'map', envelope: options.envelope ?? '', columns };
  checkHead(head);
  return new IterableSource(rows, head, options.immediate === true, options.onCancel);
}

/** A built value as the one document of the answer. `undefined` = the command has nothing to say. */
export function documentAnswer(value: unknown): AnswerSource {
  const json = stringifyJson(value);
  return documentText(json);
}

/** The same from JSON text, byte for byte. */
export function documentText(json: string | undefined): AnswerSource {
  const list = json === undefined ? [] : [{ rejected: false, json }];
  return new ListSource(DOC_HEAD, list, { kind: 'end', produced: list.length, rejected: 0, message: '' });
}

/** A command that failed before its first row. */
export function failedAnswer(reason: string): AnswerSource {
  return new ListSource(DOC_HEAD, [], {
    kind: 'end',
    produced: 0,
    rejected: 0,
    message: reason === '' ? 'unknown error' : reason,
  });
}

/** What any handler result becomes: a source stays, (async) iterables answer row by row, everything else is a document. */
export function answerOf(value: unknown, options: RecordsOptions = {}): AnswerSource {
  if (isSource(value)) return value;
  if (typeof value === 'object' && value !== null) {
    if (Symbol.asyncIterator in value) return records(value as AsyncIterable<unknown>, options);
    if (Symbol.iterator in value) return records(value as Iterable<unknown>, options);
  }
  return documentAnswer(value);
}

function isSource(value: unknown): value is AnswerSource {
  return (
    typeof value === 'object' &&
    value !== null &&
    'head' in value &&
    'next' in value &&
    typeof value.next === 'function' &&
    'cancel' in value &&
    typeof value.cancel === 'function'
  );
}

class ListSource implements AnswerSource {
  readonly head: AnswerHead;
  readonly checked = false;
  #records: readonly AnswerRecord[] | undefined;
  readonly #end: AnswerEnd;

  constructor(head: AnswerHead, list: readonly AnswerRecord[], end: AnswerEnd) {
    this.head = head;
    this.#records = list.length > 0 ? list : undefined;
    this.#end = end;
  }

  next(): Promise<AnswerChunk> {
    const list = this.#records;
    this.#records = undefined;
    return Promise.resolve(list === undefined ? this.#end : { kind: 'records', records: list });
  }

  cancel(): void {
    this.#records = undefined;
  }
}

class IterableSource implements AnswerSource {
  readonly head: AnswerHead;
  readonly immediate: boolean;
  readonly checked = true;
  readonly #iterator: Iterator<unknown> | AsyncIterator<unknown>;
  readonly #asynchronous: boolean;
  readonly #onCancel: (() => void) | undefined;
  /** An async `next` that was begun but not ready when the last chunk was given out. */
  #begun: Promise<IteratorResult<unknown>> | undefined;
  /** Ends the wait of the `next` under way: the turn is over, or the consumer is gone. */
  #interrupt: () => void = () => undefined;
  #produced = 0;
  #rejected = 0;
  #over: AnswerEnd | undefined;

  constructor(
    rows: Iterable<unknown> | AsyncIterable<unknown>,
    head: AnswerHead,
    immediate: boolean,
    onCancel: (() => void) | undefined,
  ) {
    this.head = head;
    this.immediate = immediate;
    this.#onCancel = onCancel;
    this.#asynchronous = Symbol.asyncIterator in rows;
    this.#iterator = Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
  }

  async next(): Promise<AnswerChunk> {
    if (this.#over !== undefined) return this.#over;
    const list: AnswerRecord[] = [];
    let fault: RpcError | undefined;
    try {
      fault = this.#asynchronous ? await this.#gather(list) : this.#walk(list);
    } catch (error) {
      this.#finish(messageOf(error));
    }
    if (fault !== undefined) {
      this.cancel();
      throw fault;
    }
    return list.length > 0 ? { kind: 'records', records: list } : this.#end();
  }

  cancel(): void {
    if (this.#over !== undefined) return;
    this.#finish('cancelled by the reader');
    this.#interrupt();
    this.#onCancel?.();
    try {
      // A generator runs its `finally`; one that waits inside `next` does so when that settles.
      const closing = this.#iterator.return?.();
      if (closing instanceof Promise) closing.catch(() => undefined);
    } catch {
      // What a producer throws on its way out concerns nobody any more.
    }
  }

  #end(): AnswerEnd {
    return this.#over ?? this.#finish('');
  }

  #finish(message: string): AnswerEnd {
    this.#over = { kind: 'end', produced: this.#produced, rejected: this.#rejected, message };
    return this.#over;
  }

  #walk(list: AnswerRecord[]): RpcError | undefined {
    let characters = 0;
    while (list.length < CHUNK_RECORDS && characters < CHUNK_CHARACTERS) {
      const step = (this.#iterator as Iterator<unknown>).next();
      if (step.done === true) {
        this.#finish('');
        return undefined;
      }
      const record = this.#record(step.value);
      if (record instanceof RpcError) return record;
      characters += record.json.length;
      list.push(record);
    }
    return undefined;
  }

  /** Waits for one record, then takes what is ready within the same turn of the event loop. */
  async #gather(list: AnswerRecord[]): Promise<RpcError | undefined> {
    let characters = 0;
    const interrupt = new Promise<undefined>((resolve) => {
      this.#interrupt = () => resolve(undefined);
    });
    while (list.length < CHUNK_RECORDS && characters < CHUNK_CHARACTERS) {
      const pending = this.#begun ?? (this.#iterator as AsyncIterator<unknown>).next();
      this.#begun = pending;
      if (list.length === 1) setImmediate(this.#interrupt);
      const step = await Promise.race([pending, interrupt]);
      if (step === undefined) return undefined;
      this.#begun = undefined;
      if (this.#over !== undefined) return undefined;
      if (step.done === true) {
        this.#finish('');
        return undefined;
      }
      const record = this.#record(step.value);
      if (record instanceof RpcError) return record;
      characters += record.json.length;
      list.push(record);
    }
    return undefined;
  }

  #record(value: unknown): AnswerRecord | RpcError {
    const bad = value instanceof Rejected;
    const json = stringifyJson(bad ? value.value : value);
    if (json === undefined) return new RpcError('error', 'empty answer record');
    if (!bad && this.head.itemType === 'tab' && !(Array.isArray(value) && value.length === this.head.columns.length)) {
      const count = Array.isArray(value) ? value.length : 'no';
      return new RpcError('error', `answer row has ${count} elements, want ${this.head.columns.length}`);
    }
    if (bad) this.#rejected++;
    else this.#produced++;
    return { rejected: bad, json };
  }
}
