// UPDATEs as filters see them, and deltas worked into them (plugin-lifecycle §9.2, §9.3).
import assert from 'node:assert/strict';
import test from 'node:test';
import { type BodyFacts, FilterBody } from '../../../engine/codec/filter-body.ts';
import { applyDelta, undeclaredChange } from '../../../engine/codec/filter-delta.ts';
import { filterText, parseFilterText } from '../../../engine/codec/filter-text.ts';
import { toHex } from '../../../sdk/wire/bytes.ts';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../../sdk/wire/family.ts';
import { HEADER_LENGTH } from '../../../sdk/wire/message.ts';
import { AS_PATH, attribute, MANDATORY, NEXT_HOP, ORIGIN, PREFIX, update, type UpdateParts } from '../../wire/build.ts';

const WIDE: BodyFacts = { asn4: true, addPath: [] };
const NARROW: BodyFacts = { asn4: false, addPath: [] };
const PATHS: BodyFacts = { asn4: true, addPath: [IPV4_UNICAST, IPV6_UNICAST] };
const LOCAL_AS = 64500;

const bodyOf = (parts: UpdateParts, facts = WIDE): FilterBody => {
  const body = FilterBody.read(update(parts).subarray(HEADER_LENGTH), facts);
  assert.ok(body !== undefined);
  return body;
};
const hexOf = (body: FilterBody): string => toHex(body.bytes() ?? new Uint8Array(0));
/** What `update` would make of these parts, without the header. */
const expected = (parts: UpdateParts): string => toHex(update(parts).subarray(HEADER_LENGTH));

/** MP_REACH_NLRI and MP_UNREACH_NLRI of IPv6 unicast. */
const reach = (nlri: string, nextHop = '20010db8000000000000000000000001'): string =>
  attribute('800e', `000201${(nextHop.length / 2).toString(16).padStart(2, '0')}${nextHop}00${nlri}`);
const unreach = (nlri: string, family = '000201'): string => attribute('800f', `${family}${nlri}`);

const START = 'origin igp as-path 64512 next-hop 192.0.2.1';

const TEXTS: readonly (readonly [name: string, parts: UpdateParts, text: string, facts?: BodyFacts])[] = [
  ['the usual', { attributes: MANDATORY, nlri: PREFIX }, `${START} nlri ipv4/unicast add 198.51.100.0/24`],
  ['a withdrawal', { withdrawn: PREFIX }, 'nlri ipv4/unicast del 198.51.100.0/24'],
  ['an empty path', { attributes: `${ORIGIN}400200${NEXT_HOP}` }, 'origin igp as-path next-hop 192.0.2.1'],
  ['a set is flat', { attributes: '40020c02010000fc0001010000fc01' }, 'as-path 64512 64513'],
  [
    'numbers and lists in the order of the text, not of the wire',
    {
      attributes:
        attribute('8004', '00000005') +
        attribute('4005', '000000c8') +
        attribute('4006', '') +
        attribute('c007', '0000fbf4c0000202') +
        attribute('c008', 'fbf40001ffffff01') +
        attribute('8009', 'c0000203') +
        attribute('800a', 'c0000204c0000205') +
        attribute('c010', '0002fbf400000009') +
        attribute('801a', `01000b${'ff'.repeat(8)}`) +
        attribute('c020', '0000fbf40000000100000002'),
    },
    'med 5 local-preference 200 atomic-aggregate aggregator 64500:192.0.2.2 community 64500:1 65535:65281 ' +
      'large-community 64500:1:2 aigp 18446744073709551615 extended-community target:64500:9 ' +
      'originator-id 192.0.2.3 cluster-list 192.0.2.4 192.0.2.5',
  ],
  ['an attribute without a text is not shown', { attributes: attribute('c0c8', '01aa') + attribute('c020', '00') }, ''],
  ['an AIGP of another type is not shown', { attributes: attribute('801a', '020004ab') }, ''],
  [
    'four blocks in their order',
    {
      withdrawn: '080a',
      attributes: `${unreach('2020010db9')}${reach('2020010db8')}${ORIGIN}${NEXT_HOP}`,
      nlri: '080b',
    },
    'origin igp next-hop 192.0.2.1 nlri ipv4/unicast add 11.0.0.0/8 nlri ipv4/unicast del 10.0.0.0/8 ' +
      'nlri ipv6/unicast add 2001:db8::/32 nlri ipv6/unicast del 2001:db9::/32',
  ],
  [
    'the next hop of MP_REACH_NLRI where there is no other',
    { attributes: reach('2020010db8') },
    'next-hop 2001:db8::1 nlri ipv6/unicast add 2001:db8::/32',
  ],
  ['other families are bare markers', { attributes: unreach('0503000001', '001985') }, 'nlri l2vpn/flow del'],
  ['labels are not shown', { attributes: unreach('30800000c63364', '000104') }, 'nlri ipv4/mpls-label del 198.51.100.0/24'],
  [
    'path identifiers are not shown',
    { attributes: MANDATORY, nlri: `00000001${PREFIX}00000002${PREFIX}` },
    `${START} nlri ipv4/unicast add 198.51.100.0/24 198.51.100.0/24`,
    PATHS,
  ],
  [
    'RFC 6793 §4.2.3 a path of two octets is completed',
    { attributes: attribute('4002', '02035ba05ba0fc00') + attribute('c011', '0202000111700000fc00') },
    'as-path 23456 70000 64512',
    NARROW,
  ],
  [
    'RFC 6793 an aggregator of two octets is completed',
    { attributes: attribute('c007', '5ba0c0000202') + attribute('c012', '00011170c0000202') },
    'aggregator 70000:192.0.2.2',
    NARROW,
  ],
];

