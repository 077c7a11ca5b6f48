// bgp-route-refresh: which capabilities it asks for, for whom, and what it counts.
import assert from 'node:assert/strict';
import test from 'node:test';
import bgpRouteRefresh from '../../../plugins/bgp-route-refresh/index.ts';
import { refreshPeers } from '../../../plugins/bgp-route-refresh/peers.ts';
import { IPV4_UNICAST } from '../../../sdk/wire/family.ts';
import { FakeRoutePath } from '../../support/fake-route-path.ts';
import { runPlugin } from '../../support/run-plugin.ts';

function peer(ip: string, refresh?: unknown): object {
  return { connection: { remote: { ip } }, session: { capability: refresh === undefined ? {} : { 'route-refresh': refresh } } };
}

test('RFC 2918, RFC 7313: capabilities 2 and 70 for the peers that are configured for it, in groups and outside', () => {
  for (const [value, wanted] of [
    [undefined, false],
    [true, true],
    [{}, true],
    ['enable', true],
    ['require', true],
    [{ mode: 'require' }, true],
    [false, false],
    ['disable', false],
    ['refuse', false],
    [{ mode: 'disable' }, false],
  ] as const) {
    const tree = {
      bgp: {
        peer: { a: peer('192.0.2.1', value) },
        group: { g: { peer: { b: peer('192.0.2.2', true), c: peer('192.0.2.3') } } },
      },
    };
    assert.deepEqual(refreshPeers(JSON.stringify(tree)), [...(wanted ? ['192.0.2.1'] : []), '192.0.2.2'], JSON.stringify(value));
  }
});

test('the plugin declares them at stage 3, and nothing when no peer wants it', async () => {
  const data = JSON.stringify({ bgp: { peer: { a: peer('192.0.2.1', true), b: peer('192.0.2.2') } } });
  const plugin = await runPlugin(bgpRouteRefresh, new FakeRoutePath(), { sections: [{ root: 'bgp', data }] });
  assert.deepEqual(plugin.registration['wants-config'], ['bgp']);
  assert.deepEqual(plugin.capabilities, [
    { code: 2, peers: ['192.0.2.1'] },
    { code: 70, peers: ['192.0.2.1'] },
  ]);
  await plugin.stop();
  const none = await runPlugin(bgpRouteRefresh, new FakeRoutePath(), { sections: [{ root: 'bgp', data: '{"bgp":{}}' }] });
  assert.deepEqual(none.capabilities, []);
  await none.stop();
});

test('route-refresh status counts requests and markers', async () => {
  const routes = new FakeRoutePath();
  const plugin = await runPlugin(bgpRouteRefresh, routes);
  const [a] = [routes.add('a'), routes.add('b')];
  for (const subtype of [0, 0, 1, 2, 255]) routes.refresh(a, IPV4_UNICAST, subtype);
  assert.deepEqual((await plugin.ask('route-refresh status')).data, {
    peers: [
      { peer: '192.0.2.1', name: 'a', requests: 2, borr: 1, eorr: 1, 'last-family': 'ipv4/unicast' },
      { peer: '192.0.2.2', name: 'b', requests: 0, borr: 0, eorr: 0, 'last-family': '' },
    ],
  });
  await plugin.stop();
});
