// UPDATEs into routes: which form of the attributes is kept, which routes go, which rows are listed.
import assert from 'node:assert/strict';
import test from 'node:test';
import { BEST_CHANGED } from '../../../sdk/rib/loc-rib.ts';
import { RouteStore } from '../../../sdk/rib/route-store.ts';
import { toHex } from '../../../sdk/wire/bytes.ts';
import { IPV4_UNICAST, IPV6_UNICAST, isPrefixFamily, parseFamily } from '../../../sdk/wire/family.ts';
import { FakeRoutePath } from '../../support/fake-route-path.ts';
import { block } from '../../support/rib-attributes.ts';

const EVPN = parseFamily('l2vpn/evpn');

interface Bench {
  readonly routes: FakeRoutePath;
  readonly store: RouteStore;
  /** Prefix and source of every row listed since the last call. */
  readonly listed: (family?: number) => string[];
  readonly stored: (family?: number) => string;
}

function bench(opaque = false, rowLimit?: number): Bench {
  const routes = new FakeRoutePath();
  const store = new RouteStore({
    interest: BEST_CHANGED,
    keeps: opaque ? () => true : isPrefixFamily,
    seed: 7,
    rowLimit,
    reserve: 16,
  });
  routes.onUpdate((peer, _id, view, treatAsWithdraw) => store.receive(peer, view, treatAsWithdraw));
  return {
    routes,
    store,
    listed(family = IPV4_UNICAST) {
      const table = store.family(family)!;
      table.settle();
      const rows = Array.from(table.changed.subarray(0, table.changedCount), (row) => routes.describe(table, row));
      table.clearChanged();
      return rows;
    },
    stored(family = IPV4_UNICAST) {
      const table = store.family(family)!;
      table.settle();
      const handle = table.best(0);
      const { attributes } = store;
      const block = toHex(attributes.bytes, attributes.at(handle), attributes.length(handle));
      return `${block} ${toHex(attributes.bytes, attributes.hopAt(handle), attributes.hopLength(handle))}`;
    },
  };
}

test('a row is listed once however often it changed, with what it holds in the end', () => {
  const { routes, listed } = bench();
  const a = routes.add('a');
  routes.announce(a, ['198.51.100.0/24', '203.0.113.0/24'], { med: 1 });
  routes.announce(a, ['198.51.100.0/24'], { med: 2 });
  routes.withdraw(a, ['203.0.113.0/24']);
  assert.deepEqual(listed(), ['198.51.100.0/24 a', '203.0.113.0/24 -']);
  routes.announce(a, ['198.51.100.0/24'], { med: 2 });
  routes.withdraw(a, ['203.0.113.0/24', '192.0.2.0/24']);
  assert.deepEqual(listed(), []);
});

test('RFC 7606 §2: treat-as-withdraw takes the earlier route away', () => {
  const { routes, store, listed } = bench();
  const a = routes.add('a');
  routes.announce(a, ['198.51.100.0/24'], {});
  listed();
  routes.announce(a, ['198.51.100.0/24'], { origin: 7 });
  assert.deepEqual(listed(), ['198.51.100.0/24 -']);
  assert.deepEqual([store.received(a), store.attributes.size], [0, 0]);
});

test('RFC 4271 §4.3: bits past the prefix length name no other prefix', () => {
  const { routes, store } = bench();
  const a = routes.add('a');
  const message = routes.build(a, ['198.51.100.0/23'], {}, {});
  message[message.length - 1] = 0x65;
  routes.announce(a, ['198.51.100.0/23'], {});
  routes.receive(a, message);
  assert.equal(store.received(a), 1);
});

test('RFC 6793 §4.2.3: from a two-octet session the path is kept with four octets, AS4_PATH merged in', () => {
  const { routes, stored } = bench();
  const a = routes.add('a', { asn4: false });
  // AS_PATH 64500 AS_TRANS, AS4_PATH 4200000000
  const bytes = Uint8Array.from([
    0x40, 1, 1, 0, 0x40, 2, 6, 2, 2, 0xfb, 0xf4, 0x5b, 0xa0, 0x40, 3, 4, 192, 0, 2, 9, 0xc0, 17, 6, 2, 1, 0xfa, 0x56, 0xea, 0x00,
  ]);
  routes.announce(a, ['198.51.100.0/24'], {}, { block: bytes });
  assert.equal(stored(), '40010100' + '40020a02020000fbf4fa56ea00' + '400304c0000209' + ' ');
});

// AIGP 100; link bandwidth, which is non-transitive, beside a route target.
const AIGP = '801a0b01000b0000000000000064';
const EXTENDED = 'c01010' + '4004fbf4461c4000' + '0002fbf400000064';
for (const external of [true, false]) {
  for (const asn4 of [true, false]) {
    test(`RFC 7311, RFC 4360 §6: what stays in an AS is kept of ${external ? 'an external' : 'an internal'} peer of ${asn4 ? 'four' : 'two'}-octet numbers; leaving it is the egress's`, () => {
      const { routes, stored } = bench();
      const a = routes.add('a', { asn4, external });
      const path = asn4 ? '40020602010000fbf4' : '4002040201fbf4';
      const bytes = Uint8Array.from(Buffer.from(`40010100${path}400304c0000209${EXTENDED}${AIGP}`, 'hex'));
      routes.announce(a, ['198.51.100.0/24'], {}, { block: bytes });
      assert.equal(stored(), `4001010040020602010000fbf4400304c0000209${EXTENDED}${AIGP} `);
    });
  }
}

