import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  countPath,
  formatAsPath,
  mergeAs4Path,
  originAs,
  parseAsPath,
  type PathSegment,
} from '../../sdk/wire/attribute/as-path.ts';
import { communityLabel, parseCommunity, parseExtendedCommunity } from '../../sdk/wire/attribute/community.ts';
import { AttributeCursor } from '../../sdk/wire/attribute/cursor.ts';
import { eventAttributes } from '../../sdk/wire/attribute/event.ts';
import { BlockFacts } from '../../sdk/wire/attribute/facts.ts';
import { decodeAttributes, encodeAttributes, type PathAttributes } from '../../sdk/wire/attribute/model.ts';
import { ATTRIBUTES, attributeName } from '../../sdk/wire/attribute/table.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { hex, MANDATORY, toHex } from './build.ts';
import { vectors } from './vectors.ts';

interface AttributeVector {
  readonly rfc: string;
  readonly name: string;
  readonly asn4?: boolean;
  readonly hex: string;
  readonly json: Record<string, unknown> & { readonly others?: readonly { code: number; flags: number; value: string }[] };
}

for (const vector of vectors('attributes') as AttributeVector[]) {
  const asn4 = vector.asn4 ?? true;
  test(`${vector.rfc} ${vector.name}, read`, () => {
    const bytes = hex(vector.hex);
    const model = decodeAttributes(bytes, 0, bytes.length, asn4);
    const others = model.others?.map((raw) => ({ ...raw, value: toHex(raw.value) }));
    assert.deepEqual(others === undefined ? model : { ...model, others }, vector.json);
  });
  test(`${vector.rfc} ${vector.name}, written`, () => {
    const others = vector.json.others?.map((raw) => ({ ...raw, value: hex(raw.value) }));
    const model = (others === undefined ? vector.json : { ...vector.json, others }) as PathAttributes;
    const bytes = encodeAttributes(model, asn4);
    assert.ok(bytes !== undefined);
    assert.equal(toHex(bytes), toHex(hex(vector.hex)));
  });
}

test('RFC 6793 §4.2.2 a two-octet peer gets AS_TRANS and AS4_PATH, and AS4_AGGREGATOR, when a number needs them', () => {
  const model: PathAttributes = {
    asPath: [{ type: 'sequence', asns: [64512, 70014] }],
    aggregator: { asn: 70014, address: '198.51.100.1' },
  };
  const bytes = encodeAttributes(model, false);
  assert.ok(bytes !== undefined);
  assert.equal(
    toHex(bytes),
    ['4002060202fc005ba0', 'c007065ba0c6336401', 'c0110a02020000fc000001117e', 'c012080001117ec6336401'].join(''),
  );
});

test('what cannot be read is not written', () => {
  for (const model of [
    { nextHop: '192.0.2' },
    { communities: ['64512'] },
    { communities: ['65536:1'] },
    { largeCommunities: ['1:2'] },
    { extendedCommunities: ['target:1'] },
    { extendedCommunities: ['target:70000:70000'] },
    { extendedCommunities: ['mark:64'] },
    { ipv6ExtendedCommunities: ['00'] },
    { clusterList: ['1.2.3.4', 'x'] },
    { others: [{ code: 200, flags: 192, value: new Uint8Array(65536) }] },
  ] satisfies PathAttributes[]) {
    assert.equal(encodeAttributes(model, true), undefined, JSON.stringify(Object.keys(model)));
  }
});

test('a malformed or repeated attribute is kept as bytes', () => {
  const bytes = hex('40010107 c00803aabbcc 80040400000005 80040400000006');
  const model = decodeAttributes(bytes, 0, bytes.length, true);
  assert.equal(model.med, 5);
  assert.deepEqual(
    model.others?.map((raw) => `${raw.code}:${toHex(raw.value)}`),
    ['1:07', '8:aabbcc', '4:00000006'],
  );
});

test('events show plain members, and hex under attr-N for the rest', () => {
  const bytes = hex(
    `${MANDATORY} 80040400000005 400600 c00708 0000fc00c6336401 c00804fc000050 c0280a01000700000000000064 c0c80101`,
  );
  assert.deepEqual(eventAttributes(bytes, 0, bytes.length, true), {
    origin: 'igp',
    'as-path': [64512],
    'next-hop': '192.0.2.1',
    med: 5,
    'attr-6': '',
    'attr-7': '0000fc00c6336401',
    communities: ['64512:80'],
    'bgp-prefix-sid': '01000700000000000064',
    'attr-200': '01',
  });
});

