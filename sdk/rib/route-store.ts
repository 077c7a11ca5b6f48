// All families together: what a plugin that keeps received routes feeds with UPDATEs.
import { type Family, IPV4_UNICAST, IPV6_UNICAST } from '../wire/family.ts';
import type { UpdateView } from '../wire/update.ts';
import { AttributeTable } from './attribute-table.ts';
import { type FamilyRoutes, familyRoutes } from './family-routes.ts';
import { ROW_RESERVE } from './ipv4-table.ts';
import { PeerFacts } from './peer-facts.ts';
import { ReceivedBlock } from './received-block.ts';

export interface RouteStoreOptions {
  /** Bits of a change that put a row on its family's list of changed rows. */
  readonly interest: number;
  /** Which families are kept; one that is no plain prefix is kept entry by entry as bytes. */
  readonly keeps: (family: Family) => boolean;
  /** Mixed into every hash: a random number, so that a peer cannot aim at one chain. */
  readonly seed: number;
  /** Rows of a family never exceeded; NLRI past it are counted in `refused`. */
  readonly rowLimit?: number | undefined;
  /** Rows reserved at most for a family, in place of 4 M: for stores that are small and many. */
  readonly reserve?: number | undefined;
}

export class RouteStore {
  readonly attributes: AttributeTable;
  readonly peers = new PeerFacts();
  /** In the order they were first seen. */
  readonly families: FamilyRoutes[] = [];
  readonly #options: RouteStoreOptions;
  readonly #block: ReceivedBlock;

  constructor(options: RouteStoreOptions) {
    this.#options = options;
    const { seed, reserve = ROW_RESERVE } = options;
    this.attributes = new AttributeTable({ seed, reserve: reserve / 4, byteReserve: 16 * reserve });
    this.#block = new ReceivedBlock(this.attributes);
  }

  /** The routes of a family, made when they are first asked for; undefined when the family is not kept. */
  family(family: Family): FamilyRoutes | undefined {
    for (const routes of this.families) if (routes.family === family) return routes;
    if (!this.#options.keeps(family)) return undefined;
    const { interest, seed, rowLimit } = this.#options;
    const made = familyRoutes(family, this.attributes, this.peers, {
      interest,
      seed,
      limit: rowLimit,
      reserve: reserveFor(family),
    });
    this.families.push(made);
    return made;
  }

  /** The routes of a family that has been seen. */
  known(family: Family): FamilyRoutes | undefined {
    for (const routes of this.families) if (routes.family === family) return routes;
    return undefined;
  }

  /**
   * An UPDATE of the peer: its withdraws, then its routes. `treatAsWithdraw` (RFC 7606 §2): what it announces is withdrawn too, so that no
   * earlier route stays.
   */
  receive(peer: number, view: UpdateView, treatAsWithdraw: boolean): void {
    const bytes = view.view;
    if (view.withdrawnLength !== 0 && !view.classicIgnored) {
      const addPath = view.context.addPathIpv4Unicast;
      this.family(IPV4_UNICAST)?.withdraw(bytes, view.withdrawnAt, view.withdrawnLength, addPath, peer);
    }
    if (view.unreachLength !== 0 && !view.unreachIgnored) {
      this.family(view.unreachFamily)?.withdraw(bytes, view.unreachAt, view.unreachLength, view.unreachAddPath, peer);
    }
    if (view.nlriLength !== 0 && !view.classicIgnored) this.#receiveClassic(peer, view, treatAsWithdraw);
    if (view.reachLength !== 0 && !view.reachIgnored) this.#receiveReach(peer, view, treatAsWithdraw);
  }

  /** Routes stored of the peer, all families. */
  received(peer: number): number {
    let sum = 0;
    for (const routes of this.families) sum += routes.rib.received[peer]!;
    return sum;
  }

  #receiveClassic(peer: number, view: UpdateView, treatAsWithdraw: boolean): void {
    const routes = this.family(IPV4_UNICAST);
    if (routes === undefined) return;
    const handle = treatAsWithdraw ? 0 : this.#block.classic(view);
    routes.announce(view.view, view.nlriAt, view.nlriLength, view.context.addPathIpv4Unicast, peer, handle);
    if (handle !== 0) this.attributes.release(handle);
  }

  #receiveReach(peer: number, view: UpdateView, treatAsWithdraw: boolean): void {
    const routes = this.family(view.reachFamily);
    if (routes === undefined) return;
    const handle = treatAsWithdraw ? 0 : this.#block.reach(view);
    routes.announce(view.view, view.reachAt, view.reachLength, view.reachAddPath, peer, handle);
    if (handle !== 0) this.attributes.release(handle);
  }
}

function reserveFor(family: Family): number {
  if (family === IPV4_UNICAST) return ROW_RESERVE;
  return family === IPV6_UNICAST ? ROW_RESERVE / 4 : 1 << 12;
}
