/**
 * A plugin hub as the daemon has one, for tests that start a plugin as a process: TLS 1.3 on loopback with a certificate of its own, the
 * auth line, and each plugin's stream. `startProcess` is the whole of it for one plugin.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { generate } from 'selfsigned';
import { AUTH_LINE_LIMIT, AUTH_OK, authError, parseAuth, readFirstLine } from '../rpc/auth.ts';
import { messageOf } from '../rpc/errors.ts';
import { FakeEngine } from './fake-engine.ts';
import type { FakeEngineOptions } from './under-test.ts';
import { within } from './within.ts';

const AUTH_MS = 10_000;
/** From the spawn to the authenticated connection. */
const CONNECT_MS = 20_000;
/** A process that was said goodbye to has this long to leave. */
const LEAVE_MS = 5000;

/** A started process that has connected back. */
export interface ConnectedProcess {
  readonly stream: TLSSocket;
  readonly child: ChildProcess;
  /** Its exit code; `null` when a signal ended it. */
  readonly exit: Promise<number | null>;
  /** What it has written to stderr so far. */
  readonly stderr: () => string;
}

export interface SpawnOptions {
  readonly cwd?: string | undefined;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export class TestHub implements AsyncDisposable {
  readonly #server: Server;
  readonly #pem: string;
  readonly #token = randomBytes(32).toString('hex');
  readonly #sockets = new Set<TLSSocket>();
  readonly #children: ChildProcess[] = [];
  readonly #waiting = new Map<string, (stream: TLSSocket) => void>();

  private constructor(server: Server, pem: string) {
    this.#server = server;
    this.#pem = pem;
    server.on('secureConnection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#sockets.delete(socket));
      void this.#welcome(socket);
    });
  }

  /** Listens on 127.0.0.1, on a free port. */
  static async open(): Promise<TestHub> {
    const made = await generate([{ name: 'commonName', value: 'test hub' }], {
      keyType: 'ec',
      extensions: [
        { name: 'basicConstraints', cA: true },
        { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
      ],
    });
    const server = createServer({ key: made.private, cert: made.cert, minVersion: 'TLSv1.3' });
    const hub = new TestHub(server, made.cert);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return hub;
  }

  /** What a child is given. */
  environment(name: string): Record<string, string> {
    return {
      ZE_PLUGIN_HUB_HOST: '127.0.0.1',
      ZE_PLUGIN_HUB_PORT: String((this.#server.address() as AddressInfo).port),
      ZE_PLUGIN_HUB_TOKEN: this.#token,
      ZE_PLUGIN_CA_PEM: this.#pem,
      ZE_PLUGIN_NAME: name,
    };
  }

  /** Resolves when a plugin of this name has authenticated. */
  accept(name: string): Promise<TLSSocket> {
    return new Promise((resolve) => this.#waiting.set(name, resolve));
  }

  /** Starts a child and waits until it has connected back. Rejects with its exit code and stderr when it ends before that. */
  async start(name: string, command: readonly [string, ...string[]], options: SpawnOptions = {}): Promise<ConnectedProcess> {
    const accepted = this.accept(name);
    const child = spawn(command[0], command.slice(1), {
      cwd: options.cwd,
      env: { ...process.env, ...options.env, ...this.environment(name) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#children.push(child);
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const exit = new Promise<number | null>((resolve, reject) => {
      child.on('exit', (code) => resolve(code));
      child.on('error', reject);
    });
    const early = exit.then((code) => {
      throw new Error(`${command.join(' ')} ended with ${code ?? 'a signal'} before it connected: ${stderr}`);
    });
    early.catch(() => undefined);
    const stream = await within(CONNECT_MS, `the connection of ${command.join(' ')}`, Promise.race([accepted, early]));
    return { stream, child, exit, stderr: () => stderr };
  }

  /** Ends every child and connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #welcome(socket: TLSSocket): Promise<void> {
    const claim = await readFirstLine(socket, AUTH_LINE_LIMIT, AUTH_MS)
      .then(parseAuth)
      .catch(() => ({ ok: false, fault: 'malformed auth request' }) as const);
    if (!claim.ok || claim.token !== this.#token) {
      socket.end(authError(claim.ok ? 'auth failed' : claim.fault));
      return;
    }
    const taker = this.#waiting.get(claim.name);
    if (taker === undefined) {
      socket.end(authError('auth failed'));
      return;
    }
    socket.write(AUTH_OK);
    taker(socket);
  }
}

/** A plugin that runs as a process of its own, in any language. */
export interface ProcessUnderTest extends AsyncDisposable {
  readonly engine: FakeEngine;
  /** Its exit code; `null` when a signal ended it. */
  readonly exit: Promise<number | null>;
  /** What it has written to stderr so far. */
  readonly stderr: () => string;
  /** Says goodbye, waits for the exit (ends the process after five seconds), frees everything. Resolves to the exit code. */
  close(): Promise<number | null>;
}

/** Starts `command` as the daemon would and takes it through the five stages. */
export async function startProcess(
  command: readonly [string, ...string[]],
  options: FakeEngineOptions & SpawnOptions = {},
): Promise<ProcessUnderTest> {
  const hub = await TestHub.open();
  let stderr = (): string => '';
  try {
    const started = await hub.start(options.name ?? 'plugin', command, options);
    stderr = started.stderr;
    const engine = await FakeEngine.over(started.stream, options);
    const close = async (): Promise<number | null> => {
      await engine.close();
      await within(LEAVE_MS, 'the exit', started.exit).catch(() => undefined);
      await hub[Symbol.asyncDispose]();
      return started.exit;
    };
    return {
      engine,
      exit: started.exit,
      stderr: () => started.stderr(),
      close,
      [Symbol.asyncDispose]: async () => {
        await close();
      },
    };
  } catch (error) {
    await hub[Symbol.asyncDispose]();
    if (stderr() === '') throw error;
    throw new Error(`${messageOf(error)}; the plugin wrote: ${stderr().trimEnd()}`, { cause: error });
  }
}

/** What the command declares when it is only asked (`ZE_PLUGIN_MODE=declare`): the line it writes, and its exit code. */
export async function queryDeclaration(
  command: readonly [string, ...string[]],
  options: SpawnOptions = {},
): Promise<{ readonly line: string; readonly code: number | null }> {
  const child = spawn(command[0], command.slice(1), {
    cwd: options.cwd,
    env: { ...process.env, ...options.env, ZE_PLUGIN_MODE: 'declare' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let line = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    line += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { line: line.trimEnd(), code };
}
