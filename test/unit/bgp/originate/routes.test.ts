// The route path through a whole reactor: limits, filters, refresh, originated, forwarded and cached routes, as peers see them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessagePort } from 'node:worker_threads';
import { MessageChannel } from 'node:worker_threads';
import { ManualClock } from '../../../../engine/core/clock.ts';
import type { FilterStep, Verdict } from '../../../../engine/bgp/filter/pipeline.ts';
import { OriginationWriter } from '../../../../engine/bgp/originate/origination-batch.ts';
import type { Origination } from '../../../../engine/bgp/port.ts';
import type { RoutePath } from '../../../../sdk/plugin/route-path.ts';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../../../sdk/wire/family.ts';
import { ROUTE_REFRESH, UPDATE, keepalive, message as frame } from '../frames.ts';
import type { Speaker } from '../lab.ts';
import { Lab, PLAIN, attributes, family, hex, peerSettings, reactorSettings, toHex, until, update } from '../lab.ts';

/** The next UPDATE that is not an End-of-RIB, as hex of its body. */
async function heard(peer: Speaker): Promise<string> {
  for (;;) {
    const body = toHex(await peer.hears(UPDATE));
    if (body !== '00000000') return body;
  }
}

/** The eBGP form of `attributes(path)`: our AS in front, next hop ours. */
const exported = (...path: number[]): string =>
  attributes(64500, ...path)
    .replace('c0000209', '7f000001')
    .replace(/ /g, '');
const body = (withdrawn: string, block: string, nlri: string): string => toHex(update(withdrawn, block, nlri).slice(19));

test('prefix limit: withdrawals of a message count before its announcements; one more is Cease 6/1 with AFI, SAFI and maximum', async () => {
  const clock = new ManualClock();
  const limited = peerSettings(2, {
    families: [family(IPV4_UNICAST, { prefixMaximum: 2, prefixWarning: 1, idleTimeoutSeconds: 10 })],
  });
  await using lab = await Lab.of([limited], {}, clock);
  const peer = await lab.session(2);
  const announce = (withdrawn: string, ...nlri: string[]): Uint8Array => update(withdrawn, attributes(64502), nlri.join(''));
  peer.send(announce('', '180a0000', '180a0100'), announce('', '180a0000'), announce('180a0100', '180a0200'), keepalive());
  await until(() => lab.sink.codes().includes('prefix-threshold'), 'the warning');
  assert.equal(await lab.state(2), 'established');
  assert.equal((await lab.reactor.snapshot())[0]?.prefixes[0]?.received, 2);
  peer.send(announce('', '180a0300'));
  assert.equal(await peer.notified(), '6/1 00010100000002');
  for (const idle of [10_000, 20_000]) {
    assert.equal(await lab.state(2), 'idle');
    clock.advance(idle - 1);
    assert.equal(await lab.state(2), 'idle');
    clock.advance(1);
    const again = await lab.session(2);
    again.send(announce('', '180a0000', '180a0100', '180a0200'));
    await again.notified();
  }
});

test('prefix limit without an idle time: down until the operator or the configuration says otherwise', async () => {
  await using lab = await Lab.of([peerSettings(2, { families: [family(IPV4_UNICAST, { prefixMaximum: 1 })] })]);
  const peer = await lab.session(2);
  peer.send(update('', attributes(64502), '180a0000180a0100'));
  await peer.notified();
  await until(async () => (await lab.reactor.snapshot())[0]?.adminDown === true, 'down');
  const refused = await lab.connect(2);
  await refused.ends();
  await lab.reactor.teardown(0, 4, '');
  await lab.session(2);
});

test('prefix limit without teardown: the session stays, what is above the limit is not accepted', async () => {
  await using lab = await Lab.of([
    peerSettings(2, { families: [family(IPV4_UNICAST, { prefixMaximum: 2, prefixTeardown: false })] }),
  ]);
  const seen: string[] = [];
  lab.reactor.routes.onUpdate((_peer, _id, view, withdraw) => seen.push(`${withdraw ? '-' : '+'}${view.nlriCount}`));
  const peer = await lab.session(2);
  peer.send(
    update('', attributes(64502), '180a0000180a0100'),
    update('', attributes(64502), '180a0200'),
    update('', attributes(64502), '180a0000'),
  );
  await until(() => seen.length === 4, 'all are seen');
  assert.deepEqual(seen, ['+2', '+1', '-1', '+1']);
  assert.deepEqual(lab.sink.codes(), ['prefix-maximum']);
  assert.equal(await lab.state(2), 'established');
});

