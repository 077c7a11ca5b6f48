// Communities as text: standard (RFC 1997), large (RFC 8092), extended (RFC 4360). What is written reads back to the same bytes.
import { formatIpv4, parseDecimal, parseIpv4 } from '../address.ts';
import { fromHex, toHex, viewOf } from '../bytes.ts';

/** Names accepted for standard communities; events and listings show numbers. */
export const WELL_KNOWN_COMMUNITIES: ReadonlyMap<string, number> = new Map([
  ['graceful-shutdown', 0xffff0000],
  ['llgr-stale', 0xffff0006],
  ['no-llgr', 0xffff0007],
  ['blackhole', 0xffff029a],
  ['no-export', 0xffffff01],
  ['no-advertise', 0xffffff02],
  ['no-export-subconfed', 0xffffff03],
  ['nopeer', 0xffffff04],
]);

/** `64500:80`. */
export function formatCommunity(value: number): string {
  return `${value >>> 16}:${value & 0xffff}`;
}

/** The name where there is one, else the numbers. */
export function communityLabel(value: number): string {
  for (const [name, number] of WELL_KNOWN_COMMUNITIES) if (number === value) return name;
  return formatCommunity(value);
}

/** Reads `AA:NN` or a well-known name as u32; -1 when it is neither. */
export function parseCommunity(text: string): number {
  const named = WELL_KNOWN_COMMUNITIES.get(text);
  if (named !== undefined) return named;
  const colon = text.indexOf(':');
  const high = parseDecimal(text, 0, colon, 0xffff);
  const low = parseDecimal(text, colon + 1, text.length, 0xffff);
  return colon < 1 || high < 0 || low < 0 ? -1 : high * 0x10000 + low;
}

/** `64500:1:2` of the twelve bytes at `at`. */
export function formatLargeCommunity(view: DataView, at: number): string {
  return `${view.getUint32(at)}:${view.getUint32(at + 4)}:${view.getUint32(at + 8)}`;
}

/** Writes the twelve bytes of `A:B:C`; false when it is not one. */
export function parseLargeCommunity(text: string, out: Uint8Array, at: number): boolean {
  const parts = text.split(':');
  if (parts.length !== 3) return false;
  const view = viewOf(out);
  for (const [index, part] of parts.entries()) {
    const value = parseDecimal(part, 0, part.length, 0xffffffff);
    if (value < 0) return false;
    view.setUint32(at + 4 * index, value);
  }
  return true;
}

/** First two bytes → name, for those that hold an administrator and a number (RFC 4360 §4, RFC 5668, RFC 8955 §7.4). */
const ADMINISTERED: ReadonlyMap<number, string> = new Map([
  [0x0002, 'target'],
  [0x0102, 'target'],
  [0x0202, 'target'],
  [0x0003, 'origin'],
  [0x0103, 'origin'],
  [0x0203, 'origin'],
  [0x8008, 'redirect'],
  [0x8108, 'redirect'],
  [0x8208, 'redirect'],
]);

const RATE_LIMIT = 0x8006;
const ACTION = 0x8007;
const MARK = 0x8009;
const L2INFO = 0x800a;
/** draft-ietf-idr-flowspec-redirect-ip: all zero, the last bit means copy. */
const TO_NEXTHOP = 0x0800;
const ACTIONS = ['action:none', 'action:terminal', 'action:sample', 'action:sample-terminal'] as const;

/**
 * Text of the eight bytes at `at`: `target:64500:9`, `origin:192.0.2.1:9`, `redirect:64500:9`, `rate-limit:0`, `mark:10`,
 * `action:sample`, `l2info:19:0:1500:111`, `redirect-to-nexthop`, `copy-to-nexthop`, else `0x` type subtype `:` value in hex. An AS
 * number in four octets that would fit two ends in `L`; a rate limit with an AS is `rate-limit:AS:N`.
 */
export function formatExtendedCommunity(bytes: Uint8Array, at: number): string {
  const view = viewOf(bytes);
  const kind = view.getUint16(at);
  const name = ADMINISTERED.get(kind);
  if (name !== undefined) return `${name}:${administrator(view, kind, at)}`;
  const text = formatFlowAction(view, kind, at);
  return text ?? `0x${toHex(bytes, at, 2)}:${toHex(bytes, at + 2, 6)}`;
}

function administrator(view: DataView, kind: number, at: number): string {
  switch ((kind >>> 8) & 3) {
    case 0:
      return `${view.getUint16(at + 2)}:${view.getUint32(at + 4)}`;
    case 1:
      return `${formatIpv4(view.getUint32(at + 2))}:${view.getUint16(at + 6)}`;
    default: {
      const asn = view.getUint32(at + 2);
      return `${asn}${asn > 0xffff ? '' : 'L'}:${view.getUint16(at + 6)}`;
    }
  }
}

