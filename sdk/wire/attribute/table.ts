// One row per attribute code: a new attribute is a row and a vector, never another `case`. A code without a row is unknown: kept as
// bytes when optional (RFC 4271 §9), a session reset when not.
import type { Outcome } from '../fault.ts';
import { DISCARD, INVALID_NEXT_HOP, INVALID_ORIGIN, MALFORMED_AS_PATH, OPTIONAL_ATTRIBUTE_ERROR, WITHDRAW } from '../fault.ts';
import { checkAs4Path, checkAsPath } from './as-path-check.ts';
import type { Check } from './check.ts';
import {
  checkAggregator,
  checkAigp,
  checkAs4Aggregator,
  checkAttrSet,
  checkBgpLs,
  checkEmpty,
  checkFour,
  checkMultiple,
  checkOrigin,
  checkPmsiTunnel,
  checkPrefixSid,
  checkTunnelEncapsulation,
} from './check.ts';
import * as code from './code.ts';
import { OPTIONAL, TRANSITIVE } from './code.ts';

export interface AttributeSpec {
  readonly code: number;
  /** As the RFC spells it. */
  readonly name: string;
  /** Member of `update.attr` in events. */
  readonly key: string;
  /** Required OPTIONAL and TRANSITIVE bits. */
  readonly flags: number;
  readonly check: Check;
  /** What follows from a malformed value. */
  readonly approach: Outcome;
  /** What follows from wrong flags (RFC 7606 §3.c). */
  readonly flagsApproach: Outcome;
  /** From an external peer it is discarded whatever it holds (RFC 7606 §7.5, 7.9, 7.10). */
  readonly internalOnly: boolean;
  /** From a peer with four-octet AS numbers it is discarded (RFC 6793 §6). */
  readonly twoOctetOnly: boolean;
  /** Subcode of UPDATE Message Error when a bad value must reset the session after all (RFC 7606 §5.2). */
  readonly subcode: number;
}

const WELL_KNOWN = TRANSITIVE;
const OPT_TRANS = OPTIONAL | TRANSITIVE;

function row(
  number: number,
  name: string,
  key: string,
  flags: number,
  check: Check,
  approach: Outcome,
  more: Partial<AttributeSpec> = {},
): AttributeSpec {
  return {
    code: number,
    name,
    key,
    flags,
    check,
    approach,
    flagsApproach: WITHDRAW,
    internalOnly: false,
    twoOctetOnly: false,
    subcode: OPTIONAL_ATTRIBUTE_ERROR,
    ...more,
  };
}

const INTERNAL = { internalOnly: true };
/** The whole attribute is advisory: wrong flags discard it as a wrong value does. */
const ADVISORY = { flagsApproach: DISCARD };
const wellFormed: Check = () => 0;

const ROWS: readonly AttributeSpec[] = [
  row(code.ORIGIN, 'ORIGIN', 'origin', WELL_KNOWN, checkOrigin, WITHDRAW, { subcode: INVALID_ORIGIN }),
  row(code.AS_PATH, 'AS_PATH', 'as-path', WELL_KNOWN, checkAsPath, WITHDRAW, { subcode: MALFORMED_AS_PATH }),
  row(code.NEXT_HOP, 'NEXT_HOP', 'next-hop', WELL_KNOWN, checkFour, WITHDRAW, { subcode: INVALID_NEXT_HOP }),
  row(code.MULTI_EXIT_DISC, 'MULTI_EXIT_DISC', 'med', OPTIONAL, checkFour, WITHDRAW),
  row(code.LOCAL_PREF, 'LOCAL_PREF', 'local-preference', WELL_KNOWN, checkFour, WITHDRAW, INTERNAL),
  row(code.ATOMIC_AGGREGATE, 'ATOMIC_AGGREGATE', 'atomic-aggregate', WELL_KNOWN, checkEmpty, DISCARD),
  row(code.AGGREGATOR, 'AGGREGATOR', 'aggregator', OPT_TRANS, checkAggregator, DISCARD),
  row(code.COMMUNITIES, 'COMMUNITIES', 'communities', OPT_TRANS, checkMultiple(4), WITHDRAW),
  row(code.ORIGINATOR_ID, 'ORIGINATOR_ID', 'originator-id', OPTIONAL, checkFour, WITHDRAW, INTERNAL),
  row(code.CLUSTER_LIST, 'CLUSTER_LIST', 'cluster-list', OPTIONAL, checkMultiple(4), WITHDRAW, INTERNAL),
  // Judged where the sections are located: their faults decide whether the NLRI can be trusted at all (RFC 7606 §5.3).
  row(code.MP_REACH_NLRI, 'MP_REACH_NLRI', 'mp-reach', OPTIONAL, wellFormed, WITHDRAW),
  row(code.MP_UNREACH_NLRI, 'MP_UNREACH_NLRI', 'mp-unreach', OPTIONAL, wellFormed, WITHDRAW),
  row(code.EXTENDED_COMMUNITIES, 'EXTENDED_COMMUNITIES', 'extended-communities', OPT_TRANS, checkMultiple(8), WITHDRAW),
  row(code.AS4_PATH, 'AS4_PATH', 'as4-path', OPT_TRANS, checkAs4Path, DISCARD, { ...ADVISORY, twoOctetOnly: true }),
  row(code.AS4_AGGREGATOR, 'AS4_AGGREGATOR', 'as4-aggregator', OPT_TRANS, checkAs4Aggregator, DISCARD, {
    ...ADVISORY,
    twoOctetOnly: true,
  }),
  row(code.PMSI_TUNNEL, 'PMSI_TUNNEL', 'pmsi-tunnel', OPT_TRANS, checkPmsiTunnel, WITHDRAW),
  row(code.TUNNEL_ENCAPSULATION, 'TUNNEL_ENCAPSULATION', 'tunnel-encapsulation', OPT_TRANS, checkTunnelEncapsulation, WITHDRAW),
  row(
    code.IPV6_EXTENDED_COMMUNITIES,
    'IPV6_EXTENDED_COMMUNITIES',
    'ipv6-extended-communities',
    OPT_TRANS,
    checkMultiple(20),
    WITHDRAW,
  ),
  row(code.AIGP, 'AIGP', 'aigp', OPTIONAL, checkAigp, DISCARD, ADVISORY),
  row(code.BGP_LS_ATTRIBUTE, 'BGP_LS', 'bgp-ls', OPTIONAL, checkBgpLs, DISCARD, ADVISORY),
  row(code.LARGE_COMMUNITIES, 'LARGE_COMMUNITIES', 'large-communities', OPT_TRANS, checkMultiple(12), WITHDRAW),
  row(code.ONLY_TO_CUSTOMER, 'ONLY_TO_CUSTOMER', 'otc', OPT_TRANS, checkFour, WITHDRAW),
  row(code.PREFIX_SID, 'PREFIX_SID', 'bgp-prefix-sid', OPT_TRANS, checkPrefixSid, DISCARD, ADVISORY),
  row(code.ATTR_SET, 'ATTR_SET', 'attr-set', OPT_TRANS, checkAttrSet, WITHDRAW),
];

/** By code, 256 entries; undefined where the code is unknown. */
export const ATTRIBUTES: readonly (AttributeSpec | undefined)[] = Array.from({ length: 256 }, (_, number) =>
  ROWS.find((spec) => spec.code === number),
);

/** `ORIGIN`, … or `ATTRIBUTE_N`. */
export function attributeName(number: number): string {
  return ATTRIBUTES[number]?.name ?? `ATTRIBUTE_${number}`;
}
