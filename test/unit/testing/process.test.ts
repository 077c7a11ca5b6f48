// A plugin as a process, over TLS: the examples, as an author would test them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import test from 'node:test';
import { queryDeclaration, startProcess } from '../../../sdk/testing/index.ts';

const python = spawnSync('python3', ['--version']).status === 0;
const example = resolve(import.meta.dirname, '../../../examples/watch-updates-py/plugin.py');

test('a process goes through the stages, hears events, answers, and leaves when told', {
  skip: python ? false : 'no python3',
}, async () => {
  const plugin = await startProcess(['python3', example], { name: 'pywatch' });
  const { engine } = plugin;
  await engine.up('edge');
  await engine.update('edge', { announce: { 'ipv4/unicast': ['192.0.2.0/24', '198.51.100.0/24'] } });
  const status = (await engine.execute('pywatch status')).data as Readonly<Record<string, unknown>>;
  assert.deepEqual([status['updates'], status['announced'], status['established']], [1, 2, ['edge']]);
  await engine.execute('pywatch announce 203.0.113.0/24');
  assert.equal(engine.routes.length, 1);
  assert.equal(await plugin.close(), 0, plugin.stderr());
});

test('a declaration query is answered without a hub', { skip: python ? false : 'no python3' }, async () => {
  const { line, code } = await queryDeclaration(['python3', example]);
  assert.equal(code, 0);
  assert.match(line, /^#1 ze-plugin-engine:declare-registration \{.*\}$/);
});

test('a process that ends before it connects says what it said', async () => {
  const script = 'process.stderr.write("no licence\\n"); process.exit(3);';
  await assert.rejects(startProcess([process.execPath, '-e', script]), /ended with 3 before it connected: no licence/);
});

test('a command that does not exist is an error, not a hang', async () => {
  await assert.rejects(startProcess(['/nonexistent/plugin']), /ENOENT/);
});
