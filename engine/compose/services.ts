// What a running plugin may call, served by commands, codec, bus, reactor and host: one file for each family of calls. A method that is
// not here answers `unknown method`.
import type { AnswerSource } from '../../sdk/rpc/answer.ts';
import { RpcError } from '../../sdk/rpc/errors.ts';
import type { DispatchMethod } from '../../sdk/plugin/bridge.ts';
import type { EmitEventInput, Methods } from '../../yang/generated/methods.ts';
import type { Decoded } from '../codec/wire-codec.ts';
import { pluginCaller } from '../command/access.ts';
import type { Dispatcher } from '../command/dispatch.ts';
import type { EngineServices } from '../host/services.ts';
import { forwardCached, relayStored, releaseCached } from './cached-calls.ts';
import type { ServiceParts } from './call-parts.ts';
import { inject, install, release, validate } from './rib-calls.ts';
import type { RouteQueue } from './originations.ts';
import { RouteCalls } from './route-calls.ts';
import { RouteStream } from './route-stream.ts';
import { storeCalls } from './store-calls.ts';

export type { ServiceParts };

export function engineServices(parts: ServiceParts): EngineServices {
  const routes = new RouteCalls(parts);
  const { codec, queue } = parts;
  return {
    calls: {
      'ze-plugin-engine:update-route': (plugin, input, signal) => routes.update(plugin, input, signal),
      'ze-plugin-engine:forward-cached': (plugin, input) => forwardCached(parts, plugin, input),
      'ze-plugin-engine:release-cached': (plugin, input) => releaseCached(parts, plugin, input),
      'ze-plugin-engine:relay-stored-route': (plugin, input, signal) => relayStored(parts, plugin, input, signal),
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
        installed: await install(parts, 'install', plugin, input.routes, signal),
      }),
      'ze-plugin-engine:route-remove': async (plugin, input, signal) => ({
        removed: await install(parts, 'remove', plugin, input.routes, signal),
      }),
      'ze-plugin-engine:inject-wire-route': (plugin, input) => inject(parts, plugin, input),
      'ze-plugin-engine:batch-validate': (plugin, input, signal) => validate(parts, plugin, input.decisions, signal),
      ...storeCalls(parts),
    },
    dispatch: (plugin, method, input, signal) => dispatch(parts.dispatcher, plugin, method, input, signal),
    ...(queue === undefined ? {} : { routeStream: routeStreams(routes, queue) }),
    released: (plugin) => release(parts, plugin),
  };
}

function routeStreams(routes: RouteCalls, queue: RouteQueue): NonNullable<EngineServices['routeStream']> {
  return (plugin, signal) => {
    const stream = new RouteStream(plugin, routes, queue, signal);
    return (bytes, from, to, id, replies) => stream.take(bytes, from, to, id, replies);
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

function value<T>(decoded: Decoded<T>): T {
  if (!decoded.ok) throw new RpcError('error', decoded.message);
  return decoded.value;
}
