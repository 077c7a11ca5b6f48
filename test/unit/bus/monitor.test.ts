import assert from 'node:assert/strict';
import test from 'node:test';
import { Monitor } from '../../../engine/bus/monitor.ts';
import { PeerSelector } from '../../../engine/codec/peer-selector.ts';
import { bench, row, updateRow } from './fixture.ts';

async function take(monitor: AsyncIterable<string>, count: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of monitor) if (lines.push(line) === count) break;
  return lines;
}

const types = (lines: readonly string[]): string[] =>
  lines.map((line) => {
    const event = JSON.parse(line) as { bgp?: { message: { type: string } }; event?: string; gap?: unknown };
    return event.bgp?.message.type ?? event.event ?? 'gap';
  });

const CASES = [
  { name: 'everything', filter: {}, got: ['update', 'sent', 'state', 'keepalive', 'rpki'] },
  { name: 'include', filter: { include: ['update', 'bgp/rpki'] }, got: ['update', 'sent', 'rpki'] },
  { name: 'exclude', filter: { exclude: ['keepalive', 'update'] }, got: ['state', 'rpki'] },
  { name: 'direction sent', filter: { direction: 'sent' as const }, got: ['sent', 'state', 'rpki'] },
  { name: 'a peer', filter: { peer: 'edge-1' }, got: ['keepalive'] },
];
for (const { name, filter, got } of CASES) {
  test(`a tap sees what its filter wants: ${name}`, async () => {
    const { bus } = bench();
    const { peer, ...rest } = { peer: '*', ...filter };
    const selector = PeerSelector.parse(peer);
    assert.ok(selector.ok);
    const monitor = bus.monitor({ ...rest, peers: selector.value });
    bus.event(updateRow(1));
    bus.event(updateRow(2, { direction: 'sent' }));
    bus.event(row({ kind: 'state', direction: 'unspecified', state: 'up' }));
    bus.event(row({ peer: 1 }));
    bus.emit({ namespace: 'bgp', type: 'rpki', text: 'two\nlines' }, 'x');
    assert.deepEqual(types(await take(monitor, got.length)), got);
    assert.equal(bus.statistics()['monitors'], 0, 'leaving the loop closes the tap');
  });
}

test('whatever an emitter writes is one line without control characters', async () => {
  const { bus } = bench();
  const monitor = bus.monitor();
  const texts = ['{"a":\n\r1}', 'x\n\u001b[2Jy', '{"a":"\u009b\u2028"}', '{bad', ''];
  for (const text of texts) bus.emit({ namespace: 'bgp', type: 'rpki', text }, 'x');
  const lines = await take(monitor, texts.length);
  for (const line of lines) assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { payload: unknown }).payload),
    [{ a: 1 }, 'x\n\u001b[2Jy', { a: '\u009b\u2028' }, '{bad', ''],
  );
});

test('a reader that is behind loses lines, reads a gap in their place, and memory is bounded', async () => {
  const selector = PeerSelector.parse('*');
  assert.ok(selector.ok);
  const filter = {
    peers: selector.value,
    include: [],
    exclude: [],
    direction: undefined,
    format: 'parsed',
    encoding: 'json',
  } as const;
  const monitor = new Monitor(filter, () => undefined, { events: 3, bytes: 1000 });
  for (let i = 1; i <= 10; i++) monitor.push('{"n":1', 1);
  const lines = await take(monitor, 4);
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { gap?: unknown; meta?: { seq: number } }).gap ?? 'event'),
    ['event', 'event', 'event', { dropped: 7, first: 4, last: 10 }],
  );
  assert.equal(monitor.dropped, 7);
});

test('closing ends a waiting reader', async () => {
  const { bus } = bench();
  const monitor = bus.monitor();
  const ended = take(monitor, 1);
  await Promise.resolve();
  monitor.close();
  assert.deepEqual(await ended, []);
});

test('rows lost on the way wake a waiting reader with a gap', async () => {
  const { bus } = bench();
  const monitor = bus.monitor();
  const read = take(monitor, 1);
  await Promise.resolve();
  bus.event(row({ kind: 'none', lost: 4 }));
  assert.deepEqual(await read, ['{"type":"gap","gap":{"dropped":4,"first":1,"last":4}}']);
});
