// What the load generator does not measure: the gap between KEEPALIVEs, hundreds of neighbours, the memory of a long answer. The daemon runs as
// its users run it, the neighbours are `programs/crowd.ts`.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually, freePort, ZestProcess } from '../support/zest-process.ts';
import { installed, type Measured } from './load.ts';
import { memoryKb, resetPeak } from './memory.ts';
import type { Mode } from './modes.ts';
import { PROGRAM, VERSION } from './program.ts';
import { type ConfigParts, zestConfig } from './zest-config.ts';

export interface Crowd {
  readonly receivers: number;
  readonly prefixes: number;
  readonly holdSeconds?: number;
  readonly seconds?: number;
  readonly rounds?: number;
  readonly stay?: boolean;
}

/** The neighbours' process and what it says, line by line. */
export class CrowdProcess {
  readonly child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(
    folder: string,
    port: number,
    { receivers, prefixes, holdSeconds = 180, seconds = 0, rounds = 0, stay = false }: Crowd,
  ) {
    const options = JSON.stringify({ port, receivers, prefixes, holdSeconds, seconds, rounds, stay });
    this.child = spawn(process.execPath, [join(folder, 'crowd.js'), options], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.child.stdout! })[Symbol.asyncIterator]();
  }

  async next(): Promise<Record<string, number>> {
    const line = await this.#lines.next();
    const said = JSON.parse(line.done === true ? '{"error":"the neighbours have ended"}' : line.value) as Record<string, number>;
    if (said['error'] !== undefined) throw new Error(String(said['error']));
    return said;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }
}

const addresses = (receivers: number): readonly (readonly [string, number])[] => [
  ['127.0.0.2', 65001],
  ...Array.from({ length: receivers }, (_, i) => [`127.1.${(i + 1) >> 8}.${(i + 1) & 0xff}`, 65002 + i] as const),
];

/** The generator's template, filled in here. */
export function filled(parts: ConfigParts, port: number, receivers: number): string {
  return zestConfig(parts)
    .split('\n')
    .flatMap((line) =>
      line.includes('@A@')
        ? addresses(receivers).map(([address, as]) => line.replaceAll('@A@', address).replaceAll('@S@', String(as)))
        : [line],
    )
    .join('\n')
    .replaceAll('${PORT}', String(port))
    .replaceAll('${DUT_AS}', '65000');
}

export interface Running {
  readonly pid: number;
  readonly zest?: ZestProcess;
  stop(): Promise<unknown>;
}

export async function startZest(port: number, receivers: number, parts: ConfigParts): Promise<Running> {
  // Whoever hangs in a bench is meant to.
  const zest = await ZestProcess.start(filled(parts, port, receivers), { ze_plugin_delivery_timeout: '10m' });
  return { pid: zest.child.pid ?? 0, zest, stop: () => zest.stop() };
}

