// Stage 1 as a table: one row a rule of plugin-rpc-types §2, with its text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import { Registry } from '../../../engine/host/registry/registration.ts';
import { FakeCommands } from './support.ts';

const anything = { respawn: undefined, available: () => true };
const check = { name: 'disk', phase: 'pre-config', codes: ['doctor-disk'] } as const;
const rows = (count: number, make: (i: number) => object): object[] => Array.from({ length: count }, (_, i) => make(i));

const cases: readonly (readonly [string, object, string | undefined])[] = [
  ['nothing declared', {}, undefined],
  ['a budget below zero', { 'verify-budget': -1 }, 'invalid registration: verify-budget -1 is not a number of seconds'],
  [
    'a filter without a direction',
    { filters: [{ name: 'f', direction: '' }] },
    'invalid registration: filter "f": direction "" is not import, export or both',
  ],
  ['16 doctor checks', { 'doctor-checks': rows(16, (i) => ({ ...check, name: `c${i}` })) }, undefined],
  [
    '17 doctor checks',
    { 'doctor-checks': rows(17, (i) => ({ ...check, name: `c${i}` })) },
    'invalid doctor check: too many doctor checks: 17 (max 16)',
  ],
  [
    'a doctor check without a name',
    { 'doctor-checks': [{ ...check, name: '' }] },
    'invalid doctor check: invalid doctor check name "" (must be 1-128 chars)',
  ],
  [
    'a doctor check in capitals',
    { 'doctor-checks': [{ ...check, name: 'Disk' }] },
    'invalid doctor check: invalid doctor check name "Disk" (must be kebab-case)',
  ],
  ['a doctor check twice', { 'doctor-checks': [check, check] }, 'invalid doctor check: duplicate doctor check name "disk"'],
  [
    'a doctor check of another phase',
    { 'doctor-checks': [{ ...check, phase: 'now' }] },
    'invalid doctor check: invalid doctor check phase "now" for "disk"',
  ],
  [
    'a doctor check of order 10000',
    { 'doctor-checks': [{ ...check, order: 10_000 }] },
    'invalid doctor check: invalid doctor check order 10000 for "disk" (must be 0-9999)',
  ],
  [
    'a doctor check without codes',
    { 'doctor-checks': [{ ...check, codes: [] }] },
    'invalid doctor check: invalid doctor check codes count 0 for "disk" (must be 1-16)',
  ],
  [
    'a doctor code of another prefix',
    { 'doctor-checks': [{ ...check, codes: ['disk'] }] },
    'invalid doctor check: invalid doctor check code "disk" for "disk" (must start with "doctor-")',
  ],
  [
    'an enricher without a command',
    { enrichers: [{ command: ' ', key: 'k' }] },
    'invalid enricher: enricher "k" names no command',
  ],
  [
    'an enricher twice',
    { enrichers: rows(2, () => ({ command: 'show x', key: 'k' })) },
    'invalid enricher: duplicate enricher "k" on "show x"',
  ],
  [
    '17 enrichers',
    { enrichers: rows(17, (i) => ({ command: 'show x', key: `k${i}` })) },
    'invalid enricher: too many enrichers: 17 (max 16)',
  ],
  [
    'a pipe on a command of someone else',
    { pipes: [{ command: 'y', name: 'p', expansion: 'count' }] },
    'invalid pipe alias: pipe alias "p" sits on "y", a command this plugin does not declare',
  ],
  [
    'a pipe on an own command, other case and blanks',
    { commands: [{ name: 'x y' }], pipes: [{ command: 'X  y', name: 'p', expansion: 'count' }] },
    undefined,
  ],
  [
    'a pipe that expands to nothing',
    { commands: [{ name: 'x' }], pipes: [{ command: 'x', name: 'p', expansion: ' ' }] },
    'invalid pipe alias: pipe alias "p" on "x" expands to nothing',
  ],
  [
    'a pipe without a command',
    { commands: [{ name: 'x' }], pipes: [{ command: ' ', name: 'p', expansion: 'count' }] },
    'invalid pipe alias: pipe alias "p" declares no command path',
  ],
  [
    'a pipe with a name of 65 characters',
    { commands: [{ name: 'x' }], pipes: [{ command: 'x', name: 'p'.repeat(65), expansion: 'count' }] },
    `invalid pipe alias: invalid pipe alias name "${'p'.repeat(64)}…" (must be 1-64 chars)`,
  ],
  [
    'a pipe in capitals',
    { commands: [{ name: 'x' }], pipes: [{ command: 'x', name: 'Short', expansion: 'count' }] },
    'invalid pipe alias: invalid pipe alias name "Short" (must be kebab-case)',
  ],
  [
    'a line feed in the description of a pipe',
    { commands: [{ name: 'x' }], pipes: [{ command: 'x', name: 'p', expansion: 'count', description: 'a\nb' }] },
    'invalid pipe alias: pipe alias "p" declares an invalid description: control character 0x0a at byte 1',
  ],
  [
    'a shape on a command without a name',
    { commands: [{ name: '', shape: 'doc' }] },
    'invalid answer shape: me: an answer shape is declared on a command without a name',
  ],
  [
    'a blank column',
    { commands: [{ name: 'x', shape: 'tab', columns: [' '] }] },
    'invalid answer shape: me: command "x" declares a blank answer field',
  ],
  [
    'a column of 65 bytes',
    { commands: [{ name: 'x', shape: 'tab', columns: ['c'.repeat(65)] }] },
    `invalid answer shape: me: command "x" declares answer field "${'c'.repeat(64)}…": 65 bytes (max 64)`,
  ],
  [
    '17 address fields',
    { commands: [{ name: 'x', shape: 'map', 'address-fields': rows(17, () => ({})).map((_, i) => `a${i}`) }] },
    'invalid answer shape: me: command "x" declares 17 address fields (max 16)',
  ],
  [
    '33 pipes',
    { commands: [{ name: 'x' }], pipes: rows(33, (i) => ({ command: 'x', name: `p${i}`, expansion: 'count' })) },
    'invalid pipe alias: too many pipe aliases: 33 (max 32)',
  ],
  [
    'a pipe whose expansion does not parse',
    { commands: [{ name: 'x' }], pipes: [{ command: 'x', name: 'p', expansion: 'bad thing' }] },
    'pipe alias refused: "bad thing" does not parse',
  ],
  [
    'an unknown shape',
    { commands: [{ name: 'x', shape: 'tree' }] },
    'invalid answer shape: me: command "x" declares answer shape "tree", which is not doc, map or tab',
  ],
  [
    'columns without a shape',
    { commands: [{ name: 'x', columns: ['a'] }] },
    'invalid answer shape: me: command "x" declares answer fields but no answer shape',
  ],
  [
    '65 columns',
    { commands: [{ name: 'x', shape: 'tab', columns: rows(65, () => ({})).map((_, i) => `c${i}`) }] },
    'invalid answer shape: me: command "x" declares 65 columns (max 64)',
  ],
  ['a summary of 256 bytes', { commands: [{ name: 'x', 'short-help': 'é'.repeat(128) }] }, undefined],
  [
    'a summary of 257 bytes',
    { commands: [{ name: 'x', 'short-help': 'a'.repeat(257) }] },
    'invalid help text: me: command "x" short-help: 257 bytes (max 256)',
  ],
  [
    'a line feed in a summary',
    { commands: [{ name: 'x', 'short-help': 'a\nb' }] },
    'invalid help text: me: command "x" short-help: control character 0x0a at byte 1',
  ],
  ['a line feed in a description', { commands: [{ name: 'x', description: 'a\nb' }] }, undefined],
  [
    'an escape in a description',
    { commands: [{ name: 'x', description: 'é\u001b[31m' }] },
    'invalid help text: me: command "x" description: control character 0x1b at byte 2',
  ],
  [
    'a long value is clamped to 64 characters',
    { commands: [{ name: 'x', shape: 'y'.repeat(100) }] },
    `invalid answer shape: me: command "x" declares answer shape "${'y'.repeat(64)}…", which is not doc, map or tab`,
  ],
  [
    'a command name with a slash',
    { commands: [{ name: 'x/y' }] },
    'registration conflict: invalid command name "x/y" (letters, digits, spaces and hyphens)',
  ],
  [
    'a command twice',
    { commands: [{ name: 'x' }, { name: 'X' }] },
    'registration conflict: command conflict: "X" already registered by me',
  ],
  ['a family without a name', { families: [{ name: '' }] }, 'family registration conflict: family declaration missing name'],
  [
    'a family without a slash',
    { families: [{ name: 'ipv4' }] },
    'family registration conflict: invalid family name "ipv4" (expected afi/safi)',
  ],
  [
    'an unknown family without numbers',
    { families: [{ name: 'foo/bar' }] },
    'family registration conflict: family "foo/bar": plugin sent AFI=0 SAFI=0 and family is not pre-registered',
  ],
  ['an unknown family with numbers', { families: [{ name: 'foo/bar', mode: 'both', afi: 16_500, safi: 200 }] }, undefined],
  ['a known family with its numbers', { families: [{ name: 'ipv4/flow', mode: 'both', afi: 1, safi: 133 }] }, undefined],
  ['a family of the engine', { families: [{ name: 'ipv4/unicast', mode: 'both' }] }, undefined],
  [
    'a SAFI out of range',
    { families: [{ name: 'foo/bar', afi: 16_500, safi: 256 }] },
    'family registration conflict: family "foo/bar": AFI 16500 SAFI 256 out of range',
  ],
];

