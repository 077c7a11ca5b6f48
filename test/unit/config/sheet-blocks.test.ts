// The configuration sheet, §7 to §12, a row each: named filters, trees of plugins, the plugin block, environment and services, forms that
// the schema asks for, validation.
import { accepted, checkRows, refused, warned } from '../../support/config-rows.ts';

const PEER = `peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 65001; } family { ipv4/unicast { prefix { maximum 1000; } } } }`;
const bgp = (inner: string, inPeer = ''): string => `bgp {
  router-id 10.0.0.1
  session { asn { local 65000; } }
  ${inner}
  ${PEER}
    ${inPeer}
  }
}
`;
const policy = (inner: string, chain = ''): string => bgp(`policy { ${inner} }`, chain);
const importing = (names: string): string => `filter { import [ ${names} ]; }`;
const SECRET = 's'.repeat(32);

checkRows('7', [
  accepted(
    'prefix-list',
    policy(
      'prefix-list A { entry 0.0.0.0/0 { ge 8; le 24; action accept; } entry 2001:db8::/32 { action reject; } }',
      importing('A'),
    ),
  ),
  accepted(
    'prefix-list entry alone',
    policy('prefix-list A { entry 10.0.0.0/8; entry 11.0.0.0/8 { } }', importing('prefix-list:A')),
  ),
  accepted('prefix-list lines', policy('prefix-list A {\nentry 10.0.0.0/8 {\nge 9\nle 32\n}\n}')),
  accepted('plugin:NAME', policy('prefix-list A { entry 10.0.0.0/8; }', importing('bgp-filter-prefix:A'))),
  refused('prefix-list prefix', policy('prefix-list A { entry ‸10.0.0.0/33 { } }'), '10.0.0.0/33'),
  refused('prefix-list no length', policy('prefix-list A { entry ‸10.0.0.0 { } }'), '10.0.0.0'),
  refused('prefix-list ge below', policy('prefix-list A { entry 10.0.0.0/8 { ge ‸7; } }'), 'ge 7'),
  refused('prefix-list ge above', policy('prefix-list A { entry 10.0.0.0/8 { ge ‸33; } }'), 'ge 33'),
  refused('prefix-list le below ge', policy('prefix-list A { entry 10.0.0.0/8 { ge 24; le ‸16; } }'), 'le 16'),
  refused('prefix-list le above 32', policy('prefix-list A { entry 10.0.0.0/8 { le ‸64; } }'), 'le 64'),
  accepted('prefix-list le 128', policy('prefix-list A { entry 2001:db8::/32 { le 128; } }')),
  refused('prefix-list le 129', policy('prefix-list A { entry 2001:db8::/32 { le ‸129; } }'), 'le'),
  refused('prefix-list action', policy('prefix-list A { entry 10.0.0.0/8 { action ‸acept; } }'), 'did you mean "accept"'),
  refused(
    'prefix-list typo',
    policy('prefix-list A { entry 10.0.0.0/8 { ‸lee 24; } }'),
    'unknown field in entry: lee',
    'did you mean "le"',
  ),
  refused('prefix-list entry typo', policy('prefix-list A { ‸entri 10.0.0.0/8 { } }'), 'entri', 'did you mean "entry"'),
  refused('prefix-list twice', policy('prefix-list A { }\n‸prefix-list A { }'), 'duplicate list key for prefix-list: A'),
  refused(
    'prefix-list entry twice',
    policy('prefix-list A { entry 10.0.0.0/8; ‸entry 10.0.0.0/8; }'),
    'duplicate list key for entry: 10.0.0.0/8',
  ),
  refused('prefix-list name', policy('prefix-list ‸"a b" { }'), 'a b'),
  refused('prefix-list without name', policy('‸prefix-list { entri 10.0.0.0/8 { } }'), 'prefix-list needs a name'),
  refused('filter kind typo', policy('‸prefix-lst A { }'), 'unknown field in policy: prefix-lst', 'did you mean "prefix-list"'),
  accepted(
    'as-path-list',
    policy(
      'as-path-list P { entry "(^| )64510( |$)" { action reject; } entry ".*" { action accept; } }',
      importing('P as-path-list:P'),
    ),
  ),
  accepted('as-path-list bare', policy('as-path-list P { entry ^65000$ { action accept; } }')),
  refused('as-path-list regex', policy('as-path-list P { entry ‸"(65000" { } }'), '(65000'),
  refused('as-path-list lookahead', policy('as-path-list P { entry ‸"(?=6)" { } }'), 'RE2'),
  refused('as-path-list back reference', policy('as-path-list P { entry ‸"(6)\\\\1" { } }'), 'RE2'),
  accepted('as-path-list 512', policy(`as-path-list P { entry ${'6'.repeat(512)} { } }`)),
  refused('as-path-list 513', policy(`as-path-list P { entry ‸${'6'.repeat(513)} { } }`), '512'),
  accepted(
    'community-match',
    policy(
      'community-match C { entry 64500:1 { action accept; } entry no-export { type standard; action reject; } entry 64500:1:2 { type large; } entry target:64500:1 { type extended; action accept; } }',
      importing('C'),
    ),
  ),
  refused('community-match type', policy('community-match C { entry 64500:1 { type ‸big; } }'), 'standard, large, extended'),
  refused('community-match value', policy('community-match C { ‸entry 64500 { } }'), '64500'),
  refused('community-match kind', policy('community-match C { ‸entry 64500:1 { type large; } }'), '64500:1'),
  accepted(
    'modify',
    policy(
      'modify M { set { local-preference 180; med 5; origin egp; next-hop 192.0.2.1; as-path-prepend 3; } }',
      'filter { export [ M modify:M bgp-filter-modify:M ]; }',
    ),
  ),
  accepted('modify lines', policy('modify M {\nset {\nlocal-preference 180\n}\n}')),
  accepted('modify short', policy('modify M { set local-preference 180; }')),
  accepted('prepend 1', policy('modify M { set { as-path-prepend 1; } }')),
  accepted('prepend 32', policy('modify M { set { as-path-prepend 32; } }')),
  refused('prepend 0', policy('modify M { set { as-path-prepend ‸0; } }'), 'as-path-prepend', '1..32'),
  refused('prepend 33', policy('modify M { set { as-path-prepend ‸33; } }'), 'as-path-prepend', '1..32'),
  refused('modify next-hop IPv6', policy('modify M { set { next-hop ‸2001:db8::1; } }'), 'next-hop'),
  refused('modify origin', policy('modify M { set { origin ‸bgp; } }'), 'origin'),
  refused('modify med', policy('modify M { set { med ‸x; } }'), 'med'),
  refused('modify typo', policy('modify M { set { ‸local-pref 5; } }'), 'unknown field in set: local-pref'),
  refused('modify communities', policy('modify M { set { extended-community-add ‸targt:1:1; } }'), 'targt:1:1'),
  accepted('loop-detection', policy('loop-detection L { allow-own-as 3; cluster-id 10.0.0.9; }', importing('L'))),
  accepted('loop-detection 0', policy('loop-detection L { allow-own-as 0; }')),
  accepted('loop-detection 10', policy('loop-detection L { allow-own-as 10; }')),
  refused('loop-detection 11', policy('loop-detection L { allow-own-as ‸11; }'), 'allow-own-as', '0..10'),
  refused('loop-detection cluster', policy('loop-detection L { cluster-id ‸x; }'), 'cluster-id'),
  refused('loop-detection on export', policy('loop-detection L { }', 'filter { export [ ‸L ]; }'), 'import chains'),
  accepted('loop-detection off', policy('loop-detection L { }', importing('inactive:L'))),
  accepted('loop-detection off by type', bgp('', importing('inactive:loop-detection'))),
  accepted('off and unknown', bgp('', importing('inactive:NOPE'))),
  accepted('one filter', policy('modify M { set { med 1; } }', 'filter { import M; export M; }')),
  accepted(
    'chains of three levels',
    bgp('policy { modify M { set { med 1; } } } filter { import [ M ]; }', importing('modify:M')),
  ),
  refused('unknown filter', bgp('', importing('‸NOPE')), 'unknown filter in import: NOPE'),
  refused(
    'unknown filter of a type',
    policy('modify M { set { med 1; } }', importing('modify:M ‸modify:N')),
    'unknown filter in import: modify:N',
    'did you mean "modify:M"',
  ),
  refused('unknown filter near', policy('prefix-list SANE { entry 10.0.0.0/8; }', importing('‸SNAE')), 'did you mean "SANE"'),
  refused(
    'unknown filter of a plugin',
    policy('prefix-list SANE { entry 10.0.0.0/8; }', importing('‸bgp-filter-prefix:X')),
    'bgp-filter-prefix:X',
  ),
  refused('unknown plugin', bgp('', importing('‸nobody:X')), 'nobody:X'),
  refused('unknown filter in bgp', bgp('filter { export [ ‸NOPE ]; }'), 'unknown filter in export: NOPE'),
  refused(
    'unknown filter in bgp without peers',
    'bgp { router-id 1.1.1.1; session asn local 1; filter { import [ ‸NOPE ]; } }',
    'unknown filter in import: NOPE',
  ),
  refused(
    'unknown filter in a group without peers',
    'bgp { router-id 1.1.1.1; session asn local 1; group g { filter { import [ ‸NOPE ]; } } }',
    'unknown filter in import: NOPE',
  ),
  refused(
    'ambiguous',
    policy('modify A { set { med 1; } } prefix-list A { entry 10.0.0.0/8; }', importing('‸A')),
    'ambiguous',
    'prefix-list:A or modify:A',
  ),
  accepted(
    'tagging',
    bgp(
      'community { standard tag-a { value [ 64500:1 no-export ]; } large tag-b { value 64500:1:2; } extended tag-c { value [ target:64500:1 ]; } }',
      'filter { ingress { community { tag [ tag-a tag-b ]; strip [ tag-c ]; } } egress { community { strip [ tag-a ]; } } }',
    ),
  ),
  refused(
    'tagging unknown',
    bgp('community { standard tag-a { value 64500:1; } }', 'filter { ingress { community { tag [ ‸tag-b ]; } } }'),
    'unknown community set: tag-b',
    'did you mean "tag-a"',
  ),
  refused(
    'tagging unknown in a group without peers',
    'bgp { router-id 1.1.1.1; session asn local 1; group g { filter { ingress { community { tag [ ‸x ]; } } } } }',
    'unknown community set: x',
  ),
  refused('community set value', bgp('community { standard tag-a { value [ 64500:1 ‸64500 ]; } }'), '64500'),
  refused('community set large', bgp('community { large tag-a { value ‸64500:1; } }'), '64500:1'),
  refused('community set extended', bgp('community { extended tag-a { value ‸x:1; } }'), 'x:1'),
  refused('community kind', bgp('community { ‸standart tag-a { } }'), 'did you mean "standard"'),
  refused('filter leaf', bgp('', 'filter { ‸inport [ A ]; }'), 'unknown field in filter: inport', 'did you mean "import"'),
  refused('ingress leaf', bgp('', 'filter { ingress { community { ‸tags [ A ]; } } }'), 'unknown field in community: tags'),
]);

