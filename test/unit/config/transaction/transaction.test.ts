// A transaction over simulated plugins (plugin-lifecycle §12): who is asked what, in which order, and what is left after each failure.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Changes, difference } from '../../../../engine/config/transaction/changes.ts';
import { TransactionIds } from '../../../../engine/config/transaction/transaction.ts';
import type { ConfigOperation } from '../../../../yang/generated/methods.ts';
import { type Fate, type Simulation, viewOf, World } from './simulated.ts';

const DECOMPOSES = [{ root: 'bgp', decompose: true, operations: ['change', 'address', 'peer'] }];

describe('the difference', () => {
  const rows: readonly [name: string, before: unknown, after: unknown, expected: ReturnType<typeof difference>][] = [
    ['a leaf', { a: 1 }, { a: 2 }, { added: {}, removed: {}, changed: { 'r/a': { old: 1, new: 2 } } }],
    [
      'a leaf-list as a whole',
      { a: [1] },
      { a: [1, 2] },
      { added: {}, removed: {}, changed: { 'r/a': { old: [1], new: [1, 2] } } },
    ],
    ['an entry', { peer: {} }, { peer: { e1: { as: 1 } } }, { added: { 'r/peer/e1': { as: 1 } }, removed: {}, changed: {} }],
    ['an entry that goes', { peer: { e1: {} } }, { peer: {} }, { added: {}, removed: { 'r/peer/e1': {} }, changed: {} }],
    ['a root', undefined, { x: 1 }, { added: { r: { x: 1 } }, removed: {}, changed: {} }],
    ['a root that goes', { x: 1 }, undefined, { added: {}, removed: { r: { x: 1 } }, changed: {} }],
    ['a map for a leaf', { a: 1 }, { a: {} }, { added: {}, removed: {}, changed: { 'r/a': { old: 1, new: {} } } }],
    ['the order of keys', { a: 1, b: 2 }, { b: 2, a: 1 }, { added: {}, removed: {}, changed: {} }],
    ['a name of Object', {}, { constructor: 1 }, { added: { 'r/constructor': 1 }, removed: {}, changed: {} }],
  ];
  for (const [name, before, after, expected] of rows) {
    test(name, () => assert.deepEqual(difference('r', before, after), expected));
  }

  const changes = new Changes(
    viewOf({ bgp: { peer: { e1: { as: 1 } }, 'router-id': 'a' }, gone: { x: 1 }, same: {} }),
    viewOf({ bgp: { peer: { e1: { as: 2 } }, 'router-id': 'b' }, fresh: { y: 1 }, same: {} }),
  );
  const shares: readonly [wants: readonly string[], roots: readonly string[], candidate: readonly [string, string][]][] = [
    [['bgp/peer'], ['bgp'], [['bgp/peer', '{"bgp":{"peer":{"e1":{"as":2}}}}']]],
    [['bgp/peer', '/bgp/'], ['bgp'], [['bgp', '{"bgp":{"peer":{"e1":{"as":2}},"router-id":"b"}}']]],
    [['gone', 'same'], ['gone'], [['gone', '{}']]],
    [['fresh'], ['fresh'], [['fresh', '{"fresh":{"y":1}}']]],
    [
      ['*'],
      ['bgp', 'fresh', 'gone'],
      [
        ['bgp', '{"bgp":{"peer":{"e1":{"as":2}},"router-id":"b"}}'],
        ['fresh', '{"fresh":{"y":1}}'],
        ['gone', '{}'],
      ],
    ],
  ];
  for (const [wants, roots, candidate] of shares) {
    test(`wants ${wants.join(' and ')}`, () => {
      const share = changes.share(wants);
      assert.deepEqual(share?.roots, roots);
      assert.deepEqual(
        share.candidate.map(({ root, data }) => [root, data]),
        candidate,
      );
    });
  }
  test('a plugin sees of the difference what it asked for, as text', () => {
    assert.deepEqual(changes.share(['bgp/peer'])?.diffs, [{ root: 'bgp', changed: '{"bgp/peer/e1/as":{"old":1,"new":2}}' }]);
    assert.deepEqual(changes.share(['gone'])?.diffs, [{ root: 'gone', removed: '{"gone":{"x":1}}' }]);
    assert.equal(changes.share(['same', 'nothing']), undefined);
  });
});

