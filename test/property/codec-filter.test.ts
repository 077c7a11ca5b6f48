// Filter text and deltas for any UPDATE: the text reads back, and a delta touches nothing it does not name.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { FilterBody } from '../../engine/codec/filter-body.ts';
import { applyDelta } from '../../engine/codec/filter-delta.ts';
import { filterText, formatFilterText, parseFilterText } from '../../engine/codec/filter-text.ts';
import { toHex } from '../../sdk/wire/bytes.ts';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../sdk/wire/family.ts';
import { HEADER_LENGTH } from '../../sdk/wire/message.ts';
import { attribute, u8, update } from '../wire/build.ts';

const bytes = (size: number): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: size, maxLength: size }).map((value) => toHex(value));
const many = (size: number, most = 6): fc.Arbitrary<string> =>
  fc.array(bytes(size), { minLength: 1, maxLength: most }).map((parts) => parts.join(''));
const wanted = (head: string, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.option(
    value.map((text) => attribute(head, text)),
    { nil: '' },
  );

const path = (width: 2 | 4): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(fc.constantFrom('01', '02'), fc.array(bytes(width), { minLength: 1, maxLength: 5 })), { maxLength: 3 })
    .map((segments) => segments.map(([type, asns]) => `${type}${u8(asns.length)}${asns.join('')}`).join(''));

const prefix = (head: number): fc.Arbitrary<string> =>
  fc
    .tuple(bytes(head), fc.nat(32), bytes(4))
    .map(([id, bits, address]) => `${id}${u8(bits)}${address.slice(0, 2 * ((bits + 7) >> 3))}`);

/** An UPDATE of known and unknown attributes, and how it is encoded. */
const message = fc.tuple(fc.boolean(), fc.boolean()).chain(([asn4, addPath]) => {
  const prefixes = fc.array(prefix(addPath ? 4 : 0), { maxLength: 5 }).map((list) => list.join(''));
  return fc.record({
    facts: fc.constant({ asn4, addPath: addPath ? [IPV4_UNICAST, IPV6_UNICAST] : [] }),
    withdrawn: prefixes,
    attributes: fc
      .tuple(
        wanted('4001', fc.constantFrom('00', '01', '02', '07')),
        wanted('5002', path(asn4 ? 4 : 2)),
        wanted('4003', bytes(4)),
        wanted('8004', bytes(4)),
        wanted('4005', bytes(4)),
        wanted('4006', fc.constant('')),
        wanted('c007', bytes(asn4 ? 8 : 6)),
        wanted('d008', many(4)),
        wanted('8009', bytes(4)),
        wanted('800a', many(4)),
        wanted('c010', many(8)),
        wanted('e011', path(4)),
        wanted(
          '801a',
          bytes(8).map((metric) => `01000b${metric}`),
        ),
        wanted('c020', many(12)),
        wanted('e0c8', many(1, 20)),
        wanted('c063', many(1, 3)),
      )
      .map((parts) => parts.join('')),
    nlri: prefixes,
  });
});
type Message = typeof message extends fc.Arbitrary<infer T> ? T : never;

const read = ({ facts, ...parts }: Message): FilterBody => {
  const body = FilterBody.read(update(parts).subarray(HEADER_LENGTH), facts);
  assert.ok(body !== undefined);
  return body;
};
const hexOf = (body: FilterBody): string => toHex(body.bytes() ?? new Uint8Array(0));

test('a text reads back as what it says', () => {
  fc.assert(
    fc.property(message, (parts) => {
      const text = filterText(read(parts));
      const parsed = parseFilterText(text);
      assert.deepEqual(parsed.faults, []);
      assert.equal(formatFilterText(parsed), text);
    }),
    { numRuns: 500 },
  );
});

test('an UPDATE nobody changes keeps every byte, also when its whole text comes back as the delta', () => {
  fc.assert(
    fc.property(message, (parts) => {
      const body = read(parts);
      const before = hexOf(body);
      assert.equal(before, toHex(update(parts).subarray(HEADER_LENGTH)));
      const delta = parseFilterText(filterText(body));
      // An AS number 0 has no text that is accepted; the wire may hold one.
      const faults = applyDelta(body, delta, 64500).filter((fault) => !fault.startsWith('invalid aggregator: 0:'));
      assert.deepEqual(faults, []);
      if (parts.nlri !== '') assert.equal(hexOf(body), before);
    }),
    { numRuns: 500 },
  );
});

test('a delta touches what it names and nothing else', () => {
  fc.assert(
    fc.property(message, fc.nat(0xffffffff), (parts, med) => {
      const body = read(parts);
      applyDelta(body, parseFilterText(`med ${med} community-add 64500:1`), 64500);
      const words = (text: string): string[] =>
        parseFilterText(text)
          .items.filter(({ name }) => name !== 'med' && name !== 'community')
          .map(({ name, values }) => [name, ...values].join(' '));
      const bytesAfter = body.bytes();
      assert.ok(bytesAfter !== undefined);
      const after = FilterBody.read(bytesAfter, parts.facts);
      assert.ok(after !== undefined);
      assert.deepEqual(words(filterText(after)), words(filterText(read(parts))));
      assert.match(` ${filterText(after)} `, new RegExp(` med ${med} `));
      for (const code of [1, 2, 3, 5, 6, 7, 9, 10, 16, 17, 26, 32, 99, 200]) {
        assert.deepEqual(after.value(code), read(parts).value(code), `attribute ${code}`);
      }
      assert.equal(toHex(after.nlri) + toHex(after.withdrawn), parts.nlri + parts.withdrawn);
    }),
    { numRuns: 500 },
  );
});

test('no text a plugin writes throws, and what comes out is an UPDATE', () => {
  const words = fc.constantFrom(
    'origin',
    'igp',
    'as-path',
    'as-path-prepend',
    '3',
    'next-hop',
    '192.0.2.1',
    '::1',
    'med',
    'med-remove',
    'community',
    'community-add',
    'community-remove',
    '1:1',
    'large-community-remove',
    '1:1:1',
    'extended-community-add',
    'target:1:1',
    'aggregator',
    '1:192.0.2.1',
    'aigp',
    '99999999999999999999',
    'remove-private',
    'all',
    'replace',
    'nlri',
    'ipv4/unicast',
    'ipv6/unicast',
    'add',
    'del',
    '10.0.0.0/8',
    'cluster-list',
    'atomic-aggregate',
    '\u0000',
    'ünknown',
    '-1',
    '',
  );
  fc.assert(
    fc.property(message, fc.array(words, { maxLength: 30 }), (parts, list) => {
      const body = read(parts);
      applyDelta(body, parseFilterText(list.join(' ')), 4_200_000_001);
      const out = body.bytes();
      assert.ok(out !== undefined && FilterBody.read(out, parts.facts) !== undefined);
    }),
    { numRuns: 1000 },
  );
});
