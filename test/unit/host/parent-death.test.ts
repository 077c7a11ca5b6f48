// Commands of external plugins and the death of who started them: with setpriv here, each kind of command goes with a parent that is killed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { findBinder, isOneProcess, shellCommand } from '../../../engine/host/external/parent-death.ts';
import { processes } from '../../support/child-processes.ts';
import { eventually } from '../../support/zest-process.ts';

const COMMANDS: readonly (readonly [run: string, one: boolean])[] = [
  ['exec node x.mjs a=b', true],
  ['exec node x.mjs >> log 2>&1', true],
  ['cd there && exec node x.mjs', true],
  ['umask 077; exec ./plugin', true],
  ['node x.mjs', false],
  ['A=1 node x.mjs', false],
  ['cd there && node x.mjs', false],
  ['executor x', false],
  ['node x.mjs | tee log', false],
  ['node x.mjs &', false],
  ['(node x.mjs)', false],
  ['node x.mjs || exit 3', false],
  ['while true; do node x.mjs; done', false],
  ['exec a; b', false],
  ['a `b`', false],
  ['node $(which x)', false],
];
test('a command that the shell becomes needs no guard', () => {
  for (const [run, one] of COMMANDS) assert.equal(isOneProcess(run), one, run);
});

test('without a binder a command runs in the plain shell', () => {
  assert.deepEqual(shellCommand('a | b', undefined), { file: '/bin/sh', args: ['-c', 'a | b'] });
});

/** Runs a command as a child of a process that is then killed; what is left of the command's group a while later. */
async function leftOver(run: string, binder: string, mark: string): Promise<number> {
  const command = shellCommand(run, binder);
  const code = `
    const { file, args } = ${JSON.stringify(command)};
    require('node:child_process').spawn(file, args, { detached: true, stdio: 'ignore' });
    setInterval(() => undefined, 1000);`;
  const parent = spawn(process.execPath, ['-e', code], { stdio: 'ignore' });
  const marked = (): number => processes().filter((one) => one.command.includes(mark) && one.pid !== parent.pid).length;
  try {
    await eventually(`${run} is up`, () =>
      processes().some((one) => one.command.startsWith(`sleep ${mark}`)) ? true : undefined,
    );
  } finally {
    parent.kill('SIGKILL');
  }
  await eventually(`${run} is gone`, () => (marked() === 0 ? true : undefined), 10_000).catch(() => undefined);
  return marked();
}

const binder = await findBinder();
const skip = binder === undefined ? 'no setpriv that knows --pdeathsig on this machine' : false;
const DYING = [
  'exec sleep M',
  'sleep M',
  'cd / && exec sleep M',
  'sleep M | cat',
  'true; sleep M & wait',
  'while true; do sleep M; done',
];
for (const [n, run] of DYING.entries()) {
  test(`"${run}" dies with a parent that is killed`, { skip }, async () => {
    const mark = `3${process.pid}${n}`;
    assert.equal(await leftOver(run.replace('M', mark), binder ?? '', mark), 0);
  });
}

const ENDINGS: readonly (readonly [run: string, code: number | null, signal: string | null])[] = [
  ['exit 7', 7, null],
  ['true | exit 7', 7, null],
  ['true && false', 1, null],
  ['kill -KILL $$', null, 'SIGKILL'],
  ['true; kill -TERM $$', null, 'SIGTERM'],
];
for (const [run, code, signal] of ENDINGS) {
  test(`"${run}" ends bound as it does plainly`, { skip }, async () => {
    const { file, args } = shellCommand(run, binder);
    const child = spawn(file, args, { stdio: 'ignore', detached: true });
    const ended = await new Promise((resolve) => child.once('exit', (...how) => resolve(how)));
    assert.deepEqual(ended, [code, signal]);
  });
}
