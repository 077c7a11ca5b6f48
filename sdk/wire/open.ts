// OPEN (RFC 4271 §4.2) with capabilities (RFC 5492), in the plain and in the extended form (RFC 9072), and the judgement of a peer's
// (RFC 4271 §6.2, 6286, 7607).
import type { Capability } from './capability/capability.ts';
import { CAP_ASN4 } from './capability/capability.ts';
import { AS_TRANS } from './context.ts';
import { HEADER_LENGTH, OPEN, writeHeader } from './message.ts';
import {
  BAD_BGP_IDENTIFIER,
  BAD_PEER_AS,
  type Notification,
  notification,
  OPEN_MESSAGE_ERROR,
  UNACCEPTABLE_HOLD_TIME,
  UNSUPPORTED_CAPABILITY,
  UNSUPPORTED_OPTIONAL_PARAMETER,
  UNSUPPORTED_VERSION,
} from './notification.ts';

export const BGP_VERSION = 4;
const CAPABILITIES_PARAMETER = 2;
const EXTENDED = 255;

export interface OpenMessage {
  readonly version: number;
  /** The My Autonomous System field; the real AS is `openAs`. */
  readonly myAs: number;
  readonly holdTimeSeconds: number;
  /** BGP Identifier as u32. */
  readonly routerId: number;
  /** In the order sent, duplicates and unknown ones included. */
  readonly capabilities: readonly Capability[];
}

export type OpenResult =
  | { readonly ok: true; readonly value: OpenMessage }
  | { readonly ok: false; readonly fault: Notification };

const MALFORMED = notification(OPEN_MESSAGE_ERROR, 0);

/**
 * Reads the OPEN of `length` bytes (at least 29, see `checkHeader`) at `at`; values of capabilities are copies. Faults: 2/1 with our
 * version, 2/4 for a parameter that is not capabilities, 2/0 when a length does not fit what holds it.
 */
export function decodeOpen(bytes: Uint8Array, at: number, length: number): OpenResult {
  const end = at + length;
  const body = at + HEADER_LENGTH;
  if (length < 29) return { ok: false, fault: MALFORMED };
  const version = bytes[body]!;
  if (version !== BGP_VERSION) {
    return { ok: false, fault: notification(OPEN_MESSAGE_ERROR, UNSUPPORTED_VERSION, Uint8Array.of(0, BGP_VERSION)) };
  }
  const capabilities: Capability[] = [];
  const fault = readParameters(bytes, body + 9, end, capabilities);
  if (fault !== undefined) return { ok: false, fault };
  return {
    ok: true,
    value: {
      version,
      myAs: u16(bytes, body + 1),
      holdTimeSeconds: u16(bytes, body + 3),
      routerId: u16(bytes, body + 5) * 0x10000 + u16(bytes, body + 7),
      capabilities,
    },
  };
}

/** `at` is the Optional Parameters Length octet; the parameters must end where the message does. */
function readParameters(bytes: Uint8Array, at: number, end: number, into: Capability[]): Notification | undefined {
  const short = bytes[at]!;
  // RFC 9072 §2: the type octet that follows tells the extended form, whatever the short length says, unless that is 0.
  const extended = short !== 0 && at + 1 < end && bytes[at + 1] === EXTENDED;
  if (extended && at + 4 > end) return MALFORMED;
  let i = extended ? at + 4 : at + 1;
  if (i + (extended ? u16(bytes, at + 2) : short) !== end) return MALFORMED;
  const head = extended ? 3 : 2;
  while (i < end) {
    if (i + head > end) return MALFORMED;
    const type = bytes[i]!;
    const size = extended ? u16(bytes, i + 1) : bytes[i + 1]!;
    i += head;
    if (i + size > end) return MALFORMED;
    if (type !== CAPABILITIES_PARAMETER) return notification(OPEN_MESSAGE_ERROR, UNSUPPORTED_OPTIONAL_PARAMETER);
    if (!readCapabilities(bytes, i, i + size, into)) return MALFORMED;
    i += size;
  }
  return undefined;
}

/** Appends the capabilities of one parameter; false when one overruns it. */
function readCapabilities(bytes: Uint8Array, at: number, end: number, into: Capability[]): boolean {
  let i = at;
  while (i < end) {
    if (i + 2 > end) return false;
    const valueAt = i + 2;
    const next = valueAt + bytes[i + 1]!;
    if (next > end) return false;
    into.push({ code: bytes[i]!, value: bytes.slice(valueAt, next) });
    i = next;
  }
  return true;
}

