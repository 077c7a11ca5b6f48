/**
 * A BGP message as the JSON document of `bgp decode` (daemon-cli §11). Its shapes are not those of events: attributes have their long
 * names and one key a family stands beside `attr`.
 */
import { formatIpv4 } from '../../sdk/wire/address.ts';
import * as code from '../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../sdk/wire/attribute/cursor.ts';
import { ATTRIBUTES } from '../../sdk/wire/attribute/table.ts';
import { toHex, viewOf } from '../../sdk/wire/bytes.ts';
import { plainContext } from '../../sdk/wire/context.ts';
import { afiName, familyOf, IPV4_UNICAST, safiName } from '../../sdk/wire/family.ts';
import { notificationCodeName } from '../../sdk/wire/notification.ts';
import { refreshName } from '../../sdk/wire/refresh.ts';
import { ByteWriter } from '../codec/byte-writer.ts';
import { nextHopText } from '../codec/event-text.ts';
import { formatExtendedCommunity } from '../codec/extended-community.ts';
import { readOpen } from '../codec/open-reader.ts';
import type { CodecRegistry } from '../codec/registry.ts';
import { UpdateJson } from '../codec/update-json.ts';

/** JSON with whole numbers of any size. */
export type Json = string | number | bigint | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** `{"type":"bgp","bgp":{…}}` around the members of a message. */
export function document(type: string, members: Json): Json {
  return {
    type: 'bgp',
    bgp: {
      message: { id: 0, direction: 'received', type },
      peer: { address: '127.0.0.1', remote: { as: 65533 } },
      [type]: members,
    },
  };
}

