/**
 * The route injection language (daemon-cli §9): `update text ATTRIBUTES { nlri FAMILY { qualifier } (add|del) ITEM… | nlri FAMILY eor }`
 * to bytes for the wire. Attribute texts repeat (a table is announced with few of them): what was parsed of one is kept.
 */
import { familyName, isPrefixFamily } from '../../sdk/wire/family.ts';
import type { Origination } from '../bgp/port.ts';
import type { CommandAttributes } from './attribute-text.ts';
import { attributeKeyword, parseAttributes } from './attribute-text.ts';
import { CommandScan, shown } from './command-scan.ts';
import type { CommandFault, Parsed } from './fault.ts';
import { refuse } from './fault.ts';
import type { CodecRegistry } from './registry.ts';
import type { ForeignItem, Section } from './update-section.ts';
import { SectionReader } from './update-section.ts';

/** A route command ready for the reactor, but for whose it is and whom it is for. */
export interface RouteCommand extends Omit<Origination, 'owner' | 'peers'> {
  /** Empty for the families the engine writes itself. */
  readonly foreign: readonly ForeignItem[];
}

/** Attribute texts kept: two generations of this many, so that a hit costs one look-up. */
const CACHED_TEXTS = 8192;
/** Hashes of texts that came once; a power of two. */
const SEEN_SLOTS = 16_384;
/** A longer attribute text is parsed each time. */
const LONGEST_CACHED = 1024;

export class UpdateTextParser {
  readonly #scan = new CommandScan();
  readonly #attributeScan = new CommandScan();
  readonly #section: SectionReader;
  #young = new Map<string, CommandAttributes>();
  #old = new Map<string, CommandAttributes>();
  readonly #seen = new Int32Array(SEEN_SLOTS);

  constructor(registry: CodecRegistry) {
    this.#section = new SectionReader(registry);
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
    while (scan.next()) {
      if (!scan.is('nlri')) return refuse(`expected nlri, got ${shown(scan.word)}`, scan.column);
      const fault = this.#section.read(scan, attributes.value, sections, foreign);
      if (fault !== undefined) return fault;
    }
    const { block, nextHop, qualifiers } = attributes.value;
    const idle =
      (qualifiers.rd ?? qualifiers.label ?? qualifiers.pathId) === undefined ? undefined : unheard(qualifiers, sections);
    if (idle !== undefined) return this.#refuseIdle(idle, command, start, nlri);
    return { ok: true, value: { attributes: block, nextHop, sections, foreign } };
  }

  #refuseIdle(
    { keyword, what }: NonNullable<ReturnType<typeof unheard>>,
    command: string,
    from: number,
    to: number,
  ): { readonly ok: false; readonly fault: CommandFault } {
    const scan = this.#attributeScan.over(command, from, to);
    while (scan.next() && attributeKeyword(scan.word) !== keyword);
    return refuse(`${keyword} does not apply to ${what}`, scan.column);
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
}

/** A qualifier before the sections that none of them can take: it would be ignored. One that some of them take is for those. */
function unheard(
  { rd, label }: CommandAttributes['qualifiers'],
  sections: readonly Section[],
): { readonly keyword: 'rd' | 'label' | 'path-information'; readonly what: string } | undefined {
  const routes = sections.filter((section) => !section.eor);
  const [first] = routes;
  const keyword = rd !== undefined ? 'rd' : label !== undefined ? 'label' : 'path-information';
  if (first === undefined) return { keyword, what: 'eor' };
  if (keyword === 'path-information' || routes.some((section) => !isPrefixFamily(section.family))) return undefined;
  return { keyword, what: familyName(first.family) };
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
