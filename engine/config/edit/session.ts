// One editing session: commands of the editor, line by line, on a candidate that began as what is in force at its target. No terminal:
// a line goes in, text and a verdict come out.
import { nearest } from '../../core/nearest.ts';
import { clamp, type ConfigFault, Findings } from '../fault.ts';
import type { LoadOptions } from '../load.ts';
import { configSchema } from '../load.ts';
import { checkLossless } from '../text/lossy.ts';
import { printConfig } from '../text/print.ts';
import { formatOf, readSyntax, type WrittenFormat, writeSyntax } from '../set-format/index.ts';
import { setLines } from '../set-format/print.ts';
import type { SyntaxTree } from '../text/syntax-tree.ts';
import { faultText } from '../validate-report.ts';
import { makeValidators } from '../rules/validators.ts';
import { Candidate, cloneTree, type EditFault, type EditResult, type Piece } from './candidate.ts';
import { commitCommand } from './commit-command.ts';
import type { CommitTarget } from './commit-target.ts';
import { completeEdit, type EditCompletion } from './completion.ts';
import { compareText, deltaCommands, differences } from './delta.ts';
import { type EditLine, readEditLine, type Word } from './line.ts';
import { applyPipes } from './pipes.ts';
import { EDIT_VERBS, helpText, usageOf } from './verbs.ts';

export interface SessionOptions {
  readonly target: CommitTarget;
  readonly author: string;
  /** What a text's plugins bring: schema, families, kinds. Must not fail; programs may be asked when the text holds unknown names. */
  readonly prepare: (text: string) => Promise<LoadOptions>;
}

export interface Outcome {
  readonly ok: boolean;
  /** For the reader; ends with a line end unless it is empty. */
  readonly text: string;
  /** Column in the line as typed, from 1; 0 = nowhere in it. Only where `ok` is false. */
  readonly column: number;
  /** The session is over. */
  readonly leave: boolean;
  /** Nothing was said, because the candidate has changes: asking once more leaves. */
  readonly unsaved?: boolean;
}

/** The file in force cannot be edited: parts of it could not be read, and would be lost. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
  readonly faults: readonly ConfigFault[];

  constructor(name: string, faults: readonly ConfigFault[]) {
    super(
      `${name} cannot be edited: parts of it cannot be read, and would be lost\n${faults.map((one) => `  ${faultText(one)}`).join('\n')}`,
    );
    this.faults = faults;
  }
}

/** Commands whose text may go through pipes: none of them changes anything. */
const PIPED: ReadonlySet<string> = new Set(['show', 'compare', 'diff', 'history', 'status', 'help']);

export function done(text = ''): Outcome {
  return { ok: true, text, column: 0, leave: false };
}

export function failed(message: string, column = 0, hint?: string): Outcome {
  return { ok: false, text: `${message}${hint === undefined ? '' : ` (${hint})`}\n`, column, leave: false };
}

export class CandidateSession {
  readonly target: CommitTarget;
  readonly author: string;
  readonly #prepare: SessionOptions['prepare'];
  #options: LoadOptions;
  #base: SyntaxTree;
  #candidate: Candidate;
  #version: string;
  #format: WrittenFormat;
  readonly #back: (readonly string[])[] = [];
  #warned = false;

  private constructor(options: SessionOptions, loaded: { text: string; version: string }, load: LoadOptions, tree: SyntaxTree) {
    this.target = options.target;
    this.author = options.author;
    this.#prepare = options.prepare;
    this.#options = load;
    this.#version = loaded.version;
    this.#base = tree;
    this.#format = writtenFormat(loaded.text, load);
    this.#candidate = new Candidate(cloneTree(tree), makeValidators(load));
  }

  /** Rejects with `Unreadable`, or with the target's error. */
  static async open(options: SessionOptions, signal?: AbortSignal): Promise<CandidateSession> {
    const loaded = await options.target.load(signal);
    const load = await options.prepare(loaded.text);
    return new CandidateSession(options, loaded, load, treeOf(loaded.text, load, options.target.name));
  }

