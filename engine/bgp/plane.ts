/**
 * The parts of the reactor and the ways between them: what a session asks, what becomes of an UPDATE, when gathered work leaves.
 * It knows the peers but not who configures them; commands and listeners are `reactor.ts`'s.
 */
import type { ContextFacts, WireContext } from '../../sdk/wire/context.ts';
import { ContextTable } from '../../sdk/wire/context.ts';
import { familyName } from '../../sdk/wire/family.ts';
import { OUT_OF_RESOURCES } from '../../sdk/wire/notification.ts';
import type { OpenMessage } from '../../sdk/wire/open.ts';
import { decodeRefresh } from '../../sdk/wire/refresh.ts';
import type { Clock } from '../core/clock.ts';
import type { Deadline } from '../core/deadlines.ts';
import { Deadlines } from '../core/deadlines.ts';
import { Slices } from '../core/slices.ts';
import { cease } from './session/cease.ts';
import { ChunkPool } from './send/chunk.ts';
import { Congestion } from './send/congestion.ts';
import { Egress } from './send/egress.ts';
import { EventFeed } from './events/events.ts';
import type { LineHost } from './filter/export-line.ts';
import { Injector } from './receive/inject.ts';
import { OriginatedStore } from './originate/originated-store.ts';
import { noticeOf } from './filter/filter-question.ts';
import { PolicyTable, stepsOf } from './filter/filter-steps.ts';
import type { Notice } from './session/fsm.ts';
import { Selves } from './receive/loop-check.ts';
import type { Self } from './receive/loop-check.ts';
import { openFacts } from './session/opens.ts';
import { HELD_BY_CONGESTION } from './session/peer.ts';
import type { Peer, PeerHost } from './session/peer.ts';
import { PeerTable } from './session/peer-table.ts';
import type { FilterStep } from './filter/pipeline.ts';
import type { PeerSettings, PluginCapability, ReactorAnswer, ReactorQuestion, ReactorSettings, ReactorSink } from './port.ts';
import { Receiver } from './receive/receive.ts';
import { Relay } from './originate/relay.ts';
import { RouteHub } from './route-path/route-hub.ts';
import { ReadArea } from './session/session.ts';
import { identityOf } from './snapshot.ts';
import { UpdateCache, VALVE_SCAN_MS } from './receive/update-cache.ts';
import { Voice } from './voice.ts';

const NO_STEPS: readonly FilterStep[] = [];

export interface PlaneOptions {
  readonly clock: Clock;
  /** In [0, 1): for jitter. */
  readonly random: () => number;
  readonly sink: ReactorSink;
  readonly steps: ((peer: PeerSettings) => readonly FilterStep[]) | undefined;
}

export class Plane {
  readonly clock: Clock;
  readonly voice: Voice;
  readonly deadlines: Deadlines;
  readonly area = new ReadArea();
  readonly chunks = new ChunkPool();
  readonly contexts = new ContextTable();
  readonly peers = new PeerTable();
  readonly cache = new UpdateCache();
  readonly store = new OriginatedStore();
  readonly feed: EventFeed;
  readonly congestion: Congestion;
  readonly slices: Slices;
  readonly egress: Egress;
  readonly hub: RouteHub;
  readonly receiver: Receiver;
  readonly policies = new PolicyTable({
    failed: (policy, message) =>
      message === ''
        ? this.voice.clear('policy-failed', policy)
        : this.voice.report('error', 'policy-failed', policy, `policy ${policy}: ${message}`),
  });
  readonly questions: LineHost = {
    policies: this.policies,
    ask: (question) => this.#ask(question),
    badReplacement: (peer, direction, reason) =>
      this.voice.report(
        'error',
        'filter-failed',
        peer.settings.remoteAddress,
        `${direction} filters gave a bad UPDATE: ${reason}`,
      ),
    filterFailed: (peer, step, error) => this.#filterFailed(peer, step, error),
  };
  readonly injector: Injector;
  readonly relay: Relay;
  /** What every peer asks of the reactor. */
  readonly host: PeerHost;
  settings: ReactorSettings = EMPTY;
  messageId = 0;
  questionsAsked = 0;
  /** Every OPEN we would accept is asked about. */
  validatesOpen = false;
  readonly #options: PlaneOptions;
  readonly #contextsById: WireContext[] = [];
  readonly #selves = new Selves();
  readonly #valve: Deadline;
  /** Holds that are on every peer, and on those to come. */
  #heldForAll = 0;
  #flushing: NodeJS.Immediate | undefined;
  #closed = false;

