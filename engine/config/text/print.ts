// Syntax tree to hierarchical text: four blanks a level, comments kept, values quoted where they must be. What is printed
// reads back as the same tree.
import { extension, type LeafNode } from '../../../yang/compile/schema.ts';
import { encodeSecret, SECRET_MASK } from '../secret.ts';
import {
  append,
  type ConfigStatement,
  type EntryStatement,
  type FreeStatement,
  type LeafListStatement,
  type LeafStatement,
  type Member,
  type SyntaxTree,
} from './syntax-tree.ts';

const INDENT = '    ';

export interface PrintOptions {
  /**
   * Secrets as files hold them, `$9$…` (the default); true: as they are; false: masked, and the text does not read back as the same tree.
   */
  readonly secrets?: boolean | 'encoded';
}

export function printConfig(tree: SyntaxTree, options: PrintOptions = {}): string {
  const printer = new Printer(options.secrets ?? 'encoded');
  printer.statements(tree.children, '');
  printer.comments(tree.closing, '');
  return printer.text();
}

/** One statement as hierarchical text. */
export function printStatement(statement: ConfigStatement, options: PrintOptions = {}): string {
  const printer = new Printer(options.secrets ?? 'encoded');
  printer.statements([statement], '');
  return printer.text();
}

/** A leaf's value as it is printed: see `PrintOptions.secrets`. */
function secretText(schema: LeafNode, value: string, secrets: boolean | 'encoded'): string {
  if (secrets === true || extension(schema, 'sensitive') === undefined) return value;
  return secrets === 'encoded' ? encodeSecret(value) : SECRET_MASK;
}

/** A value as the parser reads it back: quoted when it is empty, holds a separator, or could be taken for something else. */
export function quote(value: string): string {
  if (/^[^\s{}[\];"'#()]+$/.test(value) && !value.startsWith('inactive:')) return value;
  const escaped = value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
  return `"${escaped}"`;
}

class Printer {
  readonly #lines: string[] = [];
  readonly #secrets: boolean | 'encoded';

  constructor(secrets: boolean | 'encoded') {
    this.#secrets = secrets;
  }

  text(): string {
    return this.#lines.length === 0 ? '' : `${this.#lines.join('\n')}\n`;
  }

  comments(comments: readonly string[], indent: string): void {
    for (const comment of comments) this.#lines.push(comment === '' ? `${indent}#` : `${indent}# ${comment}`);
  }

  statements(statements: readonly ConfigStatement[], indent: string): void {
    for (let at = 0; at < statements.length; at++) {
      const statement = at === 0 ? { ...statements[0]!, blank: false } : statements[at]!;
      if (isInline(statement)) {
        // Entries of an inline list that stand together share a block.
        let end = at + 1;
        while (end < statements.length && statements[end]!.kind === 'entry' && statements[end]!.name === statement.name) end++;
        this.#inlineList([statement, ...statements.slice(at + 1, end)] as EntryStatement[], indent);
        at = end - 1;
      } else this.#statement(statement, indent);
    }
  }

  #before(statement: ConfigStatement, indent: string): string {
    if (statement.blank) this.#lines.push('');
    this.comments(statement.comments, indent);
    return statement.inactive ? `${indent}inactive: ` : indent;
  }

  #line(text: string, trailing: string): void {
    this.#lines.push(trailing === '' ? text : `${text} # ${trailing}`);
  }

  #statement(statement: ConfigStatement, indent: string): void {
    const start = this.#before(statement, indent);
    switch (statement.kind) {
      case 'leaf':
        this.#line(`${start}${statement.name}${leafText(statement, { secrets: this.#secrets })};`, statement.trailing);
        return;
      case 'leaf-list':
        this.#line(`${start}${statement.name} ${membersText(statement)};`, statement.trailing);
        return;
      case 'container':
        if (statement.schema.presence === true && statement.children.length === 0 && statement.closing.length === 0) {
          this.#line(`${start}${statement.name};`, statement.trailing);
        } else this.#block(`${start}${statement.name}`, statement, indent);
        return;
      case 'entry':
        this.#block(
          `${start}${statement.name}${statement.anonymous ? '' : ` ${statement.keys.map(quote).join(' ')}`}`,
          statement,
          indent,
        );
        return;
      case 'free':
        this.#freeStatement(start, statement, indent);
        return;
    }
  }

  #freeStatement(start: string, statement: FreeStatement, indent: string): void {
    const head = `${start}${[statement.name, ...statement.words].map(quote).join(' ')}`;
    if (statement.children === undefined) this.#line(`${head};`, statement.trailing);
    else this.#block(head, { ...statement, children: statement.children }, indent);
  }

  #block(
    head: string,
    block: { children: readonly ConfigStatement[]; closing: readonly string[]; trailing: string },
    indent: string,
  ): void {
    this.#lines.push(`${head} {`);
    this.statements(block.children, `${indent}${INDENT}`);
    this.comments(block.closing, `${indent}${INDENT}`);
    this.#line(`${indent}}`, block.trailing);
  }

  /** `family { ipv4/unicast { … } ipv6/unicast { … } }`: one block, an entry a line where its fields are plain. */
  #inlineList(entries: readonly EntryStatement[], indent: string): void {
    const first = entries[0]!;
    if (first.blank) this.#lines.push('');
    this.#lines.push(`${indent}${first.name} {`);
    const inner = `${indent}${INDENT}`;
    entries.forEach((entry, index) => {
      const start = this.#before(index === 0 ? { ...entry, blank: false } : entry, inner);
      const head = `${start}${entry.keys.map(quote).join(' ')}`;
      const words = positional(entry, this.#secrets);
      if (words === undefined) this.#block(head, entry, inner);
      else this.#line(`${[head, ...words].join(' ')};`, entry.trailing);
    });
    this.#lines.push(`${indent}}`);
  }
}

function isInline(statement: ConfigStatement): boolean {
  return statement.kind === 'entry' && extension(statement.schema, 'syntax') === 'inline-list';
}

/** The entry's fields as words in the schema's order, when they can be written so. */
export function positional(entry: EntryStatement, secrets: boolean | 'encoded' = 'encoded'): string[] | undefined {
  if (entry.closing.length > 0) return undefined;
  const fields = entry.schema.children.filter((child) => !entry.schema.keys.includes(child.name));
  const words: string[] = [];
  for (const [index, child] of entry.children.entries()) {
    if (child.comments.length > 0 || child.trailing !== '' || child.inactive || fields[index]?.name !== child.name)
      return undefined;
    if (child.kind === 'leaf-list' && child.members.some((member) => member.inactive)) return undefined;
    if (child.kind === 'leaf') words.push(quote(secretText(child.schema, child.value, secrets)));
    else if (child.kind === 'leaf-list' && index === entry.children.length - 1) append(words, child.members.map(rawWord));
    else return undefined;
  }
  return words;
}

/** Brackets in another language's words stay brackets. */
function rawWord(member: Member): string {
  return '[]()'.includes(member.text) && member.text.length === 1 ? member.text : quote(member.text);
}

/** The value behind its blank. */
export function leafText({ schema, value }: LeafStatement, { secrets = 'encoded' }: PrintOptions = {}): string {
  if (schema.type.base === 'empty') return '';
  return ` ${quote(secretText(schema, value, secrets))}`;
}

export function membersText(statement: LeafListStatement): string {
  const words = statement.members.map((member) => `${member.inactive ? 'inactive:' : ''}${quote(member.text)}`);
  return words.length === 1 ? words[0]! : `[ ${words.join(' ')} ]`;
}
