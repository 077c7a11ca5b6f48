// The one root logger: pino behind the `Log` the rooms know, a level per subsystem that may change while the daemon runs, and a ring of
// the last records for `log recent`.
import pino from 'pino';
import type { Log } from './log.ts';
import { Scrubber } from './scrub.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'disabled'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogSettings {
  readonly level: LogLevel;
  /** `bgp.session` → level; a subsystem without an entry takes its parent's (`bgp`), then `level`. */
  readonly subsystems: Readonly<Record<string, LogLevel>>;
}

/** Where records go. Never throws, never makes its caller wait: what it cannot take is dropped and counted. */
export interface LogSink {
  /** One record: a line of JSON with its newline. */
  write(record: string): void;
  /** Writes out what is held; for the end of the process. */
  flush(): void;
  /** Opens its file anew, for whoever has moved it away. Says why it could not; lines then still go where they went. */
  reopen(): string | undefined;
  /** Nothing is written any more. */
  close(): Promise<void>;
  /** Records that were not taken. */
  readonly dropped: number;
}

export interface RecentRecord {
  /** ms since the epoch */
  readonly at: number;
  readonly level: LogLevel;
  readonly subsystem: string;
  readonly message: string;
  readonly fields: object;
}

/** Of threads that have not logged yet. */
const SUBSYSTEMS = [
  'bgp.reactor',
  'bgp.report',
  'bgp.filter',
  'bgp.open',
  'bus',
  'command.door',
  'config',
  'daemon',
  'plugin.stage',
];
const RECENT_LIMIT = 1000;

export class RootLog {
  readonly sink: LogSink;
  /** What no record shows. */
  readonly scrubber = new Scrubber();
  readonly #pino: pino.Logger;
  readonly #recent: RecentRecord[] = [];
  /** Every subsystem that has asked for its log. */
  readonly #known = new Set<string>();
  #levels = new Map<string, LogLevel>();
  #default: LogLevel;
  /** Changes whenever a level does, so that children look theirs up again. */
  generation = 0;

  constructor(settings: LogSettings, sink: LogSink) {
    this.#default = settings.level;
    this.#levels = new Map(Object.entries(settings.subsystems));
    this.sink = sink;
    this.#pino = pino(
      {
        level: 'trace',
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
        redact: { paths: ['secret', 'token', 'password', '*.secret', '*.token', '*.password'], censor: '(secret)' },
      },
      { write: (line: string) => sink.write(this.scrubber.text(line)) },
    );
  }

  /** A log for one subsystem. */
  log(subsystem: string): Log {
    this.#known.add(subsystem);
    return new SubsystemLog(this, this.#pino.child({ subsystem }), subsystem);
  }

  /** One record of level info whatever the levels say, unless logging is switched off altogether: what an operator waits for. */
  announce(subsystem: string, fields: object, message: string): void {
    if (this.threshold(subsystem) >= LOG_LEVELS.indexOf('disabled')) return;
    this.remember({ at: Date.now(), level: 'info', subsystem, message, fields });
    this.#pino.child({ subsystem }).info(fields, message);
  }

  configure(level: LogLevel, subsystems: Readonly<Record<string, LogLevel>>): void {
    this.#default = level;
    this.#levels = new Map(Object.entries(subsystems));
    this.generation++;
  }

  /** `default` is the level of every subsystem without one. */
  set(subsystem: string, level: LogLevel): void {
    if (subsystem === 'default') this.#default = level;
    else this.#levels.set(subsystem, level);
    this.generation++;
  }

  /** Names a level can be set for: `default`, subsystems, and what they begin with (`bgp` of `bgp.session`). */
  subsystems(): readonly string[] {
    const names = new Set(['default', ...SUBSYSTEMS]);
    for (const name of [...SUBSYSTEMS, ...this.#known, ...this.#levels.keys()])
      for (let at = name; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) names.add(at);
    return [...names].sort();
  }

  levels(): Readonly<Record<string, LogLevel>> {
    return { default: this.#default, ...Object.fromEntries(this.#levels) };
  }

  /** Index into LOG_LEVELS: records below are not written. */
  threshold(subsystem: string): number {
    for (let name = subsystem; name !== ''; name = name.slice(0, Math.max(0, name.lastIndexOf('.')))) {
      const level = this.#levels.get(name);
      if (level !== undefined) return LOG_LEVELS.indexOf(level);
    }
    return LOG_LEVELS.indexOf(this.#default);
  }

  remember(record: RecentRecord): void {
    this.#recent.push(record);
    if (this.#recent.length > RECENT_LIMIT) this.#recent.shift();
  }

  /** The newest last. */
  recent(): readonly RecentRecord[] {
    return this.#recent.map((record) => this.scrubber.value(record));
  }

  /** Writes out what is held; for the end of the process. */
  flush(): void {
    this.sink.flush();
  }
}

class SubsystemLog implements Log {
  readonly #root: RootLog;
  readonly #pino: pino.Logger;
  readonly #subsystem: string;
  #generation = -1;
  #threshold = 0;

  constructor(root: RootLog, logger: pino.Logger, subsystem: string) {
    this.#root = root;
    this.#pino = logger;
    this.#subsystem = subsystem;
  }

  error(fields: object, message: string): void {
    this.#write('error', 4, fields, message);
  }

  warn(fields: object, message: string): void {
    this.#write('warn', 3, fields, message);
  }

  info(fields: object, message: string): void {
    this.#write('info', 2, fields, message);
  }

  debug(fields: object, message: string): void {
    this.#write('debug', 1, fields, message);
  }

  trace(fields: object, message: string): void {
    this.#write('trace', 0, fields, message);
  }

  child(bindings: Readonly<Record<string, unknown>>): Log {
    const named = bindings['subsystem'];
    if (typeof named !== 'string') return new SubsystemLog(this.#root, this.#pino.child(bindings), this.#subsystem);
    const rest = Object.entries(bindings).filter(([key]) => key !== 'subsystem');
    const log = this.#root.log(named);
    return rest.length === 0 ? log : log.child(Object.fromEntries(rest));
  }

  get debugEnabled(): boolean {
    return this.#limit() <= 1;
  }

  #limit(): number {
    if (this.#generation !== this.#root.generation) {
      this.#generation = this.#root.generation;
      this.#threshold = this.#root.threshold(this.#subsystem);
    }
    return this.#threshold;
  }

  #write(level: LogLevel & keyof Log, rank: number, fields: object, message: string): void {
    if (rank < this.#limit()) return;
    this.#root.remember({ at: Date.now(), level, subsystem: this.#subsystem, message, fields });
    this.#pino[level as 'info'](fields, message);
  }
}
