/**
 * What the plugins that only a candidate names say of it, before anybody commits: their programs are started for a trial, in a host of their
 * own, go through the five stages with the candidate, are asked to verify it, and end. Nothing they ask of the engine is served, and their
 * environment says what it is (`ZEST_PLUGIN_TRIAL=1`). Who cannot be asked is named with the reason.
 */
import { RpcError } from '../../sdk/rpc/errors.ts';
import { ENGINE_METHODS } from '../../yang/generated/methods.ts';
import type { Report } from '../bgp/port.ts';
import { EventBus } from '../bus/bus.ts';
import { CodecRegistry } from '../codec/registry.ts';
import type { RunningConfig } from '../config/running.ts';
import type { PluginSettings } from '../config/settings/plugin-settings.ts';
import type { PluginOutcome } from '../config/transaction/outcomes.ts';
import type { Clock } from '../core/clock.ts';
import { type Log, silentLog } from '../core/log.ts';
import { PluginHost } from '../host/host.ts';
import type { Surroundings } from '../host/options.ts';
import type { EngineServices } from '../host/services.ts';
import { RESTART_BOUNDS } from '../host/supervision.ts';
import { ConfigInForce } from './config-in-force.ts';
import { verifyFresh } from './fresh-verify.ts';
import { PluginParticipant } from './plugin-participant.ts';

export interface TrialParts {
  /** Of the daemon's own host. */
  readonly surroundings: Surroundings;
  readonly clock: Clock;
  readonly log: Log;
  /** The daemon stops. */
  readonly signal: AbortSignal;
}

const CONNECT_MS = 10_000;
const NO_NEEDS = { roots: [], families: [], receiveTypes: [], sendTypes: [] };
/** Failures that a commit would refuse the candidate for, or the plugin itself. */
const REFUSALS = ['plugin-config', 'plugin-registration', 'plugin-respawn'];

/** `added`: those that only the candidate names; `changed`: those that it names with other settings. One outcome each. */
export async function tryPlugins(
  candidate: RunningConfig,
  added: readonly string[],
  changed: readonly string[],
  parts: TrialParts,
): Promise<readonly PluginOutcome[]> {
  const named = (names: readonly string[]): readonly PluginSettings[] =>
    candidate.plugins.filter(({ name }) => names.includes(name));
  const programs = named(added).filter(({ run }) => run !== '');
  const inProcess = named(added).filter(({ run }) => run === '');
  return [
    ...(programs.length === 0 ? [] : await trial(candidate, programs, parts)),
    ...inProcess.map(({ name }) => notAsked(name, 'it runs in the process of the daemon, and is not started for a trial')),
    ...named(changed).map(({ name }) => notAsked(name, 'it runs with other settings, and is started anew by the commit')),
  ];
}

async function trial(
  candidate: RunningConfig,
  plugins: readonly PluginSettings[],
  parts: TrialParts,
): Promise<readonly PluginOutcome[]> {
  const failures = new Map<string, Report>();
  const note = (report: Report): void => {
    if (report.severity === 'error' && !failures.has(report.subject)) failures.set(report.subject, report);
  };
  const host = hostOf(candidate, parts, note);
  const stop = (): void => void host.stop('the daemon stops');
  parts.signal.addEventListener('abort', stop, { once: true });
  try {
    const started = await host.start(plugins, [], NO_NEEDS);
    const outcomes: PluginOutcome[] = [];
    for (const { name } of plugins) {
      const running = host.running().find((one) => one.name === name);
      if (running !== undefined) {
        const ack = await verifyFresh(new PluginParticipant(running, host, parts.clock), candidate, parts.signal);
        if (ack === undefined || ack.code === 'ok') outcomes.push(outcome(name, 'verified', 'ok', ''));
        else outcomes.push(outcome(name, 'refused', ack.code, `verify: ${ack.error}`));
      } else if (!started.ok && started.plugin === name) outcomes.push(outcome(name, 'refused', 'error', started.reason));
      else outcomes.push(down(name, failures.get(name)));
    }
    return outcomes;
  } finally {
    parts.signal.removeEventListener('abort', stop);
    await host.stop('the trial is over');
  }
}

function down(name: string, failure: Report | undefined): PluginOutcome {
  const message = failure?.message ?? 'it did not start';
  return failure !== undefined && REFUSALS.includes(failure.code)
    ? outcome(name, 'refused', 'error', message)
    : notAsked(name, message);
}

function notAsked(name: string, why: string): PluginOutcome {
  return outcome(name, 'not-asked', 'transient', `could not be asked: ${why}`);
}

function outcome(name: string, state: PluginOutcome['state'], code: PluginOutcome['code'], error: string): PluginOutcome {
  return { name, state, code, operations: 0, error };
}

function hostOf(candidate: RunningConfig, parts: TrialParts, report: (report: Report) => void): PluginHost {
  const { clock, log, surroundings } = parts;
  const codecs = new CodecRegistry();
  return new PluginHost({
    ...surroundings,
    clock,
    log: log.child({ trial: true }),
    report,
    services: SERVICES,
    commands: {
      add: () => [],
      remove: () => undefined,
      has: () => true,
      checkPipe: () => undefined,
      addPipes: () => undefined,
      list: () => [],
    },
    config: new ConfigInForce(candidate),
    events: new EventBus({ clock, log: silentLog, registry: codecs }),
    codecs,
    builtins: [],
    startInReactor: undefined,
    deliveryTimeoutMs: CONNECT_MS,
    stateDirectory: undefined,
    environment: { ...surroundings.environment, ZEST_PLUGIN_TRIAL: '1' },
    restarts: { ...RESTART_BOUNDS, inLife: 0 },
    connectTimeoutMs: CONNECT_MS,
    onFatal: () => undefined,
  });
}

function refuse(): never {
  throw new RpcError('error', 'this is a trial of a configuration: nothing is served');
}

const SERVICES: EngineServices = {
  calls: Object.fromEntries(ENGINE_METHODS.map((method) => [method, refuse])),
  dispatch: refuse,
};
