/**
 * The reactor on another thread: the same `ReactorPort`, spoken over a message port. Commands and their answers are messages;
 * events come through the shared ring (`event-ring.ts`); nothing else crosses. `serveReactor` is the far end, `RemoteReactor` the
 * near one, and `startInline` stands in their place when both live on one thread (`ze.reactor.thread false`).
 */
import type { MessagePort } from 'node:worker_threads';
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import { type Clock, systemClock, type Timer } from '../core/clock.ts';
import { RingReader, RingWriter } from '../core/ring.ts';
import { RingSink, RingSource } from './events/event-ring.ts';
import type { OriginationBatch, OriginationCounts } from './originate/origination-batch.ts';
import type {
  ApplyReport,
  CachedUpdate,
  LogRecord,
  Origination,
  OriginationResult,
  PeerSnapshot,
  ReactorAnswer,
  ReactorPort,
  ReactorQuestion,
  ReactorSettings,
  ReactorSink,
  Report,
  StoredRoute,
} from './port.ts';
import type { ReactorBoot } from './reactor-boot.ts';
import { Reactor } from './reactor.ts';
import type { ReactorOptions } from './reactor.ts';
import { warmUp } from './warm-up.ts';
import type { Attach } from './warm-up.ts';

/** Rows the near end hands on before it gives its loop a turn: about a millisecond of them, so that what was made of them leaves. */
const DRAIN_ROWS = 512;
/** The first slice after a rest: its takers shall have something to begin with. Each further one is twice the one before. */
const FIRST_ROWS = 64;
/** How old a row may become in the ring while those who take rows have enough for the moment. */
const WAIT_MS = 100;
/** Rows it hands on before another word of the far end, at most. */
const CATCH_UP_ROWS = 4096;

/** Anything a message port, a worker or `parentPort` has in common. */
export interface Post {
  postMessage(value: unknown, transfer?: MessagePort[]): void;
  on(event: 'message', listener: (value: unknown) => void): unknown;
}

type Method = Exclude<keyof ReactorPort, 'startPlugin'>;

/** Near → far. */
type Ask =
  | { readonly kind: 'call'; readonly id: number; readonly method: Method; readonly args: readonly unknown[] }
  | {
      readonly kind: 'plugin';
      readonly name: string;
      readonly moduleUrl: string;
      readonly pipe: MessagePort;
      readonly bridge: MessagePort;
    }
  | { readonly kind: 'reply'; readonly id: number; readonly answer: ReactorAnswer }
  | { readonly kind: 'room' };

/** Far → near. */
type Tell =
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }
  | { readonly kind: 'wake' }
  | { readonly kind: 'report'; readonly report: Report }
  | { readonly kind: 'log'; readonly record: LogRecord }
  | { readonly kind: 'question'; readonly id: number; readonly question: ReactorQuestion }
  | { readonly kind: 'ready' };

const METHODS: ReadonlySet<string> = new Set<Method>([
  'apply',
  'listen',
  'start',
  'snapshot',
  'teardown',
  'setPaused',
  'setHeld',
  'refresh',
  'originate',
  'originateBatch',
  'judge',
  'disown',
  'forwardCached',
  'releaseCached',
  'cached',
  'manageCached',
  'relayStored',
  'inject',
  'eject',
  'interest',
  'validateOpen',
  'awaitReady',
  'nameFamilies',
  'sessionReady',
  'cacheConsumer',
  'flush',
  'raw',
  'statistics',
  'stop',
]);

export interface ServeOptions {
  readonly boot: ReactorBoot;
  readonly port: Post;
  readonly clock: Clock;
  readonly random: () => number;
  readonly startPlugin?: ReactorOptions['startPlugin'];
  /** Puts the plugins of the route path on the rehearsal's, so that they warm up too. */
  readonly rehearse?: Attach;
}

/** The worker's main: makes the reactor, warms it, answers the near end. Returns it, for the root that starts plugins in it. */
export function serveReactor(options: ServeOptions): Reactor {
  const { port, boot } = options;
  const tell = (word: Tell): void => port.postMessage(word);
  const questions = new Map<number, (answer: ReactorAnswer) => void>();
  let lastQuestion = 0;
  const sink: RingSink = new RingSink(new RingWriter(boot.ring), {
    wake: () => tell({ kind: 'wake' }),
    report: (report) => tell({ kind: 'report', report }),
    log: (record) => tell({ kind: 'log', record }),
    question: (question) =>
      new Promise((resolve) => {
        questions.set(++lastQuestion, resolve);
        tell({ kind: 'question', id: lastQuestion, question });
      }),
    needsEveryRow: () => reactor.needsEveryRow,
    hold: (held) => reactor.holdForRing(held),
  });
  const reactor = new Reactor({
    clock: options.clock,
    random: options.random,
    sink,
    ...(options.startPlugin === undefined ? {} : { startPlugin: options.startPlugin }),
  });
  const warm = boot.warmUpMessages > 0 ? warmUp(boot.warmUpMessages, options.rehearse) : Promise.resolve(undefined);
  void warm.then((rehearsal) => (reactor.rehearsal = rehearsal));
  port.on('message', (word) => {
    const ask = word as Ask;
    switch (ask.kind) {
      case 'room':
        sink.roomAgain();
        break;
      case 'reply':
        questions.get(ask.id)?.(ask.answer);
        questions.delete(ask.id);
        break;
      case 'plugin':
        reactor.startPlugin(ask.name, ask.moduleUrl, ask.pipe, ask.bridge);
        break;
      case 'call':
        void answer(reactor, ask, warm, tell);
        break;
    }
  });
  void warm.then(() => tell({ kind: 'ready' }));
  return reactor;
}

