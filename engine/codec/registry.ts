/**
 * Who reads and writes which family and capability: the engine itself (IPv4 and IPv6, unicast and multicast), or the plugin that
 * declared it. A plugin's codec is asked by message; one that lives in this process may also install itself for answers at once,
 * which events need.
 */
import { CORE_FAMILIES } from '../../sdk/wire/context.ts';
import type { Family } from '../../sdk/wire/family.ts';
import {
  afiOf,
  familyName,
  familyOf,
  nameFamily,
  NAMED_FAMILIES,
  NO_FAMILY,
  safiOf,
  standardFamily,
} from '../../sdk/wire/family.ts';
import { isWordFault, nlriFromWords, writesWords } from '../../sdk/wire/nlri/words/index.ts';

export type FamilyMode = 'encode' | 'decode' | 'both';

/** A family as a plugin declares it in stage 1 (plugin-rpc-types §2.1). */
export interface FamilyDeclaration {
  readonly name: string;
  readonly mode?: string | undefined;
  readonly afi?: number | undefined;
  readonly safi?: number | undefined;
}

/** Reads and writes NLRI at once, without a message; for code that lives in this process. Never throws. */
export interface NlriCodec {
  /** NLRI bytes of the family (several entries) as JSON values, or undefined when they cannot be read. */
  decode(nlri: Uint8Array, addPath: boolean): readonly unknown[] | undefined;
  /** One entry's bytes from its words, or why not. */
  encode(words: readonly string[]): Uint8Array | string;
}

/** How the owner of a family is asked; the host implements it. Rejects when the plugin fails or is gone. */
export interface NlriCaller {
  decodeNlri(plugin: string, input: { family: string; hex: string; 'add-path'?: boolean; withdraw?: boolean }): Promise<unknown>;
  encodeNlri(plugin: string, input: { family: string; args: readonly string[] }): Promise<string>;
}

export interface FamilyEntry {
  readonly family: Family;
  readonly name: string;
  /** '' = nobody, `engine` = built in. */
  readonly decoder: string;
  readonly encoder: string;
}

/** A family without a name of its own, and what its plugin calls it. */
export interface FamilyLabel {
  readonly family: Family;
  readonly name: string;
}

export const ENGINE = 'engine';

interface Owners {
  decoder: string;
  encoder: string;
}

export class CodecRegistry {
  readonly #owners = new Map<Family, Owners>();
  /** Names of families that plugins brought with them, both ways. */
  readonly #named = new Map<string, Family>();
  readonly #names = new Map<Family, string>();
  #foreign = false;
  readonly #now = new Map<Family, { readonly plugin: string; readonly codec: NlriCodec }>();

  constructor() {
    for (const family of CORE_FAMILIES) this.#owners.set(family, { decoder: ENGINE, encoder: ENGINE });
  }

  /** Number of a family by name, NO_FAMILY when nobody knows it. */
  number(name: string): Family {
    return this.#named.get(name.toLowerCase()) ?? standardFamily(name.toLowerCase());
  }

  name(family: Family): string {
    return this.#names.get(family) ?? familyName(family);
  }

