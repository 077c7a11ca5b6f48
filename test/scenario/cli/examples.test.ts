// The configurations that ship with the project are valid, and nothing in them is warned of.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

const root = join(import.meta.dirname, '../../..');
const examples = join(root, 'examples');
const files = readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.conf'));

test('there are examples', () => assert.ok(files.length >= 2, files.join(' ')));

for (const file of files) {
  test(`examples/${file} is valid`, () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--import', 'tsx', join(root, 'engine/main.ts'), 'config', 'validate', join(examples, file)],
      { cwd: root, encoding: 'utf8', timeout: 600_000 },
    );
    assert.equal(status, 0, stdout + stderr);
    assert.doesNotMatch(stdout + stderr, /warning/i);
  });
}