/**
 * The whole message: one capabilities parameter, none when there are no capabilities. The extended form is used when the plain one
 * cannot hold them (RFC 9072 §2) or when asked for. Throws a RangeError when a capability or all of them are too long for any form:
 * the values are ours.
 */
export function encodeOpen(open: OpenMessage, forceExtended = false): Uint8Array {
  let size = 0;
  for (const { value } of open.capabilities) {
    if (value.length > 255) throw new RangeError('capability value longer than 255 bytes');
    size += 2 + value.length;
  }
  const extended = forceExtended || size + 2 > 255;
  const parameters = size === 0 ? 0 : size + (extended ? 3 : 2);
  const length = HEADER_LENGTH + 10 + (extended ? 3 : 0) + parameters;
  if (length > 4096) throw new RangeError('capabilities do not fit an OPEN');
  const out = new Uint8Array(length);
  let i = writeHeader(out, 0, length, OPEN);
  out[i] = open.version;
  i = putU16(out, i + 1, open.myAs);
  i = putU16(out, i, open.holdTimeSeconds);
  i = putU16(out, i, open.routerId >>> 16);
  i = putU16(out, i, open.routerId & 0xffff);
  out[i++] = extended ? EXTENDED : parameters;
  if (extended) {
    out[i++] = EXTENDED;
    i = putU16(out, i, parameters);
  }
  if (size === 0) return out;
  out[i++] = CAPABILITIES_PARAMETER;
  if (extended) i = putU16(out, i, size);
  else out[i++] = size;
  for (const { code, value } of open.capabilities) {
    out[i] = code;
    out[i + 1] = value.length;
    out.set(value, i + 2);
    i += 2 + value.length;
  }
  return out;
}

/** The speaker's AS: the last well-formed capability 65, else the two-octet field (RFC 6793 §4.1). */
export function openAs(open: OpenMessage): number {
  const four = open.capabilities.findLast((capability) => capability.code === CAP_ASN4 && capability.value.length === 4);
  return four === undefined ? open.myAs : u16(four.value, 0) * 0x10000 + u16(four.value, 2);
}

/** The My Autonomous System field for an AS. */
export function shortAs(asn: number): number {
  return asn > 0xffff ? AS_TRANS : asn;
}

export interface OpenExpectation {
  /** The configured neighbour AS; 0 accepts any. */
  readonly peerAs: number;
  readonly localAs: number;
  readonly localRouterId: number;
}

/**
 * What is wrong with a peer's OPEN that could be read (RFC 4271 §6.2): AS 0 or not the configured one 2/2 (RFC 7607), identifier 0, or
 * ours inside our AS, 2/3 (RFC 6286 §2.1), hold time 1 or 2 2/6. Undefined: nothing.
 */
export function judgeOpen(open: OpenMessage, expected: OpenExpectation): Notification | undefined {
  const asn = openAs(open);
  if (asn === 0 || open.myAs === 0 || (expected.peerAs !== 0 && asn !== expected.peerAs)) {
    return notification(OPEN_MESSAGE_ERROR, BAD_PEER_AS);
  }
  if (open.routerId === 0 || (asn === expected.localAs && open.routerId === expected.localRouterId)) {
    return notification(OPEN_MESSAGE_ERROR, BAD_BGP_IDENTIFIER);
  }
  if (open.holdTimeSeconds === 1 || open.holdTimeSeconds === 2) return notification(OPEN_MESSAGE_ERROR, UNACCEPTABLE_HOLD_TIME);
  return undefined;
}

/** 2/7 with the capabilities in question as data, coded as in OPEN (RFC 5492 §5). */
export function unsupportedCapability(capabilities: readonly Capability[]): Notification {
  const data = capabilities.flatMap(({ code, value }) => [code, value.length, ...value]);
  return notification(OPEN_MESSAGE_ERROR, UNSUPPORTED_CAPABILITY, Uint8Array.from(data));
}

function u16(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

function putU16(out: Uint8Array, at: number, value: number): number {
  out[at] = value >>> 8;
  out[at + 1] = value & 0xff;
  return at + 2;
}
