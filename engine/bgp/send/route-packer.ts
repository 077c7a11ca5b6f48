/**
 * Turns rows of a best-route table into UPDATEs for one update group: the attribute block of a handle is rewritten once for the
 * run of rows that share it, the rows are packed behind it. Nothing is allocated per row or per handle.
 */
import type { BestRoutes } from '../../../sdk/plugin/route-path.ts';
import { COMMUNITIES } from '../../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../../sdk/wire/attribute/cursor.ts';
import { viewOf } from '../../../sdk/wire/bytes.ts';
import { AttributeRewriter } from '../../../sdk/wire/export.ts';
import { AFI_IPV4, IPV4_UNICAST } from '../../../sdk/wire/family.ts';
import { writeU32 } from '../../../sdk/wire/nlri/prefix.ts';
import { ADDED, FULL } from '../../../sdk/wire/writer.ts';
import type { Added } from '../../../sdk/wire/writer.ts';
import { mpNextHop, takesIpv6NextHop } from './export-rule.ts';
import type { ExportSide } from './export-rule.ts';
import type { Group } from './groups.ts';
import type { Peer } from '../session/peer.ts';
import type { Stream } from './stream.ts';

/** RFC 1997: well-known communities that keep a route inside. */
const NO_EXPORT = 0xffffff01;
const NO_ADVERTISE = 0xffffff02;
const NO_EXPORT_SUBCONFED = 0xffffff03;
/** With ADD-PATH a destination gets one path a prefix, under one identifier. */
const PATH_ID = 1;
/** Room for one entry. */
const ENTRY_BYTES = 64;
const NONE = new Uint8Array(0);

/** What the packer must know of the peers routes come from. */
export interface Sources {
  external(peer: number): boolean;
  reflectorClient(peer: number): boolean;
  /** u32; 0 when down */
  routerId(peer: number): number;
  /** Told of routes from `source` that no message to this group can hold, or whose next hop cannot be said to it. */
  withheld(group: Group, source: number): void;
}

/** Source of a route that started here. */
export const LOCAL = 0xffff;

export class RoutePacker {
  readonly #routes: BestRoutes;
  readonly #group: Group;
  readonly #side: ExportSide;
  readonly #sources: Sources;
  readonly #rewriter = new AttributeRewriter();
  readonly #cursor = new AttributeCursor();
  readonly #family: number;
  readonly #addPath: boolean;
  readonly #maxMessage: number;
  /** Next hop when it is the same for every route. */
  readonly #ownNextHop: Uint8Array | undefined;
  readonly #entry = new Uint8Array(ENTRY_BYTES);
  /** Bytes of the longest prefix: where a message has room for it, it is written in place. With ADD-PATH, never. */
  readonly #longest: number;
  #block = new Uint8Array(4096);
  #bytes: Uint8Array = NONE;
  #view: DataView = viewOf(NONE);
  /** The run being packed. */
  #stream: Stream | undefined;
  #handle = 0;
  #source = 0;
  #withdrawing: Stream | undefined;
  #withdrawingFrom = 0;
  /** The handle whose communities were looked at last, and what they said. */
  #judged = 0;
  #judgedLocal = false;
  #judgement = false;
  /** Routes no message of the allowed size can hold, and routes whose next hop cannot be said to this group. */
  withheld = 0;

