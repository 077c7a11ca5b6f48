// Reloads: peers come and go by the file, and the session of a peer that did not change never notices. ZEST_RELOADS (20) sets how many follow
// each other under traffic.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { eventually, freePort, ZestProcess } from '../support/zest-process.ts';
import { bird } from './daemons/bird.ts';
import { gobgp } from './daemons/gobgp.ts';
import { FOREIGN, FOREIGN_ROUTES, peerTest, ZEST } from './daemons/foreign.ts';
import { LAB_ADDRESS, LAB_AS, LabProcess } from './lab-process.ts';
import { peer, peerBlock, received, zestConfig } from './zest-side.ts';

const LAB_ROUTES = 100;
const RELOADS = Number(process.env['ZEST_RELOADS'] ?? '20');

peerTest('a reload adds and removes a peer while the session with BIRD stays up', [bird], async (t) => {
  const zestPort = await freePort(ZEST.ipv4);
  const port = await freePort(FOREIGN.ipv4);
  const first = peerBlock({ over: 'ipv4', zestPort, foreignPort: port });
  const second = peerBlock({
    name: 'second',
    over: 'ipv4',
    zestPort,
    foreignPort: await freePort(LAB_ADDRESS),
    remote: LAB_ADDRESS,
    remoteAs: LAB_AS,
  });
  const zest = await ZestProcess.start(zestConfig([first]));
  t.after(() => zest.stop());
  const foreign = await bird.start({ zestPort, port, holdTimeSeconds: 90, over: 'ipv4' });
  t.after(() => foreign.stop());
  await eventually('the session is up', async () => ((await foreign.established()) ? true : undefined));
  await foreign.announce('ipv4');
  await eventually('its route is there', async () => (await received(zest)).get(FOREIGN_ROUTES.ipv4));
  const before = sessionStates();
  assert.equal(before.at(-1), 'up');
  const lab = new LabProcess('--connect', `${ZEST.ipv4}:${zestPort}`, '--local', LAB_ADDRESS, '--announce', String(LAB_ROUTES));
  t.after(() => lab.stop());

  await t.test('a peer is added', async () => {
    zest.reload(zestConfig([first, second]));
    await eventually('the new peer is up', () => lab.events('up')[0]);
    await eventually('its routes are there', async () => ((await received(zest)).size === LAB_ROUTES + 1 ? true : undefined));
    await undisturbed();
  });

  await t.test('a file that cannot be is refused, and all goes on', async () => {
    zest.reload(zestConfig([first, second.replace(`remote ${LAB_AS};`, 'remote nobody;')]));
    await eventually('the reload is refused', () => (/reload refused/.test(zest.output) ? true : undefined));
    assert.equal((await peer(zest, 'second'))['state'], 'established');
    assert.equal(lab.events('down').length, 0);
    await undisturbed();
  });

  await t.test('a peer is removed, and told so', async () => {
    zest.reload(zestConfig([first]));
    const down = await eventually('the removed peer is down', () => lab.events('down')[0]);
    assert.match(String(down['reason']), /Cease \/ Peer De-configured/);
    await eventually('its routes are gone', async () => ((await received(zest)).size === 1 ? true : undefined));
    await assert.rejects(peer(zest, 'second'));
    await undisturbed();
  });

  async function undisturbed(): Promise<void> {
    assert.deepEqual(sessionStates(), before);
    assert.ok(await foreign.established());
    assert.equal((await peer(zest))['flaps'], 0);
    assert.ok((await received(zest)).has(FOREIGN_ROUTES.ipv4));
  }

  /** Every state of the session so far, as BIRD logged it. */
  function sessionStates(): readonly string[] {
    return [...foreign.log().matchAll(/zest: State changed to (\w+)/g)].map((m) => m[1] ?? '');
  }
});

for (const kind of [bird, gobgp]) {
  peerTest(
    `${RELOADS} reloads while ${kind.name} sends and withdraws: what changed is sent once, nothing else happens`,
    [kind],
    async (t) => {
      const zestPort = await freePort(ZEST.ipv4);
      const port = await freePort(FOREIGN.ipv4);
      const block = (prefix: string, more = ''): string =>
        `update { attribute { origin igp; next-hop ${ZEST.ipv4}; ${more} } nlri { ipv4/unicast add ${prefix}; } }`;
      const changed = (round: number): string => block('203.0.113.128/25', `med ${round};`);
      const config = (round: number): string => {
        const more = `description "round ${round}"; ${block('203.0.113.0/25')} ${changed(round)}`;
        const peers = [peerBlock({ over: 'ipv4', zestPort, foreignPort: port, more })];
        // Another peer comes and goes; nobody answers there.
        if (round % 2 === 1)
          peers.push(
            peerBlock({ name: 'second', over: 'ipv4', zestPort, foreignPort: port, remote: LAB_ADDRESS, remoteAs: LAB_AS }),
          );
        return zestConfig(peers);
      };
      const zest = await ZestProcess.start(config(0));
      t.after(() => zest.stop());
      const foreign = await kind.start({ zestPort, port, holdTimeSeconds: 90, over: 'ipv4' });
      t.after(() => foreign.stop());
      await eventually('the session is up', async () => ((await foreign.established()) ? true : undefined));
      await eventually('both routes are there', async () => ((await foreign.routes('ipv4')).size === 2 ? true : undefined));
      const since = await foreign.upSince();
      const sent = async (): Promise<number> => Number((await peer(zest))['updates-sent']);
      const before = await sent();
      for (let round = 1; round <= RELOADS; round++) {
        const traffic = round % 2 === 1 ? foreign.announce('ipv4') : foreign.withdraw('ipv4');
        writeFileSync(zest.configPath, config(round));
        const report = await zest.json('daemon', 'reload');
        assert.deepEqual(report['peers-changed'], ['foreign']);
        await traffic;
      }
      assert.equal((await sent()) - before, RELOADS, 'one UPDATE for each route that changed');
      await zest.json('daemon', 'reload');
      writeFileSync(zest.configPath, config(RELOADS).replace('origin igp', 'origin nonsense'));
      await assert.rejects(zest.json('daemon', 'reload'), /unchanged/);
      assert.equal((await sent()) - before, RELOADS, 'a reload of the same file and one that is refused send nothing');
      assert.equal((await foreign.routes('ipv4')).size, 2);
      assert.equal(await foreign.upSince(), since, `${kind.name} has seen its session down`);
      assert.equal((await peer(zest))['flaps'], 0);
      t.diagnostic(`${RELOADS} reloads, ${(await sent()) - before} UPDATEs, flaps 0, ${kind.name} says ${since}`);
    },
  );
}
