/**
 * Reloads as transactions (plugin-lifecycle §12): the candidate's own plugins start, every plugin that wants what changes is asked, the
 * engine takes its steps, and either all of it is in force or nothing is.
 */
import { type ConfigDiff, diffConfigs } from '../config/diff.ts';
import type { RunningConfig } from '../config/running.ts';
import { Changes } from '../config/transaction/changes.ts';
import type { PluginOutcome } from '../config/transaction/outcomes.ts';
import { Transaction, TransactionIds, type TransactionResult } from '../config/transaction/transaction.ts';
import type { Clock } from '../core/clock.ts';
import { ConfigEvents } from './config-events.ts';
import { verifyFresh } from './fresh-verify.ts';
import { bindingsByPeer, bindingsWith, needs } from './config-in-force.ts';
import { applyPeers, ConfigSteps, type StepParts } from './config-steps.ts';
import { PluginParticipant } from './plugin-participant.ts';
import { refilter } from './questions.ts';
import { RestartNeeds } from './restart-needs.ts';
import { tryPlugins } from './trial.ts';

export interface TransactionParts extends StepParts {
  readonly clock: Clock;
  /** The daemon stops. */
  readonly signal: AbortSignal;
}

export type ReloadOutcome =
  | { readonly ok: true; readonly report: Readonly<Record<string, unknown>> }
  | {
      readonly ok: false;
      readonly errors: readonly string[];
      /** For reports: who took part and what became of it. */
      readonly detail?: Readonly<Record<string, unknown>> | undefined;
    };

/** What everyone says of a candidate that is not put in force. */
export type CheckOutcome = { readonly diff: ConfigDiff; readonly plugins: readonly PluginOutcome[] } & (
  | { readonly ok: true }
  | { readonly ok: false; readonly error: string }
);

export class Transactions {
  readonly #parts: TransactionParts;
  readonly #events: ConfigEvents;
  readonly #ids = new TransactionIds();
  readonly #restart: RestartNeeds;
  /** One trial at a time. */
  #trying: Promise<unknown> = Promise.resolve();

  constructor(parts: TransactionParts) {
    this.#parts = parts;
    this.#restart = new RestartNeeds({ configs: parts.configs, log: parts.log, report: (report) => parts.bus.report(report) });
    this.#events = new ConfigEvents(parts.bus, () => (parts.configs.candidate ?? parts.configs.active).syntax.schema);
  }

