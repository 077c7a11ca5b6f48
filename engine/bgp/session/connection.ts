/**
 * One machine of a neighbour at work: `fsm.ts` decides, this performs. It owns a TCP session while there is one, the timers of
 * the connection, and hears every message first. What concerns the neighbour as a whole (dialling, collisions, damping, the
 * session coming up) it asks of its `ConnectionOwner`, the peer.
 */
import {
  CLOSE_SILENTLY,
  HEADER_LENGTH,
  KEEPALIVE,
  NOTIFICATION,
  OPEN,
  ROUTE_REFRESH,
  UPDATE,
  headerFault,
  keepalive,
} from '../../../sdk/wire/message.ts';
import { encodeNotification } from '../../../sdk/wire/notification.ts';
import { unreachable } from '../../core/assert.ts';
import type { Deadline, Deadlines } from '../../core/deadlines.ts';
import { connected, step } from './fsm.ts';
import type { Effect, Event, Notice, State, TimerName } from './fsm.ts';
import type { ReadArea, Session, SessionOwner } from './session.ts';

/** RFC 6608: an OPEN out of place in OpenSent. */
const UNEXPECTED_OPEN: Notice = { code: 5, subcode: 1, data: Uint8Array.of(OPEN) };
const KEEPALIVE_MESSAGE = keepalive();
/** ms granted to a hold timer that expired although the event loop may not have read what waits in the kernel. */
const HOLD_GRACE = 1000;

export interface ConnectionOwner {
  readonly area: ReadArea;
  readonly openWaitMs: number;
  /** The effect 'dial': `connection` gets a session by `adopt`. */
  dial(connection: Connection): void;
  /** ms of the connect-retry timer to be started now, for the state just entered; 0 = this machine does not dial. */
  connectRetryMs(connection: Connection): number;
  openMessage(connection: Connection): Uint8Array;
  /** Judges the OPEN at `at`; a notice refuses it. */
  judgeOpen(connection: Connection, at: number, length: number): Notice | undefined;
  /** Has others judge the OPEN that was accepted; undefined: there is nobody to wait for. */
  validateOpen(connection: Connection): Promise<Notice | undefined> | undefined;
  /** The OPEN counts; false: this connection was dropped in favour of another. */
  enterOpen(connection: Connection): boolean;
  /** Between 0.75 and 1: RFC 4271 §10 asks for jitter, never beyond a third of the hold time. */
  jitter(): number;
  sessionUp(connection: Connection): void;
  sessionDown(connection: Connection, reason: string): void;
  /** The machine went idle: restart after damping or not at all. `reason` is what ended it. */
  ended(connection: Connection, reason: string, again: boolean, damp: boolean): void;
  stateChanged(connection: Connection, from: State): void;
  /** The connection lets go of its session: totals are to be kept. */
  parted(connection: Connection, session: Session): void;
  /** Why TCP failed, for the log: ECONNREFUSED, … */
  tcpFailed(connection: Connection, code: string): void;
  /** A message passed in this direction: for counters and events. `at` counts from the header in `bytes`. */
  seen(type: number, sent: boolean, bytes: Uint8Array, at: number, length: number): void;
  update(at: number, length: number): void;
  refresh(at: number, length: number): void;
  notified(code: number, subcode: number, at: number, length: number): string;
  /** A NOTIFICATION came that is itself malformed: the connection ends without a word. */
  muted(): void;
  /** We do not read this session now, so its silence is ours. */
  readonly holding: boolean;
  readDone(): void;
  wrote(connection: Connection): void;
}

export class Connection implements SessionOwner {
  state: State = 'idle';
  session: Session | undefined;
  /** ms; 0 = none. Negotiated once the OPEN is in. */
  holdMs = 0;
  sendHoldMs = 0;
  /** ms of the clock of the last KEEPALIVE sent, and the largest gap so far, while established. */
  keepaliveAt = 0;
  largestKeepaliveGap = 0;
  /** ms of the clock when a whole message was last read. */
  heardAt = 0;
  readonly #owner: ConnectionOwner;
  readonly #deadlines: Deadlines;
  readonly #retry: Deadline;
  readonly #openWait: Deadline;
  readonly #hold: Deadline;
  readonly #keepalive: Deadline;
  readonly #sendHold: Deadline;
  #heard = false;
  #graced = false;
  /** The question about the peer's OPEN that is out. */
  #judging: Promise<Notice | undefined> | undefined;
  /** A KEEPALIVE came meanwhile. */
  #confirmed = false;

  constructor(owner: ConnectionOwner, deadlines: Deadlines) {
    this.#owner = owner;
    this.#deadlines = deadlines;
    this.#retry = deadlines.create(() => this.apply({ kind: 'connect-retry-expired' }));
    this.#openWait = deadlines.create(() => this.apply({ kind: 'open-wait-expired' }));
    this.#hold = deadlines.create(() => this.#holdDue());
    this.#keepalive = deadlines.create(() => this.apply({ kind: 'keepalive-due' }));
    this.#sendHold = deadlines.create(() => this.#sendHoldDue());
  }

