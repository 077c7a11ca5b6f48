// Every row of the table against the SDK: a plugin, and the engine's end of its link in raw lines over a pipe and over TLS.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bridge } from '../../sdk/plugin/bridge.ts';
import type { Plugin } from '../../sdk/plugin/plugin.ts';
import { failedAnswer } from '../../sdk/rpc/records.ts';
import type { CapabilityDecl, Methods, SubscribeEventsInput } from '../../yang/generated/methods.ts';
import { TRANSPORTS } from './engine-world.ts';
import { fieldAt, PROTOCOL, withField } from './fields.ts';
import { connected } from './sdk-world.ts';
import { fieldsOf, shapes, wrongValue } from './shape.ts';

type Json = Readonly<Record<string, unknown>>;

/** The public method of the SDK for each engine method: takes the input's fields as its author would, resolves to the result. */
const CALLS: { readonly [M in keyof Methods]?: (plugin: Plugin, input: never) => Promise<unknown> } = {
  'ze-plugin-engine:update-route': (plugin, input: Methods['ze-plugin-engine:update-route']['input']) =>
    input.meta === undefined
      ? plugin.updateRoute(input['peer-selector'] ?? '*', input.command)
      : plugin.updateRouteWithMeta(input['peer-selector'] ?? '*', input.command, input.meta),
  'ze-plugin-engine:forward-cached': (plugin, input: Methods['ze-plugin-engine:forward-cached']['input']) =>
    plugin.forwardCached(input.ids, input.destinations),
  'ze-plugin-engine:release-cached': (plugin, input: Methods['ze-plugin-engine:release-cached']['input']) =>
    plugin.releaseCached(input.ids),
  'ze-plugin-engine:relay-stored-route': (plugin, input: Methods['ze-plugin-engine:relay-stored-route']['input']) =>
    plugin.relayStoredRoute(input.destination, input.routes),
  'ze-plugin-engine:route-install': (plugin, input: Methods['ze-plugin-engine:route-install']['input']) =>
    plugin.routeInstall(input.routes),
  'ze-plugin-engine:route-remove': (plugin, input: Methods['ze-plugin-engine:route-remove']['input']) =>
    plugin.routeRemove(input.routes),
  'ze-plugin-engine:inject-wire-route': (plugin, input: Methods['ze-plugin-engine:inject-wire-route']['input']) =>
    plugin.injectWireRoute(input.protocol, input['peer-key'], Buffer.from(input['update-body'], 'base64')),
  'ze-plugin-engine:batch-validate': (plugin, input: Methods['ze-plugin-engine:batch-validate']['input']) =>
    plugin.batchValidate(input.decisions),
  'ze-plugin-engine:dispatch-command': (plugin, input: Methods['ze-plugin-engine:dispatch-command']['input']) =>
    plugin.dispatchCommand(input.command),
  'ze-plugin-engine:dispatch-command-args': (plugin, input: Methods['ze-plugin-engine:dispatch-command-args']['input']) =>
    plugin.dispatchCommandArgs(input),
  'ze-plugin-engine:emit-event': (plugin, input: Methods['ze-plugin-engine:emit-event']['input']) => plugin.emitEvent(input),
  'ze-plugin-engine:subscribe-events': (plugin, input: Methods['ze-plugin-engine:subscribe-events']['input']) =>
    plugin.subscribeEvents(input),
  'ze-plugin-engine:unsubscribe-events': (plugin) => plugin.unsubscribeEvents(),
  'ze-plugin-engine:decode-nlri': (plugin, input: Methods['ze-plugin-engine:decode-nlri']['input']) => plugin.decodeNlri(input),
  'ze-plugin-engine:encode-nlri': (plugin, input: Methods['ze-plugin-engine:encode-nlri']['input']) => plugin.encodeNlri(input),
  'ze-plugin-engine:decode-mp-reach': (plugin, input: Methods['ze-plugin-engine:decode-mp-reach']['input']) =>
    plugin.decodeMpReach(input.hex, input['add-path']),
  'ze-plugin-engine:decode-mp-unreach': (plugin, input: Methods['ze-plugin-engine:decode-mp-unreach']['input']) =>
    plugin.decodeMpUnreach(input.hex, input['add-path']),
  'ze-plugin-engine:decode-update': (plugin, input: Methods['ze-plugin-engine:decode-update']['input']) =>
    plugin.decodeUpdate(input.hex, input['add-path']),
  'ze-plugin-engine:resolve-dns': (plugin, input: Methods['ze-plugin-engine:resolve-dns']['input']) =>
    plugin.resolveDns(input.name, input.type),
  'ze-plugin-engine:state-get': (plugin, input: Methods['ze-plugin-engine:state-get']['input']) => plugin.stateGet(input.key),
  'ze-plugin-engine:state-put': (plugin, input: Methods['ze-plugin-engine:state-put']['input']) =>
    plugin.statePut(input.key, input.data),
  'ze-plugin-engine:state-remove': (plugin, input: Methods['ze-plugin-engine:state-remove']['input']) =>
    plugin.stateRemove(input.key),
  'ze-plugin-engine:state-list': (plugin, input: Methods['ze-plugin-engine:state-list']['input']) => plugin.stateList(input.key),
  'ze-plugin-engine:state-increment': (plugin, input: Methods['ze-plugin-engine:state-increment']['input']) =>
    plugin.stateIncrement(input.key),
};

