/** Peers held back because a process is behind (`hold-peer`). A peer is let go when the last process that holds it lets go. */

export class PeerHolds {
  readonly #byPeer = new Map<number, Set<object>>();
  readonly #set: (peer: number, held: boolean) => void;

  constructor(set: (peer: number, held: boolean) => void) {
    this.#set = set;
  }

  hold(owner: object, peer: number): void {
    let owners = this.#byPeer.get(peer);
    if (owners === undefined) this.#byPeer.set(peer, (owners = new Set()));
    if (owners.has(owner)) return;
    owners.add(owner);
    if (owners.size === 1) this.#set(peer, true);
  }

  release(owner: object): void {
    for (const [peer, owners] of this.#byPeer) {
      if (!owners.delete(owner) || owners.size > 0) continue;
      this.#byPeer.delete(peer);
      this.#set(peer, false);
    }
  }

  get held(): number {
    return this.#byPeer.size;
  }
}
