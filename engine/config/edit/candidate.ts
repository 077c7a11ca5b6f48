// The candidate: a syntax tree and where in it the editor stands. Each change takes a line as typed and either happens whole or answers
// what is wrong, with a column; nothing here knows files, daemons or terminals.
import type { ParentNode } from '../../../yang/compile/schema.ts';
import { extension } from '../../../yang/compile/schema.ts';
import { clamp, type ConfigFault, Findings } from '../fault.ts';
import { LexFault } from '../text/lexer.ts';
import { Parser } from '../text/parser.ts';
import { quote } from '../text/print.ts';
import { Applier, type Located } from '../set-format/apply.ts';
import { type Intent, PathReader, type Plan, type Step } from '../set-format/path.ts';
import { idOf } from '../text/statement-index.ts';
import type { ConfigStatement, EntryStatement, LeafListStatement, SyntaxTree } from '../text/syntax-tree.ts';
import type { Validators } from '../rules/validators.ts';

/** What is wrong with a line. */
export interface EditFault {
  /** In the line as typed, from 1; 0 = nowhere in it. */
  readonly column: number;
  readonly message: string;
  readonly hint?: string | undefined;
  /** The line holds a name that the schema does not know: a plugin may. */
  readonly unknownName?: boolean;
}

export type EditResult = { readonly ok: true; readonly changed: number } | { readonly ok: false; readonly fault: EditFault };

/** Part of a typed line: its text, and the column of its first letter. */
export interface Piece {
  readonly text: string;
  readonly column: number;
}

type Planned = { readonly ok: true; readonly plan: Plan } | { readonly ok: false; readonly fault: EditFault };

export class Candidate {
  readonly tree: SyntaxTree;
  readonly #validators: Validators;
  readonly #applier: Applier;
  /** Path words of the steps to where the editor stands. */
  context: readonly string[] = [];

  constructor(tree: SyntaxTree, validators: Validators) {
    this.tree = tree;
    this.#validators = validators;
    this.#applier = new Applier({ origin: 'cli', reading: false });
  }

  get where(): string {
    return this.context.join(' ');
  }

  set(piece: Piece): EditResult {
    return this.#apply(piece, 'make', (plan) => this.#applier.set(this.tree.children, plan));
  }

  delete(piece: Piece): EditResult {
    return this.#apply(piece, 'name', (plan) => this.#applier.delete(this.tree.children, plan));
  }

  mark(piece: Piece, inactive: boolean): EditResult {
    return this.#apply(piece, 'name', (plan) => this.#applier.mark(this.tree.children, plan, inactive));
  }

  /** Goes to a block or an entry, which need not exist yet. */
  edit(piece: Piece): EditResult {
    const planned = this.plan(piece, 'make');
    if (!planned.ok) return planned;
    const { steps, targets } = planned.plan;
    if (targets.length > 0 || steps.length === 0 || steps.some(isLine))
      return wrong(piece.column, `${clamp(piece.text.trim())} is no block to go to`, 'set it from here');
    this.context = steps.map(stepWords);
    return { ok: true, changed: 0 };
  }

  annotate(piece: Piece, comments: readonly string[]): EditResult {
    const planned = this.#locate(piece);
    if (!planned.ok) return planned;
    for (const { into, statement } of planned.located.found)
      this.#applier.siblings.replace(into, statement, { ...statement, comments: [...comments], trailing: '' });
    return { ok: true, changed: planned.located.found.length };
  }

