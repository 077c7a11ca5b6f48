/**
 * Originated routes when no plugin keeps an Adj-RIB-Out: enough to send them again when a session comes up and to take them back
 * when their owner goes. Bounded; what does not fit is sent once and forgotten, and counted.
 */

/** Routes, over all peers. */
const LIMIT = 100_000;

export interface StoredRoute {
  readonly owner: string;
  readonly peer: number;
  readonly family: number;
  readonly pathId: number;
  readonly nlri: Uint8Array;
  readonly attributes: Uint8Array;
  readonly nextHop: Uint8Array;
}

export class OriginatedStore {
  readonly #routes = new Map<string, StoredRoute>();
  forgotten = 0;

  get size(): number {
    return this.#routes.size;
  }

  note(route: StoredRoute, announce: boolean): void {
    const key = `${route.peer} ${route.family} ${route.pathId} ${String.fromCharCode(...route.nlri)}`;
    if (!announce) this.#routes.delete(key);
    else if (this.#routes.size < LIMIT || this.#routes.has(key)) this.#routes.set(key, route);
    else this.forgotten++;
  }

  ofPeer(peer: number): readonly StoredRoute[] {
    return [...this.#routes.values()].filter((route) => route.peer === peer);
  }

  /** Takes out everything the owner announced. */
  disown(owner: string): readonly StoredRoute[] {
    const routes: StoredRoute[] = [];
    for (const [key, route] of this.#routes) {
      if (route.owner !== owner) continue;
      routes.push(route);
      this.#routes.delete(key);
    }
    return routes;
  }

  forgetPeer(peer: number): void {
    for (const [key, route] of this.#routes) if (route.peer === peer) this.#routes.delete(key);
  }
}
