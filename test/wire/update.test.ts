// Good UPDATEs both ways: sections and NLRI read from hex, and the writer giving back the same bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressBytes, formatAddress, formatPrefix, parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import { HAS_AS_PATH, HAS_NEXT_HOP, HAS_ORIGIN, NEXT_HOP_UNUSABLE } from '../../sdk/wire/attribute/block.ts';
import { decodeAttributes, encodeAttributes, type PathAttributes } from '../../sdk/wire/attribute/model.ts';
import { hashBytes, viewOf } from '../../sdk/wire/bytes.ts';
import { CORE_FAMILIES, plainContext, type WireContext } from '../../sdk/wire/context.ts';
import { AFI_IPV6, type Family, familyName, IPV4_UNICAST, IPV6_UNICAST, parseFamily } from '../../sdk/wire/family.ts';
import { OK, RESET, WITHDRAW } from '../../sdk/wire/fault.ts';
import { PrefixCursor } from '../../sdk/wire/nlri/prefix.ts';
import { UpdateView } from '../../sdk/wire/update.ts';
import { ADDED, endOfRib, UpdateWriter } from '../../sdk/wire/writer.ts';
import { AS_PATH, attribute, hex, MANDATORY, message, ORIGIN, PREFIX, toHex, update } from './build.ts';
import { vectors } from './vectors.ts';

interface UpdateJson {
  readonly attributes?: PathAttributes;
  readonly nextHop?: string;
  /** Family → `prefix` or `prefix path-id`. */
  readonly announce?: Readonly<Record<string, readonly string[]>>;
  readonly withdraw?: Readonly<Record<string, readonly string[]>>;
  readonly endOfRib?: string;
}

interface UpdateVector {
  readonly rfc: string;
  readonly name: string;
  readonly addPath?: readonly string[];
  readonly hex: string;
  readonly json: UpdateJson;
}

const FAMILIES = [...CORE_FAMILIES, parseFamily('l2vpn/evpn')];

function contextOf(addPath: readonly string[] = []): WireContext {
  return plainContext({ families: FAMILIES, addPath: addPath.map(parseFamily), extendedNextHop: [IPV4_UNICAST] });
}

function read(bytes: Uint8Array, context: WireContext): UpdateView {
  const view = new UpdateView();
  assert.equal(view.read(bytes, viewOf(bytes), 0, bytes.length, context), OK);
  return view;
}

function prefixes(view: UpdateView, at: number, length: number, family: Family, addPath: boolean): string[] {
  const size = family >>> 8 === AFI_IPV6 ? 16 : 4;
  const cursor = new PrefixCursor().over(view.view, at, length, 8 * size, addPath);
  const out: string[] = [];
  while (cursor.next()) {
    const text = formatPrefix(view.bytes, cursor.prefixAt, cursor.lengthBits, size);
    out.push(addPath ? `${text} ${cursor.pathId}` : text);
  }
  assert.equal(cursor.at, cursor.end);
  return out;
}

function toJson(view: UpdateView): UpdateJson {
  const { context, block } = view;
  const classic = context.addPathIpv4Unicast;
  const announce: Record<string, readonly string[]> = {};
  const withdraw: Record<string, readonly string[]> = {};
  if (view.nlriLength > 0) announce['ipv4/unicast'] = prefixes(view, view.nlriAt, view.nlriLength, IPV4_UNICAST, classic);
  if (view.withdrawnLength > 0)
    withdraw['ipv4/unicast'] = prefixes(view, view.withdrawnAt, view.withdrawnLength, IPV4_UNICAST, classic);
  if (view.reachLength > 0) {
    announce[familyName(view.reachFamily)] = prefixes(view, view.reachAt, view.reachLength, view.reachFamily, view.reachAddPath);
  }
  if (view.unreachLength > 0) {
    withdraw[familyName(view.unreachFamily)] = prefixes(
      view,
      view.unreachAt,
      view.unreachLength,
      view.unreachFamily,
      view.unreachAddPath,
    );
  }
  const nextHop = formatAddress(view.bytes, view.reachUsableNextHopAt, view.reachFamily === 0 ? 0 : view.reachNextHopLength);
  return {
    ...(block.length === 0 ? {} : { attributes: decodeAttributes(block.bytes, block.at, block.length, true) }),
    ...(nextHop === undefined ? {} : { nextHop }),
    ...(Object.keys(announce).length === 0 ? {} : { announce }),
    ...(Object.keys(withdraw).length === 0 ? {} : { withdraw }),
    ...(view.endOfRib === 0 ? {} : { endOfRib: familyName(view.endOfRib) }),
  };
}

function write(json: UpdateJson, addPath: readonly string[]): Uint8Array {
  const writer = new UpdateWriter().over(new Uint8Array(4096));
  if (json.endOfRib !== undefined) assert.equal(writer.addEndOfRib(parseFamily(json.endOfRib)), ADDED);
  for (const [name, texts] of Object.entries(json.withdraw ?? {})) {
    writer.beginWithdraw(parseFamily(name), addPath.includes(name), 4096);
    addTexts(writer, texts);
  }
  const block = encodeAttributes(json.attributes ?? {}, true);
  assert.ok(block !== undefined);
  for (const [name, texts] of Object.entries(json.announce ?? {})) {
    const nextHop = json.nextHop === undefined ? undefined : addressBytes(json.nextHop);
    writer.beginAnnounce(parseFamily(name), addPath.includes(name), 4096, block, 0, block.length, nextHop);
    addTexts(writer, texts);
  }
  writer.close();
  return writer.bytes.slice(0, writer.used);
}

function addTexts(writer: UpdateWriter, texts: readonly string[]): void {
  const target = prefixTarget();
  for (const text of texts) {
    const [prefix = '', id = '0'] = text.split(' ');
    assert.ok(parsePrefix(prefix, target));
    assert.equal(writer.addPrefix(target.bytes, 0, target.lengthBits, Number(id)), ADDED);
  }
}

