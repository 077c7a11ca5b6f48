// Which of several routes to one prefix is used (RFC 4271 §9.1.2.2, RFC 4456 §9). MED is compared among routes of the same neighbour AS
// before anything after it is, for all of them at once: the answer is a property of the set, never of the order in which it came.
import type { AttributeTable } from './attribute-table.ts';
import type { PeerFacts } from './peer-facts.ts';

/** Steps in order; a decision is the index. `igp-cost` never decides: next hops are not resolved here. */
export const STEPS = [
  'none',
  'stale-level',
  'local-preference',
  'as-path-length',
  'origin',
  'med',
  'ebgp-over-ibgp',
  'igp-cost',
  'router-id',
  'cluster-list-length',
  'peer-address',
  'path-id',
] as const;
export type StepName = (typeof STEPS)[number];

export const STEP_STALE = 1;
export const STEP_LOCAL_PREFERENCE = 2;
export const STEP_PATH_LENGTH = 3;
export const STEP_ORIGIN = 4;
export const STEP_MED = 5;
export const STEP_EXTERNAL = 6;
export const STEP_ROUTER_ID = 8;
export const STEP_CLUSTERS = 9;
export const STEP_ADDRESS = 10;
export const STEP_PATH_ID = 11;

/** A stale level from here on loses to a lower one (RFC 9494 §4.3); level 1 is graceful restart's and counts as fresh (RFC 4724 §4.1). */
export const LEAST_PREFERRED = 2;

/** One comparison of a tournament: `incumbent`, `challenger` and `winner` are candidate numbers. */
export interface Decision {
  readonly step: StepName;
  readonly incumbent: number;
  readonly challenger: number;
  readonly winner: number;
  /** `200 > 100`, or which value decided. */
  readonly reason: string;
}

/**
 * Compares candidates that the owner has put into the columns `handle`, `peer`, `pathId`, `stale` (0..count-1, `reserve` made room). Holds
 * no routes and allocates nothing per call, `explain` and `multipath` apart.
 */
export class BestPath {
  handle = new Uint32Array(64);
  peer = new Uint16Array(64);
  pathId = new Uint32Array(64);
  stale = new Uint8Array(64);
  readonly attributes: AttributeTable;
  readonly peers: PeerFacts;
  #left = new Int32Array(64);
  #groupAs = new Uint32Array(64);
  #groupMed = new Uint32Array(64);

  constructor(attributes: AttributeTable, peers: PeerFacts) {
    this.attributes = attributes;
    this.peers = peers;
  }

  /** Makes room for `count` candidates, keeping those that are there. */
  reserve(count: number): void {
    if (count <= this.handle.length) return;
    const size = 2 ** Math.ceil(Math.log2(count));
    const { handle, peer, pathId, stale } = this;
    this.handle = new Uint32Array(size);
    this.peer = new Uint16Array(size);
    this.pathId = new Uint32Array(size);
    this.stale = new Uint8Array(size);
    this.handle.set(handle);
    this.peer.set(peer);
    this.pathId.set(pathId);
    this.stale.set(stale);
    this.#left = new Int32Array(size);
    this.#groupAs = new Uint32Array(size);
    this.#groupMed = new Uint32Array(size);
  }

