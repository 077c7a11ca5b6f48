import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatIpv4, parseIpv4 } from '../../sdk/wire/address.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { familyName, IPV4_UNICAST, NAMED_FAMILIES, parseFamily } from '../../sdk/wire/family.ts';
import { CLOSE_SILENTLY, checkHeader, headerFault, keepalive, messageName } from '../../sdk/wire/message.ts';
import {
  decodeNotification,
  encodeNotification,
  notification,
  notificationCodeName,
  notificationSubcodeName,
  prefixLimitData,
  shutdownData,
  shutdownText,
} from '../../sdk/wire/notification.ts';
import { decodeOpen, encodeOpen } from '../../sdk/wire/open.ts';
import { decodeRefresh, encodeRefresh, refreshName } from '../../sdk/wire/refresh.ts';
import { decodeUtf8, encodeUtf8, printable } from '../../sdk/wire/utf8.ts';
import { hex, message, toHex } from './build.ts';
import { vectors } from './vectors.ts';

interface MessageVector {
  readonly rfc: string;
  readonly kind: 'keepalive' | 'open' | 'notification' | 'refresh';
  readonly extended?: boolean;
  readonly hex: string;
  readonly json: Readonly<Record<string, unknown>>;
}

for (const vector of vectors('messages') as MessageVector[]) {
  test(`${vector.rfc} ${vector.kind} ${JSON.stringify(vector.json).slice(0, 60)}`, () => {
    const bytes = hex(vector.hex);
    assert.equal(checkHeader(viewOf(bytes), 0, false), bytes.length);
    const { json, written } = CODECS[vector.kind](bytes, vector.extended ?? false);
    assert.deepEqual(json, vector.json);
    assert.equal(toHex(written), toHex(bytes));
  });
}

interface Both {
  readonly json: unknown;
  readonly written: Uint8Array;
}

const CODECS: Readonly<Record<MessageVector['kind'], (bytes: Uint8Array, extended: boolean) => Both>> = {
  keepalive: () => ({ json: {}, written: keepalive() }),
  open: (bytes, extended) => {
    const result = decodeOpen(bytes, 0, bytes.length);
    assert.ok(result.ok);
    const { myAs, holdTimeSeconds, routerId, capabilities } = result.value;
    assert.equal(parseIpv4(formatIpv4(routerId)), routerId);
    const shown = capabilities.map(({ code, value }) => `${code}:${toHex(value)}`);
    return {
      json: { myAs, holdTimeSeconds, routerId: formatIpv4(routerId), capabilities: shown },
      written: encodeOpen(result.value, extended),
    };
  },
  notification: (bytes) => {
    const read = decodeNotification(bytes, 0, bytes.length);
    assert.ok(read !== undefined);
    const { code, subcode, data } = read;
    const names = { codeName: notificationCodeName(code), subcodeName: notificationSubcodeName(code, subcode) };
    const text = shutdownText(read);
    const json = { code, subcode, data: toHex(data), ...names, ...(text === undefined ? {} : { text: text.text }) };
    return { json, written: encodeNotification(read) };
  },
  refresh: (bytes) => {
    const read = decodeRefresh(bytes, 0, bytes.length);
    assert.ok(read.ok);
    const { family, subtype } = read.value;
    return { json: { family: familyName(family), name: refreshName(subtype) }, written: encodeRefresh(family, subtype) };
  },
};

interface HeaderRow {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly extended?: boolean;
  /** A length, `silent`, or code/subcode and data. */
  readonly want: string;
}

const HEADERS: readonly HeaderRow[] = [
  { name: 'H01 marker not all ones', bytes: hex(`${'ff'.repeat(15)}fe001304`), want: '1/1 ' },
  { name: 'H01 marker zero, length bad: the marker is judged first', bytes: hex(`${'00'.repeat(16)}000004`), want: '1/1 ' },
  { name: 'H02 length 18', bytes: message(4, '', 18), want: '1/2 0012' },
  { name: 'H02 length 0', bytes: message(2, '', 0), want: '1/2 0000' },
  { name: 'H02 KEEPALIVE of 20', bytes: message(4, '', 20), want: '1/2 0014' },
  { name: 'H02 OPEN of 28', bytes: message(1, '', 28), want: '1/2 001c' },
  { name: 'H02 OPEN of 29', bytes: message(1, '', 29), want: '29' },
  { name: 'H02 UPDATE of 22', bytes: message(2, '', 22), want: '1/2 0016' },
  { name: 'H02 UPDATE of 23', bytes: message(2, '', 23), want: '23' },
  { name: 'H02 UPDATE of 4096', bytes: message(2, '', 4096), want: '4096' },
  { name: 'H02 UPDATE of 4097', bytes: message(2, '', 4097), want: '1/2 1001' },
  { name: 'H02 unknown type and bad length: the length is judged first', bytes: message(99, '', 18), want: '1/2 0012' },
  { name: 'H03 RFC 8654 §4 UPDATE of 65535, extended', bytes: message(2, '', 65535), extended: true, want: '65535' },
  { name: 'H03 RFC 8654 §4 NOTIFICATION of 5000, extended', bytes: message(3, '', 5000), extended: true, want: '5000' },
  { name: 'H03 RFC 8654 §4 ROUTE-REFRESH of 5000, extended', bytes: message(5, '', 5000), extended: true, want: '5000' },
  { name: 'H03 RFC 8654 §4 OPEN of 4097, extended', bytes: message(1, '', 4097), extended: true, want: '1/2 1001' },
  { name: 'H03 RFC 8654 §4 KEEPALIVE of 4097, extended', bytes: message(4, '', 4097), extended: true, want: '1/2 1001' },
  ...[0, 6, 255].map(
    (type): HeaderRow => ({
      name: `H04 type ${type}`,
      bytes: message(type, '', 30),
      want: `1/3 ${type.toString(16).padStart(2, '0')}`,
    }),
  ),
  { name: 'H05 RFC 4271 §6.4 NOTIFICATION of 20', bytes: message(3, '', 20), want: 'silent' },
  { name: 'H05 RFC 4271 §6.4 NOTIFICATION of 4097', bytes: message(3, '', 4097), want: 'silent' },
  { name: 'H16 RFC 7313 §5 ROUTE-REFRESH of 19 passes to its own judgement', bytes: message(5, '', 19), want: '19' },
];

