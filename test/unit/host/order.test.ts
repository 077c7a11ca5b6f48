// Pure parts: layers, barriers and stall time on a manual clock, which built-ins start when, and what a failure means.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { PluginSettings } from '../../../engine/config/settings/plugin-settings.ts';
import { ManualClock } from '../../../engine/core/clock.ts';
import { type BuiltinPlugin, firstPhases, latePhase } from '../../../engine/host/startup/plan.ts';
import { levelOf } from '../../../engine/host/external/stderr-relay.ts';
import { childEnvironment } from '../../../engine/host/external/spawn.ts';
import { RESTART_BOUNDS, RestartBudget, verdictFor } from '../../../engine/host/supervision.ts';
import { layers, Tier, whileProgressing } from '../../../engine/host/startup/tier.ts';
import { settings } from './support.ts';

test('layers: names sorted, dependencies below, cycles and what hangs on them apart', () => {
  const graph = { d: ['b', 'c'], c: ['a'], b: ['a', 'elsewhere'], a: [], x: ['y'], y: ['x'], z: ['x'], self: ['self'] };
  assert.deepEqual(layers(new Map(Object.entries(graph))), {
    tiers: [['a', 'self'], ['b', 'c'], ['d']],
    cyclic: ['x', 'y', 'z'],
  });
});

test('layers: every name once, and above all it needs', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const graphs = fc.array(fc.subarray(names), { minLength: names.length, maxLength: names.length });
  fc.assert(
    fc.property(graphs, (needs) => {
      const graph = new Map(names.map((name, i) => [name, needs[i] ?? []]));
      const { tiers, cyclic } = layers(graph);
      const level = new Map(tiers.flatMap((tier, i) => tier.map((name) => [name, i] as const)));
      assert.deepEqual([...level.keys(), ...cyclic].sort(), names);
      for (const [name, at] of level) {
        for (const need of graph.get(name) ?? []) if (need !== name) assert((level.get(need) ?? Infinity) < at);
      }
    }),
  );
});

test('a barrier opens when the last member arrives, or leaves', async () => {
  const tier = new Tier(['a', 'b', 'c'], new ManualClock());
  const passed: string[] = [];
  for (const name of ['a', 'b']) void tier.arrive(name, 1).then(() => passed.push(name));
  await Promise.resolve();
  assert.deepEqual(passed, []);
  tier.leave('c');
  await Promise.resolve();
  assert.deepEqual(passed, ['a', 'b']);
});

test('stall time counts from the last progress of anyone in the tier', async () => {
  const clock = new ManualClock();
  const tier = new Tier(['a', 'b'], clock);
  let failed = '';
  const waiting = whileProgressing(
    tier,
    clock,
    1000,
    () => new Error('late'),
    () => new Promise(() => undefined),
  ).catch((error: unknown) => (failed = String(error)));
  clock.advance(900);
  void tier.arrive('b', 1);
  clock.advance(900);
  await Promise.resolve();
  assert.equal(failed, '', '900 ms after the neighbour moved');
  clock.advance(100);
  await waiting;
  assert.equal(failed, 'Error: late');
  assert.equal(clock.pending, 0);
});

const builtins: readonly BuiltinPlugin[] = [
  { name: 'bgp-rib', placement: 'reactor', moduleUrl: '', roots: ['bgp'] },
  { name: 'bgp-gr', placement: 'reactor', moduleUrl: '', roots: ['bgp'], dependencies: ['bgp-rib', 'journal'] },
  { name: 'journal', placement: 'main', moduleUrl: '' },
  { name: 'bgp-rs', placement: 'reactor', moduleUrl: '', dependencies: ['bgp-adj-rib-in'] },
  { name: 'bgp-adj-rib-in', placement: 'reactor', moduleUrl: '' },
  { name: 'evpn', placement: 'main', moduleUrl: '', families: ['l2vpn/evpn'], dependencies: ['journal'] },
  { name: 'decorator', placement: 'main', moduleUrl: '', eventTypes: ['update-rpki'], sendTypes: ['enhanced'] },
];
const use = (name: string, of: string): PluginSettings => settings(name, { use: of });
const shown = (phases: ReturnType<typeof firstPhases>): unknown =>
  phases.map((phase) => [phase.builtins.map((one) => one.name), phase.plugins.map((one) => one.name)]);