checkRows('8', [
  ...['provider', 'rs', 'rs-client', 'customer', 'peer'].map((word) =>
    accepted(`role ${word}`, bgp('', `role { import ${word}; strict true; }`)),
  ),
  refused('role word', bgp('', 'role { import ‸client; }'), 'provider, rs, rs-client, customer, peer'),
  accepted('role export', bgp('', 'role { import provider; export [ default ]; }')),
  warned('role export words', bgp('', 'role { import provider; export [ default unknown customer ]; }')),
  refused('role export word', bgp('', 'role { import provider; export [ ‸all ]; }'), 'export'),
  refused('role strict', bgp('', 'role { import provider; strict ‸perhaps; }'), 'strict'),
  accepted('role short', bgp('', 'role import customer;')),
  warned(
    'rpki',
    bgp(
      'rpki { cache-server 127.0.0.1 { port 3323; preference 50; } validation-timeout 60; policy { invalid-action log-only; not-found-action accept; } }',
    ),
  ),
  warned('rpki server alone', bgp('rpki { cache-server 2001:db8::1; }')),
  refused('rpki address', bgp('rpki { cache-server ‸rtr.example.net { } }'), 'cache-server'),
  refused('rpki port', bgp('rpki { cache-server 127.0.0.1 { port ‸0; } }'), 'port'),
  refused('rpki preference', bgp('rpki { cache-server 127.0.0.1 { preference ‸256; } }'), 'preference'),
  refused('rpki action', bgp('rpki { policy { invalid-action ‸drop; } }'), 'invalid-action', 'reject, log-only, accept'),
  refused('rpki typo', bgp('rpki { ‸cache-serevr 127.0.0.1 { } }'), 'did you mean "cache-server"'),
  warned(
    'bmp sender',
    bgp(
      'bmp { sender { collector c1 { address 192.0.2.1; port 11019; } route-monitoring-policy pre-policy; route-mirroring true; statistics-timeout 60; } }',
    ),
  ),
  refused('bmp policy', bgp('bmp { sender { route-monitoring-policy ‸none; } }'), 'pre-policy, post-policy, all'),
  refused('bmp address', bgp('bmp { sender { collector c1 { address ‸x; } } }'), 'address'),
  warned(
    'healthcheck',
    bgp(
      'healthcheck { probe dns { command "dig @127.0.0.1"; group dns-pool; interval 10; fast-interval 2; timeout 3; rise 2; fall 4; withdraw-on-down true; disable false; debounce true; up-metric 50; down-metric 500; disabled-metric 100; ip-setup { interface lo; dynamic true; ip [ 192.0.2.1/32 ]; } on-up [ "echo up" ]; on-down "echo down"; on-disabled [ a b ]; on-change c; } }',
    ),
  ),
  refused('healthcheck groups', bgp('healthcheck { probe a { command x; group g; } probe b { command x; group g; } }'), 'group'),
  refused('healthcheck interval', bgp('healthcheck { probe a { command x; group g; interval ‸often; } }'), 'interval'),
  refused('healthcheck typo', bgp('healthcheck { probe a { ‸comand x; } }'), 'did you mean "command"'),
  warned('redistribute', 'redistribute { import static { family [ ipv4/unicast ipv6/unicast ]; } }'),
  warned('redistribute bare', 'redistribute { import connected; }'),
  refused('redistribute family', 'redistribute { import static { family [ ‸ipv4/unicas ]; } }', 'did you mean "ipv4/unicast"'),
  warned('bmp receiver', 'environment { bmp { enabled true; server main { ip 127.0.0.1; port 11019; } max-sessions 10; } }'),
  refused('bmp receiver sessions', 'environment { bmp { max-sessions ‸1001; } }', 'max-sessions', '1..1000'),
  refused('bmp receiver no sessions', 'environment { bmp { max-sessions ‸0; } }', 'max-sessions'),
]);

