/**
 * External children: `/bin/sh -c RUN` in a process group of its own (plugin-wire §9.1, §11). stdin and stdout lead nowhere,
 * stderr goes to the log. A child is reaped when it exits, and nothing it forked outlives it: the whole group is killed when
 * the leader is gone, when it is stopped, and when the daemon exits. A daemon that is killed has no time for that: there the
 * kernel ends the child (`parent-death.ts`).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { ShellCommand } from './parent-death.ts';
import { type RelayLevel, StderrRelay } from './stderr-relay.ts';

export interface ChildOptions {
  /** The operator's shell command, as `shellCommand` puts it. */
  readonly command: ShellCommand;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Names the plugin already. */
  readonly log: Log;
  readonly relayLevel: RelayLevel;
  readonly clock: Clock;
}

export interface Exit {
  /** `undefined` when a signal ended it, or when it never started. */
  readonly code: number | undefined;
  readonly signal: string | undefined;
  /** It could not be started. */
  readonly failure: string | undefined;
}

export function describeExit(exit: Exit): string {
  if (exit.failure !== undefined) return `could not be started: ${exit.failure}`;
  return exit.signal === undefined ? `process exited with code ${exit.code ?? 0}` : `process ended by ${exit.signal}`;
}

/** After the exit, stderr held open by a forked child is read this long. */
const DRAIN_MS = 2000;

/** Groups that are alive: killed when the process exits by any way that runs exit handlers. */
const living = new Set<number>();

function killLiving(): void {
  for (const group of living) signalGroup(group, 'SIGKILL');
}

function watch(group: number): void {
  if (living.size === 0) process.on('exit', killLiving);
  living.add(group);
}

function unwatch(group: number): void {
  living.delete(group);
  if (living.size === 0) process.off('exit', killLiving);
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // The group is gone.
  }
}

export class Child {
  /** Settles once: the leader has exited (or never started) and its group is killed. */
  readonly exited: Promise<Exit>;
  readonly pid: number | undefined;
  readonly #clock: Clock;
  readonly #process: ChildProcess;
  #over = false;

  constructor(options: ChildOptions) {
    this.#clock = options.clock;
    this.#process = spawn(options.command.file, options.command.args, {
      cwd: options.cwd,
      env: { ...options.env },
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.pid = this.#process.pid;
    if (this.pid !== undefined) watch(this.pid);
    this.#relay(options);
    this.exited = new Promise((resolve) => {
      const over = (exit: Exit): void => {
        if (this.#over) return;
        this.#over = true;
        if (this.pid !== undefined) {
          signalGroup(this.pid, 'SIGKILL');
          unwatch(this.pid);
        }
        const stderr = this.#process.stderr;
        if (stderr !== null && !stderr.closed) {
          const drain = this.#clock.after(DRAIN_MS, () => stderr.destroy(), { unref: true });
          stderr.once('close', () => drain.cancel());
        }
        resolve(exit);
      };
      this.#process.once('exit', (code, signal) =>
        over({ code: code ?? undefined, signal: signal ?? undefined, failure: undefined }),
      );
      this.#process.on('error', (error) => {
        if (this.pid === undefined) over({ code: undefined, signal: undefined, failure: error.message });
      });
    });
  }

  get alive(): boolean {
    return !this.#over;
  }

  /** Signals the whole group. */
  kill(signal: NodeJS.Signals): void {
    if (!this.#over && this.pid !== undefined) signalGroup(this.pid, signal);
  }

  /**
   * Waits `graceMs` for the child to leave by itself, then sends SIGTERM to the group, then after `termMs` SIGKILL. Resolves when
   * the child is reaped. Idempotent.
   */
  async stop(graceMs: number, termMs = 500): Promise<Exit> {
    const term = this.#clock.after(graceMs, () => this.kill('SIGTERM'));
    const kill = this.#clock.after(graceMs + termMs, () => this.kill('SIGKILL'));
    try {
      return await this.exited;
    } finally {
      term.cancel();
      kill.cancel();
    }
  }

  #relay(options: ChildOptions): void {
    const relay = new StderrRelay(options.log, options.clock, options.relayLevel);
    const stderr = this.#process.stderr;
    stderr?.on('data', (bytes: Buffer) => relay.push(bytes));
    stderr?.once('close', () => relay.end());
    stderr?.on('error', () => undefined);
  }
}

export interface PluginEnvironment {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly token: string;
  /** PEM of the root to trust. */
  readonly caPem: string;
  /** SHA-256 of the current leaf, for plugins that pin it. */
  readonly fingerprint: string;
}

/**
 * The daemon's environment without any `ze.plugin.*` of its own (in any spelling), PATH led by the folder of the daemon's
 * command, and what the plugin needs to find the hub.
 */
export function childEnvironment(
  base: Readonly<Record<string, string | undefined>>,
  binFolder: string,
  plugin: PluginEnvironment,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [key, value] of Object.entries(base)) {
    if (value !== undefined && !/^ze[._]plugin[._]/i.test(key)) env[key] = value;
  }
  env['PATH'] = env['PATH'] === undefined || env['PATH'] === '' ? binFolder : `${binFolder}:${env['PATH']}`;
  env['ZE_PLUGIN_HUB_HOST'] = plugin.host;
  env['ZE_PLUGIN_HUB_PORT'] = String(plugin.port);
  env['ZE_PLUGIN_HUB_TOKEN'] = plugin.token;
  env['ZE_PLUGIN_CA_PEM'] = plugin.caPem;
  env['ZE_PLUGIN_CERT_FP'] = plugin.fingerprint;
  env['ZE_PLUGIN_NAME'] = plugin.name;
  return env;
}
