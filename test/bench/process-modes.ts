// What concerns the processes more than the routes: how fast they start, whether memory stays flat, how long a collection stops a thread.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Measured } from './load.ts';
import { memoryKb } from './memory.ts';
import type { Measure, Mode } from './modes.ts';
import { among, type Crowd, filled, type Running, startZest } from './own-modes.ts';
import { PROGRAM, ROOT, VERSION } from './program.ts';
import { median } from './results.ts';

/** All that are built in. */
const BUILT_IN = [
  'bgp-rib',
  'bgp-rs',
  'bgp-adj-rib-in',
  'bgp-route-refresh',
  'bgp-role',
  'bgp-filter-aspath',
  'bgp-filter-community',
  'bgp-filter-community-match',
  'bgp-filter-modify',
  'bgp-filter-prefix',
] as const;
const TIMES = 11;
const ROUNDS = 20;
const READY_MS = 20_000;

interface Started extends Running {
  readonly child: ChildProcess;
  readonly environment: NodeJS.ProcessEnv;
  /** From the start of the process until its ready file was there. */
  readonly seconds: number;
  readonly output: () => string;
}

/** The daemon as a process of its own, with options of Node's in front. */
async function launch(config: string, folder: string, flags: readonly string[] = []): Promise<Started> {
  const ready = join(folder, 'ready');
  rmSync(ready, { force: true });
  writeFileSync(join(folder, 'zest.conf'), config);
  const environment = {
    ...process.env,
    ze_control_socket: join(folder, 'control.sock'),
    ze_state_dir: join(folder, 'state'),
    ze_ready_file: ready,
  };
  const began = performance.now();
  const child = spawn(process.execPath, [...flags, PROGRAM, join(folder, 'zest.conf')], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  };
  while (!existsSync(ready)) {
    if (child.exitCode !== null || performance.now() - began > READY_MS) {
      await stop();
      throw new Error(`the daemon did not start: ${output.slice(-2000)}`);
    }
    await wait(2);
  }
  return { child, environment, pid: child.pid ?? 0, seconds: (performance.now() - began) / 1000, output: () => output, stop };
}

