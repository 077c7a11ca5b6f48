// External plugins over a real TLS hub: the SDK itself, and the examples as processes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test from 'node:test';
import type { BridgeHandlers } from '../../../sdk/plugin/bridge.ts';
import { Plugin, type PluginDefinition, runOrDeclare, STRUCTURED_KIND, type StructuredBatch } from '../../../sdk/plugin/index.ts';
import { AnswerReader } from '../../../sdk/rpc/index.ts';
import { duplexPair, until } from '../../support/duplex-pair.ts';
import { EngineLink, TestHub } from '../../../sdk/testing/index.ts';

const root = resolve(import.meta.dirname, '../../..');
const example = (path: string): string => join(root, 'examples', path);
const python = spawnSync('python3', ['--version']).status === 0;
const built = existsSync(join(root, 'dist/sdk/plugin/index.js'));
const update = (nlri: object): string =>
  JSON.stringify({ type: 'bgp', bgp: { message: { type: 'update', id: 1 }, peer: {}, update: { nlri } } });
const state = (name: string, up: boolean): string =>
  JSON.stringify({
    type: 'bgp',
    bgp: { message: { type: 'state' }, peer: { name, remote: { address: '192.0.2.1', as: 1 } }, state: up ? 'up' : 'down' },
  });

test('fromEnv connects, runs, and ends with the link', async () => {
  await using hub = await TestHub.open();
  const environment = hub.environment('outside');
  const plugin = Plugin.fromEnv('program', { environment, linger: true });
  assert.equal(plugin.name, 'outside');
  assert.equal(plugin.isInternal, false);
  assert.equal(environment['ZE_PLUGIN_HUB_TOKEN'], undefined);
  plugin.onExecuteCommand(() => ({ text: 'x'.repeat(100_000) }));
  const accepted = hub.accept('outside');
  const code = runOrDeclare({}, () => plugin.run({}).then(() => undefined), { environment });
  const engine = new EngineLink(await accepted);
  await engine.start();
  const answer = await engine.mux.dispatchAnswer('ze-plugin-callback:execute-command', { serial: '', command: 'x' }).collapse();
  assert.equal((answer.data as { text: string }).text.length, 100_000);
  await engine.mux.close();
  assert.equal(await code, 0);
});

test('SIGTERM ends an external plugin', async () => {
  await using hub = await TestHub.open();
  const plugin = Plugin.fromEnv('program', { environment: hub.environment('sig'), linger: true });
  const accepted = hub.accept('sig');
  const run = plugin.run({});
  const engine = new EngineLink(await accepted);
  await engine.start();
  process.kill(process.pid, 'SIGTERM');
  await run;
  assert.equal(await engine.mux.closed, undefined);
});

test('a hub that refuses is a failed run', async () => {
  await using hub = await TestHub.open();
  const environment = { ...hub.environment('liar'), ZE_PLUGIN_HUB_TOKEN: 'wrong' };
  await assert.rejects(Plugin.fromEnv('x', { environment, linger: true }).run({}), /auth failed/);
});

interface Twin {
  readonly name: string;
  readonly prefix: string;
  readonly command: readonly [string, ...string[]];
  readonly skip: string | false;
}
const twins: readonly Twin[] = [
  {
    name: 'watch-updates-ts',
    prefix: 'watch',
    command: [process.execPath, '--import', 'tsx', example('watch-updates-ts/plugin.ts')],
    skip: built ? false : 'dist is not built',
  },
  {
    name: 'watch-updates-py',
    prefix: 'pywatch',
    command: ['python3', example('watch-updates-py/plugin.py')],
    skip: python ? false : 'no python3',
  },
];

