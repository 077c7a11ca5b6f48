// Rules that hold between parts of a config: bindings and plugins, filter chains and filters, users and profiles, listeners.
import { childOf, extension, type ListNode } from '../../../yang/compile/schema.ts';
import { type Branch, entriesAt, Reader, valueAt } from '../tree/effective.ts';
import { clamp, type Findings, type Place } from '../fault.ts';
import { type EffectivePeer, peerPath } from '../tree/inherit.ts';
import { canonicalAddress } from '../settings/peer-settings.ts';
import { LOOP_DETECTION, type PolicyBook } from '../settings/policy.ts';
import { dateOf, type Registered } from './validators.ts';
import { didYouMean } from '../text/values.ts';

/** A remote address belongs to one peer. */
export function checkAddresses(peers: readonly EffectivePeer[], findings: Findings): void {
  const seen = new Map<string, EffectivePeer>();
  for (const peer of peers) {
    const text = peer.fields.text('connection/remote/ip');
    if (text === '') continue;
    const address = canonicalAddress(text);
    const before = seen.get(address);
    if (before === undefined) seen.set(address, peer);
    else {
      const place = peer.fields.place('connection/remote/ip');
      findings.fault(
        place,
        `bgp/peer/${peer.name}/connection/remote/ip`,
        `duplicate peer remote address: ${address} (peers ${before.name} and ${peer.name})`,
      );
    }
  }
}

const STALE_DAYS = 180;

/** A prefix limit that nobody has looked at for long. */
export function checkLimitDates(peers: readonly EffectivePeer[], now: number | undefined, findings: Findings): void {
  if (now === undefined) return;
  for (const peer of peers) {
    for (const family of peer.fields.entries('session/family')) {
      const text = family.text('prefix/updated');
      const at = dateOf(text);
      if (at === undefined || now - at <= STALE_DAYS * 86_400_000) continue;
      const message = `the prefix limit of ${family.key} was last refreshed ${text}: older than ${STALE_DAYS} days`;
      findings.warn(family.place('prefix/updated'), `bgp/peer/${peer.name}/session/family/${family.key}/prefix/updated`, message);
    }
  }
}

/** A binding names a plugin that exists. */
export function checkBindings(peers: readonly EffectivePeer[], plugins: readonly string[], findings: Findings): void {
  const known = new Set(plugins);
  const told = new Set<unknown>();
  for (const peer of peers) {
    for (const process of peer.fields.entries('process')) {
      // What is defined in place exists, also in a group that has no peers yet.
      if (known.has(process.key) || process.text('run') !== '' || told.has(process.branch.place)) continue;
      told.add(process.branch.place);
      findings.fault(
        process.branch.place,
        `${peerPath(peer)}/process/${process.key}`,
        `undefined plugin in process: ${clamp(process.key)}`,
        {
          hint: didYouMean(process.key, plugins),
        },
      );
    }
  }
}

/** A chain names filters that exist: `kind:NAME` of a policy, `plugin:NAME`, or a bare name of any policy. */
export function checkFilters(
  policies: PolicyBook,
  peers: readonly EffectivePeer[],
  plugins: readonly string[],
  findings: Findings,
  offered: Registered['filters'] = new Map(),
): void {
  const full = policies.names;
  const bare = [...policies.types.values()].flatMap((entries) => [...entries.keys()]);
  const told = new Set<unknown>();
  const check = (text: string, place: Place, direction: string, path: string): void => {
    if (told.has(place)) return;
    told.add(place);
    const found = policies.resolve(text);
    switch (found.kind) {
      case 'policy':
        if (found.type === LOOP_DETECTION && direction === 'export') {
          findings.fault(place, path, `${clamp(text)}: loops are looked for in import chains`);
        }
        break;
      case 'plugin':
        checkPluginFilter(found.owner, found.name, direction, plugins, offered, full, place, path, findings);
        break;
      case 'ambiguous': {
        const hint = `write ${found.types.map((type) => `${type}:${text}`).join(' or ')}`;
        findings.fault(place, path, `ambiguous filter in ${direction}: ${clamp(text)}`, { hint });
        break;
      }
      case 'unknown':
        findings.fault(place, path, `unknown filter in ${direction}: ${clamp(text)}`, {
          hint: didYouMean(text, [...bare, ...full]),
        });
        break;
    }
  };
  for (const peer of peers) {
    for (const direction of ['import', 'export']) {
      const chain = valueAt(peer.fields.branch, `filter/${direction}`);
      if (chain?.kind !== 'leaf-list') continue;
      const path = `${peerPath(peer)}/filter/${direction}`;
      for (const { text, place } of chain.items) check(text, place, direction, path);
    }
    for (const family of peer.fields.entries('session/family')) {
      const text = family.text('default-originate-filter');
      const path = `${peerPath(peer)}/session/family/${family.key}/default-originate-filter`;
      if (text !== '') check(text, family.place('default-originate-filter'), 'export', path);
    }
  }
}

