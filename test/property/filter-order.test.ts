// Filters that answer in any order, with anything: messages leave in theirs, nothing is lost, and the far end has what a naive model says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ExportLine } from '../../engine/bgp/filter/export-line.ts';
import { PolicyTable } from '../../engine/bgp/filter/filter-steps.ts';
import { MessageCounters } from '../../engine/bgp/counters.ts';
import type { Peer } from '../../engine/bgp/session/peer.ts';
import type { FilterStep, Verdict } from '../../engine/bgp/filter/pipeline.ts';
import { Pipeline } from '../../engine/bgp/filter/pipeline.ts';
import type { ReactorAnswer } from '../../engine/bgp/port.ts';
import { plainContext } from '../../sdk/wire/context.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { UpdateView } from '../../sdk/wire/update.ts';
import { attributes, hex, peerSettings, toHex, update } from '../unit/bgp/lab.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Promises of answers, settled in any order. */
class Deck<T> {
  readonly #open: ((value: T) => void)[] = [];
  draw(): Promise<T> {
    return new Promise((resolve) => this.#open.push(resolve));
  }
  get size(): number {
    return this.#open.length;
  }
  /** Settles one of those that are open. */
  play(which: number, value: T): void {
    this.#open.splice(which % this.#open.length, 1)[0]?.(value);
  }
}

const VERDICTS: readonly Verdict['kind'][] = ['accept', 'reject', 'replace'];

test('a pipeline gives back every message in its order, whatever steps answer and when', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          /** A step answers at once, or later. */
          late: fc.boolean(),
          exempt: fc.boolean(),
          verdict: fc.constantFrom(...VERDICTS),
          /** How many answers come before the next message. */
          answers: fc.nat(3),
          which: fc.nat(100),
        }),
        { maxLength: 120 },
      ),
      fc.boolean(),
      async (messages, twoSteps) => {
        const deck = new Deck<Verdict>();
        const out: string[] = [];
        const verdictOf = (bytes: Uint8Array): Verdict => {
          const kind = messages[(bytes[0]! << 8) | bytes[1]!]!.verdict;
          if (kind !== 'replace') return { kind } as Verdict;
          return { kind, message: Uint8Array.of(bytes[0]!, bytes[1]!, 1) };
        };
        const waiting: Uint8Array[] = [];
        const first: FilterStep = {
          name: 'first',
          run: ({ bytes, at, length }) => {
            const message = bytes.slice(at, at + length);
            if (!messages[(message[0]! << 8) | message[1]!]!.late) return verdictOf(message);
            waiting.push(message);
            return deck.draw();
          },
        };
        const second: FilterStep = { name: 'second', run: () => ({ kind: 'accept' }) };
        const line = new Pipeline(
          {
            passed: (bytes, at, length, _late, original) =>
              out.push(`${original === undefined ? 'passed' : 'replaced'} ${(bytes[at]! << 8) | bytes[at + 1]!} ${length}`),
            rejected: (bytes, at) => out.push(`rejected ${(bytes[at]! << 8) | bytes[at + 1]!}`),
            teardown: () => assert.fail(),
            stepFailed: () => assert.fail(),
            hold: () => undefined,
            late: (release) => release(),
          },
          0,
          twoSteps ? [first, second] : [first],
        );
        const answer = async (which: number): Promise<void> => {
          const at = which % deck.size;
          deck.play(at, verdictOf(waiting.splice(at, 1)[0]!));
          await turn();
        };
        // One buffer for all, as a read area is: what waits must have been copied.
        const area = new Uint8Array(8);
        for (const [i, message] of messages.entries()) {
          area.set([i >> 8, i & 0xff], 3);
          line.push(area, 3, 2, message.exempt);
          area.fill(0xee);
          if (i % 7 === 3) line.after(() => out.push(`after ${i}`));
          for (let n = 0; n < message.answers && deck.size > 0; n++) await answer(message.which);
        }
        while (deck.size > 0) await answer(5);
        const expected = messages.flatMap(({ exempt, verdict }, i) => {
          const kind = exempt || verdict === 'accept' ? 'passed' : verdict === 'reject' ? 'rejected' : 'replaced';
          const word = kind === 'rejected' ? `rejected ${i}` : `${kind} ${i} ${kind === 'replaced' ? 3 : 2}`;
          return i % 7 === 3 ? [word, `after ${i}`] : [word];
        });
        assert.deepEqual(out, expected);
        assert.equal(line.waiting, 0);
        assert.equal(line.waitingBytes, 0);
      },
    ),
    { numRuns: 300 },
  ));

const net = (n: number): string => `180a00${n.toString(16).padStart(2, '0')}`;
const PREFIXES = 6;

