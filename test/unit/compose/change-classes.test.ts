// What a change of a leaf costs, proved on sessions: a row for every leaf of the bgp tree that somebody reads. A reset leaf ends the session,
// every other leaves it up, and what the reactor makes of the change is what the schema says (`zx:change`). A new leaf needs a row.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { peerChange } from '../../../engine/compose/impact.ts';
import { type ClassedLeaf, classedLeaves } from '../../../engine/config/schema/change-class.ts';
import { configSchema, loadConfig } from '../../../engine/config/load.ts';
import type { ReactorSettings } from '../../../engine/bgp/port.ts';
import { Lab } from '../bgp/lab.ts';

const BASE = `bgp { router-id 10.0.0.1; session { asn { local 64500; } }
  GLOBAL
  peer p2 {
    connection { local { ip 127.0.0.1; } remote { ip 127.0.0.2; connect false; } }
    session { asn { remote 64502; } family { ipv4/unicast { prefix { maximum 100; } MORE } } }
    process bgp-rib { receive [ state ]; send [ update ]; }
    PEER
  }
}`;

/** Statements of the peer before and after; `bgp:` stands in the bgp block, `=` replaces a text of the base, `family:` in the family. */
type Row = readonly [leaf: string, before: string, after: string];

const chain = 'filter { import [ F:L ]; export [ F:L ]; }';
/** A filter that the peer's chains name. */
const policy = (leaf: string, kind: string, before: string, after: string): Row => [
  `bgp/policy/${kind}/${leaf}`,
  `policy: ${kind} L { ${before} }`,
  `policy: ${kind} L { ${after} }`,
];
const update = (attribute: string, after: string, before = ''): Row => [
  `bgp/peer/update/attribute/${attribute}`,
  `update { attribute { next-hop 192.0.2.1; ${before} } nlri { ipv4/unicast add 10.1.0.0/16; } }`,
  `update { attribute { next-hop 192.0.2.1; ${after} } nlri { ipv4/unicast add 10.1.0.0/16; } }`,
];
const pool = (leaf: string, before: string, after: string): Row => {
  const block = (watchdog: string): string =>
    `update { attribute { next-hop 192.0.2.1; } nlri { ipv4/unicast add 10.1.0.0/16; } watchdog { ${watchdog} } }`;
  return [`bgp/peer/update/watchdog/${leaf}`, block(before), block(after)];
};
const probe = (leaf: string, after: string): Row => {
  const block = (text: string): string => `bgp:healthcheck { probe web { command "true"; group web; ${text} } }`;
  return [`bgp/healthcheck/probe/${leaf}`, block(''), block(after.endsWith('}') ? after : `${after};`)];
};
const peer = (leaf: string, after: string, before = ''): Row => [`bgp/peer/${leaf}`, before, after];
const entry = (text: string): string => `entry 10.0.0.0/8 { ${text} }`;

