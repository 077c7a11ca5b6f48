/**
 * UPDATE bodies by message id, kept until everyone who must decide on them has: the plugins outside the reactor that forward by
 * id. Bytes lie in blocks of shared memory, so that another thread can read them in place; an entry is a row of columns.
 *
 * A consumer is one bit. An entry waits for the bits of the consumers there were when it came; an ordered consumer's
 * acknowledgement covers every earlier id, an unordered one's its own. An operator may `retain` an entry.
 *
 * The safety valve (plugin-lifecycle §10): an entry that was passed over, since a later one is acknowledged by all, and is older than
 * five minutes is dropped, counted and reported: a consumer has forgotten it. A consumer that is only slow keeps its entries as long as
 * they are few; above a soft limit of entries or memory age alone decides, so that nobody's silence takes all memory there is.
 */
import { assert } from '../../core/assert.ts';

/** Bytes of one arena block. A body above it gets a block of its own. */
const BLOCK = 1 << 20;
/** Free blocks kept for reuse, last in first out: they are touched already. */
const SPARE_BLOCKS = 8;
export const VALVE_MS = 300_000;
export const VALVE_SCAN_MS = 30_000;
/** Entries above which the cache warns; it goes on (a plugin that is behind is the bus's to judge). */
export const SOFT_LIMIT = 1_000_000;
/** Blocks above which the cache warns, and the valve takes what is old. */
export const SOFT_BLOCKS = 256;
/** Rows of one listing. */
const MAX_LISTED = 10_000;
const MAX_CONSUMERS = 31;

export type CacheMode = 'ordered' | 'unordered';

interface Block {
  readonly index: number;
  readonly memory: SharedArrayBuffer;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  used: number;
  live: number;
}

/** An entry as the operator sees it. */
export interface CachedEntry {
  readonly id: number;
  readonly peer: number;
  /** Bytes of the message, header included. */
  readonly length: number;
  readonly ageMs: number;
  /** Holds of operators. */
  readonly retained: number;
  /** Who has not acknowledged it. */
  readonly consumers: readonly string[];
}

interface Consumer {
  readonly bit: number;
  mode: CacheMode;
  /** Ordered: every id up to this one is acknowledged. */
  through: number;
}

export class UpdateCache {
  readonly #consumers = new Map<string, Consumer>();
  #mask = 0;
  readonly #blocks: (Block | undefined)[] = [];
  readonly #spare: Block[] = [];
  #open: Block | undefined;
  /** Columns by `id & (capacity - 1)`. */
  #capacity = 1024;
  #ids = new Float64Array(this.#capacity);
  #waiting = new Int32Array(this.#capacity);
  #retained = new Uint16Array(this.#capacity);
  #block = new Int32Array(this.#capacity);
  #at = new Uint32Array(this.#capacity);
  #length = new Uint32Array(this.#capacity);
  #peer = new Uint16Array(this.#capacity);
  #context = new Int32Array(this.#capacity);
  #since = new Float64Array(this.#capacity);
  /** Ids start at 1: 0 in the column means free. */
  #lowest = 1;
  #highest = 0;
  #live = 0;
  /** The highest id that every consumer has acknowledged: entries below it that are still here were passed over. */
  #settled = 0;
  /** ms an entry that was passed over is kept. */
  valveMs = VALVE_MS;
  dropped = 0;

  /** The entry `find` found: `length` bytes at `at` of `bytes` and `view`, whole message with header. */
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  at = 0;
  length = 0;
  peer = 0;
  /** Whatever number the reactor gave the receive context. */
  context = 0;

  get wanted(): boolean {
    return this.#mask !== 0;
  }

  get size(): number {
    return this.#live;
  }

  get blocks(): number {
    return this.#blocks.reduce((sum, block) => sum + (block === undefined ? 0 : 1), 0);
  }

  /** More is held than should be. */
  get large(): boolean {
    return this.#live > SOFT_LIMIT || this.blocks > SOFT_BLOCKS;
  }