  /** One event through the machine; effects are performed in order. */
  apply(event: Event): void {
    const { to, effects } = step(this.state, event);
    const from = this.state;
    const changed = to !== from;
    this.state = to;
    let reason = '';
    let again = false;
    let damp = false;
    for (const effect of effects) {
      if (effect.kind === 'drop') reason = effect.reason;
      else if (effect.kind === 'again') again = true;
      else if (effect.kind === 'damp') damp = true;
      this.#perform(effect);
    }
    if (changed) this.#owner.stateChanged(this, from);
    if (to === 'idle' && changed) this.#owner.ended(this, reason, again, damp);
  }

  /** A TCP connection for this machine: still connecting when we dialled, up when accepted. */
  adopt(session: Session): void {
    this.session = session;
    if (session.incoming) this.apply({ kind: 'connected' });
  }

  send(message: Uint8Array): void {
    this.session?.write(message);
    this.#owner.seen(message[HEADER_LENGTH - 1] ?? 0, true, message, 0, message.length);
  }

  /** Bytes were queued on the session: from now on the kernel must take some in time (RFC 9687). */
  watchSending(): void {
    if (this.sendHoldMs > 0 && !this.#sendHold.set && this.session !== undefined && this.session.queuedBytes > 0) {
      this.#sendHold.in(this.sendHoldMs);
    }
  }

  /** We read again after a pause of ours: the peer has its whole hold time from now. */
  listenAgain(): void {
    this.#graced = false;
    if (this.holdMs > 0 && this.state === 'established') this.#hold.in(this.holdMs);
  }

  // What the session tells.

  sessionConnected(): void {
    this.apply({ kind: 'connected' });
  }

  sessionFailed(code: string): void {
    this.#release();
    this.#owner.tcpFailed(this, code);
    this.apply({ kind: 'tcp-failed', reason: 'tcp-failure' });
  }

  message(type: number, at: number, length: number): void {
    this.#heard = true;
    const bytes = this.#owner.area.bytes;
    if (type === UPDATE && this.state === 'established') {
      // The step of an UPDATE in Established is known: the hold timer is armed when the read is done.
      this.#owner.update(at, length);
      return;
    }
    this.#owner.seen(type, false, bytes, at, length);
    switch (type) {
      case OPEN:
        this.#openReceived(at, length);
        break;
      case UPDATE:
        this.apply({ kind: 'update' });
        break;
      case NOTIFICATION: {
        const code = bytes[at + HEADER_LENGTH]!;
        const subcode = bytes[at + HEADER_LENGTH + 1]!;
        const reason = this.#owner.notified(code, subcode, at, length);
        this.apply({ kind: 'notification', code, subcode, reason });
        break;
      }
      case KEEPALIVE:
        // The peer confirms our OPEN while its own is still judged.
        if (this.#judging !== undefined) this.#confirmed = true;
        else this.apply({ kind: 'keepalive' });
        break;
      case ROUTE_REFRESH:
        if (this.state === 'established') this.#owner.refresh(at, length);
        else this.apply({ kind: 'refresh' });
        break;
    }
  }

  badHeader(result: number, at: number): void {
    if (result === CLOSE_SILENTLY) {
      this.#owner.muted();
      this.apply({ kind: 'mute' });
      return;
    }
    const fault = headerFault(result, at);
    const data = this.#owner.area.bytes.slice(fault.dataAt, fault.dataAt + fault.dataLength);
    this.apply({ kind: 'fault', notice: { code: fault.code, subcode: fault.subcode, data }, reason: 'header-error' });
  }

  readDone(): void {
    if (this.#heard) {
      this.#heard = false;
      this.#graced = false;
      this.heardAt = this.#deadlines.clock.now();
      if (this.holdMs > 0 && (this.state === 'established' || this.state === 'open-confirm')) this.#hold.in(this.holdMs);
    }
    this.#owner.readDone();
  }

  wrote(): void {
    const session = this.session;
    if (session === undefined) return;
    if (session.queuedBytes === 0) this.#sendHold.clear();
    this.#owner.wrote(this);
  }

  #openReceived(at: number, length: number): void {
    if (this.state !== 'open-sent') {
      this.apply({ kind: 'open' });
      return;
    }
    // A second OPEN while the first is judged is out of place.
    if (this.#judging !== undefined) {
      this.apply({ kind: 'fault', notice: UNEXPECTED_OPEN, reason: 'unexpected-open' });
      return;
    }
    const refused = this.#owner.judgeOpen(this, at, length);
    const judging = refused === undefined ? this.#owner.validateOpen(this) : undefined;
    if (judging === undefined) {
      this.#openJudged(refused);
      return;
    }
    // Timers go on; what the peer says meanwhile is looked at in `message`. A connection that goes forgets that it asked.
    this.#judging = judging;
    void judging.then((notice) => {
      if (this.#judging !== judging) return;
      const confirmed = this.#confirmed;
      this.#judging = undefined;
      this.#confirmed = false;
      this.#openJudged(notice);
      if (confirmed && this.isConfirming) this.apply({ kind: 'keepalive' });
    });
  }

  #openJudged(refused: Notice | undefined): void {
    if (refused !== undefined) this.apply({ kind: 'fault', notice: refused, reason: 'open-refused' });
    else if (this.#owner.enterOpen(this)) this.apply({ kind: 'open' });
  }

  /** Our KEEPALIVE answered the OPEN, the peer's is awaited. */
  get isConfirming(): boolean {
    return this.state === 'open-confirm';
  }

  #perform(effect: Effect): void {
    switch (effect.kind) {
      case 'dial':
        this.#owner.dial(this);
        break;
      case 'arm':
        this.#arm(effect.timer);
        break;
      case 'disarm':
        this.#timer(effect.timer).clear();
        break;
      case 'send-open':
        this.send(this.#owner.openMessage(this));
        break;
      case 'send-keepalive':
        this.#sendKeepalive();
        break;
      case 'notify':
        this.#notify(effect.notice);
        break;
      case 'drop':
        this.#drop();
        break;
      case 'up':
        this.keepaliveAt = this.#deadlines.clock.now();
        this.largestKeepaliveGap = 0;
        this.#owner.sessionUp(this);
        break;
      case 'down':
        this.#owner.sessionDown(this, effect.reason);
        break;
      case 'damp':
      case 'again':
      case 'deliver':
        break;
      default:
        unreachable(effect);
    }
  }

  #arm(timer: TimerName): void {
    switch (timer) {
      case 'connect-retry':
        this.#armRetry();
        break;
      case 'open-wait':
        this.#openWait.in(this.#owner.openWaitMs);
        break;
      case 'hold':
        if (this.holdMs > 0) this.#hold.in(this.holdMs);
        break;
      case 'keepalive':
        if (this.holdMs > 0) this.#keepalive.in((this.holdMs / 3) * this.#owner.jitter());
        break;
    }
  }

