/**
 * The route injection language (daemon-cli §9): `update text ATTRIBUTES { nlri FAMILY { qualifier } (add|del) ITEM… | nlri FAMILY eor }`
 * to bytes for the wire. Attribute texts repeat (a table is announced with few of them): what was parsed of one is kept.
 */
import type { PrefixTarget } from '../../sdk/wire/address.ts';
import { parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import type { Family } from '../../sdk/wire/family.ts';
import { afiOf, isPrefixFamily, NO_FAMILY, SAFI_MPLS_LABEL, SAFI_MPLS_VPN, safiOf } from '../../sdk/wire/family.ts';
import { writePrefix } from '../../sdk/wire/nlri/prefix.ts';
import type { Origination } from '../bgp/port.ts';
import type { CommandAttributes, Qualifiers } from './attribute-text.ts';
import { attributeKeyword, labelFault, parseAttributes, parsePathId, readList } from './attribute-text.ts';
import { CommandScan, shown } from './command-scan.ts';
import type { Parsed } from './fault.ts';
import { refuse } from './fault.ts';
import type { CodecRegistry } from './registry.ts';

/** One NLRI that only the plugin of its family can write: `resolveForeign` asks it and fills the section. */
export interface ForeignItem {
  /** Index of its section. */
  readonly section: number;
  readonly announce: boolean;
  readonly family: Family;
  readonly words: readonly string[];
  readonly column: number;
}

/** A route command ready for the reactor, but for whose it is and whom it is for. */
export interface RouteCommand extends Omit<Origination, 'owner' | 'peers'> {
  /** Empty for the families the engine writes itself. */
  readonly foreign: readonly ForeignItem[];
}

type Section = Origination['sections'][number];

/** Attribute texts kept: two generations of this many, so that a hit costs one look-up. */
const CACHED_TEXTS = 8192;
/** Hashes of texts that came once; a power of two. */
const SEEN_SLOTS = 16_384;
/** A longer attribute text is parsed each time. */
const LONGEST_CACHED = 1024;
/** More entries in one command would not be a command but a feed. */
const MAX_ITEMS = 65_536;

export class UpdateTextParser {
  readonly #registry: CodecRegistry;
  readonly #scan = new CommandScan();
  readonly #attributeScan = new CommandScan();
  readonly #target: PrefixTarget = prefixTarget();
  readonly #announce = new ByteRun();
  readonly #withdraw = new ByteRun();
  #young = new Map<string, CommandAttributes>();
  #old = new Map<string, CommandAttributes>();
  readonly #seen = new Int32Array(SEEN_SLOTS);
  readonly #families = new Map<string, Family>();

  constructor(registry: CodecRegistry) {
    this.#registry = registry;
  }

  /** `command` begins with `update text`. */
  parse(command: string): Parsed<RouteCommand> {
    const scan = this.#scan.over(command);
    if (!scan.next() || !scan.is('update') || !scan.next() || !scan.is('text')) {
      return refuse('expected "update text"', scan.column);
    }
    const start = scan.to;
    const nlri = findSection(command, start);
    const attributes = this.#attributes(command, start, nlri);
    if (!attributes.ok) return attributes;
    if (nlri === command.length) return refuse('missing nlri section', nlri + 1);
    scan.over(command, nlri);
    const sections: Section[] = [];
    const foreign: ForeignItem[] = [];
    const { block, nextHop, qualifiers } = attributes.value;
    while (scan.next()) {
      if (!scan.is('nlri')) return this.#misplaced(scan);
      const fault = this.#section(scan, qualifiers, nextHop, sections, foreign);
      if (fault !== undefined) return fault;
    }
    return { ok: true, value: { attributes: block, nextHop, sections, foreign } };
  }

  #attributes(command: string, from: number, to: number): Parsed<CommandAttributes> {
    const cacheable = to - from <= LONGEST_CACHED;
    const text = cacheable ? command.slice(from, to) : '';
    if (cacheable) {
      const hit = this.#young.get(text) ?? this.#old.get(text);
      if (hit !== undefined) return { ok: true, value: hit };
    }
    const parsed = parseAttributes(this.#attributeScan.over(command, from, to));
    if (parsed.ok && cacheable && this.#seenBefore(command, from, to)) {
      if (this.#young.size >= CACHED_TEXTS) {
        this.#old = this.#young;
        this.#young = new Map();
      }
      // A key that was cut out holds on to its whole command: one much longer is copied.
      this.#young.set(command.length > 4 * text.length + 256 ? Buffer.from(text, 'utf8').toString('utf8') : text, parsed.value);
    }
    return parsed;
  }

  /** A text is kept when it comes a second time: a feed whose texts never repeat would only fill the heap. */
  #seenBefore(command: string, from: number, to: number): boolean {
    let hash = to - from;
    for (let i = from; i < to; i++) hash = (Math.imul(hash, 31) + command.charCodeAt(i)) | 0;
    const slot = (hash ^ (hash >>> 15)) & (SEEN_SLOTS - 1);
    if (this.#seen[slot] === hash) return true;
    this.#seen[slot] = hash;
    return false;
  }

  /** One `nlri FAMILY …` up to the next or the end; the current word is `nlri`. */
  #section(
    scan: CommandScan,
    inherited: Qualifiers,
    nextHop: Uint8Array,
    sections: Section[],
    foreign: ForeignItem[],
  ): ReturnType<typeof refuse> | undefined {
    if (!scan.next()) return refuse('nlri requires a family', scan.column);
    const { column } = scan;
    const family = this.#family(scan.word);
    if (family === NO_FAMILY) return refuse(`unknown family: ${shown(scan.word)}`, column);
    const name = scan.word;
    let { rd, label, pathId } = inherited;
    let mode: 'add' | 'del' | undefined;
    let count = 0;
    let words: string[] = [];
    let wordsColumn = 0;
    let verbColumn = 0;
    const announce = this.#announce.reset();
    const withdraw = this.#withdraw.reset();
    const prefixes = isPrefixFamily(family);
    const pushForeign = (): ReturnType<typeof refuse> | undefined => {
      if (prefixes || mode === undefined) return undefined;
      if (words.length === 0) return refuse(`${mode} requires an item`, verbColumn);
      const fault = this.#foreign(family, name, { rd, label, pathId }, mode, words, wordsColumn, sections.length, foreign);
      words = [];
      return fault;
    };
    for (;;) {
      const more = scan.next();
      if (!more || scan.is('nlri')) {
        if (more) scan.back();
        break;
      }
      if (scan.is('add') || scan.is('del')) {
        const fault = pushForeign();
        if (fault !== undefined) return fault;
        if (prefixes && mode !== undefined && count === 0) return refuse(`${mode} requires a prefix`, verbColumn);
        mode = scan.is('add') ? 'add' : 'del';
        verbColumn = scan.column;
        count = 0;
        continue;
      }
      if (mode === undefined) {
        if (scan.is('eor')) {
          if (scan.next() && !scan.is('nlri')) return refuse(`unexpected word after eor: ${shown(scan.word)}`, scan.column);
          scan.back();
          sections.push({ family, announce: NONE, withdraw: NONE, pathId: 0, eor: true });
          return undefined;
        }
        const keyword = attributeKeyword(scan.word);
        if (keyword !== 'rd' && keyword !== 'label' && keyword !== 'path-information') {
          return keyword === undefined
            ? refuse(`missing operation keyword: expected add, del or eor, got ${shown(scan.word)}`, scan.column)
            : refuse('attributes must precede all nlri sections', scan.column);
        }
        const at = scan.column;
        if (prefixes && keyword !== 'path-information') return refuse(`${keyword} does not apply to ${name}`, at);
        const list = readList(scan, scan.word);
        if (!list.ok) return list;
        const { items } = list.value;
        if (keyword === 'rd') rd = items[0];
        else if (keyword === 'label') {
          const fault = labelFault(items);
          if (fault !== undefined) return refuse(fault, at);
          label = items.join(',');
        } else {
          pathId = items.length === 1 ? parsePathId(items[0]!) : -1;
          if (pathId < 0) return refuse(`invalid path-information: ${shown(items.join(' '))}`, at);
        }
        continue;
      }
      if (!prefixes) {
        if (words.length === 0) wordsColumn = scan.column;
        words.push(scan.word);
        continue;
      }
      if (scan.is('prefix') || scan.is('[') || scan.is(']')) continue;
      if (++count > MAX_ITEMS) return refuse(`more than ${MAX_ITEMS} prefixes in one section`, scan.column);
      const fault = this.#prefixes(scan, family, name, mode === 'add' ? announce : withdraw);
      if (fault !== undefined) return fault;
      if (mode === 'add' && nextHop.length === 4 && afiOf(family) === 2) {
        return refuse(`next-hop does not fit ${name}: an IPv4 address cannot carry IPv6 prefixes`, column);
      }
    }
    if (mode === undefined) return refuse('missing operation keyword: expected add, del or eor', scan.column);
    const fault = pushForeign();
    if (fault !== undefined) return fault;
    if (prefixes && count === 0) return refuse(`${mode} requires a prefix`, verbColumn);
    sections.push({ family, announce: announce.take(), withdraw: withdraw.take(), pathId: pathId ?? 0, eor: false });
    return undefined;
  }

  /** One word of prefixes: one, or several joined by commas. */
  #prefixes(scan: CommandScan, family: Family, name: string, into: ByteRun): ReturnType<typeof refuse> | undefined {
    const { text } = scan;
    let from = scan.from;
    while (from < scan.to) {
      let to = text.indexOf(',', from);
      if (to < 0 || to > scan.to) to = scan.to;
      if (to > from) {
        const target = this.#target;
        if (!parsePrefix(text, target, from, to)) {
          if (attributeKeyword(text.slice(from, to)) !== undefined)
            return refuse('attributes must precede all nlri sections', from + 1);
          return refuse(`invalid prefix: ${shown(text.slice(from, to))}`, from + 1);
        }
        if ((target.addressLength === 4) !== (afiOf(family) === 1)) {
          return refuse(`prefix ${shown(text.slice(from, to))} does not belong to ${name}`, from + 1);
        }
        into.prefix(target);
      }
      from = to + 1;
    }
    return undefined;
  }

  #foreign(
    family: Family,
    name: string,
    qualifiers: Qualifiers,
    mode: 'add' | 'del',
    words: readonly string[],
    column: number,
    section: number,
    foreign: ForeignItem[],
  ): ReturnType<typeof refuse> | undefined {
    const safi = safiOf(family);
    const announce = mode === 'add';
    const head: string[] = [];
    if (qualifiers.rd !== undefined) head.push('rd', qualifiers.rd);
    if (qualifiers.label !== undefined) head.push('label', qualifiers.label);
    if (this.#registry.encoder(family) === '' && this.#registry.encodeNow(family, []) === undefined) {
      return refuse(`no plugin writes ${name}`, column);
    }
    if (safi !== SAFI_MPLS_LABEL && safi !== SAFI_MPLS_VPN) {
      foreign.push({ section, announce, family, words: [...head, ...words], column });
      return undefined;
    }
    if (safi === SAFI_MPLS_VPN && qualifiers.rd === undefined) return refuse(`${name} requires rd`, column);
    if (announce && qualifiers.label === undefined) return refuse(`${name} requires label`, column);
    for (const word of words) {
      if (word === 'prefix') continue;
      foreign.push({ section, announce, family, words: [...head, 'prefix', word], column });
    }
    return undefined;
  }

  #family(word: string): Family {
    let family = this.#families.get(word);
    if (family === undefined) {
      family = this.#registry.number(word);
      if (family !== NO_FAMILY && this.#families.size < 256) this.#families.set(word, family);
    }
    return family;
  }

  #misplaced(scan: CommandScan): ReturnType<typeof refuse> {
    return refuse(`expected nlri, got ${shown(scan.word)}`, scan.column);
  }
}

/** Where the first word `nlri` begins, the text's length when there is none. */
function findSection(text: string, from: number): number {
  for (let at = text.indexOf('nlri', from); at >= 0; at = text.indexOf('nlri', at + 4)) {
    const before = at === 0 || text.charCodeAt(at - 1) <= 0x20 || text[at - 1] === ']';
    const after = at + 4 === text.length || text.charCodeAt(at + 4) <= 0x20;
    if (before && after) return at;
  }
  return text.length;
}

const NONE = new Uint8Array(0);

/** Bytes gathered for one section; made once and taken as a copy. */
class ByteRun {
  #bytes = new Uint8Array(1024);
  #length = 0;

  reset(): this {
    this.#length = 0;
    return this;
  }

  prefix(target: PrefixTarget): void {
    if (this.#length + 24 > this.#bytes.length) {
      const next = new Uint8Array(this.#bytes.length * 2);
      next.set(this.#bytes);
      this.#bytes = next;
    }
    this.#length = writePrefix(this.#bytes, this.#length, target.bytes, 0, target.lengthBits, false, 0);
  }

  take(): Uint8Array {
    return this.#length === 0 ? NONE : this.#bytes.slice(0, this.#length);
  }
}
