/**
 * The attribute half of a route command (daemon-cli §9, and the attributes of `update` blocks, daemon-config §6): words to an attribute
 * block as it goes on the wire, ascending by code, AS numbers in four octets, without NEXT_HOP and the MP attributes. What is not
 * written is not there: defaults depend on the session and are the reactor's.
 */
import { parseAddress, parseDecimal, parseIpv4 } from '../../sdk/wire/address.ts';
import * as code from '../../sdk/wire/attribute/code.ts';
import { ATTRIBUTES } from '../../sdk/wire/attribute/table.ts';
import { fromHex } from '../../sdk/wire/bytes.ts';
import { writeU32 } from '../../sdk/wire/nlri/prefix.ts';
import { nearest } from '../core/nearest.ts';
import type { CommandScan } from './command-scan.ts';
import { shown } from './command-scan.ts';
import { parseExtendedCommunity } from './extended-community.ts';
import type { Parsed } from './fault.ts';
import { refuse } from './fault.ts';

/** Attributes of a command, for all its sections. */
export interface CommandAttributes {
  readonly block: Uint8Array;
  /** 4 or 16 bytes; empty = `self`, also when none was written. */
  readonly nextHop: Uint8Array;
  /** Stand for every section that does not say its own. */
  readonly qualifiers: Qualifiers;
}

/** What belongs to the routes rather than to their attributes. Undefined = not written. */
export interface Qualifiers {
  readonly rd: string | undefined;
  readonly label: string | undefined;
  readonly pathId: number | undefined;
}

export const NO_QUALIFIERS: Qualifiers = { rd: undefined, label: undefined, pathId: undefined };

const NONE: Uint8Array = new Uint8Array(0);

const KEYWORDS = [
  'origin',
  'next-hop',
  'med',
  'local-preference',
  'as-path',
  'community',
  'large-community',
  'extended-community',
  'aggregator',
  'atomic-aggregate',
  'originator-id',
  'cluster-list',
  'aigp',
  'attribute',
  'rd',
  'label',
  'path-information',
  'watchdog',
] as const;
type Keyword = (typeof KEYWORDS)[number];

const ALIASES: readonly (readonly [alias: string, keyword: Keyword])[] = [
  ['next', 'next-hop'],
  ['nhop', 'next-hop'],
  ['pref', 'local-preference'],
  ['path', 'as-path'],
  ['s-com', 'community'],
  ['short-community', 'community'],
  ['l-com', 'large-community'],
  ['x-com', 'extended-community'],
  ['e-com', 'extended-community'],
  ['info', 'path-information'],
  ['labels', 'label'],
];

const NAMES: ReadonlyMap<string, Keyword> = new Map([...KEYWORDS.map((name): [string, Keyword] => [name, name]), ...ALIASES]);
/** One bit a keyword, to see it twice. `attribute` may come again: its code is what may not. */
const BITS: ReadonlyMap<Keyword, number> = new Map(KEYWORDS.map((name, index) => [name, name === 'attribute' ? 0 : 1 << index]));

/** Names of RFC 1997, 3765, 7999, 8326, 9494 and the IANA registry. */
const WELL_KNOWN: ReadonlyMap<string, number> = new Map([
  ['graceful-shutdown', 0xffff0000],
  ['accept-own', 0xffff0001],
  ['llgr-stale', 0xffff0006],
  ['no-llgr', 0xffff0007],
  ['blackhole', 0xffff029a],
  ['no-export', 0xffffff01],
  ['no-advertise', 0xffffff02],
  ['no-export-subconfed', 0xffffff03],
  ['nopeer', 0xffffff04],
]);

/** The canonical name of an attribute keyword, or undefined. */
export function attributeKeyword(word: string): Keyword | undefined {
  return NAMES.get(word);
}

/** One attribute of the wire; AGGREGATOR and AS_PATH with AS numbers of four octets. */
export interface AttributeValue {
  readonly code: number;
  /** Below 0: written, but nothing goes on the wire (`atomic-aggregate false`). */
  readonly flags: number;
  readonly bytes: Uint8Array;
}

