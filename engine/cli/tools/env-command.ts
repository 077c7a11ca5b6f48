/** `zest env list|get`: the settings that have a dotted name, and what they are here. */
import { setting } from '../../core/control-socket.ts';
import { nearest } from '../../core/nearest.ts';
import { SETTINGS, type SettingSpec } from '../../config/settings/settings.ts';
import { visible } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { subcommandOptions, UsageError, type GlobalOptions } from '../options.ts';
import { renderTable } from '../answers/table.ts';
import { useColour } from '../run-command.ts';

export const ENV_HELP = `zest env list|get NAME — settings of the daemon: environment, command line (--set), config, default, in this order

  zest env list [-v]    every setting with its default; -v with its place in the config
  zest env get NAME     the value this environment gives; exit code 1 when it gives none
  `;

export async function envCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const { values, positionals } = subcommandOptions(
    args.filter((arg) => arg !== '--help'),
    { verbose: { type: 'boolean', short: 'v' } } as const,
  );
  const [verb, name] = positionals;
  if (args.includes('--help')) io.stdout.write(`${ENV_HELP.trimEnd()}\n`);
  else if (verb === 'list' || verb === 'registered') list(io, options, values.verbose === true);
  else if (verb === 'get' && name !== undefined) return get(name, io, options);
  else
    throw new UsageError(
      verb === 'get' ? 'zest env get needs a name' : `zest env list or zest env get NAME, not "${verb ?? ''}"`,
    );
  return Promise.resolve(EXIT.done);
}

function list(io: CliIo, options: GlobalOptions, verbose: boolean): void {
  const rows = SETTINGS.map((spec) => ({
    name: `ze.${spec.name}`,
    value: valueOf(spec, io) ?? '',
    default: spec.default,
    description: spec.description,
    ...(verbose ? { kind: spec.kind, config: spec.path === '' ? '' : `environment/${spec.path}` } : {}),
  }));
  if (options.json) io.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
  else io.stdout.write(renderTable(rows, { box: options.format === 'table', width: 0, colour: useColour(io, options) }));
}

function get(name: string, io: CliIo, options: GlobalOptions): number {
  const plain = name.toLowerCase().replaceAll('_', '.').replace(/^ze\./, '');
  const spec = SETTINGS.find((one) => one.name.replaceAll('-', '.') === plain.replaceAll('-', '.'));
  // Any subsystem has a level of its own: ze.log.<subsystem>.
  if (spec === undefined && !plain.startsWith('log.')) {
    const near = nearest(
      `ze.${plain}`,
      SETTINGS.map((one) => `ze.${one.name}`),
    );
    throw new UsageError(`unknown setting: ${name}${near === undefined ? '' : ` (did you mean ${near}?)`}`);
  }
  const value = setting(io.environment, `ze.${spec?.name ?? plain}`);
  if (options.json)
    io.stdout.write(
      `${JSON.stringify({ name: `ze.${spec?.name ?? plain}`, value: value ?? null, default: spec?.default ?? '' })}\n`,
    );
  else if (value === undefined)
    io.stderr.write(`not set; the default is ${spec?.default === undefined || spec.default === '' ? '(none)' : spec.default}\n`);
  else io.stdout.write(`${visible(value)}\n`);
  return value === undefined ? EXIT.failed : EXIT.done;
}

function valueOf(spec: SettingSpec, io: CliIo): string | undefined {
  return setting(io.environment, `ze.${spec.name}`);
}