async function inFolder(work: (folder: string) => Promise<Record<string, number>>): Promise<Measured> {
  const [load = 0] = loadavg();
  const folder = mkdtempSync(join(tmpdir(), 'zest-bench-'));
  try {
    const values = await work(folder);
    return { ...values, version: VERSION, load: Math.round(load * 100) / 100, at: new Date().toISOString() };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const config = (plugins: string): string =>
  `environment { log { level warn; } }\nplugin {\n${plugins}\n}\nbgp { router-id 10.0.0.1; session { asn { local 65000; } } }\n`;

async function started(folder: string, plugins: string): Promise<Record<string, number>> {
  const daemon = await launch(config(plugins), folder);
  await wait(1000);
  const resident = memoryKb(daemon.pid).resident;
  await daemon.stop();
  return { time_s: daemon.seconds, rss_kb: resident };
}

/** Modules of an in-process plugin each, which does nothing: what is timed is the host. */
function modules(count: number): string {
  const home = join(ROOT, '.tsbuild/bench/many');
  mkdirSync(home, { recursive: true });
  return Array.from({ length: count }, (_, i) => {
    const file = join(home, `p${i}.js`);
    writeFileSync(
      file,
      `import { definePlugin } from 'zest-bgp/sdk';\nexport default definePlugin({ name: 'p${i}', setup() {} });\n`,
    );
    return `    external p${i} { use ${file}; }`;
  }).join('\n');
}

/** Milliseconds of a process from its start to its end. */
function timed(words: readonly string[], environment: NodeJS.ProcessEnv): number {
  const began = performance.now();
  const { status, stderr } = spawnSync(process.execPath, words, { env: environment, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${words.join(' ')}: ${stderr}`);
  return performance.now() - began;
}

async function summary(folder: string): Promise<Record<string, number>> {
  const daemon = await launch(config('    external rib { use bgp-rib; }'), folder);
  try {
    const [bare, whole]: [number[], number[]] = [[], []];
    for (let i = 0; i < TIMES; i++) {
      bare.push(timed(['-e', '0'], daemon.environment));
      whole.push(timed([PROGRAM, 'summary'], daemon.environment));
    }
    const [without = 0, with_ = 0] = [median(bare), median(whole)];
    return { bare_ms: without, whole_ms: with_, over_bare_ms: with_ - without };
  } finally {
    await daemon.stop();
  }
}

/** `Scavenge 12.3 (20.2) -> 11.4 (20.2) MB, 0.53 / 0.00 ms` and its kin: the milliseconds the thread stood still. */
export function pausesIn(trace: string): readonly number[] {
  return [
    ...trace.matchAll(/(?:Scavenge|Mark-Compact)[^\n]*? MB, ([\d.]+) \/ [\d.]+ ms(?:[^\n]*?biggest step ([\d.]+) ms)?/g),
  ].map(([, pause, step]) => Math.max(Number(pause), Number(step ?? 0)));
}

export function processModes(folder: string): readonly Mode[] {
  const zest = (run: (n: number) => Promise<Measured>): Mode['contestants'] => [{ daemon: 'zest', absent: undefined, run }];
  const seconds = (title: string, target: number, goal: number): Measure => ({
    field: 'time_s',
    title,
    unit: 's',
    better: 'less',
    target,
    goal,
  });
  const cycling = (n: number): Crowd => ({ receivers: 1, prefixes: n, rounds: ROUNDS });
  const full = (n: number): Crowd => ({ receivers: 1, prefixes: n });
  return [
    {
      name: 'start',
      what: 'from the start of the process until the daemon is ready, with the first N built-in plugins',
      sizes: [BUILT_IN.length],
      contestants: zest((n) =>
        inFolder((home) =>
          started(
            home,
            BUILT_IN.slice(0, n)
              .map((name) => `    external ${name} { use ${name}; }`)
              .join('\n'),
          ),
        ),
      ),
      measures: [
        seconds('daemon ready with N built-in plugins', 1.5, 1.5),
        { field: 'rss_kb', title: 'the same, resident a second later', unit: 'MB', better: 'less' },
      ],
    },
    {
      name: 'plugins-100',
      what: 'the same with N in-process plugins of others, each through its five stages',
      sizes: [100],
      contestants: zest((n) => inFolder((home) => started(home, modules(n)))),
      measures: [seconds('daemon ready with N in-process plugins', 1, 1)],
    },
    {
      name: 'summary',
      what: `zest summary, the whole process, over bare node: medians of ${TIMES}`,
      sizes: [1],
      contestants: zest(() => inFolder(summary)),
      measures: [
        { field: 'over_bare_ms', title: 'zest summary over node -e 0', unit: 'ms', better: 'less', target: 100, goal: 100 },
      ],
    },
    {
      name: 'cycles',
      what: `a table of N out and in ${ROUNDS} times: memory after each`,
      sizes: [500_000],
      contestants: zest((n) =>
        among(
          (port) => startZest(port, 1, {}),
          folder,
          cycling(n),
          async (crowd, daemon) => {
            await crowd.next();
            const resident: number[] = [];
            for (let round = 1; round <= ROUNDS; round++) {
              await crowd.next();
              resident.push(memoryKb(daemon.pid).resident);
            }
            process.stderr.write(
              `cycles: resident after each, MB: ${resident.map((kb) => ((kb * 1024) / 1e6).toFixed(1)).join(' ')}\n`,
            );
            const [, second = 0, ...later] = resident;
            return { second_kb: second, most_kb: Math.max(...later), growth_percent: (Math.max(...later) / second - 1) * 100 };
          },
        ),
      ),
      measures: [
        {
          field: 'growth_percent',
          title: 'memory of 20 cycles, over the second',
          unit: '%',
          better: 'less',
          target: 5,
          goal: 5,
        },
        { field: 'most_kb', title: 'the same, most resident after a cycle', unit: 'MB', better: 'less' },
      ],
    },
    {
      name: 'gc',
      what: 'a table of N forwarded and withdrawn under --trace-gc: the longest stop of either thread',
      sizes: [1_000_000],
      contestants: zest((n) => {
        const home = mkdtempSync(join(tmpdir(), 'zest-bench-'));
        let daemon: Started | undefined;
        return among(
          async (port) => (daemon = await launch(filled({}, port, 1), home, ['--trace-gc'])),
          folder,
          full(n),
          async (crowd) => {
            await crowd.next();
            const before = pausesIn(daemon?.output() ?? '').length;
            const { time_s = 0 } = await crowd.next();
            const pauses = pausesIn(daemon?.output() ?? '');
            return {
              time_s,
              pauses: pauses.length - before,
              starting_ms: Math.max(0, ...pauses.slice(0, before)),
              pause_ms: Math.max(0, ...pauses.slice(before)),
            };
          },
        ).finally(() => rmSync(home, { recursive: true, force: true }));
      }),
      measures: [
        {
          field: 'pause_ms',
          title: 'longest collection during forward and withdraw',
          unit: 'ms',
          better: 'less',
          target: 50,
          goal: 50,
        },
        { field: 'starting_ms', title: 'the same while starting', unit: 'ms', better: 'less' },
      ],
    },
  ];
}
