import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import type { Bridge, BridgeHandlers } from '../../../sdk/plugin/bridge.ts';
import { failedAnswer, journal, Plugin, records, rejected, RouteSender, RpcError } from '../../../sdk/plugin/index.ts';
import { AnswerReader, documentAnswer, Mux } from '../../../sdk/rpc/index.ts';
import type { Methods } from '../../../yang/generated/methods.ts';
import { duplexPair, ScriptedPeer, until } from '../../support/duplex-pair.ts';
import { EngineLink } from '../../../sdk/testing/index.ts';

const awake = setInterval(() => undefined, 1000);
after(() => clearInterval(awake));

function pair(): { plugin: Plugin; engine: EngineLink; running: Promise<void> } {
  const [left, right] = duplexPair();
  const plugin = Plugin.withConn('probe', left);
  const running = new Promise<void>((resolve) => plugin.onStarted(resolve));
  return { plugin, engine: new EngineLink(right), running };
}

test('the five stages, byte for byte', async () => {
  const [left, right] = duplexPair();
  const plugin = Plugin.withConn('probe', left);
  const engine = new ScriptedPeer(right);
  plugin.setStartupSubscriptions(['update', 'state'], ['*'], 'parsed');
  plugin.setEncoding('json');
  plugin.setCapabilities([{ code: 64, encoding: 'hex', payload: '0078', peers: ['192.168.1.1'] }]);
  plugin.onValidateOpen(() => ({ accept: true }));
  const run = plugin.run({ commands: [{ name: 'probe status', 'short-help': 'Show it' }], 'wants-config': ['bgp'] });
  assert.equal(
    await engine.line(),
    '#1 ze-plugin-engine:declare-registration {"commands":[{"name":"probe status","short-help":"Show it"}],"wants-config":["bgp"],"wants-validate-open":true}',
  );
  engine.send('#1 ok', '#1 ze-plugin-callback:configure {"sections":[{"root":"bgp","data":"{}"}],"claims":["a-role"]}');
  assert.deepEqual(await engine.take(2), [
    '#1 ok',
    '#2 ze-plugin-engine:declare-capabilities {"capabilities":[{"code":64,"encoding":"hex","payload":"0078","peers":["192.168.1.1"]}]}',
  ]);
  engine.send('#2 ok', '#2 ze-plugin-callback:share-registry {"commands":[]}');
  assert.deepEqual(await engine.take(2), [
    '#2 ok',
    '#3 ze-plugin-engine:ready {"subscribe":{"events":["update","state"],"peers":["*"],"format":"parsed","encoding":"json"}}',
  ]);
  engine.send('#3 ok', '#99 ze-plugin-callback:bye {"reason":"shutdown"}');
  assert.equal(await engine.line(), '#99 ok');
  await run;
  await engine.end();
  assert.ok(plugin.claimActive('a-role'));
  assert.ok(!plugin.claimActive('another'));
});

