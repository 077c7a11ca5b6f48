// The ring of calls under way holds what a map of them would hold.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { CallRing } from '../../sdk/rpc/call-ring.ts';

type Op = readonly [kind: 'add' | 'skip' | 'first' | 'last' | 'any' | 'unknown' | 'clear', count: number];

const op: fc.Arbitrary<Op> = fc.oneof(
  // Many calls at a time, and ids that are no calls of one value.
  { weight: 5, arbitrary: fc.tuple(fc.constant('add' as const), fc.oneof(fc.nat(20), fc.nat(500))) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('skip' as const), fc.oneof(fc.nat(20), fc.nat(70_000))) },
  { weight: 4, arbitrary: fc.tuple(fc.constantFrom('first' as const, 'last' as const, 'any' as const), fc.nat(400)) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom('unknown' as const, 'clear' as const), fc.nat(100_000)) },
);

for (const [name, first] of [
  ['from 1 on', 1],
  ['about 2^31', 2 ** 31 - 300],
  ['far beyond 2^32', 2 ** 45 - 300],
] as const) {
  test(`a ring of calls is a map of them: ids ${name}`, () => {
    fc.assert(
      fc.property(fc.array(op, { maxLength: 60 }), (ops) => {
        const ring = new CallRing<{ readonly id: number }>();
        const map = new Map<number, { readonly id: number }>();
        let next = first;
        const take = (id: number): void => {
          assert.equal(ring.take(id), map.get(id));
          map.delete(id);
          assert.equal(ring.take(id), undefined);
        };
        for (const [kind, count] of ops) {
          const ids = [...map.keys()];
          if (kind === 'skip') next += count;
          else if (kind === 'unknown') {
            if (!map.has(next - count)) take(next - count);
            take(next + count);
            take(-1);
          } else if (kind === 'clear') {
            if (count % 4 > 0) continue;
            assert.deepEqual(ring.clear(), [...map.values()]);
            map.clear();
          } else if (kind === 'add') {
            for (let i = 0; i < count; i++, next++) {
              const call = { id: next };
              ring.add(next, call);
              map.set(next, call);
            }
          } else if (kind === 'any') ids.filter((_, i) => i % 7 === count % 7).forEach(take);
          else (kind === 'first' ? ids.slice(0, count) : ids.slice(-count).reverse()).forEach(take);
          assert.equal(ring.size, map.size);
        }
        for (const id of map.keys()) take(id);
        assert.equal(ring.size, 0);
      }),
      { numRuns: 150 },
    );
  });
}

test('the ring grows as far as calls may be under way, and holds more', () => {
  const ring = new CallRing<number>();
  for (let id = 1; id <= 200_000; id++) ring.add(id, id);
  assert.equal(ring.size, 200_000);
  for (let id = 200_000; id >= 1; id--) assert.equal(ring.take(id), id);
  assert.equal(ring.size, 0);
});
