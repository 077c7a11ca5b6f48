/**
 * The daemon's life as its machine sees it, in the order `engine/daemon.ts` calls: `claim` before anything is opened, `become` when every
 * port is bound and no plugin runs, `ready`, then `reload` and signs of life, `stopping`, `release`.
 */
import { chownSync, lstatSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock, Timer } from '../core/clock.ts';
import type { Environment } from '../core/control-socket.ts';
import { makeFolders } from '../core/folders.ts';
import type { Log } from '../core/log.ts';
import type { LogSink } from '../core/root-log.ts';
import { FileSink } from './log-sink.ts';
import { Notifier, withoutNotify } from './notify.ts';
import { PidFile, PidFileTaken } from './pid-file.ts';
import { becomeUser, findUser, handOver, type User } from './privileges.ts';

export interface ServiceSettings {
  /** '' = none, for each. */
  readonly pidFile: string;
  readonly readyFile: string;
  readonly user: string;
  /** '' = the default place. */
  readonly stateDir: string;
}

export interface ServiceOptions {
  readonly settings: ServiceSettings;
  readonly environment: Environment;
  readonly log: Log;
  readonly sink: LogSink;
  readonly clock: Clock;
}

/** The service manager is not kept waiting for longer at the end. */
const FAREWELL_MS = 2000;

export class ServiceLife {
  readonly #options: ServiceOptions;
  readonly #notifier: Notifier;
  #user: User | undefined;
  #pidFile: PidFile | undefined;
  #sign: Timer | undefined;
  #isStopping = false;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#notifier = new Notifier({ environment: options.environment, log: options.log });
  }

  /** Throws when the user cannot be become, or when another daemon has the pid file. */
  claim(): void {
    const { settings, log } = this.#options;
    if (settings.user !== '') this.#user = findUser(settings.user);
    if (settings.pidFile !== '') {
      try {
        this.#pidFile = PidFile.claim(settings.pidFile);
      } catch (error) {
        if (error instanceof PidFileTaken) throw error;
        log.error({ file: settings.pidFile, error: messageOf(error) }, 'a file could not be written');
      }
    }
    // What an earlier daemon may have left: nobody must take it for ours.
    try {
      if (settings.readyFile !== '' && lstatSync(settings.readyFile).isFile()) unlinkSync(settings.readyFile);
    } catch {
      // It is reported when it cannot be written.
    }
  }

  /** The daemon becomes another user while it starts. */
  get becomesAnother(): boolean {
    return this.#user !== undefined && this.#user.uid !== process.geteuid?.();
  }

  /** Whose the control socket is in the end. */
  get uid(): number {
    return this.#user?.uid ?? process.geteuid?.() ?? 0;
  }

  /** What children see: nothing of the service manager, and the home of the user the daemon becomes. */
  get environment(): Environment {
    const own = withoutNotify(this.#options.environment);
    if (this.#user === undefined || this.#options.environment['USER'] === this.#user.name) return own;
    const { name, home } = this.#user;
    return { ...own, USER: name, LOGNAME: name, HOME: home };
  }

  /** design §5: `ze.state.dir`, else `$XDG_STATE_HOME/zest`, else `~/.local/state/zest`. */
  get stateDirectory(): string | undefined {
    if (this.#options.settings.stateDir !== '') return this.#options.settings.stateDir;
    const { XDG_STATE_HOME: named, HOME: home } = this.environment;
    const base = named ?? (home === undefined ? undefined : join(home, '.local', 'state'));
    return base === undefined || base === '' ? undefined : join(base, 'zest');
  }

  /** For good. Everything that root has made is handed over first. Throws when it cannot be done: the daemon must not go on as root. */
  become(controlSocket: string): void {
    const user = this.#user;
    if (user === undefined || !this.becomesAnother) return;
    const { settings, sink, log } = this.#options;
    const state = settings.stateDir === '' ? undefined : settings.stateDir;
    if (state !== undefined) {
      makeFolders(state, 0o700);
      handOver(state, user);
    }
    chownSync(controlSocket, user.uid, user.gid);
    const ready = dirname(settings.readyFile);
    if (settings.readyFile !== '' && lstatSync(ready, { throwIfNoEntry: false }) === undefined) {
      makeFolders(ready);
      handOver(ready, user);
    }
    if (sink instanceof FileSink) sink.giveTo(user.uid, user.gid);
    this.#pidFile?.giveTo(user.uid, user.gid);
    becomeUser(user);
    sink.reopen();
    log.info({ user: user.name, uid: user.uid, gid: user.gid }, 'privileges dropped');
  }

  /** `alive` resolves when the daemon does what it is there for; a sign of life that systemd waits for is given only then. */
  ready(status: string, alive: () => Promise<unknown>): void {
    const { readyFile } = this.#options.settings;
    try {
      if (readyFile !== '') {
        makeFolders(dirname(readyFile));
        writeFileSync(readyFile, `${process.pid}\n`);
      }
    } catch (error) {
      this.#options.log.error({ file: readyFile, error: messageOf(error) }, 'a file could not be written');
    }
    void this.#notifier.ready(status);
    if (this.#notifier.watchdogMs > 0) this.#giveSigns(alive);
  }

  /**
   * Around a reload, `done` is its end and never rejects: whoever has moved the log file away gets a new one. Returns why there is none:
   * lines go on into the old one.
   */
  reload(done: Promise<string>): string | undefined {
    void this.#notifier.reloading();
    void done.then((status) => (this.#isStopping ? undefined : this.#notifier.ready(status)));
    const reason = this.#options.sink.reopen();
    if (reason !== undefined) this.#options.log.error({ error: reason }, 'the log file could not be opened anew');
    return reason;
  }

  stopping(reason: string): void {
    this.#isStopping = true;
    this.#sign?.cancel();
    void this.#notifier.stopping(reason);
  }

  /** Waits until the service manager has heard the last word, for a moment. */
  async release(): Promise<void> {
    this.#sign?.cancel();
    try {
      this.#pidFile?.release();
    } catch (error) {
      this.#options.log.warn({ file: this.#pidFile?.path, error: messageOf(error) }, 'the pid file stays');
    }
    if (!this.#notifier.active) return;
    let timer: Timer | undefined;
    await Promise.race([
      this.#notifier.settled(),
      new Promise<void>((resolve) => (timer = this.#options.clock.after(FAREWELL_MS, resolve))),
    ]);
    timer?.cancel();
  }

  #giveSigns(alive: () => Promise<unknown>): void {
    const next = (): void => {
      this.#sign = this.#options.clock.after(this.#notifier.watchdogMs, () => {
        void alive().then(
          () => this.#notifier.alive(),
          () => undefined,
        );
        next();
      });
    };
    next();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
