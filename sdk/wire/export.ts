// The egress rewrite: one attribute block in, the block that one class of destinations gets out. Run once per block and class, never per
// route; no allocation. MP_REACH_NLRI and MP_UNREACH_NLRI are the writer's.
import {
  AGGREGATOR,
  AIGP,
  AS4_AGGREGATOR,
  AS4_PATH,
  AS_PATH,
  AS_SEQUENCE,
  ATOMIC_AGGREGATE,
  CLUSTER_LIST,
  COMMUNITIES,
  EXTENDED_COMMUNITIES,
  EXTENDED_LENGTH,
  IPV6_EXTENDED_COMMUNITIES,
  LARGE_COMMUNITIES,
  LOCAL_PREF,
  MP_REACH_NLRI,
  MP_UNREACH_NLRI,
  MULTI_EXIT_DISC,
  NEXT_HOP,
  ONLY_TO_CUSTOMER,
  OPTIONAL,
  ORIGIN,
  ORIGINATOR_ID,
  PARTIAL,
  TRANSITIVE,
} from './attribute/code.ts';
import { AttributeCursor } from './attribute/cursor.ts';
import { PathScratch, pathLength } from './attribute/path-scratch.ts';
import { ATTRIBUTES } from './attribute/table.ts';
import { copyBytes } from './bytes.ts';
import { AS_TRANS } from './context.ts';
import { writeU32 } from './nlri/prefix.ts';
import { rewriteStraight } from './straight.ts';

/** The attribute as it came. */
export const KEEP = -1;
/** The attribute is left out. */
export const STRIP = -2;
/** For LOCAL_PREF: as it came, DEFAULT_LOCAL_PREF when it did not come. */
export const KEEP_OR_DEFAULT = -3;
/** LOCAL_PREF towards an internal peer that would otherwise get none (RFC 4271 §5.1.5). */
export const DEFAULT_LOCAL_PREF = 100;

/** What one class of destinations gets. Addresses and identifiers are u32. Make one with `exportRule`. */
export interface ExportRule {
  /** AS numbers of the block are four octets wide; else AS4_PATH and AS4_AGGREGATOR are merged in (RFC 6793 §4.2.3). */
  readonly sourceAsn4: boolean;
  /** The destination reads four octets; else AS_TRANS, AS4_PATH and AS4_AGGREGATOR are written (RFC 6793 §4.2.2). */
  readonly asn4: boolean;
  readonly ebgp: boolean;
  /** Put in front of AS_PATH, leftmost first; at most 255. */
  readonly prepend: readonly number[];
  /** This AS in the path becomes `replaceBy` (as-override); 0 for none. */
  readonly replaceAs: number;
  readonly replaceBy: number;
  /** KEEP, STRIP (the next hop travels in MP_REACH_NLRI), or the address. */
  readonly nextHop: number;
  /** KEEP, STRIP, or the value. */
  readonly med: number;
  /** KEEP, KEEP_OR_DEFAULT, STRIP, or the value. */
  readonly localPref: number;
  /** ORIGINATOR_ID and CLUSTER_LIST go out at all. */
  readonly reflection: boolean;
  /** Reflected routes: ORIGINATOR_ID when missing, and CLUSTER_LIST's new front (RFC 4456 §8); 0 for not reflected. */
  readonly originatorId: number;
  readonly clusterId: number;
  readonly standardCommunities: boolean;
  /** Both extended kinds; towards external peers non-transitive ones stay behind (RFC 4360 §6). */
  readonly extendedCommunities: boolean;
  readonly largeCommunities: boolean;
  /** ONLY_TO_CUSTOMER added when missing (RFC 9234 §5); 0 for none. */
  readonly otc: number;
}

/**
 * The rule for a destination with everything else at its default: external destinations lose MED, LOCAL_PREF, ORIGINATOR_ID and
 * CLUSTER_LIST; internal ones keep them and get a LOCAL_PREF when there is none.
 */
export function exportRule(ebgp: boolean, more: Partial<ExportRule> = {}): ExportRule {
  return {
    sourceAsn4: true,
    asn4: true,
    ebgp,
    prepend: [],
    replaceAs: 0,
    replaceBy: 0,
    nextHop: KEEP,
    med: ebgp ? STRIP : KEEP,
    localPref: ebgp ? STRIP : KEEP_OR_DEFAULT,
    reflection: !ebgp,
    originatorId: 0,
    clusterId: 0,
    standardCommunities: true,
    extendedCommunities: true,
    largeCommunities: true,
    otc: 0,
    ...more,
  };
}

/** Codes below this are looked up; the others are passed on in their order. */
const KNOWN = 19;