  /** A new name for an entry, or a copy under it. */
  rename(piece: Piece, to: Piece, copy: boolean): EditResult {
    const planned = this.#locate(piece);
    if (!planned.ok) return planned;
    const [found] = planned.located.found;
    if (found?.statement.kind !== 'entry' || planned.located.found.length !== 1)
      return wrong(piece.column, `${clamp(piece.text.trim())} is no entry of a list: only these have names`);
    const { into, statement } = found;
    const prefix = [...this.#stepsOf(planned.plan).slice(0, -1), statement.name].join(' ');
    const named = this.#planAt(prefix, to, 'make');
    if (!named.ok) return named;
    const last = named.plan.steps.at(-1);
    if (last?.kind !== 'entry' || named.plan.targets.length > 0 || last.schema !== statement.schema)
      return wrong(to.column, `a new name for the ${statement.name} is needed, not ${clamp(to.text.trim())}`);
    const renamed: EntryStatement = { ...statement, keys: last.keys, anonymous: false };
    if (into.some((one) => idOf(one) === idOf(renamed) && (copy || one !== statement)))
      return wrong(to.column, `${statement.name} ${clamp(last.keys.join(' '))} is there already`);
    if (copy) {
      into.splice(into.indexOf(statement) + 1, 0, cloneStatement({ ...renamed, comments: [], blank: true }));
      this.#applier.siblings.forget(into);
    } else this.#applier.siblings.replace(into, statement, renamed);
    return { ok: true, changed: 1 };
  }

  /** Puts a member of a leaf-list, or an entry of a list, where it is said; a member that is not there yet is added. */
  insert(piece: Piece, position: 'before' | 'after' | 'first' | 'last', anchor: Piece | undefined): EditResult {
    const named = this.plan(piece, 'make');
    if (!named.ok) return named;
    const target = named.plan.targets.at(-1);
    if (target?.kind === 'leaf-list' && !named.plan.short) {
      if (target.members.length !== 1) return wrong(piece.column, 'one member is placed at a time');
      return this.#insertMember(named.plan, target.members[0]!.text, position, anchor);
    }
    if (named.plan.targets.length > 0) return wrong(piece.column, 'only members of a list have an order');
    return this.#insertEntry(piece, position, anchor);
  }

  #insertMember(plan: Plan, text: string, position: string, anchor: Piece | undefined): EditResult {
    const known = this.#applier.locate(this.tree.children, {
      ...plan,
      targets: plan.targets.map((one) => ('members' in one ? { ...one, members: [] } : one)),
    });
    const before = known.ok ? (known.found[0]?.statement as LeafListStatement | undefined) : undefined;
    const rest = (before?.members ?? []).filter((member) => member.text !== text);
    const moved = before?.members.find((member) => member.text === text);
    let at = position === 'first' ? 0 : rest.length;
    if (anchor !== undefined) {
      const wanted = unquoted(anchor.text);
      const found = rest.findIndex((member) => member.text === wanted);
      if (wanted === text) return wrong(anchor.column, `${clamp(wanted)} is what is placed`);
      const hint = rest.length === 0 ? undefined : `there are: ${clamp(rest.map((member) => member.text).join(', '))}`;
      if (found < 0) return wrong(anchor.column, `${clamp(wanted)} is not in the list`, hint);
      at = position === 'before' ? found : found + 1;
    }
    const placed = this.#applier.set(this.tree.children, plan);
    if (!placed.ok) return refusal(placed.refusal, 0);
    const now = this.#applier.locate(this.tree.children, {
      ...plan,
      targets: plan.targets.map((one) => ('members' in one ? { ...one, members: [] } : one)),
    });
    const list = now.ok ? now.found[0]?.statement : undefined;
    if (list?.kind !== 'leaf-list') return wrong(0, 'the list is gone');
    const member = moved ?? list.members.find((one) => one.text === text)!;
    list.members.splice(0, list.members.length, ...rest.slice(0, at), member, ...rest.slice(at));
    return { ok: true, changed: 1 };
  }

  #insertEntry(piece: Piece, position: string, anchor: Piece | undefined): EditResult {
    const planned = this.#locate(piece);
    if (!planned.ok) return planned;
    const [found] = planned.located.found;
    if (found?.statement.kind !== 'entry') return wrong(piece.column, 'only members and entries of lists have an order');
    const { into, statement } = found;
    const same = into.filter((one) => one.kind === 'entry' && one.name === statement.name && one !== statement);
    let next: ConfigStatement | undefined = position === 'first' ? same[0] : undefined;
    let behind: ConfigStatement | undefined = position === 'last' ? same.at(-1) : undefined;
    if (anchor !== undefined) {
      const wanted = unquoted(anchor.text.trim().replace(new RegExp(`^${statement.name}\\s+`), ''));
      const other = same.find((one) => one.kind === 'entry' && one.keys.join(' ') === wanted);
      if (other === undefined) {
        const itself = statement.keys.join(' ') === wanted;
        return wrong(anchor.column, `${statement.name} ${clamp(wanted)} is ${itself ? 'what is placed' : 'not there'}`);
      }
      if (position === 'before') next = other;
      else behind = other;
    }
    if (next === undefined && behind === undefined) return { ok: true, changed: 0 };
    into.splice(into.indexOf(statement), 1);
    const at = next !== undefined ? into.indexOf(next) : into.indexOf(behind!) + 1;
    into.splice(at, 0, statement);
    this.#applier.siblings.forget(into);
    return { ok: true, changed: 1 };
  }

  /** What stands at a path; the whole context when it is empty. */
  find(
    piece: Piece,
  ):
    | { readonly ok: true; readonly statements: readonly ConfigStatement[]; readonly block: string }
    | { readonly ok: false; readonly fault: EditFault } {
    if (piece.text.trim() === '' && this.context.length === 0) return { ok: true, statements: this.tree.children, block: '' };
    const planned = this.#locate(piece);
    if (!planned.ok) return planned;
    const steps = this.#stepsOf(planned.plan);
    const { found } = planned.located;
    const [only] = found;
    const block = steps.join(' ');
    if (
      found.length === 1 &&
      only !== undefined &&
      (only.statement.kind === 'container' || only.statement.kind === 'entry') &&
      planned.plan.targets.length === 0
    )
      return { ok: true, statements: only.statement.children, block };
    return { ok: true, statements: found.map((one) => one.statement), block };
  }

  /** Schema at the context. */
  schemaHere(): ParentNode {
    const planned = this.context.length === 0 ? undefined : this.#planAt('', { text: this.where, column: 1 }, 'name');
    return planned?.ok === true ? (planned.plan.steps.at(-1)?.schema ?? this.tree.schema) : this.tree.schema;
  }

  /** Reads a line's path from where the editor stands. */
  plan(piece: Piece, intent: Intent): Planned {
    return this.#planAt(this.where, piece, intent);
  }

  #planAt(prefix: string, piece: Piece, intent: Intent): Planned {
    const lead = prefix === '' ? 0 : prefix.length + 1;
    const text = prefix === '' ? piece.text : `${prefix} ${piece.text}`;
    const shift = piece.column - 1 - lead;
    const findings = new Findings();
    let plan: Plan | undefined;
    try {
      const parser = new Parser(text, 'cli', this.#validators, findings);
      parser.root = this.tree.schema;
      const head = { place: { line: 1, column: lead + 1 }, inactive: false, comments: [], blank: false };
      plan = new PathReader(parser, { schema: this.tree.schema, path: '' }, intent).read(head);
      const after = parser.lexer.peek();
      if (!findings.failed && after.kind !== 'end') findings.fault(after, '', 'one statement a line');
    } catch (error) {
      if (!(error instanceof LexFault)) throw error;
      findings.fault(error.place, '', error.message);
    }
    const [first] = findings.sorted();
    if (first !== undefined) return { ok: false, fault: { ...editFault(first, shift), unknownName: findings.unknownNames > 0 } };
    if (plan === undefined) return wrong(piece.column, 'a path is needed');
    return { ok: true, plan };
  }

  #locate(
    piece: Piece,
  ): { readonly ok: true; readonly located: Located; readonly plan: Plan } | { readonly ok: false; readonly fault: EditFault } {
    const planned = this.plan(piece, 'name');
    if (!planned.ok) return planned;
    const located = this.#applier.locate(this.tree.children, planned.plan);
    if (!located.ok) return refusal(located.refusal, piece.column - 1 - (this.where === '' ? 0 : this.where.length + 1));
    return { ok: true, located, plan: planned.plan };
  }

  #apply(piece: Piece, intent: Intent, act: (plan: Plan) => ReturnType<Applier['set']>): EditResult {
    const planned = this.plan(piece, intent);
    if (!planned.ok) return planned;
    const applied = act(planned.plan);
    if (applied.ok) return applied;
    return refusal(applied.refusal, piece.column - 1 - (this.where === '' ? 0 : this.where.length + 1));
  }

  #stepsOf(plan: Plan): readonly string[] {
    return plan.steps.map(stepWords);
  }
}

