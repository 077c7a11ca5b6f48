/** Route commands by their second word, and the answers of family plugins worked into them. */
import { fromHex } from '../../sdk/wire/bytes.ts';
import { familyName } from '../../sdk/wire/family.ts';
import { countNlri, hasSyntax } from '../../sdk/wire/nlri/syntax.ts';
import type { Parsed } from './fault.ts';
import { refuse } from './fault.ts';
import type { NlriCaller, CodecRegistry } from './registry.ts';
import { parseUpdateWire } from './update-wire.ts';
import type { ForeignItem } from './update-section.ts';
import type { RouteCommand } from './update-text.ts';
import { UpdateTextParser } from './update-text.ts';

const NONE = new Uint8Array(0);

export class RouteCommands {
  readonly #registry: CodecRegistry;
  readonly #text: UpdateTextParser;

  constructor(registry: CodecRegistry) {
    this.#registry = registry;
    this.#text = new UpdateTextParser(registry);
  }

  /** `update text …`, `update hex …` or `update b64 …`; columns count from the command's beginning. */
  parse(command: string): Parsed<RouteCommand> {
    const wire = /^\s*update\s+(hex|b64)(\s|$)/.exec(command);
    return wire === null ? this.#text.parse(command) : parseUpdateWire(command, this.#registry);
  }

  /** `parse`, then the owner of each family is asked for what only it can write. */
  async resolve(command: string, caller: NlriCaller): Promise<Parsed<RouteCommand>> {
    const parsed = this.parse(command);
    if (!parsed.ok || parsed.value.foreign.length === 0) return parsed;
    const sections = parsed.value.sections.map((section) => ({ ...section }));
    for (const item of parsed.value.foreign) {
      const nlri = await this.#write(item, caller);
      if (typeof nlri === 'string') return refuse(nlri, item.column);
      const section = sections[item.section]!;
      const said = item.announce ? section.announce : section.withdraw;
      // Where only the plugin could tell entries apart, each is a section of its own: it can be withdrawn alone.
      if (said.length > 0 && !hasSyntax(item.family)) {
        const own = item.announce ? { announce: nlri, withdraw: NONE } : { announce: NONE, withdraw: nlri };
        sections.push({ ...section, ...own });
      } else if (item.announce) section.announce = joined(section.announce, nlri);
      else section.withdraw = joined(section.withdraw, nlri);
    }
    return { ok: true, value: { ...parsed.value, sections, foreign: [] } };
  }

  async #write(item: ForeignItem, caller: NlriCaller): Promise<Uint8Array | string> {
    const name = this.#registry.name(item.family);
    let nlri = this.#registry.encodeNow(item.family, item.words);
    if (nlri === undefined) {
      try {
        const hex = await caller.encodeNlri(this.#registry.encoder(item.family), { family: name, args: item.words });
        nlri = fromHex(hex) ?? `${name}: the plugin answered no hex`;
      } catch (error) {
        return `${name}: ${error instanceof Error ? error.message : String(error)}`;
      }
    }
    if (typeof nlri === 'string') return nlri;
    const view = new DataView(nlri.buffer, nlri.byteOffset, nlri.byteLength);
    if (nlri.length === 0 || countNlri(view, 0, nlri.length, item.family, false, !item.announce) < 0) {
      return `${familyName(item.family)}: the plugin's NLRI is malformed`;
    }
    return nlri;
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const out = new Uint8Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}
