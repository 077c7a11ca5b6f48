// npm run bench:report: fills the tables of README.md and draws plots/*.svg, both from results.json alone.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedModes, type Measure, type Mode } from './modes.ts';
import { ownModes } from './own-modes.ts';
import { median, ratios, type Results, type Run, stored, valuesOf } from './results.ts';
import { type Plot, plotSvg, type Series } from './svg.ts';
import { inUnit, scaled, significant, verdict } from './units.ts';

const README = join(import.meta.dirname, 'README.md');
const PLOTS = join(import.meta.dirname, 'plots');
const [BEGIN, END] = ['<!-- results: made by npm run bench:report -->', '<!-- end of results -->'];

const modes: readonly Mode[] = [...generatedModes(''), ...ownModes('')];
const rivalOf = (mode: Mode): string | undefined => mode.contestants.find(({ daemon }) => daemon !== 'zest')?.daemon;

function spread(values: readonly number[], show: (value: number) => string): string {
  const middle = median(values);
  if (middle === undefined) return '–';
  return values.length === 1 ? show(middle) : `${show(middle)} (${show(Math.min(...values))}–${show(Math.max(...values))})`;
}

function row(mode: Mode, measure: Measure, runs: readonly Run[], n: number): string {
  const rival = rivalOf(mode);
  const { field, unit } = measure;
  const show = (value: number): string => inUnit(value, field, unit);
  const ours = valuesOf(runs, 'zest', field);
  const quotients = rival === undefined ? [] : ratios(runs, rival, field);
  const isRatio = rival !== undefined && measure.absolute !== true;
  const value = isRatio ? median(quotients) : median(ours);
  const judged = value === undefined ? undefined : isRatio ? value : scaled(value, field);
  const aim = measure.target === undefined ? '' : `${measure.target} / ${measure.goal ?? ''}${isRatio ? ' ×' : ''}`;
  const loads = runs.map(({ load }) => load);
  return `| ${[
    measure.title.trim(),
    n.toLocaleString('en'),
    ours.length,
    spread(ours, show),
    rival === undefined ? '' : `${rival} ${spread(valuesOf(runs, rival, field), show)}`,
    quotients.length === 0 ? '' : `${spread(quotients, significant)} ×`,
    aim,
    verdict(judged, measure),
    `${Math.min(...loads).toFixed(1)}–${Math.max(...loads).toFixed(1)}`,
  ].join(' | ')} |`;
}

function table({ runs }: Results): string[] {
  const lines = [
    '| job | size | runs | Zest | beside it | ratio | target / goal | reached | load |',
    '|---|--:|--:|--:|--:|--:|--:|---|--:|',
  ];
  for (const mode of modes) {
    const own = runs.filter((run) => run.mode === mode.name);
    const sizes = [...new Set(own.map(({ n }) => n))].sort((a, b) => a - b);
    for (const n of sizes) {
      const sized = own.filter((run) => run.n === n);
      for (const measure of mode.measures) lines.push(row(mode, measure, sized, n));
    }
  }
  return lines;
}

function failures({ runs }: Results): string[] {
  const failed = runs.filter(({ error }) => error !== undefined);
  return failed.length === 0
    ? []
    : ['', `Runs that failed: ${failed.map((it) => `${it.mode} ${it.n} ${it.daemon} (${it.error ?? ''})`).join('; ')}.`];
}

/** One line a daemon: the median of a field over the sizes of a mode. */
function series(results: Results, mode: string, field: string): readonly Series[] {
  const runs = results.runs.filter((run) => run.mode === mode);
  return [...new Set(runs.map(({ daemon }) => daemon))]
    .sort()
    .reverse()
    .map((daemon) => ({
      name: daemon,
      points: [...new Set(runs.map(({ n }) => n))].flatMap((n) => {
        const middle = median(
          valuesOf(
            runs.filter((run) => run.n === n),
            daemon,
            field,
          ),
        );
        return middle === undefined ? [] : [{ x: n, y: scaled(middle, field) }];
      }),
    }));
}

const PLOTTED: readonly (Omit<Plot, 'series'> & { readonly file: string; readonly mode: string; readonly field: string })[] = [
  { file: 'routes-time', mode: 'sizes', field: 'time_s', title: 'Forwarding a table, cold', x: 'routes', y: 'seconds' },
  { file: 'routes-withdraw', mode: 'sizes', field: 'withdraw_s', title: 'Withdrawing it', x: 'routes', y: 'seconds' },
  { file: 'routes-memory', mode: 'sizes', field: 'peak_rss_kb', title: 'Memory at most', x: 'routes', y: 'MB' },
  { file: 'peers-time', mode: 'peers', field: 'time_s', title: '10,000 routes to every receiver', x: 'receivers', y: 'seconds' },
  { file: 'peers-memory', mode: 'peers', field: 'peak_rss_kb', title: 'Memory at most, 10,000 routes', x: 'receivers', y: 'MB' },
  {
    file: 'peers-sessions',
    mode: 'peers',
    field: 'sessions_s',
    title: 'Until every session is up',
    x: 'receivers',
    y: 'seconds',
  },
];

function machineText({ machine, runs }: Results): string {
  const days = [...new Set(runs.map(({ at }) => at.slice(0, 10)))].sort();
  const commits = [...new Set(runs.map(({ commit }) => commit).filter((it) => it !== ''))];
  const loads = runs.map(({ load }) => load);
  return (
    `${runs.length} runs of ${days.join(', ')} at ${commits.join(', ')} on ${machine.processors}, ${machine.memoryGiB} GiB, Linux ${machine.kernel}, Node ${machine.node}. ` +
    `The machine's load average before a run was ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}; the last column says it for each job. ` +
    'What has fewer than three runs, or was run at a load above one, is a first look and no measurement.'
  );
}

function main(): void {
  const results = stored();
  if (results === undefined || results.runs.length === 0) throw new Error('there are no results: npm run bench:daemon -- --save');
  const text = readFileSync(README, 'utf8');
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error('README.md has no place for results');
  mkdirSync(PLOTS, { recursive: true });
  for (const { file, mode, field, ...words } of PLOTTED) {
    writeFileSync(join(PLOTS, `${file}.svg`), plotSvg({ ...words, series: series(results, mode, field) }));
  }
  const plots = PLOTTED.map(({ file, title }) => `![${title}](plots/${file}.svg)`);
  const made = [BEGIN, '', machineText(results), '', ...table(results), ...failures(results), '', ...plots, ''];
  writeFileSync(README, `${text.slice(0, from)}${made.join('\n')}${text.slice(to)}`);
}

main();
