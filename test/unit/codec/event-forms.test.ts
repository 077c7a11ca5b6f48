/** Every kind of event as the sheet shows it, in both encodings. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { EventRow, NegotiatedSnapshot, PeerIdentity } from '../../../engine/bgp/port.ts';
import { EventEncoder } from '../../../engine/codec/event-encoder.ts';
import type { EventFormat } from '../../../engine/codec/event-format.ts';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import { row } from '../bus/fixture.ts';

const PEER: PeerIdentity = {
  index: 0,
  name: 'edge-a',
  group: 'transit',
  remoteAddress: '198.51.100.9',
  remoteAs: 64512,
  localAddress: '198.51.100.1',
  localAs: 64500,
};
const P = {
  remote: { address: '198.51.100.9', as: 64512 },
  address: '198.51.100.9',
  local: { address: '198.51.100.1', as: 64500 },
  name: 'edge-a',
  group: 'transit',
};
const NEGOTIATED: NegotiatedSnapshot = {
  holdTimeSeconds: 30,
  keepaliveSeconds: 10,
  asn4: true,
  extendedMessage: false,
  routeRefresh: true,
  enhancedRouteRefresh: false,
  families: ['ipv4/unicast'],
  addPathSend: [],
  addPathReceive: ['ipv4/unicast'],
  localCapabilities: [],
  remoteCapabilities: [],
};

const bytes = (hex: string): Partial<EventRow> => {
  const body = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  return { bytes: new Uint8Array(body), bytesLength: body.length };
};
const OPEN = '04 fc00 005a c000024d 26 02 24 010400020001 4104 0000fc00 0600 4504 00010103 0506 000100010002 4002 0078 0200 0900';
const UPDATE = '0005 19cb007180 001f 40010100 4002 0a0202 0000fc00 0000fde7 400304c6336409 c00804fc000050 19cb007100';

interface Case {
  readonly name: string;
  readonly row: Partial<EventRow>;
  readonly bgp: Record<string, unknown>;
  readonly text: string | undefined;
  readonly format?: EventFormat;
}
const FROM = 'peer 198.51.100.9 remote as 64512';
const CASES: readonly Case[] = [
  {
    name: 'state up',
    row: { kind: 'state', direction: 'unspecified', state: 'up' },
    bgp: { message: { type: 'state' }, peer: P, state: 'up' },
    text: `${FROM} state up\n`,
  },
  {
    name: 'state up with a token',
    row: { kind: 'state', direction: 'unspecified', state: 'up', initialReplay: 81 },
    bgp: { message: { type: 'state' }, peer: P, state: 'up', 'initial-replay': '81' },
    text: `${FROM} state up\n`,
  },
  {
    name: 'state down',
    row: { kind: 'state', direction: 'unspecified', state: 'down', reason: 'tcp-failure' },
    bgp: { message: { type: 'state' }, peer: P, state: 'down', reason: 'tcp-failure' },
    text: `${FROM} state down reason tcp-failure\n`,
  },
  {
    name: 'open',
    row: { kind: 'open', messageId: 4, ...bytes(OPEN) },
    bgp: {
      message: { type: 'open', id: 4, direction: 'received' },
      peer: P,
      open: {
        asn: 64512,
        'router-id': '192.0.2.77',
        'hold-time': 90,
        timer: { 'hold-time': 90 },
        capabilities: [
          { code: 1, name: 'multiprotocol', value: 'ipv6/unicast' },
          { code: 65, name: 'asn4', value: '64512' },
          { code: 6, name: 'extended-message' },
          { code: 69, name: 'addpath', value: 'ipv4/unicast send-receive' },
          { code: 5, name: 'extended-nexthop', value: 'ipv4/unicast ipv6' },
          { code: 64, name: 'unknown-64', value: '0078' },
          { code: 2, name: 'unknown-2' },
          { code: 9, name: 'unknown-9' },
        ],
      },
    },
    text: `${FROM} received open 4 router-id 192.0.2.77 hold-time 90 cap 1 multiprotocol ipv6/unicast cap 65 asn4 64512 cap 6 extended-message cap 69 addpath ipv4/unicast send-receive cap 5 extended-nexthop ipv4/unicast ipv6 cap 64 unknown-64 0078 cap 2 unknown-2 cap 9 unknown-9\n`,
  },
  {
    name: 'notification',
    row: { kind: 'notification', direction: 'sent', messageId: 9, ...bytes('0604') },
    bgp: {
      message: { type: 'notification', id: 9, direction: 'sent' },
      peer: P,
      notification: { code: 6, subcode: 4, data: '', 'code-name': 'Cease', 'subcode-name': 'Administrative Reset' },
    },
    text: `${FROM} sent notification 9 code 6 subcode 4 code-name Cease subcode-name Administrative-Reset data\n`,
  },
  {
    name: 'notification of an unknown code, with data',
    row: { kind: 'notification', messageId: 9, ...bytes('f0 05 aabb') },
    bgp: {
      message: { type: 'notification', id: 9, direction: 'received' },
      peer: P,
      notification: { code: 240, subcode: 5, data: 'aabb' },
    },
    text: `${FROM} received notification 9 code 240 subcode 5 data aabb\n`,
  },
  {
    name: 'keepalive',
    row: { kind: 'keepalive', messageId: 12 },
    bgp: { message: { type: 'keepalive', id: 12, direction: 'received' }, peer: P, keepalive: {} },
    text: `${FROM} received keepalive 12\n`,
  },
  {
    name: 'refresh',
    row: { kind: 'refresh', messageId: 3, ...bytes('00010001') },
    bgp: { message: { type: 'refresh', id: 3, direction: 'received' }, peer: P, refresh: { afi: 'ipv4', safi: 'unicast' } },
    text: `${FROM} received refresh 3 family ipv4/unicast\n`,
  },
  {
    name: 'borr',
    row: { kind: 'refresh', messageId: 3, ...bytes('00020101') },
    bgp: { message: { type: 'borr', id: 3, direction: 'received' }, peer: P, borr: { afi: 'ipv6', safi: 'unicast' } },
    text: `${FROM} received borr 3 family ipv6/unicast\n`,
  },
  {
    name: 'refresh of an unknown subtype and family',
    row: { kind: 'refresh', messageId: 3, ...bytes('4e200959') },
    bgp: {
      message: { type: 'unknown(9)', id: 3, direction: 'received' },
      peer: P,
      'unknown(9)': { afi: 'afi-20000', safi: 'safi-89' },
    },
    text: `${FROM} received unknown(9) 3 family afi-20000/safi-89\n`,
  },
  {
    name: 'eor',
    row: { kind: 'eor', direction: 'unspecified', family: 257 },
    bgp: { message: { type: 'eor' }, peer: P, eor: { family: 'ipv4/unicast' } },
    text: `${FROM} eor ipv4/unicast\n`,
  },
  {
    name: 'congested',
    row: { kind: 'congested', direction: 'unspecified' },
    bgp: { message: { type: 'congested' }, peer: P },
    text: `${FROM} congested\n`,
  },
  {
    name: 'negotiated, JSON even in text',
    row: { kind: 'negotiated', direction: 'unspecified', negotiated: NEGOTIATED },
    bgp: {
      message: { type: 'negotiated' },
      peer: P,
      negotiated: {
        'hold-time': 30,
        timer: { 'hold-time': 30 },
        asn4: true,
        families: ['ipv4/unicast'],
        'add-path': { receive: ['ipv4/unicast'] },
      },
    },
    text: undefined,
  },
  {
    name: 'update',
    row: { kind: 'update', messageId: 7001, ...bytes(UPDATE) },
    bgp: {
      message: { type: 'update', id: 7001, direction: 'received' },
      peer: P,
      update: {
        attr: { origin: 'igp', 'as-path': [64512, 64999], 'next-hop': '198.51.100.9', communities: ['64512:80'] },
        nlri: {
          'ipv4/unicast': [
            { 'next-hop': '198.51.100.9', action: 'add', nlri: ['203.0.113.0/25'] },
            { action: 'del', nlri: ['203.0.113.128/25'] },
          ],
        },
      },
    },
    text: `${FROM} received update 7001 origin igp path 64512,64999 s-com 64512:80 next 198.51.100.9 nlri ipv4/unicast add 203.0.113.0/25 nlri ipv4/unicast del 203.0.113.128/25\n`,
  },
  {
    name: 'update sent: the payload is still named update',
    row: { kind: 'update', direction: 'sent', messageId: 1, ...bytes('0000 0000') },
    bgp: { message: { type: 'sent', id: 1, direction: 'sent' }, peer: P, update: { nlri: {} } },
    text: `${FROM} sent update 1\n`,
  },
  {
    name: 'an UPDATE nobody can take apart',
    row: { kind: 'update', messageId: 2, ...bytes('00ff 0000') },
    bgp: { message: { type: 'update', id: 2, direction: 'received' }, peer: P, nlri: {} },
    text: 'peer 198.51.100.9 update\n',
  },
  {
    name: 'treat-as-withdraw shows as withdrawn (RFC 7606 §2)',
    row: { kind: 'update', messageId: 3, ...bytes('0000 000e 40010109 400200 400304c6336409 080a') },
    bgp: {
      message: { type: 'update', id: 3, direction: 'received' },
      peer: P,
      update: { nlri: { 'ipv4/unicast': [{ action: 'del', nlri: ['10.0.0.0/8'] }] } },
    },
    text: `${FROM} received update 3 nlri ipv4/unicast del 10.0.0.0/8\n`,
  },
  {
    name: 'raw',
    row: { kind: 'update', messageId: 3, ...bytes('00000000') },
    format: 'raw',
    bgp: { message: { type: 'update', direction: 'received' }, peer: P, raw: { update: '00000000' } },
    text: 'peer 198.51.100.9 received update raw 00000000\n',
  },
];

const encoder = new EventEncoder(new CodecRegistry());
for (const { name, row: more, bgp, text, format = 'parsed' } of CASES) {
  test(`event ${name}`, () => {
    encoder.begin(row(more), PEER);
    assert.deepEqual(JSON.parse(`${encoder.text(format, 'json')}}`), { type: 'bgp', bgp });
    if (text === undefined) assert.equal(encoder.text(format, 'text'), encoder.text(format, 'json'));
    else assert.equal(encoder.text(format, 'text'), text);
  });
}

test('attributes of every kind, and NLRI of a family nobody here reads', () => {
  const attributes = [
    '40010102',
    '400200',
    '40050400000064',
    '400600',
    'c0100800020001 00000002',
    'c0180401020304',
    'c01914' + '11'.repeat(20),
    '801a0b01000bffffffffffffffff',
    'c02803010203',
    'c06302beef',
    '800e09 0001850000 0301080a',
  ]
    .join('')
    .replaceAll(' ', '');
  const size = (attributes.length / 2).toString(16).padStart(4, '0');
  encoder.begin(row({ kind: 'update', messageId: 5, ...bytes(`0000${size}${attributes}`) }), { ...PEER, remoteAs: 64500 });
  const json = encoder.text('parsed', 'json');
  assert.ok(json.includes('"aigp":18446744073709551615'), 'every digit is kept');
  const { bgp } = JSON.parse(`${json}}`) as { bgp: { update: { attr: Record<string, unknown>; nlri: unknown } } };
  const { aigp, ...attr } = bgp.update.attr;
  assert.ok(aigp !== undefined);
  assert.deepEqual(attr, {
    origin: 'incomplete',
    'as-path': [],
    'local-preference': 100,
    'attr-6': '',
    'extended-communities': ['target:1:2'],
    'attr-24': '01020304',
    'ipv6-extended-communities': ['11'.repeat(20)],
    'attr-99': 'beef',
  });
  assert.deepEqual(bgp.update.nlri, { 'ipv4/flow': [{ action: 'add', nlri: [{ raw: '0301080a' }] }] });
});

test('a form is written once however many ask for it, and format matters for UPDATEs alone', () => {
  const counting = new EventEncoder(new CodecRegistry());
  counting.begin(row({ kind: 'update', messageId: 1, ...bytes(UPDATE) }), PEER);
  for (let i = 0; i < 3; i++) {
    counting.encode('parsed', 'json', true);
    counting.encode('full', 'json', true);
    counting.text('parsed', 'json');
  }
  assert.equal(counting.written, 3);
  counting.begin(row({ kind: 'state', direction: 'unspecified', state: 'up' }), PEER);
  for (const format of ['parsed', 'full', 'raw', 'summary'] as const) counting.text(format, 'json');
  assert.equal(counting.written, 4);
});
