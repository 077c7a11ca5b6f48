// Rough treatment of the command line: daemons that speak rubbish, output that cannot be written, input that never ends.
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import test from 'node:test';
import { impostor, runCli, Sink, stage, until } from './stage.ts';

/** Nothing a terminal obeys or that reorders text. */
const STEERING = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/;

test('what a daemon answers steers no terminal, in any format', async () => {
  const evil = '\u001b[2J\r\u009b31m\u202e';
  await using liar = await impostor((socket) =>
    socket.once('data', () => socket.write(`#1 error ${JSON.stringify({ code: 'error', message: evil })}\n`)),
  );
  for (const args of [
    ['status'],
    ['signal', 'status'],
    ['signal', 'reload'],
    ['summary'],
    ['cli', '-c', 'summary'],
    ['monitor', 'bgp'],
  ]) {
    for (const how of [[], ['--json']]) {
      const { stdout, stderr } = await runCli([...args, ...how, '--socket', liar.path]);
      assert.doesNotMatch(stdout, STEERING, args.join(' '));
      assert.doesNotMatch(stderr, STEERING, args.join(' '));
      if (stdout !== '') assert.equal(typeof JSON.parse(stdout), 'object');
    }
  }
});

test('a row of monitor that is no JSON is shown as a document that says so', async () => {
  await using liar = await impostor((socket) =>
    socket.once('data', () => socket.write('#1 top map 6:events 0:\n#1 row 3:{{{\n#1 end 1 0 0:\n')),
  );
  const { stdout } = await runCli(['monitor', 'event', '--json', '--socket', liar.path]);
  assert.deepEqual(JSON.parse(stdout), { message: 'not JSON', text: '{{{' });
});

for (const [how, expected] of [
  [['--json'], /"a":1/],
  [['--format', 'yaml'], /- a: 1/],
  [['--format', 'table'], /│ 1 │/],
  [['--format', 'text'], /^a\n1\n$/],
] as const) {
  test(`rows are shown while their producer pauses: ${how.join(' ')}`, async () => {
    await using slow = await impostor((socket) =>
      socket.once('data', () => socket.write('#1 top map 6:routes 0:\n#1 row 7:{"a":1}\n')),
    );
    const interrupt = new AbortController();
    const stdout = new Sink();
    const running = runCli(['rib', 'routes', ...how, '--socket', slow.path], { stdout, signal: interrupt.signal });
    await until('the row', () => expected.test(stdout.text));
    interrupt.abort();
    assert.equal((await running).code, 130);
  });
}

for (const args of [
  ['summary'],
  ['help'],
  ['config', 'validate', '-'],
  ['completion', 'bash'],
  ['schema', 'list'],
  ['env', 'list'],
]) {
  test(`a full disk is a failure: zest ${args.join(' ')}`, async () => {
    await using one = await stage();
    const full = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })),
    });
    const { code, stderr } = await one.run(args, { stdout: full });
    assert.equal(code, 1);
    assert.equal(stderr, 'error: the output could not be written: ENOSPC: no space left on device\n');
  });
}

for (const args of [['config', 'validate', '-'], ['-'], ['bgp', 'decode', '-'], ['cli']]) {
  test(`Ctrl-C ends the wait for standard input: zest ${args.join(' ')}`, async () => {
    await using one = await stage();
    const interrupt = new AbortController();
    const running = one.run(args, { stdin: null, signal: interrupt.signal });
    setImmediate(() => interrupt.abort());
    const { code, stdout, stderr, daemons } = await running;
    assert.deepEqual([code, stdout, stderr, daemons.length], [130, '', '', 0]);
  });
}

test('a mistake in the arguments is a document where one was asked for', async () => {
  for (const args of [
    ['--frmat', 'json', '--json'],
    ['--json', '--format', 'xml'],
    ['config', 'validate', '--json'],
    ['cli', 'x', '--json'],
  ]) {
    const { code, stdout, stderr } = await runCli(args);
    assert.deepEqual([code, stderr, (JSON.parse(stdout) as { status: string }).status], [1, '', 'error'], args.join(' '));
  }
});
