// `batch-validate`: decisions of a validator about received routes. A refused route stays in Adj-RIB-In and is no candidate for best path,
// whatever its peer sends for it, until it is withdrawn, its session is lost, or another decision comes. A refusal that comes before its
// route waits for it. Decisions end with the connection of who made them: without a validator no route is invalid (RFC 7115 §5).
import { addressBytes, formatAddress, parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { AFI_IPV4, isPrefixFamily, parseFamily } from '../../sdk/wire/family.ts';
import type { Parsed } from './inject.ts';
import type { Rib } from './rib.ts';

/** Accept (1) or reject (0), peer address, family, prefix, path id, validation state. */
export type Decision = readonly [accept: number, peer: string, family: string, prefix: string, pathId: number, state: number];

export interface Decided {
  readonly accepted: number;
  readonly rejected: number;
  /** Decisions about routes that are not there. */
  readonly early: number;
}

export class Validation {
  readonly #rib: Rib;
  readonly #target = prefixTarget();
  readonly #nlri = new Uint8Array(17);
  readonly #view = viewOf(this.#nlri);

  constructor(rib: Rib) {
    this.#rib = rib;
  }

  decide(owner: string, decisions: readonly Decision[]): Parsed<Decided> {
    const peers = new Map<string, number>();
    const counts = { accepted: 0, rejected: 0, early: 0 };
    for (const [accept, address, familyName, prefix, pathId, state] of decisions) {
      const family = parseFamily(familyName);
      const target = this.#target;
      if (!isPrefixFamily(family)) return { ok: false, error: `unknown family: ${familyName}` };
      if (!parsePrefix(prefix, target) || target.addressLength !== (family >>> 8 === AFI_IPV4 ? 4 : 16))
        return { ok: false, error: `bad prefix: ${prefix}` };
      let peer = peers.get(address);
      if (peer === undefined) peers.set(address, (peer = this.#peer(address)));
      const size = 1 + ((target.lengthBits + 7) >>> 3);
      this.#nlri[0] = target.lengthBits;
      for (let i = 1; i < size; i++) this.#nlri[i] = target.bytes[i - 1]!;
      const table = peer < 0 ? undefined : this.#rib.store.family(family);
      const there = table?.decide(accept === 1, this.#view, 0, size, peer, pathId, owner, state) === true;
      if (!there) counts.early++;
      else if (accept === 1) counts.accepted++;
      else counts.rejected++;
    }
    this.#rib.flush();
    return { ok: true, value: counts };
  }

  disown(owner: string): void {
    for (const family of this.#rib.store.families) family.acceptOwner(owner);
    this.#rib.flush();
  }

  /** The peer's session is lost. */
  forget(peer: number): void {
    for (const family of this.#rib.store.families) family.forgetEarly(peer);
  }

  /** -1 when nobody has the address. */
  #peer(text: string): number {
    const bytes = addressBytes(text);
    const address = bytes === undefined ? text : formatAddress(bytes, 0, bytes.length);
    const { peers } = this.#rib.routes;
    for (let peer = 0; peer < peers.capacity; peer++) if (peers.address(peer) === address) return peer;
    return -1;
  }
}
