/** Update groups: established peers whose export side is equal, so that what one of them gets is good for all. */
import type { Peer } from '../session/peer.ts';
import { RuleBook } from './export-rule.ts';
import type { ExportSide } from './export-rule.ts';

export class Group {
  readonly side: ExportSide;
  readonly rules: RuleBook;
  readonly members = new Set<Peer>();

  constructor(side: ExportSide) {
    this.side = side;
    this.rules = new RuleBook(side);
  }
}

export class Groups {
  readonly #byKey = new Map<string, Group>();
  readonly #byPeer = new Map<Peer, Group>();

  get size(): number {
    return this.#byKey.size;
  }

  all(): Iterable<Group> {
    return this.#byKey.values();
  }

  of(peer: Peer): Group | undefined {
    return this.#byPeer.get(peer);
  }

  /** The peer came up with this side. */
  join(peer: Peer, side: ExportSide): Group {
    let group = this.#byKey.get(side.key);
    if (group === undefined) {
      group = new Group(side);
      this.#byKey.set(side.key, group);
    }
    group.members.add(peer);
    this.#byPeer.set(peer, group);
    return group;
  }

  /** The peer went down; a group without members is forgotten. Returns the group it was in. */
  leave(peer: Peer): Group | undefined {
    const group = this.#byPeer.get(peer);
    if (group === undefined) return undefined;
    this.#byPeer.delete(peer);
    group.members.delete(peer);
    if (group.members.size === 0) this.#byKey.delete(group.side.key);
    return group;
  }
}
