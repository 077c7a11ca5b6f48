// What is written is read back: models, packed UPDATEs, rewritten blocks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatIpv4, formatPrefix } from '../../sdk/wire/address.ts';
import { mergeAs4Path, type PathSegment } from '../../sdk/wire/attribute/as-path.ts';
import { formatCommunity } from '../../sdk/wire/attribute/community.ts';
import { decodeAttributes, encodeAttributes, type PathAttributes } from '../../sdk/wire/attribute/model.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { CORE_FAMILIES, plainContext } from '../../sdk/wire/context.ts';
import { AttributeRewriter, exportRule, KEEP, STRIP } from '../../sdk/wire/export.ts';
import { rewriteStraight } from '../../sdk/wire/straight.ts';
import { AFI_IPV6, type Family, IPV4_UNICAST, IPV6_UNICAST } from '../../sdk/wire/family.ts';
import { OK } from '../../sdk/wire/fault.ts';
import { checkHeader } from '../../sdk/wire/message.ts';
import { PrefixCursor } from '../../sdk/wire/nlri/prefix.ts';
import { UpdateView } from '../../sdk/wire/update.ts';
import { ADDED, UpdateWriter } from '../../sdk/wire/writer.ts';

const RUNS = { numRuns: 400 };

const u32 = fc.oneof(fc.constantFrom(0, 1, 65535, 65536, 0x80000000, 0xffffffff), fc.nat(0x7fffffff));
const asn = fc.oneof(fc.integer({ min: 1, max: 65535 }), fc.integer({ min: 65536, max: 0xffffffff }));
const ipv4 = u32.map(formatIpv4);

/** Segments that are neither empty nor two sequences in a row, so that every encoder gives the same segments back. */
const path: fc.Arbitrary<readonly PathSegment[]> = fc
  .array(
    fc.record(
      {
        type: fc.constantFrom('sequence' as const, 'set' as const),
        asns: fc.oneof(fc.array(asn, { minLength: 1, maxLength: 6 }), fc.array(asn, { minLength: 250, maxLength: 255 })),
      },
      { noNullPrototype: true },
    ),
    { maxLength: 4 },
  )
  .map((segments) => segments.filter((one, i) => one.type === 'set' || segments[i - 1]?.type !== 'sequence'));

const model: fc.Arbitrary<PathAttributes> = fc
  .record(
    {
      origin: fc.constantFrom('igp' as const, 'egp' as const, 'incomplete' as const),
      asPath: path,
      nextHop: ipv4,
      med: u32,
      localPreference: u32,
      atomicAggregate: fc.constant(true as const),
      aggregator: fc.record({ asn, address: ipv4 }, { noNullPrototype: true }),
      communities: fc.array(u32.map(formatCommunity), { minLength: 1, maxLength: 80 }),
      originatorId: ipv4,
      clusterList: fc.array(ipv4, { minLength: 1, maxLength: 4 }),
      extendedCommunities: fc.array(
        fc.constantFrom('target:64512:9', 'origin:192.0.2.1:7', 'rate-limit:0', '0x430c:00112233aabb'),
        {
          minLength: 1,
          maxLength: 4,
        },
      ),
      aigp: fc.nat(Number.MAX_SAFE_INTEGER),
      largeCommunities: fc.array(
        fc.tuple(u32, u32, u32).map((three) => three.join(':')),
        { minLength: 1, maxLength: 4 },
      ),
      otc: u32,
      others: fc
        .tuple(fc.integer({ min: 200, max: 255 }), fc.constantFrom(0x80, 0xc0, 0xe0), fc.uint8Array({ maxLength: 300 }))
        .map(([code, flags, value]) => [{ code, flags, value }]),
    },
    { requiredKeys: [], noNullPrototype: true },
  )
  .map((draft) => draft as PathAttributes);

test('every model of four octets reads back as it was', () =>
  fc.assert(
    fc.property(model, (attributes) => {
      const bytes = encodeAttributes(attributes, true);
      assert.ok(bytes !== undefined);
      assert.deepEqual(decodeAttributes(bytes, 0, bytes.length, true), attributes);
    }),
    RUNS,
  ));

test('RFC 6793 a model written for two octets merges back to what it was', () =>
  fc.assert(
    fc.property(model, (attributes) => {
      const bytes = encodeAttributes(attributes, false);
      assert.ok(bytes !== undefined);
      const read = decodeAttributes(bytes, 0, bytes.length, false);
      const merged = read.as4Path === undefined ? read.asPath : mergeAs4Path(read.asPath ?? [], read.as4Path);
      assert.deepEqual(merged, attributes.asPath);
      assert.deepEqual(read.as4Aggregator ?? read.aggregator, attributes.aggregator);
    }),
    RUNS,
  ));

