// bgp-adj-rib-in: received routes as bytes, for those who replay, validate or look at them. Loaded as a dependency, or by name.
import { randomInt } from 'node:crypto';
import { definePlugin } from '../../sdk/plugin/define.ts';
import type { Engine } from '../../sdk/plugin/engine.ts';
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import { findPeer, selectPeers } from '../../sdk/rib/peer-selector.ts';
import { WalkAnswer } from '../../sdk/plugin/walk.ts';
import type { AnswerSource } from '../../sdk/rpc/answer.ts';
import { RpcError } from '../../sdk/rpc/errors.ts';
import { documentAnswer, failedAnswer } from '../../sdk/rpc/records.ts';
import { parseDecimal } from '../../sdk/wire/address.ts';
import { replay, type Replayed } from './replay.ts';
import { ShowWalker } from './show.ts';
import { Store } from './store.ts';

/** Who claims it replays routes to a peer that comes up; then this plugin does not. */
const REPLAY_ROLE = 'bgp-peer-up-replay';
/** Routes given back per slice when a peer is lost. */
const SLICE = 4096;

export default definePlugin({
  name: 'bgp-adj-rib-in',
  placement: 'reactor',
  setup(engine) {
    const kept = engine.routes === undefined ? undefined : { routes: engine.routes, store: new Store(randomInt(2 ** 31)) };
    if (kept !== undefined) attach(engine, kept.routes, kept.store);
    const add = (name: string, help: Help, handler: Handler): void => {
      const older = [name.replace('rib adjacent', 'adj-rib-in'), name.replace('rib adjacent', 'bgp adj-rib-in')];
      engine.command(name, { ...help, 'deprecated-names': older }, (input) => {
        if (kept === undefined) throw new RpcError('error', 'bgp-adj-rib-in runs in the reactor alone');
        return handler(kept.routes, kept.store, input.args ?? [], input.peer ?? '*');
      });
    };
    add('rib adjacent status', { 'short-help': 'Counts of the raw received routes', shape: 'doc' }, status);
    add(
      'rib adjacent show',
      {
        'short-help': 'Raw received routes',
        args: ['peer'],
        shape: 'map',
        columns: ['index', 'peer', 'family', 'prefix', 'path-id', 'attributes', 'next-hop', 'nlri'],
        'address-fields': ['peer', 'prefix'],
      },
      show,
    );
    add(
      'rib adjacent replay',
      {
        'short-help': 'Send a peer what the others announced',
        description: 'rib adjacent replay PEER [INDEX]: only what arrived after that number, when it is given.',
        args: ['peer', 'index'],
        shape: 'doc',
      },
      replayTo,
    );
  },
});

type Help = Omit<Exclude<Parameters<Engine['command']>[1], (...args: never) => unknown>, 'deprecated-names'>;
type Handler = (routes: RoutePath, store: Store, args: readonly string[], peer: string) => AnswerSource | Promise<AnswerSource>;

function attach(engine: Engine, routes: RoutePath, store: Store): void {
  let told = 0;
  routes.onUpdate((peer, _id, view, treatAsWithdraw) => store.receive(peer, view, treatAsWithdraw));
  routes.onPeerDown((peer) => {
    const giveBack = store.drop(peer);
    routes.slice(() => giveBack(SLICE));
  });
  routes.onPeerUp((peer, _families, done) => {
    if (engine.plugin.claimActive(REPLAY_ROLE)) done();
    else replay(routes, store, peer, 0, 0, done);
  });
  routes.onResend((peer, family, done) => {
    if (engine.plugin.claimActive(REPLAY_ROLE)) done();
    else replay(routes, store, peer, family, 0, done);
  });
  routes.onFlush(() => {
    const refused = store.refused + store.attributes.refused;
    if (refused === told) return;
    told = refused;
    routes.report(
      'warning',
      'rib-full',
      'bgp-adj-rib-in',
      `${refused} routes were not kept since the start; held: ${store.routes}`,
    );
  });
}

function status(_routes: RoutePath, store: Store): AnswerSource {
  return documentAnswer({
    running: true,
    peers: store.peers,
    'routes-in': store.routes,
    'last-index': store.sequence,
    'attribute-sets': store.attributes.size,
    refused: store.refused + store.attributes.refused,
  });
}

function show(routes: RoutePath, store: Store, args: readonly string[], peer: string): AnswerSource {
  if (args.length > 1) return failedAnswer(`unknown keyword: ${args[1] ?? ''}`);
  const chosen = selectPeers(routes.peers, args[0] ?? peer);
  if (args[0] !== undefined && chosen.length === 0) return failedAnswer(`no peer matches "${args[0].slice(0, 64)}"`);
  return new WalkAnswer('routes', new ShowWalker(routes, store, store.inboxes(new Set(chosen))));
}

function replayTo(routes: RoutePath, store: Store, args: readonly string[]): AnswerSource | Promise<AnswerSource> {
  const [name = '', index = '0'] = args;
  const peer = findPeer(routes.peers, name);
  const from = parseDecimal(index, 0, index.length, 0xffffffff);
  if (peer < 0) return failedAnswer(`unknown peer: ${name}`);
  if (from < 0 || args.length > 2) return failedAnswer(`bad index: ${args.slice(1).join(' ')}`);
  if (!routes.established(peer)) return failedAnswer(`peer is not established: ${name}`);
  return new Promise((resolve) => {
    replay(routes, store, peer, 0, from, (result: Replayed) =>
      resolve(documentAnswer({ peer: routes.peers.address(peer), ...result })),
    );
  });
}
