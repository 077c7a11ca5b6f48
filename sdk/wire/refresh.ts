// ROUTE-REFRESH (RFC 2918) and its demarcations (RFC 7313).
import type { Family } from './family.ts';
import { HEADER_LENGTH, ROUTE_REFRESH, writeHeader } from './message.ts';
import { type Notification, notification, ROUTE_REFRESH_ERROR } from './notification.ts';

export const REFRESH_REQUEST = 0;
/** Beginning of a refresh. */
export const BORR = 1;
/** Ending of a refresh. */
export const EORR = 2;

export interface Refresh {
  readonly family: Family;
  /** REFRESH_REQUEST, BORR, EORR; any other is to be ignored (RFC 7313 §5). */
  readonly subtype: number;
}

export type RefreshResult = { readonly ok: true; readonly value: Refresh } | { readonly ok: false; readonly fault: Notification };

/**
 * Reads the ROUTE-REFRESH of `length` bytes at `at`. A body that is not four octets is 7/1 with the whole message as data (RFC 7313 §5);
 * that includes one with outbound route filters, a capability we never announce.
 */
export function decodeRefresh(bytes: Uint8Array, at: number, length: number): RefreshResult {
  if (length !== HEADER_LENGTH + 4) {
    return { ok: false, fault: notification(ROUTE_REFRESH_ERROR, 1, bytes.slice(at, at + length)) };
  }
  const body = at + HEADER_LENGTH;
  const afi = (bytes[body]! << 8) | bytes[body + 1]!;
  return { ok: true, value: { family: (afi << 8) | bytes[body + 3]!, subtype: bytes[body + 2]! } };
}

/** The whole message. */
export function encodeRefresh(family: Family, subtype: number = REFRESH_REQUEST): Uint8Array {
  const out = new Uint8Array(HEADER_LENGTH + 4);
  const body = writeHeader(out, 0, out.length, ROUTE_REFRESH);
  out[body] = family >>> 16;
  out[body + 1] = (family >>> 8) & 0xff;
  out[body + 2] = subtype;
  out[body + 3] = family & 0xff;
  return out;
}

/** Event name of a subtype: `refresh`, `borr`, `eorr` or `unknown(N)`. */
export function refreshName(subtype: number): string {
  return subtype === REFRESH_REQUEST ? 'refresh' : subtype === BORR ? 'borr' : subtype === EORR ? 'eorr' : `unknown(${subtype})`;
}
