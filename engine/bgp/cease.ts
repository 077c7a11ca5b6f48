/** Why we end a session: Cease subcodes (RFC 4486, RFC 8538), the operator's words (RFC 9003) and the NOTIFICATION's bytes. */
import { HEADER_LENGTH, NOTIFICATION, writeHeader } from '../../sdk/wire/message.ts';
import { encodeUtf8 } from '../../sdk/wire/utf8.ts';
import type { Notice } from './fsm.ts';

export const CEASE = 6;
export const MAXIMUM_PREFIXES = 1;
export const ADMINISTRATIVE_SHUTDOWN = 2;
export const PEER_DECONFIGURED = 3;
export const ADMINISTRATIVE_RESET = 4;
export const CONNECTION_REJECTED = 5;
export const OTHER_CONFIGURATION_CHANGE = 6;
export const COLLISION_RESOLUTION = 7;
export const OUT_OF_RESOURCES = 8;

/** Longest shutdown communication, in bytes (RFC 9003 §2). */
export const SHUTDOWN_TEXT_LIMIT = 255;

const NO_DATA = new Uint8Array(0);

/** A Cease; `text` goes with it only where RFC 9003 has a place for it: shutdown and reset. */
export function cease(subcode: number, text = ''): Notice {
  if (text === '' || (subcode !== ADMINISTRATIVE_SHUTDOWN && subcode !== ADMINISTRATIVE_RESET)) {
    return { code: CEASE, subcode, data: NO_DATA };
  }
  const words = encodeUtf8(text, SHUTDOWN_TEXT_LIMIT);
  const data = new Uint8Array(1 + words.length);
  data[0] = words.length;
  data.set(words, 1);
  return { code: CEASE, subcode, data };
}

/** RFC 4486 §4: AFI, SAFI and the upper bound that was passed. */
export function ceasePrefixes(family: number, maximum: number): Notice {
  const data = new Uint8Array(7);
  const view = new DataView(data.buffer);
  view.setUint16(0, family >>> 8);
  view.setUint8(2, family & 0xff);
  view.setUint32(3, maximum);
  return { code: CEASE, subcode: MAXIMUM_PREFIXES, data };
}

/** The whole message; data beyond what a message of 4096 bytes can hold is cut. */
export function notificationMessage(notice: Notice): Uint8Array {
  const size = Math.min(notice.data.length, 4096 - HEADER_LENGTH - 2);
  const message = new Uint8Array(HEADER_LENGTH + 2 + size);
  const at = writeHeader(message, 0, message.length, NOTIFICATION);
  message[at] = notice.code;
  message[at + 1] = notice.subcode;
  message.set(notice.data.subarray(0, size), at + 2);
  return message;
}
