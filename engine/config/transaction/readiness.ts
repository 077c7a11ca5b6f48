// Waiting for what an applied operation has set in motion: an event of a namespace and type, of one resource where it names one. What
// came between the call and its answer counts.
import type { Readiness } from '../../../yang/generated/methods.ts';
import type { Clock } from '../../core/clock.ts';

/** plugin-lifecycle §12 */
export const READINESS_MS = 60_000;
/** Events remembered of one operation; more of them push the first ones out. */
const REMEMBERED = 1000;

export interface SeenEvent {
  readonly namespace: string;
  readonly type: string;
  readonly peerAddress?: string | undefined;
  readonly text: string;
}

/** Hears every event emitted from now on; the returned function ends it. */
export type EventTap = (hear: (event: SeenEvent) => void) => () => void;

export class ReadinessWatch {
  readonly #seen: SeenEvent[] = [];
  readonly #stop: () => void;
  #wake: ((event: SeenEvent) => void) | undefined;

  constructor(tap: EventTap) {
    this.#stop = tap((event) => {
      this.#seen.push(event);
      if (this.#seen.length > REMEMBERED) this.#seen.shift();
      this.#wake?.(event);
    });
  }

  /** False when it has not come within `ms`, or the signal was aborted. One wait at a time. */
  async wait(readiness: Readiness, clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
    if (this.#seen.some((event) => isReady(readiness, event))) return true;
    if (signal.aborted) return false;
    return await new Promise<boolean>((resolve) => {
      const over = (found: boolean): void => {
        timer.cancel();
        signal.removeEventListener('abort', give);
        this.#wake = undefined;
        resolve(found);
      };
      const give = (): void => over(false);
      const timer = clock.after(ms, give);
      signal.addEventListener('abort', give, { once: true });
      this.#wake = (event) => {
        if (isReady(readiness, event)) over(true);
      };
    });
  }

  close(): void {
    this.#stop();
  }
}

/** The resource is the event's peer, its whole text, or a text at the top of its JSON or one map below. */
export function isReady(readiness: Readiness, event: SeenEvent): boolean {
  if (readiness.namespace !== event.namespace || readiness['event-type'] !== event.type) return false;
  const resource = readiness.resource ?? '';
  if (resource === '' || event.peerAddress === resource || event.text === resource) return true;
  let value: unknown;
  try {
    value = JSON.parse(event.text);
  } catch {
    return false;
  }
  const members = membersOf(value);
  return members.some((member) => member === resource || membersOf(member).includes(resource));
}

function membersOf(value: unknown): readonly unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}
