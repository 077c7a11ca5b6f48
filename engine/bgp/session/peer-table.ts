/**
 * The configured peers by index, name and address. An index is not given to another peer until rows that name it are long gone. Sources
 * without a session (`inject.ts`) have indices among them: plugins see their name, nobody else sees them.
 */
import { addressBytes, formatAddress } from '../../../sdk/wire/address.ts';
import type { PeerDirectory } from '../../../sdk/plugin/structured.ts';
import type { Peer } from './peer.ts';

/** ms between a peer's removal and the reuse of its index: slices that still walk its routes are done by then. */
const QUARANTINE = 60_000;

interface Guest {
  readonly name: string;
  /** u32 */
  readonly routerId: number;
}

export class PeerTable implements PeerDirectory {
  readonly #guests = new Map<number, Guest>();
  readonly #byIndex: (Peer | undefined)[] = [];
  readonly #byName = new Map<string, Peer>();
  readonly #byAddress = new Map<string, Peer>();
  readonly #retired: { readonly index: number; readonly at: number }[] = [];

  // PeerDirectory, for plugins.

  get capacity(): number {
    return this.#byIndex.length;
  }

  name(index: number): string {
    return this.#byIndex[index]?.settings.name ?? this.#guests.get(index)?.name ?? '';
  }

  address(index: number): string {
    return this.#byIndex[index]?.settings.remoteAddress ?? this.#guests.get(index)?.name ?? '';
  }

  remoteAs(index: number): number {
    return this.#byIndex[index]?.settings.remoteAs ?? 0;
  }

  localAs(index: number): number {
    return this.#byIndex[index]?.settings.localAs ?? 0;
  }

  group(index: number): string {
    return this.#byIndex[index]?.settings.group ?? '';
  }

  // For the reactor.

  get(index: number): Peer | undefined {
    return this.#byIndex[index];
  }

  named(name: string): Peer | undefined {
    return this.#byName.get(name);
  }

  at(address: string): Peer | undefined {
    return this.#byAddress.get(canonical(address));
  }

  all(): Iterable<Peer> {
    return this.#byName.values();
  }

  get size(): number {
    return this.#byName.size;
  }

  /** An index for a new peer. */
  freeIndex(now: number): number {
    const oldest = this.#retired[0];
    if (oldest !== undefined && now - oldest.at >= QUARANTINE) {
      this.#retired.shift();
      return oldest.index;
    }
    return this.#byIndex.length;
  }

  add(peer: Peer): void {
    this.#byIndex[peer.index] = peer;
    this.#byName.set(peer.settings.name, peer);
    this.#byAddress.set(canonical(peer.settings.remoteAddress), peer);
  }

  remove(peer: Peer, now: number): void {
    this.#byIndex[peer.index] = undefined;
    this.#byName.delete(peer.settings.name);
    const address = canonical(peer.settings.remoteAddress);
    if (this.#byAddress.get(address) === peer) this.#byAddress.delete(address);
    this.#retired.push({ index: peer.index, at: now });
  }

  /** An index for a source without a session, under this name. */
  settle(name: string, routerId: number, now: number): number {
    const index = this.freeIndex(now);
    this.#byIndex[index] = undefined;
    this.#guests.set(index, { name, routerId });
    return index;
  }

  unsettle(index: number, now: number): void {
    if (this.#guests.delete(index)) this.#retired.push({ index, at: now });
  }

  /** u32; 0 for who is down or not there. */
  routerId(index: number): number {
    return this.#byIndex[index]?.remoteRouterId ?? this.#guests.get(index)?.routerId ?? 0;
  }

  /** The peer's address is another now. */
  moved(peer: Peer, from: string): void {
    if (this.#byAddress.get(canonical(from)) === peer) this.#byAddress.delete(canonical(from));
    this.#byAddress.set(canonical(peer.settings.remoteAddress), peer);
  }
}

/** An IPv6 address has many spellings: sockets use one, configurations any. */
function canonical(address: string): string {
  const bytes = addressBytes(address);
  return bytes === undefined ? address : (formatAddress(bytes, 0, bytes.length) ?? address);
}
