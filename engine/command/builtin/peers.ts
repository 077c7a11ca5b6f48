/** What can be seen of peers: `summary`, `peer list|detail|capabilities|statistics` (daemon-cli §8). */
import { capabilityEventName } from '../../../sdk/wire/capability/capability.ts';
import { familyName, NO_FAMILY, parseFamily } from '../../../sdk/wire/family.ts';
import type { NegotiatedSnapshot, PeerCounters, PeerSettings, PeerSnapshot } from '../../bgp/port.ts';
import { nearest } from '../../core/nearest.ts';
import type { Call, Handler } from '../dispatch.ts';
import type { PluginCommands } from '../context.ts';
import { CommandError, didYouMean } from '../fault.ts';
import { selectPeers } from '../selection.ts';
import { elapsed } from './elapsed.ts';

type Fields = Readonly<Record<string, unknown>>;
type ShownCapability = NegotiatedSnapshot['localCapabilities'][number];

export const peerViews: Readonly<Record<string, Handler>> = {
  summary,
  'peer-list': async (call) => ({ peers: byAddress(await snapshots(call), (peer) => brief(peer, call)) }),
  'peer-detail': async (call) => ({ peers: byAddress(await snapshots(call), (peer) => detail(peer, call)) }),
  'peer-capabilities': async (call) =>
    oneOrList(await Promise.all((await snapshots(call)).map((peer) => capabilities(peer, call.context.plugins)))),
  'peer-statistics': statistics(),
};

async function snapshots(call: Call): Promise<readonly PeerSnapshot[]> {
  const chosen = selectPeers(call.context.peers, call.selector, call.selectorColumn);
  return chosen.length === 0 ? [] : call.context.reactor.snapshot(chosen.map((peer) => peer.index));
}

/** A map by remote address. A peer without one stands under its name. */
function byAddress(peers: readonly PeerSnapshot[], fields: (peer: PeerSnapshot) => Fields): Fields {
  return Object.fromEntries(peers.map((peer) => [addressOf(peer), fields(peer)]));
}

export function addressOf(peer: PeerSnapshot): string {
  return peer.settings.remoteAddress === '' ? peer.settings.name : peer.settings.remoteAddress;
}

/** One object for one peer, an array for several. */
export function oneOrList(rows: readonly Fields[]): unknown {
  return rows.length === 1 ? rows[0] : [...rows];
}

function brief(peer: PeerSnapshot, call: Call): Fields {
  return { 'remote-as': peer.settings.remoteAs, state: peer.state, uptime: uptime(peer, call), ...names(peer.settings) };
}

function names(settings: PeerSettings): Fields {
  return {
    ...(settings.name === '' ? {} : { name: settings.name }),
    ...(settings.group === '' ? {} : { group: settings.group }),
  };
}

function uptime(peer: PeerSnapshot, call: Call): string {
  return peer.state === 'established' && peer.establishedAt > 0 ? elapsed(call.context.clock.wall() - peer.establishedAt) : '0s';
}

/** The counters every view shows. */
function counters(of: PeerCounters): Record<string, number> {
  return {
    'updates-received': of.updatesReceived,
    'updates-sent': of.updatesSent,
    'keepalives-received': of.keepalivesReceived,
    'keepalives-sent': of.keepalivesSent,
    'eor-received': of.eorReceived,
    'eor-sent': of.eorSent,
  };
}

/** What filters of plugins did with UPDATEs of the peer, and for it. */
function filtered(of: PeerCounters): Record<string, number> {
  return {
    'import-rejected': of.importRejected,
    'import-modified': of.importModified,
    'export-rejected': of.exportRejected,
    'export-modified': of.exportModified,
  };
}

/** The chains as they run, the role, and how loops are looked for: what there is of it. */
function rules({ importFilters, exportFilters, role, loopDetection }: PeerSettings): Fields {
  const chain = (references: readonly string[]): readonly string[] => references.map((one) => one.replace(/\t.*$/, ''));
  return {
    ...(importFilters.length === 0 ? {} : { 'import-filters': chain(importFilters) }),
    ...(exportFilters.length === 0 ? {} : { 'export-filters': chain(exportFilters) }),
    ...(role === undefined ? {} : { role: role.local }),
    ...(loopDetection === 'off' ? { 'loop-detection': 'off' } : {}),
    ...(typeof loopDetection === 'object' ? { 'allow-own-as': loopDetection.allowOwnAs } : {}),
  };
}

