// The RIB against a model that keeps everything in Maps and looks at all candidates each time: after many random announcements, withdrawals,
// sessions that end and flushes, every prefix has the best route and the attributes that the model says, and nothing else is there.
// ZEST_RIB_OPERATIONS sets how many.
import assert from 'node:assert/strict';
import test from 'node:test';
import { RouteStore } from '../../sdk/rib/route-store.ts';
import { BEST_CHANGED } from '../../sdk/rib/loc-rib.ts';
import { toHex } from '../../sdk/wire/bytes.ts';
import { IPV4_UNICAST } from '../../sdk/wire/family.ts';
import { FakeRoutePath } from '../support/fake-route-path.ts';
import { block } from '../support/rib-attributes.ts';

const OPERATIONS = Number(process.env.ZEST_RIB_OPERATIONS ?? 60_000);
const PEERS = 5;
const PREFIXES = Math.max(2000, OPERATIONS >>> 3);
const SEEDS = [1, 2];

interface Held {
  readonly hops: number;
  readonly origin: number;
  readonly attributes: string;
}

/** RFC 4271 §9.1.2.2 for external routes without MED: path length, origin, then the lowest identifier, which is the order of peers here. */
function bestOf(held: ReadonlyMap<number, Held>): number {
  let best = -1;
  for (const [peer, one] of held) {
    const other = held.get(best);
    const difference = other === undefined ? -1 : one.hops - other.hops || one.origin - other.origin || peer - best;
    if (difference < 0) best = peer;
  }
  return best;
}

class World {
  readonly routes = new FakeRoutePath();
  readonly store: RouteStore;
  readonly model = new Map<string, Map<number, Held>>();
  readonly peers: readonly number[];
  #state: number;

  constructor(seed: number) {
    this.#state = 0x9e3779b9 ^ seed;
    this.store = new RouteStore({ interest: BEST_CHANGED, keeps: () => true, seed, reserve: 1024 });
    this.routes.onUpdate((peer, _id, view, treatAsWithdraw) => this.store.receive(peer, view, treatAsWithdraw));
    this.peers = Array.from({ length: PEERS }, (_, i) => this.routes.add(`peer-${i}`));
    for (const peer of this.peers) {
      this.store.peers.set(peer, true, this.routes.routerId(peer), Uint8Array.of(192, 0, 2, peer + 1));
    }
  }

  below(limit: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % limit;
  }

  prefix(): string {
    const n = this.below(PREFIXES);
    const bits = 16 + (n % 9);
    const address = (Math.imul(n + 1, 0x9e3779b1) & (-1 << (32 - bits))) >>> 0;
    return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}/${bits}`;
  }

  operate(): void {
    const peer = this.peers[this.below(PEERS)]!;
    const what = this.below(10_000);
    if (what === 0) this.#lose(peer);
    else if (what < 20) this.store.family(IPV4_UNICAST)!.settle();
    else if (what < 6500) this.#announce(peer);
    else this.#withdraw(peer);
  }

  #announce(peer: number): void {
    const prefixes = new Set(Array.from({ length: 1 + this.below(4) }, () => this.prefix()));
    const hops = 1 + this.below(4);
    const origin = this.below(2) * 2;
    const path = [65_001 + peer, ...Array.from({ length: hops - 1 }, () => 1 + this.below(50))];
    const bytes = block({ nextHop: '192.0.2.9', path, origin });
    this.routes.announce(peer, [...prefixes], {}, { block: bytes });
    for (const prefix of prefixes) {
      let held = this.model.get(prefix);
      if (held === undefined) this.model.set(prefix, (held = new Map<number, Held>()));
      held.set(peer, { hops, origin, attributes: toHex(bytes) });
    }
  }

  #withdraw(peer: number): void {
    const prefix = this.prefix();
    this.routes.withdraw(peer, [prefix]);
    this.#forget(prefix, peer);
  }

  #lose(peer: number): void {
    const family = this.store.family(IPV4_UNICAST)!;
    for (let row = 0; row >= 0; ) row = family.dropPeer(peer, row, 512);
    for (const prefix of [...this.model.keys()]) this.#forget(prefix, peer);
  }

  #forget(prefix: string, peer: number): void {
    const held = this.model.get(prefix);
    if (held?.delete(peer) === true && held.size === 0) this.model.delete(prefix);
  }

  /** What the RIB says of its rows, in the model's words. */
  held(): Map<string, string> {
    const family = this.store.family(IPV4_UNICAST)!;
    const { attributes } = this.store;
    const found = new Map<string, string>();
    for (let row = 0; row < family.rows; row++) {
      const handle = family.best(row);
      if (handle === 0) continue;
      const [prefix = '', peer = ''] = this.routes.describe(family, row).split(' ');
      found.set(prefix, `${peer} ${toHex(attributes.bytes, attributes.at(handle), attributes.length(handle))}`);
    }
    return found;
  }
}

for (const seed of SEEDS) {
  test(`the RIB equals a naive model after ${OPERATIONS} random operations (seed ${seed})`, () => {
    const world = new World(seed);
    for (let i = 0; i < OPERATIONS; i++) world.operate();
    const wanted = new Map<string, string>();
    let routes = 0;
    const distinct = new Set<string>();
    for (const [prefix, held] of world.model) {
      const best = bestOf(held);
      wanted.set(prefix, `peer-${best} ${held.get(best)!.attributes}`);
      routes += held.size;
      for (const one of held.values()) distinct.add(one.attributes);
    }
    assert.ok(routes > OPERATIONS / 20, 'something is left to compare');
    assert.deepEqual(world.held(), wanted);
    const { rib } = world.store.family(IPV4_UNICAST)!;
    assert.deepEqual([rib.routes, rib.reachable, world.store.attributes.size], [routes, wanted.size, distinct.size]);
    for (const peer of world.peers) {
      const count = [...world.model.values()].filter((held) => held.has(peer)).length;
      assert.equal(world.store.received(peer), count);
    }
  });
}