/** Reads every word of `scan`. */
export function parseAttributes(scan: CommandScan): Parsed<CommandAttributes> {
  const values: AttributeValue[] = [];
  let seen = 0;
  let nextHop = NONE;
  let { rd, label, pathId } = NO_QUALIFIERS;
  while (scan.next()) {
    const { word, column } = scan;
    const name = NAMES.get(word);
    if (name === undefined) return refuse(unknownWord(word), column);
    const bit = BITS.get(name)!;
    if ((seen & bit) !== 0) return refuse(`duplicate attribute: ${name}`, column);
    seen |= bit;
    if (name === 'watchdog') return refuse('a watchdog pool is named in the configuration: use "watchdog announce NAME"', column);
    const list = readList(scan, word, name === 'atomic-aggregate');
    if (!list.ok) return list;
    const { items, at } = list.value;
    if (name === 'next-hop') {
      const address = items.length === 1 ? nextHopBytes(items[0]!) : undefined;
      if (address === undefined) return refuse(`invalid next-hop: ${all(items)} (expected an address or self)`, at);
      if (isNoHost(address)) return refuse(`unusable next-hop: ${all(items)} is no host's address (RFC 4271 §6.3)`, at);
      nextHop = address;
    } else if (name === 'rd') {
      if (items.length !== 1) return refuse(`invalid rd: ${all(items)}`, at);
      rd = items[0]!;
    } else if (name === 'label') {
      const fault = labelFault(items);
      if (fault !== undefined) return refuse(fault, at);
      label = items.join(',');
    } else if (name === 'path-information') {
      const id = items.length === 1 ? parsePathId(items[0]!) : -1;
      if (id < 0) return refuse(`invalid path-information: ${all(items)} (expected a number or a dotted quad)`, at);
      pathId = id;
    } else {
      const value = attributeValue(name, items);
      if (typeof value === 'string') return refuse(value, at);
      if (value.flags < 0 || (value.bytes.length === 0 && isList(value.code))) continue;
      if (values.some((other) => other.code === value.code)) return refuse(`duplicate attribute: code ${value.code}`, at);
      values.push(value);
    }
  }
  return { ok: true, value: { block: blockOf(values), nextHop, qualifiers: { rd, label, pathId } } };
}

/** Attributes that may not be empty on the wire: an empty list means none. */
function isList(number: number): boolean {
  return (
    number === code.COMMUNITIES ||
    number === code.LARGE_COMMUNITIES ||
    number === code.EXTENDED_COMMUNITIES ||
    number === code.CLUSTER_LIST
  );
}

function unknownWord(word: string): string {
  const guess = nearest(word, [...NAMES.keys(), 'nlri']);
  return `unknown attribute: ${shown(word)}${guess === undefined ? '' : ` (did you mean ${guess}?)`}`;
}

/** A value as its items; `at` is the column where it begins. */
export interface ItemList {
  readonly items: readonly string[];
  readonly at: number;
}

/** The value of a keyword: `[ a b ]`, `[a b]`, `a,b` or one word. `optional`: `true` or `false` may follow, nothing else is taken. */
export function readList(scan: CommandScan, keyword: string, optional = false): Parsed<ItemList> {
  const items: string[] = [];
  const more = scan.next();
  const at = scan.column;
  if (optional && (!more || (!scan.is('true') && !scan.is('false')))) {
    if (more) scan.back();
    return { ok: true, value: { items, at } };
  }
  if (!more) return refuse(`${keyword} requires a value`, at);
  if (scan.is('set')) return refuse(`"${keyword} set" is the older form, write: ${keyword} VALUE`, at);
  if (scan.is(']')) return refuse('unexpected ]', at);
  if (!scan.is('[')) {
    split(scan.word, items);
    return { ok: true, value: { items, at } };
  }
  for (;;) {
    if (!scan.next()) return refuse('missing ]', at);
    if (scan.is(']')) return { ok: true, value: { items, at } };
    if (scan.is('[')) return refuse('unexpected [', scan.column);
    split(scan.word, items);
  }
}

function split(word: string, items: string[]): void {
  if (!word.includes(',')) {
    items.push(word);
    return;
  }
  for (const text of word.split(',')) if (text !== '') items.push(text);
}

/** Filled anew by every call that reads it. */
const addressRoom = new Uint8Array(16);

/** Empty for `self`. */
function nextHopBytes(text: string): Uint8Array | undefined {
  if (text === 'self') return NONE;
  const length = parseAddress(text, addressRoom, 0);
  return length === 0 ? undefined : addressRoom.slice(0, length);
}

/**
 * An address no host has: this network, multicast, reserved, broadcast; unspecified or multicast of IPv6. Of 32 bytes the first address
 * counts. Loopback is let through: whole labs live on it.
 */
