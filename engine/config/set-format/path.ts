// One line's path, read word by word along the schema: containers, list keys, then a leaf with its value. The same reader serves
// set lines of a file and what is typed in the editor. It changes no tree: what it answers is a plan.
import {
  childOf,
  type ContainerNode,
  extension,
  isParent,
  type LeafListNode,
  type LeafNode,
  type ListNode,
  type ParentNode,
  type SchemaNode,
} from '../../../yang/compile/schema.ts';
import { FreeParser } from '../text/free-parser.ts';
import { isPositional, lineStays } from '../text/list-parser.ts';
import { describe } from '../text/lexer.ts';
import { type Head, INACTIVE, type Parser } from '../text/parser.ts';
import { join, type Place } from '../fault.ts';
import { isSecret } from '../secret.ts';
import type { BlockStatement, ConfigStatement, FreeStatement, Member } from '../text/syntax-tree.ts';
import { canonical } from '../text/values.ts';

/** A word of a path may say which of several statements of one name is meant: `inactive:peer edge`, `update(2)`. */
interface Which {
  readonly inactive: boolean;
  /** Among those of the same name, keys and state, from 1; 0 = not said. */
  readonly ordinal: number;
  readonly place: Place;
}

export interface ContainerStep extends Which {
  readonly kind: 'container';
  readonly schema: ContainerNode;
}

export interface EntryStep extends Which {
  readonly kind: 'entry';
  readonly schema: ListNode;
  readonly keys: readonly string[];
  readonly anonymous: boolean;
  /** A line of a repeatable list in its short form is an entry of its own each time. */
  readonly always: boolean;
}

export type Step = ContainerStep | EntryStep;

/** What stands at the end of the path. */
export type Target =
  | (Which & { readonly kind: 'leaf'; readonly schema: LeafNode; readonly value: string | undefined })
  | (Which & {
      readonly kind: 'leaf-list';
      readonly schema: LeafListNode;
      readonly members: readonly Member[];
      /** In brackets: the whole list. Else members to be added. */
      readonly whole: boolean;
    })
  /** All entries of a list; only where things are named, not made. */
  | (Which & { readonly kind: 'list'; readonly schema: ListNode })
  /** Below a freeform container, or an `anydata`. */
  | {
      readonly kind: 'free';
      readonly statements: readonly FreeStatement[];
      readonly closing: readonly string[];
      /** An `anydata`: the statement has the comments of the line already. */
      readonly own: boolean;
    }
  /** Words that name something below a freeform container. */
  | { readonly kind: 'free-words'; readonly words: readonly string[]; readonly place: Place };

export interface Plan {
  readonly steps: readonly Step[];
  /** Empty when the path ends at a container or an entry. Several where one line gives an entry's fields in order. */
  readonly targets: readonly Target[];
  /** The entry was written in its short form: comments of the line are the entry's. */
  readonly short: boolean;
  /** Slash path, for messages. */
  readonly path: string;
  /** The line as a head for statements: its comments, whether an empty line stands before it. */
  readonly head: Head;
  readonly trailing: string;
}

/** `make` reads values and checks them; `name` only says which statement is meant, and stops where the words end. */
export type Intent = 'make' | 'name';

/** Where the path begins: the root, or where the editor stands. */
export interface Start {
  readonly schema: ParentNode;
  readonly path: string;
}

const ORDINAL = /^([^()]+)\((\d{1,6})\)$/;

export class PathReader {
  readonly #parser: Parser;
  readonly #intent: Intent;
  readonly #steps: Step[] = [];
  readonly #targets: Target[] = [];
  #schema: ParentNode;
  #path: string;
  #short = false;
  /** A freeform part has taken the end of the statement, and the comment behind it. */
  #ended = false;
  #trailing = '';

  constructor(parser: Parser, start: Start, intent: Intent) {
    this.#parser = parser;
    this.#schema = start.schema;
    this.#path = start.path;
    this.#intent = intent;
  }

