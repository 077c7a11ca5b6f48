/**
 * The text in which filters see an UPDATE (plugin-lifecycle §9.2), both ways:
 *
 *     text  = [ attr *(SP attr) ] *( SP block )
 *     attr  = name SP value                            value-less: atomic-aggregate, med-remove
 *     block = "nlri" SP family SP ("add"/"del") *(SP prefix)
 *
 * Prefixes stand inline for IPv4 and IPv6 unicast, multicast and mpls-label (there without the label); a block of any other family is
 * a bare marker, its NLRI is for filters that ask for the bytes. Path identifiers are not shown.
 */
import { formatAddress, formatIpv4, formatPrefix } from '../../sdk/wire/address.ts';
import { flatPath } from '../../sdk/wire/attribute/as-path.ts';
import * as code from '../../sdk/wire/attribute/code.ts';
import { formatCommunity, formatLargeCommunity } from '../../sdk/wire/attribute/community.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import {
  afiOf,
  type Family,
  familyName,
  IPV4_UNICAST,
  maxPrefixBits,
  safiOf,
  SAFI_MPLS_LABEL,
  SAFI_MULTICAST,
  SAFI_UNICAST,
} from '../../sdk/wire/family.ts';
import { PrefixCursor } from '../../sdk/wire/nlri/prefix.ts';
import { nlriLength } from '../../sdk/wire/nlri/syntax.ts';
import { shown } from './command-scan.ts';
import { nextHopText } from './event-text.ts';
import { formatExtendedCommunity } from './extended-community.ts';
import type { FilterBody } from './filter-body.ts';

/** Names of attributes in the order of the text. */
const ATTRIBUTES = [
  'origin',
  'as-path',
  'next-hop',
  'med',
  'local-preference',
  'atomic-aggregate',
  'aggregator',
  'community',
  'large-community',
  'aigp',
  'extended-community',
  'originator-id',
  'cluster-list',
] as const;

/** What a delta may ask for beside values. */
const DIRECTIVES = [
  'as-path-prepend',
  'remove-private',
  'med-remove',
  'community-add',
  'community-remove',
  'large-community-add',
  'large-community-remove',
  'extended-community-add',
  'extended-community-remove',
] as const;

export type FilterAttribute = (typeof ATTRIBUTES)[number];
export type FilterName = FilterAttribute | (typeof DIRECTIVES)[number];

const NAMES: ReadonlySet<string> = new Set([...ATTRIBUTES, ...DIRECTIVES]);
const VALUELESS: ReadonlySet<string> = new Set(['atomic-aggregate', 'med-remove']);
/** Names that take every word up to the next name; the others take one. */
const LISTS = /^(?:as-path|cluster-list|(?:large-|extended-)?community(?:-add|-remove)?)$/;

/** One attribute or directive with its values, as words. */
export interface FilterItem {
  readonly name: FilterName;
  readonly values: readonly string[];
}

export interface NlriBlock {
  /** Canonical name. */
  readonly family: string;
  readonly verb: 'add' | 'del';
  readonly prefixes: readonly string[];
}

export interface FilterText {
  readonly items: readonly FilterItem[];
  /** Undefined: the text has no nlri section. */
  readonly nlri: readonly NlriBlock[] | undefined;
  /** What could not be read and was left out. */
  readonly faults: readonly string[];
}

/** An attribute's name to a filter, `community-add` to `community`, `med-remove` to `med`: what a declaration's list is about. */
export function attributeOf(name: FilterName): FilterAttribute {
  if (name === 'as-path-prepend' || name === 'remove-private') return 'as-path';
  return name.replace(/-(?:add|remove)$/, '') as FilterAttribute;
}

/** The text of an UPDATE; `nlri` false leaves its routes out. */
export function filterText(body: FilterBody, nlri = true): string {
  return formatFilterText({ items: itemsOf(body), nlri: nlri ? blocksOf(body) : undefined });
}

