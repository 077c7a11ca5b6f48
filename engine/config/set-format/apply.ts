// Plans applied to a tree: set, delete, mark. Each either happens whole or answers why not and leaves the tree as it was.
import { clamp, type Place } from '../fault.ts';
import { isPositional, lineStays } from '../text/list-parser.ts';
import { isSecret } from '../secret.ts';
import { idOf } from '../text/statement-index.ts';
import {
  append,
  type BlockStatement,
  type ConfigStatement,
  type EntryStatement,
  type LeafListStatement,
  type LeafStatement,
  type Member,
} from '../text/syntax-tree.ts';
import type { Plan, Step, Target } from './path.ts';
import { Siblings } from './siblings.ts';

/** Why a plan cannot be applied. */
export interface Refusal {
  readonly place: Place;
  readonly message: string;
  readonly hint?: string | undefined;
}

export type Applied = { readonly ok: true; readonly changed: number } | { readonly ok: false; readonly refusal: Refusal };

export type BlockLike = BlockStatement | EntryStatement;

export interface ApplierOptions {
  readonly origin: string;
  /**
   * A file is written in order, so a bare line for a block that exists carries the block's closing comments, a repeated short line is
   * a second entry, and what was written as `inactive:name` is only reached as such. For people none of this holds.
   */
  readonly reading: boolean;
}

export class Applier {
  readonly siblings = new Siblings();
  readonly #options: ApplierOptions;
  readonly #apart = new WeakSet<ConfigStatement>();

  constructor(options: ApplierOptions) {
    this.#options = options;
  }

  /** Creates what is missing on the way and assigns what stands at the end. */
  set(root: ConfigStatement[], plan: Plan): Applied {
    const faulty = plan.steps.length === 0 && plan.targets.length === 0;
    if (faulty) return refused(plan.head.place, 'a path is needed');
    let into = root;
    let made: BlockLike | undefined;
    let last: BlockLike | undefined;
    let fresh = false;
    const pending: { into: ConfigStatement[]; block: BlockLike }[] = [];
    for (const step of plan.steps) {
      const found = this.#find(fresh ? [] : into, step);
      if (!found.ok) return found;
      let block = found.statement as BlockLike | undefined;
      if (block === undefined) {
        block = this.#create(step);
        made ??= block;
        pending.push({ into, block });
        fresh = true;
      }
      last = block;
      into = block.children;
    }
    // For people a line that is there already is not there twice.
    if (!this.#options.reading && plan.short && pending.length === 1 && this.#isThere(pending[0]!, plan.targets))
      return { ok: true, changed: 0 };
    for (const { into: siblings, block } of pending) this.siblings.add(siblings, block);
    let changed = pending.length;
    if (plan.targets.length === 0) {
      this.#comment(plan, last, pending.length > 0);
      // The comment of a line that makes several blocks is the last one's; the empty line before it is the first one's.
      if (made !== undefined) setBlank(made, plan.head.blank);
      return { ok: true, changed };
    }
    if (made !== undefined) setBlank(made, plan.head.blank);
    const free = plan.targets.some((target) => target.kind === 'free' && !target.own);
    const entryOwns = plan.short || free;
    if (entryOwns) this.#comment(plan, last, true);
    for (const target of plan.targets) {
      if (target.kind === 'free' && last !== undefined) append(last.closing, target.closing);
    }
    for (const target of plan.targets) changed += this.#assign(into, target, plan, entryOwns, made === undefined);
    return { ok: true, changed };
  }

  /** Takes away what the plan names. */
  delete(root: ConfigStatement[], plan: Plan): Applied {
    const named = this.#named(root, plan);
    if (!named.ok) return named;
    for (const { into, statement, member } of named.found) {
      if (member === undefined) this.siblings.remove(into, statement);
      else if (statement.kind === 'leaf-list') statement.members.splice(statement.members.indexOf(member), 1);
    }
    return { ok: true, changed: named.found.length };
  }

  /** Marks what the plan names as inactive, or takes the mark away. */
  mark(root: ConfigStatement[], plan: Plan, inactive: boolean): Applied {
    const named = this.#named(root, plan, !inactive);
    if (!named.ok) return named;
    const line = named.found.find(({ statement }) => statement.kind === 'entry' && isPositional(statement.schema))?.statement;
    if (inactive && line?.kind === 'entry') return refused(plan.head.place, lineStays(line.schema));
    let changed = 0;
    for (const { into, statement, member } of named.found) {
      if (this.#options.reading)
        append(statement.comments, [...plan.head.comments, ...(plan.trailing === '' ? [] : [plan.trailing])]);
      if ((member ?? statement).inactive === inactive) continue;
      if (member !== undefined && statement.kind === 'leaf-list') {
        statement.members[statement.members.indexOf(member)] = { ...member, inactive };
      } else {
        const twins =
          statement.kind === 'free' || isRepeatable(statement) ? [] : this.siblings.all(into, idOf(statement), inactive);
        const [twin] = twins;
        if (twin !== undefined && !inactive)
          return refused(plan.head.place, `${plan.path} stands there active already`, 'delete one of the two');
        this.siblings.replace(into, statement, { ...statement, inactive });
      }
      changed++;
    }
    return { ok: true, changed };
  }

  /** The statement the plan leads to: a block, an entry, a leaf. */
  locate(root: ConfigStatement[], plan: Plan): Located | Refused {
    return this.#named(root, plan);
  }

  #isThere({ into, block }: { into: ConfigStatement[]; block: BlockLike }, targets: readonly Target[]): boolean {
    return this.siblings.all(into, idOf(block), false).some((one) => one.kind === 'entry' && sameFields(one, targets));
  }

  #find(into: ConfigStatement[], step: Step): Found {
    const id = idOf(step.kind === 'entry' ? { name: step.schema.name, keys: step.keys } : { name: step.schema.name });
    if (step.kind === 'entry' && step.always) return { ok: true, statement: undefined };
    return this.#pick(into, id, step, step.kind === 'entry' ? `${step.schema.name} ${step.keys.join(' ')}` : step.schema.name);
  }

