// Sessions over loopback: how they come up, what ends them, and that nothing is left when they are gone.
import assert from 'node:assert/strict';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import { ReadArea, Session } from '../../../../engine/bgp/session/session.ts';
import { ManualClock } from '../../../../engine/core/clock.ts';
import { Deadlines } from '../../../../engine/core/deadlines.ts';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../../../sdk/wire/family.ts';
import { KEEPALIVE, OPEN, ROUTE_REFRESH, UPDATE, keepalive } from '../../../../sdk/wire/message.ts';
import {
  Lab,
  PLAIN,
  Speaker,
  attributes,
  family,
  hex,
  message,
  peerSettings,
  reactorSettings,
  toHex,
  until,
  update,
} from '../lab.ts';

test('a peer that speaks properly comes to Established and gets End-of-RIB', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const peer = await lab.session(2);
  assert.equal(toHex(await peer.hears(UPDATE)), '00000000');
  assert.equal(await lab.state(2), 'established');
});

test('manual-eor: no End-of-RIB goes out by itself', async () => {
  await using lab = await Lab.of([peerSettings(2, { manualEor: true })]);
  const peer = await lab.session(2);
  assert.equal(await lab.reactor.refresh(0, IPV4_UNICAST, 0), undefined);
  await peer.hears(ROUTE_REFRESH);
  assert(!peer.heard.some((one) => one.type === UPDATE));
});

test('the OPEN holds families and capabilities in ascending order', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const peer = await lab.connect(2);
  const open = toHex(await peer.hears(OPEN));
  assert.equal(
    open,
    '04' + 'fbf4' + '005a' + '0a000001' + '16' + '0214' + '010400010001' + '0200' + '40020000' + '41040000fbf4' + '4600',
  );
  peer.send(peer.open(), keepalive());
  await peer.hears(KEEPALIVE);
});

test('a capability a plugin asks for one peer beats the one for all; the core keeps its own', async () => {
  const capabilities = [
    { plugin: 'a', code: 73, value: Uint8Array.of(1), peers: [] },
    { plugin: 'b', code: 73, value: Uint8Array.of(2), peers: ['p2'] },
    { plugin: 'c', code: 65, value: Uint8Array.of(0, 0, 0, 1), peers: [] },
  ];
  await using lab = await Lab.of([peerSettings(2), peerSettings(3)], { capabilities });
  const opens = [await lab.connect(2), await lab.connect(3)].map(async (peer) => toHex(await peer.hears(OPEN)));
  const [second, third] = await Promise.all(opens);
  assert(second?.endsWith('490102') === true, second);
  assert(third?.endsWith('490101') === true, third);
  assert(second.includes('41040000fbf4'));
});

const DEMANDS: readonly (readonly [string, Parameters<typeof peerSettings>[1], Parameters<Lab['session']>[1], string])[] = [
  [
    'a required family is missing',
    { families: [family(IPV4_UNICAST), family(IPV6_UNICAST, { mode: 'require' })] },
    PLAIN,
    '2/7 010400020001',
  ],
  ['a required capability is missing', { extendedMessage: 'require' }, PLAIN, '2/7 0600'],
  ['a refused capability is offered', { routeRefresh: 'refuse' }, PLAIN, '2/7 0200'],
];
for (const [name, settings, capabilities, expected] of DEMANDS) {
  test(`RFC 5492: ${name} → ${expected}`, async () => {
    await using lab = await Lab.of([peerSettings(2, settings)]);
    const peer = await lab.connect(2);
    peer.send(peer.open(capabilities));
    assert.equal(await peer.notified(), expected);
    await peer.ends();
  });
}

test('teardown sends the Cease with its text (RFC 9003), the peer may come back at once', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const peer = await lab.session(2);
  assert.equal(await lab.reactor.teardown(0, 2, 'maintenance é'), undefined);
  assert.equal(await peer.notified(), `6/2 ${toHex(Uint8Array.of(14))}${Buffer.from('maintenance é').toString('hex')}`);
  await peer.ends();
  await lab.session(2);
  assert.equal(await lab.reactor.teardown(7, 2, ''), 'no such peer');
});

