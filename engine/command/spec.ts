/**
 * What the tree knows of a command. Built-in ones are written in the YANG module `zest-cmd` and arrive by way of
 * `yang/generated/commands.ts`; a plugin's come from its `declare-registration` (plugin-rpc-types §2.2).
 */
import {
  COMMANDS,
  type CommandArgument,
  type CommandNode,
  type CommandSpec as BuiltInSpec,
} from '../../yang/generated/commands.ts';

import type { CommandDecl } from '../../yang/generated/methods.ts';

export type { CommandArgument };

export interface CommandSpec extends BuiltInSpec {
  /** `engine`, or the plugin that serves it. */
  readonly owner: string;
  /** The arguments are the owner's business: passed on as words. */
  readonly free: boolean;
  /** The owner answers completion questions. */
  readonly completable: boolean;
  readonly shape: 'doc' | 'map' | 'tab' | undefined;
  /** Keys of the answer in reading order. */
  readonly columns: readonly string[];
  /** Keys whose value holds an IP address or a prefix. */
  readonly addressFields: readonly string[];
}

/** The owner of every built-in command. */
export const ENGINE = 'engine';

export function isBuiltIn(spec: CommandSpec): boolean {
  return spec.owner === ENGINE;
}

/** Every built-in command. */
export function builtInCommands(root: CommandNode = COMMANDS): readonly CommandSpec[] {
  const own =
    root.command === undefined
      ? []
      : [{ ...root.command, owner: ENGINE, free: false, completable: false, shape: undefined, columns: [], addressFields: [] }];
  return [...own, ...root.children.flatMap((child) => builtInCommands(child))];
}

/** A plugin's declaration as a command. `readOnly` is never the plugin's to say: a plugin's command may change anything. */
export function pluginCommand(owner: string, declared: CommandDecl): CommandSpec {
  return {
    path: words(declared.name),
    handler: declared.name,
    readOnly: false,
    selector: 'optional',
    streams: false,
    hidden: declared.hidden === true,
    summary: declared['short-help'] ?? '',
    description: declared.description ?? '',
    args: (declared.args ?? []).map((name) => ({
      name,
      kind: 'string',
      description: '',
      values: [],
      low: 0,
      high: 0,
      optional: true,
      repeated: false,
      keyword: false,
    })),
    deprecatedNames: (declared['deprecated-names'] ?? []).map(words),
    owner,
    free: true,
    completable: declared.completable === true,
    shape: declared.shape,
    columns: declared.columns ?? [],
    addressFields: declared['address-fields'] ?? [],
  };
}

/** Lower case, one blank between words. */
export function words(name: string): string {
  return name.trim().toLowerCase().split(/\s+/).join(' ');
}

/** `peer SEL teardown SUBCODE [TEXT…]`: how help and errors show a command. */
export function usage(spec: CommandSpec): string {
  const [first = '', ...rest] = spec.path.split(' ');
  const parts = [first];
  if (spec.selector !== 'none' && first === 'peer') parts.push(spec.selector === 'optional' ? '[SEL]' : 'SEL');
  parts.push(...rest);
  for (const arg of spec.args) {
    const many = arg.repeated || arg.kind === 'text' ? '…' : '';
    const value = arg.kind === 'enum' ? arg.values.join('|') : arg.name.toUpperCase();
    const shown = arg.keyword ? `${arg.name} ${value}${arg.repeated ? ',…' : ''}` : `${value}${many}`;
    parts.push(arg.optional ? `[${shown}]` : shown);
  }
  return parts.join(' ');
}
