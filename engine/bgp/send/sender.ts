/** What leaves for one peer on its session: through the line of its export filters where it has any, else straight to the socket. */
import { HEADER_LENGTH } from '../../../sdk/wire/message.ts';
import { ExportLine } from '../filter/export-line.ts';
import type { LineHost } from '../filter/export-line.ts';
import type { Peer } from '../session/peer.ts';
import type { Session } from '../session/session.ts';

export interface SenderHost extends LineHost {
  now(): number;
}

export interface SenderOwner {
  readonly session: Session | undefined;
  /** A message leaves: for counters and events. */
  seen(type: number, sent: boolean, bytes: Uint8Array, at: number, length: number): void;
  /** Bytes were handed to the session. */
  queued(): void;
  /** Something that waited has left, or was dropped. */
  moved(): void;
}

export class Sender {
  readonly #peer: Peer;
  readonly #owner: SenderOwner;
  readonly #host: SenderHost;
  #line: ExportLine | undefined;
  #movedAt = 0;

  constructor(peer: Peer, owner: SenderOwner, host: SenderHost) {
    this.#peer = peer;
    this.#owner = owner;
    this.#host = host;
  }

  get filters(): boolean {
    return this.#line !== undefined;
  }

  /** False when export filters have kept this route from the peer, or taken it back. */
  has(family: number, nlri: Uint8Array, at: number, length: number): boolean {
    return this.#line?.has(family, nlri, at, length) !== false;
  }

  /** Bytes that wait for filters. */
  get waitingBytes(): number {
    return this.#line === undefined ? 0 : this.#line.waitingBytes;
  }

  /** ms of the clock when something last got on: what the kernel took, or filters decided. */
  get progressAt(): number {
    const progress = this.#owner.session?.progressAt ?? -Infinity;
    return this.#line === undefined ? progress : Math.max(progress, this.#movedAt);
  }

  /** The session came up. */
  open(): void {
    this.#line = undefined;
    if (this.#peer.settings.exportFilters.length > 0) this.#begin(true);
  }

  /** The settings changed in the middle of a session. */
  configure(): void {
    if (this.#line !== undefined) this.#line.configure();
    else if (this.#peer.settings.exportFilters.length > 0) this.#begin(false);
  }

  close(): void {
    this.#line?.clear();
    this.#line = undefined;
  }

  /** Whole messages of any kind; `done` when the bytes may change again. `shared`: other peers get the same object. */
  messages(bytes: Uint8Array, done?: () => void, shared = false): void {
    if (this.#line === undefined) {
      this.#deliver(bytes, done);
      return;
    }
    this.#line.take(bytes, shared);
    done?.();
  }

  /** UPDATEs that nobody watches or filters, `messages` of them counted already. */
  write(bytes: Uint8Array, done?: () => void): void {
    const { session } = this.#owner;
    if (session === undefined) {
      done?.();
      return;
    }
    session.write(bytes, done);
    this.#owner.queued();
  }

  /** Bytes as they are, in the order of everything else. */
  raw(bytes: Uint8Array): void {
    if (this.#line === undefined) this.write(bytes);
    else this.#line.takeRaw(bytes);
  }

  /** Counted, told and written. */
  #deliver(bytes: Uint8Array, done?: () => void): void {
    for (let at = 0; at < bytes.length; ) {
      const length = (bytes[at + 16]! << 8) | bytes[at + 17]!;
      this.#owner.seen(bytes[at + HEADER_LENGTH - 1]!, true, bytes, at, length);
      at += length;
    }
    this.write(bytes, done);
  }

  #begin(whole: boolean): void {
    this.#movedAt = this.#host.now();
    const owner = {
      deliver: (bytes: Uint8Array): void => this.#deliver(bytes),
      deliverRaw: (bytes: Uint8Array): void => this.write(bytes),
      late: (release: () => void): void => {
        const { session } = this.#owner;
        this.#movedAt = this.#host.now();
        session?.cork();
        release();
        session?.uncork();
        this.#owner.moved();
      },
    };
    this.#line = new ExportLine(this.#peer, owner, this.#host, whole);
  }
}

/** RFC 4724 §2: an UPDATE with nothing in it, or with an empty MP_UNREACH_NLRI alone. */
export function isEndOfRib(bytes: Uint8Array, at: number, length: number): boolean {
  if (length === HEADER_LENGTH + 4) return true;
  const body = at + HEADER_LENGTH;
  if (bytes[body] !== 0 || bytes[body + 1] !== 0 || bytes[body + 5] !== 15) return false;
  const extended = (bytes[body + 4]! & 0x10) !== 0;
  return length === HEADER_LENGTH + (extended ? 11 : 10);
}
