// `rib inject` and `rib withdraw`: words into a route of a peer, as if it had come in an UPDATE.
import { parseAddress, parseDecimal, parsePrefix, type PrefixTarget, prefixTarget } from '../../sdk/wire/address.ts';
import { AFI_IPV4, AFI_IPV6, type Family, isPrefixFamily, parseFamily } from '../../sdk/wire/family.ts';

export interface ManualRoute {
  readonly family: Family;
  /** Length octet and prefix octets. */
  readonly nlri: Uint8Array;
  /** As the RIB keeps it: four-octet AS numbers; without NEXT_HOP when `nextHop` is used. */
  readonly attributes: Uint8Array;
  /** For families that carry it in MP_REACH_NLRI, else empty. */
  readonly nextHop: Uint8Array;
}

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: string };

/** `FAMILY PREFIX`, then for a route `[origin O] [nhop IP] [aspath A,B] [localpref N] [med N]`. */
export function parseRoute(words: readonly string[]): Parsed<ManualRoute> {
  const family = parseFamily(words[0] ?? '');
  if (!isPrefixFamily(family)) return { ok: false, error: `unknown family: ${words[0] ?? ''}` };
  const target = prefixTarget();
  const wanted = family >>> 8 === AFI_IPV4 ? 4 : 16;
  if (!parsePrefix(words[1] ?? '', target) || target.addressLength !== wanted) {
    return { ok: false, error: `bad prefix for ${words[0] ?? ''}: ${words[1] ?? ''}` };
  }
  const options = parseOptions(words.slice(2));
  if (!options.ok) return options;
  const block = attributes(options.value, family);
  if (!block.ok) return block;
  return { ok: true, value: { family, nlri: nlriOf(target), ...block.value } };
}

export interface Options {
  readonly origin: number;
  readonly nextHop: string;
  readonly path: readonly number[];
  /** -1 = absent. */
  readonly localPreference: number;
  readonly med: number;
}

const ORIGINS: readonly string[] = ['igp', 'egp', 'incomplete'];
const U32 = 0xffffffff;

function parseOptions(words: readonly string[]): Parsed<Options> {
  let origin = 0;
  let nextHop = '';
  let path: readonly number[] = [];
  let localPreference = -1;
  let med = -1;
  for (let i = 0; i < words.length; i += 2) {
    const word = words[i]!;
    const value = words[i + 1];
    if (value === undefined) return { ok: false, error: `${word} requires a value` };
    const number = parseDecimal(value, 0, value.length, U32);
    let good = true;
    if (word === 'origin') good = (origin = ORIGINS.indexOf(value)) >= 0;
    else if (word === 'nhop' || word === 'next-hop') nextHop = value;
    else if (word === 'aspath' || word === 'as-path') {
      path = value.split(',').map((as) => parseDecimal(as, 0, as.length, U32));
      good = path.every((as) => as > 0) && path.length <= 255;
    } else if (word === 'localpref' || word === 'local-preference') good = (localPreference = number) >= 0;
    else if (word === 'med') good = (med = number) >= 0;
    else return { ok: false, error: `unknown keyword: ${word}` };
    if (!good) return { ok: false, error: `bad ${word}: ${value}` };
  }
  return { ok: true, value: { origin, nextHop, path, localPreference, med } };
}

/** The block and the next hop of a route written by hand; without a next hop the address is all zeroes. */
export function attributes(options: Options, family: Family): Parsed<{ attributes: Uint8Array; nextHop: Uint8Array }> {
  const hop = new Uint8Array(16);
  const length = options.nextHop === '' ? 0 : parseAddress(options.nextHop, hop, 0);
  const ipv4 = family >>> 8 === AFI_IPV4;
  const inBlock = family === ((AFI_IPV4 << 8) | 1);
  if (options.nextHop !== '' && length === 0) return { ok: false, error: `bad nhop: ${options.nextHop}` };
  if (family >>> 8 === AFI_IPV6 && length === 4) return { ok: false, error: `an IPv6 route needs an IPv6 next hop` };
  if (ipv4 && length === 16) return { ok: false, error: `an IPv4 route needs an IPv4 next hop` };
  const size = length === 0 ? (ipv4 ? 4 : 16) : length;
  const out: number[] = [0x40, 1, 1, options.origin];
  const path = options.path.length === 0 ? [] : [2, options.path.length, ...options.path.flatMap(u32)];
  out.push(0x50, 2, path.length >>> 8, path.length & 255, ...path);
  if (inBlock) out.push(0x40, 3, 4, ...hop.subarray(0, 4));
  if (options.med >= 0) out.push(0x80, 4, 4, ...u32(options.med));
  if (options.localPreference >= 0) out.push(0x40, 5, 4, ...u32(options.localPreference));
  return { ok: true, value: { attributes: Uint8Array.from(out), nextHop: inBlock ? new Uint8Array(0) : hop.slice(0, size) } };
}

function nlriOf(target: PrefixTarget): Uint8Array {
  return Uint8Array.from([target.lengthBits, ...target.bytes.subarray(0, (target.lengthBits + 7) >>> 3)]);
}

function u32(value: number): number[] {
  return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
}
