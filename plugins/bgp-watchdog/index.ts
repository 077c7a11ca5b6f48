// bgp-watchdog: pools of routes (`update { watchdog { name X; } }`) that are announced and withdrawn at a word.
import { definePlugin } from '../../sdk/plugin/define.ts';
import type { Engine } from '../../sdk/plugin/engine.ts';
import type { PeerDirectory } from '../../sdk/plugin/structured.ts';
import { selectPeers } from '../../sdk/rib/peer-selector.ts';
import { messageOf } from '../../sdk/rpc/errors.ts';
import { records } from '../../sdk/rpc/records.ts';
import { type PoolPeer, Pools, peersOf, type Send } from './pools.ts';

const ROOT = 'bgp/peer';
const MAXIMUM_MED = 0xffffffff;

export default definePlugin({
  name: 'bgp-watchdog',
  autoload: ['bgp'],
  roots: [ROOT],
  failurePolicy: 'restart',
  setup(engine) {
    const pools = new Pools();
    const sender = new Sender(engine, pools);
    let candidate: ReadonlyMap<string, PoolPeer> | undefined;
    let before: ReadonlyMap<string, PoolPeer> | undefined;
    const read = (sections: readonly { readonly data: string }[]): ReadonlyMap<string, PoolPeer> =>
      sections[0] === undefined ? new Map<string, PoolPeer>() : peersOf(JSON.parse(sections[0].data));
    engine.onConfigure(({ sections }) => {
      pools.peers = read(sections);
    });
    engine.onConfigVerify(({ sections }) => {
      candidate = read(sections);
      return undefined;
    });
    engine.onConfigApply(() => {
      before = pools.peers;
      pools.peers = candidate ?? before;
      return undefined;
    });
    engine.onConfigRollback(() => {
      pools.peers = before ?? pools.peers;
    });
    // Only now are new peers there, and only now is it sure that old ones are gone.
    engine.onConfigCommitted(async () => {
      pools.prune();
      await sender.settle();
    });
    engine.onAllPluginsReady(async () => {
      await sender.settle();
    });
    // A session may speak families that the last one did not.
    const up = new Set<number>();
    engine.onState(async (peer, isUp) => {
      if (isUp) up.add(peer);
      else up.delete(peer);
      const pooled = pools.peers.get(engine.peers.name(peer))?.pools.size ?? 0;
      if (isUp && pooled > 0) await sender.settle();
    });
    engine.command('watchdog status', { 'short-help': 'Counts of the pools', shape: 'doc' }, () => ({
      watchdogs: pools.names().length,
      'peers-up': up.size,
      'route-announcements': pools.announced,
      'route-withdrawals': pools.withdrawn,
    }));
    engine.command(
      'watchdog announce',
      { 'short-help': 'Announce a pool of routes', args: ['name', 'med', 'peer'] },
      ({ args = [], peer = '*' }) => sender.say('announce', args, peer),
    );
    engine.command(
      'watchdog withdraw',
      { 'short-help': 'Withdraw a pool of routes', args: ['name', 'peer'] },
      ({ args = [], peer = '*' }) => sender.say('withdraw', args, peer),
    );
    for (const verb of ['announce', 'withdraw'])
      engine.completion(`watchdog ${verb}`, (words) => (words.length <= 1 ? pools.names() : []));
    engine.command('watchdog list', { 'short-help': 'Pools of routes, peer by peer', shape: 'map', columns: COLUMNS }, () =>
      records(rows(pools), { envelope: 'watchdogs' }),
    );
  },
});

const COLUMNS = ['peer', 'watchdog', 'routes', 'announced', 'state', 'med'];

function* rows(pools: Pools): Generator<object> {
  for (const peer of pools.peers.values()) {
    for (const [watchdog, routes] of peer.pools) {
      const said = pools.said(peer.name, watchdog);
      const announced = pools.toldOf(peer.name, watchdog);
      const state = said === undefined ? 'as configured' : said.announced ? 'announced' : 'withdrawn';
      yield { peer: peer.name, watchdog, routes: routes.length, announced, state, med: said?.med ?? '' };
    }
  }
}

/** A command that was not taken. */
interface Failure {
  readonly send: Send;
  readonly reason: string;
}

/** Says what is due, one difference after the other. */
class Sender {
  readonly #engine: Engine;
  readonly #pools: Pools;
  #last: Promise<readonly Failure[]> = Promise.resolve([]);

