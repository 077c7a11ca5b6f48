/** Words to named, typed arguments, as the command's specification lists them. */
import { nearest } from '../core/nearest.ts';
import type { Word } from '../core/words.ts';
import { CommandError, didYouMean } from './fault.ts';
import { usage, type CommandArgument, type CommandSpec } from './spec.ts';

/** What was given, by argument name. Absent arguments answer '' or `undefined`. */
export class BoundArguments {
  readonly #values: ReadonlyMap<string, readonly Word[]>;

  constructor(values: ReadonlyMap<string, readonly Word[]>) {
    this.#values = values;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** The words of an argument joined by blanks; '' when it was not given. */
  text(name: string): string {
    return (this.#values.get(name) ?? []).map((word) => word.text).join(' ');
  }

  number(name: string): number | undefined {
    const words = this.#values.get(name);
    return words === undefined ? undefined : Number(words[0]?.text);
  }

  words(name: string): readonly string[] {
    return (this.#values.get(name) ?? []).map((word) => word.text);
  }

  column(name: string): number {
    return this.#values.get(name)?.[0]?.column ?? 0;
  }
}

/** `endColumn` is where a missing argument would stand. Throws `CommandError`. */
export function bindArguments(spec: CommandSpec, words: readonly Word[], endColumn: number): BoundArguments {
  const values = new Map<string, readonly Word[]>();
  if (spec.free) return new BoundArguments(values);
  const positional = spec.args.filter((arg) => !arg.keyword);
  const keywords = spec.args.filter((arg) => arg.keyword);
  const bind = (arg: CommandArgument, given: readonly Word[]): void => {
    for (const word of given) checkKind(arg, word);
    values.set(arg.name, given);
  };
  let at = 0;
  for (const arg of positional) {
    const word = words[at];
    if (word === undefined || isKeyword(word, keywords)) {
      if (!arg.optional)
        throw new CommandError('argument', `${spec.path} requires ${arg.name}: ${usage(spec)}`, word?.column ?? endColumn);
      continue;
    }
    const given =
      arg.kind === 'text' ? words.slice(at) : arg.repeated ? words.slice(at, keywordFrom(words, at, keywords)) : [word];
    bind(arg, given);
    at += given.length;
  }
  while (at < words.length) {
    const word = words[at]!;
    const arg = keywords.find((one) => one.name === word.text.toLowerCase());
    if (arg === undefined) {
      const near = didYouMean(
        nearest(
          word.text,
          keywords.map((one) => one.name),
        ),
      );
      throw new CommandError('argument', `unexpected "${word.text.slice(0, 64)}"${near}: ${usage(spec)}`, word.column);
    }
    if (values.has(arg.name)) throw new CommandError('argument', `${arg.name} stands twice`, word.column);
    const value = words[at + 1];
    if (value === undefined) throw new CommandError('argument', `${arg.name} requires a value`, word.column);
    bind(arg, arg.repeated ? commaList(value) : [value]);
    at += 2;
  }
  const missing = keywords.find((arg) => !arg.optional && !values.has(arg.name));
  if (missing !== undefined)
    throw new CommandError('argument', `${spec.path} requires ${missing.name}: ${usage(spec)}`, endColumn);
  return new BoundArguments(values);
}

/** `update,state` as words of their own; `[update` and `state]` are for `update text` alone. */
function commaList(word: Word): readonly Word[] {
  return word.text
    .split(',')
    .filter((text) => text !== '')
    .map((text) => ({ ...word, text }));
}

function isKeyword(word: Word, keywords: readonly CommandArgument[]): boolean {
  return !word.quoted && keywords.some((arg) => arg.name === word.text.toLowerCase());
}

function keywordFrom(words: readonly Word[], from: number, keywords: readonly CommandArgument[]): number {
  let at = from;
  while (at < words.length && !isKeyword(words[at]!, keywords)) at++;
  return at;
}

function checkKind(arg: CommandArgument, word: Word): void {
  const shown = word.text.slice(0, 64);
  if (arg.kind === 'integer') {
    if (/^-?\d{1,15}$/.test(word.text) && Number(word.text) >= arg.low && Number(word.text) <= arg.high) return;
    throw new CommandError(
      'argument',
      `${arg.name} must be a number from ${arg.low} to ${arg.high}, not "${shown}"`,
      word.column,
    );
  }
  const values = arg.kind === 'boolean' ? ['true', 'false'] : arg.kind === 'enum' ? arg.values : undefined;
  if (values === undefined || values.includes(word.text.toLowerCase())) return;
  const near = didYouMean(nearest(word.text, values));
  throw new CommandError('argument', `${arg.name} must be ${values.join(' or ')}, not "${shown}"${near}`, word.column);
}
