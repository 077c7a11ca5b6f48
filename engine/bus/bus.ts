/**
 * The event bus: from one event to many processes, in order, bounded (design §5). The event half of the reactor's sink lands here;
 * plugins, commands and the CLI's monitor attach here.
 *
 * A row is matched by one mask per process, written once per form asked for, and copied into each process's own stream. Streams are
 * flushed at the end of the turn, dependents before what they depend on, and each waits only for its own process.
 */
import { messageOf } from '../../sdk/rpc/errors.ts';
import type { EventRow, PeerIdentity, ProcessBinding, ReactorPort, Report } from '../bgp/port.ts';
import { EventEncoder } from '../codec/event-encoder.ts';
import { PeerSelector } from '../codec/peer-selector.ts';
import type { AnsweredNlri, NlriAnswer, NlriQuestion } from '../codec/nlri-question.ts';
import type { CodecRegistry } from '../codec/registry.ts';
import { KIND_NUMBER } from '../codec/event-kinds.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { BufferPool, NUMBERED, SNAPSHOT, VERBATIM } from './batch.ts';
import { Deferred } from './deferred.ts';
import { WINDOW } from './delivery.ts';
import { Established } from './established.ts';
import { BGP, EventTypes } from './event-types.ts';
import type { MonitorFilter } from './monitor.ts';
import { envelopeText, Monitor } from './monitor.ts';
import { Peers } from './peers.ts';
import { Pressure } from './pressure.ts';
import type { ProcessFailure, ProcessOptions, ProcessStatistics } from './process.ts';
import { BusProcess, directionBits } from './process.ts';
import { AMPLE_BATCHES, type Pools } from './queue.ts';
import { RecentEvents } from './recent.ts';
import { ReportBus } from './reports.ts';
import { StructuredPool } from './structured.ts';
import { Unbound } from './unbound.ts';
import { Unread } from './unread.ts';
import type { SubscribeInput } from './subscriptions.ts';
import { ENVELOPE, EVERYTHING, NO_MATCH, parseSubscribe, parseSubscribeCommand, rowBit, SENT_SHIFT } from './subscriptions.ts';
import type { Turn } from './turns.ts';

/** The part of the reactor's port that the bus steers. */
export type BusReactor = Pick<ReactorPort, 'interest' | 'setHeld' | 'cacheConsumer' | 'releaseCached'> & {
  /** Rows that waited because of `ample` are wanted. */
  goOn?(): void;
};

export interface BusOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: CodecRegistry;
  readonly reports?: ReportBus | undefined;
  /** Asks the owner of a family what its NLRI say; without it they are shown as hex. */
  readonly read?: ((question: NlriQuestion) => Promise<NlriAnswer>) | undefined;
  /** When streams are flushed; a microtask unless a test decides. */
  readonly schedule?: ((action: () => void) => void) | undefined;
}

/** Input of `emit-event` (plugin-rpc-types §5.8). */
export interface EmitInput {
  readonly namespace: string;
  readonly type: string;
  readonly direction?: string | undefined;
  readonly peerAddress?: string | undefined;
  readonly text: string;
}

export type EmitResult = { readonly ok: true; readonly delivered: number } | { readonly ok: false; readonly message: string };

/** What in-engine subscribers of emitted events are told. */
export type EmittedListener = (event: EmitInput) => void;

/** What the owner of a process holds. Every call is harmless after `detach`. */
export interface ProcessHandle {
  readonly name: string;
  /** `subscribe-events`; returns the error text, or undefined. */
  subscribe(input: SubscribeInput): string | undefined;
  /** The text command `subscribe …`, without its first word. */
  subscribeCommand(words: readonly string[]): string | undefined;
  unsubscribeCommand(words: readonly string[]): string | undefined;
  /** Clears every subscription. */
  unsubscribe(): void;
  /** The process has acknowledged these update ids itself (forward-cached, release-cached). */
  acknowledged(ids: readonly number[]): void;
  /**
   * Tells it of every peer that is up, as far as it has subscribed and is granted: what was negotiated, then its state, marked in `meta`
   * (`snapshot`) where the form has one. For a process that starts while sessions live; once, behind its first subscription.
   */
  snapshot(): void;
  statistics(): ProcessStatistics;
  detach(): void;
}

