// What a plugin declares and nobody meets is said while it lasts: an enricher of a command that no one has.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { makeWorld, NO_NEEDS, script, settings, until, type World } from './support.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

const enriching = (name: string, ...commands: readonly string[]): void =>
  script(name, async (plugin) => {
    await plugin.stages(5, { enrichers: commands.map((command) => ({ command, key: 'more' })) });
    await plugin.idle();
  });
const warnings = (made: World): readonly (readonly [string | undefined, boolean])[] =>
  made.reports.filter((one) => one.code === 'plugin-enricher').map((one) => [one.message, one.clear === true]);

test('an enricher of a command that nobody has is warned of; one of a command of the engine is not', async () => {
  const made = (world = makeWorld());
  enriching('good', 'peer list');
  enriching('lost', 'peer lists', 'peer list');
  await made.host.start([settings('good'), settings('lost')], [], NO_NEEDS);
  assert.deepEqual(warnings(made), [['enriches answers of commands that nobody has: "peer lists"', false]]);
  assert.equal(made.reports.find((one) => one.code === 'plugin-enricher')?.subject, 'lost');
});

test('the warning goes when a plugin brings the command, and comes back when it leaves', async () => {
  const made = (world = makeWorld());
  enriching('early', 'late show');
  script('late', async (plugin) => {
    await plugin.stages(5, { commands: [{ name: 'late show', 'short-help': 'Show' }] });
    await plugin.idle();
  });
  await made.host.start([settings('early')], [], NO_NEEDS);
  assert.equal(warnings(made).length, 1);
  assert.ok((await made.host.apply([settings('early'), settings('late')], [], NO_NEEDS)).ok);
  await until('it is taken back', () => warnings(made).at(-1)?.[1] === true);
  assert.ok((await made.host.apply([settings('early')], [], NO_NEEDS)).ok);
  await until('it is said again', () => warnings(made).at(-1)?.[1] === false);
});
