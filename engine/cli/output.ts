/**
 * Where answers are printed. Text is gathered and written in large pieces; a reader that is slow holds us back, one that is
 * gone (`| head`) ends us quietly.
 */
import type { Writable } from 'node:stream';

const PIECE = 64 * 1024;

export class Output {
  readonly #stream: Writable;
  #text = '';
  #gone: boolean;
  readonly #onGone: (() => void)[] = [];

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
    this.#onGone.length = 0;
  }

  /** The reader has closed its end: nothing we print matters any more. */
  get gone(): boolean {
    return this.#gone;
  }

  whenGone(action: () => void): void {
    if (this.#gone) action();
    else this.#onGone.push(action);
  }

  /** Gathers text; what has grown large is written. Resolves when more may come. */
  async write(text: string): Promise<void> {
    this.#text += text;
    if (this.#text.length >= PIECE) await this.flush();
  }

  /** Writes what is gathered and waits until the stream can take more. */
  async flush(): Promise<void> {
    const text = this.#text;
    this.#text = '';
    if (text === '' || this.#gone) return;
    if (this.#stream.write(text)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#stream.off('drain', done);
        resolve();
      };
      this.#stream.once('drain', done);
      this.whenGone(done);
    });
  }

  readonly #lost = (): void => {
    if (this.#gone) return;
    this.#gone = true;
    for (const action of this.#onGone.splice(0)) action();
  };
}
