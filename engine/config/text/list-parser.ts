// Lists, in their four forms: an entry with a block, values in the schema's order, several entries in one block, and the entry
// whose key was left out.
import { childOf, extension, type ListNode, type ParentNode } from '../../../yang/compile/schema.ts';
import { clamp, join } from '../fault.ts';
import { describe } from './lexer.ts';
import { type Head, INACTIVE, type Parser, type Where } from './parser.ts';
import { isSecret } from '../secret.ts';
import { idOf } from './statement-index.ts';
import { append, type ConfigStatement, type EntryStatement } from './syntax-tree.ts';
import { canonical } from './values.ts';

/** Lines of nothing but values: they have no block that a mark could stand before. */
export function isPositional(schema: ListNode): boolean {
  const flat = schema.children.every((child) => child.kind === 'leaf' || child.kind === 'leaf-list');
  return flat && extension(schema, 'syntax') === 'inline-list';
}

export function lineStays(schema: ListNode): string {
  return `a line of ${schema.name} cannot be inactive: deactivate the block around it, or delete the line`;
}

export class ListParser {
  readonly #parser: Parser;

  constructor(parser: Parser) {
    this.#parser = parser;
  }

  /** A list statement behind its name, in any of its forms. */
  list(where: Where, schema: ListNode, head: Head, path: string): void {
    const token = this.#parser.lexer.peek();
    if (token.kind === '{') {
      if (extension(schema, 'syntax') === 'inline-list') {
        const outer: Where = { schema, into: where.into, path };
        const owner = { closing: [] as string[], trailing: '' };
        let first = true;
        this.#parser.body(outer, owner, head, (inner) => {
          const comments = first ? [...head.comments, ...inner.comments] : inner.comments;
          const blank = first ? head.blank : inner.blank;
          first = false;
          this.#entry(where, schema, { ...inner, comments, blank, inactive: inner.inactive || head.inactive }, path);
        });
        const last = where.into.at(-1);
        if (last !== undefined) append(last.comments, [...owner.closing, ...(owner.trailing === '' ? [] : [owner.trailing])]);
        return;
      }
      const entry = this.#newEntry(where.into, schema, ['default'], head, true, path);
      this.#anonymous({ schema, into: entry.children, path }, entry, head);
      return;
    }
    this.#entry(where, schema, head, path);
  }

  /** `list { field … }`: only when its first word is a field, else a key was forgotten. */
  #anonymous(where: Where, entry: EntryStatement, head: Head): void {
    let first = true;
    this.#parser.body(where, entry, head, (inner) => {
      const token = this.#parser.lexer.peek();
      if (first && token.kind === 'word' && childOf(where.schema, token.text) === undefined) {
        this.#parser.findings.unknownNames++;
        this.#parser.findings.fault(
          head.place,
          where.path,
          `${where.schema.name} needs a name: unknown field in ${where.schema.name}: ${clamp(token.text)}`,
        );
        this.#parser.lexer.next();
        this.#parser.recover(token);
      } else this.#parser.statement(where, inner);
      first = false;
    });
  }

  #entry(where: Where, schema: ListNode, head: Head, path: string): void {
    const keys: string[] = [];
    let inactive = head.inactive;
    for (const name of schema.keys) {
      const token = this.#parser.lexer.peek();
      if (token.kind !== 'word' && token.kind !== 'string') {
        this.#parser.findings.fault(token, path, `${schema.name} needs a ${name}, found ${describe(token)}`);
        this.#parser.recover();
        return;
      }
      this.#parser.lexer.next();
      this.#parser.keep(token, head);
      const marked = keys.length === 0 && token.kind === 'word' && token.text.startsWith(INACTIVE) && token.text !== INACTIVE;
      if (marked) inactive = true;
      const text = marked ? token.text.slice(INACTIVE.length) : token.text;
      const leaf = childOf(schema, name);
      if (leaf?.kind === 'leaf') this.#parser.check(leaf, text, token, path);
      keys.push(text);
    }
    const own = join(path, keys.join(' '));
    if (inactive && isPositional(schema)) {
      this.#parser.findings.valueFaults++;
      this.#parser.findings.fault(head.place, own, lineStays(schema));
    }
    const entry = this.#newEntry(where.into, schema, keys, { ...head, inactive }, false, own);
    this.#entryRest({ schema, into: entry.children, path: own }, entry, head);
  }

  #entryRest(where: Where & { schema: ParentNode }, entry: EntryStatement, head: Head): void {
    const { schema } = entry;
    const inner: Head = { place: head.place, inactive: false, comments: [], blank: false };
    const fields = schema.children.filter((child) => !schema.keys.includes(child.name));
    let used = 0;
    while (true) {
      const token = this.#parser.lexer.peek();
      if (token.kind === '{') {
        this.#parser.body(where, entry, head);
        return;
      }
      if (token.kind === ';' || token.kind === '}' || token.kind === 'end') {
        entry.trailing = this.#parser.end(where.path, head, schema.children.some(isSecret));
        return;
      }
      const field = token.kind === 'word' ? childOf(schema, token.text) : undefined;
      const inline = extension(schema, 'syntax') === 'inline-list';
      if (
        field !== undefined &&
        !schema.keys.includes(field.name) &&
        (!inline || field.kind === 'container' || field.kind === 'list')
      ) {
        this.#parser.statement(where, { ...inner, place: token });
        return;
      }
      const next = inline ? fields[used++] : undefined;
      if (next?.kind === 'leaf-list') {
        const members = this.#parser.members(next, head, where.path, true);
        this.#parser.index.add(entry.children, {
          kind: 'leaf-list',
          ...this.#parser.written(next.name, { ...inner, place: token }),
          schema: next,
          members,
        });
      } else if (next?.kind === 'leaf' && (token.kind === 'word' || token.kind === 'string')) {
        this.#parser.lexer.next();
        this.#parser.keep(token, head);
        const value = canonical(next.type, token.text);
        this.#parser.check(next, value, token, join(where.path, next.name));
        this.#parser.index.add(entry.children, {
          kind: 'leaf',
          ...this.#parser.written(next.name, { ...inner, place: token }),
          schema: next,
          value,
        });
      } else {
        if (token.kind === 'word' && !inline) this.#parser.unknown(where, token.text, token);
        else this.#parser.unexpected(token, where.path, 'the end of the statement');
        this.#parser.recover();
        return;
      }
    }
  }

  #newEntry(
    into: ConfigStatement[],
    schema: ListNode,
    keys: readonly string[],
    head: Head,
    anonymous: boolean,
    path: string,
  ): EntryStatement {
    const entry: EntryStatement = {
      kind: 'entry',
      ...this.#parser.written(schema.name, head),
      schema,
      keys,
      anonymous,
      children: [],
      closing: [],
    };
    const repeatable =
      extension(schema, 'repeatable') !== undefined && (anonymous || extension(schema, 'syntax') === 'inline-list');
    const before = this.#parser.index.find(into, idOf(entry), false);
    if (before !== undefined && !head.inactive && !repeatable) {
      const hint = `first on line ${before.place.line}`;
      this.#parser.findings.fault(head.place, path, `duplicate list key for ${schema.name}: ${clamp(keys.join(' '))}`, { hint });
    }
    this.#parser.index.add(into, entry);
    return entry;
  }
}
