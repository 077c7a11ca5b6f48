/**
 * Announces one table of best routes to every peer that should have it. Back-pressure is a set, not a queue: a changed row is
 * a bit, and what is sent is what the table holds when the row's turn comes. A receiver that cannot keep up leaves its group's
 * common stream with a set of its own and catches up later; nobody waits for it.
 *
 * What is invariant: an attached member has a row exactly when the group's `announced` column names a source other than itself;
 * a detached one differs from that in the rows of its own set, and, while it walks the table, in those ahead of its walk. (In a group
 * of one the column need not name that one.) A group's set is emptied before any member of it walks or catches up.
 */
import type { BestRoutes, Exporter } from '../../../sdk/plugin/route-path.ts';
import { DirtyRows, RESERVED_ROWS, RING_ROWS } from './dirty-rows.ts';
import type { Group } from './groups.ts';
import type { Peer } from '../session/peer.ts';
import { LOCAL, RoutePacker } from './route-packer.ts';
import type { Sources } from './route-packer.ts';
import { Stream } from './stream.ts';
import type { StreamOwner } from './stream.ts';

/** Bytes queued on a socket above which its peer leaves the common stream, and below which it catches up. */
const SLOW_BYTES = 1 << 20;
const CAUGHT_UP_BYTES = 1 << 18;
/** Rows a walk or a catch-up handles before others get a turn. */
const SLICE_ROWS = 16_384;
const NONE = -1;

export interface ExportHost extends StreamOwner {
  readonly sources: Sources;
  /** Calls `step` between other work until it returns false. */
  slice(step: () => boolean): void;
  /** A flush is due at the end of the present callback. */
  flushLater(): void;
  /** The peer has the whole table: the first walk, or the one of a refresh, is over. */
  walked(peer: Peer): void;
}

class Member {
  readonly peer: Peer;
  /** In the group's common stream. */
  attached = false;
  /** Next row of the walk; NONE when it does not walk. */
  walkAt = 0;
  /** The walk is the first: rows ahead of it were never sent. */
  fresh = true;
  /** Rows that changed since it left, and whether it had them then. */
  dirty: DirtyRows | undefined;
  had: Uint8Array = NO_BITS;
  /** Rows to be withdrawn from it alone: it became their source. */
  ownWithdrawals: number[] = [];
  scheduled = false;

  constructor(peer: Peer) {
    this.peer = peer;
  }
}

const NO_BITS = new Uint8Array(0);

class ExportGroup {
  readonly group: Group;
  readonly members = new Map<Peer, Member>();
  readonly dirty = new DirtyRows();
  /** By row: the source announced last as peer index + 1, LOCAL for ours, 0 for nothing. */
  announced = new Uint16Array(RESERVED_ROWS);
  readonly packer: RoutePacker;
  readonly announcing: Stream;
  readonly withdrawing: Stream;
  readonly solo: Stream;
  #soloTo: Peer[] = [];
  readonly #attached = new Set<Peer>();
  /** Index of the attached member when there is but one. */
  #sole = NONE;
  readonly #routes: BestRoutes;
  readonly #host: ExportHost;
  /** Members that were found slow while a chunk was handed out. */
  #slow: Member[] = [];

