/**
 * `zest plugin check`: drives any plugin, in any language, through the protocol as the daemon would, and says which rules it keeps. Three lives:
 * asked what it declares, run through the five stages and everything it declared to a goodbye, and left alone by an engine that
 * dies. It needs no daemon; the plugin is a process of ours and is ended whatever happens.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { decodePayload, messageOf } from '../../../sdk/rpc/index.ts';
import { TestHub } from '../../../sdk/testing/hub.ts';
import type { ConfigSection, DeclareRegistrationInput } from '../../../yang/generated/methods.ts';
import { checkCommandName, checkDeclaration } from '../../host/registry/registration-checks.ts';
import { CheckLink } from './link.ts';
import { CheckedProcess } from './process.ts';
import { ANSWER_MS, checkRunning } from './rules.ts';
import { type RuleResult, Verdicts } from './verdicts.ts';

export interface CheckOptions {
  /** For the shell. */
  readonly command: string;
  /** The name the configuration would give it. */
  readonly name: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** What `configure` brings, by root. */
  readonly sections: readonly ConfigSection[];
  readonly signal: AbortSignal;
  /** Each result as it comes. */
  readonly heard: (result: RuleResult) => void;
}

export interface CheckReport {
  readonly results: readonly RuleResult[];
  readonly kept: number;
  readonly broken: number;
  readonly notAsked: number;
  /** The end of what the plugin wrote to stderr. */
  readonly stderr: string;
}

const QUERY_MS = 5000;
const CONNECT_MS = 30_000;
const STAGE_MS = 5000;
const LEAVE_MS = 5000;
/** A plugin that goes on without its ok does it in this time. */
const IMPATIENCE_MS = 250;
const STDERR_KEPT = 2000;

export async function checkPlugin(options: CheckOptions): Promise<CheckReport> {
  const verdicts = new Verdicts(options.heard);
  const processes: CheckedProcess[] = [];
  const hub = await TestHub.open();
  const start = (extra: Readonly<Record<string, string>>): CheckedProcess => {
    const made = new CheckedProcess(options.command, { ...options.environment, ...extra });
    processes.push(made);
    return made;
  };
  const stop = (): void => {
    for (const one of processes) one.kill();
  };
  options.signal.addEventListener('abort', stop, { once: true });
  try {
    await checkQuery(start, verdicts);
    if (await checkLife(options, hub, start, verdicts)) await checkOrphan(options, hub, start, verdicts);
  } finally {
    options.signal.removeEventListener('abort', stop);
    stop();
    await hub[Symbol.asyncDispose]();
  }
  // Of the last of its lives in which it said something.
  const stderr = processes.map((one) => one.stderr).findLast((text) => text.trim() !== '') ?? '';
  return {
    results: verdicts.results,
    kept: verdicts.count('kept'),
    broken: verdicts.count('broken'),
    notAsked: verdicts.count('not-asked'),
    stderr: stderr.slice(-STDERR_KEPT),
  };
}

type Start = (extra: Readonly<Record<string, string>>) => CheckedProcess;

/** A plugin that has no query mode tries to connect and fails: that is allowed, and said. */
async function checkQuery(start: Start, verdicts: Verdicts): Promise<void> {
  const says = 'asked what it declares, it writes its stage 1 line and exits 0';
  const asked = start({ ZE_PLUGIN_MODE: 'declare' });
  const ended = await asked.endedWithin(QUERY_MS);
  asked.kill();
  if (asked.stdout.trim() === '') {
    const detail = ended === undefined ? `it wrote nothing in ${QUERY_MS / 1000} s` : `it wrote nothing and ended with ${ended}`;
    verdicts.notAsked('query-mode', says, `${detail}: it has no query mode, and the daemon learns of it when it runs`);
    return;
  }
  verdicts.judge('query-mode', says, queryFault(asked.stdout, ended));
}

function queryFault(stdout: string, ended: number | string | undefined): string | undefined {
  const lines = stdout.split('\n');
  if (!stdout.endsWith('\n') || lines.length !== 2)
    return `it wrote ${lines.length - 1} lines and ${lines.at(-1) === '' ? 'nothing' : 'something'} behind them`;
  const found = /^#\d+ ze-plugin-engine:declare-registration(?: (.*))?$/.exec(lines[0] ?? '');
  if (found === null) return `it wrote ${JSON.stringify(lines[0]?.slice(0, 80))}`;
  const fault = registrationFault(Buffer.from(found[1] ?? '')).fault;
  return fault ?? (ended === 0 ? undefined : ended === undefined ? 'it did not end' : `it ended with ${ended}`);
}

function registrationFault(
  payload: Buffer,
  name = 'check',
): { readonly fault?: string | undefined; readonly value?: DeclareRegistrationInput } {
  try {
    const value = decodePayload('ze-plugin-engine:declare-registration', payload);
    const names = (value.commands ?? []).map((command) => checkCommandName(command.name)).find((fault) => fault !== undefined);
    return { fault: checkDeclaration(name, value) ?? names, value };
  } catch (error) {
    return { fault: messageOf(error) };
  }
}

