// Defaults of what plugins have added to the schema, filled into the effective tree: the plugin is the only reader of its block, and
// it is shown every value that holds there (RFC 7950 §7.6.1). The shipped schema's defaults are applied by those who read it.
import { isParent, type LeafListNode, type LeafNode, type ParentNode, type SchemaNode } from '../../../yang/compile/schema.ts';
import { holds } from './data-tree.ts';
import type { Branch, Value } from './effective.ts';

/** The tree itself when no plugin has added anything, or nothing of it is there. */
export function withJoinedDefaults(root: Branch): Branch {
  return holdsJoined(root.schema) ? fill(root, false) : root;
}

function fill(branch: Branch, inside: boolean): Branch {
  const children = new Map(branch.children);
  for (const node of branch.schema.children) {
    const joined = inside || node.joined !== undefined;
    const value = children.get(node.name);
    if (value !== undefined) children.set(node.name, fillValue(value, node, joined));
    // Of a choice what is stated is there, else its default case. A container that a plugin adds to ours stays away until it is stated.
    // A template states what peers inherit: what it does not state is not there.
    else if (joined && node.template !== true && holds(branch, node) && (inside || node.kind !== 'container')) {
      const added = defaultOf(node, branch);
      if (added !== undefined) children.set(node.name, added);
    }
  }
  return { ...branch, children };
}

function fillValue(value: Value, node: SchemaNode, joined: boolean): Value {
  if (!isParent(node) || !(joined || holdsJoined(node))) return value;
  if (value.kind === 'branch') return fill(value, joined);
  if (value.kind !== 'list') return value;
  return { ...value, entries: new Map([...value.entries].map(([key, entry]) => [key, fill(entry, joined)])) };
}

function defaultOf(node: SchemaNode, parent: Branch): Value | undefined {
  switch (node.kind) {
    case 'leaf':
      return leafDefault(node, parent);
    case 'leaf-list':
      return leafListDefault(node, parent);
    case 'container': {
      if (node.presence === true) return undefined;
      const made = fill({ kind: 'branch', schema: node, key: '', children: new Map(), place: parent.place }, true);
      return made.children.size === 0 ? undefined : made;
    }
    case 'list':
    case 'anydata':
      return undefined;
  }
}

function leafDefault(schema: LeafNode, { schema: owner, place }: Branch): Value | undefined {
  if (schema.default === undefined || (owner.kind === 'list' && owner.keys.includes(schema.name))) return undefined;
  return { kind: 'leaf', schema, text: schema.default, place };
}

function leafListDefault(schema: LeafListNode, { place }: Branch): Value | undefined {
  if (schema.defaults === undefined) return undefined;
  return { kind: 'leaf-list', schema, items: schema.defaults.map((text) => ({ text, place })), place };
}

const known = new WeakMap<ParentNode, boolean>();

/** Is there a node of a plugin's below? Asked once a schema node. */
function holdsJoined(schema: ParentNode): boolean {
  let found = known.get(schema);
  if (found === undefined) {
    found = schema.children.some((node) => node.joined !== undefined || (isParent(node) && holdsJoined(node)));
    known.set(schema, found);
  }
  return found;
}
