// What the reactor is told of all processes together: the kinds of rows that somebody wants, and who acknowledges cached updates.
import type { ReactorPort } from '../bgp/port.ts';
import { KIND_NUMBER } from '../codec/event-kinds.ts';
import type { BusProcess } from './process.ts';
import { EVERYTHING, rowBit, SENT_SHIFT } from './subscriptions.ts';

/** Seldom enough to be worth knowing always: for `show event recent` and the counts. */
const ALWAYS = (['open', 'notification', 'refresh', 'state', 'negotiated', 'eor', 'congested', 'resumed'] as const).reduce(
  (mask, kind) => mask | rowBit(KIND_NUMBER[kind], false) | rowBit(KIND_NUMBER[kind], true),
  0,
);
const LOW_HALF = (1 << SENT_SHIFT) - 1;

export class Wanted {
  #reactor: Pick<ReactorPort, 'interest' | 'cacheConsumer'> | undefined;
  #received = -1;
  #sent = -1;
  #each = false;

  /** A reactor that knows nothing yet. */
  connect(reactor: Pick<ReactorPort, 'interest' | 'cacheConsumer'>, processes: readonly BusProcess[]): void {
    this.#reactor = reactor;
    this.#received = -1;
    this.#sent = -1;
    for (const process of processes) process.counted = false;
  }

  /** Tells it what has changed; a tap wants everything. */
  tell(processes: readonly BusProcess[], isTapped: boolean): void {
    const reactor = this.#reactor;
    if (reactor === undefined) return;
    let interest = ALWAYS;
    let isEach = false;
    for (const process of processes) {
      interest |= process.interest;
      isEach ||= process.wantsUpdates && process.queue.holdsPeers;
      const counts = process.cache.mode !== 'none' && process.wantsUpdates && !process.failed;
      if (counts === process.counted) continue;
      process.counted = counts;
      reactor.cacheConsumer(process.name, counts ? process.cache.mode : 'none');
    }
    if (isTapped) interest |= EVERYTHING;
    const received = interest & LOW_HALF;
    const sent = (interest >>> SENT_SHIFT) & LOW_HALF;
    if (received === this.#received && sent === this.#sent && isEach === this.#each) return;
    this.#received = received;
    this.#sent = sent;
    this.#each = isEach;
    reactor.interest(received, sent, isEach);
  }

  /** The process is gone. */
  leave(process: BusProcess): void {
    if (process.counted) this.#reactor?.cacheConsumer(process.name, 'none');
    process.counted = false;
  }
}
