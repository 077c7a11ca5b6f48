// No input throws, or makes a reader look outside the bytes it was given: every buffer here ends where the message does, so that a read past
// the end is a RangeError, and what lies before is varied to see that it does not count.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatIpv6, parseIpv4Nlri, parseIpv6, parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import { parseAsPath } from '../../sdk/wire/attribute/as-path.ts';
import { formatExtendedCommunity, parseCommunity, parseExtendedCommunity } from '../../sdk/wire/attribute/community.ts';
import { AttributeCursor } from '../../sdk/wire/attribute/cursor.ts';
import { eventAttributes } from '../../sdk/wire/attribute/event.ts';
import { BlockFacts } from '../../sdk/wire/attribute/facts.ts';
import { decodeAttributes } from '../../sdk/wire/attribute/model.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { readCapability, writeCapability } from '../../sdk/wire/capability/typed.ts';
import { plainContext, type WireContext } from '../../sdk/wire/context.ts';
import { AttributeRewriter, exportRule } from '../../sdk/wire/export.ts';
import { NAMED_FAMILIES } from '../../sdk/wire/family.ts';
import { OK, RESET } from '../../sdk/wire/fault.ts';
import { checkHeader, CLOSE_SILENTLY, headerFault, UPDATE, writeHeader } from '../../sdk/wire/message.ts';
import { decodeNotification, shutdownText } from '../../sdk/wire/notification.ts';
import { PrefixCursor } from '../../sdk/wire/nlri/prefix.ts';
import { countNlri } from '../../sdk/wire/nlri/syntax.ts';
import { decodeOpen, encodeOpen } from '../../sdk/wire/open.ts';
import { decodeRefresh } from '../../sdk/wire/refresh.ts';
import { UpdateView } from '../../sdk/wire/update.ts';
import { decodeUtf8, encodeUtf8, printable } from '../../sdk/wire/utf8.ts';

const RUNS = { numRuns: 2000 };

/** ORIGIN, AS_PATH of the peer in four octets, NEXT_HOP. */
const MANDATORY = [0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xfc, 0, 0x40, 3, 4, 192, 0, 2, 1];

const context: fc.Arbitrary<WireContext> = fc
  .record({
    asn4: fc.boolean(),
    ebgp: fc.boolean(),
    enforceFirstAs: fc.boolean(),
    refuseAsSets: fc.boolean(),
    confederation: fc.boolean(),
    families: fc.subarray([...NAMED_FAMILIES], { minLength: 12 }),
    addPath: fc.subarray([...NAMED_FAMILIES], { maxLength: 4 }),
    extendedNextHop: fc.subarray([...NAMED_FAMILIES], { maxLength: 2 }),
  })
  .map((facts) => plainContext({ ...facts, peerAs: 64512, localAs: 64500 }));

/** An attribute that is often what its code asks for, and often nearly. */
const attribute: fc.Arbitrary<readonly number[]> = fc
  .tuple(
    fc.constantFrom(0x40, 0x80, 0xc0, 0x50, 0x90, 0xd0, 0xe0, 0xcf),
    fc.oneof(fc.constantFrom(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 18, 22, 23, 25, 26, 29, 32, 35, 40, 128), fc.nat(255)),
    fc.oneof(
      fc.constantFrom(
        [0],
        [],
        [2, 1, 0, 0, 0xfc, 0],
        [2, 1, 0xfc, 0],
        [192, 0, 2, 1],
        [0, 0, 0, 100],
        [1, 0, 11, 0, 0, 0, 0, 0, 0, 0, 1],
      ),
      fc.array(fc.nat(255), { maxLength: 40 }),
    ),
  )
  .map(([flags, code, value]) =>
    (flags & 0x10) === 0 ? [flags, code, value.length, ...value] : [flags, code, 0, value.length, ...value],
  );

const mp: fc.Arbitrary<readonly number[]> = fc
  .tuple(
    fc.constantFrom(14, 15),
    fc.constantFrom(...NAMED_FAMILIES),
    fc.constantFrom(0, 4, 12, 16, 24, 32, 5),
    fc.array(fc.oneof(fc.constantFrom(0, 8, 24, 32, 48, 64, 1, 2, 3), fc.nat(255)), { maxLength: 60 }),
  )
  .map(([code, family, hop, nlri]) => {
    const head = [family >>> 16, (family >>> 8) & 255, family & 255];
    const value = code === 14 ? [...head, hop, ...new Array<number>(hop).fill(1), 0, ...nlri] : [...head, ...nlri];
    return [0x90, code, value.length >>> 8, value.length & 255, ...value];
  });