  /** The best of candidates 0..count-1; -1 when there is none. */
  pick(count: number): number {
    if (count < 2) return count - 1;
    const left = this.#leaders(count);
    let best = this.#left[0]!;
    for (let i = 1; i < left; i++) {
      const other = this.#left[i]!;
      if (this.#late(best, other) < 0) best = other;
    }
    return best;
  }

  /** The best of candidates 0..count-1 that is not the peer's; -1 when there is none. The columns lose the peer's candidates. */
  pickWithout(count: number, peer: number): number {
    let kept = 0;
    for (let i = 0; i < count; i++) {
      if (this.peer[i] === peer) continue;
      this.handle[kept] = this.handle[i]!;
      this.peer[kept] = this.peer[i]!;
      this.pathId[kept] = this.pathId[i]!;
      this.stale[kept] = this.stale[i]!;
      kept++;
    }
    return this.pick(kept);
  }

  /**
   * Compares two routes by every step; positive: `a` is preferred, negative: `b`, the number is the step; 0: the same in all. MED counts only
   * when `med` says that both came by the same neighbour AS.
   */
  decide(
    handleA: number,
    peerA: number,
    pathA: number,
    staleA: number,
    handleB: number,
    peerB: number,
    pathB: number,
    staleB: number,
    med: boolean,
  ): number {
    const early = this.early(handleA, staleA, handleB, staleB);
    if (early !== 0) return early;
    if (med) {
      const medA = this.attributes.meds[handleA]!;
      const medB = this.attributes.meds[handleB]!;
      if (medA !== medB) return medA < medB ? STEP_MED : -STEP_MED;
    }
    return this.#tie(handleA, peerA, pathA, handleB, peerB, pathB);
  }

  /** True when the two routes came by the same neighbour AS, so that their MEDs compare. */
  sameNeighbour(handleA: number, handleB: number): boolean {
    return this.attributes.neighbours[handleA] === this.attributes.neighbours[handleB];
  }

  /** Candidate numbers, ascending, that go with `best` in multipath: equal through `ebgp-over-ibgp` and with the same AS_PATH, or with
   * `relax` one of the same length; `best` is one of them and `maximum` bounds them. */
  multipath(count: number, best: number, maximum: number, relax: boolean): number[] {
    const chosen = [best];
    const left = this.#leaders(count);
    const external = this.peers.external[this.peer[best]!];
    for (let i = 0; i < left && chosen.length < maximum; i++) {
      const other = this.#left[i]!;
      if (other === best || this.peers.external[this.peer[other]!] !== external) continue;
      if (relax || samePath(this.attributes, this.handle[best]!, this.handle[other]!)) chosen.push(other);
    }
    return chosen.sort((a, b) => a - b);
  }

  /**
   * The comparisons that lead to `pick`'s answer: within each neighbour AS first, then the winners of those among each other. A route that
   * loses before MED to the winner of its group does so by the same step as in `pick`.
   */
  explain(count: number): Decision[] {
    const decisions: Decision[] = [];
    const winners: number[] = [];
    for (let i = 0; i < count; i++) {
      const group = winners.findIndex((winner) => this.sameNeighbour(this.handle[winner]!, this.handle[i]!));
      if (group < 0) winners.push(i);
      else winners[group] = this.#contest(winners[group]!, i, true, decisions);
    }
    let best = winners[0] ?? -1;
    for (const challenger of winners.slice(1)) best = this.#contest(best, challenger, false, decisions);
    return decisions;
  }

  #contest(incumbent: number, challenger: number, med: boolean, decisions: Decision[]): number {
    const result = this.decide(
      this.handle[incumbent]!,
      this.peer[incumbent]!,
      this.pathId[incumbent]!,
      this.stale[incumbent]!,
      this.handle[challenger]!,
      this.peer[challenger]!,
      this.pathId[challenger]!,
      this.stale[challenger]!,
      med,
    );
    const winner = result >= 0 ? incumbent : challenger;
    const loser = result >= 0 ? challenger : incumbent;
    const step = Math.abs(result);
    decisions.push({ step: STEPS[step]!, incumbent, challenger, winner, reason: this.#reason(step, winner, loser) });
    return winner;
  }

  #reason(step: number, winner: number, loser: number): string {
    const a = this.handle[winner]!;
    const b = this.handle[loser]!;
    const { attributes, peers } = this;
    switch (step) {
      case STEP_STALE:
        return `${this.stale[winner]} < ${this.stale[loser]}`;
      case STEP_LOCAL_PREFERENCE:
        return `${attributes.localPreferences[a]} > ${attributes.localPreferences[b]}`;
      case STEP_PATH_LENGTH:
        return `${attributes.pathLengths[a]} < ${attributes.pathLengths[b]}`;
      case STEP_ORIGIN:
        return `${ORIGINS[attributes.origins[a]!]} < ${ORIGINS[attributes.origins[b]!]}`;
      case STEP_MED:
        return `${attributes.meds[a]} < ${attributes.meds[b]}, neighbour AS ${attributes.neighbours[a]}`;
      case STEP_EXTERNAL:
        return 'ebgp over ibgp';
      case STEP_ROUTER_ID:
        return `${dotted(this.#identifier(a, this.peer[winner]!))} < ${dotted(this.#identifier(b, this.peer[loser]!))}`;
      case STEP_CLUSTERS:
        return `${attributes.clusters[a]} < ${attributes.clusters[b]}`;
      case STEP_ADDRESS:
        return peers.compareAddress(this.peer[winner]!, this.peer[loser]!) === 0 ? 'lower peer number' : 'lower peer address';
      case STEP_PATH_ID:
        return `${this.pathId[winner]} < ${this.pathId[loser]}`;
      default:
        return 'equal';
    }
  }

  /** Fills `#left` with the candidates that are best up to and with MED; returns how many. */
  #leaders(count: number): number {
    const { handle, stale } = this;
    const left = this.#left;
    let size = 1;
    left[0] = 0;
    for (let i = 1; i < count; i++) {
      const lead = left[0];
      const result = this.early(handle[lead]!, stale[lead]!, handle[i]!, stale[i]!);
      if (result < 0) size = 0;
      if (result <= 0) left[size++] = i;
    }
    return size < 2 ? size : this.#lowestMed(size);
  }

