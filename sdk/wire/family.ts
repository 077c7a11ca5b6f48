// An address family is one integer, `afi << 8 | safi`, from the first byte read to the last column stored; its name is for people.

export const AFI_IPV4 = 1;
export const AFI_IPV6 = 2;
export const AFI_L2VPN = 25;
export const AFI_BGP_LS = 16388;

export const SAFI_UNICAST = 1;
export const SAFI_MULTICAST = 2;
export const SAFI_MPLS_LABEL = 4;
export const SAFI_MVPN = 5;
export const SAFI_VPLS = 65;
export const SAFI_EVPN = 70;
export const SAFI_BGP_LS = 71;
export const SAFI_BGP_LS_VPN = 72;
export const SAFI_MUP = 85;
export const SAFI_MPLS_VPN = 128;
export const SAFI_RTC = 132;
export const SAFI_FLOW = 133;
export const SAFI_FLOW_VPN = 134;

/** `afi << 8 | safi`; 0 means none. */
export type Family = number;

export const NO_FAMILY: Family = 0;
export const IPV4_UNICAST: Family = (AFI_IPV4 << 8) | SAFI_UNICAST;
export const IPV4_MULTICAST: Family = (AFI_IPV4 << 8) | SAFI_MULTICAST;
export const IPV6_UNICAST: Family = (AFI_IPV6 << 8) | SAFI_UNICAST;
export const IPV6_MULTICAST: Family = (AFI_IPV6 << 8) | SAFI_MULTICAST;

const AFI_NAMES: ReadonlyMap<number, string> = new Map([
  [AFI_IPV4, 'ipv4'],
  [AFI_IPV6, 'ipv6'],
  [AFI_L2VPN, 'l2vpn'],
  [AFI_BGP_LS, 'bgp-ls'],
]);

const SAFI_NAMES: ReadonlyMap<number, string> = new Map([
  [SAFI_UNICAST, 'unicast'],
  [SAFI_MULTICAST, 'multicast'],
  [SAFI_MPLS_LABEL, 'mpls-label'],
  [SAFI_MVPN, 'mvpn'],
  [SAFI_VPLS, 'vpls'],
  [SAFI_EVPN, 'evpn'],
  [SAFI_BGP_LS, 'bgp-ls'],
  [SAFI_BGP_LS_VPN, 'bgp-ls-vpn'],
  [SAFI_MUP, 'mup'],
  [SAFI_MPLS_VPN, 'mpls-vpn'],
  [SAFI_RTC, 'rtc'],
  [SAFI_FLOW, 'flow'],
  [SAFI_FLOW_VPN, 'flow-vpn'],
]);

/** Older spellings that are still read, never written. */
const SAFI_ALIASES: ReadonlyMap<string, number> = new Map([
  ['nlri-mpls', SAFI_MPLS_LABEL],
  ['flowspec', SAFI_FLOW],
  ['flowspec-vpn', SAFI_FLOW_VPN],
]);

const AFI_NUMBERS: ReadonlyMap<string, number> = new Map([...AFI_NAMES].map(([number, name]) => [name, number]));
const SAFI_NUMBERS: ReadonlyMap<string, number> = new Map([
  ...SAFI_ALIASES,
  ...[...SAFI_NAMES].map(([number, name]): [string, number] => [name, number]),
]);

/** Every family that has a name of its own in the configuration, ascending by number. */
export const NAMED_FAMILIES: readonly Family[] = [
  ...[AFI_IPV4, AFI_IPV6].flatMap((afi) =>
    [
      SAFI_UNICAST,
      SAFI_MULTICAST,
      SAFI_MPLS_LABEL,
      SAFI_MVPN,
      SAFI_MUP,
      SAFI_MPLS_VPN,
      SAFI_RTC,
      SAFI_FLOW,
      SAFI_FLOW_VPN,
    ].flatMap((safi) => (safi === SAFI_RTC && afi === AFI_IPV6 ? [] : [familyOf(afi, safi)])),
  ),
  familyOf(AFI_L2VPN, SAFI_VPLS),
  familyOf(AFI_L2VPN, SAFI_EVPN),
  familyOf(AFI_BGP_LS, SAFI_BGP_LS),
  familyOf(AFI_BGP_LS, SAFI_BGP_LS_VPN),
];

