// A default route that a filter decides on: the UPDATE that the filter is shown, and what it made of it as a route of ours.
import { AS_PATH, LOCAL_PREF, MP_REACH_NLRI, MP_UNREACH_NLRI, NEXT_HOP } from '../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../sdk/wire/attribute/cursor.ts';
import { addressBytes } from '../../sdk/wire/address.ts';
import { equalBytes, viewOf } from '../../sdk/wire/bytes.ts';
import { IPV4_UNICAST } from '../../sdk/wire/family.ts';
import { HEADER_LENGTH, UPDATE, writeHeader } from '../../sdk/wire/message.ts';
import type { PeerSettings } from '../bgp/port.ts';

/** Of an external neighbour, and of one of ours. */
const LOCAL_PREF_100 = [0x40, LOCAL_PREF, 4, 0, 0, 0, 100];
const NONE = new Uint8Array(0);

/** As the peer would get it: 4-octet AS numbers, our address as next hop. */
export function defaultMessage({ localAs, remoteAs, localAddress }: PeerSettings, family: number): Uint8Array {
  const external = localAs !== remoteAs;
  const path = external ? [2, 1, localAs >>> 24, (localAs >>> 16) & 0xff, (localAs >>> 8) & 0xff, localAs & 0xff] : [];
  const hop = standIn(localAddress, family);
  const attributes = [0x40, 1, 1, 0, 0x40, AS_PATH, path.length, ...path];
  if (family === IPV4_UNICAST) attributes.push(0x40, NEXT_HOP, 4, ...hop);
  if (!external) attributes.push(...LOCAL_PREF_100);
  if (family !== IPV4_UNICAST) attributes.push(0x80, MP_REACH_NLRI, 22, 0, family >>> 8, family & 0xff, 16, ...hop, 0, 0);
  const nlri = family === IPV4_UNICAST ? [0] : [];
  const length = HEADER_LENGTH + 4 + attributes.length + nlri.length;
  const message = new Uint8Array(length);
  const at = writeHeader(message, 0, length, UPDATE);
  message.set([0, 0, attributes.length >>> 8, attributes.length & 0xff, ...attributes, ...nlri], at);
  return message;
}

/** An address of ours of the family; where the session runs over the other one, 0.0.0.0 or ::. */
function standIn(localAddress: string, family: number): Uint8Array {
  const length = family === IPV4_UNICAST ? 4 : 16;
  const own = addressBytes(localAddress);
  return own?.length === length ? own : new Uint8Array(length);
}

interface Parts {
  /** Without next hop and NLRI. */
  readonly attributes: ReadonlyMap<number, Uint8Array>;
  readonly nextHop: Uint8Array;
  readonly announces: boolean;
}

/**
 * The route that the filter left, to be originated: what it did not touch is filled in later as for any route of ours (an empty next hop: our
 * own address, no AS_PATH: ours). Undefined: it took the route out.
 */
export function judgedRoute(
  before: Uint8Array,
  after: Uint8Array,
): { readonly attributes: Uint8Array; readonly nextHop: Uint8Array } | undefined {
  const [old, now] = [partsOf(before), partsOf(after)];
  if (!now.announces) return undefined;
  const kept = [...now.attributes].filter(([code, bytes]) => {
    const filled = code === AS_PATH || code === LOCAL_PREF;
    return !filled || !sameBytes(bytes, old.attributes.get(code));
  });
  return {
    attributes: Uint8Array.from(Buffer.concat(kept.map(([, bytes]) => bytes))),
    nextHop: sameBytes(now.nextHop, old.nextHop) ? NONE : now.nextHop,
  };
}

function partsOf(message: Uint8Array): Parts {
  const view = viewOf(message);
  const withdrawn = view.getUint16(HEADER_LENGTH);
  const at = HEADER_LENGTH + 4 + withdrawn;
  const length = view.getUint16(at - 2);
  const cursor = new AttributeCursor().over(view, at, length);
  const attributes = new Map<number, Uint8Array>();
  let nextHop = NONE;
  let announces = message.length > at + length;
  while (cursor.next()) {
    const { code, valueAt, valueLength } = cursor;
    if (code === NEXT_HOP) nextHop = message.slice(valueAt, valueAt + valueLength);
    else if (code === MP_REACH_NLRI) {
      const size = view.getUint8(valueAt + 3);
      nextHop = message.slice(valueAt + 4, valueAt + 4 + size);
      announces = announces || valueLength > 5 + size;
    } else if (code !== MP_UNREACH_NLRI) attributes.set(code, message.slice(cursor.startAt, cursor.at));
  }
  return { attributes, nextHop, announces };
}

function sameBytes(a: Uint8Array, b: Uint8Array | undefined): boolean {
  return b !== undefined && a.length === b.length && equalBytes(a, 0, b, 0, a.length);
}
