// A process that starts while sessions live is told of every peer that is up, before anything else of it.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { EventRow, NegotiatedSnapshot, ProcessBinding } from '../../../engine/bgp/port.ts';
import { bench, BytesSink, peer, row, TextSink } from './fixture.ts';

interface Shown {
  readonly bgp: {
    readonly message: { readonly type: string };
    readonly peer: { readonly name: string };
    readonly state?: string;
  };
  readonly meta: { readonly seq: number; readonly snapshot?: boolean };
}
const shown = (texts: readonly string[]): readonly string[] =>
  texts.map((text) => {
    const { bgp, meta } = JSON.parse(text) as Shown;
    return `${meta.seq} ${bgp.peer.name} ${bgp.state ?? bgp.message.type}${meta.snapshot === true ? ' snapshot' : ''}`;
  });

const AGREED: NegotiatedSnapshot = {
  holdTimeSeconds: 30,
  asn4: true,
  families: [0x0101],
  addPathSend: [],
  addPathReceive: [],
} as never;
const state = (index: number, to: 'up' | 'down'): EventRow =>
  row({ kind: 'state', direction: 'unspecified', peer: index, state: to, reason: to === 'down' ? 'x' : '' });
const negotiated = (index: number): EventRow =>
  row({ kind: 'negotiated', direction: 'unspecified', peer: index, negotiated: AGREED });

const options = (sink: TextSink | BytesSink, more: object = {}) => ({
  name: 'late',
  tier: 0,
  transport: sink.transport,
  builtin: true,
  onFailure: () => assert.fail('failed'),
  ...more,
});

test('peers that are up, by index, as live events in their order; marked in meta; then live', async () => {
  const { bus, turn } = bench([peer(0), peer(1), peer(2)]);
  for (const index of [2, 0]) {
    bus.event(negotiated(index));
    bus.event(state(index, 'up'));
  }
  bus.event(state(1, 'up'));
  bus.event(state(1, 'down'));
  for (const sink of [new TextSink(), new BytesSink()]) {
    const handle = bus.attach(options(sink, { name: sink.transport.form }));
    handle.subscribe({ events: ['state', 'negotiated'] });
    handle.snapshot();
    bus.event(state(2, 'down'));
    bus.event(negotiated(2));
    bus.event(state(2, 'up'));
    await turn();
    assert.deepEqual(shown('texts' in sink ? sink.texts : sink.events), [
      '1 edge-0 negotiated snapshot',
      '2 edge-0 up snapshot',
      '3 edge-2 negotiated snapshot',
      '4 edge-2 up snapshot',
      '5 edge-2 down',
      '6 edge-2 negotiated',
      '7 edge-2 up',
    ]);
    handle.detach();
  }
});

const binding = (receive: readonly string[]): ProcessBinding => ({ process: 'late', receive, send: [] });
const GRANTS: readonly { what: string; subscribe: string[]; peers?: string[]; receive: string[]; got: string[] }[] = [
  {
    what: 'all of it',
    subscribe: ['*'],
    receive: ['state', 'negotiated'],
    got: ['1 edge-0 negotiated snapshot', '2 edge-0 up snapshot'],
  },
  { what: 'what it subscribed', subscribe: ['state'], receive: ['state', 'negotiated'], got: ['1 edge-0 up snapshot'] },
  { what: 'what it is granted', subscribe: ['*'], receive: ['negotiated'], got: ['1 edge-0 negotiated snapshot'] },
  { what: 'nothing without a subscription', subscribe: ['update'], receive: ['state', 'update'], got: [] },
  { what: 'nothing of other peers', subscribe: ['state'], peers: ['edge-1'], receive: ['state'], got: [] },
];
for (const { what, subscribe, peers = [], receive, got } of GRANTS) {
  test(`an external process gets ${what}`, async () => {
    const { bus, turn } = bench();
    bus.setBindings(new Map([['edge-0', [binding(receive)]]]));
    for (const index of [0, 1]) {
      bus.event(negotiated(index));
      bus.event(state(index, 'up'));
    }
    const sink = new TextSink();
    const handle = bus.attach(options(sink, { builtin: false }));
    handle.subscribe({ events: subscribe, peers });
    handle.snapshot();
    await turn();
    assert.deepEqual(shown(sink.texts), got);
  });
}

