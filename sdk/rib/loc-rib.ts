// Routes by row: which routes a prefix has and which of them is used. The best stands in the row itself, so that a prefix with one route
// never touches anything else; further candidates are rows of a list. A row number means whatever the prefix table says it means.
import type { AttributeTable } from './attribute-table.ts';
import { BestPath, STEP_MED } from './best-path.ts';
import { ROW_LIMIT, ROW_RESERVE } from './ipv4-table.ts';
import type { PeerFacts } from './peer-facts.ts';
import { RejectedRoutes, type RejectedRoute } from './rejected-routes.ts';

/** Bits of a change. */
export const BEST_CHANGED = 1;
export const ROUTE_ADDED = 2;
export const ROUTE_REMOVED = 4;
/** Not stored: the prefix has CANDIDATE_LIMIT routes, or the list is full. */
export const ROUTE_REFUSED = 8;
/** A withdraw of what the peer does not have, where others have routes: who passes withdraws on as they come has to make that good. */
export const ROUTE_ABSENT = 16;

/** Routes of one prefix: a bound for what one UPDATE can cost. */
export const CANDIDATE_LIMIT = 1024;
const LIST_LIMIT = 1 << 28;
const PEERS = 0x10000;

export interface LocRibOptions {
  /** Rows, and list entries, reserved at once; virtual until touched. */
  readonly reserve?: number;
}

/**
 * Every stored route counts its attribute handle once. Columns are replaced when the table grows past its reserve: read the field again
 * after every `announce`.
 */
export class LocRib {
  readonly attributes: AttributeTable;
  readonly best: BestPath;
  /** Handle of the best route by row, 0 = none. */
  handles: Uint32Array;
  /** Peer of the best route. */
  sources: Uint16Array;
  /** First further candidate, 0 = none. */
  heads: Uint32Array;
  /** Routes stored. */
  routes = 0;
  /** Rows that have a route. */
  reachable = 0;
  /** Routes stored, by peer. */
  readonly received = new Uint32Array(PEERS);
  /** Routes not stored since the start. */
  refused = 0;
  /** Routes with a stale level. */
  staleRoutes = 0;
  /** Routes that are stored, and counted, but are no candidates; made at the first `reject`. */
  rejected: RejectedRoutes | undefined;
  #capacity: number;
  #listHandles: Uint32Array;
  #listPeers: Uint16Array;
  #listNext: Uint32Array;
  #listCapacity: number;
  #listUsed = 1;
  #listFree = 0;
  /** Made when the first path id that is not 0 arrives. */
  #paths: Uint32Array | undefined;
  #listPaths: Uint32Array | undefined;
  /** Made when the first route becomes stale. */
  #stale: Uint8Array | undefined;
  #listStale: Uint8Array | undefined;

