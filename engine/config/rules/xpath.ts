// Evaluates the XPath of a schema's conditions over a configuration (XPath 1.0; RFC 7950 §10 for the functions of YANG). What it costs is
// counted: an expression that walks for ever ends with `Exhausted`.
import type { Expression, Step } from '../../../yang/compile/xpath.ts';
import type { DataNode } from '../tree/data-tree.ts';
import { matchesPattern } from '../text/pattern.ts';

export type XPathValue = readonly DataNode[] | string | number | boolean;

export class Exhausted extends Error {
  override readonly name = 'Exhausted';
}

/** Nodes that all conditions of one configuration may look at together. */
export class Budget {
  left: number;

  constructor(nodes: number) {
    this.left = nodes;
  }

  spend(nodes: number): void {
    this.left -= nodes;
    if (this.left < 0) throw new Exhausted();
  }
}

interface Context {
  readonly node: DataNode;
  readonly position: number;
  readonly size: number;
}

/** One expression at one node; `current()` is the node it was asked at. */
export class Evaluation {
  readonly #current: DataNode;
  readonly #budget: Budget;

  constructor(current: DataNode, budget: Budget) {
    this.#current = current;
    this.#budget = budget;
  }

  /** Throws `Exhausted`. */
  holds(expression: Expression): boolean {
    return truth(this.#value(expression, { node: this.#current, position: 1, size: 1 }));
  }

  /** The nodes a path names. Throws `Exhausted`. */
  nodes(expression: Expression): readonly DataNode[] {
    return set(this.#value(expression, { node: this.#current, position: 1, size: 1 }));
  }

  #value(of: Expression, context: Context): XPathValue {
    this.#budget.spend(1);
    switch (of.kind) {
      case 'literal':
        return of.text;
      case 'number':
        return of.value;
      case 'negative':
        return -number(this.#value(of.of, context));
      case 'filter':
        return this.#filtered(set(this.#value(of.of, context)), of.predicates);
      case 'path':
        return this.#path(of, context);
      case 'call':
        return this.#call(of.name, of.arguments, context);
      case 'operator':
        return this.#operator(of, context);
    }
  }

  #operator(of: Extract<Expression, { kind: 'operator' }>, context: Context): XPathValue {
    const left = this.#value(of.left, context);
    if (of.operator === 'or') return truth(left) || truth(this.#value(of.right, context));
    if (of.operator === 'and') return truth(left) && truth(this.#value(of.right, context));
    const right = this.#value(of.right, context);
    switch (of.operator) {
      case '|':
        return [...new Set([...set(left), ...set(right)])];
      case '+':
        return number(left) + number(right);
      case '-':
        return number(left) - number(right);
      case '*':
        return number(left) * number(right);
      case 'div':
        return number(left) / number(right);
      case 'mod':
        return number(left) % number(right);
      case '=':
      case '!=':
      case '<':
      case '<=':
      case '>':
      case '>=':
        return this.#compared(of.operator, left, right);
    }
  }

  /** XPath §3.4: with a set of nodes, one for which it holds is enough. */
  #compared(operator: '=' | '!=' | '<' | '<=' | '>' | '>=', left: XPathValue, right: XPathValue): boolean {
    if (isSet(left) && isSet(right)) {
      if (operator === '=') {
        const texts = new Set(this.#texts(right));
        return this.#texts(left).some((text) => texts.has(text));
      }
      this.#budget.spend(left.length * right.length);
      const others = this.#texts(right);
      return this.#texts(left).some((a) => others.some((b) => compare(operator, a, b)));
    }
    if (isSet(left) && typeof right !== 'boolean')
      return this.#texts(left).some((text) => compare(operator, text, right as string | number));
    if (isSet(right) && typeof left !== 'boolean')
      return this.#texts(right).some((text) => compare(operator, left as string | number, text));
    return compare(operator, isSet(left) ? truth(left) : left, isSet(right) ? truth(right) : right);
  }

  #texts(nodes: readonly DataNode[]): string[] {
    this.#budget.spend(nodes.length);
    return nodes.map((node) => node.text());
  }

  #path(of: Extract<Expression, { kind: 'path' }>, context: Context): readonly DataNode[] {
    let nodes: readonly DataNode[];
    if (of.from === 'here') nodes = [context.node];
    else if (of.from === 'root') nodes = [rootOf(context.node)];
    else nodes = set(this.#value(of.from, context));
    for (const step of of.steps) nodes = this.#step(nodes, step);
    return nodes;
  }

  #step(from: readonly DataNode[], step: Step): readonly DataNode[] {
    if (from.length === 1) return this.#filtered(this.#axis(from[0]!, step), step.predicates);
    const out = new Set<DataNode>();
    for (const node of from) for (const found of this.#filtered(this.#axis(node, step), step.predicates)) out.add(found);
    return [...out];
  }

  #axis(node: DataNode, { axis, test }: Step): readonly DataNode[] {
    const fits = (one: DataNode): boolean => (test === '*' ? one.parent !== undefined : test === 'node()' || one.name === test);
    const kept = (nodes: readonly DataNode[]): readonly DataNode[] => {
      this.#budget.spend(nodes.length + 1);
      return nodes.filter(fits);
    };
    switch (axis) {
      case 'child': {
        if (test === 'text()') return node.leaf === undefined ? [] : [node];
        const nodes = test === '*' || test === 'node()' ? node.children() : node.named(test);
        this.#budget.spend(nodes.length + 1);
        return nodes;
      }
      case 'parent':
        return kept(node.parent === undefined ? [] : [node.parent]);
      case 'self':
        return kept([node]);
      case 'ancestor':
        return kept(ancestors(node));
      case 'ancestor-or-self':
        return kept([node, ...ancestors(node)]);
      case 'descendant':
        return kept(this.#below(node));
      case 'descendant-or-self':
        return kept([node, ...this.#below(node)]);
      case 'following-sibling':
      case 'preceding-sibling': {
        const all = node.parent?.children() ?? [];
        const at = all.indexOf(node);
        return kept(axis === 'following-sibling' ? all.slice(at + 1) : all.slice(0, Math.max(0, at)).reverse());
      }
    }
  }

  #below(node: DataNode): DataNode[] {
    const out: DataNode[] = [];
    const stack = [...node.children()].reverse();
    while (stack.length > 0) {
      const next = stack.pop()!;
      this.#budget.spend(1);
      out.push(next);
      stack.push(...[...next.children()].reverse());
    }
    return out;
  }

  #filtered(nodes: readonly DataNode[], predicates: readonly Expression[]): readonly DataNode[] {
    let out = nodes;
    for (const predicate of predicates) {
      const size = out.length;
      out = out.filter((node, index) => {
        const value = this.#value(predicate, { node, position: index + 1, size });
        return typeof value === 'number' ? value === index + 1 : truth(value);
      });
    }
    return out;
  }

  #call(name: string, given: readonly Expression[], context: Context): XPathValue {
    const value = (at: number): XPathValue => this.#value(given[at]!, context);
    const string = (at: number): string => text(value(at));
    const here = (): string => (given.length === 0 ? context.node.text() : string(0));
    switch (name) {
      case 'current':
        return [this.#current];
      case 'last':
        return context.size;
      case 'position':
        return context.position;
      case 'count':
        return set(value(0)).length;
      case 'name':
      case 'local-name':
        return (given.length === 0 ? context.node : set(value(0))[0])?.name ?? '';
      case 'string':
        return here();
      case 'concat':
        return given.map((_, at) => string(at)).join('');
      case 'starts-with':
        return string(0).startsWith(string(1));
      case 'contains':
        return string(0).includes(string(1));
      case 'substring-before': {
        const [whole, part] = [string(0), string(1)];
        return whole.slice(0, Math.max(0, whole.indexOf(part)));
      }
      case 'substring-after': {
        const [whole, part] = [string(0), string(1)];
        const at = whole.indexOf(part);
        return at < 0 ? '' : whole.slice(at + part.length);
      }
      case 'substring': {
        const from = Math.round(number(value(1)));
        const to = given.length > 2 ? from + Math.round(number(value(2))) : Infinity;
        return Array.from(string(0))
          .filter((_, at) => at + 1 >= from && at + 1 < to)
          .join('');
      }
      case 'string-length':
        return Array.from(here()).length;
      case 'normalize-space':
        return here().trim().split(/\s+/).join(' ');
      case 'translate':
        return translated(string(0), string(1), string(2));
      case 'boolean':
        return truth(value(0));
      case 'not':
        return !truth(value(0));
      case 'true':
        return true;
      case 'false':
        return false;
      case 'number':
        return given.length === 0 ? number(context.node.text()) : number(value(0));
      case 'sum':
        return this.#texts(set(value(0))).reduce((sum, one) => sum + number(one), 0);
      case 'floor':
        return Math.floor(number(value(0)));
      case 'ceiling':
        return Math.ceil(number(value(0)));
      case 'round':
        return Math.round(number(value(0)));
      case 'deref':
        return this.#referred(set(value(0))[0]);
      case 're-match':
        return matchesPattern(string(1), string(0)) === true;
      case 'derived-from':
      case 'derived-from-or-self': {
        const names = new Set(string(1).split(' '));
        return this.#texts(set(value(0))).some((one) => names.has(one));
      }
      case 'enum-value':
        return enumValue(set(value(0))[0]);
      case 'bit-is-set': {
        const bits = set(value(0))[0]?.leaf?.split(/\s+/) ?? [];
        return bits.includes(string(1));
      }
      default:
        return '';
    }
  }

  /** RFC 7950 §10.3.1: what a leafref refers to. */
  #referred(node: DataNode | undefined): readonly DataNode[] {
    const schema = node?.schema;
    if (node === undefined || (schema?.kind !== 'leaf' && schema?.kind !== 'leaf-list') || schema.type.base !== 'leafref')
      return [];
    return new Evaluation(node, this.#budget).nodes(schema.type.steps).filter((one) => one.leaf === node.leaf);
  }
}

function isSet(value: XPathValue): value is readonly DataNode[] {
  return typeof value === 'object';
}

function set(value: XPathValue): readonly DataNode[] {
  return isSet(value) ? value : [];
}

function truth(value: XPathValue): boolean {
  if (isSet(value)) return value.length > 0;
  return typeof value === 'number' ? value !== 0 && !Number.isNaN(value) : typeof value === 'string' ? value !== '' : value;
}

function text(value: XPathValue): string {
  return isSet(value) ? (value[0]?.text() ?? '') : String(value);
}

function number(value: XPathValue): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  const digits = text(value).trim();
  return /^-?(?:\d+(?:\.\d*)?|\.\d+)$/.test(digits) ? Number(digits) : NaN;
}

function compare(
  operator: '=' | '!=' | '<' | '<=' | '>' | '>=',
  a: string | number | boolean,
  b: string | number | boolean,
): boolean {
  if (operator === '=' || operator === '!=') {
    let same: boolean;
    if (typeof a === 'boolean' || typeof b === 'boolean') same = truth(a) === truth(b);
    else if (typeof a === 'number' || typeof b === 'number') same = number(a) === number(b);
    else same = a === b;
    return same === (operator === '=');
  }
  const [x, y] = [number(a), number(b)];
  if (operator === '<') return x < y;
  if (operator === '<=') return x <= y;
  return operator === '>' ? x > y : x >= y;
}

function translated(whole: string, from: string, to: string): string {
  const target = Array.from(to);
  const map = new Map<string, string>();
  for (const [at, c] of Array.from(from).entries()) if (!map.has(c)) map.set(c, target[at] ?? '');
  return Array.from(whole)
    .map((c) => map.get(c) ?? c)
    .join('');
}

function rootOf(node: DataNode): DataNode {
  let at = node;
  while (at.parent !== undefined) at = at.parent;
  return at;
}

function ancestors(node: DataNode): DataNode[] {
  const out: DataNode[] = [];
  for (let at = node.parent; at !== undefined; at = at.parent) out.push(at);
  return out;
}

function enumValue(node: DataNode | undefined): number {
  const schema = node?.schema;
  if (node?.leaf === undefined || schema === undefined || !('type' in schema) || schema.type.base !== 'enumeration') return NaN;
  const at = schema.type.values.indexOf(node.leaf);
  return at < 0 ? NaN : (schema.type.numbers?.[at] ?? at);
}
