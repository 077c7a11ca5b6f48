// Path attributes as one plain value, for configuration, commands, tools and tests. Routes keep theirs as bytes. MP_REACH_NLRI and
// MP_UNREACH_NLRI are not attributes of a route but carriers of NLRI: `UpdateView` and `UpdateWriter` have them.
import { formatIpv4, parseIpv4 } from '../address.ts';
import { fromHex, toHex, viewOf } from '../bytes.ts';
import { AS_TRANS } from '../context.ts';
import { decodeAsPath, encodeAsPath, flatPath, type PathSegment } from './as-path.ts';
import * as code from './code.ts';
import { EXTENDED_LENGTH, OPTIONAL, TRANSITIVE } from './code.ts';
import {
  formatCommunity,
  formatExtendedCommunity,
  formatLargeCommunity,
  parseCommunity,
  parseExtendedCommunity,
  parseLargeCommunity,
} from './community.ts';
import { AttributeCursor } from './cursor.ts';

export type Origin = 'igp' | 'egp' | 'incomplete';
const ORIGINS: readonly Origin[] = ['igp', 'egp', 'incomplete'];

export interface Aggregator {
  readonly asn: number;
  readonly address: string;
}

/** An attribute as bytes: unknown, without a plain form, or malformed. `flags` without the extended-length bit. */
export interface RawAttribute {
  readonly code: number;
  readonly flags: number;
  readonly value: Uint8Array;
}

/** Addresses and communities are text as their `format…` functions write it; a member is absent when the attribute is. */
export interface PathAttributes {
  readonly origin?: Origin;
  readonly asPath?: readonly PathSegment[];
  readonly nextHop?: string;
  readonly med?: number;
  readonly localPreference?: number;
  readonly atomicAggregate?: true;
  readonly aggregator?: Aggregator;
  readonly communities?: readonly string[];
  readonly originatorId?: string;
  readonly clusterList?: readonly string[];
  readonly extendedCommunities?: readonly string[];
  readonly as4Path?: readonly PathSegment[];
  readonly as4Aggregator?: Aggregator;
  /** Forty hex digits each. */
  readonly ipv6ExtendedCommunities?: readonly string[];
  /** The AIGP metric, when it is exact as a number and the only TLV. */
  readonly aigp?: number;
  readonly largeCommunities?: readonly string[];
  readonly otc?: number;
  /** In the order met. */
  readonly others?: readonly RawAttribute[];
}

type Draft = { -readonly [K in keyof PathAttributes]: PathAttributes[K] };

/**
 * Reads a list of `length` bytes at `at`. Never throws: an attribute that is malformed, or met a second time, lands in `others`; a list cut
 * short ends where it is cut. AS numbers are four octets wide when `asn4`.
 */
export function decodeAttributes(bytes: Uint8Array, at: number, length: number, asn4: boolean): PathAttributes {
  const view = viewOf(bytes);
  const cursor = new AttributeCursor().over(view, at, length);
  const draft: Draft = {};
  const others: RawAttribute[] = [];
  const seen = new Set<number>();
  while (cursor.next()) {
    const { code: number, flags, valueAt, valueLength } = cursor;
    if (number === code.MP_REACH_NLRI || number === code.MP_UNREACH_NLRI) continue;
    if (seen.has(number) || !decodeOne(draft, bytes, view, number, valueAt, valueLength, asn4)) {
      others.push({ code: number, flags: flags & ~EXTENDED_LENGTH, value: bytes.slice(valueAt, valueAt + valueLength) });
    }
    seen.add(number);
  }
  if (others.length > 0) draft.others = others;
  return draft;
}

