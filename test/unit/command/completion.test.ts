import assert from 'node:assert/strict';
import test from 'node:test';
import { OPERATOR } from '../../../engine/command/access.ts';
import { fakeContext } from './fake-context.ts';

async function words(line: string): Promise<readonly string[]> {
  const fake = fakeContext();
  const answer = await fake.dispatcher
    .dispatchArgs({ command: 'command complete', args: [line] }, OPERATOR, new AbortController().signal)
    .collapse();
  return (answer.data as { candidates: readonly { word: string; help: string }[] }).candidates.map((one) => one.word);
}

for (const [line, expected] of [
  ['sum', ['summary']],
  ['show v', ['version']],
  ['SHOW V', ['version']],
  ['peer e', ['edge', 'eorr']],
  ['peer 192', ['192.0.2.1']],
  ['peer edge de', ['detail']],
  ['peer edge ri', ['rib']],
  ['peer edge rib ', ['routes', 'status']],
  ['peer edge teardown ', ['|']],
  ['peer edge refresh ipv4/u', ['ipv4/unicast']],
  ['summary l2vpn/', ['l2vpn/evpn', 'l2vpn/vpls']],
  ['monitor event d', ['direction']],
  ['monitor event direction ', ['received', 'sent', '|']],
  ['monitor event include s', ['state']],
  ['log set pl', ['plugin']],
  ['log set plugin d', ['debug', 'disabled']],
  ['command help show ver', ['version']],
  ['rib', ['rib']],
  ['rib routes r', ['received']],
  ['bgp', []],
  ['summary | c', ['count']],
  ['summary | json ', ['compact', 'pretty', '|']],
  ['summary | match ', []],
  ['nonsense ', []],
  ['"unterminated', []],
] as const) {
  test(`complete: ${line}`, async () => assert.deepEqual(await words(line), [...expected].sort()));
}

test('at the beginning every first word is offered, hidden and old ones are not', async () => {
  const firsts = await words('');
  for (const word of ['summary', 'peer', 'show', 'monitor', 'rib', 'command']) assert.ok(firsts.includes(word), word);
  for (const word of ['bgp', 'system', '__proto__']) assert.ok(!firsts.includes(word), word);
  assert.ok(!(await words('rib ')).includes('down'));
});

test('help lists what a command takes', async () => {
  const fake = fakeContext();
  const answer = await fake.dispatcher.dispatch('command help peer teardown', OPERATOR, new AbortController().signal).collapse();
  const help = answer.data as Record<string, unknown>;
  assert.equal(help['usage'], 'peer SEL teardown SUBCODE [TEXT…]');
  assert.deepEqual(
    (help['arguments'] as { name: string }[]).map((arg) => arg.name),
    ['subcode', 'text'],
  );
  const group = await fake.dispatcher.dispatch('command help log', OPERATOR, new AbortController().signal).collapse();
  assert.equal((group.data as { commands: unknown[] }).commands.length, 3);
});
