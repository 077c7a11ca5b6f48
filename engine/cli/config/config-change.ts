/** `zest config set|delete|activate|deactivate|history|rollback|completion`: single lines of the editor, from the shell. */
import { existsSync } from 'node:fs';
import type { CandidateSession } from '../../config/edit/session.ts';
import { Unreadable } from '../../config/edit/session.ts';
import { quote } from '../../config/text/print.ts';
import { openSession } from './edit-target.ts';
import { Refused } from '../refused.ts';
import { visible, visibleJson, visibleLines } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { subcommandOptions, UsageError, type GlobalOptions } from '../options.ts';

const OPTIONS = {
  user: { type: 'string', short: 'u' },
  'dry-run': { type: 'boolean' },
  'no-reload': { type: 'boolean' },
  'no-plugins': { type: 'boolean' },
  comment: { type: 'string' },
} as const;

type Wish = ReturnType<typeof readWish>;

function readWish(args: readonly string[]): {
  file: string;
  words: readonly string[];
  values: ReturnType<typeof subcommandOptions<typeof OPTIONS>>['values'];
} {
  const { values, positionals } = subcommandOptions(args, OPTIONS);
  const [file = '', ...words] = positionals;
  return { file, words, values };
}

async function sessionOf({ file, values }: Wish, io: CliIo, options: GlobalOptions): Promise<CandidateSession> {
  if (!existsSync(file)) throw new Refused(EXIT.nothing, `${file}: no such file (zest config edit ${file} makes one)`);
  try {
    const wish = { file, offline: values['no-reload'] === true, askPlugins: values['no-plugins'] !== true, author: values.user };
    return await openSession(wish, io, options);
  } catch (error) {
    if (error instanceof Unreadable) throw new Refused(EXIT.failed, error.message);
    if (error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('E'))
      throw new Refused(EXIT.nothing, `cannot read ${file}: ${error.message}`);
    throw error;
  }
}

/** One line of the editor and a commit. A daemon that runs the file is told by the commit itself. */
export async function changeCommand(verb: string, args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const wish = readWish(args);
  if (wish.file === '' || wish.words.length === 0)
    throw new UsageError(`zest config ${verb} [--dry-run] [--no-reload] [-u USER] FILE PATH…`);
  const session = await sessionOf(wish, io, options);
  const line = `${verb} ${lineOf(wish.words)}`;
  const outcome = await session.run(line, io.interrupted);
  if (!outcome.ok) throw new Refused(EXIT.failed, outcome.text.trimEnd());
  const changed = session.changed;
  const compare = (await session.run('compare')).text;
  if (wish.values['dry-run'] === true) {
    const check = await session.run('commit check', io.interrupted);
    return report({ changed, committed: false, diff: compare, notes: check.text }, check.ok, io, options);
  }
  const comment = wish.values.comment ?? line;
  const commit = await session.run(`commit comment ${JSON.stringify(comment.slice(0, 200))}`, io.interrupted);
  return report({ changed, committed: commit.ok && changed, diff: compare, notes: commit.text }, commit.ok, io, options);
}

interface Report {
  readonly changed: boolean;
  readonly committed: boolean;
  readonly diff: string;
  readonly notes: string;
}

function report(facts: Report, ok: boolean, io: CliIo, options: GlobalOptions): number {
  if (options.json) {
    const { notes, ...rest } = facts;
    const lines = notes.split('\n').filter((line) => line !== '');
    io.stdout.write(`${visibleJson(JSON.stringify({ ok, ...rest, [ok ? 'notes' : 'errors']: lines }, undefined, 2))}\n`);
  } else if (ok) io.stdout.write(visibleLines(`${facts.diff}${facts.notes}`));
  else io.stderr.write(`error: ${visibleLines(facts.notes)}`);
  return ok ? EXIT.done : EXIT.failed;
}

/** Words of the shell as a line of the editor; one word with blanks in it is a line already. */
export function lineOf(words: readonly string[]): string {
  const [only = ''] = words;
  if (words.length === 1) return only;
  return words.map((word) => (word === '' || /[\s"'#;]/.test(word) ? quote(word) : word)).join(' ');
}

export async function historyCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const wish = readWish(args);
  if (wish.file === '' || wish.words.length > 0) throw new UsageError('zest config history FILE');
  const { findTarget } = await import('./edit-target.ts');
  if (!existsSync(wish.file) && !existsSync(`${wish.file}.zest`)) throw new Refused(EXIT.nothing, `${wish.file}: no such file`);
  const target = await findTarget({ file: wish.file, offline: true, askPlugins: false, author: undefined }, io, options);
  const revisions = await target.history();
  if (options.json) io.stdout.write(`${visibleJson(JSON.stringify({ file: wish.file, revisions }, undefined, 2))}\n`);
  else
    for (const { number, time, author, comment } of revisions)
      io.stdout.write(
        `${String(number).padStart(4)}  ${time.replace('T', ' ').slice(0, 19)}  ${visible(author)}  ${visible(comment)}`.trimEnd() +
          '\n',
      );
  if (revisions.length > 0) return EXIT.done;
  if (!options.json) io.stderr.write(`${visible(wish.file)} has no revisions yet: the first commit keeps one\n`);
  return EXIT.nothing;
}

export async function rollbackCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const { values, positionals } = subcommandOptions(args, OPTIONS);
  const [number = '', file = '', ...more] = positionals;
  if (!/^\d{1,9}$/.test(number) || file === '' || more.length > 0) throw new UsageError('zest config rollback N FILE');
  const session = await sessionOf({ file, words: [], values }, io, options);
  if ((await session.target.revision(Number(number))) === undefined)
    throw new Refused(EXIT.nothing, `${file} has no revision ${number}: zest config history ${file} lists them`);
  const loaded = await session.run(`rollback ${number}`, io.interrupted);
  if (!loaded.ok) throw new Refused(EXIT.failed, loaded.text.trimEnd());
  const diff = (await session.run('compare')).text;
  const changed = session.changed;
  if (values['dry-run'] === true) {
    const check = await session.run('commit check', io.interrupted);
    return report({ changed, committed: false, diff, notes: check.text }, check.ok, io, options);
  }
  const commit = await session.run(`commit comment "rollback to ${number}"`, io.interrupted);
  return report({ changed, committed: commit.ok && changed, diff, notes: commit.text }, commit.ok, io, options);
}

/** Candidates for a line of the editor: a `+` in the input stands for a blank. */
export async function editCompletionCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const { values, positionals } = subcommandOptions(args, {
    context: { type: 'string' },
    input: { type: 'string' },
    'no-plugins': { type: 'boolean' },
  } as const);
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new UsageError('zest config completion [--context PATH] --input TEXT FILE');
  const session = await sessionOf(
    { file, words: [], values: { 'no-reload': true, 'no-plugins': values['no-plugins'] } as Wish['values'] },
    io,
    options,
  );
  const context = (values.context ?? '').replaceAll(/[+/]/g, ' ').trim();
  if (context !== '') {
    const moved = await session.run(`edit ${context}`);
    if (!moved.ok) throw new Refused(EXIT.failed, moved.text.trimEnd());
  }
  const { candidates, expects } = session.complete((values.input ?? '').replaceAll('+', ' '));
  if (options.json) io.stdout.write(`${visibleJson(JSON.stringify({ candidates, expects }, undefined, 2))}\n`);
  else io.stdout.write(candidates.map(({ word, help }) => `${visible(word)}\t${visible(help)}`.trimEnd() + '\n').join(''));
  return EXIT.done;
}
