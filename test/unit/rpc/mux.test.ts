import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { type AnswerSource, documentAnswer, failedAnswer, Mux, records, RpcError } from '../../../sdk/rpc/index.ts';
import type { BulkReplies } from '../../../sdk/rpc/bulk.ts';
import { duplexPair, ScriptedPeer, until } from '../../support/duplex-pair.ts';

// The link's own timers keep no process alive.
const awake = setInterval(() => undefined, 1000);
after(() => clearInterval(awake));

function link(options: ConstructorParameters<typeof Mux>[1] = {}): { mux: Mux; peer: ScriptedPeer } {
  const [left, right] = duplexPair();
  return { mux: new Mux(left, options), peer: new ScriptedPeer(right) };
}

const clean = (mux: Mux): void => assert.deepEqual(mux.pending, { calls: 0, answers: 0, requests: 0 });

test('ids count from 1, params are left out when there are none', async () => {
  const { mux, peer } = link();
  const first = mux.call('ze-plugin-engine:unsubscribe-events', undefined);
  const second = mux.call('ze-plugin-engine:release-cached', { ids: [1, 2] });
  assert.deepEqual(await peer.take(2), [
    '#1 ze-plugin-engine:unsubscribe-events',
    '#2 ze-plugin-engine:release-cached {"ids":[1,2]}',
  ]);
  peer.send('#2 ok', '#1 ok');
  assert.deepEqual(await Promise.all([first, second]), [undefined, undefined]);
  clean(mux);
  await mux.close();
});

test('calls run both ways at once with equal ids', async () => {
  const { mux, peer } = link();
  mux.serve('ze-plugin-callback:decode-nlri', (input) => ({ json: { family: input.family, hex: input.hex } }));
  const call = mux.call('ze-plugin-engine:emit-event', { namespace: 'x', 'event-type': 'y', event: '{}' });
  await peer.line();
  peer.send('#1 ze-plugin-callback:decode-nlri {"FAMILY":"ipv4/flow","unknown":1}');
  assert.equal(await peer.line(), '#1 ok {"json":{"family":"ipv4/flow","hex":""}}');
  peer.send('#1 ok {"delivered":3}');
  assert.deepEqual(await call, { delivered: 3 });
  await mux.close();
});

test('an id is echoed byte for byte', async () => {
  const { mux, peer } = link();
  mux.serve('ze-plugin-callback:bye', () => undefined);
  peer.send('#18446744073709551615 ze-plugin-callback:bye', '#007 ze-plugin-callback:bye {"reason":"x"}');
  assert.deepEqual(await peer.take(2), ['#18446744073709551615 ok', '#007 ok']);
  await mux.close();
});

