// Judgement of attribute values in place, one function an attribute. Each returns 0 or a reason of `fault.ts`; what follows from it is
// the row's business (`table.ts`). Flags and duplicates are judged before these are called.
import type { WireContext } from '../context.ts';
import { AS_ZERO, BAD_LENGTH, BAD_TLV, BAD_VALUE, WELL_FORMED } from '../fault.ts';
import { AttributeCursor } from './cursor.ts';

export type Check = (view: DataView, at: number, length: number, context: WireContext) => number;

/** RFC 7606 §7.1. */
export const checkOrigin: Check = (view, at, length) => {
  if (length !== 1) return BAD_LENGTH;
  return view.getUint8(at) <= 2 ? WELL_FORMED : BAD_VALUE;
};

/** Exactly four bytes of any value: NEXT_HOP, MED, LOCAL_PREF, ORIGINATOR_ID, OTC. */
export const checkFour: Check = (_view, _at, length) => (length === 4 ? WELL_FORMED : BAD_LENGTH);

/** RFC 7606 §7.6. */
export const checkEmpty: Check = (_view, _at, length) => (length === 0 ? WELL_FORMED : BAD_LENGTH);

/** RFC 7606 §7.7, AS 0 by RFC 7607. */
export const checkAggregator: Check = (view, at, length, context) => {
  if (length !== (context.asn4 ? 8 : 6)) return BAD_LENGTH;
  return (length === 8 ? view.getUint32(at) : view.getUint16(at)) === 0 ? AS_ZERO : WELL_FORMED;
};

/** RFC 6793 §6. */
export const checkAs4Aggregator: Check = (view, at, length) => {
  if (length !== 8) return BAD_LENGTH;
  return view.getUint32(at) === 0 ? AS_ZERO : WELL_FORMED;
};

/** A non-zero multiple of `size`: communities of every kind, CLUSTER_LIST (RFC 7606 §7.8, 7.10, 7.14, 7.15; RFC 8092 §5). */
export function checkMultiple(size: number): Check {
  return (_view, _at, length) => (length > 0 && length % size === 0 ? WELL_FORMED : BAD_LENGTH);
}

/** RFC 6514 §5: flags, tunnel type, label, then an identifier whose length the tunnel type fixes. */
export const checkPmsiTunnel: Check = (view, at, length) => {
  if (length < 5) return BAD_LENGTH;
  const identifier = length - 5;
  switch (view.getUint8(at + 1)) {
    case 0: // no tunnel information
      return identifier === 0 ? WELL_FORMED : BAD_LENGTH;
    case 1: // RSVP-TE P2MP LSP: extended tunnel id of either IP version
      return identifier === 12 || identifier === 24 ? WELL_FORMED : BAD_LENGTH;
    case 3: // PIM trees: sender and group
    case 4:
    case 5:
      return identifier === 8 || identifier === 32 ? WELL_FORMED : BAD_LENGTH;
    case 6: // ingress replication: one address
      return identifier === 4 || identifier === 16 ? WELL_FORMED : BAD_LENGTH;
    default: // an mLDP opaque value, or a type of later times
      return WELL_FORMED;
  }
};

/** RFC 9012 §2, §13: tunnel TLVs with two-octet lengths that fill the attribute, each filled by its sub-TLVs (length 1 or 2 by type). */
export const checkTunnelEncapsulation: Check = (view, at, length) => {
  if (length === 0) return BAD_LENGTH;
  const end = at + length;
  let i = at;
  while (i < end) {
    if (i + 4 > end) return BAD_TLV;
    const next = i + 4 + view.getUint16(i + 2);
    if (next > end) return BAD_TLV;
    i += 4;
    while (i < next) {
      const head = view.getUint8(i) >= 128 ? 3 : 2;
      if (i + head > next) return BAD_TLV;
      i += head + (head === 3 ? view.getUint16(i + 1) : view.getUint8(i + 1));
      if (i > next) return BAD_TLV;
    }
  }
  return WELL_FORMED;
};

/** RFC 7311 §3: TLVs whose length counts their own three-byte head; the AIGP TLV (type 1) is 11 bytes. */
export const checkAigp: Check = (view, at, length) => {
  if (length === 0) return BAD_LENGTH;
  const end = at + length;
  let i = at;
  while (i < end) {
    if (i + 3 > end) return BAD_TLV;
    const size = view.getUint16(i + 1);
    if (size < 3 || i + size > end) return BAD_TLV;
    if (view.getUint8(i) === 1 && size !== 11) return BAD_TLV;
    i += size;
  }
  return WELL_FORMED;
};

/** RFC 9552 §5.1: TLVs with two-octet type and length that fill the attribute; their inner form is the family's business. */
export const checkBgpLs: Check = (view, at, length) => checkTlv(view, at, length, 2);

/** RFC 8669 §3, §6: TLVs with one-octet type, two-octet length. Label-Index is 7 bytes, Originator SRGB 2 + 6n (n > 0). */
export const checkPrefixSid: Check = (view, at, length) => {
  if (checkTlv(view, at, length, 1) !== WELL_FORMED) return BAD_TLV;
  for (let i = at; i < at + length; ) {
    const type = view.getUint8(i);
    const size = view.getUint16(i + 1);
    if (type === 1 && size !== 7) return BAD_TLV;
    if (type === 3 && (size < 8 || (size - 2) % 6 !== 0)) return BAD_TLV;
    i += 3 + size;
  }
  return WELL_FORMED;
};

/** RFC 6368 §5: an AS number, then whole path attributes. */
export const checkAttrSet: Check = (view, at, length) => {
  if (length < 4) return BAD_LENGTH;
  const inner = new AttributeCursor().over(view, at + 4, length - 4);
  while (inner.next());
  return inner.at === inner.end ? WELL_FORMED : BAD_TLV;
};

/** TLVs with `typeSize` octets of type and two of length that fill the value exactly; each step advances, so it ends. */
function checkTlv(view: DataView, at: number, length: number, typeSize: number): number {
  const end = at + length;
  const head = typeSize + 2;
  let i = at;
  while (i < end) {
    if (i + head > end) return BAD_TLV;
    i += head + view.getUint16(i + typeSize);
  }
  return i === end && length > 0 ? WELL_FORMED : BAD_TLV;
}
