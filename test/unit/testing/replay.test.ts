import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { definePlugin, type Engine, type PluginDefinition } from '../../../sdk/plugin/index.ts';
import { type FakeEngine, golden, readRecording, record, Recorder, replay } from '../../../sdk/testing/index.ts';

/** Withdraws a prefix when a peer goes, answers one command. `more` changes it after the recording. */
function plugin(more: { readonly prefix?: string; readonly extra?: (engine: Engine) => void } = {}): PluginDefinition {
  return definePlugin({
    name: 'sample',
    setup(engine) {
      let down = 0;
      engine.onState(async (_peer, up) => {
        if (up) return;
        down++;
        await engine.updateRoute('*', `update text nlri ipv4/unicast del ${more.prefix ?? '192.0.2.0/24'}`);
      });
      engine.command('sample status', () => ({ down }));
      more.extra?.(engine);
    },
  });
}

async function scenario(engine: FakeEngine): Promise<void> {
  await engine.up('edge');
  await engine.down('edge');
  await engine.called('update-route');
  await engine.execute('sample status');
}

test('a recording is lines in both directions that a person can read', async () => {
  const text = await record(plugin(), scenario);
  const state = (state: string): string =>
    JSON.stringify(
      `{"type":"bgp","bgp":{"message":{"type":"state"},"peer":{"remote":{"address":"192.0.2.1","as":65001},"address":"192.0.2.1","local":{"address":"192.0.2.254","as":65000},"name":"edge"},${state}`,
    );
  assert.equal(
    text,
    [
      '# zest plugin recording 1',
      '< #1 ze-plugin-engine:declare-registration {"commands":[{"name":"sample status"}]}',
      '> #1 ok',
      '> #1 ze-plugin-callback:configure {"sections":[]}',
      '< #1 ok',
      '< #2 ze-plugin-engine:declare-capabilities {"capabilities":[]}',
      '> #2 ok',
      '> #2 ze-plugin-callback:share-registry {"commands":[]}',
      '< #2 ok',
      '< #3 ze-plugin-engine:ready {"subscribe":{"events":["state"]}}',
      '> #3 ok',
      `> #3 ze-plugin-callback:deliver-batch {"events":[${state('"state":"up"},"meta":{"schema-version":1,"seq":1}}')}]}`,
      '< #3 ok',
      `> #4 ze-plugin-callback:deliver-batch {"events":[${state('"state":"down","reason":"tcp-failure"},"meta":{"schema-version":1,"seq":2}}')}]}`,
      '< #4 ze-plugin-engine:update-route {"peer-selector":"*","command":"update text nlri ipv4/unicast del 192.0.2.0/24"}',
      '> #4 ok {"announced":0,"withdrawn":1,"peers-affected":0,"routes-sent":0}',
      '< #4 ok',
      '> #5 ze-plugin-callback:execute-command {"serial":"","command":"sample status","args":[],"peer":"*"}',
      '< #5 top doc 0: 0:',
      '< #5 row 10:{"down":1}',
      '< #5 end 1 0 0:',
      '> #6 ze-plugin-callback:bye {"reason":"shutdown"}',
      '< #6 ok',
      '',
    ].join('\n'),
  );
  assert.deepEqual(await replay(plugin(), text), { same: true, difference: '' });
});

