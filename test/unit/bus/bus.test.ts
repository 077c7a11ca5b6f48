import assert from 'node:assert/strict';
import test from 'node:test';
import type { ProcessBinding } from '../../../engine/bgp/port.ts';
import { EVENT_KINDS } from '../../../engine/bgp/port.ts';
import type { ProcessOptions } from '../../../engine/bus/process.ts';
import { KIND_NUMBER, KINDS } from '../../../engine/codec/event-kinds.ts';
import { bench, BytesSink, peer, row, TextSink, updateRow } from './fixture.ts';

type Json = Record<string, unknown>;
const parse = (texts: readonly string[]): Json[] => texts.map((text) => JSON.parse(text) as Json);
const messages = (texts: readonly string[]): string[] =>
  parse(texts).map((event) => (event['bgp'] as { message: { type: string } }).message.type);

function options(name: string, sink: Pick<ProcessOptions, 'transport'>, more: Partial<ProcessOptions> = {}): ProcessOptions {
  return { name, transport: sink.transport, builtin: true, tier: 0, onFailure: () => assert.fail(`${name} failed`), ...more };
}

test('kinds of rows have the same numbers on both sides of the boundary', () => {
  assert.deepEqual(KINDS, EVENT_KINDS);
  for (const kind of EVENT_KINDS) assert.equal(KIND_NUMBER[kind], EVENT_KINDS.indexOf(kind));
});

test('a process without a subscription gets nothing', async () => {
  const { bus, turn } = bench();
  const sink = new TextSink();
  bus.attach(options('a', sink));
  bus.event(updateRow(1));
  await turn();
  assert.deepEqual(sink.batches, []);
});

test('rows of one turn arrive as one batch, numbered from 1, on both transports', async () => {
  const { bus, turn } = bench();
  const texts = new TextSink();
  const bytes = new BytesSink();
  bus.attach(options('a', texts)).subscribe({ events: ['update', 'state'] });
  bus.attach(options('b', bytes)).subscribe({ events: ['*'] });
  bus.event(row({ kind: 'state', direction: 'unspecified', state: 'up' }));
  bus.event(updateRow(7));
  bus.event(row());
  await turn();
  assert.equal(texts.batches.length, 1);
  assert.equal(bytes.params.length, 1);
  assert.deepEqual(messages(texts.texts), ['state', 'update']);
  assert.deepEqual(messages(bytes.events), ['state', 'update', 'keepalive']);
  assert.deepEqual(
    parse(bytes.events).map((event) => event['meta']),
    [1, 2, 3].map((seq) => ({ 'schema-version': 1, seq })),
  );
  assert.equal(texts.texts[1], bytes.events[1]);
});

const DIRECTIONS = [
  { subscribe: 'update', received: true, sent: true },
  { subscribe: 'update direction both', received: true, sent: true },
  { subscribe: 'update direction received', received: true, sent: false },
  { subscribe: 'update direction sent', received: false, sent: true },
  { subscribe: 'sent', received: false, sent: true },
  { subscribe: '*', received: true, sent: true },
  { subscribe: 'open', received: false, sent: false },
];
for (const { subscribe, received, sent } of DIRECTIONS) {
  test(`"${subscribe}": received ${received}, sent ${sent}`, async () => {
    const { bus, turn } = bench();
    const sink = new TextSink();
    bus.attach(options('a', sink)).subscribe({ events: [subscribe] });
    bus.event(updateRow(1));
    bus.event(updateRow(2, { direction: 'sent' }));
    await turn();
    assert.deepEqual(messages(sink.texts), [...(received ? ['update'] : []), ...(sent ? ['sent'] : [])]);
  });
}

test('an event without a direction matches a subscription for any', async () => {
  const { bus, turn } = bench();
  const sink = new TextSink();
  bus.attach(options('a', sink)).subscribe({ events: ['state direction sent'] });
  bus.event(row({ kind: 'state', direction: 'unspecified', state: 'down', reason: 'removed' }));
  await turn();
  assert.deepEqual(messages(sink.texts), ['state']);
});

