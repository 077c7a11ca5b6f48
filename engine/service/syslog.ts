/**
 * Log lines as syslog messages, facility daemon: RFC 5424 by UDP to a collector (RFC 5426, one datagram a line), or through util-linux'
 * `logger` to the machine's own socket, since Node has no Unix datagram socket. What cannot be handed over is counted, told once on
 * stderr, and told again when it works; where there is no `logger` the lines themselves go to stderr.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { hostname } from 'node:os';
import { recordText } from '../core/log-text.ts';
import type { LogSink } from '../core/root-log.ts';

export type SyslogTarget =
  | { readonly kind: 'udp'; readonly host: string; readonly port: number }
  | { readonly kind: 'local'; readonly socket: string };

const DEFAULT_PORT = 514;
const LOCAL_SOCKET = '/dev/log';
const DAEMON = 3 << 3;
const SEVERITY: Readonly<Record<string, number>> = { error: 3, warn: 4, info: 6, debug: 7, trace: 7 };
/** RFC 5424 §6.1: receivers should take 2048; a longer line is cut. */
const MAXIMUM_BYTES = 2048;
/** Characters that wait in the pipe to `logger`. */
const PIPE_LIMIT = 1 << 20;
const RETRY_MS = 5000;
/** Without a loss it takes this long to be believed: of two datagrams to a port where nobody listens, the kernel refuses one. */
const CALM_MS = 1000;
const CLOSE_MS = 1000;

