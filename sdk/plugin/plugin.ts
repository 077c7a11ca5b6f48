/**
 * A plugin's life: connect, five stages, serve until the engine says goodbye, the link ends, or the author stops it.
 *
 * An external plugin runs over TLS (`fromEnv`), one inside the engine over a pipe (`withConn`) that it may leave for the
 * bridge at stage 5. The author registers handlers before `run` and calls the engine from `onStarted` on.
 */
import { Duplex, type Readable, type Writable } from 'node:stream';
import type {
  CapabilityDecl,
  DeclareRegistrationInput,
  Methods,
  ReadyInput,
  SubscribeEventsInput,
} from '../../yang/generated/methods.ts';
import { AnswerReader } from '../rpc/answer.ts';
import { decodeOutput, decodePayload, rpcName } from '../rpc/decode.ts';
import { describeRpcError, RpcError } from '../rpc/errors.ts';
import type { InboundRequest } from '../rpc/inbound.ts';
import { parseShallow } from '../rpc/json.ts';
import type { EngineCallMethod } from '../rpc/link-types.ts';
import { Mux } from '../rpc/mux.ts';
import { MAX_PARTS } from '../rpc/outbound.ts';
import { connectBack, type Environment, type HubEnvironment, takeHubEnvironment } from '../rpc/tls.ts';
import type { Bridge, BridgeHandlers, DispatchMethod } from './bridge.ts';
import { Callbacks, type RuntimeCallback, RUNTIME_CALLBACKS } from './callbacks.ts';
import { eventTexts } from './event-batch.ts';
import { counts, type RouteCounts, type RouteDone } from './engine-calls.ts';
import { PluginHandlers } from './plugin-handlers.ts';

/** What a plugin declares in stage 1; every member is optional. */
export type Registration = DeclareRegistrationInput;

/** An external process that outlives its link by this much is ended: no engine is left to end it. */
const LINGER_MS = 5000;

export interface PluginOptions {
  /** In-process: what to go on with after stage 5 instead of the pipe. */
  readonly bridge?: Bridge | undefined;
  /** Called with each line of the link. */
  readonly trace?: ((direction: 'in' | 'out', line: string) => void) | undefined;
  /** External: keep the process alive after the link has ended. */
  readonly linger?: boolean | undefined;
}

type State = 'new' | 'starting' | 'running' | 'closed';

/** A plugin of the protocol: handlers by `on…`, then `run`, then calls. `definePlugin` is the shorter way to the same. */
export class Plugin extends PluginHandlers {
  /** What the engine calls it. */
  readonly name: string;
  /** Runs inside the engine. */
  readonly isInternal: boolean;
  protected readonly callbacks = new Callbacks();
  readonly #connect: () => Promise<Duplex>;
  readonly #options: PluginOptions;
  readonly #stop = new AbortController();
  #state: State = 'new';
  /** The startup callback that is running: the engine waits for it and serves nothing. */
  #inside: 'onConfigure' | 'onShareRegistry' | undefined;
  #mux: Mux | undefined;
  #bridge: Bridge | undefined;
  #claims: ReadonlySet<string> = new Set();
  #subscription: SubscribeEventsInput | undefined;
  #capabilities: readonly CapabilityDecl[] = [];
  readonly #lastRun: RunMemory = { head: '', selector: '', line: undefined, waiter: undefined };
  readonly #lastCounts: CountsMemory = { payload: Buffer.alloc(0), counts: counts({}) };

  private constructor(name: string, isInternal: boolean, connect: () => Promise<Duplex>, options: PluginOptions) {
    super();
    this.name = name;
    this.isInternal = isInternal;
    this.#connect = connect;
    this.#options = options;
  }

  /**
   * An external plugin from what the engine put into the environment; `name` is used when that names none. The token is
   * removed from the environment. Throws RpcError when something is missing.
   */
  static fromEnv(name: string, options: PluginOptions & { readonly environment?: Environment | undefined } = {}): Plugin {
    const hub: HubEnvironment = takeHubEnvironment(options.environment ?? process.env, name);
    return new Plugin(hub.name, false, () => connectBack(hub), options);
  }

  /** A plugin over a connection that exists. */
  static withConn(name: string, connection: Duplex, options: PluginOptions = {}): Plugin {
    return new Plugin(name, true, () => Promise.resolve(connection), options);
  }

  /** A plugin over two streams, such as the pipes of a child process: `readable` is what the engine says, `writable` what we say. */
  static withIo(name: string, readable: Readable, writable: Writable, options: PluginOptions = {}): Plugin {
    return Plugin.withConn(name, Duplex.from({ readable, writable }), options);
  }