test('bulk requests: each is answered under its id, in any order; a throw is its error; those that waited come first', async () => {
  const { mux, peer } = link({ held: true, runningLimit: 3 });
  const taken: [id: number, params: string][] = [];
  const ways: BulkReplies[] = [];
  mux.serveBulk('ze-plugin-engine:update-route', (bytes, from, to, id, replies) => {
    const text = bytes.toString('utf8', from, to);
    if (text === 'bad') throw new RpcError('error', 'no such thing');
    if (text === 'unknown') throw new RpcError('unknown-command', 'unknown command: x');
    taken.push([id, text]);
    ways.push(replies);
  });
  const request = (id: string, params: string): string => `#${id} ze-plugin-engine:update-route ${params}`;
  peer.send(request('1', 'a'), request('007', 'b'));
  await until(() => mux.pending.requests === 2);
  assert.deepEqual(taken, []);
  mux.start();
  peer.send(request('2', 'c'), request('3', 'd'), request('4', 'bad'), request('5', 'unknown'), request('6', 'e'));
  await until(() => mux.pending.requests === 7);
  assert.deepEqual(taken.splice(0), [
    [0, 'a'],
    [0, 'b'],
    [2, 'c'],
  ]);
  ways[2]?.ok(2, 1, '{"n":2}');
  assert.equal(await peer.line(), '#2 ok {"n":2}');
  assert.deepEqual(taken.splice(0), [[0, 'd']]);
  ways[1]?.error(0, 1, new RpcError('busy', 'later'));
  const lines = await peer.take(3);
  assert.deepEqual(lines.slice(0, 2), [
    '#007 error {"code":"error","message":"later"}',
    '#4 error {"code":"error","message":"no such thing"}',
  ]);
  assert.match(lines[2] ?? '', /^#5 nay .*unknown command: x$/);
  await until(() => taken.length === 1);
  for (const i of [0, 3, 4]) ways[i]?.ok(0, 1, '{}');
  assert.deepEqual(await peer.take(3), ['#1 ok {}', '#3 ok {}', '#6 ok {}']);
  peer.send(request('8', 'bad'), request('9', 'unknown'));
  assert.deepEqual(
    (await peer.take(2)).map((line) => line.slice(0, 8)),
    ['#8 error', '#9 nay 0'],
  );
  await until(() => mux.pending.requests === 0);
  clean(mux);
  await mux.close();
});

const refusals: readonly (readonly [request: string, message: string | RegExp])[] = [
  ['a:b', 'unknown method: a:b'],
  ['', 'unknown method: '],
  ['row', 'unknown method: row'],
  ['ze-plugin-callback:bye {"reason":', /^invalid bye params: /],
  ['ze-plugin-callback:bye []', 'invalid bye params: value is not an object'],
  ['ze-plugin-callback:bye {"reason":5}', 'invalid bye params: reason is not a string'],
];
for (const [request, message] of refusals) {
  test(`"${request}" is refused with ${String(message)}`, async () => {
    const { mux, peer } = link();
    mux.serve('ze-plugin-callback:bye', () => undefined);
    peer.send(`#9 ${request}`);
    const line = await peer.line();
    assert.ok(line.startsWith('#9 error '), line);
    const payload = JSON.parse(line.slice('#9 error '.length)) as { code: string; message: string };
    assert.equal(payload.code, 'error');
    if (typeof message === 'string') assert.equal(payload.message, message);
    else assert.match(payload.message, message);
    await mux.close();
  });
}

const thrown: readonly (readonly [error: unknown, message: string])[] = [
  [new RpcError('error', 'unknown family: ipv4/x'), 'unknown family: ipv4/x'],
  [new RpcError('no-route', 'nothing there'), 'no-route: nothing there'],
  [new Error('plain'), 'plain'],
  [new Error(''), 'Error'],
  [undefined, 'unknown error'],
];
for (const [error, message] of thrown) {
  test(`a handler that throws ${String(error)} answers "${message}"`, async () => {
    const { mux, peer } = link();
    mux.serve('ze-plugin-callback:bye', () => {
      throw error;
    });
    mux.serve('ze-plugin-callback:post-startup', () => Promise.reject(error as Error));
    peer.send('#1 ze-plugin-callback:bye', '#2 ze-plugin-callback:post-startup');
    const payload = JSON.stringify({ code: 'error', message });
    assert.deepEqual(await peer.take(2), [`#1 error ${payload}`, `#2 error ${payload}`]);
    await until(() => mux.pending.requests === 0);
    await mux.close();
  });
}

const errors: readonly (readonly [payload: string, code: string, message: string])[] = [
  [' {"code":"error","message":"unknown family: x"}', 'error', 'unknown family: x'],
  [' {"Message":"m"}', 'error', 'm'],
  [' {"code":"limit","message":"m"}', 'limit', 'm'],
  [' {"code":"error","message":"busy: 16 requests are waiting"}', 'busy', 'busy: 16 requests are waiting'],
  [' {"code":"error","message":"unknown method: a:b"}', 'unknown-method', 'unknown method: a:b'],
  [' 4:code 7:message', 'code', 'message'],
  [' something else', 'error', 'something else'],
  ['', 'error', '(no message)'],
];
for (const [payload, code, message] of errors) {
  test(`reads the error payload "${payload}"`, async () => {
    const { mux, peer } = link();
    const call = mux.call('ze-plugin-engine:unsubscribe-events', undefined);
    await peer.line();
    peer.send(`#1 error${payload}`);
    await assert.rejects(call, (error) => error instanceof RpcError && error.code === code && error.message === message);
    clean(mux);
    await mux.close();
  });
}

test('a result of the wrong kind rejects its call', async () => {
  const { mux, peer } = link();
  for (const [i, result] of ['{"delivered":"x"}', '[', '5'].entries()) {
    const call = mux.call('ze-plugin-engine:emit-event', { namespace: 'x', 'event-type': 'y', event: '' });
    await peer.line();
    peer.send(`#${i + 1} ok ${result}`);
    await assert.rejects(call, RpcError);
  }
  const missing = mux.call('ze-plugin-engine:emit-event', { namespace: 'x', 'event-type': 'y', event: '' });
  await peer.line();
  peer.send('#4 ok');
  assert.deepEqual(await missing, { delivered: 0 });
  clean(mux);
  await mux.close();
});

test('another spelling of an id of ours is nobody’s', async () => {
  const { mux, peer } = link();
  const call = mux.call('ze-plugin-engine:unsubscribe-events', undefined);
  await peer.line();
  peer.send('#01 ok', '#0 ok', '#18446744073709551615 ok', '#1 ok');
  await call;
  clean(mux);
  await mux.close();
});

test('a wait for a request can be given up', async () => {
  const { mux, peer } = link({ held: true });
  const controller = new AbortController();
  const wait = mux.next(controller.signal);
  controller.abort();
  await assert.rejects(wait, { code: 'aborted' });
  await assert.rejects(mux.next(controller.signal), { code: 'aborted' });
  peer.send('#1 x:y');
  (await mux.next()).reply({ id: 2n ** 64n });
  assert.equal(await peer.line(), '#1 ok {"id":18446744073709551616}');
  await mux.close();
});

test('the 101st unreadable line in a row closes the link, a good one resets the count', async () => {
  const { mux, peer } = link();
  mux.serve('ze-plugin-callback:bye', () => undefined);
  const bad = (count: number): string[] => Array.from({ length: count }, (_, i) => (i % 2 === 0 ? 'garbage' : `#${i + 500} ok`));
  peer.send(...bad(100), '#1 ze-plugin-callback:bye');
  assert.equal(await peer.line(), '#1 ok');
  peer.send(...bad(100), '#77 row 0:', '#2 ze-plugin-callback:bye');
  assert.equal(await peer.line(), '#2 ok');
  const call = mux.call('ze-plugin-engine:unsubscribe-events', undefined);
  await peer.line();
  peer.send(...bad(101));
  await assert.rejects(call, /101 unreadable lines/);
  assert.match((await mux.closed)?.message ?? '', /101 unreadable lines/);
  clean(mux);
});

test('an aborted call gives up its waiter, and its late answer is no bad line', async () => {
  const { mux, peer } = link();
  for (let i = 1; i <= 150; i++) {
    const controller = new AbortController();
    const call = mux.call('ze-plugin-engine:unsubscribe-events', undefined, controller.signal);
    controller.abort();
    await assert.rejects(call, (error) => error instanceof RpcError && error.code === 'aborted');
  }
  clean(mux);
  await peer.take(150);
  peer.send(...Array.from({ length: 150 }, (_, i) => `#${i + 1} ok`));
  mux.serve('ze-plugin-callback:bye', () => undefined);
  peer.send('#1 ze-plugin-callback:bye');
  assert.equal(await peer.line(), '#1 ok');
  const late = mux.call('ze-plugin-engine:unsubscribe-events', undefined, AbortSignal.timeout(10));
  await assert.rejects(late, (error) => error instanceof RpcError && error.code === 'deadline');
  await mux.close();
});

test('closing fails every waiter, whoever closes', async () => {
  for (const how of ['peer', 'self', 'destroy'] as const) {
    const { mux, peer } = link({ held: true });
    const call = assert.rejects(mux.call('ze-plugin-engine:unsubscribe-events', undefined), { code: 'closed' });
    const answer = mux.dispatchAnswer('ze-plugin-engine:dispatch-command', { command: 'x' });
    const next = assert.rejects(mux.next(), { code: 'closed' });
    await peer.take(2);
    if (how === 'peer') peer.stream.end();
    else if (how === 'self') await mux.close();
    else mux.destroy(new RpcError('closed', 'enough'));
    await call;
    await next;
    await assert.rejects(answer.head, { code: 'closed' });
    await assert.rejects(answer.verdict, { code: 'closed' });
    await assert.rejects(answer.collapse(), { code: 'closed' });
    await mux.closed;
    await assert.rejects(mux.call('ze-plugin-engine:unsubscribe-events', undefined), { code: 'closed' });
    await assert.rejects(mux.dispatchAnswer('ze-plugin-engine:dispatch-command', { command: 'x' }).head, { code: 'closed' });
    await assert.rejects(mux.next(), { code: 'closed' });
    await assert.rejects(mux.drained(), { code: 'closed' });
    clean(mux);
    await peer.end();
  }
});

test('a line over 16 MiB is refused before it is written', async () => {
  const { mux, peer } = link();
  const event = 'x'.repeat(16 * 1024 * 1024);
  await assert.rejects(mux.call('ze-plugin-engine:emit-event', { namespace: 'n', 'event-type': 't', event }), {
    code: 'too-large',
  });
  const small = mux.callRaw('a:b', Buffer.from('{"x":"é"}'));
  assert.equal(await peer.line(), '#1 a:b {"x":"é"}');
  peer.send('#1 ok 5');
  assert.equal((await small).toString(), '5');
  await assert.rejects(mux.callRaw('a:b', '{\n}'), /line feed/);
  await assert.rejects(mux.callRaw('a:b', Buffer.from('{\n}')), /line feed/);
  clean(mux);
  await mux.close();
});

test('held requests wait for next() in order, start() lets handlers run', async () => {
  const { mux, peer } = link({ held: true });
  mux.serve('ze-plugin-callback:post-startup', () => undefined);
  peer.send('#1 ze-plugin-callback:configure {"sections":[]}', '#2 ze-plugin-callback:share-registry {}');
  const first = await mux.next();
  assert.equal(first.method, 'ze-plugin-callback:configure');
  first.reply();
  first.reply({ twice: true });
  (await mux.next()).fail(new Error('no'));
  const waiting = mux.next();
  peer.send('#3 x:y');
  assert.equal((await waiting).method, 'x:y');
  peer.send('#4 ze-plugin-callback:post-startup');
  assert.deepEqual(await peer.take(2), ['#1 ok', '#2 error {"code":"error","message":"no"}']);
  mux.start();
  assert.equal(await peer.line(), '#4 ok');
  await mux.close();
});

test('sixteen requests wait as long as it takes, the next is answered busy after its time', async () => {
  const { mux, peer } = link({ held: true, busyAfterMs: 30 });
  mux.serve('ze-plugin-callback:bye', () => undefined);
  peer.send(...Array.from({ length: 18 }, (_, i) => `#${i + 1} ze-plugin-callback:bye`));
  const busy = await peer.take(2);
  for (const [i, line] of busy.entries()) assert.match(line, new RegExp(`^#${i + 17} error .*"message":"busy: `));
  mux.start();
  assert.deepEqual(
    await peer.take(16),
    Array.from({ length: 16 }, (_, i) => `#${i + 1} ok`),
  );
  clean(mux);
  await mux.close();
});

test('requests past the running limit wait and are served when there is room', async () => {
  const { mux, peer } = link({ runningLimit: 2, busyAfterMs: 5000 });
  const release: (() => void)[] = [];
  mux.serve('ze-plugin-callback:bye', () => new Promise<undefined>((resolve) => release.push(() => resolve(undefined))));
  peer.send(...Array.from({ length: 6 }, (_, i) => `#${i + 1} ze-plugin-callback:bye`));
  for (let i = 1; i <= 6; i++) {
    await until(() => release.length > 0, `request ${i}`);
    assert.ok(release.length <= 2);
    release.shift()?.();
    assert.equal(await peer.line(), `#${i} ok`);
  }
  await until(() => mux.pending.requests === 0);
  await mux.close();
});

test('a peer that does not read ends the link at the limit, and by the clock', async () => {
  for (const options of [{ outboundLimitBytes: 1_000_000 }, { writeTimeoutMs: 30 }]) {
    const [left, right] = duplexPair();
    right.pause();
    const mux = new Mux(left, options);
    const calls = Array.from({ length: 40 }, () =>
      mux.callRaw('a:b', Buffer.alloc(50_000, 'x')).then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
    const reason = await mux.closed;
    assert.match(reason?.message ?? '', /does not read|timed out/);
    for (const error of await Promise.all(calls)) assert.ok(error instanceof RpcError);
    clean(mux);
  }
});

test('drained() waits for a reader that lags', async () => {
  const [left, right] = duplexPair();
  right.pause();
  const mux = new Mux(left);
  for (let i = 0; i < 40; i++) mux.callRaw('a:b', Buffer.alloc(50_000, 'x')).catch(() => undefined);
  assert.ok(mux.writableLength > 1_000_000);
  let drained = false;
  const wait = mux.drained().then(() => (drained = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(drained, false);
  right.resume();
  await wait;
  await mux.close();
});

test('answers are written for all three outcomes of a command', async () => {
  const { mux, peer } = link();
  mux.serveAnswer('ze-plugin-callback:execute-command', (input): AnswerSource => {
    if (input.command === 'doc') return documentAnswer({ running: true, peers: 1 });
    if (input.command === 'rows') return records([{ a: 1 }, { a: 2 }], { envelope: 'rows' });
    if (input.command === 'failed') return failedAnswer('plugin not loaded');
    if (input.command === 'nay') throw new RpcError('unknown-command', 'unknown command: shwo routes');
    throw new RpcError('error', 'broken');
  });
  for (const command of ['doc', 'rows', 'failed', 'nay', 'throw']) {
    peer.send(`#43 ze-plugin-callback:execute-command {"serial":"","command":"${command}"}`);
  }
  assert.deepEqual((await peer.take(10)).sort(), [
    '#43 end 0 0 17:plugin not loaded',
    '#43 end 1 0 0:',
    '#43 end 2 0 0:',
    '#43 error {"code":"error","message":"broken"}',
    '#43 nay 0: 28:unknown command: shwo routes',
    '#43 row 26:{"rows":[{"a":1},{"a":2}]}',
    '#43 row 26:{"running":true,"peers":1}',
    '#43 top doc 0: 0:',
    '#43 top doc 0: 0:',
    '#43 top doc 0: 0:',
  ]);
  await until(() => mux.pending.requests === 0);
  await mux.close();
});

test('the trace sees every line', async () => {
  const seen: string[] = [];
  const { mux, peer } = link({ trace: (direction, line) => seen.push(`${direction} ${line}`) });
  const call = mux.callRaw('a:b', Buffer.from('{}'));
  await peer.line();
  peer.send('#1 ok');
  await call;
  peer.send('#5 x:y {"é":1}');
  await peer.line();
  assert.deepEqual(seen, [
    'out #1 a:b {}',
    'in #1 ok',
    'in #5 x:y {"é":1}',
    'out #5 error {"code":"error","message":"unknown method: x:y"}',
  ]);
  await mux.close();
});
