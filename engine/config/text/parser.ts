// Config text to syntax tree, driven by the schema: which form a statement may take depends on the node it names. Every fault is
// gathered with its place; after one, reading goes on behind the statement. Depth is bounded by the schema and, for freeform
// parts, by a limit.
import {
  childOf,
  type ContainerNode,
  extension,
  type LeafListNode,
  type LeafNode,
  type ParentNode,
  type SchemaNode,
} from '../../../yang/compile/schema.ts';
import { clamp, type Findings, join, type Place } from '../fault.ts';
import { FreeParser } from './free-parser.ts';
import { describe, Lexer, type Token } from './lexer.ts';
import { ListParser } from './list-parser.ts';
import { StatementIndex } from './statement-index.ts';
import {
  append,
  type BlockStatement,
  type ConfigStatement,
  type LeafListStatement,
  type Member,
  type SyntaxTree,
} from './syntax-tree.ts';
import { decodeSecret, isSecret, SECRET_PREFIX } from '../secret.ts';
import { fieldsOf, missingEnd, suggestion } from './suggest.ts';
import { canonical, checkNamed, checkValue } from './values.ts';
import { wholeText } from './whole-text.ts';
import { FAMILY_EXPECTED, type Validators } from '../rules/validators.ts';

const MAXIMUM_SLANTED = 64;
/** Deepest nesting of a list's brackets. */
const MAXIMUM_BRACKETS = 8;

/** Reads a whole text. Always answers a tree; what is wrong with it is in `findings`. Never throws for any text. */
export function parseConfig(
  text: string,
  origin: string,
  schema: ContainerNode,
  validators: Validators,
  findings: Findings,
): SyntaxTree {
  return wholeText(text, origin, schema, findings, (tree) => new Parser(text, origin, validators, findings).file(tree));
}

/** What a statement has gathered while its first words were read. */
export interface Head {
  readonly place: Place;
  readonly inactive: boolean;
  readonly comments: string[];
  readonly blank: boolean;
}

/** Where a statement goes: the list it joins, the schema above it, its path. */
export interface Where {
  readonly schema: ParentNode;
  readonly into: ConfigStatement[];
  readonly path: string;
}

export const INACTIVE = 'inactive:';

export class Parser {
  readonly lexer: Lexer;
  readonly origin: string;
  readonly findings: Findings;
  readonly #validators: Validators;
  readonly #free: FreeParser;
  readonly #lists: ListParser;
  readonly #text: string;
  /** Blocks whose closing brace stands left of their first word. */
  readonly #slanted: { readonly name: string; readonly open: Place; readonly close: Place }[] = [];
  readonly index = new StatementIndex();
  /** The whole schema, for guesses at misplaced words. */
  root: ContainerNode | undefined;

  constructor(text: string, origin: string, validators: Validators, findings: Findings) {
    this.#text = text;
    this.lexer = new Lexer(text);
    this.origin = origin;
    this.findings = findings;
    this.#validators = validators;
    this.#free = new FreeParser(this);
    this.#lists = new ListParser(this);
  }

  file(tree: SyntaxTree): void {
    const where: Where = { schema: tree.schema, into: tree.children, path: '' };
    this.root = tree.schema;
    while (true) {
      this.#statements(where, (head) => this.statement(where, head));
      const token = this.lexer.next();
      append(
        tree.closing,
        token.comments.map((comment) => comment.text),
      );
      if (token.kind === 'end') return;
      this.findings.fault(token, '', 'a "}" closes nothing');
    }
  }

