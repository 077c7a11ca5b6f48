/**
 * What the host needs of the rooms it does not import, as interfaces that `engine/daemon.ts` fulfils. The host never reaches
 * past them.
 */
import type { AnswerSource } from '../../sdk/rpc/answer.ts';
import type { EngineCallMethod } from '../../sdk/rpc/mux.ts';
import type { DispatchMethod } from '../../sdk/plugin/bridge.ts';
import type { StructuredBatch } from '../../sdk/plugin/structured.ts';
import type {
  CommandDecl,
  ConfigSection,
  Methods,
  PipeDecl,
  RegistryCommand,
  SubscribeEventsInput,
} from '../../yang/generated/methods.ts';
import type { Report } from '../bgp/port.ts';
import type { Transport } from '../bus/delivery.ts';

/** Methods of the five stages: the host serves them itself. */
export type StageMethod =
  | 'ze-plugin-engine:declare-registration'
  | 'ze-plugin-engine:declare-capabilities'
  | 'ze-plugin-engine:ready';
/** Methods of a running plugin that are answered by one value. */
export type RuntimeMethod = Exclude<EngineCallMethod, StageMethod>;
/** Methods about the caller's own event stream: the host serves them with the bus. */
export type StreamMethod = 'ze-plugin-engine:subscribe-events' | 'ze-plugin-engine:unsubscribe-events';

export type ServiceCall<M extends RuntimeMethod> = (
  plugin: string,
  input: Methods[M]['input'],
  signal: AbortSignal,
) => Promise<Methods[M]['output']> | Methods[M]['output'];

/**
 * What plugins may call. A method that is absent answers `unknown method: …`. Handlers reject with `RpcError`; they must not
 * throw for what a plugin can cause.
 */
export interface EngineServices {
  readonly calls: { readonly [M in Exclude<RuntimeMethod, StreamMethod>]?: ServiceCall<M> | undefined };
  /** `RpcError('unknown-command', …)` answers `nay`. The signal aborts when the caller cancels or goes away. */
  dispatch<M extends DispatchMethod>(
    plugin: string,
    method: M,
    input: Methods[M]['input'],
    signal: AbortSignal,
  ): AnswerSource | Promise<AnswerSource>;
}

/** The command tree, as far as plugins fill it. */
export interface CommandRegistry {
  /** Puts the commands into the tree; the names of those that are taken by the engine itself come back (they are only warned of). */
  add(plugin: string, commands: readonly CommandDecl[]): readonly string[];
  remove(plugin: string): void;
  /** Why a pipe alias cannot be registered: its expansion does not parse, or the name is taken on that command. */
  checkPipe(plugin: string, pipe: PipeDecl): string | undefined;
  addPipes(plugin: string, pipes: readonly PipeDecl[]): void;
  /** The engine's own commands, for share-registry. */
  list(): readonly RegistryCommand[];
}

/** The running configuration, as plugins see it. */
export interface ConfigSource {
  /** One section per wanted root that exists; `*` is the whole tree, `a/b` a nested path, the data wrapped in the full path. */
  sections(wanted: readonly string[]): readonly ConfigSection[];
}

export interface StreamOptions {
  readonly process: string;
  /** Sees and sends everything; another process what `process` blocks grant. */
  readonly builtIn: boolean;
  readonly transport: Transport;
  readonly structured: ((batch: StructuredBatch) => void) | undefined;
  readonly cache: 'ordered' | 'unordered' | 'none';
  readonly queue: QueueSettings;
  readonly encoder: 'json' | 'text';
  readonly deliveryTimeoutMs: number;
  /** The process let the delivery deadline pass, or its queue is over and the policy says disconnect. Called once. */
  failed(reason: string): void;
}

export interface QueueSettings {
  readonly batches?: number | undefined;
  readonly bytes?: number | undefined;
  readonly onOverflow?: 'hold-peer' | 'drop-with-gap' | 'disconnect' | undefined;
}

/** One process's stream of events. */
export interface EventStream {
  /** Adds subscriptions; returns why not. */
  subscribe(input: SubscribeEventsInput): string | undefined;
  unsubscribe(): void;
  statistics(): StreamStatistics;
  /** Nothing is delivered any more; what waits is dropped, owed acknowledgements are given. */
  close(): void;
}

export interface StreamStatistics {
  readonly batches: number;
  readonly bytes: number;
  readonly delivered: number;
  readonly dropped: number;
}

export const NO_STATISTICS: StreamStatistics = { batches: 0, bytes: 0, delivered: 0, dropped: 0 };

/** The bus, as far as plugins are its listeners. */
export interface EventStreams {
  open(options: StreamOptions): EventStream;
}

export type ReportSink = (report: Report) => void;
