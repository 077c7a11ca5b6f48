// Judgement of AS_PATH and AS4_PATH in place. The model of a path and its rewriting are elsewhere: `as-path.ts`, `export.ts`.
import type { WireContext } from '../context.ts';
import {
  AS_SET_PRESENT,
  AS_ZERO,
  BAD_LENGTH,
  BAD_SEGMENT_TYPE,
  CONFED_SEGMENT,
  EMPTY_PATH,
  EMPTY_SEGMENT,
  FOREIGN_FIRST_AS,
  SEGMENT_OVERRUN,
  WELL_FORMED,
} from '../fault.ts';
import { AS_CONFED_SEQUENCE, AS_CONFED_SET, AS_SEQUENCE, AS_SET } from './code.ts';

/**
 * AS_PATH of `length` bytes at `at`: syntax (RFC 7606 §7.2), AS 0 (RFC 7607), confederation segments (RFC 5065 §5), AS_SET (RFC 9774)
 * and first AS (RFC 4271 §6.3), the last two as the context asks. The number of AS numbers is bounded by the message alone.
 */
export function checkAsPath(view: DataView, at: number, length: number, context: WireContext): number {
  const end = at + length;
  const width = context.asn4 ? 4 : 2;
  let i = at;
  while (i < end) {
    if (i + 2 > end) return SEGMENT_OVERRUN;
    const type = view.getUint8(i);
    const count = view.getUint8(i + 1);
    if (type < AS_SET || type > AS_CONFED_SET) return BAD_SEGMENT_TYPE;
    if (count === 0) return EMPTY_SEGMENT;
    i += 2;
    const next = i + count * width;
    if (next > end) return SEGMENT_OVERRUN;
    if (type !== AS_SEQUENCE) {
      if (type !== AS_SET && !context.confederation) return CONFED_SEGMENT;
      if (type !== AS_CONFED_SEQUENCE && context.refuseAsSets) return AS_SET_PRESENT;
    }
    for (; i < next; i += width) {
      if ((width === 4 ? view.getUint32(i) : view.getUint16(i)) === 0) return AS_ZERO;
    }
  }
  if (!context.enforceFirstAs) return WELL_FORMED;
  if (length === 0) return EMPTY_PATH;
  const first = width === 4 ? view.getUint32(at + 2) : view.getUint16(at + 2);
  return view.getUint8(at) === AS_SET || first !== context.expectedFirstAs ? FOREIGN_FIRST_AS : WELL_FORMED;
}

/**
 * AS4_PATH: at least one AS number, known segment types, no empty or overlong segment (RFC 6793 §6), no AS 0 (RFC 7607). Confederation
 * segments are well-formed here; whoever merges the paths skips them.
 */
export function checkAs4Path(view: DataView, at: number, length: number): number {
  if (length < 6 || length % 2 !== 0) return BAD_LENGTH;
  const end = at + length;
  let i = at;
  while (i < end) {
    if (i + 2 > end) return SEGMENT_OVERRUN;
    const type = view.getUint8(i);
    const count = view.getUint8(i + 1);
    if (type < AS_SET || type > AS_CONFED_SET) return BAD_SEGMENT_TYPE;
    if (count === 0) return EMPTY_SEGMENT;
    i += 2;
    const next = i + 4 * count;
    if (next > end) return SEGMENT_OVERRUN;
    for (; i < next; i += 4) if (view.getUint32(i) === 0) return AS_ZERO;
  }
  return WELL_FORMED;
}
