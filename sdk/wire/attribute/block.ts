// The part of an UPDATE's attributes that may be shared between routes: everything but MP_REACH_NLRI, MP_UNREACH_NLRI and what was
// discarded. Mostly that is one run of the message and nothing is copied; where a hole is in the middle the runs are joined in a scratch.
import { copyBytes, viewOf } from '../bytes.ts';

/** Bits of `UpdateView.blockFacts`: what a block found good holds, kept beside it so that `trust` can do without looking. */
export const HAS_ORIGIN = 1;
export const HAS_AS_PATH = 2;
export const HAS_NEXT_HOP = 4;
/** NEXT_HOP holds an address no IPv4 route may use; harmless where MP_REACH_NLRI brings its own. */
export const NEXT_HOP_UNUSABLE = 8;

const NONE = new Uint8Array(0);
const NONE_VIEW = viewOf(NONE);

/**
 * Collects runs of attributes in order. `bytes`, `view`, `at`, `length` describe the block until the next `begin()`: they point into the
 * message, or into the scratch, which is this object's own and is made the first time a hole demands it.
 */
export class AttributeBlock {
  bytes: Uint8Array;
  view: DataView;
  at: number;
  length: number;
  #scratch: Uint8Array;
  #scratchView: DataView;

  constructor() {
    this.bytes = NONE;
    this.view = NONE_VIEW;
    this.at = 0;
    this.length = 0;
    this.#scratch = NONE;
    this.#scratchView = NONE_VIEW;
  }

  /** Starts an empty block over `bytes`. */
  begin(bytes: Uint8Array, view: DataView): void {
    if (this.bytes !== bytes) this.bytes = bytes;
    if (this.view !== view) this.view = view;
    this.at = 0;
    this.length = 0;
  }

  /** Appends `length` bytes from `from` of `source`, which lie after all runs kept so far when `source` is the scratch itself. */
  keep(source: Uint8Array, from: number, length: number): void {
    if (this.length === 0 && this.bytes === source) {
      this.at = from;
      this.length = length;
      return;
    }
    if (this.bytes === source && this.at + this.length === from) {
      this.length += length;
      return;
    }
    this.#move();
    copyBytes(source, from, length, this.#scratch, this.length);
    this.length += length;
  }

  /** Copies the block out; returns its length. The caller has made sure that it fits. */
  copy(out: Uint8Array, outAt: number): number {
    copyBytes(this.bytes, this.at, this.length, out, outAt);
    return this.length;
  }

  /** Brings what was kept to the front of the scratch, so that more can follow it. */
  #move(): void {
    if (this.#scratch.length === 0) {
      this.#scratch = new Uint8Array(65536);
      this.#scratchView = viewOf(this.#scratch);
    }
    if (this.bytes === this.#scratch && this.at === 0) return;
    if (this.length > 0) copyBytes(this.bytes, this.at, this.length, this.#scratch, 0);
    this.bytes = this.#scratch;
    this.view = this.#scratchView;
    this.at = 0;
  }
}
