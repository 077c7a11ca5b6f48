import assert from 'node:assert/strict';
import test from 'node:test';
import type { Collapsed } from '../../../sdk/rpc/answer.ts';
import { RpcError } from '../../../sdk/rpc/errors.ts';
import { OPERATOR, pluginCaller, type Caller } from '../../../engine/command/access.ts';
import { ManualClock } from '../../../engine/core/clock.ts';
import { fakeContext } from './fake-context.ts';

const never = new AbortController().signal;
const run = (text: string, caller: Caller = OPERATOR, fake = fakeContext()): Promise<Collapsed> =>
  fake.dispatcher.dispatch(text, caller, never).collapse();

// command → the document
for (const [text, expected] of [
  [
    'peer * list',
    {
      peers: {
        '192.0.2.1': { 'remote-as': 65001, state: 'established', uptime: '1h2m3s', name: 'edge', group: 'transit' },
        '2001:db8::2': { 'remote-as': 64500, state: 'established', uptime: '1h2m3s', name: 'core' },
        '198.51.100.7': { 'remote-as': 65003, state: 'active', uptime: '0s', name: 'lab' },
      },
    },
  ],
  ['peer list | count', { count: 3 }],
  ['peer list | match 65001 | count', { count: 1 }],
  ['peer list | match LAB', { peers: { '198.51.100.7': { 'remote-as': 65003, state: 'active', uptime: '0s', name: 'lab' } } }],
  ['peer list | match nothing-like-it', { peers: {} }],
  ['summary | count', { count: 3 }],
  ['summary | match router-id', { summary: { 'router-id': '192.0.2.254' } }],
  [
    'rib routes 2',
    {
      routes: [
        { prefix: '10.0.0.0/24', 'as-path': [65001, 65002] },
        { prefix: '10.0.1.0/24', 'as-path': [65001, 65003] },
      ],
    },
  ],
  ['rib routes 2000 | count', { count: 2000 }],
  ['rib routes 2000 | match "65001 65003"', { routes: [{ prefix: '10.0.1.0/24', 'as-path': [65001, 65003] }] }],
  ['rib routes 1000 | match 10.0.77.0 | json', { routes: [{ prefix: '10.0.77.0/24', 'as-path': [65001, 65079] }] }],
  ['show version', { version: '0.1.0', node: process.version }],
  ['show uptime', { uptime: '1m5s', 'uptime-seconds': 65, started: '2025-12-31T23:58:55.000Z' }],
  [
    'show warnings',
    [
      {
        source: 'bgp',
        code: 'prefix-threshold',
        severity: 'warning',
        subject: '192.0.2.1/ipv4/unicast',
        message: 'near',
        detail: {},
        raised: '2026-01-01T00:00:00.000Z',
        updated: '2026-01-01T00:00:01.000Z',
      },
    ],
  ],
  ['show errors', []],
  [
    'show event namespaces',
    {
      namespaces: [
        { namespace: 'bgp', types: 2, count: 7 },
        { namespace: 'config', types: 1, count: 1 },
      ],
    },
  ],
  [
    'event recent count 1',
    {
      events: [
        { time: '2026-01-01T00:00:01.000Z', namespace: 'bgp', type: 'update', direction: 'received', peer: 'edge', id: 7 },
      ],
    },
  ],
  ['peer edge teardown 2 going "down  now"', { peer: '192.0.2.1', subcode: 2, 'shutdown-message': 'going down  now' }],
  ['peer edge refresh ipv4/unicast', { peer: '192.0.2.1', family: 'ipv4/unicast', sent: 'refresh' }],
  ['peer edge clear soft', { peer: '192.0.2.1', families: ['ipv4/unicast'] }],
  [
    'peer edge update text nlri ipv4/unicast add 10.0.0.0/8',
    { announced: 1, withdrawn: 0, 'peers-affected': 1, 'routes-sent': 1 },
  ],
  [
    'peer edge update text nlri ipv4/unicast del',
    { status: 'warning', announced: 0, withdrawn: 0, 'peers-affected': 1, 'routes-sent': 1, warnings: ['nothing to do'] },
  ],
  ['peer 192.0.2.1 raw keepalive hex', { peer: '192.0.2.1', bytes: 19, type: 'keepalive' }],
  ['peer 192.0.2.1 raw hex 0102', { peer: '192.0.2.1', bytes: 2, mode: 'full-packet' }],
  [
    'log recent level info',
    [
      {
        time: '1970-01-01T00:00:00.000Z',
        level: 'info',
        subsystem: 'bgp.session',
        message: 'session up',
        fields: { peer: 'edge' },
      },
    ],
  ],
  ['log set plugin debug', { subsystem: 'plugin', level: 'debug' }],
  ['daemon shutdown', { status: 'stopping' }],
  ['peer l* list', { peers: { '198.51.100.7': { 'remote-as': 65003, state: 'active', uptime: '0s', name: 'lab' } } }],
  ['peer !*a*,!c* clear soft', { peer: '192.0.2.1', families: ['ipv4/unicast'] }],
  ['cache list', [{ id: 7, peer: '192.0.2.1', bytes: 59, 'age-seconds': 2, retained: 1, 'waiting-for': ['slow'] }]],
  ['cache 7,8 retain', { action: 'retain', ids: [7, 8] }],
  ['bgp cache 7 release', { action: 'release', ids: [7] }],
  ['cache expire 7,700', { action: 'expire', ids: [7], 'not-found': [700] }],
  ['cache 7 forward as64500,edge', { action: 'forward', ids: [7], peers: 2 }],
  ['cache forward 7 e*', { action: 'forward', ids: [7], peers: 1 }],
] as const) {
  test(`answer: ${text}`, async () => assert.deepEqual(await run(text), { status: 'done', data: expected }));
}

