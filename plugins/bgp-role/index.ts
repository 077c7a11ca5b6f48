// bgp-role: RFC 9234. The capability is the engine's (it is in the OPEN of each peer that has a role); here are the Only-to-Customer rules.
import { definePlugin } from '../../sdk/plugin/define.ts';
import { textAt } from '../../sdk/policy/definition.ts';
import type { Draft } from '../../sdk/policy/draft.ts';
import type { RouteFilter } from '../../sdk/policy/route-filter.ts';
import { ONLY_TO_CUSTOMER, OPTIONAL, TRANSITIVE } from '../../sdk/wire/attribute/code.ts';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../sdk/wire/family.ts';
import { writeU32 } from '../../sdk/wire/nlri/prefix.ts';

export default definePlugin({
  name: 'bgp-role',
  placement: 'reactor',
  autoload: ['bgp'],
  failurePolicy: 'restart',
  setup(engine) {
    engine.routes?.filterKind('role', compile);
  },
});

/** `{ role }`: ours towards the peer, one of provider, customer, rs, rs-client, peer. Unicast alone (RFC 9234 §5). */
export function compile(definition: unknown): RouteFilter {
  const role = textAt(definition, 'role');
  const upstream = role === 'customer' || role === 'rs-client';
  const lateral = role === 'peer';
  if (!upstream && !lateral && role !== 'provider' && role !== 'rs') throw new Error(`"${role}" is no role`);
  return {
    judge(draft) {
      if (!draft.announces(IPV4_UNICAST) && !draft.announces(IPV6_UNICAST)) return true;
      return draft.importing ? ingress(draft, upstream, lateral) : egress(draft, upstream, lateral);
    },
  };
}

/** False: a route leak. */
function ingress(draft: Draft, upstream: boolean, lateral: boolean): boolean {
  const otc = otcOf(draft);
  if (otc !== undefined) return upstream || (lateral && otc === draft.context.peerAs);
  if (upstream || lateral) setOtc(draft, draft.context.peerAs);
  return true;
}

/** False: the route came from above or from the side, and this peer is no customer. */
function egress(draft: Draft, upstream: boolean, lateral: boolean): boolean {
  if (otcOf(draft) !== undefined) return !upstream && !lateral;
  if (!upstream) setOtc(draft, draft.context.localAs);
  return true;
}

function otcOf(draft: Draft): number | undefined {
  if (!draft.find(ONLY_TO_CUSTOMER) || draft.cursor.valueLength !== 4) return undefined;
  return draft.view.getUint32(draft.cursor.valueAt);
}

function setOtc(draft: Draft, asn: number): void {
  writeU32(draft.scratch, 0, asn);
  draft.put(ONLY_TO_CUSTOMER, OPTIONAL | TRANSITIVE, draft.scratch, 0, 4);
}
