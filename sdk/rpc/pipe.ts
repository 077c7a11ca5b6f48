/** A duplex pipe in memory: what one end writes the other reads, with back-pressure, and ending one ends the other. */
import { Duplex } from 'node:stream';

class PipeEnd extends Duplex {
  #peer: PipeEnd | undefined;
  /** The write the peer has not taken yet. */
  #blocked: (() => void) | undefined;

  constructor() {
    super({ allowHalfOpen: false });
  }

  join(peer: PipeEnd): void {
    this.#peer = peer;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const peer = this.#peer;
    if (peer === undefined || peer.destroyed) done(new Error('pipe is closed'));
    else if (peer.push(chunk)) done();
    else peer.#blocked = done;
  }

  override _read(): void {
    const resume = this.#blocked;
    this.#blocked = undefined;
    resume?.();
  }

  override _final(done: (error?: Error | null) => void): void {
    const peer = this.#peer;
    if (peer !== undefined && !peer.destroyed) peer.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const peer = this.#peer;
    this.#peer = undefined;
    const resume = this.#blocked;
    this.#blocked = undefined;
    resume?.();
    if (peer !== undefined && !peer.destroyed && !peer.readableEnded) peer.push(null);
    done(error);
  }
}

export function pipePair(): readonly [Duplex, Duplex] {
  const left = new PipeEnd();
  const right = new PipeEnd();
  left.join(right);
  right.join(left);
  return [left, right];
}
