// A plugin in the daemon's own process that forgets to catch: it is reported, and the daemon goes on.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { eventually, ZestProcess } from '../../support/zest-process.ts';

const SDK = join(import.meta.dirname, '../../../dist/sdk/plugin/index.js');

const plugin = `
import { definePlugin } from ${JSON.stringify(SDK)};
export default definePlugin({
  name: 'careless',
  setup(engine) {
    engine.command('careless reject', () => { void Promise.reject(new Error('a floating rejection')); return {}; });
    engine.command('careless throw', () => { setTimeout(() => { throw new Error('thrown by a timer'); }, 1); return {}; });
  },
});
`;

test('a floating rejection and a throwing timer of an in-process plugin leave the daemon running', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'zest-uncaught-'));
  writeFileSync(join(folder, 'careless.mjs'), plugin);
  const zest = await ZestProcess.start('plugin { external careless { use ./careless.mjs; } }\n', {}, folder);
  t.after(async () => {
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const [command, message] of [
    ['reject', 'a floating rejection'],
    ['throw', 'thrown by a timer'],
  ] as const) {
    await zest.json('careless', command);
    await eventually(`a report of: ${message}`, async () => {
      const errors: unknown = await zest.json('show', 'errors');
      const rows = (Array.isArray(errors) ? errors : []) as readonly Readonly<Record<string, unknown>>[];
      return rows.some((row) => row['code'] === 'uncaught-error' && String(row['message']).includes(message)) ? true : undefined;
    });
  }
  assert.equal((await zest.json('daemon', 'status'))['running'] ?? true, true);
  assert.equal(zest.exitCode, undefined);
});
