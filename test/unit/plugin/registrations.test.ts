// What is registered is declared, and each callback finds its own handler.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { definePlugin, Plugin, type PluginDefinition } from '../../../sdk/plugin/index.ts';
import { pipePair } from '../../../sdk/rpc/index.ts';
import { EngineLink } from '../../../sdk/testing/index.ts';

const awake = setInterval(() => undefined, 1000);
after(() => clearInterval(awake));

const provider = definePlugin({
  name: 'provider',
  declaration: { filters: [{ name: 'no-long-paths', direction: 'both', 'on-error': 'accept' }] },
  setup(engine) {
    engine.filter({ name: 'no-long-paths', direction: 'import' }, (input) => (input.update.length > 20 ? 'reject' : 'accept'));
    engine.filter({ name: 'lower', direction: 'export', attributes: ['med'] }, () => ({ action: 'modify', update: 'med 1' }));
    engine.doctorCheck({ name: 'disk', phase: 'post-config', codes: ['doctor-disk'] }, () => [
      { code: 'doctor-disk', severity: 'warning', message: 'nearly full' },
    ]);
    engine.doctorCheck({ name: 'fine', phase: 'pre-config', codes: ['doctor-fine'] }, () => undefined);
    engine.enricher({ command: 'show peer', key: 'provider' }, (input) => ({ mode: input.mode }));
    engine.command('provider show', { shape: 'map', columns: ['x', 'y'] }, () => [{ x: 1, y: 2 }]);
    engine.command('provider later', { shape: 'tab', columns: ['x'] }, () => Promise.resolve([[1], [2]]));
    engine.pipe({ command: 'provider show', name: 'few', expansion: 'count' });
    engine.onValidateOpen((input) => ({ accept: input.peer !== 'bad' }));
    engine.onConfigVerify(() => {
      throw new Error('no such colour');
    });
    engine.onConfigApply(() => undefined);
    const undone: string[] = [];
    engine.onConfigRollback((input) => void undone.push(input['transaction-id']));
    engine.onConfigCommitted(() => void undone.push('kept'));
    engine.command('provider undone', () => undone);
  },
});

const declared = {
  filters: [
    { name: 'no-long-paths', direction: 'both', 'on-error': 'accept' },
    { name: 'lower', direction: 'export', attributes: ['med'] },
  ],
  commands: [
    { shape: 'map', columns: ['x', 'y'], name: 'provider show' },
    { shape: 'tab', columns: ['x'], name: 'provider later' },
    { name: 'provider undone' },
  ],
  'doctor-checks': [
    { name: 'disk', phase: 'post-config', codes: ['doctor-disk'] },
    { name: 'fine', phase: 'pre-config', codes: ['doctor-fine'] },
  ],
  enrichers: [{ command: 'show peer', key: 'provider' }],
  pipes: [{ command: 'provider show', name: 'few', expansion: 'count' }],
  'wants-validate-open': true,
};

async function started(definition: PluginDefinition): Promise<{ host: EngineLink; run: Promise<void>; registration: unknown }> {
  const [near, far] = pipePair();
  const run = definition.run({ conn: near });
  const host = new EngineLink(far);
  const { registration } = await host.start();
  return { host, run, registration };
}

test('the declaration follows from the registrations, in query mode too', async () => {
  assert.deepEqual(await provider.describe(), declared);
  const { host, run, registration } = await started(provider);
  assert.deepEqual(registration, declared);
  await host.bye();
  await run;
});

const calls: readonly (readonly [method: string, input: object, answer: object])[] = [
  ['filter-update', { filter: 'no-long-paths', update: 'short' }, { action: 'accept' }],
  ['filter-update', { filter: 'no-long-paths', update: 'as-path 1 2 3 4 5 6 7 8 9 10' }, { action: 'reject' }],
  ['filter-update', { filter: 'lower' }, { action: 'modify', update: 'med 1' }],
  ['doctor-check', { name: 'disk' }, { diagnostics: [{ code: 'doctor-disk', severity: 'warning', message: 'nearly full' }] }],
  ['doctor-check', { name: 'fine' }, { diagnostics: [] }],
  ['enrich-show', { command: 'Show  Peer', key: 'provider', mode: 'brief', base: {} }, { data: { mode: 'brief' } }],
  ['validate-open', { peer: 'bad' }, { accept: false }],
  ['validate-open', { peer: 'good' }, { accept: true }],
  ['config-verify', { sections: [] }, { status: 'error', error: 'no such colour' }],
  ['config-apply', { sections: [] }, { status: 'ok' }],
];

