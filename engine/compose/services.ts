// What a running plugin may call, served by commands, codec, bus and reactor. A method that is not here answers `unknown method`.
import type { AnswerSource } from '../../sdk/rpc/answer.ts';
import { RpcError } from '../../sdk/rpc/errors.ts';
import type { DispatchMethod } from '../../sdk/plugin/bridge.ts';
import type {
  EmitEventInput,
  ForwardCachedInput,
  Methods,
  ReleaseCachedInput,
  UpdateRouteInput,
  UpdateRouteOutput,
} from '../../yang/generated/methods.ts';
import type { PeerIdentity, ReactorPort } from '../bgp/port.ts';
import type { EventBus } from '../bus/bus.ts';
import { PeerSelector } from '../codec/peer-selector.ts';
import type { Decoded, WireCodec } from '../codec/wire-codec.ts';
import { type Caller, pluginCaller } from '../command/access.ts';
import type { PeerCatalogue, RouteCommands } from '../command/context.ts';
import type { Dispatcher } from '../command/dispatch.ts';
import type { EngineServices } from '../host/services.ts';

export interface ServiceParts {
  readonly dispatcher: Dispatcher;
  readonly routes: RouteCommands;
  readonly codec: WireCodec;
  readonly peers: PeerCatalogue;
  readonly bus: Pick<EventBus, 'emit'>;
  readonly reactor: Pick<ReactorPort, 'forwardCached' | 'releaseCached'>;
  granted(plugin: string, send: 'update' | 'raw' | 'refresh', peer: number): boolean;
}

/** `ip`, `ip:port` or `[v6]:port` → the address. */
const DESTINATION = /^(?:\[([^\]]+)\](?::\d+)?|([^:]+)(?::\d+)?|(.+))$/;
const MAX_DESTINATIONS = 4096;
const MAX_SELECTORS = 1024;
const RELEASE_MS = 30_000;
/** The engine itself, when it carries a plugin's call to the owner of a command. */
const ENGINE_CALLER: Caller = { user: 'engine', access: 'edit' };

export function engineServices(parts: ServiceParts): EngineServices {
  const routes = new RouteCalls(parts);
  const { codec } = parts;
  return {
    calls: {
      'ze-plugin-engine:update-route': (plugin, input, signal) => routes.update(plugin, input, signal),
      'ze-plugin-engine:forward-cached': (plugin, input) => forward(parts, plugin, input),
      'ze-plugin-engine:release-cached': (plugin, input) => release(parts, plugin, input),
      'ze-plugin-engine:emit-event': (plugin, input) => emit(parts, plugin, input),
      'ze-plugin-engine:decode-nlri': async (_plugin, input) => {
        const decoded = value(await codec.decodeNlri(input.family, input.hex, input['add-path'], input.withdraw));
        return { json: decoded.length === 1 ? decoded[0] : decoded };
      },
      'ze-plugin-engine:encode-nlri': async (_plugin, input) => ({
        hex: value(await codec.encodeNlri(input.family, input.args ?? [])),
      }),
      'ze-plugin-engine:decode-mp-reach': async (_plugin, input) =>
        value(await codec.decodeMpReach(input.hex, input['add-path'])),
      'ze-plugin-engine:decode-mp-unreach': async (_plugin, input) =>
        value(await codec.decodeMpUnreach(input.hex, input['add-path'])),
      'ze-plugin-engine:decode-update': async (_plugin, input) => ({
        json: JSON.stringify({ update: value(await codec.decodeUpdate(input.hex, input['add-path'])) }),
      }),
      'ze-plugin-engine:route-install': async (plugin, input, signal) => ({
        installed: await rib(parts, 'install', plugin, input.routes, signal),
      }),
      'ze-plugin-engine:route-remove': async (plugin, input, signal) => ({
        removed: await rib(parts, 'remove', plugin, input.routes, signal),
      }),
    },
    dispatch: (plugin, method, input, signal) => dispatch(parts.dispatcher, plugin, method, input, signal),
    // Installed routes end with the connection of the plugin that installed them (plugin-rpc-types §5.4).
    released: (plugin) => {
      const input = { command: 'rib remove', args: [plugin] };
      parts.dispatcher
        .dispatchArgs(input, ENGINE_CALLER, AbortSignal.timeout(RELEASE_MS))
        .collapse()
        .catch(() => undefined);
    },
  };
}

function dispatch<M extends DispatchMethod>(
  dispatcher: Dispatcher,
  plugin: string,
  method: M,
  input: Methods[M]['input'],
  signal: AbortSignal,
): Promise<AnswerSource> {
  const caller = pluginCaller(plugin);
  const reader =
    method === 'ze-plugin-engine:dispatch-command'
      ? dispatcher.dispatch(input.command, caller, signal)
      : dispatcher.dispatchArgs(input, caller, signal);
  return reader.source();
}

/** `update-route` (plugin-rpc-types §5.1): a route command for the peers of a selector, without a walk through the command tree. */
class RouteCalls {
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
    const outcome = await this.#parts.routes.update(`plugin:${plugin}`, peers, command);
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

async function forward(parts: ServiceParts, plugin: string, input: ForwardCachedInput): Promise<undefined> {
  if (input.ids.length === 0) return undefined;
  if (input.destinations.length > MAX_DESTINATIONS) {
    await parts.reactor.releaseCached(plugin, input.ids);
    throw new RpcError('error', `too many destinations: ${input.destinations.length} (max ${MAX_DESTINATIONS})`);
  }
  const peers = parts.peers.list();
  const destinations: number[] = [];
  for (const text of input.destinations) {
    const match = DESTINATION.exec(text);
    const address = match?.[1] ?? match?.[2] ?? match?.[3] ?? '';
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

async function release(parts: ServiceParts, plugin: string, input: ReleaseCachedInput): Promise<undefined> {
  if (input.ids.length > 0) refuse(await parts.reactor.releaseCached(plugin, input.ids));
  return undefined;
}

function emit(parts: ServiceParts, plugin: string, input: EmitEventInput): { readonly delivered: number } {
  const result = parts.bus.emit(
    {
      namespace: input.namespace,
      type: input['event-type'],
      direction: input.direction,
      peerAddress: input['peer-address'],
      text: input.event,
    },
    plugin,
  );
  if (!result.ok) throw new RpcError('error', result.message);
  return { delivered: result.delivered };
}

/** The plugin that holds the Loc-RIB serves installed routes; the engine only carries the call (design §5). */
async function rib(
  parts: ServiceParts,
  verb: 'install' | 'remove',
  plugin: string,
  routes: readonly object[],
  signal: AbortSignal,
): Promise<number> {
  const input = { command: `rib ${verb}`, args: [plugin, JSON.stringify(routes)] };
  const { status, data, error } = await parts.dispatcher.dispatchArgs(input, ENGINE_CALLER, signal).collapse();
  if (status === 'error') throw new RpcError('error', error ?? `route-${verb} failed`);
  const counts = (typeof data === 'object' && data !== null ? data : {}) as Readonly<Record<string, unknown>>;
  return Number(counts[verb === 'install' ? 'installed' : 'removed'] ?? 0);
}

function value<T>(decoded: Decoded<T>): T {
  if (!decoded.ok) throw new RpcError('error', decoded.message);
  return decoded.value;
}

function refuse(fault: string | undefined): void {
  if (fault !== undefined) throw new RpcError('error', fault);
}

function clamp(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text;
}
