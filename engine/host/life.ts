/**
 * One plugin through its lives: launch, stages, running, gone, perhaps again. A `PluginLife` stands for the configured plugin
 * and outlives its sessions; what one launch has opened is closed with it, always in the same order.
 */
import { RpcError } from '../../sdk/rpc/errors.ts';
import type { InboundRequest } from '../../sdk/rpc/inbound.ts';
import { Mux } from '../../sdk/rpc/mux.ts';
import type { CapabilityDecl, DeclareRegistrationInput, ReadyInput } from '../../yang/generated/methods.ts';
import type { ProcessHandle } from '../bus/bus.ts';
import type { ProcessStatistics } from '../bus/process.ts';
import type { PluginSettings } from '../config/settings/plugin-settings.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { PluginFault, stageName } from './fault.ts';
import { EXIT_GRACE_MS, type Launched, type Launcher, settledWithin } from './startup/launch.ts';
import { MuxLink, type PluginLink, withDeadline } from './link.ts';
import { type FailurePolicy, policyOf, type Refusal, type Registry } from './registry/registration.ts';
import type { Roles } from './registry/roles.ts';
import { Runtime } from './calls/runtime.ts';
import type { ConfigSource, EngineServices, EventStreams } from './services.ts';
import { type StageEvent, stageTrace } from './startup/stage-trace.ts';
import { firstRequest, linkFault, peekDeclaration, runStages, type StageOptions, type StageWork } from './startup/stages.ts';
import { verdictFor } from './supervision.ts';
import { Tier, whileProgressing } from './startup/tier.ts';

export type PluginKind = 'built-in' | 'in-process' | 'external';
export type PluginState = 'waiting' | 'starting' | 'running' | 'restarting' | 'stopping' | 'stopped' | 'failed' | 'disabled';

/** What a life needs of the host. */
export interface LifeContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: Registry;
  readonly roles: Roles;
  readonly services: EngineServices;
  readonly events: EventStreams;
  readonly config: ConfigSource;
  readonly deliveryTimeoutMs: number;
  readonly trace: ((event: StageEvent) => void) | undefined;
  /** Is a plugin of this name (or a built-in under another instance name) running? */
  available(dependency: string): boolean;
  /** The host stops: nothing is launched any more. */
  stopping(): boolean;
  /** Was it started for a candidate that is not in force yet? */
  isFresh(life: PluginLife): boolean;
  /** Its state is another one. */
  moved(): void;
  /** A running session is over and cleaned up. */
  ended(life: PluginLife, fault: PluginFault): void;
}

export interface LifeSpec {
  readonly settings: PluginSettings;
  readonly kind: PluginKind;
  readonly launcher: Launcher;
  /** The built-in that runs under this name; '' = none. */
  readonly builtIn: string;
  /** Known before the plugin says so: of built-ins. */
  readonly dependencies: readonly string[];
  readonly fatalOnConfigError: boolean;
  /** The operator named it; else it started by itself. */
  readonly explicit: boolean;
}

/** What one launch has opened. */
interface Session {
  readonly stopping: AbortController;
  readonly runtime: Runtime;
  launched: Launched | undefined;
  mux: Mux | undefined;
  first: InboundRequest | undefined;
  link: PluginLink | undefined;
  stream: ProcessHandle | undefined;
  closing: Promise<void> | undefined;
  /** `stop` was called: what comes next is for whoever stopped it, also when it was about to end by itself. */
  stopped: boolean;
}

const BYE_MS = 500;
/** Characters of an answer that wait for who reads it, before the plugin's link is held, and for how long it is. */
const ANSWER_QUEUE = 2 << 20;
const ANSWER_PAUSE_MS = 2000;
const POST_STARTUP_MS = 10_000;
/** How long a plugin that missed a deadline has to show that its event loop turns. */
const TURN_MS = 1000;
/** After a link's end, how long the process may take to say why. */
const REASON_MS = 1000;

export class PluginLife {
  readonly spec: LifeSpec;
  readonly #context: LifeContext;
  readonly #log: Log;
  #session: Session | undefined;
  #state: PluginState = 'waiting';
  #stage = 0;
  #since: number;
  #statistics: ProcessStatistics | undefined;
  policy: FailurePolicy | undefined;
  restarts = 0;
  lastError = '';
  /** Start order, for the bus (dependents are told first) and for stopping. */
  tier = 0;

  constructor(spec: LifeSpec, context: LifeContext) {
    this.spec = spec;
    this.#context = context;
    this.#log = context.log.child({ plugin: spec.settings.name });
    this.#since = context.clock.wall();
  }

