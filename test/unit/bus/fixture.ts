/** Peers, rows and a reactor that only remembers, for the tests of the bus. */
import type { EventRow, PeerIdentity } from '../../../engine/bgp/port.ts';
import { type BusReactor, EventBus } from '../../../engine/bus/bus.ts';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import { ManualClock } from '../../../engine/core/clock.ts';
import { silentLog } from '../../../engine/core/log.ts';

export function peer(index: number, more: Partial<PeerIdentity> = {}): PeerIdentity {
  return {
    index,
    name: `edge-${index}`,
    group: '',
    remoteAddress: `192.0.2.${index + 1}`,
    remoteAs: 65001 + index,
    localAddress: '192.0.2.100',
    localAs: 65000,
    ...more,
  };
}

export function row(more: Partial<EventRow> = {}): EventRow {
  return {
    kind: 'keepalive',
    direction: 'received',
    peer: 0,
    messageId: 0,
    at: 0,
    bytes: new Uint8Array(0),
    bytesAt: 0,
    bytesLength: 0,
    asn4: true,
    addPath: [],
    state: '',
    reason: '',
    family: 0,
    negotiated: undefined,
    lost: 0,
    initialReplay: 0,
    ...more,
  };
}

/** An UPDATE that announces 10.0.`n`.0/24. */
export function updateRow(messageId: number, more: Partial<EventRow> = {}): EventRow {
  const bytes = Uint8Array.from([
    0,
    0, // no withdrawn routes
    0,
    20,
    0x40,
    1,
    1,
    0, // ORIGIN
    0x40,
    2,
    6,
    2,
    1,
    0,
    0,
    253,
    233, // AS_PATH 65001
    0x40,
    3,
    4,
    192,
    0,
    2,
    1, // NEXT_HOP
    24,
    10,
    (messageId >>> 8) & 0xff,
    messageId & 0xff,
  ]);
  return row({ kind: 'update', messageId, bytes, bytesLength: bytes.length, ...more });
}

export class RecordingReactor implements BusReactor {
  readonly interests: (readonly [received: number, sent: number])[] = [];
  readonly held: (readonly [peer: number, held: boolean])[] = [];
  readonly consumers: (readonly [name: string, mode: string])[] = [];
  readonly released: (readonly [consumer: string, ids: readonly number[]])[] = [];

  everyRow = false;

  interest(received: number, sent: number, everyRow: boolean): void {
    this.interests.push([received, sent]);
    this.everyRow = everyRow;
  }

  setHeld(peer: number, held: boolean): void {
    this.held.push([peer, held]);
  }

  cacheConsumer(name: string, mode: 'ordered' | 'unordered' | 'none'): void {
    this.consumers.push([name, mode]);
  }

  releaseCached(consumer: string, ids: readonly number[]): Promise<string | undefined> {
    this.released.push([consumer, [...ids]]);
    return Promise.resolve(undefined);
  }
}

export interface Bench {
  readonly bus: EventBus;
  readonly clock: ManualClock;
  readonly reactor: RecordingReactor;
  /** Ends the turn: everything queued goes to whoever can take it. */
  readonly turn: () => Promise<void>;
}

export function bench(peers: readonly PeerIdentity[] = [peer(0), peer(1)]): Bench {
  const clock = new ManualClock();
  const bus = new EventBus({ clock, log: silentLog, registry: new CodecRegistry() });
  const reactor = new RecordingReactor();
  bus.connect(reactor);
  bus.peers(peers);
  return {
    bus,
    clock,
    reactor,
    turn: () =>
      new Promise((resolve) => {
        setImmediate(resolve);
      }),
  };
}

/** A process that takes texts and acknowledges at once, or when told. */
export class TextSink {
  readonly batches: (readonly string[])[] = [];
  readonly #held: boolean;
  #waiting: { resolve: () => void; reject: (error: Error) => void } | undefined;

  constructor(held = false) {
    this.#held = held;
  }

  get texts(): readonly string[] {
    return this.batches.flat();
  }

  readonly transport = {
    form: 'texts' as const,
    send: (texts: readonly string[]): Promise<void> => {
      this.batches.push([...texts]);
      if (!this.#held) return Promise.resolve();
      return new Promise((resolve, reject) => {
        this.#waiting = { resolve, reject };
      });
    },
  };

  acknowledge(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }

  refuse(): void {
    this.#waiting?.reject(new Error('handler failed'));
    this.#waiting = undefined;
  }
}

/** A process that takes the params of deliver-batch lines. */
export class BytesSink {
  readonly params: string[] = [];

  get events(): readonly string[] {
    return this.params.flatMap((text) => (JSON.parse(text) as { events: string[] }).events);
  }

  readonly transport = {
    form: 'bytes' as const,
    send: (params: Uint8Array): Promise<void> => {
      this.params.push(Buffer.from(params).toString('utf8'));
      return Promise.resolve();
    },
  };
}
