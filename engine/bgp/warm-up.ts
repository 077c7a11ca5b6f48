/**
 * Runs synthetic messages through the real classes before anything listens, so that the first real table meets compiled code
 * (route-path notes: a cold start costs a third of the first 100 000 routes). A reactor of its own, two peers over sockets that are
 * no sockets; announce, announce anew, announce the same, End-of-RIB, withdraw; in slices. Whoever starts the thread may attach the plugins
 * of the route path.
 *
 * What the compiler has seen only once it takes for granted: one clock, one set of callbacks, addresses below 128.0.0.0, messages that
 * come whole. The first real message would prove it wrong, and thirty functions would be compiled again among the routes. So the real
 * clock is used, and a second, shorter rehearsal with objects of its own runs in the middle of the first.
 */
import { EventEmitter } from 'node:events';
import type * as net from 'node:net';
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import { writeCapability } from '../../sdk/wire/capability/typed.ts';
import { IPV4_UNICAST } from '../../sdk/wire/family.ts';
import { keepalive } from '../../sdk/wire/message.ts';
import { writeU32 } from '../../sdk/wire/nlri/prefix.ts';
import { BGP_VERSION, encodeOpen } from '../../sdk/wire/open.ts';
import { endOfRib, UpdateWriter } from '../../sdk/wire/writer.ts';
import { systemClock } from '../core/clock.ts';
import { RingReader, RingWriter, ringMemory } from '../core/ring.ts';
import { RingSink, RingSource } from './events/event-ring.ts';
import type { PeerSettings, ReactorSettings } from './port.ts';
import { Reactor } from './reactor.ts';

const LOCAL_AS = 64_512;
const HOLD_SECONDS = 180;
/** On average, behind one attribute set. */
const PREFIXES = 5;
/** Messages between two turns of the event loop. */
const SLICE = 500;
/** Room for the events of a slice, and a part that is begun anew when it is empty. */
const RING_BYTES = 256 * 1024;
/** The bits of all kinds of events. */
const EVERYTHING = 0x7fff_ffff;

/** Puts plugins on a rehearsal; each call of `scope` is the route path for one of them. */
export type Attach = (scope: () => RoutePath) => void;

/**
 * Feeds about `messages` messages.
 *
 * Resolves to the rehearsal, WHICH IS TO BE KEPT for the life of the thread. Its tables reserve columns of many megabytes that cost
 * nothing until they are touched, because the C library maps them freshly; once one such block has been freed, it serves the
 * next ones from memory it has to clear, and the real tables would be resident in full (30 MB measured).
 */
export async function warmUp(messages: number, attach?: Attach): Promise<object> {
  const count = Math.max(8, Math.floor(messages / 6));
  const stage = await Stage.open(attach);
  // Ready before anything is freed, for the same reason: what it reserves is not resident then. It plays later.
  const other = await Stage.open(attach);
  await other.alone(0);
  await other.join();
  await stage.alone(count);
  await stage.join();
  await stage.play(0, 0, count);
  await other.playAll(count >>> 3);
  await stage.playAll(count);
  stage.close();
  other.close();
  return [stage, other];
}

/** A reactor and its two peers. */
class Stage {
  readonly #reactor: Reactor;
  /** What the reactor tells of the messages; read and forgotten. */
  readonly #events: RingSource;
  readonly #first = new StageSocket();
  readonly #second = new StageSocket();

  private constructor(reactor: Reactor, events: RingSource) {
    this.#reactor = reactor;
    this.#events = events;
  }

  static async open(attach: Attach | undefined): Promise<Stage> {
    const memory = ringMemory(RING_BYTES);
    const sink = new RingSink(new RingWriter(memory), MUTE);
    const reactor = new Reactor({ clock: systemClock, random: Math.random, sink });
    attach?.(() => reactor.scope());
    await reactor.apply(rehearsal());
    reactor.rehearse();
    reactor.interest(EVERYTHING, 0);
    return new Stage(reactor, new RingSource(new RingReader(memory), NOBODY));
  }

  /** No timer of it is left. */
  close(): void {
    this.#reactor.rehearsed();
  }

  /** The first peer has nobody to pass its routes to. */
  async alone(count: number): Promise<void> {
    this.#meet(this.#first, 1);
    await turn();
    await this.play(0, 0, count >>> 2);
  }

  /** The second comes, and gets what is there. */
  async join(): Promise<void> {
    this.#meet(this.#second, 2);
    await turn();
  }

  async playAll(count: number): Promise<void> {
    await this.play(1, 0, count);
    // With events for plugins and without.
    this.#reactor.interest(0, 0);
    await this.play(2, 0, count);
    // Attributes that come for the third time are known to be good.
    for (let again = 0; again < 3; again++) await this.play(2, 0, count >>> 6);
    this.#first.say(endOfRib(IPV4_UNICAST));
    this.#second.say(endOfRib(IPV4_UNICAST));
    this.#reactor.interest(EVERYTHING, 0);
    await this.play(3, 0, count);
    await this.play(4, 0, count);
  }

  async play(round: number, from: number, to: number): Promise<void> {
    const socket = round === 1 || round === 4 ? this.#second : this.#first;
    for (let at = from; at < to; at += SLICE) {
      const bytes = script(round, at, Math.min(to, at + SLICE), round >= 3);
      // The last message comes in two parts.
      socket.say(bytes.subarray(0, -9));
      socket.say(bytes.subarray(-9));
      await turn();
      this.#events.drain(Infinity);
      this.#events.rest();
    }
  }

