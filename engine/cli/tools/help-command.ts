/** `zest help [WORDS]`, `zest … --help`, and `zest help --ai`: the whole command line as one JSON document. */
import { nearest } from '../../core/nearest.ts';
import { ask, NoDaemon } from '../client.ts';
import { visible, visibleJson, visibleLines } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { commandsBelow, nodeAt, usageOf } from './local-tree.ts';
import { UsageError, type GlobalOptions } from '../options.ts';
import { targetOf } from '../run-command.ts';
import { isMap, renderTable, textOf } from '../answers/table.ts';

const OWN: readonly (readonly [usage: string, help: string])[] = [
  ['zest FILE | -', 'run the daemon with this configuration'],
  ['zest cli [-c COMMAND]', 'the operator shell, or one command'],
  ['zest config validate FILE', 'check a configuration'],
  ['zest config edit [FILE]', 'change one: candidate, compare, commit, history; more: zest config --help'],
  ['zest bgp decode|encode …', 'read and write BGP messages, without a daemon'],
  ['zest plugin init DIR', 'a new plugin: source, test, configuration'],
  ['zest plugin check CMD', 'which rules of the protocol a plugin keeps'],
  ['zest signal reload|stop|status', 'control the running daemon'],
  ['zest status', 'is a daemon running?'],
  ['zest doctor [FILE]', 'look for what is wrong: machine, configuration, daemon, plugins'],
  ['zest lab …', 'a small BGP speaker for trying and testing'],
  ['zest mrt FILE…', 'what MRT files hold, in numbers'],
  ['zest quickstart', 'a daemon with two speakers and two plugins, to look around in'],
  ['zest demo', 'plays the quick start through and checks each step'],
  ['zest schema list|show|methods|events|check', 'YANG modules, protocol methods, event types; compile modules'],
  ['zest env list|get NAME', 'settings and what they are here'],
  ['zest completion bash|zsh|fish', 'a completion script for your shell'],
  ['zest help [COMMAND]', 'this text, or what one command does; --ai for machines'],
];

const OPTIONS: readonly (readonly [option: string, help: string])[] = [
  ['--json', 'one JSON document'],
  ['--format FORMAT', 'json, json-compact, yaml, table or text'],
  ['--wide', 'tables with every column (summary, show errors, show warnings, plugin list)'],
  ['--socket PATH', 'control socket (else ze.control.socket, $XDG_RUNTIME_DIR/zest, /tmp/zest-UID)'],
  ['--timeout SECONDS', 'give up on an answer that makes no progress (60; 0 = never)'],
  ['--color, --no-color', 'colours; NO_COLOR is honoured'],
  ['-h, --help', 'help for a command'],
  ['-V, --version', 'the version'],
];

const EXIT_CODES: Readonly<Record<string, string>> = {
  '0': 'done',
  '1': 'error, or unknown command',
  '2': 'nothing to operate on, or an unreadable file',
  '4': 'signal: the command failed',
  '130': 'interrupted',
};

export async function helpCommand(words: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const topic = words.filter((word) => word !== '--help');
  if (topic.includes('--ai') || (topic.length === 0 && options.json)) {
    io.stdout.write(`${JSON.stringify(machineHelp(io), null, 2)}\n`);
    return EXIT.done;
  }
  if (topic.length === 0) {
    io.stdout.write(overview(io));
    return EXIT.done;
  }
  const { SUBCOMMAND_NAMES, main } = await import('../main.ts');
  const [first = ''] = topic;
  const [, verb = 'decode'] = topic;
  if (first === 'bgp' && (verb === 'decode' || verb === 'encode')) return main(['bgp', ...topic.slice(1), '--help'], io);
  const own =
    first === 'plugin' ? topic.length === 1 || topic[1] === 'init' || topic[1] === 'check' : first !== 'help' && first !== 'bgp';
  if (own && SUBCOMMAND_NAMES.includes(first)) return main([first, '--help'], io);
  return commandHelp(topic, io, options);
}

function overview(io: CliIo): string {
  const groups = new Map<string, string[]>();
  for (const spec of commandsBelow()) {
    if (spec.hidden) continue;
    const first = spec.path.split(' ')[0] ?? '';
    groups.set(first, [...(groups.get(first) ?? []), spec.path.split(' ').slice(1).join(' ')]);
  }
  const daemon = [...groups].map(([first, rest]) =>
    `  ${first.padEnd(14)} ${rest.filter((one) => one !== '').join(', ')}`.trimEnd(),
  );
  const table = (rows: readonly (readonly [string, string])[]): string =>
    rows.map(([left, right]) => `  ${left.padEnd(36)} ${right}\n`).join('');
  return [
    `zest ${io.version} — a programmable BGP routing engine\n\n`,
    table(OWN),
    '\nCommands of the daemon (zest summary, zest peer edge detail, zest "rib routes | count"):\n\n',
    `${daemon.join('\n')}\n`,
    '  and those of its plugins: zest command list\n\n',
    'Pipes: | match TEXT, | select FIELD,…, | count, | json [pretty|compact], | yaml, | table, | text, | no-more\n\n',
    'Options:\n\n',
    table(OPTIONS),
    '\nExit codes: 0 done, 1 error or unknown command, 2 nothing to operate on or an unreadable file.\n',
  ].join('');
}