/** An UPDATE: sections of plausible parts, lengths mostly right, then a few octets changed. */
const updateBytes: fc.Arbitrary<Uint8Array> = fc
  .record({
    withdrawn: fc.array(fc.constantFrom(0, 8, 10, 24, 32, 33), { maxLength: 12 }),
    attributes: fc.array(fc.oneof({ weight: 4, arbitrary: attribute }, { weight: 1, arbitrary: mp }), { maxLength: 10 }),
    nlri: fc.oneof(fc.constant([24, 198, 51, 100]), fc.constant([]), fc.array(fc.nat(40), { maxLength: 12 })),
    mandatory: fc.boolean(),
    slips: fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 2 }),
  })
  .map(({ withdrawn, attributes, nlri, mandatory, slips }) => {
    const list = [...(mandatory ? MANDATORY : []), ...attributes.flat()];
    const body = [
      withdrawn.length >>> 8,
      withdrawn.length & 255,
      ...withdrawn,
      list.length >>> 8,
      list.length & 255,
      ...list,
      ...nlri,
    ];
    for (const [at, value] of slips) if (at < body.length) body[at] = value;
    const out = new Uint8Array(19 + body.length);
    out.set(body, writeHeader(out, 0, out.length, UPDATE));
    return out;
  });

/** The message at the very end of its buffer, behind `lead` octets. */
function behind(bytes: Uint8Array, lead: number, fill: number): Uint8Array {
  const out = new Uint8Array(lead + bytes.length).fill(fill);
  out.set(bytes, lead);
  return out;
}

function summary(view: UpdateView, at: number): readonly unknown[] {
  const from = (offset: number, length: number): number => (length === 0 ? 0 : offset - at);
  return [
    [view.outcome, view.code, view.subcode, [...view.notificationData()]],
    [from(view.nlriAt, view.nlriLength), view.nlriLength, from(view.withdrawnAt, view.withdrawnLength), view.withdrawnLength],
    [view.reachFamily, from(view.reachAt, view.reachLength), view.reachLength, view.reachIgnored],
    [view.unreachFamily, from(view.unreachAt, view.unreachLength), view.unreachLength, view.unreachIgnored],
    [view.nlriCount, view.withdrawnCount, view.reachCount, view.unreachCount, view.endOfRib],
    [view.blockHash, view.blockFacts, [...view.block.bytes.subarray(view.block.at, view.block.at + view.block.length)]],
    Array.from({ length: view.faults.count }, (_, i) => [view.faults.code(i), view.faults.approach(i), view.faults.reason(i)]),
  ];
}

const shared = new UpdateView();

test('RFC 7606 an UPDATE of any bytes is judged from its own bytes alone', () =>
  fc.assert(
    fc.property(
      fc.oneof(updateBytes, fc.uint8Array({ minLength: 23, maxLength: 80 })),
      context,
      fc.nat(9),
      (message, agreed, lead) => {
        const bytes = behind(message, lead, 0xff);
        const outcome = shared.read(bytes, viewOf(bytes), lead, message.length, agreed);
        const seen = summary(shared, lead);
        const fresh = new UpdateView();
        fresh.read(message, viewOf(message), 0, message.length, agreed);
        assert.deepEqual(summary(fresh, 0), seen, 'the same in another buffer and a fresh view');

        const end = lead + message.length;
        const inside = (at: number, length: number): boolean => length === 0 || (at >= lead + 19 && at + length <= end);
        assert.ok(inside(shared.nlriAt, shared.nlriLength) && inside(shared.withdrawnAt, shared.withdrawnLength));
        assert.ok(inside(shared.reachAt, shared.reachLength) && inside(shared.unreachAt, shared.unreachLength));
        assert.ok(inside(shared.reachNextHopAt, shared.reachNextHopLength));
        assert.ok(shared.notificationData().length <= message.length);
        assert.equal(outcome !== OK, shared.faults.total > 0);
        assert.equal(shared.code, outcome === RESET ? 3 : 0);
        assert.equal(outcome === RESET, shared.subcode > 0);
      },
    ),
    RUNS,
  ));

