/**
 * What crossed a plugin's link, as a text to keep beside its tests:
 *
 *     # zest plugin recording 1
 *     < #1 ze-plugin-engine:declare-registration {}
 *     > #1 ok
 *
 * `<` is what the plugin said, `>` what it was told, each line byte for byte but for its id: requests of either side are numbered from 1 in
 * the order they were made. `#` lines are remarks. One of them marks a request that no line had caused; see `replay`.
 */
import { parseLine } from '../rpc/frame.ts';
import { FakeEngine } from './fake-engine.ts';
import type { FakeEngineOptions, PluginUnderTest } from './under-test.ts';

const HEAD = '# zest plugin recording 1';
/** Stands before a request that came out of silence. */
const BY_ITSELF = '# by itself';
/** ms without a line after which a request of the plugin's counts as its own idea. */
const SILENCE_MS = 200;

/** One line of a recording. */
export interface RecordedLine {
  /** Who said it. */
  readonly by: 'plugin' | 'engine';
  /** Without prefix and line feed. */
  readonly line: string;
  /** Its number in the text, from 1. */
  readonly at: number;
  /** The plugin said it though nothing had been said for a while: a timer, a file, a socket of its own. */
  readonly byItself: boolean;
}

/** Gathers lines. Hand `fromEngine` to `FakeEngine` as `trace`, or `fromPlugin` to `Plugin` or `run` in a real daemon. */
export class Recorder {
  readonly #now: () => number;
  readonly #ids = new IdNumbers();
  #lines: string[] = [HEAD];
  #last: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#last = now();
  }

  readonly fromEngine = (direction: 'in' | 'out', line: string): void =>
    this.#add(direction === 'in' ? 'plugin' : 'engine', line);
  readonly fromPlugin = (direction: 'in' | 'out', line: string): void =>
    this.#add(direction === 'in' ? 'engine' : 'plugin', line);

  /** The recording so far. */
  text(): string {
    return `${this.#lines.join('\n')}\n`;
  }

  #add(by: 'plugin' | 'engine', line: string): void {
    const silent = this.#now() - this.#last > SILENCE_MS;
    this.#last = this.#now();
    if (silent && by === 'plugin' && isRequest(line)) this.#lines.push(BY_ITSELF);
    this.#lines.push(`${by === 'plugin' ? '<' : '>'} ${this.#ids.numbered(by, line)}`);
  }
}

/** Reads a recording. Throws Error with the line's number for one that is none. */
export function readRecording(text: string): readonly RecordedLine[] {
  const lines = text.split('\n');
  if (lines[0]?.trimEnd() !== HEAD) throw new Error(`not a recording: its first line is not "${HEAD}"`);
  const out: RecordedLine[] = [];
  let byItself = false;
  lines.forEach((raw, i) => {
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    if (line === BY_ITSELF) byItself = true;
    if (line === '' || line.startsWith('#')) return;
    const by = line.startsWith('< #') ? 'plugin' : line.startsWith('> #') ? 'engine' : undefined;
    if (by === undefined)
      throw new Error(`line ${i + 1} of the recording begins with neither "< #" nor "> #": ${line.slice(0, 60)}`);
    out.push({ by, line: line.slice(2), at: i + 1, byItself: byItself && by === 'plugin' });
    byItself = false;
  });
  return out;
}

/** Runs `scenario` with the plugin and resolves to the recording of all of it, goodbye included. */
export async function record(
  plugin: PluginUnderTest,
  scenario: (engine: FakeEngine) => Promise<unknown>,
  options: FakeEngineOptions = {},
): Promise<string> {
  if (options.inProcess === true) throw new TypeError('over the bridge no lines cross: record over the pipe');
  const recorder = new Recorder();
  const engine = await FakeEngine.start(plugin, { ...options, trace: recorder.fromEngine });
  try {
    await scenario(engine);
    await engine.bye();
  } finally {
    await engine.close();
  }
  return recorder.text();
}

/** Numbers the ids of a link's lines: each side's requests from 1, replies after the request they belong to. */
export class IdNumbers {
  readonly #counts = { plugin: 0, engine: 0 };
  readonly #of = { plugin: new Map<string, number>(), engine: new Map<string, number>() };

  /** The line with its id as a number of the recording. */
  numbered(by: 'plugin' | 'engine', line: string): string {
    const id = idOf(line);
    if (id === undefined) return line;
    const asker = isRequest(line) ? by : by === 'plugin' ? 'engine' : 'plugin';
    const numbers = this.#of[asker];
    let number = numbers.get(id);
    if (number === undefined || (isRequest(line) && asker === by)) {
      number = this.#counts[asker] += 1;
      numbers.set(id, number);
    }
    return `#${number}${line.slice(id.length + 1)}`;
  }

  /** The id that the plugin gave its request of this number; `undefined` when it has made none yet. */
  idOfPluginRequest(number: number): string | undefined {
    for (const [id, known] of this.#of.plugin) if (known === number) return id;
    return undefined;
  }
}

export function isRequest(line: string): boolean {
  return parseLine(Buffer.from(line, 'utf8')).kind === 'request';
}

export function idOf(line: string): string | undefined {
  return /^#([0-9A-Za-z]+)(?: |$)/.exec(line)?.[1];
}
