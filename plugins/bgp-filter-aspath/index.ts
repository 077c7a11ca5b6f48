// bgp-filter-aspath: `bgp/policy/as-path-list`.
import { definePlugin } from '../../sdk/plugin/define.ts';
import { entriesOf, textAt } from '../../sdk/policy/definition.ts';
import { AsPathReader } from '../../sdk/policy/as-path-reader.ts';
import { PatternAutomaton } from '../../sdk/policy/pattern-automaton.ts';
import { compilePattern } from '../../sdk/policy/pattern-program.ts';
import type { RouteFilter } from '../../sdk/policy/route-filter.ts';

export default definePlugin({
  name: 'bgp-filter-aspath',
  placement: 'reactor',
  autoload: ['bgp'],
  failurePolicy: 'restart',
  setup(engine) {
    engine.routes?.filterKind('as-path-list', compile);
  },
});

/** The first entry that matches the path decides; none: rejected. */
export function compile(definition: unknown): RouteFilter {
  const entries = entriesOf(definition, 'entry');
  const accepts = entries.map(([, entry]) => textAt(entry, 'action') !== 'reject');
  const automaton = new PatternAutomaton(entries.map(([regex]) => compilePattern(regex)));
  const path = new AsPathReader();
  return {
    judge(draft) {
      path.over(draft);
      let state = automaton.initial;
      for (let first = true; path.next(); first = false) {
        if (automaton.settled(state)) break;
        if (!first) state = automaton.blank(state);
        state = automaton.number(state, path.asn);
      }
      const entry = automaton.end(state);
      return entry >= 0 && accepts[entry] === true;
    },
  };
}
