// From one set of plugins to the next: what starts for a candidate goes with it, what nobody asks for any more stops, what is broken runs anew.
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { type BuiltinPlugin, type StartupNeeds, wantedBuiltins } from '../../../engine/host/startup/plan.ts';
import { scriptedUrl } from './fixtures/scripted.ts';
import { goodPlugin, makeWorld, NO_NEEDS, script, settings, until, type World } from './support.ts';

const builtin = (name: string, more: Partial<BuiltinPlugin> = {}): BuiltinPlugin => ({
  name,
  placement: 'main',
  moduleUrl: scriptedUrl,
  ...more,
});
const BUILTINS = [
  builtin('rib', { roots: ['bgp'], dependencies: ['store'] }),
  builtin('store'),
  builtin('flow', { families: ['ipv4/flow'] }),
  builtin('watch', { eventTypes: ['rpki'] }),
  builtin('idle'),
];
const roots = (...names: string[]): StartupNeeds => ({ ...NO_NEEDS, roots: names });

let world: World | undefined;
afterEach(() => world?.stop());

async function start(names: readonly string[], needs = roots('bgp')): Promise<World> {
  for (const { name } of BUILTINS) goodPlugin(name);
  for (const name of names) goodPlugin(name);
  world = makeWorld({ builtins: BUILTINS });
  assert.deepEqual(
    await world.host.start(
      names.map((name) => settings(name)),
      [],
      needs,
    ),
    { ok: true },
  );
  return world;
}
const running = (made: World): readonly string[] =>
  made.host
    .list()
    .filter((row) => row.state === 'running')
    .map((row) => row.name)
    .sort();

describe('built-ins that a configuration wants', () => {
  const rows: readonly [
    name: string,
    needs: typeof NO_NEEDS,
    use: readonly string[],
    named: readonly string[],
    wanted: readonly string[],
  ][] = [
    ['of its roots, with what they need', roots('bgp'), [], [], ['rib', 'store']],
    ['none', roots('other'), [], [], []],
    ['of its families', { ...NO_NEEDS, families: ['ipv4/flow'] }, [], [], ['flow']],
    ['of event types', { ...NO_NEEDS, receiveTypes: ['rpki'] }, [], [], ['watch']],
    ['that plugins declared to need', NO_NEEDS, [], ['idle'], ['idle']],
    ['but not what the operator runs himself', roots('bgp'), ['rib'], [], ['store']],
  ];
  for (const [name, needs, use, named, wanted] of rows) {
    test(name, () => {
      const configured = use.map((one) => settings(`my-${one}`, { use: one }));
      assert.deepEqual([...wantedBuiltins(BUILTINS, configured, needs, named)].sort(), wanted);
    });
  }
});

