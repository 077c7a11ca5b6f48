/** `zest config cat|dump|diff|fmt|migrate|ls|rename|import|archive`: files read, compared, rewritten and moved without a daemon. */
import { existsSync, readdirSync, renameSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../../sdk/rpc/errors.ts';
import { compareText, differences } from '../../config/edit/delta.ts';
import { entriesAt, Reader, toJson } from '../../config/tree/effective.ts';
import { Findings } from '../../config/fault.ts';
import { configSchema, loadConfig, type LoadOptions } from '../../config/load.ts';
import { type RunningConfig } from '../../config/running.ts';
import { RevisionStore } from '../../config/revisions/store.ts';
import { writeSafely } from '../../config/revisions/safe-write.ts';
import { formatOf, readSyntax, type WrittenFormat, writeSyntax } from '../../config/set-format/index.ts';
import { withoutMetadata } from '../../config/set-format/format.ts';
import type { SyntaxTree } from '../../config/text/syntax-tree.ts';
import { faultText } from '../../config/validate-report.ts';
import { makeValidators } from '../../config/rules/validators.ts';
import { systemClock } from '../../core/clock.ts';
import { readSettled, unreadableText } from '../../core/settled-file.ts';
import { loadOptions } from './config-command.ts';
import { readAll } from '../tools/daemon-command.ts';
import { authorOf, fileTarget } from './edit-target.ts';
import { visible, visibleJson, visibleLines } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { Refused } from '../refused.ts';
import { subcommandOptions, UsageError, type GlobalOptions } from '../options.ts';
import { renderYaml } from '../answers/yaml.ts';
import { checkLossless } from '../../config/text/lossy.ts';
import { maskedTree } from '../../config/tree/masked.ts';

export async function textOfFile(file: string, io: CliIo): Promise<string> {
  if (file === '-') return readAll(io);
  const read = await readSettled(file, systemClock);
  if (!read.ok) throw new Refused(EXIT.nothing, unreadableText(file, read.reason));
  return read.text;
}

export interface ReadFile {
  readonly text: string;
  readonly tree: SyntaxTree;
  readonly options: LoadOptions;
}

/** The file as a tree; refused when a part of it cannot be read, since that part would be lost. */
export async function treeOfFile(file: string, io: CliIo, askPlugins: boolean, given?: string): Promise<ReadFile> {
  const text = given ?? (await textOfFile(file, io));
  const options = await loadOptions(text, file, io, askPlugins);
  const findings = new Findings();
  checkLossless(text, findings);
  const tree = readSyntax(text, file, (options.schema ?? configSchema()).root, makeValidators(options), findings);
  if (findings.incomplete)
    throw new Refused(
      EXIT.failed,
      `${file} cannot be read whole:\n${findings
        .sorted()
        .map((one) => `  ${faultText(one)}`)
        .join('\n')}`,
    );
  return { text, tree, options };
}

/** What was done: one JSON document (`zest config --help` has the shapes), or the text. */
function say(fields: Readonly<Record<string, unknown>>, text: string, io: CliIo, { json }: GlobalOptions): void {
  io.stdout.write(json ? `${visibleJson(JSON.stringify({ ok: true, ...fields }, undefined, 2))}\n` : text);
}

const PLUGINS = { 'no-plugins': { type: 'boolean' } } as const;

export async function catCommand(args: readonly string[], io: CliIo, global: GlobalOptions): Promise<number> {
  const { positionals } = subcommandOptions(args, {});
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new UsageError('zest config cat FILE');
  const text = await textOfFile(file, io);
  say({ file, config: text }, visibleLines(text.replaceAll('\t', '    ')), io, global);
  return EXIT.done;
}

/** What the file comes to: inheritance applied, inactive parts gone; as plugins are shown it. */
export async function dumpCommand(args: readonly string[], io: CliIo, global: GlobalOptions): Promise<number> {
  const { values, positionals } = subcommandOptions(args, { ...PLUGINS, secrets: { type: 'boolean' } } as const);
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new UsageError('zest config dump [--json] [--secrets] FILE');
  const config = await loadWhole(file, io, values['no-plugins'] !== true);
  const json = values.secrets === true ? toJson(config.tree) : maskedTree(config.tree);
  io.stdout.write(global.json ? `${visibleJson(JSON.stringify(json, undefined, 2))}\n` : visibleLines(renderYaml(json)));
  return EXIT.done;
}

async function loadWhole(file: string, io: CliIo, askPlugins: boolean): Promise<RunningConfig> {
  const text = await textOfFile(file, io);
  const result = loadConfig(text, await loadOptions(text, file, io, askPlugins, [], true));
  if (!result.ok)
    throw new Refused(
      EXIT.failed,
      `configuration invalid: ${file}\n${result.faults.map((one) => `  ${faultText(one)}`).join('\n')}`,
    );
  return result.config;
}

export async function diffCommand(args: readonly string[], io: CliIo, global: GlobalOptions): Promise<number> {
  const { values, positionals } = subcommandOptions(args, { ...PLUGINS, 'exit-code': { type: 'boolean' } } as const);
  const [first, second, ...more] = positionals;
  if (first === undefined || second === undefined || more.length > 0)
    throw new UsageError('zest config diff FILE FILE, or zest config diff N FILE');
  const ask = values['no-plugins'] !== true;
  const old =
    /^\d{1,9}$/.test(first) && !existsSync(first)
      ? await revisionTree(Number(first), second, io, ask)
      : await treeOfFile(first, io, ask);
  const now = await treeOfFile(second, io, ask);
  const found = differences(old.tree.children, now.tree.children);
  const text = compareText(found);
  if (global.json)
    io.stdout.write(
      `${visibleJson(JSON.stringify({ equal: found.length === 0, changes: found.length, diff: text }, undefined, 2))}\n`,
    );
  else io.stdout.write(text === '' ? 'no differences\n' : visibleLines(text));
  return values['exit-code'] === true && found.length > 0 ? EXIT.failed : EXIT.done;
}

async function revisionTree(number: number, file: string, io: CliIo, ask: boolean): Promise<ReadFile> {
  const text = await fileTarget(file, ask, io).revision(number);
  if (text === undefined)
    throw new Refused(EXIT.nothing, `${file} has no revision ${number}: zest config history ${file} lists them`);
  return treeOfFile(`revision ${number}`, io, ask, text);
}

/** `fmt`: the same in the usual form. `migrate`: in the other format. */
export async function formatCommand(
  args: readonly string[],
  io: CliIo,
  global: GlobalOptions,
  migrate: boolean,
): Promise<number> {
  const { values, positionals } = subcommandOptions(args, {
    ...PLUGINS,
    write: { type: 'boolean', short: 'w' },
    check: { type: 'boolean' },
    to: { type: 'string' },
    output: { type: 'string', short: 'o' },
  } as const);
  const [file, ...more] = positionals;
  const wanted = values.to;
  const usage = migrate
    ? 'zest config migrate --format set|hierarchical [-w | -o OUT] FILE|-'
    : 'zest config fmt [--format set|hierarchical] [--check] [-w] FILE|-';
  if (file === undefined || more.length > 0 || (migrate && wanted === undefined)) throw new UsageError(usage);
  if (wanted !== undefined && wanted !== 'set' && wanted !== 'hierarchical')
    throw new UsageError(`--format is set or hierarchical, not ${wanted}`);
  const { text, tree, options } = await treeOfFile(file, io, values['no-plugins'] !== true);
  const had = formatOf(text, (options.schema ?? configSchema()).root);
  const format: WrittenFormat = wanted ?? (had === 'hierarchical' ? 'hierarchical' : 'set');
  const written = writeSyntax(tree, format);
  const metadata = had === 'set-metadata' ? withoutMetadata(text).lines : 0;
  const warning = `edit metadata of ${metadata} lines is not kept: the history says who changed what`;
  if (metadata > 0 && !global.json) io.stderr.write(`warning: ${warning}\n`);
  const facts = { file, format, changed: written !== text, warnings: metadata > 0 ? [warning] : [] };
  if (values.check === true) {
    const remark = written === text ? '' : `${visible(file)} is not in the usual form: zest config fmt -w ${visible(file)}\n`;
    say({ ...facts, ok: written === text }, remark, io, global);
    return written === text ? EXIT.done : EXIT.failed;
  }
  if (values.output !== undefined) {
    if (existsSync(values.output)) throw new Refused(EXIT.failed, `${values.output} is there already`);
    await writeSafely(values.output, written);
    say({ ...facts, written: values.output }, '', io, global);
  } else if (values.write === true) {
    if (file === '-') throw new UsageError('standard input cannot be written: leave -w out');
    const comment = migrate ? `migrated to ${format}` : 'formatted';
    await rewrite(file, text, written, comment, io);
    if (written !== text && !global.json) io.stderr.write(`${visible(file)} is ${comment}\n`);
    say({ ...facts, ...(written === text ? {} : { written: file }) }, '', io, global);
  } else say({ ...facts, config: written }, written, io, global);
  return EXIT.done;
}

/** Keeps what was there as a revision. The text means the same, so an invalid file is rewritten as well. */
async function rewrite(file: string, before: string, after: string, comment: string, io: CliIo): Promise<void> {
  if (before === after) return;
  const store = await RevisionStore.of(file);
  await store.prepare();
  const author = authorOf(io);
  await store.save({ text: before, author, comment: `before: ${comment}`, time: systemClock.wall() });
  await writeSafely(file, after);
}

export function lsCommand(args: readonly string[], io: CliIo, global: GlobalOptions): number {
  const { positionals } = subcommandOptions(args, {});
  const [folder = '.', ...more] = positionals;
  if (more.length > 0) throw new UsageError('zest config ls [FOLDER]');
  let names: string[];
  try {
    names = readdirSync(folder)
      .filter((name) => /\.(?:conf|cfg)$/.test(name))
      .sort();
  } catch (error) {
    throw new Refused(EXIT.nothing, `cannot read ${folder}: ${messageOf(error)}`);
  }
  const rows = names.map((name) => {
    const kept = join(folder, `${name}.zest`);
    const revisions = existsSync(kept) ? readdirSync(kept).filter((one) => /^\d{6,15}\.conf$/.test(one)).length : 0;
    const { size, mtime } = statSync(join(folder, name));
    return { file: name, bytes: size, changed: mtime.toISOString().slice(0, 19).replace('T', ' '), revisions };
  });
  if (global.json) io.stdout.write(`${visibleJson(JSON.stringify({ files: rows }, undefined, 2))}\n`);
  else {
    const width = Math.max(0, ...rows.map((row) => row.file.length));
    for (const row of rows)
      io.stdout.write(
        `${visible(row.file).padEnd(width)}  ${String(row.bytes).padStart(8)}  ${row.changed}  ${row.revisions} revision${row.revisions === 1 ? '' : 's'}\n`,
      );
  }
  return rows.length === 0 ? EXIT.nothing : EXIT.done;
}

/** The file and its revisions under another name. */
export function renameCommand(args: readonly string[], io: CliIo, global: GlobalOptions): number {
  const { positionals } = subcommandOptions(args, {});
  const [from, to, ...more] = positionals;
  if (from === undefined || to === undefined || more.length > 0) throw new UsageError('zest config rename FILE NEW');
  if (!existsSync(from)) throw new Refused(EXIT.nothing, `${from}: no such file`);
  const revisions = `${from}.zest`;
  for (const taken of [to, `${to}.zest`]) if (existsSync(taken)) throw new Refused(EXIT.failed, `${taken} is there already`);
  renameSync(from, to);
  if (existsSync(revisions)) renameSync(revisions, `${to}.zest`);
  say({ from, to }, `${visible(from)} is ${visible(to)}\n`, io, global);
  return EXIT.done;
}

/** A text from elsewhere as the configuration: checked, and what was there is kept. */
export async function importCommand(args: readonly string[], io: CliIo, global: GlobalOptions): Promise<number> {
  const { values, positionals } = subcommandOptions(args, { ...PLUGINS, user: { type: 'string', short: 'u' } } as const);
  const [source, file, ...more] = positionals;
  if (source === undefined || file === undefined || more.length > 0) throw new UsageError('zest config import SOURCE|- FILE');
  const text = await textOfFile(source, io);
  const target = fileTarget(file, values['no-plugins'] !== true, io);
  const author = values.user ?? authorOf(io);
  const result = await target.commit(text, {
    base: undefined,
    comment: `imported from ${source}`,
    author,
    confirmSeconds: undefined,
  });
  if (!result.ok)
    throw new Refused(
      EXIT.failed,
      [`not imported: ${result.message}`, ...result.faults.map((one) => `  ${faultText(one)}`)].join('\n'),
    );
  const { saved, notes } = result;
  const warnings = result.warnings.map(({ line, message }) => ({ line, message }));
  const facts = { file, source, ...(saved === undefined ? {} : { 'saved-as': saved }), notes, warnings };
  say(facts, notes.map((note) => `${visible(note)}\n`).join(''), io, global);
  return EXIT.done;
}

/** A copy of the file where each `system archive` says, in this machine's files; other places need their own programs. */
export async function archiveCommand(args: readonly string[], io: CliIo, global: GlobalOptions): Promise<number> {
  const { values, positionals } = subcommandOptions(args, PLUGINS);
  const [file, only, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new UsageError('zest config archive FILE [NAME]');
  const config = await loadWhole(file, io, values['no-plugins'] !== true);
  const all = entriesAt(config.tree, 'system/archive').map((entry) => new Reader(entry));
  const archives = all.filter((one) => only === undefined || one.key === only);
  if (archives.length === 0)
    throw new Refused(
      EXIT.nothing,
      only === undefined ? `${file} has no system archive: nowhere to put it` : `${file} has no system archive ${only}`,
    );
  const text = await textOfFile(file, io);
  const stamp = new Date(systemClock.wall()).toISOString().replaceAll(/[-:]/g, '').slice(0, 15);
  const copies: { archive: string; path: string }[] = [];
  for (const archive of archives) {
    const location = archive.text('location');
    if (location === '') throw new Refused(EXIT.nothing, `system archive ${archive.key} has no location`);
    const scheme = /^([a-z][a-z0-9+.-]*):\/\//.exec(location)?.[1];
    if (scheme !== undefined && scheme !== 'file')
      throw new Refused(EXIT.nothing, `system archive ${archive.key}: ${scheme} is not served here, only paths and file://`);
    const path =
      scheme === 'file' ? fileURLToPath(location) : isAbsolute(location) ? location : resolve(join(file, '..'), location);
    const name = archive.text('filename') === '' ? `${basename(file)}.${stamp}` : archive.text('filename');
    if (/[/\\]/.test(name)) throw new Refused(EXIT.failed, `system archive ${archive.key}: the filename holds a path`);
    await mkdir(path, { recursive: true, mode: 0o700 });
    await writeSafely(join(path, name), text, 0o600);
    copies.push({ archive: archive.key, path: join(path, name) });
  }
  const lines = copies.map((copy) => `${visible(copy.archive)}: ${visible(copy.path)}\n`);
  say({ file, copies }, lines.join(''), io, global);
  return EXIT.done;
}
