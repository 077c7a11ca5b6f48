// `update-route`: route commands of plugins, for the peers they may send to.
import { RpcError } from '../../sdk/rpc/errors.ts';
import type { UpdateRouteInput, UpdateRouteOutput } from '../../yang/generated/methods.ts';
import type { Origination, OriginationResult, PeerIdentity } from '../bgp/port.ts';
import type { CommandFault } from '../codec/fault.ts';
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
    await this.settling;
    const text = input['peer-selector'] ?? '*';
    const command = input.command.trimStart();
    if (!command.startsWith('update ')) return this.#other(plugin, text, command, signal);
    const peers = this.peersOf(plugin, text);
    const outcome = await this.#parts.routes.update(`plugin:${plugin}`, peers, command, metaText(input.meta));
    if (!outcome.ok) throw refused(outcome.fault);
    return routeOutput(outcome.value);
  }

  /** Plugins start before the peers are there, and may have routes for them at once: those wait for the peers. */
  get settling(): Promise<void> | undefined {
    return this.#parts.settling?.();
  }

  /** The peers of a selector that the plugin may send routes to. Throws RpcError when there are none. */
  peersOf(plugin: string, selector: string): readonly number[] {
    const chosen = this.#chosen(selector);
    const peers = chosen.filter((peer) => this.#parts.granted(plugin, 'update', peer.index)).map((peer) => peer.index);
    if (chosen.length === 0) throw new RpcError('error', `no peer matches "${clamp(selector)}"`);
    if (peers.length === 0) {
      throw new RpcError(
        'error',
        `${plugin} may not send updates to "${clamp(selector)}": no process ${plugin} { send [ update ] } there`,
      );
    }
    return peers;
  }

  /** A route command as the reactor takes it; undefined when a plugin has to be asked first. Throws RpcError with the column. */
  prepare(owner: string, peers: readonly number[], command: string, meta: string): Origination | undefined {
    const prepared = this.#parts.routes.prepare(owner, peers, command, meta);
    if (prepared?.ok === false) throw refused(prepared.fault);
    return prepared?.value;
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

function refused({ message, column }: CommandFault): RpcError {
  return new RpcError('error', `${message} (column ${column})`);
}

/** The result as it goes on the wire. */
export function routeOutput({
  announced,
  withdrawn,
  peersAffected,
  routesSent,
}: Omit<OriginationResult, 'warnings'>): UpdateRouteOutput {
  return { announced, withdrawn, 'peers-affected': peersAffected, 'routes-sent': routesSent };
}

/** JSON of the metadata; '' for none. */
export function metaText(meta: UpdateRouteInput['meta']): string {
  if (meta === undefined) return '';
  const text = JSON.stringify(meta);
  if (text.length > MAX_META) throw new RpcError('error', `update-route: meta is longer than ${MAX_META} characters`);
  return text === '{}' ? '' : text;
}
