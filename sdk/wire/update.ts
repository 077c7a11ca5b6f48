// UPDATE in place (RFC 4271 §4.3, RFC 4760) and its judgement (RFC 7606). Two steps, so that a table of blocks already found good can
// stand between them: `locate` finds the sections and hashes the attributes, then `validate` judges a new block, or `trust` takes the
// word of the table for a known one. Nothing is copied unless attributes must be cut out of the middle.
import { AttributeBlock, HAS_AS_PATH, HAS_NEXT_HOP, HAS_ORIGIN, NEXT_HOP_UNUSABLE } from './attribute/block.ts';
import { AS_PATH, LOCAL_PREF, MP_REACH_NLRI, MP_UNREACH_NLRI, NEXT_HOP, OPTIONAL, ORIGIN, TRANSITIVE } from './attribute/code.ts';
import { AttributeCursor } from './attribute/cursor.ts';
import { ATTRIBUTES } from './attribute/table.ts';
import { hashBytes, viewOf } from './bytes.ts';
import { plainContext, type WireContext } from './context.ts';
import { AFI_IPV4, type Family, IPV4_UNICAST, NO_FAMILY, SAFI_MPLS_VPN } from './family.ts';
import { FaultList } from './fault-list.ts';
import * as fault from './fault.ts';
import { DISCARD, OK, type Outcome, RESET, WITHDRAW } from './fault.ts';
import { HEADER_LENGTH } from './message.ts';
import { isBadIpv4NextHop, isNextHopLength, usableIpv6NextHop } from './nlri/next-hop.ts';
import { countPrefixes } from './nlri/prefix.ts';
import { countNlri } from './nlri/syntax.ts';

/** Made once per session and moved over messages. All `*At` are offsets into `bytes` and `view`; a length of 0 means absent. */
export class UpdateView {
  bytes: Uint8Array;
  view: DataView;
  /** The message with its header: `length` bytes from `at`. */
  at: number;
  length: number;
  context: WireContext;

  withdrawnAt: number;
  withdrawnLength: number;
  attributesAt: number;
  attributesLength: number;
  nlriAt: number;
  nlriLength: number;

  /** MP_REACH_NLRI: its family (NO_FAMILY without the attribute), next hop and NLRI. */
  reachFamily: Family;
  reachNextHopAt: number;
  reachNextHopLength: number;
  /** The 16 bytes of an IPv6 next hop to route by, see `usableIpv6NextHop`; for others the same as `reachNextHopAt`. */
  reachUsableNextHopAt: number;
  reachAt: number;
  reachLength: number;
  /** The family was never negotiated: its NLRI is to be ignored, and was not looked at. */
  reachIgnored: boolean;
  reachAddPath: boolean;
  unreachFamily: Family;
  unreachAt: number;
  unreachLength: number;
  unreachIgnored: boolean;
  unreachAddPath: boolean;
  /** IPv4 unicast was never negotiated: the classic NLRI fields are to be ignored. */
  classicIgnored: boolean;

  /** Entries in each field, known after `validate` or `trust`; 0 for families whose NLRI only a plugin can count. */
  withdrawnCount: number;
  nlriCount: number;
  reachCount: number;
  unreachCount: number;

  /** The attributes that may be shared: without MP_REACH_NLRI, MP_UNREACH_NLRI and (after `validate`) without discarded ones. */
  readonly block: AttributeBlock;
  /** Unsigned 32-bit hash of the block's bytes. */
  blockHash: number;
  /** HAS_* bits, after `validate`. */
  blockFacts: number;
  /** Value of the AS_PATH in `block`, after `validate` found nothing wrong (`faults.total` 0); length 0 when it is empty or absent. */
  pathAt: number;
  pathLength: number;
  /** The family whose End-of-RIB this message is (RFC 4724 §2), else NO_FAMILY. */
  endOfRib: Family;

  outcome: Outcome;
  /** The NOTIFICATION when `outcome` is RESET; its data is `notificationData()`. */
  code: number;
  subcode: number;
  /** What was found wrong, for the report. */
  readonly faults: FaultList;

  readonly #cursor: AttributeCursor;
  /** One bit a code above 31, for duplicates. */
  readonly #seen: Int32Array;
  #otherAttributes: boolean;
  #dataBytes: Uint8Array;
  #dataAt: number;
  #dataLength: number;
  /** The first treat-as-withdraw fault, kept in case RFC 7606 §5.2 turns it into a reset. */
  #worstCode: number;
  #worstSubcode: number;
  #worstAt: number;
  #worstLength: number;

