// One UPDATE put before a filter: what comes of it, as a reader of the wire sees it.
import assert from 'node:assert/strict';
import { Draft } from '../../sdk/policy/draft.ts';
import type { RouteFilter } from '../../sdk/policy/route-filter.ts';
import { formatPrefix } from '../../sdk/wire/address.ts';
import { decodeAsPath, mergeAs4Path, type PathSegment } from '../../sdk/wire/attribute/as-path.ts';
import { AttributeCursor } from '../../sdk/wire/attribute/cursor.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { plainContext, type WireContext } from '../../sdk/wire/context.ts';
import { isPrefixFamily, maxPrefixBits } from '../../sdk/wire/family.ts';
import { WITHDRAW } from '../../sdk/wire/fault.ts';
import { PrefixCursor } from '../../sdk/wire/nlri/prefix.ts';
import { UpdateView } from '../../sdk/wire/update.ts';

/** What an UPDATE says. Attribute values in hex by code; the path as numbers. */
export interface Said {
  readonly announced: readonly string[];
  readonly withdrawn: readonly string[];
  readonly attributes: Readonly<Record<number, string>>;
  readonly path: readonly number[];
  readonly nextHop: string;
}

const draft = new Draft();

export interface Judgement {
  /** Undefined: rejected. */
  readonly message: Uint8Array | undefined;
  readonly changed: boolean;
  readonly removed: readonly string[];
}

export function judge(
  filter: RouteFilter,
  message: Uint8Array,
  context: WireContext = plainContext(),
  importing = true,
): Judgement {
  const speaks = draft.begin(message, viewOf(message), 0, message.length, context, importing);
  if (!speaks) return { message, changed: false, removed: [] };
  if (!filter.judge(draft)) return { message: undefined, changed: false, removed: [] };
  if (!draft.changed) return { message, changed: false, removed: [] };
  const out = draft.message();
  const removed = draft.removed().flatMap((one) => [...said(one, context).withdrawn]);
  return { message: out, changed: true, removed };
}

export function said(message: Uint8Array, context: WireContext = plainContext()): Said {
  const view = new UpdateView();
  const outcome = view.read(message, viewOf(message), 0, message.length, context);
  assert(outcome < WITHDRAW, `outcome ${outcome}: ${Buffer.from(message).toString('hex')}`);
  const attributes: Record<number, string> = {};
  const cursor = new AttributeCursor().over(view.block.view, view.block.at, view.block.length);
  let before = 0;
  while (cursor.next()) {
    assert(cursor.code > before, 'attributes ascend');
    before = cursor.code;
    attributes[cursor.code] = hexOf(view.block.bytes, cursor.valueAt, cursor.valueLength);
  }
  const segments = (code: number, width: 2 | 4): readonly PathSegment[] => {
    const value = Uint8Array.from(Buffer.from(attributes[code] ?? '', 'hex'));
    return decodeAsPath(viewOf(value), 0, value.length, width) ?? assert.fail('a malformed path');
  };
  const path = segments(2, context.asn4 ? 4 : 2);
  const as4 = context.asn4 ? [] : segments(17, 4);
  const merged = as4.length === 0 ? path : mergeAs4Path(path, as4);
  return {
    announced: [
      ...prefixes(view, view.nlriAt, view.nlriLength, 32, context.addPathIpv4Unicast),
      ...prefixes(view, view.reachAt, view.reachLength, bitsOf(view.reachFamily), view.reachAddPath),
    ],
    withdrawn: [
      ...prefixes(view, view.withdrawnAt, view.withdrawnLength, 32, context.addPathIpv4Unicast),
      ...prefixes(view, view.unreachAt, view.unreachLength, bitsOf(view.unreachFamily), view.unreachAddPath),
    ],
    attributes,
    path: merged.flatMap(({ asns }) => [...asns]),
    nextHop: hexOf(view.bytes, view.reachNextHopAt, view.reachNextHopLength),
  };
}

const LABELLED = -1;

function bitsOf(family: number): number {
  return isPrefixFamily(family) ? maxPrefixBits(family >>> 8) : LABELLED;
}

function prefixes(view: UpdateView, at: number, length: number, maxBits: number, addPath: boolean): string[] {
  const out: string[] = [];
  // Of families with more than a prefix the tests look at one entry at a time.
  if (length > 0 && maxBits === LABELLED) return [hexOf(view.bytes, at, length)];
  const cursor = new PrefixCursor().over(view.view, at, length, maxBits, addPath);
  while (cursor.next()) {
    const text = formatPrefix(view.bytes, cursor.prefixAt, cursor.lengthBits, maxBits / 8);
    out.push(addPath ? `${text}#${cursor.pathId}` : text);
  }
  assert.equal(cursor.at, cursor.end);
  return out;
}

function hexOf(bytes: Uint8Array, at: number, length: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + at, length).toString('hex');
}
