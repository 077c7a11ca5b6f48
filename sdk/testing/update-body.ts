/**
 * An UPDATE written down as words, as the bytes of its body and back as events show it: what a test says of an update is said once and
 * every format is made of the same bytes. Prefix families (IPv4 and IPv6, unicast and multicast); others are given as bytes.
 */
import type { RouteAttributes } from '../plugin/routes.ts';
import { addressBytes, formatAddress, formatPrefix, parsePrefix, prefixTarget } from '../wire/address.ts';
import { MP_REACH_NLRI, MP_UNREACH_NLRI, OPTIONAL, EXTENDED_LENGTH } from '../wire/attribute/code.ts';
import { eventAttributes } from '../wire/attribute/event.ts';
import { encodeAttributes } from '../wire/attribute/model.ts';
import { toHex, viewOf } from '../wire/bytes.ts';
import { plainContext } from '../wire/context.ts';
import {
  afiOf,
  type Family,
  familyName,
  IPV4_UNICAST,
  isPrefixFamily,
  maxPrefixBits,
  NAMED_FAMILIES,
  NO_FAMILY,
  parseFamily,
} from '../wire/family.ts';
import { RESET } from '../wire/fault.ts';
import { HEADER_LENGTH } from '../wire/message.ts';
import { PrefixCursor, writePrefix } from '../wire/nlri/prefix.ts';
import { UpdateView } from '../wire/update.ts';

/** A prefix, or one with its ADD-PATH identifier. */
export type TestPrefix = string | { readonly prefix: string; readonly pathId: number };

/** Prefixes by family name. */
export type TestRoutes = Readonly<Record<string, readonly TestPrefix[]>>;

/** What an update says. At most one family beside `ipv4/unicast` in each of the two, as in a message (RFC 4760). */
export interface TestUpdate {
  readonly announce?: TestRoutes | undefined;
  readonly withdraw?: TestRoutes | undefined;
  /** Default: origin igp, the peer's AS as path, the peer's address as next hop (`2001:db8::1` for an IPv6 family of an IPv4 peer). */
  readonly attributes?: Partial<RouteAttributes> | undefined;
}

/** How the session carries updates. */
export interface UpdateContext {
  readonly asn4: boolean;
  /** Names of families with path identifiers. */
  readonly addPath: readonly string[];
}

/** The body (no header). Throws TypeError for what can't be written. */
export function updateBody(
  update: TestUpdate,
  peer: { readonly address: string; readonly as: number },
  context: UpdateContext,
): Uint8Array {
  const reach = byFamily(update.announce, context);
  const unreach = byFamily(update.withdraw, context);
  const classicReach = reach.get(IPV4_UNICAST) ?? [];
  const [mpReach, ...moreReach] = [...reach].filter(([family]) => family !== IPV4_UNICAST);
  const [mpUnreach, ...moreUnreach] = [...unreach].filter(([family]) => family !== IPV4_UNICAST);
  if (moreReach.length + moreUnreach.length > 0) {
    throw new TypeError('an update carries one family beside ipv4/unicast; send several');
  }
  const attributes: number[] = [];
  if (classicReach.length > 0 || mpReach !== undefined) {
    const nextHop = update.attributes?.nextHop ?? peer.address;
    attributes.push(...block(update, peer, context, classicReach.length > 0 ? nextHop : undefined));
    if (mpReach !== undefined) attributes.push(...reachAttribute(mpReach[0], mpReach[1], nextHop));
  }
  if (mpUnreach !== undefined) attributes.push(...attribute(MP_UNREACH_NLRI, [...familyBytes(mpUnreach[0]), ...mpUnreach[1]]));
  const withdrawn = unreach.get(IPV4_UNICAST) ?? [];
  return Uint8Array.from([...u16(withdrawn.length), ...withdrawn, ...u16(attributes.length), ...attributes, ...classicReach]);
}

/** What the parsed, summary and full formats show of a body (events.md §5); `undefined` when it can't be taken apart. */
export interface UpdateParts {
  readonly update: { readonly attr?: object; readonly nlri: object };
  readonly summary: object;
  /** The `raw` object of the full format. */
  readonly raw: object;
}

