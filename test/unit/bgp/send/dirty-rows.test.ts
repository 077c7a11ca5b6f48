// Sets of rows in the order they came, past every reserve.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DirtyRows, RESERVED_ROWS } from '../../../../engine/bgp/send/dirty-rows.ts';

test('rows come out once each, in the order they came in, whatever is taken meanwhile', () => {
  const operation = fc.oneof({ weight: 3, arbitrary: fc.nat(40) }, { weight: 2, arbitrary: fc.constant('take' as const) });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 300, size: 'max' }), (operations) => {
      const rows = new DirtyRows(4);
      const model = new Set<number>();
      for (const one of operations) {
        if (one === 'take') {
          const [first = -1] = model;
          model.delete(first);
          assert.equal(rows.take(), first);
        } else {
          assert.equal(rows.add(one), !model.has(one));
          model.add(one);
        }
        assert.equal(rows.size, model.size);
      }
      for (let row = 0; row <= 40; row++) assert.equal(rows.has(row), model.has(row));
    }),
    { numRuns: 50 },
  );
});

test('a row past the reserve is taken in, and counted as a growth', () => {
  const rows = new DirtyRows(4);
  rows.add(1);
  rows.add(RESERVED_ROWS + 5);
  assert.deepEqual([rows.growths, rows.take(), rows.take(), rows.take()], [1, 1, RESERVED_ROWS + 5, -1]);
});
