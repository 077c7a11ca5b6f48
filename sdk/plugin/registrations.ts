/**
 * What a plugin provides, as it registers it: commands, filters, doctor checks, enrichers, pipe aliases. Each registration is the
 * declaration (stage 1) and its handler together, so that neither is forgotten; the callback finds the handler by name.
 */
import type {
  CommandDecl,
  DeclareRegistrationInput,
  Diagnostic,
  DoctorCheckDecl,
  EnricherDecl,
  EnrichShowInput,
  ExecuteCommandInput,
  FilterDecl,
  FilterUpdateInput,
  FilterUpdateOutput,
  PipeDecl,
} from '../../yang/generated/methods.ts';
import { RpcError } from '../rpc/errors.ts';
import { records } from '../rpc/records.ts';
import type { Plugin } from './plugin.ts';

type Awaitable<T> = T | Promise<T>;

/** Answers a command: a generator row by row, `records(…)` as told, any other value as one document. A throw answers `error`. */
export type CommandHandler = (input: ExecuteCommandInput, signal: AbortSignal) => unknown;
/** Words that may stand next, for the last of `words` ('' for a new one): texts, or texts with a line of help. */
export type CompletionHandler = (
  words: readonly string[],
  signal: AbortSignal,
) => Awaitable<readonly (string | { readonly word: string; readonly help?: string | undefined })[]>;
/** Judges an update: `accept`, `reject`, or the whole answer of `filter-update`. A throw is what `on-error` of the filter says. */
export type FilterHandler = (
  input: FilterUpdateInput,
  signal: AbortSignal,
) => Awaitable<'accept' | 'reject' | FilterUpdateOutput>;
/** What a check found wrong; nothing = all is well. */
export type DoctorHandler = (signal: AbortSignal) => Awaitable<readonly Diagnostic[] | undefined>;
/** Members that are put under the enricher's key; nothing = no addition. The engine waits two seconds. */
export type EnricherHandler = (
  input: EnrichShowInput,
  signal: AbortSignal,
) => Awaitable<Readonly<Record<string, unknown>> | undefined>;

interface Registered<D, H> {
  readonly declaration: D;
  readonly handler: H;
}

export class Registrations {
  readonly #commands = new Map<string, Registered<CommandDecl, CommandHandler>>();
  readonly #filters = new Map<string, Registered<FilterDecl, FilterHandler>>();
  readonly #checks = new Map<string, Registered<DoctorCheckDecl, DoctorHandler>>();
  readonly #enrichers = new Map<string, Registered<EnricherDecl, EnricherHandler>>();
  readonly #pipes: PipeDecl[] = [];
  readonly #completions = new Map<string, CompletionHandler>();