export function familyOf(afi: number, safi: number): Family {
  return (afi << 8) | safi;
}

export function afiOf(family: Family): number {
  return family >>> 8;
}

export function safiOf(family: Family): number {
  return family & 0xff;
}

/** `ipv4`, `l2vpn`, … or `afi-N`. */
export function afiName(afi: number): string {
  return AFI_NAMES.get(afi) ?? `afi-${afi}`;
}

/** `unicast`, `evpn`, … or `safi-N`. */
export function safiName(safi: number): string {
  return SAFI_NAMES.get(safi) ?? `safi-${safi}`;
}

/**
 * Names that this thread has learnt for families without one of their own: like the tables above, what a number is called, and the one
 * thing here that grows. A plugin's declaration brings it (engine/decisions/0006).
 */
const LEARNT = new Map<Family, string>();
const LEARNT_NUMBERS = new Map<string, Family>();
/** More than that nobody is called by name; a family has 24 bits. */
const LEARNT_LIMIT = 4096;

/** From now on the family is shown and read by this name, lower case. Families that have a name keep it. */
export function nameFamily(family: Family, name: string): void {
  if (standardFamily(name) !== NO_FAMILY || LEARNT.get(family) === name) return;
  if (AFI_NAMES.has(family >>> 8) && SAFI_NAMES.has(family & 0xff)) return;
  const before = LEARNT.get(family);
  if (before === undefined && LEARNT.size >= LEARNT_LIMIT) return;
  if (before !== undefined) LEARNT_NUMBERS.delete(before);
  LEARNT.set(family, name);
  LEARNT_NUMBERS.set(name, family);
}

/** What `nameFamily` was told, for completion. */
export function learntFamilies(): readonly string[] {
  return [...LEARNT.values()];
}

/** `ipv4/unicast`, the name a plugin gave it, or `afi-N/safi-N` where a part has no name. */
export function familyName(family: Family): string {
  return LEARNT.get(family) ?? `${afiName(family >>> 8)}/${safiName(family & 0xff)}`;
}

/** Reads what `familyName` writes, and the older spellings; NO_FAMILY when it is neither. */
export function parseFamily(text: string): Family {
  return LEARNT_NUMBERS.get(text) ?? standardFamily(text);
}

/** As `parseFamily`, without the names that plugins brought. */
export function standardFamily(text: string): Family {
  const slash = text.indexOf('/');
  if (slash < 0) return NO_FAMILY;
  const afi = parsePart(text.slice(0, slash), 'afi-', 0xffff, AFI_NUMBERS);
  const safi = parsePart(text.slice(slash + 1), 'safi-', 0xff, SAFI_NUMBERS);
  return afi < 0 || safi < 0 ? NO_FAMILY : familyOf(afi, safi);
}

function parsePart(text: string, prefix: string, maximum: number, names: ReadonlyMap<string, number>): number {
  const named = names.get(text);
  if (named !== undefined) return named;
  if (!text.startsWith(prefix)) return -1;
  const digits = text.slice(prefix.length);
  if (!/^\d{1,5}$/.test(digits)) return -1;
  const value = Number(digits);
  return value <= maximum ? value : -1;
}

/** Longest prefix of the AFI in bits: 32, 128, or 0 where the AFI has no address length. */
export function maxPrefixBits(afi: number): number {
  return afi === AFI_IPV4 ? 32 : afi === AFI_IPV6 ? 128 : 0;
}

/** True for the families whose NLRI is a plain prefix: IPv4 and IPv6, unicast and multicast. */
export function isPrefixFamily(family: Family): boolean {
  return family === IPV4_UNICAST || family === IPV6_UNICAST || family === IPV4_MULTICAST || family === IPV6_MULTICAST;
}
