// UPDATEs whose sections, NLRI or MP attributes are malformed: one row a case, with the action it must be answered with. Treat-as-withdraw
// is allowed only where the NLRI can be read (RFC 7606 §3.j), and becomes a reset when there are none to withdraw (§5.2).
import { parseFamily } from '../../sdk/wire/family.ts';
import { AS_PATH, attribute, MANDATORY, message, NEXT_HOP, ORIGIN, PREFIX } from './build.ts';
import { mp, NH6, reach, type Row, unreach, V6, with1 } from './hostile.ts';

export const FRAMING_ROWS: readonly Row[] = [
  { name: 'RFC 4271 §4.3 a plain announcement is good', parts: with1(''), want: 'ok', block: MANDATORY },
  { name: 'RFC 4724 §2 an empty UPDATE is good', parts: {}, want: 'ok' },
  { name: 'RFC 4271 §4.3 a plain withdrawal is good', parts: { withdrawn: PREFIX }, want: 'ok' },
  { name: 'RFC 4760 an IPv6 announcement is good', parts: mp(reach('000201', NH6, V6)), want: 'ok', block: ORIGIN + AS_PATH },

  // H17..H21: framing
  {
    name: 'H17 RFC 7606 §3.b withdrawn routes length beyond the message',
    parts: message(2, '00ff0000'),
    want: 'reset',
    notice: '3/1',
  },
  { name: 'H17 RFC 7606 §3.b attribute length beyond the message', parts: message(2, '000000ff'), want: 'reset', notice: '3/1' },
  {
    name: 'H17 RFC 7606 §3.b withdrawn length that leaves no room for the attribute length',
    parts: message(2, '000300000000'),
    want: 'reset',
    notice: '3/1',
  },
  {
    name: 'H18 RFC 7606 §4 last attribute overruns the list',
    parts: { attributes: '40010100400206020100', nlri: PREFIX },
    want: 'withdraw',
    faults: [2, 3],
  },
  {
    name: 'H18 RFC 7606 §3.j the overrunning attribute is MP_REACH_NLRI: its NLRI are lost',
    parts: { attributes: `${MANDATORY}800e20000201`, nlri: PREFIX },
    want: 'reset',
    notice: '3/9',
  },
  ...['c0', 'c008', '4002', 'd00800'].map(
    (rest): Row => ({
      name: `H19 RFC 7606 §4 ${rest.length / 2} octets left where an attribute should start`,
      parts: with1(rest),
      want: 'withdraw',
    }),
  ),
  {
    name: 'H20 RFC 7606 §5.2 malformed attribute without NLRI',
    parts: { attributes: attribute('4001', '07') },
    want: 'reset',
    notice: '3/6',
    data: '40010107',
  },
  {
    name: 'H20 RFC 7606 §5.2 malformed attribute beside withdrawals only',
    parts: { withdrawn: PREFIX, attributes: attribute('8004', '0000') },
    want: 'reset',
    notice: '3/5',
    data: '8004020000',
  },
  {
    name: 'H20 RFC 7606 §5.2 a discarded attribute alone does not reset',
    parts: { withdrawn: PREFIX, attributes: attribute('4006', '00') },
    want: 'discard',
  },
  {
    name: 'H20 RFC 7606 §5.2 list cut short without NLRI',
    parts: { attributes: 'c008' },
    want: 'reset',
    notice: '3/1',
    data: 'c008',
  },
  { name: 'H21 RFC 7606 §3.d no attributes but NLRI', parts: { nlri: PREFIX }, want: 'withdraw', faults: [1, 2, 3] },

  // H22: mandatory attributes
  { name: 'H22 RFC 7606 §3.d no ORIGIN', parts: { attributes: AS_PATH + NEXT_HOP, nlri: PREFIX }, want: 'withdraw', faults: [1] },
  { name: 'H22 RFC 7606 §3.d no AS_PATH', parts: { attributes: ORIGIN + NEXT_HOP, nlri: PREFIX }, want: 'withdraw', faults: [2] },
  { name: 'H22 RFC 7606 §3.d no NEXT_HOP', parts: { attributes: ORIGIN + AS_PATH, nlri: PREFIX }, want: 'withdraw', faults: [3] },
  {
    name: 'H22 RFC 7606 §3.d no NEXT_HOP with IPv4 NLRI although MP_REACH_NLRI is there',
    parts: { ...mp(reach('000201', NH6, V6)), nlri: PREFIX },
    want: 'withdraw',
    faults: [3],
  },
  {
    name: 'H22 RFC 7606 §3.d no AS_PATH with MP_REACH_NLRI',
    parts: { attributes: ORIGIN + reach('000201', NH6, V6) },
    want: 'withdraw',
  },

  // H23: classic NLRI
  {
    name: 'H23 RFC 7606 §5.3 prefix length 33 in the NLRI field',
    parts: { attributes: MANDATORY, nlri: '21c6336400ff' },
    want: 'reset',
    notice: '3/10',
  },
  {
    name: 'H23 RFC 7606 §5.3 prefix length 33 in the withdrawn field',
    parts: { withdrawn: '21c6336400ff' },
    want: 'reset',
    notice: '3/10',
  },
  {
    name: 'H23 RFC 7606 §5.3 last prefix short',
    parts: { attributes: MANDATORY, nlri: '18c633' },
    want: 'reset',
    notice: '3/10',
  },
  { name: 'H23 RFC 7606 §5.3 last withdrawn prefix short', parts: { withdrawn: '0a' }, want: 'reset', notice: '3/10' },
  {
    name: 'H23 RFC 7606 §3.j a malformed attribute and unreadable NLRI',
    parts: { attributes: MANDATORY.replace('40010100', '40010107'), nlri: '21c6336400ff' },
    want: 'reset',
    notice: '3/10',
  },

  // H24..H28: MP attributes
  { name: 'H24 RFC 7606 §5.3 MP_REACH_NLRI of 4 octets', parts: mp(attribute('800e', '00020100')), want: 'reset', notice: '3/9' },
  { name: 'H24 RFC 7606 §5.3 MP_UNREACH_NLRI of 2 octets', parts: mp(attribute('800f', '0002')), want: 'reset', notice: '3/9' },
  {
    name: 'H24 RFC 7606 §5.3 IPv6 prefix of 129 bits',
    parts: mp(reach('000201', NH6, `81${NH6}00`)),
    want: 'reset',
    notice: '3/9',
  },
  { name: 'H24 RFC 7606 §5.3 IPv6 prefix cut short', parts: mp(reach('000201', NH6, '2020010d')), want: 'reset', notice: '3/9' },
  {
    name: 'H24 RFC 7606 §5.3 withdrawn IPv6 prefix of 129 bits',
    parts: mp(unreach('000201', `81${NH6}00`)),
    want: 'reset',
    notice: '3/9',
  },
  ...['', '0102030405', NH6.slice(2)].map(
    (nextHop): Row => ({
      name: `H24 RFC 7606 §7.11 IPv6 next hop of ${nextHop.length / 2} octets`,
      parts: mp(reach('000201', nextHop, V6)),
      want: 'reset',
      notice: '3/9',
    }),
  ),
  {
    name: 'H24 RFC 7606 §7.11 next hop longer than the attribute',
    parts: mp(attribute('800e', '0002014020010db8')),
    want: 'reset',
    notice: '3/9',
  },
  {
    name: 'H24 RFC 8950 IPv4 with an IPv6 next hop that was not negotiated',
    parts: mp(reach('000101', NH6, PREFIX)),
    want: 'reset',
    notice: '3/9',
  },
  {
    name: 'H24 RFC 8950 IPv4 with an IPv6 next hop that was',
    parts: mp(reach('000101', NH6, PREFIX)),
    want: 'ok',
    facts: { extendedNextHop: [parseFamily('ipv4/unicast')] },
  },
  {
    name: 'H25 RFC 7606 §3.g MP_REACH_NLRI twice',
    parts: mp(reach('000201', NH6, V6), reach('000201', NH6, V6)),
    want: 'reset',
    notice: '3/1',
  },
  {
    name: 'H25 RFC 7606 §3.g MP_UNREACH_NLRI twice',
    parts: mp(unreach('000201', V6), unreach('000102', PREFIX)),
    want: 'reset',
    notice: '3/1',
  },
  {
    name: 'H26 RFC 7606 §5.3 MP_REACH_NLRI with the transitive bit',
    parts: mp(reach('000201', NH6, V6).replace(/^80/, 'c0')),
    want: 'reset',
    notice: '3/9',
  },
  {
    name: 'H26 RFC 7606 §5.3 MP_UNREACH_NLRI as well-known',
    parts: mp(unreach('000201', V6).replace(/^80/, '40')),
    want: 'reset',
    notice: '3/9',
  },
  {
    name: 'H27 RFC 4760 §7 a family never negotiated is ignored, its bytes unread',
    parts: mp(reach('000201', NH6, '81')),
    want: 'ok',
    facts: { families: [parseFamily('ipv4/unicast')] },
  },
  {
    name: 'H27 RFC 4760 §7 IPv4 unicast never negotiated',
    parts: { attributes: MANDATORY, nlri: '21c6336400ff' },
    want: 'ok',
    facts: { families: [parseFamily('ipv6/unicast')] },
  },
  { name: 'H28 RFC 8277 §2.2 a label', parts: mp(reach('000104', 'c0000201', '30000641c63364')), want: 'ok' },
  {
    name: 'H28 RFC 8277 §2.2 labels without a bottom of stack',
    parts: mp(reach('000104', 'c0000201', '30000640000640')),
    want: 'reset',
    notice: '3/9',
  },
  {
    name: 'H28 RFC 8277 §2.4 a withdrawn label is a placeholder',
    parts: mp(unreach('000104', '30800000c63364')),
    want: 'ok',
  },
  {
    name: 'H28 RFC 4364 §4.3.4 VPN length shorter than its distinguisher',
    parts: mp(reach('000180', '0000000000000000c0000201', '30000641000000')),
    want: 'reset',
    notice: '3/9',
  },
  {
    name: 'H28 RFC 4364 §4.3.4 a VPN prefix',
    parts: mp(reach('000180', '0000000000000000c0000201', '700006410000fc0000000001c63364')),
    want: 'ok',
  },
  ...['1f00000000', `61${'00'.repeat(13)}`, '01'].map(
    (nlri): Row => ({
      name: `H28 RFC 4684 §4 route target of ${Number.parseInt(nlri.slice(0, 2), 16)} bits`,
      parts: mp(reach('000184', 'c0000201', nlri)),
      want: 'reset',
      notice: '3/9',
    }),
  ),
  { name: 'H28 RFC 4684 §4 the default route target', parts: mp(reach('000184', 'c0000201', '00')), want: 'ok' },
  ...[16, 18, 0].map(
    (length): Row => ({
      name: `H28 RFC 4761 §3.2.2 VPLS entry of ${length} octets`,
      parts: mp(reach('001941', 'c0000201', length.toString(16).padStart(4, '0') + '00'.repeat(length))),
      want: 'reset',
      notice: '3/9',
    }),
  ),
  { name: 'H28 RFC 7606 §5.4 EVPN route of an unknown type', parts: mp(reach('001946', 'c0000201', '630401020304')), want: 'ok' },
  {
    name: 'H28 RFC 9136 §3.1 EVPN prefix of 33 bits in the IPv4 form',
    parts: mp(reach('001946', 'c0000201', `0522${'00'.repeat(22)}21${'00'.repeat(11)}`)),
    want: 'reset',
    notice: '3/9',
  },
  {
    name: 'H28 RFC 9136 §3.1 EVPN prefix of 129 bits',
    parts: mp(reach('001946', 'c0000201', `053a${'00'.repeat(22)}81${'00'.repeat(35)}`)),
    want: 'reset',
    notice: '3/9',
  },
  {
    name: 'H28 RFC 7432 §7.2 EVPN MAC of 47 bits',
    parts: mp(reach('001946', 'c0000201', `0221${'00'.repeat(22)}2f${'00'.repeat(10)}`)),
    want: 'reset',
    notice: '3/9',
  },

  // H29: FlowSpec, a next hop of no octets
  ...[
    ['length 0', '00'],
    ['a component cut in the middle', '0401180a00'],
    ['types out of order', '0803810601180a0000'],
    ['a type twice', '06038106038111'],
    ['an operator list without an end', '03030106'],
    ['a length beyond the attribute', '10038106'],
    ['an unknown component', '03638106'],
    ['an IPv4 prefix of 33 bits', '0701210a00000000'],
    ['an operand that overruns', '0303b106'],
  ].map(
    ([what = '', nlri = '']): Row => ({
      name: `H29 RFC 8955 §4.2 FlowSpec with ${what}`,
      parts: mp(reach('000185', '', nlri)),
      want: 'reset',
      notice: '3/9',
    }),
  ),
  { name: 'H29 RFC 8955 §4 a FlowSpec rule', parts: mp(reach('000185', '', '0801180a0000038106')), want: 'ok' },
  {
    name: 'H29 RFC 8955 §4.1 a FlowSpec rule with the long length',
    parts: mp(reach('000185', '', 'f00801180a0000038106')),
    want: 'ok',
  },
  { name: 'H29 RFC 8955 §8 a FlowSpec rule of a VPN', parts: mp(reach('000186', '', '0b0000fc0000000001038106')), want: 'ok' },
  {
    name: 'H29 RFC 8955 §8 a distinguisher alone',
    parts: mp(reach('000186', '', '080000fc0000000001')),
    want: 'reset',
    notice: '3/9',
  },
  {
    name: 'H29 RFC 8956 §3.1 an IPv6 pattern with an offset',
    parts: mp(reach('000285', '', '050120100db8')),
    want: 'ok',
  },
  {
    name: 'H29 RFC 8956 §3.1 an offset past the length',
    parts: mp(reach('000285', '', '03012020')),
    want: 'reset',
    notice: '3/9',
  },

  // H30, H31
  {
    name: 'H30 RFC 7911 §3 path identifier missing',
    parts: { attributes: MANDATORY, nlri: '18c633' },
    want: 'reset',
    notice: '3/10',
    facts: { addPath: [parseFamily('ipv4/unicast')] },
  },
  {
    name: 'H30 RFC 7911 §3 a prefix with its identifier',
    parts: { attributes: MANDATORY, nlri: `00000007${PREFIX}` },
    want: 'ok',
    facts: { addPath: [parseFamily('ipv4/unicast')] },
  },
  { name: 'H31 4073 withdrawn default routes in 4096 octets', parts: { withdrawn: '00'.repeat(4073) }, want: 'ok' },
  { name: 'H31 RFC 8654 65512 withdrawn default routes', parts: { withdrawn: '00'.repeat(65512) }, want: 'ok' },
];
