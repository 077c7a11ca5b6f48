// bgp-filter-community-match: `bgp/policy/community-match`.
import { definePlugin } from '../../sdk/plugin/define.ts';
import { carries, CommunitySet, KINDS } from '../../sdk/policy/community-set.ts';
import { entriesOf, textAt } from '../../sdk/policy/definition.ts';
import type { RouteFilter } from '../../sdk/policy/route-filter.ts';

export default definePlugin({
  name: 'bgp-filter-community-match',
  placement: 'reactor',
  autoload: ['bgp'],
  failurePolicy: 'restart',
  setup(engine) {
    engine.routes?.filterKind('community-match', compile);
  },
});

/** The first entry whose community the route carries decides; none: rejected. */
export function compile(definition: unknown): RouteFilter {
  const entries = entriesOf(definition, 'entry').map(([community, entry]) => {
    const kind = KINDS.find((one) => one === textAt(entry, 'type')) ?? 'standard';
    return { set: new CommunitySet(kind, [community]), accept: textAt(entry, 'action') !== 'reject' };
  });
  return {
    judge(draft) {
      for (const { set, accept } of entries) if (carries(draft, set)) return accept;
      return false;
    },
  };
}