  /** Aborted when the plugin ends. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Has another plugin claimed this role? From `onConfigure` on. */
  claimActive(token: string): boolean {
    return this.#claims.has(token);
  }

  /** Subscribes together with stage 5, before any peer can start. Once per namespace-less call; the last one wins. */
  setStartupSubscriptions(events: readonly string[], peers: readonly string[] = [], format = ''): void {
    this.setStartupSubscriptionsIn('', events, peers, format);
  }

  /** The same for events of another namespace than `bgp`. */
  setStartupSubscriptionsIn(namespace: string, events: readonly string[], peers: readonly string[] = [], format = ''): void {
    this.#subscription = {
      ...this.#subscription,
      events,
      ...(peers.length > 0 ? { peers } : {}),
      ...(format === '' ? {} : { format }),
      ...(namespace === '' ? {} : { namespace }),
    };
  }

  /** `json` or `text` events. Goes with the startup subscription. */
  setEncoding(encoding: 'json' | 'text'): void {
    this.#subscription = { ...this.#subscription, encoding };
  }

  /** Wraps each event as `{namespace, event, payload}`. Goes with the startup subscription. */
  setEnvelope(envelope: boolean): void {
    this.#subscription = { ...this.#subscription, envelope };
  }

  /** Capabilities for OPEN (stage 3). May be called as late as in `onConfigure`. */
  setCapabilities(capabilities: readonly CapabilityDecl[]): void {
    this.#capabilities = capabilities;
  }

  /**
   * Runs the plugin to its end: resolves after a goodbye, EOF, `close()`, the signal, or SIGINT/SIGTERM (external), rejects
   * with `stage <n> (<rpc>): <cause>` when the start fails. Once.
   */
  async run(registration: Registration, signal?: AbortSignal): Promise<void> {
    if (this.#state !== 'new') throw new Error('a plugin runs once');
    this.#state = 'starting';
    const stop = (): void => this.#stop.abort(new RpcError('closed', 'plugin is stopping'));
    if (signal?.aborted === true) stop();
    signal?.addEventListener('abort', stop, { once: true });
    if (!this.isInternal) for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, stop);
    try {
      await this.#live(registration);
    } finally {
      await this.close();
      signal?.removeEventListener('abort', stop);
      if (!this.isInternal) {
        for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, stop);
        if (this.#options.linger !== true) setTimeout(() => process.exit(), LINGER_MS).unref();
      }
    }
  }

  /** Ends the plugin; `run` resolves. Idempotent. */
  async close(): Promise<void> {
    this.#state = 'closed';
    this.#stop.abort(new RpcError('closed', 'plugin is closed'));
    const [mux, bridge] = [this.#mux, this.#bridge];
    this.#mux = undefined;
    this.#bridge = undefined;
    bridge?.close();
    await mux?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  protected async call<M extends EngineCallMethod>(
    method: M,
    input: Methods[M]['input'],
    signal?: AbortSignal,
  ): Promise<Methods[M]['output']> {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    if (this.#bridge !== undefined) return this.#bridge.call(method, input, signal);
    return this.#link().call(method, input, signal);
  }

  sendRoute(peerSelector: string, command: string, done: RouteDone): void {
    const mux = this.#mux;
    if (this.#refusal() === undefined && this.#bridge === undefined && mux !== undefined) {
      // Quoted by hand where nothing needs an escape: this runs for every route command.
      mux.callWaiter(UPDATE_ROUTE, paramsOf(peerSelector, command), new RouteWaiter(done, this.#lastCounts));
      return;
    }
    this.updateRoute(peerSelector, command).then(
      (result) => done.accepted(result),
      (error: unknown) => done.refused(error),
    );
  }

  sendPrefixes(peerSelector: string, head: string, prefixes: string, done: RouteDone): void {
    const mux = this.#mux;
    if (this.#refusal() !== undefined || this.#bridge !== undefined || mux === undefined) {
      this.sendRoute(peerSelector, head + prefixes, done);
      return;
    }
    const last = this.#lastRun;
    if (head !== last.head || peerSelector !== last.selector) {
      last.head = head;
      last.selector = peerSelector;
      const plain = PLAIN.test(peerSelector) && PLAIN.test(head);
      last.line = plain
        ? Buffer.from(` ${UPDATE_ROUTE} {"peer-selector":"${peerSelector}","command":"${head}`, 'latin1')
        : undefined;
    }
    if (last.waiter?.done !== done) last.waiter = new RouteWaiter(done, this.#lastCounts);
    const { line, waiter } = last;
    if (line !== undefined && line.length + prefixes.length < MAX_PLAIN) mux.callParts(line, prefixes, COMMAND_END, waiter);
    else mux.callWaiter(UPDATE_ROUTE, paramsOf(peerSelector, head + prefixes), waiter);
  }

  protected dispatch<M extends DispatchMethod>(method: M, input: Methods[M]['input'], signal?: AbortSignal): AnswerReader {
    const refusal = this.#refusal();
    if (refusal !== undefined) return new AnswerReader(Promise.reject(refusal));
    if (this.#bridge !== undefined) return this.#bridge.dispatch(method, input, signal);
    return this.#link().dispatchAnswer(method, input, signal);
  }

  /** Why the engine cannot be called now. */
  #refusal(): RpcError | undefined {
    if (this.#inside !== undefined) {
      return new RpcError(
        'error',
        `the engine cannot be called from ${this.#inside}: it waits for that handler and serves nothing; call it from onStarted`,
      );
    }
    if (this.#state === 'closed') return new RpcError('closed', 'plugin is closed');
    return this.#state === 'running'
      ? undefined
      : new RpcError('error', 'plugin is not running yet: call the engine from onStarted');
  }

  #link(): Mux {
    if (this.#mux === undefined) throw new RpcError('closed', 'plugin is closed');
    return this.#mux;
  }

  async #live(registration: Registration): Promise<void> {
    const stopped = new Promise<undefined>((resolve) => {
      if (this.#stop.signal.aborted) resolve(undefined);
      this.#stop.signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    const connecting = this.#connect();
    const connection = await Promise.race([connecting, stopped]);
    if (connection === undefined) {
      connecting.then(
        (late) => late.destroy(),
        () => undefined,
      );
      return;
    }
    const mux = new Mux(connection, {
      held: true,
      trace: this.#options.trace,
      // An answer that is read slowly holds the engine back; events wait behind it, so not for longer than they can.
      whenAnswerFull: 'pause',
      answerQueueBytes: 2 << 20,
      answerPauseMs: 2000,
    });
    this.#mux = mux;
    // Events wait until onStarted is through, even those that come right behind the last stage's ok.
    let openEvents = (): void => undefined;
    this.callbacks.holdEvents(
      new Promise((resolve) => {
        openEvents = resolve;
      }),
    );
    const started = await Promise.race([this.#start(mux, registration), stopped.then(() => false)]);
    if (!started) return;
    // The goodbye's own answer leaves first.
    const goodbye = this.callbacks.goodbye.then(() => new Promise<void>((resolve) => setImmediate(resolve)));
    const over = Promise.race([stopped, goodbye, this.#bridge === undefined ? mux.closed : stopped]);
    await Promise.race([Promise.resolve(this.callbacks.handlers.started?.()), over]);
    openEvents();
    await over;
  }

  /** The five stages. `false` = the engine went away or said goodbye before the end, which is no error. */
  async #start(mux: Mux, registration: Registration): Promise<boolean> {
    const declaration =
      this.callbacks.handlers.validateOpen === undefined ? registration : { ...registration, 'wants-validate-open': true };
    await stage(1, 'declare-registration', () => mux.call('ze-plugin-engine:declare-registration', declaration));
    if (!(await this.#serveStage(mux, 2, 'configure', 'onConfigure'))) return false;
    await stage(3, 'declare-capabilities', () =>
      mux.call('ze-plugin-engine:declare-capabilities', { capabilities: this.#capabilities }),
    );
    if (!(await this.#serveStage(mux, 4, 'share-registry', 'onShareRegistry'))) return false;
    const bridge = this.#options.bridge;
    const ready: ReadyInput = {
      ...(this.#subscription === undefined ? {} : { subscribe: this.#subscription }),
      ...(bridge === undefined ? {} : { transport: 'bridge' }),
    };
    try {
      await stage(5, 'ready', () => mux.call('ze-plugin-engine:ready', Object.keys(ready).length === 0 ? {} : ready));
    } catch (error) {
      // The engine may give a plugin up while it waits here; a link that ends orderly is a clean end.
      if (mux.signal.aborted && (await mux.closed) === undefined) return false;
      throw error;
    }
    this.#state = 'running';
    if (bridge === undefined) {
      this.#serve(mux);
      mux.start();
    } else {
      this.#bridge = bridge;
      bridge.attach(this.#bridgeHandlers());
      this.#mux = undefined;
      mux.close().catch(() => undefined);
    }
    return true;
  }

  /** Serves the one request that a stage consists of. `false` = goodbye instead. */
  async #serveStage(
    mux: Mux,
    number: number,
    name: 'configure' | 'share-registry',
    inside: 'onConfigure' | 'onShareRegistry',
  ): Promise<boolean> {
    const method = `ze-plugin-callback:${name}` as const;
    return stage(number, name, async () => {
      const request = await mux.next();
      if (request.method === 'ze-plugin-callback:bye') {
        await answer(request, () => this.callbacks.bye(decodePayload('ze-plugin-callback:bye', request.payload)));
        return false;
      }
      await answer(request, async () => {
        if (request.method !== method) throw new RpcError('error', `expected ${name}, got ${rpcName(request.method)}`);
        const input = decodePayload(method, request.payload);
        if ('claims' in input || name === 'configure') this.#claims = new Set('claims' in input ? input.claims : []);
        this.#inside = inside;
        try {
          await this.callbacks.call(method, input, this.#stop.signal);
        } finally {
          this.#inside = undefined;
        }
      });
      return true;
    });
  }

  #serve(mux: Mux): void {
    const callbacks = this.callbacks;
    for (const method of RUNTIME_CALLBACKS) serveCallback(mux, callbacks, method);
    mux.serve('ze-plugin-callback:deliver-event', async (input) => {
      await callbacks.events([input.event]);
      return undefined;
    });
    const batch = (payload: Buffer): Promise<undefined> => callbacks.events(eventTexts(payload)).then(() => undefined);
    mux.serveRaw('ze-plugin-callback:deliver-batch', batch, true);
    if (callbacks.handlers.executeCommand !== undefined) {
      mux.serveAnswer('ze-plugin-callback:execute-command', (input, context) => callbacks.execute(input, context.signal));
    }
  }

  #bridgeHandlers(): BridgeHandlers {
    const callbacks = this.callbacks;
    return {
      callback: (method, input, signal) => callbacks.call(method as RuntimeCallback, input as never, signal),
      execute: (input, signal) => callbacks.execute(input, signal),
      events: (texts) => callbacks.events(texts),
      structured: callbacks.handlers.structuredEvent,
    };
  }
}

function serveCallback(mux: Mux, callbacks: Callbacks, method: RuntimeCallback): void {
  mux.serve(method, (input, context) => callbacks.call(method, input, context.signal));
}

const UPDATE_ROUTE = 'ze-plugin-engine:update-route';
/** ASCII that JSON does not escape. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Characters of a command that is written from parts, and how it ends. */
const MAX_PLAIN = MAX_PARTS - 64;
const COMMAND_END = Buffer.from('"}', 'latin1');

function paramsOf(peerSelector: string, command: string): string {
  return `{"peer-selector":${quoted(peerSelector)},"command":${quoted(command)}}`;
}

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** The last result read: most route commands of a run are answered by the same bytes. */
interface CountsMemory {
  payload: Buffer;
  counts: RouteCounts;
}

/** The beginning of the route command before: many in a row have the same. */
interface RunMemory {
  head: string;
  selector: string;
  /** Of the line, behind its id and up to the prefixes; undefined when JSON would escape some of it. */
  line: Buffer | undefined;
  waiter: RouteWaiter | undefined;
}

/** Reads the result of a route command and tells its sender. */
class RouteWaiter {
  readonly done: RouteDone;
  readonly #last: CountsMemory;

  constructor(done: RouteDone, last: CountsMemory) {
    this.done = done;
    this.#last = last;
  }

  resolve(bytes: Buffer, from: number, to: number): void {
    const last = this.#last;
    if (holds(bytes, from, to, last.payload)) {
      this.done.accepted(last.counts);
      return;
    }
    const payload = bytes.subarray(from, to);
    try {
      last.counts = counts(
        decodeOutput('ze-plugin-engine:update-route', payload.length === 0 ? {} : parseShallow(payload.toString('utf8'))),
      );
    } catch (error) {
      this.done.refused(error);
      return;
    }
    last.payload = payload;
    this.done.accepted(last.counts);
  }

  reject(error: RpcError): void {
    this.done.refused(error);
  }
}

function holds(bytes: Buffer, from: number, to: number, payload: Buffer): boolean {
  if (to - from !== payload.length) return false;
  for (let i = 0; i < payload.length; i++) if (bytes[from + i] !== payload[i]) return false;
  return true;
}

/** A startup that failed, as `run` reports it. */
export class StageError extends Error {
  override readonly name = 'StageError';
  readonly stage: number;

  constructor(number: number, rpc: string, cause: unknown) {
    super(`stage ${number} (${rpc}): ${describeRpcError(cause)}`, { cause });
    this.stage = number;
  }
}

async function stage<T>(number: number, rpc: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new StageError(number, rpc, error);
  }
}

/** Answers a stage's request: `ok`, or `error` and the throw goes on. */
async function answer(request: InboundRequest, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    request.fail(error);
    throw error;
  }
  request.reply();
}
