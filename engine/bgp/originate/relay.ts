/**
 * `relay-stored-route`: routes that a plugin has kept of a peer go to one destination. Each becomes the UPDATE it once stood in, alone,
 * is judged again, and leaves by the way of a live forward (`forward.ts`): path, next hop, MED, communities, reflection and path
 * identifiers are what the destination would have got from the source itself.
 */
import {
  EXTENDED_LENGTH,
  MP_REACH_NLRI,
  MP_UNREACH_NLRI,
  NEXT_HOP,
  OPTIONAL,
  TRANSITIVE,
} from '../../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../../sdk/wire/attribute/cursor.ts';
import { viewOf } from '../../../sdk/wire/bytes.ts';
import type { ContextTable, WireContext } from '../../../sdk/wire/context.ts';
import { familyName, IPV4_UNICAST, SAFI_FLOW, SAFI_FLOW_VPN } from '../../../sdk/wire/family.ts';
import { DISCARD, OK, reasonText, TRUNCATED_LIST } from '../../../sdk/wire/fault.ts';
import { HEADER_LENGTH, MAX_EXTENDED_MESSAGE, UPDATE, writeHeader } from '../../../sdk/wire/message.ts';
import { writeU32 } from '../../../sdk/wire/nlri/prefix.ts';
import { countNlri } from '../../../sdk/wire/nlri/syntax.ts';
import { UpdateView } from '../../../sdk/wire/update.ts';
import type { Peer } from '../session/peer.ts';
import type { StoredRoute } from '../port.ts';

export interface RelayHost {
  readonly contexts: ContextTable;
  /** By canonical address. */
  at(address: string): Peer | undefined;
  forwardTo(view: UpdateView, source: number, destinations: readonly Peer[]): void;
}

const NO_NEXT_HOP = -1;
const CUT_SHORT = -2;
/** Attribute section, next hop and NLRI of one route must fit a message; the rest is the message's own. */
const ROOM = MAX_EXTENDED_MESSAGE - HEADER_LENGTH - 64;

export class Relay {
  readonly #host: RelayHost;
  readonly #view = new UpdateView();
  readonly #cursor = new AttributeCursor();
  readonly #bytes = new Uint8Array(MAX_EXTENDED_MESSAGE);
  readonly #bytesView = viewOf(this.#bytes);

  constructor(host: RelayHost) {
    this.#host = host;
  }

  /** Why a route was refused, by its position; '' for those that are on their way. */
  relay(destination: Peer, routes: readonly StoredRoute[]): readonly string[] {
    return routes.map((route) => this.#one(destination, route));
  }

  #one(destination: Peer, route: StoredRoute): string {
    const source = this.#host.at(route.source);
    if (source === undefined) return `source-peer ${route.source.slice(0, 64)} is not configured`;
    if (source === destination) return `source-peer ${route.source} is the destination`;
    if (!destination.send.hasFamily(route.family)) return `${familyName(route.family)} was not negotiated with the destination`;
    if (route.attributes.length + route.nextHop.length + route.nlri.length > ROOM) return 'it does not fit a message';
    const { family } = route;
    const addPath = source.receive.addPath(family);
    if (route.framing === 'unrecorded' && addPath)
      return `nlri-framing is not recorded, and ${route.source} sends path identifiers for ${familyName(family)}`;
    if (route.framing === 'source-wire' && !source.established)
      return `nlri-framing source-wire: the session of ${route.source} is down, its framing is not known`;
    // A path id is put in front where the plugin keeps it apart; 0 is what a route without one goes by.
    const pathId = route.framing === 'prefix-only' ? route.pathId : 0;
    const framed = pathId !== 0 || (route.framing === 'source-wire' && addPath);
    const read = (asn4: boolean): string => {
      const context = this.#context(source, family, framed, asn4, route.nextHop.length);
      const length = this.#write(route, pathId);
      if (length === NO_NEXT_HOP) return 'there is no next hop, neither apart nor among the attributes';
      if (length === CUT_SHORT) return reasonText(TRUNCATED_LIST);
      return this.#judge(length, context, family);
    };
    const asn4 = !source.established || source.receive.asn4;
    let fault = read(asn4);
    // Kept by somebody who widens AS numbers (`rib adjacent show`): four octets although the session has two.
    if (fault !== '' && !asn4 && read(true) === '') fault = '';
    if (fault === '') this.#host.forwardTo(this.#view, source.index, [destination]);
    return fault;
  }

