// What a config means once what is switched off is gone: branches, values and lists with their places. Merging makes new
// branches and shares what did not change, so three thousand peers of one group cost their own leaves alone.
import {
  childOf,
  extension,
  isParent,
  type LeafListNode,
  type LeafNode,
  type ListNode,
  type ParentNode,
  type SchemaNode,
} from '../../../yang/compile/schema.ts';
import { NOWHERE, type Place } from '../fault.ts';
import type { ConfigStatement, EntryStatement, FreeStatement } from '../text/syntax-tree.ts';
import { type Scalar, valueOf } from '../text/values.ts';

export interface LeafValue {
  readonly kind: 'leaf';
  readonly schema: LeafNode;
  readonly text: string;
  readonly place: Place;
}

export interface LeafListValue {
  readonly kind: 'leaf-list';
  readonly schema: LeafListNode;
  readonly items: readonly { readonly text: string; readonly place: Place }[];
  /** Members that are switched off. */
  readonly off?: readonly string[];
  readonly place: Place;
}

export interface Branch {
  readonly kind: 'branch';
  readonly schema: ParentNode;
  /** Keys of a list entry joined by a blank; '' for a container. */
  readonly key: string;
  readonly children: ReadonlyMap<string, Value>;
  readonly place: Place;
}

export interface ListValue {
  readonly kind: 'list';
  readonly schema: ListNode;
  readonly entries: ReadonlyMap<string, Branch>;
  readonly place: Place;
}

/** Freeform content: any JSON value. */
export interface AnyValue {
  readonly kind: 'any';
  readonly value: unknown;
  readonly place: Place;
}

export type Value = LeafValue | LeafListValue | Branch | ListValue | AnyValue;

/** Statements to a branch, inactive ones left out. */
export function branchOf(schema: ParentNode, statements: readonly ConfigStatement[], key = '', place: Place = NOWHERE): Branch {
  const children = new Map<string, Value>();
  const free: FreeStatement[] = [];
  for (const statement of statements) {
    if (statement.inactive) continue;
    switch (statement.kind) {
      case 'leaf':
        children.set(statement.name, { kind: 'leaf', schema: statement.schema, text: statement.value, place: statement.place });
        break;
      case 'leaf-list': {
        const items = statement.members.filter((member) => !member.inactive);
        const off = statement.members.filter((member) => member.inactive).map((member) => member.text);
        children.set(statement.name, {
          kind: 'leaf-list',
          schema: statement.schema,
          items,
          ...(off.length > 0 ? { off } : {}),
          place: statement.place,
        });
        break;
      }
      case 'container':
        children.set(statement.name, branchOf(statement.schema, statement.children, '', statement.place));
        break;
      case 'entry':
        addEntry(children, statement);
        break;
      case 'free':
        free.push(statement);
        break;
    }
  }
  for (const [name, value] of Object.entries(freeValue(free))) children.set(name, { kind: 'any', value, place });
  return { kind: 'branch', schema, key, children, place };
}

function addEntry(children: Map<string, Value>, statement: EntryStatement): void {
  const list = children.get(statement.name);
  const entries = list?.kind === 'list' ? (list.entries as Map<string, Branch>) : new Map<string, Branch>();
  if (list === undefined)
    children.set(statement.name, { kind: 'list', schema: statement.schema, entries, place: statement.place });
  const key = freeKey(entries, statement.keys.join(' '));
  entries.set(key, branchOf(statement.schema, statement.children, key, statement.place));
}

/** Repeatable lists number their entries: `default`, `default 2`, … */
function freeKey(entries: ReadonlyMap<string, Branch>, key: string): string {
  if (!entries.has(key)) return key;
  for (let n = entries.size + 1; ; n++) if (!entries.has(`${key} ${n}`)) return `${key} ${n}`;
}

