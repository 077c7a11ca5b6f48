// Work over every row of every family for one peer, a few rows at a time: its routes dropped, marked stale, or the stale ones purged.
import type { FamilyRoutes } from '../../sdk/rib/family-routes.ts';
import type { RouteStore } from '../../sdk/rib/route-store.ts';

/** Rows looked at per slice: about a millisecond when every one of them changes. */
const SLICE = 4096;

type RowWork = (family: FamilyRoutes, row: number, count: number) => number;

export class Sweep {
  readonly peer: number;
  readonly #families: readonly FamilyRoutes[];
  readonly #work: RowWork;
  readonly #done: (() => void) | undefined;
  #family = 0;
  #row = 0;
  #over = false;

  private constructor(peer: number, families: readonly FamilyRoutes[], work: RowWork, done: (() => void) | undefined) {
    this.peer = peer;
    this.#families = families;
    this.#work = work;
    this.#done = done;
  }

  static drop(store: RouteStore, peer: number, done?: () => void): Sweep {
    return new Sweep(peer, [...store.families], (family, row, count) => family.dropPeer(peer, row, count), done);
  }

  static mark(store: RouteStore, peer: number, level: number, done?: () => void): Sweep {
    return new Sweep(peer, [...store.families], (family, row, count) => family.markStale(peer, level, row, count), done);
  }

  /** `family` 0 = all. */
  static purge(store: RouteStore, peer: number, family: number, done?: () => void): Sweep {
    const families = store.families.filter((routes) => family === 0 || routes.family === family);
    return new Sweep(peer, families, (routes, row, count) => routes.dropStale(peer, 1, row, count), done);
  }

  /** One slice; false when nothing is left to do. */
  step(): boolean {
    return this.#advance(SLICE);
  }

  /** Everything that is left, at once. */
  finish(): void {
    while (this.#advance(1 << 30));
  }

  #advance(count: number): boolean {
    const family = this.#families[this.#family];
    if (family === undefined) {
      if (!this.#over) {
        this.#over = true;
        this.#done?.();
      }
      return false;
    }
    this.#row = this.#work(family, this.#row, count);
    if (this.#row < 0) {
      this.#family++;
      this.#row = 0;
    }
    return true;
  }
}
