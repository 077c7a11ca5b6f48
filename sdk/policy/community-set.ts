/**
 * Sets of communities of one kind (standard, large, extended): is one of them in a route's attribute, take them out of it, put them
 * into it. Communities are compared as the bytes they are on the wire.
 */
import { COMMUNITIES, EXTENDED_COMMUNITIES, LARGE_COMMUNITIES, OPTIONAL, TRANSITIVE } from '../wire/attribute/code.ts';
import { parseCommunity, parseExtendedCommunity, parseLargeCommunity } from '../wire/attribute/community.ts';
import { equalBytes, fromHex } from '../wire/bytes.ts';
import { writeU32 } from '../wire/nlri/prefix.ts';
import type { Draft } from './draft.ts';

export const KINDS = ['standard', 'large', 'extended'] as const;
export type CommunityKind = (typeof KINDS)[number];

const WIDTH = { standard: 4, large: 12, extended: 8 } as const;
const CODE = { standard: COMMUNITIES, large: LARGE_COMMUNITIES, extended: EXTENDED_COMMUNITIES } as const;

/** The bytes of a community written as text; undefined when it is none of its kind. */
export function communityBytes(kind: CommunityKind, text: string): Uint8Array | undefined {
  const out = new Uint8Array(WIDTH[kind]);
  switch (kind) {
    case 'standard': {
      const number = /^0x[0-9a-fA-F]{1,8}$/.test(text) ? Number(text) : parseCommunity(text);
      if (number < 0) return undefined;
      writeU32(out, 0, number);
      return out;
    }
    case 'large':
      return parseLargeCommunity(text, out, 0) ? out : undefined;
    case 'extended': {
      if (parseExtendedCommunity(text, out, 0)) return out;
      const raw = text.startsWith('0x') ? fromHex(text.slice(2)) : undefined;
      return raw?.length === 8 ? raw : undefined;
    }
  }
}

/** Communities of one kind, in order, each once. */
export class CommunitySet {
  readonly kind: CommunityKind;
  readonly width: number;
  readonly code: number;
  readonly bytes: Uint8Array;

  /** Throws for a text that is no community of the kind. */
  constructor(kind: CommunityKind, texts: readonly string[]) {
    this.kind = kind;
    this.width = WIDTH[kind];
    this.code = CODE[kind];
    const seen = new Map<string, Uint8Array>();
    for (const text of texts) {
      const one = communityBytes(kind, text);
      if (one === undefined) throw new Error(`"${text}" is no ${kind} community`);
      seen.set(one.join(), one);
    }
    this.bytes = new Uint8Array(seen.size * this.width);
    let at = 0;
    for (const one of seen.values()) {
      this.bytes.set(one, at);
      at += this.width;
    }
  }

  get isEmpty(): boolean {
    return this.bytes.length === 0;
  }

  /** Is the community at `at` of `bytes` in the set? */
  has(bytes: Uint8Array, at: number): boolean {
    for (let i = 0; i < this.bytes.length; i += this.width) if (equalBytes(this.bytes, i, bytes, at, this.width)) return true;
    return false;
  }
}

/** Does the route carry one of the set? */
export function carries(draft: Draft, set: CommunitySet): boolean {
  if (!draft.find(set.code)) return false;
  const { valueAt, valueLength } = draft.cursor;
  for (let at = valueAt; at + set.width <= valueAt + valueLength; at += set.width) if (set.has(draft.bytes, at)) return true;
  return false;
}

/** Takes `strip` out of the route's attribute, then puts in what of `tag` is not there. Both of one kind. Nothing to do changes nothing. */
export function editCommunities(draft: Draft, strip: CommunitySet, tag: CommunitySet): void {
  const { width, code } = tag;
  const there = draft.find(code);
  const { valueAt } = draft.cursor;
  const valueLength = there ? draft.cursor.valueLength : 0;
  const flags = there ? draft.cursor.flags : OPTIONAL | TRANSITIVE;
  const { bytes, scratch } = draft;
  let used = 0;
  let changed = false;
  for (let at = valueAt; at + width <= valueAt + valueLength; at += width) {
    if (!strip.isEmpty && strip.has(bytes, at)) {
      changed = true;
      continue;
    }
    for (let i = 0; i < width; i++) scratch[used + i] = bytes[at + i]!;
    used += width;
  }
  for (let from = 0; from < tag.bytes.length; from += width) {
    if (holds(scratch, used, tag.bytes, from, width)) continue;
    if (used + width > scratch.length) break;
    for (let i = 0; i < width; i++) scratch[used + i] = tag.bytes[from + i]!;
    used += width;
    changed = true;
  }
  if (changed) draft.put(code, flags, scratch, 0, used);
}

function holds(scratch: Uint8Array, length: number, bytes: Uint8Array, at: number, width: number): boolean {
  for (let i = 0; i < length; i += width) if (equalBytes(scratch, i, bytes, at, width)) return true;
  return false;
}
