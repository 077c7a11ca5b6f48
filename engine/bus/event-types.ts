/**
 * The catalogue of event types (events.md §3, §3.1): a type belongs to a namespace before anyone can emit it. Counts what passed
 * by, for `event list`.
 */
import { KINDS } from '../codec/event-kinds.ts';

export const BGP = 'bgp';

const SEED: Readonly<Record<string, readonly string[]>> = {
  [BGP]: [...KINDS.slice(1), 'rpki', 'update-rpki', 'listener-ready', 'update-notification'],
  'bgp-rib': ['cache', 'route', 'best-change', 'replay-request'],
  'system-rib': ['best-change', 'replay-request'],
  config: ['committed', 'applied', 'rolled-back'],
  system: ['clock-synced'],
};

const MAX_NAME = 64;
const MAX_TYPES = 4096;

export interface EventCount {
  readonly namespace: string;
  readonly type: string;
  readonly count: number;
}

export class EventTypes {
  readonly #namespaces = new Map<string, Map<string, { count: number }>>();
  #types = 0;

  constructor() {
    for (const [namespace, types] of Object.entries(SEED)) for (const type of types) this.register(namespace, type);
  }

  /** Adds a type; twice is once. Returns why not, or undefined. */
  register(namespace: string, type: string): string | undefined {
    for (const [what, name] of [
      ['namespace', namespace],
      ['event type', type],
    ] as const) {
      if (name === '') return `empty ${what}`;
      if (name.length > MAX_NAME || /[\s\u0000-\u001f\u007f"\\]/.test(name)) return `bad ${what} name`;
    }
    let types = this.#namespaces.get(namespace);
    if (types?.has(type) === true) return undefined;
    if (this.#types >= MAX_TYPES) return `too many event types (max ${MAX_TYPES})`;
    if (types === undefined) {
      types = new Map<string, { count: number }>();
      this.#namespaces.set(namespace, types);
    }
    types.set(type, { count: 0 });
    this.#types++;
    return undefined;
  }

  has(namespace: string, type: string): boolean {
    return this.#namespaces.get(namespace)?.has(type) === true;
  }

  count(namespace: string, type: string): void {
    const entry = this.#namespaces.get(namespace)?.get(type);
    if (entry !== undefined) entry.count++;
  }

  namespaces(): readonly string[] {
    return [...this.#namespaces.keys()].sort();
  }

  types(namespace: string): readonly string[] {
    return [...(this.#namespaces.get(namespace)?.keys() ?? [])].sort();
  }

  list(): readonly EventCount[] {
    const out: EventCount[] = [];
    for (const namespace of this.namespaces()) {
      for (const type of this.types(namespace)) {
        out.push({ namespace, type, count: this.#namespaces.get(namespace)?.get(type)?.count ?? 0 });
      }
    }
    return out;
  }
}
