// What a peer ends up with: bgp, then its group, then itself; what replaces, what adds up, what is off. Read from the tree that
// `config dump` prints and plugins are shown, in either format.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toJson } from '../../../../engine/config/tree/effective.ts';
import { loadConfig } from '../../../../engine/config/load.ts';
import { readSyntax, writeSyntax } from '../../../../engine/config/set-format/index.ts';
import { configSchema } from '../../../../engine/config/load.ts';
import { Findings } from '../../../../engine/config/fault.ts';
import { makeValidators } from '../../../../engine/config/rules/validators.ts';
import { shipped } from '../../../support/config-language.ts';

interface Levels {
  readonly top?: string;
  readonly group?: string;
  readonly peer?: string;
}

/** A peer `p` in a group `g`, with something at each level. */
const text = ({ top = '', group = '', peer = '' }: Levels): string => `
plugin { external one { run "true"; } external two { run "true"; } }
bgp {
  router-id 10.0.0.1; session { asn { local 65000; } }
  policy { prefix-list A { entry 0.0.0.0/0 { } } prefix-list B { entry 0.0.0.0/0 { } } prefix-list C { entry 0.0.0.0/0 { } } }
  community { standard X { value 65000:1; } standard Y { value 65000:2; } standard Z { value 65000:3; } }
  ${top}
  group g {
    ${group}
    peer p { connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } } session { asn { remote 65001; } } ${peer} }
  }
}`;

const options = { ...(await shipped()), path: 't' };

/** The peer as plugins are shown it. */
function shown(source: string): Record<string, unknown> {
  const result = loadConfig(source, options);
  assert.ok(result.ok, JSON.stringify(result.ok ? [] : result.faults));
  const { bgp } = toJson(result.config.tree) as { bgp: { peer: { p: Record<string, unknown> } } };
  return bgp.peer.p;
}

function asSet(source: string): string {
  const findings = new Findings();
  const tree = readSyntax(source, 't', configSchema().root, makeValidators(), findings);
  assert.deepEqual(findings.faults, []);
  return writeSyntax(tree, 'set');
}

function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((one, name) => (one as Record<string, unknown> | undefined)?.[name], value);
}

