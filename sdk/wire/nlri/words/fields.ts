// One NLRI in words (`rd 64500:1 ve-id 5 …`): names with a value behind them, in any order. What is wrong names the word that is.
import { addressBytes, parseDecimal, parseIpv4, parsePrefix, prefixTarget } from '../../address.ts';
import { fromHex } from '../../bytes.ts';

/** Why words are no NLRI. */
export interface WordFault {
  /** Index of the word that is wrong; -1: something is missing. */
  readonly at: number;
  /** What is wrong, in words that may follow the family's name. */
  readonly message: string;
  /** The words that could have stood there. */
  readonly known: readonly string[];
}

export type WrittenNlri = Uint8Array | WordFault;

export function isWordFault(written: WrittenNlri): written is WordFault {
  return !(written instanceof Uint8Array);
}

export function wordFault(at: number, message: string, known: readonly string[] = []): WordFault {
  return { at, message, known };
}

/** Values by name, and what was wrong first. Thrown faults stay inside this folder: `written` takes them. */
export class WordFields {
  readonly #words: readonly string[];
  readonly #at = new Map<string, number>();
  readonly #end: number;

  /**
   * `types`: words without a value, one of which says what is meant; `names`: those with one. A name that comes again: the last one counts.
   * `bare`: the name of a last word that stands alone.
   */
  constructor(
    words: readonly string[],
    names: readonly string[],
    types: readonly string[] = [],
    typeTakesValue = false,
    bare = '',
  ) {
    this.#words = words;
    this.#end = words.length;
    for (let at = 0; at < words.length; ) {
      const word = words[at]!;
      const isType = types.includes(word);
      if (isType && !typeTakesValue) {
        const other = types.find((one) => this.#at.has(one));
        if (other !== undefined) fail(at, `${word} after ${other}: one route type`);
        this.#at.set(word, at++);
        continue;
      }
      if (bare !== '' && at === words.length - 1 && !names.includes(word)) {
        this.#at.set(bare, at++);
        continue;
      }
      if (!isType && !names.includes(word)) fail(at, `unknown word "${shortened(word)}"`, [...types, ...names]);
      const value = at + 1;
      if (value >= words.length || names.includes(words[value]!)) fail(at, `${word} needs a value`);
      this.#at.set(word, value);
      at = value + 1;
      if (words[value] === '[') {
        while (at < words.length && words[at] !== ']') at++;
        at++;
      }
    }
  }

  has(name: string): boolean {
    return this.#at.has(name);
  }

  /** The one of `types` that was written. */
  type(types: readonly string[]): string {
    const found = types.find((one) => this.#at.has(one));
    return found ?? fail(-1, `the route type is missing: one of ${types.join(', ')}`);
  }

  text(name: string): string {
    return this.#words[this.index(name)]!;
  }

  /** The index of a value's word. */
  index(name: string): number {
    return this.#at.get(name) ?? fail(-1, `${name} is missing`);
  }

  number(name: string, maximum: number, least = 0): number {
    const text = this.text(name);
    const value = numberOf(text, maximum);
    return value < least ? fail(this.index(name), `${name}: "${shortened(text)}" is not a number, ${least}..${maximum}`) : value;
  }

  /** 4 or 16 bytes; `length` 0 allows both. */
  address(name: string, length: 0 | 4 | 16 = 0): Uint8Array {
    const bytes = addressBytes(this.text(name));
    if (bytes !== undefined && (length === 0 || bytes.length === length)) return bytes;
    const kind = length === 0 ? 'an IP' : length === 4 ? 'an IPv4' : 'an IPv6';
    return fail(this.index(name), `${name}: "${shortened(this.text(name))}" is not ${kind} address`);
  }

  prefix(name: string, length: 0 | 4 | 16 = 0): { readonly bytes: Uint8Array; readonly bits: number } {
    return prefixOf(this.text(name), length, this.index(name));
  }

  /** The 8 bytes of `rd`. */
  distinguisher(): Uint8Array {
    const text = this.text('rd');
    return distinguisherBytes(text) ?? fail(this.index('rd'), `rd: "${shortened(text)}" is not ASN:N or IP:N`);
  }

  /** Labels of a stack: one word, several joined by commas, or several in brackets. */
  labels(name: string): readonly number[] {
    const start = this.index(name);
    const texts: { text: string; at: number }[] = [];
    for (let at = start; at < this.#end; at++) {
      const word = this.#words[at]!;
      if (word === ']') break;
      if (word !== '[') for (const text of word.split(',')) if (text !== '') texts.push({ text, at });
      if (this.#words[start] !== '[') break;
    }
    if (texts.length === 0) fail(start, `${name} needs a value`);
    return texts.map(({ text, at }) => {
      const label = numberOf(text, 0xfffff);
      return label < 0 ? fail(at, `${name}: "${shortened(text)}" is not a label, 0..1048575`) : label;
    });
  }
}

class Failure extends Error {
  readonly fault: WordFault;

  constructor(fault: WordFault) {
    super(fault.message);
    this.fault = fault;
  }
}

export function fail(at: number, message: string, known: readonly string[] = []): never {
  throw new Failure(wordFault(at, message, known));
}

/** What `write` makes, or the fault it found. */
export function written(write: () => Uint8Array): WrittenNlri {
  try {
    return write();
  } catch (error) {
    if (error instanceof Failure) return error.fault;
    throw error;
  }
}

/** A prefix in an address of `length` bytes (0: any), bits past its length cleared. */
export function prefixOf(text: string, length: 0 | 4 | 16, at: number): { readonly bytes: Uint8Array; readonly bits: number } {
  const target = prefixTarget();
  if (parsePrefix(text, target) && (length === 0 || target.addressLength === length))
    return { bytes: target.bytes.slice(0, target.addressLength), bits: target.lengthBits };
  const kind = length === 0 ? '' : length === 4 ? 'n IPv4' : 'n IPv6';
  return fail(at, `"${shortened(text)}" is not a${kind} prefix`);
}

/** Types 0, 1 and 2 by form and size (RFC 4364 §4.2, RFC 4893): `64500:1`, `192.0.2.1:1`, `4200000000:1`. */
export function distinguisherBytes(text: string): Uint8Array | undefined {
  const colon = text.lastIndexOf(':');
  if (colon < 0) return undefined;
  const out = new Uint8Array(8);
  const view = new DataView(out.buffer);
  const head = text.slice(0, colon);
  const quad = parseIpv4(head);
  const as = quad < 0 ? numberOf(head, 0xffffffff) : -1;
  const value = numberOf(text.slice(colon + 1), as >= 0 && as <= 0xffff ? 0xffffffff : 0xffff);
  if (value < 0 || (quad < 0 && as < 0)) return undefined;
  if (quad < 0 && as <= 0xffff) {
    view.setUint16(2, as);
    view.setUint32(4, value);
    return out;
  }
  out[1] = quad < 0 ? 2 : 1;
  view.setUint32(2, quad < 0 ? as : quad);
  view.setUint16(6, value);
  return out;
}

/** Three bytes a label; the last one carries the bottom-of-stack bit (RFC 3032 §2.1). */
export function labelBytes(labels: readonly number[]): Uint8Array {
  const out = new Uint8Array(labels.length * 3);
  for (const [index, label] of labels.entries()) {
    const value = (label << 4) | (index === labels.length - 1 ? 1 : 0);
    out.set([value >>> 16, (value >>> 8) & 0xff, value & 0xff], index * 3);
  }
  return out;
}

/** `bits` bits of an address: as many bytes as hold them. */
export function prefixBytes(bytes: Uint8Array, bits: number): Uint8Array {
  return bytes.slice(0, (bits + 7) >>> 3);
}

/** Length in bits, address. */
export function sizedAddress(bytes: Uint8Array): readonly Uint8Array[] {
  return [Uint8Array.of(bytes.length * 8), bytes];
}

export function u16(value: number): Uint8Array {
  return Uint8Array.of(value >>> 8, value & 0xff);
}

export function u32(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff);
}

export function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Decimal, or `0x` and hexadecimal digits; -1 when it is neither or too large. */
export function numberOf(text: string, maximum: number): number {
  if (/^0x[0-9a-f]{1,8}$/i.test(text)) {
    const value = Number.parseInt(text.slice(2), 16);
    return value <= maximum ? value : -1;
  }
  return parseDecimal(text, 0, text.length, maximum);
}

/** Bytes written with colons or dashes between (a MAC address, an ESI), or as bare digits; undefined when they are not `length`. */
export function octets(text: string, length: number): Uint8Array | undefined {
  const spaced = /^[0-9a-f]{2}([:-][0-9a-f]{2})+$/i.test(text) ? text.replace(/[:-]/g, '') : text.replace(/^0x/i, '');
  const bytes = fromHex(spaced);
  return bytes?.length === length ? bytes : undefined;
}

export function shortened(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text;
}
