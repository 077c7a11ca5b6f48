// Chains of policies at a whole reactor: in their order, mixed with filters of plugins, on both ways, changed in the middle of sessions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compile as modify } from '../../../../plugins/bgp-filter-modify/index.ts';
import { compile as prefixList } from '../../../../plugins/bgp-filter-prefix/index.ts';
import { compile as role } from '../../../../plugins/bgp-role/index.ts';
import { compile as community } from '../../../../plugins/bgp-filter-community/index.ts';
import type { Policies } from '../../../../engine/bgp/port.ts';
import { UPDATE } from '../../../../sdk/wire/message.ts';
import type { Speaker } from '../lab.ts';
import { Lab, PLAIN, attributes, peerSettings, reactorSettings, toHex, until, update } from '../lab.ts';

const POLICIES: Policies = {
  'prefix-list:EVEN\t1': {
    kind: 'prefix-list',
    definition: {
      entry: [
        ['10.0.2.0/24', {}],
        ['10.0.4.0/24', {}],
        ['10.0.9.0/24', {}],
      ],
    },
  },
  'prefix-list:NONE\t1': { kind: 'prefix-list', definition: { entry: [] } },
  'modify:MED\t1': { kind: 'modify', definition: { set: { med: 7 } } },
  'modify:PREFER\t1': { kind: 'modify', definition: { set: { 'local-preference': 200 } } },
  'modify:LONG\t1': { kind: 'modify', definition: { set: { 'as-path-prepend': 2 } } },
  'community:egress\t1': { kind: 'community', definition: { tag: { standard: ['64500:1'] } } },
  'role:customer\t1': { kind: 'role', definition: { role: 'customer' } },
  'modify:BAD\t1': { kind: 'nobody', definition: {} },
};
const KINDS = { 'prefix-list': prefixList, modify, community, role };

async function labOf(peers: Parameters<typeof Lab.of>[0], more: Parameters<typeof Lab.of>[1] = {}): Promise<Lab> {
  const lab = await Lab.of(peers, { policies: POLICIES, ...more });
  for (const [kind, compile] of Object.entries(KINDS)) lab.reactor.routes.filterKind(kind, compile);
  return lab;
}

const net = (n: number): string => `180a00${n.toString(16).padStart(2, '0')}`;
const PATH = attributes(64502);
const MED7 = '800404 00000007'.replace(/ /g, '');
/** The eBGP form of `attributes(path)`: our AS in front, next hop ours. */
const exported = (...path: number[]): string =>
  attributes(64500, ...path)
    .replace('c0000209', '7f000001')
    .replace(/ /g, '');
const bodyOf = (withdrawn: string, block: string, nlri: string): string => toHex(update(withdrawn, block, nlri).slice(19));

function listen(lab: Lab): { readonly seen: string[]; readonly blocks: string[] } {
  const seen: string[] = [];
  const blocks: string[] = [];
  lab.reactor.routes.onUpdate((_peer, _id, view, treatAsWithdraw) => {
    const part = (at: number, length: number): string => toHex(view.bytes.slice(at, at + length));
    const [gone, come] = [part(view.withdrawnAt, view.withdrawnLength), part(view.nlriAt, view.nlriLength)];
    seen.push(treatAsWithdraw ? `${gone}${come}|` : `${gone}|${come}`);
    blocks.push(toHex(view.block.bytes.slice(view.block.at, view.block.at + view.block.length)));
  });
  return { seen, blocks };
}

async function heard(peer: Speaker): Promise<string> {
  for (;;) {
    const next = toHex(await peer.hears(UPDATE));
    if (next !== '00000000') return next;
  }
}

const forwardAll = (lab: Lab): void => lab.reactor.routes.onUpdate((peer, _id, view) => lab.reactor.routes.forward(view, peer));