const rows: readonly (readonly [name: string, levels: Levels, path: string, value: unknown])[] = [
  ['a leaf of bgp', { top: 'timer { receive-hold-time 30; }' }, 'timer.receive-hold-time', 30],
  [
    'a leaf of the group wins over bgp',
    { top: 'timer { receive-hold-time 30; }', group: 'timer { receive-hold-time 60; }' },
    'timer.receive-hold-time',
    60,
  ],
  [
    'a leaf of the peer wins over both',
    { top: 'timer { receive-hold-time 30; }', group: 'timer { receive-hold-time 60; }', peer: 'timer { receive-hold-time 9; }' },
    'timer.receive-hold-time',
    9,
  ],
  [
    'containers merge',
    { top: 'timer { receive-hold-time 30; }', group: 'timer { connect-retry 5; }', peer: 'timer { send-hold-time 480; }' },
    'timer',
    { 'receive-hold-time': 30, 'connect-retry': 5, 'send-hold-time': 480 },
  ],
  [
    'containers merge deep',
    { group: 'connection { remote { connect false; port 1179; } }', peer: 'connection { remote { port 2179; } }' },
    'connection.remote',
    { connect: false, port: 2179, ip: '10.0.0.2' },
  ],
  ['the local AS of bgp', {}, 'session.asn', { local: 65000, remote: 65001 }],
  ['a local AS of the peer', { peer: 'session { asn { local 65100; } }' }, 'session.asn.local', 65100],
  [
    'a boolean back to what it was',
    { top: 'behavior { manual-eor true; }', peer: 'behavior { manual-eor disable; }' },
    'behavior.manual-eor',
    false,
  ],
  [
    'a leaf-list is replaced',
    { top: 'session { community { send [ standard large ]; } }', peer: 'session { community { send [ extended ]; } }' },
    'session.community.send',
    ['extended'],
  ],
  [
    'a leaf-list of the group is replaced too',
    { group: 'session { asn { local-options [ no-prepend ]; } }', peer: 'session { asn { local-options [ replace-as ]; } }' },
    'session.asn.local-options',
    ['replace-as'],
  ],
  [
    'an empty leaf-list replaces',
    { group: 'session { community { send [ standard ]; } }', peer: 'session { community { send [ ]; } }' },
    'session.community.send',
    [],
  ],
  [
    'import chains add up',
    { top: 'filter { import [ A ]; }', group: 'filter { import [ B ]; }', peer: 'filter { import [ C ]; }' },
    'filter.import',
    ['A', 'B', 'C'],
  ],
  [
    'export chains add up',
    { top: 'filter { export [ A ]; }', peer: 'filter { export [ C A ]; }' },
    'filter.export',
    ['A', 'C', 'A'],
  ],
  [
    'a member that is off is off',
    { top: 'filter { import [ A inactive:B ]; }', peer: 'filter { import [ inactive:C ]; }' },
    'filter.import',
    ['A'],
  ],
  [
    'tags add up',
    {
      top: 'filter { ingress { community { tag [ X ]; } } }',
      group: 'filter { ingress { community { tag [ Y ]; strip [ Z ]; } } }',
      peer: 'filter { ingress { community { tag [ Z ]; strip [ X ]; } } }',
    },
    'filter.ingress.community',
    { tag: ['X', 'Y', 'Z'], strip: ['Z', 'X'] },
  ],
  [
    'tags of what is sent',
    { top: 'filter { egress { community { tag [ X ]; } } }', peer: 'filter { egress { community { strip [ Y ]; } } }' },
    'filter.egress.community',
    { tag: ['X'], strip: ['Y'] },
  ],
  [
    'update blocks add up',
    {
      top: 'update { nlri { ipv4/unicast add 10.1.0.0/16; } }',
      group: 'update { nlri { ipv4/unicast add 10.2.0.0/16; } }',
      peer: 'update { nlri { ipv4/unicast add 10.3.0.0/16; } }',
    },
    'update',
    {
      default: { nlri: { 'ipv4/unicast': { content: ['add', '10.1.0.0/16'] } } },
      'default 2': { nlri: { 'ipv4/unicast': { content: ['add', '10.2.0.0/16'] } } },
      'default 3': { nlri: { 'ipv4/unicast': { content: ['add', '10.3.0.0/16'] } } },
    },
  ],
  [
    'families of every level',
    {
      top: 'session { family { ipv4/unicast { prefix { maximum 1; } } } }',
      group: 'session { family { ipv6/unicast { prefix { maximum 2; } } } }',
      peer: 'session { family { ipv4/multicast { prefix { maximum 3; } } } }',
    },
    'session.family',
    {
      'ipv4/unicast': { prefix: { maximum: 1 } },
      'ipv6/unicast': { prefix: { maximum: 2 } },
      'ipv4/multicast': { prefix: { maximum: 3 } },
    },
  ],
  [
    'a family is refined',
    {
      group: 'session { family { ipv4/unicast { prefix { maximum 10; warning 5; } } } }',
      peer: 'session { family { ipv4/unicast { mode require; prefix { maximum 20; } } } }',
    },
    'session.family',
    { 'ipv4/unicast': { mode: 'require', prefix: { maximum: 20, warning: 5 } } },
  ],
  [
    'a binding is refined',
    {
      group: 'process one { receive [ update state ]; send [ update ]; }',
      peer: 'process one { receive [ state ]; content { format full; } }',
    },
    'process.one',
    { receive: ['state'], send: ['update'], content: { format: 'full' } },
  ],
  ['bindings of every level', { top: 'process one { }', peer: 'process two { }' }, 'process', { one: {}, two: {} }],
  [
    'a binding in the newer spelling',
    { group: 'process one { receive [ update ]; }', peer: 'attach process one { receive [ state ]; }' },
    'process',
    { one: { receive: ['state'] } },
  ],
  [
    'a capability of the group, off for the peer',
    { group: 'session { capability { extended-message; } }', peer: 'session { capability { extended-message disable; } }' },
    'session.capability.extended-message',
    { mode: 'disable' },
  ],
  ['a capability of bgp', { top: 'session { capability { asn4 require; } }' }, 'session.capability', { asn4: 'require' }],
  [
    'ADD-PATH of bgp, and of one family',
    { top: 'session { capability { add-path send; } }', peer: 'session { add-path ipv4/unicast receive; }' },
    'session.add-path',
    { 'ipv4/unicast': { direction: 'receive' } },
  ],
  [
    'what is inactive in the group is not inherited',
    { top: 'timer { receive-hold-time 30; }', group: 'inactive: timer { receive-hold-time 60; }' },
    'timer.receive-hold-time',
    30,
  ],
  [
    'what is inactive in the peer leaves what is inherited',
    { group: 'description theirs;', peer: 'inactive: description ours;' },
    'description',
    'theirs',
  ],
  ['a description is inherited', { top: 'description all;' }, 'description', 'all'],
  [
    'a role is inherited',
    { group: 'role { import rs-client; strict true; }', peer: 'role { strict false; }' },
    'role',
    { import: 'rs-client', strict: false },
  ],
  ['the group is named', {}, 'group', 'g'],
  [
    'several plugins by name',
    {
      group: 'process all { processes [ one two ]; receive [ update ]; send [ update ]; }',
      peer: 'process two { receive [ state ]; }',
    },
    'process',
    { one: { receive: ['update'], send: ['update'] }, two: { receive: ['state'], send: ['update'] } },
  ],
  [
    'several plugins by pattern',
    { group: 'process all { processes-match [ "t.o" ]; receive [ update ]; }' },
    'process',
    { two: { receive: ['update'] } },
  ],
  [
    'old style notifications are state',
    { peer: 'process one { receive [ update ]; neighbor-changes; }' },
    'process.one.receive',
    ['update', 'state'],
  ],
];