  /** Statements up to a `}` or the end, which stays for the caller. */
  #statements(where: Where, one: (head: Head) => void): void {
    let pending: string[] = [];
    while (true) {
      const token = this.lexer.peek();
      if (token.kind === '}' || token.kind === 'end') return;
      const comments = [...pending, ...token.comments.map((comment) => comment.text)];
      pending = [];
      if (token.kind === ';') {
        this.lexer.next();
        pending = comments;
        continue;
      }
      let inactive = false;
      if (token.kind === 'word' && token.text === INACTIVE) {
        this.lexer.next();
        inactive = true;
      }
      one({ place: token, inactive, comments, blank: token.blank && where.into.length > 0 });
    }
  }

  statement(where: Where, head: Head, token = this.lexer.next()): void {
    if (token.kind !== 'word') {
      this.unexpected(token, where.path, 'a keyword');
      this.recover(token);
      return;
    }
    const marked = token.text.startsWith(INACTIVE) && token.text.length > INACTIVE.length;
    const name = marked ? token.text.slice(INACTIVE.length) : token.text;
    const schema = childOf(where.schema, name) ?? this.#openLeaf(where.schema, name);
    if (schema === undefined) {
      this.unknown(where, name, token);
      this.recover(token);
      return;
    }
    if (schema.config === false) {
      this.findings.fault(token, join(where.path, name), `${clamp(name)} is state of the system: it cannot be configured`);
      this.recover(token);
      return;
    }
    this.#node(where, schema, marked ? { ...head, inactive: true } : head);
  }

  /** A container that takes any key: the key is a leaf with a text. */
  #openLeaf(parent: ParentNode, name: string): LeafNode | undefined {
    return extension(parent, 'allow-unknown-fields') === undefined ? undefined : { kind: 'leaf', name, type: { base: 'string' } };
  }

  unknown(where: Where, name: string, place: Place): void {
    this.findings.unknownNames++;
    if (this.findings.full) {
      this.findings.fault(place, '', '');
      return;
    }
    const hint = suggestion(name, where.schema, this.root, where.path);
    const top = where.schema.name === '';
    const message = top ? `unknown top-level keyword: ${clamp(name)}` : `unknown field in ${where.schema.name}: ${clamp(name)}`;
    const expected = hint === undefined && !top ? fieldsOf(where.schema) : undefined;
    this.findings.fault(place, join(where.path, name), message, { expected, hint });
  }

  #node(where: Where, schema: SchemaNode, head: Head): void {
    const path = join(where.path, schema.name);
    switch (schema.kind) {
      case 'leaf':
        this.#leaf(where, schema, head, path);
        return;
      case 'leaf-list':
        this.#leafList(where, schema, head, path);
        return;
      case 'container':
        this.#container(where, schema, head, path);
        return;
      case 'list':
        this.#lists.list(where, schema, head, path);
        return;
      case 'anydata':
        this.#free.any(where.into, schema.name, head, path);
        return;
    }
  }

  /** `taken` is the value when it is read already. */
  #leaf(where: Where, schema: LeafNode, head: Head, path: string, taken?: Token): void {
    let text = '';
    let place = head.place;
    if (schema.type.base !== 'empty') {
      const token = taken ?? this.lexer.peek();
      if (token.kind !== 'word' && token.kind !== 'string') {
        this.findings.fault(token, path, `${schema.name} needs a value, found ${describe(token)}`);
        this.recover();
        return;
      }
      if (taken === undefined) this.lexer.next();
      this.keep(token, head);
      text = this.plain(schema, canonical(schema.type, token.text), token, path);
      place = token;
      this.check(schema, text, place, path);
    }
    const before = this.index.find(where.into, schema.name, head.inactive);
    if (before !== undefined) {
      this.findings.warn(
        head.place,
        path,
        `${schema.name} is stated again (first on line ${before.place.line}); the last one counts`,
      );
      append(head.comments, before.comments);
    }
    const statement = { kind: 'leaf' as const, ...this.written(schema.name, head), place, schema, value: text };
    this.index.add(where.into, statement);
    statement.trailing = this.end(path, head, isSecret(schema), schema, where.schema);
  }

  /** A secret that is stored encoded, in plain. */
  plain(schema: LeafNode, text: string, place: Place, path: string): string {
    if (!isSecret(schema) || !text.startsWith(SECRET_PREFIX)) return text;
    const plain = decodeSecret(text);
    if (plain === undefined) this.findings.fault(place, path, `${path}: what follows ${SECRET_PREFIX} is no encoded secret`);
    return plain ?? text;
  }

  check(schema: LeafNode | LeafListNode, text: string, place: Place, path: string): void {
    const own = extension(schema, 'validate');
    const fault =
      checkValue(schema.type, text, this.#validators) ??
      (typeof own === 'string' ? checkNamed(own, text, this.#validators) : undefined);
    if (fault === undefined) return;
    if (fault.expected?.includes(FAMILY_EXPECTED) === true) this.findings.unknownNames++;
    this.findings.valueFaults++;
    if (isSecret(schema))
      this.findings.fault(place, path, `${path}: the value is not ${fault.expected ?? 'a value of its type'}`);
    else this.findings.fault(place, path, `${path}: ${fault.message}`, { expected: fault.expected, hint: fault.hint });
  }

  #leafList(where: Where, schema: LeafListNode, head: Head, path: string): void {
    const members = this.members(schema, head, path, false, extension(schema, 'syntax') === 'bracket');
    const before = this.index.find(where.into, schema.name, head.inactive);
    if (before?.kind === 'leaf-list') {
      append(before.members, members);
      append(before.comments, head.comments);
      const trailing = this.end(path, head, false, schema, where.schema);
      if (trailing !== '') before.comments.push(trailing);
      return;
    }
    const statement: LeafListStatement = { kind: 'leaf-list', ...this.written(schema.name, head), schema, members };
    this.index.add(where.into, statement);
    statement.trailing = this.end(path, head, false, schema, where.schema);
  }

  /** Values up to the end of the statement. `raw` keeps brackets as members: the words are another language's; `nested`: those inside the first. */
  members(schema: LeafListNode, head: Head, path: string, raw: boolean, nested = false): Member[] {
    const members: Member[] = [];
    let open = 0;
    while (true) {
      const token = this.lexer.peek();
      if (token.kind === 'end' || token.kind === '{' || token.kind === '}') break;
      if (token.kind === ';' && (open === 0 || !token.implied)) break;
      this.lexer.next();
      this.keep(token, head);
      if (token.kind === ';') continue;
      if (token.kind === '[' || token.kind === '(') open++;
      if (token.kind === ']' || token.kind === ')') open--;
      if (open < 0 || open > (nested ? MAXIMUM_BRACKETS : 1)) this.unexpected(token, path, 'a value');
      if (open < 0) break;
      if (token.kind !== 'word' && token.kind !== 'string') {
        const closes = token.kind === ']' || token.kind === ')';
        if (raw || (nested && open > (closes ? 0 : 1))) members.push({ text: token.text, inactive: false, place: token });
        // What is in brackets is the whole list.
        if (closes && open === 0 && !raw) break;
        continue;
      }
      const inactive = !raw && token.kind === 'word' && token.text.startsWith(INACTIVE) && token.text.length > INACTIVE.length;
      const text = canonical(schema.type, inactive ? token.text.slice(INACTIVE.length) : token.text);
      this.check(schema, text, token, path);
      members.push({ text, inactive, place: token });
    }
    if (open > 0) this.findings.fault(this.lexer.peek(), path, `a "]" or ")" is missing after ${schema.name}`);
    return members;
  }

  #container(where: Where, schema: ContainerNode, head: Head, path: string): void {
    const token = this.lexer.peek();
    if (extension(schema, 'syntax') === 'freeform') {
      const block = this.#block(where.into, schema, head);
      this.#free.container(block, head, path);
      return;
    }
    if (token.kind === '{') {
      const block = this.#block(where.into, schema, head);
      this.body({ schema, into: block.children, path }, block, head);
      return;
    }
    if (token.kind === ';' && schema.presence === true) {
      const block = this.#block(where.into, schema, head);
      block.trailing = this.end(path, head) || block.trailing;
      return;
    }
    if (token.kind === '(' && schema.presence === true) {
      this.#parenthesised(where, schema, head, path);
      return;
    }
    const leaf = extension(schema, 'word-leaf');
    const target = typeof leaf === 'string' ? childOf(schema, leaf) : undefined;
    const named = token.kind === 'word' && childOf(schema, token.text) !== undefined;
    const takesWord = target?.kind === 'leaf' && (token.kind === 'word' || token.kind === 'string');
    if (named || takesWord) {
      const inner: Where = { schema, into: this.#block(where.into, schema, head).children, path };
      const below: Head = { comments: [], blank: false, inactive: false, place: token };
      this.lexer.next();
      this.keep(token, head);
      // `add-path send;` is the word, `add-path send true;` the field of that name.
      const alone = [';', '}', 'end'].includes(this.lexer.peek().kind);
      if (takesWord && (!named || alone)) this.#leaf(inner, target, below, join(path, target.name), token);
      else this.statement(inner, below, token);
      return;
    }
    if (token.kind === 'word') this.unknown({ schema, into: [], path }, token.text, token);
    else this.findings.fault(token, path, `${schema.name} needs a block, found ${describe(token)}`);
    this.recover();
  }

  /** `name ( … )`: nothing, the word, or fields with their values. */
  #parenthesised(where: Where, schema: ContainerNode, head: Head, path: string): void {
    const block = this.#block(where.into, schema, head);
    this.keep(this.lexer.next(), head);
    const word = extension(schema, 'word-leaf');
    while (this.lexer.peek().kind === 'word' || this.lexer.peek().kind === 'string') {
      const first = this.lexer.next();
      this.keep(first, head);
      const next = this.lexer.peek();
      const alone = next.kind !== 'word' && next.kind !== 'string';
      const field = childOf(schema, alone && typeof word === 'string' ? word : first.text);
      if (field?.kind !== 'leaf') {
        this.unknown({ schema, into: [], path }, first.text, first);
        this.recover();
        return;
      }
      const value = alone ? first : this.lexer.next();
      if (!alone) this.keep(value, head);
      const text = this.plain(field, canonical(field.type, value.text), value, join(path, field.name));
      this.check(field, text, value, join(path, field.name));
      const inner: Head = { place: first, inactive: false, comments: [], blank: false };
      this.index.add(block.children, {
        kind: 'leaf',
        ...this.written(field.name, inner),
        place: value,
        schema: field,
        value: text,
      });
    }
    const close = this.lexer.peek();
    if (close.kind === ')') this.keep(this.lexer.next(), head);
    else {
      this.unexpected(close, path, '")"');
      this.recover();
      return;
    }
    block.trailing = this.end(path, head) || block.trailing;
  }

  /** The block of a container: a repeated one continues the first. */
  #block(into: ConfigStatement[], schema: ContainerNode, head: Head): BlockStatement {
    const before = this.index.find(into, schema.name, head.inactive);
    if (before?.kind === 'container') {
      append(before.comments, head.comments);
      return before;
    }
    const block: BlockStatement = { kind: 'container', ...this.written(schema.name, head), schema, children: [], closing: [] };
    this.index.add(into, block);
    return block;
  }

  /** `{ … }` with the comments before the brace and the one behind it. */
  body(where: Where, owner: { closing: string[]; trailing: string }, head: Head, one?: (head: Head) => void): void {
    this.keep(this.lexer.next(), head);
    this.#statements(where, one ?? ((inner) => this.statement(where, inner)));
    const token = this.lexer.next();
    append(
      owner.closing,
      token.comments.map((comment) => comment.text),
    );
    if (token.kind === 'end') {
      const likely = this.#likelyOpen();
      this.findings.fault(head.place, where.path, `${where.schema.name} is not closed: a "}" is missing`, {
        hint: likely ?? `opened on line ${head.place.line}`,
      });
      return;
    }
    if (token.column < head.place.column && token.line > head.place.line && this.#slanted.length < MAXIMUM_SLANTED)
      this.#slanted.push({ name: where.schema.name, open: head.place, close: token });
    owner.trailing = this.trailing() || owner.trailing;
  }

  /** Where a brace is missing, everything behind it closes the wrong block: the first whose end stands left of its beginning. */
  #likelyOpen(): string | undefined {
    const lines = this.#text.split('\n', this.#slanted.at(-1)?.close.line ?? 0);
    const leads = ({ line, column }: Place): boolean => (lines[line - 1] ?? '').slice(0, column - 1).trim() === '';
    const found = this.#slanted.find(({ open, close }) => leads(open) && leads(close));
    if (found === undefined) return undefined;
    return `perhaps that of ${found.name}, opened on line ${found.open.line}: the "}" on line ${found.close.line} stands further left`;
  }

  written(name: string, head: Head): Omit<LeafListStatement, 'kind' | 'schema' | 'members'> {
    const { place, inactive, comments, blank } = head;
    return {
      name,
      place: { line: place.line, column: place.column },
      origin: this.origin,
      inactive,
      comments,
      trailing: '',
      blank,
    };
  }

  /** Comments inside a statement move in front of it. */
  keep(token: Token, head: Head): void {
    if (token === head.place) return;
    for (const comment of token.comments) head.comments.push(comment.text);
  }

  /**
   * Takes the `;` of a statement; answers the comment behind it. What stands before the `;` instead is a fault. `secret`: what stands
   * before may be half of one. `leaf` in `block`: what the statement was, to tell a missing `;` from a value without quotes.
   */
  end(path: string, head: Head, secret = false, leaf?: SchemaNode, block?: ParentNode): string {
    const token = this.lexer.peek();
    if (token.kind !== ';') {
      if (token.kind === 'end') return '';
      if (secret)
        this.findings.fault(token, path, 'expected ";" behind the value, found more words: quote it', { expected: '";"' });
      else {
        const hint = missingEnd(token, leaf, block);
        this.findings.fault(token, path, `expected ";", found ${describe(token)}`, { expected: '";"', hint });
        // The next statement has begun.
        if (token.kind === 'word' && block !== undefined && childOf(block, token.text) !== undefined) return '';
      }
      if (token.kind !== '}') this.recover();
      return '';
    }
    this.lexer.next();
    let behind = '';
    for (const comment of token.comments) {
      if (!comment.own && behind === '') behind = comment.text;
      else head.comments.push(comment.text);
    }
    return behind === '' ? this.trailing() : behind;
  }

  /** Takes the comment that stands on the line of what was just read. */
  trailing(): string {
    const { comments } = this.lexer.peek();
    const first = comments[0];
    if (first === undefined || first.own) return '';
    (comments as unknown[]).shift();
    return first.text;
  }

  unexpected(token: Token, path: string, expected: string): void {
    this.findings.fault(token, path, `expected ${expected}, found ${describe(token)}`, { expected });
  }

  /** Skips to the end of the statement: past its `;`, or past its block. A `}` that closes the block around stays. */
  recover(first?: Token): void {
    let depth = first?.kind === '{' ? 1 : 0;
    while (true) {
      const token = this.lexer.peek();
      if (token.kind === 'end' || (token.kind === '}' && depth === 0)) return;
      this.lexer.next();
      if (token.kind === '{') depth++;
      else if (token.kind === '}' && --depth === 0) return;
      else if (token.kind === ';' && depth === 0 && !(token.implied && this.lexer.peek().kind === '{')) return;
    }
  }
}
