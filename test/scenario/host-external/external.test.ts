// External plugins as child processes over TLS: their lives, deaths and misdeeds (plugin-lifecycle §6, §7; hostile-inputs H56, H57).
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import { RpcError } from '../../../sdk/rpc/errors.ts';
import { compiledChild } from '../../unit/host/compiled-child.ts';
import { goodPlugin, makeWorld, NO_NEEDS, settings, until, type World } from '../../unit/host/support.ts';

const folder = mkdtempSync(join(tmpdir(), 'zest-host-'));
const CHILD = compiledChild(folder);
after(() => rmSync(folder, { recursive: true, force: true }));

const before = process.getActiveResourcesInfo().filter((kind) => /TCP|TLS|Process|Pipe|Message/.test(kind)).length;
let world: World | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
  const held = (): string[] => process.getActiveResourcesInfo().filter((kind) => /TCP|TLS|Process|Pipe|Message/.test(kind));
  await until('sockets and processes are let go', () => held().length <= before);
});

const child = (name: string, words: string, more: Parameters<typeof settings>[1] = {}) =>
  settings(name, { use: '', run: `exec node ${CHILD} ${words}`, timeoutMs: 20_000, ...more });

/** A neighbour in process, which nothing that the other does may touch. */
function good(): ReturnType<typeof settings> {
  goodPlugin('good');
  return settings('good');
}

async function startWith(
  plugins: readonly ReturnType<typeof settings>[],
  overrides: Parameters<typeof makeWorld>[0] = {},
): Promise<World> {
  world = makeWorld({
    configFolder: folder,
    environment: { PATH: process.env['PATH'], ZE_PLUGIN_MODE: 'declare', 'ze.plugin.name': 'wrong' },
    ...overrides,
  });
  assert.deepEqual(await world.host.start(plugins, [], NO_NEEDS), { ok: true });
  return world;
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test('an external plugin runs, answers a command, gets events, and leaves at bye', async () => {
  const made = await startWith([child('one', '')]);
  const row = made.host.list()[0];
  assert.deepEqual(
    [row?.state, row?.kind, row?.placement, row?.stage, row?.commands],
    ['running', 'external', 'process', 'running', 1],
  );
  assert(row?.pid !== undefined && isAlive(row.pid));
  const answer = await made.host.execute('one', { command: 'one ping' }, new AbortController().signal).collapse();
  assert.deepEqual(answer, { status: 'done', data: 'pong' });
  assert.deepEqual(made.bus.emit({ namespace: 'system', type: 'clock-synced', text: '{}' }, 'engine'), {
    ok: true,
    delivered: 1,
  });
  await until(
    'the event is acknowledged',
    () => (made.host.list()[0]?.events ?? 0) === 1 && made.host.list()[0]?.queueBatches === 0,
  );
  await until('stderr is relayed', () => made.log.some((line) => line.message === 'plugin stderr' && line.level === 'warn'));
  assert.deepEqual(
    made.log.filter((line) => line.message === 'plugin stderr').map((line) => [line.level, line.fields]),
    [
      ['info', { plugin: 'one', line: 'level=info msg=ready' }],
      ['warn', { plugin: 'one', line: 'plain words' }],
    ],
  );
  await made.stop();
  assert(!isAlive(row.pid));
  assert.equal(made.state('one'), 'stopped');
  assert.deepEqual(made.codes('one'), []);
});

for (const stage of [1, 2, 3, 4, 5]) {
  test(`a plugin killed in stage ${stage} fails alone`, async () => {
    const made = await startWith([good(), child('bad', `die=${stage}`)]);
    assert.deepEqual(made.codes('bad'), ['plugin-crash']);
    assert.match(made.host.list().find((row) => row.name === 'bad')?.lastError ?? '', /process ended by SIGKILL/);
    assert.equal(made.state('good'), 'running');
    assert.deepEqual([...made.commands.active.keys()], ['good']);
  });
}

const misdeeds: readonly { what: string; words: string; code: string; text: RegExp; timeoutMs?: number }[] = [
  { what: 'rubbish', words: 'die=3 how=rubbish', code: 'plugin-protocol', text: /unreadable lines in a row/ },
  { what: '101 bad lines', words: 'die=2 how=bad-lines', code: 'plugin-protocol', text: /101 unreadable lines/ },
  { what: 'a line of 20 MB', words: 'die=3 how=long-line', code: 'plugin-protocol', text: /unreadable stream/ },
  { what: 'half a line and the end', words: 'die=5 how=half-line', code: 'plugin-crash', text: /./ },
  {
    what: 'silence',
    words: 'die=3 how=silent',
    code: 'plugin-stage-timeout',
    text: /stage 3 .*no progress for 5000 ms/,
    timeoutMs: 5000,
  },
  { what: 'exit 0', words: 'die=4 how=exit', code: 'plugin-crash', text: /exited with code 0/ },
  {
    what: 'exit before it connects',
    words: 'how=exit-early',
    code: 'plugin-start',
    text: /exited with code 7 before it connected/,
  },
];

for (const row of misdeeds) {
  test(`${row.what} fails that plugin alone`, async () => {
    const made = await startWith([
      good(),
      child('bad', row.words, row.timeoutMs === undefined ? {} : { timeoutMs: row.timeoutMs }),
    ]);
    assert.deepEqual(made.codes('bad'), [row.code]);
    assert.match(made.host.list().find((one) => one.name === 'bad')?.lastError ?? '', row.text);
    assert.equal(made.state('good'), 'running');
    assert.equal(made.state('bad'), 'failed');
    assert(made.reports.some((report) => report.code === 'plugin-down' && report.subject === 'bad' && report.clear !== true));
  });
}

test('a wrong token is refused and reported; the plugin never connects', async () => {
  const made = await startWith([child('bad', 'how=wrong-token')]);
  assert.deepEqual(made.codes('bad'), ['plugin-auth', 'plugin-start']);
});

test('a command that cannot be run fails the start of that plugin', async () => {
  const made = await startWith([settings('none', { use: '', run: '/no/such/program' })]);
  assert.deepEqual(made.codes('none'), ['plugin-start']);
});

test('what a dead plugin forked dies with it', async () => {
  const made = await startWith([child('bad', 'die=6 how=fork')]);
  const group = made.host.list()[0]?.pid;
  await until('the plugin is down', () => made.state('bad') === 'failed');
  if (group !== undefined) await until('the group is gone', () => !isAlive(-group));
  assert.deepEqual(made.codes('bad'), ['plugin-crash']);
});

test('a plugin of policy restart comes back with the same token, until its bound', async () => {
  const log = join(folder, 'restarts');
  const made = await startWith([child('phoenix', `die=6 policy=restart log=${log}`)]);
  await until('it is disabled', () => made.state('phoenix') === 'disabled', 60_000);
  assert.equal(
    readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('start')).length,
    6,
  );
  assert.deepEqual(made.codes('phoenix'), Array<string>(6).fill('plugin-crash'));
  assert.match(
    made.reports.filter((report) => report.code === 'plugin-down').at(-1)?.message ?? '',
    /disabled after 5 restarts in 60 s/,
  );
  assert.equal(made.host.list()[0]?.restarts, 5);
});

