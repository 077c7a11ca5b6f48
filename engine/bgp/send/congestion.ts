/**
 * Back-pressure for what travels as messages (forwarded by id or at once, originated): a destination whose queue passes the limit
 * holds the other peers' sockets until it is short again, and is given up when that takes too long. Routes announced by best path
 * never come to this: their back-pressure is a set of rows.
 */
import type { Deadline, Deadlines } from '../../core/deadlines.ts';
import type { Peer } from '../session/peer.ts';

const CONGESTED_BYTES = 8 << 20;
const RESUMED_BYTES = CONGESTED_BYTES / 4;
/** ms without the kernel taking a byte after which a congested destination is given up, and ms it may be congested at all. */
const STUCK = 5000;
const LONGEST = 30_000;

export interface CongestionOwner {
  /** `alive`: the session still stands. */
  changed(peer: Peer, congested: boolean, alive: boolean): void;
  /** Hold or release everybody but the congested. */
  holdOthers(held: boolean): void;
  giveUp(peer: Peer): void;
}

export class Congestion {
  readonly #owner: CongestionOwner;
  readonly #deadlines: Deadlines;
  readonly #congested = new Map<Peer, Deadline>();

  constructor(owner: CongestionOwner, deadlines: Deadlines) {
    this.#owner = owner;
    this.#deadlines = deadlines;
  }

  get active(): boolean {
    return this.#congested.size > 0;
  }

  has(peer: Peer): boolean {
    return this.#congested.has(peer);
  }

  /** After bytes were queued for the peer. */
  queued(peer: Peer): void {
    if (peer.queuedBytes <= CONGESTED_BYTES || this.#congested.has(peer)) return;
    const since = this.#deadlines.clock.now();
    const deadline = this.#deadlines.create(() => {
      const now = this.#deadlines.clock.now();
      const stuckFor = now - (peer.session === undefined ? since : peer.progressAt);
      if (stuckFor >= STUCK || now - since >= LONGEST) this.#owner.giveUp(peer);
      else deadline.in(STUCK - stuckFor);
    });
    deadline.in(STUCK);
    this.#congested.set(peer, deadline);
    this.#owner.changed(peer, true, true);
    this.#owner.holdOthers(true);
  }

  /** After the kernel took bytes of the peer. */
  wrote(peer: Peer): void {
    if (this.#congested.size > 0 && peer.queuedBytes <= RESUMED_BYTES) this.gone(peer, true);
  }

  /** The peer is no longer congested: drained, or down. */
  gone(peer: Peer, drained = false): void {
    const deadline = this.#congested.get(peer);
    if (deadline === undefined) return;
    deadline.clear();
    this.#congested.delete(peer);
    this.#owner.changed(peer, false, drained);
    if (this.#congested.size === 0) this.#owner.holdOthers(false);
  }
}
