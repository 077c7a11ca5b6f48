// What lies between two trees, as statements that came, went or differ, each under the path of its block. `compare` prints it, a rebase
// applies it to another tree.
import { extension } from '../../../yang/compile/schema.ts';
import { leafText, membersText, printStatement } from '../text/print.ts';
import { linesOf, namesOf } from '../set-format/print.ts';
import { idOf } from '../text/statement-index.ts';
import { append, type ConfigStatement } from '../text/syntax-tree.ts';

export type Difference = {
  /** Path words of the block the statement stands in; '' at the top. */
  readonly block: string;
  /** Path words of the statement in that block. */
  readonly name: string;
} & (
  | { readonly kind: 'added' | 'removed'; readonly statement: ConfigStatement }
  /** A leaf or leaf-list with another value. */
  | { readonly kind: 'value'; readonly before: ConfigStatement; readonly after: ConfigStatement }
  | { readonly kind: 'mark'; readonly statement: ConfigStatement; readonly inactive: boolean }
  | {
      readonly kind: 'comments';
      readonly before: readonly string[];
      readonly after: readonly string[];
      readonly statement: ConfigStatement;
    }
  /** The statements that stand in both have another order; names in the new one. */
  | { readonly kind: 'order'; readonly names: readonly string[] }
);

export function differences(
  before: readonly ConfigStatement[],
  after: readonly ConfigStatement[],
  block = '',
): readonly Difference[] {
  const out: Difference[] = [];
  walk(before, after, block, out);
  return out;
}

function walk(before: readonly ConfigStatement[], after: readonly ConfigStatement[], block: string, out: Difference[]): void {
  const pairs = pairUp(before, after);
  const beforeNames = namesOf(before);
  const afterNames = namesOf(after);
  const taken = new Set(pairs.values());
  // From the last on: a number in a name counts those before it.
  for (let at = before.length - 1; at >= 0; at--)
    if (!taken.has(before[at]!)) out.push({ kind: 'removed', block, name: beforeNames[at]!, statement: before[at]! });
  for (const [at, statement] of after.entries()) {
    const name = afterNames[at]!;
    const old = pairs.get(statement);
    if (old === undefined) out.push({ kind: 'added', block, name, statement });
    else compareOne(old, statement, block, name, out);
  }
  const kept = before.filter((one) => taken.has(one));
  const now = after.filter((one) => pairs.has(one));
  if (now.some((one, at) => pairs.get(one) !== kept[at])) {
    const names = after.flatMap((one, at) => (pairs.has(one) ? [afterNames[at]!] : []));
    out.push({ kind: 'order', block, name: '', names });
  }
}

function compareOne(old: ConfigStatement, now: ConfigStatement, block: string, name: string, out: Difference[]): void {
  if (old.inactive !== now.inactive) out.push({ kind: 'mark', block, name, statement: now, inactive: now.inactive });
  if (!sameTexts(commentsOf(old), commentsOf(now)))
    out.push({ kind: 'comments', block, name, statement: now, before: commentsOf(old), after: commentsOf(now) });
  if ((old.kind === 'container' || old.kind === 'entry') && (now.kind === 'container' || now.kind === 'entry')) {
    const free = old.kind === 'container' && extension(old.schema, 'syntax') === 'freeform';
    if (!free) walk(old.children, now.children, block === '' ? name : `${block} ${name}`, out);
    else if (bodyOf(old) !== bodyOf(now)) out.push({ kind: 'value', block, name, before: old, after: now });
    return;
  }
  if (bodyOf(old) !== bodyOf(now)) out.push({ kind: 'value', block, name, before: old, after: now });
}

