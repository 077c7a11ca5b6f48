// A plugin under check that forks: what it leaves behind neither holds the check up nor, where it stayed in the group, lives on.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import { CheckedProcess } from '../../../engine/offline/plugin-check/process.ts';
import { eventually } from '../../support/zest-process.ts';

const isThere = (pid: number): boolean => spawnSync('kill', ['-0', String(pid)]).status === 0;

for (const [name, command, survives] of [
  ['in its group', 'sleep 60 & echo $!; exit 3', false],
  ['out of its group', 'setsid sh -c "echo \\$\\$; exec sleep 60" & sleep 0.5; exit 3', true],
] as const) {
  test(`a process left behind ${name}`, async (t) => {
    const one = new CheckedProcess(command, process.env);
    t.after(() => one.kill());
    assert.equal(await one.endedWithin(20_000), 3);
    const pid = Number(one.stdout.trim());
    assert.ok(pid > 1, one.stdout);
    t.after(() => {
      if (isThere(pid)) process.kill(pid, 'SIGKILL');
    });
    if (survives) assert.ok(isThere(pid));
    else await eventually('it is gone', () => (isThere(pid) ? undefined : true));
  });
}
