// Each handler of a plugin gets the events it asked for, whatever the others asked for.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { definePlugin, type Engine, type RoutePath } from '../../../sdk/plugin/index.ts';
import { pipePair } from '../../../sdk/rpc/index.ts';
import { EngineLink, FakeEngine } from '../../../sdk/testing/index.ts';

const awake = setInterval(() => undefined, 1000);
after(() => clearInterval(awake));

const message = (type: string, direction: string | undefined, peer = 'a', more: object = {}): string =>
  JSON.stringify({
    type: 'bgp',
    bgp: {
      message: { type, ...(direction === undefined ? {} : { direction }) },
      peer: { name: peer, remote: { address: peer === 'a' ? '192.0.2.1' : '192.0.2.2', as: 65001 } },
      ...more,
    },
  });

/** Every event of the table, in its order, with the word it is known by. */
const EVENTS: Readonly<Record<string, string>> = {
  'update-in': message('update', 'received'),
  'update-out': message('sent', 'sent'),
  'update-in-b': message('update', 'received', 'b'),
  state: message('state', undefined, 'a', { state: 'up' }),
  open: message('open', 'received'),
  borr: message('borr', 'received'),
  eor: message('eor', undefined),
  line: 'peer 192.0.2.1 remote as 65001 received update 7 origin igp\n',
  'state-line': 'peer 192.0.2.1 remote as 65001 state up\n',
  strange: 'no event at all',
};

const rows: readonly {
  readonly events: readonly string[];
  readonly peers?: readonly string[];
  readonly gets: readonly (keyof typeof EVENTS)[];
}[] = [
  { events: ['update'], gets: ['update-in', 'update-out', 'update-in-b', 'line', 'strange'] },
  { events: ['update direction received'], gets: ['update-in', 'update-in-b', 'line', 'strange'] },
  { events: ['update direction sent'], gets: ['update-out', 'strange'] },
  { events: ['update direction both', 'eor'], gets: ['update-in', 'update-out', 'update-in-b', 'eor', 'line', 'strange'] },
  { events: ['state'], gets: ['state', 'state-line', 'strange'] },
  { events: ['open'], gets: ['open', 'strange'] },
  { events: ['refresh'], gets: ['borr', 'strange'] },
  { events: ['*'], gets: Object.keys(EVENTS) },
  { events: ['update'], peers: ['b'], gets: ['update-in-b', 'line', 'strange'] },
  { events: ['update'], peers: ['!b'], gets: ['update-in', 'update-out', 'line', 'strange'] },
  {
    events: ['update', 'open'],
    peers: ['192.0.2.2', 'as65001'],
    gets: ['update-in', 'update-out', 'update-in-b', 'open', 'line', 'strange'],
  },
];

async function running(
  setup: (engine: Engine) => void,
  work: (host: EngineLink, subscribe: unknown) => Promise<void>,
): Promise<void> {
  const [near, far] = pipePair();
  const run = definePlugin({ name: 'probe', setup }).run({ conn: near });
  const host = new EngineLink(far);
  const { ready } = await host.start();
  await work(host, ready.subscribe);
  await host.bye();
  await run;
}

test('each handler gets what its own subscription names', async () => {
  const got = rows.map((): string[] => []);
  await running(
    (engine) => {
      rows.forEach(({ events, peers }, i) => engine.onEvent({ events, peers }, (text) => void got[i]?.push(text)));
    },
    async (host, subscribe) => {
      assert.deepEqual(
        (subscribe as { peers?: unknown }).peers,
        undefined,
        'somebody wants every peer, so every peer is subscribed to',
      );
      await host.mux.call('ze-plugin-callback:deliver-batch', { events: Object.values(EVENTS) });
    },
  );
  const named = got.map((texts) => texts.map((text) => Object.keys(EVENTS).find((name) => EVENTS[name] === text)));
  assert.deepEqual(
    named,
    rows.map((row) => row.gets),
  );
});

const peersOf: readonly (readonly [lists: readonly (readonly string[] | undefined)[], want: readonly string[] | undefined])[] = [
  [[['a']], ['a']],
  [[['!a']], ['!a']],
  [
    [['a'], ['b', 'a']],
    ['a', 'b'],
  ],
  [[['!a'], ['b']], undefined],
  [[['a'], undefined], undefined],
];
for (const [lists, want] of peersOf) {
  test(`subscriptions to ${JSON.stringify(lists)} subscribe to ${want === undefined ? 'every peer' : JSON.stringify(want)}`, () =>
    running(
      (engine) => {
        for (const peers of lists) engine.onEvent({ events: ['update'], peers }, () => undefined);
      },
      (_host, subscribe) => {
        assert.deepEqual((subscribe as { peers?: readonly string[] }).peers, want);
        return Promise.resolve();
      },
    ));
}

test('updates beside a text handler come in the full format, received ones to who wants no sent ones', async () => {
  const got: string[] = [];
  await running(
    (engine) => {
      engine.onUpdates((batch) => got.push(`received ${batch.direction(0)} ${batch.messageId(0)}`));
      engine.onUpdates((batch) => got.push(`all ${batch.direction(0)} ${batch.messageId(0)}`), { sent: true });
      engine.onEvent({ events: ['update'] }, () => void got.push('text'));
    },
    async (host, subscribe) => {
      assert.deepEqual(subscribe, { events: ['update direction received', 'negotiated', 'update'], format: 'full' });
      const raw = { raw: { update: '00000000' } };
      const events = [message('update', 'received', 'a', raw), message('sent', 'sent', 'a', raw)];
      await host.mux.call('ze-plugin-callback:deliver-batch', { events });
    },
  );
  assert.deepEqual(got, ['received 1 0', 'all 1 0', 'text', 'all 2 0', 'text']);
});

