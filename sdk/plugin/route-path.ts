/**
 * The route path: how plugins that run in the reactor's thread see and steer routes, without a copy, an object or a promise
 * per route. `bgp-rib`, `bgp-rs`, `bgp-adj-rib-in` and later `bgp-rr` live on it.
 *
 * Everything is synchronous and runs inside the reactor's read callback; a handler that has long work (a whole table)
 * asks for slices with `slice`. Byte ranges given to a handler are valid until it returns.
 */
import type { FilterCompiler } from '../policy/route-filter.ts';
import type { UpdateView } from '../wire/update.ts';
import type { PeerDirectory } from './structured.ts';

/** A live view of one family's routes that an exporter reads at the moment of sending. Rows are dense from 0. */
export interface BestRoutes {
  /** `afi << 8 | safi` */
  readonly family: number;
  /** Rows in use are below this. */
  readonly rows: number;
  /** Attribute handle of the route to announce, 0 = none. */
  best(row: number): number;
  /** Peer index the best route came from; 0xffff = locally originated. */
  source(row: number): number;
  /** Writes length octet and prefix octets at `at`, returns the octets written (no path id). */
  writePrefix(row: number, out: Uint8Array, at: number): number;
  /** The attribute block of a handle (RFC 4271 order, 4-octet AS, no MP attributes), in `attributeBytes`. */
  attributesAt(handle: number): number;
  attributesLength(handle: number): number;
  readonly attributeBytes: Uint8Array;
  /** Next hop of the route for families that carry it in MP_REACH: offset and length in `attributeBytes`, length 0 = in the block. */
  nextHopAt(handle: number): number;
  nextHopLength(handle: number): number;
}

/** Announces the rows of one `BestRoutes` to all established peers of the family but the route's source, by update groups. */
export interface Exporter {
  /** These rows changed (best or withdrawn); each is sent once, whatever it holds when its turn comes. */
  changed(rows: Int32Array, count: number): void;
  /** Was this row announced to this peer? (For `rib routes sent`.) */
  announced(peer: number, row: number): boolean;
  /** Send everything again to this peer (route refresh). */
  refresh(peer: number): void;
  close(): void;
}

/** One received UPDATE, checked, after import filters. `view` is positioned on it. */
export interface UpdateHandler {
  (peer: number, messageId: number, view: UpdateView, treatAsWithdraw: boolean): void;
}

/**
 * A route announced by `update-route` or an `update { }` block, for one peer. attributes = full block as for BestRoutes. Until the next
 * flush the same `attributes` and `nextHop` objects mean the same bytes.
 */
export interface OriginatedHandler {
  (
    owner: string,
    peer: number,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    nlriAt: number,
    nlriLength: number,
    pathId: number,
    attributes: Uint8Array,
    nextHop: Uint8Array,
    /** What the owner said about the route, as JSON of an object; '' or absent = nothing. */
    meta?: string,
  ): void;
}

/** A batch of best-route changes, published by the plugin that keeps the Loc-RIB. Rows index `routes`. */
export interface BestChange {
  readonly routes: BestRoutes;
  readonly rows: Int32Array;
  readonly count: number;
}

