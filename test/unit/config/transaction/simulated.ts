// Participants that keep a state each, apply and undo on it, and fail where a test says so; everything asked of them is written down.
import type { ConfigOperation, ConfigOperationDecl, Methods } from '../../../../yang/generated/methods.ts';
import type { ConfigView } from '../../../../engine/config/transaction/changes.ts';
import { Changes } from '../../../../engine/config/transaction/changes.ts';
import type { Answer, ConfigMethod, EngineStep, Participant } from '../../../../engine/config/transaction/participant.ts';
import type { EventTap, SeenEvent } from '../../../../engine/config/transaction/readiness.ts';
import {
  Transaction,
  type TransactionOptions,
  type TransactionResult,
} from '../../../../engine/config/transaction/transaction.ts';
import { ManualClock } from '../../../../engine/core/clock.ts';

export type Fate = 'refuse' | 'hang' | 'die' | 'nonsense';

export interface Simulation {
  readonly tier?: number;
  readonly wants?: readonly string[];
  readonly operations?: readonly ConfigOperationDecl[];
  readonly verifySeconds?: number;
  readonly applySeconds?: number;
  /** Method without its prefix, with the operation's id where there is one (`config-operation-apply a1`) → what goes wrong there. */
  readonly fates?: Readonly<Record<string, Fate>>;
  /** Of a refusal; `no` where there is none. */
  readonly reason?: string;
  /** What decompose answers for a root. */
  readonly decompose?: Readonly<Record<string, readonly Partial<ConfigOperation>[]>>;
  readonly readiness?: Readonly<Record<string, readonly { namespace: string; 'event-type': string; resource?: string }[]>>;
}

export class World {
  readonly clock = new ManualClock();
  /** `name method [operation]`, in order. */
  readonly calls: string[] = [];
  readonly events: { readonly type: string; readonly payload: Readonly<Record<string, unknown>> }[] = [];
  readonly broken: string[] = [];
  readonly warnings: string[] = [];
  readonly inputs: { readonly call: string; readonly input: unknown; readonly ms: number }[] = [];
  /** Applied and not undone, of everyone, in order: what must be the same after a failure. */
  readonly state: string[] = [];
  readonly stopping = new AbortController();
  committed = false;
  #hear: ((event: SeenEvent) => void) | undefined;

  readonly tap: EventTap = (hear) => {
    this.#hear = hear;
    return () => (this.#hear = undefined);
  };

  event(namespace: string, type: string, text = ''): void {
    this.#hear?.({ namespace, type, text });
  }

  get listening(): boolean {
    return this.#hear !== undefined;
  }

  plugin(name: string, options: Simulation = {}): Participant {
    let alive = true;
    const { clock } = this;
    return {
      name,
      tier: options.tier ?? 0,
      wants: options.wants ?? ['bgp'],
      operations: options.operations ?? [],
      verifySeconds: options.verifySeconds ?? 0,
      applySeconds: options.applySeconds ?? 0,
      alive: () => alive,
      call: async <M extends ConfigMethod>(method: M, input: Methods[M]['input'], ms: number, signal: AbortSignal) => {
        const short = method.slice('ze-plugin-callback:'.length);
        const operation =
          (input as { operation?: ConfigOperation }).operation?.id ??
          (input as { operations?: readonly ConfigOperation[] }).operations?.[0]?.id;
        const what = operation === undefined ? short : `${short} ${operation}`;
        this.calls.push(`${name} ${what}`);
        this.inputs.push({ call: `${name} ${what}`, input, ms });
        const fate = options.fates?.[what] ?? options.fates?.[short];
        const answer = (value: unknown): Answer<Methods[M]['output']> => ({ ok: true, value: value as Methods[M]['output'] });
        switch (fate) {
          case 'refuse':
            return answer({ status: 'error', error: options.reason ?? 'no' });
          case 'nonsense':
            return answer({ status: 'perhaps' });
          case 'die':
            alive = false;
            return { ok: false, code: 'transient', message: 'connection closed' };
          case 'hang':
            clock.advance(ms);
            await Promise.resolve();
            return { ok: false, code: 'timeout', message: 'late' };
          case undefined:
        }
        if (signal.aborted) return { ok: false, code: 'transient', message: 'aborted' };
        if (short === 'config-apply') this.state.push(name);
        if (short === 'config-operation-apply') this.state.push(`${name} ${operation ?? ''}`);
        if (short === 'config-rollback') this.#undo((one) => one === name);
        if (short === 'config-operation-rollback') this.#undo((one) => one === `${name} ${operation ?? ''}`);
        if (short === 'config-operation-decompose') {
          const { root } = input as { root: string };
          return answer({ status: 'ok', operations: (options.decompose?.[root] ?? []).map((one) => operationOf(root, one)) });
        }
        if (short === 'config-operation-apply') return answer({ status: 'ok', readiness: options.readiness?.[operation ?? ''] });
        return answer(short === 'config-rollback' || short === 'config-committed' ? undefined : { status: 'ok' });
      },
    };
  }

  step(owner: string, type: string, more: Partial<EngineStep> & { readonly fails?: boolean } = {}): EngineStep {
    const what = `${owner} ${type}`;
    return {
      owner,
      type,
      verb: 'modify',
      produces: [],
      consumes: [],
      ...more,
      apply: () => {
        this.calls.push(`${what} apply`);
        if (more.fails === true) return Promise.reject(new Error('cannot'));
        this.state.push(what);
        return Promise.resolve(() => {
          this.calls.push(`${what} undo`);
          this.#undo((one) => one === what);
          return Promise.resolve();
        });
      },
    };
  }

  run(
    participants: readonly Participant[],
    more: Partial<TransactionOptions> & { readonly before?: object; readonly after?: object } = {},
  ): Promise<TransactionResult> {
    const { before = { bgp: { 'router-id': '10.0.0.1' } }, after = { bgp: { 'router-id': '10.0.0.2' } }, ...options } = more;
    return new Transaction({
      id: 'tx-1',
      clock: this.clock,
      changes: new Changes(viewOf(before), viewOf(after)),
      participants,
      steps: [],
      emit: (type, payload) => void this.events.push({ type, payload }),
      tap: this.tap,
      signal: this.stopping.signal,
      commit: () => (this.committed = true),
      broken: (plugin, reason) => void this.broken.push(`${plugin}: ${reason}`),
      warn: (plugin, message) => void this.warnings.push(`${plugin}: ${message}`),
      ...options,
    }).run();
  }

  #undo(test: (one: string) => boolean): void {
    const at = this.state.findLastIndex(test);
    if (at >= 0) this.state.splice(at, 1);
  }
}

export function operationOf(root: string, more: Partial<ConfigOperation>): ConfigOperation {
  return { id: 'a1', root, owner: '', type: 'change', verb: 'modify', target: { kind: 'sysctl', name: 'x' }, ...more };
}

export function viewOf(tree: object): ConfigView {
  const all = tree as Readonly<Record<string, unknown>>;
  return {
    roots: () => Object.keys(all),
    section: (path) => {
      const names = path.split('/');
      let value: unknown = all;
      for (const name of names) value = (value as Readonly<Record<string, unknown>> | undefined)?.[name];
      return value === undefined ? undefined : names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
    },
  };
}
