// The update cache: who must acknowledge, how, and what happens to what nobody acknowledges.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { CacheMode } from '../../../../engine/bgp/receive/update-cache.ts';
import { UpdateCache } from '../../../../engine/bgp/receive/update-cache.ts';

const body = (id: number, length = 40): Uint8Array => new Uint8Array(length).fill(id & 0xff);

function cacheOf(consumers: Readonly<Record<string, CacheMode>>, ids: readonly number[], now = 0): UpdateCache {
  const cache = new UpdateCache();
  for (const [name, mode] of Object.entries(consumers)) cache.register(name, mode);
  for (const id of ids) cache.add(id, 3, 7, body(id), 0, 40, now);
  return cache;
}

test('an entry is found with its bytes, peer and context until every consumer acknowledged it', () => {
  const cache = cacheOf({ a: 'unordered', b: 'unordered' }, [5]);
  assert(cache.find(5));
  assert.deepEqual(cache.bytes.slice(cache.at, cache.at + cache.length), body(5));
  assert.deepEqual([cache.peer, cache.context], [3, 7]);
  assert(cache.acknowledge('a', 5));
  assert(cache.find(5));
  assert(cache.acknowledge('b', 5));
  assert.equal(cache.find(5), false);
});

test('an ordered acknowledgement covers all earlier ids; an earlier one later is no error', () => {
  const cache = cacheOf({ a: 'ordered' }, [1, 4, 9, 12]);
  assert(cache.acknowledge('a', 9));
  assert.deepEqual(
    [1, 4, 9, 12].map((id) => cache.find(id)),
    [false, false, false, true],
  );
  assert(cache.acknowledge('a', 4));
});

for (const [name, mode, id] of [
  ['unordered, never there', 'unordered', 99],
  ['unordered, acknowledged twice', 'unordered', 1],
  ['ordered, above all there is', 'ordered', 99],
] as const) {
  test(`an acknowledgement of an unknown id fails: ${name}`, () => {
    const cache = cacheOf({ a: mode }, [1, 2]);
    if (id === 1) assert(cache.acknowledge('a', 1));
    assert.equal(cache.acknowledge('a', id), false);
  });
}

test('a consumer that goes releases what waited for it, and only that', () => {
  const cache = cacheOf({ a: 'ordered', b: 'unordered' }, [1, 2]);
  cache.acknowledge('b', 1);
  cache.unregister('a');
  assert.deepEqual([cache.find(1), cache.find(2)], [false, true]);
});

test('a retained entry outlives its acknowledgements and the valve until it is released', () => {
  const cache = cacheOf({ a: 'unordered' }, [1, 2, 3]);
  assert(cache.retain(1));
  cache.acknowledge('a', 1);
  cache.acknowledge('a', 3);
  assert(cache.find(1));
  assert.equal(cache.sweep(300_000), 1);
  assert.deepEqual([cache.find(1), cache.find(2)], [true, false]);
  assert(cache.release(1));
  assert.equal(cache.find(1), false);
});

for (const [name, age, dropped] of [
  ['a moment before', 299_999, 0],
  ['at five minutes', 300_000, 1],
] as const) {
  test(`the valve takes what was passed over, ${name}: ${dropped}`, () => {
    const cache = cacheOf({ a: 'unordered' }, [1, 2, 3]);
    cache.acknowledge('a', 2);
    assert.equal(cache.sweep(age), dropped);
    assert.deepEqual([cache.find(1), cache.find(3)], [dropped === 0, true]);
  });
}

test('the valve leaves a consumer alone that is only slow, until too much is held', () => {
  const cache = cacheOf({ a: 'ordered' }, [1, 2]);
  assert.equal(cache.sweep(3_600_000), 0);
  for (let id = 3; id < 300; id++) cache.add(id, 0, 0, new Uint8Array(1 << 20), 0, 1 << 20, 3_600_000);
  assert(cache.large);
  assert.equal(cache.sweep(3_600_000), 2);
  cache.valveMs = 1000;
  assert.equal(cache.sweep(3_601_000), 297);
});

test('a listing names age, holds and who is waited for', () => {
  const cache = cacheOf({ a: 'ordered', b: 'unordered' }, [4, 5], 100);
  cache.retain(5);
  cache.acknowledge('a', 5);
  assert.deepEqual(cache.list(350), [
    { id: 4, peer: 3, length: 40, ageMs: 250, retained: 0, consumers: ['b'] },
    { id: 5, peer: 3, length: 40, ageMs: 250, retained: 1, consumers: ['b'] },
  ]);
  assert.deepEqual([cache.passed('a', 5), cache.passed('a', 6), cache.passed('b', 1)], [true, false, false]);
});

test('the thirty-second consumer is refused', () => {
  const cache = new UpdateCache();
  const accepted = Array.from({ length: 32 }, (_, i) => cache.register(`c${i}`, 'ordered'));
  assert.deepEqual([accepted.filter(Boolean).length, accepted[31]], [31, false]);
});

test('a body longer than a block has one of its own, and blocks are given back', () => {
  const cache = cacheOf({ a: 'ordered' }, []);
  cache.add(1, 0, 0, new Uint8Array((1 << 20) + 1).fill(9), 0, (1 << 20) + 1, 0);
  for (let id = 2; id < 60_000; id++) cache.add(id, 0, 0, body(id, 64), 0, 64, 0);
  assert(cache.blocks >= 4);
  cache.acknowledge('a', 59_999);
  assert.equal(cache.size, 0);
  assert(cache.blocks <= 1);
});

test('any order of operations agrees with a map of sets', () => {
  const operation = fc.oneof(
    fc.record({ do: fc.constant('add' as const), skip: fc.integer({ min: 1, max: 3000 }) }),
    fc.record({ do: fc.constant('ack' as const), who: fc.constantFrom('o', 'u'), pick: fc.nat() }),
    fc.record({ do: fc.constant('expire' as const), pick: fc.nat() }),
  );
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 300, size: 'max' }), (operations) => {
      const cache = cacheOf({ o: 'ordered', u: 'unordered' }, []);
      const model = new Map<number, Set<string>>();
      const ids: number[] = [];
      let id = 0;
      for (const op of operations) {
        const picked = op.do === 'add' ? 0 : (ids[op.pick % Math.max(1, ids.length)] ?? 0);
        if (op.do === 'add') {
          id += op.skip;
          ids.push(id);
          cache.add(id, 1, 1, body(id), 0, 40, 0);
          model.set(id, new Set(['o', 'u']));
        } else if (op.do === 'expire') {
          assert.equal(cache.expire(picked), model.delete(picked));
        } else {
          cache.acknowledge(op.who, picked);
          for (const [entry, waiting] of model) {
            if (op.who === 'o' ? entry <= picked : entry === picked) waiting.delete(op.who);
            if (waiting.size === 0) model.delete(entry);
          }
        }
      }
      assert.equal(cache.size, model.size);
      for (const entry of ids) {
        assert.equal(cache.find(entry), model.has(entry));
        if (model.has(entry)) assert.deepEqual(cache.bytes.slice(cache.at, cache.at + cache.length), body(entry));
      }
    }),
    { numRuns: 100 },
  );
});
