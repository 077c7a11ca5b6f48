// bgp-rib against a fake route path: what it publishes, what its commands answer, what happens when peers come and go.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import bgpRib from '../../../plugins/bgp-rib/index.ts';
import type { AnswerRecord } from '../../../sdk/rpc/answer.ts';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../../sdk/wire/family.ts';
import { FakeRoutePath } from '../../support/fake-route-path.ts';
import { type RunningPlugin, runPlugin } from '../../support/run-plugin.ts';

const running: RunningPlugin[] = [];
after(() => Promise.all(running.map((plugin) => plugin.stop())));

async function start(): Promise<{ routes: FakeRoutePath; plugin: RunningPlugin }> {
  const routes = new FakeRoutePath();
  const plugin = await runPlugin(bgpRib, routes);
  running.push(plugin);
  return { routes, plugin };
}

/** Two external peers, up; `a` is preferred by its lower identifier. */
async function pair(): Promise<{ routes: FakeRoutePath; plugin: RunningPlugin; a: number; b: number }> {
  const { routes, plugin } = await start();
  const a = routes.add('a');
  const b = routes.add('b');
  routes.up(a);
  routes.up(b);
  routes.drain();
  return { routes, plugin, a, b };
}

/** The document a command answered, asserted to be no error. */
async function answer(plugin: RunningPlugin, command: string, args = '', peer = '*'): Promise<unknown> {
  const { status, data, error } = await plugin.ask(command, args, peer);
  assert.equal(status, 'done', error);
  return data;
}

function rows(value: unknown): readonly Record<string, unknown>[] {
  return Object.values(value as Record<string, unknown>)[0] as readonly Record<string, unknown>[];
}

test('it declares its commands, their older names and fields', async () => {
  const { plugin } = await start();
  const commands = plugin.registration.commands ?? [];
  const names = commands.filter((command) => command.hidden !== true).map((command) => command.name);
  assert.deepEqual(names, [
    'rib status',
    'rib routes',
    'rib best',
    'rib best status',
    'rib lookup',
    'rib clear in',
    'rib clear out',
    'rib inject',
    'rib withdraw',
  ]);
  const best = commands.find((command) => command.name === 'rib best');
  assert.deepEqual(
    [best?.columns, best?.['deprecated-names']],
    [
      ['family', 'prefix', 'best-peer', 'multipath-peers', 'attributes'],
      ['bgp rib show best', 'bgp rib best'],
    ],
  );
});

test('best routes are published at a flush, each changed prefix once', async () => {
  const { routes, a, b } = await pair();
  // An empty table is named when a peer comes up, so that exporters have it before the first route.
  assert.ok(routes.published.length > 0 && routes.published.every((one) => one.prefixes.length === 0));
  const named = routes.published.length;
  routes.announce(a, ['198.51.100.0/24', '203.0.113.0/24'], { path: [1, 2] });
  routes.announce(b, ['198.51.100.0/24'], { path: [3] });
  assert.equal(routes.published.length, named);
  routes.flush();
  routes.flush();
  assert.deepEqual(
    routes.published.slice(named).map((one) => one.prefixes),
    [['198.51.100.0/24 b', '203.0.113.0/24 a']],
  );
  routes.withdraw(b, ['198.51.100.0/24']);
  routes.flush();
  assert.deepEqual(routes.published.at(-1)?.prefixes, ['198.51.100.0/24 a']);
});

test('it counts the routes of a peer and family for the prefix limits', async () => {
  const { routes, a, b } = await pair();
  routes.announce(a, ['10.0.0.0/8', '11.0.0.0/8'], {});
  routes.withdraw(a, ['11.0.0.0/8', '12.0.0.0/8']);
  const counts = [a, b].flatMap((peer) => [IPV4_UNICAST, IPV6_UNICAST].map((family) => routes.counter?.(peer, family)));
  assert.deepEqual(counts, [1, 0, 0, 0]);
});

