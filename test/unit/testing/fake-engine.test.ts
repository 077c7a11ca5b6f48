import assert from 'node:assert/strict';
import test from 'node:test';
import { definePlugin, Plugin, records, RouteSender } from '../../../sdk/plugin/index.ts';
import { events, FakeEngine, type PluginUnderTest } from '../../../sdk/testing/index.ts';

/** Uses most of what a plugin can. */
const sample = definePlugin({
  name: 'sample',
  roots: ['bgp/peer', 'sample'],
  setup(engine) {
    const seen: string[] = [];
    let config = '';
    engine.onConfigure(({ sections, claims }) => {
      config = JSON.stringify({ sections, claims });
    });
    engine.plugin.setCapabilities([{ code: 64, encoding: 'hex', payload: '0078' }]);
    engine.onState((peer, up, reason) => seen.push(`${engine.peers.name(peer)} ${up ? 'up' : `down ${reason}`}`));
    engine.onUpdates((batch) => {
      for (let row = 0; row < batch.count; row++) {
        const bytes = Buffer.from(batch.bytes.subarray(batch.at(row), batch.at(row) + batch.length(row)));
        seen.push(`${engine.peers.name(batch.peer(row))} update ${bytes.toString('hex')}`);
      }
    });
    engine.onEvent({ events: ['eor'] }, (text) => {
      if (text.includes('multicast')) throw new Error('no multicast here');
      seen.push('eor');
    });
    engine.command('sample seen', () => seen);
    engine.command('sample config', () => ({ config }));
    engine.command('sample rows', function* (input, signal) {
      for (let n = 1; n <= Number(input.args?.[0]) && !signal.aborted; n++) yield { n, peer: input.peer };
    });
    engine.command('sample table', () => records([[1, 2]], { columns: ['a', 'b'] }));
    engine.command('sample fail', () => {
      throw new Error('as told');
    });
    engine.command('sample announce', async (input) => {
      const routes = new RouteSender(engine);
      for (const prefix of input.args ?? []) routes.announce('ipv4/unicast', prefix, { nextHop: 'self' });
      return routes.finish();
    });
    engine.command('sample ask', async (input, signal) => engine.dispatchCommand((input.args ?? []).join(' '), signal));
    engine.filter({ name: 'even', direction: 'import' }, (input) => (input['peer-as'] % 2 === 0 ? 'accept' : 'reject'));
    engine.onStarted(() => engine.log.info({ n: 1 }, 'started'));
  },
});

