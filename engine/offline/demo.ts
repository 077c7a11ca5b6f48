// `npm run demo`: the quick start played through by a script that checks each step as it goes. Everything is asked through the
// command line, as a person would.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Ensemble, type Part, type Self } from './ensemble.ts';
import { QUICKSTART_CONFIG, QUICKSTART_ROUTES, readyOrGone } from './quickstart.ts';

export interface DemoOptions {
  readonly self: Self;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly write: (text: string) => void;
  /** Print the lines of the external plugin's wire. */
  readonly trace: boolean;
}

export const DEMO_HELP = `zest demo — plays the quick start through and checks every step; under a minute, exit code 0 when all pass

  zest demo              names each step as it passes
  zest demo --trace      also prints the lines that cross the external plugin's connection during its five stages
`;

const STAGES = ['declare-registration', 'configure', 'declare-capabilities', 'share-registry', 'ready'] as const;

export async function runDemo(options: DemoOptions): Promise<number> {
  const demo = new Demo(options);
  return demo.run();
}

interface StageLine {
  readonly plugin: string;
  readonly direction: string;
  readonly line: string;
}

class Demo {
  readonly #options: DemoOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), 'zest-demo-'));
  readonly #socket = join(this.#folder, 'control.sock');
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #stageLines: StageLine[] = [];
  readonly #log: string[] = [];
  #passed = 0;
  #failed = 0;

