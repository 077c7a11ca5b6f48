/**
 * Routes that start here: `update-route`, `update { }` blocks, and their second sending. Attributes that are missing are filled
 * in (ORIGIN igp; AS_PATH, ours towards external peers; LOCAL_PREF 100 towards internal ones), the block is written once for
 * each update group, and routes that follow each other with equal attributes share messages. Commands come one route at a time
 * and hundreds of thousands of them, so what two in a row have in common is worked out once.
 */
import { AS_PATH, EXTENDED_LENGTH, ORIGIN, TRANSITIVE } from '../../../sdk/wire/attribute/code.ts';
import { equalBytes, viewOf } from '../../../sdk/wire/bytes.ts';
import type { ExportRule } from '../../../sdk/wire/export.ts';
import { AttributeRewriter, STRIP } from '../../../sdk/wire/export.ts';
import { AFI_IPV6, IPV4_UNICAST, SAFI_FLOW, SAFI_FLOW_VPN, familyName, isPrefixFamily } from '../../../sdk/wire/family.ts';
import { writeU32 } from '../../../sdk/wire/nlri/prefix.ts';
import { nlriLength } from '../../../sdk/wire/nlri/syntax.ts';
import { FULL, TOO_LARGE, endOfRib } from '../../../sdk/wire/writer.ts';
import type { Courier } from '../send/courier.ts';
import { nextHopBytes } from '../../../sdk/wire/nlri/next-hop.ts';
import { originRule, selfNextHop, takesIpv6NextHop, u32 } from '../send/export-rule.ts';
import type { Group } from '../send/groups.ts';
import {
  ANNOUNCE,
  ATTRIBUTES,
  COUNTS,
  type OriginationBatch,
  type OriginationCounts,
  SCOPE,
  WHOLE,
} from './origination-batch.ts';
import type { Peer } from '../session/peer.ts';
import type { Origination, OriginationResult } from '../port.ts';

const NONE = new Uint8Array(0);

export interface OriginateHost {
  peer(index: number): Peer | undefined;
  groupOf(peer: Peer): Group | undefined;
  courier(group: Group): Courier;
  /** One message to one peer, after everything written so far. */
  put(peer: Peer, message: Uint8Array): void;
  /** For whoever keeps Adj-RIB-Out: one entry, one peer. */
  originated(
    owner: string,
    peer: number,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    nlriAt: number,
    nlriLength: number,
    pathId: number,
    attributes: Uint8Array,
    nextHop: Uint8Array,
    /** JSON text, '' = none. */
    meta: string,
  ): void;
}

/** One block as one group gets it, rebuilt in place when the attributes at hand change. */
class Built {
  readonly group: Group;
  readonly family: number;
  /** Which attributes it was built of. */
  version = 0;
  block = new Uint8Array(4096);
  length = 0;
  /** MP_REACH_NLRI's next hop; empty: in the block. */
  nextHop: Uint8Array = NONE;
  fault = '';
  /** The rule, and what it was made for. */
  rule: ExportRule | undefined;
  ruleHop = 0;
  ruleHasPath = false;

  constructor(group: Group, family: number) {
    this.group = group;
    this.family = family;
  }
}

/** Peers of one group that get the same messages. */
interface Class {
  readonly group: Group;
  readonly peers: Peer[];
  /** Routes may share messages (`group-updates`). */
  readonly grouped: boolean;
}

/** Who gets a family of routes: established peers that speak it, by class, and peers that are down and will see. */
class Audience {
  indices: readonly number[] = [];
  family = 0;
  version = 0;
  readonly peers: Peer[] = [];
  readonly classes: Class[] = [];
}

export class Originator {
  readonly #host: OriginateHost;
  readonly #rewriter = new AttributeRewriter();
  readonly #entry = new Uint8Array(4096);
  readonly #audience = new Audience();
  /** Raised when groups change. */
  #groups = 1;
  /** The attributes at hand: as given, and with ORIGIN. */
  #given: Uint8Array = NONE;
  #block: Uint8Array = Uint8Array.of(TRANSITIVE, ORIGIN, 1, 0);
  /** The same in memory of our own: a view over a small array of somebody else's costs microseconds. */
  readonly #scratch = new Uint8Array(65_536);
  readonly #scratchView = viewOf(this.#scratch);
  #hasPath = false;
  #nextHop: Uint8Array = NONE;
  #meta = '';
  #version = 1;
  /** Of a run, one after another. */
  readonly #result = { announced: 0, withdrawn: 0, peersAffected: 0, routesSent: 0, warnings: [] as string[] };
  #built: Built[] = [];