  constructor(attributes: AttributeTable, peers: PeerFacts, options: LocRibOptions = {}) {
    this.attributes = attributes;
    this.best = new BestPath(attributes, peers);
    this.#capacity = options.reserve ?? ROW_RESERVE;
    this.#listCapacity = this.#capacity;
    this.handles = new Uint32Array(this.#capacity);
    this.sources = new Uint16Array(this.#capacity);
    this.heads = new Uint32Array(this.#capacity);
    this.#listHandles = new Uint32Array(this.#listCapacity);
    this.#listPeers = new Uint16Array(this.#listCapacity);
    this.#listNext = new Uint32Array(this.#listCapacity);
  }

  /** Stores a peer's route, in place of the one it has for the row and path id. Answers with bits of a change; 0: nothing new. */
  announce(row: number, peer: number, pathId: number, handle: number): number {
    if (this.rejected !== undefined) {
      const refused = this.rejected.find(row, peer, pathId);
      if (refused !== undefined) return this.#announceRejected(this.rejected, refused, handle);
    }
    if (row >= this.#capacity) this.#grow(row);
    if (pathId !== 0) this.#paths ??= this.#makePaths();
    const best = this.handles[row]!;
    if (best === 0) {
      this.#set(row, handle, peer, pathId, 0);
      this.#count(handle, peer);
      this.reachable++;
      return BEST_CHANGED | ROUTE_ADDED;
    }
    if (this.sources[row] === peer && this.#pathOf(row) === pathId) return this.#replaceBest(row, handle);
    let length = 1;
    for (let entry = this.heads[row]!; entry !== 0; entry = this.#listNext[entry]!) {
      if (this.#listPeers[entry] === peer && this.#listPathOf(entry) === pathId) return this.#replaceOther(row, entry, handle);
      length++;
    }
    return this.#add(row, peer, pathId, handle, length);
  }

  /** Takes a peer's route away. Answers with bits of a change; 0: the row has no route at all. */
  withdraw(row: number, peer: number, pathId: number): number {
    if (this.rejected !== undefined) {
      const refused = this.rejected.find(row, peer, pathId);
      if (refused !== undefined) return this.#dropRejected(this.rejected, refused);
    }
    if (row >= this.#capacity || this.handles[row] === 0) return 0;
    if (this.sources[row] === peer && this.#pathOf(row) === pathId) return this.#removeBest(row);
    let before = 0;
    for (let entry = this.heads[row]!; entry !== 0; entry = this.#listNext[entry]!) {
      if (this.#listPeers[entry] === peer && this.#listPathOf(entry) === pathId) return this.#removeOther(row, before, entry);
      before = entry;
    }
    return ROUTE_ABSENT;
  }

  /** Is there a candidate of this peer and path id? */
  holds(row: number, peer: number, pathId: number): boolean {
    const count = this.load(row);
    const { best } = this;
    for (let i = 0; i < count; i++) if (best.peer[i] === peer && best.pathId[i] === pathId) return true;
    return false;
  }

  /**
   * The peer's route is no candidate from now on, whatever the peer sends for it, until it is withdrawn or accepted; where it is not there,
   * that will hold when it comes. Bits of a change.
   */
  reject(row: number, peer: number, pathId: number, owner: string, state: number): number {
    this.rejected ??= new RejectedRoutes();
    const known = this.rejected.find(row, peer, pathId);
    if (known !== undefined) {
      known.owner = owner;
      known.state = state;
      return 0;
    }
    const route: RejectedRoute = { row, peer, pathId, handle: 0, stale: 0, owner, state };
    const count = this.load(row);
    const { best } = this;
    for (let i = 0; i < count; i++) {
      if (best.peer[i] !== peer || best.pathId[i] !== pathId) continue;
      route.handle = best.handle[i]!;
      route.stale = best.stale[i]!;
    }
    let change = 0;
    if (route.handle !== 0) {
      this.attributes.hold(route.handle);
      change = this.withdraw(row, peer, pathId);
      this.routes++;
      this.received[peer]!++;
    }
    this.rejected.add(route);
    return change;
  }

  /** Takes a `reject` back: the route, if it is there, is a candidate again. Bits of a change. */
  accept(row: number, peer: number, pathId: number): number {
    const { rejected } = this;
    const route = rejected?.find(row, peer, pathId);
    if (rejected === undefined || route === undefined) return 0;
    const { handle, stale } = route;
    if (handle !== 0) this.attributes.hold(handle);
    this.#dropRejected(rejected, route);
    if (handle === 0) return 0;
    const change = this.announce(row, peer, pathId, handle);
    this.attributes.release(handle);
    return stale === 0 ? change : change | this.#markStale(row, peer, stale, pathId);
  }

  /** Takes every route of the peer away from the row. */
  dropPeer(row: number, peer: number): number {
    return this.#dropWhere(row, peer, 0);
  }

  /** Takes the peer's routes of the row away that are stale at `level` or above. */
  dropStale(row: number, peer: number, level: number): number {
    return this.#stale === undefined && this.rejected === undefined ? 0 : this.#dropWhere(row, peer, level);
  }

  /** Gives the peer's routes of the row a stale level (0 = fresh); a later `announce` of the route makes it fresh. */
  markStale(row: number, peer: number, level: number): number {
    return this.#markStale(row, peer, level, -1);
  }

  /** `pathId` -1: every path. */
  #markStale(row: number, peer: number, level: number, pathId: number): number {
    const means = (path: number): boolean => pathId < 0 || path === pathId;
    if (this.rejected !== undefined) {
      for (const route of this.rejected.at(row))
        if (route.peer === peer && route.handle !== 0 && means(route.pathId)) route.stale = level;
    }
    if (row >= this.#capacity || this.handles[row] === 0) return 0;
    this.#stale ??= new Uint8Array(this.#capacity);
    this.#listStale ??= new Uint8Array(this.#listCapacity);
    let found = false;
    if (this.sources[row] === peer && means(this.#pathOf(row))) found = this.#setStale(this.#stale, row, level);
    for (let entry = this.heads[row]!; entry !== 0; entry = this.#listNext[entry]!) {
      if (this.#listPeers[entry] !== peer || !means(this.#listPathOf(entry))) continue;
      if (this.#setStale(this.#listStale, entry, level)) found = true;
    }
    return found && this.heads[row] !== 0 ? this.#select(row) : 0;
  }

  /** Puts every route of the row into `best`'s columns, the best first, and returns how many there are. */
  load(row: number): number {
    if (row >= this.#capacity || this.handles[row] === 0) return 0;
    const best = this.best;
    best.handle[0] = this.handles[row]!;
    best.peer[0] = this.sources[row]!;
    best.pathId[0] = this.#pathOf(row);
    best.stale[0] = this.#staleOf(row);
    let count = 1;
    for (let entry = this.heads[row]!; entry !== 0; entry = this.#listNext[entry]!) {
      if (count === best.handle.length) best.reserve(count + 1);
      best.handle[count] = this.#listHandles[entry]!;
      best.peer[count] = this.#listPeers[entry]!;
      best.pathId[count] = this.#listPathOf(entry);
      best.stale[count] = this.#listStaleOf(entry);
      count++;
    }
    return count;
  }

  /** True when the row has a route of the peer, and cheap when it has one route only. */
  hasPeer(row: number, peer: number): boolean {
    if (row >= this.#capacity || this.handles[row] === 0) return false;
    if (this.sources[row] === peer) return true;
    for (let entry = this.heads[row]!; entry !== 0; entry = this.#listNext[entry]!) {
      if (this.#listPeers[entry] === peer) return true;
    }
    return false;
  }

  #add(row: number, peer: number, pathId: number, handle: number, length: number): number {
    const entry = length < CANDIDATE_LIMIT ? this.#takeEntry() : 0;
    if (entry === 0) {
      this.refused++;
      return ROUTE_REFUSED;
    }
    this.#count(handle, peer);
    const best = this.handles[row]!;
    const med = this.best.sameNeighbour(best, handle);
    const source = this.sources[row]!;
    const result = this.best.decide(best, source, this.#pathOf(row), this.#staleOf(row), handle, peer, pathId, 0, med);
    this.#setEntry(entry, handle, peer, pathId, 0);
    this.#listNext[entry] = this.heads[row]!;
    this.heads[row] = entry;
    if (result >= 0) return ROUTE_ADDED;
    // The newcomer beats the best. It is the best of all unless MED had a word in it: then a third route may hide it.
    const step = -result;
    if (length === 1 || step < STEP_MED || (med && step > STEP_MED)) {
      this.#swap(row, entry);
      return BEST_CHANGED | ROUTE_ADDED;
    }
    return this.#select(row) | ROUTE_ADDED;
  }

  #announceRejected(rejected: RejectedRoutes, route: RejectedRoute, handle: number): number {
    const old = route.handle;
    route.stale = 0;
    if (old === handle) return 0;
    this.attributes.hold(handle);
    if (old === 0) {
      rejected.arrived(route, handle);
      this.routes++;
      this.received[route.peer]!++;
    } else {
      route.handle = handle;
      this.attributes.release(old);
    }
    return 0;
  }

  #dropRejected(rejected: RejectedRoutes, route: RejectedRoute): number {
    rejected.delete(route);
    if (route.handle === 0) return 0;
    this.attributes.release(route.handle);
    this.routes--;
    this.received[route.peer]!--;
    return ROUTE_REMOVED;
  }

  #replaceBest(row: number, handle: number): number {
    const old = this.handles[row]!;
    const refreshed = this.#stale !== undefined && this.#setStale(this.#stale, row, 0);
    if (old === handle) return refreshed && this.heads[row] !== 0 ? this.#select(row) : 0;
    this.attributes.hold(handle);
    this.handles[row] = handle;
    this.attributes.release(old);
    if (this.heads[row] !== 0) this.#select(row);
    return BEST_CHANGED;
  }

  #replaceOther(row: number, entry: number, handle: number): number {
    const old = this.#listHandles[entry]!;
    const refreshed = this.#listStale !== undefined && this.#setStale(this.#listStale, entry, 0);
    if (old === handle) return refreshed ? this.#select(row) : 0;
    this.attributes.hold(handle);
    this.#listHandles[entry] = handle;
    this.attributes.release(old);
    return this.#select(row);
  }

  #removeBest(row: number): number {
    const handle = this.handles[row]!;
    this.#uncount(handle, this.sources[row]!, this.#staleOf(row));
    const entry = this.heads[row]!;
    if (entry === 0) {
      this.handles[row] = 0;
      this.reachable--;
      return BEST_CHANGED | ROUTE_REMOVED;
    }
    this.#set(row, this.#listHandles[entry]!, this.#listPeers[entry]!, this.#listPathOf(entry), this.#listStaleOf(entry));
    this.heads[row] = this.#listNext[entry]!;
    this.#giveEntry(entry);
    if (this.heads[row] !== 0) this.#select(row);
    return BEST_CHANGED | ROUTE_REMOVED;
  }

  #removeOther(row: number, before: number, entry: number): number {
    const handle = this.#listHandles[entry]!;
    const stale = this.#listStaleOf(entry);
    const peer = this.#listPeers[entry]!;
    if (before === 0) this.heads[row] = this.#listNext[entry]!;
    else this.#listNext[before] = this.#listNext[entry]!;
    this.#giveEntry(entry);
    // It may have hidden a route of its neighbour AS by its MED; not when it lost to the best before MED, or to one of the same AS.
    const best = this.handles[row]!;
    const hid =
      this.heads[row] !== 0 &&
      this.best.early(best, this.#staleOf(row), handle, stale) === 0 &&
      !this.best.sameNeighbour(best, handle);
    this.#uncount(handle, peer, stale);
    return ROUTE_REMOVED | (hid ? this.#select(row) : 0);
  }

  #dropWhere(row: number, peer: number, lowest: number): number {
    const { rejected } = this;
    if (rejected?.has(row) === true) {
      for (const route of rejected.at(row)) {
        if (route.peer === peer && route.stale >= lowest) this.#dropRejected(rejected, route);
      }
    }
    if (row >= this.#capacity || this.handles[row] === 0) return 0;
    let change = 0;
    let before = 0;
    for (let entry = this.heads[row]!; entry !== 0; ) {
      const next = this.#listNext[entry]!;
      const stale = this.#listStaleOf(entry);
      if (this.#listPeers[entry] === peer && stale >= lowest) {
        if (before === 0) this.heads[row] = next;
        else this.#listNext[before] = next;
        const handle = this.#listHandles[entry]!;
        this.#giveEntry(entry);
        this.#uncount(handle, peer, stale);
        change |= ROUTE_REMOVED;
      } else {
        before = entry;
      }
      entry = next;
    }
    if (this.sources[row] === peer && this.#staleOf(row) >= lowest) return change | this.#removeBest(row);
    return change !== 0 && this.heads[row] !== 0 ? change | this.#select(row) : change;
  }

  /** Brings the best of the row's routes into the row; BEST_CHANGED when it was another. */
  #select(row: number): number {
    const winner = this.best.pick(this.load(row));
    if (winner <= 0) return 0;
    let entry = this.heads[row]!;
    for (let i = 1; i < winner; i++) entry = this.#listNext[entry]!;
    this.#swap(row, entry);
    return BEST_CHANGED;
  }

  #swap(row: number, entry: number): void {
    const handle = this.handles[row]!;
    const peer = this.sources[row]!;
    const pathId = this.#pathOf(row);
    const stale = this.#staleOf(row);
    this.#set(row, this.#listHandles[entry]!, this.#listPeers[entry]!, this.#listPathOf(entry), this.#listStaleOf(entry));
    this.#setEntry(entry, handle, peer, pathId, stale);
  }

  #set(row: number, handle: number, peer: number, pathId: number, stale: number): void {
    this.handles[row] = handle;
    this.sources[row] = peer;
    if (this.#paths !== undefined) this.#paths[row] = pathId;
    if (this.#stale !== undefined) this.#stale[row] = stale;
  }

  #setEntry(entry: number, handle: number, peer: number, pathId: number, stale: number): void {
    this.#listHandles[entry] = handle;
    this.#listPeers[entry] = peer;
    if (this.#listPaths !== undefined) this.#listPaths[entry] = pathId;
    if (this.#listStale !== undefined) this.#listStale[entry] = stale;
  }

  #setStale(levels: Uint8Array, at: number, level: number): boolean {
    const old = levels[at]!;
    if (old === level) return false;
    levels[at] = level;
    if (old === 0) this.staleRoutes++;
    else if (level === 0) this.staleRoutes--;
    return true;
  }

  #pathOf(row: number): number {
    return this.#paths === undefined ? 0 : this.#paths[row]!;
  }

  #listPathOf(entry: number): number {
    return this.#listPaths === undefined ? 0 : this.#listPaths[entry]!;
  }

  #staleOf(row: number): number {
    return this.#stale === undefined ? 0 : this.#stale[row]!;
  }

  #listStaleOf(entry: number): number {
    return this.#listStale === undefined ? 0 : this.#listStale[entry]!;
  }

  #count(handle: number, peer: number): void {
    this.attributes.hold(handle);
    this.routes++;
    this.received[peer]!++;
  }

  #uncount(handle: number, peer: number, stale: number): void {
    this.attributes.release(handle);
    this.routes--;
    this.received[peer]!--;
    if (stale !== 0) this.staleRoutes--;
  }

  #takeEntry(): number {
    const entry = this.#listFree;
    if (entry !== 0) {
      this.#listFree = this.#listNext[entry]!;
      return entry;
    }
    if (this.#listUsed >= this.#listCapacity && !this.#growList()) return 0;
    return this.#listUsed++;
  }

  #giveEntry(entry: number): void {
    this.#listNext[entry] = this.#listFree;
    this.#listFree = entry;
  }

  #makePaths(): Uint32Array {
    this.#listPaths = new Uint32Array(this.#listCapacity);
    return new Uint32Array(this.#capacity);
  }

  #grow(row: number): void {
    let capacity = this.#capacity;
    while (capacity <= row) capacity *= 2;
    capacity = Math.min(capacity, ROW_LIMIT + 1);
    this.#capacity = capacity;
    this.handles = wider(this.handles, new Uint32Array(capacity));
    this.sources = wider(this.sources, new Uint16Array(capacity));
    this.heads = wider(this.heads, new Uint32Array(capacity));
    if (this.#paths !== undefined) this.#paths = wider(this.#paths, new Uint32Array(capacity));
    if (this.#stale !== undefined) this.#stale = wider(this.#stale, new Uint8Array(capacity));
  }

  #growList(): boolean {
    const capacity = Math.min(2 * this.#listCapacity, LIST_LIMIT);
    if (capacity === this.#listCapacity) return false;
    this.#listCapacity = capacity;
    this.#listHandles = wider(this.#listHandles, new Uint32Array(capacity));
    this.#listPeers = wider(this.#listPeers, new Uint16Array(capacity));
    this.#listNext = wider(this.#listNext, new Uint32Array(capacity));
    if (this.#listPaths !== undefined) this.#listPaths = wider(this.#listPaths, new Uint32Array(capacity));
    if (this.#listStale !== undefined) this.#listStale = wider(this.#listStale, new Uint8Array(capacity));
    return true;
  }
}

function wider<T extends Uint8Array | Uint16Array | Uint32Array>(old: T, fresh: T): T {
  fresh.set(old);
  return fresh;
}
