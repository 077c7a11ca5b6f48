// What only the whole tree can tell, once inheritance is applied: `must`, `when`, leafrefs, and what is missing (RFC 7950 §8.1). Walked
// where the schema asks for it and nowhere else. A missing mandatory leaf is a warning (daemon-config §12), the rest are faults.
import {
  childOf,
  type Condition,
  isParent,
  type ListNode,
  type ParentNode,
  type SchemaNode,
} from '../../../yang/compile/schema.ts';
import type { Expression } from '../../../yang/compile/xpath.ts';
import { asksTree, chosenCase, DataNode, holds } from '../tree/data-tree.ts';
import type { Branch } from '../tree/effective.ts';
import { clamp, type Findings, join } from '../fault.ts';
import { isSecret } from '../secret.ts';
import { Budget, Evaluation, Exhausted } from './xpath.ts';

/** Nodes that all conditions of one configuration look at. */
const MAXIMUM_VISITS = 20_000_000;

/** Checks the effective tree. */
export function checkTreeRules(root: Branch, findings: Findings): void {
  if (asksTree(root.schema)) new TreeRules(findings).check(root);
}

class TreeRules {
  readonly #findings: Findings;
  readonly #budget = new Budget(MAXIMUM_VISITS);
  /** Faults of what several peers inherit are said once: by place and message. */
  readonly #told = new Set<string>();
  /** Values that a leafref may take, by the node its path begins at and the path. */
  readonly #values = new Map<DataNode, Map<string, ReadonlySet<string>>>();
  #exhausted = false;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  check(root: Branch): void {
    this.#parent(DataNode.root(root), '');
  }

  #fault(node: DataNode, path: string, message: string): void {
    const key = `${node.place.line} ${node.place.column} ${message}`;
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.#findings.fault(node.place, path, `${path}: ${message}`);
  }

  /** A container or list entry that is there. */
  #parent(node: DataNode, path: string): void {
    const branch = node.branch!;
    for (const schema of branch.schema.children) {
      if (schema.template === true || !asksTree(schema)) continue;
      const own = join(path, schema.name);
      const stated = branch.children.get(schema.name);
      if (stated === undefined) {
        this.#missing(node, schema, own);
        continue;
      }
      const found = node.named(schema.name);
      if (schema.kind === 'list' || schema.kind === 'leaf-list') this.#count(node, schema, found.length, own);
      for (const one of found) this.#node(one, schema.kind === 'list' ? join(own, one.branch?.key ?? '') : own);
    }
    this.#choices(node, branch.schema, path);
  }

  #node(node: DataNode, path: string): void {
    const schema = node.schema!;
    for (const when of schema.when ?? []) {
      if (!this.#true(when, node, path)) {
        this.#fault(node, path, `may stand here only when ${when.source}`);
        return;
      }
    }
    this.#musts(node, schema, path);
    if (node.branch !== undefined) this.#parent(node, path);
    else if (node.leaf !== undefined) this.#reference(node, path);
  }

  #musts(node: DataNode, schema: SchemaNode, path: string): void {
    for (const must of schema.must ?? []) {
      if (!this.#true(must, node, path)) this.#fault(node, path, must.message ?? `must satisfy ${must.source}`);
    }
  }

  #true(condition: Condition, node: DataNode, path: string): boolean {
    const at = condition.above === true ? (node.parent ?? node) : node;
    return this.#within(path, node, () => new Evaluation(at, this.#budget).holds(condition.expression)) ?? true;
  }

  /** `undefined` when the conditions of the configuration cost too much; said once. */
  #within<T>(path: string, node: DataNode, evaluate: () => T): T | undefined {
    if (this.#exhausted) return undefined;
    try {
      return evaluate();
    } catch (error) {
      if (!(error instanceof Exhausted)) throw error;
      this.#exhausted = true;
      this.#fault(node, path, `the conditions of the schema look at more than ${MAXIMUM_VISITS} nodes: they cannot be checked`);
      return undefined;
    }
  }

  /** A child that is not stated: it may be mandatory, and what holds unstated (a default, a container) has conditions too. */
  #missing(parent: DataNode, schema: SchemaNode, path: string): void {
    if (!holds(parent.branch!, schema) || !this.#applies(parent, schema, path)) return;
    if ('mandatory' in schema) {
      const { place } = parent;
      this.#findings.warn(place, path, `${path} is mandatory and missing`);
      return;
    }
    if (schema.kind === 'list' || schema.kind === 'leaf-list') this.#count(parent, schema, 0, path);
    // Only inside what a plugin has added is a container there by itself: its top, and ours, stay away until they are stated.
    if (schema.kind === 'container' && (schema.presence === true || !isJoined(parent))) return;
    for (const node of parent.named(schema.name)) {
      this.#musts(node, schema, path);
      if (node.branch !== undefined) this.#parent(node, path);
    }
  }

  /** Do the conditions for an unstated child hold? What stands at the parent can be asked; the node itself is not there. */
  #applies(parent: DataNode, schema: SchemaNode, path: string): boolean {
    return (schema.when ?? []).every((when) => {
      const absent = new DataNode(schema.name, parent, schema, undefined, undefined, parent.place);
      return this.#true(when, absent, path);
    });
  }

  #count(node: DataNode, schema: { readonly min?: number; readonly name: string }, count: number, path: string): void {
    if (count < (schema.min ?? 0)) this.#fault(node, path, `needs at least ${schema.min ?? 0} entries, found ${count}`);
  }

  #choices(node: DataNode, schema: ParentNode, path: string): void {
    for (const choice of schema.choices ?? []) {
      if (choice.mandatory !== true || chosenCase(node.branch!, choice.path) !== undefined) continue;
      const outer = choice.path.slice(0, -2);
      if (outer.length > 0 && chosenCase(node.branch!, outer) !== choice.path.at(-2)) continue;
      this.#findings.warn(node.place, path, `${path}: one of ${choice.cases.join(', ')} is mandatory`);
    }
  }

  /** RFC 7950 §9.9: the value is there where the path leads. */
  #reference(node: DataNode, path: string): void {
    const schema = node.schema;
    if ((schema?.kind !== 'leaf' && schema?.kind !== 'leaf-list') || schema.type.base !== 'leafref') return;
    const { type } = schema;
    if (type.requireInstance === false || type.steps.kind !== 'path' || type.target === undefined) return;
    const values = this.#within(path, node, () => this.#allowed(node, type));
    if (values !== undefined && !values.has(node.leaf!)) {
      this.#fault(node, path, `${isSecret(schema) ? 'it' : `"${clamp(node.leaf!)}"`} is not a value of ${type.path}`);
    }
  }

  /** The values of a path; where it has no predicates they are gathered once for all leaves that begin at the same node. */
  #allowed(node: DataNode, type: { readonly path: string; readonly steps: Expression }): ReadonlySet<string> {
    const { steps } = type;
    const gather = (from: DataNode, of: Expression): ReadonlySet<string> =>
      new Set(new Evaluation(from, this.#budget).nodes(of).map((one) => one.leaf ?? ''));
    if (steps.kind !== 'path' || typeof steps.from !== 'string' || steps.steps.some((step) => step.predicates.length > 0)) {
      return gather(node, steps);
    }
    let from = node;
    let up = 0;
    if (steps.from === 'root') while (from.parent !== undefined) from = from.parent;
    else for (; steps.steps[up]?.axis === 'parent' && from.parent !== undefined; up++) from = from.parent;
    let known = this.#values.get(from);
    if (known === undefined) this.#values.set(from, (known = new Map<string, ReadonlySet<string>>()));
    const rest = { ...steps, from: 'here' as const, steps: steps.steps.slice(up) };
    const key = rest.steps.map((step) => `${step.axis}::${step.test}`).join('/');
    let values = known.get(key);
    if (values === undefined) known.set(key, (values = gather(from, rest)));
    return values;
  }
}

