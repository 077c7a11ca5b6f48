/**
 * Plays a recording to a plugin: says again what it was told then, and compares what it says now. Each of its lines is awaited where the
 * recording has it, so order and causes are as they were.
 *
 * What cannot be replayed is what no line caused: a timer, a file, a socket of the plugin's own. A recording marks such lines, and `replay`
 * refuses it, naming them; a test that makes them happen itself (mocked timers) says so with `byItself: 'wait'`. Times and random
 * values inside lines are what `mask` is for.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { pipePair } from '../rpc/pipe.ts';
import type { FakeEngine } from './fake-engine.ts';
import { IdNumbers, idOf, isRequest, readRecording, record, type RecordedLine } from './recording.ts';
import type { FakeEngineOptions, PluginUnderTest } from './under-test.ts';
import { within } from './within.ts';

export interface ReplayOptions {
  /** ms that a line of the plugin's is waited for. Default 2000. */
  readonly deadlineMs?: number | undefined;
  /** Applied to both sides before they are compared: `(line) => line.replace(/"uptime":\d+/, '"uptime":0')`. */
  readonly mask?: ((line: string) => string) | undefined;
  /** What a line is worth that the plugin once said by itself: nothing (the replay is refused), or it is waited for like any other. */
  readonly byItself?: 'refuse' | 'wait' | undefined;
}

export interface Replayed {
  readonly same: boolean;
  /** '' when it is the same; else the place and both sides, `-` recorded, `+` said now. */
  readonly difference: string;
}

/** Lines shown around a difference. */
const CONTEXT = 3;
/** ms in which what else is said is gathered for the difference. */
const GATHER_MS = 50;

/** Replays. Rejects for a text that is no recording and for one that holds what cannot be replayed. */
export async function replay(plugin: PluginUnderTest, text: string, options: ReplayOptions = {}): Promise<Replayed> {
  const steps = readRecording(text);
  const own = steps.filter((step) => step.byItself);
  if (own.length > 0 && options.byItself !== 'wait') {
    const list = own.map((step) => `  line ${step.at}: ${step.line.slice(0, 100)}`).join('\n');
    throw new Error(
      `the recording cannot be replayed: the plugin said these by itself (a timer, or something outside):\n${list}\n` +
        "make them happen in the test and pass byItself: 'wait', or record without them",
    );
  }
  const [near, far] = pipePair();
  const stop = new AbortController();
  const ended = typeof plugin === 'function' ? plugin(near) : plugin.run({ conn: near, signal: stop.signal });
  ended.catch(() => undefined);
  const player = new Player(far, options);
  try {
    return await player.play(steps);
  } finally {
    stop.abort();
    far.destroy();
    await within(
      options.deadlineMs ?? 2000,
      'the end of the plugin',
      ended.then(
        () => undefined,
        () => undefined,
      ),
    );
  }
}

/**
 * A golden test: replays the file and throws its difference; records it with `scenario` when there is none, or with `UPDATE=1` in the
 * environment.
 */
export async function golden(
  path: string,
  plugin: PluginUnderTest,
  scenario: (engine: FakeEngine) => Promise<unknown>,
  options: ReplayOptions & FakeEngineOptions & { readonly update?: boolean | undefined } = {},
): Promise<void> {
  if ((options.update ?? process.env['UPDATE'] === '1') || !existsSync(path)) {
    const { name, config, claims, commands, inProcess, deadlineMs, trace } = options;
    writeFileSync(path, await record(plugin, scenario, { name, config, claims, commands, inProcess, deadlineMs, trace }));
    return;
  }
  const { same, difference } = await replay(plugin, readFileSync(path, 'utf8'), options);
  if (!same) throw new Error(`${path}: the plugin says something else (UPDATE=1 records it anew)\n${difference}`);
}

class Player {
  readonly #stream: Duplex;
  readonly #deadlineMs: number;
  readonly #mask: (line: string) => string;
  readonly #ids = new IdNumbers();
  readonly #said: string[] = [];
  #rest = '';
  #ended = false;
  #wake: () => void = () => undefined;

  constructor(stream: Duplex, options: ReplayOptions) {
    this.#stream = stream;
    this.#deadlineMs = options.deadlineMs ?? 2000;
    this.#mask = options.mask ?? ((line) => line);
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => {
      const parts = (this.#rest + chunk).split('\n');
      this.#rest = parts.pop() ?? '';
      for (const line of parts) this.#said.push(this.#ids.numbered('plugin', line));
      this.#wake();
    });
    const over = (): void => {
      this.#ended = true;
      this.#wake();
    };
    stream.on('end', over);
    stream.on('close', over);
    stream.on('error', over);
  }

  async play(steps: readonly RecordedLine[]): Promise<Replayed> {
    for (const [i, step] of steps.entries()) {
      if (step.by === 'engine') {
        const fault = this.#tell(step);
        if (fault !== undefined) return this.#differs(steps, i, fault);
        continue;
      }
      const line = await this.#next();
      if (line === undefined)
        return this.#differs(steps, i, this.#ended ? 'the plugin ended' : `nothing within ${this.#deadlineMs} ms`);
      if (this.#mask(line) !== this.#mask(step.line)) {
        this.#said.unshift(line);
        return this.#differs(steps, i, 'it says something else');
      }
    }
    await pause(GATHER_MS);
    return this.#said.length === 0 ? { same: true, difference: '' } : this.#differs(steps, steps.length, 'it says more');
  }

  /** Says a line of the engine's; a reply bears the id that the plugin gave its request now. */
  #tell(step: RecordedLine): string | undefined {
    const id = idOf(step.line);
    if (isRequest(step.line) || id === undefined) {
      this.#stream.write(`${this.#ids.numbered('engine', step.line)}\n`);
      return undefined;
    }
    const actual = this.#ids.idOfPluginRequest(Number(id));
    if (actual === undefined) return `the recording answers request ${id} of the plugin's, which it has not made`;
    this.#stream.write(`#${actual}${step.line.slice(id.length + 1)}\n`);
    return undefined;
  }

  async #next(): Promise<string | undefined> {
    const due = performance.now() + this.#deadlineMs;
    while (this.#said.length === 0 && !this.#ended && performance.now() < due) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.max(1, due - performance.now()));
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.#said.shift();
  }

  async #differs(steps: readonly RecordedLine[], at: number, why: string): Promise<Replayed> {
    await pause(GATHER_MS);
    const show = (step: RecordedLine): string => `${step.by === 'plugin' ? '<' : '>'} ${step.line}`;
    const before = steps.slice(Math.max(0, at - CONTEXT), at).map((step) => `  ${show(step)}`);
    const next = steps.slice(at).findIndex((step) => step.by === 'engine');
    const recorded = steps.slice(at, at + CONTEXT).slice(0, next < 0 ? CONTEXT : Math.max(1, next));
    const lines = [
      ...before,
      ...recorded.map((step) => `- ${show(step)}`),
      ...this.#said.slice(0, CONTEXT).map((line) => `+ < ${line}`),
    ];
    const place = steps[at] === undefined ? 'behind the last line' : `line ${steps[at].at}`;
    return { same: false, difference: `${place}: ${why}\n${lines.join('\n')}\n` };
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
