/**
 * From a command's text to its answer: parse, authorise, find the owner, run, pass the answer through the pipes. Built-ins run
 * here; a plugin's command goes to its plugin and the answer is relayed as it is pulled. The `AbortSignal` of the caller ends
 * the producer, wherever it runs.
 */
import { setMaxListeners } from 'node:events';
import { type AnswerChunk, type AnswerHead, AnswerReader, type AnswerSource, type PackedRows } from '../../sdk/rpc/answer.ts';
import { messageOf, RpcError } from '../../sdk/rpc/errors.ts';
import { answerOf, failedAnswer } from '../../sdk/rpc/records.ts';
import type { CommandDecl, DispatchCommandArgsInput, PipeDecl, RegistryCommand } from '../../yang/generated/methods.ts';
import type { Log } from '../core/log.ts';
import type { CommandRegistry } from '../host/services.ts';
import { authorise, type Caller } from './access.ts';
import type { BoundArguments } from './bind.ts';
import type { CommandContext } from './context.ts';
import { DepartedCommands } from './departed.ts';
import { CommandError } from './fault.ts';
import { PipeAliases } from './pipe-aliases.ts';
import { parseArguments, parseCommand, type ParsedCommand, type PeerNames } from './parse.ts';
import { enriched } from './enrich.ts';
import { applyPipes } from './pipes.ts';
import { builtInCommands, type CommandSpec, isBuiltIn, pluginCommand } from './spec.ts';
import { CommandTree } from './tree.ts';

/** One command on its way to its handler. */
export interface Call {
  readonly path: string;
  readonly args: BoundArguments;
  /** The words after the path. */
  readonly words: readonly string[];
  /** The same, as typed. */
  readonly tail: string;
  readonly tailColumn: number;
  /** '' when none was given. */
  readonly selector: string;
  readonly selectorColumn: number;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly context: CommandContext;
  readonly tree: CommandTree;
  readonly aliases: PipeAliases;
  /** Reads another line; throws `CommandError`. */
  readonly parse: (text: string) => ParsedCommand;
}

/** Returns a value (one document), an iterable (rows) or an `AnswerSource`. Throws `CommandError` for what is the operator's fault. */
export type Handler = (call: Call) => unknown;

function cancelled(source: AnswerSource): AnswerSource {
  source.cancel();
  return source;
}

/** Cancels the source when the caller's signal aborts; lets go of the signal, which may live long, when the answer is over. */
class AbortableSource implements AnswerSource {
  readonly head: AnswerHead;
  readonly immediate: boolean;
  readonly checked: boolean;
  readonly nextPacked: AnswerSource['nextPacked'];
  readonly #inner: AnswerSource;
  readonly #signal: AbortSignal;
  readonly #abort: () => void;

  constructor(inner: AnswerSource, signal: AbortSignal) {
    this.head = inner.head;
    this.immediate = inner.immediate === true;
    this.checked = inner.checked === true;
    const packed = inner.nextPacked?.bind(inner);
    this.nextPacked = packed === undefined ? undefined : () => this.#passed(packed());
    this.#inner = inner;
    this.#signal = signal;
    this.#abort = () => inner.cancel();
    // One listener for each answer under way: any number of them is as it should be.
    setMaxListeners(0, signal);
    signal.addEventListener('abort', this.#abort, { once: true });
  }

  next(): Promise<AnswerChunk> {
    return this.#passed(this.#inner.next());
  }

  async #passed<C extends AnswerChunk | PackedRows>(next: Promise<C>): Promise<C> {
    try {
      const chunk = await next;
      if (chunk.kind === 'end') this.#release();
      return chunk;
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  cancel(): void {
    this.#release();
    this.#inner.cancel();
  }

  #release(): void {
    this.#signal.removeEventListener('abort', this.#abort);
  }
}

export class Dispatcher implements PeerNames, CommandRegistry {
  readonly tree: CommandTree;
  readonly aliases = new PipeAliases();
  readonly departed = new DepartedCommands();
  readonly #context: CommandContext;
  readonly #handlers: ReadonlyMap<string, Handler>;
  readonly #log: Log;

  constructor(context: CommandContext, handlers: ReadonlyMap<string, Handler>, log: Log) {
    this.tree = new CommandTree(builtInCommands());
    this.#context = context;
    this.#handlers = handlers;
    this.#log = log;
  }

  /** Puts the commands of a plugin into the tree. A command that is taken is left out with a warning; the names of those are returned. */
  add(plugin: string, commands: readonly CommandDecl[]): readonly string[] {
    const refused: string[] = [];
    this.departed.forget(plugin);
    for (const declared of commands) {
      const option = declared.name.split(/\s+/).find((word) => word.startsWith('--'));
      const reason =
        option === undefined
          ? this.tree.add(pluginCommand(plugin, declared))
          : `"${option}" is an option of the command line, no word of a command`;
      if (reason === undefined) continue;
      refused.push(declared.name);
      this.#log.warn({ plugin, command: declared.name, reason }, 'command of a plugin left out');
    }
    return refused;
  }

