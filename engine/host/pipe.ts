/** The in-memory pipe an in-process plugin starts over: what one end writes the other reads, with back-pressure. */
import { Duplex } from 'node:stream';

type Done = (error?: Error | null) => void;

class PipeEnd extends Duplex {
  #other: PipeEnd | undefined;
  /** The write that waits until the other end wants more. */
  #written: Done | undefined;

  constructor() {
    super({ allowHalfOpen: false });
  }

  join(other: PipeEnd): void {
    this.#other = other;
  }

  override _read(): void {
    this.#other?.taken();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    const other = this.#other;
    if (other === undefined || other.destroyed || other.readableEnded) {
      done(new Error('the other end of the pipe is closed'));
      return;
    }
    if (other.push(chunk)) done();
    else this.#written = done;
  }

  override _final(done: Done): void {
    this.#other?.ended();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const written = this.#written;
    this.#written = undefined;
    written?.(error ?? new Error('the pipe is closed'));
    this.#other?.ended();
    done(error);
  }

  private taken(): void {
    const written = this.#written;
    this.#written = undefined;
    written?.();
  }

  private ended(): void {
    this.taken();
    if (!this.destroyed && !this.readableEnded) this.push(null);
  }
}

export function pipe(): readonly [Duplex, Duplex] {
  const [left, right] = [new PipeEnd(), new PipeEnd()];
  left.join(right);
  right.join(left);
  return [left, right];
}
