// What was agreed with a peer, as far as it changes bytes or their judgement. One direction of one session has one context; equal facts
// give the same object, so two sessions compare by a small integer.
import type { Family } from './family.ts';
import { IPV4_MULTICAST, IPV4_UNICAST, IPV6_MULTICAST, IPV6_UNICAST } from './family.ts';
import { MAX_EXTENDED_MESSAGE, MAX_MESSAGE } from './message.ts';

/** The facts a context is made of. Families are `afi << 8 | safi`, in any order. */
export interface ContextFacts {
  /** AS numbers in AS_PATH and AGGREGATOR are four octets (RFC 6793). */
  readonly asn4: boolean;
  /** Messages up to 65535 bytes in this direction (RFC 8654). */
  readonly extendedMessage: boolean;
  readonly ebgp: boolean;
  readonly peerAs: number;
  readonly localAs: number;
  /** Negotiated families; NLRI of any other is ignored (RFC 4760 §7). */
  readonly families: readonly Family[];
  /** Families whose NLRI carry a path identifier in this direction (RFC 7911). */
  readonly addPath: readonly Family[];
  /** IPv4 families that may have an IPv6 next hop (RFC 8950). */
  readonly extendedNextHop: readonly Family[];
  /** Our own IPv4 address on this session as u32, 0 when there is none: as a NEXT_HOP it is refused (RFC 4271 §6.3). */
  readonly ownIpv4: number;
  /** eBGP: an empty AS_PATH, or one that does not begin with the peer's AS, is treated as withdraw (RFC 7606 §7.2). */
  readonly enforceFirstAs: boolean;
  /** AS_SET and AS_CONFED_SET are treated as withdraw (RFC 9774). */
  readonly refuseAsSets: boolean;
  /** The peer belongs to our confederation: its confederation segments are in order (RFC 5065 §5). */
  readonly confederation: boolean;
  /** eBGP: LOCAL_PREF is kept, since not the peer but a filter of ours wrote it. */
  readonly ownLocalPref?: boolean;
}

/** A plain context: IPv4 unicast, four octet AS numbers, nothing else. For tools and tests; sessions derive theirs from `negotiate`. */
export const PLAIN_FACTS: ContextFacts = {
  asn4: true,
  extendedMessage: false,
  ebgp: true,
  peerAs: 0,
  localAs: 0,
  families: [IPV4_UNICAST],
  addPath: [],
  extendedNextHop: [],
  ownIpv4: 0,
  enforceFirstAs: false,
  refuseAsSets: false,
  confederation: false,
};

/** Immutable; made by a ContextTable. All fields are set once, so every context has one shape. */
export class WireContext {
  /** Facts that change bytes on the wire: equal ids mean bytes of one session are good on the other as they are. */
  readonly id: number;
  /** `id` and every fact that changes judgement: a block found good under one `checkId` need not be judged again under it. */
  readonly checkId: number;
  readonly asn4: boolean;
  readonly ebgp: boolean;
  readonly peerAs: number;
  readonly localAs: number;
  readonly extendedMessage: boolean;
  /** Largest UPDATE in bytes in this direction: 4096 or 65535. */
  readonly maxMessage: number;
  readonly ownIpv4: number;
  readonly enforceFirstAs: boolean;
  readonly refuseAsSets: boolean;
  readonly confederation: boolean;
  readonly ownLocalPref: boolean;
  /** IPv4 unicast is negotiated: the classic NLRI fields are read. */
  readonly ipv4Unicast: boolean;
  /** The classic NLRI fields carry path identifiers. */
  readonly addPathIpv4Unicast: boolean;
  /** The leftmost AS a path from this peer must have: its AS, or AS_TRANS in a two-octet session. */
  readonly expectedFirstAs: number;
  readonly families: readonly Family[];
  readonly addPathFamilies: readonly Family[];
  readonly extendedNextHopFamilies: readonly Family[];

