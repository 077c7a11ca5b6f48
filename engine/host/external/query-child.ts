/**
 * A plugin's program, started only to say what it declares (plugin-wire §11): through the shell, in the config file's folder, in a
 * process group of its own, with `ZE_PLUGIN_MODE=declare` and nothing else of the hub in its environment. Its stdout is read for the
 * one line, its stderr is kept for the reason when there is none. Whatever it leaves running is killed with its group.
 */
import { spawn } from 'node:child_process';
import { messageOf } from '../../../sdk/rpc/errors.ts';
import { MAX_LINE_BYTES } from '../../../sdk/rpc/frame.ts';
import type { Clock } from '../../core/clock.ts';
import type { ShellCommand } from './parent-death.ts';

export interface QueryChildOptions {
  /** The operator's shell command, as `shellCommand` puts it: it dies with the daemon. */
  readonly command: ShellCommand;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly identity?: Identity | undefined;
}

/** A user and a group of the system. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** `line`: the declaration as it came. `ended`: the program went without one. */
export type ChildAnswer =
  | { readonly kind: 'line'; readonly payload: Buffer }
  | { readonly kind: 'too-long' }
  | { readonly kind: 'ended'; readonly code: number | undefined; readonly signal: string | undefined; readonly stderr: string }
  | { readonly kind: 'unstartable'; readonly reason: string }
  | { readonly kind: 'timeout'; readonly stderr: string };

/** Bytes of stderr that are kept: the last ones say why. */
const STDERR_BYTES = 4096;
/** After its line the program may end by itself. */
const LEAVE_MS = 500;
/** After the exit, a pipe that a forked process holds open is read this long. */
const DRAIN_MS = 200;
const LINE = /^#\d{1,20} ze-plugin-engine:declare-registration(?: |\r?$)/;

/** The environment of a query: no `ze.plugin.*` in any spelling but the mode; PATH led by the daemon's folder. */
export function queryEnvironment(
  base: Readonly<Record<string, string | undefined>>,
  binFolder: string,
): Readonly<Record<string, string>> {
  const environment: Record<string, string> = {};
  for (const [key, value] of Object.entries(base)) {
    if (value !== undefined && !/^ze[._]plugin[._]/i.test(key)) environment[key] = value;
  }
  const path = environment['PATH'] ?? '';
  environment['PATH'] = path === '' ? binFolder : `${binFolder}:${path}`;
  environment['ZE_PLUGIN_MODE'] = 'declare';
  return environment;
}

/** Never rejects. Resolves when the program is gone, or was killed. */
export function askChild(options: QueryChildOptions): Promise<ChildAnswer> {
  const { clock, signal } = options;
  if (signal?.aborted === true) return Promise.resolve({ kind: 'unstartable', reason: 'stopped' });
  return new Promise((resolve) => {
    const child = spawn(options.command.file, options.command.args, {
      cwd: options.folder,
      env: options.environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(options.identity === undefined ? {} : { uid: options.identity.uid, gid: options.identity.gid }),
    });
    const kill = (): void => {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The group is gone.
      }
    };
    process.once('exit', kill);
    let answer: ChildAnswer | undefined;
    let stderr: Buffer = Buffer.alloc(0);
    const timers: { cancel(): void }[] = [];
    const finish = (last: ChildAnswer): void => {
      for (const timer of timers) timer.cancel();
      process.off('exit', kill);
      signal?.removeEventListener('abort', abort);
      kill();
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(answer ?? last);
    };
    const reader = new DeclarationReader();
    const settle = (found: ChildAnswer): void => {
      answer = found;
      timers.push(clock.after(LEAVE_MS, () => finish(found)));
    };
    const abort = (): void => finish({ kind: 'unstartable', reason: 'stopped' });
    signal?.addEventListener('abort', abort, { once: true });
    child.stdout.on('data', (bytes: Buffer) => {
      const found = answer === undefined ? reader.push(bytes) : undefined;
      if (found !== undefined) settle(found);
    });
    child.stdout.once('end', () => {
      const found = answer === undefined ? reader.end() : undefined;
      if (found !== undefined) settle(found);
    });
    child.stderr.on('data', (bytes: Buffer) => {
      stderr = Buffer.concat([stderr, bytes]).subarray(-STDERR_BYTES);
    });
    for (const stream of [child.stdout, child.stderr]) stream.on('error', () => undefined);
    child.once('error', (error) => {
      if (child.pid === undefined) finish({ kind: 'unstartable', reason: messageOf(error) });
    });
    child.once('exit', (code, name) => {
      const ended = (): ChildAnswer => ({
        kind: 'ended',
        code: code ?? undefined,
        signal: name ?? undefined,
        stderr: stderr.toString('utf8'),
      });
      kill();
      child.once('close', () => finish(ended()));
      timers.push(clock.after(DRAIN_MS, () => finish(ended())));
    });
    timers.push(clock.after(options.timeoutMs, () => finish({ kind: 'timeout', stderr: stderr.toString('utf8') })));
  });
}

/** Lines of stdout up to the declaration; whatever else the program prints is passed over. */
class DeclarationReader {
  #parts: Buffer[] = [];
  #held = 0;

  push(bytes: Buffer): ChildAnswer | undefined {
    let from = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      const found = this.#line(bytes.subarray(from, end));
      if (found !== undefined) return found;
      from = end + 1;
    }
    this.#parts.push(bytes.subarray(from));
    this.#held += bytes.length - from;
    return this.#held > MAX_LINE_BYTES ? { kind: 'too-long' } : undefined;
  }

  /** A last line without its end counts: the program may have been in a hurry. */
  end(): ChildAnswer | undefined {
    return this.#line(Buffer.alloc(0));
  }

  #line(rest: Buffer): ChildAnswer | undefined {
    const line = this.#parts.length === 0 ? rest : Buffer.concat([...this.#parts, rest]);
    this.#parts = [];
    this.#held = 0;
    if (line.length > MAX_LINE_BYTES) return { kind: 'too-long' };
    const head = LINE.exec(line.toString('latin1', 0, 80));
    return head === null ? undefined : { kind: 'line', payload: line.subarray(head[0].trimEnd().length) };
  }
}
