// What commands see of the engine.
import { formatIpv4 } from '../../sdk/wire/address.ts';
import type { ProcessBinding, ReactorPort } from '../bgp/port.ts';
import type { EventBus } from '../bus/bus.ts';
import type { CommandContext, HealthPart, PluginCommands, PluginEntry } from '../command/context.ts';
import type { DeclaredPlugin } from '../config/schema/declared.ts';
import type { PluginSettings } from '../config/settings/plugin-settings.ts';
import type { RunningConfig } from '../config/running.ts';
import type { Clock } from '../core/clock.ts';
import { LOG_LEVELS, type LogLevel, type RootLog } from '../core/root-log.ts';
import type { PluginHost, PluginRow } from '../host/host.ts';
import { doctor, type DoctorParts } from './doctor.ts';
import { enrich, enrichers } from './enrich.ts';
import { pluginCandidates } from './plugin-completion.ts';

/** The daemon, as far as commands steer it. */
export interface DaemonSteering {
  readonly version: string;
  readonly startedAt: number;
  readonly configPath: string;
  state: CommandContext['daemon']['state'];
  /** The one in force; for a plugin that a transaction has started, the candidate. */
  config(plugin?: string): RunningConfig | undefined;
  host(): PluginHost | undefined;
  declarations: CommandContext['plugins']['declarations'];
  reload: CommandContext['daemon']['reload'];
  stop(reason: string): void;
  /** Once the daemon runs. */
  commits(): CommandContext['config'];
}

export interface ContextParts {
  readonly clock: Clock;
  readonly reactor: ReactorPort;
  readonly bus: EventBus;
  readonly routes: CommandContext['routes'];
  readonly rootLog: RootLog;
  readonly daemon: DaemonSteering;
  readonly doctor: Omit<DoctorParts, 'clock' | 'bus' | 'config' | 'host' | 'configPath'>;
}

export function commandContext(parts: ContextParts): CommandContext {
  const { clock, reactor, bus, routes, rootLog, daemon } = parts;
  const plugins = pluginCommands(bus, daemon);
  return {
    version: daemon.version,
    clock,
    reactor,
    peers: { list: () => bus.directory.list },
    routes,
    plugins,
    events: bus,
    reports: {
      warnings: () => bus.reports.warnings(),
      errors: () => bus.reports.errors(),
      health: () => health(bus, plugins.list()),
    },
    doctor: doctor({
      ...parts.doctor,
      clock,
      bus,
      configPath: daemon.configPath,
      config: () => daemon.config(),
      host: () => daemon.host(),
    }),
    daemon: {
      pid: process.pid,
      startedAt: daemon.startedAt,
      configPath: daemon.configPath,
      state: () => daemon.state(),
      routerId: () => {
        const config = daemon.config();
        return config === undefined ? '' : formatIpv4(config.reactor.routerId);
      },
      localAs: () => daemon.config()?.reactor.localAs ?? 0,
      reload: () => daemon.reload(),
      stop: (reason) => daemon.stop(reason),
    },
    get config() {
      return daemon.commits();
    },
    logs: {
      levels: () => rootLog.levels(),
      subsystems: () => rootLog.subsystems(),
      set: (subsystem, level) => {
        if (!rootLog.subsystems().includes(subsystem)) return `unknown subsystem: ${subsystem.slice(0, 64)}`;
        if (!isLevel(level)) return `unknown level "${level.slice(0, 32)}" (${LOG_LEVELS.join(', ')})`;
        rootLog.set(subsystem, level);
        return undefined;
      },
      recent: () =>
        rootLog.recent().map(({ at, level, subsystem, message, fields }) => ({
          at,
          level: level === 'disabled' ? 'error' : level,
          subsystem,
          message,
          fields: fields as Readonly<Record<string, unknown>>,
        })),
    },
  };
}

