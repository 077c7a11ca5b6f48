// The attributes of a received UPDATE in the one form that the RIB keeps: four-octet AS numbers, no MP attributes, and for routes whose next
// hop came in MP_REACH_NLRI that next hop beside the block and no NEXT_HOP in it. Mostly that is the message's own bytes, interned in place.
import { HAS_NEXT_HOP } from '../wire/attribute/block.ts';
import { NEXT_HOP } from '../wire/attribute/code.ts';
import { AttributeCursor } from '../wire/attribute/cursor.ts';
import { copyBytes, viewOf } from '../wire/bytes.ts';
import { AttributeRewriter, exportRule, KEEP } from '../wire/export.ts';
import type { UpdateView } from '../wire/update.ts';
import type { AttributeTable } from './attribute-table.ts';

/** Room for a message's attributes once every AS number is twice as long. */
const SCRATCH = 0x20000;
/** What a handle's length column can say. */
const BLOCK_LIMIT = 0xffff;

/** Made once per reader; the view is positioned on a message that the codec accepted. */
export class ReceivedBlock {
  readonly #table: AttributeTable;
  readonly #cursor = new AttributeCursor();
  #rewriter: AttributeRewriter | undefined;
  #scratch: Uint8Array | undefined;
  #scratchView: DataView = NO_VIEW;

  constructor(table: AttributeTable) {
    this.#table = table;
  }

  /** Handle for the classic NLRI, counted for the caller; 0 when the table is full. */
  classic(view: UpdateView): number {
    const { block } = view;
    if (view.context.asn4) return this.#table.intern(block.view, block.at, block.length, view.view, 0, 0);
    const length = this.#widen(view);
    return length < 0 ? 0 : this.#table.intern(this.#scratchView, 0, length, view.view, 0, 0);
  }

  /** Handle for the NLRI of MP_REACH_NLRI, counted for the caller; 0 when the table is full. */
  reach(view: UpdateView): number {
    const { block } = view;
    const hopAt = view.reachNextHopAt;
    const hopLength = view.reachNextHopLength;
    if (view.context.asn4 && (view.blockFacts & HAS_NEXT_HOP) === 0) {
      return this.#table.intern(block.view, block.at, block.length, view.view, hopAt, hopLength);
    }
    const wide = view.context.asn4 ? -1 : this.#widen(view);
    if (!view.context.asn4 && wide < 0) return 0;
    const length =
      wide < 0 ? this.#cut(block.bytes, block.view, block.at, block.length) : this.#cut(this.#room(), this.#scratchView, 0, wide);
    return this.#table.intern(this.#scratchView, 0, length, view.view, hopAt, hopLength);
  }

  /** Writes the block with four-octet AS numbers to the scratch (RFC 6793 §4.2.3); its length, -1 when it is too long to keep. */
  #widen(view: UpdateView): number {
    const { block } = view;
    this.#rewriter ??= new AttributeRewriter();
    return this.#rewriter.rewrite(block.bytes, block.view, block.at, block.length, AS_IT_CAME, this.#room(), 0, BLOCK_LIMIT);
  }

  /** Brings every attribute but NEXT_HOP to the front of the scratch, where they may already be; returns their length. */
  #cut(bytes: Uint8Array, view: DataView, at: number, length: number): number {
    const scratch = this.#room();
    const cursor = this.#cursor.over(view, at, length);
    let end = 0;
    while (cursor.next()) {
      if (cursor.code === NEXT_HOP) continue;
      const size = cursor.at - cursor.startAt;
      copyBytes(bytes, cursor.startAt, size, scratch, end);
      end += size;
    }
    return end;
  }

  #room(): Uint8Array {
    if (this.#scratch === undefined) {
      this.#scratch = new Uint8Array(SCRATCH);
      this.#scratchView = viewOf(this.#scratch);
    }
    return this.#scratch;
  }
}

const NO_VIEW = new DataView(new ArrayBuffer(0));
/**
 * Nothing but the width of AS numbers changes, whoever the peer is: what must not come from it the codec has left out of the block, and what
 * must not leave our AS (AIGP, RFC 7311 §3.4; non-transitive extended communities, RFC 4360 §6) the egress leaves out. So the rule is that
 * of an internal destination, for a peer of two-octet AS numbers is to look like any other. Only unknown attributes are what they would be on
 * the way out already: Partial, or gone when they are non-transitive (RFC 4271 §9).
 */
const AS_IT_CAME = exportRule(false, { sourceAsn4: false, localPref: KEEP });