for (const { name, prefix, command, skip } of twins) {
  test(`examples/${name} answers its commands and ends with a goodbye`, { skip }, async () => {
    await using hub = await TestHub.open();
    const { stream, exit, stderr } = await hub.start(prefix, command);
    const engine = new EngineLink(stream);
    const { mux } = engine;
    const routes: unknown[] = [];
    mux.serve('ze-plugin-engine:update-route', (input) => {
      if (input.command.includes('203.0.113.')) throw new Error('no peer accepts it');
      routes.push([input['peer-selector'], input.command]);
      return { announced: 1, withdrawn: 0, 'peers-affected': 2, 'routes-sent': 2 };
    });
    const { registration, ready } = await engine.start();
    assert.equal(registration['failure-policy'], 'restart');
    assert.deepEqual(
      registration.commands?.map((declared) => declared.name),
      ['status', 'rows', 'announce', 'withdraw'].map((word) => `${prefix} ${word}`),
    );
    assert.deepEqual(ready.subscribe, { events: ['update', 'state'], peers: ['*'] });

    await mux.call('ze-plugin-callback:deliver-batch', {
      events: [
        state('edge', true),
        `${state('other', true)}\n`,
        update({
          'ipv4/unicast': [
            { action: 'add', nlri: ['a', 'b'] },
            { action: 'del', nlri: ['c'] },
          ],
        }),
        state('other', false),
      ],
    });
    const ask = (word: string, ...args: string[]) =>
      mux.dispatchAnswer('ze-plugin-callback:execute-command', { serial: '', command: `${prefix} ${word}`, args });
    assert.deepEqual(await ask('status').collapse(), {
      status: 'done',
      data: { events: 4, updates: 1, announced: 2, withdrawn: 1, up: 2, down: 1, established: ['edge'] },
    });

    for (const count of [0, 1, 256, 257, 258, 3000]) {
      let n = 0;
      const answer = ask('rows', String(count));
      for await (const row of answer) assert.deepEqual(row, { n: ++n, text: `row ${n}: grüße, 世界 🛰` });
      assert.equal(n, count);
      assert.deepEqual(await answer.verdict, { outcome: 'done', produced: count, rejected: 0, message: '' });
      assert.equal((await answer.head).itemType, count > 256 ? 'map' : 'doc');
    }

    const result = (await ask('announce', '198.51.100.0/24').collapse()).data as Record<string, unknown>;
    assert.equal(result['peers-affected'], 2);
    await ask('withdraw', '2001:db8::/32').collapse();
    assert.deepEqual(routes, [
      ['*', 'update text next-hop self nlri ipv4/unicast add 198.51.100.0/24'],
      ['*', 'update text nlri ipv6/unicast del 2001:db8::/32'],
    ]);
    await assert.rejects(ask('announce', '203.0.113.0/24').collapse(), /no peer accepts it/);
    await assert.rejects(ask('announce', '10.0.0.0/8 nlri').collapse(), /needs one argument: prefix/);
    await assert.rejects(ask('rows').collapse(), /needs one argument: count/);
    await assert.rejects(mux.callRaw('ze-plugin-callback:filter-update', '{}'), { code: 'unknown-method' });

    await engine.bye();
    assert.equal(await exit, 0, stderr());
  });

  test(`examples/${name} ends when the engine goes away, and answers a declaration query`, { skip }, async () => {
    await using hub = await TestHub.open();
    const { stream, exit, stderr } = await hub.start(prefix, command);
    const engine = new EngineLink(stream);
    await engine.start();
    await engine.mux.close();
    assert.equal(await exit, 0, stderr());
    const query = spawnSync(command[0], command.slice(1), {
      env: { ...process.env, ZE_PLUGIN_MODE: 'declare' },
      encoding: 'utf8',
    });
    assert.equal(query.status, 0, query.stderr);
    assert.match(
      query.stdout,
      new RegExp(`^#1 ze-plugin-engine:declare-registration \\{"commands":\\[\\{"name":"${prefix} status".*\\}\\n$`),
    );
  });
}

