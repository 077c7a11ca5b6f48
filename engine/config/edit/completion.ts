// What may stand next in a line of the editor: commands, names of the schema (plugins' included), keys that are there, values of types.
// What no list can hold (a number, an address) is named beside the candidates, as what is expected.
import {
  childOf,
  extension,
  INTEGER_BOUNDS,
  isParent,
  type LeafListNode,
  type LeafNode,
  type ListNode,
  type ParentNode,
  type SchemaNode,
  type TypeSpec,
} from '../../../yang/compile/schema.ts';
import { quote } from '../text/print.ts';
import { namesOf } from '../set-format/print.ts';
import type { ConfigStatement } from '../text/syntax-tree.ts';
import type { Validators } from '../rules/validators.ts';
import type { Candidate } from './candidate.ts';
import { readEditLine } from './line.ts';
import { EDIT_PIPES } from './pipes.ts';
import { EDIT_VERBS, type EditVerb } from './verbs.ts';

export interface Offer {
  readonly word: string;
  readonly help: string;
}

export interface EditCompletion {
  /** Words to insert. */
  readonly candidates: readonly Offer[];
  /** What is expected and cannot be listed. */
  readonly expects: readonly Offer[];
  /** The letters of the word that is being written. */
  readonly partial: string;
}

const MAXIMUM_CANDIDATES = 512;

export function completeEdit(text: string, candidate: Candidate, validators: Validators): EditCompletion {
  const fresh = text === '' || /[ \t]$/.test(text);
  const partial = fresh ? '' : (/\S*$/.exec(text)?.[0] ?? '');
  const head = text.slice(0, text.length - partial.length);
  const bar = /^(.*[ \t])\|[ \t]*$/.exec(head)?.[1];
  const before = readEditLine(bar ?? head);
  if (!before.ok) return { candidates: [], expects: [], partial };
  const { verb, words, pipes } = before.line;
  const texts = words.map((word) => word.text);
  const piped = bar !== undefined ? [] : pipes.at(-1);
  const { candidates, expects } = piped === undefined ? offers(verb, texts, candidate, validators) : pipeOffers(piped);
  const wanted = partial.toLowerCase();
  const fitting = candidates.filter(({ word }) => word.toLowerCase().startsWith(wanted));
  const seen = new Set<string>();
  const unique = fitting.filter(({ word }) => !seen.has(word) && seen.add(word).size > 0);
  return { candidates: unique.slice(0, MAXIMUM_CANDIDATES), expects, partial };
}

interface Offers {
  readonly candidates: readonly Offer[];
  readonly expects: readonly Offer[];
}

const NOTHING: Offers = { candidates: [], expects: [] };

function pipeOffers(words: readonly string[]): Offers {
  const [first] = words;
  if (first === 'match') return { candidates: [], expects: [{ word: 'TEXT', help: 'Any text' }] };
  if (first === 'display') return { candidates: [{ word: 'set', help: 'As set lines' }], expects: [] };
  return first === undefined ? { candidates: EDIT_PIPES.map(([word, help]) => ({ word, help })), expects: [] } : NOTHING;
}

function offers(verb: string, words: readonly string[], candidate: Candidate, validators: Validators): Offers {
  if (verb === '') return { candidates: EDIT_VERBS.map(({ name, help }) => ({ word: name, help })), expects: [] };
  const known = EDIT_VERBS.find((one) => one.name === verb || one.aliases.includes(verb));
  if (known === undefined) return NOTHING;
  if (known.name === 'help')
    return words.length > 0 ? NOTHING : { candidates: EDIT_VERBS.map(({ name, help }) => ({ word: name, help })), expects: [] };
  if (known.name === 'top' && words.length === 0)
    return { candidates: EDIT_VERBS.map(({ name, help }) => ({ word: name, help })), expects: [] };
  if (known.takes === 'nothing') return NOTHING;
  if (known.takes === 'words') return wordOffers(known, words);
  return pathOffers(known, words, candidate, validators);
}

function wordOffers(verb: EditVerb, words: readonly string[]): Offers {
  if (words.at(-1) === 'comment')
    return { candidates: [], expects: [{ word: 'TEXT', help: 'Text for the history; quote it to go on' }] };
  if (words.at(-1) === 'confirmed') return { candidates: [], expects: [{ word: 'SECONDS', help: '1..3600' }] };
  const candidates = (verb.words ?? []).filter(([word]) => !words.includes(word)).map(([word, help]) => ({ word, help }));
  const number =
    verb.words === undefined && words.length === 0 ? [{ word: 'N', help: 'Number of a revision: history lists them' }] : [];
  return { candidates, expects: number };
}

/** Where the words have led: the schema there, and the statements that are there. */
interface Spot {
  readonly schema: ParentNode;
  readonly statements: readonly ConfigStatement[];
}

