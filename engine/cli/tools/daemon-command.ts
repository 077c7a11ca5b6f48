/** `zest FILE` and `zest -`: the daemon in the foreground. */
import { constants, accessSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { visible } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { Interrupted, subcommandOptions, UsageError, type GlobalOptions } from '../options.ts';

/** A config by standard input is read to its end, this long at most. */
const MAXIMUM_CONFIG = 64 << 20;

const OPTIONS = {
  debug: { type: 'boolean', short: 'd' },
  quiet: { type: 'boolean', short: 'q' },
  set: { type: 'string', multiple: true },
} as const;

export const DAEMON_HELP = `zest FILE — run the daemon in the foreground with this configuration; zest - reads it from standard input

  -d, --debug           log at level debug
  -q, --quiet           no line when the daemon is ready
  --set NAME=VALUE      a setting, such as --set log.bgp=debug or --set control.socket=/run/zest.sock (zest env list)
  --socket PATH         control socket, the same as --set control.socket=PATH

SIGHUP reloads the file, SIGTERM and SIGINT stop with Cease.
`;

export async function daemonCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const { values, positionals } = subcommandOptions(args, OPTIONS);
  const [file, ...more] = positionals;
  if (options.help || file === undefined) {
    io.stdout.write(DAEMON_HELP);
    return EXIT.done;
  }
  if (more.length > 0) throw new UsageError(`one configuration at a time: ${more.join(' ')}`);
  const flags: Record<string, string> = {};
  if (values.debug === true) flags['log.level'] = 'debug';
  if (options.socket !== undefined) flags['control.socket'] = options.socket;
  for (const pair of values.set ?? []) {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`--set needs NAME=VALUE, not "${pair}"`);
    flags[pair.slice(0, at).replace(/^ze\./, '')] = pair.slice(at + 1);
  }
  const quiet = values.quiet === true;
  if (file === '-') return io.runDaemon({ text: await readAll(io), flags, quiet });
  const reason = unreadable(file);
  if (reason !== undefined) {
    io.stderr.write(`error: ${visible(reason)}\n`);
    return EXIT.nothing;
  }
  return io.runDaemon({ configPath: resolve(file), flags, quiet });
}

/** Why a file cannot be read; `undefined` when it can. */
function unreadable(file: string): string | undefined {
  try {
    if (!statSync(file).isFile()) return `${file} is not a file`;
    accessSync(file, constants.R_OK);
    return undefined;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === 'ENOENT' ? `${file}: no such file` : `${file} cannot be read (${code ?? String(error)})`;
  }
}

/** Standard input to its end. Throws UsageError, and Interrupted at Ctrl-C. */
export async function readAll(io: CliIo): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of addAbortSignal(io.interrupted, io.stdin)) {
      const bytes = Buffer.from(chunk as Uint8Array | string);
      size += bytes.length;
      if (size > MAXIMUM_CONFIG) throw new UsageError(`standard input holds more than ${MAXIMUM_CONFIG} bytes`);
      chunks.push(bytes);
    }
  } catch (error) {
    if (io.interrupted.aborted) throw new Interrupted('interrupted');
    if (error instanceof UsageError) throw error;
    throw new UsageError(`standard input cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  return Buffer.concat(chunks).toString('utf8');
}