test('a plugin of policy fatal that dies ends the daemon, once it runs', async () => {
  const made = await startWith([child('vital', 'policy=fatal')]);
  const pid = made.host.list()[0]?.pid;
  assert(pid !== undefined);
  process.kill(pid, 'SIGKILL');
  await until('the daemon is told', () => made.fatal.length === 1);
  assert.match(made.fatal[0] ?? '', /^vital: .*SIGKILL/);
});

test('a plugin of policy fatal that fails at the start refuses the start', async () => {
  world = makeWorld({ configFolder: folder });
  const outcome = await world.host.start([good(), child('vital', 'policy=fatal die=3')], [], NO_NEEDS);
  assert(!outcome.ok);
  assert.deepEqual([outcome.kind, outcome.plugin], ['fatal', 'vital']);
  assert.deepEqual(
    world.host.list().map((row) => row.pid),
    [undefined, undefined],
  );
});

test('a pending command fails at once when the plugin dies, and later ones are refused', async () => {
  const made = await startWith([child('one', 'how=mute')]);
  const reader = made.host.execute('one', { command: 'one ping' }, new AbortController().signal);
  const pid = made.host.list()[0]?.pid;
  assert(pid !== undefined);
  process.kill(pid, 'SIGKILL');
  await assert.rejects(reader.collapse(), (error) => error instanceof RpcError && error.code === 'closed');
  await until('it is down', () => made.state('one') === 'failed');
  await assert.rejects(
    made.host.execute('one', { command: 'one ping' }, new AbortController().signal).collapse(),
    /plugin process not running/,
  );
  assert.deepEqual([...made.commands.active.keys()], []);
});

test('a plugin that does not acknowledge events in time has failed', async () => {
  const made = await startWith([child('one', 'how=deaf')], { deliveryTimeoutMs: 200 });
  made.bus.emit({ namespace: 'system', type: 'clock-synced', text: '{}' }, 'engine');
  await until('it is down', () => made.state('one') === 'failed', 30_000);
  assert.deepEqual(made.codes('one'), ['plugin-silent']);
});

test('a plugin that ignores bye and the end of its connection is killed after its grace', async () => {
  const made = await startWith([child('one', 'how=linger')]);
  const pid = made.host.list()[0]?.pid;
  assert(pid !== undefined);
  await made.stop();
  assert(!isAlive(pid));
});

test('a hundred lines of stderr in a breath are relayed, thousands are counted', async () => {
  world = makeWorld({ configFolder: folder });
  await world.host.start(
    [settings('loud', { use: '', run: 'i=0; while [ $i -lt 1500 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 3' })],
    [],
    NO_NEEDS,
  );
  const made = world;
  await until('the rest is counted', () => made.log.some((line) => line.message === 'plugin stderr lines left out'));
  assert(made.log.filter((line) => line.message === 'plugin stderr').length <= 1000);
});

test('children die with the daemon, however it ends', async () => {
  const spawnModule = pathToFileURL(join(import.meta.dirname, '../../../engine/host/external/spawn.ts')).href;
  const code = `
    import { Child } from ${JSON.stringify(spawnModule)};
    const { silentLog } = await import(${JSON.stringify(spawnModule.replace('host/external/spawn', 'core/log'))});
    const { systemClock } = await import(${JSON.stringify(spawnModule.replace('host/external/spawn', 'core/clock'))});
    const child = new Child({ command: { file: '/bin/sh', args: ['-c', 'sleep 600 & wait'] }, cwd: '/', env: process.env, log: silentLog, relayLevel: 'off', clock: systemClock });
    process.stdout.write(String(child.pid));
    setTimeout(() => { throw new Error('the daemon dies'); }, 50);
  `;
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const daemon = spawn(process.execPath, ['--import', loader, '--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let pid = '';
  daemon.stdout.on('data', (bytes: Buffer) => (pid += bytes.toString()));
  await new Promise((resolve) => daemon.once('close', resolve));
  assert(Number(pid) > 1);
  await until('the group is gone', () => !isAlive(-Number(pid)), 30_000);
});
