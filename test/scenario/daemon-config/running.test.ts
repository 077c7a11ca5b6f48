// What an operator's environment does to a running daemon: addresses in use, folders that cannot be written, a second daemon, a broken file
// at reload. The daemon runs on, says so under a code, and heals by itself where it can.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pluginsIn } from '../../support/child-processes.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { assertCodesListed, reports } from '../../support/report-codes.ts';
import { writeScript } from '../../support/write-script.ts';
import { eventually, freePort, run, PROGRAM, ZestProcess } from '../../support/zest-process.ts';
import { MANDATORY, PREFIX, update } from '../../wire/build.ts';

const config = (port: number, more = ''): string => `
environment { log { level info; } }
plugin { external good { run "exec node raw-plugin.mjs"; } ${more} }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    peer one {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.2; connect false; } }
        session { asn { remote 64512; } family { ipv4/unicast { prefix { maximum 1000; } } } }
        process good { receive [ update state ]; }
    }
}
`;

function occupy(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

describe('a running daemon', { timeout: 600_000 }, () => {
  let folder: string;
  before(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-running-')));
    writeScript(folder, 'raw-plugin');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const routes = async (zest: ZestProcess): Promise<unknown> => (await zest.json('rib', 'routes', 'received'))['adj-rib-in'];
  const pluginPid = async (zest: ZestProcess): Promise<number | undefined> =>
    ((await zest.json('plugin', 'list'))['plugins'] as readonly { name: string; pid?: number }[]).find(
      ({ name }) => name === 'good',
    )?.pid;

  test('an address in use is a warning that heals when the address is free', async (t) => {
    const port = await freePort();
    const occupant = await occupy(port);
    const zest = await ZestProcess.start(config(port), {}, folder);
    t.after(async () => {
      occupant.close();
      await zest.stop();
    });
    const subject = `127.0.0.1:${port}`;
    const warning = (await reports(zest)).find(({ code }) => code === 'listener');
    assert.deepEqual([warning?.severity, warning?.subject], ['warning', subject]);
    assert.match(warning?.message ?? '', /address already in use/);
    await zest.logs(/warn .*address already in use/);
    assertCodesListed((await reports(zest)).map(({ code }) => code));
    await new Promise<void>((resolve) => occupant.close(() => resolve()));
    const speaker = await eventually('the daemon listens', () => RawSpeaker.establish({ port, local: '127.0.0.2' }));
    assert.ok(!(await reports(zest)).some(({ code }) => code === 'listener'), 'the warning is gone');
    await speaker.close();
  });

  test('a state directory that cannot be written: the plugins run with a CA in memory', async (t) => {
    writeFileSync(join(folder, 'file'), '');
    const zest = await ZestProcess.start(config(await freePort()), { ze_state_dir: join(folder, 'file', 'state') }, folder);
    t.after(() => zest.stop());
    assert.ok((await zest.json('good', 'count'))['count'] !== undefined);
    const entries = await reports(zest);
    assert.ok(entries.some(({ code, severity }) => code === 'state-dir-unwritable' && severity === 'warning'));
    assertCodesListed(entries.map(({ code }) => code));
    await zest.logs(/state directory is not writable/);
  });

  test('a live control socket refuses a second daemon, a stale one is replaced', async (t) => {
    const first = await ZestProcess.start(config(await freePort()), {}, folder);
    t.after(() => first.stop('SIGKILL'));
    const socket = join(folder, 'control.sock');
    assert.equal(statSync(socket).mode & 0o777, 0o600);
    const second = await run(process.execPath, [PROGRAM, first.configPath], first.environment);
    assert.equal(second.code, 1);
    assert.match(second.stderr, /another daemon is listening on .*control\.sock/);
    assert.doesNotMatch(second.stderr, /^\s+at /m);
    assert.equal((await first.cli('summary')).code, 0, 'the first one runs on');
    await first.stop('SIGKILL');
    assert.ok(existsSync(socket), 'it was not taken away');
    const third = await ZestProcess.start(config(await freePort()), {}, folder);
    assert.ok((await third.cli('summary')).code === 0);
    assert.equal(await third.stop(), 0);
    assert.ok(!existsSync(socket), 'an orderly end takes the socket away');
  });

  test('SIGHUP with a broken file changes nothing', async (t) => {
    const port = await freePort();
    const zest = await ZestProcess.start(config(port), {}, folder);
    const speaker = await RawSpeaker.establish({ port, local: '127.0.0.2', holdSeconds: 9 });
    t.after(async () => {
      await speaker.close();
      await zest.stop();
    });
    speaker.send(update({ attributes: MANDATORY, nlri: PREFIX }));
    await eventually('the route is there', async () =>
      JSON.stringify(await routes(zest)).includes('198.51.100.0/24') ? true : undefined,
    );
    const before = {
      routes: await routes(zest),
      pid: await pluginPid(zest),
      summary: await zest.cli('config', 'dump', '--json'),
    };
    const broken = [
      config(port).slice(0, -4),
      config(port).replace('peer one', 'pear one'),
      config(port, 'external x { }'),
      '\u0000\u0001',
    ];
    for (const [i, text] of broken.entries()) {
      zest.reload(text);
      await eventually('the reload is refused', async () => {
        const refused = (await reports(zest)).filter(({ code }) => code === 'reload-refused');
        return refused.length === i + 1 || undefined;
      });
    }
    assert.deepEqual({ routes: await routes(zest), pid: await pluginPid(zest) }, { routes: before.routes, pid: before.pid });
    assert.ok(speaker.established);
    assert.equal(pluginsIn(folder).length, 1);
    const entries = await reports(zest);
    assertCodesListed(entries.map(({ code }) => code));
    assert.match(entries.find(({ code }) => code === 'reload-refused')?.message ?? '', /^line \d+: .*\[column \d+/);
    await zest.logs(/reload refused, the running configuration stays/);

    zest.reload(config(port, 'external second { run "exec node raw-plugin.mjs"; }'));
    await eventually('a good file is taken', async () =>
      (await zest.json('second', 'count'))['count'] === undefined ? undefined : true,
    );
    assert.ok(speaker.established, 'the session saw nothing of it');
    assert.equal(await pluginPid(zest), before.pid);
  });

  test('SIGHUP to a plugin that cannot start leaves what ran', async (t) => {
    const port = await freePort();
    const zest = await ZestProcess.start(config(port), {}, folder);
    const speaker = await RawSpeaker.establish({ port, local: '127.0.0.2', holdSeconds: 9 });
    t.after(async () => {
      await speaker.close();
      await zest.stop();
    });
    const pid = await pluginPid(zest);
    zest.reload(config(port, 'external bad { run "exec node raw-plugin.mjs policy=ignore"; respawn true; }'));
    await eventually('it is refused', async () =>
      (await reports(zest)).some(({ code }) => code === 'plugin-respawn') ? true : undefined,
    );
    await eventually('nothing of it is left', () => (pluginsIn(folder).length === 1 ? true : undefined));
    assert.equal(await pluginPid(zest), pid);
    assert.ok(speaker.established);
    const rows = (await zest.json('plugin', 'list'))['plugins'] as readonly { name: string }[];
    assert.ok(!rows.some(({ name }) => name === 'bad'));
  });
});
