// A daemon that is killed leaves no plugin behind, whatever the plugin thinks of it: after the next start there is exactly one of each.
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { findBinder } from '../../../engine/host/external/parent-death.ts';
import { workingIn } from '../../support/child-processes.ts';
import { writeScript } from '../../support/write-script.ts';
import { eventually, PROGRAM, ZestProcess } from '../../support/zest-process.ts';

const SDK = `
import { definePlugin, runExternal } from '${pathToFileURL(join(dirname(PROGRAM), '../sdk/plugin/index.js')).href}';
await runExternal(definePlugin({ name: 'sdk', setup(engine) {
  setInterval(() => undefined, 1000);
  engine.command('sdk status', () => ({ ok: true }));
} }));
`;
/** Ignores every signal it may, and the end of its connection. */
const STUBBORN = `
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2']) process.on(name, () => undefined);
process.exit = () => undefined;
setInterval(() => undefined, 1000);
await import('./raw-plugin.mjs');
`;

interface Left {
  readonly name: string;
  readonly run: string;
  /** Needs the kernel: the plugin itself does not go. */
  readonly bound: boolean;
}
const PLUGINS: readonly Left[] = [
  { name: 'sdk', run: 'exec node sdk.mjs sdk', bound: false },
  { name: 'raw', run: 'exec node raw-plugin.mjs raw', bound: false },
  { name: 'spinner', run: 'exec node raw-plugin.mjs spinner how=spin at=6', bound: true },
  { name: 'stubborn', run: 'exec node stubborn.mjs stubborn', bound: true },
  { name: 'piped', run: 'node stubborn.mjs piped | cat', bound: true },
  { name: 'looped', run: 'while true; do node stubborn.mjs looped; done', bound: true },
];

const binder = await findBinder();

describe('a daemon that is killed', { timeout: 600_000 }, () => {
  let folder: string;
  const started: ZestProcess[] = [];
  const chosen = PLUGINS.filter((plugin) => binder !== undefined || !plugin.bound);
  const config = `plugin { ${chosen.map(({ name, run }) => `external ${name} { run "${run}"; }`).join(' ')} }\n`;
  /** Node processes of the plugin of this name: the last word of their command says it. */
  const running = (name: string): number[] =>
    workingIn(folder)
      .filter(({ command }) => /^node /.test(command) && command.split(' ').includes(name))
      .map(({ pid }) => pid);
  const start = async (): Promise<ZestProcess> => {
    const zest = await ZestProcess.start(config, {}, folder);
    started.push(zest);
    return zest;
  };
  before(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-killed-')));
    writeScript(folder, 'raw-plugin');
    writeFileSync(join(folder, 'sdk.mjs'), SDK);
    writeFileSync(join(folder, 'stubborn.mjs'), STUBBORN);
  });
  after(async () => {
    for (const zest of started) await zest.stop('SIGKILL');
    for (const { pid } of workingIn(folder)) process.kill(pid, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  test('start, SIGKILL, start: one process of each plugin, another one than before', async (t) => {
    if (binder === undefined) t.diagnostic('no setpriv that knows --pdeathsig: only plugins that go by themselves are tried');
    const first = await start();
    const before = new Map(chosen.map(({ name }) => [name, running(name)]));
    for (const [name, pids] of before) assert.equal(pids.length, 1, `${name}: ${pids.join(' ')}`);
    first.child.kill('SIGKILL');
    await eventually('the daemon is gone', () => first.exitCode);
    await start();
    await eventually('of each plugin one process, the new one', () => {
      for (const { name } of chosen) {
        const pids = running(name);
        assert.equal(pids.length, 1, `${name}: ${pids.join(' ')}`);
        assert.notDeepEqual(pids, before.get(name));
      }
      return true;
    });
  });

  test('and when it is not started again, nothing of it is left within the linger of the SDK', async () => {
    started.at(-1)?.child.kill('SIGKILL');
    await eventually('no process is left', () => (workingIn(folder).length === 0 ? true : undefined), 30_000);
  });

  test('nor of programs that are being asked what they declare', { skip: binder === undefined }, async () => {
    const asked = join(folder, 'asked');
    const runs = ['exec sleep 3601', 'sleep 3602 | cat'];
    const zest = ZestProcess.launch(
      `plugin { ${runs.map((run, n) => `external p${n} { run "${run}"; }`).join(' ')} }\nacme { mode fast; }\n`,
      { ze_plugin_query_timeout: '60s' },
      asked,
    );
    started.push(zest);
    const sleeping = (): number => workingIn(asked).filter(({ command }) => command.startsWith('sleep 360')).length;
    await eventually('both are being asked', () => (sleeping() === 2 ? true : undefined));
    zest.child.kill('SIGKILL');
    await eventually('no process is left', () => (workingIn(asked).length === 0 ? true : undefined), 30_000);
  });
});
