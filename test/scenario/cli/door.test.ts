import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { ControlDoor } from '../../../engine/command/door.ts';
import { controlSocketPath, untrustedFolder } from '../../../engine/core/control-socket.ts';
import { silentLog } from '../../../engine/core/log.ts';
import { fakeContext } from '../../unit/command/fake-context.ts';
import { stage, temporaryFolder, UID, until } from './stage.ts';

function open(path: string): Promise<ControlDoor> {
  return ControlDoor.open({ path, uid: UID, runner: fakeContext().dispatcher, log: silentLog });
}

/** Sends bytes and gathers what comes until `done` or the end of the connection. */
async function talk(
  path: string,
  bytes: string | Buffer,
  done: (text: string) => boolean = () => false,
): Promise<{ text: string; ended: boolean; socket: Socket }> {
  const socket = connect(path);
  let text = '';
  let ended = false;
  socket.on('error', () => undefined);
  socket.on('close', () => (ended = true));
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  socket.write(bytes);
  await until('an answer', () => ended || done(text));
  socket.destroy();
  return { text, ended, socket };
}

for (const [name, option, environment, path] of [
  ['an option', '/a/b.sock', { 'ze.control.socket': '/c' }, '/a/b.sock'],
  ['a setting, dotted', undefined, { 'ze.control.socket': '/c' }, '/c'],
  ['a setting, underscored', undefined, { ze_control_socket: '/c' }, '/c'],
  ['a setting, upper case', undefined, { ZE_CONTROL_SOCKET: '/c' }, '/c'],
  ['the runtime folder', undefined, { XDG_RUNTIME_DIR: '/run/user/7' }, '/run/user/7/zest/control.sock'],
  ['a runtime folder that is no absolute path', undefined, { XDG_RUNTIME_DIR: 'x' }, '/tmp/zest-7/control.sock'],
  ['nothing', undefined, {}, '/tmp/zest-7/control.sock'],
] as const) {
  test(`the socket's place: ${name}`, () => assert.equal(controlSocketPath(option, environment, 7), path));
}

test('the folder is made 0700 and the socket 0600, and both are gone or closed at the end', async () => {
  const folder = temporaryFolder();
  const door = await open(join(folder, 'new', 'control.sock'));
  assert.equal(statSync(join(folder, 'new')).mode & 0o777, 0o700);
  assert.equal(statSync(door.path).mode & 0o777, 0o600);
  await door.close();
  await door.close();
  assert.ok(!existsSync(door.path));
  rmSync(folder, { recursive: true });
});

test('a folder that others may write is refused, a sticky one is not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'zest-cli-'));
  chmodSync(folder, 0o777);
  await assert.rejects(() => open(join(folder, 'control.sock')), /can be written by others \(mode 777\)/);
  chmodSync(folder, 0o1777);
  assert.equal(untrustedFolder(join(folder, 'x'), UID), undefined);
  assert.match(untrustedFolder(join(folder, 'x'), UID + 1) ?? '', UID === 0 ? /^$/ : /belongs to user/);
  symlinkSync(folder, join(folder, 'link'));
  assert.match(untrustedFolder(join(folder, 'link', 'x'), UID) ?? '', /is not a folder/);
  rmSync(folder, { recursive: true });
});

test('a path that does not fit into a socket address is refused', async () => {
  await assert.rejects(() => open(`/tmp/${'x'.repeat(120)}/control.sock`), /the socket path has \d+ bytes, at most 107/);
});

test('something that is no socket is left where it is', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'control.sock'), 'precious');
  await assert.rejects(() => open(join(folder, 'control.sock')), /exists and is not a socket/);
  assert.equal(readFileSync(join(folder, 'control.sock'), 'utf8'), 'precious');
  rmSync(folder, { recursive: true });
});

test('a live socket refuses a second daemon and goes on answering', async () => {
  await using one = await stage();
  await assert.rejects(() => open(one.path), /another daemon is listening on .*control\.sock; stop it, or choose another socket/);
  assert.equal((await one.run(['show', 'version', '--json'])).code, 0);
});