  constructor() {
    this.bytes = NO_BYTES;
    this.view = NO_VIEW;
    this.at = 0;
    this.length = 0;
    this.context = NO_CONTEXT;
    this.withdrawnAt = 0;
    this.withdrawnLength = 0;
    this.attributesAt = 0;
    this.attributesLength = 0;
    this.nlriAt = 0;
    this.nlriLength = 0;
    this.reachFamily = NO_FAMILY;
    this.reachNextHopAt = 0;
    this.reachNextHopLength = 0;
    this.reachUsableNextHopAt = 0;
    this.reachAt = 0;
    this.reachLength = 0;
    this.reachIgnored = false;
    this.reachAddPath = false;
    this.unreachFamily = NO_FAMILY;
    this.unreachAt = 0;
    this.unreachLength = 0;
    this.unreachIgnored = false;
    this.unreachAddPath = false;
    this.classicIgnored = false;
    this.withdrawnCount = 0;
    this.nlriCount = 0;
    this.reachCount = 0;
    this.unreachCount = 0;
    this.block = new AttributeBlock();
    this.blockHash = 0;
    this.blockFacts = 0;
    this.pathAt = 0;
    this.pathLength = 0;
    this.endOfRib = NO_FAMILY;
    this.outcome = OK;
    this.code = 0;
    this.subcode = 0;
    this.faults = new FaultList();
    this.#cursor = new AttributeCursor();
    this.#seen = new Int32Array(8);
    this.#otherAttributes = false;
    this.#dataBytes = NO_BYTES;
    this.#dataAt = 0;
    this.#dataLength = 0;
    this.#worstCode = 0;
    this.#worstSubcode = 0;
    this.#worstAt = 0;
    this.#worstLength = 0;
  }

  /** `locate`, then `validate` unless the message already resets the session. */
  read(bytes: Uint8Array, view: DataView, at: number, length: number, context: WireContext): Outcome {
    return this.locate(bytes, view, at, length, context) === RESET ? RESET : this.validate();
  }

