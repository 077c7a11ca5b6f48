/**
 * Regular expressions in RE2's syntax, read into a program of states without back-references and look-around: what such a program
 * matches is told in one pass over the text (`pattern-automaton.ts`). The text is an AS path, so characters are of twelve classes:
 * the ten digits, the blank, and everything else, which no path holds.
 */

/** Longest expression, characters. */
export const MOST_PATTERN = 512;
/** States of one expression: counted repetitions are written out. */
const MOST_STATES = 10_000;
/** As RE2: the largest number in `{n,m}`. */
const MOST_REPEATS = 1000;

/** Classes of characters: 0..9 are the digits. */
export const BLANK = 10;
const OTHER = 11;
export const CLASSES = 11;
const DIGITS = 0x3ff;
const ANY = 0xfff;
const BLANK_BIT = 1 << BLANK;
const OTHER_BIT = 1 << OTHER;

export const CONSUME = 0;
export const SPLIT = 1;
export const ASSERT = 2;
export const MATCH = 3;

/** What an ASSERT wants. */
export const AT_START = 1;
export const AT_END = 2;
export const AT_BOUNDARY = 3;
export const NOT_AT_BOUNDARY = 4;

/** One state: CONSUME takes a character of `set` and goes to `next`; SPLIT goes to `next` and `other`; ASSERT holds or dies. */
export interface PatternState {
  kind: typeof CONSUME | typeof SPLIT | typeof ASSERT | typeof MATCH;
  /** CONSUME: bits by class. ASSERT: AT_*. */
  set: number;
  next: number;
  other: number;
}

export interface PatternProgram {
  readonly states: readonly PatternState[];
  readonly start: number;
}

export class PatternError extends Error {}

type Node =
  | { readonly kind: 'set'; readonly set: number }
  | { readonly kind: 'assert'; readonly what: number }
  | { readonly kind: 'all'; readonly parts: readonly Node[] }
  | { readonly kind: 'any'; readonly parts: readonly Node[] }
  | { readonly kind: 'repeat'; readonly part: Node; readonly least: number; readonly most: number };

/** Reads an expression; throws a PatternError that says what is wrong with it. */
export function compilePattern(source: string): PatternProgram {
  if (source.length > MOST_PATTERN) throw new PatternError(`longer than ${MOST_PATTERN} characters`);
  const node = new PatternReader(source).read();
  const states: PatternState[] = [];
  const put = (kind: PatternState['kind'], set: number, next: number, other = -1): number => {
    if (states.length >= MOST_STATES) throw new PatternError('its repetitions are too large');
    states.push({ kind, set, next, other });
    return states.length - 1;
  };
  let built = 0;
  /** Builds `from` so that it goes on to `next`; returns its first state. */
  const build = (from: Node, next: number): number => {
    // Nothing repeated many times makes no states, and still takes its time.
    if (++built > 10 * MOST_STATES) throw new PatternError('its repetitions are too large');
    switch (from.kind) {
      case 'set':
        return put(CONSUME, from.set, next);
      case 'assert':
        return put(ASSERT, from.what, next);
      case 'all': {
        let at = next;
        for (let i = from.parts.length - 1; i >= 0; i--) at = build(from.parts[i]!, at);
        return at;
      }
      case 'any': {
        let at = build(from.parts.at(-1)!, next);
        for (let i = from.parts.length - 2; i >= 0; i--) at = put(SPLIT, 0, build(from.parts[i]!, next), at);
        return at;
      }
      case 'repeat': {
        let at = next;
        if (from.most === Infinity) {
          const loop = put(SPLIT, 0, -1, next);
          states[loop]!.next = build(from.part, loop);
          at = loop;
        } else {
          for (let i = from.least; i < from.most; i++) at = put(SPLIT, 0, build(from.part, at), next);
        }
        for (let i = 0; i < from.least; i++) at = build(from.part, at);
        return at;
      }
    }
  };
  return { start: build(node, put(MATCH, 0, -1)), states };
}

/** Recursive descent; depth is bounded by the length of the source. */
class PatternReader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  read(): Node {
    const node = this.#alternatives();
    if (this.#at < this.#source.length) throw new PatternError('a ")" without its "("');
    return node;
  }

