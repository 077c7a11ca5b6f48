// Syntax tree to set lines. What has no value of its own (a block with a comment, an empty line before it, nothing inside) gets a
// line that names it alone; a block's closing comments stand before a second such line. What is printed reads back as the same tree.
import { childOf, extension, type ListNode } from '../../../yang/compile/schema.ts';
import { leafText, membersText, positional, printStatement, type PrintOptions, quote } from '../text/print.ts';
import { idOf } from '../text/statement-index.ts';
import type { BlockStatement, ConfigStatement, EntryStatement, FreeStatement, SyntaxTree } from '../text/syntax-tree.ts';

export function printSetConfig(tree: SyntaxTree, options: PrintOptions = {}): string {
  return setLines(tree.children, '', options, tree.closing);
}

/** The lines of some statements that stand at `prefix`, a path in words. */
export function setLines(
  statements: readonly ConfigStatement[],
  prefix: string,
  options: PrintOptions = {},
  closing: readonly string[] = [],
): string {
  const printer = new SetPrinter(options);
  printer.statements(statements, prefix === '' ? '' : `${prefix} `);
  printer.comments(closing);
  return printer.text();
}

class SetPrinter {
  readonly #lines: string[] = [];
  readonly #options: PrintOptions;

  constructor(options: PrintOptions) {
    this.#options = options;
  }

  text(): string {
    return this.#lines.length === 0 ? '' : `${this.#lines.join('\n')}\n`;
  }

  comments(comments: readonly string[]): void {
    for (const comment of comments) this.#lines.push(comment === '' ? '#' : `# ${comment}`);
  }

  statements(statements: readonly ConfigStatement[], prefix: string): void {
    const words = wordsOf(statements);
    for (const [at, statement] of statements.entries()) {
      const blank = at > 0 && statement.blank;
      const { name, marked } = words[at]!;
      this.#statement(statement, blank, prefix, name);
      if (statement.inactive && !marked) this.#lines.push(`inactive ${prefix}${name}`);
    }
  }

  named(statement: ConfigStatement, prefix: string, name: string): void {
    this.#statement(statement, false, prefix, name);
    if (statement.inactive && !name.startsWith('inactive:')) this.#lines.push(`inactive ${prefix}${name}`);
  }

  #line(path: string, trailing: string): void {
    this.#lines.push(trailing === '' ? `set ${path}` : `set ${path} # ${trailing}`);
  }

  #statement(statement: ConfigStatement, blank: boolean, prefix: string, name: string): void {
    if (blank) this.#lines.push('');
    this.comments(statement.comments);
    const path = `${prefix}${name}`;
    switch (statement.kind) {
      case 'leaf':
        this.#line(`${path}${leafText(statement, this.#options)}`, statement.trailing);
        return;
      case 'leaf-list':
        this.#line(`${path} ${membersText(statement)}`, statement.trailing);
        return;
      case 'container':
        if (extension(statement.schema, 'syntax') === 'freeform') this.#free(path, statement);
        else this.#block(path, statement, blank);
        return;
      case 'entry': {
        const fields = isShort(statement) ? positional(statement) : undefined;
        if (fields === undefined) this.#block(path, statement, blank);
        else this.#line([path, ...fields].join(' '), statement.trailing);
        return;
      }
      case 'free':
        this.#lines.push(`set ${path}${this.#rest(statement)}`);
        return;
    }
  }

  #block(path: string, block: BlockStatement | EntryStatement, blank: boolean): void {
    const inside = block.children.length > 0;
    const alone = !inside || block.comments.length > 0 || blank || block.trailing !== '';
    if (alone) this.#line(path, block.trailing);
    this.statements(block.children, `${path} `);
    if (block.closing.length === 0) return;
    this.comments(block.closing);
    this.#line(path, '');
  }

  #free(path: string, block: BlockStatement): void {
    if (block.children.length === 0 && block.closing.length === 0) {
      this.#line(path, block.trailing);
      return;
    }
    this.#lines.push(`set ${path}${this.#rest(block)}`);
  }

  /** The statement as hierarchical text, behind its name. */
  #rest(statement: BlockStatement | FreeStatement): string {
    const bare = { ...statement, comments: [], blank: false, inactive: false };
    return printStatement(bare, this.#options).trimEnd().slice(quote(statement.name).length);
  }
}

/** Entries that are written in one line each, as often as they come. */
function isShort(statement: ConfigStatement): boolean {
  return (
    statement.kind === 'entry' &&
    extension(statement.schema, 'repeatable') !== undefined &&
    extension(statement.schema, 'syntax') === 'inline-list'
  );
}

interface Words {
  /** Path words of the statement in its block. */
  readonly name: string;
  /** They say themselves that it is inactive. */
  readonly marked: boolean;
}

/** What each statement is called, so that the name leads to it alone. */
function wordsOf(statements: readonly ConfigStatement[]): readonly Words[] {
  const states = new Map<string, { active: number; inactive: number }>();
  for (const statement of statements) {
    const id = idOf(statement);
    const state = states.get(id) ?? { active: 0, inactive: 0 };
    state[statement.inactive ? 'inactive' : 'active']++;
    states.set(id, state);
  }
  const seen = new Map<string, number>();
  return statements.map((statement) => {
    const id = idOf(statement);
    const state = states.get(id)!;
    const key = `${id}\0${statement.inactive}`;
    const number = (seen.get(key) ?? 0) + 1;
    seen.set(key, number);
    const short = isShort(statement);
    const twins = state.active > 0 || state.inactive > 1;
    const marked = statement.inactive && (short || statement.kind === 'free' || twins);
    const counted =
      short && statement.kind === 'entry' ? positional(statement) === undefined : statement.kind === 'entry' && number > 1;
    const name = `${marked ? 'inactive:' : ''}${statement.name}${counted ? `(${number})` : ''}${keysOf(statement)}`;
    return { name, marked };
  });
}

/** The keys as words, behind a blank; none for an entry whose key was left out, where the list allows that. */
function keysOf(statement: ConfigStatement): string {
  if (statement.kind !== 'entry') return '';
  const { schema, keys, anonymous } = statement;
  const repeatable = extension(schema, 'repeatable') !== undefined;
  const inline = extension(schema, 'syntax') === 'inline-list';
  if (repeatable && !inline && anonymous) return '';
  return ` ${keys.map((key) => (repeatable && !inline && readsAsField(schema, key) ? `"${key}"` : quote(key))).join(' ')}`;
}

function readsAsField(schema: ListNode, key: string): boolean {
  return childOf(schema, key.replace(/\(\d+\)$/, '')) !== undefined;
}

/** What each of some statements of one block is called in a path. */
export function namesOf(statements: readonly ConfigStatement[]): readonly string[] {
  return wordsOf(statements).map(({ name }) => name);
}

/** The lines of one statement that is called `name` in its block, comments and empty lines left out. A freeform block is one element. */
export function linesOf(statement: ConfigStatement, prefix: string, name: string, options: PrintOptions = {}): readonly string[] {
  const printer = new SetPrinter(options);
  printer.named(withoutComments(statement), prefix === '' ? '' : `${prefix} `, name);
  return printer
    .text()
    .split(/\n(?=set |inactive |$)/)
    .filter((line) => line !== '');
}

function withoutComments<T extends ConfigStatement>(statement: T): T {
  const children = 'children' in statement ? statement.children?.map((child) => withoutComments(child)) : undefined;
  const bare = { ...statement, comments: [], trailing: '', blank: false };
  return children === undefined ? bare : { ...bare, children, closing: [] };
}
