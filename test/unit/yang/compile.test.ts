// From modules to one schema tree: types, groupings, augments, choices; and faults that name module, line and statement.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linkSchema } from '../../../yang/compile/link.ts';
import { configModules } from '../../../yang/compile/outputs.ts';
import { childOf, extension, isParent, type SchemaNode } from '../../../yang/compile/schema.ts';
import { SchemaTree } from '../../../yang/compile/tree.ts';
import { SCHEMA_ROWS } from '../../../yang/generated/config.ts';
import { CONFIG_MODULES } from '../../../yang/generated/modules.ts';

const module = (body: string, name = 'm', more = ''): string =>
  `module ${name} { namespace "urn:${name}"; prefix ${name}; ${more} ${body} }`;
const compile = (body: string, others: Record<string, string> = {}, more = ''): SchemaTree =>
  SchemaTree.compile({ ...others, 'm.yang': module(body, 'm', more) });

function at(tree: SchemaTree, path: string): SchemaNode | undefined {
  let node: SchemaNode | undefined = tree.root;
  for (const name of path.split('/')) node = node !== undefined && isParent(node) ? childOf(node, name) : undefined;
  return node;
}

const types: readonly (readonly [name: string, body: string, type: unknown])[] = [
  [
    'a range narrows',
    'leaf x { type uint16 { range "1..10|20..max"; } }',
    {
      base: 'uint16',
      ranges: [
        [1, 10],
        [20, 65535],
      ],
    },
  ],
  ['min and max', 'leaf x { type int8 { range "min..-1"; } }', { base: 'int8', ranges: [[-128, -1]] }],
  ['one number', 'leaf x { type uint8 { range "7"; } }', { base: 'uint8', ranges: [[7, 7]] }],
  ['length', 'leaf x { type string { length "1..8"; } }', { base: 'string', length: [[1, 8]] }],
  [
    'patterns add up through typedefs',
    'typedef t { type string { pattern "[a-z]*"; } } leaf x { type t { pattern "x.*" { modifier invert-match; error-message "no x"; } } }',
    { base: 'string', patterns: [{ source: '[a-z]*' }, { source: 'x.*', invert: true, message: 'no x' }], typedef: 't' },
  ],
  ['enumeration', 'leaf x { type enumeration { enum a; enum b; } }', { base: 'enumeration', values: ['a', 'b'] }],
  ['bits', 'leaf x { type bits { bit a; bit b; } }', { base: 'bits', values: ['a', 'b'] }],
  [
    'union',
    'typedef a { type uint8; } leaf x { type union { type a; type string; } }',
    { base: 'union', members: [{ base: 'uint8', typedef: 'a' }, { base: 'string' }] },
  ],
  ['leafref without prefixes', 'leaf x { type leafref { path "/m:a/m:b"; } }', { base: 'leafref', path: '/a/b' }],
  [
    'identities derived at any depth',
    'identity base; identity a { base base; } identity b { base m:a; } identity other; leaf x { type identityref { base base; } }',
    { base: 'identityref', values: ['a', 'b'] },
  ],
  [
    'decimal',
    'leaf x { type decimal64 { fraction-digits 2; range "0..1"; } }',
    { base: 'decimal64', digits: 2, ranges: [[0, 1]] },
  ],
  [
    'units of a typedef',
    'typedef s { type uint8; units seconds; } leaf x { type s; }',
    { base: 'uint8', typedef: 's', units: 'seconds' },
  ],
];

for (const [name, body, type] of types) {
  test(`type: ${name}`, () => {
    const leaf = at(compile(body), 'x');
    assert.deepEqual(leaf?.kind === 'leaf' ? leaf.type : undefined, type);
  });
}

test('a typedef of an imported module, and its default', () => {
  const tree = compile(
    'leaf x { type o:t; } leaf y { type o:t; default "8"; }',
    { 'o.yang': module('typedef t { type uint8; default "7"; }', 'o') },
    'import o { prefix o; }',
  );
  const defaults = ['x', 'y'].map((name) => at(tree, name)).map((leaf) => (leaf?.kind === 'leaf' ? leaf.default : undefined));
  assert.deepEqual(defaults, ['7', '8']);
});

test('uses copies, refine changes the copy alone, augment adds to it', () => {
  const tree = compile(`
    grouping g { container c { leaf a { type string; } list l { key k; leaf k { type string; } } } }
    container one { uses g { refine c/a { default "x"; description "mine"; } augment "c" { leaf more { type string; } } } }
    container two { uses g; }`);
  const a = at(tree, 'one/c/a');
  assert.deepEqual([a?.kind === 'leaf' && a.default, a?.description], ['x', 'mine']);
  assert.ok(at(tree, 'one/c/more'));
  assert.equal(at(tree, 'two/c/more'), undefined);
  assert.deepEqual(at(tree, 'two/c/a'), { kind: 'leaf', name: 'a', type: { base: 'string' } });
  assert.equal(at(tree, 'two')?.grouping, 'g');
});

test('a choice is flat: its children know their case', () => {
  const tree = compile(
    'container c { choice how { leaf a { type string; } case b { leaf b1 { type string; } leaf b2 { type string; } } } }',
  );
  const cases = ['a', 'b1', 'b2'].map((name) => at(tree, `c/${name}`)?.choice);
  assert.deepEqual(cases, [
    ['how', 'a'],
    ['how', 'b'],
    ['how', 'b'],
  ]);
});