const failures: readonly (readonly [name: string, script: (engine: EngineLink) => Promise<void>, message: string | RegExp])[] = [
  [
    'stage 1 is refused',
    async (engine) => (await engine.mux.next()).fail(new RpcError('error', 'missing dependency: plugin "probe" requires "x"')),
    'stage 1 (declare-registration): rpc error: missing dependency: plugin "probe" requires "x"',
  ],
  [
    'the link ends in stage 1',
    async (engine) => engine.mux.close(),
    'stage 1 (declare-registration): rpc error: closed: connection closed',
  ],
  [
    'stage 2 is something else',
    async (engine) => {
      (await engine.mux.next()).reply();
      await assert.rejects(engine.mux.call('ze-plugin-callback:post-startup', undefined), /expected configure, got post-startup/);
    },
    'stage 2 (configure): rpc error: expected configure, got post-startup',
  ],
  [
    'stage 2 is undecodable',
    async (engine) => {
      (await engine.mux.next()).reply();
      await assert.rejects(engine.mux.callRaw('ze-plugin-callback:configure', '{"sections":5}'), /invalid configure params/);
    },
    'stage 2 (configure): rpc error: invalid configure params: sections is not a list',
  ],
  [
    'stage 3 is refused',
    async (engine) => {
      (await engine.mux.next()).reply();
      await engine.mux.call('ze-plugin-callback:configure', { sections: [] });
      (await engine.mux.next()).fail(new Error('capability conflict'));
    },
    'stage 3 (declare-capabilities): rpc error: capability conflict',
  ],
  [
    'stage 5 is refused',
    async (engine) => {
      (await engine.mux.next()).reply();
      await engine.mux.call('ze-plugin-callback:configure', { sections: [] });
      (await engine.mux.next()).reply();
      await engine.mux.call('ze-plugin-callback:share-registry', { commands: [] });
      (await engine.mux.next()).fail(new Error('startup barrier aborted'));
    },
    'stage 5 (ready): rpc error: startup barrier aborted',
  ],
];
for (const [name, script, message] of failures) {
  test(`${name}: run fails and says where`, async () => {
    const { plugin, engine } = pair();
    const run = assert.rejects(plugin.run({}), { message });
    await script(engine);
    await run;
    await engine.mux.closed;
  });
}

test('a configure handler that throws refuses the configuration', async () => {
  const { plugin, engine } = pair();
  plugin.onConfigure(() => {
    throw new Error('no such interface');
  });
  const run = assert.rejects(plugin.run({}), { message: 'stage 2 (configure): no such interface' });
  (await engine.mux.next()).reply();
  await assert.rejects(engine.mux.call('ze-plugin-callback:configure', { sections: [] }), { message: 'no such interface' });
  await run;
});

test('the engine cannot be called from the startup callbacks, nor before, nor after', async () => {
  const { plugin, engine } = pair();
  const seen: string[] = [];
  const attempt = async (): Promise<void> => {
    await plugin.unsubscribeEvents().catch((error: unknown) => seen.push(String(error)));
    await plugin.dispatchCommand('x').catch((error: unknown) => seen.push(String(error)));
  };
  plugin.onConfigure(attempt);
  plugin.onShareRegistry(attempt);
  await attempt();
  const run = plugin.run({});
  await engine.start();
  await engine.bye();
  await run;
  await attempt();
  assert.equal(seen.length, 8);
  for (const text of seen.slice(0, 2)) assert.match(text, /not running yet: call the engine from onStarted/);
  for (const text of seen.slice(2, 4)) assert.match(text, /cannot be called from onConfigure/);
  for (const text of seen.slice(4, 6)) assert.match(text, /cannot be called from onShareRegistry/);
  for (const text of seen.slice(6)) assert.match(text, /plugin is closed/);
});

test('the link that ends while stage 5 waits is a clean end, so is a goodbye during the stages', async () => {
  for (const how of ['eof', 'bye'] as const) {
    const { plugin, engine } = pair();
    const run = plugin.run({});
    (await engine.mux.next()).reply();
    if (how === 'bye') {
      await engine.bye();
      await run;
      continue;
    }
    await engine.mux.call('ze-plugin-callback:configure', { sections: [] });
    (await engine.mux.next()).reply();
    await engine.mux.call('ze-plugin-callback:share-registry', { commands: [] });
    await engine.expect('ze-plugin-engine:ready');
    await engine.mux.close();
    await run;
  }
});

test('EOF, close() and the signal end a running plugin cleanly', async () => {
  for (const how of ['eof', 'close', 'signal'] as const) {
    const { plugin, engine } = pair();
    const controller = new AbortController();
    const run = plugin.run({}, controller.signal);
    await engine.start();
    if (how === 'eof') await engine.mux.close();
    else if (how === 'close') await plugin.close();
    else controller.abort();
    await run;
    await engine.mux.closed;
    assert.ok(plugin.signal.aborted);
    await assert.rejects(plugin.run({}), /runs once/);
  }
});