for (const [name, parts, text, facts = WIDE] of TEXTS) {
  test(`text: ${name}`, () => {
    const body = bodyOf(parts, facts);
    assert.equal(filterText(body), text);
    assert.deepEqual(parseFilterText(text).faults, []);
    assert.equal(hexOf(body), expected(parts), 'nothing changed, every byte is there');
  });
}

test('text: routes are left out for a filter that declared nlri false', () => {
  assert.equal(filterText(bodyOf({ attributes: MANDATORY, nlri: PREFIX }), false), START);
});

const COMMUNITIES = attribute('c008', 'fbf40001fbf40002');
const UNKNOWN = attribute('e0c8', '01aabb');
const MED = attribute('8004', '00000005');
const path = (...asns: readonly number[]): string =>
  attribute('4002', asns.length === 0 ? '' : `02${asns.length.toString(16).padStart(2, '0')}${asns.map(u32).join('')}`);
const u32 = (value: number): string => value.toString(16).padStart(8, '0');

interface DeltaRow {
  readonly name: string;
  readonly delta: string;
  readonly from?: string;
  /** Attributes afterwards; absent = the same. */
  readonly to?: string;
  readonly faults?: readonly string[];
  readonly facts?: BodyFacts;
}

const DELTAS: readonly DeltaRow[] = [
  { name: 'an empty one changes nothing', delta: '' },
  { name: 'blanks alone change nothing', delta: '  \n ' },
  {
    name: 'a new attribute finds its place',
    delta: 'local-preference 300',
    to: MANDATORY + attribute('4005', '0000012c') + UNKNOWN,
  },
  {
    name: 'an attribute replaces the old one',
    from: MANDATORY + MED,
    delta: 'med 7',
    to: MANDATORY + attribute('8004', '00000007'),
  },
  {
    name: 'the same value leaves the bytes, flags too',
    from: `${MANDATORY}d0080004fbf40001`,
    delta: 'community 64500:1',
  },
  {
    name: 'the partial bit stays with a new value',
    from: MANDATORY + attribute('e008', 'fbf40001'),
    delta: 'community 64500:9',
    to: MANDATORY + attribute('e008', 'fbf40009'),
  },
  { name: 'med-remove', from: MANDATORY + MED, delta: 'med-remove', to: MANDATORY },
  { name: 'med-remove without one', delta: 'med-remove' },
  {
    name: 'a later med cancels med-remove',
    from: MANDATORY + MED,
    delta: 'med-remove med 9',
    to: MANDATORY + attribute('8004', '00000009'),
  },
  { name: 'a later med-remove beats med', from: MANDATORY, delta: 'med 9 med-remove' },
  { name: 'as-path is ignored', delta: 'as-path 1 2 3' },
  { name: 'as-path-prepend', from: MANDATORY, delta: 'as-path-prepend 2', to: ORIGIN + path(64500, 64500, 64512) + NEXT_HOP },
  {
    name: 'as-path-prepend to an empty path',
    from: ORIGIN + path() + NEXT_HOP,
    delta: 'as-path-prepend 1',
    to: ORIGIN + path(64500) + NEXT_HOP,
  },
  {
    name: 'as-path-prepend before a set is a segment of its own',
    from: attribute('4002', '01010000fc00'),
    delta: 'as-path-prepend 1',
    to: attribute('4002', '02010000fbf401010000fc00'),
  },
  {
    name: 'as-path-prepend where the segment is full',
    from: attribute('5002', `02ff${u32(64512).repeat(255)}`),
    delta: 'as-path-prepend 1',
    to: attribute('5002', `02010000fbf402ff${u32(64512).repeat(255)}`),
  },
  { name: 'as-path-prepend 0 is skipped', delta: 'as-path-prepend 0', faults: ['invalid as-path-prepend: 0 (1..32)'] },
  { name: 'as-path-prepend 33 is skipped', delta: 'as-path-prepend 33', faults: ['invalid as-path-prepend: 33 (1..32)'] },
  {
    name: 'as-path-prepend in a session of two octets',
    from: attribute('4002', '02025ba0fc00') + attribute('c011', `0202${u32(70000)}${u32(64512)}`),
    delta: 'as-path-prepend 1',
    to: attribute('4002', '0203fbf45ba0fc00') + attribute('c011', `0203${u32(64500)}${u32(70000)}${u32(64512)}`),
    facts: NARROW,
  },
  {
    name: 'remove-private all keeps our own number in front',
    from: path(64500, 64512, 3356, 4_200_000_000, 65535),
    delta: 'remove-private all',
    to: path(64500, 3356, 65535),
  },
  {
    name: 'remove-private replace',
    from: path(3356, 64512, 64513),
    delta: 'remove-private replace',
    to: path(3356, 64500, 64500),
  },
  {
    name: 'remove-private of another mode is skipped',
    delta: 'remove-private some',
    faults: ['invalid remove-private: some (all or replace)'],
  },
  {
    name: 'community-add',
    from: MANDATORY + COMMUNITIES,
    delta: 'community-add 64500:2 64500:3 64500:3',
    to: MANDATORY + attribute('c008', 'fbf40001fbf40002fbf40003'),
  },
  { name: 'community-add of what is there', from: MANDATORY + COMMUNITIES, delta: 'community-add 64500:1' },
  {
    name: 'community-add where there was none',
    delta: 'community-add no-export',
    to: MANDATORY + attribute('c008', 'ffffff01') + UNKNOWN,
  },
  {
    name: 'community-remove',
    from: MANDATORY + COMMUNITIES,
    delta: 'community-remove 64500:1 64500:9',
    to: MANDATORY + attribute('c008', 'fbf40002'),
  },
  {
    name: 'community-remove of the last takes the attribute away',
    from: MANDATORY + COMMUNITIES,
    delta: 'community-remove 64500:1 64500:2',
    to: MANDATORY,
  },
  {
    name: 'large-community-add',
    delta: 'large-community-add 64500:1:2',
    to: MANDATORY + attribute('c020', '0000fbf40000000100000002') + UNKNOWN,
  },
  {
    name: 'extended-community-remove',
    from: MANDATORY + attribute('c010', '0002fbf4000000090002fbf40000000a'),
    delta: 'extended-community-remove target:64500:9',
    to: MANDATORY + attribute('c010', '0002fbf40000000a'),
  },
  {
    name: 'a value that is none is skipped, the rest is done',
    delta: 'med x local-preference 300 colour red community 1:2:3 origin igp',
    to: MANDATORY + attribute('4005', '0000012c') + UNKNOWN,
    faults: ['unknown attribute: colour', 'invalid med: x (0..4294967295)', 'invalid community: 1:2:3'],
  },
  {
    name: 'an attribute without its value is skipped',
    delta: 'med community 64500:1',
    to: MANDATORY + attribute('c008', 'fbf40001') + UNKNOWN,
    faults: ['med has no value'],
  },
  {
    name: 'next-hop of IPv4 routes',
    delta: 'next-hop 192.0.2.9',
    to: ORIGIN + AS_PATH + attribute('4003', 'c0000209') + UNKNOWN,
  },
  {
    name: 'next-hop of the other version does not fit',
    delta: 'next-hop 2001:db8::9',
    faults: ['next-hop 2001:db8::9 does not fit the routes'],
  },
  {
    name: 'aggregator beyond two octets',
    from: MANDATORY.replace(AS_PATH, ''),
    delta: 'aggregator 70000:192.0.2.2',
    to: MANDATORY.replace(AS_PATH, '') + attribute('c007', '5ba0c0000202') + attribute('c012', '00011170c0000202'),
    facts: NARROW,
  },
  { name: 'atomic-aggregate', delta: 'atomic-aggregate', to: `${MANDATORY}400600${UNKNOWN}` },
  {
    name: 'routes of another family cannot be changed',
    delta: 'nlri ipv6/unicast add 2001:db8::/32',
    faults: ['nlri ipv6/unicast cannot be changed by text'],
  },
];

