// Every row of the table against the engine: the host of the daemon, with plugins that speak raw lines over a pipe and over TLS.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallbackCall } from '../../engine/host/link.ts';
import type { EngineServices } from '../../engine/host/services.ts';
import type { AnswerReader } from '../../sdk/rpc/answer.ts';
import { documentAnswer, failedAnswer } from '../../sdk/rpc/records.ts';
import { type RawPlugin, until } from '../unit/host/support.ts';
import { perform, type Stage, TRANSPORTS, type TransportName } from './engine-world.ts';
import { fieldAt, PROTOCOL, withField } from './fields.ts';
import { fieldsOf, shapes, wrongValue } from './shape.ts';

type Json = Readonly<Record<string, unknown>>;

const STAGES = ['declare-registration', 'declare-capabilities', 'ready'].map((name) => `ze-plugin-engine:${name}`);
const RECORDS = ['ze-plugin-engine:dispatch-command', 'ze-plugin-engine:dispatch-command-args'];
const STREAM = ['ze-plugin-engine:subscribe-events', 'ze-plugin-engine:unsubscribe-events'];
const methods = Object.keys(PROTOCOL);
const calls = methods.filter((name) => name.startsWith('ze-plugin-engine:') && !STAGES.includes(name));

interface Asked {
  readonly method: string;
  readonly plugin: string;
  readonly input: unknown;
}
const NOTHING: Asked = { method: '', plugin: '', input: undefined };

/** What the engine's rooms were asked last, and what they answer. */
class Rooms {
  asked: Asked = NOTHING;
  answer: unknown;

