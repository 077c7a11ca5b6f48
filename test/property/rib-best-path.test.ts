// The RIB against a naive model: any order of announces, withdraws, stale marks and lost peers leaves the same routes and the same best ones,
// and the best route of a set does not depend on how the set came about.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { AttributeTable } from '../../sdk/rib/attribute-table.ts';
import { BEST_CHANGED, LocRib, ROUTE_ADDED, ROUTE_REMOVED } from '../../sdk/rib/loc-rib.ts';
import { PeerFacts } from '../../sdk/rib/peer-facts.ts';
import type { Attributes } from '../support/rib-attributes.ts';
import { block, viewOf } from '../support/rib-attributes.ts';

const PEERS = 5;
const ROWS = 2;
/** Peers 0..2 external; identifiers and addresses in an order of their own. */
const FACTS = [
  { external: true, id: 9, address: [10, 0, 0, 1] },
  { external: true, id: 4, address: [10, 0, 0, 2] },
  { external: true, id: 9, address: [9, 0, 0, 1] },
  { external: false, id: 2, address: [10, 0, 0, 4] },
  { external: false, id: 2, address: [10, 0, 0, 3] },
];

/** Few values each, so that every step of the comparison gets its ties. */
const attributes: fc.Arbitrary<Attributes> = fc.record({
  localPreference: fc.constantFrom(100, 100, 100, 100, 100, 100, 200),
  path: fc.constantFrom([1, 7], [1, 7], [1, 7], [2, 7], [2, 7], [2, 7], [1, 7, 8], []),
  origin: fc.constantFrom(0, 0, 0, 0, 0, 1),
  med: fc.constantFrom(0, 1, 2),
  clusters: fc.constantFrom(1, 1, 2),
  originator: fc.constantFrom(3, 5),
});

interface Route {
  readonly attributes: Attributes;
  stale: number;
}

type Step =
  | {
      readonly kind: 'announce';
      readonly row: number;
      readonly peer: number;
      readonly path: number;
      readonly attributes: Attributes;
    }
  | { readonly kind: 'withdraw'; readonly row: number; readonly peer: number; readonly path: number }
  | { readonly kind: 'stale'; readonly row: number; readonly peer: number; readonly level: number }
  | { readonly kind: 'reject' | 'accept'; readonly row: number; readonly peer: number; readonly path: number }
  | { readonly kind: 'purge' | 'drop'; readonly peer: number };

const row = fc.nat(ROWS - 1);
const peer = fc.nat(PEERS - 1);
const path = fc.constantFrom(0, 0, 0, 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('announce' as const), row, peer, path, attributes }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('withdraw' as const), row, peer, path }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('stale' as const), row, peer, level: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('reject' as const, 'accept' as const), row, peer, path }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('purge' as const, 'drop' as const), peer }) },
);

/** RFC 4271 §9.1.2.2 as it is written: one removal after the other over a list. */
function naiveBest(routes: ReadonlyMap<string, Route>): string | undefined {
  let left = [...routes].map(([key, route]) => ({
    key,
    peer: Number(key.split(' ')[0]),
    path: Number(key.split(' ')[1]),
    ...route,
  }));
  const keep = (value: (route: (typeof left)[number]) => number): void => {
    const lowest = Math.min(...left.map(value));
    left = left.filter((route) => value(route) === lowest);
  };
  const neighbour = (route: (typeof left)[number]): number => Number(route.attributes.path?.[0] ?? 0);
  keep((route) => (route.stale >= 2 ? 1 : 0));
  keep((route) => -(route.attributes.localPreference ?? 100));
  keep((route) => route.attributes.path?.length ?? 0);
  keep((route) => route.attributes.origin ?? 0);
  const before = left;
  left = left.filter((a) =>
    before.every((b) => neighbour(a) !== neighbour(b) || (a.attributes.med ?? 0) <= (b.attributes.med ?? 0)),
  );
  keep((route) => (FACTS[route.peer]!.external ? 0 : 1));
  keep((route) => route.attributes.originator ?? FACTS[route.peer]!.id);
  keep((route) => route.attributes.clusters ?? 0);
  keep((route) => FACTS[route.peer]!.address.reduce((sum, byte) => 256 * sum + byte, 0));
  keep((route) => route.path);
  return left[0]?.key;
}

class Both {
  readonly table = new AttributeTable({ reserve: 2 });
  readonly rib: LocRib;
  readonly model = Array.from({ length: ROWS }, () => new Map<string, Route>());
  /** Refused: `peer path` of routes that are there or not. */
  readonly refused = Array.from({ length: ROWS }, () => new Set<string>());

  constructor() {
    const peers = new PeerFacts();
    for (const [i, fact] of FACTS.entries()) peers.set(i, fact.external, fact.id, Uint8Array.from(fact.address));
    this.rib = new LocRib(this.table, peers, { reserve: 2 });
  }

  apply(step: Step): void {
    switch (step.kind) {
      case 'announce':
        this.announce(step.row, step.peer, step.path, step.attributes);
        break;
      case 'withdraw':
        this.check(step.row, () => {
          const known = this.model[step.row]!.delete(`${step.peer} ${step.path}`);
          this.refused[step.row]!.delete(`${step.peer} ${step.path}`);
          const change = this.rib.withdraw(step.row, step.peer, step.path);
          assert.equal((change & ROUTE_REMOVED) !== 0, known);
          return change;
        });
        break;
      case 'stale':
        this.check(step.row, () => {
          for (const [key, route] of this.model[step.row]!) if (key.startsWith(`${step.peer} `)) route.stale = step.level;
          return this.rib.markStale(step.row, step.peer, step.level);
        });
        break;
      case 'reject':
        this.check(step.row, () => {
          this.refused[step.row]!.add(`${step.peer} ${step.path}`);
          return this.rib.reject(step.row, step.peer, step.path, 'validator', 3);
        });
        break;
      case 'accept':
        this.check(step.row, () => {
          this.refused[step.row]!.delete(`${step.peer} ${step.path}`);
          return this.rib.accept(step.row, step.peer, step.path);
        });
        break;
      default:
        for (let row = 0; row < ROWS; row++) this.check(row, () => this.lose(step.kind, step.peer, row));
    }
  }

