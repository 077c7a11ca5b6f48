// What the lab speaker says when it cannot do what it was asked to.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { runLab } from '../../../engine/offline/lab/command.ts';
import { freePort } from '../../support/zest-process.ts';

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
  const refused = await lab(['--connect', `127.0.0.1:${port}`, '--duration', '0.5']);
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
