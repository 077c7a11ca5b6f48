// Tables against a Map: whatever the order of inserts and removals, the same keys are found, and rows keep naming their keys.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { AttributeTable } from '../../sdk/rib/attribute-table.ts';
import { Ipv4Table } from '../../sdk/rib/ipv4-table.ts';
import { Ipv6Table } from '../../sdk/rib/ipv6-table.ts';
import { longestMatchIpv4 } from '../../sdk/rib/longest-match.ts';
import { NlriTable } from '../../sdk/rib/nlri-table.ts';
import { viewOf } from '../support/rib-attributes.ts';

/** Few keys, so that removals hit and chains form. */
const ipv4Key = fc
  .tuple(fc.nat(40), fc.integer({ min: 0, max: 32 }))
  .map(([n, bits]): readonly [number, number] => [bits === 0 ? 0 : (Math.imul(n, 0x01010101) & (-1 << (32 - bits))) >>> 0, bits]);
const ipv4Steps = fc.array(fc.tuple(fc.boolean(), ipv4Key), { maxLength: 400 });

test('an IPv4 table finds what a Map finds', () => {
  fc.assert(
    fc.property(ipv4Steps, (steps) => {
      const table = new Ipv4Table({ reserve: 4 });
      const model = new Map<string, number>();
      for (const [add, [address, bits]] of steps) {
        const key = `${address}/${bits}`;
        const known = model.get(key);
        assert.equal(table.find(address, bits), known ?? -1);
        if (add) {
          const row = table.insert(address, bits);
          assert.equal(row, known ?? row);
          assert.equal(table.addresses[row], address);
          model.set(key, row);
        } else if (known !== undefined) {
          table.remove(known);
          model.delete(key);
          assert.equal(table.has(known), false);
        }
        assert.equal(table.size, model.size);
      }
      assert.equal(new Set(model.values()).size, model.size);
    }),
  );
});

test('an IPv4 table grows through its steps and keeps every row', () => {
  const table = new Ipv4Table({ reserve: 1000 });
  const count = 60_000;
  for (let i = 0; i < count; i++) assert.equal(table.insert((i << 8) >>> 0, 24), i);
  for (let i = 0; i < count; i += 2) table.remove(i);
  for (let i = 0; i < count; i++) assert.equal(table.find((i << 8) >>> 0, 24), i % 2 === 0 ? -1 : i);
  // Rows come back last-in first-out.
  assert.equal(table.insert(7, 32), count - 2);
  assert.equal(table.size, count / 2 + 1);
});

test('an IPv4 table at its limit refuses a new prefix and still finds the others', () => {
  const table = new Ipv4Table({ reserve: 2, limit: 3 });
  assert.deepEqual(
    [1, 2, 3, 4].map((n) => table.insert(n, 32)),
    [0, 1, 2, -1],
  );
  assert.equal(table.insert(2, 32), 1);
  table.remove(1);
  assert.equal(table.insert(4, 32), 1);
});

test('an IPv6 table finds what a Map finds', () => {
  const key = fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3), fc.nat(3), fc.constantFrom(48, 64, 128));
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), key), { maxLength: 400 }), (steps) => {
      const table = new Ipv6Table({ reserve: 4 });
      const model = new Map<string, number>();
      const out = new Uint8Array(17);
      for (const [add, [a, b, c, d, bits]] of steps) {
        const text = `${a}:${b}:${c}:${d}/${bits}`;
        const known = model.get(text);
        assert.equal(table.find(a, b, c, d, bits), known ?? -1);
        if (add) {
          const row = table.insert(a, b, c, d, bits);
          model.set(text, row);
          assert.equal(table.write(row, out, 0), 1 + bits / 8);
          assert.deepEqual([out[0], out[4]], [bits, a]);
        } else if (known !== undefined) {
          table.remove(known);
          model.delete(text);
        }
        assert.equal(table.size, model.size);
      }
    }),
  );
});