const rewriter = new AttributeRewriter();

function rewrite(bytes: Uint8Array, rule: ReturnType<typeof exportRule>): Uint8Array {
  const out = new Uint8Array(65536);
  const length = rewriter.rewrite(bytes, viewOf(bytes), 0, bytes.length, rule, out, 0);
  assert.ok(length >= 0);
  return out.slice(0, length);
}

/** A rule that changes nothing but the width. */
const PLAIN = exportRule(false, { localPref: KEEP });

test('RFC 6793 §4.2 four octets to two and back is the same block', () =>
  fc.assert(
    fc.property(model, (attributes) => {
      const bytes = encodeAttributes({ asPath: [], ...attributes }, true);
      assert.ok(bytes !== undefined);
      const canonical = rewrite(bytes, PLAIN);
      const two = rewrite(canonical, { ...PLAIN, asn4: false });
      const back = rewrite(two, { ...PLAIN, sourceAsn4: false });
      assert.deepEqual(back, canonical);
      assert.deepEqual(rewrite(two, { ...PLAIN, sourceAsn4: false, asn4: false }), two, 'two to two keeps AS4_PATH as it is');
    }),
    RUNS,
  ));

test('RFC 4271 §5.1.2 what is prepended stands in front, the rest is untouched', () =>
  fc.assert(
    fc.property(model, fc.array(asn, { maxLength: 20 }), fc.boolean(), fc.boolean(), (attributes, prepend, asn4, ebgp) => {
      const full: PathAttributes = { asPath: [], ...attributes };
      const bytes = encodeAttributes(full, true);
      assert.ok(bytes !== undefined);
      const out = rewrite(bytes, exportRule(ebgp, { prepend, asn4 }));
      const read = decodeAttributes(out, 0, out.length, asn4);
      const got = read.as4Path === undefined ? read.asPath : mergeAs4Path(read.asPath ?? [], read.as4Path);
      const flat = (segments: readonly PathSegment[] | undefined) => segments?.flatMap((one) => one.asns);
      assert.deepEqual(flat(got), [...prepend, ...(flat(full.asPath) ?? [])]);
      assert.ok(got?.every((one) => one.asns.length >= 1 && one.asns.length <= 255));
      assert.equal(read.med, ebgp ? undefined : full.med);
      assert.equal(read.localPreference, ebgp ? undefined : (full.localPreference ?? 100));
      assert.deepEqual(read.communities, full.communities);
      assert.deepEqual(read.largeCommunities, full.largeCommunities);
      assert.equal(read.nextHop, full.nextHop);
    }),
    RUNS,
  ));

test('a rewritten block never passes its limit, wherever that is', () =>
  fc.assert(
    fc.property(model, fc.nat(400), (attributes, room) => {
      const bytes = encodeAttributes(attributes, true);
      assert.ok(bytes !== undefined);
      const rule = exportRule(true, { prepend: [64500, 70000], asn4: false, med: STRIP });
      const whole = rewrite(bytes, rule);
      const out = new Uint8Array(room + 8).fill(0xee);
      const length = rewriter.rewrite(bytes, viewOf(bytes), 0, bytes.length, rule, out, 4, 4 + room);
      assert.equal(length, whole.length <= room ? whole.length : -1);
      assert.ok(out.subarray(0, 4).every((byte) => byte === 0xee) && out.subarray(4 + room).every((byte) => byte === 0xee));
    }),
    RUNS,
  ));

test('the straight way writes what the general one does', () => {
  let straight = 0;
  fc.assert(
    fc.property(
      model,
      fc.array(asn, { maxLength: 3 }),
      fc.boolean(),
      fc.constantFrom(KEEP, STRIP, 0xc6336401),
      fc.constantFrom(KEEP, STRIP),
      (attributes, prepend, ebgp, nextHop, med) => {
        const usual = ['origin', 'asPath', 'nextHop', 'med', 'localPreference', 'atomicAggregate', 'communities'];
        const kept = Object.fromEntries(Object.entries(attributes).filter(([key]) => usual.includes(key)));
        const bytes = encodeAttributes(kept, true);
        assert.ok(bytes !== undefined);
        const rule = exportRule(ebgp, { prepend, nextHop, med });
        const out = new Uint8Array(65536);
        const length = rewriteStraight(bytes, viewOf(bytes), 0, bytes.length, rule, out, 0, out.length);
        if (length < 0) return;
        straight++;
        // An attribute that nobody knows makes the block an unusual one; it goes out last.
        const unusual = Uint8Array.of(...bytes, 0xc0, 255, 1, 7);
        assert.equal(rewriteStraight(unusual, viewOf(unusual), 0, unusual.length, rule, out, 0, out.length), -1);
        const general = rewrite(unusual, rule);
        rewriteStraight(bytes, viewOf(bytes), 0, bytes.length, rule, out, 0, out.length);
        assert.deepEqual(out.slice(0, length), general.slice(0, -4));
      },
    ),
    { ...RUNS, numRuns: 500 },
  );
  assert.ok(straight > 5, `${straight} blocks went straight`);
});