  /** Takes the commands and pipe aliases of a plugin out; their names are remembered, for who asks for them. */
  remove(plugin: string): void {
    this.departed.note(plugin, this.tree.all());
    this.tree.remove(plugin);
    this.aliases.remove(plugin);
  }

  has(name: string): boolean {
    return this.tree.exact(name) !== undefined;
  }

  checkPipe(_plugin: string, pipe: PipeDecl): string | undefined {
    return this.aliases.check(pipe);
  }

  addPipes(plugin: string, pipes: readonly PipeDecl[]): void {
    this.aliases.add(plugin, pipes);
  }

  /** The engine's own commands, for share-registry. */
  list(): readonly RegistryCommand[] {
    return this.tree
      .all()
      .filter((spec) => isBuiltIn(spec) && !spec.hidden)
      .map((spec) => ({ name: spec.path, plugin: spec.owner, encoding: 'json' }));
  }

  /** Runs a line of text. The reader's head rejects with code `unknown-command` when the text names no command (`nay`). */
  dispatch(text: string, caller: Caller, signal: AbortSignal): AnswerReader {
    return this.#answer(() => this.parse(text), caller, signal, text);
  }

  /** Runs a command by its exact name; the arguments are words already. */
  dispatchArgs(input: DispatchCommandArgsInput, caller: Caller, signal: AbortSignal): AnswerReader {
    const parse = (): ParsedCommand => parseArguments(input.command, input.args ?? [], input.peer ?? '', this.tree);
    return this.#answer(parse, caller, signal, input.command);
  }

  /** Throws `CommandError`. */
  parse(text: string): ParsedCommand {
    return parseCommand(text, this.tree, this, (spec) => this.aliases.of(spec));
  }

  isPeer(name: string): boolean {
    return this.#context.peers.list().some((peer) => peer.name === name);
  }

  names(): readonly string[] {
    return this.#context.peers.list().map((peer) => peer.name);
  }

  #answer(parse: () => ParsedCommand, caller: Caller, signal: AbortSignal, text: string): AnswerReader {
    return new AnswerReader(this.#source(parse, caller, signal, text));
  }

  async #source(parse: () => ParsedCommand, caller: Caller, signal: AbortSignal, text: string): Promise<AnswerSource> {
    let source: AnswerSource;
    try {
      const parsed = parse();
      authorise(caller, parsed.spec);
      this.#log.debug({ command: parsed.spec.path, user: caller.user, deprecated: parsed.deprecated }, 'command');
      source = applyPipes(this.#enriched(await this.#run(parsed, caller, signal), parsed.spec, signal), parsed.pipes.steps);
    } catch (error) {
      if (error instanceof CommandError) {
        const gone = error.kind === 'unknown' ? this.departed.reason(text, this.#context.plugins.list()) : undefined;
        if (gone !== undefined) return failedAnswer(gone);
        if (error.kind === 'unknown') throw new RpcError('unknown-command', error.text);
        return failedAnswer(error.text);
      }
      if (error instanceof RpcError) return failedAnswer(error.message);
      this.#log.error({ error: messageOf(error), user: caller.user }, 'command failed');
      return failedAnswer(messageOf(error));
    }
    return signal.aborted ? cancelled(source) : new AbortableSource(source, signal);
  }

  /** Actions are not shown, so nothing is added to their answers; a plugin's own commands may be either. */
  #enriched(source: AnswerSource, spec: CommandSpec, signal: AbortSignal): AnswerSource {
    const { plugins, clock } = this.#context;
    if (isBuiltIn(spec) && !spec.readOnly) return source;
    const enrichers = plugins.enrichers();
    if (enrichers.length === 0) return source;
    const own = enrichers.filter(({ command }) => this.tree.exact(command)?.path === spec.path);
    return enriched(source, spec.path, own, { clock, log: this.#log, signal, plugins });
  }

  async #run(parsed: ParsedCommand, caller: Caller, signal: AbortSignal): Promise<AnswerSource> {
    const { spec } = parsed;
    if (!isBuiltIn(spec)) {
      const input = {
        serial: '',
        command: spec.handler,
        args: parsed.words,
        peer: parsed.selector === '' ? '*' : parsed.selector,
      };
      return this.#context.plugins.execute(spec.owner, input, signal).source();
    }
    const handler = this.#handlers.get(spec.handler);
    if (handler === undefined) throw new CommandError('failed', `${spec.path} is not available in this daemon`);
    const answer: unknown = await handler({
      path: spec.path,
      args: parsed.bound,
      words: parsed.words,
      tail: parsed.tail,
      tailColumn: parsed.tailColumn,
      selector: parsed.selector,
      selectorColumn: parsed.selectorColumn,
      caller,
      signal,
      context: this.#context,
      tree: this.tree,
      aliases: this.aliases,
      parse: (text) => this.parse(text),
    });
    return answerOf(answer);
  }
}