test('handlers that contradict each other are refused at setup', async () => {
  const bad: readonly (readonly [setup: (engine: Engine) => void, message: RegExp])[] = [
    [
      (engine) => {
        engine.onEvent({ events: ['update'], format: 'raw' }, () => undefined);
        engine.onEvent({ events: ['state'], format: 'parsed' }, () => undefined);
      },
      /one format serves the whole plugin: "raw" and "parsed"/,
    ],
    [
      (engine) => {
        engine.onUpdates(() => undefined);
        engine.onEvent({ events: ['eor'], format: 'summary' }, () => undefined);
      },
      /the format is raw or full, not "summary"/,
    ],
    [(engine) => engine.onEvent({ events: [] }, () => undefined), /names at least one event/],
    [(engine) => engine.onEvent({ events: ['update received'] }, () => undefined), /not an event: "update received"/],
  ];
  for (const [setup, want] of bad) {
    const [near] = pipePair();
    await assert.rejects(definePlugin({ name: 'probe', setup }).run({ conn: near }), want);
  }
});

test('a gap goes to onGap alone, and to the log when nobody listens', async () => {
  const gap = '{"type":"gap","gap":{"dropped":3,"first":7,"last":9},"meta":{"schema-version":1,"seq":10}}';
  for (const listens of [true, false]) {
    const got: unknown[] = [];
    const logged: unknown[] = [];
    const [near, far] = pipePair();
    const log = {
      error: () => undefined,
      warn: (fields: object) => logged.push(fields),
      info: () => undefined,
      debug: () => undefined,
    };
    const run = definePlugin({
      name: 'probe',
      setup(engine) {
        engine.onEvent({ events: ['update'] }, (text) => void got.push(text));
        if (listens) engine.onGap((one) => void got.push(one));
      },
    }).run({ conn: near, log });
    const host = new EngineLink(far);
    await host.start();
    await host.mux.call('ze-plugin-callback:deliver-batch', { events: [gap, 'gap dropped 1 first 2 last 2\n'] });
    await host.bye();
    await run;
    const gaps = [
      { dropped: 3, first: 7, last: 9 },
      { dropped: 1, first: 2, last: 2 },
    ];
    assert.deepEqual(got, listens ? gaps : []);
    assert.deepEqual(logged, listens ? [] : gaps);
  }
});

test('events of another namespace are subscribed to when the plugin is up and come out of their envelope', async () => {
  const got: string[] = [];
  let subscribed: unknown;
  await running(
    (engine) => {
      engine.onEvent({ namespace: 'bgp-rib', events: ['best-change'] }, (text) => void got.push(text));
      engine.onEvent({ events: ['state'] }, () => void got.push('state'));
      engine.onStarted(() => void got.push('started'));
    },
    async (host, subscribe) => {
      assert.deepEqual(subscribe, { events: ['state'] });
      host.mux.serve('ze-plugin-engine:subscribe-events', (input) => {
        subscribed = input;
        return undefined;
      });
      await host.mux.call('ze-plugin-callback:deliver-batch', {
        events: [
          '{"namespace":"bgp-rib","event":"best-change","payload":{"family":"ipv4/unicast","id":18446744073709551615}}',
          '{"namespace":"bgp-rib","event":"cache","payload":{}}',
          '{"namespace":"other","event":"best-change","payload":{}}',
          message('state', undefined),
        ],
      });
    },
  );
  assert.deepEqual(subscribed, { namespace: 'bgp-rib', events: ['best-change'], envelope: true });
  assert.deepEqual(got, ['started', '{"family":"ipv4/unicast","id":18446744073709551615}', 'state']);
});

test('a state handler that rejects is told to the engine outside, and to the log inside', async () => {
  const failing = definePlugin({
    name: 'failing',
    setup: (engine) => engine.onState(() => Promise.reject(new Error('no route'))),
  });
  for (const inProcess of [false, true]) {
    await using engine = await FakeEngine.start(failing, { inProcess });
    if (inProcess) await engine.up('edge');
    else await assert.rejects(engine.up('edge'), /no route/);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(
      engine.logged,
      inProcess ? [{ level: 'error', fields: { fault: 'no route' }, message: 'a state handler failed' }] : [],
    );
  }
});

test('a plugin placed in the reactor is told where its updates are', async () => {
  for (const [what, setup] of [
    ['engine.routes.onUpdate', (engine: Engine) => engine.onUpdates(() => undefined)],
    ['engine.routes.onPeerUp', (engine: Engine) => engine.onState(() => undefined)],
  ] as const) {
    const definition = definePlugin({ name: 'probe', placement: 'reactor', setup });
    await assert.rejects(definition.describe(), new RegExp(`placed in the reactor's thread: use ${what}`));
    const [conn] = pipePair();
    const bridge = { routes: {} as RoutePath, attach: never, call: never, dispatch: never, close: () => undefined };
    await assert.rejects(definePlugin({ name: 'probe', setup }).run({ conn, bridge }), /reactor/);
  }
});

function never(): never {
  throw new Error('not to be called');
}
