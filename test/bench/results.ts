// Runs of the daemon bench: what a run is, medians and ratios over them, the file they are kept in.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Measured } from './load.ts';

export interface Run {
  readonly mode: string;
  /** Prefixes, or peers where the mode counts them. */
  readonly n: number;
  readonly daemon: string;
  readonly version: string;
  readonly rep: number;
  readonly at: string;
  readonly commit: string;
  /** Load average of the machine before the run. */
  readonly load: number;
  readonly values: Readonly<Record<string, number>>;
  readonly error?: string;
}

export interface Machine {
  readonly processors: string;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
}

export interface Results {
  readonly machine: Machine;
  readonly runs: readonly Run[];
}

export const RESULTS: string = join(import.meta.dirname, 'results.json');

export function thisMachine(): Machine {
  const all = cpus();
  return {
    processors: `${all.length} × ${all[0]?.model.trim() ?? 'unknown'}`,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release().split('-')[0] ?? '',
    node: process.version,
  };
}

/** The commit that is checked out, `+` behind it when files differ; empty outside a repository. */
export function commit(): string {
  const git = (...words: readonly string[]): string =>
    execFileSync('git', words, { cwd: import.meta.dirname, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const head = git('rev-parse', '--short', 'HEAD');
    return git('status', '--porcelain', '--untracked-files=no') === '' ? head : `${head}+`;
  } catch {
    return '';
  }
}

/** A generator's line as a run; what is text there and no label of ours is left out. */
export function asRun(measured: Measured, mode: string, n: number, daemon: string, rep: number, head: string): Run {
  const values: Record<string, number> = {};
  for (const [name, value] of Object.entries(measured)) if (typeof value === 'number' && name !== 'n') values[name] = value;
  const { load = 0, ...others } = values;
  // A rival that is much slower runs on fewer.
  if (typeof measured['n'] === 'number' && measured['n'] !== n) others['prefixes'] = measured['n'];
  return {
    mode,
    n,
    daemon,
    version: String(measured['version'] ?? ''),
    rep,
    at: String(measured['at'] ?? new Date().toISOString()),
    commit: head,
    load,
    values: others,
    ...(measured['error'] === undefined ? {} : { error: String(measured['error']) }),
  };
}

export function median(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[sorted.length >> 1]!;
  return sorted.length % 2 === 1 ? upper : (upper + sorted[(sorted.length >> 1) - 1]!) / 2;
}

const good = (runs: readonly Run[], field: string): readonly Run[] =>
  runs.filter((run) => run.error === undefined && run.values[field] !== undefined);

/** Of one daemon's good runs. */
export function valuesOf(runs: readonly Run[], daemon: string, field: string): readonly number[] {
  return good(runs, field)
    .filter((run) => run.daemon === daemon)
    .map((run) => run.values[field]!);
}

/** Ours over the rival's, within each repetition that both finished. */
export function ratios(runs: readonly Run[], rival: string, field: string): readonly number[] {
  const theirs = new Map(
    good(runs, field)
      .filter((run) => run.daemon === rival)
      .map((run) => [run.rep, run.values[field]!]),
  );
  return good(runs, field)
    .filter((run) => run.daemon === 'zest' && (theirs.get(run.rep) ?? 0) > 0)
    .map((run) => run.values[field]! / theirs.get(run.rep)!);
}

/** What is stored; undefined without a file. */
export function stored(path: string = RESULTS): Results | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Results) : undefined;
}

/** Runs of the same mode and size replace those stored before. */
export function merge(before: readonly Run[], now: readonly Run[]): readonly Run[] {
  const key = (run: Run): string => `${run.mode} ${run.n}`;
  const renewed = new Set(now.map(key));
  return [...before.filter((run) => !renewed.has(key(run))), ...now].sort((a, b) =>
    a.mode === b.mode ? a.n - b.n || a.rep - b.rep || (a.daemon < b.daemon ? -1 : 1) : a.mode < b.mode ? -1 : 1,
  );
}

/** A run a line, so that a difference between two sets of results can be read. */
export function save(runs: readonly Run[], path: string = RESULTS): void {
  const all = merge(stored(path)?.runs ?? [], runs);
  const lines = all.map((run) => `    ${JSON.stringify(run)}`).join(',\n');
  writeFileSync(path, `{\n  "machine": ${JSON.stringify(thisMachine())},\n  "runs": [\n${lines}\n  ]\n}\n`);
}
