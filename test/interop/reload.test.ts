// SIGHUP: peers come and go by the file, and the session of a peer that did not change never notices.
import assert from 'node:assert/strict';
import { eventually, freePort, ZestProcess } from '../support/zest-process.ts';
import { bird } from './daemons/bird.ts';
import { FOREIGN, FOREIGN_ROUTES, peerTest, ZEST } from './daemons/foreign.ts';
import { LAB_ADDRESS, LAB_AS, LabProcess } from './lab-process.ts';
import { peer, peerBlock, received, zestConfig } from './zest-side.ts';

const LAB_ROUTES = 100;

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
