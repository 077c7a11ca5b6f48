// An `update` block of the configuration, as plugins are shown it, to the words of route commands. The engine has checked the block.
import { formatPrefix, parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import { isPrefixFamily, parseFamily } from '../../sdk/wire/family.ts';

/** One route of a pool. */
export interface PoolRoute {
  /** Of two with the same key one replaces the other: family, what is part of the route itself (RD, label, path id), prefix. */
  readonly key: string;
  /** Attributes without MED: `origin igp next-hop self`. */
  readonly attributes: string;
  /** As configured, '' = none. */
  readonly med: string;
  /** `nlri ipv4/mpls-vpn rd 65000:1 label 5`: all that stands before the operation. */
  readonly section: string;
  /** What stands behind `add`: a prefix, or the one expression of another family. */
  readonly item: string;
  /** Several may stand behind one `add`; an expression stands alone. */
  readonly isPrefix: boolean;
  /** Held back until the pool is announced. */
  readonly held: boolean;
}

export type Tree = Readonly<Record<string, unknown>>;

/** Attributes in the order of the route language. MED is kept apart, so are the qualifiers of a section. */
const SINGLE = ['origin', 'next-hop', 'local-preference', 'aggregator', 'originator-id'];
const LISTS = ['as-path', 'community', 'large-community', 'extended-community', 'cluster-list'];

/** A block's pool and its routes; undefined when it belongs to none. */
export function poolOf(block: Tree): { readonly pool: string; readonly routes: readonly PoolRoute[] } | undefined {
  const watchdog = treeOf(block['watchdog']);
  const pool = textOf(watchdog['name']);
  if (pool === '') return undefined;
  const attribute = treeOf(block['attribute']);
  const common = {
    attributes: attributesOf(attribute),
    med: textOf(attribute['med']),
    held: textOf(watchdog['withdraw']) !== 'false',
  };
  const split = Number(textOf(attribute['split']).replace('/', ''));
  const routes = Object.entries(treeOf(block['nlri'])).flatMap(([name, line]) => {
    const words = listOf(treeOf(line)['content']);
    const at = words.indexOf('add');
    if (at < 0) return [];
    const family = name.replace(/ .*$/, '');
    const section = ['nlri', family, ...qualifiersOf(attribute, isPrefixFamily(parseFamily(family))), ...words.slice(0, at)].join(
      ' ',
    );
    const prefixes = prefixesOf(words.slice(at + 1), split);
    const items = prefixes ?? expressionsOf(words.slice(at + 1));
    return items.map((item) => ({ ...common, key: `${section} ${item}`, section, item, isPrefix: prefixes !== undefined }));
  });
  return { pool, routes };
}

/** What belongs to a route and not to its path; families of plain prefixes have no RD and no label. */
function qualifiersOf(attribute: Tree, plain: boolean): readonly string[] {
  const words: string[] = [];
  const labels = listOf(attribute['labels']);
  const pairs = { rd: textOf(attribute['rd']), label: labels.length > 0 ? labels.join(',') : textOf(attribute['label']) };
  if (!plain) for (const [name, value] of Object.entries(pairs)) if (value !== '') words.push(name, value);
  const path = textOf(attribute['path-information']);
  return path === '' ? words : [...words, 'path-information', path];
}

function attributesOf(attribute: Tree): string {
  const words: string[] = [];
  for (const name of SINGLE) if (textOf(attribute[name]) !== '') words.push(name, textOf(attribute[name]));
  for (const name of LISTS) {
    const values = pairs(listOf(attribute[name]));
    if (values.length > 0) words.push(`${name} [ ${values.join(' ')} ]`);
  }
  if (textOf(attribute['atomic-aggregate']) === 'true') words.push('atomic-aggregate');
  const generic = listOf(attribute['attribute']);
  for (let at = 0; at + 3 <= generic.length; at += 3) words.push(`attribute [ ${generic.slice(at, at + 3).join(' ')} ]`);
  return words.join(' ');
}

/** `mark 5` and `action sample` are one community each. */
function pairs(values: readonly string[]): readonly string[] {
  const out: string[] = [];
  for (let at = 0; at < values.length; at++) {
    const two = (values[at] === 'mark' || values[at] === 'action') && at + 1 < values.length;
    out.push(two ? `${values[at]!}:${values[++at]!}` : values[at]!);
  }
  return out;
}

/** One by one, each in its components where the block says so; undefined when the words are no prefixes. */
function prefixesOf(words: readonly string[], split: number): readonly string[] | undefined {
  const target = prefixTarget();
  const plain = words.filter((word) => word !== 'prefix' && word !== 'add' && !'[]()'.includes(word));
  if (!plain.every((word) => parsePrefix(word, target))) return undefined;
  return plain.flatMap((word) => {
    parsePrefix(word, target);
    const { bytes, lengthBits, addressLength } = target;
    return split > lengthBits && split <= addressLength * 8
      ? components(bytes, lengthBits, split, addressLength)
      : [formatPrefix(bytes, 0, lengthBits, addressLength)];
  });
}

/** `add A add B` are two. */
function expressionsOf(words: readonly string[]): readonly string[] {
  return words
    .join(' ')
    .split(/(?:^| )add(?= |$)/)
    .map((expression) => expression.trim())
    .filter((expression) => expression !== '');
}

/** The prefix as all its components of length `split`, in order; the engine has bounded how many these are. */
function components(bytes: Uint8Array, lengthBits: number, split: number, addressLength: number): readonly string[] {
  const at = Uint8Array.from(bytes);
  const count = 2 ** (split - lengthBits);
  const out: string[] = [];
  for (let i = 0; i < count; i++) {
    out.push(formatPrefix(at, 0, split, addressLength));
    // The next one: add one to the bit at `split`, carrying to the left.
    for (let bit = split - 1; bit >= lengthBits; bit--) {
      const mask = 0x80 >> (bit & 7);
      at[bit >> 3]! ^= mask;
      if ((at[bit >> 3]! & mask) !== 0) break;
    }
  }
  return out;
}

export function treeOf(value: unknown): Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Tree) : {};
}

export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(textOf) : textOf(value) === '' ? [] : [textOf(value)];
}
