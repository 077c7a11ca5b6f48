// Named filters, community tagging and roles with BIRD on the other side: what the chains say is what it has, and what it gets.
import assert from 'node:assert/strict';
import { eventually, freePort, ZestProcess } from '../support/zest-process.ts';
import { bird } from './daemons/bird.ts';
import { FOREIGN, FOREIGN_AS, LOCAL_AS, peerTest, ZEST } from './daemons/foreign.ts';
import { peer, peerBlock, received, zestConfig } from './zest-side.ts';

const POLICY = `
    community { standard OURS { value [ 65000:77 65000:78 ]; } large HERE { value 65000:1:2; } standard SECRET { value 65000:666; } }
    policy {
        prefix-list OUT { entry 203.0.113.0/24 { ge 25; le 26; } entry 198.18.0.0/15; }
        prefix-list SHORT { entry 0.0.0.0/0 { le 24; } }
        as-path-list DIRECT { entry "^${FOREIGN_AS}$"; }
        as-path-list NOBODY { entry "^1$"; }
        modify LONG { set { as-path-prepend 3; med 50; } }
        modify PREFER { set { local-preference 250; community-add 65000:9; } }
    }`;

const announced = (prefix: string, more = ''): string => `update {
            attribute { origin igp; next-hop ${ZEST.ipv4}; community [ 65000:666 65000:5 ]; ${more} }
            nlri { ipv4/unicast add ${prefix}; }
        }`;
const ROUTES = ['203.0.113.0/24', '203.0.113.0/25', '203.0.113.64/26', '203.0.113.64/27', '198.18.0.0/15']
  .map((one) => announced(one))
  .join('\n');

const EXPORT = 'egress { community { strip SECRET; tag [ OURS HERE ]; } } export [ prefix-list:OUT LONG ];';

peerTest('chains of named filters with BIRD', [bird], async (t) => {
  const zestPort = await freePort(ZEST.ipv4);
  const port = await freePort(FOREIGN.ipv4);
  const config = (filters: string): string =>
    zestConfig([peerBlock({ over: 'ipv4', zestPort, foreignPort: port, more: `${ROUTES} filter { ${filters} }` })], {
      more: POLICY,
    });
  const zest = await ZestProcess.start(config(`${EXPORT} import [ SHORT DIRECT PREFER ];`));
  t.after(() => zest.stop());
  const more = ['198.51.100.0/24', '198.51.101.0/25', '198.51.102.0/23'];
  const foreign = await bird.start({ zestPort, port, holdTimeSeconds: 90, over: 'ipv4', more });
  t.after(() => foreign.stop());
  await eventually('the session is up', async () => ((await foreign.established()) ? true : undefined));
  const prefixes = async (): Promise<readonly string[]> => [...(await foreign.routes('ipv4')).keys()].toSorted();
  const holds = (...wanted: readonly string[]): Promise<unknown> =>
    eventually(`BIRD holds ${wanted.join(' ')}`, async () =>
      (await prefixes()).join() === wanted.toSorted().join() ? true : undefined,
    );

  await t.test('exports: prefixes, prepends and communities as BIRD has them', async () => {
    await holds('203.0.113.0/25', '203.0.113.64/26', '198.18.0.0/15');
    for (const route of (await foreign.routes('ipv4')).values()) {
      assert.deepEqual(route.asPath, new Array(4).fill(LOCAL_AS));
      assert.deepEqual(route.communities, ['65000:5', '65000:77', '65000:78']);
      assert.deepEqual(route.largeCommunities, ['65000:1:2']);
    }
  });

  await t.test('imports: what is refused is not there, what is accepted is changed', async () => {
    const routes = await eventually('two of three are in', async () => {
      const all = await received(zest);
      return all.size === 2 ? all : undefined;
    });
    assert.deepEqual([...routes.keys()].toSorted(), ['198.51.100.0/24', '198.51.102.0/23']);
    for (const route of routes.values()) assert.deepEqual(route.community, ['65000:9']);
  });

  await t.test('a reload changes both chains and the session stays', async () => {
    zest.reload(config('export [ prefix-list:SHORT ]; import [ NOBODY ];'));
    await holds('203.0.113.0/24', '198.18.0.0/15');
    for (const route of (await foreign.routes('ipv4')).values()) {
      assert.deepEqual(route.asPath, [LOCAL_AS]);
      assert.deepEqual(route.communities, ['65000:666', '65000:5']);
    }
    await eventually('nothing is accepted now', async () => ((await received(zest)).size === 0 ? true : undefined));
    zest.reload(config('import [ ];'));
    await holds('203.0.113.0/24', '203.0.113.0/25', '203.0.113.64/26', '203.0.113.64/27', '198.18.0.0/15');
    await eventually('all is accepted', async () => ((await received(zest)).size === 3 ? true : undefined));
    assert.equal((await peer(zest))['flaps'], 0);
  });

  await t.test('a definition that changes under a name is in force as well', async () => {
    const changed = config('export [ prefix-list:SHORT ];').replace(
      'prefix-list SHORT { entry 0.0.0.0/0 { le 24; } }',
      'prefix-list SHORT { entry 0.0.0.0/0 { le 25; } }',
    );
    zest.reload(config('export [ prefix-list:SHORT ];'));
    await holds('203.0.113.0/24', '198.18.0.0/15');
    zest.reload(changed);
    await holds('203.0.113.0/24', '203.0.113.0/25', '198.18.0.0/15');
    assert.equal((await peer(zest))['flaps'], 0);
  });
});

