/**
 * One TCP connection: bytes in, whole messages out by offset; bytes out, bounded by whoever looks at `queuedBytes`. Knows the
 * header of a message and nothing else of BGP.
 *
 * All sessions of a reactor read into one `ReadArea`: a read callback runs to its end before the next begins, so a session
 * keeps for itself only the part of a message that has not arrived whole. What a callback is given is valid until it returns.
 */
import * as net from 'node:net';
import { assert } from '../../core/assert.ts';
import type { Deadlines } from '../../core/deadlines.ts';
import type { Deadline } from '../../core/deadlines.ts';
import { HEADER_LENGTH, checkHeader } from '../../../sdk/wire/message.ts';

/** Room for the part of a message kept from earlier reads, in front of what a read brings. */
const HEAD = 65_536;
/** Bytes a read may bring: libuv makes up to 32 of them before timers run, so this bounds a turn to 2 MiB. */
const WINDOW = 65_536;
/** ms after our NOTIFICATION in which the peer may read it and close first. */
const LINGER = 1000;

export class ReadArea {
  readonly bytes = new Uint8Array(HEAD + WINDOW);
  readonly view = new DataView(this.bytes.buffer);
  readonly window = Buffer.from(this.bytes.buffer, HEAD, WINDOW);
  /** Sockets that exist, closing ones included. */
  openSockets = 0;
  #waiting: (() => void)[] = [];

