/**
 * What `setup(engine)` of `definePlugin` gets: the everyday calls of a plugin, the same inside the engine and outside.
 *
 * In setup one only registers; the engine answers from `onStarted` on. Whatever is not here is on `engine.plugin`.
 */
import type { CommandDecl, ConfigureInput, ExecuteCommandInput } from '../../yang/generated/methods.ts';
import type { AnswerReader, Collapsed } from '../rpc/answer.ts';
import { RpcError } from '../rpc/errors.ts';
import { records } from '../rpc/records.ts';
import { KindRows } from './kind-rows.ts';
import type { PluginLog } from './log.ts';
import { ObservedEvent, ObservedPeers } from './observed.ts';
import type { Plugin } from './plugin.ts';
import type { RouteCounts, RouteDone } from './engine-calls.ts';
import type { RoutePath } from './route-path.ts';
import { type PeerDirectory, STRUCTURED_KIND, type StructuredBatch } from './structured.ts';

type Awaitable<T> = T | Promise<T>;

export type CommandHandler = (input: ExecuteCommandInput, signal: AbortSignal) => unknown;

export interface Subscription {
  /** `update`, `update direction received`, `state`, … */
  readonly events: readonly string[];
  readonly peers?: readonly string[] | undefined;
  /** Of the whole process. */
  readonly format?: string | undefined;
}

export class Engine {
  /** Everything else: callbacks and calls of the protocol. */
  readonly plugin: Plugin;
  readonly log: PluginLog;
  /** The route path, for a plugin placed in the reactor; else `undefined`. */
  readonly routes: RoutePath | undefined;
  /** Peers by the small numbers of batches; outside the engine, the ones seen so far. */
  readonly peers: PeerDirectory;
  readonly #commands = new Map<string, { readonly declaration: CommandDecl; readonly handler: CommandHandler }>();
  readonly #inProcess: boolean;
  readonly #directory = new CurrentPeers();
  readonly #observed = new ObservedPeers();
  readonly #updateHandlers: ((batch: StructuredBatch) => void)[] = [];
  readonly #stateHandlers: ((peer: number, up: boolean, reason: string) => void)[] = [];
  readonly #eventHandlers: ((event: string) => Awaitable<void>)[] = [];
  readonly #events = new Set<string>();
  readonly #selectors = new Set<string>();
  #format = '';

  constructor(
    plugin: Plugin,
    options: { readonly log: PluginLog; readonly routes: RoutePath | undefined; readonly inProcess: boolean },
  ) {
    this.plugin = plugin;
    this.log = options.log;
    this.routes = options.routes;
    this.#inProcess = options.inProcess;
    this.#directory.current = options.routes?.peers ?? this.#observed;
    this.peers = this.#directory;
  }

  /** Aborted when the plugin ends. */
  get signal(): AbortSignal {
    return this.plugin.signal;
  }

