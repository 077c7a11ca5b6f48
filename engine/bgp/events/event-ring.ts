/**
 * The reactor's events on their way to another thread: rows in a shared ring, bytes beside their facts. The writer never waits.
 * When the ring is full, rows that must not be lost wait in a short list while all peers are held; others are counted, and a row
 * says how many when there is room again.
 *
 * A record: kind, direction, flags, number of ADD-PATH families (one octet each); peer, family, lost, length of the body, length
 * of the text (32 bits each); message id, time (64-bit floats); families (32 bits each); text (UTF-8: reason, or JSON of what was
 * negotiated, or of the peers); body. Little-endian.
 */
import { assert } from '../../core/assert.ts';
import type { RingReader, RingWriter } from '../../core/ring.ts';
import { emptyRow } from './events.ts';
import { DIRECTIONS, EVENT_KINDS } from '../port.ts';
import type {
  EventRow,
  LogRecord,
  NegotiatedSnapshot,
  PeerIdentity,
  ReactorAnswer,
  ReactorQuestion,
  ReactorSink,
  Report,
} from '../port.ts';

const HEAD = 40;
const ASN4 = 1;
const UP = 2;
const DOWN = 4;
const TEXT_IS_NEGOTIATED = 8;
/** Beyond the event kinds: the text is the list of peers. */
const PEERS_RECORD = 255;
/** Rows that may wait for room while peers are held: what was read already. */
const WAITING_LIMIT = 65_536;
const NONE = new Uint8Array(0);
const NO_FAMILIES: readonly number[] = [];
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export interface RingSinkOwner {
  /** There is something to read and the reader does not know. */
  wake(): void;
  report(report: Report): void;
  log(record: LogRecord): void;
  question(question: ReactorQuestion): Promise<ReactorAnswer>;
  /** Somebody must see every row. */
  needsEveryRow(): boolean;
  /** The ring is full and rows wait: hold the peers; or no longer. */
  hold(held: boolean): void;
}

/** The writer's end: what the reactor tells, into the ring. */
export class RingSink implements ReactorSink {
  readonly #ring: RingWriter;
  readonly #owner: RingSinkOwner;
  readonly #waiting: EventRow[] = [];
  #lost = 0;
  #lostInAll = 0;

  constructor(ring: RingWriter, owner: RingSinkOwner) {
    this.#ring = ring;
    this.#owner = owner;
  }

  /** Rows dropped since the start. */
  get lost(): number {
    return this.#lostInAll;
  }

  event(row: EventRow): void {
    if (this.#waiting.length > 0 || !this.#write(row)) this.#full(row);
  }

  peers(list: readonly PeerIdentity[]): void {
    const text = encoder.encode(JSON.stringify(list));
    if (!this.#record(PEERS_RECORD, emptyRow(), 0, text)) {
      // Rows that name new peers follow: the list must come first, so it waits at their head or at the end of what waits.
      this.#waiting.push({ ...emptyRow(), kind: 'none', reason: decoder.decode(text), family: PEERS_RECORD });
      this.#wait();
    }
  }

  report(report: Report): void {
    this.#owner.report(report);
  }

  log(record: LogRecord): void {
    this.#owner.log(record);
  }

  question(question: ReactorQuestion): Promise<ReactorAnswer> {
    return this.#owner.question(question);
  }

  /** The reader gave room back. */
  roomAgain(): void {
    let written = 0;
    for (const row of this.#waiting) {
      const done =
        row.family === PEERS_RECORD ? this.#record(PEERS_RECORD, emptyRow(), 0, encoder.encode(row.reason)) : this.#write(row);
      if (!done) break;
      written++;
    }
    this.#waiting.splice(0, written);
    if (this.#waiting.length > 0) this.#ring.wantRoom();
    else {
      this.#owner.hold(false);
      this.#sayLost();
    }
  }

  #full(row: EventRow): void {
    if ((this.#owner.needsEveryRow() || this.#waiting.length > 0) && this.#waiting.length < WAITING_LIMIT) {
      this.#waiting.push({ ...row, bytes: row.bytes.slice(row.bytesAt, row.bytesAt + row.bytesLength), bytesAt: 0 });
      this.#wait();
    } else {
      this.#lost++;
      this.#lostInAll++;
    }
  }

  #wait(): void {
    this.#ring.wantRoom();
    this.#owner.hold(true);
  }

  #write(row: EventRow): boolean {
    if (this.#lost > 0 && !this.#hasRoomForGapAnd(row)) return false;
    this.#sayLost();
    const state = row.state === 'up' ? UP : row.state === 'down' ? DOWN : 0;
    const flags = (row.asn4 ? ASN4 : 0) | state | (row.negotiated === undefined ? 0 : TEXT_IS_NEGOTIATED);
    const words = row.negotiated === undefined ? row.reason : JSON.stringify(row.negotiated);
    return this.#record(EVENT_KINDS.indexOf(row.kind), row, flags, words === '' ? NONE : encoder.encode(words));
  }

  /** The gap, as a row of its own; false when there is no room even for that. */
  #sayLost(): boolean {
    if (this.#lost === 0) return true;
    const gap = emptyRow();
    gap.lost = this.#lost;
    if (!this.#record(0, gap, 0, NONE)) return false;
    this.#lost = 0;
    return true;
  }

  /** A gap is said once, before the first row that fits behind it; not between every two that do not. */
  #hasRoomForGapAnd(row: EventRow): boolean {
    return this.#ring.reserve(2 * HEAD + 4 * row.addPath.length + row.reason.length + row.bytesLength + 64) >= 0;
  }

  #record(kind: number, row: EventRow, flags: number, text: Uint8Array): boolean {
    const families = row.addPath.length;
    const at = this.#ring.reserve(HEAD + 4 * families + text.length + row.bytesLength);
    if (at < 0) return false;
    const { view, bytes } = this.#ring;
    bytes[at] = kind;
    bytes[at + 1] = DIRECTIONS.indexOf(row.direction);
    bytes[at + 2] = flags;
    bytes[at + 3] = families;
    view.setUint32(at + 4, row.peer, true);
    view.setUint32(at + 8, row.family, true);
    view.setUint32(at + 12, row.kind === 'state' ? row.initialReplay : row.lost, true);
    view.setUint32(at + 16, row.bytesLength, true);
    view.setUint32(at + 20, text.length, true);
    view.setFloat64(at + 24, row.messageId, true);
    view.setFloat64(at + 32, row.at, true);
    let next = at + HEAD;
    for (let i = 0; i < families; i++, next += 4) view.setUint32(next, row.addPath[i]!, true);
    bytes.set(text, next);
    next += text.length;
    if (row.bytesLength > 0) bytes.set(row.bytes.subarray(row.bytesAt, row.bytesAt + row.bytesLength), next);
    if (this.#ring.publish()) this.#owner.wake();
    return true;
  }
}

/** The reader's end: records back into rows for a sink. */
export class RingSource {
  readonly #ring: RingReader;
  readonly #sink: Pick<ReactorSink, 'event' | 'peers'>;
  readonly #row: EventRow = emptyRow();
  /** Lists of ADD-PATH families seen so far: rows may be kept by reference of their fields. */
  readonly #families = new Map<string, readonly number[]>();
  /** The writer waits to be told that there is room. Whoever tells it clears this. */
  room = false;

