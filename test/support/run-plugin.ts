// A route-path plugin run for a test: the five stages over a pipe against the least of an engine, then the bridge, with a fake route path.
import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import type { Bridge, BridgeHandlers } from '../../sdk/plugin/bridge.ts';
import type { PluginDefinition } from '../../sdk/plugin/define.ts';
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import { AnswerReader, type Collapsed } from '../../sdk/rpc/answer.ts';
import { failedAnswer } from '../../sdk/rpc/records.ts';
import { pipePair } from '../../sdk/rpc/pipe.ts';
import type { CapabilityDecl, ConfigSection, DeclareRegistrationInput } from '../../yang/generated/methods.ts';

export interface RunOptions {
  readonly sections?: readonly ConfigSection[];
  /** Roles that other plugins claim. */
  readonly claims?: readonly string[];
}

export interface RunningPlugin {
  readonly registration: DeclareRegistrationInput;
  readonly capabilities: readonly CapabilityDecl[];
  /** The whole answer of a command as one value; `args` is split at blanks. */
  ask(command: string, args?: string, peer?: string): Promise<Collapsed>;
  /** The answer's reader, for streams. */
  read(command: string, args?: string, peer?: string): AnswerReader;
  stop(): Promise<void>;
}

export async function runPlugin(
  definition: PluginDefinition,
  routes: RoutePath,
  options: RunOptions = {},
): Promise<RunningPlugin> {
  const [conn, far] = pipePair();
  let handlers: BridgeHandlers | undefined;
  const bridge: Bridge = {
    attach: (attached) => {
      handlers = attached;
    },
    call: (method) => Promise.reject(new Error(`the test engine serves no ${method}`)),
    dispatch: () => new AnswerReader(failedAnswer('the test engine runs no command')),
    close: () => undefined,
    routes,
  };
  const stop = new AbortController();
  const ended = definition.run({ conn, bridge, signal: stop.signal, log: silent });
  ended.catch(() => undefined);
  const lines = createInterface({ input: far })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const line = await Promise.race([lines.next(), ended.then(() => assert.fail('the plugin ended'))]);
    assert(line.done !== true, 'the plugin closed its pipe');
    return line.value;
  };
  const serve = async (method: string): Promise<unknown> => {
    const [, id, name, json] = /^#(\d+) (\S+) ?(.*)$/.exec(await next()) ?? [];
    assert.equal(name, `ze-plugin-engine:${method}`);
    far.write(`#${id} ok\n`);
    return JSON.parse(json === '' || json === undefined ? '{}' : json);
  };
  const tell = async (id: number, method: string, input: unknown): Promise<void> => {
    far.write(`#${id} ze-plugin-callback:${method} ${JSON.stringify(input)}\n`);
    const line = await next();
    assert.equal(line, `#${id} ok`);
  };
  const registration = (await serve('declare-registration')) as DeclareRegistrationInput;
  await tell(1, 'configure', { sections: options.sections ?? [], claims: options.claims ?? [] });
  const { capabilities } = (await serve('declare-capabilities')) as { readonly capabilities: readonly CapabilityDecl[] };
  await tell(2, 'share-registry', { commands: [] });
  await serve('ready');
  while (handlers === undefined) await new Promise((resolve) => setImmediate(resolve));
  const execute = handlers;
  const read = (command: string, args = '', peer = '*'): AnswerReader => {
    const words = args.split(' ').filter((word) => word !== '');
    return new AnswerReader(execute.execute({ serial: '', command, args: words, peer }, stop.signal));
  };
  return {
    registration,
    capabilities,
    read,
    ask: (command, args, peer) => read(command, args, peer).collapse(),
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
}

const silent = { error: nothing, warn: nothing, info: nothing, debug: nothing, trace: nothing };
function nothing(): void {
  // A test does not print.
}
