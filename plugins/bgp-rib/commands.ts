// The commands of the RIB. Tables answer by a walk; everything else is one document.
import { type AnswerSource } from '../../sdk/rpc/answer.ts';
import { documentAnswer, failedAnswer } from '../../sdk/rpc/records.ts';
import { longestMatchIpv4, longestMatchIpv6 } from '../../sdk/rib/longest-match.ts';
import { Ipv4Routes, Ipv6Routes, type FamilyRoutes } from '../../sdk/rib/family-routes.ts';
import { LOCAL } from '../../sdk/rib/peer-facts.ts';
import { findPeer, selectPeers } from '../../sdk/rib/peer-selector.ts';
import { addressBytes, parseAddress } from '../../sdk/wire/address.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { familyName, IPV4_UNICAST, IPV6_UNICAST, parseFamily } from '../../sdk/wire/family.ts';
import { parseRoute } from './inject.ts';
import type { InstallEntry } from './install.ts';
import { parseQuery, type Query } from './query.ts';
import { OriginationsWalker } from './originations.ts';
import type { Decision } from './validation.ts';
import type { Rib } from './rib.ts';
import { RouteText } from './route-text.ts';
import { countRecords, turn, WalkAnswer, type Walker } from '../../sdk/plugin/walk.ts';
import {
  BestWalker,
  bestText,
  ChainWalker,
  ExportedWalker,
  OriginatedWalker,
  peerText,
  ReasonWalker,
  ReceivedWalker,
} from './walkers.ts';

/** A command's words after its name, and the peer selector (`*` when there was none). */
export interface Call {
  readonly args: readonly string[];
  readonly peer: string;
}

export type Handler = (rib: Rib, call: Call, signal: AbortSignal) => AnswerSource | Promise<AnswerSource>;

export function status(rib: Rib): AnswerSource {
  const { routes, store, out } = rib;
  let stored = 0;
  let best = 0;
  let stale = 0;
  let rejected = 0;
  let early = 0;
  for (const family of store.families) {
    rejected += family.rib.rejected?.routes ?? 0;
    early += family.rib.rejected?.early ?? 0;
    stored += family.rib.routes;
    best += family.rib.reachable;
    stale += family.rib.staleRoutes;
  }
  const peers = selectPeers(routes.peers, '*').filter((peer) => routes.established(peer));
  return documentAnswer({
    running: true,
    peers: peers.length,
    'routes-in': stored,
    'routes-out': out.routes,
    'stale-routes': stale,
    'rejected-routes': rejected,
    'early-rejections': early,
    'gr-state': Object.fromEntries(rib.retained.map((peer) => [routes.peers.address(peer), { retained: true }])),
    'best-paths': best,
    'attribute-sets': store.attributes.size,
    'attribute-bytes': store.attributes.arena.held,
    pending: rib.pending,
  });
}

export function routes(rib: Rib, call: Call, signal: AbortSignal): AnswerSource | Promise<AnswerSource> {
  const parsed = parseQuery(call.args, ['count', 'prefix-summary'], true);
  if (!parsed.ok) return failedAnswer(parsed.error);
  const query = parsed.value;
  const chosen = choose(rib, call.peer);
  const walkers: Walker[] = [];
  if (query.scope !== 'sent') walkers.push(new ReceivedWalker(rib, query, chosen));
  if (query.scope !== 'received') walkers.push(new OriginatedWalker(rib, query, chosen), new ExportedWalker(rib, query, chosen));
  const envelope = query.scope === 'received' ? 'adj-rib-in' : query.scope === 'sent' ? 'adj-rib-out' : 'routes';
  return finish(envelope, new ChainWalker(walkers), query, signal);
}

/** Originated routes as bytes; with the word `status`, a number that grows when they change. */
export function originations(rib: Rib, call: Call): AnswerSource {
  if (call.args[0] === 'status') return documentAnswer({ changes: rib.out.changes, routes: rib.out.routes });
  const peers = selectPeers(rib.routes.peers, call.args[0] ?? call.peer);
  return new WalkAnswer('originations', new OriginationsWalker(rib, peers));
}

export function best(rib: Rib, call: Call, signal: AbortSignal): AnswerSource | Promise<AnswerSource> {
  const parsed = parseQuery(call.args, ['count', 'prefix-summary', 'reason', 'status'], false);
  if (!parsed.ok) return failedAnswer(parsed.error);
  const query = parsed.value;
  if (query.terminal === 'status') return bestStatus(rib);
  const chosen = choose(rib, call.peer);
  if (query.terminal === 'reason') return new WalkAnswer('best-path-reason', new ReasonWalker(rib, query, chosen));
  return finish('best-path', new BestWalker(rib, query, chosen), query, signal);
}

