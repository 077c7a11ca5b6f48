/** The bridge of a plugin that runs in the main thread: calls and callbacks are function calls, nothing is copied. */
import { setMaxListeners } from 'node:events';
import type { Bridge, BridgeHandlers, DispatchMethod } from '../../../sdk/plugin/bridge.ts';
import type { StructuredBatch } from '../../../sdk/plugin/structured.ts';
import { AnswerReader } from '../../../sdk/rpc/answer.ts';
import { messageOf, RpcError } from '../../../sdk/rpc/errors.ts';
import { abortError } from '../../../sdk/rpc/calls.ts';
import type { EngineMethod, ExecuteCommandInput, Methods } from '../../../yang/generated/methods.ts';
import type { Transport } from '../../bus/delivery.ts';
import { linkSignals, type LinkedSignal } from '../../core/linked-signal.ts';
import type { BridgeCalls, BridgeEnd } from './bridge-end.ts';
import { type CallbackCall, closedError, type PluginLink, refusedAnswer, unlessClosed } from '../link.ts';

export class DirectBridge implements Bridge, BridgeEnd {
  readonly routes = undefined;
  readonly attached: Promise<PluginLink>;
  readonly #calls: BridgeCalls;
  readonly #closing = new AbortController();
  #attach: (link: PluginLink) => void = () => undefined;
  #link: DirectLink | undefined;

  constructor(calls: BridgeCalls) {
    this.#calls = calls;
    // Every call under way listens to it: many are no leak.
    setMaxListeners(0, this.#closing.signal);
    this.attached = new Promise((resolve, reject) => {
      this.#attach = resolve;
      this.#closing.signal.addEventListener('abort', () => reject(closedError()), { once: true });
    });
    this.attached.catch(() => undefined);
  }

  attach(handlers: BridgeHandlers): void {
    if (this.#closing.signal.aborted) throw closedError();
    if (this.#link !== undefined) throw new RpcError('error', 'the bridge has its handlers already');
    this.#link = new DirectLink(handlers, this.#closing, () => this.close());
    this.#attach(this.#link);
  }

  async call<M extends EngineMethod>(method: M, input: Methods[M]['input'], signal?: AbortSignal): Promise<Methods[M]['output']> {
    if (signal?.aborted === true) throw abortError(signal);
    const until = linkSignals(this.#closing.signal, signal);
    const asked = unlessClosed(this.#closing.signal, this.#calls.call(method, input, until.signal));
    return (await asked.finally(() => until.release())) as Methods[M]['output'];
  }

  dispatch<M extends DispatchMethod>(method: M, input: Methods[M]['input'], signal?: AbortSignal): AnswerReader {
    if (this.#closing.signal.aborted) return refusedAnswer(closedError());
    if (signal?.aborted === true) return refusedAnswer(abortError(signal));
    const until = linkSignals(this.#closing.signal, signal);
    return releasing(new AnswerReader(this.#calls.dispatch(method, input, until.signal)), until);
  }

  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(closedError());
  }
}

class DirectLink implements PluginLink {
  readonly closed: Promise<RpcError | undefined>;
  readonly transport: Transport;
  readonly structured: ((batch: StructuredBatch) => void) | undefined;
  readonly #handlers: BridgeHandlers;
  readonly #closing: AbortSignal;
  readonly #close: () => void;

  constructor(handlers: BridgeHandlers, closing: AbortController, close: () => void) {
    this.#handlers = handlers;
    this.#closing = closing.signal;
    this.#close = close;
    const structured = handlers.structured;
    this.structured = structured === undefined ? undefined : (batch) => structured(batch);
    this.closed = new Promise((resolve) => closing.signal.addEventListener('abort', () => resolve(undefined), { once: true }));
    this.transport = { form: 'texts', send: (texts) => unlessClosed(this.#closing, handlers.events(texts)) };
  }

  async call<M extends CallbackCall>(method: M, input: Methods[M]['input'], signal?: AbortSignal): Promise<Methods[M]['output']> {
    if (signal?.aborted === true) throw abortError(signal);
    const aborted = (): boolean => signal?.aborted === true;
    const until = linkSignals(this.#closing, signal);
    try {
      // A handler that ignores its signal does not keep its caller.
      return await unlessClosed(until.signal, this.#handlers.callback(method, input, until.signal));
    } catch (error) {
      throw signal !== undefined && aborted() ? abortError(signal) : asRpcError(error);
    } finally {
      until.release();
    }
  }

  execute(input: ExecuteCommandInput, signal?: AbortSignal): AnswerReader {
    if (this.#closing.aborted) return refusedAnswer(closedError());
    const linked = linkSignals(this.#closing, signal);
    const until = linked.signal;
    const source = unlessClosed(until, this.#handlers.execute(input, until)).catch((error: unknown) => {
      throw signal?.aborted === true ? abortError(signal) : asRpcError(error);
    });
    source.then(
      (opened) => until.addEventListener('abort', () => opened.cancel(), { once: true }),
      () => undefined,
    );
    return releasing(new AnswerReader(source), linked);
  }

  close(): Promise<void> {
    this.#close();
    return Promise.resolve();
  }
}

/** The reader, whose signal is let go when its answer is over. */
function releasing(reader: AnswerReader, linked: LinkedSignal): AnswerReader {
  const release = (): void => linked.release();
  reader.verdict.then(release, release);
  return reader;
}

function asRpcError(error: unknown): RpcError {
  return error instanceof RpcError ? error : new RpcError('error', messageOf(error), { cause: error });
}
