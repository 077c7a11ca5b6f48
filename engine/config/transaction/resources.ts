// Resources that operations name, and when two names mean the same one.
import type { ResourceRef } from '../../../yang/generated/methods.ts';

const FIELDS = ['name', 'interface', 'address', 'peer', 'port', 'prefix', 'next-hop'] as const;

/** Names nothing: no kind, or a kind and nothing else. */
export function isBlank(ref: ResourceRef): boolean {
  return ref.kind.trim() === '' || FIELDS.every((field) => (ref[field] ?? '') === '');
}

/** One may say more than the other: what both say must agree, and there must be something that both say. */
export function isSame(one: ResourceRef, other: ResourceRef): boolean {
  if (one.kind !== other.kind) return false;
  let shared = false;
  for (const field of FIELDS) {
    const [a, b] = [one[field], other[field]];
    if (a === undefined || a === '' || b === undefined || b === '') continue;
    if (a !== b) return false;
    shared = true;
  }
  return shared;
}

/** The same address on two interfaces. */
export function isMoved(one: ResourceRef, other: ResourceRef): boolean {
  return (
    one.kind === 'address' &&
    other.kind === 'address' &&
    (one.address ?? '') !== '' &&
    one.address === other.address &&
    (one.interface ?? '') !== (other.interface ?? '')
  );
}

/** Finds the entries whose resource may be the one asked for, without looking at all of them. */
export class ResourceIndex<T> {
  readonly #entries = new Map<string, { readonly ref: ResourceRef; readonly value: T }[]>();
  /** Entries that were put in or looked at. */
  work = 0;

  add(ref: ResourceRef, value: T): void {
    for (const key of keysOf(ref)) {
      this.work++;
      const list = this.#entries.get(key);
      if (list === undefined) this.#entries.set(key, [{ ref, value }]);
      else list.push({ ref, value });
    }
  }

  /** Values whose resource is the same by `test`, each once. */
  find(ref: ResourceRef, test: (one: ResourceRef, other: ResourceRef) => boolean = isSame): ReadonlySet<T> {
    const found = new Set<T>();
    for (const key of keysOf(ref)) {
      const list = this.#entries.get(key) ?? [];
      this.work += 1 + list.length;
      for (const entry of list) if (test(entry.ref, ref)) found.add(entry.value);
    }
    return found;
  }
}

function keysOf(ref: ResourceRef): readonly string[] {
  return FIELDS.flatMap((field) => ((ref[field] ?? '') === '' ? [] : [`${ref.kind} ${field} ${ref[field] ?? ''}`]));
}