/** What the public method makes of the answer's field: itself where the author gets the whole answer. */
const RESULT_OF: Readonly<Record<string, (result: unknown, path: string) => unknown>> = {
  'ze-plugin-engine:update-route': (result, path) =>
    fieldAt(
      result,
      path.replace(/-(.)/, (_, letter: string) => letter.toUpperCase()),
    ),
  'ze-plugin-engine:route-install': (result) => result,
  'ze-plugin-engine:route-remove': (result) => result,
  'ze-plugin-engine:emit-event': (result) => result,
  'ze-plugin-engine:decode-nlri': (result) => result,
  'ze-plugin-engine:encode-nlri': (result) => result,
  'ze-plugin-engine:decode-update': (result) => result,
};

type Answerer = (input: unknown) => unknown;
/** Registers a handler for a callback, one that answers with the output's fields. */
const HANDLERS: Readonly<Record<string, (plugin: Plugin, answer: Answerer) => void>> = {
  configure: (plugin, answer) => plugin.onConfigure((input) => void answer(input)),
  'share-registry': (plugin, answer) => plugin.onShareRegistry((input) => void answer(input)),
  'deliver-event': (plugin, answer) => plugin.onEvent((text) => void answer({ event: text })),
  'deliver-batch': (plugin, answer) => plugin.onEvent((text) => void answer(text)),
  'execute-command': (plugin, answer) =>
    plugin.onExecuteCommand((input) => {
      const { status, data } = answer(input) as Json;
      return status === 'error' ? failedAnswer('bad') : data;
    }),
  'encode-nlri': (plugin, answer) => plugin.onEncodeNlri((input) => fieldAt(answer(input), 'hex') as string),
  'decode-nlri': (plugin, answer) => plugin.onDecodeNlri((input) => fieldAt(answer(input), 'json')),
  'decode-capability': (plugin, answer) => plugin.onDecodeCapability((input) => fieldAt(answer(input), 'json')),
  'config-verify': (plugin, answer) => plugin.onConfigVerify((input) => answer(input) as never),
  'config-apply': (plugin, answer) => plugin.onConfigApply((input) => answer(input) as never),
  'config-rollback': (plugin, answer) => plugin.onConfigRollback((input) => void answer(input)),
  'config-committed': (plugin, answer) => plugin.onConfigCommitted((input) => void answer(input)),
  'config-operation-decompose': (plugin, answer) => plugin.onConfigOperationDecompose((input) => answer(input) as never),
  'config-operation-verify': (plugin, answer) => plugin.onConfigOperationVerify((input) => answer(input) as never),
  'config-operation-apply': (plugin, answer) => plugin.onConfigOperationApply((input) => answer(input) as never),
  'config-operation-rollback': (plugin, answer) => plugin.onConfigOperationRollback((input) => answer(input) as never),
  'config-operation-commit': (plugin, answer) => plugin.onConfigOperationCommit((input) => answer(input) as never),
  'validate-open': (plugin, answer) => plugin.onValidateOpen((input) => answer(input) as never),
  'filter-update': (plugin, answer) => plugin.onFilterUpdate((input) => answer(input) as never),
  'doctor-check': (plugin, answer) => plugin.onDoctorCheck((input) => fieldAt(answer(input), 'diagnostics') as never),
  'enrich-show': (plugin, answer) => plugin.onEnrichShow((input) => fieldAt(answer(input), 'data') as never),
  'post-startup': (plugin, answer) => plugin.onAllPluginsReady(() => void answer(undefined)),
  bye: (plugin, answer) => plugin.onBye((reason) => void answer({ reason })),
};
const IN_STAGES = ['configure', 'share-registry', 'bye'];