describe('a change of plugins', () => {
  test('built-ins whose root has gone stop, with what only they needed; named ones stay', async () => {
    const made = await start(['mine']);
    assert.deepEqual(running(made), ['mine', 'rib', 'store']);
    assert.deepEqual(await made.host.apply([settings('mine')], [], NO_NEEDS), { ok: true });
    assert.deepEqual(running(made), ['mine']);
    await made.host.apply([settings('mine')], [], roots('bgp'));
    assert.deepEqual(running(made), ['mine', 'rib', 'store']);
  });

  test('what starts for a candidate is shown it, and goes when it is given up', async () => {
    const made = await start(['mine'], NO_NEEDS);
    goodPlugin('fresh');
    const { changeover } = made.host;
    assert.deepEqual(await changeover.extend([settings('mine'), settings('fresh')], roots('bgp')), { ok: true });
    assert.deepEqual(running(made), ['fresh', 'mine', 'rib', 'store']);
    assert.deepEqual(
      ['fresh', 'rib', 'store', 'mine'].map((name) => changeover.isFresh(name)),
      [true, true, true, false],
    );
    await changeover.abandon();
    assert.deepEqual(running(made), ['mine']);
    assert.ok(!changeover.isFresh('fresh'));
  });

  test('while configured ones go, only built-ins start at first', async () => {
    const made = await start(['old'], NO_NEEDS);
    goodPlugin('new');
    const { changeover } = made.host;
    await changeover.extend([settings('new')], roots('bgp'));
    assert.deepEqual(running(made), ['old', 'rib', 'store']);
    assert.deepEqual(await changeover.replace([settings('new')], [], roots('bgp'), true), { ok: true });
    assert.deepEqual(running(made), ['new', 'rib', 'store']);
    assert.deepEqual(await changeover.settle([settings('new')], roots('bgp')), []);
    assert.ok(!changeover.isFresh('new') && !changeover.isFresh('rib'));
  });

  test('a built-in that does not come up refuses the change', async () => {
    const made = await start(['mine'], NO_NEEDS);
    script('store', async (plugin) => {
      await plugin.stages(2);
      throw new Error('no disk');
    });
    const outcome = await made.host.changeover.extend([settings('mine')], roots('bgp'));
    assert.ok(!outcome.ok && outcome.plugin === 'store');
    await made.host.changeover.abandon();
    assert.deepEqual(running(made), ['mine']);
  });

  test('one of policy fatal that does not come up refuses the change, and the daemon goes on', async () => {
    const made = await start(['mine'], NO_NEEDS);
    script('grave', async (plugin) => {
      await plugin.stages(2, { 'failure-policy': 'fatal' });
      throw new Error('not today');
    });
    const outcome = await made.host.changeover.extend([settings('mine'), settings('grave')], NO_NEEDS);
    assert.ok(!outcome.ok);
    assert.deepEqual([outcome.kind, outcome.plugin], ['fatal', 'grave']);
    assert.deepEqual(made.fatal, []);
  });

  test('a refusal in the middle leaves room to go back', async () => {
    const made = await start(['old'], NO_NEEDS);
    goodPlugin('bad', { 'failure-policy': 'ignore' });
    const { changeover } = made.host;
    const outcome = await changeover.replace([settings('bad', { respawn: true })], [], NO_NEEDS, true);
    assert.ok(!outcome.ok && outcome.kind === 'respawn');
    assert.deepEqual(running(made), []);
    assert.deepEqual(await changeover.replace([settings('old')], [], NO_NEEDS, false), { ok: true });
    assert.deepEqual(running(made), ['old']);
    assert.ok(!changeover.isFresh('old'));
  });
});

describe('a plugin whose state is unknown', () => {
  test('is started anew whatever its policy, and the report says why', async () => {
    const made = await start(['mine'], NO_NEEDS);
    made.host.restart('mine', 'it did not undo');
    await until('it runs again', () => made.host.list()[0]?.restarts === 1 && made.state('mine') === 'running');
    assert.deepEqual(made.codes('mine'), ['plugin-broken']);
    assert.ok(made.reports.some(({ message }) => message === 'it did not undo'));
  });

  /** Ends its link when told to, and takes its time to go: until then, why it went is not known. */
  const slow = async (): Promise<{ readonly made: World; readonly starts: () => number; readonly cut: () => void }> => {
    let starts = 0;
    let cut: () => void = () => undefined;
    script('slow', async (plugin) => {
      starts++;
      await plugin.stages(5, { 'failure-policy': 'restart' });
      cut = () => void plugin.conn.destroy();
      await plugin.idle();
      await new Promise((resolve) => setTimeout(resolve, 300));
    });
    world = makeWorld();
    await world.host.start([settings('slow')], [], NO_NEEDS);
    return { made: world, starts: () => starts, cut: () => cut() };
  };

  test('that dies at the same time is started once', async () => {
    const { made, starts, cut } = await slow();
    cut();
    await new Promise((resolve) => setImmediate(resolve));
    made.host.restart('slow', 'it did not undo');
    await until('it runs again', () => starts() > 1 && made.state('slow') === 'running');
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.deepEqual([starts(), made.host.list()[0]?.restarts], [2, 1]);
  });

  test('that dies while it leaves the configuration does not come back', async () => {
    const { made, starts, cut } = await slow();
    cut();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(await made.host.apply([], [], NO_NEEDS), { ok: true });
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.deepEqual([starts(), made.host.list()], [1, []]);
  });

  test('stays down when the operator forbids restarts', async () => {
    goodPlugin('still');
    world = makeWorld();
    await world.host.start([settings('still', { respawn: false })], [], NO_NEEDS);
    const made = world;
    made.host.restart('still', 'it did not undo');
    await until('it is down', () => made.state('still') === 'failed');
    assert.equal(made.host.list()[0]?.lastError, 'it did not undo');
  });

  test('nobody of that name: nothing happens', async () => {
    const made = await start(['mine'], NO_NEEDS);
    made.host.restart('other', 'x');
    assert.deepEqual(running(made), ['mine']);
  });
});
