/**
 * The bridge across threads, for plugins in the reactor's thread or in one of their own. The engine's end is `PortBridgeEnd`;
 * `threadBridge` is what the plugin gets there. What concerns routes never comes here: `routes` is handed in by the reactor.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Bridge, BridgeHandlers, DispatchMethod } from '../../../sdk/plugin/bridge.ts';
import type { PluginLog } from '../../../sdk/plugin/log.ts';
import type { RoutePath } from '../../../sdk/plugin/route-path.ts';
import type { AnswerReader } from '../../../sdk/rpc/answer.ts';
import { RpcError } from '../../../sdk/rpc/errors.ts';
import type { CallbackMethod, EngineMethod, ExecuteCommandInput, Methods } from '../../../yang/generated/methods.ts';
import type { Transport } from '../../bus/delivery.ts';
import type { Log } from '../../core/log.ts';
import type { BridgeCalls, BridgeEnd } from './bridge-end.ts';
import { type CallbackCall, closedError, type PluginLink } from '../link.ts';
import { PortPeer } from './port-peer.ts';

const EVENTS = 'events';
const EXECUTE = 'execute';

/** Words without an answer. `failed` carries the reason, text; `log` a line of the plugin's log. */
const NOTE = { attach: 'attach', close: 'close', failed: 'failed', log: 'log' } as const;

interface LogNote {
  readonly level: keyof PluginLog;
  readonly fields: object;
  readonly message: string;
}

export class PortBridgeEnd implements BridgeEnd {
  readonly attached: Promise<PluginLink>;
  /** Settles when the bridge is closed; `fault` is what the plugin's side said of its death. */
  readonly ended: Promise<{ readonly fault: string }>;
  readonly #peer: PortPeer;

  constructor(port: MessagePort, calls: BridgeCalls, log: Log) {
    let attach: (link: PluginLink) => void = () => undefined;
    let reason: RpcError | undefined;
    const peer = new PortPeer(port, {
      call: (method, input, signal) => calls.call(method as EngineMethod, input, signal),
      open: (method, input, signal) => calls.dispatch(method as DispatchMethod, input as never, signal),
      note: (name, value) => {
        switch (name) {
          case NOTE.attach:
            attach(link);
            return;
          case NOTE.log:
            noteLog(log, value as LogNote);
            return;
          case NOTE.failed:
            reason = new RpcError('closed', String(value));
        }
        peer.close();
      },
    });
    this.#peer = peer;
    const link = new PortLink(
      peer,
      peer.closed.then(() => reason),
    );
    this.ended = peer.closed.then(() => ({ fault: reason?.message ?? '' }));
    this.attached = new Promise((resolve, reject) => {
      attach = resolve;
      void peer.closed.then(() => reject(reason ?? closedError()));
    });
    this.attached.catch(() => undefined);
  }

  close(): void {
    this.#peer.close();
  }
}

class PortLink implements PluginLink {
  /** Structured batches live in the main thread's memory: a plugin elsewhere gets texts (its routes come by `RoutePath`). */
  readonly structured = undefined;
  readonly transport: Transport;
  readonly closed: Promise<RpcError | undefined>;
  readonly #peer: PortPeer;

  constructor(peer: PortPeer, closed: Promise<RpcError | undefined>) {
    this.#peer = peer;
    this.closed = closed;
    this.transport = {
      form: 'texts',
      send: async (texts) => {
        await peer.call(EVENTS, texts);
      },
    };
  }

  async call<M extends CallbackCall>(method: M, input: Methods[M]['input'], signal?: AbortSignal): Promise<Methods[M]['output']> {
    return (await this.#peer.call(method, input, signal)) as Methods[M]['output'];
  }

  execute(input: ExecuteCommandInput, signal?: AbortSignal): AnswerReader {
    return this.#peer.open(EXECUTE, input, signal);
  }

  close(): Promise<void> {
    this.#peer.close();
    return Promise.resolve();
  }
}

function noteLog(log: Log, { level, fields, message }: LogNote): void {
  switch (level) {
    case 'error':
    case 'warn':
    case 'info':
    case 'debug':
      log[level](fields, message);
  }
}

export interface ThreadBridge extends Bridge {
  /** Lines go to the engine's log. */
  readonly log: PluginLog;
  /** Tells the engine that the plugin has died, and why; then closes. */
  fail(reason: string): void;
  /** Settles when the engine or the plugin has closed the bridge. */
  readonly closed: Promise<void>;
}

/** The plugin's end. `routes` only in the reactor's thread. */
export function threadBridge(port: MessagePort, routes: RoutePath | undefined): ThreadBridge {
  let handlers: BridgeHandlers | undefined;
  const attached = (): BridgeHandlers => {
    if (handlers === undefined) throw new RpcError('error', 'the plugin has no handlers yet');
    return handlers;
  };
  const peer = new PortPeer(port, {
    call: async (method, input, signal) => {
      if (method === EVENTS) {
        await attached().events(input as readonly string[]);
        return undefined;
      }
      return await attached().callback(method as CallbackMethod, input as never, signal);
    },
    open: (_method, input, signal) => attached().execute(input as ExecuteCommandInput, signal),
    note: () => undefined,
  });
  const at =
    (level: keyof PluginLog) =>
    (fields: object, message: string): void =>
      peer.note(NOTE.log, { level, fields: plain(fields), message } satisfies LogNote);
  return {
    routes,
    log: { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') },
    closed: peer.closed,
    attach: (given) => {
      if (handlers !== undefined) throw new RpcError('error', 'the bridge has its handlers already');
      handlers = given;
      peer.note(NOTE.attach);
    },
    call: async (method, input, signal) => (await peer.call(method, input, signal)) as never,
    dispatch: (method, input, signal) => peer.open(method, input, signal),
    close: () => {
      peer.note(NOTE.close);
      peer.close();
    },
    fail: (reason) => {
      peer.note(NOTE.failed, reason);
      peer.close();
    },
  };
}

/** Fields as JSON would show them: what can't be cloned must not stop a log line. */
function plain(fields: object): object {
  try {
    return structuredClone(fields);
  } catch {
    return { fields: JSON.stringify(fields) };
  }
}