async function answer(
  reactor: Reactor,
  ask: { readonly id: number; readonly method: Method; readonly args: readonly unknown[] },
  warm: Promise<unknown>,
  tell: (word: Tell) => void,
): Promise<void> {
  try {
    if (!METHODS.has(ask.method)) throw new Error(`the reactor has no method ${ask.method}`);
    // Nothing listens or dials before the code is warm.
    if (ask.method === 'start') await warm;
    const value: unknown = await (reactor as unknown as Record<Method, (...args: readonly unknown[]) => unknown>)[ask.method](
      ...ask.args,
    );
    if (ask.id !== 0) tell({ kind: 'answer', id: ask.id, value });
  } catch (error) {
    tell({ kind: 'failed', id: ask.id, message: error instanceof Error ? error.message : String(error) });
  }
}

/** The near end. Its sink hears events, peers, reports and logs on this thread. */
export class RemoteReactor implements ReactorPort {
  readonly #port: Post;
  readonly #sink: ReactorSink;
  readonly #source: RingSource;
  readonly #clock: Clock;
  readonly #calls = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  /** Resolves when the far end has warmed up. */
  readonly ready: Promise<void>;
  #nextId = 0;
  #draining = false;
  #slice = FIRST_ROWS;
  /** The rows of the ring wait until this is over, or `goOn` is called. */
  #pause: Timer | undefined;
  #gone: string | undefined;

  constructor(port: Post, boot: ReactorBoot, sink: ReactorSink, clock: Clock = systemClock) {
    this.#port = port;
    this.#clock = clock;
    this.#sink = sink;
    this.#source = new RingSource(new RingReader(boot.ring), sink);
    let ready: () => void = () => undefined;
    this.ready = new Promise((resolve) => (ready = resolve));
    port.on('message', (value) => {
      const word = value as Tell;
      if (word.kind === 'ready') ready();
      else this.#heard(word);
    });
  }