/** Undefined when bytes that ought to be zero are not: then only hex tells the whole. */
function formatFlowAction(view: DataView, kind: number, at: number): string | undefined {
  const high = view.getUint32(at + 2);
  switch (kind) {
    case RATE_LIMIT: {
      const rate = view.getFloat32(at + 4);
      const asn = view.getUint16(at + 2);
      if (!Number.isFinite(rate) || Object.is(rate, -0) || rate < 0) return undefined;
      return asn === 0 ? `rate-limit:${rate}` : `rate-limit:${asn}:${rate}`;
    }
    case ACTION:
      return high === 0 && view.getUint16(at + 6) <= 3 ? ACTIONS[view.getUint16(at + 6)] : undefined;
    case MARK:
      return high === 0 && view.getUint16(at + 6) <= 63 ? `mark:${view.getUint16(at + 6)}` : undefined;
    case L2INFO:
      return `l2info:${view.getUint8(at + 2)}:${view.getUint8(at + 3)}:${view.getUint16(at + 4)}:${view.getUint16(at + 6)}`;
    case TO_NEXTHOP:
      if (high !== 0 || view.getUint16(at + 6) > 1) return undefined;
      return view.getUint16(at + 6) === 1 ? 'copy-to-nexthop' : 'redirect-to-nexthop';
    default:
      return undefined;
  }
}

/**
 * Writes the eight bytes of a text `formatExtendedCommunity` could give, or of `0x` and sixteen hex digits; a blank may stand for the
 * colon after the word (`mark 10`). False when it is none of these; `out` is then unchanged.
 */
export function parseExtendedCommunity(text: string, out: Uint8Array, at: number): boolean {
  const value = text.startsWith('0x')
    ? fromHex(text.slice(2).replace(/^(.{4}):/, '$1'))
    : parseNamed(text.replace(' ', ':').split(':'));
  if (value?.length !== 8) return false;
  out.set(value, at);
  return true;
}

function parseNamed(parts: readonly string[]): Uint8Array | undefined {
  const [word, first, second] = parts;
  const out = new Uint8Array(8);
  const view = viewOf(out);
  switch (word) {
    case 'target':
    case 'origin':
    case 'redirect':
      if (parts.length !== 3 || first === undefined || second === undefined) return undefined;
      return writeAdministered(view, word, first, second) ? out : undefined;
    case 'rate-limit': {
      const asn = parts.length === 3 ? decimal(first, 0xffff) : 0;
      const rate = Number(parts.length === 3 ? second : first);
      if (parts.length > 3 || asn < 0 || !/^\d[\d.e+-]*$/.test(parts.at(-1) ?? '') || !Number.isFinite(rate)) return undefined;
      view.setUint16(0, RATE_LIMIT);
      view.setUint16(2, asn);
      view.setFloat32(4, rate);
      return out;
    }
    case 'action': {
      const bits = ACTIONS.findIndex((action) => action === parts.join(':'));
      return bits < 0 ? undefined : putPair(view, ACTION, bits, out);
    }
    case 'mark': {
      const code = parts.length === 2 ? decimal(first, 63) : -1;
      return code < 0 ? undefined : putPair(view, MARK, code, out);
    }
    case 'l2info':
      return parseL2Info(parts.slice(1), view, out);
    case 'redirect-to-nexthop':
    case 'copy-to-nexthop':
      return parts.length === 1 ? putPair(view, TO_NEXTHOP, word === 'copy-to-nexthop' ? 1 : 0, out) : undefined;
    default:
      return undefined;
  }
}

function putPair(view: DataView, kind: number, value: number, out: Uint8Array): Uint8Array {
  view.setUint16(0, kind);
  view.setUint16(6, value);
  return out;
}

function parseL2Info(parts: readonly string[], view: DataView, out: Uint8Array): Uint8Array | undefined {
  const limits = [0xff, 0xff, 0xffff, 0xffff];
  const values = limits.map((limit, index) => decimal(parts[index], limit));
  if (parts.length !== 4 || values.some((value) => value < 0)) return undefined;
  view.setUint16(0, L2INFO);
  view.setUint8(2, values[0]!);
  view.setUint8(3, values[1]!);
  view.setUint16(4, values[2]!);
  view.setUint16(6, values[3]!);
  return out;
}

const SUBTYPES = { target: 0x0002, origin: 0x0003, redirect: 0x8008 } as const;

/** The type follows from the administrator: an address, an AS of four octets (large, or marked `L`), or an AS of two. */
function writeAdministered(view: DataView, word: keyof typeof SUBTYPES, first: string, second: string): boolean {
  const address = parseIpv4(first);
  const marked = first.endsWith('L');
  const asn = decimal(marked ? first.slice(0, -1) : first, 0xffffffff);
  if (address < 0 && asn < 0) return false;
  const wide = address >= 0 || marked || asn > 0xffff;
  const number = decimal(second, wide ? 0xffff : 0xffffffff);
  if (number < 0) return false;
  view.setUint16(0, SUBTYPES[word] | (address >= 0 ? 0x100 : wide ? 0x200 : 0));
  if (wide) {
    view.setUint32(2, address >= 0 ? address : asn);
    view.setUint16(6, number);
  } else {
    view.setUint16(2, asn);
    view.setUint32(4, number);
  }
  return true;
}

function decimal(text: string | undefined, maximum: number): number {
  return text === undefined ? -1 : parseDecimal(text, 0, text.length, maximum);
}
