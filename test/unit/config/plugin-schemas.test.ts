// What a plugin's YANG module adds to the configuration: what is taken, what is refused and how that is said, and what goes with it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configSchema, loadConfig } from '../../../engine/config/load.ts';
import { PluginSchemas } from '../../../engine/config/schema/plugin-schemas.ts';
import { validateReport } from '../../../engine/config/validate-report.ts';

const module = (body: string, name = 'acme', more = ''): string =>
  `module ${name} {\n  namespace "urn:${name}";\n  prefix ${name};\n  ${more}\n  ${body}\n}\n`;
const BGP = 'import ze-bgp-conf { prefix bgp; }';
const fresh = (): PluginSchemas => new PluginSchemas(configSchema());
const declared = (text: string, name = 'acme') => ({ module: name, namespace: `urn:${name}`, 'yang-text': text });

const claims: readonly (readonly [name: string, text: string, refused: string | undefined])[] = [
  ['a container of its own', module('container acme { leaf x { type string; } }'), undefined],
  ['an augment of a peer', module('augment "/bgp:bgp/bgp:peer" { leaf acme { type uint8; } }', 'acme', BGP), undefined],
  ['no text: it only names its handlers', '', undefined],
  ['a leaf without a type', module('container acme {\n    leaf x;\n  }'), 'schema of plugin mon: acme:6: leaf x: needs a type'],
  [
    'a statement that is none',
    module('containr acme { }'),
    'schema of plugin mon: acme:5: containr acme: is no statement of YANG',
  ],
  [
    'a brace too few',
    'module acme {\n  container x {',
    'schema of plugin mon: acme:2: container x: is not closed: a "}" is missing',
  ],
  [
    'a container that is a secret',
    module('container acme { z:sensitive; leaf x { type string; } }', 'acme', 'import ze-extensions { prefix z; }'),
    'schema of plugin mon: acme: /acme: only a leaf can be a secret',
  ],
  [
    'a list of secrets',
    module('container acme { leaf-list x { z:sensitive; type string; } }', 'acme', 'import ze-extensions { prefix z; }'),
    'schema of plugin mon: acme: /acme/x: only a leaf can be a secret',
  ],
  [
    'a key that is a secret',
    module('list acme { key x; leaf x { z:sensitive; type string; } }', 'acme', 'import ze-extensions { prefix z; }'),
    'schema of plugin mon: acme: /acme: a key cannot be a secret: it is part of paths',
  ],
  [
    'a node that is there already',
    module('augment "/bgp:bgp" { leaf router-id { type string; } }', 'acme', BGP),
    'schema of plugin mon: acme:5: augment /bgp:bgp: node "router-id" exists already',
  ],
  [
    'a top-level node that is there',
    module('container bgp { }'),
    'schema of plugin mon: acme:1: module acme: node "bgp" exists already',
  ],
  [
    'an augment of nothing',
    module('augment "/bgp:bgp/bgp:pear" { leaf x { type string; } }', 'acme', BGP),
    'schema of plugin mon: acme:5: augment /bgp:bgp/bgp:pear: the target does not exist',
  ],
  [
    'an import nobody has',
    module('', 'acme', 'import else { prefix e; }'),
    'schema of plugin mon: acme:4: import else: module "else" is not loaded',
  ],
  ['the text of another module', module('', 'other'), 'schema of plugin mon: module acme: the text is that of module other'],
  [
    'a default that is no value',
    module('container acme { leaf x { type uint8; default many; } }'),
    'schema of plugin mon: acme: /acme/x: default "many" is not a number, 0..255',
  ],
  [
    'a validator nobody has',
    module('container acme { leaf x { type string; ze:validate "moon-phase"; } }', 'acme', 'import ze-extensions { prefix ze; }'),
    'schema of plugin mon: acme: /acme/x: the validator "moon-phase" does not exist',
  ],
  [
    'groupings that double for ever',
    module(
      `${Array.from({ length: 30 }, (_, i) => `grouping g${i + 1} { container a { uses g${i}; } container b { uses g${i}; } }`).join(' ')} grouping g0 { leaf x { type string; } } uses g30;`,
    ),
    'schema of plugin mon: acme:5: ',
  ],
];

for (const [name, text, refused] of claims) {
  test(`${name}: ${refused ?? 'taken'}`, () => {
    const schemas = fresh();
    const before = schemas.tree;
    const said = schemas.claim('mon', declared(text));
    if (refused === undefined) assert.equal(said, undefined);
    else {
      assert.ok(said?.startsWith(refused), said);
      assert.equal(schemas.tree, before, 'the schema is the very same');
      assert.deepEqual(schemas.modules(), []);
    }
  });
}

