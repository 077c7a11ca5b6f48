/**
 * The bridge: what an in-process plugin and the engine share after stage 5 in place of the pipe. Nothing is serialised.
 *
 * Two engines offer it: the main thread (third-party in-process plugins: calls and callbacks are direct function calls) and
 * the reactor thread (built-in plugins of the route path: `routes` is present, and calls that concern the main thread cross
 * by message). The author never sees this file: `Plugin` and `definePlugin` use it.
 */
import type { CallbackMethod, EngineMethod, Methods } from '../../yang/generated/methods.ts';
import type { AnswerReader, AnswerSource } from '../rpc/answer.ts';
import type { RoutePath } from './route-path.ts';
import type { StructuredBatch } from './structured.ts';

/** Engine methods answered by records instead of one `ok`. */
export type DispatchMethod = 'ze-plugin-engine:dispatch-command' | 'ze-plugin-engine:dispatch-command-args';

/** What the SDK installs before it closes the pipe. */
export interface BridgeHandlers {
  /** Any callback but events and execute-command. Rejects with RpcError. */
  callback<M extends CallbackMethod>(method: M, input: Methods[M]['input'], signal: AbortSignal): Promise<Methods[M]['output']>;
  /** A command: rows are pulled by the engine; cancelling the signal stops the producer. */
  execute(input: Methods['ze-plugin-callback:execute-command']['input'], signal: AbortSignal): Promise<AnswerSource>;
  /** Event texts, in order; resolves when the handler is done with the batch. */
  events(texts: readonly string[]): Promise<void>;
  /** Structured events; synchronous, the batch is valid until it returns. Absent = wants text. */
  readonly structured: ((batch: StructuredBatch) => void) | undefined;
}

export interface Bridge {
  attach(handlers: BridgeHandlers): void;
  call<M extends EngineMethod>(method: M, input: Methods[M]['input'], signal?: AbortSignal): Promise<Methods[M]['output']>;
  dispatch<M extends DispatchMethod>(method: M, input: Methods[M]['input'], signal?: AbortSignal): AnswerReader;
  /** The plugin is done: the engine drops its handlers. */
  close(): void;
  /** The route path; only in the reactor thread. */
  readonly routes: RoutePath | undefined;
}
