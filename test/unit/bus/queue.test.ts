import assert from 'node:assert/strict';
import test from 'node:test';
import { RingSink, RingSource } from '../../../engine/bgp/events/event-ring.ts';
import { RING_BYTES } from '../../../engine/bgp/reactor-boot.ts';
import type { StructuredBatch } from '../../../sdk/plugin/structured.ts';
import type { ProcessFailure, ProcessOptions } from '../../../engine/bus/process.ts';
import type { OverflowPolicy } from '../../../engine/bus/queue.ts';
import { RingReader, ringMemory, RingWriter } from '../../../engine/core/ring.ts';
import { bench, BytesSink, peer, row, TextSink, updateRow } from './fixture.ts';

type Json = Record<string, unknown>;

const MUTE: ConstructorParameters<typeof RingSink>[1] = {
  wake: () => undefined,
  report: () => undefined,
  log: () => undefined,
  question: () => Promise.resolve({ kind: 'accept' }),
  needsEveryRow: () => false,
  hold: () => undefined,
};
const LIMIT = 64 * 1024;

function options(name: string, sink: Pick<ProcessOptions, 'transport'>, more: Partial<ProcessOptions> = {}): ProcessOptions {
  return { name, transport: sink.transport, builtin: true, tier: 0, onFailure: () => assert.fail(`${name} failed`), ...more };
}

/** Numbers of the stream that arrived and numbers that a gap accounts for, in order. */
function account(texts: readonly string[]): { arrived: number; missing: number; last: number } {
  let expected = 1;
  let arrived = 0;
  let missing = 0;
  for (const text of texts) {
    const event = JSON.parse(text) as { meta?: { seq: number }; gap?: { dropped: number; first: number; last: number } };
    if (event.gap !== undefined) {
      assert.equal(event.gap.first, expected);
      assert.equal(event.gap.last - event.gap.first + 1, event.gap.dropped);
      missing += event.gap.dropped;
      expected = event.gap.last + 1;
    } else {
      assert.equal(event.meta?.seq, expected);
      arrived++;
      expected++;
    }
  }
  return { arrived, missing, last: expected - 1 };
}

test('the next batch goes only after the acknowledgement of the previous', async () => {
  const { bus, turn } = bench();
  const sink = new TextSink(true);
  bus.attach(options('a', sink)).subscribe({ events: ['keepalive'] });
  bus.event(row());
  await turn();
  bus.event(row());
  await turn();
  bus.event(row());
  await turn();
  assert.deepEqual(
    sink.batches.map((batch) => batch.length),
    [1],
  );
  sink.acknowledge();
  await turn();
  assert.deepEqual(
    sink.batches.map((batch) => batch.length),
    [1, 2],
  );
});

test('a batch holds at most 512 events and 95 KiB; a larger event has one of its own', async () => {
  const { bus, turn } = bench();
  const sink = new BytesSink();
  bus.attach(options('a', sink)).subscribe({ events: ['keepalive', 'notification', 'rpki'] });
  for (let i = 0; i < 1100; i++) bus.event(row());
  await turn();
  assert.deepEqual(
    sink.params.map((text) => (JSON.parse(text) as { events: string[] }).events.length),
    [306, 306, 306, 182],
  );
  const data = new Uint8Array(65_000);
  const large = row({ kind: 'notification', bytes: data, bytesLength: data.length });
  for (let i = 0; i < 4; i++) bus.event(large);
  await turn();
  bus.emit({ namespace: 'bgp', type: 'rpki', text: 'x'.repeat(300_000) }, 'x');
  await turn();
  const sizes = sink.params.slice(4).map((text) => text.length);
  assert.equal(sizes.length, 5);
  assert.ok(
    sink.params.slice(0, 4).every((text) => text.length <= 95 * 1024 + 128),
    sizes.join(' '),
  );
  assert.equal(sink.events.length, 1105);
});

