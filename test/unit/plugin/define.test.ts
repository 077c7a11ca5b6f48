import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import type { Bridge, BridgeHandlers } from '../../../sdk/plugin/bridge.ts';
import { definePlugin, type Engine, STRUCTURED_KIND, type StructuredBatch } from '../../../sdk/plugin/index.ts';
import { AnswerReader } from '../../../sdk/rpc/index.ts';
import { duplexPair } from '../../support/duplex-pair.ts';
import { EngineLink } from '../../../sdk/testing/index.ts';

const awake = setInterval(() => undefined, 1000);
after(() => clearInterval(awake));

const nobody = {
  capacity: 2,
  name: (i: number) => `peer-${i}`,
  address: () => '',
  remoteAs: () => 0,
  localAs: () => 0,
  group: () => '',
};

function batchOf(rows: readonly { kind: number; peer: number; up?: boolean }[]): StructuredBatch {
  return {
    count: rows.length,
    kind: (row) => rows[row]!.kind,
    peer: (row) => rows[row]!.peer,
    direction: () => 1,
    messageId: (row) => row + 100,
    bytes: new Uint8Array(4),
    view: new DataView(new ArrayBuffer(4)),
    at: () => 0,
    length: () => 4,
    asn4: () => true,
    addPath: () => false,
    up: (row) => rows[row]!.up ?? false,
    reason: () => 'because',
    initialReplay: () => 81,
    unheldRoles: () => ['replay'],
    peers: nobody,
  };
}

/** A bridge that remembers what was attached. */
function recordingBridge(): Bridge & { readonly attached: BridgeHandlers[] } {
  const attached: BridgeHandlers[] = [];
  return {
    attached,
    attach: (handlers) => void attached.push(handlers),
    call: () => Promise.reject(new Error('no call expected')),
    dispatch: () => new AnswerReader(Promise.reject(new Error('no call expected'))),
    close: () => undefined,
    routes: undefined,
  };
}

const counting = definePlugin({
  name: 'update-count',
  families: ['ipv4/unicast'],
  roots: ['bgp'],
  dependencies: ['bgp-rib'],
  failurePolicy: 'restart',
  autoload: ['update-count'],
  declaration: { commands: [{ name: 'update-count show', 'short-help': 'Updates by peer' }], 'verify-budget': 3 },
  setup(engine) {
    const seen = new Map<number, number>();
    const states: unknown[] = [];
    engine.onUpdates((batch) => {
      for (let row = 0; row < batch.count; row++) seen.set(batch.peer(row), (seen.get(batch.peer(row)) ?? 0) + 1);
    });
    engine.onState((peer, up, reason) => states.push([engine.peers.name(peer), up, reason]));
    engine.command('update-count show', function* () {
      for (const [peer, updates] of seen) yield { peer: engine.peers.name(peer), updates };
    });
    engine.command('update-count states', { shape: 'tab', columns: ['name', 'up', 'reason'] }, () => states);
  },
});

test('the metadata is read without running anything', () => {
  let ran = 0;
  const definition = definePlugin({
    name: 'idle',
    setup: () => {
      ran++;
    },
  });
  assert.deepEqual(
    [
      definition.name,
      definition.placement,
      definition.roots,
      definition.autoload,
      definition.failurePolicy,
      definition.declaration,
    ],
    ['idle', 'main', [], [], 'ignore', {}],
  );
  assert.deepEqual(counting.declaration, {
    commands: [{ name: 'update-count show', 'short-help': 'Updates by peer' }],
    'verify-budget': 3,
    families: [{ name: 'ipv4/unicast', mode: 'both' }],
    dependencies: ['bgp-rib'],
    'wants-config': ['bgp'],
    'failure-policy': 'restart',
  });
  assert.equal(ran, 0);
});

test('describe() adds the commands of setup and refuses its calls', async () => {
  const described = await counting.describe();
  assert.deepEqual(described.commands, [
    { name: 'update-count show', 'short-help': 'Updates by peer' },
    { shape: 'tab', columns: ['name', 'up', 'reason'], name: 'update-count states' },
  ]);
  const calling = definePlugin({
    name: 'x',
    setup: async (engine) => {
      await engine.updateRoute('*', 'x');
    },
  });
  await assert.rejects(calling.describe(), /not running yet/);
});

