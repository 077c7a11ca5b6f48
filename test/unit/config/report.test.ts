// The report of `config validate`, byte for byte.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unreadableReport, validateReport } from '../../../engine/config/validate-report.ts';

const GOOD = `plugin { external inject { run "true"; } }
bgp {
  router-id 10.0.0.1
  session { asn { local 65000; } }
  peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 65001; } family { ipv4/unicast { prefix { maximum 10; } } } }
  }
}
`;
const BAD = 'bgp {\n  listen 1;\n  router-id x;\n}\n';

test('plain, valid', () => {
  assert.deepEqual(validateReport(GOOD, 'a.conf'), { stdout: 'configuration valid: a.conf\n', stderr: '', exitCode: 0 });
});

test('plain, invalid: every fault, in the order of the text', () => {
  assert.equal(
    validateReport(BAD, 'a.conf').stdout,
    'configuration invalid: a.conf\n\nErrors:\n' +
      '  line 2: unknown field in bgp: listen [column 3, expected one of router-id, multipath, admin-distance, policy, ' +
      'community, rpki, bmp, healthcheck, description, connection, session, behavior, …]\n' +
      '  line 3: bgp/router-id: "x" is not an IPv4 address other than 0.0.0.0 [column 13]\n' +
      'warning: line 1: no global local AS (bgp session asn local)\n',
  );
});

test('verbose', () => {
  assert.equal(
    validateReport(GOOD, 'a.conf', { verbose: true }).stdout,
    'configuration valid: a.conf\n\nConfiguration summary:\n  router-id: 10.0.0.1\n  local-as: 65000\n  peers: 1\n' +
      '    - 10.0.0.2 AS65001\n  plugins: 1\n    - inject\n',
  );
});

test('quiet prints nothing and keeps the exit code', () => {
  assert.deepEqual(validateReport(BAD, 'a.conf', { quiet: true }), { stdout: '', stderr: '', exitCode: 1 });
});

test('json', () => {
  const good = JSON.parse(validateReport(GOOD, 'a.conf', { json: true }).stdout) as unknown;
  const config = { 'router-id': '10.0.0.1', 'local-as': 65000, peers: 1 };
  assert.deepEqual(good, { valid: true, path: 'a.conf', errors: [], warnings: [], config });
  const bad = JSON.parse(validateReport(BAD, 'a.conf', { json: true }).stdout) as {
    valid: boolean;
    errors: { line: number; message: string }[];
  };
  assert.equal(bad.valid, false);
  assert.deepEqual(
    bad.errors.map((error) => [error.line, error.message]),
    [
      [2, 'unknown field in bgp: listen'],
      [3, 'bgp/router-id: "x" is not an IPv4 address other than 0.0.0.0'],
    ],
  );
});

test('a file that cannot be read', () => {
  const { stdout, stderr, exitCode } = unreadableReport('gone.conf', 'no such file');
  assert.deepEqual([stdout, stderr, exitCode], ['', 'cannot read gone.conf: no such file\n', 2]);
  const json = unreadableReport('gone.conf', 'no such file', false, true);
  assert.deepEqual([json.stderr, json.exitCode], ['', 2]);
  const { valid, errors } = JSON.parse(json.stdout) as { valid: boolean; errors: readonly { message: string }[] };
  assert.deepEqual([valid, errors[0]?.message], [false, 'cannot read gone.conf: no such file']);
});

test('an incomplete peer is a warning like any other: on standard error in text, in the document alone as JSON', () => {
  const text =
    'bgp { router-id 1.1.1.1; session { asn { local 1; } } peer p { connection { local { ip 127.0.0.1; } } session { asn { remote 2; } } } }';
  assert.match(validateReport(text, 'a.conf').stderr, /^warning: line 1: incomplete peer p: remote ip is missing/);
  assert.equal(validateReport(text, 'a.conf', { json: true }).stderr, '');
  assert.match(validateReport(text, 'a.conf', { json: true }).stdout, /incomplete peer p/);
});