test('a goodbye whose handler throws leaves the plugin running', async () => {
  const { plugin, engine } = pair();
  const reasons: string[] = [];
  plugin.onBye((reason) => {
    reasons.push(reason);
    if (reasons.length === 1) throw new Error('not yet');
  });
  const run = plugin.run({});
  await engine.start();
  await assert.rejects(engine.bye('first'), /not yet/);
  await engine.bye('second');
  await run;
  assert.deepEqual(reasons, ['first', 'second']);
});

type Callback = Exclude<keyof Methods & `ze-plugin-callback:${string}`, 'ze-plugin-callback:execute-command'>;
const defaults: readonly (readonly [method: Callback, params: string, answer: unknown])[] = [
  ['ze-plugin-callback:deliver-event', '{"event":"x"}', undefined],
  ['ze-plugin-callback:deliver-batch', '{"events":["x"]}', undefined],
  ['ze-plugin-callback:config-rollback', '{"transaction-id":"t"}', undefined],
  ['ze-plugin-callback:config-committed', '{"transaction-id":"t"}', undefined],
  ['ze-plugin-callback:post-startup', '', undefined],
  ['ze-plugin-callback:configure', '{"sections":[]}', undefined],
  ['ze-plugin-callback:share-registry', '{}', undefined],
  ['ze-plugin-callback:config-verify', '{"sections":[]}', { status: 'ok' }],
  ['ze-plugin-callback:config-apply', '{"sections":[]}', { status: 'ok' }],
  ['ze-plugin-callback:validate-open', '{}', { accept: true }],
  ['ze-plugin-callback:doctor-check', '{}', { diagnostics: [] }],
  ['ze-plugin-callback:enrich-show', '{}', {}],
];
const unserved = [
  'execute-command',
  'encode-nlri',
  'decode-nlri',
  'decode-capability',
  'filter-update',
  'config-operation-decompose',
  'config-operation-verify',
  'config-operation-apply',
  'config-operation-rollback',
  'config-operation-commit',
  'no-such-thing',
];

test('without handlers the protocol’s defaults answer', async () => {
  const { plugin, engine } = pair();
  const run = plugin.run({});
  await engine.start();
  for (const [method, params, want] of defaults) {
    const result = (await engine.mux.callRaw(method, params)).toString();
    assert.deepEqual(result === '' ? undefined : JSON.parse(result), want, method);
  }
  for (const name of unserved) {
    const method = `ze-plugin-callback:${name}`;
    await assert.rejects(engine.mux.callRaw(method, '{}'), { code: 'unknown-method', message: `unknown method: ${method}` });
  }
  await engine.bye();
  await run;
});

test('handlers get their input and answer in the protocol’s shape', async () => {
  const { plugin, engine } = pair();
  plugin.onEncodeNlri((input) => `${input.family}:${input.args?.join(',') ?? ''}`);
  plugin.onDecodeNlri((input) => Promise.resolve({ hex: input.hex }));
  plugin.onDecodeCapability((input) => [input.code]);
  plugin.onValidateOpen((input) => ({ accept: false, reason: input.peer, 'notify-code': 2 }));
  plugin.onFilterUpdate((input) => ({ action: 'modify', update: `med ${input['peer-as']}` }));
  plugin.onDoctorCheck((input) => [{ code: 'doctor-x', severity: 'warning', message: input.name }]);
  plugin.onEnrichShow((input) => ({ key: input.key }));
  plugin.onConfigOperationApply((input) => ({ status: 'ok', readiness: [{ namespace: 'n', 'event-type': input.operation.id }] }));
  plugin.onConfigOperationDecompose(() => {
    throw new Error('cannot');
  });
  const run = plugin.run({});
  await engine.start();
  const ask = async (name: string, params: object): Promise<unknown> =>
    JSON.parse((await engine.mux.callRaw(`ze-plugin-callback:${name}`, JSON.stringify(params))).toString()) as unknown;
  assert.deepEqual(await ask('encode-nlri', { family: 'ipv4/flow', args: ['a', 'b'] }), { hex: 'ipv4/flow:a,b' });
  assert.deepEqual(await ask('decode-nlri', { hex: '00' }), { json: { hex: '00' } });
  assert.deepEqual(await ask('decode-capability', { code: 64 }), { json: [64] });
  assert.deepEqual(await ask('validate-open', { peer: 'edge' }), { accept: false, reason: 'edge', 'notify-code': 2 });
  assert.deepEqual(await ask('filter-update', { 'peer-as': 65001 }), { action: 'modify', update: 'med 65001' });
  assert.deepEqual(await ask('doctor-check', { name: 'n' }), {
    diagnostics: [{ code: 'doctor-x', severity: 'warning', message: 'n' }],
  });
  assert.deepEqual(await ask('enrich-show', { key: 'k' }), { data: { key: 'k' } });
  assert.deepEqual(await ask('config-operation-apply', { operation: { id: 'op' } }), {
    status: 'ok',
    readiness: [{ namespace: 'n', 'event-type': 'op' }],
  });
  assert.deepEqual(await ask('config-operation-decompose', {}), { status: 'error', error: 'cannot' });
  await engine.bye();
  await run;
});