/** The whole life. Answers whether it came through its stages. */
async function checkLife(options: CheckOptions, hub: TestHub, start: Start, verdicts: Verdicts): Promise<boolean> {
  const connected = hub.accept(options.name);
  const alive = start(hub.environment(options.name));
  const link = await connect(alive, connected, verdicts);
  if (link === undefined) return false;
  const declared = await checkStages(options, link, verdicts);
  if (declared === undefined) {
    alive.kill();
    return false;
  }
  link.serve();
  await checkRunning(link, declared, verdicts);
  const calls = [...link.called].map(([name, count]) => `${name} ${count}`).join(', ');
  verdicts.judge(
    'lines',
    `its lines and calls keep to the protocol${calls === '' ? '' : ` (it called: ${calls})`}`,
    [...link.faults][0],
  );
  await checkGoodbye(alive, link, verdicts);
  verdicts.judge(
    'stdout',
    'it writes nothing to stdout',
    alive.stdout === '' ? undefined : JSON.stringify(alive.stdout.slice(0, 80)),
  );
  return true;
}

async function connect(alive: CheckedProcess, connected: Promise<TLSSocket>, verdicts: Verdicts): Promise<CheckLink | undefined> {
  const says = `it connects back over TLS 1.3 and says who it is within ${CONNECT_MS / 1000} s`;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), CONNECT_MS);
  });
  const stream = await Promise.race([connected, late, alive.exit.then(() => undefined)]);
  clearTimeout(timer);
  if (stream === undefined) {
    const lines = alive.stderr.trim().split('\n');
    verdicts.broken(
      'connect',
      says,
      alive.ended === undefined ? 'it did not' : `it ended with ${alive.ended}: ${lines.at(-1) ?? ''}`,
    );
    return undefined;
  }
  verdicts.kept('connect', says);
  return new CheckLink(stream);
}

/** The five stages, each waited for and each held back for a moment. The declaration, when it came through. */
async function checkStages(
  options: CheckOptions,
  link: CheckLink,
  verdicts: Verdicts,
): Promise<DeclareRegistrationInput | undefined> {
  let declared: DeclareRegistrationInput | undefined;
  let patient: string | undefined;
  const take = async (rule: string, method: string, judge: (payload: Buffer) => string | undefined): Promise<void> => {
    const request = await link.request(STAGE_MS);
    const name = `ze-plugin-engine:${method}`;
    const fault = request.method === name ? judge(request.payload) : `it sent ${request.method}`;
    await pause(IMPATIENCE_MS);
    if (link.waiting > 0) patient ??= `it went on after ${method} without its ok`;
    if (!verdicts.judge(rule, `${rule.replace('.', ' ')}: ${method}`, fault)) throw new Error(fault);
    link.reply(request);
  };
  const tell = async (rule: string, method: string, params: object): Promise<void> => {
    const [line] = await link.ask(method, params, STAGE_MS);
    const fault =
      line?.word === 'ok'
        ? undefined
        : `it answered ${line?.word ?? 'nothing'} ${line?.payload.toString('utf8').slice(0, 120) ?? ''}`;
    if (!verdicts.judge(rule, `${rule.replace('.', ' ')}: ${method} is answered ok`, fault)) throw new Error(fault);
  };
  const before = verdicts.count('broken');
  try {
    await take('stage.1', 'declare-registration', (payload) => {
      const { fault, value } = registrationFault(payload, options.name);
      declared = value;
      return fault;
    });
    await tell('stage.2', 'configure', { sections: options.sections });
    await take('stage.3', 'declare-capabilities', (payload) => decodeFault('ze-plugin-engine:declare-capabilities', payload));
    const commands = (declared?.commands ?? []).map(({ name }) => ({ name, plugin: options.name }));
    await tell('stage.4', 'share-registry', { commands });
    await take('stage.5', 'ready', (payload) => decodeFault('ze-plugin-engine:ready', payload));
  } catch (error) {
    if (verdicts.count('broken') === before) verdicts.broken('stages', 'it goes through the five stages', messageOf(error));
    return undefined;
  }
  verdicts.judge('stages.patience', 'it waits for the ok of each stage', patient);
  return declared;
}

function decodeFault(
  method: 'ze-plugin-engine:declare-capabilities' | 'ze-plugin-engine:ready',
  payload: Buffer,
): string | undefined {
  try {
    decodePayload(method, payload);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

async function checkGoodbye(alive: CheckedProcess, link: CheckLink, verdicts: Verdicts): Promise<void> {
  const says = 'bye is answered ok';
  if (!link.open) verdicts.notAsked('bye', says, 'its connection is gone');
  else {
    const lines = await link.ask('bye', { reason: 'shutdown' }, ANSWER_MS).catch((error: unknown) => messageOf(error));
    const fault =
      typeof lines === 'string' ? lines : lines[0]?.word === 'ok' ? undefined : `it answered ${lines[0]?.word ?? 'nothing'}`;
    verdicts.judge('bye', says, fault);
  }
  link.end();
  const ended = await alive.endedWithin(LEAVE_MS);
  const fault = ended === undefined ? 'it is still there' : ended === 0 ? undefined : `it ended with ${ended}`;
  verdicts.judge('exit', `after its goodbye it exits 0 within ${LEAVE_MS / 1000} s`, fault);
}

/** A daemon that is killed says no goodbye. */
async function checkOrphan(options: CheckOptions, hub: TestHub, start: Start, verdicts: Verdicts): Promise<void> {
  const says = `when the connection is simply gone, it ends within ${LEAVE_MS / 1000} s`;
  const connected = hub.accept(options.name);
  const alive = start(hub.environment(options.name));
  const quiet = new Verdicts(() => undefined);
  const link = await connect(alive, connected, quiet);
  if (link === undefined || (await checkStages(options, link, quiet)) === undefined) {
    verdicts.broken('orphan', says, 'it did not start a second time');
    return;
  }
  link.serve();
  link.destroy();
  const ended = await alive.endedWithin(LEAVE_MS);
  verdicts.judge('orphan', says, ended === undefined ? 'it is still there' : undefined);
}
