// What the daemon bench measures: a mode is a job, the daemons that do it, and what is read from a run. Targets are ratios to the rival.
import { join } from 'node:path';
import { installed, measure, type Measured } from './load.ts';
import { ROOT } from './program.ts';
import { type ConfigParts, zestConfig } from './zest-config.ts';

export interface Measure {
  /** Field of a run. */
  readonly field: string;
  readonly title: string;
  readonly unit: 's' | 'ms' | 'B' | 'MB' | 'routes/s' | 'µs' | '%';
  readonly better: 'less' | 'more';
  /** First target and goal: ratios to the rival where there is one, else values. */
  readonly target?: number;
  readonly goal?: number;
  /** `target` and `goal` are values even though a rival runs. */
  readonly absolute?: true;
}

export interface Contestant {
  readonly daemon: string;
  /** Why it cannot run here. */
  readonly absent: string | undefined;
  run(n: number): Promise<Measured>;
}

export interface Mode {
  readonly name: string;
  readonly what: string;
  /** Prefixes (receivers in `peers`), one run each, unless `--n` says otherwise. */
  readonly sizes: readonly number[];
  readonly contestants: readonly Contestant[];
  readonly measures: readonly Measure[];
}

type Config = (n: number, folder: string) => string;

const forwarding: Config = () => zestConfig();
const node = process.execPath;

/** An external plugin of the bench that sees every UPDATE; what is queued for it holds the peer, so that nothing is dropped. */
const external = (name: string, words: string, folder: string, grant: string): ConfigParts => ({
  forward: false,
  plugins: `    external ${name} { run "exec ${node} ${join(folder, `${name}.js`)} ${words}"; queue { on-overflow hold-peer; } }`,
  grants: `process ${name} { ${grant} }`,
});

const withEvents: Config = (_n, folder) =>
  zestConfig(external('event-count', '${N} ${WORK}/done', folder, 'receive [ update ];'));
const withStructured: Config = (_n, folder) =>
  zestConfig({
    forward: false,
    plugins: `    external structured-count { use ${join(folder, 'structured-count.js')}; queue { on-overflow hold-peer; } }`,
  });
const withAnnouncer =
  (perCommand: number): Config =>
  (_n, folder) =>
    zestConfig(external('announcer', `\${N} ${perCommand} \${WORK}/go \${WORK}/done`, folder, 'send [ update ];'));
/** The example that announces by health checks: its only group is healthy as soon as the go file is there. */
const withInjector: Config = (_n, folder) =>
  zestConfig({
    forward: false,
    plugins: `    external injector { run "${node} ${join(folder, 'injector-groups.js')} \${N} \${WORK} && exec ${node} ${join(ROOT, 'dist/examples/injector/plugin.js')} \${WORK}/groups.json"; }`,
    grants: 'process injector { receive [ state ]; send [ update ]; }',
  });

function zest(mode: string, config: Config, folder: string, options: readonly string[] = []): Contestant {
  return {
    daemon: 'zest',
    absent: undefined,
    run: (n) => measure({ daemon: 'zest', mode, n, options, config: config(n, folder) }),
  };
}

/** `share` of the prefixes: a rival that is much slower is measured on fewer, and rates are compared. */
function rival(daemon: string, mode: string, options: readonly string[] = [], share = 1): Contestant {
  return {
    daemon,
    absent: installed(daemon) ? undefined : `${daemon} is not installed`,
    run: (n) => measure({ daemon, mode, n: Math.max(1, Math.round(n * share)), options }),
  };
}

const seconds = (title: string, target?: number, goal?: number, field = 'time_s'): Measure => ({
  field,
  title,
  unit: 's',
  better: 'less',
  ...(target === undefined ? {} : { target }),
  ...(goal === undefined ? {} : { goal }),
});
const rate = (title: string, target: number, goal: number, absolute = false): Measure => ({
  field: 'routes_per_s',
  title,
  unit: 'routes/s',
  better: 'more',
  target,
  goal,
  ...(absolute ? { absolute: true } : {}),
});

