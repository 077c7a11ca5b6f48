/**
 * Routes that start here: `update-route`, `update { }` blocks, and their second sending. Attributes that are missing are filled
 * in (ORIGIN igp; AS_PATH, ours towards external peers; LOCAL_PREF 100 towards internal ones), the block is written once for
 * each update group, and routes that follow each other with equal attributes share messages.
 */
import { AS_PATH, ORIGIN, TRANSITIVE } from '../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../sdk/wire/attribute/cursor.ts';
import { equalBytes, viewOf } from '../../sdk/wire/bytes.ts';
import { AttributeRewriter, STRIP } from '../../sdk/wire/export.ts';
import { AFI_IPV6, IPV4_UNICAST, familyName } from '../../sdk/wire/family.ts';
import { writeU32 } from '../../sdk/wire/nlri/prefix.ts';
import { countNlri, nlriLength } from '../../sdk/wire/nlri/syntax.ts';
import { FULL, TOO_LARGE, endOfRib } from '../../sdk/wire/writer.ts';
import type { Courier } from './courier.ts';
import { originRule, selfNextHop, shaped, takesIpv6NextHop, u32 } from './export-rule.ts';
import type { Group } from './groups.ts';
import type { Peer } from './peer.ts';
import type { Origination, OriginationResult } from './port.ts';

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

  constructor(group: Group, family: number) {
    this.group = group;
    this.family = family;
  }
}

interface Class {
  readonly group: Group;
  readonly peers: readonly Peer[];
}

export class Originator {
  readonly #host: OriginateHost;
  readonly #rewriter = new AttributeRewriter();
  readonly #cursor = new AttributeCursor();
  readonly #entry = new Uint8Array(4096);
  /** The attributes at hand: as given, and with ORIGIN. */
  #given: Uint8Array = NONE;
  #block: Uint8Array = Uint8Array.of(TRANSITIVE, ORIGIN, 1, 0);
  #blockView = viewOf(this.#block);
  #hasPath = false;
  #nextHop: Uint8Array = NONE;
  #version = 1;
  #built: Built[] = [];

  constructor(host: OriginateHost) {
    this.#host = host;
  }

  originate(batch: readonly Origination[]): readonly OriginationResult[] {
    return batch.map((one) => this.#one(one));
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
    return this.#write({ group, peers: [peer] }, family, announce, nlri, at, length, pathId, peer.settings.groupUpdates) === '';
  }

  /** The group is no more. */
  forget(group: Group): void {
    this.#built = this.#built.filter((built) => built.group !== group);
  }

  #one(one: Origination): OriginationResult {
    let announced = 0;
    let withdrawn = 0;
    let routesSent = 0;
    const affected = new Set<number>();
    const warnings: string[] = [];
    this.#take(one.attributes, one.nextHop);
    for (const section of one.sections) {
      const { family } = section;
      const peers = this.#takers(one.peers, family);
      if (peers.length === 0) {
        warnings.push(`${familyName(family)}: no peer has negotiated this family`);
        continue;
      }
      const classes = this.#classes(peers);
      if (section.eor)
        for (const { peers: members } of classes) for (const peer of members) this.#host.put(peer, endOfRib(family));
      for (const [nlri, announce] of [
        [section.withdraw, false],
        [section.announce, true],
      ] as const) {
        if (nlri.length === 0) continue;
        const count = countEntries(nlri, family, !announce);
        let accepted = peers.length;
        for (const one of classes) {
          const grouped = one.peers[0]?.settings.groupUpdates !== false;
          const fault = this.#write(one, family, announce, nlri, 0, nlri.length, section.pathId, grouped);
          if (fault === '') continue;
          accepted -= one.peers.length;
          if (!warnings.includes(fault)) warnings.push(fault);
        }
        if (accepted === 0) continue;
        if (announce) announced += count;
        else withdrawn += count;
        routesSent += count * accepted;
        for (const peer of peers) affected.add(peer.index);
        this.#tell(one.owner, peers, family, announce, nlri, section.pathId);
      }
    }
    return { announced, withdrawn, peersAffected: affected.size, routesSent, warnings };
  }

