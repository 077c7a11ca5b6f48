/**
 * What one side of a filter has been told and not told back: the prefixes by family. It answers what is owed when a filter drops
 * or changes a message: the routes that stood, and that the message's sender meant to replace or to withdraw, are withdrawn, for a
 * filter may keep a route out but cannot keep an old one alive.
 */
import { IPV4_UNICAST, isPrefixFamily, maxPrefixBits } from '../../../sdk/wire/family.ts';
import { PrefixCursor } from '../../../sdk/wire/nlri/prefix.ts';
import { nlriLength } from '../../../sdk/wire/nlri/syntax.ts';
import type { UpdateView } from '../../../sdk/wire/update.ts';
import { UpdateWriter } from '../../../sdk/wire/writer.ts';
import { PrefixSet } from '../receive/prefix-set.ts';

/** NLRI of one kind in a message. */
interface Part {
  readonly family: number;
  readonly at: number;
  readonly length: number;
  readonly addPath: boolean;
  readonly withdrawn: boolean;
}

export class Announced {
  readonly #sets = new Map<number, PrefixSet>();
  readonly #cursor = new PrefixCursor();
  readonly #entry = new DataView(new ArrayBuffer(32));
  /** Since the session's start: what is in no set was never announced. */
  readonly #whole: boolean;

  constructor(families: Iterable<number>, whole: boolean) {
    this.#whole = whole;
    for (const family of families) if (isPrefixFamily(family)) this.#sets.set(family, new PrefixSet());
  }

  /** Prefixes that stand; undefined for a family that is not counted. */
  size(family: number): number | undefined {
    return this.#sets.get(family)?.size;
  }

  /** Does the route stand? `length` bytes at `at`, path identifier included. True for a family that is not counted. */
  has(family: number, view: DataView, at: number, length: number): boolean {
    const set = this.#whole ? this.#sets.get(family) : undefined;
    return set?.has(view, at, length) !== false;
  }

  /** The message went through; `withdraw`: what it announces was withdrawn. Withdrawals first, as RFC 4271 §3.1 orders them. */
  note(view: UpdateView, withdraw: boolean): void {
    const { classicIgnored, context } = view;
    const classic = context.addPathIpv4Unicast;
    if (!classicIgnored) this.#mark(view, IPV4_UNICAST, view.withdrawnAt, view.withdrawnLength, classic, false);
    if (!view.unreachIgnored)
      this.#mark(view, view.unreachFamily, view.unreachAt, view.unreachLength, view.unreachAddPath, false);
    if (!classicIgnored) this.#mark(view, IPV4_UNICAST, view.nlriAt, view.nlriLength, classic, !withdraw);
    if (!view.reachIgnored) this.#mark(view, view.reachFamily, view.reachAt, view.reachLength, view.reachAddPath, !withdraw);
  }

  #mark(view: UpdateView, family: number, at: number, length: number, addPath: boolean, announced: boolean): void {
    const set = length === 0 ? undefined : this.#sets.get(family);
    if (set === undefined) return;
    const cursor = this.#cursor.over(view.view, at, length, maxPrefixBits(family >>> 8), addPath);
    for (let from = at; cursor.next(); from = cursor.at) {
      const key = this.#canonical(view.view, from, cursor.at - from, cursor.lengthBits);
      if (announced) set.add(key, key === view.view ? from : 0, cursor.at - from);
      else set.delete(key, key === view.view ? from : 0, cursor.at - from);
    }
  }

  /**
   * Withdrawals, as whole messages, of what stands among the routes that `view` announces or withdraws and `instead`, which goes in
   * its place, says nothing about. Of families that cannot be counted every route counts as standing.
   */
  owed(view: UpdateView, instead: UpdateView | undefined): readonly Uint8Array[] {
    const said = instead === undefined ? undefined : saidBy(instead);
    const writer = new UpdateWriter().over(new Uint8Array(ROOM));
    let family = -1;
    for (const part of byFamily(view)) {
      const set = this.#whole ? this.#sets.get(part.family) : undefined;
      for (let at = part.at, end = part.at + part.length; at < end; ) {
        const size = entrySize(view.view, part, at, end);
        const stands = set === undefined || this.#stands(set, view.view, part, at, size);
        if (stands && said?.has(keyOf(view, part, at, size)) !== true) {
          if (family !== part.family) writer.beginWithdraw((family = part.family), false, view.context.maxMessage);
          writer.addNlri(view.bytes, at, size);
        }
        at += size;
      }
    }
    return messagesOf(writer);
  }

  #stands(set: PrefixSet, view: DataView, part: Part, at: number, size: number): boolean {
    const key = this.#canonical(view, at, size, view.getUint8(at + (part.addPath ? 4 : 0)));
    return set.has(key, key === view ? at : 0, size);
  }

  /** The view itself, or one of our own with the entry at 0 and the bits beyond the prefix cleared: they are irrelevant (RFC 4271 §4.3). */
  #canonical(view: DataView, at: number, size: number, lengthBits: number): DataView {
    const beyond = 0xff >>> (lengthBits & 7);
    const last = view.getUint8(at + size - 1);
    if ((lengthBits & 7) === 0 || (last & beyond) === 0) return view;
    for (let i = 0; i < size; i++) this.#entry.setUint8(i, view.getUint8(at + i));
    this.#entry.setUint8(size - 1, last & ~beyond);
    return this.#entry;
  }
}