const ROWS: readonly Row[] = [
  ['bgp/router-id', '=router-id 10.0.0.1', '=router-id 10.0.0.9'],
  ['bgp/multipath/maximum-paths', 'bgp:', 'bgp:multipath { maximum-paths 4; }'],
  ['bgp/multipath/relax-as-path', 'bgp:', 'bgp:multipath { relax-as-path true; }'],
  ['bgp/route-server/transparent', 'bgp:', 'bgp:route-server { transparent true; }'],
  ['bgp/route-server/best-path', 'bgp:', 'bgp:route-server { best-path true; }'],
  [
    'bgp/community/standard/value',
    'bgp:community { standard C { value [ 1:1 ]; } }',
    'bgp:community { standard C { value [ 1:2 ]; } }',
  ],
  [
    'bgp/community/large/value',
    'bgp:community { large C { value [ 1:1:1 ]; } }',
    'bgp:community { large C { value [ 1:1:2 ]; } }',
  ],
  [
    'bgp/community/extended/value',
    'bgp:community { extended C { value [ target:1:1 ]; } }',
    'bgp:community { extended C { value [ target:1:2 ]; } }',
  ],
  policy('entry/ge', 'prefix-list', entry('ge 9;'), entry('ge 10;')),
  policy('entry/le', 'prefix-list', entry('le 20;'), entry('le 24;')),
  policy('entry/action', 'prefix-list', entry('action accept;'), entry('action reject;')),
  policy('entry/action', 'as-path-list', 'entry "^1" { action accept; }', 'entry "^1" { action reject; }'),
  policy('entry/type', 'community-match', 'entry 1:1 { type standard; }', 'entry 1:1:1 { type large; }'),
  policy('entry/action', 'community-match', 'entry 1:1 { action accept; }', 'entry 1:1 { action reject; }'),
  policy('set/local-preference', 'modify', 'set { local-preference 1; }', 'set { local-preference 2; }'),
  policy('set/med', 'modify', 'set { med 1; }', 'set { med 2; }'),
  policy('set/origin', 'modify', 'set { origin igp; }', 'set { origin egp; }'),
  policy('set/next-hop', 'modify', 'set { next-hop 192.0.2.1; }', 'set { next-hop 192.0.2.2; }'),
  policy('set/as-path-prepend', 'modify', 'set { as-path-prepend 1; }', 'set { as-path-prepend 2; }'),
  ...['community', 'large-community', 'extended-community'].flatMap((kind) =>
    ['add', 'remove'].map((verb) => {
      const value = { community: '1:', 'large-community': '1:1:', 'extended-community': 'target:1:' }[kind] ?? '';
      return policy(
        `set/${kind}-${verb}`,
        'modify',
        `set { ${kind}-${verb} [ ${value}1 ]; }`,
        `set { ${kind}-${verb} [ ${value}2 ]; }`,
      );
    }),
  ),
  policy('allow-own-as', 'loop-detection', 'allow-own-as 0;', 'allow-own-as 2;'),
  policy('cluster-id', 'loop-detection', 'cluster-id 10.0.0.1;', 'cluster-id 10.0.0.2;'),
  peer('description', 'description x;'),
  ['bgp/peer/connection/local/ip', '=local { ip 127.0.0.1; }', '=local { ip 127.0.0.9; }'],
  ['bgp/peer/connection/local/port', '', 'connection { local { port 41799; } }'],
  ['bgp/peer/connection/local/accept', '=connect false;', '=connect true; port 9;'],
  ['bgp/peer/connection/remote/ip', '=127.0.0.2', '=127.0.0.3'],
  peer('connection/remote/port', 'connection { remote { port 1790; } }'),
  ['bgp/peer/connection/remote/connect', '=connect false;', '=connect true; port 9;'],
  ['bgp/peer/session/asn/local', '', 'session { asn { local 64999; } }'],
  ['bgp/peer/session/asn/remote', '=remote 64502', '=remote 64503'],
  peer('session/asn/local-options', 'session { asn { local-options [ no-prepend ]; } }'),
  peer('session/as-override', 'session { as-override true; }'),
  peer('session/community/send', 'session { community { send [ standard ]; } }'),
  peer('session/router-id', 'session { router-id 10.0.0.7; }'),
  peer('session/route-reflector-client', 'session { route-reflector-client true; }'),
  peer('session/cluster-id', 'session { cluster-id 10.0.0.7; }'),
  peer('session/next-hop', 'session { next-hop unchanged; }'),
  peer('session/link-local', 'session { link-local fe80::1; }'),
  peer('session/enforce-first-as', 'session { enforce-first-as true; }'),
  ['bgp/peer/session/family/mode', 'family:', 'family:mode require;'],
  ['bgp/peer/session/family/default-originate', 'family:', 'family:default-originate true;'],
  [
    'bgp/peer/session/family/default-originate-filter',
    'family:default-originate true;',
    'family:default-originate true; default-originate-filter bgp-rib:X;',
  ],
  ['bgp/peer/session/family/prefix/maximum', '=maximum 100', '=maximum 200'],
  ['bgp/peer/session/family/prefix/warning', 'family:', 'family:prefix { warning 5; }'],
  ['bgp/peer/session/family/prefix/teardown', 'family:', 'family:prefix { teardown false; }'],
  ['bgp/peer/session/family/prefix/idle-timeout', 'family:', 'family:prefix { idle-timeout 5; }'],
  ['bgp/peer/session/family/prefix/updated', 'family:', 'family:prefix { updated 2026-01-01; }'],
  peer('session/capability/asn4', 'session { capability { asn4 disable; } }'),
  peer('session/capability/route-refresh/mode', 'session { capability { route-refresh; } }'),
  peer('session/capability/extended-message/mode', 'session { capability { extended-message; } }'),
  peer(
    'session/capability/hostname/mode',
    'session { capability { hostname { host a; mode disable; } } }',
    'session { capability { hostname { host a; } } }',
  ),
  peer(
    'session/capability/hostname/host',
    'session { capability { hostname { host a; } } }',
    'session { capability { hostname { host b; } } }',
  ),
  peer(
    'session/capability/hostname/domain',
    'session { capability { hostname { host a; domain x; } } }',
    'session { capability { hostname { host a; } } }',
  ),
  peer('session/capability/software-version', 'session { capability { software-version enable; } }'),
  peer('session/capability/add-path/direction', 'session { capability { add-path send; } }'),
  peer('session/capability/add-path/send', 'session { capability { add-path { send true; } } }'),
  peer('session/capability/add-path/receive', 'session { capability { add-path { receive true; } } }'),
  peer('session/capability/nexthop/mode', 'session { capability { nexthop { ipv4/unicast ipv6; } } }'),
  peer(
    'session/add-path/direction',
    'session { add-path { ipv4/unicast send; } }',
    'session { add-path { ipv4/unicast receive; } }',
  ),
  peer(
    'session/add-path/mode',
    'session { add-path { ipv4/unicast send; } }',
    'session { add-path { ipv4/unicast send disable; } }',
  ),
  peer('behavior/group-updates', 'behavior { group-updates false; }'),
  peer('behavior/manual-eor', 'behavior { manual-eor true; }'),
  peer('behavior/rs-fast-path', 'behavior { rs-fast-path true; }'),
  peer('rib/out/group-updates', 'rib { out { group-updates false; } }'),
  peer('timer/receive-hold-time', 'timer { receive-hold-time 30; }'),
  peer('timer/send-hold-time', 'timer { send-hold-time 500; }'),
  peer('timer/connect-retry', 'timer { connect-retry 5; }'),
  update('origin', 'origin egp;'),
  [
    'bgp/peer/update/attribute/next-hop',
    'update { attribute { next-hop 192.0.2.1; } nlri { ipv4/unicast add 10.1.0.0/16; } }',
    'update { attribute { next-hop 192.0.2.2; } nlri { ipv4/unicast add 10.1.0.0/16; } }',
  ],
  update('med', 'med 5;'),
  update('local-preference', 'local-preference 5;'),
  update('as-path', 'as-path [ 1 2 ];'),
  update('community', 'community [ 1:2 ];'),
  update('large-community', 'large-community [ 1:2:3 ];'),
  update('extended-community', 'extended-community [ target:1:2 ];'),
  update('aggregator', 'aggregator 1:10.0.0.1;'),
  update('atomic-aggregate', 'atomic-aggregate true;'),
  update('originator-id', 'originator-id 10.0.0.3;'),
  update('cluster-list', 'cluster-list [ 10.0.0.3 ];'),
  ...['label 5;', 'labels [ 5 6 ];'].map((text): Row => {
    const block = (labels: string): string =>
      `update { attribute { next-hop 192.0.2.1; ${labels} } nlri { ipv4/mpls-label add 10.1.0.0/16; } }`;
    return [`bgp/peer/update/attribute/${text.split(' ')[0] ?? ''}`, block(text.replace('5', '7')), block(text)];
  }),
  ...['1:1', '1:2'].slice(1).map((rd): Row => {
    const block = (value: string): string =>
      `update { attribute { next-hop 192.0.2.1; label 5; rd ${value}; } nlri { ipv4/mpls-vpn add 10.1.0.0/16; } }`;
    return ['bgp/peer/update/attribute/rd', block('1:1'), block(rd)];
  }),
  update('path-information', 'path-information 5;'),
  update('attribute', 'attribute [ 0x20 0xc0 0x000000010000000200000003 ];'),
  update('split', 'split /17;'),
  ['bgp/peer/update/nlri/content', update('med', '')[1], update('med', '')[1].replace('10.1.', '10.2.')],
  pool('name', 'name a;', 'name b;'),
  pool('withdraw', 'name a;', 'name a; withdraw false;'),
  ...[
    ['command', 'command "exit 1"'],
    ['group', 'group other'],
    ['interval', 'interval 9'],
    ['fast-interval', 'fast-interval 9'],
    ['timeout', 'timeout 9'],
    ['rise', 'rise 9'],
    ['fall', 'fall 9'],
    ['withdraw-on-down', 'withdraw-on-down true'],
    ['disable', 'disable true'],
    ['debounce', 'debounce true'],
    ['up-metric', 'up-metric 9'],
    ['down-metric', 'down-metric 9'],
    ['disabled-metric', 'disabled-metric 9'],
    ['ip-setup/interface', 'ip-setup { interface lo; }'],
    ['ip-setup/dynamic', 'ip-setup { dynamic true; }'],
    ['ip-setup/ip', 'ip-setup { interface lo; ip [ 192.0.2.1/32 ]; }'],
    ['on-up', 'on-up [ true ]'],
    ['on-down', 'on-down [ true ]'],
    ['on-disabled', 'on-disabled [ true ]'],
    ['on-change', 'on-change [ true ]'],
  ].map(([leaf = '', text = '']) => probe(leaf, text)),
  peer('filter/import', 'filter { import [ bgp-rib:X ]; }'),
  peer('filter/export', 'filter { export [ bgp-rib:X ]; }'),
  ...['ingress', 'egress'].flatMap((side) =>
    ['tag', 'strip'].map((verb) =>
      peer(`filter/${side}/community/${verb}`, `filter { ${side} { community { ${verb} [ NAMED ]; } } }`),
    ),
  ),
  peer('role/import', 'role { import provider; }', 'role { import customer; }'),
  peer('role/export', 'role { import provider; export [ default ]; }', 'role { import provider; }'),
  peer('role/strict', 'role { import provider; strict true; }', 'role { import provider; }'),
  ...['process', 'attach { process'].flatMap((word): Row[] => {
    const path = word === 'process' ? 'process' : 'attach/process';
    const at = (text: string): string => `${word} inline { run "exec cat"; ${text} }${word === 'process' ? '' : ' }'}`;
    return [
      [`bgp/peer/${path}/run`, at(''), at('').replace('exec cat', 'exec true')],
      [`bgp/peer/${path}/receive`, at(''), at('receive [ state ];')],
      [`bgp/peer/${path}/send`, at(''), at('send [ update ];')],
      [`bgp/peer/${path}/neighbor-changes/enabled`, at(''), at('neighbor-changes;')],
      [
        `bgp/peer/${path}/processes`,
        at('receive [ open ]; processes [ inline ];'),
        at('receive [ open ]; processes [ inline bgp-rib ];'),
      ],
      [`bgp/peer/${path}/processes-match`, at('receive [ open ];'), at('receive [ open ]; processes-match [ bgp-rib ];')],
      [`bgp/peer/${path}/content/encoding`, at(''), at('content { encoding text; }')],
      [`bgp/peer/${path}/content/format`, at(''), at('content { format full; }')],
    ];
  }),
];

