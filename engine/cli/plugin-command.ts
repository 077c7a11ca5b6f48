/** `zest plugin init …`: what `zest` does for an author of plugins. Every other `plugin` command is the daemon's. */
import { LANGUAGES, type Language, type Place } from '../offline/plugin-init/files.ts';
import { initPlugin } from '../offline/plugin-init/init.ts';
import { visible } from './escape.ts';
import { EXIT, type CliIo } from './io.ts';
import { UsageError, type GlobalOptions } from './options.ts';

export const PLUGIN_HELP = `zest plugin init DIR [--language ts|js|python] [--external|--in-process]

  Makes a folder with a plugin that works: source, test, package.json, configuration, README.
  DIR names the plugin; it must be empty or not there yet.

  --language L    ts (default), js, or python (external, the standard library alone)
  --external      a process of its own, over TLS (default)
  --in-process    loaded into the daemon

The daemon's own: zest plugin list, zest plugin restart NAME, … (zest help plugin)
`;

/** Words after `plugin` that are not the daemon's. */
const OWN: Readonly<Record<string, (args: readonly string[], io: CliIo, options: GlobalOptions) => number>> = {
  init,
};

/** Is this `plugin` command ours? `words` stand after `plugin`. */
export function isOwnPluginCommand(words: readonly string[], help: boolean): boolean {
  const [verb] = words;
  return verb === undefined ? help : Object.hasOwn(OWN, verb);
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
      '  npm install        (outside a registry: npm install PATH-TO-A-CHECKOUT-OF-ZEST)\n',
      '  npm test           the plugin against an engine in memory\n',
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
