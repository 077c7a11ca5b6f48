// Routes that plugins hand to the reactor as bytes: kept ones relayed to a peer, UPDATE bodies of sources without a session, and the cache
// in the operator's hands.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredRoute } from '../../../../engine/bgp/port.ts';
import type { TypedCapability } from '../../../../sdk/wire/capability/typed.ts';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../../../sdk/wire/family.ts';
import { UPDATE } from '../../../../sdk/wire/message.ts';
import type { Speaker } from '../lab.ts';
import { Lab, PLAIN, attributes, family, hex, peerSettings, toHex, until, update } from '../lab.ts';

/** The next UPDATE that is not an End-of-RIB, as hex of its body. */
async function heard(peer: Speaker): Promise<string> {
  for (;;) {
    const body = toHex(await peer.hears(UPDATE));
    if (body.length > 20) return body;
  }
}

const body = (withdrawn: string, block: string, nlri: string): string => toHex(update(withdrawn, block, nlri).slice(19));
/** The eBGP form of `attributes(path)`: our AS in front, next hop ours. */
const exported = (...path: number[]): string => attributes(64500, ...path).replace('c0000209', '7f000001');
const DUAL: readonly TypedCapability[] = [...PLAIN, { kind: 'multiprotocol', family: IPV6_UNICAST }];
const both = [family(IPV4_UNICAST), family(IPV6_UNICAST)];

const route = (more: Partial<StoredRoute> = {}): StoredRoute => ({
  source: '127.0.0.2',
  family: IPV4_UNICAST,
  attributes: hex(attributes(64502)),
  nextHop: hex('c0000209'),
  nlri: hex('180a0000'),
  pathId: 0,
  framing: 'prefix-only',
  ...more,
});
const without = (block: string, code: string): Uint8Array =>
  hex(block.replace(/\s/g, '').replace(new RegExp(`${code}04[0-9a-f]{8}`), ''));

test('a relayed route leaves as its source would have sent it: AS in front, next hop ours, MP attributes taken apart', async () => {
  await using lab = await Lab.of([peerSettings(2, { families: both }), peerSettings(3, { families: both })]);
  await lab.session(2, DUAL);
  const peer = await lab.session(3, DUAL);
  assert.deepEqual(await lab.reactor.relayStored(1, [route()]), ['']);
  assert.equal(await heard(peer), body('', exported(64502), '180a0000'));
  // The next hop among the attributes does where none is given apart.
  assert.deepEqual(await lab.reactor.relayStored(1, [route({ nextHop: hex('') })]), ['']);
  assert.equal(await heard(peer), body('', exported(64502), '180a0000'));
  const mp = hex(
    `${attributes(64502)} 900e0023 000201 10 20010db8000000000000000000000001 00 3020010db80001 3020010db80002`.replace(/ /g, ''),
  );
  assert.deepEqual(
    await lab.reactor.relayStored(1, [
      route({
        family: IPV6_UNICAST,
        attributes: mp,
        nextHop: hex('20010db8000000000000000000000009'),
        nlri: hex('3020010db80007'),
      }),
    ]),
    [''],
  );
  const sent = await heard(peer);
  assert.match(sent, /3020010db80007$/);
  assert.ok(!sent.includes('20010db80002') && !sent.includes('20010db80000000000000000000000090'));
});

test('path identifiers: told apart or in front, renamed for the destination, refused where nobody knows', async () => {
  const addPath = (direction: 'send' | 'receive'): readonly TypedCapability[] => [
    ...PLAIN,
    { kind: 'addpath', families: [{ family: IPV4_UNICAST, mode: direction }] },
  ];
  await using lab = await Lab.of([
    peerSettings(2, { families: [family(IPV4_UNICAST, { addPath: 'receive' })] }),
    peerSettings(3, { families: [family(IPV4_UNICAST, { addPath: 'send' })] }),
    peerSettings(4),
  ]);
  await lab.session(2, addPath('send'));
  const [many, plain] = [await lab.session(3, addPath('receive')), await lab.session(4)];
  assert.deepEqual(await lab.reactor.relayStored(1, [route({ pathId: 7 })]), ['']);
  const first = await heard(many);
  assert.deepEqual(await lab.reactor.relayStored(1, [route({ framing: 'source-wire', nlri: hex('00000007180a0000') })]), ['']);
  assert.equal(await heard(many), first, 'both framings say the same');
  assert.match(first, /[0-9a-f]{8}180a0000$/);
  assert.deepEqual(await lab.reactor.relayStored(2, [route({ pathId: 7 })]), ['']);
  assert.equal(await heard(plain), body('', exported(64502), '180a0000'));
  const [refused] = await lab.reactor.relayStored(2, [route({ framing: 'unrecorded' })]);
  assert.match(refused ?? '', /nlri-framing is not recorded, and 127\.0\.0\.2 sends path identifiers/);
});

