// The route server (RFC 7947). Two ways, chosen by the configuration:
//
// - *forward* (Ze's): every accepted UPDATE goes as it came to all other peers of its families. What each source announced is kept, so that a
//   route that goes leaves nobody without the route another source has for the same prefix, and a peer that comes up gets what is there.
// - *best-path*: of plain prefix families only the best route of each prefix is announced, by exporters that read bgp-rib's tables; families
//   that have no such table are kept here and go out by best path too.
import type { BestChange, BestRoutes, Exporter, RoutePath } from '../../sdk/plugin/route-path.ts';
import type { FamilyRoutes } from '../../sdk/rib/family-routes.ts';
import { BEST_CHANGED, ROUTE_ABSENT, ROUTE_REMOVED } from '../../sdk/rib/loc-rib.ts';
import { RelayRun } from '../../sdk/rib/relay-run.ts';
import { RouteStore } from '../../sdk/rib/route-store.ts';
import { addressBytes } from '../../sdk/wire/address.ts';
import { isPrefixFamily, NO_FAMILY } from '../../sdk/wire/family.ts';
import type { UpdateView } from '../../sdk/wire/update.ts';

export type Mode = 'forward' | 'best-path';

/** Rows per slice of work on a whole table. */
const SLICE = 2048;

export class RouteServer {
  readonly routes: RoutePath;
  /** UPDATEs passed on. */
  forwarded = 0;
  readonly #seed: number;
  readonly #reserve: number | undefined;
  readonly #exporters: { readonly routes: BestRoutes; readonly exporter: Exporter }[] = [];
  /** Established peers and the families they negotiated. */
  readonly #families = new Map<number, readonly number[]>();
  /** Peers whose routes of a lost session are not all taken away yet; the value takes the rest away. */
  readonly #leaving = new Map<number, () => void>();
  #mode: Mode | undefined;
  #store: RouteStore | undefined;
  #run: RelayRun | undefined;
  #told = false;

  /** `seed`: a random number for the hashes; `reserve`: see `RouteStoreOptions`. */
  constructor(routes: RoutePath, seed: number, reserve?: number) {
    this.routes = routes;
    this.#seed = seed;
    this.#reserve = reserve;
  }

  /** Takes its place on the route path. */
  attach(): void {
    const { routes } = this;
    routes.onUpdate((peer, _id, view, treatAsWithdraw) => this.#update(peer, view, treatAsWithdraw));
    routes.onFlush(() => this.#flush());
    routes.onPeerUp((peer, families, done) => this.#peerUp(peer, families, done));
    routes.onPeerDown((peer) => this.#peerDown(peer));
    routes.onBestChange((change) => this.#bestChange(change));
    routes.onResend((peer, family, done) => this.#resend(peer, family, done));
  }

  /** What the configuration said when it was first needed; a change asks for a restart. */
  get mode(): Mode {
    this.#mode ??= this.routes.settings.routeServerBestPath ? 'best-path' : 'forward';
    return this.#mode;
  }

  get store(): RouteStore {
    const best = this.mode === 'best-path';
    this.#store ??= new RouteStore({
      interest: best ? BEST_CHANGED : ROUTE_REMOVED | ROUTE_ABSENT,
      keeps: best ? (family) => !isPrefixFamily(family) : () => true,
      seed: this.#seed,
      reserve: this.#reserve,
    });
    return this.#store;
  }

  /** Routes of the peer that are kept here: in best-path mode those of plain prefix families are not. */
  received(peer: number): number {
    return this.#store?.received(peer) ?? 0;
  }

  /** NLRI sent from the store: replays, and routes that took a lost one's place. */
  get relayed(): number {
    return this.#run?.sent ?? 0;
  }

  families(peer: number): readonly number[] {
    return this.#families.get(peer) ?? [];
  }

  get peers(): Iterable<number> {
    return this.#families.keys();
  }

  #update(peer: number, view: UpdateView, treatAsWithdraw: boolean): void {
    if (this.mode === 'best-path') {
      if (concernsStore(view)) this.store.receive(peer, view, treatAsWithdraw);
      return;
    }
    this.store.receive(peer, view, treatAsWithdraw);
    this.routes.forward(view, peer);
    this.forwarded++;
  }

  #bestChange(change: BestChange): void {
    if (this.mode === 'best-path') this.#exporter(change.routes).changed(change.rows, change.count);
  }

  #exporter(table: BestRoutes): Exporter {
    for (const known of this.#exporters) if (known.routes === table) return known.exporter;
    const exporter = this.routes.exporter(table, { transparent: this.routes.settings.routeServerTransparent });
    this.#exporters.push({ routes: table, exporter });
    return exporter;
  }

  #flush(): void {
    if (this.#store === undefined) return;
    for (const family of this.#store.families) {
      family.settle();
      if (family.changedCount !== 0) this.#replace(family, this.mode === 'best-path');
      family.reclaim(always);
    }
    this.#run?.flush();
    this.#noticeMode();
  }

  #peerUp(peer: number, families: readonly number[], done: () => void): void {
    this.#leaving.get(peer)?.();
    const { routes } = this;
    this.store.peers.set(peer, routes.external(peer), routes.routerId(peer), addressBytes(routes.peers.address(peer)) ?? NONE);
    this.#families.set(peer, families);
    for (const family of families) this.store.family(family);
    if (this.mode === 'best-path') for (const table of routes.bestTables()) this.#exporter(table);
    this.#replay(peer, 0, done);
  }

  /** What is kept of the peer goes, slice by slice, and each other peer gets what is left for the prefix. */
  #peerDown(peer: number): void {
    this.#families.delete(peer);
    if (this.received(peer) === 0) return;
    const list = [...this.store.families];
    let at = 0;
    let row = 0;
    const step = (count: number): boolean => {
      const family = list[at];
      if (family === undefined) return false;
      row = family.dropPeer(peer, row, count);
      this.#replace(family, true);
      this.#run?.flush();
      if (row >= 0) return true;
      at++;
      row = 0;
      return at < list.length;
    };
    // Which departure of the peer it is: the slices of one that was cut short must not end the next.
    const finish = (): void => {
      this.#leaving.delete(peer);
      while (step(SLICE));
    };
    this.#leaving.set(peer, finish);
    this.routes.slice(() => {
      if (this.#leaving.get(peer) !== finish) return false;
      if (step(SLICE)) return true;
      this.#leaving.delete(peer);
      return false;
    });
  }

  #resend(peer: number, family: number, done: () => void): void {
    for (const known of this.#exporters) {
      if (family === 0 || known.routes.family === family) known.exporter.refresh(peer);
    }
    this.#replay(peer, family, done);
  }

