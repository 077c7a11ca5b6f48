/** Output buffers of 64 KiB, made once and lent: one is written to several sockets and comes back with its last write. */

export const CHUNK_BYTES = 65_536;
/** Free chunks kept; more are left to the collector. */
const SPARE = 256;

export class Chunk {
  readonly bytes = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  /** Writes that have not come back, and the one who fills it. */
  #holders = 1;
  readonly #pool: ChunkPool;
  /** Give it back; as a field, so that it serves as the callback of every write. */
  readonly release = (): void => {
    if (--this.#holders === 0) this.#pool.put(this);
  };

  constructor(pool: ChunkPool) {
    this.#pool = pool;
  }

  hold(): void {
    this.#holders++;
  }

  /** For the pool: filled anew by one holder. */
  lend(): this {
    this.#holders = 1;
    return this;
  }
}

export class ChunkPool {
  /** Last in, first out: the chunk used last is still in the caches. */
  readonly #spare: Chunk[] = [];
  /** Chunks ever made: what a leak would raise. */
  made = 0;
  lent = 0;

  take(): Chunk {
    this.lent++;
    const chunk = this.#spare.pop();
    if (chunk !== undefined) return chunk.lend();
    this.made++;
    return new Chunk(this);
  }

  put(chunk: Chunk): void {
    this.lent--;
    if (this.#spare.length < SPARE) this.#spare.push(chunk);
  }
}
