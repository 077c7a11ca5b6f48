// Syntactic correctness of NLRI by family (RFC 7606 §5.3): enough to find where each entry ends and that it can be what it claims.
// What an entry means is its family's business, in a plugin; the families here are those the configuration can name.
import type { Family } from '../family.ts';
import {
  AFI_IPV4,
  AFI_IPV6,
  maxPrefixBits,
  SAFI_BGP_LS,
  SAFI_BGP_LS_VPN,
  SAFI_EVPN,
  SAFI_FLOW,
  SAFI_FLOW_VPN,
  SAFI_MPLS_LABEL,
  SAFI_MPLS_VPN,
  SAFI_MULTICAST,
  SAFI_MUP,
  SAFI_MVPN,
  SAFI_RTC,
  SAFI_UNICAST,
  SAFI_VPLS,
} from '../family.ts';
import { isFlowRule } from './flow.ts';
import { countPrefixes } from './prefix.ts';

/** One entry's length in bytes when `left` bytes from `at` are there (path identifier not included), or -1. Never 0. */
type EntryLength = (view: DataView, at: number, left: number, maxBits: number, withdrawn: boolean) => number;

const ENTRY: Readonly<Record<number, EntryLength>> = {
  [SAFI_MPLS_LABEL]: (view, at, left, maxBits, withdrawn) => labelled(view, at, left, maxBits, 0, withdrawn),
  [SAFI_MPLS_VPN]: (view, at, left, maxBits, withdrawn) => labelled(view, at, left, maxBits, 8, withdrawn),
  [SAFI_MVPN]: typed1,
  [SAFI_EVPN]: evpn,
  [SAFI_MUP]: mup,
  [SAFI_VPLS]: vpls,
  [SAFI_RTC]: routeTarget,
  [SAFI_BGP_LS]: (view, at, left) => typed2(view, at, left, 0),
  [SAFI_BGP_LS_VPN]: (view, at, left) => typed2(view, at, left, 8),
  [SAFI_FLOW]: (view, at, left, maxBits) => flow(view, at, left, 0, maxBits),
  [SAFI_FLOW_VPN]: (view, at, left, maxBits) => flow(view, at, left, 8, maxBits),
};

/**
 * Number of entries in the range, or -1 when it is malformed. A family without a rule is not looked into: 0. `withdrawn`: the entries
 * come from MP_UNREACH_NLRI, where a label is a placeholder (RFC 8277 §2.4).
 */
export function countNlri(
  view: DataView,
  at: number,
  length: number,
  family: Family,
  addPath: boolean,
  withdrawn: boolean,
): number {
  const safi = family & 0xff;
  const maxBits = maxPrefixBits(family >>> 8);
  if (safi === SAFI_UNICAST || safi === SAFI_MULTICAST) {
    return maxBits === 0 ? 0 : countPrefixes(view, at, length, maxBits, addPath);
  }
  const entry = ENTRY[safi];
  if (entry === undefined) return 0;
  const end = at + length;
  let count = 0;
  for (let i = at; i < end; count++) {
    if (addPath) i += 4;
    if (i >= end) return -1;
    const size = entry(view, i, end - i, maxBits, withdrawn);
    if (size < 0 || i + size > end) return -1;
    i += size;
  }
  return count;
}

/**
 * Bytes of the entry at `at` (after its path identifier) when `left` bytes are there, or -1: malformed, or a family without a rule. Never 0.
 */
export function nlriLength(view: DataView, at: number, left: number, family: Family, withdrawn: boolean): number {
  const safi = family & 0xff;
  const maxBits = maxPrefixBits(family >>> 8);
  if (safi !== SAFI_UNICAST && safi !== SAFI_MULTICAST) return ENTRY[safi]?.(view, at, left, maxBits, withdrawn) ?? -1;
  if (left < 1 || view.getUint8(at) > maxBits) return -1;
  const size = 1 + ((view.getUint8(at) + 7) >>> 3);
  return size <= left ? size : -1;
}

/**
 * As `nlriLength`; of a family whose syntax only its plugin knows, all that is left: what one message says in one field is one entry, and is
 * withdrawn as it was announced.
 */
export function entryLength(view: DataView, at: number, left: number, family: Family, withdrawn: boolean): number {
  const known = nlriLength(view, at, left, family, withdrawn);
  return known < 0 && left > 0 && !hasSyntax(family) ? left : known;
}

/** Are there rules for entries of this family here? */
export function hasSyntax(family: Family): boolean {
  const safi = family & 0xff;
  return safi === SAFI_UNICAST || safi === SAFI_MULTICAST ? maxPrefixBits(family >>> 8) > 0 : ENTRY[safi] !== undefined;
}