for (const [name, levels, path, value] of rows) {
  test(name, () => {
    const source = text(levels);
    assert.deepEqual(at(shown(source), path), value);
    assert.deepEqual(at(shown(asSet(source)), path), value, 'as set lines');
  });
}

test('what nobody states is the default of the language', () => {
  const result = loadConfig(text({ peer: 'session { family { ipv4/unicast { prefix { maximum 100; } } } }' }), options);
  assert.ok(result.ok);
  const [peer] = result.config.reactor.peers;
  assert.ok(peer !== undefined);
  const { localPort, accept, remotePort, connect, asOverride, communitySend, routeReflectorClient, nextHop, asn4 } = peer;
  assert.deepEqual(
    { localPort, accept, remotePort, connect, asOverride, communitySend, routeReflectorClient, nextHop, asn4 },
    {
      localPort: 179,
      accept: true,
      remotePort: 179,
      connect: true,
      asOverride: false,
      communitySend: ['all'],
      routeReflectorClient: false,
      nextHop: 'auto',
      asn4: 'enable',
    },
  );
  const { routeRefresh, extendedMessage, holdTimeSeconds, sendHoldTimeSeconds, groupUpdates, manualEor } = peer;
  assert.deepEqual(
    { routeRefresh, extendedMessage, holdTimeSeconds, sendHoldTimeSeconds, groupUpdates, manualEor },
    {
      routeRefresh: 'disable',
      extendedMessage: 'disable',
      holdTimeSeconds: 90,
      sendHoldTimeSeconds: 0,
      groupUpdates: true,
      manualEor: false,
    },
  );
  const [family] = peer.families;
  assert.deepEqual(family, {
    family: 257,
    mode: 'enable',
    prefixMaximum: 100,
    prefixWarning: 90,
    prefixTeardown: true,
    idleTimeoutSeconds: 0,
    addPath: 'none',
  });
  assert.equal(result.config.reactor.multipathMaximum, 1);
  assert.equal(result.config.reactor.multipathRelax, false);
});