  #pick(
    into: ConfigStatement[],
    id: string,
    which: { readonly inactive: boolean; readonly ordinal: number; readonly place: Place },
    name: string,
  ): Found {
    const at = Math.max(0, which.ordinal - 1);
    const active = which.inactive ? [] : this.siblings.all(into, id, false);
    const off = this.siblings.all(into, id, true).filter((one) => which.inactive || !this.#apart.has(one));
    const pool = active.length > 0 ? active : off;
    const statement = pool[at];
    if (statement === undefined && which.ordinal > pool.length + 1)
      return refused(which.place, `there are ${pool.length} of ${clamp(name)}, not ${which.ordinal - 1} before it`);
    return { ok: true, statement };
  }

  #create(step: Step): BlockLike {
    const common = {
      name: step.schema.name,
      place: { line: step.place.line, column: step.place.column },
      origin: this.#options.origin,
      inactive: step.inactive,
      comments: [],
      trailing: '',
      blank: false,
      children: [],
      closing: [],
    };
    const block: BlockLike =
      step.kind === 'container'
        ? { kind: 'container', ...common, schema: step.schema }
        : { kind: 'entry', ...common, schema: step.schema, keys: step.keys, anonymous: step.anonymous };
    if (step.inactive && this.#options.reading) this.#apart.add(block);
    return block;
  }

  #comment(plan: Plan, block: BlockLike | undefined, made: boolean): void {
    if (block === undefined) return;
    append(made || !this.#options.reading ? block.comments : block.closing, plan.head.comments);
    if (plan.trailing !== '') block.trailing = plan.trailing;
  }

  #assign(into: ConfigStatement[], target: Target, plan: Plan, bare: boolean, blank: boolean): number {
    switch (target.kind) {
      case 'leaf':
        return this.#leaf(into, target, plan, bare, blank);
      case 'leaf-list':
        return this.#leafList(into, target, plan, bare, blank);
      case 'free':
        for (const statement of target.statements) this.siblings.add(into, statement);
        return target.statements.length;
      case 'list':
      case 'free-words':
        return 0;
    }
  }

  #leaf(into: ConfigStatement[], target: Extract<Target, { kind: 'leaf' }>, plan: Plan, bare: boolean, blank: boolean): number {
    const found = this.#pick(into, target.schema.name, target, target.schema.name);
    const before = found.ok ? found.statement : undefined;
    const value = target.value ?? '';
    const statement: LeafStatement = {
      kind: 'leaf',
      name: target.schema.name,
      place: { line: target.place.line, column: target.place.column },
      origin: this.#options.origin,
      inactive: before?.inactive ?? target.inactive,
      comments: [...(before?.comments ?? []), ...(bare ? [] : plan.head.comments)],
      trailing: bare || plan.trailing === '' ? (before?.trailing ?? '') : plan.trailing,
      blank: before?.blank ?? (!bare && blank && plan.head.blank),
      schema: target.schema,
      value,
    };
    if (target.inactive && this.#options.reading) this.#apart.add(statement);
    if (before === undefined) this.siblings.add(into, statement);
    else this.siblings.replace(into, before, statement);
    return before?.kind === 'leaf' && before.value === value ? 0 : 1;
  }

  #leafList(
    into: ConfigStatement[],
    target: Extract<Target, { kind: 'leaf-list' }>,
    plan: Plan,
    bare: boolean,
    blank: boolean,
  ): number {
    const found = this.#pick(into, target.schema.name, target, target.schema.name);
    const before = found.ok && found.statement?.kind === 'leaf-list' ? found.statement : undefined;
    const kept = before === undefined || target.whole ? [] : before.members;
    const members = [...kept, ...target.members.filter((member) => target.whole || !kept.some((one) => sameMember(one, member)))];
    const statement: LeafListStatement = {
      kind: 'leaf-list',
      name: target.schema.name,
      place: before?.place ?? { line: target.place.line, column: target.place.column },
      origin: this.#options.origin,
      inactive: before?.inactive ?? target.inactive,
      comments: [...(before?.comments ?? []), ...(bare ? [] : plan.head.comments)],
      trailing: bare || plan.trailing === '' ? (before?.trailing ?? '') : plan.trailing,
      blank: before?.blank ?? (!bare && blank && plan.head.blank),
      schema: target.schema,
      members,
    };
    if (target.inactive && this.#options.reading) this.#apart.add(statement);
    if (before === undefined) this.siblings.add(into, statement);
    else this.siblings.replace(into, before, statement);
    return before !== undefined && sameMembers(before.members, members) ? 0 : 1;
  }

  /** Everything the plan names. `preferOff`: where two are called the same, the inactive one is meant. */
  #named(root: ConfigStatement[], plan: Plan, preferOff = false): Located | Refused {
    let into = root;
    let last: { into: ConfigStatement[]; statement: ConfigStatement } | undefined;
    for (const [at, step] of plan.steps.entries()) {
      if (step.kind === 'entry' && step.always) return this.#namedShort(into, step, plan);
      const end = at === plan.steps.length - 1 && plan.targets.length === 0;
      const found = this.#find(into, end && preferOff && !step.inactive ? this.#off(into, step) : step);
      if (!found.ok) return found;
      if (found.statement === undefined) return refused(step.place, `${labelOf(step)} is not there`, this.#near(into, step));
      last = { into, statement: found.statement };
      into = (found.statement as BlockLike).children;
    }
    const [target] = plan.targets;
    if (target === undefined) return last === undefined ? refused(plan.head.place, 'a path is needed') : located(last);
    return this.#namedTarget(into, target, plan, preferOff);
  }

  #off(into: ConfigStatement[], step: Step): Step {
    const id = idOf(step.kind === 'entry' ? { name: step.schema.name, keys: step.keys } : { name: step.schema.name });
    return this.siblings.all(into, id, true).length > 0 ? { ...step, inactive: true } : step;
  }

  #namedTarget(into: ConfigStatement[], target: Target, plan: Plan, preferOff: boolean): Located | Refused {
    switch (target.kind) {
      case 'leaf':
      case 'leaf-list': {
        const { name } = target.schema;
        const off = preferOff && this.siblings.all(into, name, true).length > 0;
        const found = this.#pick(into, name, off ? { ...target, inactive: true } : target, name);
        const statement = found.ok ? found.statement : undefined;
        if (statement === undefined) return refused(target.place, `${name} is not set`);
        if (target.kind === 'leaf') {
          if (statement.kind === 'leaf' && target.value !== undefined && statement.value !== target.value)
            return refused(
              target.place,
              isSecret(target.schema)
                ? `${name} is another one`
                : `${name} is ${clamp(statement.value)}, not ${clamp(target.value)}`,
            );
          return located({ into, statement });
        }
        if (target.members.length === 0 || statement.kind !== 'leaf-list') return located({ into, statement });
        return namedMembers(into, statement, target);
      }
      case 'list': {
        const entries = into.filter((one) => one.kind === 'entry' && one.name === target.schema.name);
        if (entries.length === 0) return refused(target.place, `there is no ${target.schema.name}`);
        return { ok: true, found: entries.map((statement) => ({ into, statement })) };
      }
      case 'free-words':
        return namedFree(into, target.words, target.place);
      case 'free':
        return refused(plan.head.place, 'a path is needed, not a block');
    }
  }

  /** Entries of a repeatable list in short form: those whose words begin as said. */
  #namedShort(into: ConfigStatement[], step: Extract<Step, { kind: 'entry' }>, plan: Plan): Located | Refused {
    const id = idOf({ name: step.schema.name, keys: step.keys });
    const all = [...this.siblings.all(into, id, false), ...this.siblings.all(into, id, true)];
    const wanted = plan.targets.flatMap(textsOf);
    const like = all.filter((one): one is EntryStatement => one.kind === 'entry' && begins(one, wanted));
    const equal = like.filter((one) => sameFields(one, plan.targets));
    const found = equal.length > 0 && wanted.length > 0 ? equal : like;
    if (found.length === 0) return refused(step.place, `${labelOf(step)} ${clamp(wanted.join(' '))}`.trim() + ' is not there');
    return { ok: true, found: found.map((statement) => ({ into, statement })) };
  }

  #near(into: ConfigStatement[], step: Step): string | undefined {
    const names = into.flatMap((one) => (one.kind === 'entry' && one.name === step.schema.name ? [one.keys.join(' ')] : []));
    if (step.kind !== 'entry' || names.length === 0) return undefined;
    const shown = names.slice(0, 8).join(', ');
    return `there ${names.length === 1 ? 'is' : 'are'}: ${clamp(shown)}${names.length > 8 ? ', …' : ''}`;
  }
}