test('why a session went stays said while attempts to connect fail, until the peer itself errs', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const why = async (): Promise<string | undefined> => (await lab.reactor.snapshot())[0]?.lastDownReason;
  const attempt = async (last: Uint8Array | undefined): Promise<void> => {
    const peer = await lab.connect(2);
    await peer.hears(OPEN);
    if (last === undefined) peer.destroy();
    else peer.send(last);
    await peer.ends();
    await until(async () => (await lab.state(2)) === 'active', 'down');
  };
  await attempt(undefined);
  assert.equal(await why(), 'tcp-failure');
  const peer = await lab.session(2);
  await lab.reactor.teardown(0, 2, 'maintenance');
  await peer.ends();
  await until(async () => (await lab.state(2)) === 'active', 'down');
  await attempt(undefined);
  assert.equal(await why(), 'maintenance');
  await attempt(keepalive());
  assert.equal(await why(), 'unexpected-keepalive');
});

test('stop says Cease 6/2 to every peer and leaves no socket and no timer', async () => {
  const clock = new ManualClock();
  const lab = await Lab.of([peerSettings(2), peerSettings(3)], {}, clock);
  const peers = [await lab.session(2), await lab.session(3)];
  await lab.reactor.stop('bye');
  for (const peer of peers) assert.equal(await peer.notified(), '6/2 03627965');
  await until(() => peers.every((peer) => peer.closed), 'all are closed');
  assert.equal((await lab.reactor.statistics())['openSockets'], 0);
  assert.equal(clock.pending, 0);
});

test('the hold timer ends a silent session with 4/0, and not while we hold its socket', async () => {
  const clock = new ManualClock();
  await using lab = await Lab.of([peerSettings(2, { holdTimeSeconds: 9 })], {}, clock);
  const peer = await lab.session(2);
  lab.reactor.setHeld(0, true);
  clock.advance(60_000);
  assert.equal(await lab.state(2), 'established');
  lab.reactor.setHeld(0, false);
  clock.advance(9000);
  assert.equal(await lab.state(2), 'established');
  clock.advance(9000);
  assert.equal(await peer.notified(), '4/0');
  assert.equal(await lab.state(2), 'active');
});

test('KEEPALIVEs go out every third of the hold time, within a tenth, whatever else is sent', async () => {
  const clock = new ManualClock();
  let random = 0;
  await using lab = await Lab.of([peerSettings(2, { holdTimeSeconds: 9 })], {}, clock, {
    random: () => (random = (random + 0.37) % 1),
  });
  const peer = await lab.session(2);
  for (let i = 0; i < 100; i++) {
    clock.advance(300);
    peer.send(keepalive());
    const [snapshot] = await lab.reactor.snapshot();
    await until(
      async () => (await lab.reactor.snapshot())[0]?.counters.keepalivesReceived !== snapshot?.counters.keepalivesReceived,
      'read',
    );
  }
  const [snapshot] = await lab.reactor.snapshot();
  assert(snapshot !== undefined && snapshot.largestKeepaliveGapMs <= 3300, String(snapshot?.largestKeepaliveGapMs));
  assert(snapshot.counters.keepalivesSent >= 10);
});

test('octets that make no whole message do not keep a session alive (slow loris)', async () => {
  const clock = new ManualClock();
  await using lab = await Lab.of([peerSettings(2, { holdTimeSeconds: 9 })], {}, clock);
  const peer = await lab.session(2);
  const slow = message(UPDATE, new Uint8Array(4000));
  for (let second = 0; second < 14; second++) {
    const before = (await lab.reactor.snapshot())[0]?.counters.bytesReceived ?? 0;
    peer.send(slow.subarray(second, second + 1));
    await until(
      async () => ((await lab.reactor.snapshot())[0]?.counters.bytesReceived ?? 0) !== before,
      'the octet is read',
      500,
    ).catch(() => undefined);
    clock.advance(1000);
  }
  assert.equal(await peer.notified(), '4/0');
});

test('a connection that stays silent is closed after the open-wait time', async () => {
  const clock = new ManualClock();
  await using lab = await Lab.of([peerSettings(2)], { openWaitSeconds: 5 }, clock);
  const peer = await lab.connect(2);
  await peer.hears(OPEN);
  clock.advance(4999);
  assert.equal(await lab.state(2), 'open-sent');
  clock.advance(1);
  assert.equal(await peer.notified(), '4/0');
  await peer.ends();
});