export function formatFilterText({ items, nlri = [] }: Pick<FilterText, 'items' | 'nlri'>): string {
  return [
    ...items.map(({ name, values }) => [name, ...values].join(' ')),
    ...nlri.map(({ family, verb, prefixes }) => ['nlri', family, verb, ...prefixes].join(' ')),
  ].join(' ');
}

/** Any text: a word nobody knows is skipped with the words behind it. Behind a list it counts as one of its values. */
export function parseFilterText(text: string): FilterText {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const items: FilterItem[] = [];
  const blocks: NlriBlock[] = [];
  const faults: string[] = [];
  let hasNlri = false;
  for (let at = 0; at < words.length; ) {
    const word = words[at]!;
    const most = VALUELESS.has(word) ? 0 : NAMES.has(word) && !LISTS.test(word) ? 1 : words.length;
    let to = at + 1;
    while (to < words.length && to - at <= most && words[to] !== 'nlri' && !NAMES.has(words[to]!)) to++;
    const values = words.slice(at + 1, to);
    at = to;
    if (word === 'nlri') {
      const [family = '', verb, ...prefixes] = values;
      hasNlri = true;
      if (family !== '' && (verb === 'add' || verb === 'del')) blocks.push({ family, verb, prefixes });
      else faults.push(`nlri ${shown(values.join(' '))}: expected FAMILY add or FAMILY del`);
    } else if (!NAMES.has(word)) faults.push(`unknown attribute: ${shown(word)}`);
    else if (values.length === 0 && word !== 'as-path' && !VALUELESS.has(word)) {
      faults.push(`${word} has no value`);
    } else items.push({ name: word as FilterName, values });
  }
  return { items, nlri: hasNlri ? blocks : undefined, faults };
}

function itemsOf(body: FilterBody): FilterItem[] {
  return ATTRIBUTES.flatMap((name) => {
    const values = valuesOf(body, name);
    return values === undefined ? [] : [{ name, values }];
  });
}

/** Undefined when the attribute is absent, or no value of its kind: then it is carried, not shown. */
function valuesOf(body: FilterBody, name: FilterAttribute): readonly string[] | undefined {
  switch (name) {
    case 'origin': {
      const word = ['igp', 'egp', 'incomplete'][sized(body, code.ORIGIN, 1)?.[0] ?? 3];
      return word === undefined ? undefined : [word];
    }
    case 'as-path': {
      const { path } = body;
      return path === undefined ? undefined : flatPath(path).map(String);
    }
    case 'next-hop': {
      const text = nextHopOf(body);
      return text === undefined ? undefined : [text];
    }
    case 'med':
      return number(body, code.MULTI_EXIT_DISC);
    case 'local-preference':
      return number(body, code.LOCAL_PREF);
    case 'atomic-aggregate':
      return sized(body, code.ATOMIC_AGGREGATE, 0) === undefined ? undefined : [];
    case 'aggregator': {
      const { aggregator } = body;
      return aggregator === undefined ? undefined : [`${aggregator.asn}:${formatAddress(aggregator.address, 0, 4) ?? ''}`];
    }
    case 'community':
      return list(body, code.COMMUNITIES, 4, (view, at) => formatCommunity(view.getUint32(at)));
    case 'large-community':
      return list(body, code.LARGE_COMMUNITIES, 12, formatLargeCommunity);
    case 'aigp': {
      // The metric TLV alone (RFC 7311 §3); what else the attribute may hold has no text.
      const value = sized(body, code.AIGP, 11);
      return value?.[0] === 1 && value[2] === 11 ? [viewOf(value).getBigUint64(3).toString()] : undefined;
    }
    case 'extended-community':
      return list(body, code.EXTENDED_COMMUNITIES, 8, formatExtendedCommunity);
    case 'originator-id':
      return list(body, code.ORIGINATOR_ID, 4, quad)?.slice(0, 1);
    case 'cluster-list':
      return list(body, code.CLUSTER_LIST, 4, quad);
  }
}

function sized(body: FilterBody, attribute: number, length: number): Uint8Array | undefined {
  const value = body.value(attribute);
  return value?.length === length ? value : undefined;
}