const SELECTIONS: readonly { peers: readonly string[]; got: readonly number[] }[] = [
  { peers: [], got: [0, 1, 2] },
  { peers: ['*'], got: [0, 1, 2] },
  { peers: ['192.0.2.2'], got: [1] },
  { peers: ['edge-0', '192.0.2.3'], got: [0, 2] },
  { peers: ['!edge-0'], got: [1, 2] },
  { peers: ['!edge-0', '!192.0.2.2'], got: [2] },
  { peers: ['as65002'], got: [1] },
  { peers: ['192.0.2.*', '!as65003'], got: [0, 1] },
  { peers: ['nobody'], got: [] },
];
for (const { peers, got } of SELECTIONS) {
  test(`peers [${peers.join(' ')}] are all honoured`, async () => {
    const { bus, turn } = bench([peer(0), peer(1), peer(2)]);
    const sink = new TextSink();
    bus.attach(options('a', sink)).subscribe({ events: ['keepalive'], peers });
    for (const index of [0, 1, 2]) bus.event(row({ peer: index }));
    await turn();
    const names = parse(sink.texts).map((event) => (event['bgp'] as { peer: { name: string } }).peer.name);
    assert.deepEqual(
      names,
      got.map((index) => `edge-${index}`),
    );
  });
}

const binding = (process: string, receive: readonly string[], more: Partial<ProcessBinding> = {}): ProcessBinding => ({
  process,
  receive,
  send: [],
  ...more,
});

const GRANTS: readonly { receive: readonly string[]; got: readonly string[] }[] = [
  { receive: [], got: [] },
  { receive: ['update'], got: ['update'] },
  { receive: ['sent'], got: ['sent'] },
  { receive: ['update', 'sent', 'state'], got: ['update', 'sent', 'state'] },
  { receive: ['keepalive'], got: ['keepalive'] },
];
for (const { receive, got } of GRANTS) {
  test(`an external process with receive [${receive.join(' ')}] sees ${got.join(' ') || 'nothing'}`, async () => {
    const { bus, turn } = bench();
    const sink = new TextSink();
    bus.setBindings(new Map([['edge-0', [binding('a', receive), binding('b', ['update'])]]]));
    bus.attach(options('a', sink, { builtin: false })).subscribe({ events: ['*'] });
    bus.event(updateRow(1));
    bus.event(updateRow(2, { direction: 'sent' }));
    bus.event(row({ kind: 'state', direction: 'unspecified', state: 'up' }));
    bus.event(row());
    bus.event(updateRow(3, { peer: 1 }));
    await turn();
    assert.deepEqual(messages(sink.texts), got);
  });
}

test('grants that change take effect at once, and a binding sets format and encoding until the process does', async () => {
  const { bus, turn } = bench();
  const sink = new TextSink();
  const handle = bus.attach(options('a', sink, { builtin: false }));
  handle.subscribe({ events: ['update'] });
  bus.event(updateRow(1));
  bus.setBindings(new Map([['edge-0', [binding('a', ['update'], { encoding: 'text', format: 'raw' })]]]));
  bus.event(updateRow(2));
  handle.subscribe({ encoding: 'json', format: 'summary' });
  bus.event(updateRow(3));
  await turn();
  assert.equal(sink.texts.length, 2);
  assert.match(sink.texts[0] ?? '', /^peer 192\.0\.2\.1 received update raw [0-9a-f]+\n$/);
  assert.deepEqual((JSON.parse(sink.texts[1] ?? '') as Json)['bgp'], {
    message: { type: 'update', id: 3, direction: 'received' },
    peer: {
      remote: { address: '192.0.2.1', as: 65001 },
      address: '192.0.2.1',
      local: { address: '192.0.2.100', as: 65000 },
      name: 'edge-0',
    },
    nlri: { announce: true, withdrawn: false, 'mp-reach': '', 'mp-unreach': '' },
  });
});

test('unsubscribe clears everything; the text command takes one back', async () => {
  const { bus, turn } = bench();
  const sink = new TextSink();
  const handle = bus.attach(options('a', sink));
  assert.equal(handle.subscribeCommand(['bgp', 'event', 'keepalive']), undefined);
  assert.equal(handle.subscribeCommand(['peer', 'edge-0', 'bgp', 'event', 'update', 'direction', 'received']), undefined);
  assert.match(handle.subscribeCommand(['bgp', 'event', 'updat']) ?? '', /unknown event type "updat", valid: .*update/);
  assert.match(handle.subscribeCommand(['bpg', 'event', 'update']) ?? '', /unknown namespace "bpg", valid: bgp /);
  assert.equal(handle.unsubscribeCommand(['bgp', 'event', 'keepalive']), undefined);
  assert.equal(handle.unsubscribeCommand(['bgp', 'event', 'keepalive']), 'no such subscription');
  bus.event(row());
  bus.event(updateRow(1));
  handle.unsubscribe();
  bus.event(updateRow(2));
  await turn();
  assert.equal(sink.texts.length, 1);
});

