/**
 * The reactor: sockets, sessions, timers, and the plugins of the route path, on one thread that waits for nobody. This file
 * answers the command side (`ReactorPort`) and lets peers come, change and go; the parts meet in `plane.ts`, and what a message
 * goes through is told in `receive.ts` (in) and `egress.ts` (out).
 */
import type * as net from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import { plainContext } from '../../sdk/wire/context.ts';
import { familyName, nameFamily } from '../../sdk/wire/family.ts';
import { ADMINISTRATIVE_SHUTDOWN, BFD_DOWN, OTHER_CONFIGURATION_CHANGE, PEER_DECONFIGURED } from '../../sdk/wire/notification.ts';
import type { Clock } from '../core/clock.ts';
import { cease } from './session/cease.ts';
import { NOT_ESTABLISHED } from './send/egress.ts';
import { KnownBlocks } from './receive/known-blocks.ts';
import { Listeners } from './session/listener.ts';
import type { ListenAddress } from './session/listener.ts';
import { HELD_BY_CONSUMER, HELD_BY_OPERATOR, HELD_BY_RING, Peer } from './session/peer.ts';
import { stepsOf } from './filter/filter-steps.ts';
import type { FilterStep } from './filter/pipeline.ts';
import { Plane } from './plane.ts';
import type { OriginationBatch, OriginationCounts } from './originate/origination-batch.ts';
import type {
  ApplyReport,
  CachedUpdate,
  Origination,
  OriginationResult,
  PeerSettings,
  PeerSnapshot,
  ReactorPort,
  ReactorSettings,
  ReactorSink,
  StoredRoute,
} from './port.ts';
import { changeOf } from './session/settings-change.ts';
import { snapshotOf } from './snapshot.ts';
import { VALVE_MS } from './receive/update-cache.ts';

/** ms a stop waits for peers to read their Cease. */
const STOP_PATIENCE = 2000;
const POLL = 10;
const FLUSH_PATIENCE = 30_000;
const NO_PEER = 'no such peer';

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

export class Reactor implements ReactorPort {
  readonly #options: ReactorOptions;
  readonly #plane: Plane;
  readonly #listeners: Listeners;
  /** Kept, not used: see `warmUp`. */
  rehearsal: object | undefined;
  #started = false;
  /** Somebody would rather have its peers held than miss a row. */
  #everyRow = false;
  #stopped = false;