function settings(statement: string, other: string): ReactorSettings {
  let [text, global, more, own] = [BASE, '', '', statement];
  if (statement.startsWith('=')) {
    // Both sides of a replacement begin with the base's own text.
    [text, own] = [BASE.replace(other.slice(1), statement.slice(1)), ''];
  } else if (statement.startsWith('bgp:')) [global, own] = [statement.slice('bgp:'.length), ''];
  else if (statement.startsWith('family:')) [more, own] = [statement.slice('family:'.length), ''];
  else if (statement.startsWith('policy:')) {
    const [kind = ''] = statement.slice('policy: '.length).split(' ');
    [global, own] = [
      `policy { ${statement.slice('policy:'.length)} }`,
      (kind === 'loop-detection' ? 'filter { import [ F:L ]; }' : chain).replaceAll('F:', `${kind}:`),
    ];
  }
  if (own.includes('NAMED')) global += 'community { standard NAMED { value [ 1:1 ]; } }';
  text = text.replace('GLOBAL', global).replace('MORE', more).replace('PEER', own);
  const result = loadConfig(text, { path: 'test', builtins: ['bgp-rib'] });
  assert.ok(result.ok, result.ok ? '' : `${text}\n${result.faults.map((fault) => fault.message).join('\n')}`);
  const { reactor } = result.config;
  return { ...reactor, peers: reactor.peers.map((one) => ({ ...one, localPort: one.localPort === 179 ? 0 : one.localPort })) };
}