test('config faults are results; a rollback runs only after an accepted apply', async () => {
  const { plugin, engine } = pair();
  const log: string[] = [];
  let refuse = true;
  plugin.onConfigVerify(() => {
    throw new Error('bad value');
  });
  plugin.onConfigApply(() => (refuse ? { status: 'error', error: 'later' } : undefined));
  plugin.onConfigRollback((input) => {
    log.push(input['transaction-id']);
    if (log.length === 2) throw new Error('stuck');
  });
  const run = plugin.run({});
  await engine.start();
  const { mux } = engine;
  const rollback = (id: string): Promise<undefined> => mux.call('ze-plugin-callback:config-rollback', { 'transaction-id': id });
  assert.deepEqual(await mux.call('ze-plugin-callback:config-verify', { sections: [] }), { status: 'error', error: 'bad value' });
  assert.deepEqual(await mux.call('ze-plugin-callback:config-apply', { sections: [] }), { status: 'error', error: 'later' });
  await rollback('none');
  refuse = false;
  assert.deepEqual(await mux.call('ze-plugin-callback:config-apply', { sections: [] }), { status: 'ok' });
  await rollback('first');
  await rollback('none');
  await mux.call('ze-plugin-callback:config-apply', { sections: [] });
  await mux.call('ze-plugin-callback:config-committed', { 'transaction-id': 't' });
  await rollback('none');
  await mux.call('ze-plugin-callback:config-apply', { sections: [] });
  await assert.rejects(rollback('second'), /stuck/);
  assert.deepEqual(log, ['first', 'second']);
  await engine.bye();
  await run;
});

test('a rollback that comes while an apply still runs waits for it, and undoes what it accepts', async () => {
  const { plugin, engine } = pair();
  const log: string[] = [];
  let finish: () => void = () => undefined;
  plugin.onConfigApply(async () => {
    await new Promise<void>((resolve) => (finish = resolve));
    log.push('applied');
    return undefined;
  });
  plugin.onConfigRollback(() => void log.push('undone'));
  const run = plugin.run({});
  await engine.start();
  const { mux } = engine;
  const late = AbortSignal.timeout(30);
  await assert.rejects(mux.call('ze-plugin-callback:config-apply', { sections: [] }, late), /abort|timeout|deadline/i);
  const undone = mux.call('ze-plugin-callback:config-rollback', { 'transaction-id': 't' });
  await mux.call('ze-plugin-callback:config-verify', { sections: [] });
  assert.deepEqual(log, []);
  finish();
  await undone;
  assert.deepEqual(log, ['applied', 'undone']);
  await engine.bye();
  await run;
});

