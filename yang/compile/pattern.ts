// The regular expressions of YANG (RFC 7950 §9.4.5: those of XSD) as automata. A match looks at every character once and never goes
// back, so no pattern and no text can hold it up; there are no groups to remember, and nothing else of other dialects.
// Where we leave XSD: one `^` at the beginning and one `$` at the end are read as the anchors their authors meant, and a backslash
// before any sign stands for the sign.

export class PatternError extends Error {
  override readonly name = 'PatternError';
}

type Piece =
  | { readonly kind: 'set'; readonly set: CharacterSet }
  | { readonly kind: 'sequence'; readonly of: readonly Piece[] }
  | { readonly kind: 'either'; readonly of: readonly Piece[] }
  | { readonly kind: 'repeat'; readonly of: Piece; readonly low: number; readonly high: number };

/** Characters by pairs of bounds and by Unicode class; all may be negated, and another set taken away. */
interface CharacterSet {
  readonly ranges: number[];
  readonly classes: ((code: number) => boolean)[];
  negated: boolean;
  without: CharacterSet | undefined;
}

const MAXIMUM_SOURCE = 16_384;
const MAXIMUM_DEPTH = 100;
/** Steps of one automaton: bounded repeats are written out. */
const MAXIMUM_PROGRAM = 20_000;

/** One step: a set of characters to take, a fork, or the end. */
type Step =
  | { readonly kind: 'take'; readonly set: CharacterSet; next: number }
  | { readonly kind: 'fork'; a: number; b: number }
  | { readonly kind: 'end' };

/** Reads an expression. Throws `PatternError`. */
export function compilePattern(source: string): Matcher {
  if (source.length > MAXIMUM_SOURCE) throw new PatternError(`longer than ${MAXIMUM_SOURCE} characters`);
  const anchored = source.replace(/^\^/, '').replace(/((?:^|[^\\])(?:\\\\)*)\$$/, '$1');
  return new Matcher(new Program(new PatternReader(anchored).whole()).steps);
}

