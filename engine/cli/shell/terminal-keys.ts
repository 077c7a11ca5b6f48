/**
 * The keyboard while a command runs: Ctrl-C cancels it, the pager takes single keys, and what is typed ahead is kept for the
 * next prompt. The terminal is in raw mode between `begin` and `end`, so that keys arrive as they are struck.
 */
import type { CliIo } from '../io.ts';
import type { Keys } from './pager.ts';

const CTRL_C = '\u0003';
const TYPED_AHEAD = 4096;

export class TerminalKeys implements Keys {
  readonly #io: CliIo;
  readonly #onInterrupt: () => void;
  #typed = '';
  #wanting: ((key: string) => void) | undefined;

  constructor(io: CliIo, onInterrupt: () => void) {
    this.#io = io;
    this.#onInterrupt = onInterrupt;
  }

  begin(): void {
    this.#io.stdin.setRawMode?.(true);
    this.#io.stdin.on('data', this.#onData);
    this.#io.stdin.resume();
  }

  /** Gives the keyboard back and what was typed meanwhile. */
  end(): string {
    this.#io.stdin.off('data', this.#onData);
    this.#io.stdin.pause();
    this.#io.stdin.setRawMode?.(false);
    // Only what makes up a line is kept: letters, Enter, Backspace.

    return this.#typed.replace(/[\u0000-\u0007\u0009\u000b\u000c\u000e-\u001f]/g, '');
  }

  next(signal: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
      const give = (): void => {
        this.#wanting = undefined;
        reject(new Error('cancelled'));
      };
      if (signal.aborted) {
        give();
        return;
      }
      signal.addEventListener('abort', give, { once: true });
      this.#wanting = (key) => {
        signal.removeEventListener('abort', give);
        this.#wanting = undefined;
        resolve(key);
      };
    });
  }

  readonly #onData = (chunk: Buffer | string): void => {
    for (const key of chunk.toString()) {
      if (key === CTRL_C) this.#onInterrupt();
      if (this.#wanting !== undefined) this.#wanting(key);
      else if (key !== CTRL_C && this.#typed.length < TYPED_AHEAD) this.#typed += key;
    }
  };
}
