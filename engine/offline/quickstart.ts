// `npm start`: the daemon of examples/quickstart with two lab speakers, kept running, and the commands to try beside it.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Ensemble, isFree, type Self } from './ensemble.ts';

export interface QuickstartOptions {
  readonly self: Self;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly write: (text: string) => void;
  /** Aborted when the operator wants it to end. */
  readonly signal: AbortSignal;
}

export const QUICKSTART_CONFIG = resolve(import.meta.dirname, '../../../examples/quickstart/zest.conf');
const PORT = 17900;
export const QUICKSTART_ROUTES = 10_000;

export const QUICKSTART_HELP = `zest quickstart — the daemon with two lab speakers and two plugins of yours on loopback; what \`npm start\` runs

  zest quickstart        starts them, prints what runs where and what to try, keeps running until Ctrl-C

The config is examples/quickstart/zest.conf. BGP listens on 127.0.0.1:${PORT}; where that is taken, ze_test_bgp_port=PORT
names another.
`;

/** Runs until the signal, or until the daemon ends. Resolves with the exit code. */
export async function runQuickstart(options: QuickstartOptions): Promise<number> {
  const named = options.environment['ze_test_bgp_port'] ?? '';
  const port = named === '' ? PORT : Number(named);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    options.write(`quickstart: ze_test_bgp_port must be a port, 1 to 65535, not "${named}"\n`);
    return 1;
  }
  if (!(await isFree(port))) {
    options.write(`quickstart: 127.0.0.1:${port} is in use; choose another port: ze_test_bgp_port=17901 npm start\n`);
    return 1;
  }
  const folder = mkdtempSync(join(tmpdir(), 'zest-quickstart-'));
  const ownReadyFile = join(folder, 'ready');
  const readyFile = options.environment['ze_ready_file'] ?? options.environment['ZE_READY_FILE'] ?? ownReadyFile;
  if (readyFile !== ownReadyFile) rmSync(readyFile, { force: true });
  const ensemble = await Ensemble.start(
    {
      self: options.self,
      config: QUICKSTART_CONFIG,
      routes: QUICKSTART_ROUTES,
      environment: { ...options.environment, ze_ready_file: readyFile },
      log: (line) => options.write(`${line}\n`),
    },
    port,
  );
  try {
    const ended = aborted(options.signal);
    const start = startAll(ensemble, readyFile, options.signal);
    start.catch(() => undefined);
    await Promise.race([start, ended]);
    if (!options.signal.aborted) options.write(banner(ensemble));
    await Promise.race([ensemble.daemon.until('the end', () => undefined, 2 ** 31 - 1).catch(() => undefined), ended]);
    if (ensemble.daemon.exitCode !== undefined && !options.signal.aborted) {
      options.write(`the daemon ended with code ${ensemble.daemon.exitCode}\n`);
      return ensemble.daemon.exitCode === 0 ? 0 : 1;
    }
    options.write('stopping\n');
    return await ensemble.stop();
  } catch (error) {
    options.write(`quickstart: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    await ensemble.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The daemon, then the speakers. Once the signal is aborted nobody else is started. */
async function startAll(ensemble: Ensemble, readyFile: string, signal: AbortSignal): Promise<void> {
  await readyOrGone(ensemble, readyFile);
  signal.throwIfAborted();
  const right = ensemble.speaker('right', '127.0.0.3', 65002, ['--print', 'count']);
  await right.until('a session', (part) => part.seen.get('up'), 10_000);
  signal.throwIfAborted();
  const left = ensemble.speaker('left', '127.0.0.2', 65001, ['--announce', String(QUICKSTART_ROUTES), '--print', 'count']);
  await left.until('a session', (part) => part.seen.get('up'), 10_000);
  await right.until(
    `${QUICKSTART_ROUTES} routes`,
    (part) => (Number(part.seen.get('received')?.['routes'] ?? 0) >= QUICKSTART_ROUTES ? true : undefined),
    20_000,
  );
}

/** Waits for the ready file. */
export async function readyOrGone(ensemble: Ensemble, readyFile: string): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!existsSync(readyFile)) {
    if (ensemble.daemon.exitCode !== undefined)
      throw new Error(`the daemon ended (code ${ensemble.daemon.exitCode}) before it was ready`);
    if (performance.now() > deadline) throw new Error('the daemon was not ready within 20 s');
    await wait(25);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function banner(ensemble: Ensemble): string {
  const row = (what: string, where: string, does: string): string => `  ${what.padEnd(14)} ${where.padEnd(26)} ${does}\n`;
  return [
    '\nZest is running.\n\n',
    row('daemon', `AS 65000, 127.0.0.1:${ensemble.port}`, 'examples/quickstart/zest.conf: bgp-rib and bgp-rs (route server)'),
    row('left', 'AS 65001, 127.0.0.2', `a lab speaker, announces ${QUICKSTART_ROUTES} routes`),
    row('right', 'AS 65002, 127.0.0.3', `a lab speaker, has received ${QUICKSTART_ROUTES} routes through the daemon`),
    row('update-count', 'in the daemon', 'examples/update-count: an in-process plugin'),
    row('watch', 'own process, over TLS', 'examples/watch-updates-ts: an external plugin, policy restart'),
    '\nIn a second terminal:\n\n',
    '  npx zest summary\n',
    '  npx zest plugin list\n',
    '  npx zest rib status\n',
    '  npx zest "rib best | count"\n',
    '  npx zest update-count show\n',
    '  npx zest watch status\n',
    '  npx zest peer right update text next-hop 192.0.2.7 nlri ipv4/unicast add 203.0.113.0/24\n',
    '  npx zest monitor event\n',
    '  npx zest cli                 an interactive shell with history and Tab\n',
    '\nCtrl-C stops all of it.\n',
  ].join('');
}
