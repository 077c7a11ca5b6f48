// bgp-persist in a whole daemon: what was announced by command is there again after a kill, damage is a warning, and a route that is announced
// anew is not overtaken by the old one.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';

const END_OF_RIB = '00000000';
const LOCAL = '127.0.0.2';
const AS = 64512;
const SDK = join(import.meta.dirname, '../../../dist/sdk/plugin/index.js');
/** Announces a route as soon as it may, with another MED than the one that is kept. */
const EAGER = `
import { definePlugin } from ${JSON.stringify(SDK)};
export default definePlugin({
  name: 'eager',
  setup(engine) {
    engine.onStarted(() => void engine.updateRoute('*', 'update text next-hop self med 99 nlri ipv4/unicast add 10.1.0.0/16'));
  },
});
`;
/** 10.N.0.0/16 */
const wire = (octet: number): string => `100a${octet.toString(16).padStart(2, '0')}`;

test('routes announced by command outlive the daemon', { timeout: 600_000 }, async (t) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-persist-')));
  writeFileSync(join(folder, 'eager.mjs'), EAGER);
  const port = await freePort();
  const config = (plugins: string): string => `
environment { log { level info; } }
plugin { external persist { use bgp-persist; } ${plugins} }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    peer as64999 {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip ${LOCAL}; connect false; } }
        session { asn { remote ${AS}; } family { ipv4/unicast { prefix { maximum 1000; } } } }
        update { attribute { next-hop self; } nlri { ipv4/unicast add 10.9.0.0/16; } }
    }
}
`;
  let zest = await ZestProcess.start(config(''), {}, folder);
  let speaker: RawSpeaker | undefined;
  t.after(async () => {
    await speaker?.close();
    await zest.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const again = async (plugins = ''): Promise<void> => {
    await speaker?.close();
    await zest.stop('SIGKILL');
    zest = await ZestProcess.start(config(plugins), {}, folder);
  };
  /** Everything a new session gets before End-of-RIB. */
  const table = async (): Promise<string> => {
    speaker = await RawSpeaker.establish({ port, local: LOCAL, as: AS });
    await speaker.until('End-of-RIB', () => speaker!.updates().includes(END_OF_RIB));
    const all = speaker.updates();
    return all.slice(0, all.indexOf(END_OF_RIB)).join(' ');
  };
  const stored = async (routes: number): Promise<void> => {
    await eventually(`${routes} routes stored`, async () =>
      (await zest.json('persist', 'status'))['routes-stored'] === routes ? true : undefined,
    );
  };
  const update = (...words: readonly string[]): Promise<unknown> => zest.json('peer', LOCAL, 'update', 'text', ...words);

  await t.test('nothing is kept of a daemon that has said nothing', async () => {
    await stored(0);
    assert.equal((await zest.json('persist', 'status'))['error'], '');
  });

  await t.test('after a kill: as it was, but for what was withdrawn', async () => {
    await update(
      'next-hop',
      '192.0.2.7',
      'med',
      '5',
      'community',
      '1:2',
      'nlri',
      'ipv4/unicast',
      'add',
      '10.1.0.0/16',
      '10.2.0.0/16',
    );
    await update('nlri', 'ipv4/unicast', 'del', '10.2.0.0/16');
    await stored(1);
    await again();
    const all = await table();
    assert.match(all, /400304c0000207/);
    assert.match(all, new RegExp(`80040400000005.*c0080400010002${wire(1)}`));
    assert.equal(all.includes(wire(2)), false);
    assert.equal((await zest.json('persist', 'status'))['route-replays'], 1);
    await stored(1);
  });

  await t.test('what is announced anew is left as it is', async () => {
    await again('external eager { use ./eager.mjs; }');
    const all = await table();
    assert.match(all, new RegExp(`80040400000063.*${wire(1)}`));
    assert.doesNotMatch(all, /80040400000005/);
    assert.equal((await zest.json('persist', 'status'))['route-replays'], 0);
  });

  await t.test('damage is a warning, and the daemon begins with nothing', async () => {
    await again();
    await stored(1);
    await zest.stop('SIGKILL');
    const state = join(folder, 'state', 'plugins', 'persist');
    const files = readdirSync(state);
    assert.ok(files.length >= 2);
    for (const file of files) {
      const bytes = readFileSync(join(state, file));
      bytes[bytes.length - 1]! ^= 1;
      writeFileSync(join(state, file), bytes);
    }
    await again();
    assert.equal((await table()).includes(wire(1)), false);
    await eventually('the warning', () => (/kept routes of 127\.0\.0\.2 are lost/.test(zest.output) ? true : undefined));
    await update('next-hop', 'self', 'nlri', 'ipv4/unicast', 'add', '10.3.0.0/16');
    await stored(1);
    await again();
    assert.ok((await table()).includes(wire(3)));
  });
});
