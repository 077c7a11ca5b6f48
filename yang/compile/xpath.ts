// XPath 1.0 as YANG uses it (RFC 7950 §6.4) for `must`, `when` and the `path` of a leafref, as a tree of plain data. Names lose their
// prefixes, since our schema tree has one namespace; the prefixes must be known all the same.
//
// Taken: location paths (abbreviated, or with the axes below), predicates, `or and = != < <= > >= + - * div mod |`, literals, numbers, and
// the functions in `FUNCTIONS`. Not taken, and refused by name: variables, attributes, namespaces, the axes following and preceding,
// the node tests comment() and processing-instruction(), the functions id, lang and namespace-uri.

export type Axis =
  | 'child'
  | 'parent'
  | 'self'
  | 'descendant'
  | 'descendant-or-self'
  | 'ancestor'
  | 'ancestor-or-self'
  | 'following-sibling'
  | 'preceding-sibling';

export interface Step {
  readonly axis: Axis;
  /** A name, `*`, `node()` or `text()`. */
  readonly test: string;
  readonly predicates: readonly Expression[];
}

export type Operator = 'or' | 'and' | '=' | '!=' | '<' | '<=' | '>' | '>=' | '+' | '-' | '*' | 'div' | 'mod' | '|';

export type Expression =
  | { readonly kind: 'operator'; readonly operator: Operator; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'negative'; readonly of: Expression }
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'call'; readonly name: string; readonly arguments: readonly Expression[] }
  /** `from`: where the steps begin: at the node itself, at the root, or at what an expression answers. */
  | { readonly kind: 'path'; readonly from: 'here' | 'root' | Expression; readonly steps: readonly Step[] }
  | { readonly kind: 'filter'; readonly of: Expression; readonly predicates: readonly Expression[] };

export class XPathError extends Error {
  override readonly name = 'XPathError';
}

/** Functions by the number of arguments they take. */
const FUNCTIONS: Readonly<Record<string, readonly [low: number, high: number]>> = {
  current: [0, 0],
  last: [0, 0],
  position: [0, 0],
  count: [1, 1],
  name: [0, 1],
  'local-name': [0, 1],
  string: [0, 1],
  concat: [2, 64],
  'starts-with': [2, 2],
  contains: [2, 2],
  'substring-before': [2, 2],
  'substring-after': [2, 2],
  substring: [2, 3],
  'string-length': [0, 1],
  'normalize-space': [0, 1],
  translate: [3, 3],
  boolean: [1, 1],
  not: [1, 1],
  true: [0, 0],
  false: [0, 0],
  number: [0, 1],
  sum: [1, 1],
  floor: [1, 1],
  ceiling: [1, 1],
  round: [1, 1],
  deref: [1, 1],
  're-match': [2, 2],
  'derived-from': [2, 2],
  'derived-from-or-self': [2, 2],
  'enum-value': [1, 1],
  'bit-is-set': [2, 2],
};

const AXES: ReadonlySet<string> = new Set<Axis>([
  'child',
  'parent',
  'self',
  'descendant',
  'descendant-or-self',
  'ancestor',
  'ancestor-or-self',
  'following-sibling',
  'preceding-sibling',
]);

/** Weakest first. */
const LEVELS: readonly (readonly Operator[])[] = [
  ['or'],
  ['and'],
  ['=', '!='],
  ['<', '<=', '>', '>='],
  ['+', '-'],
  ['*', 'div', 'mod'],
];
const MAXIMUM_LENGTH = 8192;
const MAXIMUM_DEPTH = 64;

export interface XPathNames {
  /** Throws when a prefix is not known. */
  readonly prefix: (prefix: string) => void;
  /** The local name when a literal names an identity, else the literal. */
  readonly literal: (text: string) => string;
  /** Names of the identities derived from one, itself first. Throws when there is none. */
  readonly derived: (identity: string) => readonly string[];
}

/** Reads an expression. Throws `XPathError` (or what `names` throws). */
export function parseXPath(source: string, names: XPathNames): Expression {
  if (source.length > MAXIMUM_LENGTH) throw new XPathError(`longer than ${MAXIMUM_LENGTH} characters`);
  const parser = new XPathParser(tokens(source), names);
  return parser.whole();
}

interface Token {
  readonly kind: 'name' | 'literal' | 'number' | 'sign' | 'operator';
  readonly text: string;
}

