/** Peers as plain values that cross threads. */
import { familyName } from '../../sdk/wire/family.ts';
import { HELD_BY_CONGESTION, HELD_BY_CONSUMER, HELD_BY_OPERATOR, HELD_BY_RING } from './session/peer.ts';
import type { Peer } from './session/peer.ts';
import type { PeerIdentity, PeerSnapshot } from './port.ts';

/** One neighbour as the operator sees it; `count` says how many prefixes of a family it has announced. */
export function snapshotOf(peer: Peer, count: (family: number) => number): PeerSnapshot {
  const { session, settings, counters } = peer;
  counters.bytesReceived = peer.bytesReceived;
  counters.bytesSent = peer.bytesSent;
  return {
    index: peer.index,
    settings,
    state: peer.state,
    adminDown: peer.adminDown,
    paused: peer.heldBy(HELD_BY_OPERATOR),
    held: peer.heldBy(HELD_BY_CONSUMER | HELD_BY_RING | HELD_BY_CONGESTION),
    establishedAt: peer.established ? peer.establishedAt : 0,
    lastDownReason: peer.lastDownReason,
    remoteRouterId: peer.remoteRouterId,
    localAddress: session?.localAddress ?? settings.localAddress,
    localPort: session?.localPort ?? 0,
    remotePort: session?.remotePort ?? 0,
    flaps: peer.flaps,
    counters: counters.snapshot(),
    prefixes: settings.families.map(({ family, prefixMaximum }) => ({
      family: familyName(family),
      received: peer.established ? count(family) : 0,
      maximum: prefixMaximum,
    })),
    negotiated: peer.negotiatedSnapshot(),
    sendQueueBytes: peer.queuedBytes,
    largestKeepaliveGapMs: peer.largestKeepaliveGapMs,
  };
}

/** What the bus must know of a peer to write its events. */
export function identityOf(peer: Peer): PeerIdentity {
  const { settings } = peer;
  return {
    index: peer.index,
    name: settings.name,
    group: settings.group,
    remoteAddress: settings.remoteAddress,
    remoteAs: settings.remoteAs,
    localAddress: peer.session?.localAddress ?? settings.localAddress,
    localAs: settings.localAs,
  };
}