test('events run in order, after onStarted, and a throw drops the rest of its batch alone', async () => {
  const { plugin, engine } = pair();
  const log: string[] = [];
  plugin.onStarted(async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    log.push('started');
  });
  plugin.onEvent(async (event) => {
    await new Promise((resolve) => setTimeout(resolve, event === 'slow' ? 20 : 0));
    log.push(event);
    if (event === 'bad') throw new Error('cannot');
  });
  const run = plugin.run({});
  await engine.start();
  const batch = (...events: string[]): Promise<undefined> => engine.mux.call('ze-plugin-callback:deliver-batch', { events });
  const all = [batch('slow', 'a'), assert.rejects(batch('b', 'bad', 'never'), /cannot/), batch('c')];
  all.push(engine.mux.call('ze-plugin-callback:deliver-event', { event: 'd' }));
  await Promise.all(all);
  assert.deepEqual(log, ['started', 'slow', 'a', 'b', 'bad', 'c', 'd']);
  await engine.bye();
  await run;
});

test('a handler that waits for a command of a plugin that calls back does not block itself', async () => {
  const { plugin, engine } = pair();
  plugin.onExecuteCommand(async (input) => {
    if (input.command === 'inner') return { inner: true };
    return plugin.dispatchCommand('inner');
  });
  plugin.onEvent(async () => {
    await plugin.dispatchCommand('inner');
  });
  const run = plugin.run({});
  engine.mux.serveAnswer('ze-plugin-engine:dispatch-command', (input) =>
    engine.mux.dispatchAnswer('ze-plugin-callback:execute-command', { serial: '', command: input.command }).source(),
  );
  await engine.start();
  const outer = engine.mux.dispatchAnswer('ze-plugin-callback:execute-command', { serial: '', command: 'outer' });
  assert.deepEqual(await outer.collapse(), { status: 'done', data: { status: 'done', data: { inner: true } } });
  await engine.mux.call('ze-plugin-callback:deliver-batch', { events: ['x'] });
  await engine.bye();
  await run;
});

test('commands answer with documents, rows, failures and faults', async () => {
  const { plugin, engine } = pair();
  plugin.onExecuteCommand((input) => {
    switch (input.command) {
      case 'nothing':
        return undefined;
      case 'doc':
        return { running: true };
      case 'rows':
        return (function* () {
          yield { n: 1 };
          yield rejected({ why: 'odd' });
          yield { n: 2 };
        })();
      case 'table':
        return records([['a', 1]], { columns: ['name', 'n'], envelope: 'rows' });
      case 'failed':
        return failedAnswer('');
      case 'midway':
        return (function* () {
          yield 1;
          throw new Error('walk interrupted');
        })();
      default:
        throw new Error('broken');
    }
  });
  const run = plugin.run({});
  await engine.start();
  const ask = (command: string): AnswerReader =>
    engine.mux.dispatchAnswer('ze-plugin-callback:execute-command', { serial: '', command });
  assert.deepEqual(await ask('nothing').collapse(), { status: 'done' });
  assert.deepEqual(await ask('doc').collapse(), { status: 'done', data: { running: true } });
  assert.deepEqual(await ask('rows').collapse(), {
    status: 'done',
    data: { data: [{ n: 1 }, { n: 2 }], errors: [{ why: 'odd' }] },
  });
  assert.deepEqual(await ask('table').collapse(), { status: 'done', data: { rows: [{ name: 'a', n: 1 }] } });
  assert.deepEqual(await ask('failed').collapse(), { status: 'error', error: 'unknown error' });
  assert.deepEqual(await ask('midway').collapse(), { status: 'error', data: [1], error: 'walk interrupted' });
  await assert.rejects(ask('throw').collapse(), { message: 'broken' });
  await engine.bye();
  await run;
});

test('a command’s producer stops when the link goes, and its signal says so', async () => {
  const { plugin, engine } = pair();
  let stopped = 0;
  plugin.onExecuteCommand(async function* (_input, signal) {
    signal.addEventListener('abort', () => stopped++);
    try {
      for (let n = 0; ; n++) {
        yield { n };
        if (n > 1000) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      }
    } finally {
      stopped++;
    }
  });
  const run = plugin.run({});
  await engine.start();
  const answer = engine.mux.dispatchAnswer('ze-plugin-callback:execute-command', { serial: '', command: 'x' });
  let rows = 0;
  for await (const row of answer) {
    assert.deepEqual(row, { n: rows });
    if (++rows === 500) break;
  }
  assert.equal((await answer.verdict).outcome, 'aborted');
  assert.equal(stopped, 0);
  await engine.mux.close();
  await run;
  await until(() => stopped === 2, 'the producer to stop');
});

