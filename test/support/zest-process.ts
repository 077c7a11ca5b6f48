// The daemon as its users run it: the built program as a process of its own, a config file, the control socket.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { ask } from '../../engine/cli/client.ts';

export const PROGRAM = resolve(import.meta.dirname, '../../dist/engine/main.js');

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Polls until the probe finds something; rejects with `what` at the deadline. A probe that throws has not found it yet. */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  deadlineMs = 60_000,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  let last = '';
  for (;;) {
    try {
      const found = await probe();
      if (found !== undefined) return found;
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    if (performance.now() > end) throw new Error(`not within ${deadlineMs / 1000} s: ${what}${last === '' ? '' : ` (${last})`}`);
    await wait(50);
  }
}

export function run(command: string, args: readonly string[], environment: NodeJS.ProcessEnv = process.env): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 128, stdout, stderr }));
  });
}

/** Ports that one process of the tests hands out, one after another, all below those that the kernel gives to outgoing connections. */
const PORT_BLOCK = 50;
const FIRST_PORT = 10_000 + (process.pid % 440) * PORT_BLOCK;
let handedOut = 0;

/** A TCP port nobody listens on now, nor has been given by this process before. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let tries = 0; tries < PORT_BLOCK; tries++) {
    const port = FIRST_PORT + (handedOut++ % PORT_BLOCK);
    if (await canListen(port, host)) return port;
  }
  throw new Error(`no free port from ${FIRST_PORT} to ${FIRST_PORT + PORT_BLOCK - 1}`);
}

function canListen(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}

export class ZestProcess {
  readonly folder: string;
  readonly configPath: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly child: ChildProcess;
  /** Everything the daemon wrote to stderr and stdout. */
  output = '';
  exitCode: number | undefined;
  readonly #own: boolean;

  private constructor(folder: string, own: boolean, environment: NodeJS.ProcessEnv, options: readonly string[]) {
    this.folder = folder;
    this.#own = own;
    this.configPath = join(folder, 'zest.conf');
    this.environment = environment;
    this.child = spawn(process.execPath, [PROGRAM, this.configPath, ...options], {
      env: environment,
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output = (this.output + text).slice(-200_000)));
    }
    this.child.on('exit', (code, signal) => (this.exitCode = code ?? (signal === null ? 1 : 128)));
  }

  /** Starts and waits for the ready file. `folder` is kept when it is given. */
  static async start(config: string, more: NodeJS.ProcessEnv = {}, folder?: string): Promise<ZestProcess> {
    const zest = ZestProcess.launch(config, more, folder);
    try {
      await eventually('the daemon is ready', () => {
        if (zest.exitCode !== undefined) throw new Error(`ended with ${zest.exitCode}`);
        return existsSync(join(zest.folder, 'ready')) ? true : undefined;
      });
    } catch (error) {
      await zest.stop();
      throw new Error(`${error instanceof Error ? error.message : String(error)}\n${zest.output}`);
    }
    return zest;
  }

  /** Starts without waiting. */
  static launch(config: string, more: NodeJS.ProcessEnv = {}, folder?: string, options: readonly string[] = []): ZestProcess {
    const home = folder ?? mkdtempSync(join(tmpdir(), 'zest-test-'));
    mkdirSync(home, { recursive: true });
    rmSync(join(home, 'ready'), { force: true });
    writeFileSync(join(home, 'zest.conf'), config);
    return new ZestProcess(
      home,
      folder === undefined,
      {
        ...process.env,
        ze_control_socket: join(home, 'control.sock'),
        ze_ready_file: join(home, 'ready'),
        ze_state_dir: join(home, 'state'),
        NO_COLOR: '1',
        ...more,
      },
      options,
    );
  }

  /** Runs the command line against this daemon. */
  cli(...words: readonly string[]): Promise<Ran> {
    return run(process.execPath, [PROGRAM, ...words], this.environment);
  }

  /** The same with `--json`; throws the error text of a command that fails. */
  async json(...words: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    const { code, stdout, stderr } = await this.cli(...words, '--json');
    if (code !== 0) throw new Error(`zest ${words.join(' ')}: code ${code}: ${(stderr || stdout).trim()}`);
    return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  }

  /** A command and its words over the control socket, without a process for it: where time counts. Throws the error text of one that fails. */
  async ask(command: string, ...words: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    const path = this.environment['ze_control_socket'] ?? '';
    return (await ask(path, process.getuid?.() ?? 0, command, words, AbortSignal.timeout(60_000))) as Readonly<
      Record<string, unknown>
    >;
  }

  /** Waits for this in what the daemon writes: its pipe may be read later than what the control socket says. */
  async logs(pattern: RegExp): Promise<void> {
    await eventually(`${pattern.source} in the log`, () => (pattern.test(this.output) ? true : undefined));
  }

  /** Rewrites the config file and has the daemon read it again. */
  reload(config: string): void {
    writeFileSync(this.configPath, config);
    this.child.kill('SIGHUP');
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    if (this.exitCode === undefined) this.child.kill(signal);
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 30_000);
    await eventually('the daemon has ended', () => (this.exitCode === undefined ? undefined : true));
    clearTimeout(timer);
    if (this.#own) rmSync(this.folder, { recursive: true, force: true });
    return this.exitCode ?? 0;
  }
}
