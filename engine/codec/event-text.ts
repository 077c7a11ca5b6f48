/**
 * The text encoding (events.md §7): one line an event, words separated by blanks, ending in LF. Text chosen by a peer is made
 * printable, so that it can neither end the line nor move a terminal's cursor.
 */
import * as code from '../../sdk/wire/attribute/code.ts';
import { familyName, familyOf, IPV4_UNICAST } from '../../sdk/wire/family.ts';
import { formatAddress, formatPrefix } from '../../sdk/wire/address.ts';
import { PrefixCursor } from '../../sdk/wire/nlri/prefix.ts';
import { notificationCodeName, notificationSubcodeName } from '../../sdk/wire/notification.ts';
import { printable } from '../../sdk/wire/utf8.ts';
import type { EventRow, PeerIdentity } from '../bgp/port.ts';
import { writeParts, writePath } from './attribute-json.ts';
import { ByteWriter } from './byte-writer.ts';
import type { EventFormat } from './event-format.ts';
import { messageType } from './event-json.ts';
import { readOpen } from './open-reader.ts';
import type { UpdateJson } from './update-json.ts';
import type { UpdateReader } from './update-reader.ts';

export class EventLines {
  readonly #lists = new ByteWriter(4096);
  readonly #prefixes = new PrefixCursor();
  #answers: UpdateJson | undefined = undefined;

  /** The event's line with its LF; undefined for `negotiated`, which is JSON even here. */
  line(row: EventRow, peer: PeerIdentity, reader: UpdateReader, format: EventFormat, json: UpdateJson): string | undefined {
    this.#answers = json;
    const from = `peer ${peer.remoteAddress} remote as ${peer.remoteAs}`;
    const message = `${from} ${row.direction} ${messageType(row)} ${row.messageId}`;
    switch (row.kind) {
      case 'update':
        return this.#update(row, peer, reader, format);
      case 'open':
        return `${message}${openWords(row)}\n`;
      case 'notification':
        return `${message}${notificationWords(row)}\n`;
      case 'keepalive':
        return `${message}\n`;
      case 'refresh':
        return `${message} family ${refreshFamily(row)}\n`;
      case 'state':
        return `${from} state ${row.state}${row.state === 'down' && row.reason !== '' ? ` reason ${lineText(row.reason)}` : ''}\n`;
      case 'eor':
        return `${from} eor ${familyName(row.family)}\n`;
      case 'congested':
      case 'resumed':
        return `${from} ${row.kind}\n`;
      case 'negotiated':
      case 'none':
        return undefined;
    }
  }