const TOKEN =
  /\s*(?:("[^"]*"|'[^']*')|(\d+(?:\.\d*)?|\.\d+)|(\/\/|::|\.\.|!=|<=|>=|[()[\].,@/|+=<>*$-])|([\p{L}_][\p{L}\p{N}_.-]*(?::(?!:)(?:\*|[\p{L}_][\p{L}\p{N}_.-]*))?))/uy;

function tokens(source: string): Token[] {
  const out: Token[] = [];
  const text = source.trimEnd();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) throw new XPathError(`cannot be read from "${text.slice(at, at + 16).trim()}" on`);
    const [, literal, number, sign, name] = match;
    if (literal !== undefined) out.push({ kind: 'literal', text: literal.slice(1, -1) });
    else if (number !== undefined) out.push({ kind: 'number', text: number });
    // XPath §3.7: behind a value, `*` and the names of operators are operators.
    else if (sign === '*' && isValue(out.at(-1))) out.push({ kind: 'operator', text: '*' });
    else if (sign !== undefined) out.push({ kind: 'sign', text: sign });
    else if (['and', 'or', 'div', 'mod'].includes(name!) && isValue(out.at(-1))) out.push({ kind: 'operator', text: name! });
    else out.push({ kind: 'name', text: name! });
  }
  return out;
}

function isValue(before: Token | undefined): boolean {
  if (before === undefined || before.kind === 'operator') return false;
  return before.kind !== 'sign' || [')', ']', '.', '..', '*'].includes(before.text);
}

class XPathParser {
  readonly #tokens: readonly Token[];
  readonly #names: XPathNames;
  #at = 0;
  #depth = 0;
  /** Literals stay as they are: they are looked up as identities. */
  #raw = false;

  constructor(tokens: readonly Token[], names: XPathNames) {
    this.#tokens = tokens;
    this.#names = names;
  }

  whole(): Expression {
    const expression = this.#expression();
    const left = this.#tokens[this.#at];
    if (left !== undefined) throw new XPathError(`unexpected "${left.text}"`);
    return expression;
  }