  constructor(engine: Engine, pools: Pools) {
    this.#engine = engine;
    this.#pools = pools;
  }

  /** Never rejects: what a peer does not take is in the log, and due again the next time. */
  settle(): Promise<readonly Failure[]> {
    this.#last = this.#last.then(async () => {
      const failures: Failure[] = [];
      for (const send of this.#pools.due()) {
        const reason = await this.#tell(send);
        if (reason === '') continue;
        failures.push({ send, reason });
        this.#engine.log.error(
          { watchdogs: [...send.pools].join(','), peers: send.peers.join(','), error: reason },
          'routes of a pool were not taken',
        );
      }
      return failures;
    });
    return this.#last;
  }

  /** Why not; '' when it was. A peer whose session does not speak the family is told with its next one. */
  async #tell({ command, peers, done }: Send): Promise<string> {
    try {
      // By address: a name may look like another selector (`as65001`).
      const addressOf = (name: string): string => this.#pools.peers.get(name)?.address ?? name;
      const { peersAffected } = await this.#engine.updateRoute(peers.map(addressOf).join(','), command);
      if (peersAffected >= peers.length) done(peers);
      else if (peersAffected > 0) {
        // Some of them, and nobody says which.
        for (const peer of peers) if ((await this.#engine.updateRoute(addressOf(peer), command)).peersAffected > 0) done([peer]);
      }
      return '';
    } catch (error) {
      return messageOf(error);
    }
  }

  /** `NAME [med N] [PEER]` */
  async say(action: 'announce' | 'withdraw', args: readonly string[], selector: string): Promise<object> {
    const words = [...args];
    const watchdog = words.shift();
    if (watchdog === undefined) throw new Error(`watchdog ${action} needs the name of a pool`);
    const fault = (text: string): Error => new Error(`watchdog ${action} ${watchdog}: ${text}`);
    let med: string | undefined;
    if (action === 'announce' && words[0] === 'med') {
      med = words[1] ?? '';
      if (!/^\d{1,10}$/.test(med) || Number(med) > MAXIMUM_MED) throw fault(`med takes a number, 0..${MAXIMUM_MED}`);
      med = String(Number(med));
      words.splice(0, 2);
    }
    const chosen = words.shift() ?? selector;
    if (words.length > 0) throw fault(`unexpected "${words[0] ?? ''}" after ${chosen}`);
    const peers = this.#having(watchdog, chosen);
    const isAnnounce = action === 'announce';
    if (chosen === '*') this.#pools.sayAll(watchdog, isAnnounce, med);
    else for (const peer of peers) this.#pools.say(peer.name, watchdog, isAnnounce, med);
    const names = new Set(peers.map((peer) => peer.name));
    const failed = (await this.settle()).find(
      ({ send }) => send.pools.has(watchdog) && send.peers.some((name) => names.has(name)),
    );
    if (failed !== undefined) throw fault(failed.reason);
    const [only] = peers;
    if (peers.length === 1 && only !== undefined && chosen !== '*')
      return { peer: only.address, watchdog, count: only.pools.get(watchdog)?.length ?? 0 };
    return { watchdog, peers: peers.length, action };
  }

  #having(watchdog: string, selector: string): readonly PoolPeer[] {
    const all = [...this.#pools.peers.values()];
    const having = all.filter((peer) => peer.pools.has(watchdog));
    if (having.length === 0) {
      const names = this.#pools.names();
      throw new Error(
        `no peer has a pool ${JSON.stringify(watchdog)}${names.length === 0 ? '' : ` (there are ${names.slice(0, 12).join(', ')})`}`,
      );
    }
    const chosen = selectPeers(directoryOf(having), selector).map((index) => having[index]!);
    if (chosen.length === 0) throw new Error(`no peer of ${JSON.stringify(selector)} has the pool ${JSON.stringify(watchdog)}`);
    return chosen;
  }
}

function directoryOf(peers: readonly PoolPeer[]): PeerDirectory {
  return {
    capacity: peers.length,
    name: (peer) => peers[peer]?.name ?? '',
    address: (peer) => peers[peer]?.address ?? '',
    remoteAs: (peer) => peers[peer]?.remoteAs ?? 0,
    localAs: (peer) => peers[peer]?.localAs ?? 0,
    group: (peer) => peers[peer]?.group ?? '',
  };
}