test('teardown of a peer that was down for good says that it was started: no Cease went out', async () => {
  const fake = fakeContext();
  const { snapshot } = fake.context.reactor;
  Object.assign(fake.context.reactor, {
    snapshot: async (wanted?: readonly number[]) => (await snapshot(wanted)).map((state) => ({ ...state, adminDown: true })),
  });
  const answer = await fake.dispatcher.dispatch('peer edge teardown 2', OPERATOR, new AbortController().signal).collapse();
  assert.deepEqual(answer, { status: 'done', data: { peer: '192.0.2.1', started: true } });
});

// command → error text
for (const [text, message] of [
  ['peer edgee detail', 'no peer is called "edgee" (did you mean "edge"?) (column 6)'],
  ['peer 192.0.2.9 detail', 'no peer matches "192.0.2.9" (did you mean "192.0.2.1"?) (column 6)'],
  ['peer edge,192.0.2.9 teardown 2', 'no peer matches "192.0.2.9" (did you mean "192.0.2.1"?) (column 11)'],
  ['peer 203.0.113.* detail', 'no peer matches "203.0.113.*" (column 6)'],
  ['peer edge refresh ipv4/unicats', 'unknown family: ipv4/unicats (did you mean "ipv4/unicast"?) (column 19)'],
  ['peer edge update text bogus 1', 'unknown attribute: bogus (column 23)'],
  ['peer lab clear soft', '198.51.100.7: the session is not established'],
  ['peer lab teardown 2', '198.51.100.7: session is not established'],
  ['peer * raw hex 01', 'raw needs one peer, given by its address (column 6)'],
  ['peer edge raw hex 01', 'raw needs one peer, given by its address (column 6)'],
  ['peer 192.0.2.1 raw hex 0', 'expected hex bytes (column 24)'],
  ['peer 192.0.2.1 raw b64 @', 'expected b64 bytes (column 24)'],
  ['peer 192.0.2.1 raw update', 'expected hex or b64, got  (column 26)'],
  ['monitor event include updte', 'unknown event type: updte (did you mean "update"?) (column 23)'],
  ['subscribe bgp event update', 'subscribe is for connected processes; to watch events use: monitor event'],
  ['daemon reload', 'the running configuration is unchanged: line 3: unknown field'],
  ['log set plugn debug', 'unknown subsystem: plugn (did you mean "plugin"?) (column 9)'],
  ['rib down', 'plugin process not running'],
  ['cache 700,800 retain', 'update-id expired or not found: 700, 800 (column 7)'],
  ['cache seven retain', 'bad id "seven" (column 7)'],
  ['cache 7 forward', 'cache forward requires peers: cache IDS forward SEL'],
  ['cache 7 expire edge', 'cache expire takes no peers (column 16)'],
  ['cache forward 7 nobody', 'no peer matches "nobody" (column 17)'],
  ['peer x* list', 'no peer matches "x*" (column 6)'],
  ['summary | nonsense', 'unknown pipe operator: nonsense (column 11)'],
] as const) {
  test(`failure: ${text}`, async () => assert.deepEqual(await run(text), { status: 'error', error: message }));
}

