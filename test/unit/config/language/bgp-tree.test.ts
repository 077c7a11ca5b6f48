// The bgp tree, a row for each leaf and value the language names: taken at its limits, refused one past them.
import { bgp, peer, PLUGIN, SENDER, type Row, testRows } from '../../../support/config-language.ts';

/** `text` stands where `at` says; values that are taken, values that are refused with the leaf's name. */
type Leaf = readonly [
  at: 'bgp' | 'connection' | 'local' | 'remote' | 'session' | 'asn' | 'prefix' | 'rest' | 'process' | 'capability',
  text: string,
  good: string,
  bad: string,
];

const leaves: readonly Leaf[] = [
  ['bgp', 'router-id @;', '10.0.0.1 255.255.255.255', '0.0.0.0 10.0.0 2001:db8::1 edge 10.0.0.256'],
  ['bgp', 'session { asn { local @; } }', '1 64500 65535 65536 4294967295', '0 4294967296 -1 AS1 1.10 01'],
  ['bgp', 'multipath { maximum-paths @; }', '1 256', '0 257 many'],
  ['bgp', 'multipath { relax-as-path @; }', 'true false', 'maybe'],
  ['bgp', 'admin-distance { ebgp @; }', '0 20 255', '256'],
  ['bgp', 'admin-distance { ibgp @; }', '0 200 255', '256'],
  ['local', 'ip @;', '10.0.0.1 2001:db8::1 auto', '10.0.0.1/24 localhost Auto'],
  ['local', 'port @;', '1 179 65535', '0 65536'],
  ['local', 'accept @;', 'true false', 'never'],
  ['remote', 'ip @;', '10.0.0.2 2001:db8::2 fe80::1', '10.0.0.2/32 edge auto'],
  ['remote', 'port @;', '1 179 65535', '0 65536'],
  ['remote', 'connect @;', 'true false', 'passive'],
  ['connection', 'md5 { password @; }', 'x "a b"', '""'],
  ['connection', 'md5 { password x; ip @; }', '10.0.0.9 2001:db8::9', 'edge'],
  ['connection', 'ttl { max @; }', '1 255', '256 -1'],
  ['connection', 'ttl { set @; }', '1 255', '256'],
  ['connection', 'ttl { min @; }', '1 255', '256'],
  ['connection', 'link-local @;', 'true false', 'fe80::1'],
  ['connection', 'bfd { mode @; }', 'single-hop multi-hop', 'async'],
  ['connection', 'bfd { enabled @; }', 'true false', 'on'],
  ['connection', 'bfd { profile @; }', 'fast', ''],
  ['connection', 'bfd { min-ttl @; }', '1 255', '256'],
  ['connection', 'bfd { interface @; }', 'eth0', ''],
  ['asn', 'remote 65001; local @;', '1 4294967295', '0 4294967296'],
  ['asn', 'remote @;', '1 4294967295', '0 4294967296'],
  ['asn', 'remote 65001; local-options [ @ ];', 'no-prepend replace-as', 'prepend'],
  ['session', 'as-override @;', 'true false', 'yes'],
  ['session', 'community { send [ @ ]; }', 'standard large extended all none', 'both'],
  ['session', 'router-id @;', '10.9.9.9', '0.0.0.0 edge'],
  ['session', 'route-reflector-client @;', 'true false', 'on'],
  ['session', 'cluster-id @;', '10.9.9.9', '7 0.0.0.0'],
  ['session', 'next-hop @;', 'auto self unchanged 10.0.0.1 2001:db8::1', 'peer 10.0.0.0/8'],
  ['session', 'link-local @;', 'fe80::1', '10.0.0.1'],
  ['prefix', 'maximum @;', '1 4294967295', '0 4294967296 all'],
  ['prefix', 'maximum 100; warning @;', '1 99', '100 101 0'],
  ['prefix', 'maximum 100; teardown @;', 'true false', 'maybe'],
  ['prefix', 'maximum 100; idle-timeout @;', '0 1 65535', '65536 5m'],
  ['prefix', 'maximum 100; updated @;', '2026-11-30', 'yesterday 2026-1-1 30.11.2026 2026-02-30'],
  ['capability', 'asn4 @;', 'enable disable require refuse true false', 'on'],
  ['capability', 'route-refresh @;', 'enable disable require refuse true false', 'on'],
  ['capability', 'extended-message @;', 'enable disable require refuse true false', 'on'],
  ['capability', 'graceful-restart @;', 'enable disable require refuse true false', 'on'],
  ['capability', 'graceful-restart { restart-time @; }', '0 120 4095', '4096 -1'],
  ['capability', 'graceful-restart { long-lived-stale-time @; }', '0 16777215', '16777216'],
  ['capability', 'hostname { host @; }', 'edge edge-1.lab', ''],
  ['capability', 'hostname { host edge; domain @; }', 'lab example.net', ''],
  ['capability', 'software-version @;', 'enable disable require refuse true false', 'on'],
  ['capability', 'link-local-nexthop @;', 'enable disable true false', 'on'],
  ['capability', 'add-path @;', 'send receive send/receive', 'both'],
  ['capability', 'add-path { send @; }', 'true false', 'on'],
  ['capability', 'add-path { receive @; }', 'true false', 'on'],
  ['capability', 'nexthop { ipv4/unicast @; }', 'ipv6', 'l3vpn'],
  ['capability', 'nexthop { @ ipv6; }', 'ipv4/unicast ipv4/multicast ipv4/mpls-vpn', 'ipv4/nothing'],
  ['capability', 'nexthop { ipv4/unicast ipv6 @; }', 'enable disable require refuse', 'on'],
  ['session', 'add-path { ipv4/unicast @; }', 'send receive send/receive', 'both'],
  ['session', 'add-path { ipv4/unicast send @; }', 'enable disable require refuse', 'on'],
  ['session', 'add-path { @ send; }', 'ipv4/unicast ipv6/unicast', 'ipv4'],
  ['rest', 'behavior { group-updates @; }', 'true false', '2'],
  ['rest', 'behavior { manual-eor @; }', 'true false', '2'],
  ['rest', 'behavior { auto-flush @; }', 'true false', '2'],
  ['rest', 'behavior { rs-fast-path @; }', 'true false', '2'],
  ['rest', 'timer { receive-hold-time @; }', '0 3 90 65535', '1 2 65536 90s'],
  ['rest', 'timer { send-hold-time @; }', '0 480 65535', '1 479 65536'],
  ['rest', 'timer { connect-retry @; }', '1 120 65535', '-1 65536'],
  ['rest', 'description @;', 'x "" "two words"', ''],
  ['rest', 'rib { adj { in @; } }', 'true false', '2'],
  ['rest', 'rib { adj { out @; } }', 'true false', '2'],
  ['rest', 'rib { out { group-updates @; } }', 'true false', '2'],
  ['rest', 'rib { out { auto-commit-delay @; } }', '0 100 1000', 'soon'],
  ['rest', 'rib { out { max-batch-size @; } }', '0 100', '-1'],
  [
    'process',
    'receive [ @ ];',
    'update open notification keepalive refresh state sent negotiated eor congested resumed rpki update-rpki',
    'all nothing',
  ],
  ['process', 'send [ @ ];', 'update refresh enhanced-refresh', 'all open'],
  ['process', 'content { encoding @; }', 'json text', 'xml'],
  ['process', 'content { format @; }', 'parsed raw full hex base64', 'pretty'],
  ['process', 'content { attribute @; }', '"origin as-path"', ''],
  ['process', 'neighbor-changes @;', 'true false', ''],
  ['process', 'processes [ @ ];', 'inject', ''],
  ['process', 'processes-match [ @ ];', '"inj.*"', ''],
];

