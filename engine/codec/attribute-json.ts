/**
 * Path attributes of an UPDATE as the members of `update.attr` (events.md §5.2), written as bytes. Values come from a block that was
 * judged (`UpdateReader`), so lengths are what their attribute demands.
 */
import * as code from '../../sdk/wire/attribute/code.ts';
import type { ByteWriter, Constant } from './byte-writer.ts';
import { constant } from './byte-writer.ts';
import { writeIpv4, writeU32Text } from './digits.ts';
import { formatExtendedCommunity } from './extended-community.ts';
import type { UpdateReader } from './update-reader.ts';

const COMMA = 0x2c;
const COLON = 0x3a;
const CLOSE_LIST = 0x5d;

const ORIGINS: readonly Constant[] = ['igp', 'egp', 'incomplete'].map((word) => constant(`"origin":"${word}"`));
const KEY = {
  asPath: constant('"as-path":['),
  nextHop: constant('"next-hop":"'),
  med: constant('"med":'),
  localPreference: constant('"local-preference":'),
  communities: constant('"communities":['),
  large: constant('"large-communities":['),
  extended: constant('"extended-communities":['),
  ipv6Extended: constant('"ipv6-extended-communities":['),
  aigp: constant('"aigp":'),
  prefixSid: constant('"bgp-prefix-sid":"'),
  other: constant('"attr-'),
  value: constant('":"'),
} as const;

/** Writes `"origin":"igp","as-path":[…]`, without braces; nothing when there is no attribute. */
export function writeAttributesJson(w: ByteWriter, reader: UpdateReader): void {
  const { block } = reader.update;
  const cursor = reader.attributes.over(block.view, block.at, block.length);
  const { bytes, view } = block;
  let first = true;
  while (cursor.next()) {
    const { valueAt: at, valueLength: length } = cursor;
    // The widest: ten digits and quotes for two bytes of a community, 20 digits for an AIGP.
    w.ensure(length * 14 + 96);
    if (cursor.code === code.AS4_PATH && !reader.asn4) continue;
    if (!first) w.byte(COMMA);
    first = false;
    switch (cursor.code) {
      case code.ORIGIN:
        w.constant(ORIGINS[view.getUint8(at)]!);
        break;
      case code.AS_PATH:
        w.constant(KEY.asPath);
        writePath(w, reader, view, at, length);
        w.byte(CLOSE_LIST);
        break;
      case code.NEXT_HOP:
        w.constant(KEY.nextHop);
        w.length = writeIpv4(w.bytes, w.length, bytes, at);
        w.quote();
        break;
      case code.MULTI_EXIT_DISC:
        w.constant(KEY.med);
        w.length = writeU32Text(w.bytes, w.length, view.getUint32(at));
        break;
      case code.LOCAL_PREF:
        w.constant(KEY.localPreference);
        w.length = writeU32Text(w.bytes, w.length, view.getUint32(at));
        break;
      case code.COMMUNITIES:
        w.constant(KEY.communities);
        writeParts(w, view, at, length, 4, true);
        w.byte(CLOSE_LIST);
        break;
      case code.LARGE_COMMUNITIES:
        w.constant(KEY.large);
        writeParts(w, view, at, length, 12, true);
        w.byte(CLOSE_LIST);
        break;
      case code.EXTENDED_COMMUNITIES:
        w.constant(KEY.extended);
        for (let i = at; i < at + length; i += 8) {
          if (i > at) w.byte(COMMA);
          w.quote();
          w.safe(formatExtendedCommunity(view, i));
          w.quote();
        }
        w.byte(CLOSE_LIST);
        break;
      case code.IPV6_EXTENDED_COMMUNITIES:
        w.constant(KEY.ipv6Extended);
        for (let i = at; i < at + length; i += 20) {
          if (i > at) w.byte(COMMA);
          w.quote();
          w.hex(bytes, i, 20);
          w.quote();
        }
        w.byte(CLOSE_LIST);
        break;
      case code.AIGP:
        writeAigp(w, view, bytes, at, length);
        break;
      case code.PREFIX_SID:
        w.constant(KEY.prefixSid);
        w.hex(bytes, at, length);
        w.quote();
        break;
      default:
        writeOther(w, cursor.code, bytes, at, length);
    }
  }
}

