/** The bus's lines, answers and calls, for whoever speaks them: host, CLI, SDK, workers' tools. */
export {
  type AnswerChunk,
  type AnswerEnd,
  type AnswerHead,
  AnswerReader,
  type AnswerRecord,
  type AnswerSource,
  type Collapsed,
  COLLAPSE_LIMIT,
  DOC_HEAD,
  foldRecords,
  type ItemType,
  type Outcome,
  type Verdict,
  verdictOf,
  zipRow,
} from './answer.ts';
export { endLine, headLine, nayLine, parseAnswerTail, recordLine } from './answer-lines.ts';
export { HELD_RECORDS, type LineSink, writeAnswer } from './answer-writer.ts';
export { AUTH_LINE_LIMIT, AUTH_OK, type AuthClaim, authError, authLine, parseAuth, PLUGIN_NAME, readFirstLine } from './auth.ts';
export { decodeInput, decodeOutput, decodePayload, isMethod, rpcName } from './decode.ts';
export {
  describeRpcError,
  errorFromPayload,
  errorPayload,
  foldMessage,
  messageOf,
  RPC_CODES,
  type RpcCode,
  RpcError,
} from './errors.ts';
export { type AnswerWord, FrameError, type Line, LineSplitter, MAX_LINE_BYTES, parseLine } from './frame.ts';
export type { BulkHandler, BulkReplies } from './bulk.ts';
export { type InboundLimits, InboundRequest } from './inbound.ts';
export { parseJson, stringifyJson } from './json.ts';
export { abortError, type CallWaiter } from './calls.ts';
export type {
  AnswerHandler,
  CallMethod,
  EngineCallMethod,
  Handler,
  MuxOptions,
  RawHandler,
  RequestContext,
} from './link-types.ts';
export { BAD_LINE_LIMIT, Mux } from './mux.ts';
export { READY_BYTES } from './outbound.ts';
export { pipePair } from './pipe.ts';
export {
  answerOf,
  documentAnswer,
  documentText,
  failedAnswer,
  records,
  type RecordsOptions,
  Rejected,
  rejected,
} from './records.ts';
export {
  connectBack,
  CONNECT_DEADLINE_MS,
  type Environment,
  type HubEnvironment,
  readVariable,
  takeHubEnvironment,
} from './tls.ts';
