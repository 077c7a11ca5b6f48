/**
 * `zest cli`: one command (`-c`), the commands of standard input, or the interactive shell. Tab asks the daemon, `?` at the end
 * of a line shows what may follow, Ctrl-C cancels the command that runs, Ctrl-D leaves.
 */
import { messageOf } from '../../../sdk/rpc/errors.ts';
import { ask, NoDaemon } from '../client.ts';
import { visible } from '../answers/escape.ts';
import { History } from './history.ts';
import { inputLines } from './input-lines.ts';
import { EXIT, type CliIo } from '../io.ts';
import { readLine, type Format } from '../line.ts';
import { liveSummary } from './live.ts';
import { subcommandOptions, UsageError, type GlobalOptions } from '../options.ts';
import { terminalPager } from './pager.ts';
import { promptLine } from './prompt.ts';
import { runCommand, targetOf, type Target } from '../run-command.ts';
import { isMap, textOf } from '../answers/table.ts';
import { TerminalKeys } from './terminal-keys.ts';

export const SHELL_HELP = `zest cli — the operator's shell; zest cli -c COMMAND runs one command

  -c COMMAND            run this command and end; answers as YAML unless a format is given
  --format FORMAT       json, json-compact, yaml, table or text
  --socket PATH         control socket of the daemon
  --timeout SECONDS     give up on an answer that makes no progress; 0 waits for ever

In the shell: Tab completes, ? at the end of a line shows what may follow, Ctrl-C cancels the running command,
exit or Ctrl-D leaves. Commands may come by standard input, one a line; the exit code is 1 when one of them failed.
`;

const COMPLETE_MS = 1000;

export async function shellCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  if (args.includes('--help')) {
    io.stdout.write(SHELL_HELP);
    return EXIT.done;
  }
  const { values, positionals } = subcommandOptions(args, {
    command: { type: 'string', short: 'c' },
    user: { type: 'string', short: 'u' },
  } as const);
  const [first] = positionals;
  if (first !== undefined) throw new UsageError(`zest cli takes its command by -c: zest cli -c "${positionals.join(' ')}"`);
  const target = targetOf(io, options);
  if (values.command !== undefined) return runCommand(target, values.command, { format: 'yaml' });
  if (io.stdin.isTTY !== true || io.stdout.isTTY !== true) return script(target);
  return new Shell(target).run();
}

/** Commands of standard input, one a line; empty lines and those that begin with `#` are passed over. */
async function script(target: Target): Promise<number> {
  let worst: number = EXIT.done;
  for await (const line of inputLines(target.io)) {
    const text = line.trim();
    if (text === '' || text.startsWith('#')) continue;
    if (text === 'exit' || text === 'quit') break;
    const code = await one(target, text, { format: 'yaml' });
    if (code !== EXIT.done) worst = code;
    if (target.io.interrupted.aborted) break;
  }
  return target.io.interrupted.aborted ? EXIT.interrupted : worst;
}

/** A line of the shell: most are the daemon's, `monitor bgp` is drawn here. */
function one(target: Target, text: string, run: Parameters<typeof runCommand>[2] & object): Promise<number> {
  const { words } = readLine(text);
  if (words[0] === 'monitor' && words[1] === 'bgp') return liveSummary([], target.io, target.options, run.signal);
  return runCommand(target, text, run);
}

interface Word {
  readonly word: string;
  readonly help: string;
}

/** Tab inserts candidates alone; `?` shows what is expected as well. */
interface Offer {
  readonly candidates: readonly Word[];
  readonly expects: readonly Word[];
}

class Shell {
  readonly #target: Target;
  readonly #io: CliIo;
  readonly #history: History;
  #typedAhead = '';
  #completing = false;

  constructor(target: Target) {
    this.#target = target;
    this.#io = target.io;
    this.#history = new History(target.io.environment);
  }