function isJoined(node: DataNode): boolean {
  for (let at: DataNode | undefined = node; at !== undefined; at = at.parent) if (at.schema?.joined !== undefined) return true;
  return false;
}

/** RFC 7950 §7.8.3: combinations of leaves (of descendants too) that stand once in a list. */
export function checkUnique(schema: ListNode, entries: readonly Branch[], path: string, findings: Findings): void {
  for (const leaves of schema.unique ?? []) {
    const seen = new Map<string, string>();
    const paths = leaves.split(/\s+/).map((name) => name.split('/'));
    const secret = paths.some((one) => hidden(schema, one));
    for (const entry of entries) {
      const values = paths.map((one) => leafAt(entry, one));
      if (values.includes(undefined)) continue;
      const text = values.join(' ');
      const before = seen.get(text);
      if (before !== undefined)
        findings.fault(
          entry.place,
          path,
          `${path}: ${before} and ${entry.key} have the same ${leaves}${secret ? '' : `: ${clamp(text)}`}`,
        );
      else seen.set(text, entry.key);
    }
  }
}

/** Is the leaf at a path a secret? */
function hidden(parent: ParentNode, [name = '', ...rest]: readonly string[]): boolean {
  const node = childOf(parent, name);
  if (node === undefined) return false;
  return rest.length === 0 ? isSecret(node) : isParent(node) && hidden(node, rest);
}

function leafAt(branch: Branch, path: readonly string[]): string | undefined {
  const [name = '', ...rest] = path;
  const value = branch.children.get(name);
  if (value?.kind === 'leaf') return rest.length === 0 ? value.text : undefined;
  return value?.kind === 'branch' ? leafAt(value, rest) : undefined;
}
