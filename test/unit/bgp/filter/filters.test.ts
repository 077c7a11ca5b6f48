// Plugin filters at a whole reactor: what is asked, what an answer does, and that no old route outlives its replacement.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReactorAnswer, ReactorQuestion } from '../../../../engine/bgp/port.ts';
import type { BestRoutes } from '../../../../sdk/plugin/route-path.ts';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../../../sdk/wire/family.ts';
import { ROUTE_REFRESH, UPDATE, message as frame } from '../frames.ts';
import type { Speaker } from '../lab.ts';
import { Lab, PLAIN, attributes, family, hex, peerSettings, reactorSettings, toHex, until, update } from '../lab.ts';

type FilterQuestion = Extract<ReactorQuestion, { kind: 'filter' }>;

const IN = { importFilters: ['p:in'] };
const OUT = { exportFilters: ['p:out'] };
const PATH = attributes(64502);
const body = (withdrawn: string, block: string, nlri: string): Uint8Array => update(withdrawn, block, nlri).slice(19);
const text = (withdrawn: string, block: string, nlri: string): string => toHex(body(withdrawn, block, nlri));
const net = (n: number): string => `180a00${n.toString(16).padStart(2, '0')}`;
/** The eBGP form of `attributes(path)`: our AS in front, next hop ours. */
const exported = (...path: number[]): string => attributes(64500, ...path).replace('c0000209', '7f000001');

/** UPDATEs of all peers as the route path hears them: `withdrawn|announced`. */
function listen(lab: Lab): string[] {
  const seen: string[] = [];
  lab.reactor.routes.onUpdate((_peer, _id, view, treatAsWithdraw) => {
    const part = (at: number, length: number): string => toHex(view.bytes.slice(at, at + length));
    const [gone, come] = [part(view.withdrawnAt, view.withdrawnLength), part(view.nlriAt, view.nlriLength)];
    seen.push(treatAsWithdraw ? `${gone}${come}|` : `${gone}|${come}`);
  });
  return seen;
}

function filters(
  lab: Lab,
  answer: (question: FilterQuestion, n: number) => ReactorAnswer | Promise<ReactorAnswer>,
): FilterQuestion[] {
  const asked: FilterQuestion[] = [];
  lab.sink.reply = (question) => {
    if (question.kind !== 'filter') return { kind: 'accept' };
    asked.push(question);
    return answer(question, asked.length);
  };
  return asked;
}

/** Answers given by hand, in any order. */
function byHand(lab: Lab): ((answer: ReactorAnswer) => void)[] {
  const answers: ((answer: ReactorAnswer) => void)[] = [];
  filters(lab, () => new Promise((resolve) => answers.push(resolve)));
  return answers;
}

const ACCEPT: ReactorAnswer = { kind: 'accept' };
const REJECT: ReactorAnswer = { kind: 'reject' };

/** The next UPDATE that is not an End-of-RIB. */
async function heard(peer: Speaker): Promise<string> {
  for (;;) {
    const next = toHex(await peer.hears(UPDATE));
    if (next !== '00000000') return next;
  }
}

test('an import filter is asked with a copy of the body, the encoding and the references; other peers ask nobody', async () => {
  await using lab = await Lab.of([peerSettings(2, IN), peerSettings(3)]);
  const seen = listen(lab);
  const asked = filters(lab, () => ACCEPT);
  const [peer, other] = [await lab.session(2), await lab.session(3)];
  peer.send(update('', PATH, net(1)));
  other.send(update('', attributes(64503), net(2)));
  await until(() => seen.length === 2, 'both are through');
  assert.equal(asked.length, 1);
  const { peer: who, body: bytes, ...rest } = asked[0]!;
  assert.deepEqual([who.name, who.remoteAddress, who.remoteAs, toHex(bytes)], ['p2', '127.0.0.2', 64502, text('', PATH, net(1))]);
  assert.deepEqual(rest, {
    kind: 'filter',
    direction: 'import',
    filters: ['p:in'],
    asn4: true,
    addPath: [],
    maxBody: 4096 - 19,
  });
});