test('an import chain takes prefixes out, and what stood of them is withdrawn', async () => {
  await using lab = await labOf([peerSettings(2, { importFilters: ['prefix-list:EVEN\t1'] })]);
  const { seen } = listen(lab);
  const peer = await lab.session(2);
  peer.send(
    update('', PATH, net(1) + net(2) + net(4)),
    update('', PATH, net(1)),
    update(net(2), '', ''),
    update('', PATH, net(4) + net(5)),
    update('', PATH, net(9)),
  );
  await until(() => seen.length === 4, 'four are heard of');
  assert.deepEqual(seen, [`|${net(2)}${net(4)}`, `${net(2)}|`, `|${net(4)}`, `|${net(9)}`]);
  const [snapshot] = await lab.reactor.snapshot();
  assert.equal(snapshot?.prefixes[0]?.received, 2);
  assert.deepEqual([snapshot.counters.importRejected, snapshot.counters.importModified], [1, 2]);
});

test('changes are made in the order of the chain; LOCAL_PREF of ours is kept', async () => {
  await using lab = await labOf([peerSettings(2, { importFilters: ['modify:MED\t1', 'modify:PREFER\t1'] })]);
  const { blocks } = listen(lab);
  const peer = await lab.session(2);
  peer.send(update('', PATH, net(1)));
  await until(() => blocks.length === 1, 'through');
  assert.equal(blocks[0], `${PATH.replace(/ /g, '')}${MED7}400504000000c8`);
});

test('policies and filters of plugins in one chain: each sees what the ones before made of it', async () => {
  await using lab = await labOf([
    peerSettings(2, { importFilters: ['prefix-list:EVEN\t1', 'modify:MED\t1', 'p:one', 'modify:PREFER\t1', 'p:two', 'p:three'] }),
  ]);
  const { seen, blocks } = listen(lab);
  lab.sink.reply = (question) =>
    question.kind === 'filter' && question.filters[0] === 'p:two'
      ? { kind: 'replace', body: update('', `${PATH} ${MED7}`, net(2)).slice(19) }
      : { kind: 'accept' };
  const peer = await lab.session(2);
  peer.send(update('', PATH, net(1) + net(2) + net(4)), update('', PATH, net(1) + net(3)));
  await until(() => seen.length === 1, 'through');
  await lab.reactor.statistics();
  const asked = lab.sink.asked.flatMap((one) => (one.kind === 'filter' ? [[one.filters, toHex(one.body)]] : []));
  assert.deepEqual(asked, [
    [['p:one'], bodyOf('', PATH + MED7, net(2) + net(4))],
    [['p:two', 'p:three'], bodyOf('', `${PATH}${MED7}400504000000c8`, net(2) + net(4))],
  ]);
  assert.deepEqual(seen, [`|${net(2)}`]);
  assert.equal(blocks[0], PATH.replace(/ /g, '') + MED7);
});

test('a kind that nobody runs rejects its routes and is reported, until somebody comes', async () => {
  await using lab = await labOf([peerSettings(2, { importFilters: ['modify:BAD\t1'] })]);
  const { seen } = listen(lab);
  const peer = await lab.session(2);
  peer.send(update('', PATH, net(1)));
  await until(() => lab.sink.codes().includes('policy-failed'), 'reported');
  assert.deepEqual(seen, []);
  lab.reactor.routes.filterKind('nobody', () => ({ judge: () => true }));
  peer.send(update('', PATH, net(2)));
  await until(() => seen.length === 1, 'through');
  assert.deepEqual(seen, [`|${net(2)}`]);
  assert.equal(lab.sink.reports.filter((one) => one.code === 'policy-failed').at(-1)?.clear, true);
});