  constructor(routes: BestRoutes, group: Group, host: ExportHost) {
    this.group = group;
    this.#routes = routes;
    this.#host = host;
    this.packer = new RoutePacker(routes, group, host.sources);
    const attached = (): Iterable<Peer> => this.#attached;
    this.announcing = new Stream(host, attached, () => this.#noteSlow());
    this.withdrawing = new Stream(host, attached, () => undefined);
    this.solo = new Stream(
      host,
      () => this.#soloTo,
      () => undefined,
    );
  }

  /**
   * `fresh`: the peer has nothing yet, and listens at once when the table is empty; else it has what another group sent it, and gets all of
   * it anew.
   */
  add(peer: Peer, fresh: boolean): void {
    const member = new Member(peer);
    member.fresh = fresh;
    this.members.set(peer, member);
    if (fresh && this.#routes.rows === 0) this.#attach(member);
    else this.#schedule(member);
  }

  remove(peer: Peer): void {
    this.members.delete(peer);
    this.#listen(peer, false);
  }

  refresh(peer: Peer): void {
    const member = this.members.get(peer);
    if (member === undefined) return;
    if (member.walkAt === NONE || !member.fresh) {
      this.#detach(member);
      member.fresh = false;
    }
    member.walkAt = 0;
    this.#schedule(member);
  }

  walking(peer: Peer): boolean {
    const member = this.members.get(peer);
    return member !== undefined && member.walkAt !== NONE;
  }

  has(peer: Peer, row: number): boolean {
    const member = this.members.get(peer);
    if (member === undefined) return false;
    if (member.dirty?.has(row) === true) return (member.had[row >>> 3]! & (1 << (row & 7))) !== 0;
    if (member.walkAt !== NONE && member.fresh && row >= member.walkAt) return false;
    return this.#had(row, peer.index);
  }

  /** Nobody has this row, and nobody waits for it. */
  idle(row: number): boolean {
    if (this.dirty.has(row) || (this.announced[row] ?? 0) !== 0) return false;
    for (const member of this.members.values()) if (member.dirty?.has(row) === true) return false;
    return true;
  }

  changed(rows: Int32Array, count: number): void {
    const { announced } = this;
    const routes = this.#routes;
    // A member that is alone has nothing of its own routes, and nobody else is to have them: such a row is not worth a bit.
    const sole = this.members.size === 1 ? this.#sole : NONE;
    for (let i = 0; i < count; i++) {
      const row = rows[i]!;
      if (sole !== NONE && announced[row] === 0 && routes.source(row) === sole) continue;
      if (this.dirty.size === RING_ROWS) this.pack();
      this.dirty.add(row);
    }
  }

  /** Sends every changed row to the attached members, and leaves it with the detached ones. */
  pack(): void {
    if (this.dirty.size === 0) return;
    if (this.#routes.rows > this.announced.length) this.#grow();
    this.packer.begin();
    for (let row = this.dirty.take(); row >= 0; row = this.dirty.take()) this.#packRow(row);
    this.announcing.flush();
    this.withdrawing.flush();
    this.#sendOwnWithdrawals();
    this.#detachSlow();
  }

  #packRow(row: number): void {
    const { packer, announced } = this;
    const routes = this.#routes;
    const before = announced[row]!;
    const source = routes.source(row);
    let handle = routes.best(row);
    if (handle !== 0 && !packer.allows(handle, source)) handle = 0;
    if (handle === 0 && before === 0) {
      this.#leave(row, before);
      return;
    }
    this.#leave(row, before);
    if (handle !== 0 && (!this.#heard(source) || packer.announce(this.announcing, row, handle, source))) {
      const now = source === LOCAL ? LOCAL : source + 1;
      announced[row] = now;
      if (before !== 0 && before !== now && source !== LOCAL && this.#attached.size > 0) this.#noteOwnWithdrawal(source, row);
    } else {
      announced[row] = 0;
      const from = before === LOCAL ? LOCAL : before - 1;
      if (before !== 0 && this.#heard(from)) packer.withdraw(this.withdrawing, row, from);
    }
    if (this.#slow.length > 0) this.#detachSlow();
  }

  /** Does an attached member get what comes from `source`? In a group of its own, a source packs for nobody. */
  #heard(source: number): boolean {
    return this.#attached.size > 1 || (this.#attached.size === 1 && this.#sole !== source);
  }

  /** A change the detached members will have to send themselves. */
  #leave(row: number, before: number): void {
    if (this.#attached.size === this.members.size) return;
    for (const member of this.members.values()) {
      if (member.attached) continue;
      if (member.walkAt !== NONE && member.fresh && row >= member.walkAt) continue;
      member.dirty ??= new DirtyRows();
      if (!member.dirty.add(row)) continue;
      if (member.had.length <= row >>> 3) member.had = widened(member.had, row);
      const bit = 1 << (row & 7);
      // Ahead of a walk that is not its first it may have anything: one withdrawal too many does no harm.
      const unknown = member.walkAt !== NONE && row >= member.walkAt;
      if (unknown || (before !== 0 && before !== member.peer.index + 1)) member.had[row >>> 3]! |= bit;
      else member.had[row >>> 3]! &= ~bit;
    }
  }

  /** A member that had the route from another becomes its source: it alone gets a withdrawal. */
  #noteOwnWithdrawal(source: number, row: number): void {
    for (const peer of this.#attached) {
      if (peer.index !== source) continue;
      this.members.get(peer)!.ownWithdrawals.push(row);
      return;
    }
  }

  #sendOwnWithdrawals(): void {
    for (const member of this.members.values()) {
      if (member.ownWithdrawals.length === 0) continue;
      this.#soloTo = [member.peer];
      for (const row of member.ownWithdrawals) this.packer.withdraw(this.solo, row, LOCAL);
      this.solo.flush();
      this.packer.begin();
      member.ownWithdrawals = [];
    }
  }

  #noteSlow(): void {
    for (const peer of this.#attached) {
      if (peer.queuedBytes > SLOW_BYTES) this.#slow.push(this.members.get(peer)!);
    }
  }

  /** Whoever is slow gets what is packed so far and then goes its own way. */
  #detachSlow(): void {
    if (this.#slow.length === 0) return;
    const slow = this.#slow;
    this.#slow = [];
    this.announcing.flush();
    this.withdrawing.flush();
    this.packer.begin();
    for (const member of slow) this.#detach(member);
    this.#slow = [];
  }

  #detach(member: Member): void {
    if (!member.attached) return;
    member.attached = false;
    this.#listen(member.peer, false);
  }

  #schedule(member: Member): void {
    if (member.scheduled) return;
    member.scheduled = true;
    this.#host.slice(() => {
      if (this.members.get(member.peer) !== member) return false;
      const more = this.#advance(member);
      member.scheduled = more;
      return more;
    });
  }

  /** The kernel took bytes of this peer: a detached member with room goes on. */
  drained(peer: Peer): void {
    const member = this.members.get(peer);
    if (member !== undefined && !member.attached && peer.queuedBytes <= CAUGHT_UP_BYTES) this.#schedule(member);
  }

  /** One slice of a member's walk or catch-up; true when it can go on at once. */
  #advance(member: Member): boolean {
    this.pack();
    const { peer } = member;
    this.#soloTo = [peer];
    this.packer.begin();
    let budget = SLICE_ROWS;
    let done = false;
    while (budget-- > 0 && peer.queuedBytes <= SLOW_BYTES) {
      const row = member.dirty === undefined ? NONE : member.dirty.take();
      if (row !== NONE) this.#catchUp(member, row);
      else if (member.walkAt !== NONE && member.walkAt < this.#routes.rows) this.#visit(member, member.walkAt++);
      else {
        done = true;
        break;
      }
    }
    this.solo.flush();
    if (!done) return peer.queuedBytes <= SLOW_BYTES;
    const walked = member.walkAt !== NONE;
    this.#attach(member);
    if (walked) this.#host.walked(peer);
    return false;
  }

  #attach(member: Member): void {
    member.walkAt = NONE;
    member.fresh = false;
    member.dirty = undefined;
    member.had = NO_BITS;
    member.attached = true;
    this.#listen(member.peer, true);
  }

  #listen(peer: Peer, attached: boolean): void {
    if (attached) this.#attached.add(peer);
    else this.#attached.delete(peer);
    this.#sole = NONE;
    if (this.#attached.size === 1) for (const one of this.#attached) this.#sole = one.index;
  }

  #catchUp(member: Member, row: number): void {
    const routes = this.#routes;
    const handle = routes.best(row);
    const source = routes.source(row);
    const { index } = member.peer;
    if (handle !== 0 && source !== index && this.packer.allows(handle, source)) {
      if (this.packer.announce(this.solo, row, handle, source)) return;
    }
    if ((member.had[row >>> 3]! & (1 << (row & 7))) !== 0) this.packer.withdraw(this.solo, row, LOCAL);
  }

  #visit(member: Member, row: number): void {
    const routes = this.#routes;
    const handle = routes.best(row);
    if (handle === 0) return;
    const source = routes.source(row);
    if (!this.packer.allows(handle, source)) {
      if (!member.fresh) this.packer.withdraw(this.solo, row, LOCAL);
      return;
    }
    if (row >= this.announced.length) this.#grow();
    this.announced[row] = source === LOCAL ? LOCAL : source + 1;
    if (source !== member.peer.index) this.packer.announce(this.solo, row, handle, source);
  }

  #had(row: number, index: number): boolean {
    const source = this.announced[row] ?? 0;
    return source !== 0 && source !== index + 1;
  }

  #grow(): void {
    let rows = this.announced.length;
    while (rows < this.#routes.rows) rows *= 2;
    const wider = new Uint16Array(rows);
    wider.set(this.announced);
    this.announced = wider;
  }
}

