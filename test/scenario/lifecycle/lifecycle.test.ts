// The daemon's life from outside: stopped while it starts, killed without a word, told to reload a hundred times or what is no file.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { workingIn } from '../../support/child-processes.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';

/** Never dials back, forks, and takes no notice of a kind word. */
const STUBBORN = `trap "" TERM HUP INT; sleep 3600 & sleep 3600`;

const config = (port: number, peers: readonly string[] = ['one'], more = ''): string => `
${more}
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
${peers
  .map(
    (name, i) => `    peer ${name} {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.${i + 2}; connect false; } }
        session { asn { remote 64512; } family { ipv4/unicast { prefix { maximum 1000; } } } }
    }`,
  )
  .join('\n')}
}
`;
const stubborn = `plugin { external mute { run '${STUBBORN}'; } }`;

describe('the life of the daemon', { timeout: 600_000 }, () => {
  let folder: string;
  before(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-life-')));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('a stop during the start does not wait for plugins that never come, and leaves nothing of them', async () => {
    const zest = ZestProcess.launch(config(await freePort(), ['one'], stubborn), {}, folder);
    await eventually('the plugin is started', () => (workingIn(folder, zest.child.pid ?? 0).length >= 2 ? true : undefined));
    const asked = (await zest.json('daemon', 'status'))['status'];
    assert.equal(asked, 'starting');
    // `stop` kills what has not ended within 10 s; a plugin has 30 s to connect.
    assert.equal(await zest.stop(), 0);
    await eventually('nothing is left', () => (workingIn(folder, 0).length === 0 ? true : undefined));
    assert.ok(!existsSync(join(folder, 'ready')));
  });

  test('one line says that the daemon is ready, at the default level and not with -q', async () => {
    const text = config(await freePort());
    for (const quiet of [false, true]) {
      const zest = ZestProcess.launch(text, {}, folder, quiet ? ['-q'] : []);
      await eventually('the ready file', () => (existsSync(join(folder, 'ready')) ? true : undefined));
      assert.equal(await zest.stop(), 0);
      const lines = zest.output.split('\n').filter((line) => line.includes('zest ready'));
      assert.equal(lines.length, quiet ? 0 : 1, zest.output);
      if (!quiet) assert.match(lines[0] ?? '', /info +daemon +zest ready +peers=1 +plugins=\d+ +socket=.*control\.sock$/);
    }
  });

  test('a reactor in the main thread leaves no thread of its own running', async () => {
    const counts: number[] = [];
    for (const setting of ['yes', 'no']) {
      const zest = await ZestProcess.start(config(await freePort()), { ze_reactor_thread: setting }, folder);
      counts.push(readdirSync(`/proc/${zest.child.pid ?? 0}/task`).length);
      assert.equal(await zest.stop(), 0);
    }
    const [own = 0, none = 0] = counts;
    assert.equal(none, own - 1);
  });

  test('SIGHUPs in a row share a reload, sessions stay up', async (t) => {
    const port = await freePort();
    const zest = await ZestProcess.start(config(port), { ze_log_daemon: 'info' }, folder);
    const speaker = await RawSpeaker.establish({ port, local: '127.0.0.2', holdSeconds: 9 });
    t.after(async () => {
      await speaker.close();
      await zest.stop();
    });
    // Written just now: the first reload waits until the file has rested, and all others are asked for meanwhile.
    zest.reload(config(port, ['one', 'two']));
    for (let i = 0; i < 100; i++) zest.child.kill('SIGHUP');
    const names = async (): Promise<string> => JSON.stringify((await zest.json('peer', 'list'))['peers']);
    await eventually('the second peer', async () => ((await names()).includes('"two"') ? true : undefined));
    assert.equal((await zest.json('daemon', 'reload'))['peers-unchanged'], 2);
    assert.ok(speaker.established);
    const reloads = zest.output.split('configuration reloaded').length - 1;
    assert.ok(reloads >= 1 && reloads <= 4, `${reloads} reloads`);
  });

  test('a file that is empty, a folder or a FIFO at reload changes nothing and holds nobody up', async (t) => {
    const port = await freePort();
    const zest = await ZestProcess.start(config(port), {}, folder);
    const speaker = await RawSpeaker.establish({ port, local: '127.0.0.2', holdSeconds: 9 });
    t.after(async () => {
      await speaker.close();
      rmSync(zest.configPath, { recursive: true, force: true });
      await zest.stop();
    });
    for (const [make, reason] of [
      [() => writeFileSync(zest.configPath, ' \n\n'), /zest\.conf is empty/],
      [() => unlinkSync(zest.configPath), /zest\.conf: no such file/],
      [() => mkdirSync(zest.configPath), /zest\.conf is not a file/],
      [
        () => {
          rmSync(zest.configPath, { recursive: true });
          execFileSync('mkfifo', [zest.configPath]);
        },
        /zest\.conf is not a file/,
      ],
    ] as const) {
      make();
      const { code, stderr } = await zest.cli('daemon', 'reload');
      assert.equal(code, 1);
      assert.match(stderr, reason);
    }
    assert.ok(speaker.established);
  });

  test('places where nothing can be made are reported, not waited for', async () => {
    const zest = await ZestProcess.start(config(await freePort()), { ze_pid_file: '/proc/zest/x/pid' }, folder);
    await eventually('the report', () =>
      /a file could not be written {2}file=\/proc\/zest\/x\/pid/.test(zest.output) ? true : undefined,
    );
    assert.equal(await zest.stop(), 0);
    const refused = ZestProcess.launch(config(await freePort()), { ze_control_socket: '/proc/zest/x/control.sock' }, folder);
    await eventually('it ends by itself', () => (refused.exitCode === undefined ? undefined : true));
    assert.equal(refused.exitCode, 1);
  });
});