test('an export chain: prefixes kept back, the path made longer, communities put in; without a chain the bytes as ever', async () => {
  await using lab = await labOf([
    peerSettings(2),
    peerSettings(3, { exportFilters: ['community:egress\t1', 'prefix-list:EVEN\t1', 'modify:LONG\t1'] }),
    peerSettings(4),
  ]);
  forwardAll(lab);
  const [source, filtered, plain] = [await lab.session(2), await lab.session(3), await lab.session(4)];
  source.send(
    update('', PATH, net(1) + net(2)),
    update('', PATH, net(3)),
    update(net(1) + net(2), '', ''),
    update('', PATH, net(9)),
  );
  assert.equal(await heard(plain), bodyOf('', exported(64502), net(1) + net(2)));
  const long = exported(64500, 64500, 64502);
  assert.equal(await heard(filtered), bodyOf('', `${long}c00804fbf40001`, net(2)));
  assert.equal(await heard(filtered), bodyOf(net(1) + net(2), '', ''));
  assert.equal(await heard(filtered), bodyOf('', `${long}c00804fbf40001`, net(9)));
});

test('what a group gets is judged once, whoever is in it; the source gets none of its own', async () => {
  const even = { exportFilters: ['counted:X\t1'] };
  await using lab = await labOf([peerSettings(2, even), peerSettings(3, even), peerSettings(4, even), peerSettings(5, even)], {
    policies: { 'counted:X\t1': { kind: 'counted', definition: {} } },
  });
  let judged = 0;
  const list = prefixList({ entry: [['10.0.2.0/24', {}]] });
  lab.reactor.routes.filterKind('counted', () => ({
    judge: (draft) => {
      judged++;
      return list.judge(draft);
    },
  }));
  forwardAll(lab);
  const [source, ...others] = [await lab.session(2), await lab.session(3), await lab.session(4), await lab.session(5)];
  source.send(update('', PATH, net(1) + net(2)));
  for (const other of others) assert.equal(await heard(other), bodyOf('', exported(64502), net(2)));
  assert.equal(judged, 1);
  assert.equal((await lab.reactor.statistics())['groups'], 1);
  assert.deepEqual(
    source.heard.filter(({ type, body }) => type === UPDATE && body.length > 4),
    [],
  );
});

test('peers with the same policies are one group, others are not; one with a plugin’s filter is alone', async () => {
  const even = { exportFilters: ['prefix-list:EVEN\t1'] };
  await using lab = await labOf([
    peerSettings(2),
    peerSettings(3, even),
    peerSettings(4, even),
    peerSettings(5, { exportFilters: ['modify:MED\t1'] }),
    peerSettings(6, { exportFilters: ['p:x'] }),
    peerSettings(7, { exportFilters: ['p:x'] }),
  ]);
  for (const host of [2, 3, 4, 5, 6, 7]) await lab.session(host);
  assert.equal((await lab.reactor.statistics())['groups'], 5);
});

test('what filters make longer than a message becomes several; nothing is lost', async () => {
  const many = Array.from({ length: 1000 }, (_, i) => `18${(0x0a0000 + i).toString(16).padStart(6, '0')}`);
  await using lab = await labOf([peerSettings(2), peerSettings(3, { exportFilters: ['community:egress\t1'] })]);
  forwardAll(lab);
  const [source, filtered] = [await lab.session(2), await lab.session(3)];
  // 4,096 octets as they leave: 33 of header, lengths and attributes, 1,015 prefixes; the community makes them too long.
  const full = [...many, ...Array.from({ length: 8 }, (_, i) => `18${(0x0b0000 + i).toString(16).padStart(6, '0')}`)];
  source.send(update('', PATH, full.join('')));
  const prefixes: string[] = [];
  let messages = 0;
  while (prefixes.length < full.length) {
    const message = await heard(filtered);
    assert(message.length / 2 + 19 <= 4096);
    assert.equal(message.includes('c00804fbf40001'), true);
    const at = 8 + 2 * Number.parseInt(message.slice(4, 8), 16);
    prefixes.push(...(message.slice(at).match(/.{8}/g) ?? []));
    messages++;
  }
  assert.deepEqual(prefixes.toSorted(), full.toSorted());
  assert(messages <= 3);
});

