// bgp-adj-rib-in against a fake route path: bytes in, bytes shown, bytes replayed.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import bgpAdjRibIn from '../../../plugins/bgp-adj-rib-in/index.ts';
import { IPV4_UNICAST, parseFamily } from '../../../sdk/wire/family.ts';
import { FakeRoutePath } from '../../support/fake-route-path.ts';
import { type RunningPlugin, runPlugin } from '../../support/run-plugin.ts';

const EVPN = parseFamily('l2vpn/evpn');
const [A, B, C] = [0, 1, 2];
const running: RunningPlugin[] = [];
after(() => Promise.all(running.map((plugin) => plugin.stop())));

async function start(claims: readonly string[] = []): Promise<{ routes: FakeRoutePath; plugin: RunningPlugin }> {
  const routes = new FakeRoutePath();
  const plugin = await runPlugin(bgpAdjRibIn, routes, { claims });
  running.push(plugin);
  for (const name of ['a', 'b', 'c']) routes.add(name, { families: [IPV4_UNICAST, EVPN] });
  for (const peer of [A, B]) routes.up(peer);
  routes.drain();
  return { routes, plugin };
}

function relayed(routes: FakeRoutePath): string[] {
  return routes.relayed
    .splice(0)
    .map(({ peer, nlri, path, nextHop }) => `${peer} ${nlri.join()} ${path.join()} ${nextHop}`.trim());
}

test('rib adjacent show: bytes as they came, in hex, with the number of the arrival', async () => {
  const { routes, plugin } = await start();
  routes.announce(A, ['10.0.0.0/8'], { path: [1] });
  routes.announce(B, [Uint8Array.from([9, 1, 7])], { path: [2] }, { family: EVPN, nextHop: '192.0.2.1' });
  routes.announce(A, ['10.0.0.0/8'], { path: [3] });
  assert.deepEqual((await plugin.ask('rib adjacent show')).data, {
    routes: [
      {
        index: 3,
        peer: '192.0.2.1',
        family: 'ipv4/unicast',
        prefix: '10.0.0.0/8',
        attributes: '40010100' + '50020006' + '020100000003' + '400304c0000209',
        nlri: '080a',
      },
      {
        index: 2,
        peer: '192.0.2.2',
        family: 'l2vpn/evpn',
        attributes: '40010100' + '50020006' + '020100000002',
        'next-hop': 'c0000201',
        nlri: '090107',
      },
    ],
  });
  const status = { running: true, peers: 2, 'routes-in': 2, 'last-index': 3, 'attribute-sets': 2, refused: 0 };
  assert.deepEqual((await plugin.ask('rib adjacent status')).data, status);
  const shown = (await plugin.ask('rib adjacent show', 'b')).data as { readonly routes: readonly unknown[] };
  assert.equal(shown.routes.length, 1);
});

test('a withdraw, a treat-as-withdraw and a lost peer leave nothing', async () => {
  const { routes, plugin } = await start();
  routes.announce(A, ['10.0.0.0/8', '11.0.0.0/8'], {});
  routes.announce(A, ['12.0.0.0/8'], {});
  routes.announce(B, ['10.0.0.0/8'], { med: 1 });
  routes.withdraw(A, ['10.0.0.0/8', '13.0.0.0/8']);
  routes.announce(A, ['11.0.0.0/8'], { origin: 9 });
  const counts = async (): Promise<unknown[]> => {
    const status = (await plugin.ask('rib adjacent status')).data as Record<string, unknown>;
    return [status['peers'], status['routes-in'], status['attribute-sets']];
  };
  assert.deepEqual(await counts(), [2, 2, 2]);
  routes.down(A);
  assert.deepEqual(await counts(), [1, 1, 2]);
  routes.drain();
  assert.deepEqual(await counts(), [1, 1, 1]);
});

