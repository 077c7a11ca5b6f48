// `isolation thread`: everything a plugin can do elsewhere works there, and one that blocks its thread is ended and started again while the
// sessions notice nothing.
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { builtHost } from '../../support/built-host.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { reports } from '../../support/report-codes.ts';
import { eventually, freePort, PROGRAM, ZestProcess } from '../../support/zest-process.ts';
import { makeWorld, NO_NEEDS, settings } from '../../unit/host/support.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-thread-')));
after(() => rmSync(folder, { recursive: true, force: true }));
const SDK = pathToFileURL(join(dirname(PROGRAM), '../sdk/plugin/index.js')).href;
const Host = await builtHost();
const skip = Host === undefined ? 'dist is not built' : false;

const ALL = `
import { definePlugin } from '${SDK}';
import { isMainThread } from 'node:worker_threads';
export default definePlugin({
  name: 'all', failurePolicy: 'restart', roots: ['bgp'],
  setup(engine) {
    const p = engine.plugin;
    const seen = [];
    p.onConfigure((input) => void seen.push(input.sections.map((one) => one.root).join()));
    p.onShareRegistry((input) => void seen.push(input.commands.length > 0));
    p.onEvent((event) => void seen.push(event));
    p.setStartupSubscriptionsIn('system', ['clock-synced']);
    p.onFilterUpdate((input) => input.update.includes('med') ? { action: 'modify', update: 'med 5' } : { action: 'reject' });
    p.onConfigVerify((input) => { if (input.sections.length > 0) throw new Error('not that'); });
    p.onConfigApply(() => { seen.push('applied'); });
    p.onConfigRollback(() => { seen.push('rolled back'); });
    p.onValidateOpen(() => ({ accept: false, 'notify-code': 2, 'notify-subcode': 3, reason: 'no' }));
    p.onDecodeNlri((input) => ({ was: input.hex }));
    p.onEncodeNlri((input) => input.args.join(''));
    p.onDoctorCheck(() => [{ name: 'x', severity: 'warning', message: 'y' }]);
    p.onEnrichShow(() => ({ more: 1 }));
    engine.command('all seen', () => ({ seen, isMainThread }));
    engine.command('all rows', async function* () { for (let i = 0; i < 5000; i++) yield { i, text: 'é\\n'.repeat(10) }; });
    engine.command('all ask', async () => (await p.dispatchCommand('peer list')).data);
    engine.command('all announce', () => p.updateRoute('*', 'update text'));
  },
});
`;

