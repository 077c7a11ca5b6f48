// The hub's door: auth line, texts of refusals, limits, one connection a name (plugin-wire §9, §10; hostile-inputs H58).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { X509Certificate } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Report } from '../../../engine/bgp/port.ts';
import { systemClock } from '../../../engine/core/clock.ts';
import { silentLog } from '../../../engine/core/log.ts';
import { Authority, LEAF_LIFETIME, LEAF_RENEW } from '../../../engine/host/external/certificate.ts';
import { Hub, type Listener, UNAUTHENTICATED_LIMIT } from '../../../engine/host/external/hub.ts';
import { sameSecret, Tokens } from '../../../engine/host/external/tokens.ts';
import { connectBack } from '../../../sdk/rpc/tls.ts';
import { until } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'zest-hub-'));
const tokens = new Tokens();
const reports: Report[] = [];
const SECRET = 's'.repeat(40);
let authority: Authority;
let hub: Hub;
let internal: Listener;
let shared: Listener;

before(async () => {
  authority = await Authority.open({ directory: folder, wall: Date.now, unwritable: () => assert.fail('writable') });
  hub = new Hub({ authority, tokens, clock: systemClock, log: silentLog, report: (report) => void reports.push(report) });
  internal = await hub.listen({ name: 'internal', host: '127.0.0.1', port: 0, secrets: undefined });
  const clients = new Map([['edge', 'e'.repeat(40)]]);
  shared = await hub.listen({ name: 'shared', host: '127.0.0.1', port: 0, secrets: { secret: SECRET, clients } });
});
after(async () => {
  await hub.close();
  rmSync(folder, { recursive: true, force: true });
});

async function dial(listener = internal): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: listener.port, ca: authority.pem });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

/** Resolves at the close, by whatever error it came. */
const gone = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once('close', () => resolve()));

/** Everything the hub sends until it closes. */
async function said(socket: TLSSocket): Promise<string> {
  let text = '';
  socket.on('data', (bytes: Buffer) => (text += bytes.toString()));
  await gone(socket);
  return text;
}

const auth = (name: string, token: string): string => `#0 auth ${JSON.stringify({ token, name })}\n`;
const refusal = (message: string): string => `#0 error {"code":"error","message":"${message}"}\n`;

const doors: readonly { what: string; line: string; answer: string; at?: () => Listener }[] = [
  { what: 'no id', line: 'auth {}\n', answer: refusal('malformed auth request') },
  { what: 'an id that is not 0', line: auth('a', 'b').replace('#0', '#1'), answer: refusal('malformed auth request') },
  { what: 'another method', line: '#0 hello {}\n', answer: refusal('expected auth') },
  { what: 'params that are no JSON', line: '#0 auth {token}\n', answer: refusal('malformed auth params') },
  { what: 'a token that is no text', line: '#0 auth {"token":5,"name":"a"}\n', answer: refusal('malformed auth params') },
  { what: 'a name outside the pattern', line: auth('-a', 'x'), answer: refusal('invalid plugin name') },
  { what: 'a name of 65 characters', line: auth('a'.repeat(65), 'x'), answer: refusal('invalid plugin name') },
  { what: 'an unknown name', line: auth('nobody', 'x'), answer: refusal('auth failed') },
  { what: 'an empty token', line: auth('nobody', ''), answer: refusal('auth failed') },
  { what: 'a wrong token', line: auth('known', 'f'.repeat(64)), answer: refusal('auth failed') },
  {
    what: 'the shared secret for a plugin that has a token',
    line: auth('known', SECRET),
    answer: refusal('auth failed'),
    at: () => shared,
  },
  { what: 'the shared secret on the internal hub', line: auth('other', SECRET), answer: refusal('auth failed') },
  {
    what: 'the shared secret for a client that has its own',
    line: auth('edge', SECRET),
    answer: refusal('auth failed'),
    at: () => shared,
  },
  {
    what: 'an auth line over 4096 bytes',
    line: `#0 auth {"token":"${'x'.repeat(4096)}"`,
    answer: refusal('malformed auth request'),
  },
  { what: 'a good token nobody waits for', line: auth('other', SECRET), answer: '#0 ok\n', at: () => shared },
  { what: 'a client secret nobody waits for', line: auth('edge', 'e'.repeat(40)), answer: '#0 ok\n', at: () => shared },
];

for (const row of doors) {
  test(`${row.what}: ${row.answer.trim()}, closed`, async () => {
    tokens.of('known');
    const socket = await dial(row.at?.());
    socket.write(row.line);
    assert.equal(await said(socket), row.answer);
  });
}

test("what follows the auth line in the same write is the plugin's first line", async () => {
  const taken = hub.expect('first', new AbortController().signal);
  const socket = await dial();
  socket.write(`${auth('first', tokens.of('first'))}#1 ze-plugin-engine:ready\n`);
  const server = await taken;
  const [bytes] = (await once(server, 'data')) as [Buffer];
  assert.equal(bytes.toString(), '#1 ze-plugin-engine:ready\n');
  socket.destroy();
  await gone(server);
});

