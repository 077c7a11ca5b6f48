// Config text as tokens (words, strings, punctuation), with places, comments and the semicolons that a line end implies.
// One pass, no regular expression over unbounded text: linear whatever the bytes.
import { clamp, type Place } from '../fault.ts';

export interface Comment {
  /** Without the `#` and the blanks around. */
  readonly text: string;
  /** Nothing but blanks stands before it on its line. */
  readonly own: boolean;
}

export interface Token extends Place {
  readonly kind: 'word' | 'string' | '{' | '}' | '[' | ']' | '(' | ')' | ';' | 'end';
  /** A `;` that a line end implied. */
  readonly implied: boolean;
  readonly text: string;
  /** Comments between the token before and this one. */
  readonly comments: readonly Comment[];
  /** An empty line stands before the token (or before its first comment). */
  readonly blank: boolean;
}

/** A fault that ends the reading: nothing behind it can be trusted. */
export class LexFault extends Error {
  readonly place: Place;

  constructor(place: Place, message: string) {
    super(message);
    this.place = place;
  }
}

/** Longest word or string, in UTF-16 units. */
export const MAXIMUM_TOKEN = 65_536;

const NONE: readonly Comment[] = [];
const PUNCTUATION = '{}[];';
const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;

export class Lexer {
  readonly #text: string;
  #at = 0;
  #line = 1;
  #lineStart = 0;
  /** A line end now implies a `;`. */
  #closes = false;
  #comments: Comment[] = [];
  #blank = false;
  #fresh = true;
  #ownComment = false;
  #peeked: Token | undefined;

  constructor(text: string) {
    this.#text = text.startsWith('\uFEFF') ? text.slice(1) : text;
  }

  /** The next token without taking it. Throws `LexFault`. */
  peek(): Token {
    this.#peeked ??= this.#read();
    return this.#peeked;
  }

  next(): Token {
    const token = this.peek();
    // The end stays, without its comments: they were handed out.
    this.#peeked = token.kind === 'end' ? { ...token, comments: NONE } : undefined;
    return token;
  }

  /** Skips blanks and comments; true when a line end was met that implies a `;`. */
  #skip(): boolean {
    const text = this.#text;
    while (this.#at < text.length) {
      const code = text.charCodeAt(this.#at);
      if (code === LF) {
        if (this.#closes && !this.#opensNext()) return true;
        if (this.#fresh && !this.#ownComment) this.#blank = true;
        this.#at++;
        this.#line++;
        this.#lineStart = this.#at;
        this.#fresh = true;
      } else if (code === SPACE || code === TAB || code === CR) this.#at++;
      else if (text[this.#at] === '#') {
        const end = text.indexOf('\n', this.#at);
        const stop = end < 0 ? text.length : end;
        this.#comments.push({ text: text.slice(this.#at + 1, stop).trim(), own: this.#fresh });
        this.#ownComment ||= this.#fresh;
        this.#at = stop;
      } else return false;
    }
    return this.#closes;
  }

  /** A `{` behind blanks and comments goes on with the statement: nothing else can begin with one. */
  #opensNext(): boolean {
    this.#closes = false;
    for (let at = this.#at; at < this.#text.length; at++) {
      const c = this.#text[at];
      if (c === '{') return true;
      if (c === '#') {
        const end = this.#text.indexOf('\n', at);
        if (end < 0) break;
        at = end;
      } else if (c !== ' ' && c !== '\t' && c !== '\r' && c !== '\n') break;
    }
    this.#closes = true;
    return false;
  }

  #read(): Token {
    const implied = this.#skip();
    const place = { line: this.#line, column: this.#at - this.#lineStart + 1 };
    if (implied) return this.#token(';', '', place, true);
    const c = this.#text[this.#at];
    if (c === undefined) return this.#token('end', '', place);
    if (PUNCTUATION.includes(c) || c === '(' || c === ')') {
      this.#at++;
      return this.#token(c as Token['kind'], c, place);
    }
    if (c === '"' || c === "'") return this.#token('string', this.#string(c, place), place);
    const start = this.#at;
    while (this.#at < this.#text.length && !endsWord(this.#text.charCodeAt(this.#at))) this.#at++;
    if (this.#at - start > MAXIMUM_TOKEN)
      throw new LexFault(place, `a word of ${this.#at - start} characters (max ${MAXIMUM_TOKEN})`);
    return this.#token('word', this.#text.slice(start, this.#at), place);
  }

  #token(kind: Token['kind'], text: string, place: Place, implied = false): Token {
    const token: Token = {
      kind,
      text,
      line: place.line,
      column: place.column,
      implied,
      comments: this.#comments.length === 0 ? NONE : this.#comments,
      blank: this.#blank,
    };
    if (this.#comments.length > 0) this.#comments = [];
    this.#blank = false;
    this.#fresh = false;
    this.#ownComment = false;
    this.#closes = kind === 'word' || kind === 'string' || kind === ']' || kind === ')';
    return token;
  }

  #string(quote: string, place: Place): string {
    const text = this.#text;
    let out = '';
    let from = this.#at + 1;
    for (let at = from; at < text.length; at++) {
      const c = text[at];
      if (c === quote) {
        out += text.slice(from, at);
        this.#at = at + 1;
        if (out.length > MAXIMUM_TOKEN) throw new LexFault(place, `a string of ${out.length} characters (max ${MAXIMUM_TOKEN})`);
        return out;
      }
      if (c === '\n') {
        this.#line++;
        this.#lineStart = at + 1;
      } else if (c === '\\') {
        out += text.slice(from, at);
        at++;
        const next = text[at] ?? '';
        // A backslash before anything else is dropped.
        out += next === 'n' ? '\n' : next === 't' ? '\t' : next;
        if (next === '\n') {
          this.#line++;
          this.#lineStart = at + 1;
        }
        from = at + 1;
      }
    }
    throw new LexFault(place, 'unterminated string');
  }
}

/** White space, `{ } [ ] ; " '` and `#`. Parentheses are ordinary inside a word. */
function endsWord(code: number): boolean {
  switch (code) {
    case SPACE:
    case TAB:
    case LF:
    case CR:
    case 0x22:
    case 0x23:
    case 0x27:
    case 0x3b:
    case 0x5b:
    case 0x5d:
    case 0x7b:
    case 0x7d:
      return true;
    default:
      return false;
  }
}

/** A token as a message names it. */
export function describe(token: Token): string {
  if (token.kind === 'end') return 'the end of the text';
  if (token.kind === ';' && token.implied) return 'the end of the line';
  return `"${clamp(token.text)}"`;
}
