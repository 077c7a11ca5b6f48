/** Is this route on its way back to us? Our AS in the path (RFC 4271 §9.1.2), our identifiers in a reflected one (RFC 4456 §8). */
import { AS4_PATH, AS_PATH, CLUSTER_LIST, ORIGINATOR_ID } from '../../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../../sdk/wire/attribute/cursor.ts';
import type { UpdateView } from '../../../sdk/wire/update.ts';

/** Who we are towards one peer, all u32; 0 = not looked for. */
export interface Self {
  readonly localAs: number;
  readonly otherAs: number;
  readonly routerId: number;
  readonly clusterId: number;
  /** Our AS may be in a path that often. */
  readonly allowOwnAs: number;
  /** Below 4096: different ones, different answers for the same bytes. */
  readonly id: number;
}

/** Gives equal answers the same small number, so that what was found of a block holds for all peers alike. */
export class Selves {
  readonly #ids = new Map<string, number>();

  /** More than 4,095 different ones are `UNKNOWN_SELF`. */
  of(facts: Omit<Self, 'id'>): Self {
    const key = Object.values(facts).join();
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = Math.min(this.#ids.size, UNKNOWN_SELF);
      this.#ids.set(key, id);
    }
    return { ...facts, id };
  }
}

/** Of these nothing may be remembered. */
export const UNKNOWN_SELF = 4095;

export class LoopCheck {
  readonly #cursor = new AttributeCursor();

  /** Looks at the block of a view that was found good. */
  loops(view: UpdateView, self: Omit<Self, 'id'>): boolean {
    const { block, context } = view;
    // From an external peer of four-octet numbers only the path matters, and the judgement has just passed it.
    if (context.ebgp && context.asn4 && view.faults.total === 0) {
      return view.pathLength !== 0 && timesInPath(block.view, view.pathAt, view.pathLength, true, self) > self.allowOwnAs;
    }
    const cursor = this.#cursor.over(block.view, block.at, block.length);
    const { allowOwnAs } = self;
    while (cursor.next()) {
      switch (cursor.code) {
        case AS_PATH:
          if (timesInPath(block.view, cursor.valueAt, cursor.valueLength, context.asn4, self) > allowOwnAs) return true;
          break;
        case AS4_PATH:
          if (!context.asn4 && timesInPath(block.view, cursor.valueAt, cursor.valueLength, true, self) > allowOwnAs) return true;
          break;
        case ORIGINATOR_ID:
          if (!context.ebgp && self.routerId !== 0 && block.view.getUint32(cursor.valueAt) === self.routerId) return true;
          break;
        case CLUSTER_LIST:
          if (context.ebgp || self.clusterId === 0) break;
          for (let at = cursor.valueAt; at + 4 <= cursor.at; at += 4)
            if (block.view.getUint32(at) === self.clusterId) return true;
          break;
      }
    }
    return false;
  }
}

function timesInPath(view: DataView, at: number, length: number, asn4: boolean, self: Pick<Self, 'localAs' | 'otherAs'>): number {
  let times = 0;
  const end = at + length;
  const width = asn4 ? 4 : 2;
  let i = at;
  while (i + 2 <= end) {
    const last = Math.min(end, i + 2 + view.getUint8(i + 1) * width);
    for (i += 2; i + width <= last; i += width) {
      const asn = asn4 ? view.getUint32(i) : view.getUint16(i);
      if (asn === self.localAs || (asn === self.otherAs && asn !== 0)) times++;
    }
    i = last;
  }
  return times;
}