  constructor(options: ReactorOptions) {
    const { clock, random, sink, steps } = options;
    this.#options = options;
    this.#plane = new Plane({ clock, random, sink, steps });
    this.#listeners = new Listeners(
      {
        accepted: (socket, remote) => this.adopt(socket, remote),
        listening: (where, fault) => this.#plane.voice.listening(where, fault),
      },
      this.#plane.deadlines,
    );
  }

  /** The route path for plugins of this thread. */
  get routes(): RoutePath {
    return this.#plane.hub;
  }

  /** True while the event ring to the other thread is full and somebody must miss nothing. */
  holdForRing(held: boolean): void {
    this.#plane.holdAll(HELD_BY_RING, held);
  }

  /** Some consumer of updates must see all of them: a full ring holds the peers instead of leaving a gap. */
  get needsEveryRow(): boolean {
    return this.#everyRow || this.#plane.cache.wanted;
  }

  /** Peers wait for connections that only `adopt` brings: nothing listens, nothing dials. */
  rehearse(): void {
    this.#started = true;
    for (const peer of this.#plane.peers.all()) peer.start();
  }

  /** The rehearsal is over: nothing runs afterwards, and nobody is told. */
  rehearsed(): void {
    this.#stopped = true;
    this.#plane.close();
  }

  /** The route path for one plugin of this thread: what it puts there can be taken out. */
  scope(): RoutePath {
    return this.#plane.hub.scope();
  }

  /** Takes an accepted connection from `remote`; false: nobody wants it. */
  adopt(socket: net.Socket, remote: string): boolean {
    if (this.#stopped) return false;
    const peer = this.#plane.peers.at(remote);
    if (peer === undefined) this.#plane.voice.stranger(remote);
    return peer?.accept(socket) === true;
  }

  /** The ports in use, for whoever asked for port 0. */
  listenPort(address: string, port: number): number {
    return this.#listeners.port({ address, port });
  }

  // ReactorPort.

  async apply(settings: ReactorSettings): Promise<ApplyReport> {
    const report = { added: [] as string[], removed: [] as string[], changed: [] as string[], unchanged: [] as string[] };
    const { peers, hub, receiver, egress, cache } = this.#plane;
    const before = this.#plane.settings;
    this.#plane.settings = settings;
    this.#plane.policies.policies = settings.policies ?? {};
    const { routeServerBestPath, routeServerTransparent, multipathMaximum, multipathRelax } = settings;
    cache.valveMs = settings.cacheValveMs ?? VALVE_MS;
    Object.assign(hub.settings, { routeServerBestPath, routeServerTransparent, multipathMaximum, multipathRelax });
    const wanted = new Map(settings.peers.map((peer) => [peer.name, peer]));
    for (const peer of [...peers.all()]) {
      if (wanted.has(peer.settings.name)) continue;
      this.#remove(peer);
      report.removed.push(peer.settings.name);
    }
    const transparentChanged = before.routeServerTransparent !== routeServerTransparent;
    for (const wish of settings.peers) {
      const peer = peers.named(wish.name);
      if (peer === undefined) {
        this.#add(wish);
        report.added.push(wish.name);
      } else if (this.#change(peer, wish, transparentChanged)) report.changed.push(wish.name);
      else report.unchanged.push(wish.name);
    }
    receiver.known = new KnownBlocks();
    egress.peersChanged();
    this.#plane.announcePeers();
    const faults = this.#started ? await this.#listeners.set(this.#wantedListeners()) : [];
    return { ...report, faults };
  }

  listen({ peers, portOverride }: ReactorSettings): Promise<readonly string[]> {
    return this.#stopped ? Promise.resolve([]) : this.#listeners.set(wantedListeners(peers, portOverride));
  }

  async start(): Promise<void> {
    if (this.#started || this.#stopped) return;
    this.#started = true;
    this.#plane.start();
    for (const peer of this.#plane.peers.all()) peer.start();
    await this.#listeners.set(this.#wantedListeners());
  }

  snapshot(wanted?: readonly number[]): Promise<readonly PeerSnapshot[]> {
    const { peers, receiver } = this.#plane;
    const all = wanted === undefined ? [...peers.all()] : wanted.flatMap((index) => peers.get(index) ?? []);
    return Promise.resolve(all.map((peer) => snapshotOf(peer, (family) => receiver.count(peer, family))));
  }

  teardown(index: number, subcode: number, text: string): Promise<string | undefined> {
    return this.#on(index, (peer) => {
      if (subcode > BFD_DOWN) return `Cease has no subcode ${subcode}: 0 to ${BFD_DOWN}`;
      // One that is down for good comes back by this.
      if (!peer.established && !peer.adminDown) return NOT_ESTABLISHED;
      peer.stop(cease(subcode, text), text === '' ? 'teardown' : text, true);
      return undefined;
    });
  }

  setPaused(index: number, paused: boolean): Promise<string | undefined> {
    return this.#on(index, (peer) => {
      if (peer.heldBy(HELD_BY_OPERATOR) === paused) return paused ? 'is paused already' : 'is not paused';
      // A pause outlives its session: it can be taken back while the peer is down.
      if (paused && !peer.established) return NOT_ESTABLISHED;
      peer.hold(HELD_BY_OPERATOR, paused);
      return undefined;
    });
  }

  setHeld(index: number, held: boolean): void {
    if (index < 0) this.#plane.holdAll(HELD_BY_CONSUMER, held);
    else this.#plane.peers.get(index)?.hold(HELD_BY_CONSUMER, held);
  }

  refresh(index: number, family: number, subtype: number): Promise<string | undefined> {
    return this.#on(index, (peer) => {
      if (!peer.established) return NOT_ESTABLISHED;
      const sent = this.#plane.hub.refreshRequest(index, family, subtype);
      return sent ? undefined : `${familyName(family)}: route refresh was not negotiated`;
    });
  }

  async originate(batch: readonly Origination[]): Promise<readonly OriginationResult[]> {
    const results = this.#plane.egress.originate(batch);
    await this.#caughtUp(() => batch.map((one) => one.peers));
    return results;
  }

  async originateBatch(batch: OriginationBatch): Promise<OriginationCounts> {
    const counts = this.#plane.egress.originateBatch(batch);
    await this.#caughtUp(() => [...batch.audiences, ...batch.whole.map((one) => one.peers)]);
    return counts;
  }

  /** Who announces faster than the peers read is answered when they have caught up, or were given up. */
  async #caughtUp(audiences: () => readonly (readonly number[])[]): Promise<void> {
    const { congestion, peers } = this.#plane;
    if (!congestion.active) return;
    const all = new Set(audiences().flat());
    const congested = (index: number): boolean => {
      const peer = peers.get(index);
      return peer !== undefined && congestion.has(peer);
    };
    await this.#until(() => ![...all].some(congested), FLUSH_PATIENCE);
  }

  async judge(index: number, filters: readonly string[], message: Uint8Array): Promise<Uint8Array | undefined> {
    const { peers, policies, questions } = this.#plane;
    const peer = peers.get(index);
    if (peer === undefined) return undefined;
    const { localAs, remoteAs: peerAs, families } = peer.settings;
    const context = plainContext({
      ebgp: localAs !== peerAs,
      localAs,
      peerAs,
      families: families.map(({ family }) => family),
    });
    let bytes = message;
    for (const step of stepsOf(peer, 'export', { arriving: context, replaced: context }, policies, questions, filters)) {
      const verdict = await step.run({ peer: index, bytes, at: 0, length: bytes.length });
      if (verdict.kind === 'replace') bytes = verdict.message;
      else if (verdict.kind !== 'accept') return undefined;
    }
    return bytes;
  }

  disown(owner: string): Promise<void> {
    const { hub, store, egress } = this.#plane;
    hub.disown(owner);
    for (const { peer, family, nlri, pathId, attributes, nextHop } of store.disown(owner)) {
      egress.sendOriginated(peer, family, false, nlri, 0, nlri.length, pathId, attributes, nextHop);
    }
    this.#plane.flushLater();
    return Promise.resolve();
  }

  forwardCached(consumer: string, ids: readonly number[], destinations: readonly number[]): Promise<string | undefined> {
    const { cache, egress, peers } = this.#plane;
    const targets = destinations.flatMap((index) => peers.get(index) ?? []);
    let fault = targets.length === 0 && ids.length > 0 ? 'no destination is a configured peer' : undefined;
    for (const id of ids) {
      // An ordered consumer that comes back to what it is past: no error, and nothing to send.
      if (cache.passed(consumer, id)) continue;
      const sent = targets.length > 0 && egress.forwardCached(cache, id, targets);
      // The id is consumed whatever became of it.
      cache.acknowledge(consumer, id);
      if (!sent) fault ??= expired(id);
    }
    return Promise.resolve(fault);
  }

  releaseCached(consumer: string, ids: readonly number[]): Promise<string | undefined> {
    let fault: string | undefined;
    for (const id of ids) if (!this.#plane.cache.acknowledge(consumer, id)) fault ??= expired(id);
    return Promise.resolve(fault);
  }

  cached(): Promise<readonly CachedUpdate[]> {
    return Promise.resolve(this.#plane.cache.list(this.#plane.clock.now()));
  }

  manageCached(
    ids: readonly number[],
    deed: 'retain' | 'release' | 'expire' | 'forward',
    destinations: readonly number[],
  ): Promise<readonly number[]> {
    const { cache, egress, peers } = this.#plane;
    const targets = destinations.flatMap((index) => peers.get(index) ?? []);
    return Promise.resolve(
      ids.filter((id) => !(deed === 'forward' ? egress.forwardCached(cache, id, targets) : cache[deed](id))),
    );
  }

  relayStored(destination: number, routes: readonly StoredRoute[]): Promise<readonly string[]> {
    const peer = this.#plane.peers.get(destination);
    const none =
      peer === undefined ? NO_PEER : peer.established ? undefined : 'the session of the destination is not established';
    if (peer === undefined || none !== undefined) return Promise.resolve(routes.map(() => none ?? NO_PEER));
    return Promise.resolve(this.#plane.relay.relay(peer, routes));
  }

  inject(owner: string, protocol: string, key: string, body: Uint8Array): Promise<string | undefined> {
    return Promise.resolve(this.#plane.injector.inject(owner, protocol, key, body));
  }

  eject(owner: string): void {
    this.#plane.injector.eject(owner);
  }

  interest(receivedMask: number, sentMask: number, everyRow = false): void {
    this.#everyRow = everyRow;
    this.#plane.feed.interest(receivedMask, sentMask);
  }

  validateOpen(on: boolean): void {
    this.#plane.validatesOpen = on;
  }

  awaitReady(processes: readonly string[]): void {
    this.#plane.egress.announcedBy(new Set(processes));
  }

  nameFamilies(names: readonly { readonly family: number; readonly name: string }[]): void {
    for (const { family, name } of names) nameFamily(family, name);
  }

  sessionReady(index: number, process: string, token: string): Promise<string | undefined> {
    return this.#on(index, (peer) => this.#plane.egress.sessionReady(peer, process, token));
  }

  cacheConsumer(name: string, mode: 'ordered' | 'unordered' | 'none'): void {
    const { cache, voice } = this.#plane;
    if (mode === 'none') cache.unregister(name);
    else if (!cache.register(name, mode)) {
      voice.report('error', 'cache-consumers', name, 'too many plugins consume cached updates; this one gets none');
    }
  }

  async flush(index: number): Promise<string | undefined> {
    const peer = this.#plane.peers.get(index);
    if (peer === undefined) return NO_PEER;
    if (!peer.established) return NOT_ESTABLISHED;
    this.#plane.flush();
    const empty = await this.#until(() => peer.queuedBytes === 0 && peer.outbox.empty, FLUSH_PATIENCE);
    return empty ? undefined : 'the peer did not take everything in time';
  }

  raw(index: number, bytes: Uint8Array): Promise<string | undefined> {
    return this.#on(index, (peer) => {
      this.#plane.flush();
      return peer.sendRaw(bytes) ? undefined : 'there is no connection';
    });
  }

  startPlugin(name: string, moduleUrl: string, pipe: MessagePort, bridge: MessagePort): void {
    const start = this.#options.startPlugin;
    if (start === undefined) {
      this.#plane.voice.report('error', 'plugin-down', name, 'no plugin can be started in this thread');
      return;
    }
    const scope = this.#plane.hub.scope();
    const close = (): void => scope.close();
    start(name, moduleUrl, pipe, bridge, scope)?.then(close, close);
  }

  statistics(): Promise<Readonly<Record<string, number>>> {
    const { peers, messageId, contexts, chunks, cache, receiver, deadlines, slices, area, egress } = this.#plane;
    return Promise.resolve({
      peers: peers.size,
      established: [...peers.all()].filter((peer) => peer.established).length,
      messages: messageId,
      contexts: contexts.size,
      chunksMade: chunks.made,
      chunksLent: chunks.lent,
      cacheEntries: cache.size,
      cacheBlocks: cache.blocks,
      cacheDropped: cache.dropped,
      knownBlockHits: receiver.known.hits,
      deadlines: deadlines.size,
      slices: slices.size,
      strangers: this.#listeners.strangers,
      openSockets: area.openSockets,
      ...egress.tally(),
    });
  }

  async stop(text: string): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    const { peers, deadlines, area } = this.#plane;
    const closing = this.#listeners.close();
    this.#plane.flush();
    for (const peer of peers.all()) peer.stop(cease(ADMINISTRATIVE_SHUTDOWN, text), 'shutdown', false);
    await new Promise<void>((resolve) => {
      deadlines.create(resolve).in(STOP_PATIENCE);
      void area.idle().then(resolve);
    });
    await closing;
    this.#plane.close();
  }

  // Peers come, change and go.

  #add(settings: PeerSettings): void {
    const { host, peers, clock } = this.#plane;
    const peer = new Peer(host, peers.freeIndex(clock.now()), settings);
    this.#plane.welcome(peer);
    if (this.#started) peer.start();
  }

  #remove(peer: Peer): void {
    peer.stop(cease(PEER_DECONFIGURED), 'removed', false);
    this.#plane.peers.remove(peer, this.#plane.clock.now());
    this.#plane.store.forgetPeer(peer.index);
  }

  /** True when something changed. */
  #change(peer: Peer, wish: PeerSettings, transparentChanged: boolean): boolean {
    const { peers, receiver, egress } = this.#plane;
    const change = changeOf(peer.settings, wish);
    const address = peer.settings.remoteAddress;
    if (change === 'reset') peer.stop(cease(OTHER_CONFIGURATION_CHANGE), 'configuration changed', false);
    if (change !== 'none') peer.configure(wish);
    if (address !== wish.remoteAddress) peers.moved(peer, address);
    if (change === 'reset' && this.#started) peer.start();
    if (change === 'live' || change === 'refresh') receiver.configure(peer);
    if (change === 'refresh' || (transparentChanged && change !== 'reset')) {
      egress.rejoin(peer);
      if (peer.established) this.#sendAnew(peer);
    }
    return change !== 'none';
  }

  /** The export side is another one: everything is sent again through it. Imports are asked for again by whoever changed their filters. */
  #sendAnew(peer: Peer): void {
    for (const family of peer.agreement?.negotiated.families ?? []) {
      this.#plane.hub.resend(peer.index, family, () => undefined);
    }
  }

  #wantedListeners(): readonly ListenAddress[] {
    const peers = [...this.#plane.peers.all()].map(({ settings }) => settings);
    return wantedListeners(peers, this.#plane.settings.portOverride);
  }

  #on(index: number, act: (peer: Peer) => string | undefined): Promise<string | undefined> {
    const peer = this.#plane.peers.get(index);
    return Promise.resolve(peer === undefined ? NO_PEER : act(peer));
  }

  /** True when `met` became so within `ms`. */
  #until(met: () => boolean, ms: number): Promise<boolean> {
    if (met()) return Promise.resolve(true);
    const { clock } = this.#plane;
    const end = clock.now() + ms;
    return new Promise((resolve) => {
      const look = (): void => {
        if (met()) resolve(true);
        else if (clock.now() >= end) resolve(false);
        else clock.after(POLL, look, { unref: true });
      };
      look();
    });
  }
}

function expired(id: number): string {
  return `update-id expired or not found: ${id}`;
}

function wantedListeners(peers: readonly PeerSettings[], override: number): readonly ListenAddress[] {
  const wanted = new Map<string, ListenAddress>();
  for (const { accept, localAddress, localPort } of peers) {
    if (!accept) continue;
    const port = override > 0 ? override : localPort;
    wanted.set(`${localAddress} ${port}`, { address: localAddress, port });
  }
  return [...wanted.values()];
}
