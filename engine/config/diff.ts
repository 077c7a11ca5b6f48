// What moves a daemon from one running config to the next. Peers are compared by everything they run with, so a peer that only
// changed its place in the text is untouched.
import { isDeepStrictEqual } from 'node:util';
import { extension } from '../../yang/compile/schema.ts';
import type { PeerSettings } from '../bgp/port.ts';
import { type ChangeClass, classOf, dearest, rootClass } from './schema/change-class.ts';
import { type Branch, branchOf, type Value } from './tree/effective.ts';
import { join } from './fault.ts';
import type { RunningConfig } from './running.ts';
import { SETTINGS } from './settings/settings.ts';

export interface ChangedLeaf {
  /** Below the peer: `timer/receive-hold-time`. */
  readonly path: string;
  readonly change: ChangeClass;
}

export interface ChangedPeer {
  readonly name: string;
  /** The dearest of its leaves. */
  readonly change: ChangeClass;
  readonly leaves: readonly ChangedLeaf[];
}

/** A statement of the text that is another one now, where it was written. */
export interface ChangedStatement {
  /** `bgp/group/members/timer/receive-hold-time`, keys of lists included. */
  readonly path: string;
  readonly change: ChangeClass;
  /** As written, secrets masked; `undefined`: not there. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

export interface NamedChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

export interface ConfigDiff extends RestartChanges {
  readonly peers: {
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly changed: readonly ChangedPeer[];
  };
  readonly plugins: NamedChanges;
  readonly hub: NamedChanges;
  /** Names of settings whose value changed, `ze.log.bgp`. */
  readonly environment: readonly string[];
  /** Leaves of the `bgp` block itself that are no peer's: router-id, multipath, route-server. */
  readonly global: readonly ChangedLeaf[];
  /** Top-level roots whose effective content differs, with what plugins are shown. */
  readonly roots: readonly string[];
  readonly empty: boolean;
}

export function diffConfigs(before: RunningConfig, after: RunningConfig): ConfigDiff {
  const roots = rootsThatDiffer(before.tree, after.tree);
  const peers = peerChanges(before, after);
  const plugins = named(before.plugins, after.plugins);
  const hub = named(before.hub, after.hub);
  const environment = settingChanges(before, after);
  const global = roots.includes('bgp') ? globalChanges(before.tree, after.tree) : [];
  const lists = [peers.added, peers.removed, peers.changed, environment, global, roots];
  const maps = [plugins, hub].flatMap((changes) => [changes.added, changes.removed, changes.changed]);
  return {
    peers,
    plugins,
    hub,
    environment,
    global,
    roots,
    ...restartChanges(before, after),
    empty: [...lists, ...maps].every((list) => list.length === 0),
  };
}

export interface RestartChanges {
  /** Paths of statements that are read when the daemon starts. */
  readonly restart: readonly string[];
  /** Of those that changed, the ones that a start would not read either, each with the setting: the environment or a flag says otherwise. */
  readonly overridden: readonly { readonly path: string; readonly setting: string }[];
}

/** What of a change waits for the next start of the daemon. */
export function restartChanges(before: RunningConfig, after: RunningConfig): RestartChanges {
  const restart: string[] = [];
  const overridden: { path: string; setting: string }[] = [];
  for (const { path, change, after: now } of statementChanges(before, after)) {
    if (change !== 'restart') continue;
    const spec = SETTINGS.find((one) => one.path !== '' && `environment/${one.path}` === path);
    const setting = spec === undefined ? undefined : after.environment.settings.find(`ze.${spec.name}`);
    if (setting?.source !== 'environment' && setting?.source !== 'flag') restart.push(path);
    else if (now !== undefined) overridden.push({ path, setting: setting.name });
  }
  return { restart, overridden };
}

function named(before: readonly { readonly name: string }[], after: readonly { readonly name: string }[]): NamedChanges {
  const old = new Map(before.map((one) => [one.name, one]));
  const now = new Map(after.map((one) => [one.name, one]));
  return {
    added: [...now.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)),
    changed: [...now].filter(([name, one]) => old.has(name) && !isDeepStrictEqual(one, old.get(name))).map(([name]) => name),
  };
}

function peerChanges(before: RunningConfig, after: RunningConfig): ConfigDiff['peers'] {
  const { added, removed, changed } = named(before.reactor.peers, after.reactor.peers);
  return { added, removed, changed: changed.map((name) => changedPeer(name, before, after)) };
}

function peerBranch(config: RunningConfig, name: string): Value | undefined {
  const bgp = config.tree.children.get('bgp');
  const peers = bgp?.kind === 'branch' ? bgp.children.get('peer') : undefined;
  return peers?.kind === 'list' ? peers.entries.get(name) : undefined;
}

function changedPeer(name: string, before: RunningConfig, after: RunningConfig): ChangedPeer {
  const leaves: ChangedLeaf[] = [];
  compare(peerBranch(before, name), peerBranch(after, name), '', 'reset', leaves);
  // What the peer takes from the bgp block (router id, local AS) is no leaf of its own.
  const inherited = leaves.length === 0 ? settingsThatDiffer(name, before, after) : [];
  const all = [...leaves, ...inherited];
  const change = dearest(all.map((leaf) => leaf.change));
  return { name, change, leaves: all };
}