export interface RoutePath {
  readonly peers: PeerDirectory;
  /** Received UPDATEs that the codec accepted (or turned into withdraws). Called in order per peer. */
  onUpdate(handler: UpdateHandler): void;
  /** End-of-RIB received. */
  onEndOfRib(handler: (peer: number, family: number) => void): void;
  /**
   * Session up. The peer's End-of-RIB for each family is held until every handler's `done` was called (5 s at most).
   * `families` are the negotiated ones.
   */
  onPeerUp(handler: (peer: number, families: readonly number[], done: () => void) => void): void;
  onPeerDown(handler: (peer: number, reason: string) => void): void;
  /** ROUTE-REFRESH received for a family we may answer. */
  onRefresh(handler: (peer: number, family: number, subtype: number) => void): void;
  /** The end of a read callback (or a table slice): the time to publish what was gathered. */
  onFlush(handler: () => void): void;
  /** Routes originated by plugins or config, already written to the peer if it was up: Adj-RIB-Out keeps them. */
  onOriginated(handler: OriginatedHandler): void;
  /** An owner goes, or takes everything back: whoever keeps Adj-RIB-Out withdraws its routes with `sendOriginated`. */
  onDisown(handler: (owner: string) => void): void;
  /** Sends a stored originated route again (session came up). false = the family is not negotiated. */
  sendOriginated(
    peer: number,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    nlriAt: number,
    nlriLength: number,
    pathId: number,
    attributes: Uint8Array,
    nextHop: Uint8Array,
  ): boolean;
  /** Publishes best-route changes to the subscribers of `bgp-rib best-change` in this thread. */
  publishBest(change: BestChange): void;
  onBestChange(handler: (change: BestChange) => void): void;
  /** A BestRoutes is announced to peers by update groups, back-pressure as a set of rows. */
  exporter(routes: BestRoutes, options: { readonly transparent: boolean }): Exporter;
  /**
   * No exporter of this table holds the row, neither announced to anyone nor waiting to be withdrawn: the owner may give the row
   * to another prefix. True when the table has no exporter.
   */
  idle(routes: BestRoutes, row: number): boolean;
  /** Did some exporter of this table announce the row to this peer? (For `rib routes sent`.) */
  announced(routes: BestRoutes, peer: number, row: number): boolean;
  /** Every best table that `publishBest` has named so far (a consumer that starts later). */
  bestTables(): readonly BestRoutes[];
  /** Forwards the UPDATE being handled (inside `onUpdate`) to every established peer of its families but `exceptPeer`. */
  forward(view: UpdateView, exceptPeer: number): void;
  /** Sends a stored received route to one peer, egress rules applied as for a live forward. */
  relay(
    destination: number,
    source: number,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    nlriAt: number,
    nlriLength: number,
    attributes: Uint8Array,
    attributesLength: number,
    nextHop: Uint8Array,
  ): void;
  /**
   * What was announced to this peer is to be sent again (ROUTE-REFRESH, `rib clear out`), family 0 = every family: each plugin that
   * announces routes does so and calls `done`. Exporters are refreshed by their owners.
   */
  onResend(handler: (peer: number, family: number, done: () => void) => void): void;
  /** Asks every `onResend` handler; `done` once all have answered, or the peer is gone, or after 30 s. */
  resend(peer: number, family: number, done: () => void): void;
  /**
   * Says how many routes of a family a peer has, for prefix limits: called by the plugin that keeps them all. Without one the reactor
   * keeps a set of prefixes of its own for each peer.
   */
  countPrefixes(counter: (peer: number, family: number) => number): void;
  /**
   * Filters of this kind are compiled by the plugin: what a chain names as `kind:NAME` (`bgp/policy/KIND NAME`), on the bytes of each UPDATE.
   * When the plugin goes, routes of such chains are rejected.
   */
  filterKind(kind: string, compile: FilterCompiler): void;
  /** May a peer be asked to send a family again? Its session is up, speaks the family, and agreed to route refresh. */
  canRefresh(peer: number, family: number): boolean;
  /** Asks a peer to send a family again (RFC 2918). false = not negotiated. */
  requestRefresh(peer: number, family: number): boolean;
  /** The routes of a refresh were sent: End-of-RIB / EoRR for the family. */
  refreshDone(peer: number, family: number, subtype: number): void;
  /** Runs `step` again and again between other work until it returns false. */
  slice(step: () => boolean): void;
  /** Raises or clears an entry of `show warnings` / `show errors`. */
  report(severity: 'warning' | 'error', code: string, subject: string, message: string, clear?: boolean): void;
  /** bgp settings the plugins of the route path need; the same object for the daemon's life, fields updated on reload. */
  readonly settings: {
    readonly routeServerBestPath: boolean;
    readonly routeServerTransparent: boolean;
    readonly multipathMaximum: number;
    readonly multipathRelax: boolean;
  };
  /** Is this peer external (eBGP)? */
  external(peer: number): boolean;
  /** u32 BGP identifier the peer sent; 0 when down. */
  routerId(peer: number): number;
  /** Is the session established? */
  established(peer: number): boolean;
}
