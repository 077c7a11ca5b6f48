// H13: a neighbour that stops reading while routes flow. By best path nobody notices; where messages are passed on it is given up after five
// seconds, in which the others are held back, and stays away longer each time.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { UPDATE } from '../../../sdk/wire/message.ts';
import { startFlood } from '../../support/flood.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { assertCodesListed, reports } from '../../support/report-codes.ts';
import { writeScript } from '../../support/write-script.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';

const PREFIXES = 100_000;
const [FLOOD, GOOD, STUCK] = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];

async function stage(t: TestContext, routeServer: string) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-window-')));
  writeScript(folder, 'flood-speaker');
  const port = await freePort();
  const peer = (name: string, address: string, as: number): string => `
    peer ${name} {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip ${address}; connect false; } }
        session { asn { remote ${as}; } next-hop unchanged; family { ipv4/unicast { prefix { maximum 1000000; } } } }
        timer { receive-hold-time 9; }
        process rs { receive [ update state ]; send [ update ]; }
    }`;
  const zest = await ZestProcess.start(
    `plugin { external rs { use bgp-rs; } }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    ${routeServer}${peer('flood', FLOOD, 64512)}${peer('good', GOOD, 64513)}${peer('stuck', STUCK, 64514)}
}
`,
    {},
    folder,
  );
  const session = (local: string, as: number): Promise<RawSpeaker> =>
    RawSpeaker.establish({ port, local, as, holdSeconds: 9, families: [0x0101] });
  const [good, stuck] = await Promise.all([session(GOOD, 64513), session(STUCK, 64514)]);
  const flood = startFlood(folder, port, FLOOD, PREFIXES);
  t.after(async () => {
    flood.child.kill('SIGKILL');
    stuck.reset();
    await good.close();
    assert.equal(await zest.stop(), 0);
    rmSync(folder, { recursive: true, force: true });
  });
  stuck.socket.pause();
  const isUnharmed = (): void => {
    assert.ok(good.established);
    assert.equal(flood.error, undefined);
    assert.ok(good.largestGap < 4500 && flood.gap < 4500, `${good.largestGap} ms, ${flood.gap} ms`);
    const [, kb = '0'] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${zest.child.pid ?? 0}/status`, 'utf8')) ?? [];
    assert.ok(Number(kb) / 1024 < 300, `${kb} kB at most`);
  };
  return { zest, good, flood, session, isUnharmed };
}

test('by best path the others go on', { timeout: 600_000 }, async (t) => {
  const { good, flood, isUnharmed } = await stage(t, 'route-server { best-path true; }');
  // Far more than kernel buffers hold goes to the others while one takes nothing.
  await eventually('the table went round thirty times', () => (flood.announced > 30 * PREFIXES ? true : undefined), 60_000);
  const before = good.count(UPDATE);
  await eventually('updates still arrive', () => (good.count(UPDATE) > before + 500 ? true : undefined));
  isUnharmed();
});

test('as messages: it is given up, and the others go on', { timeout: 600_000 }, async (t) => {
  const { zest, good, flood, session, isUnharmed } = await stage(t, '');
  /** When it was given up for the nth time, in ms since 1970. */
  const given = async (times: number): Promise<number | undefined> => {
    const drops = (await reports(zest)).filter(
      ({ code, subject, message }) => code === 'session-dropped' && subject === STUCK && message.includes('congestion'),
    );
    const drop = drops[times - 1];
    return drop === undefined ? undefined : Date.parse(drop.raised);
  };
  await eventually('a warning says so', async () =>
    (await reports(zest)).some(({ code, subject }) => code === 'peer-congested' && subject === STUCK) ? true : undefined,
  );
  await eventually('it is given up', () => given(1));
  const before = flood.announced;
  await eventually('routes flow again', () => (flood.announced > before + 5 * PREFIXES ? true : undefined));
  const again = await session(STUCK, 64514);
  again.socket.pause();
  const dropped = await eventually('it is given up again', () => given(2));
  again.reset();
  // The first error is forgiven, the second costs two seconds; on a machine that is late they may be over.
  const early = await session(STUCK, 64514).catch(() => undefined);
  assert.ok(early === undefined || Date.now() - dropped > 2000, 'it has to wait now');
  early?.reset();
  const updates = good.count(UPDATE);
  await eventually('updates arrive', () => (good.count(UPDATE) > updates + 500 ? true : undefined));
  const entries = await reports(zest);
  assertCodesListed(entries.map(({ code }) => code));
  assert.ok(!entries.some(({ code }) => code === 'peer-congested'), 'the warning is gone');
  isUnharmed();
});