/** What comes from named filters: the chain may read as before, and its filters mean something else. */
const ROUTE_RULES: readonly string[] = ['importFilters', 'exportFilters', 'loopDetection'];

function settingsThatDiffer(name: string, before: RunningConfig, after: RunningConfig): ChangedLeaf[] {
  const find = (config: RunningConfig): PeerSettings | undefined => config.reactor.peers.find((peer) => peer.name === name);
  const old = find(before);
  const now = find(after);
  if (old === undefined || now === undefined) return [];
  return (Object.keys(now) as (keyof PeerSettings)[])
    .filter((key) => !isDeepStrictEqual(old[key], now[key]))
    .map((key) => ({
      path: key.replaceAll(/[A-Z]/g, (c) => `-${c.toLowerCase()}`),
      change: ROUTE_RULES.includes(key) ? 'refresh' : 'reset',
    }));
}

/** Leaves that differ between two values of the same place; the class is the nearest `zx:change` above. */
function compare(
  before: Value | undefined,
  after: Value | undefined,
  path: string,
  above: ChangeClass,
  out: ChangedLeaf[],
  found: (path: string, change: ChangeClass, before: Value | undefined, after: Value | undefined) => void = (at, change) =>
    void out.push({ path: at, change }),
): void {
  if (before === after) return;
  const one = after ?? before;
  if (one === undefined) return;
  const change = valueClass(one, above);
  if (one.kind === 'branch') {
    const [old, now] = [before, after].map((value) => (value?.kind === 'branch' ? value.children : new Map<string, Value>()));
    if (old!.size === 0 && now!.size === 0 && (before === undefined || after === undefined)) found(path, change, before, after);
    for (const name of new Set([...old!.keys(), ...now!.keys()]))
      compare(old!.get(name), now!.get(name), join(path, name), change, out, found);
  } else if (one.kind === 'list') {
    const [old, now] = [before, after].map((value) => (value?.kind === 'list' ? value.entries : new Map<string, Branch>()));
    for (const key of new Set([...old!.keys(), ...now!.keys()])) {
      if (!old!.has(key) && now!.get(key)?.children.size === 0) found(join(path, key), change, undefined, now!.get(key));
      compare(old!.get(key), now!.get(key), join(path, key), change, out, found);
    }
  } else if (!isDeepStrictEqual(plainOf(before), plainOf(after))) found(path, change, before, after);
}

function valueClass(value: Value, above: ChangeClass): ChangeClass {
  return value.kind === 'any' ? above : classOf(value.schema, above);
}

function plainOf(value: Value | undefined): unknown {
  if (value === undefined) return undefined;
  if (value.kind === 'leaf') return value.text;
  if (value.kind === 'leaf-list') return value.items.map((item) => item.text);
  return value.kind === 'any' ? value.value : undefined;
}

/** Statement by statement, as they stand in the two texts: before inheritance, so that a change of a group is one change. */
export function statementChanges(before: RunningConfig, after: RunningConfig): readonly ChangedStatement[] {
  const changes: ChangedStatement[] = [];
  const [old, now] = [before, after].map(({ syntax }) => branchOf(syntax.schema, syntax.children).children);
  for (const root of new Set([...old!.keys(), ...now!.keys()]))
    compare(old!.get(root), now!.get(root), root, rootClass(root), [], (path, change, from, to) =>
      changes.push({ path, change, before: textOf(from), after: textOf(to) }),
    );
  return changes;
}

const MASK = '********';

function textOf(value: Value | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (value.kind !== 'any' && extension(value.schema, 'sensitive') !== undefined) return MASK;
  switch (value.kind) {
    case 'leaf':
      return value.text;
    case 'leaf-list':
      return `[ ${value.items.map((item) => item.text).join(' ')} ]`;
    case 'any':
      return typeof value.value === 'string' ? value.value : JSON.stringify(value.value);
    case 'branch':
    case 'list':
      return '{ }';
  }
}

function globalChanges(before: Branch, after: Branch): ChangedLeaf[] {
  const out: ChangedLeaf[] = [];
  const own = (tree: Branch): Map<string, Value> => {
    const bgp = tree.children.get('bgp');
    const children = bgp?.kind === 'branch' ? [...bgp.children] : [];
    return new Map(children.filter(([name]) => ['router-id', 'multipath', 'route-server', 'policy', 'community'].includes(name)));
  };
  const old = own(before);
  const now = own(after);
  for (const name of new Set([...old.keys(), ...now.keys()])) compare(old.get(name), now.get(name), name, 'reset', out);
  return out;
}

function rootsThatDiffer(before: Branch, after: Branch): string[] {
  return [...new Set([...before.children.keys(), ...after.children.keys()])].filter((name) => {
    const out: ChangedLeaf[] = [];
    const [old, now] = [before.children.get(name), after.children.get(name)];
    if (old === undefined || now === undefined) return true;
    compare(old, now, name, rootClass(name), out);
    return out.length > 0;
  });
}

function settingChanges(before: RunningConfig, after: RunningConfig): string[] {
  const old = new Map(before.environment.settings.all().map((setting) => [setting.name, setting.value]));
  const now = new Map(after.environment.settings.all().map((setting) => [setting.name, setting.value]));
  return [...new Set([...old.keys(), ...now.keys()])].filter((name) => old.get(name) !== now.get(name));
}