  constructor(options: PlaneOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.voice = new Voice(options.sink, options.clock);
    this.deadlines = new Deadlines(options.clock);
    this.host = this.#peerHost();
    this.feed = new EventFeed(options.sink, options.clock, () => ++this.messageId);
    this.slices = new Slices(() => this.flush());
    this.congestion = new Congestion(
      {
        changed: (peer, congested, alive) => {
          if (alive) this.feed.congestion(peer, congested);
          this.voice.congestion(peer, congested);
        },
        holdOthers: (held) => this.holdAll(HELD_BY_CONGESTION, held),
        // Counted as an error: who comes back and reads nothing again stays away longer each time, and the others go on meanwhile.
        giveUp: (peer) => peer.fault(cease(OUT_OF_RESOURCES), 'congestion'),
      },
      this.deadlines,
    );
    this.egress = this.#makeEgress();
    this.hub = new RouteHub(
      {
        deadlines: this.deadlines,
        peers: this.peers,
        peer: (index) => this.peers.get(index),
        established: () => [...this.peers.all()].filter((peer) => peer.established),
        slice: (step) => this.slices.add(step),
        flushLater: () => this.flushLater(),
        filterKind: (kind, compile) => this.policies.register(kind, compile),
        filterKindGone: (compile) => this.policies.unregister(compile),
        report: (severity, code, subject, message, clear) =>
          options.sink.report({ severity, code, source: 'bgp', subject, message, clear }),
      },
      this.egress,
    );
    this.receiver = this.#makeReceiver();
    this.injector = this.#makeInjector();
    this.relay = new Relay({
      contexts: this.contexts,
      at: (address) => this.peers.at(address),
      forwardTo: (view, source, destinations) => this.egress.forwardTo(view, source, destinations),
    });
    this.#valve = this.deadlines.create(() => this.#scanCache());
  }

  start(): void {
    this.#valve.in(VALVE_SCAN_MS);
  }

  /** Nothing runs afterwards. */
  close(): void {
    this.#closed = true;
    this.slices.close();
    this.deadlines.close();
    if (this.#flushing !== undefined) clearImmediate(this.#flushing);
  }

  /** Tells the bus who the peers are. */
  announcePeers(): void {
    this.#options.sink.peers([...this.peers.all()].map(identityOf));
  }

  /** A peer that comes while all are held is held too. */
  welcome(peer: Peer): void {
    if (this.#heldForAll !== 0) peer.hold(this.#heldForAll, true);
    this.peers.add(peer);
  }

  holdAll(who: number, held: boolean): void {
    this.#heldForAll = held ? this.#heldForAll | who : this.#heldForAll & ~who;
    for (const peer of this.peers.all()) {
      if (held && who === HELD_BY_CONGESTION && this.congestion.has(peer)) continue;
      peer.hold(who, held);
    }
  }

  /** Publish what plugins gathered, pack what changed, write what is packed. */
  flush(): void {
    this.hub.flush();
    this.egress.flush();
    if (this.#flushing === undefined) return;
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
  }

  async #validateOpen(peer: Peer, local: OpenMessage, remote: OpenMessage): Promise<Notice | undefined> {
    const answer = await this.#ask({
      kind: 'open',
      peer: identityOf(peer),
      local: openFacts(local),
      remote: openFacts(remote),
    });
    if (answer.kind !== 'reject' && answer.kind !== 'teardown') return undefined;
    const refusal = answer.kind === 'reject' ? { code: 0, subcode: 0, reason: '' } : answer;
    const why = refusal.reason === '' ? 'without a reason' : refusal.reason;
    this.voice.report('error', 'open-refused', peer.settings.remoteAddress, `a plugin refused the OPEN: ${why}`);
    return noticeOf(refusal);
  }