test('a streamed answer is read row by row with its verdict', async () => {
  const { plugin, engine, running } = pair();
  const run = plugin.run({});
  engine.mux.serveAnswer('ze-plugin-engine:dispatch-command', (input) => {
    if (input.command === 'nay') throw new RpcError('unknown-command', 'unknown command: nay');
    return records(
      Array.from({ length: 1000 }, (_, n) => ({ n, text: 'é\n' })),
      { envelope: 'rows' },
    );
  });
  await engine.start();
  await running;
  const answer = plugin.dispatchCommandAnswer('rows');
  let sum = 0;
  for await (const row of answer) sum += (row as { n: number }).n;
  assert.equal(sum, 499_500);
  assert.deepEqual(await answer.head, { itemType: 'map', envelope: 'rows', columns: [] });
  assert.deepEqual(await answer.verdict, { outcome: 'done', produced: 1000, rejected: 0, message: '' });
  await assert.rejects(plugin.dispatchCommand('nay'), { code: 'unknown-command' });
  await engine.bye();
  await run;
});

test('route counters are read whichever names the engine uses', async () => {
  const { plugin, engine, running } = pair();
  const run = plugin.run({});
  const inputs: unknown[] = [];
  const answers = [
    { announced: 2, withdrawn: 1, 'peers-affected': 3, 'routes-sent': 6 },
    { 'peers-affected': 2, 'routes-sent': 2 },
    {},
  ];
  engine.mux.serve('ze-plugin-engine:update-route', (input) => {
    inputs.push(input);
    return answers.shift() ?? {};
  });
  await engine.start();
  await running;
  assert.deepEqual(await plugin.updateRoute('*', 'update text'), { announced: 2, withdrawn: 1, peersAffected: 3, routesSent: 6 });
  assert.deepEqual(await plugin.updateRouteSel({ peers: ['a', 'b'] }, 'c'), {
    announced: 2,
    withdrawn: 0,
    peersAffected: 2,
    routesSent: 2,
  });
  assert.deepEqual(await plugin.updateRouteSelWithMeta({ except: 'a' }, 'c', { tag: 1 }), {
    announced: 0,
    withdrawn: 0,
    peersAffected: 0,
    routesSent: 0,
  });
  assert.deepEqual(inputs, [
    { 'peer-selector': '*', command: 'update text' },
    { 'peer-selector': 'a,b', command: 'c' },
    { 'peer-selector': '!a', command: 'c', meta: { tag: 1 } },
  ]);
  assert.throws(() => plugin.updateRouteSel({ peers: ['a'], except: 'b' }, 'c'), /not both/);
  await engine.bye();
  await run;
});

test('a route sender’s commands go out and come back one by one', async () => {
  const { plugin, engine, running } = pair();
  const run = plugin.run({});
  const inputs: unknown[] = [];
  engine.mux.serve('ze-plugin-engine:update-route', (input) => {
    inputs.push(input);
    if (input.command.includes('10.0.2.')) throw new RpcError('error', 'no');
    return { announced: 1, withdrawn: 0, 'peers-affected': 1, 'routes-sent': 2 };
  });
  const early = new RouteSender(plugin);
  early.announce('ipv4/unicast', '10.0.0.0/24', { nextHop: 'self' });
  assert.match(String((await early.finish()).faults[0]), /not running yet/);
  await engine.start();
  await running;
  const routes = new RouteSender(plugin, { selector: 'é"', prefixesPerCommand: 1 });
  for (let i = 0; i < 4; i++) routes.announce('ipv4/unicast', `10.0.${i}.0/24`, { nextHop: 'self' });
  const sent = await routes.finish();
  assert.deepEqual([sent.announced, sent.routesSent, sent.failed, String(sent.faults[0])], [3, 6, 1, 'RpcError: no']);
  assert.deepEqual(inputs[0], { 'peer-selector': 'é"', command: 'update text next-hop self nlri ipv4/unicast add 10.0.0.0/24' });
  await engine.bye();
  await run;
});