  /**
   * Puts the candidate in force, or leaves everything as it was. One at a time. `persist` writes the file when everyone has committed;
   * when it rejects nothing is undone, and the report says `saved: false`.
   */
  async run(candidate: RunningConfig, warnings: readonly string[], persist?: () => Promise<void>): Promise<ReloadOutcome> {
    const { configs, clock } = this.#parts;
    const before = configs.active;
    const diff = diffConfigs(before, candidate);
    const id = this.#ids.next(clock.wall());
    const steps = new ConfigSteps(this.#parts, before, candidate, diff);
    if (diff.empty) {
      try {
        await persist?.();
      } catch (error) {
        return { ok: false, errors: [`the configuration could not be saved: ${messageOf(error)}`] };
      }
      configs.active = candidate;
      steps.report.unchanged.push(...candidate.reactor.peers.map((peer) => peer.name));
      return {
        ok: true,
        report: report(id, steps, diff.plugins, [], [], { refreshed: [], stale: [] }, this.#warnings(warnings), true),
      };
    }
    const refused = await this.#begin(before, candidate, [...diff.plugins.added, ...diff.plugins.changed]);
    if (refused !== undefined) return { ok: false, errors: [refused], detail: { 'transaction-id': id } };
    const objection = await this.#askFresh(candidate);
    if (objection !== undefined) {
      await this.#giveUp(before);
      return { ok: false, errors: [objection, `transaction ${id}`], detail: { 'transaction-id': id, phase: 'verify' } };
    }
    const stopped: string[] = [];
    const result = await this.#transact(id, candidate, steps, leavingOf(diff), stopped, persist);
    configs.candidate = undefined;
    if (!result.ok) return await this.#failed(result, before);
    const refilters = await refilter(this.#parts.reactor, this.#parts.log, before.reactor.peers, candidate.reactor.peers);
    const said = [...this.#warnings(warnings), ...this.#restart.changed(before, candidate)];
    return { ok: true, report: report(id, steps, diff.plugins, stopped, result.plugins, refilters, said, result.saved) };
  }

  /** Asks every running plugin what it makes of the candidate; nothing is started, applied or stopped. */
  async check(candidate: RunningConfig): Promise<CheckOutcome> {
    const { configs, clock } = this.#parts;
    const diff = diffConfigs(configs.active, candidate);
    if (diff.empty) return { ok: true, diff, plugins: [] };
    const steps = new ConfigSteps(this.#parts, configs.active, candidate, diff);
    const participants = this.#participants(leavingOf(diff));
    const { signal } = this.#parts;
    const transaction = new Transaction({
      id: this.#ids.next(clock.wall()),
      clock,
      signal,
      changes: new Changes(configs.active, candidate),
      participants: [...participants.values()],
      steps: steps.list(),
      emit: this.#events.emit,
      tap: this.#events.tap,
      commit: () => undefined,
      broken: () => undefined,
      warn: () => undefined,
    });
    const result = await transaction.verify();
    if (result.ok) return { ok: true, diff, plugins: result.plugins };
    const { phase = '', plugin, message, plugins } = result;
    return { ok: false, diff, plugins, error: `${plugin === '' ? '' : `plugin ${plugin}: `}${phase}: ${message}` };
  }

  /** The same of plugins that only the candidate names; started for a trial. Nothing of the daemon waits for it. */
  tryNew(candidate: RunningConfig, { plugins }: ConfigDiff): Promise<readonly PluginOutcome[]> {
    const { clock, log, signal, host } = this.#parts;
    const parts = { clock, log, signal, surroundings: host.surroundings };
    const asked = this.#trying.then(() => tryPlugins(candidate, plugins.added, plugins.changed, parts));
    this.#trying = asked.catch(() => undefined);
    return asked;
  }

  /** Those of the text, and what its filter chains name that no plugin offers. */
  #warnings(ofText: readonly string[]): readonly string[] {
    return [...ofText, ...this.#parts.questions.undeclared()];
  }

  /** Starts what the candidate adds. Returns why it must not be. */
  async #begin(before: RunningConfig, candidate: RunningConfig, fresh: readonly string[]): Promise<string | undefined> {
    const { configs, bus, host } = this.#parts;
    configs.candidate = candidate;
    bus.setBindings(bindingsWith(before, candidate, fresh));
    const outcome = await host.changeover.extend(candidate.plugins, needs(candidate));
    if (outcome.ok) return undefined;
    await this.#giveUp(before);
    return `plugin ${outcome.plugin}: ${outcome.reason}`;
  }

  /** Those who have started for the candidate say what they make of it; the first objection. */
  async #askFresh(candidate: RunningConfig): Promise<string | undefined> {
    const { host, clock, signal } = this.#parts;
    for (const plugin of host.running()) {
      if (host.kindOf(plugin.name) !== 'external' || !host.changeover.isFresh(plugin.name)) continue;
      const ack = await verifyFresh(new PluginParticipant(plugin, host, clock), candidate, signal);
      if (ack !== undefined && ack.code !== 'ok') return `plugin ${plugin.name}: verify: ${ack.error}`;
    }
    return undefined;
  }

  #transact(
    id: string,
    candidate: RunningConfig,
    steps: ConfigSteps,
    leaving: readonly string[],
    stopped: string[],
    persist: (() => Promise<void>) | undefined,
  ): Promise<TransactionResult> {
    const { configs, clock, signal, host, log } = this.#parts;
    const participants = this.#participants(leaving);
    const transaction = new Transaction({
      id,
      clock,
      signal,
      changes: new Changes(configs.active, candidate),
      participants: [...participants.values()],
      steps: steps.list(),
      emit: this.#events.emit,
      tap: this.#events.tap,
      commit: () => {
        configs.active = candidate;
        configs.candidate = undefined;
      },
      broken: (plugin, reason) => {
        if (participants.get(plugin)?.replaced() !== true) host.restart(plugin, `config transaction: ${reason}`);
      },
      persist,
      warn: (plugin, message) => log.warn({ transaction: id, plugin, reason: message }, 'config transaction'),
      finish: async () => {
        stopped.push(...(await host.changeover.settle(candidate.plugins, needs(candidate))));
        // What they had put into OPENs goes with them.
        if (stopped.length > 0) await applyPeers(this.#parts, candidate.reactor);
      },
    });
    return transaction.run();
  }

  /** Everyone who runs, but for those that leave with the candidate or have started for it. */
  #participants(leaving: readonly string[]): ReadonlyMap<string, PluginParticipant> {
    const { host, clock } = this.#parts;
    return new Map(
      host
        .running()
        .filter(({ name }) => !leaving.includes(name) && !host.changeover.isFresh(name))
        .map((plugin) => [plugin.name, new PluginParticipant(plugin, host, clock)]),
    );
  }

  async #failed(result: TransactionResult & { readonly ok: false }, before: RunningConfig): Promise<ReloadOutcome> {
    const { id, phase, plugin, message, plugins } = result;
    if (phase === undefined) return { ok: false, errors: [message] };
    await this.#giveUp(before);
    const isPlugin = plugins.some((one) => one.name === plugin);
    const reason = `${phase}: ${message}`;
    if (isPlugin) this.#parts.host.noteFault(plugin, `config ${reason}`);
    return {
      ok: false,
      errors: [isPlugin ? `plugin ${plugin}: ${reason}` : reason, ...plugins.flatMap(unrest), `transaction ${id}`],
      detail: { 'transaction-id': id, phase, plugin, code: result.code, plugins },
    };
  }

  /** Nothing of the candidate stays. */
  async #giveUp(before: RunningConfig): Promise<void> {
    const { configs, bus, host } = this.#parts;
    await host.changeover.abandon();
    configs.candidate = undefined;
    bus.setBindings(bindingsByPeer(before));
  }
}

