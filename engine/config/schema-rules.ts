// What the schema asks of a tree beyond the values themselves: mandatory leaves, numbers of entries, choices, leafrefs; and what
// the extensions say of leaves whose feature is not built.
import { extension, type ListNode, type ParentNode, type SchemaNode } from '../../yang/compile/schema.ts';
import type { Branch, Value } from './effective.ts';
import { clamp, type Findings, type Place } from './fault.ts';
import { join } from './parser.ts';

interface NotBuilt {
  readonly how: string;
  readonly place: Place;
  count: number;
}

/** Walks the tree as written (before inheritance), so that each statement is looked at once. */
export function checkSchemaRules(root: Branch, findings: Findings): void {
  const notBuilt = new Map<string, NotBuilt>();
  const references: { path: string; text: string; target: string; place: Place }[] = [];
  const walk = (value: Value, schemaPath: string, path: string, covered = false, entry = false): void => {
    const schema = value.kind === 'any' ? undefined : value.schema;
    const how = schema === undefined ? undefined : extension(schema, 'not-built');
    const inside = covered || typeof how === 'string';
    if (typeof how === 'string' && !covered && !entry) {
      const before = notBuilt.get(schemaPath);
      if (before === undefined) notBuilt.set(schemaPath, { how, place: value.place, count: 1 });
      else before.count++;
    }
    switch (value.kind) {
      case 'branch':
        checkBranch(value, path, findings);
        for (const [name, child] of value.children) {
          walk(child, join(schemaPath, name), join(path, name), inside);
        }
        return;
      case 'list':
        checkCount(value.schema, value.entries.size, value.place, path, findings);
        checkUnique(value.schema, [...value.entries.values()], path, findings);
        for (const [key, one] of value.entries) walk(one, schemaPath, join(path, key), inside, true);
        return;
      case 'leaf-list':
        checkCount(value.schema, value.items.length, value.place, path, findings);
        if (value.schema.type.base === 'leafref') {
          for (const item of value.items)
            references.push({ path, text: item.text, target: value.schema.type.path, place: item.place });
        }
        return;
      case 'leaf':
        if (value.schema.type.base === 'leafref') {
          references.push({ path, text: value.text, target: value.schema.type.path, place: value.place });
        }
        return;
      case 'any':
        return;
    }
  };
  walk(root, '', '');
  report(notBuilt, findings);
  for (const { path, text, target, place } of references) {
    if (target.startsWith('/') && !valuesAt(root, target.slice(1).split('/')).has(text)) {
      findings.fault(place, path, `${path}: "${clamp(text)}" is not a value of ${target}`);
    }
  }
}

/** One line a feature, however many peers use it; a feature inside another that is not built is not named again. */
function report(notBuilt: ReadonlyMap<string, NotBuilt>, findings: Findings): void {
  for (const [path, { how, place, count }] of notBuilt) {
    const more = count > 1 ? ` (and ${count - 1} more)` : '';
    if (how === 'refuse')
      findings.fault(
        place,
        path,
        `${path} is not available in this version: refused, because the session would run without it${more}`,
      );
    else findings.warn(place, path, `${path} is not available in this version and has no effect${more}`);
  }
}

function checkBranch(branch: Branch, path: string, findings: Findings): void {
  const chosen = new Map<string, { caseName: string; node: SchemaNode }>();
  for (const node of needing(branch.schema)) {
    const present = branch.children.get(node.name);
    if (present === undefined) {
      if ('mandatory' in node)
        findings.warn(branch.place, join(path, node.name), `${join(path, node.name)} is mandatory and missing`);
      continue;
    }
    if (node.choice === undefined) continue;
    const [choice, caseName] = node.choice;
    const before = chosen.get(choice);
    if (before !== undefined && before.caseName !== caseName) {
      findings.fault(present.place, join(path, node.name), `${path}: ${before.node.name} and ${node.name} exclude each other`);
    } else chosen.set(choice, { caseName, node });
  }
}

const needs = new WeakMap<ParentNode, readonly SchemaNode[]>();

/** The children that mandatory or choice say something about; looked up once a schema node. */
function needing(schema: ParentNode): readonly SchemaNode[] {
  let found = needs.get(schema);
  if (found === undefined) {
    found = schema.children.filter((node) => node.choice !== undefined || 'mandatory' in node);
    needs.set(schema, found);
  }
  return found;
}

function checkCount(
  schema: { min?: number; max?: number; name: string },
  count: number,
  place: Place,
  path: string,
  findings: Findings,
): void {
  if (count < (schema.min ?? 0)) findings.fault(place, path, `${path} needs at least ${schema.min ?? 0} entries, found ${count}`);
  if (count > (schema.max ?? Infinity))
    findings.fault(place, path, `${path} takes at most ${schema.max ?? 0} entries, found ${count}`);
}

function checkUnique(schema: ListNode, entries: readonly Branch[], path: string, findings: Findings): void {
  for (const leaves of schema.unique ?? []) {
    const seen = new Map<string, string>();
    for (const entry of entries) {
      const values = leaves.split(/\s+/).map((name) => entry.children.get(name));
      if (values.some((value) => value?.kind !== 'leaf')) continue;
      const text = values.map((value) => (value?.kind === 'leaf' ? value.text : '')).join(' ');
      const before = seen.get(text);
      if (before !== undefined)
        findings.fault(entry.place, path, `${path}: ${before} and ${entry.key} have the same ${leaves}: ${clamp(text)}`);
      else seen.set(text, entry.key);
    }
  }
}

/** Every value of a leaf or key below a schema path. */
function valuesAt(branch: Branch, path: readonly string[]): Set<string> {
  const out = new Set<string>();
  const [name = '', ...rest] = path.map((step) => step.replace(/\[.*\]$/, ''));
  if (branch.schema.kind === 'list' && rest.length === 0 && branch.schema.keys.includes(name)) out.add(branch.key);
  const value = branch.children.get(name);
  if (value?.kind === 'leaf' && rest.length === 0) out.add(value.text);
  if (value?.kind === 'leaf-list' && rest.length === 0) for (const item of value.items) out.add(item.text);
  const inner = value?.kind === 'branch' ? [value] : value?.kind === 'list' ? [...value.entries.values()] : [];
  for (const one of inner) for (const text of valuesAt(one, rest)) out.add(text);
  return out;
}