  constructor(host: OriginateHost) {
    this.#host = host;
  }

  originate(batch: readonly Origination[]): readonly OriginationResult[] {
    return batch.map((one) => this.#one(one));
  }

  /** The same for commands that came as columns. */
  originateBatch({ commands, records, owners, audiences, whole }: OriginationBatch): OriginationCounts {
    const counts = new Uint32Array(commands * COUNTS);
    const warnings: OriginationCounts['warnings'][number][] = [];
    const view = viewOf(records);
    let owner = '';
    let peers: readonly number[] = [];
    let attributes = NONE;
    let nextHop = NONE;
    let wholes = 0;
    let command = 0;
    for (let at = 0; at < records.length; ) {
      const kind = records[at]!;
      if (kind === SCOPE) {
        owner = owners[view.getUint16(at + 1)]!;
        peers = audiences[view.getUint16(at + 3)]!;
        at += 5;
      } else if (kind === ATTRIBUTES) {
        const hopAt = at + 6 + view.getUint32(at + 1);
        attributes = records.slice(at + 6, hopAt);
        at = hopAt + records[at + 5]!;
        nextHop = records.slice(hopAt, at);
      } else {
        let result: OriginationResult;
        if (kind === WHOLE) {
          result = this.#one(whole[wholes++]!);
          at++;
        } else {
          const length = view.getUint32(at + 5);
          result = this.#run(
            owner,
            peers,
            attributes,
            nextHop,
            view.getUint32(at + 1),
            kind === ANNOUNCE,
            records,
            at + 9,
            length,
          );
          at += 9 + length;
        }
        const to = command * COUNTS;
        counts[to] = result.announced;
        counts[to + 1] = result.withdrawn;
        counts[to + 2] = result.peersAffected;
        counts[to + 3] = result.routesSent;
        if (result.warnings.length > 0) warnings.push({ command, texts: [...result.warnings] });
        command++;
      }
    }
    return { counts, warnings };
  }

  /** Sends a stored route again; false when the peer is down or does not speak the family. */
  send(
    index: number,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    at: number,
    length: number,
    pathId: number,
    attributes: Uint8Array,
    nextHop: Uint8Array,
  ): boolean {
    const peer = this.#host.peer(index);
    const group = peer === undefined ? undefined : this.#host.groupOf(peer);
    if (peer === undefined || group?.side.context.hasFamily(family) !== true) return false;
    if (announce) this.#take(attributes, nextHop);
    const one = { group, peers: [peer], grouped: peer.settings.groupUpdates };
    return this.#write(one, family, announce, nlri, at, length, pathId) === '';
  }

  /** A peer joined or left a group, or changed its settings; `gone`: a group that is no more. */
  changed(gone?: Group): void {
    this.#groups++;
    if (gone !== undefined) this.#built = this.#built.filter((built) => built.group !== gone);
  }