test('drop-with-gap: a consumer that stops costs a bounded queue, and gets every number once or in a gap', async () => {
  const { bus, turn } = bench();
  const sink = new TextSink(true);
  const handle = bus.attach(options('slow', sink, { queue: { bytes: LIMIT } }));
  handle.subscribe({ events: ['update'] });
  const quick = new TextSink();
  bus.attach(options('quick', quick)).subscribe({ events: ['update'] });
  for (let i = 1; i <= 2000; i++) {
    bus.event(updateRow(i));
    if (i % 100 === 0) await turn();
    assert.ok(handle.statistics().queueBytes <= LIMIT, 'queue within its limit');
  }
  assert.equal(account(quick.texts).arrived, 2000, 'one slow process never delays another');
  assert.deepEqual(
    bus.reports.warnings().map((warning) => [warning.code, warning.subject]),
    [['event-gap', 'slow']],
  );
  for (let i = 0; i < 200 && handle.statistics().queueBytes > 0; i++) {
    sink.acknowledge();
    await turn();
  }
  bus.event(updateRow(3000));
  await turn();
  sink.acknowledge();
  await turn();
  const { arrived, missing, last } = account(sink.texts);
  assert.equal(last, 2001);
  assert.ok(arrived > 100 && missing > 100);
  assert.equal(handle.statistics().dropped, missing);
  assert.deepEqual(bus.reports.warnings(), [], 'the warning clears itself');
});

test('the gap is told as soon as there is room, not only before the next event', async () => {
  const { bus, turn } = bench();
  const sink = new TextSink(true);
  const handle = bus.attach(options('slow', sink, { queue: { bytes: 2000 } }));
  handle.subscribe({ events: ['update'] });
  for (let i = 1; i <= 50; i++) bus.event(updateRow(i));
  await turn();
  for (let i = 0; i < 3; i++) {
    sink.acknowledge();
    await turn();
  }
  assert.equal(account(sink.texts).last, 50);
  assert.equal(handle.statistics().gaps, 1);
});

test('64 batches are as good a limit as bytes', async () => {
  const { bus, turn } = bench();
  const sink = new TextSink(true);
  const handle = bus.attach(options('slow', sink, { queue: { bytes: 1 << 30, batches: 2 } }));
  handle.subscribe({ events: ['keepalive'] });
  for (let i = 0; i < 3000; i++) bus.event(row());
  await turn();
  assert.equal(handle.statistics().queueBatches, 2);
  assert.equal(handle.statistics().dropped, 3000 - 1024);
});

test('hold-peer: peers are held at the limit and let go at half of it; nothing is lost', async () => {
  const { bus, reactor, turn } = bench();
  const sink = new TextSink(true);
  const handle = bus.attach(options('slow', sink, { queue: { bytes: LIMIT, onOverflow: 'hold-peer' } }));
  handle.subscribe({ events: ['update'] });
  let sent = 0;
  while (reactor.held.length === 0) bus.event(updateRow(++sent));
  for (let i = 0; i < 20; i++) bus.event(updateRow(++sent));
  bus.event(updateRow(++sent, { peer: 1 }));
  await turn();
  assert.deepEqual(reactor.held, [
    [0, true],
    [1, true],
  ]);
  assert.equal(bus.reports.warnings()[0]?.code, 'event-consumer-behind');
  for (let i = 0; i < 20 && handle.statistics().queueBytes > 0; i++) {
    sink.acknowledge();
    await turn();
  }
  assert.deepEqual(reactor.held.slice(2), [
    [0, false],
    [1, false],
  ]);
  assert.deepEqual(account(sink.texts), { arrived: sent, missing: 0, last: sent });
  assert.deepEqual(bus.reports.warnings(), []);
});

test('hold-peer: peers whose rows are for others, or were sent to them, are not held', async () => {
  const { bus, reactor, turn } = bench([peer(0), peer(1), peer(2)]);
  const handle = bus.attach(options('slow', new TextSink(true), { queue: { bytes: LIMIT, onOverflow: 'hold-peer' } }));
  handle.subscribe({ events: ['update direction received'], peers: ['192.0.2.1'] });
  handle.subscribe({ events: ['update direction sent'], peers: ['192.0.2.3'] });
  for (let i = 1; i <= 200; i++) bus.event(updateRow(i));
  for (let i = 201; i <= 210; i++) bus.event(updateRow(i, { peer: 1 }));
  for (let i = 211; i <= 220; i++) bus.event(updateRow(i, { peer: 2, direction: 'sent' }));
  await turn();
  assert.deepEqual(reactor.held, [[0, true]]);
});

