/** Long work in steps, between which the event loop reads, writes and keeps its timers. Each turn gives every job one step. */

export class Slices {
  #jobs: (() => boolean)[] = [];
  #scheduled: NodeJS.Immediate | undefined;
  readonly #after: () => void;

  /** `after` runs at the end of each turn. */
  constructor(after: () => void) {
    this.#after = after;
  }

  get size(): number {
    return this.#jobs.length;
  }

  /** Calls `step` on later turns until it returns false. */
  add(step: () => boolean): void {
    this.#jobs.push(step);
    this.#scheduled ??= setImmediate(() => this.#turn());
  }

  close(): void {
    this.#jobs = [];
    if (this.#scheduled !== undefined) clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
  }

  #turn(): void {
    this.#scheduled = undefined;
    const jobs = this.#jobs;
    this.#jobs = [];
    for (const step of jobs) if (step()) this.#jobs.push(step);
    if (this.#jobs.length > 0) this.#scheduled ??= setImmediate(() => this.#turn());
    this.#after();
  }
}
