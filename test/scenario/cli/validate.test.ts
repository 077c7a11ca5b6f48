// `zest config validate` as a process of its own: exit codes, what stands on which output, standard input, --json, -q, -v.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const ZEST = join(import.meta.dirname, '../../../dist/engine/main.js');
const folder = mkdtempSync(join(tmpdir(), 'zest-validate-'));
after(() => {
  rmSync(folder, { recursive: true, force: true });
});

const PEER = `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 64496; } family { ipv4/unicast { prefix { maximum 5; } } } }
  }
}
`;
const SET = 'set bgp router-id 10.0.0.1\nset bgp session asn local 64500\n';
const TEXTS: Readonly<Record<string, string>> = {
  'good.conf': PEER,
  'bad.conf': PEER.replace('maximum 5', 'maximun 5'),
  'half.conf': PEER.replace('remote { ip 10.0.0.2; }', ''),
  'warned.conf': PEER.replace('peer edge {', 'peer edge {\n    connection { bfd; }'),
  'set.conf': SET,
};
for (const [name, text] of Object.entries(TEXTS)) writeFileSync(join(folder, name), text);

interface Row {
  readonly args: readonly string[];
  readonly stdin?: string;
  readonly code: number;
  readonly stdout?: RegExp;
  readonly stderr?: RegExp;
}

const ROWS: readonly Row[] = [
  { args: ['good.conf'], code: 0, stdout: /^configuration valid: good\.conf\n$/ },
  { args: ['set.conf'], code: 0, stdout: /^configuration valid: set\.conf\n$/ },
  {
    args: ['-v', 'good.conf'],
    code: 0,
    stdout: /^configuration valid: good\.conf\n\nConfiguration summary:\n[^]*router-id: 10\.0\.0\.1\n[^]*- 10\.0\.0\.2 AS64496\n/,
  },
  {
    args: ['bad.conf'],
    code: 1,
    stdout:
      /^configuration invalid: bad\.conf\n\nErrors:\n {2}line 6: unknown field in prefix: maximun \(did you mean "maximum"\?\) \[column 70\]\n$/,
  },
  {
    args: ['half.conf'],
    code: 0,
    stdout: /^configuration valid: half\.conf\n$/,
    stderr: /^warning: line 4: incomplete peer edge: remote ip is missing/,
  },
  {
    args: ['warned.conf'],
    code: 0,
    stdout: /^configuration valid: warned\.conf\nwarning: line 5: bgp\/peer\/connection\/bfd is not available/,
  },
  { args: ['-'], stdin: PEER, code: 0, stdout: /^configuration valid: -\n$/ },
  {
    args: ['-'],
    stdin: 'bgp { flow { } }',
    code: 1,
    stdout: /^configuration invalid: -\n\nErrors:\n {2}line 1: unknown field in bgp: flow/,
  },
  { args: ['-'], stdin: '', code: 0, stdout: /^configuration valid: -\nwarning: the configuration is empty/ },
  { args: ['-q', 'good.conf'], code: 0 },
  { args: ['-q', 'bad.conf'], code: 1 },
  { args: ['-q', 'half.conf'], code: 0 },
  { args: ['-q', 'none.conf'], code: 2 },
  { args: ['none.conf'], code: 2, stderr: /^cannot read none\.conf: no such file\n$/ },
  { args: ['.'], code: 2, stderr: /^cannot read \.: is not a file\n$/ },
  { args: ['--json', 'good.conf'], code: 0, stdout: /^\{\n {2}"valid": true,\n {2}"path": "good\.conf",\n {2}"errors": \[\],/ },
  {
    args: ['--json', 'bad.conf'],
    code: 1,
    stdout: /"valid": false,[^]*"line": 6,[^]*"message": "unknown field in prefix: maximun/,
  },
  { args: ['--limit', 'environment', 'bad.conf'], code: 0, stdout: /^configuration valid: bad\.conf\n$/ },
  {
    args: ['--limit', 'environment', '-'],
    stdin: 'bgp { listen 1; } environment { log { levle info; bgp loud; } bgp { openwait 0; } }',
    code: 1,
    stdout: /^configuration invalid: -\n\nErrors:\n {2}line 1: environment\/bgp\/openwait: [^\n]*\n[^\n]*loud[^\n]*\n/,
  },
  { args: ['--limit', 'bgp', 'bad.conf'], code: 1, stderr: /--limit environment, not bgp/ },
  { args: [], code: 1, stderr: /takes one FILE/ },
  { args: ['good.conf', 'bad.conf'], code: 1, stderr: /takes one FILE/ },
];

async function validate({ args, stdin = '' }: Row): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [ZEST, 'config', 'validate', ...args], { cwd: folder });
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (bytes: Buffer) => (said.stdout += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (said.stderr += bytes.toString()));
  child.stdin.end(stdin);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, ...said };
}

for (const row of ROWS) {
  test(`validate ${row.args.join(' ')}${row.stdin === undefined ? '' : ` < ${JSON.stringify(row.stdin.slice(0, 20))}`}`, async () => {
    const { code, stdout, stderr } = await validate(row);
    assert.equal(code, row.code, `${stdout}${stderr}`);
    assert.match(stdout, row.stdout ?? /^$/);
    assert.match(stderr, row.stderr ?? /^$/);
  });
}
