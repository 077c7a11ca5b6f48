// Routes that somebody judged and refused (origin validation): kept for their peer, but no candidates for best path. And refusals that came
// before their route: it is refused when it arrives. Nothing of this exists before the first refusal.

/** Refusals without a route that are kept; the oldest makes room. */
export const EARLY_LIMIT = 65_536;

export interface RejectedRoute {
  readonly row: number;
  readonly peer: number;
  readonly pathId: number;
  /** Counted attribute handle; 0: the route is not there (yet). */
  handle: number;
  stale: number;
  /** Who refused it. */
  owner: string;
  /** The validation state it gave as the reason. */
  state: number;
}

export class RejectedRoutes {
  /** Routes that are there. */
  routes = 0;
  readonly #rows = new Map<number, RejectedRoute[]>();
  readonly #early = new Set<RejectedRoute>();

  get early(): number {
    return this.#early.size;
  }

  has(row: number): boolean {
    return this.#rows.has(row);
  }

  at(row: number): readonly RejectedRoute[] {
    return this.#rows.get(row) ?? NONE;
  }

  find(row: number, peer: number, pathId: number): RejectedRoute | undefined {
    const routes = this.#rows.get(row);
    if (routes === undefined) return undefined;
    for (const route of routes) if (route.peer === peer && route.pathId === pathId) return route;
    return undefined;
  }

  add(route: RejectedRoute): void {
    const routes = this.#rows.get(route.row);
    if (routes === undefined) this.#rows.set(route.row, [route]);
    else routes.push(route);
    if (route.handle !== 0) {
      this.routes++;
      return;
    }
    this.#early.add(route);
    if (this.#early.size <= EARLY_LIMIT) return;
    for (const oldest of this.#early) {
      this.delete(oldest);
      break;
    }
  }

  delete(route: RejectedRoute): void {
    const left = this.at(route.row).filter((one) => one !== route);
    if (left.length === 0) this.#rows.delete(route.row);
    else this.#rows.set(route.row, [...left]);
    if (route.handle === 0) this.#early.delete(route);
    else this.routes--;
  }

  /** The route that was refused before it came is there. */
  arrived(route: RejectedRoute, handle: number): void {
    this.#early.delete(route);
    route.handle = handle;
    this.routes++;
  }

  *all(): Generator<RejectedRoute> {
    for (const routes of [...this.#rows.values()]) yield* routes;
  }

  *allEarly(): Generator<RejectedRoute> {
    yield* [...this.#early];
  }
}

const NONE: readonly RejectedRoute[] = [];
