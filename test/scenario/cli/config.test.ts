// `zest config …` on files, as a shell sees it: output, exit codes, what is on disk afterwards; and the editor in a real terminal.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hasScript, Terminal } from '../../support/terminal.ts';
import { stage, type Stage } from './stage.ts';

const GOOD = `# Edge
bgp {
    router-id 10.0.0.1; session { asn { local 64500; } }
    peer edge {
        description transit; connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
        session { asn { remote 64496; } family { ipv4/unicast { prefix { maximum 5; } } } }
    }
}
`;

async function withFile(text = GOOD): Promise<Stage & { readonly file: string }> {
  const own = await stage();
  const file = join(own.folder, 'edge.conf');
  writeFileSync(file, text);
  return Object.assign(own, { file });
}

interface Row {
  readonly args: readonly string[];
  readonly code: number;
  readonly stdout?: RegExp;
  readonly stderr?: RegExp;
  readonly stdin?: string;
}

const FILE = '@FILE';
const ROWS: readonly Row[] = [
  { args: ['validate', FILE], code: 0, stdout: /^configuration valid/ },
  { args: ['validate', '-'], stdin: 'set bgp router-id 1.1.1.1\n', code: 0, stdout: /^configuration valid: -/ },
  {
    args: ['validate', '-'],
    stdin: 'set bgp ruoter-id 1.1.1.1\n',
    code: 1,
    stdout: /line 1: unknown field in bgp: ruoter-id \(did you mean "router-id"\?\) \[column 9\]/,
  },
  { args: ['migrate', '--format', 'set', FILE], code: 0, stdout: /^# Edge\nset bgp\nset bgp router-id 10\.0\.0\.1\n/ },
  {
    args: ['migrate', '--format=hierarchical', '-'],
    stdin: 'set bgp router-id 1.1.1.1',
    code: 0,
    stdout: /^bgp \{\n {4}router-id 1\.1\.1\.1;\n\}\n$/,
  },
  { args: ['migrate', FILE], code: 1, stderr: /migrate --format set\|hierarchical/ },
  { args: ['migrate', '--format', 'xml', FILE], code: 1, stderr: /set or hierarchical, not xml/ },
  {
    args: ['migrate', '--format', 'set', '-'],
    stdin: '#a @b %2026-01-01T00:00:00Z set bgp router-id 1.1.1.1',
    code: 0,
    stdout: /^set bgp router-id 1\.1\.1\.1\n$/,
    stderr: /edit metadata of 1 lines is not kept/,
  },
  { args: ['fmt', FILE], code: 0, stdout: /^# Edge\nbgp \{\n {4}router-id/ },
  { args: ['format', '--check', FILE], code: 1, stdout: /not in the usual form/ },
  {
    args: ['fmt', '-'],
    stdin: 'bgp { pear x { } }',
    code: 1,
    stderr: /cannot be read whole:\n +line 1: unknown field in bgp: pear/,
  },
  { args: ['dump', FILE], code: 0, stdout: /^bgp:\n {2}router-id: 10\.0\.0\.1/ },
  {
    args: ['dump', '--json', '-'],
    stdin: 'set plugin hub server a secret 01234567890123456789012345678901\nset plugin hub server a port 1\n',
    code: 0,
    stdout: /"secret": "\*{8}"/,
  },
  { args: ['cat', FILE], code: 0, stdout: /description transit; connection/ },
  { args: ['diff', FILE, FILE], code: 0, stdout: /^no differences\n$/ },
  { args: ['diff', '7', FILE], code: 2, stderr: /has no revision 7/ },
  { args: ['history', FILE], code: 2, stderr: /no revisions yet/ },
  { args: ['rollback', '3', FILE], code: 2, stderr: /has no revision 3/ },
  { args: ['archive', FILE], code: 2, stderr: /has no system archive/ },
  { args: ['cat', '/nowhere/x.conf'], code: 2, stderr: /cannot read .*no such file/ },
  { args: ['set', '/nowhere/x.conf', 'bgp', 'router-id', '1.1.1.1'], code: 2, stderr: /no such file/ },
  { args: ['edit', '/nowhere/x.conf', '-c', 'show'], code: 2, stderr: /there is no folder/ },
  { args: ['edit', '-', '-c', 'show'], code: 1, stderr: /name a file/ },
  { args: ['edit', FILE, '-c', 'show bgp router-id'], code: 0, stdout: /^router-id 10\.0\.0\.1;\n$/ },
  { args: ['edit', FILE], stdin: 'edit bgp\n# a note\n\nshow router-id\n', code: 0, stdout: /^router-id 10\.0\.0\.1;\n$/ },
  {
    args: ['edit', FILE, '-c', 'edit bgp', '-c', 'set ruoter-id 1.1.1.1'],
    code: 1,
    stderr: /^error: line 2, column 5: unknown field in bgp: ruoter-id \(did you mean "router-id"\?\)\n$/,
  },
  { args: ['edit', FILE, '-c', 'set bgp router-id 1.1.1.1'], code: 1, stderr: /not committed and are lost/ },
  { args: ['edit', '--json', FILE, '-c', 'sho'], code: 1, stdout: /"ok": false,\n {2}"uncommitted": false,[^]*"column": 1/ },
  {
    args: ['edit', FILE],
    stdin: `set bgp ${'x'.repeat(1_000_000)}\n`,
    code: 1,
    stderr: /^error: line 1, column 65537: the line has 1000008 characters/,
  },
  { args: ['edit', FILE], stdin: 'show\u0000\u001b[31m\n', code: 1, stderr: /^error: line 1, column 5: control character 0x00/ },
  { args: ['completion', '--context', 'bgp/peer/edge', '--input', 'set+desc', FILE], code: 0, stdout: /^description\t/ },
  { args: ['completion', '--input', 'delete+bgp+peer+', FILE], code: 0, stdout: /^edge\ttransit\n$/ },
  { args: ['ls', '/nowhere'], code: 2, stderr: /cannot read/ },
  { args: ['vaildate', FILE], code: 1, stderr: /unknown config command: vaildate \(did you mean "validate"\?\)/ },
  {
    args: ['deactivate', '--dry-run', FILE, 'bgp', 'peer', 'edge'],
    code: 0,
    stdout: /^\[edit bgp\]\n! {3}inactive: peer edge\n[^]*the candidate is valid\n$/,
  },
];

for (const { args, code, stdout = /^$/, stderr = /^$/, stdin } of ROWS) {
  test(`config ${args.join(' ')}`, async () => {
    await using own = await withFile();
    const words = args.map((word) => (word === FILE ? own.file : word));
    const outcome = await own.run(
      ['config', ...words, '--socket', join(own.folder, 'none')],
      stdin === undefined ? {} : { stdin },
    );
    assert.equal(outcome.code, code, outcome.stderr);
    assert.match(outcome.stdout, stdout);
    assert.match(outcome.stderr, stderr);
    assert.equal(readFileSync(own.file, 'utf8'), GOOD, 'the file is as it was');
  });
}

test('set, deactivate, migrate, rollback, rename: the file and its revisions', async () => {
  await using own = await withFile();
  const { file } = own;
  const run = async (...args: readonly string[]): Promise<string> => {
    const outcome = await own.run(['config', ...args, '--socket', join(own.folder, 'none')]);
    assert.equal(outcome.code, 0, `${args.join(' ')}: ${outcome.stderr}${outcome.stdout}`);
    return outcome.stdout;
  };
  assert.match(
    await run('set', '-u', 'ann', file, 'bgp', 'peer', 'edge', 'description', 'two words'),
    /\+ {3}description "two words";[^]*revision 2/,
  );
  assert.match(await run('history', file), /2 .* ann {2}set bgp peer edge description "two words"\n {3}1 /);
  await run('migrate', '--format', 'set', '-w', file);
  assert.match(readFileSync(file, 'utf8'), /^# Edge\nset bgp\n/);
  await run('deactivate', file, 'bgp peer edge');
  assert.match(readFileSync(file, 'utf8'), /^inactive bgp peer edge$/m);
  assert.match(await run('diff', '1', file), /inactive: peer edge/);
  await run('rollback', '1', file);
  assert.match(await run('diff', '1', file), /no differences/);
  const moved = join(own.folder, 'core.conf');
  await run('rename', file, moved);
  assert.ok(!existsSync(file) && !existsSync(`${file}.zest`));
  assert.match(await run('history', moved), /rollback to 1/);
  assert.match(await run('ls', own.folder), /core\.conf .* revisions/);
  writeFileSync(file, 'set bgp router-id 9.9.9.9\n');
  await run('import', file, moved);
  assert.match(await run('cat', moved), /9\.9\.9\.9/);
  const archives = join(own.folder, 'kept');
  await run('set', moved, 'system', 'archive', 'disk', 'location', archives);
  await run('set', moved, 'system', 'archive', 'disk', 'filename', 'copy.conf');
  await run('archive', moved);
  assert.match(readFileSync(join(archives, 'copy.conf'), 'utf8'), /archive disk/);
});

test('every command on files answers one JSON document of the shape that its help names', async () => {
  await using own = await withFile(`${GOOD}system { archive here { location copies; filename edge.copy; } }\n`);
  const { file, folder } = own;
  const path = (name: string): string => join(folder, name);
  const json = async (code: number, ...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> => {
    const ran = await own.run(['config', ...args, '--json', '--socket', path('none')], {});
    assert.equal(ran.code, code, ran.stderr);
    assert.equal(ran.stderr, '');
    return JSON.parse(ran.stdout) as Readonly<Record<string, unknown>>;
  };
  const text = readFileSync(file, 'utf8');
  assert.deepEqual(await json(0, 'cat', file), { ok: true, file, config: text });
  const facts = { file, format: 'hierarchical', changed: true, warnings: [] };
  const { config: formatted, ...rest } = await json(0, 'fmt', file);
  assert.deepEqual(rest, { ok: true, ...facts });
  assert.match(String(formatted), /^# Edge\nbgp \{\n {4}router-id/);
  assert.deepEqual(await json(1, 'fmt', '--check', file), { ...facts, ok: false });
  const moved = { ...facts, format: 'set', ok: true, written: path('out.conf') };
  assert.deepEqual(await json(0, 'migrate', '--format', 'set', '-o', path('out.conf'), file), moved);
  assert.deepEqual(await json(0, 'fmt', '-w', file), { ok: true, ...facts, written: file });
  assert.deepEqual(await json(0, 'fmt', '-w', file), { ok: true, ...facts, changed: false });
  const imported = await json(0, 'import', path('out.conf'), path('in.conf'));
  assert.deepEqual(Object.keys(imported), ['ok', 'file', 'source', 'notes', 'warnings']);
  assert.deepEqual(await json(0, 'rename', path('in.conf'), path('new.conf')), {
    ok: true,
    from: path('in.conf'),
    to: path('new.conf'),
  });
  const copies = [{ archive: 'here', path: path('copies/edge.copy') }];
  assert.deepEqual(await json(0, 'archive', file), { ok: true, file, copies });
  assert.equal((await json(0, 'set', file, 'bgp', 'router-id', '10.0.0.9'))['committed'], true);
  assert.deepEqual(Object.keys(await json(0, 'history', file)), ['file', 'revisions']);
  assert.deepEqual(await json(1, 'rename', file, path('new.conf')), {
    status: 'error',
    error: `${path('new.conf')} is there already`,
  });
});

const built = join(import.meta.dirname, '../../../dist/engine/main.js');

test('in a terminal: prompt, completion, help on ?, a mark under the fault, commit', {
  skip: hasScript && existsSync(built) ? false : 'script(1) or dist is missing',
}, async () => {
  await using own = await withFile();
  const terminal = new Terminal([process.execPath, built, 'config', 'edit', '--socket', join(own.folder, 'none'), own.file], {
    ...process.env,
    ze_state_dir: own.folder,
  });
  try {
    await terminal.until(/zest# /);
    terminal.type('edit bgp pe\t');
    await terminal.until(/peer /);
    terminal.type('ed\t');
    await terminal.until(/edge/);
    terminal.type('\r');
    await terminal.until(/\[edit bgp peer edge\]\r\n[^]*zest# /);
    terminal.type('set timer ?\r');
    await terminal.until(/receive-hold-time {2,}Hold time[^]*zest# /);
    terminal.type('set timr x\r');
    await terminal.until(/ {10}\^\r\nerror: unknown field in peer: timr \(did you mean "timer"\?\)[^]*zest# /);
    terminal.type('set description changed\r');
    await terminal.until(/zest\*# /);
    terminal.type('commit comment "by hand"\r');
    await terminal.until(/revision 2[^]*zest# /);
    terminal.type('quit\r');
    assert.equal(await terminal.ended, 0);
    assert.match(readFileSync(own.file, 'utf8'), /description changed;/);
  } finally {
    terminal.kill();
  }
});
