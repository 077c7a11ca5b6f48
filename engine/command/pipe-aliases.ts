/**
 * Pipe aliases: names a plugin gives to chains of operators on its own commands (plugin-rpc-types §2.8). An alias is expanded
 * when the command is parsed; it takes no argument and names no other alias.
 */
import type { PipeDecl } from '../../yang/generated/methods.ts';
import { splitWords, type Word } from '../core/words.ts';
import { CommandError } from './fault.ts';
import { cutPipes, PIPE_OPERATORS, readPipes } from './pipe-syntax.ts';
import { words, type CommandSpec } from './spec.ts';

export interface PipeAlias {
  readonly name: string;
  /** As the plugin describes it; '' = not at all. */
  readonly help: string;
  /** As declared. */
  readonly expansion: string;
  readonly operators: readonly (readonly Word[])[];
}

export type Aliases = ReadonlyMap<string, PipeAlias>;

const NONE: Aliases = new Map();

export class PipeAliases {
  /** plugin → command path → name → alias */
  readonly #plugins = new Map<string, Map<string, Map<string, PipeAlias>>>();

  /** Why the alias cannot be; `undefined` when it can. */
  check(pipe: PipeDecl): string | undefined {
    if ((PIPE_OPERATORS as readonly string[]).includes(pipe.name)) return `"${pipe.name}" is an operator of the engine`;
    const read = expand(pipe);
    return typeof read === 'string' ? `"${pipe.name}" does not expand: ${read}` : undefined;
  }

  add(plugin: string, pipes: readonly PipeDecl[]): void {
    const commands = this.#plugins.get(plugin) ?? new Map<string, Map<string, PipeAlias>>();
    this.#plugins.set(plugin, commands);
    for (const pipe of pipes) {
      const operators = expand(pipe);
      if (typeof operators === 'string') continue;
      const path = words(pipe.command);
      const names = commands.get(path) ?? new Map<string, PipeAlias>();
      commands.set(
        path,
        names.set(pipe.name, { name: pipe.name, help: pipe.description ?? '', expansion: pipe.expansion, operators }),
      );
    }
  }

  remove(plugin: string): void {
    this.#plugins.delete(plugin);
  }

  of(spec: CommandSpec): Aliases {
    return this.#plugins.get(spec.owner)?.get(spec.path) ?? NONE;
  }
}

/** One line about an alias: its description, else what it stands for. */
export function aliasHelp(alias: PipeAlias): string {
  return alias.help === '' ? `Short for | ${alias.expansion}` : alias.help;
}

function expand(pipe: PipeDecl): readonly (readonly Word[])[] | string {
  const split = splitWords(`| ${pipe.expansion}`);
  if (!split.ok) return split.fault.message;
  try {
    const { operators } = cutPipes(split.words);
    readPipes(operators);
    return operators;
  } catch (error) {
    if (error instanceof CommandError) return error.message;
    throw error;
  }
}

/** The operators as typed, with aliases replaced by what they stand for. Throws `CommandError`. */
export function expandAliases(operators: readonly (readonly Word[])[], aliases: Aliases): readonly (readonly Word[])[] {
  if (aliases.size === 0) return operators;
  return operators.flatMap((operator) => {
    const [name, value] = operator;
    const alias = aliases.get(name?.text.toLowerCase() ?? '');
    if (alias === undefined) return [operator];
    if (value !== undefined) throw new CommandError('argument', `${alias.name} takes no "${value.text}"`, value.column);
    return alias.operators;
  });
}