  /** Peers that have the family, or will see when they come up whether they have. */
  #takers(indices: readonly number[], family: number): readonly Peer[] {
    const peers: Peer[] = [];
    for (const index of indices) {
      const peer = this.#host.peer(index);
      if (peer === undefined) continue;
      const group = this.#host.groupOf(peer);
      if (group === undefined || group.side.context.hasFamily(family)) peers.push(peer);
    }
    return peers;
  }

  #classes(peers: readonly Peer[]): readonly Class[] {
    const classes: { readonly group: Group; readonly peers: Peer[] }[] = [];
    for (const peer of peers) {
      const group = this.#host.groupOf(peer);
      if (group === undefined) continue;
      const known = classes.find(
        (one) => one.group === group && one.peers[0]?.settings.groupUpdates === peer.settings.groupUpdates,
      );
      if (known === undefined) classes.push({ group, peers: [peer] });
      else known.peers.push(peer);
    }
    return classes;
  }

  /** Makes these attributes the ones at hand; what was built of the same stays good. */
  #take(attributes: Uint8Array, nextHop: Uint8Array): void {
    if (same(attributes, this.#given) && same(nextHop, this.#nextHop)) return;
    this.#given = attributes;
    this.#nextHop = nextHop;
    this.#version++;
    let hasOrigin = false;
    this.#hasPath = false;
    const cursor = this.#cursor.over(viewOf(attributes), 0, attributes.length);
    while (cursor.next()) {
      if (cursor.code === ORIGIN) hasOrigin = true;
      else if (cursor.code === AS_PATH) this.#hasPath = true;
    }
    if (hasOrigin) this.#block = attributes;
    else {
      this.#block = new Uint8Array(4 + attributes.length);
      this.#block.set([TRANSITIVE, ORIGIN, 1, 0]);
      this.#block.set(attributes, 4);
    }
    this.#blockView = viewOf(this.#block);
  }

  /** Writes NLRI to the class's courier; returns what stands against it, '' for nothing. */
  #write(
    { group, peers }: Class,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    at: number,
    length: number,
    pathId: number,
    grouped: boolean,
  ): string {
    const courier = this.#host.courier(group);
    const context = group.side.context;
    const addPath = context.addPath(family);
    courier.address(peers);
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
    return this.#addEntries(courier, family, announce, nlri, at, length, addPath, pathId, grouped);
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
    const view = viewOf(nlri);
    const end = from + length;
    for (let at = from; at < end; ) {
      const known = nlriLength(view, at, end - at, family, !announce);
      const size = known < 0 ? end - at : known;
      if (size + 4 > this.#entry.length) return `${familyName(family)}: an entry is too long`;
      const head = addPath ? writeU32(this.#entry, 0, pathId) : 0;
      this.#entry.set(nlri.subarray(at, at + size), head);
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
    const hop = self ? selfNextHop(side, family) : shaped(this.#nextHop, family);
    const inBlock = family === IPV4_UNICAST && hop.length === 4;
    built.nextHop = inBlock ? NONE : hop;
    built.fault = '';
    if (hop.length === 0 && !isFlow(family)) built.fault = `${familyName(family)}: the session has no address for next-hop self`;
    else if (family === IPV4_UNICAST && !inBlock && !takesIpv6NextHop(side)) {
      built.fault = `${familyName(family)}: the peer takes no IPv6 next hop`;
    } else if (family >>> 8 === AFI_IPV6 && hop.length === 4) {
      built.fault = `${familyName(family)}: an IPv4 next hop cannot be sent`;
    }
    if (built.fault !== '') return built;
    const rule = originRule(side, this.#hasPath, inBlock ? u32(hop) : STRIP);
    if (side.context.maxMessage > built.block.length) built.block = new Uint8Array(65_536);
    built.length = this.#rewriter.rewrite(this.#block, this.#blockView, 0, this.#block.length, rule, built.block, 0);
    if (built.length < 0) built.fault = 'the attributes do not fit a message';
    return built;
  }

  #tell(owner: string, peers: readonly Peer[], family: number, announce: boolean, nlri: Uint8Array, pathId: number): void {
    const view = viewOf(nlri);
    for (let at = 0; at < nlri.length; ) {
      const known = nlriLength(view, at, nlri.length - at, family, !announce);
      const size = known < 0 ? nlri.length - at : known;
      for (const peer of peers) {
        this.#host.originated(owner, peer.index, family, announce, nlri, at, size, pathId, this.#block, this.#nextHop);
      }
      at += size;
    }
  }
}

function isFlow(family: number): boolean {
  const safi = family & 0xff;
  return safi === 133 || safi === 134;
}

/** Entries of a family whose syntax nobody here knows count as one. */
function countEntries(nlri: Uint8Array, family: number, withdrawn: boolean): number {
  return Math.max(1, countNlri(viewOf(nlri), 0, nlri.length, family, false, withdrawn));
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a === b || (a.length === b.length && equalBytes(a, 0, b, 0, a.length));
}