function pathOffers(verb: EditVerb, words: readonly string[], candidate: Candidate, validators: Validators): Offers {
  const scene: Scene = {
    making: verb.takes === 'new-path' || verb.takes === 'block',
    blocks: verb.takes === 'block',
    validators,
    root: candidate.tree.children,
  };
  const context = readEditLine(`x ${candidate.where}`);
  const lead = context.ok ? context.line.words.map((word) => word.text) : [];
  let spot: Spot = { schema: candidate.tree.schema, statements: candidate.tree.children };
  const all = [...lead, ...words];
  for (let at = 0; at < all.length; ) {
    const { name, ordinal, inactive } = named(all[at++]!);
    const child = childOf(spot.schema, name);
    if (child === undefined) return NOTHING;
    if (child.kind === 'leaf' || child.kind === 'leaf-list') return valueOffers(verb, child, all.slice(at), spot, scene);
    if (!isParent(child)) return NOTHING;
    if (extension(child, 'syntax') === 'freeform') return NOTHING;
    const same = spot.statements.filter((one) => one.name === name && (!inactive || one.inactive));
    if (child.kind === 'container') {
      spot = { schema: child, statements: childrenOf(same[0]) };
      continue;
    }
    const next = all[at];
    const keyless = extension(child, 'repeatable') !== undefined && extension(child, 'syntax') !== 'inline-list';
    if (keyless && (next === undefined ? words.length > 0 || ordinal > 0 : childOf(child, named(next).name) !== undefined)) {
      spot = { schema: child, statements: childrenOf(same[Math.max(0, ordinal - 1)]) };
      if (next === undefined) return fieldOffers(spot, scene);
      continue;
    }
    const keys = all.slice(at, at + child.keys.length);
    if (keys.length < child.keys.length) return keyOffers(child, keys, same, scene);
    at += child.keys.length;
    const entry = same.find((one) => one.kind === 'entry' && one.keys.join('\0') === keys.join('\0'));
    spot = { schema: child, statements: childrenOf(entry) };
  }
  return fieldOffers(spot, scene);
}

interface Scene {
  /** Names that are not there yet are offered too. */
  readonly making: boolean;
  readonly blocks: boolean;
  readonly validators: Validators;
  readonly root: readonly ConfigStatement[];
}

function named(word: string): { readonly name: string; readonly ordinal: number; readonly inactive: boolean } {
  const inactive = word.startsWith('inactive:');
  const rest = inactive ? word.slice('inactive:'.length) : word;
  const [, base = rest, ordinal = '0'] = /^(.+)\((\d{1,6})\)$/.exec(rest) ?? [];
  return { name: base, ordinal: Number(ordinal), inactive };
}

function childrenOf(statement: ConfigStatement | undefined): readonly ConfigStatement[] {
  return statement !== undefined && 'children' in statement ? (statement.children ?? []) : [];
}

function fieldOffers({ schema, statements }: Spot, scene: Scene): Offers {
  const keys = schema.kind === 'list' ? schema.keys : [];
  const there = new Set(statements.map((one) => one.name));
  const fields = schema.children.filter(
    (child) =>
      !keys.includes(child.name) &&
      child.status !== 'obsolete' &&
      (scene.making || there.has(child.name)) &&
      (!scene.blocks || isParent(child)),
  );
  const candidates = fields.map((child) => ({ word: child.name, help: helpOf(child) }));
  const twins = scene.making
    ? []
    : namesOf(statements)
        .filter((name) => /^inactive:|\(\d+\)/.test(name))
        .map((name) => ({ word: name.split(' ')[0] ?? '', help: '' }));
  const open = extension(schema, 'allow-unknown-fields') !== undefined;
  const expects = open ? [{ word: 'NAME', help: 'Any name, with a value' }] : [];
  const leaf = extension(schema, 'word-leaf');
  const target = typeof leaf === 'string' && scene.making && !scene.blocks ? childOf(schema, leaf) : undefined;
  if (target?.kind !== 'leaf') return { candidates: [...candidates, ...twins], expects };
  return {
    candidates: [
      ...candidates,
      ...twins,
      ...typeWords(target.type, scene.validators).map((word) => ({ word, help: helpOf(target) })),
    ],
    expects,
  };
}

function keyOffers(list: ListNode, given: readonly string[], same: readonly ConfigStatement[], scene: Scene): Offers {
  const there = same.flatMap((one) => {
    if (one.kind !== 'entry' || given.some((key, at) => one.keys[at] !== key)) return [];
    const key = one.keys[given.length];
    const inside = one.children.find((child) => child.name === 'description');
    const help = inside?.kind === 'leaf' ? inside.value : one.inactive ? 'inactive' : '';
    return key === undefined ? [] : [{ word: quote(key), help }];
  });
  const leaf = childOf(list, list.keys[given.length] ?? '');
  if (!scene.making || leaf?.kind !== 'leaf') return { candidates: there, expects: [] };
  const words = [...leafWords(leaf, scene.validators), ...(list.name === 'process' ? pluginNames(scene.root) : [])];
  return {
    candidates: [...there, ...words.map((word) => ({ word, help: '' }))],
    expects: [{ word: leaf.name.toUpperCase(), help: helpOf(leaf) || `${list.name} ${leaf.name}` }],
  };
}

