// Routes that come and go without a reload, as BIRD and GoBGP see them: default-originate, pools at a word, pools that a probe moves.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, freePort, ZestProcess } from '../support/zest-process.ts';
import { bird } from './daemons/bird.ts';
import { FOREIGN, peerTest, ZEST } from './daemons/foreign.ts';
import { gobgp } from './daemons/gobgp.ts';
import { peer, peerBlock, zestConfig } from './zest-side.ts';

const pool = (name: string, prefixes: string, more = ''): string =>
  `update { attribute { origin igp; next-hop ${ZEST.ipv4}; } nlri { ipv4/unicast add ${prefixes}; } watchdog { name ${name}; ${more} } }`;

for (const kind of [bird, gobgp]) {
  peerTest(
    `${kind.name} gets a default route and pools that are announced, withdrawn, kept over a reload and moved by a probe`,
    [kind],
    async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'zest-pools-'));
      const zestPort = await freePort(ZEST.ipv4);
      const port = await freePort(FOREIGN.ipv4);
      const flag = join(folder, 'healthy');
      const probe = `healthcheck { probe web { command "test -e ${flag}"; group anycast; interval 1; fast-interval 1; rise 1; fall 1; withdraw-on-down true; } }`;
      const config = (more = '', maximum = 1000): string =>
        zestConfig(
          [
            peerBlock({
              over: 'ipv4',
              zestPort,
              foreignPort: port,
              maximum,
              more:
                pool('web', '203.0.113.0/26 203.0.113.64/26') +
                pool('always', '203.0.113.128/26', 'withdraw false;') +
                pool('anycast', '203.0.113.192/26') +
                more,
            }).replace('family { ipv4/unicast {', 'family { ipv4/unicast { default-originate true;'),
          ],
          { more: probe },
        );
      const zest = await ZestProcess.start(config(), {}, folder);
      const foreign = await kind.start({ zestPort, port, holdTimeSeconds: 90, over: 'ipv4' });
      t.after(async () => {
        await foreign.stop();
        await zest.stop();
        rmSync(folder, { recursive: true, force: true });
      });
      const has = (what: string, ...prefixes: readonly string[]): Promise<unknown> =>
        eventually(`${what}: ${prefixes.join(' ')}`, async () => {
          const now = [...(await foreign.routes('ipv4')).keys()].sort();
          assert.deepEqual(now, [...prefixes].sort());
          return true;
        });
      const [always, first, second, anycast] = ['203.0.113.128/26', '203.0.113.0/26', '203.0.113.64/26', '203.0.113.192/26'];
      await has('at the start', '0.0.0.0/0', always);
      assert.deepEqual(await zest.json('watchdog', 'announce', 'web'), { watchdog: 'web', peers: 1, action: 'announce' });
      await has('announced', '0.0.0.0/0', always, first, second);
      const sent = async (): Promise<unknown> => (await peer(zest))['updates-sent'];
      const before = await sent();
      assert.deepEqual(await zest.json('watchdog', 'announce', 'web', 'foreign'), {
        peer: FOREIGN.ipv4,
        watchdog: 'web',
        count: 2,
      });
      assert.equal(await sent(), before, 'what was announced is not sent again');
      await zest.json('watchdog', 'announce', 'web', 'med', '77');
      await eventually('a MED is news', async () => ((await sent()) === before ? undefined : true));
      await zest.json('watchdog', 'withdraw', 'always', FOREIGN.ipv4);
      await has('one withdrawn', '0.0.0.0/0', first, second);
      zest.reload(config(pool('web', '203.0.114.0/24')));
      await has('a route more in an announced pool; the withdrawn one stays so', '0.0.0.0/0', first, second, '203.0.114.0/24');
      zest.reload(config());
      await has('and less', '0.0.0.0/0', first, second);
      const upSince = await foreign.upSince();
      writeFileSync(flag, '');
      await has('the probe is up', '0.0.0.0/0', first, second, anycast);
      rmSync(flag);
      await has('the probe is down', '0.0.0.0/0', first, second);
      assert.equal(await foreign.upSince(), upSince);
      await foreign.restart();
      await has('the state outlives the session', '0.0.0.0/0', first, second);
      const refused = await zest.cli('watchdog', 'announce', 'nobody');
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /no peer has a pool "nobody" \(there are always, anycast, web\)/);
      zest.reload(config().replace('default-originate true;', ''));
      await has('without default-originate', first, second);
    },
  );
}
