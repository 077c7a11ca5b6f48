// What best path asks of a peer, by peer index: is it external, its BGP identifier, its address as numbers that compare.

/** The source of a route that no peer sent: `source` of `BestRoutes`. */
export const LOCAL = 0xffff;
const PEERS = 0x10000;
/** Words of an address: IP version, then the address, left-aligned. */
const WORDS = 5;

/** Sized for every index at once; a page that no peer uses is never touched. */
export class PeerFacts {
  readonly external = new Uint8Array(PEERS);
  /** u32 */
  readonly routerIds = new Uint32Array(PEERS);
  readonly #addresses = new Uint32Array(PEERS * WORDS);

  /** `address` is 4 or 16 bytes; anything else counts as the lowest address. Call it before the peer's first route of a session. */
  set(peer: number, external: boolean, routerId: number, address: Uint8Array): void {
    this.external[peer] = external ? 1 : 0;
    this.routerIds[peer] = routerId;
    const at = peer * WORDS;
    this.#addresses[at] = address.length;
    for (let word = 0; word < 4; word++) {
      let value = 0;
      for (let i = 4 * word; i < 4 * word + 4; i++) value = (value << 8) | (address[i] ?? 0);
      this.#addresses[at + 1 + word] = value;
    }
  }

  /** Negative when `a` has the lower address, 0 when they are equal. IPv4 is lower than IPv6. */
  compareAddress(a: number, b: number): number {
    const from = a * WORDS;
    const to = b * WORDS;
    for (let i = 0; i < WORDS; i++) {
      const x = this.#addresses[from + i]!;
      const y = this.#addresses[to + i]!;
      if (x !== y) return x < y ? -1 : 1;
    }
    return 0;
  }
}
