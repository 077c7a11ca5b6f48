// Families whose entries are written from words: what `update` blocks and route commands say of them becomes bytes here, without asking
// anybody. A plugin that declares such a family is asked in its place.
import type { Family } from '../../family.ts';
import {
  AFI_IPV4,
  AFI_IPV6,
  AFI_L2VPN,
  afiOf,
  SAFI_EVPN,
  SAFI_FLOW,
  SAFI_FLOW_VPN,
  SAFI_MPLS_LABEL,
  SAFI_MPLS_VPN,
  SAFI_MUP,
  SAFI_MVPN,
  SAFI_VPLS,
  safiOf,
} from '../../family.ts';
import { written, wordFault, type WrittenNlri } from './fields.ts';
import { flowRule } from './flow.ts';
import { type AddressLength, evpnRoute, labelledPrefix, mupRoute, mvpnRoute, vplsRoute } from './routes.ts';

export { isWordFault, type WordFault, type WrittenNlri } from './fields.ts';

type Writer = (words: readonly string[], length: AddressLength) => Uint8Array;

const BY_SAFI: Readonly<Record<number, Writer>> = {
  [SAFI_MPLS_LABEL]: (words, length) => labelledPrefix(words, length, false),
  [SAFI_MPLS_VPN]: (words, length) => labelledPrefix(words, length, true),
  [SAFI_FLOW]: (words, length) => flowRule(words, length, false),
  [SAFI_FLOW_VPN]: (words, length) => flowRule(words, length, true),
  [SAFI_MUP]: mupRoute,
  [SAFI_MVPN]: mvpnRoute,
};
const LAYER_2: Readonly<Record<number, Writer>> = { [SAFI_VPLS]: vplsRoute, [SAFI_EVPN]: evpnRoute };

function writerOf(family: Family): Writer | undefined {
  const afi = afiOf(family);
  if (afi === AFI_L2VPN) return LAYER_2[safiOf(family)];
  return afi === AFI_IPV4 || afi === AFI_IPV6 ? BY_SAFI[safiOf(family)] : undefined;
}

/** Can entries of the family be written from words here? Those of the plain prefix families are read by whoever has them. */
export function writesWords(family: Family): boolean {
  return writerOf(family) !== undefined;
}

/** One entry (without path identifier) from its words, or which word is wrong. Never throws. */
export function nlriFromWords(family: Family, words: readonly string[]): WrittenNlri {
  const writer = writerOf(family);
  if (writer === undefined) return wordFault(-1, 'routes of the family cannot be written');
  return written(() => writer(words, afiOf(family) === AFI_IPV4 ? 4 : 16));
}
