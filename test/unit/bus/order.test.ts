// State and End-of-RIB: dependents before what they depend on, each awaited (plugin-lifecycle §11). All else waits for nobody.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { Turn } from '../../../engine/bus/turns.ts';
import { bench, peer, row, TextSink, updateRow } from './fixture.ts';

const UP = row({ kind: 'state', direction: 'unspecified', state: 'up' });
const DOWN = row({ kind: 'state', direction: 'unspecified', state: 'down', reason: 'x' });
const EOR = row({ kind: 'eor', direction: 'received', family: 0x0101 });

interface Chained {
  readonly names: string[];
  readonly sinks: ReadonlyMap<string, TextSink>;
  readonly made: ReturnType<typeof bench>;
  readonly failed: string[];
}

/** Processes by name and tier, each with a sink that acknowledges when told. */
function chain(processes: readonly (readonly [name: string, tier: number])[], held = true): Chained {
  const made = bench();
  const failed: string[] = [];
  const sinks = new Map<string, TextSink>();
  for (const [name, tier] of processes) {
    const sink = new TextSink(held);
    sinks.set(name, sink);
    const options = { name, tier, transport: sink.transport, builtin: true, onFailure: () => void failed.push(name) };
    made.bus.attach(options).subscribe({ events: ['state', 'eor', 'update', 'keepalive'] });
  }
  return { names: processes.map(([name]) => name), sinks, made, failed };
}

/** How many batches each has been sent. */
const sent = ({ names, sinks }: Chained): number[] => names.map((name) => sinks.get(name)?.batches.length ?? 0);

const CHAIN = [
  ['app', 3],
  ['library', 2],
  ['base', 1],
] as const;

for (const event of [UP, DOWN, EOR]) {
  test(`${event.kind} ${event.state}: three in a dependency chain are told one after another`, async () => {
    const bus = chain(CHAIN);
    bus.made.bus.event(event);
    await bus.made.turn();
    assert.deepEqual(sent(bus), [1, 0, 0]);
    bus.sinks.get('app')?.acknowledge();
    await bus.made.turn();
    assert.deepEqual(sent(bus), [1, 1, 0]);
    bus.sinks.get('library')?.refuse();
    await bus.made.turn();
    assert.deepEqual(sent(bus), [1, 1, 1], 'who refuses has had its turn');
  });
}

test('within a tier the order is by name, whatever the order of attaching', async () => {
  const bus = chain([
    ['c', 1],
    ['a', 1],
    ['b', 2],
  ]);
  const order: string[] = [];
  bus.made.bus.event(UP);
  for (let i = 0; i < 4; i++) {
    await bus.made.turn();
    for (const [name, sink] of bus.sinks) {
      if (sink.batches.length === 0 || order.includes(name)) continue;
      order.push(name);
      sink.acknowledge();
    }
  }
  assert.deepEqual(order, ['b', 'a', 'c']);
});

test('all but state and EOR go to everybody at once', async () => {
  const bus = chain(CHAIN);
  bus.made.bus.event(updateRow(1));
  bus.made.bus.event(row());
  await bus.made.turn();
  assert.deepEqual(sent(bus), [1, 1, 1]);
});

test('what comes behind a state keeps its place behind it', async () => {
  const bus = chain(CHAIN);
  bus.made.bus.event(UP);
  await bus.made.turn();
  bus.made.bus.event(updateRow(1));
  await bus.made.turn();
  assert.deepEqual(sent(bus), [1, 0, 0]);
  for (const name of ['app', 'library']) {
    bus.sinks.get(name)?.acknowledge();
    await bus.made.turn();
  }
  const types = (name: string): string[] =>
    (bus.sinks.get(name)?.texts ?? []).map(
      (text) => (JSON.parse(text) as { bgp: { message: { type: string } } }).bgp.message.type,
    );
  assert.deepEqual(
    [types('app'), types('library'), types('base')],
    [
      ['state', 'update'],
      ['state', 'update'],
      ['state', 'update'],
    ],
  );
});

test('one that does not answer has failed after its time, and the next is told', async () => {
  const bus = chain(CHAIN);
  bus.made.bus.event(UP);
  await bus.made.turn();
  bus.made.clock.advance(5000);
  await bus.made.turn();
  assert.deepEqual([bus.failed, sent(bus)], [['app'], [1, 1, 0]]);
});

