/**
 * Calls of a running plugin, from a mux or from the bridge, into the engine's services. Nothing is served before `open`: the
 * phase's plugins must all be up (plugin-lifecycle §3.1). Handlers run concurrently; the mux bounds what waits.
 */
import type { DispatchMethod } from '../../../sdk/plugin/bridge.ts';
import type { AnswerSource } from '../../../sdk/rpc/answer.ts';
import { RpcError } from '../../../sdk/rpc/errors.ts';
import type { Mux } from '../../../sdk/rpc/mux.ts';
import { ENGINE_METHODS, type EngineMethod, type Methods } from '../../../yang/generated/methods.ts';
import type { ProcessHandle } from '../../bus/bus.ts';
import type { BridgeCalls } from '../bridge/bridge-end.ts';
import type { EngineServices, RuntimeMethod, StreamMethod } from '../services.ts';

export interface RuntimeOptions {
  readonly plugin: string;
  readonly services: EngineServices;
  /** The plugin's event stream, once it is running. */
  stream(): ProcessHandle | undefined;
}

type Call = (plugin: string, input: unknown, signal: AbortSignal) => unknown;

export class Runtime implements BridgeCalls {
  readonly #options: RuntimeOptions;
  readonly #opened: Promise<void>;
  #open: () => void = () => undefined;
  #mux: Mux | undefined;

  constructor(options: RuntimeOptions) {
    this.#options = options;
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  /** Registers the handlers with a mux that is held. */
  serve(mux: Mux): void {
    this.#mux = mux;
    const { plugin, services } = this.#options;
    const routes = services.routeStream?.(plugin, mux.signal);
    for (const method of ENGINE_METHODS) {
      if (isDispatch(method)) {
        mux.serveAnswer(method, (input, context) => this.dispatch(method, input, context.signal));
      } else if (method === 'ze-plugin-engine:update-route' && routes !== undefined) {
        mux.serveBulk(method, routes);
      } else if (this.#handler(method) !== undefined) {
        mux.serve(method, async (input, context) => (await this.call(method, input, context.signal)) as never);
      }
    }
  }

  /** From now on calls are served, those that wait first. */
  open(): void {
    this.#open();
    this.#mux?.start();
  }

  async call(method: EngineMethod, input: unknown, signal: AbortSignal): Promise<unknown> {
    await this.#opened;
    const handler = this.#handler(method);
    if (handler === undefined) throw new RpcError('unknown-method', `unknown method: ${method}`);
    return await handler(this.#options.plugin, input, signal);
  }

  async dispatch<M extends DispatchMethod>(method: M, input: Methods[M]['input'], signal: AbortSignal): Promise<AnswerSource> {
    await this.#opened;
    return await this.#options.services.dispatch(this.#options.plugin, method, input, signal);
  }

  #handler(method: EngineMethod): Call | undefined {
    switch (method) {
      case 'ze-plugin-engine:subscribe-events':
        return (_plugin, input) => this.#subscribe(input as Methods['ze-plugin-engine:subscribe-events']['input']);
      case 'ze-plugin-engine:unsubscribe-events':
        return () => {
          this.#options.stream()?.unsubscribe();
        };
      case 'ze-plugin-engine:forward-cached':
      case 'ze-plugin-engine:release-cached':
        return this.#acknowledging(method);
      case 'ze-plugin-engine:declare-registration':
      case 'ze-plugin-engine:declare-capabilities':
      case 'ze-plugin-engine:ready':
      case 'ze-plugin-engine:dispatch-command':
      case 'ze-plugin-engine:dispatch-command-args':
        return undefined;
      default:
        return this.#service(method);
    }
  }

  #service(method: Exclude<RuntimeMethod, StreamMethod>): Call | undefined {
    return this.#options.services.calls[method] as Call | undefined;
  }

  #subscribe(input: Methods['ze-plugin-engine:subscribe-events']['input']): void {
    const stream = this.#options.stream();
    if (stream === undefined) throw new RpcError('error', 'subscription manager not available');
    const refused = stream.subscribe(input);
    if (refused !== undefined) throw new RpcError('error', refused);
  }

  /** The ids are consumed whatever the answer (plugin-rpc-types §5.2): the bus forgets what it owes for them. */
  #acknowledging(method: 'ze-plugin-engine:forward-cached' | 'ze-plugin-engine:release-cached'): Call | undefined {
    const service = this.#service(method);
    if (service === undefined) return undefined;
    return async (plugin, input, signal) => {
      const { ids } = input as Methods[typeof method]['input'];
      const bad = ids.find((id) => !Number.isSafeInteger(id) || id < 0);
      if (bad !== undefined)
        throw new RpcError('invalid-params', `invalid ${method.slice(17)} params: id ${bad} is no update id`);
      try {
        await service(plugin, input, signal);
      } finally {
        this.#options.stream()?.acknowledged(ids);
      }
      return undefined;
    };
  }
}

function isDispatch(method: EngineMethod): method is DispatchMethod {
  return method === 'ze-plugin-engine:dispatch-command' || method === 'ze-plugin-engine:dispatch-command-args';
}