for (const { name, delta, from = MANDATORY + UNKNOWN, to = from, faults = [], facts = WIDE } of DELTAS) {
  test(`delta: ${name}`, () => {
    const body = bodyOf({ attributes: from, nlri: PREFIX }, facts);
    assert.deepEqual(applyDelta(body, parseFilterText(delta), LOCAL_AS), faults);
    assert.equal(hexOf(body), expected({ attributes: to, nlri: PREFIX }));
  });
}

test('delta: the next hop of MP_REACH_NLRI, a link-local one beside it goes', () => {
  const both = `20010db8000000000000000000000001fe80${'00'.repeat(13)}01`;
  const body = bodyOf({ attributes: ORIGIN + reach('2020010db8', both) });
  assert.deepEqual(applyDelta(body, parseFilterText('next-hop 2001:db8::9'), LOCAL_AS), []);
  assert.equal(hexOf(body), expected({ attributes: ORIGIN + reach('2020010db8', `20010db8${'00'.repeat(11)}09`) }));
});

const TWO = '080a080b';
const ROUTES: readonly (readonly [
  name: string,
  delta: string,
  nlri: string,
  left: string,
  faults?: readonly string[],
  facts?: BodyFacts,
])[] = [
  ['fewer prefixes drop the others', 'nlri ipv4/unicast add 11.0.0.0/8', TWO, '080b'],
  ['all in another order change nothing', 'nlri ipv4/unicast add 11.0.0.0/8 10.0.0.0/8', TWO, TWO],
  ['several blocks are one list', 'nlri ipv4/unicast add 11.0.0.0/8 nlri ipv4/unicast add 10.0.0.0/8', TWO, TWO],
  ['a new prefix is announced', 'nlri ipv4/unicast add 10.0.0.0/8 12.0.0.0/8', TWO, '080a080c'],
  [
    'a prefix that is none is no prefix',
    'nlri ipv4/unicast add 10.0.0.0/8 nonsense 11.0.0.0',
    TWO,
    '080a',
    ['invalid prefix: nonsense', 'invalid prefix: 11.0.0.0'],
  ],
  [
    'a block without its verb is skipped',
    'nlri ipv4/unicast 10.0.0.0/8',
    TWO,
    TWO,
    ['nlri ipv4/unicast 10.0.0.0/8: expected FAMILY add or FAMILY del'],
  ],
  ['withdrawals cannot be taken back', 'nlri ipv4/unicast del', TWO, TWO],
  [
    'both paths of a prefix stay, with their identifiers',
    'nlri ipv4/unicast add 10.0.0.0/8',
    '00000001080a00000002080a00000001080b',
    '00000001080a00000002080a',
    [],
    PATHS,
  ],
  [
    'a prefix without a path identifier cannot join',
    'nlri ipv4/unicast add 10.0.0.0/8 12.0.0.0/8',
    '00000001080a',
    '00000001080a',
    ['a prefix that was not announced has no path identifier'],
    PATHS,
  ],
  ['bits beyond the prefix do not matter', 'nlri ipv4/unicast add 10.8.0.0/13', '0d0a0f', '0d0a0f'],
];