/** Length octet in bits covering labels, `rd` bytes and prefix (RFC 8277 §2.2, RFC 4364 §4.3.4). */
function labelled(view: DataView, at: number, left: number, maxBits: number, rd: number, withdrawn: boolean): number {
  const bits = view.getUint8(at);
  const size = 1 + ((bits + 7) >>> 3);
  if (maxBits === 0 || size > left) return -1;
  let used = 0;
  for (;;) {
    if (used + 24 + 8 * rd > bits) return -1;
    const label = (view.getUint16(at + 1 + used / 8) << 8) | view.getUint8(at + 3 + used / 8);
    used += 24;
    if ((label & 1) !== 0 || (withdrawn && used === 24 && (label === 0x800000 || label === 0))) break;
  }
  return bits - used - 8 * rd <= maxBits ? size : -1;
}

/** Route type and length octets (RFC 6514 §4). */
function typed1(view: DataView, at: number, left: number): number {
  return left < 2 ? -1 : 2 + view.getUint8(at + 1);
}

/** EVPN (RFC 7432 §7, RFC 9136 §3.1): fixed lengths of the known types; an unknown type passes, its receiver discards it. */
function evpn(view: DataView, at: number, left: number): number {
  if (left < 2) return -1;
  const length = view.getUint8(at + 1);
  if (2 + length > left) return -1;
  const value = at + 2;
  switch (view.getUint8(at)) {
    case 1: // Ethernet auto-discovery: RD, ESI, tag, label
      return length === 25 ? 27 : -1;
    case 2: // MAC/IP: RD, ESI, tag, MAC of 48 bits, IP of 0, 32 or 128 bits, one or two labels
      return evpnMacIp(view, value, length) ? 2 + length : -1;
    case 3: // inclusive multicast: RD, tag, IP
      return evpnAddress(view, value + 12, length - 12) ? 2 + length : -1;
    case 4: // Ethernet segment: RD, ESI, IP
      return evpnAddress(view, value + 18, length - 18) ? 2 + length : -1;
    case 5: // IP prefix: RD, ESI, tag, length, prefix, gateway, label; both versions fixed
      if (length !== 34 && length !== 58) return -1;
      return view.getUint8(value + 22) <= (length === 34 ? 32 : 128) ? 2 + length : -1;
    default:
      return 2 + length;
  }
}

function evpnMacIp(view: DataView, at: number, length: number): boolean {
  if (length < 33 || view.getUint8(at + 22) !== 48) return false;
  const bits = view.getUint8(at + 29);
  if (bits !== 0 && bits !== 32 && bits !== 128) return false;
  const labels = length - 30 - bits / 8;
  return labels === 3 || labels === 6;
}

function evpnAddress(view: DataView, at: number, left: number): boolean {
  if (left < 1) return false;
  const bits = view.getUint8(at);
  return (bits === 32 && left === 5) || (bits === 128 && left === 17);
}

/** Architecture type, two-octet route type, length octet (draft-ietf-bess-mup-safi §3.1). */
function mup(view: DataView, at: number, left: number): number {
  return left < 4 ? -1 : 4 + view.getUint8(at + 3);
}

/** Two-octet length, always 17: RD, edge, block and label base (RFC 4761 §3.2.2). */
function vpls(view: DataView, at: number, left: number): number {
  return left >= 2 && view.getUint16(at) === 17 ? 19 : -1;
}

/** A prefix of origin AS and route target: 0 or 32..96 bits (RFC 4684 §4). */
function routeTarget(view: DataView, at: number): number {
  const bits = view.getUint8(at);
  return bits === 0 || (bits >= 32 && bits <= 96) ? 1 + ((bits + 7) >>> 3) : -1;
}

/** Two-octet type and length, the value at least `least` bytes (RFC 9552 §5.2). */
function typed2(view: DataView, at: number, left: number, least: number): number {
  if (left < 4) return -1;
  const length = view.getUint16(at + 2);
  return length < least ? -1 : 4 + length;
}

/** Length of one octet below 240, else of twelve bits (RFC 8955 §4.1), a distinguisher of `rd` bytes, components. */
function flow(view: DataView, at: number, left: number, rd: number, maxBits: number): number {
  let head = 1;
  let length = view.getUint8(at);
  if (length >= 0xf0) {
    if (left < 2) return -1;
    head = 2;
    length = view.getUint16(at) & 0xfff;
  }
  if (head + length > left || length <= rd) return -1;
  const afi = maxBits === 128 ? AFI_IPV6 : AFI_IPV4;
  return isFlowRule(view, at + head + rd, length - rd, afi) ? head + length : -1;
}
