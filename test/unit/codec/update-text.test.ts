import assert from 'node:assert/strict';
import test from 'node:test';
import type { NlriCaller } from '../../../engine/codec/registry.ts';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import { RouteCommands } from '../../../engine/codec/route-command.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const commands = (): RouteCommands => new RouteCommands(new CodecRegistry());

/** `attributes | next hop | family announce/withdraw@pathId …` */
function show(command: string, parser = commands()): string {
  const parsed = parser.parse(command);
  if (!parsed.ok) return `${parsed.fault.column}: ${parsed.fault.message}`;
  const { attributes, nextHop, sections } = parsed.value;
  const parts = sections.map(
    ({ family, announce, withdraw, pathId, eor }) =>
      `${family >>> 8}/${family & 255} ${eor ? 'eor' : `+${hex(announce)} -${hex(withdraw)}${pathId > 0 ? ` @${pathId}` : ''}`}`,
  );
  return [hex(attributes), hex(nextHop), ...parts].join(' | ');
}

const ORIGIN = '40010100';
const CASES: readonly (readonly [command: string, result: string])[] = [
  ['update text origin igp next-hop 192.0.2.1 nlri ipv4/unicast add 198.51.100.0/24', `${ORIGIN} | c0000201 | 1/1 +18c63364 -`],
  ['update text nlri ipv4/unicast del 198.51.100.0/24', ' |  | 1/1 + -18c63364'],
  ['update text next-hop self nlri ipv6/unicast add 2001:db8::/32 nlri ipv6/unicast eor', ' |  | 2/1 +2020010db8 - | 2/1 eor'],
  [
    'update text origin igp next-hop 192.0.2.1 community [64500:1 64500:2] nlri ipv4/unicast add 198.51.100.0/24 203.0.113.0/24',
    `${ORIGIN}c00808fbf40001fbf40002 | c0000201 | 1/1 +18c6336418cb0071 -`,
  ],
  ['update text nlri ipv4/unicast add prefix 10.0.0.0/8 del 10.1.0.0/16 add 10.2.0.0/16', ' |  | 1/1 +080a100a02 -100a01'],
  ['update text nlri ipv4/unicast path-information 7 add 10.0.0.0/8', ' |  | 1/1 +080a - @7'],
  [
    'update text info 0.0.1.0 nlri ipv4/unicast add 10.0.0.0/8 nlri ipv4/multicast info 3 add 10.0.0.0/8',
    ' |  | 1/1 +080a - @256 | 1/2 +080a - @3',
  ],
  ['update text nlri ipv4/unicast add [10.0.0.0/8, 11.0.0.0/8]', ' |  | 1/1 +080a080b -'],
  ['update text nlri ipv4/unicast add 10.0.0.0/8,11.0.0.0/8', ' |  | 1/1 +080a080b -'],
  ['update text nlri ipv4/unicast add 10.1.2.3/8 0.0.0.0/0', ' |  | 1/1 +080a00 -'],
  ['  update\ttext  nlri   ipv4/unicast  add  10.0.0.0/8  ', ' |  | 1/1 +080a -'],
  // Aliases and lists.
  ['update text path 65001,65002 nlri ipv4/unicast eor', '40020a02020000fde90000fdea |  | 1/1 eor'],
  ['update text as-path [65001 65002] nlri ipv4/unicast eor', '40020a02020000fde90000fdea |  | 1/1 eor'],
  ['update text as-path [ ] nlri ipv4/unicast eor', '400200 |  | 1/1 eor'],
  ['update text as-path []nlri ipv4/unicast eor', '400200 |  | 1/1 eor'],
  ['update text med 5 pref 200 nlri ipv4/unicast eor', '80040400000005400504000000c8 |  | 1/1 eor'],
  ['update text s-com no-export nlri ipv4/unicast eor', 'c00804ffffff01 |  | 1/1 eor'],
  ['update text short-community blackhole,nopeer nlri ipv4/unicast eor', 'c00808ffff029affffff04 |  | 1/1 eor'],
  ['update text l-com 64500:1:4294967295 nlri ipv4/unicast eor', 'c0200c0000fbf400000001ffffffff |  | 1/1 eor'],
  ['update text x-com target:64500:9 nlri ipv4/unicast eor', 'c010080002fbf400000009 |  | 1/1 eor'],
  [
    'update text e-com [origin:192.0.2.1:7 rate-limit:9600 0x0102030405060708] nlri ipv4/unicast eor',
    'c010180103c0000201000780060000461600000102030405060708 |  | 1/1 eor',
  ],
  ['update text aggregator 64500:192.0.2.1 atomic-aggregate nlri ipv4/unicast eor', '400600c007080000fbf4c0000201 |  | 1/1 eor'],
  ['update text atomic-aggregate false nlri ipv4/unicast eor', ' |  | 1/1 eor'],
  [
    'update text originator-id 192.0.2.1 cluster-list [192.0.2.2 192.0.2.3] nlri ipv4/unicast eor',
    '800904c0000201800a08c0000202c0000203 |  | 1/1 eor',
  ],
  ['update text aigp 18446744073709551615 nlri ipv4/unicast eor', '801a0b01000bffffffffffffffff |  | 1/1 eor'],
  ['update text attribute [ 0x63 0xc0 0xdead ] attribute [ 200 192 0x ] nlri ipv4/unicast eor', 'c06302deadc0c800 |  | 1/1 eor'],
  ['update text nhop 2001:db8::1 nlri ipv4/unicast add 10.0.0.0/8', ' | 20010db8000000000000000000000001 | 1/1 +080a -'],
  // Refusals, with their columns.
  ['update text nlri ipv4/unicast add 10.0.0.0/8 origin igp', '46: attributes must precede all nlri sections'],
  ['update text nlri ipv4/unicast origin igp add 10.0.0.0/8', '31: attributes must precede all nlri sections'],
  ['update text origin set igp nlri ipv4/unicast add 10.0.0.0/8', '20: "origin set" is the older form, write: origin VALUE'],
  ['update text orgin igp nlri ipv4/unicast eor', '13: unknown attribute: orgin (did you mean origin?)'],
  ['update text origin', '19: origin requires a value'],
  ['update text origin best nlri ipv4/unicast eor', '20: invalid origin: best (expected igp, egp or incomplete)'],
  ['update text origin igp origin igp nlri ipv4/unicast eor', '24: duplicate attribute: origin'],
  ['update text med 4294967296 nlri ipv4/unicast eor', '17: invalid med: 4294967296 (0..4294967295)'],
  ['update text med -1 nlri ipv4/unicast eor', '17: invalid med: -1 (0..4294967295)'],
  ['update text as-path [ 65001 nlri ipv4/unicast eor', '21: missing ]'],
  ['update text as-path ] nlri ipv4/unicast eor', '21: unexpected ]'],
  ['update text as-path 0 nlri ipv4/unicast eor', '21: invalid as-path: 0 (expected AS numbers 1..4294967295)'],
  ['update text community 65536:1 nlri ipv4/unicast eor', '23: invalid community: 65536:1'],
  ['update text next-hop 300.1.1.1 nlri ipv4/unicast eor', '22: invalid next-hop: 300.1.1.1 (expected an address or self)'],
  ...['0.0.0.0', '0.1.2.3', '224.0.0.5', '240.0.0.1', '255.255.255.255', '::', 'ff02::1'].map(
    (hop): readonly [string, string] => [
      `update text next-hop ${hop} nlri ipv4/unicast add 10.0.0.0/8`,
      `22: unusable next-hop: ${hop} is no host's address (RFC 4271 §6.3)`,
    ],
  ),
  [
    'update hex attr set 400101004002004003 nhop set e0000001 nlri ipv4/unicast add 080a',
    '21: attribute list cut short at byte 7',
  ],
  [
    'update hex attr set 40010100400200 nhop set e0000001 nlri ipv4/unicast add 080a',
    "45: the next hop is no host's address (RFC 4271 §6.3)",
  ],
  [
    'update hex attr set 40010100400200400304e0000001 nlri ipv4/unicast add 080a',
    "21: NEXT_HOP: no host's address (RFC 4271 §6.3)",
  ],
  ['update text attribute [ 14 128 0x00 ] nlri ipv4/unicast eor', '23: attribute 14 is written by the engine'],
  ['update text label 1048576 nlri ipv4/unicast eor', '19: invalid label: 1048576 (0..1048575)'],
  [
    'update text watchdog pool nlri ipv4/unicast eor',
    '13: a watchdog pool is named in the configuration: use "watchdog announce NAME"',
  ],
  ['update text origin igp', '23: missing nlri section'],
  ['update text nlri', '17: nlri requires a family'],
  ['update text nlri ipv4/unicats add 10.0.0.0/8', '18: unknown family: ipv4/unicats'],
  ['update text nlri ipv4/unicast', '30: missing operation keyword: expected add, del or eor'],
  ['update text nlri ipv4/unicast 10.0.0.0/8', '31: missing operation keyword: expected add, del or eor, got 10.0.0.0/8'],
  ['update text nlri ipv4/unicast add', '31: add requires a prefix'],
  ['update text nlri ipv4/unicast add del 10.0.0.0/8', '31: add requires a prefix'],
  ['update text nlri ipv4/unicast add 10.0.0.0/33', '35: invalid prefix: 10.0.0.0/33'],
  ['update text nlri ipv4/unicast add 10.0.0.0/8,bad', '46: invalid prefix: bad'],
  ['update text nlri ipv4/unicast add 2001:db8::/32', '35: prefix 2001:db8::/32 does not belong to ipv4/unicast'],
  ['update text nlri ipv4/unicast eor now', '35: unexpected word after eor: now'],
  ['update text nlri ipv4/unicast rd 1:1 add 10.0.0.0/8', '31: rd does not apply to ipv4/unicast'],
  ['update text nlri ipv4/unicast path-information 7 eor', '31: path-information does not apply to eor'],
  // What stands before the sections is for those that can take it; when none can, it would be ignored.
  ['update text origin igp rd 1:1 nlri ipv4/unicast add 10.0.0.0/8', '24: rd does not apply to ipv4/unicast'],
  ['update text rd 1:1 nlri ipv6/multicast del 2001:db8::/32', '13: rd does not apply to ipv6/multicast'],
  ['update text label 100 nlri ipv4/unicast add 10.0.0.0/8', '13: label does not apply to ipv4/unicast'],
  ['update text label [ 100 200 ] nlri ipv6/unicast add 2001:db8::/32', '13: label does not apply to ipv6/unicast'],
  ['update text rd 1:1 nlri ipv4/multicast eor nlri ipv4/unicast del 10.0.0.0/8', '13: rd does not apply to ipv4/unicast'],
  ['update text label 3 nlri ipv4/unicast eor', '13: label does not apply to eor'],
  ['update text info 7 nlri ipv4/unicast eor', '13: path-information does not apply to eor'],
  ['update text info 7 nlri ipv4/unicast eor nlri ipv6/unicast del 2001:db8::/32', ' |  | 1/1 eor | 2/1 + -2020010db8 @7'],
  [
    'update text next-hop 192.0.2.1 nlri ipv6/unicast add 2001:db8::/32',
    '37: next-hop does not fit ipv6/unicast: an IPv4 address cannot carry IPv6 prefixes',
  ],
  ['update text nlri ipv4/rtc add 64500:target:64500:1', '31: no plugin writes ipv4/rtc'],
  ['announce route 10.0.0.0/8', '1: expected "update text"'],
  // Bytes.
  ['update hex attr set 40010100400200400304c0000201 nlri ipv4/unicast add 080a', '40010100400200 | c0000201 | 1/1 +080a -'],
  ['update b64 attr set QAEBAEACAA== nhop set self nlri ipv4/unicast add CAo= del CAs=', '40010100400200 |  | 1/1 +080a -080b'],
  [
    'update hex attr set 40010100400200 nhop set c0000202 nlri ipv4/unicast addpath add 00000001080a00000002080b',
    '40010100400200 | c0000202 | 1/1 +080a - @1 | 1/1 +080b - @2',
  ],
  ['update hex nlri ipv4/unicast del 080a nlri ipv6/unicast eor', ' |  | 1/1 + -080a | 2/1 eor'],
  ['update hex attr set 400101 nlri ipv4/unicast add 080a', '21: attribute list cut short at byte 0'],
  ['update hex attr set 40010109 nlri ipv4/unicast add 080a', '21: ORIGIN: undefined value'],
  ['update hex attr set c0010100 nlri ipv4/unicast add 080a', '21: ORIGIN: wrong flags'],
  ['update hex attr set 4001010040010100 nlri ipv4/unicast add 080a', '21: ORIGIN: appears more than once'],
  ['update hex attr set 800e00 nlri ipv4/unicast add 080a', '21: MP_REACH_NLRI is written by the engine'],
  ['update hex attr set 40010100 attr set 40010100 nlri ipv4/unicast add 080a', '30: attr set is given at most once'],
  ['update hex nlri ipv4/unicast add 080a', '30: attr set is required to announce'],
  ['update hex attr set 40010100 nlri ipv4/unicast add 210a000000', '52: malformed NLRI of ipv4/unicast'],
  ['update hex attr set zz nlri ipv4/unicast add 080a', '21: attr set requires hex bytes'],
  ['update hex attr set 40010100 nhop set c000 nlri ipv4/unicast add 080a', '39: a next hop has 4, 16 or 32 bytes'],
];
for (const [command, result] of CASES) test(command, () => assert.equal(show(command), result));

