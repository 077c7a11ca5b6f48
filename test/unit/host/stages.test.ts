// The five stages against plugins that speak raw lines: order, barriers, tiers, refusals (plugin-lifecycle §3, plugin-rpc-types §2, §3).
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { goodPlugin, makeWorld, NO_NEEDS, type RawPlugin, script, settings, until, type World } from './support.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

function start(
  names: readonly string[],
  overrides: Parameters<typeof makeWorld>[0] = {},
): { world: World; started: Promise<unknown> } {
  const made = makeWorld(overrides);
  world = made;
  return {
    world: made,
    started: made.host.start(
      names.map((name) => settings(name)),
      [],
      NO_NEEDS,
    ),
  };
}

test('a plugin goes through the five stages as the seed shows them', async () => {
  const seen: unknown[] = [];
  script('one', async (plugin) => {
    seen.push(
      await plugin.ask('declare-registration', {
        commands: [{ name: 'one status', 'short-help': 'x' }],
        'wants-config': ['bgp', 'none'],
      }),
    );
    seen.push(await plugin.serve('configure'));
    seen.push(
      await plugin.ask('declare-capabilities', {
        capabilities: [{ code: 64, encoding: 'hex', payload: '0078', peers: ['192.168.1.1'] }],
      }),
    );
    seen.push(await plugin.serve('share-registry'));
    seen.push(await plugin.ask('ready'));
    await plugin.idle();
  });
  const run = start(['one']);
  assert.deepEqual(await run.started, { ok: true });
  await until('the last ok', () => seen.length === 5);
  assert.deepEqual(seen, [
    '#1 ok',
    { sections: [{ root: 'bgp', data: '{"bgp":{}}' }] },
    '#2 ok',
    {
      commands: [
        { name: 'peer', plugin: 'bgp' },
        { name: 'one status', plugin: 'one' },
      ],
    },
    '#3 ok',
  ]);
  assert.equal(run.world.state('one'), 'running');
  assert.deepEqual([...run.world.commands.active.keys()], ['one']);
  const capability = run.world.host.capabilities()[0];
  assert.deepEqual([capability?.code, [...(capability?.value ?? [])], capability?.peers], [64, [0, 0x78], ['192.168.1.1']]);
});

test('nobody gets a stage before all of the tier have finished the one before', async () => {
  let slow: RawPlugin | undefined;
  let fast: RawPlugin | undefined;
  for (const name of ['fast', 'slow']) {
    script(name, async (plugin) => {
      if (name === 'slow') slow = plugin;
      else fast = plugin;
      await plugin.closed;
    });
  }
  const run = start(['fast', 'slow']);
  await until('both launched', () => slow !== undefined && fast !== undefined);
  assert(slow !== undefined && fast !== undefined);
  const both = [fast, slow] as const;
  for (const plugin of both) plugin.request('declare-registration', {});
  for (const plugin of both) assert.equal(await plugin.next(), '#1 ok');
  // Stage 2: the slow one does not answer yet; the fast one has answered and goes ahead with stage 3.
  await fast.serve('configure');
  fast.request('declare-capabilities', { capabilities: [] });
  const configure = await slow.next();
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(fast.lines.length, 2, 'stage 3 is not answered before stage 2 is over for all');
  slow.send(`${configure.split(' ')[0] ?? ''} ok`);
  assert.equal(await fast.next(), '#2 ok');
  assert.equal(await slow.ask('declare-capabilities', { capabilities: [] }), '#2 ok');
  for (const plugin of both) await plugin.serve('share-registry');
  fast.request('ready');
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(fast.lines.length, 4, 'the ok of stage 5 comes behind the barrier');
  slow.request('ready');
  assert.equal(await fast.next(), '#3 ok');
  assert.equal(await slow.next(), '#3 ok');
  await run.started;
  assert.equal(run.world.state('fast'), 'running');
});

