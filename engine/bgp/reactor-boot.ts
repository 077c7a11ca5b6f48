// What the reactor's thread is started with. Apart from its near end, so that the thread can begin before that is loaded.
import { ringMemory } from '../core/ring.ts';

/** Bytes of events under way between the threads. */
export const RING_BYTES = 8 << 20;

/** What the worker is started with. */
export interface ReactorBoot {
  readonly ring: SharedArrayBuffer;
  /** Synthetic messages to run through the real classes before anything listens; 0 = none. */
  readonly warmUpMessages: number;
}

export function reactorBoot(warmUpMessages: number, ringBytes: number = RING_BYTES): ReactorBoot {
  return { ring: ringMemory(ringBytes), warmUpMessages };
}