/** A step as it is typed. */
export function stepWords(step: Step): string {
  const mark = step.inactive ? 'inactive:' : '';
  const number = step.ordinal > 0 ? `(${step.ordinal})` : '';
  const keys = step.kind === 'entry' && !step.anonymous ? ` ${step.keys.map(quote).join(' ')}` : '';
  return `${mark}${step.schema.name}${number}${keys}`;
}

export function cloneStatement<T extends ConfigStatement>(statement: T): T {
  const base = { ...statement, comments: [...statement.comments] };
  if (base.kind === 'leaf') return base;
  if (base.kind === 'leaf-list') return { ...base, members: [...base.members] };
  return { ...base, children: base.children?.map((child) => cloneStatement(child)), closing: [...base.closing] };
}

export function cloneTree(tree: SyntaxTree): SyntaxTree {
  return { ...tree, children: tree.children.map((child) => cloneStatement(child)), closing: [...tree.closing] };
}

/** An entry that may be reached by its name; lines of a repeatable list may not. */
export function isLine(step: Step): boolean {
  return step.kind === 'entry' && step.always && extension(step.schema, 'repeatable') !== undefined;
}

function editFault(fault: ConfigFault, shift: number): EditFault {
  const { expected, message } = fault;
  const more = expected === undefined || message.includes(expected) ? '' : `; expected ${expected}`;
  const column = fault.line > 1 ? 0 : Math.max(1, fault.column + shift);
  return { column, message: `${message}${more}`, hint: fault.hint };
}

function wrong(column: number, message: string, hint?: string): { readonly ok: false; readonly fault: EditFault } {
  return { ok: false, fault: { column, message, hint } };
}

function refusal(
  of: { readonly place: { readonly column: number }; readonly message: string; readonly hint?: string | undefined },
  shift: number,
): {
  readonly ok: false;
  readonly fault: EditFault;
} {
  return wrong(Math.max(1, of.place.column + shift), of.message, of.hint);
}

function unquoted(text: string): string {
  const trimmed = text.trim();
  return /^"(?:[^"\\]|\\.)*"$/.test(trimmed) ? trimmed.slice(1, -1).replaceAll(/\\(.)/g, '$1') : trimmed;
}
