// Capabilities of OPEN (RFC 5492): a code and its value, as sent; what the known ones mean is in `typed.ts`.

/** `value` is the capability's own bytes, at most 255; a view into the message until copied. */
export interface Capability {
  readonly code: number;
  readonly value: Uint8Array;
}

export const CAP_MULTIPROTOCOL = 1;
export const CAP_ROUTE_REFRESH = 2;
export const CAP_EXTENDED_NEXTHOP = 5;
export const CAP_EXTENDED_MESSAGE = 6;
export const CAP_ROLE = 9;
export const CAP_GRACEFUL_RESTART = 64;
export const CAP_ASN4 = 65;
export const CAP_ADDPATH = 69;
export const CAP_ENHANCED_REFRESH = 70;
export const CAP_LLGR = 71;
export const CAP_FQDN = 73;
export const CAP_SOFTWARE_VERSION = 75;
export const CAP_LINK_LOCAL_NEXTHOP = 77;

const LABELS: ReadonlyMap<number, string> = new Map([
  [CAP_MULTIPROTOCOL, 'multiprotocol'],
  [CAP_ROUTE_REFRESH, 'route-refresh'],
  [CAP_EXTENDED_NEXTHOP, 'extended-nexthop'],
  [CAP_EXTENDED_MESSAGE, 'extended-message'],
  [CAP_ROLE, 'role'],
  [CAP_GRACEFUL_RESTART, 'graceful-restart'],
  [CAP_ASN4, 'asn4'],
  [CAP_ADDPATH, 'addpath'],
  [CAP_ENHANCED_REFRESH, 'enhanced-refresh'],
  [CAP_LLGR, 'long-lived-graceful-restart'],
  [CAP_FQDN, 'fqdn'],
  [CAP_SOFTWARE_VERSION, 'software-version'],
  [CAP_LINK_LOCAL_NEXTHOP, 'link-local-nexthop'],
]);

/** The capabilities whose value events spell out; the rest are `unknown-N` there, with their bytes in hex. */
const EVENT_NAMES: readonly number[] = [CAP_MULTIPROTOCOL, CAP_ASN4, CAP_EXTENDED_MESSAGE, CAP_ADDPATH, CAP_EXTENDED_NEXTHOP];

/** For people: `graceful-restart`, … or `unknown-N`. */
export function capabilityLabel(code: number): string {
  return LABELS.get(code) ?? `unknown-${code}`;
}

/** For `open.capabilities[].name` in events. */
export function capabilityEventName(code: number): string {
  return EVENT_NAMES.includes(code) ? capabilityLabel(code) : `unknown-${code}`;
}