function textOf([at, text]: Leaf, value: string): string {
  const filled = text.replace('@', value);
  switch (at) {
    case 'bgp':
      return `bgp { router-id 10.0.0.1; session { asn { local 65000; } } ${filled} }`;
    case 'connection':
      return bgp(peer({ connection: filled }));
    case 'local':
      return bgp(peer({ local: filled.startsWith('ip') ? filled : `ip 10.0.0.1; ${filled}` }));
    case 'remote':
      return bgp(peer({ remote: filled.startsWith('ip') ? filled : `ip 10.0.0.2; ${filled}` }));
    case 'session':
      return bgp(peer({ session: filled }));
    case 'asn':
      return bgp(peer({ asn: filled }));
    case 'prefix':
      return bgp(peer({ family: `ipv4/unicast { prefix { ${filled} } }` }));
    case 'capability':
      return bgp(peer({ capability: filled, rest: SENDER }), PLUGIN);
    case 'process':
      return bgp(peer({ rest: `process inject { ${filled} }` }), PLUGIN);
    case 'rest':
      return bgp(peer({ rest: filled }));
  }
}

/** Values in quotes hold blanks. */
const valuesOf = (text: string): readonly string[] => text.match(/"[^"]*"|[^ ]+/g) ?? [];
/** The leaf that a fault names: the one before the placeholder. */
const nameOf = ([, text]: Leaf): string => /([\w-]+)(?: \[| \{)? (?:[\w/]+ )*@/.exec(text)?.[1] ?? '';

const ofLeaves = leaves.flatMap((leaf): readonly Row[] => [
  ...valuesOf(leaf[2]).map(
    (value): Row => [`${leaf[0]} ${leaf[1].replace('@', value)}`, textOf(leaf, value), 0, 'configuration valid'],
  ),
  ...valuesOf(leaf[3]).map((value): Row => [`${leaf[0]} ${leaf[1].replace('@', value)}`, textOf(leaf, value), 1, nameOf(leaf)]),
]);

const FAMILIES =
  'ipv4/unicast ipv6/unicast ipv4/multicast ipv6/multicast ipv4/mpls-label ipv6/mpls-label ipv4/mpls-vpn ipv6/mpls-vpn ' +
  'ipv4/flow ipv6/flow ipv4/flow-vpn ipv6/flow-vpn l2vpn/evpn l2vpn/vpls bgp-ls/bgp-ls bgp-ls/bgp-ls-vpn ipv4/rtc ipv4/mvpn ipv6/mvpn ipv4/mup ipv6/mup';

const rows: readonly Row[] = [
  ...ofLeaves,
  // Families
  ...FAMILIES.split(' ').map((family): Row => [family, bgp(peer({ family: `${family} { prefix { maximum 10; } }` })), 0, '']),
  ...['enable', 'disable', 'require', 'ignore'].map(
    (mode): Row => [`family mode ${mode}`, bgp(peer({ family: `ipv4/unicast { mode ${mode}; prefix { maximum 10; } }` })), 0, ''],
  ),
  [
    'family mode on',
    bgp(peer({ family: 'ipv4/unicast { mode on; prefix { maximum 10; } }' })),
    1,
    'mode: "on" is not one of enable, disable, require, ignore',
  ],
  [
    'a family that is disabled needs a maximum too',
    bgp(peer({ family: 'ipv4/unicast { mode disable; }' })),
    1,
    'ipv4/unicast: prefix maximum is mandatory',
  ],
  [
    'every family needs a maximum',
    bgp(peer({ family: 'ipv4/unicast { prefix { maximum 1; } } ipv6/unicast { prefix { warning 1; } }' })),
    1,
    'ipv6/unicast: prefix maximum is mandatory',
    [7, 100],
  ],
  [
    'families that need a maximum are all named',
    bgp(peer({ family: 'ipv4/unicast; ipv6/unicast;' })),
    1,
    'ipv6/unicast: prefix maximum is mandatory',
  ],
  ['a family in capitals', bgp(peer({ family: 'IPv4/Unicast { prefix { maximum 1; } }' })), 1, 'did you mean "ipv4/unicast"'],
  ['an old family name', bgp(peer({ family: 'ipv4 { prefix { maximum 1; } }' })), 1, 'is not an address family'],
  ['ignore-mismatch', bgp(peer({ family: 'ignore-mismatch; ipv4/unicast { prefix { maximum 1; } }' })), 0, ''],
  ['ignore-mismatch with a mode', bgp(peer({ family: 'ignore-mismatch enable; ipv4/unicast { prefix { maximum 1; } }' })), 0, ''],
  ['a peer without families', bgp(peer({ family: '' })), 0, ''],
  [
    'a limit refreshed long ago',
    bgp(peer({ family: 'ipv4/unicast { prefix { maximum 10; updated 2020-01-31; } }' })),
    0,
    'older than 180 days',
  ],
  ['default-originate', bgp(peer({ family: 'ipv4/unicast { default-originate true; prefix { maximum 10; } }' })), 0, ''],
  ['default-originate false', bgp(peer({ family: 'ipv4/unicast { default-originate false; prefix { maximum 10; } }' })), 0, ''],

  // Peers
  ...['edge', 'e', 'a.b-c_d', 'A1', '_a', 'x'.repeat(255), 'as65001', 'listing'].map(
    (name): Row => [`a peer called ${name.slice(0, 20)}`, bgp(peer({ name })), 0, ''],
  ),
  ...['10.0.0.9', '2001:db8::9', '*', '-', '__', '...', 'a/b', '"a b"', 'x'.repeat(256), '1edge', '-edge', '.edge'].map(
    (name): Row => [`no peer is called ${name.slice(0, 20)}`, bgp(peer({ name })), 1, 'peer'],
  ),
  ...'list detail pause resume flush teardown capabilities statistics update raw refresh borr eorr clear plugin'
    .split(' ')
    .map((name): Row => [`no peer is called ${name}`, bgp(peer({ name })), 1, `"${name}" is not a peer name`, [5, 8]]),
  ['a peer of a group may begin with a digit', bgp(`group g { ${peer({ name: '1edge' })} }`), 0, ''],
  [
    'a name under bgp and in a group',
    bgp(`${peer()} group g { ${peer({ remote: 'ip 10.0.0.3;' })} }`),
    1,
    'duplicate peer name: edge',
  ],
  [
    'an address under bgp and in a group',
    bgp(`${peer()} group g { ${peer({ name: 'other' })} }`),
    1,
    'duplicate peer remote address: 10.0.0.2 (peers edge and other)',
  ],
  ['an empty bgp block', 'bgp { }', 0, 'no router-id'],
  [
    'no global local AS, each its own',
    `bgp { router-id 1.1.1.1; ${peer({ asn: 'remote 1; local 2;' })} }`,
    0,
    'warning: line 1: no global local AS',
  ],
  ['incomplete: neither address nor AS', bgp('peer edge { }'), 0, 'incomplete peer edge'],
  ['incomplete: without connection', bgp('peer edge { session { asn { remote 65001; } } }'), 0, 'incomplete'],
  ['incomplete, with a wrong value', bgp('peer edge { timer { receive-hold-time 1; } }'), 1, 'receive-hold-time'],
  ['passive', bgp(peer({ remote: 'ip 10.0.0.2; connect false;' })), 0, ''],
  ['active', bgp(peer({ local: 'ip 10.0.0.1; accept false;' })), 0, ''],
  [
    'neither',
    bgp(peer({ local: 'ip 10.0.0.1; accept false;', remote: 'ip 10.0.0.2; connect false;' })),
    1,
    'accept false together with connect false',
  ],

  [
    'addresses of two families',
    bgp(peer({ remote: 'ip 2001:db8::2;' })),
    0,
    'local ip 10.0.0.1 and remote ip 2001:db8::2 are of different families',
  ],
  ['a misspelt address is not missing too', bgp(peer({ local: 'addr 10.0.0.1;' })), 1, 'line 6: unknown field in local: addr'],
  [
    'what two peers inherit is said once',
    bgp(`group g { session { family { ipv6/unicast; } } ${peer()} ${peer({ name: 'two', remote: 'ip 10.0.0.3;' })} }`),
    1,
    'Errors:\n  line 5: peer edge: ipv6/unicast: prefix maximum is mandatory [column 32]\n',
  ],
  ['a plugin in place, in a group without peers', bgp('group g { process own { run "./own"; } }'), 0, ''],

  ...[
    'connection { bfd false; }',
    'connection { bfd { enabled false; mode multi-hop; } }',
    'session { capability { graceful-restart disable; link-local-nexthop false; } }',
    'behavior { auto-flush true; }',
    'rib { adj { } out { auto-commit-delay 0; max-batch-size 0; } }',
  ].map((text): Row => [`what is off is not missed: ${text}`, bgp(peer({ rest: text })), 0, '']),
  [
    'empty blocks are not missed',
    'vpp { } rib { } interface { } telemetry { } system { } environment { } plugin { } redistribute { }',
    0,
    '',
  ],
  ['what is refused is missed', bgp(peer({ capability: 'graceful-restart refuse;' })), 0, 'graceful-restart is not available'],

  // Capabilities
  [
    'route-refresh names its peer',
    bgp(peer({ capability: 'route-refresh;' })),
    1,
    'edge: route-refresh requires process with send [ update ]',
    [7, 103],
  ],
  [
    'route-refresh required',
    bgp(peer({ capability: 'route-refresh require;' })),
    1,
    'edge: route-refresh requires process with send [ update ]',
  ],
  ['route-refresh refused', bgp(peer({ capability: 'route-refresh refuse;' })), 0, ''],
  [
    'graceful-restart names its peer',
    bgp(peer({ capability: 'graceful-restart { restart-time 60; }' })),
    1,
    'edge: graceful-restart requires process with send [ update ]',
  ],
  ['graceful-restart off', bgp(peer({ capability: 'graceful-restart disable;' })), 0, 'configuration valid'],
  [
    'a process that only receives sends nothing',
    bgp(peer({ capability: 'route-refresh;', rest: 'process inject { receive [ update ]; }' }), PLUGIN),
    1,
    'requires process',
  ],
  [
    'a process that refreshes sends no update',
    bgp(peer({ capability: 'route-refresh;', rest: 'process inject { send [ refresh ]; }' }), PLUGIN),
    1,
    'requires process',
  ],
  ['a sender of the group will do', bgp(`group g { ${SENDER} ${peer({ capability: 'route-refresh;' })} }`, PLUGIN), 0, ''],
  ['a sender of bgp will do', bgp(`${SENDER} ${peer({ capability: 'route-refresh;' })}`, PLUGIN), 0, ''],
  [
    'the capability of a group',
    bgp(`group g { session { capability { route-refresh; } } ${peer()} }`),
    1,
    'edge: route-refresh requires process',
  ],
  ...['aigp', 'multi-session', 'operational'].map(
    (name): Row => [name, bgp(peer({ capability: `${name};` })), 1, `unknown field in capability: ${name}`],
  ),
  ['add-path in two words', bgp(peer({ capability: 'add-path { send true; receive true; }' })), 0, ''],
  [
    'nexthop in several lines',
    bgp(peer({ capability: 'nexthop {\n ipv4/unicast ipv6\n ipv4/mpls-vpn ipv6 require\n }' })),
    0,
    '',
  ],
  ['hostname', bgp(peer({ capability: 'hostname { host edge; domain lab; }' })), 0, ''],
  ['software-version', bgp(peer({ capability: 'software-version enable;' })), 0, ''],

  // Bindings
  ['an empty binding', bgp(peer({ rest: 'process inject { }' }), PLUGIN), 0, ''],
  ['a binding without a block', bgp(peer({ rest: 'process inject;' }), PLUGIN), 0, ''],
  ['a binding in bgp', bgp(`process inject { receive [ update ]; } ${peer()}`, PLUGIN), 0, ''],
  ['a binding in a group', bgp(`group g { process inject { receive [ state ]; } ${peer()} }`, PLUGIN), 0, ''],
  [
    'every event',
    bgp(
      peer({
        rest: 'process inject { receive [ update open notification keepalive refresh state sent negotiated eor congested resumed ]; send [ update refresh enhanced-refresh ]; }',
      }),
      PLUGIN,
    ),
    0,
    '',
  ],
  ['receive all', bgp(peer({ rest: 'process inject { receive all; }' }), PLUGIN), 1, '"all" is not a registered event kind'],
  ['send teleport', bgp(peer({ rest: 'process inject { send [ teleport ]; }' }), PLUGIN), 1, 'teleport'],
  ['a plugin in place', bgp(peer({ rest: 'process own { run "./own"; receive [ update ]; }' })), 0, ''],
  [
    'a plugin in place, used by another peer',
    bgp(
      peer({ rest: 'process own { run "./own"; }' }) +
        peer({ name: 'two', remote: 'ip 10.0.0.3;', rest: 'process own { receive [ state ]; }' }),
    ),
    0,
    '',
  ],
  [
    'a plugin in place, twice and different',
    bgp(
      peer({ rest: 'process own { run "./own"; }' }) +
        peer({ name: 'two', remote: 'ip 10.0.0.3;', rest: 'process own { run "./other"; }' }),
    ),
    1,
    'defined twice',
  ],
  ['an undefined plugin', bgp(peer({ rest: 'process nobody { }' })), 1, 'undefined plugin in process: nobody'],
  [
    'an undefined plugin of bgp is said once',
    bgp(`process nobody { } ${peer()} ${peer({ name: 'two', remote: 'ip 10.0.0.3;' })}`),
    1,
    'undefined plugin in process: nobody',
    [5, 3],
  ],
  ['old style state notifications', bgp(peer({ rest: 'process inject { neighbor-changes; }' }), PLUGIN), 0, ''],
  ['several plugins by name', bgp(peer({ rest: 'process both { processes [ inject ]; receive [ update ]; }' }), PLUGIN), 0, ''],
  [
    'several plugins by name, one of which is none',
    bgp(peer({ rest: 'process both { processes [ inject injct ]; }' }), PLUGIN),
    1,
    'undefined plugin in processes: injct (did you mean "inject"?)',
  ],
  [
    'several plugins by pattern',
    bgp(peer({ rest: 'process both { processes-match [ "^inj" ]; receive [ update ]; }' }), PLUGIN),
    0,
    '',
  ],
  ['a pattern that is none', bgp(peer({ rest: 'process both { processes-match [ "(" ]; }' }), PLUGIN), 1, 'processes-match'],
  [
    'a pattern that nothing matches',
    bgp(peer({ rest: 'process both { processes-match [ "^zzz" ]; }' }), PLUGIN),
    0,
    'matches no plugin',
  ],
];

await testRows(rows);