  #one(one: Origination): OriginationResult {
    const result = { announced: 0, withdrawn: 0, peersAffected: 0, routesSent: 0, warnings: [] as string[] };
    const affected = one.sections.length > 1 ? new Set<number>() : undefined;
    this.#take(one.attributes, one.nextHop);
    this.#meta = one.meta ?? '';
    for (const section of one.sections) {
      const { family, announce, withdraw, pathId } = section;
      const audience = this.#reach(one.peers, family);
      if (audience.peers.length === 0) {
        result.warnings.push(`${familyName(family)}: no peer has negotiated this family`);
        continue;
      }
      const withdrawn = this.#section(one.owner, audience, family, false, withdraw, 0, withdraw.length, pathId, result);
      const announced = this.#section(one.owner, audience, family, true, announce, 0, announce.length, pathId, result);
      if (section.eor) for (const { peers } of audience.classes) for (const peer of peers) this.#host.put(peer, endOfRib(family));
      if (!withdrawn && !announced) continue;
      if (affected === undefined) result.peersAffected = audience.peers.length;
      else for (const peer of audience.peers) affected.add(peer.index);
    }
    if (affected !== undefined) result.peersAffected = affected.size;
    return result;
  }

  /** A command that is one run of NLRI. The result is valid until the next. */
  #run(
    owner: string,
    peers: readonly number[],
    attributes: Uint8Array,
    nextHop: Uint8Array,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    at: number,
    length: number,
  ): OriginationResult {
    const result = this.#result;
    result.announced = result.withdrawn = result.peersAffected = result.routesSent = 0;
    if (result.warnings.length > 0) result.warnings = [];
    this.#take(attributes, nextHop);
    this.#meta = '';
    const audience = this.#reach(peers, family);
    if (audience.peers.length === 0) result.warnings.push(`${familyName(family)}: no peer has negotiated this family`);
    else if (this.#section(owner, audience, family, announce, nlri, at, length, 0, result)) {
      result.peersAffected = audience.peers.length;
    }
    return result;
  }

  /** One kind of a section; true when somebody gets it, now or when its session comes up. */
  #section(
    owner: string,
    audience: Audience,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    at: number,
    length: number,
    pathId: number,
    result: { announced: number; withdrawn: number; routesSent: number; warnings: string[] },
  ): boolean {
    if (length === 0) return false;
    let accepted = audience.peers.length;
    for (const one of audience.classes) {
      const fault = this.#write(one, family, announce, nlri, at, length, pathId);
      if (fault === '') continue;
      accepted -= one.peers.length;
      if (!result.warnings.includes(fault)) result.warnings.push(fault);
    }
    if (accepted === 0) return false;
    const count = this.#tell(owner, audience.peers, family, announce, nlri, at, length, pathId);
    if (announce) result.announced += count;
    else result.withdrawn += count;
    result.routesSent += count * accepted;
    return true;
  }

  /** The audience of a family, the same one as before when the command names the same peers. */
  #reach(indices: readonly number[], family: number): Audience {
    const audience = this.#audience;
    if (audience.version === this.#groups && audience.family === family && equal(indices, audience.indices)) return audience;
    audience.version = this.#groups;
    audience.family = family;
    audience.indices = indices;
    audience.peers.length = 0;
    // Couriers may still hold the old classes' lists: new ones are made.
    audience.classes.length = 0;
    for (const index of indices) {
      const peer = this.#host.peer(index);
      if (peer === undefined) continue;
      const group = this.#host.groupOf(peer);
      if (group === undefined) {
        audience.peers.push(peer);
        continue;
      }
      if (!group.side.context.hasFamily(family)) continue;
      audience.peers.push(peer);
      const grouped = peer.settings.groupUpdates;
      const known = audience.classes.find((one) => one.group === group && one.grouped === grouped);
      if (known === undefined) audience.classes.push({ group, peers: [peer], grouped });
      else known.peers.push(peer);
    }
    return audience;
  }

  /** Makes these attributes the ones at hand; what was built of the same stays good. */
  #take(attributes: Uint8Array, nextHop: Uint8Array): void {
    if (same(attributes, this.#given) && same(nextHop, this.#nextHop)) return;
    this.#given = attributes;
    this.#nextHop = nextHop;
    this.#version++;
    let hasOrigin = false;
    this.#hasPath = false;
    for (let at = 0; at + 3 <= attributes.length; ) {
      const code = attributes[at + 1]!;
      if (code === ORIGIN) hasOrigin = true;
      else if (code === AS_PATH) this.#hasPath = true;
      const extended = (attributes[at]! & EXTENDED_LENGTH) !== 0;
      at += extended ? 4 + ((attributes[at + 2]! << 8) | attributes[at + 3]!) : 3 + attributes[at + 2]!;
    }
    if (hasOrigin) {
      this.#block = attributes;
      return;
    }
    this.#block = new Uint8Array(4 + attributes.length);
    this.#block.set([TRANSITIVE, ORIGIN, 1, 0]);
    this.#block.set(attributes, 4);
  }

  /** Writes NLRI to the class's courier; returns what stands against it, '' for nothing. */
  #write(one: Class, family: number, announce: boolean, nlri: Uint8Array, at: number, length: number, pathId: number): string {
    const { group } = one;
    const courier = this.#host.courier(group);
    const context = group.side.context;
    const addPath = context.addPath(family);
    courier.address(one.peers);
    if (announce) {
      const built = this.#build(group, family, courier);
      if (built.fault !== '') return built.fault;
      if (courier.run !== built) {
        const { block, nextHop } = built;
        courier.writer.beginAnnounce(family, addPath, context.maxMessage, block, 0, built.length, nextHop, 0, nextHop.length);
        courier.run = built;
      }
    } else {
      courier.writer.beginWithdraw(family, addPath, context.maxMessage);
      courier.run = undefined;
    }
    return this.#addEntries(courier, family, announce, nlri, at, length, addPath, pathId, one.grouped);
  }

  #addEntries(
    courier: Courier,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    from: number,
    length: number,
    addPath: boolean,
    pathId: number,
    grouped: boolean,
  ): string {
    const end = from + length;
    for (let at = from; at < end; ) {
      const size = entrySize(nlri, at, end, family, !announce);
      if (size + 4 > this.#entry.length) return `${familyName(family)}: an entry is too long`;
      const head = addPath ? writeU32(this.#entry, 0, pathId) : 0;
      for (let i = 0; i < size; i++) this.#entry[head + i] = nlri[at + i]!;
      let added = courier.writer.addNlri(this.#entry, 0, head + size);
      if (added === FULL) {
        courier.turn();
        added = courier.writer.addNlri(this.#entry, 0, head + size);
      }
      if (added === TOO_LARGE) return `${familyName(family)}: attributes leave no room for a route in one message`;
      if (!grouped) courier.writer.close();
      at += size;
    }
    return '';
  }

  /** The block at hand for one group and family. */
  #build(group: Group, family: number, courier: Courier): Built {
    let built = this.#built.find((one) => one.group === group && one.family === family);
    if (built === undefined) {
      built = new Built(group, family);
      this.#built.push(built);
    }
    if (built.version === this.#version) return built;
    built.version = this.#version;
    if (courier.run === built) courier.run = undefined;
    const { side } = group;
    const self = this.#nextHop.length === 0;
    const hop = self ? selfNextHop(side, family) : nextHopBytes(this.#nextHop, family);
    const inBlock = family === IPV4_UNICAST && hop.length === 4;
    built.nextHop = inBlock ? NONE : hop;
    built.fault = '';
    if (hop.length === 0 && !isFlow(family)) built.fault = `${familyName(family)}: the session has no address for next-hop self`;
    else if (family === IPV4_UNICAST && !inBlock && !takesIpv6NextHop(side)) {
      built.fault = `${familyName(family)}: the peer takes no IPv6 next hop`;
    } else if (family >>> 8 === AFI_IPV6 && hop.length === 4 && !isFlow(family)) {
      built.fault = `${familyName(family)}: an IPv4 next hop cannot be sent`;
    }
    if (built.fault !== '') return built;
    if (this.#block.length > this.#scratch.length) {
      built.fault = 'the attributes do not fit a message';
      return built;
    }
    this.#scratch.set(this.#block);
    const ruleHop = inBlock ? u32(hop) : STRIP;
    if (built.rule === undefined || built.ruleHop !== ruleHop || built.ruleHasPath !== this.#hasPath) {
      built.rule = originRule(side, this.#hasPath, ruleHop);
      built.ruleHop = ruleHop;
      built.ruleHasPath = this.#hasPath;
    }
    if (side.context.maxMessage > built.block.length) built.block = new Uint8Array(65_536);
    built.length = this.#rewriter.rewrite(this.#scratch, this.#scratchView, 0, this.#block.length, built.rule, built.block, 0);
    if (built.length < 0) built.fault = 'the attributes do not fit a message';
    return built;
  }

  /** Tells whoever keeps Adj-RIB-Out, entry by entry; returns how many entries there are. */
  #tell(
    owner: string,
    peers: readonly Peer[],
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    from: number,
    length: number,
    pathId: number,
  ): number {
    let count = 0;
    const end = from + length;
    for (let at = from; at < end; count++) {
      const size = entrySize(nlri, at, end, family, !announce);
      for (const peer of peers) {
        this.#host.originated(
          owner,
          peer.index,
          family,
          announce,
          nlri,
          at,
          size,
          pathId,
          this.#block,
          this.#nextHop,
          this.#meta,
        );
      }
      at += size;
    }
    return count;
  }
}

/** Bytes of the entry at `at`; of a family whose syntax nobody here knows, all there is. */
function entrySize(nlri: Uint8Array, at: number, end: number, family: number, withdrawn: boolean): number {
  if (isPrefixFamily(family)) return Math.min(end - at, 1 + ((nlri[at]! + 7) >>> 3));
  const known = nlriLength(viewOf(nlri), at, end - at, family, withdrawn);
  return known < 0 ? end - at : known;
}

function isFlow(family: number): boolean {
  const safi = family & 0xff;
  return safi === SAFI_FLOW || safi === SAFI_FLOW_VPN;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a === b || (a.length === b.length && equalBytes(a, 0, b, 0, a.length));
}

function equal(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
