/**
 * `zest config edit [FILE]`: the editor in a terminal, or its commands from `-c` and standard input. What a line means is
 * `engine/config/edit`'s; here are keys, prompt, pages and exit codes.
 */
import type { Outcome, CandidateSession } from '../../config/edit/session.ts';
import { Unreadable } from '../../config/edit/session.ts';
import { messageOf } from '../../../sdk/rpc/errors.ts';
import { openSession } from './edit-target.ts';
import { visible, visibleJson, visibleLines } from '../answers/escape.ts';
import { History } from '../shell/history.ts';
import { inputLines } from '../shell/input-lines.ts';
import { EXIT, type CliIo } from '../io.ts';
import { subcommandOptions, type GlobalOptions } from '../options.ts';
import { terminalPager } from '../shell/pager.ts';
import { promptLine } from '../shell/prompt.ts';
import { TerminalKeys } from '../shell/terminal-keys.ts';

export const EDIT_HELP = `zest config edit [FILE] — edit a configuration, then commit it

  FILE                  this file; when a daemon runs it, commits go through the daemon. Without FILE: the running daemon
  -c, --command LINE    run this line of the editor and end; may come several times
  -u, --user NAME       author of commits (default: $USER)
  --file                only the file, also when a daemon runs it
  --no-plugins          start no plugin, not even to ask what it adds to the configuration
  --json                with -c or standard input: one document, a result a line

Tab completes, ? at the end of a line shows what may follow, help lists the commands. Lines may come by standard input. The first
line that fails ends the run: exit code 1, nothing behind it is done; so does a change that nothing committed.

  zest config edit edge.conf -c 'set bgp peer edge description "transit"' -c 'commit comment "as agreed"'
`;

const OPTIONS = {
  command: { type: 'string', short: 'c', multiple: true },
  user: { type: 'string', short: 'u' },
  file: { type: 'boolean' },
  'no-plugins': { type: 'boolean' },
} as const;

export async function editCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const { values, positionals } = subcommandOptions(args, OPTIONS);
  const [file, extra] = positionals;
  if (extra !== undefined) {
    io.stderr.write(`error: zest config edit takes one FILE, and ${visible(extra)} is one too many\n`);
    return EXIT.failed;
  }
  let session: CandidateSession;
  try {
    session = await openSession(
      { file, offline: values.file === true, askPlugins: values['no-plugins'] !== true, author: values.user },
      io,
      options,
    );
  } catch (error) {
    const unreadable = error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('E');
    if (!(error instanceof Unreadable) && !unreadable) throw error;
    return complain(
      unreadable ? `cannot read ${file ?? ''}: ${error.message}` : error.message,
      unreadable ? EXIT.nothing : EXIT.failed,
      io,
      options,
    );
  }
  if (values.command !== undefined) return script(session, values.command, io, options);
  if (io.stdin.isTTY !== true || io.stdout.isTTY !== true) return script(session, inputLines(io), io, options);
  return new EditTerminal(session, io).run();
}

function complain(message: string, code: number, io: CliIo, options: GlobalOptions): number {
  if (options.json) io.stdout.write(`${visibleJson(JSON.stringify({ status: 'error', error: message }))}\n`);
  else io.stderr.write(`error: ${visibleLines(`${message}\n`)}`);
  return code;
}

/** The first failure ends it: what follows was written for a candidate that is not there. */
async function script(
  session: CandidateSession,
  lines: Iterable<string> | AsyncIterable<string>,
  io: CliIo,
  options: GlobalOptions,
): Promise<number> {
  const results: { line: string; ok: boolean; output?: string; error?: string; column?: number }[] = [];
  let number = 0;
  let code: number = EXIT.done;
  for await (const line of lines) {
    number++;
    if (io.interrupted.aborted) break;
    let outcome: Outcome;
    try {
      outcome = await session.run(line, io.interrupted);
    } catch (error) {
      outcome = { ok: false, text: `${messageOf(error)}\n`, column: 0, leave: false };
    }
    const shown = line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line;
    if (outcome.ok) {
      if (options.json) results.push({ line: shown, ok: true, output: outcome.text });
      else io.stdout.write(visibleLines(outcome.text));
      if (outcome.leave) break;
      continue;
    }
    code = EXIT.failed;
    results.push({ line: shown, ok: false, error: outcome.text.trimEnd(), column: outcome.column });
    const place = outcome.column > 0 ? `line ${number}, column ${outcome.column}: ` : `line ${number}: `;
    if (!options.json) io.stderr.write(`error: ${place}${visibleLines(outcome.text)}`);
    break;
  }
  const lost = session.changed;
  if (lost) code = EXIT.failed;
  const remark = 'the changes were not committed and are lost (commit puts them in force)';
  if (options.json)
    io.stdout.write(`${visibleJson(JSON.stringify({ ok: code === EXIT.done, uncommitted: lost, results }, undefined, 2))}\n`);
  else if (lost && !results.some((one) => !one.ok)) io.stderr.write(`error: ${remark}\n`);
  return io.interrupted.aborted ? EXIT.interrupted : code;
}

