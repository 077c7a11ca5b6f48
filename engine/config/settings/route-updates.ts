// `update { attribute { … } nlri { … } }` blocks to route commands (`update text … nlri FAMILY add …`): every word is checked here, with its
// place; the bytes are made by whoever owns the family. Peers share the blocks they inherit: each is read once.
import { addressBytes, parseDecimal, parseIpv4 } from '../../../sdk/wire/address.ts';
import { parseExtendedCommunity } from '../../../sdk/wire/attribute/community.ts';
import {
  AFI_IPV4,
  AFI_IPV6,
  afiOf,
  type Family,
  isPrefixFamily,
  NAMED_FAMILIES,
  SAFI_MPLS_LABEL,
  SAFI_MPLS_VPN,
  safiOf,
} from '../../../sdk/wire/family.ts';
import { isWordFault, nlriFromWords, writesWords } from '../../../sdk/wire/nlri/words/index.ts';
import type { StaticUpdate } from '../../bgp/port.ts';
import { type Branch, entriesAt, Reader, valueAt } from '../tree/effective.ts';
import { clamp, type Findings, type Place } from '../fault.ts';
import { BRACKETS, type Fault, prefixes, type Word } from './route-prefixes.ts';
import { familyOfName } from '../rules/validators.ts';
import { didYouMean } from '../text/values.ts';

/** Attributes in the order of the route language, single values and lists. */
const SINGLE = ['origin', 'next-hop', 'med', 'local-preference', 'aggregator', 'originator-id'];
const LISTS = ['as-path', 'community', 'large-community', 'extended-community', 'cluster-list'];
const QUALIFIERS = ['rd', 'label', 'path-information'];
const OPERATIONS = ['add', 'del', 'eor'];

/** What a block needs to know of its peer. */
export interface RouteContext {
  readonly path: string;
  /** Next hops of another address family that the session carries (RFC 8950). */
  readonly nextHops: readonly { readonly family: Family; readonly nextHopAfi: number }[];
}

/** The `update` blocks of a configuration. */
export class RouteBook {
  readonly #findings: Findings;
  readonly #families: ReadonlyMap<string, Family> | undefined;
  /** What a block came to, by what the sessions carry. */
  readonly #read = new WeakMap<Branch, Map<string, StaticUpdate | undefined>>();

  constructor(findings: Findings, families: ReadonlyMap<string, Family> | undefined) {
    this.#findings = findings;
    this.#families = families;
  }

