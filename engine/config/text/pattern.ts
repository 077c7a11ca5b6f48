// The patterns of YANG strings, each compiled once. A plugin's module may bring any: a match costs what the text is long (see the
// automata of `yang/compile/pattern`), so nothing here needs a clock.
import { compilePattern, type Matcher, PatternError } from '../../../yang/compile/pattern.ts';

/** `undefined`: the pattern is too large for the text, or none at all. */
export type Verdict = boolean | undefined;

/** Expressions kept, and steps of their automata; plugins come and go. */
const KEPT = 1024;
const KEPT_STEPS = 200_000;

const matchers = new Map<string, Matcher | undefined>();
let steps = 0;

export function matchesPattern(source: string, text: string): Verdict {
  let matcher = matchers.get(source);
  if (matcher === undefined && !matchers.has(source)) {
    matcher = compiled(source);
    steps += matcher?.size ?? 0;
    if (matchers.size >= KEPT || steps > KEPT_STEPS) {
      matchers.clear();
      steps = matcher?.size ?? 0;
    }
    matchers.set(source, matcher);
  }
  return matcher?.test(text);
}

/** Patterns of a schema were checked when it was compiled; those of `re-match` were not. */
function compiled(source: string): Matcher | undefined {
  try {
    return compilePattern(source);
  } catch (error) {
    if (error instanceof PatternError) return undefined;
    throw error;
  }
}