test('a text seen before gives the same, and a fault is never remembered as good', () => {
  const parser = commands();
  const good = 'update text origin igp med 7 nlri ipv4/unicast add 10.0.0.0/8';
  const bad = 'update text origin igp med x nlri ipv4/unicast add 10.0.0.0/8';
  for (let i = 0; i < 3; i++) assert.equal(show(bad, parser), '28: invalid med: x (0..4294967295)');
  for (let i = 0; i < 4; i++) assert.equal(show(good, parser), `${ORIGIN}80040400000007 |  | 1/1 +080a -`);
});

test('a long as-path is cut into segments of 255 and gets an extended length', () => {
  const path = Array.from({ length: 300 }, (_, index) => index + 1).join(' ');
  const parsed = commands().parse(`update text as-path [ ${path} ] nlri ipv4/unicast eor`);
  assert.ok(parsed.ok);
  const { attributes } = parsed.value;
  assert.equal(hex(attributes.subarray(0, 6)), '500204b402ff');
  assert.equal(hex(attributes.subarray(6 + 4 * 255, 8 + 4 * 255)), '022d');
});

const caller = (encode: NlriCaller['encodeNlri']): NlriCaller => ({
  encodeNlri: encode,
  decodeNlri: () => Promise.reject(new Error('no')),
});