/** Between two reports of one process's refused batches. */
const REFUSED_REPORT_MS = 10_000;

/** An emitted text may not be larger: one line holds it with its escapes. */
export const MAX_EMITTED = 1024 * 1024;

/** Seldom enough to be worth knowing always: for `show event recent` and the counts. */
const ALWAYS = (['open', 'notification', 'refresh', 'state', 'negotiated', 'eor', 'congested', 'resumed'] as const).reduce(
  (mask, kind) => mask | rowBit(KIND_NUMBER[kind], false) | rowBit(KIND_NUMBER[kind], true),
  0,
);
const LOW_HALF = (1 << SENT_SHIFT) - 1;
const UPDATE = KIND_NUMBER.update;
const NO_QUESTIONS: readonly NlriQuestion[] = [];

export class EventBus {
  readonly types = new EventTypes();
  readonly recent = new RecentEvents();
  readonly reports: ReportBus;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #encoder: EventEncoder;
  readonly #peers = new Peers();
  readonly #established = new Established();
  #up: (peer: number) => void = () => undefined;
  readonly #rows: StructuredPool;
  readonly #schedule: (action: () => void) => void;
  readonly #pressure: Pressure;
  readonly #unbound: Unbound;
  readonly #registry: CodecRegistry;
  readonly #deferred: Deferred;
  readonly #unread: Unread;
  readonly #monitors = new Set<Monitor>();
  readonly #listeners = new Map<string, Set<EmittedListener>>();
  /** Highest tier first, then by name. */
  #processes: readonly BusProcess[] = [];
  #bindings: ReadonlyMap<string, readonly ProcessBinding[]> = new Map();
  #reactor: BusReactor | undefined;
  #unheldRoles: (bindings: readonly ProcessBinding[]) => readonly string[] = () => [];
  #flushing = false;
  #received = -1;
  #sent = -1;
  #each = false;
  /** Rows lost between reactor and bus. */
  #rowsLost = 0;

