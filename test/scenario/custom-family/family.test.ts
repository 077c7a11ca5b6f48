// A family of a plugin's own between two neighbours: negotiated by name, read by its owner in events, written by its owner for route
// commands, forwarded by the route server, kept over a flap; what the owner refuses, or does not answer, is shown and never lost.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test from 'node:test';
import { pathToFileURL } from 'node:url';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';
import { update } from '../../wire/build.ts';

const SDK = pathToFileURL(resolve(import.meta.dirname, '../../../dist/sdk/plugin/index.js')).href;
const ACME = (1 << 8) | 200;
const IPV4 = (1 << 8) | 1;

/** `ipv4/acme`: an entry is one octet of length and a word. `acme seen` are the events it got. */
const OWNER = `
import { Plugin, runOrDeclare } from '${SDK}';
const declaration = {
  families: [{ name: 'ipv4/acme', mode: 'both', afi: 1, safi: 200 }],
  commands: [{ name: 'acme seen' }, { name: 'acme mute' }, { name: 'acme announce', args: ['words'] }],
};
async function start() {
  const plugin = Plugin.fromEnv('acme');
  const seen = [];
  let mute = false;
  plugin.onEvent((event) => void seen.push(event.trim()));
  plugin.onExecuteCommand(({ command, args = [] }) => {
    if (command === 'acme mute') mute = true;
    if (command === 'acme announce') return plugin.updateRoute('*', args.join(' '));
    return { seen: seen.map((text) => JSON.parse(text)) };
  });
  plugin.onDecodeNlri(({ hex, withdraw }) => {
    if (mute) return new Promise(() => undefined);
    const bytes = Buffer.from(hex, 'hex');
    const words = [];
    for (let at = 0; at < bytes.length; at += 1 + bytes[at]) {
      if (at + 1 + bytes[at] > bytes.length) throw new Error('a word is cut short');
      words.push({ word: bytes.toString('latin1', at + 1, at + 1 + bytes[at]), ...(withdraw ? { gone: true } : {}) });
    }
    return words;
  });
  plugin.onEncodeNlri(({ args }) => {
    const [keyword, word] = args;
    if (keyword !== 'word' || word === undefined) throw new Error('expected: word WORD');
    return Buffer.concat([Buffer.from([word.length]), Buffer.from(word, 'latin1')]).toString('hex');
  });
  plugin.setStartupSubscriptions(['update', 'negotiated', 'eor', 'refresh', 'state', 'open'], ['*'], 'parsed');
  await plugin.run(declaration);
  return 0;
}
process.exit(await runOrDeclare(declaration, start));
`;

const reach = (...words: readonly string[]): string => {
  const nlri = words.map((word) => Buffer.from([word.length]).toString('hex') + Buffer.from(word).toString('hex')).join('');
  const value = `0001c804c633640a00${nlri}`;
  return `800e${(value.length / 2).toString(16).padStart(2, '0')}${value}`;
};
const unreach = (...words: readonly string[]): string => {
  const nlri = words.map((word) => Buffer.from([word.length]).toString('hex') + Buffer.from(word).toString('hex')).join('');
  return `800f${(3 + nlri.length / 2).toString(16).padStart(2, '0')}0001c8${nlri}`;
};
const PATH = '40010100 4002060201 0000fbf6';
const hexOf = (word: string): string => Buffer.from(word).toString('hex');

interface Entry {
  readonly raw: string;
  readonly error: string;
}

interface Event {
  readonly bgp: {
    readonly message: { readonly type: string };
    readonly peer: { readonly name: string };
    readonly update?: { readonly nlri: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>> };
    readonly eor?: { readonly family: string };
    readonly refresh?: unknown;
    readonly negotiated?: { readonly families: readonly string[] };
  };
}

