import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { loadPlugin } from '../../../engine/host/startup/load-plugin.ts';

for (const name of ['broken.mjs', 'broken.ts']) {
  test(`a syntax error in ${name} is told with file and line`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'zest-load-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, name);
    writeFileSync(file, 'const good = 1;\nconst bad = {;\n');
    await assert.rejects(loadPlugin(pathToFileURL(file).href), (error: Error) => {
      assert(error.message.includes(`${file}:2`), error.message);
      return true;
    });
  });
}
