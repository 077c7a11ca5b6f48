// One row a step: two routes that are equal up to it, which one wins, and what `reason` says.
import assert from 'node:assert/strict';
import test from 'node:test';
import { AttributeTable } from '../../../sdk/rib/attribute-table.ts';
import { BestPath } from '../../../sdk/rib/best-path.ts';
import { ByteArena } from '../../../sdk/rib/byte-arena.ts';
import { CANDIDATE_LIMIT, LocRib, ROUTE_ADDED, ROUTE_REFUSED } from '../../../sdk/rib/loc-rib.ts';
import { PeerFacts } from '../../../sdk/rib/peer-facts.ts';
import { type Attributes, block, viewOf } from '../../support/rib-attributes.ts';

/** Peers 0..4: who is external, identifiers, addresses. */
const PEERS = [
  [true, 9, [192, 0, 2, 9]],
  [false, 9, [192, 0, 2, 9]],
  [true, 3, [192, 0, 2, 9]],
  [true, 9, [192, 0, 2, 1]],
  [true, 9, [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
] as const;

interface Route {
  readonly attributes: Attributes;
  readonly peer?: number;
  readonly pathId?: number;
  readonly stale?: number;
}

function setup(): { table: AttributeTable; facts: PeerFacts } {
  const facts = new PeerFacts();
  for (const [i, [external, id, address]] of PEERS.entries()) facts.set(i, external, id, Uint8Array.from(address));
  return { table: new AttributeTable({ reserve: 16 }), facts };
}

function intern(table: AttributeTable, attributes: Attributes): number {
  const bytes = block(attributes);
  return table.intern(viewOf(bytes), 0, bytes.length, viewOf(bytes), 0, 0);
}

function load(routes: readonly Route[]): BestPath {
  const { table, facts } = setup();
  const best = new BestPath(table, facts);
  for (const [i, route] of routes.entries()) {
    best.handle[i] = intern(table, route.attributes);
    best.peer[i] = route.peer ?? 0;
    best.pathId[i] = route.pathId ?? 0;
    best.stale[i] = route.stale ?? 0;
  }
  return best;
}

/** The second route of each row wins. */
const STEPS: readonly (readonly [name: string, step: string, loser: Route, winner: Route, reason: string])[] = [
  [
    'RFC 9494 §4.3: long-lived stale routes are the last choice',
    'stale-level',
    { attributes: { localPreference: 900 }, stale: 2 },
    { attributes: {} },
    '0 < 2',
  ],
  [
    'RFC 4724: a stale route of level 1 counts as fresh',
    'path-id',
    { attributes: {}, pathId: 1 },
    { attributes: {}, stale: 1 },
    '0 < 1',
  ],
  [
    'RFC 4271 §9.1.1: the higher LOCAL_PREF',
    'local-preference',
    { attributes: { path: [1] } },
    { attributes: { path: [1, 2], localPreference: 101 } },
    '101 > 100',
  ],
  [
    'RFC 4271 §9.1.2.2 a: the shorter path',
    'as-path-length',
    { attributes: { path: [1, 2] } },
    { attributes: { path: [1], origin: 2 } },
    '1 < 2',
  ],
  [
    'RFC 4271 §9.1.2.2 a: a set counts as one',
    'as-path-length',
    { attributes: { path: [1, 2, 3] } },
    { attributes: { path: [1, [2, 3, 4]] } },
    '2 < 3',
  ],
  [
    'RFC 4271 §9.1.2.2 b: the lower origin',
    'origin',
    { attributes: { origin: 2 } },
    { attributes: { origin: 1, med: 9 } },
    'egp < incomplete',
  ],
  [
    'RFC 4271 §9.1.2.2 c: the lower MED of one neighbour AS',
    'med',
    { attributes: { path: [1], med: 2 } },
    { attributes: { path: [1], med: 1 }, peer: 1 },
    '1 < 2, neighbour AS 1',
  ],
  [
    'RFC 4271 §9.1.2.2 c: no MED is the lowest',
    'med',
    { attributes: { path: [1], med: 2 } },
    { attributes: { path: [1] }, peer: 1 },
    '0 < 2, neighbour AS 1',
  ],
  [
    'RFC 4271 §9.1.2.2 c: MEDs of different neighbours do not compare',
    'ebgp-over-ibgp',
    { attributes: { path: [2] }, peer: 1 },
    { attributes: { path: [1], med: 9 } },
    'ebgp over ibgp',
  ],
  [
    'RFC 4271 §9.1.2.2 d: external over internal',
    'ebgp-over-ibgp',
    { attributes: {}, peer: 1 },
    { attributes: {}, peer: 0 },
    'ebgp over ibgp',
  ],
  [
    'RFC 4271 §9.1.2.2 f: the lower identifier',
    'router-id',
    { attributes: {}, peer: 3 },
    { attributes: {}, peer: 2 },
    '0.0.0.3 < 0.0.0.9',
  ],
  [
    'RFC 4456 §9: ORIGINATOR_ID stands for the identifier',
    'router-id',
    { attributes: {}, peer: 2 },
    { attributes: { originator: 1 }, peer: 0 },
    '0.0.0.1 < 0.0.0.3',
  ],
  [
    'RFC 4456 §9: the shorter CLUSTER_LIST',
    'cluster-list-length',
    { attributes: { clusters: 2 }, peer: 3 },
    { attributes: { clusters: 1 } },
    '1 < 2',
  ],
  [
    'RFC 4271 §9.1.2.2 g: the lower address',
    'peer-address',
    { attributes: {}, peer: 0 },
    { attributes: {}, peer: 3 },
    'lower peer address',
  ],
  [
    'an IPv4 peer before an IPv6 one',
    'peer-address',
    { attributes: {}, peer: 4 },
    { attributes: {}, peer: 0 },
    'lower peer address',
  ],
  ['the lower path id of one peer', 'path-id', { attributes: {}, pathId: 8 }, { attributes: {}, pathId: 7 }, '7 < 8'],
];

for (const [name, step, loser, winner, reason] of STEPS) {
  test(name, () => {
    for (const [routes, expected] of [
      [[loser, winner], 1],
      [[winner, loser], 0],
    ] as const) {
      const best = load(routes);
      assert.equal(best.pick(2), expected);
      assert.deepEqual(best.explain(2), [{ step, incumbent: 0, challenger: 1, winner: expected, reason }]);
    }
  });
}

test('MED hides a route that would win among all: the classic cycle has one answer in every order', () => {
  // a beats b by MED, b beats c by identifier, c beats a by identifier: pairwise comparison has no end.
  const a: Route = { attributes: { path: [1], med: 0, originator: 30 }, peer: 0 };
  const b: Route = { attributes: { path: [1], med: 9, originator: 10 }, peer: 2 };
  const c: Route = { attributes: { path: [2], originator: 20 }, peer: 3 };
  for (const order of [
    [a, b, c],
    [a, c, b],
    [b, a, c],
    [b, c, a],
    [c, a, b],
    [c, b, a],
  ]) {
    assert.equal(order[load(order).pick(3)], c);
  }
});

test('a prefix has a limited number of routes: at the limit all are kept, past it one is refused and counted', () => {
  const { table, facts } = setup();
  const rib = new LocRib(table, facts, { reserve: 4 });
  const handle = intern(table, {});
  for (let pathId = 0; pathId < CANDIDATE_LIMIT; pathId++) assert.notEqual(rib.announce(0, 0, pathId, handle) & ROUTE_ADDED, 0);
  assert.equal(rib.announce(0, 0, CANDIDATE_LIMIT, handle), ROUTE_REFUSED);
  assert.deepEqual([rib.routes, rib.refused], [CANDIDATE_LIMIT, 1]);
  rib.withdraw(0, 0, 5);
  assert.notEqual(rib.announce(0, 0, CANDIDATE_LIMIT, handle) & ROUTE_ADDED, 0);
  assert.equal(rib.load(0), CANDIDATE_LIMIT);
});

test('an arena at its limit cuts a larger free block, and says no when there is none', () => {
  const arena = new ByteArena({ reserve: 8, limit: 4 + 40 });
  const large = arena.take(40);
  assert.equal(arena.take(1), -1);
  arena.give(large, 40);
  const parts = [arena.take(12), arena.take(8), arena.take(20)];
  assert.deepEqual([...parts, arena.take(1)], [large, large + 12, large + 20, -1]);
  arena.give(parts[1]!, 8);
  assert.deepEqual([arena.take(8), arena.held], [large + 12, 40]);
});