describe('a transaction that goes well', () => {
  test('asks one plugin at a time, applies by tier, the engine last, and tells everyone', async () => {
    const world = new World();
    const result = await world.run(
      [world.plugin('b'), world.plugin('z', { tier: 0 }), world.plugin('a', { tier: 1 }), world.plugin('not', { wants: ['x'] })],
      { steps: [world.step('plugin', 'plugins'), world.step('bgp', 'peers-apply')] },
    );
    assert.ok(result.ok && world.committed && result.saved);
    assert.deepEqual(world.calls, [
      ...['b config-verify', 'z config-verify', 'a config-verify'],
      ...['b config-apply', 'z config-apply', 'a config-apply'],
      ...['plugin plugins apply', 'bgp peers-apply apply'],
      ...['b config-committed', 'z config-committed', 'a config-committed'],
    ]);
    assert.deepEqual(
      world.events.map(({ type }) => type),
      [
        ...['verify-b', 'verify-ok', 'verify-z', 'verify-ok', 'verify-a', 'verify-ok'],
        ...['apply-b', 'apply-ok', 'apply-z', 'apply-ok', 'apply-a', 'apply-ok', 'committed', 'applied'],
      ],
    );
    assert.deepEqual(world.events[1]?.payload, {
      'transaction-id': 'tx-1',
      plugin: 'b',
      status: 'ok',
      code: 'ok',
      'verify-budget-secs': 0,
      'apply-budget-secs': 0,
    });
    assert.deepEqual(world.events.at(-1)?.payload, { 'transaction-id': 'tx-1', saved: true });
  });

  test('runs operations in the order of their resources and commits their owner', async () => {
    const world = new World();
    const address = { kind: 'address', address: '10.0.0.9' } as const;
    const one = world.plugin('consumer', {
      operations: DECOMPOSES,
      decompose: { bgp: [{ id: 'c1', type: 'peer', verb: 'create', target: { kind: 'peer', name: 'p' }, consumes: [address] }] },
    });
    const two = world.plugin('maker', {
      operations: DECOMPOSES,
      decompose: { bgp: [{ id: 'm1', type: 'address', verb: 'create', target: address, produces: [address] }] },
    });
    const result = await world.run([one, two, world.plugin('whole')]);
    assert.ok(result.ok);
    assert.deepEqual(
      world.calls.filter((call) => /operation|apply/.test(call)),
      [
        ...['consumer config-operation-decompose', 'maker config-operation-decompose'],
        ...['maker config-operation-verify m1', 'consumer config-operation-verify c1'],
        ...['maker config-operation-apply m1', 'consumer config-operation-apply c1', 'whole config-apply'],
        ...['maker config-operation-commit', 'consumer config-operation-commit'],
      ],
    );
    assert.equal(
      (world.inputs.find(({ call }) => call.includes('apply m1'))?.input as { operation: ConfigOperation }).operation.owner,
      'maker',
    );
    assert.deepEqual(
      result.plugins.map(({ name, state, operations }) => [name, state, operations]),
      [
        ['consumer', 'committed', 1],
        ['maker', 'committed', 1],
        ['whole', 'committed', 0],
      ],
    );
  });

  test('the file is written when everyone has committed, what goes is stopped behind it, and applied is said last (§12)', async () => {
    const world = new World();
    const result = await world.run([world.plugin('a', { tier: 0 }), world.plugin('b', { tier: 1 })], {
      persist: () => Promise.resolve(void world.calls.push('written')),
      finish: () => Promise.resolve(void world.calls.push(`stopped behind ${world.events.at(-1)?.type ?? ''}`)),
    });
    assert.ok(result.ok && result.saved);
    const committed = world.calls.filter((call) => call.endsWith('config-committed'));
    assert.equal(committed.length, 2);
    assert.deepEqual(world.calls.slice(-4), [...committed, 'written', 'stopped behind committed']);
    assert.equal(world.events.at(-1)?.type, 'applied');
  });

  test('a plugin whose roots do not change is asked for nothing, and * is asked for any (§12)', async () => {
    const world = new World();
    const result = await world.run([world.plugin('other', { wants: ['dns'] }), world.plugin('all', { wants: ['*'] })]);
    assert.ok(result.ok);
    assert.deepEqual(
      result.plugins.map((one) => one.name),
      ['all'],
    );
    assert.ok(!world.calls.some((call) => call.startsWith('other ')));
  });

  test('what fails after the commit is told and changes nothing', async () => {
    const world = new World();
    const result = await world.run([world.plugin('a', { fates: { 'config-committed': 'hang' } })], {
      persist: () => Promise.reject(new Error('disk full')),
    });
    assert.ok(result.ok && !result.saved);
    assert.deepEqual(world.warnings, [
      'a: no answer to config-committed within 5 s',
      ': the configuration could not be saved: disk full',
    ]);
    assert.deepEqual(world.events.at(-1), { type: 'applied', payload: { 'transaction-id': 'tx-1', saved: false } });
  });

  test('a bare answer is ok', async () => {
    const world = new World();
    const bare = { ...world.plugin('a'), call: () => Promise.resolve({ ok: true as const, value: { status: '' } as never }) };
    assert.ok((await world.run([bare])).ok);
  });
});

