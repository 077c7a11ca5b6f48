// Names what each MRT record holds: BGP messages of a peer, or routes of a table. Lenient on purpose: collectors cut messages and
// old daemons wrote odd records; what can be read is handed on, what cannot is counted.
import { AttributeCursor } from '../../../sdk/wire/attribute/cursor.ts';
import { MP_REACH_NLRI, MP_UNREACH_NLRI } from '../../../sdk/wire/attribute/code.ts';
import { familyOf, IPV4_MULTICAST, IPV4_UNICAST, IPV6_MULTICAST, IPV6_UNICAST } from '../../../sdk/wire/family.ts';
import { HEADER_LENGTH, OPEN, UPDATE } from '../../../sdk/wire/message.ts';
import { PrefixCursor } from '../../../sdk/wire/nlri/prefix.ts';
import { AddPathOpens } from './add-path-opens.ts';
import { BGP, BGP4MP, BGP4MP_ET, isRecordType, MrtCursor, TABLE_DUMP, TABLE_DUMP_V2 } from './records.ts';

/** The peer a record is about. `address` is 4 or 16 bytes as hex: a key, not a text for people. */
export interface MrtPeer {
  readonly address: string;
  readonly as: number;
}

/** The attributes of a route: a block in `view`, AS numbers of two or four octets, next hop apart where MP_REACH carries it. */
export interface MrtAttributes {
  view: DataView;
  at: number;
  length: number;
  asn4: boolean;
  /** Next hop in MP_REACH; length 0 = in the block. */
  nextHopAt: number;
  nextHopLength: number;
}

export interface MrtVisitor {
  /** One announced prefix; the cursor stands on it. Valid during the call. */
  announce(peer: MrtPeer, family: number, prefix: PrefixCursor, attributes: MrtAttributes): void;
  withdraw(peer: MrtPeer, family: number, prefix: PrefixCursor): void;
  /** The peer's session changed state. */
  state(peer: MrtPeer): void;
}

export interface MrtSummary {
  /** Records by `TYPE/SUBTYPE` number pair. */
  readonly records: Map<string, number>;
  /** Messages shorter than their BGP length says. */
  cutMessages: number;
  /** Markers that are not all ones. */
  badMarkers: number;
  /** Records or messages that could not be read to their end. */
  damaged: number;
  /** Bytes behind the last whole record. */
  leftOver: number;
}

const RIB_FAMILIES: Readonly<Record<number, number>> = {
  2: IPV4_UNICAST,
  3: IPV4_MULTICAST,
  4: IPV6_UNICAST,
  5: IPV6_MULTICAST,
  8: IPV4_UNICAST,
  9: IPV4_MULTICAST,
  10: IPV6_UNICAST,
  11: IPV6_MULTICAST,
};
const ROUTES_WITHOUT_INDEX: MrtPeer = { address: '', as: 0 };

/** Walks the whole file. Never throws on content. */
export function walkMrt(bytes: Uint8Array, visitor: MrtVisitor): MrtSummary {
  return new Walk(bytes, visitor).run();
}

/** Did the walk find one whole record of a type that MRT has (RFC 6396 §4)? Else the file is something else. */
export function isMrt(summary: MrtSummary): boolean {
  return [...summary.records.keys()].some((key) => isRecordType(Number(key.slice(0, key.indexOf(' ')))));
}

class Walk {
  readonly #cursor: MrtCursor;
  readonly #view: DataView;
  readonly #visitor: MrtVisitor;
  readonly #attributes = new AttributeCursor();
  readonly #prefix = new PrefixCursor();
  readonly #block: MrtAttributes;
  readonly #opens = new AddPathOpens();
  readonly #peersSeen = new Map<string, MrtPeer>();
  #index: MrtPeer[] = [];
  readonly #summary: MrtSummary = { records: new Map(), cutMessages: 0, badMarkers: 0, damaged: 0, leftOver: 0 };

  constructor(bytes: Uint8Array, visitor: MrtVisitor) {
    this.#cursor = new MrtCursor(bytes);
    this.#view = this.#cursor.view;
    this.#visitor = visitor;
    this.#block = { view: this.#view, at: 0, length: 0, asn4: true, nextHopAt: 0, nextHopLength: 0 };
  }

  run(): MrtSummary {
    const cursor = this.#cursor;
    while (cursor.next()) {
      const key = `${cursor.type} ${cursor.subtype}`;
      this.#summary.records.set(key, (this.#summary.records.get(key) ?? 0) + 1);
      try {
        this.#record(cursor.type, cursor.subtype, cursor.bodyAt, cursor.bodyAt + cursor.bodyLength);
      } catch (error) {
        // A record whose inner lengths lie leads past the view: it alone is lost.
        if (!(error instanceof RangeError)) throw error;
        this.#summary.damaged++;
      }
    }
    this.#summary.leftOver = cursor.leftOver;
    return this.#summary;
  }