test('a rejected announcement is unheard of, and withdraws what it would have replaced; a rejected withdrawal withdraws', async () => {
  await using lab = await Lab.of([peerSettings(2, IN)]);
  lab.reactor.cacheConsumer('plugin', 'ordered');
  const seen = listen(lab);
  // MULTI_EXIT_DISC 1 stands for a route to be kept out.
  const bad = `${PATH} 80040400000001`;
  filters(lab, ({ body: bytes }) => (toHex(bytes).includes('80040400000001') || bytes[1] !== 0 ? REJECT : ACCEPT));
  const peer = await lab.session(2);
  peer.send(
    update('', bad, net(1)),
    update('', PATH, net(1) + net(2)),
    update('', bad, net(1) + net(3)),
    update('', bad, net(1)),
    update(net(2) + net(9), '', ''),
    update(net(2), '', ''),
  );
  await until(() => seen.length >= 3, 'two withdrawals follow');
  await lab.reactor.statistics();
  assert.deepEqual(seen, [`|${net(1)}${net(2)}`, `${net(1)}|`, `${net(2)}|`]);
  assert.equal((await lab.reactor.statistics())['cacheEntries'], 3);
  assert.equal((await lab.reactor.snapshot())[0]?.prefixes[0]?.received, 0);
});

test('a replacement counts in place of the message: routes it leaves out are withdrawn, LOCAL_PREF of ours is kept', async () => {
  await using lab = await Lab.of([peerSettings(2, IN)]);
  const seen = listen(lab);
  const blocks: string[] = [];
  lab.reactor.routes.onUpdate((_p, _id, { block }) => blocks.push(toHex(block.bytes.slice(block.at, block.at + block.length))));
  const preferred = `${PATH} 400504000000c8`;
  filters(lab, (_question, n) => (n === 1 ? ACCEPT : { kind: 'replace', body: body('', preferred, net(2)) }));
  const peer = await lab.session(2);
  peer.send(update('', PATH, net(1) + net(2)), update('', PATH, net(1) + net(2) + net(3)));
  await until(() => seen.length === 3, 'all are through');
  assert.deepEqual(seen, [`|${net(1)}${net(2)}`, `${net(1)}|`, `|${net(2)}`]);
  assert.equal(blocks[2], preferred.replace(/ /g, ''));
});

test('LOCAL_PREF of the neighbour itself is not put before filters, nor kept', async () => {
  await using lab = await Lab.of([peerSettings(2, IN)]);
  const seen = listen(lab);
  const asked = filters(lab, () => ACCEPT);
  const peer = await lab.session(2);
  peer.send(update('', `${PATH} 400504000000c8`, net(1)));
  await until(() => seen.length === 1, 'through');
  assert.equal(toHex(asked[0]!.body), text('', PATH, net(1)));
});

for (const [what, bytes] of [
  ['no AS_PATH', body('', '40010100 400304c0000209', net(1))],
  ['sections that overrun', hex('0005000000')],
  ['a body above the largest message', new Uint8Array(4078)],
  ['nothing in it', hex('00000000')],
] as const) {
  test(`a replacement with ${what} counts as a rejection`, async () => {
    await using lab = await Lab.of([peerSettings(2, IN)]);
    const seen = listen(lab);
    filters(lab, (_question, n) => (n === 2 ? { kind: 'replace', body: bytes } : ACCEPT));
    const peer = await lab.session(2);
    peer.send(update('', PATH, net(1)), update('', PATH, net(1)), update('', PATH, net(2)));
    await until(() => seen.length === 3, 'the third is through');
    assert.deepEqual(seen, [`|${net(1)}`, `${net(1)}|`, `|${net(2)}`]);
    assert.equal(lab.sink.codes().includes('filter-failed'), what !== 'nothing in it');
    assert.equal(await lab.state(2), 'established');
  });
}

test('what is treated as withdraw is put before filters as the withdrawal it became; End-of-RIB keeps its place unasked', async () => {
  await using lab = await Lab.of([peerSettings(2, IN)]);
  const seen = listen(lab);
  const ends: number[] = [];
  lab.reactor.routes.onEndOfRib(() => ends.push(seen.length));
  const answers: (() => void)[] = [];
  const asked = filters(lab, () => new Promise((resolve) => answers.push(() => resolve(ACCEPT))));
  const peer = await lab.session(2);
  // ORIGIN 9 is malformed; the last is a loop.
  peer.send(update('', PATH, net(1)), update('', PATH.replace('40010100', '40010109'), net(1)), hexUpdate('00000000'));
  peer.send(update('', attributes(64502, 64500), net(2)));
  await until(() => answers.length === 3, 'three are asked about');
  assert.deepEqual(
    asked.map((one) => toHex(one.body)),
    [text('', PATH, net(1)), text(net(1), '', ''), text(net(2), '', '')],
  );
  assert.deepEqual(ends, []);
  for (const answer of answers.reverse()) answer();
  await until(() => seen.length === 4, 'all are through');
  assert.deepEqual(seen, [`|${net(1)}`, `${net(1)}|`, '|', `${net(2)}|`]);
  assert.deepEqual(ends, [3]);
});

