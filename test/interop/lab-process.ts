// `zest lab` as a process of its own: a third speaker whose every line is kept.
import { spawn, type ChildProcess } from 'node:child_process';
import { eventually, PROGRAM } from '../support/zest-process.ts';

/** The address of the loopback device that is neither Zest's nor the foreign daemon's (test/run.ts). */
export const LAB_ADDRESS = '192.0.2.3';
export const LAB_AS = 65_001;

export class LabProcess {
  readonly child: ChildProcess;
  #output = '';
  errors = '';

  constructor(...options: readonly string[]) {
    this.child = spawn(
      process.execPath,
      [PROGRAM, 'lab', '--as', String(LAB_AS), '--id', LAB_ADDRESS, '--json', '--print', 'count', ...options],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.errors += text));
  }

  /** Events of a kind so far, in order. */
  events(kind: string): readonly Readonly<Record<string, unknown>>[] {
    return this.#output
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
      .filter((event) => event['event'] === kind);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGTERM');
    await eventually('the lab speaker has ended', () =>
      this.child.exitCode === null && this.child.signalCode === null ? undefined : true,
    );
  }
}
