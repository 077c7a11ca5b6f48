// A batch of events out of the params of its line.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventTexts } from '../../../sdk/plugin/event-batch.ts';

const deep = '['.repeat(100_000) + ']'.repeat(100_000);
const GOOD: readonly (readonly [string, readonly string[]])[] = [
  ['{"events":[]}', []],
  ['{"events":["a","\\"b\\"\\u00e9é"]}', ['a', '"b"éé']],
  ['{"EVENTS":["a"]}', ['a']],
  ['{"events":["a"],"more":1}', ['a']],
  ['{}', []],
  ['', []],
];
for (const [text, texts] of GOOD) {
  test(`${text || 'nothing'} holds ${texts.length} events`, () => assert.deepEqual(eventTexts(Buffer.from(text)), texts));
}

for (const text of ['{', '[]', '{"events":1}', '{"events":["a",1]}', `{"events":["a",${deep}]}`, `{"events":[],"x":${deep}}`]) {
  test(`${text.slice(0, 24)} is refused`, () =>
    assert.throws(() => eventTexts(Buffer.from(text)), /invalid deliver-batch params/));
}
