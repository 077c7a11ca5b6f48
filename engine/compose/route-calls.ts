// `update-route`: route commands of plugins, for the peers they may send to.
import { RpcError } from '../../sdk/rpc/errors.ts';
import type { UpdateRouteInput, UpdateRouteOutput } from '../../yang/generated/methods.ts';
import type { PeerIdentity } from '../bgp/port.ts';
import { PeerSelector } from '../codec/peer-selector.ts';
import { pluginCaller } from '../command/access.ts';
import { clamp, type ServiceParts } from './call-parts.ts';

const MAX_SELECTORS = 1024;
/** Characters of JSON that the `meta` of a route may have. */
const MAX_META = 4096;

/** `update-route` (plugin-rpc-types §5.1): a route command for the peers of a selector, without a walk through the command tree. */
export class RouteCalls {
  readonly #parts: ServiceParts;
  readonly #selectors = new Map<string, PeerSelector>();

  constructor(parts: ServiceParts) {
    this.#parts = parts;
  }

  async update(plugin: string, input: UpdateRouteInput, signal: AbortSignal): Promise<UpdateRouteOutput> {
    const text = input['peer-selector'] ?? '*';
    const command = input.command.trimStart();
    if (!command.startsWith('update ')) return this.#other(plugin, text, command, signal);
    const chosen = this.#chosen(text);
    const peers = chosen.filter((peer) => this.#parts.granted(plugin, 'update', peer.index)).map((peer) => peer.index);
    if (chosen.length === 0) throw new RpcError('error', `no peer matches "${clamp(text)}"`);
    if (peers.length === 0) {
      throw new RpcError(
        'error',
        `${plugin} may not send updates to "${clamp(text)}": no process ${plugin} { send [ update ] } there`,
      );
    }
    const outcome = await this.#parts.routes.update(`plugin:${plugin}`, peers, command, metaText(input.meta));
    if (!outcome.ok) throw new RpcError('error', `${outcome.fault.message} (column ${outcome.fault.column})`);
    const { announced, withdrawn, peersAffected, routesSent } = outcome.value;
    return { announced, withdrawn, 'peers-affected': peersAffected, 'routes-sent': routesSent };
  }

  /** Any other command of a peer: `peer <selector> <command>`. */
  async #other(plugin: string, selector: string, command: string, signal: AbortSignal): Promise<UpdateRouteOutput> {
    const reader = this.#parts.dispatcher.dispatch(`peer ${selector} ${command}`, pluginCaller(plugin), signal);
    const { status, data, error } = await reader.collapse();
    if (status === 'error') throw new RpcError('error', error ?? 'command failed');
    const counts = (typeof data === 'object' && data !== null ? data : {}) as Readonly<Record<string, unknown>>;
    const number = (key: string): number => (typeof counts[key] === 'number' ? counts[key] : 0);
    return {
      announced: number('announced'),
      withdrawn: number('withdrawn'),
      'peers-affected': number('peers-affected'),
      'routes-sent': number('routes-sent'),
    };
  }

  #chosen(text: string): readonly PeerIdentity[] {
    const peers = this.#parts.peers.list();
    if (text === '*' || text === '') return peers;
    let selector = this.#selectors.get(text);
    if (selector === undefined) {
      const parsed = PeerSelector.parse(text);
      if (!parsed.ok) throw new RpcError('error', parsed.fault.message);
      selector = parsed.value;
      if (this.#selectors.size >= MAX_SELECTORS) this.#selectors.clear();
      this.#selectors.set(text, selector);
    }
    const wanted = selector;
    return peers.filter((peer) => wanted.matches(peer));
  }
}

/** JSON of the metadata; '' for none. */
function metaText(meta: UpdateRouteInput['meta']): string {
  if (meta === undefined) return '';
  const text = JSON.stringify(meta);
  if (text.length > MAX_META) throw new RpcError('error', `update-route: meta is longer than ${MAX_META} characters`);
  return text === '{}' ? '' : text;
}