test('a stale socket is replaced', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'control.sock');
  mkdirSync(join(folder, 'old'), { mode: 0o700 });
  // A socket whose listener is gone, as a killed daemon leaves it: bound elsewhere, then moved.
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(folder, 'old', 's'), resolve));
  const { renameSync } = await import('node:fs');
  renameSync(join(folder, 'old', 's'), path);
  await new Promise((resolve) => server.close(resolve));
  assert.ok(existsSync(path));
  const door = await open(path);
  assert.match(
    (await talk(path, '#1 ze-plugin-engine:dispatch-command {"command":"show version"}\n', (text) => text.includes(' end ')))
      .text,
    /^#1 top doc 0: 0:\n#1 row \d+:/,
  );
  await door.close();
  rmSync(folder, { recursive: true });
});

// bytes → what comes back
for (const [name, bytes, expected] of [
  [
    'a method that is not served',
    '#1 ze-plugin-engine:update-route {"command":"x"}\n',
    /^#1 error .*unknown method: ze-plugin-engine:update-route/,
  ],
  ['a stage of the plugin protocol', '#1 ze-plugin-engine:declare-registration {}\n', /^#1 error .*unknown method/],
  [
    'params that are no JSON',
    '#1 ze-plugin-engine:dispatch-command {"command":\n',
    /^#1 error .*invalid dispatch-command params/,
  ],
  ['no params', '#1 ze-plugin-engine:dispatch-command\n', /^#1 nay 0: \d+:unknown command: \(empty\)/],
  [
    'params of the wrong kind',
    '#1 ze-plugin-engine:dispatch-command {"command":5}\n',
    /^#1 error .*invalid dispatch-command params/,
  ],
  ['an unknown command', '#7 ze-plugin-engine:dispatch-command {"command":"shwo"}\n', /^#7 nay 0: \d+:unknown command: shwo/],
  [
    'a command with a newline in it',
    '#1 ze-plugin-engine:dispatch-command {"command":"summary\\ndaemon shutdown"}\n',
    /control character 0x0a/,
  ],
  [
    'the largest id',
    '#18446744073709551615 ze-plugin-engine:dispatch-command {"command":"show version"}\n',
    /^#18446744073709551615 top doc/,
  ],
  [
    'an id used again while it is in flight',
    '#1 ze-plugin-engine:dispatch-command {"command":"show version"}\n#1 ze-plugin-engine:dispatch-command {"command":"show uptime"}\n',
    /#1 end 1 0 0:\n[^]*#1 end 1 0 0:\n/,
  ],
  [
    '__proto__ as a key',
    '#1 ze-plugin-engine:dispatch-command-args {"__proto__":{"command":"summary"},"command":"show version","args":[]}\n',
    /^#1 top doc/,
  ],
] as const) {
  test(`hostile client: ${name}`, async () => {
    await using one = await stage();
    const { text } = await talk(one.path, bytes, (seen) => expected.test(seen));
    assert.match(text, expected);
    assert.deepEqual(one.fake.asked, []);
    assert.equal((await one.run(['show', 'version', '--json'])).code, 0);
  });
}

for (const [name, bytes] of [
  ['a hundred and one bad lines', 'no id at all\n'.repeat(101)],
  [
    'binary noise',
    Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7 + 10) % 256))
      .toString('latin1')
      .replaceAll('\n', 'x') + '\n'.repeat(120),
  ],
  ['an answer line whose width lies', '#1 row 5:ab\ncdefg\n'],
  ['an answer line of 17 MiB', '#1 row 17825792:x'],
  ['a line without an end', '#1 x '.padEnd((16 << 20) + 100, 'y')],
] as const) {
  test(`a client that cannot be understood is let go, others are served: ${name}`, async () => {
    await using one = await stage();
    const other = talk(one.path, '#1 ze-plugin-engine:dispatch-command {"command":"rib routes 5"}\n', (text) =>
      text.includes(' end '),
    );
    const { ended } = await talk(one.path, bytes);
    assert.ok(ended);
    assert.match((await other).text, /#1 end 5 0 0:/);
    assert.equal((await one.run(['show', 'version', '--json'])).code, 0);
    await until('no client left', () => one.door.connections === 0);
  });
}

test('a client that goes away stops its producer', async () => {
  await using one = await stage();
  const { text } = await talk(
    one.path,
    '#1 ze-plugin-engine:dispatch-command {"command":"rib routes 10000000"}\n',
    (seen) => seen.length > 10_000,
  );
  assert.match(text, /^#1 top map 6:routes 0:\n/);
  await until('the producer stopped', () => one.fake.cancelled() === 1);
  assert.ok(one.fake.produced() < 1_000_000, String(one.fake.produced()));
});

test('a client that reads nothing holds its own producer, and is let go in the end', async () => {
  await using one = await stage({ readTimeoutMs: 300 });
  const socket = connect(one.path);
  socket.on('error', () => undefined);
  socket.pause();
  socket.write('#1 ze-plugin-engine:dispatch-command {"command":"rib routes 10000000"}\n');
  await until('the connection ended', () => one.fake.cancelled() === 1);
  assert.ok(one.fake.produced() < 200_000, String(one.fake.produced()));
  socket.destroy();
});

test('a monitor gives its tap back when its client goes', async () => {
  await using one = await stage();
  const { text } = await talk(one.path, '#1 ze-plugin-engine:dispatch-command {"command":"monitor event"}\n', (seen) =>
    seen.includes('top map'),
  );
  assert.equal(text, '#1 top map 6:events 0:\n');
  await until('the tap is back', () => one.fake.taps.size === 0);
});

test('a hundred commands of two clients, interleaved, each with its own answer', async () => {
  await using one = await stage();
  const lines = (offset: number): string =>
    Array.from(
      { length: 100 },
      (_, i) => `#${i + 1} ze-plugin-engine:dispatch-command {"command":"rib routes ${i + offset} | count"}\n`,
    ).join('');
  const ends = (text: string): number => text.split(' end 1 0 0:').length - 1;
  const [a, b] = await Promise.all([
    talk(one.path, lines(0), (text) => ends(text) === 100),
    talk(one.path, lines(200), (text) => ends(text) === 100),
  ]);
  for (let i = 0; i < 100; i++) {
    assert.ok(a.text.includes(`#${i + 1} row ${`{"count":${i}}`.length}:{"count":${i}}\n`), `a ${i}`);
    assert.ok(b.text.includes(`{"count":${i + 200}}\n`), `b ${i}`);
  }
});

test('past the limit of connections an idle one makes room; busy ones do not', async () => {
  await using one = await stage({ maximumConnections: 2 });
  const idle = connect(one.path);
  let idleEnded = false;
  idle.on('error', () => undefined).on('close', () => (idleEnded = true));
  await until('connected', () => one.door.connections === 1);
  const monitors = [1, 2].map(() => {
    const socket = connect(one.path);
    socket.on('error', () => undefined);
    socket.write('#1 ze-plugin-engine:dispatch-command {"command":"monitor event"}\n');
    return socket;
  });
  await until('two monitors', () => one.fake.taps.size === 2);
  await until('the idle one is let go', () => idleEnded);
  assert.match((await talk(one.path, '')).text, /^#0 error .*busy: 2 control connections are open/);
  for (const socket of monitors) socket.destroy();
  await until('room again', () => one.door.connections === 0);
  assert.equal((await one.run(['show', 'version', '--json'])).code, 0);
});

test('closing the door ends its clients', async () => {
  const one = await stage();
  const ended = talk(one.path, '#1 ze-plugin-engine:dispatch-command {"command":"monitor event"}\n');
  await until('a monitor', () => one.fake.taps.size === 1);
  await one[Symbol.asyncDispose]();
  assert.ok((await ended).ended);
  assert.equal(one.fake.taps.size, 0);
});
