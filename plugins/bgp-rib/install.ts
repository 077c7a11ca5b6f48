// Routes that plugins install into the Loc-RIB (`route-install`, `route-remove`): local ones, beside those of peers. Their AS path is empty, so
// they beat what peers announce at the same preference; among themselves the lower distance wins.
import { LOCAL } from '../../sdk/rib/peer-facts.ts';
import { addressBytes, parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { type Family, familyOf, isPrefixFamily } from '../../sdk/wire/family.ts';
import { attributes, type Parsed } from './inject.ts';
import type { Rib } from './rib.ts';

/** Routes one owner may have installed; a call past it is refused whole. */
const OWNER_LIMIT = 1_000_000;
/** Entries read, or put into the table, at one go: a few milliseconds. */
const RUN = 2048;
const NAME_LIMIT = 64;
/** A path id is the distance (8 bits), then a number for protocol and instance. */
const SERIALS = 1 << 24;

export interface InstallEntry {
  readonly protocol: string;
  readonly afi: number;
  readonly safi: number;
  readonly prefix: string;
  readonly instance: number;
  readonly 'next-hop'?: string | undefined;
  readonly interface?: string | undefined;
  readonly weight?: number | undefined;
  /** 1 unicast, 6 blackhole, 7 unreachable, 8 prohibit; 0 = not stated. */
  readonly 'route-type'?: number | undefined;
  readonly distance?: number | undefined;
  readonly 'admin-distance'?: number | undefined;
  readonly metric?: number | undefined;
  readonly labels?: readonly number[] | undefined;
  readonly 'is-ebgp'?: boolean | undefined;
  readonly ecmp?: readonly EcmpEntry[] | undefined;
  readonly 'backup-next-hop'?: string | undefined;
  readonly 'backup-repair-labels'?: readonly number[] | undefined;
}

export interface EcmpEntry {
  readonly 'next-hop'?: string | undefined;
  readonly interface?: string | undefined;
  readonly weight?: number | undefined;
}

const ROUTE_TYPES: readonly number[] = [0, 1, 6, 7, 8];
/** Labels of one route (RFC 3032 §2.1: 20 bits each), and next hops it is spread over. */
const MAX_LABELS = 32;
const MAX_ECMP = 256;
const MAX_LABEL = 0xfffff;

interface Installed {
  readonly key: string;
  readonly family: Family;
  readonly nlri: Uint8Array;
  readonly pathId: number;
}

interface Job {
  readonly step: () => boolean;
}

/**
 * Calls are done one after the other, a run of entries at a time, so that the sessions of the reactor go on beside a list of any length. A
 * list of one run is done at once.
 */
export class InstalledRoutes {
  readonly #rib: Rib;
  readonly #owners = new Map<string, Map<string, Installed>>();
  readonly #serials = new Map<string, number>();
  readonly #jobs: Job[] = [];
  /** Ends with the owner: what it asked for before that is not carried on. */
  readonly #lives = new Map<string, AbortController>();

  constructor(rib: Rib) {
    this.#rib = rib;
  }

  /** All entries or, when one is bad, none; how many. */
  install(owner: string, entries: readonly InstallEntry[]): Promise<Parsed<number>> {
    return this.#begin(this.#installing(owner, entries, this.#life(owner)));
  }

  /** Entries that the owner has not installed are passed over; how many were removed. */
  remove(owner: string, entries: readonly InstallEntry[]): Promise<Parsed<number>> {
    return this.#begin(this.#removing(owner, entries, this.#life(owner)));
  }

  /** The owner is gone: everything it installed goes. */
  disown(owner: string): Promise<number> {
    this.#lives.get(owner)?.abort();
    this.#lives.delete(owner);
    if (this.#jobs.length === 0 && !this.#owners.has(owner)) return Promise.resolve(0);
    return this.#begin(this.#taking(owner, undefined));
  }

  #life(owner: string): AbortSignal {
    let life = this.#lives.get(owner);
    if (life === undefined) this.#lives.set(owner, (life = new AbortController()));
    return life.signal;
  }

  #begin<T>(work: Generator<undefined, T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const step = (): boolean => {
        try {
          const { done, value } = work.next();
          if (done === true) resolve(value);
          return done !== true;
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
          return false;
        }
      };
      this.#jobs.push({ step });
      if (this.#jobs.length === 1 && this.#advance()) this.#rib.routes.slice(() => this.#advance());
    });
  }

  /** One run of the first job; false when no job is left. */
  #advance(): boolean {
    if (this.#jobs[0]?.step() === false) this.#jobs.shift();
    return this.#jobs.length > 0;
  }

  *#installing(owner: string, entries: readonly InstallEntry[], life: AbortSignal): Generator<undefined, Parsed<number>> {
    const gone = (): Parsed<number> | undefined =>
      life.aborted ? { ok: false, error: 'route-install: its plugin is gone' } : undefined;
    const routes: { readonly route: Installed; readonly attributes: Uint8Array; readonly nextHop: Uint8Array }[] = [];
    for (const entry of entries) {
      if (routes.length > 0 && routes.length % RUN === 0) yield;
      const route = this.#read(entry);
      if (!route.ok) return { ok: false, error: `route-install: ${route.error}` };
      const options = { origin: 2, nextHop: entry['next-hop'] ?? '', path: [], localPreference: -1, med: -1 };
      const block = attributes(options, route.value.family);
      if (!block.ok) return { ok: false, error: `route-install: ${block.error}` };
      routes.push({ route: route.value, ...block.value });
    }
    const late = gone();
    if (late !== undefined) return late;
    const held = this.#owners.get(owner) ?? new Map<string, Installed>();
    if (held.size + routes.length > OWNER_LIMIT) return { ok: false, error: `route-install: more than ${OWNER_LIMIT} routes` };
    this.#owners.set(owner, held);
    let run = 0;
    for (const { route, attributes: block, nextHop } of routes) {
      if (run++ === RUN) {
        this.#rib.flush();
        yield;
        const cut = gone();
        if (cut !== undefined) return cut;
        run = 1;
      }
      const before = held.get(route.key);
      if (before !== undefined && before.pathId !== route.pathId) this.#withdraw(before);
      held.set(route.key, route);
      this.#announce(route, block, nextHop);
    }
    this.#rib.flush();
    return { ok: true, value: routes.length };
  }

  *#removing(owner: string, entries: readonly InstallEntry[], life: AbortSignal): Generator<undefined, Parsed<number>> {
    const keys: string[] = [];
    for (const entry of entries) {
      if (keys.length > 0 && keys.length % RUN === 0) yield;
      const route = this.#read(entry);
      if (!route.ok) return { ok: false, error: `route-remove: ${route.error}` };
      keys.push(route.value.key);
    }
    return { ok: true, value: life.aborted ? 0 : yield* this.#taking(owner, keys) };
  }

  /** `keys` undefined: all. */
  *#taking(owner: string, keys: readonly string[] | undefined): Generator<undefined, number> {
    const held = this.#owners.get(owner);
    if (held === undefined) return 0;
    let removed = 0;
    let run = 0;
    for (const key of keys ?? held.keys()) {
      if (run++ === RUN) {
        this.#rib.flush();
        yield;
        run = 1;
      }
      const route = held.get(key);
      if (route === undefined) continue;
      held.delete(key);
      this.#withdraw(route);
      removed++;
    }
    if (held.size === 0) this.#owners.delete(owner);
    this.#rib.flush();
    return removed;
  }

  #read(entry: InstallEntry): Parsed<Installed> {
    const family = familyOf(entry.afi, entry.safi);
    const target = prefixTarget();
    const size = entry.afi === 1 ? 4 : 16;
    if (!/^[a-z0-9][a-z0-9-]*$/i.test(entry.protocol) || entry.protocol.length > NAME_LIMIT)
      return { ok: false, error: 'bad protocol' };
    if (!isPrefixFamily(family)) return { ok: false, error: `unsupported family ${entry.afi}/${entry.safi}` };
    if (!parsePrefix(entry.prefix, target) || target.addressLength !== size) return { ok: false, error: 'bad prefix' };
    const distance = entry.distance === undefined || entry.distance === 0 ? (entry['admin-distance'] ?? 0) : entry.distance;
    if (!isNumber(distance, 255)) return { ok: false, error: 'bad distance' };
    if (!isNumber(entry.instance, 0xffffffff)) return { ok: false, error: 'bad instance' };
    const fault = detailFault(entry, size);
    if (fault !== undefined) return { ok: false, error: fault };
    const nlri = Uint8Array.from([target.lengthBits, ...target.bytes.subarray(0, (target.lengthBits + 7) >>> 3)]);
    const source = `${entry.protocol} ${entry.instance}`;
    let serial = this.#serials.get(source);
    if (serial === undefined) {
      if (this.#serials.size + 1 >= SERIALS) return { ok: false, error: 'too many protocol instances' };
      this.#serials.set(source, (serial = this.#serials.size + 1));
    }
    return {
      ok: true,
      value: { key: `${source} ${family} ${nlri.join('.')}`, family, nlri, pathId: distance * SERIALS + serial },
    };
  }

  #announce(route: Installed, block: Uint8Array, nextHop: Uint8Array): void {
    const { store } = this.#rib;
    const handle = store.attributes.intern(viewOf(block), 0, block.length, viewOf(nextHop), 0, nextHop.length);
    const { bytes, length } = keyed(route);
    store.family(route.family)?.announce(viewOf(bytes), 0, length, true, LOCAL, handle);
    if (handle !== 0) store.attributes.release(handle);
  }

  #withdraw(route: Installed): void {
    const { bytes, length } = keyed(route);
    this.#rib.store.family(route.family)?.withdraw(viewOf(bytes), 0, length, true, LOCAL);
  }
}

