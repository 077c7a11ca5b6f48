// What the configuration in force says that the daemon reads only when it starts: named in the answer of the change that brought it, in the
// log, and in the warnings for as long as a start is due.
import type { Report } from '../bgp/port.ts';
import { type RestartChanges, restartChanges } from '../config/diff.ts';
import type { RunningConfig } from '../config/running.ts';
import type { Log } from '../core/log.ts';
import type { ConfigInForce } from './config-in-force.ts';

const CODE = 'config-restart';
/** Statements that the warning names. */
const NAMED = 20;

export interface RestartParts {
  readonly configs: ConfigInForce;
  readonly log: Log;
  readonly report: (report: Report) => void;
}

export class RestartNeeds {
  readonly #parts: RestartParts;
  /** What the warning says now; '' = there is none. */
  #said = '';

  constructor(parts: RestartParts) {
    this.#parts = parts;
  }

  /** The change is in force: a line for each of its statements that is not, and a warning while any is left. */
  changed(before: RunningConfig, after: RunningConfig): readonly string[] {
    const { configs, log } = this.#parts;
    const now = restartChanges(before, after);
    const due = new Set(restartChanges(configs.started, after).restart);
    const waiting = now.restart.filter((path) => due.has(path));
    if (waiting.length > 0) log.warn({ statements: waiting }, 'changed settings take effect when the daemon is started again');
    this.#warn([...due]);
    return restartLines({ ...now, restart: waiting });
  }

  #warn(due: readonly string[]): void {
    const more = due.length > NAMED ? ` and ${due.length - NAMED} more` : '';
    const message = due.length === 0 ? '' : `the daemon was started with another ${due.slice(0, NAMED).join(', ')}${more}`;
    if (message === this.#said) return;
    this.#said = message;
    const warning = { severity: 'warning', code: CODE, source: 'config', subject: 'environment' } as const;
    this.#parts.report(message === '' ? { ...warning, message, clear: true } : { ...warning, message });
  }
}

export function restartLines({ restart, overridden }: RestartChanges): readonly string[] {
  return [
    ...restart.map((path) => `${path} takes effect when the daemon is started again`),
    ...overridden.map(({ path, setting }) => `${path} has no effect: ${setting} is set by the environment or an option`),
  ];
}
