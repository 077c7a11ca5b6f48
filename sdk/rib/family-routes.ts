// The routes of one family: prefix table and candidates put together, fed with runs of NLRI as they stand in a message, and a list of the
// rows that changed since it was last taken. What is kept here may be announced as it is: it is a `BestRoutes`.
import type { BestRoutes } from '../plugin/route-path.ts';
import { type Family, IPV4_MULTICAST, IPV4_UNICAST, IPV6_MULTICAST, IPV6_UNICAST } from '../wire/family.ts';
import { readIpv4Prefix } from '../wire/nlri/prefix.ts';
import { entryLength } from '../wire/nlri/syntax.ts';
import type { AttributeTable } from './attribute-table.ts';
import { Ipv4Table } from './ipv4-table.ts';
import { Ipv6Table } from './ipv6-table.ts';
import { LocRib } from './loc-rib.ts';
import { NlriTable } from './nlri-table.ts';
import type { PeerFacts } from './peer-facts.ts';
import type { PrefixTable } from './prefix-table.ts';

export interface FamilyOptions {
  /** Rows reserved at once; virtual until touched. */
  readonly reserve: number;
  /** Mixed into the hash. */
  readonly seed: number;
  /** Bits of a change (`BEST_CHANGED`, …) that put a row on the list. */
  readonly interest: number;
  /** Rows never exceeded. */
  readonly limit?: number | undefined;
}

/** Rows looked at per flush when rows without a route are to be freed, and per row that was inserted since. */
const RECLAIM_LEAST = 64;
const RECLAIM_PER_ROW = 8;

export abstract class FamilyRoutes implements BestRoutes {
  readonly family: Family;
  /** What waits for `settle` included. */
  abstract readonly table: PrefixTable;
  /** Rows that changed, each once; `changedCount` of them, as of the last `settle`. Replaced when it grows. */
  changed = new Int32Array(1024);
  changedCount = 0;
  /** NLRI not stored since the start because the table was full. */
  refused = 0;
  protected readonly interest: number;
  /** Without what waits: as of the last `settle`. */
  protected readonly kept: LocRib;
  #listed: Uint8Array;
  #hand = 0;
  #usedBefore = 0;

  constructor(family: Family, attributes: AttributeTable, peers: PeerFacts, options: FamilyOptions) {
    this.family = family;
    this.kept = new LocRib(attributes, peers, { reserve: options.reserve });
    this.interest = options.interest;
    this.#listed = new Uint8Array(options.reserve);
  }

  /**
   * Stores a run of NLRI (`length` bytes at `at`, syntax checked) as routes of the peer. The caller holds the handle. 0 as handle: the
   * attributes could not be kept, so what the peer had for these NLRI goes, for it is no longer what the peer says.
   */
  abstract announce(view: DataView, at: number, length: number, addPath: boolean, peer: number, handle: number): void;
  abstract withdraw(view: DataView, at: number, length: number, addPath: boolean, peer: number): void;
  /** Row of one NLRI without path id, -1 when it is not there. */
  abstract find(view: DataView, at: number, length: number): number;
  /** The same, made when it is not there; -1 when the table is full. A row without a route is given back by `reclaim`. */
  abstract row(view: DataView, at: number, length: number): number;

  /** Everything that was announced and withdrawn is in the tables afterwards. Whoever reads them by `rib`, `table` or `rows` need not ask. */
  settle(): void {
    // Only a family that lets routes wait has something to do.
  }

  /** What waits for `settle` included. */
  get rib(): LocRib {
    this.settle();
    return this.kept;
  }

  get rows(): number {
    return this.table.used;
  }

  best(row: number): number {
    return this.kept.handles[row] ?? 0;
  }

  source(row: number): number {
    return this.kept.sources[row]!;
  }

  writePrefix(row: number, out: Uint8Array, at: number): number {
    return this.table.write(row, out, at);
  }

  attributesAt(handle: number): number {
    return this.kept.attributes.at(handle);
  }

  attributesLength(handle: number): number {
    return this.kept.attributes.length(handle);
  }

  get attributeBytes(): Uint8Array {
    return this.kept.attributes.arena.bytes;
  }

  nextHopAt(handle: number): number {
    return this.kept.attributes.hopAt(handle);
  }

  nextHopLength(handle: number): number {
    return this.kept.attributes.hopLength(handle);
  }

  /** Empties the list of changed rows. */
  clearChanged(): void {
    const { changed } = this;
    for (let i = 0; i < this.changedCount; i++) this.#listed[changed[i]!] = 0;
    this.changedCount = 0;
  }