/** Modes that the load generator drives. `folder`: where the bench plugins are. */
export function generatedModes(folder: string): readonly Mode[] {
  const against = (mode: string, options: readonly string[] = []): readonly Contestant[] => [
    zest(mode, forwarding, folder, options),
    rival('bird2', mode, options),
  ];
  return [
    {
      name: 'forward',
      what: 'one sender, one receiver, a daemon just started',
      sizes: [100_000],
      contestants: against('forward'),
      measures: [seconds('forward 100 k, cold', 0.9, 0.4)],
    },
    {
      name: 'forward-1m',
      what: 'a full table forwarded, then withdrawn; memory with it',
      sizes: [1_000_000],
      contestants: against('forward'),
      measures: [
        seconds('forward 1 M', 0.5, 0.2),
        seconds('withdraw 1 M', 0.8, 0.4, 'withdraw_s'),
        { field: 'bytes_per_route', title: 'memory per route', unit: 'B', better: 'less', target: 120, goal: 60, absolute: true },
        {
          field: 'rss_base_kb',
          title: 'empty daemon, resident',
          unit: 'MB',
          better: 'less',
          target: 110,
          goal: 70,
          absolute: true,
        },
      ],
    },
    {
      name: 'sizes',
      what: 'forward at ever larger tables',
      sizes: [1000, 10_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_000_000],
      contestants: against('forward'),
      measures: [seconds('forward N routes')],
    },
    {
      name: 'fanout',
      what: 'one sender, eight receivers',
      sizes: [100_000],
      contestants: against('fanout'),
      measures: [seconds('fan-out 100 k to 8', 0.35, 0.17)],
    },
    {
      name: 'ingest',
      what: 'into the tables, nobody to pass it on to',
      sizes: [1_000_000],
      contestants: against('ingest'),
      measures: [seconds('ingest 1 M', 0.6, 0.3)],
    },
    {
      name: 'churn',
      what: '1,000 single-prefix updates a second after a table of 100,000',
      sizes: [100_000],
      contestants: against('churn'),
      measures: [
        { field: 'p50_ms', title: 'churn latency p50', unit: 'ms', better: 'less', target: 2.5, goal: 1.5 },
        { field: 'p99_ms', title: 'churn latency p99', unit: 'ms', better: 'less', target: 4, goal: 1.5 },
      ],
    },
    {
      name: 'events',
      what: 'an external plugin over TLS parses every event',
      sizes: [100_000],
      contestants: [zest('events', withEvents, folder), rival('exabgp', 'events')],
      measures: [rate('events to a plugin over TLS', 20, 50)],
    },
    {
      name: 'structured',
      what: 'a plugin in the daemon walks every structured batch',
      sizes: [1_000_000],
      contestants: [zest('events', withStructured, folder)],
      measures: [rate('structured events in the process', 1e6, 4e6, true)],
    },
    {
      name: 'announce',
      what: 'an external plugin announces, one prefix a command',
      sizes: [100_000],
      contestants: [zest('announce', withAnnouncer(1), folder), rival('exabgp', 'announce', [], 0.05)],
      measures: [rate('announced by a plugin, 1 prefix a command', 60, 200)],
    },
    {
      name: 'announce-50',
      what: 'an external plugin announces, fifty prefixes a command',
      sizes: [100_000],
      contestants: [zest('announce', withAnnouncer(50), folder), rival('exabgp', 'announce', [], 0.05)],
      measures: [rate('announced by a plugin, 50 prefixes a command', 60, 200)],
    },
    {
      name: 'announce-injector',
      what: 'the example injector announces one group of prefixes',
      sizes: [100_000],
      contestants: [zest('announce', withInjector, folder), rival('exabgp', 'announce', [], 0.05)],
      measures: [rate('announced by the injector example', 60, 200)],
    },
  ];
}