  readonly services: EngineServices = {
    calls: Object.fromEntries(
      calls
        .filter((method) => !RECORDS.includes(method) && !STREAM.includes(method))
        .map((method) => [method, (plugin: string, input: unknown) => this.#take(method, plugin, input)]),
    ),
    dispatch: (plugin, method, input) => {
      this.#take(method, plugin, input);
      const { data, error } = (this.answer ?? {}) as { readonly data?: unknown; readonly error?: string };
      return error === undefined ? documentAnswer(data) : failedAnswer(error);
    },
  };

  #take(method: string, plugin: string, input: unknown): unknown {
    this.asked = { method, plugin, input };
    return this.answer;
  }
}

/** A plugin that is through its stages; `act` speaks for it. */
async function running(
  transport: TransportName,
  rooms: Rooms,
  act: (plugin: RawPlugin, stage: Stage) => Promise<void>,
): Promise<void> {
  let plugin: RawPlugin | undefined;
  await using stage = await perform(
    [
      {
        name: 'probe',
        transport,
        play: async (raw) => {
          await raw.stages(5, { commands: [{ name: 'probe run' }] });
          await raw.serve('post-startup');
          plugin = raw;
          await raw.closed;
        },
      },
    ],
    { services: rooms.services },
  );
  await until('the plugin runs', () => plugin !== undefined && stage.world.state('probe') === 'running');
  assert(plugin !== undefined);
  await act(plugin, stage);
  const bye = stage.world.stop();
  await plugin.serve('bye');
  await bye;
  assert.deepEqual(stage.faults, []);
}

async function lines(plugin: RawPlugin, id: number): Promise<string[]> {
  const taken = [await plugin.next()];
  while (/^#\d+ (?:top|row|bad) /.test(taken.at(-1) ?? '')) taken.push(await plugin.next());
  for (const line of taken) assert(line.startsWith(`#${id} `), line);
  return taken;
}

for (const transport of TRANSPORTS) {
  test(`what a plugin may call, field by field, over ${transport}`, async (t) => {
    const rooms = new Rooms();
    await running(transport, rooms, async (plugin) => {
      for (const method of calls) {
        const name = method.slice(method.indexOf(':') + 1);
        const { input, output } = PROTOCOL[method] ?? {};
        await t.test(method, async (t) => {
          for (const [path, value] of input?.fields ?? [['', undefined] as const]) {
            await t.test(`takes ${path === '' ? 'no params' : path}`, async () => {
              rooms.asked = NOTHING;
              rooms.answer = output?.base ?? (RECORDS.includes(method) ? { data: 1 } : undefined);
              const [first = ''] = await lines(
                plugin,
                plugin.request(name, path === '' ? undefined : withField(input?.base ?? {}, path, value)),
              );
              assert(RECORDS.includes(method) ? / top doc 0: 0:$/.test(first) : / ok(?: \{.*\})?$/.test(first), first);
              if (STREAM.includes(method)) return;
              assert.deepEqual([rooms.asked.method, rooms.asked.plugin], [method, 'probe']);
              assert.deepEqual(fieldAt(rooms.asked.input, path), value);
            });
            const kind = fieldsOf(shapes('input')[method] ?? {}).get(path);
            const wrong = kind === undefined ? undefined : wrongValue(kind);
            if (wrong === undefined) continue;
            await t.test(`refuses ${path} ${JSON.stringify(wrong)}`, async () => {
              const [line = ''] = await lines(plugin, plugin.request(name, withField(input?.base ?? {}, path, wrong)));
              const [, error = ''] = /^#\d+ error (.*)$/.exec(line) ?? [];
              const { code, message } = JSON.parse(error) as { code: string; message: string };
              assert.equal(code, 'error');
              const spoken = name === 'subscribe-events' ? 'subscribe' : name;
              assert(message.startsWith(`invalid ${spoken} params: `) && message.includes(path), message);
            });
          }
          if (RECORDS.includes(method)) return;
          for (const [path, value] of output?.fields ?? []) {
            await t.test(`answers ${path}`, async () => {
              rooms.answer = withField(output?.base ?? {}, path, value);
              const [line = ''] = await lines(plugin, plugin.request(name, input?.base ?? {}));
              assert.match(line, /^#\d+ ok \{/);
              assert.deepEqual(fieldAt(JSON.parse(line.slice(line.indexOf('{'))), path), value);
            });
          }
        });
      }
      for (const method of RECORDS) {
        await t.test(`${method} answers records`, async () => {
          const name = method.slice(method.indexOf(':') + 1);
          rooms.answer = { data: { rows: [1, 2] } };
          const id = plugin.request(name, { command: 'peer list' });
          assert.deepEqual(await lines(plugin, id), [
            `#${id} top doc 0: 0:`,
            `#${id} row 14:{"rows":[1,2]}`,
            `#${id} end 1 0 0:`,
          ]);
          rooms.answer = { error: 'no such peer' };
          const second = plugin.request(name, { command: 'peer list' });
          assert.deepEqual(await lines(plugin, second), [`#${second} top doc 0: 0:`, `#${second} end 0 0 12:no such peer`]);
        });
      }
      await t.test('a method that the protocol does not have', async () => {
        assert.match(
          await plugin.ask('no-such-method', {}),
          /error \{"code":"error","message":"unknown method: ze-plugin-engine:no-such-method"\}$/,
        );
      });
    });
  });

  test(`what the engine asks of a plugin, field by field, over ${transport}`, async (t) => {
    await running(transport, new Rooms(), async (plugin, { world }) => {
      const link = world.host.link('probe');
      assert(link !== undefined);
      for (const method of methods.filter((name) => name.startsWith('ze-plugin-callback:'))) {
        const name = method.slice(method.indexOf(':') + 1);
        const { input, output } = PROTOCOL[method] ?? {};
        /** Asks, gives the raw plugin's side the params and its answer; resolves to what the engine made of it. */
        const ask = async (params: Json, answer: Json | undefined): Promise<{ seen: unknown; result: unknown }> => {
          if (method === 'ze-plugin-callback:deliver-batch') {
            if (link.transport.form === 'texts') assert.fail('a link of lines takes bytes');
            const [, seen] = await Promise.all([link.transport.send(Buffer.from(JSON.stringify(params)), 1), plugin.serve(name)]);
            return { seen, result: undefined };
          }
          if (method === 'ze-plugin-callback:execute-command') return execute(params, answer);
          const asked = link.call(method as CallbackCall, params);
          const seen = await plugin.serve(name, answer === undefined ? 'ok' : `ok ${JSON.stringify(answer)}`);
          return { seen, result: await asked };
        };
        const execute = async (params: Json, answer: Json | undefined): Promise<{ seen: unknown; result: unknown }> => {
          const reader: AnswerReader = world.host.execute('probe', params as never, AbortSignal.timeout(5000));
          const collapsed = reader.collapse();
          const line = await plugin.next();
          const [, id = '', json = ''] = /^#(\d+) ze-plugin-callback:execute-command (.*)$/.exec(line) ?? assert.fail(line);
          const text = answer?.['data'] === undefined ? '' : JSON.stringify(answer['data']);
          const failed = answer?.['status'] === 'error';
          plugin.send(`#${id} top doc 0: 0:`);
          if (text !== '') plugin.send(`#${id} row ${Buffer.byteLength(text)}:${text}`);
          plugin.send(`#${id} end ${text === '' ? 0 : 1} 0 ${failed ? '3:bad' : '0:'}`);
          return { seen: JSON.parse(json), result: await collapsed };
        };
        // The engine itself writes batches alone; a single event is the SDK's to read.
        if (method === 'ze-plugin-callback:deliver-event') continue;
        await t.test(method, async (t) => {
          for (const [path, value] of input?.fields ?? [['', undefined] as const]) {
            await t.test(`sends ${path === '' ? 'no params' : path}`, async () => {
              const { seen } = await ask(path === '' ? {} : withField(input?.base ?? {}, path, value), output?.base);
              assert.deepEqual(fieldAt(seen, path), path === '' ? undefined : value);
            });
          }
          for (const [path, value] of output?.fields ?? []) {
            await t.test(`reads ${path}`, async () => {
              const { result } = await ask(input?.base ?? {}, withField(output?.base ?? {}, path, value));
              assert.deepEqual(fieldAt(result, path), value);
            });
            const kind = fieldsOf(shapes('output')[method] ?? {}).get(path);
            const wrong = kind === undefined ? undefined : wrongValue(kind);
            if (wrong === undefined || method === 'ze-plugin-callback:execute-command') continue;
            await t.test(`refuses ${path} ${JSON.stringify(wrong)}`, async () => {
              const answer = ask(input?.base ?? {}, withField(output?.base ?? {}, path, wrong));
              await assert.rejects(answer, (fault: Error) => fault.message.includes(`invalid ${name} result: ${path}`));
            });
          }
        });
      }
    });
  });

  test(`stage 1, field by field, over ${transport}`, async (t) => {
    const { base, fields } = PROTOCOL['ze-plugin-engine:declare-registration']?.input ?? assert.fail();
    const kinds = fieldsOf(shapes('input')['ze-plugin-engine:declare-registration'] ?? {});
    const register = async (registration: Json): Promise<{ answer: string; kept: unknown }> => {
      let answer = '';
      await using stage = await perform([
        {
          name: 'probe',
          transport,
          play: async (plugin) => {
            answer = await plugin.ask('declare-registration', registration);
            if (answer !== '#1 ok') return;
            await plugin.serve('configure');
            await plugin.ask('declare-capabilities', { capabilities: [] });
            await plugin.serve('share-registry');
            await plugin.ask('ready');
            await plugin.idle();
          },
        },
        {
          name: 'friend',
          transport: 'pipe',
          play: async (plugin) => {
            await plugin.stages(5);
            await plugin.idle();
          },
        },
      ]);
      await until('an answer', () => answer !== '');
      return { answer, kept: stage.world.host.registry.of('probe') };
    };
    for (const [path, value] of fields) {
      await t.test(`takes ${path}`, async () => {
        const { answer, kept } = await register(withField(base, path, value));
        assert.equal(answer, '#1 ok');
        assert.deepEqual(fieldAt(kept, path), value);
      });
      const wrong = wrongValue(kinds.get(path) ?? 'raw');
      if (wrong === undefined || transport === 'tls') continue;
      await t.test(`refuses ${path} ${JSON.stringify(wrong)}`, async () => {
        const { answer, kept } = await register(withField(base, path, wrong));
        assert.match(answer, /^#1 error \{"code":"error","message":"invalid registration: /);
        assert(answer.includes(path), answer);
        assert.equal(kept, undefined);
      });
    }
  });

  test(`stages 3 and 5, field by field, over ${transport}`, async (t) => {
    const through = async (capabilities: Json, ready: Json): Promise<Stage & { readonly answers: string[] }> => {
      const answers: string[] = [];
      const stage = await perform([
        {
          name: 'probe',
          transport,
          play: async (plugin) => {
            await plugin.stages(2);
            answers.push(await plugin.ask('declare-capabilities', capabilities));
            if (!answers[0]?.endsWith(' ok')) return;
            await plugin.serve('share-registry');
            answers.push(await plugin.ask('ready', ready));
            await plugin.idle();
          },
        },
      ]);
      await until('an answer', () => answers.length > 0 && (answers.length === 2 || !answers[0]?.endsWith(' ok')));
      return Object.assign(stage, { answers });
    };
    const declared = PROTOCOL['ze-plugin-engine:declare-capabilities']?.input ?? assert.fail();
    for (const [path, value] of declared.fields) {
      await t.test(`declare-capabilities takes ${path}`, async () => {
        // A value needs an encoding, and base64 is one that both rows agree on.
        const base = path.endsWith('payload') ? withField(declared.base, 'capabilities[0].encoding', 'b64') : declared.base;
        await using stage = await through(withField(base, path, value), {});
        const { answers } = stage;
        assert.deepEqual(answers, ['#2 ok', '#3 ok']);
        const [kept] = stage.world.host.capabilities();
        const expected = { code: kept?.code === value, encoding: kept !== undefined, payload: kept?.value.length === 2 };
        const name = path.slice(path.indexOf('.') + 1) as 'code' | 'encoding' | 'payload' | 'peers';
        if (name === 'peers') assert.deepEqual(kept?.peers, value);
        else assert(expected[name]);
      });
      await t.test(`declare-capabilities refuses a wrong ${path}`, async () => {
        const kind = fieldsOf(shapes('input')['ze-plugin-engine:declare-capabilities'] ?? {}).get(path) ?? 'raw';
        await using stage = await through(withField(declared.base, path, wrongValue(kind)), {});
        const { answers } = stage;
        assert.match(answers[0] ?? '', /^#2 error \{"code":"error","message":"invalid capabilities: /);
      });
    }
    for (const [path, value] of PROTOCOL['ze-plugin-engine:ready']?.input?.fields ?? []) {
      if (path === 'transport' && transport === 'pipe') continue; // It needs a bridge at the other end: test/unit/host/bridges.
      await t.test(`ready takes ${path}`, async () => {
        await using stage = await through({ capabilities: [] }, withField({}, path, value));
        const { answers } = stage;
        assert.deepEqual(answers, ['#2 ok', '#3 ok']);
      });
    }
  });
}