test('a text that names no command is a nay', async () => {
  await assert.rejects(
    () => run('shwo version'),
    (error: unknown) =>
      error instanceof RpcError &&
      error.code === 'unknown-command' &&
      error.message === 'unknown command: shwo version (did you mean "show"?) (column 1)',
  );
});

test('acting on several peers names those that failed', async () => {
  const fake = fakeContext();
  const reader = fake.dispatcher.dispatch('peer * teardown 2', OPERATOR, never);
  const { data } = await reader.collapse();
  assert.deepEqual(data, {
    data: [
      { peer: '192.0.2.1', subcode: 2, 'shutdown-message': '' },
      { peer: '2001:db8::2', subcode: 2, 'shutdown-message': '' },
    ],
    errors: [{ peer: '198.51.100.7', message: 'session is not established' }],
  });
  assert.deepEqual(await reader.verdict, { outcome: 'partial', produced: 2, rejected: 1, message: '' });
  assert.deepEqual(fake.asked, ['teardown 1 2 ', 'teardown 2 2 ', 'teardown 3 2 ']);
});

test('a plugin gets its declared name, the words and the selector', async () => {
  const fake = fakeContext();
  await run('peer edge bgp rib show 1 "a b"', OPERATOR, fake);
  await run('RIB Status', OPERATOR, fake);
  assert.deepEqual(fake.asked, [
    'execute bgp-rib {"serial":"","command":"rib routes","args":["1","a b"],"peer":"edge"}',
    'execute bgp-rib {"serial":"","command":"rib status","args":[],"peer":"*"}',
  ]);
});

test('exact names and ready words reach the same commands', async () => {
  const fake = fakeContext();
  const dispatch = (command: string, args: readonly string[], peer = ''): Promise<Collapsed> =>
    fake.dispatcher.dispatchArgs({ command, args, peer }, OPERATOR, never).collapse();
  assert.deepEqual((await dispatch('peer teardown', ['2', '| count "x'], 'edge')).data, {
    peer: '192.0.2.1',
    subcode: 2,
    'shutdown-message': '| count "x',
  });
  await dispatch('rib routes', ['1', '|', 'count']);
  assert.equal(fake.asked.at(-1), 'execute bgp-rib {"serial":"","command":"rib routes","args":["1","|","count"],"peer":"*"}');
});

test('a reader with no edit permission reads, and nothing else', async () => {
  const reader: Caller = { user: 'web:guest', access: 'read' };
  assert.equal((await run('summary', reader)).status, 'done');
  for (const text of ['peer edge teardown 2', 'daemon shutdown', 'rib routes', 'log set plugin debug']) {
    assert.match(String((await run(text, reader)).error), /needs edit permission; web:guest may only read/, text);
  }
});

test('a plugin sends only what its process blocks grant', async () => {
  const update = 'peer edge update text nlri ipv4/unicast add 10.0.0.0/8';
  assert.equal((await run(update, pluginCaller('trusted'))).status, 'done');
  assert.equal((await run(update, pluginCaller('half'))).status, 'done');
  assert.match(String((await run(update, pluginCaller('stranger'))).error), /plugin:stranger may not send update to edge/);
  assert.match(String((await run('peer edge refresh ipv4/unicast', pluginCaller('half'))).error), /may not send refresh/);
  assert.match(String((await run('peer 192.0.2.1 raw hex 01', pluginCaller('half'))).error), /may not send raw/);
});

test('a plugin subscribes by text, and reports a session ready', async () => {
  const fake = fakeContext();
  await run('peer edge subscribe bgp event update direction received', pluginCaller('p'), fake);
  await run('unsubscribe bgp event *', pluginCaller('p'), fake);
  assert.deepEqual(fake.asked, ['subscribe p peer edge bgp event update direction received', 'unsubscribe p bgp event *']);
  assert.deepEqual((await run('peer edge plugin session ready 81', pluginCaller('trusted'))).data, { ready: true });
  for (const words of ['session 81 ready', 'session ready 81']) {
    assert.deepEqual((await run(`request peer edge plugin ${words}`, pluginCaller('trusted'))).data, { ready: true });
  }
  assert.match(String((await run('peer edge plugin session 80 ready', pluginCaller('trusted'))).error), /token/);
  assert.equal((await run('peer edge plugin session ready', OPERATOR)).status, 'error');
});

