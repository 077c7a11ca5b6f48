/** `zest monitor bgp`: the summary again and again, in place on a terminal, one document a line otherwise. */
import { messageOf } from '../../../sdk/rpc/errors.ts';
import { deadlineSignal } from '../../core/linked-signal.ts';
import { ask } from '../client.ts';
import { visible, visibleJsonLine } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { subcommandOptions, UsageError, type GlobalOptions } from '../options.ts';
import { Output } from '../answers/output.ts';
import { targetOf, useColour } from '../run-command.ts';
import { renderTable } from '../answers/table.ts';
import { renderYaml } from '../answers/yaml.ts';

const DEFAULT_INTERVAL_SECONDS = 2;
const HOME_AND_CLEAR = '\u001b[H\u001b[J';

export const MONITOR_BGP_HELP = `zest monitor bgp [--interval SECONDS] — the peers' table, refreshed (every ${DEFAULT_INTERVAL_SECONDS} s); Ctrl-C ends it
`;

export async function liveSummary(
  args: readonly string[],
  io: CliIo,
  options: GlobalOptions,
  signal: AbortSignal = io.interrupted,
): Promise<number> {
  const { values } = subcommandOptions(args, { interval: { type: 'string' } } as const);
  const seconds = Number(values.interval ?? DEFAULT_INTERVAL_SECONDS);
  if (!(seconds >= 0.1 && seconds <= 3600))
    throw new UsageError(`--interval must be 0.1 to 3600 seconds, not "${values.interval ?? ''}"`);
  const output = new Output(io.stdout);
  const end = new AbortController();
  output.whenGone(() => end.abort());
  const over = AbortSignal.any([signal, end.signal]);
  const target = targetOf(io, options);
  try {
    for (;;) {
      try {
        using until = deadlineSignal(10_000, over);
        const data = await ask(target.path, io.uid, 'summary', [], until.signal);
        await output.write(frame(data, io, options));
        await output.flush();
      } catch (error) {
        if (over.aborted) return EXIT.done;
        io.stderr.write(`error: ${visible(messageOf(error))}\n`);
        return EXIT.failed;
      }
      if (await aborted(seconds * 1000, over)) return EXIT.done;
    }
  } finally {
    output.release();
  }
}

function frame(data: unknown, io: CliIo, options: GlobalOptions): string {
  const format = options.format ?? (options.json ? 'json' : 'table');
  if (format === 'json' || format === 'json-compact') return `${visibleJsonLine(JSON.stringify(data))}\n`;
  if (format === 'yaml') return `---\n${renderYaml(data)}`;
  const terminal = io.stdout.isTTY === true;
  const width = terminal ? (io.stdout.columns ?? 0) : 0;
  const table = renderTable(data, { box: format === 'table', width, colour: useColour(io, options) });
  const text = `${new Date().toISOString().slice(0, 19).replace('T', ' ')} UTC\n${table}`;
  if (!terminal) return `${text}\n`;
  // What does not fit on the screen would scroll its head away.
  const room = (io.stdout.rows ?? 24) - 1;
  const lines = text.split('\n');
  return (
    HOME_AND_CLEAR + (lines.length > room ? `${lines.slice(0, room - 1).join('\n')}\n… ${lines.length - room} more lines` : text)
  );
}

/** Waits; resolves with whether the signal came. */
function aborted(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve(signal.aborted);
    };
    const timer = setTimeout(done, ms);
    if (signal.aborted) done();
    else signal.addEventListener('abort', done, { once: true });
  });
}
