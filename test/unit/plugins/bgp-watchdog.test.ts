// bgp-watchdog: blocks of the configuration to words, and the difference between what is wanted and what was told.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { CodecRegistry, type NlriCaller } from '../../../engine/codec/registry.ts';
import { RouteCommands } from '../../../engine/codec/route-command.ts';
import { loadConfig } from '../../../engine/config/load.ts';
import type { RunningConfig } from '../../../engine/config/running.ts';
import { Pools, peersOf } from '../../../plugins/bgp-watchdog/pools.ts';

const FAMILIES = 'ipv4/unicast ipv6/unicast ipv4/mpls-label ipv4/mpls-vpn ipv4/multicast ipv4/flow'
  .split(' ')
  .map((name) => `${name} { prefix { maximum 1000; } }`)
  .join(' ');

/** Peers by name with their own statements; `global` stands in bgp, `inGroup` in the group of the peer `member`. */
function config(peers: Readonly<Record<string, string>>, global = '', inGroup = ''): RunningConfig {
  const blocks = Object.entries(peers).map(([name, own], at) => {
    const block = `peer ${name} {
      connection { local { ip 127.0.0.1; } remote { ip 127.0.0.${at + 2}; } }
      session { asn { remote ${65_001 + at}; } family { ${FAMILIES} } }
      ${own}
    }`;
    return name === 'member' ? `group g { ${inGroup} ${block} }` : block;
  });
  const text = `bgp { router-id 10.0.0.1; session { asn { local 65000; } } ${global} ${blocks.join('\n')} }`;
  const result = loadConfig(text, { path: 'test', builtins: [] });
  assert.ok(result.ok, result.ok ? '' : result.faults.map((fault) => fault.message).join('\n'));
  return result.config;
}

const block = (attribute: string, nlri: string, watchdog: string): string =>
  `update { attribute { next-hop 192.0.2.1; ${attribute} } nlri { ${nlri}; } ${watchdog === '' ? '' : `watchdog { ${watchdog} }`} }`;

function poolsOf(running: RunningConfig): Pools {
  const pools = new Pools();
  pools.peers = peersOf(running.section('bgp/peer'));
  return pools;
}

/** Tells everything that is due, and says what that was: `peers: command`. */
function tell(pools: Pools): readonly string[] {
  return pools.due().map(({ command, peers, done }) => {
    done(peers);
    return `${peers.join(',')}: ${command}`;
  });
}

/** Of families that plugins write: NLRI of the right shape that differ as the words do. */
const caller = {
  encodeNlri: (_plugin: string, { family, args = [] }: { readonly family: string; readonly args?: readonly string[] }) => {
    const digest = createHash('sha1').update(args.join(' ')).digest('hex');
    const head = { 'ipv4/flow': '060120', 'ipv4/mpls-label': '38000001', 'ipv4/mpls-vpn': '78000001' }[family] ?? '';
    return Promise.resolve(head + digest.slice(0, family === 'ipv4/mpls-vpn' ? 24 : 8));
  },
} as unknown as NlriCaller;

