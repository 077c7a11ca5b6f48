// The reactor's thread: its composition root. Sockets, sessions and the built-in plugins of the route path, and nothing that could
// keep them waiting. Runs compiled (a worker loads no TypeScript).
import { parentPort, workerData } from 'node:worker_threads';
import type { ReactorBoot } from './bgp/reactor-boot.ts';
import { serveReactor } from './bgp/remote.ts';
import { loadRehearsals } from './compose/builtins.ts';
import { startInThread } from './host/bridge/start-in-thread.ts';
import { assert } from './core/assert.ts';
import { systemClock } from './core/clock.ts';

assert(parentPort !== null, 'the reactor thread is started by the daemon');
serveReactor({
  boot: workerData as ReactorBoot,
  port: parentPort,
  clock: systemClock,
  random: Math.random,
  rehearse: await loadRehearsals(),
  startPlugin: startInThread,
});