  /**
   * Finds the sections, the MP attributes and the block of the UPDATE of `length` bytes at `at` (its header was judged by
   * `checkHeader`), and hashes the block. Returns RESET when the message cannot be taken apart, else an outcome that `validate` or
   * `trust` completes. `bytes` and `view` must have equal offsets (`viewOf`), and stay unchanged while this view is used.
   */
  locate(bytes: Uint8Array, view: DataView, at: number, length: number, context: WireContext): Outcome {
    this.#begin(bytes, view, at, length, context);
    if (length < HEADER_LENGTH + 4) return this.#reset(fault.MALFORMED_ATTRIBUTE_LIST, 0, 0, 0, fault.SECTION_OVERRUN);
    const withdrawn = view.getUint16(at + HEADER_LENGTH);
    if (withdrawn + 23 > length) return this.#reset(fault.MALFORMED_ATTRIBUTE_LIST, 0, 0, 0, fault.SECTION_OVERRUN);
    this.withdrawnAt = at + HEADER_LENGTH + 2;
    this.withdrawnLength = withdrawn;
    const attributes = view.getUint16(this.withdrawnAt + withdrawn);
    if (withdrawn + attributes + 23 > length) return this.#reset(fault.MALFORMED_ATTRIBUTE_LIST, 0, 0, 0, fault.SECTION_OVERRUN);
    this.attributesAt = this.withdrawnAt + withdrawn + 2;
    this.attributesLength = attributes;
    this.nlriAt = this.attributesAt + attributes;
    this.nlriLength = at + length - this.nlriAt;
    if (attributes !== 0 && this.#locateAttributes() === RESET) return RESET;
    this.blockHash = hashBytes(this.block.view, this.block.at, this.block.length);
    this.#markEndOfRib();
    return this.outcome;
  }

  /** Judges every attribute of the block by its row, takes out what is discarded, then completes the outcome. */
  validate(): Outcome {
    if (this.outcome === RESET) return RESET;
    if (this.block.length !== 0 && this.#judgeBlock() === RESET) return RESET;
    return this.#complete();
  }

  /**
   * Completes the outcome for a block whose bytes were found good before under the same `context.checkId`; `facts` are the
   * `blockFacts` of then. NLRI, mandatory attributes and next hops are still judged: they belong to the message, not to the block.
   */
  trust(facts: number): Outcome {
    if (this.outcome === RESET) return RESET;
    this.blockFacts = facts;
    return this.#complete();
  }

  /** Copies the block to `out`, which has room for `block.length`; returns that length. */
  copyAttributes(out: Uint8Array, outAt: number): number {
    return this.block.copy(out, outAt);
  }

  /** The NOTIFICATION's data, a copy, never longer than what was received. */
  notificationData(): Uint8Array {
    return this.#dataBytes.slice(this.#dataAt, this.#dataAt + this.#dataLength);
  }

  #begin(bytes: Uint8Array, view: DataView, at: number, length: number, context: WireContext): void {
    // Mostly the same objects as for the message before: to compare is cheaper than to store what the collector has to know of.
    if (this.bytes !== bytes) this.bytes = bytes;
    if (this.view !== view) this.view = view;
    this.at = at;
    this.length = length;
    if (this.context !== context) this.context = context;
    this.withdrawnLength = 0;
    this.attributesLength = 0;
    this.nlriLength = 0;
    this.reachFamily = NO_FAMILY;
    this.reachNextHopLength = 0;
    this.reachLength = 0;
    this.reachIgnored = false;
    this.reachAddPath = false;
    this.unreachFamily = NO_FAMILY;
    this.unreachLength = 0;
    this.unreachIgnored = false;
    this.unreachAddPath = false;
    this.classicIgnored = !context.ipv4Unicast;
    this.withdrawnCount = 0;
    this.nlriCount = 0;
    this.reachCount = 0;
    this.unreachCount = 0;
    this.block.begin(bytes, view);
    this.blockHash = 0;
    this.blockFacts = 0;
    this.pathLength = 0;
    this.endOfRib = NO_FAMILY;
    this.outcome = OK;
    this.code = 0;
    this.subcode = 0;
    this.faults.clear();
    this.#otherAttributes = false;
    if (this.#dataBytes !== bytes) this.#dataBytes = bytes;
    this.#dataLength = 0;
    this.#worstCode = 0;
  }

  /** One pass over the attributes: MP attributes apart, the rest into the block. A list cut short ends where it is cut (RFC 7606 §4). */
  #locateAttributes(): Outcome {
    const cursor = this.#cursor.over(this.view, this.attributesAt, this.attributesLength);
    while (cursor.next()) {
      if (cursor.code === MP_REACH_NLRI) {
        if (this.#locateReach(cursor) === RESET) return RESET;
      } else if (cursor.code === MP_UNREACH_NLRI) {
        if (this.#locateUnreach(cursor) === RESET) return RESET;
      } else {
        this.#otherAttributes = true;
        this.block.keep(this.bytes, cursor.startAt, cursor.at - cursor.startAt);
      }
    }
    if (cursor.at === cursor.end) return OK;
    const left = cursor.end - cursor.at;
    const code = left > 1 ? this.view.getUint8(cursor.at + 1) : 0;
    // The NLRI inside an MP attribute that is cut off are lost, so nothing can be withdrawn in their stead (RFC 7606 §3.j).
    if (code === MP_REACH_NLRI || code === MP_UNREACH_NLRI) {
      return this.#reset(fault.OPTIONAL_ATTRIBUTE_ERROR, cursor.at, left, code, fault.TRUNCATED_LIST);
    }
    this.#otherAttributes = true;
    this.#note(code, WITHDRAW, fault.TRUNCATED_LIST, fault.MALFORMED_ATTRIBUTE_LIST, cursor.at, left);
    return WITHDRAW;
  }

  /** RFC 4760 §3: AFI, SAFI, next hop length, next hop, one reserved octet, NLRI. */
  #locateReach(cursor: AttributeCursor): Outcome {
    const { startAt, valueAt, valueLength: length } = cursor;
    const size = cursor.at - startAt;
    if (this.reachFamily !== NO_FAMILY) {
      return this.#reset(fault.MALFORMED_ATTRIBUTE_LIST, startAt, size, MP_REACH_NLRI, fault.DUPLICATE);
    }
    if ((cursor.flags & (OPTIONAL | TRANSITIVE)) !== OPTIONAL) return this.#badMp(cursor, MP_REACH_NLRI, fault.BAD_FLAGS);
    if (length < 5) return this.#badMp(cursor, MP_REACH_NLRI, fault.BAD_LENGTH);
    const family = (this.view.getUint16(valueAt) << 8) | this.view.getUint8(valueAt + 2);
    const nextHopLength = this.view.getUint8(valueAt + 3);
    if (family === NO_FAMILY || 5 + nextHopLength > length) {
      return this.#badMp(cursor, MP_REACH_NLRI, fault.BAD_NEXT_HOP_LENGTH);
    }
    this.reachFamily = family;
    this.reachNextHopAt = valueAt + 4;
    this.reachUsableNextHopAt = valueAt + 4;
    this.reachNextHopLength = nextHopLength;
    this.reachAt = valueAt + 5 + nextHopLength;
    this.reachLength = length - 5 - nextHopLength;
    this.reachIgnored = !this.context.hasFamily(family);
    if (this.reachIgnored) return OK;
    if (!isNextHopLength(family, nextHopLength, this.context.extendedNextHop(family))) {
      return this.#badMp(cursor, MP_REACH_NLRI, fault.BAD_NEXT_HOP_LENGTH);
    }
    this.reachAddPath = this.context.addPath(family);
    return this.#locateNextHop(startAt, size);
  }

  /** Chooses the address to route by; an unusable one withdraws the routes. */
  #locateNextHop(startAt: number, size: number): Outcome {
    const length = this.reachNextHopLength;
    const at = this.reachNextHopAt;
    if (this.reachLength === 0) return OK;
    let bad = false;
    if (length === 16 || length === 32) {
      const usable = usableIpv6NextHop(this.view, at, length);
      bad = usable < 0 && (this.reachFamily & 0xff) <= SAFI_MPLS_VPN;
      if (usable >= 0) this.reachUsableNextHopAt = usable;
    } else if (length === 4 && this.reachFamily >>> 8 === AFI_IPV4) {
      bad = isBadIpv4NextHop(this.view.getUint32(at), this.context.ownIpv4);
    }
    if (!bad) return OK;
    this.#note(MP_REACH_NLRI, WITHDRAW, fault.BAD_NEXT_HOP, fault.OPTIONAL_ATTRIBUTE_ERROR, startAt, size);
    return WITHDRAW;
  }

  /** RFC 4760 §4: AFI, SAFI, withdrawn NLRI. */
  #locateUnreach(cursor: AttributeCursor): Outcome {
    const { startAt, valueAt, valueLength: length } = cursor;
    if (this.unreachFamily !== NO_FAMILY) {
      return this.#reset(fault.MALFORMED_ATTRIBUTE_LIST, startAt, cursor.at - startAt, MP_UNREACH_NLRI, fault.DUPLICATE);
    }
    if ((cursor.flags & (OPTIONAL | TRANSITIVE)) !== OPTIONAL) return this.#badMp(cursor, MP_UNREACH_NLRI, fault.BAD_FLAGS);
    if (length < 3) return this.#badMp(cursor, MP_UNREACH_NLRI, fault.BAD_LENGTH);
    const family = (this.view.getUint16(valueAt) << 8) | this.view.getUint8(valueAt + 2);
    if (family === NO_FAMILY) return this.#badMp(cursor, MP_UNREACH_NLRI, fault.BAD_VALUE);
    this.unreachFamily = family;
    this.unreachAt = valueAt + 3;
    this.unreachLength = length - 3;
    this.unreachIgnored = !this.context.hasFamily(family);
    this.unreachAddPath = !this.unreachIgnored && this.context.addPath(family);
    return OK;
  }

