/** `zest config validate FILE|-`: is this configuration good? By exit code: 0 valid, 1 invalid, 2 unreadable (daemon-config §12). */
import { systemClock } from '../core/clock.ts';
import { nearest } from '../core/nearest.ts';
import { type FileText, readSettled } from '../core/settled-file.ts';
import type { LoadOptions } from '../config/load.ts';
import { unreadableReport, validateReport } from '../config/validate-report.ts';
import { readAll } from './daemon-command.ts';
import { visibleJson, visibleLines } from './escape.ts';
import { EXIT, type CliIo } from './io.ts';
import { subcommandOptions, UsageError, type GlobalOptions } from './options.ts';

export const CONFIG_HELP = `zest config validate [-v] [-q] [--json] FILE|- — check a configuration; no file is touched

  -v, --verbose    a summary of what it configures
  -q, --quiet      print nothing, answer by exit code alone
  --no-plugins     start no plugin, not even to ask what it adds to the configuration

A plugin may bring configuration of its own. When the text holds a name that nobody knows, its plugins are asked what they declare:
each program is started with ZE_PLUGIN_MODE=declare for at most 5 s. Else nothing is run.
  --json           one JSON document: valid, path, errors, warnings, config

Exit codes: 0 valid, 1 invalid, 2 the file is missing or cannot be read.
`;

const OPTIONS = {
  verbose: { type: 'boolean', short: 'v' },
  quiet: { type: 'boolean', short: 'q' },
  'no-plugins': { type: 'boolean' },
} as const;

const VERBS = ['validate'];

/** How the text is read: with what its plugins bring, unless they are not to be asked. */
export async function loadOptions(text: string, path: string, io: CliIo, ask = true): Promise<LoadOptions> {
  const plugins = await io.plugins();
  const options = { path, env: io.environment, builtins: await io.autoloaded(), usable: plugins.usable };
  return ask ? await plugins.prepare(text, options) : options;
}

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
  const asked = values['no-plugins'] !== true;
  const report = read.ok
    ? validateReport(read.text, file, {
        ...(await loadOptions(read.text, file, io, asked)),
        json: options.json,
        verbose: values.verbose === true,
        quiet: values.quiet === true,
      })
    : unreadableReport(file, read.reason);
  io.stdout.write(options.json ? visibleJson(report.stdout) : visibleLines(report.stdout));
  io.stderr.write(visibleLines(report.stderr));
  return report.exitCode;
}
