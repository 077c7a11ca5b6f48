/**
 * An UPDATE's body for filters: taken apart into sections and attributes, changed attribute by attribute, written back. What nobody
 * changed comes out as the bytes that came in, attributes this engine does not know too.
 */
import { decodeAsPath, encodeAsPath, mergeAs4Path, type PathSegment } from '../../sdk/wire/attribute/as-path.ts';
import * as code from '../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../sdk/wire/attribute/cursor.ts';
import { equalBytes, viewOf } from '../../sdk/wire/bytes.ts';
import { AS_TRANS } from '../../sdk/wire/context.ts';
import { type Family, NO_FAMILY } from '../../sdk/wire/family.ts';

/** How the body is encoded: a session's facts in its direction. */
export interface BodyFacts {
  /** AS numbers have four octets in AS_PATH and AGGREGATOR. */
  readonly asn4: boolean;
  /** Families whose NLRI carry path identifiers, `afi << 8 | safi`. */
  readonly addPath: readonly number[];
}

/** MP_REACH_NLRI or MP_UNREACH_NLRI taken apart (RFC 4760 §3, §4); views into its value. */
export interface MpSection {
  readonly family: Family;
  /** Empty in MP_UNREACH_NLRI. */
  readonly nextHop: Uint8Array;
  readonly nlri: Uint8Array;
}

interface Attribute {
  readonly code: number;
  readonly flags: number;
  readonly value: Uint8Array;
  /** Flags, code, length and value. */
  readonly wire: Uint8Array;
}

const NONE = new Uint8Array(0);

export class FilterBody {
  readonly facts: BodyFacts;
  /** IPv4 unicast, path identifiers included where the session has them. */
  withdrawn: Uint8Array;
  nlri: Uint8Array;
  readonly #attributes: Attribute[];

  private constructor(facts: BodyFacts, withdrawn: Uint8Array, attributes: Attribute[], nlri: Uint8Array) {
    this.facts = facts;
    this.withdrawn = withdrawn;
    this.#attributes = attributes;
    this.nlri = nlri;
  }

  /** `body` without the message's header; undefined when its sections or attributes do not fit. Keeps views into it. */
  static read(body: Uint8Array, facts: BodyFacts): FilterBody | undefined {
    if (body.length < 4) return undefined;
    const view = viewOf(body);
    const withdrawnEnd = 2 + view.getUint16(0);
    if (withdrawnEnd + 2 > body.length) return undefined;
    const length = view.getUint16(withdrawnEnd);
    const end = withdrawnEnd + 2 + length;
    if (end > body.length) return undefined;
    const attributes: Attribute[] = [];
    const cursor = new AttributeCursor().over(view, withdrawnEnd + 2, length);
    while (cursor.next()) {
      const { valueAt, valueLength, startAt } = cursor;
      attributes.push({
        code: cursor.code,
        flags: cursor.flags,
        value: body.subarray(valueAt, valueAt + valueLength),
        wire: body.subarray(startAt, cursor.at),
      });
    }
    if (cursor.at < cursor.end) return undefined;
    return new FilterBody(facts, body.subarray(2, withdrawnEnd), attributes, body.subarray(end));
  }

  addPath(family: Family): boolean {
    return this.facts.addPath.includes(family);
  }

  /** The value of the first attribute with this code. */
  value(attribute: number): Uint8Array | undefined {
    return this.#attributes.find((one) => one.code === attribute)?.value;
  }

  /** Puts a value; `flags` count for an attribute that was not there, else the Partial bit of old stays. The same value changes nothing. */
  set(attribute: number, flags: number, value: Uint8Array): void {
    const at = this.#attributes.findIndex((one) => one.code === attribute);
    const before = this.#attributes[at];
    if (before?.value.length === value.length && equalBytes(before.value, 0, value, 0, value.length)) return;
    const made = attributeOf(attribute, flags | ((before?.flags ?? 0) & code.PARTIAL), value);
    if (before !== undefined) this.#attributes[at] = made;
    else {
      // Ascending, as senders should write them; an MP attribute may stand in front of all.
      const next = this.#attributes.findIndex((one) => one.code > attribute && !isMp(one.code));
      this.#attributes.splice(next < 0 ? this.#attributes.length : next, 0, made);
    }
  }

