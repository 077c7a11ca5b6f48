/**
 * Structured rows from event texts, for a plugin that runs outside the engine: the same `StructuredBatch` and
 * `PeerDirectory` an in-process plugin reads, filled from events in the `raw` (or `full`) format.
 *
 * Peers get their numbers in the order they are first seen. Whether AS numbers have four octets and which families carry
 * path ids is learnt from `negotiated` events; before one is seen: four octets, no path ids. Raw events carry no message id.
 */
import { parseFamily } from '../wire/family.ts';
import { type PeerDirectory, STRUCTURED_KIND, type StructuredBatch } from './structured.ts';

/** Peers remembered; past it the oldest number is reused for nobody: later peers share the last one. */
const MAX_PEERS = 65_536;

interface Peer {
  readonly name: string;
  readonly address: string;
  readonly remoteAs: number;
  readonly localAs: number;
  readonly group: string;
  asn4: boolean;
  received: ReadonlySet<number>;
  sent: ReadonlySet<number>;
}

export class ObservedPeers implements PeerDirectory {
  readonly #byKey = new Map<string, number>();
  readonly #peers: Peer[] = [];

  get capacity(): number {
    return this.#peers.length;
  }

  /** The number of the peer an event's `peer` object names. */
  see(block: unknown): number {
    const peer = peerOf(block);
    const key = `${peer.name} ${peer.address}`;
    const known = this.#byKey.get(key);
    if (known !== undefined) {
      const before = this.#peers[known]!;
      this.#peers[known] = { ...peer, asn4: before.asn4, received: before.received, sent: before.sent };
      return known;
    }
    if (this.#peers.length >= MAX_PEERS) return MAX_PEERS - 1;
    this.#byKey.set(key, this.#peers.length);
    return this.#peers.push(peer) - 1;
  }

  /** A directory of the one peer of an event's `peer` object; nothing is remembered. */
  only(block: unknown): PeerDirectory {
    return new OnePeer(peerOf(block));
  }

  negotiated(index: number, value: unknown): void {
    const peer = this.#peers[index];
    if (peer === undefined) return;
    peer.asn4 = member(value, 'asn4') !== false;
    const addPath = member(value, 'add-path');
    peer.received = families(member(addPath, 'receive'));
    peer.sent = families(member(addPath, 'send'));
  }

  asn4(index: number): boolean {
    return this.#peers[index]?.asn4 ?? true;
  }

  addPath(index: number, direction: number, family: number): boolean {
    const peer = this.#peers[index];
    return (direction === 2 ? peer?.sent : peer?.received)?.has(family) ?? false;
  }

  name(index: number): string {
    return this.#peers[index]?.name ?? '';
  }

  address(index: number): string {
    return this.#peers[index]?.address ?? '';
  }

  remoteAs(index: number): number {
    return this.#peers[index]?.remoteAs ?? 0;
  }

  localAs(index: number): number {
    return this.#peers[index]?.localAs ?? 0;
  }

  group(index: number): string {
    return this.#peers[index]?.group ?? '';
  }
}

/** One row, reused from event to event. */
export class ObservedEvent implements StructuredBatch {
  readonly count = 1;
  readonly peers: ObservedPeers;
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(this.bytes.buffer);
  #kind = 0;
  #peer = 0;
  #direction = 0;
  #messageId = 0;
  #up = false;
  #reason = '';
  #initialReplay = 0;
  #unheldRoles: readonly string[] = NO_ROLES;

  constructor(peers: ObservedPeers) {
    this.peers = peers;
  }

  /** Takes an event's `bgp` object. `false` = it is no update with bytes and no state change, and there is no row to read. */
  load(bgp: unknown): boolean {
    const message = member(bgp, 'message');
    const type = text(member(message, 'type'));
    this.#peer = this.peers.see(member(bgp, 'peer'));
    this.#direction = DIRECTIONS[text(member(message, 'direction'))] ?? 0;
    this.#messageId = number(member(message, 'id'));
    if (type === 'negotiated') {
      this.peers.negotiated(this.#peer, member(bgp, 'negotiated'));
      return false;
    }
    if (type === 'state') {
      this.#kind = STRUCTURED_KIND.state;
      this.#up = member(bgp, 'state') === 'up';
      this.#reason = text(member(bgp, 'reason'));
      this.#initialReplay = Number(text(member(bgp, 'initial-replay')));
      const roles = member(bgp, 'unheld-roles');
      this.#unheldRoles = Array.isArray(roles) ? roles.map(text) : NO_ROLES;
      this.#body('');
      return true;
    }
    const hex = text(member(member(bgp, 'raw'), 'update'));
    if (hex === '' || (type !== 'update' && type !== 'sent')) return false;
    this.#kind = STRUCTURED_KIND.update;
    this.#body(hex);
    return true;
  }

  #body(hex: string): void {
    const bytes = Buffer.from(hex, 'hex');
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  kind(): number {
    return this.#kind;
  }

  peer(): number {
    return this.#peer;
  }

  direction(): number {
    return this.#direction;
  }

  messageId(): number {
    return this.#messageId;
  }

  at(): number {
    return 0;
  }

  length(): number {
    return this.bytes.length;
  }

  asn4(): boolean {
    return this.peers.asn4(this.#peer);
  }

  addPath(row: number, family: number): boolean {
    return row < this.count && this.peers.addPath(this.#peer, this.#direction, family);
  }

  up(): boolean {
    return this.#up;
  }

  reason(): string {
    return this.#reason;
  }

  initialReplay(): number {
    return this.#initialReplay;
  }

  unheldRoles(): readonly string[] {
    return this.#unheldRoles;
  }
}

function peerOf(block: unknown): Peer {
  const remote = member(block, 'remote');
  const address = text(member(remote, 'address')) || text(member(block, 'address'));
  return {
    name: text(member(block, 'name')) || address,
    address,
    remoteAs: number(member(remote, 'as')),
    localAs: number(member(member(block, 'local'), 'as')),
    group: text(member(block, 'group')),
    asn4: true,
    received: NONE,
    sent: NONE,
  };
}

class OnePeer implements PeerDirectory {
  readonly capacity = 1;
  readonly #peer: Peer;

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  name(): string {
    return this.#peer.name;
  }

  address(): string {
    return this.#peer.address;
  }

  remoteAs(): number {
    return this.#peer.remoteAs;
  }

  localAs(): number {
    return this.#peer.localAs;
  }

  group(): string {
    return this.#peer.group;
  }
}

const NO_ROLES: readonly string[] = [];
const NONE: ReadonlySet<number> = new Set();
const DIRECTIONS: Readonly<Record<string, number>> = { received: 1, sent: 2 };

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function families(value: unknown): ReadonlySet<number> {
  return new Set(Array.isArray(value) ? value.map((name) => parseFamily(text(name))) : []);
}
