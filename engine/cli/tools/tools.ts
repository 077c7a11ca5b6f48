/** The tools that play with the daemon rather than ask it, or need none: the lab speaker, MRT files, the quick start, the demo. */
import { EXIT, type CliIo } from '../io.ts';
import { type GlobalOptions, subcommandOptions } from '../options.ts';

export async function labCommand(args: readonly string[], io: CliIo): Promise<number> {
  const { runLab } = await import('../../offline/lab/command.ts');
  return runLab(args, {
    write: (text) => void io.stdout.write(text),
    writeError: (text) => void io.stderr.write(text),
    signal: io.interrupted,
  });
}

const MRT_HELP = `zest mrt FILE… — what MRT files hold, in numbers: records by type, announcements, withdrawals, peers

Plain, gzip or bzip2; tables and messages. A file that ends early is counted as far as it goes. Exit code 2 when a file
cannot be read, 1 when it holds something else.
`;

export async function mrtFiles(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const { positionals } = subcommandOptions(
    args.filter((arg) => arg !== '--help'),
    {},
  );
  if (positionals.length === 0) {
    io.stdout.write(MRT_HELP);
    return args.includes('--help') ? EXIT.done : EXIT.failed;
  }
  const { mrtCommand } = await import('../../offline/mrt/count.ts');
  const { stdout, stderr, code } = await mrtCommand(positionals, options.json, io.interrupted);
  io.stdout.write(stdout);
  io.stderr.write(stderr);
  return code;
}

export async function quickstartCommand(args: readonly string[], io: CliIo): Promise<number> {
  const { QUICKSTART_HELP, runQuickstart } = await import('../../offline/quickstart.ts');
  if (args.includes('--help')) {
    io.stdout.write(QUICKSTART_HELP);
    return EXIT.done;
  }
  subcommandOptions(args, {});
  return runQuickstart({
    self: io.self,
    environment: io.environment,
    write: (text) => void io.stdout.write(text),
    signal: io.interrupted,
  });
}

export async function demoCommand(args: readonly string[], io: CliIo): Promise<number> {
  const { DEMO_HELP, runDemo } = await import('../../offline/demo.ts');
  if (args.includes('--help')) {
    io.stdout.write(DEMO_HELP);
    return EXIT.done;
  }
  const { values } = subcommandOptions(args, { trace: { type: 'boolean' } } as const);
  return runDemo({
    self: io.self,
    environment: io.environment,
    write: (text) => void io.stdout.write(text),
    trace: values.trace === true,
  });
}
