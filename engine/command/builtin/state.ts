/** State and control of the daemon: `show …`, `daemon …`, `plugin list`, `log …` (daemon-cli §7.5, §7.6). */
import type { LogRecord } from '../../bgp/port.ts';
import { nearest } from '../../core/nearest.ts';
import type { ReportEntry } from '../../bus/reports.ts';
import type { Call, Handler } from '../dispatch.ts';
import { CommandError, didYouMean } from '../fault.ts';
import { elapsed, isoTime } from './elapsed.ts';

/** The answer to `daemon shutdown` gets this long to leave the socket. */
const FAREWELL_MS = 100;

export const stateCommands: Readonly<Record<string, Handler>> = {
  'show-version': ({ context }) => ({ version: context.version, node: process.version }),
  'show-uptime': ({ context }) => {
    const ms = context.clock.wall() - context.daemon.startedAt;
    return { uptime: elapsed(ms), 'uptime-seconds': Math.floor(ms / 1000), started: isoTime(context.daemon.startedAt) };
  },
  'show-health': health,
  'show-warnings': ({ context }) => context.reports.warnings().map(reportFields),
  'show-errors': ({ context }) => context.reports.errors().map(reportFields),
  'plugin-list': ({ context }) => ({ plugins: context.plugins.list().map((plugin) => ({ ...plugin })) }),
  'daemon-status': daemonStatus,
  'daemon-reload': reload,
  'daemon-shutdown': ({ context, caller }) => {
    context.clock.after(FAREWELL_MS, () => context.daemon.stop(`daemon shutdown by ${caller.user}`));
    return { status: 'stopping' };
  },
  'log-levels': ({ context }) => ({ levels: { ...context.logs.levels() } }),
  'log-set': logSet,
  'log-recent': logRecent,
};

function reportFields(report: ReportEntry): unknown {
  return {
    source: report.source,
    code: report.code,
    severity: report.severity,
    subject: report.subject,
    message: report.message,
    detail: report.detail ?? {},
    raised: report.raised,
    updated: report.updated,
  };
}

function health({ context }: Call): unknown {
  const at = isoTime(context.clock.wall());
  const parts = context.reports.health();
  const status = parts.some((part) => part.status === 'down')
    ? 'down'
    : parts.some((part) => part.status === 'degraded')
      ? 'degraded'
      : 'healthy';
  return {
    status,
    components: parts.map((part) => ({ name: part.name, status: part.status, reason: part.reason, 'checked-at': at })),
    'checked-at': at,
  };
}

async function daemonStatus({ context }: Call): Promise<unknown> {
  const { daemon, clock, plugins, reactor } = context;
  const peers = await reactor.snapshot();
  const ms = clock.wall() - daemon.startedAt;
  return {
    status: daemon.state(),
    version: context.version,
    pid: daemon.pid,
    uptime: elapsed(ms),
    started: isoTime(daemon.startedAt),
    config: daemon.configPath,
    'router-id': daemon.routerId(),
    'local-as': daemon.localAs(),
    'peers-configured': peers.length,
    'peers-established': peers.filter((peer) => peer.state === 'established').length,
    'plugins-running': plugins.list().filter((plugin) => plugin.state === 'running').length,
    warnings: context.reports.warnings().length,
  };
}

async function reload({ context }: Call): Promise<unknown> {
  const outcome = await context.daemon.reload();
  if (!outcome.ok) throw new CommandError('failed', `the running configuration is unchanged: ${outcome.errors.join('; ')}`);
  return { status: 'reloaded', ...outcome.report };
}

function logSet({ context, args }: Call): unknown {
  const subsystem = args.text('subsystem');
  const level = args.text('level').toLowerCase();
  const reason = context.logs.set(subsystem, level);
  if (reason !== undefined) {
    const near = didYouMean(nearest(subsystem, context.logs.subsystems()));
    throw new CommandError('argument', `${reason}${near}`, args.column('subsystem'));
  }
  return { subsystem, level };
}

const LEVELS: readonly LogRecord['level'][] = ['error', 'warn', 'info', 'debug', 'trace'];
const RECENT_DEFAULT = 50;

function logRecent({ context, args }: Call): unknown {
  const level = args.text('level').toLowerCase();
  const worst = level === '' ? LEVELS.length : LEVELS.findIndex((one) => one === level);
  const component = args.text('component');
  const count = args.number('count') ?? RECENT_DEFAULT;
  const lines = context.logs
    .recent()
    .filter((line) => LEVELS.indexOf(line.level) <= worst)
    .filter((line) => component === '' || line.subsystem === component || line.subsystem.startsWith(`${component}.`));
  return lines.slice(-count).map((line) => ({
    time: isoTime(line.at),
    level: line.level,
    subsystem: line.subsystem,
    message: line.message,
    fields: { ...line.fields },
  }));
}