test('teardown ends the session with the NOTIFICATION asked for, Cease / Connection Rejected when none is', async () => {
  const cases: readonly [Extract<ReactorAnswer, { kind: 'teardown' }>, string][] = [
    [{ kind: 'teardown', code: 0, subcode: 0, reason: 'not you' }, '6/5'],
    [{ kind: 'teardown', code: 6, subcode: 2, reason: 'no' }, '6/2 026e6f'],
    [{ kind: 'teardown', code: 3, subcode: 1, reason: 'no' }, '3/1'],
  ];
  for (const [answer, notified] of cases) {
    await using lab = await Lab.of([peerSettings(2, IN)]);
    const seen = listen(lab);
    filters(lab, () => answer);
    const peer = await lab.session(2);
    peer.send(update('', PATH, net(1)));
    assert.equal(await peer.notified(), notified);
    assert.deepEqual(seen, []);
  }
});

test('answers take effect in order; a session that ends hears none of those under way', async () => {
  await using lab = await Lab.of([peerSettings(2, IN)]);
  const seen = listen(lab);
  const answers = byHand(lab);
  const peer = await lab.session(2);
  peer.send(update('', PATH, net(1)), update('', PATH, net(2)), update('', PATH, net(3)));
  await until(() => answers.length === 3, 'asked');
  answers[2]?.(ACCEPT);
  answers[1]?.(ACCEPT);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(seen, []);
  answers[0]?.(REJECT);
  await until(() => seen.length === 2, 'the others follow');
  assert.deepEqual(seen, [`|${net(2)}`, `|${net(3)}`]);
  peer.send(update('', PATH, net(4)));
  await until(() => answers.length === 4, 'asked');
  peer.destroy();
  await until(async () => (await lab.state(2)) === 'active', 'down');
  answers[3]?.(ACCEPT);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(seen.length, 2);
});

test('an EoRR acts after the UPDATEs before it have passed the filters (RFC 7313)', async () => {
  await using lab = await Lab.of([peerSettings(2, IN)]);
  const order: string[] = [];
  lab.reactor.routes.onUpdate(() => order.push('update'));
  lab.reactor.routes.onRefresh((_peer, _family, subtype) => order.push(`refresh ${subtype}`));
  const answers = byHand(lab);
  const peer = await lab.session(2, [...PLAIN, { kind: 'enhanced-refresh' }]);
  peer.send(frame(ROUTE_REFRESH, hex('00010101')), update('', PATH, net(1)), frame(ROUTE_REFRESH, hex('00010201')));
  await until(() => answers.length === 1, 'asked');
  assert.deepEqual(order, ['refresh 1']);
  answers[0]?.(ACCEPT);
  await until(() => order.length === 3, 'through');
  assert.deepEqual(order, ['refresh 1', 'update', 'refresh 2']);
});

test('export: forwarded and originated messages of a filtered peer are asked about one by one, others get theirs at once', async () => {
  await using lab = await Lab.of([peerSettings(2), peerSettings(3, OUT), peerSettings(4)]);
  lab.reactor.routes.onUpdate((peer, _id, view) => lab.reactor.routes.forward(view, peer));
  const answers = byHand(lab);
  const [source, filtered, plain] = [await lab.session(2), await lab.session(3), await lab.session(4)];
  source.send(update('', PATH, net(1)), update('', PATH, net(2)), update(net(1), '', ''));
  assert.equal(await heard(plain), text('', exported(64502), net(1)));
  await until(() => answers.length === 3, 'asked');
  const [one] = await lab.reactor.originate([
    {
      owner: 'test',
      peers: [1, 2],
      attributes: hex(''),
      nextHop: hex(''),
      sections: [{ family: IPV4_UNICAST, announce: hex(net(7)), withdraw: hex(''), pathId: 0, eor: false }],
    },
  ]);
  assert.equal(one?.routesSent, 2);
  await until(() => answers.length === 4, 'asked about the originated one');
  const asked = lab.sink.asked.filter((question) => question.kind === 'filter');
  assert.deepEqual(
    asked.map((question) => [question.direction, question.peer.name, toHex(question.body).slice(0, 12)]),
    asked.map(({ body: bytes }) => ['export', 'p3', toHex(bytes).slice(0, 12)]),
  );
  answers[3]?.(ACCEPT);
  answers[1]?.({ kind: 'replace', body: body('', exported(64502), net(3)) });
  answers[2]?.(ACCEPT);
  answers[0]?.(ACCEPT);
  assert.equal(await heard(filtered), text('', exported(64502), net(1)));
  assert.equal(await heard(filtered), text('', exported(64502), net(3)));
  assert.equal(await heard(filtered), text(net(1), '', ''));
  assert.equal((await heard(filtered)).slice(-8), net(7));
  const [, p3] = await lab.reactor.snapshot();
  // And the End-of-RIB, which nobody is asked about.
  assert.equal(p3?.counters.updatesSent, 5);
  assert.equal(p3.counters.eorSent, 1);
});

