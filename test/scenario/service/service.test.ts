// The daemon as a service: what systemd, syslog, an operator and a second daemon see of it. The other ends are python3: a Unix datagram
// socket is what Node does not have.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';

const RECEIVER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True:
    print(repr(s.recv(65536).decode()), flush=True)
`;

const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;
const isRoot = process.getuid?.() === 0;

/** Datagrams at a Unix socket. */
class Receiver {
  readonly path: string;
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  #rest = '';

  private constructor(path: string) {
    this.path = path;
    this.#child = spawn('python3', ['-c', RECEIVER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const parts = (this.#rest + text).split('\n');
      this.#rest = parts.pop() ?? '';
      this.lines.push(...parts);
    });
  }

  static async open(path: string): Promise<Receiver> {
    const receiver = new Receiver(path);
    await eventually('the receiver is there', () => (receiver.lines.includes('bound') ? true : undefined));
    return receiver;
  }

  async saw(pattern: RegExp): Promise<string> {
    return eventually(`${pattern} in ${this.lines.join(' | ')}`, () => this.lines.find((line) => pattern.test(line)));
  }

  close(): void {
    this.#child.kill('SIGKILL');
  }
}

const config = (port: number, environment = ''): string => `
environment { ${environment} }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    peer one {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.2; connect false; } }
        session { asn { remote 64512; } family { ipv4/unicast { prefix { maximum 1000; } } } }
    }
}
`;

describe('the daemon as a service', { timeout: 600_000 }, () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'zest-service-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('systemd hears READY, RELOADING with the time, STATUS, WATCHDOG and STOPPING; plugins cannot speak for it', async (t) => {
    if (!has('systemd-notify')) return t.skip('no systemd-notify');
    const receiver = await Receiver.open(join(folder, 'notify.sock'));
    t.after(() => receiver.close());
    const spy = `plugin { external spy { run 'echo "[$NOTIFY_SOCKET][$WATCHDOG_USEC]" > seen'; } }\n`;
    const text = config(await freePort());
    const zest = await ZestProcess.start(spy + text, { NOTIFY_SOCKET: receiver.path, WATCHDOG_USEC: '400000' }, folder);
    t.after(() => zest.stop());
    assert.match(await receiver.saw(/READY=1/), new RegExp(`MAINPID=${zest.child.pid}.*STATUS=running: 1 peers`));
    await receiver.saw(/WATCHDOG=1/);
    assert.equal(readFileSync(join(folder, 'seen'), 'utf8'), '[][]\n');
    receiver.lines.length = 0;
    zest.reload(spy + text.replace('64512', '64513'));
    await receiver.saw(/RELOADING=1\\nMONOTONIC_USEC=\d+/);
    await receiver.saw(/READY=1/);
    receiver.lines.length = 0;
    zest.reload('bgp {');
    await receiver.saw(/READY=1.*the last reload was refused/);
    assert.equal(await zest.stop(), 0);
    await receiver.saw(/STOPPING=1\\nSTATUS=stopping: SIGTERM/);
  });

  test('a pid file: written, refused to a second daemon, taken away; one of a killed daemon is replaced', async (t) => {
    const file = join(folder, 'run/zest.pid');
    const environment = `daemon { pid ${file}; }`;
    const zest = await ZestProcess.start(config(await freePort(), environment), {}, folder);
    t.after(() => zest.stop());
    assert.equal(readFileSync(file, 'utf8'), `${zest.child.pid}\n`);
    const second = ZestProcess.launch(
      config(await freePort(), environment),
      { ze_control_socket: join(folder, '2.sock') },
      join(folder, 'two'),
    );
    await eventually('it refuses', () => (second.exitCode === undefined ? undefined : true));
    assert.equal(second.exitCode, 1);
    assert.match(
      second.output,
      new RegExp(`another daemon, process ${zest.child.pid}, has .*zest.pid: stop it, or name another file`),
    );
    await zest.stop('SIGKILL');
    assert.ok(existsSync(file));
    const third = await ZestProcess.start(config(await freePort(), environment), {}, folder);
    assert.equal(readFileSync(file, 'utf8'), `${third.child.pid}\n`);
    assert.equal(await third.stop(), 0);
    assert.ok(!existsSync(file));
  });

  test('a log file is opened anew at SIGHUP: what a rotation moved away stays as it is', async (t) => {
    const file = join(folder, 'log/zest.log');
    const text = config(await freePort(), `log { file ${file}; level info; }`);
    const zest = await ZestProcess.start(text, {}, folder);
    t.after(() => zest.stop());
    await eventually('lines', () => (readFileSync(file, 'utf8').includes('zest ready') ? true : undefined));
    assert.equal(statSync(file).mode & 0o777, 0o640);
    assert.equal(zest.output, '');
    renameSync(file, `${file}.1`);
    zest.reload(text);
    await eventually('a new file', () => (readFileSync(file, 'utf8').includes('configuration reloaded') ? true : undefined));
    assert.doesNotMatch(readFileSync(`${file}.1`, 'utf8'), /configuration reloaded/);
  });

  test('a log file that cannot be opened anew is a warning until it can', async (t) => {
    const file = join(folder, 'shut/zest.log');
    const text = config(await freePort(), `log { file ${file}; level info; }`);
    const zest = await ZestProcess.start(text, {}, folder);
    t.after(() => zest.stop());
    const warned = async (): Promise<boolean> => (await zest.cli('show', 'warnings')).stdout.includes('log-file');
    renameSync(join(folder, 'shut'), join(folder, 'away'));
    writeFileSync(join(folder, 'shut'), 'no folder');
    assert.equal((await zest.cli('daemon', 'reload')).code, 0);
    assert.equal(await warned(), true);
    rmSync(join(folder, 'shut'));
    renameSync(join(folder, 'away'), join(folder, 'shut'));
    assert.equal((await zest.cli('daemon', 'reload')).code, 0);
    assert.equal(await warned(), false);
  });

  test('a log file that cannot be opened ends the start with the reason', async () => {
    const zest = ZestProcess.launch(config(await freePort(), 'log { file /proc/zest/log; }'), {}, folder);
    await eventually('it ends', () => (zest.exitCode === undefined ? undefined : true));
    assert.equal(zest.exitCode, 1);
    assert.match(zest.output, /^error: .*\/proc\/zest/);
  });

  test('the machine’s own syslog gets lines through logger, which ends with the daemon even when that is killed', async (t) => {
    if (!has('logger')) return t.skip('no logger');
    const receiver = await Receiver.open(join(folder, 'log.sock'));
    t.after(() => receiver.close());
    const text = config(await freePort(), `log { backend syslog; destination ${receiver.path}; level info; }`);
    const zest = await ZestProcess.start(text, {}, folder);
    assert.match(await receiver.saw(/zest ready/), /^'<30>\w{3} [ \d]\d \S+ .*zest\[\d+\]: daemon {2}zest ready {2}peers=1 /);
    const loggers = (): string =>
      spawnSync('pgrep', ['-f', `logger --tag zest --id=${zest.child.pid} `], { encoding: 'utf8' }).stdout;
    assert.notEqual(loggers(), '');
    await zest.stop('SIGKILL');
    await eventually('logger is gone', () => (loggers() === '' ? true : undefined));
  });

  test('systemd reads the unit of the examples without a complaint', (t) => {
    if (!has('systemd-analyze')) return t.skip('no systemd-analyze');
    const unit = join(import.meta.dirname, '../../../examples/systemd/zest.service');
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
    // Where it is installed differs; nothing else may be said.
    const words = (stdout + stderr).split('\n').filter((line) => line !== '' && !/not executable|No such file/.test(line));
    assert.deepEqual([words, status === 0 || words.length === 0], [[], true]);
  });

  test('a user that cannot be become ends the start before anything is opened', async () => {
    const [name, reason] = isRoot
      ? ['zest-nobody-knows', /there is no such user/]
      : ['root', /only root can become another user/];
    const zest = ZestProcess.launch(config(await freePort(), `daemon { user ${name}; }`), {}, folder);
    await eventually('it ends', () => (zest.exitCode === undefined ? undefined : true));
    assert.equal(zest.exitCode, 1);
    assert.match(zest.output, reason);
  });

  test('root becomes the user once ports are bound: every thread, groups, files that stay writable, children', async (t) => {
    if (!isRoot) return t.skip('needs root');
    const user = 'daemon';
    const uid = execFileSync('id', ['-u', user], { encoding: 'utf8' }).trim();
    const home = join(folder, 'drop');
    mkdirSync(join(home, 'state'), { recursive: true });
    writeFileSync(join(home, 'state/of-root'), 'x', { mode: 0o600 });
    for (const open of [folder, home]) chmodSync(open, 0o755);
    const plugin = `plugin { external me { run 'id -u > state/child'; } }\n`;
    const files = `daemon { user ${user}; pid ${home}/zest.pid; } log { file ${home}/log/zest.log; level info; }`;
    // A port that only root may bind.
    const text = (plugin + config(179, files)).replace('127.0.0.1', '127.18.7.9').replace('127.0.0.2', '127.18.7.10');
    const environment = { ze_ready_file: join(home, 'up/ready') };
    const zest = ZestProcess.launch(text, environment, home);
    t.after(() => zest.stop());
    await eventually('ready', () => {
      if (zest.exitCode !== undefined) throw new Error(zest.output);
      return existsSync(join(home, 'up/ready')) ? true : undefined;
    });
    const pid = zest.child.pid ?? 0;
    const owner = (path: string): string => String(statSync(path).uid);
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
      assert.match(status, new RegExp(`^Uid:(\\t${uid}){4}$`, 'm'));
      assert.match(status, new RegExp(`^Groups:\\t${execFileSync('id', ['-G', user], { encoding: 'utf8' }).trim()} *$`, 'm'));
      assert.match(status, /^CapEff:\t0+$/m);
    }
    assert.equal(readFileSync(join(home, 'state/child'), 'utf8').trim(), uid);
    for (const path of ['zest.pid', 'log/zest.log', 'control.sock', 'state/of-root', 'state/hub-ca.pem', 'up/ready'])
      if (path !== 'state/hub-ca.pem' || existsSync(join(home, path))) assert.equal(owner(join(home, path)), uid, path);
    const speaker = await RawSpeaker.establish({ host: '127.18.7.9', port: 179, local: '127.18.7.10', holdSeconds: 9 });
    assert.match((await zest.cli('peer', 'list')).stdout, /established/);
    // The log's folder was made by root: the file can be emptied and written, a new one cannot be made, and that is said.
    zest.reload(text);
    await eventually('a reload as the user', () =>
      readFileSync(join(home, 'log/zest.log'), 'utf8').includes('configuration reloaded') ? true : undefined,
    );
    await speaker.close();
    assert.equal(await zest.stop(), 0);
    // Its folder is root's: what is left is empty, and so nobody's.
    assert.equal(readFileSync(join(home, 'zest.pid'), 'utf8'), '');
  });
});
