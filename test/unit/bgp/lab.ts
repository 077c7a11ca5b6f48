// A reactor on loopback and the peers that talk to it: real sockets, port 0, nothing but bytes between them.
import assert from 'node:assert/strict';
import * as net from 'node:net';
import type {
  PeerSettings,
  ReactorAnswer,
  ReactorQuestion,
  ReactorSettings,
  Report,
  LogRecord,
  EventRow,
  ReactorSink,
  PeerIdentity,
} from '../../../engine/bgp/port.ts';
import { Reactor } from '../../../engine/bgp/reactor.ts';
import type { ReactorOptions } from '../../../engine/bgp/reactor.ts';
import type { Clock } from '../../../engine/core/clock.ts';
import { systemClock } from '../../../engine/core/clock.ts';
import { writeCapability } from '../../../sdk/wire/capability/typed.ts';
import type { TypedCapability } from '../../../sdk/wire/capability/typed.ts';
import { IPV4_UNICAST } from '../../../sdk/wire/family.ts';
import { KEEPALIVE, NOTIFICATION, OPEN, UPDATE, keepalive, writeHeader } from '../../../sdk/wire/message.ts';
import { encodeOpen } from '../../../sdk/wire/open.ts';

export const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replace(/\s+/g, ''), 'hex'));
export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Polls until `what` is truthy; fails with `says` after `ms`. */
export async function until<T>(
  what: () => T | undefined | false | Promise<T | undefined | false>,
  says: string,
  ms = 60_000,
): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const value = await what();
    if (value !== undefined && value !== false) return value;
    assert(Date.now() < end, says);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export function message(type: number, body: Uint8Array): Uint8Array {
  const out = new Uint8Array(19 + body.length);
  out.set(body, writeHeader(out, 0, out.length, type));
  return out;
}

/** An UPDATE of plain sections: withdrawn, attributes, NLRI as hex. */
export function update(withdrawn: string, attributes: string, nlri: string): Uint8Array {
  const [w, a, n] = [hex(withdrawn), hex(attributes), hex(nlri)];
  const body = new Uint8Array(4 + w.length + a.length + n.length);
  body.set([w.length >> 8, w.length & 0xff]);
  body.set(w, 2);
  body.set([a.length >> 8, a.length & 0xff], 2 + w.length);
  body.set(a, 4 + w.length);
  body.set(n, 4 + w.length + a.length);
  return message(UPDATE, body);
}

/** ORIGIN igp, AS_PATH of four-octet numbers, NEXT_HOP 192.0.2.9. */
export function attributes(...path: number[]): string {
  const asns = path.map((asn) => asn.toString(16).padStart(8, '0')).join('');
  const segment = path.length === 0 ? '' : `02${path.length.toString(16).padStart(2, '0')}${asns}`;
  return `40010100 4002${(segment.length / 2).toString(16).padStart(2, '0')}${segment} 400304c0000209`;
}

export class RecordingSink implements ReactorSink {
  readonly rows: (Omit<EventRow, 'bytes'> & { bytes: Uint8Array })[] = [];
  readonly reports: Report[] = [];
  readonly logs: LogRecord[] = [];
  identities: readonly PeerIdentity[] = [];

  event(row: EventRow): void {
    this.rows.push({ ...row, bytes: row.bytes.slice(row.bytesAt, row.bytesAt + row.bytesLength) });
  }
  peers(list: readonly PeerIdentity[]): void {
    this.identities = list;
  }
  report(report: Report): void {
    this.reports.push(report);
  }
  log(record: LogRecord): void {
    this.logs.push(record);
  }
  /** What was asked, oldest first; the test answers by `reply`. */
  readonly asked: ReactorQuestion[] = [];
  reply: (question: ReactorQuestion) => ReactorAnswer | Promise<ReactorAnswer> = () => ({ kind: 'accept' });
  question(question: ReactorQuestion): Promise<ReactorAnswer> {
    this.asked.push(question);
    return Promise.resolve(this.reply(question));
  }
  codes(): readonly string[] {
    return this.reports.map((report) => report.code);
  }
}

/** A passive eBGP peer 127.0.0.`host`, AS 64500 + host, with one family. */
export function peerSettings(host: number, more: Partial<PeerSettings> = {}): PeerSettings {
  return {
    name: `p${host}`,
    group: '',
    description: '',
    localAddress: '127.0.0.1',
    localPort: 0,
    accept: true,
    remoteAddress: `127.0.0.${host}`,
    remotePort: 179,
    connect: false,
    localAs: 64500,
    remoteAs: 64500 + host,
    routerId: 0x0a000001,
    localAsOptions: [],
    asOverride: false,
    communitySend: ['all'],
    routeReflectorClient: false,
    clusterId: 0,
    nextHop: 'auto',
    linkLocal: '',
    families: [family(IPV4_UNICAST)],
    ignoreFamilyMismatch: false,
    asn4: 'enable',
    routeRefresh: 'enable',
    extendedMessage: 'disable',
    extendedNextHop: [],
    holdTimeSeconds: 90,
    sendHoldTimeSeconds: 0,
    connectRetrySeconds: 0,
    groupUpdates: true,
    manualEor: false,
    routeServerTransparent: false,
    updates: [],
    processes: [],
    importFilters: [],
    exportFilters: [],
    ...more,
  };
}

export function family(number: number, more: Partial<PeerSettings['families'][number]> = {}): PeerSettings['families'][number] {
  return {
    family: number,
    mode: 'enable',
    prefixMaximum: 1_000_000,
    prefixWarning: 0,
    prefixTeardown: true,
    idleTimeoutSeconds: 0,
    addPath: 'none',
    ...more,
  };
}

