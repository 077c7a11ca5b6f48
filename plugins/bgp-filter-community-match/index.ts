// bgp-filter-community-match: `bgp/policy/community-match`.
import { definePlugin } from '../../sdk/plugin/define.ts';
import { communityBytes, CommunitySet, firstCarried, KINDS } from '../../sdk/policy/community-set.ts';
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

interface Table {
  readonly set: CommunitySet;
  /** By the set's numbers: the first entry that names the community. */
  readonly ranks: Int32Array;
}

/** The first entry whose community the route carries decides; none: rejected. */
export function compile(definition: unknown): RouteFilter {
  const entries = entriesOf(definition, 'entry').map(([community, entry]) => ({
    kind: KINDS.find((one) => one === textAt(entry, 'type')) ?? 'standard',
    community,
    accept: textAt(entry, 'action') !== 'reject',
  }));
  const tables = KINDS.map((kind): Table => {
    const set = new CommunitySet(
      kind,
      entries.filter((entry) => entry.kind === kind).map(({ community }) => community),
    );
    const ranks = new Int32Array(set.size);
    // The last first, so that the first of the same community stays.
    for (let rank = entries.length - 1; rank >= 0; rank--) {
      const entry = entries[rank]!;
      const bytes = entry.kind === kind ? communityBytes(kind, entry.community) : undefined;
      if (bytes !== undefined) ranks[set.indexOf(bytes, 0)] = rank;
    }
    return { set, ranks };
  });
  return {
    judge(draft) {
      let first = -1;
      for (const { set, ranks } of tables) {
        const rank = firstCarried(draft, set, ranks);
        if (rank >= 0 && (first < 0 || rank < first)) first = rank;
      }
      return first >= 0 && entries[first]!.accept;
    },
  };
}