export function bestStatus(rib: Rib): AnswerSource {
  const families = rib.store.families.map((family) => ({
    family: familyName(family.family),
    prefixes: family.rib.reachable,
    routes: family.rib.routes,
    waiting: family.changedCount,
    refused: family.refused + family.rib.refused,
  }));
  return documentAnswer({ running: true, pending: rib.pending, families });
}

/** Longest match among the best routes, with every candidate of the prefix and why the best is the best. */
export function lookup(rib: Rib, call: Call): AnswerSource {
  const address = new Uint8Array(16);
  const text = call.args[0] ?? '';
  const length = parseAddress(text, address, 0);
  if (call.args.length !== 1 || length === 0)
    return failedAnswer(`rib lookup takes one address, not "${call.args.join(' ').slice(0, 64)}"`);
  const family = rib.store.known(length === 4 ? IPV4_UNICAST : IPV6_UNICAST);
  const row = family === undefined ? -1 : match(family, address);
  if (family === undefined || row < 0) return failedAnswer(`no route to ${text}`);
  const query = emptyQuery();
  const writer = new RouteText(rib.store.attributes, query);
  const nlri = writer.nlri(family.family, family.writePrefix(row, writer.room, 0));
  const made = JSON.parse(bestText(rib, writer, family, row, nlri)) as Record<string, unknown>;
  const candidates: unknown[] = [];
  const reasons: unknown[] = [];
  const everyone = new Set([...selectPeers(rib.routes.peers, '*'), LOCAL]);
  new OneRow(rib, query, everyone).show(family, row, nlri, (json) => candidates.push(JSON.parse(json)));
  new OneReason(rib, query, everyone).show(family, row, nlri, (json) => reasons.push(JSON.parse(json)));
  return documentAnswer({ address: text, ...made, candidates, reason: reasons[0] });
}

class OneRow extends ReceivedWalker {
  show(family: FamilyRoutes, row: number, nlri: string, emit: (json: string) => void): void {
    this.row(family, row, nlri, emit);
  }
}

class OneReason extends ReasonWalker {
  show(family: FamilyRoutes, row: number, nlri: string, emit: (json: string) => void): void {
    this.row(family, row, nlri, emit);
  }
}

/** Drops what the peers announced and asks them to send it again. Who could not be asked keeps its routes: they would be lost. */
export async function clearIn(rib: Rib, call: Call): Promise<AnswerSource> {
  const selector = call.args[0] ?? call.peer;
  if (call.args[0] === undefined && selector === '*')
    return failedAnswer('rib clear in requires a peer: rib clear in SEL, * for all');
  // A source that plugins inject routes of is no neighbour: nobody could be asked to send them again.
  const peers = selectPeers(rib.routes.peers, selector).filter(
    (peer) => addressBytes(rib.routes.peers.address(peer)) !== undefined,
  );
  if (peers.length === 0) return failedAnswer(`no peer matches "${selector.slice(0, 64)}"`);
  // Known before anything is dropped, asked after: what comes meanwhile would be dropped with the rest.
  const deaf = peers.filter(
    (peer) => rib.routes.established(peer) && !rib.store.families.some(({ family }) => rib.routes.canRefresh(peer, family)),
  );
  if (deaf.length > 0) {
    const names = deaf.map((peer) => peerText(rib.routes.peers, peer)).join(', ');
    return failedAnswer(
      `${names}: route refresh was not negotiated, so nothing was dropped; peer SEL teardown 4 resets a session`,
    );
  }
  let dropped = 0;
  const asked: string[] = [];
  for (const peer of peers) {
    dropped += rib.store.received(peer);
    await new Promise<void>((resolve) => rib.drop(peer, resolve));
    for (const family of rib.store.families) {
      if (rib.routes.requestRefresh(peer, family.family)) asked.push(peerText(rib.routes.peers, peer));
    }
  }
  return documentAnswer({ peers: peers.length, 'routes-dropped': dropped, 'refresh-requested': [...new Set(asked)] });
}

/** Sends everything again: originated routes and what exporters announce. */
export async function clearOut(rib: Rib, call: Call): Promise<AnswerSource> {
  const selector = call.args[0] ?? call.peer;
  const peers = selectPeers(rib.routes.peers, selector);
  if (peers.length === 0) return failedAnswer(`no peer matches "${selector.slice(0, 64)}"`);
  const up = peers.filter((peer) => rib.routes.established(peer));
  await Promise.all(up.map((peer) => new Promise<void>((resolve) => rib.routes.resend(peer, 0, resolve))));
  return documentAnswer({ peers: up.length, 'routes-originated': up.reduce((sum, peer) => sum + rib.out.count(peer), 0) });
}