checkRows('9', [
  accepted('run', 'plugin { external x { run "node ./x.js"; encoder json; respawn true; timeout 10s; } }'),
  accepted('run lines', 'plugin {\nexternal x {\nrun "node ./x.js"\nencoder text\n}\n}'),
  accepted('use', 'plugin { external rib { use bgp-rib; } external rs { use bgp-rs; } external in { use bgp-adj-rib-in; } }'),
  accepted('use of a path', 'plugin { external own { use ./own.js; } }'),
  refused('run and use', 'plugin { external x { run a; use ‸b; } }', 'exclude each other'),
  refused('neither', 'plugin { ‸external x { encoder json; } }', 'needs run or use'),
  refused('encoder', 'plugin { external x { run a; encoder ‸xml; } }', 'json, text'),
  refused('respawn', 'plugin { external x { run a; respawn ‸always; } }', 'respawn'),
  refused('timeout', 'plugin { external x { run a; timeout ‸soon; } }', 'timeout'),
  accepted('timeout of two units', 'plugin { external x { run a; timeout 1m30s; } }'),
  refused('timeout of a unit and none', 'plugin { external x { run a; timeout ‸1m30; } }', 'timeout'),
  accepted('timeout number', 'plugin { external x { run a; timeout 5; } }'),
  refused('twice', 'plugin { external x { run a; } ‸external x { run b; } }', 'duplicate list key for external: x'),
  refused('without name', 'plugin { ‸external { runn a; } }', 'external'),
  refused('typo', 'plugin { external x { ‸rn a; } }', 'unknown field in external: rn', 'did you mean "run"'),
  refused('top typo', 'plugin { ‸externl x { run a; } }', 'unknown field in plugin: externl', 'did you mean "external"'),
  refused('empty run', 'plugin { external x { run ‸""; } }', 'run'),
  accepted('hub', `plugin { hub { server main { ip 127.0.0.1; port 1790; secret ${SECRET}; } } }`),
  accepted(
    'hub host',
    `plugin { hub { server main { host 127.0.0.1; port 1790; secret ${SECRET}; client a { secret ${SECRET}; } } } }`,
  ),
  accepted(
    'hub with clients alone',
    `plugin { hub { server main { ip 127.0.0.1; port 1790; client a { secret ${SECRET}; } } } }`,
  ),
  refused('hub secret 31', `plugin { hub { server main { ip 127.0.0.1; port 1790; secret ‸${'s'.repeat(31)}; } } }`, '32'),
  refused(
    'client secret 31',
    `plugin { hub { server main { ip 127.0.0.1; port 1790; secret ${SECRET}; client a { secret ‸${'s'.repeat(31)}; } } } }`,
    '32',
    'client a',
  ),
  refused('hub address', `plugin { hub { server main { ip ‸x; port 1790; secret ${SECRET}; } } }`, 'ip'),
  refused('hub port', `plugin { hub { server main { ip 127.0.0.1; port ‸70000; secret ${SECRET}; } } }`, 'port'),
  warned('managed node', `plugin { hub { client site { host hub.example.net; port 1790; secret ${SECRET}; } } }`),
  refused('managed node secret', 'plugin { hub { client site { host hub.example.net; port 1790; secret ‸short; } } }', '32'),
  refused(
    'two hubs on a port',
    `plugin { hub { server a { ip 127.0.0.1; port 1790; secret ${SECRET}; } ‸server b { ip 127.0.0.1; port 1790; secret ${SECRET}; } } }`,
    'listener conflict',
  ),
]);