async function startBird(port: number, receivers: number): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'zest-bench-bird-'));
  const peers = addresses(receivers).map(
    ([address, as]) =>
      `protocol bgp p${as} { local 127.0.0.1 port ${port} as 65000; neighbor ${address} as ${as}; multihop; passive on; strict bind yes; hold time 180; ipv4 { import all; export where source = RTS_BGP; }; }`,
  );
  // The peers are on 127/8, which BIRD takes for no next hop's link: a static route resolves the next hop.
  const head = `router id 10.0.0.1;\nlog "${folder}/log" all;\nprotocol device {}\nprotocol static nexthop { ipv4; route 192.0.2.1/32 via "lo"; }\n`;
  writeFileSync(join(folder, 'conf'), `${head}${peers.join('\n')}\n`);
  const words = ['-f', '-c', `${folder}/conf`, '-s', `${folder}/ctl`, '-P', `${folder}/pid`];
  const child = spawn('bird', words, {
    stdio: 'ignore',
    env: { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` },
  });
  await once(child, 'spawn');
  return {
    pid: child.pid ?? 0,
    stop: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** True when somebody accepts there; a connection from an address that is nobody's peer is closed again. */
function listens(port: number): Promise<true | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.99' });
    socket.once('error', () => resolve(undefined));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

/** A daemon and its neighbours for the time of `work`; what it returns is the run. */
export async function among(
  start: (port: number) => Promise<Running>,
  folder: string,
  crowd: Crowd,
  work: (crowd: CrowdProcess, daemon: Running) => Promise<Record<string, number>>,
): Promise<Measured> {
  const [load = 0] = loadavg();
  const port = await freePort();
  const daemon = await start(port);
  let neighbours: CrowdProcess | undefined;
  try {
    await eventually('the daemon listens', () => listens(port));
    neighbours = new CrowdProcess(folder, port, crowd);
    const values = await work(neighbours, daemon);
    const version = daemon.zest === undefined ? {} : { version: VERSION };
    return { ...values, ...version, load: Math.round(load * 100) / 100, at: new Date().toISOString() };
  } finally {
    await neighbours?.stop();
    await daemon.stop();
  }
}

/** A table by size of the daemon's memory: before, with every session, with the table, at most. */
async function full(crowd: CrowdProcess, daemon: Running, peers: number): Promise<Record<string, number>> {
  const before = memoryKb(daemon.pid).resident;
  const { sessions_s = 0 } = await crowd.next();
  const withSessions = memoryKb(daemon.pid).resident;
  const said = await crowd.next();
  const { resident, peak } = memoryKb(daemon.pid);
  return {
    ...said,
    sessions_s,
    rss_base_kb: before,
    rss_kb: resident,
    peak_rss_kb: peak,
    bytes_per_peer: ((withSessions - before) * 1024) / (peers + 1),
  };
}

/** `rib routes received` to its end by the command line; its client's memory is read while it runs. */
async function dump(daemon: Running, words: readonly string[]): Promise<{ clientKb: number; seconds: number }> {
  const { zest } = daemon;
  if (zest === undefined) throw new Error('only our own daemon has this command line');
  const began = performance.now();
  const client = spawn(process.execPath, [PROGRAM, ...words], { env: zest.environment, stdio: ['ignore', 'ignore', 'inherit'] });
  let clientKb = 0;
  const look = setInterval(() => (clientKb = Math.max(clientKb, memoryKb(client.pid ?? 0).peak)), 5);
  const [code] = (await once(client, 'exit')) as [number | null];
  clearInterval(look);
  if (code !== 0) throw new Error(`zest ${words.join(' ')} ended with ${String(code)}`);
  return { clientKb, seconds: (performance.now() - began) / 1000 };
}

/** Modes whose neighbours are ours. */
export function ownModes(folder: string): readonly Mode[] {
  const zest = (parts: ConfigParts, crowd: (n: number) => Crowd, work: Parameters<typeof among>[3]): Mode['contestants'][0] => ({
    daemon: 'zest',
    absent: undefined,
    run: (n) => among((port) => startZest(port, crowd(n).receivers, parts), folder, crowd(n), work),
  });
  const node = process.execPath;
  const troubled: ConfigParts = {
    holdTimeSeconds: HOLD_SECONDS,
    plugins: `    external deaf { run "exec ${node} ${join(folder, 'deaf.js')}"; }\n    external blocker { use ${join(folder, 'blocker.js')}; }`,
    grants: 'process deaf { receive [ update state ]; }',
  };
  const gap = async (crowd: CrowdProcess): Promise<Record<string, number>> => {
    await crowd.next();
    return crowd.next();
  };
  const held = (n: number): Crowd => ({ receivers: 2, prefixes: n, holdSeconds: HOLD_SECONDS, seconds: GAP_SECONDS });
  const some = (n: number): Crowd => ({ receivers: n, prefixes: PREFIXES_OF_MANY });
  return [
    {
      name: 'gap',
      what: 'largest gap between KEEPALIVEs, hold time 9 s, a table in and out, a plugin that never reads and one that blocks 2 s',
      sizes: [1_000_000],
      contestants: [zest(troubled, held, gap)],
      measures: [
        {
          field: 'keepalive_gap_ms',
          title: 'KEEPALIVE gap, hold time 9 s',
          unit: 'ms',
          better: 'less',
          target: 3300,
          goal: 3020,
        },
      ],
    },
    {
      name: 'peers',
      what: 'a table of 10,000 to ever more receivers',
      sizes: [1, 10, 50, 100, 200, 350, 500],
      contestants: [
        {
          daemon: 'zest',
          absent: undefined,
          run: (n) =>
            among(
              (port) => startZest(port, n, {}),
              folder,
              some(n),
              (crowd, daemon) => full(crowd, daemon, n),
            ),
        },
        {
          daemon: 'bird2',
          absent: installed('bird2') ? undefined : 'bird2 is not installed',
          run: (n) =>
            among(
              (port) => startBird(port, n),
              folder,
              some(n),
              (crowd, daemon) => full(crowd, daemon, n),
            ),
        },
      ],
      measures: [{ field: 'time_s', title: '10 k routes to N receivers', unit: 's', better: 'less' }],
    },
    {
      name: 'dump',
      what: 'rib routes received as JSON by the command line; memory it costs client and daemon',
      sizes: [1_000_000],
      contestants: [
        zest(
          {},
          (n) => ({ receivers: 1, prefixes: n, stay: true }),
          async (crowd, daemon) => {
            await crowd.next();
            await crowd.next();
            const small = await dump(daemon, ['rib', 'status', '--json']);
            const before = memoryKb(daemon.pid).resident;
            resetPeak(daemon.pid);
            const large = await dump(daemon, ['rib', 'routes', 'received', '--json']);
            const client = large.clientKb - small.clientKb;
            const engine = memoryKb(daemon.pid).peak - before;
            return { time_s: large.seconds, client_extra_kb: client, daemon_extra_kb: engine, extra_kb: client + engine };
          },
        ),
      ],
      measures: [
        { field: 'extra_kb', title: 'memory of a dump to the CLI', unit: 'MB', better: 'less', target: 50, goal: 20 },
        { field: 'client_extra_kb', title: 'dump to the CLI: the client’s part of it', unit: 'MB', better: 'less' },
        { field: 'time_s', title: 'dump to the CLI: time', unit: 's', better: 'less' },
      ],
    },
  ];
}

const HOLD_SECONDS = 9;
const GAP_SECONDS = 20;
const PREFIXES_OF_MANY = 10_000;