export function reactorSettings(peers: readonly PeerSettings[], more: Partial<ReactorSettings> = {}): ReactorSettings {
  return {
    routerId: 0x0a000001,
    localAs: 64500,
    peers,
    openWaitSeconds: 120,
    announceDelayMs: 0,
    multipathMaximum: 1,
    multipathRelax: false,
    routeServerBestPath: false,
    routeServerTransparent: false,
    capabilities: [],
    portOverride: 0,
    ...more,
  };
}

export class Lab {
  readonly sink = new RecordingSink();
  readonly reactor: Reactor;
  #settings: ReactorSettings;
  readonly #speakers: Speaker[] = [];

  constructor(settings: ReactorSettings, clock: Clock = systemClock, more: Partial<ReactorOptions> = {}) {
    this.reactor = new Reactor({ clock, random: () => 1, sink: this.sink, ...more });
    this.#settings = settings;
  }

  static async of(
    peers: readonly PeerSettings[],
    more: Partial<ReactorSettings> = {},
    clock?: Clock,
    options?: Partial<ReactorOptions>,
  ): Promise<Lab> {
    const lab = new Lab(reactorSettings(peers, more), clock, options);
    await lab.reactor.apply(lab.#settings);
    await lab.reactor.start();
    return lab;
  }

  get port(): number {
    return this.reactor.listenPort('127.0.0.1', 0);
  }

  async apply(settings: ReactorSettings): ReturnType<Reactor['apply']> {
    this.#settings = settings;
    return await this.reactor.apply(settings);
  }

  /** A connection from 127.0.0.`host`, nothing said yet. */
  async connect(host: number): Promise<Speaker> {
    const socket = net.connect({ port: this.port, host: '127.0.0.1', localAddress: `127.0.0.${host}`, noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    const speaker = new Speaker(socket, host);
    this.#speakers.push(speaker);
    return speaker;
  }

  /** A session brought up to Established. */
  async session(host: number, capabilities?: readonly TypedCapability[], holdTimeSeconds = 90): Promise<Speaker> {
    const speaker = await this.connect(host);
    await speaker.establish(capabilities, holdTimeSeconds);
    await until(async () => (await this.state(host)) === 'established', `peer ${host} is established`);
    return speaker;
  }

  async state(host: number): Promise<string> {
    const all = await this.reactor.snapshot();
    return all.find((peer) => peer.settings.remoteAddress === `127.0.0.${host}`)?.state ?? 'none';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const speaker of this.#speakers) speaker.destroy();
    await this.reactor.stop('');
  }
}

export interface Heard {
  readonly type: number;
  readonly body: Uint8Array;
}

/** The other end of a session: says what it is told to, remembers what it hears. */
export class Speaker {
  readonly socket: net.Socket;
  readonly host: number;
  readonly heard: Heard[] = [];
  closed = false;
  /** Milliseconds at which KEEPALIVEs came. */
  readonly beats: number[] = [];
  #rest: Buffer = Buffer.alloc(0);

  constructor(socket: net.Socket, host: number) {
    this.socket = socket;
    this.host = host;
    socket.on('data', (chunk) => this.#hear(chunk));
    socket.on('close', () => (this.closed = true));
    socket.on('error', () => undefined);
  }

  #hear(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= 19) {
      const length = bytes.readUInt16BE(16);
      if (bytes.length < length) break;
      const type = bytes[18] ?? 0;
      if (type === KEEPALIVE) this.beats.push(performance.now());
      this.heard.push({ type, body: Uint8Array.from(bytes.subarray(19, length)) });
      bytes = bytes.subarray(length);
    }
    this.#rest = Buffer.from(bytes);
  }

  send(...messages: Uint8Array[]): void {
    this.socket.write(Buffer.concat(messages));
  }

  open(
    capabilities: readonly TypedCapability[] = PLAIN,
    holdTimeSeconds = 90,
    more: { as?: number; routerId?: number } = {},
  ): Uint8Array {
    const asn = more.as ?? 64500 + this.host;
    return encodeOpen({
      version: 4,
      myAs: asn > 0xffff ? 23456 : asn,
      holdTimeSeconds,
      routerId: more.routerId ?? 0x0a000100 + this.host,
      capabilities: [...capabilities, { kind: 'asn4', asn } as const].map(writeCapability),
    });
  }

  async establish(capabilities: readonly TypedCapability[] = PLAIN, holdTimeSeconds = 90): Promise<void> {
    this.send(this.open(capabilities, holdTimeSeconds));
    await this.hears(OPEN);
    this.send(keepalive());
    await this.hears(KEEPALIVE);
  }

  /** The first message of a type not taken yet, taken. */
  async hears(type: number, ms = 60_000): Promise<Uint8Array> {
    const at = await until(
      () => {
        const index = this.heard.findIndex((one) => one.type === type);
        return index < 0 ? undefined : index + 1;
      },
      `127.0.0.${this.host} hears a message of type ${type}`,
      ms,
    );
    return this.heard.splice(at - 1, 1)[0]?.body ?? new Uint8Array(0);
  }

  /** code/subcode and data of the NOTIFICATION that comes. */
  async notified(): Promise<string> {
    const body = await this.hears(NOTIFICATION);
    return `${body[0] ?? 0}/${body[1] ?? 0} ${toHex(body.subarray(2))}`.trim();
  }

  async ends(): Promise<void> {
    await until(() => this.closed, `127.0.0.${this.host} is closed`);
  }

  destroy(): void {
    this.socket.destroy();
  }
}

export const PLAIN: readonly TypedCapability[] = [{ kind: 'multiprotocol', family: IPV4_UNICAST }, { kind: 'route-refresh' }];
