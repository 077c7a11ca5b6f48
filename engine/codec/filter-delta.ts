/**
 * What a filter wants changed, applied to an UPDATE (plugin-lifecycle §9.3). A delta has the grammar of the text it answers and holds
 * only what changes: an attribute replaces the one that is there, a directive works on it, in the order they are written. What
 * cannot be read is left out and told; the path is changed by directives alone.
 */
import { parseAddress, parseDecimal, parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import type { PathSegment } from '../../sdk/wire/attribute/as-path.ts';
import * as code from '../../sdk/wire/attribute/code.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { IPV4_UNICAST, parseFamily } from '../../sdk/wire/family.ts';
import { PrefixCursor, writePrefix } from '../../sdk/wire/nlri/prefix.ts';
import { attributeValue } from './attribute-text.ts';
import { shown } from './command-scan.ts';
import type { FilterBody } from './filter-body.ts';
import { attributeOf, type FilterItem, type FilterText, type NlriBlock } from './filter-text.ts';

const MOST_PREPENDED = 32;
/** Octets that Total Path Attribute Length can say (RFC 4271 §4.3). */
const MOST_ATTRIBUTES = 0xffff;
/** Characters and directives of a delta: one that changes every attribute and names every prefix of a long UPDATE stays far below. */
export const MOST_TEXT = 512 * 1024;
export const MOST_ITEMS = 256;

/** What a filter has declared that it may change. */
export interface FilterRights {
  /** Names of attributes; none = any. A directive may stand for its attribute. */
  readonly attributes: readonly string[];
  readonly nlri: boolean;
}

/** The first thing in the delta that the filter has not declared, or undefined. The path is not looked at: it is ignored anyway. */
export function undeclaredChange(delta: FilterText, rights: FilterRights): string | undefined {
  if (delta.nlri !== undefined && !rights.nlri) return 'nlri';
  if (rights.attributes.length === 0) return undefined;
  const allowed = new Set(rights.attributes);
  return delta.items.find(({ name }) => name !== 'as-path' && !allowed.has(name) && !allowed.has(attributeOf(name)))?.name;
}

/** Changes `body`; returns what was left out, for the log. The delta has at most `MOST_ITEMS` directives, from `MOST_TEXT` characters. */
export function applyDelta(body: FilterBody, delta: FilterText, localAs: number): readonly string[] {
  const faults = [...delta.faults];
  for (const item of delta.items) {
    // Every directive rewrites its attribute: what no UPDATE can hold any more is not made still larger.
    if (body.attributesLength > MOST_ATTRIBUTES) break;
    const fault = applyItem(body, item, localAs);
    if (fault !== undefined) faults.push(fault);
  }
  if (delta.nlri !== undefined) applyNlri(body, delta.nlri, faults);
  return faults;
}

function applyItem(body: FilterBody, { name, values }: FilterItem, localAs: number): string | undefined {
  switch (name) {
    case 'as-path':
      return undefined;
    case 'as-path-prepend':
      return prepend(body, values, localAs);
    case 'remove-private':
      return removePrivate(body, values, localAs);
    case 'med-remove':
      body.remove(code.MULTI_EXIT_DISC);
      return undefined;
    case 'next-hop':
      return setNextHop(body, values);
    case 'community-add':
    case 'large-community-add':
    case 'extended-community-add':
      return changeList(body, name, values, true);
    case 'community-remove':
    case 'large-community-remove':
    case 'extended-community-remove':
      return changeList(body, name, values, false);
    case 'aggregator': {
      const read = attributeValue(name, values);
      if (typeof read === 'string') return read;
      body.setAggregator(read.bytes);
      return undefined;
    }
    default: {
      const read = attributeValue(name, values);
      if (typeof read === 'string') return read;
      body.set(read.code, read.flags, read.bytes);
      return undefined;
    }
  }
}

/** `as-path-prepend N`: our AS, 1 to 32 times, into the first sequence where it has room. */
function prepend(body: FilterBody, values: readonly string[], localAs: number): string | undefined {
  const [text = ''] = values;
  const times = values.length === 1 ? parseDecimal(text, 0, text.length, MOST_PREPENDED) : -1;
  if (times < 1) return `invalid as-path-prepend: ${shown(values.join(' '))} (1..${MOST_PREPENDED})`;
  const { path } = body;
  if (path === undefined) return 'as-path-prepend: there is no path';
  const own = Array.from({ length: times }, () => localAs);
  const [first, ...rest] = path;
  if (first?.type === 'sequence' && first.asns.length + times <= 255) {
    body.setPath([{ type: 'sequence', asns: [...own, ...first.asns] }, ...rest]);
  } else body.setPath([{ type: 'sequence', asns: own }, ...path]);
  return undefined;
}

/** RFC 6996: 64512 to 65534 and 4200000000 to 4294967294. */
function isPrivate(asn: number): boolean {
  return (asn >= 64512 && asn <= 65534) || (asn >= 4_200_000_000 && asn <= 4_294_967_294);
}

/** `remove-private all` drops private numbers, `replace` puts ours in their stead; our own in front stays, the neighbour expects it. */
function removePrivate(body: FilterBody, values: readonly string[], localAs: number): string | undefined {
  const mode = values.length === 1 ? values[0] : '';
  if (mode !== 'all' && mode !== 'replace') return `invalid remove-private: ${shown(values.join(' '))} (all or replace)`;
  const { path } = body;
  if (path === undefined) return undefined;
  let front = true;
  const changed = path.flatMap(({ type, asns }): readonly PathSegment[] => {
    if (type !== 'sequence' && type !== 'set') return [{ type, asns }];
    const kept = asns.flatMap((asn) => {
      front &&= type === 'sequence' && asn === localAs;
      if (front || !isPrivate(asn)) return [asn];
      return mode === 'all' ? [] : [localAs];
    });
    return kept.length === 0 ? [] : [{ type, asns: kept }];
  });
  body.setPath(changed);
  return undefined;
}

const addressRoom = new Uint8Array(16);

/** An IPv4 address is the NEXT_HOP of IPv4 routes; MP_REACH_NLRI takes an address of the version it has. */
function setNextHop(body: FilterBody, values: readonly string[]): string | undefined {
  const [text = ''] = values;
  const length = values.length === 1 ? parseAddress(text, addressRoom, 0) : 0;
  if (length === 0) return `invalid next-hop: ${shown(values.join(' '))} (expected an address)`;
  const address = addressRoom.slice(0, length);
  if (length === 4 && (body.nlri.length > 0 || body.value(code.NEXT_HOP) !== undefined)) {
    body.set(code.NEXT_HOP, code.TRANSITIVE, address);
    return undefined;
  }
  const there = body.reach?.nextHop ?? new Uint8Array(0);
  const rd = [12, 24, 48].includes(there.length) ? 8 : 0;
  const versionLength = there.length === 4 || there.length === 12 ? 4 : 16;
  if (there.length === 0 || versionLength !== length) return `next-hop ${shown(text)} does not fit the routes`;
  // A link-local address beside the old one belonged to the old router.
  const field = new Uint8Array(rd + length);
  field.set(address, rd);
  body.setReachNextHop(field);
  return undefined;
}

/** `community-add a b`, `large-community-remove a`, …: adding what is there and removing what is not changes nothing. */
function changeList(
  body: FilterBody,
  directive: FilterItem['name'],
  values: readonly string[],
  add: boolean,
): string | undefined {
  const name = attributeOf(directive) as 'community' | 'large-community' | 'extended-community';
  const read = attributeValue(name, values);
  if (typeof read === 'string') return read.replace(name, directive);
  const size = name === 'community' ? 4 : name === 'large-community' ? 12 : 8;
  const before = body.value(read.code) ?? new Uint8Array(0);
  if (before.length % size !== 0) return `${directive}: the attribute is malformed`;
  const after: number[] = add ? [...before] : [];
  const source = add ? read.bytes : before;
  // What is left out: on adding what is there, or was added just now; on removing what is named.
  const out = keysOf(add ? before : read.bytes, size);
  for (let at = 0; at < source.length; at += size) {
    const key = keyOf(source, at, size);
    if (out.has(key)) continue;
    if (add) out.add(key);
    for (let i = at; i < at + size; i++) after.push(source[i]!);
  }
  if (after.length === before.length) return undefined;
  if (after.length === 0) body.remove(read.code);
  else body.set(read.code, read.flags, Uint8Array.from(after));
  return undefined;
}

/** Entries of `size` bytes. */
function keysOf(list: Uint8Array, size: number): Set<string> {
  const keys = new Set<string>();
  for (let at = 0; at < list.length; at += size) keys.add(keyOf(list, at, size));
  return keys;
}

/**
 * The announced IPv4 prefixes become those of the `ipv4/unicast add` blocks; entries that stay keep their path identifiers. Withdrawals
 * stay, a filter does not keep a route alive; other families are what they were. What an earlier UPDATE announced of the dropped
 * ones is the reactor's to withdraw.
 */
function applyNlri(body: FilterBody, blocks: readonly NlriBlock[], faults: string[]): void {
  const wanted = new Map<string, Uint8Array>();
  let named = false;
  for (const { family, verb, prefixes } of blocks) {
    if (parseFamily(family) !== IPV4_UNICAST) {
      if (prefixes.length > 0) faults.push(`nlri ${shown(family)} cannot be changed by text`);
      continue;
    }
    if (verb !== 'add') continue;
    named = true;
    for (const text of prefixes) {
      const wire = prefixBytes(text);
      if (wire === undefined) faults.push(`invalid prefix: ${shown(text)}`);
      else wanted.set(keyOf(wire, 0, wire.length), wire);
    }
  }
  if (!named) return;
  const addPath = body.addPath(IPV4_UNICAST);
  const { nlri } = body;
  const kept: number[] = [];
  const met = new Set<string>();
  const cursor = new PrefixCursor().over(viewOf(nlri), 0, nlri.length, 32, addPath);
  for (let from = 0; cursor.next(); from = cursor.at) {
    const size = writePrefix(prefixRoom, 0, nlri, cursor.prefixAt, cursor.lengthBits, false, 0);
    const key = keyOf(prefixRoom, 0, size);
    if (wanted.has(key)) for (let i = from; i < cursor.at; i++) kept.push(nlri[i]!);
    met.add(key);
  }
  for (const [key, wire] of wanted) {
    if (met.has(key)) continue;
    if (addPath) faults.push('a prefix that was not announced has no path identifier');
    else kept.push(...wire);
  }
  body.nlri = Uint8Array.from(kept);
  if (body.nlri.length === 0 && body.reach === undefined) body.removeAllButUnreach();
}

const target = prefixTarget();
const prefixRoom = new Uint8Array(24);

/** An IPv4 prefix as on the wire, without a path identifier. */
function prefixBytes(text: string): Uint8Array | undefined {
  if (!text.includes('/') || !parsePrefix(text, target) || target.addressLength !== 4) return undefined;
  return prefixRoom.slice(0, writePrefix(prefixRoom, 0, target.bytes, 0, target.lengthBits, false, 0));
}

function keyOf(bytes: Uint8Array, at: number, length: number): string {
  let key = '';
  for (let i = at; i < at + length; i++) key += String.fromCharCode(bytes[i]!);
  return key;
}
