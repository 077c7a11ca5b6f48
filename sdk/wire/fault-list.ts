import { OK, type Outcome } from './fault.ts';

/** Faults kept for the report; more are counted in `total` only. */
export const MAX_FAULTS = 32;

/** The faults of one message, in the order found; rows of three small integers, made once and refilled. */
export class FaultList {
  /** Faults found, kept or not. */
  total: number;
  readonly #codes: Uint8Array;
  readonly #approaches: Uint8Array;
  readonly #reasons: Uint8Array;

  constructor() {
    this.total = 0;
    this.#codes = new Uint8Array(MAX_FAULTS);
    this.#approaches = new Uint8Array(MAX_FAULTS);
    this.#reasons = new Uint8Array(MAX_FAULTS);
  }

  /** Number of faults that can be read. */
  get count(): number {
    return this.total < MAX_FAULTS ? this.total : MAX_FAULTS;
  }

  /** Attribute code of fault `index`, 0 when it concerns no attribute (sections, classic NLRI). */
  code(index: number): number {
    return this.#codes[index] ?? 0;
  }

  approach(index: number): Outcome {
    return (this.#approaches[index] ?? OK) as Outcome;
  }

  /** A reason of `fault.ts`; `reasonText` says it in words. */
  reason(index: number): number {
    return this.#reasons[index] ?? 0;
  }

  /** True when the attribute has a kept fault of this approach. */
  has(code: number, approach: Outcome): boolean {
    for (let i = 0; i < this.count; i++) if (this.#codes[i] === code && this.#approaches[i] === approach) return true;
    return false;
  }

  clear(): void {
    this.total = 0;
  }

  add(code: number, approach: Outcome, reason: number): void {
    const index = this.total++;
    if (index >= MAX_FAULTS) return;
    this.#codes[index] = code;
    this.#approaches[index] = approach;
    this.#reasons[index] = reason;
  }
}