test('a plugin starts its handshake when those it depends on run, whatever the order of arrival', async () => {
  const order: string[] = [];
  const chain: Record<string, string[]> = { a: ['b'], b: ['c'], c: [] };
  for (const [name, dependencies] of Object.entries(chain)) {
    script(name, async (plugin) => {
      await plugin.stages(1, { dependencies });
      order.push(`${name} 1`);
      await plugin.serve('configure');
      await plugin.ask('declare-capabilities', { capabilities: [] });
      await plugin.serve('share-registry');
      order.push(`${name} 5`);
      await plugin.ask('ready');
      await plugin.idle();
    });
  }
  const run = start(['a', 'b', 'c']);
  await run.started;
  assert.deepEqual(order, ['c 1', 'c 5', 'b 1', 'b 5', 'a 1', 'a 5']);
});

test('calls sent after stage 5 are served when every tier of the phase is up', async () => {
  const events: string[] = [];
  script('early', async (plugin) => {
    await plugin.stages(5);
    plugin.request('update-route', { command: 'update text' });
    events.push(await plugin.next());
    await plugin.idle();
  });
  script('late', async (plugin) => {
    plugin.request('declare-registration', { dependencies: ['early'] });
    assert.equal(await plugin.next(), '#1 ok');
    await plugin.serve('configure');
    await plugin.ask('declare-capabilities', { capabilities: [] });
    await plugin.serve('share-registry');
    events.push('late before ready');
    await plugin.ask('ready');
    await plugin.idle();
  });
  const run = start(['early', 'late']);
  await run.started;
  await until('the call is served', () => events.length === 2);
  assert.deepEqual(events, ['late before ready', '#4 ok {"announced":1,"withdrawn":0,"peers-affected":1,"routes-sent":1}']);
});

const refusals: readonly { name: string; send: (plugin: RawPlugin) => Promise<string>; answer: string; code: string }[] = [
  {
    name: 'a wrong method first',
    send: (plugin) => plugin.ask('ready'),
    answer: '#1 error {"code":"error","message":"expected declare-registration, got ze-plugin-engine:ready"}',
    code: 'plugin-protocol',
  },
  {
    name: 'a registration of the wrong type',
    send: (plugin) => plugin.ask('declare-registration', { families: 'x' }),
    answer: '#1 error {"code":"error","message":"invalid registration: families is not a list"}',
    code: 'plugin-registration',
  },
  {
    name: 'a failure policy that is none',
    send: (plugin) => plugin.ask('declare-registration', { 'failure-policy': 'maybe' }),
    answer:
      '#1 error {"code":"error","message":"invalid registration: failure-policy \\"maybe\\" is not restart, ignore or fatal"}',
    code: 'plugin-registration',
  },
  {
    name: 'a dependency that is not configured',
    send: (plugin) => plugin.ask('declare-registration', { dependencies: ['ghost'] }),
    answer: '#1 error {"code":"error","message":"missing dependency: plugin \\"bad\\" requires \\"ghost\\""}',
    code: 'plugin-dependency',
  },
  {
    name: 'a command of the good plugin',
    send: (plugin) => plugin.ask('declare-registration', { commands: [{ name: 'Good  Status' }] }),
    answer:
      '#1 error {"code":"error","message":"registration conflict: command conflict: \\"Good  Status\\" already registered by a-good"}',
    code: 'plugin-registration',
  },
  {
    name: 'another method in stage 3',
    send: async (plugin) => {
      await plugin.stages(2);
      return plugin.ask('ready');
    },
    answer: '#2 error {"code":"error","message":"expected declare-capabilities, got ze-plugin-engine:ready"}',
    code: 'plugin-protocol',
  },
  {
    name: 'a capability with a payload and no encoding',
    send: async (plugin) => {
      await plugin.stages(2);
      return plugin.ask('declare-capabilities', { capabilities: [{ code: 70, payload: 'ff' }] });
    },
    answer: '#2 error {"code":"error","message":"invalid capabilities: capability encoding unspecified with payload \\"ff\\""}',
    code: 'plugin-registration',
  },
  {
    name: 'another method in stage 5',
    send: async (plugin) => {
      await plugin.stages(4);
      return plugin.ask('update-route', { command: 'x' });
    },
    answer: '#3 error {"code":"error","message":"expected ready, got ze-plugin-engine:update-route"}',
    code: 'plugin-protocol',
  },
];

