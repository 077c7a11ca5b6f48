// A hub as the engine has one, for tests that start plugins as processes: TLS, the auth line, and each plugin's link.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { generate } from 'selfsigned';
import { AUTH_OK, authError, parseAuth, readFirstLine } from '../../sdk/rpc/index.ts';
import { FakeEngine } from './fake-engine.ts';

const TOKEN = 'f'.repeat(64);

export class Hub implements AsyncDisposable {
  readonly #server: Server;
  readonly #pem: string;
  readonly #sockets: TLSSocket[] = [];
  readonly #children: ChildProcess[] = [];
  readonly #waiting = new Map<string, (engine: FakeEngine) => void>();

  private constructor(server: Server, pem: string) {
    this.#server = server;
    this.#pem = pem;
    server.on('secureConnection', (socket) => {
      this.#sockets.push(socket);
      socket.on('error', () => undefined);
      void this.#welcome(socket);
    });
  }

  static async open(): Promise<Hub> {
    const made = await generate([{ name: 'commonName', value: 'test hub' }], {
      keyType: 'ec',
      extensions: [
        { name: 'basicConstraints', cA: true },
        { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
      ],
    });
    const server = createServer({ key: made.private, cert: made.cert, minVersion: 'TLSv1.3' });
    const hub = new Hub(server, made.cert);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return hub;
  }

  /** What a child is given. */
  environment(name: string): Record<string, string> {
    return {
      ZE_PLUGIN_HUB_HOST: '127.0.0.1',
      ZE_PLUGIN_HUB_PORT: String((this.#server.address() as AddressInfo).port),
      ZE_PLUGIN_HUB_TOKEN: TOKEN,
      ZE_PLUGIN_CA_PEM: this.#pem,
      ZE_PLUGIN_NAME: name,
    };
  }

  /** Resolves when a plugin of this name has authenticated. */
  accept(name: string): Promise<FakeEngine> {
    return new Promise((resolve) => this.#waiting.set(name, resolve));
  }

  /** Starts a child and waits until it has connected back. `stderr` gathers what it writes there. */
  async start(
    name: string,
    command: readonly [string, ...string[]],
  ): Promise<{ readonly engine: FakeEngine; readonly exit: Promise<number | null>; readonly stderr: () => string }> {
    const accepted = this.accept(name);
    const child = spawn(command[0], command.slice(1), {
      env: { ...process.env, ...this.environment(name) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#children.push(child);
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const exit = new Promise<number | null>((resolve) => child.on('exit', (code) => resolve(code)));
    const engine = await Promise.race([
      accepted,
      exit.then((code) => {
        throw new Error(`${command.join(' ')} ended with ${code}: ${stderr}`);
      }),
    ]);
    return { engine, exit, stderr: () => stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL');
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #welcome(socket: TLSSocket): Promise<void> {
    const claim = await readFirstLine(socket, 4096, 10_000)
      .then(parseAuth)
      .catch(() => ({ ok: false, fault: 'malformed auth request' }) as const);
    if (!claim.ok || claim.token !== TOKEN) {
      socket.end(authError(claim.ok ? 'auth failed' : claim.fault));
      return;
    }
    socket.write(AUTH_OK);
    this.#waiting.get(claim.name)?.(new FakeEngine(socket));
  }
}
