// Statement forms by schema node: two texts that mean the same read as the same tree; places of faults; hostile texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigFault, Findings } from '../../../engine/config/fault.ts';
import { configSchema, loadConfig } from '../../../engine/config/load.ts';
import { parseConfig } from '../../../engine/config/text/parser.ts';
import { printConfig } from '../../../engine/config/text/print.ts';
import { shapeOf } from '../../../engine/config/text/syntax-tree.ts';
import { makeValidators } from '../../../engine/config/rules/validators.ts';

const { root } = configSchema();

function parse(text: string): { shape: unknown; printed: string; faults: readonly ConfigFault[] } {
  const findings = new Findings();
  const tree = parseConfig(text, 't', root, makeValidators(), findings);
  return { shape: shapeOf(tree), printed: printConfig(tree), faults: findings.sorted() };
}

const same: readonly (readonly [name: string, one: string, other: string])[] = [
  ['a line end is a semicolon', 'bgp {\nrouter-id 1.2.3.4\n}', 'bgp { router-id 1.2.3.4; }'],
  ['a brace on the next line', 'bgp\n{\nrouter-id 1.2.3.4\n}', 'bgp { router-id 1.2.3.4; }'],
  ['short form of a container', 'bgp session asn local 65000', 'bgp { session { asn { local 65000; } } }'],
  [
    'a repeated block joins the first',
    'bgp { router-id 1.2.3.4; }\nbgp { multipath { } }',
    'bgp { router-id 1.2.3.4; multipath { } }',
  ],
  [
    'boolean words',
    'bgp { behavior { manual-eor enable; group-updates disable; } }',
    'bgp { behavior { manual-eor true; group-updates false; } }',
  ],
  ['capability words', 'bgp session capability asn4 false', 'bgp session capability asn4 disable'],
  ['a list of one', 'bgp session community send [ all ]', 'bgp session community send all'],
  ['a list over lines', 'bgp session community send [\n standard\n large\n]', 'bgp session community send standard large'],
  [
    'a repeated leaf-list goes on',
    'bgp session community send large\nbgp session community send all',
    'bgp session community send large all',
  ],
  ['presence, bare and empty', 'bgp session capability extended-message', 'bgp session capability extended-message { }'],
  [
    'presence with a word',
    'bgp session capability extended-message require',
    'bgp session capability extended-message { mode require; }',
  ],
  [
    'ADD-PATH as a word',
    'bgp session capability add-path send',
    'bgp { session { capability { add-path { direction send; } } } }',
  ],
  [
    'a grouped list',
    'bgp session family { ipv4/unicast { mode require; } }',
    'bgp session family ipv4/unicast { mode require; }',
  ],
  ['a positional list', 'bgp session family { ipv4/unicast require; }', 'bgp session family ipv4/unicast { mode require; }'],
  [
    'positions, then a block',
    'bgp session family ipv4/unicast require { prefix { maximum 1; } }',
    'bgp session family ipv4/unicast { mode require; prefix maximum 1; }',
  ],
  [
    'ADD-PATH of a family',
    'bgp session add-path { ipv4/unicast send require; }',
    'bgp session add-path ipv4/unicast { direction send; mode require; }',
  ],
  [
    'nexthop has two keys',
    'bgp session capability nexthop { ipv4/unicast ipv6; }',
    'bgp session capability nexthop ipv4/unicast ipv6',
  ],
  ['a leaf in an entry', 'bgp peer a description x', 'bgp { peer a { description x; } }'],
  ['quotes of both kinds', `bgp description 'a "b"'`, 'bgp description "a \\"b\\""'],
  ['an escape before anything else is dropped', 'bgp description "\\d\\n\\t\\\\"', 'bgp description "d\n\t\\\\"'],
  ['freeform', 'interface eth0 { mtu 1500; }', 'interface { eth0 { mtu 1500; } }'],
  ['a mark on its own and with the name', 'inactive: bgp { }', 'inactive:bgp { }'],
];