test('a plugin that says something else, less or more shows where', async () => {
  const text = await record(plugin(), scenario);
  const other = await replay(plugin({ prefix: '198.51.100.0/24' }), text);
  assert.equal(other.same, false);
  assert.match(other.difference, /^line 15: it says something else\n/);
  assert.match(other.difference, /^- < #4 ze-plugin-engine:update-route .*192\.0\.2\.0\/24"\}$/m);
  assert.match(other.difference, /^\+ < #4 ze-plugin-engine:update-route .*198\.51\.100\.0\/24"\}$/m);

  const silent = definePlugin({
    name: 'sample',
    setup: (engine) => engine.command('sample status', () => new Promise(() => undefined)),
  });
  const recorded = await record(
    definePlugin({ name: 'sample', setup: (engine) => engine.command('sample status', () => 1) }),
    (engine) => engine.execute('sample status'),
  );
  assert.match((await replay(silent, recorded, { deadlineMs: 2000 })).difference, /^line 13: nothing within 2000 ms\n/);

  const chatty = plugin({ extra: (engine) => engine.onAllPluginsReady(() => undefined) });
  const cut = text.split('\n').slice(0, -3).join('\n');
  assert.deepEqual(await replay(chatty, cut), { same: true, difference: '' });
  const more = await replay(plugin(), text.split('\n').slice(0, -4).join('\n'));
  assert.match(more.difference, /^behind the last line: it says more\n/);
  assert.match(more.difference, /^\+ < #5 end 1 0 0:$/m);
});

test('ids are of the recording, whatever the link used', async () => {
  const text = (await record(plugin(), scenario)).replaceAll(/^([<>]) #4 /gm, '$1 #4 ');
  const shifted = new Recorder();
  for (const { by, line } of readRecording(text)) {
    // Engine requests counted from 1000, as on a link that has lived for a while.
    const engines = (by === 'engine') === /^#\d+ ze-plugin/.test(line);
    shifted.fromEngine(
      by === 'plugin' ? 'in' : 'out',
      engines ? line.replace(/^#(\d+)/, (_all, id: string) => `#${Number(id) + 999}`) : line,
    );
  }
  assert.equal(shifted.text(), text);
});

test('what differs every time can be masked', async () => {
  const random = (): PluginDefinition =>
    definePlugin({
      name: 'sample',
      setup: (engine) => engine.command('sample status', () => ({ at: Math.random().toFixed(6) })),
    });
  const text = await record(random(), (engine) => engine.execute('sample status'));
  assert.equal((await replay(random(), text)).same, false);
  const mask = (line: string): string => line.replace(/"at":"[\d.]+"/, '"at":""');
  assert.equal((await replay(random(), text, { mask })).same, true);
});

test('what the plugin said by itself is marked, and its replay refused unless the test makes it happen', async () => {
  let now = 0;
  const recorder = new Recorder(() => now);
  for (const line of ['#1 ze-plugin-engine:declare-registration {}', '#2 ze-plugin-engine:emit-event {}']) {
    recorder.fromPlugin('out', line);
    now += 201;
  }
  recorder.fromPlugin('out', '#9 ok');
  const text = recorder.text();
  assert.deepEqual(text.split('\n').slice(1), [
    '< #1 ze-plugin-engine:declare-registration {}',
    '# by itself',
    '< #2 ze-plugin-engine:emit-event {}',
    '< #1 ok',
    '',
  ]);
  await assert.rejects(replay(plugin(), text), /said these by itself[^]*line 4: #2 ze-plugin-engine:emit-event/);
  assert.equal((await replay(plugin(), text, { byItself: 'wait', deadlineMs: 50 })).same, false);
});

test('a text that is no recording is refused with its line', async () => {
  await assert.rejects(replay(plugin(), 'hello'), /not a recording/);
  assert.throws(() => readRecording('# zest plugin recording 1\n\n? #1 ok\n'), /line 3 of the recording/);
  await assert.rejects(record(plugin(), scenario, { inProcess: true }), /over the bridge no lines cross/);
});

test('golden records once, compares then, and records anew when told', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'zest-golden-'));
  try {
    const path = join(folder, 'sample.txt');
    await golden(path, plugin(), scenario, { update: false });
    await golden(path, plugin(), scenario, { update: false });
    const changed = plugin({ prefix: '198.51.100.0/24' });
    await assert.rejects(golden(path, changed, scenario, { update: false }), /says something else \(UPDATE=1/);
    await golden(path, changed, scenario, { update: true });
    assert.match(readFileSync(path, 'utf8'), /198\.51\.100\.0/);
    writeFileSync(path, '');
    await assert.rejects(golden(path, changed, scenario, { update: false }), /not a recording/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
