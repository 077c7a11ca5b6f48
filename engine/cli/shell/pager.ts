/**
 * A page at a time. While the reader looks, nothing is written, so nothing is asked for either: the socket is held and with it
 * the producer.
 */
import { displayWidth } from '../answers/escape.ts';
import type { CliIo } from '../io.ts';

/** One key at a time from the terminal. */
export interface Keys {
  /** Rejects when the signal aborts. */
  next(signal: AbortSignal): Promise<string>;
}

const MORE = '-- more (space page, enter line, q quit) --';

/** Pages of this terminal; one that does not know its size says 0. `quit` is aborted when the reader has seen enough. */
export function terminalPager({ stdout }: CliIo, keys: Keys, quit: AbortController): Pager {
  const print = (piece: string): Promise<void> =>
    new Promise((resolve) => {
      if (stdout.write(piece)) resolve();
      else stdout.once('drain', resolve);
    });
  const { rows = 0, columns = 0 } = stdout;
  return new Pager(print, keys, rows > 0 ? rows : 24, columns > 0 ? columns : 80, quit);
}

export class Pager {
  readonly #write: (text: string) => Promise<void>;
  readonly #keys: Keys;
  readonly #rows: number;
  readonly #columns: number;
  readonly #quit: AbortController;
  #room: number;
  /** A line whose end has not come yet. */
  #begun = '';

  /** `rows` and `columns` of the terminal; `quit` is aborted when the reader has seen enough. */
  constructor(write: (text: string) => Promise<void>, keys: Keys, rows: number, columns: number, quit: AbortController) {
    this.#write = write;
    this.#keys = keys;
    this.#rows = Math.max(2, rows);
    this.#columns = Math.max(1, columns);
    this.#quit = quit;
    this.#room = this.#rows - 1;
  }

  async write(text: string): Promise<void> {
    let at = 0;
    let from = 0;
    for (let newline = text.indexOf('\n'); newline >= 0 && !this.#quit.signal.aborted; newline = text.indexOf('\n', at)) {
      const width = displayWidth(this.#begun + text.slice(at, newline));
      this.#begun = '';
      this.#room -= Math.max(1, Math.ceil(width / this.#columns));
      at = newline + 1;
      if (this.#room > 0) continue;
      await this.#write(text.slice(from, at));
      from = at;
      await this.#more();
    }
    if (this.#quit.signal.aborted) return;
    this.#begun += text.slice(at);
    if (from < text.length) await this.#write(text.slice(from));
  }

  async #more(): Promise<void> {
    await this.#write(MORE);
    let key: string;
    try {
      key = await this.#keys.next(this.#quit.signal);
    } catch {
      key = 'q';
    }
    await this.#write(`\r${' '.repeat(MORE.length)}\r`);
    if (key === 'q' || key === '\u0003') this.#quit.abort();
    this.#room = key === '\r' || key === '\n' ? 1 : this.#rows - 1;
  }
}
