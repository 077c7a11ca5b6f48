// What each filter does with an UPDATE, row by row (daemon-config §7, RFC 9234 §5).
import assert from 'node:assert/strict';
import test from 'node:test';
import { compile as asPathList } from '../../../plugins/bgp-filter-aspath/index.ts';
import { compile as community } from '../../../plugins/bgp-filter-community/index.ts';
import { compile as communityMatch } from '../../../plugins/bgp-filter-community-match/index.ts';
import { compile as modify } from '../../../plugins/bgp-filter-modify/index.ts';
import { compile as prefixList } from '../../../plugins/bgp-filter-prefix/index.ts';
import { compile as role } from '../../../plugins/bgp-role/index.ts';
import { CommunitySet } from '../../../sdk/policy/community-set.ts';
import { plainContext } from '../../../sdk/wire/context.ts';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../../sdk/wire/family.ts';
import { judge, said } from '../../support/policy-draft.ts';
import { attribute, hex, MANDATORY, NEXT_HOP, ORIGIN, toHex, u8, update } from '../../wire/build.ts';

const CONTEXT = plainContext({ peerAs: 64512, localAs: 64500, ownLocalPref: true });
const BOTH = plainContext({ peerAs: 64512, localAs: 64500, families: [IPV4_UNICAST, IPV6_UNICAST] });

/** IPv4 prefixes as they travel. */
function nlri(...prefixes: readonly string[]): string {
  return prefixes
    .map((prefix) => {
      const [address = '', bits = '0'] = prefix.split('/');
      const octets = address.split('.').map(Number);
      return (
        u8(Number(bits)) +
        octets
          .slice(0, Math.ceil(Number(bits) / 8))
          .map(u8)
          .join('')
      );
    })
    .join('');
}

const path = (...asns: readonly number[]): string =>
  attribute(
    '4002',
    asns.length === 0 ? '' : `02${u8(asns.length)}${asns.map((asn) => asn.toString(16).padStart(8, '0')).join('')}`,
  );
const route = (attributes: string, prefixes = nlri('198.51.100.0/24')): Uint8Array => update({ attributes, nlri: prefixes });
const accepts = (filter: ReturnType<typeof prefixList>, message: Uint8Array): boolean =>
  judge(filter, message, CONTEXT).message !== undefined;

const ENTRIES: readonly (readonly [entries: readonly unknown[], passes: readonly string[], fails: readonly string[]])[] = [
  [[['10.0.0.0/8', {}]], ['10.0.0.0/8'], ['10.0.0.0/9', '11.0.0.0/8', '0.0.0.0/0']],
  [[['10.0.0.0/8', { le: 16 }]], ['10.0.0.0/8', '10.1.0.0/16'], ['10.1.0.0/17', '0.0.0.0/4']],
  [[['10.0.0.0/8', { ge: 16 }]], ['10.1.0.0/16', '10.1.1.1/32'], ['10.0.0.0/8', '10.0.0.0/15']],
  [[['0.0.0.0/0', { ge: 8, le: 24 }]], ['1.0.0.0/8', '198.51.100.0/24'], ['0.0.0.0/0', '198.51.100.0/25', '128.0.0.0/7']],
  [[['0.0.0.0/0', {}]], ['0.0.0.0/0'], ['10.0.0.0/8']],
  [
    [
      ['10.1.0.0/16', { le: 32, action: 'reject' }],
      ['10.0.0.0/8', { le: 32 }],
    ],
    ['10.2.0.0/16', '10.0.0.0/8'],
    ['10.1.0.0/16', '10.1.255.0/24'],
  ],
  [
    [
      ['10.0.0.0/8', { le: 32 }],
      ['10.1.0.0/16', { le: 32, action: 'reject' }],
    ],
    ['10.1.0.0/16', '10.1.2.0/24'],
    [],
  ],
  [
    [
      ['10.1.0.0/16', { action: 'reject' }],
      ['10.0.0.0/8', { ge: 16 }],
    ],
    ['10.1.1.0/24'],
    ['10.1.0.0/16'],
  ],
  [[['2001:db8::/32', { le: 48 }]], [], ['32.1.13.184/32', '10.0.0.0/8']],
  [[], [], ['10.0.0.0/8']],
];

