/** Rows for the bus: one object, refilled, for whoever subscribed. What nobody wants costs one test of a bit. */
import { HEADER_LENGTH, KEEPALIVE, NOTIFICATION, OPEN, ROUTE_REFRESH, UPDATE } from '../../../sdk/wire/message.ts';
import type { Clock } from '../../core/clock.ts';
import type { Peer } from '../session/peer.ts';
import { EVENT_KINDS } from '../port.ts';
import type { EventKind, EventRow, NegotiatedSnapshot, ReactorSink } from '../port.ts';

const NONE = new Uint8Array(0);
const NO_FAMILIES: readonly number[] = [];
const UPDATE_BIT = bit('update');

function bit(kind: EventKind): number {
  return 1 << EVENT_KINDS.indexOf(kind);
}

const KIND_OF_TYPE: Readonly<Record<number, EventKind>> = {
  [OPEN]: 'open',
  [UPDATE]: 'update',
  [NOTIFICATION]: 'notification',
  [KEEPALIVE]: 'keepalive',
  [ROUTE_REFRESH]: 'refresh',
};

/** A fresh row with every field at rest. */
export function emptyRow(): EventRow {
  return {
    kind: 'none',
    direction: 'unspecified',
    peer: 0,
    messageId: 0,
    at: 0,
    bytes: NONE,
    bytesAt: 0,
    bytesLength: 0,
    asn4: true,
    addPath: NO_FAMILIES,
    state: '',
    reason: '',
    family: 0,
    negotiated: undefined,
    lost: 0,
    initialReplay: 0,
  };
}

export class EventFeed {
  readonly #sink: ReactorSink;
  readonly #clock: Clock;
  readonly #nextId: () => number;
  readonly #row: EventRow = emptyRow();
  #received = 0;
  #sent = 0;

  constructor(sink: ReactorSink, clock: Clock, nextId: () => number) {
    this.#sink = sink;
    this.#clock = clock;
    this.#nextId = nextId;
  }

  interest(receivedMask: number, sentMask: number): void {
    this.#received = receivedMask;
    this.#sent = sentMask;
  }

  get wantsUpdates(): boolean {
    return (this.#received & UPDATE_BIT) !== 0;
  }

  get wantsSentUpdates(): boolean {
    return (this.#sent & UPDATE_BIT) !== 0;
  }

  /** A message other than a received UPDATE; `bytes` hold it with its header at `at`. */
  message(peer: Peer, type: number, sent: boolean, bytes: Uint8Array, at: number, length: number): void {
    const kind = KIND_OF_TYPE[type];
    if (kind === undefined || ((sent ? this.#sent : this.#received) & bit(kind)) === 0) return;
    this.#message(peer, kind, sent, this.#nextId(), bytes, at, length);
  }

  /** A received UPDATE as it counts. */
  update(peer: Peer, id: number, bytes: Uint8Array, at: number, length: number): void {
    this.#message(peer, 'update', false, id, bytes, at, length);
  }

  get wantsState(): boolean {
    return this.#wants('state');
  }

  /** `token`: who announces at the session's start gives it back when done; 0 = nobody is waited for. */
  up(peer: Peer, token: number): void {
    if (!this.#wants('state')) return;
    const row = this.#begin(peer, 'state');
    row.state = 'up';
    row.initialReplay = token;
    this.#sink.event(row);
  }

  down(peer: Peer, reason: string): void {
    if (!this.#wants('state')) return;
    const row = this.#begin(peer, 'state');
    row.state = 'down';
    row.reason = reason;
    this.#sink.event(row);
  }

  negotiated(peer: Peer, snapshot: NegotiatedSnapshot | undefined): void {
    if (!this.#wants('negotiated')) return;
    const row = this.#begin(peer, 'negotiated');
    row.negotiated = snapshot;
    this.#sink.event(row);
  }

  endOfRib(peer: Peer, family: number): void {
    if ((this.#received & bit('eor')) === 0) return;
    const row = this.#begin(peer, 'eor');
    row.direction = 'received';
    row.family = family;
    this.#sink.event(row);
  }

  congestion(peer: Peer, congested: boolean): void {
    const kind = congested ? 'congested' : 'resumed';
    if (this.#wants(kind)) this.#sink.event(this.#begin(peer, kind));
  }

  /** Events without a direction are in either mask. */
  #wants(kind: EventKind): boolean {
    return ((this.#received | this.#sent) & bit(kind)) !== 0;
  }

  #message(peer: Peer, kind: EventKind, sent: boolean, id: number, bytes: Uint8Array, at: number, length: number): void {
    const row = this.#begin(peer, kind);
    const context = sent ? peer.send : peer.receive;
    row.direction = sent ? 'sent' : 'received';
    row.messageId = id;
    row.bytes = bytes;
    row.bytesAt = at + HEADER_LENGTH;
    row.bytesLength = length - HEADER_LENGTH;
    row.asn4 = context.asn4;
    row.addPath = context.addPathFamilies;
    this.#sink.event(row);
  }

  #begin(peer: Peer, kind: EventKind): EventRow {
    const row = this.#row;
    row.kind = kind;
    row.direction = 'unspecified';
    row.peer = peer.index;
    row.messageId = 0;
    row.at = this.#clock.wall();
    row.bytes = NONE;
    row.bytesAt = 0;
    row.bytesLength = 0;
    row.asn4 = true;
    row.addPath = NO_FAMILIES;
    row.state = '';
    row.reason = '';
    row.family = 0;
    row.negotiated = undefined;
    row.lost = 0;
    row.initialReplay = 0;
    return row;
  }
}
