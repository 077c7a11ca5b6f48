// In which order the nodes of a plan run: who makes a resource before who uses it, who uses it before who takes it away; where nothing
// binds, creations first, then changes, then destructions, and what the engine does itself last.
import type { ConfigOperation, ResourceRef } from '../../../yang/generated/methods.ts';
import { isMoved, isSame, ResourceIndex } from './resources.ts';

export interface Ordered {
  readonly id: string;
  readonly verb: ConfigOperation['verb'];
  readonly target: ResourceRef | undefined;
  readonly produces: readonly ResourceRef[];
  readonly consumes: readonly ResourceRef[];
  /** An address may live on two interfaces for a while. */
  readonly allowDual: boolean;
  /** Of the engine: behind everything else, unless a resource says otherwise. */
  readonly last: boolean;
}

export type OrderResult<T> =
  | { readonly ok: true; readonly nodes: readonly T[] }
  /** Nodes that wait for each other; none = the nodes name so many resources of each other that no order was looked for. */
  | { readonly ok: false; readonly cycle: readonly string[] };

/**
 * Resources looked at while one order is made. Thousands that all make and use the same resource wait for each other by the square of their
 * number, and the engine would stand still meanwhile.
 */
export const MAX_MATCHES = 500_000;

/** From what others stand on to what stands on others. */
const KINDS = ['interface', 'bridge-member', 'tunnel', 'sysctl', 'address', 'dhcp', 'static-route', 'listener', 'peer'];
const VERBS = ['create', 'modify', 'destroy'];

export function inOrder<T extends Ordered>(nodes: readonly T[]): OrderResult<T> {
  const followers = edges(nodes);
  if (followers === undefined) return { ok: false, cycle: [] };
  const waitsFor = new Map<T, number>(nodes.map((node) => [node, 0]));
  for (const targets of followers.values()) for (const node of targets) waitsFor.set(node, (waitsFor.get(node) ?? 0) + 1);
  const place = new Map([...nodes].sort(compareFree(nodes)).map((node, i) => [node, i]));
  const rank = (node: T): number => place.get(node) ?? 0;
  /** Sorted, the next one at the end. */
  const ready = nodes.filter((node) => waitsFor.get(node) === 0).sort((a, b) => rank(b) - rank(a));
  const done: T[] = [];
  for (let node = ready.pop(); node !== undefined; node = ready.pop()) {
    done.push(node);
    waitsFor.delete(node);
    for (const follower of followers.get(node) ?? []) {
      const left = (waitsFor.get(follower) ?? 0) - 1;
      waitsFor.set(follower, left);
      if (left === 0) insert(ready, follower, rank);
    }
  }
  return waitsFor.size === 0 ? { ok: true, nodes: done } : { ok: false, cycle: [...waitsFor.keys()].map((node) => node.id) };
}

function insert<T>(sorted: T[], node: T, rank: (node: T) => number): void {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rank(sorted[middle] as T) > rank(node)) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, node);
}

/** The order where no edge decides: that of the list, within one verb and kind. */
function compareFree<T extends Ordered>(nodes: readonly T[]): (a: T, b: T) => number {
  const index = new Map(nodes.map((node, i) => [node, i]));
  return (a, b) =>
    Number(a.last) - Number(b.last) ||
    (a.last && b.last ? 0 : VERBS.indexOf(a.verb) - VERBS.indexOf(b.verb) || kindRank(a) - kindRank(b)) ||
    (index.get(a) ?? 0) - (index.get(b) ?? 0);
}

function kindRank(node: Ordered): number {
  const rank = KINDS.indexOf(node.target?.kind ?? '');
  return node.verb === 'destroy' ? -rank : rank;
}

/** What a node brings: nothing when it destroys. */
function made(node: Ordered): readonly ResourceRef[] {
  if (node.verb === 'destroy') return [];
  return node.verb === 'create' && node.target !== undefined ? [...node.produces, node.target] : node.produces;
}

/** What a node takes away. */
function unmade(node: Ordered): readonly ResourceRef[] {
  if (node.verb !== 'destroy') return [];
  return node.target === undefined ? node.produces : [...node.produces, node.target];
}

/** Node → those that must come later; `undefined` = more than `MAX_MATCHES`. */
function edges<T extends Ordered>(nodes: readonly T[]): ReadonlyMap<T, ReadonlySet<T>> | undefined {
  const followers = new Map<T, Set<T>>();
  const before = (first: T, second: T): void => {
    if (first === second) return;
    const set = followers.get(first);
    if (set === undefined) followers.set(first, new Set([second]));
    else set.add(second);
  };
  const makers = new ResourceIndex<T>();
  const takers = new ResourceIndex<T>();
  const tooMany = (): boolean => makers.work + takers.work > MAX_MATCHES;
  for (const node of nodes) {
    if (tooMany()) return undefined;
    for (const ref of made(node)) makers.add(ref, node);
    for (const ref of unmade(node)) takers.add(ref, node);
  }
  for (const node of nodes) {
    for (const ref of node.consumes) {
      if (tooMany()) return undefined;
      consumed(node, ref, makers, takers, before);
    }
    for (const ref of made(node)) {
      if (tooMany()) return undefined;
      // What is made again in the same place is taken away first; what moves to another interface too, unless it may live twice.
      for (const taker of takers.find(ref)) if (!isDualMove(taker, node)) before(taker, node);
      for (const taker of takers.find(ref, isMoved)) if (!taker.allowDual && !node.allowDual) before(taker, node);
    }
    if (node.verb === 'modify' && node.target !== undefined) {
      for (const maker of makers.find(node.target)) if (maker.verb === 'create') before(maker, node);
      for (const taker of takers.find(node.target)) before(node, taker);
    }
  }
  return followers;
}

function consumed<T extends Ordered>(
  node: T,
  ref: ResourceRef,
  makers: ResourceIndex<T>,
  takers: ResourceIndex<T>,
  before: (first: T, second: T) => void,
): void {
  const makes = [...makers.find(ref)].filter((maker) => maker !== node);
  if (node.verb !== 'destroy') for (const maker of makes) before(maker, node);
  for (const taker of takers.find(ref)) {
    // Who goes on with a resource that is made anew waits for the new one, and the old one is gone by then.
    const goesOn = node.verb !== 'destroy' && makes.some((maker) => !isDualMove(taker, maker));
    if (!goesOn) before(node, taker);
  }
}

function isDualMove(taker: Ordered, maker: Ordered): boolean {
  if (!taker.allowDual && !maker.allowDual) return false;
  return unmade(taker).some((gone) => made(maker).some((ref) => isMoved(gone, ref) && !isSame(gone, ref)));
}
