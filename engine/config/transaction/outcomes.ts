// What became of each plugin in a transaction, for reports and people.
import type { AckCode } from './participant.ts';

export type PluginState = 'pending' | 'verified' | 'applied' | 'committed' | 'refused' | 'rolled-back' | 'broken' | 'not-asked';

export interface PluginOutcome {
  readonly name: string;
  readonly state: PluginState;
  readonly code: AckCode;
  /** Operations applied; 0 for one that applies sections. */
  readonly operations: number;
  /** `verify: …`; '' when nothing went wrong. */
  readonly error: string;
}

export class Outcomes {
  readonly #rows = new Map<string, { name: string; state: PluginState; code: AckCode; operations: number; error: string }>();

  constructor(names: readonly string[]) {
    for (const name of names) this.#rows.set(name, { name, state: 'pending', code: 'ok', operations: 0, error: '' });
  }

  set(name: string, state: PluginState): void {
    const row = this.#rows.get(name);
    if (row !== undefined) row.state = state;
  }

  /** One more operation. */
  applied(name: string): void {
    const row = this.#rows.get(name);
    if (row === undefined) return;
    row.state = 'applied';
    row.operations++;
  }

  failed(name: string, phase: string, code: AckCode, error: string): void {
    const row = this.#rows.get(name);
    if (row !== undefined) Object.assign(row, { state: 'refused', code, error: `${phase}: ${error}` });
  }

  /** It has undone its part; who caused the failure keeps its reason. */
  undone(name: string): void {
    const row = this.#rows.get(name);
    if (row !== undefined && row.state !== 'refused') row.state = 'rolled-back';
  }

  broken(name: string, reason: string): void {
    const row = this.#rows.get(name);
    if (row === undefined) return;
    const before = row.error === '' ? '' : `${row.error}; `;
    Object.assign(row, { state: 'broken', code: 'broken', error: `${before}rollback: ${reason}` });
  }

  /** It did not answer, and is started anew; the reason stands already. */
  cutOff(name: string): void {
    const row = this.#rows.get(name);
    if (row !== undefined) Object.assign(row, { state: 'broken', code: 'broken' });
  }

  list(): readonly PluginOutcome[] {
    return [...this.#rows.values()].map((row) => ({ ...row }));
  }
}
