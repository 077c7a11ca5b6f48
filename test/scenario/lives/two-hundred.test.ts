// Two hundred plugins through one startup: a hundred in the process, a hundred processes over TLS, all in one tier. Each works, and nothing
// of them is left behind.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { workingIn } from '../../support/child-processes.ts';
import { compiledFixture } from '../../unit/host/compiled-child.ts';
import { makeWorld, NO_NEEDS, settings, until } from '../../unit/host/support.ts';

const EACH = 100;
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-many-')));
after(() => rmSync(folder, { recursive: true, force: true }));
copyFileSync(join(import.meta.dirname, 'small.py'), join(folder, 'small.py'));
const MODULE = compiledFixture(folder, 'raw-module');
/** A Python takes 15 MB, a Node 45. */
const python = spawnSync('python3', ['-c', 'import ssl, sys; sys.exit(not ssl.HAS_TLSv1_3)']).status === 0;

test(`${EACH} plugins in the process and ${EACH} processes`, {
  timeout: 600_000,
  skip: python ? false : 'no python3 with TLS 1.3',
}, async (t) => {
  const descriptors = readdirSync('/proc/self/fd').length;
  const world = makeWorld({ configFolder: folder, environment: { PATH: process.env['PATH'] }, connectTimeoutMs: 120_000 });
  const names = Array.from({ length: EACH }, (_, i) => [`in${i}`, `out${i}`]).flat();
  const began = performance.now();
  try {
    const outcome = await world.host.start(
      names.map((name) =>
        name.startsWith('in')
          ? settings(name, { use: MODULE, timeoutMs: 60_000 })
          : settings(name, { use: '', run: 'exec python3 -S small.py', timeoutMs: 60_000 }),
      ),
      [],
      NO_NEEDS,
    );
    assert.deepEqual(outcome, { ok: true });
    t.diagnostic(`${names.length} plugins run after ${Math.round(performance.now() - began)} ms`);
    assert.deepEqual(
      world.host.list().flatMap((row) => (row.state === 'running' ? [] : [`${row.name}: ${row.lastError}`])),
      [],
    );
    assert.equal(workingIn(folder).length, EACH);
    const answers = await Promise.all(
      names.map((name) => world.host.execute(name, { command: `${name} ping` }, new AbortController().signal).collapse()),
    );
    for (const answer of answers) assert.deepEqual(answer, { status: 'done', data: 'pong' });
    const event = () => world.bus.emit({ namespace: 'system', type: 'clock-synced', text: '{}' }, 'engine');
    for (let i = 0; i < 100; i++) assert.deepEqual(event(), { ok: true, delivered: names.length });
    await until(
      'every event is acknowledged',
      () => world.host.list().every((row) => row.events === 100 && row.queueBytes === 0),
      60_000,
    );
  } finally {
    await world.stop();
  }
  assert(world.host.list().every((row) => row.state === 'stopped'));
  assert.deepEqual(
    world.reports.filter((report) => report.severity === 'error'),
    [],
  );
  await until('no process is left', () => workingIn(folder).length === 0);
  await until('descriptors are closed', () => readdirSync('/proc/self/fd').length <= descriptors + 2);
  await until('sockets are let go', () => !/Process|TLS|TCP/.test(process.getActiveResourcesInfo().join(' ')));
});