test('with a bridge everything goes past the pipe after stage 5', async () => {
  const [left, right] = duplexPair();
  let handlers: BridgeHandlers | undefined;
  const calls: unknown[] = [];
  let closed = 0;
  const bridge: Bridge = {
    attach: (given) => (handlers = given),
    call: (method, input) => {
      calls.push([method, input]);
      return Promise.resolve({ delivered: 7 } as never);
    },
    dispatch: (_method, input) => new AnswerReader(documentAnswer(input)),
    close: () => closed++,
    routes: undefined,
  };
  const plugin = Plugin.withConn('probe', left, { bridge });
  const events: string[] = [];
  plugin.onEvent((event) => void events.push(event));
  plugin.onStructuredEvent(() => undefined);
  plugin.onExecuteCommand((input) => [input.command]);
  const run = plugin.run({});
  const engine = new EngineLink(right);
  const { ready } = await engine.start(undefined, undefined, () => assert.equal(handlers, undefined));
  assert.equal(ready.transport, 'bridge');
  await engine.mux.closed;
  const attached = handlers as unknown as BridgeHandlers;
  assert.equal(await plugin.emitEvent({ namespace: 'n', 'event-type': 't', event: 'e' }), 7);
  assert.deepEqual(calls, [['ze-plugin-engine:emit-event', { namespace: 'n', 'event-type': 't', event: 'e' }]]);
  assert.deepEqual(await plugin.dispatchCommand('x'), { status: 'done', data: { command: 'x' } });
  const { signal } = new AbortController();
  await attached.events(['a', 'b']);
  assert.deepEqual(events, ['a', 'b']);
  assert.ok(attached.structured);
  const answer = new AnswerReader(attached.execute({ serial: '', command: 'c' }, signal));
  assert.deepEqual(await answer.collapse(), { status: 'done', data: ['c'] });
  await assert.rejects(attached.callback('ze-plugin-callback:filter-update', {} as never, signal), { code: 'unknown-method' });
  assert.deepEqual(await attached.callback('ze-plugin-callback:config-verify', { sections: [] }, signal), { status: 'ok' });
  await attached.callback('ze-plugin-callback:bye', { reason: 'x' }, signal);
  await run;
  assert.equal(closed, 1);
});

test('onStarted that throws ends the run with its error', async () => {
  const { plugin, engine } = pair();
  plugin.onStarted(() => {
    throw new Error('no disk');
  });
  const run = assert.rejects(plugin.run({}), /no disk/);
  await engine.start();
  await run;
  await engine.mux.closed;
});

test('a journal undoes in reverse, all of it', async () => {
  const log: string[] = [];
  const changes = journal();
  const step = (name: string, fails = false): Promise<void> =>
    changes.record(
      () => void log.push(`+${name}`),
      () => {
        log.push(`-${name}`);
        if (fails) throw new Error(name);
      },
    );
  await step('a');
  await step('b', true);
  await assert.rejects(
    changes.record(
      () => Promise.reject(new Error('no')),
      () => void log.push('-never'),
    ),
  );
  await step('c');
  assert.equal(changes.size, 3);
  assert.deepEqual((await changes.rollback()).map(String), ['Error: b']);
  assert.deepEqual(log, ['+a', '+b', '+c', '-c', '-b', '-a']);
  await step('d');
  changes.discard();
  assert.deepEqual(await changes.rollback(), []);
});

test('an engine that sends garbage to a plugin loses the link, not the process', async () => {
  const [left, right] = duplexPair();
  const plugin = Plugin.withConn('probe', left);
  const run = plugin.run({});
  const mux = new Mux(right, { held: true });
  await mux.next();
  right.write('\n'.repeat(200));
  await assert.rejects(run, /stage 1 \(declare-registration\): rpc error: closed: 101 unreadable lines/);
});
