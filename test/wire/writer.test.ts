import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { CORE_FAMILIES, plainContext } from '../../sdk/wire/context.ts';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../sdk/wire/family.ts';
import { outcomeName } from '../../sdk/wire/fault.ts';
import { checkHeader } from '../../sdk/wire/message.ts';
import { UpdateView } from '../../sdk/wire/update.ts';
import { ADDED, FULL, TOO_LARGE, UpdateWriter } from '../../sdk/wire/writer.ts';
import { AS_PATH, hex, MANDATORY, ORIGIN, PREFIX, toHex, update } from './build.ts';

const BLOCK = hex(MANDATORY);
const MP_BLOCK = hex(ORIGIN + AS_PATH);
const NH6 = hex('20010db8000000000000000000000001');
const CONTEXT = plainContext({ families: CORE_FAMILIES });

/** Lengths and entry counts of the messages in a writer's buffer; each must read back well. */
function messages(writer: UpdateWriter, extended = false): { length: number; entries: number; endOfRib: number }[] {
  const view = viewOf(writer.bytes);
  const update1 = new UpdateView();
  const out: { length: number; entries: number; endOfRib: number }[] = [];
  for (let at = 0; at < writer.used; ) {
    const length = checkHeader(view, at, extended);
    assert.ok(length > 0, 'a header that reads back');
    assert.equal(outcomeName(update1.read(writer.bytes, view, at, length, CONTEXT)), 'ok');
    const entries = update1.withdrawnCount + update1.nlriCount + update1.reachCount + update1.unreachCount;
    out.push({ length, entries, endOfRib: update1.endOfRib });
    at += length;
  }
  return out;
}

test('prefixes with one block share messages up to the maximum', () => {
  const writer = new UpdateWriter().over(new Uint8Array(65536));
  writer.beginAnnounce(IPV4_UNICAST, false, 4096, BLOCK, 0, BLOCK.length);
  for (let i = 0; i < 3000; i++) assert.equal(writer.addIpv4(i << 8, 24, 0), ADDED);
  writer.close();
  const all = messages(writer);
  assert.equal(writer.messages, all.length);
  assert.deepEqual(
    all.map((one) => one.entries),
    [1013, 1013, 974],
  );
  assert.ok(all.every((one) => one.length <= 4096));
});

test('RFC 8654 one long message where it was negotiated', () => {
  const writer = new UpdateWriter().over(new Uint8Array(65536));
  writer.beginAnnounce(IPV4_UNICAST, false, 65535, BLOCK, 0, BLOCK.length);
  for (let i = 0; i < 3000; i++) assert.equal(writer.addIpv4(i << 8, 24, 0), ADDED);
  writer.close();
  assert.equal(messages(writer, true).length, 1);
});

test('a full buffer is said before anything is lost, and the group goes on in the next', () => {
  const writer = new UpdateWriter();
  const counted: number[] = [];
  writer.over(new Uint8Array(200));
  writer.beginAnnounce(IPV4_UNICAST, false, 4096, BLOCK, 0, BLOCK.length);
  for (let i = 0; i < 100; i++) {
    if (writer.addIpv4(i << 8, 24, 0) === ADDED) continue;
    writer.close();
    counted.push(...messages(writer).map((one) => one.entries));
    writer.over(new Uint8Array(200));
    assert.equal(writer.addIpv4(i << 8, 24, 0), ADDED);
  }
  writer.close();
  counted.push(...messages(writer).map((one) => one.entries));
  assert.equal(
    counted.reduce((a, b) => a + b, 0),
    100,
  );
});

test('a buffer with no room for one entry answers FULL and stays empty', () => {
  const writer = new UpdateWriter().over(new Uint8Array(40));
  writer.beginAnnounce(IPV4_UNICAST, false, 4096, BLOCK, 0, BLOCK.length);
  assert.equal(writer.addIpv4(0, 24, 0), FULL);
  writer.close();
  assert.deepEqual([writer.used, writer.messages], [0, 0]);
});

test('H53 RFC 8654 §4 attributes that leave no room for the prefix: the route is withheld', () => {
  const writer = new UpdateWriter().over(new Uint8Array(65536));
  const exact = new Uint8Array(4096 - 23 - 4);
  writer.beginAnnounce(IPV4_UNICAST, false, 4096, exact, 0, exact.length);
  assert.equal(writer.addIpv4(0, 25, 0), TOO_LARGE);
  assert.equal(writer.addIpv4(0, 24, 0), ADDED, 'at the limit it fits');
  writer.beginAnnounce(IPV6_UNICAST, false, 4096, exact, 0, exact.length, NH6);
  assert.equal(writer.addPrefix(NH6, 0, 0, 0), TOO_LARGE);
  writer.beginAnnounce(IPV6_UNICAST, false, 65535, exact, 0, exact.length, NH6);
  assert.equal(writer.addPrefix(NH6, 0, 128, 0), ADDED);
});