test('families of plugins: their words go to the owner, its bytes into the section', async () => {
  const registry = new CodecRegistry();
  assert.equal(registry.claim('flow', [{ name: 'ipv4/flow', mode: 'both' }]), undefined);
  assert.equal(registry.claim('vpn', [{ name: 'ipv4/mpls-vpn', mode: 'both' }]), undefined);
  const parser = new RouteCommands(registry);
  const asked: unknown[] = [];
  const answers = caller((plugin, input) => {
    asked.push([plugin, input.family, ...input.args]);
    return Promise.resolve(plugin === 'flow' ? '0301080a' : '6000064100000001000000010a');
  });
  const flow = await parser.resolve('update text nlri ipv4/flow add destination 10.0.0.0/8 protocol =6 del port =80', answers);
  const vpn = await parser.resolve('update text label 100 rd 1:1 nlri ipv4/mpls-vpn add 10.0.0.0/8 11.0.0.0/8', answers);
  assert.deepEqual(asked, [
    ['flow', 'ipv4/flow', 'destination', '10.0.0.0/8', 'protocol', '=6'],
    ['flow', 'ipv4/flow', 'port', '=80'],
    ['vpn', 'ipv4/mpls-vpn', 'rd', '1:1', 'label', '100', 'prefix', '10.0.0.0/8'],
    ['vpn', 'ipv4/mpls-vpn', 'rd', '1:1', 'label', '100', 'prefix', '11.0.0.0/8'],
  ]);
  assert.ok(flow.ok);
  assert.deepEqual([hex(flow.value.sections[0]!.announce), hex(flow.value.sections[0]!.withdraw)], ['0301080a', '0301080a']);
  assert.ok(vpn.ok);
  assert.equal(hex(vpn.value.sections[0]!.announce), '6000064100000001000000010a'.repeat(2));
});

