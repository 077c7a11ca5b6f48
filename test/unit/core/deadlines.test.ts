// Deadlines: fired in order, moved cheaply, polled without the loop, and gone when closed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ManualClock } from '../../../engine/core/clock.ts';
import { Deadlines } from '../../../engine/core/deadlines.ts';

test('what falls due fires in order of its time, whatever was set, moved or cleared', () => {
  const operation = fc.record({
    who: fc.integer({ min: 0, max: 9 }),
    what: fc.integer({ min: 0, max: 9 }),
    ms: fc.integer({ min: 0, max: 500 }),
  });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 200, size: 'max' }), (operations) => {
      const clock = new ManualClock();
      const deadlines = new Deadlines(clock);
      const due = new Map<number, number>();
      const fired: { who: number; at: number }[] = [];
      const all = Array.from({ length: 10 }, (_, who) => deadlines.create(() => fired.push({ who, at: clock.now() })));
      const expected: { who: number; at: number }[] = [];
      const pass = (ms: number): void => {
        const until = clock.now() + ms;
        expected.push(...[...due].filter(([, at]) => at <= until).map(([who, at]) => ({ who, at })));
        for (const { who } of expected) if ((due.get(who) ?? Infinity) <= until) due.delete(who);
        clock.advance(ms);
      };
      for (const { who, what, ms } of operations) {
        if (what === 0) {
          all[who]?.clear();
          due.delete(who);
        } else if (what < 6) {
          all[who]?.in(ms);
          due.set(who, clock.now() + ms);
        } else pass(ms);
      }
      pass(1000);
      const order = (a: { who: number; at: number }, b: { who: number; at: number }): number => a.at - b.at || a.who - b.who;
      assert.deepEqual(fired.slice().sort(order), expected.sort(order));
      assert(fired.every((entry, i) => i === 0 || (fired[i - 1]?.at ?? 0) <= entry.at));
      assert.equal(clock.pending, 0);
    }),
    { numRuns: 100 },
  );
});

test("poll fires what is due although the clock's timer has not run", () => {
  let now = 0;
  const clock = { now: () => now, wall: () => 0, after: () => ({ cancel: () => undefined }) };
  const deadlines = new Deadlines(clock);
  let fired = 0;
  deadlines.create(() => fired++).in(10);
  now = 9;
  deadlines.poll();
  assert.equal(fired, 0);
  now = 10;
  deadlines.poll();
  assert.equal(fired, 1);
});

test('a deadline set from its own action fires again later, not in the same poll', () => {
  const clock = new ManualClock();
  const deadlines = new Deadlines(clock);
  const at: number[] = [];
  const beat = deadlines.create(() => {
    at.push(clock.now());
    if (at.length < 3) beat.in(5);
  });
  beat.in(5);
  clock.advance(100);
  assert.deepEqual(at, [5, 10, 15]);
});

test('ten thousand settings and clearings leave no heap behind', () => {
  const clock = new ManualClock();
  const deadlines = new Deadlines(clock);
  for (let i = 0; i < 10_000; i++) {
    const deadline = deadlines.create(() => assert.fail('cleared'));
    deadline.in(100_000);
    deadline.clear();
  }
  assert(deadlines.size <= 2048, String(deadlines.size));
  deadlines.close();
  assert.equal(clock.pending, 0);
});
