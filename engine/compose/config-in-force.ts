// The configuration the daemon runs with, the candidate of a transaction beside it, and what the parts of the engine take from either.
import { familyName } from '../../sdk/wire/family.ts';
import type { ConfigSection } from '../../yang/generated/methods.ts';
import type { ReactorSettings } from '../bgp/port.ts';
import type { RunningConfig } from '../config/running.ts';
import type { LogLevel, LogSettings } from '../core/root-log.ts';
import type { StartupNeeds } from '../host/startup/plan.ts';
import type { SinkSettings } from '../service/log-sink.ts';

export class ConfigInForce {
  active: RunningConfig;
  /** With what the daemon started: what is read once is still as it says there. */
  readonly started: RunningConfig;
  /** While a transaction runs. */
  candidate: RunningConfig | undefined;

  readonly #texts = new WeakMap<RunningConfig, string>();

  /** `text`: what it was read from. */
  constructor(active: RunningConfig, text = '') {
    this.active = active;
    this.started = active;
    this.note(active, text);
  }

  note(config: RunningConfig, text: string): void {
    this.#texts.set(config, text);
  }

  /** What the configuration in force was read from. */
  get text(): string {
    return this.#texts.get(this.active) ?? '';
  }

  /** Plugins that were started for the candidate live in it already. */
  of(fresh: boolean): RunningConfig {
    return fresh ? (this.candidate ?? this.active) : this.active;
  }

  /** What stage 2 sends. */
  sections(wanted: readonly string[], fresh: boolean): readonly ConfigSection[] {
    const config = this.of(fresh);
    return wanted.flatMap((root) => {
      const data = config.sectionText(root);
      return data === undefined ? [] : [{ root, data }];
    });
  }
}

export type Bindings = ReadonlyMap<string, ReactorSettings['peers'][number]['processes']>;

export function bindingsByPeer(config: RunningConfig): Bindings {
  return new Map(config.reactor.peers.map((peer) => [peer.name, peer.processes]));
}

/** Bindings of `base`, those of the named processes from `other`. */
export function bindingsWith(base: RunningConfig, other: RunningConfig, processes: readonly string[]): Bindings {
  const theirs = bindingsByPeer(other);
  const isTheirs = ({ process }: { readonly process: string }): boolean => processes.includes(process);
  return new Map(
    base.reactor.peers.map((peer) => [
      peer.name,
      [...peer.processes.filter((one) => !isTheirs(one)), ...(theirs.get(peer.name) ?? []).filter(isTheirs)],
    ]),
  );
}

export function needs(config: RunningConfig): StartupNeeds {
  const { peers } = config.reactor;
  const bindings = peers.flatMap((peer) => peer.processes);
  return {
    roots: config.roots(),
    families: [...new Set(peers.flatMap((peer) => peer.families.map(({ family }) => familyName(family))))],
    receiveTypes: [...new Set(bindings.flatMap((binding) => binding.receive))],
    sendTypes: [...new Set(bindings.flatMap((binding) => binding.send))],
  };
}

export function logSettings(config: RunningConfig): LogSettings {
  const { '': level = 'warn', ...subsystems } = config.environment.logLevels as Readonly<Record<string, LogLevel>>;
  return { level, subsystems };
}

export function sinkSettings(config: RunningConfig): SinkSettings {
  const { logDestination: destination, logBackend: backend, logFile: file, settings } = config.environment;
  return { backend, destination, file, format: settings.text('log.format') === 'json' ? 'json' : 'text' };
}
