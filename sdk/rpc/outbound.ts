/**
 * The writing half of a link. Lines gather until the end of the turn of the event loop (or 64 KiB) and leave in one write,
 * so that a hundred answers cost one system call. Lines of concurrent answers mix only at line boundaries.
 */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { RpcError } from './errors.ts';

/** Gathered characters past which a write does not wait for the end of the turn. */
const FLUSH_CHARACTERS = 64 * 1024;
/** Lines of bytes up to this size are written from blocks that are used again. */
const BLOCK_BYTES = 128 * 1024;
const BLOCKS_KEPT = 4;
/** Bytes of a line that is written from parts, at most: it fits a block behind what is gathered. */
export const MAX_PARTS = BLOCK_BYTES - FLUSH_CHARACTERS;
/** Longer texts are copied by the engine's own routine. */
const SHORT_TEXT = 64;
const LF = 0x0a;
const HASH = 0x23;
/** `ready()` waits while more than this is unsent. */
export const READY_BYTES = 1024 * 1024;
/** Blocks for rows that may be filled or on their way at a time, and bytes of one. */
const ROW_BLOCKS = 3;
const ROW_BLOCK_BYTES = 64 * 1024;

const NOTHING: Uint8Array = new Uint8Array(0);

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
  /** What is gathered: lines as text, or lines as bytes in a block; never both. */
  #text = '';
  #block: Buffer | undefined;
  #used = 0;
  /** The result before: most calls of a kind have the same. */
  #lastOk = { json: '', bytes: Buffer.from(' ok ') };
  /** Blocks that no write holds. */
  readonly #blocks: Buffer[] = [];
  /** Whoever reads at the other end has bytes of its own: what was sent is ours again. A pipe in memory hands on the very bytes. */
  readonly #reuse: boolean;
  /** Bytes handed to the stream whose write has not finished. */
  #inFlight = 0;
  #scheduled: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  #waiting: { resolve: () => void; reject: (error: RpcError) => void }[] = [];
  /** Row blocks nobody fills or sends now; those there are in all. */
  readonly #rowBlocks: Buffer[] = [];
  #rowBlockCount = 0;
  #wanting: { resolve: (block: Buffer) => void; reject: (error: RpcError) => void }[] = [];
  #closed: RpcError | undefined;

  constructor(stream: Duplex, options: OutboundOptions) {
    this.#stream = stream;
    this.#reuse = stream instanceof Socket;
    this.#options = options;
  }

  /** Bytes (gathered ones counted by character) the peer has not taken yet. */
  get length(): number {
    return this.#inFlight + this.#text.length + this.#used;
  }

  /** Appends lines, each with its LF. Dropped once the link is closed. */
  write(lines: string): void {
    if (this.#used > 0) this.flush();
    if (this.#closed !== undefined) return;
    this.#text += lines;
    if (this.#text.length >= FLUSH_CHARACTERS) this.flush();
    else this.#scheduled ??= setImmediate(() => this.flush());
  }

  /** Gathers `ok` with a result of ASCII. */
  writeOk(id: number, json: string): void {
    if (json.length > MAX_PARTS / 2) {
      this.write(`#${id} ok ${json}\n`);
      return;
    }
    if (json !== this.#lastOk.json) this.#lastOk = { json, bytes: Buffer.from(` ok ${json}`, 'latin1') };
    this.writeParts(id, this.#lastOk.bytes, '', NOTHING);
  }

  /** Gathers a line from parts that are ASCII and together no longer than `MAX_PARTS`: `#`, the id, head, text, tail, LF. */
  writeParts(id: number, head: Uint8Array, text: string, tail: Uint8Array): void {
    if (this.#text !== '') this.flush();
    if (this.#closed !== undefined) return;
    const block = (this.#block ??= this.#freeBlock());
    let at = this.#used;
    block[at++] = HASH;
    at = writeNumber(block, at, id);
    block.set(head, at);
    at += head.length;
    if (text.length > SHORT_TEXT) at += block.write(text, at, 'latin1');
    else for (let i = 0; i < text.length; i++) block[at++] = text.charCodeAt(i);
    block.set(tail, at);
    at += tail.length;
    block[at++] = LF;
    this.#used = at;
    if (this.#used >= FLUSH_CHARACTERS) this.flush();
    else this.#scheduled ??= setImmediate(() => this.flush());
  }

  /** One line from parts, sent at once: `head` (ASCII), the payload, LF. The payload is the caller's again on return. */
  writeBytes(head: string, payload: Uint8Array): void {
    if (this.#closed !== undefined) return;
    this.flush();
    const length = head.length + payload.length + 1;
    const isSmall = this.#reuse && length <= BLOCK_BYTES;
    const whole = isSmall ? this.#freeBlock() : Buffer.allocUnsafe(length);
    whole.write(head, 0, 'latin1');
    whole.set(payload, head.length);
    whole[length - 1] = LF;
    this.#send(whole.length === length ? whole : whole.subarray(0, length), isSmall ? whole : undefined);
  }

  /** Resolves at once, or when the peer has taken enough; rejects when the link closes. */
  ready(): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    if (this.length < READY_BYTES) return Promise.resolve();
    this.flush();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Bytes to fill; whoever gets them gives them back by `sendBlock`. Waits until one is free; rejects when the link closes. */
  block(): Promise<Buffer> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    const free = this.#rowBlocks.pop();
    if (free !== undefined) return Promise.resolve(free);
    if (this.#rowBlockCount < ROW_BLOCKS) {
      this.#rowBlockCount++;
      return Promise.resolve(Buffer.allocUnsafeSlow(ROW_BLOCK_BYTES));
    }
    return new Promise((resolve, reject) => this.#wanting.push({ resolve, reject }));
  }

  /** Sends the beginning of a block, after what was written before. */
  sendBlock(block: Buffer, length: number): void {
    if (this.#closed !== undefined) return;
    this.flush();
    if (length === 0) this.#freed(block);
    else this.#send(block.subarray(0, length), undefined, block);
  }

  flush(): void {
    if (this.#scheduled !== undefined) clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    if (this.#closed !== undefined) return;
    if (this.#used > 0) this.#sendGathered();
    if (this.#text === '') return;
    const bytes = Buffer.from(this.#text, 'utf8');
    this.#text = '';
    this.#send(bytes);
  }

  #sendGathered(): void {
    const block = this.#block!;
    const bytes = block.subarray(0, this.#used);
    this.#used = 0;
    if (this.#reuse) {
      this.#block = undefined;
      this.#send(bytes, block);
    } else this.#send(Buffer.from(bytes));
  }

  #freeBlock(): Buffer {
    return this.#blocks.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  /** Nothing is written any more; whoever waits is told why. */
  close(error: RpcError): void {
    if (this.#closed !== undefined) return;
    this.#closed = error;
    if (this.#scheduled !== undefined) clearImmediate(this.#scheduled);
    clearTimeout(this.#timer);
    this.#text = '';
    this.#block = undefined;
    this.#used = 0;
    for (const waiter of this.#waiting.splice(0)) waiter.reject(error);
    for (const waiter of this.#wanting.splice(0)) waiter.reject(error);
    this.#rowBlocks.length = 0;
  }

  #freed(block: Buffer): void {
    const free = this.#reuse ? block : Buffer.allocUnsafeSlow(ROW_BLOCK_BYTES);
    const waiter = this.#wanting.shift();
    if (waiter === undefined) this.#rowBlocks.push(free);
    else waiter.resolve(free);
  }

  /** `block` or `rows`: what `bytes` lie in, ours again when they are sent. */
  #send(bytes: Uint8Array, block?: Buffer, rows?: Buffer): void {
    this.#inFlight += bytes.length;
    if (this.#inFlight > this.#options.limitBytes) {
      this.#options.onFailure(new RpcError('closed', `peer does not read: ${this.#inFlight} bytes unsent`));
      return;
    }
    this.#timer ??= setTimeout(() => {
      this.#options.onFailure(new RpcError('closed', `write timed out after ${this.#options.writeTimeoutMs} ms`));
    }, this.#options.writeTimeoutMs).unref();
    this.#stream.write(bytes, (error) => {
      if (error !== null && error !== undefined) return;
      if (this.#reuse && block !== undefined && this.#blocks.length < BLOCKS_KEPT) this.#blocks.push(block);
      if (rows !== undefined && this.#closed === undefined) this.#freed(rows);
      this.#sent(bytes.length);
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

/** Writes the digits of an integer from 0 to 2^53; returns the offset after them. */
function writeNumber(out: Uint8Array, at: number, value: number): number {
  let size = 1;
  for (let power = 10; value >= power; power *= 10) size++;
  for (let i = at + size - 1, rest = value; i >= at; i--) {
    const next = Math.floor(rest / 10);
    out[i] = 0x30 + (rest - 10 * next);
    rest = next;
  }
  return at + size;
}
