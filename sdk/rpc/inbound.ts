/**
 * Requests on their way to a handler. Whatever arrives is taken off the link at once; what cannot run yet waits here, 16
 * requests as long as it takes and others for a second, then they are answered `busy:`. Nothing is dropped in silence.
 */
import type { AnswerSource } from './answer.ts';
import { RpcError } from './errors.ts';
import { stringifyJson } from './json.ts';

export interface InboundLimits {
  /** Requests that may wait without a deadline. Default 16. */
  readonly waitingLimit: number;
  /** How long one more may wait. Default 1000. */
  readonly busyAfterMs: number;
  /** Requests served at a time. Default 65 536. */
  readonly runningLimit: number;
  /** Bytes of params of the requests served at a time. Default 64 MiB. */
  readonly runningBytesLimit: number;
}

/** Past these, one more request is answered `busy:` without the second's grace. */
const HARD_WAITING = 4096;
const HARD_WAITING_BYTES = 32 * 1024 * 1024;

export interface Replies {
  ok(id: string, json: string | undefined): void;
  error(id: string, error: unknown): void;
  nay(id: string, message: string): void;
  answer(id: string, source: AnswerSource): Promise<void>;
}

/** A request of the peer's. It is answered once; a second answer is ignored. */
export class InboundRequest {
  readonly id: string;
  readonly method: string;
  readonly payload: Buffer;
  readonly #replies: Replies;
  #answered = false;

  constructor(id: string, method: string, payload: Buffer, replies: Replies) {
    this.id = id;
    this.method = method;
    this.payload = payload;
    this.#replies = replies;
  }

  get answered(): boolean {
    return this.#answered;
  }

  reply(output?: unknown): void {
    this.replyText(stringifyJson(output));
  }

  replyText(json: string | undefined): void {
    if (this.#claim()) this.#replies.ok(this.id, json);
  }

  fail(error: unknown): void {
    if (!this.#claim()) return;
    if (error instanceof RpcError && error.code === 'unknown-command') this.#replies.nay(this.id, error.message);
    else this.#replies.error(this.id, error);
  }

  answer(source: AnswerSource): Promise<void> {
    return this.#claim() ? this.#replies.answer(this.id, source) : Promise.resolve();
  }

  #claim(): boolean {
    const first = !this.#answered;
    this.#answered = true;
    return first;
  }
}

type Served = (request: InboundRequest) => Promise<void> | undefined;

interface Waiting {
  readonly request: InboundRequest;
  /** ms, monotonic */
  readonly since: number;
}

export class Inbound {
  readonly #limits: InboundLimits;
  readonly #signal: AbortSignal;
  readonly #handlers = new Map<string, { readonly handler: Served; readonly readsAtOnce: boolean }>();
  #held: boolean;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #running = 0;
  #runningBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #takers: { resolve: (request: InboundRequest) => void; reject: (error: RpcError) => void }[] = [];
  #cause: RpcError | undefined;

  constructor(held: boolean, limits: Partial<InboundLimits>, signal: AbortSignal) {
    this.#held = held;
    this.#signal = signal;
    this.#limits = {
      waitingLimit: limits.waitingLimit ?? 16,
      busyAfterMs: limits.busyAfterMs ?? 1000,
      runningLimit: limits.runningLimit ?? 65_536,
      runningBytesLimit: limits.runningBytesLimit ?? 64 * 1024 * 1024,
    };
  }

  get size(): number {
    return this.#waiting.length + this.#running;
  }

  /** `readsAtOnce`: the handler has read the payload when it returns, whatever it still waits for. */
  serve(method: string, handler: Served, readsAtOnce = false): void {
    this.#handlers.set(method, { handler, readsAtOnce });
  }