const BAD_SUBSCRIPTIONS = ['update direction', 'update direction up', 'update foo', '   ', 'update direction received now'];
for (const event of BAD_SUBSCRIPTIONS) {
  test(`subscription "${event}" is refused`, () => {
    const { bus } = bench();
    assert.match(bus.attach(options('a', new TextSink())).subscribe({ events: [event] }) ?? '', /^invalid subscribe params: /);
  });
}

test('an envelope says which event it was', async () => {
  const { bus, turn } = bench();
  const texts = new TextSink();
  const bytes = new BytesSink();
  const lines = new TextSink();
  for (const [name, sink] of [
    ['a', texts],
    ['b', bytes],
    ['c', lines],
  ] as const) {
    const handle = bus.attach(options(name, sink));
    handle.subscribe({ events: ['keepalive'], envelope: true });
    handle.subscribe({ events: ['best-change'], namespace: 'bgp-rib', envelope: true });
  }
  bus.attach(options('d', lines)).subscribe({ events: ['state'], encoding: 'text', envelope: true });
  bus.event(row({ messageId: 4 }));
  bus.emit({ namespace: 'bgp-rib', type: 'best-change', text: '{"family":\n"ipv4/unicast"}' }, 'rib');
  await turn();
  assert.deepEqual(parse(texts.texts), parse(bytes.events));
  const [first, second] = parse(texts.texts);
  assert.equal(first?.['namespace'], 'bgp');
  assert.equal(first['event'], 'keepalive');
  assert.deepEqual(first['meta'], { 'schema-version': 1, seq: 1 });
  assert.deepEqual(second, {
    namespace: 'bgp-rib',
    event: 'best-change',
    payload: { family: 'ipv4/unicast' },
    meta: { 'schema-version': 1, seq: 2 },
  });
});

test('emit-event reaches every subscriber but the emitter, verbatim', async () => {
  const { bus, turn } = bench();
  const [emitter, other, elsewhere] = [new TextSink(), new BytesSink(), new TextSink()];
  const heard: string[] = [];
  bus.listen('bgp', 'rpki', (event) => heard.push(event.text));
  bus.attach(options('rpki', emitter)).subscribe({ events: ['rpki'] });
  bus.attach(options('b', other)).subscribe({ events: ['rpki direction received'], peers: ['192.0.2.1'] });
  bus.attach(options('c', elsewhere)).subscribe({ events: ['rpki'], peers: ['192.0.2.9'] });
  const text = '{"quote":"\\"","line":"\\n"}';
  const emit = { namespace: 'bgp', type: 'rpki', direction: 'received', peerAddress: '192.0.2.1', text };
  assert.deepEqual(bus.emit(emit, 'rpki'), { ok: true, delivered: 1 });
  assert.deepEqual(bus.emit({ ...emit, direction: 'sent' }, 'rpki'), { ok: true, delivered: 0 });
  await turn();
  assert.deepEqual(emitter.texts, []);
  assert.deepEqual(elsewhere.texts, []);
  assert.deepEqual(other.events, [text]);
  assert.deepEqual(heard, [text, text]);
});

const BAD_EMITS = [
  { namespace: '', type: 'x', text: '', message: 'emit-event requires namespace and event-type' },
  { namespace: 'bgp', type: '', text: '', message: 'emit-event requires namespace and event-type' },
  { namespace: 'bgp', type: 'nope', text: '', message: 'unknown event: bgp/nope' },
  {
    namespace: 'bgp',
    type: 'rpki',
    text: 'x'.repeat(1024 * 1024 + 1),
    message: 'event too large: 1048577 characters (max 1048576)',
  },
];
for (const { message, ...input } of BAD_EMITS) {
  test(`emit-event: ${message}`, () => assert.deepEqual(bench().bus.emit(input, 'x'), { ok: false, message }));
}

