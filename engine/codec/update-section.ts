/**
 * One `nlri FAMILY …` section of a route command: qualifiers, then `add` and `del` with their items, or `eor`. Prefixes become bytes
 * here; entries of other families are left as words for whoever owns the family.
 */
import type { PrefixTarget } from '../../sdk/wire/address.ts';
import { parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import type { Family } from '../../sdk/wire/family.ts';
import { afiOf, isPrefixFamily, NO_FAMILY, SAFI_MPLS_LABEL, SAFI_MPLS_VPN, safiOf } from '../../sdk/wire/family.ts';
import { writePrefix } from '../../sdk/wire/nlri/prefix.ts';
import type { Origination } from '../bgp/port.ts';
import type { CommandAttributes } from './attribute-text.ts';
import { attributeKeyword, labelFault, parsePathId, readList } from './attribute-text.ts';
import type { CommandScan } from './command-scan.ts';
import { shown } from './command-scan.ts';
import type { CommandFault } from './fault.ts';
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

export type Section = Origination['sections'][number];
type Refusal = { readonly ok: false; readonly fault: CommandFault } | undefined;

const COMMA = 0x2c;
/** More entries in one section would not be a command but a feed. */
const MAX_ITEMS = 65_536;
const NONE = new Uint8Array(0);
const MISPLACED = 'attributes must precede all nlri sections';

/** Made once and moved over section after section; the fields are those of the section being read. */
export class SectionReader {
  readonly #registry: CodecRegistry;
  readonly #target: PrefixTarget = prefixTarget();
  readonly #announce = new PrefixRun();
  readonly #withdraw = new PrefixRun();
  readonly #families = new Map<string, Family>();
  #family: Family = NO_FAMILY;
  #name = '';
  #prefixes = true;
  #rd: string | undefined;
  #label: string | undefined;
  #pathId: number | undefined;
  /** The last qualifier that stands in the section itself. */
  #own = '';
  #ownColumn = 0;
  #verb: 'add' | 'del' | '' = '';
  #verbColumn = 0;
  /** Items since the verb. */
  #count = 0;
  #words: string[] = [];
  #wordsColumn = 0;

  constructor(registry: CodecRegistry) {
    this.#registry = registry;
  }

  /** Reads up to the next `nlri` or the end and appends what it says; the scan's current word is `nlri`. */
  read(scan: CommandScan, attributes: CommandAttributes, sections: Section[], foreign: ForeignItem[]): Refusal {
    const fault = this.#begin(scan, attributes);
    if (fault !== undefined) return fault;
    const familyColumn = scan.column;
    while (scan.next()) {
      if (scan.is('nlri')) {
        scan.back();
        break;
      }
      if (this.#verb === '' && scan.is('eor')) return this.#eor(scan, sections);
      const wrong =
        scan.is('add') || scan.is('del')
          ? this.#take(scan, sections.length, foreign)
          : this.#verb === ''
            ? this.#qualifier(scan)
            : this.#item(scan);
      if (wrong !== undefined) return wrong;
    }
    const last = this.#finish(scan.column, sections.length, foreign);
    if (last !== undefined) return last;
    const announce = this.#announce.take();
    if (announce.length > 0 && attributes.nextHop.length === 4 && afiOf(this.#family) === 2) {
      return refuse(`next-hop does not fit ${this.#name}: an IPv4 address cannot carry IPv6 prefixes`, familyColumn);
    }
    sections.push({ family: this.#family, announce, withdraw: this.#withdraw.take(), pathId: this.#pathId ?? 0, eor: false });
    return undefined;
  }

  #begin(scan: CommandScan, { qualifiers }: CommandAttributes): Refusal {
    if (!scan.next()) return refuse('nlri requires a family', scan.column);
    this.#name = scan.word;
    this.#family = this.#number(this.#name);
    if (this.#family === NO_FAMILY) return refuse(`unknown family: ${shown(this.#name)}`, scan.column);
    this.#prefixes = isPrefixFamily(this.#family);
    this.#rd = qualifiers.rd;
    this.#label = qualifiers.label;
    this.#pathId = qualifiers.pathId;
    this.#own = '';
    this.#verb = '';
    this.#count = 0;
    this.#words = [];
    this.#announce.reset();
    this.#withdraw.reset();
    return undefined;
  }

  #number(word: string): Family {
    let family = this.#families.get(word);
    if (family === undefined) {
      family = this.#registry.number(word);
      if (family !== NO_FAMILY && this.#families.size < 256) this.#families.set(word, family);
    }
    return family;
  }

  #eor(scan: CommandScan, sections: Section[]): Refusal {
    if (this.#own !== '') return refuse(`${this.#own} does not apply to eor`, this.#ownColumn);
    if (scan.next() && !scan.is('nlri')) return refuse(`unexpected word after eor: ${shown(scan.word)}`, scan.column);
    scan.back();
    sections.push({ family: this.#family, announce: NONE, withdraw: NONE, pathId: 0, eor: true });
    return undefined;
  }

  /** A word before the first verb. */
  #qualifier(scan: CommandScan): Refusal {
    const { word, column } = scan;
    const keyword = attributeKeyword(word);
    if (keyword === undefined) return refuse(`missing operation keyword: expected add, del or eor, got ${shown(word)}`, column);
    if (keyword !== 'rd' && keyword !== 'label' && keyword !== 'path-information') return refuse(MISPLACED, column);
    if (this.#prefixes && keyword !== 'path-information') return refuse(`${keyword} does not apply to ${this.#name}`, column);
    this.#own = keyword;
    this.#ownColumn = column;
    const list = readList(scan, word);
    if (!list.ok) return list;
    const { items, at } = list.value;
    if (keyword === 'rd') {
      this.#rd = items[0];
      return undefined;
    }
    if (keyword === 'label') {
      this.#label = items.join(',');
      const fault = labelFault(items);
      return fault === undefined ? undefined : refuse(fault, at);
    }
    this.#pathId = items.length === 1 ? parsePathId(items[0]!) : -1;
    return this.#pathId < 0 ? refuse(`invalid path-information: ${shown(items.join(' '))}`, at) : undefined;
  }

  /** `add` or `del`: what stood behind the verb before it is complete. */
  #take(scan: CommandScan, section: number, foreign: ForeignItem[]): Refusal {
    if (this.#verb !== '') {
      const fault = this.#finish(scan.column, section, foreign);
      if (fault !== undefined) return fault;
    }
    this.#verb = scan.is('add') ? 'add' : 'del';
    this.#verbColumn = scan.column;
    this.#count = 0;
    this.#words = [];
    return undefined;
  }

  #item(scan: CommandScan): Refusal {
    if (!this.#prefixes) {
      if (this.#words.length === 0) this.#wordsColumn = scan.column;
      this.#words.push(scan.word);
      return undefined;
    }
    if (scan.is('prefix') || scan.is('[') || scan.is(']')) return undefined;
    return this.#prefix(scan, this.#verb === 'add' ? this.#announce : this.#withdraw);
  }

  /** One word of prefixes: one, or several joined by commas. */
  #prefix(scan: CommandScan, into: PrefixRun): Refusal {
    const { text } = scan;
    const target = this.#target;
    for (let from = scan.from; from < scan.to; ) {
      // Not `indexOf`: without a comma it looks through all that follows the word, for every word.
      let to = from;
      while (to < scan.to && text.charCodeAt(to) !== COMMA) to++;
      if (to > from) {
        if (++this.#count > MAX_ITEMS) return refuse(`more than ${MAX_ITEMS} prefixes in one section`, from + 1);
        if (!parsePrefix(text, target, from, to)) {
          const word = text.slice(from, to);
          return refuse(attributeKeyword(word) === undefined ? `invalid prefix: ${shown(word)}` : MISPLACED, from + 1);
        }
        if ((target.addressLength === 4) !== (afiOf(this.#family) === 1)) {
          return refuse(`prefix ${shown(text.slice(from, to))} does not belong to ${this.#name}`, from + 1);
        }
        into.add(target);
      }
      from = to + 1;
    }
    return undefined;
  }

  /** The items of a verb are all there. */
  #finish(column: number, section: number, foreign: ForeignItem[]): Refusal {
    if (this.#verb === '') return refuse('missing operation keyword: expected add, del or eor', column);
    if (this.#prefixes) return this.#count === 0 ? refuse(`${this.#verb} requires a prefix`, this.#verbColumn) : undefined;
    return this.#words.length === 0
      ? refuse(`${this.#verb} requires an item`, this.#verbColumn)
      : this.#foreign(section, foreign);
  }

  #foreign(section: number, foreign: ForeignItem[]): Refusal {
    const family = this.#family;
    const column = this.#wordsColumn;
    const announce = this.#verb === 'add';
    const safi = safiOf(family);
    const head: string[] = [];
    if (this.#rd !== undefined) head.push('rd', this.#rd);
    if (this.#label !== undefined) head.push('label', this.#label);
    if (this.#registry.encoder(family) === '' && this.#registry.encodeNow(family, []) === undefined) {
      return refuse(`no plugin writes ${this.#name}`, column);
    }
    if (safi !== SAFI_MPLS_LABEL && safi !== SAFI_MPLS_VPN) {
      foreign.push({ section, announce, family, words: [...head, ...this.#words], column });
      return undefined;
    }
    if (safi === SAFI_MPLS_VPN && this.#rd === undefined) return refuse(`${this.#name} requires rd`, column);
    if (announce && this.#label === undefined) return refuse(`${this.#name} requires label`, column);
    for (const word of this.#words) {
      if (word !== 'prefix') foreign.push({ section, announce, family, words: [...head, 'prefix', word], column });
    }
    return undefined;
  }
}

/** Prefixes gathered for one section; made once and taken as a copy. */
class PrefixRun {
  #bytes = new Uint8Array(1024);
  #length = 0;

  reset(): void {
    this.#length = 0;
  }

  add(target: PrefixTarget): void {
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
