/**
 * One ordered stream of events to one process, bounded (design §5): 64 batches or 4 MiB. Numbers every event from 1; what does not
 * fit is counted and its place in the order is marked by a gap event, whatever the policy.
 *
 * - `hold-peer`: past the limit the owner holds the peers whose rows arrive; what was on its way by then still fits, up to `heldBytes`.
 * - `drop-with-gap`: past the limit events are dropped until half of the queue is delivered.
 * - `disconnect`: past the limit the stream is over; the owner is told once.
 */
import type { Constant } from '../codec/byte-writer.ts';
import type { EventEncoding } from '../codec/event-format.ts';
import type { EventRow } from '../bgp/port.ts';
import type { Batch, BufferPool } from './batch.ts';
import { BytesBatch, composeText, gapText, TextBatch } from './batch.ts';
import type { StructuredPool } from './structured.ts';
import { StructuredRows } from './structured.ts';
import { Turn } from './turns.ts';

export type OverflowPolicy = 'hold-peer' | 'drop-with-gap' | 'disconnect';

export interface QueueLimits {
  readonly batches: number;
  readonly bytes: number;
  readonly onOverflow: OverflowPolicy;
  /** `hold-peer`: what the queue may hold in all, with the rows that were on their way when the peers were held. */
  readonly heldBytes: number;
}

/**
 * Held rows: a ring between reactor and bus that is full (8 MiB) is eight times as large as text at the very worst, four to six times
 * as a rule; and what a held peer's socket was read of in one go (2 MiB) comes behind it.
 */
export const DEFAULT_QUEUE: QueueLimits = {
  batches: 64,
  bytes: 4 * 1024 * 1024,
  onOverflow: 'drop-with-gap',
  heldBytes: 128 * 1024 * 1024,
};

/** Batches with a process or waiting for it, of which four may be on their way. */
export const AMPLE_BATCHES = 8;

export interface Pools {
  readonly buffers: BufferPool;
  readonly rows: StructuredPool;
}

export class EventQueue {
  readonly limits: QueueLimits;
  /** `hold-peer`; known apart, since a policy of the config is a string of its own, and comparing it costs each row. */
  readonly holdsPeers: boolean;
  /** Number of the last event, delivered or not. */
  seq = 0;
  /** Events that will never arrive, over the stream's life. */
  dropped = 0;
  gaps = 0;
  /** Bytes waiting or on their way. */
  bytes = 0;
  /** `disconnect`: the limit was passed. */
  overflowed = false;
  encoding: EventEncoding = 'json';
  readonly #form: 'bytes' | 'texts';
  readonly #pools: Pools;
  #ready: Batch[] = [];
  #open: Batch | undefined;
  /** With the process, oldest first. */
  readonly #inFlight: Batch[] = [];
  /** Of batches that hold what is told in order; few, and mostly none. */
  readonly #turns = new Map<Batch, Turn>();
  /** Events dropped since the last gap event; #gapFirst is the number of the first. */
  #missing = 0;
  #gapFirst = 0;
  #dropping = false;

  constructor(form: 'bytes' | 'texts', limits: QueueLimits, pools: Pools) {
    this.#form = form;
    this.limits = limits;
    this.holdsPeers = limits.onOverflow === 'hold-peer';
    this.#pools = pools;
  }

  get batches(): number {
    return this.#ready.length + (this.#open === undefined ? 0 : 1) + this.#inFlight.length;
  }

  /** At or past the limit: the time to hold peers. */
  get full(): boolean {
    return this.bytes >= this.limits.bytes || this.batches >= this.limits.batches;
  }

  /** Half of the limit is free again. */
  get relieved(): boolean {
    return this.bytes * 2 <= this.limits.bytes && this.batches * 2 <= this.limits.batches;
  }

  /** What is here will keep the process busy; more is memory, and time to touch it. Never past half of the limit. */
  get ample(): boolean {
    return this.batches >= AMPLE_BATCHES || !this.relieved;
  }

  get dropping(): boolean {
    return this.#dropping;
  }

  get idle(): boolean {
    return this.#open === undefined && this.#ready.length === 0;
  }

