/**
 * A list of prefixes with length ranges, the first that covers a route wins. Entries are hashed by their prefix, one table for all
 * lengths: a look-up costs one probe for each length that occurs in the list and is not longer than the route, whatever its size.
 */
import { readIpv4Prefix } from '../wire/nlri/prefix.ts';

/** One line. `ge` and `le` as written, -1 where they are not. */
export interface PrefixEntry {
  /** 4 or 16 bytes. */
  readonly address: Uint8Array;
  readonly lengthBits: number;
  readonly ge: number;
  readonly le: number;
  readonly accept: boolean;
}

export class PrefixList {
  readonly #ipv4: LengthTables;
  readonly #ipv6: LengthTables;

  constructor(entries: readonly PrefixEntry[]) {
    this.#ipv4 = new LengthTables(entries, 4);
    this.#ipv6 = new LengthTables(entries, 16);
  }

  /** What the first entry says that covers the prefix of `lengthBits` at `at`; false when none does. `maxBits`: 32 or 128. */
  accepts(view: DataView, at: number, lengthBits: number, maxBits: number): boolean {
    return (maxBits === 32 ? this.#ipv4 : this.#ipv6).accepts(view, at, lengthBits);
  }
}

const EMPTY = -1;

/** The entries of one address width. Columns by slot of an open hash table at most half full. */
class LengthTables {
  readonly #words: number;
  /** Lengths that occur, ascending. */
  readonly #lengths: Uint8Array;
  readonly #mask: number;
  readonly #entry: Int32Array;
  readonly #length: Uint8Array;
  readonly #prefix: Uint32Array;
  /** By entry. */
  readonly #low: Uint8Array;
  readonly #high: Uint8Array;
  readonly #accept: Uint8Array;
  readonly #key = new Uint32Array(4);

  constructor(all: readonly PrefixEntry[], size: 4 | 16) {
    const own = all.filter(({ address }) => address.length === size);
    this.#words = size / 4;
    this.#lengths = Uint8Array.from([...new Set(own.map(({ lengthBits }) => lengthBits))].sort((a, b) => a - b));
    let slots = 8;
    while (slots < 2 * own.length) slots *= 2;
    this.#mask = slots - 1;
    this.#entry = new Int32Array(slots).fill(EMPTY);
    this.#length = new Uint8Array(slots);
    this.#prefix = new Uint32Array(slots * this.#words);
    this.#low = new Uint8Array(own.length);
    this.#high = new Uint8Array(own.length);
    this.#accept = new Uint8Array(own.length);
    for (const [index, entry] of own.entries()) this.#put(index, entry, size * 8);
  }

  #put(index: number, entry: PrefixEntry, maxBits: number): void {
    const { address, lengthBits, ge, le } = entry;
    this.#low[index] = ge < 0 ? lengthBits : Math.max(ge, lengthBits);
    this.#high[index] = le >= 0 ? le : ge >= 0 ? maxBits : lengthBits;
    this.#accept[index] = entry.accept ? 1 : 0;
    this.#load(new DataView(address.buffer, address.byteOffset, address.length), 0, lengthBits);
    let slot = this.#hash(lengthBits);
    while (this.#entry[slot] !== EMPTY) {
      // The same prefix again can only speak of what the first one does not.
      slot = (slot + 1) & this.#mask;
    }
    this.#entry[slot] = index;
    this.#length[slot] = lengthBits;
    this.#prefix.set(this.#key.subarray(0, this.#words), slot * this.#words);
  }

  accepts(view: DataView, at: number, lengthBits: number): boolean {
    let first = 0x7fffffff;
    const lengths = this.#lengths;
    for (let i = 0; i < lengths.length; i++) {
      const length = lengths[i]!;
      if (length > lengthBits) break;
      this.#load(view, at, length);
      for (let slot = this.#hash(length); ; slot = (slot + 1) & this.#mask) {
        const entry = this.#entry[slot]!;
        if (entry === EMPTY) break;
        if (entry >= first || this.#length[slot] !== length || !this.#is(slot)) continue;
        if (lengthBits >= this.#low[entry]! && lengthBits <= this.#high[entry]!) first = entry;
      }
    }
    return first !== 0x7fffffff && this.#accept[first] === 1;
  }

  /** The first `lengthBits` at `at` as the key, the rest zero. */
  #load(view: DataView, at: number, lengthBits: number): void {
    const key = this.#key;
    if (this.#words === 1) {
      key[0] = readIpv4Prefix(view, at, lengthBits);
      return;
    }
    for (let i = 0; i < 4; i++) {
      const bits = lengthBits - 32 * i;
      key[i] = bits <= 0 ? 0 : readIpv4Prefix(view, at + 4 * i, bits > 32 ? 32 : bits);
    }
  }

  #hash(lengthBits: number): number {
    const key = this.#key;
    let hash = Math.imul(lengthBits + 1, 0x9e3779b1);
    for (let i = 0; i < this.#words; i++) hash = Math.imul(hash ^ key[i]!, 0x85ebca6b) ^ (hash >>> 13);
    return (hash ^ (hash >>> 16)) & this.#mask;
  }

  #is(slot: number): boolean {
    const key = this.#key;
    const at = slot * this.#words;
    for (let i = 0; i < this.#words; i++) if (this.#prefix[at + i] !== key[i]) return false;
    return true;
  }
}