test('export: what is kept from the peer is withdrawn where it had it, and only there', async () => {
  await using lab = await Lab.of([peerSettings(2), peerSettings(3, OUT)]);
  lab.reactor.routes.onUpdate((peer, _id, view) => lab.reactor.routes.forward(view, peer));
  const verdicts: ReactorAnswer[] = [ACCEPT, REJECT, REJECT, { kind: 'teardown', code: 6, subcode: 2, reason: '' }, ACCEPT];
  filters(lab, (_question, n) => verdicts[n - 1] ?? ACCEPT);
  const [source, filtered] = [await lab.session(2), await lab.session(3)];
  source.send(update('', PATH, net(1) + net(2)), update('', PATH, net(1) + net(3)), update('', PATH, net(1)));
  source.send(update(net(2), '', ''), update('', PATH, net(4)));
  assert.equal(await heard(filtered), text('', exported(64502), net(1) + net(2)));
  assert.equal(await heard(filtered), text(net(1), '', ''));
  assert.equal(await heard(filtered), text(net(2), '', ''));
  assert.equal(await heard(filtered), text('', exported(64502), net(4)));
  assert.equal(await lab.state(3), 'established');
});

test('export: peers that differ in filters alone are groups of their own; flush and raw bytes wait for answers', async () => {
  await using lab = await Lab.of([peerSettings(2, OUT), peerSettings(3, OUT), peerSettings(4), peerSettings(5)]);
  const answers = byHand(lab);
  const [a] = [await lab.session(2), await lab.session(3), await lab.session(4), await lab.session(5)];
  assert.equal((await lab.reactor.statistics())['groups'], 3);
  await a.hears(UPDATE);
  const route = { family: IPV4_UNICAST, announce: hex(net(1)), withdraw: hex(''), pathId: 0, eor: false };
  await lab.reactor.originate([{ owner: 't', peers: [0], attributes: hex(''), nextHop: hex(''), sections: [route] }]);
  await until(() => answers.length === 1, 'asked');
  assert.equal(await lab.reactor.raw(0, hexUpdate('00000000')), undefined);
  let flushed = false;
  const flushing = lab.reactor.flush(0).then(() => (flushed = true));
  await lab.reactor.statistics();
  assert.equal(flushed, false);
  assert((await lab.reactor.snapshot([0]))[0]!.sendQueueBytes > 0);
  answers[0]?.(ACCEPT);
  await flushing;
  assert.equal((await a.hears(UPDATE)).length > 4, true);
  assert.equal(toHex(await a.hears(UPDATE)), '00000000');
});

test('other filters by reload: they act on what comes, exports are sent again, and without filters nothing is asked', async () => {
  const peers = (more2: object, more3: object): Parameters<typeof reactorSettings>[0] => [
    peerSettings(2, more2),
    peerSettings(3, more3),
  ];
  await using lab = await Lab.of(peers({}, {}));
  // Somebody else counts: what went through before the filters came is not known one by one.
  lab.reactor.routes.countPrefixes(() => 0);
  const resent: string[] = [];
  lab.reactor.routes.onResend((peer, asked, done) => {
    resent.push(`${peer} ${asked}`);
    lab.reactor.routes.sendOriginated(peer, asked, true, hex(net(1)), 0, 4, 0, hex('400200'), hex('c0000201'));
    done();
  });
  const seen = listen(lab);
  const [a, b] = [await lab.session(2), await lab.session(3)];
  a.send(update('', PATH, net(1)));
  await until(() => seen.length === 1, 'unfiltered');
  filters(lab, () => REJECT);
  const report = await lab.apply(reactorSettings(peers(IN, OUT)));
  assert.deepEqual(report.changed, ['p2', 'p3']);
  a.send(update('', PATH, net(1)), update('', PATH, net(2)));
  await until(() => seen.length === 3, 'rejected');
  assert.deepEqual(seen, [`|${net(1)}`, `${net(1)}|`, `${net(2)}|`]);
  await until(() => resent.includes('1 257'), 'sent again');
  await b.hears(UPDATE);
  assert.equal(await heard(b), text(net(1), '', ''));
  await lab.apply(reactorSettings(peers({}, {})));
  const before = lab.sink.asked.length;
  a.send(update('', PATH, net(3)));
  await until(() => seen.length === 4, 'unfiltered');
  assert.match(await heard(b), new RegExp(`${net(1)}$`));
  assert.equal(lab.sink.asked.length, before);
});

