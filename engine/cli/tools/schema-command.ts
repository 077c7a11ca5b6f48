/** `zest schema list|show|methods|events|check`: what the YANG modules of this release define, and whether others compile. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../../sdk/rpc/errors.ts';
import { CALLBACK_METHODS, ENGINE_METHODS, RECORD_METHODS } from '../../../yang/generated/methods.ts';
import { CONFIG_MODULES } from '../../../yang/generated/modules.ts';
import { checkModules, type ModuleFile, type ModuleReport } from '../../config/schema/module-files.ts';
import { ask } from '../client.ts';
import { textOfFile } from '../config/config-files.ts';
import { visible } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { subcommandOptions, UsageError, type GlobalOptions } from '../options.ts';
import { Refused } from '../refused.ts';
import { runCommand, targetOf, useColour } from '../run-command.ts';
import { isMap, renderTable, textOf } from '../answers/table.ts';

/** The modules of this release are shown without waiting long for more. */
const DAEMON_MS = 700;

export const SCHEMA_HELP = `zest schema list|show MODULE|methods|events|check

  list           the configuration modules, with those of the running daemon's plugins
  show MODULE    the text of one
  methods        the methods of the plugin protocol
  events         the event types of the running daemon
  check FILE|DIR… [--path DIR]…
                 compile YANG modules (RFC 7950), each with what it imports: looked for among the files themselves, in the folders
                 of --path and in this release. One line a module; exit code 1 when one does not compile, 2 when one cannot be read.
                 --json: [{"module", "path", "revision", "nodes", "left-out": [STATEMENT], "problem"}]
`;

export async function schemaCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const [verb, name] = args;
  switch (verb) {
    case '--help':
      io.stdout.write(SCHEMA_HELP);
      return EXIT.done;
    case 'list':
      print(io, options, [
        ...Object.entries(CONFIG_MODULES).map(([module, text]) => ({
          module,
          namespace: /namespace "([^"]*)"/.exec(text)?.[1] ?? '',
          description: /description "([^"]*)"/.exec(text)?.[1] ?? '',
        })),
        ...(await pluginModules(io, options)),
      ]);
      return EXIT.done;
    case 'show': {
      const shipped = name !== undefined && Object.hasOwn(CONFIG_MODULES, name) ? CONFIG_MODULES[name] : undefined;
      const text = shipped ?? (name === undefined ? undefined : await pluginModule(name, io, options));
      if (text === undefined) throw new UsageError(`no module is called "${name ?? ''}"; see zest schema list`);
      io.stdout.write(options.json ? `${JSON.stringify({ module: name, text })}\n` : text);
      return EXIT.done;
    }
    case 'methods':
      print(io, options, [
        ...ENGINE_METHODS.map((method) => row(method, 'plugin to engine')),
        ...CALLBACK_METHODS.map((method) => row(method, 'engine to plugin')),
      ]);
      return EXIT.done;
    case 'events':
      return runCommand(targetOf(io, options), 'event list');
    case 'check':
      return check(args.slice(1), io, options);
    default:
      throw new UsageError(`zest schema list, show MODULE, methods, events or check FILE…, not "${verb ?? ''}"`);
  }
}

async function check(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const { values, positionals } = subcommandOptions(args, { path: { type: 'string', multiple: true } });
  if (positionals.length === 0) throw new UsageError('zest schema check FILE or FOLDER of YANG modules');
  const shipped = Object.entries(CONFIG_MODULES).map(([module, text]) => ({ path: module, text }));
  const reports = checkModules(await modulesOf(positionals, io), [...shipped, ...(await modulesOf(values.path ?? [], io))]);
  if (options.json) {
    io.stdout.write(
      `${JSON.stringify(
        reports.map(({ leftOut, ...report }) => ({ ...report, 'left-out': leftOut })),
        null,
        2,
      )}\n`,
    );
  } else for (const report of reports) io.stdout.write(`${visible(reportLine(report))}\n`);
  return reports.some(({ problem }) => problem !== '') ? EXIT.failed : EXIT.done;
}

function reportLine({ module, path, revision, nodes, leftOut, problem }: ModuleReport): string {
  if (problem !== '') return `${path}: error: ${problem}`;
  const left = leftOut.length === 0 ? '' : `; read and left out: ${leftOut.join(', ')}`;
  return `${path}: ${module}${revision === '' ? '' : ` ${revision}`} compiles, ${nodes} nodes with its imports${left}`;
}

/** The files themselves, and of folders every `.yang` file below. */
async function modulesOf(paths: readonly string[], io: CliIo): Promise<readonly ModuleFile[]> {
  const files = paths.flatMap((path) => {
    if (!(statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false)) return [path];
    const below = namesBelow(path).filter((name) => name.endsWith('.yang'));
    if (below.length === 0) throw new Refused(EXIT.nothing, `no .yang file below ${path}`);
    return below.sort().map((name) => join(path, name));
  });
  const out: ModuleFile[] = [];
  for (const path of files) out.push({ path, text: await textOfFile(path, io) });
  return out;
}

function namesBelow(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' });
  } catch (error) {
    throw new Refused(EXIT.nothing, `cannot read ${folder}: ${messageOf(error)}`);
  }
}

/** What plugins of a running daemon have added; nothing where none answers at once. */
async function pluginModules(io: CliIo, options: GlobalOptions): Promise<readonly unknown[]> {
  const data = await askDaemon('show schema list', [], io, options);
  const modules = isMap(data) && Array.isArray(data['modules']) ? (data['modules'] as readonly unknown[]) : [];
  return modules
    .filter(isMap)
    .filter(({ module }) => !Object.hasOwn(CONFIG_MODULES, textOf(module)))
    .map(({ module, namespace, description }) => ({ module, namespace, description }));
}

async function pluginModule(name: string, io: CliIo, options: GlobalOptions): Promise<string | undefined> {
  const data = await askDaemon('show schema module', [name], io, options);
  return isMap(data) && typeof data['text'] === 'string' ? data['text'] : undefined;
}

async function askDaemon(command: string, args: readonly string[], io: CliIo, options: GlobalOptions): Promise<unknown> {
  try {
    return await ask(targetOf(io, options).path, io.uid, command, args, AbortSignal.timeout(DAEMON_MS));
  } catch {
    return undefined;
  }
}

function row(method: string, direction: string): Readonly<Record<string, string>> {
  return { method, direction, answer: (RECORD_METHODS as readonly string[]).includes(method) ? 'records' : 'one value' };
}

function print(io: CliIo, options: GlobalOptions, rows: readonly unknown[]): void {
  if (options.json) io.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
  else io.stdout.write(renderTable(rows, { box: options.format === 'table', width: 0, colour: useColour(io, options) }));
}
