/**
 * Both directions of a bridge that crosses threads: calls, answers and cancellations as structured-cloned messages.
 *
 * An answer is pulled: the reader grants chunks, the producer sends no more than it was granted, and a cancel reaches the
 * producer's `AnswerSource`. Chunks of many rows go through shared memory of the answer's own. When the port closes everyone who waits is told (`closed`).
 */
import type { MessagePort } from 'node:worker_threads';
import {
  type AnswerChunk,
  type AnswerHead,
  AnswerReader,
  type AnswerRecord,
  type AnswerSource,
  type PackedRows,
} from '../../../sdk/rpc/answer.ts';
import { messageOf, RpcError } from '../../../sdk/rpc/errors.ts';
import { abortError } from '../../../sdk/rpc/calls.ts';
import { PACKED_FROM, RowSlots } from './row-slots.ts';

/** Chunks that may be on their way to the reader. */
const CREDIT = 2;

type Message =
  | { readonly t: 'call'; readonly id: number; readonly method: string; readonly input: unknown }
  | { readonly t: 'open'; readonly id: number; readonly method: string; readonly input: unknown; readonly credit: number }
  | { readonly t: 'cancel'; readonly id: number }
  | { readonly t: 'grant'; readonly id: number }
  | { readonly t: 'result'; readonly id: number; readonly output: unknown }
  | { readonly t: 'fault'; readonly id: number; readonly code: string; readonly message: string }
  | { readonly t: 'head'; readonly id: number; readonly head: AnswerHead; readonly immediate: boolean }
  | { readonly t: 'chunk'; readonly id: number; readonly chunk: AnswerChunk }
  /** Memory for packed rows: a slot for each chunk that may be under way. */
  | { readonly t: 'slots'; readonly id: number; readonly memory: SharedArrayBuffer }
  | { readonly t: 'packed'; readonly id: number; readonly slot: number; readonly count: number }
  | { readonly t: 'note'; readonly name: string; readonly value: unknown };

export interface PortHandlers {
  call(method: string, input: unknown, signal: AbortSignal): Promise<unknown>;
  open(method: string, input: unknown, signal: AbortSignal): Promise<AnswerSource>;
  /** One-way words: `attach`, `close`, `failed`. */
  note(name: string, value: unknown): void;
}

interface Waiter {
  resolve(value: unknown): void;
  reject(error: RpcError): void;
}

/** A producer on this side that answers the other. */
interface Producer {
  credit: number;
  wake: (() => void) | undefined;
  readonly stop: AbortController;
  source: AnswerSource | undefined;
}

export class PortPeer {
  /** Settles when the port is closed by either side. */
  readonly closed: Promise<void>;
  readonly #port: MessagePort;
  readonly #handlers: PortHandlers;
  readonly #calls = new Map<number, Waiter>();
  readonly #answers = new Map<number, PortAnswer>();
  readonly #serving = new Map<number, AbortController>();
  readonly #producers = new Map<number, Producer>();
  #settleClosed: () => void = () => undefined;
  #lastId = 0;
  #over = false;

