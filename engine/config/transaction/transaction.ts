/**
 * A configuration transaction over the engine and its plugins (plugin-lifecycle §12): verify → plan → operation verify → apply →
 * commit; what was applied is undone in reverse when anything fails. One `Transaction` is one run.
 *
 * Nothing here knows how a plugin is reached or what the engine's steps do. The point of no return is `commit`: before it every failure
 * leads back to the state before, after it failures are told and nothing is undone.
 */
import type { ConfigOperation, Readiness } from '../../../yang/generated/methods.ts';
import type { Clock } from '../../core/clock.ts';
import { Allowance, phaseSeconds } from './allowance.ts';
import { ask, seconds } from './asking.ts';
import type { Changes } from './changes.ts';
import type { PluginOutcome } from './outcomes.ts';
import type { AckCode, EngineStep, EventSink, Participant } from './participant.ts';
import type { Member, PlanNode } from './plan.ts';
import { Preparation, type Prepared } from './preparation.ts';
import { type EventTap, READINESS_MS, ReadinessWatch } from './readiness.ts';
import { type Failure, type Phase, TransactionRecord } from './record.ts';
import { type Applied, Rollback } from './rollback.ts';

/** config-operation-commit and config-committed, each. */
export const COMMIT_MS = 5000;
/** Who is silent for so long in verify, and asked for no budget, hangs. */
export const HANGS_MS = 1000;

export interface TransactionOptions {
  /** `tx-<unix-nanoseconds>` */
  readonly id: string;
  readonly clock: Clock;
  readonly changes: Changes;
  /** Running plugins; who asked for nothing that changes is left out here. */
  readonly participants: readonly Participant[];
  readonly steps: readonly EngineStep[];
  readonly emit: EventSink;
  readonly tap: EventTap;
  /** The daemon stops: the transaction ends where it is, without a word to anyone. */
  readonly signal: AbortSignal;
  /** The candidate is in force from here on. Must not throw. */
  readonly commit: () => void;
  /** The plugin's state is unknown, or it hangs: it is started anew, with the configuration that is in force. */
  readonly broken: (plugin: string, reason: string) => void;
  /** Something is wrong that nobody can undo or wait for. `plugin` '' = the engine. */
  readonly warn: (plugin: string, message: string) => void;
  /** Writes the file; rejects with the reason. Absent = the candidate came from there. */
  readonly persist?: (() => Promise<void>) | undefined;
  /** After the commit, before `applied`: what the candidate no longer needs is stopped. */
  readonly finish?: (() => Promise<void>) | undefined;
}

export type TransactionResult =
  | { readonly ok: true; readonly id: string; readonly saved: boolean; readonly plugins: readonly PluginOutcome[] }
  | {
      readonly ok: false;
      readonly id: string;
      /** `undefined` = the daemon stops. */
      readonly phase: Phase | undefined;
      /** '' = nobody in particular. */
      readonly plugin: string;
      readonly code: AckCode;
      readonly message: string;
      readonly plugins: readonly PluginOutcome[];
    };

/** From the time in milliseconds since the epoch; ids of one process never repeat. */
export class TransactionIds {
  #last = 0n;

  next(wallMs: number): string {
    const now = BigInt(Math.floor(wallMs * 1000)) * 1000n;
    this.#last = now > this.#last ? now : this.#last + 1n;
    return `tx-${this.#last}`;
  }
}

export class Transaction {
  readonly #options: TransactionOptions;
  /** In the order of apply: by tier, then by name. */
  readonly #members: readonly Member[];
  readonly #record: TransactionRecord;
  readonly #verifying: Allowance;
  readonly #applying: Allowance;
  readonly #applied: Applied[] = [];