/** Made once per thread of work and reused; it holds the scratch. */
export class AttributeRewriter {
  readonly #cursor: AttributeCursor;
  /** By code: where the value is, -1 when absent; its length; its flags. */
  readonly #valueAt: Int32Array;
  readonly #valueLength: Int32Array;
  readonly #flags: Uint8Array;
  #path: PathScratch | undefined;
  #bytes: Uint8Array;
  #view: DataView;
  #rule: ExportRule;
  #out: Uint8Array;
  #at: number;
  #limit: number;
  #full: boolean;

  constructor() {
    this.#cursor = new AttributeCursor();
    this.#valueAt = new Int32Array(KNOWN);
    this.#valueLength = new Int32Array(KNOWN);
    this.#flags = new Uint8Array(KNOWN);
    this.#path = undefined;
    this.#bytes = NO_BYTES;
    this.#view = NO_VIEW;
    this.#rule = NO_RULE;
    this.#out = NO_BYTES;
    this.#at = 0;
    this.#limit = 0;
    this.#full = false;
  }

  /**
   * Rewrites the block of `length` bytes at `at` (validated, see `UpdateView.block`) into `out` from `outAt`, ascending by code. Returns
   * the bytes written, or -1 when they do not fit before `limit`; then `out` holds a part. A first occurrence wins.
   */
  rewrite(
    bytes: Uint8Array,
    view: DataView,
    at: number,
    length: number,
    rule: ExportRule,
    out: Uint8Array,
    outAt: number,
    limit: number = out.length,
  ): number {
    const straight = rewriteStraight(bytes, view, at, length, rule, out, outAt, limit);
    if (straight >= 0) return straight;
    this.#bytes = bytes;
    this.#view = view;
    this.#rule = rule;
    this.#out = out;
    this.#at = outAt;
    this.#limit = limit;
    this.#full = false;
    this.#find(at, length);
    this.#copy(ORIGIN);
    if (rule.sourceAsn4 && rule.asn4 && rule.replaceAs === 0) this.#prependPath();
    else this.#rebuildPath();
    this.#number(NEXT_HOP, TRANSITIVE, rule.nextHop);
    this.#number(MULTI_EXIT_DISC, OPTIONAL, rule.med);
    this.#number(LOCAL_PREF, TRANSITIVE, rule.localPref);
    this.#copy(ATOMIC_AGGREGATE);
    this.#aggregator();
    if (rule.standardCommunities) this.#copy(COMMUNITIES);
    if (rule.reflection) this.#reflection();
    if (rule.extendedCommunities) this.#extendedCommunities();
    if (!rule.asn4) this.#as4();
    this.#others(at, length);
    return this.#end(outAt);
  }