type Found = { readonly ok: true; readonly statement: ConfigStatement | undefined } | Refused;
export interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}
export interface Located {
  readonly ok: true;
  readonly found: readonly {
    readonly into: ConfigStatement[];
    readonly statement: ConfigStatement;
    /** One member of the leaf-list. */
    readonly member?: Member;
  }[];
}

function located(one: Located['found'][number]): Located {
  return { ok: true, found: [one] };
}

function refused(place: Place, message: string, hint?: string): Refused {
  return { ok: false, refusal: { place, message, hint } };
}

function labelOf(step: Step): string {
  return step.kind === 'entry' ? `${step.schema.name} ${clamp(step.keys.join(' '))}` : step.schema.name;
}

function namedMembers(
  into: ConfigStatement[],
  statement: LeafListStatement,
  target: Extract<Target, { kind: 'leaf-list' }>,
): Located | Refused {
  const found = [];
  for (const { text, place } of target.members) {
    const plain = text.startsWith('inactive:') ? text.slice('inactive:'.length) : text;
    const member = statement.members.find((one) => one.text === plain);
    if (member === undefined) return refused(place, `${clamp(plain)} is no member of ${statement.name}`);
    found.push({ into, statement, member });
  }
  return { ok: true, found };
}

function namedFree(into: ConfigStatement[], words: readonly string[], place: Place): Located | Refused {
  for (const statement of into) {
    if (statement.kind !== 'free') continue;
    const own = [statement.name, ...statement.words];
    const common = Math.min(own.length, words.length);
    if (own.slice(0, common).some((word, at) => word !== words[at])) continue;
    if (words.length <= own.length) return located({ into, statement });
    if (statement.children === undefined) continue;
    return namedFree(statement.children, words.slice(own.length), place);
  }
  return refused(place, `${clamp(words.join(' '))} is not there`);
}