const LISTENER = 'enabled true; server main { ip 127.0.0.1; port 8443; }';
checkRows('10', [
  accepted('daemon', 'environment { daemon { pid /run/zest.pid; user zeuser; } }'),
  accepted(
    'log',
    'environment { log { level INFO; backend stderr; relay debug; bgp.session debug; bgp.routes trace; plugin error; } }',
  ),
  ...['disabled', 'debug', 'info', 'warn', 'error', 'INFO', 'DEBUG', 'warning', 'err'].map((level) =>
    accepted(`log level ${level}`, `environment { log { level ${level}; } }`),
  ),
  refused('log level', 'environment { log { level ‸loud; } }', 'level'),
  refused('log subsystem level', 'environment { log { bgp.session ‸loud; } }', 'loud'),
  refused('log backend', 'environment { log { backend ‸file; } }', 'backend'),
  accepted('log syslog', 'environment { log { backend syslog; destination 192.0.2.1:514; } }'),
  accepted('log stdout', 'environment { log { backend stdout; } }'),
  warned('pprof', 'environment { pprof { enabled true; port 6060; } }'),
  warned('pprof bare', 'environment { pprof; }'),
  warned('chaos', 'environment { chaos { seed 42; rate 0.5; } }'),
  refused('chaos rate', 'environment { chaos { rate ‸1.5; } }', 'rate'),
  refused('chaos seed', 'environment { chaos { seed ‸-1; } }', 'seed'),
  warned('exabgp', 'environment { exabgp { api { ack false; } } }'),
  accepted('bgp', 'environment { bgp { openwait 60; announce-delay 5s; } }'),
  accepted('openwait 1', 'environment { bgp { openwait 1; } }'),
  accepted('openwait 3600', 'environment { bgp { openwait 3600; } }'),
  refused('openwait 0', 'environment { bgp { openwait ‸0; } }', 'openwait', '1..3600'),
  refused('openwait 3601', 'environment { bgp { openwait ‸3601; } }', 'openwait', '1..3600'),
  refused('announce-delay', 'environment { bgp { announce-delay ‸later; } }', 'announce-delay'),
  accepted('reactor', 'environment { reactor { cache-ttl 30; cache-max 5000; update-groups false; } }'),
  warned('reactor speed', 'environment { reactor { speed 2.0; } }'),
  refused('reactor speed', 'environment { reactor { speed ‸fast; } }', 'speed'),
  refused('reactor groups', 'environment { reactor { update-groups ‸maybe; } }', 'update-groups'),
  warned('ssh', `environment { ssh { ${LISTENER} host-key /etc/zest/key; idle-timeout 300; max-sessions 4; } }`),
  warned('web', `environment { web { ${LISTENER} insecure true; } }`),
  warned('looking glass', `environment { looking-glass { ${LISTENER} tls true; } }`),
  warned(
    'several servers',
    'environment { web { enabled true; server a { ip 127.0.0.1; port 1; } server b { ip ::1; port 1; } } }',
  ),
  refused('server port', 'environment { web { server a { ip 127.0.0.1; port ‸65536; } } }', 'port'),
  refused('server address', 'environment { web { server a { ip ‸localhost; port 1; } } }', 'ip'),
  refused('server enabled', 'environment { web { enabled ‸maybe; } }', 'enabled'),
  warned('enabled enable', 'environment { web { enabled enable; server a { ip 127.0.0.1; port 1; } } }'),
  warned('mcp', `environment { mcp { ${LISTENER} auth-mode bearer; token abc; } }`),
  warned(
    'mcp list',
    `environment { mcp { ${LISTENER} bind-remote true; auth-mode bearer-list; identity a { token t; scope [ read write ]; } } }`,
  ),
  warned(
    'mcp oauth',
    'environment { mcp { enabled true; server a { ip 127.0.0.1; port 80; } auth-mode oauth; oauth { authorization-server https://as.example.net; audience zest; required-scopes [ a b ]; } } }',
  ),
  warned(
    'mcp oauth tls',
    'environment { mcp { enabled true; bind-remote true; server a { ip 10.0.0.1; port 80; } auth-mode oauth; oauth { authorization-server https://as.example.net; } tls { cert /c; key /k; } } }',
  ),
  refused('mcp auth-mode', 'environment { mcp { auth-mode ‸basic; } }', 'none, bearer, bearer-list, oauth'),
  refused('mcp remote', 'environment { mcp { enabled true; bind-remote ‸true; } }', 'bind-remote requires auth-mode != none'),
  refused('mcp oauth server', 'environment { mcp { auth-mode ‸oauth; } }', 'auth-mode=oauth requires oauth.authorization-server'),
  refused(
    'mcp oauth remote tls',
    'environment { mcp { bind-remote true; auth-mode ‸oauth; oauth { authorization-server x; } } }',
    'auth-mode=oauth requires tls.cert and tls.key on non-loopback listeners',
  ),
  refused(
    'mcp oauth wildcard tls',
    'environment { mcp { enabled true; auth-mode ‸oauth; oauth { authorization-server x; } server a { ip 0.0.0.0; port 80; } } }',
    'auth-mode=oauth requires tls.cert and tls.key on non-loopback listeners',
  ),
  warned(
    'api-server',
    'environment { api-server { token t; rest { enabled true; server main { ip 127.0.0.1; port 8081; } cors-origin "*"; } grpc { enabled true; server main { ip 127.0.0.1; port 50051; } tls-cert /c; tls-key /k; } } }',
  ),
  refused('api-server typo', 'environment { api-server { ‸rset { } } }', 'did you mean "rest"'),
  warned(
    'prometheus',
    'telemetry { prometheus { enabled true; server main { ip 127.0.0.1; port 9273; } path /metrics; basic-auth { enabled true; realm r; username u; password p; } netdata { enabled true; prefix zest; interval 5; collector cpu { enabled false; interval 10; } } } }',
  ),
  refused('prometheus path', 'telemetry { prometheus { path ‸metrics; } }', 'path'),
  refused('prometheus interval', 'telemetry { prometheus { netdata { interval ‸0; } } }', 'interval'),
  warned(
    'system',
    'system { host $HOSTNAME; domain example.net; name-server [ 192.0.2.53 2001:db8::53 ]; dns { cache 100; } peeringdb { url https://www.peeringdb.com; margin 20; } }',
  ),
  refused('name-server', 'system { name-server ‸dns.example.net; }', 'name-server'),
  refused('margin', 'system { peeringdb { margin ‸101; } }', 'margin'),
  warned(
    'archive',
    'system { archive local { location /var/backups; trigger commit; filename zest.conf; timeout 10s; on-change true; } }',
  ),
  ...['commit', 'manual', 'daily', 'hourly'].map((word) =>
    warned(`archive ${word}`, `system { archive a { location /x; trigger ${word}; } }`),
  ),
  refused('archive trigger', 'system { archive a { trigger ‸weekly; } }', 'commit, manual, daily, hourly'),
  warned(
    'users',
    'system { authentication { user admin { password "$2b$10$abcdefghijklmnopqrstuv"; profile [ ops ]; public-keys laptop { type ssh-ed25519; key AAAA; } } user b { plaintext-password x; } } authorization { profile ops { run { default-action allow; entry 10 { action deny; match "peer * teardown"; } entry 20 { action allow; regex "^show"; } } edit { default-action deny; } } } }',
  ),
  refused(
    'undefined profile',
    'system { authentication { user a { profile [ ‸admn ]; } } authorization { profile admin { } } }',
    'undefined profile',
    'did you mean "admin"',
  ),
  refused('entry number', 'system { authorization { profile p { run { entry ‸x { action allow; } } } } }', 'number'),
  refused('entry action', 'system { authorization { profile p { run { entry 1 { action ‸permit; } } } } }', 'allow, deny'),
  refused('default-action', 'system { authorization { profile p { edit { default-action ‸none; } } } }', 'allow, deny'),
  refused('environment typo', 'environment { ‸lgo { level info; } }', 'unknown field in environment: lgo', 'did you mean "log"'),
  refused('removed tcp', 'environment { ‸tcp { port 179; } }', 'unknown field in environment: tcp'),
  refused(
    'web and prometheus on a port',
    'environment { web { enabled true; server a { ip 0.0.0.0; port 9273; } } } telemetry { prometheus { enabled true; ‸server m { ip 127.0.0.1; port 9273; } } }',
    'listener conflict',
  ),
  refused(
    'a service without a server listens on its default',
    'environment { web { enabled true; } ssh { enabled true; ‸server a { ip 127.0.0.1; port 3443; } } }',
    'listener conflict: environment/ssh/server/a and environment/web both listen',
  ),
  refused(
    'a server without a port has the default one',
    'environment { ssh { enabled true; server a { ip 127.0.0.1; port 8080; } } mcp { enabled true; ‸server b { } } }',
    'listener conflict',
  ),
  refused(
    'wildcard second',
    'environment { web { enabled true; server a { ip 127.0.0.1; port 80; } } looking-glass { enabled true; ‸server b { ip 0.0.0.0; port 80; } } }',
    'listener conflict',
  ),
  refused(
    'IPv6 wildcard',
    'environment { web { enabled true; server a { ip ::1; port 80; } } looking-glass { enabled true; ‸server b { ip ::; port 80; } } }',
    'listener conflict',
  ),
  refused(
    'same address spelt apart',
    'environment { web { enabled true; server a { ip 2001:db8::1; port 80; } } looking-glass { enabled true; ‸server b { ip 2001:DB8:0::1; port 80; } } }',
    'listener conflict',
  ),
  warned(
    'families apart',
    'environment { web { enabled true; server a { ip 0.0.0.0; port 80; } } looking-glass { enabled true; server b { ip ::; port 80; } } }',
  ),
  warned(
    'ports apart',
    'environment { web { enabled true; server a { ip 0.0.0.0; port 80; } server b { ip 0.0.0.0; port 81; } } }',
  ),
  warned('port 0', 'environment { web { enabled true; server a { ip 0.0.0.0; port 0; } server b { ip 0.0.0.0; port 0; } } }'),
  warned(
    'one of them off',
    'environment { web { enabled false; server a { ip 0.0.0.0; port 80; } } looking-glass { enabled true; server b { ip 0.0.0.0; port 80; } } }',
  ),
  warned(
    'one of them inactive',
    'environment { web { enabled true; server a { ip 0.0.0.0; port 80; } inactive: server b { ip 0.0.0.0; port 80; } } }',
  ),
  refused(
    'same service',
    'environment { web { enabled true; server a { ip 127.0.0.1; port 80; } ‸server b { ip 127.0.0.1; port 80; } } }',
    'listener conflict',
  ),
  ...['rib', 'fib', 'interface', 'static', 'policy-route', 'bfd', 'sysctl', 'firewall', 'traffic-control', 'l2tp', 'vpp'].map(
    (root) =>
      warned(
        `router function ${root}`,
        `${root} { some thing; deeper { a 1; b [ 1 2 3 ]; c { d; } } }`,
        `${root} is not available`,
      ),
  ),
  accepted(
    'control socket',
    'environment { control { socket /run/zest/control.sock; } state { dir /var/lib/zest; } ready { file /run/zest/ready; } }',
  ),
]);

