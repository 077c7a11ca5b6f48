// The egress rewrite: one row a rule, source block to what the destination gets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { AttributeRewriter, type ExportRule, exportRule, KEEP, STRIP } from '../../sdk/wire/export.ts';
import { attribute, hex, toHex } from './build.ts';

const ORIGIN = '40010100';
const NEXT_HOP = '400304c0000201';
const path = (value: string): string => attribute(value.length > 510 ? '5002' : '4002', value);
const PATH = path('02010000fc00');

interface Row {
  readonly name: string;
  readonly from: string;
  readonly rule: ExportRule;
  readonly to: string;
}

const EBGP = exportRule(true, { prepend: [64500] });
const asns = (count: number): string => '0000fc00'.repeat(count);

const ROWS: readonly Row[] = [
  {
    name: 'RFC 4271 §5 an external peer: prepend, no MED, no LOCAL_PREF',
    from: `${ORIGIN}${PATH}${NEXT_HOP}8004040000000540050400000064`,
    rule: EBGP,
    to: `${ORIGIN}${path('02020000fbf40000fc00')}${NEXT_HOP}`,
  },
  {
    name: 'RFC 4271 §5.1.5 an internal peer: LOCAL_PREF 100 when there is none, MED kept',
    from: `${ORIGIN}${PATH}${NEXT_HOP}80040400000005`,
    rule: exportRule(false),
    to: `${ORIGIN}${PATH}${NEXT_HOP}8004040000000540050400000064`,
  },
  {
    name: 'RFC 4271 §5.1.5 an internal peer: LOCAL_PREF kept',
    from: `${ORIGIN}${PATH}${NEXT_HOP}400504000000c8`,
    rule: exportRule(false),
    to: `${ORIGIN}${PATH}${NEXT_HOP}400504000000c8`,
  },
  {
    name: 'next hop self, MED and LOCAL_PREF set',
    from: `${ORIGIN}${PATH}${NEXT_HOP}80040400000005`,
    rule: exportRule(false, { nextHop: 0x0a000001, med: 4294967295, localPref: 0 }),
    to: `${ORIGIN}${PATH}4003040a000001800404ffffffff40050400000000`,
  },
  {
    name: 'RFC 4760 §3 NEXT_HOP left out where MP_REACH_NLRI carries it',
    from: `${ORIGIN}${PATH}${NEXT_HOP}`,
    rule: exportRule(true, { nextHop: STRIP }),
    to: `${ORIGIN}${PATH}`,
  },
  {
    name: 'RFC 4271 §5.1.2 an empty path begins a segment',
    from: `${ORIGIN}${path('')}${NEXT_HOP}`,
    rule: EBGP,
    to: `${ORIGIN}${path('02010000fbf4')}${NEXT_HOP}`,
  },
  { name: 'no AS_PATH at all begins one', from: ORIGIN, rule: EBGP, to: `${ORIGIN}${path('02010000fbf4')}` },
  {
    name: 'RFC 4271 §5.1.2 a path that begins with AS_SET gets a segment in front',
    from: `${ORIGIN}${path('01010000fc00')}`,
    rule: EBGP,
    to: `${ORIGIN}${path('02010000fbf401010000fc00')}`,
  },
  {
    name: 'RFC 4271 §5.1.2 a full segment gets another in front',
    from: `${ORIGIN}${path(`02ff${asns(255)}`)}`,
    rule: EBGP,
    to: `${ORIGIN}${path(`02010000fbf402ff${asns(255)}`)}`,
  },
  {
    name: 'RFC 4271 §5.1.2 254 numbers and one more fill the segment',
    from: `${ORIGIN}${path(`02fe${asns(254)}`)}`,
    rule: EBGP,
    to: `${ORIGIN}${path(`02ff0000fbf4${asns(254)}`)}`,
  },
  {
    name: 'RFC 4271 §4.3 growing past 255 octets takes the extended length',
    from: `${ORIGIN}${path(`023f${asns(63)}`)}`,
    rule: EBGP,
    to: `${ORIGIN}${path(`02400000fbf4${asns(63)}`)}`,
  },
  {
    name: 'prepend three times',
    from: `${ORIGIN}${PATH}`,
    rule: exportRule(true, { prepend: [64500, 64500, 64501] }),
    to: `${ORIGIN}${path('02040000fbf40000fbf40000fbf50000fc00')}`,
  },
  {
    name: 'as-override replaces the neighbour’s AS, not what we prepend',
    from: `${ORIGIN}${path('02030000fc000000fbff0000fc00')}`,
    rule: exportRule(true, { prepend: [64512], replaceAs: 64512, replaceBy: 64500 }),
    to: `${ORIGIN}${path('02040000fc000000fbf40000fbff0000fbf4')}`,
  },
  {
    name: 'RFC 6793 §4.2.2 to two octets, all numbers fit: no AS4_PATH',
    from: `${ORIGIN}${PATH}`,
    rule: exportRule(true, { prepend: [64500], asn4: false }),
    to: `${ORIGIN}${path('0202fbf4fc00')}`,
  },
  {
    name: 'RFC 6793 §4.2.2 to two octets: AS_TRANS and AS4_PATH, AS4_AGGREGATOR',
    from: `${ORIGIN}${path('02020001117e0000fc00')}c007080001117ec6336401`,
    rule: exportRule(true, { prepend: [64500], asn4: false }),
    to: `${ORIGIN}${path('0203fbf45ba0fc00')}c007065ba0c6336401${attribute('c011', '02030000fbf40001117e0000fc00')}c012080001117ec6336401`,
  },
  {
    name: 'RFC 6793 §4.2.2 confederation segments stay out of AS4_PATH',
    from: `${ORIGIN}${path('03010000fbff02010001117e')}`,
    rule: exportRule(false, { asn4: false, localPref: KEEP }),
    to: `${ORIGIN}${path('0301fbff02015ba0')}${attribute('c011', '02010001117e')}`,
  },
  {
    name: 'RFC 6793 §4.2.3 from two octets: AS4_PATH and AS4_AGGREGATOR merged',
    from: `${ORIGIN}${path('0203fbf45ba0fc00')}c007065ba0c6336401${attribute('c011', '02020001117e0000fc00')}c012080001117ecb007101`,
    rule: exportRule(true, { sourceAsn4: false }),
    to: `${ORIGIN}${path('02030000fbf40001117e0000fc00')}c007080001117ecb007101`,
  },
  {
    name: 'RFC 6793 §4.2.3 an aggregator with an AS of its own voids both AS4 attributes',
    from: `${ORIGIN}${path('02025ba0fc00')}c00706fbf4c6336401${attribute('c011', '02020001117e0000fc00')}c012080001117ecb007101`,
    rule: exportRule(true, { sourceAsn4: false }),
    to: `${ORIGIN}${path('020200005ba00000fc00')}c007080000fbf4c6336401`,
  },
  {
    name: 'RFC 6793 §4.2.3 AS4_PATH longer than AS_PATH is ignored',
    from: `${ORIGIN}${path('02015ba0')}${attribute('c011', '02020001117e0000fc00')}`,
    rule: exportRule(true, { sourceAsn4: false }),
    to: `${ORIGIN}${path('020100005ba0')}`,
  },
  {
    name: 'RFC 6793 §4.2.3 two octets on both sides: AS4_PATH goes on with our number in front',
    from: `${ORIGIN}${path('02015ba0')}${attribute('c011', '02010001117e')}`,
    rule: exportRule(true, { sourceAsn4: false, asn4: false, prepend: [64500] }),
    to: `${ORIGIN}${path('0202fbf45ba0')}${attribute('c011', '02020000fbf40001117e')}`,
  },
  {
    name: 'RFC 4456 §8 a reflector adds ORIGINATOR_ID and CLUSTER_LIST',
    from: `${ORIGIN}${PATH}40050400000064`,
    rule: exportRule(false, { originatorId: 0xc0000209, clusterId: 0xc0000201 }),
    to: `${ORIGIN}${PATH}40050400000064800904c0000209800a04c0000201`,
  },
  {
    name: 'RFC 4456 §8 a reflector keeps the first ORIGINATOR_ID and prepends its cluster',
    from: `${ORIGIN}${PATH}40050400000064800904c0000208800a04c0000202`,
    rule: exportRule(false, { originatorId: 0xc0000209, clusterId: 0xc0000201 }),
    to: `${ORIGIN}${PATH}40050400000064800904c0000208800a08c0000201c0000202`,
  },
  {
    name: 'RFC 4456 §8 ORIGINATOR_ID and CLUSTER_LIST do not leave the AS',
    from: `${ORIGIN}${PATH}800904c0000208800a04c0000202`,
    rule: exportRule(true),
    to: `${ORIGIN}${PATH}`,
  },
  {
    name: 'communities by kind',
    from: `${ORIGIN}${PATH}c00804fc000050c010080002fc0000000009c01914${'00'.repeat(20)}c0200c${'00'.repeat(12)}`,
    rule: exportRule(true, { standardCommunities: false, extendedCommunities: false, largeCommunities: false }),
    to: `${ORIGIN}${PATH}`,
  },
  {
    name: 'RFC 4360 §6 non-transitive extended communities stay inside the AS',
    from: `${ORIGIN}${PATH}c01010430cfc00000000090002fc0000000009`,
    rule: exportRule(true),
    to: `${ORIGIN}${PATH}c010080002fc0000000009`,
  },
  {
    name: 'RFC 4360 §6 none left, no attribute',
    from: `${ORIGIN}${PATH}c01008430cfc0000000009`,
    rule: exportRule(true),
    to: `${ORIGIN}${PATH}`,
  },
  {
    name: 'RFC 4360 §6 towards an internal peer they go',
    from: `${ORIGIN}${PATH}c01008430cfc0000000009`,
    rule: exportRule(false, { localPref: KEEP }),
    to: `${ORIGIN}${PATH}c01008430cfc0000000009`,
  },
  {
    name: 'H47 RFC 4271 §9 unknown non-transitive attributes are not passed on',
    from: `${ORIGIN}${PATH}80c80101`,
    rule: exportRule(false, { localPref: KEEP }),
    to: `${ORIGIN}${PATH}`,
  },
  {
    name: 'H48 RFC 4271 §9 unknown transitive attributes get Partial, low flag bits cleared',
    from: `${ORIGIN}${PATH}cfc80101dfff000102`,
    rule: exportRule(true),
    to: `${ORIGIN}${PATH}e0c80101e0ff0102`,
  },
  {
    name: 'RFC 4271 §5 Partial of a known attribute stays as it came',
    from: `${ORIGIN}${PATH}e00804fc000050`,
    rule: exportRule(true),
    to: `${ORIGIN}${PATH}e00804fc000050`,
  },
  {
    name: 'RFC 7311 §3 AIGP does not leave the AS',
    from: `${ORIGIN}${PATH}801a0b01000b${'00'.repeat(8)}`,
    rule: exportRule(true),
    to: `${ORIGIN}${PATH}`,
  },
  {
    name: 'RFC 9234 §5 OTC is added when missing, in its place',
    from: `${ORIGIN}${PATH}c0200c${'00'.repeat(12)}c0280a01000700000000000064`,
    rule: exportRule(true, { otc: 64500 }),
    to: `${ORIGIN}${PATH}c0200c${'00'.repeat(12)}c023040000fbf4c0280a01000700000000000064`,
  },
  {
    name: 'RFC 9234 §5 OTC that is there is preserved',
    from: `${ORIGIN}${PATH}c023040000fc00`,
    rule: exportRule(true, { otc: 64500 }),
    to: `${ORIGIN}${PATH}c023040000fc00`,
  },
  {
    name: 'RFC 4271 §5 what came out of order goes out ascending, MP attributes left to the writer',
    from: `c00804fc000050800f03000201${NEXT_HOP}${PATH}${ORIGIN}`,
    rule: exportRule(true),
    to: `${ORIGIN}${PATH}${NEXT_HOP}c00804fc000050`,
  },
  {
    name: 'an AGGREGATOR of the wrong width goes no further',
    from: `${ORIGIN}${path('0201fc00')}c007080000fc00c6336401c01204c6336401`,
    rule: exportRule(true, { sourceAsn4: false }),
    to: `${ORIGIN}${PATH}`,
  },
  { name: 'an empty block for an internal peer', from: '', rule: exportRule(false), to: '40020040050400000064' },
];