for (const [what, declaration, expected] of cases) {
  test(`${what}: ${expected?.slice(0, 90) ?? 'accepted'}`, () => {
    const registry = new Registry(new FakeCommands(), new CodecRegistry());
    const refusal = registry.register('me', declaration, anything);
    assert.equal(refusal?.message, expected);
    assert.equal(registry.of('me') === undefined, expected !== undefined);
  });
}

test('a refusal at the end undoes what was registered before it', () => {
  const codecs = new CodecRegistry();
  const registry = new Registry(new FakeCommands(), codecs);
  const command = { commands: [{ name: 'x' }] };
  const refused = registry.register(
    'a',
    { ...command, families: [{ name: 'l2vpn/evpn', mode: 'both' }, { name: 'foo/bar' }] },
    anything,
  );
  assert.match(refused?.message ?? '', /not pre-registered/);
  assert.equal(registry.register('b', { ...command, families: [{ name: 'l2vpn/evpn', mode: 'both' }] }, anything), undefined);
  assert.equal(registry.decoderOf('L2VPN/EVPN'.toLowerCase()), 'b');
  const second = registry.register('c', { families: [{ name: 'l2vpn/evpn', mode: 'decode' }] }, anything);
  assert.equal(second?.message, 'registration conflict: family conflict: l2vpn/evpn already registered by b');
  registry.release('b');
  assert.equal(registry.register('c', { ...command, families: [{ name: 'l2vpn/evpn', mode: 'decode' }] }, anything), undefined);
  assert.deepEqual(
    registry.decodedFamilies().map((entry) => [entry.name, entry.decoder]),
    [['l2vpn/evpn', 'c']],
  );
});