test('the daemon stops after it has answered', async () => {
  const clock = new ManualClock();
  const fake = fakeContext(clock);
  await run('daemon shutdown', OPERATOR, fake);
  assert.deepEqual(fake.asked, []);
  clock.advance(1000);
  assert.deepEqual(fake.asked, ['stop daemon shutdown by operator']);
});

test('rows are pulled: what nobody reads is not produced, and cancelling stops the plugin', async () => {
  const fake = fakeContext();
  const reader = fake.dispatcher.dispatch('rib routes 1000000 | match 10.', OPERATOR, never);
  for await (const records of reader.chunks()) {
    assert.ok(records.length > 0);
    break;
  }
  assert.ok(fake.produced() < 2000, String(fake.produced()));
  assert.equal(fake.cancelled(), 1);
});

test('aborting the caller stops the plugin', async () => {
  const fake = fakeContext();
  const abort = new AbortController();
  const reader = fake.dispatcher.dispatch('rib routes 1000000', OPERATOR, abort.signal);
  await reader.head;
  abort.abort();
  let rows = 0;
  for await (const records of reader.chunks()) rows += records.length;
  assert.ok(rows < 2000);
  assert.equal(fake.cancelled(), 1);
});

test('monitor shows its head at once, then events, and gives the tap back', async () => {
  const fake = fakeContext();
  const reader = fake.dispatcher.dispatch(
    'monitor event peer edge include update,state exclude bgp/state direction received | match x',
    OPERATOR,
    never,
  );
  assert.deepEqual(await reader.head, { itemType: 'map', envelope: 'events', columns: [] });
  const [tap] = fake.taps;
  assert.deepEqual(
    [tap?.filter.include, tap?.filter.exclude, tap?.filter.direction, tap?.filter.peers.text],
    [['update', 'state'], ['bgp/state'], 'received', 'edge'],
  );
  fake.push('{"n":"x1"}\n');
  fake.push('{"n":"y2"}');
  fake.push('{"n":"x3"}');
  const seen: string[] = [];
  for await (const records of reader.chunks()) {
    seen.push(...records.map((record) => record.json));
    if (seen.length === 2) break;
  }
  assert.deepEqual(seen, ['{"n":"x1"}', '{"n":"x3"}']);
  assert.equal(fake.taps.size, 0);
});

test('a plugin that goes takes its commands along', async () => {
  const fake = fakeContext();
  fake.dispatcher.remove('bgp-rib');
  await assert.rejects(() => run('rib routes', OPERATOR, fake), /unknown command: rib routes/);
});

test('a pipe alias of a plugin stands for its operators, on its own command alone', async () => {
  const fake = fakeContext();
  const pipe = { command: 'RIB  routes', name: 'tenths', expansion: 'match 10.0.1 | count' };
  assert.equal(fake.dispatcher.checkPipe('bgp-rib', pipe), undefined);
  fake.dispatcher.addPipes('bgp-rib', [pipe]);
  assert.deepEqual((await run('rib routes 30 | tenths', OPERATOR, fake)).data, { count: 11 });
  assert.deepEqual((await run('rib routes 30 | tenths | json', OPERATOR, fake)).data, { count: 11 });
  assert.match(String((await run('rib routes | tenths 5', OPERATOR, fake)).error), /tenths takes no "5"/);
  assert.match(String((await run('rib status | tenths', OPERATOR, fake)).error), /unknown pipe operator: tenths/);
  fake.dispatcher.remove('bgp-rib');
  fake.dispatcher.add('bgp-rib', [{ name: 'rib routes' }]);
  assert.match(String((await run('rib routes | tenths', OPERATOR, fake)).error), /unknown pipe operator: tenths/);
});

for (const [expansion, reason] of [
  ['', /a pipe needs an operator/],
  ['nonsense', /unknown pipe operator: nonsense/],
  ['match "x', /unterminated quote/],
  ['json | yaml', /multiple format operators/],
] as const) {
  test(`an alias must expand: ${JSON.stringify(expansion)}`, () => {
    assert.match(String(fakeContext().dispatcher.checkPipe('p', { command: 'x', name: 'y', expansion })), reason);
  });
}

test('an alias cannot take the name of an operator', () => {
  assert.match(
    String(fakeContext().dispatcher.checkPipe('p', { command: 'x', name: 'count', expansion: 'match a' })),
    /operator of the engine/,
  );
});
