/**
 * The reactor: sockets, sessions, timers, and the plugins of the route path, on one thread that waits for nobody. This file puts
 * the parts together and answers the command side (`ReactorPort`); what a message goes through is told in `receive.ts` (in) and
 * `egress.ts` (out).
 */
import type * as net from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import { ContextTable } from '../../sdk/wire/context.ts';
import type { WireContext } from '../../sdk/wire/context.ts';
import { familyName } from '../../sdk/wire/family.ts';
import {
  ADMINISTRATIVE_SHUTDOWN,
  OTHER_CONFIGURATION_CHANGE,
  OUT_OF_RESOURCES,
  PEER_DECONFIGURED,
} from '../../sdk/wire/notification.ts';
import { decodeRefresh } from '../../sdk/wire/refresh.ts';
import type { Clock } from '../core/clock.ts';
import { Deadlines } from '../core/deadlines.ts';
import type { Deadline } from '../core/deadlines.ts';
import { Slices } from '../core/slices.ts';
import { cease } from './cease.ts';
import { ChunkPool } from './chunk.ts';
import { Congestion } from './congestion.ts';
import { Egress } from './egress.ts';
import { EventFeed } from './events.ts';
import type { State } from './fsm.ts';
import { KnownBlocks } from './known-blocks.ts';
import { Listeners } from './listener.ts';
import type { ListenAddress } from './listener.ts';
import { OriginatedStore } from './originated-store.ts';
import { HELD_BY_CONGESTION, HELD_BY_CONSUMER, HELD_BY_OPERATOR, HELD_BY_RING, Peer } from './peer.ts';
import type { PeerHost } from './peer.ts';
import { PeerTable } from './peer-table.ts';
import type { FilterStep } from './pipeline.ts';
import type {
  ApplyReport,
  LogRecord,
  Origination,
  OriginationResult,
  PeerSettings,
  PeerSnapshot,
  PluginCapability,
  ReactorPort,
  ReactorSettings,
  ReactorSink,
} from './port.ts';
import { Receiver } from './receive.ts';
import { RouteHub } from './route-hub.ts';
import { ReadArea } from './session.ts';
import { changeOf } from './settings-change.ts';
import { SOFT_LIMIT, UpdateCache, VALVE_SCAN_MS } from './update-cache.ts';

/** ms a stop waits for peers to read their Cease. */
const STOP_PATIENCE = 2000;
const POLL = 10;
const FLUSH_PATIENCE = 30_000;
/** ms between reports of connections from addresses that no peer has. */
const STRANGER_WINDOW = 10_000;
/** ms between reports of withheld routes. */
const WITHHELD_WINDOW = 10_000;

export interface ReactorOptions {
  readonly clock: Clock;
  /** In [0, 1): for jitter. */
  readonly random: () => number;
  readonly sink: ReactorSink;
  /** Loads and runs a plugin of this thread; who does so is the composition root's business. */
  readonly startPlugin?: (
    name: string,
    moduleUrl: string,
    pipe: MessagePort,
    bridge: MessagePort,
    routes: RoutePath,
    /** Settles when the plugin's run is over: what it put on the route path is taken out then. */
  ) => Promise<void> | undefined;
  /** Filter steps every UPDATE of a peer passes, in order. */
  readonly steps?: (peer: PeerSettings) => readonly FilterStep[];
}

const NO_STEPS: readonly FilterStep[] = [];

export class Reactor implements ReactorPort {
  readonly #options: ReactorOptions;
  readonly #clock: Clock;
  readonly #sink: ReactorSink;
  readonly #deadlines: Deadlines;
  readonly #area = new ReadArea();
  readonly #chunks = new ChunkPool();
  readonly #contexts = new ContextTable();
  readonly #contextsById: WireContext[] = [];
  readonly #peers = new PeerTable();
  readonly #listeners: Listeners;
  readonly #feed: EventFeed;
  readonly #cache = new UpdateCache();
  readonly #congestion: Congestion;
  readonly #slices: Slices;
  readonly #egress: Egress;
  readonly #hub: RouteHub;
  readonly #receiver: Receiver;
  readonly #store = new OriginatedStore();
  readonly #host: PeerHost;
  readonly #valve: Deadline;
  /** Kept, not used: see `warmUp`. */
  rehearsal: object | undefined;
  #settings: ReactorSettings = EMPTY;
  #messageId = 0;
  /** Holds that are on every peer, and on those to come. */
  #heldForAll = 0;
  #started = false;
  #stopped = false;
  #flushing: NodeJS.Immediate | undefined;
  #strangerAt = -Infinity;
  #strangersUntold = 0;
  #withheldAt = -Infinity;