  remove(attribute: number): void {
    for (let i = this.#attributes.length - 1; i >= 0; i--)
      if (this.#attributes[i]!.code === attribute) this.#attributes.splice(i, 1);
  }

  /** What is announced is gone: so are the attributes, but for withdrawals of other families. */
  removeAllButUnreach(): void {
    const unreach = this.#attributes.filter((one) => one.code === code.MP_UNREACH_NLRI);
    this.#attributes.splice(0, this.#attributes.length, ...unreach);
  }

  get reach(): MpSection | undefined {
    const value = this.value(code.MP_REACH_NLRI);
    if (value === undefined || value.length < 5 || value.length < 5 + value[3]!) return undefined;
    const after = 4 + value[3]!;
    return { family: familyAt(value), nextHop: value.subarray(4, after), nlri: value.subarray(after + 1) };
  }

  get unreach(): MpSection | undefined {
    const value = this.value(code.MP_UNREACH_NLRI);
    if (value === undefined || value.length < 3) return undefined;
    return { family: familyAt(value), nextHop: NONE, nlri: value.subarray(3) };
  }

  /** Puts the next hop of MP_REACH_NLRI, where there is one: `bytes` of any length the family allows. */
  setReachNextHop(bytes: Uint8Array): void {
    const value = this.value(code.MP_REACH_NLRI);
    if (value === undefined || this.reach === undefined) return;
    const rest = value.subarray(4 + value[3]!);
    const changed = new Uint8Array(4 + bytes.length + rest.length);
    changed.set(value.subarray(0, 3));
    changed[3] = bytes.length;
    changed.set(bytes, 4);
    changed.set(rest, 4 + bytes.length);
    this.set(code.MP_REACH_NLRI, code.OPTIONAL, changed);
  }

  /** The whole path, completed from AS4_PATH in a session of two octets (RFC 6793 §4.2.3); undefined without a readable one. */
  get path(): readonly PathSegment[] | undefined {
    const value = this.value(code.AS_PATH);
    if (value === undefined) return undefined;
    const width = this.facts.asn4 ? 4 : 2;
    const path = decodeAsPath(viewOf(value), 0, value.length, width);
    const as4 = this.facts.asn4 ? undefined : this.value(code.AS4_PATH);
    if (path === undefined || as4 === undefined) return path;
    const tail = decodeAsPath(viewOf(as4), 0, as4.length, 4);
    return tail === undefined ? path : mergeAs4Path(path, tail);
  }

  /** In a session of two octets AS4_PATH follows where a number does not fit, without confederation segments (RFC 6793 §4.2.2). */
  setPath(path: readonly PathSegment[]): void {
    const { asn4 } = this.facts;
    this.set(code.AS_PATH, code.TRANSITIVE, encodeAsPath(path, asn4 ? 4 : 2));
    if (asn4) return;
    const real = path.filter(({ type }) => type === 'sequence' || type === 'set');
    if (real.some(({ asns }) => asns.some((asn) => asn > 0xffff))) {
      this.set(code.AS4_PATH, code.OPTIONAL | code.TRANSITIVE, encodeAsPath(real, 4));
    } else this.remove(code.AS4_PATH);
  }

  /** AS number and router id, the former from AS4_AGGREGATOR where two octets could not hold it. */
  get aggregator(): { readonly asn: number; readonly address: Uint8Array } | undefined {
    const value = this.value(code.AGGREGATOR);
    if (value === undefined) return undefined;
    const view = viewOf(value);
    if (this.facts.asn4) return value.length === 8 ? { asn: view.getUint32(0), address: value.subarray(4) } : undefined;
    if (value.length !== 6) return undefined;
    const wide = this.value(code.AS4_AGGREGATOR);
    if (view.getUint16(0) === AS_TRANS && wide?.length === 8) {
      return { asn: viewOf(wide).getUint32(0), address: wide.subarray(4) };
    }
    return { asn: view.getUint16(0), address: value.subarray(2) };
  }

  /** `wide`: four octets of AS number and the router id. */
  setAggregator(wide: Uint8Array): void {
    const flags = code.OPTIONAL | code.TRANSITIVE;
    if (this.facts.asn4) {
      this.set(code.AGGREGATOR, flags, wide);
      return;
    }
    const asn = viewOf(wide).getUint32(0);
    const narrow = new Uint8Array(6);
    viewOf(narrow).setUint16(0, asn > 0xffff ? AS_TRANS : asn);
    narrow.set(wide.subarray(4), 2);
    this.set(code.AGGREGATOR, flags, narrow);
    if (asn > 0xffff) this.set(code.AS4_AGGREGATOR, flags, wide);
    else this.remove(code.AS4_AGGREGATOR);
  }

  /** Nothing is announced and nothing withdrawn. */
  get isEmpty(): boolean {
    const { reach, unreach } = this;
    return this.nlri.length + this.withdrawn.length + (reach?.nlri.length ?? 0) + (unreach?.nlri.length ?? 0) === 0;
  }

  /** RFC 4724 §2: no attribute but an empty MP_UNREACH_NLRI, if any. */
  get isEndOfRib(): boolean {
    const [first, ...others] = this.#attributes;
    return this.isEmpty && others.length === 0 && (first === undefined || first.code === code.MP_UNREACH_NLRI);
  }

  /** Octets of all attributes. */
  get attributesLength(): number {
    return this.#attributes.reduce((sum, { wire }) => sum + wire.length, 0);
  }

  /** The body anew, or undefined when its attributes or withdrawals pass 65535 octets. */
  bytes(): Uint8Array | undefined {
    const size = this.attributesLength;
    if (size > 0xffff || this.withdrawn.length > 0xffff) return undefined;
    const out = new Uint8Array(4 + this.withdrawn.length + size + this.nlri.length);
    const view = viewOf(out);
    view.setUint16(0, this.withdrawn.length);
    out.set(this.withdrawn, 2);
    let at = 2 + this.withdrawn.length;
    view.setUint16(at, size);
    at += 2;
    for (const { wire } of this.#attributes) {
      out.set(wire, at);
      at += wire.length;
    }
    out.set(this.nlri, at);
    return out;
  }
}

function isMp(attribute: number): boolean {
  return attribute === code.MP_REACH_NLRI || attribute === code.MP_UNREACH_NLRI;
}

function familyAt(value: Uint8Array): Family {
  const family = (value[0]! << 16) | (value[1]! << 8) | value[2]!;
  return family === 0 ? NO_FAMILY : family;
}

function attributeOf(attribute: number, flags: number, value: Uint8Array): Attribute {
  const long = value.length > 255;
  const head = long ? 4 : 3;
  const bits = (flags & ~code.EXTENDED_LENGTH) | (long ? code.EXTENDED_LENGTH : 0);
  const wire = new Uint8Array(head + value.length);
  wire[0] = bits;
  wire[1] = attribute;
  if (long) wire[2] = value.length >>> 8;
  wire[head - 1] = value.length & 0xff;
  wire.set(value, head);
  return { code: attribute, flags: bits, value: wire.subarray(head), wire };
}
