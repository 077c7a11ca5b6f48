// NLRI written from words: the bytes of each family's document, and which word is wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { toHex } from '../../sdk/wire/bytes.ts';
import { NAMED_FAMILIES, parseFamily } from '../../sdk/wire/family.ts';
import { countNlri } from '../../sdk/wire/nlri/syntax.ts';
import { isWordFault, nlriFromWords } from '../../sdk/wire/nlri/words/index.ts';

const RD = '0000fbf400000001';
const rows: readonly (readonly [family: string, words: string, hex: string])[] = [
  ['ipv4/mpls-label', 'label 100 prefix 198.51.100.0/24', '30 000641 c63364'],
  ['ipv4/mpls-label', 'label [ 100 200 ] 198.51.100.0/24', '48 000640 000c81 c63364'],
  ['ipv4/mpls-label', 'label 100,200 198.51.100.0/24', '48 000640 000c81 c63364'],
  ['ipv4/mpls-label', 'prefix 198.51.100.0/24', '30 800000 c63364'],
  ['ipv6/mpls-label', 'label 0 2001:db8::/32', '38 000001 20010db8'],
  ['ipv4/mpls-vpn', 'rd 64500:1 label 100 198.51.100.0/24', `70 000641 ${RD} c63364`],
  ['ipv4/mpls-vpn', 'rd 192.0.2.1:7 label 100 0.0.0.0/0', '58 000641 0001c00002010007'],
  ['ipv4/mpls-vpn', 'rd 4200000000:7 label 1048575 10.0.0.0/8', '60 fffff1 0002fa56ea000007 0a'],
  ['ipv6/mpls-vpn', 'rd 64500:1 label 100 2001:db8::/33', `79 000641 ${RD} 20010db800`],
  ['ipv4/flow', 'destination 192.0.2.0/24 source 203.0.113.0/24', '0a 0118c00002 0218cb0071'],
  // RFC 8955 §4.3: the three examples.
  ['ipv4/flow', 'destination 192.0.2.0/24 protocol =6 port =25', '0b 0118c00002 038106 048119'],
  [
    'ipv4/flow',
    'destination 192.0.2.0/24 source 203.0.113.0/24 port [ >=137&<=139 =8080 ]',
    '12 0118c00002 0218cb0071 040389458b911f90',
  ],
  ['ipv4/flow', 'destination 192.0.2.1/32 fragment [ !dont-fragment !is-fragment ]', '0b 0120c0000201 0c02018202'],
  ['ipv4/flow', 'source 10.0.0.0/8 destination 11.0.0.0/8', '06 01080b 02080a'],
  ['ipv4/flow', 'protocol [ tcp udp ]', '05 0301068111'],
  ['ipv4/flow', 'tcp-flags [ =ack+cwr !fin+ece ]', '05 0901908241'],
  ['ipv4/flow', 'tcp-flags ns', '04 09900100'],
  ['ipv4/flow', 'port >1024&<2048', '07 04120400 d40800'],
  ['ipv4/flow', 'port > 1024 & < 2048', '07 04120400 d40800'],
  ['ipv4/flow', 'port !=80', '03 048650'],
  ['ipv4/flow', 'icmp-type echo-request icmp-code =0 dscp <=46 packet-length 64', '0c 078108 088100 0a8140 0b852e'],
  ['ipv4/flow', 'fragment not-a-fragment', '03 0c8202'],
  ['ipv4/flow-vpn', 'rd 64500:1 destination 10.0.0.0/8', `0b ${RD} 01080a`],
  ['ipv4/flow-vpn', 'destination 10.0.0.0/8 rd 64500:1', `0b ${RD} 01080a`],
  // RFC 8956 §3.8.
  ['ipv6/flow', 'destination 2001:db8::/32', '07 012000 20010db8'],
  ['ipv6/flow', 'source ::1234:5678:9a00:0/104/64', '08 026840 123456789a'],
  ['ipv6/flow', 'next-header icmpv6 icmp-type neighbor-solicit', '06 03813a 078187'],
  ['ipv6/flow', 'flow-label =2013', '06 0da1000007dd'],
  ['l2vpn/vpls', 'rd 64500:1 ve-id 5 ve-block-offset 1 ve-block-size 8 label-base 10702', `0011 ${RD} 0005 0001 0008 029ce1`],
  [
    'l2vpn/evpn',
    'mac-ip rd 64500:1 mac 00:11:22:33:44:55 label 100',
    `02 21 ${RD} 00000000000000000000 00000000 30 001122334455 00 000641`,
  ],
  [
    'l2vpn/evpn',
    'mac-ip rd 64500:1 mac 00-11-22-33-44-55 ip 192.0.2.1 etag 5 esi 00:01:02:03:04:05:06:07:08:09 label [ 100 200 ]',
    `02 28 ${RD} 00010203040506070809 00000005 30 001122334455 20 c0000201 000641 000c81`,
  ],
  ['l2vpn/evpn', 'multicast rd 64500:1 ip 192.0.2.1', `03 11 ${RD} 00000000 20 c0000201`],
  ['l2vpn/evpn', 'ethernet-ad rd 64500:1 esi 0 label 3', `01 19 ${RD} 00000000000000000000 00000000 000031`],
  [
    'l2vpn/evpn',
    'ethernet-segment rd 64500:1 esi 00010203040506070809 ip 192.0.2.1',
    `04 17 ${RD} 00010203040506070809 20 c0000201`,
  ],
  [
    'l2vpn/evpn',
    'rd 64500:1 ip-prefix prefix 198.51.100.0/24 gateway 192.0.2.1 label 100',
    `05 22 ${RD} 00000000000000000000 00000000 18 c6336400 c0000201 000641`,
  ],
  [
    'l2vpn/evpn',
    'ip-prefix rd 64500:1 prefix 2001:db8::/32 label 100',
    `05 3a ${RD} 00000000000000000000 00000000 20 20010db8000000000000000000000000 00000000000000000000000000000000 000641`,
  ],
  ['ipv4/mvpn', 'source-ad source 10.0.0.1 group 239.1.1.1 rd 64500:1', `05 12 ${RD} 20 0a000001 20 ef010101`],
  [
    'ipv4/mvpn',
    'shared-join rp 10.0.0.1 group 239.1.1.1 rd 64500:1 source-as 64500',
    `06 16 ${RD} 0000fbf4 20 0a000001 20 ef010101`,
  ],
  [
    'ipv4/mvpn',
    'source-join source 10.0.0.1 group 239.1.1.1 rd 64500:1 source-as 64500',
    `07 16 ${RD} 0000fbf4 20 0a000001 20 ef010101`,
  ],
  ['ipv4/mup', 'mup-isd 10.0.1.0/24 rd 64500:1', `01 0001 0c ${RD} 18 0a0001`],
  ['ipv4/mup', 'mup-dsd 10.0.0.1 rd 64500:1', `01 0002 0c ${RD} 0a000001`],
  [
    'ipv4/mup',
    'mup-t1st 192.0.2.1/32 rd 64500:1 teid 12345 qfi 9 endpoint 10.0.0.1',
    `01 0003 18 ${RD} 20 c0000201 00003039 09 20 0a000001 00`,
  ],
  [
    'ipv4/mup',
    'mup-t1st 192.0.2.1/32 rd 64500:1 teid 12345 qfi 9 endpoint 10.0.0.1 source 10.0.0.2',
    `01 0003 1c ${RD} 20 c0000201 00003039 09 20 0a000001 20 0a000002`,
  ],
  ['ipv4/mup', 'mup-t2st 10.0.0.1 rd 64500:1 teid 12345/32', `01 0004 11 ${RD} 40 0a000001 00003039`],
  ['ipv4/mup', 'mup-t2st 10.0.0.1 rd 64500:1 teid 0xff000000/8', `01 0004 0e ${RD} 28 0a000001 ff`],
];
for (const [name, words, hex] of rows) {
  test(`${name} ${words}`, () => {
    const family = parseFamily(name);
    const written = nlriFromWords(family, words.split(' '));
    assert.ok(!isWordFault(written), JSON.stringify(written));
    assert.equal(toHex(written), hex.replaceAll(' ', ''));
    const view = new DataView(written.buffer, written.byteOffset, written.byteLength);
    assert.equal(countNlri(view, 0, written.length, family, false, hex.includes(' 800000 ')), 1, 'reads back as one entry');
  });
}