  /** The commands of a peer's blocks. One of a pool makes none: it is checked here, and announced by the plugin bgp-watchdog. */
  updates(blocks: readonly Branch[], context: RouteContext): readonly StaticUpdate[] {
    if (blocks.length === 0) return [];
    const carried = context.nextHops.map(({ family, nextHopAfi }) => `${family}/${nextHopAfi}`).join(' ');
    return blocks.flatMap((block) => {
      let known = this.#read.get(block);
      if (known === undefined) this.#read.set(block, (known = new Map<string, StaticUpdate | undefined>()));
      if (!known.has(carried)) known.set(carried, this.#block(new Reader(block), context));
      return known.get(carried) ?? [];
    });
  }

  /** Blocks that no peer has taken (of `bgp`, of a group without peers, of an incomplete peer): wrong ones are wrong all the same. */
  checkRest(bgp: Branch): void {
    const check = (owner: Branch, path: string): void => {
      for (const block of entriesAt(owner, 'update')) {
        if (this.#read.has(block)) continue;
        const families = entriesAt(block, 'nlri').map((line) => familyOfName(line.key.replace(/ .*$/, ''), this.#families));
        const nextHops = families.flatMap((family) => [AFI_IPV4, AFI_IPV6].map((nextHopAfi) => ({ family, nextHopAfi })));
        this.updates([block], { path, nextHops });
      }
    };
    check(bgp, 'bgp');
    const peers = (owner: Branch, path: string): void => {
      for (const peer of entriesAt(owner, 'peer')) check(peer, `${path}/peer/${peer.key}`);
    };
    peers(bgp, 'bgp');
    for (const group of entriesAt(bgp, 'group')) {
      check(group, `bgp/group/${group.key}`);
      peers(group, `bgp/group/${group.key}`);
    }
  }

  #block(block: Reader, context: RouteContext): StaticUpdate | undefined {
    const path = `${context.path}/update/${block.key}`;
    const sections = block.entries('nlri').flatMap((line) => this.#section(block, line, context, path) ?? []);
    const attributes = this.#attributes(block, path);
    if (sections.length === 0) return undefined;
    this.#idleQualifiers(block, path);
    if (!block.has('watchdog')) return { command: ['update text', ...attributes, ...sections].join(' ') };
    const fault = (place: Place, message: string): void => this.#findings.fault(place, `${path}/watchdog`, message);
    if (block.text('watchdog/name') === '') fault(block.place('watchdog'), 'watchdog needs the name of a pool');
    for (const line of block.entries('nlri'))
      if (line.list('content').some((word) => word === 'del' || word === 'eor'))
        fault(line.branch.place, 'a pool holds routes to announce: no del and no eor');
    return undefined;
  }

  /** `rd` or a label that no line of the block can take would be ignored. */
  #idleQualifiers(block: Reader, path: string): void {
    const names = block.entries('nlri').map((line) => line.key.replace(/ .*$/, ''));
    if (!names.every((name) => isPrefixFamily(familyOfName(name, this.#families)))) return;
    for (const leaf of ['attribute/rd', 'attribute/label', 'attribute/labels']) {
      if (!block.has(leaf)) continue;
      const message = `${leaf.slice('attribute/'.length)} does not apply to ${names.join(', ')}`;
      this.#findings.fault(block.place(leaf), `${path}/${leaf}`, message);
    }
  }

  #attributes(block: Reader, path: string): string[] {
    const out: string[] = [];
    const fault = (leaf: string, place: Place, message: string): void =>
      this.#findings.fault(place, `${path}/attribute/${leaf}`, `${leaf}: ${message}`);
    for (const name of [...SINGLE, ...QUALIFIERS]) {
      const value = block.text(`attribute/${name}`);
      if (value !== '') out.push(`${name} ${value}`);
    }
    const hop = addressBytes(block.text('attribute/next-hop'));
    if (hop !== undefined && isNoHost(hop)) {
      const text = block.text('attribute/next-hop');
      fault('next-hop', block.place('attribute/next-hop'), `${text} is not the address of a host (RFC 4271 §6.3)`);
    }
    for (const name of LISTS) {
      const values =
        name === 'extended-community'
          ? extendedCommunities(itemsAt(block, `attribute/${name}`), (place, message) => fault(name, place, message))
          : block.list(`attribute/${name}`);
      if (values.length > 0) out.push(`${name} [ ${values.join(' ')} ]`);
    }
    const labels = block.list('attribute/labels');
    if (labels.length > 0) out.push(`label [ ${labels.join(' ')} ]`);
    if (block.flag('attribute/atomic-aggregate')) out.push('atomic-aggregate');
    const generic = itemsAt(block, 'attribute/attribute');
    if (generic.length % 3 !== 0) fault('attribute', block.place('attribute/attribute'), 'attribute takes [ code flags value ]');
    else
      for (let at = 0; at < generic.length; at += 3) {
        const [code, flags, value] = generic.slice(at, at + 3) as [Word, Word, Word];
        for (const octet of [code, flags])
          if (!isOctet(octet.text))
            fault('attribute', octet.place, `"${clamp(octet.text)}" is not an octet: 0..255, or 0x and two digits`);
        if (!/^(?:0x)?(?:[0-9a-fA-F]{2})*$/.test(value.text))
          fault('attribute', value.place, `"${clamp(value.text)}" is not pairs of hexadecimal digits, with or without 0x`);
        out.push(`attribute [ ${code.text} ${flags.text} 0x${value.text.replace('0x', '')} ]`);
      }
    return out;
  }

  /** One line of an `nlri` block. */
  #section(block: Reader, line: Reader, context: RouteContext, blockPath: string): string | null {
    const name = line.key.replace(/ .*$/, '');
    const family = familyOfName(name, this.#families);
    const words = itemsAt(line, 'content');
    const texts = words.map((word) => word.text);
    const here = line.branch.place;
    const path = `${blockPath}/nlri/${name}`;
    const fault: Fault = (place, message, extras) => {
      this.#findings.fault(place, path, message, extras);
      return null;
    };
    const first = texts.findIndex((word) => OPERATIONS.includes(word));
    if (first < 0) {
      const hint = texts.map((word) => didYouMean(word, OPERATIONS)).find((one) => one !== undefined);
      return fault(here, `missing operation keyword (add, del or eor) in nlri ${name}`, { hint });
    }
    if (texts[first] === 'eor')
      return texts.length === 1 ? `nlri ${name} eor` : fault(here, `eor takes nothing else in nlri ${name}`);
    const nextHop = block.text('attribute/next-hop');
    if (nextHop !== '' && nextHop !== 'self' && !carries(family, parseIpv4(nextHop) >= 0 ? AFI_IPV4 : AFI_IPV6, context)) {
      return fault(here, `next-hop ${nextHop} cannot be carried for ${name}: the session needs capability nexthop for it`);
    }
    const qualifiers = this.#qualifiers(words.slice(0, first), name, isPrefixFamily(family), fault);
    if (qualifiers === null) return null;
    const runs = runsOf(words.slice(first));
    for (const run of runs)
      if (run.items.length === 0 || run.items.every((item) => item.text === 'prefix' || BRACKETS.includes(item.text)))
        return fault(here, `${name}: no prefix or match after the operation keyword ${run.verb}`);
    if (isPrefixFamily(family)) {
      const split = block.text('attribute/split');
      const warn = (place: Place, message: string): void => this.#findings.warn(place, path, message);
      const made = runs.map((run) => prefixes(run.items, family, split, block.place('attribute/split'), fault, warn));
      if (made.includes(null)) return null;
      const items = runs.flatMap((run, at) => [run.verb, ...(made[at] ?? [])]);
      return ['nlri', name, ...texts.slice(0, first), ...items].join(' ');
    }
    const rest = ['nlri', name, ...texts].join(' ');
    if (!writesWords(family)) return NAMED_FAMILIES.includes(family) ? unwritten(name, here, fault) : rest;
    const good = runs.every((run) => this.#items(block, family, name, qualifiers, run, here, fault));
    return good ? rest : null;
  }

  /** Checks what stands between the family and its operation: `rd X`, `label N`, `path-information N`. */
  #qualifiers(words: readonly Word[], name: string, plain: boolean, fault: Fault): readonly Word[] | null {
    for (let at = 0; at < words.length; ) {
      const { text, place } = words[at]!;
      const keyword = text === 'labels' ? 'label' : text;
      if (!QUALIFIERS.includes(keyword))
        return fault(place, `unexpected "${clamp(text)}" before the operation keyword in nlri ${name}`, {
          hint: didYouMean(text, [...QUALIFIERS, ...OPERATIONS]),
        });
      if (plain && keyword !== 'path-information') return fault(place, `${text} does not apply to ${name}`);
      const value = words[at + 1];
      if (value === undefined) return fault(place, `${text} needs a value in nlri ${name}`);
      if (
        keyword === 'path-information' &&
        parseIpv4(value.text) < 0 &&
        parseDecimal(value.text, 0, value.text.length, 0xffffffff) < 0
      )
        return fault(value.place, `path-information: "${clamp(value.text)}" is not a number or a dotted quad`);
      at += 2;
      if (value.text === '[') while (at < words.length && words[at - 1]!.text !== ']') at++;
    }
    return words;
  }

  /** Checks the items behind one operation keyword of a family that is written from words. */
  #items(block: Reader, family: Family, name: string, qualifiers: readonly Word[], run: Run, here: Place, fault: Fault): boolean {
    const labelled = safiOf(family) === SAFI_MPLS_LABEL || safiOf(family) === SAFI_MPLS_VPN;
    const head: Word[] = [];
    const own = new Set([...qualifiers, ...run.items].map((word) => word.text));
    const takes = (leaf: string): boolean => leaf !== 'rd' || safiOf(family) !== SAFI_MPLS_LABEL;
    for (const [leaf, word] of [
      ['rd', 'rd'],
      ['label', 'label'],
      ['labels', 'label'],
    ] as const) {
      const value = block.text(`attribute/${leaf}`) || block.list(`attribute/${leaf}`).join(',');
      if (value === '' || own.has(word) || !takes(leaf)) continue;
      head.push(
        { text: word, place: block.place(`attribute/${leaf}`) },
        { text: value, place: block.place(`attribute/${leaf}`) },
      );
    }
    for (let at = 0; at < qualifiers.length; at++)
      if (qualifiers[at]!.text === 'path-information') at++;
      else head.push(qualifiers[at]!);
    if (labelled && run.verb === 'add' && !head.some((word) => word.text === 'label' || word.text === 'labels')) {
      fault(here, `${name}: a route needs a label`);
      return false;
    }
    const entries = labelled
      ? run.items.filter((item) => item.text !== 'prefix' && !BRACKETS.includes(item.text)).map((item) => [PREFIX, item])
      : [run.items];
    for (const entry of entries) {
      const words = [...head, ...entry];
      const written = nlriFromWords(
        family,
        words.map((word) => word.text),
      );
      if (!isWordFault(written)) continue;
      const place = words[written.at]?.place ?? here;
      const hint = written.at < 0 ? undefined : didYouMean(bareWord(words[written.at]!.text), written.known);
      const expected = hint === undefined && written.known.length > 0 ? `one of ${written.known.join(', ')}` : undefined;
      fault(place === NO_PLACE ? here : place, `${name}: ${written.message}`, { hint, expected });
      return false;
    }
    return true;
  }
}

const NO_PLACE: Place = { line: 0, column: 0 };
const PREFIX: Word = { text: 'prefix', place: NO_PLACE };

/** A value without its operator: `=tpc` is near `tcp`. */
function bareWord(text: string): string {
  return text.replace(/^[=<>!&]+/, '');
}

function unwritten(name: string, here: Place, fault: Fault): null {
  return fault(here, `routes of ${name} cannot be announced from the configuration: only eor`);
}

/** Does the session carry a next hop of this AFI for the family? IPv6 families with labels map an IPv4 one (RFC 4798, RFC 4659 §3.2.1.2). */
function carries(family: Family, nextHopAfi: number, context: RouteContext): boolean {
  const labelled = safiOf(family) === SAFI_MPLS_LABEL || safiOf(family) === SAFI_MPLS_VPN;
  if ((!isPrefixFamily(family) && !labelled) || afiOf(family) === nextHopAfi) return true;
  if (labelled && nextHopAfi === AFI_IPV4) return true;
  return context.nextHops.some((one) => one.family === family && one.nextHopAfi === nextHopAfi);
}

function itemsAt(reader: Reader, path: string): readonly Word[] {
  const value = valueAt(reader.branch, path);
  return value?.kind === 'leaf-list' ? value.items : [];
}

interface Run {
  readonly verb: string;
  readonly items: readonly Word[];
}

/** `add A B del C` as its runs. */
function runsOf(words: readonly Word[]): readonly Run[] {
  const runs: { verb: string; items: Word[] }[] = [];
  for (const word of words)
    if (OPERATIONS.includes(word.text)) runs.push({ verb: word.text, items: [] });
    else runs.at(-1)?.items.push(word);
  return runs;
}

/** This network, multicast, reserved, broadcast; unspecified or multicast of IPv6. */
function isNoHost(address: Uint8Array): boolean {
  const first = address[0]!;
  return address.length === 4 ? first === 0 || first >= 0xe0 : first === 0xff || address.every((byte) => byte === 0);
}

function isOctet(text: string): boolean {
  return /^0x[0-9a-fA-F]{1,2}$/.test(text) || parseDecimal(text, 0, text.length, 255) >= 0;
}

/** Each as one word: `mark 5` and `action sample` are written with a blank as well. */
function extendedCommunities(items: readonly Word[], fault: (place: Place, message: string) => void): readonly string[] {
  const out: string[] = [];
  const room = new Uint8Array(8);
  for (let at = 0; at < items.length; at++) {
    const { text, place } = items[at]!;
    const pair = (text === 'mark' || text === 'action') && at + 1 < items.length;
    const whole = pair ? `${text}:${items[++at]!.text}` : text;
    if (parseExtendedCommunity(whole, room, 0)) out.push(whole);
    else {
      const [word = ''] = whole.split(':');
      const hint = didYouMean(word, EXTENDED_WORDS);
      fault(
        place,
        `"${clamp(whole)}" is not an extended community such as target:64500:1${hint === undefined ? '' : ` (${hint})`}`,
      );
    }
  }
  return out;
}

const EXTENDED_WORDS = [
  'target',
  'origin',
  'redirect',
  'l2info',
  'rate-limit',
  'mark',
  'action',
  'redirect-to-nexthop',
  'copy-to-nexthop',
];