  get where(): string {
    return this.#candidate.where;
  }

  get candidate(): Candidate {
    return this.#candidate;
  }

  get version(): string {
    return this.#version;
  }

  get changed(): boolean {
    return this.text() !== writeSyntax(this.#base, this.#format);
  }

  /** The candidate as it would be written. */
  text(): string {
    return writeSyntax(this.#candidate.tree, this.#format);
  }

  complete(line: string): EditCompletion {
    return completeEdit(line, this.#candidate, makeValidators(this.#options));
  }

  /** Runs one line. Rejects only with the target's own error (a file that cannot be read, a daemon that went away). */
  async run(text: string, signal?: AbortSignal): Promise<Outcome> {
    const read = readEditLine(text);
    if (!read.ok) return failed(read.message, read.column);
    const { line } = read;
    if (line.verb === '' || line.verb.startsWith('#')) return done();
    const verb = EDIT_VERBS.find((one) => one.name === line.verb || one.aliases.includes(line.verb));
    if (verb === undefined) return this.#unknown(line);
    const [pipe] = line.pipes;
    if (pipe !== undefined && !PIPED.has(verb.name))
      return failed(`${verb.name} gives nothing to pipe`, text.indexOf('|') + 1, 'quote a "|" that belongs to a value');
    const dry = applyPipes(
      '',
      line.pipes,
      () => '',
      () => '',
      line,
    );
    if (!dry.ok) return failed(dry.message, text.length + 1);
    const warned = this.#warned;
    this.#warned = false;
    const outcome = await this.#dispatch(verb.name, line, signal, warned);
    if (!outcome.ok || line.pipes.length === 0) return outcome;
    const piped = applyPipes(
      outcome.text,
      line.pipes,
      () => this.#compare(),
      (path) => this.#asSet(path),
      line,
    );
    return piped.ok ? { ...outcome, text: piped.text } : failed(piped.message, text.length + 1);
  }

  #unknown(line: EditLine): Outcome {
    const names = EDIT_VERBS.flatMap((verb) => [verb.name, ...verb.aliases]);
    const near = nearest(line.verb, names);
    return failed(`unknown command: ${clamp(line.verb)}`, 1, near === undefined ? 'help lists them' : `did you mean "${near}"?`);
  }

  async #dispatch(verb: string, line: EditLine, signal: AbortSignal | undefined, warned: boolean): Promise<Outcome> {
    const { words } = line;
    const piece: Piece = { text: line.rest, column: line.restColumn };
    switch (verb) {
      case 'set':
        return this.#change(line, () => this.#candidate.set(piece));
      case 'delete':
        if (words.length === 0) return failed('delete needs a path', line.restColumn);
        return this.#change(line, () => this.#candidate.delete(piece));
      case 'deactivate':
      case 'activate':
        if (words.length === 0) return failed(`${verb} needs a path`, line.restColumn);
        return this.#change(line, () => this.#candidate.mark(piece, verb === 'deactivate'));
      case 'edit':
        return this.#edit(line, piece);
      case 'up':
        return this.#up(words);
      case 'top':
        this.#move([]);
        return words.length === 0 ? done() : this.run(line.rest);
      case 'exit': {
        const back = this.#back.pop();
        if (back === undefined) return this.#leave(warned);
        this.#candidate.context = back;
        return done();
      }
      case 'quit':
        return this.#leave(warned);
      case 'show':
        return this.#show(piece);
      case 'compare':
        return words.length > 0 ? this.#diff(words[0]!) : done(this.#compare());
      case 'diff':
        return words[0] === undefined ? done(this.#compare()) : this.#diff(words[0]);
      case 'insert':
        return this.#insert(line);
      case 'rename':
      case 'copy':
        return this.#rename(line, verb === 'copy');
      case 'annotate':
        return this.#annotate(line);
      case 'validate':
        return commitCommand(this, [{ text: 'check', column: 1, end: 1, quoted: false }], signal);
      case 'commit':
        return commitCommand(this, words, signal);
      case 'confirm':
      case 'abort': {
        const result = await (verb === 'confirm' ? this.target.confirm(signal) : this.target.abort(signal));
        return result.ok ? done(verb === 'confirm' ? 'confirmed\n' : 'taken back\n') : failed(result.message);
      }
      case 'discard':
        await this.reload(signal);
        return done('changes discarded\n');
      case 'rebase':
        return this.#rebase(signal);
      case 'history':
        return this.#history(signal);
      case 'rollback':
        return this.#rollback(words, signal);
      case 'status':
        return this.#status(signal);
      default:
        return done(helpText(words[0]?.text));
    }
  }

  /** Takes what is in force anew; the candidate is as if nothing had been typed. */
  async reload(signal?: AbortSignal): Promise<void> {
    const loaded = await this.target.load(signal);
    const options = await this.#prepare(loaded.text);
    const tree = treeOf(loaded.text, options, this.target.name);
    this.#options = options;
    this.#version = loaded.version;
    this.#base = tree;
    if (loaded.text.trim() !== '') this.#format = writtenFormat(loaded.text, options);
    this.#replace(cloneTree(tree));
  }

  /** The candidate is in force now. */
  committed(version: string): void {
    this.#version = version;
    this.#base = cloneTree(this.#candidate.tree);
  }

  #replace(tree: SyntaxTree): void {
    const { context } = this.#candidate;
    this.#candidate = new Candidate(tree, makeValidators(this.#options));
    this.#candidate.context = context;
  }

  /** A name nobody knows may be a plugin's that the candidate has brought: its plugins are asked, and the line is tried again. */
  async #change(line: EditLine, act: () => EditResult): Promise<Outcome> {
    let result = act();
    if (!result.ok && result.fault.unknownName === true && (await this.#learn(line))) result = act();
    return result.ok ? done() : refused(result.fault);
  }

  async #learn(line: EditLine): Promise<boolean> {
    const { schema } = this.#options;
    const path = this.where === '' ? line.rest : `${this.where} ${line.rest}`;
    this.#options = await this.#prepare(`${writeSyntax(this.#candidate.tree, 'set')}set ${path}\n`);
    const root = (this.#options.schema ?? configSchema()).root;
    if (root === (schema ?? configSchema()).root) return false;
    const text = writeSyntax(this.#candidate.tree, 'set');
    const findings = new Findings();
    const tree = readSyntax(text, 'cli', root, makeValidators(this.#options), findings);
    if (findings.incomplete) return false;
    this.#replace(tree);
    return true;
  }

  async #edit(line: EditLine, piece: Piece): Promise<Outcome> {
    if (line.words.length === 0) return failed('edit needs a path', line.restColumn, 'top goes to the top');
    const before = this.#candidate.context;
    const outcome = await this.#change(line, () => this.#candidate.edit(piece));
    if (outcome.ok) this.#back.push(before);
    return outcome;
  }

  #up(words: readonly Word[]): Outcome {
    const [count] = words;
    const steps = count === undefined ? 1 : Number(count.text);
    if (!Number.isInteger(steps) || steps < 1)
      return failed(`up takes a number of levels, not ${clamp(count?.text ?? '')}`, count?.column);
    if (this.#candidate.context.length === 0) return failed('this is the top', 1, 'exit leaves the editor');
    this.#move(this.#candidate.context.slice(0, -steps));
    return done();
  }

  #move(context: readonly string[]): void {
    this.#candidate.context = context;
    if (context.length === 0) this.#back.length = 0;
  }

  #leave(warned: boolean): Outcome {
    if (this.changed && !warned) {
      this.#warned = true;
      return {
        ...failed('there are changes that are not committed', 1, 'commit, or discard; once more to leave without them'),
        unsaved: true,
      };
    }
    return { ok: true, text: '', column: 0, leave: true };
  }

  #show(piece: Piece): Outcome {
    const found = this.#candidate.find(piece);
    if (!found.ok) return piece.text.trim() === '' ? done() : refused(found.fault);
    const whole = found.block === '' ? this.#candidate.tree : { ...this.#candidate.tree, closing: [] };
    return done(printConfig({ ...whole, children: [...found.statements] }, { secrets: false }));
  }

  #asSet(line: EditLine): string {
    const found = this.#candidate.find({ text: line.rest, column: line.restColumn });
    return found.ok ? setLines(found.statements, found.block, { secrets: false }) : '';
  }