const faults: readonly (readonly [family: string, words: string, at: number, message: RegExp])[] = [
  ['ipv4/mpls-vpn', 'label 100 10.0.0.0/8', -1, /rd is missing/],
  ['ipv4/mpls-vpn', 'rd 64500 label 100 10.0.0.0/8', 1, /"64500" is not ASN:N/],
  ['ipv4/mpls-vpn', 'rd 65536:65536 label 100 10.0.0.0/8', 1, /rd/],
  ['ipv4/mpls-label', 'label 1048576 10.0.0.0/8', 1, /label/],
  ['ipv4/mpls-label', 'label 1 2001:db8::/32', 2, /not an IPv4 prefix/],
  ['ipv4/mpls-label', 'label', 0, /needs a value/],
  ['ipv4/mpls-label', '', -1, /prefix is missing/],
  ['ipv4/mpls-label', `label [ ${'1 '.repeat(30)}] 10.0.0.0/8`, -1, /too many labels/],
  ['ipv4/flow', 'port =80&', 1, /needs a value/],
  ['ipv4/flow', 'port =>80', 1, /operators/],
  ['ipv4/flow', 'destination 10.0.0.0/8/4', 1, /IPv6/],
  ['ipv6/flow', 'destination 2001:db8::/32/32', 1, /offset 32/],
  ['ipv4/flow', `port ${'=65535 '.repeat(1400)}`.trim(), -1, /max 4095/],
  ['l2vpn/evpn', 'rd 1:1 mac 00:00:00:00:00:00', -1, /route type is missing/],
  ['l2vpn/evpn', 'mac-ip multicast rd 1:1', 1, /one route type/],
  ['ipv4/mup', 'mup-t1st 10.0.0.1/32 rd 1:1 teid 0 qfi 1 endpoint 10.0.0.1', 5, /1\.\.4294967295/],
  ['ipv4/rtc', 'x', -1, /cannot be written/],
];
for (const [name, words, at, message] of faults) {
  test(`${name} ${words.slice(0, 60)}: refused`, () => {
    const written = nlriFromWords(parseFamily(name), words === '' ? [] : words.split(' '));
    assert.ok(isWordFault(written));
    assert.match(written.message, message);
    assert.equal(written.at, at);
  });
}

test('any words are an entry that reads back, or a fault of one of them', () => {
  const vocabulary = rows.flatMap(([, words]) => words.split(' '));
  fc.assert(
    fc.property(
      fc.constantFrom(...NAMED_FAMILIES),
      fc.array(fc.oneof(fc.constantFrom(...vocabulary), fc.string({ maxLength: 12 })), { maxLength: 14 }),
      (family, words) => {
        const written = nlriFromWords(family, words);
        if (isWordFault(written)) assert.ok(written.at >= -1 && written.at < Math.max(1, words.length), `${written.at}`);
        else
          assert.equal(
            countNlri(
              new DataView(written.buffer, written.byteOffset, written.byteLength),
              0,
              written.length,
              family,
              false,
              true,
            ),
            1,
          );
      },
    ),
    { numRuns: 3000 },
  );
});