test('a peer that goes down loses its routes in slices; one that comes back starts empty', async () => {
  const { routes, plugin, a, b } = await pair();
  const prefixes = Array.from({ length: 500 }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`);
  for (let at = 0; at < prefixes.length; at += 100) routes.announce(a, prefixes.slice(at, at + 100), {});
  routes.announce(b, ['10.0.0.0/24'], {});
  routes.flush();
  routes.down(a);
  assert.equal(((await answer(plugin, 'rib status')) as Record<string, unknown>)['routes-in'], 501);
  routes.drain();
  const gone = routes.published.at(-1)?.prefixes ?? [];
  assert.deepEqual([gone.length, gone[0], gone[1]], [500, '10.0.0.0/24 b', '10.0.1.0/24 -']);

  routes.up(a);
  routes.announce(a, ['10.9.9.0/24'], {});
  routes.down(a);
  routes.up(a);
  routes.announce(a, ['10.8.8.0/24'], {});
  routes.drain();
  const received = rows(await answer(plugin, 'rib routes', 'received', 'a'));
  assert.deepEqual(
    received.map((row) => row['prefix']),
    ['10.8.8.0/24'],
  );
});

test('rib routes: fields of a received route', async () => {
  const { routes, plugin, a } = await pair();
  const attributes = {
    origin: 1,
    path: [65001, [7, 8]],
    med: 5,
    localPreference: 300,
    communities: [(64500 << 16) | 1],
    nextHop: '192.0.2.9',
  };
  routes.announce(a, ['198.51.100.0/24'], attributes);
  assert.deepEqual(await answer(plugin, 'rib routes', 'received'), {
    'adj-rib-in': [
      {
        direction: 'received',
        peer: '192.0.2.1',
        family: 'ipv4/unicast',
        prefix: '198.51.100.0/24',
        origin: 'egp',
        'as-path': [65001, 7, 8],
        'next-hop': '192.0.2.9',
        med: 5,
        community: ['64500:1'],
      },
    ],
  });
});

const FILTERED: readonly (readonly [args: string, prefixes: readonly string[]])[] = [
  ['', ['10.0.0.0/8', '10.1.0.0/16', '11.0.0.0/8', '2001:db8::/32']],
  ['received family ipv6/unicast', ['2001:db8::/32']],
  ['prefix 10.', ['10.0.0.0/8', '10.1.0.0/16']],
  ['path 300', ['10.1.0.0/16', '11.0.0.0/8']],
  ['path 200,300', ['10.1.0.0/16']],
  ['path ^300', ['11.0.0.0/8']],
  ['aspath ^100,200', ['10.1.0.0/16', '10.0.0.0/8'].sort()],
  ['community 64500:7', ['10.1.0.0/16']],
  ['community no-export', ['11.0.0.0/8']],
  ['match EGP', ['11.0.0.0/8']],
  ['prefix 1 path 300 match igp', ['10.1.0.0/16']],
  ['prefix 12.', []],
];

test('rib routes and rib best: filters', async (t) => {
  const { routes, plugin } = await start();
  const a = routes.add('a', { families: [IPV4_UNICAST, IPV6_UNICAST] });
  routes.up(a);
  routes.announce(a, ['10.0.0.0/8'], { path: [100, 200] });
  routes.announce(a, ['10.1.0.0/16'], { path: [100, 200, 300], communities: [(64500 << 16) | 7] });
  routes.announce(a, ['11.0.0.0/8'], { path: [300], origin: 1, communities: [0xffffff01] });
  routes.announce(a, ['2001:db8::/32'], { path: [400] }, { family: IPV6_UNICAST, nextHop: '2001:db8::1' });
  for (const [args, prefixes] of FILTERED) {
    await t.test(args, async () => {
      const found = rows(await answer(plugin, 'rib routes', args)).map((row) => row['prefix']);
      assert.deepEqual(found, prefixes);
      if (args.startsWith('received')) return;
      const best = rows(await answer(plugin, 'rib best', args)).map((row) => row['prefix']);
      assert.deepEqual(best, prefixes);
      assert.deepEqual(await answer(plugin, 'rib routes', `${args} count`), { count: prefixes.length });
    });
  }
  assert.deepEqual(await answer(plugin, 'rib routes', 'prefix-summary'), {
    'prefix-summary': [
      { family: 'ipv4/unicast', 'prefix-length': 8, routes: 2 },
      { family: 'ipv4/unicast', 'prefix-length': 16, routes: 1 },
      { family: 'ipv6/unicast', 'prefix-length': 32, routes: 1 },
    ],
  });
});

const REFUSED: readonly (readonly [command: string, args: string, error: string])[] = [
  ['rib routes', 'count prefix 10.', 'filter after terminal: prefix'],
  ['rib routes', 'count json', 'multiple terminals not allowed'],
  ['rib routes', 'path', 'path requires a value'],
  ['rib routes', 'reason', 'unknown keyword: reason'],
  ['rib routes', 'prefix 10. received', 'unknown keyword: received'],
  ['rib routes', 'path x', 'bad path: x'],
  ['rib routes', 'family ipv9/unicast', 'unknown family: ipv9/unicast'],
  ['rib best', 'received', 'unknown keyword: received'],
  ['rib lookup', 'somewhere', 'rib lookup takes one address, not "somewhere"'],
  ['rib lookup', '192.0.2.1', 'no route to 192.0.2.1'],
  ['rib clear in', 'nobody', 'no peer matches "nobody"'],
  ['rib clear in', '', 'rib clear in requires a peer: rib clear in SEL, * for all'],
  [
    'rib inject',
    '',
    'rib inject requires PEER: rib inject PEER FAMILY PREFIX [origin O] [nhop IP] [aspath A,B] [localpref N] [med N]',
  ],
  ['rib withdraw', 'a ipv4/unicast', 'rib withdraw requires PREFIX: rib withdraw PEER FAMILY PREFIX'],
  ['rib inject', 'nobody ipv4/unicast 10.0.0.0/8', 'unknown peer: nobody'],
  ['rib inject', 'a ipv4/unicast 2001:db8::/32', 'bad prefix for ipv4/unicast: 2001:db8::/32'],
  ['rib inject', 'a ipv4/unicast 10.0.0.0/8 med', 'med requires a value'],
  ['rib inject', 'a ipv4/unicast 10.0.0.0/8 origin best', 'bad origin: best'],
  ['rib withdraw', 'a ipv4/unicast 10.0.0.0/8 med 5', 'unknown keyword: med'],
];

test('commands that cannot be answered say why', async (t) => {
  const { plugin } = await pair();
  for (const [command, args, error] of REFUSED) {
    await t.test(`${command} ${args}`, async () => {
      assert.deepEqual(await plugin.ask(command, args), { status: 'error', error });
    });
  }
});

test('the peer selector chooses whose routes are shown', async () => {
  const { routes, plugin, a, b } = await pair();
  routes.announce(a, ['10.0.0.0/8'], {});
  routes.announce(b, ['11.0.0.0/8'], {});
  const shown = async (selector: string): Promise<unknown[]> =>
    rows(await answer(plugin, 'rib routes', 'received', selector)).map((row) => row['peer']);
  for (const [selector, peers] of [
    ['*', ['192.0.2.1', '192.0.2.2']],
    ['b', ['192.0.2.2']],
    ['192.0.2.1', ['192.0.2.1']],
    ['as65002', ['192.0.2.2']],
    ['192.0.*.2', ['192.0.2.2']],
    ['!a', ['192.0.2.2']],
    ['a,b', ['192.0.2.1', '192.0.2.2']],
    ['*,!b', ['192.0.2.1']],
    ['nobody', []],
  ] as const) {
    assert.deepEqual(await shown(selector), peers, selector);
  }
});

test('rib best reason: each comparison names its step; rib lookup gives the longest match with all of it', async () => {
  const { routes, plugin, a, b } = await pair();
  routes.announce(a, ['10.0.0.0/8'], { path: [1, 2] });
  routes.announce(b, ['10.0.0.0/8'], { path: [3] });
  routes.announce(b, ['10.1.0.0/16'], { path: [3] });
  const reason = {
    family: 'ipv4/unicast',
    prefix: '10.0.0.0/8',
    'winner-peer': '192.0.2.2',
    candidates: 2,
    steps: [{ step: 'as-path-length', incumbent: '192.0.2.2', challenger: '192.0.2.1', winner: '192.0.2.2', reason: '1 < 2' }],
  };
  assert.deepEqual(await answer(plugin, 'rib best', 'prefix 10.0 reason'), { 'best-path-reason': [reason] });
  const found = (await answer(plugin, 'rib lookup', '10.2.3.4')) as Record<string, unknown>;
  assert.deepEqual([found['prefix'], found['best-peer'], found['reason']], ['10.0.0.0/8', '192.0.2.2', reason]);
  assert.equal(((await answer(plugin, 'rib lookup', '10.1.3.4')) as Record<string, unknown>)['prefix'], '10.1.0.0/16');
});

test('multipath-peers: same path, up to the maximum; with relax also paths of one length', async () => {
  const { routes, plugin, a, b } = await pair();
  routes.announce(a, ['10.0.0.0/8', '11.0.0.0/8'], { path: [1] });
  routes.announce(b, ['10.0.0.0/8'], { path: [1] });
  routes.announce(b, ['11.0.0.0/8'], { path: [2] });
  const shown = async (): Promise<unknown[]> => rows(await answer(plugin, 'rib best')).map((row) => row['multipath-peers']);
  const both = ['192.0.2.1', '192.0.2.2'];
  assert.deepEqual(await shown(), [[], []]);
  routes.settings.multipathMaximum = 2;
  assert.deepEqual(await shown(), [both, []]);
  routes.settings.multipathRelax = true;
  assert.deepEqual(await shown(), [both, both]);
});

test('inject puts a route in as if the peer had sent it, withdraw takes it away', async () => {
  const { routes, plugin } = await pair();
  const injected = await answer(
    plugin,
    'rib inject',
    'b ipv4/unicast 10.0.0.0/8 origin egp nhop 192.0.2.7 aspath 1,2 localpref 50 med 3',
  );
  assert.deepEqual(injected, { peer: '192.0.2.2', family: 'ipv4/unicast', prefix: '10.0.0.0/8', injected: 1 });
  assert.deepEqual(routes.published.at(-1)?.prefixes, ['10.0.0.0/8 b']);
  const [row] = rows(await answer(plugin, 'rib best'));
  const attributes = { origin: 'egp', 'as-path': [1, 2], 'next-hop': '192.0.2.7', med: 3, 'local-preference': 50 };
  assert.deepEqual(row?.['attributes'], attributes);
  const withdrawn = await answer(plugin, 'rib withdraw', 'b ipv4/unicast 10.0.0.0/8');
  assert.equal((withdrawn as Record<string, unknown>)['withdrawn'], 1);
  assert.deepEqual(routes.published.at(-1)?.prefixes, ['10.0.0.0/8 -']);
  await answer(plugin, 'rib inject', 'b ipv6/unicast 2001:db8::/32 nhop 2001:db8::7');
  assert.deepEqual(routes.published.at(-1)?.prefixes, ['2001:db8::/32 b']);
});

test('originated routes are kept, sent again when the session comes up and on a refresh, withdrawn with their owner', async () => {
  const { routes, plugin, a, b } = await pair();
  routes.originate('one', a, '10.0.0.0/8', { path: [9] });
  routes.originate('one', a, '10.1.0.0/16', { path: [9] });
  routes.originate('two', a, '10.2.0.0/16', { path: [8] });
  routes.originate('two', b, '10.2.0.0/16', { path: [8] });
  routes.originate('one', a, '10.3.0.0/16', { path: [9] });
  routes.originate('one', a, '10.3.0.0/16', undefined);
  assert.deepEqual(
    rows(await answer(plugin, 'rib routes', 'sent', 'a')).map((row) => [row['prefix'], row['owner']].join(' ')),
    ['10.0.0.0/8 one', '10.1.0.0/16 one', '10.2.0.0/16 two'],
  );
  routes.down(a);
  const waiting = routes.up(a);
  assert.equal(waiting(), 1);
  routes.drain();
  assert.equal(waiting(), 0);
  const sent = [
    { peer: 'a', family: 'ipv4/unicast', announce: true, nlri: ['10.0.0.0/8', '10.1.0.0/16'], path: [9], nextHop: '', pathId: 0 },
    { peer: 'a', family: 'ipv4/unicast', announce: true, nlri: ['10.2.0.0/16'], path: [8], nextHop: '', pathId: 0 },
  ];
  assert.deepEqual(routes.originated.splice(0), sent);
  const cleared = plugin.ask('rib clear out', 'a');
  await new Promise((resolve) => setImmediate(resolve));
  routes.drain();
  assert.deepEqual((await cleared).data, { peers: 1, 'routes-originated': 3 });
  assert.deepEqual(routes.originated.splice(0), sent);
  routes.disown('two');
  routes.drain();
  assert.deepEqual(
    routes.originated.splice(0).map((one) => `${one.peer} ${one.announce} ${one.nlri.join()}`),
    ['a false 10.2.0.0/16', 'b false 10.2.0.0/16'],
  );
  assert.equal(((await answer(plugin, 'rib status')) as Record<string, unknown>)['routes-out'], 2);
});

test('rib routes sent shows what exporters announced', async () => {
  const { routes, plugin, a, b } = await pair();
  routes.announce(a, ['10.0.0.0/8', '11.0.0.0/8'], {});
  routes.flush();
  const table = routes.bestTables()[0]!;
  routes.exporter(table, { transparent: false });
  routes.exporters[0]!.told.add(`${b} 1`);
  const sent = rows(await answer(plugin, 'rib routes', 'sent'));
  assert.deepEqual(
    sent.map((row) => [row['direction'], row['peer'], row['prefix']]),
    [['sent', '192.0.2.2', '11.0.0.0/8']],
  );
  assert.deepEqual(await answer(plugin, 'rib routes', 'sent-received count'), { count: 3 });
});

test('rib clear in drops what the peer announced and asks for it again', async () => {
  const { routes, plugin, a } = await pair();
  routes.announce(a, ['10.0.0.0/8', '11.0.0.0/8'], {});
  routes.flush();
  const cleared = plugin.ask('rib clear in', 'a');
  await new Promise((resolve) => setImmediate(resolve));
  routes.drain();
  assert.deepEqual((await cleared).data, { peers: 1, 'routes-dropped': 2, 'refresh-requested': ['192.0.2.1'] });
  assert.deepEqual(routes.published.at(-1)?.prefixes, ['10.0.0.0/8 -', '11.0.0.0/8 -']);
  assert.deepEqual(routes.refreshRequests, ['a ipv4/unicast']);
});

test('rib clear in drops nothing of a peer that cannot be asked to send it again', async () => {
  const { routes, plugin, a } = await pair();
  routes.announce(a, ['10.0.0.0/8'], {});
  routes.flush();
  routes.deaf.add('a');
  const { status, error } = await plugin.ask('rib clear in', '*');
  assert.equal(status, 'error');
  assert.deepEqual(routes.refreshRequests, [], 'nobody was asked for nothing');
  assert.match(error ?? '', /^192\.0\.2\.1: route refresh was not negotiated, so nothing was dropped/);
  assert.equal(rows(await answer(plugin, 'rib routes', 'received')).length, 1);
});

test('graceful restart: retained routes stay, stale, and go when they are purged', async () => {
  const { routes, plugin, a } = await pair();
  await answer(plugin, 'rib retain-routes', 'a');
  routes.announce(a, ['10.0.0.0/8', '11.0.0.0/8'], {});
  routes.down(a);
  routes.drain();
  routes.up(a);
  routes.announce(a, ['11.0.0.0/8'], {});
  const stale = async (): Promise<unknown> =>
    rows(await answer(plugin, 'rib routes', 'received')).map((row) => row['stale'] ?? false);
  assert.deepEqual(await stale(), [true, false]);
  const purged = plugin.ask('rib purge-stale', 'a');
  routes.drain();
  assert.deepEqual((await purged).data, { peers: 1, 'routes-purged': 1 });
  assert.deepEqual(await stale(), [false]);
});

test('a large table is answered row by row, and a reader that leaves stops the walk', async () => {
  const { routes, plugin, a } = await pair();
  for (let i = 0; i < 40; i++) {
    routes.announce(
      a,
      Array.from({ length: 100 }, (_, k) => `10.${i}.${k}.0/24`),
      { med: i },
    );
  }
  const reader = plugin.read('rib routes', 'received');
  assert.deepEqual(await reader.head, { itemType: 'map', envelope: 'adj-rib-in', columns: [] });
  const sizes: number[] = [];
  for await (const records of reader.chunks()) sizes.push(records.length);
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    4000,
  );
  assert.ok(Math.max(...sizes) <= 320, `a chunk of ${Math.max(...sizes)}`);
  assert.deepEqual(await reader.verdict, { outcome: 'done', produced: 4000, rejected: 0, message: '' });
  let seen = 0;
  const left = plugin.read('rib routes', 'received');
  for await (const row of left) if (++seen === 10 && row !== undefined) break;
  assert.equal((await left.verdict).outcome, 'aborted');
});

test('an attribute handle that changed its meaning between two chunks is not shown with the old text', async () => {
  const { routes, plugin, a } = await pair();
  const prefixes = Array.from({ length: 400 }, (_, k) => `10.${k >> 8}.${k & 255}.0/24`);
  for (const prefix of prefixes) routes.announce(a, [prefix], { med: 1 });
  const chunks = plugin.read('rib routes', 'received').chunks();
  await chunks.next();
  for (const prefix of prefixes) routes.withdraw(a, [prefix]);
  for (const prefix of prefixes) routes.announce(a, [prefix], { med: 2 });
  const second = await chunks.next();
  assert.ok(Array.isArray(second.value) && second.value.length > 0);
  for (const record of second.value as readonly AnswerRecord[]) assert.match(record.json, /"med":2/);
});

test('a long list of routes is installed and removed in runs, and ends with its owner', async () => {
  const { routes, plugin } = await pair();
  const entries = Array.from({ length: 10_000 }, (_, k) => ({
    protocol: 'static',
    afi: 1,
    safi: 1,
    prefix: `10.${k >> 8}.${k & 255}.0/24`,
    instance: 0,
    metric: 0,
    'next-hop': '192.0.2.1',
  }));
  const best = async (): Promise<unknown> => ((await answer(plugin, 'rib status')) as Record<string, unknown>)['best-paths'];
  const settled = async <T>(work: Promise<T>): Promise<T> => {
    await new Promise((resolve) => setImmediate(resolve));
    routes.drain();
    return work;
  };
  const ask = (verb: string, list: readonly object[]) => plugin.ask(`rib ${verb}`, `one ${JSON.stringify(list)}`);
  const bad = await settled(ask('install', [...entries, { ...entries[0], prefix: '10.0.0.0/33' }]));
  assert.deepEqual([bad.status, await best()], ['error', 0], 'all or none');
  const calls = Promise.all([
    ask('install', entries),
    ask('remove', entries.slice(0, 4000)),
    ask('install', entries.slice(0, 1)),
  ]);
  assert.equal(await best(), 0, 'nothing yet: the list is read first');
  assert.deepEqual(
    (await settled(calls)).map((one) => one.data),
    [{ installed: 10_000 }, { removed: 4000 }, { installed: 1 }],
  );
  assert.equal(await best(), 6001);
  const late = ask('install', entries);
  await new Promise((resolve) => setImmediate(resolve));
  routes.disown('one');
  assert.deepEqual([(await settled(late)).status, await best()], ['error', 0]);
  assert.deepEqual((await settled(ask('install', entries.slice(0, 3000)))).data, { installed: 3000 });
  assert.equal(await best(), 3000);
});

test('installed routes are local, the lower distance wins, and they go with their owner', async () => {
  const { routes, plugin, a } = await pair();
  routes.announce(a, ['10.0.0.0/8'], { path: [65001] });
  const entry = (protocol: string, distance: number): object => ({
    protocol,
    afi: 1,
    safi: 1,
    prefix: '10.0.0.0/8',
    instance: 0,
    distance,
    metric: 0,
    'next-hop': `192.0.2.${distance}`,
  });
  const best = async (): Promise<unknown[]> => {
    const [row] = rows(await answer(plugin, 'rib best'));
    return [row?.['best-peer'], (row?.['attributes'] as Record<string, unknown>)['next-hop']];
  };
  const install = (owner: string, ...entries: readonly object[]): Promise<unknown> =>
    answer(plugin, 'rib install', `${owner} ${JSON.stringify(entries)}`);
  assert.deepEqual(await install('one', entry('static', 20)), { installed: 1 });
  assert.deepEqual(await best(), ['local', '192.0.2.20']);
  await install('two', entry('ospf', 10));
  assert.deepEqual(await best(), ['local', '192.0.2.10']);
  await install('two', entry('ospf', 30));
  assert.deepEqual(await best(), ['local', '192.0.2.20']);
  const removed = await answer(plugin, 'rib remove', `one ${JSON.stringify([entry('static', 20), entry('rip', 1)])}`);
  assert.deepEqual(removed, { removed: 1 });
  assert.deepEqual(await best(), ['local', '192.0.2.30']);
  routes.disown('two');
  assert.deepEqual(await best(), ['192.0.2.1', '192.0.2.9']);
  for (const [bad, error] of [
    [{ prefix: '10.0.0.0/33' }, 'route-install: bad prefix'],
    [{ prefix: '2001:db8::/32' }, 'route-install: bad prefix'],
    [{ safi: 128 }, 'route-install: unsupported family 1/128'],
    [{ distance: 256 }, 'route-install: bad distance'],
    [{ protocol: 'a"b' }, 'route-install: bad protocol'],
    [{ 'next-hop': 'nowhere' }, 'route-install: bad nhop: nowhere'],
    [{ instance: 2 ** 32 }, 'route-install: bad instance'],
    [{ metric: -1 }, 'route-install: bad metric'],
    [{ weight: 256 }, 'route-install: bad weight'],
    [{ 'route-type': 2 }, 'route-install: bad route-type 2'],
    [{ interface: 'a\u00adb' }, 'route-install: bad interface'],
    [{ labels: [0x100000] }, 'route-install: bad labels'],
    [{ 'backup-repair-labels': [1.5] }, 'route-install: bad backup-repair-labels'],
    [{ 'backup-next-hop': 'x' }, 'route-install: bad backup-next-hop'],
    [{ ecmp: [{ 'next-hop': '192.0.2.1' }, { weight: 300 }] }, 'route-install: bad ecmp'],
    [{ afi: 'x' }, 'rib install takes an owner and a JSON list of entries'],
  ] as const) {
    const entries = JSON.stringify([entry('rip', 1), { ...entry('static', 1), ...bad }]);
    assert.deepEqual(await plugin.ask('rib install', `one ${entries}`), { status: 'error', error });
  }
  assert.deepEqual(await best(), ['192.0.2.1', '192.0.2.9'], 'a bad entry refuses the whole call');
});

/** `[accept, peer, family, prefix, path id, state]` rows by the hidden command, as the engine sends them. */
async function decide(plugin: RunningPlugin, owner: string, ...decisions: readonly (readonly unknown[])[]): Promise<unknown> {
  const { status, data, error } = await plugin.ask('rib validate', `${owner} ${JSON.stringify(decisions)}`);
  assert.equal(status, 'done', error);
  return data;
}

const prefixesOf = (answered: unknown): readonly string[] =>
  rows(answered).map((row) => `${String(row['prefix'])} ${String(row['best-peer'] ?? row['peer'])}`);

test('a refused route is no candidate, whatever its peer sends, until it is accepted, withdrawn or its validator goes', async () => {
  const { routes, plugin, a, b } = await pair();
  routes.announce(a, ['10.0.0.0/8', '11.0.0.0/8'], { path: [1] });
  routes.announce(b, ['10.0.0.0/8'], { path: [1, 2] });
  routes.flush();
  const refusal = [0, '192.0.2.1', 'ipv4/unicast', '10.0.0.0/8', 0, 3];
  const other = [0, '192.0.2.1', 'ipv4/unicast', '11.0.0.0/8', 0, 3];
  assert.deepEqual(await decide(plugin, 'v', refusal, other), { accepted: 0, rejected: 2, early: 0 });
  assert.deepEqual(routes.published.at(-1)?.prefixes, ['10.0.0.0/8 b', '11.0.0.0/8 -']);
  assert.equal(routes.counter?.(a, IPV4_UNICAST), 2);
  const listed = rows(await answer(plugin, 'rib routes', 'received')).map((row) => [
    row['prefix'],
    row['peer'],
    row['rejected-by'],
  ]);
  assert.deepEqual(listed, [
    ['10.0.0.0/8', '192.0.2.2', undefined],
    ['10.0.0.0/8', '192.0.2.1', 'v'],
    ['11.0.0.0/8', '192.0.2.1', 'v'],
  ]);
  // Other attributes do not make it a candidate again.
  const published = routes.published.length;
  routes.announce(a, ['10.0.0.0/8'], { path: [7] });
  routes.flush();
  assert.equal(routes.published.length, published);
  assert.deepEqual(await decide(plugin, 'v', [1, ...refusal.slice(1)]), { accepted: 1, rejected: 0, early: 0 });
  assert.deepEqual(prefixesOf(await answer(plugin, 'rib best')), ['10.0.0.0/8 192.0.2.1']);
  // Withdrawn: the refusal of the other goes with the route.
  routes.withdraw(a, ['11.0.0.0/8']);
  routes.announce(a, ['11.0.0.0/8'], { path: [1] });
  routes.flush();
  assert.deepEqual(prefixesOf(await answer(plugin, 'rib best')), ['10.0.0.0/8 192.0.2.1', '11.0.0.0/8 192.0.2.1']);
  await decide(plugin, 'v', refusal, other);
  await decide(plugin, 'w', other);
  await plugin.ask('rib remove', 'v');
  assert.deepEqual(prefixesOf(await answer(plugin, 'rib best')), ['10.0.0.0/8 192.0.2.1']);
  routes.down(a);
  routes.drain();
  routes.flush();
  assert.equal(routes.counter(a, IPV4_UNICAST), 0);
  const status = (await answer(plugin, 'rib status')) as Record<string, unknown>;
  assert.deepEqual([status['rejected-routes'], status['routes-in']], [0, 1]);
});

test('a refusal before its route waits for it; an acceptance or a lost session takes it away', async () => {
  const { routes, plugin, a } = await pair();
  const early = (accept: number, prefix: string): readonly unknown[] => [accept, '192.0.2.1', 'ipv4/unicast', prefix, 0, 3];
  const decisions = [early(0, '10.0.0.0/8'), early(0, '11.0.0.0/8'), early(1, '11.0.0.0/8'), early(1, '12.0.0.0/8')];
  assert.deepEqual(await decide(plugin, 'v', ...decisions, [0, '203.0.113.9', 'ipv4/unicast', '10.0.0.0/8', 0, 3]), {
    accepted: 0,
    rejected: 0,
    early: 5,
  });
  const held = async (): Promise<unknown> =>
    ((await answer(plugin, 'rib status')) as Record<string, unknown>)['early-rejections'];
  assert.equal(await held(), 1);
  routes.announce(a, ['10.0.0.0/8', '11.0.0.0/8'], { path: [1] });
  routes.flush();
  assert.deepEqual(prefixesOf(await answer(plugin, 'rib best')), ['11.0.0.0/8 192.0.2.1']);
  assert.equal(await held(), 0);
  await decide(plugin, 'v', early(0, '13.0.0.0/8'));
  routes.down(a);
  routes.drain();
  assert.equal(await held(), 0);
});

test('what an owner says about a route stands beside it, shared by routes, gone with them', async () => {
  const { routes, plugin, a } = await pair();
  const originate = (announce: boolean, last: number, meta: string): void =>
    routes.originate('plugin:p', a, `10.0.${last}.0/24`, announce ? { path: [1] } : undefined, 0, meta);
  originate(true, 1, '{"source-peer":"192.0.2.9"}');
  originate(true, 2, '');
  const shown = async (): Promise<unknown> =>
    rows(await answer(plugin, 'rib routes', 'sent')).map((row) => [row['prefix'], row['route-meta']]);
  assert.deepEqual(await shown(), [
    ['10.0.1.0/24', { 'source-peer': '192.0.2.9' }],
    ['10.0.2.0/24', undefined],
  ]);
  originate(true, 1, '{"b":2}');
  originate(false, 2, '');
  assert.deepEqual(await shown(), [['10.0.1.0/24', { b: 2 }]]);
});