describe('readiness', () => {
  const maker: Simulation = {
    operations: DECOMPOSES,
    decompose: {
      bgp: [
        { id: 'm1', verb: 'create' },
        { id: 'm2', verb: 'modify' },
      ],
    },
    readiness: { m1: [{ namespace: 'iface', 'event-type': 'up', resource: 'eth0' }] },
  };
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 50; i++) await Promise.resolve();
  };

  test('the next operation waits for the event of the resource', async () => {
    const world = new World();
    const done = world.run([world.plugin('maker', maker)]);
    await settle();
    assert.equal(world.calls.at(-1), 'maker config-operation-apply m1');
    world.event('iface', 'up', '{"name":"eth1"}');
    world.event('iface', 'down', '{"name":"eth0"}');
    world.clock.advance(59_999);
    await settle();
    assert.equal(world.calls.at(-1), 'maker config-operation-apply m1');
    world.event('iface', 'up', '{"interface":{"name":"eth0"}}');
    assert.ok((await done).ok);
    assert.ok(!world.listening);
    assert.equal(world.clock.pending, 0);
  });

  test('an event that came while the operation ran counts', async () => {
    const world = new World();
    const plugin = world.plugin('maker', maker);
    const early: typeof plugin = {
      ...plugin,
      call: (method, input, ms, signal) => {
        if (method.endsWith('operation-apply')) world.event('iface', 'up', 'eth0');
        return plugin.call(method, input, ms, signal);
      },
    };
    assert.ok((await world.run([early])).ok);
  });

  test('after 60 s the transaction is rolled back', async () => {
    const world = new World();
    const done = world.run([world.plugin('maker', maker)]);
    await settle();
    world.clock.advance(60_000);
    const result = await done;
    assert.ok(!result.ok);
    assert.deepEqual([result.code, result.message], ['timeout', 'operation "m1": no event iface/up of eth0 within 60 s']);
    assert.deepEqual(world.state, []);
    assert.deepEqual(world.broken, []);
  });
});

describe('a plan that is refused', () => {
  const peer = { kind: 'peer', name: 'p' } as const;
  const rows: readonly [name: string, simulation: Simulation, message: RegExp][] = [
    ['an operation without a verb', { decompose: { bgp: [{ verb: '' as never }] } }, /"a1" has no verb/],
    ['a verb nobody knows', { decompose: { bgp: [{ verb: 'paint' as never }] } }, /verb "paint" is not/],
    [
      'a label that was not declared',
      { decompose: { bgp: [{ type: 'other' }] } },
      /label "other" is not declared for root "bgp"/,
    ],
    ['the engine’s own label', { decompose: { bgp: [{ type: 'section-apply' }] } }, /section-apply is reserved/],
    ['another root', { decompose: { bgp: [{ root: 'plugin' }] } }, /root "plugin" is not "bgp"/],
    ['another owner', { decompose: { bgp: [{ owner: 'b' }] } }, /owner "b" is another plugin/],
    ['no id', { decompose: { bgp: [{ id: ' ' }] } }, /without id/],
    ['an id twice', { decompose: { bgp: [{}, {}] } }, /"a1": the id is taken/],
    ['a blank product', { decompose: { bgp: [{ produces: [{ kind: '' as never }] }] } }, /produces a blank resource/],
    ['a blank need', { decompose: { bgp: [{ consumes: [{ kind: 'peer' }] }] } }, /consumes a blank resource/],
    [
      'a cycle',
      {
        decompose: {
          bgp: [
            { id: 'x', verb: 'create', produces: [peer], consumes: [{ kind: 'address', address: '1' }] },
            { id: 'y', verb: 'create', produces: [{ kind: 'address', address: '1' }], consumes: [peer] },
          ],
        },
      },
      /operations wait for each other: x, y/,
    ],
    ['a decomposition that fails', { fates: { 'config-operation-decompose': 'refuse' } }, /^no$/],
    [
      'an operation that does not verify',
      { decompose: { bgp: [{}] }, fates: { 'config-operation-verify': 'refuse' } },
      /"a1": no/,
    ],
  ];
  for (const [name, simulation, message] of rows) {
    test(name, async () => {
      const world = new World();
      const result = await world.run([world.plugin('a', { operations: DECOMPOSES, ...simulation }), world.plugin('b')]);
      assert.ok(!result.ok && result.plugin === 'a');
      assert.match(result.message, message);
      assert.ok(
        !world.calls.some((call) => /config-apply|operation-apply|rollback|committed/.test(call)),
        world.calls.join(', '),
      );
      assert.equal(world.events.at(-1)?.type, 'verify-abort');
    });
  }

  test('a plugin takes all its changed roots apart, or none', async () => {
    const world = new World();
    const plugin = world.plugin('a', { wants: ['*'], operations: DECOMPOSES });
    const result = await world.run([plugin], { before: { bgp: 1, log: 1 }, after: { bgp: 2, log: 2 } });
    assert.ok(!result.ok);
    assert.equal(result.message, 'decomposes bgp but not log: all changed roots or none');
  });

  for (const name of ['ok', 'failed', 'abort']) {
    test(`a plugin called ${name}`, async () => {
      const world = new World();
      const result = await world.run([world.plugin(name)]);
      assert.ok(!result.ok && /reserved/.test(result.message));
      assert.deepEqual(world.calls, []);
    });
  }
});

