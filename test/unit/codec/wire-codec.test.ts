import assert from 'node:assert/strict';
import test from 'node:test';
import { CodecRegistry, type NlriCaller } from '../../../engine/codec/registry.ts';
import { WireCodec } from '../../../engine/codec/wire-codec.ts';

const asked: unknown[] = [];
const caller: NlriCaller = {
  decodeNlri: (plugin, input) => {
    asked.push([plugin, input]);
    return plugin === 'flow' ? Promise.resolve({ string: 'flow' }) : Promise.reject(new Error('deadline exceeded'));
  },
  encodeNlri: (plugin, input) => Promise.resolve(`${plugin} ${input.args.join(' ')}`),
};
const registry = new CodecRegistry();
registry.claim('flow', [{ name: 'ipv4/flow', mode: 'both' }]);
registry.claim('slow', [{ name: 'l2vpn/evpn', mode: 'both' }]);
const codec = new WireCodec(registry, caller);

const UPDATE = '0000 001b 40010100 4002060201000f4240 400304c0000201 c0080400010002 180a0000'.replaceAll(' ', '');

test('decode-update: attr and nlri, without peer and message', async () => {
  assert.deepEqual(await codec.decodeUpdate(UPDATE), {
    ok: true,
    value: {
      attr: { origin: 'igp', 'as-path': [1000000], 'next-hop': '192.0.2.1', communities: ['1:2'] },
      nlri: { 'ipv4/unicast': [{ 'next-hop': '192.0.2.1', action: 'add', nlri: ['10.0.0.0/24'] }] },
    },
  });
  assert.deepEqual(await codec.decodeUpdate('00000000'), { ok: true, value: { nlri: {} } });
});

test('decode-update: what a plugin reads is embedded, what it cannot stays hex with the reason', async () => {
  const reach = (family: string, nlri: string): string => {
    const value = `${family}04c000020100${nlri}`;
    const attributes = `40010100400200800e${(value.length / 2).toString(16).padStart(2, '0')}${value}`;
    return `0000${(attributes.length / 2).toString(16).padStart(4, '0')}${attributes}`;
  };
  const flow = await codec.decodeUpdate(reach('000185', '0301080a'));
  assert.deepEqual(flow.ok && flow.value.nlri, {
    'ipv4/flow': [{ 'next-hop': '192.0.2.1', action: 'add', nlri: [{ string: 'flow' }] }],
  });
  assert.deepEqual(asked.at(-1), ['flow', { family: 'ipv4/flow', hex: '0301080a' }]);
  const evpn = await codec.decodeUpdate(reach('001946', '0900'));
  assert.ok(evpn.ok);
  assert.deepEqual(evpn.value.nlri, {
    'l2vpn/evpn': [{ 'next-hop': '192.0.2.1', action: 'add', nlri: [{ raw: '0900', error: 'deadline exceeded' }] }],
  });
  const unowned = await codec.decodeUpdate(reach('000105', '0100'));
  assert.deepEqual(unowned.ok && unowned.value.nlri, {
    'ipv4/mvpn': [{ 'next-hop': '192.0.2.1', action: 'add', nlri: [{ raw: '0100' }] }],
  });
});