test('MP families: rejected announcements of IPv6 are withdrawn by MP_UNREACH_NLRI', async () => {
  const both = { families: [family(IPV4_UNICAST), family(IPV6_UNICAST)] };
  await using lab = await Lab.of([peerSettings(2, { ...both, ...IN })]);
  const seen: string[] = [];
  lab.reactor.routes.onUpdate((_peer, _id, view) => {
    const part = (at: number, length: number): string => toHex(view.bytes.slice(at, at + length));
    seen.push(`${part(view.unreachAt, view.unreachLength)}|${part(view.reachAt, view.reachLength)}`);
  });
  filters(lab, (_question, n) => (n === 1 ? ACCEPT : REJECT));
  const peer = await lab.session(2, [...PLAIN, { kind: 'multiprotocol', family: IPV6_UNICAST }]);
  const reach = `40010100 400206 0201 0000fbf6 800e1a 0002 01 10 20010db8000000000000000000000002 00 20 20010db8`;
  peer.send(update('', reach, ''), update('', reach, ''), update('', reach, ''));
  await until(() => seen.length === 2, 'through');
  assert.deepEqual(seen, ['|2020010db8', '2020010db8|']);
});

/** `rows` prefixes of 10/8, every second with another block, so that no two share a message. */
function bigTable(rows: number): BestRoutes {
  const blocks = [attributes(65001), attributes(65002)].map((block) => hex(block));
  const size = blocks[0]!.length;
  const bytes = new Uint8Array(2 * size);
  for (const [i, block] of blocks.entries()) bytes.set(block, i * size);
  return {
    family: IPV4_UNICAST,
    rows,
    best: (row) => 1 + (row & 1),
    source: () => 0xfffe,
    writePrefix: (row, out, at) => {
      out.set([32, 10, row >>> 16, (row >>> 8) & 0xff, row & 0xff], at);
      return 5;
    },
    attributesAt: (handle) => (handle - 1) * size,
    attributesLength: () => size,
    attributeBytes: bytes,
    nextHopAt: () => 0,
    nextHopLength: () => 0,
  };
}

test('export: a table of best routes waits as a set of rows while filters take their time, and nobody else does', async () => {
  const rows = 30_000;
  await using lab = await Lab.of([peerSettings(2, OUT), peerSettings(3)]);
  const answers = byHand(lab);
  const [filtered, plain] = [await lab.session(2), await lab.session(3)];
  lab.reactor.routes.exporter(bigTable(rows), { transparent: false });
  const count = (peer: Speaker): number => {
    const prefixes = new Set<string>();
    for (const { type, body: bytes } of peer.heard) {
      if (type !== UPDATE || bytes.length < 5) continue;
      for (let at = 4 + ((bytes[2]! << 8) | bytes[3]!); at < bytes.length; at += 5)
        prefixes.add(toHex(bytes.subarray(at, at + 5)));
    }
    return prefixes.size;
  };
  await until(() => plain.heard.length > rows && count(plain) === rows, 'the other peer has the table');
  const waiting = (await lab.reactor.snapshot([0]))[0]?.sendQueueBytes ?? 0;
  assert(waiting > 1 << 20 && waiting < 1.5 * (1 << 20), `${waiting} octets wait, not the table`);
  assert.equal(count(filtered), 0);
  assert.equal(answers.length, 64);
  // From now on answers come at once.
  lab.sink.reply = () => ACCEPT;
  for (const answer of answers) answer(ACCEPT);
  await until(() => filtered.heard.length > rows && count(filtered) === rows, 'the rest follows');
});

function hexUpdate(bytes: string): Uint8Array {
  return frame(UPDATE, hex(bytes));
}