  #badMp(cursor: AttributeCursor, code: number, reason: number): Outcome {
    return this.#reset(fault.OPTIONAL_ATTRIBUTE_ERROR, cursor.startAt, cursor.at - cursor.startAt, code, reason);
  }

  #markEndOfRib(): void {
    if (this.withdrawnLength !== 0 || this.nlriLength !== 0 || this.#otherAttributes || this.reachFamily !== NO_FAMILY) return;
    if (this.unreachFamily === NO_FAMILY) this.endOfRib = IPV4_UNICAST;
    else if (this.unreachLength === 0) this.endOfRib = this.unreachFamily;
  }

  /** Every attribute by its row; the block shrinks only when something is discarded. */
  #judgeBlock(): Outcome {
    const { block, context } = this;
    const { bytes, view } = block;
    const cursor = this.#cursor.over(view, block.at, block.length);
    const seen = this.#seen;
    let seenLow = 0;
    let seenHigh = false;
    let discarded = false;
    let facts = 0;
    block.begin(bytes, view);
    while (cursor.next()) {
      const { code, startAt } = cursor;
      const size = cursor.at - startAt;
      const bit = 1 << (code & 31);
      // Nearly all codes are below 32; the words for the others are emptied when the first of them comes.
      if (code > 31 && !seenHigh) {
        seenHigh = true;
        seen.fill(0);
      }
      if (((code > 31 ? seen[code >>> 5]! : seenLow) & bit) !== 0) {
        this.#note(code, DISCARD, fault.DUPLICATE, 0, startAt, size);
        discarded = true;
        continue;
      }
      if (code > 31) seen[code >>> 5]! |= bit;
      else seenLow |= bit;
      const approach = this.#judge(cursor, bytes, size);
      if (approach === RESET) return RESET;
      if (approach === DISCARD) {
        discarded = true;
        continue;
      }
      block.keep(bytes, startAt, size);
      if (code === ORIGIN) facts |= HAS_ORIGIN;
      else if (code === AS_PATH) {
        facts |= HAS_AS_PATH;
        this.pathAt = cursor.valueAt;
        this.pathLength = cursor.valueLength;
      } else if (code === NEXT_HOP && approach === OK) {
        facts |= HAS_NEXT_HOP;
        if (isBadIpv4NextHop(view.getUint32(cursor.valueAt), context.ownIpv4)) facts |= NEXT_HOP_UNUSABLE;
      }
    }
    this.blockFacts = facts;
    if (discarded) this.blockHash = hashBytes(block.view, block.at, block.length);
    return this.outcome;
  }

  /** One attribute: unknown, not for us, wrong flags, wrong value; the first that applies. */
  #judge(cursor: AttributeCursor, bytes: Uint8Array, size: number): Outcome {
    const { code, flags, startAt } = cursor;
    const spec = ATTRIBUTES[code];
    if (spec === undefined) {
      if ((flags & OPTIONAL) !== 0) return OK;
      this.#dataBytes = bytes;
      return this.#reset(fault.UNRECOGNIZED_WELL_KNOWN, startAt, size, code, fault.UNKNOWN_WELL_KNOWN);
    }
    if (spec.internalOnly && this.context.ebgp && !(code === LOCAL_PREF && this.context.ownLocalPref)) {
      return this.#note(code, DISCARD, fault.FROM_EXTERNAL, 0, startAt, size);
    }
    if (spec.twoOctetOnly && this.context.asn4) {
      return this.#note(code, DISCARD, fault.FROM_ASN4_PEER, 0, startAt, size);
    }
    if ((flags & (OPTIONAL | TRANSITIVE)) !== spec.flags) {
      return this.#note(code, spec.flagsApproach, fault.BAD_FLAGS, fault.ATTRIBUTE_FLAGS_ERROR, startAt, size);
    }
    const reason = spec.check(cursor.view, cursor.valueAt, cursor.valueLength, this.context);
    if (reason === fault.WELL_FORMED) return OK;
    const subcode = reason === fault.BAD_LENGTH ? fault.ATTRIBUTE_LENGTH_ERROR : spec.subcode;
    return this.#note(code, spec.approach, reason, subcode, startAt, size);
  }

  /** NLRI syntax, mandatory attributes, and what RFC 7606 §5.2 makes of a fault without reachable NLRI. */
  #complete(): Outcome {
    if (this.#countNlri() === RESET) return RESET;
    if (this.nlriLength !== 0 || this.reachLength !== 0) this.#checkMandatory();
    else if (this.outcome === WITHDRAW) {
      return this.#resetForWorst();
    }
    return this.outcome;
  }

  /** The attribute may have moved within the scratch since it was judged: it is looked up again, its first occurrence being the one kept. */
  #resetForWorst(): Outcome {
    const { block } = this;
    let at = this.#worstAt;
    let length = this.#worstLength;
    if (block.bytes !== this.bytes && this.#cursor.over(block.view, block.at, block.length).find(this.#worstCode)) {
      this.#dataBytes = block.bytes;
      at = this.#cursor.startAt;
      length = this.#cursor.at - at;
    }
    return this.#reset(this.#worstSubcode, at, length, this.#worstCode, fault.NO_REACHABLE_NLRI);
  }

  #checkMandatory(): void {
    const facts = this.blockFacts;
    if ((facts & HAS_ORIGIN) === 0) this.#missing(ORIGIN);
    if ((facts & HAS_AS_PATH) === 0) this.#missing(AS_PATH);
    if (this.nlriLength === 0) return;
    if ((facts & HAS_NEXT_HOP) === 0) this.#missing(NEXT_HOP);
    else if ((facts & NEXT_HOP_UNUSABLE) !== 0) {
      this.#note(NEXT_HOP, WITHDRAW, fault.BAD_NEXT_HOP, fault.INVALID_NEXT_HOP, this.attributesAt, 0);
    }
  }

  /** A malformed attribute of the same code already says it. */
  #missing(code: number): void {
    if (this.faults.has(code, WITHDRAW)) return;
    this.#note(code, WITHDRAW, fault.MISSING, fault.MISSING_WELL_KNOWN, this.attributesAt, 0);
  }

  #countNlri(): Outcome {
    const { view, context } = this;
    if (!this.classicIgnored) {
      const addPath = context.addPathIpv4Unicast;
      if (this.withdrawnLength !== 0) {
        this.withdrawnCount = countPrefixes(view, this.withdrawnAt, this.withdrawnLength, 32, addPath);
        if (this.withdrawnCount < 0) return this.#badClassicNlri(this.withdrawnAt, this.withdrawnLength);
      }
      if (this.nlriLength !== 0) {
        this.nlriCount = countPrefixes(view, this.nlriAt, this.nlriLength, 32, addPath);
        if (this.nlriCount < 0) return this.#badClassicNlri(this.nlriAt, this.nlriLength);
      }
    }
    if (this.reachLength !== 0 && !this.reachIgnored) {
      this.reachCount = countNlri(view, this.reachAt, this.reachLength, this.reachFamily, this.reachAddPath, false);
      if (this.reachCount < 0) return this.#badMpNlri(MP_REACH_NLRI, this.reachAt, this.reachLength);
    }
    if (this.unreachLength !== 0 && !this.unreachIgnored) {
      this.unreachCount = countNlri(view, this.unreachAt, this.unreachLength, this.unreachFamily, this.unreachAddPath, true);
      if (this.unreachCount < 0) return this.#badMpNlri(MP_UNREACH_NLRI, this.unreachAt, this.unreachLength);
    }
    return this.outcome;
  }

  #badClassicNlri(at: number, length: number): Outcome {
    this.withdrawnCount = 0;
    this.nlriCount = 0;
    return this.#reset(fault.INVALID_NETWORK_FIELD, at, length, 0, fault.BAD_NLRI);
  }

  #badMpNlri(code: number, at: number, length: number): Outcome {
    this.reachCount = 0;
    this.unreachCount = 0;
    return this.#reset(fault.OPTIONAL_ATTRIBUTE_ERROR, at, length, code, fault.BAD_NLRI);
  }

  /** Notes a fault short of a reset and raises the outcome to its approach; returns the approach. */
  #note(code: number, approach: Outcome, reason: number, subcode: number, at: number, length: number): Outcome {
    this.faults.add(code, approach, reason);
    if (approach === WITHDRAW && this.outcome < WITHDRAW) {
      this.#worstCode = code;
      this.#worstSubcode = subcode;
      this.#worstAt = at;
      this.#worstLength = length;
    }
    if (approach > this.outcome) this.outcome = approach;
    return approach;
  }

  /** Data of the NOTIFICATION is `length` bytes at `at`, of the message unless `#dataBytes` was set before. */
  #reset(subcode: number, at: number, length: number, code: number, reason: number): Outcome {
    this.faults.add(code, RESET, reason);
    this.outcome = RESET;
    this.code = fault.UPDATE_MESSAGE_ERROR;
    this.subcode = subcode;
    this.#dataAt = at;
    this.#dataLength = length;
    return RESET;
  }
}

const NO_BYTES = new Uint8Array(0);
const NO_VIEW = viewOf(NO_BYTES);
const NO_CONTEXT = plainContext();