function valueOffers(verb: EditVerb, node: LeafNode | LeafListNode, given: readonly string[], spot: Spot, scene: Scene): Offers {
  const now = spot.statements.find((one) => one.name === node.name);
  const members = now?.kind === 'leaf-list' ? now.members.map((member) => member.text) : [];
  if (verb.name === 'insert' && given.length > 0) {
    const last = given.at(-1);
    if (last === 'before' || last === 'after')
      return { candidates: members.map((word) => ({ word: quote(word), help: '' })), expects: [] };
    return { candidates: ['before', 'after', 'first', 'last'].map((word) => ({ word, help: '' })), expects: [] };
  }
  if (node.kind === 'leaf' && given.length > 0) return NOTHING;
  if (!scene.making)
    return {
      candidates: members.filter((word) => !given.includes(word)).map((word) => ({ word: quote(word), help: '' })),
      expects: [],
    };
  const words = [...referred(node, scene.root), ...leafWords(node, scene.validators)];
  const candidates = words.filter((word) => !given.includes(word)).map((word) => ({ word, help: '' }));
  const default_ = node.kind === 'leaf' && node.default !== undefined ? `, default ${node.default}` : '';
  const present = now?.kind === 'leaf' && extension(node, 'sensitive') === undefined ? `, now ${now.value}` : '';
  const insertable = verb.name === 'insert' ? members.map((word) => ({ word: quote(word), help: '' })) : [];
  return {
    candidates: [...candidates, ...insertable],
    expects: [{ word: typeName(node.type), help: `${helpOf(node)}${default_}${present}`.replace(/^, /, '') }],
  };
}

/** Plugins that the candidate names. */
function pluginNames(root: readonly ConfigStatement[]): string[] {
  const plugin = childrenOf(root.find((one) => one.name === 'plugin' && !one.inactive));
  return plugin.flatMap((one) => (one.kind === 'entry' && one.name === 'external' ? [quote(one.keys.join(' '))] : []));
}

/** Names of the candidate that may stand in the leaf (`zx:refers`). */
function referred(node: LeafNode | LeafListNode, root: readonly ConfigStatement[]): readonly string[] {
  const within = (name: string): readonly (ConfigStatement & { readonly kind: 'entry' })[] => {
    const bgp = childrenOf(root.find((one) => one.name === 'bgp' && !one.inactive));
    const block = childrenOf(bgp.find((one) => one.name === name && !one.inactive));
    return block.filter((one) => one.kind === 'entry').filter((one) => !one.inactive);
  };
  switch (extension(node, 'zest-extensions:refers')) {
    case 'filters':
      return within('policy').map((one) => quote(`${one.name}:${one.keys.join(' ')}`));
    case 'community-sets':
      return [...new Set(within('community').map((one) => quote(one.keys.join(' '))))];
    default:
      return [];
  }
}

function leafWords(node: LeafNode | LeafListNode, validators: Validators): readonly string[] {
  const own = extension(node, 'validate');
  const words = typeof own === 'string' ? own.split('|').flatMap((name) => validators.get(name)?.words ?? []) : [];
  return [...words, ...typeWords(node.type, validators)];
}

function typeWords(type: TypeSpec, validators: Validators): readonly string[] {
  const named_ = type.validate?.split('|').flatMap((name) => validators.get(name)?.words ?? []) ?? [];
  switch (type.base) {
    case 'boolean':
      return [...named_, 'true', 'false'];
    case 'enumeration':
    case 'identityref':
    case 'bits':
      return [...named_, ...type.values];
    case 'union':
      return [...named_, ...type.members.flatMap((member) => typeWords(member, validators))];
    default:
      return named_;
  }
}

function typeName(type: TypeSpec): string {
  const units = type.units === undefined ? '' : ` ${type.units}`;
  if (Object.hasOwn(INTEGER_BOUNDS, type.base)) {
    const ranges = ('ranges' in type ? type.ranges : undefined) ?? [INTEGER_BOUNDS[type.base as keyof typeof INTEGER_BOUNDS]];
    return `${(ranges as readonly (readonly [number, number])[]).map(([low, high]) => (low === high ? String(low) : `${low}..${high}`)).join('|')}${units}`;
  }
  return `${(type.typedef ?? type.base).toUpperCase()}${units}`;
}

function helpOf(node: SchemaNode): string {
  return (node.description ?? '').split('\n')[0] ?? '';
}
