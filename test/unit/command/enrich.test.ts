import assert from 'node:assert/strict';
import test from 'node:test';
import type { Collapsed } from '../../../sdk/rpc/answer.ts';
import { records } from '../../../sdk/rpc/records.ts';
import { AnswerReader } from '../../../sdk/rpc/answer.ts';
import type { EnrichShowInput } from '../../../yang/generated/methods.ts';
import { OPERATOR } from '../../../engine/command/access.ts';
import { builtInHandlers } from '../../../engine/command/builtin/index.ts';
import type { Enricher } from '../../../engine/command/context.ts';
import { Dispatcher } from '../../../engine/command/dispatch.ts';
import { ENRICH_MS, ENRICHED_RECORDS } from '../../../engine/command/enrich.ts';
import { ManualClock } from '../../../engine/core/clock.ts';
import type { Log } from '../../../engine/core/log.ts';
import { fakeContext } from './fake-context.ts';

type Fields = Readonly<Record<string, unknown>>;
type Answer = (input: EnrichShowInput, plugin: string) => Promise<Fields | undefined> | Fields | undefined;

function scene(enrichers: readonly Enricher[], answer: Answer) {
  const clock = new ManualClock();
  const fake = fakeContext(clock);
  const asked: EnrichShowInput[] = [];
  const logged: Fields[] = [];
  const log: Log = new Proxy({} as Log, {
    get: (_, name) =>
      name === 'child' ? () => log : name === 'warn' ? (fields: Fields) => logged.push(fields) : () => undefined,
  });
  const plugins = {
    ...fake.context.plugins,
    enrichers: () => enrichers,
    enrich: async (plugin: string, input: EnrichShowInput) => {
      asked.push(input);
      return answer(input, plugin);
    },
  };
  const dispatcher = new Dispatcher({ ...fake.context, plugins }, builtInHandlers(), log);
  dispatcher.add('bgp-rib', [{ name: 'rib routes' }, { name: 'rib table' }]);
  const run = (text: string): Promise<Collapsed> => dispatcher.dispatch(text, OPERATOR, new AbortController().signal).collapse();
  return { clock, asked, logged, run, plugins };
}

const one = (command: string, key = 'geo', plugin = 'geo'): Enricher => ({ plugin, command, key });
const data = (answer: Collapsed): Record<string, Record<string, Fields>> => answer.data as never;

test('one peer is a detail: the base is the record with its key, the data stands under the enricher’s key', async () => {
  const { run, asked } = scene([one('peer detail')], ({ base }) => ({ city: `of ${String(base['peer'])}` }));
  const peer = data(await run('peer edge detail'))['peers']?.['192.0.2.1'];
  assert.deepEqual(peer?.['geo'], { city: 'of 192.0.2.1' });
  assert.equal(peer['remote-as'], 65001);
  assert.equal(peer['peer'], undefined);
  assert.deepEqual(
    asked.map(({ command, key, mode, base }) => [command, key, mode, base['peer'], base['remote-as']]),
    [['peer detail', 'geo', 'detail', '192.0.2.1', 65001]],
  );
});

test('a list is brief, a call a record; summary’s rows are found below its header', async () => {
  for (const [command, path] of [
    ['peer list', 'peer list'],
    ['summary', 'summary'],
  ] as const) {
    const { run, asked } = scene([one(path)], ({ base }) => ({ as: base['remote-as'] }));
    const answer = await run(command);
    assert.equal(asked.length, 3);
    assert.ok(asked.every(({ mode }) => mode === 'brief'));
    assert.match(JSON.stringify(answer.data), /"geo":\{"as":65003\}/);
  }
});

test('a document without a list is one record', async () => {
  const { run, asked } = scene([one('SHOW  uptime')], () => ({ here: true }));
  assert.deepEqual(data(await run('show uptime'))['geo'], { here: true });
  assert.deepEqual([asked[0]?.mode, asked[0]?.base['uptime']], ['detail', '1m5s']);
});

test('an old spelling of a command is the command', async () => {
  const { run } = scene([one('show bgp peer')], () => ({ x: 1 }));
  assert.deepEqual(data(await run('peer edge detail'))['peers']?.['192.0.2.1']?.['geo'], { x: 1 });
});

test('other commands are not touched, and actions never are', async () => {
  const { run, asked } = scene([one('peer detail'), one('peer refresh')], () => ({ x: 1 }));
  await run('peer list');
  await run('peer edge refresh ipv4/unicast');
  assert.equal(asked.length, 0);
});

test('several enrichers are asked side by side; what is there stays', async () => {
  const waiting: (() => void)[] = [];
  const { run } = scene(
    [one('show uptime', 'a'), one('show uptime', 'a', 'other'), one('show uptime', 'uptime')],
    (_, plugin) => {
      return new Promise((resolve) => {
        waiting.push(() => resolve({ from: plugin, [plugin]: 1 }));
        if (waiting.length === 3) for (const go of waiting) go();
      });
    },
  );
  const answer = data(await run('show uptime'));
  assert.deepEqual(answer['a'], { from: 'geo', geo: 1, other: 1 });
  assert.equal(answer['uptime'], '1m5s');
});

test('who fails is logged and left out, the answer and the others stand', async () => {
  const { run, logged } = scene([one('peer list'), one('peer list', 'ok', 'ok')], (_, plugin) => {
    if (plugin === 'geo') throw new Error('no database');
    return { fine: true };
  });
  const text = JSON.stringify((await run('peer list')).data);
  assert.equal(text.match(/"ok":\{"fine":true\}/g)?.length, 3);
  assert.ok(!text.includes('"geo"'));
  assert.deepEqual(logged, [{ plugin: 'geo', key: 'geo', command: 'peer list', reason: 'no database' }]);
});

test('who says nothing for 2 s is left out', async () => {
  const { run, clock, logged } = scene([one('show uptime')], () => new Promise(() => undefined));
  const running = run('show uptime');
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
  clock.advance(ENRICH_MS);
  assert.equal(data(await running)['geo'], undefined);
  assert.match(String(logged[0]?.['reason']), /no answer within 2 s/);
});

test('data that is none is nothing', async () => {
  for (const nothing of [undefined, {}]) {
    const { run } = scene([one('show uptime')], () => nothing);
    assert.ok(!('geo' in data(await run('show uptime'))));
  }
});

test('of a long walk the first 64 rows are enriched, eight calls at a time', async () => {
  let under = 0;
  let most = 0;
  const { run, asked } = scene([one('rib routes')], async ({ base }) => {
    most = Math.max(most, ++under);
    await new Promise((resolve) => setImmediate(resolve));
    under--;
    return { of: base['prefix'] };
  });
  const rows = data(await run('rib routes 500'))['routes'] as unknown as Fields[];
  assert.equal(rows.length, 500);
  assert.equal(rows.filter((row) => 'geo' in row).length, ENRICHED_RECORDS);
  assert.deepEqual(rows[63]?.['geo'], { of: '10.0.63.0/24' });
  assert.deepEqual([asked.length, most], [ENRICHED_RECORDS, 8]);
});

test('a table of positional rows gets a column', async () => {
  const { run, plugins } = scene([one('rib table')], ({ base }) => (base['n'] === 1 ? { is: 'one' } : undefined));
  plugins.execute = () =>
    new AnswerReader(
      records(
        [
          [1, 'a'],
          [2, 'b'],
        ],
        { columns: ['n', 'name'], envelope: 't' },
      ),
    );
  assert.deepEqual((await run('rib table')).data, {
    t: [
      { n: 1, name: 'a', geo: { is: 'one' } },
      { n: 2, name: 'b', geo: null },
    ],
  });
});
