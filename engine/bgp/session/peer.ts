/**
 * One neighbour: its settings, its machines (one, or two while two TCP connections exist), what was agreed, when to try again.
 * Frames and timers of a connection are `connection.ts`'s; routes are the reactor's, reached through `PeerHost`.
 */
import type * as net from 'node:net';
import type { ContextTable, WireContext } from '../../../sdk/wire/context.ts';
import { plainContext } from '../../../sdk/wire/context.ts';
import { HEADER_LENGTH, NOTIFICATION, UPDATE } from '../../../sdk/wire/message.ts';
import { CONNECTION_COLLISION, decodeNotification, shutdownText } from '../../../sdk/wire/notification.ts';
import type { OpenMessage } from '../../../sdk/wire/open.ts';
import { encodeOpen } from '../../../sdk/wire/open.ts';
import { printable } from '../../../sdk/wire/utf8.ts';
import type { Deadline, Deadlines } from '../../core/deadlines.ts';
import { Backoff } from './backoff.ts';
import { cease } from './cease.ts';
import type { ChunkPool } from '../send/chunk.ts';
import { Connection } from './connection.ts';
import type { ConnectionOwner } from './connection.ts';
import { MessageCounters } from '../counters.ts';
import type { LineHost } from '../filter/export-line.ts';
import { furthest, type Notice, type State } from './fsm.ts';
import { describeNegotiated, restartsGracefully } from './open.ts';
import { Opens } from './opens.ts';
import type { Agreement, Judged } from './opens.ts';
import { Outbox } from '../send/outbox.ts';
import type { NegotiatedSnapshot, PeerSettings, PluginCapability } from '../port.ts';
import { isEndOfRib, Sender, type SenderOwner } from '../send/sender.ts';
import type { ReadArea } from './session.ts';
import { Session } from './session.ts';

/** ms an attempt to connect may take before a new one replaces it. */
const CONNECT_TIMEOUT = 30_000;
const LEAST_SEND_HOLD = 480_000;

/** What a peer asks of the reactor it lives in. */
export interface PeerHost {
  readonly deadlines: Deadlines;
  readonly area: ReadArea;
  readonly contexts: ContextTable;
  readonly chunks: ChunkPool;
  readonly filters: LineHost;
  /** Asks about an OPEN that we would accept; a notice refuses it. undefined: nobody is asked. */
  validateOpen(peer: Peer, local: OpenMessage, remote: OpenMessage): Promise<Notice | undefined> | undefined;
  openWaitMs(): number;
  /** Every peer's port, 0 = its own. */
  portOverride(): number;
  capabilities(): readonly PluginCapability[];
  random(): number;
  /** A message passed: for events. */
  passed(peer: Peer, type: number, sent: boolean, bytes: Uint8Array, at: number, length: number): void;
  up(peer: Peer): void;
  down(peer: Peer, reason: string): void;
  update(peer: Peer, at: number, length: number): void;
  refresh(peer: Peer, at: number, length: number): void;
  readDone(peer: Peer): void;
  wrote(peer: Peer): void;
  stateChanged(peer: Peer, from: State, to: State): void;
  /** The peer's outbox is no longer empty. */
  gathered(peer: Peer): void;
  tcpFailed(peer: Peer, code: string): void;
  failed(peer: Peer, code: 'notification-sent' | 'notification-received' | 'session-dropped', message: string): void;
}

/** Why a peer's socket is not read; any one of them holds it. */
export const HELD_BY_OPERATOR = 1;
export const HELD_BY_CONSUMER = 2;
export const HELD_BY_PIPELINE = 4;
export const HELD_BY_RING = 8;
export const HELD_BY_CONGESTION = 16;

export class Peer implements ConnectionOwner, SenderOwner {
  readonly index: number;
  settings: PeerSettings;
  readonly counters = new MessageCounters();
  readonly outbox: Outbox;
  readonly area: ReadArea;
  /** The machine that counts; the rival exists while a second connection does (RFC 4271 §6.8). */
  #primary: Connection;
  #rival: Connection;
  readonly #opens: Opens;
  readonly #host: PeerHost;
  readonly #restart: Deadline;
  readonly #backoff: Backoff;
  #running = false;
  #holds = 0;
  /** Down until the operator or a new configuration says otherwise. */
  adminDown = false;
  /** Contexts of the established session; the plain one while down. */
  receive: WireContext = DOWN;
  send: WireContext = DOWN;
  /** ms since the epoch, 0 = never. */
  establishedAt = 0;
  #upSince = 0;
  lastDownReason = '';
  flaps = 0;
  #bytesReceivedBefore = 0;
  #bytesSentBefore = 0;
  #gapBefore = 0;
  readonly sender: Sender;

