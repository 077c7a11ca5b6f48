/** `zest config …`: what is done to configuration files (daemon-cli §1). Exit codes: 0 done, 1 wrong, 2 nothing to operate on. */
import { systemClock } from '../../core/clock.ts';
import { nearest } from '../../core/nearest.ts';
import { type FileText, readSettled } from '../../core/settled-file.ts';
import type { LoadOptions } from '../../config/load.ts';
import type { DeclaredPlugin } from '../../config/schema/declared.ts';
import { unreadableReport, validateReport } from '../../config/validate-report.ts';
import { readAll } from '../tools/daemon-command.ts';
import { visibleJson, visibleLines } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { subcommandOptions, UsageError, type GlobalOptions } from '../options.ts';

export const CONFIG_HELP = `zest config COMMAND … — check, compare, convert and change configurations; no daemon is needed

  edit [FILE] [-c LINE]…              the editor: candidate, compare, commit, history (zest config edit --help)
  validate [-v] [-q] FILE|-           is it good? No file is touched
    --limit environment               of what is found, what concerns the environment block alone
  dump [--secrets] FILE|-             what it comes to: inheritance applied, inactive parts gone
  cat FILE                            as it is written
  diff FILE FILE · diff N FILE        what differs, statement by statement; --exit-code: 1 when something does
  fmt [--check] [-w] FILE|-           in the usual form, comments kept (also: format)
  migrate --format set|hierarchical [-w | -o OUT] FILE|-
                                      in the other format; nothing is lost on the way
  set FILE PATH VALUE · delete FILE PATH
  activate FILE PATH · deactivate FILE PATH
                                      one change, committed: --dry-run, --no-reload, -u USER, --comment TEXT
  history FILE · rollback N FILE      revisions that are kept beside the file, in FILE.zest/
  import SOURCE|- FILE                a text from elsewhere becomes FILE, once it is valid
  rename FILE NEW · ls [FOLDER]       a file with its revisions; the files that are there
  archive FILE [NAME]                 a copy where system archive says
  completion [--context PATH] --input TEXT FILE
                                      what the editor would offer; + stands for a blank

A FILE may be hierarchical or set lines. When a daemon runs FILE, edit, set, delete, activate, deactivate and rollback commit through it.

  -v, --verbose    validate: a summary of what it configures
  -q, --quiet      validate: print nothing, answer by exit code alone
  --no-plugins     start no plugin, not even to ask what it adds to the configuration
  --json           one JSON document, an error {"status": "error", "error": TEXT}:
                     cat              {ok, file, config}
                     fmt · migrate    {ok, file, format, changed, warnings, config | written}; --check: ok says whether it is in form
                     set, delete, …   {ok, changed, committed, diff, notes | errors}; so do activate, deactivate and rollback
                     import           {ok, file, source, saved-as, notes, warnings}
                     rename           {ok, from, to}
                     archive          {ok, file, copies: [{archive, path}]}
                     ls               {files: [{file, bytes, changed, revisions}]}
                     history          {file, revisions: [{number, time, author, comment}]}
                     diff             {equal, changes, diff}
                     dump             the tree itself

A plugin may bring configuration of its own. When the text holds a name that nobody knows, its plugins are asked what they declare:
each program is started with ZE_PLUGIN_MODE=declare for at most 5 s. Else nothing is run.

Of the running daemon:

  check [FILE|-]                      what a commit would do: sessions, routes, plugins; nothing is applied. The programs of new plugins
                                      are started for a trial (ZEST_PLUGIN_TRIAL=1), asked, and ended
  commit [FILE|-] [-m TEXT]           put it in force: the daemon's own file as it is now, or FILE
    --confirmed SECONDS               taken back by itself unless confirm comes (1 to 3600)
  confirm · abort                     keep the commit that waits, or take it back at once
  diff [N] · show [N] · history · rollback N [-m TEXT] · status

Exit codes: 0 done, 1 error or invalid, 2 the file is missing or there is nothing to operate on.
`;

const OPTIONS = {
  verbose: { type: 'boolean', short: 'v' },
  quiet: { type: 'boolean', short: 'q' },
  limit: { type: 'string' },
  'no-plugins': { type: 'boolean' },
} as const;

type Verb = (args: readonly string[], io: CliIo, options: GlobalOptions) => Promise<number> | number;

const files = async () => import('./config-files.ts');
const change = async () => import('./config-change.ts');

