// bgp-filter-community: community sets put into and taken out of routes (`filter { ingress | egress { community { tag; strip } } }`).
import { definePlugin } from '../../sdk/plugin/define.ts';
import { CommunitySet, editCommunities, KINDS } from '../../sdk/policy/community-set.ts';
import { textsAt, treeAt } from '../../sdk/policy/definition.ts';
import type { RouteFilter } from '../../sdk/policy/route-filter.ts';

export default definePlugin({
  name: 'bgp-filter-community',
  placement: 'reactor',
  autoload: ['bgp'],
  failurePolicy: 'restart',
  setup(engine) {
    engine.routes?.filterKind('community', compile);
  },
});

/** `{ tag: { standard, large, extended }, strip: { … } }`, the communities as texts: the engine has looked the named sets up. */
export function compile(definition: unknown): RouteFilter {
  const tag = treeAt(definition, 'tag');
  const strip = treeAt(definition, 'strip');
  const edits = KINDS.map((kind) => ({
    strip: new CommunitySet(kind, textsAt(strip, kind)),
    tag: new CommunitySet(kind, textsAt(tag, kind)),
  })).filter((edit) => !edit.strip.isEmpty || !edit.tag.isEmpty);
  return {
    judge(draft) {
      for (const edit of edits) editCommunities(draft, edit.strip, edit.tag);
      return true;
    },
  };
}