function detail(peer: PeerSnapshot, call: Call): Fields {
  const { settings } = peer;
  return {
    'remote-as': settings.remoteAs,
    'local-as': settings.localAs,
    'router-id': dotted(settings.routerId),
    'remote-router-id': dotted(peer.remoteRouterId),
    timer: {
      'receive-hold-time': settings.holdTimeSeconds,
      'send-hold-time': settings.sendHoldTimeSeconds,
      'connect-retry': settings.connectRetrySeconds,
    },
    connect: settings.connect,
    accept: settings.accept,
    state: peer.state,
    'admin-down': peer.adminDown,
    paused: peer.paused,
    held: peer.held,
    uptime: uptime(peer, call),
    flaps: peer.flaps,
    'last-down-reason': peer.lastDownReason,
    ...counters(peer.counters),
    'notifications-received': peer.counters.notificationsReceived,
    'notifications-sent': peer.counters.notificationsSent,
    ...filtered(peer.counters),
    ...names(settings),
    ...rules(settings),
    ...(settings.description === '' ? {} : { description: settings.description }),
    'local-ip': peer.localAddress === '' ? settings.localAddress : peer.localAddress,
    'route-reflector-client': settings.routeReflectorClient,
    'cluster-id': dotted(settings.clusterId === 0 ? settings.routerId : settings.clusterId),
    'next-hop': settings.nextHop,
    families: settings.families.filter((family) => family.mode !== 'ignore').map((family) => familyName(family.family)),
    prefixes: Object.fromEntries(peer.prefixes.map((one) => [one.family, { received: one.received, maximum: one.maximum }])),
    'send-queue-bytes': peer.sendQueueBytes,
    'largest-keepalive-gap-ms': Math.round(peer.largestKeepaliveGapMs),
  };
}

async function capabilities(peer: PeerSnapshot, plugins: PluginCommands): Promise<Fields> {
  const agreed = peer.negotiated;
  const decoded = (list: readonly ShownCapability[]): Promise<readonly Fields[]> =>
    Promise.all(list.map((one) => withDecoded(one, plugins)));
  return {
    peer: addressOf(peer),
    ...names(peer.settings),
    state: peer.state,
    'negotiation-complete': agreed !== undefined,
    negotiated:
      agreed === undefined
        ? {}
        : {
            families: [...agreed.families],
            'extended-message': agreed.extendedMessage,
            'route-refresh': agreed.routeRefresh,
            'enhanced-route-refresh': agreed.enhancedRouteRefresh,
            asn4: agreed.asn4,
            'add-path': addPath(agreed.addPathSend, agreed.addPathReceive),
            'hold-time': agreed.holdTimeSeconds,
            keepalive: agreed.keepaliveSeconds,
          },
    ...(agreed === undefined
      ? {}
      : { local: await decoded(agreed.localCapabilities), remote: await decoded(agreed.remoteCapabilities) }),
  };
}

/** A capability this engine does not read is shown as its plugin reads it, beside its bytes; as bytes alone when that fails. */
async function withDecoded(one: ShownCapability, plugins: PluginCommands): Promise<Fields> {
  if (!capabilityEventName(one.code).startsWith('unknown-')) return { ...one };
  const decoded = await plugins.decodeCapability?.(one.code, one.value ?? '').catch(() => undefined);
  return decoded === undefined ? { ...one } : { ...one, decoded };
}

function addPath(send: readonly string[], receive: readonly string[]): Fields {
  const families = [...new Set([...send, ...receive])];
  return Object.fromEntries(
    families.map((family) => [family, send.includes(family) ? (receive.includes(family) ? 'send-receive' : 'send') : 'receive']),
  );
}

