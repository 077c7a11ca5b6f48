// The prefixes of a line of an `update` block: checked, in canonical form, split where the block says so.
import { addressBytes, formatPrefix, parsePrefix, prefixTarget } from '../../../sdk/wire/address.ts';
import { afiOf, type Family, maxPrefixBits } from '../../../sdk/wire/family.ts';
import { clamp, type FaultExtras, type Place } from '../fault.ts';
import { append } from '../text/syntax-tree.ts';

/** Most prefixes one `split` may make. */
export const MAXIMUM_SPLIT = 65_536;

/** Brackets of a list have no meaning between prefixes. */
export const BRACKETS: readonly string[] = ['[', ']', '(', ')'];

/** A word and where it stands. */
export interface Word {
  readonly text: string;
  readonly place: Place;
}

/** Says a fault; answers null, for what was to be read. */
export type Fault = (place: Place, message: string, extras?: FaultExtras) => null;

/** Prefixes, each checked and in canonical form; split where the block says so. */
export function prefixes(
  words: readonly Word[],
  family: Family,
  split: string,
  splitPlace: Place,
  fault: Fault,
  warn: (place: Place, message: string) => void,
): string[] | null {
  const target = prefixTarget();
  const bits = maxPrefixBits(afiOf(family));
  const out: string[] = [];
  for (const { text, place } of words) {
    if (text === 'prefix' || BRACKETS.includes(text)) continue;
    if (!parsePrefix(text, target) || target.addressLength * 8 !== bits)
      return fault(place, `"${clamp(text)}" is not a prefix of the family`);
    const whole = formatPrefix(target.bytes, 0, target.lengthBits, target.addressLength);
    const given = addressBytes(text.replace(/\/.*$/, ''));
    // RFC 4271 §4.3: bits beyond the length are irrelevant.
    if (given?.some((byte, at) => byte !== target.bytes[at]) === true)
      warn(place, `${clamp(text)} has host bits set: read as ${whole}`);
    const parts = split === '' ? [whole] : components(target, split, (message) => fault(splitPlace, message));
    if (parts === null) return null;
    append(out, parts);
  }
  return out;
}

/** The prefix as all its components of length `/N`. Refused before anything is made when they are too many. */
function components(
  prefix: { readonly bytes: Uint8Array; readonly lengthBits: number; readonly addressLength: number },
  split: string,
  fault: (message: string) => null,
): string[] | null {
  const length = Number(split.replace('/', ''));
  if (length < prefix.lengthBits || length > prefix.addressLength * 8) {
    return fault(`split /${length} does not fit a prefix of length ${prefix.lengthBits}`);
  }
  if (length - prefix.lengthBits > Math.log2(MAXIMUM_SPLIT)) {
    return fault(`split /${length} makes more than ${MAXIMUM_SPLIT} prefixes`);
  }
  const bytes = prefix.bytes.slice(0, prefix.addressLength);
  return Array.from({ length: 2 ** (length - prefix.lengthBits) }, (_, index) => {
    if (index > 0) addAt(bytes, length);
    return formatPrefix(bytes, 0, length, prefix.addressLength);
  });
}

/** Adds one to the first `bits` bits. */
function addAt(bytes: Uint8Array, bits: number): void {
  let at = (bits - 1) >>> 3;
  let step = 1 << (8 * (at + 1) - bits);
  while (at >= 0 && step > 0) {
    const sum = bytes[at]! + step;
    bytes[at] = sum & 0xff;
    step = sum >> 8;
    at--;
  }
}