for (const [name, delta, nlri, left, faults = [], facts = WIDE] of ROUTES) {
  test(`routes: ${name}`, () => {
    const body = bodyOf({ withdrawn: facts === WIDE ? '080d' : '', attributes: MANDATORY, nlri }, facts);
    assert.deepEqual(applyDelta(body, parseFilterText(delta), LOCAL_AS), faults);
    assert.equal(hexOf(body), expected({ withdrawn: facts === WIDE ? '080d' : '', attributes: MANDATORY, nlri: left }));
  });
}

test('routes: none left leaves the withdrawals alone', () => {
  const body = bodyOf({ withdrawn: '080d', attributes: MANDATORY + unreach('2020010db9'), nlri: TWO });
  applyDelta(body, parseFilterText('nlri ipv4/unicast add'), LOCAL_AS);
  assert.equal(hexOf(body), expected({ withdrawn: '080d', attributes: unreach('2020010db9') }));
  assert.equal(body.isEmpty, false);
  const nothing = bodyOf({ attributes: MANDATORY, nlri: TWO });
  applyDelta(nothing, parseFilterText('nlri ipv4/unicast add'), LOCAL_AS);
  assert.equal(nothing.isEmpty, true);
});

test('routes: MP_REACH_NLRI keeps its attributes when the IPv4 list is emptied', () => {
  const attributes = MANDATORY + reach('2020010db8');
  const body = bodyOf({ attributes, nlri: TWO });
  applyDelta(body, parseFilterText('nlri ipv4/unicast add'), LOCAL_AS);
  assert.equal(hexOf(body), expected({ attributes }));
});

