/**
 * The calls of one link that wait for their answer, by the number of their id, and the ids of what was given up, so that late answers are
 * no bad lines.
 */
import { CallRing } from './call-ring.ts';
import { RpcError } from './errors.ts';

/** Whoever waits for a call's one line. Exactly one of the two is called, once. */
export interface CallWaiter {
  /** The result lies in `bytes` from `from` to `to`, nothing when there is none. Valid as long as they are kept. */
  resolve(bytes: Buffer, from: number, to: number): void;
  reject(error: RpcError): void;
}

/** Ids of given-up calls that are remembered. */
const ABANDONED_LIMIT = 10_000;

export class Calls {
  /** By the number of the id: what we sent has no leading zero and stays below 2^53. */
  readonly #waiters = new CallRing<CallWaiter>();
  readonly #abandoned = new Set<string>();

  get size(): number {
    return this.#waiters.size;
  }

  add(id: number, waiter: CallWaiter): void {
    this.#waiters.add(id, waiter);
  }

  /** Whoever waits under this id; it does so no longer. */
  take(id: number): CallWaiter | undefined {
    return this.#waiters.take(id);
  }

  drop(id: number): void {
    this.#waiters.take(id);
  }

  /** Adds the waiter of a promise, which gives up when the signal aborts. */
  promised(
    id: number,
    signal: AbortSignal | undefined,
    resolve: (payload: Buffer) => void,
    reject: (error: RpcError) => void,
  ): CallWaiter {
    const waiter: CallWaiter = { resolve: (bytes, from, to) => resolve(bytes.subarray(from, to)), reject };
    if (signal !== undefined) {
      const give = (): void => {
        this.#waiters.take(id);
        this.abandon(String(id));
        reject(abortError(signal));
      };
      signal.addEventListener('abort', give, { once: true });
      waiter.resolve = (bytes, from, to) => {
        signal.removeEventListener('abort', give);
        resolve(bytes.subarray(from, to));
      };
      waiter.reject = (error) => {
        signal.removeEventListener('abort', give);
        reject(error);
      };
    }
    this.#waiters.add(id, waiter);
    return waiter;
  }

  /** Nobody wants the answer under this id any more. */
  abandon(id: string): void {
    this.#abandoned.add(id);
    if (this.#abandoned.size <= ABANDONED_LIMIT) return;
    for (const oldest of this.#abandoned) {
      this.#abandoned.delete(oldest);
      break;
    }
  }

  /** The answer that nobody wanted has come; false when there was none like that. */
  late(id: string): boolean {
    return this.#abandoned.delete(id);
  }

  /** The link is closed: everyone who waits is told. */
  close(cause: RpcError): void {
    for (const waiter of this.#waiters.clear()) waiter.reject(cause);
    this.#abandoned.clear();
  }
}

export function abortError(signal: AbortSignal | undefined): RpcError {
  const reason: unknown = signal?.reason;
  if (reason instanceof RpcError) return reason;
  const late = reason instanceof Error && reason.name === 'TimeoutError';
  return new RpcError(late ? 'deadline' : 'aborted', late ? 'deadline exceeded' : 'call aborted', { cause: reason });
}

/** The number of an id that may be ours; -1 for a text we never wrote. */
export function ownId(id: string): number {
  return id.length < 16 && !id.startsWith('0') ? Number(id) : -1;
}
