/**
 * Events as JSON bytes (events.md §1–§5): the shared part, without the last brace, so that each stream can close it with its own
 * `meta`. What a row holds is all it needs; free text is escaped wherever it goes.
 */
import { familyName, familyOf, IPV4_UNICAST } from '../../sdk/wire/family.ts';
import { notificationCodeName, notificationSubcodeName } from '../../sdk/wire/notification.ts';
import { refreshName } from '../../sdk/wire/refresh.ts';
import type { EventRow, NegotiatedSnapshot, PeerIdentity } from '../bgp/port.ts';
import type { ByteWriter, Constant } from './byte-writer.ts';
import { constant, neutral } from './byte-writer.ts';
import type { EventFormat } from './event-format.ts';
import { readOpen } from './open-reader.ts';
import type { UpdateReader } from './update-reader.ts';
import type { UpdateJson } from './update-json.ts';

const BRACE = 0x7d;

const TEXT = {
  id: constant(',"id":'),
  received: constant(',"direction":"received"'),
  sent: constant(',"direction":"sent"'),
  update: constant(',"update":{'),
  noRoutes: constant(',"nlri":{}'),
  raw: constant(',"raw":{'),
  rawUpdate: constant('"update":"'),
  hexEnd: constant('"}'),
  keepalive: constant(',"keepalive":{}'),
} as const;

/** `},"peer":{…}` of every peer, in both forms, made when it is first needed and again when the peer is another. */
class PeerBlocks {
  readonly #blocks: ({ readonly peer: PeerIdentity; readonly text: Constant } | undefined)[] = [];

  of(peer: PeerIdentity): Constant {
    const known = this.#blocks[peer.index];
    if (known?.peer === peer) return known.text;
    const text = constant(`},"peer":${neutral(JSON.stringify(peerObject(peer)))}`);
    this.#blocks[peer.index] = { peer, text };
    return text;
  }
}

/** The peer object (events.md §2). */
export function peerObject(peer: PeerIdentity): Record<string, unknown> {
  const local = {
    ...(peer.localAddress === '' ? {} : { address: peer.localAddress }),
    ...(peer.localAs > 0 ? { as: peer.localAs } : {}),
  };
  return {
    remote: { address: peer.remoteAddress, as: peer.remoteAs },
    address: peer.remoteAddress,
    ...(Object.keys(local).length > 0 ? { local } : {}),
    name: peer.name,
    ...(peer.group === '' ? {} : { group: peer.group }),
  };
}

export class EventJson {
  readonly #update: UpdateJson;
  readonly #peers = new PeerBlocks();
  readonly #heads = new Map<string, Constant>();

  constructor(update: UpdateJson) {
    this.#update = update;
  }

  /** Writes the event of the row. `reader` stands on the row's body when it is an UPDATE. */
  write(w: ByteWriter, row: EventRow, peer: PeerIdentity, reader: UpdateReader, format: EventFormat): void {
    switch (row.kind) {
      case 'update':
        this.#writeUpdate(w, row, peer, reader, format);
        break;
      case 'keepalive':
        this.#head(w, 'keepalive', row, peer);
        w.constant(TEXT.keepalive);
        break;
      case 'open':
      case 'notification':
      case 'refresh':
      case 'state':
      case 'negotiated':
      case 'eor':
      case 'congested':
      case 'resumed':
        this.#writeMembers(w, row, peer);
        break;
      case 'none':
        break;
    }
    w.byte(BRACE);
  }

