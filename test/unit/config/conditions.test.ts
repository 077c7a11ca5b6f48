// What only the whole tree can tell: must, when, leafrefs, what is mandatory; with inheritance applied, and in a plugin's module.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configSchema, loadConfig } from '../../../engine/config/load.ts';
import { validateReport } from '../../../engine/config/validate-report.ts';

const schemaOf = (body: string) =>
  configSchema().augment(
    `module m { yang-version 1.1; namespace "urn:m"; prefix m; import ze-bgp-conf { prefix b; } ${body} }`,
    'm',
  );

type Row = readonly [says: string | undefined, config: string];

/** A body of a module, and configurations with what is said of each; `undefined`: nothing is wrong. */
const groups: readonly (readonly [name: string, body: string, rows: readonly Row[]])[] = [
  [
    'must',
    `container c { must "not(a) or b" { error-message "a needs b"; } leaf a { type uint8; } leaf b { type uint8; }
       leaf low { type uint8; default 3; must ". < ../high"; } leaf high { type uint8; default 10; } }`,
    [
      [undefined, 'c { }'],
      [undefined, 'c { a 1; b 2; }'],
      ['line 1: c: a needs b', 'c { a 1; }'],
      ['c/low: must satisfy . < ../high', 'c { low 12; }'],
      ['c/low: must satisfy . < ../high', 'c { high 3; }'],
      [undefined, 'c { low 12; high 13; }'],
    ],
  ],
  [
    'when',
    `container c { leaf kind { type enumeration { enum x; enum y; } default x; }
       leaf only-x { when "../kind = 'x'"; type string; default d; }
       container only-y { when "../kind = 'y'"; leaf z { type string; mandatory true; } }
       leaf sees { type string; must "../only-x"; } }
     augment /m:c { when "kind = 'y'"; leaf added { type string; } }`,
    [
      [undefined, 'c { only-x a; }'],
      ["c/only-x: may stand here only when ../kind = 'x'", 'c { kind y; only-x a; }'],
      ["c/added: may stand here only when kind = 'y'", 'c { added a; }'],
      [undefined, 'c { kind y; only-y { z 1; } added a; }'],
      ['c/only-y/z is mandatory and missing', 'c { kind y; }'],
      [undefined, 'c { kind x; }'],
      [undefined, 'c { sees s; }'],
    ],
  ],
  [
    'leafref',
    `container c { list item { key name; leaf name { type string; } leaf size { type uint8; } leaf kind { type string; } }
       leaf abs { type leafref { path "/m:c/m:item/m:name"; } }
       leaf-list rel { type leafref { path "../item/name"; } }
       leaf free { type leafref { path "../item/size"; require-instance false; } }
       leaf kind { type leafref { path "../item[name = current()/../abs]/kind"; } }
       leaf big { type boolean; must "deref(../abs)/../size > 9"; } }`,
    [
      [undefined, 'c { item a { size 10; } abs a; rel [ a a ]; free 99; big true; }'],
      ['c/abs: "b" is not a value of /c/item/name', 'c { item a { } abs b; }'],
      ['c/rel: "q" is not a value of ../item/name', 'c { item a { } rel [ a q ]; }'],
      ['"x" is not a number', 'c { free x; }'],
      ['c/big: must satisfy', 'c { item a { size 9; } abs a; big true; }'],
      [undefined, 'c { item a { kind p; } item b { kind q; } abs a; kind p; }'],
      ['c/kind: "q" is not a value', 'c { item a { kind p; } item b { kind q; } abs a; kind q; }'],
    ],
  ],
  [
    'paths, predicates and functions',
    `identity animal; identity dog { base animal; } identity puppy { base dog; } identity cat { base animal; }
     container c { list l { key k; leaf k { type uint8; } leaf v { type string; } leaf kind { type identityref { base animal; } } }
       leaf bits { type bits { bit p; bit q; } } leaf level { type enumeration { enum low { value 5; } enum high { value 50; } } }
       leaf e1 { type empty; must "count(../l) = 2"; } leaf e2 { type empty; must "../l[2]/v = 'two'"; }
       leaf e3 { type empty; must "../l[k > 1 and starts-with(v, 't')]"; } leaf e4 { type empty; must "sum(../l/k) div 2 = 1.5"; }
       leaf e5 { type empty; must "derived-from(../l/kind, 'm:dog')"; } leaf e6 { type empty; must "derived-from-or-self(../l/kind, 'm:cat')"; }
       leaf e7 { type empty; must "bit-is-set(../bits, 'q')"; } leaf e8 { type empty; must "enum-value(../level) >= 50"; }
       leaf e9 { type empty; must "re-match(../l[1]/v, '[a-z]{3}')"; } leaf e10 { type empty; must "//v | /m:c/m:bits"; }
       leaf e11 { type empty; must "string-length(concat(../l[last()]/v, 'x')) = 4 and contains('abc', substring('xbx', 2, 1))"; }
       leaf e12 { type empty; must "../l/kind = 'm:puppy'"; } leaf e13 { type empty; must "-1 + 2 * 3 mod 4 = 1 and true() != false()"; }
       leaf e14 { type empty; must "translate(normalize-space('  a  b '), 'ab', 'BA') = 'B A'"; }
       leaf e15 { type empty; must "ancestor::c/l and not(preceding-sibling::nope)"; } leaf e16 { type empty; must "count(../*[self::l]) = 2"; } }`,
    Array.from({ length: 16 }, (_, index): Row => {
      const name = `e${index + 1}`;
      return [
        undefined,
        `c { l 1 { v one; } l 2 { v two; kind m:puppy; } l { } bits "q p"; level high; ${name}; }`.replace('l { } ', ''),
      ];
    }).map(
      ([says, config], index): Row =>
        index === 5 ? ["c/e6: must satisfy derived-from-or-self(../l/kind, 'm:cat')", config] : [says, config],
    ),
  ],
  [
    'choices',
    `container c { choice how { mandatory true; case one { leaf a { type string; } choice inner { leaf p { type string; } leaf q { type string; } } }
        case two { leaf b { type string; } } }
       choice def { default x; leaf x { type uint8; default 7; } leaf y { type uint8; default 8; } } leaf is { type uint8; must ". = ../x"; } }`,
    [
      ['c: one of one, two is mandatory', 'c { }'],
      [undefined, 'c { a 1; p 2; }'],
      ['p and q exclude each other', 'c { p 1; q 2; }'],
      ['p and b exclude each other', 'c { p 1; b 2; }'],
      [undefined, 'c { b 2; is 7; }'],
      ['c/is: must satisfy . = ../x', 'c { b 2; y 1; is 7; }'],
    ],
  ],
  [
    'types',
    `container c { leaf d { type decimal64 { fraction-digits 2; range "1.5..2.5"; } } leaf i { type int64; } leaf u { type uint64; }
       leaf bin { type binary { length 2; } } leaf bits { type bits { bit a; bit b; } } leaf un { type union { type uint8; type enumeration { enum auto; } } }
       leaf s { type string { length "1..2"; } } leaf-list unique-list { type string; max-elements 2; } }`,
    [
      [undefined, 'c { d 2.25; i -9223372036854775808; u 18446744073709551615; bin AAE=; bits "b a"; un auto; s "\u{1F600}x"; }'],
      ['c/d: "2.255" is not a number with at most 2 decimals', 'c { d 2.255; }'],
      ['c/d: 2.51 is out of range (1.5..2.5)', 'c { d 2.51; }'],
      ['c/i: 9223372036854775808 is out of range', 'c { i 9223372036854775808; }'],
      ['c/u: 18446744073709551616 is out of range', 'c { u 18446744073709551616; }'],
      ['c/bin: "AAAA" has 3 octets, not 2', 'c { bin AAAA; }'],
      ['c/bits: "a a" names a bit twice', 'c { bits "a a"; }'],
      ['c/un: "256" is not', 'c { un 256; }'],
      ['c/s: "abc" has 3 characters, not 1..2', 'c { s abc; }'],
      ['takes at most 2 entries, found 3', 'c { unique-list [ a b c ]; }'],
    ],
  ],
  [
    'unique and state',
    `container c { list l { key k; unique "in/a b"; leaf k { type string; } container in { leaf a { type string; } } leaf b { type string; } }
       leaf up { config false; type boolean; } }`,
    [
      [undefined, 'c { l 1 { in { a x; } b y; } l 2 { in { a x; } b z; } l 3 { b y; } }'],
      ['1 and 2 have the same in/a b: x y', 'c { l 1 { in { a x; } b y; } l 2 { in { a x; } b y; } }'],
      ['up is state of the system: it cannot be configured', 'c { up true; }'],
    ],
  ],
];

