// Patterns of YANG strings, those of plugins too: what they match, and that none of them holds up a check.
import assert from 'node:assert/strict';
import test from 'node:test';
import { matchesPattern } from '../../../engine/config/pattern.ts';

const ROWS: readonly (readonly [pattern: string, text: string, matches: boolean | undefined])[] = [
  ['[a-z]+', 'abc', true],
  ['[a-z]+', 'abc1', false],
  ['a|b', 'b', true],
  ['a|b', 'ab', false],
  ['([0-9A-Fa-f][0-9A-Fa-f])*', 'c0ffee', true],
  ['/?[0-9]{1,3}', '/24', true],
  ['[0-9]{4}-[0-9]{2}-[0-9]{2}', '2026-11-30', true],
  ['\\p{L}+', 'Zürich', true],
  ['(a+)+b', 'aaab', true],
  ['(a+)+b', 'a'.repeat(60), undefined],
  ['(a|a)*b', 'a'.repeat(60), undefined],
  ['(a?a?)*b', 'a'.repeat(60), undefined],
  ['(.*)*(.*)*b', 'a'.repeat(5000), undefined],
];
for (const [pattern, text, matches] of ROWS) {
  test(`${pattern} on ${text.length > 20 ? `${text.length} characters` : text}`, () =>
    assert.equal(matchesPattern(pattern, text), matches));
}

test('a thousand values that a pattern cannot tell are given up as soon as a few', () => {
  for (let i = 0; i < 1000; i++) assert.equal(matchesPattern('(x+)+y', 'x'.repeat(40 + (i % 10))), undefined);
});
