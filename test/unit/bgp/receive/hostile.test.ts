// Hostile inputs (rows H01–H27 and H31): what each one brings, one NOTIFICATION at most, and nobody else suffers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpdateView } from '../../../../sdk/wire/update.ts';
import { KEEPALIVE, NOTIFICATION, OPEN, ROUTE_REFRESH, UPDATE, keepalive } from '../../../../sdk/wire/message.ts';
import type { Speaker } from '../lab.ts';
import { Lab, PLAIN, attributes, hex, message, peerSettings, toHex, until, update } from '../lab.ts';

const MARKER = 'ff'.repeat(16);
const header = (length: number, type: number): string =>
  MARKER + length.toString(16).padStart(4, '0') + type.toString(16).padStart(2, '0');
const raw = (text: string): Uint8Array => hex(text);
/** An OPEN of the peer with its fields and optional parameters as given. */
const open = (fields: { version?: string; as?: string; hold?: string; id?: string; parameters?: string }): Uint8Array =>
  message(
    OPEN,
    hex(
      (fields.version ?? '04') +
        (fields.as ?? 'fbf6') +
        (fields.hold ?? '005a') +
        (fields.id ?? '0a000102') +
        (fields.parameters ?? '00'),
    ),
  );
const AS4 = '4104' + '0000fbf6';
const good = '02' + '06' + AS4;

type Where = 'connected' | 'open-confirm' | 'established';

interface Row {
  readonly name: string;
  readonly where: Where;
  readonly send: Uint8Array | readonly Uint8Array[];
  /** The NOTIFICATION as `code/subcode data`, `silent` for a close without one, `survives` for a session that stays. */
  readonly expect: string;
}

