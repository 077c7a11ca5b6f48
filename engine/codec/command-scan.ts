/**
 * Words of a route command, found in place: an offset pair into the text, nothing made per word. Blanks separate; `[` and `]` are
 * words of their own wherever they stand.
 */
export class CommandScan {
  text = '';
  /** The current word: `from` to `to`. */
  from = 0;
  to = 0;
  #at = 0;
  #end = 0;

  over(text: string, at = 0, end = text.length): this {
    this.text = text;
    this.#at = at;
    this.#end = end;
    this.from = at;
    this.to = at;
    return this;
  }

  /** Moves to the next word; false at the end, then `from` is the end. */
  next(): boolean {
    const { text } = this;
    let at = this.#at;
    while (at < this.#end && isBlank(text.charCodeAt(at))) at++;
    this.from = at;
    if (at >= this.#end) {
      this.to = at;
      this.#at = at;
      return false;
    }
    if (isBracket(text.charCodeAt(at))) at++;
    else {
      while (at < this.#end) {
        const char = text.charCodeAt(at);
        if (isBlank(char) || isBracket(char)) break;
        at++;
      }
    }
    this.to = at;
    this.#at = at;
    return true;
  }

  /** The current word again by the next `next`. */
  back(): void {
    this.#at = this.from;
  }

  get word(): string {
    return this.text.slice(this.from, this.to);
  }

  is(word: string): boolean {
    return this.to - this.from === word.length && this.text.startsWith(word, this.from);
  }

  /** 1-based column of the current word. */
  get column(): number {
    return this.from + 1;
  }
}

export function isBlank(char: number): boolean {
  return char === 0x20 || (char >= 0x09 && char <= 0x0d);
}

function isBracket(char: number): boolean {
  return char === 0x5b || char === 0x5d;
}

/** A word as it may be quoted in an answer: short. */
export function shown(word: string): string {
  return word.length > 64 ? `${word.slice(0, 64)}…` : word;
}
