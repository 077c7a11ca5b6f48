// The usual block on its way to the usual destination: four-octet AS numbers on both sides, known attributes in ascending order. What is
// left out or changed is little, so the rest is copied in runs; everything else is `export.ts`'s, by looking each attribute up.
import {
  AS_PATH,
  AS_SEQUENCE,
  ATOMIC_AGGREGATE,
  COMMUNITIES,
  LOCAL_PREF,
  MULTI_EXIT_DISC,
  NEXT_HOP,
  OPTIONAL,
  ORIGIN,
  PARTIAL,
  TRANSITIVE,
} from './attribute/code.ts';
import { copyBytes } from './bytes.ts';
import { type ExportRule, KEEP, STRIP } from './export.ts';
import { writeU32 } from './nlri/prefix.ts';

/** Flags that mean something; an attribute with the extended length, or with other bits, is written anew elsewhere. */
const FLAGS = OPTIONAL | TRANSITIVE | PARTIAL;

/**
 * As `AttributeRewriter.rewrite`, which it stands in for: the bytes written, the same as it would write, or -1 when block or rule are not of
 * the usual kind; then `out` holds anything.
 */
export function rewriteStraight(
  bytes: Uint8Array,
  view: DataView,
  at: number,
  length: number,
  rule: ExportRule,
  out: Uint8Array,
  outAt: number,
  limit: number,
): number {
  const added = rule.prepend.length;
  if (!isUsual(rule) || outAt + length + 4 * added > limit) return -1;
  const end = at + length;
  let last = 0;
  /** What is copied next begins here, and goes there. */
  let from = at;
  let to = outAt;
  let hopAt = -1;
  let hasPath = false;
  let hasPreference = false;
  for (let i = at; i < end; ) {
    if (i + 3 > end) return -1;
    const flags = view.getUint8(i);
    const code = view.getUint8(i + 1);
    const size = view.getUint8(i + 2);
    const next = i + 3 + size;
    if (code <= last || (flags & ~FLAGS) !== 0 || next > end) return -1;
    last = code;
    switch (code) {
      case ORIGIN:
      case ATOMIC_AGGREGATE:
        break;
      case AS_PATH: {
        if (flags !== TRANSITIVE || size < 6 || size + 4 * added > 255) return -1;
        hasPath = true;
        if (added === 0) break;
        const count = view.getUint8(i + 4);
        if (view.getUint8(i + 3) !== AS_SEQUENCE || count + added > 255) return -1;
        copyBytes(bytes, from, i - from, out, to);
        to += i - from;
        from = i + 5;
        out[to] = TRANSITIVE;
        out[to + 1] = AS_PATH;
        out[to + 2] = size + 4 * added;
        out[to + 3] = AS_SEQUENCE;
        out[to + 4] = count + added;
        to += 5;
        for (let k = 0; k < added; k++) to = writeU32(out, to, rule.prepend[k]!);
        break;
      }
      case NEXT_HOP:
        if (rule.nextHop === KEEP) break;
        if (rule.nextHop === STRIP) {
          copyBytes(bytes, from, i - from, out, to);
          to += i - from;
          from = next;
          break;
        }
        if (flags !== TRANSITIVE || size !== 4) return -1;
        hopAt = to + (i - from) + 3;
        break;
      case MULTI_EXIT_DISC:
        if (rule.med === KEEP) break;
        copyBytes(bytes, from, i - from, out, to);
        to += i - from;
        from = next;
        break;
      case LOCAL_PREF:
        hasPreference = true;
        if (rule.localPref !== STRIP) break;
        copyBytes(bytes, from, i - from, out, to);
        to += i - from;
        from = next;
        break;
      case COMMUNITIES:
        if (!rule.standardCommunities) return -1;
        break;
      default:
        return -1;
    }
    i = next;
  }
  if (!hasPath || (hopAt < 0 && rule.nextHop >= 0) || (!hasPreference && rule.localPref !== KEEP && rule.localPref !== STRIP))
    return -1;
  copyBytes(bytes, from, end - from, out, to);
  to += end - from;
  if (hopAt >= 0) writeU32(out, hopAt, rule.nextHop);
  return to - outAt;
}

/** Nothing is converted, added or set but the path's front and the next hop. */
function isUsual(rule: ExportRule): boolean {
  return (
    rule.sourceAsn4 &&
    rule.asn4 &&
    rule.replaceAs === 0 &&
    rule.med < 0 &&
    rule.localPref < 0 &&
    rule.originatorId === 0 &&
    rule.clusterId === 0 &&
    rule.otc === 0
  );
}
