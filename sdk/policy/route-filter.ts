/**
 * Filters that run inside the reactor, on bytes: the contract between it and the plugins that bring kinds of them. A definition (the
 * block below `bgp/policy/KIND NAME`, as JSON of the effective tree) is compiled once; what comes of it judges UPDATEs of every peer
 * whose chain names it, at once and without memory of its own.
 */
import type { Draft } from './draft.ts';

export interface RouteFilter {
  /**
   * Judges what the draft announces, which is something. False rejects all of it; changes are made on the draft. Withdrawals are not
   * filtered. Must be pure: the same draft, the same answer. On the way out one answer counts for all peers of an update group: there
   * `context.peerAs` is that of any of them.
   */
  judge(draft: Draft): boolean;
}

/** Throws with a message for people when the definition cannot be: then every route of its chains is rejected, and that is reported. */
export type FilterCompiler = (definition: unknown) => RouteFilter;