test('capabilities conflict by code, and by code and peer; releasing frees them', () => {
  const registry = new Registry(new FakeCommands(), new CodecRegistry());
  for (const name of ['a', 'b']) registry.register(name, {}, anything);
  const declare = (plugin: string, code: number, ...peers: string[]) =>
    registry.declareCapabilities(plugin, [{ code, encoding: 'b64', payload: 'AHg=', peers }]);
  assert.equal(declare('a', 64), undefined);
  assert.equal(declare('b', 64), 'capability conflict: capability conflict: code 64 already registered by a');
  assert.equal(declare('b', 64, '192.0.2.1'), undefined, 'an entry for a peer beats the global one');
  assert.equal(
    declare('a', 64, '192.0.2.1'),
    'capability conflict: capability conflict: code 64 for peer 192.0.2.1 already registered by b',
  );
  assert.match(declare('a', 1) ?? '', /code 1 \(Multiprotocol\)/);
  assert.match(declare('a', 300) ?? '', /out of range/);
  registry.release('a');
  assert.equal(declare('b', 64), undefined);
});

test('respawn true demands the policy restart', () => {
  const registry = new Registry(new FakeCommands(), new CodecRegistry());
  const terms = { respawn: true, available: () => true };
  assert.equal(registry.register('a', { 'failure-policy': 'fatal' }, terms)?.code, 'plugin-respawn');
  assert.equal(registry.register('a', {}, terms)?.code, 'plugin-respawn');
  assert.equal(registry.register('a', { 'failure-policy': 'restart' }, terms), undefined);
});
