/**
 * An UPDATE on its way through filters of the reactor's thread: its attributes and announced routes, changed in scratch memory, and a new
 * message only when something was changed. One per thread; every byte range is valid until the next `begin`.
 */
import { EXTENDED_LENGTH, MP_REACH_NLRI, MP_UNREACH_NLRI, OPTIONAL } from '../wire/attribute/code.ts';
import { AttributeCursor } from '../wire/attribute/cursor.ts';
import { copyBytes, equalBytes, viewOf } from '../wire/bytes.ts';
import type { WireContext } from '../wire/context.ts';
import { AttributeRewriter, type ExportRule } from '../wire/export.ts';
import {
  type Family,
  IPV4_UNICAST,
  maxPrefixBits,
  NO_FAMILY,
  SAFI_MPLS_LABEL,
  SAFI_MPLS_VPN,
  SAFI_MULTICAST,
  SAFI_UNICAST,
} from '../wire/family.ts';
import { RESET } from '../wire/fault.ts';
import { HEADER_LENGTH, UPDATE, writeHeader } from '../wire/message.ts';
import { entryLength } from '../wire/nlri/syntax.ts';
import { UpdateView } from '../wire/update.ts';
import { UpdateWriter } from '../wire/writer.ts';

const ROOM = 65_536;
const NONE = new Uint8Array(0);
const NONE_VIEW = viewOf(NONE);

/** Judges one prefix: `lengthBits` at `at`, of at most `maxBits` (32 or 128). */
export interface PrefixTest {
  accepts(view: DataView, at: number, lengthBits: number, maxBits: number): boolean;
}

/** Routes announced in one field of the message. */
class Section {
  family: Family = NO_FAMILY;
  addPath = false;
  bytes: Uint8Array = NONE;
  view: DataView = NONE_VIEW;
  at = 0;
  length = 0;
  removedLength = 0;
  readonly kept = new Uint8Array(ROOM);
  readonly keptView: DataView = viewOf(this.kept);
  readonly removed = new Uint8Array(ROOM);

  begin(bytes: Uint8Array, view: DataView, at: number, length: number, family: Family, addPath: boolean): void {
    this.bytes = bytes;
    this.view = view;
    this.at = at;
    this.length = length;
    this.family = family;
    this.addPath = addPath;
    this.removedLength = 0;
  }

  /** Keeps what the test accepts; true when something went. Entries that are no prefixes go. */
  trim(test: PrefixTest): boolean {
    const { view, bytes, family, addPath } = this;
    const end = this.at + this.length;
    const maxBits = maxPrefixBits(family >>> 8);
    const head = addPath ? 4 : 0;
    let used = -1;
    for (let at = this.at; at < end; ) {
      const size = Math.min(end - at, head + Math.max(1, entryLength(view, at + head, end - at - head, family, false)));
      const prefixAt = prefixOf(view, at + head, family);
      const bits = prefixAt < 0 ? -1 : view.getUint8(at + head) - 8 * (prefixAt - at - head - 1);
      if (bits < 0 || !test.accepts(view, prefixAt, bits, maxBits)) {
        if (used < 0) {
          // The first that goes: what stood before it is copied now.
          used = at - this.at;
          copyBytes(bytes, this.at, used, this.kept, 0);
        }
        copyBytes(bytes, at, size, this.removed, this.removedLength);
        this.removedLength += size;
      } else if (used >= 0) {
        copyBytes(bytes, at, size, this.kept, used);
        used += size;
      }
      at += size;
    }
    if (used < 0) return false;
    this.bytes = this.kept;
    this.view = this.keptView;
    this.at = 0;
    this.length = used;
    return true;
  }
}

/** Where the address of the entry at `at` begins, behind labels and distinguisher; -1: the family's entries are no prefixes. */
function prefixOf(view: DataView, at: number, family: Family): number {
  switch (family & 0xff) {
    case SAFI_UNICAST:
    case SAFI_MULTICAST:
      return at + 1;
    case SAFI_MPLS_LABEL:
    case SAFI_MPLS_VPN: {
      let i = at + 1;
      while ((view.getUint8(i + 2) & 1) === 0) i += 3;
      return i + 3 + ((family & 0xff) === SAFI_MPLS_VPN ? 8 : 0);
    }
    default:
      return -1;
  }
}