  constructor(id: number, checkId: number, facts: ContextFacts) {
    this.id = id;
    this.checkId = checkId;
    this.asn4 = facts.asn4;
    this.ebgp = facts.ebgp;
    this.peerAs = facts.peerAs;
    this.localAs = facts.localAs;
    this.extendedMessage = facts.extendedMessage;
    this.maxMessage = facts.extendedMessage ? MAX_EXTENDED_MESSAGE : MAX_MESSAGE;
    this.ownIpv4 = facts.ownIpv4;
    this.enforceFirstAs = facts.enforceFirstAs && facts.ebgp;
    this.refuseAsSets = facts.refuseAsSets;
    this.confederation = facts.confederation;
    this.ownLocalPref = facts.ownLocalPref === true;
    this.families = sorted(facts.families);
    this.addPathFamilies = sorted(facts.addPath);
    this.extendedNextHopFamilies = sorted(facts.extendedNextHop);
    this.ipv4Unicast = this.families.includes(IPV4_UNICAST);
    this.addPathIpv4Unicast = this.addPathFamilies.includes(IPV4_UNICAST);
    this.expectedFirstAs = facts.asn4 || facts.peerAs <= 0xffff ? facts.peerAs : AS_TRANS;
  }

  hasFamily(family: Family): boolean {
    return this.families.includes(family);
  }

  /** True when NLRI of the family carry a path identifier in this direction. */
  addPath(family: Family): boolean {
    return this.addPathFamilies.length !== 0 && this.addPathFamilies.includes(family);
  }

  extendedNextHop(family: Family): boolean {
    return this.extendedNextHopFamilies.length !== 0 && this.extendedNextHopFamilies.includes(family);
  }
}

/** Stands for an AS number that does not fit in two octets (RFC 6793 §2). */
export const AS_TRANS = 23456;

/**
 * Gives equal facts the same context. Owned by whoever owns the sessions; it grows with the number of different facts seen, not with
 * the number of sessions.
 */
export class ContextTable {
  readonly #ids = new Map<string, number>();
  readonly #contexts = new Map<string, WireContext>();

  intern(facts: ContextFacts): WireContext {
    const encoding = encodingKey(facts);
    let id = this.#ids.get(encoding);
    if (id === undefined) {
      id = this.#ids.size + 1;
      this.#ids.set(encoding, id);
    }
    const key = `${encoding} ${judgementKey(facts)}`;
    let context = this.#contexts.get(key);
    if (context === undefined) {
      context = new WireContext(id, this.#contexts.size + 1, facts);
      this.#contexts.set(key, context);
    }
    return context;
  }

  /** Number of different contexts made so far. */
  get size(): number {
    return this.#contexts.size;
  }
}

/** A context of its own, outside any table: id and checkId are 0. For offline tools and tests. */
export function plainContext(facts: Partial<ContextFacts> = {}): WireContext {
  return new WireContext(0, 0, { ...PLAIN_FACTS, ...facts });
}

/** The four prefix families of the core. */
export const CORE_FAMILIES: readonly Family[] = [IPV4_UNICAST, IPV4_MULTICAST, IPV6_UNICAST, IPV6_MULTICAST];

function sorted(families: readonly Family[]): readonly Family[] {
  return [...new Set(families)].sort((a, b) => a - b);
}

function encodingKey(facts: ContextFacts): string {
  return [
    facts.asn4 ? 4 : 2,
    facts.extendedMessage ? 'x' : '-',
    facts.ebgp ? 'e' : 'i',
    sorted(facts.addPath).join(','),
    sorted(facts.extendedNextHop).join(','),
  ].join(' ');
}

function judgementKey(facts: ContextFacts): string {
  return [
    facts.peerAs,
    facts.localAs,
    facts.ownIpv4,
    facts.enforceFirstAs ? 'f' : '-',
    facts.refuseAsSets ? 's' : '-',
    facts.confederation ? 'c' : '-',
    facts.ownLocalPref === true ? 'l' : '-',
    sorted(facts.families).join(','),
  ].join(' ');
}