const many = (count: number, of: (index: number) => string): string => Array.from({ length: count }, (_, i) => of(i)).join(' ');
const large: readonly (readonly [name: string, body: string, refused: RegExp | undefined])[] = [
  ['10,000 leafs', `container acme { ${many(10_000, (i) => `leaf l${i} { type string; }`)} }`, undefined],
  [
    '10,000 identities',
    `identity b; ${many(10_000, (i) => `identity i${i} { base b; }`)} container acme { leaf x { type identityref { base b; } } }`,
    undefined,
  ],
  [
    '10,000 typedefs',
    `${many(10_000, (i) => `typedef t${i} { type string; }`)} container acme { leaf x { type t9999; } }`,
    undefined,
  ],
  ['40,000 words', `container acme { leaf x { type enumeration { ${many(40_000, (i) => `enum e${i};`)} } } }`, undefined],
  [
    '60,000 words',
    `container acme { leaf x { type enumeration { ${many(60_000, (i) => `enum e${i};`)} } } }`,
    /grows past 50000/,
  ],
  [
    'a chain of 5,000 identities',
    `identity i0; ${many(5_000, (i) => `identity i${i + 1} { base i${i}; }`)} container acme { leaf x { type identityref { base i0; } } }`,
    undefined,
  ],
  [
    'words times leafs',
    `typedef w { type enumeration { ${many(1_000, (i) => `enum e${i};`)} } } container acme { ${many(100, (i) => `leaf l${i} { type w; }`)} }`,
    /grows past 50000/,
  ],
  [
    '1,024 augments',
    `container acme { } ${many(1_024, (i) => `augment "/acme:acme" { leaf a${i} { type string; } }`)}`,
    undefined,
  ],
  [
    'one augment more',
    `container acme { } ${many(1_025, (i) => `augment "/acme:acme" { leaf a${i} { type string; } }`)}`,
    /more than 1024 augments/,
  ],
];
for (const [name, body, refused] of large) {
  test(`a large module: ${name}`, () => {
    const answer = fresh().claim('mon', declared(module(body)));
    if (refused === undefined) assert.equal(answer, undefined);
    else assert.match(answer ?? '', refused);
  });
}

test('a module of the engine, a namespace that is taken, one that is declared otherwise', () => {
  const schemas = fresh();
  assert.match(
    schemas.claim('mon', declared(module('', 'ze-types'), 'ze-types')) ?? '',
    /module ze-types is one of the engine's own/,
  );
  const foreign = module('').replace('urn:acme', 'urn:ze:plugin-conf');
  assert.match(
    schemas.claim('mon', { module: 'acme', 'yang-text': foreign }) ?? '',
    /namespace urn:ze:plugin-conf is that of module ze-plugin-conf/,
  );
  assert.match(
    schemas.claim('mon', { ...declared(module('')), namespace: 'urn:else' }) ?? '',
    /its namespace is urn:acme, not urn:else/,
  );
});

test('two plugins declare the same text: once is enough, it goes with the last; another text is a conflict', () => {
  const schemas = fresh();
  const text = module('container acme { leaf x { type string; } }');
  assert.equal(schemas.claim('a', declared(text)), undefined);
  assert.equal(schemas.claim('b', declared(text)), undefined);
  assert.equal(
    schemas.claim('c', declared(module('container acme { }'))),
    'schema of plugin c: module acme is registered by a, b with another text',
  );
  assert.deepEqual(
    schemas.modules().map((one) => one.plugins),
    [['a', 'b']],
  );
  const known = (): boolean => loadConfig('acme { x y; }', { path: 't', schema: schemas.tree }).ok;
  schemas.release('a');
  assert.ok(known());
  schemas.release('b');
  assert.ok(!known());
  assert.equal(schemas.tree, configSchema(), 'nothing is left');
});

test('a module that stands on one that goes comes back with it', () => {
  const schemas = fresh();
  assert.equal(schemas.claim('a', declared(module('container acme { }'))), undefined);
  const upon = module('augment "/acme:acme" { leaf y { type string; } }', 'more', 'import acme { prefix acme; }');
  assert.equal(schemas.claim('b', declared(upon, 'more')), undefined);
  schemas.release('a');
  assert.ok(!loadConfig('acme { y z; }', { path: 't', schema: schemas.tree }).ok);
  schemas.release('b');
  assert.equal(schemas.tree, configSchema());
});

