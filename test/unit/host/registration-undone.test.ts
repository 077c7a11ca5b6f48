// A registration that is refused leaves nothing behind, at whatever step that was; and what a plugin has declared can be asked for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import { Registry, type Terms } from '../../../engine/host/registry/registration.ts';
import type { DeclareRegistrationInput } from '../../../yang/generated/methods.ts';
import { FakeCommands } from './support.ts';

const anything: Terms = { respawn: undefined, available: () => true };
const yang = (name: string, body = `container ${name} { leaf x { type string; } }`): string =>
  `module ${name} { namespace "urn:${name}"; prefix ${name}; ${body} }`;

/** As much as a plugin can declare, all of it good. */
const WHOLE: DeclareRegistrationInput = {
  families: [
    { name: 'acme/things', mode: 'both', afi: 16400, safi: 200 },
    { name: 'l2vpn/evpn', mode: 'decode' },
  ],
  commands: [{ name: 'acme show', shape: 'map', columns: ['a'] }, { name: 'acme clear' }],
  dependencies: ['other'],
  'wants-config': ['acme'],
  'config-operations': [{ root: 'acme', decompose: true, operations: ['acme-step'] }],
  'verify-budget': 2,
  'apply-budget': 3,
  schema: { module: 'acme', namespace: 'urn:acme', 'yang-text': yang('acme'), handlers: ['acme'] },
  filters: [{ name: 'f', direction: 'import' }],
  'doctor-checks': [{ name: 'disk', phase: 'pre-config', codes: ['doctor-disk'] }],
  enrichers: [{ command: 'peer detail', key: 'acme' }],
  pipes: [{ command: 'acme show', name: 'short', expansion: 'count' }],
  claims: ['role-a'],
  'failure-policy': 'restart',
};

/** Everything that registering can change. */
function snapshot(registry: Registry, codecs: CodecRegistry, commands: FakeCommands): unknown {
  return {
    plugins: registry.plugins(),
    commands: registry.commands(),
    claims: registry.claimsBut(''),
    capabilities: registry.capabilities(),
    families: codecs.list(),
    names: ['acme/things', 'foo/bar'].map((name) => codecs.number(name)),
    numbers: codecs.name((16400 << 8) | 200),
    modules: registry.schemas.modules(),
    handlers: registry.schemas.handlers('me'),
    schema: registry.schemas.tree.root.children.map((node) => node.name),
    declared: [registry.filters(), registry.doctorChecks(), registry.enrichers(), registry.configOperations()],
    budgets: registry.budgets('me'),
    active: [...commands.active],
    pipes: [...commands.pipes],
  };
}

const refusals: readonly (readonly [name: string, change: DeclareRegistrationInput, terms: Partial<Terms>, says: RegExp])[] = [
  ['failure policy', { 'failure-policy': 'never' as 'ignore' }, {}, /^invalid registration: failure-policy "never"/],
  ['budget', { 'apply-budget': 1.5 }, {}, /^invalid registration: apply-budget 1.5/],
  [
    'filter twice',
    {
      filters: [
        { name: 'f', direction: 'import' },
        { name: 'f', direction: 'export' },
      ],
    },
    {},
    /^invalid registration: filter "f" is declared twice$/,
  ],
  [
    'reserved label',
    { 'config-operations': [{ root: 'acme', operations: ['section-apply'] }] },
    {},
    /^invalid registration: config operation "section-apply" of root "acme" is reserved/,
  ],
  [
    'operation without a root',
    { 'config-operations': [{ root: '' }] },
    {},
    /^invalid registration: config operation without a root$/,
  ],
  [
    'schema',
    { schema: { module: 'acme', 'yang-text': yang('acme', 'container bgp { }') } },
    {},
    /^invalid registration: schema of plugin me: acme:1: module acme: node "bgp" exists already$/,
  ],
  ['doctor check', { 'doctor-checks': [{ name: 'A', phase: 'pre-config', codes: ['doctor-a'] }] }, {}, /^invalid doctor check: /],
  ['enricher', { enrichers: [{ command: '', key: 'k' }] }, {}, /^invalid enricher: /],
  ['pipe', { pipes: [{ command: 'else', name: 'p', expansion: 'count' }] }, {}, /^invalid pipe alias: /],
  ['shape', { commands: [{ name: 'acme show', columns: ['a'] }, { name: 'acme clear' }] }, {}, /^invalid answer shape: me: /],
  ['help', { commands: [{ name: 'acme show', 'short-help': 'a\nb' }], pipes: [] }, {}, /^invalid help text: me: /],
  ['respawn', { 'failure-policy': 'ignore' }, { respawn: true }, /so respawn true is refused/],
  ['dependency', {}, { available: () => false }, /^missing dependency: plugin "me" requires "other"$/],
  [
    'command conflict',
    { commands: [{ name: 'acme show' }, { name: 'Taken' }] },
    {},
    /^registration conflict: command conflict: "Taken" already registered by you$/,
  ],
  [
    'decode conflict',
    {
      families: [
        { name: 'acme/things', afi: 16400, safi: 200, mode: 'both' },
        { name: 'L2VPN/vpls', mode: 'decode' },
      ],
    },
    {},
    /^registration conflict: family conflict: L2VPN\/vpls already registered by you$/,
  ],
  ['pipe conflict', { pipes: [{ command: 'acme show', name: 'p', expansion: 'bad' }] }, {}, /^pipe alias refused: /],
  [
    'decode conflict stands before a pipe conflict',
    { families: [{ name: 'l2vpn/vpls', mode: 'both' }], pipes: [{ command: 'acme show', name: 'p', expansion: 'bad' }] },
    {},
    /^registration conflict: family/,
  ],
  [
    'family number taken',
    { families: [{ name: 'foo/bar', afi: 25, safi: 70 }] },
    {},
    /^family registration conflict: AFI 25 SAFI 70 is l2vpn\/evpn$/,
  ],
  [
    'family name taken',
    { families: [{ name: 'l2vpn/evpn', afi: 25, safi: 71 }] },
    {},
    /^family registration conflict: l2vpn\/evpn is AFI 25 SAFI 70$/,
  ],
  [
    'family without numbers',
    { families: [{ name: 'foo/bar' }] },
    {},
    /^family registration conflict: family "foo\/bar": plugin sent AFI=0 SAFI=0/,
  ],
];

