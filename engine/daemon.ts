// The composition root: builds every part, wires it, starts in order, stops in reverse. Nothing imports it but the program.
import type { ReactorPort } from './bgp/port.ts';
import { EventBus } from './bus/bus.ts';
import { ReportBus } from './bus/reports.ts';
import { CodecRegistry, type NlriCaller } from './codec/registry.ts';
import { RouteCommands } from './codec/route-command.ts';
import { WireCodec } from './codec/wire-codec.ts';
import { builtInHandlers } from './command/builtin/index.ts';
import { Dispatcher } from './command/dispatch.ts';
import { ControlDoor } from './command/door.ts';
import { RouteUpdates } from './command/route-updates.ts';
import { loadBuiltins } from './compose/builtins.ts';
import { Commits } from './compose/commits.ts';
import { commandContext, type DaemonSteering, granted, sees } from './compose/command-context.ts';
import { bindingsByPeer, ConfigInForce, logSettings, needs, sinkSettings } from './compose/config-in-force.ts';
import { ConfigRoutes } from './compose/config-routes.ts';
import { ConfigSource } from './compose/config-source.ts';
import { applyPeers } from './compose/config-steps.ts';
import { Originations } from './compose/originations.ts';
import { Questions } from './compose/questions.ts';
import { warmUpEvents } from './compose/event-warm-up.ts';
import { startReactor } from './compose/reactor.ts';
import { ReactorThread } from './compose/reactor-thread.ts';
import { ReloadTurns } from './compose/reload-turns.ts';
import { engineServices } from './compose/services.ts';
import { happened, type ReloadOutcome, Transactions } from './compose/transactions.ts';
import type { RunningConfig } from './config/running.ts';
import { secretsOf } from './config/secret.ts';
import { Bug } from './core/assert.ts';
import { type Clock, systemClock } from './core/clock.ts';
import { controlSocketPath, type Environment } from './core/control-socket.ts';
import type { Log } from './core/log.ts';
import { BIN_FOLDER } from './core/program.ts';
import { RootLog } from './core/root-log.ts';
import { releaseYoungHeap } from './core/young-heap.ts';
import { preloadModules } from './host/startup/load-plugin.ts';
import { DnsLookup } from './host/services/dns-lookup.ts';
import { PluginHost } from './host/host.ts';
import type { BuiltinPlugin } from './host/startup/plan.ts';
import { StateStore } from './host/services/state-store.ts';
import { RELAY_LEVELS, type RelayLevel } from './host/external/stderr-relay.ts';
import { ServiceLife } from './service/life.ts';
import { openSink } from './service/log-sink.ts';

export interface DaemonOptions {
  /** A file, or the text of one that came by standard input. */
  readonly configPath?: string | undefined;
  readonly text?: string | undefined;
  /** Settings of the command line, by dotted name. */
  readonly flags: Readonly<Record<string, string>>;
  /** Do not say that the daemon is ready where level info is not logged. */
  readonly quiet?: boolean | undefined;
  readonly env: Environment;
  readonly version: string;
  /** Begun before this module was loaded; without it, it begins with the daemon. */
  readonly thread?: ReactorThread | undefined;
}

export interface DaemonHandle {
  /** Exit code: 0 stopped, 1 could not start, 3 a plugin of policy `fatal` has failed. */
  readonly done: Promise<number>;
  reload(): Promise<ReloadOutcome>;
  stop(reason: string): void;
}

const STOPPING: ReloadOutcome = { ok: false, errors: ['the daemon is stopping'] };
const EXIT_FAILED = 1;
const EXIT_FATAL_PLUGIN = 3;

/** Starts the daemon; never throws for what an operator can cause. */
export function runDaemon(options: DaemonOptions): DaemonHandle {
  const daemon = new Daemon(options);
  return { done: daemon.run(), reload: () => daemon.reload(), stop: (reason) => daemon.stop(reason) };
}

