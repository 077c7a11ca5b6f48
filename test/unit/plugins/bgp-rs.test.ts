// bgp-rs against a fake route path: what goes to whom in both modes when routes and peers come and go.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import bgpRib from '../../../plugins/bgp-rib/index.ts';
import bgpRs from '../../../plugins/bgp-rs/index.ts';
import { IPV4_UNICAST, parseFamily } from '../../../sdk/wire/family.ts';
import { FakeRoutePath } from '../../support/fake-route-path.ts';
import { type RunningPlugin, runPlugin } from '../../support/run-plugin.ts';

const EVPN = parseFamily('l2vpn/evpn');
const running: RunningPlugin[] = [];
after(() => Promise.all(running.map((plugin) => plugin.stop())));

/** Peers a, b, c, of which the first two have the server's attention from the start. */
async function start(bestPath: boolean, families = [IPV4_UNICAST]): Promise<{ routes: FakeRoutePath; plugin: RunningPlugin }> {
  const routes = new FakeRoutePath();
  routes.settings.routeServerBestPath = bestPath;
  if (bestPath) running.push(await runPlugin(bgpRib, routes));
  const plugin = await runPlugin(bgpRs, routes);
  running.push(plugin);
  for (const name of ['a', 'b', 'c']) routes.up(routes.add(name, { families }));
  routes.drain();
  return { routes, plugin };
}

/** What was relayed since the last call: `c +10.0.0.0/8 65001`, `c -10.0.0.0/8`. */
function relayed(routes: FakeRoutePath): string[] {
  return routes.relayed
    .splice(0)
    .map(({ peer, announce, nlri, path }) => `${peer} ${announce ? '+' : '-'}${nlri.join()} ${path.join()}`.trim());
}

const [A, B, C] = [0, 1, 2];

test('it claims the replay at session start', async () => {
  const { plugin } = await start(false);
  assert.deepEqual(plugin.registration.claims, ['bgp-peer-up-replay']);
});

test('forward: every UPDATE goes to all but its source, as it came', async () => {
  const { routes } = await start(false);
  routes.announce(A, ['10.0.0.0/8'], {});
  routes.announce(B, ['10.0.0.0/8'], {});
  routes.withdraw(A, ['10.0.0.0/8', '11.0.0.0/8']);
  assert.deepEqual(routes.forwarded, [
    { message: 1, except: 'a' },
    { message: 2, except: 'b' },
    { message: 3, except: 'a' },
  ]);
});

test('forward: after a withdraw each peer gets the route that another source still has', async () => {
  const { routes } = await start(false);
  routes.announce(A, ['10.0.0.0/8', '11.0.0.0/8'], { path: [1] });
  routes.announce(B, ['10.0.0.0/8'], { path: [2, 2] });
  routes.announce(C, ['10.0.0.0/8'], { path: [3, 3, 3] });
  routes.flush();
  assert.deepEqual(relayed(routes), []);
  routes.withdraw(A, ['10.0.0.0/8', '11.0.0.0/8']);
  routes.flush();
  assert.deepEqual(relayed(routes), ['a +10.0.0.0/8 2,2', 'b +10.0.0.0/8 3,3,3', 'c +10.0.0.0/8 2,2']);
});

test('forward: a withdraw of what a peer never announced does not take away what others announced', async () => {
  const { routes } = await start(false);
  routes.announce(A, ['10.0.0.0/8'], { path: [1] });
  routes.withdraw(B, ['10.0.0.0/8']);
  routes.flush();
  assert.deepEqual(relayed(routes), ['b +10.0.0.0/8 1', 'c +10.0.0.0/8 1']);
});

test('RFC 7606 §2, forward: a route that is treated as withdrawn leaves the others with what another source has', async () => {
  const { routes } = await start(false);
  routes.announce(A, ['10.0.0.0/8'], { path: [1] });
  routes.announce(B, ['10.0.0.0/8'], { path: [2] });
  routes.announce(A, ['10.0.0.0/8'], { origin: 9 });
  routes.flush();
  assert.deepEqual(relayed(routes), ['a +10.0.0.0/8 2', 'c +10.0.0.0/8 2']);
});

test('forward: a peer that goes down is withdrawn from the others, or another source takes its place', async () => {
  const { routes } = await start(false);
  routes.announce(A, ['10.0.0.0/8', '11.0.0.0/8'], { path: [1] });
  routes.announce(B, ['10.0.0.0/8'], { path: [2] });
  routes.down(A);
  routes.drain();
  assert.deepEqual(relayed(routes), ['b -10.0.0.0/8,11.0.0.0/8', 'c +10.0.0.0/8 2', 'c -11.0.0.0/8']);
});

test('forward: a peer that comes up gets what the others announced, then done is said', async () => {
  const { routes, plugin } = await start(false);
  routes.announce(A, ['10.0.0.0/8', '11.0.0.0/8'], { path: [1] });
  routes.announce(B, ['10.0.0.0/8'], { path: [2] });
  routes.announce(B, ['12.0.0.0/8'], { path: [2] });
  routes.down(C);
  const waiting = routes.up(C);
  assert.equal(waiting(), 1);
  routes.drain();
  assert.equal(waiting(), 0);
  assert.deepEqual(relayed(routes), ['c +10.0.0.0/8,11.0.0.0/8 1', 'c +12.0.0.0/8 2']);
  const { data } = await plugin.ask('rs status');
  assert.deepEqual(data, {
    running: true,
    mode: 'forward',
    transparent: false,
    peers: 3,
    'updates-forwarded': 3,
    'routes-relayed': 3,
    'routes-kept': 4,
    'best-tables': [],
    families: [{ family: 'ipv4/unicast', prefixes: 3, routes: 4 }],
  });
});

