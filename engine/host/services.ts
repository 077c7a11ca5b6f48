/**
 * What the host needs of the rooms it does not import, as interfaces that `engine/daemon.ts` fulfils. The host never reaches
 * past them.
 */
import type { AnswerSource } from '../../sdk/rpc/answer.ts';
import type { BulkHandler } from '../../sdk/rpc/bulk.ts';
import type { EngineCallMethod } from '../../sdk/rpc/link-types.ts';
import type { DispatchMethod } from '../../sdk/plugin/bridge.ts';
import type { CommandDecl, ConfigSection, Methods, PipeDecl, RegistryCommand } from '../../yang/generated/methods.ts';
import type { Report } from '../bgp/port.ts';
import type { EventBus } from '../bus/bus.ts';

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
  /** `update-route` of one link, instead of the one in `calls`. The signal aborts when the link closes. */
  routeStream?(plugin: string, signal: AbortSignal): BulkHandler;
  /** A session of the plugin is over: what it holds by name in other rooms (installed routes, originations) is theirs to judge. */
  released?(plugin: string): void;
}

/** The command tree, as far as plugins fill it. */
export interface CommandRegistry {
  /** Puts the commands into the tree; the names of those that are taken by the engine itself come back (they are only warned of). */
  add(plugin: string, commands: readonly CommandDecl[]): readonly string[];
  remove(plugin: string): void;
  /** Is there a command of this name, the engine's own or a plugin's? */
  has(name: string): boolean;
  /** Why a pipe alias cannot be registered: its expansion does not parse, or the name is taken on that command. */
  checkPipe(plugin: string, pipe: PipeDecl): string | undefined;
  addPipes(plugin: string, pipes: readonly PipeDecl[]): void;
  /** The engine's own commands, for share-registry. */
  list(): readonly RegistryCommand[];
}

/** The running configuration, as plugins see it; `fresh` ones, started for a candidate, see that. */
export interface ConfigSource {
  /** One section per wanted root that exists; `*` is the whole tree, `a/b` a nested path, the data wrapped in the full path. */
  sections(wanted: readonly string[], fresh: boolean): readonly ConfigSection[];
}

/** The bus, as far as plugins are its listeners. */
export type EventStreams = Pick<EventBus, 'attach'>;

export type ReportSink = (report: Report) => void;
