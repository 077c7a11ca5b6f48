/**
 * Time as a value handed in. `now` is monotonic (ms, with a fraction) and drives every timer and measurement; `wall` is
 * for people and events only, so that a clock that jumps moves no timer.
 */
export interface Clock {
  /** Monotonic milliseconds. */
  now(): number;
  /** Milliseconds since the epoch. */
  wall(): number;
  /** Calls `action` once after `ms`; the handle cancels. Never keeps the process alive by itself when `unref` is set. */
  after(ms: number, action: () => void, options?: { readonly unref?: boolean }): Timer;
}

export interface Timer {
  cancel(): void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, action, options) {
    const handle = setTimeout(action, ms);
    if (options?.unref === true) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

interface Due {
  readonly at: number;
  readonly sequence: number;
  readonly action: () => void;
}

/** A clock that stands still until a test moves it. Timers fire in order of their due time. */
export class ManualClock implements Clock {
  #now = 0;
  #sequence = 0;
  readonly #due: Due[] = [];
  readonly #epoch: number;

  constructor(epoch = Date.UTC(2026, 0, 1)) {
    this.#epoch = epoch;
  }

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#epoch + this.#now;
  }

  after(ms: number, action: () => void): Timer {
    const entry = { at: this.#now + Math.max(0, ms), sequence: this.#sequence++, action };
    this.#due.push(entry);
    return {
      cancel: () => {
        const index = this.#due.indexOf(entry);
        if (index >= 0) this.#due.splice(index, 1);
      },
    };
  }

  /** Moves time forward and fires what falls due on the way. */
  advance(ms: number): void {
    const target = this.#now + ms;
    for (;;) {
      let next: Due | undefined;
      for (const entry of this.#due) {
        if (entry.at > target) continue;
        if (next === undefined || entry.at < next.at || (entry.at === next.at && entry.sequence < next.sequence)) next = entry;
      }
      if (next === undefined) break;
      this.#due.splice(this.#due.indexOf(next), 1);
      this.#now = next.at;
      next.action();
    }
    this.#now = target;
  }

  /** Timers that have not fired: what a leak test counts. */
  get pending(): number {
    return this.#due.length;
  }
}
