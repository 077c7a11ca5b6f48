/**
 * Passing a received UPDATE on as a message: the same bytes where both sessions agreed on the same encoding and nothing is to
 * be changed, else its withdrawals and announcements are written anew with the attributes rewritten once for the group.
 * Routes that are passed on by best path go through `export-table.ts` instead.
 */
import { COMMUNITIES } from '../../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../../sdk/wire/attribute/cursor.ts';
import type { WireContext } from '../../../sdk/wire/context.ts';
import { AttributeRewriter } from '../../../sdk/wire/export.ts';
import { AFI_IPV4, IPV4_UNICAST } from '../../../sdk/wire/family.ts';
import { WITHDRAW } from '../../../sdk/wire/fault.ts';
import { entryLength } from '../../../sdk/wire/nlri/syntax.ts';
import { writeU32 } from '../../../sdk/wire/nlri/prefix.ts';
import type { UpdateView } from '../../../sdk/wire/update.ts';
import { FULL, TOO_LARGE } from '../../../sdk/wire/writer.ts';
import type { UpdateWriter } from '../../../sdk/wire/writer.ts';
import { mpNextHop, takesIpv6NextHop } from './export-rule.ts';
import type { ExportSide } from './export-rule.ts';
import type { Group } from './groups.ts';
import type { Sources } from './route-packer.ts';

const NO_EXPORT = 0xffffff01;
const NO_ADVERTISE = 0xffffff02;
const NO_EXPORT_SUBCONFED = 0xffffff03;
const NONE = new Uint8Array(0);

/** Where messages go: a group's stream, or the courier. */
export interface Outlet {
  readonly writer: UpdateWriter;
  turn(): void;
}

/** NLRI of one kind within a byte range. */
export interface Section {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly at: number;
  readonly length: number;
  readonly family: number;
  readonly addPath: boolean;
}

export class Forwarder {
  readonly #sources: Sources;
  readonly #rewriter = new AttributeRewriter();
  readonly #cursor = new AttributeCursor();
  readonly #block = new Uint8Array(65_536);
  readonly #entry = new Uint8Array(4096);
  /** Entries that fit no message, or whose next hop cannot be said to the destination. */
  withheld = 0;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** Writes to `outlet` what the members of `group` are to get of the view's message from `source`. */
  forward(view: UpdateView, source: number, group: Group, outlet: Outlet): void {
    const { side } = group;
    if (!this.reaches(side, source)) return;
    const context = side.context;
    const announces = view.outcome !== WITHDRAW && (view.nlriLength > 0 || view.reachLength > 0);
    const { block } = view;
    const allowed = !announces || this.allows(block.view, block.at, block.length, side);
    if (allowed && announces && this.#unchanged(view, side, source)) {
      if (outlet.writer.addMessage(view.bytes, view.at, view.length) === FULL) {
        outlet.turn();
        outlet.writer.addMessage(view.bytes, view.at, view.length);
      }
      return;
    }
    if (view.withdrawnLength > 0 && !view.classicIgnored) this.#withdraw(classic(view, false), context, source, outlet);
    if (view.unreachLength > 0 && !view.unreachIgnored) this.#withdraw(unreach(view), context, source, outlet);
    const nlri = view.nlriLength > 0 && !view.classicIgnored;
    const reach = view.reachLength > 0 && !view.reachIgnored;
    if (view.outcome === WITHDRAW || !allowed) {
      if (nlri) this.#withdraw(classic(view, true), context, source, outlet);
      if (reach) this.#withdraw(reachOf(view), context, source, outlet);
      return;
    }
    const asn4 = view.context.asn4;
    const { bytes, view: blockView, at, length } = view.block;
    if (nlri) this.announce(classic(view, true), asn4, bytes, blockView, at, length, NONE, 0, 0, source, group, outlet);
    if (!reach) return;
    const { reachNextHopAt, reachNextHopLength } = view;
    this.announce(
      reachOf(view),
      asn4,
      bytes,
      blockView,
      at,
      length,
      view.bytes,
      reachNextHopAt,
      reachNextHopLength,
      source,
      group,
      outlet,
    );
  }