for (const row of refusals) {
  test(`${row.name} is refused, the neighbour goes on`, async () => {
    let answer = '';
    goodPlugin('a-good', { commands: [{ name: 'good status' }] });
    script('bad', async (plugin) => {
      answer = await row.send(plugin);
      await plugin.idle();
    });
    const run = start(['a-good', 'bad']);
    assert.deepEqual(await run.started, { ok: true });
    assert.equal(answer, row.answer);
    assert.equal(run.world.state('a-good'), 'running');
    assert.equal(run.world.state('bad'), 'failed');
    assert.deepEqual(run.world.codes('bad'), [row.code]);
    assert.deepEqual([...run.world.commands.active.keys()], ['a-good']);
  });
}

test('a configuration that a plugin refuses fails that plugin alone', async () => {
  goodPlugin('a-good');
  script('bad', async (plugin) => {
    await plugin.stages(1);
    await plugin.serve('configure', 'error {"code":"error","message":"no peers"}');
    await plugin.idle();
  });
  const run = start(['a-good', 'bad']);
  assert.deepEqual(await run.started, { ok: true });
  assert.deepEqual(run.world.codes('bad'), ['plugin-config']);
  assert.equal(run.world.state('a-good'), 'running');
});

test('a refused command registry is only logged', async () => {
  script('one', async (plugin) => {
    await plugin.stages(3);
    await plugin.serve('share-registry', 'error {"code":"error","message":"no"}');
    await plugin.ask('ready');
    await plugin.idle();
  });
  const run = start(['one']);
  await run.started;
  assert.equal(run.world.state('one'), 'running');
});

test('silence longer than the stage time fails the silent one; progress of others counts for it', async () => {
  goodPlugin('good');
  script('silent', async (plugin) => {
    await plugin.stages(2);
    await plugin.idle();
  });
  const made = makeWorld();
  world = made;
  const began = performance.now();
  await made.host.start([settings('good'), settings('silent', { timeoutMs: 1000 })], [], NO_NEEDS);
  assert(performance.now() - began >= 990);
  assert.deepEqual(made.codes('silent'), ['plugin-stage-timeout']);
  assert.match(
    made.host.list().find((row) => row.name === 'silent')?.lastError ?? '',
    /^stage 3 \(declare-capabilities\): no progress for 1000 ms$/,
  );
  assert.equal(made.state('good'), 'running');
});

test('a dependency that failed fails those that need it, and nobody else', async () => {
  goodPlugin('other');
  script('base', async (plugin) => {
    await plugin.ask('ready');
    await plugin.idle();
  });
  let answer = '';
  script('upper', async (plugin) => {
    answer = await plugin.ask('declare-registration', { dependencies: ['base'] });
    await plugin.idle();
  });
  const run = start(['base', 'other', 'upper']);
  await run.started;
  assert.match(answer, /missing dependency: plugin \\"upper\\" requires \\"base\\"/);
  assert.deepEqual(run.world.codes('upper'), ['plugin-dependency']);
  assert.equal(run.world.state('other'), 'running');
});

test('plugins that depend on each other fail by name, others start', async () => {
  goodPlugin('other');
  for (const [name, needs] of [
    ['x', 'y'],
    ['y', 'x'],
  ] as const) {
    script(name, async (plugin) => {
      plugin.request('declare-registration', { dependencies: [needs] });
      await plugin.idle();
    });
  }
  const run = start(['x', 'y', 'other']);
  await run.started;
  assert.deepEqual(run.world.codes('x'), ['plugin-dependency']);
  assert.deepEqual(run.world.codes('y'), ['plugin-dependency']);
  assert.equal(run.world.state('other'), 'running');
});