test('examples/injector announces healthy groups, withdraws others, and again on state up', {
  skip: built ? false : 'dist is not built',
}, async () => {
  await using hub = await TestHub.open();
  const folder = mkdtempSync(join(tmpdir(), 'zest-injector-'));
  const down = join(folder, 'down');
  const groups = join(folder, 'groups.json');
  writeFileSync(
    groups,
    JSON.stringify({
      groups: [
        {
          name: 'web',
          check: 'true',
          intervalSeconds: 600,
          attributes: { nextHop: 'self' },
          prefixes: ['198.51.100.0/24', '2001:db8::/48'],
        },
        {
          name: 'dns',
          check: `test ! -e ${down}`,
          intervalSeconds: 600,
          attributes: { nextHop: 'self', med: 10 },
          prefixes: ['203.0.113.53/32'],
        },
      ],
    }),
  );
  try {
    const command = [process.execPath, '--import', 'tsx', example('injector/plugin.ts'), groups] as const;
    const { stream, exit, stderr } = await hub.start('injector', command);
    const engine = new EngineLink(stream);
    const routes: string[] = [];
    engine.mux.serve('ze-plugin-engine:update-route', (input) => {
      routes.push(`${input['peer-selector'] ?? ''} ${input.command}`);
      return { announced: 1, withdrawn: 0, 'peers-affected': 1, 'routes-sent': 1 };
    });
    const { registration } = await engine.start();
    assert.deepEqual(
      registration.commands?.map((declared) => declared.name),
      ['injector status', 'injector check'],
    );
    const web = [
      'update text next-hop self nlri ipv4/unicast add 198.51.100.0/24',
      'update text next-hop self nlri ipv6/unicast add 2001:db8::/48',
    ];
    const dns = 'update text next-hop self med 10 nlri ipv4/unicast add 203.0.113.53/32';
    await until(() => routes.length === 3, 'both groups');
    assert.deepEqual(
      routes.splice(0).sort(),
      [dns, ...web].map((text) => `* ${text}`),
    );

    writeFileSync(down, '');
    const ask = async (name: string): Promise<unknown> =>
      (
        await engine.mux
          .dispatchAnswer('ze-plugin-callback:execute-command', { serial: '', command: `injector ${name}` })
          .collapse()
      ).data;
    assert.deepEqual(await ask('check'), { web: 'healthy', dns: 'exit code 1' });
    assert.deepEqual(routes, [], 'one failure is borne');
    assert.deepEqual(await ask('check'), { web: 'healthy', dns: 'exit code 1' });
    await until(() => routes.length === 1, 'the withdraw');
    assert.deepEqual(routes.splice(0), ['* update text nlri ipv4/unicast del 203.0.113.53/32']);
    assert.deepEqual(await ask('status'), [
      { group: 'web', announced: true, prefixes: 2, checks: 3, failures: 0, result: 'healthy' },
      { group: 'dns', announced: false, prefixes: 1, checks: 3, failures: 2, result: 'exit code 1' },
    ]);

    await engine.mux.call('ze-plugin-callback:deliver-batch', { events: [state('edge', true)] });
    await until(() => routes.length === 2, 'the routes for the new session');
    assert.deepEqual(
      routes.splice(0).sort(),
      web.map((text) => `edge ${text}`),
    );

    await engine.mux.close();
    assert.equal(await exit, 0, stderr());
    assert.match(stderr(), /"level":"info","plugin":"injector","msg":"group changed","group":"web"/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('examples/update-count counts by peer, grows with them, and resets', {
  skip: built ? false : 'dist is not built',
}, async () => {
  const module = (await import('../../../examples/update-count/index.ts')) as { readonly default: PluginDefinition };
  const [left, right] = duplexPair();
  let handlers: BridgeHandlers | undefined;
  const run = module.default.run({
    conn: left,
    bridge: {
      attach: (given) => (handlers = given),
      call: () => Promise.reject(new Error('no call expected')),
      dispatch: () => new AnswerReader(Promise.reject(new Error('no call expected'))),
      close: () => undefined,
      routes: undefined,
    },
  });
  const { registration } = await new EngineLink(right).start();
  assert.deepEqual(
    registration.commands?.map((declared) => declared.name),
    ['update-count show', 'update-count reset'],
  );
  await until(() => handlers !== undefined, 'the bridge');
  const attached = handlers!;
  const peers = [3, 3, 200];
  const batch: StructuredBatch = {
    count: peers.length,
    kind: () => STRUCTURED_KIND.update,
    peer: (row) => peers[row] ?? 0,
    direction: () => 1,
    messageId: () => 0,
    bytes: new Uint8Array(0),
    view: new DataView(new ArrayBuffer(0)),
    at: () => 0,
    length: () => 4,
    asn4: () => true,
    addPath: () => false,
    up: () => false,
    reason: () => '',
    initialReplay: () => 0,
    unheldRoles: () => [],
    peers: {
      capacity: 201,
      name: (peer) => `peer-${peer}`,
      address: (peer) => `192.0.2.${peer}`,
      remoteAs: () => 0,
      localAs: () => 0,
      group: () => '',
    },
  };
  attached.structured?.(batch);
  const { signal } = new AbortController();
  const ask = async (command: string): Promise<unknown> =>
    (await new AnswerReader(attached.execute({ serial: '', command }, signal)).collapse()).data;
  assert.deepEqual(await ask('update-count show'), [
    { peer: 'peer-3', address: '192.0.2.3', updates: 2, bytes: 46 },
    { peer: 'peer-200', address: '192.0.2.200', updates: 1, bytes: 23 },
  ]);
  assert.deepEqual(await ask('update-count reset'), { reset: true });
  assert.deepEqual(await ask('update-count show'), []);
  await attached.callback('ze-plugin-callback:bye', {}, signal);
  await run;
});
