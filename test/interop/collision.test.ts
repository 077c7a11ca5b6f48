// RFC 4271 §6.8 with BIRD: both sides dial at once, all four OPENs arrive before any KEEPALIVE, and both must choose the same connection.
import assert from 'node:assert/strict';
import { eventually, freePort, ZestProcess } from '../support/zest-process.ts';
import { bird } from './daemons/bird.ts';
import { FOREIGN, FOREIGN_ROUTES, peerTest, ZEST } from './daemons/foreign.ts';
import { Relay } from './relay.ts';
import { peer, peerBlock, received, zestConfig } from './zest-side.ts';

for (const { higher, ours, theirs } of [
  { higher: 'zest', ours: '10.0.0.9', theirs: '10.0.0.2' },
  { higher: 'BIRD', ours: '10.0.0.1', theirs: '10.0.0.2' },
]) {
  peerTest(`of two connections the one that the higher identifier began stays: ${higher}`, [bird], async (t) => {
    const [zestPort, toZest] = [await freePort(ZEST.ipv4), await freePort(ZEST.ipv4)];
    const [port, toBird] = [await freePort(FOREIGN.ipv4), await freePort(FOREIGN.ipv4)];
    const byBird = await new Relay({
      host: ZEST.ipv4,
      port: toZest,
      to: { host: ZEST.ipv4, port: zestPort, from: FOREIGN.ipv4 },
    }).listen();
    t.after(() => byBird.close());
    const byZest = await new Relay({
      host: FOREIGN.ipv4,
      port: toBird,
      to: { host: FOREIGN.ipv4, port, from: ZEST.ipv4 },
    }).listen();
    t.after(() => byZest.close());

    const foreign = await bird.start({ zestPort: toZest, port, holdTimeSeconds: 90, over: 'ipv4', routerId: theirs });
    t.after(() => foreign.stop());
    const zest = await ZestProcess.start(
      zestConfig([peerBlock({ over: 'ipv4', zestPort, foreignPort: toBird })], { routerId: ours }),
    );
    t.after(() => zest.stop());

    await eventually('each side has sent its OPEN on both connections', () =>
      byBird.bothOpensCame && byZest.bothOpensCame ? true : undefined,
    );
    const [stays, goes] = higher === 'zest' ? [byZest, byBird] : [byBird, byZest];
    const begun = stays.connections;
    for (const relay of [byBird, byZest]) relay.gate = 'opens';
    await eventually('the other connection is refused', () => (goes.notifications.length > 0 ? true : undefined));
    assert.deepEqual([...new Set(goes.notifications)], ['6/7']);
    for (const relay of [byBird, byZest]) relay.gate = 'wide';

    await eventually('the session is up', async () =>
      (await peer(zest))['state'] === 'established' && (await foreign.established()) ? true : undefined,
    );
    await foreign.announce('ipv4');
    await eventually('routes pass', async () => (await received(zest)).get(FOREIGN_ROUTES.ipv4));
    assert.deepEqual([stays.notifications, stays.connections], [[], begun], 'on the connection that stayed');
    assert.equal((await peer(zest))['flaps'], 0);
  });
}
