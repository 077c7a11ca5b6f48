// The routes of `update { }` blocks: announced under the owner `config`, followed when the configuration changes. Blocks are compared route
// by route: what says the same as before is not sent again, what says something else is announced over the old one, and only what no block
// says any more is withdrawn. A default route may have a filter, which is asked whenever the routes are brought to what they should be.
import { viewOf } from '../../sdk/wire/bytes.ts';
import { entryLength } from '../../sdk/wire/nlri/syntax.ts';
import type { Origination, PeerIdentity, PeerSettings, ReactorPort, StaticUpdate } from '../bgp/port.ts';
import type { NlriCaller } from '../codec/registry.ts';
import type { RouteCommands } from '../codec/route-command.ts';
import type { Log } from '../core/log.ts';
import { labelBytes, nlriText } from './config-route-text.ts';
import { defaultMessage, judgedRoute } from './default-route.ts';

export const CONFIG_OWNER = 'config';

type Section = Origination['sections'][number];

/** A block as it goes to the reactor; the same object for all peers that have it. */
interface Block {
  readonly attributes: Uint8Array;
  readonly nextHop: Uint8Array;
  readonly sections: readonly Section[];
  /** Equal for blocks whose routes are told alike. */
  readonly says: string;
}

/** One route a peer's blocks announce: the last one of its prefix counts. */
interface Route {
  readonly block: Block;
  readonly family: number;
  readonly pathId: number;
  readonly nlri: Uint8Array;
}

/** What a change of blocks means for one peer, in the texts of its routes. */
export interface RouteChanges {
  readonly peer: string;
  readonly announced: readonly string[];
  readonly changed: readonly string[];
  readonly withdrawn: readonly string[];
}

const NONE = new Uint8Array(0);

export class ConfigRoutes {
  readonly #parser: RouteCommands;
  readonly #caller: NlriCaller;
  readonly #reactor: Pick<ReactorPort, 'originate' | 'judge'>;
  readonly #log: Log;
  /** What each peer was given, by index. */
  readonly #given = new Map<number, readonly Block[]>();
  /** Blocks in use, by command text. */
  #blocks = new Map<string, Block>();
  /** Peers with a filter to be asked, by index. */
  readonly #judged = new Map<number, PeerSettings>();
  #turn: Promise<void> = Promise.resolve();

  constructor(parser: RouteCommands, caller: NlriCaller, reactor: Pick<ReactorPort, 'originate' | 'judge'>, log: Log) {
    this.#parser = parser;
    this.#caller = caller;
    this.#reactor = reactor;
    this.#log = log;
  }

  /** Brings every peer to what its settings say. */
  apply(settings: readonly PeerSettings[], identities: readonly PeerIdentity[]): Promise<void> {
    return this.#inTurn(() => this.#apply(settings, identities));
  }

