// Patterns of plugins' names: matched in time bounded by the text, whatever the pattern.
import { matchesPattern } from '../text/pattern.ts';

/** Does a name begin as the pattern says? A `^` in front is understood, a `$` behind means the whole name; undefined: no pattern. */
export function matchesName(pattern: string, name: string): boolean | undefined {
  const core = pattern.replace(/^\^/, '');
  const whole = core.endsWith('$') && !core.endsWith('\\$');
  return matchesPattern(whole ? core.slice(0, -1) : `(${core}).*`, name);
}
