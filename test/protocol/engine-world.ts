// A host with raw plugins on it, over a pipe or over TLS: over TLS a child only hands out what the engine gave it, and the test itself
// connects back with that and speaks the lines.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PluginSettings } from '../../engine/config/settings/plugin-settings.ts';
import type { PluginSite } from '../../engine/host/startup/load-plugin.ts';
import { connectBack, takeHubEnvironment } from '../../sdk/rpc/tls.ts';
import { makeWorld, NO_NEEDS, RawPlugin, script, settings, until, type World } from '../unit/host/support.ts';

export type TransportName = 'pipe' | 'tls';
export const TRANSPORTS: readonly TransportName[] = ['pipe', 'tls'];

export interface Cast {
  readonly name: string;
  readonly transport: TransportName;
  /** What the plugin does, from its first line to its end. */
  readonly play: (plugin: RawPlugin) => Promise<void>;
}

export interface Stage extends AsyncDisposable {
  readonly world: World;
  /** What a play threw. */
  readonly faults: readonly unknown[];
}

/** Starts the plugins; resolves when the host has started them, or they have failed to. */
export async function perform(cast: readonly Cast[], overrides: Parameters<typeof makeWorld>[0] = {}): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'zest-protocol-'));
  const world = makeWorld(overrides);
  const faults: unknown[] = [];
  const list: PluginSettings[] = [];
  for (const { name, transport, play } of cast) {
    const acted = (plugin: RawPlugin): Promise<void> => play(plugin).catch((fault: unknown) => void faults.push(fault));
    if (transport === 'pipe') {
      script(name, acted);
      list.push(settings(name));
    } else {
      const file = join(folder, name);
      const run = `printenv -0 > '${file}.part' && mv '${file}.part' '${file}' && until [ -e '${file}.over' ]; do sleep 0.02; done`;
      list.push(settings(name, { use: '', run, timeoutMs: 10_000 }));
      void connect(name, file).then(acted, (fault: unknown) => faults.push(fault));
    }
  }
  await world.host.start(list, [], NO_NEEDS);
  return {
    world,
    faults,
    async [Symbol.asyncDispose]() {
      await world.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function connect(name: string, file: string): Promise<RawPlugin> {
  await until(`the environment of ${name}`, () => existsSync(file), 10_000);
  const pairs = readFileSync(file, 'utf8').split('\0');
  const environment = Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
  const conn = await connectBack(takeHubEnvironment(environment, name));
  conn.once('close', () => writeFileSync(`${file}.over`, ''));
  return new RawPlugin({ name, conn } as unknown as PluginSite);
}