for (const transport of TRANSPORTS) {
  test(`what the author's calls put on the wire, field by field, over ${transport}`, async (t) => {
    await using pair = await connected(transport, {});
    const { plugin, engine } = pair;
    await engine.stages();
    await pair.started;
    for (const [method, { input, output }] of Object.entries(PROTOCOL)) {
      const call = CALLS[method as keyof Methods];
      if (call === undefined) continue;
      const records = method.includes(':dispatch-command');
      const name = method.slice(method.indexOf(':') + 1);
      await t.test(method, async (t) => {
        for (const [path, value] of input?.fields ?? [['', undefined] as const]) {
          await t.test(`sends ${path === '' ? 'no params' : path}`, async () => {
            const done = call(
              plugin,
              withDefaults(method, path === '' ? {} : withField(input?.base ?? {}, path, value)) as never,
            );
            const line = await engine.next();
            const [, id, found, json = '{}'] = /^#(\d+) (\S+)(?: (.*))?$/.exec(line) ?? [];
            assert.equal(found, method);
            if (records) engine.send(`#${id} top doc 0: 0:\n#${id} row 1:1\n#${id} end 1 0 0:`);
            else engine.send(`#${id} ok${output === undefined ? '' : ` ${JSON.stringify(output.base)}`}`);
            assert.deepEqual(fieldAt(JSON.parse(json), path), path === '' ? undefined : value);
            await done;
          });
        }
        if (records) return;
        const kinds = fieldsOf(shapes('output')[method] ?? {});
        for (const [path, value] of output?.fields ?? []) {
          await t.test(`gives ${path}`, async () => {
            const done = call(plugin, withDefaults(method, { ...input?.base }) as never);
            await engine.serve(method, `ok ${JSON.stringify(withField(output?.base ?? {}, path, value))}`);
            assert.deepEqual((RESULT_OF[method] ?? fieldAt)(await done, path), value);
          });
          const wrong = wrongValue(kinds.get(path) ?? 'raw');
          if (wrong === undefined) continue;
          await t.test(`rejects ${path} ${JSON.stringify(wrong)}`, async () => {
            const done = call(plugin, withDefaults(method, { ...input?.base }) as never);
            done.catch(() => undefined);
            await engine.serve(method, `ok ${JSON.stringify(withField(output?.base ?? {}, path, wrong))}`);
            await assert.rejects(done, (fault: Error) => fault.message.includes(`invalid ${name} result: ${path}`));
          });
        }
        await t.test('rejects an error line', async () => {
          const done = call(plugin, withDefaults(method, { ...input?.base }) as never);
          done.catch(() => undefined);
          await engine.serve(method, 'error {"code":"error","message":"not today"}');
          await assert.rejects(done, /not today/);
        });
      });
    }
    await t.test('the table of calls is whole', () => {
      const engineMethods = Object.keys(PROTOCOL).filter((name) => name.startsWith('ze-plugin-engine:'));
      const stages = ['declare-registration', 'declare-capabilities', 'ready'].map((name) => `ze-plugin-engine:${name}`);
      assert.deepEqual([...Object.keys(CALLS), ...stages].sort(), engineMethods.sort());
    });
    await t.test('the terminator and the head of an answer', async () => {
      const failed = plugin.dispatchCommand('peer list');
      const line = await engine.next();
      const id = line.slice(1, line.indexOf(' '));
      engine.send(`#${id} top doc 0: 0:\n#${id} end 0 0 12:no such peer`);
      assert.deepEqual(await failed, { status: 'error', error: 'no such peer' });
      const rows = plugin.dispatchCommandArgs({ command: 'peer list' });
      const second = await engine.next();
      const next = second.slice(1, second.indexOf(' '));
      engine.send(`#${next} top tab 5:peers 11:["a","b c"]\n#${next} row 5:[1,2]\n#${next} end 1 0 0:`);
      const { status, data } = await rows;
      assert.deepEqual([status, data], ['done', { peers: [{ a: 1, 'b c': 2 }] }]);
    });
  });

  test(`what the author's handlers see and answer, field by field, over ${transport}`, async (t) => {
    assert.deepEqual(
      Object.keys(HANDLERS).sort(),
      Object.keys(PROTOCOL)
        .filter((name) => name.startsWith('ze-plugin-callback:'))
        .map((name) => name.slice(name.indexOf(':') + 1))
        .sort(),
    );
    let seen: unknown;
    let answer: unknown;
    await using pair = await connected(transport, {}, (plugin) => {
      for (const [name, register] of Object.entries(HANDLERS)) {
        if (IN_STAGES.includes(name) || name === 'deliver-batch') continue;
        register(plugin, (input) => {
          seen = input;
          return answer;
        });
      }
    });
    const { engine } = pair;
    await engine.stages();
    for (const name of Object.keys(HANDLERS)) {
      if (IN_STAGES.includes(name)) continue;
      const method = `ze-plugin-callback:${name}`;
      const { input, output } = PROTOCOL[method] ?? {};
      await t.test(method, async (t) => {
        if (name === 'execute-command') {
          for (const [path, value] of input?.fields ?? []) {
            await t.test(`sees ${path}`, async () => {
              answer = { status: 'done', data: { running: true } };
              assert.equal(await engine.ask(name, withField(input?.base ?? {}, path, value)), 'top doc 0: 0:');
              assert.match(await engine.next(), /^#\d+ row 16:\{"running":true\}$/);
              assert.match(await engine.next(), /^#\d+ end 1 0 0:$/);
              assert.deepEqual(fieldAt(seen, path), value);
            });
          }
          await t.test('answers an error', async () => {
            answer = { status: 'error' };
            assert.equal(await engine.ask(name, input?.base), 'top doc 0: 0:');
            assert.match(await engine.next(), /^#\d+ end 0 0 3:bad$/);
          });
          return;
        }
        for (const [path, value] of input?.fields ?? [['', undefined] as const]) {
          await t.test(`sees ${path === '' ? 'no params' : path}`, async () => {
            // A rollback reaches the author when there is an apply to roll back.
            answer = { status: 'ok' };
            if (name === 'config-rollback')
              assert.equal(await engine.ask('config-apply', { sections: [] }), 'ok {"status":"ok"}');
            answer = output?.base;
            seen = undefined;
            const line = await engine.ask(name, path === '' ? undefined : withField(input?.base ?? {}, path, value));
            assert(line === 'ok' || line.startsWith('ok {'), line);
            if (name === 'deliver-batch') assert.deepEqual(seen, { event: '{"type":"eor"}' });
            else assert.deepEqual(fieldAt(seen, path), path === '' ? undefined : value);
          });
          const kind = fieldsOf(shapes('input')[method] ?? {}).get(path);
          const wrong = kind === undefined ? undefined : wrongValue(kind);
          if (wrong === undefined) continue;
          await t.test(`refuses ${path} ${JSON.stringify(wrong)}`, async () => {
            const line = await engine.ask(name, withField(input?.base ?? {}, path, wrong));
            const { message } = JSON.parse(/^error (.*)$/.exec(line)?.[1] ?? assert.fail(line)) as { message: string };
            assert(message.includes(`invalid ${name} params: ${path}`), message);
          });
        }
        for (const [path, value] of output?.fields ?? []) {
          await t.test(`answers ${path}`, async () => {
            answer = withField(output?.base ?? {}, path, value);
            const line = await engine.ask(name, input?.base ?? {});
            assert.deepEqual(fieldAt(JSON.parse(/^ok (.*)$/.exec(line)?.[1] ?? assert.fail(line)), path), value);
          });
        }
      });
    }
  });

  test(`what a plugin declares and is told in its stages, field by field, over ${transport}`, async (t) => {
    for (const [path, value] of PROTOCOL['ze-plugin-engine:declare-registration']?.input?.fields ?? []) {
      await t.test(`declares ${path}`, async () => {
        const base = PROTOCOL['ze-plugin-engine:declare-registration']?.input?.base ?? {};
        await using pair = await connected(transport, withField(base, path, value));
        assert.deepEqual(fieldAt(await pair.engine.serve('ze-plugin-engine:declare-registration'), path), value);
      });
    }
    const declared = PROTOCOL['ze-plugin-engine:declare-capabilities']?.input;
    for (const [path, value] of declared?.fields ?? []) {
      await t.test(`declares ${path}`, async () => {
        const { capabilities } = withField(declared?.base ?? {}, path, value) as { capabilities: CapabilityDecl[] };
        await using pair = await connected(transport, {}, (plugin) => plugin.setCapabilities(capabilities));
        assert.deepEqual(fieldAt((await pair.engine.stages()).capabilities, path), value);
      });
    }
    for (const [path, value] of PROTOCOL['ze-plugin-engine:ready']?.input?.fields ?? []) {
      if (path === 'transport' && transport === 'tls') continue; // In process only.
      await t.test(`is ready with ${path}`, async () => {
        const { subscribe } = withField({}, path, value) as { subscribe?: SubscribeEventsInput };
        const prepare = (plugin: Plugin): void => {
          if (subscribe === undefined) return;
          plugin.setStartupSubscriptionsIn(
            subscribe.namespace ?? '',
            subscribe.events ?? ['state'],
            subscribe.peers,
            subscribe.format,
          );
          if (subscribe.encoding !== undefined) plugin.setEncoding(subscribe.encoding);
          if (subscribe.envelope !== undefined) plugin.setEnvelope(subscribe.envelope);
        };
        await using pair = await connected(transport, {}, prepare, path === 'transport' ? { bridge: IDLE_BRIDGE } : {});
        assert.deepEqual(fieldAt((await pair.engine.stages()).ready, path), value);
      });
    }
    for (const name of ['configure', 'share-registry']) {
      const { input } = PROTOCOL[`ze-plugin-callback:${name}`] ?? {};
      for (const [path, value] of input?.fields ?? []) {
        await t.test(`${name} brings ${path}`, async () => {
          let seen: unknown;
          await using pair = await connected(transport, {}, (plugin) => HANDLERS[name]?.(plugin, (got) => (seen = got)));
          const { engine } = pair;
          await engine.serve('ze-plugin-engine:declare-registration');
          const params = withField(input?.base ?? {}, path, value);
          if (name === 'share-registry') {
            await engine.ask('configure', { sections: [] });
            await engine.serve('ze-plugin-engine:declare-capabilities');
          }
          assert.equal(await engine.ask(name, params), 'ok');
          assert.deepEqual(fieldAt(seen, path), value);
          if (path === 'claims') assert(pair.plugin.claimActive('bgp-peer-up-replay'));
        });
      }
    }
    await t.test('bye brings reason, and run resolves', async () => {
      let seen: unknown;
      await using pair = await connected(transport, {}, (plugin) => HANDLERS['bye']?.(plugin, (got) => (seen = got)));
      await pair.engine.stages();
      assert.equal(await pair.engine.ask('bye', { reason: 'shutdown' }), 'ok');
      await pair.ended;
      assert.deepEqual(seen, { reason: 'shutdown' });
    });
  });
}

/** An author gives required members; the table's rows leave out what they are not about. */
function withDefaults(method: string, input: Json): Json {
  const required: Readonly<Record<string, Json>> = {
    'ze-plugin-engine:forward-cached': { ids: [], destinations: [] },
    'ze-plugin-engine:inject-wire-route': { protocol: '', 'peer-key': '', 'update-body': '' },
  };
  return { ...required[method], ...input };
}

const IDLE_BRIDGE: Bridge = {
  attach: () => undefined,
  call: () => Promise.reject(new Error('nobody there')),
  dispatch: () => assert.fail(),
  close: () => undefined,
  routes: undefined,
};