function freeValue(statements: readonly FreeStatement[]): Record<string, unknown> {
  const out = new Map<string, unknown>();
  for (const statement of statements) {
    if (statement.inactive) continue;
    const inner = statement.children === undefined ? undefined : freeValue(statement.children);
    const words = statement.words.length === 1 && inner === undefined ? statement.words[0] : statement.words;
    const value = inner === undefined ? words : statement.words.length === 0 ? inner : { [statement.words.join(' ')]: inner };
    const before = out.get(statement.name);
    out.set(statement.name, isObject(before) && isObject(value) ? { ...before, ...value } : value);
  }
  return Object.fromEntries(out);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * `over` on top of `base`: containers and list entries deep, leaves and leaf-lists replaced, what is `ze:cumulative` appended.
 * Both must be of the same fields.
 */
export function merge(base: Branch, over: Branch): Branch {
  if (base.children.size === 0) return over;
  const children = new Map(base.children);
  if (over.schema.children.some((node) => node.choice !== undefined)) dropOtherCases(children, over);
  for (const [name, value] of over.children) {
    const below = children.get(name);
    children.set(name, below === undefined ? value : mergeValue(below, value));
  }
  return { ...over, children };
}

/** The more specific level chooses: what it states of a choice takes the other cases away. */
function dropOtherCases(below: Map<string, Value>, over: Branch): void {
  const chosen = new Map<string, string>();
  const choicesOf = (name: string): readonly (readonly [choice: string, caseName: string])[] => {
    const path = childOf(over.schema, name)?.choice ?? [];
    return path.flatMap((_, at) => (at % 2 === 0 ? [[path.slice(0, at + 1).join('/'), path[at + 1] ?? ''] as const] : []));
  };
  for (const name of over.children.keys()) for (const [choice, caseName] of choicesOf(name)) chosen.set(choice, caseName);
  if (chosen.size === 0) return;
  for (const name of [...below.keys()]) {
    const other = choicesOf(name).some(([choice, caseName]) => chosen.has(choice) && chosen.get(choice) !== caseName);
    if (other) below.delete(name);
  }
}

function mergeValue(below: Value, above: Value): Value {
  if (above.kind === 'branch' && below.kind === 'branch') return merge(below, above);
  if (above.kind === 'leaf-list' && below.kind === 'leaf-list' && extension(above.schema, 'cumulative') !== undefined) {
    const off = [...(below.off ?? []), ...(above.off ?? [])];
    return { ...above, items: [...below.items, ...above.items], ...(off.length > 0 ? { off } : {}) };
  }
  if (above.kind === 'list' && below.kind === 'list') {
    const entries = new Map(below.entries);
    const adds = extension(above.schema, 'cumulative') !== undefined;
    for (const [key, entry] of above.entries) {
      const before = entries.get(key);
      if (before === undefined) entries.set(key, entry);
      else if (adds) entries.set(freeKey(entries, key), entry);
      else entries.set(key, merge(before, entry));
    }
    return { ...above, entries };
  }
  return above;
}

/** The branch with some children alone. */
export function pick(branch: Branch, keep: (name: string) => boolean): Branch {
  return { ...branch, children: new Map([...branch.children].filter(([name]) => keep(name))) };
}

/** JSON of a branch: lists as objects by key, leaf-lists as arrays, numbers and booleans as such, repeatable lists numbered. */
export function toJson(value: Value): unknown {
  switch (value.kind) {
    case 'leaf':
      return valueOf(value.schema.type, value.text);
    case 'leaf-list':
      return value.items.map((item) => valueOf(value.schema.type, item.text));
    case 'branch':
      return objectOf([...value.children].map(([name, child]) => [name, toJson(child)]));
    case 'list':
      return objectOf([...value.entries].map(([key, entry]) => [key, toJson(entry)]));
    case 'any':
      return value.value;
  }
}

/** Own properties only, whatever the keys are called. */
function objectOf(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries(entries);
}

const split = new Map<string, readonly string[]>();

/** A path's names. Paths are constants of our code, so the table stays small. */
function steps(path: string): readonly string[] {
  let names = split.get(path);
  if (names === undefined) {
    names = path.split('/');
    split.set(path, names);
  }
  return names;
}

/** The value at a slash path, no list entry between. */
export function valueAt(branch: Branch, path: string): Value | undefined {
  let value: Value | undefined = branch;
  for (const name of steps(path)) {
    if (value?.kind !== 'branch') return undefined;
    value = value.children.get(name);
  }
  return value;
}

/** The entries of the list at a path; none when it is absent. */
export function entriesAt(branch: Branch, path: string): readonly Branch[] {
  const list = valueAt(branch, path);
  return list?.kind === 'list' ? [...list.entries.values()] : [];
}

/** Reads leaves of a branch by path, with the schema's defaults. */
export class Reader {
  readonly branch: Branch;

  constructor(branch: Branch) {
    this.branch = branch;
  }

  /** The text as written or the schema's default; '' when there is neither. */
  text(path: string): string {
    const value = valueAt(this.branch, path);
    if (value?.kind === 'leaf') return value.text;
    const schema = schemaAt(this.branch.schema, path);
    return schema?.kind === 'leaf' ? (schema.default ?? '') : '';
  }

  scalar(path: string): Scalar {
    const schema = schemaAt(this.branch.schema, path);
    return schema?.kind === 'leaf' ? valueOf(schema.type, this.text(path)) : this.text(path);
  }

  /** A number; 0 when the leaf is absent and has no default. */
  number(path: string): number {
    const value = this.scalar(path);
    return typeof value === 'number' ? value : 0;
  }

  flag(path: string): boolean {
    return this.scalar(path) === true;
  }

  list(path: string): readonly string[] {
    const value = valueAt(this.branch, path);
    if (value?.kind === 'leaf-list') return value.items.map((item) => item.text);
    const schema = schemaAt(this.branch.schema, path);
    return schema?.kind === 'leaf-list' ? (schema.defaults ?? []) : [];
  }

  has(path: string): boolean {
    return valueAt(this.branch, path) !== undefined;
  }

  /** Where the leaf was written, else where the branch was. */
  place(path: string): Place {
    const value = valueAt(this.branch, path);
    return value === undefined || value.place.line === 0 ? this.branch.place : value.place;
  }

  entries(path: string): readonly Reader[] {
    return entriesAt(this.branch, path).map((entry) => new Reader(entry));
  }

  get key(): string {
    return this.branch.key;
  }
}

const paths = new WeakMap<ParentNode, Map<string, SchemaNode | undefined>>();

function schemaAt(schema: ParentNode, path: string): SchemaNode | undefined {
  let known = paths.get(schema);
  if (known === undefined) {
    known = new Map();
    paths.set(schema, known);
  }
  if (!known.has(path)) {
    let node: SchemaNode | undefined = schema;
    for (const name of steps(path)) node = node !== undefined && isParent(node) ? childOf(node, name) : undefined;
    known.set(path, node);
  }
  return known.get(path);
}
