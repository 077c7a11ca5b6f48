// RFC 7950 §6: the text of a module becomes a tree of statements, each with its place. Nothing here knows what a statement
// means. Nesting is walked with a stack of our own, so a hostile module cannot exhaust the call stack.

/** One YANG statement. `line` counts from 1; `module` is the name the reader was given (a module or file name). */
export interface Statement {
  readonly keyword: string;
  readonly argument: string | undefined;
  readonly children: readonly Statement[];
  readonly module: string;
  readonly line: number;
}

/** A fault in a YANG module. The message names module, line and statement: `ze-types:12: typedef asn: …`. */
export class YangError extends Error {
  override readonly name = 'YangError';
  readonly module: string;
  readonly line: number;

  constructor(at: { module: string; line: number; keyword?: string; argument?: string | undefined }, message: string) {
    const statement =
      at.keyword === undefined ? '' : `${shown(at.keyword)}${at.argument === undefined ? '' : ` ${shown(at.argument)}`}: `;
    super(visible(`${at.module}:${at.line}: ${statement}${message}`));
    this.module = at.module;
    this.line = at.line;
  }
}

const SHOWN = 64;

/** An argument in a message: one line, of bounded length, control characters as escapes. */
function shown(argument: string): string {
  return visible(argument.length > SHOWN ? `${argument.slice(0, SHOWN)}…` : argument);
}