  /** Resolves when there is no socket. */
  idle(): Promise<void> {
    return this.openSockets === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  socketClosed(): void {
    if (--this.openSockets > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

export interface SessionOwner {
  /** TCP is up (dialled sessions only). */
  sessionConnected(): void;
  /** A whole message: `length` bytes at `at` of the read area, header included; its header is good. */
  message(type: number, at: number, length: number): void;
  /** A header `checkHeader` refused with `result` at `at`; the session reads no further. */
  badHeader(result: number, at: number): void;
  /** The end of a read: what was gathered may go out. */
  readDone(): void;
  /** The connection is gone, not by our `close`. Called once. */
  sessionFailed(reason: string): void;
  /** Some written bytes were taken by the kernel. */
  wrote(): void;
}

export interface DialOptions {
  readonly host: string;
  readonly port: number;
  /** '' = any */
  readonly localAddress: string;
}

/** The private field that lets an accepted connection be read into a buffer of ours; a test guards it, `accept` copes without. */
interface Carrier {
  _handle: { readonly useUserBuffer?: unknown } | null | undefined;
}

export class Session {
  readonly incoming: boolean;
  readonly #area: ReadArea;
  readonly #owner: SessionOwner;
  readonly #linger: Deadline;
  #socket: net.Socket;
  /** The peer may send messages above 4096 bytes (RFC 8654): we announced the capability. */
  extendedReceive = false;
  bytesReceived = 0;
  bytesSent = 0;
  /** ms of the clock when the kernel last took bytes, or when the queue was last empty: what the send hold timer looks at. */
  progressAt: number;
  /** Part of a message, or what a pause left unread. */
  #rest = new Uint8Array(0);
  #restLength = 0;
  #paused = false;
  #resuming = false;
  #closed = false;
  readonly #deadlines: Deadlines;

  private constructor(area: ReadArea, owner: SessionOwner, deadlines: Deadlines, incoming: boolean, socket: net.Socket) {
    this.#area = area;
    this.#owner = owner;
    this.#deadlines = deadlines;
    this.incoming = incoming;
    this.#socket = socket;
    this.progressAt = deadlines.clock.now();
    this.#linger = deadlines.create(() => socket.destroy());
    socket.setNoDelay(true);
    socket.on('error', (error: NodeJS.ErrnoException) => this.#fail(error.code ?? 'tcp-failure'));
    socket.on('end', () => this.#fail('tcp-failure'));
    area.openSockets++;
    socket.on('close', () => {
      area.socketClosed();
      this.#linger.clear();
      this.#fail('tcp-failure');
    });
  }

  /** Begins to connect; `sessionConnected` or `sessionFailed` follows. */
  static dial(area: ReadArea, owner: SessionOwner, deadlines: Deadlines, options: DialOptions): Session {
    const socket = net.connect({
      host: options.host,
      port: options.port,
      ...(options.localAddress === '' ? {} : { localAddress: options.localAddress }),
      onread: { buffer: area.window, callback: (length: number): boolean => session.#received(length) },
    });
    const session = new Session(area, owner, deadlines, false, socket);
    socket.on('connect', () => {
      session.progressAt = deadlines.clock.now();
      if (!session.#closed) owner.sessionConnected();
    });
    return session;
  }

  /**
   * Takes over a connection that a server accepted with `pauseOnConnect`. Node has no `onread` for those, so its handle moves to
   * a socket that has; should a later Node keep handles elsewhere, the session reads by `'data'` events and copies.
   */
  static accept(area: ReadArea, owner: SessionOwner, deadlines: Deadlines, accepted: net.Socket): Session {
    const carrier = accepted as unknown as Carrier;
    const handle = carrier._handle;
    if (typeof handle?.useUserBuffer === 'function') {
      carrier._handle = null;
      const options = {
        handle,
        onread: { buffer: area.window, callback: (length: number): boolean => session.#received(length) },
      };
      const socket = new net.Socket(options as unknown as net.SocketConstructorOpts);
      const session = new Session(area, owner, deadlines, true, socket);
      accepted.destroy();
      return session;
    }
    const session = new Session(area, owner, deadlines, true, accepted);
    accepted.on('data', (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; at += WINDOW) {
        const part = chunk.subarray(at, at + WINDOW);
        area.bytes.set(part, HEAD);
        session.#received(part.length);
      }
    });
    accepted.resume();
    return session;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Bytes handed to us or the kernel's door and not taken by the kernel yet. */
  get queuedBytes(): number {
    return this.#socket.writableLength;
  }

  get localAddress(): string {
    return plainAddress(this.#socket.localAddress);
  }

  get localPort(): number {
    return this.#socket.localPort ?? 0;
  }

  get remoteAddress(): string {
    return plainAddress(this.#socket.remoteAddress);
  }

  get remotePort(): number {
    return this.#socket.remotePort ?? 0;
  }

  /** `bytes` must not change until `done` is called, which happens exactly once, also when the connection goes. */
  write(bytes: Uint8Array, done?: () => void): void {
    if (this.#closed) {
      done?.();
      return;
    }
    if (this.#socket.writableLength === 0) this.progressAt = this.#deadlines.clock.now();
    this.bytesSent += bytes.length;
    this.#socket.write(bytes, () => {
      this.progressAt = this.#deadlines.clock.now();
      done?.();
      if (!this.#closed) this.#owner.wrote();
    });
  }

  /** Writes between `cork` and `uncork` leave in one system call. */
  cork(): void {
    this.#socket.cork();
  }

  uncork(): void {
    this.#socket.uncork();
  }

  /** Stops reading at once; messages already read wait. */
  pause(): void {
    if (this.#paused || this.#closed) return;
    this.#paused = true;
    this.#socket.pause();
  }

  /** Goes on reading on a later turn, first with what the pause left. */
  resume(): void {
    if (!this.#paused || this.#closed) return;
    this.#paused = false;
    if (this.#resuming) return;
    this.#resuming = true;
    setImmediate(() => {
      this.#resuming = false;
      if (this.#paused || this.#closed) return;
      if (this.#restLength > 0) {
        const length = this.#restLength;
        this.#area.bytes.set(this.#rest.subarray(0, length), 0);
        this.#restLength = 0;
        this.#consume(0, length);
      }
      if (!this.#isStopped()) this.#socket.resume();
    });
  }

  /** Ends the connection: `last`, if any, is sent and the peer has a moment to read it. No callback of the owner follows. */
  close(last?: Uint8Array): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#restLength = 0;
    if (last === undefined || this.#socket.connecting) {
      this.#socket.destroy();
      return;
    }
    this.bytesSent += last.length;
    // A paused socket would not see the peer's FIN; what it sends meanwhile is thrown away.
    this.#socket.resume();
    this.#socket.end(last);
    this.#linger.in(LINGER);
  }

  #isStopped(): boolean {
    return this.#paused || this.#closed;
  }

  #received(length: number): boolean {
    if (this.#closed) return true;
    this.bytesReceived += length;
    let at = HEAD;
    if (this.#restLength > 0) {
      at -= this.#restLength;
      assert(at >= 0, 'a session that has a long rest is paused and reads nothing');
      this.#area.bytes.set(this.#rest.subarray(0, this.#restLength), at);
      this.#restLength = 0;
    }
    if (this.#paused) this.#keep(at, HEAD + length);
    else this.#consume(at, HEAD + length);
    return !this.#paused;
  }

  #consume(start: number, end: number): void {
    const view = this.#area.view;
    let at = start;
    while (!this.#isStopped() && end - at >= HEADER_LENGTH) {
      const length = checkHeader(view, at, this.extendedReceive);
      if (length < 0) {
        this.#owner.badHeader(length, at);
        return;
      }
      if (at + length > end) break;
      this.#owner.message(view.getUint8(at + HEADER_LENGTH - 1), at, length);
      at += length;
    }
    if (this.#closed) return;
    if (at < end) this.#keep(at, end);
    this.#owner.readDone();
  }

  #keep(at: number, end: number): void {
    const length = end - at;
    if (this.#rest.length < length) this.#rest = new Uint8Array(length <= 4096 ? 4096 : length);
    this.#rest.set(this.#area.bytes.subarray(at, end), 0);
    this.#restLength = length;
  }

  #fail(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.destroy();
    this.#owner.sessionFailed(reason);
  }
}

/** IPv4 that came in through an IPv6 listener is written as IPv4. */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return '';
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