test('a connection from an address nobody configured is closed unread', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const stranger = await lab.connect(9);
  stranger.send(stranger.open());
  await stranger.ends();
  assert.equal(stranger.heard.length, 0);
  assert.equal((await lab.reactor.statistics())['strangers'], 1);
});

test('one peer address gets two sockets at most, however often it connects', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const many = await Promise.all(Array.from({ length: 100 }, () => lab.connect(2)));
  await until(() => many.filter((one) => one.closed).length === 98, 'all but two are closed');
  assert.equal((await lab.reactor.statistics())['openSockets'], 2);
});

for (const [name, end] of [
  ['FIN', (socket: Socket) => socket.end()],
  ['RST', (socket: Socket) => socket.resetAndDestroy()],
] as const) {
  for (const when of ['before OPEN', 'after OPEN', 'in Established'] as const) {
    test(`${name} ${when} leaves no socket, and the peer may come again`, async () => {
      await using lab = await Lab.of([peerSettings(2)]);
      for (let i = 0; i < 20; i++) {
        const peer = when === 'in Established' ? await lab.session(2) : await lab.connect(2);
        if (when === 'after OPEN') peer.send(peer.open());
        end(peer.socket);
        await until(async () => (await lab.reactor.statistics())['openSockets'] === 0, 'no socket is left');
      }
      const statistics = await lab.reactor.statistics();
      assert((statistics['deadlines'] ?? 0) < 20, JSON.stringify(statistics));
      await lab.session(2);
    });
  }
}

test('a peer that repeats an error is held off for longer each time (damping)', async () => {
  const clock = new ManualClock();
  await using lab = await Lab.of([peerSettings(2)], {}, clock);
  const offend = async (): Promise<void> => {
    const peer = await lab.connect(2);
    peer.send(hex('00'.repeat(19)));
    assert.equal(await peer.notified(), '1/1');
    await peer.ends();
  };
  await offend();
  await offend();
  for (const idle of [2000, 4000, 8000]) {
    const early = await lab.connect(2);
    await early.ends();
    assert.equal(early.heard.length, 0);
    assert.equal(await lab.state(2), 'idle');
    clock.advance(idle - 1);
    assert.equal(await lab.state(2), 'idle');
    clock.advance(1);
    assert.equal(await lab.state(2), 'active');
    await offend();
  }
});

test('two connections at once: the one the higher identifier began survives (RFC 4271 §6.8)', async () => {
  await using target = await Lab.of([peerSettings(2)]);
  const clock = new ManualClock();
  for (const [routerId, survivor] of [
    [0x0a000002, 'dialled'],
    [0x0a000000, 'accepted'],
  ] as const) {
    // The lab dials the port of a scripted server and is dialled at its own.
    const { server, socket } = await listen('127.0.0.2');
    const settings = peerSettings(2, { connect: true, remotePort: server, localAddress: '127.0.0.1' });
    await using lab = await Lab.of([settings], {}, clock);
    const dialled = await socket;
    const accepted = await lab.connect(2);
    await Promise.all([dialled.hears(OPEN), accepted.hears(OPEN)]);
    // The other end's identifier decides: ours is 10.0.0.1.
    dialled.send(dialled.open(PLAIN, 90, { routerId }));
    await dialled.hears(KEEPALIVE);
    accepted.send(accepted.open(PLAIN, 90, { routerId }));
    const loser = survivor === 'dialled' ? dialled : accepted;
    const winner = survivor === 'dialled' ? accepted : dialled;
    assert.equal(await loser.notified(), '6/7', survivor);
    winner.send(keepalive());
    await until(async () => (await lab.state(2)) === 'established', 'the winner is established');
    dialled.destroy();
  }
  assert.equal(await target.state(2), 'active');
});

test('a second connection of an established peer is refused with 6/7 once its OPEN is in', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const first = await lab.session(2);
  const second = await lab.connect(2);
  second.send(second.open());
  assert.equal(await second.notified(), '6/7');
  assert.equal(await lab.state(2), 'established');
  assert(!first.closed);
});

