// What a lab speaker announces: generated routes, or those of an MRT file, packed for one session as whole UPDATE messages.
import * as attribute from '../../../sdk/wire/attribute/code.ts';
import { parseIpv4 } from '../../../sdk/wire/address.ts';
import { AttributeRewriter, exportRule, type ExportRule, STRIP } from '../../../sdk/wire/export.ts';
import { type Family, IPV4_UNICAST, IPV6_UNICAST } from '../../../sdk/wire/family.ts';
import { type PrefixCursor, writeU32 } from '../../../sdk/wire/nlri/prefix.ts';
import { type Added, FULL, TOO_LARGE, UpdateWriter } from '../../../sdk/wire/writer.ts';
import { openMrt } from '../mrt/open.ts';
import { isMrt, walkMrt, type MrtAttributes, type MrtPeer } from '../mrt/walk.ts';

/** What the session allows, and who speaks. */
export interface PackingTarget {
  readonly localAs: number;
  readonly peerAs: number;
  readonly asn4: boolean;
  readonly maxMessage: number;
  readonly families: readonly Family[];
  readonly addPathSend: readonly Family[];
  /** u32 */
  readonly nextHop4: number;
  /** 16 bytes */
  readonly nextHop6: Uint8Array;
}

/** Whole messages in order, many to a buffer. */
export interface PackedRoutes {
  readonly buffers: readonly Uint8Array[];
  readonly announced: number;
  readonly withdrawn: number;
  /** Routes whose attributes no message can hold, or that could not be read. */
  readonly skipped: number;
}

const BUFFER = 65_536;
const BLOCK = 8192;

/** Gathers messages; a group is a run of NLRI with one block. */
class Packer {
  readonly target: PackingTarget;
  readonly buffers: Uint8Array[] = [];
  announced = 0;
  withdrawn = 0;
  skipped = 0;
  readonly #writer = new UpdateWriter();
  #buffer = new Uint8Array(BUFFER);

  constructor(target: PackingTarget) {
    this.target = target;
    this.#writer.over(this.#buffer);
  }

  announce(family: Family, block: Uint8Array, length: number, nextHop: Uint8Array): void {
    this.#writer.beginAnnounce(
      family,
      this.target.addPathSend.includes(family),
      this.target.maxMessage,
      block,
      0,
      length,
      nextHop,
    );
  }

  withdraw(family: Family): void {
    this.#writer.beginWithdraw(family, this.target.addPathSend.includes(family), this.target.maxMessage);
  }

  add(bytes: Uint8Array, at: number, lengthBits: number, pathId: number, announced: boolean): void {
    let added: Added = this.#writer.addPrefix(bytes, at, lengthBits, pathId);
    if (added === FULL) {
      this.#next();
      added = this.#writer.addPrefix(bytes, at, lengthBits, pathId);
    }
    if (added === TOO_LARGE || added === FULL) this.skipped++;
    else if (announced) this.announced++;
    else this.withdrawn++;
  }

  finish(): PackedRoutes {
    for (const family of this.target.families) {
      if (this.#writer.addEndOfRib(family) === FULL) {
        this.#next();
        this.#writer.addEndOfRib(family);
      }
    }
    this.#next();
    return { buffers: this.buffers, announced: this.announced, withdrawn: this.withdrawn, skipped: this.skipped };
  }

  /** Closes the buffer, which is kept, and goes on in a new one. */
  #next(): void {
    this.#writer.close();
    if (this.#writer.used > 0) this.buffers.push(this.#buffer.subarray(0, this.#writer.used));
    this.#buffer = new Uint8Array(BUFFER);
    this.#writer.over(this.#buffer);
  }
}

export interface GeneratedRoutes {
  readonly count: number;
  /** Different attribute sets the routes share. */
  readonly sets: number;
  /** u32 of the first IPv4 prefix; they are /24 and follow each other. */
  readonly first: number;
  /** Withdraw them instead. */
  readonly withdraw: boolean;
}

/** The family of generated routes among those that are spoken. */
export function generatedFamily(families: readonly Family[]): Family | undefined {
  return [IPV4_UNICAST, IPV6_UNICAST].find((family) => families.includes(family));
}

/**
 * `count` IPv4 /24 prefixes from `first` on when IPv4 unicast is spoken, else as many IPv6 /56 prefixes below 2001:db8::/32: AS paths of
 * 2 to 5, a community on most, MED on every third set. The same input gives the same routes; none where the target speaks neither.
 */
export function generateRoutes(options: GeneratedRoutes, target: PackingTarget): PackedRoutes {
  const packer = new Packer(target);
  const family = generatedFamily(target.families);
  if (family === undefined) return packer.finish();
  const perSet = Math.max(1, Math.ceil(options.count / Math.max(1, options.sets)));
  const prefix = new Uint8Array(16);
  const block = new Uint8Array(BLOCK);
  for (let i = 0; i < options.count; i++) {
    if (options.withdraw) {
      if (i === 0) packer.withdraw(family);
    } else if (i % perSet === 0) {
      const length = generatedBlock(i / perSet, target, family, block);
      packer.announce(family, block, length, family === IPV4_UNICAST ? NONE : target.nextHop6);
    }
    if (family === IPV4_UNICAST) writeU32(prefix, 0, (options.first + i * 256) >>> 0);
    else prefix.set([0x20, 0x01, 0x0d, 0xb8, (i >>> 8) & 0xff, i & 0xff, (i >>> 16) & 0xff]);
    packer.add(prefix, 0, family === IPV4_UNICAST ? 24 : 56, 0, !options.withdraw);
  }
  return packer.finish();
}