export class Draft {
  /** On its way in, else on its way out. */
  importing = false;
  context: WireContext;
  /** The attributes without MP_REACH_NLRI and MP_UNREACH_NLRI. */
  bytes: Uint8Array = NONE;
  view: DataView = NONE_VIEW;
  at = 0;
  length = 0;
  /** For values on their way into `put`. */
  readonly scratch = new Uint8Array(ROOM);
  /** Stands on the attribute that `find` found. */
  readonly cursor = new AttributeCursor();
  /** Routes in the classic field, and in MP_REACH_NLRI. */
  readonly classic = new Section();
  readonly reach = new Section();
  /** That of MP_REACH_NLRI: 0 bytes without the attribute. */
  nextHop: Uint8Array = NONE;
  nextHopAt = 0;
  nextHopLength = 0;
  changed = false;
  /** The changes do not fit into a message. */
  overflowed = false;
  readonly #message = new UpdateView();
  readonly #scan = new AttributeCursor();
  readonly #rewriter = new AttributeRewriter();
  readonly #blocks = [new Uint8Array(ROOM), new Uint8Array(ROOM)] as const;
  readonly #views = [viewOf(this.#blocks[0]), viewOf(this.#blocks[1])] as const;

  constructor() {
    this.context = this.#message.context;
  }

  /** Takes a well-formed UPDATE of `length` bytes at `at`; false when it announces nothing that anybody looks at. */
  begin(bytes: Uint8Array, view: DataView, at: number, length: number, context: WireContext, importing: boolean): boolean {
    const message = this.#message;
    if (message.locate(bytes, view, at, length, context) === RESET) return false;
    this.classic.begin(
      bytes,
      view,
      message.nlriAt,
      message.classicIgnored ? 0 : message.nlriLength,
      IPV4_UNICAST,
      context.addPathIpv4Unicast,
    );
    const reachLength = message.reachIgnored ? 0 : message.reachLength;
    this.reach.begin(bytes, view, message.reachAt, reachLength, message.reachFamily, message.reachAddPath);
    if (this.isEmpty) return false;
    this.context = context;
    this.importing = importing;
    this.nextHop = bytes;
    this.nextHopAt = message.reachNextHopAt;
    this.nextHopLength = message.reachNextHopLength;
    this.bytes = message.block.bytes;
    this.view = message.block.view;
    this.at = message.block.at;
    this.length = message.block.length;
    this.changed = false;
    this.overflowed = false;
    return true;
  }

  /** Nothing that it announces is left. */
  get isEmpty(): boolean {
    return this.classic.length === 0 && this.reach.length === 0;
  }

  /** Some of its routes are of this family. */
  announces(family: Family): boolean {
    return (this.classic.length > 0 && family === IPV4_UNICAST) || (this.reach.length > 0 && this.reach.family === family);
  }

  /** Puts `cursor` on the first attribute with this code. */
  find(code: number): boolean {
    return this.cursor.over(this.view, this.at, this.length).find(code);
  }

  /** Takes out the routes whose prefix the test refuses, and those that are no prefixes. */
  trim(test: PrefixTest): void {
    if (this.classic.length > 0 && this.classic.trim(test)) this.changed = true;
    if (this.reach.length > 0 && this.reach.trim(test)) this.changed = true;
  }

  /** Gives an attribute this value (`length` bytes at `from`), in the order of codes. What was there of it goes; length 0: nothing comes. */
  put(code: number, flags: number, value: Uint8Array, from: number, length: number): void {
    const out = this.#other();
    if (this.length + length + 4 > ROOM) {
      this.overflowed = true;
      return;
    }
    const cursor = this.#scan.over(this.view, this.at, this.length);
    let used = 0;
    let due = length > 0;
    while (cursor.next()) {
      if (due && cursor.code > code) {
        used = writeAttribute(out, used, code, flags, value, from, length);
        due = false;
      }
      if (cursor.code === code) continue;
      const size = cursor.at - cursor.startAt;
      copyBytes(this.bytes, cursor.startAt, size, out, used);
      used += size;
    }
    if (due) used = writeAttribute(out, used, code, flags, value, from, length);
    this.#took(out, used);
  }

  /** Rewrites the attributes by a rule of the egress (`sourceAsn4` and `asn4` must be those of `context`). */
  rewrite(rule: ExportRule): void {
    const out = this.#other();
    const used = this.#rewriter.rewrite(this.bytes, this.view, this.at, this.length, rule, out, 0, ROOM - HEADER_LENGTH);
    if (used < 0) this.overflowed = true;
    else this.#took(out, used);
  }

  /** Another next hop in MP_REACH_NLRI, of the same length. Kept by reference until the message is made. */
  setReachNextHop(address: Uint8Array): void {
    this.nextHop = address;
    this.nextHopAt = 0;
    this.nextHopLength = address.length;
    this.changed = true;
  }