  /** Names of families that plugins brought with them, for the other thread. */
  names(): readonly FamilyLabel[] {
    return [...this.#names].map(([family, name]) => ({ family, name }));
  }

  /** Claims what a plugin declares, all or nothing. Returns why not (the texts of plugin-rpc-types §2), or undefined. */
  claim(plugin: string, declarations: readonly FamilyDeclaration[]): string | undefined {
    const accepted: { family: Family; name: string; mode: FamilyMode }[] = [];
    for (const declaration of declarations) {
      const { name } = declaration;
      if (name === '') return 'family declaration missing name';
      const halves = name.split('/');
      if (halves.length !== 2 || halves[0] === '' || halves[1] === '')
        return `invalid family name "${clamp(name)}" (expected afi/safi)`;
      const afi = declaration.afi ?? 0;
      const safi = declaration.safi ?? 0;
      const known = this.number(name);
      if (afi === 0 && safi === 0 && known === NO_FAMILY) {
        return `family "${clamp(name)}": plugin sent AFI=0 SAFI=0 and family is not pre-registered`;
      }
      const family = afi === 0 && safi === 0 ? known : familyOf(afi, safi);
      const fault = this.#conflict(plugin, name, family, known);
      if (fault !== undefined) return fault;
      const mode = declaration.mode === 'decode' || declaration.mode === 'both' ? declaration.mode : 'encode';
      const owner = this.#owners.get(family);
      if (mode !== 'encode' && owner !== undefined && owner.decoder !== '' && owner.decoder !== plugin) {
        return `registration conflict: family conflict: ${clamp(name)} already registered by ${owner.decoder}`;
      }
      accepted.push({ family, name: name.toLowerCase(), mode });
    }
    for (const { family, name, mode } of accepted) this.#accept(plugin, family, name, mode);
    this.#lookForeign();
    return undefined;
  }

  /** The codec of a plugin in this process, for families it has claimed. */
  install(plugin: string, family: Family, codec: NlriCodec): void {
    const owner = this.#owners.get(family);
    if (owner?.decoder === plugin || owner?.encoder === plugin) this.#now.set(family, { plugin, codec });
  }

  /** The plugin is gone: its claims are free again. Names stay, so that what was written reads the same. */
  release(plugin: string): void {
    for (const [family, owners] of this.#owners) {
      if (owners.decoder === plugin) owners.decoder = '';
      if (owners.encoder === plugin) owners.encoder = '';
      if (owners.decoder === '' && owners.encoder === '') this.#owners.delete(family);
    }
    for (const [family, installed] of this.#now) if (installed.plugin === plugin) this.#now.delete(family);
    this.#lookForeign();
  }

  decoder(family: Family): string {
    return this.#owners.get(family)?.decoder ?? '';
  }

  /** Does a plugin read any family? Mostly none does. */
  get hasForeign(): boolean {
    return this.#foreign;
  }

  /** The plugin that has to be asked to read the family; '' when nobody has. */
  asked(family: Family): string {
    const owner = this.#owners.get(family)?.decoder ?? '';
    return owner === ENGINE || this.#now.has(family) ? '' : owner;
  }

  encoder(family: Family): string {
    return this.#owners.get(family)?.encoder ?? '';
  }

  /** NLRI as JSON values without asking anyone; undefined when only a message could tell. Never for the engine's own families. */
  decodeNow(family: Family, nlri: Uint8Array, addPath: boolean): readonly unknown[] | undefined {
    return this.#now.get(family)?.codec.decode(nlri, addPath);
  }

  /** One entry from its words without asking anyone: by the codec in this process, or by the engine where no plugin has claimed the family. */
  encodeNow(family: Family, words: readonly string[]): Uint8Array | string | undefined {
    const installed = this.#now.get(family);
    if (installed !== undefined) return installed.codec.encode(words);
    if (this.encoder(family) !== '' || !writesWords(family)) return undefined;
    const written = nlriFromWords(family, words);
    return isWordFault(written) ? `${this.name(family)}: ${written.message}` : written;
  }

  /** Families that somebody decodes, for OPEN messages and `show`: by name. */
  list(): readonly FamilyEntry[] {
    return [...this.#owners]
      .map(([family, owners]) => ({ family, name: this.name(family), ...owners }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #lookForeign(): void {
    this.#foreign = [...this.#owners.values()].some(({ decoder }) => decoder !== '' && decoder !== ENGINE);
  }

  #conflict(plugin: string, name: string, family: Family, known: Family): string | undefined {
    const text = clamp(name);
    if (known !== NO_FAMILY && known !== family) {
      return `family registration conflict: ${text} is AFI ${afiOf(known)} SAFI ${safiOf(known)}`;
    }
    const other = this.#names.get(family) ?? (NAMED_FAMILIES.includes(family) ? familyName(family) : undefined);
    if (other !== undefined && other !== name.toLowerCase() && known !== family) {
      return `family registration conflict: AFI ${afiOf(family)} SAFI ${safiOf(family)} is ${other}`;
    }
    return plugin === '' ? 'family declaration missing plugin' : undefined;
  }

  #accept(plugin: string, family: Family, name: string, mode: FamilyMode): void {
    let owners = this.#owners.get(family);
    if (owners === undefined) this.#owners.set(family, (owners = { decoder: '', encoder: '' }));
    if (mode !== 'encode') owners.decoder = plugin;
    if (mode !== 'decode' && (owners.encoder === '' || owners.encoder === plugin)) owners.encoder = plugin;
    if (standardFamily(name) !== NO_FAMILY) return;
    this.#named.set(name, family);
    this.#names.set(family, name);
    nameFamily(family, name);
  }
}

function clamp(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text;
}
