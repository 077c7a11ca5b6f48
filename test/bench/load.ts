// The load generator beside the project: one run of it is one JSON line. It is used where it is, never copied; where it is absent the bench
// says so and stops.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { sharedData } from '../support/shared-data.ts';
import { PROGRAM, VERSION } from './program.ts';

export const generator = sharedData('bench', 'run.sh');

/** What the generator says of a run; numbers by name, `error` when it failed. */
export type Measured = Readonly<Record<string, number | string>>;

/** Programs of the daemons the generator can drive, to see which are here. */
const PROGRAMS: Readonly<Record<string, string>> = { bird2: 'bird', exabgp: 'exabgp' };

export function installed(daemon: string): boolean {
  const program = PROGRAMS[daemon];
  if (program === undefined) return false;
  return spawnSync('sh', ['-c', `PATH=$PATH:/usr/sbin command -v ${program}`]).status === 0;
}

export interface LoadRun {
  readonly daemon: string;
  readonly mode: string;
  readonly n: number;
  /** More options of the generator. */
  readonly options?: readonly string[];
  /** Of our own daemon: its configuration template. */
  readonly config?: string;
}

/** The daemon's command line: it lives in the generator's scratch folder and takes nothing from the machine's state. */
const COMMAND = [
  'ze_control_socket="$WORK/control.sock" ze_state_dir="$WORK/state"',
  'bench_routes="$N" bench_done="$WORK/done"',
  `exec ${JSON.stringify(process.execPath)} ${JSON.stringify(PROGRAM)} "$CONF"`,
].join(' ');

/** Runs once. Resolves to the line with `load` (the machine's load average before) and `at` added; rejects when there is none. */
export function measure(run: LoadRun): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'zest-bench-'));
  const template = join(folder, 'zest.conf');
  const own = run.config !== undefined;
  if (own) writeFileSync(template, run.config);
  const [load = 0] = loadavg();
  const environment = own ? { DUT_NAME: 'zest', DUT_VERSION: VERSION, DUT_CMD: COMMAND, DUT_CONF: template } : {};
  const words = [generator.path, own ? 'custom' : run.daemon, run.mode, String(run.n), ...(run.options ?? [])];
  return new Promise((resolve, reject) => {
    const child = spawn('bash', words, { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4000)));
    child.on('error', reject);
    child.on('close', () => {
      rmSync(folder, { recursive: true, force: true });
      const line = out.trim().split('\n').at(-1) ?? '';
      try {
        resolve({ ...(JSON.parse(line) as Measured), load: Math.round(load * 100) / 100, at: new Date().toISOString() });
      } catch {
        reject(new Error(`the load generator gave no result: ${errors.trim()}`));
      }
    });
  });
}