for (const [name, change, terms, says] of refusals) {
  test(`refused for its ${name}: nothing is left, and what is good registers after it`, () => {
    const [commands, codecs] = [new FakeCommands(), new CodecRegistry()];
    const registry = new Registry(commands, codecs);
    assert.equal(
      registry.register('you', { commands: [{ name: 'taken' }], families: [{ name: 'l2vpn/vpls', mode: 'both' }] }, anything),
      undefined,
    );
    const before = snapshot(registry, codecs, commands);
    const tree = registry.schemas.tree;
    const refusal = registry.register('me', { ...WHOLE, ...change }, { ...anything, ...terms });
    assert.match(refusal?.message ?? '', says);
    assert.deepEqual(snapshot(registry, codecs, commands), before);
    assert.equal(registry.schemas.tree, tree);
    assert.equal(registry.register('me', WHOLE, anything), undefined);
  });
}

test('what is registered can be asked for, by plugin; releasing takes all of it', () => {
  const [commands, codecs] = [new FakeCommands(), new CodecRegistry()];
  const registry = new Registry(commands, codecs);
  const before = snapshot(registry, codecs, commands) as Record<string, unknown>;
  assert.equal(registry.register('me', WHOLE, anything), undefined);
  registry.activate('me');
  assert.deepEqual(registry.filters(), [{ plugin: 'me', name: 'f', direction: 'import' }]);
  assert.deepEqual(registry.doctorChecks(), [{ plugin: 'me', name: 'disk', phase: 'pre-config', codes: ['doctor-disk'] }]);
  assert.deepEqual(registry.enrichers(), [{ plugin: 'me', command: 'peer detail', key: 'acme' }]);
  assert.deepEqual(registry.configOperations(), [{ plugin: 'me', root: 'acme', decompose: true, operations: ['acme-step'] }]);
  assert.deepEqual(registry.budgets('me'), { verifySeconds: 2, applySeconds: 3 });
  assert.deepEqual(registry.schemas.handlers('me'), ['acme']);
  assert.deepEqual(
    registry.capabilities().map(({ plugin, code, value, peers }) => [plugin, code, Buffer.from(value).toString('hex'), peers]),
    [
      ['engine', 1, '00010001', []],
      ['me', 1, '401000c8', []],
      ['me', 1, '00190046', []],
    ],
    'families that plugins decode, by name, for peers that state none',
  );
  registry.release('me');
  const after = snapshot(registry, codecs, commands) as Record<string, unknown>;
  // A family's name outlives its plugin, so that what was written reads the same.
  for (const key of Object.keys(before))
    if (!['names', 'numbers', 'pipes'].includes(key)) assert.deepEqual(after[key], before[key], key);
});

test('commands that nobody can reach are a warning, which goes with the plugin', () => {
  const commands = new FakeCommands();
  commands.taken = ['daemon status'];
  const said: unknown[] = [];
  const registry = new Registry(commands, new CodecRegistry(), ({ code, subject, message, clear }) =>
    said.push([code, subject, clear === true ? 'clear' : message]),
  );
  registry.register('me', { commands: [{ name: 'daemon status' }, { name: 'acme show' }] }, anything);
  assert.deepEqual(registry.activate('me'), ['daemon status']);
  registry.release('me');
  assert.deepEqual(said, [
    ['plugin-command', 'me', 'commands left out: "daemon status": the engine has them, or a word is an option'],
    ['plugin-command', 'me', 'clear'],
  ]);
});