test('every callback works in a thread of its own', { skip, timeout: 600_000 }, async () => {
  writeFileSync(join(folder, 'all.mjs'), ALL);
  const world = makeWorld({ configFolder: folder }, Host);
  try {
    const plugin = settings('all', { use: './all.mjs', isolation: 'thread', timeoutMs: 20_000 });
    assert.deepEqual(await world.host.start([plugin], [], NO_NEEDS), { ok: true });
    const row = world.host.list()[0];
    assert.deepEqual([row?.state, row?.placement, row?.lastError], ['running', 'thread', '']);
    const link = world.host.link('all');
    assert(link !== undefined);
    const filter = { filter: 'f', direction: 'import', peer: '192.0.2.1', 'peer-as': 1 };
    assert.deepEqual(await link.call('ze-plugin-callback:filter-update', { ...filter, update: 'med 1' } as never), {
      action: 'modify',
      update: 'med 5',
    });
    assert.deepEqual(await link.call('ze-plugin-callback:filter-update', { ...filter, update: '' } as never), {
      action: 'reject',
    });
    const change = { 'transaction-id': 'tx-1', sections: [], diffs: [] };
    assert.deepEqual(await link.call('ze-plugin-callback:config-verify', change as never), { status: 'ok' });
    assert.deepEqual(
      await link.call('ze-plugin-callback:config-verify', { ...change, sections: [{ root: 'bgp', data: '{}' }] }),
      {
        status: 'error',
        error: 'not that',
      },
    );
    assert.deepEqual(await link.call('ze-plugin-callback:config-apply', change as never), { status: 'ok' });
    await link.call('ze-plugin-callback:config-rollback', { 'transaction-id': 'tx-1' });
    assert.equal((await link.call('ze-plugin-callback:validate-open', { peer: '192.0.2.1' } as never)).accept, false);
    assert.deepEqual(await world.host.decodeNlri('all', { family: 'x/y', hex: 'ff' }), { was: 'ff' });
    assert.equal(await world.host.encodeNlri('all', { family: 'x/y', args: ['0', 'a'] }), '0a');
    const { diagnostics } = await link.call('ze-plugin-callback:doctor-check', { check: 'x' } as never);
    assert.equal(diagnostics.length, 1);
    assert.deepEqual(await link.call('ze-plugin-callback:enrich-show', { enricher: 'x' } as never), { data: { more: 1 } });
    const run = (command: string) => world.host.execute('all', { command }, new AbortController().signal);
    let rows = 0;
    for await (const one of run('all rows')) assert.deepEqual(one, { i: rows++, text: 'é\n'.repeat(10) });
    assert.equal(rows, 5000);
    assert.deepEqual(await run('all ask').collapse(), { status: 'done', data: { asked: 'peer list' } });
    assert.equal((await run('all announce').collapse()).status, 'done');
    world.bus.emit({ namespace: 'system', type: 'clock-synced', text: '{"at":1}' }, 'engine');
    await eventually('the event has arrived', async () => {
      const { data } = await run('all seen').collapse();
      assert.deepEqual(data, { seen: ['bgp', true, 'applied', 'rolled back', '{"at":1}'], isMainThread: false });
      return true;
    });
  } finally {
    await world.stop();
  }
  assert.deepEqual(world.codes('all'), []);
});

const SPINNER = `
import { definePlugin } from '${SDK}';
export default definePlugin({
  name: 'spinner', failurePolicy: 'restart',
  setup(engine) {
    engine.plugin.setStartupSubscriptions(['keepalive'], ['*']);
    engine.plugin.onEvent(() => { for (;;); });
  },
});
`;

test('a thread that blocks at every event is ended and started again; the session lives on', {
  skip,
  timeout: 600_000,
}, async (t) => {
  writeFileSync(join(folder, 'spinner.mjs'), SPINNER);
  const port = await freePort();
  const zest = await ZestProcess.start(
    `
plugin { external spinner { use ./spinner.mjs; isolation thread; timeout 20s; } }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    peer one {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.2; connect false; } }
        session { asn { remote 64512; } family { ipv4/unicast { prefix { maximum 1000; } } } }
        process spinner { receive [ keepalive ]; }
    }
}
`,
    { ze_plugin_delivery_timeout: '1s' },
    folder,
  );
  t.after(() => zest.stop());
  const speaker = await RawSpeaker.establish({ port, local: '127.0.0.2', holdSeconds: 9 });
  t.after(() => speaker.close());
  await eventually(
    'it was given up and started again, twice',
    async () => {
      const { plugins } = (await zest.json('plugin', 'list')) as { plugins: readonly { name: string; restarts: number }[] };
      return (plugins.find((row) => row.name === 'spinner')?.restarts ?? 0) >= 2 ? true : undefined;
    },
    60_000,
  );
  const seen = await reports(zest);
  assert(
    seen.some(
      ({ code, subject, message }) =>
        code === 'plugin-silent' && subject === 'spinner' && /not acknowledged within 1000 ms/.test(message),
    ),
  );
  assert(!seen.some(({ code }) => code === 'session-dropped'));
  assert(speaker.established);
  t.diagnostic(`largest gap between KEEPALIVEs ${Math.round(speaker.largestGap)} ms`);
  assert(speaker.largestGap > 0 && speaker.largestGap < 4500, `${speaker.largestGap} ms`);
});