/** After → before, for what is the same statement: by state first, then across. Lines of a repeatable list are the same when they say the same. */
function pairUp(before: readonly ConfigStatement[], after: readonly ConfigStatement[]): Map<ConfigStatement, ConfigStatement> {
  const pairs = new Map<ConfigStatement, ConfigStatement>();
  const keyOf = (one: ConfigStatement): string => {
    return isLine(one) || one.kind === 'free' ? `${idOf(one)}\0${bodyOf(one)}` : idOf(one);
  };
  const waiting = new Map<string, ConfigStatement[]>();
  for (const one of before) {
    const list = waiting.get(keyOf(one));
    if (list === undefined) waiting.set(keyOf(one), [one]);
    else list.push(one);
  }
  for (const across of [false, true]) {
    for (const one of after) {
      if (pairs.has(one)) continue;
      const list = waiting.get(keyOf(one)) ?? [];
      const at = list.findIndex((other) => across || other.inactive === one.inactive);
      if (at < 0) continue;
      pairs.set(one, list[at]!);
      list.splice(at, 1);
    }
  }
  return pairs;
}

/** One of many lines of a repeatable list: it has no name but what it says. */
function isLine(one: ConfigStatement): boolean {
  return (
    one.kind === 'entry' && extension(one.schema, 'repeatable') !== undefined && extension(one.schema, 'syntax') === 'inline-list'
  );
}

function commentsOf(statement: ConfigStatement): readonly string[] {
  return statement.trailing === '' ? statement.comments : [...statement.comments, statement.trailing];
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, at) => text === b[at]);
}

/** The statement without comments and mark. */
function bodyOf(statement: ConfigStatement): string {
  if (statement.kind === 'leaf') return leafText(statement);
  if (statement.kind === 'leaf-list') return membersText(statement);
  return printStatement({ ...statement, comments: [], trailing: '', blank: false, inactive: false });
}

/** The differences for people: `[edit BLOCK]`, then what went (`-`), came (`+`) or was switched (`!`). '' when there are none. */
export function compareText(found: readonly Difference[]): string {
  const lines: string[] = [];
  let block: string | undefined;
  for (const one of found) {
    if (one.block !== block) {
      block = one.block;
      lines.push(block === '' ? '[edit]' : `[edit ${block}]`);
    }
    switch (one.kind) {
      case 'added':
        append(lines, marked('+', one.statement));
        break;
      case 'removed':
        append(lines, marked('-', one.statement));
        break;
      case 'value':
        append(lines, marked('-', bare(one.before)));
        append(lines, marked('+', bare(one.after)));
        break;
      case 'mark':
        lines.push(`!   ${one.inactive ? 'inactive' : 'active'}: ${one.name}`);
        break;
      case 'comments':
        for (const text of one.before) lines.push(`-   # ${text}`);
        for (const text of one.after) lines.push(`+   # ${text}`);
        lines.push(`    ${one.name}`);
        break;
      case 'order':
        lines.push(`!   order: ${one.names.join(', ')}`);
        break;
    }
  }
  return lines.map((line) => `${line}\n`).join('');
}

function bare(statement: ConfigStatement): ConfigStatement {
  return { ...statement, comments: [], trailing: '' };
}

function marked(sign: string, statement: ConfigStatement): string[] {
  const text = printStatement({ ...statement, blank: false }, { secrets: false });
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (line === '' ? sign : `${sign}   ${line}`));
}

/** The lines that make the one tree into the other, as they would be typed. */
export function deltaCommands(found: readonly Difference[], secrets = true): readonly string[] {
  return found.flatMap((one) => commandsOf(one, secrets).map((command) => command.replaceAll(/\n\s*/g, ' ')));
}

function commandsOf(one: Difference, secrets: boolean): readonly string[] {
  {
    const path = one.block === '' ? one.name : `${one.block} ${one.name}`;
    switch (one.kind) {
      case 'added':
        return linesOf(one.statement, one.block, one.name, { secrets });
      case 'removed':
        return [
          `delete ${isLine(one.statement) ? linesOf(one.statement, one.block, one.name, { secrets })[0]!.slice('set '.length) : path}`,
        ];
      case 'value':
        return one.after.kind === 'container'
          ? [`delete ${path}`, ...linesOf(one.after, one.block, one.name, { secrets })]
          : linesOf({ ...one.after, inactive: false }, one.block, one.name, { secrets });
      case 'mark':
        return [`${one.inactive ? 'deactivate' : 'activate'} ${path}`];
      case 'comments':
        return [`annotate ${path} ${JSON.stringify(one.after.join('\n'))}`];
      case 'order':
        return [];
    }
  }
}