test('RFC 4271 §9.1.2.2 facts for route selection', () => {
  const bytes = hex('40010102 40021002020000fc000000fbf401010000fbff 400304c0000201 80040400000005 800a08c0000201c0000202');
  const facts = new BlockFacts().read(viewOf(bytes), 0, bytes.length, true, 64500);
  assert.deepEqual(
    [facts.origin, facts.pathLength, facts.neighbourAs, facts.originAs, facts.ownAsCount, facts.med, facts.localPref],
    [2, 3, 64512, -1, 1, 5, -1],
  );
  assert.deepEqual([facts.nextHop, facts.clusterLength, facts.originatorId], [0xc0000201, 2, -1]);
  facts.read(viewOf(bytes), 0, 4, true, 0);
  assert.deepEqual([facts.pathLength, facts.nextHop, facts.clusterLength], [0, -1, 0], 'nothing is left of the block before');
});

test('RFC 6811 §2 origin AS', () => {
  const path = hex('02020000fc000000fbf4');
  assert.equal(originAs(viewOf(path), 0, path.length, 4), 64500);
  assert.equal(originAs(viewOf(path), 0, 0, 4), 0);
});

const MERGES: readonly (readonly [string, string, string, string])[] = [
  ['equal counts', '23456 23456 64500', '70001 70002 64500', '70001 70002 64500'],
  ['two-octet speakers in front', '64510 64511 23456 64500', '70001 64500', '64510 64511 70001 64500'],
  ['AS4_PATH longer than AS_PATH is ignored', '23456', '70001 70002', '23456'],
  ['a set counts one', '64510 {64511,64512} 23456', '70001', '64510 {64511,64512} 70001'],
  ['leading confederation segments stay', '(64513) 23456 64500', '70001 64500', '(64513) 70001 64500'],
  ['confederation segments of AS4_PATH are skipped', '23456 64500', '(64513) 70001 64500', '70001 64500'],
];
for (const [name, path, as4, want] of MERGES) {
  test(`RFC 6793 §4.2.3 merge: ${name}`, () => {
    assert.equal(formatAsPath(mergeAs4Path(parsed(path), parsed(as4))), want);
  });
}

function parsed(text: string): readonly PathSegment[] {
  const path = parseAsPath(text);
  assert.ok(path !== undefined);
  return path;
}

test('AS path text reads back, and refuses what is not a path', () => {
  for (const text of ['', '64500', '64500 64501 {64502,64503} (64504 64505) [64506]', '{1} {2}']) {
    assert.equal(formatAsPath(parsed(text)), text);
  }
  for (const text of ['x', '-1', '4294967296', '{', '{1', '64500,', '()']) assert.equal(parseAsPath(text), undefined, text);
  assert.equal(countPath(parsed('1 2 {3,4} (5)')), 3);
});

test('communities by name and number', () => {
  assert.equal(parseCommunity('no-export'), 0xffffff01);
  assert.equal(parseCommunity('blackhole'), 0xffff029a);
  assert.equal(parseCommunity('65535:65281'), 0xffffff01);
  assert.equal(communityLabel(0xffffff01), 'no-export');
  assert.equal(communityLabel(0xfc000050), '64512:80');
  for (const text of ['', ':', '1', '1:', ':1', '1:2:3', '01:2', '65536:1', '1:65536', 'No-Export', '1 :2']) {
    assert.equal(parseCommunity(text), -1, text);
  }
});

test('extended communities in the spellings of the configuration', () => {
  for (const [text, want] of [
    ['0x0002fc0000000009', '0002fc0000000009'],
    ['0x430c:00112233aabb', '430c00112233aabb'],
    ['mark 10', '800900000000000a'],
    ['action sample-terminal', '8007000000000003'],
    ['rate-limit:9600', '8006000046160000'],
    ['redirect:70000:7', '8208000111700007'],
  ] as const) {
    const out = new Uint8Array(8);
    assert.ok(parseExtendedCommunity(text, out, 0), text);
    assert.equal(toHex(out), want, text);
  }
  for (const text of [
    '0x',
    '0x00',
    '0x0002fc000000000',
    'target',
    'target:1:2:3',
    'rate-limit:x',
    'rate-limit:',
    'action:x',
    '',
    'l2info:1',
  ]) {
    assert.ok(!parseExtendedCommunity(text, new Uint8Array(8), 0), text);
  }
});

test('the table has each code once, with the bits its class asks for', () => {
  const known = ATTRIBUTES.filter((spec) => spec !== undefined);
  for (const spec of known) assert.equal(ATTRIBUTES[spec.code], spec);
  assert.equal(new Set(known.map((spec) => spec.key)).size, known.length);
  assert.equal(attributeName(1), 'ORIGIN');
  assert.equal(attributeName(200), 'ATTRIBUTE_200');
});

test('RFC 7606 §4 the cursor stops where the list is cut', () => {
  const bytes = hex('40010100 4002060201');
  const cursor = new AttributeCursor().over(viewOf(bytes), 0, bytes.length);
  assert.ok(cursor.next());
  assert.ok(!cursor.next());
  assert.deepEqual([cursor.at, cursor.end], [4, bytes.length]);
});
