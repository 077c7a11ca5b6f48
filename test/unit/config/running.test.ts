// From a text to what runs: inheritance, settings, sections for plugins, route blocks, environment, difference.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import { RouteCommands } from '../../../engine/codec/route-command.ts';
import { diffConfigs } from '../../../engine/config/diff.ts';
import { loadConfig, type LoadOptions } from '../../../engine/config/load.ts';
import type { RunningConfig } from '../../../engine/config/running.ts';
import { shipped } from '../../support/config-language.ts';

function load(text: string, options: Partial<LoadOptions> = {}): RunningConfig {
  const result = loadConfig(text, { path: 't.conf', ...options });
  assert.ok(result.ok, JSON.stringify(result.ok ? [] : result.faults));
  return result.config;
}

const LAYERS = `
plugin { external inject { run "true"; timeout 10s; respawn true; } external rs { use bgp-rs; } }
bgp {
  router-id 10.0.0.1
  session { asn { local 65000; } community { send [ standard large ]; } }
  timer { receive-hold-time 30; connect-retry 60; }
  filter { import [ A ]; }
  policy { prefix-list A { entry 0.0.0.0/0 { } } prefix-list B { entry 0.0.0.0/0 { } } prefix-list C { entry 0.0.0.0/0 { } } }
  update { attribute { next-hop self; } nlri { ipv4/unicast add 10.1.0.0/16; } }
  process rs { receive [ update ]; }
  group members {
    connection { local { ip 10.0.0.1; accept false; } }
    session { community { send [ all ]; } family { ipv4/unicast { prefix { maximum 100; } } } }
    timer { receive-hold-time 60; }
    filter { import [ B ]; }
    update { attribute { next-hop self; } nlri { ipv4/unicast add 10.2.0.0/16; } }
    peer one {
      connection { remote { ip 10.0.0.2; } }
      session { asn { remote 65001; } family { ipv4/unicast { prefix { warning 50; } } ipv6/unicast { prefix { maximum 7; } } } }
      timer { receive-hold-time 90; }
      filter { import [ C ]; }
      update { attribute { next-hop 10.0.0.9; med 5; } nlri { ipv4/unicast add 10.3.0.0/16; } }
      attach process inject { receive [ state ]; send [ update ]; content { encoding text; format full; } }
      inactive: description "off"
    }
    peer two { connection { remote { ip 10.0.0.3; } local { ip auto; } } session { asn { remote 65002; local 65100; } router-id 9.9.9.9; } }
  }
}
`;

test('bgp, then group, then peer: the most specific wins, chains and route blocks add up', () => {
  const config = load(LAYERS);
  const [one, two] = config.reactor.peers;
  assert.ok(one !== undefined && two !== undefined);
  assert.deepEqual(
    [one.name, one.group, one.holdTimeSeconds, one.connectRetrySeconds, one.accept],
    ['one', 'members', 90, 60, false],
  );
  assert.deepEqual([two.holdTimeSeconds, two.localAddress, two.localAs, two.routerId], [60, '', 65100, 0x09090909]);
  assert.deepEqual([one.communitySend, one.localAs, one.routerId], [['all'], 65000, 0x0a000001]);
  assert.deepEqual(
    one.families.map((family) => [family.family, family.prefixMaximum, family.prefixWarning]),
    [
      [257, 100, 50],
      [513, 7, 6],
    ],
  );
  assert.deepEqual(
    one.updates.map((update) => update.command),
    [
      'update text next-hop self nlri ipv4/unicast add 10.1.0.0/16',
      'update text next-hop self nlri ipv4/unicast add 10.2.0.0/16',
      'update text next-hop 10.0.0.9 med 5 nlri ipv4/unicast add 10.3.0.0/16',
    ],
  );
  assert.deepEqual(one.processes, [
    { process: 'rs', receive: ['update'], send: [] },
    { process: 'inject', receive: ['state'], send: ['update'], encoding: 'text', format: 'full' },
  ]);
  assert.deepEqual(
    config.processBindings.get('rs')?.map((binding) => binding.peer),
    ['one', 'two'],
  );
});

