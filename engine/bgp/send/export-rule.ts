/**
 * What a peer gets to see of a route: the settings and the agreement of a session boiled down to numbers. Peers with equal
 * numbers form an update group, and a route is rewritten once for all of them.
 */
import { addressBytes } from '../../../sdk/wire/address.ts';
import type { WireContext } from '../../../sdk/wire/context.ts';
import type { ExportRule } from '../../../sdk/wire/export.ts';
import { KEEP, STRIP, exportRule } from '../../../sdk/wire/export.ts';
import { AFI_IPV6, IPV4_UNICAST, SAFI_FLOW, SAFI_FLOW_VPN } from '../../../sdk/wire/family.ts';
import { nextHopBytes } from '../../../sdk/wire/nlri/next-hop.ts';
import type { PeerSettings } from '../port.ts';

const NONE = new Uint8Array(0);

export interface ExportSide {
  /** Equal keys, equal bytes. */
  readonly key: string;
  readonly context: WireContext;
  readonly ebgp: boolean;
  readonly localAs: number;
  /** Put in front of the path of routes that are passed on. */
  readonly prepend: readonly number[];
  /** Own address for next-hop self; empty when the session has none of the kind. */
  readonly self4: Uint8Array;
  readonly self6: Uint8Array;
  readonly nextHop: 'self' | 'unchanged' | 'fixed';
  /** nextHop fixed: 4 or 16 bytes. */
  readonly fixed: Uint8Array;
  readonly transparent: boolean;
  readonly reflectorClient: boolean;
  readonly clusterId: number;
  readonly overrideAs: number;
  readonly standardCommunities: boolean;
  readonly extendedCommunities: boolean;
  readonly largeCommunities: boolean;
}

/**
 * The export side of a session. `transparent`: the route server leaves path, next hop and MED alone (RFC 7947 §2.2).
 * A local AS of its own (`asn/local` of a peer) stands alone in the path, as the neighbour expects it; the daemon's other AS
 * numbers are not added, so `local-options` changes nothing here.
 */
export function exportSide(settings: PeerSettings, context: WireContext, localAddress: string, transparent: boolean): ExportSide {
  const ebgp = context.ebgp;
  const own = addressBytes(localAddress) ?? NONE;
  const linkLocal = settings.linkLocal === '' ? NONE : (addressBytes(settings.linkLocal) ?? NONE);
  const self4 = own.length === 4 ? own : NONE;
  const self6 = own.length === 16 ? join(own, linkLocal) : own.length === 4 ? mapped(own) : NONE;
  const named = addressBytes(settings.nextHop);
  const word = settings.nextHop;
  const nextHop =
    named !== undefined ? 'fixed' : word === 'self' || (word === 'auto' && ebgp && !transparent) ? 'self' : 'unchanged';
  const all = settings.communitySend.includes('all') || settings.communitySend.length === 0;
  const none = settings.communitySend.includes('none');
  const sends = (kind: 'standard' | 'large' | 'extended'): boolean => !none && (all || settings.communitySend.includes(kind));
  const facts = {
    ebgp,
    localAs: settings.localAs,
    prepend: ebgp && !transparent ? [settings.localAs] : [],
    self4,
    self6,
    nextHop,
    fixed: named ?? NONE,
    transparent: ebgp && transparent,
    reflectorClient: !ebgp && settings.routeReflectorClient,
    clusterId: settings.clusterId === 0 ? settings.routerId : settings.clusterId,
    overrideAs: ebgp && settings.asOverride ? settings.remoteAs : 0,
    standardCommunities: sends('standard'),
    extendedCommunities: sends('extended'),
    largeCommunities: sends('large'),
  } as const;
  const key = JSON.stringify([context.id, context.families, facts], (_name, value: unknown) =>
    value instanceof Uint8Array ? [...value] : value,
  );
  return { key, context, ...facts };
}

/** Rules of one group, made when first needed: one for each kind of source and of next hop. */
export class RuleBook {
  readonly #side: ExportSide;
  readonly #rules = new Map<number, ExportRule>();

  constructor(side: ExportSide) {
    this.#side = side;
  }

