import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { generate } from 'selfsigned';
import {
  AUTH_OK,
  authError,
  connectBack,
  Mux,
  parseAuth,
  readFirstLine,
  readVariable,
  takeHubEnvironment,
} from '../../../sdk/rpc/index.ts';
import { duplexPair } from '../../support/duplex-pair.ts';

let certificate: { key: string; cert: string };
let stranger: { key: string; cert: string };
let server: Server;
let port = 0;
const accepted: TLSSocket[] = [];

async function issue(): Promise<{ key: string; cert: string }> {
  const made = await generate([{ name: 'commonName', value: 'hub' }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip: '127.0.0.1' },
          { type: 2, value: 'hub.test' },
        ],
      },
    ],
  });
  return { key: made.private, cert: made.cert };
}

before(async () => {
  [certificate, stranger] = await Promise.all([issue(), issue()]);
  server = createServer({ ...certificate, minVersion: 'TLSv1.3' }, (socket) => {
    accepted.push(socket);
    socket.on('error', () => undefined);
    void serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
after(() => {
  for (const socket of accepted) socket.destroy();
  server.close();
});

/** A hub that answers the auth line and its own first request in one write. */
async function serve(socket: TLSSocket): Promise<void> {
  const claim = parseAuth(await readFirstLine(socket, 4096, 5000));
  if (!claim.ok) socket.end(authError(claim.fault));
  else if (claim.token === 'silent') return;
  else if (claim.token === 'good') socket.write(`${AUTH_OK}#1 ze-plugin-callback:bye {"reason":"now"}\n`);
  else socket.end(authError('auth failed'));
}

const hub = (token = 'good', name = 'a-plugin', caPem = certificate.cert, host = '127.0.0.1') => ({
  host,
  port,
  token,
  caPem,
  name,
});

test('connects, authenticates, and loses nothing that came behind the answer', async () => {
  const mux = new Mux(await connectBack(hub()));
  const reason = new Promise((resolve) => {
    mux.serve('ze-plugin-callback:bye', (input) => {
      resolve(input.reason);
      return undefined;
    });
  });
  assert.equal(await reason, 'now');
  assert.equal(accepted.at(-1)?.getProtocol(), 'TLSv1.3');
  await mux.close();
});

const refused: readonly (readonly [name: string, hub: () => ReturnType<typeof hub>, message: RegExp])[] = [
  ['a wrong token', () => hub('bad'), /authenticate to 127\.0\.0\.1:\d+: rpc error: auth failed/],
  [
    'a root that did not sign',
    () => hub('good', 'x', stranger.cert),
    /connect to 127\.0\.0\.1:\d+: .*(self-signed|unable to|signature)/i,
  ],
  ['a host the certificate does not name', () => hub('good', 'x', certificate.cert, 'localhost'), /altnames|Hostname/i],
  ['a name that is none', () => hub('good', 'not a name'), /invalid plugin name/],
];
for (const [name, make, message] of refused) {
  test(`${name} is refused`, async () => {
    await assert.rejects(connectBack(make()), message);
  });
}

test('a hub that says nothing is given up after the deadline', async () => {
  await assert.rejects(connectBack(hub('silent'), 100), /no line within/);
});

test('variables are read in any spelling, and the token leaves the environment', () => {
  const environment = {
    'ze.plugin.hub.token': 'first',
    Ze_Plugin_Hub_Token: 'second',
    ZE_PLUGIN_CA_PEM: certificate.cert,
    ze_plugin_hub_port: '4711',
    OTHER: 'x',
  };
  assert.equal(readVariable(environment, 'ZE_PLUGIN_HUB_PORT'), '4711');
  const read = takeHubEnvironment(environment, 'program');
  assert.deepEqual({ ...read, caPem: '' }, { host: '127.0.0.1', port: 4711, token: 'first', caPem: '', name: 'program' });
  assert.deepEqual(Object.keys(environment).sort(), ['OTHER', 'ZE_PLUGIN_CA_PEM', 'ze_plugin_hub_port']);
});

const incomplete: readonly (readonly [environment: Record<string, string>, message: RegExp])[] = [
  [{}, /ZE_PLUGIN_HUB_TOKEN is not set/],
  [{ ZE_PLUGIN_HUB_TOKEN: 't' }, /ZE_PLUGIN_CA_PEM is not set/],
  [{ ZE_PLUGIN_HUB_TOKEN: 't', ZE_PLUGIN_CA_PEM: 'nonsense' }, /ZE_PLUGIN_CA_PEM holds no certificate/],
];
for (const [environment, message] of incomplete) {
  test(`an environment of ${Object.keys(environment).length} variables is refused`, () => {
    assert.throws(() => takeHubEnvironment(environment, 'p'), message);
    assert.equal(environment['ZE_PLUGIN_HUB_TOKEN'], undefined);
  });
}

test('a port that is none is refused', () => {
  for (const value of ['0', '65536', 'x', '-1', '1.5']) {
    const environment = { ZE_PLUGIN_HUB_TOKEN: 't', ZE_PLUGIN_CA_PEM: certificate.cert, ZE_PLUGIN_HUB_PORT: value };
    assert.throws(() => takeHubEnvironment(environment, 'p'), /is not a port/, value);
  }
});

const claims: readonly (readonly [line: string, fault: string])[] = [
  ['#1 auth {"token":"t","name":"n"}', 'malformed auth request'],
  ['auth', 'malformed auth request'],
  ['#0 ok', 'malformed auth request'],
  ['#0 login {}', 'expected auth'],
  ['#0 auth', 'malformed auth params'],
  ['#0 auth []', 'malformed auth params'],
  ['#0 auth {"token":5,"name":"n"}', 'malformed auth params'],
  ['#0 auth {"token":"t","name":"-n"}', 'invalid plugin name'],
  ['#0 auth {"token":"t"}', 'invalid plugin name'],
];
for (const [line, fault] of claims) {
  test(`the auth line "${line}" is refused: ${fault}`, () =>
    assert.deepEqual(parseAuth(Buffer.from(line)), { ok: false, fault }));
}

test('a first line past its limit, a closed stream and silence are told apart', async () => {
  const [a, b] = duplexPair();
  a.write('x'.repeat(5000));
  await assert.rejects(readFirstLine(b, 4096, 1000), { code: 'too-large' });
  const [c, d] = duplexPair();
  c.write('half');
  c.end();
  await assert.rejects(readFirstLine(d, 4096, 1000), { code: 'closed' });
  const [, f] = duplexPair();
  await assert.rejects(readFirstLine(f, 4096, 20), { code: 'deadline' });
});
