/**
 * Plugins that start side by side: nobody gets stage k+1 before all have finished stage k (plugin-lifecycle §3). One that
 * fails leaves, and the others no longer wait for it (design.md §5). The tier also knows when anyone last made progress:
 * a stage is late when nobody moved for the stage time, not when the slowest neighbour took long.
 */
import type { Clock } from '../../core/clock.ts';

interface Waiting {
  readonly stage: number;
  release(): void;
}

export class Tier {
  readonly #clock: Clock;
  /** Member → last stage finished. */
  readonly #reached: Map<string, number>;
  #waiting: Waiting[] = [];
  #progressAt: number;

  constructor(members: readonly string[], clock: Clock) {
    this.#clock = clock;
    this.#reached = new Map(members.map((name) => [name, 0]));
    this.#progressAt = clock.now();
  }

  get members(): readonly string[] {
    return [...this.#reached.keys()];
  }

  /** ms, monotonic */
  get progressAt(): number {
    return this.#progressAt;
  }

  /** The member has finished the stage. Resolves when all members have. */
  arrive(name: string, stage: number): Promise<void> {
    this.#progressAt = this.#clock.now();
    this.#reached.set(name, stage);
    return new Promise((resolve) => {
      this.#waiting.push({ stage, release: resolve });
      this.#release();
    });
  }

  /** The member has failed, or is through. */
  leave(name: string): void {
    if (!this.#reached.delete(name)) return;
    this.#progressAt = this.#clock.now();
    this.#release();
  }

  #release(): void {
    let lowest = Infinity;
    for (const stage of this.#reached.values()) lowest = Math.min(lowest, stage);
    const released = this.#waiting.filter((entry) => entry.stage <= lowest);
    this.#waiting = this.#waiting.filter((entry) => entry.stage > lowest);
    for (const entry of released) entry.release();
  }
}

/**
 * Runs `work` while its tier moves: the signal aborts (with `late`'s error) when nobody has made progress for `ms` since the
 * later of now and the tier's last progress.
 */
export async function whileProgressing<T>(
  tier: Tier,
  clock: Clock,
  ms: number,
  late: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const began = clock.now();
  const stalled = new AbortController();
  const check = (): void => {
    const left = Math.max(began, tier.progressAt) + ms - clock.now();
    if (left <= 0) stalled.abort(late());
    else timer = clock.after(left, check);
  };
  let timer = clock.after(ms, check);
  const stall = new Promise<never>((_resolve, reject) => {
    stalled.signal.addEventListener('abort', () => reject(stalled.signal.reason as Error), { once: true });
  });
  try {
    return await Promise.race([work(stalled.signal), stall]);
  } finally {
    timer.cancel();
  }
}

/**
 * Layers by dependency (Kahn): a name stands one layer above everything it needs. Names are sorted inside a layer; a dependency
 * outside the set is no edge. What hangs in or behind a cycle is in `cyclic`.
 */
export function layers(dependencies: ReadonlyMap<string, readonly string[]>): {
  readonly tiers: readonly (readonly string[])[];
  readonly cyclic: readonly string[];
} {
  const left = new Map<string, Set<string>>();
  for (const [name, needs] of dependencies) {
    left.set(name, new Set(needs.filter((need) => need !== name && dependencies.has(need))));
  }
  const tiers: string[][] = [];
  while (left.size > 0) {
    const layer = [...left].filter(([, needs]) => needs.size === 0).map(([name]) => name);
    if (layer.length === 0) break;
    for (const name of layer) left.delete(name);
    for (const needs of left.values()) for (const name of layer) needs.delete(name);
    tiers.push(layer.sort());
  }
  return { tiers, cyclic: [...left.keys()].sort() };
}
