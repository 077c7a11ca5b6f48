// Two plugins that run each other's commands from inside their event handlers and their command handlers, while both get events as fast as
// they come: neither waits for the other for ever. ZEST_MUTUAL_SECONDS sets how long (10).
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { startFlood } from '../../support/flood.ts';
import { reports } from '../../support/report-codes.ts';
import { writeScript } from '../../support/write-script.ts';
import { eventually, freePort, PROGRAM, ZestProcess } from '../../support/zest-process.ts';

const SECONDS = Number(process.env['ZEST_MUTUAL_SECONDS'] ?? 10);
const FLOOD = '127.0.0.2';

/**
 * `NAME ask` runs the other's `tell` before it answers, `tell` answers at once; every sixteenth event waits for the other's `ask`, which
 * comes back here. So both lanes of both plugins wait for each other all the time.
 */
const plugin = (name: string, other: string, outside: boolean): string => `
import { definePlugin, runExternal } from '${pathToFileURL(join(dirname(PROGRAM), '../sdk/plugin/index.js')).href}';
const definition = definePlugin({
  name: '${name}',
  setup(engine) {
    const seen = { events: 0, asked: 0, answers: 0, told: 0, failed: '' };
    engine.plugin.setStartupSubscriptions(['update', 'state'], ['*']);
    engine.plugin.onEvent(async () => {
      if (seen.events++ % 16 !== 0) return;
      try {
        await engine.plugin.dispatchCommand('${other} ask');
        seen.answers++;
      } catch (error) {
        seen.failed = String(error);
      }
    });
    engine.command('${name} ask', async () => {
      seen.asked++;
      return (await engine.plugin.dispatchCommand('${other} tell')).data;
    });
    engine.command('${name} tell', () => ({ told: ++seen.told }));
    engine.command('${name} status', () => seen);
  },
});
${outside ? 'await runExternal(definition);' : 'export default definition;'}
`;

interface Seen {
  readonly events: number;
  readonly asked: number;
  readonly answers: number;
  readonly told: number;
  readonly failed: string;
}

const PAIRS = [
  { what: 'two processes', left: 'run "exec node left.mjs"', right: 'run "exec node right.mjs"' },
  { what: 'the main thread and a process', left: 'use ./left.mjs', right: 'run "exec node right.mjs"' },
  { what: 'the main thread and a thread of its own', left: 'use ./left.mjs', right: 'use ./right.mjs; isolation thread' },
];

for (const { what, left, right } of PAIRS) {
  test(`${what}: no deadlock`, { timeout: (SECONDS + 600) * 1000 }, async (t) => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-mutual-')));
    writeScript(folder, 'flood-speaker');
    writeFileSync(join(folder, 'left.mjs'), plugin('left', 'right', left.startsWith('run')));
    writeFileSync(join(folder, 'right.mjs'), plugin('right', 'left', right.startsWith('run')));
    const port = await freePort();
    const zest = await ZestProcess.start(
      `
plugin { external left { ${left}; timeout 20s; } external right { ${right}; timeout 20s; } }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    peer flood {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip ${FLOOD}; connect false; } }
        session { asn { remote 64512; } family { ipv4/unicast { prefix { maximum 1000000; } } } }
        process left { receive [ update state ]; }
        process right { receive [ update state ]; }
    }
}
`,
      // A busy machine may take its time over five hundred commands in a batch.
      { ze_plugin_delivery_timeout: '60s' },
      folder,
    );
    t.after(async () => {
      await zest.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    const flood = startFlood(folder, port, FLOOD, 50_000);
    t.after(() => flood.child.kill('SIGKILL'));
    const status = async (name: string): Promise<Seen> => (await zest.json(name, 'status')) as unknown as Seen;
    await eventually(
      'both ask and answer',
      async () => {
        const both = await Promise.all([status('left'), status('right')]);
        return both.every((seen) => seen.answers > 0 && seen.told > 0) ? true : undefined;
      },
      30_000,
    );
    const end = performance.now() + SECONDS * 1000;
    let before = await Promise.all([status('left'), status('right')]);
    const first = before;
    while (performance.now() < end) {
      await wait(1000);
      // Each step of each plugin goes on; the bound is for a machine with better things to do.
      const last = before;
      before = await eventually(
        'both go on',
        async () => {
          const now = await Promise.all([status('left'), status('right')]);
          const goOn = now.every((seen, i) => {
            const then = last[i];
            return then !== undefined && seen.events > then.events && seen.answers > then.answers && seen.told > then.told;
          });
          return goOn ? now : undefined;
        },
        30_000,
      );
      assert.deepEqual(
        before.map((seen) => seen.failed),
        ['', ''],
      );
    }
    before.forEach((seen, i) =>
      t.diagnostic(
        `${i === 0 ? 'left' : 'right'}: ${seen.events - (first[i]?.events ?? 0)} events, ${seen.answers - (first[i]?.answers ?? 0)} round trips`,
      ),
    );
    const bad = (await reports(zest)).filter(({ code }) => /^plugin-|session-dropped|event-consumer-silent/.test(code));
    assert.deepEqual(bad, []);
  });
}