export function updateParts(body: Uint8Array, context: UpdateContext): UpdateParts | undefined {
  const message = new Uint8Array(HEADER_LENGTH + body.length);
  message.set(body, HEADER_LENGTH);
  const view = viewOf(message);
  const update = new UpdateView();
  // As between routers of one AS: what the test wrote is what its plugin sees, LOCAL_PREF too.
  const facts = { asn4: context.asn4, ebgp: false, addPath: context.addPath.map(parseFamily), families: NAMED_FAMILIES };
  if (update.read(message, view, 0, message.length, plainContext(facts)) === RESET) return undefined;
  const nlri: Record<string, object[]> = {};
  const announced: Record<string, string> = {};
  const withdrawn: Record<string, string> = {};
  const put = (family: Family, action: 'add' | 'del', at: number, length: number, nextHop: string | undefined): void => {
    if (length === 0) return;
    const name = familyName(family);
    const items = nlriValues(message, view, family, at, length, context.addPath.includes(name));
    (nlri[name] ??= []).push({ ...(nextHop === undefined ? {} : { 'next-hop': nextHop }), action, nlri: items });
    (action === 'add' ? announced : withdrawn)[name] = toHex(message, at, length);
  };
  const { block: kept } = update;
  const attr = eventAttributes(kept.bytes, kept.at, kept.length, context.asn4);
  const classicHop = typeof attr['next-hop'] === 'string' ? attr['next-hop'] : undefined;
  put(IPV4_UNICAST, 'add', update.nlriAt, update.nlriLength, classicHop);
  const mpHop = formatAddress(message, update.reachNextHopAt, Math.min(update.reachNextHopLength, 16));
  put(update.reachFamily, 'add', update.reachAt, update.reachLength, mpHop);
  put(IPV4_UNICAST, 'del', update.withdrawnAt, update.withdrawnLength, undefined);
  put(update.unreachFamily, 'del', update.unreachAt, update.unreachLength, undefined);
  const name = (family: Family, length: number): string => (length === 0 || family === NO_FAMILY ? '' : familyName(family));
  return {
    update: { ...(kept.length === 0 ? {} : { attr }), nlri },
    summary: {
      announce: update.nlriLength > 0,
      withdrawn: update.withdrawnLength > 0,
      'mp-reach': name(update.reachFamily, update.reachLength),
      'mp-unreach': name(update.unreachFamily, update.unreachLength),
    },
    raw: {
      ...(kept.length === 0 ? {} : { attributes: toHex(kept.bytes, kept.at, kept.length) }),
      ...(Object.keys(announced).length === 0 ? {} : { nlri: announced }),
      ...(Object.keys(withdrawn).length === 0 ? {} : { withdrawn }),
      update: toHex(body),
    },
  };
}

function nlriValues(bytes: Uint8Array, view: DataView, family: Family, at: number, length: number, addPath: boolean): unknown[] {
  if (!isPrefixFamily(family)) return [{ raw: toHex(bytes, at, length) }];
  const cursor = new PrefixCursor().over(view, at, length, maxPrefixBits(afiOf(family)), addPath);
  const values: unknown[] = [];
  while (cursor.next()) {
    const prefix = formatPrefix(bytes, cursor.prefixAt, cursor.lengthBits, cursor.maxBits / 8);
    values.push(cursor.pathId === 0 ? prefix : { prefix, 'path-id': cursor.pathId });
  }
  return values;
}

function block(
  update: TestUpdate,
  peer: { readonly as: number },
  context: UpdateContext,
  nextHop: string | undefined,
): Uint8Array {
  const given = update.attributes ?? {};
  const path = given.asPath ?? [peer.as];
  const bytes = encodeAttributes(
    {
      origin: given.origin ?? 'igp',
      asPath: path.length === 0 ? [] : [{ type: 'sequence', asns: path }],
      ...(nextHop === undefined ? {} : { nextHop }),
      ...(given.med === undefined ? {} : { med: given.med }),
      ...(given.localPreference === undefined ? {} : { localPreference: given.localPreference }),
      ...(given.communities === undefined ? {} : { communities: given.communities }),
      ...(given.largeCommunities === undefined ? {} : { largeCommunities: given.largeCommunities }),
      ...(given.extendedCommunities === undefined ? {} : { extendedCommunities: given.extendedCommunities }),
    },
    context.asn4,
  );
  if (bytes === undefined) throw new TypeError(`attributes that can't be written: ${JSON.stringify(given)}`);
  return bytes;
}

function reachAttribute(family: Family, nlri: readonly number[], nextHop: string): readonly number[] {
  let hop = addressBytes(nextHop);
  if (hop?.length === 4 && afiOf(family) === 2) hop = addressBytes('2001:db8::1');
  if (hop === undefined) throw new TypeError(`not an address: ${nextHop}`);
  return attribute(MP_REACH_NLRI, [...familyBytes(family), hop.length, ...hop, 0, ...nlri]);
}

function attribute(code: number, value: readonly number[]): readonly number[] {
  return [OPTIONAL | EXTENDED_LENGTH, code, ...u16(value.length), ...value];
}

function familyBytes(family: Family): readonly number[] {
  return [...u16(family >>> 8), family & 0xff];
}

function u16(value: number): readonly [number, number] {
  return [value >>> 8, value & 0xff];
}

/** Wire form of the prefixes of each family. */
function byFamily(routes: TestRoutes | undefined, context: UpdateContext): Map<Family, readonly number[]> {
  const out = new Map<Family, readonly number[]>();
  const target = prefixTarget();
  const room = new Uint8Array(24);
  for (const [name, prefixes] of Object.entries(routes ?? {})) {
    const family = parseFamily(name);
    if (!isPrefixFamily(family)) throw new TypeError(`${name} has no prefixes a test can write: give the update as bytes`);
    const bytes: number[] = [];
    for (const entry of prefixes) {
      const { prefix, pathId } = typeof entry === 'string' ? { prefix: entry, pathId: 0 } : entry;
      if (!parsePrefix(prefix, target) || target.addressLength * 8 !== maxPrefixBits(afiOf(family))) {
        throw new TypeError(`not a prefix of ${name}: ${prefix}`);
      }
      const end = writePrefix(room, 0, target.bytes, 0, target.lengthBits, context.addPath.includes(name), pathId);
      bytes.push(...room.subarray(0, end));
    }
    if (bytes.length > 0) out.set(family, bytes);
  }
  return out;
}
