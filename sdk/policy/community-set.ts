/**
 * Sets of communities of one kind (standard, large, extended): is one of them in a route's attribute, take them out of it, put them
 * into it. Communities are compared as the bytes they are on the wire. A route costs what it carries, whatever the size of the set: peers
 * send routes of a thousand communities.
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
  /** How many. */
  readonly size: number;
  /** One octet a community, for who works with the set. */
  readonly marks: Uint8Array;
  /** Open addressing by the hash of the bytes, at most half full: number + 1 of the community, 0 where there is none. */
  readonly #slots: Int32Array;

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
    this.size = seen.size;
    this.marks = new Uint8Array(this.size);
    let slots = 4;
    while (slots < 2 * this.size) slots *= 2;
    this.#slots = new Int32Array(slots);
    for (let index = 0; index < this.size; index++) {
      let slot = this.#hash(this.bytes, index * this.width);
      while (this.#slots[slot] !== 0) slot = (slot + 1) & (slots - 1);
      this.#slots[slot] = index + 1;
    }
  }

  get isEmpty(): boolean {
    return this.bytes.length === 0;
  }

  /** Is the community at `at` of `bytes` in the set? */
  has(bytes: Uint8Array, at: number): boolean {
    return this.indexOf(bytes, at) >= 0;
  }

  /** The number of the community at `at` of `bytes`, in the set's order; -1 when it is none of the set. */
  indexOf(bytes: Uint8Array, at: number): number {
    const slots = this.#slots;
    let slot = this.#hash(bytes, at);
    for (let index = slots[slot]! - 1; index >= 0; index = slots[slot]! - 1) {
      if (equalBytes(this.bytes, index * this.width, bytes, at, this.width)) return index;
      slot = (slot + 1) & (slots.length - 1);
    }
    return -1;
  }

  #hash(bytes: Uint8Array, at: number): number {
    let hash = 0x811c9dc5;
    for (let i = 0; i < this.width; i++) hash = Math.imul(hash ^ bytes[at + i]!, 0x01000193);
    return (hash ^ (hash >>> 15)) & (this.#slots.length - 1);
  }
}

/** The smallest of `ranks` (by the set's numbers) among the communities of the set that the route carries; -1 for none. */
export function firstCarried(draft: Draft, set: CommunitySet, ranks: Int32Array): number {
  if (set.isEmpty || !draft.find(set.code)) return -1;
  const { valueAt, valueLength } = draft.cursor;
  let first = -1;
  for (let at = valueAt; at + set.width <= valueAt + valueLength; at += set.width) {
    const index = set.indexOf(draft.bytes, at);
    if (index >= 0 && (first < 0 || ranks[index]! < first)) first = ranks[index]!;
  }
  return first;
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
  tag.marks.fill(0);
  for (let at = valueAt; at + width <= valueAt + valueLength; at += width) {
    if (!strip.isEmpty && strip.has(bytes, at)) {
      changed = true;
      continue;
    }
    const index = tag.indexOf(bytes, at);
    if (index >= 0) tag.marks[index] = 1;
    for (let i = 0; i < width; i++) scratch[used + i] = bytes[at + i]!;
    used += width;
  }
  for (let index = 0; index < tag.size; index++) {
    if (tag.marks[index] === 1) continue;
    const from = index * width;
    if (used + width > scratch.length) break;
    for (let i = 0; i < width; i++) scratch[used + i] = tag.bytes[from + i]!;
    used += width;
    changed = true;
  }
  if (changed) draft.put(code, flags, scratch, 0, used);
}