  /** What is kept, from the oldest on; ages in ms. */
  list(now: number): CachedEntry[] {
    const entries: CachedEntry[] = [];
    for (let id = this.#lowest; id <= this.#highest && entries.length < MAX_LISTED; id++) {
      const slot = this.#slot(id);
      if (slot < 0) continue;
      const waiting = this.#waiting[slot]!;
      const consumers = [...this.#consumers].filter(([, consumer]) => (waiting & consumer.bit) !== 0).map(([name]) => name);
      entries.push({
        id,
        peer: this.#peer[slot]!,
        length: this.#length[slot]!,
        ageMs: Math.max(0, now - this.#since[slot]!),
        retained: this.#retained[slot]!,
        consumers,
      });
    }
    return entries;
  }

  /** Is this consumer past the id: acknowledged with a later one? For ordered consumers. */
  passed(name: string, id: number): boolean {
    const consumer = this.#consumers.get(name);
    return consumer?.mode === 'ordered' && id <= consumer.through;
  }

  /** Registers or changes a consumer; false when there are too many. Entries already there do not wait for it. */
  register(name: string, mode: CacheMode): boolean {
    const known = this.#consumers.get(name);
    if (known !== undefined) {
      known.mode = mode;
      return true;
    }
    let bit = 0;
    while (bit < MAX_CONSUMERS && (this.#mask & (1 << bit)) !== 0) bit++;
    if (bit === MAX_CONSUMERS) return false;
    this.#mask |= 1 << bit;
    this.#consumers.set(name, { bit: 1 << bit, mode, through: this.#highest });
    return true;
  }

  /** The consumer is gone: whatever waited for it no longer does. */
  unregister(name: string): void {
    const consumer = this.#consumers.get(name);
    if (consumer === undefined) return;
    this.#consumers.delete(name);
    this.#mask &= ~consumer.bit;
    for (let id = this.#lowest; id <= this.#highest; id++) this.#clear(id, consumer.bit);
  }

  /** Keeps a message for the consumers there are. Ids ascend. */
  add(id: number, peer: number, context: number, bytes: Uint8Array, at: number, length: number, now: number): void {
    assert(id > this.#highest, 'message ids ascend');
    if (this.#live === 0) this.#lowest = id;
    while (id - this.#lowest >= this.#capacity) if (!this.#advance()) this.#grow();
    const block = this.#room(length);
    block.bytes.set(bytes.subarray(at, at + length), block.used);
    const slot = id & (this.#capacity - 1);
    this.#ids[slot] = id;
    this.#waiting[slot] = this.#mask;
    this.#retained[slot] = 0;
    this.#block[slot] = block.index;
    this.#at[slot] = block.used;
    this.#length[slot] = length;
    this.#peer[slot] = peer;
    this.#context[slot] = context;
    this.#since[slot] = now;
    block.used += (length + 7) & ~7;
    block.live++;
    this.#highest = id;
    this.#live++;
  }

  /** Points the fields at an entry; false when it is not there (any more). */
  find(id: number): boolean {
    const slot = this.#slot(id);
    if (slot < 0) return false;
    const block = this.#blocks[this.#block[slot]!]!;
    this.bytes = block.bytes;
    this.view = block.view;
    this.at = this.#at[slot]!;
    this.length = this.#length[slot]!;
    this.peer = this.#peer[slot]!;
    this.context = this.#context[slot]!;
    return true;
  }

  /** An acknowledgement. False: the id is unknown or expired (ordered: and above all acknowledged so far). */
  acknowledge(name: string, id: number): boolean {
    const consumer = this.#consumers.get(name);
    if (consumer === undefined) return false;
    if (consumer.mode === 'unordered') {
      const slot = this.#slot(id);
      if (slot < 0 || (this.#waiting[slot]! & consumer.bit) === 0) return false;
      this.#clear(id, consumer.bit);
      return true;
    }
    if (id <= consumer.through) return true;
    const known = this.#slot(id) >= 0;
    if (id > this.#highest) return false;
    for (let i = Math.max(consumer.through + 1, this.#lowest); i <= id; i++) this.#clear(i, consumer.bit);
    consumer.through = id;
    return known;
  }

  /** An operator's hold on an entry; false when it is not there. */
  retain(id: number): boolean {
    const slot = this.#slot(id);
    if (slot < 0) return false;
    this.#retained[slot]!++;
    return true;
  }

  release(id: number): boolean {
    const slot = this.#slot(id);
    if (slot < 0 || this.#retained[slot] === 0) return false;
    this.#retained[slot]!--;
    this.#settle(slot);
    return true;
  }

  /** Drops an entry whatever waits for it. */
  expire(id: number): boolean {
    const slot = this.#slot(id);
    if (slot < 0) return false;
    this.#free(slot);
    return true;
  }

  /** The safety valve; returns how many entries it took. */
  sweep(now: number): number {
    let count = 0;
    const end = this.large ? this.#highest : Math.min(this.#settled - 1, this.#highest);
    for (let id = this.#lowest; id <= end; id++) {
      const slot = this.#slot(id);
      if (slot < 0 || this.#retained[slot]! > 0) continue;
      if (now - this.#since[slot]! < this.valveMs) break;
      this.#free(slot);
      count++;
    }
    this.dropped += count;
    return count;
  }

  #slot(id: number): number {
    if (id < this.#lowest || id > this.#highest) return -1;
    const slot = id & (this.#capacity - 1);
    return this.#ids[slot] === id ? slot : -1;
  }

  #clear(id: number, bit: number): void {
    const slot = this.#slot(id);
    if (slot < 0 || (this.#waiting[slot]! & bit) === 0) return;
    this.#waiting[slot]! &= ~bit;
    if (this.#waiting[slot] === 0 && id > this.#settled) this.#settled = id;
    this.#settle(slot);
  }

  #settle(slot: number): void {
    if (this.#waiting[slot] === 0 && this.#retained[slot] === 0) this.#free(slot);
  }

  #free(slot: number): void {
    const block = this.#blocks[this.#block[slot]!]!;
    this.#ids[slot] = 0;
    this.#live--;
    block.live--;
    if (block.live > 0) return;
    block.used = 0;
    if (block === this.#open) return;
    this.#blocks[block.index] = undefined;
    if (block.bytes.length === BLOCK && this.#spare.length < SPARE_BLOCKS) this.#spare.push(block);
  }

  /** Moves the lower end past ids that are free; false when the lowest is still held. */
  #advance(): boolean {
    const before = this.#lowest;
    while (this.#lowest <= this.#highest && this.#slot(this.#lowest) < 0) this.#lowest++;
    return this.#lowest > before;
  }

  #grow(): void {
    const from = this.#capacity;
    const to = from * 2;
    const move = <T extends Float64Array | Int32Array | Uint16Array | Uint32Array>(column: T, into: T): T => {
      for (let id = this.#lowest; id <= this.#highest; id++) into[id & (to - 1)] = column[id & (from - 1)]!;
      return into;
    };
    this.#waiting = move(this.#waiting, new Int32Array(to));
    this.#retained = move(this.#retained, new Uint16Array(to));
    this.#block = move(this.#block, new Int32Array(to));
    this.#at = move(this.#at, new Uint32Array(to));
    this.#length = move(this.#length, new Uint32Array(to));
    this.#peer = move(this.#peer, new Uint16Array(to));
    this.#context = move(this.#context, new Int32Array(to));
    this.#since = move(this.#since, new Float64Array(to));
    this.#ids = move(this.#ids, new Float64Array(to));
    this.#capacity = to;
  }

  #room(length: number): Block {
    const open = this.#open;
    if (open !== undefined && open.used + length <= open.bytes.length) return open;
    this.#open = undefined;
    if (open?.live === 0) {
      this.#blocks[open.index] = undefined;
      if (open.bytes.length === BLOCK && this.#spare.length < SPARE_BLOCKS) this.#spare.push(open);
    }
    let index = this.#blocks.indexOf(undefined);
    if (index < 0) index = this.#blocks.length;
    const memory = length <= BLOCK ? (this.#spare.pop()?.memory ?? new SharedArrayBuffer(BLOCK)) : new SharedArrayBuffer(length);
    const block: Block = { index, memory, bytes: new Uint8Array(memory), view: new DataView(memory), used: 0, live: 0 };
    this.#blocks[index] = block;
    this.#open = block;
    return block;
  }
}