test('RFC 7606 §3.h a block that came out well is found well again, and trusted to the same outcome', () =>
  fc.assert(
    fc.property(updateBytes, context, (bytes, agreed) => {
      const view = viewOf(bytes);
      if (shared.read(bytes, view, 0, bytes.length, agreed) !== OK) return;
      const before = summary(shared, 0);
      const facts = shared.blockFacts;
      shared.locate(bytes, view, 0, bytes.length, agreed);
      shared.trust(facts);
      assert.deepEqual(summary(shared, 0), before);
    }),
    RUNS,
  ));

test('no input moves a cursor past its end', () =>
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), fc.constantFrom(32, 128), (bytes, addPath, maxBits) => {
      const view = viewOf(bytes);
      const attributes = new AttributeCursor().over(view, 0, bytes.length);
      let last = -1;
      while (attributes.next()) {
        assert.ok(attributes.valueAt + attributes.valueLength <= bytes.length && attributes.at > last);
        last = attributes.at;
      }
      const prefixes = new PrefixCursor().over(view, 0, bytes.length, maxBits, addPath);
      while (prefixes.next()) {
        assert.ok(prefixes.prefixAt + prefixes.prefixLength <= bytes.length && prefixes.lengthBits <= maxBits);
        for (let word = 0; word < 4; word++) prefixes.ipv6Word(word);
        if (maxBits === 32) prefixes.ipv4();
      }
    }),
    RUNS,
  ));

test('NLRI of every named family are counted within their bytes', () =>
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constantFrom(0, 1, 2, 3, 5, 17, 24, 25, 32, 33, 34, 48, 129), fc.nat(255)), { maxLength: 90 }),
      fc.constantFrom(...NAMED_FAMILIES),
      fc.boolean(),
      fc.boolean(),
      (list, family, addPath, withdrawn) => {
        const bytes = Uint8Array.from(list);
        const count = countNlri(viewOf(bytes), 0, bytes.length, family, addPath, withdrawn);
        assert.ok(count >= -1 && count <= bytes.length);
      },
    ),
    RUNS,
  ));

test('every other reader takes any bytes', () =>
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), fc.boolean(), fc.nat(255), (bytes, asn4, code) => {
      const view = viewOf(bytes);
      decodeAttributes(bytes, 0, bytes.length, asn4);
      eventAttributes(bytes, 0, bytes.length, asn4);
      new BlockFacts().read(view, 0, bytes.length, asn4, 64500);
      const notification = decodeNotification(bytes, 0, bytes.length);
      if (notification !== undefined) shutdownText(notification);
      decodeRefresh(bytes, 0, bytes.length);
      const capability = { code, value: bytes };
      const typed = readCapability(capability);
      if (typed.kind === 'malformed' || typed.kind === 'unknown') assert.deepEqual(writeCapability(typed), capability);
      const { text, valid } = decodeUtf8(bytes);
      if (valid) assert.deepEqual(encodeUtf8(text), bytes);
      assert.ok(!/\p{Cc}/u.test(printable(text)));
      const out = new Uint8Array(4096);
      new AttributeRewriter().rewrite(
        bytes,
        view,
        0,
        bytes.length,
        exportRule(asn4, { asn4: code > 99, sourceAsn4: asn4 }),
        out,
        0,
      );
    }),
    RUNS,
  ));

test('H07 an OPEN of any bytes is read or refused, and what is read writes back', () =>
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom(0, 1, 2, 4, 6, 65, 255), fc.nat(255)), { maxLength: 60 }), (list) => {
      const bytes = Uint8Array.from([...new Array<number>(19).fill(0xff), 4, 0xfc, 0, 0, 90, 1, 2, 3, 4, ...list]);
      const result = decodeOpen(bytes, 0, bytes.length);
      if (!result.ok) {
        assert.equal(result.fault.code, 2);
        return;
      }
      const again = encodeOpen(result.value);
      assert.deepEqual(decodeOpen(again, 0, again.length), result);
    }),
    RUNS,
  ));

test('H02 a header of any bytes gives a length it may have, or a NOTIFICATION about it', () =>
  fc.assert(
    fc.property(fc.nat(65535), fc.nat(9), fc.boolean(), fc.boolean(), (length, type, extended, marked) => {
      const bytes = new Uint8Array(19);
      writeHeader(bytes, 0, length, type);
      if (!marked) bytes[type] = 0;
      const result = checkHeader(viewOf(bytes), 0, extended);
      if (result > 0) {
        assert.equal(result, length);
        assert.ok(marked && length >= 19 && type >= 1 && type <= 5 && (length <= 4096 || extended));
      } else if (result !== CLOSE_SILENTLY) {
        const { code, subcode, dataAt, dataLength } = headerFault(result, 0);
        assert.ok(code === 1 && subcode >= 1 && subcode <= 3 && dataAt + dataLength <= 19);
      }
    }),
    RUNS,
  ));