export function isNoHost(address: Uint8Array): boolean {
  const first = address[0];
  if (first === undefined) return false;
  if (address.length === 4) return first === 0 || first >= 0xe0;
  return first === 0xff || address.subarray(0, 16).every((byte) => byte === 0);
}

export function labelFault(labels: readonly string[]): string | undefined {
  const bad = labels.find((text) => parseDecimal(text, 0, text.length, 0xfffff) < 0);
  if (bad !== undefined) return `invalid label: ${shown(bad)} (0..1048575)`;
  return labels.length === 0 ? 'label requires a value' : undefined;
}

/** A number or a dotted quad as u32, -1 otherwise. */
export function parsePathId(text: string): number {
  return text.includes('.') ? parseIpv4(text) : parseDecimal(text, 0, text.length, 0xffffffff);
}

/** The attribute that a keyword with these values stands for, or what is wrong with them. */
export function attributeValue(name: Keyword, items: readonly string[]): AttributeValue | string {
  switch (name) {
    case 'origin': {
      const value = items.length === 1 ? ['igp', 'egp', 'incomplete'].indexOf(items[0]!) : -1;
      return value < 0
        ? `invalid origin: ${all(items)} (expected igp, egp or incomplete)`
        : known(code.ORIGIN, Uint8Array.of(value));
    }
    case 'med':
      return number(code.MULTI_EXIT_DISC, 'med', items);
    case 'local-preference':
      return number(code.LOCAL_PREF, 'local-preference', items);
    case 'as-path':
      return asPath(items);
    case 'community':
      return each(code.COMMUNITIES, 'community', items, 4, community);
    case 'large-community':
      return each(code.LARGE_COMMUNITIES, 'large-community', items, 12, largeCommunity);
    case 'extended-community':
      return each(code.EXTENDED_COMMUNITIES, 'extended-community', items, 8, parseExtendedCommunity);
    case 'aggregator':
      return each(code.AGGREGATOR, 'aggregator', items.slice(0, 2), 8, aggregator, 1);
    case 'atomic-aggregate':
      return items[0] === 'false' ? { code: code.ATOMIC_AGGREGATE, flags: -1, bytes: NONE } : known(code.ATOMIC_AGGREGATE, NONE);
    case 'originator-id':
      return each(code.ORIGINATOR_ID, 'originator-id', items, 4, quad, 1);
    case 'cluster-list':
      return each(code.CLUSTER_LIST, 'cluster-list', items, 4, quad);
    case 'aigp':
      return aigp(items);
    default:
      return generic(items);
  }
}

function all(items: readonly string[]): string {
  return shown(items.join(' '));
}

function known(number: number, bytes: Uint8Array): AttributeValue {
  return { code: number, flags: ATTRIBUTES[number]!.flags, bytes };
}

function number(attribute: number, name: string, items: readonly string[]): AttributeValue | string {
  const text = items.length === 1 ? items[0]! : '';
  const value = parseDecimal(text, 0, text.length, 0xffffffff);
  if (value < 0) return `invalid ${name}: ${all(items)} (0..4294967295)`;
  return known(attribute, u32(value));
}

function u32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  writeU32(bytes, 0, value);
  return bytes;
}

/** One AS_SEQUENCE, or several where it is longer than 255 numbers. */
function asPath(items: readonly string[]): AttributeValue | string {
  const count = items.length;
  if (count > MAX_PATH) return `as-path has more than ${MAX_PATH} numbers`;
  const bytes = new Uint8Array(2 * Math.ceil(count / 255) + 4 * count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (i % 255 === 0) {
      bytes[at++] = code.AS_SEQUENCE;
      bytes[at++] = Math.min(255, count - i);
    }
    const item = items[i]!;
    const value = parseDecimal(item, 0, item.length, 0xffffffff);
    if (value <= 0) return `invalid as-path: ${shown(item)} (expected AS numbers 1..4294967295)`;
    at = writeU32(bytes, at, value);
  }
  return known(code.AS_PATH, bytes);
}

const MAX_PATH = 1000;

/** Items of a fixed size, each written by `write`; `count` = how many there must be, undefined = any. */
function each(
  attribute: number,
  name: string,
  items: readonly string[],
  size: number,
  write: (text: string, out: Uint8Array, at: number) => boolean,
  count?: number,
): AttributeValue | string {
  if (count !== undefined && items.length !== count) return `invalid ${name}: ${all(items)}`;
  const bytes = new Uint8Array(items.length * size);
  for (let i = 0; i < items.length; i++) {
    if (!write(items[i]!, bytes, i * size)) return `invalid ${name}: ${shown(items[i]!)}`;
  }
  return known(attribute, bytes);
}

