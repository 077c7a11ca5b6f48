import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'node:test';
import { impostor, runCli, Sink, stage, temporaryFolder, until } from './stage.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

// arguments → exit code, stdout, stderr
for (const [args, code, stdout, stderr] of [
  [['show', 'version', '--json'], 0, /^\{\n {2}"version": "0.1.0",\n/, /^$/],
  [['show', 'version', '--format', 'json-compact'], 0, /^\{"version":"0.1.0","node":"v[^"]*"\}\n$/, /^$/],
  [['show', 'errors'], 0, /^\(empty\)\n$/, /^$/],
  [['show', 'errors', '--json'], 0, /^\[\]\n$/, /^$/],
  [['peer', 'list', '|', 'count'], 0, /count.*3/, /^$/],
  [['peer list | match edge | text'], 0, /^peer +192\.0\.2\.1\n/, /^$/],
  [['cli', '-c', 'peer list | count'], 0, /^count: 3\n$/, /^$/],
  [['cli', '-c', 'peer list | count | json compact'], 0, /^\{"count":3\}\n$/, /^$/],
  [['rib', 'routes', '1000', '--json'], 0, /^\{\n {2}"routes": \[\n {4}\{"prefix":"10\.0\.0\.0\/24"/, /^$/],
  [['rib', 'routes', '2', '--format', 'yaml'], 0, /^routes:\n {2}- prefix: 10\.0\.0\.0\/24\n {4}as-path:\n {6}- 65001\n/, /^$/],
  [['rib', 'routes', '300', '--format', 'yaml'], 0, /^routes:\n {2}- prefix: 10\.0\.0\.0\/24\n/, /^$/],
  [['rib', 'routes', '0', '--json'], 0, /^\{\n {2}"routes": \[\]\n\}\n$/, /^$/],
  [['shwo'], 1, /^$/, /^error: unknown command: shwo \(did you mean "show"\?\) \(column 1\)\n$/],
  [['shwo', '--json'], 1, /^\{"status":"error","error":"unknown command: shwo [^\n]*"\}\n$/, /^$/],
  [['cnofig', 'validate'], 1, /^$/, /unknown command: cnofig .*did you mean "config/],
  [['peer', 'edgee', 'detail'], 1, /^$/, /^error: no peer is called "edgee" \(did you mean "edge"\?\)/],
  [['peer', 'edgee', 'detail', '--json'], 1, /^\{\n {2}"status": "error",\n {2}"error": "no peer is called/, /^$/],
  [['peer', '*', 'teardown', '2', '--json'], 1, /"errors": \[/, /^$/],
  [['peer', '*', 'teardown', '2'], 1, /subcode/, /^error: 1 of 3 failed\n$/],
  [['peer', 'edge', 'teardown', '2', '--', '--json'], 0, /--json/, /^$/],
  [['summary', '--frmat', 'json'], 1, /^$/, /^error: unknown option --frmat \(did you mean --format\?\)/],
  [['--frmat', 'json'], 1, /^$/, /^error: unknown option --frmat \(did you mean --format\?\)/],
  [['status'], 0, /^daemon is running \(.*control\.sock, pid 4711\)\n$/, /^$/],
  [['status', '--json'], 0, /"running":true/, /^$/],
  [['signal', 'status'], 0, /^running, version 0\.1\.0, pid 4711/, /^$/],
  [['signal', 'stop'], 0, /^stopping\n$/, /^$/],
  [['signal', 'reload'], 4, /^$/, /^error: the running configuration is unchanged: line 3/],
  [['signal', 'relaod'], 1, /^$/, /did you mean "reload"/],
  [['schema', 'events'], 0, /committed/, /^$/],
  [['help', 'rib', 'routes'], 0, /rib routes/, /^$/],
  [['completion', 'words', '--', 'peer', 'edge', 'det'], 0, /^detail\tSettings, state and counters of peers\n$/, /^$/],
  [['completion', 'words', '--', 'config', 'migrate', '--f'], 0, /^--format\t.*\n$/, /^$/],
  [['completion', 'words', '--', 'config', 'fmt', '--check'], 0, /^--check\t\n$/, /^$/],
  [['completion', 'words', '--', 'config', 'validate', '--check'], 0, /^$/, /^$/],
  [['completion', 'words', '--', 'lab', '--announce'], 0, /^--announce\tannounce N/, /^$/],
  [['completion', 'words', '--', '--so'], 0, /^--socket\tcontrol socket/, /^$/],
  [['completion', 'words', '--', 'plugin', ''], 0, /^check\t\ninit\t\nlist\t/, /^$/],
  [['completion', 'words', '--', 'sta'], 0, /^status\t/, /^$/],
] as const) {
  test(`zest ${args.join(' ')}`, async () => {
    await using one = await stage();
    const outcome = await one.run(args);
    assert.match(outcome.stdout, stdout);
    assert.match(outcome.stderr, stderr);
    assert.equal(outcome.code, code);
  });
}

test('every --json answer is one document', async () => {
  await using one = await stage();
  for (const args of [
    ['summary'],
    ['peer', '*', 'capabilities'],
    ['rib', 'routes', '300'],
    ['rib', 'routes', '3'],
    ['rib', 'down'],
    ['show', 'health'],
    ['nonsense'],
    ['peer', '*', 'teardown', '2'],
    ['command', 'list'],
    ['daemon', 'reload'],
    ['plugin', 'list'],
  ]) {
    for (const how of [['--json'], ['--format', 'json-compact']]) {
      const { stdout } = await one.run([...args, ...how]);
      assert.equal(typeof JSON.parse(stdout), 'object', args.join(' '));
    }
  }
});

test('without a daemon the socket that was tried is named, and how to start one', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'none.sock');
  const plain = await runCli(['summary', '--socket', path]);
  assert.deepEqual([plain.code, plain.stdout], [1, '']);
  assert.equal(plain.stderr, `error: no daemon answers on ${path} (no such socket); start one with: zest FILE\n`);
  const json = await runCli(['summary', '--json', '--socket', path]);
  assert.equal((JSON.parse(json.stdout) as { status: string }).status, 'error');
  assert.equal((await runCli(['status', '--socket', path])).code, 1);
  assert.equal((await runCli(['signal', 'stop', '--socket', path])).code, 1);
  const mistyped = await runCli(['sumary', '--socket', path]);
  assert.match(mistyped.stderr, /unknown command: sumary \(did you mean "summary"\?\)/);
  assert.equal(mistyped.code, 1);
  const plugins = await runCli(['rib', 'routes', '--socket', path]);
  assert.match(
    plugins.stderr,
    /no daemon answers on .*; "rib" is no command of zest itself, and plugins need a running daemon\n$/,
  );
  assert.doesNotMatch(plugins.stderr, /did you mean/);
  const help = await runCli(['help', 'rib', 'routes', '--socket', path]);
  assert.match(help.stderr, /no daemon answers.*commands of plugins are known to a running daemon\n$/);
});

test('summary and show errors fit 100 columns as a table, and --wide shows every column', async () => {
  await using one = await stage();
  for (const words of [['summary'], ['show', 'warnings']]) {
    const narrow = (await one.run(words)).stdout;
    const wide = (await one.run([...words, '--wide'])).stdout;
    const widest = (text: string): number => Math.max(...text.split('\n').map((line) => line.length));
    assert.ok(widest(narrow) <= 100, `${words.join(' ')}: ${widest(narrow)}`);
    assert.ok(widest(wide) > widest(narrow));
  }
  const { stdout } = await one.run(['summary']);
  assert.match(stdout, /│ address +│ name +│ as +│ state/);
  assert.match(stdout, /│ 2001:db8::2 +│ core/);
  assert.match((await one.run(['summary', '--wide'])).stdout, /keepalives-received/);
  assert.match((await one.run(['summary', '--format', 'text'])).stdout, /keepalives-received/);
});

test('help, completion and schema need no daemon', async () => {
  for (const [args, expected] of [
    [['help'], /zest config validate FILE/],
    [[], /zest config validate FILE/],
    [['help', 'peer', 'teardown'], /^peer SEL teardown SUBCODE \[TEXT…\]/],
    [['peer', 'x', 'teardown', '--help'], /^peer SEL teardown SUBCODE/],
    [['signal', '--help'], /Exit codes/],
    [['help', 'signal'], /Exit codes/],
    [['completion', 'bash'], /complete -o default -F _zest zest/],
    [['completion', 'words', '--', 'sum'], /^summary\t/],
    [['schema', 'methods'], /ze-plugin-engine:dispatch-command +plugin to engine +records/],
    [['schema', 'list'], /ze-bgp-conf/],
    [['env', 'list'], /ze\.control\.socket/],
    [['--version'], /^zest 0\.1\.0\n$/],
  ] as const) {
    const { code, stdout, stderr } = await runCli(args, { environment: { ze_control_socket: '/nonexistent/zest.sock' } });
    assert.match(stdout, expected, args.join(' '));
    assert.deepEqual([code, stderr], [0, ''], args.join(' '));
  }
  const machine = JSON.parse((await runCli(['help', '--ai'])).stdout) as Record<string, readonly unknown[]>;
  assert.ok((machine['daemon-commands']?.length ?? 0) > 30);
});

test('the version is that of package.json, in the program that answers it before anything is loaded', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  for (const file of ['engine/main.ts', 'engine/core/version.ts'])
    assert.ok(readFileSync(join(ROOT, file), 'utf8').includes(`const VERSION = '${version}';`));
});

test('a configuration starts the daemon, with its settings', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'x.conf');
  writeFileSync(file, 'bgp { }');
  const { code, daemons } = await runCli([file, '-d', '--set', 'ze.log.bgp=info', '--socket', '/s']);
  assert.equal(code, 3);
  assert.deepEqual(daemons, [
    { configPath: file, flags: { 'log.level': 'debug', 'control.socket': '/s', 'log.bgp': 'info' }, quiet: false },
  ]);
  assert.deepEqual((await runCli(['-', '-q'], { stdin: 'bgp { }' })).daemons, [{ text: 'bgp { }', flags: {}, quiet: true }]);
  const missing = await runCli(['missing.conf']);
  assert.deepEqual([missing.code, missing.stderr], [2, 'error: missing.conf: no such file\n']);
});

test('config validate answers by exit code, on standard output', async () => {
  const folder = temporaryFolder();
  const good = join(folder, 'good.conf');
  writeFileSync(good, 'bgp { router-id 192.0.2.1; session { asn { local 64500; } } }\n');
  const valid = await runCli(['config', 'validate', good]);
  assert.deepEqual([valid.code, valid.stdout.split('\n')[0]], [0, `configuration valid: ${good}`]);
  const bad = await runCli(['config', 'validate', '-', '--json'], { stdin: 'bgp { nonsense 1; }' });
  assert.equal(bad.code, 1);
  assert.equal((JSON.parse(bad.stdout) as { valid: boolean }).valid, false);
  assert.equal((await runCli(['config', 'validate', '-q', '-'], { stdin: 'bgp { nonsense 1; }' })).stdout, '');
  assert.equal((await runCli(['config', 'validate', join(folder, 'none')])).code, 2);
  assert.match((await runCli(['config', 'valdate', good])).stderr, /did you mean "validate"/);
});

test('commands of standard input are run one by one, and one failure is the exit code', async () => {
  await using one = await stage();
  const good = await one.run(['cli'], {
    stdin: '# a comment\n\nshow uptime | json compact\npeer list | count\nexit\nnonsense\n',
  });
  assert.equal(good.code, 0);
  assert.match(good.stdout, /^\{"uptime":.*\}\ncount: 3\n$/);
  assert.equal((await one.run(['cli'], { stdin: 'nonsense\npeer list | count\n' })).code, 1);
});

test('a reader that goes away (| head) ends the command quietly', async () => {
  await using one = await stage();
  const stdout: Sink = new Sink((text) => {
    if (text.length > 1000) stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  });
  const { code, stderr } = await one.run(['rib', 'routes', '5000000'], { stdout });
  assert.deepEqual([code, stderr], [0, '']);
  await until('the producer stopped', () => one.fake.cancelled() === 1);
});

test('Ctrl-C ends a long answer, as a document, with code 130', async () => {
  await using one = await stage();
  const interrupt = new AbortController();
  const stdout = new Sink((text) => {
    if (text.length > 1000) interrupt.abort();
  });
  const { code } = await one.run(['rib', 'routes', '5000000', '--json'], { stdout, signal: interrupt.signal });
  assert.equal(code, 130);
  assert.match((JSON.parse(stdout.text) as { error: string }).error, /abort/);
  await until('the producer stopped', () => one.fake.cancelled() === 1);
});

test('monitor prints each event as it comes, and Ctrl-C is its end', async () => {
  await using one = await stage();
  for (const [how, pattern] of [
    [[], /^edge state up\nlab state down: x\\x1b\[2J\n$/],
    [['--json'], /^\{"type":"bgp".*\}\n\{"type":"bgp".*\\u001b.*\}\n$/],
  ] as const) {
    const interrupt = new AbortController();
    const stdout = new Sink((text) => {
      if (text.split('\n').length === 3) interrupt.abort();
    });
    const running = one.run(['monitor', 'event', ...how], { stdout, signal: interrupt.signal });
    await until('the tap', () => one.fake.taps.size === 1);
    one.fake.push(JSON.stringify({ type: 'bgp', bgp: { message: { type: 'state' }, peer: { name: 'edge' }, state: 'up' } }));
    one.fake.push(
      JSON.stringify({
        type: 'bgp',
        bgp: { message: { type: 'state' }, peer: { name: 'lab' }, state: 'down', reason: 'x\u001b[2J' },
      }),
    );
    assert.equal((await running).code, 0);
    assert.match(stdout.text, pattern);
    await until('the tap is back', () => one.fake.taps.size === 0);
  }
});

test('monitor bgp refreshes the summary until it is interrupted', async () => {
  await using one = await stage();
  const interrupt = new AbortController();
  const stdout = new Sink((text) => {
    if (text.split('\n').length > 2) interrupt.abort();
  });
  const { code } = await one.run(['monitor', 'bgp', '--interval', '0.1', '--json'], { stdout, signal: interrupt.signal });
  assert.equal(code, 0);
  for (const line of stdout.text.trim().split('\n')) assert.ok('summary' in (JSON.parse(line) as object));
});

test('a daemon that does not answer costs no more than the deadline', async () => {
  await using mute = await impostor(() => undefined);
  const { code, stderr } = await runCli(['summary', '--timeout', '0.2', '--socket', mute.path]);
  assert.deepEqual([code, stderr], [1, 'error: no answer within 0.2 s\n']);
});

test('a daemon that dies in the middle leaves a document that says so', async () => {
  await using dying = await impostor((socket) =>
    socket.once('data', () =>
      socket.write('#1 top map 6:routes 0:\n#1 row 7:{"a":1}\n', () => setTimeout(() => socket.destroy(), 20)),
    ),
  );
  const { code, stdout } = await runCli(['rib', 'routes', '--json', '--socket', dying.path]);
  assert.equal(code, 1);
  assert.deepEqual(JSON.parse(stdout), { routes: [{ a: 1 }], error: 'the answer broke off: connection closed' });
});

test('rows that are no JSON cannot spoil the document', async () => {
  await using liar = await impostor((socket) =>
    socket.once('data', () => socket.write('#1 top map 6:routes 0:\n#1 row 3:}x{\n#1 row 7:{"a":1}\n#1 end 2 0 0:\n')),
  );
  const { stdout } = await runCli(['rib', 'routes', '--json', '--socket', liar.path]);
  assert.deepEqual(JSON.parse(stdout), { routes: [{ a: 1 }], errors: [{ message: 'not JSON', text: '}x{' }] });
});
