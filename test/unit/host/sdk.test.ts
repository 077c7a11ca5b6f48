// Plugins by the SDK in every placement behind one host: same answers, same events, same end. And nothing is left behind.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, test } from 'node:test';
import type { PluginSettings } from '../../../engine/config/settings/plugin-settings.ts';
import { systemClock } from '../../../engine/core/clock.ts';
import { silentLog } from '../../../engine/core/log.ts';
import type { HostOptions } from '../../../engine/host/options.ts';
import type { ThreadLauncher as Launcher } from '../../../engine/host/startup/launch.ts';
import { startInThread } from '../../../engine/host/bridge/start-in-thread.ts';
import { heard } from './fixtures/greeter.ts';
import { makeWorld, NO_NEEDS, settings, until, type World } from './support.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const greeter = join(import.meta.dirname, 'fixtures', 'greeter.ts');
const builtin = { name: 'greeter', placement: 'reactor', moduleUrl: pathToFileURL(greeter).href, roots: ['bgp'] } as const;

let world: World | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

const placements: readonly {
  what: string;
  plugins: readonly PluginSettings[];
  roots?: string[];
  options?: Partial<HostOptions>;
}[] = [
  { what: 'in the main thread', plugins: [settings('greeter', { use: greeter })] },
  {
    what: 'behind message ports, as in the reactor',
    plugins: [],
    roots: ['bgp'],
    options: {
      builtins: [builtin],
      startInReactor: (name, url, pipe, bridge) => void startInThread(name, url, pipe, bridge, undefined),
    },
  },
  {
    what: 'as a child over TLS',
    plugins: [
      settings('greeter', {
        use: '',
        run: `exec node --import ${pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href} ${join(import.meta.dirname, 'fixtures/greeter-child.ts')}`,
        timeoutMs: 10_000,
      }),
    ],
  },
];

for (const { what, plugins, roots = [], options = {} } of placements) {
  test(`${what}: stages, commands, calls, events, bye`, async () => {
    heard.length = 0;
    const made = (world = makeWorld(options));
    assert.deepEqual(await made.host.start(plugins, [], { ...NO_NEEDS, roots }), { ok: true });
    assert.deepEqual(
      made.host.list().map((row) => [row.state, row.policy, row.commands]),
      [['running', 'restart', 4]],
    );
    const run = (command: string) => made.host.execute('greeter', { command }, new AbortController().signal);
    const rows: unknown[] = [];
    for await (const row of run('greeter rows')) rows.push(row);
    assert.equal(rows.length, 1000);
    assert.deepEqual(rows[999], { i: 999 });
    assert.deepEqual(await run('greeter ask').collapse(), { status: 'done', data: { asked: 'peer list' } });
    assert.equal((await run('greeter announce').collapse()).status, 'done');
    assert(made.calls.includes('update-route greeter'));
    assert.deepEqual(made.bus.emit({ namespace: 'system', type: 'clock-synced', text: '{"at":1}' }, 'engine'), {
      ok: true,
      delivered: 1,
    });
    await until(
      'the event is delivered',
      () => (made.host.list()[0]?.events ?? 0) === 1 && made.host.list()[0]?.queueBatches === 0,
    );
    await made.stop();
    assert.equal(made.state('greeter'), 'stopped');
    assert.deepEqual(made.codes('greeter'), []);
    if (!what.includes('child')) assert.deepEqual([...heard].sort(), ['all ready', 'bye test over', '{"at":1}']);
  });
}

test('a caller that goes away stops the command in the plugin', async () => {
  const made = (world = makeWorld());
  await made.host.start([settings('greeter', { use: greeter })], [], NO_NEEDS);
  const stop = new AbortController();
  const answer = made.host.execute('greeter', { command: 'greeter slow' }, stop.signal).collapse();
  setImmediate(() => stop.abort());
  await assert.rejects(answer, /abort/);
});

