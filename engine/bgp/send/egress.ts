/**
 * Everything that leaves: update groups and the tables announced to them, messages passed on at once or by id, originated and
 * relayed routes, End-of-RIB. Work gathers during a read callback and leaves at its end, in one write a peer where it can.
 *
 * Order: what one peer gets, it gets in the order it was decided. A group's common stream and a member's own outbox are two
 * ways out; before one is begun the other is emptied.
 */
import { UpdateView } from '../../../sdk/wire/update.ts';
import { endOfRib } from '../../../sdk/wire/writer.ts';
import type { BestRoutes } from '../../../sdk/plugin/route-path.ts';
import { viewOf } from '../../../sdk/wire/bytes.ts';
import type { WireContext } from '../../../sdk/wire/context.ts';
import { RESET } from '../../../sdk/wire/fault.ts';
import type { Deadline, Deadlines } from '../../core/deadlines.ts';
import { Announcers } from '../originate/announcers.ts';
import type { ChunkPool } from './chunk.ts';
import { Courier } from './courier.ts';
import { ExportTable } from './export-table.ts';
import type { ExportHost } from './export-table.ts';
import { exportSide } from './export-rule.ts';
import { isPolicy } from '../filter/filter-steps.ts';
import { Forwarder } from './forward.ts';
import { Groups } from './groups.ts';
import type { Group } from './groups.ts';
import { Originator } from '../originate/originate.ts';
import type { OriginateHost } from '../originate/originate.ts';
import type { OriginationBatch, OriginationCounts } from '../originate/origination-batch.ts';
import type { Peer } from '../session/peer.ts';
import type { Origination, OriginationResult } from '../port.ts';
import type { Sources } from './route-packer.ts';
import { Stream } from './stream.ts';
import type { UpdateCache } from '../receive/update-cache.ts';

/** ms the End-of-RIB waits for plugins that announce at session start. */
const PLUGIN_PATIENCE = 5000;
export const NOT_ESTABLISHED = 'the session is not established';

export interface EgressHost {
  readonly deadlines: Deadlines;
  readonly chunks: ChunkPool;
  /** Somebody wants events of sent UPDATEs. */
  watchesSent(): boolean;
  announceDelayMs(): number;
  transparent(peer: Peer): boolean;
  peer(index: number): Peer | undefined;
  slice(step: () => boolean): void;
  flushLater(): void;
  originated: OriginateHost['originated'];
  /** A flush left the peer with a queue. */
  queued(peer: Peer): void;
  context(checkId: number): WireContext | undefined;
  /** These peers, but the one it came from, do not get a route, or lose it: no message of theirs can say it. */
  withheld(peers: Iterable<Peer>, source: number): void;
  /** These processes did not report the session ready in time. */
  notReady(peer: Peer, processes: readonly string[]): void;
}

/** What an established peer still waits for before its End-of-RIB, or before the end of a resend. */
interface Waiting {
  /** Families whose End-of-RIB is due. */
  readonly families: Set<number>;
  plugins: number;
  readonly patience: Deadline;
  readonly delay: Deadline;
  /** What must not happen before the family's End-of-RIB (RFC 7313 §4: BoRR). */
  readonly after: { readonly family: number; readonly action: () => void }[];
}

export class Egress implements ExportHost, OriginateHost {
  readonly groups = new Groups();
  readonly chunks: ChunkPool;
  readonly sources: Sources;
  readonly forwarder: Forwarder;
  readonly announcers = new Announcers();
  readonly #host: EgressHost;
  readonly #originator: Originator;
  readonly #tables = new Set<ExportTable>();
  readonly #streams = new Map<Group, Stream>();
  readonly #couriers = new Map<Group, Courier>();
  readonly #waiting = new Map<Peer, Waiting>();
  /** Called once when a table has been walked for a peer. */
  #walkers: { readonly peer: Peer; readonly family: number; readonly done: () => void }[] = [];
  readonly #cached = new UpdateView();
  readonly #gathered = new Set<Peer>();

  constructor(host: EgressHost) {
    this.#host = host;
    this.originated = host.originated;
    this.chunks = host.chunks;
    this.sources = {
      external: (index) => this.#external(index),
      reflectorClient: (index) => this.#host.peer(index)?.settings.routeReflectorClient === true,
      routerId: (index) => this.#host.peer(index)?.remoteRouterId ?? 0,
      withheld: (group, source) => this.#host.withheld(group.members, source),
    };
    this.forwarder = new Forwarder(this.sources);
    this.#originator = new Originator(this);
  }

