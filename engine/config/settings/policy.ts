/**
 * Filters of the reactor's thread: the named ones of `bgp/policy`, community tagging, BGP roles. Here references become keys, and blocks
 * become definitions; what they do is told by the plugins that run them (sdk/policy).
 */
import { createHash } from 'node:crypto';
import { childOf, extension } from '../../../yang/compile/schema.ts';
import { CommunitySet, KINDS } from '../../../sdk/policy/community-set.ts';
import { parseIpv4 } from '../../../sdk/wire/address.ts';
import type { LoopDetection, PeerSettings, Policies, Policy } from '../../bgp/port.ts';
import { type Branch, entriesAt, Reader, type Value, valueAt } from '../tree/effective.ts';
import { clamp, type Findings, type Place } from '../fault.ts';
import { type EffectivePeer, peerPath } from '../tree/inherit.ts';
import { didYouMean, valueOf } from '../text/values.ts';

/** This kind is no step of a chain: the reactor looks for loops by itself, and the block says how. */
export const LOOP_DETECTION = 'loop-detection';

/** What a name in a chain stands for. */
export type Reference =
  | { readonly kind: 'policy'; readonly type: string; readonly name: string }
  /** `owner:name` of no kind that we know: a plugin's. */
  | { readonly kind: 'plugin'; readonly owner: string; readonly name: string }
  /** A bare name that several kinds have. */
  | { readonly kind: 'ambiguous'; readonly types: readonly string[] }
  /** A kind or a bare name, and nothing that is called so. */
  | { readonly kind: 'unknown' };

/** The named filters of a configuration. */
export class PolicyBook {
  /** Kinds of the schema: `prefix-list`, `modify`, …; each with its filters by name. */
  readonly types = new Map<string, ReadonlyMap<string, Branch>>();
  /** Plugin → the kind it runs. */
  readonly #runners = new Map<string, string>();
  readonly #root: Branch;
  readonly #keys = new Map<string, string>();
  readonly #policies: Record<string, Policy> = {};

  constructor(root: Branch) {
    this.#root = root;
    const bgp = root.children.get('bgp');
    const schema = bgp?.kind === 'branch' ? childOf(bgp.schema, 'policy') : undefined;
    if (schema?.kind !== 'container') return;
    const policy = valueAt(root, 'bgp/policy');
    for (const list of schema.children) {
      const runner = extension(list, 'filter');
      if (list.kind !== 'list' || runner === undefined) continue;
      if (typeof runner === 'string') this.#runners.set(runner, list.name);
      const value = policy?.kind === 'branch' ? policy.children.get(list.name) : undefined;
      this.types.set(list.name, value?.kind === 'list' ? value.entries : new Map());
    }
  }

  /** Every name as `kind:NAME`. */
  get names(): readonly string[] {
    return [...this.types].flatMap(([type, entries]) => [...entries.keys()].map((name) => `${type}:${name}`));
  }

  resolve(text: string): Reference {
    const colon = text.indexOf(':');
    if (colon < 0) {
      const types = [...this.types].filter(([, entries]) => entries.has(text)).map(([type]) => type);
      if (types.length > 1) return { kind: 'ambiguous', types };
      const [type] = types;
      return type === undefined ? { kind: 'unknown' } : { kind: 'policy', type, name: text };
    }
    const owner = text.slice(0, colon);
    const name = text.slice(colon + 1);
    const type = this.#runners.get(owner) ?? owner;
    const entries = this.types.get(type);
    if (entries === undefined) return { kind: 'plugin', owner, name };
    return entries.has(name) ? { kind: 'policy', type, name } : { kind: 'unknown' };
  }

  /** What the peers' chains name, after all of them were asked for. */
  get policies(): Policies {
    return this.#policies;
  }

