// A daemon with an `update` block for each family that can be written: what arrives at the neighbour, as the bytes of MP_REACH_NLRI.
import assert from 'node:assert/strict';
import test from 'node:test';
import { afiOf, parseFamily, safiOf } from '../../../sdk/wire/family.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { freePort, ZestProcess } from '../../support/zest-process.ts';

const LOCAL = '127.0.0.2';
const RD = '0000fbf400000001';
const V4 = '04 c0000201';
const V4_VPN = '0c 0000000000000000 c0000201';
const MAPPED = '00000000000000000000ffffc0000201';
const NONE = '00';

/** Family, its line in the block, next hop with its length, NLRI. */
const routes: readonly (readonly [family: string, line: string, hop: string, nlri: string])[] = [
  ['ipv4/multicast', 'add 198.51.100.0/24', V4, '18 c63364'],
  ['ipv4/mpls-label', 'label 100 add 198.51.100.0/24', V4, '30 000641 c63364'],
  ['ipv6/mpls-label', 'label 100 add 2001:db8::/32', `10 ${MAPPED}`, '38 000641 20010db8'],
  ['ipv4/mpls-vpn', 'rd 64500:1 label 100 add 198.51.100.0/24', V4_VPN, `70 000641 ${RD} c63364`],
  ['ipv6/mpls-vpn', 'rd 64500:1 label 100 add 2001:db8::/32', `18 0000000000000000 ${MAPPED}`, `78 000641 ${RD} 20010db8`],
  ['ipv4/flow', 'add destination 192.0.2.0/24 protocol =6 port =25', NONE, '0b 0118c00002 038106 048119'],
  ['ipv6/flow', 'add destination 2001:db8::/32', NONE, '07 012000 20010db8'],
  ['ipv4/flow-vpn', 'rd 64500:1 add destination 10.0.0.0/8', NONE, `0b ${RD} 01080a`],
  ['ipv6/flow-vpn', 'rd 64500:1 add next-header tcp', NONE, `0b ${RD} 038106`],
  [
    'l2vpn/vpls',
    'add rd 64500:1 ve-id 5 ve-block-offset 1 ve-block-size 8 label-base 10702',
    V4,
    `0011 ${RD} 0005 0001 0008 029ce1`,
  ],
  ['l2vpn/evpn', 'add multicast rd 64500:1 ip 192.0.2.1', V4, `03 11 ${RD} 00000000 20 c0000201`],
  ['ipv4/mvpn', 'add source-ad source 10.0.0.1 group 239.1.1.1 rd 64500:1', V4, `05 12 ${RD} 20 0a000001 20 ef010101`],
  ['ipv4/mup', 'add mup-dsd 10.0.0.1 rd 64500:1', V4, `01 0002 0c ${RD} 0a000001`],
];

test('routes of every family that can be written reach the neighbour', { timeout: 600_000 }, async (t) => {
  const port = await freePort();
  const families = routes.map(([family]) => family);
  const blocks = routes.map(
    ([family, line, hop]) => `update { attribute { ${hop === NONE ? '' : 'next-hop 192.0.2.1;'} } nlri { ${family} ${line}; } }`,
  );
  const zest = await ZestProcess.start(`bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer one {
    connection { local { ip 127.0.0.1; port ${port}; } remote { ip ${LOCAL}; connect false; } }
    session {
      asn { remote 64512; }
      family { ${families.map((family) => `${family} { prefix { maximum 10; } }`).join('\n')} }
    }
    ${blocks.join('\n    ')}
  }
}
`);
  t.after(() => zest.stop());
  const neighbour = await RawSpeaker.establish({ port, local: LOCAL, as: 64512, families: families.map(parseFamily) });
  t.after(() => neighbour.close());
  const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
  for (const [family, line, hop, nlri] of routes) {
    const number = parseFamily(family);
    const wanted = `${hex(afiOf(number), 4)}${hex(safiOf(number), 2)}${hop}00${nlri}`.replaceAll(' ', '');
    await neighbour.until(`${family} ${line}: ${wanted}`, () => neighbour.updates().some((update) => update.includes(wanted)));
  }
  assert.equal(neighbour.notification, undefined);
});
