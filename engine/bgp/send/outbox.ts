/**
 * What one peer alone is to get: originated and relayed routes, End-of-RIB, refresh marks. Messages are gathered in a chunk and
 * leave in one write at the next flush, in the order they were put.
 */
import type { Chunk, ChunkPool } from './chunk.ts';
import { CHUNK_BYTES } from './chunk.ts';

export interface OutboxOwner {
  /** Whole messages; `done` is called once when the bytes may change again. */
  sendMessages(bytes: Uint8Array, done: () => void): void;
}

export class Outbox {
  readonly #owner: OutboxOwner;
  readonly #pool: ChunkPool;
  #chunk: Chunk | undefined;
  #used = 0;
  /** Kept back until opened: the chunks that are full. */
  #shut = false;
  readonly #kept: { readonly chunk: Chunk; readonly used: number }[] = [];

  constructor(owner: OutboxOwner, pool: ChunkPool) {
    this.#owner = owner;
    this.#pool = pool;
  }

  get empty(): boolean {
    return this.#used === 0;
  }

  /** Copies whole messages, `length` bytes at `at`. A run longer than a chunk must be put message by message. */
  put(bytes: Uint8Array, at = 0, length: number = bytes.length): void {
    if (this.#used + length > CHUNK_BYTES) this.flush();
    this.#chunk ??= this.#pool.take();
    this.#chunk.bytes.set(bytes.subarray(at, at + length), this.#used);
    this.#used += length;
  }

  flush(): void {
    const chunk = this.#chunk;
    if (chunk === undefined) return;
    const used = this.#used;
    this.#chunk = undefined;
    this.#used = 0;
    if (this.#shut) this.#kept.push({ chunk, used });
    else this.#owner.sendMessages(chunk.bytes.subarray(0, used), chunk.release);
  }

  get isShut(): boolean {
    return this.#shut;
  }

  /** Nothing leaves until `open`: the configured pause before the first UPDATE. */
  shut(): void {
    this.#shut = true;
  }

  /** True when there is something to flush. */
  open(): boolean {
    this.#shut = false;
    for (const { chunk, used } of this.#kept) this.#owner.sendMessages(chunk.bytes.subarray(0, used), chunk.release);
    this.#kept.length = 0;
    return this.#used > 0;
  }

  /** The session is gone: what was gathered goes with it. */
  clear(): void {
    this.#chunk?.release();
    this.#chunk = undefined;
    this.#used = 0;
    this.#shut = false;
    for (const { chunk } of this.#kept) chunk.release();
    this.#kept.length = 0;
  }
}
