/** Who the peer numbers of event rows are: identities by index. A peer that is gone keeps its entry until its number is used again. */
import type { PeerDirectory } from '../../sdk/plugin/structured.ts';
import type { PeerIdentity } from '../bgp/port.ts';

const MAX_INDEX = 0xffff;

export class Peers implements PeerDirectory {
  readonly #byIndex: (PeerIdentity | undefined)[] = [];
  readonly #byAddress = new Map<string, PeerIdentity>();
  #current: readonly PeerIdentity[] = [];

  update(list: readonly PeerIdentity[]): void {
    this.#current = list;
    this.#byAddress.clear();
    for (const identity of list) {
      if (identity.index > MAX_INDEX) continue;
      while (this.#byIndex.length <= identity.index) this.#byIndex.push(undefined);
      this.#byIndex[identity.index] = identity;
      this.#byAddress.set(identity.name, identity);
    }
    for (const identity of list) this.#byAddress.set(identity.remoteAddress, identity);
  }

  /** Makes room for a number that no identity has named yet. Returns false when it is there already. */
  admit(index: number): boolean {
    if (index < this.#byIndex.length || index > MAX_INDEX) return false;
    while (this.#byIndex.length <= index) this.#byIndex.push(undefined);
    return true;
  }

  get capacity(): number {
    return this.#byIndex.length;
  }

  /** The configured peers. */
  get list(): readonly PeerIdentity[] {
    return this.#current;
  }

  /** A stand-in for a number nobody has named: a row that overtook `peers`. */
  at(index: number): PeerIdentity {
    return this.#byIndex[index] ?? unknownPeer(index);
  }

  /** By remote address, else by configured name. */
  byAddress(address: string): PeerIdentity | undefined {
    return this.#byAddress.get(address);
  }

  name(peer: number): string {
    return this.at(peer).name;
  }

  address(peer: number): string {
    return this.at(peer).remoteAddress;
  }

  remoteAs(peer: number): number {
    return this.at(peer).remoteAs;
  }

  localAs(peer: number): number {
    return this.at(peer).localAs;
  }

  group(peer: number): string {
    return this.at(peer).group;
  }
}

function unknownPeer(index: number): PeerIdentity {
  return { index, name: `peer-${index}`, group: '', remoteAddress: '', remoteAs: 0, localAddress: '', localAs: 0 };
}
