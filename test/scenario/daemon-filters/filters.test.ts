// Route filters of plugins in a whole daemon, with neighbours on both sides: one plugin as a process of its own in raw lines, one in the
// daemon's process (plugin-lifecycle §9).
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ROUTE_REFRESH } from '../../../sdk/wire/message.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { assertCodesListed, reports } from '../../support/report-codes.ts';
import { writeScript } from '../../support/write-script.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';
import { attribute, NEXT_HOP, ORIGIN, u8, update } from '../../wire/build.ts';

const SDK = join(import.meta.dirname, '../../../dist/sdk/plugin/index.js');

/** In the daemon: adds a community to what comes in, keeps 203.0.113.0/24 from going out. */
const INSIDE = `
import { definePlugin } from ${JSON.stringify(SDK)};
export default definePlugin({
  name: 'inside',
  declaration: {
    filters: [
      { name: 'tag', direction: 'import', attributes: ['community'] },
      { name: 'keep', direction: 'export' },
    ],
  },
  setup(engine) {
    engine.plugin.onFilterUpdate(({ filter, update }) => {
      if (filter === 'tag') return { action: 'modify', update: 'community-add 64500:99' };
      return { action: update.includes('add 203.0.113.0/24') ? 'reject' : 'accept' };
    });
  },
});
`;

interface NeighbourPlan {
  readonly local: string;
  readonly as: number;
  readonly filter: string;
}

const PEERS = {
  source: { local: '127.0.0.2', as: 64512, filter: 'import [ ext:rules ];' },
  plain: { local: '127.0.0.3', as: 64513, filter: '' },
  guarded: { local: '127.0.0.4', as: 64514, filter: 'export [ ext:rules ];' },
  lenient: { local: '127.0.0.5', as: 64515, filter: 'import [ ext:lenient ];' },
  unwanted: { local: '127.0.0.6', as: 64999, filter: '' },
  tagged: { local: '127.0.0.7', as: 64517, filter: 'import [ inside:tag inactive:inside:gone ]; export [ inside:keep ];' },
} as const satisfies Readonly<Record<string, NeighbourPlan>>;
type Name = keyof typeof PEERS;

/** 198.51.N.0/24 */
const prefix = (octet: number): string => `18c633${u8(octet)}`;
const path = (...asns: readonly number[]): string =>
  attribute('4002', `02${u8(asns.length)}${asns.map((asn) => asn.toString(16).padStart(8, '0')).join('')}`);

