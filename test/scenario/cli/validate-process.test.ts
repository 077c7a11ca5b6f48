// `zest config validate` as shells and scripts see it: the built program, its exit codes and its two streams.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { PROGRAM } from '../../support/zest-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'zest-validate-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const GOOD = `bgp {
  router-id 10.0.0.1
  session { asn { local 65000; } }
  peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 65001; } family { ipv4/flow { prefix { maximum 10; } } } }
    update { attribute { extended-community rate-limit:9600; } nlri { ipv4/flow add destination 10.0.0.0/8 port =80; } }
  }
}
`;
const BAD = GOOD.replace('port =80', 'prot =80');
const SET =
  'set bgp router-id 10.0.0.1\nset bgp session asn local 65000\nset bgp update default nlri ipv4/mpls-label content 10.0.0.0/8\n';
const INCOMPLETE = GOOD.replace('remote { ip 10.0.0.2; }', 'remote { port 179; }');

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const good = file('good.conf', GOOD);
const bad = file('bad.conf', BAD);

type Row = readonly [args: readonly string[], stdin: string, exit: number, stdout: RegExp, stderr: RegExp];

const rows: readonly Row[] = [
  [[good], '', 0, /^configuration valid: .*good\.conf\n$/, /^$/],
  [['-v', good], '', 0, /Configuration summary:[\s\S]*router-id: 10\.0\.0\.1[\s\S]*- 10\.0\.0\.2 AS65001/, /^$/],
  [
    [bad],
    '',
    1,
    /^configuration invalid: .*bad\.conf\n\nErrors:\n {2}line 7: ipv4\/flow: unknown match "prot" \(did you mean "port"\?\) \[column 108/,
    /^$/,
  ],
  [['-q', good], '', 0, /^$/, /^$/],
  [['-q', bad], '', 1, /^$/, /^$/],
  [['--quiet', bad], '', 1, /^$/, /^$/],
  [['-q', '-'], INCOMPLETE, 0, /^$/, /^$/],
  [['-'], GOOD, 0, /^configuration valid: -\n$/, /^$/],
  [['-'], INCOMPLETE, 0, /^configuration valid: -\n$/, /incomplete peer edge: remote ip is missing/],
  [['-'], SET, 1, /line 3: missing operation keyword \(add, del or eor\) in nlri ipv4\/mpls-label/, /^$/],
  [['--json', '-'], BAD, 1, /^\{\n {2}"valid": false,\n {2}"path": "-",[\s\S]*"line": 7,\n {6}"column": 108/, /^$/],
  [['--json', good], '', 0, /"valid": true[\s\S]*"router-id": "10\.0\.0\.1",\n {4}"local-as": 65000,\n {4}"peers": 1/, /^$/],
  [[join(folder, 'none.conf')], '', 2, /^$/, /^cannot read .*none\.conf: .*no such file\n$/],
  [['-q', join(folder, 'none.conf')], '', 2, /^$/, /^$/],
  [[folder], '', 2, /^$/, /is not a file/],
  [[], '', 1, /^$/, /takes one FILE/],
];

for (const [args, stdin, exit, stdout, stderr] of rows) {
  test(`zest config validate ${args.map((arg) => arg.replace(folder, 'DIR')).join(' ')}: exit code ${exit}`, () => {
    const ran = spawnSync(process.execPath, [PROGRAM, 'config', 'validate', ...args], { input: stdin, encoding: 'utf8' });
    assert.match(ran.stdout, stdout);
    assert.match(ran.stderr, stderr);
    assert.equal(ran.status, exit);
  });
}