  #armRetry(): void {
    const ms = this.#owner.connectRetryMs(this);
    if (ms > 0) this.#retry.in(ms);
    else this.#retry.clear();
  }

  #timer(timer: TimerName): Deadline {
    switch (timer) {
      case 'connect-retry':
        return this.#retry;
      case 'open-wait':
        return this.#openWait;
      case 'hold':
        return this.#hold;
      case 'keepalive':
        return this.#keepalive;
    }
  }

  #sendKeepalive(): void {
    const now = this.#deadlines.clock.now();
    if (this.state === 'established') this.largestKeepaliveGap = Math.max(this.largestKeepaliveGap, now - this.keepaliveAt);
    this.keepaliveAt = now;
    this.send(KEEPALIVE_MESSAGE);
    this.watchSending();
  }

  #notify(notice: Notice): void {
    const session = this.session;
    if (session === undefined) return;
    const message = encodeNotification(notice);
    this.#release();
    session.close(message);
    this.#owner.seen(NOTIFICATION, true, message, 0, message.length);
  }

  #drop(): void {
    const session = this.session;
    this.#release();
    session?.close();
    this.#retry.clear();
    this.#openWait.clear();
    this.#hold.clear();
    this.#keepalive.clear();
    this.#sendHold.clear();
    this.#heard = false;
    this.#graced = false;
    this.#judging = undefined;
    this.#confirmed = false;
  }

  #release(): void {
    const session = this.session;
    if (session === undefined) return;
    this.session = undefined;
    this.#owner.parted(this, session);
  }

  /**
   * The peer was silent for the hold time, as far as we read. While we hold its socket back the silence is ours; else one more
   * moment lets the loop read what may already wait in the kernel. Octets that make no whole message do not count.
   */
  #holdDue(): void {
    if (this.#owner.holding) {
      this.#hold.in(this.holdMs);
    } else if (!this.#graced) {
      this.#graced = true;
      this.#hold.in(Math.min(HOLD_GRACE, this.holdMs / 3));
    } else {
      this.apply({ kind: 'hold-expired' });
    }
  }

  #sendHoldDue(): void {
    const session = this.session;
    if (session === undefined || !connected(this.state) || session.queuedBytes === 0) return;
    const left = session.progressAt + this.sendHoldMs - this.#deadlines.clock.now();
    if (left > 0) this.#sendHold.in(left);
    else this.apply({ kind: 'send-hold-expired' });
  }
}
