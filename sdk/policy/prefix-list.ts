/**
 * A list of prefixes with length ranges, the first that covers a route wins. Entries hang in a binary tree, one for each address family: a
 * look-up walks the route's bits as far as any entry goes with them, and meets exactly the entries whose prefix covers it.
 */

/** One line. `ge` and `le` as written, -1 where they are not. */
export interface PrefixEntry {
  /** 4 or 16 bytes. */
  readonly address: Uint8Array;
  readonly lengthBits: number;
  readonly ge: number;
  readonly le: number;
  readonly accept: boolean;
}

const NONE = -1;
const NO_ENTRY = 0x7fffffff;

export class PrefixList {
  readonly #ipv4: PrefixTree;
  readonly #ipv6: PrefixTree;

  constructor(entries: readonly PrefixEntry[]) {
    this.#ipv4 = new PrefixTree(entries, 32);
    this.#ipv6 = new PrefixTree(entries, 128);
  }

  /** What the first entry says that covers the prefix of `lengthBits` at `at`; false when none does. `maxBits`: 32 or 128. */
  accepts(view: DataView, at: number, lengthBits: number, maxBits: number): boolean {
    return (maxBits === 32 ? this.#ipv4 : this.#ipv6).accepts(view, at, lengthBits);
  }
}

/** Nodes are numbers, the root 0; a child 0 is none. At most one node a bit of an entry. */
class PrefixTree {
  /** Two by node: where the next bit leads. */
  #children = new Int32Array(64);
  /** By node: its first entry, NONE for none. */
  #entryAt = new Int32Array(32).fill(NONE);
  #nodes = 1;
  /** By entry: another of the same prefix, the lengths it takes, what it says. */
  readonly #next: Int32Array;
  readonly #low: Uint8Array;
  readonly #high: Uint8Array;
  readonly #accept: Uint8Array;

  constructor(all: readonly PrefixEntry[], maxBits: 32 | 128) {
    const entries = all.filter(({ address }) => 8 * address.length === maxBits);
    this.#next = new Int32Array(entries.length).fill(NONE);
    this.#low = Uint8Array.from(entries, ({ ge, lengthBits }) => Math.max(ge, lengthBits));
    this.#high = Uint8Array.from(entries, ({ ge, le, lengthBits }) => (le >= 0 ? le : ge >= 0 ? maxBits : lengthBits));
    this.#accept = Uint8Array.from(entries, ({ accept }) => (accept ? 1 : 0));
    // The last first, so that the first of the same prefix comes to stand in front.
    for (let index = entries.length - 1; index >= 0; index--) {
      const { address, lengthBits } = entries[index]!;
      const node = this.#grow(address, lengthBits);
      this.#next[index] = this.#entryAt[node]!;
      this.#entryAt[node] = index;
    }
  }

  accepts(view: DataView, at: number, lengthBits: number): boolean {
    const children = this.#children;
    const entryAt = this.#entryAt;
    let first = NO_ENTRY;
    let node = 0;
    let byte = 0;
    for (let depth = 0; ; depth++) {
      let entry = entryAt[node]!;
      while (entry !== NONE) {
        if (entry < first && lengthBits >= this.#low[entry]! && lengthBits <= this.#high[entry]!) first = entry;
        entry = this.#next[entry]!;
      }
      if (depth === lengthBits) break;
      if ((depth & 7) === 0) byte = view.getUint8(at + (depth >>> 3));
      node = children[2 * node + ((byte >>> (7 - (depth & 7))) & 1)]!;
      if (node === 0) break;
    }
    return first !== NO_ENTRY && this.#accept[first] === 1;
  }

  /** The node of a prefix, made with those on the way to it. */
  #grow(address: Uint8Array, lengthBits: number): number {
    let node = 0;
    for (let depth = 0; depth < lengthBits; depth++) {
      const slot = 2 * node + ((address[depth >>> 3]! >>> (7 - (depth & 7))) & 1);
      if (this.#children[slot] === 0) {
        if (this.#nodes === this.#entryAt.length) this.#widen();
        this.#children[slot] = this.#nodes++;
      }
      node = this.#children[slot]!;
    }
    return node;
  }

  #widen(): void {
    const children = new Int32Array(2 * this.#children.length);
    children.set(this.#children);
    this.#children = children;
    const entryAt = new Int32Array(2 * this.#entryAt.length).fill(NONE);
    entryAt.set(this.#entryAt);
    this.#entryAt = entryAt;
  }
}