const bgp = configSchema().root.children.find((child) => child.name === 'bgp');
assert.ok(bgp);
const LEAVES = classedLeaves(bgp);
/** Leaves of peers stand at three more places: below bgp, a group, and a peer of a group. */
const own = (path: string): string => path.replace(/^bgp\/group\/peer\//, 'bgp/peer/').replace(/^bgp\/group\//, 'bgp/peer/');
const byPath = new Map(LEAVES.map((leaf) => [leaf.path, leaf]));
const atPeer = (path: string): ClassedLeaf | undefined => byPath.get(own(path)) ?? byPath.get(path);

test('every leaf of the bgp tree that somebody reads has a row, and no row is left over', () => {
  const rows = new Set(ROWS.map(([leaf]) => leaf));
  const wanted = new Set(
    LEAVES.filter(({ built }) => built)
      .map(({ path }) => own(path))
      // What bgp hands down to its peers has its row there.
      .map((path) => (byPath.has(path.replace(/^bgp\//, 'bgp/peer/')) ? path.replace(/^bgp\//, 'bgp/peer/') : path)),
  );
  assert.deepEqual(
    [...wanted].filter((path) => !rows.has(path)),
    [],
    'leaves without a row',
  );
  assert.deepEqual(
    [...rows].filter((path) => !wanted.has(path)),
    [],
    'rows without a leaf',
  );
});

test('a leaf has one class, wherever it stands', () => {
  for (const { path, change } of LEAVES) assert.equal(change, atPeer(path)?.change, path);
});

for (const [leaf, before, after] of ROWS) {
  test(`${byPath.get(leaf)?.change ?? 'no such leaf'}: ${leaf}`, async () => {
    const change = byPath.get(leaf)?.change;
    const [old, now] = [settings(before, before), settings(after, before)];
    await using lab = await Lab.of(old.peers, old);
    await lab.session(2);
    await lab.apply(now);
    assert.equal(
      await lab.state(2),
      change === 'reset' ? (now.peers[0]?.remoteAddress === '127.0.0.2' ? 'active' : 'none') : 'established',
    );
    if (leaf.startsWith('bgp/peer/')) assert.equal(peerChange(old.peers[0]!, now.peers[0]!), change);
  });
}