  get name(): string {
    return this.spec.settings.name;
  }

  get state(): PluginState {
    return this.#state;
  }

  /** 1 to 5; 6 = running. */
  get stage(): number {
    return this.#stage;
  }

  /** ms since the epoch of the last change of state. */
  get since(): number {
    return this.#since;
  }

  get pid(): number | undefined {
    return this.#session?.launched?.pid;
  }

  get link(): PluginLink | undefined {
    return this.#state === 'running' ? this.#session?.link : undefined;
  }

  get stream(): ProcessHandle | undefined {
    return this.#session?.stream;
  }

  /** Of the running stream, else of the last one. */
  statistics(): ProcessStatistics | undefined {
    return this.#session?.stream?.statistics() ?? this.#statistics;
  }

  become(state: PluginState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#since = this.#context.clock.wall();
    this.#log.info({ state, stage: this.#stage }, 'plugin state');
    this.#context.moved();
  }

  /**
   * Launches and waits for the plugin's first line; returns what it depends on. Throws PluginFault; all is cleaned up then. `failed`
   * is called before that, which may take seconds.
   */
  async connect(failed?: () => void): Promise<readonly string[]> {
    if (this.#context.stopping()) throw stopped();
    const session = this.#newSession();
    this.#stage = 0;
    this.become('starting');
    try {
      session.launched = await this.spec.launcher.launch(session.runtime, session.stopping.signal);
      if (session.stopping.signal.aborted) throw stopped();
      const trace = this.#context.trace;
      const mux = new Mux(session.launched.stream, {
        held: true,
        // A reader of the plugin's answer that lags holds the plugin back, for less than the plugin's own replies may take.
        whenAnswerFull: 'pause',
        answerQueueBytes: ANSWER_QUEUE,
        answerPauseMs: Math.min(ANSWER_PAUSE_MS, this.#context.deliveryTimeoutMs / 2),
        ...(trace === undefined ? {} : { trace: stageTrace(this.name, trace) }),
      });
      session.mux = mux;
      session.runtime.serve(mux);
      void session.launched.ended.then(async ({ fault }) => {
        // What the plugin wrote before it went is read first.
        await settledWithin(this.#context.clock, REASON_MS, mux.closed);
        mux.destroy(new RpcError('closed', fault === '' ? 'the plugin has ended' : fault));
      });
      session.first = await firstRequest(mux, this.#stageOptions(new Tier([this.name], this.#context.clock)));
      const { dependencies = [], claims = [] } = peekDeclaration(session.first);
      this.#context.roles.declare(this.name, claims);
      return [...new Set([...this.spec.dependencies, ...dependencies])];
    } catch (error) {
      failed?.();
      throw await this.#failed(session, error);
    }
  }

  /** Refuses a plugin that has connected, before its stages: its first line is answered by the fault. */
  async refuse(fault: PluginFault): Promise<void> {
    const session = this.#session;
    session?.first?.fail(new RpcError('error', fault.message));
    this.lastError = fault.message;
    session?.stopping.abort();
    if (session !== undefined) await this.#close(session, EXIT_GRACE_MS);
  }

  /** The five stages, then running. Fails as `connect` does. The tier is left in either case, at once. */
  async handshake(tier: Tier, failed?: () => void): Promise<void> {
    const session = this.#session;
    if (session?.mux === undefined || session.first === undefined) throw new PluginFault('plugin-stopped', 'not connected', 0);
    let ready: ReadyInput = {};
    try {
      const work = this.#work(session, (input) => {
        ready = input;
      });
      await runStages(session.mux, session.first, work, this.#stageOptions(tier));
      session.mux.flush();
      session.mux.untrace();
      if (session.link === undefined) await this.#takeBridge(session, ready, tier);
      if (session.stopping.signal.aborted) throw stopped();
      this.#stage = 6;
      this.lastError = '';
      this.become('running');
      this.#watch(session);
    } catch (error) {
      tier.leave(this.name);
      failed?.();
      throw await this.#failed(session, error);
    } finally {
      tier.leave(this.name);
    }
  }

  /** Serves the plugin's calls from now on. */
  open(): void {
    this.#session?.runtime.open();
  }

  /** Tells it that all plugins are up. Not awaited by anyone; a failure is logged. */
  postStartup(): void {
    const link = this.link;
    if (link === undefined) return;
    withDeadline(this.#context.clock, POST_STARTUP_MS, undefined, (signal) =>
      link.call('ze-plugin-callback:post-startup', undefined, signal),
    ).catch((error: unknown) => this.#log.warn({ error: String(error) }, 'post-startup callback failed'));
  }

  /** Says goodbye and ends the session; resolves when nothing of it is left. Idempotent. */
  async stop(reason: string): Promise<void> {
    const session = this.#session;
    if (session === undefined) {
      this.become('stopped');
      return;
    }
    const link = this.link;
    this.become('stopping');
    session.stopped = true;
    session.stopping.abort();
    if (link !== undefined) {
      await withDeadline(this.#context.clock, BYE_MS, undefined, (signal) =>
        link.call('ze-plugin-callback:bye', { reason }, signal),
      ).catch((error: unknown) => this.#log.debug({ error: String(error) }, 'plugin did not answer bye'));
    }
    await this.#close(session, EXIT_GRACE_MS);
    this.become('stopped');
  }

  /** The delivery deadline has passed, or another fault that the engine saw first. */
  fail(fault: PluginFault): void {
    const session = this.#session;
    if (session !== undefined) void this.#end(session, fault);
  }

  /**
   * It missed a deadline that by itself is no failure. Where it can be told (a thread of its own), one that has not returned to its
   * event loop for a second more has failed. Returns false then: it is ended, and reported by that.
   */
  async suspect(missed: string): Promise<boolean> {
    const session = this.#session;
    const turns = session?.launched?.turns;
    if (session === undefined || turns === undefined || (await turns(TURN_MS))) return true;
    await this.#end(session, new PluginFault('plugin-silent', `${missed}, and its event loop does not turn`, 6));
    return false;
  }

  #newSession(): Session {
    const session: Session = {
      stopping: new AbortController(),
      runtime: new Runtime({
        plugin: this.name,
        services: this.#context.services,
        stream: () => session.stream,
      }),
      launched: undefined,
      mux: undefined,
      first: undefined,
      link: undefined,
      stream: undefined,
      closing: undefined,
      stopped: false,
    };
    this.#session = session;
    return session;
  }

  #stageOptions(tier: Tier): StageOptions {
    return { name: this.name, timeoutMs: this.spec.settings.timeoutMs, tier, clock: this.#context.clock, log: this.#log };
  }

  #work(session: Session, remember: (input: ReadyInput) => void): StageWork {
    const { registry, config } = this.#context;
    const name = this.name;
    return {
      entered: (stage) => {
        this.#stage = stage;
      },
      register: (declaration: DeclareRegistrationInput): Refusal | undefined => {
        const refusal = registry.register(name, declaration, {
          respawn: this.spec.settings.respawn,
          available: (dependency) => this.#context.available(dependency),
        });
        if (refusal === undefined || refusal.code === 'plugin-dependency') this.policy = policyOf(declaration);
        return refusal;
      },
      configure: () => {
        const claims = this.#context.roles.claimsBut(name);
        const sections = config.sections(registry.of(name)?.['wants-config'] ?? [], this.#context.isFresh(this));
        return claims.length === 0 ? { sections } : { sections, claims };
      },
      declareCapabilities: (capabilities: readonly CapabilityDecl[]) => registry.declareCapabilities(name, capabilities),
      shareRegistry: () => ({ commands: registry.commands() }),
      ready: (input) => {
        remember(input);
        const refused = registry.activate(name);
        if (refused.length > 0) this.#log.warn({ commands: refused }, 'commands of the plugin are taken by the engine');
      },
      running: (input) => {
        if (input.transport === 'bridge' && session.launched?.bridge !== undefined) return;
        if (session.mux !== undefined) this.#connectEvents(session, new MuxLink(session.mux), input);
      },
    };
  }

  /** The plugin goes on over the bridge: it has installed its handlers, and closes the pipe. */
  async #takeBridge(session: Session, ready: ReadyInput, tier: Tier): Promise<void> {
    const bridge = session.launched?.bridge;
    if (bridge === undefined) throw new PluginFault('plugin-protocol', 'no bridge to go on with', 5);
    const { timeoutMs } = this.spec.settings;
    const late = (): PluginFault =>
      new PluginFault('plugin-stage-timeout', `${stageName(5)}: bridge not attached for ${timeoutMs} ms`, 5);
    const link = await whileProgressing(tier, this.#context.clock, timeoutMs, late, () => bridge.attached).catch(
      (error: unknown) => {
        throw error instanceof RpcError ? linkFault(error, 5) : error;
      },
    );
    this.#connectEvents(session, link, ready);
  }

  #connectEvents(session: Session, link: PluginLink, ready: ReadyInput): void {
    const { settings, kind } = this.spec;
    const { queue } = settings;
    const declaration = this.#context.registry.of(this.name);
    session.link = link;
    session.stream = this.#context.events.attach({
      name: this.name,
      transport: link.transport,
      structured: link.structured,
      builtin: kind !== 'external',
      tier: this.tier,
      queue: {
        batches: queue.batches,
        bytes: queue.bytes,
        ...(queue.onOverflow === undefined ? {} : { onOverflow: queue.onOverflow }),
      },
      cacheMode:
        declaration?.['cache-consumer-unordered'] === true
          ? 'unordered'
          : declaration?.['cache-consumer'] === true
            ? 'ordered'
            : 'none',
      deadlineMs: this.#context.deliveryTimeoutMs,
      encoding: settings.encoder,
      onRefused: (message) => {
        this.lastError = message;
      },
      onFailure: (failure) => {
        const text =
          failure === 'silent'
            ? `events not acknowledged within ${this.#context.deliveryTimeoutMs} ms`
            : 'event queue full, policy disconnect';
        void this.#end(session, new PluginFault('plugin-silent', text, 6));
      },
    });
    if (ready.subscribe === undefined) return;
    const refused = session.stream.subscribe(ready.subscribe);
    if (refused !== undefined) this.#log.warn({ error: refused }, 'startup subscription ignored');
    // In the turn of the subscription: nothing of a peer can come before.
    session.stream.snapshot();
  }

