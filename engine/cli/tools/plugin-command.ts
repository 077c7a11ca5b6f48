/** `zest plugin init …` and `zest plugin check …`: what `zest` does for an author of plugins. Every other `plugin` command is the daemon's. */
import { LANGUAGES, type Language, type Place } from '../../offline/plugin-init/files.ts';
import type { CheckReport } from '../../offline/plugin-check/check.ts';
import type { RuleResult } from '../../offline/plugin-check/verdicts.ts';
import { initPlugin } from '../../offline/plugin-init/init.ts';
import { visible, visibleLines } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { UsageError, type GlobalOptions } from '../options.ts';

export const PLUGIN_HELP = `zest plugin init DIR [--language ts|js|python] [--external|--in-process]

  Makes a folder with a plugin that works: source, test, package.json, configuration, README.
  DIR names the plugin; it must be empty or not there yet.

  --language L    ts (default), js, or python (external, the standard library alone; its test is JavaScript and needs npm)
  --external      a process of its own, over TLS (default)
  --in-process    loaded into the daemon

zest plugin check [--name NAME] [--section ROOT=JSON]… [--all] 'CMD'

  Starts CMD (any language; for the shell) as the daemon would, takes it through the protocol, and prints each rule
  that it keeps or breaks: query mode, the five stages, events, every command and codec and filter it declares,
  goodbye, and an engine that dies. Its commands ARE run, without arguments and with wrong ones. Needs no daemon.

  --name NAME           the name a configuration would give it (check)
  --section ROOT=JSON   what \`configure\` brings for a root: --section 'acme={"acme":{"speed":10}}'
  --all                 with the rules that were not asked

  Exit code 0: every rule that was asked is kept; 1: one is broken.

The daemon's own: zest plugin list
`;

/** Words after `plugin` that are not the daemon's. */
const OWN: Readonly<Record<string, (args: readonly string[], io: CliIo, options: GlobalOptions) => number | Promise<number>>> = {
  init,
  check,
};

/** Is this `plugin` command ours? `words` stand after `plugin`. */
export function isOwnPluginCommand(words: readonly string[]): boolean {
  const [verb] = words;
  return verb === undefined || Object.hasOwn(OWN, verb);
}

export function pluginCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const words = args.filter((arg) => arg !== '--help');
  const [verb, ...rest] = words;
  const run = verb === undefined ? undefined : OWN[verb];
  if (words.length < args.length || run === undefined) {
    io.stdout.write(PLUGIN_HELP);
    return Promise.resolve(EXIT.done);
  }
  return Promise.resolve(run(rest, io, options));
}

function init(args: readonly string[], io: CliIo, options: GlobalOptions): number {
  const { folder, language, place } = readInit(args);
  const made = initPlugin({ folder, language, place, version: io.version });
  if (!made.ok) throw new UsageError(made.fault);
  if (options.json) {
    io.stdout.write(`${JSON.stringify({ plugin: made.name, folder: made.folder, files: made.files }, null, 2)}\n`);
    return EXIT.done;
  }
  io.stdout.write(
    [
      `${visible(made.name)}: ${made.files.length} files in ${visible(made.folder)}\n`,
      ...made.files.map((file) => `  ${file}\n`),
      '\nNext:\n\n',
      `  cd ${visible(folder)}\n`,
      '  npm install PATH-TO-A-CHECKOUT-OF-ZEST        (plain npm install once zest-bgp is in your registry)\n',
      language === 'python'
        ? '  npm test           its test, in JavaScript, against an engine in memory; the plugin itself needs no npm\n'
        : '  npm test           the plugin against an engine in memory\n',
      language === 'ts' ? '  npm run build\n' : '',
      '  npx zest zest.conf\n',
      `  npx zest ${visible(made.name)} peers\n`,
    ].join(''),
  );
  return EXIT.done;
}

