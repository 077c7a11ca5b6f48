// OPENs put before plugins: what is asked, what a refusal sends, and what goes on meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../../engine/core/clock.ts';
import type { ReactorAnswer } from '../../../../engine/bgp/port.ts';
import { KEEPALIVE, OPEN, UPDATE, keepalive, message as frame } from '../frames.ts';
import type { Speaker } from '../lab.ts';
import { Lab, PLAIN, hex, peerSettings, toHex, until } from '../lab.ts';

type Answer = (answer: ReactorAnswer) => void;

/** OPENs are asked about from now on; answers are given by hand. */
function asking(lab: Lab): Answer[] {
  lab.reactor.validateOpen(true);
  const answers: Answer[] = [];
  lab.sink.reply = () => new Promise((resolve) => answers.push(resolve));
  return answers;
}

const says = (peer: Speaker, type: number): boolean => peer.heard.some((one) => one.type === type);

test('an OPEN that we accept is asked about with both sides in wire order; KEEPALIVE waits for the answer', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const answers = asking(lab);
  const { asked } = lab.sink;
  const peer = await lab.connect(2);
  // The peer confirms our OPEN before we confirm its own.
  peer.send(peer.open(), keepalive());
  await peer.hears(OPEN);
  await until(() => answers.length === 1, 'asked');
  const question = asked[0]!;
  assert(question.kind === 'open');
  assert.deepEqual([question.peer.name, question.remote.asn, question.remote.routerId], ['p2', 64502, 0x0a000102]);
  assert.deepEqual([question.local.asn, question.local.routerId, question.local.holdTimeSeconds], [64500, 0x0a000001, 90]);
  assert.deepEqual(
    question.remote.capabilities.map(({ code, value }) => `${code} ${toHex(value)}`),
    ['1 00010001', '2 ', '65 0000fbf6'],
  );
  assert.equal(await lab.state(2), 'open-sent');
  assert(!says(peer, KEEPALIVE));
  answers[0]?.({ kind: 'accept' });
  await peer.hears(KEEPALIVE);
  await until(async () => (await lab.state(2)) === 'established', 'up by the KEEPALIVE that came early');
});

const REFUSALS: readonly [string, ReactorAnswer, string][] = [
  ['a code and a subcode', { kind: 'teardown', code: 2, subcode: 7, reason: 'no' }, '2/7'],
  ['nothing but a reason', { kind: 'teardown', code: 0, subcode: 0, reason: 'no' }, '6/5'],
  [
    'Cease with words, where RFC 9003 has a place for them',
    { kind: 'teardown', code: 6, subcode: 2, reason: 'no' },
    '6/2 026e6f',
  ],
  ['a plain rejection', { kind: 'reject' }, '6/5'],
];
for (const [what, answer, notified] of REFUSALS) {
  test(`a refusal by ${what} is NOTIFICATION ${notified}`, async () => {
    await using lab = await Lab.of([peerSettings(2)]);
    lab.reactor.validateOpen(true);
    lab.sink.reply = () => answer;
    const peer = await lab.connect(2);
    peer.send(peer.open());
    assert.equal(await peer.notified(), notified);
    await peer.ends();
    assert(lab.sink.codes().includes('open-refused'));
    assert.match(lab.sink.logs.map((log) => log.message).join(), /^(?!.*session up)/);
  });
}

test('an OPEN that our own checks refuse is asked about by nobody, and none is when it is switched off', async () => {
  await using lab = await Lab.of([peerSettings(2), peerSettings(3)]);
  asking(lab);
  const { asked } = lab.sink;
  const peer = await lab.connect(2);
  peer.send(peer.open(PLAIN, 90, { as: 64999 }));
  assert.equal((await peer.notified()).slice(0, 3), '2/2');
  lab.reactor.validateOpen(false);
  await lab.session(3);
  assert.equal(asked.length, 0);
});

test('what is out of place while the answer is awaited ends the session; the late answer finds nobody', async () => {
  const cases: readonly [(peer: Speaker) => Uint8Array, string][] = [
    [(peer) => peer.open(), '5/1 01'],
    [() => frame(UPDATE, hex('00000000')), '5/1 02'],
  ];
  for (const [send, notified] of cases) {
    await using lab = await Lab.of([peerSettings(2)]);
    const answers = asking(lab);
    const peer = await lab.connect(2);
    peer.send(peer.open());
    await until(() => answers.length === 1, 'asked');
    peer.send(send(peer));
    assert.equal(await peer.notified(), notified);
    answers[0]?.({ kind: 'teardown', code: 2, subcode: 7, reason: '' });
    await peer.ends();
    assert(!lab.sink.logs.some((log) => log.message === 'session up'));
  }
});

test('a connection that goes while it is judged leaves the next one alone', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const answers = asking(lab);
  const first = await lab.connect(2);
  first.send(first.open());
  await until(() => answers.length === 1, 'asked');
  first.destroy();
  await until(async () => (await lab.state(2)) === 'active', 'gone');
  const second = await lab.connect(2);
  second.send(second.open(), keepalive());
  await until(() => answers.length === 2, 'asked again');
  answers[0]?.({ kind: 'reject' });
  answers[1]?.({ kind: 'accept' });
  await until(async () => (await lab.state(2)) === 'established', 'the second is up');
});

test('the time an OPEN may take runs on while it is judged', async () => {
  const clock = new ManualClock();
  await using lab = await Lab.of([peerSettings(2)], {}, clock);
  const answers = asking(lab);
  const peer = await lab.connect(2);
  peer.send(peer.open());
  await until(() => answers.length === 1, 'asked');
  clock.advance(120_000);
  assert.equal(await peer.notified(), '4/0');
  answers[0]?.({ kind: 'accept' });
  await peer.ends();
});

test('a second connection while the first is judged: the first answered stands unless the identifiers say otherwise (RFC 4271 §6.8)', async () => {
  // Both are incoming, and the peer's identifier is the higher one: the newer of two connections it began survives.
  await using lab = await Lab.of([peerSettings(2)]);
  const answers = asking(lab);
  const [first, second] = [await lab.connect(2), await lab.connect(2)];
  first.send(first.open());
  await until(() => answers.length === 1, 'asked');
  second.send(second.open());
  await until(() => answers.length === 2, 'asked about the second');
  answers[0]?.({ kind: 'accept' });
  await first.hears(KEEPALIVE);
  answers[1]?.({ kind: 'accept' });
  assert.equal(await first.notified(), '6/7');
  second.send(keepalive());
  await until(async () => (await lab.state(2)) === 'established', 'the second is up');
});

test('beside an established session nobody is asked about the OPEN that will be refused', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const answers = asking(lab);
  const { asked } = lab.sink;
  const first = await lab.connect(2);
  first.send(first.open(), keepalive());
  await until(() => answers.length === 1, 'asked');
  answers[0]?.({ kind: 'accept' });
  await until(async () => (await lab.state(2)) === 'established', 'up');
  const second = await lab.connect(2);
  second.send(second.open());
  assert.equal(await second.notified(), '6/7');
  assert.equal(asked.length, 1);
});
