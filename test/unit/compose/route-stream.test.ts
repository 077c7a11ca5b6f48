// `update-route` of a link: whatever way a command is read, it means what the parser says, and the commands keep their order.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Origination } from '../../../engine/bgp/port.ts';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import { RouteCommands } from '../../../engine/codec/route-command.ts';
import { RouteUpdates } from '../../../engine/command/route-updates.ts';
import type { ServiceParts } from '../../../engine/compose/call-parts.ts';
import type { Asker, RouteQueue } from '../../../engine/compose/originations.ts';
import { RouteCalls } from '../../../engine/compose/route-calls.ts';
import { RouteStream } from '../../../engine/compose/route-stream.ts';
import { toHex } from '../../../sdk/wire/bytes.ts';

const nobody = {
  decodeNlri: () => Promise.reject(new Error('nobody')),
  encodeNlri: () => Promise.reject(new Error('nobody')),
};
const PEERS = ['192.0.2.1', '192.0.2.2'];

/** A command as text, the same for both ways through the queue. */
function said({ owner, peers, attributes, nextHop, sections, meta = '' }: Origination): string {
  const parts = sections.map(
    ({ family, announce, withdraw, pathId, eor }) => `${family} +${toHex(announce)} -${toHex(withdraw)} ${pathId} ${eor}`,
  );
  return [owner, peers.join(','), toHex(attributes), toHex(nextHop), ...parts, meta].join(' | ');
}

function setUp() {
  const queued: string[] = [];
  const answers: string[] = [];
  const state = { granted: new Set([0, 1]), short: 0 };
  const updates = new RouteUpdates(
    new RouteCommands(new CodecRegistry()),
    nobody,
    { originate: () => Promise.reject(new Error('no reactor')) },
    (peer) => PEERS[peer] ?? '',
  );
  const take = (asker: Asker, id: number, bytes: number, text: string): void => {
    queued.push(text);
    asker.done(id, bytes, Uint32Array.of(1, 0, 2, queued.length), 0, []);
  };
  const queue: RouteQueue = {
    routes(asker, id, bytes, owner, peers, attributes, nextHop, family, announce, nlri, length) {
      const bare = { announce: new Uint8Array(0), withdraw: new Uint8Array(0), pathId: 0, eor: false, family };
      const section = { ...bare, [announce ? 'announce' : 'withdraw']: nlri.slice(0, length) };
      take(asker, id, bytes, said({ owner, peers, attributes, nextHop, sections: [section] }));
    },
    whole: (asker, id, bytes, origination) => take(asker, id, bytes, said(origination)),
  };
  const parts = {
    peers: { list: () => PEERS.map((remoteAddress, index) => ({ index, name: `p${index}`, group: '', remoteAddress })) },
    granted: (_plugin: string, _send: string, peer: number) => state.granted.has(peer),
    routes: updates,
    queue,
  } as unknown as ServiceParts;
  const stream = new RouteStream('p', new RouteCalls(parts), queue, new AbortController().signal);
  const replies = {
    ok: (id: number, bytes: number, json: string) => void answers.push(`${id} ${bytes} ${json}`),
    error: (id: number, bytes: number, error: unknown) => void answers.push(`${id} ${bytes} ${String(error)}`),
  };
  let last = 0;
  const send = (params: string): void => {
    const lines = Buffer.from(`#x ${params}\n#y {"peer-selector"`);
    stream.take(lines, 3, lines.lastIndexOf(0x0a), ++last, replies);
  };
  return { send, queued, answers, state, updates };
}

const params = (command: string, selector = '*'): string => JSON.stringify({ 'peer-selector': selector, command });
const A = 'update text next-hop 198.51.100.1 as-path [1 2]';

for (const [name, commands] of [
  ['the same beginning', [`${A} nlri ipv4/unicast add 10.0.0.0/8`, `${A} nlri ipv4/unicast add 10.1.0.0/16 10.2.0.0/15`]],
  ['other attributes', [`${A} nlri ipv4/unicast add 10.0.0.0/8`, `${A} med 5 nlri ipv4/unicast add 10.1.0.0/16`]],
  ['withdraws', ['update text nlri ipv4/unicast del 10.0.0.0/8', 'update text nlri ipv4/unicast del 10.1.0.0/16']],
  ['IPv6', ['update text nlri ipv6/unicast add 2001:db8::/32', 'update text nlri ipv6/unicast add ::/0 2001:db8:1::1']],
  ['bits past the length', [`${A} nlri ipv4/unicast add 10.0.0.0/8`, `${A} nlri ipv4/unicast add 10.255.1.1/9`]],
  [
    'bare addresses and odd ones',
    [`${A} nlri ipv4/unicast add 10.0.0.0/8`, `${A} nlri ipv4/unicast add 10.1.0.1 0.0.0.0/0 255.255.255.255/32 10.2.0.0/9`],
  ],
  ['commas', [`${A} nlri ipv4/unicast add 10.0.0.0/8`, `${A} nlri ipv4/unicast add 10.1.0.0/16,10.2.0.0/16`]],
  ['brackets', [`${A} nlri ipv4/unicast add 10.0.0.0/8`, `${A} nlri ipv4/unicast add [10.1.0.0/16 10.2.0.0/16]`]],
  ['two blanks', [`${A} nlri ipv4/unicast add 10.0.0.0/8`, `${A} nlri ipv4/unicast add 10.1.0.0/16  10.2.0.0/16 `]],
  ['both verbs', [`${A} nlri ipv4/unicast add 10.0.0.0/8`, `${A} nlri ipv4/unicast add 10.1.0.0/16 del 10.2.0.0/16`]],
  [
    'two verbs of a kind',
    [`${A} nlri ipv4/unicast add 10.0.0.0/8 add 10.9.0.0/16`, `${A} nlri ipv4/unicast add 10.0.0.0/8 add 10.8.0.0/16`],
  ],
  ['a second section', [`${A} nlri ipv4/unicast add 10.0.0.0/8`, `${A} nlri ipv4/unicast add 10.1.0.0/16 nlri ipv4/unicast eor`]],
  [
    'a path of its own',
    [
      'update text nlri ipv4/unicast path-information 5 add 10.0.0.0/8',
      'update text nlri ipv4/unicast path-information 5 add 10.1.0.0/16',
    ],
  ],
  ['End-of-RIB', ['update text nlri ipv4/unicast eor', 'update text nlri ipv4/unicast eor']],
  ['hex', ['update hex attr set 400101004002004003040a000001 nlri ipv4/unicast add 080a']],
] as const) {
  test(`a command means what the parser says: ${name}`, () => {
    const { send, queued, updates } = setUp();
    const expected: string[] = [];
    for (const command of [...commands, ...commands]) {
      const prepared = updates.prepare('plugin:p', [0, 1], command);
      if (prepared?.ok === true) expected.push(said(prepared.value));
      else assert.throws(() => send(params(command)));
      if (prepared?.ok === true) send(params(command));
    }
    assert.deepEqual(queued, expected);
  });
}