test('another export chain in the middle of a session: what it keeps back is withdrawn, the rest sent again', async () => {
  const before = [peerSettings(2), peerSettings(3, { exportFilters: ['modify:MED\t1'] })];
  await using lab = await labOf(before);
  forwardAll(lab);
  const [source, filtered] = [await lab.session(2), await lab.session(3)];
  const kept = [net(1), net(2)];
  lab.reactor.routes.onResend((peer, _family, done) => {
    const block = attributes(64502).replace(/ /g, '');
    for (const nlri of kept) {
      const bytes = Uint8Array.from(Buffer.from(nlri, 'hex'));
      const blockBytes = Uint8Array.from(Buffer.from(block, 'hex'));
      lab.reactor.routes.relay(peer, 0, 257, true, bytes, 0, bytes.length, blockBytes, blockBytes.length, new Uint8Array(0));
    }
    done();
  });
  source.send(update('', PATH, net(1) + net(2)));
  assert.equal(await heard(filtered), bodyOf('', exported(64502).replace('400304', '400304') + MED7, net(1) + net(2)));
  await lab.apply(
    reactorSettings([before[0]!, peerSettings(3, { exportFilters: ['prefix-list:EVEN\t1'] })], { policies: POLICIES }),
  );
  const next = [await heard(filtered), await heard(filtered)].toSorted();
  assert.deepEqual(next, [bodyOf('', exported(64502), net(2)), bodyOf(net(1), '', '')].toSorted());
});

const LOOPS: readonly (readonly [name: string, settings: Parameters<typeof peerSettings>[1], times: number, heard: boolean])[] = [
  ['our AS in the path', {}, 1, false],
  ['our AS once, allowed once', { loopDetection: { allowOwnAs: 1, clusterId: 0 } }, 1, true],
  ['our AS twice, allowed once', { loopDetection: { allowOwnAs: 1, clusterId: 0 } }, 2, false],
  ['switched off', { loopDetection: 'off' }, 3, true],
];

for (const [name, settings, times, passes] of LOOPS) {
  test(`loop detection: ${name}`, async () => {
    await using lab = await labOf([peerSettings(2, settings), peerSettings(3)]);
    const { seen } = listen(lab);
    const [peer, other] = [await lab.session(2), await lab.session(3)];
    const path = attributes(64502, ...new Array<number>(times).fill(64500));
    // Three times, so that the block is known; the neighbour with other rules has the same bytes.
    for (const n of [1, 2, 3]) peer.send(update('', path, net(n)));
    await until(() => seen.length === 3, 'all have come');
    other.send(update('', attributes(64503, 64500), net(7)));
    await until(() => seen.length === 4, 'the other as well');
    assert.deepEqual(
      seen.slice(0, 3),
      passes ? [`|${net(1)}`, `|${net(2)}`, `|${net(3)}`] : [`${net(1)}|`, `${net(2)}|`, `${net(3)}|`],
    );
    assert.equal(seen[3], `${net(7)}|`);
  });
}

test('RFC 9234: the capability is in the OPEN; a role that does not answer ours, or none in strict mode, is refused with 2/11', async () => {
  for (const [strict, roles, refused] of [
    [false, [], false],
    [true, [], true],
    [false, [3], true],
    [true, [0], false],
    [false, [0, 3], true],
  ] as const) {
    await using lab = await labOf([
      peerSettings(2, { role: { local: 'customer', strict }, importFilters: ['role:customer\t1'] }),
    ]);
    const { blocks } = listen(lab);
    const capabilities = roles.map((number) => ({ kind: 'role' as const, role: number }));
    if (refused) {
      const peer = await lab.connect(2);
      peer.send(peer.open([...PLAIN, ...capabilities]));
      assert.equal(await peer.notified(), '2/11', JSON.stringify([strict, roles]));
      continue;
    }
    const peer = await lab.session(2, [...PLAIN, ...capabilities]);
    peer.send(update('', PATH, net(1)));
    await until(() => blocks.length === 1, 'through');
    assert.equal(blocks[0], `${PATH.replace(/ /g, '')}c023040000fbf6`, 'OTC is the provider’s AS');
    const local = (await lab.reactor.snapshot())[0]?.negotiated?.localCapabilities.find(({ code }) => code === 9);
    assert.equal(local?.name, 'role');
  }
});