test('filter steps run in order, may take their time, and never let a later message of the peer overtake', async () => {
  const answers: ((verdict: Verdict) => void)[] = [];
  const steps: readonly FilterStep[] = [
    { name: 'now', run: ({ bytes, at, length }) => (bytes[at + length - 1] === 9 ? { kind: 'reject' } : { kind: 'accept' }) },
    {
      name: 'later',
      run: ({ bytes, at, length }) =>
        bytes[at + length - 1] === 1 ? new Promise((resolve) => answers.push(resolve)) : { kind: 'accept' },
    },
  ];
  await using lab = await Lab.of([peerSettings(2), peerSettings(3)], {}, undefined, {
    steps: (peer) => (peer.name === 'p2' ? steps : []),
  });
  const seen: string[] = [];
  lab.reactor.routes.onUpdate((index, _id, view) =>
    seen.push(`${index}:${toHex(view.bytes.slice(view.nlriAt, view.nlriAt + view.nlriLength))}`),
  );
  const [slow, other] = [await lab.session(2), await lab.session(3)];
  const prefix = (n: number): Uint8Array => update('', attributes(64502), `180a00${n.toString(16).padStart(2, '0')}`);
  slow.send(prefix(0), prefix(1), prefix(2), prefix(9), prefix(3));
  await until(() => answers.length === 1, 'the step is asked');
  other.send(update('', attributes(64503), '180b0000'));
  await until(() => seen.length === 2, 'the other peer is not held up');
  assert.deepEqual([...seen].sort(), ['0:180a0000', '1:180b0000']);
  answers[0]?.({ kind: 'replace', message: update('', attributes(64502), '180c0000') });
  await until(() => seen.length === 5, 'the rest follows');
  assert.deepEqual(seen.slice(2), ['0:180c0000', '0:180a0002', '0:180a0003']);
});

test('a filter step that fails drops its message and says so; a session that ends while it waits hears nothing of it', async () => {
  const answers: ((verdict: Verdict) => void)[] = [];
  let asked = 0;
  const steps: readonly FilterStep[] = [
    { name: 'f', run: () => (++asked === 1 ? Promise.reject(new Error('no')) : new Promise((resolve) => answers.push(resolve))) },
  ];
  await using lab = await Lab.of([peerSettings(2)], {}, undefined, { steps: () => steps });
  let seen = 0;
  lab.reactor.routes.onUpdate(() => seen++);
  const peer = await lab.session(2);
  peer.send(update('', attributes(64502), '180a0000'), update('', attributes(64502), '180a0100'));
  await until(() => answers.length === 1, 'the second is asked for');
  assert(lab.sink.codes().includes('filter-failed'));
  peer.destroy();
  await until(async () => (await lab.state(2)) === 'active', 'down');
  answers[0]?.({ kind: 'accept' });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(seen, 0);
});

test('originate: defaults are filled in for each kind of peer, one build for peers alike, results are counted', async () => {
  await using lab = await Lab.of([peerSettings(2), peerSettings(3), peerSettings(4, { remoteAs: 64500 })]);
  const [a, b] = [await lab.session(2), await lab.session(3)];
  const internal = await lab.connect(4);
  internal.send(internal.open(PLAIN, 90, { as: 64500 }), keepalive());
  await until(async () => (await lab.state(4)) === 'established', 'the internal peer is up');
  const [result] = await lab.reactor.originate([
    {
      owner: 'test',
      peers: [0, 1, 2, 9],
      attributes: hex('c0080400010002'),
      nextHop: hex(''),
      sections: [{ family: IPV4_UNICAST, announce: hex('180a0000180a0100'), withdraw: hex('180b0000'), pathId: 0, eor: false }],
    },
  ]);
  assert.deepEqual(result, { announced: 2, withdrawn: 1, peersAffected: 3, routesSent: 9, warnings: [] });
  const external = body('', '40010100 400206020 10000fbf4 4003047f000001 c0080400010002'.replace(/ /g, ''), '180a0000180a0100');
  for (const peer of [a, b]) {
    assert.equal(await heard(peer), body('180b0000', '', ''));
    assert.equal(await heard(peer), external);
  }
  assert.equal(await heard(internal), body('180b0000', '', ''));
  assert.equal(
    await heard(internal),
    body('', '40010100 400200 4003047f000001 40050400000064 c0080400010002', '180a0000180a0100'),
  );
});