test('H53 the block that is written last counts as well', () => {
  const writer = new UpdateWriter(true).over(new Uint8Array(65536));
  const exact = new Uint8Array(4096 - 23 - 4 - 5 - 16 - 1);
  writer.beginAnnounce(IPV6_UNICAST, false, 4096, exact, 0, exact.length, NH6);
  assert.equal(writer.addPrefix(NH6, 0, 8, 0), TOO_LARGE);
  assert.equal(writer.addPrefix(NH6, 0, 0, 0), ADDED, 'at the limit it fits');
  writer.close();
  assert.ok(writer.used <= 4096);
});

test('groups of every kind in one buffer, an empty group writes nothing', () => {
  const writer = new UpdateWriter().over(new Uint8Array(4096));
  writer.beginWithdraw(IPV4_UNICAST, false, 4096);
  writer.beginWithdraw(IPV4_UNICAST, false, 4096);
  assert.equal(writer.addIpv4(0x0a000000, 8, 0), ADDED);
  writer.beginWithdraw(IPV6_UNICAST, false, 4096);
  assert.equal(writer.addPrefix(NH6, 0, 32, 0), ADDED);
  assert.equal(writer.addNlri(hex('2020010db9'), 0, 5), ADDED);
  writer.beginAnnounce(IPV6_UNICAST, false, 4096, MP_BLOCK, 0, MP_BLOCK.length, NH6);
  assert.equal(writer.addPrefix(NH6, 0, 32, 0), ADDED);
  assert.equal(writer.addEndOfRib(IPV6_UNICAST), ADDED);
  assert.equal(writer.addEndOfRib(IPV4_UNICAST), ADDED);
  const whole = update({ withdrawn: PREFIX });
  assert.equal(writer.addMessage(whole, 0, whole.length), ADDED);
  writer.close();
  assert.deepEqual(
    messages(writer).map((one) => [one.entries, one.endOfRib]),
    [
      [1, 0],
      [2, 0],
      [1, 0],
      [0, IPV6_UNICAST],
      [0, IPV4_UNICAST],
      [1, 0],
    ],
  );
});

test('RFC 4271 §4.3 MP_REACH_NLRI takes the extended length only past 255 octets', () => {
  const writer = new UpdateWriter().over(new Uint8Array(8192));
  const sizes = [13, 14].map((count) => {
    const start = writer.used;
    writer.beginAnnounce(IPV6_UNICAST, false, 4096, MP_BLOCK, 0, MP_BLOCK.length, NH6);
    for (let i = 0; i < count; i++) assert.equal(writer.addPrefix(NH6, 0, 128, 0), ADDED);
    writer.close();
    return writer.bytes[start + 23 + MP_BLOCK.length];
  });
  assert.deepEqual(sizes, [0x80, 0x90]);
  assert.deepEqual(
    messages(writer).map((one) => one.entries),
    [13, 14],
  );
});

test('RFC 7606 §5.1 MP_REACH_NLRI goes first when asked', () => {
  for (const count of [1, 400]) {
    const writer = new UpdateWriter(true).over(new Uint8Array(65536));
    writer.beginAnnounce(IPV6_UNICAST, false, 4096, MP_BLOCK, 0, MP_BLOCK.length, NH6);
    for (let i = 0; i < count; i++) assert.equal(writer.addPrefix(NH6, 0, 128, 0), ADDED);
    writer.close();
    assert.equal(writer.bytes[24], 14);
    const all = messages(writer);
    assert.equal(
      all.reduce((sum, one) => sum + one.entries, 0),
      count,
    );
    assert.ok(all.every((one) => one.length <= 4096));
  }
});

test('H31 a withdrawal fills 4096 octets to the last', () => {
  const writer = new UpdateWriter().over(new Uint8Array(65536));
  writer.beginWithdraw(IPV4_UNICAST, false, 4096);
  for (let i = 0; i < 4074; i++) assert.equal(writer.addIpv4(0, 0, 0), ADDED);
  writer.close();
  assert.deepEqual(
    messages(writer).map((one) => one.length),
    [4096, 24],
  );
});

test('prefix bits past the length are not sent', () => {
  const writer = new UpdateWriter().over(new Uint8Array(100));
  writer.beginWithdraw(IPV4_UNICAST, false, 4096);
  writer.addPrefix(hex('ffffffff'), 0, 9, 0);
  writer.close();
  assert.equal(toHex(writer.bytes, 19, writer.used - 19), '000309ff800000');
});
