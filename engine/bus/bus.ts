/**
 * The event bus: from one event to many processes, in order, bounded (design §5). The event half of the reactor's sink lands here;
 * plugins, commands and the CLI's monitor attach here.
 *
 * A row is matched by one mask per process, written once per form asked for, and copied into each process's own stream. Streams are
 * flushed at the end of the turn, dependents before what they depend on, and each waits only for its own process.
 */
import type { EventRow, PeerIdentity, ProcessBinding, ReactorPort, Report } from '../bgp/port.ts';
import { EventEncoder } from '../codec/event-encoder.ts';
import type { AnsweredNlri, NlriAnswer, NlriQuestion } from '../codec/nlri-question.ts';
import type { CodecRegistry } from '../codec/registry.ts';
import { KIND_NUMBER } from '../codec/event-kinds.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { BufferPool, SNAPSHOT } from './batch.ts';
import { Deferred } from './deferred.ts';
import { WINDOW } from './delivery.ts';
import type { EmitInput, EmitResult, EmittedListener } from './emitted.ts';
import { EmittedListeners, MAX_EMITTED } from './emitted.ts';
import { Established } from './established.ts';
import { BGP, EventTypes } from './event-types.ts';
import type { Monitor, MonitorFilter } from './monitor.ts';
import { Peers } from './peers.ts';
import { Pressure } from './pressure.ts';
import type { ProcessFailure, ProcessOptions, ProcessStatistics } from './process.ts';
import { BusProcess, directionBits } from './process.ts';
import { AMPLE_BATCHES, type Pools } from './queue.ts';
import { RecentEvents } from './recent.ts';
import { ReportBus } from './reports.ts';
import { StructuredPool } from './structured.ts';
import { Taps } from './taps.ts';
import { Troubles } from './troubles.ts';
import { Unbound } from './unbound.ts';
import { Unread } from './unread.ts';
import type { SubscribeInput } from './subscriptions.ts';
import { ENVELOPE, NO_MATCH, parseSubscribe, parseSubscribeCommand, rowBit } from './subscriptions.ts';
import type { Turn } from './turns.ts';
import { Wanted } from './wanted.ts';

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
  readonly #taps = new Taps(() => this.#tellReactor());
  readonly #wanted = new Wanted();
  readonly #troubles: Troubles;
  readonly #listeners = new EmittedListeners();
  /** Highest tier first, then by name. */
  #processes: readonly BusProcess[] = [];
  #bindings: ReadonlyMap<string, readonly ProcessBinding[]> = new Map();
  #reactor: BusReactor | undefined;
  #unheldRoles: (bindings: readonly ProcessBinding[]) => readonly string[] = () => [];
  #flushing = false;
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
    this.#troubles = new Troubles(this.reports, options.log, options.clock);
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
    this.#wanted.connect(reactor, this.#processes);
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
    const isRead = this.#taps.size > 0 || this.#processes.some((process) => process.reads && process.wants(row.peer, bit));
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
    if (this.#taps.size > 0) this.#taps.row(row, peer, this.#encoder);
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
    this.#taps.emitted(namespace, type, text, selectable, directions);
    this.#listeners.tell(input);
    this.#later();
    return { ok: true, delivered };
  }

  /** Hears emitted events of a type (`*` = every type of the namespace) in the engine; the returned function stops it. */
  listen(namespace: string, type: string, listener: EmittedListener): () => void {
    return this.#listeners.add(namespace, type, listener);
  }

  /** A tap for a person. Close it, or leave its loop. */
  monitor(filter: Partial<MonitorFilter> = {}): Monitor {
    return this.#taps.open(filter);
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
      monitors: this.#taps.size,
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
    this.#wanted.leave(process);
    this.#tellReactor();
    this.#unbound.check(this.#processes, this.#bindings);
  }

  #failed(process: BusProcess, failure: ProcessFailure): void {
    this.#pressure.end(process);
    this.#later();
    process.refresh(this.#peers, this.#bindings);
    this.#tellReactor();
    this.#troubles.failed(process, failure);
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
    if (error !== undefined) this.#troubles.refused(process, error);
    // The queue forgets the batch after this call: look once it has.
    this.#later();
  }

  /** Rows that the reactor's ring had no room for: every stream that would have had some of them gets a gap. */
  #lost(count: number): void {
    this.#rowsLost += count;
    for (const process of this.#processes) if (process.interest !== 0) process.queue.lost(count);
    this.#taps.lost(count);
    this.#troubles.lost(count);
    this.#later();
  }

  #refreshAll(): void {
    for (const process of this.#processes) process.refresh(this.#peers, this.#bindings);
    this.#tellReactor();
  }

  #tellReactor(): void {
    this.#wanted.tell(this.#processes, this.#taps.size > 0);
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
    if (this.#taps.size > 0) return false;
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
