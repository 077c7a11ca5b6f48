// A pid file has one owner; what a dead process left is nobody's.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { livingHolder, PidFile, PidFileTaken } from '../../../engine/service/pid-file.ts';

describe('pid file', () => {
  let folder: string;
  let path: string;
  const living = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'zest-pid-'));
    path = join(folder, 'zest.pid');
  });
  after(() => {
    living.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  const gone = String(spawnSync('true').pid);
  for (const [what, text, taken] of [
    ['of a process that is gone', gone, false],
    ['of this very process number (a container starts with the same one)', String(process.pid), false],
    ['that is empty', '', false],
    ['of no process at all', '99999999999', false],
    ['of number 0', '0', false],
    ['of a process that lives', String(living.pid), true],
  ] as const) {
    test(`a file ${what} ${taken ? 'refuses' : 'is replaced'}`, () => {
      writeFileSync(path, `${text}\n`);
      if (taken) {
        assert.throws(() => PidFile.claim(path), new RegExp(`another daemon, process ${text}, has .*zest.pid: stop it`));
        assert.equal(readFileSync(path, 'utf8').trim(), text);
      } else {
        const file = PidFile.claim(path);
        assert.equal(readFileSync(path, 'utf8'), `${process.pid}\n`);
        file.release();
        assert.ok(!existsSync(path));
      }
      rmSync(path, { force: true });
      assert.deepEqual(readdirSync(folder), []);
    });
  }

  for (const [what, make] of [
    ['a file that holds no number', () => writeFileSync(path, 'somebody wrote this')],
    ['a long file of digits', () => writeFileSync(path, '1'.repeat(10_000))],
    ['a folder', () => mkdirSync(path)],
    ['a pipe that nobody writes', () => void spawnSync('mkfifo', [path])],
  ] as const) {
    test(`${what} in its place is left alone, and refuses`, () => {
      make();
      const before = lstatSync(path).ino;
      assert.throws(() => PidFile.claim(path), {
        message: `${path} is no pid file: take it away, or name another one (daemon/pid)`,
      });
      assert.equal(lstatSync(path).ino, before);
      assert.deepEqual(readdirSync(folder), ['zest.pid']);
      rmSync(path, { recursive: true });
    });
  }

  test('a number that the system has given to somebody else since is stale', () => {
    writeFileSync(path, String(living.pid));
    assert.equal(livingHolder(path, process.pid), living.pid);
    const before = Date.now() / 1000 - 3600;
    utimesSync(path, before, before);
    assert.equal(livingHolder(path, process.pid), undefined);
    rmSync(path);
  });

  test('a link is replaced, what it leads to is not touched', () => {
    const other = join(folder, 'other');
    writeFileSync(other, gone);
    symlinkSync(other, path);
    PidFile.claim(path).release();
    assert.equal(readFileSync(other, 'utf8'), gone);
    rmSync(other);
  });

  test('folders above it are made; the file of another daemon is not taken away', () => {
    const deep = join(folder, 'a/b/zest.pid');
    const file = PidFile.claim(deep);
    writeFileSync(deep, String(living.pid));
    file.release();
    assert.equal(readFileSync(deep, 'utf8'), String(living.pid));
  });

  test('a place where nothing can be made is an error of the system, not a refusal', () => {
    assert.throws(
      () => PidFile.claim('/proc/zest/pid'),
      (error) => !(error instanceof PidFileTaken),
    );
  });
});
