import assert from 'node:assert/strict';
import test from 'node:test';
import { OPERATOR } from '../../../engine/command/access.ts';
import { builtInHandlers } from '../../../engine/command/builtin/index.ts';
import { Dispatcher } from '../../../engine/command/dispatch.ts';
import { ManualClock } from '../../../engine/core/clock.ts';
import { silentLog } from '../../../engine/core/log.ts';
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
  ['peer edge teardown ', []],
  ['peer edge teardown 2 ', ['|']],
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

/** What is named beside the candidates, because it is no word to insert. */
for (const [line, expected] of [
  ['peer edge teardown ', ['subcode']],
  ['peer edge teardown 2 ', ['text']],
  ['summary | match ', ['text']],
  ['log recent count ', ['count']],
  ['rib routes ', ['family']],
  ['rib routes ipv4/unicast ', ['prefix']],
  ['rib status ', []],
  ['sum', []],
] as const) {
  test(`expected, not offered: ${line}`, async () => {
    const answer = await fakeContext()
      .dispatcher.dispatchArgs({ command: 'command complete', args: [line] }, OPERATOR, new AbortController().signal)
      .collapse();
    const { expects, candidates } = answer.data as { expects: { name: string }[]; candidates: { word: string }[] };
    assert.deepEqual(
      expects.map((one) => one.name),
      expected,
    );
    for (const name of expected) assert.ok(!candidates.some(({ word }) => word === name || word === `<${name}>`), name);
  });
}

test('a plugin is asked with the words so far and the one being typed; what steers or splits a line is left out', async () => {
  const fake = fakeContext();
  const asked: unknown[] = [];
  const plugins = {
    ...fake.context.plugins,
    complete: (...args: unknown[]) => {
      asked.push(args.slice(0, 3));
      const words = ['alpha', 'alp\u001b[2J', 'al ps', 'alp"', '', 'alp|', 'alps', 'beta', `alp${'x'.repeat(200)}`];
      return Promise.resolve(words.map((word) => ({ word, help: 'from the plugin' })));
    },
  };
  const dispatcher = new Dispatcher({ ...fake.context, plugins }, builtInHandlers(), silentLog);
  dispatcher.add('geo', [{ name: 'geo show', completable: true }]);
  const ask = async (line: string): Promise<readonly string[]> => {
    const answer = await dispatcher
      .dispatchArgs({ command: 'command complete', args: [line] }, OPERATOR, new AbortController().signal)
      .collapse();
    return (answer.data as { candidates: { word: string }[] }).candidates.map((one) => one.word);
  };
  assert.deepEqual(await ask('geo show of AL'), ['alpha', 'alps']);
  assert.deepEqual(await ask('peer edge geo show '), ['alpha', 'alps', 'beta', '|']);
  assert.deepEqual(asked, [
    ['geo', 'geo show', ['of', 'AL']],
    ['geo', 'geo show', ['']],
  ]);
});

test('a plugin that says nothing for 500 ms, or fails, offers nothing', async () => {
  for (const answer of [() => new Promise<never>(() => undefined), () => Promise.reject(new Error('no'))]) {
    const clock = new ManualClock();
    const fake = fakeContext(clock);
    const dispatcher = new Dispatcher(
      { ...fake.context, plugins: { ...fake.context.plugins, complete: answer } },
      builtInHandlers(),
      silentLog,
    );
    dispatcher.add('geo', [{ name: 'geo show', completable: true }]);
    const input = { command: 'command complete', args: ['geo show '] };
    const running = dispatcher.dispatchArgs(input, OPERATOR, new AbortController().signal).collapse();
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(500);
    const { candidates } = (await running).data as { candidates: { word: string }[] };
    assert.deepEqual(
      candidates.map((one) => one.word),
      ['|'],
    );
  }
});

test('aliases of a command are offered behind its pipe and told by its help, with a line each', async () => {
  const fake = fakeContext();
  fake.dispatcher.addPipes('bgp-rib', [
    { command: 'rib routes', name: 'mine', description: 'Of AS 65001', expansion: 'match 65001 | table' },
    { command: 'RIB  Routes', name: 'lines', expansion: 'text' },
  ]);
  for (const line of ['rib routes | ', 'peer edge rib routes | ', 'peer edge rib routes x | match y | ']) {
    const input = { command: 'command complete', args: [line] };
    const answer = await fake.dispatcher.dispatchArgs(input, OPERATOR, new AbortController().signal).collapse();
    const { candidates } = answer.data as { candidates: { word: string; help: string }[] };
    assert.equal(candidates.find((one) => one.word === 'mine')?.help, 'Of AS 65001', line);
    assert.equal(candidates.find((one) => one.word === 'lines')?.help, 'Short for | text', line);
  }
  const answer = await fake.dispatcher.dispatch('command help rib routes', OPERATOR, new AbortController().signal).collapse();
  const help = answer.data as { aliases: unknown; pipes: readonly string[] };
  assert.deepEqual(help.aliases, [
    { name: 'mine', help: 'Of AS 65001', expansion: 'match 65001 | table' },
    { name: 'lines', help: 'Short for | text', expansion: 'text' },
  ]);
  assert.ok(help.pipes.includes('mine'));
});

test('help tells an old name from the command, and keeps summary and description apart', async () => {
  const fake = fakeContext();
  fake.dispatcher.add('geo', [
    { name: 'geo show', 'short-help': 'Where', shape: 'map', columns: ['a', 'b'], 'address-fields': ['a'] },
  ]);
  const help = async (words: string): Promise<Record<string, unknown>> =>
    (await fake.dispatcher.dispatch(`command help ${words}`, OPERATOR, new AbortController().signal).collapse()).data as never;
  assert.equal((await help('bgp rib show'))['note'], '"bgp rib show" is an old name of "rib routes"');
  assert.equal((await help('rib routes'))['note'], undefined);
  const shown = await help('geo show');
  assert.deepEqual(
    [shown['help'], shown['description'], shown['shape'], shown['columns'], shown['address-fields']],
    ['Where', '', 'map', ['a', 'b'], ['a']],
  );
});

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