  /** The message with the changes, in memory of its own; at most 65,535 bytes, whatever the session allows; undefined: it does not fit. */
  message(): Uint8Array | undefined {
    const { withdrawnLength, withdrawnAt, bytes } = this.#message;
    const unreach = this.#unreachLength();
    const reachValue = this.reach.length === 0 ? 0 : 5 + this.nextHopLength + this.reach.length;
    const attributes = unreach + (this.isEmpty ? 0 : this.length) + (reachValue === 0 ? 0 : 4 + reachValue);
    const total = HEADER_LENGTH + 4 + withdrawnLength + attributes + this.classic.length;
    if (this.overflowed || total >= ROOM) return undefined;
    const out = new Uint8Array(total);
    let at = writeHeader(out, 0, total, UPDATE);
    at = u16(out, at, withdrawnLength);
    copyBytes(bytes, withdrawnAt, withdrawnLength, out, at);
    at = u16(out, at + withdrawnLength, attributes);
    if (unreach > 0) {
      copyBytes(bytes, this.#scan.startAt, unreach, out, at);
      at += unreach;
    }
    if (!this.isEmpty) {
      copyBytes(this.bytes, this.at, this.length, out, at);
      at += this.length;
    }
    if (reachValue > 0) at = this.#writeReach(out, at, reachValue);
    copyBytes(this.classic.bytes, this.classic.at, this.classic.length, out, at);
    return out;
  }

  /** What was taken out, as UPDATEs that withdraw it; none when nothing was. */
  removed(): readonly Uint8Array[] {
    const { classic, reach } = this;
    if (classic.removedLength + reach.removedLength === 0) return [];
    const writer = new UpdateWriter().over(new Uint8Array(2 * ROOM));
    for (const section of [classic, reach]) {
      if (section.removedLength === 0) continue;
      writer.beginWithdraw(section.family, false, ROOM - 1);
      writer.addNlri(section.removed, 0, section.removedLength);
    }
    writer.close();
    const messages: Uint8Array[] = [];
    for (let at = 0; at < writer.used; at += messages.at(-1)!.length) {
      messages.push(writer.bytes.slice(at, at + ((writer.bytes[at + 16]! << 8) | writer.bytes[at + 17]!)));
    }
    return messages;
  }

  #writeReach(out: Uint8Array, from: number, length: number): number {
    const { reach } = this;
    let at = from;
    out[at++] = OPTIONAL | EXTENDED_LENGTH;
    out[at++] = MP_REACH_NLRI;
    at = u16(out, at, length);
    at = u16(out, at, reach.family >>> 8);
    out[at++] = reach.family & 0xff;
    out[at++] = this.nextHopLength;
    copyBytes(this.nextHop, this.nextHopAt, this.nextHopLength, out, at);
    at += this.nextHopLength + 1;
    copyBytes(reach.bytes, reach.at, reach.length, out, at);
    return at + reach.length;
  }

  /** Bytes of MP_UNREACH_NLRI, on which the scan then stands; one that nobody looks at is left out. */
  #unreachLength(): number {
    const { view, attributesAt, attributesLength, unreachFamily, unreachIgnored } = this.#message;
    if (unreachFamily === NO_FAMILY || unreachIgnored) return 0;
    this.#scan.over(view, attributesAt, attributesLength).find(MP_UNREACH_NLRI);
    return this.#scan.at - this.#scan.startAt;
  }

  /** The block that is not in use. */
  #other(): Uint8Array {
    return this.bytes === this.#blocks[0] ? this.#blocks[1] : this.#blocks[0];
  }

  #took(out: Uint8Array, used: number): void {
    if (used === this.length && equalBytes(out, 0, this.bytes, this.at, used)) return;
    this.bytes = out;
    this.view = out === this.#blocks[0] ? this.#views[0] : this.#views[1];
    this.at = 0;
    this.length = used;
    this.changed = true;
  }
}

function writeAttribute(
  out: Uint8Array,
  at: number,
  code: number,
  flags: number,
  value: Uint8Array,
  from: number,
  length: number,
): number {
  let i = at;
  out[i++] = length > 255 ? flags | EXTENDED_LENGTH : flags & ~EXTENDED_LENGTH;
  out[i++] = code;
  if (length > 255) out[i++] = length >>> 8;
  out[i++] = length & 0xff;
  copyBytes(value, from, length, out, i);
  return i + length;
}

function u16(out: Uint8Array, at: number, value: number): number {
  out[at] = value >>> 8;
  out[at + 1] = value & 0xff;
  return at + 2;
}