/** `host:port`, `host`, `[v6]:port`, the path of a socket, or '' for `/dev/log`. Throws on anything else. */
export function syslogTarget(destination: string): SyslogTarget {
  if (destination === '') return { kind: 'local', socket: LOCAL_SOCKET };
  if (destination.startsWith('/')) return { kind: 'local', socket: destination };
  if (isIPv6(destination)) return { kind: 'udp', host: destination, port: DEFAULT_PORT };
  const match = /^(?:\[([0-9a-fA-F:.%\w]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/.exec(destination);
  const port = Number(match?.[3] ?? DEFAULT_PORT);
  if (match === null || port < 1 || port > 65535)
    throw new Error(`log/destination: "${destination.slice(0, 64)}" is neither host:port nor the path of a socket`);
  return { kind: 'udp', host: match[1] ?? match[2] ?? '', port };
}

/** `<30>1 2026-11-30T17:40:00.000Z host zest 42 - - text` (RFC 5424 §6), at most 2048 octets, cut between characters. */
export function syslogMessage(record: Readonly<Record<string, unknown>>, text: string, host: string, pid: number): string {
  return cut(`<${priority(record)}>1 ${String(record['time'])} ${host} zest ${pid} - - ${text}`);
}

function priority(record: Readonly<Record<string, unknown>>): number {
  return DAEMON | (SEVERITY[String(record['level'])] ?? 6);
}

function cut(text: string): string {
  if (Buffer.byteLength(text) <= MAXIMUM_BYTES) return text;
  const bytes = Buffer.from(text).subarray(0, MAXIMUM_BYTES - 3);
  // A character that was cut in two is decoded as U+FFFD and left out.
  return `${bytes.toString('utf8').replace(/\ufffd+$/, '')}…`;
}

interface Channel {
  send(message: string): void;
  /** As though it had just been made, by who the process is now. */
  renew(): void;
  close(): Promise<void>;
}

/** What a channel tells its owner. */
interface Outcome {
  lost(reason: string): void;
  sent(): void;
  /** There will never be a way: lines go to stderr from now on. */
  impossible(reason: string): void;
}

export class SyslogSink implements LogSink {
  dropped = 0;
  readonly #format: 'json' | 'text';
  readonly #stderr: LogSink;
  readonly #local: boolean;
  readonly #channel: Channel;
  readonly #host = hostname().replaceAll(/[^\x21-\x7e]/g, '') || '-';
  #failing = '';
  #lostAt = 0;
  #useless = false;

  constructor(target: SyslogTarget, format: 'json' | 'text', stderr: LogSink) {
    this.#format = format;
    this.#stderr = stderr;
    this.#local = target.kind === 'local';
    const outcome: Outcome = {
      lost: (reason) => {
        this.dropped++;
        this.#lostAt = performance.now();
        if (this.#failing === reason) return;
        this.#failing = reason;
        this.#say('warn', 'syslog takes no lines', { reason });
      },
      sent: () => {
        if (this.#failing === '' || performance.now() - this.#lostAt < CALM_MS) return;
        this.#failing = '';
        this.#say('warn', 'syslog takes lines again', { dropped: this.dropped });
      },
      impossible: (reason) => {
        this.#useless = true;
        this.#say('error', 'there is no syslog, lines go to stderr', { reason });
      },
    };
    this.#channel = target.kind === 'udp' ? new UdpChannel(target, outcome) : new LoggerChannel(target.socket, outcome);
  }

  write(record: string): void {
    if (this.#useless) {
      this.#stderr.write(record);
      return;
    }
    const fields = JSON.parse(record) as Record<string, unknown>;
    const text = this.#format === 'json' ? record.trimEnd() : recordText(fields);
    this.#channel.send(this.#local ? cut(`<${priority(fields)}>${text}`) : syslogMessage(fields, text, this.#host, process.pid));
  }

  reopen(): string | undefined {
    if (!this.#useless) this.#channel.renew();
    return undefined;
  }

  flush(): void {
    this.#stderr.flush();
  }

  async close(): Promise<void> {
    await this.#channel.close();
    await this.#stderr.close();
  }

  #say(level: string, msg: string, fields: object): void {
    this.#stderr.write(`${JSON.stringify({ level, time: new Date().toISOString(), subsystem: 'log', msg, ...fields })}\n`);
  }
}

/** A connected UDP socket; the name is looked up when it is opened, and again after a failure. */
class UdpChannel implements Channel {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #outcome: Outcome;
  #socket: Socket | undefined;
  #connected = false;
  #waiting: string[] = [];
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(target: { readonly host: string; readonly port: number }, outcome: Outcome) {
    this.#target = target;
    this.#outcome = outcome;
    this.#open();
  }

  send(message: string): void {
    if (this.#closed) return;
    if (this.#connected) {
      this.#socket?.send(message, (error) => {
        // A refusal is that of an earlier datagram (ICMP): this one is lost too.
        if (error === null) this.#outcome.sent();
        else this.#outcome.lost(this.#reason(error));
      });
    } else if (this.#retry === undefined && this.#waiting.length < 1000) this.#waiting.push(message);
    else this.#outcome.lost(this.#reason(undefined));
  }

  renew(): void {
    // A socket serves whoever the process is.
  }

  close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    const socket = this.#socket;
    if (socket === undefined) return Promise.resolve();
    // What was sent is in the kernel a turn later.
    return new Promise((resolve) => setImmediate(() => socket.close(() => resolve())));
  }

  #open(): void {
    const { host, port } = this.#target;
    this.#retry = undefined;
    const socket = createSocket({ type: isIPv6(host.split('%')[0] ?? '') ? 'udp6' : 'udp4' });
    this.#socket = socket;
    socket.unref();
    socket.on('error', (error) => {
      if (this.#connected || this.#closed) {
        this.#outcome.lost(this.#reason(error));
        return;
      }
      socket.close();
      this.#socket = undefined;
      for (let i = 0; i < this.#waiting.length; i++) this.#outcome.lost(this.#reason(error));
      this.#waiting = [];
      this.#outcome.lost(this.#reason(error));
      this.#retry = setTimeout(() => this.#open(), RETRY_MS).unref();
    });
    socket.connect(port, host, () => {
      this.#connected = true;
      for (const message of this.#waiting.splice(0)) this.send(message);
    });
  }

  #reason(error: Error | undefined): string {
    const { host, port } = this.#target;
    return `${host} port ${port}: ${error === undefined ? 'not reached' : ((error as NodeJS.ErrnoException).code ?? error.message)}`;
  }
}

/** One `logger` for the daemon's life: it ends when its pipe does, so it never outlives the daemon. */
class LoggerChannel implements Channel {
  readonly #socket: string;
  readonly #outcome: Outcome;
  #child: ChildProcess | undefined;
  #retry: NodeJS.Timeout | undefined;
  #impossible = false;
  #closed = false;
  #stderr = '';

  constructor(socket: string, outcome: Outcome) {
    this.#socket = socket;
    this.#outcome = outcome;
    this.#start();
  }

  send(message: string): void {
    const pipe = this.#child?.stdin;
    if (this.#impossible || this.#closed) return;
    if (pipe === undefined || pipe === null || !pipe.writable) this.#outcome.lost(this.#reason('logger is being started again'));
    else if (pipe.writableLength > PIPE_LIMIT) this.#outcome.lost(this.#reason('logger does not read'));
    else pipe.write(`${message}\n`, (error) => (error == null ? this.#outcome.sent() : undefined));
  }

  renew(): void {
    if (this.#child === undefined || this.#impossible || this.#retry !== undefined) return;
    const old = this.#child;
    this.#child = undefined;
    old.stdin?.end();
    this.#start();
  }

  close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        child.kill('SIGKILL');
        resolve();
      }, CLOSE_MS);
      child.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      child.stdin?.end();
    });
  }

  #start(): void {
    this.#retry = undefined;
    this.#stderr = '';
    const args = ['--tag', 'zest', `--id=${process.pid}`, '--prio-prefix', '--socket', this.#socket, '--socket-errors=on'];
    const child = spawn('logger', [...args, '--size', String(2 * MAXIMUM_BYTES)], { stdio: ['pipe', 'ignore', 'pipe'] });
    this.#child = child;
    child.stdin.on('error', () => undefined);
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#stderr = (this.#stderr + text).slice(-500)));
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (this.#impossible || child.pid !== undefined) return;
      this.#impossible = true;
      this.#outcome.impossible(error.code === 'ENOENT' ? 'logger (util-linux) is not installed' : error.message);
    });
    child.on('close', () => {
      if (this.#impossible || this.#closed || this.#child !== child) return;
      this.#outcome.lost(this.#reason(this.#stderr.trim() || 'logger ended'));
      this.#retry = setTimeout(() => this.#start(), RETRY_MS).unref();
    });
  }

  #reason(text: string): string {
    return `${this.#socket}: ${text}`;
  }
}
