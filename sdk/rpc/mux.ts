/**
 * One link, both directions at once: calls out, calls in, record answers either way.
 *
 * Each side counts its own ids from 1 and matches replies only against what it sent. The reader never waits for a handler:
 * requests that cannot run yet wait in a queue of 16, and what does not fit for a second is answered `busy:`. A line that
 * cannot be read is counted, a hundred and one in a row close the link, and closing fails everyone who waits.
 */
import type { Duplex } from 'node:stream';
import type { Methods, RecordMethod } from '../../yang/generated/methods.ts';
import { AnswerReader, type AnswerSource, type RowSink } from './answer.ts';
import { nayLine } from './answer-lines.ts';
import type { LineSink } from './answer-writer.ts';
import { Bulk, type BulkHandler } from './bulk.ts';
import { abortError, Calls, type CallWaiter, ownId } from './calls.ts';
import { decodeOutput, decodePayload } from './decode.ts';
import { errorFromPayload, errorPayload, messageOf, RpcError } from './errors.ts';
import { type InPlace, type Line, LineSplitter, MAX_LINE_BYTES, parseLine } from './frame.ts';
import { Inbound, InboundRequest } from './inbound.ts';
import { stringifyJson } from './json.ts';
import { Lagging } from './lagging.ts';
import { LinkAnswer } from './link-answer.ts';
import type { AnswerHandler, CallMethod, Handler, MuxOptions, RawHandler } from './link-types.ts';
import { Outbound } from './outbound.ts';
import { paramsOf, parsePayload } from './payload.ts';
import { WrittenAnswers } from './written-answers.ts';

/** Consecutive unreadable lines that are borne. */
export const BAD_LINE_LIMIT = 100;
/**
 * Tells the peer that nobody reads its answer any more: `{"id":"<id of the request>"}`. The protocol has no word for it, so this is
 * ours, below its methods: who does not know it answers `unknown method` and goes on writing, and nobody minds.
 */
export const CANCEL_ANSWER = 'zest-link:cancel-answer';
/** Digits of an id that is surely ours, and a number. */
const MAX_OWN_DIGITS = 15;
const HASH = 0x23;
const ZERO = 0x30;
const SPACE = 0x20;
const LETTER_O = 0x6f;
const LETTER_K = 0x6b;

export class Mux {
  /** Settles when the link is closed: `undefined` after EOF or our own close, else the reason. */
  readonly closed: Promise<RpcError | undefined>;
  readonly #stream: Duplex;
  readonly #splitter: LineSplitter;
  readonly #outbound: Outbound;
  readonly #inbound: Inbound;
  #trace: ((direction: 'in' | 'out', line: string) => void) | undefined;
  readonly #calls = new Calls();
  readonly #answers = new Map<string, LinkAnswer>();
  readonly #bulk: Bulk;
  readonly #written = new WrittenAnswers();
  readonly #controller = new AbortController();
  readonly #lagging: Lagging;
  readonly #answerOwner: ConstructorParameters<typeof LinkAnswer>[1];
  #settleClosed: (error: RpcError | undefined) => void = () => undefined;
  /** The answer whose rows the splitter hands over. */
  #directId = '';
  #lastId = 0;
  #badLines = 0;
  #cause: RpcError | undefined;

