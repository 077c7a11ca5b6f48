// The walks behind `rib routes` and `rib best`: over the candidates of every row, over what was sent, over the best routes.
import type { PeerDirectory } from '../../sdk/plugin/structured.ts';
import type { FamilyRoutes } from '../../sdk/rib/family-routes.ts';
import { LOCAL } from '../../sdk/rib/peer-facts.ts';
import { familyName } from '../../sdk/wire/family.ts';
import type { OriginatedRoute } from './adj-rib-out.ts';
import type { Query } from './query.ts';
import type { Rib } from './rib.ts';
import { json, RouteText } from './route-text.ts';
import type { Walker } from '../../sdk/plugin/walk.ts';

type Emit = (json: string) => void;

/** How a peer is called in answers: its address. */
export function peerText(peers: PeerDirectory, peer: number): string {
  return peer === LOCAL ? 'local' : peers.address(peer);
}

/** Family after family, row after row; a subclass says what a row has to tell. */
abstract class TableWalker implements Walker {
  protected readonly rib: Rib;
  protected readonly text: RouteText;
  protected readonly query: Query;
  /** Also rows that have nothing but routes a validator refused. */
  protected readonly showsRejected: boolean = false;
  #family = 0;
  #row = 0;

  constructor(rib: Rib, query: Query) {
    this.rib = rib;
    this.query = query;
    this.text = new RouteText(rib.store.attributes, query);
  }

  resume(): void {
    this.text.forget();
  }

  scan(count: number, emit: Emit): boolean {
    let left = count;
    while (left > 0) {
      const family = this.rib.store.families[this.#family];
      if (family === undefined) return false;
      if (this.#row >= family.rows || (this.query.family !== 0 && this.query.family !== family.family)) {
        this.#family++;
        this.#row = 0;
        continue;
      }
      const row = this.#row++;
      left--;
      if (family.best(row) === 0 && !(this.showsRejected && family.rib.rejected?.has(row) === true)) continue;
      const nlri = this.text.nlri(family.family, family.writePrefix(row, this.text.room, 0));
      if (this.text.admits(family.family, nlri)) this.row(family, row, nlri, emit);
    }
    return true;
  }

  protected emit(emit: Emit, row: string): void {
    if (this.text.matches(row)) emit(row);
  }

  protected abstract row(family: FamilyRoutes, row: number, nlri: string, emit: Emit): void;
}

/** What peers announced, as they announced it (after import filters). */
export class ReceivedWalker extends TableWalker {
  protected override readonly showsRejected = true;
  readonly #chosen: ReadonlySet<number>;

  constructor(rib: Rib, query: Query, chosen: ReadonlySet<number>) {
    super(rib, query);
    this.#chosen = chosen;
  }

  protected row(family: FamilyRoutes, row: number, nlri: string, emit: Emit): void {
    const count = family.rib.load(row);
    const { handle, peer, pathId, stale } = family.rib.best;
    const name = familyName(family.family);
    for (let i = 0; i < count; i++) {
      if (!this.#chosen.has(peer[i]!) || !this.text.passes(handle[i]!)) continue;
      let text = `{"direction":"received","peer":${json(peerText(this.rib.routes.peers, peer[i]!))},"family":"${name}","prefix":"${nlri}"`;
      if (pathId[i] !== 0) text += `,"path-id":${pathId[i]}`;
      text += this.text.members(handle[i]!);
      if (stale[i] !== 0) text += `,"stale":true,"stale-level":${stale[i]}`;
      this.emit(emit, `${text}}`);
    }
    if (family.rib.rejected?.has(row) === true) this.#rejected(family, row, nlri, emit);
  }

  /** Routes a validator refused: received, but no candidates. */
  #rejected(family: FamilyRoutes, row: number, nlri: string, emit: Emit): void {
    for (const { peer, pathId, handle, stale, owner, state } of family.rib.rejected?.at(row) ?? []) {
      if (handle === 0 || !this.#chosen.has(peer) || !this.text.passes(handle)) continue;
      const where = `"peer":${json(peerText(this.rib.routes.peers, peer))},"family":"${familyName(family.family)}","prefix":"${nlri}"`;
      let text = `{"direction":"received",${where}${pathId === 0 ? '' : `,"path-id":${pathId}`}${this.text.members(handle)}`;
      if (stale !== 0) text += `,"stale":true,"stale-level":${stale}`;
      this.emit(emit, `${text},"rejected-by":${json(owner)},"validation-state":${state}}`);
    }
  }
}

/** Learned routes that an exporter announced, with the attributes they have in the RIB: the egress rewrite is not shown. */
export class ExportedWalker extends TableWalker {
  readonly #chosen: readonly number[];

  constructor(rib: Rib, query: Query, chosen: ReadonlySet<number>) {
    super(rib, query);
    this.#chosen = [...chosen].filter((peer) => peer !== LOCAL && rib.routes.established(peer));
  }

