// A plugin that runs and does not answer commands: it is said, seldom, and the plugin stays.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { makeWorld, NO_NEEDS, script, settings, until, type World } from './support.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

test('commands that nobody answers are reported once in ten seconds, and noted as the last error', async () => {
  const made = (world = makeWorld({ commandTimeoutMs: 20 }));
  script('deaf', async (plugin) => {
    await plugin.stages(5);
    for (;;) {
      const line = await plugin.next();
      const [id = '', verb = ''] = line.split(' ');
      if (!verb.endsWith('execute-command')) plugin.send(`${id} ok`);
    }
  });
  await made.host.start([settings('deaf')], [], NO_NEEDS);
  for (let n = 0; n < 3; n++) {
    const answer = made.host.execute('deaf', { command: 'deaf show' }, new AbortController().signal).collapse();
    await assert.rejects(answer, /deadline/);
  }
  await until('it is reported', () => made.codes('deaf').length > 0);
  assert.deepEqual(made.codes('deaf'), ['plugin-unanswered']);
  assert.equal(made.host.list()[0]?.lastError, 'no answer to "deaf show" within 0.02 s');
  assert.equal(made.state('deaf'), 'running');
});