function visible(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

interface Open {
  readonly keyword: string;
  readonly argument: string | undefined;
  readonly children: Statement[];
  readonly line: number;
}

const MAX_DEPTH = 64;
const SEPARATORS = ' \t\r\n';

/** Reads every top-level statement of `text` (a module has one). Throws `YangError`. */
export function readStatements(text: string, module: string): Statement[] {
  const lexer = new Lexer(text, module);
  const top: Statement[] = [];
  const stack: Open[] = [];
  while (true) {
    const token = lexer.next();
    const parent = stack.at(-1);
    if (token === undefined) {
      if (parent !== undefined) throw new YangError({ ...parent, module }, 'is not closed: a "}" is missing');
      return top;
    }
    if (token.kind === '}') {
      const open = stack.pop();
      if (open === undefined) throw new YangError({ module, line: token.line }, 'a "}" closes nothing');
      (stack.at(-1)?.children ?? top).push({ ...open, module });
      continue;
    }
    if (token.kind !== 'word')
      throw new YangError({ module, line: token.line }, `expected a statement, found ${describe(token)}`);
    const { argument, end } = readRest(lexer, token, module);
    const statement = { keyword: token.text, argument, children: [], line: token.line };
    if (end === ';') (parent?.children ?? top).push({ ...statement, module });
    else if (stack.length >= MAX_DEPTH) throw new YangError({ ...statement, module }, `nested deeper than ${MAX_DEPTH} levels`);
    else stack.push(statement);
  }
}

function readRest(lexer: Lexer, keyword: Token, module: string): { argument: string | undefined; end: ';' | '{' } {
  const at = { module, line: keyword.line, keyword: keyword.text };
  let token = lexer.next();
  let argument: string | undefined;
  if (token?.kind === 'word' || token?.kind === 'string') {
    argument = token.text;
    const joinable = token.kind === 'string';
    token = lexer.next();
    while (joinable && token?.kind === 'word' && token.text === '+') {
      const part = lexer.next();
      if (part?.kind !== 'string') throw new YangError(at, 'a quoted string must follow "+"');
      argument += part.text;
      token = lexer.next();
    }
  }
  if (token?.kind === ';' || token?.kind === '{') return { argument, end: token.kind };
  throw new YangError({ ...at, argument }, `expected ";" or "{", found ${token === undefined ? 'end of file' : describe(token)}`);
}

interface Token {
  readonly kind: 'word' | 'string' | '{' | '}' | ';';
  readonly text: string;
  readonly line: number;
}

function describe(token: Token): string {
  return `"${shown(token.text)}"`;
}

class Lexer {
  readonly #text: string;
  readonly #module: string;
  #at = 0;
  #line = 1;
  /** Where the line began that `#at` is in: looked for once a line, not once a string. */
  #lineStart = 0;
  /** YANG 1 left other escapes alone (RFC 6020 §6.1.3), YANG 1.1 refuses them. */
  readonly #strict: boolean;

  constructor(text: string, module: string) {
    this.#text = text;
    this.#module = module;
    this.#at = text.startsWith('\uFEFF') ? 1 : 0;
    this.#strict = /\byang-version\s+["']?1\.1\b/.test(text);
  }

  next(): Token | undefined {
    this.#skip();
    const c = this.#text[this.#at];
    if (c === undefined) return undefined;
    const line = this.#line;
    if (c === '{' || c === '}' || c === ';') {
      this.#at++;
      return { kind: c, text: c, line };
    }
    if (c === '"') return { kind: 'string', text: this.#double(), line };
    if (c === "'") return { kind: 'string', text: this.#single(), line };
    const start = this.#at;
    while (this.#at < this.#text.length && !this.#endsWord()) this.#at++;
    return { kind: 'word', text: this.#text.slice(start, this.#at), line };
  }

  #endsWord(): boolean {
    const c = this.#text[this.#at]!;
    if (SEPARATORS.includes(c) || c === '{' || c === '}' || c === ';' || c === '"' || c === "'") return true;
    return c === '/' && (this.#text[this.#at + 1] === '/' || this.#text[this.#at + 1] === '*');
  }

  #skip(): void {
    while (this.#at < this.#text.length) {
      const c = this.#text[this.#at]!;
      if (c === '\n') this.#newLine(this.#at);
      if (SEPARATORS.includes(c)) this.#at++;
      else if (this.#text.startsWith('//', this.#at)) {
        const end = this.#text.indexOf('\n', this.#at);
        this.#at = end < 0 ? this.#text.length : end;
      } else if (this.#text.startsWith('/*', this.#at)) {
        const end = this.#text.indexOf('*/', this.#at + 2);
        if (end < 0) throw new YangError({ module: this.#module, line: this.#line }, 'a comment is not closed');
        for (let i = this.#at; i < end; i++) if (this.#text[i] === '\n') this.#newLine(i);
        this.#at = end + 2;
      } else return;
    }
  }

  #single(): string {
    const end = this.#text.indexOf("'", this.#at + 1);
    if (end < 0) throw new YangError({ module: this.#module, line: this.#line }, 'a string is not closed');
    const text = this.#text.slice(this.#at + 1, end);
    for (let i = this.#at + 1; i < end; i++) if (this.#text[i] === '\n') this.#newLine(i);
    this.#at = end + 1;
    return text;
  }

  #newLine(at: number): void {
    this.#line++;
    this.#lineStart = at + 1;
  }

  /** RFC 7950 §6.1.3: line breaks lose the blanks before them and the indentation up to the column after the quote. */
  #double(): string {
    const text = this.#text;
    const line = this.#line;
    const column = this.#at - this.#lineStart + 1;
    const lines: string[] = [];
    let out = '';
    for (let at = this.#at + 1; at < text.length; at++) {
      const c = text[at]!;
      if (c === '"') {
        this.#at = at + 1;
        lines.push(out);
        return lines.join('\n');
      }
      if (c === '\\') {
        const next = text[++at];
        if (next === 'n') out += '\n';
        else if (next === 't') out += '\t';
        else if (next === '"' || next === '\\') out += next;
        else if (!this.#strict && next !== undefined) {
          out += '\\';
          at--;
        } else throw new YangError({ module: this.#module, line: this.#line }, `unknown escape "\\${next ?? ''}" in a string`);
      } else if (c === '\n') {
        this.#newLine(at);
        lines.push(withoutBlanks(out));
        out = '';
        for (let blank = 0; blank < column && (text[at + 1] === ' ' || text[at + 1] === '\t'); at++) {
          blank += text[at + 1] === '\t' ? 8 : 1;
        }
      } else out += c;
    }
    throw new YangError({ module: this.#module, line }, 'a string is not closed');
  }
}

/** The line without the blanks at its end; walked from behind, so that a line of blanks costs its length once. */
function withoutBlanks(line: string): string {
  let end = line.length;
  while (end > 0 && ' \t\r'.includes(line[end - 1]!)) end--;
  return line.slice(0, end);
}
