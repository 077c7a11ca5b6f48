// From two OPENs to what the session agreed: a pure function, the same on both ends.
import type { Capability } from './capability/capability.ts';
import {
  type AddPath,
  type ExtendedNextHop,
  type GracefulRestart,
  type LongLivedFamily,
  readCapability,
  type Role,
  roleName,
} from './capability/typed.ts';
import { type ContextFacts, PLAIN_FACTS } from './context.ts';
import { AFI_IPV4, AFI_IPV6, type Family, IPV4_UNICAST } from './family.ts';
import { type Notification, notification, OPEN_MESSAGE_ERROR, ROLE_MISMATCH } from './notification.ts';
import { type OpenMessage, openAs } from './open.ts';

/** One speaker's capabilities, read and folded: families add up, of anything else sent twice the last counts (RFC 4724 §3). */
export interface Offer {
  readonly families: readonly Family[];
  /** Capability 65 was sent, and well-formed. */
  readonly asn4: boolean;
  readonly routeRefresh: boolean;
  readonly enhancedRefresh: boolean;
  readonly extendedMessage: boolean;
  readonly linkLocalNextHop: boolean;
  readonly addPath: readonly AddPath[];
  readonly extendedNextHop: readonly ExtendedNextHop[];
  readonly gracefulRestart: GracefulRestart | undefined;
  readonly longLived: readonly LongLivedFamily[];
  /** Every different role sent; more than one refuses the session (RFC 9234 §4.2). */
  readonly roles: readonly number[];
  readonly hostName: string;
  readonly domainName: string;
  readonly softwareVersion: string;
  /** Codes whose value was malformed, and ignored. */
  readonly malformed: readonly number[];
}

export function readOffer(capabilities: readonly Capability[]): Offer {
  const families: Family[] = [];
  const roles: number[] = [];
  const malformed: number[] = [];
  let addPath: readonly AddPath[] = [];
  let extendedNextHop: readonly ExtendedNextHop[] = [];
  let gracefulRestart: GracefulRestart | undefined;
  let longLived: readonly LongLivedFamily[] = [];
  let names = { host: '', domain: '' };
  let softwareVersion = '';
  const flags = { asn4: false, routeRefresh: false, enhancedRefresh: false, extendedMessage: false, linkLocalNextHop: false };
  for (const capability of capabilities) {
    const typed = readCapability(capability);
    switch (typed.kind) {
      case 'multiprotocol':
        if (!families.includes(typed.family)) families.push(typed.family);
        break;
      case 'role':
        if (!roles.includes(typed.role)) roles.push(typed.role);
        break;
      case 'asn4':
        flags.asn4 = true;
        break;
      case 'route-refresh':
        flags.routeRefresh = true;
        break;
      case 'enhanced-refresh':
        flags.enhancedRefresh = true;
        break;
      case 'extended-message':
        flags.extendedMessage = true;
        break;
      case 'link-local-nexthop':
        flags.linkLocalNextHop = true;
        break;
      case 'addpath':
        addPath = [...addPath, ...typed.families.filter((entry) => !addPath.some((known) => known.family === entry.family))];
        break;
      case 'extended-nexthop':
        extendedNextHop = [...extendedNextHop, ...typed.nextHops];
        break;
      case 'graceful-restart':
        gracefulRestart = typed;
        break;
      case 'llgr':
        longLived = typed.families;
        break;
      case 'fqdn':
        names = typed;
        break;
      case 'software-version':
        softwareVersion = typed.version;
        break;
      case 'malformed':
        malformed.push(typed.code);
        break;
      case 'unknown':
        break;
    }
  }
  return {
    // Whoever sends no capability 1 at all speaks IPv4 unicast (RFC 4760 §8).
    families: families.length === 0 ? [IPV4_UNICAST] : families,
    ...flags,
    addPath,
    extendedNextHop,
    gracefulRestart,
    longLived,
    roles,
    hostName: names.host,
    domainName: names.domain,
    softwareVersion,
    malformed,
  };
}

/** What the configuration, not the OPENs, says about judging this peer's UPDATEs. */
export type SessionPolicy = Pick<ContextFacts, 'ownIpv4' | 'enforceFirstAs' | 'refuseAsSets' | 'confederation'>;

/** First AS enforced (RFC 7606 §7.2), AS_SET refused (RFC 9774). Clients of a transparent route server need the first switched off. */
export const DEFAULT_POLICY: SessionPolicy = { ownIpv4: 0, enforceFirstAs: true, refuseAsSets: true, confederation: false };