  constructor(ring: RingReader, sink: Pick<ReactorSink, 'event' | 'peers'>) {
    this.#ring = ring;
    this.#sink = sink;
  }

  /**
   * Hands on up to `limit` rows and says how many; fewer than `limit`: there were no more. The writer is silent meanwhile, until
   * `rest`. `room` holds afterwards when it waits to be told of room.
   */
  drain(limit: number): number {
    const ring = this.#ring;
    let count = 0;
    for (; count < limit && ring.next(); count++) {
      this.#read();
      if (ring.release()) this.room = true;
    }
    return count;
  }

  /** There is no row, or the next one was written after `wall` (ms) and half of the ring is free. */
  mayWait(wall: number): boolean {
    const ring = this.#ring;
    return !ring.next() || (ring.view.getFloat64(ring.at + 32, true) > wall && !ring.halfFull);
  }

  /** From now on the writer says when there is something. False: there is already. */
  rest(): boolean {
    this.#ring.awake();
    return !this.#ring.next();
  }

  #read(): void {
    const { bytes, view, at, length } = this.#ring;
    const families = bytes[at + 3]!;
    const bodyLength = view.getUint32(at + 16, true);
    const textLength = view.getUint32(at + 20, true);
    const textAt = at + HEAD + 4 * families;
    assert(HEAD + 4 * families + textLength + bodyLength === length, 'a record is as long as its parts');
    // A decoder takes no shared memory: the text is copied.
    const text = textLength === 0 ? '' : decoder.decode(bytes.slice(textAt, textAt + textLength));
    if (bytes[at] === PEERS_RECORD) {
      this.#sink.peers(JSON.parse(text) as PeerIdentity[]);
      return;
    }
    const row = this.#row;
    const flags = bytes[at + 2]!;
    row.kind = EVENT_KINDS[bytes[at]!] ?? 'none';
    row.direction = DIRECTIONS[bytes[at + 1]!] ?? 'unspecified';
    row.peer = view.getUint32(at + 4, true);
    row.family = view.getUint32(at + 8, true);
    const number = view.getUint32(at + 12, true);
    row.lost = row.kind === 'state' ? 0 : number;
    row.initialReplay = row.kind === 'state' ? number : 0;
    row.messageId = view.getFloat64(at + 24, true);
    row.at = view.getFloat64(at + 32, true);
    row.addPath = families === 0 ? NO_FAMILIES : this.#addPath(at + HEAD, families);
    row.asn4 = (flags & ASN4) !== 0;
    row.state = (flags & UP) !== 0 ? 'up' : (flags & DOWN) !== 0 ? 'down' : '';
    row.negotiated = (flags & TEXT_IS_NEGOTIATED) !== 0 ? (JSON.parse(text) as NegotiatedSnapshot) : undefined;
    row.reason = row.negotiated === undefined ? text : '';
    row.bytes = bytes;
    row.bytesAt = textAt + textLength;
    row.bytesLength = bodyLength;
    this.#sink.event(row);
  }
  #addPath(at: number, count: number): readonly number[] {
    const list = Array.from({ length: count }, (_, i) => this.#ring.view.getUint32(at + 4 * i, true));
    const key = list.join();
    const known = this.#families.get(key);
    if (known === undefined) this.#families.set(key, list);
    return known ?? list;
  }
}