  /** Takes a whole statement, its `;` included. `undefined` when it cannot be understood: the findings say why. */
  read(head: Head): Plan | undefined {
    for (let more = true; more; ) {
      const next = this.#schema.kind === 'list' ? this.#inEntry(this.#schema, head) : this.#inContainer(this.#schema, head);
      if (next === 'failed') {
        this.#parser.recover();
        return undefined;
      }
      more = next === 'more';
    }
    const secret = this.#targets.some((one) => 'schema' in one && isSecret(one.schema));
    const trailing = this.#ended ? this.#trailing : this.#parser.end(this.#path, head, secret);
    return { steps: this.#steps, targets: this.#targets, short: this.#short, path: this.#path, head, trailing };
  }

  #inContainer(schema: ContainerNode, head: Head): 'more' | 'done' | 'failed' {
    const { lexer } = this.#parser;
    const token = lexer.peek();
    const freeform = extension(schema, 'syntax') === 'freeform';
    if (freeform && this.#intent === 'make') return this.#freeform(schema, head);
    if (freeform) return this.#freeWords(head);
    if (token.kind === ';' || token.kind === 'end') return 'done';
    if (token.kind !== 'word') return this.#refuse('a name');
    lexer.next();
    this.#parser.keep(token, head);
    const leaf = extension(schema, 'word-leaf');
    const target = typeof leaf === 'string' ? childOf(schema, leaf) : undefined;
    const which = this.#which(schema, token.text, token);
    const child = childOf(schema, which.name) ?? this.#openLeaf(schema, which.name);
    const alone = lexer.peek().kind === ';' || lexer.peek().kind === 'end';
    if (target?.kind === 'leaf' && (child === undefined || (alone && this.#intent === 'make' && child.kind === 'leaf'))) {
      return this.#value(target, { inactive: false, ordinal: 0, place: token }, token.text, token);
    }
    if (child === undefined) {
      this.#parser.unknown({ schema, into: [], path: this.#path }, which.name, token);
      return 'failed';
    }
    return this.#child(child, which, head);
  }

  #child(child: SchemaNode, which: Which, head: Head): 'more' | 'done' | 'failed' {
    const before = this.#path;
    this.#path = join(this.#path, child.name);
    switch (child.kind) {
      case 'container':
        this.#steps.push({ kind: 'container', schema: child, inactive: which.inactive, ordinal: 0, place: which.place });
        this.#schema = child;
        return 'more';
      case 'list':
        return this.#list(child, which, head);
      case 'leaf':
        return this.#leaf(child, which, head);
      case 'leaf-list': {
        const open = this.#parser.lexer.peek();
        const whole = open.kind === '[' || open.kind === '(';
        if (this.#intent === 'make' && (open.kind === ';' || open.kind === 'end')) return this.#refuse('a value');
        const members = this.#parser.members(child, head, this.#path, this.#intent === 'name');
        this.#targets.push({ kind: 'leaf-list', schema: child, members, whole, ...plain(which) });
        return 'done';
      }
      case 'anydata': {
        if (this.#intent === 'name') {
          this.#path = before;
          return this.#freeWords(head, child.name);
        }
        const into: ConfigStatement[] = [];
        new FreeParser(this.#parser).any(into, child.name, { ...head, inactive: which.inactive }, this.#path);
        return this.#takeFree(into, [], true);
      }
    }
  }

  #leaf(leaf: LeafNode, which: Which, head: Head): 'done' | 'failed' {
    const token = this.#parser.lexer.peek();
    const given = token.kind === 'word' || token.kind === 'string';
    if (leaf.type.base === 'empty' || (this.#intent === 'name' && !given)) {
      this.#targets.push({ kind: 'leaf', schema: leaf, value: this.#intent === 'name' ? undefined : '', ...plain(which) });
      return 'done';
    }
    if (!given) {
      this.#parser.findings.fault(token, this.#path, `${leaf.name} needs a value, found ${describe(token)}`);
      return 'failed';
    }
    this.#parser.lexer.next();
    this.#parser.keep(token, head);
    return this.#value(leaf, which, token.text, token);
  }

  #value(leaf: LeafNode, which: Which, text: string, place: Place): 'done' {
    const value = this.#parser.plain(leaf, canonical(leaf.type, text), place, this.#path);
    if (this.#intent === 'make') this.#parser.check(leaf, value, place, this.#path);
    this.#targets.push({ kind: 'leaf', schema: leaf, value, ...plain(which), place });
    return 'done';
  }

  #list(schema: ListNode, which: Which, head: Head): 'more' | 'done' | 'failed' {
    const { lexer } = this.#parser;
    const repeatable = extension(schema, 'repeatable') !== undefined;
    const inline = extension(schema, 'syntax') === 'inline-list';
    const first = lexer.peek();
    const ends = first.kind === ';' || first.kind === 'end';
    const field = first.kind === 'word' ? this.#fieldOf(schema, first.text) : undefined;
    if (repeatable && !inline && ((ends && this.#intent === 'make') || field !== undefined)) {
      this.#steps.push({ kind: 'entry', schema, keys: ['default'], anonymous: true, always: false, ...plain(which) });
      this.#schema = schema;
      return 'more';
    }
    if (ends && this.#intent === 'name') {
      if (repeatable && !inline && which.ordinal > 0)
        this.#steps.push({ kind: 'entry', schema, keys: ['default'], anonymous: true, always: false, ...plain(which) });
      else this.#targets.push({ kind: 'list', schema, ...plain(which) });
      return 'done';
    }
    const keys: string[] = [];
    let { inactive } = which;
    for (const name of schema.keys) {
      const token = lexer.peek();
      if (token.kind !== 'word' && token.kind !== 'string') {
        this.#parser.findings.fault(token, this.#path, `${schema.name} needs a ${name}, found ${describe(token)}`);
        return 'failed';
      }
      lexer.next();
      this.#parser.keep(token, head);
      const marked = keys.length === 0 && token.kind === 'word' && token.text.startsWith(INACTIVE) && token.text !== INACTIVE;
      inactive ||= marked;
      const text = marked ? token.text.slice(INACTIVE.length) : token.text;
      const leaf = childOf(schema, name);
      if (leaf?.kind === 'leaf' && this.#intent === 'make') this.#parser.check(leaf, text, token, this.#path);
      keys.push(text);
    }
    this.#path = join(this.#path, keys.join(' '));
    if (inactive && this.#intent === 'make' && isPositional(schema)) {
      this.#parser.findings.valueFaults++;
      this.#parser.findings.fault(which.place, this.#path, lineStays(schema));
    }
    const always = repeatable && inline && which.ordinal === 0;
    this.#steps.push({ kind: 'entry', schema, keys, anonymous: false, always, ...plain(which), inactive });
    this.#schema = schema;
    if (always) {
      this.#short = true;
      return this.#shortForm(schema, head);
    }
    return 'more';
  }

  #fieldOf(schema: ListNode, word: string): SchemaNode | undefined {
    const { name } = this.#which(schema, word, { line: 0, column: 0 });
    return schema.keys.includes(name) ? undefined : childOf(schema, name);
  }

  /** Behind the keys of an entry: a field, or values in the schema's order. */
  #inEntry(schema: ListNode, head: Head): 'more' | 'done' | 'failed' {
    const { lexer } = this.#parser;
    const token = lexer.peek();
    if (token.kind === ';' || token.kind === 'end') return 'done';
    const field = token.kind === 'word' ? this.#fieldOf(schema, token.text) : undefined;
    if (field !== undefined) {
      lexer.next();
      this.#parser.keep(token, head);
      return this.#child(field, this.#which(schema, token.text, token), head);
    }
    if (extension(schema, 'syntax') === 'inline-list') return this.#shortForm(schema, head);
    const step = this.#steps.at(-1);
    const key = step?.kind === 'entry' && step.schema === schema ? step.keys.at(-1) : undefined;
    // `peer description "x"`: the name was left out, and what stands there may be a secret's value.
    if (key !== undefined && this.#fieldOf(schema, key) !== undefined) {
      const name = schema.keys.at(-1) ?? 'name';
      const { findings } = this.#parser;
      findings.unknownNames++;
      findings.fault(
        token,
        this.#path,
        `"${key}" stands where ${schema.name} has its ${name}: ${schema.name} ${name.toUpperCase()} ${key} …`,
      );
      return 'failed';
    }
    if (token.kind === 'word') {
      this.#parser.unknown({ schema, into: [], path: this.#path }, this.#which(schema, token.text, token).name, token);
      return 'failed';
    }
    return this.#refuse('the name of a field');
  }

  #shortForm(schema: ListNode, head: Head): 'more' | 'done' | 'failed' {
    const { lexer } = this.#parser;
    for (const field of schema.children.filter((child) => !schema.keys.includes(child.name))) {
      const token = lexer.peek();
      if (token.kind === ';' || token.kind === 'end') return 'done';
      const named = token.kind === 'word' && !this.#short ? this.#fieldOf(schema, token.text) : undefined;
      if (named !== undefined && isParent(named)) return 'more';
      const path = join(this.#path, field.name);
      if (field.kind === 'leaf-list') {
        const members = this.#parser.members(field, head, path, true);
        this.#targets.push({ kind: 'leaf-list', schema: field, members, whole: true, inactive: false, ordinal: 0, place: token });
      } else if (field.kind === 'leaf' && (token.kind === 'word' || token.kind === 'string')) {
        lexer.next();
        this.#parser.keep(token, head);
        const value = this.#parser.plain(field, canonical(field.type, token.text), token, path);
        if (this.#intent === 'make') this.#parser.check(field, value, token, path);
        this.#targets.push({ kind: 'leaf', schema: field, value, inactive: false, ordinal: 0, place: token });
      } else return this.#refuse('the end of the line');
    }
    return 'done';
  }

  #freeform(schema: ContainerNode, head: Head): 'done' {
    const { place, comments } = head;
    const block: BlockStatement = {
      kind: 'container',
      ...this.#parser.written(schema.name, { place, comments: [], inactive: false, blank: false }),
      schema,
      children: [],
      closing: [],
    };
    const inner = { place, comments, inactive: false, blank: false };
    new FreeParser(this.#parser).container(block, inner, this.#path);
    this.#trailing = block.trailing;
    return this.#takeFree(block.children, block.closing, false);
  }

  #takeFree(statements: readonly ConfigStatement[], closing: readonly string[], own: boolean): 'done' {
    this.#ended = true;
    const free = statements.filter((statement) => statement.kind === 'free');
    if (free.length > 0 || closing.length > 0) this.#targets.push({ kind: 'free', statements: free, closing, own });
    return 'done';
  }

  #freeWords(head: Head, ...first: string[]): 'done' | 'failed' {
    const words = [...first];
    const start = this.#parser.lexer.peek();
    while (true) {
      const token = this.#parser.lexer.peek();
      if (token.kind === ';' || token.kind === 'end') break;
      if (token.kind !== 'word' && token.kind !== 'string') return this.#refuse('a word');
      this.#parser.lexer.next();
      this.#parser.keep(token, head);
      words.push(token.text);
    }
    if (words.length > 0) this.#targets.push({ kind: 'free-words', words, place: start });
    return 'done';
  }

  #openLeaf(parent: ParentNode, name: string): LeafNode | undefined {
    return extension(parent, 'allow-unknown-fields') === undefined ? undefined : { kind: 'leaf', name, type: { base: 'string' } };
  }

  #which(schema: ParentNode, word: string, place: Place): Which & { readonly name: string } {
    const inactive = word.startsWith(INACTIVE) && word.length > INACTIVE.length;
    const rest = inactive ? word.slice(INACTIVE.length) : word;
    const [, base = '', ordinal = '0'] = ORDINAL.exec(rest) ?? [];
    const counted = base !== '' && childOf(schema, rest) === undefined && childOf(schema, base)?.kind === 'list';
    return { inactive, place, name: counted ? base : rest, ordinal: counted ? Number(ordinal) : 0 };
  }

  #refuse(expected: string): 'failed' {
    this.#parser.unexpected(this.#parser.lexer.peek(), this.#path, expected);
    return 'failed';
  }
}

function plain({ inactive, ordinal, place }: Which): Which {
  return { inactive, ordinal, place };
}
