// Ctrl-C in the terminal of `npm start`: the signal goes to everyone in the foreground at once, and everyone tidies up.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runQuickstart } from '../../../engine/offline/quickstart.ts';
import { createServer } from 'node:net';
import { eventually, freePort, PROGRAM } from '../../support/zest-process.ts';

test('Ctrl-C ends the quick start and leaves no socket, folder or process behind', { timeout: 600_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'zest-ctrl-c-'));
  const socket = join(folder, 'control.sock');
  const child = spawn(process.execPath, [PROGRAM, 'quickstart'], {
    env: {
      ...process.env,
      ze_test_bgp_port: String(await freePort()),
      TMPDIR: folder,
      ze_control_socket: socket,
      ze_state_dir: join(folder, 'state'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, as a job of a shell is.
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  let code: number | null | undefined;
  child.on('exit', (exit) => (code = exit));
  const { pid } = child;
  assert(pid !== undefined);
  const group = (signal: NodeJS.Signals | 0): boolean => {
    try {
      return process.kill(-pid, signal);
    } catch {
      return false;
    }
  };
  t.after(() => {
    group('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  await eventually('the quick start', () => (output.includes('Zest is running.') ? true : undefined), 60_000);
  assert(existsSync(socket));
  group('SIGINT');
  await eventually('its end', () => (code === undefined ? undefined : true), 60_000);
  assert.equal(code, 0, output);
  assert(!existsSync(socket), 'the control socket is taken away');
  await eventually('nobody is left', () => (group(0) ? undefined : true));
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('zest-')),
    [],
  );
});

test('a port that is taken ends the quick start at once, and it says which', { timeout: 600_000 }, async (t) => {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  const address = server.address();
  assert(typeof address === 'object' && address !== null);
  const said: string[] = [];
  const code = await runQuickstart({
    self: ['false'],
    environment: { ze_test_bgp_port: String(address.port) },
    write: (text) => said.push(text),
    signal: new AbortController().signal,
  });
  assert.equal(code, 1);
  assert.match(said.join(''), new RegExp(`^quickstart: 127.0.0.1:${address.port} is in use; choose another port: `));
});

for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
  test(`${signal} while it starts ends all that the quick start has started`, { timeout: 600_000 }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'zest-signal-'));
    const child = spawn(process.execPath, [PROGRAM, 'quickstart'], {
      env: { ...process.env, ze_test_bgp_port: String(await freePort()), TMPDIR: folder, ze_control_socket: join(folder, 's') },
      stdio: 'ignore',
      detached: true,
    });
    const { pid } = child;
    assert(pid !== undefined);
    const group = (what: NodeJS.Signals | 0): boolean => {
      try {
        return process.kill(-pid, what);
      } catch {
        return false;
      }
    };
    t.after(() => {
      group('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    });
    await eventually('the daemon is there', () => (existsSync(join(folder, 's')) ? true : undefined), 30_000);
    child.kill(signal);
    await eventually('nobody is left', () => (group(0) ? undefined : true), 60_000);
  });
}