test('a second connection under a living name is closed, the first one lives on', async () => {
  const first = hub.expect('twin', new AbortController().signal);
  const one = await dial();
  one.write(auth('twin', tokens.of('twin')));
  const server = await first;
  // Even when the host waits again under that name.
  const stop = new AbortController();
  const again = hub.expect('twin', stop.signal);
  again.catch(() => undefined);
  const two = await dial();
  two.write(auth('twin', tokens.of('twin')));
  assert.equal(await said(two), '#0 ok\n');
  let heard = '';
  one.on('data', (bytes: Buffer) => (heard += bytes.toString()));
  server.write('still here\n');
  await until('the first one hears', () => heard === '#0 ok\nstill here\n');
  stop.abort();
  one.destroy();
  await gone(server);
});

test("the SDK's client connects, verifies and authenticates", async () => {
  const taken = hub.expect('sdk', new AbortController().signal);
  const socket = await connectBack({
    host: '127.0.0.1',
    port: internal.port,
    token: tokens.of('sdk'),
    caPem: authority.pem,
    name: 'sdk',
  });
  const server = await taken;
  assert.equal(server.getProtocol(), 'TLSv1.3');
  socket.destroy();
  await gone(server);
});

test('TLS below 1.3 and plain TCP get nowhere', async () => {
  const old = connect({ host: '127.0.0.1', port: internal.port, ca: authority.pem, maxVersion: 'TLSv1.2' });
  const [error] = (await once(old, 'error')) as [Error];
  assert.match(error.message, /version|alert/i);
  const plain = connectTcp(internal.port, '127.0.0.1');
  plain.on('error', () => undefined);
  plain.write('#0 auth {}\n');
  await gone(plain);
});

test('past 32 unauthenticated connections others wait, and are served when a place is free', async () => {
  const idle: Socket[] = [];
  for (let i = 0; i < UNAUTHENTICATED_LIMIT; i++) idle.push(connectTcp(internal.port, '127.0.0.1'));
  await until('32 places are taken', () => hub.pending.unauthenticated === UNAUTHENTICATED_LIMIT);
  const taken = hub.expect('patient', new AbortController().signal);
  const socket = connect({ host: '127.0.0.1', port: internal.port, ca: authority.pem });
  socket.write(auth('patient', tokens.of('patient')));
  await until('it waits', () => hub.pending.waiting === 1);
  idle.pop()?.destroy();
  const server = await taken;
  for (const one of idle) one.destroy();
  socket.destroy();
  await gone(server);
  await until('all places are free', () => hub.pending.unauthenticated === 0 && hub.pending.waiting === 0);
});

test('refusals are reported, a flood of them once a second', () => {
  const all = reports.filter((report) => report.code === 'plugin-auth');
  assert(all.length >= 1 && all.length <= 3, `${all.length} reports`);
});

test('the CA stays, mode 0600; leaves name the host, live a day and are renewed at half of it', async () => {
  const path = join(folder, 'hub-ca.pem');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  let now = Date.now();
  const again = await Authority.open({ directory: folder, wall: () => now, unwritable: () => assert.fail('writable') });
  assert.equal(again.pem, authority.pem);
  assert(!again.pem.includes('PRIVATE') && readFileSync(path, 'utf8').includes('PRIVATE'));
  const leaf = await again.leaf(['hub.example', '192.0.2.1']);
  const parsed = new X509Certificate(leaf.chain);
  assert(parsed.checkHost('hub.example') !== undefined && parsed.checkIP('192.0.2.1') !== undefined);
  assert(Date.parse(parsed.validTo) - Date.parse(parsed.validFrom) <= LEAF_LIFETIME);
  assert.equal(leaf.fingerprint, parsed.fingerprint256.replaceAll(':', '').toLowerCase());
  assert.equal(await again.leaf(['hub.example', '192.0.2.1']), leaf);
  now += LEAF_RENEW + 10 * 60_000;
  assert.notEqual(await again.leaf(['hub.example', '192.0.2.1']), leaf);
});

test('a state directory that cannot be written keeps the CA in memory and says so', async () => {
  const told: string[] = [];
  const made = await Authority.open({
    directory: '/proc/zest/state',
    wall: Date.now,
    unwritable: (directory) => void told.push(directory),
  });
  assert.deepEqual(told, ['/proc/zest/state']);
  assert.match(made.pem, /BEGIN CERTIFICATE/);
});

test('secrets of any length compare without a throw', () => {
  assert(sameSecret('', '') && sameSecret('abc', 'abc'));
  assert(!sameSecret('abc', 'abcd') && !sameSecret('abc', ''));
});
