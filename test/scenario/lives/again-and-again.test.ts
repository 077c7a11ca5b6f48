// A plugin that dies a thousand times leaves the daemon as it was: no handle, timer, listener, descriptor, memory.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { builtHost } from '../../support/built-host.ts';
import { workingIn } from '../../support/child-processes.ts';
import { compiledChild, compiledFixture } from '../../unit/host/compiled-child.ts';
import { makeWorld, NO_NEEDS, settings, until, type World } from '../../unit/host/support.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-again-')));
compiledChild(folder);
const MODULE = compiledFixture(folder, 'raw-module');
after(() => rmSync(folder, { recursive: true, force: true }));
const Host = await builtHost();
setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;
/** External and threaded plugins cost a start each; `ZEST_RESTARTS` asks for more of them. */
const FEWER = Number(process.env['ZEST_RESTARTS'] ?? 0);

interface Held {
  readonly resources: string;
  readonly descriptors: number;
  readonly listeners: number;
  readonly heap: number;
}

/** What the process holds once everything has come to rest. */
async function held(): Promise<Held> {
  for (let i = 0; i < 5; i++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const resources = process
    .getActiveResourcesInfo()
    .filter((kind) => !/Timeout|Immediate/.test(kind))
    .sort();
  return {
    resources: resources.join(' '),
    descriptors: readdirSync('/proc/self/fd').length,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    heap: process.memoryUsage().heapUsed,
  };
}

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

const STILL_BYTES = 512 * 1024;

const KINDS: readonly { what: string; times: number; warm: number; skip: string | false; plugin: ReturnType<typeof settings> }[] =
  [
    { what: 'in the main thread', times: 1000, warm: 200, skip: false, plugin: settings('throw-6-restart', { use: MODULE }) },
    {
      what: 'in a thread of its own',
      times: FEWER || 60,
      warm: 20,
      skip: Host === undefined ? 'dist is not built' : false,
      plugin: settings('throw-6-restart', { use: MODULE, isolation: 'thread', timeoutMs: 20_000 }),
    },
    {
      what: 'as a process',
      times: FEWER || 60,
      warm: 20,
      skip: false,
      plugin: settings('external', { use: '', run: 'exec node child.mjs die=6 policy=restart', timeoutMs: 20_000 }),
    },
  ];

for (const { what, times, warm, skip, plugin } of KINDS) {
  test(`${times} deaths ${what}`, { skip, timeout: 600_000 }, async (t) => {
    const inLife = warm + times;
    const world: World = makeWorld(
      {
        configFolder: folder,
        restarts: { windowMs: 1, inWindow: Infinity, inLife, firstDelayMs: 0, maxDelayMs: 0 },
      },
      plugin.isolation === 'thread' ? Host : undefined,
    );
    try {
      const restarts = (): number => world.host.list()[0]?.restarts ?? 0;
      const first = (async () => {
        await until('it is warm', () => restarts() >= warm, 120_000);
        world.reports.length = 0;
        world.log.length = 0;
        return { at: await held(), restarts: restarts() };
      })();
      await world.host.start([plugin], [], NO_NEEDS);
      const before = await first;
      await until('the last death', () => world.state(plugin.name) === 'disabled', 500_000);
      assert.equal(restarts(), inLife);
      world.reports.length = 0;
      world.log.length = 0;
      world.calls.length = 0;
      const now = await held();
      const perRestart = (now.heap - before.at.heap) / (inLife - before.restarts);
      t.diagnostic(
        `${Math.round(perRestart)} bytes of heap a restart, ${now.descriptors} descriptors (${before.at.descriptors}), ` +
          `${timers()} timers, resources: ${now.resources || 'none'}`,
      );
      // Measured while it was being started again: it may have held more then, never less.
      assert(now.descriptors <= before.at.descriptors + 2, `${now.descriptors} descriptors, ${before.at.descriptors} before`);
      assert(now.listeners <= before.at.listeners + 1, `${now.listeners} listeners, ${before.at.listeners} before`);
      // The heap of a process that has just compiled and collected is never still: that much is no leak.
      assert(now.heap - before.at.heap < STILL_BYTES + 2000 * times, `${perRestart} bytes a restart`);
      assert.deepEqual(world.bus.processes(), []);
      assert.deepEqual([...world.commands.active.keys()], []);
      assert(timers() < 10, `${timers()} timers`);
      assert.doesNotMatch(now.resources, /Process|Worker|MessagePort|TLS/);
    } finally {
      await world.stop();
    }
    await until('no process is left', () => workingIn(folder).length === 0);
    const rest = await held();
    assert.doesNotMatch(rest.resources, /Process|Worker|MessagePort|TLS|TCPSERVER/);
  });
}