  constructor(stream: Duplex, options: MuxOptions = {}) {
    this.#stream = stream;
    this.#trace = options.trace;
    this.closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    this.#outbound = new Outbound(stream, {
      writeTimeoutMs: options.writeTimeoutMs ?? 30_000,
      limitBytes: options.outboundLimitBytes ?? 64 * 1024 * 1024,
      onFailure: (error) => this.#end(error),
    });
    this.#inbound = new Inbound(options.held === true, options, this.#controller.signal);
    this.#bulk = new Bulk(
      this.#inbound,
      (id, json) => this.#replied(id, json),
      (id, error) =>
        error instanceof RpcError && error.code === 'unknown-command'
          ? this.#replies.nay(String(id), error.message)
          : this.#replies.error(String(id), error),
    );
    this.#lagging = new Lagging((paused) => {
      if (paused) stream.pause();
      else if (this.#cause === undefined) stream.resume();
    });
    this.#answerOwner = {
      limitBytes: options.answerQueueBytes ?? 16 * 1024 * 1024,
      full: (answer, full) => options.whenAnswerFull === 'pause' && this.#lagging.note(answer, full, options.answerPauseMs),
      direct: (answer) => {
        const prefix = Buffer.from(`#${answer.id} row `);
        this.#splitter.rows = { prefix, take: (chunk, from, to) => answer.bytes(chunk, from, to) };
        this.#directId = answer.id;
      },
      forget: (answer, early) => this.#forget(answer, early),
    };
    const lent = options.lentChunks === true;
    const frequent: InPlace = (chunk, from, to) => this.#trace === undefined && this.#frequent(chunk, from, to);
    this.#splitter = new LineSplitter((line) => this.#onLine(line, lent), lent, lent ? undefined : frequent);
    stream.on('data', (chunk: Uint8Array) => this.#onData(chunk));
    stream.on('end', () => this.#onEnd());
    stream.on('error', (error) => this.#end(new RpcError('closed', `connection failed: ${messageOf(error)}`, { cause: error })));
    stream.on('close', () => this.#end(undefined));
  }

  /** Aborted when the link closes. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Bytes the peer has not taken yet. */
  get writableLength(): number {
    return this.#outbound.length;
  }

  /** Calls and answers under way, and requests being served: what a leak test counts. */
  get pending(): { readonly calls: number; readonly answers: number; readonly requests: number } {
    return { calls: this.#calls.size, answers: this.#answers.size, requests: this.#inbound.size };
  }

  /** Resolves when the peer has taken enough of what was written; rejects when the link closes. */
  drained(): Promise<void> {
    return this.#outbound.ready();
  }

  /** Lines are traced no more, and cost nothing for it. */
  untrace(): void {
    this.#trace = undefined;
  }

  /** Sends gathered lines now instead of at the end of the turn. */
  flush(): void {
    this.#outbound.flush();
  }

  /** Calls the peer. Rejects with RpcError: the peer's, `closed`, `aborted`, `deadline` (a TimeoutError signal), `too-large`. */
  async call<M extends CallMethod>(method: M, input: Methods[M]['input'], signal?: AbortSignal): Promise<Methods[M]['output']> {
    const payload = await this.callRaw(method, paramsOf(input), signal);
    return decodeOutput(method, parsePayload(payload));
  }

  /** The same with params as ready JSON text or bytes (no LF in them), and the result as bytes. */
  callRaw(method: string, params: string | Uint8Array, signal?: AbortSignal): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(abortError(signal));
        return;
      }
      // Known before anything is written: a pipe in memory may bring the answer while it is.
      const id = this.#lastId + 1;
      const waiter = this.#calls.promised(id, signal, resolve, reject);
      if (this.#request(method, params, (error) => waiter.reject(error)) === undefined) this.#calls.drop(id);
    });
  }

  /** `callRaw` for who has tens of thousands of calls under way: no promise, the waiter is the caller's own object. */
  callWaiter(method: string, params: string, waiter: CallWaiter): void {
    const id = this.#lastId + 1;
    this.#calls.add(id, waiter);
    if (this.#request(method, params, (error) => waiter.reject(error)) === undefined) this.#calls.drop(id);
  }

  /** The same for a line in parts, behind its id and without its LF: ASCII, together at most `MAX_PARTS`. */
  callParts(head: Buffer, text: string, tail: Buffer, waiter: CallWaiter): void {
    if (this.#cause !== undefined) {
      waiter.reject(this.#cause);
      return;
    }
    const id = ++this.#lastId;
    this.#calls.add(id, waiter);
    this.#trace?.('out', `#${id}${head.toString('latin1')}${text}${tail.toString('latin1')}`);
    // Writing may find the link's limit and end it: then the waiter is told like all others.
    this.#outbound.writeParts(id, head, text, tail);
  }

  /**
   * Calls a method that is answered by records. Faults surface in the reader. Aborting the signal cancels the answer. Rows that `rows`
   * accepts go there as they are read, past the reader and its queue; whoever takes them holds the stream back himself.
   */
  dispatchAnswer<M extends RecordMethod>(
    method: M,
    input: Methods[M]['input'],
    signal?: AbortSignal,
    rows?: RowSink,
  ): AnswerReader {
    let refused: RpcError | undefined;
    const id = signal?.aborted === true ? undefined : this.#request(method, paramsOf(input), (error) => (refused = error));
    if (id === undefined) return new AnswerReader(Promise.reject(refused ?? abortError(signal)));
    const answer = new LinkAnswer(id, this.#answerOwner, rows);
    this.#answers.set(id, answer);
    const reader = new AnswerReader(answer.opened);
    if (signal !== undefined) {
      const give = (): void => {
        answer.fail(abortError(signal), true);
      };
      signal.addEventListener('abort', give, { once: true });
      const done = (): void => signal.removeEventListener('abort', give);
      reader.verdict.then(done, done);
    }
    return reader;
  }

  /** Answers a method. A handler that throws answers `error`; a second handler for the same method replaces the first. */
  serve<M extends CallMethod>(method: M, handler: Handler<M>): void {
    const decoding: RawHandler = (payload, context) => {
      const result = handler(decodePayload(method, payload), context);
      return result instanceof Promise ? result.then(stringifyJson) : stringifyJson(result);
    };
    this.#serve(method, decoding, true);
  }

  /** The same with the params as bytes. They are the handler's for good; with `readsAtOnce` until it returns, and then used again. */
  serveRaw(method: string, handler: RawHandler, readsAtOnce = false): void {
    this.#serve(method, handler, readsAtOnce);
  }

  #serve(method: string, handler: RawHandler, readsAtOnce: boolean): void {
    const served = (request: InboundRequest): Promise<void> | undefined => {
      const result = handler(request.payload, { id: request.id, method, signal: this.signal });
      if (!(result instanceof Promise)) {
        request.replyText(result);
        return undefined;
      }
      return result.then((text) => request.replyText(text));
    };
    this.#inbound.serve(method, served, readsAtOnce);
  }

  /** Answers one method without an object for each request. */
  serveBulk(method: string, handler: BulkHandler): void {
    this.#bulk.serve(method, handler);
  }

  /** Answers a method by records. `RpcError('unknown-command', …)` from the handler answers `nay`. */
  serveAnswer<M extends RecordMethod>(method: M, handler: AnswerHandler<M>): void {
    this.#inbound.serve(method, (request) =>
      this.#written.prepare(
        request.id,
        () => handler(decodePayload(method, request.payload), { id: request.id, method, signal: this.signal }),
        (source) => request.answer(source),
      ),
    );
  }

  /** The next request, while held. Rejects when the link closes (code `closed`) or the signal aborts. */
  next(signal?: AbortSignal): Promise<InboundRequest> {
    return this.#inbound.next(signal);
  }

  /** Lets handlers run: first for what has waited, in order. */
  start(): void {
    this.#inbound.start();
  }

  /** Sends what is gathered, ends the link, fails everyone who waits. Resolves when the stream is closed (2 s at most). */
  async close(): Promise<void> {
    this.#outbound.flush();
    this.#end(undefined, true);
    if (this.#stream.closed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#stream.destroy(), 2000);
      this.#stream.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Ends the link at once, for a reason that `closed` tells. */
  destroy(error: RpcError): void {
    this.#end(error);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Writes a request line; `undefined` when it was refused, after `refuse` was called. */
  #request(method: string, params: string | Uint8Array, refuse: (error: RpcError) => void): string | undefined {
    if (this.#cause !== undefined) {
      refuse(this.#cause);
      return undefined;
    }
    const id = String(this.#lastId + 1);
    const head = params.length === 0 ? `#${id} ${method}` : `#${id} ${method} `;
    const width = typeof params === 'string' && params.length * 3 > MAX_LINE_BYTES ? Buffer.byteLength(params) : params.length;
    if (head.length + width > MAX_LINE_BYTES) {
      refuse(new RpcError('too-large', `message exceeds maximum size ${MAX_LINE_BYTES}`));
      return undefined;
    }
    if (typeof params === 'string' ? params.includes('\n') : params.includes(0x0a)) {
      refuse(new RpcError('error', 'params hold a line feed'));
      return undefined;
    }
    this.#lastId++;
    if (typeof params === 'string') this.#write(`${head}${params}\n`);
    else {
      this.#trace?.('out', head + Buffer.from(params.buffer, params.byteOffset, params.byteLength).toString('utf8'));
      this.#outbound.writeBytes(head, params);
    }
    // Writing may have found the link's limit and ended it.
    const cause = this.#endedBy();
    if (cause === undefined) return id;
    refuse(cause);
    return undefined;
  }

  #endedBy(): RpcError | undefined {
    return this.#cause;
  }

  #write(lines: string): void {
    if (this.#trace !== undefined) for (const line of lines.split('\n')) if (line !== '') this.#trace('out', line);
    this.#outbound.write(lines);
  }

  #onData(chunk: Uint8Array): void {
    try {
      this.#splitter.push(chunk);
    } catch (error) {
      this.#end(new RpcError('closed', `unreadable stream: ${messageOf(error)}`, { cause: error }));
    }
  }

  #onEnd(): void {
    try {
      this.#splitter.end();
      this.#end(undefined);
    } catch (error) {
      this.#end(new RpcError('closed', `unreadable stream: ${messageOf(error)}`, { cause: error }));
    }
  }

  #onLine(bytes: Buffer, lent: boolean): void {
    const line = lent ? parseLine(bytes) : undefined;
    // Answers are read at once; payloads may be kept.
    if (line !== undefined && line.kind !== 'answer') {
      this.#onLine(Buffer.from(bytes), false);
      return;
    }
    this.#trace?.('in', bytes.toString('utf8'));
    if (line === undefined && this.#frequent(bytes, 0, bytes.length)) return;
    if (this.#route(line ?? parseLine(bytes))) {
      this.#badLines = 0;
      return;
    }
    this.#badLines++;
    if (this.#badLines > BAD_LINE_LIMIT) {
      this.#end(
        new RpcError('closed', `${this.#badLines} unreadable lines in a row, the last one: ${bytes.toString('utf8', 0, 60)}`),
      );
    }
  }

  /** The lines that come by the hundred thousand, taken without a look at the rest of the grammar: `ok` to a call, bulk requests. */
  #frequent(bytes: Buffer, from: number, to: number): boolean {
    if (bytes[from] !== HASH || bytes[from + 1] === ZERO) return false;
    let at = from + 1;
    let id = 0;
    for (; at <= from + MAX_OWN_DIGITS; at++) {
      const digit = bytes[at]! - ZERO;
      if (!(digit >= 0 && digit <= 9)) break;
      id = id * 10 + digit;
    }
    if (at === from + 1 || bytes[at] !== SPACE) return false;
    if (bytes[at + 1] === LETTER_O && bytes[at + 2] === LETTER_K && (at + 3 === to || bytes[at + 3] === SPACE)) {
      const call = this.#calls.take(id);
      if (call === undefined) return false;
      call.resolve(bytes, Math.min(at + 4, to), to);
    } else if (!this.#bulk.take(bytes, id, at, to)) return false;
    this.#badLines = 0;
    return true;
  }

  /** A bulk request is answered: JSON without anything beyond ASCII. */
  #replied(id: number, json: string): void {
    if (this.#trace === undefined) this.#outbound.writeOk(id, json);
    else this.#replies.ok(String(id), json);
  }

  /** `false` counts as a bad line. */
  #route(line: Line): boolean {
    switch (line.kind) {
      case 'request':
        if (line.method === CANCEL_ANSWER) {
          this.#cancelled(line.id, line.payload);
          return true;
        }
        if (this.#inbound.add(new InboundRequest(line.id, line.method, line.payload, this.#replies))) this.#splitter.release();
        return true;
      case 'ok':
      case 'error':
        return this.#reply(line);
      case 'answer': {
        const answer = this.#answers.get(line.id);
        if (answer !== undefined) return answer.line(line.word, line.tail);
        const call = this.#calls.take(ownId(line.id));
        if (call === undefined) {
          if (line.word === 'end' || line.word === 'nay') this.#calls.late(line.id);
          return true;
        }
        call.reject(
          line.word === 'nay'
            ? errorFromPayload(line.tail)
            : new RpcError('unreadable', 'a record answer where one value was due'),
        );
        return line.word === 'nay';
      }
      case 'malformed':
        return false;
    }
  }

  #reply(line: { readonly kind: 'ok' | 'error'; readonly id: string; readonly payload: Buffer }): boolean {
    const call = this.#calls.take(ownId(line.id));
    if (call !== undefined) {
      if (line.kind === 'ok') call.resolve(line.payload, 0, line.payload.length);
      else call.reject(errorFromPayload(line.payload));
      return true;
    }
    const answer = this.#answers.get(line.id);
    if (answer === undefined) return this.#calls.late(line.id);
    if (line.kind === 'error') answer.fail(errorFromPayload(line.payload));
    else answer.fail(new RpcError('unreadable', 'one value where a record answer was due'));
    return line.kind === 'error';
  }

  /** How a request answers; shared by all of them. */
  readonly #replies = {
    ok: (id: string, json: string | undefined): void => {
      if (json === undefined || json === 'null') this.#write(`#${id} ok\n`);
      else if (json.length * 3 > MAX_LINE_BYTES && Buffer.byteLength(json) + id.length + 5 > MAX_LINE_BYTES) {
        this.#replies.error(id, new RpcError('too-large', `message exceeds maximum size ${MAX_LINE_BYTES}`));
      } else this.#write(`#${id} ok ${json}\n`);
    },
    error: (id: string, error: unknown): void => this.#write(`#${id} error ${errorPayload(error)}\n`),
    nay: (id: string, message: string): void => this.#write(nayLine(id, '', message)),
    answer: async (id: string, source: AnswerSource): Promise<void> => {
      if (this.#cause !== undefined) {
        source.cancel();
        return;
      }
      await this.#written.write(id, source, this.#lineSink());
    },
  };

  /** Blocks bypass the trace, so a link that is traced lends none. */
  #lineSink(): LineSink {
    const outbound = this.#outbound;
    const lines = { write: (text: string) => this.#write(text), ready: () => outbound.ready() };
    if (this.#trace !== undefined) return lines;
    return { ...lines, block: () => outbound.block(), send: (block, length) => outbound.sendBlock(block, length) };
  }

  #forget(answer: LinkAnswer, early: boolean): void {
    this.#answers.delete(answer.id);
    if (this.#directId === answer.id) this.#splitter.rows = undefined;
    if (!early) return;
    this.#calls.abandon(answer.id);
    // Its reply concerns nobody.
    const id = this.#cause === undefined ? this.#request(CANCEL_ANSWER, `{"id":"${answer.id}"}`, () => undefined) : undefined;
    if (id !== undefined) this.#calls.abandon(id);
  }

  /** The peer reads one of our answers no more. */
  #cancelled(id: string, payload: Buffer): void {
    const unwanted = /^\{"id":"(\d{1,20})"\}$/.exec(payload.toString('latin1', 0, 64))?.[1];
    if (unwanted === undefined) {
      this.#replies.error(id, new RpcError('error', 'invalid cancel-answer params: want {"id":"<digits>"}'));
      return;
    }
    this.#written.cancel(unwanted);
    this.#replies.ok(id, undefined);
  }

  #end(error: RpcError | undefined, graceful = false): void {
    if (this.#cause !== undefined) return;
    const cause = error ?? new RpcError('closed', 'connection closed');
    this.#cause = cause;
    this.#splitter.stop();
    this.#outbound.close(cause);
    if (graceful) {
      this.#stream.end();
      this.#stream.resume();
    } else this.#stream.destroy();
    this.#calls.close(cause);
    for (const answer of [...this.#answers.values()]) answer.truncate(cause);
    this.#answers.clear();
    this.#lagging.close();
    this.#inbound.close(cause);
    this.#controller.abort(cause);
    this.#written.close();
    this.#settleClosed(error);
  }
}