for (const [entry, passes, fails] of ENTRIES) {
  test(`prefix-list ${JSON.stringify(entry)}`, () => {
    const filter = prefixList({ entry });
    for (const prefix of passes) assert(accepts(filter, route(MANDATORY, nlri(prefix))), `${prefix} passes`);
    for (const prefix of fails) assert(!accepts(filter, route(MANDATORY, nlri(prefix))), `${prefix} does not`);
    const mixed = judge(filter, route(MANDATORY, nlri(...fails, ...passes)), CONTEXT);
    if (passes.length === 0) return;
    assert.deepEqual(said(mixed.message!, CONTEXT).announced, passes);
    assert.deepEqual(mixed.removed, fails);
  });
}

test('prefix-list: IPv6 in MP_REACH_NLRI is trimmed too, withdrawals stay, path identifiers are kept', () => {
  const context = plainContext({ families: [IPV4_UNICAST, IPV6_UNICAST], addPath: [IPV6_UNICAST] });
  const reach = attribute(
    '800e',
    `00020110${'20010db8'.padEnd(32, '0').replace(/0$/, '1')}00000000072020010db8000000083020010db80001`,
  );
  const message = update({ withdrawn: nlri('10.0.0.0/8'), attributes: ORIGIN + path(64512) + reach });
  const { message: out, removed } = judge(prefixList({ entry: [['2001:db8::/32', {}]] }), message, context);
  const { announced, withdrawn, nextHop } = said(out!, context);
  assert.deepEqual([announced, withdrawn, removed], [['2001:db8::/32#7'], ['10.0.0.0/8'], ['2001:db8:1::/48#8']]);
  assert.match(nextHop, /^20010db8/);
});

test('prefix-list: labelled prefixes behind labels and distinguisher; what is no prefix never passes', () => {
  const vpn = (1 << 8) | 128;
  const evpn = (25 << 8) | 70;
  const context = plainContext({ families: [vpn, evpn] });
  const filter = prefixList({ entry: [['10.1.0.0/16', {}]] });
  // 24 bits of label, 64 of distinguisher, 16 of prefix.
  const good = `${u8(104)}0001010000fde9000000010a01`;
  const bad = `${u8(104)}0001010000fde9000000010a02`;
  const reach = attribute('800e', `0001800c${'0'.repeat(16)}c000020100${good}${bad}`);
  const { message, removed } = judge(filter, update({ attributes: ORIGIN + path(64512) + reach }), context);
  assert(toHex(message!).includes(good) && !toHex(message!).includes(bad), toHex(message!));
  assert.deepEqual(removed, [bad]);
  const type3 = `0311${'0'.repeat(16)}0000000020c0000201`;
  const ethernet = attribute('800e', `00194604c000020100${type3}`);
  assert.equal(
    judge(prefixList({ entry: [['0.0.0.0/0', { le: 32 }]] }), update({ attributes: ORIGIN + path(1) + ethernet }), context)
      .message,
    undefined,
  );
});

const PATHS: readonly (readonly [
  regex: string,
  passes: readonly (readonly number[])[],
  fails: readonly (readonly number[])[],
])[] = [
  ['^65001 ', [[65001, 2]], [[65001], [1, 65001, 2], [650011, 2]]],
  ['(^| )64510( |$)', [[64510], [1, 64510], [64510, 1], [1, 64510, 2]], [[645101], [164510], []]],
  ['^$', [[]], [[1]]],
  ['.*', [[], [1, 2, 3]], []],
  ['^[0-9]+$', [[1], [4294967295]], [[], [1, 2]]],
  ['^65[0-9]{3}( 65[0-9]{3}){0,2}$', [[65001], [65001, 65002, 65003]], [[65001, 65002, 65003, 65004], [6500]]],
  ['\\b1\\b', [[1], [2, 1, 3]], [[11], [12, 21]]],
  [
    '3356|174$',
    [
      [3356, 1],
      [1, 174],
    ],
    [[174, 1]],
  ],
  [
    '(?:1 )+2',
    [
      [1, 2],
      [1, 1, 1, 2],
    ],
    [[2], [12]],
  ],
];

