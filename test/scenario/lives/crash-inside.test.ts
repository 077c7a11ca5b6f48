// Every way a plugin in the process can go, in every stage, under every policy: in the main thread, and in a thread of its own, where it
// may also end or block that thread. The neighbour never notices, the policy is kept, nothing is left.
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { builtHost } from '../../support/built-host.ts';
import { compiledFixture } from '../../unit/host/compiled-child.ts';
import { makeWorld, NO_NEEDS, settings, until, type World } from '../../unit/host/support.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-crash-inside-')));
const MODULE = compiledFixture(folder, 'raw-module');
after(() => rmSync(folder, { recursive: true, force: true }));
const Host = await builtHost();

const STAGES = [0, 1, 2, 3, 4, 5, 6] as const;
const RUNNING = 6;
/** Before stage 1 is through, the engine knows no policy. */
const POLICY_KNOWN = 2;
const MAIN = ['throw', 'reject', 'silent', 'close', 'leave', 'rubbish'] as const;
const THREAD = [...MAIN, 'exit', 'uncaught'] as const;
/** Takes a core while it lasts, and so comes when nobody else starts. */
const SPIN = ['spin'] as const;
type Way = (typeof THREAD | typeof SPIN)[number];

/** What the failure is called, and what the operator reads. */
function expected(stage: number, way: Way): readonly [code: RegExp, text: RegExp] {
  switch (way) {
    case 'throw':
    case 'uncaught':
      return [/^plugin-crash$/, /thrown by the plugin/];
    case 'reject':
      return [/^plugin-crash$/, /no error at all/];
    case 'close':
    case 'leave':
      return [/^plugin-crash$/, /closed|ended/];
    case 'exit':
      return [/^plugin-crash$/, /thread ended with code 3/];
    case 'rubbish':
      return [/^plugin-protocol$/, /unreadable lines in a row/];
    case 'silent':
    case 'spin':
      if (stage === RUNNING) return [/^plugin-silent$/, /events not acknowledged/];
      // Who says nothing before its first line is late with that line.
      return [/^plugin-stage-timeout$/, new RegExp(`stage ${Math.max(1, stage)} .*no progress`)];
  }
}

async function inCrashWorld(isolation: 'main' | 'thread', work: (world: World) => Promise<void>): Promise<void> {
  const world = makeWorld(
    { deliveryTimeoutMs: 3000, restarts: { windowMs: 600_000, inWindow: 1, inLife: 1, firstDelayMs: 10, maxDelayMs: 10 } },
    isolation === 'thread' ? Host : undefined,
  );
  const timer = setInterval(() => world.bus.emit({ namespace: 'system', type: 'clock-synced', text: '{}' }, 'engine'), 50);
  try {
    await work(world);
  } finally {
    clearInterval(timer);
    await world.stop();
  }
}

const isOver = (state: string | undefined): boolean => state === 'failed' || state === 'disabled';
const held = (): number => process.getActiveResourcesInfo().filter((kind) => /Worker|MessagePort/.test(kind)).length;

const GROUPS: readonly { what: string; isolation: 'main' | 'thread'; ways: readonly Way[]; concurrency: number }[] = [
  { what: 'plugins in the main thread', isolation: 'main', ways: MAIN, concurrency: 7 },
  { what: 'plugins in a thread of their own', isolation: 'thread', ways: THREAD, concurrency: 3 },
  { what: 'plugins that block a thread of their own', isolation: 'thread', ways: SPIN, concurrency: 2 },
];
for (const { what, isolation, ways, concurrency } of GROUPS) {
  // Who is silent is waited for; nobody else is late, however busy the machine.
  const plugin = (name: string) =>
    settings(name, { use: MODULE, isolation, timeoutMs: /^(?:silent|spin)/.test(name) ? 5000 : 30_000 });
  const skip = isolation === 'thread' && Host === undefined ? 'dist is not built' : false;

  describe(what, { skip, concurrency, timeout: 600_000 }, () => {
    const before = held();
    after(() => until('threads and ports are let go', () => held() <= before));
    for (const stage of STAGES) {
      test(`stage ${stage === RUNNING ? 'running' : stage}: policies restart and ignore`, async (t) => {
        await inCrashWorld(isolation, async (world) => {
          const names = ways.flatMap((way) => [`${way}-${stage}-restart`, `${way}-${stage}-ignore`]);
          await world.host.start(['good', ...names].map(plugin), [], NO_NEEDS);
          await until('each has come to its end', () => names.every((name) => isOver(world.state(name))), 60_000);
          const rows = new Map(world.host.list().map((row) => [row.name, row]));
          for (const name of names) {
            await t.test(name, () => {
              const [way, , policy] = name.split('-');
              const again = policy === 'restart' && stage >= POLICY_KNOWN;
              const [code, text] = expected(stage, way as Way);
              const row = rows.get(name);
              assert.equal(world.codes(name).length, again ? 2 : 1);
              for (const one of world.codes(name)) assert.match(one, code);
              assert.match(row?.lastError ?? '', text);
              assert.deepEqual([row?.state, row?.restarts], [again ? 'disabled' : 'failed', again ? 1 : 0]);
            });
          }
          assert.equal(world.state('good'), 'running');
          assert.deepEqual(world.codes('good'), []);
          assert.deepEqual([...world.commands.active.keys()], ['good']);
          const pong = await world.host.execute('good', { command: 'good ping' }, new AbortController().signal).collapse();
          assert.deepEqual(pong, { status: 'done', data: 'pong' });
        });
      });
    }

    for (const stage of STAGES.filter((one) => one >= POLICY_KNOWN)) {
      test(`stage ${stage === RUNNING ? 'running' : stage}: policy fatal`, async (t) => {
        for (const way of ways) {
          await t.test(way, () =>
            inCrashWorld(isolation, async (world) => {
              const vital = `${way}-${stage}-fatal`;
              const [, text] = expected(stage, way);
              const outcome = await world.host.start(['good', vital].map(plugin), [], NO_NEEDS);
              if (outcome.ok) {
                assert.equal(stage, RUNNING);
                await until('the daemon is told', () => world.fatal.length > 0, 60_000);
                assert.match(world.fatal[0] ?? '', text);
              } else {
                assert.deepEqual([outcome.kind, outcome.plugin], ['fatal', vital]);
                assert.match(outcome.reason, text);
              }
            }),
          );
        }
      });
    }
  });
}

test('a thread that blocks in a command is ended, one that is slow is not', { skip: Host === undefined }, async () => {
  const world = makeWorld({ commandTimeoutMs: 300 }, Host);
  try {
    await world.host.start([settings('hang-9-ignore', { use: MODULE, isolation: 'thread' })], [], NO_NEEDS);
    const answer = world.host.execute('hang-9-ignore', { command: 'x' }, new AbortController().signal).collapse();
    await assert.rejects(answer, /deadline/);
    await until('it no longer counts as running', () => world.state('hang-9-ignore') !== 'running', 60_000);
    assert.match(world.host.list()[0]?.lastError ?? '', /its event loop does not turn/, 'and why is known at once');
    await until('it is given up', () => world.state('hang-9-ignore') === 'failed', 60_000);
    assert.deepEqual(world.codes('hang-9-ignore'), ['plugin-silent']);
    assert.match(world.host.list()[0]?.lastError ?? '', /a command was not answered in time, and its event loop does not turn/);
  } finally {
    await world.stop();
  }
});
