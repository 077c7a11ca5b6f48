// npm run bench [-- --only WORD] [--json] [--compare] [--save]: micro benches of the real code. Each is measured in turns with a reference loop.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Bench as Tinybench } from 'tinybench';
import { type Baseline, type Benched, best, compare, TOLERANCE } from './compare.ts';
import { type Case, sink } from './micro/cases.ts';
import { codecCases } from './micro/codec.ts';
import { linkCases } from './micro/links.ts';
import { policyCases } from './micro/policy.ts';
import { ribCases } from './micro/rib.ts';
import { grouped, significant } from './units.ts';

const BASELINE = join(import.meta.dirname, 'baseline.json');
const ROUNDS = 3;
/** For a baseline, whose numbers stay. */
const BASELINE_ROUNDS = 8;
const ROUND_MS = 100;
/** A bench that seems slower is measured so many times more before it is called so. */
const SECOND_LOOKS = 2;
const NS = 1e6;

const referenceBytes = new Uint8Array(65_536).map((_, i) => i * 31);

/** FNV-1a over 64 KiB: integers, a typed array, no memory to speak of. */
function reference(): void {
  let hash = 0x811c9dc5;
  for (const byte of referenceBytes) hash = Math.imul(hash ^ byte, 0x01000193);
  sink.value += hash & 1;
}

/** One round: milliseconds a call of the reference and of the bench, medians. */
async function round(bench: ReturnType<Case['make']>, name: string): Promise<readonly [reference: number, bench: number]> {
  const both = new Tinybench({ time: ROUND_MS, warmupTime: ROUND_MS / 4, warmupIterations: 2, iterations: 4, throws: true });
  both.add('reference', reference, { async: false });
  both.add(name, () => bench.run(), bench.before === undefined ? {} : { beforeEach: bench.before });
  await both.run();
  const [a = 0, b = 0] = both.tasks.map(({ result }) => ('latency' in result ? result.latency.p50 : 0));
  return [a, b];
}

async function measure(it: Case, rounds = ROUNDS): Promise<Benched> {
  const { name, per, count } = it;
  const bench = it.make();
  const measured: Benched[] = [];
  for (let i = 0; i < rounds; i++) {
    const [loop, ms] = await round(bench, name);
    measured.push({ name, per, count, nsPerCall: ms * NS, ratio: ms / loop });
  }
  await bench.close?.();
  return best(measured);
}

function print(benched: readonly Benched[]): void {
  const width = Math.max(...benched.map(({ name }) => name.length));
  process.stdout.write(
    `${'bench'.padEnd(width)} ${'calls/s'.padStart(10)} ${'ns/call'.padStart(12)} ${'of each'.padStart(12)} ${'routes/s'.padStart(12)} ${'× loop'.padStart(8)}\n`,
  );
  for (const { name, per, count, nsPerCall, ratio } of benched) {
    const each = nsPerCall / count;
    const columns = [
      name.padEnd(width),
      grouped(1e9 / nsPerCall).padStart(10),
      grouped(nsPerCall).padStart(12),
      `${significant(each)} ns/${per}`.padStart(16),
      (per === 'route' ? grouped(1e9 / each) : '').padStart(12),
      significant(ratio).padStart(8),
    ];
    process.stdout.write(`${columns.join(' ')}\n`);
  }
}

/** What is slower than the baseline after further looks; sets the exit code. */
async function judge(cases: readonly Case[], benched: readonly Benched[], whole: boolean): Promise<void> {
  if (!existsSync(BASELINE)) throw new Error('there is no baseline: npm run bench -- --save');
  const baseline = JSON.parse(readFileSync(BASELINE, 'utf8')) as Baseline;
  let now = benched;
  for (let look = 0; look < SECOND_LOOKS; look++) {
    const suspects = new Set(compare(baseline, now).slower.map(({ name }) => name));
    if (suspects.size === 0) break;
    const again = new Map<string, Benched>();
    for (const it of cases) if (suspects.has(it.name)) again.set(it.name, await measure(it));
    now = now.map((it) => best([it, again.get(it.name) ?? it]));
  }
  const { slower, faster, added, gone } = compare(baseline, now);
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  for (const { name, before, now: ratio, factor } of slower) {
    say(`SLOWER ${name}: ${significant(before)} → ${significant(ratio)} × the loop (${significant(factor)} ×)`);
  }
  for (const { name, factor } of faster) say(`faster ${name}: ${significant(factor)} ×; --save makes it the baseline`);
  for (const name of added) say(`not in the baseline: ${name}`);
  if (whole) for (const name of gone) say(`in the baseline only: ${name}`);
  say(slower.length === 0 ? `nothing is slower than ${TOLERANCE} × the baseline of ${baseline.at}` : `${slower.length} slower`);
  if (slower.length > 0) process.exitCode = 1;
}

function save(benched: readonly Benched[], whole: boolean): void {
  const before = !whole && existsSync(BASELINE) ? (JSON.parse(readFileSync(BASELINE, 'utf8')) as Baseline).ratios : {};
  const ratios = { ...before, ...Object.fromEntries(benched.map(({ name, ratio }) => [name, Number(ratio.toPrecision(4))])) };
  const baseline: Baseline = { at: new Date().toISOString().slice(0, 10), node: process.version, ratios };
  writeFileSync(BASELINE, `${JSON.stringify(baseline, undefined, 2)}\n`);
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    compare: { type: 'boolean', default: false },
    save: { type: 'boolean', default: false },
  },
});
const all = [...codecCases, ...ribCases, ...policyCases, ...linkCases];
const chosen = all.filter(({ name }) => name.includes(values.only));
if (chosen.length === 0) throw new Error(`no bench is named like ${values.only}`);
const benched: Benched[] = [];
for (const it of chosen) benched.push(await measure(it, values.save ? BASELINE_ROUNDS : ROUNDS));
if (values.json) process.stdout.write(`${JSON.stringify(benched, undefined, 2)}\n`);
else print(benched);
if (values.save) save(benched, chosen.length === all.length);
if (values.compare) await judge(chosen, benched, chosen.length === all.length);
