/** Runs one command line against the daemon and prints its answer as it comes. Resolves with the exit code. */
import type { AnswerReader, Verdict } from '../../sdk/rpc/answer.ts';
import { messageOf, RpcError } from '../../sdk/rpc/errors.ts';
import { controlSocketPath } from '../core/control-socket.ts';
import { Connection, NoDaemon } from './client.ts';
import { visible } from './answers/escape.ts';
import { EXIT, type CliIo } from './io.ts';
import { readLine, type Format } from './line.ts';
import type { GlobalOptions } from './options.ts';
import { Output } from './answers/output.ts';
import { askPresentation } from './answers/presentation.ts';
import { failure, JsonRenderer, rendererOf, type Renderer } from './answers/render.ts';
import { RowPrinter } from './answers/row-printer.ts';
import { viewOf } from './answers/view.ts';

/** Seconds without a line of answer after which a call ends, where the command is expected to end. */
const DEFAULT_TIMEOUT_SECONDS = 60;
/** A producer that gives no record for this long is pausing: what was held back (for a large write, for a table's widths) is shown. */
const PAUSE_MS = 250;

export interface Target {
  readonly io: CliIo;
  readonly options: GlobalOptions;
  readonly path: string;
}

export function targetOf(io: CliIo, options: GlobalOptions): Target {
  return { io, options, path: controlSocketPath(options.socket, io.environment, io.uid) };
}

export interface Run {
  /** Printed here instead of stdout. */
  readonly write?: (text: string) => Promise<void>;
  /** When neither the line nor the options name one. */
  readonly format?: Format;
  /** Besides the process's own interruption. */
  readonly signal?: AbortSignal;
  /** Added to the message of an unknown command. */
  readonly hint?: string | undefined;
  /** What to say when no daemon answers, if it is more to the point. */
  readonly unreachable?: (message: string) => Promise<string | undefined>;
}

/** Colours on a terminal, unless somebody said no (https://no-color.org). */
export function useColour(io: CliIo, options: GlobalOptions): boolean {
  return (
    options.colour ?? (io.stdout.isTTY === true && (io.environment['NO_COLOR'] ?? '') === '' && io.environment['TERM'] !== 'dumb')
  );
}

export async function runCommand(target: Target, text: string, run: Run = {}): Promise<number> {
  const { io, options } = target;
  const line = readLine(text);
  const named = line.format ?? options.format ?? (options.json ? 'json' : undefined);
  let format = named ?? run.format ?? 'table';
  const live = line.words[0] === 'monitor' || (line.words[0] === 'bgp' && line.words[1] === 'monitor');
  // It answers once every plugin has taken the time it asked for.
  const isReload = line.words[0] === 'daemon' && line.words[1] === 'reload';
  const width = io.stdout.isTTY === true ? (io.stdout.columns ?? 0) : 0;
  const output = new Output(io.stdout);
  const write = run.write ?? ((piece: string) => output.write(piece));
  const stop = new AbortController();
  output.whenGone(() => stop.abort(new RpcError('aborted', 'nobody reads')));
  const signals = [stop.signal, io.interrupted, ...(run.signal === undefined ? [] : [run.signal])];
  const watchdog = new Watchdog(stop, options.timeout ?? (live || isReload ? 0 : DEFAULT_TIMEOUT_SECONDS));
  let connection: Connection | undefined;
  const interrupted = (): boolean => io.interrupted.aborted || run.signal?.aborted === true;
  try {
    connection = await Connection.open(target.path, io.uid);
    const signal = AbortSignal.any(signals);
    const direct =
      run.write === undefined && !live && (named === 'json' || named === 'json-compact')
        ? directly(connection, named, output, () => watchdog.progress())
        : undefined;
    const reader = connection.run(line.command, signal, direct?.rows);
    // What is printed for people is printed as the command's owner wants it read; asked behind the command, so that nothing waits.
    const wanted = !live && (format === 'table' || format === 'text' || line.command.includes('|'));
    const asked = wanted ? askPresentation(connection, line.command, signal) : undefined;
    await reader.head;
    const presentation = await asked;
    format = named ?? presentation?.format ?? format;
    const view = options.wide ? undefined : viewOf(line.words);
    const renderer =
      direct?.renderer ?? rendererOf({ format, live, width, colour: useColour(io, options), order: presentation?.order, view });
    const fault = await print(reader, renderer, {
      write,
      flush: () => output.flush(),
      live,
      progress: () => watchdog.progress(),
    });
    await output.flush();
    if (fault === undefined || output.gone) return EXIT.done;
    if (interrupted()) return live && io.interrupted.aborted ? EXIT.done : EXIT.interrupted;
    if (!asDocument(format, live)) io.stderr.write(`error: ${visible(fault)}\n`);
    return EXIT.failed;
  } catch (error) {
    if (output.gone) return EXIT.done;
    if (interrupted()) return live && io.interrupted.aborted ? EXIT.done : EXIT.interrupted;
    const better = error instanceof NoDaemon ? await run.unreachable?.(error.message) : undefined;
    const text = visible(better ?? complaint(error, run.hint));
    if (asDocument(format, live)) await write(`${JSON.stringify({ status: 'error', error: text })}\n`);
    else io.stderr.write(`error: ${text}\n`);
    await output.flush();
    return EXIT.failed;
  } finally {
    watchdog.stop();
    connection?.close();
    output.release();
  }
}