describe('a plugin that fails', () => {
  for (const [length, shown] of [
    [1000, 'x'.repeat(1000)],
    [1001, `${'x'.repeat(1000)}… (1001 letters)`],
    [1_000_000, `${'x'.repeat(1000)}… (1000000 letters)`],
  ] as const) {
    test(`a reason of ${length} letters is told as ${shown.length}`, async () => {
      const world = new World();
      const result = await world.run([world.plugin('a', { fates: { 'config-verify': 'refuse' }, reason: 'x'.repeat(length) })]);
      assert.ok(!result.ok);
      assert.equal(result.message, shown);
      assert.equal(result.plugins[0]?.error, `verify: ${shown}`);
      assert.equal(world.events.at(-1)?.payload['error'], shown);
    });
  }

  const rows: readonly {
    readonly at: string;
    readonly fate: Fate;
    readonly code: string;
    readonly undone: readonly string[];
    readonly broken?: RegExp;
  }[] = [
    { at: 'config-verify', fate: 'refuse', code: 'error', undone: [] },
    {
      at: 'config-verify',
      fate: 'hang',
      code: 'timeout',
      undone: [],
      broken: /^c: verify: no answer to config-verify within 30 s/,
    },
    { at: 'config-verify', fate: 'die', code: 'transient', undone: [] },
    { at: 'config-verify', fate: 'nonsense', code: 'error', undone: [] },
    { at: 'config-apply', fate: 'refuse', code: 'error', undone: ['b', 'a'] },
    { at: 'config-apply', fate: 'hang', code: 'timeout', undone: ['c', 'b', 'a'] },
    { at: 'config-apply', fate: 'die', code: 'transient', undone: ['b', 'a'], broken: /^c: the plugin is gone/ },
  ];
  for (const { at, fate, code, undone, broken } of rows) {
    test(`${fate} in ${at}: ${code}, ${undone.length === 0 ? 'nothing to undo' : `undone by ${undone.join(', ')}`}`, async () => {
      const world = new World();
      const result = await world.run([world.plugin('a'), world.plugin('b'), world.plugin('c', { fates: { [at]: fate } })], {
        steps: [world.step('bgp', 'peers-apply')],
      });
      assert.ok(!result.ok);
      assert.deepEqual([result.plugin, result.code, world.committed], ['c', code, false]);
      assert.deepEqual(world.state, []);
      assert.deepEqual(
        world.calls.filter((call) => call.includes('rollback')),
        undone.map((name) => `${name} config-rollback`),
      );
      assert.equal(world.broken.length, broken === undefined ? 0 : 1);
      if (broken !== undefined) assert.match(world.broken[0] ?? '', broken);
      assert.ok(!world.calls.includes('bgp peers-apply apply'));
      assert.equal(world.events.at(-1)?.type, at === 'config-verify' ? 'verify-abort' : 'rolled-back');
    });
  }

  for (const [what, slowMs, broken] of [
    ['had less than half of what it asked for', 3600, []],
    ['had what it asked for', 0, ['b: verify: no answer to config-verify within 5 s']],
  ] as const) {
    test(`one that hangs in verify and ${what}: ${broken.length === 0 ? 'it only refuses' : 'it is started anew'}`, async () => {
      const world = new World();
      const slow = world.plugin('a', { verifySeconds: 2 });
      const call: typeof slow.call = (...asked) => {
        world.clock.advance(slowMs);
        return slow.call(...asked);
      };
      const result = await world.run([
        { ...slow, call },
        world.plugin('b', { verifySeconds: 3, fates: { 'config-verify': 'hang' } }),
      ]);
      assert.ok(!result.ok);
      assert.deepEqual([result.plugin, result.code], ['b', 'timeout']);
      assert.deepEqual(world.broken, broken);
      assert.equal(result.plugins.at(-1)?.state, broken.length === 0 ? 'refused' : 'broken');
    });
  }

  for (const fate of ['refuse', 'hang'] as const) {
    test(`${fate} in rollback: it is broken, the others undo their part`, async () => {
      const world = new World();
      const stuck = world.plugin('b', { applySeconds: 2, fates: { 'config-rollback': fate } });
      const result = await world.run([world.plugin('a'), stuck, world.plugin('c', { fates: { 'config-apply': 'refuse' } })]);
      assert.ok(!result.ok);
      assert.deepEqual(
        result.plugins.map(({ name, state }) => `${name} ${state}`),
        ['a rolled-back', 'b broken', 'c refused'],
      );
      assert.deepEqual(world.broken, [fate === 'hang' ? 'b: no answer to config-rollback within 6 s' : 'b: no']);
      assert.deepEqual(world.state, ['b'], 'its own state is its own affair: it is started anew');
    });
  }

  test('the engine’s failing step has everyone undo', async () => {
    const world = new World();
    const result = await world.run([world.plugin('a')], {
      steps: [world.step('plugin', 'plugins'), world.step('bgp', 'peers-apply', { fails: true })],
    });
    assert.ok(!result.ok);
    assert.deepEqual([result.plugin, result.message], ['bgp', 'cannot']);
    assert.deepEqual(world.calls.slice(-2), ['plugin plugins undo', 'a config-rollback']);
    assert.deepEqual(world.state, []);
  });

  test('one that was started anew after its apply has lost it: the transaction fails', async () => {
    const world = new World();
    const plugin = world.plugin('a');
    let alive = true;
    const result = await world.run(
      [
        { ...plugin, alive: () => alive },
        {
          ...world.plugin('b'),
          call: (method, input, ms, signal) => {
            if (method.endsWith('config-apply')) alive = false;
            return world.plugin('b').call(method, input, ms, signal);
          },
        },
      ],
      { steps: [world.step('bgp', 'peers-apply')] },
    );
    assert.ok(!result.ok);
    assert.deepEqual([result.plugin, result.code], ['a', 'transient']);
    assert.ok(!world.calls.includes('bgp peers-apply apply'));
  });
});