test('inside the engine updates and states come as rows over the bridge', async () => {
  const [left, right] = duplexPair();
  const bridge = recordingBridge();
  const run = counting.run({ conn: left, bridge });
  const { registration, ready } = await new EngineLink(right).start();
  assert.equal(registration.commands?.length, 2);
  assert.deepEqual(ready, { subscribe: { events: ['update direction received', 'state'] }, transport: 'bridge' });
  while (bridge.attached.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const handlers = bridge.attached[0]!;
  const { update, state } = STRUCTURED_KIND;
  handlers.structured?.(
    batchOf([
      { kind: update, peer: 1 },
      { kind: update, peer: 1 },
    ]),
  );
  handlers.structured?.(
    batchOf([
      { kind: state, peer: 0, up: true },
      { kind: update, peer: 0 },
      { kind: state, peer: 1 },
    ]),
  );
  const { signal } = new AbortController();
  const show = new AnswerReader(handlers.execute({ serial: '', command: 'update-count  SHOW' }, signal));
  assert.deepEqual(await show.collapse(), {
    status: 'done',
    data: [
      { peer: 'peer-1', updates: 2 },
      { peer: 'peer-0', updates: 1 },
    ],
  });
  const states = new AnswerReader(handlers.execute({ serial: '', command: 'update-count states' }, signal));
  assert.equal((await states.head).itemType, 'tab');
  assert.deepEqual(await states.collapse(), {
    status: 'done',
    data: [
      { name: 'peer-0', up: true, reason: 'because' },
      { name: 'peer-1', up: false, reason: 'because' },
    ],
  });
  await assert.rejects(handlers.execute({ serial: '', command: 'other' }, signal), /no such command: other/);
  await handlers.callback('ze-plugin-callback:bye', {}, signal);
  await run;
});

const raw = (type: string, direction: string, hex: string, peer: string): string =>
  JSON.stringify({
    type: 'bgp',
    bgp: {
      message: { type, direction },
      peer: { name: peer, address: '192.0.2.9', remote: { address: '192.0.2.9', as: 65009 }, local: { as: 65000 }, group: 'g' },
      raw: { update: hex },
    },
  });

test('outside, the same plugin reads raw events as rows', async () => {
  const [left, right] = duplexPair();
  const rows: unknown[] = [];
  let engine: Engine | undefined;
  const definition = definePlugin({
    name: 'outside',
    setup(given) {
      engine = given;
      given.onUpdates(
        (batch) => {
          for (let row = 0; row < batch.count; row++) {
            rows.push([
              batch.peer(row),
              batch.direction(row),
              batch.view.getUint16(batch.at(row)),
              batch.length(row),
              batch.asn4(row),
              batch.addPath(row, (1 << 8) | 1),
            ]);
          }
        },
        { sent: true },
      );
      given.onState((peer, up, reason, facts) => rows.push([peer, up, reason, facts.initialReplay, facts.unheldRoles]));
    },
  });
  const run = definition.run({ conn: left });
  const host = new EngineLink(right);
  const { ready } = await host.start();
  assert.deepEqual(ready, { subscribe: { events: ['update', 'negotiated', 'state'], format: 'raw' } });
  const peer = { name: 'a', remote: { address: '192.0.2.9', as: 65009 } };
  await host.mux.call('ze-plugin-callback:deliver-batch', {
    events: [
      `${JSON.stringify({ bgp: { message: { type: 'state' }, peer, state: 'up', 'initial-replay': '81' } })}\n`,
      raw('update', 'received', 'abcd00', 'a'),
      JSON.stringify({
        bgp: { message: { type: 'negotiated' }, peer, negotiated: { asn4: false, 'add-path': { send: ['ipv4/unicast'] } } },
      }),
      raw('sent', 'sent', '0000', 'a'),
      raw('update', 'received', '0001', 'b'),
      'not json',
      '{"bgp":5}',
      JSON.stringify({
        bgp: { message: { type: 'state' }, peer, state: 'down', reason: 'tcp-failure', 'unheld-roles': ['replay'] },
      }),
    ],
  });
  assert.deepEqual(rows, [
    [0, true, '', '81', []],
    [0, 1, 0xabcd, 3, true, false],
    [0, 2, 0, 2, false, true],
    [1, 1, 1, 2, true, false],
    [0, false, 'tcp-failure', '', ['replay']],
  ]);
  assert.equal(engine?.peers.name(1), 'b');
  assert.deepEqual(
    [engine.peers.address(1), engine.peers.remoteAs(1), engine.peers.localAs(1), engine.peers.group(1)],
    ['192.0.2.9', 65009, 65000, 'g'],
  );
  assert.equal(engine.peers.name(99), '');
  await host.bye();
  await run;
});

test('event texts go to every onEvent handler with one subscription for all', async () => {
  const [left, right] = duplexPair();
  const log: string[] = [];
  const definition = definePlugin({
    name: 'texts',
    setup(engine) {
      engine.onEvent({ events: ['update'], peers: ['a'], format: 'full' }, (event) => void log.push(`1 ${event}`));
      engine.onEvent({ events: ['update', 'open'] }, (event) => void log.push(`2 ${event}`));
      engine.onConfigure(() => void log.push('configure'));
      engine.onStarted(() => void log.push('started'));
      engine.onAllPluginsReady(() => void log.push('ready'));
      engine.onBye((reason) => void log.push(reason));
    },
  });
  const run = definition.run({ conn: left, name: 'other-name' });
  const host = new EngineLink(right);
  const { ready } = await host.start();
  assert.deepEqual(ready, { subscribe: { events: ['update', 'open'], format: 'full' } });
  await host.mux.call('ze-plugin-callback:deliver-event', { event: 'x' });
  await host.mux.call('ze-plugin-callback:post-startup', undefined);
  await host.bye('restart');
  await run;
  assert.deepEqual(log, ['configure', 'started', '1 x', '2 x', 'ready', 'restart']);
});
