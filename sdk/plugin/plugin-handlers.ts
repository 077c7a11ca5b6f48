/** The registering half of `Plugin`: one `on…` a callback, before `run`. A second handler replaces the first. */
import type { Callbacks, Handlers } from './callbacks.ts';
import { EngineCalls } from './engine-calls.ts';

type Handler<K extends keyof Handlers> = NonNullable<Handlers[K]>;

export abstract class PluginHandlers extends EngineCalls {
  protected abstract readonly callbacks: Callbacks;

  #set<K extends keyof Handlers>(name: K, handler: Handler<K>): void {
    this.callbacks.handlers[name] = handler;
  }

  /** Event texts, one after another, in order (`deliver-event`, `deliver-batch`). A throw answers `error` and drops the rest of its batch. Without one: `ok`. */
  onEvent(handler: Handler<'event'>): void {
    this.#set('event', handler);
  }

  /** In-process only: events as rows over bytes. Nothing of the batch may be kept. Other events still come to `onEvent`. */
  onStructuredEvent(handler: Handler<'structuredEvent'>): void {
    this.#set('structuredEvent', handler);
  }

  /** A declared command: an (async) iterable answers row by row, `records(…)` or `failedAnswer(…)` as they are, any other value as one document; a throw answers `error`. Without one: `unknown method`. */
  onExecuteCommand(handler: Handler<'executeCommand'>): void {
    this.#set('executeCommand', handler);
  }

  /** `encode-nlri` of a family declared `encode` or `both`: words to hex. Without one: `unknown method`. */
  onEncodeNlri(handler: Handler<'encodeNlri'>): void {
    this.#set('encodeNlri', handler);
  }

  /** `decode-nlri` of a family declared `decode` or `both`: hex to the JSON value that events show. Without one: `unknown method`. */
  onDecodeNlri(handler: Handler<'decodeNlri'>): void {
    this.#set('decodeNlri', handler);
  }

  /** `decode-capability`: the value of a capability in hex to JSON. Without one: `unknown method`. */
  onDecodeCapability(handler: Handler<'decodeCapability'>): void {
    this.#set('decodeCapability', handler);
  }

  /** Stage 2: the sections of `wants-config`. The engine cannot be called from here. A throw refuses the configuration and ends `run`. */
  onConfigure(handler: Handler<'configure'>): void {
    this.#set('configure', handler);
  }

  /** Stage 4: every command of every plugin. The engine cannot be called from here. */
  onShareRegistry(handler: Handler<'shareRegistry'>): void {
    this.#set('shareRegistry', handler);
  }

  /** A candidate, whole, for each root that changes. A throw is answered as `{status: 'error'}`. Without one: `ok`. */
  onConfigVerify(handler: Handler<'configVerify'>): void {
    this.#set('configVerify', handler);
  }

  /** The differences, to be applied. A throw is answered as `{status: 'error'}`, and the transaction is rolled back. Without one: `ok`. */
  onConfigApply(handler: Handler<'configApply'>): void {
    this.#set('configApply', handler);
  }

  /** Undo. Called only when an apply was accepted since the last commit or rollback. A throw marks the plugin broken. */
  onConfigRollback(handler: Handler<'configRollback'>): void {
    this.#set('configRollback', handler);
  }

  /** What was applied stays. */
  onConfigCommitted(handler: Handler<'configCommitted'>): void {
    this.#set('configCommitted', handler);
  }

  /** Takes a change apart into operations; the root is declared with `decompose` in `config-operations`. Without one: `unknown method`. */
  onConfigOperationDecompose(handler: Handler<'configOperationDecompose'>): void {
    this.#set('configOperationDecompose', handler);
  }

  /** One operation, to be checked. A throw is a result with status `error`. Without one: `unknown method`. */
  onConfigOperationVerify(handler: Handler<'configOperationVerify'>): void {
    this.#set('configOperationVerify', handler);
  }

  /** One operation, to be applied; may name events to wait for (`readiness`). Without one: `unknown method`. */
  onConfigOperationApply(handler: Handler<'configOperationApply'>): void {
    this.#set('configOperationApply', handler);
  }

  /** Operations to be undone. Without one: `unknown method`. */
  onConfigOperationRollback(handler: Handler<'configOperationRollback'>): void {
    this.#set('configOperationRollback', handler);
  }

  /** The transaction is over: journals may go. Without one: `unknown method`. */
  onConfigOperationCommit(handler: Handler<'configOperationCommit'>): void {
    this.#set('configOperationCommit', handler);
  }

  /** `validate-open`: accepts or refuses a session. Registering one declares `wants-validate-open`. Without one: accepted. */
  onValidateOpen(handler: Handler<'validateOpen'>): void {
    this.#set('validateOpen', handler);
  }

  /** `filter-update` of a declared filter. A throw is what the filter's `on-error` says. Without one: `unknown method`. */
  onFilterUpdate(handler: Handler<'filterUpdate'>): void {
    this.#set('filterUpdate', handler);
  }

  /** A declared doctor check: what it found. Without one: nothing found. */
  onDoctorCheck(handler: Handler<'doctorCheck'>): void {
    this.#set('doctorCheck', handler);
  }

  /** A declared enricher: members for the answer, or nothing. Without one: nothing. */
  onEnrichShow(handler: Handler<'enrichShow'>): void {
    this.#set('enrichShow', handler);
  }

  /** After stage 5: the engine answers. Events wait until it is done; a throw ends `run` with it. */
  onStarted(handler: Handler<'started'>): void {
    this.#set('started', handler);
  }

  /** `post-startup`: every plugin's commands can be dispatched. */
  onAllPluginsReady(handler: Handler<'allPluginsReady'>): void {
    this.#set('allPluginsReady', handler);
  }

  /** The engine says goodbye: `shutdown`, `restart`, …. `run` resolves after it; a throw answers `error` and the plugin goes on. */
  onBye(handler: Handler<'bye'>): void {
    this.#set('bye', handler);
  }
}