function writeOther(w: ByteWriter, number: number, bytes: Uint8Array, at: number, length: number): void {
  w.constant(KEY.other);
  w.length = writeU32Text(w.bytes, w.length, number);
  w.constant(KEY.value);
  w.hex(bytes, at, length);
  w.quote();
}

/** The metric of the first TLV (RFC 7311 §3), exact beyond 2^53; any other content as hex. */
function writeAigp(w: ByteWriter, view: DataView, bytes: Uint8Array, at: number, length: number): void {
  if (length < 11 || view.getUint8(at) !== 1 || view.getUint16(at + 1) !== 11) {
    writeOther(w, code.AIGP, bytes, at, length);
    return;
  }
  w.constant(KEY.aigp);
  w.safe(view.getBigUint64(at + 3).toString());
}

/** `"a:b"` of 16-bit parts when `size` is 4, `"a:b:c"` of 32-bit parts when it is 12, separated by commas. */
export function writeParts(w: ByteWriter, view: DataView, at: number, length: number, size: 4 | 12, quoted: boolean): void {
  const out = w.bytes;
  for (let i = at, end = at + length; i < end; i += size) {
    if (i > at) w.byte(COMMA);
    if (quoted) w.quote();
    let to = w.length;
    if (size === 4) {
      to = writeU32Text(out, to, view.getUint16(i));
      out[to++] = COLON;
      to = writeU32Text(out, to, view.getUint16(i + 2));
    } else {
      to = writeU32Text(out, to, view.getUint32(i));
      out[to++] = COLON;
      to = writeU32Text(out, to, view.getUint32(i + 4));
      out[to++] = COLON;
      to = writeU32Text(out, to, view.getUint32(i + 8));
    }
    w.length = to;
    if (quoted) w.quote();
  }
}

/**
 * The AS numbers of every segment in order, separated by commas. In a two-octet session the path is completed from AS4_PATH: as many
 * leading numbers as the AS_PATH is longer, then the AS4_PATH (RFC 6793 §4.2.3).
 */
export function writePath(w: ByteWriter, reader: UpdateReader, view: DataView, at: number, length: number): void {
  if (reader.asn4) {
    writeSegments(w, view, at, length, 4, Number.MAX_SAFE_INTEGER);
    return;
  }
  const as4 = findAs4Path(reader);
  const size = as4 === undefined ? 0 : countNumbers(view, as4.at, as4.length, 4);
  const own = countNumbers(view, at, length, 2);
  if (as4 === undefined || size > own) {
    writeSegments(w, view, at, length, 2, Number.MAX_SAFE_INTEGER);
    return;
  }
  w.ensure((length + as4.length) * 6);
  if (writeSegments(w, view, at, length, 2, own - size) > 0 && size > 0) w.byte(COMMA);
  writeSegments(w, view, as4.at, as4.length, 4, Number.MAX_SAFE_INTEGER);
}

/** Looked up by hand: the reader's own cursor stands on the AS_PATH. */
function findAs4Path(reader: UpdateReader): { readonly at: number; readonly length: number } | undefined {
  const { block } = reader.update;
  const { view } = block;
  for (let at = block.at, end = block.at + block.length; at < end; ) {
    const head = (view.getUint8(at) & code.EXTENDED_LENGTH) !== 0 ? 4 : 3;
    const length = head === 4 ? view.getUint16(at + 2) : view.getUint8(at + 2);
    if (view.getUint8(at + 1) === code.AS4_PATH) return { at: at + head, length };
    at += head + length;
  }
  return undefined;
}

function countNumbers(view: DataView, at: number, length: number, size: 2 | 4): number {
  let count = 0;
  for (let i = at, end = at + length; i < end; ) {
    const numbers = view.getUint8(i + 1);
    count += numbers;
    i += 2 + numbers * size;
  }
  return count;
}

/** Writes at most `limit` numbers; returns how many. */
function writeSegments(w: ByteWriter, view: DataView, at: number, length: number, size: 2 | 4, limit: number): number {
  const out = w.bytes;
  let to = w.length;
  let written = 0;
  for (let i = at, end = at + length; i < end; ) {
    const next = i + 2 + view.getUint8(i + 1) * size;
    for (let k = i + 2; k < next && written < limit; k += size) {
      if (written++ > 0) out[to++] = COMMA;
      to = writeU32Text(out, to, size === 4 ? view.getUint32(k) : view.getUint16(k));
    }
    i = next;
  }
  w.length = to;
  return written;
}
