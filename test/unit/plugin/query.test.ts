import assert from 'node:assert/strict';
import test from 'node:test';
import { queryModeRequested, runOrDeclare } from '../../../sdk/plugin/index.ts';

function host(environment: Record<string, string>): { out: string[]; err: string[]; given: Parameters<typeof runOrDeclare>[2] } {
  const out: string[] = [];
  const err: string[] = [];
  return {
    out,
    err,
    given: {
      environment,
      writeOut: (text) => {
        out.push(text);
        return Promise.resolve();
      },
      writeError: (text) => void err.push(text),
    },
  };
}

const never = (): number => assert.fail('start must not run');

test('query mode writes the stage 1 line and does not start', async () => {
  const { out, given } = host({ ZE_PLUGIN_MODE: 'declare' });
  const declaration = { commands: [{ name: 'acme-monitor status', 'short-help': 'Show monitor status' }] };
  assert.equal(await runOrDeclare(declaration, never, given), 0);
  assert.deepEqual(out, [
    '#1 ze-plugin-engine:declare-registration {"commands":[{"name":"acme-monitor status","short-help":"Show monitor status"}]}\n',
  ]);
});

test('nothing declared still writes the line', async () => {
  const { out, given } = host({ 'ze.plugin.mode': 'declare' });
  assert.equal(await runOrDeclare({}, never, given), 0);
  assert.deepEqual(out, ['#1 ze-plugin-engine:declare-registration {}\n']);
});

test('a write that fails is told on stderr', async () => {
  const { err, given } = host({ ZE_PLUGIN_MODE: 'declare' });
  const broken = { ...given, writeOut: () => Promise.reject(new Error('EPIPE')) };
  assert.equal(await runOrDeclare({}, never, broken), 1);
  assert.deepEqual(err, ['error: declaration query: EPIPE\n']);
});

test('otherwise start runs and its code is the result', async () => {
  for (const [start, code] of [
    [() => undefined, 0],
    [() => 3, 3],
    [() => Promise.resolve(4), 4],
    [() => Promise.reject(new Error('no hub')), 1],
  ] as const) {
    const { out, err, given } = host({ ZE_PLUGIN_MODE: 'live' });
    assert.equal(await runOrDeclare({}, start, given), code);
    assert.deepEqual(out, []);
    assert.deepEqual(err, code === 1 ? ['error: no hub\n'] : []);
  }
});

test('a start that is no function throws, in query mode too', async () => {
  const { given } = host({ ZE_PLUGIN_MODE: 'declare' });
  await assert.rejects(runOrDeclare({}, undefined as never, given), TypeError);
});

test('the mode is reported', () => {
  assert.equal(queryModeRequested({ ZE_PLUGIN_MODE: 'declare' }), true);
  assert.equal(queryModeRequested({ Ze_Plugin_Mode: 'declare' }), true);
  assert.equal(queryModeRequested({ ZE_PLUGIN_MODE: 'x' }), false);
  assert.equal(queryModeRequested({}), false);
});
