// AS paths as plain values, for commands, configuration and tools. Routes keep theirs as bytes; judgement is in `as-path-check.ts`.
import { AS_TRANS } from '../context.ts';
import { AS_CONFED_SEQUENCE, AS_SEQUENCE, AS_SET } from './code.ts';

export type SegmentType = 'set' | 'sequence' | 'confed-sequence' | 'confed-set';

export interface PathSegment {
  readonly type: SegmentType;
  /** Leftmost first. */
  readonly asns: readonly number[];
}

const TYPES: readonly SegmentType[] = ['set', 'sequence', 'confed-sequence', 'confed-set'];

/** The path of `length` bytes at `at`, AS numbers `width` (2 or 4) octets wide; undefined when it is malformed. */
export function decodeAsPath(view: DataView, at: number, length: number, width: 2 | 4): readonly PathSegment[] | undefined {
  const end = at + length;
  const segments: PathSegment[] = [];
  let i = at;
  while (i < end) {
    if (i + 2 > end) return undefined;
    const type = TYPES[view.getUint8(i) - 1];
    const count = view.getUint8(i + 1);
    i += 2;
    if (type === undefined || count === 0 || i + count * width > end) return undefined;
    const asns: number[] = [];
    for (let k = 0; k < count; k++, i += width) asns.push(width === 4 ? view.getUint32(i) : view.getUint16(i));
    segments.push({ type, asns });
  }
  return segments;
}

/** The value's bytes; a segment of more than 255 numbers becomes several, a number that does not fit becomes AS_TRANS. */
export function encodeAsPath(segments: readonly PathSegment[], width: 2 | 4): Uint8Array {
  const out: number[] = [];
  for (const { type, asns } of segments) {
    for (let from = 0; from < asns.length; from += 255) {
      const part = asns.slice(from, from + 255);
      out.push(TYPES.indexOf(type) + 1, part.length);
      for (const asn of part) {
        if (width === 4) out.push(asn >>> 24, (asn >>> 16) & 0xff, (asn >>> 8) & 0xff, asn & 0xff);
        else if (asn > 0xffff) out.push(AS_TRANS >>> 8, AS_TRANS & 0xff);
        else out.push(asn >>> 8, asn & 0xff);
      }
    }
  }
  return Uint8Array.from(out);
}

/** A path of one sequence; none for no numbers. */
export function sequence(asns: readonly number[]): readonly PathSegment[] {
  return asns.length === 0 ? [] : [{ type: 'sequence', asns }];
}

/** All numbers, left to right, segment types forgotten. */
export function flatPath(segments: readonly PathSegment[]): number[] {
  return segments.flatMap((segment) => segment.asns);
}

/** Length as route selection counts it: a set is one, confederation segments none. */
export function countPath(segments: readonly PathSegment[]): number {
  let total = 0;
  for (const { type, asns } of segments) total += type === 'sequence' ? asns.length : type === 'set' ? 1 : 0;
  return total;
}

/** `64500 64501 {64502,64503} (64504) [64505]`: sequence, set, confederation sequence, confederation set. */
export function formatAsPath(segments: readonly PathSegment[]): string {
  return segments
    .map(({ type, asns }) => {
      switch (type) {
        case 'sequence':
          return asns.join(' ');
        case 'set':
          return `{${asns.join(',')}}`;
        case 'confed-sequence':
          return `(${asns.join(' ')})`;
        case 'confed-set':
          return `[${asns.join(',')}]`;
      }
    })
    .join(' ');
}

/** Reads what `formatAsPath` writes; undefined when it is something else. Numbers are plain decimal, 0..4294967295. */
export function parseAsPath(text: string): readonly PathSegment[] | undefined {
  const segments: PathSegment[] = [];
  const pattern = /\s*(?:\{([^{}]*)\}|\(([^()]*)\)|\[([^[\]]*)\]|(\d+(?:\s+\d+)*))\s*/y;
  while (pattern.lastIndex < text.length) {
    const match = pattern.exec(text);
    if (match === null) return undefined;
    const [, set, confed, confedSet, plain] = match;
    const type =
      set !== undefined ? 'set' : confed !== undefined ? 'confed-sequence' : confedSet !== undefined ? 'confed-set' : 'sequence';
    const asns = numbers(set ?? confed ?? confedSet ?? plain ?? '');
    if (asns === undefined) return undefined;
    segments.push({ type, asns });
  }
  return segments;
}

