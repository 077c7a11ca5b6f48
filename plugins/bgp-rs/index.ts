// bgp-rs: the route server. Loaded by name (`plugin { external rs { use bgp-rs; } }`).
import { randomInt } from 'node:crypto';
import { definePlugin } from '../../sdk/plugin/define.ts';
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import { selectPeers } from '../../sdk/rib/peer-selector.ts';
import { RpcError } from '../../sdk/rpc/errors.ts';
import { records } from '../../sdk/rpc/records.ts';
import { familyName } from '../../sdk/wire/family.ts';
import { RouteServer } from './server.ts';

const REHEARSAL_ROWS = 65_536;

export default definePlugin({
  name: 'bgp-rs',
  placement: 'reactor',
  failurePolicy: 'fatal',
  // A peer that comes up gets what is there from here, not from bgp-adj-rib-in as well.
  declaration: { claims: ['bgp-peer-up-replay'] },
  setup(engine) {
    const server = engine.routes === undefined ? undefined : new RouteServer(engine.routes, randomInt(2 ** 31));
    server?.attach();
    engine.command('rs status', { 'short-help': 'Mode and counts of the route server', shape: 'doc' }, () =>
      status(running(server)),
    );
    engine.command(
      'rs peers',
      {
        'short-help': 'Peers of the route server',
        shape: 'map',
        columns: ['peer', 'name', 'remote-as', 'state', 'families', 'routes-received'],
        'address-fields': ['peer'],
      },
      (input) => records(peers(running(server), input.peer ?? '*'), { envelope: 'peers' }),
    );
  },
});

/** The route server on a rehearsal's route path, its tables small (see bgp-rib). */
export function rehearse(routes: RoutePath): void {
  new RouteServer(routes, 1, REHEARSAL_ROWS).attach();
}

function running(server: RouteServer | undefined): RouteServer {
  if (server === undefined) throw new RpcError('error', 'bgp-rs runs in the reactor alone');
  return server;
}

function status(server: RouteServer): object {
  const { store, mode, routes } = server;
  const families = store.families.map((family) => ({
    family: familyName(family.family),
    prefixes: family.rib.reachable,
    routes: family.rib.routes,
  }));
  return {
    running: true,
    mode,
    transparent: routes.settings.routeServerTransparent,
    peers: [...server.peers].length,
    'updates-forwarded': server.forwarded,
    'routes-relayed': server.relayed,
    'routes-kept': families.reduce((sum, family) => sum + family.routes, 0),
    'best-tables': routes.bestTables().map((table) => familyName(table.family)),
    families,
  };
}

function* peers(server: RouteServer, selector: string): Generator<object> {
  const { routes } = server;
  for (const peer of selectPeers(routes.peers, selector)) {
    yield {
      peer: routes.peers.address(peer),
      name: routes.peers.name(peer),
      'remote-as': routes.peers.remoteAs(peer),
      state: routes.established(peer) ? 'up' : 'down',
      families: server.families(peer).map(familyName),
      // In best-path mode the routes are bgp-rib's, and so is their count.
      ...(server.mode === 'forward' ? { 'routes-received': server.received(peer) } : {}),
    };
  }
}