  /** Appends an event whose escaped bytes the encoder holds. Returns false when it was dropped. */
  pushBytes(source: Buffer, from: number, to: number, shape: number, head: Constant | undefined): boolean {
    const length = to - from + (head?.escaped.length ?? 0);
    if (!this.#admit(length)) return false;
    const batch = this.#bytesBatch(length);
    const before = batch.size;
    batch.append(source, from, to, shape, this.seq, head);
    this.bytes += batch.size - before;
    return true;
  }

  /** Appends an event as a string, for a process without a wire. */
  pushText(shared: string, shape: number, head: Constant | undefined): boolean {
    if (!this.#admit(shared.length)) return false;
    this.#appendText(composeText(shared, shape, this.seq, head));
    return true;
  }

  /** Appends a row to a structured batch. */
  pushRow(row: EventRow, kind: number): boolean {
    if (!this.#admit(row.bytesLength)) return false;
    let batch = this.#open;
    if (!(batch instanceof StructuredRows) || !batch.hasRoom(row.bytesLength)) {
      this.#close();
      this.#open = batch = this.#pools.rows.take();
    }
    const before = batch.size;
    batch.append(row, kind);
    this.bytes += batch.size - before;
    return true;
  }

  /** Marks events that were lost before the bus saw them. */
  lost(count: number): void {
    if (this.#missing === 0) this.#gapFirst = this.seq + 1;
    this.#missing += count;
    this.seq += count;
    this.dropped += count;
    if (!this.#dropping && !this.overflowed) this.#writeGap();
  }

  /** The turn of the batch that holds the last event appended. */
  turn(): Turn {
    const batch = this.#open;
    let turn = batch === undefined ? undefined : this.#turns.get(batch);
    if (turn === undefined) {
      turn = new Turn();
      if (batch !== undefined) this.#turns.set(batch, turn);
    }
    return turn;
  }

  /**
   * The next batch to deliver, unless its turn has not come; it counts as waiting until `settle`. A batch that is not full yet goes only
   * when the process has nothing else to do.
   */
  take(): Batch | undefined {
    const batch = this.#ready[0] ?? (this.#inFlight.length === 0 ? this.#open : undefined);
    if (batch === undefined || this.#waits(batch)) return undefined;
    if (batch === this.#open) this.#open = undefined;
    else this.#ready.shift();
    this.#inFlight.push(batch);
    return batch;
  }

  /** A batch taken was delivered (or given up): its memory is free. */
  settle(batch: Batch): void {
    const index = this.#inFlight.indexOf(batch);
    if (index < 0) return;
    this.#inFlight.splice(index, 1);
    this.#forget(batch);
    if (this.#dropping && this.relieved) {
      this.#dropping = false;
      this.#writeGap();
    }
  }

  /** The batches on their way were given up: their receiver may hold on to the memory, so it is not used again. */
  abandon(): void {
    for (const batch of this.#inFlight.splice(0)) {
      this.bytes -= batch.size;
      this.#endTurn(batch);
    }
  }

  /** Everything that waits goes; what is on its way stays with its receiver until `settle` or `abandon`. */
  clear(): void {
    for (const batch of this.#ready) this.#forget(batch);
    this.#ready = [];
    if (this.#open !== undefined) this.#forget(this.#open);
    this.#open = undefined;
    this.#missing = 0;
    this.#dropping = false;
  }

  #admit(length: number): boolean {
    this.seq++;
    if (this.overflowed) return this.#drop();
    if (this.#dropping) {
      if (!this.relieved) return this.#drop();
      this.#dropping = false;
    }
    if (this.#fits(length)) {
      if (this.#missing > 0) this.#writeGap();
      return true;
    }
    if (this.limits.onOverflow === 'disconnect') this.overflowed = true;
    else this.#dropping = true;
    return this.#drop();
  }

  /** One event alone always fits, however large: its size is bounded by the size of a message. */
  #fits(length: number): boolean {
    if (this.bytes === 0) return true;
    if (this.holdsPeers) return this.bytes + length <= Math.max(this.limits.heldBytes, this.limits.bytes);
    if (this.bytes + length > this.limits.bytes) return false;
    return this.batches < this.limits.batches || this.#open?.hasRoom(length) === true;
  }

  #drop(): false {
    if (this.#missing++ === 0) this.#gapFirst = this.seq;
    this.dropped++;
    return false;
  }

  #writeGap(): void {
    if (this.#missing === 0) return;
    const text = gapText(this.#missing, this.#gapFirst, this.#gapFirst + this.#missing - 1, this.encoding === 'text');
    this.#missing = 0;
    this.gaps++;
    if (this.#form === 'texts') {
      this.#appendText(text);
      return;
    }
    const escaped = Buffer.from(JSON.stringify(text).slice(1, -1), 'latin1');
    const batch = this.#bytesBatch(escaped.length);
    const before = batch.size;
    batch.append(escaped, 0, escaped.length, 0, 0, undefined);
    this.bytes += batch.size - before;
  }

  #bytesBatch(length: number): BytesBatch {
    const open = this.#open;
    if (open instanceof BytesBatch && open.hasRoom(length)) return open;
    this.#close();
    const batch = new BytesBatch(this.#pools.buffers, length);
    this.bytes += batch.size;
    this.#open = batch;
    return batch;
  }

  #appendText(text: string): void {
    let open = this.#open;
    if (!(open instanceof TextBatch) || !open.hasRoom(text.length)) {
      this.#close();
      this.#open = open = new TextBatch();
    }
    open.append(text);
    this.bytes += text.length;
  }

  #close(): void {
    if (this.#open !== undefined) this.#ready.push(this.#open);
    this.#open = undefined;
  }

  #waits(batch: Batch | undefined): boolean {
    return batch !== undefined && this.#turns.size > 0 && this.#turns.get(batch)?.waits === true;
  }

  #endTurn(batch: Batch): void {
    if (this.#turns.size === 0) return;
    this.#turns.get(batch)?.end();
    this.#turns.delete(batch);
  }

  #forget(batch: Batch): void {
    this.bytes -= batch.size;
    this.#endTurn(batch);
    if (batch instanceof BytesBatch) batch.release(this.#pools.buffers);
    else if (batch instanceof StructuredRows) this.#pools.rows.give(batch);
  }
}
