// What the report says of numbers, and its plots.
import assert from 'node:assert/strict';
import test from 'node:test';
import { plotSvg, tickText } from '../../bench/svg.ts';
import { inUnit, significant, verdict } from '../../bench/units.ts';

const NUMBERS: readonly (readonly [value: number, text: string])[] = [
  [0, '0'],
  [0.0012345, '0.00123'],
  [0.5, '0.500'],
  [1.2345, '1.23'],
  [12.345, '12.3'],
  [123.45, '123'],
  [1234567, '1,234,567'],
];
for (const [value, text] of NUMBERS) test(`${value} is shown as ${text}`, () => assert.equal(significant(value), text));

test('kilobytes of the system become MB', () => assert.equal(inUnit(1000, 'rss_kb', 'MB'), '1.02 MB'));

const VERDICTS: readonly (readonly [value: number | undefined, better: 'less' | 'more', verdict: string])[] = [
  [undefined, 'less', ''],
  [2, 'less', '**goal**'],
  [3, 'less', 'target'],
  [5, 'less', 'target'],
  [5.1, 'less', 'short'],
  [5, 'more', '**goal**'],
  [2, 'more', 'target'],
  [1.9, 'more', 'short'],
];
for (const [value, better, expected] of VERDICTS) {
  const [target, goal] = better === 'less' ? [5, 2] : [2, 5];
  test(`${String(value)} with ${better} being better, ${target} and ${goal} aimed at: ${expected}`, () =>
    assert.equal(verdict(value, { better, target, goal }), expected));
}

test('without an aim there is no verdict', () => assert.equal(verdict(1, { better: 'less' }), ''));

test('ticks are short', () => {
  assert.deepEqual([0.01, 1, 100, 10_000, 10_000_000].map(tickText), ['0.01', '1', '100', '10 k', '10 M']);
});

const plot = (points: readonly { x: number; y: number }[], name = 'zest'): string =>
  plotSvg({ title: 'a < b', x: 'routes', y: 'seconds', series: [{ name, points }] });

test('a plot has a mark for each point, and points lie in the order of their size', () => {
  const svg = plot([
    { x: 1e6, y: 1 },
    { x: 1e3, y: 0.01 },
    { x: 1e4, y: 0.1 },
  ]);
  assert.equal(svg.match(/<circle/g)?.length, 3);
  const xs = /points="([^"]+)"/
    .exec(svg)?.[1]
    ?.split(' ')
    .map((pair) => Number(pair.split(',')[0]));
  assert.deepEqual(
    xs,
    [...(xs ?? [])].sort((a, b) => a - b),
  );
  // Both axes run from the lowest power of ten to the highest: the middle one of three lies a third of the way.
  assert.deepEqual(xs, [70, 220, 520]);
});

test('what has no logarithm is left out; with nothing left the plot says so', () => {
  assert.equal(
    plot([
      { x: 0, y: 1 },
      { x: 10, y: 0 },
    ]).includes('nothing measured yet'),
    true,
  );
  assert.equal(
    plot([
      { x: 0, y: 1 },
      { x: 10, y: 1 },
    ]).match(/<circle/g)?.length,
    1,
  );
});

test('words are text', () => {
  const svg = plot([{ x: 1, y: 1 }], '<b>&');
  assert.ok(svg.includes('a &lt; b') && svg.includes('&lt;b&gt;&amp;') && !svg.includes('<b>'));
});