  #is(text: string, kind: Token['kind'] = 'sign', ahead = 0): boolean {
    const token = this.#tokens[this.#at + ahead];
    return token?.kind === kind && token.text === text;
  }

  #expect(text: string): void {
    if (!this.#is(text)) throw new XPathError(`a "${text}" is missing before ${this.#shown()}`);
    this.#at++;
  }

  #shown(): string {
    const token = this.#tokens[this.#at];
    return token === undefined ? 'the end' : `"${token.text}"`;
  }

  #expression(level = 0): Expression {
    const operators = LEVELS[level];
    if (operators === undefined) return this.#negative();
    if (level === 0 && ++this.#depth > MAXIMUM_DEPTH) throw new XPathError(`nested deeper than ${MAXIMUM_DEPTH} levels`);
    let left = this.#expression(level + 1);
    while (true) {
      const token = this.#tokens[this.#at];
      const operator = operators.find((one) => token !== undefined && token.kind !== 'literal' && token.text === one);
      if (operator === undefined || token?.kind === 'name') break;
      this.#at++;
      left = { kind: 'operator', operator, left, right: this.#expression(level + 1) };
    }
    if (level === 0) this.#depth--;
    return left;
  }

  #negative(): Expression {
    let negative = false;
    while (this.#is('-')) {
      this.#at++;
      negative = !negative;
    }
    let left = this.#path();
    while (this.#is('|')) {
      this.#at++;
      left = { kind: 'operator', operator: '|', left, right: this.#path() };
    }
    return negative ? { kind: 'negative', of: left } : left;
  }

  #path(): Expression {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new XPathError('an expression is missing at the end');
    const primary = this.#primary(token);
    if (primary === undefined) return this.#location(token);
    const predicates = this.#predicates();
    const of: Expression = predicates.length === 0 ? primary : { kind: 'filter', of: primary, predicates };
    if (!this.#is('/') && !this.#is('//')) return of;
    const steps: Step[] = [];
    this.#steps(steps);
    return { kind: 'path', from: of, steps };
  }

  #location(token: Token): Expression {
    const steps: Step[] = [];
    const rooted = this.#is('/') || this.#is('//');
    if (rooted && token.text === '/' && !this.#beginsStep(1)) {
      this.#at++;
      return { kind: 'path', from: 'root', steps };
    }
    if (!rooted) steps.push(this.#step());
    this.#steps(steps);
    return { kind: 'path', from: rooted ? 'root' : 'here', steps };
  }

  #beginsStep(ahead: number): boolean {
    const token = this.#tokens[this.#at + ahead];
    return token?.kind === 'name' || (token?.kind === 'sign' && ['.', '..', '*', '@'].includes(token.text));
  }

  /** `/ step` and `// step`, as many as there are. */
  #steps(into: Step[]): void {
    while (this.#is('/') || this.#is('//')) {
      if (this.#is('//')) into.push({ axis: 'descendant-or-self', test: 'node()', predicates: [] });
      this.#at++;
      into.push(this.#step());
    }
  }

  #step(): Step {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new XPathError('a step is missing at the end');
    this.#at++;
    if (token.kind === 'sign' && token.text === '.') return { axis: 'self', test: 'node()', predicates: this.#predicates() };
    if (token.kind === 'sign' && token.text === '..') return { axis: 'parent', test: 'node()', predicates: this.#predicates() };
    if (token.kind === 'sign' && token.text === '*') return { axis: 'child', test: '*', predicates: this.#predicates() };
    if (token.kind === 'sign' && token.text === '@') throw new XPathError('attributes are not taken');
    if (token.kind !== 'name') throw new XPathError(`a step is missing before "${token.text}"`);
    if (!this.#is('::')) return { axis: 'child', test: this.#test(token), predicates: this.#predicates() };
    if (!AXES.has(token.text)) throw new XPathError(`the axis ${token.text} is not taken`);
    this.#at++;
    const name = this.#tokens[this.#at++];
    if (name === undefined || (name.kind !== 'name' && name.text !== '*'))
      throw new XPathError(`a name is missing after ${token.text}::`);
    return { axis: token.text as Axis, test: name.text === '*' ? '*' : this.#test(name), predicates: this.#predicates() };
  }

  #test(token: Token): string {
    if (this.#is('(')) {
      if (token.text !== 'node' && token.text !== 'text') throw new XPathError(`the function ${token.text}() is not taken here`);
      this.#at++;
      this.#expect(')');
      return `${token.text}()`;
    }
    return this.#local(token.text);
  }

  #local(name: string): string {
    const colon = name.indexOf(':');
    if (colon < 0) return name;
    this.#names.prefix(name.slice(0, colon));
    return name.slice(colon + 1);
  }

  #predicates(): Expression[] {
    const out: Expression[] = [];
    while (this.#is('[')) {
      this.#at++;
      out.push(this.#expression());
      this.#expect(']');
    }
    return out;
  }

  /** A literal, a number, a call, or something in parentheses; `undefined` when a location path stands here. */
  #primary(token: Token): Expression | undefined {
    if (token.kind === 'literal') {
      this.#at++;
      return { kind: 'literal', text: this.#raw ? token.text : this.#names.literal(token.text) };
    }
    if (token.kind === 'number') {
      this.#at++;
      return { kind: 'number', value: Number(token.text) };
    }
    if (token.kind === 'sign' && token.text === '(') {
      this.#at++;
      const inner = this.#expression();
      this.#expect(')');
      return inner;
    }
    if (token.kind === 'sign' && token.text === '$') throw new XPathError('variables are not taken');
    if (token.kind !== 'name' || !this.#is('(', 'sign', 1)) return undefined;
    if (token.text === 'node' || token.text === 'text') return undefined;
    return this.#call(token.text);
  }

  #call(name: string): Expression {
    const bounds = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
    if (bounds === undefined) throw new XPathError(`the function ${name}() is not taken`);
    this.#at += 2;
    const given: Expression[] = [];
    const before = this.#raw;
    this.#raw = name.startsWith('derived-from');
    while (!this.#is(')')) {
      if (given.length > 0) this.#expect(',');
      given.push(this.#expression());
    }
    this.#at++;
    this.#raw = before;
    const [low, high] = bounds;
    if (given.length < low || given.length > high) {
      throw new XPathError(`${name}() takes ${low === high ? low : `${low} to ${high}`} arguments, found ${given.length}`);
    }
    if (!name.startsWith('derived-from')) return { kind: 'call', name, arguments: given };
    // The identities are looked up now: whoever evaluates knows no modules.
    const of = given[1];
    if (of?.kind !== 'literal') throw new XPathError(`${name}() needs an identity in quotes`);
    const [self = '', ...below] = this.#names.derived(of.text);
    const accepted = name === 'derived-from' ? below : [self, ...below];
    return { kind: 'call', name, arguments: [given[0]!, { kind: 'literal', text: accepted.join(' ') }] };
  }
}