for (const row of HEADERS) {
  test(`RFC 4271 §6.1 ${row.name}`, () => {
    const bytes = hex(`aaaa${toHex(row.bytes)}`);
    const result = checkHeader(viewOf(bytes), 2, row.extended ?? false);
    if (result > 0 || result === CLOSE_SILENTLY) {
      assert.equal(result === CLOSE_SILENTLY ? 'silent' : String(result), row.want);
      return;
    }
    const { code, subcode, dataAt, dataLength } = headerFault(result, 2);
    assert.equal(`${code}/${subcode} ${toHex(bytes, dataAt, dataLength)}`, row.want);
  });
}

test('H05 RFC 9003 §4 a shutdown text of invalid UTF-8, and a length octet past the data', () => {
  const invalid = shutdownText(notification(6, 2, hex(`04${'ff'.repeat(4092)}`)));
  assert.deepEqual(invalid, { text: '\ufffd'.repeat(4), valid: false });
  assert.deepEqual(shutdownText(notification(6, 4, hex('ff6869'))), { text: 'hi', valid: false });
  assert.equal(shutdownText(notification(6, 3, hex('026869'))), undefined);
  assert.equal(shutdownText(notification(6, 2, hex('00'))), undefined);
  assert.equal(shutdownText(notification(6, 2)), undefined);
});

test('RFC 9003 §2 a shutdown text is at most 255 bytes, cut between code points', () => {
  const data = shutdownData('ä'.repeat(200));
  assert.equal(data[0], 254);
  assert.equal(data.length, 255);
  assert.equal(shutdownData('').length, 0);
});

test('RFC 8654 §5 data is cut so that a NOTIFICATION keeps to the peer’s maximum', () => {
  assert.equal(encodeNotification(notification(3, 1, new Uint8Array(60_000))).length, 4096);
  assert.equal(encodeNotification(notification(3, 1, new Uint8Array(60_000)), 65535).length, 60_021);
});

test('H05 a NOTIFICATION cut short is undefined', () => {
  assert.equal(decodeNotification(message(3, '06', 20), 0, 20), undefined);
});

test('RFC 4486 §4 data of a prefix limit', () => {
  assert.equal(toHex(prefixLimitData(IPV4_UNICAST, 1000)), '000101000003e8');
});

test('notification names: unspecific, unknown', () => {
  assert.equal(notificationSubcodeName(6, 0), 'Unspecific');
  assert.equal(notificationSubcodeName(6, 99), 'Subcode(99)');
  assert.equal(notificationSubcodeName(99, 1), 'Subcode(1)');
  assert.equal(notificationCodeName(99), undefined);
  assert.equal(notificationCodeName(8), 'Send Hold Timer Expired');
});

test('H16 RFC 7313 §5 a ROUTE-REFRESH body that is not four octets is 7/1 with the whole message', () => {
  for (const body of ['', '000100', '0001000101', '00010001014004']) {
    const bytes = message(5, body);
    const result = decodeRefresh(bytes, 0, bytes.length);
    assert.ok(!result.ok);
    assert.deepEqual([result.fault.code, result.fault.subcode, toHex(result.fault.data)], [7, 1, toHex(bytes)]);
  }
  const unknown = message(5, '0001ff01');
  const result = decodeRefresh(unknown, 0, unknown.length);
  assert.ok(result.ok);
  assert.equal(refreshName(result.value.subtype), 'unknown(255)');
});

test('message names', () => {
  assert.deepEqual([1, 2, 3, 4, 5, 0, 9].map(messageName), [
    'open',
    'update',
    'notification',
    'keepalive',
    'refresh',
    'unknown(0)',
    'unknown(9)',
  ]);
});

test('every family name reads back, unknown ones too', () => {
  for (const family of [...NAMED_FAMILIES, (7 << 8) | 9, (65535 << 8) | 255])
    assert.equal(parseFamily(familyName(family)), family);
  assert.equal(familyName((7 << 8) | 9), 'afi-7/safi-9');
  assert.equal(parseFamily('ipv4/flowspec'), parseFamily('ipv4/flow'));
  for (const text of ['', 'ipv4', 'ipv4/', '/unicast', 'ipv5/unicast', 'afi-65536/unicast', 'ipv4/safi-256', 'ipv4/safi-1x']) {
    assert.equal(parseFamily(text), 0, text);
  }
  assert.equal(NAMED_FAMILIES.length, 21);
});

test('H10 text of strangers: decoded without a throw, escaped for a terminal', () => {
  assert.deepEqual(decodeUtf8(hex('c3a4e282acf09f9880')), { text: 'ä€😀', valid: true });
  for (const bad of ['80', 'c3', 'c0af', 'eda080', 'f5808080', 'e282', 'ff', 'f0808080', 'f4908080']) {
    assert.equal(decodeUtf8(hex(bad)).valid, false, bad);
  }
  assert.equal(printable('a\nb\u001b[31m"\u0000\\\u202e'), 'a\\u{a}b\\u{1b}[31m"\\u{0}\\\\\\u{202e}');
  assert.equal(toHex(encodeUtf8('ä\ud800')), 'c3a4efbfbd');
});