function readInit(args: readonly string[]): { readonly folder: string; readonly language: Language; readonly place: Place } {
  let folder: string | undefined;
  let language: Language = 'ts';
  let place: Place = 'external';
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    const [option = '', inline] = arg.startsWith('--') ? arg.split('=', 2) : [arg];
    if (option === '--language') {
      const value = inline ?? args[++i] ?? '';
      const known = LANGUAGES.find((one) => one === value);
      if (known === undefined) throw new UsageError(`--language is one of ${LANGUAGES.join(', ')}, not "${value}"`);
      language = known;
    } else if (option === '--external' || option === '--in-process') place = option === '--external' ? 'external' : 'in-process';
    else if (arg.startsWith('-')) throw new UsageError(`unknown option ${arg}; see zest plugin init --help`);
    else if (folder === undefined) folder = arg;
    else throw new UsageError(`one folder, not "${folder}" and "${arg}"`);
  }
  if (folder === undefined) throw new UsageError('zest plugin init needs a folder; see zest plugin init --help');
  return { folder, language, place };
}

async function check(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const wanted = readCheck(args);
  const line = (result: RuleResult): void => {
    if (!options.json && (result.outcome !== 'not-asked' || wanted.all)) io.stdout.write(ruleLine(result));
  };
  const { checkPlugin } = await import('../../offline/plugin-check/check.ts');
  const report = await checkPlugin({ ...wanted, environment: io.environment, signal: io.interrupted, heard: line });
  if (io.interrupted.aborted) return EXIT.interrupted;
  if (options.json) {
    const { results: rules, kept, broken, notAsked } = report;
    io.stdout.write(`${JSON.stringify({ command: wanted.command, kept, broken, 'not-asked': notAsked, rules }, null, 2)}\n`);
  } else io.stdout.write(summary(report, wanted.all));
  return report.broken === 0 ? EXIT.done : EXIT.failed;
}

const MARKS = { kept: 'kept', broken: 'BROKEN', 'not-asked': 'not asked' } as const;

function ruleLine({ rule, says, outcome, detail }: RuleResult): string {
  const why = detail === '' ? '' : `\n           ${visible(detail)}`;
  return `${MARKS[outcome].padEnd(10)} ${visible(rule)}: ${visible(says)}${why}\n`;
}

function summary({ kept, broken, notAsked, stderr }: CheckReport, all: boolean): string {
  const said = broken > 0 && stderr.trim() !== '' ? `\nit wrote to stderr:\n${visibleLines(stderr.trim())}\n` : '';
  return `\n${kept} kept, ${broken} broken, ${notAsked} not asked${notAsked > 0 && !all ? ' (--all lists them)' : ''}\n${said}`;
}

function readCheck(args: readonly string[]): {
  readonly command: string;
  readonly name: string;
  readonly sections: readonly { readonly root: string; readonly data: string }[];
  readonly all: boolean;
} {
  const command: string[] = [];
  const sections: { root: string; data: string }[] = [];
  let name = 'check';
  let all = false;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    // Behind the command's first word, or two hyphens, everything is the command's.
    if (arg === '--' && command.length === 0) {
      command.push(...args.slice(i + 1));
      break;
    }
    if (command.length > 0 || !arg.startsWith('-')) command.push(arg);
    else if (arg === '--all') all = true;
    else if (arg === '--name' || arg === '--section') {
      const value = args[++i];
      if (value === undefined) throw new UsageError(`${arg} needs a value; see zest plugin check --help`);
      if (arg === '--name') name = value;
      else sections.push(section(value));
    } else throw new UsageError(`unknown option ${arg}; see zest plugin check --help`);
  }
  if (command.length === 0)
    throw new UsageError('zest plugin check needs the command that starts the plugin; see zest plugin check --help');
  if (!/^[a-zA-Z0-9][a-zA-Z0-9-]{0,63}$/.test(name))
    throw new UsageError(`--name "${name}": letters, digits and hyphens, at most 64`);
  return { command: command.join(' '), name, sections, all };
}

function section(text: string): { root: string; data: string } {
  const at = text.indexOf('=');
  const [root, data] = [text.slice(0, at), text.slice(at + 1)];
  try {
    if (at > 0 && typeof JSON.parse(data) === 'object') return { root, data };
  } catch {
    // Told below.
  }
  throw new UsageError(`--section "${text}" is not ROOT=JSON-object`);
}
