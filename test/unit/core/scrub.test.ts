// A secret is taken out of texts as it stands and at any depth of JSON; nothing else is.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { Scrubber } from '../../../engine/core/scrub.ts';

const scrubber = (...secrets: readonly string[]): Scrubber => {
  const one = new Scrubber();
  one.set(secrets);
  return one;
};

for (const [secret, text, shown] of [
  ['secret-1', 'a secret-1 b', 'a ******** b'],
  ['.*.*.*', 'abcdef .*.*.*', 'abcdef ********'],
  ['short', 'short is too common a word', 'short is too common a word'],
  ['password', 'passwore', 'passwore'],
] as const)
  test(`${secret} in ${text}`, () => assert.equal(scrubber(secret).text(text), shown));

test('the longer of two goes first', () => assert.equal(scrubber('secret', 'secret-more').text('secret-more'), '********'));

test('without secrets a value is handed back as it is', () => {
  const value = { at: undefined, of: new Map() };
  assert.equal(scrubber().value(value), value);
});

test('at any depth of JSON, whatever the secret holds', () => {
  const characters = fc.constantFrom('a', 'é', '"', '\\', '\n', '\t', '$', '/', '(', '☃');
  fc.assert(
    fc.property(fc.string({ unit: characters, minLength: 6, maxLength: 12 }), fc.nat(4), (secret, depth) => {
      let text = `key ${secret} end`;
      for (let i = 0; i < depth; i++) text = JSON.stringify({ text });
      let read: unknown = scrubber(secret).text(text);
      for (let i = 0; i < depth; i++) read = (JSON.parse(read as string) as { text: string }).text;
      assert.equal(read, 'key ******** end');
    }),
  );
});