function pluginCommands(bus: EventBus, daemon: DaemonSteering): PluginCommands {
  const running = (plugin: string): PluginHost => {
    const host = daemon.host();
    if (host === undefined) throw new Error(`${plugin}: the plugin host is not up yet`);
    return host;
  };
  return {
    list: () => (daemon.host()?.list() ?? []).map(entry),
    execute: (plugin, input, signal) => running(plugin).execute(plugin, input, signal),
    granted: (plugin, send, peer) => granted(daemon, plugin, send, bus.directory.at(peer).name),
    declarations: daemon.declarations,
    declared: () => declaredPlugins(daemon.config()?.plugins ?? [], daemon.host()),
    modules: () => daemon.host()?.registry.schemas.modules() ?? [],
    subscribe: (plugin, words) => daemon.host()?.stream(plugin)?.subscribeCommand(words) ?? notThere(daemon, plugin),
    unsubscribe: (plugin, words) => daemon.host()?.stream(plugin)?.unsubscribeCommand(words) ?? notThere(daemon, plugin),
    complete: async (plugin, command, words, signal) => pluginCandidates(running(plugin), plugin, command, words, signal),
    decodeCapability: async (code, hex) => daemon.host()?.decodeCapability(code, hex),
    enrichers: () => enrichers(daemon.host()),
    enrich: async (plugin, input, signal) => enrich(running(plugin), plugin, input, signal),
  };
}

function declaredPlugins(plugins: readonly PluginSettings[], host: PluginHost | undefined): readonly DeclaredPlugin[] {
  return plugins.flatMap(({ name, run, use }) => {
    const { schema, families } = host?.declared({ name, run, use }) ?? {};
    if (schema === undefined && families === undefined) return [];
    const declaration = { ...(schema === undefined ? {} : { schema }), ...(families === undefined ? {} : { families }) };
    return [{ plugin: name, run, use, declaration }];
  });
}

function notThere(daemon: DaemonSteering, plugin: string): string | undefined {
  return daemon.host()?.stream(plugin) === undefined ? 'plugin process not running' : undefined;
}

/** Built-in plugins and modules that the operator put into this process (`use`) may send everything; an external one what `process NAME { send [ … ] }` of the peer grants (design §5). */
export function granted(daemon: Pick<DaemonSteering, 'config' | 'host'>, plugin: string, send: string, peer: string): boolean {
  const kind = daemon.host()?.kindOf(plugin);
  if (kind === 'built-in' || kind === 'in-process') return true;
  const bindings = daemon.config(plugin)?.processBindings.get(plugin) ?? [];
  return bindings.some((one) => one.peer === peer && sends(one.binding, send));
}

/** The same for what it may see: `receive [ update ]`. */
export function sees(daemon: Pick<DaemonSteering, 'config' | 'host'>, plugin: string, peer: string): boolean {
  const kind = daemon.host()?.kindOf(plugin);
  if (kind === 'built-in' || kind === 'in-process') return true;
  const bindings = daemon.config(plugin)?.processBindings.get(plugin) ?? [];
  return bindings.some((one) => one.peer === peer && one.binding.receive.includes('update'));
}

function sends(binding: ProcessBinding, send: string): boolean {
  return binding.send.includes(send);
}

function entry(row: PluginRow): PluginEntry {
  return {
    name: row.name,
    kind: row.kind,
    placement: row.placement,
    stage: row.stage,
    state: row.state,
    policy: row.policy,
    restarts: row.restarts,
    pid: row.pid ?? 0,
    'queue-batches': row.queueBatches,
    'queue-bytes': row.queueBytes,
    events: row.events,
    dropped: row.dropped,
    commands: row.commands,
    since: new Date(row.since).toISOString(),
    'last-error': row.lastError,
  };
}

function health(bus: EventBus, plugins: readonly PluginEntry[]): readonly HealthPart[] {
  const warnings = bus.reports.warnings();
  const down = plugins.filter((plugin) => plugin.state === 'failed' || plugin.state === 'disabled');
  const listeners = warnings.filter((warning) => warning.code.startsWith('listen'));
  return [
    part(
      'bgp',
      listeners.map((warning) => warning.message),
    ),
    part(
      'plugins',
      down.map((plugin) => `${plugin.name} is ${plugin.state}`),
    ),
    part(
      'events',
      warnings.filter((warning) => warning.source === 'bus').map((warning) => `${warning.subject}: ${warning.message}`),
    ),
  ];
}

function part(name: string, reasons: readonly string[]): HealthPart {
  return { name, status: reasons.length === 0 ? 'healthy' : 'degraded', reason: reasons.join('; ') };
}

function isLevel(text: string): text is LogLevel {
  return (LOG_LEVELS as readonly string[]).includes(text);
}
