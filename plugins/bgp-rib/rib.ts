// The RIB: what peers announced (Adj-RIB-In), which route of each prefix is best (Loc-RIB) and what we originate (Adj-RIB-Out). Everything
// happens inside the reactor's read callback; what concerns a whole table is done in slices.
import type { BestChange, BestRoutes, RoutePath } from '../../sdk/plugin/route-path.ts';
import type { FamilyRoutes } from '../../sdk/rib/family-routes.ts';
import { BEST_CHANGED } from '../../sdk/rib/loc-rib.ts';
import { RouteStore } from '../../sdk/rib/route-store.ts';
import { addressBytes } from '../../sdk/wire/address.ts';
import { familyName, IPV4_UNICAST, isPrefixFamily } from '../../sdk/wire/family.ts';
import { AdjRibOut } from './adj-rib-out.ts';
import { InstalledRoutes } from './install.ts';
import { Sweep } from './sweep.ts';
import { Validation } from './validation.ts';

/** Changed rows are published at the latest when there are this many, also within one read callback. */
const PUBLISH = 1 << 16;

export class Rib {
  readonly routes: RoutePath;
  readonly store: RouteStore;
  readonly out: AdjRibOut;
  readonly installed: InstalledRoutes;
  readonly validation: Validation;
  readonly #change = new Change();
  readonly #sweeps: Sweep[] = [];
  readonly #retained = new Set<number>();
  readonly #idle: (row: number) => boolean;
  #reclaiming: FamilyRoutes | undefined;
  #refused = 0;
  #sweeping = false;

  /** `seed`: a random number for the hashes; `reserve`: see `RouteStoreOptions`. */
  constructor(routes: RoutePath, seed: number, reserve?: number) {
    this.routes = routes;
    this.store = new RouteStore({ interest: BEST_CHANGED, keeps: isPrefixFamily, seed, reserve });
    // Reserved before anything runs: the collector looks at memory of this size, and does it better now than among the first routes.
    this.store.family(IPV4_UNICAST);
    this.out = new AdjRibOut(routes, this.store.attributes, seed);
    this.installed = new InstalledRoutes(this);
    this.validation = new Validation(this);
    this.#idle = (row) => this.#reclaiming !== undefined && routes.idle(this.#reclaiming, row);
  }

  /** Takes its place on the route path. */
  attach(): void {
    const { routes } = this;
    routes.onUpdate((peer, _id, view, treatAsWithdraw) => {
      this.store.receive(peer, view, treatAsWithdraw);
      for (const family of this.store.families) if (family.changedCount >= PUBLISH) this.#publish(family);
    });
    routes.countPrefixes((peer, family) => this.store.known(family)?.rib.received[peer] ?? 0);
    routes.onFlush(() => this.flush());
    routes.onPeerUp((peer, families, done) => this.#peerUp(peer, families, done));
    routes.onPeerDown((peer) => this.#peerDown(peer));
    routes.onOriginated((owner, peer, family, announce, nlri, at, length, pathId, attributes, nextHop, meta) =>
      this.out.store(owner, peer, family, announce, nlri, at, length, pathId, attributes, nextHop, meta),
    );
    routes.onDisown((owner) => {
      this.out.disown(owner);
      void this.installed.disown(owner);
    });
    routes.onResend((peer, family, done) => this.out.resend(peer, family, done));
  }

  /** Publishes what changed, then gives free rows back. */
  flush(): void {
    this.out.settle();
    for (const family of this.store.families) {
      family.settle();
      if (family.changedCount !== 0) this.#publish(family);
      this.#reclaiming = family;
      family.reclaim(this.#idle);
    }
    this.#reportRefused();
  }

  /** What best path needs to know of a peer; before its first route, also one put in by hand. */
  learn(peer: number): void {
    const { routes } = this;
    const address = addressBytes(routes.peers.address(peer)) ?? NONE;
    this.store.peers.set(peer, routes.external(peer), routes.routerId(peer), address);
  }

  /** Takes every route of the peer away, in slices; `done` afterwards. */
  drop(peer: number, done?: () => void): void {
    this.#start(Sweep.drop(this.store, peer, done));
  }

  /** Graceful restart: routes of these peers stay when their session is lost, marked stale. */
  retain(peer: number, keep: boolean): void {
    if (keep) this.#retained.add(peer);
    else this.#retained.delete(peer);
  }

  markStale(peer: number, level: number, done?: () => void): void {
    this.#start(Sweep.mark(this.store, peer, level, done));
  }

  /** Takes the peer's stale routes away; of one family, or 0 for all. */
  purgeStale(peer: number, family: number, done?: () => void): void {
    this.#start(Sweep.purge(this.store, peer, family, done));
  }

  /** Slices of whole-table work that are not done yet. */
  get pending(): number {
    return this.#sweeps.length;
  }

  get retained(): readonly number[] {
    return [...this.#retained];
  }

  #peerUp(peer: number, families: readonly number[], done: () => void): void {
    // Tables are made before the first route is there: to reserve them costs the time of thousands of routes.
    // They are named at once, so that whoever exports them has its tables too, and the peer need not walk what came in meanwhile.
    for (const family of families) {
      const table = this.store.family(family);
      if (table?.rows === 0) this.#publish(table);
    }
    // The routes of the session before must be gone before the first one of this session comes.
    for (const sweep of this.#sweeps) if (sweep.peer === peer) sweep.finish();
    this.learn(peer);
    this.out.resend(peer, 0, done);
  }

  #peerDown(peer: number): void {
    this.validation.forget(peer);
    if (this.store.received(peer) === 0) return;
    if (this.#retained.has(peer)) this.markStale(peer, 1);
    else this.drop(peer);
  }

  #start(sweep: Sweep): void {
    this.#sweeps.push(sweep);
    if (this.#sweeping) return;
    this.#sweeping = true;
    this.routes.slice(() => this.#sweep());
  }

  #sweep(): boolean {
    const sweep = this.#sweeps[0];
    if (sweep?.step() === false) this.#sweeps.shift();
    this.#sweeping = this.#sweeps.length > 0;
    return this.#sweeping;
  }

  #publish(family: FamilyRoutes): void {
    this.#change.routes = family;
    this.#change.rows = family.changed;
    this.#change.count = family.changedCount;
    this.routes.publishBest(this.#change);
    family.clearChanged();
  }

  #reportRefused(): void {
    let refused = this.store.attributes.refused + this.out.refused;
    for (const family of this.store.families) refused += family.refused + family.rib.refused;
    if (refused === this.#refused) return;
    this.#refused = refused;
    const sizes = this.store.families.map((family) => `${familyName(family.family)} ${family.rib.routes}`).join(', ');
    this.routes.report('warning', 'rib-full', 'bgp-rib', `${refused} routes were not stored since the start; held: ${sizes}`);
  }
}

/** One object for every publication; it is read during the call alone. */
class Change implements BestChange {
  routes: BestRoutes;
  rows: Int32Array;
  count: number;

  constructor() {
    this.routes = EMPTY;
    this.rows = new Int32Array(0);
    this.count = 0;
  }
}

const NONE = new Uint8Array(0);
const EMPTY: BestRoutes = {
  family: 0,
  rows: 0,
  best: () => 0,
  source: () => 0,
  writePrefix: () => 0,
  attributesAt: () => 0,
  attributesLength: () => 0,
  attributeBytes: NONE,
  nextHopAt: () => 0,
  nextHopLength: () => 0,
};
