/** The registering half of `Plugin`: one `on…` a callback, before `run`. A second handler replaces the first. */
import type { Callbacks, Handlers } from './callbacks.ts';
import { EngineCalls } from './engine-calls.ts';

type Handler<K extends keyof Handlers> = NonNullable<Handlers[K]>;

export abstract class PluginHandlers extends EngineCalls {
  protected abstract readonly callbacks: Callbacks;

  #set<K extends keyof Handlers>(name: K, handler: Handler<K>): void {
    this.callbacks.handlers[name] = handler;
  }

  onEvent(handler: Handler<'event'>): void {
    this.#set('event', handler);
  }

  onStructuredEvent(handler: Handler<'structuredEvent'>): void {
    this.#set('structuredEvent', handler);
  }

  onExecuteCommand(handler: Handler<'executeCommand'>): void {
    this.#set('executeCommand', handler);
  }

  onEncodeNlri(handler: Handler<'encodeNlri'>): void {
    this.#set('encodeNlri', handler);
  }

  onDecodeNlri(handler: Handler<'decodeNlri'>): void {
    this.#set('decodeNlri', handler);
  }

  onDecodeCapability(handler: Handler<'decodeCapability'>): void {
    this.#set('decodeCapability', handler);
  }

  onConfigure(handler: Handler<'configure'>): void {
    this.#set('configure', handler);
  }

  onShareRegistry(handler: Handler<'shareRegistry'>): void {
    this.#set('shareRegistry', handler);
  }

  onConfigVerify(handler: Handler<'configVerify'>): void {
    this.#set('configVerify', handler);
  }

  onConfigApply(handler: Handler<'configApply'>): void {
    this.#set('configApply', handler);
  }

  onConfigRollback(handler: Handler<'configRollback'>): void {
    this.#set('configRollback', handler);
  }

  onConfigCommitted(handler: Handler<'configCommitted'>): void {
    this.#set('configCommitted', handler);
  }

  onConfigOperationDecompose(handler: Handler<'configOperationDecompose'>): void {
    this.#set('configOperationDecompose', handler);
  }

  onConfigOperationVerify(handler: Handler<'configOperationVerify'>): void {
    this.#set('configOperationVerify', handler);
  }

  onConfigOperationApply(handler: Handler<'configOperationApply'>): void {
    this.#set('configOperationApply', handler);
  }

  onConfigOperationRollback(handler: Handler<'configOperationRollback'>): void {
    this.#set('configOperationRollback', handler);
  }

  onConfigOperationCommit(handler: Handler<'configOperationCommit'>): void {
    this.#set('configOperationCommit', handler);
  }

  /** Registering one declares `wants-validate-open`. */
  onValidateOpen(handler: Handler<'validateOpen'>): void {
    this.#set('validateOpen', handler);
  }

  onFilterUpdate(handler: Handler<'filterUpdate'>): void {
    this.#set('filterUpdate', handler);
  }

  onDoctorCheck(handler: Handler<'doctorCheck'>): void {
    this.#set('doctorCheck', handler);
  }

  onEnrichShow(handler: Handler<'enrichShow'>): void {
    this.#set('enrichShow', handler);
  }

  onStarted(handler: Handler<'started'>): void {
    this.#set('started', handler);
  }

  onAllPluginsReady(handler: Handler<'allPluginsReady'>): void {
    this.#set('allPluginsReady', handler);
  }

  onBye(handler: Handler<'bye'>): void {
    this.#set('bye', handler);
  }
}
