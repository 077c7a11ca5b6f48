/**
 * The prefixes a peer has announced in one family, to count them exactly where no plugin of the route path does: 64-bit
 * fingerprints in open addressing, 8 bytes a slot at most three quarters full. Two prefixes that share a fingerprint count once;
 * among a million that is to be expected in one table of thirty million.
 */
import { hashBytes } from '../../../sdk/wire/bytes.ts';

const START = 1024;

export class PrefixSet {
  size = 0;
  #slots = new Uint32Array(2 * START);
  #mask = START - 1;

  has(view: DataView, at: number, length: number): boolean {
    const low = hashBytes(view, at, length);
    const high = second(view, at, length);
    let slot = low & this.#mask;
    while (this.#slots[2 * slot + 1] !== 0) {
      if (this.#slots[2 * slot] === low && this.#slots[2 * slot + 1] === high) return true;
      slot = (slot + 1) & this.#mask;
    }
    return false;
  }

  add(view: DataView, at: number, length: number): void {
    const low = hashBytes(view, at, length);
    const high = second(view, at, length);
    let slot = low & this.#mask;
    while (this.#slots[2 * slot + 1] !== 0) {
      if (this.#slots[2 * slot] === low && this.#slots[2 * slot + 1] === high) return;
      slot = (slot + 1) & this.#mask;
    }
    this.#slots[2 * slot] = low;
    this.#slots[2 * slot + 1] = high;
    this.size++;
    if (4 * this.size > 3 * (this.#mask + 1)) this.#grow();
  }

  delete(view: DataView, at: number, length: number): void {
    const low = hashBytes(view, at, length);
    const high = second(view, at, length);
    let slot = low & this.#mask;
    while (this.#slots[2 * slot + 1] !== 0) {
      if (this.#slots[2 * slot] === low && this.#slots[2 * slot + 1] === high) {
        this.#remove(slot);
        return;
      }
      slot = (slot + 1) & this.#mask;
    }
  }

  clear(): void {
    this.size = 0;
    this.#slots = new Uint32Array(2 * START);
    this.#mask = START - 1;
  }

  /** Closes the gap so that probes still find what was pushed past it. */
  #remove(at: number): void {
    const slots = this.#slots;
    let gap = at;
    for (let next = (gap + 1) & this.#mask; slots[2 * next + 1] !== 0; next = (next + 1) & this.#mask) {
      const home = slots[2 * next]! & this.#mask;
      if (((next - home) & this.#mask) < ((next - gap) & this.#mask)) continue;
      slots[2 * gap] = slots[2 * next]!;
      slots[2 * gap + 1] = slots[2 * next + 1]!;
      gap = next;
    }
    slots[2 * gap] = 0;
    slots[2 * gap + 1] = 0;
    this.size--;
  }

  #grow(): void {
    const old = this.#slots;
    const capacity = 2 * (this.#mask + 1);
    const slots = new Uint32Array(2 * capacity);
    const mask = capacity - 1;
    for (let i = 0; i < old.length; i += 2) {
      if (old[i + 1] === 0) continue;
      let slot = old[i]! & mask;
      while (slots[2 * slot + 1] !== 0) slot = (slot + 1) & mask;
      slots[2 * slot] = old[i]!;
      slots[2 * slot + 1] = old[i + 1]!;
    }
    this.#slots = slots;
    this.#mask = mask;
  }
}

/** A second hash, independent of the first and never 0, which marks a free slot. */
function second(view: DataView, at: number, length: number): number {
  let hash = 0x2545f491;
  for (let i = at; i < at + length; i++) hash = Math.imul(hash ^ view.getUint8(i), 0x01000193) ^ (hash >>> 17);
  return (hash | 1) >>> 0;
}
