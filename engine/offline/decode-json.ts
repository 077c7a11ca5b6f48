/**
 * A BGP message as the JSON document of `bgp decode` (daemon-cli §11). Its shapes are not those of events: attributes have their long
 * names and one key a family stands beside `attr`.
 */
import { formatIpv4 } from '../../sdk/wire/address.ts';
import * as code from '../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../sdk/wire/attribute/cursor.ts';
import { ATTRIBUTES } from '../../sdk/wire/attribute/table.ts';
import { toHex } from '../../sdk/wire/bytes.ts';
import { plainContext } from '../../sdk/wire/context.ts';
import { afiName, safiName } from '../../sdk/wire/family.ts';
import { notificationCodeName } from '../../sdk/wire/notification.ts';
import { refreshName } from '../../sdk/wire/refresh.ts';
import { ByteWriter } from '../codec/byte-writer.ts';
import { formatExtendedCommunity } from '../codec/extended-community.ts';
import { readOpen } from '../codec/open-reader.ts';
import type { CodecRegistry } from '../codec/registry.ts';
import { UpdateJson } from '../codec/update-json.ts';
import type { UpdateReader } from '../codec/update-reader.ts';

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

/** Attributes, then one key a family; an End-of-RIB is `eor`. */
export function updateJson(reader: UpdateReader, registry: CodecRegistry): Json {
  const { update } = reader;
  if (update.endOfRib !== 0) return { eor: { afi: afiName(update.endOfRib >>> 8), safi: safiName(update.endOfRib & 0xff) } };
  const attributes = attributesJson(reader);
  return {
    ...(Object.keys(attributes).length > 0 ? { attr: attributes } : {}),
    ...familiesJson(reader, registry),
  };
}

function familiesJson(reader: UpdateReader, registry: CodecRegistry): { readonly [key: string]: Json } {
  const writer = new ByteWriter(4096);
  writer.safe('{');
  new UpdateJson(registry).writeFamilies(writer, reader);
  writer.safe('}');
  return JSON.parse(writer.text(0, writer.length)) as { readonly [key: string]: Json };
}

/** NLRI of one family: the entry itself when there is one, else the list. */
export function nlriJson(bytes: Uint8Array, family: number, addPath: boolean, registry: CodecRegistry): Json {
  const writer = new ByteWriter(4096);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  writer.safe('[');
  new UpdateJson(registry).writeNlri(writer, bytes, view, 0, bytes.length, family, addPath);
  writer.safe(']');
  const values = JSON.parse(writer.text(0, writer.length)) as readonly Json[];
  return values.length === 1 ? values[0]! : values;
}

function attributesJson(reader: UpdateReader): { readonly [key: string]: Json } {
  const { block } = reader.update;
  const cursor = new AttributeCursor().over(block.view, block.at, block.length);
  const context = plainContext({ asn4: reader.asn4, ebgp: false });
  const out: Record<string, Json> = {};
  while (cursor.next()) {
    const { code: number, valueAt, valueLength } = cursor;
    // Each family names its own next hop.
    if (number === code.NEXT_HOP) continue;
    const malformed = (ATTRIBUTES[number]?.check(block.view, valueAt, valueLength, context) ?? 0) !== 0;
    const [key, value] = malformed
      ? [`attr-${number}`, toHex(block.bytes, valueAt, valueLength)]
      : attributeJson(block.bytes, block.view, number, valueAt, valueLength, reader.asn4);
    out[key] = value;
  }
  return out;
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
