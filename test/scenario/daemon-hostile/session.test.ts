// Headers, OPENs and messages out of place over real connections (hostile inputs H01 to H16): what the daemon answers, and that nobody
// else notices.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { HEADER_LENGTH, KEEPALIVE, keepalive, NOTIFICATION, OPEN, ROUTE_REFRESH, UPDATE } from '../../../sdk/wire/message.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { eventually } from '../../support/zest-process.ts';
import { hex, MANDATORY, message, open, PREFIX, u16, update } from '../../wire/build.ts';
import { OPENS, WRONG_LENGTHS } from '../../wire/hostile-open-rows.ts';
import { addressOf, HostileStage, type Neighbour } from './stage.ts';

type Stage = 'connected' | 'open-confirm' | 'established';

interface SessionRow {
  readonly name: string;
  /** How far the session has come when the bytes are sent. */
  readonly in: Stage;
  readonly bytes: Uint8Array;
  /** `code/subcode data`; `up`: the session is, or comes, up; `silent`: closed without a word. */
  readonly want: string;
  readonly ibgp?: boolean;
  readonly extended?: boolean;
}

const header = (length: number, type: number, marker = 'ff'.repeat(16)): string =>
  `${marker}${u16(length)}${type.toString(16).padStart(2, '0')}`;
const BAD_MARKER = `${'ff'.repeat(15)}fe`;

