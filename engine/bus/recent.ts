/** The last events that passed by, for `show event recent`: columns in a ring, no text, so that noting one costs nothing. */
import type { Direction } from '../bgp/port.ts';

export interface RecentEvent {
  /** ISO 8601, UTC. */
  readonly time: string;
  readonly namespace: string;
  readonly type: string;
  readonly direction: string;
  /** Name of the peer, '' when the event concerns none. */
  readonly peer: string;
  /** 0 = none */
  readonly id: number;
}

export const RECENT_EVENTS = 256;

export class RecentEvents {
  readonly #capacity: number;
  readonly #at: Float64Array;
  readonly #id: Float64Array;
  readonly #namespace: string[];
  readonly #type: string[];
  readonly #direction: Direction[];
  readonly #peer: string[];
  #next = 0;
  #count = 0;

  constructor(capacity = RECENT_EVENTS) {
    this.#capacity = capacity;
    this.#at = new Float64Array(capacity);
    this.#id = new Float64Array(capacity);
    this.#namespace = new Array<string>(capacity).fill('');
    this.#type = new Array<string>(capacity).fill('');
    this.#direction = new Array<Direction>(capacity).fill('unspecified');
    this.#peer = new Array<string>(capacity).fill('');
  }

  note(at: number, namespace: string, type: string, direction: Direction, peer: string, id: number): void {
    const i = this.#next;
    this.#at[i] = at;
    this.#id[i] = id;
    this.#namespace[i] = namespace;
    this.#type[i] = type;
    this.#direction[i] = direction;
    this.#peer[i] = peer;
    this.#next = i + 1 === this.#capacity ? 0 : i + 1;
    if (this.#count < this.#capacity) this.#count++;
  }

  /** Oldest first. */
  list(): readonly RecentEvent[] {
    const out: RecentEvent[] = [];
    for (let k = 0; k < this.#count; k++) {
      const i = (this.#next - this.#count + k + this.#capacity) % this.#capacity;
      out.push({
        time: new Date(this.#at[i]!).toISOString(),
        namespace: this.#namespace[i]!,
        type: this.#type[i]!,
        direction: this.#direction[i] === 'unspecified' ? '' : this.#direction[i]!,
        peer: this.#peer[i]!,
        id: this.#id[i]!,
      });
    }
    return out;
  }
}
