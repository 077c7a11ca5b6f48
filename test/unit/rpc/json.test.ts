// JSON of a peer is bounded in depth before anything walks it, wherever it comes in, and what is refused is said in words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { payloadJson } from '../../../engine/bus/monitor.ts';
import { rendererOf } from '../../../engine/cli/answers/render.ts';
import { DOC_HEAD } from '../../../sdk/rpc/answer.ts';
import { decodePayload } from '../../../sdk/rpc/decode.ts';
import { MAX_JSON_DEPTH, parseJson, parseShallow, stringifyJson } from '../../../sdk/rpc/json.ts';

const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const maps = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
const TOO_DEEP = new RegExp(`JSON nested deeper than ${MAX_JSON_DEPTH} levels`);

for (const [name, of] of [
  ['lists', lists],
  ['objects', maps],
] as const) {
  for (const [parser, parse] of [
    ['parseShallow', parseShallow],
    ['parseJson', parseJson],
  ] as const) {
    test(`${parser} reads ${MAX_JSON_DEPTH} ${name} in each other, and not one more`, () => {
      assert.equal(JSON.stringify(parse(of(MAX_JSON_DEPTH))), of(MAX_JSON_DEPTH));
      assert.throws(() => parse(of(MAX_JSON_DEPTH + 1)), TOO_DEEP);
      assert.throws(() => parse(of(1_000_000)), TOO_DEEP);
    });
  }
}

test('brackets in strings are no levels, whatever is escaped there', () => {
  const text = JSON.stringify(['[{'.repeat(2000), '\\', '"[[[', '\\"[']);
  assert.equal(JSON.stringify(parseShallow(text)), text);
  const wide = `[${Array.from({ length: 5000 }, () => '[]').join(',')}]`;
  assert.equal(JSON.stringify(parseShallow(wide)), wide);
});

const LONG = 9007199254740993n;
for (const [what, value] of [
  ['a key of U+0000', { '\u0000': LONG }],
  ['a key like the mark', { '\u0000bigint:5': LONG }],
  ['a text like the mark', ['\u0000bigint:5', '\u0000\u0000bigint:5', LONG]],
  ['a text with a quote before the mark', ['a"\u0000bigint:5', LONG]],
  ['a key with a quote before the mark', { 'a"\u0000bigint:5': LONG }],
  ['a backslash before what looks like an escape', ['\\u0000bigint:5', LONG]],
] as const) {
  test(`${what} comes through beside an integer past 2^53`, () => {
    const text = stringifyJson(value);
    assert.ok(text !== undefined);
    assert.deepEqual(parseJson(text), value);
    assert.match(text, /[^"\d]9007199254740993[\]}]/);
  });
}

test('params that are too deep are refused as params', () => {
  const payload = Buffer.from(`{"namespace":"n","key":"k","value":${lists(100_000)}}`);
  assert.throws(
    () => decodePayload('ze-plugin-engine:emit-event', payload),
    /^RpcError: invalid emit-event params: JSON nested deeper/,
  );
});

test('a value that is too deep to be written says so', () => {
  let value: unknown = 1;
  for (let i = 0; i < 200_000; i++) value = [value];
  assert.throws(() => stringifyJson(value), /a value is nested too deeply for JSON/);
});

test('an event that is too deep stands in its envelope as a string', () => {
  assert.equal(payloadJson('[[1]]'), '[[1]]');
  assert.equal(payloadJson(lists(MAX_JSON_DEPTH + 1)), JSON.stringify(lists(MAX_JSON_DEPTH + 1)));
});

for (const format of ['json', 'json-compact', 'yaml', 'table', 'text'] as const) {
  test(`a plugin's answer that is too deep is told in place of it, as ${format}`, () => {
    const renderer = rendererOf({ format, live: false, width: 80, colour: false });
    const text =
      renderer.head(DOC_HEAD) +
      renderer.record(maps(100_000), false) +
      renderer.end({ outcome: 'done', produced: 1, rejected: 0, message: '' });
    assert.ok(text.length < 60_000, `${text.length} letters`);
    if (!format.startsWith('json')) assert.match(text.replaceAll(/[\s│]+/g, ' '), TOO_DEEP);
  });
}
