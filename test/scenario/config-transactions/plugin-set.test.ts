// What a reload does to the set of plugins: built-ins come and go with their root, what starts for a candidate may act by its grants, and what a
// failed change has stopped runs again.
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { writeScript } from '../../support/write-script.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';
import { MANDATORY, PREFIX, update } from '../../wire/build.ts';

const SDK = pathToFileURL(resolve(import.meta.dirname, '../../../dist/sdk/plugin/index.js')).href;
const ANNOUNCER = `
import { Plugin } from '${SDK}';
const plugin = Plugin.fromEnv('announcer');
plugin.onAllPluginsReady(async () => {
  await plugin.updateRoute('*', 'update text origin igp next-hop self nlri ipv4/unicast add 203.0.113.0/24');
});
await plugin.run({});
`;

const bgp = (port: number, peer = ''): string => `
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    peer one {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.2; connect false; } }
        session { asn { remote 64512; } family { ipv4/unicast { prefix { maximum 1000; } } } }
        ${peer}
    }
}
`;
const external = (name: string, run: string, more = ''): string => `plugin { external ${name} { run "${run}"; ${more} } }\n`;
const RAW = 'exec node raw-plugin.mjs';

describe('the set of plugins at reload', { timeout: 600_000 }, () => {
  let folder: string;
  let port: number;
  let zest: ZestProcess;
  const names = async (): Promise<readonly string[]> =>
    ((await zest.json('plugin', 'list'))['plugins'] as readonly { name: string; state: string }[])
      .filter(({ state }) => state === 'running')
      .map(({ name }) => name)
      .sort();
  const reload = async (text: string): Promise<Readonly<Record<string, unknown>>> => {
    writeFileSync(zest.configPath, text);
    return await zest.json('daemon', 'reload');
  };

  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-plugin-set-')));
    writeScript(folder, 'raw-plugin');
    writeFileSync(join(folder, 'announcer.mjs'), ANNOUNCER);
    port = await freePort();
    zest = await ZestProcess.start(bgp(port), {}, folder);
  });
  after(async () => {
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('the bgp block goes and takes its sessions and built-ins along; it comes back and all works', async (t) => {
    const built = await names();
    assert.ok(built.includes('bgp-rib'));
    const speaker = await RawSpeaker.establish({ port, local: '127.0.0.2' });
    const gone = await reload('environment { log { level warn; } }\n');
    assert.deepEqual([gone['peers-removed'], gone['plugins-stopped']], [['one'], built]);
    await speaker.end();
    assert.match(speaker.notification ?? '', /^6\/3/, 'Cease, peer de-configured');
    assert.deepEqual(await names(), []);

    const back = await reload(bgp(port));
    assert.deepEqual(back['peers-added'], ['one']);
    assert.deepEqual(await names(), built);
    const again = await eventually('a new session', () => RawSpeaker.establish({ port, local: '127.0.0.2' }));
    t.after(() => again.close());
    again.send(update({ attributes: MANDATORY, nlri: PREFIX }));
    await eventually('its route is kept', async () =>
      JSON.stringify(await zest.json('rib', 'routes', 'received')).includes('198.51.100.0/24') ? true : undefined,
    );
  });

  test('a plugin that the candidate brings announces as soon as it starts', async (t) => {
    const speaker = await eventually('a session', () => RawSpeaker.establish({ port, local: '127.0.0.2' }));
    t.after(() => speaker.close());
    await reload(
      `${external('announcer', 'exec node announcer.mjs', 'timeout 20s;')}${bgp(port, 'process announcer { send [ update ]; }')}`,
    );
    await speaker.until('its route', () => speaker.updates().some((body) => body.includes('18cb0071')));
    assert.ok(speaker.established);
  });

  test('a plugin that replaces another and may not start: the other one runs again', async (t) => {
    await reload(`${external('good', RAW)}${bgp(port)}`);
    const speaker = await eventually('a session', () => RawSpeaker.establish({ port, local: '127.0.0.2' }));
    t.after(() => speaker.close());
    writeFileSync(zest.configPath, `${external('bad', `${RAW} policy=ignore`, 'respawn true;')}${bgp(port)}`);
    const { code, stderr } = await zest.cli('signal', 'reload');
    assert.equal(code, 4);
    assert.match(stderr, /the running configuration is unchanged: apply: plugin bad: .*respawn true is refused/);
    const running = await names();
    assert.ok(running.includes('good') && !running.includes('bad'), running.join(' '));
    assert.ok((await zest.json('good', 'count'))['count'] !== undefined);
    assert.ok(speaker.established);
  });

  test('nothing changed: nobody is asked', async () => {
    const report = await reload(`# the same\n${external('good', RAW)}${bgp(port)}`);
    assert.deepEqual([report['peers-unchanged'], report['plugins']], [1, []]);
  });
});
