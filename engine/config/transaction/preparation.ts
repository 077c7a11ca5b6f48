// Everything before the first change: every plugin checks the candidate, those that take their change apart do so, the plan is put in order
// and its operations are checked. A failure here leaves nothing to undo.
import type { ConfigOperation } from '../../../yang/generated/methods.ts';
import type { Allowance } from './allowance.ts';
import { ask } from './asking.ts';
import type { Changes } from './changes.ts';
import type { EngineStep } from './participant.ts';
import {
  decomposedRoots,
  engineNode,
  type Member,
  operationNode,
  planOf,
  type PlanNode,
  refusedOperation,
  reservedName,
  sectionNode,
} from './plan.ts';
import type { Failure, TransactionRecord } from './record.ts';

export interface PreparationOptions {
  readonly id: string;
  readonly changes: Changes;
  /** In the order of apply. */
  readonly members: readonly Member[];
  readonly steps: readonly EngineStep[];
  readonly allowance: Allowance;
  readonly signal: AbortSignal;
  readonly record: TransactionRecord;
}

export type Prepared =
  | { readonly ok: true; readonly nodes: readonly PlanNode[] }
  | { readonly ok: false; readonly failure: Failure };

export class Preparation {
  readonly #options: PreparationOptions;
  readonly #nodes: PlanNode[] = [];
  readonly #ids = new Set<string>();

  constructor(options: PreparationOptions) {
    this.#options = options;
  }

  async run(): Promise<Prepared> {
    const { members, record, steps } = this.#options;
    const reserved = reservedName(members);
    if (reserved !== undefined)
      return refuse(record.failed('verify', reserved, 'error', `the plugin name "${reserved}" is reserved`));
    const failure = (await this.#each((member) => this.#verify(member))) ?? (await this.#each((member) => this.#collect(member)));
    if (failure !== undefined) return refuse(failure);
    const plan = planOf([...this.#nodes, ...steps.map(engineNode)]);
    if (!plan.ok) return refuse(record.failed('plan', plan.plugin, 'error', plan.message));
    for (const node of plan.nodes) {
      const refused = node.kind === 'operation' ? await this.#verifyOperation(node.member, node.operation) : undefined;
      if (refused !== undefined) return refuse(refused);
    }
    return { ok: true, nodes: plan.nodes };
  }

  async #each(work: (member: Member) => Promise<Failure | undefined>): Promise<Failure | undefined> {
    for (const member of this.#options.members) {
      const failure = await work(member);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  async #verify({ participant, share }: Member): Promise<Failure | undefined> {
    const { allowance, record, signal } = this.#options;
    const { name, verifySeconds, applySeconds } = participant;
    record.emit(`verify-${name}`, { plugin: name, diffs: share.diffs, 'deadline-ms': allowance.total });
    const ack = await allowance.spend((ms) =>
      ask(participant, 'ze-plugin-callback:config-verify', { sections: share.candidate }, ms, signal),
    );
    record.told('verify', name, ack, { 'verify-budget-secs': verifySeconds, 'apply-budget-secs': applySeconds });
    if (ack.code !== 'ok') return record.failed('verify', name, ack.code, ack.error);
    record.outcomes.set(name, 'verified');
    return undefined;
  }

  /** The nodes of one plugin. */
  async #collect(member: Member): Promise<Failure | undefined> {
    const taken = decomposedRoots(member);
    if (!taken.ok) return this.#options.record.failed('plan', member.participant.name, 'error', taken.message);
    if (taken.roots.length === 0) this.#nodes.push(sectionNode(member));
    for (const root of taken.roots) {
      const failure = await this.#decompose(member, root);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  async #decompose(member: Member, root: string): Promise<Failure | undefined> {
    const { id, changes, allowance, record, signal } = this.#options;
    const { participant, share } = member;
    const input = {
      'transaction-id': id,
      root,
      active: changes.active(root),
      candidate: changes.candidate(root),
      diff: share.diffs.find((diff) => diff.root === root) ?? { root },
    };
    const ack = await allowance.spend((ms) =>
      ask(participant, 'ze-plugin-callback:config-operation-decompose', input, ms, signal),
    );
    if (ack.code !== 'ok') return record.failed('plan', participant.name, ack.code, ack.error);
    for (const operation of ack.value?.operations ?? []) {
      const refused = refusedOperation(participant, root, operation, this.#ids);
      if (refused !== undefined) return record.failed('plan', participant.name, 'error', refused);
      this.#nodes.push(operationNode(member, operation));
    }
    return undefined;
  }

  async #verifyOperation({ participant }: Member, operation: ConfigOperation): Promise<Failure | undefined> {
    const { id, allowance, record, signal } = this.#options;
    const { name } = participant;
    record.emit(`operation-verify-${name}`, { plugin: name, operation: operation.id, 'deadline-ms': allowance.total });
    const ack = await allowance.spend((ms) =>
      ask(participant, 'ze-plugin-callback:config-operation-verify', { 'transaction-id': id, operation }, ms, signal),
    );
    record.told('operation-verify', name, ack, { operation: operation.id });
    if (ack.code === 'ok') return undefined;
    return record.failed('operation-verify', name, ack.code, `operation "${operation.id}": ${ack.error}`);
  }
}

function refuse(failure: Failure): Prepared {
  return { ok: false, failure };
}
