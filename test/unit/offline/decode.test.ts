import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { decodeCommand } from '../../../engine/offline/decode.ts';
import { encodeCommand } from '../../../engine/offline/encode.ts';

const MARKER = 'ff'.repeat(16);
const around = (type: string, members: unknown): unknown => ({
  type: 'bgp',
  bgp: {
    message: { id: 0, direction: 'received', type },
    peer: { address: '127.0.0.1', remote: { as: 65533 } },
    [type]: members,
  },
});
const json = (...args: string[]): unknown => {
  const result = decodeCommand(args, '', true);
  assert.equal(result.code, 0, result.stderr);
  return JSON.parse(result.stdout);
};
const encode = (...args: string[]): string => {
  const result = encodeCommand(args);
  assert.equal(result.code, 0, result.stderr);
  return result.stdout.trim();
};

const MESSAGES: readonly (readonly [name: string, hex: string, type: string, members: unknown])[] = [
  ['KEEPALIVE', `${MARKER}001304`, 'keepalive', {}],
  ['NOTIFICATION', `${MARKER}0015030604`, 'notification', { 'error-code': 6, 'error-name': 'Cease', 'error-subcode': 4 }],
  [
    'NOTIFICATION with data',
    `${MARKER}00170302060bb8`,
    'notification',
    { 'error-code': 2, 'error-name': 'OPEN Message Error', 'error-subcode': 6, data: '0bb8' },
  ],
  ['ROUTE-REFRESH', `${MARKER}00170500020101`, 'borr', { afi: 'ipv6', safi: 'unicast', subtype: 'borr' }],
  ['End-of-RIB', `${MARKER}00170200000000`, 'update', { eor: { afi: 'ipv4', safi: 'unicast' } }],
  ['End-of-RIB of a family', `${MARKER}001d0200000006800f03000201`, 'update', { eor: { afi: 'ipv6', safi: 'unicast' } }],
  [
    'OPEN',
    `${MARKER}00000104fde9005ac000020110 020e 010400010001 0200 4104fffe0000`.replaceAll(' ', ''),
    'open',
    {
      asn: 4294836224,
      'router-id': '192.0.2.1',
      timer: { 'hold-time': 90 },
      capabilities: [
        { code: 1, name: 'multiprotocol', value: 'ipv4/unicast' },
        { code: 2, name: 'unknown-2' },
        { code: 65, name: 'asn4', value: '4294836224' },
      ],
    },
  ],
];
for (const [name, hex, type, members] of MESSAGES) {
  test(`${name} as JSON`, () => {
    const length = (hex.length / 2).toString(16).padStart(4, '0');
    assert.deepEqual(json(MARKER + length + hex.slice(36)), around(type, members));
  });
}

test('UPDATE as JSON: attributes by their long names, one key a family', () => {
  const hex = encode(
    'route 10.0.0.0/24 next-hop 192.0.2.1 as-path [65001 70000] med 7 local-preference 200 community [65000:1 no-export]',
    'aggregator 65000:192.0.2.9 atomic-aggregate originator-id 192.0.2.7 cluster-list [192.0.2.8] large-community 1:2:3 aigp 18446744073709551615',
    'extended-community target:64500:9',
  );
  const result = decodeCommand([hex], '', true);
  assert.match(result.stdout, /"aigp":18446744073709551615/, 'every digit is kept');
  const { bgp } = JSON.parse(result.stdout) as { bgp: { update: { attr: Record<string, unknown> } } };
  const { aigp, ...attr } = bgp.update.attr;
  assert.equal(typeof aigp, 'number');
  assert.deepEqual(
    { ...bgp.update, attr },
    {
      attr: {
        origin: 'igp',
        'as-path': [65001, 70000],
        med: 7,
        'local-preference': 200,
        'atomic-aggregate': true,
        aggregator: '65000:192.0.2.9',
        community: ['65000:1', '65535:65281'],
        'originator-id': '192.0.2.7',
        'cluster-list': ['192.0.2.8'],
        'extended-community': [{ string: 'target:64500:9', value: 0x0002fbf400000009 }],
        'large-community': ['1:2:3'],
      },
      'ipv4/unicast': [{ 'next-hop': '192.0.2.1', action: 'add', nlri: ['10.0.0.0/24'] }],
    },
  );
});

test('fields for people carry the offset of each', () => {
  const hex = encode('-i', 'route 2001:db8::/32 next-hop 2001:db8::1 path-information 5');
  assert.equal(
    decodeCommand(['--add-path', hex], '').stdout,
    `    0  marker                  ${MARKER}
   16  length                  70
   18  type                    2 update
   19  withdrawn routes        0 bytes
   21  attributes              47 bytes
   23    ORIGIN [-t--]         igp
   27    AS_PATH [-t--]        []
   30    LOCAL_PREF [-t--]     100
   37    MP_REACH_NLRI [o---]  ipv6/unicast
   43      next hop            2001:db8::1
   61      prefix              2001:db8::/32 path id 5
`,
  );
});

