/**
 * What `setup(engine)` of `definePlugin` gets: the everyday calls of a plugin, the same inside the engine and outside.
 *
 * In setup one only registers; the engine answers from `onStarted` on. What is registered here is declared in stage 1 by itself.
 * Whatever is not here is on `engine.plugin`.
 */
import type {
  CommandDecl,
  ConfigApplyInput,
  ConfigCommittedInput,
  ConfigResult,
  ConfigRollbackInput,
  ConfigureInput,
  ConfigVerifyInput,
  DeclareRegistrationInput,
  DoctorCheckDecl,
  EmitEventInput,
  EnricherDecl,
  FilterDecl,
  PipeDecl,
  ValidateOpenInput,
  ValidateOpenOutput,
} from '../../yang/generated/methods.ts';
import type { AnswerReader, Collapsed } from '../rpc/answer.ts';
import { messageOf } from '../rpc/errors.ts';
import type { RouteCounts, RouteDone } from './engine-calls.ts';
import {
  EventRouter,
  type GapHandler,
  type StateHandler,
  type Subscription,
  type TextHandler,
  type UpdatesHandler,
} from './event-router.ts';
import type { PluginLog } from './log.ts';
import { ObservedPeers } from './observed.ts';
import type { Plugin } from './plugin.ts';
import {
  type CommandHandler,
  type CompletionHandler,
  type DoctorHandler,
  type EnricherHandler,
  type FilterHandler,
  Registrations,
} from './registrations.ts';
import type { RoutePath } from './route-path.ts';
import { StateStore } from './state-store.ts';
import type { PeerDirectory } from './structured.ts';

type Awaitable<T> = T | Promise<T>;

export class Engine {
  /** Everything else: callbacks and calls of the protocol. */
  readonly plugin: Plugin;
  /** Goes to the engine's log inside, to stderr as JSON lines outside. Constant messages, values as fields. */
  readonly log: PluginLog;
  /** The route path, for a plugin placed in the reactor; else `undefined`. */
  readonly routes: RoutePath | undefined;
  /** Peers by the small numbers of batches; outside the engine, the ones seen so far. */
  readonly peers: PeerDirectory;
  /** Bytes by key, kept over restarts. */
  readonly state: StateStore;
  readonly #inProcess: boolean;
  readonly #inReactor: boolean;
  readonly #directory = new CurrentPeers();
  readonly #observed = new ObservedPeers();
  readonly #router = new EventRouter();
  readonly #registrations = new Registrations();
  readonly #started: (() => Awaitable<void>)[] = [];
  #wantsValidateOpen = false;

  constructor(
    plugin: Plugin,
    options: {
      readonly log: PluginLog;
      readonly routes: RoutePath | undefined;
      readonly inProcess: boolean;
      readonly inReactor?: boolean | undefined;
    },
  ) {
    this.plugin = plugin;
    this.log = options.log;
    this.routes = options.routes;
    this.state = new StateStore(plugin);
    this.#inProcess = options.inProcess;
    this.#inReactor = options.inReactor === true || options.routes !== undefined;
    this.#directory.current = options.routes?.peers ?? this.#observed;
    this.peers = this.#directory;
  }

  /** Aborted when the plugin ends. Hand it to timers, child processes and requests of your own. */
  get signal(): AbortSignal {
    return this.plugin.signal;
  }

  /**
   * Received UPDATEs (with `sent`, sent ones too), many at a time, as bytes. Nothing of the batch may be kept. In the engine they arrive
   * without JSON, unless a handler of `onEvent` wants messages or states as text; outside they are `raw` events (`full` beside such a
   * handler). Throws in a plugin placed in the reactor.
   */
  onUpdates(handler: UpdatesHandler, options: { readonly sent?: boolean | undefined } = {}): void {
    this.#refuseInReactor('onUpdates', 'engine.routes.onUpdate');
    this.#router.onUpdates(handler, options.sent === true);
  }