test('originate: routes with equal attributes share an UPDATE, unless the peer wants one each', async () => {
  for (const groupUpdates of [true, false]) {
    await using lab = await Lab.of([peerSettings(2, { groupUpdates })]);
    const peer = await lab.session(2);
    await peer.hears(UPDATE);
    const one = (prefix: string) => ({
      owner: 'test',
      peers: [0],
      attributes: hex('400200'),
      nextHop: hex('c0000201'),
      sections: [{ family: IPV4_UNICAST, announce: hex(prefix), withdraw: hex(''), pathId: 0, eor: false }],
    });
    await lab.reactor.originate([one('180a0000'), one('180a0100')]);
    const first = await heard(peer);
    const block = '40010100 400200 400304c0000201';
    assert.equal(first, body('', block, groupUpdates ? '180a0000180a0100' : '180a0000'));
    if (!groupUpdates) assert.equal(await heard(peer), body('', block, '180a0100'));
  }
});

test('originate: as columns it is the same, command by command', async () => {
  const none = hex('');
  const run = { family: IPV4_UNICAST, announce: none, withdraw: none, pathId: 0, eor: false };
  const one = { owner: 'test', peers: [0, 1], attributes: hex('400200'), nextHop: hex('c0000201') };
  const commands: readonly Origination[] = [
    { ...one, sections: [{ ...run, announce: hex('180a0000') }] },
    { ...one, sections: [{ ...run, announce: hex('180a0100180a0200') }] },
    { ...one, sections: [{ ...run, withdraw: hex('180a0100') }] },
    { ...one, sections: [{ ...run, family: IPV6_UNICAST, withdraw: hex('2020010db8') }] },
    { ...one, meta: '{"a":1}', sections: [{ ...run, announce: hex('180a0300') }] },
    { ...one, peers: [1], attributes: hex('40020080040400000005'), sections: [{ ...run, announce: hex('180a0400') }] },
    { ...one, owner: 'other', peers: [0], nextHop: none, sections: [{ ...run, announce: hex('180a0500') }] },
    { ...one, owner: 'other', peers: [0], nextHop: none, sections: [{ ...run, withdraw: hex('180a0500') }] },
  ];
  const seen: string[][] = [];
  const results: unknown[] = [];
  for (const columns of [false, true]) {
    await using lab = await Lab.of([peerSettings(2), peerSettings(3)]);
    const peers = [await lab.session(2), await lab.session(3)];
    const told: string[] = [];
    lab.reactor.routes.onOriginated((owner, peer, family, announce, nlri, at, length, pathId, block, hop, meta) =>
      told.push(
        [owner, peer, family, announce, toHex(nlri.slice(at, at + length)), pathId, toHex(block), toHex(hop), meta].join(' '),
      ),
    );
    if (columns) {
      const writer = new OriginationWriter();
      for (const command of commands) {
        const { owner, peers: to, attributes: block, nextHop, sections } = command;
        const { family: of, announce, withdraw } = sections[0]!;
        const nlri = announce.length > 0 ? announce : withdraw;
        if (command.meta === undefined) writer.routes(owner, to, block, nextHop, of, nlri === announce, nlri, nlri.length);
        else writer.whole(command);
      }
      const batch = structuredClone(writer.take());
      assert.deepEqual([batch.commands, writer.take().commands], [commands.length, 0]);
      const { counts, warnings } = await lab.reactor.originateBatch(batch);
      results.push(
        commands.map((_, i) => [...counts.slice(4 * i, 4 * i + 4), warnings.find(({ command }) => command === i)?.texts ?? []]),
      );
    } else {
      results.push(
        (await lab.reactor.originate(commands)).map((result) => [
          result.announced,
          result.withdrawn,
          result.peersAffected,
          result.routesSent,
          result.warnings,
        ]),
      );
    }
    for (const peer of peers) for (let i = 0; i < 4; i++) told.push(await heard(peer));
    seen.push(told);
  }
  assert.deepEqual(results[1], results[0]);
  assert.deepEqual(seen[1], seen[0]);
});