  #alternatives(): Node {
    const parts = [this.#sequence()];
    while (this.#take('|')) parts.push(this.#sequence());
    return parts.length === 1 ? parts[0]! : { kind: 'any', parts };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (this.#at < this.#source.length && !this.#sees('|') && !this.#sees(')')) parts.push(this.#repeated());
    return { kind: 'all', parts };
  }

  #repeated(): Node {
    let part = this.#one();
    for (let times = 0; ; times++) {
      const range = this.#range();
      if (range === undefined) return part;
      if (times > 0) throw new PatternError('a repetition of a repetition');
      this.#take('?');
      part = { kind: 'repeat', part, least: range[0], most: range[1] };
    }
  }

  #range(): readonly [number, number] | undefined {
    if (this.#take('*')) return [0, Infinity];
    if (this.#take('+')) return [1, Infinity];
    if (this.#take('?')) return [0, 1];
    const counted = /^\{(\d{1,9})(,(\d{0,9}))?\}/.exec(this.#source.slice(this.#at, this.#at + 32));
    if (counted === null) return undefined;
    this.#at += counted[0].length;
    const least = Number(counted[1]);
    const most = counted[2] === undefined ? least : counted[3] === '' ? Infinity : Number(counted[3]);
    if (least > MOST_REPEATS || (most !== Infinity && (most > MOST_REPEATS || most < least))) {
      throw new PatternError(`${counted[0]} is no repetition: at most ${MOST_REPEATS}, the smaller number first`);
    }
    return [least, most];
  }

  #one(): Node {
    const char = this.#source[this.#at++]!;
    switch (char) {
      case '(':
        return this.#group();
      case '[':
        return { kind: 'set', set: this.#bracket() };
      case '.':
        return { kind: 'set', set: ANY };
      case '^':
        return { kind: 'assert', what: AT_START };
      case '$':
        return { kind: 'assert', what: AT_END };
      case '\\':
        return this.#escape();
      case '*':
      case '+':
      case '?':
        throw new PatternError(`nothing to repeat before "${char}"`);
      default:
        return { kind: 'set', set: classBit(char) };
    }
  }

  #group(): Node {
    if (this.#take('?')) {
      const flags = /^(?:[imsU-]*:|P?<[A-Za-z_][A-Za-z0-9_]*>)/.exec(this.#source.slice(this.#at, this.#at + 80));
      if (flags === null) throw new PatternError('look-around and other "(?" groups are not possible');
      this.#at += flags[0].length;
    }
    const node = this.#alternatives();
    if (!this.#take(')')) throw new PatternError('a "(" without its ")"');
    return node;
  }

  #escape(): Node {
    const char = this.#source[this.#at++];
    if (char === undefined) throw new PatternError('a "\\" at its end');
    switch (char) {
      case 'A':
        return { kind: 'assert', what: AT_START };
      case 'z':
        return { kind: 'assert', what: AT_END };
      case 'b':
        return { kind: 'assert', what: AT_BOUNDARY };
      case 'B':
        return { kind: 'assert', what: NOT_AT_BOUNDARY };
      default:
        return { kind: 'set', set: this.#escaped(char) };
    }
  }

  /** The set of an escaped character; inside brackets as well. */
  #escaped(char: string): number {
    switch (char) {
      case 'd':
        return DIGITS;
      case 'D':
        return ANY & ~DIGITS;
      case 's':
        return BLANK_BIT | OTHER_BIT;
      case 'S':
        return ANY & ~BLANK_BIT;
      case 'w':
        return DIGITS | OTHER_BIT;
      case 'W':
        return BLANK_BIT | OTHER_BIT;
      case 'n':
      case 't':
      case 'r':
      case 'f':
      case 'v':
        return OTHER_BIT;
      default:
        if (/[A-Za-z0-9]/.test(char)) throw new PatternError(`\\${char} is not possible`);
        return classBit(char);
    }
  }

  #bracket(): number {
    const negated = this.#take('^');
    let set = 0;
    for (let first = true; ; first = false) {
      const char = this.#source[this.#at++];
      if (char === undefined) throw new PatternError('a "[" without its "]"');
      if (char === ']' && !first) break;
      if (char === '[' && this.#sees(':')) {
        set |= this.#named();
        continue;
      }
      if (char === '\\') {
        const escaped = this.#source[this.#at++];
        if (escaped === undefined) throw new PatternError('a "\\" at its end');
        set |= this.#escaped(escaped);
        continue;
      }
      const last = this.#source[this.#at + 1];
      if (this.#sees('-') && last !== undefined && last !== ']') {
        this.#at += 2;
        if (last < char) throw new PatternError(`the range ${char}-${last} is the wrong way round`);
        set |= rangeBits(char, last);
      } else set |= classBit(char);
    }
    // A class that names none of our characters can still stand for others that no path holds.
    return negated ? (ANY & ~set) | OTHER_BIT : set;
  }

  #named(): number {
    const named = /^:(\^?)(digit|space|alnum|xdigit|word|blank):\]/.exec(this.#source.slice(this.#at, this.#at + 16));
    if (named === null) throw new PatternError('an unknown class in brackets');
    this.#at += named[0].length;
    const set = named[2] === 'space' || named[2] === 'blank' ? BLANK_BIT | OTHER_BIT : DIGITS | OTHER_BIT;
    return named[1] === '^' ? (ANY & ~set) | OTHER_BIT : set;
  }

  #sees(char: string): boolean {
    return this.#source[this.#at] === char;
  }

  #take(char: string): boolean {
    if (!this.#sees(char)) return false;
    this.#at++;
    return true;
  }
}

function classBit(char: string): number {
  if (char === ' ') return BLANK_BIT;
  return char >= '0' && char <= '9' ? 1 << Number(char) : OTHER_BIT;
}

function rangeBits(first: string, last: string): number {
  let set = OTHER_BIT;
  if (first <= ' ' && last >= ' ') set |= BLANK_BIT;
  for (let digit = 0; digit <= 9; digit++) if (first <= String(digit) && last >= String(digit)) set |= 1 << digit;
  return set;
}