export interface Negotiated {
  readonly localAs: number;
  readonly peerAs: number;
  readonly ebgp: boolean;
  readonly asn4: boolean;
  /** The smaller proposal; 0 disables both timers. */
  readonly holdTimeSeconds: number;
  /** A third of the hold time. */
  readonly keepaliveSeconds: number;
  /** Offered by both, ascending. */
  readonly families: readonly Family[];
  readonly addPathReceive: readonly Family[];
  readonly addPathSend: readonly Family[];
  readonly extendedNextHop: readonly ExtendedNextHop[];
  /** We announced it: the peer may send long messages. */
  readonly extendedMessageReceive: boolean;
  /** Both announced it: we may. */
  readonly extendedMessageSend: boolean;
  readonly routeRefresh: boolean;
  readonly enhancedRefresh: boolean;
  readonly linkLocalNextHop: boolean;
  /** What the peer offers, when both sides sent capability 64. */
  readonly gracefulRestart: GracefulRestart | undefined;
  /** What the peer offers, when both sides sent 71 and graceful restart stands (RFC 9494 §4). */
  readonly longLived: readonly LongLivedFamily[];
  readonly localRole: Role | undefined;
  readonly peerRole: Role | undefined;
  readonly peer: Offer;
  /** For a ContextTable: what we read, and what we write. */
  readonly receive: ContextFacts;
  readonly send: ContextFacts;
}

/** `local` is the OPEN we sent, `remote` the one we accepted (`judgeOpen`). */
export function negotiate(local: OpenMessage, remote: OpenMessage, policy: SessionPolicy = DEFAULT_POLICY): Negotiated {
  const ours = readOffer(local.capabilities);
  const theirs = readOffer(remote.capabilities);
  const localAs = openAs(local);
  const peerAs = openAs(remote);
  const asn4 = ours.asn4 && theirs.asn4;
  const families = theirs.families.filter((family) => ours.families.includes(family)).sort((a, b) => a - b);
  const addPathReceive = families.filter((family) => can(ours, family, 'receive') && can(theirs, family, 'send'));
  const addPathSend = families.filter((family) => can(ours, family, 'send') && can(theirs, family, 'receive'));
  const extendedNextHop = ours.extendedNextHop.filter((entry) =>
    theirs.extendedNextHop.some((other) => other.family === entry.family && other.nextHopAfi === entry.nextHopAfi),
  );
  const holdTimeSeconds = Math.min(local.holdTimeSeconds, remote.holdTimeSeconds);
  const facts: ContextFacts = {
    ...PLAIN_FACTS,
    asn4,
    ebgp: localAs !== peerAs,
    localAs,
    peerAs,
    families,
    extendedNextHop: extendedNextHop
      .filter((entry) => entry.family >>> 8 === AFI_IPV4 && entry.nextHopAfi === AFI_IPV6)
      .map((entry) => entry.family),
  };
  return {
    localAs,
    peerAs,
    ebgp: localAs !== peerAs,
    asn4,
    holdTimeSeconds,
    keepaliveSeconds: Math.floor(holdTimeSeconds / 3),
    families,
    addPathReceive,
    addPathSend,
    extendedNextHop,
    extendedMessageReceive: ours.extendedMessage,
    extendedMessageSend: ours.extendedMessage && theirs.extendedMessage,
    routeRefresh: ours.routeRefresh && theirs.routeRefresh,
    enhancedRefresh: ours.enhancedRefresh && theirs.enhancedRefresh,
    linkLocalNextHop: ours.linkLocalNextHop && theirs.linkLocalNextHop,
    gracefulRestart: ours.gracefulRestart === undefined ? undefined : theirs.gracefulRestart,
    longLived:
      ours.longLived.length === 0 || ours.gracefulRestart === undefined || theirs.gracefulRestart === undefined
        ? []
        : theirs.longLived,
    localRole: roleName(ours.roles[0] ?? -1),
    peerRole: roleName(theirs.roles[0] ?? -1),
    peer: theirs,
    receive: { ...facts, ...policy, addPath: addPathReceive, extendedMessage: ours.extendedMessage },
    send: { ...facts, addPath: addPathSend, extendedMessage: ours.extendedMessage && theirs.extendedMessage },
  };
}

function can(offer: Offer, family: Family, way: 'receive' | 'send'): boolean {
  return offer.addPath.some((entry) => entry.family === family && (entry.mode === way || entry.mode === 'send-receive'));
}

const PARTNERS: Readonly<Record<Role, Role>> = {
  provider: 'customer',
  customer: 'provider',
  rs: 'rs-client',
  'rs-client': 'rs',
  peer: 'peer',
};

/**
 * 2/11 when the peer's role does not answer ours, when it sent different ones, or none although `strict` (RFC 9234 §4.2); undefined when
 * there is nothing to refuse, as without a role of our own. For external peers only.
 */
export function judgeRole(localRole: Role | undefined, peer: Offer, strict: boolean): Notification | undefined {
  if (localRole === undefined) return undefined;
  const [first] = peer.roles;
  if (first === undefined) return strict ? notification(OPEN_MESSAGE_ERROR, ROLE_MISMATCH) : undefined;
  const matches = peer.roles.length === 1 && roleName(first) === PARTNERS[localRole];
  return matches ? undefined : notification(OPEN_MESSAGE_ERROR, ROLE_MISMATCH);
}
