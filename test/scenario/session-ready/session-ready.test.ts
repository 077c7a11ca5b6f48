// End-of-RIB of a session waits for plugins that announce at its start (plugin-lifecycle §5): one that runs outside, one in the daemon; each
// learns the token of the session its own way. A stale token is refused; who never reports is waited for five seconds.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test from 'node:test';
import { pathToFileURL } from 'node:url';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';

const SDK = pathToFileURL(resolve(import.meta.dirname, '../../../dist/sdk/plugin/index.js')).href;
const END_OF_RIB = '00000000';

/** `NAME tokens`: of the up events it got. `NAME route` and `NAME ready TOKEN` do and say what their names tell. */
const OUTSIDE = `
import { Plugin } from '${SDK}';
const plugin = Plugin.fromEnv('outside');
const tokens = [];
plugin.onEvent((text) => {
  const { bgp } = JSON.parse(text);
  if (bgp.state === 'up') tokens.push(bgp['initial-replay'] ?? '');
});
plugin.onExecuteCommand(async ({ command, args = [] }) => {
  if (command === 'outside route') return plugin.updateRoute('127.0.0.2', 'update text next-hop 192.0.2.9 nlri ipv4/unicast add 10.9.0.0/24');
  if (command === 'outside ready') return plugin.dispatchCommand('request peer 127.0.0.2 plugin session ' + args[0] + ' ready');
  return { tokens };
});
plugin.setStartupSubscriptions(['state'], ['*'], 'parsed');
await plugin.run({
  'signals-session-ready': true,
  commands: [{ name: 'outside tokens' }, { name: 'outside route' }, { name: 'outside ready', args: ['token'] }],
});
`;
const INSIDE = `
import { definePlugin } from '${SDK}';
export default definePlugin({
  name: 'inside',
  declaration: { 'signals-session-ready': true },
  setup(engine) {
    const seen = [];
    engine.onState(async (peer, up, _reason, { initialReplay }) => {
      if (!up) return;
      seen.push(initialReplay);
      await engine.updateRoute(engine.peers.address(peer), 'update text next-hop 192.0.2.9 nlri ipv4/unicast add 10.8.0.0/24');
      await engine.plugin.sessionReady(engine.peers.address(peer), initialReplay);
    });
    engine.command('inside tokens', () => ({ tokens: seen }));
  },
});
`;

test('End-of-RIB waits for plugins that report a session ready, by its token', async (t) => {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'zest-ready-'));
  writeFileSync(join(folder, 'outside.mjs'), OUTSIDE);
  writeFileSync(join(folder, 'inside.mjs'), INSIDE);
  const zest = await ZestProcess.start(
    `plugin { external outside { run "exec node outside.mjs"; } external inside { use ./inside.mjs; } }
bgp { router-id 10.0.0.1; session { asn { local 64500; } }
    peer a {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.2; connect false; } }
        session { asn { remote 64502; } family { ipv4/unicast { prefix { maximum 100; } } } }
        process outside { receive [ state ]; send [ update ]; }
        process inside { receive [ state ]; send [ update ]; }
    }
}
`,
    {},
    folder,
  );
  let peer = await RawSpeaker.establish({ port, local: '127.0.0.2', as: 64502, families: [(1 << 8) | 1] });
  t.after(async () => {
    await peer.close();
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const token = (plugin: string, count: number): Promise<string> =>
    eventually(`up event ${count} at ${plugin}`, async () => {
      const { tokens } = (await zest.ask(`${plugin} tokens`)) as { readonly tokens: readonly string[] };
      return tokens[count - 1];
    });
  const first = await token('outside', 1);

  await t.test('both learn the same token, and nothing ends before the last of them reports', async () => {
    assert.match(first, /^[1-9]\d*$/);
    assert.equal(await token('inside', 1), first);
    await zest.ask('outside route');
    await peer.until('both routes', () =>
      ['180a0900', '180a0800'].every((one) => peer.updates().some((body) => body.includes(one))),
    );
    assert.ok(!peer.updates().includes(END_OF_RIB));
    assert.match(JSON.stringify(await zest.ask('outside ready', `${first}0`)), /no session has the token/);
    assert.ok(!peer.updates().includes(END_OF_RIB));
    const said = await zest.ask('outside ready', first);
    assert.equal(said['status'], 'done', JSON.stringify(said));
    await peer.until('the End-of-RIB', () => peer.updates().includes(END_OF_RIB));
    assert.equal(peer.updates().at(-1), END_OF_RIB);
  });

  await t.test('the next session has another token; the old one is refused, and five seconds end the wait', async () => {
    await peer.close();
    // Before the session can be up: the daemon's five seconds begin later.
    let dialled = 0;
    peer = await eventually('the session again', () => {
      dialled = performance.now();
      return RawSpeaker.establish({ port, local: '127.0.0.2', as: 64502, families: [(1 << 8) | 1] });
    });
    const second = await token('outside', 2);
    assert.notEqual(second, first);
    assert.match(JSON.stringify(await zest.ask('outside ready', first)), /no session has the token/);
    await peer.until('the End-of-RIB', () => peer.updates().includes(END_OF_RIB));
    assert.ok(performance.now() - dialled > 4900, 'it was waited for');
    assert.match(JSON.stringify(await zest.json('show', 'warnings')), /session-not-ready.*outside|outside.*session-not-ready/);
  });
});
