/**
 * A shell command with an end: it is killed, with all it forked, when its time is over, when the plugin ends, and when the daemon exits. A
 * daemon that is killed has no time for that: there the kernel tells a guard shell, which takes the group with it (`setpriv`, util-linux).
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { messageOf } from '../../sdk/rpc/errors.ts';

export interface CheckResult {
  readonly healthy: boolean;
  /** `exit code 1: no route`, `killed after 5 s`; '' when healthy. */
  readonly reason: string;
}

/** Characters of the last line of stderr that are kept. */
const SHOWN = 120;
/** For the last words of a check that is over. */
const DRAIN_MS = 200;
/** $1 is the operator's command. */
const GUARD = `trap 'kill -KILL 0' USR2
/bin/sh -c "$1" &
wait $!`;

let binder: boolean | undefined;

function canBind(): boolean {
  binder ??= spawnSync('setpriv', ['--pdeathsig', 'USR2', '/bin/sh', '-c', 'exit 0'], { timeout: 2000 }).status === 0;
  return binder;
}

/** Never rejects. */
export function runCheck(
  command: string,
  timeoutMs: number,
  signal: AbortSignal,
  more: Readonly<Record<string, string>> = {},
): Promise<CheckResult> {
  if (signal.aborted) return Promise.resolve({ healthy: false, reason: 'stopped' });
  let child: ReturnType<typeof start>;
  try {
    child = start(command, more);
  } catch (error) {
    return Promise.resolve({ healthy: false, reason: messageOf(error) });
  }
  return new Promise((resolve) => {
    let stderr = '';
    let ended: string | undefined;
    let drain: NodeJS.Timeout | undefined;
    const end = (reason: string): void => {
      ended ??= reason;
      kill(child);
    };
    const stopped = (): void => end('stopped');
    const exiting = (): void => kill(child);
    const timer = setTimeout(() => end(`killed after ${timeoutMs / 1000} s`), timeoutMs);
    signal.addEventListener('abort', stopped, { once: true });
    process.once('exit', exiting);
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-1000)));
    child.stderr.on('error', () => undefined);
    let verdict = '';
    const over = (): void => {
      clearTimeout(timer);
      clearTimeout(drain);
      signal.removeEventListener('abort', stopped);
      process.off('exit', exiting);
      child.stderr.destroy();
      if (verdict === '' && ended === undefined) {
        resolve({ healthy: true, reason: '' });
        return;
      }
      const said = stderr.trim().split('\n').at(-1)?.slice(0, SHOWN) ?? '';
      resolve({ healthy: false, reason: ended ?? `${verdict}${said === '' ? '' : `: ${said}`}` });
    };
    child.once('error', (error) => {
      verdict = error.message;
      over();
    });
    child.once('exit', (code, by) => {
      clearTimeout(timer);
      if (code !== 0) verdict = code === null ? `ended by ${by ?? 'a signal'}` : `exit code ${code}`;
      // What the command left running goes with it. One that left the group may hold stderr open: its words are not waited for.
      kill(child);
      drain = setTimeout(over, DRAIN_MS);
      child.once('close', over);
    });
  });
}

/** What a check prints is not read, but for what it says on stderr. Throws when the system has no room for one more process. */
function start(command: string, more: Readonly<Record<string, string>>) {
  const [file, args] = canBind()
    ? ['setpriv', ['--pdeathsig', 'USR2', '/bin/sh', '-c', GUARD, 'sh', command]]
    : ['/bin/sh', ['-c', command]];
  return spawn(file, args, { detached: true, stdio: ['ignore', 'ignore', 'pipe'], env: environment(more) });
}

function kill({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The group is gone.
  }
}

/** The daemon's, without what only the daemon may say to its service manager. */
function environment(more: Readonly<Record<string, string>>): Record<string, string | undefined> {
  return { ...process.env, NOTIFY_SOCKET: undefined, WATCHDOG_USEC: undefined, WATCHDOG_PID: undefined, ...more };
}
