/**
 * What follows when a process's queue is full, and when it has room again: peers are held and let go, and `show warnings` says so
 * while it lasts. The queue decides by itself what it drops.
 */
import { PeerHolds } from './holds.ts';
import type { BusProcess } from './process.ts';
import type { ReportBus } from './reports.ts';

export class Pressure {
  readonly holds: PeerHolds;
  readonly #reports: ReportBus;

  constructor(setHeld: (peer: number, held: boolean) => void, reports: ReportBus) {
    this.holds = new PeerHolds(setHeld);
    this.#reports = reports;
  }

  /** Peers held at the moment. */
  get held(): number {
    return this.holds.held;
  }

  /** An event came for a process that is full or dropping; `peer` -1 = it concerns no peer that could be held. */
  rise(process: BusProcess, peer: number): void {
    const { queue } = process;
    if (queue.holdsPeers && peer >= 0 && queue.full && !process.failed) {
      this.holds.hold(process, peer);
      if (!process.reportedHold) {
        process.reportedHold = true;
        this.#warn(process, 'event-consumer-behind', 'event queue full, peers are held back until it is taken', false);
      }
    }
    if (queue.dropping && !process.reportedGap) {
      process.reportedGap = true;
      this.#warn(process, 'event-gap', 'event queue full, events are dropped and marked by a gap', false);
    }
  }

  /** A delivery may have made room. */
  fall(process: BusProcess): void {
    if (process.reportedHold && process.queue.relieved) {
      this.holds.release(process);
      process.reportedHold = false;
      this.#warn(process, 'event-consumer-behind', '', true);
    }
    if (process.reportedGap && !process.queue.dropping) {
      process.reportedGap = false;
      this.#warn(process, 'event-gap', '', true);
    }
  }

  /** The process has failed or is gone: nobody is held for it, no warning stays. */
  end(process: BusProcess): void {
    this.holds.release(process);
    if (process.reportedHold) this.#warn(process, 'event-consumer-behind', '', true);
    if (process.reportedGap) this.#warn(process, 'event-gap', '', true);
    process.reportedHold = false;
    process.reportedGap = false;
  }

  #warn(process: BusProcess, code: string, message: string, clear: boolean): void {
    this.#reports.report({ severity: 'warning', code, source: 'bus', subject: process.name, message, clear });
  }
}