test('a filtered peer ends with the routes that were let through last, each with the block it was let through with', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          withdrawn: fc.uniqueArray(fc.nat(PREFIXES - 1), { maxLength: 3 }),
          announced: fc.uniqueArray(fc.nat(PREFIXES - 1), { maxLength: 3 }),
          answer: fc.constantFrom('accept', 'reject', 'other-block', 'fewer'),
          answers: fc.nat(2),
          which: fc.nat(100),
        }),
        { maxLength: 60 },
      ),
      async (steps) => {
        const deck = new Deck<ReactorAnswer>();
        const asked: number[] = [];
        let next = 0;
        const context = plainContext();
        const settings = peerSettings(2, { exportFilters: ['f'] });
        const peer = { index: 0, settings, send: context, session: undefined, counters: new MessageCounters() };
        const far = new Map<number, number>();
        const view = new UpdateView();
        const hear = (message: Uint8Array): void => {
          view.read(message, viewOf(message), 0, message.length, context);
          for (let at = view.withdrawnAt; at < view.withdrawnAt + view.withdrawnLength; at += 4) far.delete(message[at + 3]!);
          const med = Number.parseInt(toHex(view.block.bytes.slice(0, view.block.at + view.block.length)).slice(-2), 16);
          for (let at = view.nlriAt; at < view.nlriAt + view.nlriLength; at += 4) far.set(message[at + 3]!, med);
        };
        const line = new ExportLine(
          peer as unknown as Peer,
          { deliver: hear, deliverRaw: hear, late: (release) => release() },
          {
            ask: () => {
              asked.push(next);
              return deck.draw();
            },
            badReplacement: (_peer, _direction, reason) => assert.fail(reason),
            policies: new PolicyTable({ failed: () => undefined }),
            filterFailed: () => assert.fail(),
          },
          true,
        );
        const block = (med: number): string => `${attributes(64500)} 800404000000${med.toString(16).padStart(2, '0')}`;
        const messageOf = (i: number): Uint8Array => {
          const { withdrawn, announced } = steps[i]!;
          const come = announced.map(net).join('');
          return update(withdrawn.map(net).join(''), come === '' ? '' : block(i), come);
        };
        const bodyOf = (i: number, announced: readonly number[], med: number): Uint8Array => {
          const come = announced.map(net).join('');
          return update(steps[i]!.withdrawn.map(net).join(''), come === '' ? '' : block(med), come).slice(19);
        };
        const answerTo = (i: number): ReactorAnswer => {
          const { answer, announced, withdrawn } = steps[i]!;
          if (answer === 'accept') return { kind: 'accept' };
          // An empty UPDATE in place of one would be an End-of-RIB: that counts as a rejection.
          if (answer === 'reject') return { kind: 'reject' };
          if (answer === 'fewer' && announced.length + withdrawn.length > 1)
            return { kind: 'replace', body: bodyOf(i, announced.slice(1), i) };
          return { kind: 'replace', body: bodyOf(i, announced, 100 + i) };
        };
        const play = async (which: number): Promise<void> => {
          const at = which % deck.size;
          deck.play(at, answerTo(asked.splice(at, 1)[0]!));
          await turn();
        };
        const model = new Map<number, number>();
        for (next = 0; next < steps.length; next++) {
          const { withdrawn, announced, answer, answers, which } = steps[next]!;
          line.take(Buffer.from(messageOf(next)));
          for (const n of withdrawn) model.delete(n);
          const kept = answer === 'fewer' && announced.length + withdrawn.length > 1 ? announced.slice(1) : announced;
          for (const n of announced) model.delete(n);
          if (answer !== 'reject')
            for (const n of kept) model.set(n, answer === 'accept' || kept !== announced ? next : 100 + next);
          for (let n = 0; n < answers && deck.size > 0; n++) await play(which);
        }
        while (deck.size > 0) await play(3);
        assert.deepEqual([...far].sort(), [...model].sort());
        assert.equal(line.waitingBytes, 0);
      },
    ),
    { numRuns: 300 },
  ));

test('the line holds its owner above 4 MiB and lets go at half of it', async () => {
  const deck = new Deck<Verdict>();
  const held: boolean[] = [];
  let passed = 0;
  const line = new Pipeline(
    {
      passed: () => passed++,
      rejected: () => assert.fail(),
      teardown: () => assert.fail(),
      stepFailed: () => assert.fail(),
      hold: (on) => held.push(on),
      late: (release) => release(),
    },
    0,
    [{ name: 'slow', run: () => deck.draw() }],
  );
  const message = hex('00'.repeat(4096));
  for (let i = 0; i < 1024; i++) line.push(message, 0, message.length);
  assert.deepEqual([held, line.waitingBytes], [[], 4 << 20]);
  line.push(message, 0, message.length);
  assert.deepEqual(held, [true]);
  assert.equal(deck.size, 64, 'no more are asked about at once');
  while (line.waitingBytes > 2 << 20) {
    assert.deepEqual(held, [true]);
    deck.play(0, { kind: 'accept' });
    await turn();
  }
  assert.deepEqual([held, passed], [[true, false], 513]);
});