/** Compact JSON on one line; numbers beyond 2^53 keep every digit, control characters are escaped. */
export function jsonText(value: Json): string {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(jsonText).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value as { readonly [key: string]: Json });
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${jsonText(member)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

export function openJson(bytes: Uint8Array, at: number, length: number): Json {
  const open = readOpen(bytes, at, length);
  if (open === undefined) return {};
  return {
    asn: open.asn,
    'router-id': open.routerId,
    timer: { 'hold-time': open.holdTimeSeconds },
    capabilities: open.capabilities.map((one) => ({ ...one })),
  };
}

export function notificationJson(bytes: Uint8Array, at: number, length: number): Json {
  const number = bytes[at] ?? 0;
  return {
    'error-code': number,
    'error-name': notificationCodeName(number) ?? `Code(${number})`,
    'error-subcode': bytes[at + 1] ?? 0,
    ...(length > 2 ? { data: toHex(bytes, at + 2, length - 2) } : {}),
  };
}

export function refreshJson(bytes: Uint8Array, at: number): Json {
  return {
    afi: afiName((bytes[at]! << 8) | bytes[at + 1]!),
    safi: safiName(bytes[at + 3]!),
    subtype: refreshName(bytes[at + 2]!),
  };
}

/**
 * Attributes, then one key a family; an End-of-RIB is `eor`. By the bytes alone: what a speaker would make of them is not asked, a
 * malformed attribute is hex. The walk of `decode-fields` has found every length to fit.
 */
export function updateJson(bytes: Uint8Array, at: number, options: UpdateOptions, registry: CodecRegistry): Json {
  const view = viewOf(bytes);
  const sections: Section[] = [];
  const withdrawn = view.getUint16(at);
  const attributesAt = at + 4 + withdrawn;
  const attributesLength = view.getUint16(attributesAt - 2);
  const nlriAt = attributesAt + attributesLength;
  const attr: Record<string, Json> = {};
  const context = plainContext({ asn4: options.asn4, ebgp: false });
  const cursor = new AttributeCursor().over(view, attributesAt, attributesLength);
  let nextHop: string | undefined;
  while (cursor.next()) {
    const { code: number, valueAt, valueLength } = cursor;
    if (number === code.MP_REACH_NLRI || number === code.MP_UNREACH_NLRI) continue;
    const malformed = (ATTRIBUTES[number]?.check(view, valueAt, valueLength, context) ?? 0) !== 0;
    const [key, value]: readonly [string, Json] = malformed
      ? [`attr-${number}`, toHex(bytes, valueAt, valueLength)]
      : attributeJson(bytes, view, number, valueAt, valueLength, options.asn4);
    // Each family names its own next hop.
    if (key === 'next-hop' && typeof value === 'string') nextHop = value;
    else attr[key] = value;
  }
  if (nlriAt < bytes.length)
    sections.push({ family: IPV4_UNICAST, action: 'add', nextHop, at: nlriAt, length: bytes.length - nlriAt });
  mpSections(bytes, view, attributesAt, attributesLength, sections);
  if (withdrawn > 0)
    sections.splice(countAnnounced(sections), 0, {
      family: IPV4_UNICAST,
      action: 'del',
      nextHop: undefined,
      at: at + 2,
      length: withdrawn,
    });
  if (Object.keys(attr).length === 0 && sections.every(({ action, length }) => action === 'del' && length === 0)) {
    const family = sections[0]?.family ?? IPV4_UNICAST;
    if (sections.length <= 1) return { eor: { afi: afiName(family >>> 8), safi: safiName(family & 0xff) } };
  }
  return { ...(Object.keys(attr).length > 0 ? { attr } : {}), ...familiesJson(bytes, sections, options, registry) };
}

export interface UpdateOptions {
  readonly asn4: boolean;
  readonly addPath: boolean;
}

interface Section {
  readonly family: number;
  readonly action: 'add' | 'del';
  readonly nextHop: string | undefined;
  readonly at: number;
  readonly length: number;
}

function countAnnounced(sections: readonly Section[]): number {
  return sections.filter(({ action }) => action === 'add').length;
}

/** MP_REACH_NLRI, then MP_UNREACH_NLRI. */
function mpSections(bytes: Uint8Array, view: DataView, at: number, length: number, sections: Section[]): void {
  for (const wanted of [code.MP_REACH_NLRI, code.MP_UNREACH_NLRI]) {
    const cursor = new AttributeCursor().over(view, at, length);
    while (cursor.find(wanted)) {
      const { valueAt, valueLength } = cursor;
      const family = familyOf(view.getUint16(valueAt), view.getUint8(valueAt + 2));
      if (wanted === code.MP_UNREACH_NLRI) {
        sections.push({ family, action: 'del', nextHop: undefined, at: valueAt + 3, length: valueLength - 3 });
        continue;
      }
      const size = view.getUint8(valueAt + 3);
      const nextHop = nextHopText(bytes, valueAt + 4, valueAt + 4, size);
      sections.push({ family, action: 'add', nextHop, at: valueAt + 5 + size, length: valueLength - 5 - size });
    }
  }
}

function familiesJson(
  bytes: Uint8Array,
  sections: readonly Section[],
  options: UpdateOptions,
  registry: CodecRegistry,
): { readonly [key: string]: Json } {
  const families: Record<string, Json[]> = {};
  for (const { family, action, nextHop, at, length } of sections) {
    const nlri = nlriValues(bytes.subarray(at, at + length), family, options.addPath, registry);
    (families[registry.name(family)] ??= []).push({ ...(nextHop === undefined ? {} : { 'next-hop': nextHop }), action, nlri });
  }
  return families;
}

/** NLRI of one family: the entry itself when there is one, else the list. */
export function nlriJson(bytes: Uint8Array, family: number, addPath: boolean, registry: CodecRegistry): Json {
  const values = nlriValues(bytes, family, addPath, registry);
  return values.length === 1 ? values[0]! : values;
}

function nlriValues(bytes: Uint8Array, family: number, addPath: boolean, registry: CodecRegistry): readonly Json[] {
  if (bytes.length === 0) return [];
  const writer = new ByteWriter(4096);
  writer.safe('[');
  new UpdateJson(registry).writeNlri(writer, bytes, viewOf(bytes), 0, bytes.length, family, addPath);
  writer.safe(']');
  return JSON.parse(writer.text(0, writer.length)) as readonly Json[];
}

/** One attribute's key and value; its check has found it well-formed. */
export function attributeJson(
  bytes: Uint8Array,
  view: DataView,
  number: number,
  at: number,
  length: number,
  asn4: boolean,
): readonly [key: string, value: Json] {
  switch (number) {
    case code.ORIGIN:
      return ['origin', ['igp', 'egp', 'incomplete'][view.getUint8(at)] ?? view.getUint8(at)];
    case code.AS_PATH:
      return ['as-path', pathNumbers(view, at, length, asn4 ? 4 : 2)];
    case code.NEXT_HOP:
      return ['next-hop', formatIpv4(view.getUint32(at))];
    case code.MULTI_EXIT_DISC:
      return ['med', view.getUint32(at)];
    case code.LOCAL_PREF:
      return ['local-preference', view.getUint32(at)];
    case code.ATOMIC_AGGREGATE:
      return ['atomic-aggregate', true];
    case code.AGGREGATOR: {
      const as = length === 8 ? view.getUint32(at) : view.getUint16(at);
      return ['aggregator', `${as}:${formatIpv4(view.getUint32(at + length - 4))}`];
    }
    case code.COMMUNITIES:
      return ['community', each(at, length, 4, (i) => `${view.getUint16(i)}:${view.getUint16(i + 2)}`)];
    case code.ORIGINATOR_ID:
      return ['originator-id', formatIpv4(view.getUint32(at))];
    case code.CLUSTER_LIST:
      return ['cluster-list', each(at, length, 4, (i) => formatIpv4(view.getUint32(i)))];
    case code.EXTENDED_COMMUNITIES:
      return [
        'extended-community',
        each(at, length, 8, (i) => ({ string: formatExtendedCommunity(view, i), value: view.getBigUint64(i) })),
      ];
    case code.IPV6_EXTENDED_COMMUNITIES:
      return ['ipv6-extended-community', each(at, length, 20, (i) => toHex(bytes, i, 20))];
    case code.AIGP:
      if (length >= 11 && view.getUint8(at) === 1) return ['aigp', view.getBigUint64(at + 3)];
      return ['aigp', toHex(bytes, at, length)];
    case code.LARGE_COMMUNITIES:
      return [
        'large-community',
        each(at, length, 12, (i) => `${view.getUint32(i)}:${view.getUint32(i + 4)}:${view.getUint32(i + 8)}`),
      ];
    case code.ONLY_TO_CUSTOMER:
      return ['otc', view.getUint32(at)];
    case code.PREFIX_SID:
      return ['bgp-prefix-sid', toHex(bytes, at, length)];
    default:
      return [`attr-${number}`, toHex(bytes, at, length)];
  }
}

function each(at: number, length: number, size: number, read: (at: number) => Json): readonly Json[] {
  return Array.from({ length: Math.floor(length / size) }, (_, index) => read(at + index * size));
}

function pathNumbers(view: DataView, at: number, length: number, size: 2 | 4): readonly number[] {
  const numbers: number[] = [];
  for (let i = at; i + 2 <= at + length; ) {
    const next = i + 2 + view.getUint8(i + 1) * size;
    for (let k = i + 2; k + size <= Math.min(next, at + length); k += size)
      numbers.push(size === 4 ? view.getUint32(k) : view.getUint16(k));
    i = next;
  }
  return numbers;
}
