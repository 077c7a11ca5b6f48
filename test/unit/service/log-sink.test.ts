// A log file that cannot be one, at the start and at a reopening: said at once, never waited for.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { FileSink } from '../../../engine/service/log-sink.ts';
import { eventually } from '../../support/zest-process.ts';

describe('log file', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'zest-log-'));
    path = join(folder, 'zest.log');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('a pipe that nobody reads refuses the start', () => {
    spawnSync('mkfifo', [path]);
    assert.throws(() => new FileSink(path, 'json'), /the log file .*zest\.log cannot be opened \(ENXIO\)/);
  });

  test('a pipe in its place, or a folder that is gone, is told at the reopening, and the file before is written on', async () => {
    const sink = new FileSink(path, 'json');
    sink.write('one\n');
    await eventually('the line', () => (readFileSync(path, 'utf8') === 'one\n' ? true : undefined));
    const aside = join(folder, 'aside.log');
    spawnSync('mv', [path, aside]);
    spawnSync('mkfifo', [path]);
    assert.match(sink.reopen() ?? '', /cannot be opened \(ENXIO\)/);
    sink.write('two\n');
    await sink.close();
    assert.equal(readFileSync(aside, 'utf8'), 'one\ntwo\n');
  });
});
