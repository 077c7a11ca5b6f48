/** Why we end a session: the Cease of RFC 4486 with the operator's words (RFC 9003), or with the limit that was passed. */
import {
  ADMINISTRATIVE_RESET,
  ADMINISTRATIVE_SHUTDOWN,
  CEASE,
  MAX_PREFIXES_REACHED,
  notification,
  prefixLimitData,
  shutdownData,
} from '../../../sdk/wire/notification.ts';
import type { Notice } from './fsm.ts';

/** A Cease; `text` goes along only where RFC 9003 has a place for it, shutdown and reset. */
export function cease(subcode: number, text = ''): Notice {
  const spoken = text !== '' && (subcode === ADMINISTRATIVE_SHUTDOWN || subcode === ADMINISTRATIVE_RESET);
  return notification(CEASE, subcode, spoken ? shutdownData(text) : undefined);
}

/** Cease 6/1: AFI, SAFI and the upper bound (RFC 4486 §4). */
export function ceasePrefixes(family: number, maximum: number): Notice {
  return notification(CEASE, MAX_PREFIXES_REACHED, prefixLimitData(family, maximum));
}