function checkPluginFilter(
  owner: string,
  name: string,
  direction: string,
  plugins: readonly string[],
  offered: NonNullable<Registered['filters']>,
  policies: readonly string[],
  place: Place,
  path: string,
  findings: Findings,
): void {
  const text = `${owner}:${name}`;
  if (owner === '' || name === '') {
    findings.fault(place, path, `${direction} filter ${clamp(text)}: expected PLUGIN:FILTER`);
    return;
  }
  if (!plugins.includes(owner)) {
    const hint = didYouMean(text, [...policies, ...plugins.map((plugin) => `${plugin}:${name}`)]);
    findings.fault(place, path, `undefined plugin in ${direction} filter: ${clamp(text)}`, { hint });
    return;
  }
  const filters = offered.get(owner);
  const there = filters?.some((one) => one.name === name && (one.direction === 'both' || one.direction === direction));
  if (there !== false) return;
  const all = filters?.map((one) => `${clamp(one.name)} (${one.direction})`).join(', ') ?? '';
  const message = `no ${direction} filter ${clamp(text)}: plugin ${owner} offers ${all === '' ? 'no filter' : all}`;
  findings.warn(place, path, `${message}; routes of the chain would be rejected`);
}

/** Users name profiles that exist. */
export function checkProfiles(root: Branch, findings: Findings): void {
  const profiles = new Set(entriesAt(root, 'system/authorization/profile').map((entry) => entry.key));
  for (const user of entriesAt(root, 'system/authentication/user')) {
    const named = valueAt(user, 'profile');
    for (const { text, place } of named?.kind === 'leaf-list' ? named.items : []) {
      if (profiles.has(text)) continue;
      const hint = didYouMean(text, [...profiles]);
      const path = `system/authentication/user/${user.key}/profile`;
      findings.fault(place, path, `user ${user.key}: undefined profile: ${clamp(text)}`, { hint });
    }
  }
}

/** A model context protocol server that others can reach proves who they are. */
export function checkMcp(root: Branch, findings: Findings): void {
  const mcp = valueAt(root, 'environment/mcp');
  if (mcp?.kind !== 'branch') return;
  const fields = new Reader(mcp);
  const mode = fields.text('auth-mode');
  const fault = (leaf: string, message: string): void => findings.fault(fields.place(leaf), `environment/mcp/${leaf}`, message);
  if (fields.flag('bind-remote') && mode === 'none') fault('bind-remote', 'bind-remote requires auth-mode != none');
  if (mode !== 'oauth') return;
  if (fields.text('oauth/authorization-server') === '') fault('auth-mode', 'auth-mode=oauth requires oauth.authorization-server');
  const open =
    fields.flag('bind-remote') ||
    fields.entries('server').some((server) => server.has('ip') && !/^(127\.|::1$)/.test(canonicalAddress(server.text('ip'))));
  if (open && (fields.text('tls/cert') === '' || fields.text('tls/key') === '')) {
    fault('auth-mode', 'auth-mode=oauth requires tls.cert and tls.key on non-loopback listeners');
  }
}

interface Listener {
  readonly owner: string;
  readonly ip: string;
}

/**
 * No two listeners share an address and port; a wildcard takes every address of its family. Port 0 never clashes. A service
 * that runs and names no server listens on the default of its schema.
 */
export function checkListeners(root: Branch, findings: Findings): void {
  const sockets = new Sockets();
  const take = (owner: string, ip: string, port: number, place: Place): void => {
    if (ip === '' || port === 0) return;
    const other = sockets.take(port, { owner, ip });
    if (other === undefined) return;
    findings.fault(place, owner, `listener conflict: ${owner} and ${other.owner} both listen on ${ip} port ${port}`);
  };
  const walk = (branch: Branch, path: string): void => {
    const service = childOf(branch.schema, 'enabled') !== undefined;
    if (service && !new Reader(branch).flag('enabled')) return;
    for (const [name, value] of branch.children) {
      const owner = path === '' ? name : `${path}/${name}`;
      if (value.kind === 'branch') walk(value, owner);
      if (value.kind !== 'list' || extension(value.schema, 'listener') === undefined) continue;
      for (const entry of value.entries.values()) {
        const fields = new Reader(entry);
        const ip = canonicalAddress(fields.text('host') || fields.text('ip'));
        take(`${owner}/${entry.key}`, ip, fields.number('port'), entry.place);
      }
    }
    if (!service) return;
    for (const list of branch.schema.children) {
      if (list.kind !== 'list' || extension(list, 'listener') === undefined || branch.children.has(list.name)) continue;
      take(path, defaultOf(list, 'ip'), Number(defaultOf(list, 'port')), branch.place);
    }
  };
  walk(root, '');
}

function defaultOf(list: ListNode, leaf: string): string {
  const node = childOf(list, leaf);
  return node?.kind === 'leaf' ? (node.default ?? '') : '';
}

const WILDCARDS: readonly string[] = ['0.0.0.0', '::'];

/** Who listens where: by port, family and address. */
class Sockets {
  readonly #byAddress = new Map<string, Listener>();
  /** The first of a port and family, and the first there on every address. */
  readonly #first = new Map<string, Listener>();
  readonly #wild = new Map<string, Listener>();

  /** The listener that has the place already. */
  take(port: number, one: Listener): Listener | undefined {
    const family = `${port} ${one.ip.includes(':') ? 6 : 4}`;
    const address = `${port} ${one.ip}`;
    const isWild = WILDCARDS.includes(one.ip);
    const before = isWild ? this.#first.get(family) : (this.#byAddress.get(address) ?? this.#wild.get(family));
    if (!this.#byAddress.has(address)) this.#byAddress.set(address, one);
    if (!this.#first.has(family)) this.#first.set(family, one);
    if (isWild && !this.#wild.has(family)) this.#wild.set(family, one);
    return before;
  }
}
