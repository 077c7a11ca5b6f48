/**
 * The plugins' lives: who runs where, in which order they start and stop, what happens when one fails. `engine/daemon.ts` makes
 * one `PluginHost`, starts it with the configuration, and asks it for links and answers.
 */
import type { AnswerReader } from '../../sdk/rpc/answer.ts';
import type {
  DeclareRegistrationInput,
  DecodeNlriInput,
  EncodeNlriInput,
  ExecuteCommandInput,
} from '../../yang/generated/methods.ts';
import type { PluginCapability, ProcessBinding } from '../bgp/port.ts';
import type { ProcessHandle } from '../bus/bus.ts';
import type { FamilyEntry, NlriCaller } from '../codec/registry.ts';
import type { HubServer, PluginSettings } from '../config/settings/plugin-settings.ts';
import type { Log } from '../core/log.ts';
import { Changeover } from './changeover.ts';
import { Door } from './external/door.ts';
import { PluginFault, STAGES } from './fault.ts';
import type { Placement } from './startup/launch.ts';
import { type LifeContext, PluginLife, type PluginKind, type PluginState } from './life.ts';
import type { PluginLink } from './link.ts';
import type { HostOptions, Surroundings } from './options.ts';
import { firstPhases, latePhase, type Phase, type StartupNeeds } from './startup/plan.ts';
import { type FailurePolicy, Registry } from './registry/registration.ts';
import { maySend, Roles } from './registry/roles.ts';
import { PluginCalls } from './calls/plugin-calls.ts';
import { PluginSites } from './startup/sites.ts';
import { runPhase, type PhaseHooks } from './startup/startup.ts';
import { RESTART_BOUNDS, Supervisor } from './supervision.ts';
import { Tier } from './startup/tier.ts';
import { Unmet } from './registry/unmet.ts';

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

export interface RunningPlugin {
  readonly name: string;
  /** Above everything it depends on. */
  readonly tier: number;
  readonly link: PluginLink;
  readonly declaration: DeclareRegistrationInput;
}