  constructor(options: TransactionOptions) {
    this.#options = options;
    const { id, changes, clock, emit, signal } = options;
    this.#members = options.participants
      .flatMap((participant) => {
        const share = changes.share(participant.wants);
        return share === undefined ? [] : [{ participant, share }];
      })
      .sort((a, b) => a.participant.tier - b.participant.tier || (a.participant.name < b.participant.name ? -1 : 1));
    const participants = this.#members.map((member) => member.participant);
    this.#record = new TransactionRecord(
      id,
      participants.map((one) => one.name),
      emit,
      signal,
    );
    this.#verifying = new Allowance(clock, phaseSeconds(participants.map((one) => one.verifySeconds)) * 1000);
    this.#applying = new Allowance(clock, phaseSeconds(participants.map((one) => one.applySeconds)) * 1000);
  }

  /** Asks everyone whether it could be, and changes nothing. Never rejects. */
  async verify(): Promise<TransactionResult> {
    const prepared = await this.#prepare();
    const record = this.#record;
    if (record.isStopped()) return this.#cancelled();
    if (!prepared.ok) return this.#refused(prepared.failure);
    record.emit('verify-abort', { 'check-only': true });
    return { ok: true, id: this.#options.id, saved: false, plugins: record.outcomes.list() };
  }

  /** Never rejects for what a plugin or a step does. */
  async run(): Promise<TransactionResult> {
    const prepared = await this.#prepare();
    const record = this.#record;
    if (record.isStopped()) return this.#cancelled();
    if (!prepared.ok) {
      this.#cutOff(prepared.failure);
      return this.#refused(prepared.failure);
    }
    const failure = await this.#apply(prepared.nodes);
    if (record.isStopped()) return this.#cancelled();
    return failure === undefined ? await this.#commit() : await this.#rollBack(failure);
  }

  async #prepare(): Promise<Prepared> {
    const { id, changes, steps, signal } = this.#options;
    const record = this.#record;
    const preparation = { id, changes, members: this.#members, steps, allowance: this.#verifying, signal, record };
    const prepared = await new Preparation(preparation).run();
    if (!prepared.ok && !record.isStopped()) record.emit('verify-abort', told(prepared.failure));
    return prepared;
  }

  /**
   * A plugin that hangs in a question would let every later transaction fail: it is started anew. It has applied nothing. One that had less than
   * half of what it asked for, because others had taken theirs and more, only refuses.
   */
  #cutOff({ plugin, code, message, phase }: Failure): void {
    const asked = this.#members.find(({ participant }) => participant.name === plugin)?.participant;
    if (code !== 'timeout' || asked === undefined) return;
    const { verifySeconds } = asked;
    if (this.#verifying.given < (verifySeconds === 0 ? HANGS_MS : verifySeconds * 500)) return;
    this.#record.outcomes.cutOff(plugin);
    this.#options.broken(plugin, `${phase}: ${message}`);
  }

  async #apply(nodes: readonly PlanNode[]): Promise<Failure | undefined> {
    for (const node of nodes) {
      const failure = this.#lost() ?? (await this.#applyNode(node));
      if (failure !== undefined || this.#record.isStopped()) return failure;
    }
    return undefined;
  }

  /** A plugin that went and came back knows nothing of what it applied. */
  #lost(): Failure | undefined {
    for (const one of this.#applied) {
      if (one.kind === 'engine' || one.member.participant.alive()) continue;
      const { name } = one.member.participant;
      return this.#record.failed('apply', name, 'transient', 'the plugin ended after it had applied its part');
    }
    return undefined;
  }

  #applyNode(node: PlanNode): Promise<Failure | undefined> {
    switch (node.kind) {
      case 'engine':
        return this.#applyStep(node.step);
      case 'section':
        return this.#applySections(node.member);
      case 'operation':
        return this.#applyOperation(node.member, node.operation);
    }
  }

  async #applyStep(step: EngineStep): Promise<Failure | undefined> {
    try {
      this.#applied.push({ kind: 'engine', step, undo: await step.apply() });
      return undefined;
    } catch (error) {
      return this.#record.failed('apply', step.owner, 'error', messageOf(error));
    }
  }

  async #applySections(member: Member): Promise<Failure | undefined> {
    const { participant, share } = member;
    const { name } = participant;
    const record = this.#record;
    record.emit(`apply-${name}`, { plugin: name, diffs: share.diffs, 'deadline-ms': this.#applying.total });
    const ack = await this.#applying.spend((ms) =>
      ask(participant, 'ze-plugin-callback:config-apply', { sections: share.diffs }, ms, this.#options.signal),
    );
    record.told('apply', name, ack);
    // Who was cut off may have applied; who refused has not.
    if (ack.code !== 'error') this.#applied.push({ kind: 'section', member });
    if (ack.code !== 'ok') return record.failed('apply', name, ack.code, ack.error);
    record.outcomes.set(name, 'applied');
    return undefined;
  }

  async #applyOperation(member: Member, operation: ConfigOperation): Promise<Failure | undefined> {
    const { id, tap, signal } = this.#options;
    const { participant } = member;
    const { name } = participant;
    const record = this.#record;
    const watch = new ReadinessWatch(tap);
    try {
      const about = { operation: operation.id };
      record.emit(`operation-apply-${name}`, { plugin: name, ...about, 'deadline-ms': this.#applying.total });
      const ack = await this.#applying.spend((ms) =>
        ask(participant, 'ze-plugin-callback:config-operation-apply', { 'transaction-id': id, operation }, ms, signal),
      );
      record.told('operation-apply', name, ack, about);
      if (ack.code !== 'error') this.#applied.push({ kind: 'operation', member, operation });
      if (ack.code !== 'ok') return record.failed('apply', name, ack.code, `operation "${operation.id}": ${ack.error}`);
      record.outcomes.applied(name);
      return await this.#ready(watch, name, operation, ack.value?.readiness ?? []);
    } finally {
      watch.close();
    }
  }

  async #ready(
    watch: ReadinessWatch,
    name: string,
    operation: ConfigOperation,
    readiness: readonly Readiness[],
  ): Promise<Failure | undefined> {
    const { clock, signal } = this.#options;
    for (const one of readiness) {
      if (await watch.wait(one, clock, READINESS_MS, signal)) continue;
      const { namespace, 'event-type': type, resource = '' } = one;
      const what = `${namespace}/${type}${resource === '' ? '' : ` of ${resource}`}`;
      const message = `operation "${operation.id}": no event ${what} within ${seconds(READINESS_MS)}`;
      return this.#record.failed('apply', name, 'timeout', message);
    }
    return undefined;
  }

  async #commit(): Promise<TransactionResult> {
    const { id, commit, warn, persist, finish } = this.#options;
    const record = this.#record;
    commit();
    const owners = new Set(this.#applied.flatMap((one) => (one.kind === 'operation' ? [one.member.participant] : [])));
    await Promise.all([...owners].map((owner) => this.#commitOperations(owner)));
    await Promise.all(this.#members.map(({ participant }) => this.#committed(participant)));
    record.emit('committed');
    let saved = true;
    try {
      await persist?.();
    } catch (error) {
      saved = false;
      warn('', `the configuration could not be saved: ${messageOf(error)}`);
    }
    await finish?.();
    record.emit('applied', { saved });
    return { ok: true, id, saved, plugins: record.outcomes.list() };
  }

  async #commitOperations(participant: Participant): Promise<void> {
    const { id, signal } = this.#options;
    const { name } = participant;
    this.#record.emit(`operation-commit-${name}`, { plugin: name, 'deadline-ms': COMMIT_MS });
    const method = 'ze-plugin-callback:config-operation-commit';
    const ack = await ask(participant, method, { 'transaction-id': id }, COMMIT_MS, signal);
    this.#record.told('operation-commit', name, ack);
    if (ack.code !== 'ok') this.#options.warn(name, ack.error);
  }

  async #committed(participant: Participant): Promise<void> {
    const { id, signal, warn } = this.#options;
    const method = 'ze-plugin-callback:config-committed';
    const ack = await ask(participant, method, { 'transaction-id': id }, COMMIT_MS, signal);
    if (ack.code !== 'ok') warn(participant.name, ack.error);
    this.#record.outcomes.set(participant.name, 'committed');
  }

  async #rollBack(failure: Failure): Promise<TransactionResult> {
    const { id, clock, signal, broken, warn } = this.#options;
    const record = this.#record;
    record.emit('rollback', { ...told(failure), 'deadline-ms': this.#applying.total });
    const rollback = new Rollback({ id, clock, signal, applyMs: this.#applying.total, record, warn });
    const lost = await rollback.run(this.#applied, this.#members);
    if (record.isStopped()) return this.#cancelled();
    for (const { participant } of rollback.asked) record.outcomes.undone(participant.name);
    for (const [name, reason] of lost) {
      record.outcomes.broken(name, reason);
      broken(name, reason);
    }
    record.emit('rolled-back', told(failure));
    return this.#refused(failure);
  }

  #refused(failure: Failure): TransactionResult {
    return { ok: false, id: this.#options.id, ...failure, plugins: this.#record.outcomes.list() };
  }

  #cancelled(): TransactionResult {
    const plugins = this.#record.outcomes.list();
    const message = 'the daemon is stopping';
    return { ok: false, id: this.#options.id, phase: undefined, plugin: '', code: 'transient', message, plugins };
  }
}

function told({ plugin, code, message }: Failure): Readonly<Record<string, unknown>> {
  return { plugin, status: 'error', error: message, code };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
