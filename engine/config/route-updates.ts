// `update { attribute { … } nlri { … } }` blocks to route commands (`update text … nlri FAMILY add …`): checked here, encoded
// by whoever owns the family.
import { addressBytes, formatPrefix, parseIpv4, parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import {
  AFI_IPV4,
  afiOf,
  type Family,
  isPrefixFamily,
  maxPrefixBits,
  parseFamily,
  SAFI_MPLS_LABEL,
  SAFI_MPLS_VPN,
  safiOf,
} from '../../sdk/wire/family.ts';
import type { StaticUpdate } from '../bgp/port.ts';
import type { Reader } from './effective.ts';
import { clamp, type Findings } from './fault.ts';
import { append } from './syntax-tree.ts';

/** Most prefixes one `split` may make. */
export const MAXIMUM_SPLIT = 65_536;

/** Attributes in the order of the route language, single values and lists. */
const SINGLE = ['origin', 'next-hop', 'med', 'local-preference', 'aggregator', 'originator-id'];
const LISTS = ['as-path', 'community', 'large-community', 'extended-community', 'cluster-list'];
const QUALIFIERS = ['rd', 'label', 'path-information'];
const OPERATIONS = ['add', 'del', 'eor'];

/** What a block needs to know of its peer. */
export interface RouteContext {
  readonly path: string;
  /** True when the session carries next hops of this AFI for the family (RFC 8950). */
  readonly extendedNextHop: (family: Family, nextHopAfi: number) => boolean;
}

/** The commands of every block of a peer. A block whose pool holds it back makes none. */
export function routeUpdates(blocks: readonly Reader[], context: RouteContext, findings: Findings): readonly StaticUpdate[] {
  const out: StaticUpdate[] = [];
  for (const block of blocks) {
    const sections = block.entries('nlri').flatMap((line) => section(block, line, context, findings));
    if (sections.length === 0) continue;
    idleQualifiers(block, context, findings);
    if (block.has('watchdog') && block.flag('watchdog/withdraw')) continue;
    const fault = (leaf: string, message: string): void =>
      findings.fault(block.place(leaf), `${context.path}/update/${block.key}/${leaf}`, message);
    out.push({ command: ['update text', ...attributes(block, fault), ...sections].join(' ') });
  }
  return out;
}

/** `rd` or a label that no line of the block can take would be ignored. */
function idleQualifiers(block: Reader, context: RouteContext, findings: Findings): void {
  const names = block.entries('nlri').map((line) => line.key.replace(/ .*$/, ''));
  if (!names.every((name) => isPrefixFamily(parseFamily(name)))) return;
  for (const leaf of ['attribute/rd', 'attribute/label', 'attribute/labels']) {
    if (!block.has(leaf)) continue;
    const message = `${leaf.slice('attribute/'.length)} does not apply to ${names.join(', ')}`;
    findings.fault(block.place(leaf), `${context.path}/update/${block.key}/${leaf}`, message);
  }
}

function attributes(block: Reader, fault: (leaf: string, message: string) => void): string[] {
  const out: string[] = [];
  for (const name of [...SINGLE, ...QUALIFIERS]) {
    const value = block.text(`attribute/${name}`);
    if (value !== '') out.push(`${name} ${value}`);
  }
  for (const name of LISTS) {
    const values = joined(block.list(`attribute/${name}`));
    if (values.length > 0) out.push(`${name} [ ${values.join(' ')} ]`);
  }
  const labels = block.list('attribute/labels');
  if (labels.length > 0) out.push(`label [ ${labels.join(' ')} ]`);
  if (block.flag('attribute/atomic-aggregate')) out.push('atomic-aggregate');
  const generic = block.list('attribute/attribute');
  if (generic.length % 3 !== 0) fault('attribute/attribute', 'attribute takes [ code flags value ]');
  else for (let at = 0; at < generic.length; at += 3) out.push(`attribute [ ${generic.slice(at, at + 3).join(' ')} ]`);
  return out;
}

/** `mark 5` and `action sample` are one community each. */
function joined(values: readonly string[]): string[] {
  const out: string[] = [];
  for (let at = 0; at < values.length; at++) {
    const pair = (values[at] === 'mark' || values[at] === 'action') && at + 1 < values.length;
    out.push(pair ? `${values[at]!}:${values[++at]!}` : values[at]!);
  }
  return out;
}

/** One line of an `nlri` block. */
function section(block: Reader, line: Reader, context: RouteContext, findings: Findings): string[] {
  const name = line.key.replace(/ .*$/, '');
  const family = parseFamily(name);
  const words = line.list('content');
  const place = line.branch.place;
  const path = `${context.path}/update/${block.key}/nlri/${name}`;
  const fault = (message: string): string[] => {
    findings.fault(place, path, message);
    return [];
  };
  const first = words.findIndex((word) => OPERATIONS.includes(word));
  if (first < 0) return fault(`missing operation keyword (add, del or eor) in nlri ${name}`);
  if (words[first] === 'eor') return words.length === 1 ? [`nlri ${name} eor`] : fault(`eor takes nothing else in nlri ${name}`);
  const qualifiers = words.slice(0, first);
  const safi = safiOf(family);
  const labelled = [...qualifiers, ...words].includes('label') || block.has('attribute/label') || block.has('attribute/labels');
  if ((safi === SAFI_MPLS_VPN || safi === SAFI_MPLS_LABEL) && !labelled) return fault(`${name}: a route needs a label`);
  const nextHop = block.text('attribute/next-hop');
  if (nextHop !== '' && nextHop !== 'self') {
    const afi = parseIpv4(nextHop) >= 0 ? AFI_IPV4 : 2;
    if (isPrefixFamily(family) && afi !== afiOf(family) && !context.extendedNextHop(family, afi)) {
      return fault(`next-hop ${nextHop} cannot be carried for ${name}: the session needs capability nexthop for it`);
    }
  }
  if (!isPrefixFamily(family)) return [`nlri ${name} ${words.join(' ')}`];
  const idle = qualifiers.find((word) => word === 'rd' || word === 'label');
  if (idle !== undefined) return fault(`${idle} does not apply to ${name}`);
  const warn = (message: string): void => findings.warn(place, path, message);
  const items = prefixes(words.slice(first), family, block.text('attribute/split'), fault, warn);
  return items === undefined ? [] : [['nlri', name, ...qualifiers, ...items].join(' ')];
}

/** `add P P del P`, each prefix checked and in canonical form; split where the block says so. */
function prefixes(
  words: readonly string[],
  family: Family,
  split: string,
  fault: (message: string) => string[],
  warn: (message: string) => void,
): string[] | undefined {
  const target = prefixTarget();
  const bits = maxPrefixBits(afiOf(family));
  const out: string[] = [];
  let count = 0;
  for (const word of words) {
    if (word === 'prefix' || '[]()'.includes(word)) continue;
    if (word === 'add' || word === 'del') {
      out.push(word);
      continue;
    }
    if (!parsePrefix(word, target) || target.addressLength * 8 !== bits) {
      fault(`"${clamp(word)}" is not a prefix of the family`);
      return undefined;
    }
    count++;
    const whole = formatPrefix(target.bytes, 0, target.lengthBits, target.addressLength);
    const given = addressBytes(word.replace(/\/.*$/, ''));
    // RFC 4271 §4.3: bits beyond the length are irrelevant.
    if (given?.some((byte, at) => byte !== target.bytes[at]) === true) warn(`${clamp(word)} has host bits set: read as ${whole}`);
    const parts = split === '' ? [whole] : components(target, split, fault);
    if (parts === undefined) return undefined;
    append(out, parts);
  }
  if (count === 0) {
    fault('no prefix after the operation keyword');
    return undefined;
  }
  return out;
}

/** The prefix as all its components of length `/N`. Refused before anything is made when they are too many. */
function components(
  prefix: { readonly bytes: Uint8Array; readonly lengthBits: number; readonly addressLength: number },
  split: string,
  fault: (message: string) => string[],
): string[] | undefined {
  const length = Number(split.replace('/', ''));
  if (length < prefix.lengthBits || length > prefix.addressLength * 8) {
    fault(`split /${length} does not fit a prefix of length ${prefix.lengthBits}`);
    return undefined;
  }
  if (length - prefix.lengthBits > Math.log2(MAXIMUM_SPLIT)) {
    fault(`split /${length} makes more than ${MAXIMUM_SPLIT} prefixes`);
    return undefined;
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