  async run(): Promise<number> {
    if (!(await this.#greet())) return EXIT.failed;
    for (;;) {
      const line = await this.#prompt();
      if (line === undefined || this.#io.interrupted.aborted) break;
      const text = line.trim();
      if (text === '') continue;
      this.#history.add(text);
      if (text === 'exit' || text === 'quit') break;
      if (text === 'help' || text === '?') await this.#candidates('');
      else if (text.endsWith('?') && !text.includes('"')) await this.#candidates(line.slice(0, line.lastIndexOf('?')));
      else await this.#execute(text);
    }
    this.#history.save();
    return EXIT.done;
  }

  async #greet(): Promise<boolean> {
    try {
      const status = await ask(this.#target.path, this.#io.uid, 'daemon status', [], AbortSignal.timeout(5000));
      const facts = isMap(status) ? status : {};
      const warnings = Number(facts['warnings'] ?? 0);
      const worry = warnings > 0 ? `; ${warnings} warning${warnings === 1 ? '' : 's'}: show warnings` : '';
      this.#io.stdout.write(
        `zest ${textOf(facts['version'])}, up ${textOf(facts['uptime'])}, ` +
          `${textOf(facts['peers-established'])} of ${textOf(facts['peers-configured'])} peers established${worry}\n`,
      );
      return true;
    } catch (error) {
      this.#io.stderr.write(`error: ${visible(messageOf(error))}\n`);
      return !(error instanceof NoDaemon);
    }
  }

  /** One line; `undefined` at Ctrl-D. A Ctrl-C empties the line. */
  #prompt(): Promise<string | undefined> {
    const typedAhead = this.#typedAhead;
    this.#typedAhead = '';
    return promptLine(this.#io, {
      text: 'zest> ',
      history: this.#history,
      typedAhead,
      complete: (line) => this.#complete(line),
    });
  }

  async #execute(text: string): Promise<void> {
    const cancel = new AbortController();
    const keys = new TerminalKeys(this.#io, () => cancel.abort());
    const format: Format = this.#target.options.format ?? 'table';
    const { noMore, words } = readLine(text);
    const paged = !noMore && words[0] !== 'monitor' && (this.#io.stdout.rows ?? 0) > 2;
    const pager = terminalPager(this.#io, keys, cancel);
    keys.begin();
    try {
      await one(this.#target, text, {
        format,
        signal: cancel.signal,
        ...(paged ? { write: (piece: string) => pager.write(piece) } : {}),
      });
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      this.#io.stderr.write(`error: ${visible(error.message)}\n`);
    } finally {
      this.#typedAhead = keys.end();
    }
  }

  async #ask(line: string): Promise<Offer> {
    const data = await ask(this.#target.path, this.#io.uid, 'command complete', [line], AbortSignal.timeout(COMPLETE_MS));
    const list = (key: string): readonly Readonly<Record<string, unknown>>[] =>
      isMap(data) && Array.isArray(data[key]) ? (data[key] as readonly unknown[]).filter(isMap) : [];
    return {
      candidates: list('candidates').map((one) => ({ word: textOf(one['word']), help: textOf(one['help']) })),
      expects: list('expects').map((one) => ({ word: `<${textOf(one['name'])}>`, help: textOf(one['help']) })),
    };
  }

  /** A second Tab while the first is being answered changes nothing: both would complete the same word. */
  async #complete(line: string): Promise<[string[], string]> {
    if (this.#completing) return [[], line];
    this.#completing = true;
    try {
      const partial = /\S*$/.exec(line)?.[0] ?? '';
      const words = (await this.#ask(line)).candidates.map((candidate) => candidate.word);
      return [words.length === 1 ? [`${words[0] ?? ''} `] : words, partial];
    } finally {
      this.#completing = false;
    }
  }

  async #candidates(line: string): Promise<void> {
    try {
      const { candidates: words, expects } = await this.#ask(line);
      const candidates = [...expects, ...words];
      const width = Math.max(0, ...candidates.map((candidate) => candidate.word.length));
      this.#io.stdout.write(
        candidates.map((one) => `  ${one.word.padEnd(width)}  ${one.help}\n`).join('') || '  (nothing follows)\n',
      );
    } catch (error) {
      this.#io.stderr.write(`error: ${visible(messageOf(error))}\n`);
    }
  }
}
