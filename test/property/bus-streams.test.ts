/** Whatever comes and whenever it is acknowledged: a stream is in order, complete but for what its gaps name, and bounded. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { OverflowPolicy } from '../../engine/bus/queue.ts';
import { bench, row, TextSink, updateRow } from '../unit/bus/fixture.ts';

const LIMIT = 4000;

type Step = 'update' | 'state' | 'emit' | 'lost' | 'turn' | 'acknowledge' | 'refuse';
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.constant<Step>('update') },
    { weight: 2, arbitrary: fc.constantFrom<Step>('state', 'emit', 'turn', 'acknowledge') },
    { weight: 1, arbitrary: fc.constantFrom<Step>('lost', 'refuse') },
  ),
  { maxLength: 200 },
);

test('every number of a stream arrives once, in order, or lies in a gap; the queue keeps to its bound', async () => {
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.constantFrom<OverflowPolicy>('drop-with-gap', 'hold-peer'),
      fc.boolean(),
      async (list, onOverflow, structured) => {
        const { bus, reactor, turn } = bench();
        const sink = new TextSink(true);
        const arrived: (number | 'gap')[] = [];
        const rows: number[] = [];
        const handle = bus.attach({
          name: 'a',
          transport: sink.transport,
          structured: structured
            ? (batch) => {
                for (let i = 0; i < batch.count; i++) if (batch.kind(i) === 1) rows.push(batch.messageId(i));
              }
            : undefined,
          builtin: true,
          tier: 0,
          queue: { bytes: LIMIT, onOverflow, heldBytes: 4 * LIMIT },
          onFailure: () => assert.fail('failed'),
        });
        handle.subscribe({ events: ['update', 'state', 'rpki'] });
        let id = 0;
        let expected = 0;
        for (const step of list) {
          if (step === 'update') bus.event(updateRow(++id));
          else if (step === 'state') bus.event(row({ kind: 'state', direction: 'unspecified', state: 'up' }));
          else if (step === 'emit') bus.emit({ namespace: 'bgp', type: 'rpki', text: '{"verbatim":true}' }, 'x');
          else if (step === 'lost') bus.event(row({ kind: 'none', lost: 3 }));
          else if (step === 'turn') await turn();
          else if (step === 'acknowledge') sink.acknowledge();
          else sink.refuse();
          if (step === 'lost') expected += 3;
          else if (step === 'update' || step === 'state' || step === 'emit') expected++;
          const bound = LIMIT * (onOverflow === 'hold-peer' ? 4 : 1) + 1000;
          assert.ok(handle.statistics().queueBytes <= bound, `${handle.statistics().queueBytes} bytes`);
        }
        for (let i = 0; i < 400 && handle.statistics().queueBytes > 0; i++) {
          await turn();
          sink.acknowledge();
        }
        await turn();
        assert.equal(handle.statistics().queueBytes, 0);
        const held = new Map(reactor.held);
        assert.ok(![...held.values()].includes(true), 'nobody stays held');
        assert.deepEqual(
          [...rows].sort((a, b) => a - b),
          rows,
          'rows in order',
        );
        if (structured) return;
        let next = 1;
        for (const text of sink.texts) {
          const event = JSON.parse(text) as {
            verbatim?: true;
            meta?: { seq: number };
            gap?: { first: number; last: number; dropped: number };
          };
          if (event.gap !== undefined) {
            assert.equal(event.gap.first, next);
            assert.equal(event.gap.dropped, event.gap.last - event.gap.first + 1);
            next = event.gap.last + 1;
            arrived.push('gap');
          } else {
            if (event.verbatim !== true) assert.equal(event.meta?.seq, next);
            arrived.push(next++);
          }
        }
        assert.equal(next - 1, expected);
      },
    ),
    { numRuns: 60 },
  );
});
