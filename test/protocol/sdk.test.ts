// Every row of the table against the SDK: a plugin, and the engine's end of its link in raw lines over a pipe and over TLS.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bridge } from '../../sdk/plugin/bridge.ts';
import type { Plugin } from '../../sdk/plugin/plugin.ts';
import type { CapabilityDecl, Methods, SubscribeEventsInput } from '../../yang/generated/methods.ts';
import { TRANSPORTS } from './engine-world.ts';
import { fieldAt, PROTOCOL, withField } from './fields.ts';
import { CALLS, HANDLERS } from './sdk-surface.ts';
import { connected } from './sdk-world.ts';
import { fieldsOf, shapes, wrongValue } from './shape.ts';

type Json = Readonly<Record<string, unknown>>;

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