for (const [regex, passes, fails] of PATHS) {
  test(`as-path-list ${regex}`, () => {
    const filter = asPathList({ entry: [[regex, {}]] });
    for (const asns of passes) assert(accepts(filter, route(ORIGIN + path(...asns) + NEXT_HOP)), `${asns.join(' ')} passes`);
    for (const asns of fails) assert(!accepts(filter, route(ORIGIN + path(...asns) + NEXT_HOP)), `${asns.join(' ')} does not`);
  });
}

test('as-path-list: the first entry that matches decides, whichever ends first in the path', () => {
  const entry = [
    ['3$', { action: 'reject' }],
    ['^1', {}],
    ['2', { action: 'reject' }],
  ];
  const filter = asPathList({ entry });
  for (const [asns, passes] of [
    [[1, 2], true],
    [[1, 2, 3], false],
    [[5, 2], false],
    [[7], false],
  ] as const) {
    assert.equal(accepts(filter, route(ORIGIN + path(...asns) + NEXT_HOP)), passes, asns.join(' '));
  }
});

test('as-path-list: sets are numbers like others, AS4_PATH of a two-octet session is merged in', () => {
  const filter = asPathList({ entry: [['^64512 70000 5 6$', {}]] });
  const context = plainContext({ asn4: false });
  const short = attribute('4002', '0202fc005ba0' + '010200050006');
  const wide = attribute('c011', '020100011170' + '01020000000500000006');
  assert.notEqual(judge(filter, route(ORIGIN + short + NEXT_HOP + wide), context).message, undefined);
});

const STANDARD = (...values: readonly string[]): string => attribute('c008', values.join(''));
const LARGE = attribute('c020', '000000010000000200000003');
const EXTENDED = attribute('c010', '0002fde800000064');
const MATCHES: readonly (readonly [name: string, entry: readonly unknown[], attributes: string, passes: boolean])[] = [
  ['a standard one', [['64500:1', {}]], STANDARD('fbf40001'), true],
  ['another value', [['64500:1', {}]], STANDARD('fbf40002'), false],
  ['none at all', [['64500:1', {}]], '', false],
  [
    'a well-known name',
    [
      ['no-export', { action: 'reject' }],
      ['64500:1', {}],
    ],
    STANDARD('fbf40001', 'ffffff01'),
    false,
  ],
  [
    'the order of entries, not of communities',
    [
      ['64500:2', {}],
      ['64500:1', { action: 'reject' }],
    ],
    STANDARD('fbf40001', 'fbf40002'),
    true,
  ],
  ['a large one', [['1:2:3', { type: 'large' }]], LARGE, true],
  ['an extended one', [['target:65000:100', { type: 'extended' }]], EXTENDED, true],
  ['the kind counts', [['1:2', { type: 'standard' }]], LARGE, false],
];

for (const [name, entry, attributes, passes] of MATCHES) {
  test(`community-match: ${name}`, () => assert.equal(accepts(communityMatch({ entry }), route(MANDATORY + attributes)), passes));
}

const TAGS: readonly (readonly [
  name: string,
  definition: object,
  attributes: string,
  after: Readonly<Record<number, string>>,
])[] = [
  ['the attribute is made', { tag: { standard: ['64500:1', '64500:2'] } }, '', { 8: 'fbf40001fbf40002' }],
  [
    'what is there is not added again',
    { tag: { standard: ['64500:1', '64500:2'] } },
    STANDARD('fbf40002'),
    { 8: 'fbf40002fbf40001' },
  ],
  ['the last one takes the attribute with it', { strip: { standard: ['64500:1'] } }, STANDARD('fbf40001'), {}],
  ['others stay', { strip: { standard: ['64500:1'] } }, STANDARD('fbf40002', 'fbf40001', '00010001'), { 8: 'fbf4000200010001' }],
  [
    'stripped first, then tagged',
    { strip: { standard: ['64500:1'] }, tag: { standard: ['64500:1'] } },
    STANDARD('fbf40001', '00010001'),
    { 8: '00010001fbf40001' },
  ],
  [
    'all kinds',
    { tag: { standard: ['1:1'], large: ['1:2:3'], extended: ['target:65000:100'] } },
    '',
    { 8: '00010001', 16: '0002fde800000064', 32: '000000010000000200000003' },
  ],
];

