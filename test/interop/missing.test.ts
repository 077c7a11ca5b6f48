// A daemon that is not installed: skipped with the reason, or a failure where REQUIRE_PEERS=1 says that all must be there.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { pathToFileURL } from 'node:url';
import { run } from '../support/zest-process.ts';

const foreign = pathToFileURL(join(import.meta.dirname, 'daemons', 'foreign.ts')).href;
const PROGRAM = `
import { peerTest } from '${foreign}';
peerTest('meets nobody', [{ name: 'Nobody', binary: '/nonexistent/nobody' }], () => Promise.resolve());
`;
const REASON = 'Nobody is not installed (/nonexistent/nobody)';

for (const { required, code, says } of [
  { required: '', code: 0, says: `# SKIP ${REASON}` },
  { required: '1', code: 1, says: `REQUIRE_PEERS=1, but ${REASON}` },
]) {
  test(`a missing daemon is ${code === 0 ? 'skipped with the reason' : 'a failure when it is required'}`, async () => {
    const environment = { ...process.env, REQUIRE_PEERS: required, NODE_TEST_CONTEXT: undefined };
    const options = ['--import', 'tsx', '--test-reporter=tap', '--input-type=module', '--eval', PROGRAM];
    const ran = await run(process.execPath, options, environment);
    assert.equal(ran.code, code, ran.stdout + ran.stderr);
    assert.ok(ran.stdout.includes(says), ran.stdout);
  });
}