const SAME: readonly (readonly [attribute: string, nlri: string])[] = [
  ['', 'ipv4/unicast add 10.0.0.0/8'],
  ['origin egp; med 5; local-preference 7;', 'ipv4/unicast add 10.0.0.0/8 11.0.0.0/8'],
  ['as-path [ 1 2 3 ]; community [ 1:2 no-export ]; large-community [ 1:2:3 ];', 'ipv4/unicast add prefix 10.0.0.1/8'],
  ['extended-community [ target:1:2 mark 5 ]; aggregator 1:10.0.0.1;', 'ipv4/unicast add [ 10.0.0.0/8 ]'],
  ['atomic-aggregate true; originator-id 10.0.0.3; cluster-list [ 10.0.0.3 10.0.0.4 ];', 'ipv4/multicast add 10.0.0.0/8'],
  ['attribute [ 0x20 0xc0 0x000000010000000200000003 ];', 'ipv4/unicast add 10.0.0.0/8'],
  ['split /10;', 'ipv4/unicast add 10.0.0.0/8'],
  ['path-information 5;', 'ipv4/unicast add 10.0.0.0/8 add 11.0.0.0/8'],
  ['', 'ipv4/unicast path-information 9 add 10.0.0.0/8'],
  ['label 5;', 'ipv4/mpls-label add 10.0.0.0/8 11.0.0.0/8'],
  ['labels [ 5 6 ];', 'ipv4/mpls-label add 10.0.0.0/8'],
  ['rd 65000:1; label 5;', 'ipv4/mpls-vpn add 10.0.0.0/8'],
  ['label 5;', 'ipv4/mpls-vpn rd 65000:1 add 10.0.0.0/8 11.0.0.0/8'],
  ['rd 65000:1; label 5;', 'ipv4/mpls-vpn add 10.0.0.0/8; ipv4/unicast add 11.0.0.0/8'],
  ['', 'ipv4/flow add destination 10.0.0.0/8 protocol =6'],
  ['', 'ipv4/flow add destination 10.0.0.0/8; ipv4/flow add destination 11.0.0.0/8'],
];
for (const [attribute, nlri] of SAME) {
  test(`a pool announces what the same block without a pool does: ${attribute} ${nlri}`, async () => {
    const registry = new CodecRegistry();
    for (const name of ['ipv4/flow', 'ipv4/mpls-vpn', 'ipv4/mpls-label']) registry.claim('writer', [{ name, mode: 'both' }]);
    const commands = new RouteCommands(registry);
    const said = async (command: string, attributes = true): Promise<readonly string[]> => {
      const parsed = await commands.resolve(command, caller);
      assert.ok(parsed.ok, parsed.ok ? '' : `${command}: ${parsed.fault.message}`);
      const { sections } = parsed.value;
      const path = Buffer.concat([parsed.value.attributes, parsed.value.nextHop]).toString('hex');
      return sections.map(({ family, pathId, announce, withdraw }) =>
        [
          attributes ? path : '',
          family,
          pathId,
          Buffer.from(announce).toString('hex'),
          Buffer.from(withdraw).toString('hex'),
        ].join(' '),
      );
    };
    /** One string a family and path: sections of several commands come together. */
    const together = (all: readonly string[]): readonly string[] => {
      const runs = new Map<string, string>();
      for (const one of all) {
        const words = one.split(' ');
        const key = words.slice(0, 3).join(' ');
        runs.set(key, (runs.get(key) ?? '') + words.slice(3).join(''));
      }
      return [...runs].map(([key, bytes]) => `${key} ${bytes}`).sort();
    };
    const [plain] = config({ a: block(attribute, nlri, '') }).reactor.peers;
    const expected = await Promise.all(plain!.updates.map(({ command }) => said(command)));
    const pools = poolsOf(config({ a: block(attribute, nlri, 'name p; withdraw false;') }));
    const words = (): readonly string[] => tell(pools).map((line) => line.replace(/^a: /, ''));
    const announced = words();
    const actual = await Promise.all(announced.map((command) => said(command)));
    assert.deepEqual(together(actual.flat()), together(expected.flat()));
    // And it withdraws what it announced.
    pools.sayAll('p', false, undefined);
    const withdrawn = await Promise.all(words().map((command) => said(command, false)));
    const bare = await Promise.all(announced.map((command) => said(command, false)));
    assert.deepEqual(together(withdrawn.flat()), together(bare.flat()));
    assert.deepEqual(words(), []);
  });
}

const one = (watchdog = 'name web;', prefixes = '10.1.0.0/16 10.2.0.0/16', attribute = ''): string =>
  block(attribute, `ipv4/unicast add ${prefixes}`, watchdog);
const HEAD = 'update text next-hop 192.0.2.1';

test('a pool is held back, or announced from the start', () => {
  const pools = poolsOf(config({ a: one() + one('name open; withdraw false;', '10.9.0.0/16') }));
  assert.deepEqual(tell(pools), [`a: ${HEAD} nlri ipv4/unicast add 10.9.0.0/16`]);
  assert.deepEqual(tell(pools), []);
});

test('pools of bgp, of a group and of a peer are all the peer’s', () => {
  const running = config(
    { a: '', member: one('name own;', '10.3.0.0/16') },
    one('name all;', '10.1.0.0/16'),
    one('name mid;', '10.2.0.0/16'),
  );
  const pools = poolsOf(running);
  assert.deepEqual(pools.names(), ['all', 'mid', 'own']);
  for (const name of pools.names()) pools.sayAll(name, true, undefined);
  assert.deepEqual(tell(pools).toSorted(), [
    `a: ${HEAD} nlri ipv4/unicast add 10.1.0.0/16`,
    `member: ${HEAD} nlri ipv4/unicast add 10.1.0.0/16 10.2.0.0/16 10.3.0.0/16`,
  ]);
});

test('announced, again, with a MED, withdrawn', () => {
  const pools = poolsOf(config({ a: one('name web;', '10.1.0.0/16', 'med 9;') }));
  const add = (med: number): string[] => [`a: ${HEAD} med ${med} nlri ipv4/unicast add 10.1.0.0/16`];
  pools.say('a', 'web', true, undefined);
  assert.deepEqual(tell(pools), add(9));
  pools.say('a', 'web', true, undefined);
  assert.deepEqual(tell(pools), []);
  pools.say('a', 'web', true, '5');
  assert.deepEqual(tell(pools), add(5));
  pools.say('a', 'web', true, '5');
  assert.deepEqual(tell(pools), []);
  pools.sayAll('web', true, undefined);
  assert.deepEqual(tell(pools), [], 'an announce without MED leaves the MED alone');
  pools.say('a', 'web', false, undefined);
  assert.deepEqual(tell(pools), ['a: update text nlri ipv4/unicast del 10.1.0.0/16']);
  pools.say('a', 'web', true, undefined);
  assert.deepEqual(tell(pools), add(9));
});

test('what was said of one peer goes before what was said of all, until all are said again', () => {
  const pools = poolsOf(config({ a: one(), b: one() }));
  pools.sayAll('web', true, undefined);
  assert.equal(tell(pools).length, 1);
  pools.say('a', 'web', false, undefined);
  assert.match(tell(pools).join('\n'), /^a: update text nlri ipv4\/unicast del/);
  pools.sayAll('web', true, undefined);
  assert.match(tell(pools).join('\n'), /^a: .* add /);
});

