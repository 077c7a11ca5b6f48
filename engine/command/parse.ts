/**
 * From a line of text to a command with its arguments (daemon-cli §4): split into words, cut at the pipes, lift the peer
 * selector out, match the longest path, bind what is left. Every mistake is a `CommandError` with its column.
 */
import { nearest } from '../core/nearest.ts';
import { splitWords, type Word } from '../core/words.ts';
import { bindArguments, type BoundArguments } from './bind.ts';
import { CommandError, didYouMean } from './fault.ts';
import { type Aliases, expandAliases } from './pipe-aliases.ts';
import { cutPipes, readPipes, type Pipes } from './pipe-syntax.ts';
import { isBuiltIn, usage, type CommandSpec } from './spec.ts';
import type { CommandTree } from './tree.ts';

/** Which words are names of configured peers. */
export interface PeerNames {
  isPeer(name: string): boolean;
  names(): readonly string[];
}

export interface ParsedCommand {
  readonly spec: CommandSpec;
  /** '' when no selector was given. */
  readonly selector: string;
  readonly selectorColumn: number;
  /** The words after the path, as written (quotes taken off). */
  readonly words: readonly string[];
  /** The same as one text, byte for byte as typed: for languages of their own such as `update text`. */
  readonly tail: string;
  readonly tailColumn: number;
  readonly bound: BoundArguments;
  readonly pipes: Pipes;
  /** An old spelling was used; the current one is `spec.path`. */
  readonly deprecated: boolean;
}

/** A longer command text is refused before it is split. In UTF-16 units. */
export const MAXIMUM_COMMAND = 4 << 20;

export function parseCommand(
  text: string,
  tree: CommandTree,
  peers: PeerNames,
  aliases: (spec: CommandSpec) => Aliases = noAliases,
): ParsedCommand {
  if (text.length > MAXIMUM_COMMAND) throw new CommandError('syntax', `the command is longer than ${MAXIMUM_COMMAND} characters`);
  const split = splitWords(text);
  if (!split.ok) throw new CommandError('syntax', split.fault.message, split.fault.column);
  const { command, operators } = cutPipes(split.words);
  if (command.length === 0) throw new CommandError('unknown', 'unknown command: (empty)');
  const lifted = liftSelector(command, peers);
  const matched = matchPath(lifted, tree);
  if (matched === undefined) throw unknownCommand(command, lifted, tree, peers);
  const { spec, args } = matched;
  requireSelector(spec, lifted);
  const own = isBuiltIn(spec) ? [] : spec.args.map((arg) => arg.name);
  const pipes = readPipes(expandAliases(operators, aliases(spec)), own);
  const all = [...args, ...pipes.folded];
  const first = args[0];
  const tail = first === undefined ? '' : text.slice(first.column - 1, (args.at(-1)?.end ?? first.end) - 1);
  return {
    spec,
    selector: lifted.selector?.text ?? '',
    selectorColumn: lifted.selector?.column ?? 0,
    words: all.map((word) => word.text),
    tail,
    tailColumn: first?.column ?? text.length + 1,
    bound: bindArguments(spec, all, text.length + 1),
    pipes,
    deprecated: matched.deprecated,
  };
}

const noAliases = (): Aliases => new Map();

/** The same for an exact command name and words that are already split: nothing in them is read as a pipe or selector. */
export function parseArguments(name: string, args: readonly string[], peer: string, tree: CommandTree): ParsedCommand {
  const spec = tree.exact(name);
  if (spec === undefined) {
    const near = nearest(
      name,
      tree
        .all()
        .filter((one) => !one.hidden)
        .map((one) => one.path),
    );
    throw new CommandError('unknown', `unknown command: ${name}${didYouMean(near)}`);
  }
  const selector = peer === '' ? undefined : { text: peer, column: 0, end: 0, quoted: true };
  requireSelector(spec, { words: [], without: [], selector });
  const words = args.map((text) => ({ text, column: 0, end: 0, quoted: true }));
  return {
    spec,
    selector: peer,
    selectorColumn: 0,
    words: args,
    tail: args.join(' '),
    tailColumn: 0,
    bound: bindArguments(spec, words, 0),
    pipes: { steps: [], format: undefined, noMore: false, folded: [] },
    deprecated: spec.path !== name.trim().toLowerCase(),
  };
}

