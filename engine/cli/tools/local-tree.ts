/** The daemon's built-in commands as this release knows them: help and completion where no daemon answers. */
import { COMMANDS, type CommandNode, type CommandSpec } from '../../../yang/generated/commands.ts';

export function commandsBelow(node: CommandNode = COMMANDS): readonly CommandSpec[] {
  const own = node.command === undefined ? [] : [node.command];
  return [...own, ...node.children.flatMap((child) => commandsBelow(child))];
}

/** Where the words lead; a selector after `peer` is passed over. */
export function nodeAt(words: readonly string[]): CommandNode | undefined {
  let node: CommandNode | undefined = COMMANDS;
  for (let i = 0; i < words.length && node !== undefined; i++) {
    const next: CommandNode | undefined = childOf(node, words[i] ?? '');
    if (next === undefined && i === 1 && words[0] === 'peer') continue;
    node = next;
  }
  return node;
}

function childOf(node: CommandNode, word: string): CommandNode | undefined {
  return node.children.find((child) => child.name === word.toLowerCase());
}

export function usageOf(spec: CommandSpec): string {
  const [first = '', ...rest] = spec.path.split(' ');
  const selector = spec.selector === 'none' || first !== 'peer' ? [] : [spec.selector === 'optional' ? '[SEL]' : 'SEL'];
  const args = spec.args.map((arg) => {
    const value = arg.kind === 'enum' ? arg.values.join('|') : arg.name.toUpperCase();
    const shown = arg.keyword ? `${arg.name} ${value}` : `${value}${arg.repeated || arg.kind === 'text' ? '…' : ''}`;
    return arg.optional ? `[${shown}]` : shown;
  });
  return [first, ...selector, ...rest, ...args].join(' ');
}