test('hold-peer: the reactor is told that no row may be missed, as long as the process wants updates', () => {
  const { bus, reactor } = bench();
  bus.attach(options('lossy', new TextSink())).subscribe({ events: ['update'] });
  const handle = bus.attach(options('strict', new TextSink(), { queue: { onOverflow: 'hold-peer' } }));
  assert.equal(reactor.everyRow, false);
  handle.subscribe({ events: ['update'] });
  assert.equal(reactor.everyRow, true);
  handle.detach();
  assert.equal(reactor.everyRow, false);
});

test('over a wire a few batches are on their way, and each acknowledgement makes room for one more', async () => {
  const { bus, clock, turn } = bench();
  const answers: (() => void)[] = [];
  const failures: string[] = [];
  const transport = { form: 'bytes', send: () => new Promise<void>((resolve) => answers.push(resolve)) } as const;
  const handle = bus.attach({
    name: 'far',
    transport,
    builtin: true,
    tier: 0,
    deadlineMs: 1000,
    onFailure: (failure) => failures.push(failure),
  });
  handle.subscribe({ events: ['keepalive'] });
  for (let i = 0; i < 306 * 6; i++) bus.event(row());
  await turn();
  assert.equal(answers.length, 4);
  clock.advance(900);
  answers[0]?.();
  await turn();
  assert.equal(answers.length, 5);
  clock.advance(900); // the second is the oldest for 0.9 s only
  assert.deepEqual(failures, []);
  clock.advance(100);
  assert.deepEqual(failures, ['silent']);
});

test('hold-peer: a whole ring of rows that was on its way when the peers were held arrives, in order', async () => {
  const { bus, turn } = bench();
  const answers: (() => void)[] = [];
  let arrived = 0;
  const send = (params: Uint8Array): Promise<void> => {
    for (const text of (JSON.parse(Buffer.from(params).toString()) as { events: string[] }).events) {
      assert.equal((JSON.parse(text) as { meta: { seq: number } }).meta.seq, ++arrived);
    }
    return new Promise((resolve) => answers.push(resolve));
  };
  const handle = bus.attach(options('slow', { transport: { form: 'bytes', send } }, { queue: { onOverflow: 'hold-peer' } }));
  handle.subscribe({ events: ['update'] });
  const memory = ringMemory(RING_BYTES);
  const sink = new RingSink(new RingWriter(memory), MUTE);
  const source = new RingSource(new RingReader(memory), bus);
  let rows = 0;
  for (; sink.lost === 0; rows++) sink.event(updateRow(rows));
  assert.equal(source.drain(Infinity), rows - 1);
  await turn();
  while (answers.length > 0) {
    answers.shift()?.();
    if (answers.length === 0) await turn();
  }
  const { dropped, gaps, queueBytes } = handle.statistics();
  assert.deepEqual({ arrived, dropped, gaps, queueBytes }, { arrived: rows - 1, dropped: 0, gaps: 0, queueBytes: 0 });
});

test('hold-peer: rows that keep coming although held meet a hard bound and a gap', async () => {
  const { bus, turn } = bench();
  const sink = new TextSink(true);
  const queue = { bytes: LIMIT, onOverflow: 'hold-peer', heldBytes: 4 * LIMIT } as const;
  const handle = bus.attach(options('slow', sink, { queue }));
  handle.subscribe({ events: ['update'] });
  for (let i = 1; i <= 2000; i++) bus.event(updateRow(i));
  await turn();
  assert.ok(handle.statistics().queueBytes <= 4 * LIMIT);
  assert.ok(handle.statistics().dropped > 0);
});