  #lowestMed(size: number): number {
    const { neighbours, meds } = this.attributes;
    const left = this.#left;
    let groups = 0;
    for (let i = 0; i < size; i++) {
      const handle = this.handle[left[i]!]!;
      const group = this.#group(neighbours[handle]!, groups);
      const med = meds[handle]!;
      if (group === groups) {
        this.#groupAs[groups] = neighbours[handle]!;
        this.#groupMed[groups++] = med;
      } else if (med < this.#groupMed[group]!) {
        this.#groupMed[group] = med;
      }
    }
    let kept = 0;
    for (let i = 0; i < size; i++) {
      const handle = this.handle[left[i]!]!;
      if (meds[handle] === this.#groupMed[this.#group(neighbours[handle]!, groups)]) left[kept++] = left[i]!;
    }
    return kept;
  }

  /** Index of the group of a neighbour AS, `groups` when it has none. */
  #group(neighbour: number, groups: number): number {
    for (let i = 0; i < groups; i++) if (this.#groupAs[i] === neighbour) return i;
    return groups;
  }

  #late(a: number, b: number): number {
    return this.#tie(this.handle[a]!, this.peer[a]!, this.pathId[a]!, this.handle[b]!, this.peer[b]!, this.pathId[b]!);
  }

  /** The steps before MED, as `decide` does them. */
  early(a: number, staleA: number, b: number, staleB: number): number {
    if (staleA !== staleB) {
      const least = staleA >= LEAST_PREFERRED;
      if (least !== staleB >= LEAST_PREFERRED) return least ? -STEP_STALE : STEP_STALE;
    }
    const { localPreferences, pathLengths, origins } = this.attributes;
    const preference = localPreferences[a]! - localPreferences[b]!;
    if (preference !== 0) return preference > 0 ? STEP_LOCAL_PREFERENCE : -STEP_LOCAL_PREFERENCE;
    const length = pathLengths[a]! - pathLengths[b]!;
    if (length !== 0) return length < 0 ? STEP_PATH_LENGTH : -STEP_PATH_LENGTH;
    const origin = origins[a]! - origins[b]!;
    return origin === 0 ? 0 : origin < 0 ? STEP_ORIGIN : -STEP_ORIGIN;
  }

  /** Steps after MED. */
  #tie(a: number, peerA: number, pathA: number, b: number, peerB: number, pathB: number): number {
    const peers = this.peers;
    const external = peers.external[peerA]! - peers.external[peerB]!;
    if (external !== 0) return external > 0 ? STEP_EXTERNAL : -STEP_EXTERNAL;
    const identifier = this.#identifier(a, peerA) - this.#identifier(b, peerB);
    if (identifier !== 0) return identifier < 0 ? STEP_ROUTER_ID : -STEP_ROUTER_ID;
    const clusters = this.attributes.clusters[a]! - this.attributes.clusters[b]!;
    if (clusters !== 0) return clusters < 0 ? STEP_CLUSTERS : -STEP_CLUSTERS;
    if (peerA !== peerB) {
      const address = peers.compareAddress(peerA, peerB);
      return (address === 0 ? peerA < peerB : address < 0) ? STEP_ADDRESS : -STEP_ADDRESS;
    }
    return pathA === pathB ? 0 : pathA < pathB ? STEP_PATH_ID : -STEP_PATH_ID;
  }

  /** ORIGINATOR_ID stands for the identifier where it is present (RFC 4456 §9). */
  #identifier(handle: number, peer: number): number {
    const originator = this.attributes.originators[handle]!;
    return originator === 0 ? this.peers.routerIds[peer]! : originator;
  }
}

const ORIGINS = ['igp', 'egp', 'incomplete'];

function dotted(id: number): string {
  return `${id >>> 24}.${(id >>> 16) & 255}.${(id >>> 8) & 255}.${id & 255}`;
}

/** True when both handles' AS_PATH hold the same bytes. */
function samePath(attributes: AttributeTable, a: number, b: number): boolean {
  const [atA, lengthA] = pathOf(attributes, a);
  const [atB, lengthB] = pathOf(attributes, b);
  if (lengthA !== lengthB) return false;
  const bytes = attributes.bytes;
  for (let i = 0; i < lengthA; i++) if (bytes[atA + i] !== bytes[atB + i]) return false;
  return true;
}

function pathOf(attributes: AttributeTable, handle: number): readonly [at: number, length: number] {
  const view = attributes.view;
  const end = attributes.at(handle) + attributes.length(handle);
  for (let i = attributes.at(handle); i + 3 <= end; ) {
    const extended = (view.getUint8(i) & 0x10) !== 0;
    if (extended && i + 4 > end) break;
    const length = extended ? view.getUint16(i + 2) : view.getUint8(i + 2);
    const value = i + (extended ? 4 : 3);
    if (value + length > end) break;
    if (view.getUint8(i + 1) === 2) return [value, length];
    i = value + length;
  }
  return [end, 0];
}
