// Attributes as events show them (`update.attr`): the plain forms that have a member of their own, hex for the rest.
import { toHex, viewOf } from '../bytes.ts';
import { flatPath } from './as-path.ts';
import * as code from './code.ts';
import { AttributeCursor } from './cursor.ts';
import { decodeAttributes } from './model.ts';
import { ATTRIBUTES } from './table.ts';

export type EventAttributes = Readonly<Record<string, string | number | readonly (string | number)[]>>;

/** Codes whose plain form events carry; every other attribute is `attr-<code>`, except the Prefix-SID, whose hex has a name. */
const PLAIN: ReadonlySet<number> = new Set([
  code.ORIGIN,
  code.AS_PATH,
  code.NEXT_HOP,
  code.MULTI_EXIT_DISC,
  code.LOCAL_PREF,
  code.COMMUNITIES,
  code.LARGE_COMMUNITIES,
  code.EXTENDED_COMMUNITIES,
  code.IPV6_EXTENDED_COMMUNITIES,
  code.AIGP,
]);

/**
 * The members of `update.attr` for the list of `length` bytes at `at`: AS_PATH as a flat list of numbers, the MP attributes left out. A
 * value without a plain form, or malformed, is hex under `attr-<code>`.
 */
export function eventAttributes(bytes: Uint8Array, at: number, length: number, asn4: boolean): EventAttributes {
  const view = viewOf(bytes);
  const cursor = new AttributeCursor().over(view, at, length);
  const out: Record<string, string | number | readonly (string | number)[]> = {};
  while (cursor.next()) {
    const { code: number, startAt, valueAt, valueLength } = cursor;
    if (number === code.MP_REACH_NLRI || number === code.MP_UNREACH_NLRI) continue;
    const key = ATTRIBUTES[number]?.key ?? '';
    const plain = PLAIN.has(number) ? plainValue(bytes, number, startAt, cursor.at - startAt, asn4) : undefined;
    if (plain !== undefined) out[key] = plain;
    else if (number === code.PREFIX_SID) out[key] = toHex(bytes, valueAt, valueLength);
    else out[`attr-${number}`] = toHex(bytes, valueAt, valueLength);
  }
  return out;
}

function plainValue(
  bytes: Uint8Array,
  number: number,
  at: number,
  length: number,
  asn4: boolean,
): string | number | readonly (string | number)[] | undefined {
  const model = decodeAttributes(bytes, at, length, asn4);
  switch (number) {
    case code.AS_PATH:
      return model.asPath === undefined ? undefined : flatPath(model.asPath);
    case code.ORIGIN:
      return model.origin;
    case code.NEXT_HOP:
      return model.nextHop;
    case code.MULTI_EXIT_DISC:
      return model.med;
    case code.LOCAL_PREF:
      return model.localPreference;
    case code.COMMUNITIES:
      return model.communities;
    case code.LARGE_COMMUNITIES:
      return model.largeCommunities;
    case code.EXTENDED_COMMUNITIES:
      return model.extendedCommunities;
    case code.IPV6_EXTENDED_COMMUNITIES:
      return model.ipv6ExtendedCommunities;
    default:
      return model.aigp;
  }
}