test('one that goes away keeps nobody waiting', async () => {
  const { bus, turn } = bench();
  const first = new TextSink(true);
  const second = new TextSink(true);
  const at = (name: string, tier: number, sink: TextSink) =>
    bus.attach({ name, tier, transport: sink.transport, builtin: true, onFailure: () => undefined });
  const handle = at('first', 2, first);
  for (const one of [handle, at('second', 1, second)]) one.subscribe({ events: ['state'] });
  bus.event(UP);
  await turn();
  bus.event(DOWN);
  await turn();
  assert.equal(second.texts.length, 0);
  handle.detach();
  await turn();
  assert.equal(second.texts.length, 2);
});

test('who has not subscribed, or is not granted it, is not waited for', async () => {
  const { bus, turn } = bench();
  const sinks = [0, 1, 2].map(() => new TextSink(true));
  const [silent, foreign, last] = sinks;
  assert(silent !== undefined && foreign !== undefined && last !== undefined);
  const none = { onFailure: () => undefined };
  bus.attach({ name: 'silent', tier: 3, transport: silent.transport, builtin: true, ...none });
  bus
    .attach({ name: 'foreign', tier: 2, transport: foreign.transport, builtin: false, ...none })
    .subscribe({ events: ['state'] });
  bus.attach({ name: 'last', tier: 1, transport: last.transport, builtin: true, ...none }).subscribe({ events: ['state'] });
  bus.event(UP);
  await turn();
  assert.deepEqual(
    sinks.map((sink) => sink.texts.length),
    [0, 0, 1],
  );
});

test('a thousand peers that flap in one turn need no more batches than their events fill', async () => {
  const peers = Array.from({ length: 1000 }, (_, i) => peer(i, { name: `p${i}`, remoteAddress: `10.0.${i >> 8}.${i & 255}` }));
  const { bus, turn } = bench(peers);
  const sinks = [new TextSink(), new TextSink(), new TextSink()];
  sinks.forEach((sink, i) => {
    bus
      .attach({ name: `p${i}`, tier: i, transport: sink.transport, builtin: true, onFailure: () => assert.fail() })
      .subscribe({ events: ['state'] });
  });
  for (const { index } of peers) bus.event({ ...DOWN, peer: index });
  for (let i = 0; i < 20; i++) await turn();
  for (const sink of sinks) {
    assert.equal(sink.texts.length, 1000);
    assert(sink.batches.length <= 3, `${sink.batches.length} batches`);
  }
});

test('any events and answers: each sees all in order, and no state before those in front have taken it', async () => {
  const step = fc.oneof(
    fc.constantFrom('up', 'down', 'eor', 'update', 'keepalive'),
    fc.constantFrom('turn', 'ack 0', 'ack 1', 'ack 2', 'refuse 0', 'refuse 1'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const bus = chain(CHAIN);
      const expected: string[] = [];
      let id = 0;
      /** Ordered events each has acknowledged, by position in the stream. */
      const done = bus.names.map(() => 0);
      const answer = (index: number, refuse: boolean): void => {
        const sink = bus.sinks.get(bus.names[index] ?? '');
        done[index] = sink?.texts.length ?? 0;
        if (refuse) sink?.refuse();
        else sink?.acknowledge();
      };
      const check = (): void => {
        bus.names.forEach((name, i) => {
          const texts = bus.sinks.get(name)?.texts ?? [];
          const front = done[i - 1] ?? Infinity;
          const early = texts.findIndex((text, at) => at >= front && /"type":"(?:state|eor)"/.test(text));
          assert.equal(early, -1, `${name} was told event ${early}, in front ${front} are taken`);
        });
      };
      for (const one of steps) {
        const [word, index] = one.split(' ');
        if (word === 'turn') await bus.made.turn();
        else if (word === 'ack' || word === 'refuse') answer(Number(index), word === 'refuse');
        else {
          expected.push(one);
          bus.made.bus.event(
            one === 'up' ? UP : one === 'down' ? DOWN : one === 'eor' ? EOR : one === 'update' ? updateRow(++id) : row(),
          );
        }
        check();
      }
      for (let i = 0; i < steps.length + 10; i++) {
        await bus.made.turn();
        check();
        bus.names.forEach((_, index) => answer(index, false));
      }
      for (const name of bus.names) assert.equal(bus.sinks.get(name)?.texts.length, expected.length);
    }),
    { numRuns: 200 },
  );
});

test('a turn that is over is no longer waited for', () => {
  const [a, b] = [new Turn(), new Turn()];
  b.follow(a);
  b.follow(a);
  assert(b.waits);
  a.end();
  assert(!b.waits);
  b.follow(a);
  assert(!b.waits);
});