const VERBS: Readonly<Record<string, Verb>> = {
  validate: validateCommand,
  edit: async (...all) => (await import('./edit-command.ts')).editCommand(...all),
  dump: async (...all) => (await files()).dumpCommand(...all),
  cat: async (...all) => (await files()).catCommand(...all),
  diff: async (...all) => (await files()).diffCommand(...all),
  fmt: async (...all) => (await files()).formatCommand(...all, false),
  format: async (...all) => (await files()).formatCommand(...all, false),
  migrate: async (...all) => (await files()).formatCommand(...all, true),
  ls: async (...all) => (await files()).lsCommand(...all),
  rename: async (...all) => (await files()).renameCommand(...all),
  import: async (...all) => (await files()).importCommand(...all),
  archive: async (...all) => (await files()).archiveCommand(...all),
  set: async (...all) => (await change()).changeCommand('set', ...all),
  delete: async (...all) => (await change()).changeCommand('delete', ...all),
  activate: async (...all) => (await change()).changeCommand('activate', ...all),
  deactivate: async (...all) => (await change()).changeCommand('deactivate', ...all),
  history: async (...all) => (await change()).historyCommand(...all),
  rollback: async (...all) => (await change()).rollbackCommand(...all),
  completion: async (...all) => (await change()).editCompletionCommand(...all),
};

export const CONFIG_VERBS: readonly string[] = Object.keys(VERBS);

/** `--format` of these says how a configuration is written, not an answer. */
export function withConfigFormat(args: readonly string[]): readonly string[] {
  const at = args.indexOf('config');
  if (at < 0 || !['fmt', 'format', 'migrate'].includes(args[at + 1] ?? '')) return args;
  return args.map((arg, i) => (i > at && /^--format(?:=|$)/.test(arg) ? arg.replace('--format', '--to') : arg));
}

/** Words behind `config` that are the running daemon's: no file is named. */
const DAEMONS: readonly string[] = ['show', 'text', 'check', 'commit', 'confirm', 'abort', 'status'];
const EITHER: Readonly<Record<string, number>> = { history: 1, rollback: 2, diff: 2 };

/** False when the daemon is meant: its own words, or `history`, `rollback N`, `diff [N]` without a file. */
export function isOwnConfigCommand(words: readonly string[]): boolean {
  const [verb = '', ...rest] = words;
  if (DAEMONS.includes(verb)) return false;
  const least = Object.hasOwn(EITHER, verb) ? EITHER[verb]! : 0;
  const end = rest.findIndex((word) => word === '|');
  const line = end < 0 ? rest : rest.slice(0, end);
  const given = line.filter((word, at) => !word.startsWith('-') && !['-m', '--comment'].includes(line[at - 1] ?? ''));
  return given.length >= least || rest.includes('--help');
}

/** How the text is read: with what its plugins bring, unless they are not to be asked; `declared` is known already. `judged`: see LoadOptions. */
export async function loadOptions(
  text: string,
  path: string,
  io: CliIo,
  ask = true,
  declared: readonly DeclaredPlugin[] = [],
  judged = false,
): Promise<LoadOptions> {
  const plugins = await io.plugins();
  const now = systemClock.wall();
  const options = { path, env: io.environment, builtins: await io.autoloaded(), usable: plugins.usable, now, judged };
  return ask || declared.length > 0 ? await plugins.prepare(text, options, { declared, silent: !ask }) : options;
}

export async function configCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const [verb = '', ...rest] = args.filter((arg) => arg !== '--help');
  if (args.includes('--help')) {
    io.stdout.write(verb === 'edit' ? (await import('./edit-command.ts')).EDIT_HELP : CONFIG_HELP);
    return EXIT.done;
  }
  const command = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
  if (command === undefined) {
    const near = nearest(verb, [...CONFIG_VERBS, ...DAEMONS]);
    const known = near === undefined ? ' (zest config --help lists them)' : ` (did you mean "${near}"?)`;
    throw new UsageError(
      verb === '' ? 'zest config COMMAND … (zest config --help lists them)' : `unknown config command: ${verb}${known}`,
    );
  }
  return command(rest, io, options);
}

async function validateCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const { values, positionals } = subcommandOptions(args, OPTIONS);
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new UsageError('zest config validate takes one FILE, or - for standard input');
  const { limit } = values;
  if (limit !== undefined && limit !== 'environment')
    throw new UsageError(`zest config validate --limit environment, not ${limit}`);
  const read: FileText = file === '-' ? { ok: true, text: await readAll(io) } : await readSettled(file, systemClock);
  const asked = values['no-plugins'] !== true;
  const report = read.ok
    ? validateReport(read.text, file, {
        ...(await loadOptions(read.text, file, io, asked, [], true)),
        json: options.json,
        verbose: values.verbose === true,
        quiet: values.quiet === true,
        limit,
      })
    : unreadableReport(file, read.reason, values.quiet === true, options.json);
  io.stdout.write(options.json ? visibleJson(report.stdout) : visibleLines(report.stdout));
  io.stderr.write(visibleLines(report.stderr));
  return report.exitCode;
}