test('a dialling peer backs off from 5 s to 60 s, and an inbound connection resets that', async () => {
  const clock = new ManualClock();
  const { server, close } = await closedPort();
  await using lab = await Lab.of([peerSettings(2, { connect: true, remotePort: server, remoteAddress: '127.0.0.2' })], {}, clock);
  await close();
  for (const wait of [5000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
    await until(async () => (await lab.state(2)) === 'active', `refused before ${wait}`);
    clock.advance(wait - 1);
    assert.equal(await lab.state(2), 'active');
    clock.advance(1);
    assert.equal(await lab.state(2), 'connect', String(wait));
  }
  await until(async () => (await lab.state(2)) === 'active', 'refused');
  const inbound = await lab.connect(2);
  await inbound.hears(OPEN);
  inbound.destroy();
  await until(async () => (await lab.state(2)) === 'active', 'waits again');
  clock.advance(5000);
  assert.equal(await lab.state(2), 'connect');
});

test('send hold (RFC 9687): a peer that takes nothing for the time is dropped', async () => {
  const clock = new ManualClock();
  await using lab = await Lab.of([peerSettings(2, { sendHoldTimeSeconds: 480, holdTimeSeconds: 0 })], {}, clock);
  const peer = await lab.session(2, PLAIN, 0);
  peer.socket.pause();
  const junk = message(UPDATE, new Uint8Array(4077));
  const queued = async (): Promise<boolean> => ((await lab.reactor.snapshot())[0]?.sendQueueBytes ?? 0) > 0;
  for (let idle = 0; idle < 50; idle = (await queued()) ? idle + 1 : 0) {
    await lab.reactor.raw(0, junk);
    await new Promise((resolve) => setImmediate(resolve));
  }
  // A KEEPALIVE or UPDATE starts the watch; `raw` does not.
  assert.equal(await lab.reactor.refresh(0, IPV4_UNICAST, 0), undefined);
  await until(async () => ((await lab.reactor.snapshot())[0]?.counters.refreshesSent ?? 0) > 0, 'the refresh is queued');
  clock.advance(479_000);
  assert.equal(await lab.state(2), 'established');
  clock.advance(2000);
  assert.notEqual(await lab.state(2), 'established');
});

test('graceful restart: a new connection of the peer replaces the old one without a NOTIFICATION (RFC 4724 §4.2)', async () => {
  const gr = { plugin: 'gr', code: 64, value: hex('007800010100'), peers: [] };
  await using lab = await Lab.of([peerSettings(2)], { capabilities: [gr] });
  const capabilities = [
    ...PLAIN,
    {
      kind: 'graceful-restart',
      restarting: false,
      notification: false,
      restartTimeSeconds: 120,
      families: [{ family: IPV4_UNICAST, forwarding: false }],
    } as const,
  ];
  const first = await lab.session(2, capabilities);
  const second = await lab.connect(2);
  await second.establish(capabilities);
  await first.ends();
  assert(!first.heard.some((one) => one.type === 3));
  await until(async () => (await lab.state(2)) === 'established', 'the new session is up');
});

test('a peer over IPv6 is known by any spelling of its address, and gets its routes in MP_REACH_NLRI', async (context) => {
  const settings = peerSettings(2, { localAddress: '::1', remoteAddress: '0:0:0:0:0:0:0:1', families: [family(IPV6_UNICAST)] });
  await using lab = await Lab.of([settings]);
  const port = lab.reactor.listenPort('::1', 0);
  if (port === 0) {
    context.skip('no IPv6 on this machine');
    return;
  }
  const peer = new Speaker(connect(port, '::1'), 2);
  await peer.establish([{ kind: 'multiprotocol', family: IPV6_UNICAST }]);
  assert.equal(toHex(await peer.hears(UPDATE)), '00000006800f03000201');
  await lab.reactor.originate([
    {
      owner: 'x',
      peers: [0],
      attributes: hex(''),
      nextHop: hex(''),
      sections: [{ family: IPV6_UNICAST, announce: hex('2020010db8'), withdraw: hex(''), pathId: 0, eor: false }],
    },
  ]);
  const body = toHex(await peer.hears(UPDATE));
  assert.match(body, /800e1a000201100{31}1002020010db8$/);
  peer.destroy();
});

test('an address in use is a fault that names it; the listener opens once it is free', async () => {
  const clock = new ManualClock();
  const { server, close } = await closedPort();
  await using lab = new Lab(reactorSettings([]), clock);
  await lab.reactor.start();
  const settings = reactorSettings([peerSettings(2, { localPort: server, localAddress: '127.0.0.2' }), peerSettings(3)]);
  const report = await lab.apply(settings);
  assert.deepEqual(report.faults, [`127.0.0.2:${server}: address already in use`]);
  assert.deepEqual(report.added, ['p2', 'p3']);
  assert(lab.sink.codes().includes('listener'));
  await lab.session(3);
  await close();
  clock.advance(5000);
  await until(() => lab.reactor.listenPort('127.0.0.2', server) === server, 'bound at last');
});

test('reload: what did not change keeps its session, what did is reset with 6/6, what went away ends with 6/3', async () => {
  await using lab = await Lab.of([peerSettings(2), peerSettings(3), peerSettings(4), peerSettings(5)]);
  const [kept, reset, gone, live] = [await lab.session(2), await lab.session(3), await lab.session(4), await lab.session(5)];
  const report = await lab.apply(
    reactorSettings([
      peerSettings(2),
      peerSettings(3, { holdTimeSeconds: 30 }),
      peerSettings(5, { description: 'x' }),
      peerSettings(6),
    ]),
  );
  assert.deepEqual(report, { added: ['p6'], removed: ['p4'], changed: ['p3', 'p5'], unchanged: ['p2'], faults: [] });
  assert.equal(await reset.notified(), '6/6');
  assert.equal(await gone.notified(), '6/3');
  assert.equal(await lab.state(2), 'established');
  assert.equal(await lab.state(5), 'established');
  assert(!kept.closed && !live.closed);
  await lab.session(3);
});

test('paused reading keeps what was not read, in order, and goes on where it stopped', async () => {
  await using lab = await Lab.of([peerSettings(2, { holdTimeSeconds: 0 })]);
  lab.reactor.interest(0xffff, 0);
  const peer = await lab.session(2, PLAIN, 0);
  await lab.reactor.setPaused(0, true);
  const all = Array.from({ length: 20_000 }, (_, i) =>
    update('', attributes(64502), `20${(0x0a000000 + i).toString(16).padStart(8, '0')}`),
  );
  peer.send(...all);
  await lab.reactor.setPaused(0, false);
  await lab.reactor.setPaused(0, true);
  await lab.reactor.setPaused(0, false);
  const updates = (): readonly Uint8Array[] => lab.sink.rows.filter((row) => row.kind === 'update').map((row) => row.bytes);
  await until(() => updates().length === all.length, 'all are read');
  assert.deepEqual(
    updates().map((bytes) => toHex(bytes.slice(-4))),
    all.map((bytes) => toHex(bytes.slice(-4))),
  );
});

const DOWN = 'the session is not established';
test('what is asked of a peer in a state that cannot do it is answered by the state, and changes nothing', async () => {
  await using lab = await Lab.of([peerSettings(2), peerSettings(3)]);
  await lab.session(3);
  const { reactor } = lab;
  const bytes = hex(`${'ff'.repeat(16)}001304`);
  const [down, up] = [0, 1];
  for (const [what, peer, answer] of [
    ['setPaused true', down, DOWN],
    ['setPaused false', down, 'is not paused'],
    ['flush', down, DOWN],
    ['teardown', down, DOWN],
    ['refresh', down, DOWN],
    ['raw', down, 'there is no connection'],
    ['setPaused false', up, 'is not paused'],
    ['setPaused true', up, undefined],
    ['setPaused true', up, 'is paused already'],
    ['flush', up, undefined],
    ['raw', up, undefined],
    ['teardown', up, undefined],
  ] as const) {
    const deeds = {
      'setPaused true': () => reactor.setPaused(peer, true),
      'setPaused false': () => reactor.setPaused(peer, false),
      flush: () => reactor.flush(peer),
      teardown: () => reactor.teardown(peer, 2, ''),
      refresh: () => reactor.refresh(peer, 0x0101, 0),
      raw: () => reactor.raw(peer, bytes),
    };
    assert.equal(await deeds[what](), answer, `${what} of the peer that is ${peer === up ? 'up' : 'down'}`);
  }
  const states = await reactor.snapshot();
  assert.deepEqual(
    states.map(({ paused }) => paused),
    [false, true],
  );
  assert.equal(await reactor.setPaused(up, false), undefined, 'a pause that outlived its session is taken back');
});

test('raw bytes go out on a connection that has no session yet, once it is a connection', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const bytes = hex(`${'ff'.repeat(16)}001304`);
  assert.equal(await lab.reactor.raw(0, bytes), 'there is no connection');
  const peer = await lab.connect(2);
  await peer.hears(OPEN);
  assert.equal(await lab.reactor.raw(0, bytes), undefined);
  await peer.hears(KEEPALIVE);
});

