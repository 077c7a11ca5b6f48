import assert from 'node:assert/strict';
import test from 'node:test';
import { type Union, union } from '../../../sdk/plugin/index.ts';

const event = (type: string, id: number | undefined, peer = '192.0.2.1'): string =>
  JSON.stringify({ bgp: { message: { type, ...(id === undefined ? {} : { id }) }, peer: { remote: { address: peer } } } });
const primary = (id: number | undefined, peer?: string): string => event('update', id, peer);
const secondary = (id: number, peer?: string): string => event('rpki', id, peer);

function joined(timeoutMs = 2000): { pairs: [string, string][]; it: Union; pass: (ms: number) => void; stopped: () => boolean } {
  const pairs: [string, string][] = [];
  let now = 0;
  let sweep: () => void = () => assert.fail('no sweep');
  let stopped = false;
  const it = union('update', 'rpki', timeoutMs, (first, second) => pairs.push([first, second]), {
    now: () => now,
    every: (ms, action) => {
      assert.equal(ms, 1000);
      sweep = action;
      return () => (stopped = true);
    },
  });
  return {
    pairs,
    it,
    pass: (ms) => {
      for (let left = ms; left > 0; left -= 1000) {
        now += 1000;
        sweep();
      }
    },
    stopped: () => stopped,
  };
}

test('a pair is joined by peer and message id, in either namespace of ids', () => {
  const { it, pairs } = joined();
  it.event(primary(1));
  it.event(primary(1, '192.0.2.2'));
  it.event(event('state', 1));
  it.event('no json');
  it.event(secondary(1, '192.0.2.2'));
  it.event(secondary(1));
  assert.deepEqual(pairs, [
    [primary(1, '192.0.2.2'), secondary(1, '192.0.2.2')],
    [primary(1), secondary(1)],
  ]);
  assert.deepEqual(it.counts, { joined: 2, alone: 0, orphans: 0 });
});

test('a primary without a secondary is given alone when its time is over, at the next sweep', () => {
  const { it, pairs, pass } = joined(1500);
  it.primary(primary(1));
  pass(1000);
  assert.equal(it.size, 1);
  pass(1000);
  assert.deepEqual(pairs, [[primary(1), '']]);
  it.secondary(secondary(1));
  assert.deepEqual(it.counts, { joined: 0, alone: 1, orphans: 1 });
});

test('at ten thousand all wait, one more puts the oldest out', () => {
  const { it, pairs } = joined();
  for (let id = 1; id <= 10_000; id++) it.primary(primary(id));
  assert.deepEqual([it.size, pairs.length], [10_000, 0]);
  it.primary(primary(10_001));
  assert.deepEqual([it.size, pairs], [10_000, [[primary(1), '']]]);
});

test('a peer that goes takes its own along, an id that comes again puts the earlier one out', () => {
  const { it, pairs } = joined();
  it.primary(primary(1));
  it.primary(primary(2, '192.0.2.2'));
  it.flushPeer('192.0.2.1');
  assert.deepEqual(pairs.splice(0), [[primary(1), '']]);
  it.primary(primary(2, '192.0.2.2'));
  assert.deepEqual([pairs.splice(0), it.size], [[[primary(2, '192.0.2.2'), '']], 1]);
});

test('what cannot be joined is given at once, and the end gives out the rest', () => {
  const { it, pairs, stopped } = joined();
  it.primary(primary(undefined));
  it.secondary('{}');
  it.primary(primary(5));
  it[Symbol.dispose]();
  it.close();
  assert.deepEqual(pairs, [
    [primary(undefined), ''],
    [primary(5), ''],
  ]);
  assert.ok(stopped());
  assert.deepEqual(it.counts, { joined: 0, alone: 2, orphans: 1 });
});

test('by itself it sweeps with a timer that keeps nothing alive', () => {
  const pairs: unknown[] = [];
  using it = union('update', 'rpki', 0, (first) => pairs.push(first));
  it.primary(primary(1));
  it.sweep();
  assert.equal(pairs.length, 1);
});