const ROWS: readonly Row[] = [
  { name: 'H01 marker', where: 'connected', send: raw('fe' + header(19, 4).slice(2)), expect: '1/1' },
  { name: 'H02 length 18', where: 'connected', send: raw(header(18, 4)), expect: '1/2 0012' },
  { name: 'H02 length 4097 without extended messages', where: 'established', send: raw(header(4097, 2)), expect: '1/2 1001' },
  { name: 'H02 UPDATE of 22', where: 'established', send: raw(header(22, 2) + '000000'), expect: '1/2 0016' },
  { name: 'H02 KEEPALIVE of 20', where: 'established', send: raw(header(20, 4) + '00'), expect: '1/2 0014' },
  { name: 'H02 length is judged before type', where: 'established', send: raw(header(5000, 9)), expect: '1/2 1388' },
  { name: 'H03 OPEN above 4096', where: 'connected', send: raw(header(4097, 1)), expect: '1/2 1001' },
  { name: 'H04 unknown type', where: 'established', send: raw(header(19, 6)), expect: '1/3 06' },
  { name: 'H04 type 255', where: 'connected', send: raw(header(19, 255)), expect: '1/3 ff' },
  { name: 'H05 truncated NOTIFICATION', where: 'established', send: raw(header(20, 3) + '06'), expect: 'silent' },
  {
    name: 'H05 NOTIFICATION of invalid UTF-8 whose length octet lies',
    where: 'established',
    send: message(NOTIFICATION, hex('0602' + 'ff' + '80'.repeat(4000))),
    expect: 'silent',
  },
  { name: 'H06 version 3', where: 'connected', send: open({ version: '03', parameters: '08' + good }), expect: '2/1 0004' },
  { name: 'H06 AS 0', where: 'connected', send: open({ as: '0000', parameters: '00' }), expect: '2/2' },
  { name: 'H06 AS not the configured one', where: 'connected', send: open({ as: 'fbf7', parameters: '00' }), expect: '2/2' },
  { name: 'H06 identifier 0.0.0.0', where: 'connected', send: open({ id: '00000000', parameters: '08' + good }), expect: '2/3' },
  { name: 'H06 hold time 1', where: 'connected', send: open({ hold: '0001', parameters: '08' + good }), expect: '2/6' },
  { name: 'H06 hold time 2', where: 'connected', send: open({ hold: '0002', parameters: '08' + good }), expect: '2/6' },
  { name: 'H07 parameters longer than the message', where: 'connected', send: open({ parameters: '20' + good }), expect: '2/0' },
  { name: 'H07 a stray octet', where: 'connected', send: open({ parameters: '01' + '02' }), expect: '2/0' },
  {
    name: 'H07 a parameter longer than the field',
    where: 'connected',
    send: open({ parameters: '08' + '0207' + AS4 }),
    expect: '2/0',
  },
  {
    name: 'H07 a capability longer than its parameter',
    where: 'connected',
    send: open({ parameters: '08' + '0206' + '4105' + '0000fbf6' }),
    expect: '2/0',
  },
  {
    name: 'H07 extended form, truncated',
    where: 'connected',
    send: open({ parameters: 'ff' + 'ff' + '0009' + '020006' + AS4.slice(0, 10) }),
    expect: '2/0',
  },
  {
    name: 'H07 extended form, well-formed',
    where: 'connected',
    send: [open({ parameters: 'ff' + 'ff' + '0009' + '020006' + AS4 }), keepalive()],
    expect: 'survives',
  },
  {
    name: 'H08 AS4 capability of length 2 is ignored',
    where: 'connected',
    send: [open({ parameters: '06' + '0204' + '4102' + 'fbf6' }), keepalive()],
    expect: 'survives',
  },
  {
    name: 'H09 unknown and duplicate capabilities, 60 of them',
    where: 'connected',
    send: [open({ parameters: 'f8' + '02' + 'f6' + 'c800'.repeat(59) + '4600' + AS4.repeat(21) }), keepalive()],
    expect: 'survives',
  },
  {
    name: 'H10 host name with control characters',
    where: 'connected',
    send: [open({ parameters: '14' + '0212' + AS4 + '490a' + '070a001b5b41ff22' + '00' + '00' }), keepalive()],
    expect: 'survives',
  },
  { name: 'H11 KEEPALIVE before OPEN', where: 'connected', send: keepalive(), expect: '5/1 04' },
  { name: 'H11 UPDATE before OPEN', where: 'connected', send: update('', '', ''), expect: '5/1 02' },
  { name: 'H11 ROUTE-REFRESH before OPEN', where: 'connected', send: message(ROUTE_REFRESH, hex('00010001')), expect: '5/1 05' },
  { name: 'H11 UPDATE before KEEPALIVE', where: 'open-confirm', send: update('', '', ''), expect: '5/2 02' },
  { name: 'H11 a second OPEN in OpenConfirm', where: 'open-confirm', send: open({ parameters: '08' + good }), expect: '5/2 01' },
  { name: 'H11 a second OPEN in Established', where: 'established', send: open({ parameters: '08' + good }), expect: '5/3 01' },
  {
    name: 'H16 ROUTE-REFRESH of 3 octets',
    where: 'established',
    send: message(ROUTE_REFRESH, hex('000100')),
    expect: `7/1 ${header(22, 5)}000100`,
  },
  {
    name: 'H16 ROUTE-REFRESH of an unknown family',
    where: 'established',
    send: message(ROUTE_REFRESH, hex('40040048')),
    expect: 'survives',
  },
  {
    name: 'H16 ROUTE-REFRESH of subtype 255',
    where: 'established',
    send: message(ROUTE_REFRESH, hex('0001ff01')),
    expect: 'survives',
  },
  {
    name: 'H17 withdrawn length beyond the message',
    where: 'established',
    send: message(UPDATE, hex('ffff0000')),
    expect: '3/1',
  },
  {
    name: 'H17 attribute length beyond the message',
    where: 'established',
    send: message(UPDATE, hex('00000005')),
    expect: '3/1',
  },
  {
    name: 'H18 the last attribute overruns',
    where: 'established',
    send: update('', '40010100 400206020100', '18c63364'),
    expect: 'survives',
  },
  {
    name: 'H19 two octets left for an attribute',
    where: 'established',
    send: update('', `${attributes(64502)} c008`, '18c63364'),
    expect: 'survives',
  },
  {
    name: 'H20 a malformed attribute without NLRI',
    where: 'established',
    send: update('', '40010107', ''),
    expect: '3/6 40010107',
  },
  { name: 'H21 NLRI without attributes', where: 'established', send: update('', '', '18c63364'), expect: 'survives' },
  { name: 'H22 no AS_PATH', where: 'established', send: update('', '40010100 400304c0000209', '18c63364'), expect: 'survives' },
  { name: 'H22 no NEXT_HOP', where: 'established', send: update('', '40010100 400200', '18c63364'), expect: 'survives' },
  {
    name: 'H23 prefix length 33',
    where: 'established',
    send: update('', attributes(64502), '21c6336400ff'),
    expect: '3/10 21c6336400ff',
  },
  {
    name: 'H23 prefix length 33, withdrawn',
    where: 'established',
    send: update('21c6336400ff', '', ''),
    expect: '3/10 21c6336400ff',
  },
  {
    name: 'H23 the last prefix is short',
    where: 'established',
    send: update('', attributes(64502), '18c633'),
    expect: '3/10 18c633',
  },
  {
    name: 'H24 MP_REACH of 4 octets',
    where: 'established',
    send: update('', '800e0400020100', ''),
    expect: '3/9 800e0400020100',
  },
  { name: 'H24 MP_UNREACH of 2 octets', where: 'established', send: update('', '800f020002', ''), expect: '3/9 800f020002' },
  {
    name: 'H25 MP_REACH twice',
    where: 'established',
    send: update('', '800e09000101040000000000 '.repeat(2), ''),
    expect: '3/1',
  },
  {
    name: 'H26 MP_UNREACH with wrong flags',
    where: 'established',
    send: update('', 'c00f03000101', ''),
    expect: '3/9 c00f03000101',
  },
  {
    name: 'H27 a family never negotiated',
    where: 'established',
    send: update('', '800f06000201 20 0102', ''),
    expect: 'survives',
  },
  { name: 'H31 4096 octets of withdrawn /0', where: 'established', send: update('00'.repeat(4073), '', ''), expect: 'survives' },
];