  #end(outAt: number): number {
    return this.#full ? -1 : this.#at - outAt;
  }

  #find(at: number, length: number): void {
    const cursor = this.#cursor.over(this.#view, at, length);
    this.#valueAt.fill(-1);
    while (cursor.next()) {
      const code = cursor.code;
      if (code >= KNOWN || this.#valueAt[code]! >= 0) continue;
      // An aggregator of the wrong length would have been discarded on the way in; where it was not, it goes no further.
      if (code === AGGREGATOR && cursor.valueLength !== (this.#rule.sourceAsn4 ? 8 : 6)) continue;
      if (code === AS4_AGGREGATOR && cursor.valueLength !== 8) continue;
      this.#valueAt[code] = cursor.valueAt;
      this.#valueLength[code] = cursor.valueLength;
      this.#flags[code] = cursor.flags;
    }
  }

  /** Writes flags, code and length when all of the attribute fits; false, and nothing, when not. */
  #head(flags: number, code: number, length: number): boolean {
    const head = length > 255 ? 4 : 3;
    if (this.#full || length > 0xffff || this.#at + head + length > this.#limit) {
      this.#full = true;
      return false;
    }
    const out = this.#out;
    let at = this.#at;
    out[at++] = head === 4 ? flags | EXTENDED_LENGTH : flags;
    out[at++] = code;
    if (head === 4) out[at++] = length >>> 8;
    out[at++] = length & 0xff;
    this.#at = at;
    return true;
  }

  #put(valueAt: number, length: number): void {
    copyBytes(this.#bytes, valueAt, length, this.#out, this.#at);
    this.#at += length;
  }

  #copy(code: number): void {
    const valueAt = this.#valueAt[code]!;
    if (valueAt < 0) return;
    const length = this.#valueLength[code]!;
    if (this.#head(this.#flags[code]! & FLAGS, code, length)) this.#put(valueAt, length);
  }

  /** A four-octet attribute: kept, left out, or set. */
  #number(code: number, flags: number, wanted: number): void {
    if (wanted === STRIP) return;
    if (wanted < 0 && this.#valueAt[code]! >= 0) {
      this.#copy(code);
      return;
    }
    if (wanted === KEEP) return;
    if (this.#head(flags, code, 4)) this.#at = writeU32(this.#out, this.#at, wanted < 0 ? DEFAULT_LOCAL_PREF : wanted);
  }

  /** Four octets on both sides: the path's bytes stay, a segment is extended or put in front (RFC 4271 §5.1.2). */
  #prependPath(): void {
    const { prepend } = this.#rule;
    const valueAt = this.#valueAt[AS_PATH]!;
    const length = valueAt < 0 ? 0 : this.#valueLength[AS_PATH]!;
    const added = prepend.length;
    if (added === 0) {
      if (this.#head(TRANSITIVE, AS_PATH, length)) this.#put(valueAt, length);
      return;
    }
    const count = length >= 2 && this.#view.getUint8(valueAt) === AS_SEQUENCE ? this.#view.getUint8(valueAt + 1) : 256;
    const extend = count + added <= 255;
    if (!this.#head(TRANSITIVE, AS_PATH, length + 4 * added + (extend ? 0 : 2))) return;
    this.#out[this.#at++] = AS_SEQUENCE;
    this.#out[this.#at++] = extend ? count + added : added;
    for (let i = 0; i < added; i++) this.#at = writeU32(this.#out, this.#at, prepend[i]!);
    if (extend) this.#put(valueAt + 2, length - 2);
    else this.#put(valueAt, length);
  }

  /** The widths differ, or an AS is replaced: the path is taken apart and written anew. */
  #rebuildPath(): void {
    const rule = this.#rule;
    const path = (this.#path ??= new PathScratch());
    const width = rule.sourceAsn4 ? 4 : 2;
    const valueAt = this.#valueAt[AS_PATH]!;
    const length = valueAt < 0 ? 0 : this.#valueLength[AS_PATH]!;
    path.clear();
    path.prepend(rule.prepend);
    const as4At = rule.sourceAsn4 || this.#aggregatorOverrules() ? -1 : this.#valueAt[AS4_PATH]!;
    let leading = Number.MAX_SAFE_INTEGER;
    if (as4At >= 0) {
      leading = pathLength(this.#view, valueAt, length, 2) - pathLength(this.#view, as4At, this.#valueLength[AS4_PATH]!, 4);
    }
    if (as4At >= 0 && leading >= 0) {
      path.load(this.#view, valueAt, length, width, leading, true);
      path.load(this.#view, as4At, this.#valueLength[AS4_PATH]!, 4, Number.MAX_SAFE_INTEGER, false);
    } else {
      path.load(this.#view, valueAt, length, width, Number.MAX_SAFE_INTEGER, true);
    }
    if (rule.replaceAs !== 0) path.replace(rule.prepend.length, rule.replaceAs, rule.replaceBy);
    const outWidth = rule.asn4 ? 4 : 2;
    if (this.#head(TRANSITIVE, AS_PATH, path.size(outWidth, true))) {
      this.#at = path.write(this.#out, this.#at, outWidth, true);
    }
  }

  /** An AGGREGATOR with an AS of its own makes both AS4 attributes void (RFC 6793 §4.2.3). */
  #aggregatorOverrules(): boolean {
    const at = this.#valueAt[AGGREGATOR]!;
    return at >= 0 && this.#valueAt[AS4_AGGREGATOR]! >= 0 && this.#view.getUint16(at) !== AS_TRANS;
  }

  /** Where the aggregator's four-octet form is to be found: AS4_AGGREGATOR's value, AGGREGATOR's value, or -1. */
  #aggregatorAs(): number {
    const at = this.#valueAt[AGGREGATOR]!;
    if (this.#rule.sourceAsn4) return this.#view.getUint32(at);
    const short = this.#view.getUint16(at);
    const as4At = this.#valueAt[AS4_AGGREGATOR]!;
    return as4At >= 0 && short === AS_TRANS ? this.#view.getUint32(as4At) : short;
  }

  #aggregator(): void {
    const rule = this.#rule;
    const at = this.#valueAt[AGGREGATOR]!;
    const length = this.#valueLength[AGGREGATOR]!;
    if (at < 0) return;
    const asn = this.#aggregatorAs();
    const as4At = this.#valueAt[AS4_AGGREGATOR]!;
    const merged = !rule.sourceAsn4 && as4At >= 0 && this.#view.getUint16(at) === AS_TRANS;
    const address = merged ? as4At + 4 : at + length - 4;
    if (!this.#head(this.#flags[AGGREGATOR]! & FLAGS, AGGREGATOR, rule.asn4 ? 8 : 6)) return;
    if (rule.asn4) this.#at = writeU32(this.#out, this.#at, asn);
    else {
      const short = asn > 0xffff ? AS_TRANS : asn;
      this.#out[this.#at++] = short >>> 8;
      this.#out[this.#at++] = short & 0xff;
    }
    this.#put(address, 4);
  }

  /** AS4_PATH and AS4_AGGREGATOR for a two-octet destination, only when an AS number needs them (RFC 6793 §4.2.2). */
  #as4(): void {
    const path = this.#path;
    if (path?.needsFour() === true) {
      const size = path.size(4, false);
      if (size > 0 && this.#head(OPTIONAL | TRANSITIVE, AS4_PATH, size)) {
        this.#at = path.write(this.#out, this.#at, 4, false);
      }
    }
    const at = this.#valueAt[AGGREGATOR]!;
    if (at < 0) return;
    const asn = this.#aggregatorAs();
    if (asn <= 0xffff || !this.#head(OPTIONAL | TRANSITIVE, AS4_AGGREGATOR, 8)) return;
    this.#at = writeU32(this.#out, this.#at, asn);
    this.#put(this.#rule.sourceAsn4 ? at + 4 : this.#valueAt[AS4_AGGREGATOR]! + 4, 4);
  }

  /** ORIGINATOR_ID when missing, CLUSTER_LIST with ours in front (RFC 4456 §8). */
  #reflection(): void {
    const { originatorId, clusterId } = this.#rule;
    if (this.#valueAt[ORIGINATOR_ID]! >= 0) this.#copy(ORIGINATOR_ID);
    else if (originatorId !== 0) this.#number(ORIGINATOR_ID, OPTIONAL, originatorId);
    if (clusterId === 0) {
      this.#copy(CLUSTER_LIST);
      return;
    }
    const at = this.#valueAt[CLUSTER_LIST]!;
    const length = at < 0 ? 0 : this.#valueLength[CLUSTER_LIST]!;
    if (!this.#head(OPTIONAL, CLUSTER_LIST, length + 4)) return;
    this.#at = writeU32(this.#out, this.#at, clusterId);
    this.#put(at, length);
  }

  /** Towards external peers, communities whose type says non-transitive (bit 0x40) stay behind. */
  #extendedCommunities(): void {
    const at = this.#valueAt[EXTENDED_COMMUNITIES]!;
    if (at < 0) return;
    const end = at + this.#valueLength[EXTENDED_COMMUNITIES]!;
    let dropped = 0;
    if (this.#rule.ebgp) {
      for (let i = at; i + 8 <= end; i += 8) if ((this.#view.getUint8(i) & 0x40) !== 0) dropped += 8;
    }
    if (dropped === 0) {
      this.#copy(EXTENDED_COMMUNITIES);
      return;
    }
    const left = end - at - dropped;
    if (left <= 0 || !this.#head(this.#flags[EXTENDED_COMMUNITIES]! & FLAGS, EXTENDED_COMMUNITIES, left)) return;
    for (let i = at; i + 8 <= end; i += 8) if ((this.#view.getUint8(i) & 0x40) === 0) this.#put(i, 8);
  }

  /** Everything above the known codes in its order, and the few unknown ones below; Partial on what we do not know (RFC 4271 §9). */
  #others(at: number, length: number): void {
    const rule = this.#rule;
    const cursor = this.#cursor.over(this.#view, at, length);
    let otc = rule.otc;
    while (cursor.next()) {
      const { code } = cursor;
      if (code === ONLY_TO_CUSTOMER) otc = 0;
      else if (code > ONLY_TO_CUSTOMER && otc !== 0) {
        this.#number(ONLY_TO_CUSTOMER, OPTIONAL | TRANSITIVE, otc);
        otc = 0;
      }
      const flags = this.#outwardFlags(code, cursor.flags);
      if (flags !== 0 && this.#head(flags, code, cursor.valueLength)) this.#put(cursor.valueAt, cursor.valueLength);
    }
    if (otc !== 0) this.#number(ONLY_TO_CUSTOMER, OPTIONAL | TRANSITIVE, otc);
  }

  /** Flags an attribute of the rest goes out with, 0 when it stays behind. */
  #outwardFlags(code: number, flags: number): number {
    if (code === MP_REACH_NLRI || code === MP_UNREACH_NLRI) return 0;
    const spec = ATTRIBUTES[code];
    if (spec === undefined) return (flags & TRANSITIVE) === 0 ? 0 : OPTIONAL | TRANSITIVE | PARTIAL;
    if (code < KNOWN) return 0;
    if (code === LARGE_COMMUNITIES && !this.#rule.largeCommunities) return 0;
    if (code === IPV6_EXTENDED_COMMUNITIES && !this.#rule.extendedCommunities) return 0;
    if (code === AIGP && this.#rule.ebgp) return 0;
    return flags & FLAGS;
  }
}

const FLAGS = OPTIONAL | TRANSITIVE | PARTIAL;
const NO_BYTES = new Uint8Array(0);
const NO_VIEW = new DataView(NO_BYTES.buffer);
const NO_RULE = exportRule(false);