const NLRI: readonly (readonly [args: readonly string[], value: unknown])[] = [
  [['--nlri', 'ipv4/unicast', '180a0000'], '10.0.0.0/24'],
  [['-f', 'ipv4/unicast', '180a0000'], '10.0.0.0/24'],
  [
    ['--nlri', 'ipv4/multicast', '080a080b'],
    ['10.0.0.0/8', '11.0.0.0/8'],
  ],
  [['--nlri', 'ipv6/unicast', '--add-path', '0000000720 20010db8'], { prefix: '2001:db8::/32', 'path-id': 7 }],
  [['--nlri', 'ipv4/flow', '0301080a'], { raw: '0301080a' }],
];
for (const [args, value] of NLRI) test(`decode ${args.join(' ')}`, () => assert.deepEqual(json(...args), value));

const FAULTS: readonly (readonly [args: readonly string[], code: number, stderr: string])[] = [
  [[], 2, 'nothing to decode: give HEX, or - for standard input\n'],
  [['-'], 2, 'nothing to decode: give HEX, or - for standard input\n'],
  [['abc'], 1, 'invalid hex: odd number of digits (3)\n'],
  [['ab0x'], 1, 'invalid hex: not a hex digit at digit 4\n'],
  [['--nlri'], 1, '--nlri requires a value\n'],
  [['--nlri', 'ipv5/unicast', '00'], 1, 'unknown family: ipv5/unicast\n'],
  [['--what', '00'], 1, 'unknown option: --what\n'],
  [['--nlri', 'ipv4/unicast', '080a210a'], 1, 'offset 2: malformed NLRI of ipv4/unicast\n'],
  [[MARKER + '001404'], 1, 'offset 16: message of 20 bytes is cut short at 19\n'],
  [[MARKER + '00130400'], 1, 'offset 19: 1 bytes after the message\n'],
  [[MARKER + '001309'], 1, 'offset 18: unknown message type 9\n'],
  [['--open', MARKER + '001304'], 1, 'offset 18: type 4 is not OPEN\n'],
  [['ffffff'], 1, 'offset 0: message cut short: 3 bytes\n'],
  [['--update', '00'], 1, 'offset 0: UPDATE body too short: 1 bytes\n'],
  [['--update', '00050000'], 1, 'offset 0: withdrawn routes of 5 bytes exceed the message\n'],
  [['--update', '0000000500'], 1, 'offset 2: attributes of 5 bytes exceed the message\n'],
  [['--update', '0000000440010500'], 1, 'offset 4: ORIGIN of 5 bytes exceeds the attributes\n'],
  [['--update', '000000024001'], 1, 'offset 4: attribute cut short: 2 bytes\n'],
  [['--update', '00000005800e020002'], 1, 'offset 4: MP_REACH_NLRI of 2 bytes is too short\n'],
  [['--open', '0400'], 1, 'offset 0: OPEN body too short: 2 bytes\n'],
  [['--open', '04fde9005ac0000201020206'], 1, 'offset 10: parameter of 6 bytes exceeds the message\n'],
  [['--open', '04fde9005ac00002010402020109'], 1, 'offset 12: capability of 9 bytes exceeds its parameter\n'],
];
for (const [args, code, stderr] of FAULTS) {
  test(`decode ${args.join(' ').replace(MARKER, 'MARKER ')}: ${stderr.trim()}`, () => {
    const result = decodeCommand(args, ' ');
    assert.deepEqual({ code: result.code, stderr: result.stderr }, { code, stderr });
  });
}

test('standard input may hold blanks, colons and lines', () => {
  assert.deepEqual(decodeCommand(['--nlri', 'ipv4/unicast', '-'], '18:0a\n00 00\n', true).stdout, '"10.0.0.0/24"\n');
});

test('a malformed attribute is shown as it is, with what a speaker would make of it (RFC 7606)', () => {
  const result = decodeCommand(['--update', '0000000a40010109400200400300180a0000'], '');
  assert.equal(result.code, 0);
  assert.match(result.stdout, / {4}4 {4}ORIGIN \[-t--\] +09 \(malformed: undefined value\)\n/);
  assert.match(result.stderr, /^a speaker would answer: withdraw \(RFC 7606\)\nORIGIN: undefined value \(withdraw\)\n/);
});

test('no bytes make the decoder throw, and its text is free of control characters', () => {
  const shapes = fc.tuple(
    fc.constantFrom('--open', '--update', '', '--asn2'),
    fc.uint8Array({ maxLength: 120 }),
    fc.constantFrom(0, 1, 2, 3, 4, 5),
  );
  fc.assert(
    fc.property(shapes, fc.boolean(), ([kind, body, type], whole) => {
      const body_ = Buffer.from(body).toString('hex');
      const hex = whole ? `${MARKER}${(19 + body.length).toString(16).padStart(4, '0')}0${type}${body_}` : body_;
      for (const asJson of [true, false]) {
        const result = decodeCommand([...(kind === '' || whole ? [] : [kind]), hex], '', asJson);
        assert.doesNotMatch(result.stdout.replaceAll('\n', ''), /[\u0000-\u001f\u007f-\u009f]/);
        if (asJson && result.code === 0) JSON.parse(result.stdout);
      }
    }),
    { numRuns: 3000 },
  );
});
