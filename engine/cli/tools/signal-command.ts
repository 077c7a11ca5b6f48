/** `zest signal reload|stop|status` and `zest status`: the running daemon from a script, by exit code (daemon-cli §2). */
import { messageOf } from '../../../sdk/rpc/errors.ts';
import { deadlineSignal } from '../../core/linked-signal.ts';
import { nearest } from '../../core/nearest.ts';
import { ask, NoDaemon } from '../client.ts';
import { visible, visibleJsonLine } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import type { GlobalOptions } from '../options.ts';
import { targetOf, type Target, useColour } from '../run-command.ts';
import { isMap, renderTable, textOf } from '../answers/table.ts';

const COMMANDS: Readonly<Record<string, string>> = { reload: 'daemon reload', stop: 'daemon shutdown', status: 'daemon status' };

export const SIGNAL_HELP = `zest signal reload|stop|status — control the running daemon

  reload    read the configuration file again; nothing changes when it has a fault
  stop      stop with Cease to every peer
  status    the daemon's process, uptime and configuration

Exit codes: 0 sent, 1 not running or bad usage, 2 no permission for the control socket, 4 the command failed.
`;

export async function signalCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const [verb, ...more] = args;
  if (verb === undefined || verb === '--help') {
    (verb === undefined ? io.stderr : io.stdout).write(SIGNAL_HELP);
    return verb === undefined ? EXIT.failed : EXIT.done;
  }
  const command = Object.hasOwn(COMMANDS, verb) ? COMMANDS[verb] : undefined;
  if (command === undefined || more.length > 0) {
    const near = nearest(verb, Object.keys(COMMANDS));
    const hint =
      near === undefined || command !== undefined
        ? ` (one of ${Object.keys(COMMANDS).join(', ')})`
        : ` (did you mean "${near}"?)`;
    io.stderr.write(`error: unknown signal: ${visible(args.join(' '))}${hint}\n`);
    return EXIT.failed;
  }
  try {
    // A reload may wait for the budgets of every plugin.
    const data = await askDaemon(targetOf(io, options), command, verb === 'reload' ? 0 : 60);
    if (options.json) io.stdout.write(document(data));
    // What `daemon reload` prints.
    else if (verb === 'reload')
      io.stdout.write(renderTable(data, { box: true, width: io.stdout.columns ?? 0, colour: useColour(io, options) }));
    else io.stdout.write(`${describe(data)}\n`);
    return EXIT.done;
  } catch (error) {
    if (options.json) io.stdout.write(document({ status: 'error', error: messageOf(error) }));
    else io.stderr.write(`error: ${visible(messageOf(error))}\n`);
    if (error instanceof NoDaemon) return error.reason === 'denied' ? EXIT.denied : EXIT.failed;
    return EXIT.commandFailed;
  }
}

export async function statusCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  if (args[0] === '--help') {
    io.stdout.write('zest status — is a daemon running? Exit code 0 when it is, 1 when not\n');
    return EXIT.done;
  }
  const target = targetOf(io, options);
  try {
    const data = await askDaemon(target, 'daemon status', 2);
    const pid = isMap(data) && typeof data['pid'] === 'number' ? `, pid ${data['pid']}` : '';
    io.stdout.write(
      options.json
        ? document({ running: true, socket: target.path, ...(isMap(data) ? data : {}) })
        : `daemon is running (${target.path}${pid})\n`,
    );
    return EXIT.done;
  } catch (error) {
    if (options.json) io.stdout.write(document({ running: false, socket: target.path, error: messageOf(error) }));
    else io.stderr.write(`daemon is not running: ${visible(messageOf(error))}\n`);
    return EXIT.failed;
  }
}

function askDaemon(target: Target, command: string, seconds: number): Promise<unknown> {
  const limit = (target.options.timeout ?? seconds) * 1000;
  const until = deadlineSignal(limit, target.io.interrupted);
  return ask(target.path, target.io.uid, command, [], until.signal).finally(() => until.release());
}

function describe(data: unknown): string {
  if (!isMap(data)) return 'OK';
  const { status, ...rest } = data;
  const facts = Object.entries(rest)
    .filter(([, value]) => typeof value !== 'object')
    .map(([key, value]) => `${key} ${textOf(value)}`);
  return [textOf(status) || 'OK', ...facts].join(', ');
}

function document(value: unknown): string {
  return `${visibleJsonLine(JSON.stringify(value))}\n`;
}