  constructor(options: DemoOptions) {
    this.#options = options;
    this.#environment = {
      ...options.environment,
      ze_control_socket: this.#socket,
      ze_ready_file: join(this.#folder, 'ready'),
      ze_state_dir: join(this.#folder, 'state'),
      ze_log_format: 'json',
      'ze.log.plugin.stage': 'trace',
    };
  }

  async run(): Promise<number> {
    const ensemble = await Ensemble.start(
      {
        self: this.#options.self,
        config: QUICKSTART_CONFIG,
        routes: QUICKSTART_ROUTES,
        environment: this.#environment,
        log: (line) => this.#daemonLine(line),
      },
      0,
    );
    try {
      await this.#play(ensemble);
    } finally {
      await ensemble.stop();
      rmSync(this.#folder, { recursive: true, force: true });
    }
    const total = this.#passed + this.#failed;
    if (this.#failed > 0)
      this.#options.write(
        `\nlast lines of the log:\n${this.#log
          .slice(-15)
          .map((line) => cut(line, 300))
          .join('\n')}\n`,
      );
    this.#options.write(`demo: ${this.#passed} of ${total} steps passed\n`);
    return this.#failed === 0 ? 0 : 1;
  }

  async #play(ensemble: Ensemble): Promise<void> {
    await this.#step('the daemon starts and says it is ready', () => readyOrGone(ensemble, join(this.#folder, 'ready')));
    await this.#step('the external plugin goes through its five stages', () => this.#fiveStages('watch'));

    const right = ensemble.speaker('right', '127.0.0.3', 65002, ['--print', 'json']);
    const left = ensemble.speaker('left', '127.0.0.2', 65001, ['--announce', String(QUICKSTART_ROUTES), '--print', 'count']);
    await this.#step('two speakers establish sessions', async () => {
      await Promise.all([left, right].map((part) => part.until('a session', (it) => it.seen.get('up'), 10_000)));
    });
    await this.#step(`${QUICKSTART_ROUTES} routes flow from left through the daemon to right`, () =>
      right.until(
        `${QUICKSTART_ROUTES} routes`,
        (part) => (Number(part.seen.get('received')?.['routes'] ?? 0) >= QUICKSTART_ROUTES ? '' : undefined),
        15_000,
      ),
    );
    await this.#step('summary shows both peers established', async () => {
      this.#show(await this.#cli(['summary']));
      expect((await this.#established()) === 2, 'two established peers');
    });
    await this.#step('the RIB holds the routes and says why one is best', async () => {
      const status = await this.#json(['rib', 'status']);
      expect(Number(status['routes-in']) >= QUICKSTART_ROUTES, `routes-in ${String(status['routes-in'])}`);
      this.#show(await this.#cli(['rib', 'best', 'prefix', '10.0.0.0', 'reason']));
    });
    await this.#step('a record answer of 1000 rows streams from the external plugin', async () => {
      const answer = await this.#json(['watch', 'rows', '1000']);
      const rows = rowsOf(answer);
      expect(rows.length === 1000, `1000 rows, not ${rows.length}`);
      this.#show(`${JSON.stringify(rows[0])}\n${JSON.stringify(rows[999])}\n`);
    });
    await this.#step('a route announced by command arrives at right', async () => {
      this.#show(
        await this.#cli([
          'peer',
          'right',
          'update',
          'text',
          'next-hop',
          '192.0.2.7',
          'nlri',
          'ipv4/unicast',
          'add',
          '203.0.113.0/24',
        ]),
      );
      this.#show(JSON.stringify(await right.until('203.0.113.0/24', (part) => part.seen.get('announce 203.0.113.0/24'), 5000)));
    });
    await this.#step('a route announced by the external plugin arrives at right', async () => {
      await this.#cli(['watch', 'announce', '198.51.100.0/24']);
      this.#show(JSON.stringify(await right.until('198.51.100.0/24', (part) => part.seen.get('announce 198.51.100.0/24'), 5000)));
    });
    await this.#step('a withdraw arrives at right', async () => {
      await this.#cli(['peer', 'right', 'update', 'text', 'nlri', 'ipv4/unicast', 'del', '203.0.113.0/24']);
      await right.until('the withdraw', (part) => part.seen.get('withdraw 203.0.113.0/24'), 5000);
    });
    await this.#step('the external plugin is killed and restarted by its policy; sessions stay up', () => this.#killAndRestart());
    await this.#step('a clean stop: Cease at both speakers, exit code 0', () => this.#cleanStop(ensemble, left, right));
  }

  async #killAndRestart(): Promise<void> {
    const before = await this.#plugin('watch');
    const pid = Number(before['pid']);
    expect(pid > 0, `a process id in plugin list, not ${String(before['pid'])}`);
    process.kill(pid, 'SIGKILL');
    const deadline = performance.now() + 10_000;
    for (;;) {
      const now = await this.#plugin('watch');
      if (Number(now['pid']) > 0 && Number(now['pid']) !== pid && now['state'] === 'running') {
        expect(Number(now['restarts']) === 1, `one restart, not ${String(now['restarts'])}`);
        break;
      }
      expect(performance.now() < deadline, `the plugin back within 10 s, but it is ${JSON.stringify(now)}`);
      await wait(100);
    }
    expect((await this.#established()) === 2, 'both sessions still established');
    this.#show(await this.#cli(['plugin', 'list']));
    await this.#cli(['watch', 'status']);
  }

  async #cleanStop(ensemble: Ensemble, left: Part, right: Part): Promise<void> {
    const code = await ensemble.daemon.stop(8000);
    expect(code === 0, `exit code 0, not ${code}`);
    for (const part of [left, right]) {
      const down = await part.until('the end of its session', (it) => it.seen.get('down'), 5000);
      expect(/cease/i.test(String(down['reason'])), `a Cease at ${part.name}, not ${String(down['reason'])}`);
    }
  }

  async #fiveStages(plugin: string): Promise<void> {
    const deadline = performance.now() + 5000;
    const seen = (): string[] =>
      STAGES.filter((stage) => this.#stageLines.some((it) => it.plugin === plugin && it.line.includes(`:${stage}`)));
    while (seen().length < STAGES.length && performance.now() < deadline) await wait(25);
    const passed = seen();
    for (const [index, stage] of STAGES.entries())
      if (passed.includes(stage)) this.#options.write(`      stage ${index + 1}  ${stage}\n`);
    expect(passed.length === STAGES.length, `five stages, not only: ${passed.join(', ')}`);
    if (!this.#options.trace) return;
    for (const { direction, line } of this.#stageLines.filter((it) => it.plugin === plugin)) {
      this.#options.write(`      ${direction === 'received' ? 'plugin → engine' : 'engine → plugin'}  ${cut(line, 1000)}\n`);
    }
  }

  async #plugin(name: string): Promise<Readonly<Record<string, unknown>>> {
    const row = rowsOf(await this.#json(['plugin', 'list'])).find((it) => it['name'] === name);
    expect(row !== undefined, `a plugin ${name} in plugin list`);
    return row ?? {};
  }

  async #established(): Promise<number> {
    const answer = await this.#json(['summary']);
    const summary = (answer['summary'] ?? answer) as Readonly<Record<string, unknown>>;
    return Number(summary['peers-established']);
  }

  async #step(name: string, action: () => Promise<unknown>): Promise<void> {
    const number = this.#passed + this.#failed + 1;
    const started = performance.now();
    try {
      await action();
      this.#passed++;
      this.#options.write(
        `${String(number).padStart(2)} ok   ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)\n`,
      );
    } catch (error) {
      this.#failed++;
      this.#options.write(
        `${String(number).padStart(2)} FAIL ${name}: ${error instanceof Error ? error.message : String(error)}\n`,
      );
    }
  }

  #show(text: string): void {
    for (const line of text.trimEnd().split('\n')) this.#options.write(`      ${line}\n`);
  }

  #daemonLine(line: string): void {
    this.#log.push(line);
    if (this.#log.length > 500) this.#log.shift();
    const json = line.slice(line.indexOf('{'));
    try {
      const record = JSON.parse(json) as Record<string, unknown>;
      if (record['subsystem'] === 'plugin.stage' && typeof record['line'] === 'string') {
        this.#stageLines.push({ plugin: String(record['plugin']), direction: String(record['direction']), line: record['line'] });
      }
    } catch {
      // A line for people: kept for the report of a failure.
    }
  }

  async #json(words: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    return JSON.parse(await this.#cli([...words, '--json'])) as Readonly<Record<string, unknown>>;
  }

  /** Runs this program's command line against the daemon; rejects with its error text when it fails. */
  #cli(words: readonly string[]): Promise<string> {
    const [command, ...args] = this.#options.self;
    return new Promise((resolve, reject) => {
      const child = spawn(command, [...args, ...words, '--socket', this.#socket], {
        env: { ...this.#environment, NO_COLOR: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let out = '';
      let err = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
      child.on('error', reject);
      child.on('close', (code) => {
        if (code === 0) resolve(out);
        else reject(new Error(`zest ${words.join(' ')} ended with ${String(code)}: ${(err || out).trim()}`));
      });
    });
  }
}

function rowsOf(answer: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (Array.isArray(answer)) return answer as readonly Readonly<Record<string, unknown>>[];
  const lists = Object.values(answer as Readonly<Record<string, unknown>>).filter((value) => Array.isArray(value));
  return (lists[0] ?? []) as readonly Readonly<Record<string, unknown>>[];
}

/** A long line is shown by its beginning and its length. */
function cut(line: string, most: number): string {
  return line.length <= most ? line : `${line.slice(0, most)}… (${Buffer.byteLength(line)} bytes)`;
}

function expect(condition: boolean, what: string): void {
  if (!condition) throw new Error(`expected ${what}`);
}
