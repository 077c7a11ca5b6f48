/** Lines typed before, kept between shells: in the state directory, for the user alone. */
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolders } from '../../core/folders.ts';
import { setting, type Environment } from '../../core/control-socket.ts';

const DEFAULT_LINES = 100;
const MAXIMUM_LINES = 10_000;

export class History {
  readonly path: string | undefined;
  readonly limit: number;
  /** Newest first, as node:readline has it. */
  lines: string[];

  constructor(environment: Environment) {
    this.path = pathOf(environment);
    const wanted = Number(setting(environment, 'ze.cli.history') ?? DEFAULT_LINES);
    this.limit = Number.isInteger(wanted) && wanted >= 0 ? Math.min(wanted, MAXIMUM_LINES) : DEFAULT_LINES;
    this.lines = this.path === undefined ? [] : read(this.path, this.limit);
  }

  add(line: string): void {
    const text = line.trim();
    if (text === '' || this.lines[0] === text) return;
    this.lines = [text, ...this.lines].slice(0, this.limit);
  }

  /** Writes the lines; a folder that cannot be written costs the history and nothing else. */
  save(): void {
    if (this.path === undefined || this.limit === 0) return;
    try {
      makeFolders(dirname(this.path), 0o700);
      const aside = `${this.path}.${process.pid}`;
      writeFileSync(
        aside,
        [...this.lines]
          .reverse()
          .map((line) => `${line}\n`)
          .join(''),
        { mode: 0o600 },
      );
      chmodSync(aside, 0o600);
      renameSync(aside, this.path);
    } catch {
      // Nowhere to keep it.
    }
  }
}

function pathOf(environment: Environment): string | undefined {
  const folder = setting(environment, 'ze.state.dir');
  if (folder !== undefined && folder !== '') return join(folder, 'history');
  const state = environment['XDG_STATE_HOME'];
  if (state?.startsWith('/') === true) return join(state, 'zest', 'history');
  const home = environment['HOME'];
  return home?.startsWith('/') === true ? join(home, '.local', 'state', 'zest', 'history') : undefined;
}

function read(path: string, limit: number): string[] {
  try {
    const lines = readFileSync(path, 'utf8').split('\n');
    return lines
      .filter((line) => line !== '')
      .reverse()
      .slice(0, limit);
  } catch {
    return [];
  }
}
