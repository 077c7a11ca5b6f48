// What the lab speaker says when it cannot do what it was asked to.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { systemClock } from '../../../engine/core/clock.ts';
import { runLab } from '../../../engine/offline/lab/command.ts';
import { Speaker } from '../../../engine/offline/lab/speaker.ts';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../../sdk/wire/family.ts';
import { eventually, freePort } from '../../support/zest-process.ts';

async function lab(
  args: readonly string[],
  over: (errors: string) => boolean = () => false,
): Promise<{ code: number; errors: string }> {
  const stop = new AbortController();
  let errors = '';
  const code = await runLab(args, {
    write: () => undefined,
    writeError: (text) => {
      errors += text;
      if (over(errors)) stop.abort();
    },
    signal: stop.signal,
  });
  return { code, errors };
}

for (const [args, says] of [
  [['--connect', '127.0.0.1:0'], /^zest lab: 127\.0\.0\.1:0: port 0 is no port to speak to\n$/],
  [['--listen', '[::1]:0'], /port 0 is no port/],
  [['--connect', '127.0.0.1:65536'], /expected HOST:PORT/],
  [['--mrt', '/nowhere/\u001b[2Jx'], /^zest lab: ENOENT.*\/nowhere\/\\x1b\[2Jx'\n$/],
  [['--mrt', '/dev/null'], /^zest lab: --mrt takes a file, and \/dev\/null is none\n$/],
  [['--family', 'ipv4\u0007'], /unknown family ipv4\\x07/],
] as const) {
  test(`zest lab ${JSON.stringify(args)} is refused`, async () => {
    const { code, errors } = await lab(args);
    assert.equal(code, 2);
    assert.match(errors, says);
  });
}

test('no session: what is tried and why it fails is said at once, and not with every attempt', async (t) => {
  const port = await freePort();
  const refused = await lab(['--connect', `127.0.0.1:${port}`, '--duration', '2']);
  assert.equal(refused.code, 1);
  assert.match(
    refused.errors,
    new RegExp(`^zest lab: no session with 127\\.0\\.0\\.1:${port} yet, trying on: .*ECONNREFUSED.*\\n$`),
  );
  const server = createServer((socket) => void socket.on('error', () => undefined).end());
  t.after(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert(typeof address === 'object' && address !== null);
  const closed = await lab(['--json', '--connect', `127.0.0.1:${address.port}`], (errors) => errors !== '');
  assert.deepEqual(JSON.parse(closed.errors), {
    event: 'no-session',
    connect: `127.0.0.1:${address.port}`,
    reason: 'connection closed',
  });
});

/** ROUTE-REFRESH for an AFI and SAFI 1. */
const refresh = (afi: number): Buffer => Buffer.concat([Buffer.alloc(16, 0xff), Buffer.from([0, 23, 5, 0, afi, 0, 1])]);

test('routes that are asked for again are announced again, those of the family and as often as they were asked for', async () => {
  const port = await freePort();
  const stop = new AbortController();
  let said = '';
  const ended = runLab(
    [
      '--listen',
      `127.0.0.1:${port}`,
      '--as',
      '65001',
      '--family',
      'ipv4/unicast,ipv6/unicast',
      '--announce',
      '7',
      '--sets',
      '1',
      '--print',
      'none',
    ],
    { write: (text) => (said += text), writeError: (text) => (said += text), signal: stop.signal },
  );
  let updates = 0;
  const other = new Speaker(
    {
      role: 'connect',
      host: '127.0.0.1',
      port,
      local: '',
      as: 65002,
      peerAs: 0,
      id: 0x0a000002,
      families: [IPV4_UNICAST, IPV6_UNICAST],
      holdTimeSeconds: 90,
      addPath: false,
    },
    { up: () => undefined, update: () => updates++, refresh: () => undefined, down: () => undefined, failed: () => undefined },
    systemClock,
  );
  await other.start();
  const count = (text: RegExp): number => [...said.matchAll(text)].length;
  await eventually('the first announcement', () =>
    count(/announced 7 routes, withdrew 0/g) === 1 && updates === 3 ? true : undefined,
  );
  await other.send([refresh(2)]);
  await eventually('an answer for IPv6', () => (count(/announced 0 routes again/g) === 1 ? true : undefined));
  await other.send([refresh(1)]);
  await eventually('an answer for IPv4', () => (count(/announced 7 routes again/g) === 1 ? true : undefined));
  // A family that nobody speaks, and what is no refresh: nothing.
  await other.send([refresh(9)]);
  await other.send([refresh(1)]);
  await eventually('an answer for IPv4', () => (count(/announced 7 routes again/g) === 2 ? true : undefined));
  assert.equal(count(/again/g), 3, said);
  await other.stop('done');
  stop.abort();
  assert.equal(await ended, 0);
});
