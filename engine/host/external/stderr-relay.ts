/**
 * An external plugin's stderr becomes lines of the daemon's log (plugin-wire §11). Structured lines keep their level, others
 * are warnings; `panic:` and `fatal error:` are errors whatever they say of themselves. Lines are cut, and a plugin that
 * writes more than the log can bear is counted instead.
 */
import { StringDecoder } from 'node:string_decoder';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';

export type Level = 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** From silent to everything: `ze.log.relay`. */
export const RELAY_LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type RelayLevel = (typeof RELAY_LEVELS)[number];

/** Characters of a line that are kept. */
const MAX_LINE = 4096;
/** Lines a second; what comes on top is counted and said once. */
const MAX_RATE = 200;

const WORDS: Readonly<Record<string, Level>> = {
  fatal: 'error',
  panic: 'error',
  error: 'error',
  err: 'error',
  warn: 'warn',
  warning: 'warn',
  info: 'info',
  notice: 'info',
  debug: 'debug',
  trace: 'trace',
};
/** pino's numbers. */
const NUMBERS: Readonly<Record<number, Level>> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'error' };

/** The level a line states: JSON with `level`, or `level=…` pairs; `undefined` for plain text. */
export function levelOf(line: string): Level | undefined {
  if (/(?:^|\s)(?:panic|fatal error):/.test(line)) return 'error';
  if (line.startsWith('{')) {
    const found = /"level"\s*:\s*(?:"([a-zA-Z]+)"|(\d{2}))/.exec(line);
    if (found === null) return undefined;
    return found[1] === undefined ? NUMBERS[Number(found[2])] : WORDS[found[1].toLowerCase()];
  }
  const pair = /(?:^|\s)level=("?)([a-zA-Z]+)\1(?=$|[\s+-])/.exec(line);
  return pair === null ? undefined : WORDS[(pair[2] ?? '').toLowerCase()];
}

export class StderrRelay {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #ceiling: number;
  readonly #decoder = new StringDecoder('utf8');
  #line = '';
  #cut = false;
  #windowAt = 0;
  #inWindow = 0;
  #unsaid = 0;

  /** `log` names the plugin already. */
  constructor(log: Log, clock: Clock, level: RelayLevel) {
    this.#log = log;
    this.#clock = clock;
    this.#ceiling = RELAY_LEVELS.indexOf(level);
  }

  push(bytes: Buffer): void {
    if (this.#ceiling === 0) return;
    let rest = this.#decoder.write(bytes);
    for (;;) {
      const end = rest.indexOf('\n');
      this.#gather(end < 0 ? rest : rest.slice(0, end));
      if (end < 0) return;
      this.#emit();
      rest = rest.slice(end + 1);
    }
  }

  /** The stream has ended: a last line without its newline is a line too. */
  end(): void {
    this.#gather(this.#decoder.end());
    if (this.#line !== '') this.#emit();
    this.#sayUnsaid();
  }

  #gather(text: string): void {
    const room = MAX_LINE - this.#line.length;
    if (text.length > room) this.#cut = true;
    this.#line += text.slice(0, room);
  }

  #emit(): void {
    const line = this.#line.endsWith('\r') ? this.#line.slice(0, -1) : this.#line;
    const cut = this.#cut;
    this.#line = '';
    this.#cut = false;
    if (line.trim() === '') return;
    const level = levelOf(line) ?? 'warn';
    if (RELAY_LEVELS.indexOf(level) > this.#ceiling || !this.#admit()) return;
    this.#log[level](cut ? { line, cut } : { line }, 'plugin stderr');
  }

  #admit(): boolean {
    const now = this.#clock.now();
    if (now - this.#windowAt >= 1000) {
      this.#windowAt = now;
      this.#inWindow = 0;
      this.#sayUnsaid();
    }
    this.#inWindow++;
    if (this.#inWindow <= MAX_RATE) return true;
    this.#unsaid++;
    return false;
  }

  #sayUnsaid(): void {
    if (this.#unsaid > 0) this.#log.warn({ lines: this.#unsaid, 'per-second': MAX_RATE }, 'plugin stderr lines left out');
    this.#unsaid = 0;
  }
}
