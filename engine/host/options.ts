// What a host is made with: the rooms it works for, as interfaces, and the limits it keeps.
import type { CodecRegistry } from '../codec/registry.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { StartInReactor } from './startup/launch.ts';
import type { BuiltinPlugin } from './startup/plan.ts';
import type { CommandRegistry, ConfigSource, EngineServices, EventStreams, ReportSink } from './services.ts';
import type { StageEvent } from './startup/stage-trace.ts';
import type { RelayLevel } from './external/stderr-relay.ts';
import type { RestartBounds } from './supervision.ts';

export interface HostOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly report: ReportSink;
  readonly services: EngineServices;
  readonly commands: CommandRegistry;
  readonly config: ConfigSource;
  readonly events: EventStreams;
  /** Families that plugins declare are claimed here. */
  readonly codecs: CodecRegistry;
  readonly builtins: readonly BuiltinPlugin[];
  /** `undefined` = there is no reactor: its plugins run in the main thread. */
  readonly startInReactor: StartInReactor | undefined;
  /** Of built-ins that start by themselves; configured plugins bring their own. */
  readonly stageTimeoutMs: number;
  readonly deliveryTimeoutMs: number;
  /** `undefined` = the hub's CA in memory. */
  readonly stateDirectory: string | undefined;
  /** Where `run` runs and `use` paths begin. */
  readonly configFolder: string;
  /** Folder of the daemon's own command, put before the children's PATH. */
  readonly binFolder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly relayLevel: RelayLevel;
  /** Tests and embedders; else the protocol's. */
  readonly restarts?: RestartBounds | undefined;
  /** Until an external plugin has connected; else 30 s. */
  readonly connectTimeoutMs?: number | undefined;
  /** Until the head of a command's answer; else 30 s. */
  readonly commandTimeoutMs?: number | undefined;
  /** A plugin of policy `fatal` has failed while the daemon runs: it ends with exit code 3. */
  readonly onFatal: (plugin: string, reason: string) => void;
  readonly trace?: ((event: StageEvent) => void) | undefined;
  /** Takes out of a text what nobody may see: a plugin may quote a secret it was given. */
  readonly scrub?: ((text: string) => string) | undefined;
  /** A plugin is in another state: who runs, and so what is declared, may have changed. */
  readonly onMoved?: (() => void) | undefined;
}

/** What a second host needs to start the same programs in the same place. */
export type Surroundings = Pick<
  HostOptions,
  'configFolder' | 'binFolder' | 'environment' | 'relayLevel' | 'stageTimeoutMs' | 'scrub'
>;