  /** Announces a section with the block of `length` bytes at `at`; `hopLength` 0: the next hop is in the block. */
  announce(
    section: Section,
    asn4: boolean,
    bytes: Uint8Array,
    blockView: DataView,
    at: number,
    length: number,
    hop: Uint8Array,
    hopAt: number,
    hopLength: number,
    source: number,
    group: Group,
    outlet: Outlet,
  ): void {
    const { side } = group;
    const { family } = section;
    const context = side.context;
    if (!context.hasFamily(family)) return;
    const own = mpNextHop(side, family);
    const inBlock =
      family === IPV4_UNICAST && (own === undefined ? hopLength === 0 : own.length === 4 || !takesIpv6NextHop(side));
    if (!inBlock && family >>> 8 === AFI_IPV4 && (own?.length ?? hopLength) === 16 && !takesIpv6NextHop(side)) {
      this.#withhold(section, 0, source, group, outlet);
      return;
    }
    const reflected = !side.ebgp && !this.#sources.external(source);
    const rule = group.rules.passing(asn4, inBlock, reflected ? this.#sources.routerId(source) : 0);
    const written = this.#rewriter.rewrite(bytes, blockView, at, length, rule, this.#block, 0);
    if (written < 0) {
      this.#withhold(section, 0, source, group, outlet);
      return;
    }
    const { writer } = outlet;
    const addPath = context.addPath(family);
    if (inBlock) writer.beginAnnounce(family, addPath, context.maxMessage, this.#block, 0, written);
    else if (own !== undefined)
      writer.beginAnnounce(family, addPath, context.maxMessage, this.#block, 0, written, own, 0, own.length);
    else writer.beginAnnounce(family, addPath, context.maxMessage, this.#block, 0, written, hop, hopAt, hopLength);
    const refused = this.#addSection(section, addPath, false, source, outlet);
    if (refused > 0) this.#withhold(section, refused, source, group, outlet);
  }

  /** Withdraws a section. */
  withdraw(section: Section, source: number, group: Group, outlet: Outlet): void {
    this.#withdraw(section, group.side.context, source, outlet);
  }

  /** Entries of `least` bytes or more cannot be said to the group: what its members have of an earlier announcement is wrong now. */
  #withhold(section: Section, least: number, source: number, group: Group, outlet: Outlet): void {
    this.withheld++;
    this.#sources.withheld(group, source);
    this.#withdraw(section, group.side.context, source, outlet, least);
  }

  #withdraw(section: Section, context: WireContext, source: number, outlet: Outlet, least = 0): void {
    if (!context.hasFamily(section.family)) return;
    const addPath = context.addPath(section.family);
    outlet.writer.beginWithdraw(section.family, addPath, context.maxMessage);
    this.#addSection(section, addPath, true, source, outlet, least);
  }

  /**
   * The whole section at once where it fits and path identifiers need no change, else entry by entry, those of `least` bytes or more.
   * Returns the length of the shortest entry that fits no message; 0 = all were added.
   */
  #addSection(section: Section, addPath: boolean, withdrawn: boolean, source: number, outlet: Outlet, least = 0): number {
    if (!addPath && !section.addPath && least === 0) {
      let added = outlet.writer.addNlri(section.bytes, section.at, section.length);
      if (added === FULL) {
        outlet.turn();
        added = outlet.writer.addNlri(section.bytes, section.at, section.length);
      }
      if (added !== TOO_LARGE) return 0;
    }
    const { view, bytes, family } = section;
    const end = section.at + section.length;
    let refused = 0;
    for (let at = section.at; at < end; ) {
      const head = section.addPath ? 4 : 0;
      const size = entryLength(view, at + head, end - at - head, family, withdrawn);
      if (size < 0 || size + 4 > this.#entry.length) {
        this.withheld++;
        break;
      }
      const pathId = section.addPath ? view.getUint32(at) : 0;
      const from = addPath ? writeU32(this.#entry, 0, pathIdFor(source, pathId)) : 0;
      this.#entry.set(bytes.subarray(at + head, at + head + size), from);
      at += head + size;
      if (from + size < least || this.#addEntry(from + size, outlet)) continue;
      refused = refused === 0 ? from + size : Math.min(refused, from + size);
    }
    return refused;
  }

  #addEntry(length: number, outlet: Outlet): boolean {
    let added = outlet.writer.addNlri(this.#entry, 0, length);
    if (added === FULL) {
      outlet.turn();
      added = outlet.writer.addNlri(this.#entry, 0, length);
    }
    return added !== TOO_LARGE;
  }

  /** RFC 4271 §9.2: nothing goes from iBGP to iBGP but by reflection (RFC 4456). */
  reaches(side: ExportSide, source: number): boolean {
    return side.ebgp || this.#sources.external(source) || side.reflectorClient || this.#sources.reflectorClient(source);
  }

  /** RFC 1997: communities that keep a route inside. */
  allows(blockView: DataView, at: number, length: number, side: ExportSide): boolean {
    if (side.transparent) return true;
    const cursor = this.#cursor.over(blockView, at, length);
    if (!cursor.find(COMMUNITIES)) return true;
    for (let i = cursor.valueAt; i + 4 <= cursor.at; i += 4) {
      const value = blockView.getUint32(i);
      if (value < NO_EXPORT || value > NO_EXPORT_SUBCONFED) continue;
      if (side.ebgp || value === NO_ADVERTISE) return false;
    }
    return true;
  }

  /** Equal encoding on both sides and a rule that changes nothing: the bytes go out as they came. */
  #unchanged(view: UpdateView, side: ExportSide, source: number): boolean {
    const { context } = side;
    if (view.context.id !== context.id || view.context.ownLocalPref || view.faults.total > 0) return false;
    if (side.prepend.length > 0 || side.overrideAs !== 0 || side.nextHop !== 'unchanged') return false;
    if (!side.standardCommunities || !side.extendedCommunities || !side.largeCommunities) return false;
    if (side.ebgp ? !side.transparent : !this.#sources.external(source)) return false;
    if (context.addPathFamilies.length > 0) return false;
    if (view.length > context.maxMessage) return false;
    return this.#fits(view, context);
  }

  #fits(view: UpdateView, context: WireContext): boolean {
    if (view.classicIgnored || view.reachIgnored || view.unreachIgnored) return false;
    if ((view.nlriLength > 0 || view.withdrawnLength > 0) && !context.ipv4Unicast) return false;
    if (view.reachLength > 0 && !context.hasFamily(view.reachFamily)) return false;
    return view.unreachLength === 0 || context.hasFamily(view.unreachFamily);
  }
}

/**
 * Path identifiers mean something to the neighbour that chose them (RFC 7911 §2): towards others each source's are moved into a
 * range of its own, and the paths of a source that has none get one.
 */
export function pathIdFor(source: number, pathId: number): number {
  return (Math.imul(source + 1, 0x10000) ^ pathId) >>> 0;
}

function classic(view: UpdateView, announced: boolean): Section {
  return {
    bytes: view.bytes,
    view: view.view,
    at: announced ? view.nlriAt : view.withdrawnAt,
    length: announced ? view.nlriLength : view.withdrawnLength,
    family: IPV4_UNICAST,
    addPath: view.context.addPathIpv4Unicast,
  };
}

function reachOf(view: UpdateView): Section {
  return {
    bytes: view.bytes,
    view: view.view,
    at: view.reachAt,
    length: view.reachLength,
    family: view.reachFamily,
    addPath: view.reachAddPath,
  };
}

function unreach(view: UpdateView): Section {
  return {
    bytes: view.bytes,
    view: view.view,
    at: view.unreachAt,
    length: view.unreachLength,
    family: view.unreachFamily,
    addPath: view.unreachAddPath,
  };
}
