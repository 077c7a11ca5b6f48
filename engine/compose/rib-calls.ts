// Calls about routes that the plugin with the Loc-RIB serves (design §5): `route-install`, `route-remove` and `batch-validate` go to it as
// hidden commands, `inject-wire-route` by the reactor's route path. The engine keeps nothing of them.
import { parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import { addressBytes } from '../../sdk/wire/address.ts';
import { RpcError } from '../../sdk/rpc/errors.ts';
import type { BatchValidateOutput, InjectWireRouteInput, RouteKey, ValidationDecision } from '../../yang/generated/methods.ts';
import { canonical } from './cached-calls.ts';
import { clamp, ENGINE_CALLER, refuse, type ServiceParts } from './call-parts.ts';

const RELEASE_MS = 30_000;
/** Decisions in one command: the table's owner handles them at one go. */
const DECISION_RUN = 4096;
/** Where routes of a routing table come from, beside plugins under their own names. */
const PROTOCOLS: ReadonlySet<string> = new Set([
  'babel',
  'bgp',
  'blackhole',
  'bmp',
  'connected',
  'dhcp',
  'ebgp',
  'eigrp',
  'fib',
  'ibgp',
  'interface',
  'isis',
  'kernel',
  'l2tp',
  'ldp',
  'local',
  'mrt',
  'ospf',
  'ospf3',
  'redistribute',
  'rip',
  'ripng',
  'static',
  'user',
  'vpn-ipsec',
  'vrrp',
  'wireguard',
]);

export async function install(
  parts: ServiceParts,
  verb: 'install' | 'remove',
  plugin: string,
  routes: readonly RouteKey[],
  signal: AbortSignal,
): Promise<number> {
  for (const { protocol } of routes) {
    if (PROTOCOLS.has(protocol) || protocol === plugin || parts.isPlugin(protocol)) continue;
    throw new RpcError('error', `unknown protocol "${clamp(protocol)}" (not registered in the engine)`);
  }
  const counts = await ask(parts, `rib ${verb}`, [plugin, JSON.stringify(routes)], signal, `route-${verb}`);
  return count(counts, verb === 'install' ? 'installed' : 'removed');
}

/** All decisions are read before any is carried out. */
export async function validate(
  parts: ServiceParts,
  plugin: string,
  decisions: readonly ValidationDecision[],
  signal: AbortSignal,
): Promise<BatchValidateOutput> {
  const target = prefixTarget();
  const barred = new Set(
    parts.peers
      .list()
      .filter((peer) => !parts.sees(plugin, peer.index))
      .map((peer) => peer.remoteAddress),
  );
  for (const [at, decision] of decisions.entries()) {
    const fault = decisionFault(decision, target) ?? barredPeer(barred, plugin, decision.PeerAddr);
    if (fault !== undefined) throw new RpcError('error', `batch-validate: decision ${at}: ${fault}`);
  }
  const sum = { accepted: 0, rejected: 0, early: 0 };
  for (let from = 0; from < decisions.length; from += DECISION_RUN) {
    const run = decisions
      .slice(from, from + DECISION_RUN)
      .map((one) => [one.Accept ? 1 : 0, one.PeerAddr, one.Family, one.Prefix, one.PathID, one.ValState]);
    const counts = await ask(parts, 'rib validate', [plugin, JSON.stringify(run)], signal, 'batch-validate');
    sum.accepted += count(counts, 'accepted');
    sum.rejected += count(counts, 'rejected');
    sum.early += count(counts, 'early');
  }
  return sum;
}

/** Whoever judges a peer's routes must be let see them. An address that is no peer's is decided of early, or of a source of `inject`. */
function barredPeer(barred: ReadonlySet<string>, plugin: string, text: string): string | undefined {
  const address = barred.size === 0 ? text : canonical(text);
  if (!barred.has(address)) return undefined;
  return `${plugin} may not judge routes of ${address}: no process ${plugin} { receive [ update ] } there`;
}

function decisionFault(one: ValidationDecision, target: ReturnType<typeof prefixTarget>): string | undefined {
  if (addressBytes(one.PeerAddr) === undefined) return `bad PeerAddr "${clamp(one.PeerAddr)}"`;
  const [afi, safi] = one.Family.split('/');
  if ((afi !== 'ipv4' && afi !== 'ipv6') || (safi !== 'unicast' && safi !== 'multicast'))
    return `unsupported Family "${clamp(one.Family)}"`;
  if (!parsePrefix(one.Prefix, target) || target.addressLength !== (afi === 'ipv4' ? 4 : 16))
    return `bad Prefix "${clamp(one.Prefix)}"`;
  if (!Number.isInteger(one.PathID) || one.PathID < 0 || one.PathID > 0xffffffff) return `bad PathID ${one.PathID}`;
  if (!Number.isInteger(one.ValState) || one.ValState < 0 || one.ValState > 255) return `bad ValState ${one.ValState}`;
  return undefined;
}

export async function inject(parts: ServiceParts, plugin: string, input: InjectWireRouteInput): Promise<undefined> {
  const text = input['update-body'];
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0)
    throw new RpcError('error', 'inject-wire-route: update-body is no base64');
  const body = Uint8Array.from(Buffer.from(text, 'base64'));
  const fault = await parts.reactor.inject(plugin, input.protocol, input['peer-key'], body);
  refuse(fault === undefined ? undefined : `inject-wire-route: ${fault}`);
  return undefined;
}

/** What a plugin put into the RIB ends with its connection (plugin-rpc-types §5.4). */
export function release(parts: ServiceParts, plugin: string): void {
  parts.reactor.eject(plugin);
  parts.dispatcher
    .dispatchArgs({ command: 'rib remove', args: [plugin] }, ENGINE_CALLER, AbortSignal.timeout(RELEASE_MS))
    .collapse()
    .catch(() => undefined);
}

type Counts = Readonly<Record<string, unknown>>;

async function ask(
  parts: ServiceParts,
  command: string,
  args: readonly string[],
  signal: AbortSignal,
  method: string,
): Promise<Counts> {
  try {
    const { status, data, error } = await parts.dispatcher.dispatchArgs({ command, args }, ENGINE_CALLER, signal).collapse();
    if (status === 'error') throw new RpcError('error', error ?? `${method} failed`);
    return (typeof data === 'object' && data !== null ? data : {}) as Counts;
  } catch (error) {
    if (error instanceof RpcError && error.code === 'unknown-command')
      throw new RpcError('error', `${method}: no plugin keeps a routing table`);
    throw error;
  }
}

function count(counts: Counts, key: string): number {
  return Number(counts[key] ?? 0);
}
