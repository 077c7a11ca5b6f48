// Plays a wire fixture to one side of the protocol, in raw lines.
import assert from 'node:assert/strict';
import type { CallbackCall } from '../../engine/host/link.ts';
import type { EngineServices } from '../../engine/host/services.ts';
import type { Plugin } from '../../sdk/plugin/plugin.ts';
import type { Collapsed } from '../../sdk/rpc/answer.ts';
import { RpcError } from '../../sdk/rpc/errors.ts';
import { documentAnswer, failedAnswer } from '../../sdk/rpc/records.ts';
import type { CapabilityDecl, Methods, SubscribeEventsInput } from '../../yang/generated/methods.ts';
import { type RawPlugin, until } from '../unit/host/support.ts';
import { perform, type TransportName } from './engine-world.ts';
import { type Fixture, isRequest, type Step } from './fixture-file.ts';
import { CALLS, HANDLERS } from './sdk-surface.ts';
import { connected } from './sdk-world.ts';

/** What the raw side puts on the wire for a step. */
export type Speech = (step: Step) => string;
const plainly: Speech = (step) => step.line;

/** The value or the refusal that an answer's lines state. */
function stated(answer: readonly Step[]): { readonly value: unknown } | { readonly error: string } {
  const [first] = answer;
  if (first?.verb === 'ok') return { value: first.payload === '' ? undefined : JSON.parse(first.payload) };
  if (first?.verb === 'error') return { error: (JSON.parse(first.payload) as { message: string }).message };
  const text = (step: Step | undefined): string => (step === undefined ? '' : step.payload.replace(/^(?:\d+ \d+ )?\d+:/, ''));
  if (first?.verb === 'nay') return { error: text({ ...first, payload: first.payload.replace('0: ', '') }) };
  const end = answer.at(-1);
  if (text(end) !== '') return { error: text(end) };
  return { value: JSON.parse(text(answer[1])) };
}

const name = (step: Step): string => step.verb.slice(step.verb.indexOf(':') + 1);
const params = (step: Step): unknown => (step.payload === '' ? {} : JSON.parse(step.payload));

/** Plays the plugin's lines, as `speak` says them, to the engine; whatever the engine says must be its lines. */
export async function playEngine(fixture: Fixture, transport: TransportName, speak: Speech = plainly): Promise<void> {
  let current: Step | undefined;
  const serve = (method: string): never => {
    assert.equal(current?.verb, method);
    const answer = stated(current.answer);
    if ('error' in answer) throw new RpcError('error', answer.error);
    return answer.value as never;
  };
  const services: EngineServices = {
    calls: new Proxy({}, { get: (_, method) => () => serve(String(method)), has: () => true }),
    dispatch: () => {
      const answer = stated(current?.answer ?? []);
      if (current?.answer[0]?.verb === 'nay' && 'error' in answer) throw new RpcError('unknown-command', answer.error);
      return 'error' in answer ? failedAnswer(answer.error) : documentAnswer(answer.value);
    },
  };
  /** What is to come out of the calls under way. */
  const expected: Promise<void>[] = [];
  let plugin: RawPlugin | undefined;
  const play = async (raw: RawPlugin): Promise<void> => {
    plugin = raw;
    await raw.closed;
  };
  const stage = perform([{ name: 'probe', transport, play }], { services });
  try {
    await until('the plugin is there', () => plugin !== undefined, 10_000);
    assert(plugin !== undefined);
    let stopped: Promise<unknown> | undefined;
    for (const step of fixture.steps) {
      if (step.from === 'plugin') {
        if (isRequest(step)) current = step;
        plugin.send(speak(step));
        continue;
      }
      if (isRequest(step) && Number(step.id) > 3) {
        const { world } = await stage;
        const link = world.host.link('probe');
        if (name(step) === 'bye') stopped = world.stop();
        else if (name(step) === 'deliver-batch' && link?.transport.form === 'bytes') {
          link.transport.send(Buffer.from(step.payload), 1).catch(() => undefined);
        } else if (name(step) === 'execute-command') {
          const reading = world.host.execute('probe', params(step) as never, AbortSignal.timeout(5000)).collapse();
          if (step.result !== undefined) expected.push(holds(reading, step.result));
          else reading.catch(() => undefined);
        } else expected.push(agrees(link?.call(step.verb as CallbackCall, params(step) as never), step.answer));
      }
      assert.equal(await plugin.next(), step.line);
    }
    await Promise.all(expected);
    await stopped;
  } finally {
    await (await stage)[Symbol.asyncDispose]();
  }
}

async function holds(reading: Promise<Collapsed>, result: string): Promise<void> {
  const outcome = await reading.catch((fault: unknown) => ({ status: 'rejected', error: (fault as Error).message }));
  assert.deepEqual(outcome, JSON.parse(result));
}

async function agrees(call: Promise<unknown> | undefined, answer: readonly Step[]): Promise<void> {
  const said = stated(answer);
  if ('error' in said) await assert.rejects(call ?? Promise.resolve(), (fault: Error) => fault.message.includes(said.error));
  else assert.deepEqual(await call, said.value);
}

/** Plays the engine's lines, as `speak` says them, to a plugin of the SDK; whatever the plugin says must be its lines. */
export async function playSdk(fixture: Fixture, transport: TransportName, speak: Speech = plainly): Promise<void> {
  const declared = (method: string): unknown => {
    const step = fixture.steps.find((one) => one.from === 'plugin' && one.verb === `ze-plugin-engine:${method}`);
    return step === undefined ? {} : params(step);
  };
  const { subscribe } = declared('ready') as { subscribe?: SubscribeEventsInput };
  const expected: Promise<void>[] = [];
  let asked: Step | undefined;
  const prepare = (plugin: Plugin): void => {
    plugin.setCapabilities((declared('declare-capabilities') as { capabilities?: CapabilityDecl[] }).capabilities ?? []);
    if (subscribe !== undefined) plugin.setStartupSubscriptions(subscribe.events ?? [], subscribe.peers, subscribe.format);
    const callbacks = new Set(fixture.steps.filter((step) => step.from === 'engine' && isRequest(step)).map(name));
    for (const callback of callbacks) {
      HANDLERS[callback]?.(plugin, () => {
        const answer = stated(asked?.answer ?? []);
        if (callback === 'execute-command') return 'error' in answer ? { status: 'error' } : { data: answer.value };
        if ('error' in answer) throw new Error(answer.error);
        return answer.value;
      });
    }
  };
  await using pair = await connected(transport, declared('declare-registration') as object, prepare);
  const { engine, plugin } = pair;
  for (const step of fixture.steps) {
    if (step.from === 'engine') {
      if (isRequest(step)) asked = step;
      engine.send(speak(step));
      continue;
    }
    if (isRequest(step) && Number(step.id) > 3) {
      await pair.started;
      const call = CALLS[step.verb as keyof Methods];
      assert(call !== undefined, step.verb);
      const calling = call(plugin, params(step) as never);
      if (step.result !== undefined) expected.push(holds(calling as Promise<Collapsed>, step.result));
      else calling.catch(() => undefined);
    }
    assert.equal(await engine.next(), step.line);
  }
  await Promise.all(expected);
  const refused = fixture.steps.at(-1)?.verb === 'error';
  if (refused) await assert.rejects(pair.ended, /^StageError: stage 1 \(declare-registration\): /);
  else await pair.ended;
}
