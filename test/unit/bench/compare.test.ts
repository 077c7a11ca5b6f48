// What the benches conclude from their numbers: no time is measured here.
import assert from 'node:assert/strict';
import test from 'node:test';
import { type Baseline, type Benched, best, compare, TOLERANCE } from '../../bench/compare.ts';

const benched = (name: string, ratio: number): Benched => ({ name, ratio, nsPerCall: ratio * 1000, count: 1, per: 'route' });
const baseline = (ratios: Record<string, number>): Baseline => ({ at: '2026-01-01', node: 'v20', ratios });

const CASES: readonly (readonly [what: string, before: number, now: number, slower: boolean, faster: boolean])[] = [
  ['the same', 2, 2, false, false],
  ['at the tolerance', 2, 2 * TOLERANCE, false, false],
  ['past the tolerance', 2, 2 * TOLERANCE + 0.01, true, false],
  ['a little faster', 2, 2 / TOLERANCE + 0.01, false, false],
  ['much faster', 2, 2 / TOLERANCE - 0.01, false, true],
];
for (const [what, before, now, slower, faster] of CASES) {
  test(`${what}: ${slower ? 'slower' : faster ? 'faster' : 'no change'}`, () => {
    const found = compare(baseline({ a: before }), [benched('a', now)]);
    assert.deepEqual(
      found.slower.map(({ name }) => name),
      slower ? ['a'] : [],
    );
    assert.deepEqual(
      found.faster.map(({ name }) => name),
      faster ? ['a'] : [],
    );
  });
}

test('times do not count, ratios do: a machine of half the speed is no regression', () => {
  const slow = { ...benched('a', 2), nsPerCall: 1e9 };
  assert.deepEqual(compare(baseline({ a: 2 }), [slow]).slower, []);
});

test('the worst comes first, with its factor', () => {
  const { slower } = compare(baseline({ a: 1, b: 1 }), [benched('a', 2), benched('b', 5)]);
  assert.deepEqual(slower, [
    { name: 'b', before: 1, now: 5, factor: 5 },
    { name: 'a', before: 1, now: 2, factor: 2 },
  ]);
});

test('benches that only one side has are named and judged by nobody', () => {
  const { slower, faster, added, gone } = compare(baseline({ old: 1 }), [benched('new', 100)]);
  assert.deepEqual({ slower, faster, added, gone }, { slower: [], faster: [], added: ['new'], gone: ['old'] });
});

test('another tolerance is honoured', () => {
  assert.equal(compare(baseline({ a: 1 }), [benched('a', 1.2)], 1.1).slower.length, 1);
});

test('of several looks the least disturbed counts', () => {
  assert.equal(best([benched('a', 3), benched('a', 2), benched('a', 4)]).ratio, 2);
});
