/** `zest schema list|methods|events`: what the YANG modules of this release define. */
import { CALLBACK_METHODS, ENGINE_METHODS, RECORD_METHODS } from '../../yang/generated/methods.ts';
import { CONFIG_MODULES } from '../../yang/generated/modules.ts';
import { ask } from './client.ts';
import { EXIT, type CliIo } from './io.ts';
import { UsageError, type GlobalOptions } from './options.ts';
import { runCommand, targetOf, useColour } from './run-command.ts';
import { isMap, renderTable, textOf } from './table.ts';

/** The modules of this release are shown without waiting long for more. */
const DAEMON_MS = 700;

export const SCHEMA_HELP = `zest schema list|show MODULE|methods|events

  list           the configuration modules, with those of the running daemon's plugins
  show MODULE    the text of one
  methods        the methods of the plugin protocol
  events         the event types of the running daemon
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
    default:
      throw new UsageError(`zest schema list, show MODULE, methods or events, not "${verb ?? ''}"`);
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