for (const vector of vectors('updates') as UpdateVector[]) {
  const bytes = message(2, vector.hex.replace(/\s/g, ''));
  test(`${vector.rfc} ${vector.name}, read`, () => assert.deepEqual(toJson(read(bytes, contextOf(vector.addPath))), vector.json));
  test(`${vector.rfc} ${vector.name}, written`, () =>
    assert.equal(toHex(write(vector.json, vector.addPath ?? [])), toHex(bytes)));
}

test('RFC 4724 §2 End-of-RIB is an UPDATE without anything else', () => {
  const context = contextOf();
  assert.equal(read(endOfRib(IPV6_UNICAST), context).endOfRib, IPV6_UNICAST);
  assert.equal(read(endOfRib(IPV4_UNICAST), context).endOfRib, IPV4_UNICAST);
  assert.equal(read(update({ withdrawn: PREFIX }), context).endOfRib, 0);
  assert.equal(read(update({ attributes: ORIGIN }), context).endOfRib, 0);
  assert.equal(read(update({ attributes: `800f03000201${ORIGIN}` }), context).endOfRib, 0);
  assert.equal(read(update({ attributes: '800f080002012020010db8' }), context).endOfRib, 0);
});

test('the block is the same whatever MP attributes stand before, in or after it', () => {
  const context = contextOf();
  const community = attribute('c008', 'fc000050');
  const reach = attribute('800e', `0002011020010db8000000000000000000000001002020010db8`);
  const unreach = attribute('800f', '0002012020010db9');
  const orders = [
    [reach, ORIGIN, AS_PATH, community],
    [ORIGIN, AS_PATH, community, reach],
    [ORIGIN, reach, AS_PATH, community],
    [unreach, ORIGIN, AS_PATH, reach, community],
    [ORIGIN, unreach, AS_PATH, reach, community],
  ];
  const view = new UpdateView();
  for (const order of orders) {
    const bytes = update({ attributes: order.join('') });
    assert.equal(view.read(bytes, viewOf(bytes), 0, bytes.length, context), OK);
    const { block } = view;
    const expected = hex(ORIGIN + AS_PATH + community);
    assert.equal(toHex(block.bytes, block.at, block.length), toHex(expected));
    assert.equal(view.blockHash, hashBytes(viewOf(expected), 0, expected.length));
    const out = new Uint8Array(100);
    assert.equal(view.copyAttributes(out, 3), expected.length);
    assert.equal(toHex(out, 3, expected.length), toHex(expected));
  }
});

test('a contiguous block is not copied', () => {
  const bytes = update({ attributes: MANDATORY, nlri: PREFIX });
  assert.equal(read(bytes, contextOf()).block.bytes, bytes);
});

test('a known block is trusted, its message still judged', () => {
  const context = plainContext({ families: FAMILIES, ebgp: true, peerAs: 64512, enforceFirstAs: true });
  const view = new UpdateView();
  const good = update({ attributes: MANDATORY, nlri: PREFIX });
  view.read(good, viewOf(good), 0, good.length, context);
  const facts = view.blockFacts;
  assert.equal(facts, HAS_ORIGIN | HAS_AS_PATH | HAS_NEXT_HOP);
  const again = (bytes: Uint8Array) => {
    const located = view.locate(bytes, viewOf(bytes), 0, bytes.length, context);
    return located === RESET ? RESET : view.trust(facts);
  };
  assert.equal(again(good), OK);
  assert.equal(view.nlriCount, 1);
  assert.equal(again(update({ attributes: MANDATORY, nlri: '21c6336400ff' })), RESET);
  assert.equal(
    again(update({ attributes: `${MANDATORY}800e`, nlri: PREFIX })),
    RESET,
    'a cut MP attribute is seen without judging the block',
  );
  const noNextHop = update({ attributes: ORIGIN + AS_PATH, nlri: PREFIX });
  view.locate(noNextHop, viewOf(noNextHop), 0, noNextHop.length, context);
  assert.equal(view.trust(HAS_ORIGIN | HAS_AS_PATH), WITHDRAW, 'mandatory attributes are asked of the facts');
  view.locate(good, viewOf(good), 0, good.length, context);
  assert.equal(view.trust(facts | NEXT_HOP_UNUSABLE), WITHDRAW);
});

test('RFC 2545 §3 which of two IPv6 next hops counts', () => {
  const context = contextOf();
  const linkLocal = `fe80${'00'.repeat(13)}01`;
  const global = '20010db8000000000000000000000001';
  const usable = (nextHop: string) => {
    const length = (nextHop.length / 2).toString(16).padStart(2, '0');
    const bytes = update({ attributes: ORIGIN + AS_PATH + attribute('800e', `000201${length}${nextHop}002020010db8`) });
    const view = read(bytes, context);
    return formatAddress(view.bytes, view.reachUsableNextHopAt, 16);
  };
  assert.equal(usable(global), '2001:db8::1');
  assert.equal(usable(global + linkLocal), '2001:db8::1');
  assert.equal(usable('00'.repeat(16) + linkLocal), 'fe80::1');
  assert.equal(usable(linkLocal), 'fe80::1');
});

test('counts of entries in each field', () => {
  const bytes = update({
    withdrawn: '00080a',
    attributes: `${MANDATORY}${attribute('800e', '00010204c000020100080a080b')}${attribute('800f', '00020100')}`,
    nlri: PREFIX + PREFIX,
  });
  const view = read(bytes, contextOf());
  assert.deepEqual([view.withdrawnCount, view.nlriCount, view.reachCount, view.unreachCount], [2, 2, 2, 1]);
});
