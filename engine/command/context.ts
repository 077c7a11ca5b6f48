/**
 * What the commands need of the rest of the engine, as interfaces that the composition root fulfils. A command never reaches
 * past them.
 */
import type { AnswerReader } from '../../sdk/rpc/answer.ts';
import type { EnrichShowInput, ExecuteCommandInput } from '../../yang/generated/methods.ts';
import type { LogRecord, Origination, OriginationResult, PeerIdentity, ReactorPort } from '../bgp/port.ts';
import type { EventBus } from '../bus/bus.ts';
import type { ReportBus } from '../bus/reports.ts';
import type { Parsed } from '../codec/fault.ts';
import type { PluginModule } from '../config/schema/plugin-schemas.ts';
import type { Clock } from '../core/clock.ts';
import type { ConfigControl } from './config-control.ts';
import type { DeclarationRow, DeclaredPlugin } from '../config/schema/declared.ts';
import type { DoctorCheck } from '../core/doctor.ts';

export type ReactorCommands = Pick<
  ReactorPort,
  'snapshot' | 'teardown' | 'setPaused' | 'refresh' | 'flush' | 'raw' | 'sessionReady' | 'statistics' | 'cached' | 'manageCached'
>;

export interface CommandContext {
  readonly version: string;
  readonly clock: Clock;
  readonly reactor: ReactorCommands;
  readonly peers: PeerCatalogue;
  readonly routes: RouteCommands;
  readonly plugins: PluginCommands;
  readonly events: EventFeed;
  readonly reports: ReportList;
  readonly daemon: DaemonControl;
  readonly logs: LogControl;
  readonly doctor: Doctor;
  /** `undefined` until the start is over. */
  readonly config: ConfigControl | undefined;
}

/** What `doctor` examines: the engine's own checks and those running plugins declare. */
export interface Doctor {
  checks(): readonly DoctorCheck[];
  hasConfig(): boolean;
}

/** A plugin that adds to a command's answer (plugin-rpc-types §2.7). */
export interface Enricher {
  readonly plugin: string;
  /** As declared: any spelling of a command's name. */
  readonly command: string;
  /** The member of the answer it writes. */
  readonly key: string;
}

/** The configured peers, by what a selector can name. */
export interface PeerCatalogue {
  list(): readonly PeerIdentity[];
}

export interface RouteOutcome extends OriginationResult {
  /** Families for which `nlri FAMILY eor` was sent. */
  readonly eor: readonly string[];
}

export interface RouteCommands {
  /**
   * `update text …`, `update hex …`, `update b64 …`: `text` begins with the word `update`. A fault's column counts in `text`.
   * `owner` is who withdraws with the routes: `plugin:<name>` or `operator`. `meta`: JSON text that is kept with what is announced.
   */
  update(owner: string, peers: readonly number[], text: string, meta?: string): Promise<Parsed<RouteOutcome>>;
  /** What `update` would hand to the reactor; undefined when a plugin has to be asked for NLRI first. The same `peers` when all take it. */
  prepare(owner: string, peers: readonly number[], text: string, meta?: string): Parsed<Origination> | undefined;
}

/** A row of `plugin list`, under the names it is shown by. */
export interface PluginEntry {
  readonly name: string;
  /** `built-in`, `in-process`, `external` */
  readonly kind: string;
  /** `reactor`, `main`, `thread`, `process` */
  readonly placement: string;
  /** The stage of the startup it is in, `running` when it is through. */
  readonly stage: string;
  /** `starting`, `running`, `failed`, `disabled`, `stopped`, … */
  readonly state: string;
  /** The declared failure policy; '' before stage 1. */
  readonly policy: string;
  readonly restarts: number;
  /** Process id of an external plugin; 0 when it has none. */
  readonly pid: number;
  /** Event batches and bytes waiting for it. */
  readonly 'queue-batches': number;
  readonly 'queue-bytes': number;
  /** Events it was given, and those it has lost to the gap policy. */
  readonly events: number;
  readonly dropped: number;
  readonly commands: number;
  /** ISO time of the last change of state. */
  readonly since: string;
  readonly 'last-error': string;
}

export interface PluginCommands {
  list(): readonly PluginEntry[];
  /** Runs a declared command of a running plugin; the reader rejects when it is not running. */
  execute(plugin: string, input: ExecuteCommandInput, signal: AbortSignal): AnswerReader;
  /**
   * Candidates for the last of `words` ('' for a new one), from a plugin that declares its command completable. Rejects when it
   * fails or the signal aborts.
   */
  complete(plugin: string, command: string, words: readonly string[], signal: AbortSignal): Promise<readonly Candidate[]>;
  /** What each configured plugin declares, asked in query mode; the running ones are not touched. */
  declarations(): Promise<readonly DeclarationRow[]>;
  /** What running plugins have added to the language of the configuration. */
  declared(): readonly DeclaredPlugin[];
  /** YANG modules that running plugins have added to the configuration. */
  modules(): readonly PluginModule[];
  /** May the plugin send this to the peer? Built-in plugins may; an external one what `process … { send [ ] }` grants. */
  granted(plugin: string, send: 'update' | 'raw' | 'refresh', peer: number): boolean;
  /** Text form of subscribe-events for a running plugin: the words after `subscribe`. Returns why not. */
  subscribe(plugin: string, words: readonly string[]): string | undefined;
  unsubscribe(plugin: string, words: readonly string[]): string | undefined;
  /** What the plugin that declared the capability says of a value, JSON; undefined: nobody did. Rejects when it fails. */
  decodeCapability?(code: number, hex: string): Promise<unknown>;
  /** Of running plugins, by name. */
  enrichers(): readonly Enricher[];
  /** What the plugin adds to `base`; rejects when it fails or the signal aborts. */
  enrich(plugin: string, input: EnrichShowInput, signal: AbortSignal): Promise<Readonly<Record<string, unknown>> | undefined>;
}

export interface Candidate {
  readonly word: string;
  readonly help: string;
}

/** The bus as commands see it. */
export type EventFeed = Pick<EventBus, 'list' | 'monitor'> & { readonly recent: Pick<EventBus['recent'], 'list'> };

export interface HealthPart {
  readonly name: string;
  readonly status: 'healthy' | 'degraded' | 'down';
  readonly reason: string;
}

export interface ReportList extends Pick<ReportBus, 'warnings' | 'errors'> {
  health(): readonly HealthPart[];
}

export interface DaemonControl {
  readonly pid: number;
  /** ms since the epoch */
  readonly startedAt: number;
  /** `-` for standard input, '' for none */
  readonly configPath: string;
  state(): 'starting' | 'running' | 'stopping';
  /** Dotted quad; '' before a configuration is applied. */
  routerId(): string;
  localAs(): number;
  /** Returns what changed, or why nothing did. */
  reload(): Promise<
    | { readonly ok: true; readonly report: Readonly<Record<string, unknown>> }
    | { readonly ok: false; readonly errors: readonly string[] }
  >;
  /** Answers first, stops after. */
  stop(reason: string): void;
}

export interface LogControl {
  levels(): Readonly<Record<string, string>>;
  /** Names a level can be set for. */
  subsystems(): readonly string[];
  /** Returns why not. */
  set(subsystem: string, level: string): string | undefined;
  /** Oldest first. */
  recent(): readonly (LogRecord & { readonly at: number })[];
}
