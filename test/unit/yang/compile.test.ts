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
  [
    'a leafref knows what its path names',
    'container a { leaf b { type uint8; } } leaf x { type leafref { path "/m:a/m:b"; } }',
    {
      base: 'leafref',
      path: '/a/b',
      steps: {
        kind: 'path',
        from: 'root',
        steps: [
          { axis: 'child', test: 'a', predicates: [] },
          { axis: 'child', test: 'b', predicates: [] },
        ],
      },
      target: { base: 'uint8' },
    },
  ],
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
    list l { key "a b"; unique "c d"; ordered-by user; min-elements 1; max-elements 4; leaf a { type string; } leaf b { type string; } leaf c { type string; } leaf d { type string; } }
    leaf-list ll { type uint8; default 1; default 2; max-elements unbounded; }`);
  const { children: _children, ...list } = at(tree, 'l') as Extract<SchemaNode, { kind: 'list' }>;
  assert.equal(_children.length, 4);
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

test('each submodule has prefixes of its own, and all see the definitions of all', () => {
  const tree = SchemaTree.compile({
    'm.yang': module('leaf x { type t; } container top { }', 'm', 'include s; include r;'),
    's.yang': `submodule s { belongs-to m { prefix self; } include r; import o { prefix mine; }
      typedef t { type mine:t; } augment "/self:top" { leaf y { type self:u; } } }`,
    'r.yang': 'submodule r { belongs-to m { prefix mm; } typedef u { type int8; } leaf z { type mm:t; } }',
    'o.yang': module('typedef t { type uint8 { range "1..9"; } }', 'o'),
  });
  const typeOf = (path: string): unknown => {
    const leaf = at(tree, path);
    return leaf?.kind === 'leaf' ? leaf.type.base : undefined;
  };
  assert.deepEqual(['x', 'z', 'top/y'].map(typeOf), ['uint8', 'uint8', 'int8']);
});

test('features decide what is there', () => {
  const body = `feature a; feature b { if-feature a; }
    leaf one { if-feature a; type string; } leaf two { if-feature "not a"; type string; }
    leaf three { if-feature "b and (a or not a)"; type string; }
    choice c { case x { if-feature a; leaf x { type string; } } case y { leaf y { type string; } } }
    leaf e { type enumeration { enum p; enum q { if-feature a; } } }
    identity base; identity i { base base; if-feature a; } leaf r { type identityref { base base; } }`;
  const names = (on: boolean): string[] =>
    SchemaTree.compile({ 'm.yang': module(body) }, { features: () => on }).root.children.map((node) => node.name);
  assert.deepEqual(names(true), ['one', 'three', 'x', 'y', 'e', 'r']);
  assert.deepEqual(names(false), ['two', 'y', 'e', 'r']);
  const leaf = SchemaTree.compile({ 'm.yang': module(body) }, { features: () => false }).root.children.find(
    (one) => one.name === 'e',
  );
  assert.deepEqual(leaf?.kind === 'leaf' && leaf.type.base === 'enumeration' ? leaf.type.values : [], ['p']);
});

test('deviations add, replace, delete and take away', () => {
  const tree = SchemaTree.compile({
    'b.yang': module(
      `container c { leaf a { type string; default x; units s; must "1"; must "2"; } leaf gone { type string; }
        choice how { case left { leaf l { type string; } } case right { leaf r { type string; } } }
        list li { key k; leaf k { type string; } leaf u { type string; } unique u; max-elements 2; } leaf-list ll { type uint8; } }`,
      'b',
    ),
    'd.yang': module(
      `deviation /b:c/b:a { deviate delete { default x; units s; must "1"; } deviate add { mandatory true; } deviate replace { type uint8; } }
       deviation /b:c/b:gone { deviate not-supported; }
       deviation /b:c/b:how/b:left { deviate not-supported; }
       deviation /b:c/b:li { deviate delete { unique u; } deviate replace { max-elements 9; } deviate add { must "count(../b:ll) > 1"; } }
       deviation /b:c/b:ll { deviate add { default 1; min-elements 0; config false; } }`,
      'd',
      'import b { prefix b; }',
    ),
  });
  const a = at(tree, 'c/a') as Extract<SchemaNode, { kind: 'leaf' }>;
  assert.deepEqual(
    [a.type, a.default, a.mandatory, a.must?.map((one) => one.source)],
    [{ base: 'uint8' }, undefined, true, ['2']],
  );
  assert.deepEqual([at(tree, 'c/gone'), at(tree, 'c/l')], [undefined, undefined]);
  assert.ok(at(tree, 'c/r'));
  const list = at(tree, 'c/li') as Extract<SchemaNode, { kind: 'list' }>;
  assert.deepEqual([list.unique, list.max, list.must?.[0]?.source], [[], 9, 'count(../b:ll) > 1']);
  assert.equal(at(tree, 'c/ll')?.config, false);
});

test('choices inside cases, defaults of choices, conditions of what stands around', () => {
  const tree =
    compile(`container c { choice a { default two; mandatory false; case one { when "x"; choice b { leaf p { type string; } leaf q { type string; } } }
    leaf two { type string; } } } grouping g { leaf n { type string; } } uses g { when "c/two"; refine n { must "."; } }`);
  assert.deepEqual(at(tree, 'c/p')?.choice, ['a', 'one', 'b', 'p']);
  const container = at(tree, 'c');
  assert.deepEqual(container?.kind === 'container' ? container.choices : [], [
    { path: ['a'], cases: ['one', 'two'], default: 'two' },
    { path: ['a', 'one', 'b'], cases: ['p', 'q'] },
  ]);
  assert.deepEqual(
    at(tree, 'c/p')?.when?.map((one) => [one.source, one.above]),
    [['x', true]],
  );
  assert.deepEqual([at(tree, 'n')?.when?.[0]?.source, at(tree, 'n')?.must?.[0]?.source], ['c/two', '.']);
});

test('augments of choices and cases, of rpcs, and what cannot be configured is read and left out', () => {
  const tree = SchemaTree.compile({
    'b.yang': module(
      `container c { choice how { case one { leaf a { type string; } } } action act { input { leaf i { type string; } } } notification n { leaf l { type string; } } }
       rpc go { input { leaf first { type string; } } } notification top { leaf t { type string; } }`,
      'b',
    ),
    'd.yang': module(
      `augment /b:c/b:how { leaf short { type string; } case long { leaf x { type string; } } }
       augment /b:c/b:how/b:one { leaf more { type string; } }
       augment /b:go/b:input { leaf second { type string; } }
       augment /b:top { leaf u { type string; } }
       augment /b:c/b:act/b:input { leaf j { type string; } }`,
      'd',
      'import b { prefix b; }',
    ),
  });
  assert.deepEqual(
    ['short', 'x', 'more'].map((name) => at(tree, `c/${name}`)?.choice),
    [
      ['how', 'short'],
      ['how', 'long'],
      ['how', 'one'],
    ],
  );
  assert.deepEqual(
    tree.rpcs[0]?.input.children.map((node) => node.name),
    ['first', 'second'],
  );
  assert.deepEqual([at(tree, 'c/act'), at(tree, 'c/n'), at(tree, 'top')], [undefined, undefined, undefined]);
});

test('a revision that is asked for is the one that is loaded', () => {
  const other = { 'o.yang': module('', 'o', 'revision 2026-01-01; revision 2025-01-01;') };
  assert.ok(compile('', other, 'import o { prefix o; revision-date 2026-01-01; }'));
  assert.throws(
    () => compile('', other, 'import o { prefix o; revision-date 2025-01-01; }'),
    /revision 2025-01-01 is not loaded, but 2026-01-01/,
  );
  assert.throws(
    () =>
      SchemaTree.compile({
        'a.yang': module('', 'a', 'import b { prefix b; }'),
        'b.yang': module('', 'b', 'import a { prefix a; }'),
      }),
    /import each other in a circle/,
  );
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
  ['a statement in the wrong place', 'leaf x { type string; key y; }', /^m:1: key y: may not stand in a leaf/],
  ['a statement twice', 'leaf x { type string; type string; }', /type string: stands twice in leaf x/],
  ['a typedef twice', 'typedef t { type string; } typedef t { type string; }', /typedef t: stands twice/],
  ['a word that is no boolean', 'leaf x { type string; mandatory yes; }', /mandatory yes: must be one of true, false/],
  ['a statement without argument', 'leaf x { type; }', /type: needs an argument/],
  ['a range on a string', 'leaf x { type string { range "1..2"; } }', /a range does not fit a string/],
  ['a pattern on a number', 'leaf x { type uint8 { pattern "a"; } }', /a pattern does not fit a uint8/],
  ['ranges out of order', 'leaf x { type uint8 { range "5..6 | 1..2"; } }', /is not behind the part before/],
  ['a decimal without digits', 'leaf x { type decimal64; }', /needs fraction-digits/],
  [
    'an enum that the type does not have',
    'typedef t { type enumeration { enum a; } } leaf x { type t { enum b; } }',
    /none of the type's/,
  ],
  ['two bits at one position', 'leaf x { type bits { bit a { position 1; } bit b { position 1; } } }', /position 1 stands twice/],
  ['a default on a mandatory leaf', 'leaf x { type string; mandatory true; default a; }', /a mandatory leaf has no default/],
  ['a default case that is none', 'choice c { default z; leaf a { type string; } }', /there is no case "z"/],
  ['a case twice', 'choice c { case a { } case a { } }', /case a: stands twice in choice c/],
  ['unique of nothing', 'list l { key k; leaf k { type string; } unique "a/b"; }', /unique: "a\/b" is not a leaf/],
  ['a leafref into nothing', 'leaf x {\n type leafref { path "../y"; } }', /^m:2: path \.\.\/y: names no leaf of the schema/],
  ['leafrefs in a circle', 'leaf a { type leafref { path "../b"; } } leaf b { type leafref { path "../a"; } }', /in a circle/],
  ['a feature nobody defines', 'leaf x { if-feature f; type string; }', /feature "f" is not defined/],
  [
    'features in a circle',
    'feature a { if-feature b; } feature b { if-feature a; } leaf x { if-feature a; type string; }',
    /in a circle/,
  ],
  [
    'an expression of features that is none',
    'feature a; leaf x { if-feature "a and"; type string; }',
    /is no expression of features/,
  ],
  ['a must that cannot be read', 'leaf x { type string; must "a = "; }', /^m:1: must a = : XPath: an expression is missing/],
  ['a function that is not taken', 'leaf x { type string; must "id(.)"; }', /XPath: the function id\(\) is not taken/],
  ['an axis that is not taken', 'leaf x { type string; must "following::y"; }', /XPath: the axis following is not taken/],
  ['a variable', 'leaf x { type string; must "$a"; }', /XPath: variables are not taken/],
  ['a prefix in a must', 'leaf x { type string; must "q:a"; }', /prefix "q" is not imported/],
  ['a deviation of nothing', 'deviation "/m:gone" { deviate not-supported; }', /the target does not exist/],
  [
    'a default that is not there to delete',
    'leaf x { type string; } deviation /m:x { deviate delete { default a; } }',
    /is not there to be deleted/,
  ],
  ['a uses straight in a choice', 'grouping g { } choice c { uses g; }', /may not stand in a choice/],
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
  for (const place of ['bgp/group/peer', 'bgp/group', 'bgp']) assert.ok(at(after, `${place}/session/capability/acme`), place);
  assert.equal(at(after, 'bgp/group/session/capability/acme')?.template, true, 'a group states what its peers inherit');
  assert.equal(at(after, 'bgp/group/peer/session/capability/acme')?.template, undefined);
  assert.throws(() => after.augment('module acme { namespace "urn:acme"; prefix acme; }'), /already loaded/);
  assert.throws(() => before.augment('module x { namespace "urn:x"; prefix x; container bgp { } }'), /node "bgp" exists already/);
});
