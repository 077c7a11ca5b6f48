/** `zest config validate FILE|-`: is this configuration good? By exit code: 0 valid, 1 invalid, 2 unreadable (daemon-config §12). */
import { systemClock } from '../core/clock.ts';
import { nearest } from '../core/nearest.ts';
import { type FileText, readSettled } from '../core/settled-file.ts';
import { unreadableReport, validateReport } from '../config/validate-report.ts';
import { readAll } from './daemon-command.ts';
import { visibleJson, visibleLines } from './escape.ts';
import { EXIT, type CliIo } from './io.ts';
import { subcommandOptions, UsageError, type GlobalOptions } from './options.ts';

export const CONFIG_HELP = `zest config validate [-v] [-q] [--json] FILE|- — check a configuration; nothing is run and no file is touched

  -v, --verbose    a summary of what it configures
  -q, --quiet      print nothing, answer by exit code alone
  --json           one JSON document: valid, path, errors, warnings, config

Exit codes: 0 valid, 1 invalid, 2 the file is missing or cannot be read.
`;

const OPTIONS = {
  verbose: { type: 'boolean', short: 'v' },
  quiet: { type: 'boolean', short: 'q' },
} as const;

const VERBS = ['validate'];

export async function configCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  if (args.includes('--help')) {
    io.stdout.write(CONFIG_HELP);
    return EXIT.done;
  }
  const { values, positionals } = subcommandOptions(args, OPTIONS);
  const [verb = '', file, ...more] = positionals;
  if (!VERBS.includes(verb)) {
    const near = nearest(verb, VERBS);
    throw new UsageError(
      verb === ''
        ? 'zest config validate FILE'
        : `unknown config command: ${verb}${near === undefined ? ' (known: validate)' : ` (did you mean "${near}"?)`}`,
    );
  }
  if (file === undefined || more.length > 0) throw new UsageError('zest config validate takes one FILE, or - for standard input');
  const read: FileText = file === '-' ? { ok: true, text: await readAll(io) } : await readSettled(file, systemClock);
  const report = read.ok
    ? validateReport(read.text, file, {
        env: io.environment,
        builtins: await io.autoloaded(),
        json: options.json,
        verbose: values.verbose === true,
        quiet: values.quiet === true,
      })
    : unreadableReport(file, read.reason);
  io.stdout.write(options.json ? visibleJson(report.stdout) : visibleLines(report.stdout));
  io.stderr.write(visibleLines(report.stderr));
  return report.exitCode;
}