function community(text: string, out: Uint8Array, at: number): boolean {
  let value = WELL_KNOWN.get(text) ?? -1;
  if (value < 0) {
    const colon = text.indexOf(':');
    const high = colon < 0 ? -1 : parseDecimal(text, 0, colon, 0xffff);
    const low = colon < 0 ? -1 : parseDecimal(text, colon + 1, text.length, 0xffff);
    if (high < 0 || low < 0) return false;
    value = high * 65536 + low;
  }
  writeU32(out, at, value);
  return true;
}

function largeCommunity(text: string, out: Uint8Array, at: number): boolean {
  const parts = text.split(':');
  if (parts.length !== 3) return false;
  for (let i = 0; i < 3; i++) {
    const value = parseDecimal(parts[i]!, 0, parts[i]!.length, 0xffffffff);
    if (value < 0) return false;
    writeU32(out, at + 4 * i, value);
  }
  return true;
}

function quad(text: string, out: Uint8Array, at: number): boolean {
  const value = parseIpv4(text);
  if (value < 0) return false;
  writeU32(out, at, value);
  return true;
}

/** `AS:address`, parentheses around it allowed. */
function aggregator(text: string, out: Uint8Array, at: number): boolean {
  const bare = text.startsWith('(') && text.endsWith(')') ? text.slice(1, -1) : text;
  const colon = bare.indexOf(':');
  const as = colon < 0 ? -1 : parseDecimal(bare, 0, colon, 0xffffffff);
  if (as <= 0) return false;
  writeU32(out, at, as);
  return quad(bare.slice(colon + 1), out, at + 4);
}

/** Metric TLV (RFC 7311 §3), u64. */
function aigp(items: readonly string[]): AttributeValue | string {
  const text = items.length === 1 ? items[0]! : '';
  if (!/^\d{1,20}$/.test(text) || BigInt(text) > 0xffffffffffffffffn) return `invalid aigp: ${all(items)}`;
  const bytes = new Uint8Array(11);
  bytes.set([1, 0, 11]);
  new DataView(bytes.buffer).setBigUint64(3, BigInt(text));
  return known(code.AIGP, bytes);
}

/** `[ code flags 0xhex ]`: any attribute the engine does not write itself. */
function generic(items: readonly string[]): AttributeValue | string {
  const [codeText = '', flagsText = '', data = '', ...more] = items;
  const attribute = byteOf(codeText);
  const flags = byteOf(flagsText);
  const bytes = data === '' ? NONE : fromHex(/^0x/i.test(data) ? data.slice(2) : data);
  if (attribute <= 0 || flags < 0 || bytes === undefined || more.length > 0) {
    return `invalid attribute: ${all(items)} (expected [ code flags 0xhex ])`;
  }
  if (attribute === code.NEXT_HOP || attribute === code.MP_REACH_NLRI || attribute === code.MP_UNREACH_NLRI) {
    return `attribute ${attribute} is written by the engine`;
  }
  if (bytes.length > 0xffff) return 'attribute value longer than 65535 bytes';
  return { code: attribute, flags: flags & ~code.EXTENDED_LENGTH, bytes };
}

function byteOf(text: string): number {
  if (/^0x[0-9a-f]{1,2}$/i.test(text)) return Number.parseInt(text, 16);
  return parseDecimal(text, 0, text.length, 255);
}

/** The block of RFC 4271 §4.3, ascending by code. */
function blockOf(values: AttributeValue[]): Uint8Array {
  let size = 0;
  let sorted = true;
  for (let i = 0; i < values.length; i++) {
    const { length } = values[i]!.bytes;
    size += (length > 255 ? 4 : 3) + length;
    if (i > 0 && values[i - 1]!.code > values[i]!.code) sorted = false;
  }
  if (!sorted) values.sort((a, b) => a.code - b.code);
  const out = new Uint8Array(size);
  let at = 0;
  for (const { code: attribute, flags, bytes } of values) {
    const { length } = bytes;
    out[at++] = length > 255 ? flags | code.EXTENDED_LENGTH : flags;
    out[at++] = attribute;
    if (length > 255) out[at++] = length >>> 8;
    out[at++] = length & 0xff;
    if (length > 32) out.set(bytes, at);
    else for (let i = 0; i < length; i++) out[at + i] = bytes[i]!;
    at += length;
  }
  return out;
}