for (const [name, definition, attributes, after] of TAGS) {
  test(`community tagging: ${name}`, () => {
    const { message } = judge(community(definition), route(MANDATORY + attributes), CONTEXT);
    const rest = Object.fromEntries(Object.entries(said(message!, CONTEXT).attributes).filter(([code]) => Number(code) > 3));
    assert.deepEqual(rest, after);
  });
}

test('community tagging: nothing to do leaves the bytes alone', () => {
  const message = route(MANDATORY + STANDARD('fbf40001'));
  const filter = community({ tag: { standard: ['64500:1'] }, strip: { standard: ['9:9'] } });
  assert.deepEqual(judge(filter, message, CONTEXT), { message, changed: false, removed: [] });
});

const SETS: readonly (readonly [name: string, set: object, changed: Readonly<Record<number, string>>])[] = [
  ['local-preference', { 'local-preference': 180 }, { 5: '000000b4' }],
  ['med', { med: 7 }, { 4: '00000007' }],
  ['origin', { origin: 'incomplete' }, { 1: '02' }],
  ['next-hop', { 'next-hop': '203.0.113.9' }, { 3: 'cb007109' }],
  ['as-path-prepend', { 'as-path-prepend': 2 }, { 2: '02030000fbf40000fbf40000fc00' }],
  [
    'communities',
    { 'community-add': ['1:2'], 'large-community-add': ['1:2:3'] },
    { 8: '00010002', 32: '000000010000000200000003' },
  ],
  ['several', { med: 1, origin: 'egp', 'local-preference': 2 }, { 1: '01', 4: '00000001', 5: '00000002' }],
  ['nothing new', { origin: 'igp', 'next-hop': '192.0.2.1' }, {}],
  ['nothing', {}, {}],
];

for (const [name, set, changed] of SETS) {
  test(`modify: ${name}`, () => {
    const message = route(MANDATORY);
    const result = judge(modify({ set }), message, CONTEXT);
    assert.deepEqual(said(result.message!, CONTEXT).attributes, { ...said(message, CONTEXT).attributes, ...changed });
    assert.equal(result.changed, Object.keys(changed).length > 0);
    if (!result.changed) assert.equal(result.message, message, 'the same bytes');
  });
}

test('modify: LOCAL_PREF is not set towards an external peer, it is towards an internal one (RFC 4271 §5.1.5)', () => {
  const filter = modify({ set: { 'local-preference': 9 } });
  const inner = plainContext({ ebgp: false });
  assert.equal(judge(filter, route(MANDATORY), CONTEXT, false).changed, false);
  assert.equal(said(judge(filter, route(MANDATORY), inner, false).message!, inner).attributes[5], '00000009');
});

test('modify: an IPv4 next hop does not touch IPv6 routes', () => {
  const reach = attribute('800e', `00020110${'20010db8'.padEnd(31, '0')}1002020010db8`);
  const message = update({ attributes: ORIGIN + path(64512) + reach });
  assert.equal(judge(modify({ set: { 'next-hop': '203.0.113.9' } }), message, BOTH).changed, false);
});

test('modify: a prepend in a two-octet session keeps AS4_PATH right (RFC 6793 §4.2.2)', () => {
  const context = plainContext({ asn4: false, localAs: 70000 });
  const short = attribute('4002', '0202fc005ba0');
  const wide = attribute('c011', '020100011171');
  const { message } = judge(modify({ set: { 'as-path-prepend': 1 } }), route(ORIGIN + short + NEXT_HOP + wide), context);
  assert.deepEqual(said(message!, context).path, [70000, 64512, 70001]);
});