  /** The thread is gone: every call under way and to come fails with this. */
  lost(reason: string): void {
    this.#gone = reason;
    for (const call of this.#calls.values()) call.reject(new Error(reason));
    this.#calls.clear();
  }

  apply(settings: ReactorSettings): Promise<ApplyReport> {
    return this.#call('apply', settings);
  }
  listen(settings: ReactorSettings): Promise<readonly string[]> {
    return this.#call('listen', settings);
  }
  start(): Promise<void> {
    return this.#call('start');
  }
  snapshot(peers?: readonly number[]): Promise<readonly PeerSnapshot[]> {
    return this.#call('snapshot', peers);
  }
  teardown(peer: number, subcode: number, text: string): Promise<string | undefined> {
    return this.#call('teardown', peer, subcode, text);
  }
  setPaused(peer: number, paused: boolean): Promise<string | undefined> {
    return this.#call('setPaused', peer, paused);
  }
  setHeld(peer: number, held: boolean): void {
    this.#say('setHeld', peer, held);
  }
  refresh(peer: number, family: number, subtype: number): Promise<string | undefined> {
    return this.#call('refresh', peer, family, subtype);
  }
  originate(batch: readonly Origination[]): Promise<readonly OriginationResult[]> {
    return this.#call('originate', batch);
  }
  originateBatch(batch: OriginationBatch): Promise<OriginationCounts> {
    return this.#call('originateBatch', batch);
  }
  judge(peer: number, filters: readonly string[], message: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#call('judge', peer, filters, message);
  }
  disown(owner: string): Promise<void> {
    return this.#call('disown', owner);
  }
  forwardCached(consumer: string, ids: readonly number[], destinations: readonly number[]): Promise<string | undefined> {
    return this.#call('forwardCached', consumer, ids, destinations);
  }
  releaseCached(consumer: string, ids: readonly number[]): Promise<string | undefined> {
    return this.#call('releaseCached', consumer, ids);
  }
  cached(): Promise<readonly CachedUpdate[]> {
    return this.#call('cached');
  }
  manageCached(
    ids: readonly number[],
    deed: 'retain' | 'release' | 'expire' | 'forward',
    destinations: readonly number[],
  ): Promise<readonly number[]> {
    return this.#call('manageCached', ids, deed, destinations);
  }
  relayStored(destination: number, routes: readonly StoredRoute[]): Promise<readonly string[]> {
    return this.#call('relayStored', destination, routes);
  }
  inject(owner: string, protocol: string, key: string, body: Uint8Array): Promise<string | undefined> {
    return this.#call('inject', owner, protocol, key, body);
  }
  eject(owner: string): void {
    this.#say('eject', owner);
  }
  interest(receivedMask: number, sentMask: number, everyRow = false): void {
    this.#say('interest', receivedMask, sentMask, everyRow);
  }
  validateOpen(on: boolean): void {
    this.#say('validateOpen', on);
  }
  awaitReady(processes: readonly string[]): void {
    this.#say('awaitReady', processes);
  }
  nameFamilies(names: readonly { readonly family: number; readonly name: string }[]): void {
    this.#say('nameFamilies', names);
  }
  sessionReady(peer: number, process: string, token: string): Promise<string | undefined> {
    return this.#call('sessionReady', peer, process, token);
  }
  cacheConsumer(name: string, mode: 'ordered' | 'unordered' | 'none'): void {
    this.#say('cacheConsumer', name, mode);
  }
  flush(peer: number): Promise<string | undefined> {
    return this.#call('flush', peer);
  }
  raw(peer: number, bytes: Uint8Array): Promise<string | undefined> {
    return this.#call('raw', peer, bytes);
  }
  startPlugin(name: string, moduleUrl: string, pipe: MessagePort, bridge: MessagePort): void {
    this.#port.postMessage({ kind: 'plugin', name, moduleUrl, pipe, bridge } satisfies Ask, [pipe, bridge]);
  }
  statistics(): Promise<Readonly<Record<string, number>>> {
    return this.#call('statistics');
  }
  stop(text: string): Promise<void> {
    return this.#gone === undefined ? this.#call('stop', text) : Promise.resolve();
  }

  #call<T>(method: Method, ...args: readonly unknown[]): Promise<T> {
    if (this.#gone !== undefined) return Promise.reject(new Error(this.#gone));
    const id = ++this.#nextId;
    return new Promise<T>((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.#port.postMessage({ kind: 'call', id, method, args } satisfies Ask);
    });
  }

  /** A call without an answer: id 0. */
  #say(method: Method, ...args: readonly unknown[]): void {
    if (this.#gone === undefined) this.#port.postMessage({ kind: 'call', id: 0, method, args } satisfies Ask);
  }

  #heard(word: Exclude<Tell, { kind: 'ready' }>): void {
    // What the far end wrote before it said this comes first.
    if (this.#draining && word.kind !== 'wake') this.#hand(CATCH_UP_ROWS);
    switch (word.kind) {
      case 'answer':
        this.#calls.get(word.id)?.resolve(word.value as never);
        this.#calls.delete(word.id);
        break;
      case 'failed':
        this.#calls.get(word.id)?.reject(new Error(word.message));
        this.#calls.delete(word.id);
        break;
      case 'wake':
        if (!this.#draining) this.#drain();
        break;
      case 'report':
        this.#sink.report(word.report);
        break;
      case 'log':
        this.#sink.log(word.record);
        break;
      case 'question':
        void this.#reply(word.id, word.question);
        break;
    }
  }

  async #reply(id: number, question: ReactorQuestion): Promise<void> {
    const answer = await this.#sink.question(question);
    if (this.#gone === undefined) this.#port.postMessage({ kind: 'reply', id, answer } satisfies Ask);
  }

  /**
   * A slice of rows a turn of the loop, unless nobody needs more just now, until the ring is empty, and one turn more: a far end that writes row after row is not to wake
   * this one for each, and messages that follow each other without a pause would keep the loop from everything else.
   */
  #drain(): void {
    if (this.#sink.ample?.() === true && this.#source.mayWait(this.#clock.wall() - WAIT_MS)) {
      this.#draining = true;
      this.#pause ??= this.#clock.after(WAIT_MS / 4, () => this.goOn(), { unref: true });
      return;
    }
    this.#draining = this.#hand(this.#slice) > 0 || !this.#source.rest();
    this.#slice = this.#draining ? Math.min(2 * this.#slice, DRAIN_ROWS) : FIRST_ROWS;
    if (this.#draining) setImmediate(() => this.#drain());
  }

  /** Those who take rows want more. */
  goOn(): void {
    if (this.#pause === undefined) return;
    this.#pause.cancel();
    this.#pause = undefined;
    setImmediate(() => this.#drain());
  }

  #hand(limit: number): number {
    const count = this.#source.drain(limit);
    if (this.#source.room) {
      this.#source.room = false;
      this.#port.postMessage({ kind: 'room' } satisfies Ask);
    }
    return count;
  }
}

/** Both ends on one thread. Rows reach the sink at once, within the reactor's callbacks. */
export async function startInline(options: {
  readonly clock: Clock;
  readonly random: () => number;
  readonly sink: ReactorSink;
  readonly startPlugin?: ReactorOptions['startPlugin'];
  readonly warmUpMessages: number;
}): Promise<{ readonly port: ReactorPort; readonly routes: RoutePath }> {
  const rehearsal = options.warmUpMessages > 0 ? await warmUp(options.warmUpMessages) : undefined;
  const reactor = new Reactor({
    clock: options.clock,
    random: options.random,
    sink: options.sink,
    ...(options.startPlugin === undefined ? {} : { startPlugin: options.startPlugin }),
  });
  reactor.rehearsal = rehearsal;
  return { port: reactor, routes: reactor.routes };
}
