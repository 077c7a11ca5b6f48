// The boundary between the threads: rows come through the ring as they went in, commands are answered, a full ring loses nothing silently.
import assert from 'node:assert/strict';
import * as net from 'node:net';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { RingSink, RingSource } from '../../../engine/bgp/events/event-ring.ts';
import { emptyRow } from '../../../engine/bgp/events/events.ts';
import type { EventRow } from '../../../engine/bgp/port.ts';
import { reactorBoot } from '../../../engine/bgp/reactor-boot.ts';
import { RemoteReactor, serveReactor } from '../../../engine/bgp/remote.ts';
import { ManualClock, systemClock } from '../../../engine/core/clock.ts';
import { RingReader, RingWriter, ringMemory } from '../../../engine/core/ring.ts';
import { UPDATE } from './frames.ts';
import { RecordingSink, Speaker, attributes, peerSettings, reactorSettings, toHex, until, update } from './lab.ts';

function ring(needsEveryRow: boolean): {
  sink: RingSink;
  source: RingSource;
  seen: RecordingSink;
  held: boolean[];
  wakes: () => number;
} {
  const memory = ringMemory(65_536);
  const seen = new RecordingSink();
  const held: boolean[] = [];
  let wakes = 0;
  const sink = new RingSink(new RingWriter(memory), {
    wake: () => wakes++,
    report: () => undefined,
    log: () => undefined,
    question: () => Promise.resolve({ kind: 'accept' }),
    needsEveryRow: () => needsEveryRow,
    hold: (on) => held.push(on),
  });
  return { sink, source: new RingSource(new RingReader(memory), seen), seen, held, wakes: () => wakes };
}

function row(messageId: number, more: Partial<EventRow> = {}): EventRow {
  return { ...emptyRow(), kind: 'update', direction: 'received', peer: 3, messageId, at: 1e12, ...more };
}

test('every field of a row survives the ring', () => {
  const { sink, source, seen } = ring(false);
  const rows = [
    row(7, { bytes: Uint8Array.of(9, 1, 2, 3, 9), bytesAt: 1, bytesLength: 3, asn4: false, addPath: [257, 513] }),
    row(0, { kind: 'state', direction: 'unspecified', state: 'down', reason: 'tcp-failure é' }),
    row(0, { kind: 'state', direction: 'unspecified', state: 'up' }),
    row(0, { kind: 'state', direction: 'unspecified', state: 'up', initialReplay: 4_000_000_000 }),
    row(0, { kind: 'eor', family: 513 }),
    row(2 ** 52 + 1, { kind: 'keepalive', direction: 'sent' }),
  ];
  for (const one of rows) sink.event(one);
  assert.deepEqual([source.drain(100), source.room, source.rest()], [rows.length, false, true]);
  assert.deepEqual(
    seen.rows.map((one) => ({ ...one, bytesAt: 0, bytes: [...one.bytes] })),
    rows.map(({ bytesAt, bytesLength, bytes, ...facts }) => ({
      ...facts,
      bytesLength,
      bytesAt: 0,
      bytes: [...bytes.subarray(bytesAt, bytesAt + bytesLength)],
    })),
  );
});

test('the list of peers keeps its place among the rows', () => {
  const { sink, source, seen } = ring(false);
  sink.event(row(1));
  sink.peers([{ index: 3, name: 'a', group: '', remoteAddress: '::1', remoteAs: 1, localAddress: '::2', localAs: 2 }]);
  source.drain(1);
  assert.equal(seen.identities.length, 0);
  source.drain(1);
  assert.equal(seen.identities[0]?.name, 'a');
});

for (const needed of [false, true]) {
  test(`a full ring ${needed ? 'holds the peers and loses nothing' : 'leaves one gap that says how much was lost'}`, () => {
    const { sink, source, seen, held } = ring(needed);
    const bytes = new Uint8Array(1000);
    for (let id = 1; id <= 200; id++) sink.event(row(id, { bytes, bytesLength: 1000 }));
    assert.equal(held.includes(true), needed);
    for (let turn = 0; turn < 20; turn++) {
      source.drain(20);
      if (source.room) sink.roomAgain();
      source.room = false;
    }
    sink.event(row(201));
    source.drain(100);
    const updates = seen.rows.filter((one) => one.kind === 'update').map((one) => one.messageId);
    const lost = seen.rows.filter((one) => one.kind === 'none').map((one) => one.lost);
    assert.equal(updates.at(-1), 201);
    assert.equal(updates.length + lost.reduce((sum, n) => sum + n, 0), 201);
    assert.deepEqual(
      updates,
      [...updates].sort((a, b) => a - b),
    );
    assert.equal(lost.length, needed ? 0 : 1);
    if (needed) assert.equal(held.at(-1), false);
  });
}