for (const inProcess of [false, true]) {
  const where = inProcess ? 'in the process, over the bridge' : 'outside, over the pipe';

  test(`a plugin ${where} is started, told events and asked`, async () => {
    await using engine = await FakeEngine.start(sample, {
      inProcess,
      config: { 'bgp/peer': { edge: { asn: 65_001 } }, sample: { colour: 'blue' } },
      claims: ['a-role'],
    });
    assert.deepEqual(engine.registration.filters, [{ name: 'even', direction: 'import' }]);
    assert.deepEqual(engine.capabilities, [{ code: 64, encoding: 'hex', payload: '0078' }]);
    assert.equal(engine.ready.transport, inProcess ? 'bridge' : undefined);
    await engine.up('edge');
    await engine.update('edge', {
      announce: { 'ipv4/unicast': ['203.0.113.0/24'] },
      withdraw: { 'ipv4/unicast': ['198.51.100.0/25'] },
    });
    await engine.endOfRib('edge');
    await assert.rejects(engine.endOfRib('edge', 'ipv4/multicast'), /no multicast here/);
    await engine.down('edge');
    assert.deepEqual((await engine.execute('sample seen')).data, [
      'edge up',
      'edge update 000519c633640000144001010040020602010000fde9400304c000020118cb0071',
      'eor',
      'edge down tcp-failure',
    ]);
    assert.deepEqual((await engine.execute('sample config')).data, {
      config: JSON.stringify({
        sections: [
          { root: 'bgp/peer', data: '{"bgp":{"peer":{"edge":{"asn":65001}}}}' },
          { root: 'sample', data: '{"sample":{"colour":"blue"}}' },
        ],
        claims: ['a-role'],
      }),
    });
    assert.deepEqual(engine.logged, [{ level: 'info', fields: { n: 1 }, message: 'started' }]);
  });

  test(`commands of a plugin ${where} answer with rows, verdicts and errors`, async () => {
    await using engine = await FakeEngine.start(sample, { inProcess });
    const rows = await engine.execute('sample rows 3', { peer: 'edge' });
    assert.deepEqual(rows.rows, [
      { n: 1, peer: 'edge' },
      { n: 2, peer: 'edge' },
      { n: 3, peer: 'edge' },
    ]);
    assert.deepEqual(rows.verdict, { outcome: 'done', produced: 3, rejected: 0, message: '' });
    assert.deepEqual((await engine.execute('sample table')).data, [{ a: 1, b: 2 }]);
    await assert.rejects(engine.execute('sample fail'), /as told/);
    await assert.rejects(
      engine.execute('sample nothing'),
      /declares no command that "sample nothing" begins with; it declares: sample seen/,
    );
    let count = 0;
    const reader = engine.read('sample rows 100000');
    for await (const row of reader) {
      assert.ok(row);
      if (++count === 5) break;
    }
    assert.equal((await reader.verdict).outcome, 'aborted');
  });

  test(`calls of a plugin ${where} are kept and answered`, async () => {
    await using engine = await FakeEngine.start(sample, { inProcess });
    await engine.up('a');
    await engine.up('b');
    const sent = (await engine.execute('sample announce 192.0.2.0/24 198.51.100.0/24')).data;
    assert.deepEqual(sent, { announced: 2, withdrawn: 0, routesSent: 4, failed: 0, faults: [] });
    assert.deepEqual(engine.routes, [
      { selector: '*', command: 'update text next-hop self nlri ipv4/unicast add 192.0.2.0/24 198.51.100.0/24', meta: undefined },
    ]);
    assert.equal((await engine.called('update-route')).command, engine.routes[0]?.command);
    engine.answer('update-route', () => {
      throw new Error('no peer takes it');
    });
    assert.equal(((await engine.execute('sample announce 192.0.2.0/24')).data as { failed: number }).failed, 1);
    await assert.rejects(engine.execute('sample ask rib status'), /unknown command: rib status/);
    engine.answerCommand('rib', (_command, args) => ({ asked: args }));
    assert.deepEqual((await engine.execute('sample ask rib status')).data, { status: 'done', data: { asked: ['status'] } });
    assert.deepEqual(
      engine.calls.map((call) => call.method),
      ['update-route', 'update-route', 'dispatch-command', 'dispatch-command'],
    );
  });

  test(`any callback of a plugin ${where} can be called`, async () => {
    await using engine = await FakeEngine.start(sample, { inProcess });
    const input = { filter: 'even', direction: 'import', peer: '192.0.2.1', update: '' } as const;
    assert.deepEqual(await engine.call('filter-update', { ...input, 'peer-as': 65_002 }), { action: 'accept' });
    assert.deepEqual(await engine.call('filter-update', { ...input, 'peer-as': 65_001 }), { action: 'reject' });
    assert.deepEqual(await engine.call('doctor-check', { name: 'x' }), { diagnostics: [] });
    await assert.rejects(engine.call('decode-nlri', { family: 'x/y', hex: '' }), { code: 'unknown-method' });
    await engine.allPluginsReady();
    await engine.bye('restart');
    await engine.ended;
  });
}

const formats: readonly (readonly [format: string | undefined, shows: object])[] = [
  [
    undefined,
    {
      message: { type: 'update', id: 7, direction: 'received' },
      update: {
        attr: { origin: 'igp', 'as-path': [65_001], 'next-hop': '192.0.2.9', communities: ['65001:1'] },
        nlri: {
          'ipv4/unicast': [
            { 'next-hop': '192.0.2.9', action: 'add', nlri: ['203.0.113.0/24'] },
            { action: 'del', nlri: ['198.51.100.0/24'] },
          ],
          'ipv6/unicast': [{ 'next-hop': '2001:db8::1', action: 'add', nlri: [{ prefix: '2001:db8:1::/48', 'path-id': 5 }] }],
        },
      },
    },
  ],
  [
    'summary',
    {
      message: { type: 'update', id: 7, direction: 'received' },
      nlri: { announce: true, withdrawn: true, 'mp-reach': 'ipv6/unicast', 'mp-unreach': '' },
    },
  ],
];
for (const [format, shows] of formats) {
  test(`an update in the format ${format ?? 'that is usual'}`, async () => {
    let text = '';
    const plugin = definePlugin({
      name: 'texts',
      setup: (engine) => engine.onEvent({ events: ['update'], format }, (event) => void (text = event)),
    });
    await using engine = await FakeEngine.start(plugin);
    await engine.update(
      { name: 'edge', address: '192.0.2.9', as: 65_001, group: 'transit' },
      {
        announce: { 'ipv4/unicast': ['203.0.113.0/24'], 'ipv6/unicast': [{ prefix: '2001:db8:1::/48', pathId: 5 }] },
        withdraw: { 'ipv4/unicast': ['198.51.100.0/24'] },
        attributes: { communities: ['65001:1'] },
      },
      { id: 7, addPath: ['ipv6/unicast'] },
    );
    const { bgp, meta } = JSON.parse(text) as { bgp: { peer: unknown }; meta: unknown };
    const { peer, ...rest } = bgp;
    assert.deepEqual(peer, {
      remote: { address: '192.0.2.9', as: 65_001 },
      address: '192.0.2.9',
      local: { address: '192.0.2.254', as: 65_000 },
      name: 'edge',
      group: 'transit',
    });
    assert.deepEqual(rest, shows);
    assert.deepEqual(meta, { 'schema-version': 1, seq: 1 });
  });
}