  chain(fields: Reader, direction: 'import' | 'export', settings: Pick<PeerSettings, 'localAs' | 'remoteAs'>): readonly string[] {
    const steps: string[] = [];
    const role = fields.text('role/import');
    if (role !== '' && settings.localAs !== settings.remoteAs) steps.push(this.#key('role', role, { role }));
    const way = direction === 'import' ? 'ingress' : 'egress';
    const tagging = this.#tagging(fields, `filter/${way}/community`);
    if (tagging !== undefined) steps.push(this.#key('community', way, tagging));
    for (const text of fields.list(`filter/${direction}`)) {
      const found = this.resolve(text);
      if (found.kind === 'plugin') steps.push(text);
      if (found.kind === 'policy' && found.type !== LOOP_DETECTION) steps.push(this.#named(found.type, found.name));
    }
    return steps;
  }

  /** A single filter as in a chain; undefined when there is none of this name. */
  filter(text: string): string | undefined {
    const found = this.resolve(text);
    if (found.kind === 'plugin') return text;
    return found.kind === 'policy' && found.type !== LOOP_DETECTION ? this.#named(found.type, found.name) : undefined;
  }

  /**
   * How the peer's routes are looked for loops. By default as the first `loop-detection` block says, else with its defaults; a chain may
   * name another, or switch off the one that would be.
   */
  loopDetection(fields: Reader): LoopDetection | undefined {
    const blocks = this.types.get(LOOP_DETECTION) ?? new Map<string, Branch>();
    const chosen = this.#loops(fields.list('filter/import'));
    const [first] = blocks.keys();
    const name = chosen ?? first;
    if (chosen === undefined && this.#switchedOff(fields, name)) return 'off';
    const block = name === undefined ? undefined : blocks.get(name);
    if (block === undefined) return undefined;
    const reader = new Reader(block);
    const clusterId = reader.text('cluster-id');
    return { allowOwnAs: reader.number('allow-own-as'), clusterId: clusterId === '' ? 0 : Math.max(0, parseIpv4(clusterId)) };
  }

  /** The last loop detection among these references. */
  #loops(texts: readonly string[]): string | undefined {
    return texts
      .map((text) => this.resolve(text))
      .flatMap((found) => (found.kind === 'policy' && found.type === LOOP_DETECTION ? [found.name] : []))
      .at(-1);
  }

  #switchedOff(fields: Reader, name: string | undefined): boolean {
    const chain = valueAt(fields.branch, 'filter/import');
    if (chain?.kind !== 'leaf-list') return false;
    return (chain.off ?? []).some((text) => text === LOOP_DETECTION || (name !== undefined && this.#loops([text]) === name));
  }

  #named(type: string, name: string): string {
    const known = this.#keys.get(`${type}:${name}`);
    if (known !== undefined) return known;
    const branch = this.types.get(type)?.get(name);
    const key = this.#key(type, name, branch === undefined ? {} : definitionOf(branch));
    this.#keys.set(`${type}:${name}`, key);
    return key;
  }

  #key(kind: string, name: string, definition: unknown): string {
    const digest = createHash('sha256').update(JSON.stringify(definition)).digest('hex').slice(0, 16);
    const key = `${kind}:${name}\t${digest}`;
    this.#policies[key] ??= { kind, definition };
    return key;
  }

  /** `{ tag, strip }`, each the communities of the sets named, by kind; undefined: none. */
  #tagging(fields: Reader, path: string): unknown {
    const texts = (leaf: string): Record<string, readonly string[]> => {
      const names = fields.list(`${path}/${leaf}`);
      const of = (kind: string): readonly string[] =>
        names.flatMap((name) => {
          const set = entriesAt(this.#root, `bgp/community/${kind}`).find((entry) => entry.key === name);
          return set === undefined ? [] : new Reader(set).list('value');
        });
      const sets = KINDS.map((kind) => [kind, of(kind)] as const).filter(([, values]) => values.length > 0);
      return Object.fromEntries<readonly string[]>(sets);
    };
    const [tag, strip] = [texts('tag'), texts('strip')];
    return Object.keys(tag).length + Object.keys(strip).length === 0 ? undefined : { tag, strip };
  }
}

/** JSON of a block: as plugins see it, but lists are arrays of key and body, since their order counts. */
function definitionOf(value: Value): unknown {
  switch (value.kind) {
    case 'leaf':
      return valueOf(value.schema.type, value.text);
    case 'leaf-list':
      return value.items.map((item) => valueOf(value.schema.type, item.text));
    case 'branch':
      return Object.fromEntries<unknown>([...value.children].map(([name, child]) => [name, definitionOf(child)] as const));
    case 'list':
      return [...value.entries].map(([key, entry]) => [key, definitionOf(entry)]);
    case 'any':
      return value.value;
  }
}

/** What the schema cannot say of named filters and community sets. */
export function checkPolicies(root: Branch, peers: readonly EffectivePeer[], findings: Findings): void {
  for (const list of entriesAt(root, 'bgp/policy/prefix-list')) {
    for (const entry of entriesAt(list, 'entry')) checkRange(list.key, entry, findings);
  }
  for (const list of entriesAt(root, 'bgp/policy/community-match')) {
    for (const entry of entriesAt(list, 'entry')) {
      const kind = new Reader(entry).text('type');
      checkCommunity(
        kind,
        entry.key,
        entry.place,
        `bgp/policy/community-match/${list.key}`,
        `community-match ${list.key}`,
        findings,
      );
    }
  }
  const sets = new Set<string>();
  for (const kind of KINDS) {
    for (const set of entriesAt(root, `bgp/community/${kind}`)) {
      sets.add(set.key);
      const values = valueAt(set, 'value');
      for (const { text, place } of values?.kind === 'leaf-list' ? values.items : []) {
        checkCommunity(kind, text, place, `bgp/community/${kind}/${set.key}`, `community set ${set.key}`, findings);
      }
    }
  }
  const told = new Set<unknown>();
  for (const peer of peers) for (const way of ['ingress', 'egress']) checkTags(peer, way, sets, told, findings);
  for (const peer of peers) if (peer.name !== '') checkRole(peer, findings);
}

function checkRange(list: string, entry: Branch, findings: Findings): void {
  const reader = new Reader(entry);
  const [address = '', length = ''] = entry.key.split('/');
  const most = address.includes(':') ? 128 : 32;
  const least = reader.has('ge') ? reader.number('ge') : Number(length);
  const wrong = (leaf: string, text: string): void =>
    findings.fault(
      reader.place(leaf),
      `bgp/policy/prefix-list/${list}/entry/${entry.key}`,
      `prefix-list ${list}: entry ${entry.key}: ${text}`,
    );
  if (reader.has('ge') && (least < Number(length) || least > most)) wrong('ge', `ge ${least} must be from ${length} to ${most}`);
  else if (reader.has('le') && (reader.number('le') < least || reader.number('le') > most)) {
    wrong('le', `le ${reader.number('le')} must be from ${least} to ${most}`);
  }
}

function checkCommunity(kind: string, text: string, place: Place, path: string, of: string, findings: Findings): void {
  const known = KINDS.find((one) => one === kind) ?? 'standard';
  try {
    new CommunitySet(known, [text]);
  } catch {
    findings.fault(place, path, `${of}: ${clamp(text)} is no ${known} community`);
  }
}

function checkTags(peer: EffectivePeer, way: string, sets: ReadonlySet<string>, told: Set<unknown>, findings: Findings): void {
  for (const leaf of ['tag', 'strip']) {
    const list = valueAt(peer.fields.branch, `filter/${way}/community/${leaf}`);
    if (list?.kind !== 'leaf-list') continue;
    for (const { text, place } of list.items) {
      if (sets.has(text) || told.has(place)) continue;
      told.add(place);
      const hint = didYouMean(text, [...sets]);
      findings.fault(place, `${peerPath(peer)}/filter/${way}/community/${leaf}`, `unknown community set: ${clamp(text)}`, {
        hint,
      });
    }
  }
}

/** RFC 9234 is about external sessions. */
function checkRole({ name, fields }: EffectivePeer, findings: Findings): void {
  if (!fields.has('role')) return;
  const place = fields.place('role');
  const words = fields.list('role/export').filter((word) => word !== 'default');
  if (words.length > 0) {
    const message = `peer ${name}: role export ${words.join(' ')} is not available in this version and has no effect`;
    findings.warn(fields.place('role/export'), `bgp/peer/${name}/role/export`, message);
  }
  if (fields.text('role/import') === '')
    findings.warn(place, `bgp/peer/${name}/role`, `peer ${name}: a role without import says nothing`);
  else if (fields.number('session/asn/local') === fields.number('session/asn/remote')) {
    findings.warn(place, `bgp/peer/${name}/role`, `peer ${name}: a role counts between different AS numbers alone`);
  }
}