checkRows('11', [
  accepted(
    'a repeated block goes on',
    'environment { log { level info; } log { bgp debug; } }\nenvironment { bgp { openwait 5; } }',
  ),
  warned('a leaf again', 'environment { bgp { openwait 5; openwait 6; } }'),
  accepted('inactive in front', 'environment { inactive: bgp { openwait 5; } }'),
  accepted('inactive leaf', 'environment { bgp { inactive: openwait 5; } }'),
  accepted('inactive filter', policy('modify M { set { med 1; } } inactive: modify N { set { med 1; } }')),
  refused(
    'an inactive filter is absent',
    policy('inactive: modify M { set { med 1; } }', importing('‸M')),
    'unknown filter in import: M',
  ),
  accepted('one of two inactive', 'plugin { external x { run a; } inactive: external x { run b; } }'),
  refused('inactive of nothing', 'environment { inactive: ‸nope { } }', 'unknown field in environment: nope'),
  refused('state of the system', 'bgp { ‸inactive true; }', 'unknown field in bgp: inactive'),
  refused('a brace is missing', 'environment { log { level info; }', 'is not closed'),
  refused('a brace too many', 'environment { }\n‸}', 'closes nothing'),
  refused('a quote is missing', 'plugin { external x { run ‸"abc; } }', 'unterminated string'),
  refused('a bracket is missing', bgp('', 'filter { import [ A ; }'), ']'),
  refused('a value is missing', 'environment { bgp { openwait ‸; } }', 'openwait needs a value'),
  refused('a value too many', 'environment { bgp { openwait 5 ‸6; } }', '";"'),
  refused('no semicolon before a brace', 'environment { bgp { openwait 5 ‸} }', '";"'),
  refused('a container with a word', 'environment { log ‸verbose; }', 'verbose'),
  refused('a list without key', 'plugin { external‸; }', 'external needs a name'),
  refused('top level', '‸bpg { }', 'unknown top-level keyword: bpg', 'did you mean "bgp"'),
  refused('top level word', '‸hello', 'unknown top-level keyword: hello'),
  refused('punctuation', '‸{ }', 'expected a keyword'),
]);

