// Rows that wait until the owner of their family has read them: order, time, limits.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { EventRow } from '../../../engine/bgp/port.ts';
import { Deferred, DEFERRED_ROWS, READ_MS } from '../../../engine/bus/deferred.ts';
import type { NlriAnswer, NlriQuestion } from '../../../engine/codec/nlri-question.ts';
import { ManualClock } from '../../../engine/core/clock.ts';
import { updateRow } from './fixture.ts';

interface Asked {
  readonly question: NlriQuestion;
  readonly answer: (answer: NlriAnswer) => Promise<void>;
}

const question = (owner: string): NlriQuestion => ({
  family: 456,
  name: 'ipv4/acme',
  owner,
  offset: 0,
  nlri: Uint8Array.of(1),
  addPath: false,
  withdraw: false,
});
const good: NlriAnswer = { ok: true, value: ['read'] };

function bench(): {
  readonly deferred: Deferred;
  readonly clock: ManualClock;
  readonly asked: Asked[];
  readonly out: string[];
  readonly held: string[];
} {
  const clock = new ManualClock();
  const [asked, out, held]: [Asked[], string[], string[]] = [[], [], []];
  const deferred: Deferred = new Deferred({
    clock,
    ask: (one) =>
      new Promise((resolve) => {
        asked.push({
          question: one,
          answer: async (answer) => {
            resolve(answer);
            await new Promise(setImmediate);
          },
        });
      }),
    deliver: (row: EventRow, answered) => {
      const [answer] = answered?.answers ?? [];
      out.push(`${row.messageId}${answer === undefined ? '' : answer.ok ? ' read' : ` ${answer.message}`}`);
    },
    answered: () => undefined,
    hold: (peer) => held.push(`hold ${peer}`),
    letGo: () => held.push('let go'),
  });
  return { deferred, clock, asked, out, held };
}

test('rows and what is between them leave in the order in which they came, whoever answers first', async () => {
  const { deferred, asked, out } = bench();
  deferred.row(updateRow(1), [question('a')]);
  deferred.row(updateRow(2), []);
  deferred.then(() => out.push('peers'));
  deferred.row(updateRow(3), [question('b')]);
  await asked[1]?.answer(good);
  assert.deepEqual(out, []);
  await asked[0]?.answer(good);
  assert.deepEqual(out, ['1 read', '2', 'peers', '3 read']);
  assert.equal(deferred.waiting, false);
});

test('an owner that is late costs one second; it is asked again when it has answered', async () => {
  const { deferred, clock, asked, out } = bench();
  deferred.row(updateRow(1), [question('a')]);
  clock.advance(READ_MS - 1);
  assert.deepEqual(out, []);
  clock.advance(1);
  deferred.row(updateRow(2), [question('a')]);
  deferred.row(updateRow(3), [question('b')]);
  assert.deepEqual(out, ['1 a did not answer within 1 s', '2 a did not answer within 1 s']);
  await asked[1]?.answer({ ok: false, message: 'b: no' });
  await asked[0]?.answer(good);
  deferred.row(updateRow(4), [question('a')]);
  await asked[2]?.answer(good);
  assert.deepEqual(out.slice(2), ['3 b: no', '4 read']);
  assert.equal(clock.pending, 0);
});

test('past half of the room the sender is held, past all of it nobody is waited for', async () => {
  const { deferred, asked, out, held } = bench();
  for (let i = 1; i < DEFERRED_ROWS; i++) deferred.row(updateRow(i), [question('a')]);
  assert.equal(out.length, 0);
  assert.equal(held[0], 'hold 0');
  assert.ok(asked.length < 16, 'few questions are under way at once');
  deferred.row(updateRow(DEFERRED_ROWS), [question('a')]);
  assert.equal(out.length, DEFERRED_ROWS);
  assert.match(out[0] ?? '', /too many events wait/);
  assert.equal(held.at(-1), 'let go');
  for (const one of asked) await one.answer(good);
  assert.equal(out.length, DEFERRED_ROWS);
});