  #context(source: Peer, family: number, addPath: boolean, asn4: boolean, hopLength: number): WireContext {
    const { localAs, remoteAs } = source.settings;
    const { ebgp, confederation } = source.receive;
    return this.#host.contexts.intern({
      asn4,
      extendedMessage: true,
      ebgp: source.established ? ebgp : localAs !== remoteAs,
      peerAs: remoteAs,
      localAs,
      families: [family],
      addPath: addPath ? [family] : [],
      extendedNextHop: hopLength > 4 ? [family] : [],
      ownIpv4: 0,
      enforceFirstAs: false,
      refuseAsSets: false,
      confederation,
    });
  }

  /** The route as an UPDATE of its own; its length, or why there is none. */
  #write(route: StoredRoute, pathId: number): number {
    const { attributes, family, nlri } = route;
    const bytes = this.#bytes;
    const cursor = this.#cursor.over(viewOf(attributes), 0, attributes.length);
    let hop = route.nextHop;
    let at = HEADER_LENGTH + 4;
    while (cursor.next()) {
      const { code, valueAt, valueLength } = cursor;
      if (code === NEXT_HOP) {
        if (hop.length === 0) hop = attributes.subarray(valueAt, valueAt + valueLength);
      } else if (code === MP_REACH_NLRI) {
        const length = valueLength > 4 ? attributes[valueAt + 3]! : 0;
        if (route.nextHop.length === 0 && length + 5 <= valueLength) hop = attributes.subarray(valueAt + 4, valueAt + 4 + length);
      } else if (code !== MP_UNREACH_NLRI) {
        bytes.set(attributes.subarray(cursor.startAt, cursor.at), at);
        at += cursor.at - cursor.startAt;
      }
    }
    if (cursor.at < cursor.end) return CUT_SHORT;
    const safi = family & 0xff;
    const head = pathId === 0 ? 0 : 4;
    if (family === IPV4_UNICAST && hop.length === 4) {
      bytes.set([TRANSITIVE, NEXT_HOP, 4, ...hop], at);
      at += 7;
      this.#bytesView.setUint16(HEADER_LENGTH + 2, at - HEADER_LENGTH - 4);
    } else {
      if (hop.length === 0 && safi !== SAFI_FLOW && safi !== SAFI_FLOW_VPN) return NO_NEXT_HOP;
      const size = 5 + hop.length + head + nlri.length;
      bytes.set([OPTIONAL | EXTENDED_LENGTH, MP_REACH_NLRI, size >>> 8, size & 0xff], at);
      bytes.set([family >>> 16, (family >>> 8) & 0xff, family & 0xff, hop.length, ...hop, 0], at + 4);
      at += 9 + hop.length;
      this.#bytesView.setUint16(HEADER_LENGTH + 2, at + head + nlri.length - HEADER_LENGTH - 4);
    }
    if (head !== 0) at = writeU32(bytes, at, pathId);
    bytes.set(nlri, at);
    at += nlri.length;
    this.#bytesView.setUint16(HEADER_LENGTH, 0);
    writeHeader(bytes, 0, at, UPDATE);
    return at;
  }

  /** RFC 7606: what would be discarded is; a route that would be withdrawn, or end a session, is refused. */
  #judge(length: number, context: WireContext, family: number): string {
    const view = this.#view;
    const outcome = view.read(this.#bytes, this.#bytesView, 0, length, context);
    if (outcome !== OK && outcome !== DISCARD) return firstFault(view);
    const classic = view.nlriLength > 0;
    const at = classic ? view.nlriAt : view.reachAt;
    const size = classic ? view.nlriLength : view.reachLength;
    const count = countNlri(this.#bytesView, at, size, family, context.addPath(family), false);
    return size === 0 || count > 1 ? 'nlri-hex must be one route' : '';
  }
}

/** The first fault that refuses, in words. */
export function firstFault(view: UpdateView): string {
  for (let i = 0; i < view.faults.count; i++) {
    if (view.faults.approach(i) === OK || view.faults.approach(i) === DISCARD) continue;
    const code = view.faults.code(i);
    return `${code === 0 ? '' : `attribute ${code}: `}${reasonText(view.faults.reason(i))}`;
  }
  return 'malformed';
}