  constructor(options: ReactorOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#sink = options.sink;
    this.#deadlines = new Deadlines(options.clock);
    this.#host = this.#peerHost();
    this.#feed = new EventFeed(options.sink, options.clock, () => ++this.#messageId);
    this.#listeners = new Listeners(
      {
        accepted: (socket, remote) => this.#accepted(socket, remote),
        listening: (where, fault) => this.#listening(where, fault),
      },
      this.#deadlines,
    );
    this.#slices = new Slices(() => this.#flush());
    this.#congestion = new Congestion(
      {
        changed: (peer, congested) => this.#feed.congestion(peer, congested),
        holdOthers: (held) => this.#holdAll(HELD_BY_CONGESTION, held),
        giveUp: (peer) => peer.stop(cease(OUT_OF_RESOURCES), 'congestion', true),
      },
      this.#deadlines,
    );
    this.#egress = new Egress({
      deadlines: this.#deadlines,
      chunks: this.#chunks,
      watchesSent: () => this.#feed.wantsSentUpdates,
      announceDelayMs: () => this.#settings.announceDelayMs,
      transparent: (peer) => this.#settings.routeServerTransparent || peer.settings.routeServerTransparent,
      peer: (index) => this.#peers.get(index),
      slice: (step) => this.#slices.add(step),
      flushLater: () => this.#flushLater(),
      originated: (...route) => this.#originated(...route),
      queued: (peer) => this.#congestion.queued(peer),
      context: (checkId) => this.#contextsById[checkId],
      withheld: (peers, source) => this.#withheld(peers, source),
    });
    this.#hub = new RouteHub(
      {
        deadlines: this.#deadlines,
        peers: this.#peers,
        peer: (index) => this.#peers.get(index),
        established: () => [...this.#peers.all()].filter((peer) => peer.established),
        slice: (step) => this.#slices.add(step),
        flushLater: () => this.#flushLater(),
        report: (severity, code, subject, message, clear) =>
          this.#sink.report({ severity, code, source: 'bgp', subject, message, clear }),
      },
      this.#egress,
    );
    this.#receiver = this.#makeReceiver();
    this.#valve = this.#deadlines.create(() => this.#scanCache());
  }

  /** The route path for plugins of this thread. */
  get routes(): RoutePath {
    return this.#hub;
  }

  /** True while the event ring to the other thread is full and somebody must miss nothing. */
  holdForRing(held: boolean): void {
    this.#holdAll(HELD_BY_RING, held);
  }

  /** Some consumer of updates must see all of them: a full ring holds the peers instead of leaving a gap. */
  get needsEveryRow(): boolean {
    return this.#cache.wanted;
  }

  /** Peers wait for connections that only `adopt` brings: nothing listens, nothing dials. */
  rehearse(): void {
    this.#started = true;
    for (const peer of this.#peers.all()) peer.start();
  }

  /** Takes an accepted connection from `remote` as the listeners would; false: nobody wants it. */
  adopt(socket: net.Socket, remote: string): boolean {
    return this.#accepted(socket, remote);
  }

  /** The ports in use, for whoever asked for port 0. */
  listenPort(address: string, port: number): number {
    return this.#listeners.port({ address, port });
  }

  // ReactorPort.

  async apply(settings: ReactorSettings): Promise<ApplyReport> {
    const report = { added: [] as string[], removed: [] as string[], changed: [] as string[], unchanged: [] as string[] };
    const before = this.#settings;
    this.#settings = settings;
    const { routeServerBestPath, routeServerTransparent, multipathMaximum, multipathRelax } = settings;
    Object.assign(this.#hub.settings, { routeServerBestPath, routeServerTransparent, multipathMaximum, multipathRelax });
    const wanted = new Map(settings.peers.map((peer) => [peer.name, peer]));
    for (const peer of [...this.#peers.all()]) {
      if (wanted.has(peer.settings.name)) continue;
      this.#remove(peer);
      report.removed.push(peer.settings.name);
    }
    const transparentChanged = before.routeServerTransparent !== routeServerTransparent;
    for (const wish of settings.peers) {
      const peer = this.#peers.named(wish.name);
      if (peer === undefined) {
        this.#add(wish);
        report.added.push(wish.name);
      } else if (this.#change(peer, wish, transparentChanged)) report.changed.push(wish.name);
      else report.unchanged.push(wish.name);
    }
    this.#receiver.known = new KnownBlocks();
    this.#egress.peersChanged();
    this.#announcePeers();
    const faults = this.#started ? await this.#listeners.set(this.#wantedListeners()) : [];
    return { ...report, faults };
  }

  async start(): Promise<void> {
    if (this.#started || this.#stopped) return;
    this.#started = true;
    this.#valve.in(VALVE_SCAN_MS);
    for (const peer of this.#peers.all()) peer.start();
    await this.#listeners.set(this.#wantedListeners());
  }

  snapshot(peers?: readonly number[]): Promise<readonly PeerSnapshot[]> {
    const all = peers === undefined ? [...this.#peers.all()] : peers.flatMap((index) => this.#peers.get(index) ?? []);
    return Promise.resolve(all.map((peer) => this.#snapshot(peer)));
  }

  teardown(index: number, subcode: number, text: string): Promise<string | undefined> {
    return this.#on(index, (peer) => {
      peer.stop(cease(subcode, text), text === '' ? 'teardown' : text, true);
      return undefined;
    });
  }

  setPaused(index: number, paused: boolean): Promise<string | undefined> {
    return this.#on(index, (peer) => {
      peer.hold(HELD_BY_OPERATOR, paused);
      return undefined;
    });
  }

  setHeld(index: number, held: boolean): void {
    if (index < 0) this.#holdAll(HELD_BY_CONSUMER, held);
    else this.#peers.get(index)?.hold(HELD_BY_CONSUMER, held);
  }

  refresh(index: number, family: number, subtype: number): Promise<string | undefined> {
    return this.#on(index, (peer) => {
      if (!peer.established) return 'the session is not established';
      return this.#hub.refreshRequest(index, family, subtype)
        ? undefined
        : `${familyName(family)}: route refresh was not negotiated`;
    });
  }

  async originate(batch: readonly Origination[]): Promise<readonly OriginationResult[]> {
    const results = this.#egress.originate(batch);
    // Who announces faster than the peers read is answered when they have caught up, or were given up.
    if (this.#congestion.active) {
      await this.#until(() => !batch.some((one) => one.peers.some((index) => this.#isCongested(index))), FLUSH_PATIENCE);
    }
    return results;
  }

  disown(owner: string): Promise<void> {
    this.#hub.disown(owner);
    for (const { peer, family, nlri, pathId, attributes, nextHop } of this.#store.disown(owner)) {
      this.#egress.sendOriginated(peer, family, false, nlri, 0, nlri.length, pathId, attributes, nextHop);
    }
    this.#flushLater();
    return Promise.resolve();
  }

  forwardCached(consumer: string, ids: readonly number[], destinations: readonly number[]): Promise<string | undefined> {
    const peers = destinations.flatMap((index) => this.#peers.get(index) ?? []);
    let fault: string | undefined;
    for (const id of ids) {
      const sent = peers.length > 0 && this.#egress.forwardCached(this.#cache, id, peers);
      const acknowledged = this.#cache.acknowledge(consumer, id);
      if (!sent && peers.length > 0) fault ??= `update-id ${id} expired or not found`;
      else if (!acknowledged && !sent) fault ??= `update-id ${id} expired or not found`;
    }
    if (peers.length === 0 && ids.length > 0) fault = 'no destination is a configured peer';
    return Promise.resolve(fault);
  }

  releaseCached(consumer: string, ids: readonly number[]): Promise<string | undefined> {
    let fault: string | undefined;
    for (const id of ids) if (!this.#cache.acknowledge(consumer, id)) fault ??= `update-id ${id} expired or not found`;
    return Promise.resolve(fault);
  }

  interest(receivedMask: number, sentMask: number): void {
    this.#feed.interest(receivedMask, sentMask);
  }

  cacheConsumer(name: string, mode: 'ordered' | 'unordered' | 'none'): void {
    if (mode === 'none') this.#cache.unregister(name);
    else if (!this.#cache.register(name, mode)) {
      this.#report('error', 'cache-consumers', name, 'too many plugins consume cached updates; this one gets none');
    }
  }

  flush(index: number): Promise<string | undefined> {
    const peer = this.#peers.get(index);
    if (peer === undefined) return Promise.resolve(NO_PEER);
    this.#flush();
    return this.#until(() => peer.queuedBytes === 0 && peer.outbox.empty, FLUSH_PATIENCE).then((empty) =>
      empty ? undefined : 'the peer did not take everything in time',
    );
  }

  raw(index: number, bytes: Uint8Array): Promise<string | undefined> {
    return this.#on(index, (peer) => {
      const session = peer.session;
      if (session === undefined) return 'there is no connection';
      peer.outbox.flush();
      session.write(bytes);
      return undefined;
    });
  }

  startPlugin(name: string, moduleUrl: string, pipe: MessagePort, bridge: MessagePort): void {
    const start = this.#options.startPlugin;
    if (start === undefined) {
      this.#report('error', 'plugin-down', name, 'no plugin can be started in this thread');
      return;
    }
    const scope = this.#hub.scope();
    const close = (): void => scope.close();
    start(name, moduleUrl, pipe, bridge, scope)?.then(close, close);
  }

  statistics(): Promise<Readonly<Record<string, number>>> {
    let established = 0;
    for (const peer of this.#peers.all()) if (peer.established) established++;
    return Promise.resolve({
      peers: this.#peers.size,
      established,
      messages: this.#messageId,
      contexts: this.#contexts.size,
      chunksMade: this.#chunks.made,
      chunksLent: this.#chunks.lent,
      cacheEntries: this.#cache.size,
      cacheBlocks: this.#cache.blocks,
      cacheDropped: this.#cache.dropped,
      knownBlockHits: this.#receiver.known.hits,
      deadlines: this.#deadlines.size,
      slices: this.#slices.size,
      strangers: this.#listeners.strangers,
      openSockets: this.#area.openSockets,
      ...this.#egress.tally(),
    });
  }

  async stop(text: string): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    const closing = this.#listeners.close();
    this.#flush();
    for (const peer of this.#peers.all()) peer.stop(cease(ADMINISTRATIVE_SHUTDOWN, text), 'shutdown', false);
    await new Promise<void>((resolve) => {
      this.#deadlines.create(resolve).in(STOP_PATIENCE);
      void this.#area.idle().then(resolve);
    });
    await closing;
    this.#slices.close();
    this.#deadlines.close();
    if (this.#flushing !== undefined) clearImmediate(this.#flushing);
  }

  // Peers come, change and go.

  #add(settings: PeerSettings): void {
    const peer = new Peer(this.#host, this.#peers.freeIndex(this.#clock.now()), settings);
    if (this.#heldForAll !== 0) peer.hold(this.#heldForAll, true);
    this.#peers.add(peer);
    if (this.#started) peer.start();
  }

  #remove(peer: Peer): void {
    peer.stop(cease(PEER_DECONFIGURED), 'removed', false);
    this.#peers.remove(peer, this.#clock.now());
    this.#store.forgetPeer(peer.index);
  }

  /** True when something changed. */
  #change(peer: Peer, wish: PeerSettings, transparentChanged: boolean): boolean {
    const change = changeOf(peer.settings, wish);
    const address = peer.settings.remoteAddress;
    if (change === 'reset') peer.stop(cease(OTHER_CONFIGURATION_CHANGE), 'configuration changed', false);
    if (change !== 'none') peer.configure(wish);
    if (address !== wish.remoteAddress) this.#peers.moved(peer, address);
    if (change === 'reset' && this.#started) peer.start();
    if (change === 'live') this.#receiver.configure(peer);
    if (change === 'refresh' || (transparentChanged && change !== 'reset')) {
      this.#receiver.configure(peer);
      this.#egress.rejoin(peer);
    }
    return change !== 'none';
  }

  #announcePeers(): void {
    this.#sink.peers(
      [...this.#peers.all()].map((peer) => ({
        index: peer.index,
        name: peer.settings.name,
        group: peer.settings.group,
        remoteAddress: peer.settings.remoteAddress,
        remoteAs: peer.settings.remoteAs,
        localAddress: peer.session?.localAddress ?? peer.settings.localAddress,
        localAs: peer.settings.localAs,
      })),
    );
  }

  #wantedListeners(): readonly ListenAddress[] {
    const wanted = new Map<string, ListenAddress>();
    for (const { settings } of this.#peers.all()) {
      if (!settings.accept) continue;
      const port = this.#settings.portOverride > 0 ? this.#settings.portOverride : settings.localPort;
      wanted.set(`${settings.localAddress} ${port}`, { address: settings.localAddress, port });
    }
    return [...wanted.values()];
  }

  #accepted(socket: net.Socket, remote: string): boolean {
    if (this.#stopped) return false;
    const peer = this.#peers.at(remote);
    if (peer === undefined) this.#stranger(remote);
    return peer?.accept(socket) === true;
  }

  /** A flood of strangers must not push everything else out of the list of errors. */
  #stranger(remote: string): void {
    const now = this.#clock.now();
    if (now - this.#strangerAt < STRANGER_WINDOW) {
      this.#strangersUntold++;
      return;
    }
    const untold = this.#strangersUntold;
    this.#strangerAt = now;
    this.#strangersUntold = 0;
    this.#sink.report({
      severity: 'error',
      code: 'connection-refused',
      source: 'bgp',
      subject: remote,
      message: 'no peer has this address',
      detail: { 'refused-before': untold },
    });
  }

  #listening(where: string, fault: string | undefined): void {
    const clear = fault === undefined;
    this.#sink.report({ severity: 'warning', code: 'listener', source: 'bgp', subject: where, message: fault ?? '', clear });
    if (clear) this.#log('info', 'listening', { where });
  }

  /** Of a full table there may be many: one report in a while, the others are counted (`withheld` in the statistics). */
  #withheld(peers: Iterable<Peer>, source: number): void {
    const now = this.#clock.now();
    if (now - this.#withheldAt < WITHHELD_WINDOW) return;
    this.#withheldAt = now;
    for (const peer of peers) {
      if (peer.index === source) continue;
      const message = 'a route is withheld: no message of the allowed size holds it, or its next hop cannot be said';
      this.#report('error', 'route-withheld', peer.settings.remoteAddress, message);
    }
  }

  // What peers ask.

  #peerHost(): PeerHost {
    return {
      deadlines: this.#deadlines,
      area: this.#area,
      contexts: this.#contexts,
      chunks: this.#chunks,
      openWaitMs: () => this.#settings.openWaitSeconds * 1000,
      portOverride: () => this.#settings.portOverride,
      capabilities: (): readonly PluginCapability[] => this.#settings.capabilities,
      random: this.#options.random,
      passed: (peer, type, sent, bytes, at, length) => this.#feed.message(peer, type, sent, bytes, at, length),
      up: (peer) => this.#up(peer),
      down: (peer, reason) => this.#down(peer, reason),
      update: (peer, at, length) => this.#receiver.update(peer, at, length),
      refresh: (peer, at, length) => this.#refreshReceived(peer, at, length),
      readDone: () => this.#readDone(),
      wrote: (peer) => this.#wrote(peer),
      stateChanged: (peer, from, to) => this.#stateChanged(peer, from, to),
      gathered: (peer) => {
        this.#egress.gathered(peer);
        this.#flushLater();
      },
      tcpFailed: (peer, code) => this.#log('debug', 'connection failed', { peer: peer.settings.name, code }),
      failed: (peer, code, message) => this.#report('error', code, peer.settings.remoteAddress, message),
    };
  }

  #up(peer: Peer): void {
    this.#contextsById[peer.receive.checkId] = peer.receive;
    this.#contextsById[peer.send.checkId] = peer.send;
    const families = peer.agreement?.negotiated.families ?? [];
    this.#log('info', 'session up', { peer: peer.settings.name, families: families.map(familyName) });
    this.#announcePeers();
    this.#receiver.open(peer);
    this.#feed.negotiated(peer, peer.negotiatedSnapshot());
    this.#feed.up(peer);
    this.#egress.up(peer, this.#hub.upHandlers);
    for (const { family, nlri, pathId, attributes, nextHop } of this.#store.ofPeer(peer.index)) {
      this.#egress.sendOriginated(peer.index, family, true, nlri, 0, nlri.length, pathId, attributes, nextHop);
    }
    this.#hub.up(peer, families, () => this.#egress.pluginDone(peer));
    this.#flushLater();
  }

  #down(peer: Peer, reason: string): void {
    this.#log('info', 'session down', { peer: peer.settings.name, reason });
    if (reason !== 'removed' && reason !== 'shutdown') {
      this.#report('error', 'session-dropped', peer.settings.remoteAddress, `session went down: ${reason}`);
    }
    this.#receiver.close(peer);
    this.#congestion.gone(peer);
    this.#egress.down(peer);
    this.#hub.down(peer, reason);
    this.#feed.down(peer, reason);
    this.#flushLater();
  }

  #stateChanged(peer: Peer, from: State, to: State): void {
    this.#log('debug', 'state changed', { peer: peer.settings.name, from, to });
  }

  #refreshReceived(peer: Peer, at: number, length: number): void {
    const read = decodeRefresh(this.#area.bytes, at, length);
    if (!read.ok) {
      peer.fault(read.fault, 'refresh-error');
      return;
    }
    const { family, subtype } = read.value;
    // RFC 7313 §5, RFC 2918 §4: other subtypes, and what was not negotiated, are ignored.
    const negotiated = peer.agreement?.negotiated;
    if (subtype > 2 || negotiated?.routeRefresh !== true || !negotiated.families.includes(family)) return;
    this.#hub.refreshed(peer, family, subtype);
  }

  #readDone(): void {
    this.#flush();
    if (this.#deadlines.nextAt <= this.#clock.now()) this.#deadlines.poll();
  }

  #wrote(peer: Peer): void {
    this.#congestion.wrote(peer);
    this.#egress.drained(peer);
  }

  // The way of an UPDATE, and what leaves.

  #makeReceiver(): Receiver {
    const steps = this.#options.steps;
    return new Receiver({
      area: this.#area,
      now: () => this.#clock.now(),
      nextMessageId: () => ++this.#messageId,
      self: (peer) => ({
        localAs: peer.settings.localAs,
        otherAs: this.#settings.localAs,
        routerId: peer.settings.routerId,
        clusterId: peer.settings.clusterId === 0 ? peer.settings.routerId : peer.settings.clusterId,
      }),
      steps: (peer) => steps?.(peer.settings) ?? NO_STEPS,
      counter: () => this.#hub.counter,
      accepted: (peer, id, view, treatAsWithdraw) => this.#hub.updated(peer, id, view, treatAsWithdraw),
      endOfRib: (peer, family) => {
        this.#hub.endOfRib(peer, family);
        this.#feed.endOfRib(peer, family);
      },
      publish: (peer, id, bytes, at, length) => this.#publish(peer, id, bytes, at, length),
      wantsPublish: () => this.#cache.wanted || this.#feed.wantsUpdates,
      report: (severity, code, peer, message, detail) =>
        this.#sink.report({ severity, code, source: 'bgp', subject: peer.settings.remoteAddress, message, detail }),
      clear: (code, peer, family) =>
        this.#sink.report({
          severity: 'warning',
          code,
          source: 'bgp',
          subject: `${peer.settings.remoteAddress}/${familyName(family)}`,
          message: '',
          clear: true,
        }),
      flushLater: () => this.#flushLater(),
      filterFailed: (peer, step, error) =>
        this.#report('error', 'filter-failed', peer.settings.remoteAddress, `filter ${step}: ${String(error)}`),
    });
  }

  #publish(peer: Peer, given: number, bytes: Uint8Array, at: number, length: number): void {
    const id = given === 0 ? ++this.#messageId : given;
    if (this.#cache.wanted) this.#cache.add(id, peer.index, peer.receive.checkId, bytes, at, length, this.#clock.now());
    if (this.#feed.wantsUpdates) this.#feed.update(peer, id, bytes, at, length);
  }

  #originated(...route: Parameters<RouteHub['originated']>): void {
    if (this.#hub.keepsOriginated) {
      this.#hub.originated(...route);
      return;
    }
    const [owner, peer, family, announce, nlri, at, length, pathId, attributes, nextHop] = route;
    this.#store.note({ owner, peer, family, pathId, nlri: nlri.slice(at, at + length), attributes, nextHop }, announce);
  }

  /** Publish what plugins gathered, pack what changed, write what is packed. */
  #flush(): void {
    this.#hub.flush();
    this.#egress.flush();
    if (this.#flushing === undefined) return;
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
  }

  #flushLater(): void {
    if (this.#stopped) return;
    this.#flushing ??= setImmediate(() => {
      this.#flushing = undefined;
      this.#flush();
    });
  }

  #scanCache(): void {
    const dropped = this.#cache.sweep(this.#clock.now());
    if (dropped > 0)
      this.#report('warning', 'cache-expired', 'update-cache', `${dropped} updates were never acknowledged and dropped`);
    if (this.#cache.size > SOFT_LIMIT)
      this.#report('warning', 'cache-size', 'update-cache', `${this.#cache.size} updates are cached`);
    this.#valve.in(VALVE_SCAN_MS);
  }

  // Small things.

  #holdAll(who: number, held: boolean): void {
    this.#heldForAll = held ? this.#heldForAll | who : this.#heldForAll & ~who;
    for (const peer of this.#peers.all()) {
      if (held && who === HELD_BY_CONGESTION && this.#congestion.has(peer)) continue;
      peer.hold(who, held);
    }
  }

  #isCongested(index: number): boolean {
    const peer = this.#peers.get(index);
    return peer !== undefined && this.#congestion.has(peer);
  }

  #on(index: number, act: (peer: Peer) => string | undefined): Promise<string | undefined> {
    const peer = this.#peers.get(index);
    return Promise.resolve(peer === undefined ? NO_PEER : act(peer));
  }

  /** True when `met` became so within `ms`. */
  #until(met: () => boolean, ms: number): Promise<boolean> {
    if (met()) return Promise.resolve(true);
    const end = this.#clock.now() + ms;
    return new Promise((resolve) => {
      const look = (): void => {
        if (met()) resolve(true);
        else if (this.#clock.now() >= end) resolve(false);
        else this.#clock.after(POLL, look, { unref: true });
      };
      look();
    });
  }

  #report(severity: 'warning' | 'error', code: string, subject: string, message: string): void {
    this.#sink.report({ severity, code, source: 'bgp', subject, message });
  }

  #log(level: LogRecord['level'], message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#sink.log({ level, subsystem: 'bgp.reactor', message, fields });
  }

  #snapshot(peer: Peer): PeerSnapshot {
    const { session, settings, counters } = peer;
    counters.bytesReceived = peer.bytesReceived;
    counters.bytesSent = peer.bytesSent;
    return {
      index: peer.index,
      settings,
      state: peer.state,
      adminDown: peer.adminDown,
      paused: peer.heldBy(HELD_BY_OPERATOR),
      held: peer.heldBy(HELD_BY_CONSUMER | HELD_BY_RING | HELD_BY_CONGESTION),
      establishedAt: peer.established ? peer.establishedAt : 0,
      lastDownReason: peer.lastDownReason,
      remoteRouterId: peer.remoteRouterId,
      localAddress: session?.localAddress ?? settings.localAddress,
      localPort: session?.localPort ?? 0,
      remotePort: session?.remotePort ?? 0,
      flaps: peer.flaps,
      counters: counters.snapshot(),
      prefixes: settings.families.map(({ family, prefixMaximum }) => ({
        family: familyName(family),
        received: peer.established ? this.#receiver.count(peer, family) : 0,
        maximum: prefixMaximum,
      })),
      negotiated: peer.negotiatedSnapshot(),
      sendQueueBytes: peer.queuedBytes,
      largestKeepaliveGapMs: peer.largestKeepaliveGapMs,
    };
  }
}

const NO_PEER = 'no such peer';

const EMPTY: ReactorSettings = {
  routerId: 0,
  localAs: 0,
  peers: [],
  openWaitSeconds: 120,
  announceDelayMs: 0,
  multipathMaximum: 1,
  multipathRelax: false,
  routeServerBestPath: false,
  routeServerTransparent: false,
  capabilities: [],
  portOverride: 0,
};
