/** UPDATE events as JSON bytes: parsed, full, raw and summary (events.md §5). The hot writer of the room. */
import * as code from '../../sdk/wire/attribute/code.ts';
import { IPV4_UNICAST, NO_FAMILY } from '../../sdk/wire/family.ts';
import { PrefixCursor } from '../../sdk/wire/nlri/prefix.ts';
import { writeAttributesJson } from './attribute-json.ts';
import type { ByteWriter, Constant } from './byte-writer.ts';
import { constant } from './byte-writer.ts';
import { writeIpv4, writeIpv4Prefix, writeIpv6, writeIpv6Prefix, writeU32Text } from './digits.ts';
import type { AnsweredNlri, NlriAnswer } from './nlri-question.ts';
import type { CodecRegistry } from './registry.ts';
import type { UpdateReader } from './update-reader.ts';

const COMMA = 0x2c;
const BRACE = 0x7d;
const CLOSE_LIST = 0x5d;
const BACKSLASH = 0x5c;
const QUOTE = 0x22;

const TEXT = {
  attr: constant('"attr":{'),
  attrEnd: constant('},'),
  nlri: constant('"nlri":{'),
  add: constant('{"action":"add","nlri":['),
  addVia: constant('{"next-hop":"'),
  addViaEnd: constant('","action":"add","nlri":['),
  del: constant('{"action":"del","nlri":['),
  operationEnd: constant(']}'),
  prefix: constant('{"prefix":"'),
  pathId: constant('","path-id":'),
  raw: constant('{"raw":"'),
  rawEnd: constant('"}'),
  rawError: constant('","error":'),
} as const;

/** One list of NLRI of the message: where it lies and what it says. */
interface Section {
  family: number;
  announce: boolean;
  at: number;
  length: number;
  /** Next hop bytes; length 0 = none is shown. */
  nextHopAt: number;
  nextHopLength: number;
}

export class UpdateJson {
  readonly #registry: CodecRegistry;
  readonly #prefixes = new PrefixCursor();
  readonly #names = new Map<number, Constant>();
  /** Classic announced, MP announced, classic withdrawn, MP withdrawn; reused. */
  readonly #sections: Section[] = [blank(), blank(), blank(), blank()];
  #count = 0;
  /** What plugins made of the message's NLRI; offsets count from `answeredFrom`. */
  answered: AnsweredNlri | undefined = undefined;
  answeredFrom = 0;

  constructor(registry: CodecRegistry) {
    this.#registry = registry;
  }

  /** `"attr":{…},"nlri":{…}`: the inside of the `update` object. */
  writeParsed(w: ByteWriter, reader: UpdateReader): void {
    if (reader.update.block.length > 0 && !reader.withdraws) {
      w.constant(TEXT.attr);
      writeAttributesJson(w, reader);
      w.constant(TEXT.attrEnd);
    }
    w.constant(TEXT.nlri);
    this.writeFamilies(w, reader);
    w.byte(BRACE);
  }

