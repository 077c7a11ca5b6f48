// Inheritance: what stands in `bgp`, then in the group, then in the peer (the most specific wins). Answers peers whole, and the
// effective tree that plugins are shown.
import { childOf, type ListNode } from '../../../yang/compile/schema.ts';
import { type Branch, entriesAt, type ListValue, merge, pick, Reader, type Value } from './effective.ts';
import { clamp, type Findings } from '../fault.ts';

/** A peer with everything it inherits. */
export interface EffectivePeer {
  readonly name: string;
  /** '' for a peer that stands directly below `bgp`. */
  readonly group: string;
  readonly fields: Reader;
}

/** Every peer below `bgp`, in the order of the text: those of groups after those without. */
export function effectivePeers(bgp: Branch, findings: Findings): readonly EffectivePeer[] {
  const schema = childOf(bgp.schema, 'peer');
  if (schema?.kind !== 'list') return [];
  const inherited = (branch: Branch): Branch => joinBindings(pick(branch, (name) => childOf(schema, name) !== undefined));
  const base = inherited(bgp);
  const peers: EffectivePeer[] = [];
  const seen = new Map<string, Branch>();
  const add = (entry: Branch, group: string, defaults: Branch): void => {
    const before = seen.get(entry.key);
    if (before !== undefined) {
      const hint = `first on line ${before.place.line}`;
      findings.fault(entry.place, `bgp/peer/${entry.key}`, `duplicate peer name: ${entry.key}`, { hint });
      return;
    }
    seen.set(entry.key, entry);
    peers.push({ name: entry.key, group, fields: new Reader(merge(defaults, joinBindings(entry))) });
  };
  for (const entry of entriesAt(bgp, 'peer')) {
    // What is no name at all is a fault of the value, and said.
    const said = findings.faults.some((one) => one.path === 'bgp/peer' && one.line === entry.place.line);
    if (!said && !/^[A-Za-z_]/.test(entry.key)) {
      const message = `peer ${clamp(entry.key)}: outside a group the name of a peer begins with a letter or "_"`;
      findings.fault(entry.place, `bgp/peer/${entry.key}`, message);
    }
    add(entry, '', base);
  }
  for (const group of entriesAt(bgp, 'group')) {
    const defaults = merge(base, inherited(group));
    for (const entry of entriesAt(group, 'peer')) add(entry, group.key, defaults);
  }
  return peers;
}

/**
 * What `bgp` and the groups hold for peers, as peers without a name: a reference in them that leads nowhere is wrong although nobody
 * inherits it.
 */
export function peerTemplates(bgp: Branch): readonly EffectivePeer[] {
  const groups = entriesAt(bgp, 'group').map((group) => ({
    name: '',
    group: group.key,
    fields: new Reader(joinBindings(group)),
  }));
  return [{ name: '', group: '', fields: new Reader(joinBindings(bgp)) }, ...groups];
}

/** `bgp/peer/NAME`; of a template `bgp/group/NAME` or `bgp`. */
export function peerPath({ name, group }: EffectivePeer): string {
  return name !== '' ? `bgp/peer/${name}` : group !== '' ? `bgp/group/${group}` : 'bgp';
}

/** `attach process NAME` is the newer spelling of `process NAME`: both end in one list. */
function joinBindings(branch: Branch): Branch {
  const attach = branch.children.get('attach');
  const process = attach?.kind === 'branch' ? attach.children.get('process') : undefined;
  if (process?.kind !== 'list') return branch;
  const children = new Map(branch.children);
  children.delete('attach');
  const bindings: Branch = { ...branch, children: new Map([['process', process]]) };
  return merge({ ...branch, children }, bindings);
}

/**
 * The whole tree as plugins see it: `bgp/peer` holds every peer with what it inherits (one of a group also names its `group`),
 * `bgp/group` holds the groups without their peers.
 */
export function effectiveTree(root: Branch, peers: readonly EffectivePeer[]): Branch {
  const bgp = root.children.get('bgp');
  if (bgp?.kind !== 'branch') return root;
  const children = new Map<string, Value>(bgp.children);
  const group = children.get('group');
  if (group?.kind === 'list') {
    const entries = [...group.entries].map(([key, entry]) => [key, pick(entry, (name) => name !== 'peer')] as const);
    children.set('group', { ...group, entries: new Map(entries) });
  }
  if (peers.length > 0) {
    const entries = new Map(peers.map((peer) => [peer.name, named(peer)]));
    const list: ListValue = { kind: 'list', schema: childOf(bgp.schema, 'peer') as ListNode, entries, place: bgp.place };
    children.set('peer', list);
  }
  return { ...root, children: new Map(root.children).set('bgp', { ...bgp, children }) };
}

function named(peer: EffectivePeer): Branch {
  const { branch } = peer.fields;
  if (peer.group === '') return branch;
  const group: Value = { kind: 'any', value: peer.group, place: branch.place };
  return { ...branch, children: new Map(branch.children).set('group', group) };
}
