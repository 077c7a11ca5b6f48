// A daemon that is killed in the middle of a commit, of one that has to be confirmed, of its return or of a rollback, at points that ZEST_SEED chooses: the
// file is the old configuration or the new one, whole, and the daemon starts again on it. ZEST_KILLS sets how many times for each (1).
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ask } from '../../../engine/cli/client.ts';
import { eventually, ZestProcess } from '../../support/zest-process.ts';

const KILLS = Number(process.env['ZEST_KILLS'] ?? '1');
const SEED = Number(process.env['ZEST_SEED'] ?? '1');
/** From 0 to 1: steps of the golden ratio, which spread over the whole however many they are. */
const fraction = (kill: number): number => ((SEED + kill) * 0.618_033_988_75) % 1;

/** Large enough that writing it takes time. */
const config = (name: string): string =>
  `bgp {\n router-id 10.0.0.1\n session { asn { local 64500; } }\n description ${name}\n${`# ${'x'.repeat(200)}\n`.repeat(2000)}}\n# end\n`;

interface Row {
  readonly what: string;
  /** Runs to its end before the clock of the kill begins. */
  readonly first?: (next: string) => readonly string[];
  readonly command: (next: string, revision: number) => readonly string[];
  /** Is the next configuration in the file once the command is answered? */
  readonly writes: boolean;
}

const ROWS: readonly Row[] = [
  { what: 'a commit', command: (next) => ['config commit', 'text', next], writes: true },
  {
    what: 'a commit that has to be confirmed',
    command: (next) => ['config commit confirmed', '600', 'text', next],
    writes: false,
  },
  {
    what: 'the confirmation of a commit',
    first: (next) => ['config commit confirmed', '600', 'text', next],
    command: () => ['config confirm'],
    writes: true,
  },
  {
    what: 'the return of a commit',
    first: (next) => ['config commit confirmed', '600', 'text', next],
    command: () => ['config abort'],
    writes: false,
  },
  { what: 'a rollback', command: (_next, revision) => ['config rollback', String(revision)], writes: true },
];

for (const { what, first, command, writes } of ROWS) {
  test(`killed at ${KILLS} points of ${what}, it starts again on a whole configuration`, {
    timeout: 600_000 + KILLS * 6000,
  }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'zest-killed-'));
    let zest = await ZestProcess.start(config('one'), {}, folder);
    t.after(async () => {
      await zest.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    const uid = process.getuid?.() ?? 0;
    const run = ([line = '', ...words]: readonly string[]): Promise<unknown> =>
      ask(join(folder, 'control.sock'), uid, line, words, AbortSignal.timeout(60_000));
    // Both texts become revisions. Then it is a daemon just started, as those that are killed, which says how long the command takes.
    await run(['config commit', 'text', config('two')]);
    await run(['config commit', 'text', config('one')]);
    await zest.stop();
    zest = await ZestProcess.start(config('one'), {}, folder);
    let held = 'one';
    const found = { old: 0, new: 0, answered: 0 };
    /** ms; measured by the first round, which is not killed in the middle. */
    let span = 0;
    for (let kill = 0; kill <= KILLS; kill++) {
      const next = held === 'one' ? 'two' : 'one';
      const { revisions } = (await run(['config history'])) as { revisions: readonly { revision: number }[] };
      const texts = await Promise.all(revisions.map(({ revision }) => run(['config text', String(revision)])));
      const at = texts.findIndex((one) => (one as { text: string }).text === config(next));
      if (first !== undefined) await run(first(config(next)));
      const began = performance.now();
      const answer = run(command(config(next), revisions[at]?.revision ?? 0)).then(
        () => true,
        () => false,
      );
      if (span === 0) {
        assert.ok(await answer);
        span = Math.max(5, performance.now() - began);
      } else {
        // The file is written near the end: every other point lies there.
        const from = kill % 2 === 0 ? 0 : 0.8;
        await new Promise((resolve) => setTimeout(resolve, span * (from + fraction(kill) * (1.2 - from))));
      }
      zest.child.kill('SIGKILL');
      await eventually('it is gone', () => (zest.exitCode === undefined ? undefined : true));
      const told = await answer;
      const text = readFileSync(zest.configPath, 'utf8');
      const point = `killed ${(performance.now() - began).toFixed(1)} ms after ${what} began`;
      const allowed = writes ? [config(held), config(next)] : [config(held)];
      assert.ok(allowed.includes(text), `${point} the file is neither the old nor the new text`);
      if (told && writes) assert.equal(text, config(next), `${point}: what was answered is lost`);
      found[told ? 'answered' : text === config(next) ? 'new' : 'old']++;
      zest = await ZestProcess.start(text, {}, folder);
      held = text === config(next) ? next : held;
      const status = await zest.json('config', 'status');
      assert.deepEqual([status['file'], status['pending']], ['in force', undefined], point);
      const history = await zest.json('config', 'history');
      assert.equal(history['unreadable'], undefined, JSON.stringify(history['unreadable']));
    }
    t.diagnostic(
      `${KILLS} kills within ${span.toFixed(0)} ms: ${found.old} left the old text, ${found.new} the new one, ${found.answered} came behind the answer`,
    );
  });
}