  announce(row: number, peer: number, path: number, attributes: Attributes): void {
    this.check(row, () => {
      const key = `${peer} ${path}`;
      const known = this.model[row]!.has(key);
      this.model[row]!.set(key, { attributes, stale: 0 });
      const bytes = block(attributes);
      const handle = this.table.intern(viewOf(bytes), 0, bytes.length, viewOf(bytes), 0, 0);
      const change = this.rib.announce(row, peer, path, handle);
      this.table.release(handle);
      assert.equal((change & ROUTE_ADDED) !== 0, !known && !this.refused[row]!.has(key));
      return change;
    });
  }

  lose(kind: 'purge' | 'drop', peer: number, row: number): number {
    for (const key of this.refused[row]!) {
      const stale = this.model[row]!.get(key)?.stale ?? 0;
      if (key.startsWith(`${peer} `) && (kind === 'drop' || stale >= 1)) this.refused[row]!.delete(key);
    }
    for (const [key, route] of this.model[row]!) {
      if (key.startsWith(`${peer} `) && (kind === 'drop' || route.stale >= 1)) this.model[row]!.delete(key);
    }
    return kind === 'drop' ? this.rib.dropPeer(row, peer) : this.rib.dropStale(row, peer, 1);
  }

  /** What is best, and with which attributes. */
  seen(row: number): string {
    const count = this.rib.load(row);
    return count === 0 ? '' : `${this.rib.best.peer[0]} ${this.rib.best.pathId[0]} ${this.rib.handles[row]}`;
  }

  /** After the change the row is as the model says, and the change bit says whether its best is another. */
  check(row: number, change: () => number): void {
    const before = this.seen(row);
    const bits = change();
    const after = this.seen(row);
    const routes = this.candidates(row);
    const count = this.rib.load(row);
    const { best } = this.rib;
    assert.equal(count, routes.size);
    assert.equal(count === 0 ? undefined : `${best.peer[0]} ${best.pathId[0]}`, naiveBest(routes));
    for (let i = 0; i < count; i++) {
      const route = routes.get(`${best.peer[i]} ${best.pathId[i]}`);
      assert.equal(best.stale[i], route?.stale);
      assert.equal(this.table.meds[best.handle[i]!], route?.attributes.med);
    }
    if (before !== after) assert.equal(bits & BEST_CHANGED, BEST_CHANGED);
    const decisions = best.explain(count);
    assert.equal(decisions.length, Math.max(0, count - 1));
    assert.equal(decisions.at(-1)?.winner ?? 0, 0);
  }

  candidates(row: number): Map<string, Route> {
    return new Map([...this.model[row]!].filter(([key]) => !this.refused[row]!.has(key)));
  }

  totals(): void {
    const routes = this.model.flatMap((row) => [...row]);
    const candidates = this.model.map((_, row) => this.candidates(row));
    assert.equal(this.rib.routes, routes.length);
    assert.equal(this.rib.reachable, candidates.filter((row) => row.size > 0).length);
    assert.equal(this.rib.staleRoutes, candidates.flatMap((row) => [...row]).filter(([, route]) => route.stale > 0).length);
    const refused = this.model.flatMap((row, i) => [...row.keys()].filter((key) => this.refused[i]!.has(key)));
    assert.equal(this.rib.rejected?.routes ?? 0, refused.length);
    assert.equal(this.rib.rejected?.early ?? 0, this.refused.reduce((sum, row) => sum + row.size, 0) - refused.length);
    for (let i = 0; i < PEERS; i++) {
      assert.equal(this.rib.received[i], routes.filter(([key]) => key.startsWith(`${i} `)).length);
    }
  }
}

test('any order of changes leaves the routes and best routes of a naive model, and nothing once every peer is gone', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 60, maxLength: 180, size: 'max' }), (steps) => {
      const both = new Both();
      for (const one of steps) both.apply(one);
      both.totals();
      for (let i = 0; i < PEERS; i++) both.apply({ kind: 'drop', peer: i });
      both.totals();
      assert.deepEqual([both.rib.routes, both.table.size, both.table.arena.held], [0, 0, 0]);
    }),
    { numRuns: Number(process.env['ZEST_RUNS'] ?? 170) },
  );
});

test('RFC 4271 §9.1.2.2: the order of arrival never matters', () => {
  const routes = fc.uniqueArray(fc.record({ peer, path, attributes }), { selector: (r) => `${r.peer} ${r.path}`, maxLength: 8 });
  fc.assert(
    fc.property(
      routes.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
      ([one, other]) => {
        const seen = [one, other].map((list) => {
          const both = new Both();
          for (const route of list) both.announce(0, route.peer, route.path, route.attributes);
          const { best } = both.rib;
          const count = both.rib.load(0);
          const paths = count === 0 ? [] : best.multipath(count, 0, 4, true).length;
          return [count, count === 0 ? '' : `${best.peer[0]} ${best.pathId[0]}`, paths];
        });
        assert.deepEqual(seen[0], seen[1]);
      },
    ),
  );
});
