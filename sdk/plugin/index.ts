/** What a plugin author imports: `zest-bgp/sdk`. */
export type * from '../../yang/generated/methods.ts';
export {
  type AnswerHead,
  AnswerReader,
  type AnswerSource,
  type Collapsed,
  documentAnswer,
  failedAnswer,
  parseJson,
  records,
  type RecordsOptions,
  rejected,
  RpcError,
  type Verdict,
} from '../rpc/index.ts';
export type { Bridge, BridgeHandlers } from './bridge.ts';
export type { Handlers } from './callbacks.ts';
export {
  definePlugin,
  type FailurePolicy,
  type Placement,
  type PluginDefinition,
  type PluginSpec,
  runExternal,
  type RunContext,
} from './define.ts';
export { Engine } from './engine.ts';
export { type PeerSelection, type RouteCounts, type RouteDone, selectorText } from './engine-calls.ts';
export type { Gap, GapHandler, StateFacts, StateHandler, Subscription, TextHandler, UpdatesHandler } from './event-router.ts';
export { type Journal, journal } from './journal.ts';
export { type PluginLog, stderrLog } from './log.ts';
export { Plugin, type PluginOptions, type Registration, StageError } from './plugin.ts';
export { queryModeRequested, runOrDeclare } from './query.ts';
export type { CommandHandler, CompletionHandler, DoctorHandler, EnricherHandler, FilterHandler } from './registrations.ts';
export type * from './route-path.ts';
export { attributeText, type RouteAttributes, RouteSender, type RouteSenderOptions, type SentRoutes } from './routes.ts';
export { StateStore } from './state-store.ts';
export { type PeerDirectory, STRUCTURED_KIND, type StructuredBatch } from './structured.ts';
export { Union, union, type UnionCounts, type UnionHandler, type UnionOptions } from './union.ts';
