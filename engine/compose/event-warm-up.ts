/**
 * Writes synthetic UPDATEs as events through classes of the real kind before anything listens, so that a plugin's first table meets
 * compiled code: rows out of a ring, a bus, one process that takes what it gets. Nothing of it stays.
 *
 * Compiled code is kept only as long as it meets what it was compiled for, and code that met a case once or never is thrown away at the
 * first one. So the passes differ as real rows do (session kinds, AS numbers beyond 2^31, ids of every size, a queue that fills up), and
 * each has a bus and a ring of its own: what a class does once in its life is done in every pass.
 */
import { emptyRow } from '../bgp/events/events.ts';
import { RingSink, RingSource } from '../bgp/events/event-ring.ts';
import type { NegotiatedSnapshot, PeerIdentity, ProcessBinding } from '../bgp/port.ts';
import { script } from '../bgp/warm-up.ts';
import type { BusReactor } from '../bus/bus.ts';
import { EventBus } from '../bus/bus.ts';
import type { ProcessHandle } from '../bus/bus.ts';
import type { CodecRegistry } from '../codec/registry.ts';
import { ManualClock } from '../core/clock.ts';
import { RingReader, RingWriter, ringMemory } from '../core/ring.ts';
import type { Log } from '../core/log.ts';
import { sinkOf } from './reactor.ts';
import { IPV4_UNICAST } from '../../sdk/wire/family.ts';
import { HEADER_LENGTH } from '../../sdk/wire/message.ts';

const PASSES = 12;
/** Events of a pass; all of them are enough for the compiler to have made up its mind. */
const EVENTS = 600;
/** Messages between two turns of the event loop: about a millisecond once it is warm. */
const SLICE = 200;
const RING_BYTES = 64 * 1024;
const NAME = 'rehearsal';
const LOCAL_AS = 64_512;
/** Reached within a pass. */
const QUEUE_BYTES = 64 * 1024;

/** As the reactor lists them: one outside of our AS, one in it, one beyond 2^31. */
const PEERS: readonly PeerIdentity[] = [64_513, LOCAL_AS, 4_200_000_000].map((remoteAs, index) => ({
  index,
  name: `${NAME}-${index}`,
  group: '',
  remoteAddress: `192.0.2.${index + 1}`,
  remoteAs,
  localAddress: '192.0.2.254',
  localAs: LOCAL_AS,
}));

/** Resolves when every pass is over. */
export async function warmUpEvents(registry: CodecRegistry, log: Log, passes = PASSES): Promise<void> {
  for (let pass = 0; pass < passes; pass++) await play(new Stage(registry, log), pass);
}

async function play(stage: Stage, pass: number): Promise<void> {
  for (let from = 0; from < EVENTS; from += SLICE) {
    stage.slow = pass % 3 === 2 && from < EVENTS - SLICE;
    stage.write(from, from + SLICE, pass);
    await new Promise((resolve) => setImmediate(resolve));
  }
  stage.end();
}

class Stage {
  /** Acknowledgements wait. */
  slow = false;
  readonly #clock = new ManualClock();
  readonly #process: ProcessHandle;
  readonly #source: RingSource;
  readonly #sink: RingSink;
  readonly #row = emptyRow();
  readonly #answers: (() => void)[] = [];

  constructor(registry: CodecRegistry, log: Log) {
    const bus = new EventBus({ clock: this.#clock, log, registry });
    bus.connect(MUTE_REACTOR);
    const memory = ringMemory(RING_BYTES);
    const sink = sinkOf({ bus, log: () => log, question: (asked) => MUTE.question(asked) });
    this.#source = new RingSource(new RingReader(memory), sink);
    this.#sink = new RingSink(new RingWriter(memory), MUTE);
    this.#sink.peers(PEERS);
    this.#source.drain(1);
    const binding: ProcessBinding = { process: NAME, receive: ['update', 'negotiated', 'state', 'eor'], send: [] };
    bus.setBindings(new Map(PEERS.map(({ name }) => [name, [binding]])));
    this.#process = bus.attach({
      name: NAME,
      transport: { form: 'bytes', send: () => this.#take() },
      builtin: false,
      tier: 0,
      queue: { bytes: QUEUE_BYTES, onOverflow: 'hold-peer' },
      onFailure: () => undefined,
    });
    const structured = bus.attach({
      name: `${NAME}-columns`,
      transport: { form: 'texts', send: () => Promise.resolve() },
      structured: () => undefined,
      builtin: true,
      tier: 0,
      onFailure: () => undefined,
    });
    structured.subscribe({ events: ['state'] });
    this.#process.subscribe({
      events: ['update direction received', 'negotiated', 'state', 'eor'],
      format: 'parsed',
      encoding: 'json',
    });
    this.#say('negotiated');
    this.#say('state');
  }

  /** A row of a kind that is seldom. */
  #say(kind: 'negotiated' | 'state' | 'eor'): void {
    const row = emptyRow();
    row.kind = kind;
    row.at = this.#clock.wall();
    if (kind === 'negotiated') row.negotiated = NEGOTIATED;
    else if (kind === 'state') row.state = 'up';
    else {
      row.direction = 'received';
      row.family = IPV4_UNICAST;
    }
    this.#sink.event(row);
  }

  write(from: number, to: number, pass: number): void {
    const row = this.#row;
    row.kind = 'update';
    row.direction = 'received';
    const bytes = script(0, from, to, false);
    let at = 0;
    for (let i = from; at < bytes.length; i++) {
      const length = (bytes[at + 16]! << 8) | bytes[at + 17]!;
      row.peer = (i >>> 3) % PEERS.length;
      row.messageId = pass === 1 ? 2 ** 31 + i : i + 1;
      row.at = this.#clock.wall() + i / 8;
      row.bytes = bytes;
      row.bytesAt = at + HEADER_LENGTH;
      row.bytesLength = length - HEADER_LENGTH;
      this.#sink.event(row);
      if (i % 64 === 63) this.#drain();
      at += length;
    }
    this.#drain();
    if (!this.slow) for (const answer of this.#answers.splice(0)) answer();
  }

  end(): void {
    this.#say('eor');
    this.#drain();
    this.#process.detach();
  }

  #drain(): void {
    this.#source.drain(SLICE);
    this.#source.rest();
  }

  #take(): Promise<void> {
    if (!this.slow) return Promise.resolve();
    return new Promise((resolve) => this.#answers.push(resolve));
  }
}

const MUTE: ConstructorParameters<typeof RingSink>[1] = {
  wake: () => undefined,
  report: () => undefined,
  log: () => undefined,
  question: () => Promise.resolve({ kind: 'accept' }),
  needsEveryRow: () => false,
  hold: () => undefined,
};

const NEGOTIATED: NegotiatedSnapshot = {
  holdTimeSeconds: 90,
  keepaliveSeconds: 30,
  asn4: true,
  extendedMessage: false,
  routeRefresh: true,
  enhancedRouteRefresh: false,
  families: ['ipv4/unicast'],
  addPathSend: [],
  addPathReceive: [],
  localCapabilities: [],
  remoteCapabilities: [],
};

const MUTE_REACTOR: BusReactor = {
  interest: () => undefined,
  setHeld: () => undefined,
  cacheConsumer: () => undefined,
  releaseCached: () => Promise.resolve(undefined),
};