test('originate: what cannot be sent is said; a peer that is down gets it when it comes up; disown takes it back', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const route = {
    owner: 'x',
    peers: [0],
    attributes: hex(''),
    nextHop: hex('c0000201'),
    sections: [{ family: IPV4_UNICAST, announce: hex('180a0000'), withdraw: hex(''), pathId: 0, eor: false }],
  };
  assert.equal((await lab.reactor.originate([route]))[0]?.announced, 1);
  const peer = await lab.session(2);
  assert.equal(await heard(peer), body('', '40010100 400206020 10000fbf4 400304c0000201'.replace(/ /g, ''), '180a0000'));
  const v6 = {
    ...route,
    sections: [{ family: IPV6_UNICAST, announce: hex('3020010db80000'), withdraw: hex(''), pathId: 0, eor: false }],
  };
  const [refused] = await lab.reactor.originate([v6]);
  assert.deepEqual(refused, {
    announced: 0,
    withdrawn: 0,
    peersAffected: 0,
    routesSent: 0,
    warnings: ['ipv6/unicast: no peer has negotiated this family'],
  });
  await lab.reactor.disown('x');
  assert.equal(await heard(peer), body('180a0000', '', ''));
});

test('originate: End-of-RIB of a section comes after what was announced before', async () => {
  await using lab = await Lab.of([peerSettings(2, { manualEor: true })]);
  const peer = await lab.session(2);
  const base = { owner: 'x', peers: [0], attributes: hex('400200'), nextHop: hex('c0000201') };
  await lab.reactor.originate([
    { ...base, sections: [{ family: IPV4_UNICAST, announce: hex('180a0000'), withdraw: hex(''), pathId: 0, eor: false }] },
    { ...base, sections: [{ family: IPV4_UNICAST, announce: hex(''), withdraw: hex(''), pathId: 0, eor: true }] },
  ]);
  assert.equal(toHex(await peer.hears(UPDATE)), body('', '40010100 400200 400304c0000201', '180a0000'));
  assert.equal(toHex(await peer.hears(UPDATE)), '00000000');
  assert.equal((await lab.reactor.snapshot())[0]?.counters.eorSent, 1);
});

test('forward: to every other peer, our AS in front, next hop ours, MED gone; never back to the source', async () => {
  await using lab = await Lab.of([peerSettings(2), peerSettings(3), peerSettings(4)]);
  lab.reactor.routes.onUpdate((peer, _id, view) => lab.reactor.routes.forward(view, peer));
  const [source, a, b] = [await lab.session(2), await lab.session(3), await lab.session(4)];
  for (const peer of [source, a, b]) await peer.hears(UPDATE);
  source.send(update('180b0000', `${attributes(64502)} 80040400000005`, '180a0000'), update('180a0000', '', ''));
  for (const peer of [a, b]) {
    assert.equal(await heard(peer), body('180b0000', '', ''));
    assert.equal(await heard(peer), body('', exported(64502), '180a0000'));
    assert.equal(await heard(peer), body('180a0000', '', ''));
  }
  source.send(keepalive());
  await until(async () => ((await lab.reactor.snapshot())[0]?.counters.keepalivesReceived ?? 0) > 1, 'read');
  assert(!source.heard.some((one) => one.type === UPDATE));
});

test('forward between transparent route server clients of one kind: the bytes as they came', async () => {
  await using lab = await Lab.of([peerSettings(2), peerSettings(3)], { routeServerTransparent: true });
  lab.reactor.routes.onUpdate((peer, _id, view) => lab.reactor.routes.forward(view, peer));
  const [source, other] = [await lab.session(2), await lab.session(3)];
  await other.hears(UPDATE);
  const odd = update('', `${attributes(64502)} 80040400000005 c0631000112233445566778899aabbccddeeff`, '180a0000');
  source.send(odd);
  assert.equal(await heard(other), toHex(odd.slice(19)));
});

test('NO_EXPORT and NO_ADVERTISE stay inside (RFC 1997), and what was sent before is withdrawn', async () => {
  await using lab = await Lab.of([peerSettings(2), peerSettings(3)]);
  lab.reactor.routes.onUpdate((peer, _id, view) => lab.reactor.routes.forward(view, peer));
  const [source, other] = [await lab.session(2), await lab.session(3)];
  for (const community of ['ffffff01', 'ffffff02']) {
    source.send(update('', attributes(64502), '180a0000'), update('', `${attributes(64502)} c00804${community}`, '180a0000'));
    assert.equal(await heard(other), body('', exported(64502), '180a0000'));
    assert.equal(await heard(other), body('180a0000', '', ''));
  }
});

