/**
 * The CLI door: a Unix socket that speaks the bus's own lines. Each connection is a client that calls `dispatch-command` and
 * reads record answers; nothing else is served. Whoever can open the socket (0600, in a folder nobody else can write) is the
 * operator.
 *
 * An answer is pulled as the client reads: a client that stops reading holds its own producer and nothing else, one that
 * goes away cancels it. Connections and requests are bounded.
 */
import { chmodSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AnswerReader } from '../../sdk/rpc/answer.ts';
import { errorPayload, messageOf } from '../../sdk/rpc/errors.ts';
import { Mux } from '../../sdk/rpc/mux.ts';
import type { DispatchCommandArgsInput } from '../../yang/generated/methods.ts';
import { prepareFolder } from '../core/control-socket.ts';
import type { Log } from '../core/log.ts';
import { OPERATOR, type Caller } from './access.ts';

/** What the door needs of the dispatcher. */
export interface CommandRunner {
  dispatch(text: string, caller: Caller, signal: AbortSignal): AnswerReader;
  dispatchArgs(input: DispatchCommandArgsInput, caller: Caller, signal: AbortSignal): AnswerReader;
}

export interface DoorOptions {
  readonly path: string;
  readonly uid: number;
  /** The user the daemon becomes: a folder or an old socket of that user will do as well. */
  readonly ownerUid?: number | undefined;
  readonly runner: CommandRunner;
  readonly log: Log;
  /** Default 64. */
  readonly maximumConnections?: number | undefined;
  /** Commands one connection may have under way. Default 32; more wait, then are answered `busy:`. */
  readonly maximumCommands?: number | undefined;
  /** A client that reads nothing for this long is let go. Default 5 minutes: a person may be looking at a page. */
  readonly readTimeoutMs?: number | undefined;
}

/** Unsent bytes of one connection past which it is closed; answers hold back long before. */
const OUTBOUND_LIMIT = 32 << 20;
const PROBE_MS = 2000;

interface Client {
  readonly mux: Mux;
  readonly socket: Socket;
}

export class ControlDoor {
  readonly path: string;
  readonly #server: Server;
  readonly #options: DoorOptions;
  readonly #clients = new Set<Client>();
  #closed = false;

  private constructor(server: Server, options: DoorOptions) {
    this.path = options.path;
    this.#server = server;
    this.#options = options;
    server.on('connection', (socket) => this.#welcome(socket));
    server.on('error', (error) => options.log.error({ error: error.message }, 'control socket failed'));
  }

  /** Opens the socket. Rejects when another daemon is alive behind it, or when the place cannot be trusted. */
  static async open(options: DoorOptions): Promise<ControlDoor> {
    prepareFolder(options.path, options.uid, options.ownerUid);
    const stale = await staleSocket(options.path, [options.uid, options.ownerUid ?? options.uid]);
    if (stale !== undefined) removeStale(options.path, stale);
    const server = createServer({ allowHalfOpen: false });
    await listen(server, options.path);
    options.log.debug({ path: options.path }, 'control socket open');
    return new ControlDoor(server, options);
  }

  get connections(): number {
    return this.#clients.size;
  }

  /** Lets every client go and takes the socket away. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const ended = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    await Promise.all([...this.#clients].map(({ mux }) => mux.close()));
    await ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #welcome(socket: Socket): void {
    const { log, runner } = this.#options;
    if (this.#clients.size >= (this.#options.maximumConnections ?? 64) && !this.#dropIdle()) {
      log.warn({ connections: this.#clients.size }, 'too many control connections');
      socket.on('error', () => undefined);
      socket.end(`#0 error ${errorPayload(new Error(`busy: ${this.#clients.size} control connections are open`))}\n`);
      return;
    }
    const mux = new Mux(socket, {
      runningLimit: this.#options.maximumCommands ?? 32,
      runningBytesLimit: 32 << 20,
      writeTimeoutMs: this.#options.readTimeoutMs ?? 300_000,
      outboundLimitBytes: OUTBOUND_LIMIT,
    });
    const client: Client = { mux, socket };
    this.#clients.add(client);
    mux.serveAnswer('ze-plugin-engine:dispatch-command', (input, { signal }) =>
      runner.dispatch(input.command, OPERATOR, signal).source(),
    );
    mux.serveAnswer('ze-plugin-engine:dispatch-command-args', (input, { signal }) =>
      runner.dispatchArgs(input, OPERATOR, signal).source(),
    );
    mux.closed
      .then((reason) => {
        if (reason !== undefined) log.debug({ reason: messageOf(reason) }, 'control connection closed');
      })
      .finally(() => this.#clients.delete(client))
      .catch(() => undefined);
  }

  /** Makes room by letting the oldest connection go that waits for nothing. */
  #dropIdle(): boolean {
    for (const client of this.#clients) {
      if (client.mux.pending.requests > 0 || client.mux.writableLength > 0) continue;
      this.#clients.delete(client);
      client.socket.destroy();
      return true;
    }
    return false;
  }
}

/** Looks at what stands at the path: nothing, or a socket nobody listens on (its inode). Throws for everything else. */
async function staleSocket(path: string, owners: readonly number[]): Promise<bigint | undefined> {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isSocket()) throw new Error(`${path} exists and is not a socket`);
  if (!owners.includes(Number(stat.uid))) throw new Error(`${path} belongs to user ${stat.uid}, not to ${owners[0] ?? 0}`);
  const failure = await new Promise<string>((resolve) => {
    const probe = connect(path);
    const timer = setTimeout(() => probe.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })), PROBE_MS);
    probe.on('connect', () => {
      clearTimeout(timer);
      probe.destroy();
      resolve('');
    });
    probe.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      resolve(error.code ?? 'error');
    });
  });
  if (failure === 'ECONNREFUSED') return stat.ino;
  if (failure === 'ENOENT') return undefined;
  throw new Error(`another daemon is listening on ${path}; stop it, or choose another socket with ze.control.socket`);
}

/** Moves the stale socket aside before it goes: if somebody else took its place meanwhile, theirs is put back. */
function removeStale(path: string, inode: bigint): void {
  const aside = `${path}.stale-${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const moved = lstatSync(aside, { bigint: true });
  if (moved.ino !== inode) {
    renameSync(aside, path);
    throw new Error(`another daemon has just opened ${path}`);
  }
  unlinkSync(aside);
}

async function listen(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new Error(`another daemon has just opened ${path}`, { cause: error }) : error);
    });
    // The socket is bound within this call, so that it never stands there with wider permissions.
    const before = process.umask(0o177);
    try {
      server.listen(path, () => resolve());
    } finally {
      process.umask(before);
    }
  });
  chmodSync(path, 0o600);
  server.removeAllListeners('error');
}