test('texts of any shape are read or refused', () =>
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ maxLength: 40 }),
        fc.string({ unit: fc.constantFrom(...Array.from('0123456789abcdef:./x{}[]() ,L-targeoign')), maxLength: 30 }),
      ),
      (text) => {
        parsePrefix(text, prefixTarget());
        parseAsPath(text);
        parseCommunity(text);
        parseExtendedCommunity(text, new Uint8Array(8), 0);
      },
    ),
    RUNS,
  ));

/** Prefixes and what is nearly one. */
const nearPrefix = fc.oneof(
  fc.string({ unit: fc.constantFrom(...Array.from('0123456789./:a ')), maxLength: 20 }),
  fc
    .tuple(
      fc.array(fc.integer({ min: 0, max: 300 }).map(String), { minLength: 3, maxLength: 5 }),
      fc.integer({ min: 0, max: 40 }),
    )
    .map(([parts, length]) => `${parts.join('.')}/${length}`),
  fc
    .tuple(
      fc.array(fc.oneof(fc.nat(255).map(String), fc.constantFrom('', '00', '01', '256', '-1', '1e1')), {
        minLength: 4,
        maxLength: 4,
      }),
      fc.constantFrom('', '/', '/0', '/8', '/08', '/32', '/33', '/032', '/-1', '/2x', '/24 ', '/24/24'),
    )
    .map(([parts, length]) => parts.join('.') + length),
  fc.tuple(fc.ipV4(), fc.nat(32)).map(([address, length]) => `${address}/${length}`),
);

test('an IPv4 prefix is read from bytes as it is from text, or left to that', () => {
  let read = 0;
  fc.assert(
    fc.property(nearPrefix, fc.nat(9), (text, at) => {
      const bytes = Buffer.from(`1${text}2`);
      const out = new Uint8Array(16).fill(0xa5);
      const end = parseIpv4Nlri(bytes, 1, bytes.length - 1, out, at);
      const target = prefixTarget();
      const isPrefix = parsePrefix(text, target);
      if (end < 0) {
        assert.deepEqual(out, new Uint8Array(16).fill(0xa5));
        // What is left to the other is no prefix of this form.
        assert.ok(!isPrefix || target.addressLength === 16 || !text.includes('/'), text);
        return;
      }
      read++;
      assert.ok(isPrefix && target.addressLength === 4, text);
      const size = (target.lengthBits + 7) >>> 3;
      assert.deepEqual([...out.subarray(at, end)], [target.lengthBits, ...target.bytes.subarray(0, size)]);
      assert.ok(out.subarray(end).every((byte) => byte === 0xa5));
    }),
    { numRuns: 3000 },
  );
  assert.ok(read > 300);
});

test('RFC 5952 every address reads back from its text', () =>
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constant(0), fc.nat(255)), { minLength: 16, maxLength: 16 }), (list) => {
      const bytes = Uint8Array.from(list);
      const out = new Uint8Array(16).fill(0xee);
      assert.ok(parseIpv6(formatIpv6(bytes, 0), out, 0));
      assert.deepEqual(out, bytes);
    }),
    RUNS,
  ));

test('RFC 4360 every extended community reads back from its text', () =>
  fc.assert(
    fc.property(
      fc.constantFrom(0x0002, 0x0003, 0x0102, 0x0202, 0x8006, 0x8007, 0x8008, 0x8009, 0x800a, 0x8108, 0x8208, 0x0800, 0x430c),
      fc.array(fc.oneof(fc.constant(0), fc.nat(255)), { minLength: 6, maxLength: 6 }),
      (kind, rest) => {
        const bytes = Uint8Array.from([kind >>> 8, kind & 255, ...rest]);
        const out = new Uint8Array(8);
        const text = formatExtendedCommunity(bytes, 0);
        assert.ok(parseExtendedCommunity(text, out, 0), text);
        assert.deepEqual(out, bytes, text);
      },
    ),
    RUNS,
  ));
