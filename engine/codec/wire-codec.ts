/**
 * Bytes to JSON and back for those who ask by message: `decode-update`, `decode-mp-reach`, `decode-mp-unreach`, `decode-nlri` and
 * `encode-nlri` (plugin-rpc-types §5.10, §5.11). The engine's own families are read here; for others their owner is asked. AS numbers
 * have four octets.
 */
import { formatPrefix, parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import { fromHex, toHex, viewOf } from '../../sdk/wire/bytes.ts';
import type { Family } from '../../sdk/wire/family.ts';
import { afiOf, isPrefixFamily, NAMED_FAMILIES, NO_FAMILY } from '../../sdk/wire/family.ts';
import { PrefixCursor, writePrefix } from '../../sdk/wire/nlri/prefix.ts';
import { countNlri } from '../../sdk/wire/nlri/syntax.ts';
import { ByteWriter } from './byte-writer.ts';
import { shown } from './command-scan.ts';
import { nextHopText } from './event-text.ts';
import { parsePathId } from './attribute-text.ts';
import type { NlriAnswer, NlriQuestion } from './nlri-question.ts';
import type { CodecRegistry, NlriCaller } from './registry.ts';
import { ENGINE } from './registry.ts';
import { UpdateJson } from './update-json.ts';
import { UpdateReader } from './update-reader.ts';

export type Decoded<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

export interface MpDecoded {
  readonly family: string;
  readonly 'next-hop'?: string;
  readonly nlri: readonly unknown[];
}

export interface Operation {
  readonly action: 'add' | 'del';
  readonly 'next-hop'?: string;
  nlri: readonly unknown[];
}

/** The `update` object of events (events.md §5.1). */
export interface UpdateModel {
  readonly attr?: Readonly<Record<string, unknown>>;
  readonly nlri: Readonly<Record<string, readonly Operation[]>>;
}

const NO_FAMILIES: readonly Family[] = [];
/** Of a plugin, for the NLRI of one attribute. */
const MAX_ANSWER = 1024 * 1024;

export class WireCodec {
  readonly #registry: CodecRegistry;
  readonly #caller: NlriCaller;
  readonly #reader = new UpdateReader();
  readonly #json: UpdateJson;

  constructor(registry: CodecRegistry, caller: NlriCaller) {
    this.#registry = registry;
    this.#caller = caller;
    this.#json = new UpdateJson(registry);
  }

  /** `hex` is an UPDATE body, without the header. Entries of families that plugins own are what the plugin makes of them. */
  async decodeUpdate(hex: string, addPath = false): Promise<Decoded<UpdateModel>> {
    const bytes = hexBytes(hex);
    if (typeof bytes === 'string') return { ok: false, message: bytes };
    if (bytes.length < 4) return { ok: false, message: `UPDATE body too short: ${bytes.length} bytes` };
    const reader = this.#reader.over(bytes, 0, bytes.length, true, addPath ? NAMED_FAMILIES : NO_FAMILIES, true);
    if (reader.unreadable) return { ok: false, message: 'malformed UPDATE body' };
    const writer = new ByteWriter(4096);
    writer.safe('{');
    this.#json.writeParsed(writer, reader);
    writer.safe('}');
    const model = JSON.parse(writer.text(0, writer.length)) as UpdateModel;
    // The reader may be moved by another call while a plugin is asked.
    const { update, withdraws } = reader;
    const parts = [
      { family: update.reachFamily, at: update.reachAt, length: update.reachLength, withdraw: false },
      { family: update.unreachFamily, at: update.unreachAt, length: update.unreachLength, withdraw: true },
    ];
    for (const { family, at, length, withdraw } of parts) {
      if (length === 0 || isPrefixFamily(family)) continue;
      const nlri = await this.#decode(family, bytes.slice(at, at + length), addPath, withdraw);
      const operations = model.nlri[this.#registry.name(family)] ?? [];
      // The entry stays as hex when nobody can read it, with the reason; one operation of each kind in a family without classic fields.
      const value = nlri.ok
        ? nlri.value
        : [{ raw: toHex(bytes, at, length), ...(this.#registry.asked(family) === '' ? {} : { error: nlri.message }) }];
      for (const one of operations) if ((one.action === 'del') === withdraw || withdraws) one.nlri = value;
    }
    return { ok: true, value: model };
  }

  /** `hex` is the attribute's value. */
  async decodeMpReach(hex: string, addPath = false): Promise<Decoded<MpDecoded>> {
    const bytes = hexBytes(hex);
    if (typeof bytes === 'string') return { ok: false, message: bytes };
    if (bytes.length < 5) return { ok: false, message: `MP_REACH_NLRI too short: ${bytes.length} bytes` };
    const family = (bytes[0]! << 16) | (bytes[1]! << 8) | bytes[2]!;
    const length = bytes[3]!;
    if (5 + length > bytes.length)
      return { ok: false, message: `MP_REACH_NLRI next hop of ${length} bytes exceeds the attribute` };
    const nlri = await this.#decode(family, bytes.subarray(5 + length), addPath, false);
    if (!nlri.ok) return nlri;
    const nextHop = nextHopText(bytes, 4, 4, length);
    const name = this.#registry.name(family);
    return { ok: true, value: { family: name, ...(nextHop === undefined ? {} : { 'next-hop': nextHop }), nlri: nlri.value } };
  }

  /** `hex` is the attribute's value. */
  async decodeMpUnreach(hex: string, addPath = false): Promise<Decoded<MpDecoded>> {
    const bytes = hexBytes(hex);
    if (typeof bytes === 'string') return { ok: false, message: bytes };
    if (bytes.length < 3) return { ok: false, message: `MP_UNREACH_NLRI too short: ${bytes.length} bytes` };
    const family = (bytes[0]! << 16) | (bytes[1]! << 8) | bytes[2]!;
    const nlri = await this.#decode(family, bytes.subarray(3), addPath, true);
    return nlri.ok ? { ok: true, value: { family: this.#registry.name(family), nlri: nlri.value } } : nlri;
  }

  /** Entries of a family as JSON values; a plugin's answer that is no array is its one entry. */
  async decodeNlri(family: string, hex: string, addPath = false, withdraw = false): Promise<Decoded<readonly unknown[]>> {
    const number = this.#registry.number(family);
    if (number === NO_FAMILY) return { ok: false, message: `unknown family: ${shown(family)}` };
    const bytes = hexBytes(hex);
    return typeof bytes === 'string' ? { ok: false, message: bytes } : this.#decode(number, bytes, addPath, withdraw);
  }

  /** What the owner of the family makes of NLRI in an event. */
  async answer({ family, nlri, addPath, withdraw }: NlriQuestion): Promise<NlriAnswer> {
    const answer = await this.#decode(family, nlri, addPath, withdraw);
    if (!answer.ok) return answer;
    const text = JSON.stringify(answer.value);
    return text.length <= MAX_ANSWER
      ? answer
      : { ok: false, message: `an answer of ${text.length} characters (max ${MAX_ANSWER})` };
  }

  /** Hex of one entry. The engine's families take `[prefix] ADDRESS/LENGTH [path-information ID]`. */
  async encodeNlri(family: string, args: readonly string[]): Promise<Decoded<string>> {
    const number = this.#registry.number(family);
    if (number === NO_FAMILY) return { ok: false, message: `unknown family: ${shown(family)}` };
    if (isPrefixFamily(number) && this.#registry.encoder(number) === ENGINE) return encodePrefix(number, args);
    const now = this.#registry.encodeNow(number, args);
    if (now !== undefined) return typeof now === 'string' ? { ok: false, message: now } : { ok: true, value: toHex(now) };
    const owner = this.#registry.encoder(number);
    if (owner === '' || owner === ENGINE) return { ok: false, message: `no plugin writes ${shown(family)}` };
    try {
      return { ok: true, value: await this.#caller.encodeNlri(owner, { family: this.#registry.name(number), args }) };
    } catch (error) {
      return { ok: false, message: error instanceof Error ? error.message : String(error) };
    }
  }

  async #decode(family: Family, bytes: Uint8Array, addPath: boolean, withdraw: boolean): Promise<Decoded<readonly unknown[]>> {
    const name = this.#registry.name(family);
    if (isPrefixFamily(family)) return decodePrefixes(family, name, bytes, addPath);
    if (countNlri(viewOf(bytes), 0, bytes.length, family, addPath, withdraw) < 0) {
      return { ok: false, message: `malformed NLRI of ${name}` };
    }
    if (bytes.length === 0) return { ok: true, value: [] };
    const now = this.#registry.decodeNow(family, bytes, addPath);
    if (now !== undefined) return { ok: true, value: now };
    const owner = this.#registry.decoder(family);
    if (owner === '' || owner === ENGINE) return { ok: false, message: `unknown family: ${shown(name)} (no plugin reads it)` };
    try {
      const flags = { ...(addPath ? { 'add-path': true } : {}), ...(withdraw ? { withdraw: true } : {}) };
      const json = await this.#caller.decodeNlri(owner, { family: name, hex: toHex(bytes), ...flags });
      if (json === undefined) return { ok: false, message: `${owner} answered without json` };
      return { ok: true, value: Array.isArray(json) ? (json as unknown[]) : [json] };
    } catch (error) {
      return { ok: false, message: error instanceof Error ? error.message : String(error) };
    }
  }
}

function hexBytes(hex: string): Uint8Array | string {
  return fromHex(hex) ?? `invalid hex: ${hex.length % 2 === 1 ? 'odd number of digits' : 'not a hex digit'}`;
}

/** Prefixes as events show them. */
export function decodePrefixes(family: Family, name: string, bytes: Uint8Array, addPath: boolean): Decoded<readonly unknown[]> {
  const size = afiOf(family) === 1 ? 4 : 16;
  const cursor = new PrefixCursor().over(viewOf(bytes), 0, bytes.length, size * 8, addPath);
  const values: unknown[] = [];
  while (cursor.next()) {
    const prefix = formatPrefix(bytes, cursor.prefixAt, cursor.lengthBits, size);
    values.push(cursor.pathId === 0 ? prefix : { prefix, 'path-id': cursor.pathId });
  }
  if (cursor.at < cursor.end) return { ok: false, message: `malformed NLRI of ${name} at byte ${cursor.at}` };
  return { ok: true, value: values };
}

function encodePrefix(family: Family, args: readonly string[]): Decoded<string> {
  const words = args.filter((word) => word !== 'prefix');
  const at = words.findIndex((word) => word === 'path-information' || word === 'info' || word === 'path-id');
  const id = at < 0 ? undefined : parsePathId(words[at + 1] ?? '');
  if (id !== undefined && id < 0) return { ok: false, message: `invalid path-information: ${shown(words[at + 1] ?? '')}` };
  if (at >= 0) words.splice(at, 2);
  const target = prefixTarget();
  const [text = ''] = words;
  if (words.length !== 1 || !parsePrefix(text, target) || (target.addressLength === 4) !== (afiOf(family) === 1)) {
    return { ok: false, message: `invalid prefix: ${shown(words.join(' '))}` };
  }
  const out = new Uint8Array(24);
  const end = writePrefix(out, 0, target.bytes, 0, target.lengthBits, id !== undefined, id ?? 0);
  return { ok: true, value: toHex(out, 0, end) };
}