  /** Takes the peer's routes away from up to `count` rows from `row` on; returns the row to go on with, -1 when the peer has none left. */
  dropPeer(peer: number, row: number, count: number): number {
    const end = Math.min(row + count, this.table.used);
    const { rib } = this;
    for (let i = row; i < end && rib.received[peer] !== 0; i++) this.note(i, rib.dropPeer(i, peer));
    return end >= this.table.used || rib.received[peer] === 0 ? -1 : end;
  }

  /** Like `dropPeer`, for routes that are stale at `level` or above. */
  dropStale(peer: number, level: number, row: number, count: number): number {
    const end = Math.min(row + count, this.table.used);
    for (let i = row; i < end; i++) this.note(i, this.rib.dropStale(i, peer, level));
    return end >= this.table.used ? -1 : end;
  }

  /** Marks the peer's routes of up to `count` rows as stale; returns the row to go on with, -1 at the end. */
  markStale(peer: number, level: number, row: number, count: number): number {
    const end = Math.min(row + count, this.table.used);
    for (let i = row; i < end; i++) this.note(i, this.rib.markStale(i, peer, level));
    return end >= this.table.used ? -1 : end;
  }

  /**
   * A decision about a peer's route (`LocRib.reject`, `accept`). True: the route is there; else a refusal waits for it, and an acceptance
   * is of no use.
   */
  decide(
    accept: boolean,
    view: DataView,
    at: number,
    length: number,
    peer: number,
    pathId: number,
    owner: string,
    state: number,
  ): boolean {
    const { rib } = this;
    const row = accept ? this.find(view, at, length) : this.row(view, at, length);
    if (row < 0) return false;
    const there = rib.holds(row, peer, pathId) || (rib.rejected?.find(row, peer, pathId)?.handle ?? 0) !== 0;
    this.note(row, accept ? rib.accept(row, peer, pathId) : rib.reject(row, peer, pathId, owner, state));
    return there;
  }

  /** What this owner refused is a candidate again. */
  acceptOwner(owner: string): void {
    const { rib } = this;
    for (const route of rib.rejected?.all() ?? []) {
      if (route.owner === owner) this.note(route.row, rib.accept(route.row, route.peer, route.pathId));
    }
  }

  /** Refusals that wait for routes of the peer are forgotten. */
  forgetEarly(peer: number): void {
    const { rejected } = this.rib;
    for (const route of rejected?.allEarly() ?? []) if (route.peer === peer) rejected?.delete(route);
  }