  /** `"ipv4/unicast":[{…}],…`: announced families first, then those that are only withdrawn. */
  writeFamilies(w: ByteWriter, reader: UpdateReader): void {
    this.#gather(reader);
    let first = true;
    for (let i = 0; i < this.#count; i++) {
      const { family } = this.#sections[i]!;
      if (this.#writtenBefore(i, family)) continue;
      if (!first) w.byte(COMMA);
      first = false;
      w.constant(this.#familyKey(family));
      this.#writeOperations(w, reader, i, family);
      w.byte(CLOSE_LIST);
    }
  }

  /** NLRI of a family as JSON values separated by commas. */
  writeNlri(
    w: ByteWriter,
    bytes: Uint8Array,
    view: DataView,
    at: number,
    length: number,
    family: number,
    addPath: boolean,
  ): void {
    const afi = family >>> 8;
    const safi = family & 0xff;
    if ((afi === 1 || afi === 2) && (safi === 1 || safi === 2)) {
      this.#writePrefixes(w, bytes, view, at, length, afi === 1 ? 32 : 128, addPath);
      return;
    }
    const answer = this.answer(at);
    const values =
      answer?.ok === true ? answer.value : this.#registry.decodeNow(family, bytes.subarray(at, at + length), addPath);
    if (values === undefined) {
      w.constant(TEXT.raw);
      w.hex(bytes, at, length);
      if (answer?.ok === false) {
        w.constant(TEXT.rawError);
        w.json(answer.message);
        w.byte(BRACE);
      } else w.constant(TEXT.rawEnd);
      return;
    }
    for (let i = 0; i < values.length; i++) {
      if (i > 0) w.byte(COMMA);
      w.json(values[i]);
    }
  }

  /** What the owner of the family made of the NLRI that begin here. */
  answer(at: number): NlriAnswer | undefined {
    const { answered } = this;
    if (answered === undefined) return undefined;
    const index = answered.questions.findIndex((question) => question.offset === at - this.answeredFrom);
    return answered.answers[index];
  }

  #writePrefixes(
    w: ByteWriter,
    bytes: Uint8Array,
    view: DataView,
    at: number,
    length: number,
    maxBits: number,
    addPath: boolean,
  ): void {
    const cursor = this.#prefixes.over(view, at, length, maxBits, addPath);
    const { escaped } = w;
    let first = true;
    for (;;) {
      if (w.length + 256 > w.bytes.length) w.ensure(8192);
      const out = w.bytes;
      const limit = out.length - 128;
      let to = w.length;
      while (to < limit && cursor.next()) {
        if (first) first = false;
        else out[to++] = COMMA;
        if (cursor.pathId !== 0) to = writeConstant(out, to, escaped ? TEXT.prefix.escaped : TEXT.prefix.plain);
        else {
          if (escaped) out[to++] = BACKSLASH;
          out[to++] = QUOTE;
        }
        if (maxBits === 32) to = writeIpv4Prefix(out, to, bytes, cursor.prefixAt, cursor.lengthBits);
        else to = writeIpv6Prefix(out, to, bytes, cursor.prefixAt, cursor.lengthBits);
        if (cursor.pathId !== 0) {
          to = writeConstant(out, to, escaped ? TEXT.pathId.escaped : TEXT.pathId.plain);
          to = writeU32Text(out, to, cursor.pathId);
          out[to++] = BRACE;
        } else {
          if (escaped) out[to++] = BACKSLASH;
          out[to++] = QUOTE;
        }
      }
      w.length = to;
      if (to < limit) return;
    }
  }

  #gather(reader: UpdateReader): void {
    const { update } = reader;
    this.#count = 0;
    const announce = !reader.withdraws;
    if (update.nlriLength > 0) {
      const found = announce && reader.find(code.NEXT_HOP);
      const section = this.#add(IPV4_UNICAST, announce, update.nlriAt, update.nlriLength);
      section.nextHopAt = found ? reader.attributes.valueAt : 0;
      section.nextHopLength = found ? 4 : 0;
    }
    if (update.reachLength > 0) {
      const section = this.#add(update.reachFamily, announce, update.reachAt, update.reachLength);
      if (announce) placeNextHop(section, update.reachNextHopAt, update.reachUsableNextHopAt, update.reachNextHopLength);
    }
    if (update.withdrawnLength > 0) this.#add(IPV4_UNICAST, false, update.withdrawnAt, update.withdrawnLength);
    if (update.unreachLength > 0) this.#add(update.unreachFamily, false, update.unreachAt, update.unreachLength);
  }

  #add(family: number, announce: boolean, at: number, length: number): Section {
    const section = this.#sections[this.#count++]!;
    section.family = family;
    section.announce = announce;
    section.at = at;
    section.length = length;
    section.nextHopAt = 0;
    section.nextHopLength = 0;
    return section;
  }

  #writtenBefore(index: number, family: number): boolean {
    for (let i = 0; i < index; i++) if (this.#sections[i]!.family === family) return true;
    return false;
  }

  #writeOperations(w: ByteWriter, reader: UpdateReader, from: number, family: number): void {
    for (let i = from; i < this.#count; i++) {
      const section = this.#sections[i]!;
      if (section.family !== family) continue;
      if (i > from) w.byte(COMMA);
      w.ensure(160);
      if (section.nextHopLength > 0) {
        w.constant(TEXT.addVia);
        // The NEXT_HOP of the block may lie in the view's own scratch; that of MP_REACH_NLRI lies in the message.
        const from = family === IPV4_UNICAST && section.at === reader.update.nlriAt ? reader.update.block.bytes : reader.bytes;
        const write = section.nextHopLength === 4 ? writeIpv4 : writeIpv6;
        w.length = write(w.bytes, w.length, from, section.nextHopAt);
        w.constant(TEXT.addViaEnd);
      } else w.constant(section.announce ? TEXT.add : TEXT.del);
      this.writeNlri(w, reader.bytes, reader.view, section.at, section.length, family, reader.addPath(family));
      w.constant(TEXT.operationEnd);
    }
  }

  #familyKey(family: number): Constant {
    let key = this.#names.get(family);
    if (key === undefined) {
      const name = this.#registry.name(family);
      key = constant(`"${name}":[`);
      // A plugin may still bring the name of a family that has none.
      if (this.#names.size < 256 && !name.includes('afi-')) this.#names.set(family, key);
    }
    return key;
  }
}

/** Which bytes of an MP next hop to show: the address to route by, behind the route distinguisher of VPN families. */
function placeNextHop(section: Section, at: number, usableAt: number, length: number): void {
  section.nextHopLength =
    length === 4 || length === 12 ? 4 : length === 16 || length === 32 || length === 24 || length === 48 ? 16 : 0;
  section.nextHopAt = length === 12 || length === 24 || length === 48 ? at + 8 : usableAt;
}

function writeConstant(out: Uint8Array, at: number, text: Uint8Array): number {
  for (let i = 0; i < text.length; i++) out[at + i] = text[i]!;
  return at + text.length;
}

function blank(): Section {
  return { family: NO_FAMILY, announce: false, at: 0, length: 0, nextHopAt: 0, nextHopLength: 0 };
}