for (const [name, body, rows] of groups) {
  const schema = schemaOf(body);
  for (const [says, config] of rows) {
    test(`${name}: ${config}: ${says ?? 'right'}`, () => {
      const { stdout } = validateReport(config, 't', { schema });
      if (says === undefined) assert.equal(stdout, 'configuration valid: t\n');
      else assert.ok(stdout.includes(says), stdout);
    });
  }
}

const PEER = (name: string, more = ''): string =>
  `peer ${name} { connection { local { ip 10.0.0.1; } remote { ip 10.0.0.${name.length}; } } session { asn { remote 2; } } ${more} }`;
const BGP = (inner: string): string => `bgp { router-id 1.1.1.1; session { asn { local 1; } } ${inner} }`;

const augmented = schemaOf(`
  augment /b:bgp/b:peer { container guard { leaf limit { type uint8; must ". >= ../floor"; } leaf floor { type uint8; default 2; } leaf who { type leafref { path "/b:bgp/b:peer/b:name"; } } } }
  augment /b:bgp/b:peer/b:timer { leaf slow { type boolean; mandatory true; } }
  augment /b:bgp/b:peer/m:guard { choice way { leaf left { type string; } leaf right { type string; } } }`);

test('an augment of a peer reaches peers of groups, the group and the bgp block, and is inherited', () => {
  const text = BGP(
    `guard { limit 9; floor 3; left l; } group g { guard { limit 8; right r; } ${PEER('aa')} ${PEER('bbb', 'guard { limit 7; }')} } ${PEER('c')}`,
  );
  const result = loadConfig(text, { path: 't', schema: augmented });
  assert.ok(result.ok, JSON.stringify(result));
  const peers = (result.config.section('bgp/peer') as { bgp: { peer: Record<string, { guard: unknown }> } }).bgp.peer;
  assert.deepEqual(Object.fromEntries(Object.entries(peers).map(([name, peer]) => [name, peer.guard])), {
    c: { limit: 9, floor: 3, left: 'l' },
    aa: { limit: 8, floor: 3, right: 'r' },
    bbb: { limit: 7, floor: 3, right: 'r' },
  });
});

