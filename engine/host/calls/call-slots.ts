/** Calls under way to one plugin, at most so many; the rest wait in their order. Those who ask are bounded (peers), and so is the line. */
export class CallSlots {
  readonly #limit: number;
  readonly #busy = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Settles as `call` does, which begins when there is room. */
  async run<T>(plugin: string, call: () => Promise<T>): Promise<T> {
    const busy = this.#busy.get(plugin) ?? 0;
    if (busy >= this.#limit) await this.#turn(plugin);
    else this.#busy.set(plugin, busy + 1);
    try {
      return await call();
    } finally {
      this.#leave(plugin);
    }
  }

  #turn(plugin: string): Promise<void> {
    return new Promise((resolve) => {
      const line = this.#waiting.get(plugin);
      if (line === undefined) this.#waiting.set(plugin, [resolve]);
      else line.push(resolve);
    });
  }

  /** The slot goes to the first who waits. */
  #leave(plugin: string): void {
    const line = this.#waiting.get(plugin);
    const next = line?.shift();
    if (line?.length === 0) this.#waiting.delete(plugin);
    if (next !== undefined) {
      next();
      return;
    }
    const busy = (this.#busy.get(plugin) ?? 1) - 1;
    if (busy === 0) this.#busy.delete(plugin);
    else this.#busy.set(plugin, busy);
  }
}