for (const [name, one, other] of same) {
  test(name, () => {
    const first = parse(one);
    const second = parse(other);
    assert.deepEqual(first.faults, []);
    assert.deepEqual(second.faults, []);
    assert.deepEqual(first.shape, second.shape);
  });
}

const faults: readonly (readonly [name: string, text: string, line: number, column: number, fragment: string])[] = [
  ['no semicolon before a brace on the line', 'bgp { router-id 1.2.3.4 }', 1, 25, 'expected ";"'],
  ['an unterminated string starts where it is said to', 'bgp {\n  description "abc\n}\n', 2, 15, 'unterminated string'],
  ['a brace too many', 'bgp { }\n}', 2, 1, 'closes nothing'],
  ['a brace too few', 'bgp {\n peer a {\n', 2, 2, 'peer is not closed'],
  ['a leaf without a value', 'bgp { router-id; }', 1, 16, 'router-id needs a value'],
  ['a leaf with two values', 'bgp { router-id 1.2.3.4 5; }', 1, 25, 'expected ";"'],
  ['a leaf with a block', 'bgp { router-id { x; } }', 1, 17, 'needs a value, found "{"'],
  ['a bracket that is not closed', 'bgp { session community send [ all ; }', 1, 36, 'is missing'],
  ['a list without a key', 'bgp { peer { foo bar; } }', 1, 7, 'unknown field in peer: foo'],
  ['a key that is missing', 'bgp { peer ; }', 1, 12, 'peer needs a name'],
  ['a container without a block', 'bgp;', 1, 4, 'bgp needs a block'],
  ['a keyword in quotes', '"bgp" { }', 1, 1, 'expected a keyword'],
  ['too many positions', 'bgp session add-path ipv4/unicast send enable more', 1, 47, 'expected the end of the statement'],
  ['nesting past the limit', `sysctl ${'{ a '.repeat(100)}`, 1, 262, 'nested deeper than 64 levels'],
  ['one line of a million letters', `bgp { description ${'x'.repeat(1_000_000)}; }`, 1, 19, 'a word of 1000000 characters'],
  ['a string of a million letters', `bgp { description "${'x'.repeat(1_000_000)}"; }`, 1, 19, 'a string of 1000000 characters'],
];

for (const [name, text, line, column, fragment] of faults) {
  test(`fault: ${name}`, () => {
    const found = parse(text).faults.find((fault) => fault.message.includes(fragment));
    assert.ok(found, JSON.stringify(parse(text).faults.slice(0, 3)));
    assert.deepEqual([found.line, found.column], [line, column]);
  });
}

test('reading goes on behind a fault', () => {
  const { faults: found } = parse('bgp {\n a { b { c; } }\n router-id x\n peer p { d 1; description y; }\n}\nzzz 1;\n');
  assert.deepEqual(
    found.map((fault) => fault.line),
    [2, 3, 4, 6],
  );
});

test('a leaf stated again: the last one counts, with a warning', () => {
  const result = loadConfig('bgp { router-id 1.1.1.1; router-id 2.2.2.2; session { asn { local 1; } } }', { path: 't' });
  assert.ok(result.ok);
  assert.equal(result.config.reactor.routerId, 0x02020202);
  assert.match(result.warnings[0]?.message ?? '', /stated again/);
});

test('names of the language itself are no names of the config', () => {
  for (const name of ['constructor', '__proto__', 'toString'])
    assert.match(parse(`bgp { ${name} 1; }`).faults[0]?.message ?? '', /unknown field/);
});

test('deep nesting of known blocks, unknown blocks and brackets costs no stack', () => {
  for (const piece of ['bgp { ', 'peer a { ', 'x { ', '[ ', '( ', 'bgp session ', 'update { ']) {
    const result = loadConfig(piece.repeat(20_000), { path: 't' });
    assert.equal(result.ok, false);
  }
});

test('faults are bounded', () => {
  const { faults: found } = parse(`bgp {\n${'nope 1;\n'.repeat(5000)}}`);
  assert.equal(found.length, 101);
  assert.equal(found.at(-1)?.message, 'and 4900 more');
});
