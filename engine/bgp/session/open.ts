/** The OPEN a peer's settings ask for, and what the two OPENs agree on (RFC 4271 §4.2, RFC 5492). Pure. */
import type { Capability } from '../../../sdk/wire/capability/capability.ts';
import {
  CAP_ASN4,
  CAP_ENHANCED_REFRESH,
  CAP_EXTENDED_MESSAGE,
  CAP_FQDN,
  CAP_GRACEFUL_RESTART,
  CAP_MULTIPROTOCOL,
  CAP_ROUTE_REFRESH,
  CAP_SOFTWARE_VERSION,
  capabilityLabel,
} from '../../../sdk/wire/capability/capability.ts';
import type { TypedCapability } from '../../../sdk/wire/capability/typed.ts';
import { readCapability, roleNumber, writeCapability } from '../../../sdk/wire/capability/typed.ts';
import { toHex } from '../../../sdk/wire/bytes.ts';
import { afiName, familyName } from '../../../sdk/wire/family.ts';
import type { Negotiated, SessionPolicy } from '../../../sdk/wire/negotiate.ts';
import { DEFAULT_POLICY, judgeRole, negotiate } from '../../../sdk/wire/negotiate.ts';
import type { OpenMessage } from '../../../sdk/wire/open.ts';
import { BGP_VERSION, decodeOpen, judgeOpen, shortAs, unsupportedCapability } from '../../../sdk/wire/open.ts';
import type { Notice } from './fsm.ts';
import type { CapabilityMode, NegotiatedSnapshot, PeerSettings, PluginCapability } from '../port.ts';

/** The OPEN for a peer: families and capabilities ascending, so that the same settings always give the same bytes. */
export function openFor(settings: PeerSettings, plugins: readonly PluginCapability[]): OpenMessage {
  const typed: TypedCapability[] = settings.families
    .filter((family) => family.mode !== 'ignore')
    .map((family): TypedCapability => ({ kind: 'multiprotocol', family: family.family }))
    .sort((a, b) => (a.kind === 'multiprotocol' && b.kind === 'multiprotocol' ? a.family - b.family : 0));
  if (offers(settings.routeRefresh)) typed.push({ kind: 'route-refresh' }, { kind: 'enhanced-refresh' });
  if (settings.extendedNextHop.length > 0) typed.push({ kind: 'extended-nexthop', nextHops: settings.extendedNextHop });
  if (offers(settings.extendedMessage)) typed.push({ kind: 'extended-message' });
  // RFC 9234 §4.1: between external peers. Read anew for every OPEN, as a reload may have changed it.
  if (settings.role !== undefined && settings.localAs !== settings.remoteAs)
    typed.push({ kind: 'role', role: roleNumber(settings.role.local) });
  if (offers(settings.asn4)) typed.push({ kind: 'asn4', asn: settings.localAs });
  const addPath = settings.families.flatMap(({ family, mode, addPath: way }) =>
    mode === 'ignore' || way === 'none' ? [] : [{ family, mode: way === 'send/receive' ? ('send-receive' as const) : way }],
  );
  if (addPath.length > 0) typed.push({ kind: 'addpath', families: addPath });
  const { hostname, softwareVersion } = settings;
  if (hostname !== undefined && offers(hostname.mode)) typed.push({ kind: 'fqdn', host: hostname.host, domain: hostname.domain });
  if (softwareVersion !== undefined && offers(softwareVersion.mode))
    typed.push({ kind: 'software-version', version: softwareVersion.version });
  const ours = typed.map(writeCapability);
  const added = pluginCapabilities(settings, plugins, ours);
  // Whoever speaks enhanced refresh may let no request pass before our End-of-RIB (RFC 7313 §4), and several implementations send
  // their own only to a speaker of graceful restart. So we say that we mark it, and nothing more (RFC 4724 §3).
  if (offers(settings.routeRefresh) && !added.some(({ code }) => code === CAP_GRACEFUL_RESTART)) ours.push(END_OF_RIB_MARKED);
  const capabilities = [...ours, ...added].sort((a, b) => a.code - b.code);
  return {
    version: BGP_VERSION,
    myAs: shortAs(settings.localAs),
    holdTimeSeconds: settings.holdTimeSeconds,
    routerId: settings.routerId,
    capabilities,
  };
}

/** Restart time 0, no families: routes are not kept over a restart, in either role. */
const END_OF_RIB_MARKED = writeCapability({
  kind: 'graceful-restart',
  restarting: false,
  notification: false,
  restartTimeSeconds: 0,
  families: [],
});

/** Graceful restart was agreed on: more than that both sides mark End-of-RIB. */
export function restartsGracefully(local: OpenMessage, negotiated: Negotiated): boolean {
  const own = local.capabilities.find(({ code }) => code === CAP_GRACEFUL_RESTART);
  const markedOnly = own === undefined || own.value.every((byte) => byte === 0);
  return !markedOnly && (negotiated.gracefulRestart?.families.length ?? 0) > 0;
}

