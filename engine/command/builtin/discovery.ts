/** The commands about commands: `command list`, `command help`, `command complete` (daemon-cli §7.6, §12). */
import { records } from '../../../sdk/rpc/records.ts';
import { splitWords } from '../../core/words.ts';
import { nearest } from '../../core/nearest.ts';
import { complete } from '../completion.ts';
import type { Call, Handler } from '../dispatch.ts';
import { CommandError, didYouMean } from '../fault.ts';
import { aliasHelp } from '../pipe-aliases.ts';
import { PIPE_OPERATORS } from '../pipe-syntax.ts';
import { usage, type CommandSpec } from '../spec.ts';

export const discoveryCommands: Readonly<Record<string, Handler>> = {
  'command-list': list,
  'command-help': help,
  'command-complete': candidates,
  'command-presentation': presentation,
};

function line(spec: CommandSpec): Readonly<Record<string, unknown>> {
  return { command: spec.path, help: spec.summary, usage: usage(spec), owner: spec.owner, 'read-only': spec.readOnly };
}

function list({ tree }: Call): unknown {
  return records(
    tree
      .all()
      .filter((spec) => !spec.hidden)
      .map(line),
    { envelope: 'commands' },
  );
}

function help(call: Call): unknown {
  const { tree, args } = call;
  const words = args.words('command').map((word) => word.toLowerCase());
  if (words.length === 0) return list(call);
  const spec = tree.exact(words.join(' '));
  if (spec !== undefined) {
    const older = words.join(' ') === spec.path ? {} : { note: `"${words.join(' ')}" is an old name of "${spec.path}"` };
    const aliases = [...call.aliases.of(spec).values()];
    return {
      ...line(spec),
      ...older,
      // Two texts, neither derived from the other (plugin-rpc-types §2.2).
      description: spec.description,
      selector: spec.selector,
      arguments: spec.args.map((arg) => ({
        name: arg.name,
        kind: arg.kind === 'enum' ? arg.values.join('|') : arg.kind,
        optional: arg.optional,
        keyword: arg.keyword,
        help: arg.description,
      })),
      streams: spec.streams,
      'deprecated-names': [...spec.deprecatedNames],
      ...(spec.shape === undefined ? {} : { shape: spec.shape }),
      ...(spec.columns.length === 0 ? {} : { columns: [...spec.columns] }),
      ...(spec.addressFields.length === 0 ? {} : { 'address-fields': [...spec.addressFields] }),
      pipes: [...PIPE_OPERATORS, ...aliases.map((alias) => alias.name)],
      ...(aliases.length === 0
        ? {}
        : { aliases: aliases.map((alias) => ({ name: alias.name, help: aliasHelp(alias), expansion: alias.expansion })) }),
    };
  }
  const below = tree.all().filter((one) => !one.hidden && one.path.startsWith(`${words.join(' ')} `));
  if (below.length > 0) return { commands: below.map(line) };
  const near = nearest(
    words.join(' '),
    tree.all().map((one) => one.path),
  );
  throw new CommandError(
    'argument',
    `no command is called "${words.join(' ').slice(0, 64)}"${didYouMean(near)}`,
    args.column('command'),
  );
}

/** For clients that print: what they cannot know of a line without the command tree. */
function presentation(call: Call): unknown {
  const { spec, pipes } = call.parse(call.words.length === 1 ? (call.words[0] ?? '') : call.tail);
  return {
    command: spec.path,
    ...(pipes.format === undefined ? {} : { format: pipes.format }),
    ...(pipes.noMore ? { 'no-more': true } : {}),
    ...(spec.columns.length === 0 ? {} : { columns: [...spec.columns] }),
  };
}

async function candidates(call: Call): Promise<unknown> {
  const { tail, tree, context, signal } = call;
  // The shell puts the line in quotes, so that blanks at its end are seen; typed by hand it ends with its last word.
  const text = call.words.length === 1 ? (call.words[0] ?? '') : tail;
  const split = splitWords(text);
  if (!split.ok) return { candidates: [], expects: [] };
  const { words } = split;
  const fresh = words.length === 0 || /[\s]$/.test(text) || words.at(-1)?.text === '|';
  const names = context.peers.list().map((peer) => peer.name);
  const peers = { isPeer: (name: string) => names.includes(name), names: () => names };
  return complete(words, fresh, { tree, peers, aliases: call.aliases, context, signal });
}
