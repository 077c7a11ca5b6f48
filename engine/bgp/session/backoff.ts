/** How long a peer waits before it dials, and before it starts again after errors. No clock: ms in, ms out. */

const FIRST = 5000;
const LONGEST = 60_000;
/** A session that stood this long has made good for earlier errors. */
const FORGIVEN_AFTER = 120_000;
const HOUR = 3_600_000;

export class Backoff {
  /** ms; an explicit connect-retry is the floor. */
  #floor: number;
  #dialMs: number;
  #errors = 0;
  #limitHits = 0;

  constructor(connectRetrySeconds: number) {
    this.#floor = connectRetrySeconds > 0 ? connectRetrySeconds * 1000 : FIRST;
    this.#dialMs = this.#floor;
  }

  configure(connectRetrySeconds: number): void {
    this.#floor = connectRetrySeconds > 0 ? connectRetrySeconds * 1000 : FIRST;
    this.#dialMs = Math.max(this.#dialMs, this.#floor);
  }

  /** The wait before the next attempt; the one after is longer. */
  nextDial(): number {
    const wait = this.#dialMs;
    this.#dialMs = Math.max(this.#floor, Math.min(LONGEST, wait * 2));
    return wait;
  }

  /** The peer is there: it connected, or the session came up. */
  reset(): void {
    this.#dialMs = this.#floor;
  }

  /** Idle time after an error: none after the first, then 2, 4, … 60 s (RFC 4271 §8.1, DampPeerOscillations). */
  afterError(stoodMs: number): number {
    if (stoodMs >= FORGIVEN_AFTER) this.#errors = 0;
    this.#errors++;
    return this.#errors === 1 ? 0 : Math.min(LONGEST, 1000 * 2 ** Math.min(16, this.#errors - 1));
  }

  /** Idle time after the n-th prefix teardown: idle-timeout × 2^(n−1), an hour at most; 0 = stay down. */
  afterLimit(idleTimeoutSeconds: number): number {
    this.#limitHits++;
    return Math.min(HOUR, idleTimeoutSeconds * 1000 * 2 ** Math.min(16, this.#limitHits - 1));
  }
}
