// What each peer announced, as it announced it: NLRI bytes and attribute bytes, with the order number of the arrival. No best path, no look
// into the NLRI of any family.
import type { NlriWriter } from '../../sdk/rib/relay-run.ts';
import { AttributeTable } from '../../sdk/rib/attribute-table.ts';
import { NlriTable } from '../../sdk/rib/nlri-table.ts';
import { ReceivedBlock } from '../../sdk/rib/received-block.ts';
import { type Family, IPV4_UNICAST } from '../../sdk/wire/family.ts';
import { entryLength } from '../../sdk/wire/nlri/syntax.ts';
import type { UpdateView } from '../../sdk/wire/update.ts';

/** The routes of one peer and family. A key is the NLRI as it came, with its path id in front under ADD-PATH. */
export class Inbox implements NlriWriter {
  readonly peer: number;
  readonly family: Family;
  readonly addPath: boolean;
  readonly table: NlriTable;
  handles = new Uint32Array(1024);
  /** Number of the arrival, from 1; a route that is announced again gets a new one. */
  sequences = new Float64Array(1024);

  constructor(peer: number, family: Family, addPath: boolean, seed: number) {
    this.peer = peer;
    this.family = family;
    this.addPath = addPath;
    this.table = new NlriTable({ reserve: 1024, seed });
  }

  /** 0 without ADD-PATH. */
  pathId(row: number): number {
    return this.addPath ? this.table.arena.view.getUint32(this.table.at(row)) : 0;
  }

  /** The NLRI without its path id. */
  write(row: number, out: Uint8Array, at: number): number {
    const skip = this.addPath ? 4 : 0;
    const from = this.table.at(row) + skip;
    const length = this.table.lengths[row]! - skip;
    const { bytes } = this.table.arena;
    for (let i = 0; i < length; i++) out[at + i] = bytes[from + i]!;
    return length;
  }

  set(row: number, handle: number, sequence: number): void {
    if (row >= this.handles.length) this.#grow();
    this.handles[row] = handle;
    this.sequences[row] = sequence;
  }

  #grow(): void {
    const { handles, sequences } = this;
    this.handles = new Uint32Array(this.table.capacity);
    this.sequences = new Float64Array(this.table.capacity);
    this.handles.set(handles);
    this.sequences.set(sequences);
  }
}

export class Store {
  readonly attributes: AttributeTable;
  /** Number of the last arrival. */
  sequence = 0;
  /** Routes kept. */
  routes = 0;
  /** NLRI not kept since the start because a table was full. */
  refused = 0;
  readonly #seed: number;
  readonly #block: ReceivedBlock;
  readonly #peers = new Map<number, Inbox[]>();
  #bytes: Uint8Array = new Uint8Array(0);

  /** `seed`: a random number for the hashes. */
  constructor(seed: number) {
    this.#seed = seed;
    this.attributes = new AttributeTable({ seed });
    this.#block = new ReceivedBlock(this.attributes);
  }

  /** An UPDATE of the peer; see `RouteStore.receive`. */
  receive(peer: number, view: UpdateView, treatAsWithdraw: boolean): void {
    this.#over(view.view);
    const addPath = view.context.addPathIpv4Unicast;
    if (view.withdrawnLength !== 0 && !view.classicIgnored) {
      this.#take(peer, IPV4_UNICAST, addPath, view.view, view.withdrawnAt, view.withdrawnLength, 0, true);
    }
    if (view.unreachLength !== 0 && !view.unreachIgnored) {
      this.#take(peer, view.unreachFamily, view.unreachAddPath, view.view, view.unreachAt, view.unreachLength, 0, true);
    }
    if (view.nlriLength !== 0 && !view.classicIgnored) {
      const handle = treatAsWithdraw ? 0 : this.#block.classic(view);
      this.#take(peer, IPV4_UNICAST, addPath, view.view, view.nlriAt, view.nlriLength, handle, false);
      if (handle !== 0) this.attributes.release(handle);
    }
    if (view.reachLength !== 0 && !view.reachIgnored) {
      const handle = treatAsWithdraw ? 0 : this.#block.reach(view);
      this.#take(peer, view.reachFamily, view.reachAddPath, view.view, view.reachAt, view.reachLength, handle, false);
      if (handle !== 0) this.attributes.release(handle);
    }
  }

  /** Every inbox of every peer, or of the peers chosen. */
  inboxes(chosen?: ReadonlySet<number>): Inbox[] {
    const all: Inbox[] = [];
    for (const [peer, inboxes] of this.#peers) if (chosen?.has(peer) !== false) all.push(...inboxes);
    return all;
  }

  count(peer: number): number {
    return (this.#peers.get(peer) ?? []).reduce((sum, inbox) => sum + inbox.table.size, 0);
  }

  get peers(): number {
    return this.#peers.size;
  }

  /** The peer has nothing from now on; what it had is given back by calling the function returned until it is false. */
  drop(peer: number): (count: number) => boolean {
    const inboxes = this.#peers.get(peer) ?? [];
    this.#peers.delete(peer);
    for (const inbox of inboxes) this.routes -= inbox.table.size;
    let row = 0;
    return (count) => {
      const inbox = inboxes[0];
      if (inbox === undefined) return false;
      const end = Math.min(row + count, inbox.table.used);
      for (; row < end; row++) if (inbox.table.has(row)) this.attributes.release(inbox.handles[row]!);
      if (row >= inbox.table.used) {
        inboxes.shift();
        row = 0;
      }
      return inboxes.length > 0;
    };
  }

  /** `handle` 0: the entries go. */
  #take(
    peer: number,
    family: Family,
    addPath: boolean,
    view: DataView,
    at: number,
    length: number,
    handle: number,
    withdrawn: boolean,
  ): void {
    const inbox = this.#inbox(peer, family, addPath, handle !== 0);
    if (inbox === undefined) return;
    const head = addPath ? 4 : 0;
    const end = at + length;
    for (let i = at; i < end; ) {
      const size = entryLength(view, i + head, end - i - head, family, withdrawn);
      if (size < 0) return;
      if (handle === 0) this.#remove(inbox, inbox.table.find(this.#bytes, i, head + size));
      else this.#put(inbox, inbox.table.insert(this.#bytes, i, head + size), handle);
      i += head + size;
    }
  }

  #put(inbox: Inbox, row: number, handle: number): void {
    if (row < 0) {
      this.refused++;
      return;
    }
    const old = row < inbox.handles.length ? inbox.handles[row]! : 0;
    this.attributes.hold(handle);
    inbox.set(row, handle, ++this.sequence);
    if (old === 0) this.routes++;
    else this.attributes.release(old);
  }

  #remove(inbox: Inbox, row: number): void {
    if (row < 0) return;
    this.attributes.release(inbox.handles[row]!);
    inbox.handles[row] = 0;
    inbox.table.remove(row);
    this.routes--;
  }

  #inbox(peer: number, family: Family, addPath: boolean, make: boolean): Inbox | undefined {
    const known = this.#peers.get(peer)?.find((inbox) => inbox.family === family);
    if (known !== undefined || !make) return known;
    const made = new Inbox(peer, family, addPath, this.#seed);
    const list = this.#peers.get(peer);
    if (list === undefined) this.#peers.set(peer, [made]);
    else list.push(made);
    return made;
  }

  /** The view's bytes at the view's offsets, made anew only over another buffer. */
  #over(view: DataView): void {
    const held = this.#bytes;
    if (held.buffer === view.buffer && held.byteOffset === view.byteOffset && held.byteLength === view.byteLength) return;
    this.#bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  }
}
