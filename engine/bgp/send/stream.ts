/**
 * Packed UPDATEs for several peers at once: filled into one chunk by an `UpdateWriter`, and the same bytes written to each.
 * A run of messages that came from one source is a segment; a destination never gets a segment of its own.
 */
import { UpdateWriter } from '../../../sdk/wire/writer.ts';
import type { Chunk, ChunkPool } from './chunk.ts';

/** Nobody's: goes to every destination. */
export const NO_SOURCE = 0xffff;

export interface Destination {
  readonly index: number;
  readonly queuedBytes: number;
  cork(): void;
  uncork(): void;
  /** `messages` UPDATEs; `done` is called once. `watched`: somebody wants events of sent UPDATEs. */
  sendUpdates(bytes: Uint8Array, messages: number, watched: boolean, done: () => void): void;
}

export interface StreamOwner {
  readonly chunks: ChunkPool;
  readonly watchesSent: boolean;
}

export class Stream {
  readonly writer = new UpdateWriter();
  readonly #owner: StreamOwner;
  /** Who gets the next chunk. Read at the moment of delivery. */
  readonly #destinations: () => Iterable<Destination>;
  readonly #delivered: () => void;
  #chunk: Chunk | undefined;
  #source = NO_SOURCE;
  /** Closed segments: end offset, source, messages. */
  #ends = new Int32Array(64);
  #sources = new Int32Array(64);
  #counts = new Int32Array(64);
  #segments = 0;
  #countedMessages = 0;

  /** `delivered` runs after each chunk has been handed out: the moment to see who is slow. */
  constructor(owner: StreamOwner, destinations: () => Iterable<Destination>, delivered: () => void) {
    this.#owner = owner;
    this.#destinations = destinations;
    this.#delivered = delivered;
  }

  get empty(): boolean {
    return this.#chunk === undefined;
  }

  /** What the writer writes next came from `source`. The writer's open message is closed when that changes. */
  from(source: number): void {
    if (this.#chunk === undefined) this.#open();
    else if (source !== this.#source) {
      this.writer.close();
      this.#mark();
    }
    this.#source = source;
  }

  /** The writer said FULL: hands out what there is and goes on in a fresh chunk, the writer's group unbroken. */
  turn(): void {
    this.#deliver();
    this.#open();
  }

  /** Hands out what there is. */
  flush(): void {
    if (this.#chunk !== undefined) this.#deliver();
  }

  #open(): void {
    this.#chunk = this.#owner.chunks.take();
    this.writer.over(this.#chunk.bytes);
  }

  #mark(): void {
    const end = this.writer.used;
    const start = this.#segments === 0 ? 0 : this.#ends[this.#segments - 1]!;
    if (end === start) return;
    if (this.#segments === this.#ends.length) this.#widen();
    this.#ends[this.#segments] = end;
    this.#sources[this.#segments] = this.#source;
    this.#counts[this.#segments] = this.writer.messages - this.#countedMessages;
    this.#countedMessages = this.writer.messages;
    this.#segments++;
  }

  #deliver(): void {
    const chunk = this.#chunk!;
    this.#chunk = undefined;
    this.writer.close();
    this.#mark();
    const used = this.writer.used;
    const messages = this.writer.messages;
    if (used > 0) {
      const whole = chunk.bytes.subarray(0, used);
      const watched = this.#owner.watchesSent;
      for (const destination of this.#destinations()) {
        if (this.#isSource(destination.index)) this.#deliverAround(chunk, destination, watched);
        else {
          chunk.hold();
          destination.sendUpdates(whole, messages, watched, chunk.release);
        }
      }
    }
    this.#segments = 0;
    this.#countedMessages = 0;
    chunk.release();
    this.#delivered();
  }

  #isSource(index: number): boolean {
    for (let i = 0; i < this.#segments; i++) if (this.#sources[i] === index) return true;
    return false;
  }

  /** Everything but the segments that came from the destination itself, neighbours in one write. */
  #deliverAround(chunk: Chunk, destination: Destination, watched: boolean): void {
    destination.cork();
    let start = 0;
    let end = 0;
    let messages = 0;
    for (let i = 0; i <= this.#segments; i++) {
      if (i < this.#segments && this.#sources[i] !== destination.index) {
        messages += this.#counts[i]!;
        end = this.#ends[i]!;
        continue;
      }
      if (end > start) {
        chunk.hold();
        destination.sendUpdates(chunk.bytes.subarray(start, end), messages, watched, chunk.release);
      }
      if (i < this.#segments) start = end = this.#ends[i]!;
      messages = 0;
    }
    destination.uncork();
  }

  #widen(): void {
    const widen = (column: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> => {
      const wider = new Int32Array(2 * column.length);
      wider.set(column);
      return wider;
    };
    this.#ends = widen(this.#ends);
    this.#sources = widen(this.#sources);
    this.#counts = widen(this.#counts);
  }
}