const DECODES: readonly (readonly [name: string, run: () => Promise<unknown>, expected: unknown])[] = [
  ['update: odd hex', () => codec.decodeUpdate('0'), { ok: false, message: 'invalid hex: odd number of digits' }],
  ['update: no hex', () => codec.decodeUpdate('zz'), { ok: false, message: 'invalid hex: not a hex digit' }],
  ['update: too short', () => codec.decodeUpdate('000000'), { ok: false, message: 'UPDATE body too short: 3 bytes' }],
  ['update: malformed', () => codec.decodeUpdate('00ff0000'), { ok: false, message: 'malformed UPDATE body' }],
  [
    'mp-reach',
    () => codec.decodeMpReach('00020110 20010db8000000000000000000000001 00 2020010db8'.replaceAll(' ', '')),
    { ok: true, value: { family: 'ipv6/unicast', 'next-hop': '2001:db8::1', nlri: ['2001:db8::/32'] } },
  ],
  [
    'mp-reach: add-path',
    () => codec.decodeMpReach('000102 04 c0000201 00 00000007080a'.replaceAll(' ', ''), true),
    { ok: true, value: { family: 'ipv4/multicast', 'next-hop': '192.0.2.1', nlri: [{ prefix: '10.0.0.0/8', 'path-id': 7 }] } },
  ],
  [
    'mp-reach: empty',
    () => codec.decodeMpReach('000201 10 20010db8000000000000000000000001 00'.replaceAll(' ', '')),
    { ok: true, value: { family: 'ipv6/unicast', 'next-hop': '2001:db8::1', nlri: [] } },
  ],
  ['mp-reach: too short', () => codec.decodeMpReach('00020110'), { ok: false, message: 'MP_REACH_NLRI too short: 4 bytes' }],
  [
    'mp-reach: next hop too long',
    () => codec.decodeMpReach('0002011000'),
    { ok: false, message: 'MP_REACH_NLRI next hop of 16 bytes exceeds the attribute' },
  ],
  [
    'mp-unreach',
    () => codec.decodeMpUnreach('0002012020010db8'),
    { ok: true, value: { family: 'ipv6/unicast', nlri: ['2001:db8::/32'] } },
  ],
  ['mp-unreach: empty', () => codec.decodeMpUnreach('000201'), { ok: true, value: { family: 'ipv6/unicast', nlri: [] } }],
  ['mp-unreach: too short', () => codec.decodeMpUnreach('0002'), { ok: false, message: 'MP_UNREACH_NLRI too short: 2 bytes' }],
  ['nlri', () => codec.decodeNlri('ipv4/unicast', '080a'), { ok: true, value: ['10.0.0.0/8'] }],
  [
    'nlri: bad bits',
    () => codec.decodeNlri('ipv4/unicast', '080a21'),
    { ok: false, message: 'malformed NLRI of ipv4/unicast at byte 2' },
  ],
  ['nlri: unknown family', () => codec.decodeNlri('ipv4/unknown', '00'), { ok: false, message: 'unknown family: ipv4/unknown' }],
  [
    'nlri: nobody reads it',
    () => codec.decodeNlri('ipv6/flow', '0301080a'),
    { ok: false, message: 'malformed NLRI of ipv6/flow' },
  ],
  ['nlri: plugin fails', () => codec.decodeNlri('l2vpn/evpn', '0900'), { ok: false, message: 'deadline exceeded' }],
  ['encode', () => codec.encodeNlri('ipv4/unicast', ['10.0.0.0/8']), { ok: true, value: '080a' }],
  [
    'encode: prefix word and path id',
    () => codec.encodeNlri('ipv6/multicast', ['path-information', '5', 'prefix', '2001:db8::/32']),
    { ok: true, value: '000000052020010db8' },
  ],
  ['encode: plugin', () => codec.encodeNlri('ipv4/flow', ['port', '=80']), { ok: true, value: 'flow port =80' }],
  [
    'encode: bad prefix',
    () => codec.encodeNlri('ipv4/unicast', ['2001:db8::/32']),
    { ok: false, message: 'invalid prefix: 2001:db8::/32' },
  ],
  [
    'encode: two prefixes',
    () => codec.encodeNlri('ipv4/unicast', ['10.0.0.0/8', '11.0.0.0/8']),
    { ok: false, message: 'invalid prefix: 10.0.0.0/8 11.0.0.0/8' },
  ],
  ['encode: nobody writes it', () => codec.encodeNlri('ipv4/rtc', []), { ok: false, message: 'no plugin writes ipv4/rtc' }],
  ['encode: no rule', () => codec.encodeNlri('ipv6/flow', []), { ok: false, message: 'ipv6/flow: a rule needs a match' }],
  ['encode: a rule of the engine', () => codec.encodeNlri('ipv6/flow', ['next-header', 'tcp']), { ok: true, value: '03038106' }],
];
for (const [name, run, expected] of DECODES) test(`codec call ${name}`, async () => assert.deepEqual(await run(), expected));