test('a reload: state stays, differences are told, a peer that is new gets what was said of all', () => {
  const pools = poolsOf(config({ a: one() }));
  const reload = (running: RunningConfig): readonly string[] => {
    pools.peers = peersOf(running.section('bgp/peer'));
    pools.prune();
    return tell(pools);
  };
  pools.sayAll('web', true, undefined);
  assert.equal(tell(pools).length, 1);
  assert.deepEqual(reload(config({ a: `description changed; ${one()}` })), []);
  assert.deepEqual(reload(config({ a: one('name web;', '10.2.0.0/16 10.3.0.0/16') })), [
    'a: update text nlri ipv4/unicast del 10.1.0.0/16',
    `a: ${HEAD} nlri ipv4/unicast add 10.3.0.0/16`,
  ]);
  assert.deepEqual(reload(config({ a: one('name web;', '10.2.0.0/16 10.3.0.0/16', 'community [ 1:2 ];') })), [
    `a: ${HEAD} community [ 1:2 ] nlri ipv4/unicast add 10.2.0.0/16 10.3.0.0/16`,
  ]);
  assert.deepEqual(reload(config({ a: one('name web;', '10.2.0.0/16 10.3.0.0/16', 'community [ 1:2 ];'), b: one() })), [
    `b: ${HEAD} nlri ipv4/unicast add 10.1.0.0/16 10.2.0.0/16`,
  ]);
  pools.sayAll('web', false, undefined);
  assert.equal(tell(pools).length, 2);
  assert.deepEqual(reload(config({ a: one('name web; withdraw false;'), b: one() })), [], 'withdrawn stays withdrawn');
  assert.deepEqual(reload(config({ a: '', b: '' })), []);
  assert.equal(reload(config({ a: one('name web; withdraw false;') })).length, 1, 'a pool that nobody had is forgotten');
});

test('a peer that goes and comes back knows nothing', () => {
  const pools = poolsOf(config({ a: one('name web; withdraw false;') }));
  assert.equal(tell(pools).length, 1);
  pools.peers = peersOf(config({ b: '' }).section('bgp/peer'));
  pools.prune();
  assert.deepEqual(tell(pools), []);
  pools.peers = peersOf(config({ a: one('name web; withdraw false;') }).section('bgp/peer'));
  assert.equal(tell(pools).length, 1);
});

test('a reload that is rolled back leaves nothing to tell', () => {
  const pools = poolsOf(config({ a: one('name web; withdraw false;') }));
  tell(pools);
  const before = pools.peers;
  pools.peers = peersOf(config({ b: '' }).section('bgp/peer'));
  pools.peers = before;
  assert.deepEqual(tell(pools), []);
});

test('a route of two pools is announced as long as one of them is', () => {
  const pools = poolsOf(config({ a: one('name x;', '10.1.0.0/16', 'med 1;') + one('name y;', '10.1.0.0/16', 'med 2;') }));
  pools.sayAll('x', true, undefined);
  pools.sayAll('y', true, undefined);
  assert.match(tell(pools).join('\n'), /^a: \S+ text next-hop 192.0.2.1 med 2 nlri ipv4\/unicast add 10.1.0.0\/16$/);
  pools.sayAll('y', false, undefined);
  assert.match(tell(pools).join('\n'), /med 1 nlri ipv4\/unicast add/);
  pools.sayAll('x', false, undefined);
  assert.match(tell(pools).join('\n'), /del 10.1.0.0\/16/);
});

test('an RD or a label that changes takes the old route away', () => {
  const vpn = (rd: string, label: number): string =>
    block(`rd ${rd}; label ${label};`, 'ipv4/mpls-vpn add 10.1.0.0/16', 'name v; withdraw false;');
  const pools = poolsOf(config({ a: vpn('65000:1', 5) }));
  tell(pools);
  pools.peers = peersOf(config({ a: vpn('65000:2', 5) }).section('bgp/peer'));
  assert.deepEqual(tell(pools), [
    'a: update text nlri ipv4/mpls-vpn rd 65000:1 label 5 del 10.1.0.0/16',
    `a: ${HEAD} nlri ipv4/mpls-vpn rd 65000:2 label 5 add 10.1.0.0/16`,
  ]);
});

test('many routes and many peers are several commands', () => {
  const prefixes = Array.from({ length: 1001 }, (_, n) => `10.${n >> 8}.${n & 255}.0/24`).join(' ');
  const peers = Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`p${n}`, '']));
  const pools = poolsOf(config(peers, one('name web; withdraw false;', prefixes)));
  const sizes = tell(pools).map((line) => [line.split(':')[0]!.split(',').length, line.split(' add ')[1]!.split(' ').length]);
  assert.deepEqual(sizes, [
    [64, 1000],
    [1, 1000],
    [64, 1],
    [1, 1],
  ]);
  assert.equal(pools.announced, 65 * 1001);
  assert.deepEqual(tell(pools), []);
});