/** False when the value has no plain form, or is malformed. */
function decodeOne(
  draft: Draft,
  bytes: Uint8Array,
  view: DataView,
  number: number,
  at: number,
  size: number,
  asn4: boolean,
): boolean {
  const four = size === 4;
  switch (number) {
    case code.ORIGIN: {
      const origin = size === 1 ? ORIGINS[view.getUint8(at)] : undefined;
      if (origin === undefined) return false;
      draft.origin = origin;
      return true;
    }
    case code.AS_PATH: {
      const path = decodeAsPath(view, at, size, asn4 ? 4 : 2);
      if (path === undefined) return false;
      draft.asPath = path;
      return true;
    }
    case code.AS4_PATH: {
      const path = decodeAsPath(view, at, size, 4);
      if (path === undefined || size === 0) return false;
      draft.as4Path = path;
      return true;
    }
    case code.NEXT_HOP:
      if (four) draft.nextHop = formatIpv4(view.getUint32(at));
      return four;
    case code.MULTI_EXIT_DISC:
      if (four) draft.med = view.getUint32(at);
      return four;
    case code.LOCAL_PREF:
      if (four) draft.localPreference = view.getUint32(at);
      return four;
    case code.ONLY_TO_CUSTOMER:
      if (four) draft.otc = view.getUint32(at);
      return four;
    case code.ORIGINATOR_ID:
      if (four) draft.originatorId = formatIpv4(view.getUint32(at));
      return four;
    case code.ATOMIC_AGGREGATE:
      if (size === 0) draft.atomicAggregate = true;
      return size === 0;
    case code.AGGREGATOR:
      if (size !== (asn4 ? 8 : 6)) return false;
      draft.aggregator = {
        asn: asn4 ? view.getUint32(at) : view.getUint16(at),
        address: formatIpv4(view.getUint32(at + size - 4)),
      };
      return true;
    case code.AS4_AGGREGATOR:
      if (size !== 8) return false;
      draft.as4Aggregator = { asn: view.getUint32(at), address: formatIpv4(view.getUint32(at + 4)) };
      return true;
    case code.AIGP: {
      const metric = size === 11 && view.getUint8(at) === 1 && view.getUint16(at + 1) === 11 ? view.getBigUint64(at + 3) : -1n;
      if (metric < 0n || metric > BigInt(Number.MAX_SAFE_INTEGER)) return false;
      draft.aigp = Number(metric);
      return true;
    }
    default:
      return decodeList(draft, bytes, view, number, at, size);
  }
}

/** The attributes that are lists of items of one size. */
function decodeList(draft: Draft, bytes: Uint8Array, view: DataView, number: number, at: number, size: number): boolean {
  switch (number) {
    case code.COMMUNITIES: {
      const list = items(at, size, 4, (i) => formatCommunity(view.getUint32(i)));
      if (list !== undefined) draft.communities = list;
      return list !== undefined;
    }
    case code.CLUSTER_LIST: {
      const list = items(at, size, 4, (i) => formatIpv4(view.getUint32(i)));
      if (list !== undefined) draft.clusterList = list;
      return list !== undefined;
    }
    case code.EXTENDED_COMMUNITIES: {
      const list = items(at, size, 8, (i) => formatExtendedCommunity(bytes, i));
      if (list !== undefined) draft.extendedCommunities = list;
      return list !== undefined;
    }
    case code.LARGE_COMMUNITIES: {
      const list = items(at, size, 12, (i) => formatLargeCommunity(view, i));
      if (list !== undefined) draft.largeCommunities = list;
      return list !== undefined;
    }
    case code.IPV6_EXTENDED_COMMUNITIES: {
      const list = items(at, size, 20, (i) => toHex(bytes, i, 20));
      if (list !== undefined) draft.ipv6ExtendedCommunities = list;
      return list !== undefined;
    }
    default:
      return false;
  }
}

function items<T>(at: number, size: number, step: number, item: (at: number) => T): readonly T[] | undefined {
  if (size === 0 || size % step !== 0) return undefined;
  return Array.from({ length: size / step }, (_, index) => item(at + index * step));
}

/**
 * Writes the attributes, ascending by code; undefined when a text among them cannot be read or a value is longer than 65535 bytes. For a
 * two-octet peer AS4_PATH and AS4_AGGREGATOR are added when a number needs them and the model has none of its own (RFC 6793 §4.2.2).
 */
export function encodeAttributes(attributes: PathAttributes, asn4: boolean): Uint8Array | undefined {
  const raws = toRaw(attributes, asn4);
  if (raws === undefined) return undefined;
  raws.sort((a, b) => a.code - b.code);
  const out: number[] = [];
  for (const { code: number, flags, value } of raws) {
    if (value.length > 0xffff) return undefined;
    if (value.length > 255) out.push(flags | EXTENDED_LENGTH, number, value.length >>> 8, value.length & 0xff);
    else out.push(flags & ~EXTENDED_LENGTH, number, value.length);
    for (const byte of value) out.push(byte);
  }
  return Uint8Array.from(out);
}

