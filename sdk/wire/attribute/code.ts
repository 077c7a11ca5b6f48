// Path attribute type codes and flag bits (RFC 4271 §4.3, IANA "BGP Path Attributes").

export const OPTIONAL = 0x80;
export const TRANSITIVE = 0x40;
export const PARTIAL = 0x20;
export const EXTENDED_LENGTH = 0x10;

export const ORIGIN = 1;
export const AS_PATH = 2;
export const NEXT_HOP = 3;
export const MULTI_EXIT_DISC = 4;
export const LOCAL_PREF = 5;
export const ATOMIC_AGGREGATE = 6;
export const AGGREGATOR = 7;
export const COMMUNITIES = 8;
export const ORIGINATOR_ID = 9;
export const CLUSTER_LIST = 10;
export const MP_REACH_NLRI = 14;
export const MP_UNREACH_NLRI = 15;
export const EXTENDED_COMMUNITIES = 16;
export const AS4_PATH = 17;
export const AS4_AGGREGATOR = 18;
export const PMSI_TUNNEL = 22;
export const TUNNEL_ENCAPSULATION = 23;
export const IPV6_EXTENDED_COMMUNITIES = 25;
export const AIGP = 26;
export const BGP_LS_ATTRIBUTE = 29;
export const LARGE_COMMUNITIES = 32;
export const ONLY_TO_CUSTOMER = 35;
export const PREFIX_SID = 40;
export const ATTR_SET = 128;

export const ORIGIN_IGP = 0;
export const ORIGIN_EGP = 1;
export const ORIGIN_INCOMPLETE = 2;

export const AS_SET = 1;
export const AS_SEQUENCE = 2;
export const AS_CONFED_SEQUENCE = 3;
export const AS_CONFED_SET = 4;
