// The rules of validation, a row each: what is wrong, the fragment an operator (or a test of theirs) looks for, the exit code.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateReport } from '../../../engine/config/validate-report.ts';

const SECRET = 'x'.repeat(32);

/** A peer that is right, with parts that can be replaced. */
interface Parts {
  readonly name?: string;
  readonly local?: string;
  readonly remote?: string;
  readonly asn?: string;
  readonly family?: string;
  readonly capability?: string;
  readonly rest?: string;
}

function peer(parts: Parts = {}): string {
  const { name = 'edge', local = 'ip 10.0.0.1;', remote = 'ip 10.0.0.2;', asn = 'remote 65001;' } = parts;
  const family = parts.family ?? 'ipv4/unicast { prefix { maximum 1000; } }';
  return `peer ${name} {
    connection { local { ${local} } remote { ${remote} } }
    session { asn { ${asn} } family { ${family} } capability { ${parts.capability ?? ''} } }
    ${parts.rest ?? ''}
  }`;
}

const bgp = (inner: string, before = ''): string => `${before}
bgp {
  router-id 10.0.0.1
  session { asn { local 65000; } }
  ${inner}
}
`;

const plugin = 'plugin { external inject { run "true"; } }';
const route = (nlri: string, attribute = 'next-hop self;'): string => `update { attribute { ${attribute} } nlri { ${nlri} } }`;

type Row = readonly [name: string, text: string, exit: 0 | 1, fragment: string];

