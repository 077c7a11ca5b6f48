// Adj-RIB-Out of routes that plugins and the configuration originate: kept per peer while they are wanted, sent again when a session comes
// up or a peer asks for a refresh, withdrawn when their owner goes. Learned routes are not here: exporters read the best table itself.
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import type { AttributeTable } from '../../sdk/rib/attribute-table.ts';
import { NlriTable } from '../../sdk/rib/nlri-table.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import type { Family } from '../../sdk/wire/family.ts';
import { entryLength } from '../../sdk/wire/nlri/syntax.ts';

/** A key is the family (3 bytes), the path id (4) and the NLRI. */
const HEAD = 7;
const KEY_ROOM = HEAD + 0x10000;
/** Bytes of NLRI sent in one call, when neighbouring rows share everything else. */
const RUN = 2048;
/** Characters of all texts about routes. */
const META_CHARACTERS = 16 << 20;
/** Rows per slice. */
const SLICE = 4096;

const NONE = new Uint8Array(0);

/** One stored route, as `read` finds it. */
export interface OriginatedRoute {
  family: Family;
  pathId: number;
  handle: number;
  owner: string;
  /** JSON of an object, '' = none. */
  meta: string;
}

/** The routes of one peer: columns by row of the key's table. */
class PeerRoutes {
  readonly table: NlriTable;
  handles = new Uint32Array(64);
  owners = new Uint16Array(64);
  /** Numbers of texts, made when the first route with one arrives. */
  metas: Uint16Array | undefined;

  constructor(seed: number) {
    this.table = new NlriTable({ reserve: 64, seed });
  }

  set(row: number, handle: number, owner: number, meta: number): void {
    if (row >= this.handles.length) {
      const { handles, owners, metas } = this;
      this.handles = new Uint32Array(this.table.capacity);
      this.owners = new Uint16Array(this.table.capacity);
      this.handles.set(handles);
      this.owners.set(owners);
      if (metas !== undefined) {
        this.metas = new Uint16Array(this.table.capacity);
        this.metas.set(metas);
      }
    }
    this.handles[row] = handle;
    this.owners[row] = owner;
    if (meta !== 0) this.metas ??= new Uint16Array(this.handles.length);
    if (this.metas !== undefined) this.metas[row] = meta;
  }
}

/** Texts that routes share, by number from 1; 0 = none. What would pass the limits is not kept: the route is, without its text. */
class MetaTexts {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [''];
  readonly #counts: number[] = [0];
  readonly #free: number[] = [];
  #characters = 0;

  text(number: number): string {
    return this.#texts[number] ?? '';
  }

  hold(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      if (this.#numbers.size >= 0xffff || this.#characters + text.length > META_CHARACTERS) return 0;
      number = this.#free.pop() ?? this.#texts.length;
      this.#numbers.set(text, number);
      this.#texts[number] = text;
      this.#counts[number] = 0;
      this.#characters += text.length;
    }
    this.#counts[number]!++;
    return number;
  }

  release(number: number): void {
    if (number === 0 || --this.#counts[number]! > 0) return;
    const text = this.#texts[number]!;
    this.#numbers.delete(text);
    this.#texts[number] = '';
    this.#characters -= text.length;
    this.#free.push(number);
  }
}

export class AdjRibOut {
  /** Routes stored, over all peers. */
  routes = 0;
  /** Grows with whatever is stored or dropped: who keeps a copy sees by it that the copy is old. */
  changes = 0;
  /** Routes not kept because a table was full: they were sent, but will not be sent again. */
  refused = 0;
  readonly #path: RoutePath;
  readonly #attributes: AttributeTable;
  readonly #seed: number;
  readonly #peers = new Map<number, PeerRoutes>();
  /** Owner numbers are positions; a name stays for the process's life, there are as many as plugins. */
  readonly #owners: string[] = [];
  readonly #metas = new MetaTexts();
  readonly #key = new Uint8Array(KEY_ROOM);
  readonly #keyView = viewOf(this.#key);
  /** What came last: many routes in a row have the same. */
  #nlri: Uint8Array = NONE;
  #nlriView = viewOf(NONE);
  #given: Uint8Array | undefined;
  #givenHop: Uint8Array | undefined;
  #handle = 0;
  readonly #run = new Uint8Array(KEY_ROOM);

