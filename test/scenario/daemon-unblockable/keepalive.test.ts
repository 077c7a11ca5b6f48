// Promise 1: no plugin, command or reader makes a KEEPALIVE late. Hold time 9 s, a neighbour that announces without end, and beside it a
// plugin that never returns to its event loop, one that never reads again, one in the daemon's own process that blocks its main thread for
// five seconds at a time, monitors and a command line that stop reading. ZEST_UNBLOCKABLE_SECONDS sets how long (20).
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { UPDATE } from '../../../sdk/wire/message.ts';
import { startFlood } from '../../support/flood.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { assertCodesListed, reports } from '../../support/report-codes.ts';
import { writeScript } from '../../support/write-script.ts';
import { eventually, freePort, PROGRAM, ZestProcess } from '../../support/zest-process.ts';

const SECONDS = Number(process.env['ZEST_UNBLOCKABLE_SECONDS'] ?? 20);
/** A third of the hold time, half as much again. */
const LATEST_MS = 4500;
const HOLD_SECONDS = 9;
const PREFIXES = 100_000;
const FLOOD = '127.0.0.2';
/** Announces as well, and is held back for a plugin that takes nothing. */
const HELD = '127.0.0.5';
const READERS = ['127.0.0.3', '127.0.0.4'];

const BLOCKER = `
import { definePlugin } from '${pathToFileURL(join(dirname(PROGRAM), '../sdk/plugin/index.js')).href}';
export default definePlugin({
  name: 'blocker',
  setup(engine) {
    let blocks = 0;
    let freeAt = 0;
    engine.onUpdates(() => {
      if (performance.now() < freeAt) return;
      const until = performance.now() + 5000;
      while (performance.now() < until);
      blocks++;
      freeAt = performance.now() + 1500;
    });
    engine.command('blocker count', () => ({ blocks }));
  },
});
`;

const config = (port: number): string => `
environment { log { level info; } }
plugin {
    external rs { use bgp-rs; }
    external spinner { run "exec node raw-plugin.mjs how=spin at=7"; }
    external deaf { run "exec node raw-plugin.mjs how=deaf at=6"; }
    external stuck { run "exec node raw-plugin.mjs how=silent at=7"; queue { on-overflow hold-peer; } }
    external blocker { use ./blocker.mjs; }
}
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    group all {
        connection { local { ip 127.0.0.1; port ${port}; } remote { connect false; } }
        session { next-hop unchanged; family { ipv4/unicast { prefix { maximum 1000000; } } } }
        timer { receive-hold-time ${HOLD_SECONDS}; }
        process rs { receive [ update state ]; send [ update ]; }
        process spinner { receive [ update state ]; }
        process deaf { receive [ update state ]; }
        peer held { connection { remote { ip ${HELD}; } } session { asn { remote 64512; } } process stuck { receive [ update ]; } }
        peer flood { connection { remote { ip ${FLOOD}; } } session { asn { remote 64512; } } }
${READERS.map((address, i) => `        peer reader${i} { connection { remote { ip ${address}; } } session { asn { remote ${64513 + i}; } } }`).join('\n')}
    }
}
`;

/** A client of the control socket that asks and then reads no more. */
function askAndStop(zest: ZestProcess, command: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(join(zest.folder, 'control.sock'));
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.write(`#1 ze-plugin-engine:dispatch-command ${JSON.stringify({ command })}\n`);
      socket.once('data', () => {
        socket.pause();
        resolve(socket);
      });
    });
  });
}

function residentMb(pid: number): number {
  const [, kb = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kb) / 1024;
}

test('no plugin and no reader makes a KEEPALIVE late', { timeout: (SECONDS + 600) * 1000 }, async (t) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-unblockable-')));
  writeScript(folder, 'raw-plugin');
  writeScript(folder, 'flood-speaker');
  writeFileSync(join(folder, 'blocker.mjs'), BLOCKER);
  const port = await freePort();
  // Neither of the two that hang is let go while this lasts.
  const zest = await ZestProcess.start(config(port), { ze_plugin_delivery_timeout: '10m' }, folder);
  const stopped: Socket[] = [];
  t.after(async () => {
    for (const socket of stopped) socket.destroy();
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const readers = await Promise.all(
    READERS.map((local, i) =>
      RawSpeaker.establish({ port, local, as: 64513 + i, holdSeconds: HOLD_SECONDS, families: [0x0101] }),
    ),
  );
  const flood = startFlood(folder, port, FLOOD, PREFIXES);
  const held = startFlood(folder, port, HELD, PREFIXES);
  t.after(() => {
    flood.child.kill('SIGKILL');
    held.child.kill('SIGKILL');
  });
  await eventually(
    'routes flow',
    () => (readers.every((reader) => reader.count(UPDATE) > 10) && flood.announced > PREFIXES ? true : undefined),
    30_000,
  );
  for (let i = 0; i < 3; i++) stopped.push(await askAndStop(zest, 'monitor event'));
  stopped.push(await askAndStop(zest, 'rib routes'));
  const pid = zest.child.pid ?? 0;
  const start = performance.now();
  const announcedAtStart = flood.announced;
  let highest = 0;
  while (performance.now() - start < SECONDS * 1000) {
    await wait(500);
    highest = Math.max(highest, residentMb(pid));
    for (const reader of readers)
      assert.ok(reader.established, `${reader.options.local}: ${reader.notification ?? ''} ${reader.ended ?? ''}`);
    assert.deepEqual([flood.error, held.error], [undefined, undefined]);
    assert.equal(zest.exitCode, undefined);
  }
  const gaps = readers.map((reader) => Math.round(reader.largestGap));
  t.diagnostic(
    `${SECONDS} s: ${flood.announced - announcedAtStart} prefixes announced, largest gaps between KEEPALIVEs ${gaps.join(', ')} ms at the readers, ` +
      `${flood.gap} ms at the announcer, ${held.gap} ms at the one held back, ${Math.round(highest)} MB resident at most`,
  );
  assert.ok(flood.announced - announcedAtStart > PREFIXES, 'routes were flowing all the time');
  for (const gap of [...gaps, flood.gap, held.gap]) assert.ok(gap > 0 && gap < LATEST_MS, `${gap} ms`);
  assert.ok(highest < 500, `${highest} MB`);
  for (const socket of stopped) socket.destroy();
  await eventually(
    'the plugins were at work, and no session has dropped',
    async () => {
      const { blocks } = (await zest.json('blocker', 'count')) as { blocks: number };
      assert.ok(blocks >= 2, 'the main thread was blocked');
      const entries = await reports(zest);
      assert.deepEqual(
        entries.filter(({ code }) => code === 'session-dropped'),
        [],
      );
      assert.ok(
        entries.some(({ code, subject }) => code === 'event-consumer-behind' && subject === 'stuck'),
        'the held peer is reported',
      );
      assert.ok(
        entries.some(({ code, subject }) => code === 'event-gap' && subject === 'deaf'),
        'dropped events are reported',
      );
      assertCodesListed(entries.map(({ code }) => code));
      return true;
    },
    60_000,
  );
});