function textsOf(target: Target): readonly string[] {
  switch (target.kind) {
    case 'leaf':
      return target.value === undefined ? [] : [target.value];
    case 'leaf-list':
      return target.members.map((member) => member.text);
    case 'list':
    case 'free':
    case 'free-words':
      return [];
  }
}

function begins(entry: EntryStatement, words: readonly string[]): boolean {
  const own = entry.children.flatMap((child) =>
    child.kind === 'leaf' ? [child.value] : child.kind === 'leaf-list' ? child.members.map((member) => member.text) : [],
  );
  return words.length <= own.length && words.every((word, at) => own[at] === word);
}

function sameFields(entry: EntryStatement, targets: readonly Target[]): boolean {
  const words = targets.flatMap(textsOf);
  const own = entry.children.flatMap((child) =>
    child.kind === 'leaf' ? [child.value] : child.kind === 'leaf-list' ? child.members.map((member) => member.text) : [],
  );
  return own.length === words.length && begins(entry, words);
}

function sameMember(a: Member, b: Member): boolean {
  return a.text === b.text;
}

function sameMembers(a: readonly Member[], b: readonly Member[]): boolean {
  return a.length === b.length && a.every((one, at) => one.text === b[at]?.text && one.inactive === b[at].inactive);
}

function isRepeatable(statement: ConfigStatement): boolean {
  return statement.kind === 'entry' && statement.schema.extensions?.['repeatable'] !== undefined;
}

function setBlank(block: BlockLike, blank: boolean): void {
  if (blank) (block as { blank: boolean }).blank = true;
}
