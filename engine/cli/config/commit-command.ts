/** `zest config check|commit|diff|history|show|status|rollback|confirm|abort`: the running daemon's configuration from a shell. */
import { messageOf } from '../../../sdk/rpc/errors.ts';
import { systemClock } from '../../core/clock.ts';
import { type FileText, readSettled } from '../../core/settled-file.ts';
import { ask } from '../client.ts';
import { readAll } from '../tools/daemon-command.ts';
import { deeds } from './daemon-target.ts';
import { authorOf } from './edit-target.ts';
import { visible, visibleJson, visibleLines } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { subcommandOptions, UsageError, type GlobalOptions } from '../options.ts';
import { targetOf, useColour } from '../run-command.ts';
import { isMap, renderTable, textOf } from '../answers/table.ts';

const OPTIONS = { comment: { type: 'string', short: 'm' }, confirmed: { type: 'string' } } as const;

interface Wish {
  readonly io: CliIo;
  readonly options: GlobalOptions;
  readonly verb: string;
  readonly words: readonly string[];
  readonly comment: string | undefined;
  readonly confirmed: string | undefined;
}

export async function commitCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const { values, positionals } = subcommandOptions(args, OPTIONS);
  const [verb = '', ...words] = positionals;
  const wish: Wish = { io, options, verb, words, comment: values.comment, confirmed: values.confirmed };
  if (verb !== 'commit' && values.confirmed !== undefined) throw new UsageError('--confirmed goes with zest config commit');
  if (!['commit', 'rollback'].includes(verb) && values.comment !== undefined)
    throw new UsageError('--comment goes with zest config commit and rollback');
  try {
    return await withDaemon(wish);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return complain(wish, messageOf(error));
  }
}

async function withDaemon(wish: Wish): Promise<number> {
  const { io, options, verb } = wish;
  const target = targetOf(io, options);
  const [command, words] = await lineOf(wish);
  if (command === undefined) return complain(wish, words[0] ?? '', EXIT.nothing);
  // A commit may wait for the budgets of every plugin.
  const signal =
    options.timeout === undefined || options.timeout === 0
      ? io.interrupted
      : AbortSignal.any([io.interrupted, AbortSignal.timeout(options.timeout * 1000)]);
  const data = await ask(target.path, io.uid, command, words, signal);
  const answer = isMap(data) ? data : {};
  if (options.json) io.stdout.write(`${visibleJson(JSON.stringify(data, null, 2))}\n`);
  else io.stdout.write(printed(verb, answer, wish));
  return ['check', 'diff'].includes(verb) && (answer['valid'] === false || answer['accepted'] === false)
    ? EXIT.failed
    : EXIT.done;
}

/** The command of the daemon and its words; without one, why not. */
async function lineOf(wish: Wish): Promise<readonly [string | undefined, readonly string[]]> {
  const { io, verb, words, comment, confirmed } = wish;
  const limit = { check: 1, commit: 1, diff: 1, show: 1, rollback: 1 }[verb] ?? 0;
  if (words.length > limit) throw new UsageError(`zest config ${verb}: unexpected "${words[limit] ?? ''}"`);
  const signed = comment === undefined ? [] : ['comment', comment];
  if (verb === 'rollback') {
    if (words.length === 0) throw new UsageError('zest config rollback takes the number of a revision (zest config history)');
    return ['config rollback', [...words, 'author', authorOf(io), ...signed]];
  }
  if (verb !== 'check' && verb !== 'commit') return [`config ${verb}`, words];
  const text: string[] = [];
  if (words[0] !== undefined) {
    const read: FileText = words[0] === '-' ? { ok: true, text: await readAll(io) } : await readSettled(words[0], systemClock);
    if (!read.ok) return [undefined, [read.reason]];
    text.push('text', read.text);
  }
  if (verb === 'check') return ['config check', text];
  const more = [...text, 'author', authorOf(io), ...signed];
  return confirmed === undefined ? ['config commit', more] : ['config commit confirmed', [confirmed, ...more]];
}

function printed(verb: string, answer: Readonly<Record<string, unknown>>, { io, options }: Wish): string {
  if (verb === 'show') return visibleLines(typeof answer['config'] === 'string' ? answer['config'] : '');
  if (verb === 'check' || verb === 'diff') return visibleLines(judged(verb, answer));
  if (['commit', 'rollback', 'confirm', 'abort'].includes(verb)) return visibleLines(done(answer));
  return renderTable(answer['revisions'] ?? answer, { box: true, width: io.stdout.columns ?? 0, colour: useColour(io, options) });
}

function done(answer: Readonly<Record<string, unknown>>): string {
  const lines = (key: string): readonly string[] => {
    const value = answer[key];
    return Array.isArray(value) ? value.map(textOf) : [];
  };
  const saved = answer['saved-as'];
  const before = typeof saved === 'number' ? ` (what was before: revision ${saved})` : '';
  const warnings = lines('warnings').map((one) => `warning: ${one}`);
  return [...warnings, `${textOf(answer['status'])}${before}`, ...lines('notes'), ...deeds(answer), ''].join('\n');
}

function judged(verb: string, answer: Readonly<Record<string, unknown>>): string {
  const rows = (key: string): readonly Readonly<Record<string, unknown>>[] => {
    const value = answer[key];
    return Array.isArray(value) ? value.filter(isMap) : [];
  };
  const warnings = rows('warnings').map((one) => `warning: ${textOf(one['message'])}`);
  if (answer['valid'] !== true) {
    const faults = rows('errors').map((one) => `  line ${textOf(one['line'])}: ${textOf(one['message'])}`);
    return [textOf(answer['error']), ...faults, ...warnings, ''].join('\n');
  }
  const changes = rows('changes').map(changeLine);
  const impact = Array.isArray(answer['impact']) ? answer['impact'].map(textOf) : [];
  if (changes.length === 0) return [...warnings, 'nothing would change', ''].join('\n');
  const head = verb === 'diff' ? [`from ${textOf(answer['from'])} to ${textOf(answer['to'])}:`] : [];
  return [...head, ...changes, '', ...impact, ...warnings, ''].join('\n');
}

function changeLine(one: Readonly<Record<string, unknown>>): string {
  const { path, before, after } = one;
  const kind = `[${textOf(one['class'])}]`.padEnd(10);
  if (before === undefined) return `+ ${kind} ${textOf(path)} ${textOf(after)}`;
  if (after === undefined) return `- ${kind} ${textOf(path)} ${textOf(before)}`;
  return `~ ${kind} ${textOf(path)} ${textOf(before)} -> ${textOf(after)}`;
}

function complain({ io, options }: Wish, message: string, code: number = EXIT.failed): number {
  if (options.json) io.stdout.write(`${visibleJson(JSON.stringify({ status: 'error', error: message }))}\n`);
  else io.stderr.write(`error: ${visible(message)}\n`);
  return code;
}
