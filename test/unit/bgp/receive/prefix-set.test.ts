// Exact counts where no plugin counts: any order of announcements and withdrawals leaves the size of a set of strings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PrefixSet } from '../../../../engine/bgp/receive/prefix-set.ts';

test('a PrefixSet counts like a Set', () => {
  const operation = fc.record({ add: fc.boolean(), prefix: fc.nat(3000) });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 5000, size: 'max' }), (operations) => {
      const set = new PrefixSet();
      const model = new Set<number>();
      const view = new DataView(new ArrayBuffer(8));
      for (const { add, prefix } of operations) {
        view.setUint32(1, prefix);
        if (add) {
          set.add(view, 1, 4);
          model.add(prefix);
        } else {
          set.delete(view, 1, 4);
          model.delete(prefix);
        }
        assert.equal(set.size, model.size);
      }
    }),
    { numRuns: 20 },
  );
});