  constructor(path: RoutePath, attributes: AttributeTable, seed: number) {
    this.#path = path;
    this.#attributes = attributes;
    this.#seed = seed;
  }

  /** A run of NLRI (`length` bytes at `at`) that was announced to, or withdrawn from, one peer. */
  store(
    owner: string,
    peer: number,
    family: Family,
    announce: boolean,
    nlri: Uint8Array,
    at: number,
    length: number,
    pathId: number,
    attributes: Uint8Array,
    nextHop: Uint8Array,
    meta = '',
  ): void {
    const held = this.#peers.get(peer);
    if (held === undefined && !announce) return;
    const routes = held ?? this.#add(peer);
    this.changes++;
    if (nlri !== this.#nlri) {
      this.#nlri = nlri;
      this.#nlriView = viewOf(nlri);
    }
    const view = this.#nlriView;
    const handle = announce ? this.#handleOf(attributes, nextHop) : 0;
    const number = announce ? this.#ownerNumber(owner) : 0;
    this.#head(family, pathId);
    for (let i = at; i < at + length; ) {
      const size = entryLength(view, i, at + length - i, family, !announce);
      if (size < 0) break;
      for (let k = 0; k < size; k++) this.#key[HEAD + k] = nlri[i + k]!;
      if (handle === 0) this.#drop(routes, routes.table.find(this.#key, 0, HEAD + size), announce);
      else this.#put(routes, routes.table.insert(this.#key, 0, HEAD + size), handle, number, meta);
      i += size;
    }
  }

  /** The handle of these attributes, 0 when the table is full. One count of it is ours until the attributes are others, or `settle`. */
  #handleOf(attributes: Uint8Array, nextHop: Uint8Array): number {
    if (attributes === this.#given && nextHop === this.#givenHop) return this.#handle;
    this.settle();
    this.#handle = this.#attributes.intern(viewOf(attributes), 0, attributes.length, viewOf(nextHop), 0, nextHop.length);
    if (this.#handle !== 0) {
      this.#given = attributes;
      this.#givenHop = nextHop;
    }
    return this.#handle;
  }

  /** The end of a turn: nothing is remembered of the attributes that came last. */
  settle(): void {
    if (this.#handle !== 0) this.#attributes.release(this.#handle);
    this.#handle = 0;
    this.#given = undefined;
    this.#givenHop = undefined;
  }

  count(peer: number): number {
    return this.#peers.get(peer)?.table.size ?? 0;
  }

  /** Rows of the peer's routes are below this. */
  rows(peer: number): number {
    return this.#peers.get(peer)?.table.used ?? 0;
  }

  /** Reads a row into `into` and its NLRI into `out`; returns the NLRI's bytes, 0 when the row is empty. */
  read(peer: number, row: number, into: OriginatedRoute, out: Uint8Array): number {
    const routes = this.#peers.get(peer);
    if (routes === undefined || !routes.table.has(row)) return 0;
    const { bytes, view } = routes.table.arena;
    const at = routes.table.at(row);
    const size = routes.table.lengths[row]! - HEAD;
    into.family = (view.getUint16(at) << 8) | view.getUint8(at + 2);
    into.pathId = view.getUint32(at + 3);
    into.handle = routes.handles[row]!;
    into.owner = this.#owners[routes.owners[row]!] ?? '';
    into.meta = routes.metas === undefined ? '' : this.#metas.text(routes.metas[row]!);
    for (let i = 0; i < size; i++) out[i] = bytes[at + HEAD + i]!;
    return size;
  }

  /** Sends the peer everything of the family (0 = of every family) again, in slices, then calls `done`. */
  resend(peer: number, family: Family, done: () => void): void {
    const routes = this.#peers.get(peer);
    if (routes === undefined) {
      done();
      return;
    }
    let row = 0;
    this.#path.slice(() => {
      if (!this.#path.established(peer)) row = routes.table.used;
      const end = Math.min(row + SLICE, routes.table.used);
      this.#send(peer, routes, row, end, family);
      row = end;
      if (row < routes.table.used) return true;
      done();
      return false;
    });
  }

