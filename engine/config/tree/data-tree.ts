// A configuration as XPath sees it (RFC 7950 §6.4.1): nodes with parents, lists and leaf-lists as one node an entry, keys as leaves,
// and what is not stated but holds: defaults, and containers that are there by themselves. Nodes are made when somebody looks.
import {
  childOf,
  isParent,
  type LeafListNode,
  type LeafNode,
  type ParentNode,
  type SchemaNode,
} from '../../../yang/compile/schema.ts';
import type { Branch, Value } from './effective.ts';
import { NOWHERE, type Place } from '../fault.ts';

const NONE: readonly DataNode[] = [];

export class DataNode {
  readonly name: string;
  readonly parent: DataNode | undefined;
  readonly schema: SchemaNode | undefined;
  /** Of a container or list entry. */
  readonly branch: Branch | undefined;
  /** Of a leaf or a member of a leaf-list. */
  readonly leaf: string | undefined;
  readonly place: Place;
  readonly #children = new Map<string, readonly DataNode[]>();

  constructor(
    name: string,
    parent: DataNode | undefined,
    schema: SchemaNode | undefined,
    branch: Branch | undefined,
    leaf: string | undefined,
    place: Place,
  ) {
    this.name = name;
    this.parent = parent;
    this.schema = schema;
    this.branch = branch;
    this.leaf = leaf;
    this.place = place;
  }

  static root(branch: Branch): DataNode {
    return new DataNode('', undefined, branch.schema, branch, undefined, NOWHERE);
  }

  /** The children of a name, in the order of the text. */
  named(name: string): readonly DataNode[] {
    if (this.branch === undefined) return NONE;
    let found = this.#children.get(name);
    if (found === undefined) {
      found = this.#make(this.branch, name);
      this.#children.set(name, found);
    }
    return found;
  }

  /** Every child, in the order of the schema. */
  children(): readonly DataNode[] {
    return this.branch === undefined ? NONE : this.branch.schema.children.flatMap((node) => this.named(node.name));
  }

  /** The node of a child's value; undefined for what is no node (free form). */
  nodeOf(name: string, key?: string): DataNode | undefined {
    const nodes = this.named(name);
    return key === undefined ? nodes[0] : nodes.find((node) => node.branch?.key === key);
  }

  /** XPath §5: what the node reads as; for a leaf its value, else the values below one after the other. */
  text(): string {
    if (this.leaf !== undefined) return this.leaf;
    return this.children()
      .map((node) => node.text())
      .join('');
  }

  #make(branch: Branch, name: string): readonly DataNode[] {
    const schema = childOf(branch.schema, name);
    const value = branch.children.get(name);
    if (value !== undefined) return this.#stated(name, value, schema);
    if (schema === undefined) return NONE;
    const key = keyOf(branch, name);
    if (key !== undefined) return [new DataNode(name, this, schema, undefined, key, branch.place)];
    return holds(branch, schema) ? this.#unstated(schema, branch) : NONE;
  }

  #stated(name: string, value: Value, schema: SchemaNode | undefined): readonly DataNode[] {
    switch (value.kind) {
      case 'leaf':
        return [new DataNode(name, this, value.schema, undefined, value.text, value.place)];
      case 'leaf-list':
        return value.items.map((item) => new DataNode(name, this, value.schema, undefined, item.text, item.place));
      case 'branch':
        return [new DataNode(name, this, value.schema, value, undefined, value.place)];
      case 'list':
        return [...value.entries.values()].map((entry) => new DataNode(name, this, entry.schema, entry, undefined, entry.place));
      case 'any':
        return [new DataNode(name, this, schema, undefined, typeof value.value === 'string' ? value.value : '', value.place)];
    }
  }

  /** RFC 7950 §7.6.1, §7.7.2, §7.5.1: what is there although nobody wrote it. */
  #unstated(schema: SchemaNode, { place }: Branch): readonly DataNode[] {
    switch (schema.kind) {
      case 'leaf':
        return schema.default === undefined ? NONE : [this.#leaf(schema, schema.default, place)];
      case 'leaf-list':
        return (schema.defaults ?? []).map((text) => this.#leaf(schema, text, place));
      case 'container': {
        if (schema.presence === true) return NONE;
        const empty: Branch = { kind: 'branch', schema, key: '', children: new Map(), place };
        return [new DataNode(schema.name, this, schema, empty, undefined, place)];
      }
      case 'list':
      case 'anydata':
        return NONE;
    }
  }

  #leaf(schema: LeafNode | LeafListNode, text: string, place: Place): DataNode {
    return new DataNode(schema.name, this, schema, undefined, text, place);
  }
}

/** A key's value in an entry; undefined when the name is no key. */
function keyOf(branch: Branch, name: string): string | undefined {
  if (branch.schema.kind !== 'list') return undefined;
  const { keys } = branch.schema;
  const at = keys.indexOf(name);
  if (at < 0) return undefined;
  return keys.length === 1 ? branch.key : branch.key.split(' ')[at];
}

/** Of a choice what is not stated holds in the default case alone, and only while no other case is stated (RFC 7950 §7.9.3). */
export function holds(branch: Branch, schema: SchemaNode): boolean {
  const { choice } = schema;
  if (choice === undefined) return true;
  for (let at = 0; at + 1 < choice.length; at += 2) {
    const path = choice.slice(0, at + 1);
    const chosen = chosenCase(branch, path) ?? defaultCase(branch.schema, path);
    if (chosen !== choice[at + 1]) return false;
  }
  return true;
}

/** The case of a choice that something is stated of. */
export function chosenCase(branch: Branch, path: readonly string[]): string | undefined {
  for (const name of branch.children.keys()) {
    const choice = childOf(branch.schema, name)?.choice;
    if (choice !== undefined && choice.length > path.length && path.every((step, at) => choice[at] === step))
      return choice[path.length];
  }
  return undefined;
}

function defaultCase(schema: ParentNode, path: readonly string[]): string | undefined {
  return schema.choices?.find(
    (choice) => choice.path.length === path.length && choice.path.every((step, at) => path[at] === step),
  )?.default;
}

const conditioned = new WeakMap<SchemaNode, boolean>();

/** Is there something below (or here) that only the whole tree can tell: a condition, a leafref, a count, something mandatory? */
export function asksTree(schema: SchemaNode): boolean {
  let found = conditioned.get(schema);
  if (found === undefined) {
    found =
      schema.must !== undefined ||
      schema.when !== undefined ||
      'mandatory' in schema ||
      ('min' in schema && (schema.min ?? 0) > 0) ||
      ('type' in schema && schema.type.base === 'leafref') ||
      (isParent(schema) && (schema.choices?.some((choice) => choice.mandatory) === true || schema.children.some(asksTree)));
    conditioned.set(schema, found);
  }
  return found;
}
