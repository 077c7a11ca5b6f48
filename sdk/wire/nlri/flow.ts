// Whether the components of one FlowSpec rule are what RFC 8955 §4.2 and RFC 8956 §3 allow. A rule that is cut, misordered or unknown in
// part is malformed as a whole: read loosely it would match more than its sender meant.
import { AFI_IPV6 } from '../family.ts';

/** Types 3..12 carry operators and values; 13, the flow label, is IPv6 alone. */
const FIRST_OPERATORS = 3;
const LAST_IPV4 = 12;
const FLOW_LABEL = 13;
const END_OF_LIST = 0x80;

/** True when `length` bytes at `at` (a distinguisher already passed) are at least one component, in order, and nothing else. */
export function isFlowRule(view: DataView, at: number, length: number, afi: number): boolean {
  const end = at + length;
  const ipv6 = afi === AFI_IPV6;
  let last = 0;
  let i = at;
  while (i < end) {
    const type = view.getUint8(i);
    if (type <= last || type > (ipv6 ? FLOW_LABEL : LAST_IPV4)) return false;
    last = type;
    i = type >= FIRST_OPERATORS ? operators(view, i + 1, end) : ipv6 ? pattern(view, i + 1, end) : prefix(view, i + 1, end);
    if (i < 0) return false;
  }
  return i === end && last !== 0;
}

/** Offset after the list of operators, or -1 when it does not end inside. */
function operators(view: DataView, at: number, end: number): number {
  let i = at;
  while (i < end) {
    const operator = view.getUint8(i);
    i += 1 + (1 << ((operator >>> 4) & 3));
    if (i > end) return -1;
    if ((operator & END_OF_LIST) !== 0) return i;
  }
  return -1;
}

/** RFC 8955 §4.2.2.1: length in bits, prefix. */
function prefix(view: DataView, at: number, end: number): number {
  if (at >= end) return -1;
  const bits = view.getUint8(at);
  const next = at + 1 + ((bits + 7) >>> 3);
  return bits > 32 || next > end ? -1 : next;
}

/** RFC 8956 §3.1: length and offset in bits, then the bits between them. */
function pattern(view: DataView, at: number, end: number): number {
  if (at + 2 > end) return -1;
  const bits = view.getUint8(at);
  const offset = view.getUint8(at + 1);
  if (bits > 128 || (offset >= bits && bits + offset !== 0)) return -1;
  const next = at + 2 + ((bits - offset + 7) >>> 3);
  return next > end ? -1 : next;
}