test('a peer held for two consumers is let go by the last', async () => {
  const { bus, reactor, turn } = bench();
  const sinks = [new TextSink(true), new TextSink(true)] as const;
  const handles = sinks.map((sink, index) =>
    bus.attach(options(`slow-${index}`, sink, { queue: { bytes: 1000, onOverflow: 'hold-peer' } })),
  );
  for (const handle of handles) handle.subscribe({ events: ['update'] });
  for (let i = 1; i <= 10; i++) bus.event(updateRow(i));
  await turn();
  handles[0]?.detach();
  assert.deepEqual(reactor.held, [[0, true]]);
  handles[1]?.detach();
  assert.deepEqual(reactor.held, [
    [0, true],
    [0, false],
  ]);
});

test('disconnect: the owner is told once and the queue is freed', async () => {
  const { bus, turn } = bench();
  const failures: ProcessFailure[] = [];
  const sink = new TextSink(true);
  const handle = bus.attach(
    options('slow', sink, {
      queue: { bytes: 2000, onOverflow: 'disconnect' },
      onFailure: (failure) => void failures.push(failure),
    }),
  );
  handle.subscribe({ events: ['update'] });
  for (let i = 1; i <= 100; i++) bus.event(updateRow(i));
  await turn();
  assert.deepEqual(failures, ['overflow']);
  assert.equal(handle.statistics().queueBytes, 0);
  assert.equal(bus.reports.errors()[0]?.code, 'event-consumer-overflow');
});

test('a process that is silent past the delivery time has failed; others go on; a late answer changes nothing', async () => {
  const { bus, clock, reactor, turn } = bench();
  const failures: ProcessFailure[] = [];
  const sink = new TextSink(true);
  const other = new TextSink();
  const silent = bus.attach(
    options('silent', sink, {
      queue: { bytes: 1000, onOverflow: 'hold-peer' },
      onFailure: (failure) => void failures.push(failure),
    }),
  );
  silent.subscribe({ events: ['update'] });
  bus.attach(options('other', other)).subscribe({ events: ['update'] });
  for (let i = 1; i <= 20; i++) bus.event(updateRow(i));
  await turn();
  clock.advance(4999);
  assert.deepEqual(failures, []);
  clock.advance(1);
  assert.deepEqual(failures, ['silent']);
  assert.deepEqual(reactor.held, [
    [0, true],
    [0, false],
  ]);
  sink.acknowledge();
  bus.event(updateRow(21));
  await turn();
  assert.equal(sink.batches.length, 1);
  assert.equal(other.texts.length, 21);
  assert.equal(silent.subscribe({ events: ['update'] }), 'the process has failed');
  assert.equal(clock.pending, 0);
});

test('an error answer loses its batch, is counted, and the stream goes on', async () => {
  const { bus, turn } = bench();
  const sink = new TextSink(true);
  const handle = bus.attach(options('a', sink));
  handle.subscribe({ events: ['keepalive'] });
  bus.event(row());
  await turn();
  bus.event(row());
  sink.refuse();
  await turn();
  assert.equal(sink.batches.length, 2);
  assert.equal(handle.statistics().refused, 1);
});

test('a refused batch is in `show errors` and told to its owner, once in ten seconds', async () => {
  const { bus, clock, turn } = bench();
  const told: string[] = [];
  const structured = (): void => {
    throw new Error('no such route');
  };
  const handle = bus.attach(options('a', new TextSink(), { structured, onRefused: (message) => void told.push(message) }));
  handle.subscribe({ events: ['update'] });
  const deliver = async (id: number): Promise<void> => {
    bus.event(updateRow(id));
    await turn();
  };
  const reported = (): unknown[] =>
    bus.reports
      .errors()
      .filter((entry) => entry.code === 'event-handler-failed')
      .map(({ subject, message, detail }) => [subject, message, detail]);
  await deliver(1);
  await deliver(2);
  clock.advance(9_999);
  await deliver(3);
  assert.deepEqual(reported(), [['a', 'events refused: no such route', undefined]]);
  clock.advance(1);
  await deliver(4);
  assert.deepEqual(reported()[1], ['a', 'events refused: no such route', { 'refused-before': 2 }]);
  assert.deepEqual(
    told,
    Array.from({ length: 4 }, () => 'events refused: no such route'),
  );
});