function leavingOf({ plugins }: ConfigDiff): readonly string[] {
  return [...plugins.removed, ...plugins.changed];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What an operator should know of the others in a failed transaction. */
function unrest({ name, state, error }: PluginOutcome): readonly string[] {
  if (state === 'rolled-back') return [`plugin ${name}: rolled back`];
  return state === 'broken' ? [`plugin ${name}: broken, started anew (${error})`] : [];
}

function report(
  id: string,
  steps: ConfigSteps,
  plugins: { readonly added: readonly string[]; readonly removed: readonly string[]; readonly changed: readonly string[] },
  stopped: readonly string[],
  outcomes: readonly PluginOutcome[],
  refilters: Awaited<ReturnType<typeof refilter>>,
  warnings: readonly string[],
  saved: boolean,
): Readonly<Record<string, unknown>> {
  const { added, removed, changed, unchanged, reset } = steps.report;
  return {
    'transaction-id': id,
    'peers-added': added,
    'peers-removed': removed,
    'peers-changed': changed,
    'peers-reset': reset,
    'peers-unchanged': unchanged.length,
    'peers-refreshed': refilters.refreshed,
    'peers-to-clear': refilters.stale,
    'plugins-added': plugins.added,
    'plugins-removed': plugins.removed,
    'plugins-changed': plugins.changed,
    'plugins-stopped': stopped,
    plugins: outcomes.map(({ name, state, operations }) => ({ name, state, operations })),
    warnings,
    ...(saved ? {} : { saved }),
  };
}

/** A report for the log: what did not happen is not told. */
export function happened(report: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(report).filter(([, value]) => !Array.isArray(value) || value.length > 0));
}
