/**
 * What systemd is told (sd_notify(3)): datagrams to the socket that `NOTIFY_SOCKET` names. Node has no Unix datagram socket, so its own
 * `systemd-notify` sends them: one short process a message, in the order they were said.
 */
import { execFile } from 'node:child_process';
import type { Environment } from '../core/control-socket.ts';
import type { Log } from '../core/log.ts';
import { visible } from '../core/visible.ts';

export interface NotifyOptions {
  readonly environment: Environment;
  readonly log: Log;
  /** Default `systemd-notify`, as PATH finds it. */
  readonly program?: string;
  readonly pid?: number;
}

const TIMEOUT_MS = 6000;
/** Messages that wait while one is sent; a service manager that does not read gets no more. */
const MAXIMUM_WAITING = 32;
const STATUS_LENGTH = 200;

/** The environment that belongs to the daemon alone. */
const OWN = ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID', 'LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES'];

/** What children may see: they cannot speak for the daemon. */
export function withoutNotify(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !OWN.includes(name)));
}

export class Notifier {
  readonly #log: Log;
  readonly #program: string;
  readonly #pid: number;
  readonly #environment: Environment;
  /** ms between two signs of life that systemd asks for; 0 = none. Half of its limit. */
  readonly watchdogMs: number;
  #active: boolean;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(options: NotifyOptions) {
    const { environment } = options;
    this.#log = options.log;
    this.#program = options.program ?? 'systemd-notify';
    this.#pid = options.pid ?? process.pid;
    this.#environment = environment;
    this.#active = /^[/@]/.test(environment['NOTIFY_SOCKET'] ?? '');
    const meant = environment['WATCHDOG_PID'];
    const limit = Number(environment['WATCHDOG_USEC'] ?? '0') / 1000;
    const isOurs = meant === undefined || meant === String(this.#pid);
    this.watchdogMs = this.#active && isOurs && Number.isFinite(limit) && limit > 0 ? Math.max(1, Math.floor(limit / 2)) : 0;
  }

  /** Is there a service manager that listens? */
  get active(): boolean {
    return this.#active;
  }

  ready(status: string): Promise<void> {
    return this.#send(['READY=1', statusOf(status)]);
  }

  /** With the time of the monotonic clock, which `Type=notify-reload` compares with that of its signal. */
  reloading(): Promise<void> {
    return this.#send(['RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`, 'STATUS=reading the configuration']);
  }

  stopping(reason: string): Promise<void> {
    return this.#send(['STOPPING=1', statusOf(`stopping: ${reason}`)]);
  }

  status(text: string): Promise<void> {
    return this.#send([statusOf(text)]);
  }

  alive(): Promise<void> {
    return this.#send(['WATCHDOG=1']);
  }

  /** All that was said has been sent, or given up. */
  settled(): Promise<void> {
    return this.#last;
  }

  #send(assignments: readonly string[]): Promise<void> {
    if (!this.#active) return Promise.resolve();
    if (this.#waiting >= MAXIMUM_WAITING) {
      this.#log.warn({ message: assignments[0] }, 'the service manager does not read, a message to it was dropped');
      return Promise.resolve();
    }
    this.#waiting++;
    this.#last = this.#last.then(() => this.#call(assignments)).finally(() => this.#waiting--);
    return this.#last;
  }

  #call(assignments: readonly string[]): Promise<void> {
    if (!this.#active) return Promise.resolve();
    return new Promise((resolve) => {
      execFile(
        this.#program,
        [`--pid=${this.#pid}`, ...assignments],
        { env: { ...this.#environment }, timeout: TIMEOUT_MS },
        (error, _stdout, stderr) => {
          if (error !== null) this.#failed(error, stderr);
          resolve();
        },
      );
    });
  }

  #failed(error: Error & { readonly code?: string | number | null | undefined }, stderr: string): void {
    if (error.code !== 'ENOENT') {
      this.#log.warn({ error: stderr.trim() || error.message }, 'the service manager could not be told');
      return;
    }
    this.#active = false;
    this.#log.error(
      { program: this.#program },
      'the service manager hears nothing of this daemon: systemd-notify is not installed',
    );
  }
}

/** One line: a newline would begin another assignment. */
function statusOf(text: string): string {
  return `STATUS=${visible(text).slice(0, STATUS_LENGTH)}`;
}