const rows: readonly Row[] = [
  ['a right config', bgp(peer()), 0, 'configuration valid: t.conf'],
  ['an empty file', '', 0, 'the configuration is empty: there is nothing to do'],
  ['nothing but a comment', '# bgp { }', 0, 'the configuration is empty'],
  ['an unknown top-level word', 'bpg { }', 1, 'unknown top-level keyword: bpg (did you mean "bgp"?)'],
  ['a removed leaf', bgp('listen 0.0.0.0;'), 1, 'unknown field in bgp: listen'],
  [
    'an unknown leaf',
    bgp(peer({ rest: 'descripton "x";' })),
    1,
    'unknown field in peer: descripton (did you mean "description"?)',
  ],
  ['capability aigp', bgp(peer({ capability: 'aigp enable;' })), 1, 'unknown field in capability: aigp'],
  [
    'capability multi-session',
    bgp(peer({ capability: 'multi-session enable;' })),
    1,
    'unknown field in capability: multi-session',
  ],
  ['capability operational', bgp(peer({ capability: 'operational enable;' })), 1, 'unknown field in capability: operational'],
  ['a flow block', bgp(peer({ rest: 'flow { route x { match { source 10.0.0.1/32; } } }' })), 1, 'unknown field in peer: flow'],
  ['an nlri line without an operation', bgp(peer({ rest: route('ipv4/unicast 10.0.0.0/8;') })), 1, 'missing operation keyword'],
  ['no prefix maximum', bgp(peer({ family: 'ipv4/unicast;' })), 1, 'prefix maximum is mandatory'],
  ['prefix maximum 0', bgp(peer({ family: 'ipv4/unicast { prefix { maximum 0; } }' })), 1, 'maximum'],
  [
    'warning at the maximum',
    bgp(peer({ family: 'ipv4/unicast { prefix { maximum 10; warning 10; } }' })),
    1,
    'prefix warning 10 must be below',
  ],
  ['warning below the maximum', bgp(peer({ family: 'ipv4/unicast { prefix { maximum 10; warning 9; } }' })), 0, 'valid'],
  ['no local address', bgp(peer({ local: 'port 179;' })), 1, 'local ip is required'],
  ['local address auto', bgp(peer({ local: 'ip auto;' })), 0, 'valid'],
  ['a peer without remote AS', bgp(peer({ asn: 'local 65000;' })), 0, 'incomplete peer edge: remote AS is missing'],
  ['a peer without remote address', bgp(peer({ remote: 'port 179;' })), 0, 'incomplete peer edge: remote ip is missing'],
  [
    'neither accept nor connect',
    bgp(peer({ local: 'ip 10.0.0.1; accept false;', remote: 'ip 10.0.0.2; connect false;' })),
    1,
    'accept false together with connect false leaves the connection no way to come up',
  ],
  [
    'hold time 1',
    bgp(peer({ rest: 'timer { receive-hold-time 1; }' })),
    1,
    'receive-hold-time: 1 is out of range (0 or 3..65535)',
  ],
  ['hold time 2', bgp(peer({ rest: 'timer { receive-hold-time 2; }' })), 1, 'receive-hold-time'],
  ['hold time 0', bgp(peer({ rest: 'timer { receive-hold-time 0; }' })), 0, 'valid'],
  ['hold time 3', bgp(peer({ rest: 'timer { receive-hold-time 3; }' })), 0, 'valid'],
  ['send hold time 479', bgp(peer({ rest: 'timer { send-hold-time 479; }' })), 1, 'send-hold-time'],
  ['send hold time 480', bgp(peer({ rest: 'timer { send-hold-time 480; }' })), 0, 'valid'],
  ['a word where a block belongs', bgp(peer({ rest: 'connection passive;' })), 1, 'unknown field in connection: passive'],
  [
    'a bad enumeration',
    bgp(peer({ family: 'ipv4/unicast { mode requre; prefix { maximum 1; } }' })),
    1,
    'did you mean "require"?',
  ],
  ['an unknown family', bgp(peer({ family: 'ipv4/unicats { prefix { maximum 1; } }' })), 1, 'did you mean "ipv4/unicast"?'],
  ['AS 0', bgp(peer({ asn: 'remote 0;' })), 1, 'out of range'],
  ['a bad address', bgp(peer({ remote: 'ip 10.0.0.256;' })), 1, 'is not an IPv4 address or an IPv6 address'],
  ['router-id 0.0.0.0', 'bgp { router-id 0.0.0.0; }', 1, 'router-id'],
  ['a duplicate peer name', bgp(peer() + peer({ remote: 'ip 10.0.0.3;' })), 1, 'duplicate list key for peer: edge'],
  [
    'a name in two groups',
    bgp(`group a { ${peer()} } group b { ${peer({ remote: 'ip 10.0.0.3;' })} }`),
    1,
    'duplicate peer name: edge',
  ],
  ['one of two is inactive', bgp(`${peer()} inactive: ${peer()}`), 0, 'valid'],
  ['a duplicate remote address', bgp(peer() + peer({ name: 'other' })), 1, 'duplicate peer remote address: 10.0.0.2'],
  [
    'two spellings of an address',
    bgp(peer({ remote: 'ip 2001:db8::1;' }) + peer({ name: 'o', remote: 'ip 2001:DB8:0::1;' })),
    1,
    'duplicate peer remote',
  ],
  ['a peer named like an address', bgp(peer({ name: '10.0.0.2' })), 1, 'is not a peer name'],
  ['a peer named like a command', bgp(peer({ name: 'teardown' })), 1, 'is not a peer name'],
  ['a peer named *', bgp(peer({ name: '*' })), 1, 'peer'],
  [
    'refresh without sender',
    bgp(peer({ capability: 'route-refresh;' })),
    1,
    'route-refresh requires process with send [ update ]',
  ],
  [
    'restart without sender',
    bgp(peer({ capability: 'graceful-restart;' })),
    1,
    'graceful-restart requires process with send [ update ]',
  ],
  [
    'refresh with sender',
    bgp(peer({ capability: 'route-refresh;', rest: 'process inject { send [ update ]; }' }), plugin),
    0,
    'valid',
  ],
  ['refresh disabled', bgp(peer({ capability: 'route-refresh disable;' })), 0, 'valid'],
  [
    'an undefined plugin',
    bgp(peer({ rest: 'process injct { }' }), plugin),
    1,
    'undefined plugin in process: injct (did you mean "inject"?)',
  ],
  ['a plugin in place', bgp(peer({ rest: 'process own { run "./x"; }' })), 0, 'valid'],
  ['attach process', bgp(peer({ rest: 'attach process inject { receive [ state ]; }' }), plugin), 0, 'valid'],
  ['receive all', bgp(peer({ rest: 'process inject { receive [ all ]; }' }), plugin), 1, '"all" is not a registered event kind'],
  ['an unknown event', bgp(peer({ rest: 'process inject { receive [ updte ]; }' }), plugin), 1, 'did you mean "update"?'],
  ['an unknown send kind', bgp(peer({ rest: 'process inject { send [ teleport ]; }' }), plugin), 1, 'teleport'],
  ['an unknown filter', bgp(peer({ rest: 'filter { import [ NOPE ]; }' })), 1, 'unknown filter in import: NOPE'],
  [
    'an unknown filter of a type',
    bgp(peer({ rest: 'filter { import [ prefix-list:NOPE ]; }' })),
    1,
    'unknown filter in import: prefix-list:NOPE',
  ],
  [
    'known filters',
    bgp(
      `policy { prefix-list A { entry 10.0.0.0/8 { le 24; } } } ${peer({ rest: 'filter { import [ A prefix-list:A inactive:NOPE ]; }' })}`,
    ),
    0,
    'valid',
  ],
  ['a typo in a filter entry', bgp('policy { prefix-list A { entry 10.0.0.0/8 { lee 24; } } }'), 1, 'lee'],
  [
    'IPv6 next hop for IPv4',
    bgp(peer({ rest: route('ipv4/unicast add 10.0.0.0/8;', 'next-hop 2001:db8::1;') })),
    1,
    'cannot be carried',
  ],
  [
    'IPv6 next hop with the capability',
    bgp(
      peer({
        capability: 'nexthop { ipv4/unicast ipv6; }',
        rest: route('ipv4/unicast add 10.0.0.0/8;', 'next-hop 2001:db8::1;'),
      }),
    ),
    0,
    'valid',
  ],
  [
    'IPv4 next hop for IPv6',
    bgp(peer({ rest: route('ipv6/unicast add 2001:db8::/32;', 'next-hop 10.0.0.1;') })),
    1,
    'cannot be carried',
  ],
  ['a VPN route without label', bgp(peer({ rest: route('ipv4/mpls-vpn rd 65000:1 add 10.0.0.0/8;') })), 1, 'needs a label'],
  ['a VPN route with label', bgp(peer({ rest: route('ipv4/mpls-vpn rd 65000:1 label 100 add 10.0.0.0/8;') })), 0, 'valid'],
  ['a route without next hop means self', bgp(peer({ rest: route('ipv4/unicast add 10.0.0.0/8;', 'origin igp;') })), 0, 'valid'],
  [
    'half an attribute',
    bgp(peer({ rest: route('ipv4/unicast add 10.0.0.0/8;', 'attribute [ 25 0xc0 ];') })),
    1,
    'attribute takes [ code flags value ]',
  ],
  ['a bad prefix', bgp(peer({ rest: route('ipv4/unicast add 10.0.0.0/33;') })), 1, '10.0.0.0/33'],
  [
    'a prefix of another family',
    bgp(peer({ rest: route('ipv4/unicast add 2001:db8::/32;') })),
    1,
    'is not a prefix of the family',
  ],
  [
    'a split that is too fine',
    bgp(peer({ rest: route('ipv4/unicast add 0.0.0.0/0;', 'next-hop self; split /32;') })),
    1,
    'more than 65536',
  ],
  ['a short hub secret', 'plugin { hub { server main { port 1790; secret short; } } }', 1, 'at least 32 characters'],
  [
    'a short client secret',
    `plugin { hub { server main { port 1790; secret ${SECRET}; client a { secret x; } } } }`,
    1,
    'hub client a',
  ],
  ['a hub without secret', 'plugin { hub { server main { port 1790; } } }', 1, 'at least 32 characters'],
  ['a right hub', `plugin { hub { server main { host 127.0.0.1; port 1790; secret ${SECRET}; } } }`, 0, 'valid'],
  [
    'a listener conflict',
    `plugin { hub { server a { ip 127.0.0.1; port 1790; secret ${SECRET}; } server b { ip 0.0.0.0; port 1790; secret ${SECRET}; } } }`,
    1,
    'listener conflict',
  ],
  [
    'a conflict between services',
    'environment { web { enabled true; server a { ip 127.0.0.1; port 80; } } mcp { enabled true; server b { ip 127.0.0.1; port 80; } } }',
    1,
    'listener conflict',
  ],
  [
    'a service that is off',
    'environment { web { server a { ip 127.0.0.1; port 80; } } mcp { enabled true; server b { ip 127.0.0.1; port 80; } } }',
    0,
    'valid',
  ],
  [
    'IPv4 and IPv6 wildcards',
    `plugin { hub { server a { ip ::; port 1790; secret ${SECRET}; } server b { ip 0.0.0.0; port 1790; secret ${SECRET}; } } }`,
    0,
    'valid',
  ],
  ['run and use', 'plugin { external x { run a; use b; } }', 1, 'run and use exclude each other'],
  ['neither run nor use', 'plugin { external x { encoder json; } }', 1, 'needs run or use'],
  [
    'an undefined profile',
    'system { authentication { user a { profile [ admn ]; } } authorization { profile admin { } } }',
    1,
    'undefined profile: admn',
  ],
  ['mcp remote without auth', 'environment { mcp { bind-remote true; } }', 1, 'bind-remote requires auth-mode != none'],
  [
    'mcp oauth without server',
    'environment { mcp { auth-mode oauth; } }',
    1,
    'auth-mode=oauth requires oauth.authorization-server',
  ],
  [
    'mcp oauth without tls',
    'environment { mcp { auth-mode oauth; oauth { authorization-server x; } server a { ip 10.0.0.1; port 1; } } }',
    1,
    'auth-mode=oauth requires tls.cert and tls.key on non-loopback listeners',
  ],
  ['md5', bgp(peer({ rest: 'connection md5 password secret;' })), 1, 'md5 is not available in this version: refused'],
  ['ttl', bgp(peer({ rest: 'connection ttl max 1;' })), 1, 'ttl is not available in this version: refused'],
  [
    'a role whose exports are named',
    bgp(peer({ rest: 'role { import provider; export [ default unknown ]; }' })),
    0,
    'role export unknown is not available in this version and has no effect',
  ],
  [
    'a role between internal peers',
    bgp(peer({ rest: 'role { import provider; } session { asn { local 64512; remote 64512; } }' })),
    0,
    'a role counts between different AS numbers alone',
  ],
  [
    'a feature that is not built',
    bgp(peer({ rest: 'connection { bfd; }' })),
    0,
    'warning: line 8: bgp/peer/connection/bfd is not available',
  ],
  [
    'no router-id, but its own',
    `bgp { session { asn { local 1; } } ${peer().replace('session {', 'session { router-id 1.1.1.1;')} }`,
    0,
    'warning: line 1: no router-id',
  ],
  ['no router-id at all', `bgp { session { asn { local 1; } } ${peer()} }`, 1, 'router-id is required'],
  ['no local AS at all', `bgp { router-id 1.1.1.1; ${peer()} }`, 1, 'a local AS is required'],
  ['a log level', 'environment { log { level INFO; bgp.session debug; } }', 0, 'valid'],
  [
    'a bad log backend',
    'environment { log { backend sdterr; } }',
    1,
    'is not one of stderr, stdout, syslog (did you mean "stderr"?)',
  ],
  [
    'a remote address that is no host',
    bgp(peer({ remote: 'ip 0.0.0.0;' })),
    1,
    '0.0.0.0 is unspecified, not the address of a host',
  ],
  ['a remote address that is :: ', bgp(peer({ remote: 'ip ::;' })), 1, ':: is unspecified'],
  ['a multicast remote address', bgp(peer({ remote: 'ip 224.0.0.5;' })), 1, '224.0.0.5 is multicast'],
  ['the last multicast address', bgp(peer({ remote: 'ip 239.255.255.255;' })), 1, 'is multicast'],
  ['a multicast IPv6 remote address', bgp(peer({ remote: 'ip ff02::5;' })), 1, 'ff02::5 is multicast'],
  ['the broadcast address', bgp(peer({ remote: 'ip 255.255.255.255;' })), 1, 'is broadcast'],
  ['the address before multicast', bgp(peer({ remote: 'ip 223.255.255.254;' })), 0, 'configuration valid'],
  ['a multicast local address', bgp(peer({ local: 'ip 224.0.0.1;' })), 1, '224.0.0.1 is multicast'],
  [
    'host bits in an update block',
    bgp(peer({ rest: route('ipv4/unicast add 10.1.2.3/8;') })),
    0,
    '10.1.2.3/8 has host bits set: read as 10.0.0.0/8',
  ],
  ['host bits of IPv6', bgp(peer({ rest: route('ipv6/unicast add 2001:db8::1/32;') })), 0, 'read as 2001:db8::/32'],
  [
    'rd of unicast routes',
    bgp(peer({ rest: route('ipv4/unicast add 10.0.0.0/8;', 'rd 1:1;') })),
    1,
    'rd does not apply to ipv4/unicast',
  ],
  [
    'a label of unicast routes',
    bgp(peer({ rest: route('ipv4/unicast label 3 add 10.0.0.0/8;') })),
    1,
    'label does not apply to ipv4/unicast',
  ],
  ['a bad log level', 'environment { log { bgp.session loud; } }', 1, 'ze.log.bgp.session: "loud" is not a log level'],
  ['openwait 0', 'environment { bgp { openwait 0; } }', 1, 'openwait'],
  [
    'a queue of Zest',
    'plugin { external x { run y; queue { batches 8; on-overflow disconnect; } isolation thread; } }',
    0,
    'valid',
  ],
  ['a bad overflow', 'plugin { external x { run y; queue { on-overflow drop; } } }', 1, 'on-overflow'],
  ['route server of Zest', bgp('route-server { transparent true; best-path true; }'), 0, 'valid'],
];

for (const [name, text, exit, fragment] of rows) {
  test(`${name}: ${exit === 0 ? 'valid' : 'invalid'}`, () => {
    const report = validateReport(text, 't.conf');
    const said = `${report.stdout}${report.stderr}`;
    assert.ok(said.includes(fragment), `${fragment}\nnot in\n${said}`);
    assert.equal(report.exitCode, exit, report.stdout);
  });
}

test('an incomplete peer is named on standard error', () => {
  const text = bgp(peer({ asn: 'local 65000;' }));
  const { stdout, stderr } = validateReport(text, 't.conf');
  assert.match(stderr, /incomplete/);
  assert.doesNotMatch(stdout, /incomplete/, 'said once');
  assert.deepEqual(validateReport(text, 't.conf', { quiet: true }), { stdout: '', stderr: '', exitCode: 0 });
});
