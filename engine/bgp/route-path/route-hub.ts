/** The route path as plugins of this thread see it (`sdk/plugin/route-path.ts`): who listens to what, and the calls that act. */
import type {
  BestChange,
  BestRoutes,
  Exporter,
  OriginatedHandler,
  RoutePath,
  UpdateHandler,
} from '../../../sdk/plugin/route-path.ts';
import type { PeerDirectory } from '../../../sdk/plugin/structured.ts';
import type { FilterCompiler } from '../../../sdk/policy/route-filter.ts';
import { BORR, EORR, encodeRefresh } from '../../../sdk/wire/refresh.ts';
import type { UpdateView } from '../../../sdk/wire/update.ts';
import { endOfRib } from '../../../sdk/wire/writer.ts';
import type { Deadlines } from '../../core/deadlines.ts';
import type { Egress } from '../send/egress.ts';
import type { Peer } from '../session/peer.ts';
import { RouteScope } from './route-scope.ts';

/** ms a resend waits for the plugins that announce. */
const RESEND_PATIENCE = 30_000;

export interface HubHost {
  readonly deadlines: Deadlines;
  readonly peers: PeerDirectory & { routerId(index: number): number };
  peer(index: number): Peer | undefined;
  established(): readonly Peer[];
  slice(step: () => boolean): void;
  /** A flush is due although no read callback runs. */
  flushLater(): void;
  filterKind(kind: string, compile: FilterCompiler): void;
  filterKindGone(compile: FilterCompiler): void;
  report(severity: 'warning' | 'error', code: string, subject: string, message: string, clear: boolean): void;
}

/** A peer, or a source without a session. */
type Source = Pick<Peer, 'index'>;

export interface RouteSettings {
  routeServerBestPath: boolean;
  routeServerTransparent: boolean;
  multipathMaximum: number;
  multipathRelax: boolean;
}

export class RouteHub implements RoutePath {
  readonly settings: RouteSettings = {
    routeServerBestPath: false,
    routeServerTransparent: false,
    multipathMaximum: 1,
    multipathRelax: false,
  };
  readonly peers: PeerDirectory;
  readonly #host: HubHost;
  readonly #egress: Egress;
  readonly #updates: UpdateHandler[] = [];
  readonly #endOfRibs: ((peer: number, family: number) => void)[] = [];
  readonly #ups: ((peer: number, families: readonly number[], done: () => void) => void)[] = [];
  readonly #downs: ((peer: number, reason: string) => void)[] = [];
  readonly #refreshes: ((peer: number, family: number, subtype: number) => void)[] = [];
  readonly #flushes: (() => void)[] = [];
  readonly #originated: OriginatedHandler[] = [];
  readonly #disowns: ((owner: string) => void)[] = [];
  readonly #bestChanges: ((change: BestChange) => void)[] = [];
  readonly #resends: ((peer: number, family: number, done: () => void) => void)[] = [];
  readonly #bestTables: BestRoutes[] = [];
  #counter: ((peer: number, family: number) => number) | undefined;

  constructor(host: HubHost, egress: Egress) {
    this.#host = host;
    this.#egress = egress;
    this.peers = host.peers;
  }

  // RoutePath: listening.

  onUpdate(handler: UpdateHandler): void {
    this.#updates.push(handler);
  }

  onEndOfRib(handler: (peer: number, family: number) => void): void {
    this.#endOfRibs.push(handler);
  }

