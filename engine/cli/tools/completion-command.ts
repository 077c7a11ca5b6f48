/** `zest completion bash|zsh|fish`: a script for the shell, and behind it the candidates for a line (`completion words`). */
import { Writable } from 'node:stream';
import { ask } from '../client.ts';
import { visible } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { nodeAt } from './local-tree.ts';
import { UsageError, type GlobalOptions } from '../options.ts';
import { targetOf } from '../run-command.ts';
import { isMap, textOf } from '../answers/table.ts';

/** A key press waits no longer for the daemon. */
const DAEMON_MS = 700;

const BASH = `# zest completion for bash: source <(zest completion bash)
# zest itself must be on the PATH; npx zest will not do.
_zest() {
  local line=\${COMP_LINE:0:COMP_POINT}
  local whole=\${line##* } part=\${COMP_WORDS[COMP_CWORD]}
  local -a words
  IFS=' ' read -ra words <<< "$line"
  [[ $line == *' ' ]] && words+=('')
  mapfile -t COMPREPLY < <(zest completion words -- "\${words[@]:1}" 2>/dev/null | cut -f1)
  local cut=\${whole%"$part"}
  COMPREPLY=("\${COMPREPLY[@]#"$cut"}")
  COMPREPLY=("\${COMPREPLY[@]/#[*]/\\\\*}")
}
complete -o default -F _zest zest
`;

const ZSH = `#compdef zest
# zest completion for zsh: source <(zest completion zsh)
# zest itself must be on the PATH; npx zest will not do.
_zest() {
  local -a found
  local word help
  while IFS=$'\\t' read -r word help; do
    found+=("\${word//:/\\\\:}:$help")
  done < <(zest completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe zest found; else _files; fi
}
compdef _zest zest
`;

const FISH = `# zest completion for fish: zest completion fish | source
# zest itself must be on the PATH; npx zest will not do.
complete -c zest -f -a '(zest completion words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`;

const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

/** What follows our own commands. */
const VERBS: Readonly<Record<string, readonly string[]>> = {
  cli: ['-c', '--format', '--socket', '--timeout'],
  config:
    'edit validate dump cat diff fmt migrate set delete activate deactivate history rollback import rename ls archive check commit confirm abort show status'.split(
      ' ',
    ),
  bgp: ['decode', 'encode'],
  plugin: ['init', 'check'],
  signal: ['reload', 'stop', 'status'],
  completion: Object.keys(SCRIPTS),
  env: ['list', 'get'],
  doctor: ['--json', '--verbose'],
  schema: ['list', 'show', 'methods', 'events', 'check'],
};

/** Words of ours that the daemon has commands below as well. */
const SHARED: readonly string[] = ['bgp', 'plugin'];

export const COMPLETION_HELP = `zest completion bash|zsh|fish — print a completion script

  bash    source <(zest completion bash)
  zsh     source <(zest completion zsh)
  fish    zest completion fish | source

The script asks zest for each word, so zest must be on the PATH: in a checkout, npx zest will not do. Put the built program
there once: ln -s "$PWD/dist/engine/main.js" ~/.local/bin/zest
`;

export async function completionCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const [shell = '', ...rest] = args;
  if (shell === '--help') {
    io.stdout.write(COMPLETION_HELP);
    return EXIT.done;
  }
  if (shell === 'words') {
    const words = rest[0] === '--' ? rest.slice(1) : rest;
    const found = await candidates(words, io, options);
    io.stdout.write(found.map(({ word, help }) => `${visible(word)}\t${visible(help)}\n`).join(''));
    return EXIT.done;
  }
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (script === undefined) throw new UsageError(`zest completion bash, zsh or fish, not "${shell}"`);
  io.stdout.write(script);
  return EXIT.done;
}

interface Candidate {
  readonly word: string;
  readonly help: string;
}

