// What route selection asks of a block, read once when the block is new and kept beside its handle.
import { countAs, neighbourAs, originAs } from './as-path.ts';
import {
  AS_PATH,
  CLUSTER_LIST,
  LOCAL_PREF,
  MULTI_EXIT_DISC,
  NEXT_HOP,
  ORIGIN,
  ORIGIN_INCOMPLETE,
  ORIGINATOR_ID,
} from './code.ts';
import { AttributeCursor } from './cursor.ts';
import { pathLength } from './path-scratch.ts';

/** Made once, refilled by `read`. Numbers that are absent are -1. */
export class BlockFacts {
  /** 0 IGP, 1 EGP, 2 incomplete. */
  origin: number;
  /** A set counts one, confederation segments none. */
  pathLength: number;
  /** Leftmost AS, 0 when the path is empty or begins with a set. */
  neighbourAs: number;
  /** Rightmost AS, 0 for an empty path, -1 for a set. */
  originAs: number;
  /** Of our own AS in the path, as asked for in `read`. */
  ownAsCount: number;
  med: number;
  localPref: number;
  /** NEXT_HOP as u32. */
  nextHop: number;
  originatorId: number;
  /** Number of entries. */
  clusterLength: number;
  readonly #cursor: AttributeCursor;

  constructor() {
    this.origin = ORIGIN_INCOMPLETE;
    this.pathLength = 0;
    this.neighbourAs = 0;
    this.originAs = 0;
    this.ownAsCount = 0;
    this.med = -1;
    this.localPref = -1;
    this.nextHop = -1;
    this.originatorId = -1;
    this.clusterLength = 0;
    this.#cursor = new AttributeCursor();
  }

  /** Reads a validated block of `length` bytes at `at`; `ownAs` 0 looks for none. */
  read(view: DataView, at: number, length: number, asn4: boolean, ownAs: number): this {
    this.origin = ORIGIN_INCOMPLETE;
    this.pathLength = 0;
    this.neighbourAs = 0;
    this.originAs = 0;
    this.ownAsCount = 0;
    this.med = -1;
    this.localPref = -1;
    this.nextHop = -1;
    this.originatorId = -1;
    this.clusterLength = 0;
    const cursor = this.#cursor.over(view, at, length);
    while (cursor.next()) {
      const { valueAt, valueLength } = cursor;
      if (cursor.code === AS_PATH) {
        const width = asn4 ? 4 : 2;
        this.pathLength = pathLength(view, valueAt, valueLength, width);
        this.neighbourAs = neighbourAs(view, valueAt, valueLength, width);
        this.originAs = originAs(view, valueAt, valueLength, width);
        if (ownAs !== 0) this.ownAsCount = countAs(view, valueAt, valueLength, width, ownAs);
      } else if (cursor.code === ORIGIN && valueLength === 1) this.origin = view.getUint8(valueAt);
      else if (cursor.code === CLUSTER_LIST) this.clusterLength = valueLength >>> 2;
      else if (valueLength === 4) this.#four(cursor.code, view.getUint32(valueAt));
    }
    return this;
  }

  #four(code: number, value: number): void {
    if (code === NEXT_HOP) this.nextHop = value;
    else if (code === MULTI_EXIT_DISC) this.med = value;
    else if (code === LOCAL_PREF) this.localPref = value;
    else if (code === ORIGINATOR_ID) this.originatorId = value;
  }
}