test('detach frees everything: timers, holds, interest', async () => {
  const { bus, clock, reactor, turn } = bench();
  const handle = bus.attach(options('a', new TextSink(true), { queue: { bytes: 500, onOverflow: 'hold-peer' } }));
  handle.subscribe({ events: ['update'] });
  for (let i = 1; i <= 10; i++) bus.event(updateRow(i));
  await turn();
  assert.equal(clock.pending, 1);
  handle.detach();
  handle.detach();
  assert.equal(clock.pending, 0);
  assert.deepEqual(reactor.held.at(-1), [0, false]);
  assert.deepEqual(bus.processes(), []);
  assert.equal(bus.statistics()['queue-bytes'], 0);
});

const MEMORY: readonly OverflowPolicy[] = ['drop-with-gap', 'hold-peer'];
for (const onOverflow of MEMORY) {
  test(`50 processes that never answer a feed of 20 000 updates: memory stays bounded (${onOverflow})`, async () => {
    const { bus, turn } = bench();
    const limit = 32 * 1024;
    const handles = Array.from({ length: 50 }, (_, index) => {
      const transport = { form: 'bytes' as const, send: () => new Promise<void>(() => undefined) };
      const handle = bus.attach(
        options(`p${index}`, { transport }, { queue: { bytes: limit, onOverflow, heldBytes: 4 * limit } }),
      );
      handle.subscribe({ events: ['update'] });
      return handle;
    });
    for (let i = 1; i <= 20_000; i++) {
      bus.event(updateRow(i));
      if (i % 5000 === 0) await turn();
    }
    const held = handles.reduce((sum, handle) => sum + handle.statistics().queueBytes, 0);
    assert.ok(held <= 50 * limit * (onOverflow === 'hold-peer' ? 4 : 1), `${held} bytes`);
  });
}

test('structured rows arrive in columns, text between them in order, and the batch is used again', async () => {
  const { bus, turn } = bench();
  const seen: string[] = [];
  const batches = new Set<StructuredBatch>();
  const structured = (batch: StructuredBatch): void => {
    batches.add(batch);
    for (let i = 0; i < batch.count; i++) {
      const tail = batch.view.getUint8(batch.at(i) + Math.max(0, batch.length(i) - 1));
      const name = batch.peers.name(batch.peer(i));
      seen.push(
        batch.kind(i) === 1
          ? `update ${batch.messageId(i)} ${name} ${batch.direction(i)} ${tail} ${batch.asn4(i)} ${batch.addPath(i, 257)}`
          : `state ${name} ${batch.up(i)} ${batch.reason(i)}`,
      );
    }
  };
  const transport = {
    form: 'texts' as const,
    send: (texts: readonly string[]): Promise<void> => {
      for (const text of texts)
        seen.push(`text ${(JSON.parse(text) as { bgp: { message: { type: string } } }).bgp.message.type}`);
      return Promise.resolve();
    },
  };
  bus.attach(options('a', { transport }, { structured })).subscribe({ events: ['update', 'state', 'eor'] });
  bus.event(row({ kind: 'state', direction: 'unspecified', state: 'up' }));
  bus.event(updateRow(9, { addPath: [257] }));
  bus.event(row({ kind: 'eor', direction: 'unspecified', family: 257 }));
  bus.event(updateRow(10, { peer: 1, direction: 'sent', asn4: false }));
  bus.event(row({ kind: 'state', direction: 'unspecified', state: 'down', reason: 'removed' }));
  await turn();
  bus.event(updateRow(11));
  await turn();
  assert.deepEqual(seen, [
    'state edge-0 true ',
    'update 9 edge-0 1 9 true true',
    'text eor',
    'update 10 edge-1 2 10 false false',
    'state edge-0 false removed',
    'update 11 edge-0 1 11 true false',
  ]);
  assert.equal(batches.size, 2);
});

test('a structured handler that throws is counted and the stream goes on', async () => {
  const { bus, turn } = bench();
  let calls = 0;
  const structured = (): void => {
    calls++;
    throw new Error('handler');
  };
  const handle = bus.attach(options('a', new TextSink(), { structured }));
  handle.subscribe({ events: ['update'] });
  bus.event(updateRow(1));
  await turn();
  bus.event(updateRow(2));
  await turn();
  assert.equal(calls, 2);
  assert.equal(handle.statistics().refused, 2);
});