  #meet(socket: StageSocket, index: number): void {
    this.#reactor.adopt(socket as unknown as net.Socket, `192.0.2.${index}`);
    socket.say(hello(index));
    socket.say(keepalive());
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A run of UPDATEs: runs of prefixes behind attribute sets of the kinds a table has, different by round and message. */
export function script(round: number, from: number, to: number, withdraw: boolean): Uint8Array {
  const out = new Uint8Array((to - from) * 128);
  const writer = new UpdateWriter().over(out);
  const block = new Uint8Array(64);
  const peerAs = LOCAL_AS + (round === 1 || round === 4 ? 2 : 1);
  for (let i = from; i < to; i++) {
    const length = attributesOf(block, peerAs, round, i);
    if (withdraw) writer.beginWithdraw(IPV4_UNICAST, false, 4096);
    else writer.beginAnnounce(IPV4_UNICAST, false, 4096, block, 0, length);
    for (let p = 0; p < 1 + ((i * 7) % (2 * PREFIXES)); p++) {
      writer.addIpv4(((Math.imul(i + 1, 0x9e3779b1) & ~0xfff) + p * 256) >>> 0, 24 - ((i + p) % 9), 0);
    }
  }
  writer.close();
  return out.subarray(0, writer.used);
}

/** ORIGIN, a path of 2 to 6, NEXT_HOP; MED on a third, communities on two thirds. */
function attributesOf(block: Uint8Array, peerAs: number, round: number, i: number): number {
  const hops = 2 + (i % 5);
  let at = 0;
  block.set([0x40, 1, 1, i % 10 === 0 ? 2 : 0, 0x40, 2, 2 + 4 * hops, 2, hops], at);
  at = writeU32(block, 9, peerAs);
  for (let hop = 1; hop < hops; hop++)
    at = writeU32(block, at, hop === hops - 1 ? 1 + round * 1_000_000 + i : 65_000 + ((i * hop) % 500));
  block.set([0x40, 3, 4, 192, 0, 2, 9], at);
  at += 7;
  if (i % 3 === 0) {
    block.set([0x80, 4, 4], at);
    at = writeU32(block, at + 3, i % 100);
  }
  if (i % 3 === 1) return at;
  block.set([0xc0, 8, 4 * (1 + (i & 1))], at);
  at = writeU32(block, at + 3, 0x10000 + i);
  return (i & 1) === 0 ? at : writeU32(block, at, 0x20000 + i);
}

function hello(index: number): Uint8Array {
  const capabilities = [
    writeCapability({ kind: 'multiprotocol', family: IPV4_UNICAST }),
    writeCapability({ kind: 'asn4', asn: LOCAL_AS + index }),
  ];
  return encodeOpen({
    version: BGP_VERSION,
    myAs: LOCAL_AS + index,
    holdTimeSeconds: HOLD_SECONDS,
    routerId: index,
    capabilities,
  });
}

/** Speaks and listens like an accepted connection; what is written to it is taken at once. */
class StageSocket extends EventEmitter {
  readonly localAddress = '192.0.2.254';
  readonly remoteAddress = '';
  readonly writableLength = 0;
  readonly connecting = false;

  say(bytes: Uint8Array): void {
    this.emit('data', Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }

  write(_bytes: Uint8Array, done: () => void): boolean {
    queueMicrotask(done);
    return true;
  }

  end(): this {
    return this.destroy();
  }

  destroy(): this {
    setImmediate(() => this.emit('close'));
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  pause(): this {
    return this;
  }

  resume(): this {
    return this;
  }

  cork(): void {
    // One write or many: it makes no difference here.
  }

  uncork(): void {
    // See cork.
  }
}

const NOBODY: ConstructorParameters<typeof RingSource>[1] = { event: () => undefined, peers: () => undefined };

const MUTE: ConstructorParameters<typeof RingSink>[1] = {
  wake: () => undefined,
  report: () => undefined,
  log: () => undefined,
  question: () => Promise.resolve({ kind: 'accept' }),
  needsEveryRow: () => false,
  hold: () => undefined,
};

function rehearsal(): ReactorSettings {
  const peer = (index: number): PeerSettings => ({
    name: `rehearsal-${index}`,
    group: '',
    description: '',
    localAddress: '192.0.2.254',
    localPort: 0,
    accept: true,
    remoteAddress: `192.0.2.${index}`,
    remotePort: 0,
    connect: false,
    localAs: LOCAL_AS,
    remoteAs: LOCAL_AS + index,
    routerId: 9,
    localAsOptions: [],
    asOverride: false,
    communitySend: ['all'],
    routeReflectorClient: false,
    clusterId: 0,
    nextHop: 'auto',
    linkLocal: '',
    families: [
      {
        family: IPV4_UNICAST,
        mode: 'enable',
        prefixMaximum: 10_000_000,
        prefixWarning: 9_000_000,
        prefixTeardown: true,
        idleTimeoutSeconds: 0,
        addPath: 'none',
      },
    ],
    ignoreFamilyMismatch: false,
    asn4: 'enable',
    routeRefresh: 'enable',
    extendedMessage: 'disable',
    extendedNextHop: [],
    holdTimeSeconds: HOLD_SECONDS,
    sendHoldTimeSeconds: 0,
    connectRetrySeconds: 0,
    groupUpdates: true,
    manualEor: false,
    routeServerTransparent: false,
    updates: [],
    processes: [],
    importFilters: [],
    exportFilters: [],
  });
  return {
    routerId: 9,
    localAs: LOCAL_AS,
    peers: [peer(1), peer(2)],
    openWaitSeconds: 120,
    announceDelayMs: 0,
    multipathMaximum: 1,
    multipathRelax: false,
    routeServerBestPath: true,
    routeServerTransparent: false,
    capabilities: [],
    portOverride: 0,
  };
}