  #compare(): string {
    return compareText(differences(this.#base.children, this.#candidate.tree.children));
  }

  async #diff(number: Word): Promise<Outcome> {
    const text = await this.#revision(number);
    if (typeof text !== 'string') return text;
    const tree = await this.#read(text, number.text);
    return done(compareText(differences(tree.children, this.#candidate.tree.children)));
  }

  async #revision(word: Word): Promise<string | Outcome> {
    const number = Number(word.text);
    if (!/^\d{1,9}$/.test(word.text))
      return failed(`a revision's number is needed, not ${clamp(word.text)}`, word.column, 'history lists them');
    const text = await this.target.revision(number);
    return text ?? failed(`there is no revision ${number}`, word.column, 'history lists them');
  }

  async #read(text: string, name: string): Promise<SyntaxTree> {
    return treeOf(text, await this.#prepare(text), `revision ${name}`);
  }

  async #rollback(words: readonly Word[], signal?: AbortSignal): Promise<Outcome> {
    const [number, ...more] = words;
    if (more.length > 0 || number === undefined)
      return failed(usageOf('rollback'), number?.end ?? 9, 'history lists the revisions');
    if (number.text === '0') {
      await this.reload(signal);
      return done('the candidate is what is in force\n');
    }
    const text = await this.#revision(number);
    if (typeof text !== 'string') return text;
    this.#replace(cloneTree(await this.#read(text, number.text)));
    return done(`the candidate is revision ${Number(number.text)}; commit puts it in force\n`);
  }

  #insert(line: EditLine): Outcome {
    const { words } = line;
    const at = words.findLastIndex((word) => !word.quoted && /^(?:before|after|first|last)$/.test(word.text));
    const position = words[at]?.text as 'before' | 'after' | 'first' | 'last' | undefined;
    const anchored = position === 'before' || position === 'after';
    if (position === undefined || at === 0 || (anchored ? at === words.length - 1 : at !== words.length - 1))
      return failed(usageOf('insert'), line.restColumn);
    const piece = cut(line, words[0]!, words[at - 1]!);
    const anchor = anchored ? cut(line, words[at + 1]!, words.at(-1)!) : undefined;
    const result = this.#candidate.insert(piece, position, anchor);
    return result.ok ? done() : refused(result.fault);
  }

