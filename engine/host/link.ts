/**
 * A running plugin as the engine holds it: callbacks, commands, events. Two kinds fulfil it: lines over a mux (TLS, or the
 * startup pipe), and the in-process bridge (`direct-bridge.ts`, `bridge-port.ts`). Whoever holds a link knows neither.
 */
import type { StructuredBatch } from '../../sdk/plugin/structured.ts';
import { AnswerReader } from '../../sdk/rpc/answer.ts';
import { RpcError } from '../../sdk/rpc/errors.ts';
import type { Mux } from '../../sdk/rpc/mux.ts';
import type { CallbackMethod, ExecuteCommandInput, Methods, RecordMethod } from '../../yang/generated/methods.ts';
import type { Transport } from '../bus/delivery.ts';
import type { Clock } from '../core/clock.ts';
import { linkSignals } from '../core/linked-signal.ts';

/** Callbacks answered by one value. Events and commands have ways of their own. */
export type CallbackCall = Exclude<
  CallbackMethod,
  RecordMethod | 'ze-plugin-callback:deliver-event' | 'ze-plugin-callback:deliver-batch'
>;

export interface PluginLink {
  /** Rejects with RpcError; `closed` at once when the plugin goes. */
  call<M extends CallbackCall>(method: M, input: Methods[M]['input'], signal?: AbortSignal): Promise<Methods[M]['output']>;
  /** Faults surface in the reader; leaving or cancelling it stops the producer where the link can tell it. */
  execute(input: ExecuteCommandInput, signal?: AbortSignal): AnswerReader;
  /** How the bus hands events over. */
  readonly transport: Transport;
  /** Takes structured batches; absent = wants text. */
  readonly structured: ((batch: StructuredBatch) => void) | undefined;
  /** Settles when the link is over: `undefined` after an orderly end, else why. */
  readonly closed: Promise<RpcError | undefined>;
  /** Idempotent. */
  close(): Promise<void>;
}

export class MuxLink implements PluginLink {
  readonly structured = undefined;
  readonly transport: Transport;
  readonly closed: Promise<RpcError | undefined>;
  readonly #mux: Mux;

  constructor(mux: Mux) {
    this.#mux = mux;
    this.closed = mux.closed;
    this.transport = {
      form: 'bytes',
      send: async (params) => {
        await mux.callRaw('ze-plugin-callback:deliver-batch', params);
      },
    };
  }

  call<M extends CallbackCall>(method: M, input: Methods[M]['input'], signal?: AbortSignal): Promise<Methods[M]['output']> {
    return this.#mux.call(method, input, signal);
  }

  execute(input: ExecuteCommandInput, signal?: AbortSignal): AnswerReader {
    return this.#mux.dispatchAnswer('ze-plugin-callback:execute-command', input, signal);
  }

  close(): Promise<void> {
    return this.#mux.close();
  }
}

/** Runs `work` with a signal that aborts with a TimeoutError after `ms` on the clock, or with `outer`. */
export async function withDeadline<T>(
  clock: Clock,
  ms: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer = clock.after(ms, () => late.abort(new DOMException('deadline exceeded', 'TimeoutError')));
  const linked = outer === undefined ? undefined : linkSignals(late.signal, outer);
  try {
    return await work(linked?.signal ?? late.signal);
  } finally {
    timer.cancel();
    linked?.release();
  }
}

/** Settles as `work` does, or rejects when the link's end comes first. */
export function unlessClosed<T>(closing: AbortSignal, work: Promise<T>): Promise<T> {
  if (closing.aborted) {
    work.catch(() => undefined);
    return Promise.reject(closedError());
  }
  return new Promise((resolve, reject) => {
    const give = (): void => reject(closedError());
    closing.addEventListener('abort', give, { once: true });
    work.then(resolve, reject).finally(() => closing.removeEventListener('abort', give));
  });
}

export function closedError(): RpcError {
  return new RpcError('closed', 'plugin connection closed');
}

/** An answer that never began. */
export function refusedAnswer(error: RpcError): AnswerReader {
  return new AnswerReader(Promise.reject(error));
}
