// npm run bench:daemon [MODE…] [--n N,…] [--reps R] [--json] [--save]: the daemon end to end, beside others where they are installed. Runs of one
// repetition follow each other closely, so that they meet the same machine; what counts is the ratio within a repetition.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { generator } from './load.ts';
import { generatedModes, type Measure, type Mode } from './modes.ts';
import { ownModes } from './own-modes.ts';
import { processModes } from './process-modes.ts';
import { prepare } from './program.ts';
import { asRun, commit, median, ratios, type Run, save, valuesOf } from './results.ts';
import { inUnit, significant } from './units.ts';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function once(mode: Mode, n: number, rep: number, head: string): Promise<readonly Run[]> {
  const runs: Run[] = [];
  for (const contestant of mode.contestants) {
    const { daemon, absent } = contestant;
    if (absent !== undefined) continue;
    try {
      runs.push(asRun(await contestant.run(n), mode.name, n, daemon, rep, head));
    } catch (error) {
      const [load = 0] = loadavg();
      runs.push(asRun({ error: error instanceof Error ? error.message : String(error), load }, mode.name, n, daemon, rep, head));
    }
    const last = runs.at(-1)!;
    const shown = mode.measures.map(({ field, unit }) =>
      last.values[field] === undefined ? '' : inUnit(last.values[field], field, unit),
    );
    say(`${mode.name} ${n} rep ${rep} ${daemon}: ${last.error ?? shown.join(', ')}  (load ${last.load})`);
  }
  return runs;
}

/** One line of the table: medians of ours and the rival's, the median ratio, what was aimed at. */
function line(mode: Mode, measure: Measure, n: number, runs: readonly Run[]): string {
  const ours = median(valuesOf(runs, 'zest', measure.field));
  const rival = mode.contestants.find(({ daemon }) => daemon !== 'zest')?.daemon;
  const theirs = rival === undefined ? undefined : median(valuesOf(runs, rival, measure.field));
  const ratio = rival === undefined ? undefined : median(ratios(runs, rival, measure.field));
  const show = (value: number | undefined): string => (value === undefined ? '-' : inUnit(value, measure.field, measure.unit));
  const aim = measure.target === undefined ? '' : `  target ${measure.target}, goal ${measure.goal}`;
  return `${measure.title.padEnd(46)} ${String(n).padStart(9)}  ${show(ours).padStart(14)}  ${`${rival ?? ''} ${show(theirs)}`.padStart(22)}  ${
    ratio === undefined ? '' : `${significant(ratio)} ×`
  }${aim}`;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      n: { type: 'string' },
      reps: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
      save: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const folder = prepare();
  const driven = generatedModes(folder);
  const all = [...driven, ...ownModes(folder), ...processModes(folder)];
  if (values.help) {
    say('npm run bench:daemon -- [MODE…] [--n N,…] [--reps R] [--json] [--save]');
    for (const mode of all) say(`  ${mode.name.padEnd(18)} ${mode.what}`);
    return;
  }
  const names = positionals.map((word) => ALIASES[word] ?? word);
  const unknown = names.filter((name) => !all.some((mode) => mode.name === name));
  if (unknown.length > 0)
    throw new Error(`no such mode: ${unknown.join(' ')}; there are ${all.map(({ name }) => name).join(' ')}`);
  const { skip } = generator;
  if (skip !== false) say(`left out: ${driven.map(({ name }) => name).join(' ')}: ${skip}`);
  const chosen = all.filter(
    (mode) => (names.length === 0 || names.includes(mode.name)) && (skip === false || !driven.includes(mode)),
  );
  const sizesOf = (mode: Mode): readonly number[] => values.n?.split(',').map(Number) ?? mode.sizes;
  const head = commit();
  const runs: Run[] = [];
  for (const mode of chosen) for (const { absent } of mode.contestants) if (absent !== undefined) say(`${mode.name}: ${absent}`);
  for (let rep = 1; rep <= Number(values.reps); rep++) {
    for (const mode of chosen) for (const n of sizesOf(mode)) runs.push(...(await once(mode, n, rep, head)));
  }
  if (values.save) save(runs);
  if (values.json) process.stdout.write(`${JSON.stringify(runs, undefined, 2)}\n`);
  else {
    for (const mode of chosen) {
      for (const n of sizesOf(mode)) {
        const own = runs.filter((run) => run.mode === mode.name && run.n === n);
        for (const measure of mode.measures) process.stdout.write(`${line(mode, measure, n, own)}\n`);
      }
    }
  }
  if (runs.some((run) => run.error !== undefined)) process.exitCode = 1;
}

/** Names of what is read from another mode's runs. */
const ALIASES: Readonly<Record<string, string | undefined>> = { withdraw: 'forward-1m', memory: 'forward-1m' };

await main();
