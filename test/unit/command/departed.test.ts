import assert from 'node:assert/strict';
import test from 'node:test';
import { OPERATOR } from '../../../engine/command/access.ts';
import { builtInHandlers } from '../../../engine/command/builtin/index.ts';
import type { PluginEntry } from '../../../engine/command/context.ts';
import { Dispatcher } from '../../../engine/command/dispatch.ts';
import { silentLog } from '../../../engine/core/log.ts';
import { fakeContext } from './fake-context.ts';

const COMMANDS = [{ name: 'geo show', 'deprecated-names': ['where is'] }];

function scene(states: readonly Partial<PluginEntry>[]): Dispatcher {
  const { context } = fakeContext();
  const [entry] = context.plugins.list();
  const list = (): readonly PluginEntry[] => states.map((state) => ({ ...entry!, name: 'geo', ...state }));
  return new Dispatcher({ ...context, plugins: { ...context.plugins, list } }, builtInHandlers(), silentLog);
}

const never = new AbortController().signal;
const ask = async (dispatcher: Dispatcher, text: string): Promise<string> => {
  try {
    return (await dispatcher.dispatch(text, OPERATOR, never).collapse()).error ?? 'done';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

for (const text of ['geo show', 'GEO  show x', 'where is it', 'peer edge geo show', 'geo nonsense']) {
  test(`a plugin that has failed is named: ${text}`, async () => {
    const dispatcher = scene([{ state: 'failed', 'last-error': 'exit code 7' }]);
    dispatcher.add('geo', COMMANDS);
    dispatcher.remove('geo');
    assert.equal(await ask(dispatcher, text), 'plugin geo is failed: exit code 7');
  });
}

test('by its exact name too, and without a reason where none is known', async () => {
  const dispatcher = scene([{ state: 'restarting', 'last-error': '' }]);
  dispatcher.add('geo', COMMANDS);
  dispatcher.remove('geo');
  const answer = await dispatcher.dispatchArgs({ command: 'geo show' }, OPERATOR, never).collapse();
  assert.deepEqual(answer, { status: 'error', error: 'plugin geo is restarting' });
});

for (const [name, states, text] of [
  ['a plugin the configuration no longer has', [], 'geo show'],
  ['a plugin that runs again without the command', [{ state: 'running' }], 'geo show'],
  ['another word', [{ state: 'failed' }], 'goe show'],
] as const) {
  test(`an unknown command stays one: ${name}`, async () => {
    const dispatcher = scene(states);
    dispatcher.add('geo', COMMANDS);
    dispatcher.remove('geo');
    assert.match(await ask(dispatcher, text), /^unknown command: /);
  });
}

test('a plugin that is back answers', async () => {
  const dispatcher = scene([{ state: 'running' }]);
  dispatcher.add('geo', COMMANDS);
  dispatcher.remove('geo');
  dispatcher.add('geo', COMMANDS);
  assert.equal(await ask(dispatcher, 'geo show'), 'done');
});