  /**
   * Sessions up and down; `peer` indexes `engine.peers`. Outside the engine a promise is awaited before the next event; inside it is not,
   * and its rejection is a line in the log. Throws in a plugin placed in the reactor.
   */
  onState(handler: StateHandler): void {
    this.#refuseInReactor('onState', 'engine.routes.onPeerUp and onPeerDown');
    this.#router.onState(handler);
  }

  /**
   * Event texts (JSON) as the protocol delivers them, one after another; each handler gets what its own subscription names. Subscribed
   * from the start, those of other namespaces than `bgp` when the plugin is up. A throw answers the batch with `error`: its rest is
   * dropped, and the daemon shows it in `show errors` and as the plugin's last error.
   */
  onEvent(subscription: Subscription, handler: TextHandler): void {
    this.#router.onText(subscription, handler);
  }

  /** Events were dropped because this plugin did not keep up. Without a handler it is a warning in the log. */
  onGap(handler: GapHandler): void {
    this.#router.onGap(handler);
  }

  /** A command of the plugin's. An (async) generator answers row by row; any other value is the one document. */
  command(name: string, handler: CommandHandler): void;
  command(name: string, declaration: Omit<CommandDecl, 'name'>, handler: CommandHandler): void;
  command(name: string, second: Omit<CommandDecl, 'name'> | CommandHandler, third?: CommandHandler): void {
    const handler = typeof second === 'function' ? second : third;
    if (handler === undefined) throw new TypeError(`command "${name}" needs a handler`);
    this.#registrations.command(typeof second === 'function' ? { name } : { ...second, name }, handler);
  }

  /** What Tab offers after the words of a command of this plugin's. The engine asks as the command `complete NAME`, and waits 500 ms. */
  completion(command: string, handler: CompletionHandler): void {
    this.#registrations.completion(command, handler);
  }

  /** A pipe alias on a command of this plugin's: `show | NAME` stands for the operators of `expansion`. */
  pipe(declaration: PipeDecl): void {
    this.#registrations.pipe(declaration);
  }

  /** A route filter, named `<plugin>:<name>` in the filter chains of the configuration. */
  filter(declaration: FilterDecl, handler: FilterHandler): void {
    this.#registrations.filter(declaration, handler);
  }

  /** A check of `zest doctor`. */
  doctorCheck(declaration: DoctorCheckDecl, handler: DoctorHandler): void {
    this.#registrations.doctorCheck(declaration, handler);
  }

  /** Adds members to the answer of a show command. */
  enricher(declaration: EnricherDecl, handler: EnricherHandler): void {
    this.#registrations.enricher(declaration, handler);
  }

  /** Stage 2: the sections of `roots`. The engine cannot be called from here. A throw refuses the configuration. */
  onConfigure(handler: (input: ConfigureInput) => Awaitable<void>): void {
    this.plugin.onConfigure(handler);
  }

  /** A candidate for the roots of this plugin that change. A throw, or a result with status `error`, refuses it. */
  onConfigVerify(handler: (input: ConfigVerifyInput, signal: AbortSignal) => Awaitable<ConfigResult | undefined>): void {
    this.plugin.onConfigVerify(handler);
  }

  /** The differences, to be applied. A throw, or a result with status `error`, rolls the transaction back. See `journal()`. */
  onConfigApply(handler: (input: ConfigApplyInput, signal: AbortSignal) => Awaitable<ConfigResult | undefined>): void {
    this.plugin.onConfigApply(handler);
  }

  /** Undo what was applied since the last commit. Not called when nothing was. A throw marks the plugin broken. */
  onConfigRollback(handler: (input: ConfigRollbackInput, signal: AbortSignal) => Awaitable<void>): void {
    this.plugin.onConfigRollback(handler);
  }

  /** What was applied stays. */
  onConfigCommitted(handler: (input: ConfigCommittedInput, signal: AbortSignal) => Awaitable<void>): void {
    this.plugin.onConfigCommitted(handler);
  }