test('lists, presence, order, numbers, config', () => {
  const tree = compile(`container p { presence "on"; config false; }
    list l { key "a b"; unique "c d"; ordered-by user; min-elements 1; max-elements 4; leaf a { type string; } leaf b { type string; } }
    leaf-list ll { type uint8; default 1; default 2; max-elements unbounded; }`);
  const { children: _children, ...list } = at(tree, 'l') as Extract<SchemaNode, { kind: 'list' }>;
  assert.equal(_children.length, 2);
  assert.deepEqual(list, { kind: 'list', name: 'l', keys: ['a', 'b'], orderedByUser: true, min: 1, max: 4, unique: ['c d'] });
  assert.deepEqual(at(tree, 'p'), { kind: 'container', name: 'p', config: false, presence: true, children: [] });
  assert.deepEqual(at(tree, 'll'), { kind: 'leaf-list', name: 'll', type: { base: 'uint8' }, defaults: ['1', '2'] });
});

test('augments join, whatever the order; into a choice too', () => {
  const tree = SchemaTree.compile({
    'a.yang': module(
      'augment "/b:top/c:late" { leaf x { type string; } } augment "/b:top/b:how/b:one" { leaf y { type string; } }',
      'a',
      'import b { prefix b; } import c { prefix c; }',
    ),
    'b.yang': module('container top { choice how { case one { leaf z { type string; } } } }', 'b'),
    'c.yang': module('augment "/b:top" { container late { } }', 'c', 'import b { prefix b; }'),
  });
  assert.equal(at(tree, 'top/late/x')?.module, 'a');
  assert.ok(at(tree, 'top/y'));
});

test('submodules are part of their module', () => {
  const tree = SchemaTree.compile({
    'm.yang': module('leaf x { type t; }', 'm', 'include s;'),
    's.yang': 'submodule s { belongs-to m { prefix m; } typedef t { type uint8; } }',
  });
  assert.ok(at(tree, 'x'));
});

const faults: readonly (readonly [name: string, body: string, message: RegExp])[] = [
  ['an unknown type', 'leaf x {\n type nope; }', /^m:2: type nope: typedef "nope" is not defined/],
  ['an unknown grouping', '\n\nuses g;', /^m:3: uses g: grouping "g" is not defined/],
  ['an unknown prefix', 'leaf x { type q:t; }', /prefix "q" is not imported/],
  ['typedefs in a circle', 'typedef a { type b; } typedef b { type a; } leaf x { type a; }', /in a circle/],
  ['a grouping that uses itself', 'grouping g { container c { uses g; } } uses g;', /uses itself/],
  [
    'groupings in a circle',
    'grouping a { container x { uses b; } } grouping b { container y { uses a; } } uses a;',
    /uses itself/,
  ],
  ['a range that widens', 'typedef t { type uint8 { range "1..5"; } } leaf x { type t { range "0..3"; } }', /leaves the bounds/],
  ['a range upside down', 'leaf x { type uint8 { range "5..1"; } }', /upside down/],
  ['a range that is no number', 'leaf x { type uint8 { range "a"; } }', /is no bound/],
  ['a pattern that is none', 'leaf x { type string { pattern "("; } }', /no regular expression/],
  ['a node twice', 'leaf x { type string; } leaf x { type string; }', /node "x" is defined twice/],
  ['a key that is no leaf', 'list l { key k; }', /key "k" is not a leaf/],
  ['a leaf without type', 'leaf x;', /^m:1: leaf x: needs a type/],
  ['an augment into nothing', 'augment "/m:gone" { leaf x { type string; } }', /target does not exist/],
  ['a refine of nothing', 'grouping g { leaf a { type string; } } uses g { refine b { default 1; } }', /no node "b"/],
  ['an undeclared extension', 'leaf x { type string; m:nope; }', /extension "nope" is not declared/],
  ['an identity that is not there', 'leaf x { type identityref { base i; } }', /identity "i" is not defined/],
  ['an enum twice', 'leaf x { type enumeration { enum a; enum a; } }', /"a" stands twice/],
];

for (const [name, body, message] of faults)
  test(`fault: ${name}`, () => assert.throws(() => compile(body), { name: 'YangError', message }));

test('fault: a module that is not loaded', () => {
  assert.throws(() => compile('', {}, 'import gone { prefix g; }'), /module "gone" is not loaded/);
});

test('the committed schema is the compiled one', () => {
  const plain = (node: SchemaNode): unknown => {
    const rest = Object.fromEntries(Object.entries(node).filter(([key]) => key !== 'grouping'));
    return { ...rest, ...(isParent(node) ? { children: node.children.map(plain) } : {}) };
  };
  assert.deepEqual(plain(linkSchema(SCHEMA_ROWS)), plain(SchemaTree.compile(configModules()).root));
});

test('a module text joins at run time; the tree before is untouched', () => {
  const before = SchemaTree.of(linkSchema(SCHEMA_ROWS), () => CONFIG_MODULES);
  const after = before.augment(`module acme { namespace "urn:acme"; prefix acme;
    import ze-bgp-conf { prefix bgp; } import ze-types { prefix zt; } import ze-extensions { prefix ze; }
    augment "/bgp:bgp/bgp:peer/bgp:session/bgp:capability" { container acme { leaf speed { type zt:asn; ze:sensitive; } } }
    container acme-monitor { leaf on { type boolean; } } }`);
  const leaf = at(after, 'bgp/peer/session/capability/acme/speed');
  assert.ok(leaf !== undefined && extension(leaf, 'sensitive') === true);
  assert.ok(at(after, 'acme-monitor/on'));
  assert.equal(at(before, 'bgp/peer/session/capability/acme'), undefined);
  assert.equal(at(after, 'bgp/group/peer/session/capability/acme'), undefined);
  assert.throws(() => after.augment('module acme { namespace "urn:acme"; prefix acme; }'), /already loaded/);
  assert.throws(() => before.augment('module x { namespace "urn:x"; prefix x; container bgp { } }'), /node "bgp" exists already/);
});
