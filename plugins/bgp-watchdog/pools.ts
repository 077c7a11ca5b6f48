/**
 * Pools of all peers: what is configured, what operators and probes said, and what the peers were told. What to send is the difference, so
 * that nothing is said twice and a reload follows by itself.
 */
import { poolOf, type PoolRoute, textOf, treeOf, type Tree } from './route-text.ts';

export interface PoolPeer {
  readonly name: string;
  readonly address: string;
  readonly remoteAs: number;
  readonly localAs: number;
  readonly group: string;
  readonly pools: ReadonlyMap<string, readonly PoolRoute[]>;
}

/** What was said of a pool of a peer. */
interface Said {
  readonly announced: boolean;
  /** In place of the configured MED. */
  readonly med: string | undefined;
}

/** A route as a peer was told it. */
interface Told {
  readonly route: PoolRoute;
  readonly med: string;
  readonly pool: string;
}

/** A route command for peers by name. */
export interface Send {
  readonly command: string;
  readonly peers: readonly string[];
  /** Pools whose routes these are. */
  readonly pools: ReadonlySet<string>;
  /** These peers have been told, or will be when their session comes up. */
  readonly done: (peers: readonly string[]) => void;
}

/** Routes in one command, and peers. */
const RUN = 1000;
const AUDIENCE = 64;

export class Pools {
  peers: ReadonlyMap<string, PoolPeer> = new Map();
  /** Routes that peers were told, over the plugin's life. */
  announced = 0;
  withdrawn = 0;
  /** Of all peers, and of those that come; what was said of one goes before. */
  readonly #everywhere = new Map<string, Said>();
  readonly #said = new Map<string, Map<string, Said>>();
  readonly #told = new Map<string, Map<string, Told>>();