const RIGHTS: readonly (readonly [
  delta: string,
  attributes: readonly string[],
  nlri: boolean,
  undeclared: string | undefined,
])[] = [
  ['med 5 community 1:1', [], true, undefined],
  ['med 5', ['med'], true, undefined],
  ['med-remove', ['med'], true, undefined],
  ['med-remove', ['local-preference'], true, 'med-remove'],
  ['community-add 1:1', ['community'], true, undefined],
  ['community-add 1:1', ['community-add'], true, undefined],
  ['community 1:1', ['community-add'], true, 'community'],
  ['large-community-add 1:1:1', ['community'], true, 'large-community-add'],
  ['as-path-prepend 2', ['as-path'], true, undefined],
  ['remove-private all', ['as-path'], true, undefined],
  ['as-path 1 2', ['med'], true, undefined],
  ['nlri ipv4/unicast add', ['med'], true, undefined],
  ['nlri ipv4/unicast add', [], false, 'nlri'],
  ['', ['med'], false, undefined],
];

for (const [delta, attributes, nlri, undeclared] of RIGHTS) {
  test(`rights: "${delta}" of [${attributes.join(' ')}]${nlri ? '' : ' without routes'}`, () => {
    assert.equal(undeclaredChange(parseFilterText(delta), { attributes, nlri }), undeclared);
  });
}

test('bodies that do not fit are none', () => {
  for (const hex of ['', '0000', '0005000000', '000000ff', '000000034001', '00000004400101']) {
    assert.equal(FilterBody.read(Uint8Array.from(Buffer.from(hex, 'hex')), WIDE), undefined, hex);
  }
});

test('an End-of-RIB is known as one', () => {
  for (const attributes of ['', unreach('')]) assert.equal(bodyOf({ attributes }).isEndOfRib, true);
  for (const attributes of [MANDATORY, unreach('080a'), unreach('') + ORIGIN])
    assert.equal(bodyOf({ attributes }).isEndOfRib, false);
  assert.equal(bodyOf({ withdrawn: '080a' }).isEndOfRib, false);
});