test('sections show plugins the effective tree, wrapped in the full path', () => {
  const config = load(LAYERS);
  const section = config.section('bgp/peer') as { bgp: { peer: Record<string, Record<string, unknown>> } };
  const one = section.bgp.peer['one'];
  assert.ok(one !== undefined);
  assert.deepEqual(Object.keys(section), ['bgp']);
  assert.deepEqual(one['timer'], { 'receive-hold-time': 90, 'connect-retry': 60 });
  assert.deepEqual(one['filter'], { import: ['A', 'B', 'C'] });
  assert.deepEqual(Object.keys(one['update'] as object), ['default', 'default 2', 'default 3']);
  assert.equal(one['group'], 'members');
  assert.equal('description' in one, false);
  const whole = config.section('*') as Record<string, unknown>;
  assert.deepEqual(Object.keys(whole), ['plugin', 'bgp']);
  assert.deepEqual(config.section('plugin/external/rs'), { plugin: { external: { rs: { use: 'bgp-rs' } } } });
  assert.equal(config.section('nothing'), undefined);
  assert.equal(config.section('bgp/constructor'), undefined);
});

test('capabilities, ADD-PATH and next hops become what the reactor knows', () => {
  const config = load(`bgp { router-id 1.1.1.1; session { asn { local 1; } }
    peer a {
      connection { local { ip 2001:DB8::1; port 1179; } remote { ip 2001:db8:0:0::2; port 2179; connect false; } }
      session {
        asn { remote 1; local-options [ no-prepend ]; }
        family { ipv4/unicast { mode require; prefix { maximum 10; teardown false; idle-timeout 30; } default-originate true; }
                 ipv6/unicast { prefix { maximum 10; } } ipv4/multicast { mode disable; prefix { maximum 1; } } ignore-mismatch; }
        capability { asn4 require; extended-message refuse; add-path { send true; } nexthop { ipv4/unicast ipv6; } }
        add-path { ipv6/unicast receive; }
        next-hop 2001:db8:0::9; cluster-id 0.0.0.7; route-reflector-client true; as-override true;
      }
      behavior { group-updates false; manual-eor true; }
      timer { send-hold-time 500; }
    } route-server { transparent true; best-path true; } multipath { maximum-paths 4; relax-as-path true; } }
    environment { bgp { openwait 9; announce-delay 1500ms; } }`);
  const [peer] = config.reactor.peers;
  assert.ok(peer !== undefined);
  const { families, ...rest } = peer;
  assert.deepEqual(
    families.map((one) => [one.family, one.mode, one.addPath, one.prefixTeardown, one.idleTimeoutSeconds]),
    [
      [257, 'require', 'send', false, 30],
      [513, 'enable', 'receive', true, 0],
    ],
  );
  assert.deepEqual(rest, {
    name: 'a',
    group: '',
    description: '',
    localAddress: '2001:db8::1',
    localPort: 1179,
    accept: true,
    remoteAddress: '2001:db8::2',
    remotePort: 2179,
    connect: false,
    localAs: 1,
    remoteAs: 1,
    routerId: 0x01010101,
    localAsOptions: ['no-prepend'],
    asOverride: true,
    communitySend: ['all'],
    routeReflectorClient: true,
    clusterId: 7,
    nextHop: '2001:db8::9',
    linkLocal: '',
    ignoreFamilyMismatch: true,
    asn4: 'require',
    routeRefresh: 'disable',
    extendedMessage: 'refuse',
    extendedNextHop: [{ family: 257, nextHopAfi: 2 }],
    holdTimeSeconds: 90,
    sendHoldTimeSeconds: 500,
    connectRetrySeconds: 0,
    groupUpdates: false,
    manualEor: true,
    routeServerTransparent: true,
    updates: [{ command: 'update text next-hop self nlri ipv4/unicast add 0.0.0.0/0' }],
    processes: [],
    importFilters: [],
    exportFilters: [],
  });
  const reactor = Object.fromEntries(Object.entries(config.reactor).filter(([name]) => name !== 'peers'));
  assert.deepEqual(reactor, {
    routerId: 0x01010101,
    localAs: 1,
    openWaitSeconds: 9,
    announceDelayMs: 1500,
    multipathMaximum: 4,
    multipathRelax: true,
    routeServerBestPath: true,
    routeServerTransparent: true,
    capabilities: [],
    portOverride: 0,
    cacheValveMs: 300_000,
    policies: {},
  });
});

const route = (attribute: string, nlri: string): string =>
  `bgp { router-id 1.1.1.1; session { asn { local 1; } } peer a { connection { local { ip 1.1.1.1; } remote { ip 1.1.1.2; } }
   session { asn { remote 2; } } update x { attribute { ${attribute} } nlri { ${nlri} } } } }`;

