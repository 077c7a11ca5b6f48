// Who takes part in a transaction, as the transaction sees them: plugins that are asked, and steps of the engine itself. The host and
// the composition fulfil these; tests simulate them.
import type {
  CallbackMethod,
  ConfigOperation,
  ConfigOperationDecl,
  Methods,
  ResourceRef,
} from '../../../yang/generated/methods.ts';

/** Every config callback of a running plugin. */
export type ConfigMethod = Extract<CallbackMethod, `ze-plugin-callback:config-${string}`>;

/** How a call has ended. `transient`: the plugin could not be asked or went away; `broken`: it failed to undo. */
export type AckCode = 'ok' | 'timeout' | 'transient' | 'error' | 'broken';

export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly code: 'timeout' | 'transient' | 'error'; readonly message: string };

/** A plugin that wants roots which change. */
export interface Participant {
  readonly name: string;
  /** Above everything it depends on. */
  readonly tier: number;
  /** `*`, a root, or a path below one. */
  readonly wants: readonly string[];
  readonly operations: readonly ConfigOperationDecl[];
  /** Seconds, 0 = trivial. */
  readonly verifySeconds: number;
  readonly applySeconds: number;
  /** Never rejects. `timeout` after `ms`; an aborted signal ends it as `transient`. */
  call<M extends ConfigMethod>(
    method: M,
    input: Methods[M]['input'],
    ms: number,
    signal: AbortSignal,
  ): Promise<Answer<Methods[M]['output']>>;
  /** Is it still the plugin that was asked first? One that was started anew knows nothing of the transaction. */
  alive(): boolean;
}

/** What the engine does itself. */
export interface EngineStep {
  /** Of the part of the engine: `bgp`, `plugin`, `environment`. */
  readonly owner: string;
  /** What is done, `peers-remove`. */
  readonly type: string;
  readonly verb: ConfigOperation['verb'];
  readonly produces: readonly ResourceRef[];
  readonly consumes: readonly ResourceRef[];
  /** Resolves to what undoes it. Rejects with the reason, and has left nothing then. */
  apply(): Promise<() => Promise<void>>;
}

/** Where the events of namespace `config` go. */
export type EventSink = (type: string, payload: Readonly<Record<string, unknown>>) => void;