test('forward: a peer back before its old routes were all taken away starts empty', async () => {
  const { routes } = await start(false);
  routes.announce(A, ['10.0.0.0/8', '11.0.0.0/8'], { path: [1] });
  routes.down(A);
  routes.up(A);
  assert.deepEqual(relayed(routes), ['b -10.0.0.0/8,11.0.0.0/8', 'c -10.0.0.0/8,11.0.0.0/8']);
  routes.announce(A, ['11.0.0.0/8'], { path: [1] });
  routes.drain();
  assert.deepEqual(relayed(routes), []);
});

test('forward: families that are no plain prefixes are kept as bytes', async () => {
  const { routes } = await start(false, [IPV4_UNICAST, EVPN]);
  routes.announce(A, [Uint8Array.from([9, 1, 7])], { path: [1] }, { family: EVPN, nextHop: '192.0.2.1' });
  routes.down(A);
  routes.drain();
  assert.deepEqual(relayed(routes), ['b -9.1.7', 'c -9.1.7']);
});

test('a resend to one peer, of one family or of all', async () => {
  const { routes } = await start(false, [IPV4_UNICAST, EVPN]);
  routes.announce(A, ['10.0.0.0/8'], { path: [1] });
  routes.announce(A, [Uint8Array.from([9, 1, 7])], { path: [1] }, { family: EVPN, nextHop: '192.0.2.1' });
  for (const [family, sent] of [
    [EVPN, ['b +9.1.7 1']],
    [0, ['b +10.0.0.0/8 1', 'b +9.1.7 1']],
  ] as const) {
    let done = false;
    routes.resend(B, family, () => {
      done = true;
    });
    routes.drain();
    assert.deepEqual([done, relayed(routes)], [true, sent]);
  }
});

test('best-path: exporters get the changed rows and nothing is forwarded or relayed', async () => {
  const { routes, plugin } = await start(true);
  routes.announce(A, ['10.0.0.0/8', '11.0.0.0/8'], { path: [1] });
  routes.announce(B, ['10.0.0.0/8'], { path: [2, 2] });
  routes.flush();
  routes.withdraw(A, ['10.0.0.0/8']);
  routes.flush();
  const [exporter] = routes.exporters;
  assert.deepEqual([routes.exporters.length, exporter?.rows], [1, [0, 1, 0]]);
  assert.deepEqual([routes.forwarded, relayed(routes)], [[], []]);
  routes.resend(C, IPV4_UNICAST, () => undefined);
  assert.deepEqual(exporter?.refreshed, [C]);
  const status = (await plugin.ask('rs status')).data as Record<string, unknown>;
  assert.deepEqual([status['mode'], status['best-tables']], ['best-path', ['ipv4/unicast']]);
});

test('best-path: families without a best table go out by best path from here', async () => {
  const { routes } = await start(true, [IPV4_UNICAST, EVPN]);
  const nlri = Uint8Array.from([9, 1, 7]);
  const more = { family: EVPN, nextHop: '192.0.2.1' };
  routes.announce(A, [nlri], { path: [1, 1] }, more);
  routes.flush();
  assert.deepEqual(relayed(routes), ['a -9.1.7', 'b +9.1.7 1,1', 'c +9.1.7 1,1']);
  routes.announce(B, [nlri], { path: [2] }, more);
  routes.flush();
  assert.deepEqual(relayed(routes), ['a +9.1.7 2', 'b -9.1.7', 'c +9.1.7 2']);
  routes.down(B);
  routes.drain();
  assert.deepEqual(relayed(routes), ['a -9.1.7', 'c +9.1.7 1,1']);
});

test('a change of mode is reported, not made, and taken back when it is undone', async () => {
  const { routes } = await start(false);
  routes.flush();
  routes.announce(A, ['10.0.0.0/8'], {});
  routes.settings.routeServerBestPath = true;
  routes.flush();
  routes.flush();
  routes.settings.routeServerBestPath = false;
  routes.flush();
  const text =
    'warning route-server-mode bgp-rs: route-server best-path was changed; it takes effect when the daemon is started again';
  assert.deepEqual(routes.reports, [text, `${text} (cleared)`]);
});

test('rs peers', async () => {
  const { routes, plugin } = await start(false);
  routes.announce(A, ['10.0.0.0/8'], {});
  routes.down(B);
  assert.deepEqual((await plugin.ask('rs peers', '', 'a,b')).data, {
    peers: [
      { peer: '192.0.2.1', name: 'a', 'remote-as': 65001, state: 'up', families: ['ipv4/unicast'], 'routes-received': 1 },
      { peer: '192.0.2.2', name: 'b', 'remote-as': 65002, state: 'down', families: [], 'routes-received': 0 },
    ],
  });
});
