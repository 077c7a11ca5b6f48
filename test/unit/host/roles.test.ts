// Exclusive roles (plugin-lifecycle §4): who is told of which claim, and what follows when nobody holds one.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { ProcessBinding } from '../../../engine/bgp/port.ts';
import { maySend, Roles } from '../../../engine/host/registry/roles.ts';
import { scriptedUrl } from './fixtures/scripted.ts';
import { goodPlugin, makeWorld, NO_NEEDS, script, settings, type World } from './support.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

/** A plugin that notes what it is told of claims. */
function listener(name: string, told: Map<string, unknown>, registration: object): void {
  script(name, async (plugin) => {
    await plugin.stages(1, registration);
    told.set(name, ((await plugin.serve('configure')) as { claims?: unknown }).claims);
    await plugin.ask('declare-capabilities', { capabilities: [] });
    await plugin.serve('share-registry');
    await plugin.ask('ready');
    await plugin.idle();
  });
}

test('a claim of a later tier is known to the tiers before it', async () => {
  const told = new Map<string, unknown>();
  listener('base', told, {});
  listener('top', told, { claims: ['replay'], dependencies: ['base'] });
  const made = (world = makeWorld());
  await made.host.start([settings('base'), settings('top')], [], NO_NEEDS);
  assert.deepEqual(told.get('base'), ['replay']);
  assert.equal(told.get('top'), undefined);
  assert.deepEqual(made.host.unheldRoles([]), []);
});

test('a claim of a built-in that a later phase starts is known from its definition', async () => {
  const told = new Map<string, unknown>();
  const builtin = { placement: 'main', moduleUrl: scriptedUrl } as const;
  listener('rib', told, {});
  goodPlugin('server', { claims: ['replay'] });
  const builtins = [
    { ...builtin, name: 'rib', roots: ['bgp'] },
    { ...builtin, name: 'server', claims: ['replay'] },
  ];
  const made = (world = makeWorld({ builtins }));
  await made.host.start([settings('server', { use: 'server' })], [], { ...NO_NEEDS, roots: ['bgp'] });
  assert.deepEqual(told.get('rib'), ['replay']);
});

test('two claimers of one role: neither stands down', async () => {
  const told = new Map<string, unknown>();
  for (const name of ['a', 'b']) listener(name, told, { claims: ['replay'] });
  const made = (world = makeWorld());
  await made.host.start([settings('a'), settings('b')], [], NO_NEEDS);
  assert.deepEqual([...told.values()], [undefined, undefined]);
});

const FAILURES: readonly { what: string; run: Parameters<typeof script>[1] }[] = [
  {
    what: 'is refused in stage 1',
    run: async (plugin) => {
      await plugin.ask('declare-registration', { claims: ['replay'], families: 'x' });
    },
  },
  {
    what: 'refuses its configuration',
    run: async (plugin) => {
      await plugin.stages(1, { claims: ['replay'] });
      await plugin.serve('configure', 'error {"code":"error","message":"no"}');
    },
  },
  { what: 'goes in stage 5', run: (plugin) => plugin.stages(4, { claims: ['replay'] }) },
];
for (const { what, run } of FAILURES) {
  test(`a claimer that ${what}: the role is said to be nobody's, the daemon starts`, async () => {
    const told = new Map<string, unknown>();
    listener('keeper', told, {});
    script('claimer', run);
    const made = (world = makeWorld());
    assert.deepEqual(await made.host.start([settings('keeper'), settings('claimer')], [], NO_NEEDS), { ok: true });
    const errors = made.log.filter((line) => line.level === 'error' && /nobody performs a claimed role/.test(line.message));
    // What cannot be read claims nothing, and nobody has stood down for it.
    const claimed = what !== 'is refused in stage 1';
    assert.deepEqual(
      errors.map((line) => line.fields),
      claimed ? [{ role: 'replay', claimers: ['claimer'] }] : [],
    );
    assert.deepEqual(made.host.unheldRoles([]), claimed ? ['replay'] : []);
    assert.equal(made.state('keeper'), 'running');
  });
}

test('a claimer that leaves the configuration takes its claim with it', async () => {
  const made = (world = makeWorld());
  goodPlugin('keeper');
  goodPlugin('claimer', { claims: ['replay'] });
  await made.host.start([settings('keeper'), settings('claimer')], [], NO_NEEDS);
  await made.host.apply([settings('keeper')], [], NO_NEEDS);
  assert.deepEqual(made.host.unheldRoles([]), []);
});

test('claims: sorted, each once, without the own; roles are unheld when no claimer holds', () => {
  const roles = new Roles();
  roles.declare('a', ['z', 'x']);
  roles.declare('b', ['y', 'x']);
  roles.declare('c', []);
  assert.deepEqual([roles.claimsBut('a'), roles.claimsBut('b'), roles.claimsBut('c')], [['y'], ['z'], ['x', 'y', 'z']]);
  assert.deepEqual(
    roles.unheld((plugin) => plugin === 'b').map(({ role }) => role),
    ['z'],
  );
  roles.declare('b', []);
  assert.deepEqual(roles.claimsBut('c'), ['x', 'z']);
});

test('an external claimer that may not send to a peer does not hold its role there', () => {
  const binding = (send: readonly string[]): ProcessBinding => ({ process: 'p', receive: [], send });
  const table = [
    [[], false],
    [[binding(['update'])], true],
    [[binding(['raw'])], true],
    [[binding(['refresh'])], false],
    [[{ ...binding(['update']), process: 'other' }], false],
  ] as const;
  for (const [bindings, may] of table) assert.equal(maySend('p', bindings), may);
});