  constructor(routes: BestRoutes, group: Group, sources: Sources) {
    this.#routes = routes;
    this.#group = group;
    this.#side = group.side;
    this.#sources = sources;
    this.#family = routes.family;
    this.#addPath = group.side.context.addPath(routes.family);
    this.#maxMessage = group.side.context.maxMessage;
    this.#longest = this.#addPath ? Infinity : routes.family === IPV4_UNICAST ? 5 : ENTRY_BYTES;
    this.#ownNextHop = mpNextHop(group.side, routes.family);
    if (this.#addPath) writeU32(this.#entry, 0, PATH_ID);
  }

  /** Handles may mean other bytes from now on: nothing is remembered of the last run. */
  begin(): void {
    this.#stream = undefined;
    this.#withdrawing = undefined;
    this.#handle = 0;
    this.#judged = 0;
  }

  /** Did the row, which was sent, get past the filters of the peer? */
  passed(peer: Peer, row: number): boolean {
    if (peer.settings.exportFilters.length === 0) return true;
    const length = this.#routes.writePrefix(row, this.#entry, this.#addPath ? 4 : 0);
    return peer.sender.has(this.#family, this.#entry, 0, (this.#addPath ? 4 : 0) + length);
  }

  /** May a route of this handle and source go to the group at all? RFC 1997, RFC 4271 §9.2 (no iBGP to iBGP), RFC 4456. */
  allows(handle: number, source: number): boolean {
    if (source !== LOCAL && !this.#side.ebgp && !this.#sources.external(source)) {
      if (!this.#side.reflectorClient && !this.#sources.reflectorClient(source)) return false;
    }
    if (handle !== this.#judged || (source === LOCAL) !== this.#judgedLocal) {
      this.#judged = handle;
      this.#judgedLocal = source === LOCAL;
      this.#judgement = source === LOCAL || this.#side.transparent || this.#communitiesAllow(handle);
    }
    return this.#judgement;
  }

  /** Adds the row to the stream; false when it cannot be said and is withheld. */
  announce(stream: Stream, row: number, handle: number, source: number): boolean {
    if (stream !== this.#stream || handle !== this.#handle || source !== this.#source) {
      if (!this.#beginRun(stream, handle, source)) {
        this.#stream = undefined;
        return this.#withhold(source);
      }
    }
    return this.#add(stream, row) === ADDED || this.#withhold(source);
  }

  /** `source`: who announced it before, and so never got it; he gets no withdrawal either. */
  withdraw(stream: Stream, row: number, source: number): void {
    if (stream !== this.#withdrawing || source !== this.#withdrawingFrom) {
      this.#withdrawing = stream;
      this.#withdrawingFrom = source;
      stream.from(source);
      stream.writer.beginWithdraw(this.#family, this.#addPath, this.#maxMessage);
      // One stream may carry both kinds: the other's run is over.
      if (stream === this.#stream) this.#stream = undefined;
    }
    this.#add(stream, row);
  }

  #withhold(source: number): false {
    this.withheld++;
    this.#sources.withheld(this.#group, source);
    return false;
  }

  #add(stream: Stream, row: number): Added {
    const { writer } = stream;
    if (writer.hasRoom(this.#longest)) {
      writer.used += this.#routes.writePrefix(row, writer.bytes, writer.used);
      return ADDED;
    }
    const at = this.#addPath ? 4 : 0;
    const length = at + this.#routes.writePrefix(row, this.#entry, at);
    const added = writer.addNlri(this.#entry, 0, length);
    if (added !== FULL) return added;
    stream.turn();
    return writer.addNlri(this.#entry, 0, length);
  }

  #beginRun(stream: Stream, handle: number, source: number): boolean {
    const routes = this.#routes;
    if (routes.attributeBytes !== this.#bytes) {
      this.#bytes = routes.attributeBytes;
      this.#view = viewOf(this.#bytes);
    }
    const hopLength = routes.nextHopLength(handle);
    const own = this.#ownNextHop;
    const classic =
      this.#family === IPV4_UNICAST && (own === undefined ? hopLength === 0 : own.length === 4 || !this.#sayIpv6(own));
    if (!classic && this.#family >>> 8 === AFI_IPV4 && (own?.length ?? hopLength) === 16 && !this.#sayIpv6(own)) return false;
    const reflected = source !== LOCAL && !this.#side.ebgp && !this.#sources.external(source);
    const rule = this.#group.rules.passing(true, classic, reflected ? this.#sources.routerId(source) : 0);
    const at = routes.attributesAt(handle);
    const length = routes.attributesLength(handle);
    let written = this.#rewriter.rewrite(this.#bytes, this.#view, at, length, rule, this.#block, 0);
    if (written < 0) {
      if (this.#block.length === 65_536) return false;
      this.#block = new Uint8Array(65_536);
      written = this.#rewriter.rewrite(this.#bytes, this.#view, at, length, rule, this.#block, 0);
      if (written < 0) return false;
    }
    stream.from(source);
    const writer = stream.writer;
    if (classic) writer.beginAnnounce(this.#family, this.#addPath, this.#maxMessage, this.#block, 0, written);
    else if (own !== undefined) {
      writer.beginAnnounce(this.#family, this.#addPath, this.#maxMessage, this.#block, 0, written, own, 0, own.length);
    } else {
      const hopAt = routes.nextHopAt(handle);
      writer.beginAnnounce(this.#family, this.#addPath, this.#maxMessage, this.#block, 0, written, this.#bytes, hopAt, hopLength);
    }
    this.#stream = stream;
    this.#handle = handle;
    this.#source = source;
    if (stream === this.#withdrawing) this.#withdrawing = undefined;
    return true;
  }

  /** True when the group may get an IPv6 next hop for IPv4 routes. */
  #sayIpv6(own: Uint8Array | undefined): boolean {
    return (own === undefined || own.length >= 16) && takesIpv6NextHop(this.#side);
  }

  #communitiesAllow(handle: number): boolean {
    const routes = this.#routes;
    if (routes.attributeBytes !== this.#bytes) {
      this.#bytes = routes.attributeBytes;
      this.#view = viewOf(this.#bytes);
    }
    const cursor = this.#cursor.over(this.#view, routes.attributesAt(handle), routes.attributesLength(handle));
    while (cursor.next()) {
      if (cursor.code !== COMMUNITIES) continue;
      for (let at = cursor.valueAt; at + 4 <= cursor.at; at += 4) {
        const value = this.#view.getUint32(at);
        if (value < NO_EXPORT || value > NO_EXPORT_SUBCONFED) continue;
        if (this.#side.ebgp || value === NO_ADVERTISE) return false;
      }
      return true;
    }
    return true;
  }
}
