import assert from 'node:assert/strict';
import test from 'node:test';
import { AnswerReader, type AnswerSource } from '../../../sdk/rpc/answer.ts';
import { documentAnswer, records, rejected } from '../../../sdk/rpc/records.ts';
import { OPERATOR } from '../../../engine/command/access.ts';
import { applyPipes } from '../../../engine/command/pipes.ts';
import { fakeContext } from './fake-context.ts';

const select = async (source: AnswerSource, ...fields: readonly string[]): Promise<unknown> =>
  (await new AnswerReader(applyPipes(source, [{ kind: 'select', fields }])).collapse()).data;

const ROWS = [
  { a: 1, b: 2, c: 3 },
  { c: 6, a: 4 },
];
for (const [name, source, expected] of [
  [
    'rows',
    () => records(ROWS, { envelope: 'k' }),
    {
      k: [
        { c: 3, a: 1 },
        { c: 6, a: 4 },
      ],
    },
  ],
  ['rejected rows stay', () => records([{ a: 1, b: 2 }, rejected({ b: 3 })]), { data: [{ a: 1 }], errors: [{ b: 3 }] }],
  ['positional rows', () => records([[1, 2, 3]], { columns: ['a', 'b', 'c'] }), [{ c: 3, a: 1 }]],
  ['positional rows without the columns', () => records([[1]], { columns: ['x'] }), [{}]],
  [
    'a list',
    () => documentAnswer(ROWS),
    [
      { c: 3, a: 1 },
      { c: 6, a: 4 },
    ],
  ],
  [
    'a list below its name',
    () => documentAnswer({ k: ROWS }),
    {
      k: [
        { c: 3, a: 1 },
        { c: 6, a: 4 },
      ],
    },
  ],
  [
    'a list beside other members',
    () => documentAnswer({ n: 1, k: ROWS }),
    {
      k: [
        { c: 3, a: 1 },
        { c: 6, a: 4 },
      ],
    },
  ],
  ['a map of records', () => documentAnswer({ p: { x: ROWS[0], y: ROWS[1] } }), { p: { x: { c: 3, a: 1 }, y: { c: 6, a: 4 } } }],
  ['a record', () => documentAnswer(ROWS[0]), { c: 3, a: 1 }],
  ['a record with nothing of it', () => documentAnswer({ z: 1, y: 2 }), {}],
  ['a text', () => documentAnswer('x'), 'x'],
] as const satisfies readonly (readonly [string, () => AnswerSource, unknown])[]) {
  test(`select c,a: ${name}`, async () => {
    const data = await select(source(), 'c', 'a');
    assert.equal(JSON.stringify(data), JSON.stringify(expected));
  });
}

test('on a line, behind and before other pipes, and in an alias', async () => {
  const { dispatcher } = fakeContext();
  const run = async (text: string): Promise<unknown> => {
    const { data, error } = await dispatcher.dispatch(text, OPERATOR, new AbortController().signal).collapse();
    return error ?? data;
  };
  assert.deepEqual(await run('peer list | select state,name | match lab'), {
    peers: { '198.51.100.7': { state: 'active', name: 'lab' } },
  });
  assert.deepEqual(await run('rib routes 500 | match 10.0.77.0 | select prefix'), { routes: [{ prefix: '10.0.77.0/24' }] });
  dispatcher.addPipes('bgp-rib', [{ command: 'rib routes', name: 'paths', expansion: 'select as-path, prefix | table' }]);
  assert.equal(
    JSON.stringify(await run('rib routes 1 | paths')),
    '{"routes":[{"as-path":[65001,65002],"prefix":"10.0.0.0/24"}]}',
  );
  assert.equal(await run('rib routes | select'), 'select requires a value (column 14)');
});