/** What plugins add: one asked for this peer beats one asked for all; what the core announces itself is the core's. */
function pluginCapabilities(
  settings: PeerSettings,
  plugins: readonly PluginCapability[],
  ours: readonly Capability[],
): readonly Capability[] {
  const named = plugins.filter(({ peers }) => peers.includes(settings.name) || peers.includes(settings.remoteAddress));
  const chosen = [
    ...named,
    ...plugins.filter(({ peers, code }) => peers.length === 0 && !named.some((own) => own.code === code)),
  ];
  return chosen.filter(({ code, value }) => value.length <= 255 && !ours.some((own) => own.code === code));
}

export type OpenVerdict =
  | { readonly ok: true; readonly remote: OpenMessage; readonly negotiated: Negotiated }
  | { readonly ok: false; readonly notice: Notice };

/** Judges the OPEN of `length` bytes at `at` against what we sent and what the settings demand (RFC 4271 §6.2, RFC 9234 §4.2). */
export function acceptOpen(
  settings: PeerSettings,
  local: OpenMessage,
  ownIpv4: number,
  bytes: Uint8Array,
  at: number,
  length: number,
): OpenVerdict {
  const read = decodeOpen(bytes, at, length);
  if (!read.ok) return { ok: false, notice: read.fault };
  const remote = read.value;
  const fault = judgeOpen(remote, {
    peerAs: settings.remoteAs,
    localAs: settings.localAs,
    localRouterId: settings.routerId,
  });
  if (fault !== undefined) return { ok: false, notice: fault };
  const policy: SessionPolicy = { ...DEFAULT_POLICY, ownIpv4, enforceFirstAs: settings.enforceFirstAs === true };
  const negotiated = negotiate(local, remote, policy);
  const role = negotiated.ebgp ? judgeRole(negotiated.localRole, negotiated.peer, settings.role?.strict === true) : undefined;
  if (role !== undefined) return { ok: false, notice: role };
  const unmet = unmetDemands(settings, local, remote, negotiated);
  if (unmet.length > 0) return { ok: false, notice: unsupportedCapability(unmet) };
  return { ok: true, remote, negotiated };
}

/** Capabilities the settings require and the peer lacks, or refuse and the peer offers. */
function unmetDemands(
  settings: PeerSettings,
  local: OpenMessage,
  remote: OpenMessage,
  negotiated: Negotiated,
): readonly Capability[] {
  const unmet: Capability[] = [];
  const demand = (mode: CapabilityMode, code: number): void => {
    const theirs = remote.capabilities.find((capability) => capability.code === code);
    if (mode === 'require' && theirs === undefined) {
      unmet.push(local.capabilities.find((capability) => capability.code === code) ?? { code, value: new Uint8Array(0) });
    }
    if (mode === 'refuse' && theirs !== undefined) unmet.push(theirs);
  };
  demand(settings.asn4, CAP_ASN4);
  demand(settings.routeRefresh, CAP_ROUTE_REFRESH);
  if (settings.routeRefresh === 'refuse') demand('refuse', CAP_ENHANCED_REFRESH);
  demand(settings.extendedMessage, CAP_EXTENDED_MESSAGE);
  if (settings.hostname !== undefined) demand(settings.hostname.mode, CAP_FQDN);
  if (settings.softwareVersion !== undefined) demand(settings.softwareVersion.mode, CAP_SOFTWARE_VERSION);
  for (const { family, mode } of settings.families) {
    if (mode !== 'require' || negotiated.peer.families.includes(family)) continue;
    unmet.push(writeCapability({ kind: 'multiprotocol', family }));
  }
  return unmet;
}

function offers(mode: CapabilityMode): boolean {
  return mode === 'enable' || mode === 'require';
}

/** What the operator and the `negotiated` event see. */
export function describeNegotiated(local: OpenMessage, remote: OpenMessage, negotiated: Negotiated): NegotiatedSnapshot {
  return {
    holdTimeSeconds: negotiated.holdTimeSeconds,
    keepaliveSeconds: negotiated.keepaliveSeconds,
    asn4: negotiated.asn4,
    extendedMessage: negotiated.extendedMessageSend,
    routeRefresh: negotiated.routeRefresh,
    enhancedRouteRefresh: negotiated.enhancedRefresh,
    families: negotiated.families.map(familyName),
    addPathSend: negotiated.addPathSend.map(familyName),
    addPathReceive: negotiated.addPathReceive.map(familyName),
    localCapabilities: local.capabilities.flatMap(describeCapability),
    remoteCapabilities: remote.capabilities.flatMap(describeCapability),
  };
}

interface Described {
  readonly code: number;
  readonly name: string;
  readonly value?: string | undefined;
}

/** One entry a capability, one a family for those that list families (events.md §4.2). */
export function describeCapability(capability: Capability): readonly Described[] {
  const { code } = capability;
  const name = capabilityLabel(code);
  const typed = readCapability(capability);
  switch (typed.kind) {
    case 'multiprotocol':
      return [{ code: CAP_MULTIPROTOCOL, name, value: familyName(typed.family) }];
    case 'asn4':
      return [{ code, name, value: String(typed.asn) }];
    case 'extended-message':
      return [{ code, name }];
    case 'addpath':
      return typed.families.map(({ family, mode }) => ({ code, name, value: `${familyName(family)} ${mode}` }));
    case 'extended-nexthop':
      return typed.nextHops.map((hop) => ({ code, name, value: `${familyName(hop.family)} ${afiName(hop.nextHopAfi)}` }));
    default:
      return [{ code, name, value: toHex(capability.value) }];
  }
}
