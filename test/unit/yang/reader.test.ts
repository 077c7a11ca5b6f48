// RFC 7950 §6: statements, strings, comments, and faults that say where.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readStatements, type Statement } from '../../../yang/compile/reader.ts';

type Plain = readonly [keyword: string, argument: string | undefined, ...children: unknown[]];
const plain = (s: Statement): Plain => [s.keyword, s.argument, ...s.children.map(plain)];
const read = (text: string): Plain[] => readStatements(text, 'm').map(plain);

const texts: readonly (readonly [name: string, text: string, statements: readonly Plain[]])[] = [
  [
    'a statement and a block',
    'a b; c { d e; f; }',
    [
      ['a', 'b'],
      ['c', undefined, ['d', 'e'], ['f', undefined]],
    ],
  ],
  ['comments of both kinds', '// x\na /* y\nz */ b; // c', [['a', 'b']]],
  ['single quotes take everything', `a 'b"\\n{';`, [['a', 'b"\\n{']]],
  ['escapes in double quotes', 'c "\\n\\t\\"\\\\";', [['c', '\n\t"\\']]],
  ['joined strings', 'a "b" + \'c\'\n + "d";', [['a', 'bcd']]],
  ['a line break trims indentation (§6.1.3)', 'a "one  \n   two\n     three";', [['a', 'one\ntwo\n  three']]],
  [
    'prefixed keywords',
    'ze:x; ze:y "z";',
    [
      ['ze:x', undefined],
      ['ze:y', 'z'],
    ],
  ],
  ['a slash inside a word', 'enum send/receive;', [['enum', 'send/receive']]],
];

for (const [name, text, statements] of texts) {
  test(name, () => assert.deepEqual(read(text), statements));
}

const faults: readonly (readonly [text: string, message: RegExp])[] = [
  ['a {\n b;\n', /^m:1: a: is not closed/],
  ['a;\n}', /^m:2: a "}" closes nothing/],
  ['a b c;', /^m:1: a b: expected ";" or "{", found "c"/],
  ['a "b\nc', /^m:1: a string is not closed/],
  ['\n/* x', /^m:2: a comment is not closed/],
  ['yang-version 1.1; a "\\d";', /^m:1: unknown escape "\\d"/],
  ['a "b" + c;', /a quoted string must follow/],
  ['"a" b;', /^m:1: expected a statement/],
  ['a {'.repeat(100), /nested deeper than 64 levels/],
];

for (const [text, message] of faults)
  test(`fault: ${JSON.stringify(text.slice(0, 20))}`, () => assert.throws(() => read(text), { name: 'YangError', message }));

test('lines are counted through comments and strings', () => {
  const [, second] = readStatements('a "x\ny" { /* \n */ b; }\nc;', 'm');
  assert.equal(second?.line, 4);
});