  /** A session has come up: filters that decide on routes for it are asked again. Never rejects. */
  async again(index: number): Promise<void> {
    if (!this.#judged.has(index)) return;
    try {
      await this.#inTurn(async () => {
        const peer = this.#judged.get(index);
        if (peer === undefined) return;
        const now = await this.#read(peer, index, new Map(this.#blocks), () => undefined);
        const changes = changesOf(index, this.#given.get(index) ?? [], now);
        this.#given.set(index, now);
        if (changes.length > 0) await this.#reactor.originate(changes);
      });
    } catch (error) {
      this.#log.error({ peer: this.#judged.get(index)?.name, error: String(error) }, 'a filter of a default route was not asked');
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #apply(settings: readonly PeerSettings[], identities: readonly PeerIdentity[]): Promise<void> {
    const indices = new Map(identities.map((one) => [one.name, one.index]));
    const used = new Map<string, Block>();
    const batch: Origination[] = [];
    const alive = new Set<number>();
    this.#judged.clear();
    for (const peer of settings) {
      const index = indices.get(peer.name);
      if (index === undefined) continue;
      alive.add(index);
      if (peer.updates.some((update) => update.filter !== undefined)) this.#judged.set(index, peer);
      const now = await this.#read(peer, index, used, (reason) =>
        this.#log.error({ peer: peer.name, reason }, 'update block left out'),
      );
      batch.push(...changesOf(index, this.#given.get(index) ?? [], now));
      this.#given.set(index, now);
    }
    this.#blocks = used;
    // A peer that is gone took its routes with it.
    for (const index of [...this.#given.keys()]) if (!alive.has(index)) this.#given.delete(index);
    if (batch.length > 0) await this.#reactor.originate(batch);
  }

  /** What `apply` would tell the neighbours; nothing is sent. Peers to which nothing changes are left out. */
  async preview(settings: readonly PeerSettings[], identities: readonly PeerIdentity[]): Promise<readonly RouteChanges[]> {
    const indices = new Map(identities.map((one) => [one.name, one.index]));
    const used = new Map<string, Block>();
    const all: RouteChanges[] = [];
    for (const peer of settings) {
      const index = indices.get(peer.name);
      const before = (index === undefined ? undefined : this.#given.get(index)) ?? [];
      // Filters are not asked: they are those of now, and may see what is only looked at.
      const now = await this.#read(peer, undefined, used, () => undefined);
      if (sameBlocks(before, now)) continue;
      const [old, fresh] = [routesOf(before), routesOf(now)];
      const texts = (routes: ReadonlyMap<string, Route>, wanted: (key: string, route: Route) => boolean): string[] =>
        [...routes].flatMap(([key, route]) => (wanted(key, route) ? [nlriText(route.family, route.nlri)] : []));
      const changes = {
        peer: peer.name,
        announced: texts(fresh, (key) => !old.has(key)),
        changed: texts(fresh, (key, route) => isChanged(old.get(key), route)),
        withdrawn: texts(old, (key) => !fresh.has(key)),
      };
      if (changes.announced.length + changes.changed.length + changes.withdrawn.length > 0) all.push(changes);
    }
    return all;
  }

  /** `index` undefined: what filters would say is left out of account. */
  async #read(
    peer: PeerSettings,
    index: number | undefined,
    used: Map<string, Block>,
    leftOut: (reason: string) => void,
  ): Promise<readonly Block[]> {
    const blocks: Block[] = [];
    for (const update of peer.updates) {
      const { command } = update;
      let block = used.get(command) ?? this.#blocks.get(command);
      if (block === undefined) {
        const parsed = await this.#parser.resolve(command, this.#caller);
        if (!parsed.ok) {
          leftOut(parsed.fault.message);
          continue;
        }
        const { attributes, nextHop, sections } = parsed.value;
        block = { attributes, nextHop, sections, says: saysOf({ attributes, nextHop }) };
      }
      used.set(command, block);
      const judged = index === undefined ? block : await this.#judge(peer, index, update, block);
      if (judged !== undefined) blocks.push(judged);
    }
    return blocks;
  }

  /** A block as its filter leaves it; undefined: it does not let it out. */
  async #judge(peer: PeerSettings, index: number, { filter }: StaticUpdate, block: Block): Promise<Block | undefined> {
    const [section] = block.sections;
    if (filter === undefined || section === undefined) return block;
    const message = defaultMessage(peer, section.family);
    const answer = await this.#reactor.judge(index, [filter], message);
    const route = answer === undefined ? undefined : judgedRoute(message, answer);
    return route === undefined ? undefined : { ...route, sections: block.sections, says: saysOf(route) };
  }
}

/** Withdraws first, then what each block announces that was not so before. */
function changesOf(index: number, before: readonly Block[], now: readonly Block[]): readonly Origination[] {
  if (sameBlocks(before, now)) return [];
  const old = routesOf(before);
  const fresh = routesOf(now);
  const base = { owner: CONFIG_OWNER, peers: [index] };
  const changes: Origination[] = [];
  const gone = [...old].flatMap(([key, route]) => (fresh.has(key) ? [] : [route]));
  if (gone.length > 0) {
    const sections = gathered(gone).map(({ family, pathId, nlri }) => ({
      family,
      pathId,
      announce: NONE,
      withdraw: nlri,
      eor: false,
    }));
    changes.push({ ...base, attributes: NONE, nextHop: NONE, sections });
  }
  const told = new Map<Block, Route[]>();
  for (const [key, route] of fresh) {
    const was = old.get(key);
    if (was !== undefined && !isChanged(was, route)) continue;
    const list = told.get(route.block);
    if (list === undefined) told.set(route.block, [route]);
    else list.push(route);
  }
  for (const block of now) {
    const { attributes, nextHop } = block;
    const announced = gathered(told.get(block) ?? []).map(({ family, pathId, nlri }) => ({
      family,
      pathId,
      announce: nlri,
      withdraw: NONE,
      eor: false,
    }));
    told.delete(block);
    // What a block withdraws, and its End-of-RIB, is said once.
    const once = before.includes(block)
      ? []
      : block.sections.flatMap((one) => (one.withdraw.length > 0 || one.eor ? [{ ...one, announce: NONE }] : []));
    if (announced.length + once.length > 0) changes.push({ ...base, attributes, nextHop, sections: [...announced, ...once] });
  }
  return changes;
}

function saysOf({ attributes, nextHop }: Pick<Block, 'attributes' | 'nextHop'>): string {
  return `${hexOf(attributes)} ${hexOf(nextHop)}`;
}

function sameBlocks(before: readonly Block[], now: readonly Block[]): boolean {
  return before.length === now.length && before.every((block, at) => block === now[at]);
}

function isChanged(before: Route | undefined, now: Route): boolean {
  if (before === undefined) return false;
  return before.block.says !== now.block.says || hexOf(before.nlri) !== hexOf(now.nlri);
}

/** By family, path id and prefix: a label is what a route says, not which route it is (RFC 8277 §2.4). */
function routesOf(blocks: readonly Block[]): Map<string, Route> {
  const routes = new Map<string, Route>();
  for (const block of blocks) {
    for (const { family, pathId, announce } of block.sections) {
      const view = viewOf(announce);
      for (let at = 0; at < announce.length; ) {
        const size = entryLength(view, at, announce.length - at, family, false);
        const nlri = announce.subarray(at, size > 0 ? at + size : announce.length);
        const labels = labelBytes(family, nlri);
        routes.set(`${family} ${pathId} ${nlri[0]! - labels * 8} ${hexOf(nlri.subarray(1 + labels))}`, {
          block,
          family,
          pathId,
          nlri,
        });
        at += nlri.length;
      }
    }
  }
  return routes;
}

/** Routes that can go together. */
function gathered(routes: readonly Route[]): readonly { family: number; pathId: number; nlri: Uint8Array }[] {
  const runs = new Map<string, { family: number; pathId: number; parts: Uint8Array[] }>();
  for (const { family, pathId, nlri } of routes) {
    const key = `${family} ${pathId}`;
    const run = runs.get(key);
    if (run === undefined) runs.set(key, { family, pathId, parts: [nlri] });
    else run.parts.push(nlri);
  }
  return [...runs.values()].map(({ family, pathId, parts }) => ({ family, pathId, nlri: Uint8Array.from(Buffer.concat(parts)) }));
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');
}
