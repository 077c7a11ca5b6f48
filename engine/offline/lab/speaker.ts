// One BGP session of a lab speaker: dials or waits, opens, keeps alive, sends what it is given, hands on what arrives. Small on purpose:
// one peer, no policy, no table. The daemon's sessions are engine/bgp's.
import { createServer, type Server, Socket } from 'node:net';
import type { Clock, Timer } from '../../core/clock.ts';
import { viewOf } from '../../../sdk/wire/bytes.ts';
import { writeCapability, type TypedCapability } from '../../../sdk/wire/capability/typed.ts';
import { plainContext, type WireContext } from '../../../sdk/wire/context.ts';
import type { Family } from '../../../sdk/wire/family.ts';
import {
  checkHeader,
  CLOSE_SILENTLY,
  HEADER_LENGTH,
  headerFault,
  keepalive,
  KEEPALIVE,
  NOTIFICATION,
  OPEN,
  ROUTE_REFRESH,
  UPDATE,
} from '../../../sdk/wire/message.ts';
import { negotiate, type Negotiated } from '../../../sdk/wire/negotiate.ts';
import {
  ADMINISTRATIVE_SHUTDOWN,
  CEASE,
  decodeNotification,
  encodeNotification,
  HOLD_TIMER_EXPIRED,
  type Notification,
  notification,
  notificationCodeName,
  notificationSubcodeName,
  shutdownText,
} from '../../../sdk/wire/notification.ts';
import { BGP_VERSION, decodeOpen, encodeOpen, judgeOpen, openAs, type OpenMessage, shortAs } from '../../../sdk/wire/open.ts';

export interface SpeakerOptions {
  readonly role: 'connect' | 'listen';
  readonly host: string;
  readonly port: number;
  /** Source address when dialling; '' = the system's choice. */
  readonly local: string;
  readonly as: number;
  /** 0 = any */
  readonly peerAs: number;
  /** u32 */
  readonly id: number;
  readonly families: readonly Family[];
  readonly holdTimeSeconds: number;
  readonly addPath: boolean;
}

export interface SpeakerEvents {
  /** Established. */
  up(session: EstablishedSession): void;
  /** A body: `length` bytes at `at`, without the header. Valid during the call. */
  update(bytes: Uint8Array, at: number, length: number): void;
  refresh(family: Family): void;
  down(reason: string): void;
  /** An attempt that came to no session; whoever dials tries again by itself. */
  failed(reason: string): void;
}

export interface EstablishedSession {
  readonly peerAs: number;
  readonly remoteAddress: string;
  readonly localAddress: string;
  readonly asn4: boolean;
  readonly families: readonly Family[];
  readonly addPathSend: readonly Family[];
  readonly addPathReceive: readonly Family[];
  readonly maxMessage: number;
  readonly holdTimeSeconds: number;
  /** What arrives is to be read with this. */
  readonly receive: WireContext;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2000;
const READ_BUFFER = 262_144;

export class Speaker {
  readonly #options: SpeakerOptions;
  readonly #events: SpeakerEvents;
  readonly #clock: Clock;
  readonly #open: OpenMessage;
  #server: Server | undefined;
  #socket: Socket | undefined;
  #buffer = Buffer.alloc(READ_BUFFER);
  #have = 0;
  #negotiated: Negotiated | undefined;
  #established = false;
  #retryMs = FIRST_RETRY_MS;
  #retry: Timer | undefined;
  #hold: Timer | undefined;
  #keepalive: Timer | undefined;
  #lastHeard = 0;
  #stopped = false;
  #why = '';

  constructor(options: SpeakerOptions, events: SpeakerEvents, clock: Clock) {
    this.#options = options;
    this.#events = events;
    this.#clock = clock;
    this.#open = {
      version: BGP_VERSION,
      myAs: shortAs(options.as),
      holdTimeSeconds: options.holdTimeSeconds,
      routerId: options.id,
      capabilities: capabilities(options).map(writeCapability),
    };
  }