const commands: readonly (readonly [attribute: string, nlri: string, command: string])[] = [
  ['next-hop self;', 'ipv4/unicast add 10.1.2.3/8;', 'update text next-hop self nlri ipv4/unicast add 10.0.0.0/8'],
  [
    'next-hop self;',
    'ipv4/unicast add [ 10.0.0.0/8 11.0.0.0/8 ];',
    'update text next-hop self nlri ipv4/unicast add 10.0.0.0/8 11.0.0.0/8',
  ],
  ['', 'ipv4/unicast eor; ipv6/multicast eor;', 'update text nlri ipv4/unicast eor nlri ipv6/multicast eor'],
  [
    'origin igp; next-hop self; local-preference 7; as-path [ 1 2 ]; large-community 1:2:3; extended-community [ target:1:2 ];',
    'ipv6/unicast add 2001:DB8::/32;',
    'update text origin igp next-hop self local-preference 7 as-path [ 1 2 ] large-community [ 1:2:3 ] extended-community [ target:1:2 ] nlri ipv6/unicast add 2001:db8::/32',
  ],
  [
    'next-hop self; split /10;',
    'ipv4/unicast add 10.0.0.0/8;',
    'update text next-hop self nlri ipv4/unicast add 10.0.0.0/10 10.64.0.0/10 10.128.0.0/10 10.192.0.0/10',
  ],
  [
    'aggregator 65000:1.2.3.4; atomic-aggregate true; originator-id 1.1.1.1; cluster-list [ 2.2.2.2 ]; extended-community [ mark 5 target:1:2 ]; attribute [ 25 0xc0 0x01 ];',
    'ipv4/unicast add 10.0.0.0/8;',
    'update text aggregator 65000:1.2.3.4 originator-id 1.1.1.1 extended-community [ mark:5 target:1:2 ] cluster-list [ 2.2.2.2 ] atomic-aggregate attribute [ 25 0xc0 0x01 ] nlri ipv4/unicast add 10.0.0.0/8',
  ],
  [
    'next-hop self; path-information 7;',
    'ipv4/unicast add 10.0.0.0/8;',
    'update text next-hop self path-information 7 nlri ipv4/unicast add 10.0.0.0/8',
  ],
  [
    'next-hop self;',
    'ipv4/unicast add 10.0.0.0/8 del 11.0.0.0/8;',
    'update text next-hop self nlri ipv4/unicast add 10.0.0.0/8 del 11.0.0.0/8',
  ],
];

for (const [attribute, nlri, command] of commands) {
  test(`route block: ${command.slice(0, 70)}`, () => {
    assert.deepEqual(load(route(attribute, nlri)).reactor.peers[0]?.updates, [{ command }]);
  });
}

test('every command a block makes is one the codec reads', () => {
  const codec = new RouteCommands(new CodecRegistry());
  for (const [, , command] of commands) assert.deepEqual([command, codec.parse(command).ok], [command, true]);
});

test('a group can ask that paths begin with the neighbour, a peer can be let off', () => {
  const text = LAYERS.replace(
    'session { community { send [ all ]; }',
    'session { enforce-first-as true; community { send [ all ]; }',
  );
  const checks = (config: RunningConfig): unknown[] => config.reactor.peers.map((peer) => peer.enforceFirstAs);
  assert.deepEqual(checks(load(LAYERS)), [undefined, undefined]);
  assert.deepEqual(checks(load(text)), [true, true]);
  assert.deepEqual(checks(load(text.replace('remote 65001;', 'remote 65001; } enforce-first-as false; asn {'))), [false, true]);
});

test('routes of a pool are the plugin’s to announce', () => {
  const held = (word: string): number =>
    load(route('next-hop self;', 'ipv4/unicast add 10.0.0.0/8; } watchdog { name pool; ' + word)).reactor.peers[0]?.updates
      .length ?? -1;
  assert.equal(held(''), 0);
  // Announced from the start, and by the plugin that owns the pool all the same.
  assert.equal(held('withdraw false;'), 0);
});

const PRECEDENCE: readonly (readonly [
  name: string,
  env: Record<string, string>,
  flags: Record<string, string>,
  text: string,
  value: string,
  source: string,
])[] = [
  ['default', {}, {}, '', 'warn', 'default'],
  ['file', {}, {}, 'environment { log { level INFO; } }', 'info', 'config'],
  ['flag over file', {}, { 'log.level': 'debug' }, 'environment { log { level INFO; } }', 'debug', 'flag'],
  ['environment over flag', { 'ze.log.level': 'trace' }, { 'log.level': 'debug' }, '', 'trace', 'environment'],
  ['underscores', { ze_log_level: 'error' }, {}, '', 'error', 'environment'],
  ['capitals', { ZE_LOG_LEVEL: 'Warning' }, {}, '', 'warn', 'environment'],
];

