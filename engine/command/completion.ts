/**
 * What may stand next in a line: words of the tree, peer selectors, values of arguments, pipe operators. Works on the same tree
 * and the same words as the parser, so that what is offered is what is understood. What is no word to insert (a number, a
 * prefix, an argument of a plugin) is named beside the candidates, as what is expected.
 */
import { isPipe, type Word } from '../core/words.ts';
import { NAMED_FAMILIES, familyName, learntFamilies } from '../../sdk/wire/family.ts';
import type { Candidate, CommandContext } from './context.ts';
import { looksLikeSelector, type PeerNames } from './parse.ts';
import { aliasHelp, type PipeAliases } from './pipe-aliases.ts';
import { PIPE_OPERATORS } from './pipe-syntax.ts';
import { isBuiltIn, type CommandArgument, type CommandSpec } from './spec.ts';
import type { CommandTree } from './tree.ts';

/** A plugin asked for candidates answers within this time or is left out (plugin-wire §8). */
const PLUGIN_DEADLINE_MS = 500;
const MAXIMUM_CANDIDATES = 512;
const MAXIMUM_WORD = 128;

const PIPE_HELP: Readonly<Record<(typeof PIPE_OPERATORS)[number], string>> = {
  match: 'Keep what contains a text',
  select: 'Keep these fields, in this order',
  count: 'Count the rows',
  json: 'As JSON (pretty or compact)',
  yaml: 'As YAML',
  table: 'As a table',
  text: 'As aligned columns',
  'no-more': 'Without paging',
};

/** What candidates are made of. */
export interface Scene {
  readonly tree: CommandTree;
  readonly peers: PeerNames;
  readonly aliases: PipeAliases;
  readonly context: CommandContext;
  readonly signal: AbortSignal;
}

/** An argument that may stand next and has no list of values. */
export interface Expected {
  readonly name: string;
  readonly help: string;
}

export interface Completion {
  /** Words to insert. */
  readonly candidates: readonly Candidate[];
  readonly expects: readonly Expected[];
}

/** For the word that `words` leaves open: the last one, or a new one when `fresh`. */
export async function complete(words: readonly Word[], fresh: boolean, scene: Scene): Promise<Completion> {
  const done = fresh ? words : words.slice(0, -1);
  const partial = fresh ? '' : (words.at(-1)?.text ?? '');
  const expects: Expected[] = [];
  const found = await after(done, partial, expects, scene);
  const candidates = found
    .filter((candidate) => candidate.word.toLowerCase().startsWith(partial.toLowerCase()))
    .sort((a, b) => (a.word < b.word ? -1 : a.word > b.word ? 1 : 0))
    .slice(0, MAXIMUM_CANDIDATES);
  return { candidates, expects };
}

async function after(done: readonly Word[], partial: string, expects: Expected[], scene: Scene): Promise<readonly Candidate[]> {
  const { tree, peers, context } = scene;
  const bar = done.findLastIndex(isPipe);
  if (bar >= 0) return afterPipe(done.slice(bar + 1), done.slice(0, done.findIndex(isPipe)), expects, scene);
  const at = done.findIndex(
    (word, i) => !word.quoted && word.text.toLowerCase() === 'peer' && looksLikeSelector(done[i + 1], peers),
  );
  const kept = at < 0 ? done : [...done.slice(0, at + 1), ...done.slice(at + 2)];
  const open = at < 0 && done.at(-1)?.text.toLowerCase() === 'peer';
  const lower = kept.map((word) => word.text.toLowerCase());
  const found = wordsAfter(lower, tree);
  if (open) found.push(...peerCandidates(context));
  // After `peer SEL` a command that takes a selector may also stand without its leading `peer`.
  const withoutPeer = at === 0 ? lower.slice(1) : undefined;
  if (withoutPeer?.length === 0) found.push(...selectorCommands(tree));
  else if (withoutPeer !== undefined) found.push(...wordsAfter(withoutPeer, tree));
  const matched = tree.match(lower) ?? (withoutPeer === undefined ? undefined : tree.match(withoutPeer));
  if (matched === undefined) return found;
  const words = tree.match(lower) === undefined ? kept.slice(1) : kept;
  const given = words.slice(matched.used).map((word) => word.text);
  found.push(...(await argumentCandidates(matched.spec, given, partial, expects, scene)));
  // A line that still lacks something has no answer to filter.
  const lacks = isBuiltIn(matched.spec) && matched.spec.args.filter((arg) => !arg.keyword && !arg.optional).length > given.length;
  if (!lacks) found.push({ word: '|', help: 'Filter or format the answer' });
  return found;
}

function wordsAfter(words: readonly string[], tree: CommandTree): Candidate[] {
  return tree.next(words).map((next) => ({ word: next.word, help: next.spec?.summary ?? tree.helpOf([...words, next.word]) }));
}

function afterPipe(words: readonly Word[], command: readonly Word[], expects: Expected[], scene: Scene): readonly Candidate[] {
  if (command.length === 0) return [];
  const operator = words[0]?.text.toLowerCase();
  if (operator === undefined) {
    const spec = commandOf(command, scene);
    const own =
      spec === undefined
        ? []
        : [...scene.aliases.of(spec).values()].map((alias) => ({ word: alias.name, help: aliasHelp(alias) }));
    return [...PIPE_OPERATORS.map((word) => ({ word, help: PIPE_HELP[word] })), ...own];
  }
  const pipe = { word: '|', help: 'Filter or format the answer' };
  if (operator === 'json' && words.length === 1) {
    return [{ word: 'compact', help: 'On one line' }, { word: 'pretty', help: 'Indented' }, pipe];
  }
  const open = OPERAND[operator];
  if (open === undefined || words.length > 1) return [pipe];
  expects.push(open);
  return [];
}

