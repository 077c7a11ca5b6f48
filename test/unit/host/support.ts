// A host with everything around it small and recorded, and plugins that speak raw lines as the protocol's seed shows them.
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { EventBus } from '../../../engine/bus/bus.ts';
import type { Report } from '../../../engine/bgp/port.ts';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import type { PluginSettings } from '../../../engine/config/settings/plugin-settings.ts';
import { systemClock } from '../../../engine/core/clock.ts';
import { type Log, silentLog } from '../../../engine/core/log.ts';
import { PluginHost } from '../../../engine/host/host.ts';
import type { HostOptions } from '../../../engine/host/options.ts';
import type { PluginSite } from '../../../engine/host/startup/load-plugin.ts';
import type { StartupNeeds } from '../../../engine/host/startup/plan.ts';
import type { CommandRegistry, EngineServices } from '../../../engine/host/services.ts';
import { RpcError } from '../../../sdk/rpc/errors.ts';
import { documentAnswer } from '../../../sdk/rpc/records.ts';
import type { CommandDecl, PipeDecl } from '../../../yang/generated/methods.ts';
import { scripts, scriptedUrl } from './fixtures/scripted.ts';

/** Polls until `condition` holds. */
export async function until(what: string, condition: () => boolean, ms = 30_000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!condition()) {
    assert(performance.now() < deadline, `still waiting: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export class FakeCommands implements CommandRegistry {
  readonly active = new Map<string, readonly CommandDecl[]>();
  readonly pipes: PipeDecl[] = [];
  /** Names the engine has itself. */
  taken: string[] = [];

  add(plugin: string, commands: readonly CommandDecl[]): readonly string[] {
    this.active.set(plugin, commands);
    return commands.map((command) => command.name).filter((name) => this.taken.includes(name));
  }
  remove(plugin: string): void {
    this.active.delete(plugin);
  }
  has(name: string): boolean {
    return name === 'peer list' || [...this.active.values()].flat().some((command) => command.name === name);
  }
  checkPipe(_plugin: string, pipe: PipeDecl): string | undefined {
    return pipe.expansion.startsWith('bad') ? `"${pipe.expansion}" does not parse` : undefined;
  }
  addPipes(_plugin: string, pipes: readonly PipeDecl[]): void {
    this.pipes.push(...pipes);
  }
  list(): readonly { name: string; plugin: string }[] {
    return [{ name: 'peer', plugin: 'bgp' }];
  }
}

export interface World {
  readonly host: PluginHost;
  readonly bus: EventBus;
  readonly reports: Report[];
  readonly commands: FakeCommands;
  /** `method plugin` of every service call. */
  readonly calls: string[];
  readonly fatal: string[];
  readonly log: { readonly level: string; readonly message: string; readonly fields: object }[];
  /** Codes of error reports about a plugin. */
  codes(plugin: string): string[];
  state(plugin: string): string | undefined;
  stop(): Promise<void>;
}

export function recordingLog(into: { level: string; message: string; fields: object }[], bound: object = {}): Log {
  const at = (level: string) => (fields: object, message: string) =>
    void into.push({ level, message, fields: { ...bound, ...fields } });
  return {
    ...silentLog,
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    child: (bindings) => recordingLog(into, { ...bound, ...bindings }),
  };
}

/** `Host` may be the built one: only that starts threads. */
export function makeWorld(overrides: Partial<HostOptions> = {}, Host: typeof PluginHost = PluginHost): World {
  const reports: Report[] = [];
  const fatal: string[] = [];
  const calls: string[] = [];
  const log: World['log'] = [];
  const commands = new FakeCommands();
  const codecs = new CodecRegistry();
  const bus = new EventBus({ clock: systemClock, log: silentLog, registry: codecs });
  const services: EngineServices = {
    calls: {
      'ze-plugin-engine:update-route': (plugin) => {
        calls.push(`update-route ${plugin}`);
        return { announced: 1, withdrawn: 0, 'peers-affected': 1, 'routes-sent': 1 };
      },
      'ze-plugin-engine:release-cached': (plugin) => void calls.push(`release-cached ${plugin}`),
      'ze-plugin-engine:emit-event': (plugin, input) => {
        const result = bus.emit({ namespace: input.namespace, type: input['event-type'], text: input.event }, plugin);
        if (!result.ok) throw new RpcError('error', result.message);
        return { delivered: result.delivered };
      },
    },
    dispatch: (plugin, _method, input) => {
      calls.push(`dispatch ${plugin} ${input.command}`);
      if (input.command === 'nonsense') throw new RpcError('unknown-command', 'unknown command: nonsense');
      return documentAnswer({ asked: input.command });
    },
    released: (plugin) => void calls.push(`released ${plugin}`),
  };
  const host = new Host({
    clock: systemClock,
    log: recordingLog(log),
    report: (report) => void reports.push(report),
    services,
    commands,
    config: { sections: (wanted) => wanted.filter((root) => root === 'bgp').map((root) => ({ root, data: '{"bgp":{}}' })) },
    events: bus,
    codecs,
    builtins: [],
    startInReactor: undefined,
    stageTimeoutMs: 10_000,
    deliveryTimeoutMs: 10_000,
    stateDirectory: undefined,
    configFolder: tmpdir(),
    binFolder: join(tmpdir(), 'no-such-bin'),
    environment: process.env,
    relayLevel: 'trace',
    onFatal: (plugin, reason) => void fatal.push(`${plugin}: ${reason}`),
    ...overrides,
  });
  return {
    host,
    bus,
    reports,
    commands,
    calls,
    fatal,
    log,
    codes: (plugin) => reports.filter((one) => one.subject === plugin && one.severity === 'error').map((one) => one.code),
    state: (plugin) => host.list().find((row) => row.name === plugin)?.state,
    stop: () => host.stop('test over'),
  };
}

export const NO_NEEDS: StartupNeeds = { roots: [], families: [], receiveTypes: [], sendTypes: [] };

export function settings(name: string, more: Partial<PluginSettings> = {}): PluginSettings {
  return {
    name,
    run: '',
    use: new URL(scriptedUrl).pathname,
    encoder: 'json',
    respawn: undefined,
    timeoutMs: 10_000,
    queue: { batches: 64, bytes: 4 << 20, onOverflow: undefined },
    isolation: 'main',
    ...more,
  };
}

/** One end of the protocol in raw lines. Knows only what the seed says of them. */
export class RawPlugin {
  readonly site: PluginSite;
  readonly conn: Duplex;
  /** Lines from the engine, as they came. */
  readonly lines: string[] = [];
  readonly closed: Promise<void>;
  #taken = 0;
  #id = 0;
  #idle = false;
  #wake: (() => void) | undefined;

  constructor(site: PluginSite) {
    this.site = site;
    this.conn = site.conn;
    const reader = createInterface({ input: this.conn, crlfDelay: Infinity });
    reader.on('error', () => undefined);
    reader.on('line', (line) => {
      this.lines.push(line);
      this.#wake?.();
      if (this.#idle) this.#answerBye();
    });
    this.conn.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      this.conn.once('close', () => resolve());
    });
  }

  send(line: string): void {
    this.conn.write(`${line}\n`);
  }

  /** The next line that no one has taken. */
  async next(): Promise<string> {
    if (this.lines.length <= this.#taken) {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no line for ${this.site.name}`)), 60_000);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
        void this.closed.then(this.#wake);
      });
    }
    const line = this.lines[this.#taken++];
    assert(line !== undefined, `${this.site.name}: the engine closed the connection`);
    return line;
  }

  /** Sends a request with the next id; returns the id. */
  request(method: string, params?: unknown): number {
    const id = ++this.#id;
    this.send(`#${id} ze-plugin-engine:${method}${params === undefined ? '' : ` ${JSON.stringify(params)}`}`);
    return id;
  }

  /** Sends a request and returns the line that answers it. */
  async ask(method: string, params?: unknown): Promise<string> {
    this.request(method, params);
    return await this.next();
  }

  /** Takes a callback of the engine and answers ok; returns its params. */
  async serve(method: string, answer = 'ok'): Promise<unknown> {
    const line = await this.next();
    const found = /^#(\d+) ze-plugin-callback:(\S+) ?(.*)$/.exec(line);
    assert(found !== null, `expected a callback, got ${line}`);
    assert.equal(found[2], method);
    this.send(`#${found[1]} ${answer}`);
    return found[3] === '' ? undefined : JSON.parse(found[3] ?? '');
  }

  /** The stages up to `last`, all well. */
  async stages(last: number, registration: unknown = {}, ready?: unknown): Promise<void> {
    if (last >= 1) assert.equal(await this.ask('declare-registration', registration), '#1 ok');
    if (last >= 2) await this.serve('configure');
    if (last >= 3) assert.equal(await this.ask('declare-capabilities', { capabilities: [] }), '#2 ok');
    if (last >= 4) await this.serve('share-registry');
    if (last >= 5) assert.equal(await this.ask('ready', ready), '#3 ok');
  }

  /** Lives until the engine closes; answers its bye. */
  async idle(): Promise<void> {
    this.#idle = true;
    this.#answerBye();
    await this.closed;
  }

  #answerBye(): void {
    for (const line of this.lines.splice(this.#taken)) {
      const id = /^#(\d+) ze-plugin-callback:bye/.exec(line)?.[1];
      if (id !== undefined) this.send(`#${id} ok`);
    }
  }
}

/** Puts a script under a plugin's name. What it throws ends the plugin with that error. */
export function script(name: string, run: (plugin: RawPlugin) => Promise<void>): void {
  scripts.set(name, (site) => run(new RawPlugin(site)));
}

/** A plugin that starts well and answers bye. */
export function goodPlugin(name: string, registration: unknown = {}, ready?: unknown): void {
  script(name, async (plugin) => {
    await plugin.stages(5, registration, ready);
    await plugin.idle();
  });
}
