// Leaves whose change is said to cost a refresh (`zx:change`): on live sessions, bytes go out. What decides on export has the neighbour's routes
// announced again, what decides on import has the neighbour asked for its routes (ROUTE-REFRESH), and no session ends.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { classedLeaves } from '../../../engine/config/schema/change-class.ts';
import { configSchema } from '../../../engine/config/load.ts';
import { ROUTE_REFRESH } from '../../../sdk/wire/message.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { freePort, ZestProcess } from '../../support/zest-process.ts';
import { attribute, NEXT_HOP, ORIGIN, update } from '../../wire/build.ts';

interface Row {
  /** Below the peer. */
  readonly leaf: string;
  /** Who has it; `source` sends the route, `sink` gets it. */
  readonly peer: 'source' | 'sink';
  readonly statement: string;
  readonly policy?: string;
  /** What the new UPDATE holds that the old one did not, in hex. */
  readonly shows?: RegExp;
}

const ROWS: readonly Row[] = [
  { leaf: 'session/as-override', peer: 'sink', statement: 'session { as-override true; }', shows: /0000fc000000fbf4/ },
  { leaf: 'session/community/send', peer: 'sink', statement: 'session { community { send [ large ]; } }' },
  { leaf: 'session/route-reflector-client', peer: 'sink', statement: 'session { route-reflector-client true; }' },
  { leaf: 'session/cluster-id', peer: 'sink', statement: 'session { cluster-id 10.0.0.7; }' },
  { leaf: 'session/next-hop', peer: 'sink', statement: 'session { next-hop unchanged; }', shows: /400304c0000201/ },
  { leaf: 'session/link-local', peer: 'sink', statement: 'session { link-local fe80::1; }' },
  {
    leaf: 'filter/export',
    peer: 'sink',
    statement: 'filter { export [ MED ]; }',
    policy: 'modify MED { set { med 77; } }',
    shows: /8004040000004d/,
  },
  {
    leaf: 'filter/egress/community/tag',
    peer: 'sink',
    statement: 'filter { egress { community { tag [ NAMED ]; } } }',
    shows: /fbf4004d/,
  },
  {
    leaf: 'filter/import',
    peer: 'source',
    statement: 'filter { import [ MED ]; }',
    policy: 'modify MED { set { med 78; } }',
  },
  {
    leaf: 'filter/ingress/community/tag',
    peer: 'source',
    statement: 'filter { ingress { community { tag [ NAMED ]; } } }',
  },
];

/** 198.51.100.0/24 */
const PREFIX = '18c63364';

describe('leaves that cost a refresh', { timeout: 600_000 }, () => {
  let port: number;
  let zest: ZestProcess;
  let source: RawSpeaker;
  let sink: RawSpeaker;
  const config = (row?: Row): string => {
    const peer = (name: 'source' | 'sink', host: number): string => `
    peer ${name} {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.${host}; connect false; } }
        session { asn { remote ${64510 + host}; } capability { route-refresh; } }
        process rs { receive [ update state refresh ]; send [ update refresh ]; }
        ${row?.peer === name ? row.statement : ''}
    }`;
    return `
plugin { external rs { use bgp-rs; } }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } family { ipv4/unicast { prefix { maximum 1000; } } } }
    community { standard NAMED { value [ 64500:77 ]; } }
    policy { ${row?.policy ?? ''} }
    ${peer('source', 2)}
    ${peer('sink', 3)}
}
`;
  };
  const announced = (): readonly string[] => sink.updates().filter((body) => body.endsWith(PREFIX));

  before(async () => {
    port = await freePort();
    zest = await ZestProcess.start(config());
    sink = await RawSpeaker.establish({ port, local: '127.0.0.3', as: 64513 });
    source = await RawSpeaker.establish({ port, local: '127.0.0.2', as: 64512 });
    source.send(
      update({
        attributes: ORIGIN + attribute('4002', '02020000fc000000fc01') + NEXT_HOP + attribute('c008', 'fbf40001'),
        nlri: PREFIX,
      }),
    );
    await sink.until('the route', () => announced().length === 1);
  });
  after(async () => {
    await source.close();
    await sink.close();
    await zest.stop();
  });

  test('the rows are leaves of that class', () => {
    const bgp = configSchema().root.children.find((child) => child.name === 'bgp');
    assert.ok(bgp);
    const classes = new Map(classedLeaves(bgp).map(({ path, change }) => [path, change]));
    for (const { leaf } of ROWS) assert.equal(classes.get(`bgp/peer/${leaf}`), 'refresh', leaf);
  });

  for (const row of ROWS) {
    test(`${row.leaf}: ${row.peer === 'sink' ? 'the route is announced again' : 'the neighbour is asked for its routes'}`, async () => {
      for (const [way, text] of [
        ['there', config(row)],
        ['back', config()],
      ] as const) {
        const [updates, asked] = [announced().length, source.count(ROUTE_REFRESH)];
        writeFileSync(zest.configPath, text);
        const report = await zest.json('daemon', 'reload');
        assert.deepEqual(report['peers-changed'], [row.peer]);
        if (row.peer === 'source') {
          await source.until('ROUTE-REFRESH', () => source.count(ROUTE_REFRESH) > asked);
          assert.deepEqual(report['peers-refreshed'], ['source']);
        } else {
          await sink.until(`the route again, ${way}`, () => announced().length > updates);
          const last = announced().at(-1) ?? '';
          assert.match(last, /^0000/, 'nothing is withdrawn');
          if (row.shows !== undefined) assert.equal(row.shows.test(last), way === 'there', last);
        }
        assert.ok(source.established && sink.established, `the sessions stay, ${way}`);
      }
    });
  }
});
