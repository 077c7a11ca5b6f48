/**
 * A BGP message as a list of fields with the offset of each: what `bgp decode` prints for people. The walk goes by the bytes alone and
 * stops at the first length that does not fit, naming its offset.
 */
import { formatPrefix } from '../../sdk/wire/address.ts';
import * as code from '../../sdk/wire/attribute/code.ts';
import { attributeName, ATTRIBUTES } from '../../sdk/wire/attribute/table.ts';
import { toHex, viewOf } from '../../sdk/wire/bytes.ts';
import { capabilityLabel } from '../../sdk/wire/capability/capability.ts';
import { plainContext } from '../../sdk/wire/context.ts';
import { afiName, afiOf, familyName, familyOf, IPV4_UNICAST, isPrefixFamily, safiName } from '../../sdk/wire/family.ts';
import { reasonText } from '../../sdk/wire/fault.ts';
import { HEADER_LENGTH, messageName, NOTIFICATION, OPEN, ROUTE_REFRESH, UPDATE } from '../../sdk/wire/message.ts';
import { PrefixCursor } from '../../sdk/wire/nlri/prefix.ts';
import { notificationCodeName, notificationSubcodeName, shutdownText } from '../../sdk/wire/notification.ts';
import { decodeOpen } from '../../sdk/wire/open.ts';
import { refreshName } from '../../sdk/wire/refresh.ts';
import { printable } from '../../sdk/wire/utf8.ts';
import { nextHopText } from '../codec/event-text.ts';
import { showCapability } from '../codec/open-reader.ts';
import { attributeJson, jsonText } from './decode-json.ts';

export interface Field {
  /** Offset of its first byte in what was given. */
  readonly at: number;
  readonly depth: number;
  readonly name: string;
  readonly value: string;
}

/** What could not be read, and where. */
export interface FieldFault {
  readonly at: number;
  readonly message: string;
}

export interface FieldList {
  readonly fields: readonly Field[];
  readonly fault: FieldFault | undefined;
}

export interface FieldOptions {
  readonly asn4: boolean;
  readonly addPath: boolean;
}

class Walk {
  readonly fields: Field[] = [];
  fault: FieldFault | undefined;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly options: FieldOptions;

  constructor(bytes: Uint8Array, options: FieldOptions) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.options = options;
  }

  add(at: number, depth: number, name: string, value: string): void {
    this.fields.push({ at, depth, name, value });
  }

  fail(at: number, message: string): void {
    this.fault ??= { at, message };
  }
}

/** The message of `type` whose body lies from `at`; `header` = the 19 bytes before it are shown too. */
export function messageFields(bytes: Uint8Array, at: number, type: number, header: boolean, options: FieldOptions): FieldList {
  const walk = new Walk(bytes, options);
  if (header) {
    walk.add(at - HEADER_LENGTH, 0, 'marker', toHex(bytes, at - HEADER_LENGTH, 16));
    walk.add(at - 3, 0, 'length', String(walk.view.getUint16(at - 3)));
    walk.add(at - 1, 0, 'type', `${type} ${messageName(type)}`);
  }
  if (type === OPEN) openFields(walk, at);
  else if (type === UPDATE) updateFields(walk, at);
  else if (type === NOTIFICATION) notificationFields(walk, at);
  else if (type === ROUTE_REFRESH) refreshFields(walk, at);
  return { fields: walk.fields, fault: walk.fault };
}

/** NLRI of one family, from the beginning of `bytes`. */
export function nlriFields(bytes: Uint8Array, family: number, options: FieldOptions): FieldList {
  const walk = new Walk(bytes, options);
  nlri(walk, 0, bytes.length, family, 0);
  return { fields: walk.fields, fault: walk.fault };
}

