/**
 * Joins two streams of events that speak of the same message, by peer and message id: an UPDATE and what a validator says of it
 * (plugin-lifecycle §16). Each primary reaches the handler exactly once, with its secondary, or with `''` when none came in time.
 */
import { parseJson } from '../rpc/json.ts';

/** Primaries that wait; past it the oldest is given out without a secondary. */
export const UNION_LIMIT = 10_000;
/** How often the ones that have waited too long are looked for, ms. */
export const UNION_SWEEP_MS = 1000;

export interface UnionOptions {
  /** Monotonic milliseconds. Default `performance.now`. */
  readonly now?: (() => number) | undefined;
  /** Runs `sweep` every `ms`; returns what stops it. Default a timer that does not keep the process alive. */
  readonly every?: ((ms: number, sweep: () => void) => () => void) | undefined;
}

/** What came of the events given so far. */
export interface UnionCounts {
  /** Given out with a secondary. */
  readonly joined: number;
  /** Given out alone: too late, evicted, or their peer was flushed. */
  readonly alone: number;
  /** Secondaries whose primary was not there: dropped. */
  readonly orphans: number;
}

interface Waiting {
  readonly peer: string;
  readonly event: string;
  readonly since: number;
}

export type UnionHandler = (primary: string, secondary: string) => void;

export class Union implements Disposable {
  readonly #primary: string;
  readonly #secondary: string;
  readonly #handler: UnionHandler;
  readonly #timeoutMs: number;
  readonly #now: () => number;
  readonly #stop: () => void;
  /** By peer and id, oldest first. */
  readonly #waiting = new Map<string, Waiting>();
  #joined = 0;
  #alone = 0;
  #orphans = 0;

  constructor(primary: string, secondary: string, timeoutMs: number, handler: UnionHandler, options: UnionOptions = {}) {
    this.#primary = primary;
    this.#secondary = secondary;
    this.#handler = handler;
    this.#timeoutMs = timeoutMs;
    this.#now = options.now ?? (() => performance.now());
    this.#stop = (options.every ?? everyUnreferenced)(UNION_SWEEP_MS, () => this.sweep());
  }

  /** Takes an event text of either type; others are ignored. Hand it what `onEvent` gives. */
  event(text: string): void {
    const { type } = partsOf(text)?.message ?? {};
    if (type === this.#primary) this.primary(text);
    else if (type === this.#secondary) this.secondary(text);
  }

  /** An event of the first stream. One without peer or message id can't be joined and is given out at once. */
  primary(event: string): void {
    const key = keyOf(event);
    if (key === undefined) {
      this.#giveAlone(event);
      return;
    }
    const before = this.#waiting.get(key.text);
    this.#waiting.delete(key.text);
    this.#waiting.set(key.text, { peer: key.peer, event, since: this.#now() });
    if (before !== undefined) this.#giveAlone(before.event);
    if (this.#waiting.size <= UNION_LIMIT) return;
    for (const [oldest, { event: evicted }] of this.#waiting) {
      this.#waiting.delete(oldest);
      this.#giveAlone(evicted);
      break;
    }
  }

  /** An event of the second stream; dropped when its primary does not wait. */
  secondary(event: string): void {
    const key = keyOf(event);
    const waiting = key === undefined ? undefined : this.#waiting.get(key.text);
    if (key === undefined || waiting === undefined) {
      this.#orphans++;
      return;
    }
    this.#waiting.delete(key.text);
    this.#joined++;
    this.#handler(waiting.event, event);
  }

  /** Gives out what waits for a peer (its address), alone: the session went down. */
  flushPeer(peer: string): void {
    for (const [key, waiting] of [...this.#waiting]) {
      if (waiting.peer !== peer) continue;
      this.#waiting.delete(key);
      this.#giveAlone(waiting.event);
    }
  }

  /** Gives out what has waited too long; runs every second by itself. */
  sweep(): void {
    const late = this.#now() - this.#timeoutMs;
    for (const [key, waiting] of [...this.#waiting]) {
      if (waiting.since > late) return;
      this.#waiting.delete(key);
      this.#giveAlone(waiting.event);
    }
  }

  /** Primaries that wait. */
  get size(): number {
    return this.#waiting.size;
  }

  get counts(): UnionCounts {
    return { joined: this.#joined, alone: this.#alone, orphans: this.#orphans };
  }

  /** Gives out what waits, and stops the sweep. Idempotent. */
  close(): void {
    this.#stop();
    for (const [key, waiting] of [...this.#waiting]) {
      this.#waiting.delete(key);
      this.#giveAlone(waiting.event);
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #giveAlone(event: string): void {
    this.#alone++;
    this.#handler(event, '');
  }
}

/**
 * `union('update', 'rpki', 2000, (update, rpki) => …)`: types as the events' `message.type` has them, the time a primary waits in ms.
 * Close it at the end.
 */
export function union(
  primary: string,
  secondary: string,
  timeoutMs: number,
  handler: UnionHandler,
  options: UnionOptions = {},
): Union {
  return new Union(primary, secondary, timeoutMs, handler, options);
}

/** Peer address and message id of an event text. */
function keyOf(event: string): { readonly peer: string; readonly text: string } | undefined {
  const bgp = partsOf(event);
  const peer = bgp?.peer?.remote?.address ?? bgp?.peer?.address ?? '';
  const id = bgp?.message?.id;
  if (peer === '' || (typeof id !== 'number' && typeof id !== 'bigint')) return undefined;
  return { peer, text: `${peer} ${id}` };
}

interface EventParts {
  readonly message?: { readonly id?: unknown; readonly type?: unknown };
  readonly peer?: { readonly address?: string; readonly remote?: { readonly address?: string } };
}

function partsOf(event: string): EventParts | undefined {
  try {
    return (parseJson(event) as { readonly bgp?: EventParts } | null)?.bgp;
  } catch {
    return undefined;
  }
}

function everyUnreferenced(ms: number, sweep: () => void): () => void {
  const timer = setInterval(sweep, ms);
  timer.unref();
  return () => clearInterval(timer);
}
