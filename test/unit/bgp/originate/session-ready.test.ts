// The peer-up barrier: End-of-RIB waits for processes that say when a session has had their first routes (plugin-lifecycle §5).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../../engine/core/clock.ts';
import { EVENT_KINDS } from '../../../../engine/bgp/port.ts';
import type { ProcessBinding } from '../../../../engine/bgp/port.ts';
import { UPDATE } from '../frames.ts';
import type { Speaker } from '../lab.ts';
import { Lab, hex, peerSettings, toHex, until } from '../lab.ts';

const STATE = 1 << EVENT_KINDS.indexOf('state');
const binding = (process: string, send: readonly string[], receive: readonly string[]): ProcessBinding => ({
  process,
  send,
  receive,
});
const GRANTED = { processes: [binding('a', ['update'], ['state']), binding('b', ['raw'], ['state'])] };

function ends(peer: Speaker): number {
  return peer.heard.filter((one) => one.type === UPDATE && toHex(one.body) === '00000000').length;
}

/** The token of the last up event. */
function token(lab: Lab): number {
  return lab.sink.rows.filter((row) => row.kind === 'state' && row.state === 'up').at(-1)?.initialReplay ?? -1;
}

async function labOf(processes: Partial<Parameters<typeof peerSettings>[1]>, clock?: ManualClock): Promise<Lab> {
  const lab = await Lab.of([peerSettings(2, processes)], {}, clock);
  lab.reactor.interest(STATE, STATE);
  lab.reactor.awaitReady(['a', 'b']);
  return lab;
}

test('End-of-RIB waits until every process that announces has reported this session ready', async () => {
  await using lab = await labOf(GRANTED);
  const peer = await lab.session(2);
  const now = String(token(lab));
  assert.match(now, /^[1-9]/);
  assert.equal(await lab.reactor.sessionReady(0, 'a', now), undefined);
  assert.equal(await lab.reactor.sessionReady(0, 'a', now), undefined);
  assert.match((await lab.reactor.sessionReady(0, 'b', '')) ?? '', /initial-replay/);
  assert.match((await lab.reactor.sessionReady(0, 'b', `${now}0`)) ?? '', /no session has the token \d+ now: the last up event/);
  await lab.reactor.originate([
    {
      owner: 'b',
      peers: [0],
      attributes: hex(''),
      nextHop: hex(''),
      sections: [{ family: 257, announce: hex('180a0000'), withdraw: hex(''), pathId: 0, eor: false }],
    },
  ]);
  await lab.reactor.flush(0);
  assert.equal(ends(peer), 0);
  assert.equal(await lab.reactor.sessionReady(0, 'b', now), undefined);
  await until(() => ends(peer) === 1, 'the End-of-RIB');
  const kinds = peer.heard.filter((one) => one.type === UPDATE).map((one) => one.body.length > 4);
  assert.deepEqual(kinds, [true, false]);
});

test('a report for an older session, or for none, fails; a new session has a token of its own', async () => {
  await using lab = await labOf(GRANTED);
  assert.match((await lab.reactor.sessionReady(0, 'a', '1')) ?? '', /not established/);
  assert.match((await lab.reactor.sessionReady(7, 'a', '1')) ?? '', /no such peer/);
  const first = await lab.session(2);
  const old = String(token(lab));
  first.destroy();
  await until(async () => (await lab.state(2)) === 'active', 'down');
  await lab.session(2);
  assert.notEqual(String(token(lab)), old);
  assert.match(
    (await lab.reactor.sessionReady(0, 'a', old)) ?? '',
    /no session has the token \d+ now: the last up event of the peer/,
  );
});

const UNBOUND: readonly [string, readonly ProcessBinding[]][] = [
  ['nobody', []],
  ['a process that may send nothing', [binding('a', ['refresh'], ['state'])]],
  ['a process that is told no state', [binding('a', ['update'], ['update'])]],
  ['a process that does not report', [binding('c', ['update'], ['state'])]],
];
for (const [who, processes] of UNBOUND) {
  test(`a peer bound to ${who} waits for nobody, and its up event has no token`, async () => {
    await using lab = await labOf({ processes });
    const peer = await lab.session(2);
    await until(() => ends(peer) === 1, 'the End-of-RIB');
    assert.equal(token(lab), 0);
    // Who never asked to be waited for may report all the same.
    assert.equal(await lab.reactor.sessionReady(0, 'c', ''), undefined);
  });
}

test('after five seconds the End-of-RIB goes out without those that are silent, and says so', async () => {
  const clock = new ManualClock();
  await using lab = await labOf({ ...GRANTED, holdTimeSeconds: 0 }, clock);
  const peer = await lab.session(2, undefined, 0);
  clock.advance(4999);
  await lab.reactor.flush(0);
  assert.equal(ends(peer), 0);
  clock.advance(1);
  await until(() => ends(peer) === 1, 'the End-of-RIB');
  const report = lab.sink.reports.find((one) => one.code === 'session-not-ready');
  assert.match(report?.message ?? '', /a, b/);
  assert.equal(await lab.reactor.sessionReady(0, 'a', String(token(lab))), undefined);
});

test('a process that ends is waited for no longer', async () => {
  await using lab = await labOf(GRANTED);
  const peer = await lab.session(2);
  lab.reactor.awaitReady(['a']);
  await lab.reactor.flush(0);
  assert.equal(ends(peer), 0);
  lab.reactor.awaitReady([]);
  await until(() => ends(peer) === 1, 'the End-of-RIB');
});