  /** True when nobody reads the request's payload any more. */
  add(request: InboundRequest): boolean {
    if (this.#cause !== undefined) return true;
    if (!this.#held && this.#waiting.length === 0 && this.#hasRoom()) return this.#run(request);
    this.#wait(request);
    return false;
  }

  #wait(request: InboundRequest): void {
    const taker = this.#takers.shift();
    if (taker !== undefined) {
      taker.resolve(request);
      return;
    }
    if (this.#waiting.length >= HARD_WAITING || this.#waitingBytes + request.payload.length > HARD_WAITING_BYTES) {
      this.#busy(request);
      return;
    }
    this.#waiting.push({ request, since: performance.now() });
    this.#waitingBytes += request.payload.length;
    if (this.#waiting.length > this.#limits.waitingLimit) this.#arm(this.#limits.busyAfterMs);
  }

  /** Room for a request that is served without an object of its own: true counts it as running, until `finished`. */
  admit(bytes: number): boolean {
    if (this.#held || this.#waiting.length > 0 || this.#cause !== undefined || !this.#hasRoom()) return false;
    this.#running++;
    this.#runningBytes += bytes;
    return true;
  }

  /** An admitted request was answered. */
  finished(bytes: number): void {
    this.#running--;
    this.#runningBytes -= bytes;
    if (this.#waiting.length > 0 && !this.#signal.aborted) this.#drain();
  }

  next(signal?: AbortSignal): Promise<InboundRequest> {
    return new Promise((resolve, reject) => {
      if (this.#cause !== undefined || signal?.aborted === true) {
        reject(this.#cause ?? new RpcError('aborted', 'wait aborted', { cause: signal?.reason }));
        return;
      }
      const first = this.#shift();
      if (first !== undefined) {
        resolve(first);
        return;
      }
      const give = (): void => {
        const index = this.#takers.indexOf(taker);
        if (index >= 0) this.#takers.splice(index, 1);
        reject(new RpcError('aborted', 'wait aborted', { cause: signal?.reason }));
      };
      const taker = {
        resolve: (request: InboundRequest): void => {
          signal?.removeEventListener('abort', give);
          resolve(request);
        },
        reject: (error: RpcError): void => {
          signal?.removeEventListener('abort', give);
          reject(error);
        },
      };
      this.#takers.push(taker);
      signal?.addEventListener('abort', give, { once: true });
    });
  }

  start(): void {
    this.#held = false;
    this.#drain();
  }

  close(cause: RpcError): void {
    this.#cause = cause;
    this.#waiting = [];
    this.#waitingBytes = 0;
    clearTimeout(this.#timer);
    for (const taker of this.#takers.splice(0)) taker.reject(cause);
  }

  #hasRoom(): boolean {
    return this.#running < this.#limits.runningLimit && this.#runningBytes < this.#limits.runningBytesLimit;
  }

  #drain(): void {
    while (!this.#held && this.#hasRoom()) {
      const request = this.#shift();
      if (request === undefined) return;
      this.#run(request);
    }
  }

  #shift(): InboundRequest | undefined {
    const first = this.#waiting.shift()?.request;
    if (first !== undefined) this.#waitingBytes -= first.payload.length;
    return first;
  }

  #run(request: InboundRequest): boolean {
    const served = this.#handlers.get(request.method);
    if (served === undefined) {
      request.fail(new RpcError('unknown-method', `unknown method: ${request.method}`));
      return true;
    }
    let result: Promise<void> | undefined;
    try {
      result = served.handler(request);
    } catch (error) {
      request.fail(error);
      return served.readsAtOnce;
    }
    if (result === undefined) return served.readsAtOnce;
    this.#running++;
    this.#runningBytes += request.payload.length;
    result
      .catch((error: unknown) => request.fail(error))
      .finally(() => {
        this.#running--;
        this.#runningBytes -= request.payload.length;
        if (this.#waiting.length > 0 && !this.#signal.aborted) this.#drain();
      });
    return served.readsAtOnce;
  }

  #arm(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#refuseLate();
    }, ms).unref();
  }

  /** Answers `busy:` to what stands behind the first `waitingLimit` and has had its second. */
  #refuseLate(): void {
    const limit = this.#limits.waitingLimit;
    const now = performance.now();
    const keep: Waiting[] = [];
    let nextDue = Infinity;
    this.#waiting.forEach((entry, i) => {
      const left = entry.since + this.#limits.busyAfterMs - now;
      if (i >= limit && left <= 0) {
        this.#waitingBytes -= entry.request.payload.length;
        this.#busy(entry.request);
        return;
      }
      keep.push(entry);
      if (i >= limit) nextDue = Math.min(nextDue, left);
    });
    this.#waiting = keep;
    if (nextDue < Infinity) this.#arm(Math.max(1, nextDue));
  }

  #busy(request: InboundRequest): void {
    request.fail(new RpcError('busy', `busy: ${this.#waiting.length} requests are waiting`));
  }
}
