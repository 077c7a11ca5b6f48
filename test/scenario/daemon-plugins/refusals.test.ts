// Plugins that decide over the daemon: `respawn` against the declared policy refuses the start, policy fatal ends the daemon with code 3.
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { workingIn } from '../../support/child-processes.ts';
import { writeScript } from '../../support/write-script.ts';
import { eventually, ZestProcess } from '../../support/zest-process.ts';

interface Refusal {
  readonly name: string;
  readonly plugin: string;
  readonly code: number;
  readonly says: RegExp;
}

const REFUSALS: readonly Refusal[] = [
  {
    name: 'respawn true, no policy declared',
    plugin: 'run "exec node raw-plugin.mjs"; respawn true;',
    code: 1,
    says: /odd.* declares failure policy ignore, so respawn true is refused/,
  },
  {
    name: 'respawn true, policy ignore',
    plugin: 'run "exec node raw-plugin.mjs policy=ignore"; respawn true;',
    code: 1,
    says: /odd.* declares failure policy ignore, so respawn true is refused/,
  },
  {
    name: 'respawn true, policy fatal',
    plugin: 'run "exec node raw-plugin.mjs policy=fatal"; respawn true;',
    code: 1,
    says: /odd.* declares failure policy fatal, so respawn true is refused/,
  },
  {
    name: 'policy fatal, dies when it runs',
    plugin: 'run "exec node raw-plugin.mjs policy=fatal how=kill at=6";',
    code: 3,
    says: /odd/,
  },
  {
    name: 'policy fatal, dies while it starts',
    plugin: 'run "exec node raw-plugin.mjs policy=fatal how=kill at=3";',
    code: 3,
    says: /plugin odd: .*SIGKILL/,
  },
  {
    name: 'policy fatal, breaks the protocol',
    plugin: 'run "exec node raw-plugin.mjs policy=fatal how=rubbish at=6";',
    code: 3,
    says: /odd/,
  },
];

describe('plugins that end the daemon', { timeout: 600_000 }, () => {
  let folder: string;
  before(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-refusals-')));
    writeScript(folder, 'raw-plugin');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const { name, plugin, code, says } of REFUSALS) {
    test(name, async () => {
      const zest = ZestProcess.launch(
        `plugin { external good { run "exec node raw-plugin.mjs"; } external odd { ${plugin} } }\n`,
        {},
        folder,
      );
      const ended = await eventually('the daemon has ended', () => zest.exitCode, 30_000).finally(() => zest.stop());
      assert.equal(ended, code, zest.output);
      assert.match(zest.output, says);
      assert.doesNotMatch(zest.output, /^\s+at .*\.js:\d+/m, 'no stack trace');
      await eventually('no process is left', () => (workingIn(folder).length === 0 ? true : undefined));
    });
  }

  test('respawn true and policy restart: it comes back with the same configuration', async (t) => {
    const zest = await ZestProcess.start(
      'plugin { external odd { run "exec node raw-plugin.mjs policy=restart"; respawn true; } }\n',
      {},
      folder,
    );
    t.after(() => zest.stop('SIGKILL'));
    const pid = async (): Promise<number> => {
      const answer = (await zest.json('plugin', 'list')) as { plugins: readonly { name: string; pid?: number }[] };
      return answer.plugins.find((row) => row.name === 'odd')?.pid ?? 0;
    };
    const first = await pid();
    process.kill(first, 'SIGKILL');
    await eventually('another process answers', async () => {
      await zest.json('odd', 'count');
      return (await pid()) !== first || undefined;
    });
    assert.equal(await zest.stop(), 0);
    await eventually('no process is left', () => (workingIn(folder).length === 0 ? true : undefined));
  });

  test('who connects and says nothing is let go after ten seconds', async (t) => {
    const zest = await ZestProcess.start(
      'plugin { external odd { run "exec node raw-plugin.mjs how=silent at=0"; } }\n',
      {},
      folder,
    );
    t.after(() => zest.stop('SIGKILL'));
    assert.match(zest.output, /no auth line in time/);
    assert.equal(await zest.stop(), 0);
    await eventually('no process is left', () => (workingIn(folder).length === 0 ? true : undefined));
  });
});
