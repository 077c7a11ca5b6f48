// Rows as bytes: between threads, into the lines of a link, out of them again, and the look that decides whether a row is printed as it is.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { MessageChannel } from 'node:worker_threads';
import fc from 'fast-check';
import { isPlainJson } from '../../engine/cli/answers/plain-json.ts';
import { PortPeer } from '../../engine/host/bridge/port-peer.ts';
import type { AnswerRecord, AnswerSource } from '../../sdk/rpc/answer.ts';
import { LineSplitter } from '../../sdk/rpc/frame.ts';
import { Mux } from '../../sdk/rpc/mux.ts';
import { records } from '../../sdk/rpc/records.ts';
import { duplexPair } from '../support/duplex-pair.ts';

const row = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.integer().map(String));
const rows = fc.oneof(
  fc.array(row, { maxLength: 400 }),
  fc.array(row, { minLength: 300, maxLength: 700 }),
  // One that fits no slot, in the middle.
  fc.array(row, { minLength: 300, maxLength: 400 }).map((some) => some.toSpliced(150, 0, 'é'.repeat(40_000))),
);

/** A producer in another thread, a link, a client: what came out, row by row. */
async function carried(values: readonly string[], direct: boolean): Promise<readonly string[]> {
  const { port1, port2 } = new MessageChannel();
  const refuse = (): Promise<never> => Promise.reject(new Error('not here'));
  const far = new PortPeer(port1, {
    call: refuse,
    open: () => Promise.resolve(records(values.map((value) => ({ value })))),
    note: () => undefined,
  });
  const near = new PortPeer(port2, { call: refuse, open: refuse, note: () => undefined });
  const [left, right] = duplexPair();
  const [server, client] = [new Mux(left), new Mux(right)];
  server.serveAnswer('ze-plugin-engine:dispatch-command', (): Promise<AnswerSource> => near.open('x', {}).source());
  const got: string[] = [];
  const take = (json: string): void => void got.push((JSON.parse(json) as { value: string }).value);
  const reader = client.dispatchAnswer('ze-plugin-engine:dispatch-command', { command: 'x' }, undefined, {
    accepts: (head) => direct && head.itemType === 'map',
    row: (bytes, from, to) => take(bytes.toString('utf8', from, to)),
  });
  const { itemType } = await reader.head;
  for await (const chunk of reader.chunks()) {
    for (const { json } of chunk) {
      if (itemType === 'doc') for (const item of JSON.parse(json) as { value: string }[]) got.push(item.value);
      else take(json);
    }
  }
  assert.equal((await reader.verdict).outcome, 'done');
  far.close();
  near.close();
  await Promise.all([server.close(), client.close()]);
  return got;
}

test('rows come out of the other thread and the link as they went in, one after another', () =>
  fc.assert(
    fc.asyncProperty(rows, fc.boolean(), async (values, direct) => {
      assert.deepEqual(await carried(values, direct), values);
    }),
    { numRuns: 25 },
  ));

test('a reader that goes away in the middle of packed rows stops the producer', async () => {
  const { port1, port2 } = new MessageChannel();
  const refuse = (): Promise<never> => Promise.reject(new Error('not here'));
  let cancelled: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => (cancelled = resolve));
  let made = 0;
  const chunk = (): readonly AnswerRecord[] => Array.from({ length: 256 }, () => ({ rejected: false, json: String(made++) }));
  const endless: AnswerSource = {
    head: { itemType: 'map', envelope: 'x', columns: [] },
    next: () => Promise.resolve({ kind: 'records', records: chunk() }),
    cancel: () => cancelled(),
  };
  const far = new PortPeer(port1, { call: refuse, open: () => Promise.resolve(endless), note: () => undefined });
  const near = new PortPeer(port2, { call: refuse, open: refuse, note: () => undefined });
  const source = await near.open('x', {}).source();
  const first = await source.nextPacked?.();
  assert.equal(first?.kind, 'packed');
  assert.ok(made <= 3 * 256, 'no more than two chunks ahead');
  source.cancel();
  await stopped;
  far.close();
  near.close();
});

test('however the stream is cut, rows handed over and lines given out are the lines that were written', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }), { maxLength: 30 }),
      fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 60 }),
      (texts, cuts) => {
        const lines = texts.map((text, i) => `#${i % 3 === 2 ? 8 : 7} row ${Buffer.byteLength(text)}:${text}`);
        const stream = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const seen: string[] = [];
        const splitter = new LineSplitter((line) => seen.push(line.toString()), true);
        const take = (chunk: Buffer, from: number, to: number): void =>
          void seen.push(`#7 row ${to - from}:${chunk.toString('utf8', from, to)}`);
        splitter.rows = { prefix: Buffer.from('#7 row '), take };
        // One buffer for every chunk: what was kept of an earlier one would be overwritten.
        const lent = Buffer.alloc(64);
        for (let at = 0, i = 0; at < stream.length; i++) {
          const size = Math.min(1 + cuts[i % cuts.length]!, stream.length - at);
          lent.fill(0x21);
          stream.copy(lent, 0, at, at + size);
          splitter.push(lent.subarray(0, size));
          at += size;
        }
        assert.deepEqual(seen, lines);
      },
    ),
  );
});

const PRINTABLE = /^[\x20-\x7e]*$/;

test('what is printed as it is, is one JSON value of printable ASCII; such a value is', () => {
  const looks = (text: string): boolean => isPlainJson(Buffer.from(text), 0, Buffer.byteLength(text));
  const parses = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  const same = (text: string): void => assert.equal(looks(text), PRINTABLE.test(text) && parses(text), text);
  fc.assert(fc.property(fc.json({ stringUnit: 'grapheme-composite' }), same));
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.constantFrom(...Array.from('{}[]",:\\0123eE+-.tfnu \n\u007fé')), (json, at, char) => {
      same(json.slice(0, at % (json.length + 1)) + char + json.slice((at % (json.length + 1)) + (at & 1)));
    }),
    { numRuns: 2000 },
  );
  for (const text of [
    '01',
    '1.',
    '-',
    '1e',
    '1e+',
    '"\\u12g4"',
    '"\\x"',
    '[1,]',
    '{"a":1,}',
    '{"a"}',
    'nul',
    'true1',
    '',
    ' ',
    '1 2',
  ])
    same(text);
  assert.equal(looks('['.repeat(100) + ']'.repeat(100)), false, 'deep nesting takes the slow way');
});