  /** Accepts or refuses sessions by both OPENs; declares `wants-validate-open`. The engine waits five seconds. */
  onValidateOpen(handler: (input: ValidateOpenInput, signal: AbortSignal) => Awaitable<ValidateOpenOutput>): void {
    this.#wantsValidateOpen = true;
    this.plugin.onValidateOpen(handler);
  }

  /** The plugin is up; the engine answers. Events wait until every handler is done. Several run in order. */
  onStarted(handler: () => Awaitable<void>): void {
    this.#started.push(handler);
  }

  /** Every plugin's commands can be dispatched. */
  onAllPluginsReady(handler: () => Awaitable<void>): void {
    this.plugin.onAllPluginsReady(handler);
  }

  /** The engine says goodbye: `shutdown`, `restart`, …; it waits half a second. */
  onBye(handler: (reason: string) => Awaitable<void>): void {
    this.plugin.onBye(handler);
  }

  /** One route command for the peers selected; many routes go through `RouteSender`. */
  updateRoute(peerSelector: string, command: string, signal?: AbortSignal): Promise<RouteCounts> {
    return this.plugin.updateRoute(peerSelector, command, signal);
  }

  /** For `RouteSender`. */
  sendRoute(peerSelector: string, command: string, done: RouteDone): void {
    this.plugin.sendRoute(peerSelector, command, done);
  }

  /** For `RouteSender`. */
  sendPrefixes(peerSelector: string, head: string, prefixes: string, done: RouteDone): void {
    this.plugin.sendPrefixes(peerSelector, head, prefixes, done);
  }

  /** Runs a command line of any plugin's or the engine's; resolves to its answer as one value. */
  dispatchCommand(command: string, signal?: AbortSignal): Promise<Collapsed> {
    return this.plugin.dispatchCommand(command, signal);
  }

  /** The same row by row. */
  dispatchCommandAnswer(command: string, signal?: AbortSignal): AnswerReader {
    return this.plugin.dispatchCommandAnswer(command, signal);
  }

  /** An event of this plugin's own for whoever subscribed to it; resolves to how many processes get it. */
  emitEvent(input: EmitEventInput, signal?: AbortSignal): Promise<number> {
    return this.plugin.emitEvent(input, signal);
  }

  /** The declaration with everything that was registered. */
  completed(declaration: DeclareRegistrationInput): DeclareRegistrationInput {
    const complete = this.#registrations.complete(declaration);
    return this.#wantsValidateOpen ? { ...complete, 'wants-validate-open': true } : complete;
  }

  /** Puts what was registered onto the plugin; called once, after setup, with the completed declaration. */
  wire(declared: DeclareRegistrationInput): void {
    this.#registrations.wire(this.plugin, declared);
    const wiring = this.#router.wire({
      rows: this.#inProcess && !this.#inReactor,
      observed: this.#observed,
      seen: (peers) => {
        this.#directory.current = peers;
      },
      gapUnheard: (gap) => this.log.warn(gap, 'events were dropped: the plugin did not keep up'),
      failed: (error) => this.log.error({ fault: messageOf(error) }, 'a state handler failed'),
    });
    const others = wiring?.others ?? [];
    if (this.#started.length > 0 || others.length > 0) {
      this.plugin.onStarted(async () => {
        for (const other of others) await this.plugin.subscribeEvents({ ...other, envelope: true });
        for (const handler of this.#started) await handler();
      });
    }
    if (wiring === undefined) return;
    if (wiring.events.length > 0) this.plugin.setStartupSubscriptions(wiring.events, wiring.peers, wiring.format);
    if (wiring.structured !== undefined) this.plugin.onStructuredEvent(wiring.structured);
    this.plugin.onEvent(wiring.text);
  }

  #refuseInReactor(what: string, instead: string): void {
    if (!this.#inReactor) return;
    throw new Error(
      `${what} is for plugins in the main thread or outside; this one is placed in the reactor's thread: use ${instead}`,
    );
  }
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