test('a handler that emits inside its own delivery queues the event, it does not nest', async () => {
  const { bus, turn } = bench();
  const order: string[] = [];
  const structured = (): void => {
    order.push('in');
    bus.emit({ namespace: 'bgp', type: 'rpki', text: 'x' }, 'a');
    order.push('out');
  };
  const transport = {
    form: 'texts' as const,
    send: () => {
      order.push('rpki');
      return Promise.resolve();
    },
  };
  bus.attach(options('a', new TextSink(), { structured, tier: 1 })).subscribe({ events: ['update'] });
  bus.attach(options('b', { transport })).subscribe({ events: ['rpki'] });
  bus.event(updateRow(1));
  await turn();
  assert.deepEqual(order, ['in', 'out', 'rpki']);
});

const CACHE: readonly { mode: 'ordered' | 'unordered'; released: readonly (readonly number[])[] }[] = [
  // 2 belongs to another peer and is missed; ordered waits until the consumer has acknowledged 1 and 3 itself.
  { mode: 'unordered', released: [[2], [4]] },
  { mode: 'ordered', released: [[4]] },
];
for (const { mode, released } of CACHE) {
  test(`${mode} cache consumer: what it never got is released in its name`, async () => {
    const { bus, reactor, turn } = bench();
    const handle = bus.attach(options('rs', new TextSink(), { cacheMode: mode }));
    assert.equal(reactor.consumers.length, 0);
    handle.subscribe({ events: ['update'], peers: ['edge-0'] });
    assert.deepEqual(reactor.consumers, [['rs', mode]]);
    bus.event(updateRow(1));
    bus.event(updateRow(2, { peer: 1 }));
    bus.event(updateRow(3));
    await turn();
    handle.acknowledged([3]);
    bus.event(updateRow(4, { peer: 1 }));
    await turn();
    assert.deepEqual(
      reactor.released,
      released.map((ids) => ['rs', ids]),
    );
    handle.unsubscribe();
    assert.deepEqual(reactor.consumers.at(-1), ['rs', 'none']);
    const { policy, events } = handle.statistics();
    assert.deepEqual({ policy, events }, { policy: 'hold-peer', events: 2 });
  });
}

test('text encoding: lines without a number, gaps as a line', async () => {
  const { bus, turn } = bench();
  const sink = new BytesSink();
  bus.attach(options('a', sink)).subscribe({ events: ['keepalive', 'negotiated'], encoding: 'text' });
  bus.event(row({ messageId: 3 }));
  bus.event(row({ kind: 'none', lost: 2 }));
  bus.event(row({ kind: 'negotiated', direction: 'unspecified' }));
  await turn();
  assert.equal(sink.events[0], 'peer 192.0.2.1 remote as 65001 received keepalive 3\n');
  assert.equal(sink.events[1], 'gap dropped 2 first 2 last 3\n');
  assert.deepEqual((JSON.parse(sink.events[2] ?? '') as Json)['meta'], { 'schema-version': 1, seq: 4 });
});

test('the bus has enough when every process that takes updates has; a person who watches wants all at once', async () => {
  const { bus, turn } = bench();
  assert.equal(bus.ample, false);
  const sinks = [new TextSink(true), new TextSink(true)] as const;
  const queue = { bytes: LIMIT } as const;
  const handles = sinks.map((sink, i) => bus.attach(options(`p${i}`, sink, { queue })));
  handles[0]?.subscribe({ events: ['update'] });
  for (let i = 1; i <= 100; i++) bus.event(updateRow(i));
  await turn();
  assert.equal(bus.ample, true);
  handles[1]?.subscribe({ events: ['state'] });
  assert.equal(bus.ample, true);
  const monitor = bus.monitor();
  assert.equal(bus.ample, false);
  monitor.close();
  assert.equal(bus.ample, true);
  handles[1]?.subscribe({ events: ['update'] });
  assert.equal(bus.ample, false);
});