/** The command of a line, with a peer selector or without. */
function commandOf(command: readonly Word[], { tree, peers }: Scene): CommandSpec | undefined {
  const at = command.findIndex(
    (word, i) => !word.quoted && word.text.toLowerCase() === 'peer' && looksLikeSelector(command[i + 1], peers),
  );
  const words = command.map((word) => word.text.toLowerCase());
  const tries = at < 0 ? [words] : [words.filter((_, i) => i !== at + 1), words.filter((_, i) => i !== at && i !== at + 1)];
  return tries.map((one) => tree.match(one)?.spec).find((spec) => spec !== undefined);
}

/** What an operator takes that no list can hold. */
const OPERAND: Readonly<Record<string, Expected | undefined>> = {
  select: { name: 'fields', help: 'Names of fields, separated by commas' },
  match: { name: 'text', help: 'A text; quote it when it holds blanks' },
};

function selectorCommands(tree: CommandTree): readonly Candidate[] {
  const firsts = new Map<string, string>();
  for (const spec of tree.all()) {
    if (spec.hidden || spec.selector === 'none') continue;
    const first = spec.path.split(' ')[0] ?? '';
    if (first !== 'peer') firsts.set(first, spec.path === first ? spec.summary : '');
  }
  return [...firsts].map(([word, help]) => ({ word, help }));
}

function peerCandidates(context: CommandContext): readonly Candidate[] {
  const peers = context.peers.list();
  return [
    { word: '*', help: 'Every peer' },
    ...peers
      .filter((peer) => peer.name !== '')
      .map((peer) => ({ word: peer.name, help: `${peer.remoteAddress} AS${peer.remoteAs}` })),
    ...peers
      .filter((peer) => peer.remoteAddress !== '')
      .map((peer) => ({ word: peer.remoteAddress, help: `${peer.name} AS${peer.remoteAs}`.trim() })),
  ];
}

async function argumentCandidates(
  spec: CommandSpec,
  given: readonly string[],
  partial: string,
  expects: Expected[],
  scene: Scene,
): Promise<readonly Candidate[]> {
  if (!isBuiltIn(spec)) {
    expects.push(...spec.args.slice(given.length, given.length + 1).map((arg) => ({ name: arg.name, help: arg.description })));
    return spec.completable ? pluginCandidates(spec, given, partial, scene) : [];
  }
  const positional = spec.args.filter((arg) => !arg.keyword);
  const keywords = spec.args.filter((arg) => arg.keyword);
  const before = keywords.find((arg) => arg.name === given.at(-1)?.toLowerCase());
  if (before !== undefined) {
    if (isOpen(before)) expects.push({ name: before.name, help: before.description });
    return values(before, given, scene);
  }
  const last = positional.at(-1);
  const next = positional[given.length] ?? (last?.repeated === true ? last : undefined);
  const own = next === undefined ? [] : values(next, given, scene);
  if (next !== undefined && isOpen(next)) expects.push({ name: next.name, help: next.description });
  if (next !== undefined && !next.optional) return own;
  const unused = keywords.filter((arg) => !given.includes(arg.name));
  return [...own, ...unused.map((arg) => ({ word: arg.name, help: arg.description }))];
}

/** Its values are no list. */
function isOpen({ kind }: CommandArgument): boolean {
  return kind === 'string' || kind === 'integer' || kind === 'text';
}

function values(arg: CommandArgument, given: readonly string[], { tree, context }: Scene): readonly Candidate[] {
  switch (arg.kind) {
    case 'enum':
      return arg.values.map((word) => ({ word, help: '' }));
    case 'boolean':
      return ['true', 'false'].map((word) => ({ word, help: '' }));
    case 'family':
      return [...NAMED_FAMILIES.map(familyName), ...learntFamilies()].map((word) => ({ word, help: '' }));
    case 'peer':
      return peerCandidates(context);
    case 'plugin':
      return context.plugins.list().map((plugin) => ({ word: plugin.name, help: plugin.state }));
    case 'event':
      return [...new Set(context.events.list().map((event) => event.type))].map((word) => ({ word, help: '' }));
    case 'subsystem':
      return context.logs.subsystems().map((word) => ({ word, help: context.logs.levels()[word] ?? '' }));
    case 'command':
      return tree
        .next(given.map((word) => word.toLowerCase()))
        .map((next) => ({ word: next.word, help: next.spec?.summary ?? '' }));
    case 'string':
    case 'integer':
    case 'text':
      return [];
  }
}

async function pluginCandidates(
  spec: CommandSpec,
  given: readonly string[],
  partial: string,
  { context, signal }: Scene,
): Promise<readonly Candidate[]> {
  const stop = new AbortController();
  const timer = context.clock.after(PLUGIN_DEADLINE_MS, () => stop.abort());
  try {
    const asked = context.plugins.complete(spec.owner, spec.handler, [...given, partial], AbortSignal.any([signal, stop.signal]));
    const late = new Promise<readonly Candidate[]>((resolve) => {
      stop.signal.addEventListener('abort', () => resolve([]), { once: true });
    });
    const found = await Promise.race([asked, late]);
    return found.filter(({ word }) => word !== '' && word.length <= MAXIMUM_WORD && !/[\s\p{Cc}|"\\]/u.test(word));
  } catch {
    return [];
  } finally {
    timer.cancel();
  }
}
