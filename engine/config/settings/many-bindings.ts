// A binding for several plugins: `process all { processes [ a b ]; receive [ update ]; }` stands for one binding of a and one of b;
// `processes-match` names them by pattern. What a plugin's own binding says beside it is the more specific. And what stands for a
// binding of another kind: `neighbor-changes` is the event kind `state`.
import { matchesName } from './name-pattern.ts';
import { type Branch, type LeafListValue, merge, pick, Reader, valueAt } from '../tree/effective.ts';
import { clamp, type Findings } from '../fault.ts';
import { type EffectivePeer, peerPath } from '../tree/inherit.ts';
import { didYouMean } from '../text/values.ts';

const SEVERAL = ['processes', 'processes-match'] as const;

/** Peers whose bindings name one plugin each; those that did already are the same objects. */
export function singleBindings(
  peers: readonly EffectivePeer[],
  plugins: readonly string[],
  findings: Findings,
): readonly EffectivePeer[] {
  const told = new Set<unknown>();
  return peers.map((peer) => {
    const list = valueAt(peer.fields.branch, 'process');
    if (list?.kind !== 'list') return peer;
    const bindings = [...list.entries].map(([key, entry]) => [key, withState(entry)] as const);
    const wide = bindings.filter(([, entry]) => SEVERAL.some((leaf) => entry.children.has(leaf)));
    if (wide.length === 0 && bindings.every(([key, entry]) => list.entries.get(key) === entry)) return peer;
    const entries = new Map(bindings);
    for (const [key, entry] of wide) {
      const body = pick(entry, (name) => name !== 'processes' && name !== 'processes-match');
      // The key of such a binding may be a label alone.
      if (plugins.includes(key) || body.children.has('run')) entries.set(key, body);
      else entries.delete(key);
      for (const name of namedBy(peerPath(peer), entry, plugins, told, findings)) {
        const own = entries.get(name);
        const made: Branch = { ...body, key: name };
        entries.set(name, own === undefined ? made : merge(made, own));
      }
    }
    const children = new Map(peer.fields.branch.children).set('process', { ...list, entries });
    return { ...peer, fields: new Reader({ ...peer.fields.branch, children }) };
  });
}

function namedBy(
  path: string,
  entry: Branch,
  plugins: readonly string[],
  told: Set<unknown>,
  findings: Findings,
): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { text, place } of itemsOf(entry, 'processes')) {
    if (plugins.includes(text)) names.add(text);
    if (plugins.includes(text) || told.has(place)) continue;
    told.add(place);
    const hint = didYouMean(text, plugins);
    findings.fault(place, `${path}/process/${entry.key}/processes`, `undefined plugin in processes: ${clamp(text)}`, { hint });
  }
  for (const { text, place } of itemsOf(entry, 'processes-match')) {
    const found = plugins.filter((name) => matchesName(text, name) === true);
    for (const name of found) names.add(name);
    if (found.length > 0 || told.has(place)) continue;
    told.add(place);
    findings.warn(place, `${path}/process/${entry.key}/processes-match`, `the pattern "${clamp(text)}" matches no plugin`);
  }
  return names;
}

function itemsOf(entry: Branch, leaf: string): LeafListValue['items'] {
  const value = entry.children.get(leaf);
  return value?.kind === 'leaf-list' ? value.items : [];
}

/** The old style: a plugin that wants to hear of neighbours receives `state`. */
function withState(entry: Branch): Branch {
  const fields = new Reader(entry);
  if (!fields.has('neighbor-changes') || !fields.flag('neighbor-changes/enabled')) return entry;
  const receive = entry.children.get('receive');
  const items = receive?.kind === 'leaf-list' ? receive.items : [];
  if (items.some((item) => item.text === 'state')) return entry;
  const schema = entry.schema.children.find((node) => node.name === 'receive');
  if (schema?.kind !== 'leaf-list') return entry;
  const place = fields.place('neighbor-changes');
  const more: LeafListValue = { kind: 'leaf-list', schema, items: [...items, { text: 'state', place }], place };
  return { ...entry, children: new Map(entry.children).set('receive', more) };
}