describe('route filters', { timeout: 600_000 }, () => {
  let folder: string;
  let port: number;
  let zest: ZestProcess;
  const speakers = new Map<Name, RawSpeaker>();

  const config = (filters: Partial<Record<Name, string>> = {}): string => `
environment { log { level info; } }
plugin {
    external rib { use bgp-rib; }
    external rs { use bgp-rs; }
    external ext { run "exec node raw-filter.mjs"; }
    external inside { use ./inside.mjs; }
}
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
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
  const establish = async (name: Name): Promise<RawSpeaker> => {
    const speaker = await RawSpeaker.establish({ port, local: PEERS[name].local, as: PEERS[name].as });
    speakers.set(name, speaker);
    return speaker;
  };
  const speaker = (name: Name): RawSpeaker => {
    const found = speakers.get(name);
    assert.ok(found !== undefined);
    return found;
  };
  const announce = (from: Name, nlri: string): void => {
    const { as } = PEERS[from];
    speaker(from).send(update({ attributes: ORIGIN + path(as) + NEXT_HOP, nlri }));
  };
  /** Bodies of the UPDATEs that came to `name` with this in them, from the `since`th on. */
  const arrived = (name: Name, text: string, since = 0): readonly string[] =>
    speaker(name)
      .updates()
      .slice(since)
      .filter((body) => body.includes(text));
  const arrives = async (name: Name, text: string, since = 0): Promise<string> => {
    await speaker(name).until(`${text} at ${name}`, () => arrived(name, text, since).length > 0);
    return arrived(name, text, since)[0] ?? '';
  };
  /** A route that passes every filter comes after all that was sent before it. */
  let fence = 100;
  const settled = async (from: Name, ...to: readonly Name[]): Promise<void> => {
    const octet = fence++;
    announce(from, prefix(octet));
    for (const name of to) await arrives(name, prefix(octet));
  };
  const calls = async (): Promise<readonly Readonly<Record<string, string>>[]> =>
    (await zest.json('ext', 'seen'))['calls'] as readonly Readonly<Record<string, string>>[];

  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-filters-')));
    writeScript(folder, 'raw-filter');
    writeFileSync(join(folder, 'inside.mjs'), INSIDE);
    port = await freePort();
    zest = await ZestProcess.start(config(), {}, folder);
    for (const name of ['source', 'plain', 'guarded', 'lenient', 'tagged'] as const) await establish(name);
  });
  after(async () => {
    for (const one of speakers.values()) await one.close();
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('what a filter accepts goes on, and what it was told', async () => {
    announce('source', prefix(1));
    await arrives('plain', prefix(1));
    const call = (await calls()).find((one) => one['direction'] === 'import' && one['update']?.includes('198.51.1.0/24'));
    assert.equal(call?.['peer'], '127.0.0.2');
    assert.equal(call['update'], 'origin igp as-path 64512 next-hop 192.0.2.1 nlri ipv4/unicast add 198.51.1.0/24');
    assert.equal(
      Buffer.from(call['raw'] ?? '', 'base64')
        .toString('hex')
        .endsWith(prefix(1)),
      true,
    );
  });

  test('import: a rejected route is nobody’s', async () => {
    announce('source', prefix(2));
    await settled('source', 'plain');
    assert.deepEqual(arrived('plain', prefix(2)), []);
    const routes = JSON.stringify(await zest.json('rib', 'routes'));
    assert.equal(routes.includes('198.51.2.0/24'), false);
  });

  test('import: local preference and a community', async () => {
    announce('source', prefix(3));
    const body = await arrives('plain', prefix(3));
    assert.match(body, /c00804fbf40007/);
    const routes = JSON.stringify(await zest.json('rib', 'routes'));
    assert.match(routes, /198\.51\.3\.0\/24/);
    assert.match(routes, /300/);
  });

  test('import: the path is prepended', async () => {
    announce('source', prefix(4));
    const body = await arrives('plain', prefix(4));
    assert.match(body, new RegExp(path(64500, 64500, 64500, 64512)), 'two by the filter, one on the way out');
  });

  test('import: of two prefixes one', async () => {
    announce('source', prefix(5) + prefix(6));
    await arrives('plain', prefix(5));
    await settled('source', 'plain');
    assert.deepEqual(arrived('plain', prefix(6)), []);
  });

  test('import: a whole body in place of the one that came', async () => {
    announce('source', prefix(7));
    await arrives('plain', prefix(70));
    await settled('source', 'plain');
    assert.deepEqual(arrived('plain', prefix(7)), []);
  });

  test('import: a route that is kept out takes the one that stood before with it', async () => {
    announce('source', prefix(1) + prefix(20));
    await arrives('plain', prefix(20));
    const since = speaker('plain').updates().length;
    // The filter goes by the first prefix: the same routes again, behind one that is rejected.
    announce('source', prefix(2) + prefix(20));
    const body = await arrives('plain', prefix(20), since);
    assert.match(body, new RegExp(`^0004${prefix(20)}0000$`), 'a withdrawal');
  });

  test('an action nobody knows rejects, and is reported', async () => {
    announce('source', prefix(9));
    await settled('source', 'plain');
    assert.deepEqual(arrived('plain', prefix(9)), []);
    const entry = (await reports(zest)).find(({ code }) => code === 'filter-answer');
    assert.equal(entry?.subject, 'ext:rules');
    assert.match(entry.message, /unknown action "perhaps"/);
  });

  test('export: one neighbour gets less and other attributes, the others get all', async () => {
    announce('plain', prefix(2));
    announce('plain', prefix(3));
    announce('plain', prefix(5) + prefix(6));
    await arrives('source', prefix(2));
    await settled('plain', 'source', 'guarded');
    assert.deepEqual(arrived('guarded', prefix(2)), []);
    assert.match(arrived('guarded', prefix(3)).at(-1) ?? '', /c00804fbf40007/);
    assert.doesNotMatch(arrived('source', prefix(3)).at(-1) ?? '', /fbf40007/);
  });

  test('a filter in the daemon’s process, and one that is switched off', async () => {
    announce('tagged', prefix(30));
    assert.match(await arrives('plain', prefix(30)), /c00804fbf40063/);
    announce('plain', '18cb0071');
    await arrives('source', '18cb0071');
    await settled('plain', 'tagged');
    assert.deepEqual(arrived('tagged', '18cb0071'), []);
  });

  test('what filters kept out and changed is counted, each way', async () => {
    const counted = async (name: Name, view: string): Promise<readonly number[]> => {
      const peers = (await zest.json('peer', name, view))['peers'] as Readonly<Record<string, Readonly<Record<string, number>>>>;
      const fields = peers[PEERS[name].local] ?? {};
      return ['import-rejected', 'import-modified', 'export-rejected', 'export-modified'].map((one) => fields[one] ?? -1);
    };
    for (const view of ['detail', 'statistics']) assert.deepEqual(await counted('tagged', view), [0, 1, 1, 0], view);
    const [kept = 0, changed = 0] = await counted('source', 'detail');
    assert.ok(kept > 0 && changed > 0, `${kept} ${changed}`);
    const [, , keptOut = 0, changedOut = 0] = await counted('guarded', 'detail');
    assert.ok(keptOut > 0 && changedOut > 0, `${keptOut} ${changedOut}`);
  });

  test('a filter that takes its time keeps its own neighbour waiting, no other', async () => {
    const began = performance.now();
    announce('source', prefix(10));
    announce('source', prefix(21));
    announce('tagged', prefix(31));
    await arrives('plain', prefix(31));
    assert.deepEqual(arrived('plain', prefix(21)), [], 'it waits behind the one before it');
    await arrives('plain', prefix(21));
    assert.ok(performance.now() - began >= 4990, 'five seconds');
    assert.deepEqual(arrived('plain', prefix(10)), []);
    assert.ok(speaker('source').established && speaker('plain').established);
  });

  test('an OPEN that a plugin refuses is answered by its NOTIFICATION', async () => {
    const unwanted = await RawSpeaker.connect({ port, local: PEERS.unwanted.local, as: PEERS.unwanted.as });
    unwanted.send(unwanted.open());
    await unwanted.end();
    assert.equal(unwanted.notification?.slice(0, 3), '2/2');
    await unwanted.close();
  });

  test('a capability of a plugin is shown as the plugin reads it', async () => {
    const { local } = await zest.json('peer', 'plain', 'capabilities');
    const own = (local as readonly { readonly code: number }[]).find(({ code }) => code === 250);
    assert.deepEqual(own, { code: 250, name: 'unknown-250', value: 'abcd', decoded: { code: 250, octets: 2 } });
  });

  test('a chain that changes is followed without a new session: routes are asked for again, or sent again', async () => {
    const since = speaker('guarded').updates().length;
    zest.reload(config({ source: '', guarded: '' }));
    await eventually('a route refresh', () => (speaker('source').count(ROUTE_REFRESH) > 0 ? true : undefined));
    announce('source', prefix(2));
    await arrives('plain', prefix(2));
    await arrives('guarded', prefix(2), since);
    for (const name of ['source', 'plain', 'guarded'] as const) assert.ok(speaker(name).established, name);
    const before = speaker('source').count(ROUTE_REFRESH);
    zest.reload(config());
    await eventually('a second route refresh', () => (speaker('source').count(ROUTE_REFRESH) > before ? true : undefined));
  });

  test('a chain with a plugin that is not there is refused, with a guess', async () => {
    zest.reload(config({ plain: 'import [ exta:rules ];' }));
    await eventually('the refusal', async () =>
      (await reports(zest)).some(({ code }) => code === 'reload-refused') ? true : undefined,
    );
    await zest.logs(/undefined plugin in import filter: exta:rules/);
    assert.ok(speaker('plain').established);
  });

  test('a filter of the other direction is reported, and keeps all out', async () => {
    zest.reload(config({ plain: 'export [ ext:inbound ];' }));
    const entry = await eventually('the report', async () =>
      (await reports(zest)).find(({ code }) => code === 'filter-undeclared'),
    );
    assert.match(
      entry.message,
      /no export filter "inbound": plugin ext offers rules \(both\), lenient \(both\), inbound \(import\)/,
    );
    zest.reload(config());
    await eventually('it is taken back', async () =>
      (await reports(zest)).some(({ code }) => code === 'filter-undeclared') ? undefined : true,
    );
  });

  test('import: a filter ends the session with the NOTIFICATION it names', async () => {
    announce('source', prefix(8));
    await speaker('source').end();
    assert.equal(speaker('source').notification?.slice(0, 3), '6/4');
    await speaker('source').close();
  });

  test('a plugin that dies: its filters do what they said for that case', async () => {
    const again = await establish('source');
    announce('lenient', prefix(11));
    await arrives('plain', prefix(11));
    await eventually('the plugin is down', async () =>
      (await reports(zest)).some(({ code, subject }) => code === 'plugin-down' && subject === 'ext') ? true : undefined,
    );
    announce('lenient', prefix(40));
    await arrives('plain', prefix(40));
    announce('source', prefix(41));
    await settled('lenient', 'plain');
    await eventually('the warning', async () =>
      (await reports(zest)).some(({ code, subject }) => code === 'filter-unanswered' && subject === 'ext:rules')
        ? true
        : undefined,
    );
    assert.deepEqual(arrived('plain', prefix(41)), []);
    assert.ok(again.established);
    assertCodesListed((await reports(zest)).map(({ code }) => code));
  });

  test('no session but the one a filter ended has ended', () => {
    for (const name of ['plain', 'guarded', 'lenient', 'tagged'] as const) {
      assert.ok(speaker(name).established, `${name}: ${speaker(name).notification ?? speaker(name).ended ?? ''}`);
    }
  });
});