  constructor(options: BusOptions) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.reports = options.reports ?? new ReportBus(() => options.clock.wall());
    this.#unbound = new Unbound(this.reports, options.log);
    this.#encoder = new EventEncoder(options.registry);
    this.#rows = new StructuredPool(this.#peers);
    this.#schedule = options.schedule ?? queueMicrotask;
    this.#pressure = new Pressure((peer, held) => this.#reactor?.setHeld(peer, held), this.reports);
    this.#registry = options.registry;
    this.#unread = new Unread(this.reports);
    this.#deferred = new Deferred({
      clock: options.clock,
      ask: options.read ?? (() => Promise.resolve({ ok: false, message: 'nobody is asked' })),
      deliver: (row, answered) => this.#deliver(row, answered),
      answered: (question, answer) => this.#unread.note(question, answer),
      hold: (peer) => this.#pressure.holds.hold(this.#deferred, peer),
      letGo: () => this.#pressure.holds.release(this.#deferred),
    });
  }

  /** The reactor is there: it is told what is wanted. */
  connect(reactor: BusReactor): void {
    this.#reactor = reactor;
    this.#received = -1;
    this.#sent = -1;
    for (const process of this.#processes) process.counted = false;
    this.#tellReactor();
  }

  // ReactorSink, the event half

  event(row: EventRow): void {
    const questions = this.#questions(row);
    if (questions.length > 0 || this.#deferred.waiting) this.#deferred.row(row, questions);
    else this.#deliver(row, undefined);
  }

  /** NLRI of the row that somebody wants to read and only a plugin can: the row is written when it has answered. */
  #questions(row: EventRow): readonly NlriQuestion[] {
    if (row.kind !== 'update' || !this.#registry.hasForeign) return NO_QUESTIONS;
    const bit = rowBit(UPDATE, row.direction === 'sent');
    const isRead = this.#monitors.size > 0 || this.#processes.some((process) => process.reads && process.wants(row.peer, bit));
    if (!isRead) return NO_QUESTIONS;
    this.#encoder.begin(row, this.#peers.at(row.peer));
    return this.#encoder.questions();
  }

  #deliver(row: EventRow, answered: AnsweredNlri | undefined): void {
    if (row.kind === 'none') {
      if (row.lost > 0) this.#lost(row.lost);
      return;
    }
    if (row.lost > 0) this.#lost(row.lost);
    if (this.#peers.admit(row.peer)) this.#refreshAll();
    const kind = KIND_NUMBER[row.kind];
    const bit = rowBit(kind, row.direction === 'sent');
    const peer = this.#peers.at(row.peer);
    this.types.count(BGP, row.kind);
    this.recent.note(row.at, BGP, row.kind, row.direction, peer.name, row.messageId);
    if (row.kind === 'state' || row.kind === 'negotiated') {
      this.#established.note(row);
      if (row.state === 'up') this.#up(row.peer);
    }
    const said = row.kind === 'state' ? this.#withRoles(row, peer) : row;
    this.#encoder.begin(said, peer, answered);
    const inOrder = row.kind === 'state' || row.kind === 'eor';
    let before: Turn | undefined;
    const cached = kind === UPDATE && row.direction === 'received' && row.messageId > 0;
    for (const process of this.#processes) {
      const wanted = process.wants(row.peer, bit);
      const accepted = wanted && process.append(said, bit, this.#encoder);
      if (inOrder && accepted) {
        const turn = process.queue.turn();
        if (before !== undefined) turn.follow(before);
        before = turn;
      }
      if (cached && process.counted) {
        if (accepted) process.cache.delivered(row.messageId);
        else process.cache.missed(row.messageId);
      }
      // Who is held is who fills this very queue: not others, and not those to whom something was sent.
      if (wanted && (process.queue.full || process.queue.dropping)) {
        this.#pressure.rise(process, row.direction === 'sent' ? -1 : row.peer);
      }
    }
    if (this.#monitors.size > 0) this.#tap(row, peer);
    this.#later();
  }

  /** For the engine itself: a session has come up. One listener. */
  onUp(listener: (peer: number) => void): void {
    this.#up = listener;
  }

  peers(list: readonly PeerIdentity[]): void {
    this.#deferred.then(() => {
      this.#peers.update(list);
      this.#established.keep(list);
      this.#refreshAll();
    });
  }

  report(report: Report): void {
    this.reports.report(report);
  }

  // Processes

  /** Which process sees what of which peer: by peer name, from the configuration. */
  setBindings(bindings: ReadonlyMap<string, readonly ProcessBinding[]>): void {
    this.#bindings = bindings;
    this.#refreshAll();
    this.#unbound.check(this.#processes, bindings);
  }

  /** Roles that their holders cannot perform for a peer with these bindings: its state events name them (plugin-lifecycle §4). */
  setRoles(unheld: (bindings: readonly ProcessBinding[]) => readonly string[]): void {
    this.#unheldRoles = unheld;
  }

  attach(options: ProcessOptions): ProcessHandle {
    // Buffers go round within one process: one that acknowledges what it has not read yet can only spoil its own stream.
    const pools: Pools = { buffers: new BufferPool(AMPLE_BATCHES + WINDOW), rows: this.#rows };
    const process = new BusProcess(options, this.#clock, pools, {
      settled: (one, error) => this.#settled(one, error),
      failed: (one, failure) => this.#failed(one, failure),
    });
    this.#processes = [...this.#processes, process].sort(
      (a, b) => b.tier - a.tier || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
    );
    const changed = (): void => {
      process.refresh(this.#peers, this.#bindings);
      this.#tellReactor();
      this.#unbound.check(this.#processes, this.#bindings);
    };
    changed();
    return {
      name: process.name,
      subscribe: (input) => this.#subscribe(process, input, changed),
      subscribeCommand: (words) => {
        const input = parseSubscribeCommand(words, this.types);
        return input.ok ? this.#subscribe(process, input.value, changed) : input.fault.message;
      },
      unsubscribeCommand: (words) => {
        const input = parseSubscribeCommand(words, this.types);
        if (!input.ok) return input.fault.message;
        const parsed = parseSubscribe(input.value, this.types);
        if (!parsed.ok) return parsed.fault.message;
        const gone = process.subscriptions.remove(parsed.value.subscriptions);
        changed();
        return gone > 0 ? undefined : 'no such subscription';
      },
      unsubscribe: () => {
        process.subscriptions.clear();
        changed();
      },
      acknowledged: (ids) => {
        process.cache.acknowledged(ids);
        this.#later();
      },
      snapshot: () => this.#snapshot(process),
      statistics: () => process.statistics(),
      detach: () => this.#detach(process),
    };
  }

  /** Delivers a plugin's own event to every other process that asked for it. */
  emit(input: EmitInput, emitter: string): EmitResult {
    const { namespace, type, text } = input;
    if (namespace === '' || type === '') return { ok: false, message: 'emit-event requires namespace and event-type' };
    if (!this.types.has(namespace, type)) return { ok: false, message: `unknown event: ${clamp(namespace)}/${clamp(type)}` };
    if (text.length > MAX_EMITTED)
      return { ok: false, message: `event too large: ${text.length} characters (max ${MAX_EMITTED})` };
    const address = input.peerAddress ?? '';
    const peer = address === '' ? undefined : this.#peers.byAddress(address);
    const selectable = peer ?? (address === '' ? undefined : { name: '', remoteAddress: address, remoteAs: 0 });
    const directions = directionBits(input.direction);
    this.types.count(namespace, type);
    this.recent.note(this.#clock.wall(), namespace, type, directionWord(input.direction), peer?.name ?? address, 0);
    let delivered = 0;
    for (const process of this.#processes) {
      if (process.name === emitter) continue;
      const match = process.match(namespace, type, directions, peer, selectable, this.#bindings);
      if (match === NO_MATCH) continue;
      if (process.appendText(text, match === ENVELOPE, namespace, type)) delivered++;
      if (process.queue.dropping) this.#pressure.rise(process, -1);
    }
    for (const monitor of this.#monitors) {
      if (!monitor.wants(namespace, type) || !monitor.wantsPeer(selectable)) continue;
      const wanted = monitor.filter.direction;
      if (wanted === undefined || directions === 0 || (directionBits(wanted) & directions) !== 0) {
        monitor.push(envelopeText(namespace, type, text), NUMBERED);
      }
    }
    for (const key of [`${namespace}/${type}`, `${namespace}/*`]) {
      for (const listener of this.#listeners.get(key) ?? []) listener(input);
    }
    this.#later();
    return { ok: true, delivered };
  }

  /** Hears emitted events of a type (`*` = every type of the namespace) in the engine; the returned function stops it. */
  listen(namespace: string, type: string, listener: EmittedListener): () => void {
    const key = `${namespace}/${type}`;
    let listeners = this.#listeners.get(key);
    if (listeners === undefined) this.#listeners.set(key, (listeners = new Set()));
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** A tap for a person. Close it, or leave its loop. */
  monitor(filter: Partial<MonitorFilter> = {}): Monitor {
    const monitor: Monitor = new Monitor(
      {
        peers: filter.peers ?? PeerSelector.all,
        include: filter.include ?? [],
        exclude: filter.exclude ?? [],
        direction: filter.direction,
        format: filter.format ?? 'parsed',
        encoding: filter.encoding ?? 'json',
      },
      () => {
        this.#monitors.delete(monitor);
        this.#tellReactor();
      },
    );
    this.#monitors.add(monitor);
    this.#tellReactor();
    return monitor;
  }

  /** `event list`: every type with how often it passed by and who asked for it. */
  list(): readonly {
    readonly namespace: string;
    readonly type: string;
    readonly count: number;
    readonly subscribers: readonly string[];
  }[] {
    return this.types.list().map((entry) => ({
      ...entry,
      subscribers: this.#processes
        .filter((process) => process.subscriptions.match(entry.namespace, entry.type, 0, undefined) !== NO_MATCH)
        .map((process) => process.name),
    }));
  }

  processes(): readonly ProcessStatistics[] {
    return this.#processes.map((process) => process.statistics());
  }

  statistics(): Readonly<Record<string, number>> {
    const sum = (of: (process: BusProcess) => number): number =>
      this.#processes.reduce((total, process) => total + of(process), 0);
    return {
      processes: this.#processes.length,
      monitors: this.#monitors.size,
      'events-delivered': sum((process) => process.lane.delivered),
      'events-dropped': sum((process) => process.queue.dropped),
      'rows-lost': this.#rowsLost,
      'queue-bytes': sum((process) => process.queue.bytes),
      'peers-held': this.#pressure.held,
      'forms-written': this.#encoder.written,
    };
  }

  get directory(): Peers {
    return this.#peers;
  }

  /** Some process beyond a wire asks for updates: they are going to be written as text. */
  get writesUpdates(): boolean {
    return this.#processes.some(
      (process) => process.form === 'bytes' && process.subscriptions.match(BGP, 'update', 0, undefined) !== NO_MATCH,
    );
  }

  #subscribe(process: BusProcess, input: SubscribeInput, changed: () => void): string | undefined {
    if (process.failed) return 'the process has failed';
    const parsed = parseSubscribe(input, this.types);
    if (!parsed.ok) return `invalid subscribe params: ${parsed.fault.message}`;
    const fault = process.subscribe(parsed.value.subscriptions, input.format, input.encoding);
    if (fault !== undefined) return `invalid subscribe params: ${fault}`;
    if (parsed.value.unknown.length > 0) {
      this.#log.warn({ process: process.name, types: parsed.value.unknown }, 'subscription to unknown event types');
    }
    changed();
    return undefined;
  }

  #detach(process: BusProcess): void {
    if (!this.#processes.includes(process)) return;
    process.failed = true;
    process.lane.close();
    process.subscriptions.clear();
    this.#processes = this.#processes.filter((one) => one !== process);
    this.#pressure.end(process);
    this.#later();
    if (process.counted) this.#reactor?.cacheConsumer(process.name, 'none');
    process.counted = false;
    this.#tellReactor();
    this.#unbound.check(this.#processes, this.#bindings);
  }

  #failed(process: BusProcess, failure: ProcessFailure): void {
    this.#pressure.end(process);
    this.#later();
    process.refresh(this.#peers, this.#bindings);
    this.#tellReactor();
    this.reports.report({
      severity: 'error',
      code: failure === 'silent' ? 'event-consumer-silent' : 'event-consumer-overflow',
      source: 'bus',
      subject: process.name,
      message:
        failure === 'silent'
          ? 'no acknowledgement of a batch of events within the delivery time'
          : 'event queue full, policy disconnect',
    });
    this.#log.warn({ process: process.name, failure }, 'event consumer failed');
  }

  #snapshot(process: BusProcess): void {
    for (const row of this.#established.rows(this.#clock.wall())) {
      const bit = rowBit(KIND_NUMBER[row.kind], false);
      if (!process.wants(row.peer, bit)) continue;
      const peer = this.#peers.at(row.peer);
      const said = row.kind === 'state' ? this.#withRoles(row, peer) : row;
      this.#encoder.begin(said, peer);
      process.append(said, bit, this.#encoder, SNAPSHOT);
    }
    this.#later();
  }

  #withRoles(row: EventRow, peer: PeerIdentity): EventRow {
    const unheldRoles = this.#unheldRoles(this.#bindings.get(peer.name) ?? []);
    return unheldRoles.length === 0 ? row : { ...row, unheldRoles };
  }

  #settled(process: BusProcess, error: unknown): void {
    if (error !== undefined) this.#refused(process, error);
    // The queue forgets the batch after this call: look once it has.
    this.#later();
  }

  /** A handler that throws does so again and again: one report in ten seconds, which says how many went before it. */
  #refused(process: BusProcess, error: unknown): void {
    this.#log.warn({ process: process.name, error: messageOf(error) }, 'events refused');
    const message = `events refused: ${messageOf(error)}`;
    process.onRefused?.(message);
    const now = this.#clock.now();
    if (now - process.refusedReportedAt < REFUSED_REPORT_MS) {
      process.refusedUnreported++;
      return;
    }
    const before = process.refusedUnreported;
    process.refusedReportedAt = now;
    process.refusedUnreported = 0;
    this.reports.report({
      severity: 'error',
      code: 'event-handler-failed',
      source: 'bus',
      subject: process.name,
      message,
      ...(before === 0 ? {} : { detail: { 'refused-before': before } }),
    });
  }

  /** Rows that the reactor's ring had no room for: every stream that would have had some of them gets a gap. */
  #lost(count: number): void {
    this.#rowsLost += count;
    for (const process of this.#processes) if (process.interest !== 0) process.queue.lost(count);
    for (const monitor of this.#monitors) monitor.lost(count);
    this.reports.report({
      severity: 'error',
      code: 'event-rows-lost',
      source: 'bus',
      subject: 'reactor',
      message: `${count} events lost between reactor and bus`,
      detail: { lost: count },
    });
    this.#later();
  }

  #tap(row: EventRow, peer: PeerIdentity): void {
    for (const monitor of this.#monitors) {
      const { direction, format, encoding } = monitor.filter;
      if (direction !== undefined && row.direction !== 'unspecified' && row.direction !== direction) continue;
      if (!monitor.wants(BGP, row.kind) || !monitor.wantsPeer(peer)) continue;
      const shape = this.#encoder.numbered(format, encoding) ? NUMBERED : VERBATIM;
      monitor.push(this.#encoder.text(format, encoding), shape);
    }
  }

  #refreshAll(): void {
    for (const process of this.#processes) process.refresh(this.#peers, this.#bindings);
    this.#tellReactor();
  }

  #tellReactor(): void {
    const reactor = this.#reactor;
    if (reactor === undefined) return;
    let interest = ALWAYS;
    let isEach = false;
    for (const process of this.#processes) {
      interest |= process.interest;
      isEach ||= process.wantsUpdates && process.queue.holdsPeers;
      const counts = process.cache.mode !== 'none' && process.wantsUpdates && !process.failed;
      if (counts === process.counted) continue;
      process.counted = counts;
      reactor.cacheConsumer(process.name, counts ? process.cache.mode : 'none');
    }
    if (this.#monitors.size > 0) interest |= EVERYTHING;
    const received = interest & LOW_HALF;
    const sent = (interest >>> SENT_SHIFT) & LOW_HALF;
    if (received === this.#received && sent === this.#sent && isEach === this.#each) return;
    this.#received = received;
    this.#sent = sent;
    this.#each = isEach;
    reactor.interest(received, sent, isEach);
  }

  #later(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    this.#schedule(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  /**
   * Every process that takes updates has several batches before it, so that it will not run dry; more of them would only be memory. A
   * person's tap wants rows at once.
   */
  get ample(): boolean {
    if (this.#monitors.size > 0) return false;
    let ample = false;
    for (const process of this.#processes) {
      if (!process.takesUpdates) continue;
      if (!process.queue.ample) return false;
      ample = true;
    }
    return ample;
  }

  #flush(): void {
    for (const process of this.#processes) {
      process.lane.pump();
      this.#pressure.fall(process);
      if (process.cache.mode === 'none') continue;
      const due = process.cache.due();
      if (due.length > 0 && this.#reactor !== undefined) void this.#release(process, due);
    }
    if (!this.ample) this.#reactor?.goOn?.();
  }

  async #release(process: BusProcess, ids: readonly number[]): Promise<void> {
    const fault = await this.#reactor?.releaseCached(process.name, ids);
    if (fault !== undefined) this.#log.debug({ process: process.name, fault }, 'release of undelivered updates');
  }
}

function directionWord(direction: string | undefined): 'received' | 'sent' | 'unspecified' {
  return direction === 'received' || direction === 'sent' ? direction : 'unspecified';
}

function clamp(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text;
}
