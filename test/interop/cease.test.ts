// Why a session ended, as the other side read it: our Cease subcodes and texts at BIRD and GoBGP.
import assert from 'node:assert/strict';
import { eventually, freePort, ZestProcess } from '../support/zest-process.ts';
import { bird } from './daemons/bird.ts';
import { FOREIGN, FOREIGN_ROUTES, peerTest, ZEST } from './daemons/foreign.ts';
import { gobgp } from './daemons/gobgp.ts';
import { peer, peerBlock, received, zestConfig } from './zest-side.ts';

const SECOND = '198.51.102.0/24';
const THIRD = '198.51.103.0/24';

async function ports(): Promise<{ readonly zestPort: number; readonly port: number }> {
  return { zestPort: await freePort(ZEST.ipv4), port: await freePort(FOREIGN.ipv4) };
}

peerTest('a peer above its prefix limit gets Cease 6/1, and stays down', [bird], async (t) => {
  const { zestPort, port } = await ports();
  const config = zestConfig([peerBlock({ over: 'ipv4', zestPort, foreignPort: port, maximum: 2 })]);
  const zest = await ZestProcess.start(config);
  t.after(() => zest.stop());
  const foreign = await bird.start({ zestPort, port, holdTimeSeconds: 90, over: 'ipv4', more: [SECOND, THIRD] });
  t.after(() => foreign.stop());

  await eventually('two routes are no reason to end the session', async () =>
    (await received(zest)).size === 2 ? true : undefined,
  );
  assert.equal((await peer(zest))['state'], 'established');

  await foreign.announce('ipv4');
  await eventually('BIRD was told', async () =>
    (await foreign.birdc('show protocols all zest')).includes('Received: Maximum number of prefixes reached') ? true : undefined,
  );
  await eventually('the peer is down', async () => ((await peer(zest))['state'] === 'idle' ? true : undefined));
  assert.equal((await received(zest)).size, 0);
  const down = await peer(zest);
  assert.deepEqual([down['last-down-reason'], down['admin-down']], ['prefix-limit', true]);
});

for (const { kind, shutdown } of [
  { kind: bird, shutdown: (text: string): string => `Administrative shutdown: "${text}"` },
  { kind: gobgp, shutdown: (text: string): string => `6/2 ${text}` },
]) {
  peerTest(`SIGTERM is an Administrative Shutdown with our text at ${kind.name}`, [kind], async (t) => {
    const { zestPort, port } = await ports();
    const zest = await ZestProcess.start(zestConfig([peerBlock({ over: 'ipv4', zestPort, foreignPort: port })]));
    t.after(() => zest.stop());
    const foreign = await kind.start({ zestPort, port, holdTimeSeconds: 90, over: 'ipv4' });
    t.after(() => foreign.stop());
    await eventually('the session is up', async () => ((await foreign.established()) ? true : undefined));
    assert.equal(await zest.stop(), 0);
    const heard = await eventually('the foreign daemon was told', () => foreign.ceases()[0]);
    assert.equal(heard, shutdown('shutdown'));
  });

  peerTest(`RFC 9003: the operator's words reach ${kind.name}, and the session comes back`, [kind], async (t) => {
    const { zestPort, port } = await ports();
    const zest = await ZestProcess.start(zestConfig([peerBlock({ over: 'ipv4', zestPort, foreignPort: port })]));
    t.after(() => zest.stop());
    const foreign = await kind.start({ zestPort, port, holdTimeSeconds: 90, over: 'ipv4' });
    t.after(() => foreign.stop());
    await eventually('the session is up', async () => ((await foreign.established()) ? true : undefined));
    await zest.json('peer', 'foreign', 'teardown', '2', 'maintenance: Größe 5');
    const heard = await eventually('the foreign daemon was told', () => foreign.ceases()[0]);
    assert.equal(heard, shutdown('maintenance: Größe 5'));
    await foreign.announce('ipv4');
    await eventually('the route is there again', async () => (await received(zest)).get(FOREIGN_ROUTES.ipv4), 40_000);
    assert.equal((await peer(zest))['last-down-reason'], 'maintenance: Größe 5');
  });
}
