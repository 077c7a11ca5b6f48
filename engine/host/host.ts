/**
 * The plugins' lives: who runs where, in which order they start and stop, what happens when one fails. `engine/daemon.ts` makes
 * one `PluginHost`, starts it with the configuration, and asks it for links and answers.
 */
import type { AnswerReader } from '../../sdk/rpc/answer.ts';
import { RpcError } from '../../sdk/rpc/errors.ts';
import type { DecodeNlriInput, EncodeNlriInput, ExecuteCommandInput } from '../../yang/generated/methods.ts';
import type { PluginCapability, ProcessBinding } from '../bgp/port.ts';
import type { ProcessHandle } from '../bus/bus.ts';
import type { CodecRegistry, FamilyEntry, NlriCaller } from '../codec/registry.ts';
import type { HubServer, PluginSettings } from '../config/plugin-settings.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { Door } from './door.ts';
import { PluginFault, STAGES } from './fault.ts';
import {
  ChildLauncher,
  type Launcher,
  MainLauncher,
  type ModuleSite,
  type Placement,
  ReactorLauncher,
  type StartInReactor,
  ThreadLauncher,
} from './launch.ts';
import { type LifeContext, type LifeSpec, PluginLife, type PluginKind, type PluginState } from './life.ts';
import { type PluginLink, refusedAnswer, withDeadline } from './link.ts';
import { isModulePath, moduleUrlOf } from './load-plugin.ts';
import { findBinder } from './parent-death.ts';
import { type BuiltinPlugin, firstPhases, latePhase, type Phase, type StartupNeeds } from './plan.ts';
import { quote } from './quote.ts';
import { type FailurePolicy, Registry } from './registration.ts';
import { maySend, Roles } from './roles.ts';
import type { CommandRegistry, ConfigSource, EngineServices, EventStreams, ReportSink } from './services.ts';
import type { StageEvent } from './stage-trace.ts';
import { runPhase, type PhaseHooks } from './startup.ts';
import type { RelayLevel } from './stderr-relay.ts';
import { RESTART_BOUNDS, type RestartBounds, Supervisor } from './supervision.ts';
import { Tier } from './tier.ts';

export interface HostOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly report: ReportSink;
  readonly services: EngineServices;
  readonly commands: CommandRegistry;
  readonly config: ConfigSource;
  readonly events: EventStreams;
  /** Families that plugins declare are claimed here. */
  readonly codecs: CodecRegistry;
  readonly builtins: readonly BuiltinPlugin[];
  /** `undefined` = there is no reactor: its plugins run in the main thread. */
  readonly startInReactor: StartInReactor | undefined;
  /** Of built-ins that start by themselves; configured plugins bring their own. */
  readonly stageTimeoutMs: number;
  readonly deliveryTimeoutMs: number;
  /** `undefined` = the hub's CA in memory. */
  readonly stateDirectory: string | undefined;
  /** Where `run` runs and `use` paths begin. */
  readonly configFolder: string;
  /** Folder of the daemon's own command, put before the children's PATH. */
  readonly binFolder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly relayLevel: RelayLevel;
  /** Tests and embedders; else the protocol's. */
  readonly restarts?: RestartBounds | undefined;
  /** Until the head of a command's answer; else 30 s. */
  readonly commandTimeoutMs?: number | undefined;
  /** A plugin of policy `fatal` has failed while the daemon runs: it ends with exit code 3. */
  readonly onFatal: (plugin: string, reason: string) => void;
  readonly trace?: ((event: StageEvent) => void) | undefined;
  /** A plugin is in another state: who runs, and so what is declared, may have changed. */
  readonly onMoved?: (() => void) | undefined;
}

/** Why the daemon must not start. All plugins are stopped then. */
export interface StartRefusal {
  readonly ok: false;
  /** `respawn`: the operator's leaf against the declared policy · `fatal`: policy fatal · `config`: a built-in refused its configuration. */
  readonly kind: 'respawn' | 'fatal' | 'config';
  readonly plugin: string;
  readonly reason: string;
}
export type StartOutcome = { readonly ok: true } | StartRefusal;

