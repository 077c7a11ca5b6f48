// bgp-route-refresh: counts what peers ask for by ROUTE-REFRESH (RFC 2918, RFC 7313).
import { definePlugin } from '../../sdk/plugin/define.ts';
import type { PeerDirectory } from '../../sdk/plugin/structured.ts';
import { selectPeers } from '../../sdk/rib/peer-selector.ts';
import { records } from '../../sdk/rpc/records.ts';
import { familyName } from '../../sdk/wire/family.ts';

/** Message subtypes of RFC 7313 §3.2, as their counters are named. */
const SUBTYPES = ['requests', 'borr', 'eorr'] as const;

/** Messages of one peer, and the family asked for last. */
interface Counts {
  readonly received: [number, number, number];
  family: number;
}

export default definePlugin({
  name: 'bgp-route-refresh',
  placement: 'reactor',
  autoload: ['bgp'],
  failurePolicy: 'ignore',
  setup(engine) {
    const counts = new Map<number, Counts>();
    engine.routes?.onRefresh((peer, family, subtype) => {
      let held = counts.get(peer);
      if (held === undefined) counts.set(peer, (held = { received: [0, 0, 0], family: 0 }));
      held.family = family;
      if (subtype === 0 || subtype === 1 || subtype === 2) held.received[subtype]++;
    });
    engine.command(
      'route-refresh status',
      {
        'short-help': 'Route refresh messages received from peers',
        shape: 'map',
        columns: ['peer', 'name', ...SUBTYPES, 'last-family'],
        'address-fields': ['peer'],
      },
      (input) => records(status(engine.peers, counts, input.peer ?? '*'), { envelope: 'peers' }),
    );
  },
});

function* status(peers: PeerDirectory, counts: ReadonlyMap<number, Counts>, selector: string): Generator<object> {
  for (const peer of selectPeers(peers, selector)) {
    const held = counts.get(peer);
    const received = SUBTYPES.map((name, i) => [name, held?.received[i] ?? 0]);
    yield {
      peer: peers.address(peer),
      name: peers.name(peer),
      ...Object.fromEntries(received),
      'last-family': held === undefined ? '' : familyName(held.family),
    };
  }
}