function openFields(walk: Walk, at: number): void {
  const { bytes, view } = walk;
  if (bytes.length - at < 10) {
    walk.fail(at, `OPEN body too short: ${bytes.length - at} bytes`);
    return;
  }
  walk.add(at, 0, 'version', String(view.getUint8(at)));
  walk.add(at + 1, 0, 'my as', String(view.getUint16(at + 1)));
  walk.add(at + 3, 0, 'hold time', `${view.getUint16(at + 3)} s`);
  walk.add(
    at + 5,
    0,
    'identifier',
    `${view.getUint8(at + 5)}.${view.getUint8(at + 6)}.${view.getUint8(at + 7)}.${view.getUint8(at + 8)}`,
  );
  const long = view.getUint8(at + 9) !== 0 && bytes.length > at + 10 && view.getUint8(at + 10) === 255 && bytes.length >= at + 13;
  walk.add(
    at + 9,
    0,
    'optional parameters',
    `${long ? view.getUint16(at + 11) : view.getUint8(at + 9)} bytes${long ? ', long form' : ''}`,
  );
  const head = long ? 3 : 2;
  let i = at + (long ? 13 : 10);
  if (i + (long ? view.getUint16(at + 11) : view.getUint8(at + 9)) !== bytes.length)
    walk.fail(at + 9, 'optional parameters do not fill the message');
  while (i + head <= bytes.length) {
    const size = long ? view.getUint16(i + 1) : view.getUint8(i + 1);
    const type = view.getUint8(i);
    walk.add(i, 1, `parameter ${type}`, `${size} bytes`);
    i += head;
    if (i + size > bytes.length) {
      walk.fail(i - head, `parameter of ${size} bytes exceeds the message`);
      return;
    }
    if (type === 2) capabilities(walk, i, i + size);
    i += size;
  }
  if (i < bytes.length) walk.fail(i, 'parameter cut short');
  if (!decodeOpen(bytes, at - HEADER_LENGTH, bytes.length - at + HEADER_LENGTH).ok) walk.fail(at, 'OPEN would be refused');
}

function capabilities(walk: Walk, at: number, end: number): void {
  let i = at;
  while (i + 2 <= end) {
    const length = walk.bytes[i + 1]!;
    if (i + 2 + length > end) {
      walk.fail(i, `capability of ${length} bytes exceeds its parameter`);
      return;
    }
    const number = walk.bytes[i]!;
    const shown = showCapability({ code: number, value: walk.bytes.slice(i + 2, i + 2 + length) });
    walk.add(i, 2, `${number} ${capabilityLabel(number)}`, shown.map((one) => one.value ?? '').join(', '));
    i += 2 + length;
  }
  if (i < end) walk.fail(i, 'capability cut short');
}

function updateFields(walk: Walk, at: number): void {
  const { bytes, view } = walk;
  const size = bytes.length - at;
  if (size < 4) {
    walk.fail(at, `UPDATE body too short: ${size} bytes`);
    return;
  }
  const withdrawn = view.getUint16(at);
  walk.add(at, 0, 'withdrawn routes', `${withdrawn} bytes`);
  if (withdrawn + 4 > size) {
    walk.fail(at, `withdrawn routes of ${withdrawn} bytes exceed the message`);
    return;
  }
  nlri(walk, at + 2, withdrawn, IPV4_UNICAST, 1);
  const attributesAt = at + 2 + withdrawn;
  const attributes = view.getUint16(attributesAt);
  walk.add(attributesAt, 0, 'attributes', `${attributes} bytes`);
  if (withdrawn + attributes + 4 > size) {
    walk.fail(attributesAt, `attributes of ${attributes} bytes exceed the message`);
    return;
  }
  const nlriAt = attributesAt + 2 + attributes;
  attributeFields(walk, attributesAt + 2, nlriAt);
  if (nlriAt < bytes.length) {
    walk.add(nlriAt, 0, 'nlri', `${bytes.length - nlriAt} bytes`);
    nlri(walk, nlriAt, bytes.length - nlriAt, IPV4_UNICAST, 1);
  }
}

function attributeFields(walk: Walk, at: number, end: number): void {
  const { bytes, view } = walk;
  const context = plainContext({ asn4: walk.options.asn4, ebgp: false });
  for (let i = at; i < end; ) {
    const left = end - i;
    const flags = view.getUint8(i);
    const head = (flags & code.EXTENDED_LENGTH) === 0 ? 3 : 4;
    if (left < head) {
      walk.fail(i, `attribute cut short: ${left} bytes`);
      return;
    }
    const number = view.getUint8(i + 1);
    const length = head === 4 ? view.getUint16(i + 2) : view.getUint8(i + 2);
    const valueAt = i + head;
    if (valueAt + length > end) {
      walk.fail(i, `${attributeName(number)} of ${length} bytes exceeds the attributes`);
      return;
    }
    if (number === code.MP_REACH_NLRI) mpReach(walk, i, flags, valueAt, length);
    else if (number === code.MP_UNREACH_NLRI) mpUnreach(walk, i, flags, valueAt, length);
    else {
      const spec = ATTRIBUTES[number];
      const reason = spec?.check(view, valueAt, length, context) ?? 0;
      const json =
        reason === 0 ? attributeJson(bytes, view, number, valueAt, length, walk.options.asn4)[1] : toHex(bytes, valueAt, length);
      const value = typeof json === 'string' ? json : jsonText(json);
      const verdict = reason === 0 ? '' : ` (malformed: ${reasonText(reason)})`;
      walk.add(i, 1, `${attributeName(number)} ${flagText(flags)}`, `${value}${verdict}`);
    }
    i = valueAt + length;
  }
}