interface Entry {
  readonly address: readonly number[];
  readonly lengthBits: number;
  readonly pathId: number;
}

function entries(family: Family): fc.Arbitrary<readonly Entry[]> {
  const size = family >>> 8 === AFI_IPV6 ? 16 : 4;
  return fc.array(
    fc.record({
      address: fc.array(fc.nat(255), { minLength: size, maxLength: size }),
      lengthBits: fc.integer({ min: 0, max: 8 * size }),
      pathId: u32,
    }),
    { maxLength: 300, size: 'max' },
  );
}

function text(bytes: Uint8Array, at: number, lengthBits: number, size: number, pathId: number): string {
  return `${formatPrefix(bytes, at, lengthBits, size)} ${pathId}`;
}

for (const family of [IPV4_UNICAST, IPV6_UNICAST]) {
  test(`packed entries of family ${family} decode to the same list, within every bound`, () =>
    fc.assert(
      fc.property(
        entries(family),
        fc.record({ addPath: fc.boolean(), withdraw: fc.boolean(), mpFirst: fc.boolean(), extended: fc.boolean() }),
        fc.integer({ min: 200, max: 9000 }),
        fc.nat(90),
        (list, how, bufferSize, extra) => {
          const size = family >>> 8 === AFI_IPV6 ? 16 : 4;
          const maxMessage = how.extended ? 65535 : 4096;
          const block = encodeAttributes(
            {
              origin: 'igp',
              asPath: [{ type: 'sequence', asns: [64512] }],
              ...(size === 4 ? { nextHop: '192.0.2.1' } : {}),
              others: [{ code: 200, flags: 0xc0, value: new Uint8Array(extra) }],
            },
            true,
          );
          assert.ok(block !== undefined);
          const writer = new UpdateWriter(how.mpFirst).over(new Uint8Array(bufferSize));
          if (how.withdraw) writer.beginWithdraw(family, how.addPath, maxMessage);
          else {
            const nextHop = size === 16 ? Uint8Array.of(0x20, 1, ...new Array<number>(14).fill(1)) : undefined;
            writer.beginAnnounce(family, how.addPath, maxMessage, block, 0, block.length, nextHop);
          }
          const got: string[] = [];
          const flush = (): void => {
            writer.close();
            got.push(...readAll(writer, family, how.addPath, how.extended));
            writer.over(new Uint8Array(bufferSize));
          };
          for (const { address, lengthBits, pathId } of list) {
            const bytes = Uint8Array.from(address);
            if (writer.addPrefix(bytes, 0, lengthBits, pathId) === ADDED) continue;
            flush();
            assert.equal(writer.addPrefix(bytes, 0, lengthBits, pathId), ADDED);
          }
          flush();
          const want = list.map(({ address, lengthBits, pathId }) =>
            text(Uint8Array.from(address), 0, lengthBits, size, how.addPath ? pathId : 0),
          );
          assert.deepEqual(got, want);
        },
      ),
      { numRuns: 150 },
    ));
}

function readAll(writer: UpdateWriter, family: Family, addPath: boolean, extended: boolean): string[] {
  const size = family >>> 8 === AFI_IPV6 ? 16 : 4;
  const context = plainContext({ families: CORE_FAMILIES, addPath: addPath ? [family] : [] });
  const view = viewOf(writer.bytes);
  const update = new UpdateView();
  const out: string[] = [];
  for (let at = 0; at < writer.used; ) {
    const length = checkHeader(view, at, extended);
    assert.ok(length > 0 && at + length <= writer.used);
    assert.equal(update.read(writer.bytes, view, at, length, context), OK);
    for (const [from, bytes] of [
      [update.withdrawnAt, update.withdrawnLength],
      [update.nlriAt, update.nlriLength],
      [update.reachAt, update.reachLength],
      [update.unreachAt, update.unreachLength],
    ] as const) {
      const cursor = new PrefixCursor().over(view, from, bytes, 8 * size, addPath);
      while (cursor.next()) out.push(text(writer.bytes, cursor.prefixAt, cursor.lengthBits, size, cursor.pathId));
    }
    at += length;
  }
  return out;
}