/** Rates between two calls at most five minutes apart, else since the session came up. */
function statistics(): Handler {
  const before = new Map<number, { readonly at: number; readonly counters: PeerCounters }>();
  return async (call) => {
    const now = call.context.clock.now();
    const peers = await snapshots(call);
    const fields = byAddress(peers, (peer) => {
      const last = before.get(peer.index);
      const recent =
        last !== undefined && now - last.at >= 1000 && now - last.at <= 300_000 && grows(last.counters, peer.counters);
      const seconds = recent ? (now - last.at) / 1000 : Math.max(1, (call.context.clock.wall() - peer.establishedAt) / 1000);
      const base = recent ? last.counters : undefined;
      const rate = (name: keyof PeerCounters): number =>
        peer.establishedAt === 0 ? 0 : Math.round(((peer.counters[name] - (base?.[name] ?? 0)) / seconds) * 100) / 100;
      if (!recent || now - last.at >= 1000) before.set(peer.index, { at: now, counters: peer.counters });
      return {
        ...names(peer.settings),
        state: peer.state,
        uptime: uptime(peer, call),
        ...counters(peer.counters),
        'notifications-received': peer.counters.notificationsReceived,
        'notifications-sent': peer.counters.notificationsSent,
        'refreshes-received': peer.counters.refreshesReceived,
        'refreshes-sent': peer.counters.refreshesSent,
        'opens-received': peer.counters.opensReceived,
        'opens-sent': peer.counters.opensSent,
        'bytes-received': peer.counters.bytesReceived,
        'bytes-sent': peer.counters.bytesSent,
        ...filtered(peer.counters),
        'updates-received-per-second': rate('updatesReceived'),
        'updates-sent-per-second': rate('updatesSent'),
        'bytes-received-per-second': rate('bytesReceived'),
        'bytes-sent-per-second': rate('bytesSent'),
      };
    });
    return { peers: fields };
  };
}

function grows(before: PeerCounters, after: PeerCounters): boolean {
  return after.bytesReceived >= before.bytesReceived && after.bytesSent >= before.bytesSent;
}

const SHORTHANDS: Readonly<Record<string, string>> = { ipv4: 'ipv4/unicast', ipv6: 'ipv6/unicast', l2vpn: 'l2vpn/evpn' };

async function summary(call: Call): Promise<unknown> {
  const word = call.args.text('family');
  const family =
    word === ''
      ? NO_FAMILY
      : readFamily(Object.hasOwn(SHORTHANDS, word) ? (SHORTHANDS[word] ?? '') : word, call.args.column('family'));
  const all = await call.context.reactor.snapshot();
  const name = familyName(family);
  const shown = family === NO_FAMILY ? all : all.filter((peer) => carries(peer, family, name));
  const { daemon, clock } = call.context;
  const rows = shown.map((peer) => ({
    address: addressOf(peer),
    name: peer.settings.name,
    description: peer.settings.description,
    'remote-as': peer.settings.remoteAs,
    state: peer.state,
    uptime: uptime(peer, call),
    ...counters(peer.counters),
  }));
  return {
    summary: {
      'router-id': daemon.routerId(),
      'local-as': daemon.localAs(),
      uptime: elapsed(clock.wall() - daemon.startedAt),
      'peers-configured': all.length,
      'peers-established': all.filter((peer) => peer.state === 'established').length,
      ...(family === NO_FAMILY ? {} : { family: name, 'peers-in-family': rows.length }),
      peers: rows,
    },
  };
}

function carries(peer: PeerSnapshot, family: number, name: string): boolean {
  if (peer.negotiated !== undefined) return peer.negotiated.families.includes(name);
  return peer.settings.families.some((one) => one.family === family && one.mode !== 'ignore');
}

/** A family's number. Throws `CommandError`. */
export function readFamily(text: string, column: number): number {
  const family = parseFamily(text.toLowerCase());
  if (family !== NO_FAMILY) return family;
  const near = nearest(text, [
    'ipv4/unicast',
    'ipv6/unicast',
    'ipv4/multicast',
    'ipv6/multicast',
    'ipv4/flow',
    'ipv6/flow',
    'ipv4/mpls-vpn',
    'l2vpn/evpn',
  ]);
  throw new CommandError('argument', `unknown family: ${text.slice(0, 64)}${didYouMean(near)}`, column);
}

/** u32 as a dotted quad. */
export function dotted(id: number): string {
  return [id >>> 24, (id >>> 16) & 0xff, (id >>> 8) & 0xff, id & 0xff].join('.');
}
