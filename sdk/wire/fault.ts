// What can be wrong in an UPDATE and what follows from it (RFC 7606 §2). Small integers, so that a fault costs nothing to note.

/** Outcome of an UPDATE and approach of a fault: ordered, the strongest wins (RFC 7606 §3.h). */
export type Outcome = 0 | 1 | 2 | 3;
export const OK: Outcome = 0;
/** Attribute discard: the route stays, the attribute goes. */
export const DISCARD: Outcome = 1;
/** Treat-as-withdraw: every reachable NLRI of the message becomes a withdrawal. */
export const WITHDRAW: Outcome = 2;
/** Session reset with a NOTIFICATION. */
export const RESET: Outcome = 3;

const OUTCOME_NAMES = ['ok', 'discard', 'withdraw', 'reset'] as const;
export type OutcomeName = (typeof OUTCOME_NAMES)[number];

export function outcomeName(outcome: Outcome): OutcomeName {
  return OUTCOME_NAMES[outcome];
}

/** Why; `reasonText` says it in words. The numbers are internal, the texts may be shown. */
export const WELL_FORMED = 0;
export const BAD_LENGTH = 1;
export const BAD_FLAGS = 2;
export const BAD_VALUE = 3;
export const DUPLICATE = 4;
export const MISSING = 5;
export const UNKNOWN_WELL_KNOWN = 6;
export const FROM_EXTERNAL = 7;
export const FROM_ASN4_PEER = 8;
export const TRUNCATED_LIST = 9;
export const BAD_SEGMENT_TYPE = 10;
export const EMPTY_SEGMENT = 11;
export const SEGMENT_OVERRUN = 12;
export const AS_ZERO = 13;
export const EMPTY_PATH = 14;
export const FOREIGN_FIRST_AS = 15;
export const AS_SET_PRESENT = 16;
export const CONFED_SEGMENT = 17;
export const BAD_NEXT_HOP = 18;
export const BAD_NEXT_HOP_LENGTH = 19;
export const BAD_NLRI = 20;
export const BAD_TLV = 21;
export const NO_REACHABLE_NLRI = 22;
export const SECTION_OVERRUN = 23;

const REASONS: readonly string[] = [
  'well-formed',
  'wrong length',
  'wrong flags',
  'undefined value',
  'appears more than once',
  'mandatory attribute missing',
  'unrecognized well-known attribute',
  'not allowed from an external peer',
  'not allowed from a four-octet AS peer',
  'attribute list cut short',
  'undefined segment type',
  'empty segment',
  'segment longer than the attribute',
  'AS number zero',
  'empty path from an external peer',
  'first AS is not the peer',
  'AS_SET present',
  'confederation segment from outside the confederation',
  'unusable next hop address',
  'unexpected next hop length',
  'malformed NLRI',
  'malformed TLV',
  'malformed attribute without reachable NLRI',
  'sections exceed the message',
];

export function reasonText(reason: number): string {
  return REASONS[reason] ?? `reason ${reason}`;
}

/** UPDATE Message Error and its subcodes (RFC 4271 §6.3). */
export const UPDATE_MESSAGE_ERROR = 3;
export const MALFORMED_ATTRIBUTE_LIST = 1;
export const UNRECOGNIZED_WELL_KNOWN = 2;
export const MISSING_WELL_KNOWN = 3;
export const ATTRIBUTE_FLAGS_ERROR = 4;
export const ATTRIBUTE_LENGTH_ERROR = 5;
export const INVALID_ORIGIN = 6;
export const INVALID_NEXT_HOP = 8;
export const OPTIONAL_ATTRIBUTE_ERROR = 9;
export const INVALID_NETWORK_FIELD = 10;
export const MALFORMED_AS_PATH = 11;
