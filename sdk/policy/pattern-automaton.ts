/**
 * Several expressions matched at once, in one pass over a text whatever they are: the states that are possible at a place are one
 * state of an automaton that is built as texts ask for it (a lazy DFA, as RE2 has). Its size is bounded: full, it begins anew.
 */
import {
  ASSERT,
  AT_BOUNDARY,
  AT_END,
  AT_START,
  BLANK,
  CLASSES,
  CONSUME,
  MATCH,
  NOT_AT_BOUNDARY,
  SPLIT,
  type PatternProgram,
  type PatternState,
} from './pattern-program.ts';

/** States kept; then all of them are forgotten. */
const MOST_STATES = 2048;
const UNKNOWN = -1;
/** What stands before a place. */
const START = 0;
const DIGIT = 1;
const SPACE = 2;
/** The "character" behind the last one. */
const END = CLASSES;
const NOTHING = 0x7fffffff;

/** One state: which program states are alive, what came before, and the first pattern that has matched by now. */
interface Held {
  readonly alive: Int32Array;
  readonly before: number;
  readonly matched: number;
}

export class PatternAutomaton {
  readonly #states: PatternState[] = [];
  /** By state: which pattern it belongs to. */
  readonly #owner: number[] = [];
  readonly #starts: number[] = [];
  #held: Held[] = [];
  #ids = new Map<string, number>();
  /** By state and class (END the last): the next state; for END the pattern that matched, NOTHING when none did. */
  #next = new Int32Array(0);
  /** Nothing that comes can change what matched. */
  #settled = new Uint8Array(0);
  readonly #marks: Uint32Array;
  #mark = 0;
  readonly #stack: number[] = [];

  /** Patterns in the order in which the first that matches wins. */
  constructor(programs: readonly PatternProgram[]) {
    for (const [pattern, { states, start }] of programs.entries()) {
      const base = this.#states.length;
      for (const { kind, set, next, other } of states) {
        this.#states.push({ kind, set, next: next < 0 ? -1 : next + base, other: other < 0 ? -1 : other + base });
        this.#owner.push(pattern);
      }
      this.#starts.push(start + base);
    }
    this.#marks = new Uint32Array(this.#states.length);
    this.#forget();
  }

  /** The state before the first character. */
  readonly initial = 0;

  /** From a state by a character of this class (0..9, BLANK). */
  step(state: number, klass: number): number {
    const next = this.#next[state * (CLASSES + 1) + klass]!;
    return next !== UNKNOWN ? next : this.#grow(state, klass);
  }

  /** From a state by the digits of a number. */
  number(state: number, value: number): number {
    let at = state;
    let scale = 1;
    while (scale * 10 <= value) scale *= 10;
    let left = value;
    for (; scale >= 1; scale = scale === 1 ? 0 : scale / 10) {
      const digit = Math.floor(left / scale);
      left -= digit * scale;
      at = this.step(at, digit);
    }
    return at;
  }

  blank(state: number): number {
    return this.step(state, BLANK);
  }

  /** No text that goes on from here matches another pattern first. */
  settled(state: number): boolean {
    return this.#settled[state] === 1;
  }

  /** The first pattern that matches somewhere in the text that led here; -1 when none does. */
  end(state: number): number {
    const at = state * (CLASSES + 1) + END;
    let result = this.#next[at]!;
    if (result === UNKNOWN) result = this.#next[at] = this.#close(this.#held[state]!, END).matched;
    return result === NOTHING ? -1 : result;
  }

  #grow(state: number, klass: number): number {
    const from = this.#held[state]!;
    const { consumed, matched } = this.#close(from, klass);
    const before = klass === BLANK ? SPACE : DIGIT;
    const to = this.#intern({ alive: Int32Array.from(consumed.sort((a, b) => a - b)), before, matched });
    // The table may have been forgotten meanwhile: then the state we came from has no row any more.
    if (this.#held[state] === from) this.#next[state * (CLASSES + 1) + klass] = to;
    return to;
  }

  /**
   * What is alive after a character, and what matched in front of it. A pattern that has matched, and those behind it, are dead: the
   * first one counts.
   */
  #close(from: Held, klass: number): { readonly consumed: number[]; readonly matched: number } {
    let { matched } = from;
    const consumed: number[] = [];
    const stack = this.#stack;
    const mark = ++this.#mark;
    const push = (state: number): void => {
      if (this.#marks[state] === mark) return;
      this.#marks[state] = mark;
      stack.push(state);
    };
    for (const state of from.alive) push(state);
    // A match may begin at every place.
    for (const state of this.#starts) push(state);
    const taken: number[] = [];
    while (stack.length > 0) {
      const index = stack.pop()!;
      const state = this.#states[index]!;
      switch (state.kind) {
        case SPLIT:
          push(state.next);
          push(state.other);
          break;
        case ASSERT:
          if (holds(state.set, from.before, klass)) push(state.next);
          break;
        case MATCH:
          matched = Math.min(matched, this.#owner[index]!);
          break;
        case CONSUME:
          if (klass !== END && (state.set & (1 << klass)) !== 0) taken.push(index);
          break;
      }
    }
    const seen = new Set<number>();
    for (const index of taken) {
      const { next } = this.#states[index]!;
      if (this.#owner[index]! >= matched || seen.has(next)) continue;
      seen.add(next);
      consumed.push(next);
    }
    return { consumed, matched };
  }

  #intern(held: Held): number {
    const key = `${held.before} ${held.matched} ${held.alive.join()}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    if (this.#held.length >= MOST_STATES) this.#forget();
    const id = this.#held.length;
    this.#ids.set(key, id);
    this.#held.push(held);
    if (this.#next.length < (id + 1) * (CLASSES + 1)) this.#widen();
    this.#settled[id] = held.matched === 0 || this.#starts.length === 0 ? 1 : 0;
    return id;
  }

  #widen(): void {
    const next = new Int32Array(Math.max(16 * (CLASSES + 1), 2 * this.#next.length)).fill(UNKNOWN);
    next.set(this.#next);
    this.#next = next;
    const settled = new Uint8Array(next.length / (CLASSES + 1));
    settled.set(this.#settled);
    this.#settled = settled;
  }

  #forget(): void {
    this.#held = [];
    this.#ids = new Map();
    this.#next = new Int32Array(0);
    this.#settled = new Uint8Array(0);
    this.#intern({ alive: new Int32Array(0), before: START, matched: NOTHING });
  }
}

function holds(what: number, before: number, klass: number): boolean {
  switch (what) {
    case AT_START:
      return before === START;
    case AT_END:
      return klass === END;
    case AT_BOUNDARY:
    case NOT_AT_BOUNDARY: {
      const boundary = (before === DIGIT) !== klass < BLANK;
      return boundary === (what === AT_BOUNDARY);
    }
    default:
      return false;
  }
}
