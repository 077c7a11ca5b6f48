// NOTIFICATION (RFC 4271 §4.5): what ends a session, its names, and the text a peer may send along (RFC 9003).
import { HEADER_LENGTH, MAX_MESSAGE, NOTIFICATION, writeHeader } from './message.ts';
import { type DecodedText, decodeUtf8, encodeUtf8 } from './utf8.ts';

export const MESSAGE_HEADER_ERROR = 1;
export const OPEN_MESSAGE_ERROR = 2;
/** UPDATE Message Error and its subcodes are in `fault.ts`. */
export const HOLD_TIMER_EXPIRED = 4;
export const FSM_ERROR = 5;
export const CEASE = 6;
export const ROUTE_REFRESH_ERROR = 7;
export const SEND_HOLD_TIMER_EXPIRED = 8;

export const UNSUPPORTED_VERSION = 1;
export const BAD_PEER_AS = 2;
export const BAD_BGP_IDENTIFIER = 3;
export const UNSUPPORTED_OPTIONAL_PARAMETER = 4;
export const UNACCEPTABLE_HOLD_TIME = 6;
export const UNSUPPORTED_CAPABILITY = 7;
export const ROLE_MISMATCH = 11;

export const MAX_PREFIXES_REACHED = 1;
export const ADMINISTRATIVE_SHUTDOWN = 2;
export const PEER_DECONFIGURED = 3;
export const ADMINISTRATIVE_RESET = 4;
export const CONNECTION_REJECTED = 5;
export const OTHER_CONFIGURATION_CHANGE = 6;
export const CONNECTION_COLLISION = 7;
export const OUT_OF_RESOURCES = 8;
export const HARD_RESET = 9;
export const BFD_DOWN = 10;

export interface Notification {
  readonly code: number;
  readonly subcode: number;
  readonly data: Uint8Array;
}

const NO_DATA = new Uint8Array(0);

export function notification(code: number, subcode = 0, data: Uint8Array = NO_DATA): Notification {
  return { code, subcode, data };
}

interface CodeNames {
  readonly name: string;
  readonly subcodes: Readonly<Record<number, string>>;
}

const NAMES: Readonly<Record<number, CodeNames>> = {
  1: {
    name: 'Message Header Error',
    subcodes: { 1: 'Connection Not Synchronized', 2: 'Bad Message Length', 3: 'Bad Message Type' },
  },
  2: {
    name: 'OPEN Message Error',
    subcodes: {
      1: 'Unsupported Version Number',
      2: 'Bad Peer AS',
      3: 'Bad BGP Identifier',
      4: 'Unsupported Optional Parameter',
      5: 'Authentication Failure',
      6: 'Unacceptable Hold Time',
      7: 'Unsupported Capability',
      11: 'Role Mismatch',
    },
  },
  3: {
    name: 'UPDATE Message Error',
    subcodes: {
      1: 'Malformed Attribute List',
      2: 'Unrecognized Well-known Attribute',
      3: 'Missing Well-known Attribute',
      4: 'Attribute Flags Error',
      5: 'Attribute Length Error',
      6: 'Invalid ORIGIN Attribute',
      7: 'AS Routing Loop',
      8: 'Invalid NEXT_HOP Attribute',
      9: 'Optional Attribute Error',
      10: 'Invalid Network Field',
      11: 'Malformed AS_PATH',
    },
  },
  4: { name: 'Hold Timer Expired', subcodes: {} },
  5: {
    name: 'Finite State Machine Error',
    subcodes: {
      1: 'Receive Unexpected Message in OpenSent State',
      2: 'Receive Unexpected Message in OpenConfirm State',
      3: 'Receive Unexpected Message in Established State',
    },
  },
  6: {
    name: 'Cease',
    subcodes: {
      1: 'Maximum Number of Prefixes Reached',
      2: 'Administrative Shutdown',
      3: 'Peer De-configured',
      4: 'Administrative Reset',
      5: 'Connection Rejected',
      6: 'Other Configuration Change',
      7: 'Connection Collision Resolution',
      8: 'Out of Resources',
      9: 'Hard Reset',
      10: 'BFD Down',
    },
  },
  7: { name: 'ROUTE-REFRESH Message Error', subcodes: { 1: 'Invalid Message Length' } },
  8: { name: 'Send Hold Timer Expired', subcodes: {} },
};

/** `Cease`, … or undefined for a code without a name. */
export function notificationCodeName(code: number): string | undefined {
  return NAMES[code]?.name;
}

/** `Administrative Shutdown`, …; 0 is `Unspecific`, an unknown one `Subcode(N)`. */
export function notificationSubcodeName(code: number, subcode: number): string {
  return NAMES[code]?.subcodes[subcode] ?? (subcode === 0 ? 'Unspecific' : `Subcode(${subcode})`);
}

/**
 * Reads the NOTIFICATION of `length` bytes at `at`; undefined when it is cut short: close, and answer nothing (RFC 4271 §6.4). The
 * data is a copy.
 */
export function decodeNotification(bytes: Uint8Array, at: number, length: number): Notification | undefined {
  if (length < HEADER_LENGTH + 2) return undefined;
  const body = at + HEADER_LENGTH;
  return { code: bytes[body]!, subcode: bytes[body + 1]!, data: bytes.slice(body + 2, at + length) };
}

/** The whole message, its data cut so that it keeps to `maxMessage` (RFC 8654 §5: 4096 unless the peer announced more). */
export function encodeNotification(message: Notification, maxMessage: number = MAX_MESSAGE): Uint8Array {
  const data = message.data.subarray(0, maxMessage - HEADER_LENGTH - 2);
  const out = new Uint8Array(HEADER_LENGTH + 2 + data.length);
  const body = writeHeader(out, 0, out.length, NOTIFICATION);
  out[body] = message.code;
  out[body + 1] = message.subcode;
  out.set(data, body + 2);
  return out;
}

/**
 * The shutdown text of a Cease 6/2 or 6/4 (RFC 9003 §2); undefined when the message is of another kind or carries none. `valid` is false
 * when the length octet lies or the bytes are no UTF-8: the text is then what could be made of it. Escape it before showing (`printable`).
 */
export function shutdownText(message: Notification): DecodedText | undefined {
  if (message.code !== CEASE) return undefined;
  if (message.subcode !== ADMINISTRATIVE_SHUTDOWN && message.subcode !== ADMINISTRATIVE_RESET) return undefined;
  const claimed = message.data[0];
  if (claimed === undefined || claimed === 0) return undefined;
  const present = message.data.length - 1;
  const { text, valid } = decodeUtf8(message.data, 1, Math.min(claimed, present));
  return { text, valid: valid && claimed <= present };
}

/** Data of a Cease with a text: one length octet, then at most 255 bytes of UTF-8. Empty text gives no data. */
export function shutdownData(text: string): Uint8Array {
  const bytes = encodeUtf8(text, 255);
  return bytes.length === 0 ? NO_DATA : Uint8Array.from([bytes.length, ...bytes]);
}

/** Data of a Cease 6/1 (RFC 4486 §4): AFI, SAFI and the bound. */
export function prefixLimitData(family: number, maximum: number): Uint8Array {
  const out = new Uint8Array(7);
  const view = new DataView(out.buffer);
  view.setUint16(0, family >>> 8);
  view.setUint8(2, family & 0xff);
  view.setUint32(3, maximum);
  return out;
}
