// `forward-cached`, `release-cached` and `relay-stored-route`: routes of peers on their way to other peers.
import { addressBytes, formatAddress } from '../../sdk/wire/address.ts';
import { fromHex } from '../../sdk/wire/bytes.ts';
import { RpcError } from '../../sdk/rpc/errors.ts';
import type { ForwardCachedInput, Methods, ReleaseCachedInput, StoredRoute as WireRoute } from '../../yang/generated/methods.ts';
import type { StoredRoute } from '../bgp/port.ts';
import { clamp, refuse, type ServiceParts } from './call-parts.ts';

/** `ip`, `ip:port` or `[v6]:port` → the address. */
const DESTINATION = /^(?:\[([^\]]+)\](?::\d+)?|([^:]+)(?::\d+)?|(.+))$/;
/** Routes given to the reactor at once: each costs some microseconds of its time. */
const RELAY_RUN = 1024;

export async function forwardCached(parts: ServiceParts, plugin: string, input: ForwardCachedInput): Promise<undefined> {
  if (input.ids.length === 0) return undefined;
  const most = parts.maxDestinations();
  if (input.destinations.length > most) {
    await parts.reactor.releaseCached(plugin, input.ids);
    throw new RpcError('error', `too many destinations: ${input.destinations.length} (max ${most})`);
  }
  const peers = parts.peers.list();
  const destinations: number[] = [];
  for (const text of input.destinations) {
    const match = DESTINATION.exec(text);
    const address = canonical(match?.[1] ?? match?.[2] ?? match?.[3] ?? '');
    const peer = peers.find((one) => one.remoteAddress === address);
    if (peer !== undefined && parts.granted(plugin, 'update', peer.index)) destinations.push(peer.index);
  }
  if (destinations.length === 0) {
    await parts.reactor.releaseCached(plugin, input.ids);
    throw new RpcError('error', 'forward-cached: no destination is a peer this plugin may send updates to');
  }
  refuse(await parts.reactor.forwardCached(plugin, input.ids, destinations));
  return undefined;
}

export async function releaseCached(parts: ServiceParts, plugin: string, input: ReleaseCachedInput): Promise<undefined> {
  if (input.ids.length > 0) refuse(await parts.reactor.releaseCached(plugin, input.ids));
  return undefined;
}

/** Routes are sent in their order; one that is refused does not keep the others, and the error says how many and why the first. */
export async function relayStored(
  parts: ServiceParts,
  plugin: string,
  input: Methods['ze-plugin-engine:relay-stored-route']['input'],
  signal: AbortSignal,
): Promise<undefined> {
  const address = addressBytes(input.destination) === undefined ? undefined : canonical(input.destination);
  if (address === undefined) throw new RpcError('error', `relay-stored-route: bad destination "${clamp(input.destination)}"`);
  const { routes } = input;
  if (routes.length === 0) return undefined;
  const peer = parts.peers.list().find((one) => one.remoteAddress === address);
  if (peer === undefined) throw new RpcError('error', `relay-stored-route: destination ${address} is not a configured peer`);
  if (!parts.granted(plugin, 'update', peer.index))
    throw new RpcError(
      'error',
      `relay-stored-route: ${plugin} may not send updates to ${address}: no process ${plugin} { send [ update ] } there`,
    );
  const faults: { readonly at: number; readonly why: string }[] = [];
  for (let from = 0; from < routes.length && !signal.aborted; from += RELAY_RUN) {
    const run: StoredRoute[] = [];
    const places: number[] = [];
    for (let at = from; at < Math.min(from + RELAY_RUN, routes.length); at++) {
      const read = readRoute(parts, routes[at]!);
      if (typeof read === 'string') faults.push({ at, why: read });
      else {
        run.push(read);
        places.push(at);
      }
    }
    const answers = run.length === 0 ? [] : await parts.reactor.relayStored(peer.index, run);
    for (const [i, why] of answers.entries()) if (why !== '') faults.push({ at: places[i]!, why });
  }
  const first = faults.sort((a, b) => a.at - b.at)[0];
  if (first !== undefined) {
    const count = routes.length === 1 ? '' : ` (${faults.length} of ${routes.length} refused)`;
    throw new RpcError('error', `relay-stored-route: route ${first.at}: ${first.why}${count}`);
  }
  return undefined;
}

function readRoute(parts: ServiceParts, route: WireRoute): StoredRoute | string {
  const family = parts.registry.number(route.family);
  if (family === 0) return `unknown family: ${clamp(route.family)}`;
  if (addressBytes(route['source-peer']) === undefined) return `bad source-peer "${clamp(route['source-peer'])}"`;
  const attributes = fromHex(route['attr-hex']);
  const nextHop = fromHex(route['next-hop-hex']);
  const nlri = fromHex(route['nlri-hex']);
  if (attributes === undefined) return 'attr-hex is no hex';
  if (nextHop === undefined || nextHop.length > 255) return 'next-hop-hex is no hex of a next hop';
  if (nlri === undefined || nlri.length === 0) return 'nlri-hex is no hex of a route';
  const pathId = route['path-id'] ?? 0;
  if (!Number.isInteger(pathId) || pathId < 0 || pathId > 0xffffffff) return `bad path-id ${pathId}`;
  const word = route['nlri-framing'];
  // A word we do not know is as good as none (plugin-rpc-types §5.3).
  const framing = word === 'prefix-only' || word === 'source-wire' ? word : 'unrecorded';
  return { source: canonical(route['source-peer']), family, attributes, nextHop, nlri, pathId, framing };
}

/** An address in the spelling of the peers' list. */
export function canonical(text: string): string {
  const bytes = addressBytes(text);
  return bytes === undefined ? text : (formatAddress(bytes, 0, bytes.length) ?? text);
}
