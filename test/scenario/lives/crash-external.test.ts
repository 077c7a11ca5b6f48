// Every way an external plugin can go, in every stage, under every policy: a neighbour never notices, the policy is kept, nothing is left.
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { workingIn } from '../../support/child-processes.ts';
import { compiledChild } from '../../unit/host/compiled-child.ts';
import { goodPlugin, makeWorld, NO_NEEDS, settings, until, type World } from '../../unit/host/support.ts';

const WAYS = ['exit', 'exit1', 'kill', 'close', 'silent', 'rubbish'] as const;
type Way = (typeof WAYS)[number];
const STAGES = [0, 1, 2, 3, 4, 5, 6] as const;
const RUNNING = 6;
/** Before stage 1 is through, the engine knows no policy. */
const POLICY_KNOWN = 2;

/** What the failure is called, and what the operator reads. Stage 0 is before the connection has said who it is. */
function expected(stage: number, way: Way): readonly [code: string, text: RegExp] {
  switch (way) {
    case 'exit':
    case 'exit1':
    case 'kill': {
      const how = way === 'kill' ? 'process ended by SIGKILL' : `process exited with code ${way === 'exit' ? 0 : 1}`;
      return stage === 0 ? ['plugin-start', new RegExp(`${how} before it connected`)] : ['plugin-crash', new RegExp(how)];
    }
    case 'close':
      return stage === 0
        ? ['plugin-connect', /no connection within/]
        : ['plugin-crash', /connection (?:closed|failed: (?:read|write) (?:EPIPE|ECONNRESET))/];
    case 'silent':
      if (stage === 0) return ['plugin-connect', /no connection within/];
      if (stage === RUNNING) return ['plugin-silent', /events not acknowledged/];
      return ['plugin-stage-timeout', new RegExp(`stage ${stage} .*no progress`)];
    case 'rubbish':
      // The hub closes on what is no auth line, and the child ends with its connection.
      return stage === 0 ? ['plugin-start', /before it connected/] : ['plugin-protocol', /unreadable lines in a row/];
  }
}

const child = (name: string, stage: number, way: Way, policy: string) =>
  settings(name, {
    use: '',
    run: `exec node child.mjs die=${stage} how=${way} policy=${policy}`,
    timeoutMs: way === 'silent' ? 6000 : 30_000,
  });

/** A host that bears one restart, in a folder of its own; events come all the time, so that who runs and is silent is found out. */
async function inCrashWorld(stage: number, work: (world: World) => Promise<void>): Promise<void> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-crash-')));
  compiledChild(folder);
  const world = makeWorld({
    configFolder: folder,
    environment: { PATH: process.env['PATH'] },
    deliveryTimeoutMs: 5000,
    // A busy machine takes seconds to start a process; where none connects this is what the test waits for.
    connectTimeoutMs: stage === 0 ? 10_000 : 30_000,
    restarts: { windowMs: 600_000, inWindow: 1, inLife: 1, firstDelayMs: 10, maxDelayMs: 10 },
  });
  const timer = setInterval(() => world.bus.emit({ namespace: 'system', type: 'clock-synced', text: '{}' }, 'engine'), 100);
  try {
    await work(world);
  } finally {
    clearInterval(timer);
    await world.stop();
    const left = (): readonly unknown[] => workingIn(folder);
    await until('no process is left', () => left().length === 0).finally(() => rmSync(folder, { recursive: true, force: true }));
  }
}

const isOver = (state: string | undefined): boolean => state === 'failed' || state === 'disabled';

describe('external plugins', { concurrency: 3, timeout: 600_000 }, () => {
  goodPlugin('good', { commands: [{ name: 'good status' }] });
  for (const stage of STAGES) {
    test(`stage ${stage === RUNNING ? 'running' : stage}: policies restart and ignore`, (t) =>
      inCrashWorld(stage, async (world) => {
        const cases = WAYS.flatMap((way) =>
          (['restart', 'ignore'] as const).map((policy) => ({ way, policy, name: `${way}-${policy}` })),
        );
        const plugins = cases.map(({ way, policy, name }) => child(name, stage, way, policy));
        assert.deepEqual(await world.host.start([settings('good'), ...plugins], [], NO_NEEDS), { ok: true });
        assert.equal(world.state('good'), 'running');
        await until('each has come to its end', () => cases.every(({ name }) => isOver(world.state(name))), 60_000);
        const rows = new Map(world.host.list().map((row) => [row.name, row]));
        for (const { way, policy, name } of cases) {
          await t.test(`${way}, ${policy}`, () => {
            const again = policy === 'restart' && stage >= POLICY_KNOWN;
            const [code, text] = expected(stage, way);
            const row = rows.get(name);
            assert.deepEqual(world.codes(name), again ? [code, code] : [code]);
            assert.match(row?.lastError ?? '', text);
            assert.deepEqual([row?.state, row?.restarts, row?.pid], [again ? 'disabled' : 'failed', again ? 1 : 0, undefined]);
            assert.equal(world.commands.active.has(name), false, 'its commands are gone');
            const down = world.reports.filter((report) => report.code === 'plugin-down' && report.subject === name).at(-1);
            assert.notEqual(down?.clear, true, 'it is said to be down');
          });
        }
        await t.test('the neighbour and the engine', () => {
          assert.equal(world.state('good'), 'running');
          assert.deepEqual(world.codes('good'), []);
          assert.deepEqual([...world.commands.active.keys()], ['good']);
          assert.deepEqual(world.fatal, []);
          assert.deepEqual(
            world.bus.processes().map((one) => one.name),
            ['good'],
          );
        });
      }));
  }

  for (const stage of STAGES.filter((one) => one >= POLICY_KNOWN)) {
    test(`stage ${stage === RUNNING ? 'running' : stage}: policy fatal`, async (t) => {
      for (const way of WAYS) {
        await t.test(way, () =>
          inCrashWorld(stage, async (world) => {
            const outcome = await world.host.start([settings('good'), child('vital', stage, way, 'fatal')], [], NO_NEEDS);
            const [, text] = expected(stage, way);
            // One that dies as soon as it runs may do so before the start is over.
            if (stage === RUNNING && outcome.ok) {
              await until('the daemon is told', () => world.fatal.length > 0, 60_000);
              assert.match(world.fatal[0] ?? '', text);
              return;
            }
            assert(!outcome.ok);
            assert.deepEqual([outcome.kind, outcome.plugin, world.fatal], ['fatal', 'vital', []]);
            assert.match(outcome.reason, text);
          }),
        );
      }
    });
  }
});