function numbers(text: string): number[] | undefined {
  const asns: number[] = [];
  for (const word of text.trim().split(/[\s,]+/)) {
    if (!/^\d{1,10}$/.test(word) || Number(word) > 0xffffffff) return undefined;
    asns.push(Number(word));
  }
  return asns;
}

/**
 * The path a route really has, from what a two-octet peer sent (RFC 6793 §4.2.3): as much of AS_PATH's front as AS4_PATH is shorter, then
 * AS4_PATH without its confederation segments; AS_PATH alone when AS4_PATH counts more.
 */
export function mergeAs4Path(path: readonly PathSegment[], as4: readonly PathSegment[]): readonly PathSegment[] {
  const tail = as4.filter(({ type }) => type === 'sequence' || type === 'set');
  let left = countPath(path) - countPath(tail);
  if (left < 0) return path;
  const merged: PathSegment[] = [];
  for (const segment of path) {
    if (segment.type === 'confed-sequence' || segment.type === 'confed-set') {
      merged.push(segment);
      continue;
    }
    if (left === 0) break;
    const taken = segment.type === 'set' ? segment.asns.length : Math.min(segment.asns.length, left);
    left -= segment.type === 'set' ? 1 : taken;
    merged.push({ type: segment.type, asns: segment.asns.slice(0, taken) });
    if (taken < segment.asns.length) break;
  }
  return joinSequences([...merged, ...tail]);
}

/** Neighbouring sequences become one where 255 numbers allow it. */
function joinSequences(segments: readonly PathSegment[]): readonly PathSegment[] {
  const joined: PathSegment[] = [];
  for (const segment of segments) {
    const last = joined.at(-1);
    if (last?.type === 'sequence' && segment.type === 'sequence' && last.asns.length + segment.asns.length <= 255) {
      joined[joined.length - 1] = { type: 'sequence', asns: [...last.asns, ...segment.asns] };
    } else {
      joined.push(segment);
    }
  }
  return joined;
}

/** How often an AS stands in the path at `at`: the loop check (RFC 4271 §9.1.2). In place, no allocation; the path was validated. */
export function countAs(view: DataView, at: number, length: number, width: 2 | 4, asn: number): number {
  const end = at + length;
  let found = 0;
  let i = at;
  while (i + 2 <= end) {
    const next = i + 2 + width * view.getUint8(i + 1);
    if (next > end) return found;
    for (i += 2; i < next; i += width) if ((width === 4 ? view.getUint32(i) : view.getUint16(i)) === asn) found++;
  }
  return found;
}

/** The neighbour AS of a path in place: its leftmost number when that stands in a sequence, else 0 (RFC 4271 §9.1.2.2 c). */
export function neighbourAs(view: DataView, at: number, length: number, width: 2 | 4): number {
  if (length < 2 + width) return 0;
  const type = view.getUint8(at);
  if (type !== AS_SEQUENCE && type !== AS_CONFED_SEQUENCE) return 0;
  return width === 4 ? view.getUint32(at + 2) : view.getUint16(at + 2);
}

/**
 * The AS a route began in: the last number of a path in place when it stands in a sequence, 0 for an empty path, -1 when it is a set
 * (RFC 6811 §2: such a route has no origin).
 */
export function originAs(view: DataView, at: number, length: number, width: 2 | 4): number {
  const end = at + length;
  let origin = 0;
  let i = at;
  while (i + 2 <= end) {
    const type = view.getUint8(i);
    const next = i + 2 + width * view.getUint8(i + 1);
    if (next > end) return origin;
    if (type === AS_SEQUENCE) origin = width === 4 ? view.getUint32(next - 4) : view.getUint16(next - 2);
    else if (type === AS_SET) origin = -1;
    i = next;
  }
  return origin;
}
