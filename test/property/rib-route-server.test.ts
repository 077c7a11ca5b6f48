// The route server by forwarding, against receivers that keep the last word for each prefix: whatever happens, in the end each peer has a route
// that some other peer announces now, and none where no other peer has one.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { RouteServer } from '../../plugins/bgp-rs/server.ts';
import { FakeRoutePath } from '../support/fake-route-path.ts';

const PEERS = 4;
const PREFIXES = ['10.0.0.0/8', '11.0.0.0/8', '12.0.0.0/8'];

const peer = fc.nat(PEERS - 1);
const prefix = fc.constantFrom(...PREFIXES);
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('announce' as const), peer, prefix, length: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('withdraw' as const), peer, prefix }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('malformed' as const), peer, prefix }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('toggle' as const), peer }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('slice' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class World {
  readonly routes = new FakeRoutePath();
  /** What each peer announces now: prefix → the text of the path. */
  readonly says = Array.from({ length: PEERS }, () => new Map<string, string>());
  /** What each peer has been told. */
  readonly knows = Array.from({ length: PEERS }, () => new Map<string, string>());
  #number = 0;

  constructor() {
    new RouteServer(this.routes, 5, 64).attach();
    for (let i = 0; i < PEERS; i++) this.routes.up(this.routes.add(String(i)));
    this.routes.drain();
  }

  apply(step: Step): void {
    if (step.kind === 'toggle') this.#toggle(step.peer);
    else if (step.kind === 'slice') this.routes.step();
    else if (this.routes.established(step.peer)) this.#update(step);
    this.#hear();
  }

  #toggle(peer: number): void {
    if (this.routes.established(peer)) {
      this.routes.down(peer);
      this.says[peer]!.clear();
    } else {
      this.knows[peer]!.clear();
      this.routes.up(peer);
    }
  }

  #update(step: Step & { readonly kind: 'announce' | 'withdraw' | 'malformed' }): void {
    const { kind, peer, prefix } = step;
    const others = this.knows.filter((_, other) => other !== peer && this.routes.established(other));
    if (kind === 'announce') {
      const path = [...Array.from({ length: step.length }, () => 65001 + peer), ++this.#number];
      this.routes.announce(peer, [prefix], { path });
      this.says[peer]!.set(prefix, path.join());
      for (const knows of others) knows.set(prefix, path.join());
    } else {
      if (kind === 'withdraw') this.routes.withdraw(peer, [prefix]);
      else this.routes.announce(peer, [prefix], { origin: 9 });
      this.says[peer]!.delete(prefix);
      for (const knows of others) knows.delete(prefix);
    }
    this.routes.flush();
  }

  /** What the server relayed arrives after what it forwarded. */
  #hear(): void {
    for (const { peer, announce, nlri, path } of this.routes.relayed.splice(0)) {
      for (const prefix of nlri) {
        if (announce) this.knows[Number(peer)]!.set(prefix, path.join());
        else this.knows[Number(peer)]!.delete(prefix);
      }
    }
  }

  settle(): void {
    this.routes.drain();
    this.#hear();
  }
}

test('each peer ends with what some other peer announces now, and with nothing where no other has anything', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 150, size: 'max' }), (steps) => {
      const world = new World();
      for (const one of steps) world.apply(one);
      world.settle();
      for (let peer = 0; peer < PEERS; peer++) {
        if (!world.routes.established(peer)) continue;
        for (const prefix of PREFIXES) {
          const sources = world.says.flatMap((says, other) => (other === peer ? [] : (says.get(prefix) ?? [])));
          const known = world.knows[peer]!.get(prefix);
          if (sources.length === 0) assert.equal(known, undefined, `peer ${peer} keeps ${prefix}`);
          else
            assert.ok(
              known !== undefined && sources.includes(known),
              `peer ${peer}, ${prefix}: ${known} of ${sources.join(' | ')}`,
            );
        }
      }
    }),
    { numRuns: 60 },
  );
});