  protected row(family: FamilyRoutes, row: number, nlri: string, emit: Emit): void {
    const handle = family.best(row);
    const { routes } = this.rib;
    if (!this.text.passes(handle)) return;
    for (const peer of this.#chosen) {
      if (!routes.announced(family, peer, row)) continue;
      const where = `"peer":${json(peerText(routes.peers, peer))},"family":"${familyName(family.family)}","prefix":"${nlri}"`;
      this.emit(emit, `{"direction":"sent",${where}${this.text.members(handle)}}`);
    }
  }
}

/** What we originate, peer after peer. */
export class OriginatedWalker implements Walker {
  readonly #rib: Rib;
  readonly #query: Query;
  readonly #text: RouteText;
  readonly #peers: readonly number[];
  readonly #route: OriginatedRoute = { family: 0, pathId: 0, handle: 0, owner: '', meta: '' };
  #peer = 0;
  #row = 0;

  constructor(rib: Rib, query: Query, chosen: ReadonlySet<number>) {
    this.#rib = rib;
    this.#query = query;
    this.#peers = [...chosen];
    this.#text = new RouteText(rib.store.attributes, query);
  }

  resume(): void {
    this.#text.forget();
  }

  scan(count: number, emit: Emit): boolean {
    for (let left = count; left > 0; ) {
      const peer = this.#peers[this.#peer];
      if (peer === undefined) return false;
      if (this.#row >= this.#rib.out.rows(peer)) {
        this.#peer++;
        this.#row = 0;
        continue;
      }
      left--;
      this.#emit(peer, this.#row++, emit);
    }
    return true;
  }

  #emit(peer: number, row: number, emit: Emit): void {
    const route = this.#route;
    const text = this.#text;
    const length = this.#rib.out.read(peer, row, route, text.room);
    if (length === 0 || (this.#query.family !== 0 && this.#query.family !== route.family)) return;
    const nlri = text.nlri(route.family, length);
    if (!text.admits(route.family, nlri) || !text.passes(route.handle)) return;
    const name = json(peerText(this.#rib.routes.peers, peer));
    let made = `{"direction":"sent","peer":${name},"family":"${familyName(route.family)}","prefix":"${nlri}"`;
    if (route.pathId !== 0) made += `,"path-id":${route.pathId}`;
    made += `${text.members(route.handle)},"owner":${json(route.owner)}`;
    made += route.meta === '' ? '}' : `,"route-meta":${route.meta}}`;
    if (text.matches(made)) emit(made);
  }
}

/** The best route of each prefix. */
export class BestWalker extends TableWalker {
  readonly #chosen: ReadonlySet<number>;

  constructor(rib: Rib, query: Query, chosen: ReadonlySet<number>) {
    super(rib, query);
    this.#chosen = chosen;
  }

  protected row(family: FamilyRoutes, row: number, nlri: string, emit: Emit): void {
    if (!this.#chosen.has(family.source(row)) || !this.text.passes(family.best(row))) return;
    this.emit(emit, bestText(this.rib, this.text, family, row, nlri));
  }
}

/** `family` `prefix` `best-peer` `multipath-peers` `attributes`. */
export function bestText(rib: Rib, text: RouteText, family: FamilyRoutes, row: number, nlri: string): string {
  const { peers, settings } = rib.routes;
  const count = family.rib.load(row);
  const { best } = family.rib;
  const several = count > 1 && settings.multipathMaximum > 1;
  const paths = several ? best.multipath(count, 0, settings.multipathMaximum, settings.multipathRelax) : [0];
  const names = paths.length > 1 ? paths.map((path) => json(peerText(peers, best.peer[path]!))).join(',') : '';
  const name = json(peerText(peers, best.peer[0]!));
  const members = text.members(best.handle[0]!).slice(1);
  return `{"family":"${familyName(family.family)}","prefix":"${nlri}","best-peer":${name},"multipath-peers":[${names}],"attributes":{${members}}}`;
}

/** The comparisons that made each best route the best. */
export class ReasonWalker extends TableWalker {
  readonly #chosen: ReadonlySet<number>;

  constructor(rib: Rib, query: Query, chosen: ReadonlySet<number>) {
    super(rib, query);
    this.#chosen = chosen;
  }

  protected row(family: FamilyRoutes, row: number, nlri: string, emit: Emit): void {
    if (!this.#chosen.has(family.source(row)) || !this.text.passes(family.best(row))) return;
    const { peers } = this.rib.routes;
    const count = family.rib.load(row);
    const { best } = family.rib;
    const name = (candidate: number): string => {
      const pathId = best.pathId[candidate]!;
      return `${peerText(peers, best.peer[candidate]!)}${pathId === 0 ? '' : `#${pathId}`}`;
    };
    const steps = best.explain(count).map((decision) => ({
      step: decision.step,
      incumbent: name(decision.incumbent),
      challenger: name(decision.challenger),
      winner: name(decision.winner),
      reason: decision.reason,
    }));
    const head = `{"family":"${familyName(family.family)}","prefix":"${nlri}","winner-peer":${json(name(0))}`;
    this.emit(emit, `${head},"candidates":${count},"steps":${JSON.stringify(steps)}}`);
  }
}

/** One walk after the other. */
export class ChainWalker implements Walker {
  readonly #walkers: readonly Walker[];
  #at = 0;

  constructor(walkers: readonly Walker[]) {
    this.#walkers = walkers;
  }

  resume(): void {
    for (const walker of this.#walkers) walker.resume();
  }

  scan(count: number, emit: Emit): boolean {
    const walker = this.#walkers[this.#at];
    if (walker === undefined) return false;
    if (!walker.scan(count, emit)) this.#at++;
    return this.#at < this.#walkers.length;
  }
}