test('cached updates are forwarded by id, to the peers named, and go with the last acknowledgement', async () => {
  await using lab = await Lab.of([peerSettings(2), peerSettings(3), peerSettings(4)]);
  lab.reactor.cacheConsumer('plugin', 'unordered');
  lab.reactor.interest(0xffff, 0);
  const [source, a, b] = [await lab.session(2), await lab.session(3), await lab.session(4)];
  for (const peer of [a, b]) await peer.hears(UPDATE);
  source.send(update('', attributes(64502), '180a0000'), update('', attributes(64502), '180a0100'));
  const ids = await until(() => {
    const rows = lab.sink.rows.filter((row) => row.kind === 'update').map((row) => row.messageId);
    return rows.length === 2 ? rows : undefined;
  }, 'both are told');
  assert.equal(await lab.reactor.forwardCached('plugin', ids.slice(0, 1), [1]), undefined);
  assert.equal(await heard(a), body('', exported(64502), '180a0000'));
  assert.match((await lab.reactor.forwardCached('plugin', ids.slice(0, 1), [1])) ?? '', /expired or not found/);
  assert.equal(await lab.reactor.releaseCached('plugin', ids.slice(1)), undefined);
  assert.equal((await lab.reactor.statistics())['cacheEntries'], 0);
  assert(!b.heard.some((one) => one.type === UPDATE));
});

test('an update that is passed over is dropped after five minutes and reported', async () => {
  const clock = new ManualClock();
  await using lab = await Lab.of([peerSettings(2, { holdTimeSeconds: 0 })], {}, clock);
  lab.reactor.cacheConsumer('plugin', 'unordered');
  const peer = await lab.session(2, PLAIN, 0);
  peer.send(update('', attributes(64502), '180a0000'), update('', attributes(64502), '180a0001'));
  await until(async () => (await lab.reactor.statistics())['cacheEntries'] === 2, 'cached');
  const [, later] = await lab.reactor.cached();
  assert.equal(await lab.reactor.releaseCached('plugin', [later?.id ?? 0]), undefined);
  clock.advance(330_000);
  assert.equal((await lab.reactor.statistics())['cacheEntries'], 0);
  assert(lab.sink.codes().includes('cache-expired'));
});

test('a ROUTE-REFRESH is answered between BoRR and EoRR once all who announce have done so (RFC 7313)', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const dones: (() => void)[] = [];
  const asked: string[] = [];
  lab.reactor.routes.onRefresh((peer, refreshed, subtype) => asked.push(`${peer} ${refreshed} ${subtype}`));
  lab.reactor.routes.onResend((peer, refreshed, done) => {
    lab.reactor.routes.sendOriginated(peer, refreshed, true, hex('180a0000'), 0, 4, 0, hex('400200'), hex('c0000201'));
    dones.push(done);
  });
  assert.equal(lab.reactor.routes.canRefresh(0, IPV4_UNICAST), false, 'there is no session');
  const peer = await lab.session(2, [...PLAIN, { kind: 'enhanced-refresh' }]);
  assert.equal(lab.reactor.routes.canRefresh(0, IPV4_UNICAST), true);
  assert.equal(lab.reactor.routes.canRefresh(0, 0x0201), false, 'the family was not agreed on');
  peer.send(frame(ROUTE_REFRESH, hex('00010001')));
  assert.equal(toHex(await peer.hears(ROUTE_REFRESH)), '00010101');
  await heard(peer);
  assert(!peer.heard.some((one) => one.type === ROUTE_REFRESH));
  dones[0]?.();
  assert.equal(toHex(await peer.hears(ROUTE_REFRESH)), '00010201');
  assert.deepEqual(asked, ['0 257 0']);
  peer.send(frame(ROUTE_REFRESH, hex('00010101')), frame(ROUTE_REFRESH, hex('00010201')));
  await until(() => asked.length === 3, 'BoRR and EoRR are told');
});

test('End-of-RIB waits for the plugins that announce at session start, five seconds at most', async () => {
  const clock = new ManualClock();
  await using lab = await Lab.of([peerSettings(2)], {}, clock);
  const dones: (() => void)[] = [];
  lab.reactor.routes.onPeerUp((_peer, _families, done) => dones.push(done));
  for (const patient of [true, false]) {
    const peer = await lab.session(2);
    await lab.reactor.flush(0);
    assert(!peer.heard.some((one) => one.type === UPDATE));
    if (patient) dones.pop()?.();
    else clock.advance(5000);
    assert.equal(toHex(await peer.hears(UPDATE)), '00000000');
    peer.destroy();
    await until(async () => (await lab.state(2)) === 'active', 'down');
  }
});

