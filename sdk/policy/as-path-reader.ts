/** The AS numbers of a route's path in their order, those of sets and confederation segments too. */
import { AS4_PATH, AS_PATH } from '../wire/attribute/code.ts';
import { PathScratch, pathLength } from '../wire/attribute/path-scratch.ts';
import { viewOf } from '../wire/bytes.ts';
import type { Draft } from './draft.ts';

const ROOM = 4 * 65_536;

/** Moved over drafts; `asn` is the current number, u32. */
export class AsPathReader {
  asn = 0;
  #view: DataView;
  #at = 0;
  #end = 0;
  #width = 4;
  /** AS numbers left in the segment. */
  #left = 0;
  #merged: { readonly scratch: PathScratch; readonly bytes: Uint8Array; readonly view: DataView } | undefined;

  constructor() {
    this.#view = NONE;
  }

  over(draft: Draft): void {
    this.#left = 0;
    this.#at = 0;
    this.#end = 0;
    if (!draft.find(AS_PATH)) return;
    const { valueAt, valueLength } = draft.cursor;
    if (!draft.context.asn4 && draft.find(AS4_PATH)) {
      this.#merge(draft, valueAt, valueLength);
      return;
    }
    this.#view = draft.view;
    this.#at = valueAt;
    this.#end = valueAt + valueLength;
    this.#width = draft.context.asn4 ? 4 : 2;
  }

  next(): boolean {
    while (this.#left === 0) {
      if (this.#at + 2 > this.#end) return false;
      this.#left = this.#view.getUint8(this.#at + 1);
      this.#at += 2;
    }
    if (this.#at + this.#width > this.#end) return false;
    this.asn = this.#width === 4 ? this.#view.getUint32(this.#at) : this.#view.getUint16(this.#at);
    this.#at += this.#width;
    this.#left--;
    return true;
  }

  /** RFC 6793 §4.2.3: AS4_PATH, with what AS_PATH has more in front. The draft's cursor stands on AS4_PATH. */
  #merge(draft: Draft, pathAt: number, pathBytes: number): void {
    this.#merged ??= makeMerged();
    const { scratch, bytes, view } = this.#merged;
    const { valueAt, valueLength } = draft.cursor;
    const more = pathLength(draft.view, pathAt, pathBytes, 2) - pathLength(draft.view, valueAt, valueLength, 4);
    scratch.clear();
    scratch.load(draft.view, pathAt, pathBytes, 2, more < 0 ? Infinity : more, true);
    if (more >= 0) scratch.load(draft.view, valueAt, valueLength, 4, Infinity, false);
    this.#view = view;
    this.#at = 0;
    this.#end = scratch.write(bytes, 0, 4, true);
    this.#width = 4;
  }
}

const NONE = new DataView(new ArrayBuffer(0));

function makeMerged(): { readonly scratch: PathScratch; readonly bytes: Uint8Array; readonly view: DataView } {
  const bytes = new Uint8Array(ROOM);
  return { scratch: new PathScratch(), bytes, view: viewOf(bytes) };
}