for (const bestPath of [false, true]) {
  test(`a plugin's family end to end, route server ${bestPath ? 'with best path' : 'by message'}`, async (t) => {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'zest-family-'));
    writeFileSync(join(folder, 'acme.mjs'), OWNER);
    const peer = (name: string, host: number): string => `
    peer ${name} {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.${host}; connect false; } }
        session {
            asn { remote ${64500 + host}; }
            family { ipv4/unicast { prefix { maximum 100; } } ipv4/acme { prefix { maximum 100; } } }
        }
        process acme { receive [ update negotiated eor refresh state open ]; send [ update ]; }
    }`;
    const zest = await ZestProcess.start(
      `plugin { external rs { use bgp-rs; } external acme { run "exec node acme.mjs"; } }
bgp { router-id 10.0.0.1; session { asn { local 64500; } } route-server { best-path ${bestPath}; }
${peer('source', 2)}
${peer('taker', 3)}
}
`,
      {},
      folder,
    );
    const speaker = (host: number): Promise<RawSpeaker> =>
      RawSpeaker.establish({ port, local: `127.0.0.${host}`, as: 64500 + host, families: [IPV4, ACME] });
    const source = await speaker(2);
    let taker = await speaker(3);
    t.after(async () => {
      await Promise.all([source.close(), taker.close()]);
      await zest.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    const seen = async (): Promise<readonly Event[]> => (await zest.json('acme', 'seen'))['seen'] as readonly Event[];
    const operations = async (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
      (await seen()).flatMap((event) =>
        event.bgp.peer.name === 'source' && event.bgp.message.type === 'update'
          ? (event.bgp.update?.nlri['ipv4/acme'] ?? [])
          : [],
      );

    await t.test('it has its name wherever it is shown', async () => {
      const detail = JSON.stringify(await zest.json('peer', 'source', 'detail'));
      const capabilities = JSON.stringify(await zest.json('peer', 'source', 'capabilities'));
      for (const text of [detail, capabilities]) {
        assert.match(text, /"ipv4\/acme"/);
        assert.doesNotMatch(text, /safi-200/);
      }
      const events = await eventually('both are up', async () => {
        const list = await seen();
        return list.filter((event) => event.bgp.negotiated !== undefined).length === 2 ? list : undefined;
      });
      assert.deepEqual(events.find((event) => event.bgp.negotiated !== undefined)?.bgp.negotiated?.families, [
        'ipv4/unicast',
        'ipv4/acme',
      ]);
      assert.doesNotMatch(JSON.stringify(events), /safi-200/);
      assert.match(JSON.stringify(await zest.json('command', 'complete', 'peer source refresh ipv4/a')), /ipv4\/acme/);
    });

    await t.test('its owner reads it in events, in order; the other neighbour gets it', async () => {
      source.send(update({ attributes: `${PATH} ${reach('one', 'two')}` }));
      source.send(update({ attributes: unreach('two') }));
      const list = await eventually('two operations', async () => {
        const found = await operations();
        return found.length >= 2 ? found : undefined;
      });
      assert.deepEqual(list, [
        { 'next-hop': '198.51.100.10', action: 'add', nlri: [{ word: 'one' }, { word: 'two' }] },
        { action: 'del', nlri: [{ word: 'two', gone: true }] },
      ]);
      await taker.until('the route', () => taker.updates().some((one) => one.includes(`03${hexOf('one')}03${hexOf('two')}`)));
    });

    await t.test('what its owner refuses is shown as hex with the reason', async () => {
      source.send(update({ attributes: `${PATH} 800e0b 0001c804c633640a00 09 61` }));
      const list = await eventually('a third operation', async () => {
        const found = await operations();
        return found.length >= 3 ? found : undefined;
      });
      const entry = (list[2]?.['nlri'] as readonly Entry[] | undefined)?.[0];
      assert.equal(entry?.raw, '0961');
      assert.match(entry.error, /a word is cut short/);
      const warned = await zest.json('show', 'warnings');
      assert.match(JSON.stringify(warned), /family-unread/);
    });

    await t.test('its owner writes it for route commands, also of other programs; it is said again after a flap', async () => {
      const answer = await zest.json(
        'peer',
        '127.0.0.3',
        'update',
        'text',
        'origin',
        'igp',
        'next-hop',
        '192.0.2.9',
        'nlri',
        'ipv4/acme',
        'add',
        'word',
        'mine',
      );
      assert.equal(answer['announced'], 1, JSON.stringify(answer));
      await taker.until('the announced route', () => taker.updates().some((one) => one.includes(`04${hexOf('mine')}`)));
      const refused = await zest.cli(
        'peer',
        '127.0.0.3',
        'update',
        'text',
        'next-hop',
        '192.0.2.9',
        'nlri',
        'ipv4/acme',
        'add',
        'nonsense',
      );
      assert.notEqual(refused.code, 0);
      assert.match(refused.stdout + refused.stderr, /ipv4\/acme: .*expected: word WORD/);
      await taker.close();
      taker = await eventually('the session again', () => speaker(3));
      await taker.until('the announced route again', () => taker.updates().some((one) => one.includes(`04${hexOf('mine')}`)));
    });

    await t.test('End-of-RIB and route refresh by its name', async () => {
      source.send(update({ attributes: '800f03 0001c8' }));
      source.send(Uint8Array.from([...new Uint8Array(16).fill(255), 0, 23, 5, 0, 1, 0, 200]));
      const list = await eventually('both events', async () => {
        const found = await seen();
        return found.some((one) => one.bgp.eor !== undefined) && found.some((one) => one.bgp.refresh !== undefined)
          ? found
          : undefined;
      });
      assert.deepEqual(list.find((one) => one.bgp.eor !== undefined)?.bgp.eor, { family: 'ipv4/acme' });
      assert.deepEqual(list.find((one) => one.bgp.refresh !== undefined)?.bgp.refresh, { afi: 'ipv4', safi: 'acme' });
    });

    await t.test('an owner that does not answer costs a second, and no event', async () => {
      await zest.json('acme', 'mute');
      const before = (await operations()).length;
      for (const word of ['slow', 'slower', 'slowest']) source.send(update({ attributes: `${PATH} ${reach(word)}` }));
      const list = await eventually('three more', async () => {
        const found = await operations();
        return found.length >= before + 3 ? found.slice(before) : undefined;
      });
      for (const [index, word] of ['slow', 'slower', 'slowest'].entries()) {
        const entry = (list[index]?.['nlri'] as readonly Entry[] | undefined)?.[0];
        assert.equal(entry?.raw, Buffer.from([word.length]).toString('hex') + hexOf(word));
        assert.match(entry.error, /did not answer within 1 s/);
      }
    });
  });
}