const OTC = (asn: number): string => attribute('c023', asn.toString(16).padStart(8, '0'));
const LEAK = 'leak';
type Otc = number | undefined | typeof LEAK;
const ROLES: readonly (readonly [role: string, otc: number | undefined, imported: Otc, exported: Otc])[] = [
  ['provider', undefined, undefined, 64500],
  ['provider', 64512, LEAK, 64512],
  ['provider', 7, LEAK, 7],
  ['rs', undefined, undefined, 64500],
  ['rs', 64512, LEAK, 64512],
  ['customer', undefined, 64512, undefined],
  ['customer', 7, 7, LEAK],
  ['rs-client', undefined, 64512, undefined],
  ['rs-client', 64512, 64512, LEAK],
  ['peer', undefined, 64512, 64500],
  ['peer', 64512, 64512, LEAK],
  ['peer', 7, LEAK, LEAK],
];

for (const [own, otc, imported, exported] of ROLES) {
  for (const [importing, expected] of [
    [true, imported],
    [false, exported],
  ] as const) {
    test(`RFC 9234 §5: we are ${own}, OTC ${otc ?? 'absent'}, ${importing ? 'in' : 'out'}: ${expected ?? 'absent'}`, () => {
      const { message } = judge(role({ role: own }), route(MANDATORY + (otc === undefined ? '' : OTC(otc))), CONTEXT, importing);
      const found = message === undefined ? LEAK : said(message, CONTEXT).attributes[35];
      assert.equal(found, typeof expected === 'number' ? expected.toString(16).padStart(8, '0') : expected);
    });
  }
}

test('RFC 9234 §5: only unicast is looked at', () => {
  const context = plainContext({ families: [(1 << 8) | 2], peerAs: 64512 });
  const reach = attribute('800e', `00010204c00002010010c0a8`);
  const message = update({ attributes: ORIGIN + path(64512) + OTC(7) + reach });
  assert.deepEqual(judge(role({ role: 'provider' }), message, context), { message, changed: false, removed: [] });
});

test('a definition that cannot be is refused with words', () => {
  assert.throws(() => prefixList({ entry: [['x', {}]] }), /"x" is no prefix/);
  assert.throws(() => communityMatch({ entry: [['1:2:3', {}]] }), /is no standard community/);
  assert.throws(() => asPathList({ entry: [['(', {}]] }), /without its/);
  assert.throws(() => role({ role: 'king' }), /is no role/);
});

test('an UPDATE that only withdraws, and an End-of-RIB, are not looked at', () => {
  const filter = prefixList({ entry: [] });
  for (const message of [update({ withdrawn: nlri('10.0.0.0/8') }), update({}), hex('ff'.repeat(16) + '00170200000000')]) {
    assert.deepEqual(judge(filter, message, CONTEXT), { message, changed: false, removed: [] });
  }
});

test('a set knows its own communities and no others, whatever its size; each has its number', () => {
  for (const count of [0, 1, 2, 3, 9, 1000, 20_000]) {
    const set = new CommunitySet(
      'large',
      Array.from({ length: count }, (_, i) => `64500:${i}:${i % 7}`),
    );
    assert.equal(set.size, count);
    const one = new Uint8Array(12);
    for (let i = 0; i < count; i++) assert.equal(set.indexOf(set.bytes, i * 12), i);
    for (let i = 0; i < 1000; i++) {
      new DataView(one.buffer).setUint32(4, count + i);
      assert.equal(set.indexOf(one, 0), -1);
    }
  }
});

test('community-match: of twenty thousand entries and a thousand communities the first entry decides, among kinds too', () => {
  const entry = [
    ['1:2:3', { type: 'large', action: 'accept' }],
    ...Array.from({ length: 20_000 }, (_, i) => [`1:${i}`, { type: 'standard', action: i === 777 ? 'accept' : 'reject' }]),
  ];
  const filter = communityMatch({ entry });
  const carried = (from: number): string =>
    Array.from({ length: 1000 }, (_, i) => `0001${(from + 999 - i).toString(16).padStart(4, '0')}`).join('');
  const large = attribute('c020', '000000010000000200000003');
  assert.equal(accepts(filter, route(MANDATORY + attribute('d008', carried(777)))), true);
  assert.equal(accepts(filter, route(MANDATORY + attribute('d008', carried(776)))), false);
  assert.equal(accepts(filter, route(MANDATORY + attribute('d008', carried(20_000)))), false);
  assert.equal(accepts(filter, route(MANDATORY + attribute('d008', carried(776)) + large)), true);
});