/** A row of `plugin list`. */
export interface PluginRow {
  readonly name: string;
  readonly kind: PluginKind;
  readonly placement: Placement;
  readonly state: PluginState;
  /** `launch`, the stages by name, `running` */
  readonly stage: string;
  readonly policy: FailurePolicy | '';
  readonly restarts: number;
  readonly pid: number | undefined;
  readonly commands: number;
  readonly queueBatches: number;
  readonly queueBytes: number;
  readonly events: number;
  readonly dropped: number;
  /** ms since the epoch of the last change of state */
  readonly since: number;
  readonly lastError: string;
}

/** Until the head of a command's answer (plugin-wire §8). */
const HEAD_MS = 30_000;
/** Of encode-nlri and decode-nlri. */
const CODEC_MS = 5000;
const NOT_RUNNING = 'plugin process not running';

export class PluginHost implements NlriCaller {
  readonly #options: HostOptions;
  readonly #log: Log;
  readonly #door: Door;
  readonly #registry: Registry;
  readonly #roles = new Roles();
  readonly #supervisor: Supervisor;
  readonly #context: LifeContext;
  readonly #hooks: PhaseHooks;
  readonly #lives = new Map<string, PluginLife>();
  #tiers = 0;
  #phase: 'new' | 'starting' | 'running' | 'stopping' | 'stopped' = 'new';
  #refused: StartRefusal | undefined;
  #binder: Promise<string | undefined> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: HostOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#registry = new Registry(options.commands, options.codecs);
    this.#door = new Door({
      clock: options.clock,
      log: options.log,
      report: options.report,
      stateDirectory: options.stateDirectory,
    });
    this.#supervisor = new Supervisor({
      clock: options.clock,
      log: options.log,
      report: options.report,
      bounds: options.restarts ?? RESTART_BOUNDS,
      restart: (life) => this.#restart(life),
      fatal: (plugin, reason) => this.#fatal(plugin, reason),
    });
    this.#context = {
      clock: options.clock,
      log: options.log,
      registry: this.#registry,
      roles: this.#roles,
      services: options.services,
      events: options.events,
      config: options.config,
      deliveryTimeoutMs: options.deliveryTimeoutMs,
      trace: options.trace,
      available: (dependency) => this.#available(dependency),
      stopping: () => this.#stopped !== undefined,
      moved: () => options.onMoved?.(),
      ended: (life, fault) => this.#supervisor.failed(life, fault),
    };
    this.#hooks = {
      clock: options.clock,
      up: (life) => this.#supervisor.up(life),
      failed: (life, fault) => this.#failed(life, fault),
      nextTier: () => ++this.#tiers,
    };
  }

  /**
   * Runs all phases of the startup. Resolves when every plugin runs or has failed, or when one of them forbids the daemon to
   * start. Once.
   */
  async start(plugins: readonly PluginSettings[], hub: readonly HubServer[], needs: StartupNeeds): Promise<StartOutcome> {
    if (this.#phase !== 'new') throw new Error('a host starts once');
    this.#phase = 'starting';
    await this.#door.serve(hub);
    await this.#runPhases(plugins, needs);
    if (this.#refused !== undefined) {
      const refused = this.#refused;
      await this.stop('startup refused');
      return refused;
    }
    if (this.#stopped !== undefined) return { ok: true };
    this.#phase = 'running';
    this.#sayUnheld();
    for (const life of this.#lives.values()) life.postStartup();
    return { ok: true };
  }

  /**
   * Follows a changed configuration: plugins that are gone stop, changed ones start anew, new ones start. The others are not
   * touched. Resolves when each runs or has failed; a refusal stops what was started here, the daemon goes on.
   */
  async apply(plugins: readonly PluginSettings[], hub: readonly HubServer[], needs: StartupNeeds): Promise<StartOutcome> {
    await this.#door.serve(hub);
    const wanted = new Map(plugins.map((plugin) => [plugin.name, JSON.stringify(plugin)]));
    const gone = this.#inStopOrder().filter(
      (life) => this.#isConfigured(life) && wanted.get(life.name) !== JSON.stringify(life.spec.settings),
    );
    for (const life of gone) await this.#remove(life);
    const before = new Set(this.#lives.values());
    await this.#runPhases(plugins, needs);
    const started = [...this.#lives.values()].filter((life) => !before.has(life));
    const refused = this.#refused;
    this.#refused = undefined;
    if (refused !== undefined) {
      for (const life of started.reverse()) await this.#remove(life);
      return refused;
    }
    this.#sayUnheld();
    for (const life of started) life.postStartup();
    return { ok: true };
  }

  /** Bye to every plugin, those that started last first; resolves when nothing of them is left. Idempotent. */
  stop(reason: string): Promise<void> {
    this.#stopped ??= this.#stop(reason);
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop('shutdown');
  }

  list(): readonly PluginRow[] {
    return [...this.#lives.values()].map((life) => {
      const statistics = life.statistics();
      const running = life.stream !== undefined;
      return {
        name: life.name,
        kind: life.spec.kind,
        placement: life.spec.launcher.placement,
        state: life.state,
        stage: STAGES[life.stage] ?? '',
        policy: life.policy ?? '',
        restarts: life.restarts,
        pid: life.pid,
        commands: this.#registry.of(life.name)?.commands?.length ?? 0,
        queueBatches: running ? (statistics?.queueBatches ?? 0) : 0,
        queueBytes: running ? (statistics?.queueBytes ?? 0) : 0,
        events: statistics?.events ?? 0,
        dropped: statistics?.dropped ?? 0,
        since: life.since,
        lastError: life.lastError,
      };
    });
  }

  /** The running plugin of this name. */
  link(name: string): PluginLink | undefined {
    return this.#lives.get(name)?.link;
  }

  /** The event stream of the running plugin of this name. */
  stream(name: string): ProcessHandle | undefined {
    return this.#lives.get(name)?.stream;
  }

  kindOf(name: string): PluginKind | undefined {
    return this.#lives.get(name)?.spec.kind;
  }

  /** Runs a plugin's command. The reader rejects when the plugin is not running, or says nothing for 30 s. */
  execute(plugin: string, input: ExecuteCommandInput, signal: AbortSignal): AnswerReader {
    const link = this.link(plugin);
    if (link === undefined) return refusedAnswer(new RpcError('error', NOT_RUNNING));
    const late = new AbortController();
    const timer = this.#options.clock.after(this.#options.commandTimeoutMs ?? HEAD_MS, () => {
      late.abort(new DOMException('deadline exceeded', 'TimeoutError'));
      void this.#lives.get(plugin)?.suspect('a command was not answered in time');
    });
    const reader = link.execute(input, AbortSignal.any([signal, late.signal]));
    const done = (): void => timer.cancel();
    reader.head.then(done, done);
    return reader;
  }

  /** Asks the family's owner; 5 s. */
  async decodeNlri(plugin: string, input: DecodeNlriInput): Promise<unknown> {
    const output = await this.#ask(plugin, (link, signal) => link.call('ze-plugin-callback:decode-nlri', input, signal));
    return output.json;
  }

  /** Hex of one entry, from its words; 5 s. */
  async encodeNlri(plugin: string, input: EncodeNlriInput): Promise<string> {
    const output = await this.#ask(plugin, (link, signal) => link.call('ze-plugin-callback:encode-nlri', input, signal));
    return output.hex;
  }

  /** Everything declared: for the codec (who decodes a family), config (who wants what), OPEN. */
  get registry(): Registry {
    return this.#registry;
  }

  /** Capabilities of all running plugins, for the reactor's settings. */
  capabilities(): readonly PluginCapability[] {
    return this.#registry.capabilities();
  }

  /** Running plugins that want to see OPENs before a session comes up, those that started first in front. */
  openValidators(): readonly string[] {
    return [...this.#lives.values()]
      .filter((life) => life.link !== undefined && this.#registry.of(life.name)?.['wants-validate-open'] === true)
      .map((life) => life.name);
  }

  families(): readonly FamilyEntry[] {
    return this.#registry.decodedFamilies();
  }

  /** Asks the plugin that declared the capability what a value says; undefined when nobody did. Rejects when it fails; 5 s. */
  async decodeCapability(code: number, hex: string): Promise<unknown> {
    const owner = this.#registry.capabilityOwner(code);
    if (owner === '') return undefined;
    const output = await this.#ask(owner, (link, signal) =>
      link.call('ze-plugin-callback:decode-capability', { code, hex }, signal),
    );
    return output.json;
  }

  async #ask<T>(plugin: string, work: (link: PluginLink, signal: AbortSignal) => Promise<T>): Promise<T> {
    const link = this.link(plugin);
    if (link === undefined) throw new RpcError('error', NOT_RUNNING);
    return await withDeadline(this.#options.clock, CODEC_MS, undefined, (signal) => work(link, signal));
  }

  /** Roles nobody performs for a peer with these bindings: no claimer runs, or none may send to it. */
  unheldRoles(bindings: readonly ProcessBinding[]): readonly string[] {
    const holds = (plugin: string): boolean =>
      this.#available(plugin) && (this.kindOf(plugin) !== 'external' || maySend(plugin, bindings));
    return this.#roles.unheld(holds).map(({ role }) => role);
  }

  #sayUnheld(): void {
    for (const { role, claimers } of this.#roles.unheld((plugin) => this.#available(plugin))) {
      this.#log.error({ role, claimers }, 'nobody performs a claimed role: its claimers do not run, others have stood down');
    }
  }

  async #runPhases(plugins: readonly PluginSettings[], needs: StartupNeeds): Promise<void> {
    const phases = firstPhases(this.#options.builtins, plugins, needs.roots);
    for (const settings of phases.flatMap((phase) => [...phase.builtins.map((one) => this.#defaults(one)), ...phase.plugins])) {
      const claims = this.#options.builtins.find((one) => one.name === settings.use)?.claims;
      if (claims !== undefined && !this.#lives.has(settings.name)) this.#roles.declare(settings.name, claims);
    }
    for (const phase of phases) await this.#run(phase);
    await this.#runLate(needs);
  }

  async #run(phase: Phase): Promise<void> {
    if (this.#refused !== undefined || this.#phase === 'stopping') return;
    const lives: PluginLife[] = [];
    for (const settings of [...phase.builtins.map((builtin) => this.#defaults(builtin)), ...phase.plugins]) {
      if (this.#lives.has(settings.name)) continue;
      const life = new PluginLife(this.#spec(settings), this.#context);
      this.#lives.set(settings.name, life);
      lives.push(life);
    }
    if (lives.length === 0) return;
    this.#log.debug({ phase: phase.name, plugins: lives.map((life) => life.name) }, 'plugin phase begins');
    await runPhase(lives, this.#hooks);
  }

  async #runLate(needs: StartupNeeds): Promise<void> {
    const present = (builtin: string): boolean => [...this.#lives.values()].some((life) => life.spec.builtIn === builtin);
    const all = this.#options.builtins;
    const undecoded = needs.families.filter((family) => this.#registry.decoderOf(family) === '');
    await this.#run(latePhase('families', all, undecoded, present));
    await this.#run(latePhase('event-types', all, needs.receiveTypes, present));
    await this.#run(latePhase('send-types', all, needs.sendTypes, present));
  }

  #defaults(builtin: BuiltinPlugin): PluginSettings {
    return {
      name: builtin.name,
      run: '',
      use: builtin.name,
      encoder: 'json',
      respawn: undefined,
      timeoutMs: this.#options.stageTimeoutMs,
      queue: { batches: 64, bytes: 4 << 20, onOverflow: undefined },
      isolation: 'main',
    };
  }

  #spec(settings: PluginSettings): LifeSpec {
    if (settings.run !== '') return spec(settings, 'external', this.#childLauncher(settings), undefined);
    if (isModulePath(settings.use)) {
      const site = this.#site(settings.name, moduleUrlOf(settings.use, this.#options.configFolder));
      const launcher = settings.isolation === 'thread' ? new ThreadLauncher(site) : new MainLauncher(site);
      return spec(settings, 'in-process', launcher, undefined);
    }
    const builtin = this.#options.builtins.find((one) => one.name === settings.use);
    if (builtin === undefined) return spec(settings, 'built-in', unknownBuiltin(settings.use), undefined);
    const site = this.#site(settings.name, builtin.moduleUrl);
    const start = this.#options.startInReactor;
    const launcher =
      builtin.placement === 'reactor' && start !== undefined ? new ReactorLauncher(site, start) : new MainLauncher(site);
    return spec(settings, 'built-in', launcher, builtin);
  }

  #site(name: string, moduleUrl: string): ModuleSite {
    const { clock, log } = this.#options;
    return { name, moduleUrl, clock, log: log.child({ plugin: name }) };
  }

  #childLauncher(settings: PluginSettings): Launcher {
    const { clock, log, configFolder, binFolder, environment, relayLevel } = this.#options;
    return new ChildLauncher({
      name: settings.name,
      run: settings.run,
      door: this.#door,
      folder: configFolder,
      binFolder,
      environment,
      relayLevel,
      clock,
      log: log.child({ plugin: settings.name }),
      binder: () => (this.#binder ??= findBinder()),
    });
  }

  /** Is it there because the operator named it? */
  #isConfigured(life: PluginLife): boolean {
    return life.spec.settings.use !== life.name;
  }

  #available(dependency: string): boolean {
    for (const life of this.#lives.values()) {
      if (life.state === 'running' && (life.name === dependency || life.spec.builtIn === dependency)) return true;
    }
    return false;
  }

  #failed(life: PluginLife, fault: PluginFault): void {
    this.#supervisor.failed(life, fault);
    if (fault.code === 'plugin-respawn') this.#refuse('respawn', life.name, fault.message);
    else if (fault.code === 'plugin-config' && life.spec.fatalOnConfigError) this.#refuse('config', life.name, fault.message);
  }

  #fatal(plugin: string, reason: string): void {
    if (this.#phase === 'starting') this.#refuse('fatal', plugin, reason);
    else if (this.#phase === 'running') this.#options.onFatal(plugin, reason);
  }

  #refuse(kind: StartRefusal['kind'], plugin: string, reason: string): void {
    this.#refused ??= { ok: false, kind, plugin, reason };
  }

  /** Five stages without neighbours to wait for. */
  async #restart(life: PluginLife): Promise<void> {
    await life.connect();
    await life.handshake(new Tier([life.name], this.#options.clock));
    life.open();
    if (this.#phase === 'running') life.postStartup();
  }

  async #remove(life: PluginLife): Promise<void> {
    this.#supervisor.forget(life);
    await life.stop('removed');
    this.#lives.delete(life.name);
    this.#registry.forget(life.name);
    this.#roles.forget(life.name);
  }

  /** Started last, stopped first; plugins of one tier stop side by side. */
  #inStopOrder(): PluginLife[] {
    return [...this.#lives.values()].sort((a, b) => b.tier - a.tier);
  }

  async #stop(reason: string): Promise<void> {
    this.#phase = 'stopping';
    this.#supervisor.stop();
    const lives = this.#inStopOrder();
    for (let from = 0; from < lives.length; ) {
      const tier = lives[from]?.tier;
      const to = lives.findIndex((life, index) => index > from && life.tier !== tier);
      const group = lives.slice(from, to < 0 ? lives.length : to);
      await Promise.all(group.map((life) => life.stop(reason)));
      from += group.length;
    }
    await this.#door.close();
    this.#phase = 'stopped';
  }
}

function spec(settings: PluginSettings, kind: PluginKind, launcher: Launcher, builtin: BuiltinPlugin | undefined): LifeSpec {
  return {
    settings,
    kind,
    launcher,
    builtIn: builtin?.name ?? '',
    dependencies: builtin?.dependencies ?? [],
    fatalOnConfigError: builtin?.fatalOnConfigError === true,
  };
}

/** Fails when it is started, so that the operator reads of it where all failures are. */
function unknownBuiltin(use: string): Launcher {
  return {
    placement: 'main',
    launch: () => Promise.reject(new PluginFault('plugin-start', `no built-in plugin ${quote(use)}`, 0)),
  };
}
