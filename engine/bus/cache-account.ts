/**
 * The acknowledgements a cache consumer owes for updates it never got. The reactor counts every consumer for every received UPDATE;
 * an id that was not delivered (other peer, dropped in a gap, batch given up) is released here in the consumer's name.
 *
 * Acknowledgements of an ordered consumer are cumulative: releasing N releases everything below. So an id it missed is released only
 * when nothing it did get is still open; until then a later acknowledgement of its own may cover it.
 */
export type CacheMode = 'ordered' | 'unordered' | 'none';

export class CacheAccount {
  readonly mode: CacheMode;
  #lastDelivered = 0;
  #lastAcknowledged = 0;
  /** Highest id missed and not released, 0 = none. For unordered consumers all of them are in #missed. */
  #pending = 0;
  #missed: number[] = [];

  constructor(mode: CacheMode) {
    this.mode = mode;
  }

  delivered(id: number): void {
    this.#lastDelivered = id;
  }

  missed(id: number): void {
    if (this.mode === 'ordered') this.#pending = Math.max(this.#pending, id);
    else if (this.mode === 'unordered') this.#missed.push(id);
  }

  /** The consumer has acknowledged these itself, by forward-cached or release-cached. */
  acknowledged(ids: readonly number[]): void {
    for (const id of ids) if (id > this.#lastAcknowledged) this.#lastAcknowledged = id;
    if (this.#pending <= this.#lastAcknowledged) this.#pending = 0;
  }

  /** Ids to release now in the consumer's name; each is returned once. */
  due(): readonly number[] {
    if (this.mode === 'unordered') {
      const due = this.#missed;
      this.#missed = [];
      return due;
    }
    if (this.#pending === 0 || this.#lastAcknowledged < this.#lastDelivered) return [];
    const due = this.#pending;
    this.#pending = 0;
    this.#lastAcknowledged = Math.max(this.#lastAcknowledged, due);
    return [due];
  }
}
