// A plugin of the SDK and the engine's end of its link in raw lines, over a pipe or over TLS.
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { Plugin, type PluginOptions, type Registration } from '../../sdk/plugin/plugin.ts';
import { pipePair } from '../../sdk/rpc/pipe.ts';
import { TestHub } from '../../sdk/testing/hub.ts';
import type { TransportName } from './engine-world.ts';

/** The engine in raw lines. */
export class RawEngine {
  readonly #stream: Duplex;
  readonly #lines: AsyncIterator<string>;
  #id = 0;

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on('error', () => undefined);
    this.#lines = createInterface({ input: stream, crlfDelay: Infinity })[Symbol.asyncIterator]();
  }

  send(line: string): void {
    this.#stream.write(`${line}\n`);
  }

  async next(): Promise<string> {
    const line = await this.#lines.next();
    if (line.done === true) throw new Error('the plugin closed its link');
    return line.value;
  }

  /** The next line, which must be this request; answers it and gives its params, `undefined` when there are none. */
  async serve(method: string, answer = 'ok'): Promise<unknown> {
    const line = await this.next();
    const [, id, found, json] = /^#(\d+) (\S+)(?: (.*))?$/.exec(line) ?? [];
    if (found !== method) throw new Error(`expected ${method}, got ${line}`);
    this.send(`#${id} ${answer}`);
    return json === undefined ? undefined : JSON.parse(json);
  }

  /** Sends a callback; resolves to the line that answers it, without its id. */
  async ask(name: string, params?: unknown): Promise<string> {
    const id = ++this.#id;
    this.send(`#${id} ze-plugin-callback:${name}${params === undefined ? '' : ` ${JSON.stringify(params)}`}`);
    const line = await this.next();
    if (!line.startsWith(`#${id} `)) throw new Error(`expected the answer #${id}, got ${line}`);
    return line.slice(`#${id} `.length);
  }

  /** The five stages; what the plugin declared comes back. */
  async stages(): Promise<{ readonly registration: unknown; readonly capabilities: unknown; readonly ready: unknown }> {
    const registration = await this.serve('ze-plugin-engine:declare-registration');
    await this.ask('configure', { sections: [] });
    const capabilities = await this.serve('ze-plugin-engine:declare-capabilities');
    await this.ask('share-registry', { commands: [] });
    return { registration, capabilities, ready: await this.serve('ze-plugin-engine:ready') };
  }

  end(): void {
    this.#stream.end();
  }
}

export interface Pair extends AsyncDisposable {
  readonly plugin: Plugin;
  readonly engine: RawEngine;
  /** Resolves when the plugin may call the engine. */
  readonly started: Promise<void>;
  /** Settles with `plugin.run`. */
  readonly ended: Promise<void>;
}

/** A plugin under way; `prepare` registers its handlers. */
export async function connected(
  transport: TransportName,
  registration: Registration,
  prepare: (plugin: Plugin) => void = () => undefined,
  options: PluginOptions = {},
): Promise<Pair> {
  const close: (() => Promise<void>)[] = [];
  let plugin: Plugin;
  let stream: Duplex;
  let ended: Promise<void>;
  let begin = (): void => undefined;
  const started = new Promise<void>((resolve) => (begin = resolve));
  if (transport === 'pipe') {
    const [near, far] = pipePair();
    plugin = Plugin.withConn('probe', near, options);
    prepare(plugin);
    plugin.onStarted(() => begin());
    ended = plugin.run(registration);
    stream = far;
    close.push(() => Promise.resolve(void far.destroy()));
  } else {
    const hub = await TestHub.open();
    plugin = Plugin.fromEnv('probe', { ...options, environment: hub.environment('probe'), linger: true });
    prepare(plugin);
    plugin.onStarted(() => begin());
    const accepted = hub.accept('probe');
    ended = plugin.run(registration);
    stream = await accepted;
    close.push(() => hub[Symbol.asyncDispose]());
  }
  ended.catch(() => undefined);
  return {
    plugin,
    engine: new RawEngine(stream),
    started,
    ended,
    async [Symbol.asyncDispose]() {
      await plugin.close();
      for (const step of close) await step();
    },
  };
}
