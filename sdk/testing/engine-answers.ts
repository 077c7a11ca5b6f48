/** What the fake engine answers a plugin's calls: what the test scripted, else what a quiet engine would say. Every call is kept. */
import type { EngineMethod, Methods, SubscribeEventsInput } from '../../yang/generated/methods.ts';
import type { DispatchMethod } from '../plugin/bridge.ts';
import type { AnswerSource } from '../rpc/answer.ts';
import { RpcError } from '../rpc/errors.ts';
import { answerOf } from '../rpc/records.ts';
import type { CallServer } from './fake-bridge.ts';

/** A method without its prefix: `update-route`. */
export type EngineCallName = EngineMethod extends infer M ? (M extends `ze-plugin-engine:${infer N}` ? N : never) : never;
/** The input of an engine call. */
export type InputOf<N extends EngineCallName> = Methods[`ze-plugin-engine:${N}`]['input'];
/** What an engine call answers. */
export type OutputOf<N extends EngineCallName> = Methods[`ze-plugin-engine:${N}`]['output'];

/** A call that the plugin made. */
export interface RecordedCall {
  readonly method: EngineCallName;
  readonly input: unknown;
}

/** A route command that the plugin sent. */
export interface RecordedRoute {
  readonly selector: string;
  readonly command: string;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
}

/** Answers a command line: as a plugin's own handler would, rows from an iterable, any other value as one document. */
export type CommandAnswer = (command: string, args: readonly string[]) => unknown;

const PREFIX = 'ze-plugin-engine:';

export class EngineAnswers implements CallServer {
  readonly calls: RecordedCall[] = [];
  /** The state store: bytes by key. */
  readonly stored = new Map<string, Buffer>();
  /** What the plugin asked to see, startup subscription included. */
  readonly subscriptions: SubscribeEventsInput[] = [];
  readonly #scripted = new Map<EngineCallName, (input: unknown) => unknown>();
  readonly #commands = new Map<string, CommandAnswer>();
  readonly #waiting = new Set<() => void>();
  readonly #affected: (selector: string) => number;

  /** `affected`: how many peers a selector means. */
  constructor(affected: (selector: string) => number) {
    this.#affected = affected;
  }

  script<N extends EngineCallName>(name: N, answer: (input: InputOf<N>) => OutputOf<N> | Promise<OutputOf<N>>): void {
    this.#scripted.set(name, answer as (input: unknown) => unknown);
  }

  command(command: string, answer: CommandAnswer): void {
    this.#commands.set(command, answer);
  }

  get routes(): readonly RecordedRoute[] {
    return this.calls
      .filter((call) => call.method === 'update-route')
      .map(({ input }) => {
        const route = input as InputOf<'update-route'>;
        return { selector: route['peer-selector'] ?? '*', command: route.command, meta: route.meta };
      });
  }

  /** Resolves when the condition holds; it is looked at after every call. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  async call(method: EngineMethod, input: unknown): Promise<unknown> {
    const name = method.slice(PREFIX.length) as EngineCallName;
    this.#keep(name, input);
    const scripted = this.#scripted.get(name);
    return scripted === undefined ? this.#usual(name, input) : await scripted(input);
  }

  async dispatch(method: DispatchMethod, input: unknown): Promise<AnswerSource> {
    const name = method.slice(PREFIX.length) as EngineCallName;
    this.#keep(name, input);
    const given = input as InputOf<'dispatch-command-args'>;
    const line = [given.command, ...(given.args ?? [])].join(' ');
    const found = [...this.#commands]
      .filter(([command]) => line === command || line.startsWith(`${command} `))
      .sort((a, b) => b[0].length - a[0].length)[0];
    if (found === undefined) throw new RpcError('unknown-command', `unknown command: ${line}`);
    const [command, answer] = found;
    const args = line.slice(command.length).split(' ');
    return answerOf(
      await answer(
        command,
        args.filter((word) => word !== ''),
      ),
    );
  }

  #keep(method: EngineCallName, input: unknown): void {
    this.calls.push({ method, input });
    // The call is answered first: a waiter sees the state behind it.
    setImmediate(() => {
      for (const wake of [...this.#waiting]) {
        this.#waiting.delete(wake);
        wake();
      }
    });
  }

  #usual(name: EngineCallName, input: unknown): unknown {
    switch (name) {
      case 'update-route': {
        const { command, 'peer-selector': selector = '*' } = input as InputOf<'update-route'>;
        const { announced, withdrawn } = countPrefixes(command);
        const peers = this.#affected(selector);
        return { announced, withdrawn, 'peers-affected': peers, 'routes-sent': (announced + withdrawn) * peers };
      }
      case 'subscribe-events':
        this.subscriptions.push(input as SubscribeEventsInput);
        return undefined;
      case 'unsubscribe-events':
        this.subscriptions.length = 0;
        return undefined;
      case 'emit-event':
        return { delivered: 0 };
      case 'forward-cached':
      case 'release-cached':
      case 'relay-stored-route':
      case 'inject-wire-route':
        return undefined;
      case 'route-install':
        return { installed: (input as InputOf<'route-install'>).routes.length };
      case 'route-remove':
        return { removed: (input as InputOf<'route-remove'>).routes.length };
      case 'batch-validate': {
        const { decisions } = input as InputOf<'batch-validate'>;
        const accepted = decisions.filter((decision) => decision.Accept).length;
        return { accepted, rejected: decisions.length - accepted, early: 0 };
      }
      case 'state-get': {
        const value = this.stored.get((input as InputOf<'state-get'>).key);
        return value === undefined ? { status: 'absent' } : { status: 'ok', data: value.toString('base64') };
      }
      case 'state-put': {
        const { key, data } = input as InputOf<'state-put'>;
        this.stored.set(key, Buffer.from(data, 'base64'));
        return { status: 'ok' };
      }
      case 'state-remove':
        return { status: this.stored.delete((input as InputOf<'state-remove'>).key) ? 'ok' : 'absent' };
      case 'state-list': {
        const { key } = input as InputOf<'state-list'>;
        return { status: 'ok', keys: [...this.stored.keys()].filter((one) => one.startsWith(key)).sort() };
      }
      case 'state-increment': {
        const { key } = input as InputOf<'state-increment'>;
        const value = Number(this.stored.get(key)?.toString('utf8') ?? 0) + 1;
        this.stored.set(key, Buffer.from(String(value), 'utf8'));
        return { status: 'ok', value };
      }
      default:
        throw new RpcError('error', `the fake engine has no answer to ${name}: give it one with engine.answer('${name}', …)`);
    }
  }
}

/** Prefixes behind `add` and `del` of a route command. */
function countPrefixes(command: string): { readonly announced: number; readonly withdrawn: number } {
  let announced = 0;
  let withdrawn = 0;
  let verb = '';
  for (const word of command.split(/[\s,]+/)) {
    if (word === 'add' || word === 'del') verb = word;
    else if (word === 'nlri') verb = '';
    else if (/^[0-9a-fA-F.:]+\/\d{1,3}$/.test(word)) {
      if (verb === 'add') announced++;
      else if (verb === 'del') withdrawn++;
    }
  }
  return { announced, withdrawn };
}
