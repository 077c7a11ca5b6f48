// Files that are no configuration, or one larger or stranger than any: each verb that reads a file answers in its own words, with the exit
// code it states, and never with a stack.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createCipheriv } from 'node:crypto';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runCli, temporaryFolder, UID } from './stage.ts';

const folder = temporaryFolder();
after(() => rmSync(folder, { recursive: true, force: true }));

const times = (count: number, text: (i: number) => string): string => Array.from({ length: count }, (_, i) => text(i)).join('');
/** The same bytes in every run: AES in counter mode over zeros. */
const randomBytes = (size: number, n: number): Buffer =>
  createCipheriv('aes-128-ctr', Buffer.alloc(16, n), Buffer.alloc(16)).update(Buffer.alloc(size));
const printable = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte) => 32 + (byte % 95)));
const bgp = (inner: string): string => `bgp { router-id 1.1.1.1; session asn local 1; ${inner} }`;
const SIZE = 100_000;

type Row = readonly [name: string, content: string | Buffer, exit: 0 | 1, fragment: string];

const rows: readonly Row[] = [
  ...[1, 2, 3].map((n): Row => [`random bytes ${n}`, randomBytes(SIZE, n), 1, 'line 1: ']),
  ...[1, 2].map((n): Row => [`random letters ${n}`, printable(randomBytes(SIZE, n)), 1, 'line 1: ']),
  [
    'random letters behind a #',
    Buffer.concat([Buffer.from('#'), printable(randomBytes(SIZE, 3))]),
    0,
    'the configuration is empty',
  ],
  ['zeros', Buffer.alloc(SIZE), 1, 'a word of 100000 characters (max 65536)'],
  ['a zero', 'bgp { \0 }', 1, 'unknown field in bgp: \\x00 ['],
  ['invalid UTF-8', Buffer.from([0x62, 0x67, 0x70, 0x20, 0x7b, 0xff, 0xfe, 0x7d]), 1, 'unknown field in bgp'],
  ['UTF-16', Buffer.from('\ufeffbgp { }', 'utf16le'), 1, 'unknown top-level keyword'],
  ['an escape sequence', 'bgp { \x1b[31m 1; }', 1, 'unknown field in bgp: \\x1b'],
  ['a byte order mark', '\ufeffenvironment { log { level info; } }', 0, 'configuration valid'],
  ['CRLF', 'environment {\r\n log {\r\n level info\r\n }\r\n}\r\n', 0, 'configuration valid'],
  ['CRLF and a fault', 'environment {\r\n log {\r\n level loud\r\n }\r\n}\r\n', 1, 'line 3: environment/log/level: "loud"'],
  ['CR alone', 'environment {\r log {\r level info;\r }\r}\r', 0, 'configuration valid'],
  ['nothing', '', 0, 'the configuration is empty'],
  ['open braces', '{'.repeat(10_000), 1, 'line 1: expected a keyword, found "{" [column 1]'],
  ['braces', '{'.repeat(10_000) + '}'.repeat(10_000), 1, 'expected a keyword'],
  ['closing braces', '}'.repeat(10_000), 1, 'a "}" closes nothing'],
  ['blocks in blocks', 'bgp {'.repeat(10_000), 1, 'bgp is not closed'],
  ['blocks in blocks, closed', 'bgp {'.repeat(10_000) + '}'.repeat(10_000), 1, 'unknown field in bgp: bgp'],
  ['groups in groups', `bgp { ${'group g { '.repeat(10_000)}${'}'.repeat(10_001)}`, 1, 'unknown field in group: group'],
  ['free blocks in free blocks', `firewall { ${'a { '.repeat(10_000)}${'}'.repeat(10_001)}`, 1, 'nested deeper than 64 levels'],
  [
    'brackets in brackets',
    bgp(`filter { import ${'[ '.repeat(10_000)}${'] '.repeat(10_000)}; }`),
    1,
    'expected a value, found "["',
  ],
  [
    'parentheses in parentheses',
    bgp(`update { attribute { bgp-prefix-sid ${'( '.repeat(10_000)}${') '.repeat(10_000)}; } }`),
    1,
    'expected a value',
  ],
  ['open brackets among free words', `firewall { a ${'[ '.repeat(10_000)}; }`, 1, 'a "]" or ")" is missing after a'],
  ['a closing bracket among free words', 'firewall { a ]; }', 1, 'expected a word, found "]"'],
  ['deep JSON', '{"bgp":'.repeat(5_000) + '1' + '}'.repeat(5_000), 1, 'expected a keyword, found "{"'],
  ['a line of a megabyte', `bgp { ${'router-id 1.1.1.1; '.repeat(60_000)}}`, 0, 'stated again'],
  ['a line of a megabyte, wrong', `bgp { ${'router-idd 1.1.1.1; '.repeat(60_000)}}`, 1, 'and 59900 more'],
  [
    'a token of a megabyte',
    `bgp { router-id ${'a'.repeat(1 << 20)}; }`,
    1,
    'line 1: a word of 1048576 characters (max 65536) [column 17',
  ],
  ['a string of a megabyte', `plugin { external x { run "${'a'.repeat(1 << 20)}"; } }`, 1, 'a string of 1048576 characters'],
  ['an open string', 'bgp {\n router-id "1.1.1.1;\n}\n', 1, 'line 2: unterminated string [column 12'],
  ['an open string of many lines', `plugin { external x { run '${'x\n'.repeat(50_000)}`, 1, 'line 1: unterminated string'],
  ['a comment without end', '/* never ends\nbgp { }', 1, 'unknown top-level keyword: /*'],
  ['a block behind a comment', 'bgp { # never ends', 1, 'bgp is not closed'],
  [
    '100,000 entries',
    bgp(`policy { prefix-list A {\n${times(100_000, (i) => `entry ${10 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}.0/24;\n`)} } }`),
    0,
    'valid',
  ],
  ['100,000 times one entry', `plugin {\n${'external x { run y; }\n'.repeat(100_000)}}`, 1, 'and 99899 more'],
  ['100,000 unknown statements', `bgp {\n${'nope;\n'.repeat(100_000)}}`, 1, 'line 102: and 99900 more'],
  [
    '100,000 prefixes in a line',
    bgp(`update { nlri { ipv4/unicast add${times(100_000, (i) => ` ${10 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}.0/24`)}; } }`),
    0,
    'valid',
  ],
  [
    '20,000 listeners',
    `environment { web { enabled true;\n${times(20_000, (i) => `server s${i} { ip 10.${i >> 8}.${i & 255}.1; port 80; }\n`)}} }`,
    0,
    'valid',
  ],
  ['a set line of a megabyte', `set bgp ${'a '.repeat(500_000)}\n`, 1, 'line 1: unknown field in bgp: a'],
  ['100,000 set lines', times(100_000, (i) => `set nope${i} x\n`), 1, 'and 99900 more'],
  ['set lines of nothing', 'set\nset \ndelete\ninactive\nset bgp peer\n', 1, 'line 1: '],
  ['an open string in a set line', 'set bgp router-id "1.1\n', 1, 'unterminated string'],
  ['10,000 digits', `bgp { session { asn { local ${'9'.repeat(10_000)}; } } }`, 1, 'bgp/session/asn/local: "9999'],
  ['a number past 2^64', 'bgp { timer { receive-hold-time 99999999999999999999; } }', 1, 'receive-hold-time'],
  ['a fraction', 'bgp { timer { receive-hold-time 3.5; } }', 1, 'receive-hold-time'],
  [
    'names of JavaScript',
    '__proto__ { }\nbgp { __proto__ 1; constructor { } }\nfirewall { __proto__ { a 1; } constructor 5; }',
    1,
    'unknown top-level keyword: __proto__',
  ],
  ['200,000 line ends', '\n'.repeat(200_000), 0, 'the configuration is empty'],
  ['200,000 semicolons', ';'.repeat(200_000), 0, 'the configuration is empty'],
];

