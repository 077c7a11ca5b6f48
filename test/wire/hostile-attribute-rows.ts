// UPDATEs with malformed attributes: one row a case, with the action it must be answered with (RFC 7606 §7 and the documents of later
// attributes). The strongest action wins (§3.h).
import { AS_PATH, attribute, MANDATORY, NEXT_HOP, ORIGIN, PREFIX } from './build.ts';
import { IBGP, mp, NH6, reach, type Row, V6, with1, withPath } from './hostile.ts';

export const ATTRIBUTE_ROWS: readonly Row[] = [
  // H32..H37: well-known attributes
  ...['', '0000', '03', 'ff'].map(
    (value): Row => ({
      name: `H32 RFC 7606 §7.1 ORIGIN of ${value === '' ? 'no octets' : value}`,
      parts: { attributes: attribute('4001', value) + AS_PATH + NEXT_HOP, nlri: PREFIX },
      want: 'withdraw',
      faults: [1],
    }),
  ),
  ...['c001', '0001', '8001'].map(
    (head): Row => ({
      name: `H33 RFC 7606 §3.c ORIGIN with flags ${head.slice(0, 2)}`,
      parts: { attributes: attribute(head, '00') + AS_PATH + NEXT_HOP, nlri: PREFIX },
      want: 'withdraw',
      faults: [1],
    }),
  ),
  ...[
    ['8002', '02010000fc00'],
    ['c003', 'c0000201'],
    ['c005', '00000064'],
    ['8006', ''],
  ].map(
    ([head = '', value = '']): Row => ({
      name: `H33 RFC 7606 §3.c attribute ${Number.parseInt(head.slice(2), 16)} with flags ${head.slice(0, 2)}`,
      parts:
        with1('').attributes?.includes(`40${head.slice(2)}`) === true
          ? { attributes: MANDATORY.replace(attribute(`40${head.slice(2)}`, value), attribute(head, value)), nlri: PREFIX }
          : with1(attribute(head, value)),
      want: 'withdraw',
      facts: IBGP,
    }),
  ),
  {
    name: 'H34 RFC 7606 §3.c the partial bit on a well-known attribute',
    parts: { attributes: attribute('6001', '00') + AS_PATH + NEXT_HOP, nlri: PREFIX },
    want: 'ok',
  },
  {
    name: 'H34 RFC 4271 §4.3 the low flag bits are ignored',
    parts: {
      attributes: attribute('4f01', '00').replace('4f01', '5f010001').replace('000101', '0001') + AS_PATH + NEXT_HOP,
      nlri: PREFIX,
    },
    want: 'ok',
  },
  ...[
    ['unknown segment type', '09010000fc00'],
    ['segment of no numbers', '02010000fc000200'],
    ['segment that overruns', '02020000fc00'],
    ['one trailing octet', '02010000fc0002'],
    ['segment type 0', '00010000fc00'],
  ].map(
    ([what = '', path = '']): Row => ({
      name: `H35 RFC 7606 §7.2 AS_PATH with ${what}`,
      parts: withPath(path),
      want: 'withdraw',
      faults: [2],
    }),
  ),
  {
    name: 'H36 RFC 4271 AS_PATH of 750 numbers in three segments',
    parts: {
      attributes: `${ORIGIN}${attribute('5002', `02fa${'0000fc00'.repeat(250)}`.repeat(3))}${NEXT_HOP}`,
      nlri: PREFIX,
    },
    want: 'ok',
  },
  {
    name: 'H36 RFC 4271 AS_PATH of 500 segments',
    parts: { attributes: `${ORIGIN}${attribute('5002', '02010000fc00'.repeat(500))}${NEXT_HOP}`, nlri: PREFIX },
    want: 'ok',
  },
  { name: 'H37 RFC 7606 §7.2 empty AS_PATH from an external peer', parts: withPath(''), want: 'withdraw', faults: [2] },
  { name: 'H37 RFC 4271 §5.1.2 empty AS_PATH from an internal peer', parts: withPath(''), want: 'ok', facts: IBGP },
  {
    name: 'H37 RFC 7606 §7.2 empty AS_PATH where the first AS is not enforced',
    parts: withPath(''),
    want: 'ok',
    facts: { enforceFirstAs: false },
  },
  { name: 'H37 RFC 7606 §7.2 first AS is not the peer', parts: withPath('02020000fbff0000fc00'), want: 'withdraw', faults: [2] },
  {
    name: 'H37 RFC 4271 §9.1.2 our AS inside is the loop check’s business, not the codec’s',
    parts: withPath('02020000fc000000fbf4'),
    want: 'ok',
  },
  { name: 'H37 RFC 7607 §2 AS 0 inside', parts: withPath('02020000fc0000000000'), want: 'withdraw', faults: [2] },
  { name: 'H37 RFC 9774 §3 AS_SET', parts: withPath('02010000fc0001010000fbff'), want: 'withdraw', faults: [2] },
  {
    name: 'H37 RFC 9774 AS_SET where it is not refused',
    parts: withPath('02010000fc0001010000fbff'),
    want: 'ok',
    facts: { refuseAsSets: false },
  },
  { name: 'H37 RFC 5065 §5 confederation sequence from outside', parts: withPath('03010000fc00'), want: 'withdraw', faults: [2] },
  {
    name: 'H37 RFC 5065 confederation sequence from inside',
    parts: withPath('03010000fc00'),
    want: 'ok',
    facts: { confederation: true },
  },

  // H38: AS4 attributes
  {
    name: 'H38 RFC 6793 §6 AS4_PATH from a four-octet peer',
    parts: with1(attribute('c011', '02010001117e')),
    want: 'discard',
    faults: [17],
    block: MANDATORY,
  },
  {
    name: 'H38 RFC 6793 §6 AS4_AGGREGATOR from a four-octet peer',
    parts: with1(attribute('c012', '0001117ec0000201')),
    want: 'discard',
    faults: [18],
    block: MANDATORY,
  },
  ...['', '0201', '02010000', '02000001117e', '09010001117e', '02020001117e', '020100000000'].map(
    (value): Row => ({
      name: `H38 RFC 6793 §6 malformed AS4_PATH ${value === '' ? 'of no octets' : value}`,
      parts: { attributes: `${ORIGIN}${attribute('4002', '0201fc00')}${NEXT_HOP}${attribute('c011', value)}`, nlri: PREFIX },
      want: 'discard',
      faults: [17],
      block: ORIGIN + attribute('4002', '0201fc00') + NEXT_HOP,
      facts: { asn4: false },
    }),
  ),
  {
    name: 'H38 RFC 6793 §6 AS4_AGGREGATOR of 7 octets',
    parts: {
      attributes: `${ORIGIN}${attribute('4002', '0201fc00')}${NEXT_HOP}${attribute('c012', '0001117ec00002')}`,
      nlri: PREFIX,
    },
    want: 'discard',
    faults: [18],
    facts: { asn4: false },
  },
  {
    name: 'H38 RFC 6793 AS4_PATH without AS_PATH',
    parts: { attributes: ORIGIN + NEXT_HOP + attribute('c011', '02010001117e'), nlri: PREFIX },
    want: 'withdraw',
    faults: [2],
    facts: { asn4: false },
  },

  // H39..H41: next hops
  ...['', 'c00002', 'c000020100'].map(
    (value): Row => ({
      name: `H39 RFC 7606 §7.3 NEXT_HOP of ${value.length / 2} octets`,
      parts: { attributes: ORIGIN + AS_PATH + attribute('4003', value), nlri: PREFIX },
      want: 'withdraw',
      faults: [3],
    }),
  ),
  ...['00000000', '7f000001', 'e0000001', 'efffffff', 'ffffffff'].map(
    (value): Row => ({
      name: `H39 RFC 4271 §6.3 NEXT_HOP ${value}`,
      parts: { attributes: ORIGIN + AS_PATH + attribute('4003', value), nlri: PREFIX },
      want: 'withdraw',
      faults: [3],
    }),
  ),
  {
    name: 'H39 RFC 4271 §6.3 NEXT_HOP is our own address',
    parts: with1(''),
    want: 'withdraw',
    faults: [3],
    facts: { ownIpv4: 0xc0000201 },
  },
  {
    name: 'H40 RFC 4760 §3 NEXT_HOP 0.0.0.0 beside MP_REACH_NLRI',
    parts: mp(attribute('4003', '00000000'), reach('000201', NH6, V6)),
    want: 'ok',
  },
  {
    name: 'H41 RFC 2545 §3 second next hop that is not link-local',
    parts: mp(reach('000201', NH6 + NH6, V6)),
    want: 'ok',
  },
  {
    name: 'H41 RFC 2545 §3 unspecified and link-local next hop',
    parts: mp(reach('000201', `${'00'.repeat(16)}fe80${'00'.repeat(13)}01`, V6)),
    want: 'ok',
  },
  { name: 'H41 link-local next hop alone', parts: mp(reach('000201', `fe80${'00'.repeat(13)}01`, V6)), want: 'ok' },
  { name: 'H41 unspecified next hop', parts: mp(reach('000201', '00'.repeat(16), V6)), want: 'withdraw', faults: [14] },
  {
    name: 'H41 unspecified next hop twice',
    parts: mp(reach('000201', '00'.repeat(32), V6)),
    want: 'withdraw',
    faults: [14],
  },
  { name: 'H41 multicast next hop', parts: mp(reach('000201', `ff02${'00'.repeat(14)}`, V6)), want: 'withdraw', faults: [14] },

  // H42..H45
  ...['000000', '0000000000'].map(
    (value): Row => ({
      name: `H42 RFC 7606 §7.4 MULTI_EXIT_DISC of ${value.length / 2} octets`,
      parts: with1(attribute('8004', value)),
      want: 'withdraw',
      faults: [4],
    }),
  ),
  ...['000000', '0000000000'].map(
    (value): Row => ({
      name: `H42 RFC 7606 §7.5 LOCAL_PREF of ${value.length / 2} octets from an internal peer`,
      parts: with1(attribute('4005', value)),
      want: 'withdraw',
      faults: [5],
      facts: IBGP,
    }),
  ),
  ...['000000', '00000064', ''].map(
    (value): Row => ({
      name: `H42 RFC 7606 §7.5 LOCAL_PREF of ${value.length / 2} octets from an external peer`,
      parts: with1(attribute('4005', value)),
      want: 'discard',
      faults: [5],
      block: MANDATORY,
    }),
  ),
  {
    name: 'H43 RFC 7606 §7.6 ATOMIC_AGGREGATE of 1 octet',
    parts: with1(attribute('4006', '00')),
    want: 'discard',
    block: MANDATORY,
  },
  {
    name: 'H43 RFC 7606 §7.7 AGGREGATOR of 6 octets from a four-octet peer',
    parts: with1(attribute('c007', 'fc00c0000201')),
    want: 'discard',
    faults: [7],
  },
  {
    name: 'H43 RFC 7606 §7.7 AGGREGATOR of 8 octets from a two-octet peer',
    parts: {
      attributes: `${ORIGIN}${attribute('4002', '0201fc00')}${NEXT_HOP}${attribute('c007', '0000fc00c0000201')}`,
      nlri: PREFIX,
    },
    want: 'discard',
    faults: [7],
    facts: { asn4: false },
  },
  {
    name: 'H43 RFC 7607 §2 AGGREGATOR of AS 0',
    parts: with1(attribute('c007', '00000000c0000201')),
    want: 'discard',
    faults: [7],
  },
  ...[
    ['RFC 7606 §7.8', 'c008', 0],
    ['RFC 7606 §7.8', 'c008', 2],
    ['RFC 7606 §7.8', 'c008', 5],
    ['RFC 7606 §7.14', 'c010', 0],
    ['RFC 7606 §7.14', 'c010', 7],
    ['RFC 7606 §7.15', 'c019', 0],
    ['RFC 7606 §7.15', 'c019', 19],
    ['RFC 8092 §5', 'c020', 0],
    ['RFC 8092 §5', 'c020', 13],
  ].map(
    ([rfc, head, length]): Row => ({
      name: `H44 ${rfc as string} communities (${head as string}) of ${length as number} octets`,
      parts: with1(attribute(head as string, '00'.repeat(length as number))),
      want: 'withdraw',
      faults: [Number.parseInt((head as string).slice(2), 16)],
    }),
  ),
  ...[
    ['8009', 'ORIGINATOR_ID', '000000'],
    ['800a', 'CLUSTER_LIST', '0000000000'],
    ['800a', 'CLUSTER_LIST', ''],
  ].flatMap(([head = '', name = '', value = '']): Row[] => [
    {
      name: `H45 RFC 7606 §7.9, §7.10 ${name} of ${value.length / 2} octets from an external peer`,
      parts: with1(attribute(head, value)),
      want: 'discard',
      block: MANDATORY,
    },
    {
      name: `H45 RFC 7606 §7.9, §7.10 ${name} of ${value.length / 2} octets from an internal peer`,
      parts: with1(attribute(head, value)),
      want: 'withdraw',
      facts: IBGP,
    },
  ]),

  // H46, H52: attributes of later documents
  {
    name: 'H46 RFC 9012 §13 Tunnel Encapsulation TLV that overruns',
    parts: with1(attribute('c017', '00080010')),
    want: 'withdraw',
    faults: [23],
  },
  {
    name: 'H46 RFC 9012 §13 Tunnel Encapsulation sub-TLV that overruns',
    parts: with1(attribute('c017', '000800030605aa')),
    want: 'withdraw',
  },
  {
    name: 'H46 RFC 6514 §5 PMSI_TUNNEL of 4 octets',
    parts: with1(attribute('c016', '00000000')),
    want: 'withdraw',
    faults: [22],
  },
  {
    name: 'H46 RFC 6514 §5 PMSI_TUNNEL with a short identifier',
    parts: with1(attribute('c016', '0006000000c0')),
    want: 'withdraw',
  },
  {
    name: 'H46 RFC 7311 §3.2 AIGP TLV of 10 octets',
    parts: with1(attribute('801a', '01000a00000000000000')),
    want: 'discard',
    faults: [26],
  },
  { name: 'H46 RFC 7311 §3 AIGP TLV of no length', parts: with1(attribute('801a', '020000')), want: 'discard', faults: [26] },
  {
    name: 'H46 RFC 7311 §3 AIGP with the transitive bit',
    parts: with1(attribute('c01a', `01000b${'00'.repeat(8)}`)),
    want: 'discard',
  },
  { name: 'H46 RFC 9552 BGP-LS TLV that overruns', parts: with1(attribute('801d', '0400ffff')), want: 'discard', faults: [29] },
  {
    name: 'H46 RFC 8669 §6 Prefix-SID label index of 6 octets',
    parts: with1(attribute('c028', '010006000000000000')),
    want: 'discard',
    faults: [40],
  },
  { name: 'H46 RFC 8669 §6 Prefix-SID of no octets', parts: with1(attribute('c028', '')), want: 'discard', faults: [40] },
  { name: 'H46 RFC 9234 §5 OTC of 3 octets', parts: with1(attribute('c023', '00fc00')), want: 'withdraw', faults: [35] },
  {
    name: 'H46 RFC 7606 §7.16 ATTR_SET that ends in an attribute',
    parts: with1(attribute('c080', '0000fc00400101')),
    want: 'withdraw',
    faults: [128],
  },
  { name: 'H46 RFC 7606 §7.16 ATTR_SET of 3 octets', parts: with1(attribute('c080', '00fc00')), want: 'withdraw', faults: [128] },
  {
    name: 'H52 RFC 8669 Prefix-SID TLV of length ffff',
    parts: with1(attribute('c028', '05ffff')),
    want: 'discard',
    block: MANDATORY,
  },
  { name: 'H52 RFC 8669 unknown Prefix-SID TLV of no length', parts: with1(attribute('c028', '630000')), want: 'ok' },
  { name: 'H52 RFC 9552 BGP-LS TLV of no length', parts: with1(attribute('801d', '04000000')), want: 'ok' },

  // H47..H51: unknown attributes, duplicates
  { name: 'H47 RFC 4271 §9 unknown optional non-transitive attribute', parts: with1(attribute('80c8', '01')), want: 'ok' },
  { name: 'H48 RFC 4271 §9 unknown optional transitive attribute, no octets', parts: with1(attribute('c0ff', '')), want: 'ok' },
  {
    name: 'H48 RFC 4271 §9 unknown optional transitive attribute, 3 KiB',
    parts: with1(attribute('d0fe', 'ab'.repeat(3072))),
    want: 'ok',
  },
  { name: 'H48 RFC 4271 §4.3 unknown attribute with low flag bits', parts: with1('cfc801ab'), want: 'ok' },
  {
    name: 'H49 RFC 4271 §6.3 unknown well-known attribute',
    parts: with1('40c80100'),
    want: 'reset',
    notice: '3/2',
    data: '40c80100',
  },
  {
    name: 'H50 RFC 7606 §3.g second ORIGIN, malformed, is discarded unread',
    parts: with1('40010107'),
    want: 'discard',
    faults: [1],
    block: MANDATORY,
  },
  {
    name: 'H50 RFC 7606 §3.g second unknown attribute',
    parts: with1(attribute('c0c8', '01') + attribute('c008', 'fc000050') + attribute('c0c8', '02')),
    want: 'discard',
    faults: [200],
    block: MANDATORY + attribute('c0c8', '01') + attribute('c008', 'fc000050'),
  },
  {
    name: 'H50 a discard in the middle leaves the rest in one block',
    parts: with1(attribute('4005', '00000064') + attribute('c008', 'fc000050')),
    want: 'discard',
    block: MANDATORY + attribute('c008', 'fc000050'),
  },
  {
    name: 'H51 200 different unknown attributes',
    parts: with1(
      Array.from({ length: 200 }, (_, i) => attribute(`c0${(50 + i).toString(16)}`, '00'))
        .filter((a) => !a.startsWith('c080'))
        .join(''),
    ),
    want: 'ok',
  },
  {
    name: 'RFC 7606 §3.h discard and withdraw: withdraw wins',
    parts: with1(attribute('4006', '00') + attribute('8004', '00')),
    want: 'withdraw',
    faults: [6, 4],
  },
  {
    name: 'RFC 7606 §3.h withdraw, then discard: withdraw still wins',
    parts: with1(attribute('8004', '00') + attribute('4006', '00')),
    want: 'withdraw',
    faults: [4, 6],
  },
  {
    name: 'RFC 7606 §3.h withdraw and reset: reset wins',
    parts: with1(`${attribute('8004', '00')}40c80100`),
    want: 'reset',
    notice: '3/2',
  },
];