test('an emitted bgp event needs a grant like any other', async () => {
  const { bus, turn } = bench();
  const sink = new TextSink();
  bus.setBindings(new Map([['edge-1', [binding('a', ['rpki'])]]]));
  bus.attach(options('a', sink, { builtin: false })).subscribe({ events: ['rpki'] });
  bus.emit({ namespace: 'bgp', type: 'rpki', peerAddress: '192.0.2.1', text: 'first' }, 'x');
  bus.emit({ namespace: 'bgp', type: 'rpki', peerAddress: '192.0.2.2', text: 'second' }, 'x');
  await turn();
  assert.deepEqual(sink.texts, ['second']);
});

test('interest follows subscriptions, monitors and detachment; session events are always wanted', () => {
  const { bus, reactor } = bench();
  const bit = (kind: 'update' | 'keepalive' | 'state'): number => 1 << KIND_NUMBER[kind];
  const last = (): readonly [number, number] => reactor.interests.at(-1) ?? [0, 0];
  assert.equal(last()[0] & (bit('update') | bit('keepalive')), 0);
  assert.notEqual(last()[0] & bit('state'), 0);
  const handle = bus.attach(options('a', new TextSink()));
  handle.subscribe({ events: ['update direction received'] });
  assert.deepEqual([last()[0] & bit('update'), last()[1] & bit('update')], [bit('update'), 0]);
  const told = reactor.interests.length;
  handle.subscribe({ events: ['update direction received'] });
  assert.equal(reactor.interests.length, told, 'nothing new, nothing said');
  const monitor = bus.monitor();
  assert.notEqual(last()[1] & bit('keepalive'), 0);
  monitor.close();
  handle.detach();
  assert.equal(last()[0] & bit('update'), 0);
});

test('dependents are told before what they depend on', async () => {
  const { bus, turn } = bench();
  const order: string[] = [];
  for (const [name, tier] of [
    ['rib', 0],
    ['z', 2],
    ['gr', 1],
    ['b', 2],
  ] as const) {
    bus
      .attach(
        options(
          name,
          {
            transport: {
              form: 'texts',
              send: () => {
                order.push(name);
                return Promise.resolve();
              },
            },
          },
          { tier },
        ),
      )
      .subscribe({ events: ['state'] });
  }
  bus.event(row({ kind: 'state', direction: 'unspecified', state: 'down' }));
  await turn();
  assert.deepEqual(order, ['b', 'z', 'gr', 'rib']);
});

test('rows lost on the way leave a gap in every stream that would have had some', async () => {
  const { bus, turn } = bench();
  const sink = new TextSink();
  bus.attach(options('a', sink)).subscribe({ events: ['keepalive'] });
  bus.event(row());
  bus.event(row({ kind: 'none', lost: 5 }));
  bus.event(row({ lost: 2 }));
  await turn();
  assert.deepEqual(
    parse(sink.texts).map((event) => event['gap'] ?? (event['meta'] as Json)['seq']),
    [1, { dropped: 5, first: 2, last: 6 }, { dropped: 2, first: 7, last: 8 }, 9],
  );
  assert.equal(bus.reports.errors()[0]?.code, 'event-rows-lost');
});

test('the catalogue counts what passed by, the ring keeps the last', () => {
  const { bus } = bench();
  bus.attach(options('a', new TextSink())).subscribe({ events: ['state'] });
  for (let i = 0; i < 300; i++) bus.event(row({ kind: 'state', direction: 'unspecified', state: 'up', at: i }));
  const state = bus.list().find((entry) => entry.type === 'state');
  assert.deepEqual(state, { namespace: 'bgp', type: 'state', count: 300, subscribers: ['a'] });
  const recent = bus.recent.list();
  assert.equal(recent.length, 256);
  assert.equal(recent[0]?.time, new Date(44).toISOString());
  assert.equal(recent.at(-1)?.peer, 'edge-0');
});

test('an event type has a namespace and a sane name before it can be emitted', () => {
  const { bus } = bench();
  assert.equal(bus.types.register('bgp', 'my-event'), undefined);
  assert.deepEqual(bus.emit({ namespace: 'bgp', type: 'my-event', text: '' }, 'x'), { ok: true, delivered: 0 });
  for (const [namespace, type, message] of [
    ['', 'a', 'empty namespace'],
    ['a', '', 'empty event type'],
    ['a', 'b c', 'bad event type name'],
    ['a', 'b\n', 'bad event type name'],
  ] as const) {
    assert.equal(bus.types.register(namespace, type), message);
  }
});