test('commands cross and are answered; an unknown one is refused, not thrown', async () => {
  const { port1, port2 } = new MessageChannel();
  const boot = reactorBoot(300, 65_536);
  const sink = new RecordingSink();
  const reactor = serveReactor({ boot, port: port1, clock: systemClock, random: () => 1 });
  const remote = new RemoteReactor(port2, boot, sink);
  await remote.ready;
  const applied = await remote.apply(reactorSettings([peerSettings(2)]));
  assert.deepEqual(applied, { added: ['p2'], removed: [], changed: [], unchanged: [], faults: [] });
  await remote.start();
  const [snapshot] = await remote.snapshot();
  assert.equal(snapshot?.state, 'active');
  assert.equal(await remote.teardown(99, 2, ''), 'no such peer');
  assert.equal((await remote.statistics())['peers'], 1);
  assert(reactor.listenPort('127.0.0.1', 0) > 0);
  await remote.stop('');
  assert.equal(sink.identities[0]?.remoteAddress, '127.0.0.2');
  remote.lost('the reactor thread is gone');
  await assert.rejects(remote.snapshot(), /gone/);
  port1.close();
});

test('questions of the far end are answered by the near one: filters in both directions, OPENs, tokens of sessions', async () => {
  const { port1, port2 } = new MessageChannel();
  const boot = reactorBoot(0, 65_536);
  const sink = new RecordingSink();
  const reactor = serveReactor({ boot, port: port1, clock: systemClock, random: () => 1 });
  const remote = new RemoteReactor(port2, boot, sink);
  sink.reply = (question) => {
    if (question.kind === 'open') return { kind: 'accept' };
    // The last octet of the prefix says what was answered.
    const body = Uint8Array.from(question.body);
    body[body.length - 1] = question.direction === 'import' ? 77 : 99;
    return { kind: 'replace', body };
  };
  const processes = [{ process: 'rib', send: ['update'], receive: ['state'] }];
  await remote.apply(
    reactorSettings([
      peerSettings(2, { importFilters: ['p:in'] }),
      peerSettings(3, { exportFilters: ['p:out'], nextHop: 'unchanged', processes }),
    ]),
  );
  remote.validateOpen(true);
  remote.awaitReady(['rib']);
  remote.interest(1 << 6, 1 << 6);
  await remote.start();
  reactor.routes.onUpdate((peer, _id, view) => reactor.routes.forward(view, peer));
  const [source, destination] = await Promise.all(
    [2, 3].map(async (host) => {
      const socket = net.connect({
        port: reactor.listenPort('127.0.0.1', 0),
        host: '127.0.0.1',
        localAddress: `127.0.0.${host}`,
      });
      const speaker = new Speaker(socket, host);
      await speaker.establish();
      return speaker;
    }),
  );
  await until(async () => (await remote.statistics())['established'] === 2, 'both are up');
  source?.send(update('', attributes(64502), '180a0001'));
  const heard = toHex((await destination?.hears(UPDATE)) ?? new Uint8Array(0));
  assert.match(heard, /180a0063$/);
  assert.deepEqual(sink.asked.map((question) => question.kind).sort(), ['filter', 'filter', 'open', 'open']);
  const up = await until(() => sink.rows.find((row) => row.kind === 'state' && row.initialReplay > 0), 'the token came over');
  assert.match((await remote.sessionReady(up.peer, 'rib', '0')) ?? '', /no session/);
  assert.equal(await remote.sessionReady(up.peer, 'rib', String(up.initialReplay)), undefined);
  assert.equal(toHex((await destination?.hears(UPDATE)) ?? new Uint8Array(0)), '00000000');
  source?.destroy();
  destination?.destroy();
  await remote.stop('');
  port1.close();
});

const WAITS: readonly (readonly [what: string, rows: number, then: 'wanted' | 'old' | 'nothing', handed: boolean])[] = [
  ['rows wait while those who take them have enough', 10, 'nothing', false],
  ['rows that waited are handed on when they are wanted', 10, 'wanted', true],
  ['a row waits a tenth of a second at most', 10, 'old', true],
  ['rows do not wait when half of the ring is full', 1000, 'nothing', true],
];
for (const [what, rows, then, handed] of WAITS) {
  test(what, async () => {
    const clock = new ManualClock();
    const sink = Object.assign(new RecordingSink(), { ample: (): boolean => true });
    const boot = reactorBoot(0, 65_536);
    let hear: (word: unknown) => void = () => undefined;
    const port = { postMessage: () => undefined, on: (_: string, listener: (word: unknown) => void) => (hear = listener) };
    const remote = new RemoteReactor(port, boot, sink, clock);
    const far = new RingSink(new RingWriter(boot.ring), {
      wake: () => hear({ kind: 'wake' }),
      report: () => undefined,
      log: () => undefined,
      question: () => Promise.resolve({ kind: 'accept' }),
      needsEveryRow: () => false,
      hold: () => undefined,
    });
    for (let id = 1; id <= rows; id++) far.event({ ...emptyRow(), kind: 'update', messageId: id, at: clock.wall() + 1 });
    hear({ kind: 'wake' });
    clock.advance(then === 'old' ? 60 : 30);
    await new Promise((resolve) => setImmediate(resolve));
    if (then !== 'nothing') assert.equal(sink.rows.length, 0);
    if (then === 'old') clock.advance(60);
    if (then === 'wanted') {
      sink.ample = () => false;
      remote.goOn();
    }
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(sink.rows.length > 0, handed);
    if (handed && then !== 'nothing') assert.equal(sink.rows.length, rows);
  });
}