  /** A handler that comes late is told of the sessions there are; nobody waits for it then. */
  onPeerUp(handler: (peer: number, families: readonly number[], done: () => void) => void): void {
    this.#ups.push(handler);
    for (const peer of this.#host.established()) {
      queueMicrotask(() => {
        const families = peer.agreement?.negotiated.families;
        if (families !== undefined && peer.established && this.#ups.includes(handler))
          handler(peer.index, families, () => undefined);
      });
    }
  }

  onPeerDown(handler: (peer: number, reason: string) => void): void {
    this.#downs.push(handler);
  }

  onRefresh(handler: (peer: number, family: number, subtype: number) => void): void {
    this.#refreshes.push(handler);
  }

  onFlush(handler: () => void): void {
    this.#flushes.push(handler);
  }

  onOriginated(handler: OriginatedHandler): void {
    this.#originated.push(handler);
  }

  onDisown(handler: (owner: string) => void): void {
    this.#disowns.push(handler);
  }

  onBestChange(handler: (change: BestChange) => void): void {
    this.#bestChanges.push(handler);
  }

  onResend(handler: (peer: number, family: number, done: () => void) => void): void {
    this.#resends.push(handler);
  }

  countPrefixes(counter: (peer: number, family: number) => number): void {
    this.#counter = counter;
  }

  filterKind(kind: string, compile: FilterCompiler): void {
    this.#host.filterKind(kind, compile);
  }

  // RoutePath: acting.

  publishBest(change: BestChange): void {
    if (!this.#bestTables.includes(change.routes)) this.#bestTables.push(change.routes);
    for (const handler of this.#bestChanges) handler(change);
  }

  bestTables(): readonly BestRoutes[] {
    return this.#bestTables;
  }

  exporter(routes: BestRoutes, options: { readonly transparent: boolean }): Exporter {
    return this.#egress.table(routes, options.transparent);
  }

  idle(routes: BestRoutes, row: number): boolean {
    return this.#egress.idle(routes, row);
  }

  announced(routes: BestRoutes, peer: number, row: number): boolean {
    return this.#egress.announced(routes, peer, row);
  }

  forward(view: UpdateView, exceptPeer: number): void {
    this.#egress.forward(view, exceptPeer);
  }

  relay(...route: Parameters<RoutePath['relay']>): void {
    this.#egress.relay(...route);
  }

  sendOriginated(...route: Parameters<RoutePath['sendOriginated']>): boolean {
    return this.#egress.sendOriginated(...route);
  }

  resend(index: number, family: number, done: () => void): void {
    const peer = this.#host.peer(index);
    if (peer?.established !== true) {
      done();
      return;
    }
    let left = this.#resends.length;
    let over = false;
    const finish = (): void => {
      if (over) return;
      over = true;
      patience.clear();
      done();
    };
    const patience = this.#host.deadlines.create(finish);
    patience.in(RESEND_PATIENCE);
    // Exporters are walked by their owners' `refresh`; the end is when those walks are over too.
    const answered = (): void => {
      if (--left <= 0) this.#egress.afterWalks(peer, family, finish);
    };
    if (left === 0) answered();
    for (const handler of [...this.#resends]) handler(index, family, once(answered));
    this.#host.flushLater();
  }

  canRefresh(index: number, family: number): boolean {
    return this.#mayRefresh(this.#host.peer(index), family, 0);
  }

  requestRefresh(index: number, family: number): boolean {
    return this.refreshRequest(index, family, 0);
  }

  refreshDone(index: number, family: number, subtype: number): void {
    const peer = this.#host.peer(index);
    if (peer?.established !== true) return;
    if (subtype === 0) this.#egress.put(peer, endOfRib(family));
    else this.refreshRequest(index, family, subtype);
  }

  slice(step: () => boolean): void {
    this.#host.slice(step);
  }

  report(severity: 'warning' | 'error', code: string, subject: string, message: string, clear = false): void {
    this.#host.report(severity, code, subject, message, clear);
  }

  external(index: number): boolean {
    return this.#host.peer(index)?.receive.ebgp !== false;
  }

  routerId(index: number): number {
    return this.#host.peers.routerId(index);
  }

  established(index: number): boolean {
    return this.#host.peer(index)?.established === true;
  }

  // For the reactor.

  /** The route path for one plugin: what it puts there goes with it. */
  scope(): RouteScope {
    return new RouteScope(this);
  }

  /** A plugin is gone: its handlers, its count and its tables are. */
  forget(handlers: ReadonlySet<unknown>, tables: ReadonlySet<BestRoutes>): void {
    for (const list of [
      this.#updates,
      this.#endOfRibs,
      this.#ups,
      this.#downs,
      this.#refreshes,
      this.#flushes,
      this.#originated,
      this.#disowns,
      this.#bestChanges,
      this.#resends,
    ] as unknown[][]) {
      for (let i = list.length - 1; i >= 0; i--) if (handlers.has(list[i])) list.splice(i, 1);
    }
    if (handlers.has(this.#counter)) this.#counter = undefined;
    for (const handler of handlers) this.#host.filterKindGone(handler as FilterCompiler);
    for (let i = this.#bestTables.length - 1; i >= 0; i--) if (tables.has(this.#bestTables[i]!)) this.#bestTables.splice(i, 1);
  }

  get upHandlers(): number {
    return this.#ups.length;
  }

  get counter(): ((peer: number, family: number) => number) | undefined {
    return this.#counter;
  }

  get keepsOriginated(): boolean {
    return this.#originated.length > 0;
  }

  /** Sends a ROUTE-REFRESH of any subtype; false when the session did not agree to it. */
  refreshRequest(index: number, family: number, subtype: number): boolean {
    const peer = this.#host.peer(index);
    if (!this.#mayRefresh(peer, family, subtype)) return false;
    this.#egress.put(peer, encodeRefresh(family, subtype));
    return true;
  }

  #mayRefresh(peer: Peer | undefined, family: number, subtype: number): peer is Peer {
    const negotiated = peer?.agreement?.negotiated;
    if (peer?.established !== true || negotiated === undefined || !negotiated.families.includes(family)) return false;
    return subtype === 0 ? negotiated.routeRefresh : negotiated.enhancedRefresh;
  }

  updated(peer: Source, id: number, view: UpdateView, treatAsWithdraw: boolean): void {
    for (const handler of this.#updates) handler(peer.index, id, view, treatAsWithdraw);
  }

  endOfRib(peer: Peer, family: number): void {
    for (const handler of this.#endOfRibs) handler(peer.index, family);
  }

  up(peer: Source, families: readonly number[], done: () => void): void {
    for (const handler of this.#ups) handler(peer.index, families, once(done));
  }

  down(peer: Source, reason: string): void {
    for (const handler of this.#downs) handler(peer.index, reason);
  }

  /** A received ROUTE-REFRESH: a request is answered by sending everything again, between BoRR and EoRR where agreed (RFC 7313 §4). */
  refreshed(peer: Peer, family: number, subtype: number): void {
    for (const handler of this.#refreshes) handler(peer.index, family, subtype);
    if (subtype !== 0) return;
    this.#egress.afterEndOfRib(peer, family, () => {
      this.refreshRequest(peer.index, family, BORR);
      this.resend(peer.index, family, () => {
        this.refreshRequest(peer.index, family, EORR);
      });
    });
  }

  flush(): void {
    for (const handler of this.#flushes) handler();
  }

  /** Called for every route: no rest, no spread. */
  originated(
    owner: string,
    peer: number,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    at: number,
    length: number,
    pathId: number,
    attributes: Uint8Array,
    nextHop: Uint8Array,
    meta: string,
  ): void {
    for (const handler of this.#originated) {
      handler(owner, peer, family, announce, nlri, at, length, pathId, attributes, nextHop, meta);
    }
  }

  disown(owner: string): void {
    for (const handler of this.#disowns) handler(owner);
  }
}

function once(action: () => void): () => void {
  let called = false;
  return () => {
    if (called) return;
    called = true;
    action();
  };
}
