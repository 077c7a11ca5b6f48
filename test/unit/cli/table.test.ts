import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { displayWidth, visible, visibleJson } from '../../../engine/cli/answers/escape.ts';
import { renderTable, TableStream } from '../../../engine/cli/answers/table.ts';
import { renderYaml } from '../../../engine/cli/answers/yaml.ts';

const BOX = { box: true, width: 0, colour: false } as const;
const TEXT = { box: false, width: 0, colour: false } as const;

// value → boxed, as text
for (const [name, value, text] of [
  ['nothing', {}, '(empty)\n'],
  ['an empty list', { routes: [] }, '(empty)\n'],
  ['an empty map', { peers: {} }, '(empty)\n'],
  ['a string', 'one\ntwo', 'one\ntwo\n'],
  ['a number', 5, '5\n'],
  ['a list of scalars', ['a', 1, true], 'a\n1\ntrue\n'],
  ['a record', { a: 1, 'b-c': 'x' }, 'a    1\nb-c  x\n'],
  [
    'a record within a record',
    { timer: { hold: 9, connect: 5 }, up: true },
    'timer hold     9\ntimer connect  5\nup             true\n',
  ],
  [
    'a list of equal objects keeps their order',
    {
      rows: [
        { b: 1, a: 'x' },
        { b: 22, a: 'y' },
      ],
    },
    'b   a\n 1  x\n22  y\n',
  ],
  [
    'optional members stand where they belong',
    [
      { p: 1, n: 2 },
      { p: 3, m: 4, n: 5 },
    ],
    'p  m  n\n1     2\n3  4  5\n',
  ],
  [
    'objects that disagree about the order have sorted columns',
    [
      { b: 1, a: 2 },
      { a: 3, b: 4 },
    ],
    'a  b\n2  1\n3  4\n',
  ],
  [
    'a map of maps',
    { peers: { '192.0.2.1': { state: 'up' }, '192.0.2.2': { state: 'down' } } },
    'peer       state\n192.0.2.1  up\n192.0.2.2  down\n',
  ],
  ['a map of one peer', { peers: { '192.0.2.1': { state: 'up' } } }, 'peer   192.0.2.1\nstate  up\n'],
  ['a record with a list', { s: { n: 1, rows: [{ a: 1 }] } }, 'n  1\n\nrows\na\n1\n'],
  ['cells that are lists', [{ p: [65001, 65002], q: { x: 1 } }], 'p            q\n65001 65002  {"x":1}\n'],
  [
    'missing cells',
    [
      { a: 1, b: null },
      { a: 2, b: 'x' },
    ],
    'a  b\n1\n2  x\n',
  ],
  ['hostile text', [{ a: 'x\u001b[2J\r\n\u202eevil' }], 'a\nx\\x1b[2J\\r\\n\\u202eevil\n'],
] as const) {
  test(`text table: ${name}`, () => assert.equal(renderTable(value, TEXT), text));
}

test('a boxed table', () => {
  assert.equal(
    renderTable(
      {
        rows: [
          { name: 'é', n: 7 },
          { name: '漢字', n: 10 },
        ],
      },
      BOX,
    ),
    ['┌──────┬────┐', '│ name │ n  │', '├──────┼────┤', '│ é    │  7 │', '│ 漢字 │ 10 │', '└──────┴────┘', ''].join('\n'),
  );
});

test('a streamed table fixes its widths at the first screenful and holds no more rows', () => {
  const table = new TableStream(BOX, ['prefix', 'n']);
  let out = '';
  for (let i = 0; i < 63; i++) out += table.row({ prefix: `10.0.${i}.0/24`, n: i });
  assert.equal(out, '');
  out += table.row({ prefix: '10.0.63.0/24', n: 63 });
  assert.equal(out.split('\n').length, 64 + 3 + 1);
  assert.equal(table.row({ prefix: '10.255.255.0/24', n: 1000 }), '│ 10.255.255.0/24 │ 1000 │\n');
  assert.equal(table.end(), '└──────────────┴────┘\n');
});

test('an empty streamed table says so', () => assert.equal(new TableStream(BOX, ['a']).end(), '(empty)\n'));

test('columns shrink to the terminal, and too many of them become records', () => {
  const wide = [{ a: 'x'.repeat(50), b: 'y'.repeat(20) }];
  const lines = renderTable(wide, { box: true, width: 60, colour: false }).trimEnd().split('\n');
  assert.ok(
    lines.every((line) => displayWidth(line) === 60),
    lines.join('\n'),
  );
  assert.match(lines[3] ?? '', /…/);
  const many = [
    Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`column-${i}`, `value-number-${i}`])),
    { 'column-0': 'second' },
  ];
  assert.equal(renderTable(many, { box: true, width: 60, colour: false }).split('\n')[0], 'column-0   value-number-0');
});

const tricky = fc.string({ unit: 'binary' });

test('what is made visible holds nothing a terminal obeys', () =>
  fc.assert(
    fc.property(tricky, (text) => {
      assert.doesNotMatch(visible(text), /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u2028\u2029]/);
      const json = JSON.stringify({ [text]: [text] });
      assert.doesNotMatch(visibleJson(json), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u2028\u2029]/);
      assert.deepEqual(JSON.parse(visibleJson(json)), JSON.parse(json));
    }),
  ));

test('no value makes the renderers throw or steer the terminal', () =>
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 100 }), fc.boolean(), (value, width, box) => {
      const text = renderTable(value, { box, width, colour: false }) + renderYaml(value);
      assert.match(text, /\n$/);
      assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    }),
  ));

for (const [value, yaml] of [
  [{ a: 1, b: 'plain words' }, 'a: 1\nb: plain words\n'],
  [{ a: [] as unknown[], b: {}, c: null, d: '' }, 'a: []\nb: {}\nc: null\nd: ""\n'],
  [{ a: ['x', { b: 1, c: ['z'] }] }, 'a:\n  - x\n  - b: 1\n    c:\n      - z\n'],
  [[[1, 2], 'x'], '- - 1\n  - 2\n- x\n'],
  [
    { t: 'true', k: '12', o: 'no', z: 'null', p: '65000:1', d: '- x', h: '# x', c: 'a: b', s: ' x' },
    't: "true"\nk: "12"\no: "no"\nz: "null"\np: "65000:1"\nd: "- x"\nh: "# x"\nc: "a: b"\ns: " x"\n',
  ],
  [
    { '192.0.2.1': 'x', '2001:db8::1': '2001:db8::/32', f: 'ipv4/unicast' },
    '192.0.2.1: x\n2001:db8::1: 2001:db8::/32\nf: ipv4/unicast\n',
  ],
  [{ e: 'x\u001b[2J' }, 'e: "x\\u001b[2J"\n'],
  ['word', 'word\n'],
] as const) {
  test(`yaml: ${JSON.stringify(value)}`, () => assert.equal(renderYaml(value), yaml));
}