function generatedBlock(set: number, target: PackingTarget, family: Family, out: Uint8Array): number {
  const path = [target.localAs];
  for (let hop = 0; hop < 1 + (set % 4); hop++) path.push(64_512 + ((set * 7 + hop * 13) % 400));
  const internal = target.localAs === target.peerAs;
  const width = target.asn4 ? 4 : 2;
  const hops = internal ? path.slice(1) : path;
  let at = put(out, 0, [0x40, attribute.ORIGIN, 1, 0, 0x40, attribute.AS_PATH, 2 + width * hops.length, 2, hops.length]);
  for (const as of hops) at = width === 4 ? writeU32(out, at, as) : put(out, at, [as >>> 8, as & 0xff]);
  if (family === IPV4_UNICAST) at = writeU32(out, put(out, at, [0x40, attribute.NEXT_HOP, 4]), target.nextHop4);
  if (set % 3 === 0) at = writeU32(out, put(out, at, [0x80, attribute.MULTI_EXIT_DISC, 4]), set % 100);
  if (internal) at = writeU32(out, put(out, at, [0x40, attribute.LOCAL_PREF, 4]), 100);
  if (set % 5 !== 0)
    at = writeU32(out, put(out, at, [0xc0, attribute.COMMUNITIES, 4]), ((target.localAs & 0xffff) << 16) | (set % 1000));
  return at;
}

function put(out: Uint8Array, at: number, bytes: readonly number[]): number {
  out.set(bytes, at);
  return at + bytes.length;
}

/**
 * The routes of an MRT file as this speaker would pass them on: its AS in front, its next hop. Of a table dump the first route of a prefix,
 * of messages each in its order. `peerAs` keeps one peer's alone; 0 = all.
 */
export function mrtRoutes(path: string, peerAs: number, target: PackingTarget): PackedRoutes {
  const walk = new MrtPacking(peerAs, target);
  const { bytes } = openMrt(path);
  if (!isMrt(walkMrt(bytes, walk))) throw new Error(`${path} is no MRT file`);
  return walk.packer.finish();
}

class MrtPacking {
  readonly packer: Packer;
  readonly #peerAs: number;
  readonly #rewriter = new AttributeRewriter();
  readonly #block = new Uint8Array(BLOCK);
  readonly #rules = new Map<string, ExportRule>();
  #bytes: Uint8Array = NONE;
  #blockAt = -1;
  #family = 0;
  #withdrawing = false;
  #usable = false;
  #lastPrefixAt = -1;

  constructor(peerAs: number, target: PackingTarget) {
    this.packer = new Packer(target);
    this.#peerAs = peerAs;
  }

  announce(peer: MrtPeer, family: Family, prefix: PrefixCursor, attributes: MrtAttributes): void {
    if (!this.#wanted(peer, family) || prefix.prefixAt === this.#lastPrefixAt) return;
    this.#lastPrefixAt = prefix.prefixAt;
    if (attributes.at !== this.#blockAt || family !== this.#family || this.#withdrawing) this.#begin(family, attributes);
    if (this.#usable) this.packer.add(this.#bytes, prefix.prefixAt, prefix.lengthBits, prefix.pathId, true);
    else this.packer.skipped++;
  }

  withdraw(peer: MrtPeer, family: Family, prefix: PrefixCursor): void {
    if (!this.#wanted(peer, family)) return;
    if (!this.#withdrawing || family !== this.#family) {
      this.packer.withdraw(family);
      this.#family = family;
      this.#withdrawing = true;
    }
    this.packer.add(this.#over(prefix.view), prefix.prefixAt, prefix.lengthBits, prefix.pathId, false);
  }

  state(): void {
    // A collector's session is not ours.
  }

  #wanted(peer: MrtPeer, family: Family): boolean {
    return (this.#peerAs === 0 || peer.as === this.#peerAs) && this.packer.target.families.includes(family);
  }

  #over(view: DataView): Uint8Array {
    if (this.#bytes.buffer !== view.buffer) this.#bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    return this.#bytes;
  }

  #begin(family: Family, attributes: MrtAttributes): void {
    const { target } = this.packer;
    this.#family = family;
    this.#withdrawing = false;
    this.#blockAt = attributes.at;
    const bytes = this.#over(attributes.view);
    const length = this.#rewrite(bytes, attributes, family);
    this.#usable = length > 0;
    if (this.#usable) this.packer.announce(family, this.#block, length, family === IPV4_UNICAST ? NONE : target.nextHop6);
  }

  #rewrite(bytes: Uint8Array, attributes: MrtAttributes, family: Family): number {
    try {
      const rule = this.#rule(attributes.asn4, family);
      return this.#rewriter.rewrite(bytes, attributes.view, attributes.at, attributes.length, rule, this.#block, 0, BLOCK);
    } catch (error) {
      // Attributes that lie about their lengths: this block is not announced.
      if (error instanceof RangeError) return -1;
      throw error;
    }
  }

  #rule(sourceAsn4: boolean, family: Family): ExportRule {
    const key = `${sourceAsn4} ${family === IPV4_UNICAST}`;
    let rule = this.#rules.get(key);
    if (rule === undefined) {
      const { target } = this.packer;
      const ebgp = target.localAs !== target.peerAs;
      rule = exportRule(ebgp, {
        sourceAsn4,
        asn4: target.asn4,
        prepend: ebgp ? [target.localAs] : [],
        nextHop: family === IPV4_UNICAST ? target.nextHop4 : STRIP,
      });
      this.#rules.set(key, rule);
    }
    return rule;
  }
}

/** The default first prefix of generated routes, 10.0.0.0 as u32. */
export const FIRST_PREFIX = parseIpv4('10.0.0.0');
const NONE = new Uint8Array(0);
