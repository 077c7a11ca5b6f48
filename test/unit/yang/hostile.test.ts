// Modules that a plugin may send and nobody would write: each is refused by a fault with its place, or read, in time and memory that its length
// bounds; nothing but a `YangError` leaves the compiler.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readStatements } from '../../../yang/compile/reader.ts';
import { SchemaTree } from '../../../yang/compile/tree.ts';

const EMPTY = SchemaTree.compile({
  host: 'module host { namespace "urn:host"; prefix h; extension twin { argument paths; } container host; }',
});
const evil = (body: string): string => `module evil { yang-version 1.1; namespace "urn:evil"; prefix e; ${body} }`;
const many = (count: number, one: (index: number) => string): string => Array.from({ length: count }, (_, i) => one(i)).join(' ');
const inX = (body: string): string => evil(`container x { ${body} }`);

const REFUSED: readonly (readonly [string, string, RegExp])[] = [
  ['a leafref whose path goes through itself', inX('leaf a { type leafref { path "deref(../a)/../a"; } }'), /names no leaf/],
  [
    'leafrefs that go through each other twice a step',
    inX(
      `${many(31, (i) => `leaf a${i} { type leafref { path "deref(deref(../a${i + 1})/../a${i + 1})/../a${i + 1}"; } }`)} leaf a31 { type string; }`,
    ),
    /names no leaf/,
  ],
  [
    'unions of two leafrefs to the next union',
    inX(
      `${many(31, (i) => `leaf a${i} { type union { type leafref { path "/e:x/e:a${i + 1}"; } type leafref { path "/e:x/e:a${i + 1}"; } } }`)} leaf a31 { type string; }`,
    ),
    /more than 100000 leafrefs lead to each other/,
  ],
  [
    'a chain of features',
    evil(`${many(15_000, (i) => `feature f${i} { if-feature f${i + 1}; }`)} feature f15000; container x { if-feature f0; }`),
    /more than 64 features depend on each other/,
  ],
  [
    'large automata, each below the limit',
    inX(`leaf a { type string { ${many(2000, (i) => `pattern "(a{1,100}){1,90}${i}";`)} } }`),
    /more work/,
  ],
  [
    'a grouping of many patterns that is used many times',
    evil(
      `grouping g { leaf a { type string { ${many(4000, (i) => `pattern "[a-z]+${i}";`)} } } } ${many(4000, (i) => `container x${i} { uses g; }`)}`,
    ),
    /more work/,
  ],
  [
    'a long range in a type that is used many times',
    evil(
      `typedef t { type int64 { range "${Array.from({ length: 20_000 }, (_, i) => i * 2).join('|')}"; } } container x { ${many(4000, (i) => `leaf x${i} { type t; }`)} }`,
    ),
    /more work/,
  ],
  [
    'as many refines as leaves',
    evil(
      `grouping g { ${many(18_000, (i) => `leaf a${i} { type string; }`)} } container x { uses g { ${many(18_000, (i) => `refine a${i} { description d; }`)} } }`,
    ),
    /more work/,
  ],
];

const READ: readonly (readonly [string, string])[] = [
  [
    'strings without end in one line',
    evil(`description ${Array.from({ length: 150_000 }, () => '""').join(' + ')}; container x;`),
  ],
  ['as many cases as leaves', inX(`choice c { ${many(15_000, (i) => `case c${i} { leaf a${i} { type string; } }`)} }`)],
  [
    'a range that narrows another, part by part',
    evil(
      `typedef t { type int64 { range "${Array.from({ length: 30_000 }, (_, i) => i * 2).join('|')}"; } } container x { leaf a { type t { range "${Array.from({ length: 30_000 }, (_, i) => i * 2).join('|')}"; } } }`,
    ),
  ],
];

describe('hostile modules', () => {
  for (const [name, text, message] of REFUSED)
    test(`refused: ${name}`, () => assert.throws(() => EMPTY.augment(text, 'evil'), { name: 'YangError', message }));

  for (const [name, text] of READ) test(`read: ${name}`, () => assert.equal(EMPTY.augment(text, 'evil').root.children.length, 2));

  test('the indentation of a string is that of its line, behind strings and comments of several lines', () => {
    const of = (source: string): string | undefined => readStatements(source, 'm')[0]?.children.at(-1)?.argument;
    assert.equal(of('m x {\n  /* a\n b */ d "one\n           two";\n}'), 'one\n  two');
    assert.equal(of('m x {\n  c \'a\n  b\'; d "one\n         two";\n}'), 'one\ntwo');
  });

  test('a range inside the gap of the one it narrows is refused', () => {
    const text = inX('typedef t { type int8 { range "1..3 | 7..9 | 20..30"; } } leaf a { type t { range "2 | 5..8"; } }');
    assert.throws(() => EMPTY.augment(text, 'evil'), { message: /"5\.\.8" leaves the bounds/ });
    EMPTY.augment(text.replace('2 | 5..8', '2 | 7..8 | 30'), 'evil');
  });
});
