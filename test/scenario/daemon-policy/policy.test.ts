// Named filters in a whole daemon, route server in both modes: what comes in, what goes out, what is told of it, and other chains by reload.
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ROUTE_REFRESH } from '../../../sdk/wire/message.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { assertCodesListed, reports } from '../../support/report-codes.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';
import { attribute, NEXT_HOP, ORIGIN, u8, update } from '../../wire/build.ts';

const SDK = join(import.meta.dirname, '../../../dist/sdk/plugin/index.js');

/** In the daemon: looks for loops in the built-in check's place, which is to say not at all. */
const LOOSE = `
import { definePlugin } from ${JSON.stringify(SDK)};
export default definePlugin({
  name: 'loose',
  declaration: { filters: [{ name: 'loops', direction: 'import', overrides: ['loop-detection'] }] },
  setup(engine) {
    engine.plugin.onFilterUpdate(() => ({ action: 'accept' }));
  },
});
`;

const PEERS = {
  source: { local: '127.0.0.2', as: 64512, filter: 'import [ SANE PREFER ];' },
  plain: { local: '127.0.0.3', as: 64513, filter: '' },
  guarded: { local: '127.0.0.4', as: 64514, filter: 'egress { community { tag OURS; } } export [ prefix-list:LOW LONG ];' },
  twin: { local: '127.0.0.5', as: 64515, filter: 'egress { community { tag OURS; } } export [ prefix-list:LOW LONG ];' },
  loose: { local: '127.0.0.6', as: 64516, filter: 'import [ loose:loops ];' },
} as const;
type Name = keyof typeof PEERS;

/** 198.51.N.0/24 */
const prefix = (octet: number): string => `18c633${u8(octet)}`;
const path = (...asns: readonly number[]): string =>
  attribute('4002', `02${u8(asns.length)}${asns.map((asn) => asn.toString(16).padStart(8, '0')).join('')}`);