test('claims of others come with configure, sorted, the own ones left out', async () => {
  const claims = new Map<string, unknown>();
  for (const [name, own] of [
    ['p', ['zeta', 'alpha']],
    ['q', ['mid']],
  ] as const) {
    script(name, async (plugin) => {
      await plugin.stages(1, { claims: own });
      claims.set(name, ((await plugin.serve('configure')) as { claims?: unknown }).claims);
      await plugin.ask('declare-capabilities', { capabilities: [] });
      await plugin.serve('share-registry');
      await plugin.ask('ready');
      await plugin.idle();
    });
  }
  await start(['p', 'q']).started;
  assert.deepEqual(claims.get('p'), ['mid']);
  assert.deepEqual(claims.get('q'), ['alpha', 'zeta']);
});

test('the first event of a subscription that came with ready is the line behind its ok', async () => {
  const after: string[] = [];
  script('one', async (plugin) => {
    await plugin.stages(4);
    plugin.request('ready', { subscribe: { namespace: 'system', events: ['clock-synced'] } });
    for (let line = ''; !line.includes('deliver-batch'); after.push(line)) {
      line = await plugin.next();
      if (!line.startsWith('#3 ok')) plugin.send(`${line.split(' ')[0] ?? ''} ok`);
    }
    await plugin.idle();
  });
  const run = start(['one']);
  for (let delivered = 0; delivered === 0; ) {
    const result = run.world.bus.emit({ namespace: 'system', type: 'clock-synced', text: 'x' }, 'engine');
    if (result.ok) delivered = result.delivered;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await run.started;
  await until('the event', () => after.length >= 2 && (after.at(-1) ?? '').includes('deliver-batch'));
  assert.equal(after[0], '#3 ok');
  assert.match(after.at(-1) ?? '', / ze-plugin-callback:deliver-batch {"events":\["x"\]}$/);
});

test('unreadable ready params are ignored', async () => {
  goodPlugin('one', {}, { subscribe: 'everything' });
  const run = start(['one']);
  await run.started;
  assert.equal(run.world.state('one'), 'running');
});

test('every line of the stages is traced with its stage', async () => {
  const traced: string[] = [];
  goodPlugin('one');
  const run = start(['one'], {
    trace: (event) => void traced.push(`${event.stage} ${event.direction} ${event.line.split(' ').slice(0, 2).join(' ')}`),
  });
  await run.started;
  assert.deepEqual(traced, [
    '1 in #1 ze-plugin-engine:declare-registration',
    '1 out #1 ok',
    '2 out #1 ze-plugin-callback:configure',
    '2 in #1 ok',
    '3 in #2 ze-plugin-engine:declare-capabilities',
    '3 out #2 ok',
    '4 out #2 ze-plugin-callback:share-registry',
    '4 in #2 ok',
    '5 in #3 ze-plugin-engine:ready',
    '5 out #3 ok',
  ]);
});

test('respawn true against a policy that forbids it refuses the start, naming plugin and policy', async () => {
  goodPlugin('other');
  script('shy', async (plugin) => {
    plugin.request('declare-registration', { 'failure-policy': 'ignore' });
    await plugin.idle();
  });
  const made = makeWorld();
  world = made;
  const outcome = await made.host.start([settings('other'), settings('shy', { respawn: true })], [], NO_NEEDS);
  assert(!outcome.ok);
  assert.deepEqual([outcome.kind, outcome.plugin], ['respawn', 'shy']);
  assert.match(outcome.reason, /"shy".*ignore.*respawn true/);
  assert.equal(made.state('other'), 'stopped');
});