test('a loop too busy for its timers still sends KEEPALIVEs: deadlines are looked at after every read', async () => {
  let now = 0;
  // Time passes, but no timer of this clock ever fires.
  const clock = { now: () => now, wall: () => 0, after: () => ({ cancel: () => undefined }) };
  await using lab = await Lab.of([peerSettings(2, { holdTimeSeconds: 9 })], {}, clock);
  const peer = await lab.session(2);
  for (let second = 0; second < 12; second++) {
    now += 1000;
    const before = (await lab.reactor.snapshot())[0]?.counters.updatesReceived ?? 0;
    peer.send(update('', attributes(64502), '180a0000'));
    await until(async () => ((await lab.reactor.snapshot())[0]?.counters.updatesReceived ?? 0) > before, 'read');
  }
  await until(() => peer.beats.length >= 1 + 12 / 3, 'a KEEPALIVE every three seconds');
  const [snapshot] = await lab.reactor.snapshot();
  assert(snapshot !== undefined && snapshot.largestKeepaliveGapMs <= 3300, String(snapshot?.largestKeepaliveGapMs));
});

test('accepted connections are read into our own buffer: this Node keeps its handles where we look for them', async () => {
  const { server, socket } = await rawPair();
  const handle = (socket as unknown as { _handle?: { useUserBuffer?: unknown } })._handle;
  assert.equal(typeof handle?.useUserBuffer, 'function');
  socket.destroy();
  server.close();
});

