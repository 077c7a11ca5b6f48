// Statements whose schema is unknown: words, then `;` or a block. Walked with a stack, so that depth costs no call.
import type { ContainerNode } from '../../../yang/compile/schema.ts';
import { append, type BlockStatement, type ConfigStatement, type FreeStatement } from './syntax-tree.ts';
import { join } from '../fault.ts';
import type { Head, Parser } from './parser.ts';

/** Deepest nesting of freeform blocks. */
export const MAXIMUM_DEPTH = 64;

export class FreeParser {
  readonly #parser: Parser;

  constructor(parser: Parser) {
    this.#parser = parser;
  }

  /** `name …;` or `name … { … }` for a node that holds anything. */
  any(into: ConfigStatement[], name: string, head: Head, path: string): void {
    const first = this.#statement(name, head);
    into.push(first);
    this.#words(first, head, path);
    if (first.children !== undefined) this.#blocks(first, path);
  }

  /** The rest of a freeform container: `;`, words, or a block. */
  container(block: BlockStatement & { readonly schema: ContainerNode }, head: Head, path: string): void {
    const first = this.#statement(block.name, head);
    this.#words(first, head, path);
    if (first.words.length > 0)
      block.children.push({ ...first, words: first.words.slice(1), name: first.words[0]!, comments: [], blank: false });
    if (first.children !== undefined) {
      const inner =
        first.words.length > 0
          ? (block.children.at(-1) as FreeStatement)
          : { ...first, children: block.children as FreeStatement[] };
      this.#blocks(inner, path);
      if (inner.children === block.children) {
        append(block.closing, inner.closing);
        block.trailing = inner.trailing || block.trailing;
      }
    } else block.trailing = first.trailing || block.trailing;
  }

  #statement(name: string, head: Head): FreeStatement & { words: string[]; children: FreeStatement[] | undefined } {
    const { place, inactive, comments, blank } = head;
    const at = { line: place.line, column: place.column };
    return {
      kind: 'free',
      name,
      place: at,
      origin: this.#parser.origin,
      inactive,
      comments,
      trailing: '',
      blank,
      words: [],
      children: undefined,
      closing: [],
    };
  }

  /** Words up to the `;`, or up to a `{`, which is taken and opens the block. */
  #words(statement: FreeStatement & { words: string[]; children: FreeStatement[] | undefined }, head: Head, path: string): void {
    const { lexer } = this.#parser;
    let brackets = 0;
    while (true) {
      const token = lexer.peek();
      if (brackets > 0 && (['{', '}', 'end'].includes(token.kind) || (token.kind === ';' && !token.implied))) {
        this.#parser.findings.fault(token, path, `a "]" or ")" is missing after ${statement.name}`);
        brackets = 0;
      }
      if (token.kind === '{') {
        lexer.next();
        statement.children = [];
        return;
      }
      if (token.kind === '}' || token.kind === 'end' || (token.kind === ';' && (brackets === 0 || !token.implied))) {
        statement.trailing = this.#parser.end(path, head);
        return;
      }
      lexer.next();
      for (const comment of token.comments) head.comments.push(comment.text);
      if (token.kind === '[' || token.kind === '(') brackets++;
      else if (token.kind === ']' || token.kind === ')') {
        if (brackets > 0) brackets--;
        else this.#parser.unexpected(token, path, 'a word');
      } else if (token.kind !== ';') statement.words.push(token.text);
    }
  }

  #blocks(first: FreeStatement, path: string): void {
    const parser = this.#parser;
    const stack: FreeStatement[] = [first];
    while (stack.length > 0) {
      const open = stack.at(-1)!;
      const token = parser.lexer.next();
      const comments = token.comments.map((comment) => comment.text);
      if (token.kind === '}' || token.kind === 'end') {
        append(open.closing, comments);
        if (token.kind === 'end') {
          parser.findings.fault(open.place, path, `${open.name} is not closed: a "}" is missing`, {
            hint: `opened on line ${open.place.line}`,
          });
          return;
        }
        open.trailing = parser.trailing();
        stack.pop();
        continue;
      }
      if (token.kind === ';') continue;
      if (token.kind !== 'word' && token.kind !== 'string') {
        parser.unexpected(token, path, 'a keyword');
        parser.recover(token);
        continue;
      }
      const blank = token.blank && (open.children?.length ?? 0) > 0;
      const inactive =
        token.kind === 'word' && token.text === 'inactive:' && ['word', 'string'].includes(parser.lexer.peek().kind);
      const head: Head = { place: token, inactive, comments, blank };
      const statement = this.#statement(inactive ? parser.lexer.next().text : token.text, head);
      open.children?.push(statement);
      this.#words(statement, head, join(path, token.text));
      if (statement.children === undefined) continue;
      if (stack.length >= MAXIMUM_DEPTH) {
        parser.findings.fault(token, path, `nested deeper than ${MAXIMUM_DEPTH} levels`);
        this.#skipBlock();
      } else stack.push(statement);
    }
  }

  #skipBlock(): void {
    const { lexer } = this.#parser;
    for (let depth = 1; depth > 0; ) {
      const token = lexer.next();
      if (token.kind === 'end') return;
      if (token.kind === '{') depth++;
      if (token.kind === '}') depth--;
    }
  }
}
