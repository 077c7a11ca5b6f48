// Routes that plugins install into the Loc-RIB (`route-install`, `route-remove`): local ones, beside those of peers. Their AS path is empty, so
// they beat what peers announce at the same preference; among themselves the lower distance wins.
import { LOCAL } from '../../sdk/rib/peer-facts.ts';
import { parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { type Family, familyOf, isPrefixFamily } from '../../sdk/wire/family.ts';
import { attributes, type Parsed } from './inject.ts';
import type { Rib } from './rib.ts';

/** Routes one owner may have installed; a call past it is refused whole. */
const OWNER_LIMIT = 1_000_000;
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
  readonly distance?: number | undefined;
  readonly 'admin-distance'?: number | undefined;
}

interface Installed {
  readonly key: string;
  readonly family: Family;
  readonly nlri: Uint8Array;
  readonly pathId: number;
}

export class InstalledRoutes {
  readonly #rib: Rib;
  readonly #owners = new Map<string, Map<string, Installed>>();
  readonly #serials = new Map<string, number>();

  constructor(rib: Rib) {
    this.#rib = rib;
  }

  /** All entries or, when one is bad, none; how many. */
  install(owner: string, entries: readonly InstallEntry[]): Parsed<number> {
    const routes: { readonly route: Installed; readonly attributes: Uint8Array; readonly nextHop: Uint8Array }[] = [];
    for (const entry of entries) {
      const route = this.#read(entry);
      if (!route.ok) return { ok: false, error: `route-install: ${route.error}` };
      const options = { origin: 2, nextHop: entry['next-hop'] ?? '', path: [], localPreference: -1, med: -1 };
      const block = attributes(options, route.value.family);
      if (!block.ok) return { ok: false, error: `route-install: ${block.error}` };
      routes.push({ route: route.value, ...block.value });
    }
    const held = this.#owners.get(owner) ?? new Map<string, Installed>();
    if (held.size + routes.length > OWNER_LIMIT) return { ok: false, error: `route-install: more than ${OWNER_LIMIT} routes` };
    this.#owners.set(owner, held);
    for (const { route, attributes: block, nextHop } of routes) {
      const before = held.get(route.key);
      if (before !== undefined && before.pathId !== route.pathId) this.#withdraw(before);
      held.set(route.key, route);
      this.#announce(route, block, nextHop);
    }
    this.#rib.flush();
    return { ok: true, value: routes.length };
  }

  /** Entries that the owner has not installed are passed over; how many were removed. */
  remove(owner: string, entries: readonly InstallEntry[]): Parsed<number> {
    const keys: string[] = [];
    for (const entry of entries) {
      const route = this.#read(entry);
      if (!route.ok) return { ok: false, error: `route-remove: ${route.error}` };
      keys.push(route.value.key);
    }
    return { ok: true, value: this.#take(owner, keys) };
  }

  /** The owner is gone: everything it installed goes. */
  disown(owner: string): number {
    const held = this.#owners.get(owner);
    return held === undefined ? 0 : this.#take(owner, [...held.keys()]);
  }

  #take(owner: string, keys: readonly string[]): number {
    const held = this.#owners.get(owner);
    let removed = 0;
    for (const key of keys) {
      const route = held?.get(key);
      if (route === undefined) continue;
      held?.delete(key);
      this.#withdraw(route);
      removed++;
    }
    if (held?.size === 0) this.#owners.delete(owner);
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
    const distance = entry.distance ?? entry['admin-distance'] ?? 0;
    if (!Number.isInteger(distance) || distance < 0 || distance > 255) return { ok: false, error: 'bad distance' };
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

/** The NLRI with its path id in front. */
function keyed(route: Installed): { readonly bytes: Uint8Array; readonly length: number } {
  const bytes = new Uint8Array(4 + route.nlri.length);
  viewOf(bytes).setUint32(0, route.pathId);
  bytes.set(route.nlri, 4);
  return { bytes, length: bytes.length };
}