  #record(type: number, subtype: number, at: number, end: number): void {
    switch (type) {
      case BGP:
        return this.#bgp(subtype, at, end);
      case TABLE_DUMP:
        return this.#tableDump(subtype, at, end);
      case TABLE_DUMP_V2:
        if (subtype === 1) return this.#peerIndex(at, end);
        if (RIB_FAMILIES[subtype] !== undefined) return this.#rib(subtype, RIB_FAMILIES[subtype], at, end);
        return;
      case BGP4MP:
      case BGP4MP_ET:
        return this.#bgp4mp(subtype, at, end);
      default:
    }
  }

  /** RFC 6396 appendix B.3, deprecated: an UPDATE's body behind IPv4 addresses and two-octet AS numbers. */
  #bgp(subtype: number, start: number, end: number): void {
    const peer = this.#peer(start + 2, 4, this.#view.getUint16(start));
    if (subtype === 3) this.#visitor.state(peer);
    if (subtype === 1) this.#update(peer, peer.address, start + 12, end, false, false);
  }

  /** RFC 6396 §4.2: one route of one peer, two-octet AS numbers. */
  #tableDump(subtype: number, start: number, end: number): void {
    const size = subtype === 2 ? 16 : 4;
    let at = start + 4;
    const prefixAt = at;
    at += size;
    const lengthBits = this.#view.getUint8(at);
    at += 6; // prefix length, status, originated time
    const peer = this.#peer(at, size, this.#view.getUint16(at + size));
    at += size + 2;
    const length = this.#view.getUint16(at);
    this.#route(subtype === 2 ? IPV6_UNICAST : IPV4_UNICAST, prefixAt, lengthBits, 0, peer, at + 2, length, false, end);
  }

  /** RFC 6396 §4.3.1 */
  #peerIndex(start: number, end: number): void {
    let at = start + 6 + this.#view.getUint16(start + 4);
    const count = this.#view.getUint16(at);
    at += 2;
    const index: MrtPeer[] = [];
    for (let i = 0; i < count && at < end; i++) {
      const kind = this.#view.getUint8(at);
      at += 5;
      const size = (kind & 1) === 0 ? 4 : 16;
      const wide = (kind & 2) !== 0;
      index.push(this.#peer(at, size, wide ? this.#view.getUint32(at + size) : this.#view.getUint16(at + size)));
      at += size + (wide ? 4 : 2);
    }
    this.#index = index;
  }

  /** RFC 6396 §4.3.2, RFC 8050 §4: all peers' routes for one prefix, four-octet AS numbers. */
  #rib(subtype: number, family: number, start: number, end: number): void {
    const addPath = subtype >= 8;
    const lengthBits = this.#view.getUint8(start + 4);
    const prefixAt = start + 5;
    let at = prefixAt + ((lengthBits + 7) >>> 3);
    const count = this.#view.getUint16(at);
    at += 2;
    for (let i = 0; i < count; i++) {
      const peer = this.#index[this.#view.getUint16(at)] ?? ROUTES_WITHOUT_INDEX;
      at += 6;
      const pathId = addPath ? this.#view.getUint32(at) : 0;
      if (addPath) at += 4;
      const length = this.#view.getUint16(at);
      at += 2;
      if (peer !== ROUTES_WITHOUT_INDEX) this.#route(family, prefixAt, lengthBits, pathId, peer, at, length, true, end);
      at += length;
    }
  }

  #route(
    family: number,
    prefixAt: number,
    lengthBits: number,
    pathId: number,
    peer: MrtPeer,
    at: number,
    length: number,
    asn4: boolean,
    end: number,
  ): void {
    if (at + length > end) {
      this.#summary.damaged++;
      return;
    }
    const prefix = this.#prefix;
    prefix.view = this.#view;
    prefix.prefixAt = prefixAt;
    prefix.lengthBits = lengthBits;
    prefix.prefixLength = (lengthBits + 7) >>> 3;
    prefix.pathId = pathId;
    this.#locate(at, length, asn4);
    this.#visitor.announce(peer, family, prefix, this.#block);
  }

  /** Finds the next hop of a table entry's MP_REACH: shortened to its next hop (RFC 6396 §4.3.4), or whole as some writers have it. */
  #locate(at: number, length: number, asn4: boolean): void {
    const block = this.#block;
    block.at = at;
    block.length = length;
    block.asn4 = asn4;
    block.nextHopLength = 0;
    const cursor = this.#attributes.over(this.#view, at, length);
    if (!cursor.find(MP_REACH_NLRI) || cursor.valueLength === 0) return;
    const short = this.#view.getUint8(cursor.valueAt) === cursor.valueLength - 1;
    block.nextHopAt = cursor.valueAt + (short ? 1 : 4);
    block.nextHopLength = short ? cursor.valueLength - 1 : this.#view.getUint8(cursor.valueAt + 3);
  }

  /** RFC 6396 §4.4, RFC 8050 §3: a BGP message as it was heard. */
  #bgp4mp(subtype: number, start: number, end: number): void {
    const message = subtype === 1 || subtype === 4 || (subtype >= 6 && subtype <= 11);
    const state = subtype === 0 || subtype === 5;
    if (!message && !state) return;
    const wide = subtype === 4 || subtype === 5 || subtype === 7 || subtype === 9 || subtype === 11;
    let at = start + (wide ? 8 : 4);
    const afi = this.#view.getUint16(at + 2);
    at += 4;
    const size = afi === 2 ? 16 : 4;
    const peer = this.#peer(at, size, wide ? this.#view.getUint32(start) : this.#view.getUint16(start));
    if (state) return this.#visitor.state(peer);
    const pair = `${peer.address} ${addressKey(this.#view, at + size, size)}`;
    at += 2 * size;
    if (at + HEADER_LENGTH > end) {
      this.#summary.damaged++;
      return;
    }
    if (this.#view.getUint32(at) !== 0xffffffff || this.#view.getUint32(at + 12) !== 0xffffffff) this.#summary.badMarkers++;
    const stated = this.#view.getUint16(at + 16);
    const type = this.#view.getUint8(at + 18);
    if (at + stated > end) this.#summary.cutMessages++;
    const messageEnd = Math.min(end, at + stated);
    if (type === OPEN) this.#opens.learn(pair, this.#view, at + HEADER_LENGTH, messageEnd);
    if (type === UPDATE) this.#update(peer, pair, at + HEADER_LENGTH, messageEnd, wide, subtype >= 8);
  }

  #update(peer: MrtPeer, pair: string, start: number, end: number, asn4: boolean, addPath: boolean): void {
    const view = this.#view;
    const withdrawnEnd = start + 2 + view.getUint16(start);
    this.#prefixes(peer, IPV4_UNICAST, start + 2, Math.min(withdrawnEnd, end), pair, addPath, false);
    if (withdrawnEnd + 2 > end) return;
    const attributesAt = withdrawnEnd + 2;
    const attributesEnd = Math.min(end, attributesAt + view.getUint16(withdrawnEnd));
    const block = this.#block;
    block.at = attributesAt;
    block.length = attributesEnd - attributesAt;
    block.asn4 = asn4;
    block.nextHopLength = 0;
    this.#prefixes(peer, IPV4_UNICAST, attributesEnd, end, pair, addPath, true);
    const cursor = this.#attributes.over(view, attributesAt, attributesEnd - attributesAt);
    while (cursor.next()) {
      if (cursor.code !== MP_REACH_NLRI && cursor.code !== MP_UNREACH_NLRI) continue;
      const at = cursor.valueAt;
      const valueEnd = at + cursor.valueLength;
      const family = familyOf(view.getUint16(at), view.getUint8(at + 2));
      if (family !== IPV4_UNICAST && family !== IPV6_UNICAST && family !== IPV4_MULTICAST && family !== IPV6_MULTICAST) continue;
      if (cursor.code === MP_UNREACH_NLRI) {
        this.#prefixes(peer, family, at + 3, valueEnd, pair, addPath, false);
        continue;
      }
      block.nextHopLength = view.getUint8(at + 3);
      block.nextHopAt = at + 4;
      this.#prefixes(peer, family, at + 5 + block.nextHopLength, valueEnd, pair, addPath, true);
    }
  }

  #prefixes(peer: MrtPeer, family: number, at: number, end: number, pair: string, addPath: boolean, announced: boolean): void {
    if (at >= end) return;
    const paths = addPath || this.#opens.applies(pair, family, this.#view, at, end);
    const prefix = this.#prefix.over(this.#view, at, end - at, family >>> 8 === 2 ? 128 : 32, paths);
    while (prefix.next()) {
      if (announced) this.#visitor.announce(peer, family, prefix, this.#block);
      else this.#visitor.withdraw(peer, family, prefix);
    }
    if (prefix.at < prefix.end) this.#summary.damaged++;
  }

  #peer(at: number, size: number, as: number): MrtPeer {
    const address = addressKey(this.#view, at, size);
    const key = `${address} ${as}`;
    let peer = this.#peersSeen.get(key);
    if (peer === undefined) {
      peer = { address, as };
      this.#peersSeen.set(key, peer);
    }
    return peer;
  }
}

function addressKey(view: DataView, at: number, size: number): string {
  let key = '';
  for (let i = 0; i < size; i += 4)
    key += view
      .getUint32(at + i)
      .toString(16)
      .padStart(8, '0');
  return key;
}
