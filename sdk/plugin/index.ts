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
export { type CommandHandler, Engine, type Subscription } from './engine.ts';
export { type PeerSelection, type RouteCounts, type RouteDone, selectorText } from './engine-calls.ts';
export { type Journal, journal } from './journal.ts';
export { type PluginLog, stderrLog } from './log.ts';
export { Plugin, type PluginOptions, type Registration, StageError } from './plugin.ts';
export { queryModeRequested, runOrDeclare } from './query.ts';
export type * from './route-path.ts';
export { attributeText, type RouteAttributes, RouteSender, type RouteSenderOptions, type SentRoutes } from './routes.ts';
export { type PeerDirectory, STRUCTURED_KIND, type StructuredBatch } from './structured.ts';