test('RFC 4760 §3: the next hop of MP_REACH_NLRI stands beside the block, and a NEXT_HOP is not kept', () => {
  const { routes, stored } = bench();
  const a = routes.add('a', { families: [IPV6_UNICAST] });
  const bytes = block({ path: [64500], nextHop: '192.0.2.1' });
  routes.announce(a, ['2001:db8::/32'], {}, { family: IPV6_UNICAST, nextHop: '2001:db8::1', block: bytes });
  assert.equal(stored(IPV6_UNICAST), '40010100' + '5002000602010000fbf4' + ' 20010db8000000000000000000000001');
});

test('families of the same attributes share one block, but not over different next hops', () => {
  const { routes, store } = bench();
  const a = routes.add('a', { families: [IPV6_UNICAST] });
  for (const nextHop of ['2001:db8::1', '2001:db8::2', '2001:db8::1']) {
    routes.announce(a, [`2001:db8:${nextHop.at(-1)}::/48`], {}, { family: IPV6_UNICAST, nextHop });
  }
  assert.equal(store.attributes.size, 2);
});

test('RFC 7911: routes of one prefix are told apart by their path ids', () => {
  const { routes, store, listed } = bench();
  const a = routes.add('a', { addPath: [IPV4_UNICAST] });
  for (const pathId of [1, 2, 1]) routes.announce(a, ['198.51.100.0/24'], { med: pathId }, { pathId });
  assert.equal(store.received(a), 2);
  assert.equal(listed().length, 1);
  routes.withdraw(a, ['198.51.100.0/24'], { pathId: 3 });
  routes.withdraw(a, ['198.51.100.0/24'], { pathId: 1 });
  assert.equal(store.received(a), 1);
});

test('a family that is no plain prefix is kept as bytes, or not at all', () => {
  const nlri = Uint8Array.from([9, 2, 1, 2]);
  for (const opaque of [true, false]) {
    const { routes, store } = bench(opaque);
    const a = routes.add('a', { families: [EVPN] });
    routes.announce(a, [nlri, Uint8Array.from([9, 1, 7])], {}, { family: EVPN, nextHop: '192.0.2.1' });
    assert.equal(store.received(a), opaque ? 2 : 0);
    routes.withdraw(a, [nlri], { family: EVPN });
    assert.equal(store.received(a), opaque ? 1 : 0);
    assert.equal(store.attributes.size, opaque ? 1 : 0);
  }
});

test('rows are limited: at the limit every prefix is kept, past it a new one is counted as refused', () => {
  const { routes, store } = bench(false, 3);
  const a = routes.add('a');
  routes.announce(a, ['10.0.0.0/8', '11.0.0.0/8', '12.0.0.0/8'], {});
  assert.deepEqual([store.received(a), store.family(IPV4_UNICAST)!.refused], [3, 0]);
  routes.announce(a, ['13.0.0.0/8', '12.0.0.0/8'], { med: 1 });
  assert.deepEqual([store.received(a), store.family(IPV4_UNICAST)!.refused], [3, 1]);
});

test('a peer is dropped in slices', () => {
  const { routes, store, listed } = bench();
  const a = routes.add('a');
  const b = routes.add('b');
  const prefixes = Array.from({ length: 10 }, (_, i) => `10.${i}.0.0/16`);
  routes.announce(a, prefixes, {});
  routes.announce(b, prefixes.slice(0, 5), { path: [1, 2, 3] });
  listed();
  const table = store.family(IPV4_UNICAST)!;
  assert.equal(table.dropPeer(a, 0, 4), 4);
  assert.deepEqual(
    listed(),
    prefixes.slice(0, 4).map((prefix) => `${prefix} b`),
  );
  assert.equal(table.dropPeer(a, 4, 100), -1);
  assert.deepEqual(listed().slice(0, 2), ['10.4.0.0/16 b', '10.5.0.0/16 -']);
  assert.deepEqual([store.received(a), store.received(b)], [0, 5]);
});

test('a row without a route keeps its prefix until the announcer is done with it, then serves another', () => {
  const { routes, store, listed } = bench();
  const a = routes.add('a');
  const table = store.family(IPV4_UNICAST)!;
  const prefixes = Array.from({ length: 8 }, (_, i) => `10.${i}.0.0/16`);
  routes.announce(a, prefixes, {});
  routes.withdraw(a, prefixes);
  table.reclaim(() => true);
  assert.equal(table.table.size, 8, 'rows on the list are not free');
  listed();
  table.reclaim((row) => row !== 3);
  assert.equal(table.table.size, 1);
  routes.announce(a, ['10.3.0.0/16', '11.0.0.0/16'], {});
  assert.equal(table.rows, 8);
  assert.deepEqual(listed(), ['10.3.0.0/16 a', '11.0.0.0/16 a']);
});