  constructor(host: PeerHost, index: number, settings: PeerSettings) {
    this.#host = host;
    this.index = index;
    this.settings = settings;
    this.area = host.area;
    this.#opens = new Opens(host.contexts);
    this.outbox = new Outbox(this, host.chunks);
    this.#primary = new Connection(this, host.deadlines);
    this.#rival = new Connection(this, host.deadlines);
    this.sender = new Sender(this, this, { ...host.filters, now: () => host.deadlines.clock.now() });
    this.#restart = host.deadlines.create(() => this.#start(false));
    this.#backoff = new Backoff(settings.connectRetrySeconds);
  }

  get openWaitMs(): number {
    return this.#host.openWaitMs();
  }

  get holding(): boolean {
    return this.#holds !== 0;
  }

  heldBy(who: number): boolean {
    return (this.#holds & who) !== 0;
  }

  get established(): boolean {
    return this.#primary.state === 'established';
  }

  /** The state the operator sees: that of the connection that got furthest. */
  get state(): State {
    return furthest(this.#primary.state, this.#rival.state);
  }

  get agreement(): Agreement | undefined {
    return this.#opens.agreement(this.#primary);
  }

  get session(): Session | undefined {
    return this.#primary.session;
  }

  /** Bytes on their way to the peer that the kernel has not taken. */
  get queuedBytes(): number {
    return (this.#primary.session?.queuedBytes ?? 0) + this.sender.waitingBytes;
  }

  /** ms of the clock when bytes to the peer last got on; -Infinity while there is no session. */
  get progressAt(): number {
    return this.sender.progressAt;
  }

  get bytesReceived(): number {
    return this.#bytesReceivedBefore + (this.#primary.session?.bytesReceived ?? 0);
  }

  get bytesSent(): number {
    return this.#bytesSentBefore + (this.#primary.session?.bytesSent ?? 0);
  }

  get largestKeepaliveGapMs(): number {
    return this.established ? this.#primary.largestKeepaliveGap : this.#gapBefore;
  }

  negotiatedSnapshot(): NegotiatedSnapshot | undefined {
    const agreement = this.agreement;
    return agreement === undefined ? undefined : describeNegotiated(agreement.local, agreement.remote, agreement.negotiated);
  }

  /** u32 the peer sent in its OPEN; 0 when down. */
  get remoteRouterId(): number {
    return this.agreement?.remote.routerId ?? 0;
  }

  // Commands of the reactor.

  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#start(true);
  }

  /** Changes that need no new session. */
  configure(settings: PeerSettings): void {
    this.settings = settings;
    this.#backoff.configure(settings.connectRetrySeconds);
    this.#primary.sendHoldMs = this.#sendHoldMs(this.#primary.holdMs);
    if (this.established) this.sender.configure();
  }

  /** Ends the session with a Cease; `again`: it comes back by itself. A peer that is down for good is woken by that. */
  stop(notice: Notice, reason: string, again: boolean): void {
    this.#running = again;
    if (again) this.adminDown = false;
    this.#restart.clear();
    const stopped = this.#primary.state !== 'idle';
    this.#rival.apply({ kind: 'stop', notice, reason, damp: false });
    this.#primary.apply({ kind: 'stop', notice, reason, damp: false });
    if (!again) return;
    if (stopped) this.#listen();
    else this.#start(true);
  }

  /** Prefix limit: down for `waitMs`, or for good when 0. */
  stopFor(notice: Notice, reason: string, idleTimeoutSeconds: number): void {
    const waitMs = this.#backoff.afterLimit(idleTimeoutSeconds);
    this.stop(notice, reason, false);
    this.#running = true;
    this.adminDown = waitMs === 0;
    if (waitMs > 0) this.#restart.in(waitMs);
  }

  /** A fault found above the connection: in an UPDATE, a refresh, a filter. */
  fault(notice: Notice, reason: string): void {
    this.#primary.apply({ kind: 'fault', notice, reason });
  }

  /** Takes an accepted connection, or says no: nobody waits for one, or two are here already. */
  accept(socket: net.Socket): boolean {
    if (!this.#running || this.adminDown || !this.settings.accept || this.#primary.state === 'idle') return false;
    const connection = this.#primary.state === 'active' ? this.#primary : this.#rival;
    if (connection === this.#rival) {
      if (this.#rival.state !== 'idle') return false;
      this.#rival.apply({ kind: 'start', passive: true });
    }
    this.#backoff.reset();
    connection.adopt(Session.accept(this.area, connection, this.#host.deadlines, socket));
    return true;
  }

  hold(who: number, held: boolean): void {
    const before = this.#holds;
    this.#holds = held ? before | who : before & ~who;
    if (!this.established) return;
    if (before === 0 && this.#holds !== 0) this.#primary.session?.pause();
    if (before === 0 || this.#holds !== 0) return;
    this.#primary.session?.resume();
    this.#primary.listenAgain();
  }

  /** Messages of any kind, whole; counted one by one. */
  sendMessages(bytes: Uint8Array, done?: () => void): void {
    if (this.#primary.session === undefined || !this.established) {
      done?.();
      return;
    }
    this.sender.messages(bytes, done);
  }

  /** Bytes as they are, in the order of everything else to the peer; false: there is no connection. */
  sendRaw(bytes: Uint8Array): boolean {
    const { session, state } = this.#primary;
    if (session === undefined || state === 'idle' || state === 'connect' || state === 'active') return false;
    this.sender.raw(bytes);
    return true;
  }

  /** UPDATEs only, their number known: nothing is looked at unless somebody wants events. */
  sendUpdates(bytes: Uint8Array, messages: number, watched: boolean, done: () => void): void {
    if (this.#primary.session === undefined || !this.established) {
      done();
      return;
    }
    if (this.outbox.isShut) {
      this.outbox.put(bytes);
      done();
      return;
    }
    if (watched || this.sender.filters) {
      this.sender.messages(bytes, done, true);
      return;
    }
    this.counters.updatesSent += messages;
    this.sender.write(bytes, done);
  }

  /** A message of any kind after everything gathered so far; leaves with the next flush. */
  put(message: Uint8Array, at = 0, length: number = message.length): void {
    if (!this.established) return;
    if (this.outbox.empty) this.#host.gathered(this);
    this.outbox.put(message, at, length);
  }

  cork(): void {
    this.#primary.session?.cork();
  }

  uncork(): void {
    this.#primary.session?.uncork();
  }

  // What the machines ask (ConnectionOwner).

  dial(connection: Connection): void {
    const { remoteAddress, localAddress } = this.settings;
    const override = this.#host.portOverride();
    const port = override > 0 ? override : this.settings.remotePort;
    connection.session = Session.dial(this.area, connection, this.#host.deadlines, { host: remoteAddress, port, localAddress });
  }

  connectRetryMs(connection: Connection): number {
    if (connection === this.#rival || !this.settings.connect) return 0;
    return connection.state === 'connect' ? CONNECT_TIMEOUT : this.#backoff.nextDial();
  }

  openMessage(connection: Connection): Uint8Array {
    const open = this.#opens.offer(connection, this.settings, this.#host.capabilities());
    if (connection.session !== undefined) {
      connection.session.extendedReceive =
        this.settings.extendedMessage === 'enable' || this.settings.extendedMessage === 'require';
    }
    return encodeOpen(open);
  }

  judgeOpen(connection: Connection, at: number, length: number): Notice | undefined {
    return this.#opens.judge(connection, this.settings, this.area.bytes, at, length);
  }

  validateOpen(connection: Connection): Promise<Notice | undefined> | undefined {
    const judged = this.#opens.judged(connection);
    // Beside an established session it will be refused anyway, unless that is to be replaced.
    if (judged === undefined || (this.#other(connection).state === 'established' && !this.#gives(connection))) return undefined;
    return this.#host.validateOpen(this, judged.local, judged.remote);
  }

  enterOpen(connection: Connection): boolean {
    const judged = this.#opens.judged(connection);
    if (judged === undefined || !this.#survives(connection, judged)) return false;
    this.#opens.enter(connection, judged);
    connection.holdMs = judged.negotiated.holdTimeSeconds * 1000;
    connection.sendHoldMs = this.#sendHoldMs(connection.holdMs);
    return true;
  }

  jitter(): number {
    return 0.75 + 0.25 * this.#host.random();
  }

  sessionUp(connection: Connection): void {
    if (connection === this.#rival) {
      this.#rival = this.#primary;
      this.#primary = connection;
    }
    // An attempt still under way is pointless now; one that got further is judged when its OPEN comes.
    if (this.#rival.state === 'connect' || this.#rival.state === 'active') {
      this.#rival.apply({ kind: 'collision', notice: COLLISION });
    }
    const agreement = this.#opens.agreement(connection)!;
    this.receive = agreement.receive;
    this.send = agreement.send;
    this.#backoff.reset();
    this.#upSince = this.#host.deadlines.clock.now();
    this.establishedAt = this.#host.deadlines.clock.wall();
    if (this.#holds !== 0) connection.session?.pause();
    this.sender.open();
    this.#host.up(this);
  }

  sessionDown(_connection: Connection, reason: string): void {
    this.lastDownReason = reason;
    this.flaps++;
    this.receive = DOWN;
    this.send = DOWN;
    this.outbox.clear();
    this.sender.close();
    this.#host.down(this, reason);
  }

  ended(connection: Connection, reason: string, again: boolean, damp: boolean): void {
    this.#opens.forget(connection);
    if (connection === this.#rival || !this.#running) return;
    if (this.#rival.state !== 'idle') {
      // The other connection carries on.
      this.#primary = this.#rival;
      this.#rival = connection;
      return;
    }
    if (!again) return;
    // A vain attempt says less than why the last session went, unless the peer itself was at fault.
    if (damp || this.flaps === 0) this.lastDownReason = reason;
    const stood = this.#upSince === 0 ? 0 : this.#host.deadlines.clock.now() - this.#upSince;
    this.#upSince = 0;
    const idle = damp ? this.#backoff.afterError(stood) : 0;
    if (idle > 0) this.#restart.in(idle);
    else this.#listen();
  }

  stateChanged(connection: Connection, from: State): void {
    if (connection === this.#primary) this.#host.stateChanged(this, from, connection.state);
  }

  /** The session of a connection is about to go: its totals stay. */
  parted(connection: Connection, session: Session): void {
    if (connection !== this.#primary) return;
    this.#bytesReceivedBefore += session.bytesReceived;
    this.#bytesSentBefore += session.bytesSent;
    this.#gapBefore = connection.largestKeepaliveGap;
  }

  tcpFailed(_connection: Connection, code: string): void {
    this.#host.tcpFailed(this, code);
  }

  seen(type: number, sent: boolean, bytes: Uint8Array, at: number, length: number): void {
    if (sent) this.counters.sent(type);
    else this.counters.received(type);
    if (sent && type === UPDATE && isEndOfRib(bytes, at, length)) this.counters.eorSent++;
    if (sent && type === NOTIFICATION) {
      const code = bytes[at + HEADER_LENGTH]!;
      this.#host.failed(this, 'notification-sent', `sent NOTIFICATION ${code}/${bytes[at + HEADER_LENGTH + 1]!}`);
    }
    this.#host.passed(this, type, sent, bytes, at, length);
  }

  update(at: number, length: number): void {
    this.#host.update(this, at, length);
  }

  refresh(at: number, length: number): void {
    this.#host.refresh(this, at, length);
  }

  notified(code: number, subcode: number, at: number, length: number): string {
    const message = decodeNotification(this.area.bytes, at, length);
    const words = message === undefined ? undefined : shutdownText(message);
    const text = words === undefined ? '' : `: ${printable(words.text)}`;
    this.#host.failed(this, 'notification-received', `received NOTIFICATION ${code}/${subcode}${text}`);
    return 'notification';
  }

  muted(): void {
    this.#host.failed(this, 'notification-received', 'received a malformed NOTIFICATION');
  }

  readDone(): void {
    this.#host.readDone(this);
  }

  queued(): void {
    this.#primary.watchSending();
  }

  moved(): void {
    this.#host.wrote(this);
  }

  wrote(connection: Connection): void {
    if (connection === this.#primary) this.#host.wrote(this);
  }

  #other(connection: Connection): Connection {
    return connection === this.#primary ? this.#rival : this.#primary;
  }

  /** RFC 4724 §4.2: a restarted peer's new connection replaces the established one. */
  #gives(connection: Connection): boolean {
    const agreement = this.#opens.agreement(this.#other(connection));
    return agreement !== undefined && restartsGracefully(agreement.local, agreement.negotiated);
  }

  /** RFC 4271 §6.8 and RFC 6286 §2.3: of two connections the one that the higher identifier (then AS) began survives. */
  #survives(connection: Connection, { local, remote }: Judged): boolean {
    const other = this.#other(connection);
    if (other.state === 'established') {
      if (!this.#gives(connection)) {
        connection.apply({ kind: 'collision', notice: COLLISION });
        return false;
      }
      // The old one is closed without a word.
      other.apply({ kind: 'tcp-failed', reason: 'tcp-failure' });
      return true;
    }
    if (other.state !== 'open-confirm') return true;
    const weAreHigher =
      local.routerId === remote.routerId ? this.settings.localAs > this.settings.remoteAs : local.routerId > remote.routerId;
    const keepsNew = weAreHigher ? connection.session?.incoming === false : connection.session?.incoming === true;
    (keepsNew ? other : connection).apply({ kind: 'collision', notice: COLLISION });
    return keepsNew;
  }

  #start(dialNow: boolean): void {
    if (!this.#running || this.adminDown) return;
    if (dialNow && this.settings.connect) this.#primary.apply({ kind: 'start', passive: false });
    else this.#listen();
  }

  /** Active: the peer may connect, and we dial when the backoff is over. */
  #listen(): void {
    this.#primary.apply({ kind: 'start', passive: true });
  }

  #sendHoldMs(holdMs: number): number {
    const { sendHoldTimeSeconds } = this.settings;
    return sendHoldTimeSeconds > 0 ? sendHoldTimeSeconds * 1000 : Math.max(LEAST_SEND_HOLD, 2 * holdMs);
  }
}

const DOWN = plainContext({ families: [] });
const COLLISION = cease(CONNECTION_COLLISION);