test('replay sends one peer what the others announced, from an index on', async () => {
  const { routes, plugin } = await start();
  routes.announce(A, ['10.0.0.0/8', '11.0.0.0/8'], { path: [1] });
  routes.announce(B, ['12.0.0.0/8'], { path: [2] });
  routes.announce(B, [Uint8Array.from([9, 1, 7])], { path: [2] }, { family: EVPN, nextHop: '192.0.2.1' });
  const replay = async (args: string): Promise<unknown> => {
    const answer = plugin.ask('rib adjacent replay', args);
    await new Promise((resolve) => setImmediate(resolve));
    routes.drain();
    return (await answer).data;
  };
  routes.up(C);
  routes.drain();
  const all = ['c 10.0.0.0/8,11.0.0.0/8 1', 'c 12.0.0.0/8 2', 'c 9.1.7 2 192.0.2.1'];
  assert.deepEqual(relayed(routes), all);
  assert.deepEqual(await replay('c'), { peer: '192.0.2.3', replayed: 4, 'last-index': 4 });
  assert.deepEqual(relayed(routes), all);
  assert.deepEqual(await replay('c 2'), { peer: '192.0.2.3', replayed: 2, 'last-index': 4 });
  assert.deepEqual(relayed(routes), all.slice(1));
  assert.deepEqual(await replay('a 0'), { peer: '192.0.2.1', replayed: 2, 'last-index': 4 });
});

test('RFC 7911: a path id is part of what is kept and not of what is replayed', async () => {
  const { routes, plugin } = await start();
  const d = routes.add('d', { addPath: [IPV4_UNICAST] });
  routes.up(d);
  routes.drain();
  routes.announce(d, ['10.0.0.0/8'], { path: [1] }, { pathId: 5 });
  routes.announce(d, ['10.0.0.0/8'], { path: [2] }, { pathId: 6 });
  const { routes: shown } = (await plugin.ask('rib adjacent show')).data as {
    readonly routes: readonly Record<string, unknown>[];
  };
  assert.deepEqual(
    shown.map((row) => [row['path-id'], row['nlri']]),
    [
      [5, '080a'],
      [6, '080a'],
    ],
  );
  routes.up(C);
  routes.drain();
  assert.deepEqual(relayed(routes), ['c 10.0.0.0/8 1', 'c 10.0.0.0/8 2']);
});

test('where the replay at session start is claimed by another plugin, this one stands down', async () => {
  const { routes } = await start(['bgp-peer-up-replay']);
  routes.announce(A, ['10.0.0.0/8'], {});
  const waiting = routes.up(C);
  let resent = false;
  routes.resend(C, 0, () => {
    resent = true;
  });
  assert.deepEqual([waiting(), resent, routes.drain(), relayed(routes)], [0, true, 0, []]);
});

test('a replay whose destination or source goes down meanwhile ends', async () => {
  const { routes } = await start();
  routes.announce(A, ['10.0.0.0/8'], { path: [1] });
  routes.announce(B, ['11.0.0.0/8'], { path: [2] });
  const waiting = routes.up(C);
  routes.down(A);
  routes.drain();
  assert.deepEqual([waiting(), relayed(routes)], [0, ['c 11.0.0.0/8 2']]);
  routes.down(C);
  const again = routes.up(C);
  routes.down(C);
  routes.drain();
  assert.deepEqual([again(), relayed(routes)], [0, []]);
});

test('commands that cannot be answered say why', async () => {
  const { plugin } = await start();
  for (const [command, args, error] of [
    ['rib adjacent replay', '', 'unknown peer: '],
    ['rib adjacent replay', 'nobody', 'unknown peer: nobody'],
    ['rib adjacent replay', 'a x', 'bad index: x'],
    ['rib adjacent replay', 'c', 'peer is not established: c'],
    ['rib adjacent show', 'nobody', 'no peer matches "nobody"'],
    ['rib adjacent show', 'a b', 'unknown keyword: b'],
  ] as const) {
    assert.deepEqual(await plugin.ask(command, args), { status: 'error', error }, `${command} ${args}`);
  }
});