  #writeUpdate(w: ByteWriter, row: EventRow, peer: PeerIdentity, reader: UpdateReader, format: EventFormat): void {
    const type = row.direction === 'sent' ? 'sent' : 'update';
    if (format === 'raw') {
      this.#head(w, type, row, peer, -1);
      this.#writeRaw(w, row);
      return;
    }
    if (format === 'summary') {
      this.#head(w, type, row, peer, row.messageId);
      w.members({ nlri: summary(reader) });
      return;
    }
    this.#head(w, type, row, peer);
    if (reader.unreadable) {
      w.constant(TEXT.noRoutes);
      if (format === 'full') this.#writeRaw(w, row);
      return;
    }
    w.constant(TEXT.update);
    this.#update.writeParsed(w, reader);
    w.byte(BRACE);
    if (format === 'full') this.#writeFull(w, row, reader);
  }

  #writeRaw(w: ByteWriter, row: EventRow): void {
    w.constant(TEXT.raw);
    w.constant(TEXT.rawUpdate);
    w.hex(row.bytes, row.bytesAt, row.bytesLength);
    w.constant(TEXT.hexEnd);
  }

  /** The `raw` object of the full format: parts as hex, then the whole body. */
  #writeFull(w: ByteWriter, row: EventRow, reader: UpdateReader): void {
    const { update } = reader;
    const hex = (bytes: Uint8Array, at: number, length: number): string =>
      Buffer.from(bytes.buffer, bytes.byteOffset + at, length).toString('hex');
    const parts: Record<string, unknown> = {};
    if (update.block.length > 0) parts['attributes'] = hex(update.block.bytes, update.block.at, update.block.length);
    const announced: Record<string, string> = {};
    const withdrawn: Record<string, string> = {};
    const addPath: Record<string, true> = {};
    const put = (into: Record<string, string>, family: number, at: number, length: number): void => {
      const name = familyName(family);
      into[name] = (into[name] ?? '') + hex(reader.bytes, at, length);
      if (reader.addPath(family)) addPath[name] = true;
    };
    if (update.nlriLength > 0) put(announced, IPV4_UNICAST, update.nlriAt, update.nlriLength);
    if (update.reachLength > 0) put(announced, update.reachFamily, update.reachAt, update.reachLength);
    if (update.withdrawnLength > 0) put(withdrawn, IPV4_UNICAST, update.withdrawnAt, update.withdrawnLength);
    if (update.unreachLength > 0) put(withdrawn, update.unreachFamily, update.unreachAt, update.unreachLength);
    if (Object.keys(announced).length > 0) parts['nlri'] = announced;
    if (Object.keys(withdrawn).length > 0) parts['withdrawn'] = withdrawn;
    if (Object.keys(addPath).length > 0) parts['add-path'] = addPath;
    parts['update'] = hex(row.bytes, row.bytesAt, row.bytesLength);
    w.members({ raw: parts });
  }

  /** Events that are few: their members as an object, written at once. */
  #writeMembers(w: ByteWriter, row: EventRow, peer: PeerIdentity): void {
    const type = messageType(row);
    const bare =
      row.kind === 'state' ||
      row.kind === 'negotiated' ||
      row.kind === 'eor' ||
      row.kind === 'congested' ||
      row.kind === 'resumed';
    this.#head(w, type, row, peer, bare ? -1 : row.messageId > 0 ? row.messageId : -1, bare);
    w.members(eventMembers(row, type));
  }

  /** `{"type":"bgp","bgp":{"message":{…},"peer":{…}`. An id below 0 is not written, nor is the direction of a bare event. */
  #head(
    w: ByteWriter,
    type: string,
    row: EventRow,
    peer: PeerIdentity,
    id = row.messageId > 0 ? row.messageId : -1,
    bare = false,
  ): void {
    let head = this.#heads.get(type);
    if (head === undefined) {
      head = constant(`{"type":"bgp","bgp":{"message":{"type":"${type}"`);
      if (this.#heads.size < 512) this.#heads.set(type, head);
    }
    w.constant(head);
    if (id >= 0) {
      w.constant(TEXT.id);
      w.decimal(id);
    }
    if (!bare && row.direction === 'received') w.constant(TEXT.received);
    else if (!bare && row.direction === 'sent') w.constant(TEXT.sent);
    w.constant(this.#peers.of(peer));
  }
}

/** `message.type`, and the payload's key. */
export function messageType(row: EventRow): string {
  if (row.kind !== 'refresh') return row.kind;
  const subtype = row.bytesLength >= 3 ? row.bytes[row.bytesAt + 2]! : 0;
  return refreshName(subtype);
}

function eventMembers(row: EventRow, type: string): Record<string, unknown> {
  switch (row.kind) {
    case 'state':
      return {
        state: row.state,
        ...(row.state === 'down' && row.reason !== '' ? { reason: row.reason } : {}),
        ...(row.initialReplay === 0 ? {} : { 'initial-replay': String(row.initialReplay) }),
        ...(row.unheldRoles === undefined ? {} : { 'unheld-roles': row.unheldRoles }),
      };
    case 'eor':
      return { eor: { family: familyName(row.family) } };
    case 'negotiated':
      return { negotiated: negotiatedMembers(row.negotiated) };
    case 'refresh':
      return { [type]: refreshMembers(row) };
    case 'notification':
      return { notification: notificationMembers(row) };
    case 'open':
      return { open: openMembers(row.bytes, row.bytesAt, row.bytesLength) };
    case 'none':
    case 'update':
    case 'keepalive':
    case 'congested':
    case 'resumed':
      return {};
  }
}

/** The `open` object: `timer.hold-time` and the flat spelling both. */
export function openMembers(bytes: Uint8Array, at: number, length: number): Record<string, unknown> {
  const open = readOpen(bytes, at, length);
  if (open === undefined) return {};
  return {
    asn: open.asn,
    'router-id': open.routerId,
    'hold-time': open.holdTimeSeconds,
    timer: { 'hold-time': open.holdTimeSeconds },
    capabilities: open.capabilities,
  };
}

function negotiatedMembers(snapshot: NegotiatedSnapshot | undefined): Record<string, unknown> {
  if (snapshot === undefined) return {};
  const addPath = {
    ...(snapshot.addPathSend.length > 0 ? { send: snapshot.addPathSend } : {}),
    ...(snapshot.addPathReceive.length > 0 ? { receive: snapshot.addPathReceive } : {}),
  };
  return {
    'hold-time': snapshot.holdTimeSeconds,
    timer: { 'hold-time': snapshot.holdTimeSeconds },
    asn4: snapshot.asn4,
    families: snapshot.families,
    ...(Object.keys(addPath).length > 0 ? { 'add-path': addPath } : {}),
  };
}

function refreshMembers(row: EventRow): Record<string, unknown> {
  if (row.bytesLength < 4) return {};
  const { bytes, bytesAt: at } = row;
  const [afi, safi] = familyName(familyOf((bytes[at]! << 8) | bytes[at + 1]!, bytes[at + 3]!)).split('/');
  return { afi, safi };
}

function notificationMembers(row: EventRow): Record<string, unknown> {
  const { bytes, bytesAt: at, bytesLength: length } = row;
  const code = length > 0 ? bytes[at]! : 0;
  const subcode = length > 1 ? bytes[at + 1]! : 0;
  const name = notificationCodeName(code);
  return {
    code,
    subcode,
    data: length > 2 ? Buffer.from(bytes.buffer, bytes.byteOffset + at + 2, length - 2).toString('hex') : '',
    ...(name === undefined ? {} : { 'code-name': name, 'subcode-name': notificationSubcodeName(code, subcode) }),
  };
}

/** The `summary` format: which fields hold something. */
function summary(reader: UpdateReader): Record<string, unknown> {
  return {
    announce: reader.classicAnnounced,
    withdrawn: reader.classicWithdrawn,
    'mp-reach': reader.reachFamily === 0 ? '' : familyName(reader.reachFamily),
    'mp-unreach': reader.unreachFamily === 0 ? '' : familyName(reader.unreachFamily),
  };
}