checkRows('12', [
  refused('bgp listen', bgp('‸listen 0.0.0.0;'), 'unknown field in bgp: listen'),
  refused('global TCP port', bgp('‸tcp { port 179; }'), 'unknown field in bgp: tcp'),
  refused('flow block', bgp('', '‸flow { route a { match { source 10.0.0.1/32; } then { discard; } } }'), 'unknown field in'),
  refused('static block', bgp('', '‸static { route 10.0.0.0/8 next-hop 10.0.0.1; }'), 'unknown field in peer: static'),
  refused('neighbor', '‸neighbor 10.0.0.2 { router-id 1.1.1.1; }', 'unknown top-level keyword: neighbor'),
  refused('template', '‸template { }', 'unknown top-level keyword: template'),
  refused('process at the top', '‸process x { run y; }', 'unknown top-level keyword: process'),
  warned(
    'no router-id',
    `bgp { session { asn { local 65000; } } ${PEER.replace('session {', 'session { router-id 10.0.0.9;')} } }`,
    'no router-id',
  ),
  warned('no local AS', `bgp { router-id 10.0.0.1; ${PEER.replace('asn { remote', 'asn { local 65000; remote')} } }`, 'local AS'),
  warned('an empty text', '', 'empty'),
  warned('blanks', ' \n\t\r\n', 'empty'),
  warned('a comment', '# nothing', 'empty'),
  accepted('no bgp', 'environment { log { level info; } }'),
  warned('an empty bgp', 'bgp { }', 'no router-id'),
]);