class PatternReader {
  readonly #source: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = Array.from(source);
  }

  whole(): Piece {
    const piece = this.#either();
    if (this.#at < this.#source.length) throw new PatternError(`unexpected "${this.#source[this.#at] ?? ''}"`);
    return piece;
  }

  #either(): Piece {
    if (++this.#depth > MAXIMUM_DEPTH) throw new PatternError(`nested deeper than ${MAXIMUM_DEPTH} levels`);
    const of: Piece[] = [this.#sequence()];
    while (this.#source[this.#at] === '|') {
      this.#at++;
      of.push(this.#sequence());
    }
    this.#depth--;
    return of.length === 1 ? of[0]! : { kind: 'either', of };
  }

  #sequence(): Piece {
    const of: Piece[] = [];
    for (let c = this.#source[this.#at]; c !== undefined && c !== '|' && c !== ')'; c = this.#source[this.#at]) {
      of.push(this.#repeated(this.#atom(c)));
    }
    return of.length === 1 ? of[0]! : { kind: 'sequence', of };
  }

  #atom(c: string): Piece {
    this.#at++;
    switch (c) {
      case '(': {
        if (this.#source[this.#at] === '?') throw new PatternError('groups beginning with "(?" are no part of XSD');
        const inner = this.#either();
        if (this.#source[this.#at] !== ')') throw new PatternError('a ")" is missing');
        this.#at++;
        return inner;
      }
      case '[':
        return { kind: 'set', set: this.#class() };
      case '.':
        return { kind: 'set', set: { ...fresh(), ranges: [10, 10, 13, 13], negated: true } };
      case '\\':
        return { kind: 'set', set: this.#escape() };
      case '*':
      case '+':
      case '?':
        throw new PatternError(`"${c}" repeats nothing`);
      case '{':
      case '}':
      case ']':
        throw new PatternError(`a "${c}" must be escaped`);
      default:
        return { kind: 'set', set: single(c) };
    }
  }

  #repeated(piece: Piece): Piece {
    const c = this.#source[this.#at];
    if (c !== '*' && c !== '+' && c !== '?' && c !== '{') return piece;
    this.#at++;
    let bounds: readonly [number, number] = c === '*' ? [0, Infinity] : c === '+' ? [1, Infinity] : [0, 1];
    if (c === '{') {
      const end = this.#source.indexOf('}', this.#at);
      const text = end < 0 ? '' : this.#source.slice(this.#at, end).join('');
      const match = /^(\d{1,5})(?:(,)(\d{0,5}))?$/.exec(text);
      if (match === null) throw new PatternError('a repeat must be {n}, {n,} or {n,m}');
      const low = Number(match[1]);
      bounds = [low, match[2] === undefined ? low : match[3] === '' ? Infinity : Number(match[3])];
      if (bounds[0] > bounds[1]) throw new PatternError(`{${text}} is upside down`);
      this.#at = end + 1;
    }
    const next = this.#source[this.#at];
    if (next === '?' || next === '+' || next === '*' || next === '{') throw new PatternError('a repeat may not be repeated');
    return { kind: 'repeat', of: piece, low: bounds[0], high: bounds[1] };
  }

  /** Behind the `[`. */
  #class(depth = 0): CharacterSet {
    if (depth > MAXIMUM_DEPTH) throw new PatternError(`nested deeper than ${MAXIMUM_DEPTH} levels`);
    const set = fresh();
    if (this.#source[this.#at] === '^') {
      set.negated = true;
      this.#at++;
    }
    for (let first = true; ; first = false) {
      const c = this.#source[this.#at++];
      if (c === undefined) throw new PatternError('a "]" is missing');
      if (c === ']') {
        if (first) throw new PatternError('a class of characters is empty');
        return set;
      }
      if (c === '-' && this.#source[this.#at] === '[' && !first) {
        this.#at++;
        set.without = this.#class(depth + 1);
        if (this.#source[this.#at++] !== ']') throw new PatternError('a subtraction must end the class');
        return set;
      }
      if (c === '[') throw new PatternError('a "[" in a class must be escaped');
      const low = c === '\\' ? this.#escape() : single(c);
      const code = low.ranges.length === 2 && low.ranges[0] === low.ranges[1] && !low.negated ? low.ranges[0]! : -1;
      const after = this.#source[this.#at + 1];
      if (this.#source[this.#at] !== '-' || after === undefined || after === ']' || after === '[' || code < 0) {
        if (low.negated) set.classes.push((one) => holds(low, one));
        else {
          set.ranges.push(...low.ranges);
          set.classes.push(...low.classes);
        }
        continue;
      }
      this.#at += 2;
      const high = after === '\\' ? this.#escape() : single(after);
      const end = high.ranges.length === 2 && high.ranges[0] === high.ranges[1] ? high.ranges[0]! : -1;
      if (end < code) throw new PatternError(`the range ${c}-${after} is upside down`);
      set.ranges.push(code, end);
    }
  }

  /** Behind the backslash. */
  #escape(): CharacterSet {
    const c = this.#source[this.#at++];
    switch (c) {
      case undefined:
        throw new PatternError('a backslash stands at the end');
      case 'n':
        return single('\n');
      case 'r':
        return single('\r');
      case 't':
        return single('\t');
      case 's':
      case 'S':
        return { ...fresh(), ranges: [9, 10, 13, 13, 32, 32], negated: c === 'S' };
      case 'd':
      case 'D':
        return property(/\p{Nd}/u, c === 'D');
      case 'w':
      case 'W':
        return property(/[^\p{P}\p{Z}\p{C}]/u, c === 'W');
      case 'i':
      case 'I':
        return property(/[\p{L}\p{Nl}_:]/u, c === 'I');
      case 'c':
      case 'C':
        return property(/[\p{L}\p{N}\p{Mn}\p{Mc}_:.\-\u00b7]/u, c === 'C');
      case 'p':
      case 'P':
        return this.#property(c === 'P');
      default:
        if (/[A-Za-z0-9]/.test(c)) throw new PatternError(`"\\${c}" is no escape of XSD`);
        return single(c);
    }
  }

  #property(negated: boolean): CharacterSet {
    const end = this.#source.indexOf('}', this.#at);
    if (this.#source[this.#at] !== '{' || end < 0) throw new PatternError('\\p needs a {name}');
    const name = this.#source.slice(this.#at + 1, end).join('');
    this.#at = end + 1;
    const block = BLOCKS[name];
    if (block !== undefined) return { ...fresh(), ranges: [...block], negated };
    if (!/^(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|Z[slp]?|S[mcko]?|C[cfon]?)$/.test(name)) {
      throw new PatternError(`\\p{${name}} is not known`);
    }
    return property(new RegExp(`\\p{${name}}`, 'u'), negated);
  }
}

/** XSD-TYPES §G.1.1: the blocks that modules use. */
const BLOCKS: Readonly<Record<string, readonly [number, number]>> = {
  IsBasicLatin: [0, 0x7f],
  'IsLatin-1Supplement': [0x80, 0xff],
  'IsLatinExtended-A': [0x100, 0x17f],
  'IsLatinExtended-B': [0x180, 0x24f],
  IsGreek: [0x370, 0x3ff],
  IsCyrillic: [0x400, 0x4ff],
  IsHebrew: [0x590, 0x5ff],
  IsArabic: [0x600, 0x6ff],
  IsGeneralPunctuation: [0x2000, 0x206f],
  IsHiragana: [0x3040, 0x309f],
  IsKatakana: [0x30a0, 0x30ff],
  IsCJKUnifiedIdeographs: [0x4e00, 0x9fff],
};

function fresh(): CharacterSet {
  return { ranges: [], classes: [], negated: false, without: undefined };
}

function single(c: string): CharacterSet {
  const code = c.codePointAt(0)!;
  return { ...fresh(), ranges: [code, code] };
}

function property(expression: RegExp, negated: boolean): CharacterSet {
  return { ...fresh(), classes: [(code) => expression.test(String.fromCodePoint(code))], negated };
}

function holds(set: CharacterSet, code: number): boolean {
  let found = false;
  const { ranges } = set;
  for (let at = 0; at < ranges.length && !found; at += 2) found = code >= ranges[at]! && code <= ranges[at + 1]!;
  for (let at = 0; at < set.classes.length && !found; at++) found = set.classes[at]!(code);
  if (found === set.negated) return false;
  return set.without === undefined || !holds(set.without, code);
}

/** Thompson's construction, written from the end backwards: each piece is given where to go on. */
class Program {
  readonly steps: Step[] = [];

  constructor(piece: Piece) {
    const end = this.#add({ kind: 'end' });
    const start = this.#write(piece, end);
    this.#add({ kind: 'fork', a: start, b: start });
  }

  #add(step: Step): number {
    if (this.steps.length >= MAXIMUM_PROGRAM)
      throw new PatternError(`grows past ${MAXIMUM_PROGRAM} steps: its repeats are too large`);
    this.steps.push(step);
    return this.steps.length - 1;
  }

  #write(piece: Piece, next: number): number {
    switch (piece.kind) {
      case 'set':
        return this.#add({ kind: 'take', set: piece.set, next });
      case 'sequence': {
        let to = next;
        for (let at = piece.of.length - 1; at >= 0; at--) to = this.#write(piece.of[at]!, to);
        return to;
      }
      case 'either': {
        let to = this.#write(piece.of.at(-1)!, next);
        for (let at = piece.of.length - 2; at >= 0; at--) {
          to = this.#add({ kind: 'fork', a: this.#write(piece.of[at]!, next), b: to });
        }
        return to;
      }
      case 'repeat': {
        let to = next;
        if (piece.high === Infinity) {
          const fork: Step = { kind: 'fork', a: next, b: next };
          to = this.#add(fork);
          fork.a = this.#write(piece.of, to);
        } else {
          for (let count = piece.low; count < piece.high; count++) {
            to = this.#add({ kind: 'fork', a: this.#write(piece.of, to), b: next });
          }
        }
        for (let count = 0; count < piece.low; count++) to = this.#write(piece.of, to);
        return to;
      }
    }
  }
}

/** States remembered; all are forgotten when there are more. */
const MAXIMUM_STATES = 512;
/** Characters remembered of one state. */
const MAXIMUM_NEXT = 4096;
/** Steps looked at for one text; far above what any pattern of people needs. */
const MAXIMUM_WORK = 20_000_000;

interface State {
  /** Steps that take a character. */
  readonly takes: Int32Array;
  readonly ends: boolean;
  readonly next: Map<number, State>;
}

/** Matches whole texts. The automaton's states are made as they are met, and kept. */
export class Matcher {
  readonly #steps: readonly Step[];
  readonly #marks: Uint32Array;
  #mark = 0;
  /** Steps the last closure looked at. */
  #visited = 0;
  readonly #states = new Map<string, State>();
  #start: State | undefined;
  /** Shortest text that was given up. */
  #givenUp = Infinity;

  constructor(steps: readonly Step[]) {
    this.#steps = steps;
    this.#marks = new Uint32Array(steps.length);
  }

  /** Steps of the automaton: what it takes to make it, and to keep it. */
  get size(): number {
    return this.#steps.length;
  }

  /** `undefined` = given up: the pattern is too large for a text of this length. */
  test(text: string): boolean | undefined {
    if (text.length >= this.#givenUp) return undefined;
    let state = (this.#start ??= this.#closure([this.#steps.length - 1]));
    let work = 0;
    for (const c of text) {
      const code = c.codePointAt(0)!;
      let next = state.next.get(code);
      if (next === undefined) {
        const to: number[] = [];
        for (const at of state.takes) {
          const step = this.#steps[at]!;
          if (step.kind === 'take' && holds(step.set, code)) to.push(step.next);
        }
        next = this.#closure(to);
        work += state.takes.length + this.#visited;
        if (state.next.size >= MAXIMUM_NEXT) state.next.clear();
        state.next.set(code, next);
        if (work > MAXIMUM_WORK) {
          this.#givenUp = text.length;
          return undefined;
        }
      }
      if (next.takes.length === 0 && !next.ends) return false;
      state = next;
    }
    return state.ends;
  }

  /** Everything reached from some steps without taking a character. */
  #closure(from: readonly number[]): State {
    const mark = ++this.#mark;
    const stack = [...from];
    const takes: number[] = [];
    let ends = false;
    this.#visited = 0;
    while (stack.length > 0) {
      this.#visited++;
      const at = stack.pop()!;
      if (this.#marks[at] === mark) continue;
      this.#marks[at] = mark;
      const step = this.#steps[at]!;
      if (step.kind === 'take') takes.push(at);
      else if (step.kind === 'end') ends = true;
      else stack.push(step.b, step.a);
    }
    takes.sort((a, b) => a - b);
    const key = `${ends ? '1' : '0'} ${takes.join(' ')}`;
    const before = this.#states.get(key);
    if (before !== undefined) return before;
    if (this.#states.size >= MAXIMUM_STATES) {
      for (const state of this.#states.values()) state.next.clear();
      this.#states.clear();
      this.#start = undefined;
    }
    const made: State = { takes: Int32Array.from(takes), ends, next: new Map() };
    this.#states.set(key, made);
    return made;
  }
}
