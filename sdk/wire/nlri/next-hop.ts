// Next hops of MP_REACH_NLRI: how long they may be for a family, and which address of them to use.
import type { Family } from '../family.ts';
import {
  AFI_IPV4,
  AFI_IPV6,
  SAFI_BGP_LS_VPN,
  SAFI_FLOW,
  SAFI_FLOW_VPN,
  SAFI_MPLS_LABEL,
  SAFI_MPLS_VPN,
  SAFI_MULTICAST,
  SAFI_UNICAST,
} from '../family.ts';

/**
 * True when a next hop of `length` bytes is one the family's documents name (RFC 7606 §7.11). `extended`: RFC 8950 was negotiated for
 * it. FlowSpec ignores its next hop (RFC 8955 §4); a family without a rule here may have any that holds an address.
 */
export function isNextHopLength(family: Family, length: number, extended: boolean): boolean {
  const afi = family >>> 8;
  switch (family & 0xff) {
    case SAFI_UNICAST:
    case SAFI_MULTICAST:
    case SAFI_MPLS_LABEL:
      if (afi === AFI_IPV4) return length === 4 || (extended && (length === 16 || length === 32));
      return afi !== AFI_IPV6 || length === 16 || length === 32;
    case SAFI_MPLS_VPN:
      if (afi === AFI_IPV4) return length === 12 || (extended && (length === 24 || length === 48));
      return length === 24 || length === 48;
    case SAFI_BGP_LS_VPN:
      return length === 12 || length === 24;
    case SAFI_FLOW:
    case SAFI_FLOW_VPN:
      return true;
    default:
      return length === 4 || length === 16 || length === 32 || length === 12 || length === 24 || length === 48;
  }
}

/**
 * One or two addresses (4, 16 or 32 bytes) as MP_REACH_NLRI of the family carries them: VPN families put a zero route distinguisher before
 * each (RFC 4364 §4.3.2); IPv6 families with labels carry an IPv4 address mapped (RFC 4659 §3.2.1.2, RFC 4798 §2).
 */
export function nextHopBytes(address: Uint8Array, family: Family): Uint8Array {
  const safi = family & 0xff;
  if (address.length === 0 || (safi !== SAFI_MPLS_VPN && safi !== SAFI_MPLS_LABEL)) return address;
  const hops = address.length === 4 && family >>> 8 === AFI_IPV6 ? mapped(address) : address;
  if (safi === SAFI_MPLS_LABEL) return hops;
  const size = Math.min(16, hops.length);
  const out = new Uint8Array((hops.length / size) * (8 + size));
  for (let i = 0; i * size < hops.length; i++) out.set(hops.subarray(i * size, (i + 1) * size), i * (8 + size) + 8);
  return out;
}

/** `::ffff:a.b.c.d` */
function mapped(address: Uint8Array): Uint8Array {
  const out = new Uint8Array(16);
  out[10] = out[11] = 0xff;
  out.set(address, 12);
  return out;
}

/** True for fe80::/10. */
export function isLinkLocal(view: DataView, at: number): boolean {
  return (view.getUint16(at) & 0xffc0) === 0xfe80;
}

/** True for `::`. */
export function isUnspecified6(view: DataView, at: number): boolean {
  return (view.getUint32(at) | view.getUint32(at + 4) | view.getUint32(at + 8) | view.getUint32(at + 12)) === 0;
}

/**
 * Which 16 bytes of an IPv6 next hop of 16 or 32 to route by: the first address, or the second when the first is unspecified and the
 * second is link-local (a sender without a global address, RFC 2545 §3). A second address that is not link-local is not looked at.
 * -1 when nothing usable is there: unspecified, loopback or multicast.
 */
export function usableIpv6NextHop(view: DataView, at: number, length: number): number {
  if (isUnspecified6(view, at)) return length === 32 && isLinkLocal(view, at + 16) ? at + 16 : -1;
  if (view.getUint8(at) === 0xff) return -1;
  const loopback = (view.getUint32(at) | view.getUint32(at + 4) | view.getUint32(at + 8)) === 0 && view.getUint32(at + 12) === 1;
  return loopback ? -1 : at;
}

/** A NEXT_HOP no route may have: this network, loopback, multicast, broadcast, or our own address (RFC 4271 §6.3). */
export function isBadIpv4NextHop(address: number, own: number): boolean {
  const first = address >>> 24;
  if (first === 0 || first === 127 || (first & 0xf0) === 0xe0) return true;
  return address === 0xffffffff || (own !== 0 && address === own);
}
