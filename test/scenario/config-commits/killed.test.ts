// A daemon that is killed in the middle of a commit, at points nobody chose: the file is the old configuration or the new one, whole, and the
// daemon starts again on it. ZEST_KILLS sets how many times (4).
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ask } from '../../../engine/cli/client.ts';
import { eventually, ZestProcess } from '../../support/zest-process.ts';

const KILLS = Number(process.env['ZEST_KILLS'] ?? '4');
/** A commit of this size takes about so long; the point is drawn from it. */
const SPAN_MS = 70;

/** Large enough that writing it takes time. */
const config = (name: string): string =>
  `bgp {\n router-id 10.0.0.1\n session { asn { local 64500; } }\n description ${name}\n${`# ${'x'.repeat(200)}\n`.repeat(2000)}}\n# end\n`;

test(`killed at ${KILLS} points of a commit, it starts again on a whole configuration`, {
  timeout: 20_000 + KILLS * 5000,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'zest-killed-'));
  let zest = await ZestProcess.start(config('one'), {}, folder);
  t.after(async () => {
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const uid = process.getuid?.() ?? 0;
  let held = 'one';
  const found = { old: 0, new: 0, confirmed: 0 };
  for (let kill = 0; kill < KILLS; kill++) {
    const next = held === 'one' ? 'two' : 'one';
    const point = Math.random() * SPAN_MS;
    const answer = ask(
      join(folder, 'control.sock'),
      uid,
      'config commit',
      ['text', config(next)],
      AbortSignal.timeout(10_000),
    ).then(
      () => true,
      () => false,
    );
    await new Promise((resolve) => setTimeout(resolve, point));
    zest.child.kill('SIGKILL');
    await eventually('it is gone', () => (zest.exitCode === undefined ? undefined : true));
    const told = await answer;
    const text = readFileSync(zest.configPath, 'utf8');
    assert.ok(
      [config(held), config(next)].includes(text),
      `killed after ${point} ms the file is neither the old nor the new text`,
    );
    if (told) assert.equal(text, config(next), `killed after ${point} ms: a commit that was answered is lost`);
    found[told ? 'confirmed' : text === config(next) ? 'new' : 'old']++;
    zest = await ZestProcess.start(text, {}, folder);
    held = text === config(next) ? next : held;
    const status = await zest.json('config', 'status');
    assert.equal(status['file'], 'in force');
    const history = await zest.json('config', 'history');
    assert.equal(history['unreadable'], undefined, JSON.stringify(history['unreadable']));
  }
  t.diagnostic(
    `${KILLS} kills: ${found.old} left the old text, ${found.new} the new one, ${found.confirmed} came behind the answer`,
  );
});