const INJECT = 'rib inject PEER FAMILY PREFIX [origin O] [nhop IP] [aspath A,B] [localpref N] [med N]';

export function inject(rib: Rib, call: Call): AnswerSource {
  const missing = ['PEER', 'FAMILY', 'PREFIX'][call.args.length];
  if (missing !== undefined) return failedAnswer(`rib inject requires ${missing}: ${INJECT}`);
  const peer = findPeer(rib.routes.peers, call.args[0] ?? '');
  if (peer < 0) return failedAnswer(`unknown peer: ${call.args[0] ?? ''}`);
  const parsed = parseRoute(call.args.slice(1));
  if (!parsed.ok) return failedAnswer(parsed.error);
  const { family, nlri, attributes, nextHop } = parsed.value;
  const table = rib.store.family(family);
  const handle = rib.store.attributes.intern(viewOf(attributes), 0, attributes.length, viewOf(nextHop), 0, nextHop.length);
  if (table === undefined || handle === 0) return failedAnswer('the attribute table is full');
  rib.learn(peer);
  table.announce(viewOf(nlri), 0, nlri.length, false, peer, handle);
  rib.store.attributes.release(handle);
  rib.flush();
  return documentAnswer({ peer: peerText(rib.routes.peers, peer), family: call.args[1], prefix: call.args[2], injected: 1 });
}

export function withdraw(rib: Rib, call: Call): AnswerSource {
  const missing = ['PEER', 'FAMILY', 'PREFIX'][call.args.length];
  if (missing !== undefined) return failedAnswer(`rib withdraw requires ${missing}: rib withdraw PEER FAMILY PREFIX`);
  const peer = findPeer(rib.routes.peers, call.args[0] ?? '');
  if (peer < 0) return failedAnswer(`unknown peer: ${call.args[0] ?? ''}`);
  if (call.args.length > 3) return failedAnswer(`unknown keyword: ${call.args[3] ?? ''}`);
  const parsed = parseRoute(call.args.slice(1));
  if (!parsed.ok) return failedAnswer(parsed.error);
  const table = rib.store.family(parsed.value.family);
  const before = table?.rib.routes ?? 0;
  table?.withdraw(viewOf(parsed.value.nlri), 0, parsed.value.nlri.length, false, peer);
  rib.flush();
  const withdrawn = before - (table?.rib.routes ?? 0);
  return documentAnswer({ peer: peerText(rib.routes.peers, peer), family: call.args[1], prefix: call.args[2], withdrawn });
}

/** `rib install OWNER ENTRIES` and `rib remove OWNER [ENTRIES]`: how the engine hands on `route-install` and `route-remove`. */
export async function install(rib: Rib, call: Call): Promise<AnswerSource> {
  const entries = readEntries(call.args[1]);
  if (call.args.length !== 2 || entries === undefined)
    return failedAnswer('rib install takes an owner and a JSON list of entries');
  const result = await rib.installed.install(call.args[0] ?? '', entries);
  return result.ok ? documentAnswer({ installed: result.value }) : failedAnswer(result.error);
}

export async function remove(rib: Rib, call: Call): Promise<AnswerSource> {
  const owner = call.args[0] ?? '';
  if (call.args.length === 1) {
    rib.validation.disown(owner);
    return documentAnswer({ removed: await rib.installed.disown(owner) });
  }
  const entries = readEntries(call.args[1]);
  if (call.args.length !== 2 || entries === undefined)
    return failedAnswer('rib remove takes an owner and a JSON list of entries');
  const result = await rib.installed.remove(owner, entries);
  return result.ok ? documentAnswer({ removed: result.value }) : failedAnswer(result.error);
}

/** `rib validate OWNER DECISIONS`: how the engine hands on `batch-validate`. */
export function validate(rib: Rib, call: Call): AnswerSource {
  const decisions = readDecisions(call.args[1]);
  if (call.args.length !== 2 || decisions === undefined)
    return failedAnswer('rib validate takes an owner and a JSON list of decisions');
  const result = rib.validation.decide(call.args[0] ?? '', decisions);
  return result.ok ? documentAnswer({ ...result.value }) : failedAnswer(`batch-validate: ${result.error}`);
}

function readDecisions(text: string | undefined): readonly Decision[] | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return Array.isArray(value) && value.every(isDecision) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isDecision(value: unknown): value is Decision {
  if (!Array.isArray(value) || value.length !== 6) return false;
  const [accept, peer, family, prefix, pathId, state] = value as readonly unknown[];
  return [peer, family, prefix].every((text) => typeof text === 'string') && [accept, pathId, state].every(Number.isInteger);
}

