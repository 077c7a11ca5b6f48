/**
 * Structured batches for plugins in this process: rows in columns, bodies in one buffer, nothing per row for the collector. A
 * batch belongs to one process, is filled while the sink is called and given back to a pool when the handler has returned.
 */
import type { PeerDirectory, StructuredBatch } from '../../sdk/plugin/structured.ts';
import type { EventKind, EventRow } from '../bgp/port.ts';

/** Kinds that arrive structured; the others arrive as text (events.md §8). Numbers of STRUCTURED_KIND. */
export const STRUCTURED_NUMBER: Readonly<Partial<Record<EventKind, number>>> = {
  update: 1,
  open: 2,
  notification: 3,
  keepalive: 4,
  refresh: 5,
  state: 6,
};

export const STRUCTURED_ROWS = 1024;
const STRUCTURED_BYTES = 256 * 1024;
const ROW_OVERHEAD = 32;
const NO_ROLES: readonly string[] = [];

export class StructuredRows implements StructuredBatch {
  readonly form = 'rows';
  count = 0;
  bytes: Uint8Array = new Uint8Array(16 * 1024);
  view: DataView = new DataView(this.bytes.buffer);
  readonly peers: PeerDirectory;
  #used = 0;
  readonly #kind = new Uint8Array(STRUCTURED_ROWS);
  readonly #peer = new Uint32Array(STRUCTURED_ROWS);
  readonly #direction = new Uint8Array(STRUCTURED_ROWS);
  readonly #id = new Float64Array(STRUCTURED_ROWS);
  readonly #at = new Uint32Array(STRUCTURED_ROWS);
  readonly #length = new Uint32Array(STRUCTURED_ROWS);
  readonly #flags = new Uint8Array(STRUCTURED_ROWS);
  readonly #addPath: (readonly number[])[] = [];
  readonly #reason: string[] = [];
  readonly #initialReplay = new Uint32Array(STRUCTURED_ROWS);
  readonly #unheldRoles: (readonly string[])[] = [];

  constructor(peers: PeerDirectory) {
    this.peers = peers;
  }

  get size(): number {
    return this.#used + this.count * ROW_OVERHEAD;
  }

  hasRoom(length: number): boolean {
    return this.count < STRUCTURED_ROWS && (this.#used + length <= STRUCTURED_BYTES || this.count === 0);
  }

  append(row: EventRow, kind: number): void {
    const length = row.bytesLength;
    if (this.#used + length > this.bytes.length) this.#grow(this.#used + length);
    const at = this.#used;
    const to = this.bytes;
    if (length > 48) to.set(row.bytes.subarray(row.bytesAt, row.bytesAt + length), at);
    else for (let i = 0; i < length; i++) to[at + i] = row.bytes[row.bytesAt + i]!;
    this.#used = at + length;
    const n = this.count++;
    this.#kind[n] = kind;
    this.#peer[n] = row.peer;
    this.#direction[n] = row.direction === 'received' ? 1 : row.direction === 'sent' ? 2 : 0;
    this.#id[n] = row.messageId;
    this.#at[n] = at;
    this.#length[n] = length;
    this.#flags[n] = (row.asn4 ? 1 : 0) | (row.state === 'up' ? 2 : 0);
    this.#addPath[n] = row.addPath;
    this.#reason[n] = row.reason;
    this.#initialReplay[n] = row.initialReplay;
    this.#unheldRoles[n] = row.unheldRoles ?? NO_ROLES;
  }

  #grow(least: number): void {
    let capacity = this.bytes.length * 2;
    while (capacity < least) capacity *= 2;
    const next = new Uint8Array(capacity);
    next.set(this.bytes.subarray(0, this.#used));
    this.bytes = next;
    this.view = new DataView(next.buffer);
  }

  reset(): void {
    this.count = 0;
    this.#used = 0;
    this.#addPath.length = 0;
    this.#reason.length = 0;
    this.#unheldRoles.length = 0;
  }

  kind(row: number): number {
    return this.#kind[row]!;
  }

  peer(row: number): number {
    return this.#peer[row]!;
  }

  direction(row: number): number {
    return this.#direction[row]!;
  }

  messageId(row: number): number {
    return this.#id[row]!;
  }

  at(row: number): number {
    return this.#at[row]!;
  }

  length(row: number): number {
    return this.#length[row]!;
  }

  asn4(row: number): boolean {
    return (this.#flags[row]! & 1) !== 0;
  }

  addPath(row: number, family: number): boolean {
    return this.#addPath[row]!.includes(family);
  }

  up(row: number): boolean {
    return (this.#flags[row]! & 2) !== 0;
  }

  reason(row: number): string {
    return this.#reason[row]!;
  }

  initialReplay(row: number): number {
    return this.#initialReplay[row]!;
  }

  unheldRoles(row: number): readonly string[] {
    return this.#unheldRoles[row]!;
  }
}

/** Batches that wait to be filled again; at most `kept` of them. */
export class StructuredPool {
  readonly #free: StructuredRows[] = [];
  readonly #peers: PeerDirectory;
  readonly #kept: number;

  constructor(peers: PeerDirectory, kept = 8) {
    this.#peers = peers;
    this.#kept = kept;
  }

  take(): StructuredRows {
    return this.#free.pop() ?? new StructuredRows(this.#peers);
  }

  give(rows: StructuredRows): void {
    if (this.#free.length >= this.#kept || rows.bytes.length > 2 * STRUCTURED_BYTES) return;
    rows.reset();
    this.#free.push(rows);
  }
}
