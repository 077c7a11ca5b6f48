// Undoing what a failed transaction has applied: operations one by one, last first; then every plugin that applied anything is told, those
// that depend on others before these.
import type { ConfigOperation } from '../../../yang/generated/methods.ts';
import type { Clock } from '../../core/clock.ts';
import { Allowance, ROLLBACK_FACTOR } from './allowance.ts';
import { ask } from './asking.ts';
import type { AckCode, EngineStep, Participant } from './participant.ts';
import type { Member } from './plan.ts';
import type { TransactionRecord } from './record.ts';

export type Applied =
  | { readonly kind: 'operation'; readonly member: Member; readonly operation: ConfigOperation }
  | { readonly kind: 'section'; readonly member: Member }
  | { readonly kind: 'engine'; readonly step: EngineStep; readonly undo: () => Promise<void> };

export interface RollbackOptions {
  readonly id: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Of the whole apply; each plugin has three times that to undo its part. */
  readonly applyMs: number;
  readonly record: TransactionRecord;
  readonly warn: (plugin: string, message: string) => void;
}

export class Rollback {
  readonly #options: RollbackOptions;
  readonly #allowances = new Map<Participant, Allowance>();
  /** Plugin → why it must be started anew. */
  readonly #broken = new Map<string, string>();
  /** Plugins that had something to undo. */
  readonly asked = new Set<Member>();

  constructor(options: RollbackOptions) {
    this.#options = options;
  }

  /** Names of plugins whose state is unknown now, with the reason. */
  async run(applied: readonly Applied[], members: readonly Member[]): Promise<ReadonlyMap<string, string>> {
    for (const one of applied) if (one.kind !== 'engine') this.asked.add(one.member);
    for (const one of [...applied].reverse()) {
      if (this.#options.signal.aborted) break;
      if (one.kind === 'engine') await this.#undo(one.step, one.undo);
      else if (one.kind === 'operation') await this.#undoOperation(one.member.participant, one.operation);
    }
    for (const member of [...members].reverse()) {
      if (this.#options.signal.aborted) break;
      if (this.asked.has(member)) await this.#tell(member.participant);
    }
    return this.#broken;
  }

  async #undo(step: EngineStep, undo: () => Promise<void>): Promise<void> {
    try {
      await undo();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.warn('', `${step.owner}: ${step.type} could not be undone: ${reason}`);
    }
  }

  async #undoOperation(participant: Participant, operation: ConfigOperation): Promise<void> {
    if (this.#broken.has(participant.name)) return;
    const { id, signal } = this.#options;
    const input = { 'transaction-id': id, operations: [operation] };
    const ack = await this.#allowance(participant).spend((ms) =>
      ask(participant, 'ze-plugin-callback:config-operation-rollback', input, ms, signal),
    );
    this.#settle('operation-rollback', participant, ack, { operation: operation.id });
  }

  async #tell(participant: Participant): Promise<void> {
    if (this.#broken.has(participant.name)) return;
    const { id, signal } = this.#options;
    const ack = await this.#allowance(participant).spend((ms) =>
      ask(participant, 'ze-plugin-callback:config-rollback', { 'transaction-id': id }, ms, signal),
    );
    this.#settle('rollback', participant, ack);
  }

  #settle(
    word: string,
    participant: Participant,
    ack: { readonly code: AckCode; readonly error: string },
    more: object = {},
  ): void {
    const { name } = participant;
    const { record } = this.#options;
    if (record.isStopped()) return;
    if (ack.code !== 'ok') this.#broken.set(name, ack.error);
    record.told(word, name, ack.code === 'ok' ? ack : { code: 'broken', error: ack.error }, more);
  }

  #allowance(participant: Participant): Allowance {
    let allowance = this.#allowances.get(participant);
    if (allowance === undefined) {
      allowance = new Allowance(this.#options.clock, this.#options.applyMs * ROLLBACK_FACTOR);
      this.#allowances.set(participant, allowance);
    }
    return allowance;
  }
}
