/**
 * The client's end of the control socket: one connection a command. Closing it is how a command is cancelled, so that Ctrl-C
 * reaches the producer wherever it runs.
 */
import { connect, type Socket } from 'node:net';
import type { AnswerReader, RowSink } from '../../sdk/rpc/answer.ts';
import { RpcError } from '../../sdk/rpc/errors.ts';
import { Mux } from '../../sdk/rpc/mux.ts';
import { untrustedFolder } from '../core/control-socket.ts';

/** Nobody answers at the socket, or we may not ask. */
export class NoDaemon extends Error {
  override readonly name = 'NoDaemon';
  readonly path: string;
  /** `denied` when the socket is there and not for us. */
  readonly reason: 'absent' | 'denied';

  constructor(path: string, reason: 'absent' | 'denied', message: string) {
    super(message);
    this.path = path;
    this.reason = reason;
  }
}

const CONNECT_MS = 3000;
/** Characters of one answer that wait for the printer before the socket is held. */
const ANSWER_QUEUE = 1 << 18;
/** Bytes read at a time, always into the same buffer: a long answer leaves nothing to collect. */
const READ_BUFFER = 64 * 1024;

export class Connection {
  readonly #mux: Mux;
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#mux = new Mux(socket, { whenAnswerFull: 'pause', answerQueueBytes: ANSWER_QUEUE, lentChunks: true });
  }

  /** Rejects with NoDaemon. */
  static async open(path: string, uid: number): Promise<Connection> {
    const reason = untrustedFolder(path, uid);
    if (reason?.endsWith('does not exist') === false)
      throw new NoDaemon(path, 'denied', `the control socket cannot be trusted: ${reason}`);
    const socket = await new Promise<Socket>((resolve, reject) => {
      const buffer = Buffer.allocUnsafeSlow(READ_BUFFER);
      const callback = (length: number): boolean => {
        attempt.emit('data', buffer.subarray(0, length));
        return true;
      };
      const attempt = connect({ path, onread: { buffer, callback } });
      const timer = setTimeout(() => attempt.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })), CONNECT_MS);
      attempt.once('connect', () => {
        clearTimeout(timer);
        attempt.removeAllListeners('error');
        resolve(attempt);
      });
      attempt.once('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        reject(noDaemon(path, error));
      });
    });
    return new Connection(socket);
  }

  /** Runs a line of text. The reader's head rejects with code `unknown-command` when it names no command. */
  run(command: string, signal: AbortSignal, rows?: RowSink): AnswerReader {
    return this.#mux.dispatchAnswer('ze-plugin-engine:dispatch-command', { command }, signal, rows);
  }

  /** Reads nothing while held: for who takes rows as they come. */
  hold(held: boolean): void {
    if (held) this.#socket.pause();
    else this.#socket.resume();
  }

  /** Runs a command by its exact name. */
  runArgs(command: string, args: readonly string[], signal: AbortSignal): AnswerReader {
    return this.#mux.dispatchAnswer('ze-plugin-engine:dispatch-command-args', { command, args }, signal);
  }

  /** Ends the connection at once; what it asked for is cancelled. */
  close(): void {
    this.#mux.destroy(new RpcError('closed', 'done'));
  }
}

function noDaemon(path: string, error: NodeJS.ErrnoException): NoDaemon {
  if (error.code === 'EACCES' || error.code === 'EPERM')
    return new NoDaemon(path, 'denied', `no permission for the control socket ${path}`);
  const start = 'start one with: zest FILE';
  return new NoDaemon(
    path,
    'absent',
    `no daemon answers on ${path} (${error.code === 'ENOENT' ? 'no such socket' : (error.code ?? error.message)}); ${start}`,
  );
}

/** Runs one command by name and gives its document; the connection is closed. Rejects with NoDaemon or RpcError. */
export async function ask(
  path: string,
  uid: number,
  command: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<unknown> {
  const connection = await Connection.open(path, uid);
  try {
    const answer = await connection.runArgs(command, args, signal).collapse();
    if (answer.status === 'error') throw new RpcError('error', answer.error ?? 'failed');
    return answer.data;
  } finally {
    connection.close();
  }
}