for (const [name, tail, message] of [
  ['a bad prefix', '10.1.0.0/33', /invalid prefix: 10\.1\.0\.0\/33 \(column \d+\)/],
  ['a leading zero', '10.01.0.0/16', /invalid prefix: 10\.01\.0\.0\/16 \(column \d+\)/],
  ['a length with a leading zero', '10.1.0.0/08', /invalid prefix: 10\.1\.0\.0\/08 \(column \d+\)/],
  ['a length that is missing', '10.1.0.0/', /invalid prefix: 10\.1\.0\.0\/ \(column \d+\)/],
  ['five parts', '10.1.0.0.0/16', /invalid prefix: 10\.1\.0\.0\.0\/16 \(column \d+\)/],
  ['a bad prefix behind a good one', '10.1.0.0/16 10.256.0.0/16', /invalid prefix: 10\.256\.0\.0\/16 \(column \d+\)/],
  ['another family', '2001:db8::/32', /does not belong to ipv4\/unicast/],
  ['a word', '10.1.0.0/16 med', /attributes must precede/],
  ['nothing', '', /add requires a prefix/],
] as const) {
  test(`what follows a known beginning is refused as ever: ${name}`, () => {
    const { send, queued } = setUp();
    send(params(`${A} nlri ipv4/unicast add 10.0.0.0/8`));
    assert.throws(() => send(params(`${A} nlri ipv4/unicast add ${tail}`)), message);
    send(params(`${A} nlri ipv4/unicast add 10.3.0.0/16`));
    assert.equal(queued.length, 2);
  });
}

test('every spelling of the JSON is understood, and metadata goes with its command alone', () => {
  const { send, queued } = setUp();
  const command = `${A} nlri ipv4/unicast add 10.0.0.0/8`;
  const spellings = [
    params(command),
    `{ "peer-selector": "*", "command": ${JSON.stringify(command)} }`,
    JSON.stringify({ command }),
    params(command).replace('update', '\\u0075pdate'),
    JSON.stringify({ 'peer-selector': '*', command, meta: {} }),
    params(command),
  ];
  for (const spelling of spellings) send(spelling);
  assert.deepEqual(new Set(queued).size, 1);
  send(JSON.stringify({ 'peer-selector': '*', command, meta: { a: 1 } }));
  assert.match(queued.at(-1) ?? '', /\{"a":1\}$/);
  send(params(command));
  assert.equal(queued.at(-1), queued[0]);
});

test('grants and next hops count for each command: at the latest from the next turn on', async () => {
  const { send, queued, state } = setUp();
  const own = (prefix: string): string => params(`update text next-hop 192.0.2.2 nlri ipv4/unicast add ${prefix}`);
  send(own('10.0.0.0/8'));
  send(own('10.1.0.0/16'));
  state.granted.delete(1);
  await new Promise((resolve) => setImmediate(resolve));
  send(params(`${A} nlri ipv4/unicast add 10.0.0.0/8`));
  state.granted.add(1);
  state.granted.delete(0);
  await new Promise((resolve) => setImmediate(resolve));
  send(params(`${A} nlri ipv4/unicast add 10.0.0.0/8`));
  assert.throws(() => send(own('10.2.0.0/16')), /192\.0\.2\.2 is the peer's own address/);
  state.granted.clear();
  await new Promise((resolve) => setImmediate(resolve));
  assert.throws(() => send(params(`${A} nlri ipv4/unicast add 10.0.0.0/8`)), /p may not send updates to "\*"/);
  assert.deepEqual(
    queued.map((text) => text.split(' | ')[1]),
    ['0', '0', '0', '1'],
  );
});

test('a command has its own answer, under its id', () => {
  const { send, answers } = setUp();
  const text = params(`${A} nlri ipv4/unicast add 10.0.0.0/8`);
  send(text);
  send(text);
  assert.deepEqual(
    answers,
    [1, 2].map((n) => `${n} ${text.length} {"announced":1,"withdrawn":0,"peers-affected":2,"routes-sent":${n}}`),
  );
  assert.throws(() => send(params(`${A} nlri ipv4/unicast add 10.0.0.0/8`, 'nobody')), /no peer matches "nobody"/);
  assert.throws(() => send('{"command":5}'), /invalid update-route params: command is not a string/);
});