function flagText(flags: number): string {
  const letters = [
    [code.OPTIONAL, 'o'],
    [code.TRANSITIVE, 't'],
    [code.PARTIAL, 'p'],
    [code.EXTENDED_LENGTH, 'x'],
  ] as const;
  return `[${letters.map(([bit, letter]) => ((flags & bit) === 0 ? '-' : letter)).join('')}]`;
}

function mpReach(walk: Walk, at: number, flags: number, valueAt: number, length: number): void {
  const { view } = walk;
  if (length < 5 || 5 + view.getUint8(valueAt + 3) > length) {
    walk.fail(at, `MP_REACH_NLRI of ${length} bytes is too short`);
    return;
  }
  const family = familyOf(view.getUint16(valueAt), view.getUint8(valueAt + 2));
  const size = view.getUint8(valueAt + 3);
  walk.add(at, 1, `MP_REACH_NLRI ${flagText(flags)}`, familyName(family));
  const next = nextHopText(walk.bytes, valueAt + 4, valueAt + 4, size);
  walk.add(valueAt + 3, 2, 'next hop', next ?? (size === 0 ? 'none' : toHex(walk.bytes, valueAt + 4, size)));
  nlri(walk, valueAt + 5 + size, length - 5 - size, family, 2);
}

function mpUnreach(walk: Walk, at: number, flags: number, valueAt: number, length: number): void {
  if (length < 3) {
    walk.fail(at, `MP_UNREACH_NLRI of ${length} bytes is too short`);
    return;
  }
  const family = familyOf(walk.view.getUint16(valueAt), walk.view.getUint8(valueAt + 2));
  walk.add(at, 1, `MP_UNREACH_NLRI ${flagText(flags)}`, familyName(family));
  nlri(walk, valueAt + 3, length - 3, family, 2);
}

function nlri(walk: Walk, at: number, length: number, family: number, depth: number): void {
  if (length === 0) return;
  if (!isPrefixFamily(family)) {
    walk.add(at, depth, 'entries', toHex(walk.bytes, at, length));
    return;
  }
  const size = afiOf(family) === 1 ? 4 : 16;
  const cursor = new PrefixCursor().over(walk.view, at, length, size * 8, walk.options.addPath);
  for (let start = cursor.at; cursor.next(); start = cursor.at) {
    const prefix = formatPrefix(walk.bytes, cursor.prefixAt, cursor.lengthBits, size);
    walk.add(start, depth, 'prefix', walk.options.addPath ? `${prefix} path id ${cursor.pathId}` : prefix);
  }
  if (cursor.at < cursor.end) walk.fail(cursor.at, `malformed NLRI of ${familyName(family)}`);
}

function notificationFields(walk: Walk, at: number): void {
  const { bytes } = walk;
  if (bytes.length - at < 2) {
    walk.fail(at, `NOTIFICATION body too short: ${bytes.length - at} bytes`);
    return;
  }
  const number = bytes[at]!;
  const subcode = bytes[at + 1]!;
  walk.add(at, 0, 'code', `${number} ${notificationCodeName(number) ?? 'unknown'}`);
  walk.add(at + 1, 0, 'subcode', `${subcode} ${notificationSubcodeName(number, subcode)}`);
  if (bytes.length - at === 2) return;
  const data = bytes.subarray(at + 2);
  const text = shutdownText({ code: number, subcode, data });
  walk.add(
    at + 2,
    0,
    'data',
    text === undefined ? toHex(data) : `"${printable(text.text)}"${text.valid ? '' : ' (malformed text)'}`,
  );
}

function refreshFields(walk: Walk, at: number): void {
  const { bytes, view } = walk;
  if (bytes.length - at < 4) {
    walk.fail(at, `ROUTE-REFRESH body too short: ${bytes.length - at} bytes`);
    return;
  }
  walk.add(at, 0, 'afi', afiName(view.getUint16(at)));
  walk.add(at + 2, 0, 'subtype', `${bytes[at + 2]!} ${refreshName(bytes[at + 2]!)}`);
  walk.add(at + 3, 0, 'safi', safiName(bytes[at + 3]!));
}

/** One line a field: offset, name indented by depth, value. */
export function fieldLines(fields: readonly Field[]): string {
  const width = fields.reduce((widest, { depth, name }) => Math.max(widest, 2 * depth + name.length), 0);
  return fields
    .map(
      ({ at, depth, name, value }) =>
        `${String(at).padStart(5)}  ${`${'  '.repeat(depth)}${name}`.padEnd(width)}  ${value}`.trimEnd() + '\n',
    )
    .join('');
}
