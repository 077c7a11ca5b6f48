// Medians and ratios of the daemon bench, and what is kept of earlier runs.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { asRun, median, merge, ratios, type Run, save, stored, valuesOf } from '../../bench/results.ts';

function run(daemon: string, rep: number, time: number | undefined, more: Partial<Run> = {}): Run {
  return {
    mode: 'forward',
    n: 1000,
    daemon,
    version: '1',
    rep,
    at: '2026-01-01T00:00:00.000Z',
    commit: 'abc',
    load: 0.5,
    values: time === undefined ? {} : { time_s: time },
    ...more,
  };
}

const MEDIANS: readonly (readonly [values: readonly number[], median: number | undefined])[] = [
  [[], undefined],
  [[3], 3],
  [[3, 1], 2],
  [[9, 1, 2], 2],
  [[4, 1, 3, 2], 2.5],
];
for (const [values, expected] of MEDIANS) {
  test(`median of [${values.join(' ')}] is ${String(expected)}`, () => assert.equal(median(values), expected));
}

test('a ratio is taken within a repetition', () => {
  const runs = [run('zest', 1, 1), run('bird2', 1, 4), run('zest', 2, 6), run('bird2', 2, 12)];
  assert.deepEqual(ratios(runs, 'bird2', 'time_s'), [0.25, 0.5]);
});

test('a repetition that one side did not finish has no ratio', () => {
  const failed = run('bird2', 2, 7, { error: 'timeout' });
  const runs = [run('zest', 1, 1), run('bird2', 1, 2), run('zest', 2, 1), failed, run('zest', 3, 1), run('bird2', 3, undefined)];
  assert.deepEqual(ratios(runs, 'bird2', 'time_s'), [0.5]);
  assert.deepEqual(valuesOf(runs, 'bird2', 'time_s'), [2]);
});

test('runs of the same job and size replace the earlier ones, others stay', () => {
  const before = [run('zest', 1, 1), run('zest', 1, 9, { n: 5 }), run('zest', 1, 8, { mode: 'churn' })];
  const merged = merge(before, [run('zest', 1, 2), run('zest', 2, 3)]);
  assert.deepEqual(
    merged.map(({ mode, n, values }) => [mode, n, values['time_s']]),
    [
      ['churn', 1000, 8],
      ['forward', 5, 9],
      ['forward', 1000, 2],
      ['forward', 1000, 3],
    ],
  );
});

test('a line of the generator becomes a run: numbers are kept, a smaller size is told', () => {
  const made = asRun(
    { version: '2.0', n: 250, time_s: 2, load: 1.5, at: 't', mode: 'events' },
    'events',
    1000,
    'exabgp',
    3,
    'abc',
  );
  assert.deepEqual(made, {
    mode: 'events',
    n: 1000,
    daemon: 'exabgp',
    version: '2.0',
    rep: 3,
    at: 't',
    commit: 'abc',
    load: 1.5,
    values: { time_s: 2, prefixes: 250 },
  });
});

test('what is saved is read back', () => {
  const folder = mkdtempSync(join(tmpdir(), 'zest-results-'));
  const path = join(folder, 'results.json');
  try {
    assert.equal(stored(path), undefined);
    save([run('zest', 1, 1)], path);
    save([run('zest', 1, 5, { n: 7 })], path);
    assert.deepEqual(
      stored(path)?.runs.map(({ n }) => n),
      [7, 1000],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
