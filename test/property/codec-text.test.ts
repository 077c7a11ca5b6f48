/** Texts and bytes of the codec, both ways. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { writeIpv4, writeIpv4Prefix, writeIpv6, writeIpv6Prefix, writeU32Text } from '../../engine/codec/digits.ts';
import { formatExtendedCommunity, parseExtendedCommunity } from '../../engine/codec/extended-community.ts';
import { CodecRegistry } from '../../engine/codec/registry.ts';
import { RouteCommands } from '../../engine/codec/route-command.ts';
import { formatAddress, formatPrefix } from '../../sdk/wire/address.ts';

const written = (write: (out: Uint8Array) => number): string => {
  const out = new Uint8Array(64);
  return Buffer.from(out.subarray(0, write(out))).toString('latin1');
};
const bytes = (size: number): fc.Arbitrary<Uint8Array> =>
  fc.array(fc.oneof(fc.constant(0), fc.nat(255)), { minLength: size, maxLength: size }).map((list) => Uint8Array.from(list));

test('digits written in place are those of the general writers', () => {
  fc.assert(
    fc.property(bytes(4), bytes(16), fc.nat(32), fc.nat(128), fc.nat(0xffffffff), (four, six, bits4, bits6, number) => {
      assert.equal(
        written((out) => writeU32Text(out, 0, number)),
        String(number),
      );
      assert.equal(
        written((out) => writeIpv4(out, 0, four, 0)),
        formatAddress(four, 0, 4),
      );
      assert.equal(
        written((out) => writeIpv6(out, 0, six, 0)),
        formatAddress(six, 0, 16),
      );
      assert.equal(
        written((out) => writeIpv4Prefix(out, 0, four, 0, bits4)),
        formatPrefix(four, 0, bits4, 4),
      );
      assert.equal(
        written((out) => writeIpv6Prefix(out, 0, six, 0, bits6)),
        formatPrefix(six, 0, bits6, 16),
      );
    }),
    { numRuns: 2000 },
  );
});

test('an extended community reads back as the bytes it was written from', () => {
  const types = fc.constantFrom(
    0x0002,
    0x0003,
    0x0102,
    0x0103,
    0x0202,
    0x0203,
    0x8006,
    0x8007,
    0x8008,
    0x8009,
    0x800a,
    0x0800,
    0x4004,
  );
  const any = fc.tuple(
    fc.oneof(types, fc.nat(0xffff)),
    fc.oneof(fc.constant(0), fc.nat(0xffff)),
    fc.oneof(fc.nat(70), fc.nat(0xffffffff)),
  );
  fc.assert(
    fc.property(any, ([type, high, low]) => {
      const community = new Uint8Array(8);
      const view = new DataView(community.buffer);
      view.setUint16(0, type);
      view.setUint16(2, high);
      view.setUint32(4, low);
      const text = formatExtendedCommunity(view, 0);
      const back = new Uint8Array(8);
      assert.ok(parseExtendedCommunity(text, back, 0), text);
      assert.deepEqual(back, community, text);
      assert.match(text, /^[a-z0-9:.+-]+$/);
    }),
    { numRuns: 3000 },
  );
});

const NAMED: readonly (readonly [text: string, hex: string])[] = [
  ['target:64500:9', '0002fbf400000009'],
  ['target:192.0.2.1:9', '0102c00002010009'],
  ['target:70000:9', '0202000111700009'],
  ['origin:64500:9', '0003fbf400000009'],
  ['redirect:64500:9', '8008fbf400000009'],
  ['rate-limit:0', '8006000000000000'],
  ['rate-limit:9600', '8006000046160000'],
  ['action:sample-terminal', '8007000000000003'],
  ['mark:10', '800900000000000a'],
  ['l2info:19:0:1500:111', '800a130005dc006f'],
  ['redirect-to-nexthop', '0800000000000000'],
  ['copy-to-nexthop', '0800000000000001'],
  ['0x4004:000000000000', '4004000000000000'],
  ['0x0202:0000fbf40009', '02020000fbf40009'],
];
for (const [text, hex] of NAMED) {
  test(`extended community ${text}`, () => {
    const out = new Uint8Array(8);
    assert.ok(parseExtendedCommunity(text, out, 0));
    assert.equal(Buffer.from(out).toString('hex'), hex);
    assert.equal(formatExtendedCommunity(new DataView(out.buffer), 0), text);
  });
}

for (const text of [
  'target',
  'target:1',
  'target:1:2:3',
  'target:65536:65536',
  'target:a:b',
  'mark:64',
  'rate-limit:-1',
  'rate-limit:1e99',
  'action:x',
  'l2info:1:2:3',
  '0x12',
  '',
  'redirect:1.2.3.4:5',
]) {
  test(`"${text}" is no extended community`, () => assert.equal(parseExtendedCommunity(text, new Uint8Array(8), 0), false));
}

test('no command makes the parser throw, and a fault points into the text', () => {
  const words = [
    'update',
    'text',
    'hex',
    'b64',
    'nlri',
    'ipv4/unicast',
    'ipv6/unicast',
    'ipv4/flow',
    'add',
    'del',
    'eor',
    'origin',
    'igp',
    'as-path',
    '[',
    ']',
    '1,2',
    '65001',
    'next-hop',
    'self',
    '192.0.2.1',
    '10.0.0.0/8',
    '2001:db8::/32',
    'community',
    '1:2',
    'path-information',
    'rd',
    'label',
    'attribute',
    '0x01',
    'attr',
    'set',
    '40010100',
    'nhop',
    'addpath',
    '080a',
    '\u0000',
    '"',
    '\\',
  ];
  const parser = new RouteCommands(new CodecRegistry());
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...words) }, fc.string()), { maxLength: 20 }),
      (list) => {
        const command = `update text ${list.join(' ')}`;
        const parsed = parser.parse(command);
        if (!parsed.ok)
          assert.ok(parsed.fault.column >= 1 && parsed.fault.column <= command.length + 1 && parsed.fault.message !== '');
      },
    ),
    { numRuns: 5000 },
  );
});

test('what is announced in words is the bytes of the prefixes, in order', () => {
  const prefix = fc.tuple(bytes(4), fc.nat(32));
  fc.assert(
    fc.property(fc.array(prefix, { minLength: 1, maxLength: 30 }), fc.constantFrom(' ', ',', ' , '), (list, separator) => {
      const texts = list.map(([address, bits]) => `${address.join('.')}/${bits}`);
      const parsed = new RouteCommands(new CodecRegistry()).parse(`update text nlri ipv4/unicast add ${texts.join(separator)}`);
      assert.ok(parsed.ok);
      const expected = list.flatMap(([address, bits]) => {
        const size = (bits + 7) >> 3;
        return [bits, ...[...address.subarray(0, size)].map((byte, i) => byte & (0xff00 >> Math.min(8, bits - 8 * i)) & 0xff)];
      });
      assert.deepEqual([...(parsed.value.sections[0]?.announce ?? [])], expected);
    }),
    { numRuns: 500 },
  );
});