  /** Peers that are gone took with them what they were told, and nobody remembers pools that no peer has: once the configuration stays. */
  prune(): void {
    for (const name of [...this.#told.keys(), ...this.#said.keys()]) {
      if (this.peers.has(name)) continue;
      this.#told.delete(name);
      this.#said.delete(name);
    }
    const names = new Set(this.names());
    for (const pool of this.#everywhere.keys()) if (!names.has(pool)) this.#everywhere.delete(pool);
    for (const [name, pools] of this.#said)
      for (const pool of pools.keys()) if (this.peers.get(name)?.pools.has(pool) !== true) pools.delete(pool);
  }

  /** Names of pools, in order. */
  names(): readonly string[] {
    return [...new Set([...this.peers.values()].flatMap((peer) => [...peer.pools.keys()]))].sort();
  }

  /** Routes that a peer has been told of a pool. */
  toldOf(peer: string, pool: string): number {
    const told = this.#told.get(peer);
    return told === undefined ? 0 : (this.peers.get(peer)?.pools.get(pool) ?? []).filter(({ key }) => told.has(key)).length;
  }

  /** Of one peer. An announce without MED leaves the MED of an announced pool alone. */
  say(peer: string, pool: string, announced: boolean, med: string | undefined): void {
    let pools = this.#said.get(peer);
    if (pools === undefined) this.#said.set(peer, (pools = new Map<string, Said>()));
    pools.set(pool, after(this.said(peer, pool), announced, med));
  }

  /** Of every peer, also of those that get the pool later. */
  sayAll(pool: string, announced: boolean, med: string | undefined): void {
    this.#everywhere.set(pool, after(this.#everywhere.get(pool), announced, med));
    for (const pools of this.#said.values()) {
      const own = pools.get(pool);
      if (own === undefined) continue;
      if (announced && med === undefined && own.announced) pools.set(pool, own);
      else pools.delete(pool);
    }
  }

  said(peer: string, pool: string): Said | undefined {
    return this.#said.get(peer)?.get(pool) ?? this.#everywhere.get(pool);
  }

  /** Everything that peers have to be told to be where they should: the same words for several of them once. Withdrawals come first. */
  due(): readonly Send[] {
    const adds = new Runs();
    const dels = new Runs();
    for (const peer of this.peers.values()) {
      const told = this.#told.get(peer.name);
      const wanted = this.#wanted(peer);
      for (const [key, before] of told ?? [])
        if (!wanted.has(key)) dels.add(`update text ${before.route.section} del`, peer.name, key, undefined, before);
      for (const [key, now] of wanted) {
        const before = told?.get(key);
        if (before?.med === now.med && before.route.attributes === now.route.attributes) continue;
        const { attributes, section } = now.route;
        const words = ['update text', attributes, now.med === '' ? '' : `med ${now.med}`, section, 'add'];
        adds.add(words.filter((word) => word !== '').join(' '), peer.name, key, now, now);
      }
    }
    return [...dels.sends(this.#note), ...adds.sends(this.#note)];
  }

  #wanted(peer: PoolPeer): Map<string, Told> {
    const wanted = new Map<string, Told>();
    for (const [pool, routes] of peer.pools) {
      const said = this.said(peer.name, pool);
      for (const route of routes)
        if (said?.announced ?? !route.held) wanted.set(route.key, { route, med: said?.med ?? route.med, pool });
    }
    return wanted;
  }

  readonly #note = (peer: string, key: string, now: Told | undefined): void => {
    if (now === undefined) this.withdrawn++;
    else this.announced++;
    if (!this.peers.has(peer)) return;
    let told = this.#told.get(peer);
    if (told === undefined) this.#told.set(peer, (told = new Map<string, Told>()));
    if (now === undefined) told.delete(key);
    else told.set(key, now);
  };
}

function after(before: Said | undefined, announced: boolean, med: string | undefined): Said {
  return { announced, med: med ?? (announced && before?.announced === true ? before.med : undefined) };
}

interface Run {
  readonly head: string;
  readonly items: string[];
  readonly notes: { readonly key: string; readonly now: Told | undefined }[];
  readonly pools: Set<string>;
}

/** Routes with the same words before them, by peer; peers with the same routes share a command. */
class Runs {
  readonly #runs = new Map<string, Map<string, Run>>();

  /** `told`: the route the words speak of. */
  add(head: string, peer: string, key: string, now: Told | undefined, { route, pool }: Told): void {
    const words = route.isPrefix ? head : `${head} ${route.item}`;
    let peers = this.#runs.get(words);
    if (peers === undefined) this.#runs.set(words, (peers = new Map<string, Run>()));
    let run = peers.get(peer);
    if (run === undefined) peers.set(peer, (run = { head, items: [], notes: [], pools: new Set() }));
    run.items.push(route.item);
    run.notes.push({ key, now });
    run.pools.add(pool);
  }

  *sends(note: (peer: string, key: string, now: Told | undefined) => void): Generator<Send> {
    for (const peers of this.#runs.values()) {
      const together = new Map<string, { readonly run: Run; readonly names: string[] }>();
      for (const [name, run] of peers) {
        const items = run.items.join(' ');
        const same = together.get(items);
        if (same === undefined) together.set(items, { run, names: [name] });
        else same.names.push(name);
      }
      for (const { run, names } of together.values()) {
        const { head, items, pools } = run;
        for (let at = 0; at < items.length; at += RUN) {
          const part = run.notes.slice(at, at + RUN);
          const command = `${head} ${items.slice(at, at + RUN).join(' ')}`;
          const done = (told: readonly string[]): void => {
            for (const name of told) for (const { key, now } of part) note(name, key, now);
          };
          for (let first = 0; first < names.length; first += AUDIENCE)
            yield { command, peers: names.slice(first, first + AUDIENCE), pools, done };
        }
      }
    }
  }
}

/** Peers of a `bgp/peer` section, those without pools too: they may have had some. */
export function peersOf(section: unknown): ReadonlyMap<string, PoolPeer> {
  const peers = new Map<string, PoolPeer>();
  for (const [name, value] of Object.entries(treeOf(treeOf(treeOf(section)['bgp'])['peer']))) {
    const peer = treeOf(value);
    const pools = new Map<string, PoolRoute[]>();
    for (const block of Object.values(treeOf(peer['update']))) {
      const found = poolOf(treeOf(block));
      if (found !== undefined) pools.set(found.pool, [...(pools.get(found.pool) ?? []), ...found.routes]);
    }
    peers.set(name, { name, ...identityOf(peer), pools });
  }
  return peers;
}

function identityOf(peer: Tree): Omit<PoolPeer, 'name' | 'pools'> {
  const asn = treeOf(treeOf(peer['session'])['asn']);
  return {
    address: textOf(treeOf(treeOf(peer['connection'])['remote'])['ip']),
    remoteAs: Number(textOf(asn['remote'])),
    localAs: Number(textOf(asn['local'])),
    group: textOf(peer['group']),
  };
}
