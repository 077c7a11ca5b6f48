// bgp-route-refresh: what it counts. Who is offered the capabilities is in the OPEN's tests, and in those of a reload.
import assert from 'node:assert/strict';
import test from 'node:test';
import bgpRouteRefresh from '../../../plugins/bgp-route-refresh/index.ts';
import { IPV4_UNICAST } from '../../../sdk/wire/family.ts';
import { FakeRoutePath } from '../../support/fake-route-path.ts';
import { runPlugin } from '../../support/run-plugin.ts';

test("the capabilities are the configuration's: the plugin declares none", async () => {
  const plugin = await runPlugin(bgpRouteRefresh, new FakeRoutePath());
  assert.deepEqual(plugin.capabilities, []);
  assert.equal(plugin.registration['wants-config'], undefined);
  await plugin.stop();
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