class Daemon {
  readonly #options: DaemonOptions;
  readonly #clock: Clock = systemClock;
  readonly #startedAt = Date.now();
  #configs: ConfigInForce | undefined;
  #rootLog: RootLog | undefined;
  #log: Log | undefined;
  #service: ServiceLife | undefined;
  #host: PluginHost | undefined;
  #running: Running | undefined;
  #exitCode = 0;
  #end: (() => void) | undefined;
  #stopReason: string | undefined;
  readonly #stopping = new AbortController();
  /** Settles when the start is over, well or not. */
  #started: Promise<void> = Promise.resolve();
  readonly #turns = new ReloadTurns(() => this.#beginReload());

  constructor(options: DaemonOptions) {
    this.#options = options;
  }

  async run(): Promise<number> {
    const thread = this.#options.thread ?? new ReactorThread();
    try {
      return await this.#run(thread);
    } finally {
      await thread.end();
    }
  }

  async #run(thread: ReactorThread): Promise<number> {
    const { configPath } = this.#options;
    const builtins = await loadBuiltins();
    const source = new ConfigSource({
      ...this.#options,
      builtins,
      binFolder: BIN_FOLDER,
      clock: this.#clock,
      signal: this.#stopping.signal,
      known: (plugin) => this.#host?.declared(plugin),
    });
    const file = await source.read();
    const loaded = await source.load(file);
    if (this.#isStopping()) return this.#exitCode;
    if (!loaded.ok) {
      process.stderr.write(loaded.text);
      return EXIT_FAILED;
    }
    this.#configs = new ConfigInForce(loaded.config, file.ok ? file.text : '');
    const sink = attempt(() => openSink(sinkSettings(loaded.config)));
    if (!sink.ok) {
      process.stderr.write(`error: ${sink.reason}\n`);
      return EXIT_FAILED;
    }
    this.#rootLog = new RootLog(logSettings(loaded.config), sink.value);
    this.#rootLog.scrubber.set(secretsOf(loaded.config.tree));
    this.#log = this.#rootLog.log('daemon');
    this.#service = new ServiceLife({
      settings: loaded.config.environment,
      environment: this.#options.env,
      log: this.#log,
      sink: sink.value,
      clock: this.#clock,
    });
    for (const warning of loaded.warnings) this.#log.warn({ warning }, 'configuration');
    if (configPath !== undefined && file.ok)
      await Commits.heed(configPath, file.text, revisionLimit(loaded.config), this.#clock, this.#rootLog.log('config'));
    const closers: (() => Promise<void> | void)[] = [];
    const uncaught = (error: unknown): void => this.#uncaught(error);
    process.on('uncaughtException', uncaught).on('unhandledRejection', uncaught);
    try {
      const start = this.#start(source, builtins, thread, closers);
      this.#started = start.catch(() => undefined);
      await start;
      if (this.#stopReason === undefined) await new Promise<void>((resolve) => (this.#end = resolve));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#log.error({ error: message }, 'the daemon cannot start');
      process.stderr.write(`error: ${message}\n`);
      this.#exitCode ||= EXIT_FAILED;
    }
    await this.#close(closers);
    process.off('uncaughtException', uncaught).off('unhandledRejection', uncaught);
    await this.#service.release();
    await sink.value.close();
    return this.#exitCode;
  }

  /**
   * Modules of others run in this thread (`use ./x.js`), and what one of them forgets to catch lands here: it is reported, and the daemon
   * goes on; sessions live in another thread. A broken promise of our own code still ends the process, with Cease.
   */
  #uncaught(error: unknown): void {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#log?.error({ error: message }, 'an error nobody caught, of a plugin in this process or of the engine');
    if (error instanceof Bug || this.#running === undefined) {
      this.#exitCode ||= EXIT_FAILED;
      this.stop('internal error');
      return;
    }
    const [subject = ''] = message.split('\n');
    this.#running.bus.report({ severity: 'error', code: 'uncaught-error', source: 'daemon', subject, message });
  }

  /** During the start as well: plugins that are still coming up are not waited for. */
  stop(reason: string): void {
    if (this.#stopReason === undefined) this.#service?.stopping(reason);
    this.#stopReason ??= reason;
    this.#stopping.abort();
    this.#end?.();
    if (this.#running === undefined) void this.#host?.stop('shutdown');
  }

  /** One at a time; all requests during one share the next, which reads the file again. Never rejects. */
  reload(): Promise<ReloadOutcome> {
    return this.#turns.request();
  }

  #isStopping(): boolean {
    return this.#stopReason !== undefined;
  }

  #beginReload(): Promise<ReloadOutcome> {
    const done = this.#turns
      .inTurn(() => this.#reload())
      .catch((error: unknown) => this.#refuse([error instanceof Error ? error.message : String(error)]));
    const closed = this.#service?.reload(
      done.then((outcome) => (outcome.ok ? this.#status() : `${this.#status()}; the last reload was refused`)),
    );
    this.#running?.bus.report({
      severity: 'warning',
      code: 'log-file',
      source: 'daemon',
      subject: 'log',
      message: closed ?? '',
      clear: closed === undefined,
    });
    return done;
  }

  async #start(
    source: ConfigSource,
    builtins: readonly BuiltinPlugin[],
    thread: ReactorThread,
    closers: (() => Promise<void> | void)[],
  ): Promise<void> {
    const configs = this.#configs;
    const rootLog = this.#rootLog;
    const log = this.#log;
    const service = this.#service;
    if (configs === undefined || rootLog === undefined || log === undefined || service === undefined) return;
    const config = configs.active;
    if (!config.environment.reactorThread) await thread.end();
    const clock = this.#clock;
    const { env, flags } = this.#options;
    const uid = process.getuid?.() ?? 0;
    service.claim();

    const registry = new CodecRegistry();
    const codecs: NlriCaller = {
      decodeNlri: (plugin, input) => this.#nlri().decodeNlri(plugin, input),
      encodeNlri: (plugin, input) => this.#nlri().encodeNlri(plugin, input),
    };
    const codec = new WireCodec(registry, codecs);
    const bus = new EventBus({
      clock,
      log: rootLog.log('bus'),
      registry,
      reports: new ReportBus(() => clock.wall(), undefined, rootLog.scrubber.value),
      read: (question) => codec.answer(question),
    });
    bus.setBindings(bindingsByPeer(config));
    const questions = new Questions({
      clock,
      log: (subsystem) => rootLog.log(subsystem),
      report: (report) => bus.report(report),
      host: () => this.#host,
    });
    const { port: reactor, close: closeReactor } = await startReactor({
      thread: config.environment.reactorThread ? thread : undefined,
      clock,
      log: (subsystem) => rootLog.log(subsystem),
      bus,
      question: (question) => questions.answer(question),
      onLost: (reason) => {
        log.error({ reason }, 'the reactor is gone, the daemon stops');
        this.#exitCode = EXIT_FAILED;
        this.stop('internal error');
      },
    });
    closers.push(closeReactor);
    bus.connect(reactor);

    const parser = new RouteCommands(registry);
    const originations = new Originations(reactor);
    const routes = new RouteUpdates(parser, codecs, originations, (peer) => bus.directory.at(peer).remoteAddress);
    const steering: DaemonSteering = {
      version: this.#options.version,
      startedAt: this.#startedAt,
      configPath: this.#options.configPath ?? '-',
      state: () => (this.#isStopping() ? 'stopping' : this.#running === undefined ? 'starting' : 'running'),
      config: (plugin) => configs.of(plugin !== undefined && this.#host?.changeover.isFresh(plugin) === true),
      host: () => this.#host,
      reload: () => this.reload(),
      stop: (reason) => this.stop(reason),
      declarations: () => source.declarations(configs.active.plugins),
      commits: () => this.#running?.commits,
    };
    const context = commandContext({
      clock,
      reactor,
      bus,
      routes,
      rootLog,
      daemon: steering,
      doctor: {
        env,
        flags,
        uid,
        builtins: source.autoloaded,
        read: async (text, loading) => (await source.parseAs(text, loading)).result,
      },
    });
    const dispatcher = new Dispatcher(context, builtInHandlers(), rootLog.log('command'));
    const door = await ControlDoor.open({
      path: controlSocketPath(flags['control.socket'] ?? (config.environment.controlSocket || undefined), env, uid),
      uid,
      ownerUid: service.uid,
      runner: dispatcher,
      log: rootLog.log('command.door'),
    });
    closers.push(() => door.close());
    if (service.becomesAnother) {
      for (const fault of await reactor.listen(config.reactor))
        log.error({ fault, user: config.environment.user }, 'a listener could not be opened, and may not be later');
      service.become(door.path);
    }

    preloadModules(config.plugins, source.folder);
    // The plugins of the reactor read its settings while they start: they are there before the peers are.
    await reactor.apply({ ...config.reactor, peers: [] });
    if (this.#isStopping()) return;
    let peersThere = (): void => undefined;
    let settling: Promise<void> | undefined = new Promise<void>((resolve) => {
      peersThere = () => {
        settling = undefined;
        resolve();
      };
    });
    const host = new PluginHost({
      clock,
      log: rootLog.log('plugin'),
      report: (report) => bus.report(report),
      services: engineServices({
        dispatcher,
        routes,
        queue: originations,
        codec,
        registry,
        peers: context.peers,
        bus,
        reactor,
        settling: () => settling,
        state: new StateStore(service.stateDirectory),
        dns: new DnsLookup({ clock }),
        maxDestinations: () => this.#configs?.active.environment.settings.number('fwd.dest.cap') ?? 4096,
        granted: (plugin, send, peer) => granted(steering, plugin, send, bus.directory.name(peer)),
        sees: (plugin, peer) => sees(steering, plugin, bus.directory.name(peer)),
        isPlugin: (name) => this.#host?.kindOf(name) !== undefined,
      }),
      commands: dispatcher,
      config: configs,
      events: bus,
      codecs: registry,
      builtins,
      startInReactor: (name, moduleUrl, pipe, bridge) => reactor.startPlugin(name, moduleUrl, pipe, bridge),
      stageTimeoutMs: config.environment.stageTimeoutMs,
      deliveryTimeoutMs: config.environment.deliveryTimeoutMs,
      stateDirectory: service.stateDirectory,
      configFolder: source.folder,
      binFolder: BIN_FOLDER,
      environment: service.environment,
      relayLevel: relayLevel(config.environment.logRelay),
      onFatal: (plugin, reason) => {
        log.error({ plugin, reason }, 'a plugin whose policy is fatal has failed, the daemon stops');
        this.#exitCode = EXIT_FATAL_PLUGIN;
        this.stop(`plugin ${plugin} failed`);
      },
      trace: stageLog(rootLog),
      scrub: rootLog.scrubber.text,
      onMoved: () => {
        questions.moved(reactor);
        reactor.awaitReady(this.#host?.sessionReporters() ?? []);
        reactor.nameFamilies(registry.names());
      },
    });
    this.#host = host;
    bus.setRoles((bindings) => host.unheldRoles(bindings));
    closers.push(() => host.stop('shutdown'));
    const outcome = await host.start(config.plugins, config.hub, needs(config));
    if (this.#isStopping()) return;
    if (!outcome.ok) {
      if (outcome.kind === 'fatal') this.#exitCode = EXIT_FATAL_PLUGIN;
      throw new Error(`plugin ${outcome.plugin}: ${outcome.reason}`);
    }

    const configRoutes = new ConfigRoutes(
      parser,
      codecs,
      {
        originate: (batch) => originations.originate(batch),
        judge: (peer, filters, message) => reactor.judge(peer, filters, message),
      },
      rootLog.log('config'),
    );
    const parts = { configs, clock, signal: this.#stopping.signal, reactor, bus, host, questions, configRoutes, rootLog, log };
    const transactions = new Transactions(parts);
    const commits = new Commits({
      configs,
      configPath: this.#options.configPath,
      limit: () => revisionLimit(configs.active),
      transactions,
      clock,
      log: rootLog.log('config'),
      report: (report) => bus.report(report),
      read: async (text) => (await source.parse(text)).result,
      established: async () => {
        const up = (await reactor.snapshot()).filter((peer) => peer.state === 'established');
        return new Set(up.map((peer) => peer.settings.name));
      },
      preview: ({ reactor: { peers } }) => configRoutes.preview(peers, bus.directory.list),
      inTurn: (work) => this.#turns.inTurn(work),
    });
    closers.push(() => commits.close());
    this.#running = { source, reactor, bus, transactions, commits };
    await applyPeers(parts, config.reactor);
    bus.onUp((peer) => void configRoutes.again(peer));
    peersThere();
    if (bus.writesUpdates) await warmUpEvents(registry, rootLog.log('bus'));
    await reactor.start();
    releaseYoungHeap();
    service.ready(this.#status(), () => reactor.statistics());
    const facts = { peers: config.reactor.peers.length, plugins: host.list().length, socket: door.path };
    if (this.#options.quiet === true) log.info(facts, 'zest ready');
    else rootLog.announce('daemon', facts, 'zest ready');
  }

  async #reload(): Promise<ReloadOutcome> {
    await this.#started;
    const running = this.#running;
    if (running === undefined || this.#isStopping()) return STOPPING;
    if (this.#options.configPath === undefined) {
      return { ok: false, errors: ['the configuration came by standard input: there is no file to read again'] };
    }
    if (running.commits.busy !== '') return this.#refuse([running.commits.busy]);
    const file = await running.source.read();
    // A file that was cut to nothing is being written, or was lost: no reason to end every session.
    if (file.ok && file.text.trim() === '') return this.#refuse([`${this.#options.configPath} is empty`]);
    const loaded = await running.source.load(file);
    if (this.#isStopping()) return STOPPING;
    if (!loaded.ok) return this.#refuse(loaded.errors);
    if (file.ok) this.#configs?.note(loaded.config, file.text);
    const before = this.#configs?.active.tree;
    this.#rootLog?.scrubber.set([before, loaded.config.tree].flatMap((tree) => (tree === undefined ? [] : secretsOf(tree))));
    const outcome = await running.transactions.run(loaded.config, loaded.warnings);
    if (this.#isStopping()) return STOPPING;
    if (!outcome.ok) return this.#refuse(outcome.errors, outcome.detail);
    this.#log?.info(happened(outcome.report), 'configuration reloaded');
    return outcome;
  }

  #refuse(said: readonly string[], detail: Readonly<Record<string, unknown>> = {}): ReloadOutcome {
    const errors = this.#rootLog?.scrubber.value(said) ?? said;
    this.#log?.error({ errors }, 'reload refused, the running configuration stays');
    this.#running?.bus.report({
      severity: 'error',
      code: 'reload-refused',
      source: 'config',
      subject: this.#options.configPath ?? '-',
      message: errors[0] ?? 'the configuration is invalid',
      detail,
    });
    return { ok: false, errors };
  }

  #nlri(): NlriCaller {
    if (this.#host === undefined) throw new Error('the plugins are not up yet');
    return this.#host;
  }

  /** For the service manager. */
  #status(): string {
    const peers = this.#configs?.active.reactor.peers.length ?? 0;
    return `running: ${peers} peers, ${this.#host?.list().length ?? 0} plugins`;
  }

  /** In reverse; what fails to close does not keep the rest from closing. Sessions get their Cease while the plugins still live. */
  async #close(closers: readonly (() => Promise<void> | void)[]): Promise<void> {
    const text = this.#stopReason === undefined || this.#stopReason.startsWith('SIG') ? 'shutdown' : this.#stopReason;
    await this.#running?.reactor.stop(text).catch(() => undefined);
    for (const close of [...closers].reverse()) {
      try {
        await close();
      } catch (error) {
        this.#log?.error({ error: error instanceof Error ? error.message : String(error) }, 'closing failed');
      }
    }
  }
}

function attempt<T>(make: () => T): { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string } {
  try {
    return { ok: true, value: make() };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

interface Running {
  readonly source: ConfigSource;
  readonly reactor: ReactorPort;
  readonly bus: EventBus;
  readonly transactions: Transactions;
  readonly commits: Commits;
}

function revisionLimit(config: RunningConfig): number {
  return config.environment.settings.number('config.revisions');
}

function relayLevel(text: string): RelayLevel {
  return (RELAY_LEVELS as readonly string[]).includes(text) ? (text as RelayLevel) : 'warn';
}

/** Lines of the five stages, for `ze.log.plugin.stage trace` and the demo. */
function stageLog(rootLog: RootLog): (event: { plugin: string; stage: number; direction: 'in' | 'out'; line: string }) => void {
  const log = rootLog.log('plugin.stage');
  return ({ plugin, stage, direction, line }) =>
    log.trace({ plugin, stage, direction: direction === 'in' ? 'received' : 'sent', line }, 'stage line');
}