  constructor(port: MessagePort, handlers: PortHandlers) {
    this.#port = port;
    this.#handlers = handlers;
    this.closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    port.on('message', (message: Message) => this.#onMessage(message));
    port.on('close', () => this.#end());
  }

  call(method: string, input: unknown, signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#over) {
        reject(new RpcError('closed', 'connection closed'));
        return;
      }
      if (signal?.aborted === true) {
        reject(abortError(signal));
        return;
      }
      const id = ++this.#lastId;
      const give = (): void => {
        this.#calls.delete(id);
        this.#send({ t: 'cancel', id });
        reject(abortError(signal));
      };
      this.#calls.set(id, {
        resolve: (value) => {
          signal?.removeEventListener('abort', give);
          resolve(value);
        },
        reject: (error) => {
          signal?.removeEventListener('abort', give);
          reject(error);
        },
      });
      signal?.addEventListener('abort', give, { once: true });
      try {
        this.#send({ t: 'call', id, method, input });
      } catch (error) {
        this.#calls.get(id)?.reject(new RpcError('error', messageOf(error)));
        this.#calls.delete(id);
      }
    });
  }

  open(method: string, input: unknown, signal?: AbortSignal): AnswerReader {
    if (this.#over) return new AnswerReader(Promise.reject(new RpcError('closed', 'connection closed')));
    if (signal?.aborted === true) return new AnswerReader(Promise.reject(abortError(signal)));
    const id = ++this.#lastId;
    const answer = new PortAnswer(
      () => this.#send({ t: 'grant', id }),
      (cancelled) => {
        this.#answers.delete(id);
        if (cancelled) this.#send({ t: 'cancel', id });
      },
    );
    this.#answers.set(id, answer);
    try {
      this.#send({ t: 'open', id, method, input, credit: CREDIT });
    } catch (error) {
      answer.finish(new RpcError('error', messageOf(error)), false);
    }
    const reader = new AnswerReader(answer.opened);
    if (signal !== undefined) {
      const give = (): void => answer.finish(abortError(signal), true);
      signal.addEventListener('abort', give, { once: true });
      const done = (): void => signal.removeEventListener('abort', give);
      reader.verdict.then(done, done);
    }
    return reader;
  }

  note(name: string, value?: unknown): void {
    this.#send({ t: 'note', name, value });
  }

  /** Closes the port; both sides fail what waits. Idempotent. */
  close(): void {
    this.#port.close();
    this.#end();
  }

  #send(message: Message): void {
    if (!this.#over) this.#port.postMessage(message);
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    const cause = new RpcError('closed', 'connection closed');
    for (const waiter of this.#calls.values()) waiter.reject(cause);
    this.#calls.clear();
    for (const answer of [...this.#answers.values()]) answer.truncate(cause);
    for (const controller of this.#serving.values()) controller.abort(cause);
    for (const producer of this.#producers.values()) stopProducer(producer);
    this.#settleClosed();
  }

  #onMessage(message: Message): void {
    if (this.#over) return;
    switch (message.t) {
      case 'call':
        void this.#serve(message.id, message.method, message.input);
        return;
      case 'open':
        void this.#produce(message.id, message.method, message.input, message.credit);
        return;
      case 'cancel': {
        this.#serving.get(message.id)?.abort();
        const producer = this.#producers.get(message.id);
        if (producer !== undefined) stopProducer(producer);
        return;
      }
      case 'grant': {
        const producer = this.#producers.get(message.id);
        if (producer === undefined) return;
        producer.credit++;
        producer.wake?.();
        return;
      }
      case 'result':
        this.#calls.get(message.id)?.resolve(message.output);
        this.#calls.delete(message.id);
        return;
      case 'fault': {
        const error = new RpcError(message.code, message.message);
        this.#calls.get(message.id)?.reject(error);
        this.#calls.delete(message.id);
        this.#answers.get(message.id)?.finish(error, false);
        return;
      }
      case 'head':
        this.#answers.get(message.id)?.open(message.head, message.immediate);
        return;
      case 'chunk':
        this.#answers.get(message.id)?.take(message.chunk);
        return;
      case 'slots':
        this.#answers.get(message.id)?.share(message.memory);
        return;
      case 'packed':
        this.#answers.get(message.id)?.takePacked(message.slot, message.count);
        return;
      case 'note':
        this.#handlers.note(message.name, message.value);
    }
  }

  async #serve(id: number, method: string, input: unknown): Promise<void> {
    const controller = new AbortController();
    this.#serving.set(id, controller);
    try {
      const output = await this.#handlers.call(method, input, controller.signal);
      this.#send({ t: 'result', id, output });
    } catch (error) {
      this.#fault(id, error);
    } finally {
      this.#serving.delete(id);
    }
  }

  async #produce(id: number, method: string, input: unknown, credit: number): Promise<void> {
    const producer: Producer = { credit, wake: undefined, stop: new AbortController(), source: undefined };
    this.#producers.set(id, producer);
    try {
      const source = await this.#handlers.open(method, input, producer.stop.signal);
      producer.source = source;
      if (isStopped(producer)) {
        source.cancel();
        return;
      }
      this.#send({ t: 'head', id, head: source.head, immediate: source.immediate === true });
      const packs = source.head.itemType === 'map' && source.immediate !== true;
      let slots: RowSlots | undefined;
      for (let slot = 0; ; ) {
        await granted(producer);
        if (isStopped(producer)) return;
        producer.credit--;
        const chunk = await source.next();
        if (packs && chunk.kind === 'records' && chunk.records.length >= PACKED_FROM) {
          if (slots === undefined) {
            slots = new RowSlots(RowSlots.memory(CREDIT));
            this.#send({ t: 'slots', id, memory: slots.memory });
          }
          if (slots.pack(slot, chunk.records)) {
            // A grant means that the oldest chunk was read, so the slots fall free in the order they were filled.
            this.#send({ t: 'packed', id, slot, count: chunk.records.length });
            slot = (slot + 1) % CREDIT;
            continue;
          }
        }
        this.#send({ t: 'chunk', id, chunk });
        if (chunk.kind === 'end') return;
      }
    } catch (error) {
      this.#fault(id, error);
    } finally {
      this.#producers.delete(id);
    }
  }

  #fault(id: number, error: unknown): void {
    this.#send({ t: 'fault', id, code: error instanceof RpcError ? error.code : 'error', message: messageOf(error) });
  }
}

function isStopped(producer: Producer): boolean {
  return producer.stop.signal.aborted;
}

/** Waits for the reader's next grant, or for its cancel. */
async function granted(producer: Producer): Promise<void> {
  while (producer.credit === 0 && !isStopped(producer)) {
    await new Promise<void>((resolve) => {
      producer.wake = resolve;
    });
  }
}

function stopProducer(producer: Producer): void {
  producer.stop.abort();
  producer.source?.cancel();
  producer.wake?.();
}

/** The reading half of an answer from the other thread. */
class PortAnswer implements AnswerSource {
  readonly opened: Promise<AnswerSource>;
  immediate = false;
  readonly checked = true;
  readonly #grant: () => void;
  readonly #forget: (cancelled: boolean) => void;
  readonly #queue: (AnswerChunk | PackedRows)[] = [];
  #slots: RowSlots | undefined;
  /** The packed chunk given out last: its slot is granted when it is read no more. */
  #lent = false;
  #head: AnswerHead | undefined;
  #over: RpcError | undefined;
  #done = false;
  #produced = 0;
  #rejected = 0;
  #wake: (() => void) | undefined;
  #resolve: (source: AnswerSource) => void = () => undefined;
  #reject: (error: RpcError) => void = () => undefined;

  constructor(grant: () => void, forget: (cancelled: boolean) => void) {
    this.#grant = grant;
    this.#forget = forget;
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

  open(head: AnswerHead, immediate: boolean): void {
    this.#head = head;
    this.immediate = immediate;
    this.#resolve(this);
  }

  take(chunk: AnswerChunk): void {
    if (this.#done) return;
    this.#queue.push(chunk);
    if (chunk.kind === 'end') this.#forgetOnce(false);
    else for (const record of chunk.records) this.#count(record.rejected);
    this.#wakeUp();
  }

  share(memory: SharedArrayBuffer): void {
    this.#slots = new RowSlots(memory);
  }

  takePacked(slot: number, count: number): void {
    const rows = this.#slots?.rows(slot, count);
    if (this.#done || rows === undefined) return;
    this.#produced += count;
    this.#queue.push(rows);
    this.#wakeUp();
  }

  finish(error: RpcError, cancelled: boolean): void {
    if (this.#done) return;
    this.#over = error;
    this.#reject(error);
    this.#forgetOnce(cancelled);
    this.#wakeUp();
  }

  /** The port closed: an open answer ends as truncated, one that has not begun fails. */
  truncate(cause: RpcError): void {
    if (this.#head === undefined) {
      this.finish(cause, false);
      return;
    }
    this.take({ kind: 'end', produced: this.#produced, rejected: this.#rejected, message: cause.message, truncated: true });
  }

  async next(): Promise<AnswerChunk> {
    const chunk = await this.nextPacked();
    if (chunk.kind !== 'packed') return chunk;
    return { kind: 'records', records: recordsOf(chunk) };
  }

  async nextPacked(): Promise<AnswerChunk | PackedRows> {
    if (this.#lent) this.#grant();
    this.#lent = false;
    for (;;) {
      const chunk = this.#queue.shift();
      if (chunk !== undefined) {
        if (chunk.kind === 'packed') this.#lent = true;
        else if (chunk.kind === 'records') this.#grant();
        return chunk;
      }
      if (this.#over !== undefined) throw this.#over;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  cancel(): void {
    this.#queue.length = 0;
    this.finish(new RpcError('aborted', 'answer cancelled by the reader'), true);
  }

  #count(rejected: boolean): void {
    if (rejected) this.#rejected++;
    else this.#produced++;
  }

  #forgetOnce(cancelled: boolean): void {
    if (this.#done) return;
    this.#done = true;
    this.#forget(cancelled);
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

function recordsOf({ bytes, ends, count }: PackedRows): readonly AnswerRecord[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const records: AnswerRecord[] = [];
  for (let i = 0, start = 0; i < count; i++) {
    records.push({ rejected: false, json: text.toString('utf8', start, ends[i]) });
    start = ends[i]!;
  }
  return records;
}
