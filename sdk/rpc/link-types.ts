// How a link is set up, and what handlers of its methods look like.
import type { EngineMethod, Method, Methods, RecordMethod } from '../../yang/generated/methods.ts';
import type { AnswerSource } from './answer.ts';
import type { InboundLimits } from './inbound.ts';

export type CallMethod = Exclude<Method, RecordMethod>;

export interface MuxOptions extends Partial<InboundLimits> {
  /** Requests wait for `next()` until `start()` is called (startup stages). Otherwise handlers run from the beginning. */
  readonly held?: boolean | undefined;
  /** Called with each line as text, LF excluded. */
  readonly trace?: ((direction: 'in' | 'out', line: string) => void) | undefined;
  /** Characters of records of one answer that may wait for its consumer. Default 16 Mi. */
  readonly answerQueueBytes?: number | undefined;
  /** What happens past it: give that answer up, or stop reading the link until its consumer has caught up. */
  readonly whenAnswerFull?: 'abandon' | 'pause' | undefined;
  /**
   * How long a consumer may keep the link unread; then its answer is given up. Without it as long as it likes, which is right only
   * where the link serves that consumer alone (the CLI): everything else on the link waits with it.
   */
  readonly answerPauseMs?: number | undefined;
  /** The chunks of the stream are lent for the time of their event: it reads into one buffer again and again. */
  readonly lentChunks?: boolean | undefined;
  /** Default 30 s. */
  readonly writeTimeoutMs?: number | undefined;
  /** Unsent bytes at which the link is given up. Default 64 MiB. */
  readonly outboundLimitBytes?: number | undefined;
}

export interface RequestContext {
  /** As the peer wrote it. */
  readonly id: string;
  readonly method: string;
  /** Aborted when the link closes. */
  readonly signal: AbortSignal;
}

export type Handler<M extends Method> = (
  input: Methods[M]['input'],
  context: RequestContext,
) => Methods[M]['output'] | Promise<Methods[M]['output']>;
export type AnswerHandler<M extends Method> = (
  input: Methods[M]['input'],
  context: RequestContext,
) => AnswerSource | Promise<AnswerSource>;
/** Gets the params as bytes, answers JSON text or nothing. */
export type RawHandler = (payload: Buffer, context: RequestContext) => string | undefined | Promise<string | undefined>;

/** The methods that take one value and give one back, on the engine's side. */
export type EngineCallMethod = Exclude<EngineMethod, RecordMethod>;