  /** Begins; rejects only when the listening address is not to be had. */
  async start(): Promise<void> {
    if (this.#options.role === 'connect') {
      this.#dial();
      return;
    }
    const server = createServer((socket) => this.#accept(socket));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#options.port, this.#options.host, resolve);
    });
  }

  /** Sends whole messages in order; resolves when the socket took them, early when the session ends. */
  async send(buffers: readonly Uint8Array[]): Promise<void> {
    const socket = this.#socket;
    for (const buffer of buffers) {
      if (socket === undefined || socket.destroyed) return;
      if (socket.write(buffer)) continue;
      await new Promise<void>((resolve) => {
        const done = (): void => {
          socket.off('drain', done);
          socket.off('close', done);
          resolve();
        };
        socket.on('drain', done);
        socket.on('close', done);
      });
    }
  }

  /** Cease, then silence. */
  async stop(text: string): Promise<void> {
    this.#stopped = true;
    this.#retry?.cancel();
    this.#server?.close();
    const socket = this.#socket;
    if (socket === undefined || socket.destroyed) return;
    this.#notify(notification(CEASE, ADMINISTRATIVE_SHUTDOWN), text);
    await new Promise<void>((resolve) => {
      if (socket.destroyed) resolve();
      else socket.once('close', () => resolve());
    });
  }

  #dial(): void {
    if (this.#stopped) return;
    const { host, port, local } = this.#options;
    const socket = new Socket();
    socket.connect({ host, port, ...(local === '' ? {} : { localAddress: local }) });
    this.#use(socket);
    socket.once('connect', () => this.#begin(socket));
  }

  #accept(socket: Socket): void {
    if (this.#socket !== undefined && !this.#socket.destroyed) {
      socket.destroy();
      return;
    }
    this.#use(socket);
    this.#begin(socket);
  }

  #use(socket: Socket): void {
    this.#socket = socket;
    this.#have = 0;
    this.#negotiated = undefined;
    this.#established = false;
    this.#why = '';
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => {
      if (this.#why === '') this.#why = error.message;
    });
    socket.on('close', () => this.#closed(socket));
  }

  #begin(socket: Socket): void {
    this.#lastHeard = this.#clock.now();
    socket.write(encodeOpen(this.#open));
    this.#watchHold(Math.max(this.#options.holdTimeSeconds, 30));
  }

  #closed(socket: Socket): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    this.#hold?.cancel();
    this.#keepalive?.cancel();
    const why = this.#why === '' ? 'connection closed' : this.#why;
    if (this.#established) this.#events.down(why);
    else if (!this.#stopped) this.#events.failed(why);
    this.#established = false;
    if (this.#stopped || this.#options.role === 'listen') return;
    this.#retry = this.#clock.after(this.#retryMs, () => this.#dial());
    this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs * 2);
  }

  #read(chunk: Buffer): void {
    this.#lastHeard = this.#clock.now();
    if (this.#have + chunk.length > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(this.#buffer.length * 2, this.#have + chunk.length));
      larger.set(this.#buffer.subarray(0, this.#have));
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#have);
    this.#have += chunk.length;
    const view = viewOf(this.#buffer);
    let at = 0;
    while (this.#have - at >= HEADER_LENGTH) {
      const length = checkHeader(view, at, this.#negotiated?.extendedMessageReceive ?? true);
      if (length < 0) {
        if (length === CLOSE_SILENTLY) this.#drop('malformed NOTIFICATION');
        else this.#notify(notification(1, headerFault(length, at).subcode), 'header');
        return;
      }
      if (this.#have - at < length) break;
      this.#message(view.getUint8(at + 18), at, length);
      if (this.#socket?.destroyed !== false) return;
      at += length;
    }
    if (at > 0) this.#buffer.copyWithin(0, at, this.#have);
    this.#have -= at;
  }

  #message(type: number, at: number, length: number): void {
    switch (type) {
      case OPEN:
        this.#opened(at, length);
        break;
      case KEEPALIVE:
        if (this.#negotiated !== undefined && !this.#established) this.#establish();
        break;
      case UPDATE:
        if (this.#established) this.#events.update(this.#buffer, at + HEADER_LENGTH, length - HEADER_LENGTH);
        break;
      case NOTIFICATION:
        this.#drop(describe(decodeNotification(this.#buffer, at, length)));
        break;
      case ROUTE_REFRESH:
        if (length === HEADER_LENGTH + 4 && this.#buffer[at + HEADER_LENGTH + 2] === 0) {
          this.#events.refresh(
            (this.#buffer.readUInt16BE(at + HEADER_LENGTH) << 8) | (this.#buffer[at + HEADER_LENGTH + 3] ?? 0),
          );
        }
        break;
      default:
    }
  }

  #opened(at: number, length: number): void {
    const open = decodeOpen(this.#buffer, at, length);
    if (!open.ok) return this.#notify(open.fault, 'OPEN');
    const fault = judgeOpen(open.value, {
      peerAs: this.#options.peerAs,
      localAs: this.#options.as,
      localRouterId: this.#options.id,
    });
    if (fault !== undefined) return this.#notify(fault, `OPEN of AS ${openAs(open.value)}`);
    this.#negotiated = negotiate(this.#open, open.value);
    const { holdTimeSeconds, keepaliveSeconds } = this.#negotiated;
    this.#socket?.write(keepalive());
    this.#hold?.cancel();
    if (holdTimeSeconds === 0) return;
    this.#watchHold(holdTimeSeconds);
    this.#tick(keepaliveSeconds * 1000);
  }

  #establish(): void {
    const agreed = this.#negotiated;
    const socket = this.#socket;
    if (agreed === undefined || socket === undefined) return;
    this.#established = true;
    this.#retryMs = FIRST_RETRY_MS;
    this.#events.up({
      peerAs: agreed.peerAs,
      remoteAddress: socket.remoteAddress ?? '',
      localAddress: socket.localAddress ?? '',
      asn4: agreed.asn4,
      families: agreed.families,
      addPathSend: agreed.addPathSend,
      addPathReceive: agreed.addPathReceive,
      maxMessage: agreed.extendedMessageSend ? 65_535 : 4096,
      holdTimeSeconds: agreed.holdTimeSeconds,
      receive: plainContext({ ...agreed.receive, enforceFirstAs: false, refuseAsSets: false }),
    });
  }

  #tick(ms: number): void {
    this.#keepalive = this.#clock.after(ms, () => {
      this.#socket?.write(keepalive());
      this.#tick(ms);
    });
  }

  #watchHold(seconds: number): void {
    const due = this.#lastHeard + seconds * 1000 - this.#clock.now();
    this.#hold = this.#clock.after(Math.max(1, due), () => {
      if (this.#clock.now() - this.#lastHeard >= seconds * 1000 - 1)
        this.#notify(notification(HOLD_TIMER_EXPIRED), 'hold time expired');
      else this.#watchHold(seconds);
    });
  }

  /** Sends the NOTIFICATION and closes. */
  #notify(message: Notification, why: string): void {
    this.#why = `sent ${describe(message)}: ${why}`;
    const socket = this.#socket;
    if (socket === undefined) return;
    socket.end(encodeNotification(message));
    this.#clock.after(1000, () => socket.destroy(), { unref: true });
  }

  #drop(why: string): void {
    this.#why = why;
    this.#socket?.destroy();
  }
}

function capabilities(options: SpeakerOptions): readonly TypedCapability[] {
  return [
    ...options.families.map((family): TypedCapability => ({ kind: 'multiprotocol', family })),
    { kind: 'route-refresh' },
    { kind: 'extended-message' },
    { kind: 'asn4', asn: options.as },
    ...(options.addPath
      ? [{ kind: 'addpath' as const, families: options.families.map((family) => ({ family, mode: 'send-receive' as const })) }]
      : []),
  ];
}

/** `Cease / Administrative Shutdown: bye`; the peer's text is the caller's to escape. */
function describe(message: Notification | undefined): string {
  if (message === undefined) return 'NOTIFICATION';
  const name = notificationCodeName(message.code) ?? `code ${message.code}`;
  const text = shutdownText(message)?.text;
  return `${name} / ${notificationSubcodeName(message.code, message.subcode)}${text === undefined ? '' : `: ${text}`}`;
}