const STACK = /\n\s+at |TypeError|RangeError|node:internal/;

for (const [index, [name, content, exit, fragment]] of rows.entries()) {
  const file = join(folder, `${index}.conf`);
  test(`config validate of ${name}`, async () => {
    writeFileSync(file, content);
    const { code, stdout, stderr } = await runCli(['config', 'validate', file]);
    assert.ok(stdout.includes(fragment), `${fragment}\nnot in\n${stdout.slice(0, 2000)}`);
    assert.equal(code, exit);
    assert.doesNotMatch(stdout + stderr, STACK);
    const lines = content.toString().split('\n');
    const errors = exit === 0 ? [] : stdout.split('\n').filter((line) => line.startsWith('  '));
    assert.equal(errors.length > 0, exit === 1);
    for (const error of errors) {
      const [, line = '0', column = '0'] = /^ {2}line (\d+): .* \[column (\d+)/.exec(error) ?? [];
      assert.ok(Number(line) >= 1 && Number(line) <= lines.length, `${error}\nof ${lines.length} lines`);
      assert.ok(Number(column) >= 1 && Number(column) <= lines[Number(line) - 1]!.length + 1, error);
    }
  });
}

const strange: readonly (readonly [name: string, make: (path: string) => void])[] = [
  ['missing', () => undefined],
  ['a folder', (path) => mkdirSync(path)],
  ['a pipe', (path) => execFileSync('mkfifo', [path])],
  ['a device', (path) => execFileSync('ln', ['-s', '/dev/zero', path])],
  ...(UID === 0
    ? []
    : [
        [
          'not ours to read',
          (path: string) => {
            writeFileSync(path, 'bgp { }');
            chmodSync(path, 0);
          },
        ] as const,
      ]),
];

for (const [index, [name, make]] of strange.entries()) {
  test(`a file that is ${name}: exit code 2 and a reason, whatever the verb`, async () => {
    const file = join(folder, `strange-${index}`);
    const good = join(folder, 'good.conf');
    writeFileSync(good, 'bgp { }');
    make(file);
    const verbs: readonly (readonly string[])[] = [
      ['validate', file],
      ['validate', '--json', file],
      ['fmt', file],
      ['cat', file],
      ['dump', file],
      ['diff', good, file],
      ['import', file, join(folder, 'new.conf')],
      ['migrate', '--format', 'set', file],
      ['set', '--no-reload', file, 'bgp', 'router-id', '1.1.1.1'],
      ['delete', '--no-reload', file, 'bgp'],
      ['rollback', '1', file],
      ['archive', file],
    ];
    for (const verb of verbs) {
      const { code, stdout, stderr } = await runCli(['config', ...verb]);
      assert.equal(code, 2, `${verb.join(' ')}\n${stdout}${stderr}`);
      assert.doesNotMatch(stdout + stderr, STACK);
      assert.ok(stderr.length + stdout.length > 10, verb.join(' '));
    }
    const quiet = await runCli(['config', 'validate', '-q', file]);
    assert.deepEqual([quiet.code, quiet.stdout, quiet.stderr], [2, '', '']);
    const report = JSON.parse((await runCli(['config', 'validate', '--json', file])).stdout) as { valid: boolean };
    assert.equal(report.valid, false);
  });
}

const bad: readonly (readonly [name: string, content: string | Buffer])[] = [
  ['random bytes', randomBytes(SIZE, 1)],
  ['open braces', '{'.repeat(10_000)],
  ['brackets in brackets', `bgp { filter { import ${'[ '.repeat(10_000)}`],
  ['a token of a megabyte', `bgp { router-id ${'a'.repeat(1 << 20)}; }`],
  ['an open string', 'bgp { router-id "'],
  ['a set line of a megabyte', `set bgp ${'a '.repeat(500_000)}\n`],
];

for (const [index, [name, content]] of bad.entries()) {
  test(`${name}: a verb that would rewrite the file refuses, and leaves it alone`, async () => {
    const file = join(folder, `bad-${index}.conf`);
    const good = join(folder, 'good.conf');
    writeFileSync(good, 'bgp { }');
    const verbs: readonly (readonly string[])[] = [
      ['fmt', '-w', file],
      ['dump', file],
      ['diff', good, file],
      ['import', file, join(folder, 'new.conf')],
      ['migrate', '--format', 'set', '-w', file],
      ['set', '--no-reload', file, 'bgp', 'router-id', '1.1.1.1'],
      ['archive', file],
    ];
    for (const verb of verbs) {
      writeFileSync(file, content);
      const { code, stdout, stderr } = await runCli(['config', ...verb]);
      assert.equal(code, 1, `${verb.join(' ')}\n${stdout.slice(0, 500)}${stderr.slice(0, 500)}`);
      assert.match(stderr, /line 1: /, verb.join(' '));
      assert.doesNotMatch(stdout + stderr, STACK);
    }
    assert.equal((await runCli(['config', 'cat', file])).code, 0);
  });
}

test('lists of a hundred thousand entries are compared line by line', async () => {
  const one = join(folder, 'one.conf');
  const two = join(folder, 'two.conf');
  writeFileSync(one, 'bgp { }');
  writeFileSync(
    two,
    `bgp { policy { prefix-list A {\n${times(100_000, (i) => `entry ${10 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}.0/24;\n`)} } } }`,
  );
  const { code, stdout } = await runCli(['config', 'diff', one, two]);
  assert.equal(code, 0);
  assert.ok(stdout.split('\n').length > 100_000);
});