for (const [name, more, expected] of [
  ['an unknown source', { source: '192.0.2.1' }, /source-peer 192.0.2.1 is not configured/],
  ['its own source', { source: '127.0.0.3' }, /is the destination/],
  ['a family the destination does not speak', { family: IPV6_UNICAST }, /ipv6\/unicast was not negotiated/],
  ['no next hop anywhere', { nextHop: hex(''), attributes: without(attributes(64502), '4003') }, /there is no next hop/],
  ['an unusable next hop', { nextHop: hex('e0000001') }, /attribute 3: unusable next hop address/],
  ['no AS path', { attributes: hex('40010100') }, /attribute 2: mandatory attribute missing/],
  ['a bad origin', { attributes: hex('40010109 4002060201 0000fbf6'.replace(/ /g, '')) }, /attribute 1: undefined value/],
  ['attributes cut short', { attributes: hex('400101') }, /attribute list cut short/],
  ['two routes', { nlri: hex('180a0000180a0001') }, /must be one route/],
  ['a prefix of 33 bits', { nlri: hex('210a00000000') }, /malformed NLRI/],
  ['source-wire of a session that is down', { framing: 'source-wire' }, /the session of 127.0.0.2 is down/],
] as const) {
  test(`a relayed route is refused alone: ${name}`, async () => {
    await using lab = await Lab.of([peerSettings(2), peerSettings(3)]);
    const peer = await lab.session(3);
    const [bad, good] = await lab.reactor.relayStored(1, [route(more), route()]);
    assert.match(bad ?? '', expected);
    assert.equal(good, '');
    assert.equal(await heard(peer), body('', exported(64502), '180a0000'));
  });
}

test('nothing is relayed to who is not there', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  assert.deepEqual(await lab.reactor.relayStored(9, [route()]), ['no such peer']);
  assert.deepEqual(await lab.reactor.relayStored(0, [route()]), ['the session of the destination is not established']);
});

test('an injected body is on the route path as from a neighbour of that name, until its owner goes', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const told: string[] = [];
  const { routes } = lab.reactor;
  const inject = (text: string, key = '192.0.2.77', owner = 'p'): Promise<string | undefined> =>
    lab.reactor.inject(owner, 'bmp', key, hex(text));
  assert.equal(await inject(body('', attributes(65001), '180a0000')), 'no route injector registered');
  routes.onPeerUp((peer, families, done) => {
    told.push(`up ${peer} ${routes.peers.name(peer)} ${routes.external(peer)} ${routes.routerId(peer)} ${families.length}`);
    done();
  });
  routes.onPeerDown((peer) => told.push(`down ${peer}`));
  routes.onUpdate((peer, _id, view, withdraw) =>
    told.push(`update ${peer} +${view.nlriCount} -${view.withdrawnCount} ${withdraw}`),
  );
  routes.countPrefixes(() => 0);
  assert.equal(await inject(body('180a0000', '', '')), undefined, 'nothing is withdrawn from a source without routes');
  assert.equal(await inject('00000000'), undefined, 'End-of-RIB');
  assert.deepEqual(told, []);
  assert.equal(await inject(body('', attributes(65001), '180a0000180a0001')), undefined);
  assert.equal(await inject(body('180a0000', '', '')), undefined);
  assert.equal(await inject(body('', attributes(64500), '180a0001')), undefined);
  assert.equal(await inject(body('', attributes(65001), '180a0000'), 'router|1'), undefined);
  assert.equal(await inject(body('', attributes(65001), '180a0000'), '192.0.2.77', 'other'), undefined);
  lab.reactor.eject('p');
  assert.deepEqual(told, [
    `up 1 bmp:192.0.2.77 true 3221226061 0`,
    'update 1 +2 -0 false',
    'update 1 +0 -1 false',
    'update 1 +1 -0 true',
    `up 2 bmp:router|1 true 4294967295 0`,
    'update 2 +1 -0 false',
    `up 3 bmp:192.0.2.77 true 3221226061 0`,
    'update 3 +1 -0 false',
    'down 1',
    'down 2',
  ]);
  assert.deepEqual([routes.peers.name(1), routes.peers.name(3)], ['', 'bmp:192.0.2.77']);
});