test('an envelope holds a snapshot as it holds the event; a text line is as ever', async () => {
  const { bus, turn } = bench();
  bus.event(state(0, 'up'));
  const [enveloped, lines] = [new TextSink(), new TextSink()];
  for (const [sink, more] of [
    [enveloped, { envelope: true }],
    [lines, { encoding: 'text' }],
  ] as const) {
    const handle = bus.attach(options(sink));
    handle.subscribe({ events: ['state'], ...more });
    handle.snapshot();
    await turn();
  }
  const { event, payload, meta } = JSON.parse(enveloped.texts[0] ?? '') as { event: string; payload: Shown; meta: Shown['meta'] };
  assert.deepEqual([event, payload.bgp.state, meta], ['state', 'up', { 'schema-version': 1, snapshot: true, seq: 1 }]);
  assert.deepEqual(lines.texts, ['peer 192.0.2.1 remote as 65001 state up\n']);
});

test('a peer that has left the configuration is not told of', async () => {
  const { bus, turn } = bench([peer(0), peer(1)]);
  bus.event(state(0, 'up'));
  bus.event(state(1, 'up'));
  bus.peers([peer(1)]);
  const sink = new TextSink();
  const handle = bus.attach(options(sink));
  handle.subscribe({ events: ['state'] });
  handle.snapshot();
  await turn();
  assert.deepEqual(shown(sink.texts), ['1 edge-1 up snapshot']);
});

test('whenever it starts: of each peer first the snapshot, if it is up, then every later change once and in order', async () => {
  const peers = [peer(0), peer(1), peer(2)];
  const change = fc.tuple(fc.nat({ max: 2 }), fc.constantFrom('up' as const, 'down' as const));
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { maxLength: 20 }),
      fc.array(fc.option(change), { maxLength: 20 }),
      async (before, after) => {
        const { bus, turn } = bench(peers);
        const up = new Set<number>();
        const live = ([index, to]: [number, 'up' | 'down']): boolean => {
          // As sessions do: they come up when down, and go down when up.
          if (up.has(index) === (to === 'up')) return false;
          if (to === 'up') up.add(index);
          else up.delete(index);
          if (to === 'up') bus.event(negotiated(index));
          bus.event(state(index, to));
          return true;
        };
        for (const one of before) live(one);
        const expected = [...up].sort().flatMap((index) => [`edge-${index} negotiated snapshot`, `edge-${index} up snapshot`]);
        const sink = new TextSink();
        const handle = bus.attach(options(sink));
        handle.subscribe({ events: ['state', 'negotiated'] });
        handle.snapshot();
        for (const one of after) {
          if (one === null) await turn();
          else if (live(one))
            expected.push(...(one[1] === 'up' ? [`edge-${one[0]} negotiated`] : []), `edge-${one[0]} ${one[1]}`);
        }
        for (let i = 0; i < 5; i++) await turn();
        assert.deepEqual(
          shown(sink.texts),
          expected.map((text, i) => `${i + 1} ${text}`),
        );
      },
    ),
    { numRuns: 200 },
  );
});

test('state events name roles that nobody performs for the peer', async () => {
  const { bus, turn } = bench();
  bus.setBindings(new Map([['edge-0', [binding(['state'])]]]));
  bus.setRoles((bindings) => (bindings.length > 0 ? ['bgp-peer-up-replay'] : []));
  const sink = new TextSink();
  const handle = bus.attach(options(sink));
  handle.subscribe({ events: ['state'] });
  bus.event(state(0, 'up'));
  bus.event(state(1, 'up'));
  handle.snapshot();
  await turn();
  const roles = sink.texts.map((text) => (JSON.parse(text) as { bgp: Record<string, unknown> }).bgp['unheld-roles']);
  assert.deepEqual(roles, [['bgp-peer-up-replay'], undefined, ['bgp-peer-up-replay'], undefined]);
});