peerTest('roles (RFC 9234) with BIRD', [bird], async (t) => {
  const zestPort = await freePort(ZEST.ipv4);
  const port = await freePort(FOREIGN.ipv4);
  const otc = (asn: number): string => `attribute [ 35 0xc0 0x${asn.toString(16).padStart(8, '0')} ];`;
  const routes = `${announced('203.0.113.0/24')} ${announced('198.18.0.0/15', otc(64999))}`;
  const config = (role: string): string =>
    zestConfig([
      peerBlock({ over: 'ipv4', zestPort, foreignPort: port, more: `${routes} role { import ${role}; strict true; }` }),
    ]);
  const zest = await ZestProcess.start(config('provider'));
  t.after(() => zest.stop());
  const foreign = await bird.start({
    zestPort,
    port,
    holdTimeSeconds: 90,
    over: 'ipv4',
    session: 'local role customer; require roles yes;',
  });
  t.after(() => foreign.stop());

  await t.test('we are the provider: our AS marks what has no mark, another mark stays', async () => {
    await eventually('the session is up', async () => ((await foreign.established()) ? true : undefined));
    const text = await eventually('both routes are there', async () => {
      const all = await foreign.birdc('show route all protocol zest table master4');
      return all.includes('203.0.113.0/24') && all.includes('198.18.0.0/15') ? all : undefined;
    });
    const marks = Object.fromEntries(
      text.split(/\n(?=[0-9.]+\/\d+)/).flatMap((block) => {
        const prefix = /^([0-9.]+\/\d+)/m.exec(block)?.[1];
        return prefix === undefined ? [] : [[prefix, /BGP\.otc: (.*)/.exec(block)?.[1]]];
      }),
    );
    assert.deepEqual(marks, { '203.0.113.0/24': String(LOCAL_AS), '198.18.0.0/15': '64999' });
  });

  await t.test('roles that do not fit are refused by both', async () => {
    zest.reload(config('customer'));
    await eventually('the mismatch is told', async () => {
      const errors = JSON.stringify(await zest.json('show', 'errors'));
      return /role/i.test(errors) || /role mismatch/i.test(foreign.log()) ? true : undefined;
    });
    assert.equal(await foreign.established(), false);
  });
});
