// Patterns of YANG strings, those of plugins too: what they match, and that none of them holds up a check.
import assert from 'node:assert/strict';
import test from 'node:test';
import { compilePattern } from '../../../yang/compile/pattern.ts';
import { matchesPattern } from '../../../engine/config/text/pattern.ts';

const ROWS: readonly (readonly [pattern: string, text: string, matches: boolean])[] = [
  ['[a-z]+', 'abc', true],
  ['[a-z]+', 'abc1', false],
  ['a|b', 'b', true],
  ['a|b', 'ab', false],
  ['([0-9A-Fa-f][0-9A-Fa-f])*', 'c0ffee', true],
  ['/?[0-9]{1,3}', '/24', true],
  ['[0-9]{4}-[0-9]{2}-[0-9]{2}', '2026-11-30', true],
  ['\\p{L}+', 'Zürich', true],
  ['(a+)+b', 'aaab', true],
  ['(a+)+b', 'a'.repeat(60), false],
  ['(a|a)*b', 'a'.repeat(60), false],
  ['(a?a?)*b', 'a'.repeat(60), false],
  ['\\d+', '\u0667', true],
  ['[a-z-[aeiou]]+', 'xyz', true],
  ['[a-z-[aeiou]]+', 'xyza', false],
  ['[^0-9]', '\u{1F600}', true],
  ['\\i\\c*', '_a.b-c', true],
  ['\\i\\c*', '9a', false],
  ['\\p{IsBasicLatin}+', 'abc', true],
  ['\\p{IsBasicLatin}+', 'abç', false],
  ['\\S+\\s\\w', 'a b', true],
  ['^a.c$', 'abc', true],
  ['a^b', 'a^b', true],
  ['.', '\n', false],
  ['a{2,3}', 'aaaa', false],
  ['a{2,}', 'aaaa', true],
  ['a{0}b', 'b', true],
  ['(a|b)*c|d', 'ababc', true],
  ['()', '', true],
  ['[\\-\\]x]+', '-]x', true],
  ['((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])', '192.0.2.255', true],
  ['((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])', '192.0.2.256', false],
  ['(.*)*(.*)*b', 'a'.repeat(5000), false],
];
for (const [pattern, text, matches] of ROWS) {
  test(`${pattern} on ${text.length > 20 ? `${text.length} characters` : text}`, () =>
    assert.equal(matchesPattern(pattern, text), matches));
}

const NONE: readonly (readonly [pattern: string, message: RegExp])[] = [
  ['(', /a "\)" is missing/],
  ['a)', /unexpected "\)"/],
  ['*a', /repeats nothing/],
  ['a**', /may not be repeated/],
  ['a{3,2}', /upside down/],
  ['a{x}', /must be \{n\}/],
  ['[a', /a "\]" is missing/],
  ['[z-a]', /upside down/],
  ['(?:a)', /no part of XSD/],
  ['a\\b', /is no escape of XSD/],
  ['\\p{Nope}', /is not known/],
  ['(((((a{50}){50}){50}){50}){50})', /grows past 20000 steps/],
  ['('.repeat(200), /nested deeper/],
];
for (const [pattern, message] of NONE)
  test(`${pattern.slice(0, 20)} is no pattern`, () =>
    assert.throws(() => compilePattern(pattern), { name: 'PatternError', message }));

test('a text is walked once: ten times the text costs no more than ten times the states', () => {
  const wide = `(${'a?'.repeat(500)}){2}b`;
  assert.equal(matchesPattern(wide, 'a'.repeat(60_000)), false);
  assert.equal(matchesPattern('(.*a.{12}){3}', `${'ab'.repeat(20_000)}c`), true);
});