  command(declaration: CommandDecl, handler: CommandHandler): void {
    add(this.#commands, keyOf(declaration.name), `command "${declaration.name}"`, { declaration, handler });
  }

  completion(command: string, handler: CompletionHandler): void {
    this.#completions.set(keyOf(command), handler);
  }

  filter(declaration: FilterDecl, handler: FilterHandler): void {
    add(this.#filters, declaration.name, `filter "${declaration.name}"`, { declaration, handler });
  }

  doctorCheck(declaration: DoctorCheckDecl, handler: DoctorHandler): void {
    add(this.#checks, declaration.name, `doctor check "${declaration.name}"`, { declaration, handler });
  }

  enricher(declaration: EnricherDecl, handler: EnricherHandler): void {
    const name = `${keyOf(declaration.command)}/${declaration.key}`;
    add(this.#enrichers, name, `enricher "${name}"`, { declaration, handler });
  }

  pipe(declaration: PipeDecl): void {
    this.#pipes.push(declaration);
  }

  /** The declaration with what was registered; what it says itself of a name wins, member by member. */
  complete(declaration: DeclareRegistrationInput): DeclareRegistrationInput {
    const list = <D extends object>(
      key: keyof DeclareRegistrationInput,
      said: readonly D[] | undefined,
      registered: readonly D[],
      nameOf: (one: D) => string,
    ): object => {
      const merged = new Map((said ?? []).map((one) => [nameOf(one), one]));
      for (const one of registered) merged.set(nameOf(one), { ...one, ...merged.get(nameOf(one)) });
      return merged.size === 0 ? {} : { [key]: [...merged.values()] };
    };
    return {
      ...declaration,
      ...list('commands', declaration.commands, this.#completable(), (one) => keyOf(one.name)),
      ...list('filters', declaration.filters, declarations(this.#filters), (one) => one.name),
      ...list('doctor-checks', declaration['doctor-checks'], declarations(this.#checks), (one) => one.name),
      ...list('enrichers', declaration.enrichers, declarations(this.#enrichers), (one) => `${keyOf(one.command)}/${one.key}`),
      ...list('pipes', declaration.pipes, this.#pipes, (one) => `${keyOf(one.command)}/${one.name}`),
    };
  }

  /** Puts a handler for each kind that was registered onto the plugin. `declared`: shapes a declaration states beside the handler. */
  wire(plugin: Plugin, declared: DeclareRegistrationInput): void {
    if (this.#commands.size > 0) {
      const shapes = new Map((declared.commands ?? []).map((one) => [keyOf(one.name), one]));
      plugin.onExecuteCommand((input, signal) => this.#execute(input, signal, shapes));
    }
    if (this.#filters.size > 0) {
      plugin.onFilterUpdate(async (input, signal) => {
        const answer = await found(this.#filters, input.filter, 'filter')(input, signal);
        return typeof answer === 'string' ? { action: answer } : answer;
      });
    }
    if (this.#checks.size > 0) {
      plugin.onDoctorCheck(async (input, signal) => (await found(this.#checks, input.name, 'doctor check')(signal)) ?? []);
    }
    if (this.#enrichers.size > 0) {
      plugin.onEnrichShow((input, signal) =>
        found(this.#enrichers, `${keyOf(input.command)}/${input.key}`, 'enricher')(input, signal),
      );
    }
  }

  #completable(): readonly CommandDecl[] {
    return declarations(this.#commands).map((one) =>
      this.#completions.has(keyOf(one.name)) ? { ...one, completable: true } : one,
    );
  }

  #execute(input: ExecuteCommandInput, signal: AbortSignal, shapes: ReadonlyMap<string, CommandDecl>): unknown {
    const key = keyOf(input.command);
    const completion = this.#commands.has(key) ? undefined : this.#completions.get(key.replace(/^complete /, ''));
    if (completion !== undefined && key.startsWith('complete ')) return completion(input.args ?? [], signal);
    const result = found(this.#commands, key, 'command', input.command)(input, signal);
    const { shape, columns } = shapes.get(key) ?? {};
    if (shape !== 'tab' || columns === undefined) return result;
    return result instanceof Promise ? result.then((value: unknown) => asTable(value, columns)) : asTable(result, columns);
  }
}

function asTable(result: unknown, columns: readonly string[]): unknown {
  return isRows(result) ? records(result, { columns }) : result;
}

function isRows(value: unknown): value is Iterable<unknown> | AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);
}

function add<D, H>(to: Map<string, Registered<D, H>>, key: string, what: string, one: Registered<D, H>): void {
  if (to.has(key)) throw new TypeError(`${what} is registered already`);
  if (typeof one.handler !== 'function') throw new TypeError(`${what} needs a handler`);
  to.set(key, one);
}

function declarations<D, H>(of: ReadonlyMap<string, Registered<D, H>>): readonly D[] {
  return [...of.values()].map((one) => one.declaration);
}

function found<D, H>(among: ReadonlyMap<string, Registered<D, H>>, key: string, kind: string, name = key): H {
  const one = among.get(key);
  if (one === undefined) throw new RpcError('error', `no such ${kind}: ${name}`);
  return one.handler;
}

/** Commands are matched without regard to case and runs of blanks, as the engine does. */
function keyOf(command: string): string {
  return command.trim().replaceAll(/\s+/g, ' ').toLowerCase();
}
