// The fixed header of every BGP message (RFC 4271 §4.1) and the judgement of it (§6.1, RFC 8654). Nothing below this file looks at a
// marker or trusts a length that has not passed here.

export const MARKER_LENGTH = 16;
export const HEADER_LENGTH = 19;
/** Largest message of RFC 4271. */
export const MAX_MESSAGE = 4096;
/** Largest message once extended messages are negotiated (RFC 8654); never for OPEN and KEEPALIVE. */
export const MAX_EXTENDED_MESSAGE = 65535;

export const OPEN = 1;
export const UPDATE = 2;
export const NOTIFICATION = 3;
export const KEEPALIVE = 4;
export const ROUTE_REFRESH = 5;

const MESSAGE_NAMES = ['', 'open', 'update', 'notification', 'keepalive', 'refresh'] as const;

/** The event name of a message type: `open`, `update`, … or `unknown(N)`. */
export function messageName(type: number): string {
  const name = MESSAGE_NAMES[type];
  return name === undefined || name === '' ? `unknown(${type})` : name;
}

/** The peer's NOTIFICATION is itself malformed: close, answer nothing (RFC 4271 §6.4). */
export const CLOSE_SILENTLY = -1;

const CONNECTION_NOT_SYNCHRONIZED = -((1 << 8) | 1);
const BAD_MESSAGE_LENGTH = -((1 << 8) | 2);
const BAD_MESSAGE_TYPE = -((1 << 8) | 3);

/** What a fault found in place asks the session to send: `data` is `dataLength` bytes from `dataAt` of the judged buffer. */
export interface FaultNotice {
  readonly code: number;
  readonly subcode: number;
  readonly dataAt: number;
  readonly dataLength: number;
}

/**
 * Judges the header at `at`, of which HEADER_LENGTH bytes must be present. Returns the whole message's length in bytes (19..65535), or
 * a negative fault: CLOSE_SILENTLY, or a number `headerFault` turns into the NOTIFICATION. The marker is judged first, then the length,
 * then the type. `extended`: we announced capability 6, so this peer may send long messages (RFC 8654 §4).
 */
export function checkHeader(view: DataView, at: number, extended: boolean): number {
  if (view.getUint32(at) !== 0xffffffff || view.getUint32(at + 4) !== 0xffffffff) return CONNECTION_NOT_SYNCHRONIZED;
  if (view.getUint32(at + 8) !== 0xffffffff || view.getUint32(at + 12) !== 0xffffffff) return CONNECTION_NOT_SYNCHRONIZED;
  const length = view.getUint16(at + 16);
  const type = view.getUint8(at + 18);
  const long = extended && (type === UPDATE || type === NOTIFICATION || type === ROUTE_REFRESH);
  if (length < minimumLength(type) || length > (long ? MAX_EXTENDED_MESSAGE : MAX_MESSAGE)) {
    return type === NOTIFICATION ? CLOSE_SILENTLY : BAD_MESSAGE_LENGTH;
  }
  if (type === KEEPALIVE && length !== HEADER_LENGTH) return BAD_MESSAGE_LENGTH;
  if (type < OPEN || type > ROUTE_REFRESH) return BAD_MESSAGE_TYPE;
  return length;
}

/** The NOTIFICATION for a negative result of `checkHeader` other than CLOSE_SILENTLY; its data is the Length or the Type as received. */
export function headerFault(result: number, at: number): FaultNotice {
  const subcode = -result & 0xff;
  if (result === BAD_MESSAGE_LENGTH) return { code: 1, subcode, dataAt: at + 16, dataLength: 2 };
  if (result === BAD_MESSAGE_TYPE) return { code: 1, subcode, dataAt: at + 18, dataLength: 1 };
  return { code: 1, subcode, dataAt: at, dataLength: 0 };
}

/**
 * A ROUTE-REFRESH of any length passes here: its length is a fault of its own kind, 7/1 (RFC 7313 §5), judged by `refresh.ts`.
 */
function minimumLength(type: number): number {
  switch (type) {
    case OPEN:
      return 29;
    case UPDATE:
      return 23;
    case NOTIFICATION:
      return 21;
    default:
      return HEADER_LENGTH;
  }
}

/** Writes marker, length and type; returns the offset of the body. The length may be filled in later with `setMessageLength`. */
export function writeHeader(out: Uint8Array, at: number, length: number, type: number): number {
  for (let i = 0; i < MARKER_LENGTH; i++) out[at + i] = 0xff;
  out[at + 16] = length >>> 8;
  out[at + 17] = length & 0xff;
  out[at + 18] = type;
  return at + HEADER_LENGTH;
}

/** Fills in the length of a message begun at `at`. */
export function setMessageLength(out: Uint8Array, at: number, length: number): void {
  out[at + 16] = length >>> 8;
  out[at + 17] = length & 0xff;
}

/** A whole KEEPALIVE (RFC 4271 §4.4). */
export function keepalive(): Uint8Array {
  const out = new Uint8Array(HEADER_LENGTH);
  writeHeader(out, 0, HEADER_LENGTH, KEEPALIVE);
  return out;
}