  /** Withdraws every route of the owner, peer by peer in slices. */
  disown(owner: string): void {
    const number = this.#owners.indexOf(owner);
    if (number < 0) return;
    for (const [peer, routes] of this.#peers) {
      let row = 0;
      this.#path.slice(() => {
        const end = Math.min(row + SLICE, routes.table.used);
        for (; row < end; row++) if (routes.table.has(row) && routes.owners[row] === number) this.#withdraw(peer, routes, row);
        return row < routes.table.used;
      });
    }
  }

  /** Rows with the same family, path id and attributes go out in one call. */
  #send(peer: number, routes: PeerRoutes, from: number, end: number, wanted: Family): void {
    const { table } = routes;
    let length = 0;
    let handle = 0;
    let family = 0;
    let pathId = 0;
    for (let row = from; row < end; row++) {
      if (!table.has(row)) continue;
      const { bytes, view } = table.arena;
      const at = table.at(row);
      const size = table.lengths[row]! - HEAD;
      const rowFamily = (view.getUint16(at) << 8) | view.getUint8(at + 2);
      if (wanted !== 0 && rowFamily !== wanted) continue;
      const rowPath = view.getUint32(at + 3);
      const same = routes.handles[row] === handle && rowFamily === family && rowPath === pathId;
      if (length !== 0 && (!same || length + size > RUN)) {
        this.#sendRun(peer, family, length, pathId, handle);
        length = 0;
      }
      handle = routes.handles[row]!;
      family = rowFamily;
      pathId = rowPath;
      for (let i = 0; i < size; i++) this.#run[length + i] = bytes[at + HEAD + i]!;
      length += size;
    }
    if (length !== 0) this.#sendRun(peer, family, length, pathId, handle);
  }

  #sendRun(peer: number, family: Family, length: number, pathId: number, handle: number): void {
    const { bytes } = this.#attributes;
    const at = this.#attributes.at(handle);
    const hopAt = this.#attributes.hopAt(handle);
    const attributes = bytes.subarray(at, hopAt);
    const nextHop = bytes.subarray(hopAt, hopAt + this.#attributes.hopLength(handle));
    this.#path.sendOriginated(peer, family, true, this.#run, 0, length, pathId, attributes, nextHop);
  }

  #withdraw(peer: number, routes: PeerRoutes, row: number): void {
    const { bytes, view } = routes.table.arena;
    const at = routes.table.at(row);
    const size = routes.table.lengths[row]! - HEAD;
    const family = (view.getUint16(at) << 8) | view.getUint8(at + 2);
    const pathId = view.getUint32(at + 3);
    for (let i = 0; i < size; i++) this.#run[i] = bytes[at + HEAD + i]!;
    this.#drop(routes, row, false);
    this.changes++;
    this.#path.sendOriginated(peer, family, false, this.#run, 0, size, pathId, NONE, NONE);
  }

  #put(routes: PeerRoutes, row: number, handle: number, owner: number, meta: string): void {
    if (row < 0) {
      this.refused++;
      return;
    }
    const old = row < routes.handles.length ? routes.handles[row]! : 0;
    this.#attributes.hold(handle);
    if (old !== 0 && routes.metas !== undefined) this.#metas.release(routes.metas[row]!);
    routes.set(row, handle, owner, meta === '' ? 0 : this.#metas.hold(meta));
    if (old === 0) this.routes++;
    else this.#attributes.release(old);
  }

  #drop(routes: PeerRoutes, row: number, refused: boolean): void {
    if (refused) this.refused++;
    if (row < 0) return;
    this.#attributes.release(routes.handles[row]!);
    if (routes.metas !== undefined) {
      this.#metas.release(routes.metas[row]!);
      routes.metas[row] = 0;
    }
    routes.handles[row] = 0;
    routes.table.remove(row);
    this.routes--;
  }

  #add(peer: number): PeerRoutes {
    const routes = new PeerRoutes(this.#seed);
    this.#peers.set(peer, routes);
    return routes;
  }

  #ownerNumber(owner: string): number {
    const known = this.#owners.indexOf(owner);
    return known >= 0 ? known : this.#owners.push(owner) - 1;
  }

  #head(family: Family, pathId: number): void {
    const key = this.#keyView;
    key.setUint16(0, family >>> 8);
    key.setUint8(2, family & 0xff);
    key.setUint32(3, pathId);
  }
}
