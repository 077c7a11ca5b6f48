/**
 * The patterns of YANG strings (RFC 7950 §9.4.5). A plugin's module may bring one that backtracks for ever on a harmless value, and a
 * match cannot be left half way: those that might are run in a context of their own, which the time limit ends.
 */
import { createContext, Script } from 'node:vm';

/** `undefined`: not told within the time. */
export type Verdict = boolean | undefined;

const MATCH_MS = 200;
/** A pattern that was stopped so often in a row is not tried again for a while: a list of such values is refused as fast as a few. */
const PATIENCE = 4;
const REST_MS = 1000;
/** Expressions kept; plugins come and go. */
const KEPT = 4096;

const expressions = new Map<string, RegExp>();

export function matchesPattern(source: string, text: string): Verdict {
  const expression = compiled(source);
  return isStraight(source) ? expression.test(text) : limited(expression, text);
}

/** One thing repeated at most, no alternatives: every text has one way through it. */
function isStraight(source: string): boolean {
  return !source.includes('|') && (source.replaceAll(/\{\d+\}/g, '').match(/[*+?{]/g)?.length ?? 0) <= 1;
}

/** How often in a row an expression was stopped, and when it was last. */
const stopped = new WeakMap<RegExp, { readonly times: number; readonly at: number }>();
const room = { expression: /^$/, text: '' };
let context: object | undefined;
let script: Script | undefined;

function limited(expression: RegExp, text: string): Verdict {
  const before = stopped.get(expression) ?? { times: 0, at: 0 };
  if (before.times >= PATIENCE && performance.now() - before.at < REST_MS) return undefined;
  context ??= createContext(room);
  script ??= new Script('expression.test(text)');
  room.expression = expression;
  room.text = text;
  try {
    const matches = script.runInContext(context, { timeout: MATCH_MS }) as boolean;
    stopped.delete(expression);
    return matches;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    stopped.set(expression, { times: before.times + 1, at: performance.now() });
    return undefined;
  } finally {
    room.text = '';
  }
}

function compiled(source: string): RegExp {
  let expression = expressions.get(source);
  if (expression === undefined) {
    expression = new RegExp(`^(?:${source})$`, 'u');
    if (expressions.size >= KEPT) expressions.clear();
    expressions.set(source, expression);
  }
  return expression;
}