  /** For each changed row: every peer gets the best route that is not its own; without one, and with `gone`, a withdraw. */
  #replace(family: FamilyRoutes, gone: boolean): void {
    const { changed, changedCount } = family;
    for (const [destination, families] of this.#families) {
      if (!families.includes(family.family)) continue;
      for (let i = 0; i < changedCount; i++) this.#give(destination, family, changed[i]!, gone);
    }
    // Before the list is emptied, and with it the rows' leave to be used anew.
    this.#run?.flush();
    family.clearChanged();
  }

  #give(destination: number, family: FamilyRoutes, row: number, gone: boolean): void {
    const { best } = family.rib;
    const count = family.rib.load(row);
    const own = count > 0 && best.peer[0] === destination;
    // By best path the source of the best route gets nothing; by forwarding it gets what the others announced.
    let chosen = count === 0 ? -1 : 0;
    if (own) chosen = this.mode === 'best-path' ? -1 : best.pickWithout(count, destination);
    const run = this.#relay();
    if (chosen >= 0) run.add(destination, best.peer[chosen]!, family.family, best.handle[chosen]!, family.table, row);
    else if (gone) run.add(destination, destination, family.family, 0, family.table, row);
  }

  /** Everything kept that others announced, of one family or of all (0), in slices. */
  #replay(peer: number, wanted: number, done: () => void): void {
    const list = this.store.families.filter((family) => wanted === 0 || family.family === wanted);
    if (list.every((family) => family.rib.reachable === 0)) {
      done();
      return;
    }
    let at = 0;
    let row = 0;
    this.routes.slice(() => {
      const family = list[at];
      const families = this.#families.get(peer);
      if (family === undefined || families === undefined) {
        done();
        return false;
      }
      const wants = families.includes(family.family);
      for (const end = Math.min(row + SLICE, family.rows); wants && row < end; row++) {
        if (family.best(row) !== 0) this.#give(peer, family, row, false);
      }
      this.#run?.flush();
      if (wants && row < family.rows) return true;
      at++;
      row = 0;
      return true;
    });
  }

  #relay(): RelayRun {
    this.#run ??= new RelayRun(this.routes, this.store.attributes);
    return this.#run;
  }

  #noticeMode(): void {
    const changed = this.routes.settings.routeServerBestPath !== (this.mode === 'best-path');
    if (changed === this.#told) return;
    this.#told = changed;
    const text = 'route-server best-path was changed; it takes effect when the daemon is started again';
    this.routes.report('warning', 'route-server-mode', 'bgp-rs', text, !changed);
  }
}

/** Families of plain prefixes, the classic fields among them, are bgp-rib's. */
function concernsStore(view: UpdateView): boolean {
  const { reachFamily, unreachFamily } = view;
  return (
    (reachFamily !== NO_FAMILY && !isPrefixFamily(reachFamily)) || (unreachFamily !== NO_FAMILY && !isPrefixFamily(unreachFamily))
  );
}

const NONE = new Uint8Array(0);
function always(): boolean {
  return true;
}