async function reach(lab: Lab, where: Where): Promise<Speaker> {
  if (where === 'established') return await lab.session(2);
  const peer = await lab.connect(2);
  await peer.hears(OPEN);
  if (where === 'open-confirm') {
    peer.send(peer.open());
    await peer.hears(KEEPALIVE);
  }
  return peer;
}

for (const row of ROWS) {
  test(`${row.name}: ${row.expect.length > 30 ? row.expect.slice(0, 30) : row.expect}`, async () => {
    await using lab = await Lab.of([peerSettings(2), peerSettings(3)]);
    const other = await lab.session(3);
    const peer = await reach(lab, row.where);
    const messages = row.send instanceof Uint8Array ? [row.send] : row.send;
    peer.send(...messages);
    if (row.expect === 'survives') {
      peer.send(keepalive());
      await until(async () => (await lab.state(2)) === 'established', 'the session is established');
      const before = (await lab.reactor.snapshot())[0]?.counters.keepalivesReceived ?? 0;
      peer.send(keepalive());
      await until(
        async () => ((await lab.reactor.snapshot())[0]?.counters.keepalivesReceived ?? 0) > before,
        'the session goes on',
      );
      assert(!peer.heard.some((one) => one.type === NOTIFICATION));
    } else if (row.expect === 'silent') {
      await peer.ends();
      assert(!peer.heard.some((one) => one.type === NOTIFICATION));
    } else {
      assert(
        (await peer.notified()).startsWith(row.expect),
        JSON.stringify(peer.heard.map((one) => [one.type, toHex(one.body)])),
      );
      // Whatever else the offender says, it is not answered.
      peer.send(raw('00'.repeat(64)));
      await peer.ends();
      assert(!peer.heard.some((one) => one.type === NOTIFICATION));
    }
    assert.equal(await lab.state(3), 'established');
    assert(!other.closed);
  });
}

