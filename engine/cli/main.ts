/**
 * `zest …`: which of its commands is meant. A few work by themselves (validate a config, decode a message, play the lab); the
 * rest are the daemon's, and go to it as they are typed.
 */
import { existsSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { quoteWord } from '../core/words.ts';
import { nearest } from '../core/nearest.ts';
import { visible, visibleJson, visibleLines } from './answers/escape.ts';
import { NoFile } from '../core/regular-file.ts';
import { EXIT, type CliIo } from './io.ts';
import { Interrupted, readOptions, UsageError, type GlobalOptions } from './options.ts';
import { Refused } from './refused.ts';
import { runCommand, targetOf } from './run-command.ts';

/** One of our own commands: gets the words and options after its name. Resolves with the exit code. */
export type Subcommand = (args: readonly string[], io: CliIo, options: GlobalOptions) => Promise<number>;

/** Loaded when they are asked for: `zest summary` pays for none of them. */
const SUBCOMMANDS: Readonly<Record<string, () => Promise<Subcommand>>> = {
  cli: async () => (await import('./shell/shell-command.ts')).shellCommand,
  config: async () => (await import('./config/config-command.ts')).configCommand,
  bgp: async () => (await import('./tools/bgp-command.ts')).bgpCommand,
  signal: async () => (await import('./tools/signal-command.ts')).signalCommand,
  status: async () => (await import('./tools/signal-command.ts')).statusCommand,
  doctor: async () => (await import('./tools/doctor-command.ts')).doctorCommand,
  completion: async () => (await import('./tools/completion-command.ts')).completionCommand,
  env: async () => (await import('./tools/env-command.ts')).envCommand,
  schema: async () => (await import('./tools/schema-command.ts')).schemaCommand,
  help: async () => (await import('./tools/help-command.ts')).helpCommand,
  plugin: async () => (await import('./tools/plugin-command.ts')).pluginCommand,
  lab: async () => (await import('./tools/tools.ts')).labCommand,
  mrt: async () => (await import('./tools/tools.ts')).mrtFiles,
  quickstart: async () => (await import('./tools/tools.ts')).quickstartCommand,
  demo: async () => (await import('./tools/tools.ts')).demoCommand,
};

export const SUBCOMMAND_NAMES: readonly string[] = Object.keys(SUBCOMMANDS);

/** Never rejects for the operator's sake. */
export async function main(args: readonly string[], io: CliIo): Promise<number> {
  // Output that nobody reads any more ends us quietly; `Output` and the commands see it as well. A full disk is another matter.
  let lost: NodeJS.ErrnoException | undefined;
  io.stdout.on('error', (error) => (lost ??= error));
  io.stderr.on('error', () => undefined);
  const code = await complaining(args, io);
  if (!io.interrupted.aborted) await written(io.stdout);
  if (lost === undefined || QUIET.has(lost.code)) return code;
  io.stderr.write(`error: the output could not be written: ${visible(lost.message)}\n`);
  return code === EXIT.done ? EXIT.failed : code;
}

const QUIET: ReadonlySet<string | undefined> = new Set(['EPIPE', 'ERR_STREAM_DESTROYED']);

/** Mistakes in the arguments, and what a command refuses, become an error or one document. */
async function complaining(args: readonly string[], io: CliIo): Promise<number> {
  try {
    return await dispatch(args, io);
  } catch (error) {
    if (error instanceof Interrupted) return EXIT.interrupted;
    const refused = error instanceof UsageError || error instanceof Refused ? error : fileTrouble(error);
    if (refused === undefined) throw error;
    const end = args.indexOf('--');
    if (args.slice(0, end < 0 ? undefined : end).includes('--json'))
      io.stdout.write(`${visibleJson(JSON.stringify({ status: 'error', error: refused.message }))}\n`);
    else io.stderr.write(`error: ${visibleLines(refused.message)}\n`);
    return refused instanceof Refused ? refused.code : EXIT.failed;
  }
}

/** A file that is something else, or that the system does not let us have: the world's trouble, not ours. */
function fileTrouble(error: unknown): Refused | undefined {
  if (error instanceof NoFile) return new Refused(EXIT.nothing, `cannot read ${error.message}`);
  const { code, syscall } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  return code === undefined || syscall === undefined ? undefined : new Refused(EXIT.nothing, (error as Error).message);
}

/** Until what was printed has left this process, or cannot. */
async function written(stream: Writable): Promise<void> {
  if (stream.destroyed || stream.writableEnded) return;
  await new Promise<void>((resolve) => {
    stream.write('', () => setImmediate(resolve));
  });
}

async function dispatch(args: readonly string[], io: CliIo): Promise<number> {
  // The lab has options of its own by the names of ours, so it gets its arguments untouched.
  if (args[0] === 'lab') return (await SUBCOMMANDS['lab']!())(args.slice(1), io, readOptions([]).options);
  const mapped = args.includes('config') ? (await import('./config/config-command.ts')).withConfigFormat(args) : args;
  const { options, rest } = readOptions(mapped);
  const [first, ...after] = rest;
  if (first === '--version' || first === '-V') {
    io.stdout.write(options.json ? `${JSON.stringify({ version: io.version })}\n` : `zest ${io.version}\n`);
    return EXIT.done;
  }
  if (first === undefined) return help([], io, options);
  // `bgp` alone leads to our own decode and encode; `bgp summary`, `bgp rib …` are the daemon's.
  // So it is with `plugin`: `plugin init` is ours, `plugin list` the daemon's.
  const own =
    first === 'plugin' && !(await import('./tools/plugin-command.ts')).isOwnPluginCommand(after)
      ? undefined
      : first === 'config' &&
          after.length > 0 &&
          !options.help &&
          !(await import('./config/config-command.ts')).isOwnConfigCommand(after)
        ? undefined
        : first === 'bgp' && !['decode', 'encode'].includes(after[0] ?? '') && !(after.length === 0 || options.help)
          ? undefined
          : SUBCOMMANDS[first];
  // The daemon's words as a shell gives them: a FILE is read here. With pipes they go to it as they are.
  if (first === 'config' && own === undefined && after[0] !== 'text' && !after.includes('|'))
    return (await import('./config/commit-command.ts')).commitCommand(after, io, options);
  if (own !== undefined && Object.hasOwn(SUBCOMMANDS, first))
    return (await own())(options.help ? ['--help', ...after] : after, io, options);
  if (first.startsWith('-') && first !== '-') return daemonOrMistake(rest, io, options);
  if (isConfig(first)) return (await import('./tools/daemon-command.ts')).daemonCommand(rest, io, options);
  if (options.help) return help(rest, io, options);
  // What a file's plugins declare is asked here; the daemon answers for the configuration it runs.
  if (first === 'show' && after[0] === 'plugin' && after[1] === 'declarations' && !rest.includes('|'))
    return (await import('./tools/declarations-command.ts')).declarationsCommand(after.slice(2), io, options);
  const live = first === 'monitor' && after[0] === 'bgp';
  if (live) return (await import('./shell/live.ts')).liveSummary(after.slice(1), io, options);
  const mistyped = rest.slice(0, rest.includes('--') ? rest.indexOf('--') : undefined).find((arg) => /^--[a-z]/.test(arg));
  const meant = mistyped === undefined ? undefined : nearest(cutAtEquals(mistyped), GLOBAL_OPTIONS);
  if (meant !== undefined) throw new UsageError(`unknown option ${mistyped ?? ''} (did you mean ${meant}?)`);
  return runCommand(targetOf(io, options), commandLine(rest), {
    hint: guess(first),
    unreachable: (message) => unknownHere(first, message),
  });
}

/** `zest -d FILE`: options of the daemon may stand before the file. */
async function daemonOrMistake(rest: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  if (rest.some((arg) => isConfig(arg))) return (await import('./tools/daemon-command.ts')).daemonCommand(rest, io, options);
  const near = nearest(cutAtEquals(rest[0] ?? ''), GLOBAL_OPTIONS);
  throw new UsageError(`unknown option ${rest[0] ?? ''}${near === undefined ? '' : ` (did you mean ${near}?)`}; see zest help`);
}

async function help(words: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  return (await import('./tools/help-command.ts')).helpCommand(words, io, options);
}

/** daemon-cli §1: `-`, a known ending, or an existing path that holds a `/`. */
export function isConfig(word: string): boolean {
  return (
    word === '-' || /\.(?:conf|cfg|ya?ml|json)$/.test(word) || (word.includes('/') && !word.startsWith('-') && existsSync(word))
  );
}

/** Words of the shell as a line. One word with blanks in it is a line already: `zest "summary | count"`. */
export function commandLine(words: readonly string[]): string {
  const [only = ''] = words;
  if (words.length === 1 && /\s/.test(only)) return only;
  const plain = words[0] === '--' ? words.slice(1) : words;
  return plain.map((word) => (word === '|' ? word : quoteWord(word))).join(' ');
}

const GLOBAL_OPTIONS = ['--json', '--wide', '--format', '--socket', '--timeout', '--color', '--no-color', '--help', '--version'];

function cutAtEquals(option: string): string {
  return option.split('=')[0] ?? option;
}

/**
 * Without a daemon nobody knows the words of its plugins. A long word near to one of ours is probably mistyped; any other may be a
 * plugin's, and what is missing is the daemon.
 */
async function unknownHere(word: string, message: string): Promise<string | undefined> {
  const { nodeAt } = await import('./tools/local-tree.ts');
  const firsts = (nodeAt([])?.children ?? []).map((child) => child.name);
  if (firsts.includes(word.toLowerCase())) return undefined;
  const near = word.length < SURE ? undefined : nearest(word, [...firsts, ...SUBCOMMAND_NAMES]);
  return near === undefined || near === word
    ? `${message}; "${word.slice(0, 64)}" is no command of zest itself, and plugins need a running daemon`
    : `unknown command: ${word} (did you mean "${near}"?)`;
}

/** Letters of a word from which on a near one is taken for what was meant. */
const SURE = 5;

function guess(word: string): string | undefined {
  const near = nearest(word, SUBCOMMAND_NAMES);
  return near === undefined ? undefined : ` (did you mean "zest ${near}"?)`;
}
