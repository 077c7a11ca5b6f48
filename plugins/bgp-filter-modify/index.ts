// bgp-filter-modify: `bgp/policy/modify`.
import { definePlugin } from '../../sdk/plugin/define.ts';
import { numberAt, textAt, textsAt, treeAt } from '../../sdk/policy/definition.ts';
import { CommunitySet, editCommunities, type CommunityKind } from '../../sdk/policy/community-set.ts';
import type { Draft } from '../../sdk/policy/draft.ts';
import type { RouteFilter } from '../../sdk/policy/route-filter.ts';
import { parseIpv4 } from '../../sdk/wire/address.ts';
import { ORIGIN, TRANSITIVE } from '../../sdk/wire/attribute/code.ts';
import { type ExportRule, exportRule, KEEP } from '../../sdk/wire/export.ts';
import { AFI_IPV4 } from '../../sdk/wire/family.ts';
import { writeU32 } from '../../sdk/wire/nlri/prefix.ts';

const ORIGINS = ['igp', 'egp', 'incomplete'];

export default definePlugin({
  name: 'bgp-filter-modify',
  placement: 'reactor',
  autoload: ['bgp'],
  failurePolicy: 'restart',
  setup(engine) {
    engine.routes?.filterKind('modify', compile);
  },
});

/** Sets what the block says, and accepts. */
export function compile(definition: unknown): RouteFilter {
  const set = treeAt(definition, 'set');
  const address = textAt(set, 'next-hop');
  const nextHop = address === '' ? -1 : parseIpv4(address);
  const hop = new Uint8Array(4);
  if (nextHop >= 0) writeU32(hop, 0, nextHop);
  const origin = ORIGINS.indexOf(textAt(set, 'origin'));
  const prepend = numberAt(set, 'as-path-prepend') ?? 0;
  const localPref = numberAt(set, 'local-preference') ?? KEEP;
  const med = numberAt(set, 'med') ?? KEEP;
  const rewrites = prepend > 0 || localPref !== KEEP || med !== KEEP || nextHop >= 0;
  const rules = new Rules(prepend, localPref, med, nextHop);
  const communities = edits(set);
  return {
    judge(draft) {
      if (rewrites) draft.rewrite(rules.of(draft));
      if (nextHop >= 0 && draft.nextHopLength === 4 && draft.reach.length > 0 && draft.reach.family >>> 8 === AFI_IPV4) {
        draft.setReachNextHop(hop);
      }
      if (origin >= 0) setOrigin(draft, origin);
      for (const edit of communities) editCommunities(draft, edit.strip, edit.tag);
      return true;
    },
  };
}

/** Communities to take out and to put in, by kind (module zest-filter-modify). */
function edits(set: unknown): readonly { readonly strip: CommunitySet; readonly tag: CommunitySet }[] {
  const kinds: readonly (readonly [CommunityKind, string])[] = [
    ['standard', 'community'],
    ['large', 'large-community'],
    ['extended', 'extended-community'],
  ];
  return kinds
    .map(([kind, word]) => ({
      strip: new CommunitySet(kind, textsAt(set, `${word}-remove`)),
      tag: new CommunitySet(kind, textsAt(set, `${word}-add`)),
    }))
    .filter((edit) => !edit.strip.isEmpty || !edit.tag.isEmpty);
}

function setOrigin(draft: Draft, origin: number): void {
  if (draft.find(ORIGIN) && draft.view.getUint8(draft.cursor.valueAt) === origin) return;
  draft.scratch[0] = origin;
  draft.put(ORIGIN, TRANSITIVE, draft.scratch, 0, 1);
}

/** The rewrite of the attributes, one rule for each local AS and encoding met: few, and kept. */
class Rules {
  readonly #prepend: number;
  readonly #localPref: number;
  readonly #med: number;
  readonly #nextHop: number;
  readonly #rules = new Map<number, ExportRule>();

  constructor(prepend: number, localPref: number, med: number, nextHop: number) {
    this.#prepend = prepend;
    this.#localPref = localPref;
    this.#med = med;
    this.#nextHop = nextHop;
  }

  of(draft: Draft): ExportRule {
    const { asn4, localAs } = draft.context;
    // NEXT_HOP belongs to the classic field; what MP_REACH_NLRI carries is not in the block.
    const classic = this.#nextHop >= 0 && draft.classic.length > 0;
    // RFC 4271 §5.1.5: LOCAL_PREF does not go to an external peer.
    const inside = draft.importing || !draft.context.ebgp;
    const key = localAs * 8 + (asn4 ? 4 : 0) + (classic ? 2 : 0) + (inside ? 1 : 0);
    let rule = this.#rules.get(key);
    if (rule === undefined) {
      rule = exportRule(false, {
        sourceAsn4: asn4,
        asn4,
        prepend: new Array<number>(this.#prepend).fill(localAs),
        nextHop: classic ? this.#nextHop : KEEP,
        med: this.#med,
        localPref: inside ? this.#localPref : KEEP,
      });
      this.#rules.set(key, rule);
    }
    return rule;
  }
}