for (const [way, hidden] of [
  ['into our own buffer', false],
  ["by 'data' events", true],
] as const) {
  test(`an accepted connection read ${way} gives whole messages, however they are cut`, async () => {
    const { server, socket, client } = await rawPair();
    if (hidden) Object.assign((socket as unknown as { _handle: object })._handle, { useUserBuffer: undefined });
    const area = new ReadArea();
    const seen: string[] = [];
    const nothing = (): void => undefined;
    let failed = false;
    const owner = {
      sessionConnected: nothing,
      badHeader: nothing,
      readDone: nothing,
      wrote: nothing,
      sessionFailed: () => (failed = true),
      message: (_type: number, at: number, length: number) => seen.push(toHex(area.bytes.slice(at, at + length))),
    };
    const deadlines = new Deadlines(new ManualClock());
    const session = Session.accept(area, owner, deadlines, socket);
    const all = Array.from({ length: 400 }, (_, i) => message(UPDATE, new Uint8Array(4 + ((i * 97) % 4000)).fill(i)));
    const bytes = Buffer.concat(all);
    for (let at = 0, cut = 1; at < bytes.length; at += cut, cut = (cut * 7 + 3) % 9000 || 1)
      client.write(bytes.subarray(at, at + cut));
    await until(() => seen.length === all.length, 'all messages came');
    assert.deepEqual(seen, all.map(toHex));
    client.end();
    await until(() => failed, 'the end is told');
    assert.equal(session.bytesReceived, bytes.length);
    await area.idle();
    server.close();
  });
}

/** An accepted, paused socket and the client at its other end. */
async function rawPair(): Promise<{ server: Server; socket: Socket; client: Socket }> {
  const server = createServer({ pauseOnConnect: true });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const socket = await new Promise<Socket>((resolve) => server.once('connection', resolve));
  return { server, socket, client };
}

async function listen(address: string): Promise<{ server: number; socket: Promise<Speaker> }> {
  const server = createServer();
  const socket = new Promise<Speaker>((resolve) => {
    server.once('connection', (one) => {
      server.close();
      resolve(new Speaker(one, 2));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return { server: (server.address() as AddressInfo).port, socket };
}

/** A port that is taken until `close`. */
async function closedPort(): Promise<{ server: number; close: () => Promise<void> }> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve));
  const port = (server.address() as AddressInfo).port;
  return { server: port, close: () => new Promise((resolve) => server.close(() => resolve())) };
}
