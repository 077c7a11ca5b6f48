// Where log lines go: a stream of the process, a file, or syslog (./syslog.ts).
import { chownSync, closeSync, constants, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import pino from 'pino';
import { makeFolders } from '../core/folders.ts';
import { formatRecord } from '../core/log-text.ts';
import type { LogSink } from '../core/root-log.ts';
import { SyslogSink, syslogTarget } from './syslog.ts';

export interface SinkSettings {
  readonly backend: string;
  /** Of syslog: `host:port`, the path of a socket, or '' for the machine's own. */
  readonly destination: string;
  /** Path; '' = no file. A file takes the lines in place of stderr and stdout. */
  readonly file: string;
  /** `json` for machines, `text` for people. */
  readonly format: 'json' | 'text';
}

/** Bytes a sink may hold back when nobody reads it; beyond it records are dropped and counted. */
const SINK_LIMIT = 4 * 1024 * 1024;
const FILE_MODE = 0o640;

/** Throws when a file cannot be opened: an operator who wants the log there must know before it matters. */
export function openSink(settings: SinkSettings): LogSink {
  const { backend, destination, file, format } = settings;
  if (backend === 'syslog') return new SyslogSink(syslogTarget(destination), format, new StreamSink(2, 'text'));
  if (file !== '') return new FileSink(resolve(file), format);
  return new StreamSink(backend === 'stdout' || destination === 'stdout' ? 1 : 2, format);
}

type Destination = ReturnType<typeof pino.destination>;

/** A descriptor of the process. */
export class StreamSink implements LogSink {
  dropped = 0;
  readonly #format: 'json' | 'text';
  protected readonly stream: Destination;

  constructor(where: number | string, format: 'json' | 'text') {
    this.#format = format;
    this.stream = pino.destination({ dest: where, sync: false, maxLength: SINK_LIMIT, mode: FILE_MODE });
    this.stream.on('drop', () => this.dropped++);
    this.stream.on('error', () => this.dropped++);
  }

  write(record: string): void {
    this.stream.write(this.#format === 'json' ? record : formatRecord(record));
  }

  reopen(): string | undefined {
    return undefined;
  }

  flush(): void {
    try {
      this.stream.flushSync();
    } catch {
      // A stream that is gone takes nothing more.
    }
  }

  close(): Promise<void> {
    this.flush();
    return Promise.resolve();
  }
}

export class FileSink extends StreamSink {
  readonly path: string;

  constructor(path: string, format: 'json' | 'text') {
    makeFolders(dirname(path));
    tryOpening(path);
    super(path, format);
    this.path = path;
  }

  override reopen(): string | undefined {
    try {
      tryOpening(this.path);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
    this.flush();
    this.stream.reopen(this.path);
    return undefined;
  }

  /** To the user the daemon becomes. */
  giveTo(uid: number, gid: number): void {
    chownSync(this.path, uid, gid);
  }
}

/** A pipe that nobody reads is a fault: to wait for its reader would hold the daemon. */
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOCTTY;

function tryOpening(path: string): void {
  try {
    closeSync(openSync(path, APPEND, FILE_MODE));
  } catch (error) {
    throw new Error(`the log file ${path} cannot be opened (${(error as NodeJS.ErrnoException).code ?? String(error)})`, {
      cause: error,
    });
  }
}