test('each callback reaches the handler of its name', async () => {
  const { host, run } = await started(provider);
  for (const [method, input, answer] of calls) {
    const text = (await host.mux.callRaw(`ze-plugin-callback:${method}`, JSON.stringify(input))).toString();
    assert.deepEqual(JSON.parse(text), answer, `${method} ${JSON.stringify(input)}`);
  }
  for (const [method, input, message] of [
    ['filter-update', { filter: 'none' }, /no such filter: none/],
    ['doctor-check', { name: 'none' }, /no such doctor check: none/],
    ['enrich-show', { command: 'show peer', key: 'none', mode: 'brief', base: {} }, /no such enricher/],
  ] as const) {
    await assert.rejects(host.mux.callRaw(`ze-plugin-callback:${method}`, JSON.stringify(input)), message);
  }
  const ask = (command: string) =>
    host.mux.dispatchAnswer('ze-plugin-callback:execute-command', { serial: '', command }).collapse();
  assert.deepEqual((await ask('provider later')).data, [{ x: 1 }, { x: 2 }]);
  await host.mux.call('ze-plugin-callback:config-rollback', { 'transaction-id': 't1' });
  await host.mux.call('ze-plugin-callback:config-committed', { 'transaction-id': 't2' });
  assert.deepEqual((await ask('provider undone')).data, ['t1', 'kept']);
  await host.bye();
  await run;
});

test('a name is registered once', () => {
  const twice = definePlugin({
    name: 'twice',
    setup(engine) {
      engine.command('a b', () => 1);
      engine.command('A  b', () => 2);
    },
  });
  return assert.rejects(twice.describe(), /command "A {2}b" is registered already/);
});

test('the state store takes and gives bytes', async () => {
  const kept = new Map<string, string>();
  const [near, far] = pipePair();
  const results: unknown[] = [];
  const run = definePlugin({
    name: 'keeper',
    setup(engine) {
      engine.onStarted(async () => {
        const { state } = engine;
        results.push(await state.get('meta/none'), await state.getText('meta/none'));
        await state.put('meta/a', Uint8Array.of(0, 255, 10));
        await state.put('meta/t', 'grüße');
        results.push([...((await state.get('meta/a')) ?? [])], await state.getText('meta/t'), await state.list('meta/'));
        results.push(await state.remove('meta/a'), await state.remove('meta/a'), await state.increment('meta/n'));
        for (const attempt of [
          () => state.put('meta/big', new Uint8Array(1024 * 1024 + 1)),
          () => state.get('other/key'),
          () => state.get('meta/broken'),
        ]) {
          results.push(await attempt().catch((error: unknown) => [(error as { code: string }).code, String(error)]));
        }
        await state.put('meta/big', new Uint8Array(1024 * 1024));
      });
      engine.onEvent({ events: ['state'] }, () => undefined);
    },
  }).run({ conn: near });
  const host = new EngineLink(far);
  host.mux.serve('ze-plugin-engine:state-get', ({ key }) => {
    if (key === 'meta/broken') return { status: 'corrupt', message: 'bad checksum' };
    const data = kept.get(key);
    return data === undefined ? { status: 'absent' } : { status: 'ok', data };
  });
  host.mux.serve('ze-plugin-engine:state-put', ({ key, data }) => {
    kept.set(key, data);
    return { status: 'ok' };
  });
  host.mux.serve('ze-plugin-engine:state-remove', ({ key }) => ({ status: kept.delete(key) ? 'ok' : 'absent' }));
  host.mux.serve('ze-plugin-engine:state-list', () => ({ status: 'ok', keys: [...kept.keys()] }));
  host.mux.serve('ze-plugin-engine:state-increment', () => ({ status: 'ok', value: 41 }));
  await host.start();
  await host.mux.call('ze-plugin-callback:deliver-event', { event: '' });
  await host.bye();
  await run;
  assert.deepEqual(results, [
    undefined,
    undefined,
    [0, 255, 10],
    'grüße',
    ['meta/a', 'meta/t'],
    true,
    false,
    41,
    ['too-large', 'RpcError: a stored value has at most 1048576 bytes, not 1048577'],
    ['invalid-params', 'RpcError: not a key of the state store: "other/key"'],
    ['corrupt', 'RpcError: state get meta/broken: bad checksum'],
  ]);
});

test('withIo runs over two streams', async () => {
  const [near, far] = pipePair();
  const plugin = Plugin.withIo('two', near, near);
  const run = plugin.run({});
  const host = new EngineLink(far);
  await host.start();
  await host.bye();
  await run;
  assert.equal(plugin.name, 'two');
});