/** What a command of the daemon does: from the daemon, which knows its plugins' too; without one, what this release ships. */
async function commandHelp(words: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const node = nodeAt(words);
  if (node?.command !== undefined && !options.json) {
    const spec = node.command;
    const args = spec.args.map((arg) => `  ${arg.name.padEnd(14)} ${arg.description}`);
    io.stdout.write(
      `${usageOf(spec)}\n\n${spec.summary}\n${spec.description === '' ? '' : `\n${spec.description}\n`}${args.length > 0 ? `\n${args.join('\n')}\n` : ''}`,
    );
    return EXIT.done;
  }
  const target = targetOf(io, options);
  try {
    const plain = words.filter((_, i) => !(i === 1 && words[0] === 'peer' && node !== undefined));
    const data = await ask(target.path, io.uid, 'command help', plain, AbortSignal.timeout(5000));
    io.stdout.write(options.json ? `${visibleJson(JSON.stringify(data, null, 2))}\n` : helpText(data));
    return EXIT.done;
  } catch (error) {
    if (node !== undefined) {
      io.stdout.write(
        commandsBelow(node)
          .filter((spec) => !spec.hidden)
          .map((spec) => `  ${usageOf(spec).padEnd(48)} ${spec.summary}\n`)
          .join(''),
      );
      return EXIT.done;
    }
    const near = nearest(
      words.join(' '),
      commandsBelow().map((spec) => spec.path),
    );
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof NoDaemon) throw new UsageError(`${visible(message)}; commands of plugins are known to a running daemon`);
    throw new UsageError(
      near === undefined ? visible(message) : `no command is called "${visible(words.join(' '))}" (did you mean "${near}"?)`,
    );
  }
}

/** `command help` of the daemon, for people: texts of plugins keep their lines and steer nothing. */
function helpText(data: unknown): string {
  if (!isMap(data) || typeof data['usage'] !== 'string') return renderTable(data, { box: false, width: 0, colour: false });
  const text = (key: string): string => textOf(data[key]);
  const list = (key: string): readonly Readonly<Record<string, unknown>>[] =>
    Array.isArray(data[key]) ? (data[key] as readonly unknown[]).filter(isMap) : [];
  const words = (key: string): string =>
    Array.isArray(data[key]) ? (data[key] as readonly unknown[]).map(textOf).join(', ') : '';
  const rows = (title: string, of: readonly (readonly [string, string])[]): string =>
    of.length === 0 ? '' : `\n${title}\n${of.map(([name, help]) => `  ${name.padEnd(14)} ${help}`.trimEnd()).join('\n')}\n`;
  const description = typeof data['description'] === 'string' ? data['description'] : '';
  const args = list('arguments')
    .filter((arg) => textOf(arg['help']) !== '')
    .map((arg) => [textOf(arg['name']), textOf(arg['help'])] as const);
  const facts = [
    ['Old names', words('deprecated-names')],
    ['Columns', words('columns')],
    ['Pipes', words('pipes')],
    ['From', text('owner') === 'engine' ? '' : `plugin ${text('owner')}`],
  ] as const;
  return [
    `${text('usage')}\n`,
    text('help') === '' ? '' : `\n${text('help')}\n`,
    description === '' || description === data['help'] ? '' : `\n${visibleLines(description).trimEnd()}\n`,
    text('note') === '' ? '' : `\n${text('note')}\n`,
    rows('Arguments', args),
    rows(
      'Pipes of its own',
      list('aliases').map((alias) => [textOf(alias['name']), textOf(alias['help'])] as const),
    ),
    rows(
      '',
      facts.filter(([, value]) => value !== ''),
    ),
  ].join('');
}

function machineHelp(io: CliIo): unknown {
  return {
    program: 'zest',
    version: io.version,
    commands: OWN.map(([usage, help]) => ({ usage, help })),
    'daemon-commands': commandsBelow()
      .filter((spec) => !spec.hidden)
      .map((spec) => ({
        command: spec.path,
        usage: usageOf(spec),
        help: spec.summary,
        'read-only': spec.readOnly,
        streams: spec.streams,
        arguments: spec.args.map((arg) => ({
          name: arg.name,
          kind: arg.kind,
          values: arg.values,
          optional: arg.optional,
          keyword: arg.keyword,
          help: arg.description,
        })),
      })),
    'more-commands': 'plugins add their own: zest command list --json',
    selectors: {
      '*': 'all peers',
      ADDRESS: 'by remote address',
      NAME: 'by configured name',
      'as<N>': 'by remote AS',
      '192.0.2.*': 'glob',
      '!X': 'all but',
      'A,B': 'union',
    },
    pipes: ['match TEXT', 'select FIELD,…', 'count', 'json [pretty|compact]', 'yaml', 'table', 'text', 'no-more'],
    options: OPTIONS.map(([option, help]) => ({ option, help })),
    'exit-codes': EXIT_CODES,
    errors:
      '--json prints {"status":"error","error":TEXT} and exits with 1; a list that breaks off carries "error" beside its rows',
  };
}
