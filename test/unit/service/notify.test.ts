// What a service manager is told, in order, by a program that the test puts in systemd-notify's place.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { silentLog } from '../../../engine/core/log.ts';
import { Notifier, withoutNotify } from '../../../engine/service/notify.ts';

describe('notify', () => {
  let folder: string;
  let program: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'zest-notify-'));
    program = join(folder, 'systemd-notify');
    writeFileSync(program, '#!/bin/sh\nsleep 0.0$(( $$ % 4 ))\nprintf "%s\\n" "$NOTIFY_SOCKET $*" >> "$0.log"\n');
    chmodSync(program, 0o755);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const heard = (): readonly string[] => readFileSync(`${program}.log`, 'utf8').trim().split('\n');

  test('messages arrive in the order they were said, with the pid, on one line each', async () => {
    const notifier = new Notifier({
      environment: { NOTIFY_SOCKET: '/run/x', PATH: process.env['PATH'] },
      log: silentLog,
      program,
      pid: 42,
    });
    void notifier.reloading();
    void notifier.ready('up\nREADY=0');
    void notifier.alive();
    void notifier.stopping('SIGTERM');
    await notifier.settled();
    const lines = heard();
    assert.match(lines[0] ?? '', /^\/run\/x --pid=42 RELOADING=1 MONOTONIC_USEC=\d+ STATUS=reading the configuration$/);
    assert.deepEqual(lines.slice(1), [
      '/run/x --pid=42 READY=1 STATUS=up\\nREADY=0',
      '/run/x --pid=42 WATCHDOG=1',
      '/run/x --pid=42 STOPPING=1 STATUS=stopping: SIGTERM',
    ]);
    const monotonic = Number(/MONOTONIC_USEC=(\d+)/.exec(lines[0] ?? '')?.[1]);
    const uptime = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1e6;
    assert.ok(Math.abs(uptime - monotonic) < 60e6, 'the clock systemd reads');
  });

  for (const [what, environment, active, watchdog] of [
    ['no socket', {}, false, 0],
    ['a socket that is neither a path nor abstract', { NOTIFY_SOCKET: 'x' }, false, 0],
    ['an abstract socket', { NOTIFY_SOCKET: '@zest' }, true, 0],
    ['a watchdog: half its limit', { NOTIFY_SOCKET: '/x', WATCHDOG_USEC: '3000000' }, true, 1500],
    ['a watchdog of another process', { NOTIFY_SOCKET: '/x', WATCHDOG_USEC: '3000000', WATCHDOG_PID: '1' }, true, 0],
    ['a watchdog of ours', { NOTIFY_SOCKET: '/x', WATCHDOG_USEC: '3000000', WATCHDOG_PID: '42' }, true, 1500],
    ['a watchdog that is no number', { NOTIFY_SOCKET: '/x', WATCHDOG_USEC: 'x' }, true, 0],
  ] as const)
    test(what, () => {
      const notifier = new Notifier({ environment, log: silentLog, pid: 42 });
      assert.deepEqual([notifier.active, notifier.watchdogMs], [active, watchdog]);
    });

  test('without systemd-notify one line says so, and nothing is tried again', async () => {
    const errors: string[] = [];
    const log = { ...silentLog, error: (_fields: object, message: string) => void errors.push(message) };
    const notifier = new Notifier({ environment: { NOTIFY_SOCKET: '/x' }, log, program: join(folder, 'none') });
    await notifier.ready('up');
    await notifier.status('still');
    assert.deepEqual(errors, ['the service manager hears nothing of this daemon: systemd-notify is not installed']);
    assert.equal(notifier.active, false);
  });

  test('children do not speak for the daemon', () => {
    assert.deepEqual(
      withoutNotify({ NOTIFY_SOCKET: '/x', WATCHDOG_USEC: '1', WATCHDOG_PID: '2', LISTEN_FDS: '1', PATH: '/bin' }),
      {
        PATH: '/bin',
      },
    );
  });
});
