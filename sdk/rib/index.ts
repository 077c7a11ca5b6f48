// Structures for routes by the million: interned attributes, prefix tables, the candidates of a prefix and the choice among them.
export { AttributeTable } from './attribute-table.ts';
export type { AttributeTableOptions } from './attribute-table.ts';
export { BestPath, LEAST_PREFERRED, STEPS } from './best-path.ts';
export type { Decision, StepName } from './best-path.ts';
export { BEST_CHANGED, CANDIDATE_LIMIT, LocRib, ROUTE_ABSENT, ROUTE_ADDED, ROUTE_REFUSED, ROUTE_REMOVED } from './loc-rib.ts';
export { longestMatchIpv4, longestMatchIpv6 } from './longest-match.ts';
export { LOCAL, PeerFacts } from './peer-facts.ts';
export { Ipv4Table, Ipv6Table, NlriTable } from './prefix-table.ts';
export type { PrefixTable, TableOptions } from './prefix-table.ts';
export { FamilyRoutes, familyRoutes } from './family-routes.ts';
export type { FamilyOptions } from './family-routes.ts';
export { ReceivedBlock } from './received-block.ts';
export { RouteStore } from './route-store.ts';
export type { RouteStoreOptions } from './route-store.ts';
export { RelayRun } from './relay-run.ts';
export { findPeer, selectPeers } from './peer-selector.ts';
