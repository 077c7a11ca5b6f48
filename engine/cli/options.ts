/** The options every command of `zest` takes, wherever they stand, and what is left when they are taken off. */
import { parseArgs } from 'node:util';
import { nearest } from '../core/nearest.ts';
import { FORMATS, type Format } from './line.ts';

export interface GlobalOptions {
  readonly json: boolean;
  readonly format: Format | undefined;
  readonly socket: string | undefined;
  /** Seconds without progress after which a call ends; 0 = never; `undefined` = the default. */
  readonly timeout: number | undefined;
  readonly colour: boolean | undefined;
  readonly help: boolean;
  /** Tables with every column. */
  readonly wide: boolean;
}

export interface CommandLine {
  readonly options: GlobalOptions;
  /** Words and the options of the subcommand, in order. */
  readonly rest: readonly string[];
}

/** A mistake in the arguments: printed as one line, exit code 1. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Ctrl-C while we waited for input: exit code 130, nothing printed. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

const VALUED = ['format', 'socket', 'timeout'] as const;
const FLAGS = ['json', 'color', 'no-color', 'help', 'wide'] as const;

/** Throws UsageError. Everything after `--` is left alone. */
export function readOptions(args: readonly string[]): CommandLine {
  const rest: string[] = [];
  const values = new Map<string, string>();
  const flags = new Set<string>();
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg === '--') {
      rest.push(...args.slice(i));
      break;
    }
    const [name, inline] = arg.startsWith('--') ? cutAtEquals(arg.slice(2)) : [''];
    if (arg === '-h') flags.add('help');
    else if (isOne(VALUED, name)) {
      const value = inline ?? args[++i];
      if (value === undefined) throw new UsageError(`--${name} needs a value`);
      values.set(name, value);
    } else if (isOne(FLAGS, name) && inline === undefined) flags.add(name);
    else rest.push(arg);
  }
  return { options: globalOptions(values, flags), rest };
}

function globalOptions(values: ReadonlyMap<string, string>, flags: ReadonlySet<string>): GlobalOptions {
  const format = values.get('format');
  if (format !== undefined && !isOne(FORMATS, format))
    throw new UsageError(`--format must be ${FORMATS.join(', ')}, not "${format}"`);
  const seconds = values.get('timeout');
  if (seconds !== undefined && !/^\d{1,6}(\.\d+)?$/.test(seconds))
    throw new UsageError(`--timeout must be seconds, not "${seconds}"`);
  return {
    json: flags.has('json'),
    format: format,
    socket: values.get('socket'),
    timeout: seconds === undefined ? undefined : Number(seconds),
    colour: flags.has('no-color') ? false : flags.has('color') ? true : undefined,
    help: flags.has('help'),
    wide: flags.has('wide'),
  };
}

function cutAtEquals(text: string): [string, string?] {
  const at = text.indexOf('=');
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function isOne<T extends string>(list: readonly T[], name: string): name is T {
  return (list as readonly string[]).includes(name);
}

type OptionKinds = Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly short?: string; readonly multiple?: boolean }>
>;

/** Options of one subcommand, by node:util; a mistake becomes a UsageError with a guess. */
export function subcommandOptions<T extends OptionKinds>(
  args: readonly string[],
  kinds: T,
): ReturnType<typeof parseArgs<{ args: string[]; options: T; allowPositionals: true; strict: true }>> {
  try {
    return parseArgs({ args: [...args], options: kinds, allowPositionals: true, strict: true });
  } catch (error) {
    const message = error instanceof Error ? (error.message.split('. ')[0] ?? error.message) : String(error);
    const unknown = /Unknown option '(--?[^']+)'/.exec(message)?.[1];
    if (unknown === undefined) throw new UsageError(message);
    const known = [...Object.keys(kinds), ...VALUED, ...FLAGS].map((name) => `--${name}`);
    const near = nearest(unknown, known);
    throw new UsageError(`unknown option ${unknown}${near === undefined ? '' : ` (did you mean ${near}?)`}`);
  }
}