  #rename(line: EditLine, copy: boolean): Outcome {
    const { words } = line;
    const at = words.findLastIndex((word) => !word.quoted && word.text === 'to');
    if (at < 1 || at === words.length - 1) return failed(usageOf(copy ? 'copy' : 'rename'), line.restColumn);
    const result = this.#candidate.rename(cut(line, words[0]!, words[at - 1]!), cut(line, words[at + 1]!, words.at(-1)!), copy);
    return result.ok ? done() : refused(result.fault);
  }

  #annotate(line: EditLine): Outcome {
    const { words } = line;
    const text = words.at(-1);
    if (words.length < 2 || text?.quoted !== true) return failed(usageOf('annotate'), line.restColumn);
    const comments = text.text === '' ? [] : text.text.split('\n').map((one) => one.trim());
    const result = this.#candidate.annotate(cut(line, words[0]!, words.at(-2)!), comments);
    return result.ok ? done() : refused(result.fault);
  }

  /** What was typed, on top of what is in force now. */
  async #rebase(signal?: AbortSignal): Promise<Outcome> {
    const mine = differences(this.#base.children, this.#candidate.tree.children);
    const old = this.#base;
    await this.reload(signal);
    const theirs = new Map(differences(old.children, this.#base.children).map((one) => [`${one.block} ${one.name}`, one]));
    const notes: string[] = [];
    let kept = 0;
    const { context } = this.#candidate;
    this.#candidate.context = [];
    for (const one of mine) {
      const path = `${one.block} ${one.name}`.trim();
      if (theirs.has(`${one.block} ${one.name}`)) notes.push(`both changed ${path}: yours stands in the candidate`);
      // What is said holds no secret; the commands do.
      const shown = deltaCommands([one], false);
      for (const [at, command] of deltaCommands([one]).entries()) {
        const outcome = await this.run(command);
        if (!outcome.ok && one.kind !== 'removed')
          notes.push(`not taken over: ${clamp(shown[at] ?? path)}: ${outcome.text.trim()}`);
        else kept++;
      }
      if (one.kind === 'order') notes.push(`the order of ${one.block} is theirs: place it anew`);
    }
    this.#candidate.context = context;
    const lines = [`${kept} of your lines stand on what is in force now`, ...notes, 'compare shows what a commit would change'];
    return done(lines.map((line) => `${line}\n`).join(''));
  }

  async #history(signal?: AbortSignal): Promise<Outcome> {
    const revisions = await this.target.history(signal);
    if (revisions.length === 0) return done('no revisions yet: the first commit keeps one\n');
    const rows = revisions.map((one) => [String(one.number), one.time.replace('T', ' ').slice(0, 19), one.author, one.comment]);
    const widths = [0, 1, 2].map((at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
    return done(
      rows
        .map(
          (row) =>
            `${row
              .map((cell, at) => cell.padEnd(widths[at] ?? 0))
              .join('  ')
              .trimEnd()}\n`,
        )
        .join(''),
    );
  }

  async #status(signal?: AbortSignal): Promise<Outcome> {
    const found = differences(this.#base.children, this.#candidate.tree.children);
    const [loaded, pending] = await Promise.all([this.target.load(signal), this.target.pending(signal)]);
    const lines = [
      `editing ${this.target.name} as ${this.author}, ${this.#format} format`,
      `at ${this.where === '' ? 'the top' : this.where}`,
      found.length === 0 ? 'no changes' : `${found.length} change${found.length === 1 ? '' : 's'}, not committed`,
      ...(loaded.version === this.#version
        ? []
        : [
            `${this.target.name} is not what it was when it was loaded (another commit, a reload, or one taken back): rebase or discard`,
          ]),
      ...(pending === undefined
        ? []
        : [`a commit of ${pending.author} waits ${pending.secondsLeft} s for its confirmation: confirm or abort`]),
    ];
    return done(lines.map((line) => `${line}\n`).join(''));
  }
}

/** The letters of a line from one word to another. */
function cut(line: EditLine, from: Word, to: Word): Piece {
  const text = line.rest.slice(from.column - line.restColumn, to.end - line.restColumn);
  return { text, column: from.column };
}

function refused(fault: EditFault): Outcome {
  return failed(fault.message, fault.column, fault.hint);
}

function treeOf(text: string, options: LoadOptions, name: string): SyntaxTree {
  const findings = new Findings();
  checkLossless(text, findings);
  const tree = readSyntax(text, options.path, (options.schema ?? configSchema()).root, makeValidators(options), findings);
  if (findings.incomplete) throw new Unreadable(name, findings.sorted());
  return tree;
}

/** An empty file is written hierarchical. */
function writtenFormat(text: string, options: LoadOptions): WrittenFormat {
  return text.trim() === '' || formatOf(text, (options.schema ?? configSchema()).root) === 'hierarchical'
    ? 'hierarchical'
    : 'set';
}