const SCHEMA = module(
  `container acme {
    leaf interval { type uint16 { range "1..60"; } default 5; }
    leaf name { type string { length "1..8"; pattern "[a-z]+"; } }
    leaf mode { type enumeration { enum fast; enum slow; } mandatory true; }
    leaf-list tag { type string; default t; }
    choice way { leaf here { type string; } leaf there { type string; default no; } }
    container deep { leaf on { type boolean; default true; } }
    container rare { presence yes; leaf x { type uint8; default 1; } }
    list target { key id; min-elements 1; leaf id { type uint32; } leaf weight { type uint8; default 1; } }
  }
  augment "/bgp:bgp/bgp:peer" { leaf acme-weight { type uint8; default 7; } container acme-more { leaf y { type uint8; default 2; } } }
  augment "/bgp:bgp/bgp:group/bgp:peer" { leaf acme-weight { type uint8; default 7; } }`,
  'acme',
  BGP,
);
const withSchema = (): { readonly path: string; readonly schema: PluginSchemas['tree'] } => {
  const schemas = fresh();
  assert.equal(schemas.claim('mon', declared(SCHEMA)), undefined);
  return { path: 't', schema: schemas.tree };
};

const blocks: readonly (readonly [name: string, text: string, exit: number, says: string])[] = [
  ['all is well', 'acme { mode fast; target 1 { } }', 0, 'valid'],
  ['a name nobody knows', 'acme { mod fast; }', 1, 'unknown field in acme: mod (did you mean "mode"?)'],
  ['a range', 'acme { mode fast; interval 61; }', 1, 'acme/interval: 61 is out of range (1..60)'],
  ['a pattern', 'acme { mode fast; name ABC; }', 1, 'acme/name: "ABC" does not match [a-z]+'],
  ['a length', 'acme { mode fast; name abcdefghi; }', 1, 'acme/name: "abcdefghi" has 9 characters, not 1..8 characters'],
  ['an enumeration', 'acme { mode fest; }', 1, 'acme/mode: "fest" is not one of fast, slow (did you mean "fast"?)'],
  ['too few entries', 'acme { mode fast; }', 1, 'acme/target: needs at least 1 entries, found 0'],
  ['a mandatory leaf', 'acme { interval 5; target 1 { } }', 0, 'warning: line 1: acme/mode is mandatory and missing'],
  ['a choice', 'acme { mode fast; here a; there b; }', 1, 'here and there exclude each other'],
  ['a list key', 'acme { mode fast; target x { } }', 1, '"x" is not a number'],
  ['the same key twice', 'acme { mode fast; target 1 { } target 1 { } }', 1, 'duplicate list key for target: 1'],
  ['a leaf of a peer', 'bgp { peer p { acme-weight 300; } }', 1, 'acme-weight: 300 is out of range (0..255)'],
];

for (const [name, text, exit, says] of blocks) {
  test(`a plugin's block: ${name}`, () => {
    const { path, ...options } = withSchema();
    const report = validateReport(text, path, options);
    assert.ok(report.stdout.includes(says), report.stdout);
    assert.equal(report.exitCode, exit);
  });
}

test('a plugin is shown its block with typed values and defaults; the shipped part as it is stated', () => {
  const peer = (more: string): string =>
    `connection { local { ip 10.0.0.1; } remote { ip 10.0.0.${more.length}; } } session { asn { remote 2; } } ${more}`;
  const result = loadConfig(
    `acme { mode slow; target 3 { } target 4 { weight 9; } }
     bgp { router-id 1.1.1.1; session { asn { local 1; } }
       peer p { ${peer('')} } peer q { ${peer('acme-weight 8;')} } group g { peer r { ${peer('timer { connect-retry 1; }')} } } }`,
    withSchema(),
  );
  assert.ok(result.ok, JSON.stringify(result));
  assert.deepEqual(result.config.section('acme'), {
    acme: {
      mode: 'slow',
      target: { 3: { weight: 1 }, 4: { weight: 9 } },
      interval: 5,
      tag: ['t'],
      deep: { on: true },
    },
  });
  const peers = (result.config.section('bgp/peer') as { bgp: { peer: Record<string, Record<string, unknown>> } }).bgp.peer;
  assert.deepEqual(
    Object.values(peers).map((one) => one['acme-weight']),
    [7, 8, 7],
    'stated, or the default',
  );
  assert.equal(peers['p']?.['acme-more'], undefined, 'a container that a plugin adds stays away until it is stated');
  assert.equal(peers['p']?.['timer'], undefined);
});

test('secrets that must be unique are not quoted when they are not', () => {
  const schemas = fresh();
  const text = module(
    'container acme { list user { key name; unique "pin"; leaf name { type string; } leaf pin { z:sensitive; type string; } } }',
    'acme',
    'import ze-extensions { prefix z; }',
  );
  assert.equal(schemas.claim('mon', declared(text)), undefined);
  const config = 'acme {\n user a { pin hidden-from-all; }\n user b { pin hidden-from-all; }\n}\n';
  const result = loadConfig(config, { path: 't', schema: schemas.tree });
  assert.ok(!result.ok);
  const said = result.faults.map((one) => one.message).join();
  assert.match(said, /a and b have the same pin/);
  assert.doesNotMatch(said, /hidden/);
});
