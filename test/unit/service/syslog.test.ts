// Syslog: how a destination is read, how a record becomes a message, what arrives, and what a dead collector costs.
import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import test from 'node:test';
import { RootLog, type LogSink } from '../../../engine/core/root-log.ts';
import { syslogMessage, SyslogSink, syslogTarget } from '../../../engine/service/syslog.ts';
import { eventually } from '../../support/zest-process.ts';

for (const [text, target] of [
  ['', { kind: 'local', socket: '/dev/log' }],
  ['/run/log.sock', { kind: 'local', socket: '/run/log.sock' }],
  ['192.0.2.1:1514', { kind: 'udp', host: '192.0.2.1', port: 1514 }],
  ['logs.example', { kind: 'udp', host: 'logs.example', port: 514 }],
  ['[2001:db8::1]:99', { kind: 'udp', host: '2001:db8::1', port: 99 }],
  ['2001:db8::1', { kind: 'udp', host: '2001:db8::1', port: 514 }],
] as const)
  test(`destination "${text}"`, () => assert.deepEqual(syslogTarget(text), target));

for (const text of ['host:0', 'host:65536', 'host:', 'a b:1', ':514', 'host:port'])
  test(`destination "${text}" is refused`, () => assert.throws(() => syslogTarget(text), /neither host:port nor the path/));

for (const [level, priority] of [
  ['error', 27],
  ['warn', 28],
  ['info', 30],
  ['debug', 31],
  ['trace', 31],
] as const)
  test(`RFC 5424 §6.2.1 level ${level} is priority ${priority} of facility daemon`, () =>
    assert.equal(
      syslogMessage({ level, time: '2026-11-30T17:40:00.000Z' }, 'bgp.session  up', 'host', 42),
      `<${priority}>1 2026-11-30T17:40:00.000Z host zest 42 - - bgp.session  up`,
    ));

test('a message has 2048 octets at most, cut between characters', () => {
  const at = (characters: number): string => syslogMessage({ level: 'info', time: 't' }, 'é'.repeat(characters), 'h', 1);
  const fits = (2048 - Buffer.byteLength(at(0))) >> 1;
  assert.ok(!at(fits).endsWith('…'));
  const cut = at(fits + 1);
  assert.ok(cut.endsWith('é…') && Buffer.byteLength(cut) <= 2048, `${Buffer.byteLength(cut)} ${cut.slice(-3)}`);
});

function collector(): Promise<{ socket: Socket; port: number; lines: string[] }> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const lines: string[] = [];
    socket.on('message', (message) => lines.push(message.toString()));
    socket.bind(0, '127.0.0.1', () => resolve({ socket, port: socket.address().port, lines }));
  });
}

function recorder(): LogSink & { readonly lines: string[] } {
  const lines: string[] = [];
  return {
    lines,
    dropped: 0,
    write: (line) => lines.push(line),
    flush: () => undefined,
    reopen: () => undefined,
    close: () => Promise.resolve(),
  };
}

test('a record arrives as one datagram, whatever stands in it; what a neighbour chose cannot begin another', async () => {
  const { socket, port, lines } = await collector();
  const sink = new SyslogSink({ kind: 'udp', host: '127.0.0.1', port }, 'text', recorder());
  new RootLog({ level: 'info', subsystems: {} }, sink)
    .log('bgp.session')
    .warn({ reason: 'x\n<0>1 - - forged' }, 'session closed');
  await eventually('the datagram', () => (lines.length > 0 ? true : undefined));
  assert.match(lines[0] ?? '', /^<28>1 \S+Z \S+ zest \d+ - - bgp\.session {2}session closed {2}reason="x\\n<0>1 - - forged"$/);
  await sink.close();
  socket.close();
});

test('a collector that is gone is told of once on stderr and counted; when it is back, lines arrive again', async (t) => {
  const first = await collector();
  const stderr = recorder();
  const sink = new SyslogSink({ kind: 'udp', host: '127.0.0.1', port: first.port }, 'text', stderr);
  const record = (msg: string): string => `${JSON.stringify({ level: 'info', time: 't', subsystem: 's', msg })}\n`;
  await new Promise<void>((resolve) => first.socket.close(() => resolve()));
  await eventually('the refusal is noticed', () => {
    sink.write(record('lost'));
    return sink.dropped > 1 ? true : undefined;
  });
  assert.equal(stderr.lines.filter((line) => line.includes('syslog takes no lines')).length, 1);
  const again = createSocket('udp4');
  t.after(async () => {
    await sink.close();
    again.close();
  });
  let arrived = 0;
  again.on('message', () => arrived++);
  await new Promise<void>((resolve) => again.bind(first.port, '127.0.0.1', () => resolve()));
  await eventually('lines arrive', () => {
    sink.write(record('again'));
    return arrived > 0 ? true : undefined;
  });
  await eventually('and it is said', () => {
    sink.write(record('again'));
    return stderr.lines.some((line) => line.includes('takes lines again')) ? true : undefined;
  });
});