function widened(bits: Uint8Array, row: number): Uint8Array {
  let size = Math.max(bits.length, RESERVED_ROWS >>> 3);
  while (size <= row >>> 3) size *= 2;
  const wider = new Uint8Array(size);
  wider.set(bits);
  return wider;
}

export class ExportTable implements Exporter {
  readonly routes: BestRoutes;
  readonly transparent: boolean;
  readonly #host: ExportHost;
  readonly #groups = new Map<Group, ExportGroup>();
  readonly #onClose: (table: ExportTable) => void;

  constructor(routes: BestRoutes, transparent: boolean, host: ExportHost, onClose: (table: ExportTable) => void) {
    this.routes = routes;
    this.transparent = transparent;
    this.#host = host;
    this.#onClose = onClose;
  }

  get family(): number {
    return this.routes.family;
  }

  // Exporter, for the plugin.

  changed(rows: Int32Array, count: number): void {
    if (this.#groups.size === 0 || count === 0) return;
    for (const group of this.#groups.values()) group.changed(rows, count);
    this.#host.flushLater();
  }

  announced(peer: number, row: number): boolean {
    for (const group of this.#groups.values()) {
      for (const member of group.members.keys())
        if (member.index === peer) return group.has(member, row) && group.packer.passed(member, row);
    }
    return false;
  }

  refresh(peer: number): void {
    for (const group of this.#groups.values()) {
      for (const member of group.members.keys()) if (member.index === peer) group.refresh(member);
    }
  }

  close(): void {
    this.#groups.clear();
    this.#onClose(this);
  }

  /** Nobody has this row or waits for its withdrawal: it may stand for another prefix. */
  idle(row: number): boolean {
    for (const group of this.#groups.values()) if (!group.idle(row)) return false;
    return true;
  }

  // For the reactor.

  join(peer: Peer, group: Group, fresh: boolean): void {
    let members = this.#groups.get(group);
    if (members === undefined) {
      members = new ExportGroup(this.routes, group, this.#host);
      this.#groups.set(group, members);
    }
    members.add(peer, fresh);
  }

  leave(peer: Peer, group: Group): void {
    const members = this.#groups.get(group);
    if (members === undefined) return;
    members.remove(peer);
    if (members.members.size === 0) this.#groups.delete(group);
  }

  walking(peer: Peer, group: Group): boolean {
    return this.#groups.get(group)?.walking(peer) === true;
  }

  flush(): void {
    for (const group of this.#groups.values()) group.pack();
  }

  drained(peer: Peer, group: Group): void {
    this.#groups.get(group)?.drained(peer);
  }

  /** Sums for the statistics. */
  tally(): { groups: number; members: number; detached: number; waiting: number; withheld: number } {
    const sum = { groups: this.#groups.size, members: 0, detached: 0, waiting: 0, withheld: 0 };
    for (const group of this.#groups.values()) {
      sum.withheld += group.packer.withheld;
      for (const member of group.members.values()) {
        sum.members++;
        if (!member.attached) sum.detached++;
        sum.waiting += member.dirty?.size ?? 0;
      }
    }
    return sum;
  }
}