  #update(row: EventRow, peer: PeerIdentity, reader: UpdateReader, format: EventFormat): string {
    const raw = (): string =>
      `peer ${peer.remoteAddress} ${row.direction} update raw ${Buffer.from(row.bytes.buffer, row.bytes.byteOffset + row.bytesAt, row.bytesLength).toString('hex')}\n`;
    if (format === 'raw') return raw();
    if (reader.unreadable) return `peer ${peer.remoteAddress} update\n${format === 'full' ? raw() : ''}`;
    const head = `peer ${peer.remoteAddress} remote as ${peer.remoteAs} ${row.direction} update ${row.messageId}`;
    const line = `${head}${reader.withdraws ? '' : this.#attributes(reader)}${this.#routes(reader)}\n`;
    return format === 'full' ? line + raw() : line;
  }

  #attributes(reader: UpdateReader): string {
    const { block } = reader.update;
    const cursor = reader.attributes.over(block.view, block.at, block.length);
    const { view, bytes } = block;
    let text = '';
    while (cursor.next()) {
      const { valueAt: at, valueLength: length } = cursor;
      switch (cursor.code) {
        case code.ORIGIN:
          text += ` origin ${['igp', 'egp', 'incomplete'][view.getUint8(at)] ?? ''}`;
          break;
        case code.AS_PATH:
          text += ` path ${this.#list(length, (w) => writePath(w, reader, view, at, length))}`;
          break;
        case code.AS4_PATH:
        case code.NEXT_HOP:
          // The path is complete already; the next hop stands before its family.
          break;
        case code.MULTI_EXIT_DISC:
          text += ` med ${view.getUint32(at)}`;
          break;
        case code.LOCAL_PREF:
          text += ` pref ${view.getUint32(at)}`;
          break;
        case code.COMMUNITIES:
          text += ` s-com ${this.#list(length, (w) => writeParts(w, view, at, length, 4, false))}`;
          break;
        case code.LARGE_COMMUNITIES:
          text += ` l-com ${this.#list(length, (w) => writeParts(w, view, at, length, 12, false))}`;
          break;
        case code.EXTENDED_COMMUNITIES: {
          const values: string[] = [];
          for (let i = at; i < at + length; i += 8) values.push(hexOf(bytes, i, 8));
          text += ` x-com ${values.join(',')}`;
          break;
        }
        default:
          text += ` attr-${cursor.code} ${hexOf(bytes, at, length)}`;
      }
    }
    return text;
  }

  #routes(reader: UpdateReader): string {
    const { update } = reader;
    let text = '';
    const verb = reader.withdraws ? 'del' : 'add';
    if (update.nlriLength > 0) {
      const { block } = update;
      if (!reader.withdraws && reader.find(code.NEXT_HOP))
        text += ` next ${formatAddress(block.bytes, reader.attributes.valueAt, 4) ?? ''}`;
      text += ` nlri ipv4/unicast ${verb} ${this.#nlri(reader, IPV4_UNICAST, update.nlriAt, update.nlriLength)}`;
    }
    if (update.reachLength > 0) {
      const next = nextHopText(reader.bytes, update.reachNextHopAt, update.reachUsableNextHopAt, update.reachNextHopLength);
      if (!reader.withdraws && next !== undefined) text += ` next ${next}`;
      text += ` nlri ${familyName(update.reachFamily)} ${verb} ${this.#nlri(reader, update.reachFamily, update.reachAt, update.reachLength)}`;
    }
    if (update.withdrawnLength > 0) {
      text += ` nlri ipv4/unicast del ${this.#nlri(reader, IPV4_UNICAST, update.withdrawnAt, update.withdrawnLength)}`;
    }
    if (update.unreachLength > 0) {
      text += ` nlri ${familyName(update.unreachFamily)} del ${this.#nlri(reader, update.unreachFamily, update.unreachAt, update.unreachLength)}`;
    }
    return text;
  }

  /** Bare CIDRs joined by commas, path ids are not shown; other NLRI as their plugin reads them, else as hex. */
  #nlri(reader: UpdateReader, family: number, at: number, length: number): string {
    const afi = family >>> 8;
    const safi = family & 0xff;
    if (!((afi === 1 || afi === 2) && (safi === 1 || safi === 2))) {
      const answer = this.#answers?.answer(at);
      return answer?.ok === true ? answer.value.map(valueText).join(' ') : hexOf(reader.bytes, at, length);
    }
    const cursor = this.#prefixes.over(reader.view, at, length, afi === 1 ? 32 : 128, reader.addPath(family));
    let text = '';
    while (cursor.next()) {
      const prefix = formatPrefix(reader.bytes, cursor.prefixAt, cursor.lengthBits, afi === 1 ? 4 : 16);
      text += text === '' ? prefix : `,${prefix}`;
    }
    return text;
  }

  #list(length: number, write: (w: ByteWriter) => void): string {
    const w = this.#lists;
    w.length = 0;
    w.ensure(length * 14 + 96);
    write(w);
    return w.text(0, w.length);
  }
}

/** The address of an MP next hop, behind the route distinguisher of VPN families; undefined when it holds none. */
export function nextHopText(bytes: Uint8Array, at: number, usableAt: number, length: number): string | undefined {
  if (length === 12) return formatAddress(bytes, at + 8, 4);
  if (length === 24 || length === 48) return formatAddress(bytes, at + 8, 16);
  return formatAddress(bytes, usableAt, length === 32 ? 16 : length);
}

/** A plugin's value as one word of a line. */
function valueText(value: unknown): string {
  const text = typeof value === 'string' && !/\s/.test(value) ? value : JSON.stringify(value);
  return lineText(text);
}

/** Text of a stranger as part of a line; a lone surrogate has no bytes of its own. */
function lineText(text: string): string {
  return printable(text).replace(/\p{Surrogate}/gu, '\ufffd');
}

function openWords(row: EventRow): string {
  const open = readOpen(row.bytes, row.bytesAt, row.bytesLength);
  if (open === undefined) return '';
  const capabilities = open.capabilities.map(
    (one) => ` cap ${one.code} ${one.name}${one.value === undefined ? '' : ` ${one.value}`}`,
  );
  return ` router-id ${open.routerId} hold-time ${open.holdTimeSeconds}${capabilities.join('')}`;
}

function notificationWords(row: EventRow): string {
  const number = row.bytesLength > 0 ? row.bytes[row.bytesAt]! : 0;
  const subcode = row.bytesLength > 1 ? row.bytes[row.bytesAt + 1]! : 0;
  const hyphenated = (name: string): string => name.replaceAll(' ', '-');
  const name = notificationCodeName(number);
  const data = row.bytesLength > 2 ? hexOf(row.bytes, row.bytesAt + 2, row.bytesLength - 2) : '';
  const named =
    name === undefined
      ? ''
      : ` code-name ${hyphenated(name)} subcode-name ${hyphenated(notificationSubcodeName(number, subcode))}`;
  return ` code ${number} subcode ${subcode}${named} data${data === '' ? '' : ` ${data}`}`;
}

function refreshFamily(row: EventRow): string {
  if (row.bytesLength < 4) return 'unknown';
  const { bytes, bytesAt: at } = row;
  return familyName(familyOf((bytes[at]! << 8) | bytes[at + 1]!, bytes[at + 3]!));
}

function hexOf(bytes: Uint8Array, at: number, length: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + at, length).toString('hex');
}