interface Lifted {
  /** Without the selector, but with the word `peer` before it. */
  readonly words: readonly Word[];
  /** Without both. The same array as `words` when nothing was lifted. */
  readonly without: readonly Word[];
  readonly selector: Word | undefined;
}

function liftSelector(words: readonly Word[], peers: PeerNames): Lifted {
  const at = words.findIndex(
    (word, i) => !word.quoted && word.text.toLowerCase() === 'peer' && looksLikeSelector(words[i + 1], peers),
  );
  const selector = words[at + 1];
  if (at < 0 || selector === undefined) return { words, without: words, selector: undefined };
  return {
    words: [...words.slice(0, at + 1), ...words.slice(at + 2)],
    without: [...words.slice(0, at), ...words.slice(at + 2)],
    selector,
  };
}

/** daemon-cli §4 rule 2, and globs of names (`edge*`); a leading `!` negates any of the forms. */
export function looksLikeSelector(word: Word | undefined, peers: PeerNames): boolean {
  if (word === undefined) return false;
  const text = word.text.startsWith('!') ? word.text.slice(1) : word.text;
  return /[*,.:]/.test(text) || /^as\d+$/i.test(text) || peers.isPeer(text);
}

interface Matched {
  readonly spec: CommandSpec;
  readonly args: readonly Word[];
  readonly deprecated: boolean;
}

function matchPath(lifted: Lifted, tree: CommandTree): Matched | undefined {
  const tries = lifted.selector === undefined ? [lifted.words] : [lifted.words, lifted.without];
  if (lifted.words[0]?.text.toLowerCase() === 'peer') tries.push(lifted.words.slice(1));
  let best: (Matched & { used: number }) | undefined;
  for (const words of tries) {
    const lower = words.map((word) => (word.quoted ? '' : word.text.toLowerCase()));
    const found = tree.match(lower);
    if (found === undefined) continue;
    // `rib routes peer X`: the lifted `peer` stands among the arguments, so the reading without it is meant.
    const rest = words.slice(found.used);
    const stray = words === lifted.words && lifted.selector !== undefined && rest.some((word) => word === peerWord(lifted));
    if (stray) continue;
    if (best === undefined || found.used > best.used)
      best = { spec: found.spec, args: rest, deprecated: found.deprecated, used: found.used };
  }
  return best;
}

function peerWord(lifted: Lifted): Word | undefined {
  return lifted.words.find((word) => word.end + 1 <= (lifted.selector?.column ?? 0) && !lifted.without.includes(word));
}

function requireSelector(spec: CommandSpec, lifted: Lifted): void {
  const { selector } = lifted;
  if (selector === undefined) {
    if (spec.selector === 'required') throw new CommandError('selector', `${spec.path} requires a peer selector: ${usage(spec)}`);
  } else if (spec.selector === 'none' && isBuiltIn(spec)) {
    throw new CommandError('selector', `${spec.path} takes no peer selector`, selector.column);
  }
}

/** Says where the words leave the tree, and what stands there. */
function unknownCommand(command: readonly Word[], lifted: Lifted, tree: CommandTree, peers: PeerNames): CommandError {
  const shown = command
    .slice(0, 6)
    .map((word) => word.text.slice(0, 64))
    .join(' ');
  const words = lifted.words.map((word) => word.text.toLowerCase());
  let depth = 0;
  while (depth < words.length && tree.reaches(words.slice(0, depth + 1))) depth++;
  const stray = lifted.words[depth];
  // `peer edgee detail`: the second word is neither a subcommand nor a peer, the third is a subcommand.
  if (
    words[0] === 'peer' &&
    depth === 1 &&
    stray !== undefined &&
    lifted.selector === undefined &&
    tree.reaches(['peer', words[2] ?? ''])
  ) {
    const near = didYouMean(nearest(stray.text, peers.names()));
    return new CommandError('selector', `no peer is called "${stray.text.slice(0, 64)}"${near}`, stray.column);
  }
  const known = tree.next(words.slice(0, depth)).map((next) => next.word);
  if (stray === undefined) {
    const list = known.slice(0, 12).join(', ');
    return new CommandError('unknown', `incomplete command: ${shown}${list === '' ? '' : ` (next: ${list})`}`);
  }
  const near = nearest(stray.text, known);
  const whole =
    near === undefined ? undefined : [...command.map((word) => word.text).slice(0, command.indexOf(stray)), near].join(' ');
  return new CommandError('unknown', `unknown command: ${shown}${didYouMean(whole)}`, stray.column);
}