const HEADERS: readonly SessionRow[] = [
  {
    name: 'H01 RFC 4271 §6.1 a marker that is not all ones, first thing',
    in: 'connected',
    bytes: hex(header(19, 4, BAD_MARKER)),
    want: '1/1',
  },
  {
    name: 'H01 RFC 4271 §6.1 a marker that is not all ones',
    in: 'established',
    bytes: hex(header(19, 4, BAD_MARKER)),
    want: '1/1',
  },
  { name: 'H01 rubbish', in: 'connected', bytes: new TextEncoder().encode('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), want: '1/1' },
  { name: 'H02 a length of 18', in: 'established', bytes: hex(header(18, 4)), want: '1/2 0012' },
  { name: 'H02 a length of 0', in: 'connected', bytes: hex(header(0, 1)), want: '1/2 0000' },
  { name: 'H02 a length of 4097', in: 'established', bytes: hex(header(4097, 2)), want: '1/2 1001' },
  { name: 'H02 an OPEN of 28', in: 'connected', bytes: hex(header(28, 1)), want: '1/2 001c' },
  { name: 'H02 an UPDATE of 22', in: 'established', bytes: hex(header(22, 2)), want: '1/2 0016' },
  { name: 'H02 a KEEPALIVE of 20', in: 'established', bytes: hex(`${header(20, 4)}00`), want: '1/2 0014' },
  {
    name: 'H02 a wrong length and an unknown type: the length is judged first',
    in: 'established',
    bytes: hex(header(65535, 9)),
    want: '1/2 ffff',
  },
  {
    name: 'H03 RFC 8654 §4 a KEEPALIVE of 5000 with extended messages',
    in: 'established',
    bytes: hex(header(5000, 4)),
    want: '1/2 1388',
    extended: true,
  },
  {
    name: 'H03 RFC 8654 §4 an OPEN of 5000 with extended messages',
    in: 'established',
    bytes: hex(header(5000, 1)),
    want: '1/2 1388',
    extended: true,
  },
  ...[0, 6, 128, 255].map(
    (type): SessionRow => ({
      name: `H04 message type ${type}`,
      in: 'established',
      bytes: hex(header(19, type)),
      want: `1/3 ${type.toString(16).padStart(2, '0')}`,
    }),
  ),
  { name: 'H05 RFC 4271 §6.4 a NOTIFICATION of 20', in: 'established', bytes: hex(`${header(20, 3)}06`), want: 'silent' },
  {
    name: 'H05 RFC 4271 §6.4 a NOTIFICATION of 20, first thing',
    in: 'connected',
    bytes: hex(`${header(20, 3)}06`),
    want: 'silent',
  },
  {
    name: 'H05 RFC 9003 4 KiB of a shutdown text that is no UTF-8',
    in: 'established',
    bytes: message(NOTIFICATION, `0602ff${'80c1fe'.repeat(1340)}`),
    want: 'silent',
  },
  {
    name: 'H05 RFC 9003 a shutdown text of control characters',
    in: 'established',
    bytes: message(NOTIFICATION, '060210' + Buffer.from('\u001b[2J\nforged line\0').toString('hex').slice(0, 32)),
    want: 'silent',
  },
];

const fixed = (change: { version?: number; as?: number; hold?: number; id?: string }): string =>
  [
    (change.version ?? 4).toString(16).padStart(2, '0'),
    u16(change.as ?? 64512),
    u16(change.hold ?? 90),
    change.id ?? 'c000024d',
  ].join('');

const OPEN_ROWS: readonly SessionRow[] = [
  ...OPENS.map(
    ({ name, bytes, want }): SessionRow => ({ name, in: 'connected', bytes, want: want.includes('/') ? want.trim() : 'up' }),
  ),
  { name: 'H06 RFC 7607 §2 AS 0', in: 'connected', bytes: open('00', fixed({ as: 0 })), want: '2/2' },
  { name: 'H06 RFC 7607 §2 AS 0 in the capability', in: 'connected', bytes: open('080206410400000000'), want: '2/2' },
  { name: 'H06 RFC 4271 §6.2 another AS', in: 'connected', bytes: open('00', fixed({ as: 64513 })), want: '2/2' },
  { name: 'H06 RFC 4271 §6.2 identifier 0', in: 'connected', bytes: open('00', fixed({ id: '00000000' })), want: '2/3' },
  {
    name: 'H06 RFC 6286 §2.1 our identifier inside our AS',
    in: 'connected',
    bytes: open('00', fixed({ as: 64500, id: '0a000001' })),
    want: '2/3',
    ibgp: true,
  },
  ...[1, 2].map(
    (hold): SessionRow => ({
      name: `H06 RFC 4271 §6.2 hold time ${hold}`,
      in: 'connected',
      bytes: open('00', fixed({ hold })),
      want: '2/6',
    }),
  ),
  ...WRONG_LENGTHS.map(([code, value]): SessionRow => {
    const capability = `${code.toString(16).padStart(2, '0')}${(value.length / 2).toString(16).padStart(2, '0')}${value}`;
    const length = capability.length / 2;
    return {
      name: `H08 RFC 5492 capability ${code} of ${value.length / 2} octets`,
      in: 'connected',
      bytes: open(`${(length + 2).toString(16).padStart(2, '0')}02${length.toString(16).padStart(2, '0')}${capability}`),
      want: 'up',
    };
  }),
  {
    name: 'H09 the same capability three times',
    in: 'connected',
    bytes: open('14021241040000fc0041040000fc0041040000fc00'),
    want: 'up',
  },
];

const EVIL_TEXT = Buffer.from('a"b\n\u001b[31mforged\0', 'latin1').toString('hex') + 'fffe';
const evil = (code: string, inner: (length: string) => string): Uint8Array => {
  const text = inner((EVIL_TEXT.length / 2).toString(16).padStart(2, '0')) + EVIL_TEXT;
  const value = code === '49' ? `${text}00` : text;
  const capability = `${code}${(value.length / 2).toString(16).padStart(2, '0')}${value}`;
  const length = capability.length / 2;
  return open(`${(length + 2).toString(16).padStart(2, '0')}02${length.toString(16).padStart(2, '0')}${capability}`);
};
const TEXT_ROWS: readonly SessionRow[] = [
  { name: 'H10 a host name that would forge a line', in: 'connected', bytes: evil('49', (length) => length), want: 'up' },
  { name: 'H10 a software version that would forge a line', in: 'connected', bytes: evil('4b', (length) => length), want: 'up' },
];

const GOOD_OPEN = open('080206 41040000fc00'.replace(' ', ''));
const ANNOUNCE = update({ attributes: MANDATORY, nlri: PREFIX });
const REFRESH = message(ROUTE_REFRESH, '00010001');
const STATES: readonly SessionRow[] = [
  { name: 'H11 RFC 6608 UPDATE before OPEN', in: 'connected', bytes: ANNOUNCE, want: '5/1 02' },
  { name: 'H11 RFC 6608 KEEPALIVE before OPEN', in: 'connected', bytes: keepalive(), want: '5/1 04' },
  { name: 'H11 RFC 6608 ROUTE-REFRESH before OPEN', in: 'connected', bytes: REFRESH, want: '5/1 05' },
  { name: 'H11 RFC 6608 UPDATE before KEEPALIVE', in: 'open-confirm', bytes: ANNOUNCE, want: '5/2 02' },
  { name: 'H11 RFC 6608 ROUTE-REFRESH before KEEPALIVE', in: 'open-confirm', bytes: REFRESH, want: '5/2 05' },
  { name: 'H11 RFC 6608 a second OPEN', in: 'open-confirm', bytes: GOOD_OPEN, want: '5/2 01' },
  { name: 'H11 RFC 6608 a second OPEN when established', in: 'established', bytes: GOOD_OPEN, want: '5/3 01' },
  ...['000100', '0001000100', '', '000100010180000001'].map(
    (body): SessionRow => ({
      name: `H16 RFC 7313 §5 ROUTE-REFRESH of ${body.length / 2} octets`,
      in: 'established',
      bytes: message(ROUTE_REFRESH, body),
      want: `7/1 ${header(HEADER_LENGTH + body.length / 2, 5)}${body}`,
    }),
  ),
  {
    name: 'H16 RFC 2918 ROUTE-REFRESH of an unknown family',
    in: 'established',
    bytes: message(ROUTE_REFRESH, '270f00ff'),
    want: 'up',
  },
  {
    name: 'H16 RFC 7313 §5 ROUTE-REFRESH of subtype 255',
    in: 'established',
    bytes: message(ROUTE_REFRESH, '0001ff01'),
    want: 'up',
  },
];

const ROWS = [...HEADERS, ...OPEN_ROWS, ...TEXT_ROWS, ...STATES];
const AT_A_TIME = 48;
/** Neighbours for the tests that are no rows, behind those of the rows. */
const COLLIDING = ROWS.length;
const SILENT = ROWS.length + 1;
const SLOW = ROWS.length + 2;
const HASTY = ROWS.length + 3;
const ABRUPT = ROWS.length + 4;
const OPEN_WAIT_SECONDS = 5;

function neighbour(row: SessionRow | undefined): Neighbour {
  return {
    as: row?.ibgp === true ? 64500 : 64512,
    session: `family { ipv4/unicast { prefix { maximum 1000; } } } capability { route-refresh; ${row?.extended === true ? 'extended-message;' : ''} }`,
  };
}

describe('malformed headers and OPENs', { timeout: 600_000 }, () => {
  let stage: HostileStage;
  before(async () => {
    const neighbours = [...ROWS.map(neighbour), ...Array.from({ length: 5 }, () => neighbour(undefined))];
    stage = await HostileStage.start(neighbours, `bgp { openwait ${OPEN_WAIT_SECONDS}; }`);
  });
  after(async () => {
    await stage.stop();
  });

  const dial = (index: number): Promise<RawSpeaker> => RawSpeaker.connect({ port: stage.port, local: addressOf(index) });
  const establish = (index: number, more: Partial<Parameters<typeof RawSpeaker.establish>[0]> = {}): Promise<RawSpeaker> =>
    RawSpeaker.establish({ port: stage.port, local: addressOf(index), ...more });

  async function reach(row: SessionRow, index: number): Promise<RawSpeaker> {
    if (row.in === 'established') {
      return row.extended === true
        ? establish(index, { capabilities: [{ kind: 'asn4', asn: 64512 }, { kind: 'extended-message' }] })
        : establish(index);
    }
    const speaker = await dial(index);
    await speaker.arrives(OPEN);
    if (row.in === 'connected') return speaker;
    speaker.send(speaker.open());
    await speaker.arrives(KEEPALIVE);
    return speaker;
  }

  for (let from = 0; from < ROWS.length; from += AT_A_TIME) {
    const rows = ROWS.slice(from, from + AT_A_TIME);
    test(`rows ${from + 1} to ${from + rows.length}`, async (t) => {
      const speakers = await Promise.all(rows.map((row, i) => reach(row, from + i)));
      await Promise.all(
        rows.map(async (row, i) => {
          const speaker = speakers[i]!;
          speaker.send(row.bytes);
          if (row.want !== 'up') await speaker.end().catch(() => undefined);
          else if (row.in === 'connected') await speaker.arrives(KEEPALIVE).catch(() => undefined);
          else {
            speaker.send(ANNOUNCE);
            await eventually(
              'the message after it is read',
              async () => (await stage.routes()).some((route) => route.peer === addressOf(from + i)) || undefined,
            );
          }
        }),
      );
      await stage.gatherReports();
      for (const [i, row] of rows.entries()) {
        await t.test(row.name, () => judge(stage, row, addressOf(from + i), speakers[i]!));
      }
      await t.test('the daemon, the other session and the plugin are unharmed', () => stage.isUnharmed());
      await Promise.all(speakers.map((speaker) => speaker.close()));
    });
  }

  test('H10 what peers name themselves is escaped wherever it is printed', async () => {
    const index = ROWS.indexOf(TEXT_ROWS[1]!);
    const speaker = await dial(index);
    speaker.send(TEXT_ROWS[1]!.bytes);
    await speaker.arrives(OPEN);
    await speaker.arrives(KEEPALIVE);
    speaker.send(keepalive());
    for (const words of [
      ['peer', `h${index}`, 'capabilities'],
      ['peer', `h${index}`, 'detail'],
      ['show', 'errors'],
      ['show', 'log', 'recent'],
    ]) {
      for (const format of ['json', 'yaml', 'table', 'text']) {
        const { stdout, stderr } = await stage.zest.cli(...words, '--format', format);

        assert.doesNotMatch(stdout + stderr, /[\u0000-\u0009\u000b-\u001f\u007f]/, `${words.join(' ')} as ${format}`);
      }
    }

    assert.doesNotMatch(stage.zest.output, /[\u0000-\u0009\u000b-\u001f\u007f]|^forged/m);
    await speaker.close();
  });

  test('H12 RFC 4271 §6.8 of two connections the established one stays', async () => {
    const first = await establish(COLLIDING);
    const second = await dial(COLLIDING);
    second.send(second.open());
    await second.end();
    assert.equal(second.notification?.split(' ')[0], '6/7');
    assert.ok(first.established);
    await first.close();
  });

  test('H12 a connection from an address nobody configured is closed unread', async () => {
    const stranger = await RawSpeaker.connect({ port: stage.port, local: '127.0.250.1' }).catch(() => undefined);
    stranger?.send(GOOD_OPEN);
    await stranger?.end();
    assert.equal(stranger?.messages.length ?? 0, 0);
    await eventually('it is reported', async () => {
      await stage.gatherReports();
      return stage.codes('127.0.250.1').includes('connection-refused') || undefined;
    });
  });

  test('H12 a silent connection is closed when the OPEN does not come in time', async () => {
    const silent = await dial(SILENT);
    await silent.end();
    assert.equal(silent.notification, '4/0');
    await silent.close();
  });

  test('H12 a thousand connections from one neighbour', async () => {
    const before = openFiles(stage);
    for (let round = 0; round < 10; round++) {
      const many = await Promise.all(Array.from({ length: 100 }, () => dial(HASTY).catch(() => undefined)));
      assert.ok(openFiles(stage) < before + 250, 'sockets are bounded');
      for (const one of many) one?.reset();
    }
    await eventually('no socket is left', () => (openFiles(stage) <= before + 1 ? true : undefined));
    await stage.isUnharmed();
  });

  test('H14 one octet at a time is no sign of life', async () => {
    const slow = await establish(SLOW, { holdSeconds: 3 });
    slow.quiet();
    const bytes = ANNOUNCE;
    for (let i = 0; slow.ended === undefined && i < bytes.length - 1; i++) {
      slow.send(bytes.subarray(i, i + 1));
      await wait(250);
    }
    assert.equal(slow.notification, '4/0');
    await slow.close();
  });

  test('H15 FIN and RST in every state, again and again', async () => {
    const before = openFiles(stage);
    for (let i = 0; i < 40; i++) {
      for (const how of ['connected', 'opened', 'established'] as const) {
        const speaker = await dial(ABRUPT).catch(() => undefined);
        if (speaker === undefined) continue;
        if (how !== 'connected') speaker.send(speaker.open());
        if (how === 'established' && i % 4 === 0) {
          await speaker.arrives(KEEPALIVE).catch(() => undefined);
          speaker.send(keepalive());
          speaker.send(ANNOUNCE);
        }
        if (i % 2 === 0) speaker.reset();
        else await speaker.close();
      }
    }
    await eventually('no socket and no route is left', async () => {
      const routes = await stage.routes();
      return (openFiles(stage) <= before + 1 && !routes.some((route) => route.peer === addressOf(ABRUPT))) || undefined;
    });
    await eventually('the neighbour can come back', async () => {
      const speaker = await establish(ABRUPT);
      await speaker.close();
      return true;
    });
    await stage.isUnharmed();
  });
});

function openFiles(stage: HostileStage): number {
  return readdirSync(`/proc/${stage.zest.child.pid ?? 0}/fd`).length;
}

function judge(stage: HostileStage, row: SessionRow, address: string, speaker: RawSpeaker): void {
  if (row.want === 'up') {
    assert.equal(speaker.notification, undefined);
    assert.ok(speaker.established);
    return;
  }
  assert.equal(speaker.notification, row.want === 'silent' ? undefined : row.want);
  assert.ok(speaker.ended !== undefined, 'the connection is closed');
  assert.equal(speaker.count(UPDATE) > 0 && row.in !== 'established', false);
  const code = row.want === 'silent' ? 'notification-received' : 'notification-sent';
  assert.ok(stage.codes(address).includes(code), `${code} in ${stage.codes(address).join(', ')}`);
  assert.ok(stage.logged(`subject=${address} `), 'it is logged');
}