  #known(facts: ContextFacts): WireContext {
    const context = this.contexts.intern(facts);
    this.#contextsById[context.checkId] = context;
    return context;
  }

  async #ask(question: ReactorQuestion): Promise<ReactorAnswer> {
    this.questionsAsked++;
    return await this.#options.sink.question(question);
  }

  /** A flush is due although no read callback may follow. */
  flushLater(): void {
    if (this.#closed) return;
    this.#flushing ??= setImmediate(() => {
      this.#flushing = undefined;
      this.flush();
    });
  }

  #peerHost(): PeerHost {
    return {
      deadlines: this.deadlines,
      area: this.area,
      contexts: this.contexts,
      chunks: this.chunks,
      filters: this.questions,
      validateOpen: (peer, local, remote) => (this.validatesOpen ? this.#validateOpen(peer, local, remote) : undefined),
      openWaitMs: () => this.settings.openWaitSeconds * 1000,
      portOverride: () => this.settings.portOverride,
      capabilities: (): readonly PluginCapability[] => this.settings.capabilities,
      random: this.#options.random,
      passed: (peer, type, sent, bytes, at, length) => this.feed.message(peer, type, sent, bytes, at, length),
      up: (peer) => this.#up(peer),
      down: (peer, reason) => this.#down(peer, reason),
      update: (peer, at, length) => this.receiver.update(peer, at, length),
      refresh: (peer, at, length) => this.#refreshReceived(peer, at, length),
      readDone: () => this.#readDone(),
      wrote: (peer) => this.#wrote(peer),
      stateChanged: (peer, from, to) => this.voice.log('debug', 'state changed', { peer: peer.settings.name, from, to }),
      gathered: (peer) => {
        this.egress.gathered(peer);
        this.flushLater();
      },
      tcpFailed: (peer, code) => this.voice.log('debug', 'connection failed', { peer: peer.settings.name, code }),
      failed: (peer, code, message) => this.voice.report('error', code, peer.settings.remoteAddress, message),
    };
  }

  #makeEgress(): Egress {
    return new Egress({
      deadlines: this.deadlines,
      chunks: this.chunks,
      watchesSent: () => this.feed.wantsSentUpdates,
      announceDelayMs: () => this.settings.announceDelayMs,
      transparent: (peer) => this.settings.routeServerTransparent || peer.settings.routeServerTransparent,
      peer: (index) => this.peers.get(index),
      slice: (step) => this.slices.add(step),
      flushLater: () => this.flushLater(),
      originated: this.#originated,
      queued: (peer) => this.congestion.queued(peer),
      context: (checkId) => this.#contextsById[checkId],
      withheld: (peers, source) => this.voice.withheld(peers, source),
      notReady: (peer, processes) =>
        this.voice.report(
          'warning',
          'session-not-ready',
          peer.settings.remoteAddress,
          `End-of-RIB went out although ${processes.join(', ')} did not report the session ready`,
        ),
    });
  }

  #makeReceiver(): Receiver {
    const steps = this.#options.steps;
    return new Receiver({
      area: this.area,
      now: () => this.clock.now(),
      nextMessageId: () => ++this.messageId,
      self: (peer) => this.#self(peer.settings),
      filtered: (peer) => {
        const facts = peer.agreement?.negotiated.receive;
        return facts?.ebgp === true ? this.#known({ ...facts, ownLocalPref: true }) : peer.receive;
      },
      steps: (peer) => {
        const given = steps?.(peer.settings) ?? NO_STEPS;
        if (peer.settings.importFilters.length === 0) return given;
        const context = { arriving: peer.receive, replaced: this.receiver.filtered(peer) };
        return [...given, ...stepsOf(peer, 'import', context, this.policies, this.questions)];
      },
      counter: () => this.hub.counter,
      accepted: (peer, id, view, treatAsWithdraw) => this.hub.updated(peer, id, view, treatAsWithdraw),
      endOfRib: (peer, family) => {
        this.hub.endOfRib(peer, family);
        this.feed.endOfRib(peer, family);
      },
      publish: (peer, context, id, bytes, at, length) => this.#publish(peer, context, id, bytes, at, length),
      wantsPublish: () => this.cache.wanted || this.feed.wantsUpdates,
      report: (severity, code, peer, message, detail) =>
        this.voice.report(severity, code, peer.settings.remoteAddress, message, detail),
      clear: (code, peer, family) => this.voice.clear(code, `${peer.settings.remoteAddress}/${familyName(family)}`),
      flushLater: () => this.flushLater(),
      filterFailed: (peer, step, error) => this.#filterFailed(peer, step, error),
    });
  }

  /** Whose marks in a route mean that it is on its way back. */
  #self({ localAs, routerId, clusterId, loopDetection }: PeerSettings): Self {
    if (loopDetection === 'off') {
      return this.#selves.of({ localAs: 0, otherAs: 0, routerId: 0, clusterId: 0, allowOwnAs: Infinity });
    }
    const named = loopDetection?.clusterId ?? 0;
    const cluster = named !== 0 ? named : clusterId === 0 ? routerId : clusterId;
    const otherAs = this.settings.localAs;
    return this.#selves.of({ localAs, otherAs, routerId, clusterId: cluster, allowOwnAs: loopDetection?.allowOwnAs ?? 0 });
  }

  #filterFailed(peer: Peer, step: string, error: unknown): void {
    this.voice.report('error', 'filter-failed', peer.settings.remoteAddress, `filter ${step}: ${String(error)}`);
  }

  #makeInjector(): Injector {
    const { peers, clock } = this;
    return new Injector({
      contexts: this.contexts,
      hasInjector: () => this.hub.counter !== undefined,
      localAs: () => this.settings.localAs,
      routerId: () => this.settings.routerId,
      nextMessageId: () => ++this.messageId,
      settle: (name, routerId) => peers.settle(name, routerId, clock.now()),
      unsettle: (index) => peers.unsettle(index, clock.now()),
      // It speaks no family: nothing is to be announced to it.
      up: (index) => this.hub.up({ index }, [], () => undefined),
      down: (index) => this.hub.down({ index }, 'ejected'),
      updated: (index, id, view, treatAsWithdraw) => this.hub.updated({ index }, id, view, treatAsWithdraw),
      flushLater: () => this.flushLater(),
    });
  }

  #up(peer: Peer): void {
    this.#contextsById[peer.receive.checkId] = peer.receive;
    this.#contextsById[peer.send.checkId] = peer.send;
    const families = peer.agreement?.negotiated.families ?? [];
    this.voice.log('info', 'session up', { peer: peer.settings.name, families: families.map(familyName) });
    this.announcePeers();
    this.receiver.open(peer);
    this.feed.negotiated(peer, peer.negotiatedSnapshot());
    this.feed.up(peer, this.feed.wantsState ? this.egress.announcers.begin(peer) : 0);
    this.egress.up(peer, this.hub.upHandlers);
    for (const { family, nlri, pathId, attributes, nextHop } of this.store.ofPeer(peer.index)) {
      this.egress.sendOriginated(peer.index, family, true, nlri, 0, nlri.length, pathId, attributes, nextHop);
    }
    this.hub.up(peer, families, () => this.egress.pluginDone(peer));
    this.flushLater();
  }

  #down(peer: Peer, reason: string): void {
    this.voice.log('info', 'session down', { peer: peer.settings.name, reason });
    if (reason !== 'removed' && reason !== 'shutdown') {
      this.voice.report('error', 'session-dropped', peer.settings.remoteAddress, `session went down: ${reason}`);
    }
    this.receiver.close(peer);
    this.congestion.gone(peer);
    this.egress.down(peer);
    this.hub.down(peer, reason);
    this.feed.down(peer, reason);
    this.flushLater();
  }

  #refreshReceived(peer: Peer, at: number, length: number): void {
    const read = decodeRefresh(this.area.bytes, at, length);
    if (!read.ok) {
      peer.fault(read.fault, 'refresh-error');
      return;
    }
    const { family, subtype } = read.value;
    // RFC 7313 §5, RFC 2918 §4: other subtypes, and what was not negotiated, are ignored.
    const negotiated = peer.agreement?.negotiated;
    if (subtype > 2 || negotiated?.routeRefresh !== true || !negotiated.families.includes(family)) return;
    // A mark stands for the UPDATEs before it, which filters may still have.
    this.receiver.inOrder(peer, () => this.hub.refreshed(peer, family, subtype));
  }

  #readDone(): void {
    this.flush();
    if (this.deadlines.nextAt <= this.clock.now()) this.deadlines.poll();
  }

  #wrote(peer: Peer): void {
    this.congestion.wrote(peer);
    this.egress.drained(peer);
  }

  #publish(peer: Peer, context: WireContext, given: number, bytes: Uint8Array, at: number, length: number): void {
    const id = given === 0 ? ++this.messageId : given;
    if (this.cache.wanted) this.cache.add(id, peer.index, context.checkId, bytes, at, length, this.clock.now());
    if (this.feed.wantsUpdates) this.feed.update(peer, id, bytes, at, length);
  }

  /** Called for every route: no rest, no spread. */
  readonly #originated: RouteHub['originated'] = (
    owner,
    peer,
    family,
    announce,
    nlri,
    at,
    length,
    pathId,
    attributes,
    nextHop,
    meta,
  ): void => {
    if (this.hub.keepsOriginated) {
      this.hub.originated(owner, peer, family, announce, nlri, at, length, pathId, attributes, nextHop, meta);
      return;
    }
    this.store.note({ owner, peer, family, pathId, nlri: nlri.slice(at, at + length), attributes, nextHop }, announce);
  };

  #scanCache(): void {
    const dropped = this.cache.sweep(this.clock.now());
    const say = (code: string, message: string): void => this.voice.report('warning', code, 'update-cache', message);
    if (dropped > 0) say('cache-expired', `${dropped} updates were never acknowledged and dropped`);
    if (this.cache.large) say('cache-size', `${this.cache.size} updates are cached`);
    this.#valve.in(VALVE_SCAN_MS);
  }
}

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