for (const [name, env, flags, text, value, source] of PRECEDENCE) {
  test(`settings: ${name}`, () => {
    const setting = load(text, { env, flags }).environment.settings.find('ze.log.level');
    assert.deepEqual([setting?.value, setting?.source], [value, source]);
  });
}

test('settings: subsystems, ports, sockets, hyphens; the process environment of others is left alone', () => {
  const env = {
    ze_log_bgp_session: 'debug',
    'ze.log.plugin': 'off',
    ze_test_bgp_port: '1790',
    ZE_REACTOR_CACHE_TTL: '5',
    ze_reactor_thread: 'no',
    ZE_PLUGIN_STAGE_TIMEOUT: '250ms',
    ZE_PLUGIN_HUB_TOKEN: 'not ours',
    PATH: '/bin',
  };
  const config = load('environment { control { socket /run/z.sock; } state { dir /var/z; } ready { file /run/up; } }', { env });
  const environment = Object.fromEntries(Object.entries(config.environment).filter(([name]) => name !== 'settings'));
  assert.deepEqual(environment, {
    logLevels: { '': 'warn', 'bgp.session': 'debug', plugin: 'disabled' },
    logBackend: 'stderr',
    logDestination: '',
    logFile: '',
    logRelay: 'warn',
    pidFile: '',
    readyFile: '/run/up',
    user: '',
    controlSocket: '/run/z.sock',
    stateDir: '/var/z',
    reactorThread: false,
    cacheTtlSeconds: 5,
    cacheMaximum: 1000000,
    stageTimeoutMs: 250,
    deliveryTimeoutMs: 5000,
  });
  assert.equal(config.reactor.portOverride, 1790);
});

test('a bad value in the environment is a fault, an unknown name a warning', () => {
  const bad = loadConfig('', { path: 't', env: { ze_test_bgp_port: 'x' } });
  assert.match(bad.ok ? '' : (bad.faults[0]?.message ?? ''), /ze_test_bgp_port: "x" is not a port/);
  const format = loadConfig('', { path: 't', flags: { 'log.format': 'jsno' } });
  assert.match(
    format.ok ? '' : (format.faults[0]?.message ?? ''),
    /log\.format: "jsno" is none of text, json \(did you mean "json"\?\)/,
  );
  assert.ok(loadConfig('', { path: 't', env: { ze_log_format: '' } }).ok, 'an empty one is the default');
  const unknown = loadConfig('', { path: 't', env: { ze_redy_file: '/x' } });
  assert.match(unknown.warnings.at(-1)?.message ?? '', /ze_redy_file.*did you mean ze.ready.file/);
});

test('a bad value of a setting in the file is said once, where it stands', () => {
  const rows: readonly (readonly [text: string, message: string, column: number])[] = [
    ['environment { bgp { openwait \0; } }', 'environment/bgp/openwait: "\\x00" is not a number, 1..3600', 30],
    [
      'environment { bgp { openwait 9999999999999999; } }',
      'environment/bgp/openwait: 9999999999999999 is out of range (1..3600)',
      30,
    ],
    ['environment { log { level loud; } }', 'environment/log/level: "loud" is not one of disabled, error', 27],
    ['environment { log { bgp loud; } }', 'ze.log.bgp: "loud" is not a log level', 25],
    ['set environment reactor update-groups maybe\n', 'environment/reactor/update-groups: "maybe" is not one of true', 39],
  ];
  for (const [text, message, column] of rows) {
    const result = loadConfig(text, { path: 't' });
    const faults = result.ok ? [] : result.faults;
    assert.equal(faults.length, 1, text);
    assert.ok(faults[0]?.message.startsWith(message), `${faults[0]?.message}`);
    assert.deepEqual([faults[0]?.line, faults[0]?.column], [1, column], text);
  }
});