test('announce-delay holds back the first UPDATE, and nothing after it', async () => {
  const clock = new ManualClock();
  await using lab = await Lab.of([peerSettings(2)], { announceDelayMs: 3000 }, clock);
  const peer = await lab.session(2);
  const send = (prefix: string): boolean =>
    lab.reactor.routes.sendOriginated(0, IPV4_UNICAST, true, hex(prefix), 0, 4, 0, hex('400200'), hex('c0000201'));
  assert(send('180a0000'));
  await lab.reactor.flush(0);
  clock.advance(2999);
  assert(!peer.heard.some((one) => one.type === UPDATE));
  clock.advance(1);
  assert.match(await heard(peer), /180a0000$/);
  send('180a0100');
  assert.match(await heard(peer), /180a0100$/);
});

test('ADD-PATH: received path ids are told; relayed routes of two sources keep apart', async () => {
  const both = [family(IPV4_UNICAST, { addPath: 'send/receive' })];
  await using lab = await Lab.of([2, 3, 4].map((host) => peerSettings(host, { families: both })));
  lab.reactor.routes.onUpdate((peer, _id, view) => lab.reactor.routes.forward(view, peer));
  lab.reactor.interest(0xffff, 0);
  const offer = [...PLAIN, { kind: 'addpath', families: [{ family: IPV4_UNICAST, mode: 'send-receive' }] } as const];
  const [a, b, sink] = [await lab.session(2, offer), await lab.session(3, offer), await lab.session(4, offer)];
  a.send(update('', attributes(64502), '00000001180a0000'));
  const first = await heard(sink);
  b.send(update('', attributes(64503), '00000001180a0000'));
  const second = await heard(sink);
  assert.equal(first.slice(-16), '00010001180a0000');
  assert.equal(second.slice(-16), '00020001180a0000');
  assert.deepEqual(lab.sink.rows.find((row) => row.kind === 'update')?.addPath, [IPV4_UNICAST]);
});

test('iBGP: nothing from one internal peer to another, unless one is a client of ours (RFC 4456)', async () => {
  const internal = (host: number, client: boolean) => peerSettings(host, { remoteAs: 64500, routeReflectorClient: client });
  await using lab = await Lab.of([internal(2, false), internal(3, false), internal(4, true)]);
  lab.reactor.routes.onUpdate((peer, _id, view) => lab.reactor.routes.forward(view, peer));
  const up = async (host: number): Promise<Speaker> => {
    const peer = await lab.connect(host);
    peer.send(peer.open(PLAIN, 90, { as: 64500 }), keepalive());
    await until(async () => (await lab.state(host)) === 'established', `${host} is up`);
    return peer;
  };
  const [source, plain, client] = [await up(2), await up(3), await up(4)];
  source.send(update('', '40010100 400200 400304c0000209 40050400000064', '180a0000'));
  const reflected = '40010100 400200 400304c0000209 40050400000064 8009040a000102 800a040a000001';
  assert.equal(await heard(client), body('', reflected, '180a0000'));
  client.send(update('', '40010100 400200 400304c0000209 40050400000064', '180b0000'));
  assert.match(await heard(plain), /180b0000$/);
  assert(!plain.heard.some((one) => toHex(one.body).endsWith('180a0000')));
});

test('a changed export side moves the peer to another group and sends what plugins keep again', async () => {
  await using lab = await Lab.of([peerSettings(2), peerSettings(3)]);
  const [a] = [await lab.session(2), await lab.session(3)];
  assert.equal((await lab.reactor.statistics())['groups'], 1);
  const report = await lab.apply(reactorSettings([peerSettings(2, { nextHop: 'unchanged' }), peerSettings(3)]));
  assert.deepEqual(report.changed, ['p2']);
  assert.equal((await lab.reactor.statistics())['groups'], 2);
  assert(!a.closed);
});