/** Candidates for the last of `words`, which may be empty. */
async function candidates(words: readonly string[], io: CliIo, options: GlobalOptions): Promise<readonly Candidate[]> {
  const partial = (words.at(-1) ?? '').toLowerCase();
  const done = words.slice(0, -1);
  const [first] = done;
  if (partial.startsWith('-')) return (await optionsAfter(done, io)).filter(({ word }) => word.startsWith(partial));
  const own = first === undefined || Object.hasOwn(VERBS, first) ? await ownCandidates(first, done.length) : [];
  const daemons =
    first !== undefined && Object.hasOwn(VERBS, first) && !SHARED.includes(first)
      ? []
      : await daemonCandidates(words, io, options);
  const seen = new Set<string>();
  return [...own, ...daemons]
    .filter(({ word }) => word !== '|' && word.toLowerCase().startsWith(partial) && !seen.has(word) && seen.add(word).size > 0)
    .sort((a, b) => (a.word < b.word ? -1 : 1));
}

async function ownCandidates(first: string | undefined, depth: number): Promise<readonly Candidate[]> {
  if (first !== undefined) return depth === 1 ? (VERBS[first] ?? []).map((word) => ({ word, help: '' })) : [];
  const { SUBCOMMAND_NAMES } = await import('../main.ts');
  return SUBCOMMAND_NAMES.map((word) => ({ word, help: '' }));
}

/** The options that the help of the command names: those of every command, and of its verb's lines where it has verbs. */
async function optionsAfter(done: readonly string[], io: CliIo): Promise<readonly Candidate[]> {
  const [first = '', verb = ''] = done.filter((word) => !word.startsWith('-'));
  const verbs = (Object.hasOwn(VERBS, first) ? VERBS[first] : undefined) ?? [];
  const general = (await helpOf(['help'], io)).filter((line) => !/^ +zest /.test(line));
  const own = first === '' ? [] : await helpOf([first, '--help'], io);
  const deeper = verbs.includes(verb) ? await helpOf([first, verb, '--help'], io) : [];
  const found = new Map<string, string>();
  for (const line of [...general, ...own, ...(deeper.join() === own.join() ? [] : deeper)]) {
    const named = verbs.filter((one) => new RegExp(`^ +(?:\\S+ · )?${one}\\b|${one}:|· ${one}\\b`).test(line));
    if (named.length > 0 && !named.includes(verb)) continue;
    const help = /^ +(?:-\w, )?--\S+(?: \S+)*? {2,}(\S.*)$/.exec(line)?.[1] ?? '';
    for (const [, option = ''] of line.matchAll(/(?<![\w-])(--[a-z][a-z0-9-]*)/g))
      if (help !== '' || !found.has(option)) found.set(option, help);
  }
  return [...found].map(([word, help]) => ({ word, help })).sort((a, b) => (a.word < b.word ? -1 : 1));
}

async function helpOf(words: readonly string[], io: CliIo): Promise<readonly string[]> {
  const { main } = await import('../main.ts');
  const chunks: string[] = [];
  const sink = (into: string[]): Writable =>
    new Writable({
      write: (chunk, _encoding, then) => {
        into.push(String(chunk));
        then();
      },
    });
  await main(words, { ...io, stdout: sink(chunks), stderr: sink([]) });
  return chunks.join('').split('\n');
}

async function daemonCandidates(words: readonly string[], io: CliIo, options: GlobalOptions): Promise<readonly Candidate[]> {
  const line = words.map((word) => (word === '' ? '' : /[\s"\\]/.test(word) ? JSON.stringify(word) : word)).join(' ');
  const target = targetOf(io, options);
  try {
    const data = await ask(target.path, io.uid, 'command complete', [line], AbortSignal.timeout(DAEMON_MS));
    const list = isMap(data) && Array.isArray(data['candidates']) ? (data['candidates'] as readonly unknown[]) : [];
    return list.filter(isMap).map((one) => ({ word: textOf(one['word']), help: textOf(one['help']) }));
  } catch {
    return (nodeAt(words.slice(0, -1))?.children ?? [])
      .filter((child) => !child.hidden)
      .map((child) => ({ word: child.name, help: child.description }));
  }
}