/** Rows of JSON go from the socket to the output as they are. */
function directly(connection: Connection, format: Format, output: Output, progress: () => void): Direct {
  const renderer = new JsonRenderer(format === 'json');
  return { renderer, rows: new RowPrinter({ output, renderer, progress, hold: (held) => connection.hold(held) }) };
}

interface Direct {
  readonly renderer: JsonRenderer;
  readonly rows: RowPrinter;
}

function asDocument(format: Format, live: boolean): boolean {
  return !live && (format === 'json' || format === 'json-compact');
}

interface Printing {
  readonly write: (text: string) => Promise<void>;
  readonly flush: () => Promise<void>;
  readonly live: boolean;
  readonly progress: () => void;
}

/** Prints an answer; resolves with what went wrong. Rejects when there was no answer at all, so that nothing was printed. */
async function print(reader: AnswerReader, renderer: Renderer, to: Printing): Promise<string | undefined> {
  const head = await reader.head;
  if (!(renderer instanceof JsonRenderer && renderer.begun)) await to.write(renderer.head(head));
  let verdict: Verdict;
  let shown: Promise<void> = Promise.resolve();
  const show = (): void => {
    shown = to.write(renderer.pause()).then(() => to.flush());
  };
  let pause = setTimeout(show, PAUSE_MS);
  try {
    for await (const records of reader.chunks()) {
      clearTimeout(pause);
      await shown;
      to.progress();
      let text = '';
      for (const record of records) text += renderer.record(record.json, record.rejected);
      await to.write(text);
      if (to.live) await to.flush();
      to.progress();
      pause = setTimeout(show, PAUSE_MS);
    }
    verdict = await reader.verdict;
  } catch (error) {
    // Part of the answer is printed: it is brought to an orderly end, so that a document stays a document.
    verdict = { outcome: 'aborted', produced: 0, rejected: 0, message: messageOf(error) };
  } finally {
    clearTimeout(pause);
  }
  await shown;
  await to.write(renderer.end(verdict));
  return failure(verdict);
}

function complaint(error: unknown, hint: string | undefined): string {
  const message = messageOf(error);
  const unknown = error instanceof RpcError && error.code === 'unknown-command' && !message.includes('did you mean');
  return unknown && hint !== undefined ? `${message}${hint}` : message;
}

/** Ends a call that makes no progress. */
class Watchdog {
  readonly #stop: AbortController;
  #ms: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(stop: AbortController, seconds: number) {
    this.#stop = stop;
    this.#ms = seconds * 1000;
    this.progress();
  }

  progress(): void {
    if (this.#ms <= 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#stop.abort(new RpcError('deadline', `no answer within ${this.#ms / 1000} s`));
    }, this.#ms);
  }

  /** Nor does it begin again: rows may report for a turn longer. */
  stop(): void {
    this.#ms = 0;
    clearTimeout(this.#timer);
  }
}
