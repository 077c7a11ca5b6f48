/**
 * Where answers are printed. Text is gathered as bytes in blocks and written in large pieces; a reader that is slow holds us back,
 * one that is gone (`| head`) ends us quietly.
 */
import type { Writable } from 'node:stream';

const BLOCK = 64 * 1024;
/** Pieces that may wait in the stream before `ready` does. */
const WAITING = 2;

export class Output {
  readonly #stream: Writable;
  /** Filled now. */
  #block: Buffer | undefined;
  #used = 0;
  readonly #free: Buffer[] = [];
  /** Pieces the stream has not written yet. */
  #waiting = 0;
  #gone: boolean;
  #onGone: (() => void)[] = [];
  #onRoom: (() => void)[] = [];

  constructor(stream: Writable) {
    this.#stream = stream;
    this.#gone = stream.destroyed;
    stream.on('error', this.#lost);
    stream.on('close', this.#lost);
  }

  /** Leaves the stream as it was found: the shell prints many answers to one. */
  release(): void {
    this.#stream.off('error', this.#lost);
    this.#stream.off('close', this.#lost);
    this.#onGone = [];
  }

  /** The reader has closed its end: nothing we print matters any more. */
  get gone(): boolean {
    return this.#gone;
  }

  whenGone(action: () => void): void {
    if (this.#gone) action();
    else this.#onGone.push(action);
  }

  /** The stream has enough to do: `whenRoom` says when it can take more. */
  get full(): boolean {
    return this.#waiting >= WAITING && !this.#gone;
  }

  whenRoom(action: () => void): void {
    if (this.full) this.#onRoom.push(action);
    else action();
  }

  /** Gathers text. Resolves when more may come. */
  async write(text: string): Promise<void> {
    this.text(text);
    if (this.full) await this.#room();
  }

  /** The same without waiting: whoever writes much looks at `full`. */
  text(text: string): void {
    // Three bytes a character at most.
    if (text.length * 3 > BLOCK) {
      const bytes = Buffer.from(text);
      this.send();
      this.#put(bytes, bytes.length, undefined);
      return;
    }
    if (text === '') return;
    const block = this.#roomFor(text.length * 3);
    this.#used += block.write(text, this.#used, 'utf8');
  }

  /** Gathers a copy of bytes. */
  bytes(from: Buffer, start: number, end: number): void {
    if (end - start > BLOCK) {
      this.send();
      this.#put(Buffer.from(from.subarray(start, end)), end - start, undefined);
      return;
    }
    const block = this.#roomFor(end - start);
    this.#used += from.copy(block, this.#used, start, end);
  }

  /** Writes what is gathered. */
  send(): void {
    const block = this.#block;
    const length = this.#used;
    if (block === undefined || length === 0) return;
    this.#block = undefined;
    this.#used = 0;
    this.#put(block, length, block);
  }

  /** Writes what is gathered and waits until the stream can take more. */
  async flush(): Promise<void> {
    this.send();
    if (this.full) await this.#room();
  }

  #roomFor(size: number): Buffer {
    if (this.#used + size > BLOCK) this.send();
    return (this.#block ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK));
  }

  #put(bytes: Buffer, length: number, block: Buffer | undefined): void {
    if (this.#gone) return;
    this.#waiting++;
    this.#stream.write(length === bytes.length ? bytes : bytes.subarray(0, length), (error) => {
      this.#waiting--;
      if (block !== undefined && (error === null || error === undefined)) this.#free.push(block);
      if (!this.full) for (const action of this.#onRoom.splice(0)) action();
    });
  }

  #room(): Promise<void> {
    return new Promise((resolve) => this.whenRoom(resolve));
  }

  readonly #lost = (): void => {
    if (this.#gone) return;
    this.#gone = true;
    for (const action of this.#onRoom.splice(0)) action();
    for (const action of this.#onGone.splice(0)) action();
  };
}
