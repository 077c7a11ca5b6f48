/**
 * What ends an external plugin when the daemon is killed and can end nothing itself. A plugin by the SDK leaves when its
 * connection ends; one that spins or does not care would live on beside its successor, with its ports and files. So the kernel
 * is asked to kill the child with its parent (`prctl(PR_SET_PDEATHSIG)`, through `setpriv` of util-linux), which costs no process
 * and no descriptor. Where there is no such `setpriv`, children are started plainly.
 *
 * The kernel forgets the wish in a forked child. A command that the shell becomes (`exec node x`, `cd y && exec node x`) is the
 * child itself and needs nothing more. For any other a guard shell leads the group: it gets a signal in place of the death and
 * kills the group with itself.
 *
 * Out of reach: what an `exec` command forks by itself, and a program with more rights than the daemon (setuid, capabilities),
 * where the kernel clears the wish.
 */
import { execFile } from 'node:child_process';

export interface ShellCommand {
  readonly file: string;
  readonly args: readonly string[];
}

/** What the guard waits for: no plugin is sent it otherwise. */
const GUARD_SIGNAL = 'USR2';
/** $1 is the operator's command. How it ended is passed on: a signal as that signal, as if there were no guard. */
const GUARD = [
  `trap 'kill -KILL 0' ${GUARD_SIGNAL}`,
  '/bin/sh -c "$1" &',
  'wait $!',
  'status=$?',
  '[ $status -gt 128 ] && kill -$((status - 128)) $$',
  'exit $status',
].join('\n');

/** Where util-linux puts it; the child's PATH is the operator's affair. */
const PLACES = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/local/bin/setpriv'];

/** The `setpriv` that can bind children to this process, found by trying; `undefined` = none here. */
export async function findBinder(): Promise<string | undefined> {
  for (const file of PLACES) if (await binds(file)) return file;
  return undefined;
}

function binds(file: string): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(file, ['--pdeathsig', 'KILL', '/bin/sh', '-c', 'exit 0'], { timeout: 5000 }, (error) => resolve(error === null));
  });
}

/** How to start an operator's shell command. Bound by a `binder`, it dies with the thread that starts it, the main one. */
export function shellCommand(run: string, binder: string | undefined): ShellCommand {
  if (binder === undefined) return { file: '/bin/sh', args: ['-c', run] };
  const bound = (signal: string, ...shell: string[]): ShellCommand => ({
    file: binder,
    args: ['--pdeathsig', signal, '/bin/sh', ...shell],
  });
  return isOneProcess(run) ? bound('KILL', '-c', run) : bound(GUARD_SIGNAL, '-c', GUARD, 'sh', run);
}

/** Does the shell become the command? Quoted text is taken for shell text, which costs a guard and nothing else. */
export function isOneProcess(run: string): boolean {
  if (/[|`()\n]|(?<![&<>])&(?![&<>])|^\s*(?:[!{]|(?:if|while|until|for|case|trap)\b)/.test(run)) return false;
  return /^\s*exec\s/.test(run.split(/&&|;/).at(-1) ?? '');
}