for (const [name, text, protocol, key, expected] of [
  ['three bytes', '000000', 'bmp', 'k', /UPDATE body too short: 3 bytes/],
  ['sections past the end', '0000ffff', 'bmp', 'k', /sections exceed the message/],
  ['no AS path', body('', '40010100 400304c0000209', '180a0000'), 'bmp', 'k', /attribute 2: mandatory attribute missing/],
  ['an ORIGIN of two bytes', body('', '4001020000 400200 400304c0000209', '180a0000'), 'bmp', 'k', /attribute 1: wrong length/],
  ['a prefix of 33 bits', body('', attributes(65001), '21'), 'bmp', 'k', /malformed NLRI/],
  [
    'next hop 0.0.0.0',
    body('', attributes(65001).replace('c0000209', '00000000'), '180a0000'),
    'bmp',
    'k',
    /attribute 3: unusable next hop/,
  ],
  ['a protocol with blanks', body('', attributes(65001), '180a0000'), 'b m p', 'k', /bad protocol "b m p"/],
  ['a key that is a list', body('', attributes(65001), '180a0000'), 'bmp', 'a,b', /bad peer-key "a,b"/],
  ['no key', body('', attributes(65001), '180a0000'), 'bmp', '', /bad peer-key ""/],
] as const) {
  test(`an injected body is refused and nothing done: ${name}`, async () => {
    await using lab = await Lab.of([peerSettings(2)]);
    let told = 0;
    lab.reactor.routes.countPrefixes(() => 0);
    lab.reactor.routes.onUpdate(() => told++);
    assert.match((await lab.reactor.inject('p', protocol, key, hex(text))) ?? '', expected);
    assert.equal(told, 0);
  });
}

test('an operator lists, keeps, forwards, releases and drops cached updates', async () => {
  await using lab = await Lab.of([peerSettings(2), peerSettings(3)]);
  lab.reactor.cacheConsumer('plugin', 'ordered');
  const [source, peer] = [await lab.session(2), await lab.session(3)];
  source.send(update('', attributes(64502), '180a0000'), update('', attributes(64502), '180a0001'));
  const list = await until(async () => {
    const entries = await lab.reactor.cached();
    return entries.length === 2 && entries;
  }, 'both are cached');
  const [first = 0, second = 0] = list.map((entry) => entry.id);
  assert.deepEqual(
    list.map((entry) => [entry.peer, entry.consumers]),
    [
      [0, ['plugin']],
      [0, ['plugin']],
    ],
  );
  assert.deepEqual(await lab.reactor.manageCached([first, 9999], 'retain', []), [9999]);
  assert.equal(await lab.reactor.releaseCached('plugin', [first]), undefined);
  assert.deepEqual(await lab.reactor.manageCached([first], 'forward', [1]), []);
  assert.equal(await heard(peer), body('', exported(64502), '180a0000'));
  // Cumulative: what an ordered consumer is past is no error, and is not sent again.
  assert.equal(await lab.reactor.forwardCached('plugin', [first], [1]), undefined);
  assert.deepEqual(await lab.reactor.manageCached([first], 'release', []), []);
  assert.deepEqual(await lab.reactor.manageCached([first], 'forward', [1]), [first]);
  assert.deepEqual(await lab.reactor.manageCached([second], 'expire', []), []);
  assert.equal(await lab.reactor.releaseCached('plugin', [second + 1000]), `update-id expired or not found: ${second + 1000}`);
  assert.deepEqual(await lab.reactor.cached(), []);
});