test('what the plugin has not subscribed to is refused, by type, direction and peer', async () => {
  const plugin = definePlugin({
    name: 'choosy',
    setup: (engine) => engine.onEvent({ events: ['update direction received'], peers: ['edge'] }, () => undefined),
  });
  await using engine = await FakeEngine.start(plugin);
  await engine.update('edge', {});
  await assert.rejects(engine.up('edge'), /has not subscribed to state of edge/);
  await assert.rejects(engine.update('edge', {}, { direction: 'sent' }), /update direction sent of edge/);
  await assert.rejects(engine.update('other', {}), /update direction received of other/);
  await engine.send(events.keepalive('other'));
});

const wrong: readonly (readonly [name: string, plugin: PluginUnderTest, message: RegExp])[] = [
  [
    'refuses its configuration',
    definePlugin({
      name: 'no',
      setup: (engine) =>
        engine.onConfigure(() => {
          throw new Error('no colour');
        }),
    }),
    /stage 2 \(configure\): no colour/,
  ],
  ['never speaks', () => new Promise(() => undefined), /the five stages: nothing within 3000 ms/],
  ['ends at once', () => Promise.resolve(), /ended before it was up/],
  ['throws', () => Promise.reject(new Error('no disk')), /no disk/],
  [
    'says the wrong thing',
    (conn) => {
      conn.write('#1 ze-plugin-engine:ready {}\n');
      return new Promise(() => undefined);
    },
    /the plugin called ze-plugin-engine:ready where ze-plugin-engine:declare-registration was due/,
  ],
];
for (const [name, plugin, message] of wrong) {
  test(`a plugin that ${name}: the start says so`, () => assert.rejects(FakeEngine.start(plugin, { deadlineMs: 3000 }), message));
}

test('a Plugin is tested as a function that runs it', async () => {
  await using engine = await FakeEngine.start(async (conn) => {
    const plugin = Plugin.withConn('plain', conn);
    plugin.onExecuteCommand((input) => ({ args: input.args }));
    plugin.onStarted(async () => {
      await plugin.subscribeEvents({ events: ['state'], format: 'full' });
      await plugin.statePut('meta/x', Buffer.from('1').toString('base64'));
      await plugin
        .decodeNlri({ family: 'ipv4/flow', hex: '' })
        .catch((error: unknown) => plugin.statePut('meta/y', Buffer.from(String(error)).toString('base64')));
    });
    await plugin.run({ commands: [{ name: 'plain echo' }] });
  });
  await engine.called('state-put', 2);
  assert.equal(engine.format, 'full');
  assert.equal(engine.stored.get('meta/x')?.toString(), '1');
  assert.match(engine.stored.get('meta/y')?.toString() ?? '', /no answer to decode-nlri: give it one with engine.answer/);
  assert.deepEqual((await engine.execute('plain echo a b', { args: ['c d'] })).data, { args: ['a', 'b', 'c d'] });
  await assert.rejects(engine.called('emit-event'), /call 1 of emit-event \(there were 0\): nothing within/);
});

test('close leaves nothing behind, also after a failure, and twice', async () => {
  const before = process.getActiveResourcesInfo().length;
  for (const inProcess of [false, true]) {
    const engine = await FakeEngine.start(sample, { inProcess });
    await engine.close();
    await engine.close();
  }
  await assert.rejects(FakeEngine.start(() => Promise.reject(new Error('x'))));
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(process.getActiveResourcesInfo().length <= before, process.getActiveResourcesInfo().join());
});

test('an option that is none is refused, and those there are named', async () => {
  const options: object = { inprocess: true };
  await assert.rejects(FakeEngine.start(sample, options), {
    name: 'TypeError',
    message: 'FakeEngine has no option inprocess; it has name, config, claims, commands, inProcess, deadlineMs, trace',
  });
});
