#!/usr/bin/env node
/**
 * The process: the only file that reads argv, environment, signals and sets the exit code. `--version` is answered before
 * anything is imported; everything else loads what it needs when it needs it.
 */

import type { DaemonHandle } from './daemon.ts';

/** As in package.json; a test compares them. */
const VERSION = '0.1.0';

/** Signals of one kind this close to each other are one wish. */
const ONE_GESTURE_MS = 250;

const [, program = '', ...args] = process.argv;

if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) process.stdout.write(`zest ${VERSION}\n`);
else await run();

async function run(): Promise<void> {
  const interruption = new AbortController();
  const { main } = await import('./cli/main.ts');
  let daemon: DaemonHandle | undefined;
  const asked = new Map<NodeJS.Signals, number>();
  const onSignal = (signal: NodeJS.Signals): void => {
    // The second time means now. A Ctrl-C may come twice at once, from the terminal and from whoever started us, and with their SIGTERM after it.
    const before = asked.get(signal);
    if (before !== undefined && performance.now() - before > ONE_GESTURE_MS) process.exit(signal === 'SIGINT' ? 130 : 143);
    if (before !== undefined) return;
    asked.set(signal, performance.now());
    if (daemon === undefined) interruption.abort();
    else daemon.stop(signal);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // These have children, which a hang-up must not leave behind.
  if (args[0] === 'quickstart' || args[0] === 'demo') process.on('SIGHUP', onSignal);
  process.exitCode = await main(args, {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    environment: process.env,
    uid: process.getuid?.() ?? 0,
    version: VERSION,
    self: [process.execPath, ...process.execArgv, program],
    interrupted: interruption.signal,
    autoloaded: async () => {
      const { autoloadedNames, loadBuiltins } = await import('./compose/builtins.ts');
      return autoloadedNames(await loadBuiltins());
    },
    plugins: async () => (await import('./compose/plugin-reader.ts')).pluginReader(process.env, interruption.signal),
    runDaemon: async (options) => {
      // Before anything is loaded: a SIGHUP that comes early must not end the process.
      process.on('SIGHUP', () => void daemon?.reload());
      const { holdYoungHeap } = await import('./core/young-heap.ts');
      holdYoungHeap();
      const { ReactorThread } = await import('./compose/reactor-thread.ts');
      const thread = new ReactorThread();
      const { runDaemon } = await import('./daemon.ts');
      daemon = runDaemon({ ...options, env: process.env, version: VERSION, thread });
      if (interruption.signal.aborted) daemon.stop('SIGTERM');
      return daemon.done;
    },
  });
}
