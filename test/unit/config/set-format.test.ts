// Set lines: what they mean, where their faults are, and which format a text has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Findings } from '../../../engine/config/fault.ts';
import { configSchema, loadConfig } from '../../../engine/config/load.ts';
import { formatOf, readSyntax, writeSyntax } from '../../../engine/config/set-format/index.ts';
import { makeValidators } from '../../../engine/config/rules/validators.ts';

const { root } = configSchema();

function read(text: string): { set: string; faults: readonly string[] } {
  const findings = new Findings();
  const tree = readSyntax(text, 't', root, makeValidators(), findings);
  const faults = findings.faults.map(({ line, column, message, hint }) =>
    [`${line}:${column}`, message, hint].filter((one) => one !== undefined).join(' '),
  );
  return { set: writeSyntax(tree, 'set'), faults };
}

const SAME: readonly (readonly [what: string, written: string, printed: string])[] = [
  [
    'a leaf is assigned, the last one counts',
    'set bgp router-id 1.1.1.1\nset bgp router-id 2.2.2.2',
    'set bgp router-id 2.2.2.2\n',
  ],
  ['a value with blanks is quoted', 'set bgp peer a description "x y"', 'set bgp peer a description "x y"\n'],
  ['a structural path stands alone', 'set bgp peer edge', 'set bgp peer edge\n'],
  ['delete takes away', 'set bgp peer a\nset bgp peer b\ndelete bgp peer a', 'set bgp peer b\n'],
  ['delete of a list name takes all', 'set bgp peer a\nset bgp peer b\nset bgp group g\ndelete bgp peer', 'set bgp group g\n'],
  ['one member is added, brackets assign', 'set bgp filter import a\nset bgp filter import b', 'set bgp filter import [ a b ]\n'],
  ['brackets assign the whole', 'set bgp filter import [ a b ]\nset bgp filter import [ c ]', 'set bgp filter import c\n'],
  ['a member is deleted', 'set bgp filter import [ a b ]\ndelete bgp filter import a', 'set bgp filter import b\n'],
  [
    'a member is switched off',
    'set bgp filter import [ a b ]\ninactive bgp filter import a',
    'set bgp filter import [ inactive:a b ]\n',
  ],
  ['inactive marks', 'set bgp peer a\ninactive bgp peer a', 'set bgp peer a\ninactive bgp peer a\n'],
  ['a mark before what it marks', 'inactive bgp peer a\nset bgp peer a', 'set bgp peer a\ninactive bgp peer a\n'],
  [
    'deactivate is inactive, activate takes it back',
    'set bgp peer a\ndeactivate bgp peer a\nactivate bgp peer a',
    'set bgp peer a\n',
  ],
  [
    'what is inactive is edited by its name',
    'set bgp peer a\ninactive bgp peer a\nset bgp peer a description x',
    'set bgp peer a description x\ninactive bgp peer a\n',
  ],
  [
    'short forms read',
    'set bgp peer a session family ipv4/unicast require',
    'set bgp peer a session family ipv4/unicast mode require\n',
  ],
  [
    'a word for a capability',
    'set bgp peer a session capability route-refresh require',
    'set bgp peer a session capability route-refresh mode require\n',
  ],
  [
    'routes come line by line',
    'set bgp update nlri ipv4/unicast add 10.0.0.0/8\nset bgp update nlri ipv4/unicast eor',
    'set bgp update nlri ipv4/unicast add 10.0.0.0/8\nset bgp update nlri ipv4/unicast eor\n',
  ],
  [
    'blocks without a name are counted',
    'set bgp update attribute med 1\nset bgp update(2) attribute med 2',
    'set bgp update attribute med 1\nset bgp update(2) attribute med 2\n',
  ],
  [
    'metadata is read and left',
    '#bob @cli %2026-05-01T00:00:00Z ^"1.1.1.1" set bgp router-id 2.2.2.2',
    'set bgp router-id 2.2.2.2\n',
  ],
  [
    'comments and empty lines stay',
    '# top\nset bgp router-id 1.1.1.1 # why\n\n# edge\nset bgp peer a\n# end',
    '# top\nset bgp router-id 1.1.1.1 # why\n\n# edge\nset bgp peer a\n# end\n',
  ],
];

for (const [what, written, printed] of SAME) {
  test(what, () => {
    assert.deepEqual(read(written), { set: printed, faults: [] });
  });
}

const WRONG: readonly (readonly [text: string, fault: string])[] = [
  ['set bgp router-id 1.1.1.1\nsett bgp x', '2:1 a line begins with set, delete or inactive, not "sett" did you mean "set"?'],
  ['set bgp pear edge', '1:9 unknown field in bgp: pear did you mean "peer"?'],
  ['set bgpp', '1:5 unknown top-level keyword: bgpp did you mean "bgp"?'],
  ['set bgp peer', '1:13 peer needs a name, found the end of the line'],
  ['set bgp router-id', '1:18 router-id needs a value, found the end of the line'],
  ['set bgp router-id 1.1.1.1 2.2.2.2', '1:27 expected ";", found "2.2.2.2"'],
  ['set bgp router-id x', '1:19 bgp/router-id: "x" is not an IPv4 address other than 0.0.0.0'],
  ['set bgp peer a { description x }', '1:16 expected the name of a field, found "{"'],
  ['set bgp peer a\ndelete bgp peer b', '2:12 peer b is not there there is: a'],
  ['inactive bgp peer a', '1:10 bgp is not there'],
  [
    'set bgp peer a session add-path ipv4/unicast send\ninactive bgp peer a session add-path ipv4/unicast',
    '2:1 a line of add-path cannot be inactive: deactivate the block around it, or delete the line',
  ],
  ['set bgp peer a\ninactive bgp peer b', '2:14 peer b is not there there is: a'],
  ['delete bgp router-id', '1:8 bgp is not there'],
  ['set bgp update(3) attribute med 1', '1:9 there are 0 of update default, not 2 before it'],
  ['set', '1:1 a path is needed'],
  ['set bgp peer a description "x', '1:28 unterminated string'],
  [`set bgp ${'x'.repeat(100_000)}`, '1:9 a word of 100000 characters (max 65536)'],
];

for (const [text, fault] of WRONG) {
  test(`fault: ${fault.slice(0, 70)}`, () => {
    assert.equal(read(text).faults[0], fault);
  });
}

const FORMATS: readonly (readonly [text: string, format: string])[] = [
  ['', 'set'],
  ['# nothing\n\n', 'set'],
  ['set bgp router-id 1.1.1.1', 'set'],
  ['\n# x\n  delete bgp', 'set'],
  ['inactive bgp peer x', 'set'],
  ['#bob @cli %2026-05-01T00:00:00Z set bgp peer x', 'set-metadata'],
  ['#bob was here\nbgp { }', 'hierarchical'],
  ['bgp {\n  policy { modify m {\nset { med 1; }\n } }\n}', 'hierarchical'],
  ['bgp { peer a { description "\nset bgp peer x\n"; } }', 'hierarchical'],
  ['inactive: bgp { }', 'hierarchical'],
  ['sett bgp x\nset bgp peer y', 'set'],
  ['\uFEFFset bgp peer x', 'set'],
];

for (const [text, format] of FORMATS) {
  test(`${JSON.stringify(text)} is ${format}`, () => {
    assert.equal(formatOf(text, root), format);
  });
}

test('a daemon reads either', () => {
  const set = loadConfig('set bgp router-id 1.1.1.1\nset bgp session asn local 65000\n', { path: 't' });
  assert.ok(set.ok && set.config.reactor.localAs === 65000);
});
