// What the schema asks of a tree as it was written, beyond the values themselves: numbers of entries, what is unique, choices; and what
// the extensions say of leaves whose feature is not built. What needs the tree with all that is inherited stands in `tree-rules`.
import { extension, type ParentNode, type SchemaNode } from '../../../yang/compile/schema.ts';
import type { Branch, Value } from '../tree/effective.ts';
import { type Findings, join, type Place } from '../fault.ts';
import { checkUnique } from './tree-rules.ts';

interface NotBuilt {
  readonly how: string;
  readonly place: Place;
  count: number;
}

/** Walks the tree as written (before inheritance), so that each statement is looked at once. */
export function checkSchemaRules(root: Branch, findings: Findings, judged = false): void {
  const notBuilt = new Map<string, NotBuilt>();
  const walk = (value: Value, schemaPath: string, path: string, covered = false, entry = false): void => {
    const schema = value.kind === 'any' ? undefined : value.schema;
    const how = schema === undefined ? undefined : extension(schema, 'not-built');
    const inside = covered || typeof how === 'string';
    if (typeof how === 'string' && !covered && !entry && !isIdle(value)) {
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
        return;
      case 'leaf':
      case 'any':
        return;
    }
  };
  walk(root, '', '');
  report(notBuilt, findings, judged);
}

/** What says no more than what holds without it is not missed: a default, an empty block, a feature switched off. */
function isIdle(value: Value): boolean {
  if (value.kind === 'leaf') return value.text === value.schema.default;
  if (value.kind !== 'branch' || value.schema.kind !== 'container') return false;
  if (value.children.size === 0) return value.schema.presence !== true;
  const word = extension(value.schema, 'word-leaf');
  const state = typeof word === 'string' ? value.children.get(word) : undefined;
  return state?.kind === 'leaf' && ['false', 'disable'].includes(state.text);
}

/** One line a feature, however many peers use it; a feature inside another that is not built is not named again. */
function report(notBuilt: ReadonlyMap<string, NotBuilt>, findings: Findings, judged: boolean): void {
  for (const [path, { how, place, count }] of notBuilt) {
    const more = count > 1 ? ` (and ${count - 1} more)` : '';
    if (how === 'refuse' && judged)
      findings.warn(
        place,
        path,
        `${path} is not available in this version: the daemon refuses this configuration, because the session would run without it${more}`,
      );
    else if (how === 'refuse')
      findings.fault(
        place,
        path,
        `${path} is not available in this version: refused, because the session would run without it${more}`,
      );
    else findings.warn(place, path, `${path} is not available in this version and has no effect${more}`);
  }
}

/** At most one case of each choice, those inside cases too (RFC 7950 §7.9). */
function checkBranch(branch: Branch, path: string, findings: Findings): void {
  const nodes = chosen(branch.schema);
  if (nodes.length === 0) return;
  const seen = new Map<string, { readonly caseName: string; readonly node: SchemaNode }>();
  for (const node of nodes) {
    const present = branch.children.get(node.name);
    if (present === undefined) continue;
    const choice = node.choice!;
    for (let at = 0; at + 1 < choice.length; at += 2) {
      const key = choice.slice(0, at + 1).join('/');
      const before = seen.get(key);
      if (before === undefined) seen.set(key, { caseName: choice[at + 1]!, node });
      else if (before.caseName !== choice[at + 1]) {
        findings.fault(present.place, join(path, node.name), `${path}: ${before.node.name} and ${node.name} exclude each other`);
        break;
      }
    }
  }
}

const choosing = new WeakMap<ParentNode, readonly SchemaNode[]>();

/** The children that belong to a choice; looked up once a schema node. */
function chosen(schema: ParentNode): readonly SchemaNode[] {
  let found = choosing.get(schema);
  if (found === undefined) {
    found = schema.children.filter((node) => node.choice !== undefined);
    choosing.set(schema, found);
  }
  return found;
}

function checkCount(schema: { max?: number }, count: number, place: Place, path: string, findings: Findings): void {
  if (count > (schema.max ?? Infinity))
    findings.fault(place, path, `${path} takes at most ${schema.max ?? 0} entries, found ${count}`);
}
