/** The tools that play with the daemon rather than ask it: the lab speaker, the quick start, the demo. */
import { EXIT, type CliIo } from './io.ts';
import { subcommandOptions } from './options.ts';

export async function labCommand(args: readonly string[], io: CliIo): Promise<number> {
  const { runLab } = await import('../offline/lab/command.ts');
  return runLab(args, {
    write: (text) => void io.stdout.write(text),
    writeError: (text) => void io.stderr.write(text),
    signal: io.interrupted,
  });
}

export async function quickstartCommand(args: readonly string[], io: CliIo): Promise<number> {
  const { QUICKSTART_HELP, runQuickstart } = await import('../offline/quickstart.ts');
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
  const { DEMO_HELP, runDemo } = await import('../offline/demo.ts');
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
