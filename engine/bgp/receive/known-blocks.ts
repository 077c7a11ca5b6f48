/**
 * Attribute blocks found good before, so that they need not be judged again: a direct-mapped table over the hash the view has
 * already computed. A hit compares the bytes: a block that merely shares a hash with a good one is judged like any other.
 */
import { equalBytes } from '../../../sdk/wire/bytes.ts';
import type { UpdateView } from '../../../sdk/wire/update.ts';
import { UNKNOWN_SELF } from './loop-check.ts';

const SLOTS = 8192;
/** Longer blocks are judged every time: they are rare. */
const STRIDE = 192;

export class KnownBlocks {
  readonly #bytes = new Uint8Array(SLOTS * STRIDE);
  readonly #lengths = new Uint8Array(SLOTS);
  readonly #checks = new Uint32Array(SLOTS);
  readonly #facts = new Uint32Array(SLOTS);
  /** Hash of the block that last came by the slot: bytes are kept from the second time on, since most come but once. */
  readonly #seen = new Uint32Array(SLOTS);
  hits = 0;

  /** What was noted for the block of a located view by whom we are to its sender (`Self.id`), or -1. */
  find(view: UpdateView, self: number): number {
    const { block } = view;
    const check = checkOf(view, self);
    const slot = (view.blockHash ^ check) & (SLOTS - 1);
    if (block.length === 0 || this.#lengths[slot] !== block.length || this.#checks[slot] !== check) return -1;
    if (!equalBytes(this.#bytes, slot * STRIDE, block.bytes, block.at, block.length)) return -1;
    this.hits++;
    return this.#facts[slot]!;
  }

  /** Notes `facts` for the block, which was found good under the view's context. */
  note(view: UpdateView, self: number, facts: number): void {
    const { block } = view;
    if (block.length === 0 || block.length > STRIDE || self === UNKNOWN_SELF) return;
    const check = checkOf(view, self);
    const slot = (view.blockHash ^ check) & (SLOTS - 1);
    if (this.#seen[slot] !== view.blockHash) {
      this.#seen[slot] = view.blockHash;
      return;
    }
    this.#bytes.set(block.bytes.subarray(block.at, block.at + block.length), slot * STRIDE);
    this.#lengths[slot] = block.length;
    this.#checks[slot] = check;
    this.#facts[slot] = facts;
  }
}

/** A context of judgement and a `Self` as one number: never 0 in its low half, for contexts of a table begin at 1. */
function checkOf(view: UpdateView, self: number): number {
  return (view.context.checkId | (self << 20)) >>> 0;
}