for (const best of [false, true]) {
  describe(`named filters, route server ${best ? 'by best path' : 'forwarding'}`, { timeout: 600_000 }, () => {
    test('from start to reload', async (t) => {
      const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-policy-')));
      writeFileSync(join(folder, 'loose.mjs'), LOOSE);
      const port = await freePort();
      const config = (filters: Partial<Record<Name, string>> = {}, low = 'entry 198.51.0.0/19 { le 24; }'): string => `
environment { log { level info; } }
plugin { external rs { use bgp-rs; } external loose { use ./loose.mjs; } }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    ${best ? 'route-server { best-path true; }' : ''}
    community { standard OURS { value [ 64500:77 ]; } }
    policy {
        prefix-list SANE { entry 198.51.128.0/17 { le 32; action reject; } entry 0.0.0.0/0 { ge 8; le 24; } }
        prefix-list LOW { ${low} }
        modify PREFER { set { local-preference 300; } }
        modify LONG { set { as-path-prepend 2; } }
    }
    ${Object.entries(PEERS)
      .map(
        ([name, { local, as, filter }]) => `peer ${name} {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip ${local}; connect false; } }
        session { asn { remote ${as}; } capability { route-refresh; } family { ipv4/unicast { prefix { maximum 100000; } } } }
        filter { ${filters[name as Name] ?? filter} }
        process rs { send [ update ]; }
    }`,
      )
      .join('\n    ')}
}
`;
      const zest = await ZestProcess.start(config(), {}, folder);
      const speakers = new Map<Name, RawSpeaker>();
      t.after(async () => {
        for (const one of speakers.values()) await one.close();
        await zest.stop();
        rmSync(folder, { recursive: true, force: true });
      });
      for (const name of Object.keys(PEERS) as Name[]) {
        speakers.set(name, await RawSpeaker.establish({ port, local: PEERS[name].local, as: PEERS[name].as }));
      }
      const speaker = (name: Name): RawSpeaker => speakers.get(name)!;
      const announce = (from: Name, nlri: string, ...asns: readonly number[]): void => {
        speaker(from).send(update({ attributes: ORIGIN + path(PEERS[from].as, ...asns) + NEXT_HOP, nlri }));
      };
      const arrived = (name: Name, text: string, since = 0): readonly string[] =>
        speaker(name)
          .updates()
          .slice(since)
          .filter((body) => body.includes(text));
      const arrives = async (name: Name, text: string, since = 0): Promise<string> => {
        await speaker(name).until(`${text} at ${name}`, () => arrived(name, text, since).length > 0);
        return arrived(name, text, since)[0] ?? '';
      };
      const sentTo = async (name: Name): Promise<readonly string[]> => {
        const { 'adj-rib-out': rows } = await zest.json('rib', 'routes', 'sent');
        return (rows as readonly { readonly peer: string; readonly prefix: string }[])
          .filter((row) => row.peer === PEERS[name].local)
          .map((row) => row.prefix)
          .toSorted();
      };

      await t.test('import: trimmed and changed before anybody hears of it', async () => {
        announce('source', prefix(1) + prefix(200) + prefix(40));
        await arrives('plain', prefix(40));
        assert.deepEqual(arrived('plain', prefix(200)), []);
        const routes = JSON.stringify(await zest.json('rib', 'routes', 'received'));
        assert.match(routes, /198\.51\.1\.0/);
        assert.match(routes, /300/, 'local preference');
        assert.equal(routes.includes('198.51.200.0'), false);
      });

      await t.test('export: both of a group get the same, the others what they would without', async () => {
        for (const name of ['guarded', 'twin'] as const) {
          const body = await arrives(name, prefix(1));
          assert(body.includes(path(64500, 64500, 64500, 64512)), body);
          assert.match(body, /c00804fbf4004d/);
          assert.deepEqual(arrived(name, prefix(40)), []);
        }
        const body = await arrives('plain', prefix(1));
        assert(body.includes(path(64500, 64512)), body);
        assert.doesNotMatch(body, /c008/);
      });

      await t.test('a peer tells its chains as they run', async () => {
        const { peers } = (await zest.json('peer', '*', 'detail')) as {
          peers: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
        };
        const of = (name: Name): unknown[] =>
          ['import-filters', 'export-filters', 'loop-detection'].map((field) => peers[PEERS[name].local]?.[field]);
        assert.deepEqual(of('plain'), [undefined, undefined, undefined]);
        assert.deepEqual(of('source'), [['prefix-list:SANE', 'modify:PREFER'], undefined, undefined]);
        assert.deepEqual(of('guarded'), [undefined, ['community:egress', 'prefix-list:LOW', 'modify:LONG'], undefined]);
        assert.deepEqual(of('loose'), [['loose:loops'], undefined, 'off']);
      });

      if (best) {
        await t.test('rib routes sent: what filters kept back was not sent', async () => {
          assert.deepEqual(await sentTo('guarded'), ['198.51.1.0/24']);
          assert.deepEqual(await sentTo('plain'), ['198.51.1.0/24', '198.51.40.0/24']);
        });
      }

      await t.test('a route that comes to be refused is withdrawn', async () => {
        const since = speaker('plain').updates().length;
        speaker('source').send(update({ withdrawn: prefix(1) }));
        const gone = await arrives('guarded', prefix(1), arrived('guarded', '').length);
        assert.match(gone, new RegExp(`^0004${prefix(1)}`));
        await arrives('plain', prefix(1), since);
        announce('source', prefix(1));
        await arrives('guarded', prefix(1), arrived('guarded', '').length);
      });

      await t.test('a plugin’s filter takes the place of loop detection, for its peers alone', async () => {
        announce('loose', prefix(9), 64500);
        await arrives('plain', prefix(9));
        announce('source', prefix(10), 64500);
        announce('source', prefix(11));
        await arrives('plain', prefix(11));
        // The route server forwards what is treated as withdraw.
        assert.deepEqual(
          arrived('plain', prefix(10)).filter((body) => body.startsWith('0000')),
          [],
        );
      });

      await t.test('reload: another definition of the same name, sent again; another import chain, asked for again', async () => {
        const since = speaker('guarded').updates().length;
        zest.reload(config({ source: 'import [ PREFER ];' }, 'entry 198.51.32.0/19 { le 24; }'));
        await arrives('guarded', prefix(40), since);
        await speaker('guarded').until('the others are withdrawn', () =>
          arrived('guarded', prefix(1), since).some((body) => !body.startsWith('0000')),
        );
        await eventually('a route refresh', () => (speaker('source').count(ROUTE_REFRESH) > 0 ? true : undefined));
        announce('source', prefix(200));
        await arrives('plain', prefix(200));
        for (const one of speakers.values()) assert.ok(one.established);
      });

      await t.test('reload: a name nobody knows is refused with a guess, all stays', async () => {
        zest.reload(config({ plain: 'import [ SAME ];' }));
        await eventually('the refusal', async () =>
          (await reports(zest)).some(({ code }) => code === 'reload-refused') ? true : undefined,
        );
        await zest.logs(/unknown filter in import: SAME/);
        await zest.logs(/did you mean \\?"SANE/);
        for (const one of speakers.values()) assert.ok(one.established);
        assertCodesListed((await reports(zest)).map(({ code }) => code));
      });
    });
  });
}