function readEntries(text: string | undefined): readonly InstallEntry[] | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return Array.isArray(value) && value.every(isEntry) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isEntry(value: unknown): value is InstallEntry {
  if (typeof value !== 'object' || value === null) return false;
  const entry = value as Readonly<Record<string, unknown>>;
  const texts = [entry['protocol'], entry['prefix'], entry['next-hop'] ?? ''];
  return (
    texts.every((text) => typeof text === 'string') && [entry['afi'], entry['safi'], entry['instance']].every(Number.isInteger)
  );
}

/** Graceful restart, for the plugin that runs it: `retain-routes`, `release-routes`, `mark-stale [LEVEL]`, `purge-stale [FAMILY]`. */
export function retain(keep: boolean): Handler {
  return (rib, call) => {
    const peers = selectPeers(rib.routes.peers, call.args[0] ?? call.peer);
    for (const peer of peers) {
      rib.retain(peer, keep);
      if (!keep && !rib.routes.established(peer)) rib.drop(peer);
    }
    return documentAnswer({ peers: peers.length });
  };
}

export async function markStale(rib: Rib, call: Call): Promise<AnswerSource> {
  const peers = selectPeers(rib.routes.peers, call.args[0] ?? call.peer);
  const level = Number(call.args[1] ?? '1');
  if (!Number.isInteger(level) || level < 0 || level > 255) return failedAnswer(`bad stale level: ${call.args[1] ?? ''}`);
  await Promise.all(peers.map((peer) => new Promise<void>((resolve) => rib.markStale(peer, level, resolve))));
  return documentAnswer({ peers: peers.length, level });
}

export async function purgeStale(rib: Rib, call: Call): Promise<AnswerSource> {
  const peers = selectPeers(rib.routes.peers, call.args[0] ?? call.peer);
  const family = call.args[1] === undefined ? 0 : parseFamily(call.args[1]);
  if (call.args[1] !== undefined && family === 0) return failedAnswer(`unknown family: ${call.args[1]}`);
  const before = stored(rib, peers);
  await Promise.all(peers.map((peer) => new Promise<void>((resolve) => rib.purgeStale(peer, family, resolve))));
  return documentAnswer({ peers: peers.length, 'routes-purged': before - stored(rib, peers) });
}

function stored(rib: Rib, peers: readonly number[]): number {
  return peers.reduce((sum, peer) => sum + rib.store.received(peer), 0);
}

/** The terminal of a table's query. */
function finish(envelope: string, walker: Walker, query: Query, signal: AbortSignal): AnswerSource | Promise<AnswerSource> {
  if (query.terminal === 'count') return countRecords(walker, signal).then((count) => documentAnswer({ count }));
  if (query.terminal === 'prefix-summary') return summary(walker, signal);
  return new WalkAnswer(envelope, walker);
}

/** How many routes there are of each family and prefix length. */
async function summary(walker: Walker, signal: AbortSignal): Promise<AnswerSource> {
  const counts = new Map<string, number>();
  const emit = (json: string): void => {
    const key = /"family":"([^"]*)","prefix":"[^"/]*\/?(\d*)/.exec(json);
    const name = `${key?.[1] ?? ''} ${key?.[2] ?? ''}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  };
  walker.resume();
  while (!signal.aborted && walker.scan(4096, emit)) {
    await turn();
    walker.resume();
  }
  const rows = [...counts].map(([key, count]) => {
    const [family, length] = key.split(' ');
    return { family, 'prefix-length': Number(length), routes: count };
  });
  rows.sort((a, b) =>
    a.family === b.family ? a['prefix-length'] - b['prefix-length'] : (a.family ?? '') < (b.family ?? '') ? -1 : 1,
  );
  return documentAnswer({ 'prefix-summary': rows });
}

/** The peers a selector means; `*` also means what has no peer. */
function choose(rib: Rib, selector: string): ReadonlySet<number> {
  const chosen = new Set(selectPeers(rib.routes.peers, selector));
  if (selector === '*' || selector === '') chosen.add(LOCAL);
  return chosen;
}

function match(family: FamilyRoutes, address: Uint8Array): number {
  const view = viewOf(address);
  if (family instanceof Ipv4Routes) return longestMatchIpv4(family.table, family.rib.handles, view.getUint32(0));
  const words = Uint32Array.from([0, 4, 8, 12], (at) => view.getUint32(at));
  return family instanceof Ipv6Routes ? longestMatchIpv6(family.table, family.rib.handles, words) : -1;
}

function emptyQuery(): Query {
  const parsed = parseQuery([], [], false);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}