/** Undefined when a text cannot be read. */
function toRaw(a: PathAttributes, asn4: boolean): RawAttribute[] | undefined {
  const raws: RawAttribute[] = [];
  const unreadable: number[] = [];
  const put = (number: number, flags: number, value: Uint8Array | undefined) => {
    if (value === undefined) unreadable.push(number);
    else raws.push({ code: number, flags, value });
  };
  const both = OPTIONAL | TRANSITIVE;
  if (a.origin !== undefined) put(code.ORIGIN, TRANSITIVE, Uint8Array.of(ORIGINS.indexOf(a.origin)));
  if (a.asPath !== undefined) put(code.AS_PATH, TRANSITIVE, encodeAsPath(a.asPath, asn4 ? 4 : 2));
  if (a.nextHop !== undefined) put(code.NEXT_HOP, TRANSITIVE, ipv4(a.nextHop));
  if (a.med !== undefined) put(code.MULTI_EXIT_DISC, OPTIONAL, u32(a.med));
  if (a.localPreference !== undefined) put(code.LOCAL_PREF, TRANSITIVE, u32(a.localPreference));
  if (a.atomicAggregate !== undefined) put(code.ATOMIC_AGGREGATE, TRANSITIVE, new Uint8Array(0));
  if (a.aggregator !== undefined) put(code.AGGREGATOR, both, aggregator(a.aggregator, asn4));
  if (a.communities !== undefined) put(code.COMMUNITIES, both, list(a.communities, 4, writeCommunity));
  if (a.originatorId !== undefined) put(code.ORIGINATOR_ID, OPTIONAL, ipv4(a.originatorId));
  if (a.clusterList !== undefined) put(code.CLUSTER_LIST, OPTIONAL, list(a.clusterList, 4, writeIpv4));
  if (a.extendedCommunities !== undefined) {
    put(code.EXTENDED_COMMUNITIES, both, list(a.extendedCommunities, 8, parseExtendedCommunity));
  }
  const as4Path = a.as4Path ?? (asn4 ? undefined : neededAs4Path(a.asPath ?? []));
  if (as4Path !== undefined) put(code.AS4_PATH, both, encodeAsPath(as4Path, 4));
  const as4Aggregator = a.as4Aggregator ?? (asn4 || (a.aggregator?.asn ?? 0) <= 0xffff ? undefined : a.aggregator);
  if (as4Aggregator !== undefined) put(code.AS4_AGGREGATOR, both, aggregator(as4Aggregator, true));
  if (a.ipv6ExtendedCommunities !== undefined) {
    put(code.IPV6_EXTENDED_COMMUNITIES, both, list(a.ipv6ExtendedCommunities, 20, writeHex));
  }
  if (a.aigp !== undefined) put(code.AIGP, OPTIONAL, aigp(a.aigp));
  if (a.largeCommunities !== undefined) put(code.LARGE_COMMUNITIES, both, list(a.largeCommunities, 12, parseLargeCommunity));
  if (a.otc !== undefined) put(code.ONLY_TO_CUSTOMER, both, u32(a.otc));
  return unreadable.length === 0 ? [...raws, ...(a.others ?? [])] : undefined;
}

function neededAs4Path(path: readonly PathSegment[]): readonly PathSegment[] | undefined {
  const plain = path.filter(({ type }) => type === 'sequence' || type === 'set');
  return plain.length > 0 && flatPath(path).some((asn) => asn > 0xffff) ? plain : undefined;
}

function list(
  texts: readonly string[],
  size: number,
  write: (text: string, out: Uint8Array, at: number) => boolean,
): Uint8Array | undefined {
  const out = new Uint8Array(size * texts.length);
  return texts.every((text, index) => write(text, out, size * index)) ? out : undefined;
}

function writeCommunity(text: string, out: Uint8Array, at: number): boolean {
  const value = parseCommunity(text);
  if (value >= 0) out.set(u32(value), at);
  return value >= 0;
}

function writeIpv4(text: string, out: Uint8Array, at: number): boolean {
  const value = parseIpv4(text);
  if (value >= 0) out.set(u32(value), at);
  return value >= 0;
}

function writeHex(text: string, out: Uint8Array, at: number): boolean {
  const bytes = fromHex(text);
  if (bytes?.length !== 20) return false;
  out.set(bytes, at);
  return true;
}

function ipv4(text: string): Uint8Array | undefined {
  const value = parseIpv4(text);
  return value < 0 ? undefined : u32(value);
}

function aggregator({ asn, address }: Aggregator, wide: boolean): Uint8Array | undefined {
  const value = ipv4(address);
  if (value === undefined) return undefined;
  const short = asn > 0xffff ? AS_TRANS : asn;
  return wide ? Uint8Array.of(...u32(asn), ...value) : Uint8Array.of(short >>> 8, short & 0xff, ...value);
}

function aigp(metric: number): Uint8Array {
  const out = new Uint8Array(11);
  const view = viewOf(out);
  view.setUint8(0, 1);
  view.setUint16(1, 11);
  view.setBigUint64(3, BigInt(metric));
  return out;
}

function u32(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff);
}