  /**
   * Received UPDATEs (with `sent`, sent ones too), many at a time, as bytes. Nothing of the batch may be kept. In the engine
   * they arrive without JSON; outside they are `raw` events, and `format` `full` must be asked for by who also wants text.
   */
  onUpdates(handler: (batch: StructuredBatch) => void, options: { readonly sent?: boolean | undefined } = {}): void {
    this.#updateHandlers.push(handler);
    this.#events.add(options.sent === true ? 'update' : 'update direction received');
    if (!this.#inProcess) {
      this.#events.add('negotiated');
      if (this.#format === '') this.#format = 'raw';
    }
  }

  /** Sessions up and down; `peer` indexes `engine.peers`. */
  onState(handler: (peer: number, up: boolean, reason: string) => void): void {
    this.#stateHandlers.push(handler);
    this.#events.add('state');
  }

  /**
   * Event texts (JSON) as the protocol delivers them, one after another. Subscribed from the start. Inside the engine, a plugin
   * with `onUpdates` or `onState` gets updates and states as rows only.
   */
  onEvent(subscription: Subscription, handler: (event: string) => Awaitable<void>): void {
    this.#eventHandlers.push(handler);
    for (const event of subscription.events) this.#events.add(event);
    for (const peer of subscription.peers ?? []) this.#selectors.add(peer);
    if (subscription.format !== undefined) this.#format = subscription.format;
  }

  /** A command of the plugin's. An (async) generator answers row by row; any other value is the one document. */
  command(name: string, handler: CommandHandler): void;
  command(name: string, declaration: Omit<CommandDecl, 'name'>, handler: CommandHandler): void;
  command(name: string, second: Omit<CommandDecl, 'name'> | CommandHandler, third?: CommandHandler): void {
    const handler = typeof second === 'function' ? second : third;
    if (handler === undefined) throw new TypeError(`command "${name}" needs a handler`);
    const declaration: CommandDecl = typeof second === 'function' ? { name } : { ...second, name };
    this.#commands.set(keyOf(name), { declaration, handler });
  }

  /** Stage 2: the engine cannot be called from here. */
  onConfigure(handler: (input: ConfigureInput) => Awaitable<void>): void {
    this.plugin.onConfigure(handler);
  }

  /** The plugin is up; the engine answers. */
  onStarted(handler: () => Awaitable<void>): void {
    this.plugin.onStarted(handler);
  }

  onAllPluginsReady(handler: () => Awaitable<void>): void {
    this.plugin.onAllPluginsReady(handler);
  }

  onBye(handler: (reason: string) => Awaitable<void>): void {
    this.plugin.onBye(handler);
  }

  updateRoute(peerSelector: string, command: string, signal?: AbortSignal): Promise<RouteCounts> {
    return this.plugin.updateRoute(peerSelector, command, signal);
  }

  /** For `RouteSender`. */
  sendRoute(peerSelector: string, command: string, done: RouteDone): void {
    this.plugin.sendRoute(peerSelector, command, done);
  }

  dispatchCommand(command: string, signal?: AbortSignal): Promise<Collapsed> {
    return this.plugin.dispatchCommand(command, signal);
  }

  dispatchCommandAnswer(command: string, signal?: AbortSignal): AnswerReader {
    return this.plugin.dispatchCommandAnswer(command, signal);
  }

  /** Commands registered so far. */
  get commands(): readonly CommandDecl[] {
    return [...this.#commands.values()].map((command) => command.declaration);
  }

  /** Puts what was registered onto the plugin; called once, after setup. */
  wire(): void {
    if (this.#commands.size > 0) this.plugin.onExecuteCommand((input, signal) => this.#execute(input, signal));
    if (this.#events.size > 0) this.plugin.setStartupSubscriptions([...this.#events], [...this.#selectors], this.#format);
    if (this.#inProcess && this.#updateHandlers.length + this.#stateHandlers.length > 0) {
      const updates = new KindRows(STRUCTURED_KIND.update);
      const states = new KindRows(STRUCTURED_KIND.state);
      this.plugin.onStructuredEvent((batch) => this.#structured(batch, updates, states));
      if (this.#eventHandlers.length > 0) this.plugin.onEvent((text) => this.#text(text));
      return;
    }
    if (this.#events.size === 0) return;
    const event = new ObservedEvent(this.#observed);
    const wantsRows = this.#updateHandlers.length + this.#stateHandlers.length > 0;
    this.plugin.onEvent(async (text) => {
      if (wantsRows && event.load(text)) {
        const isUpdate = event.kind() === STRUCTURED_KIND.update;
        this.#deliver(isUpdate ? event : undefined, isUpdate ? undefined : event);
      }
      await this.#text(text);
    });
  }

  #structured(batch: StructuredBatch, updates: KindRows, states: KindRows): void {
    if (this.routes === undefined) this.#directory.current = batch.peers;
    this.#deliver(updates.over(batch), states.over(batch));
  }

  #deliver(updates: StructuredBatch | undefined, states: StructuredBatch | undefined): void {
    if (updates !== undefined) for (const handler of this.#updateHandlers) handler(updates);
    if (states === undefined || this.#stateHandlers.length === 0) return;
    for (let row = 0; row < states.count; row++) {
      for (const handler of this.#stateHandlers) handler(states.peer(row), states.up(row), states.reason(row));
    }
  }

  async #text(text: string): Promise<void> {
    for (const handler of this.#eventHandlers) await handler(text);
  }

  #execute(input: ExecuteCommandInput, signal: AbortSignal): unknown {
    const command = this.#commands.get(keyOf(input.command));
    if (command === undefined) throw new RpcError('error', `no such command: ${input.command}`);
    const result = command.handler(input, signal);
    const columns = command.declaration.columns;
    if (command.declaration.shape !== 'tab' || columns === undefined) return result;
    return isRows(result) ? records(result, { columns }) : result;
  }
}

function isRows(value: unknown): value is Iterable<unknown> | AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);
}

function keyOf(command: string): string {
  return command.trim().replaceAll(/\s+/g, ' ').toLowerCase();
}

/** The directory of the moment, behind one object that an author may keep. */
class CurrentPeers implements PeerDirectory {
  current: PeerDirectory | undefined;

  get capacity(): number {
    return this.current?.capacity ?? 0;
  }

  name(peer: number): string {
    return this.current?.name(peer) ?? '';
  }

  address(peer: number): string {
    return this.current?.address(peer) ?? '';
  }

  remoteAs(peer: number): number {
    return this.current?.remoteAs(peer) ?? 0;
  }

  localAs(peer: number): number {
    return this.current?.localAs(peer) ?? 0;
  }

  group(peer: number): string {
    return this.current?.group(peer) ?? '';
  }
}