for (const row of ROWS) {
  test(row.name, () => {
    const rewriter = new AttributeRewriter();
    const from = hex(`aabb${row.from}cc`);
    const want = hex(row.to);
    const out = new Uint8Array(want.length + 5).fill(0xee);
    const written = rewriter.rewrite(from, viewOf(from), 2, from.length - 3, row.rule, out, 3, out.length - 2);
    assert.equal(toHex(out, 3, Math.max(written, 0)), row.to);
    assert.equal(toHex(out, 0, 3) + toHex(out, out.length - 2, 2), 'eeeeeeeeee', 'nothing outside is touched');
    const tight = new Uint8Array(want.length + 5).fill(0xee);
    if (want.length > 0) {
      assert.equal(
        rewriter.rewrite(from, viewOf(from), 2, from.length - 3, row.rule, tight, 3, tight.length - 3),
        -1,
        'one byte short',
      );
      assert.equal(toHex(tight, tight.length - 3, 3), 'eeeeee');
    }
    const again = rewriter.rewrite(from, viewOf(from), 2, from.length - 3, row.rule, out, 3, out.length - 2);
    assert.equal(again, written, 'a rewriter keeps nothing from one block to the next');
  });
}

test('H36 a path that cannot grow within 65535 octets is refused', () => {
  const rewriter = new AttributeRewriter();
  const value = `02ff${asns(255)}`.repeat(64);
  const from = hex(attribute('5002', value.slice(0, 2 * 65535 - ((2 * 65535) % 2044))));
  const out = new Uint8Array(70_000);
  const rule = exportRule(true, { prepend: Array.from({ length: 255 }, () => 64500) });
  assert.equal(rewriter.rewrite(from, viewOf(from), 0, from.length, rule, out, 0), -1);
});