test('plugins: stage limit from leaf, environment, default; in-place plugins speak text', () => {
  const config = load(LAYERS.replace('process rs {', 'process own { run "./own"; }\n process rs {'), {
    env: { ze_plugin_stage_timeout: '7s' },
  });
  assert.deepEqual(
    config.plugins.map((plugin) => [plugin.name, plugin.run, plugin.use, plugin.encoder, plugin.respawn, plugin.timeoutMs]),
    [
      ['inject', 'true', '', 'json', true, 10000],
      ['rs', '', 'bgp-rs', 'json', undefined, 7000],
      ['own', './own', '', 'text', undefined, 7000],
    ],
  );
});

const DIFFS: readonly (readonly [name: string, from: string, to: string, peers: unknown])[] = [
  ['nothing', 'x', 'x', { added: [], removed: [], changed: [] }],
  ['a comment', 'router-id 10.0.0.1', 'router-id 10.0.0.1 # us', { added: [], removed: [], changed: [] }],
  [
    'a timer',
    'receive-hold-time 90',
    'receive-hold-time 91',
    {
      added: [],
      removed: [],
      changed: [{ name: 'one', change: 'reset', leaves: [{ path: 'timer/receive-hold-time', change: 'reset' }] }],
    },
  ],
  [
    'a binding',
    'receive [ state ]',
    'receive [ state update ]',
    {
      added: [],
      removed: [],
      changed: [{ name: 'one', change: 'live', leaves: [{ path: 'process/inject/receive', change: 'live' }] }],
    },
  ],
  [
    'a route of one peer',
    'add 10.3.0.0/16',
    'add 10.4.0.0/16',
    {
      added: [],
      removed: [],
      changed: [
        { name: 'one', change: 'live', leaves: [{ path: 'update/default 3/nlri/ipv4/unicast/content', change: 'live' }] },
      ],
    },
  ],
  ['a name', 'peer two {', 'peer three {', { added: ['three'], removed: ['two'], changed: [] }],
  ['switched off', 'peer two {', 'inactive: peer two {', { added: [], removed: ['two'], changed: [] }],
];

for (const [name, from, to, peers] of DIFFS) {
  test(`difference: ${name}`, () => {
    assert.deepEqual(diffConfigs(load(LAYERS), load(LAYERS.replace(from, to))).peers, peers);
  });
}

test('difference: what a peer takes from the bgp block, plugins, settings, roots', () => {
  const diff = diffConfigs(
    load(LAYERS),
    load(LAYERS.replace('router-id 10.0.0.1', 'router-id 10.0.0.8').replace('use bgp-rs', 'use bgp-rr'), {
      env: { ze_log_bgp: 'debug' },
    }),
  );
  assert.deepEqual(
    diff.peers.changed.map((peer) => [peer.name, peer.change, peer.leaves[0]?.path]),
    [['one', 'reset', 'router-id']],
  );
  assert.deepEqual([diff.plugins.changed, diff.environment, diff.roots], [['rs'], ['ze.log.bgp'], ['plugin', 'bgp']]);
  assert.deepEqual(diff.global, [{ path: 'router-id', change: 'reset' }]);
  assert.equal(diffConfigs(load(LAYERS), load(LAYERS)).empty, true);
});

test('three thousand peers load', () => {
  const peers = Array.from(
    { length: 3000 },
    (_, i) =>
      `peer p${i} { connection { remote { ip 10.${1 + (i >> 8)}.${i & 255}.1; } } session { asn { remote ${65001 + i}; } } }`,
  );
  const config = load(
    `bgp { router-id 1.1.1.1; session { asn { local 1; } } group g { connection local ip 1.1.1.1\n ${peers.join('\n')} } }`,
  );
  assert.equal(config.reactor.peers.length, 3000);
});

test('the examples of the language load', async (t) => {
  const options = await shipped();
  const shared = process.env['ZEST_SHARED'] ?? join(import.meta.dirname, '../../../../shared');
  let text: string;
  try {
    text = readFileSync(join(shared, 'spec/daemon-config.md'), 'utf8');
  } catch {
    t.skip('no ZEST_SHARED folder with the fact sheets');
    return;
  }
  const examples = [...text.matchAll(/### 14\.\d[^`]*```\n(.*?)```/gs)].map((match) => match[1]!);
  assert.equal(examples.length, 3);
  for (const [index, example] of examples.entries()) {
    const result = loadConfig(example, { ...options, path: `14.${index + 1}` });
    assert.ok(result.ok, JSON.stringify(result.ok ? [] : result.faults));
    // The third one asks for MD5 and TTL, with which this version runs no session.
    assert.equal(loadConfig(example, { ...options, judged: false, path: '' }).ok, index < 2);
  }
});