test('a thread of its own runs a compiled plugin', async (t) => {
  const compiled = join(root, 'dist/engine/host/host.js');
  if (!existsSync(compiled)) {
    t.skip('dist is not built');
    return;
  }
  const { ThreadLauncher } = (await import(pathToFileURL(join(root, 'dist/engine/host/startup/launch.js')).href)) as {
    ThreadLauncher: typeof Launcher;
  };
  const module = `data:text/javascript,${encodeURIComponent(
    'export default { run: ({ conn, name }) => new Promise((resolve) => { conn.write("hello from " + name); conn.once("close", resolve); }) }',
  )}`;
  const launched = await new ThreadLauncher({ name: 'own', moduleUrl: module, clock: systemClock, log: silentLog }).launch();
  const text = await new Promise((resolve) => launched.stream.once('data', (bytes: Buffer) => resolve(bytes.toString())));
  assert.equal(text, 'hello from own');
  await launched.stop(2000);
  assert.deepEqual(await launched.ended, { fault: '' });
});

const broken: readonly [string, Partial<PluginSettings>, RegExp][] = [
  ['a path without a file', { use: './nowhere.ts' }, /nowhere\.ts: no such file/],
  ['a module that holds no plugin', { use: join(import.meta.dirname, 'support.ts') }, /the default export is not a plugin/],
  ['an unknown built-in', { use: 'bgp-nothing' }, /no built-in plugin "bgp-nothing"/],
  ['a run that throws', { use: join(import.meta.dirname, 'fixtures/scripted.ts') }, /no script for x/],
];

for (const [what, more, text] of broken) {
  test(`${what} fails that plugin by name`, async () => {
    const made = (world = makeWorld());
    assert.deepEqual(await made.host.start([settings('x', more)], [], NO_NEEDS), { ok: true });
    assert.match(made.host.list()[0]?.lastError ?? '', text);
    assert.equal(made.state('x'), 'failed');
  });
}

test('a reload stops what is gone, starts what is new, restarts what changed, leaves the rest alone', async () => {
  const made = (world = makeWorld());
  const at = (name: string, more: Partial<PluginSettings> = {}) =>
    settings(name, { use: join(import.meta.dirname, 'fixtures/scripted.ts'), ...more });
  const { goodPlugin } = await import('./support.ts');
  for (const name of ['keep', 'change', 'gone', 'fresh']) goodPlugin(name);
  await made.host.start([at('keep'), at('change'), at('gone')], [], NO_NEEDS);
  const since = made.host.list().find((row) => row.name === 'keep')?.since;
  assert.deepEqual(await made.host.apply([at('keep'), at('change', { encoder: 'text' }), at('fresh')], [], NO_NEEDS), {
    ok: true,
  });
  assert.deepEqual(
    made.host
      .list()
      .map((row) => `${row.name} ${row.state}`)
      .sort(),
    ['change running', 'fresh running', 'keep running'],
  );
  assert.equal(made.host.list().find((row) => row.name === 'keep')?.since, since);
  assert.deepEqual(made.calls.filter((call) => call.startsWith('released')).sort(), ['released change', 'released gone']);
});

test('after a stop nothing keeps the process alive', async () => {
  const held = (): string[] => process.getActiveResourcesInfo().filter((kind) => kind !== 'Timeout' && kind !== 'Immediate');
  const before = held().length;
  const startInReactor: HostOptions['startInReactor'] = (name, url, pipe, bridge) =>
    void startInThread(name, url, pipe, bridge, undefined);
  const made = makeWorld({ builtins: [builtin], startInReactor });
  await made.host.start([settings('second', { use: greeter })], [], { ...NO_NEEDS, roots: ['bgp'] });
  await made.stop();
  await until('everything is let go', () => held().length <= before);
});

test('a stop during the start leaves nothing running', async () => {
  const made = makeWorld({ configFolder: root });
  const started = made.host.start(
    [settings('sh', { use: '', run: 'sleep 60' }), settings('one', { use: greeter })],
    [],
    NO_NEEDS,
  );
  await until('the child is there', () => made.state('sh') === 'starting');
  await made.stop();
  await started;
  assert.deepEqual(
    made.host.list().map((row) => [row.state, row.pid]),
    [
      ['stopped', undefined],
      ['stopped', undefined],
    ],
  );
});