describe('time', () => {
  const rows: readonly [budgets: readonly number[], ms: number][] = [
    [[0, 0], 30_000],
    [[2, 3], 5000],
    [[2, 0], 2000],
    [[9999, 1], 601_000],
  ];
  for (const [budgets, ms] of rows) {
    test(`budgets of ${budgets.join(' and ')} s give ${ms / 1000} s to verify and to apply`, async () => {
      const world = new World();
      await world.run(budgets.map((seconds, i) => world.plugin(`p${i}`, { verifySeconds: seconds, applySeconds: seconds })));
      for (const call of ['p0 config-verify', 'p0 config-apply']) {
        assert.equal(world.inputs.find((input) => input.call === call)?.ms, ms);
      }
      assert.equal(world.events[0]?.payload['deadline-ms'], ms);
    });
  }

  test('the daemon’s stop ends it without a word', async () => {
    const world = new World();
    const plugin = world.plugin('a');
    const result = await world.run([
      {
        ...plugin,
        call: (method, input, ms, signal) => {
          if (method.endsWith('config-apply')) world.stopping.abort();
          return plugin.call(method, input, ms, signal);
        },
      },
    ]);
    assert.ok(!result.ok && result.phase === undefined && !world.committed);
    assert.equal(world.calls.at(-1), 'a config-apply');
    assert.equal(world.events.at(-1)?.type, 'apply-a');
  });

  test('ids are nanoseconds and never repeat', () => {
    const ids = new TransactionIds();
    assert.deepEqual(
      [ids.next(1_700_000_000_000.5), ids.next(1_700_000_000_000.5), ids.next(5)],
      ['tx-1700000000000500000', 'tx-1700000000000500001', 'tx-1700000000000500002'],
    );
  });
});