test('built-ins start by root with what they need, explicit ones with theirs', () => {
  assert.deepEqual(shown(firstPhases(builtins, [], ['bgp'])), [
    [['bgp-rib', 'bgp-gr', 'journal'], []],
    [[], []],
  ]);
  assert.deepEqual(shown(firstPhases(builtins, [], ['system'])), [
    [[], []],
    [[], []],
  ]);
  assert.deepEqual(shown(firstPhases(builtins, [use('rs', 'bgp-rs')], [])), [
    [[], []],
    [['bgp-adj-rib-in'], ['rs']],
  ]);
});

test('a built-in that the operator names starts once, where it is first needed', () => {
  const phases = firstPhases(builtins, [use('my-rib', 'bgp-rib'), use('own', './own.ts')], ['bgp']);
  assert.deepEqual(shown(phases), [
    [['bgp-gr', 'journal'], ['my-rib']],
    [[], ['own']],
  ]);
});

test('later phases start the provider of what is wanted and not there', () => {
  const names = (phase: ReturnType<typeof latePhase>): string[] => phase.builtins.map((one) => one.name);
  const none = (): boolean => false;
  assert.deepEqual(names(latePhase('families', builtins, ['l2vpn/evpn', 'ipv4/unicast'], none)), ['evpn', 'journal']);
  assert.deepEqual(names(latePhase('families', builtins, ['l2vpn/evpn'], (name) => name === 'journal')), ['evpn']);
  assert.deepEqual(names(latePhase('event-types', builtins, ['update-rpki'], none)), ['decorator']);
  assert.deepEqual(names(latePhase('send-types', builtins, ['enhanced'], (name) => name === 'decorator')), []);
});

const { windowMs: WINDOW_MS, inLife: LIFE_RESTARTS } = RESTART_BOUNDS;

test('5 restarts in 60 s, then no more until the window has moved; 20 in all', () => {
  const budget = new RestartBudget();
  const delays = [0, 1, 2, 3, 4].map((at) => budget.take(at));
  assert.deepEqual(
    delays,
    [100, 200, 400, 800, 1600].map((delayMs) => ({ delayMs })),
  );
  assert.deepEqual(budget.take(WINDOW_MS - 1), { exhausted: '5 restarts in 60 s' });
  assert.deepEqual(budget.take(WINDOW_MS), { delayMs: 1600 });
  for (let n = 6; n < LIFE_RESTARTS; n++) assert.deepEqual(budget.take(WINDOW_MS * 2 * n), { delayMs: 100 });
  assert.deepEqual(budget.take(WINDOW_MS * 1000), { exhausted: "20 restarts in the daemon's life" });
});

test('policy and respawn decide together', () => {
  const table = [
    ['restart', undefined, 'restart'],
    ['restart', true, 'restart'],
    ['restart', false, 'down'],
    ['ignore', undefined, 'down'],
    ['ignore', false, 'down'],
    ['fatal', undefined, 'fatal'],
    ['fatal', false, 'fatal'],
    [undefined, true, 'down'],
  ] as const;
  for (const [policy, respawn, verdict] of table) assert.equal(verdictFor(policy, respawn), verdict);
});

test('levels of stderr lines', () => {
  const table = [
    ['{"level":30,"msg":"x"}', 'info'],
    ['{"time":1,"level":"ERROR"}', 'error'],
    ['time=1 level=DEBUG msg="a"', 'debug'],
    ['level="warning" x', 'warn'],
    ['mylevel=debug', undefined],
    ['hello', undefined],
    ['panic: level=info', 'error'],
    ['fatal error: all goroutines are asleep', 'error'],
    ['{"level":', undefined],
  ] as const;
  for (const [line, level] of table) assert.equal(levelOf(line), level, line);
});

test("a child sees the hub and none of the daemon's own plugin variables", () => {
  const base = { PATH: '/usr/bin', HOME: '/root', ZE_PLUGIN_MODE: 'declare', 'ze.plugin.hub.token': 'old', ze_plugin_name: 'x' };
  const env = childEnvironment(base, '/opt/zest', {
    name: 'p',
    host: '127.0.0.1',
    port: 5,
    token: 't',
    caPem: 'pem',
    fingerprint: 'fp',
  });
  assert.deepEqual(env, {
    PATH: '/opt/zest:/usr/bin',
    HOME: '/root',
    ZE_PLUGIN_HUB_HOST: '127.0.0.1',
    ZE_PLUGIN_HUB_PORT: '5',
    ZE_PLUGIN_HUB_TOKEN: 't',
    ZE_PLUGIN_CA_PEM: 'pem',
    ZE_PLUGIN_CERT_FP: 'fp',
    ZE_PLUGIN_NAME: 'p',
  });
});