test('a plugin that ends takes its handlers and exporters along; one that comes late is told of the sessions there are', async () => {
  let over: () => void = () => undefined;
  const scopes: RoutePath[] = [];
  const startPlugin = (...[, , , , routes]: [string, string, MessagePort, MessagePort, RoutePath]): Promise<void> => {
    scopes.push(routes);
    return new Promise((resolve) => (over = resolve));
  };
  await using lab = await Lab.of([peerSettings(2)], {}, undefined, { startPlugin });
  const peer = await lab.session(2);
  const { port1, port2 } = new MessageChannel();
  lab.reactor.startPlugin('p', 'file:///p.js', port1, port2);
  port1.close();
  const seen: string[] = [];
  scopes[0]?.onPeerUp((index, families) => seen.push(`up ${index} ${families.join()}`));
  scopes[0]?.onUpdate(() => seen.push('update'));
  await until(() => seen.length === 1, 'told of the session');
  peer.send(update('', attributes(64502), '180a0000'));
  await until(() => seen.length === 2, 'told of the update');
  over();
  await new Promise((resolve) => setImmediate(resolve));
  peer.send(update('', attributes(64502), '180a0000'));
  await until(async () => ((await lab.reactor.snapshot())[0]?.counters.updatesReceived ?? 0) === 2, 'read');
  assert.deepEqual(seen, ['up 0 257', 'update']);
});

test('a receiver of messages that takes nothing holds the others for five seconds, then it is given up', async () => {
  const clock = new ManualClock();
  await using lab = await Lab.of(
    [2, 3].map((host) => peerSettings(host, { holdTimeSeconds: 0 })),
    {},
    clock,
  );
  lab.reactor.routes.onUpdate((peer, _id, view) => lab.reactor.routes.forward(view, peer));
  lab.reactor.interest(0, 0xffff & ~(1 << 1));
  const [source, stuck] = [await lab.session(2, PLAIN, 0), await lab.session(3, PLAIN, 0)];
  stuck.socket.pause();
  const full = Buffer.concat(Array.from({ length: 64 }, () => update('', attributes(64502), '20'.padEnd(10, '0').repeat(800))));
  const congested = (): boolean => lab.sink.rows.some((row) => row.kind === 'congested' && row.peer === 1);
  const flood = (): void => {
    if (!congested() && source.socket.write(full)) setImmediate(flood);
    else if (!congested()) source.socket.once('drain', flood);
  };
  flood();
  await until(congested, 'congestion is told');
  await until(async () => (await lab.reactor.snapshot())[0]?.held === true, 'the source is held');
  assert.equal(await lab.state(3), 'established');
  clock.advance(5000);
  await until(async () => (await lab.state(3)) !== 'established', 'given up');
  await until(async () => (await lab.reactor.snapshot())[0]?.held === false, 'the source goes on');
  const warnings = lab.sink.reports.filter((report) => report.code === 'peer-congested');
  assert.deepEqual(
    warnings.map(({ clear }) => clear === true),
    [false, true],
  );
  assert.equal(await lab.state(2), 'established');
  source.destroy();
});

test('an originator is answered once congested peers have caught up', async () => {
  await using lab = await Lab.of([peerSettings(2, { holdTimeSeconds: 0 })]);
  // Somebody keeps Adj-RIB-Out, so that the reactor need not.
  lab.reactor.routes.onOriginated(() => undefined);
  const peer = await lab.session(2, PLAIN, 0);
  peer.socket.pause();
  const nlri = new Uint8Array(4 * 10_000);
  for (let i = 0; i < 10_000; i++) nlri.set([24, 10 + (i >> 16), i >> 8, i], 4 * i);
  const route = { owner: 'x', peers: [0], attributes: hex('400200'), nextHop: hex('c0000201') };
  const batch = Array.from({ length: 50 }, () => ({
    ...route,
    sections: [{ family: IPV4_UNICAST, announce: nlri, withdraw: hex(''), pathId: 0, eor: false }],
  }));
  let answered = 0;
  let asked = 0;
  const queue = async (): Promise<number> => (await lab.reactor.snapshot())[0]?.sendQueueBytes ?? 0;
  while ((await queue()) <= 8 << 20) {
    asked++;
    void lab.reactor.originate(batch).then(() => answered++);
    await new Promise((resolve) => setImmediate(resolve));
  }
  asked++;
  const last = lab.reactor.originate(batch).then(() => answered++);
  await new Promise((resolve) => setImmediate(resolve));
  assert(answered < asked, 'the last waits');
  peer.socket.removeAllListeners('data');
  peer.socket.on('data', () => undefined);
  peer.socket.resume();
  await last;
  assert.equal(await lab.state(2), 'established');
});
