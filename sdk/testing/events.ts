/**
 * Event texts as the daemon writes them (events.md §1–§5), for tests: `events.state('edge', 'up')`. A peer is a name or its members;
 * members that are left out are filled in: address 192.0.2.1, AS 65001, our AS 65000.
 */
import type { UpdateParts } from './update-body.ts';

/** A peer as events show it. */
export interface TestPeer {
  readonly name: string;
  readonly address: string;
  readonly as: number;
  readonly localAddress: string;
  readonly localAs: number;
  /** '' = in no group. */
  readonly group: string;
}

/** A name, or some of a peer's members. */
export type PeerLike = string | Partial<TestPeer>;

/** The peer with everything that was left out. */
export function testPeer(peer: PeerLike): TestPeer {
  const given = typeof peer === 'string' ? { name: peer } : peer;
  const address = given.address ?? '192.0.2.1';
  return {
    name: given.name ?? address,
    address,
    as: given.as ?? 65_001,
    localAddress: given.localAddress ?? '192.0.2.254',
    localAs: given.localAs ?? 65_000,
    group: given.group ?? '',
  };
}

export type Direction = 'received' | 'sent';
/** The formats of an update event. */
export type EventFormat = 'parsed' | 'raw' | 'full' | 'summary';

interface MessageOptions {
  readonly id?: number | undefined;
  /** Default received. */
  readonly direction?: Direction | undefined;
}

/** One text each. None ends in a line feed; the daemon's don't either. */
export const events = {
  state(
    peer: PeerLike,
    state: 'up' | 'down',
    more: {
      readonly reason?: string | undefined;
      readonly 'initial-replay'?: string | undefined;
      readonly 'unheld-roles'?: readonly string[] | undefined;
    } = {},
  ): string {
    return event({ type: 'state' }, peer, { state, ...more });
  },

  /** `parts` of `updateParts`; `undefined` = an update nobody can take apart. */
  update(
    peer: PeerLike,
    parts: UpdateParts | undefined,
    body: string,
    format: EventFormat,
    options: MessageOptions = {},
  ): string {
    const { id = 1, direction = 'received' } = options;
    const type = direction === 'sent' ? 'sent' : 'update';
    switch (format) {
      case 'raw':
        return event({ type, direction }, peer, { raw: { update: body } });
      case 'summary':
        return event({ type, id, direction }, peer, { nlri: parts?.summary ?? {} });
      case 'parsed':
        return event({ type, id, direction }, peer, parts === undefined ? { nlri: {} } : { update: parts.update });
      case 'full': {
        const raw = parts?.raw ?? { update: body };
        return event({ type, id, direction }, peer, parts === undefined ? { nlri: {}, raw } : { update: parts.update, raw });
      }
    }
  },

  open(
    peer: PeerLike,
    open: { readonly 'hold-time'?: number; readonly 'router-id'?: string; readonly capabilities?: readonly object[] } = {},
    options: MessageOptions = {},
  ): string {
    const hold = open['hold-time'] ?? 90;
    const members = {
      asn: testPeer(peer).as,
      'router-id': open['router-id'] ?? '192.0.2.1',
      'hold-time': hold,
      timer: { 'hold-time': hold },
      capabilities: open.capabilities ?? [],
    };
    return event(message('open', options), peer, { open: members });
  },

  negotiated(
    peer: PeerLike,
    negotiated: {
      readonly 'hold-time'?: number;
      readonly asn4?: boolean;
      readonly families?: readonly string[];
      readonly 'add-path'?: { readonly send?: readonly string[]; readonly receive?: readonly string[] };
    } = {},
  ): string {
    const hold = negotiated['hold-time'] ?? 90;
    const members = { 'hold-time': hold, timer: { 'hold-time': hold }, asn4: true, families: ['ipv4/unicast'], ...negotiated };
    return event({ type: 'negotiated' }, peer, { negotiated: members });
  },

  notification(peer: PeerLike, code: number, subcode: number, options: MessageOptions & { readonly data?: string } = {}): string {
    return event(message('notification', options), peer, { notification: { code, subcode, data: options.data ?? '' } });
  },

  keepalive(peer: PeerLike, options: MessageOptions = {}): string {
    return event(message('keepalive', options), peer, { keepalive: {} });
  },

  /** `subtype`: a plain ROUTE-REFRESH, or the begin and end of one (RFC 7313). */
  refresh(
    peer: PeerLike,
    family = 'ipv4/unicast',
    subtype: 'refresh' | 'borr' | 'eorr' = 'refresh',
    options: MessageOptions = {},
  ): string {
    const [afi = '', safi = ''] = family.split('/');
    return event(message(subtype, options), peer, { [subtype]: { afi, safi } });
  },

  endOfRib(peer: PeerLike, family = 'ipv4/unicast'): string {
    return event({ type: 'eor' }, peer, { eor: { family } });
  },

  congested(peer: PeerLike): string {
    return event({ type: 'congested' }, peer, {});
  },

  resumed(peer: PeerLike): string {
    return event({ type: 'resumed' }, peer, {});
  },

  /** Events `first` to `last` of the stream were dropped. */
  gap(first: number, last: number): string {
    return JSON.stringify({ type: 'gap', gap: { dropped: last - first + 1, first, last } });
  },

  /** Another plugin's event in the namespace `bgp`, such as `rpki` with the members it puts beside `peer`. */
  custom(type: string, peer: PeerLike, members: object, options: MessageOptions = {}): string {
    return event({ type, ...(options.id === undefined ? {} : { id: options.id }) }, peer, members);
  },

  /** An event of another namespace, in the envelope that `engine.onEvent({ namespace })` asks for. */
  enveloped(namespace: string, type: string, payload: unknown): string {
    return JSON.stringify({ namespace, event: type, payload });
  },
} as const;

function message(type: string, { id = 1, direction = 'received' }: MessageOptions): object {
  return { type, id, direction };
}

function event(head: object, like: PeerLike, members: object): string {
  const peer = testPeer(like);
  const block = {
    remote: { address: peer.address, as: peer.as },
    address: peer.address,
    local: { address: peer.localAddress, as: peer.localAs },
    name: peer.name,
    ...(peer.group === '' ? {} : { group: peer.group }),
  };
  return JSON.stringify({ type: 'bgp', bgp: { message: head, peer: block, ...members } });
}