export class PluginHost implements NlriCaller {
  readonly #options: HostOptions;
  readonly #log: Log;
  readonly #door: Door;
  readonly #registry: Registry;
  readonly #roles = new Roles();
  readonly #unmet: Unmet;
  readonly #calls: PluginCalls;
  readonly #sites: PluginSites;
  readonly #supervisor: Supervisor;
  readonly #context: LifeContext;
  readonly #hooks: PhaseHooks;
  readonly #lives = new Map<string, PluginLife>();
  /** Moves the host from one set of plugins to the next, in steps. */
  readonly changeover: Changeover;
  #tiers = 0;
  #phase: 'new' | 'starting' | 'running' | 'stopping' | 'stopped' = 'new';
  #refused: StartRefusal | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: HostOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#registry = new Registry(options.commands, options.codecs, options.report);
    this.#unmet = new Unmet({
      log: options.log,
      report: options.report,
      registry: this.#registry,
      roles: this.#roles,
      commands: options.commands,
      available: (plugin) => this.#available(plugin),
    });
    this.#calls = new PluginCalls({
      clock: options.clock,
      log: options.log,
      report: options.report,
      registry: this.#registry,
      life: (plugin) => this.#lives.get(plugin),
      commandTimeoutMs: options.commandTimeoutMs,
    });
    this.#door = new Door({
      clock: options.clock,
      log: options.log,
      report: options.report,
      stateDirectory: options.stateDirectory,
    });
    this.#sites = new PluginSites(options, this.#door);
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
      isFresh: (life) => this.changeover.isFresh(life.name),
      moved: () => options.onMoved?.(),
      ended: (life, fault) => this.#supervisor.failed(life, fault),
    };
    this.#hooks = {
      clock: options.clock,
      up: (life) => this.#supervisor.up(life),
      failed: (life, fault) => this.#failed(life, fault),
      nextTier: () => ++this.#tiers,
    };
    this.changeover = new Changeover({
      builtins: options.builtins,
      inStopOrder: () => this.#inStopOrder(),
      serve: (hub) => this.#door.serve(hub),
      launch: (plugins, needs, only) => this.#launch(plugins, needs, only),
      remove: (life) => this.#remove(life),
      dependenciesOf: (life) => this.#registry.of(life.name)?.dependencies ?? [],
    });
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
    this.#unmet.look();
    for (const life of this.#lives.values()) life.postStartup();
    return { ok: true };
  }

  /**
   * Follows a changed configuration at once: plugins that are gone stop, changed ones start anew, new ones start, built-ins that nothing
   * asks for any more stop. The others are not touched. Resolves when each runs or has failed; a refusal stops what was started here.
   */
  async apply(plugins: readonly PluginSettings[], hub: readonly HubServer[], needs: StartupNeeds): Promise<StartOutcome> {
    const outcome = await this.changeover.replace(plugins, hub, needs, true);
    if (outcome.ok) await this.changeover.settle(plugins, needs);
    return outcome;
  }

  /** Starts a running or failed plugin anew, whatever its policy, unless the operator forbids it. Within the bounds of all restarts. */
  restart(name: string, reason: string): void {
    const life = this.#lives.get(name);
    if (life !== undefined) void this.#supervisor.revive(life, new PluginFault('plugin-broken', reason, 6));
  }

  get surroundings(): Surroundings {
    return this.#options;
  }

  /** Plugins that can be asked now, with what they declared. */
  running(): readonly RunningPlugin[] {
    return [...this.#lives.values()].flatMap((life) => {
      const { name, tier, link } = life;
      const declaration = this.#registry.of(name);
      return link === undefined || declaration === undefined ? [] : [{ name, tier, link, declaration }];
    });
  }

  /** For `plugin list`: what the plugin did not do that was asked of it. */
  noteFault(name: string, message: string): void {
    const life = this.#lives.get(name);
    if (life !== undefined) life.lastError = message;
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
        lastError: this.#options.scrub?.(life.lastError) ?? life.lastError,
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
    return this.#calls.execute(plugin, input, signal);
  }

  /** Asks the family's owner; 5 s. */
  decodeNlri(plugin: string, input: DecodeNlriInput): Promise<unknown> {
    return this.#calls.decodeNlri(plugin, input);
  }

  /** Hex of one entry, from its words; 5 s. */
  encodeNlri(plugin: string, input: EncodeNlriInput): Promise<string> {
    return this.#calls.encodeNlri(plugin, input);
  }

  /** Asks the plugin that declared the capability what a value says; undefined when nobody did. Rejects when it fails; 5 s. */
  decodeCapability(code: number, hex: string): Promise<unknown> {
    return this.#calls.decodeCapability(code, hex);
  }

  /** Everything declared: for the codec (who decodes a family), config (who wants what), OPEN. */
  get registry(): Registry {
    return this.#registry;
  }

  /** Stage 1 of the plugin, when it runs as these settings say: the same program, the same module. */
  declared({ name, run, use }: Pick<PluginSettings, 'name' | 'run' | 'use'>): ReturnType<Registry['of']> {
    const life = this.#lives.get(name);
    const same = life?.link !== undefined && life.spec.settings.run === run && life.spec.settings.use === use;
    return same ? this.#registry.of(name) : undefined;
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

  /** Running plugins that report when a session has had their first routes. */
  sessionReporters(): readonly string[] {
    return [...this.#lives.values()]
      .filter((life) => life.link !== undefined && this.#registry.of(life.name)?.['signals-session-ready'] === true)
      .map((life) => life.name);
  }

  families(): readonly FamilyEntry[] {
    return this.#registry.decodedFamilies();
  }

  /** Roles nobody performs for a peer with these bindings: no claimer runs, or none may send to it. */
  unheldRoles(bindings: readonly ProcessBinding[]): readonly string[] {
    const holds = (plugin: string): boolean =>
      this.#available(plugin) && (this.kindOf(plugin) !== 'external' || maySend(plugin, bindings));
    return this.#roles.unheld(holds).map(({ role }) => role);
  }

  /** What is new while the daemon runs. */
  async #launch(
    plugins: readonly PluginSettings[],
    needs: StartupNeeds,
    only: 'all' | 'builtins',
  ): Promise<StartRefusal | undefined> {
    const before = new Set(this.#lives.values());
    await this.#runPhases(plugins, needs, only);
    const refused = this.#refused;
    this.#refused = undefined;
    if (refused !== undefined) return refused;
    this.#unmet.look();
    for (const life of this.#lives.values()) if (!before.has(life)) life.postStartup();
    return undefined;
  }

  async #runPhases(plugins: readonly PluginSettings[], needs: StartupNeeds, only: 'all' | 'builtins' = 'all'): Promise<void> {
    const all = firstPhases(this.#options.builtins, plugins, needs.roots);
    const phases = only === 'all' ? all : all.map((phase) => ({ ...phase, plugins: [] }));
    for (const settings of phases.flatMap((phase) => [
      ...phase.builtins.map((one) => this.#sites.defaults(one)),
      ...phase.plugins,
    ])) {
      const claims = this.#options.builtins.find((one) => one.name === settings.use)?.claims;
      if (claims !== undefined && !this.#lives.has(settings.name)) this.#roles.declare(settings.name, claims);
    }
    for (const phase of phases) await this.#run(phase);
    await this.#runLate(needs);
  }

  async #run(phase: Phase): Promise<void> {
    if (this.#refused !== undefined || this.#phase === 'stopping') return;
    const lives: PluginLife[] = [];
    for (const settings of [...phase.builtins.map((builtin) => this.#sites.defaults(builtin)), ...phase.plugins]) {
      if (this.#lives.has(settings.name)) continue;
      const life = new PluginLife({ ...this.#sites.specOf(settings), explicit: phase.plugins.includes(settings) }, this.#context);
      this.#lives.set(settings.name, life);
      this.changeover.made(life);
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
    if (this.#phase === 'starting' || this.changeover.isStarting(plugin)) this.#refuse('fatal', plugin, reason);
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
    if (this.#phase !== 'running') return;
    life.postStartup();
    this.#unmet.changed();
  }

  async #remove(life: PluginLife): Promise<void> {
    this.#supervisor.forget(life);
    await life.stop('removed');
    this.#lives.delete(life.name);
    this.#registry.forget(life.name);
    this.#roles.forget(life.name);
    this.#unmet.changed();
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