const inherited: readonly Row[] = [
  [undefined, BGP(`group g { guard { limit 1; } ${PEER('aa', 'guard { floor 1; }')} }`)],
  ['bgp/peer/aa/guard/limit: must satisfy . >= ../floor', BGP(`group g { guard { limit 1; } ${PEER('aa')} }`)],
  [undefined, BGP(`group g { guard { limit 1; } }`)],
  [undefined, BGP(`group g { ${PEER('aa', 'guard { who bbb; }')} } ${PEER('bbb')}`)],
  ['"nobody" is not a value of /bgp/peer/name', BGP(PEER('aa', 'guard { who nobody; }'))],
  ['bgp/peer/aa/timer/slow is mandatory and missing', BGP(PEER('aa', 'timer { connect-retry 1; }'))],
  [undefined, BGP(`group g { timer { slow true; } ${PEER('aa', 'timer { connect-retry 1; }')} }`)],
  [undefined, BGP(`group g { timer { connect-retry 1; } }`)],
];
for (const [says, config] of inherited) {
  test(`inherited: ${config}: ${says ?? 'right'}`, () => {
    const { stdout } = validateReport(config, 't', { schema: augmented });
    if (says === undefined) assert.equal(stdout, 'configuration valid: t\n');
    else assert.ok(stdout.includes(says), stdout);
  });
}

test('a fault that many peers inherit is said once', () => {
  const peers = Array.from({ length: 20 }, (_, index) => PEER('p'.repeat(index + 1))).join(' ');
  const result = loadConfig(BGP(`group g { guard { limit 1; } ${peers} }`), { path: 't', schema: augmented });
  assert.ok(!result.ok);
  assert.equal(result.faults.length, 1);
});

test('a module may deviate what plugins have added, not what is shipped', () => {
  const tree = schemaOf('container c { leaf a { type string; } }');
  const deviating = (target: string): string =>
    `module d { namespace "urn:d"; prefix d; import m { prefix m; } import ze-bgp-conf { prefix b; } deviation ${target} { deviate not-supported; } }`;
  assert.ok(tree.augment(deviating('/m:c/m:a')));
  assert.throws(() => tree.augment(deviating('/b:bgp/b:router-id')), /only what plugins have added can be deviated/);
});

test('conditions that walk for ever are given up, and say so', () => {
  const schema = schemaOf('container c { list l { key k; leaf k { type uint32; } must "count(//*[//*]) > 0"; } }');
  const entries = Array.from({ length: 300 }, (_, index) => `l ${index} { }`).join(' ');
  const { stdout } = validateReport(`c { ${entries} }`, 't', { schema });
  assert.match(stdout, /look at more than \d+ nodes: they cannot be checked/);
});