/** Two messages of the largest size: what is withdrawn of one message fits, however it is divided. */
const ROOM = 2 * 65_536;

/** What an UPDATE that is treated as withdraw amounts to: at most one message a family, each with nothing but withdrawals. */
export function withdrawalsOf(view: UpdateView): readonly Uint8Array[] {
  const writer = new UpdateWriter().over(new Uint8Array(ROOM));
  let family = -1;
  for (const part of byFamily(view)) {
    if (family !== part.family) writer.beginWithdraw((family = part.family), false, 65_535);
    writer.addNlri(view.bytes, part.at, part.length);
  }
  return messagesOf(writer);
}

function byFamily(view: UpdateView): readonly Part[] {
  return partsOf(view).sort((a, b) => a.family - b.family);
}

/** Withdrawals first. What was not negotiated is left out. */
function partsOf(view: UpdateView): Part[] {
  const parts: Part[] = [];
  const put = (family: number, at: number, length: number, addPath: boolean, withdrawn: boolean): void => {
    if (length > 0) parts.push({ family, at, length, addPath, withdrawn });
  };
  if (!view.classicIgnored) {
    put(IPV4_UNICAST, view.withdrawnAt, view.withdrawnLength, view.context.addPathIpv4Unicast, true);
  }
  if (!view.unreachIgnored) put(view.unreachFamily, view.unreachAt, view.unreachLength, view.unreachAddPath, true);
  if (!view.classicIgnored) put(IPV4_UNICAST, view.nlriAt, view.nlriLength, view.context.addPathIpv4Unicast, false);
  if (!view.reachIgnored) put(view.reachFamily, view.reachAt, view.reachLength, view.reachAddPath, false);
  return parts;
}

/** Path identifier included; of a family whose syntax nobody here knows, all there is. */
function entrySize(view: DataView, part: Part, at: number, end: number): number {
  const head = part.addPath ? 4 : 0;
  const size = nlriLength(view, at + head, end - at - head, part.family, part.withdrawn);
  return size < 0 ? end - at : head + size;
}

/** Every route a message speaks of, announced or withdrawn. */
function saidBy(view: UpdateView): ReadonlySet<string> {
  const said = new Set<string>();
  for (const part of partsOf(view)) {
    for (let at = part.at, end = part.at + part.length; at < end; ) {
      const size = entrySize(view.view, part, at, end);
      said.add(keyOf(view, part, at, size));
      at += size;
    }
  }
  return said;
}

function keyOf(view: UpdateView, part: Part, at: number, size: number): string {
  let key = `${part.family} `;
  for (let i = at; i < at + size; i++) key += String.fromCharCode(view.bytes[i]!);
  return key;
}

/** Copies of the messages a writer holds, one each. */
export function messagesOf(writer: UpdateWriter): readonly Uint8Array[] {
  writer.close();
  const messages: Uint8Array[] = [];
  for (let at = 0; at < writer.used; ) {
    const length = (writer.bytes[at + 16]! << 8) | writer.bytes[at + 17]!;
    messages.push(writer.bytes.slice(at, at + length));
    at += length;
  }
  return messages;
}