/** Letters of a line that an answer repeats. */
const SHOWN = 200;

class EditTerminal {
  readonly #session: CandidateSession;
  readonly #io: CliIo;
  readonly #history: History;
  #typedAhead = '';

  constructor(session: CandidateSession, io: CliIo) {
    this.#session = session;
    this.#io = io;
    this.#history = new History(io.environment);
  }

  async run(): Promise<number> {
    const fresh = this.#session.text() === '' ? ' (empty)' : '';
    this.#io.stdout.write(
      `editing ${visible(this.#session.target.name)}${fresh}; help lists the commands, ? shows what may follow\n`,
    );
    for (;;) {
      const line = await this.#prompt();
      if (this.#io.interrupted.aborted) break;
      const text = line ?? 'quit';
      if (text.trim() === '') continue;
      if (line !== undefined && !/ (?:password|secret|token|plaintext-password) /.test(` ${text}`)) this.#history.add(text);
      if (text.endsWith('?') && !/["']/.test(text)) this.#offer(text.slice(0, -1));
      else if (await this.#execute(text)) break;
    }
    this.#history.save();
    return this.#io.interrupted.aborted ? EXIT.interrupted : EXIT.done;
  }

  async #execute(text: string): Promise<boolean> {
    const cancel = new AbortController();
    const keys = new TerminalKeys(this.#io, () => cancel.abort());
    keys.begin();
    try {
      const outcome = await this.#session.run(text, cancel.signal);
      if (outcome.ok) await this.#page(visibleLines(outcome.text), keys, cancel);
      else this.#fault(text, outcome);
      return outcome.leave;
    } catch (error) {
      this.#io.stderr.write(`error: ${visible(messageOf(error))}\n`);
      return false;
    } finally {
      this.#typedAhead = keys.end();
    }
  }

  /** A mark under the letter that is wrong, when the line is short enough to have stayed on one row. */
  #fault(line: string, { text, column }: Outcome): void {
    const lead = this.#promptText().length;
    const columns = this.#io.stdout.columns ?? 0;
    // A terminal that does not know its size says 0.
    const fits = column > 0 && lead + line.length < (columns > 0 ? columns : 80) && /^[\x20-\x7e]*$/.test(line);
    if (fits) this.#io.stdout.write(`${' '.repeat(lead + column - 1)}^\n`);
    this.#io.stderr.write(`error: ${visibleLines(text)}`);
  }

  async #page(text: string, keys: TerminalKeys, cancel: AbortController): Promise<void> {
    await terminalPager(this.#io, keys, cancel).write(text);
  }

  #promptText(): string {
    return this.#session.changed ? 'zest*# ' : 'zest# ';
  }

  #prompt(): Promise<string | undefined> {
    const { where } = this.#session;
    if (where !== '') this.#io.stdout.write(`[edit ${visible(where)}]\n`);
    const typedAhead = this.#typedAhead;
    this.#typedAhead = '';
    return promptLine(this.#io, {
      text: this.#promptText(),
      history: this.#history,
      typedAhead,
      complete: (line) => {
        const { candidates, partial } = this.#session.complete(line);
        const words = candidates.map(({ word }) => visible(word));
        return [words.length === 1 ? [`${words[0] ?? ''} `] : words, partial];
      },
    });
  }

  #offer(line: string): void {
    const { candidates, expects } = this.#session.complete(line);
    const rows = [...expects.map(({ word, help }) => ({ word: `<${word}>`, help })), ...candidates];
    const width = Math.max(0, ...rows.map(({ word }) => word.length));
    const text = rows.map(({ word, help }) => `  ${visible(word).padEnd(width)}  ${visible(help)}`.trimEnd()).join('\n');
    this.#io.stdout.write(text === '' ? '  (nothing follows)\n' : `${text}\n`);
  }
}