  get watchesSent(): boolean {
    return this.#host.watchesSent();
  }

  // Sessions.

  /** The session came up; `plugins` handlers will each say `pluginDone`. */
  up(peer: Peer, plugins: number): void {
    const waiting: Waiting = {
      families: new Set(peer.settings.manualEor ? [] : (peer.agreement?.negotiated.families ?? [])),
      plugins,
      patience: this.#host.deadlines.create(() => {
        waiting.plugins = 0;
        const silent = this.announcers.giveUp(peer);
        if (silent.length > 0) this.#host.notReady(peer, silent);
        this.#sendEndOfRibs(peer);
      }),
      delay: this.#host.deadlines.create(() => this.#begin(peer)),
      after: [],
    };
    this.#waiting.set(peer, waiting);
    if (plugins > 0 || this.announcers.awaits(peer)) waiting.patience.in(PLUGIN_PATIENCE);
    this.#enter(peer);
    const delay = this.#host.announceDelayMs();
    if (delay > 0) {
      peer.outbox.shut();
      waiting.delay.in(delay);
    } else this.#begin(peer);
  }

  down(peer: Peer): void {
    const waiting = this.#waiting.get(peer);
    waiting?.patience.clear();
    waiting?.delay.clear();
    this.#waiting.delete(peer);
    this.announcers.end(peer);
    this.#gathered.delete(peer);
    this.#leave(peer);
    const gone = this.#walkers.filter((walker) => walker.peer === peer);
    this.#walkers = this.#walkers.filter((walker) => walker.peer !== peer);
    for (const walker of gone) walker.done();
  }

  /** The export side changed: another group, and everything once more. */
  rejoin(peer: Peer): void {
    if (this.groups.of(peer) === undefined) return;
    this.flush();
    this.#leave(peer);
    this.#enter(peer);
    if (this.#waiting.get(peer)?.delay.set !== true) this.#joinTables(peer, false);
  }

  pluginDone(peer: Peer): void {
    const waiting = this.#waiting.get(peer);
    if (waiting === undefined || waiting.plugins === 0) return;
    if (--waiting.plugins === 0) this.#sendEndOfRibs(peer);
  }

  /** A process has sent the first routes of the session with this token; error text when that is not the session there is. */
  sessionReady(peer: Peer, process: string, token: string): string | undefined {
    if (!this.#waiting.has(peer)) return NOT_ESTABLISHED;
    const fault = this.announcers.report(peer, process, token);
    if (fault === undefined) this.#sendEndOfRibs(peer);
    return fault;
  }

  /** Which processes report that a session is ready. */
  announcedBy(names: ReadonlySet<string>): void {
    for (const peer of this.announcers.set(names)) this.#sendEndOfRibs(peer);
  }

  /** Runs `action` once the peer has had the family's End-of-RIB; at once when none is due. */
  afterEndOfRib(peer: Peer, family: number, action: () => void): void {
    const waiting = this.#waiting.get(peer);
    if (waiting?.families.has(family) === true) waiting.after.push({ family, action });
    else action();
  }

  /** Into its update group. */
  #enter(peer: Peer): void {
    const address = peer.session?.localAddress ?? '';
    const side = exportSide(peer.settings, peer.send, address, this.#host.transparent(peer));
    const { exportFilters } = peer.settings;
    // What filters of plugins answer may depend on the peer, so what it gets is good for nobody else; our own are part of the class.
    const own = exportFilters.length === 0 ? '' : exportFilters.every(isPolicy) ? exportFilters.join() : String(peer.index);
    this.groups.join(peer, own === '' ? side : { ...side, key: `${side.key} ${own}` });
    this.#originator.changed();
  }

  /** The first UPDATE may leave: the tables are walked for the peer. */
  #begin(peer: Peer): void {
    this.#joinTables(peer, true);
    if (peer.outbox.open()) this.gathered(peer);
    this.#sendEndOfRibs(peer);
    this.flushLater();
  }

  #joinTables(peer: Peer, fresh: boolean): void {
    const group = this.groups.of(peer);
    if (group === undefined) return;
    for (const table of this.#tables) if (peer.send.hasFamily(table.family)) table.join(peer, group, fresh);
  }

  #leave(peer: Peer): void {
    const group = this.groups.leave(peer);
    if (group === undefined) return;
    for (const table of this.#tables) table.leave(peer, group);
    this.#originator.changed(group.members.size === 0 ? group : undefined);
    if (group.members.size > 0) return;
    this.#streams.delete(group);
    this.#couriers.delete(group);
  }

  /** One for each family whose routes are all on their way: plugins are done, tables walked. */
  #sendEndOfRibs(peer: Peer): void {
    const waiting = this.#waiting.get(peer);
    if (waiting === undefined || waiting.plugins > 0 || this.announcers.awaits(peer)) return;
    waiting.patience.clear();
    if (waiting.delay.set) return;
    for (const family of waiting.families) {
      if (this.isWalking(peer, family)) continue;
      waiting.families.delete(family);
      this.put(peer, endOfRib(family));
      for (const later of waiting.after) if (later.family === family) later.action();
    }
    this.flushLater();
  }

  // Tables.

  table(routes: BestRoutes, transparent: boolean): ExportTable {
    const table = new ExportTable(routes, transparent, this, (closed) => this.#tables.delete(closed));
    this.#tables.add(table);
    for (const group of this.groups.all()) {
      for (const peer of group.members) {
        if (peer.send.hasFamily(table.family) && this.#waiting.get(peer)?.delay.set !== true) table.join(peer, group, true);
      }
    }
    return table;
  }

  get tables(): Iterable<ExportTable> {
    return this.#tables;
  }

  isWalking(peer: Peer, family: number): boolean {
    const group = this.groups.of(peer);
    if (group === undefined) return true;
    for (const table of this.#tables) if ((family === 0 || table.family === family) && table.walking(peer, group)) return true;
    return false;
  }

  /** Calls `done` when no table of the family (0 = any) is walked for the peer; at once when none is. */
  afterWalks(peer: Peer, family: number, done: () => void): void {
    if (this.groups.of(peer) !== undefined && this.isWalking(peer, family)) this.#walkers.push({ peer, family, done });
    else done();
  }

  walked(peer: Peer): void {
    this.#sendEndOfRibs(peer);
    const ready = this.#walkers.filter((walker) => walker.peer === peer && !this.isWalking(peer, walker.family));
    if (ready.length === 0) return;
    this.#walkers = this.#walkers.filter((walker) => !ready.includes(walker));
    for (const walker of ready) walker.done();
  }

  /** Peers came, went or changed what they want. */
  peersChanged(): void {
    this.#originator.changed();
  }

  idle(routes: BestRoutes, row: number): boolean {
    for (const table of this.#tables) if (table.routes === routes && !table.idle(row)) return false;
    return true;
  }

  announced(routes: BestRoutes, peer: number, row: number): boolean {
    for (const table of this.#tables) if (table.routes === routes && table.announced(peer, row)) return true;
    return false;
  }

  drained(peer: Peer): void {
    const group = this.groups.of(peer);
    if (group === undefined) return;
    for (const table of this.#tables) table.drained(peer, group);
  }

  // Messages.

  /** To every established peer but `except`, who sent it. */
  forward(view: UpdateView, except: number): void {
    for (const group of this.groups.all()) {
      if (group.members.size === 1) {
        const [only] = group.members;
        if (only?.index === except) continue;
      }
      const stream = this.#stream(group);
      if (stream.empty) this.#emptyOutboxes(group);
      stream.from(except);
      this.forwarder.forward(view, except, group, stream);
    }
    this.flushLater();
  }

  /** A cached message to the peers named; false when it is not there. */
  forwardCached(cache: UpdateCache, id: number, destinations: readonly Peer[]): boolean {
    if (!cache.find(id)) return false;
    const context = this.#host.context(cache.context);
    const view = this.#cached;
    if (context === undefined || view.read(cache.bytes, cache.view, cache.at, cache.length, context) === RESET) return false;
    this.forwardTo(view, cache.peer, destinations);
    return true;
  }

  /** A message of `source` to the peers named, but never back to the source. */
  forwardTo(view: UpdateView, source: number, destinations: readonly Peer[]): void {
    for (const group of this.groups.all()) {
      const targets = destinations.filter((peer) => group.members.has(peer) && peer.index !== source);
      if (targets.length === 0) continue;
      const courier = this.courier(group);
      courier.address(targets);
      courier.run = undefined;
      this.forwarder.forward(view, source, group, courier);
    }
    this.flushLater();
  }

  relay(
    destination: number,
    source: number,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    at: number,
    length: number,
    attributes: Uint8Array,
    attributesLength: number,
    nextHop: Uint8Array,
  ): void {
    const peer = this.#host.peer(destination);
    const group = peer === undefined ? undefined : this.groups.of(peer);
    if (peer === undefined || group === undefined || !this.forwarder.reaches(group.side, source)) return;
    const courier = this.courier(group);
    courier.address([peer]);
    courier.run = undefined;
    const section = { bytes: nlri, view: viewOf(nlri), at, length, family, addPath: false };
    const blockView = viewOf(attributes);
    if (announce && this.forwarder.allows(blockView, 0, attributesLength, group.side)) {
      this.forwarder.announce(
        section,
        true,
        attributes,
        blockView,
        0,
        attributesLength,
        nextHop,
        0,
        nextHop.length,
        source,
        group,
        courier,
      );
    } else this.forwarder.withdraw(section, source, group, courier);
    this.flushLater();
  }

  originate(batch: readonly Origination[]): readonly OriginationResult[] {
    const results = this.#originator.originate(batch);
    this.flushLater();
    return results;
  }

  originateBatch(batch: OriginationBatch): OriginationCounts {
    const counts = this.#originator.originateBatch(batch);
    this.flushLater();
    return counts;
  }

  sendOriginated(...route: Parameters<Originator['send']>): boolean {
    const sent = this.#originator.send(...route);
    this.flushLater();
    return sent;
  }

  groupOf(peer: Peer): Group | undefined {
    return this.groups.of(peer);
  }

  peer(index: number): Peer | undefined {
    return this.#host.peer(index);
  }

  courier(group: Group): Courier {
    let courier = this.#couriers.get(group);
    if (courier === undefined) {
      courier = new Courier((peer, bytes, at, length) => {
        this.#flushStream(group);
        peer.put(bytes, at, length);
      });
      this.#couriers.set(group, courier);
    }
    return courier;
  }

  put(peer: Peer, message: Uint8Array): void {
    const group = this.groups.of(peer);
    if (group !== undefined) {
      this.#couriers.get(group)?.distribute();
      this.#flushStream(group);
    }
    peer.put(message);
    this.flushLater();
  }

  /** The host's own: this is called for every route. */
  readonly originated: OriginateHost['originated'];

  // Leaving.

  slice(step: () => boolean): void {
    this.#host.slice(step);
  }

  flushLater(): void {
    this.#host.flushLater();
  }

  gathered(peer: Peer): void {
    this.#gathered.add(peer);
  }

  flush(): void {
    for (const table of this.#tables) table.flush();
    for (const courier of this.#couriers.values()) if (!courier.empty) courier.distribute();
    for (const group of this.#streams.keys()) this.#flushStream(group);
    if (this.#gathered.size === 0) return;
    for (const peer of this.#gathered) {
      peer.outbox.flush();
      this.#host.queued(peer);
    }
    this.#gathered.clear();
  }

  tally(): Readonly<Record<string, number>> {
    const sum = {
      groups: this.groups.size,
      tables: this.#tables.size,
      detached: 0,
      waitingRows: 0,
      withheld: this.forwarder.withheld,
    };
    for (const table of this.#tables) {
      const one = table.tally();
      sum.detached += one.detached;
      sum.waitingRows += one.waiting;
      sum.withheld += one.withheld;
    }
    return sum;
  }

  /** Of a peer that is down the settings say it; what no peer sent counts as external. */
  #external(index: number): boolean {
    const peer = this.#host.peer(index);
    if (peer === undefined) return true;
    return peer.established ? peer.receive.ebgp : peer.settings.remoteAs !== peer.settings.localAs;
  }

  #stream(group: Group): Stream {
    let stream = this.#streams.get(group);
    if (stream === undefined) {
      stream = new Stream(
        this,
        () => group.members,
        () => {
          for (const peer of group.members) this.#host.queued(peer);
        },
      );
      this.#streams.set(group, stream);
    }
    return stream;
  }

  #flushStream(group: Group): void {
    const stream = this.#streams.get(group);
    if (stream !== undefined && !stream.empty) stream.flush();
  }

  #emptyOutboxes(group: Group): void {
    this.#couriers.get(group)?.distribute();
    for (const peer of group.members) if (!peer.outbox.empty) peer.outbox.flush();
  }
}