  /**
   * Frees rows that have no route and that `idle` gives free, a few at a time: call it at every flush, after the list was cleared. A row
   * that is not freed keeps its prefix, and serves it again when it comes back.
   */
  reclaim(idle: (row: number) => boolean): void {
    const { table, rib } = this;
    const fresh = table.used - this.#usedBefore;
    this.#usedBefore = table.used;
    if ((table.size - rib.reachable) * 8 <= table.used) return;
    for (let left = RECLAIM_LEAST + RECLAIM_PER_ROW * fresh; left > 0; left--) {
      const row = this.#hand < table.used ? this.#hand : 0;
      this.#hand = row + 1;
      if (this.best(row) !== 0 || !table.has(row) || this.#listed[row] === 1) continue;
      if (rib.rejected?.has(row) !== true && idle(row)) table.remove(row);
    }
  }

  protected note(row: number, change: number): void {
    if ((change & this.interest) === 0) return;
    if (row >= this.#listed.length) this.#grow(row);
    if (this.#listed[row] !== 0) return;
    this.#listed[row] = 1;
    if (this.changedCount === this.changed.length) this.#widen();
    this.changed[this.changedCount++] = row;
  }

  #grow(row: number): void {
    const listed = new Uint8Array(2 ** Math.ceil(Math.log2(row + 1)));
    listed.set(this.#listed);
    this.#listed = listed;
  }

  #widen(): void {
    const changed = new Int32Array(4 * this.changed.length);
    changed.set(this.changed);
    this.changed = changed;
  }
}

// The walks over a run of NLRI below are alike in all classes, and stay written out: with the entry's key behind a method the call in the
// loop would see three tables, and a key of one to four words or a run of bytes has no common form that costs nothing per route.

/** Routes that wait, at most: as many lines of the table's slots stay in the first cache. */
const QUEUE = 256;

/**
 * IPv4 unicast or multicast. Routes wait in a queue until it is full, somebody reads the tables, or `settle`: the slots of a large table are
 * spread over memory, and one loop that looks at many of them waits for all at once, where a message would wait for each.
 */
export class Ipv4Routes extends FamilyRoutes {
  readonly #table: Ipv4Table;
  #queued = 0;
  readonly #addresses = new Uint32Array(QUEUE);
  readonly #lengths = new Uint8Array(QUEUE);
  readonly #pathIds = new Uint32Array(QUEUE);
  /** Entries up to here, from the end of the run before, have one peer and handle (0: withdrawn). A run holds its handle. */
  readonly #runEnds = new Uint16Array(QUEUE);
  readonly #runPeers = new Uint16Array(QUEUE);
  readonly #runHandles = new Uint32Array(QUEUE);
  #runs = 0;

  constructor(family: Family, attributes: AttributeTable, peers: PeerFacts, options: FamilyOptions) {
    super(family, attributes, peers, options);
    this.#table = new Ipv4Table(tableOptions(options));
  }

  get table(): Ipv4Table {
    this.settle();
    return this.#table;
  }

  override writePrefix(row: number, out: Uint8Array, at: number): number {
    return this.#table.write(row, out, at);
  }

  announce(view: DataView, at: number, length: number, addPath: boolean, peer: number, handle: number): void {
    const addresses = this.#addresses;
    const lengths = this.#lengths;
    const end = at + length;
    let queued = this.#queued;
    for (let i = at; i < end; ) {
      if (queued === QUEUE) {
        this.#endRun(queued, peer, handle);
        this.settle();
        queued = 0;
      }
      this.#pathIds[queued] = addPath ? view.getUint32(i) : 0;
      if (addPath) i += 4;
      const lengthBits = view.getUint8(i);
      addresses[queued] = readIpv4Prefix(view, i + 1, lengthBits);
      lengths[queued++] = lengthBits;
      i += 1 + ((lengthBits + 7) >>> 3);
    }
    this.#endRun(queued, peer, handle);
  }

  withdraw(view: DataView, at: number, length: number, addPath: boolean, peer: number): void {
    this.announce(view, at, length, addPath, peer, 0);
  }

  override settle(): void {
    const queued = this.#queued;
    if (queued === 0) return;
    this.#queued = 0;
    const runs = this.#runs;
    this.#runs = 0;
    const rib = this.kept;
    const table = this.#table;
    const addresses = this.#addresses;
    const lengths = this.#lengths;
    if (queued > 1) table.warm(addresses, lengths, queued);
    let i = 0;
    for (let run = 0; run < runs; run++) {
      const end = this.#runEnds[run]!;
      const peer = this.#runPeers[run]!;
      const handle = this.#runHandles[run]!;
      for (; i < end; i++) {
        if (handle === 0) {
          const row = table.find(addresses[i]!, lengths[i]!);
          if (row >= 0) this.note(row, rib.withdraw(row, peer, this.#pathIds[i]!));
          continue;
        }
        const row = table.insert(addresses[i]!, lengths[i]!);
        if (row < 0) this.refused++;
        else this.note(row, rib.announce(row, peer, this.#pathIds[i]!, handle));
      }
      if (handle !== 0) rib.attributes.release(handle);
    }
  }

  #endRun(queued: number, peer: number, handle: number): void {
    if (queued === (this.#runs === 0 ? 0 : this.#runEnds[this.#runs - 1]!)) return;
    if (handle !== 0) this.kept.attributes.hold(handle);
    this.#queued = queued;
    this.#runEnds[this.#runs] = queued;
    this.#runPeers[this.#runs] = peer;
    this.#runHandles[this.#runs++] = handle;
  }

  find(view: DataView, at: number): number {
    const lengthBits = view.getUint8(at);
    return this.table.find(readIpv4Prefix(view, at + 1, lengthBits), lengthBits);
  }

  row(view: DataView, at: number): number {
    const lengthBits = view.getUint8(at);
    return this.table.insert(readIpv4Prefix(view, at + 1, lengthBits), lengthBits);
  }
}

/** IPv6 unicast or multicast. */
export class Ipv6Routes extends FamilyRoutes {
  readonly table: Ipv6Table;

  constructor(family: Family, attributes: AttributeTable, peers: PeerFacts, options: FamilyOptions) {
    super(family, attributes, peers, options);
    this.table = new Ipv6Table(tableOptions(options));
  }

  announce(view: DataView, at: number, length: number, addPath: boolean, peer: number, handle: number): void {
    if (handle === 0) {
      this.withdraw(view, at, length, addPath, peer);
      return;
    }
    const { table, rib } = this;
    const end = at + length;
    for (let i = at; i < end; ) {
      const pathId = addPath ? view.getUint32(i) : 0;
      if (addPath) i += 4;
      const bits = view.getUint8(i);
      const row = table.insert(
        word(view, i, bits, 0),
        word(view, i, bits, 1),
        word(view, i, bits, 2),
        word(view, i, bits, 3),
        bits,
      );
      i += 1 + ((bits + 7) >>> 3);
      if (row < 0) this.refused++;
      else this.note(row, rib.announce(row, peer, pathId, handle));
    }
  }

  withdraw(view: DataView, at: number, length: number, addPath: boolean, peer: number): void {
    const { rib } = this;
    const end = at + length;
    for (let i = at; i < end; ) {
      const pathId = addPath ? view.getUint32(i) : 0;
      if (addPath) i += 4;
      const bits = view.getUint8(i);
      const row = this.find(view, i);
      i += 1 + ((bits + 7) >>> 3);
      if (row >= 0) this.note(row, rib.withdraw(row, peer, pathId));
    }
  }

  find(view: DataView, at: number): number {
    const bits = view.getUint8(at);
    return this.table.find(
      word(view, at, bits, 0),
      word(view, at, bits, 1),
      word(view, at, bits, 2),
      word(view, at, bits, 3),
      bits,
    );
  }

  row(view: DataView, at: number): number {
    const bits = view.getUint8(at);
    return this.table.insert(
      word(view, at, bits, 0),
      word(view, at, bits, 1),
      word(view, at, bits, 2),
      word(view, at, bits, 3),
      bits,
    );
  }
}

/** Any other family: the entry's own bytes are the key, so a label that changes makes another route. */
export class OpaqueRoutes extends FamilyRoutes {
  readonly table: NlriTable;
  #bytes: Uint8Array = new Uint8Array(0);

  constructor(family: Family, attributes: AttributeTable, peers: PeerFacts, options: FamilyOptions) {
    super(family, attributes, peers, options);
    this.table = new NlriTable(tableOptions(options));
  }

  announce(view: DataView, at: number, length: number, addPath: boolean, peer: number, handle: number): void {
    if (handle === 0) {
      this.withdraw(view, at, length, addPath, peer);
      return;
    }
    const bytes = this.#over(view);
    const end = at + length;
    for (let i = at; i < end; ) {
      const pathId = addPath ? view.getUint32(i) : 0;
      if (addPath) i += 4;
      const size = entryLength(view, i, end - i, this.family, false);
      if (size < 0) return;
      const row = this.table.insert(bytes, i, size);
      i += size;
      if (row < 0) this.refused++;
      else this.note(row, this.rib.announce(row, peer, pathId, handle));
    }
  }

  withdraw(view: DataView, at: number, length: number, addPath: boolean, peer: number): void {
    const bytes = this.#over(view);
    const end = at + length;
    for (let i = at; i < end; ) {
      const pathId = addPath ? view.getUint32(i) : 0;
      if (addPath) i += 4;
      const size = entryLength(view, i, end - i, this.family, true);
      if (size < 0) return;
      const row = this.table.find(bytes, i, size);
      i += size;
      if (row >= 0) this.note(row, this.rib.withdraw(row, peer, pathId));
    }
  }

  find(view: DataView, at: number, length: number): number {
    return this.table.find(this.#over(view), at, length);
  }

  row(view: DataView, at: number, length: number): number {
    return this.table.insert(this.#over(view), at, length);
  }

  /** The view's bytes at the view's offsets; made anew only when the view is over another buffer. */
  #over(view: DataView): Uint8Array {
    const { buffer, byteOffset, byteLength } = view;
    const held = this.#bytes;
    if (held.buffer !== buffer || held.byteOffset !== byteOffset || held.byteLength !== byteLength) {
      this.#bytes = new Uint8Array(buffer, byteOffset, byteLength);
    }
    return this.#bytes;
  }
}

/** The class for a family. */
export function familyRoutes(family: Family, attributes: AttributeTable, peers: PeerFacts, options: FamilyOptions): FamilyRoutes {
  switch (family) {
    case IPV4_UNICAST:
    case IPV4_MULTICAST:
      return new Ipv4Routes(family, attributes, peers, options);
    case IPV6_UNICAST:
    case IPV6_MULTICAST:
      return new Ipv6Routes(family, attributes, peers, options);
    default:
      return new OpaqueRoutes(family, attributes, peers, options);
  }
}

function tableOptions(options: FamilyOptions): { reserve: number; seed: number; limit?: number } {
  const { reserve, seed, limit } = options;
  return limit === undefined ? { reserve, seed } : { reserve, seed, limit };
}

/** Word `index` of the IPv6 prefix whose length octet is at `at`, bits past its length zero. */
function word(view: DataView, at: number, lengthBits: number, index: number): number {
  const bits = lengthBits - 32 * index;
  return bits <= 0 ? 0 : readIpv4Prefix(view, at + 1 + 4 * index, bits > 32 ? 32 : bits);
}