  #watch(session: Session): void {
    const over = (error: RpcError | undefined): void => {
      void this.#end(session, linkFault(error, 6));
    };
    void session.link?.closed.then(over);
    void session.launched?.ended.then(({ fault }) => over(fault === '' ? undefined : new RpcError('closed', fault)));
  }

  /** A running session is over by itself. */
  async #end(session: Session, fault: PluginFault): Promise<void> {
    if (session !== this.#session || session.stopping.signal.aborted) return;
    session.stopping.abort();
    const told = await this.#explain(session, fault);
    if (isStopped(session)) return;
    this.lastError = told.message;
    // Its end may take seconds, and its commands are gone at once: who asks for one is told why.
    this.become(verdictFor(this.policy, this.spec.settings.respawn) === 'restart' ? 'restarting' : 'stopping');
    await this.#close(session, EXIT_GRACE_MS);
    if (!isStopped(session)) this.#context.ended(this, told);
  }

  /** A start failed: everything is taken back. Returns the fault to throw. */
  async #failed(session: Session, error: unknown): Promise<PluginFault> {
    const fault =
      error instanceof PluginFault ? error : new PluginFault('plugin-start', String(error), this.#stage, { cause: error });
    const told = session.stopping.signal.aborted ? stopped() : await this.#explain(session, fault);
    if (told.code !== 'plugin-stopped') this.lastError = told.message;
    session.stopping.abort();
    await this.#close(session, EXIT_GRACE_MS);
    return told;
  }

  /** The end of a connection says little; the process that ended says more, if it does so soon. */
  async #explain(session: Session, fault: PluginFault): Promise<PluginFault> {
    const ended = session.launched?.ended;
    if (fault.code !== 'plugin-crash' || ended === undefined) return fault;
    let reason = '';
    await settledWithin(
      this.#context.clock,
      REASON_MS,
      ended.then((how) => {
        reason = how.fault;
      }),
    );
    if (reason === '' || fault.message.includes(reason)) return fault;
    const where = fault.stage > 5 ? '' : `${stageName(fault.stage)}: `;
    return new PluginFault('plugin-crash', `${where}${reason}`, fault.stage, { cause: fault });
  }

  /** Registrations go first, so that nobody is sent to a plugin that is leaving; then events, link, process. */
  #close(session: Session, graceMs: number): Promise<void> {
    session.closing ??= this.#closeOnce(session, graceMs);
    return session.closing;
  }

  async #closeOnce(session: Session, graceMs: number): Promise<void> {
    this.#context.registry.release(this.name);
    this.#context.services.released?.(this.name);
    if (session.stream !== undefined) {
      this.#statistics = session.stream.statistics();
      session.stream.detach();
    }
    session.stream = undefined;
    await session.link?.close();
    session.launched?.bridge?.close();
    await session.mux?.close();
    await session.launched?.stop(graceMs);
    if (this.#session === session) this.#session = undefined;
  }
}

function stopped(): PluginFault {
  return new PluginFault('plugin-stopped', 'stopped by the engine', 0);
}

/** Asked anew each time: others may stop a session while somebody waits. */
function isStopped(session: Session): boolean {
  return session.stopped;
}