test('a table of bytes finds what a Map finds', () => {
  const key = fc.uint8Array({ maxLength: 3, max: 2 });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), key), { maxLength: 400 }), (steps) => {
      const table = new NlriTable({ reserve: 2 });
      const model = new Map<string, number>();
      const out = new Uint8Array(8);
      for (const [add, bytes] of steps) {
        const text = bytes.join(' ');
        const known = model.get(text);
        assert.equal(table.find(bytes, 0, bytes.length), known ?? -1);
        if (add) {
          const row = table.insert(bytes, 0, bytes.length);
          model.set(text, row);
          assert.equal(table.write(row, out, 0), bytes.length);
          assert.deepEqual(out.slice(0, bytes.length), bytes);
        } else if (known !== undefined) {
          table.remove(known);
          model.delete(text);
        }
        assert.equal(table.size, model.size);
      }
    }),
  );
});

test('interning: equal bytes have one handle, counted; the last release frees block and handle', () => {
  const blocks = fc.uint8Array({ maxLength: 9, max: 1 });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), blocks, fc.nat(2)), { maxLength: 300 }), (steps) => {
      const table = new AttributeTable({ reserve: 2 });
      const model = new Map<string, { handle: number; count: number }>();
      for (const [hold, bytes, hop] of steps) {
        const hopLength = Math.min(hop, bytes.length);
        const length = bytes.length - hopLength;
        const key = `${length} ${bytes.join('')}`;
        const known = model.get(key);
        if (hold) {
          const handle = table.intern(viewOf(bytes), 0, length, viewOf(bytes), length, hopLength);
          if (known === undefined) model.set(key, { handle, count: 1 });
          else known.count++;
          assert.equal(handle, model.get(key)?.handle);
          const at = table.at(handle);
          assert.deepEqual(table.bytes.slice(at, at + bytes.length), bytes);
          assert.equal(table.hopAt(handle), at + length);
        } else if (known !== undefined) {
          table.release(known.handle);
          if (--known.count === 0) model.delete(key);
        }
        assert.equal(table.size, model.size);
      }
      for (const { handle, count } of model.values()) {
        assert.equal(table.counts[handle], count);
        for (let i = 0; i < count; i++) table.release(handle);
      }
      assert.deepEqual([table.size, table.arena.held], [0, 0]);
    }),
  );
});

test('interning at a limit of handles or bytes answers 0 and counts, and goes on when something is released', () => {
  for (const options of [{ limit: 2 }, { byteLimit: 4 + 2 * 8 }]) {
    const table = new AttributeTable(options);
    const bytes = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const handles = [0, 1, 2].map((at) => table.intern(viewOf(bytes), at, 8, viewOf(bytes), 0, 0));
    assert.deepEqual(handles, [1, 2, 0]);
    assert.equal(table.refused, 1);
    table.release(1);
    assert.equal(table.intern(viewOf(bytes), 2, 8, viewOf(bytes), 0, 0), 1);
  }
});

test('longest match is that of a scan over all prefixes', () => {
  fc.assert(
    fc.property(fc.array(ipv4Key, { maxLength: 60 }), fc.nat(40), (keys, n) => {
      const address = Math.imul(n, 0x01010101) >>> 0;
      const table = new Ipv4Table({ reserve: 4 });
      const handles = new Uint32Array(64);
      for (const [i, [prefix, bits]] of keys.entries()) handles[table.insert(prefix, bits)] = i % 3 === 0 ? 0 : 1;
      let best = -1;
      for (let row = 0; row < table.used; row++) {
        const bits = table.lengths[row]!;
        const holds = bits === 0 || (address & (-1 << (32 - bits))) >>> 0 === table.addresses[row];
        if (holds && handles[row] !== 0 && (best < 0 || bits > table.lengths[best]!)) best = row;
      }
      assert.equal(longestMatchIpv4(table, handles, address), best);
    }),
  );
});