/** What the plugins of the route path see of a message: `+` announced, `-` withdrawn prefixes as hex. */
function recorder(lab: Lab): string[] {
  const seen: string[] = [];
  lab.reactor.routes.onUpdate((_peer, _id, view: UpdateView, withdraw) => {
    const part = (at: number, length: number): string => toHex(view.bytes.slice(at, at + length));
    if (view.withdrawnLength > 0) seen.push(`-${part(view.withdrawnAt, view.withdrawnLength)}`);
    if (view.nlriLength > 0) seen.push(`${withdraw ? '-' : '+'}${part(view.nlriAt, view.nlriLength)}`);
  });
  return seen;
}

const WITHDRAWN: readonly (readonly [string, string])[] = [
  ['H18 the last attribute overruns', '40010100 400206020100'],
  ['H19 two octets left for an attribute', `${attributes(64502)} c008`],
  ['H21 no attributes at all', ''],
  ['H22 no ORIGIN', '4002060201 0000fbf6 400304c0000209'],
  ['H32 ORIGIN 7', attributes(64502).replace('40010100', '40010107')],
  ['our AS in the path (RFC 4271 §9.1.2)', attributes(64502, 64500)],
];
for (const [name, bad] of WITHDRAWN) {
  test(`treat-as-withdraw takes the earlier route away: ${name}`, async () => {
    await using lab = await Lab.of([peerSettings(2)]);
    const seen = recorder(lab);
    lab.reactor.interest(0xffff, 0);
    const peer = await lab.session(2);
    peer.send(update('', attributes(64502), '18c63364'), update('', bad, '18c63364'));
    await until(() => seen.length === 2, 'both are seen');
    assert.deepEqual(seen, ['+18c63364', '-18c63364']);
    // Those who see bytes alone see the withdrawal it became.
    await until(() => lab.sink.rows.filter((row) => row.kind === 'update').length === 2, 'both are told');
    assert.equal(toHex(lab.sink.rows.filter((row) => row.kind === 'update')[1]?.bytes ?? new Uint8Array(0)), '000418c633640000');
    const loops = name.startsWith('our AS');
    const reports = lab.sink.reports.filter((report) => report.code === 'update-malformed');
    assert.equal(reports.length, loops ? 0 : 1);
    if (!loops) {
      assert.equal(reports[0]?.subject, '127.0.0.2');
      assert.equal(reports[0].detail?.['approach'], 'withdraw');
      assert.equal(typeof reports[0].detail['bytes'], 'string');
    }
  });
}

test('reports of one peer are bounded; what is left out is counted in the next', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const peer = await lab.session(2);
  const bad = update('', attributes(64502).replace('40010100', '40010107'), '18c63364');
  peer.send(...Array.from({ length: 500 }, () => bad));
  await until(async () => ((await lab.reactor.snapshot())[0]?.counters.updatesReceived ?? 0) === 500, 'all are read');
  assert.equal(lab.sink.reports.filter((report) => report.code === 'update-malformed').length, 10);
  peer.send(update('', '40010107', ''));
  await peer.notified();
  const last = lab.sink.reports.filter((report) => report.code === 'update-malformed').at(-1);
  assert.equal(last?.detail?.['suppressed'], 490);
});

test('H31 a message of 65535 octets is read once extended messages are negotiated, and only then', async () => {
  await using lab = await Lab.of([peerSettings(2, { extendedMessage: 'enable' })]);
  const seen = recorder(lab);
  const peer = await lab.session(2, [...PLAIN, { kind: 'extended-message' }]);
  const size = 65_535 - 23;
  peer.send(update('20'.padEnd(10, '0').repeat(Math.floor(size / 5)) + '00'.repeat(size % 5), '', ''));
  await until(() => seen.length === 1, 'it is seen');
  assert.equal(seen[0]?.length, 1 + 2 * size);
});

test('a first AS that is not the peer is a fault only where the settings say so', async () => {
  for (const enforceFirstAs of [false, true]) {
    await using lab = await Lab.of([peerSettings(2, { enforceFirstAs })]);
    const seen = recorder(lab);
    const peer = await lab.session(2);
    peer.send(update('', attributes(65001), '18c63364'));
    await until(() => seen.length === 1, 'it is seen');
    assert.equal(seen[0], enforceFirstAs ? '-18c63364' : '+18c63364');
  }
});
