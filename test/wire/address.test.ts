import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addressBytes,
  formatAddress,
  formatIpv4,
  formatIpv6,
  formatPrefix,
  parseDecimal,
  parseIpv4,
  parsePrefix,
  prefixTarget,
  writeDecimal,
  writeIpv4Text,
  writePrefixText,
} from '../../sdk/wire/address.ts';
import { fromHex } from '../../sdk/wire/bytes.ts';
import { hex, toHex } from './build.ts';

/** Text, its bytes, and the text RFC 5952 gives back when that differs. */
const IPV6: readonly (readonly [string, string, string?])[] = [
  ['::', '00000000000000000000000000000000'],
  ['::1', '00000000000000000000000000000001'],
  ['1::', '00010000000000000000000000000000'],
  ['2001:db8::1', '20010db8000000000000000000000001'],
  ['2001:DB8:0:0:0:0:0:1', '20010db8000000000000000000000001', '2001:db8::1'],
  ['2001:db8:0:1:1:1:1:1', '20010db8000000010001000100010001'],
  ['2001:0:0:1::1', '20010000000000010000000000000001', '2001:0:0:1::1'],
  ['2001:db8::1:0:0:1', '20010db8000000000001000000000001'],
  ['1:2:3:4:5:6:7::', '00010002000300040005000600070000', '1:2:3:4:5:6:7:0'],
  ['::2:3:4:5:6:7:8', '00000002000300040005000600070008', '0:2:3:4:5:6:7:8'],
  ['::ffff:192.0.2.1', '00000000000000000000ffffc0000201'],
  ['64:ff9b::192.0.2.33', '0064ff9b0000000000000000c0000221', '64:ff9b::c000:221'],
  ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'ffffffffffffffffffffffffffffffff'],
];
for (const [text, bytes, shown] of IPV6) {
  test(`RFC 5952 ${text}`, () => {
    const read = addressBytes(text);
    assert.ok(read !== undefined);
    assert.equal(toHex(read), bytes);
    assert.equal(formatIpv6(hex(bytes), 0), shown ?? text);
  });
}

test('RFC 4291 §2.2 what is not an IPv6 address', () => {
  for (const text of [
    '',
    ':',
    ':::',
    '1',
    '1:',
    ':1',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '::1:2:3:4:5:6:7:8',
    '12345::',
    'g::',
    '::1.2.3',
    '::1.2.3.256',
    '1:2:3:4:5:6:7:1.2.3.4',
    '1.2.3.4::',
    'fe80::1%eth0',
    ' ::1',
    '::1 ',
  ]) {
    assert.equal(addressBytes(text), undefined, text);
  }
});

test('dotted quads', () => {
  for (const [text, value] of [
    ['0.0.0.0', 0],
    ['255.255.255.255', 0xffffffff],
    ['192.0.2.1', 0xc0000201],
  ] as const) {
    assert.equal(parseIpv4(text), value);
    assert.equal(formatIpv4(value), text);
  }
  for (const text of [
    '',
    '1',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '01.2.3.4',
    '1..2.3',
    '.1.2.3',
    '1.2.3.',
    '1.2.3.4 ',
    '-1.2.3.4',
    '1.2.3.+4',
  ]) {
    assert.equal(parseIpv4(text), -1, text);
  }
});

const PREFIXES: readonly (readonly [string, string, number, string?])[] = [
  ['0.0.0.0/0', '00000000', 0],
  ['198.51.100.0/24', 'c6336400', 24],
  ['198.51.100.255/24', 'c6336400', 24, '198.51.100.0/24'],
  ['10.255.0.0/9', '0a800000', 9, '10.128.0.0/9'],
  ['203.0.113.5/32', 'cb007105', 32],
  ['203.0.113.5', 'cb007105', 32, '203.0.113.5/32'],
  ['::/0', '00'.repeat(16), 0],
  ['2001:db8:ffff::/33', '20010db880000000'.padEnd(32, '0'), 33, '2001:db8:8000::/33'],
  ['2001:db8::1/128', '20010db8000000000000000000000001', 128],
];
for (const [text, bytes, bits, shown] of PREFIXES) {
  test(`prefix ${text}`, () => {
    const target = prefixTarget();
    target.bytes.fill(0xff);
    assert.ok(parsePrefix(text, target));
    const length = bytes.length / 2;
    assert.deepEqual([target.addressLength, target.lengthBits, toHex(target.bytes, 0, length)], [length, bits, bytes]);
    const dirty = hex('ff'.repeat(16));
    dirty.set(target.bytes.subarray(0, Math.ceil(bits / 8)));
    if (bits % 8 !== 0) dirty[bits >>> 3]! |= 1;
    assert.equal(formatPrefix(dirty, 0, bits, length), shown ?? text);
    const out = new Uint8Array(50);
    const end = writePrefixText(out, 2, dirty, 0, bits, length);
    assert.equal(String.fromCharCode(...out.subarray(2, end)), shown ?? text);
  });
}

test('what is not a prefix', () => {
  const target = prefixTarget();
  for (const text of [
    '',
    '/',
    '/24',
    '1.2.3.4/',
    '1.2.3.4/33',
    '1.2.3.4/024',
    '1.2.3.4/-1',
    '::/129',
    '1.2.3/24',
    '1.2.3.4/2 ',
  ]) {
    assert.ok(!parsePrefix(text, target), text);
  }
});

test('decimal and hex', () => {
  assert.equal(parseDecimal('4294967295', 0, 10, 0xffffffff), 0xffffffff);
  assert.equal(parseDecimal('4294967296', 0, 10, 0xffffffff), -1);
  assert.equal(parseDecimal('00', 0, 2, 9), -1);
  assert.equal(parseDecimal('', 0, 0, 9), -1);
  for (const value of [0, 9, 10, 4294967295, Number.MAX_SAFE_INTEGER]) {
    const out = new Uint8Array(20);
    assert.equal(String.fromCharCode(...out.subarray(0, writeDecimal(out, 0, value))), String(value));
  }
  const out = new Uint8Array(15);
  assert.equal(String.fromCharCode(...out.subarray(0, writeIpv4Text(out, 0, 0xffffffff))), '255.255.255.255');
  assert.equal(fromHex('abc'), undefined);
  assert.equal(fromHex('0g'), undefined);
  assert.equal(toHex(hex('00FFab')), '00ffab');
  assert.equal(formatAddress(hex('0102030405'), 0, 5), undefined);
  assert.equal(formatAddress(hex('aa01020304'), 1, 4), '1.2.3.4');
});
