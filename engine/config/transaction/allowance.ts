// The time a phase of a transaction may spend on its plugins' answers: the sum of what they asked for. What the engine does itself and
// what it waits for by other limits is not charged.
import type { Clock } from '../../core/clock.ts';

/** When nobody asked for anything. */
export const DEFAULT_SECONDS = 30;
export const MAX_SECONDS = 600;
/** A rollback may take three times as long as the apply it undoes. */
export const ROLLBACK_FACTOR = 3;

/** Seconds of a phase from the budgets of those who take part. */
export function phaseSeconds(budgets: readonly number[]): number {
  const sum = budgets.reduce((total, seconds) => total + Math.min(seconds, MAX_SECONDS), 0);
  return sum === 0 ? DEFAULT_SECONDS : sum;
}

export class Allowance {
  readonly #clock: Clock;
  /** ms */
  readonly total: number;
  #left: number;
  /** ms that the last who was asked had for its answer. */
  given = 0;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.total = ms;
    this.#left = ms;
  }

  /** Runs `work` with what is left, at least 1 ms, and charges what it took. */
  async spend<T>(work: (ms: number) => Promise<T>): Promise<T> {
    const began = this.#clock.now();
    try {
      this.given = Math.max(1, Math.ceil(this.#left));
      return await work(this.given);
    } finally {
      this.#left -= this.#clock.now() - began;
    }
  }
}