  /**
   * For routes passed on. `classic`: the next hop is in the block (IPv4 unicast in the classic field); else it travels in
   * MP_REACH_NLRI and the block has none.
   */
  passing(asn4: boolean, classic: boolean, originatorId: number): ExportRule {
    const key = originatorId * 4 + (asn4 ? 2 : 0) + (classic ? 1 : 0);
    let rule = this.#rules.get(key);
    if (rule === undefined) {
      rule = this.#make(asn4, classic, originatorId);
      this.#rules.set(key, rule);
    }
    return rule;
  }

  #make(sourceAsn4: boolean, classic: boolean, originatorId: number): ExportRule {
    const side = this.#side;
    return exportRule(side.ebgp, {
      sourceAsn4,
      asn4: side.context.asn4,
      prepend: side.prepend,
      replaceAs: side.overrideAs,
      replaceBy: side.overrideAs === 0 ? 0 : side.localAs,
      nextHop: classic ? classicNextHop(side) : STRIP,
      med: side.ebgp && !side.transparent ? STRIP : KEEP,
      originatorId,
      clusterId: originatorId === 0 ? 0 : side.clusterId,
      ...communities(side),
    });
  }
}

/**
 * For routes that start here: MED and path stay as the command gave them; a missing path gets our AS towards external peers.
 * `nextHop`: an IPv4 address as u32 for the block, or -2 when MP_REACH_NLRI carries it.
 */
export function originRule(side: ExportSide, hasPath: boolean, nextHop: number): ExportRule {
  return exportRule(side.ebgp, {
    asn4: side.context.asn4,
    prepend: side.ebgp && !hasPath ? [side.localAs] : [],
    nextHop,
    med: KEEP,
    ...communities(side),
  });
}

function communities(side: ExportSide): Pick<ExportRule, 'standardCommunities' | 'extendedCommunities' | 'largeCommunities'> {
  return {
    standardCommunities: side.standardCommunities,
    extendedCommunities: side.extendedCommunities,
    largeCommunities: side.largeCommunities,
  };
}

/** NEXT_HOP of the block: ours, fixed, or as it came; a session over IPv6 has no IPv4 address to call its own and keeps it. */
function classicNextHop(side: ExportSide): number {
  if (side.nextHop === 'fixed' && side.fixed.length === 4) return u32(side.fixed);
  if (side.nextHop === 'self' && side.self4.length === 4) return u32(side.self4);
  return KEEP;
}

/** The next hop for MP_REACH_NLRI of a family when it is ours or fixed; undefined: as it came. */
export function mpNextHop(side: ExportSide, family: number): Uint8Array | undefined {
  if (side.nextHop === 'unchanged' || hasNoNextHop(family)) return undefined;
  if (side.nextHop === 'self') {
    const own = selfNextHop(side, family);
    return own.length === 0 ? undefined : own;
  }
  return side.fixed.length === 4 && family >>> 8 === AFI_IPV6 ? undefined : nextHopBytes(side.fixed, family);
}

/** Own address in the form the family wants: IPv4 families get IPv4 where the session has it; empty where there is none to give. */
export function selfNextHop(side: ExportSide, family: number): Uint8Array {
  if (hasNoNextHop(family)) return NONE;
  return nextHopBytes(family >>> 8 !== AFI_IPV6 && side.self4.length === 4 ? side.self4 : side.self6, family);
}

/** FlowSpec carries none (RFC 8955 §4). */
function hasNoNextHop(family: number): boolean {
  const safi = family & 0xff;
  return safi === SAFI_FLOW || safi === SAFI_FLOW_VPN;
}

/** May IPv4 unicast go to this side with the IPv6 next hop of MP_REACH_NLRI (RFC 8950)? */
export function takesIpv6NextHop(side: ExportSide): boolean {
  return side.context.extendedNextHop(IPV4_UNICAST);
}

export function u32(bytes: Uint8Array): number {
  return ((bytes[0]! << 24) | (bytes[1]! << 16) | (bytes[2]! << 8) | bytes[3]!) >>> 0;
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  const out = new Uint8Array(first.length + second.length);
  out.set(first);
  out.set(second, first.length);
  return out;
}

/** `::ffff:a.b.c.d`: what an IPv6 route over an IPv4 session has for next hop self. */
function mapped(ipv4: Uint8Array): Uint8Array {
  const out = new Uint8Array(16);
  out[10] = out[11] = 0xff;
  out.set(ipv4, 12);
  return out;
}
