/**
 * `zest show plugin declarations [config FILE]`: what plugins declare, asked without starting them. About a file without a daemon;
 * about the running configuration the daemon is asked.
 */
import { messageOf } from '../../../sdk/rpc/errors.ts';
import { DOC_HEAD } from '../../../sdk/rpc/answer.ts';
import { systemClock } from '../../core/clock.ts';
import { type FileText, readSettled, unreadableText } from '../../core/settled-file.ts';
import { ask, NoDaemon } from '../client.ts';
import { readAll } from './daemon-command.ts';
import { visible } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { UsageError, type GlobalOptions } from '../options.ts';
import { rendererOf } from '../answers/render.ts';
import { targetOf, useColour } from '../run-command.ts';
import { isMap, textOf } from '../answers/table.ts';

const ANSWERED: readonly unknown[] = ['declared', 'declared-none'];

/** Exit codes: 0 every plugin has answered, 1 some has not, 2 the file cannot be read or no daemon answers. */
export async function declarationsCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const [keyword, file, ...more] = args;
  if (keyword === undefined) return running(io, options);
  if (keyword !== 'config' || file === undefined || more.length > 0)
    throw new UsageError('zest show plugin declarations [config FILE]');
  const read: FileText = file === '-' ? { ok: true, text: await readAll(io) } : await readSettled(file, systemClock);
  if (!read.ok) return complain(io, options, unreadableText(file, read.reason));
  const plugins = await io.plugins();
  const load = { path: file, env: io.environment, builtins: await io.autoloaded(), usable: plugins.usable };
  return show(await plugins.declarations(read.text, load), io, options);
}

async function running(io: CliIo, options: GlobalOptions): Promise<number> {
  try {
    const data = await ask(targetOf(io, options).path, io.uid, 'show plugin declarations', [], io.interrupted);
    return show(isMap(data) && Array.isArray(data['declarations']) ? (data['declarations'] as unknown[]) : [], io, options);
  } catch (error) {
    const hint = error instanceof NoDaemon ? '; about a file: zest show plugin declarations config FILE' : '';
    return complain(io, options, `${messageOf(error)}${hint}`);
  }
}

function complain(io: CliIo, options: GlobalOptions, text: string): number {
  if (options.json) io.stdout.write(`${JSON.stringify({ status: 'error', error: visible(text) })}\n`);
  else io.stderr.write(`error: ${visible(text)}\n`);
  return EXIT.nothing;
}

/** Entries of a list that a cell shows. */
const SHOWN = 4;

/** Lists as text of a cell: names hold blanks, and a plugin may have many. */
function inCells(row: unknown): unknown {
  if (!isMap(row)) return row;
  const cell = (value: unknown): unknown => {
    if (!Array.isArray(value)) return value;
    const more = value.length - SHOWN;
    return `${value.slice(0, SHOWN).map(textOf).join(', ')}${more > 0 ? `, … ${more} more` : ''}`;
  };
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, cell(value)]));
}

function show(rows: readonly unknown[], io: CliIo, options: GlobalOptions): number {
  const format = options.format ?? (options.json ? 'json' : 'table');
  const width = io.stdout.isTTY === true ? (io.stdout.columns ?? 0) : 0;
  const renderer = rendererOf({ format, live: false, width, colour: useColour(io, options) });
  const text =
    renderer.head(DOC_HEAD) +
    renderer.record(JSON.stringify({ declarations: format === 'table' || format === 'text' ? rows.map(inCells) : rows }), false) +
    renderer.end({ outcome: 'done', produced: 1, rejected: 0, message: '' });
  io.stdout.write(text);
  return rows.every((row) => isMap(row) && ANSWERED.includes(textOf(row['outcome']))) ? EXIT.done : EXIT.failed;
}
