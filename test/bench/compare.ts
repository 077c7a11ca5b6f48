// A run of the micro benches against a stored one. Machines and minutes differ, so no time is compared: what is compared is each bench's time
// as a multiple of a reference loop's, measured in turns with it.

export interface Benched {
  readonly name: string;
  /** Nanoseconds a call, median. */
  readonly nsPerCall: number;
  /** Of what the bench counts, in one call. */
  readonly count: number;
  readonly per: string;
  /** Time of a call over that of the reference loop. */
  readonly ratio: number;
}

export interface Baseline {
  readonly at: string;
  readonly node: string;
  readonly ratios: Readonly<Record<string, number>>;
}

export interface Change {
  readonly name: string;
  readonly before: number;
  readonly now: number;
  /** Above 1: slower. */
  readonly factor: number;
}

export interface Comparison {
  /** Slower than tolerated, the worst first. */
  readonly slower: readonly Change[];
  /** Faster by as much: the baseline is old. */
  readonly faster: readonly Change[];
  /** Not in the baseline. */
  readonly added: readonly string[];
  /** In the baseline only. */
  readonly gone: readonly string[];
}

/** A bench that takes this many times what it took is a regression. */
export const TOLERANCE = 1.6;

export function compare(baseline: Baseline, benched: readonly Benched[], tolerance: number = TOLERANCE): Comparison {
  const changes: Change[] = [];
  const added: string[] = [];
  for (const { name, ratio } of benched) {
    const before = baseline.ratios[name];
    if (before === undefined) added.push(name);
    else changes.push({ name, before, now: ratio, factor: ratio / before });
  }
  const ran = new Set(benched.map(({ name }) => name));
  return {
    slower: changes.filter(({ factor }) => factor > tolerance).sort((a, b) => b.factor - a.factor),
    faster: changes.filter(({ factor }) => factor < 1 / tolerance).sort((a, b) => a.factor - b.factor),
    added,
    gone: Object.keys(baseline.ratios).filter((name) => !ran.has(name)),
  };
}

/** Of several runs of the same bench the fastest: what disturbs a run only makes it slower. */
export function best(runs: readonly Benched[]): Benched {
  return runs.reduce((a, b) => (b.ratio < a.ratio ? b : a));
}