function number(body: FilterBody, attribute: number): readonly string[] | undefined {
  const value = sized(body, attribute, 4);
  return value === undefined ? undefined : [String(viewOf(value).getUint32(0))];
}

function list(
  body: FilterBody,
  attribute: number,
  size: number,
  format: (view: DataView, at: number) => string,
): readonly string[] | undefined {
  const value = body.value(attribute);
  if (value === undefined || value.length === 0 || value.length % size !== 0) return undefined;
  const view = viewOf(value);
  return Array.from({ length: value.length / size }, (_, index) => format(view, index * size));
}

function quad(view: DataView, at: number): string {
  return formatIpv4(view.getUint32(at));
}

/** NEXT_HOP, else the address in MP_REACH_NLRI. */
function nextHopOf(body: FilterBody): string | undefined {
  const value = sized(body, code.NEXT_HOP, 4);
  if (value !== undefined) return formatAddress(value, 0, 4);
  const nextHop = body.reach?.nextHop;
  return nextHop === undefined ? undefined : nextHopText(nextHop, 0, 0, nextHop.length);
}

/** IPv4 announced, IPv4 withdrawn, MP announced, MP withdrawn: those that are there. */
function blocksOf(body: FilterBody): NlriBlock[] {
  const blocks: NlriBlock[] = [];
  const add = (family: Family, verb: 'add' | 'del', nlri: Uint8Array): void =>
    void blocks.push({
      family: familyName(family),
      verb,
      prefixes: prefixesOf(family, nlri, body.addPath(family), verb === 'del'),
    });
  if (body.nlri.length > 0) add(IPV4_UNICAST, 'add', body.nlri);
  if (body.withdrawn.length > 0) add(IPV4_UNICAST, 'del', body.withdrawn);
  const { reach, unreach } = body;
  if (reach !== undefined) add(reach.family, 'add', reach.nlri);
  if (unreach !== undefined) add(unreach.family, 'del', unreach.nlri);
  return blocks;
}

function prefixesOf(family: Family, nlri: Uint8Array, addPath: boolean, withdrawn: boolean): readonly string[] {
  const safi = safiOf(family);
  const maxBits = maxPrefixBits(afiOf(family));
  if (maxBits === 0) return [];
  if (safi === SAFI_MPLS_LABEL) return labelledPrefixes(family, nlri, addPath, withdrawn);
  if (safi !== SAFI_UNICAST && safi !== SAFI_MULTICAST) return [];
  const prefixes: string[] = [];
  const cursor = new PrefixCursor().over(viewOf(nlri), 0, nlri.length, maxBits, addPath);
  while (cursor.next()) prefixes.push(formatPrefix(nlri, cursor.prefixAt, cursor.lengthBits, maxBits / 8));
  return prefixes;
}

/** RFC 8277 §2: length, labels of three octets up to the one with the last bit set, prefix. */
function labelledPrefixes(family: Family, nlri: Uint8Array, addPath: boolean, withdrawn: boolean): readonly string[] {
  const view = viewOf(nlri);
  const addressLength = maxPrefixBits(afiOf(family)) / 8;
  const prefixes: string[] = [];
  for (let at = 0; at < nlri.length; ) {
    if (addPath) at += 4;
    const length = nlriLength(view, at, nlri.length - at, family, withdrawn);
    if (length < 0) return prefixes;
    let prefixAt = at + 1;
    let bits = nlri[at]!;
    for (;;) {
      const label = (nlri[prefixAt]! << 16) | (nlri[prefixAt + 1]! << 8) | nlri[prefixAt + 2]!;
      const first = prefixAt === at + 1;
      prefixAt += 3;
      bits -= 24;
      if ((label & 1) !== 0 || bits < 24 || (withdrawn && first && (label === 0x800000 || label === 0))) break;
    }
    prefixes.push(formatPrefix(nlri, prefixAt, bits, addressLength));
    at += length;
  }
  return prefixes;
}
