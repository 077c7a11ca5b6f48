/**
 * The writing half of a link. Lines gather until the end of the turn of the event loop (or 64 KiB) and leave in one write,
 * so that a hundred answers cost one system call. Lines of concurrent answers mix only at line boundaries.
 */
import type { Duplex } from 'node:stream';
import { RpcError } from './errors.ts';

/** Gathered characters past which a write does not wait for the end of the turn. */
const FLUSH_CHARACTERS = 64 * 1024;
/** `ready()` waits while more than this is unsent. */
export const READY_BYTES = 1024 * 1024;

export interface OutboundOptions {
  /** A write that does not finish in this time ends the link. */
  readonly writeTimeoutMs: number;
  /** More unsent bytes than this end the link: the peer has stopped reading. */
  readonly limitBytes: number;
  /** The link must end. */
  readonly onFailure: (error: RpcError) => void;
}

export class Outbound {
  readonly #stream: Duplex;
  readonly #options: OutboundOptions;
  #text = '';
  /** Nothing but ASCII is gathered. */
  #plain = true;
  /** Bytes handed to the stream whose write has not finished. */
  #inFlight = 0;
  #scheduled: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  #waiting: { resolve: () => void; reject: (error: RpcError) => void }[] = [];
  #closed: RpcError | undefined;

  constructor(stream: Duplex, options: OutboundOptions) {
    this.#stream = stream;
    this.#options = options;
  }

  /** Bytes (gathered ones counted by character) the peer has not taken yet. */
  get length(): number {
    return this.#inFlight + this.#text.length;
  }

  /** Appends lines, each with its LF. Dropped once the link is closed. */
  write(lines: string): void {
    this.#plain = false;
    this.writePlain(lines);
  }

  /** The same for lines of nothing but ASCII. */
  writePlain(lines: string): void {
    if (this.#closed !== undefined) return;
    this.#text += lines;
    if (this.#text.length >= FLUSH_CHARACTERS) this.flush();
    else this.#scheduled ??= setImmediate(() => this.flush());
  }

  /** One line from parts: `head`, the payload as it is, LF. The payload must not change until it is sent. */
  writeBytes(head: string, payload: Uint8Array): void {
    if (this.#closed !== undefined) return;
    this.#plain = false;
    this.#text += head;
    this.flush();
    if (payload.length > 0) this.#send(payload);
    this.write('\n');
  }

  /** Resolves at once, or when the peer has taken enough; rejects when the link closes. */
  ready(): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    if (this.length < READY_BYTES) return Promise.resolve();
    this.flush();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  flush(): void {
    if (this.#scheduled !== undefined) clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    if (this.#text === '' || this.#closed !== undefined) return;
    const bytes = Buffer.from(this.#text, this.#plain ? 'latin1' : 'utf8');
    this.#text = '';
    this.#plain = true;
    this.#send(bytes);
  }

  /** Nothing is written any more; whoever waits is told why. */
  close(error: RpcError): void {
    if (this.#closed !== undefined) return;
    this.#closed = error;
    if (this.#scheduled !== undefined) clearImmediate(this.#scheduled);
    clearTimeout(this.#timer);
    this.#text = '';
    for (const waiter of this.#waiting.splice(0)) waiter.reject(error);
  }

  #send(bytes: Uint8Array): void {
    this.#inFlight += bytes.length;
    if (this.#inFlight > this.#options.limitBytes) {
      this.#options.onFailure(new RpcError('closed', `peer does not read: ${this.#inFlight} bytes unsent`));
      return;
    }
    this.#timer ??= setTimeout(() => {
      this.#options.onFailure(new RpcError('closed', `write timed out after ${this.#options.writeTimeoutMs} ms`));
    }, this.#options.writeTimeoutMs).unref();
    this.#stream.write(bytes, (error) => {
      if (error === null || error === undefined) this.#sent(bytes.length);
    });
  }

  #sent(length: number): void {
    this.#inFlight -= length;
    if (this.#closed !== undefined) return;
    if (this.#inFlight === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    } else this.#timer?.refresh();
    if (this.length < READY_BYTES && this.#waiting.length > 0) for (const waiter of this.#waiting.splice(0)) waiter.resolve();
  }
}