function isNumber(value: unknown, most: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most;
}

/**
 * What a table without forwarding has no use for is checked all the same: an entry is good for every reader of the table, or refused.
 * `size`: bytes of the family's addresses; an IPv4 route may have an IPv6 backup (RFC 8950), not the other way round.
 */
function detailFault(entry: InstallEntry, size: number): string | undefined {
  if (!isNumber(entry.metric ?? 0, 0xffffffff)) return 'bad metric';
  if (!isNumber(entry.weight ?? 0, 255)) return 'bad weight';
  if (!ROUTE_TYPES.includes(entry['route-type'] ?? 0)) return `bad route-type ${String(entry['route-type'])}`;
  if (!isInterface(entry.interface)) return 'bad interface';
  if (!areLabels(entry.labels)) return 'bad labels';
  if (!areLabels(entry['backup-repair-labels'])) return 'bad backup-repair-labels';
  if (!isHop(entry['backup-next-hop'], size)) return 'bad backup-next-hop';
  const { ecmp } = entry;
  if (ecmp === undefined) return undefined;
  if (!Array.isArray(ecmp) || ecmp.length > MAX_ECMP) return 'bad ecmp';
  for (const hop of ecmp as readonly (EcmpEntry | null)[]) {
    if (typeof hop !== 'object' || hop === null) return 'bad ecmp';
    if (!isHop(hop['next-hop'], size) || !isInterface(hop.interface) || !isNumber(hop.weight ?? 0, 255)) return 'bad ecmp';
  }
  return undefined;
}

function isInterface(name: unknown): boolean {
  return name === undefined || (typeof name === 'string' && /^[!-~]{0,64}$/.test(name));
}

function areLabels(labels: unknown): boolean {
  if (labels === undefined) return true;
  return Array.isArray(labels) && labels.length <= MAX_LABELS && labels.every((label) => isNumber(label, MAX_LABEL));
}

function isHop(text: unknown, size: number): boolean {
  if (text === undefined || text === '') return true;
  const length = typeof text === 'string' ? (addressBytes(text)?.length ?? 0) : 0;
  return length !== 0 && length >= size;
}

/** The NLRI with its path id in front. */
function keyed(route: Installed): { readonly bytes: Uint8Array; readonly length: number } {
  const bytes = new Uint8Array(4 + route.nlri.length);
  viewOf(bytes).setUint32(0, route.pathId);
  bytes.set(route.nlri, 4);
  return { bytes, length: bytes.length };
}