const ANSWERS: readonly { answer: NlriCaller['encodeNlri']; message: string }[] = [
  { answer: () => Promise.reject(new Error('deadline exceeded')), message: 'ipv4/flow: deadline exceeded' },
  { answer: () => Promise.resolve('xyz'), message: 'ipv4/flow: the plugin answered no hex' },
  { answer: () => Promise.resolve('05ff'), message: "ipv4/flow: the plugin's NLRI is malformed" },
  { answer: () => Promise.resolve(''), message: "ipv4/flow: the plugin's NLRI is malformed" },
];
for (const { answer, message } of ANSWERS) {
  test(`a plugin that cannot: ${message}`, async () => {
    const registry = new CodecRegistry();
    registry.claim('flow', [{ name: 'ipv4/flow', mode: 'both' }]);
    const parsed = await new RouteCommands(registry).resolve('update text nlri ipv4/flow add port =80', caller(answer));
    assert.deepEqual(parsed, { ok: false, fault: { message, column: 32 } });
  });
}

test('VPN routes need a route distinguisher, and a label to be announced', () => {
  const registry = new CodecRegistry();
  registry.claim('vpn', [{ name: 'ipv4/mpls-vpn', mode: 'both' }]);
  const parser = new RouteCommands(registry);
  assert.equal(show('update text nlri ipv4/mpls-vpn add 10.0.0.0/8', parser), '36: ipv4/mpls-vpn requires rd');
  assert.equal(show('update text nlri ipv4/mpls-vpn rd 1:1 add 10.0.0.0/8', parser), '43: ipv4/mpls-vpn requires label');
});

test('65,536 prefixes in one section, as words or joined by commas, however much follows', () => {
  const parser = new RouteCommands(new CodecRegistry());
  const head = 'update text nlri ipv4/unicast add ';
  for (const between of [' ', ',', ' , ']) {
    const list = (count: number): string => new Array<string>(count).fill('10.0.0.0/8').join(between);
    const most = parser.parse(head + list(65_536));
    assert.ok(most.ok);
    assert.equal(most.value.sections[0]?.announce.length, 2 * 65_536);
    const column = head.length + 65_536 * (10 + between.length) + 1;
    assert.equal(show(head + list(200_000), parser), `${column}: more than 65536 prefixes in one section`);
  }
});
