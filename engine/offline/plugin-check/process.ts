// A plugin under check as a process: through the shell in a group of its own, as the daemon starts it, with what it says on stdout and stderr kept.
import { type ChildProcess, spawn } from 'node:child_process';

const KEPT_BYTES = 64 * 1024;
/** After the exit, a pipe that a forked process holds open is read this long. */
const DRAIN_MS = 200;

export class CheckedProcess {
  /** Exit code, or the signal's name. */
  readonly exit: Promise<number | string>;
  stdout = '';
  stderr = '';
  ended: number | string | undefined;
  readonly #child: ChildProcess;

  constructor(command: string, environment: Readonly<Record<string, string | undefined>>) {
    this.#child = spawn('/bin/sh', ['-c', command], {
      env: { ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    for (const name of ['stdout', 'stderr'] as const) {
      this.#child[name]?.setEncoding('utf8').on('data', (text: string) => {
        if (this[name].length < KEPT_BYTES) this[name] += text;
      });
    }
    this.exit = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve((this.ended = error.message)));
      this.#child.once('exit', (code, signal) => {
        // What it has left behind in its group goes with it; what left the group is not waited for.
        this.kill();
        const over = (): void => {
          clearTimeout(drain);
          this.#child.stdout?.destroy();
          this.#child.stderr?.destroy();
          resolve((this.ended = code ?? signal ?? 'unknown'));
        };
        const drain = setTimeout(over, DRAIN_MS);
        this.#child.once('close', over);
      });
    });
  }

  /** How it ended, or undefined when it is still there after `ms`. */
  async endedWithin(ms: number): Promise<number | string | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), ms);
    });
    const outcome = await Promise.race([this.exit, late]);
    clearTimeout(timer);
    return outcome;
  }

  /** Ends the whole group. */
  kill(): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // Nobody is left in it.
    }
  }
}
